"""What all commands share: in this process where that tells enough, in another where not."""

import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import rich.progress

from gv_engine import __version__
from gv_engine.cli import COMMANDS, main
from gv_engine.cli.options import print_table, progress
from gv_engine.rules.errors import escape_unprintable
from gv_engine.scenario.library import gym_id, list_multi_agent_grids
from gv_engine.scenario.plugin import list_built_in_names
from tests import ROOT
from tests.cli.shell import HIDDEN, command, write

pytestmark = pytest.mark.slow


def test_version_and_help(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"gv-engine {__version__}\n"
    making = ("list", "new", "rules", "schema", "check", "solve", "compile")
    named = (
        *("play", "replay", *making, "rollout", "record", "bench", "train", "view"),
        *("edit", "splits", "minari", "benchmark"),
    )
    for words in ([], *([name] for name in named)):
        with pytest.raises(SystemExit, match="0"):
            main([*words, "--help"])
        said = capsys.readouterr().out
        assert f"gv-engine {' '.join(words)}" in said
        assert "examples:\n" in said
    assert len(COMMANDS) == len(named)


def test_unknown_command(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["chek", "keydoor-9x9"])
    said = capsys.readouterr().err
    assert "gv-engine: error: no command 'chek'; did you mean 'check'? (allowed: play, " in said


def test_unknown_options_are_shown_without_control_characters(capsys: pytest.CaptureFixture[str]):
    for words in (["list", "--a\x1b[31m"], ["rollout", "keydoor-5x5", "--a\x9b1m"]):
        with pytest.raises(SystemExit, match="2"):
            main(words)
        said = capsys.readouterr().err
        assert "\\x" in said
        assert escape_unprintable(said) == said


@pytest.mark.parametrize("words", [["rollout"], ["record"], ["play"], ["check"]])
def test_unknown_scenario(words: list[str], capsys: pytest.CaptureFixture[str]):
    code = main([*words, "keydor-9x9", *(["a.png"] if words == ["record"] else [])])
    assert code == (1 if words == ["check"] else 2)
    said = capsys.readouterr().err
    assert said.startswith("keydor-9x9: no scenario of this name; did you mean 'keydoor-9x9'?")
    assert said.endswith("; `gv-engine list` shows all\n")
    assert len(said) < 200


def test_what_is_no_replay_is_told_of_with_and_without_a_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SDL_VIDEODRIVER", "none")
    assert main(["replay", "nosuch"]) == 1
    assert capsys.readouterr().err == (
        "gv-engine: nosuch cannot be read: No such file or directory\n"
    )


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_names_in_tables_and_bars_are_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "dumb")
    name, out = "[/nothing]{task.x}[bold]a\x1b[2J", _Terminal()
    shown = r"[/nothing]{task.x}[bold]a\x1b[2J"
    with redirect_stdout(out), redirect_stderr(out):
        print_table([f"{name}>"], [[name]], name)
        with progress(name, 1) as advance:
            advance(1, name)
    said = out.getvalue()
    assert said.count(shown) == 3
    assert escape_unprintable(said) == said
    bars: list[Any] = []
    monkeypatch.setattr(rich.progress.Progress, "start", lambda bar: bars.append(bar))
    with redirect_stderr(out), progress(name, 1) as advance:
        advance(1, name)
    columns = bars[0].columns
    texts = [columns[k].render(bars[0].tasks[0]).plain for k in (0, -1)]
    assert texts == [shown, shown]


def test_more_worlds_than_the_memory_holds(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "keydoor-5x5", "--num-envs", str(10**15)]) == 1
    said = capsys.readouterr().err
    assert "there is not enough memory; ask for fewer worlds, by --num-envs (Unable to" in said


def test_mistakes_come_line_by_line(here: Path, capsys: pytest.CaptureFixture[str]):
    write(here, rule="turn_agnt", more="max_steps: never")
    assert main(["rollout", "."]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in said] == ["max_steps", "transition_functions[1].name"]
    assert "scenario.yaml:7" in said[1]


def test_an_error_in_a_rule_names_its_line(here: Path, capsys: pytest.CaptureFixture[str]):
    code = "@system(TRANSITION)\ndef broken(w, agent):\n    w.nonsense = {}[w.action[agent]]\n"
    write(here, rule="./rules.py:broken", code=code)
    assert main(["record", ".", "a.png", "--steps", "1"]) == 1
    assert f"{here / 'rules.py'}:5: KeyError" in capsys.readouterr().err
    assert not list(here.glob("*.png"))


def test_what_a_file_says_cannot_speak_to_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    evil = "\x1b]0;PWNED\a\x9b31m"
    (here / f"{evil}.yaml").write_text(r'"\e]0;PWNED\a": 1', "utf-8")
    assert main(["check", f"{evil}.yaml"]) == 1
    write(here / evil, more="max_steps: 3")
    assert main(["record", evil, "a.png"]) == 0
    for said in capsys.readouterr():
        assert r"\x1b]0;PWNED\x07" in said
        assert said.replace("\n", "").isprintable()
    broken = here / "broken.npz"
    broken.write_bytes(b"")
    broken.rename(here / f"{evil}.npz")
    assert main(["play", "--from", f"{evil}.npz"]) == 1
    assert capsys.readouterr().err.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--episodes", "0"], "expected a whole number from 1 on"),
        (["--seed", "-1"], "expected a whole number from 0 on"),
        (["--seed", "9" * 26], "allowed are at most 4611686018427387904"),
        (["--seed", "x"], "found 'x'"),
        (["--allow-module", ""], "found '', expected the name of a module"),
        (["--allow-module", "a/b"], "found 'a/b', expected the name of a module"),
        (["--max-steps", "0"], "allows endless episodes"),
    ],
)
def test_numbers_are_checked(words: list[str], part: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["rollout", "empty-4x4", *words])
    assert part in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_a_full_device_is_said(here: Path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gv_engine", "new", "cave"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 1
    said = "gv-engine: the output cannot be written: No space left on device"
    assert done.stderr.splitlines() == [said]


def test_no_display_is_no_traceback():
    done = command("play")
    assert done.returncode == 1
    assert "gv-engine rollout" in done.stderr
    assert "Traceback" not in done.stderr


def test_imports_stay_where_they_are_needed():
    code = """if True:
        import sys
        from gv_engine.cli import main
        main(["list"])
        assert not {"numba", "pygame", "rich", "imageio"} & set(sys.modules)
        main(["play"])
        main(["play", "empty-4x4", "--policy", "valid", "--terminal"])
        assert "numba" not in sys.modules
        main(["rollout", "empty-4x4", "--episodes", "1"])
        assert "imageio" not in sys.modules
    """
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # and a rollout alone imports no pygame
    code = re.sub(r"main\(\[.play.*\)", "", code).replace('"imageio" not', '"pygame" not')
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_list(capsys: pytest.CaptureFixture[str]):
    assert main(["list"]) == 0
    heads, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert heads == ["name", "Gymnasium id", "size", "description"]
    single = [[name, gym_id(name)] for name in list_built_in_names()]
    several = [[name, "gv_engine.parallel_env"] for name in list_multi_agent_grids()]
    assert sorted(row[:2] for row in rows) == sorted(single + several)
    assert ["keydoor-9x9", "9×9"] in [[row[0], row[2]] for row in rows]
    assert all(len(row) == 4 and row[3] for row in rows)


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "gv_engine", "list"],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["play", ""], "found an empty text"),
        (["play", "--from", ""], "found an empty text"),
        (["rollout", "keydoor-5x5", "--policy", ""], "found an empty text"),
        (["new", "a" * 101], "at most 100 letters"),
        (["check", "keydoor-5x5#z"], "no variant 'z'; keydoor-5x5 has none"),
    ],
)
def test_messages_about_texts_name_what_to_change(words, message, capsys):
    with suppress(SystemExit):
        assert main(words) != 0
    assert message in capsys.readouterr().err
