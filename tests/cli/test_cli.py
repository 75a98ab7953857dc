"""What all commands share: in this process where that tells enough, in another where not."""

import os
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
from gv_engine.scenario.domains import Domain, list_built_in_names, list_playable_scenarios
from gv_engine.scenario.library import gym_id, list_multi_agent_grids
from tests.cli.shell import run_without_screen, write

pytestmark = pytest.mark.slow


def test_version_and_help(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"gv-engine {__version__}\n"
    for words in ([], *([name] for name in COMMANDS)):
        with pytest.raises(SystemExit, match="0"):
            main([*words, "--help"])
        said = capsys.readouterr().out
        assert f"gv-engine {' '.join(words)}" in said
        assert "examples:\n" in said


def test_without_words_the_help_is_shown(capsys):
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert "play in a window" in capsys.readouterr().out


def test_unknown_command(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["chek", "keydoor-9x9"])
    said = capsys.readouterr().err
    assert "gv-engine: no command 'chek'; did you mean 'check'? (allowed: play, " in said
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", "keydoor-9x9"])
    said = capsys.readouterr().err
    assert "no command 'evaluate'; did you mean 'rollout'? (allowed: play, " in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--verison", "gv-engine: no option '--verison'; did you mean '--version'?"),
        ("rollout keydoor-5x5 --sed 3", "rollout: no option '--sed'; did you mean '--seed'?"),
        ("export keydoor-5x5 --htlm=a", "export: no option '--htlm'; did you mean '--html'?"),
        ("train --resum=a --stps 3", "train: no option '--stps'; did you mean '--steps'?"),
        ("rules --pahse x", "rules: no option '--pahse'"),
        ("benchmark --learner a", "no option '--learner' (see"),
        ("list -x", "list: no option '-x'"),
        ("list extra", "list: unexpected argument 'extra'"),
        ("export a --theme drak", "no --theme 'drak'; did you mean 'dark'? (allowed: dark, light)"),
        ("rollout a --episodes", "--episodes needs a value N: number of episodes"),
        ("rollout a --episodes x", "--episodes: found 'x', expected a whole number of at least 1"),
        (
            "train a --set-hp b",
            "--set-hp: found 'b', expected NAME=VALUE, such as learning_rate=3e-4",
        ),
        ("play a --set b", "--set: found 'b', expected NAME=VALUE, such as size=9"),
        ("view a --num-envs 1048577", "found 1048577, expected at most 1048576"),
        (
            "train a --seeds 5",
            "--seeds: found '5', expected a range of seeds from 0 on, such as 0:3",
        ),
        ("record a", "record: OUT is missing, for example `gv-engine record keydoor-9x9 "),
        ("minari --from a --to b", "minari: --to: not allowed with argument --from"),
    ],
)
def test_wrong_words_are_one_line_with_the_nearest_name(words: str, says: str, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    said = capsys.readouterr().err
    assert says in said
    command = " ".join(word for word in words.split()[:1] if not word.startswith("-"))
    assert said.endswith(f"(see {f'gv-engine {command}'.strip()} --help)\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("check cave/rules.py", "rules.py is Python, not a scenario; name its folder, or the YAML"),
        ("edit cave/exit.png", "exit.png is a picture, not a scenario"),
        ("edit nowhere/cave.yaml", "cave.yaml: there is no folder nowhere"),
        ("replay cave/rollout.json", "json: a part of a rollout; `gv-engine replay cave` shows it"),
        (
            "play --from cave",
            "takes a file of snapshots, and cave is a rollout; watch it with `gv-engine replay",
        ),
        ("rollout keydoor-5x5 --episodes 1e1 --seed 1.5", "--seed: found '1.5', expected a whole"),
    ],
)
def test_a_file_of_another_kind_is_told_with_what_takes_it(
    words: str, says: str, here: Path, capsys
):
    (here / "cave").mkdir()
    for name in ("rules.py", "exit.png", "rollout.json"):
        (here / "cave" / name).write_text("{}")
    with suppress(SystemExit):
        assert main(words.split()) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("words", [["rollout"], ["record"], ["play"], ["check"]])
def test_unknown_scenario(words: list[str], capsys):
    code = main([*words, "keydor-9x9", *(["a.png"] if words == ["record"] else [])])
    assert code == 2
    said = capsys.readouterr().err
    assert said.startswith("keydor-9x9: no scenario of this name; did you mean 'keydoor-9x9'?")
    assert said.endswith("; `gv-engine list` shows all\n")
    assert len(said) < 200


def test_what_is_no_replay_is_told_of_with_and_without_a_screen(capsys, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "none")
    assert main(["replay", "nosuch"]) == 2
    assert capsys.readouterr().err == (
        "gv-engine: nosuch cannot be read: No such file or directory\n"
    )


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_names_in_tables_and_bars_are_text(monkeypatch):
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


def test_mistakes_come_line_by_line(here: Path, capsys):
    write(here, rule="turn_agnt", more="max_steps: never")
    assert main(["rollout", "."]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in said] == ["max_steps", "transition_functions[1].name"]
    assert "scenario.yaml:7" in said[1]


def test_an_error_in_a_rule_names_its_line(here: Path, capsys):
    code = "@system(TRANSITION)\ndef broken(w, agent):\n    w.nonsense = {}[w.action[agent]]\n"
    write(here, rule="./rules.py:broken", code=code)
    assert main(["record", ".", "a.png", "--steps", "1"]) == 2
    assert f"{here / 'rules.py'}:5: KeyError" in capsys.readouterr().err
    assert not list(here.glob("*.png"))


def test_what_a_file_says_cannot_speak_to_the_terminal(here: Path, capsys):
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
    assert main(["play", "--from", f"{evil}.npz"]) == 2
    assert capsys.readouterr().err.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("command", "words", "part"),
    [
        ("rollout", ["--episodes", "0"], "expected a whole number of at least 1"),
        ("rollout", ["--seed", "-1"], "expected a whole number of at least 0"),
        ("rollout", ["--seed", "9" * 26], "expected at most 4611686018427387904"),
        ("rollout", ["--seed", "x"], "found 'x'"),
        ("rollout", ["--allow-module", ""], "found '', expected the name of a module"),
        ("rollout", ["--allow-module", "a/b"], "found 'a/b', expected the name of a module"),
        ("rollout", ["--max-steps", "0"], "allows endless episodes"),
        *(
            ("bench", [f"--seconds={seconds}"], "expected a number of seconds above 0")
            for seconds in ("0", "-1", "x", "nan", "inf")
        ),
        *(
            (
                "train",
                ["--until", share],
                f"found '{share}', expected a number above 0 and at most 1",
            )
            for share in ("0", "98", "most")
        ),
        ("train", ["--seed", f"{2**62 + 1}"], f"found {2**62 + 1}, expected at most {2**62}"),
        ("record", ["a.png", "--cell", "1000000"], "found 1000000, expected at most 256"),
        ("rollout", ["--policy", ""], "found an empty text"),
        ("check", ["--policy", ""], "found an empty text"),
        ("rollout", ["--a\x9b1m"], r"--a\x9b1m"),
    ],
)
def test_options_are_checked(command: str, words: list[str], part: str, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([command, "empty-4x4", *words])
    said = capsys.readouterr().err
    assert part in said
    assert escape_unprintable(said) == said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_where_the_output_cannot_be_written(here: Path, capsys, monkeypatch):
    """On a full device that is an error, for a reader that has gone away it is not."""
    full = "gv-engine: the output cannot be written: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    for name, file, said in (
        ("cave", writer, ""),
        ("lair", os.open("/dev/full", os.O_WRONLY), full),
    ):
        with os.fdopen(file, "w") as out:  # whose end flushes it, as that of the interpreter does
            monkeypatch.setattr(sys, "stdout", out)
            assert main(["new", name]) == 2
        assert capsys.readouterr().err == said


WITHOUT_DISPLAY = """
import sys
from gv_engine.cli import main
from gv_engine.scenario.domains import Domain, list_playable_scenarios
list_playable_scenarios()  # which is kept
Domain.playable = property(lambda domain: [*domain.built_in()][:1])
assert main(["list"]) == 0
assert not {"llvmlite", "pygame", "rich", "imageio"} & set(sys.modules)
assert main(["play"]) == 2
main(["play", "empty-4x4", "--policy", "valid", "--terminal"])
assert "llvmlite" not in sys.modules
assert main(["record", "empty-4x4", sys.argv[1]]) == 0
"""
ROLLOUT = """
import sys
from gv_engine.cli import main
main(["rollout", "empty-4x4", "--episodes", "1"])
assert not {"imageio", "pygame"} & set(sys.modules)
"""


def test_imports_stay_where_they_are_needed_and_no_display_is_no_traceback(tmp_path: Path):
    picture = tmp_path / "a.png"
    for code in (WITHOUT_DISPLAY, ROLLOUT):
        done = run_without_screen(code, picture)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert ("gv-engine rollout" in done.stderr) == (code == WITHOUT_DISPLAY)
    assert picture.is_file()


@pytest.mark.sample("some")
@pytest.mark.parametrize(
    "listed",
    [{"keydoor-9x9", "hunt", "mathy-poly-simplify-easy"}, {*list_playable_scenarios()}],
    ids=["some", "all"],
)
def test_list(listed: set[str], capsys, monkeypatch):
    ids = {name: gym_id(name) for name in list_built_in_names()}
    ids |= dict.fromkeys(list_multi_agent_grids(), "gv_engine.parallel_env")
    assert sorted(ids) == sorted(list_playable_scenarios())
    some = property(lambda domain: listed & {*domain.built_in(), *domain.multi_agent()})
    monkeypatch.setattr(Domain, "playable", some)
    assert main(["list"]) == 0
    heads, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert heads == ["name", "Gymnasium id", "size", "description"]
    assert sorted(row[:2] for row in rows) == sorted([name, ids[name]] for name in listed)
    assert ["keydoor-9x9", "9×9"] in [[row[0], row[2]] for row in rows]
    assert all(len(row) == 4 and row[3] for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["play", ""], "found an empty text"),
        (["play", "--from", ""], "found an empty text"),
        (["new", "a" * 101], "at most 100 letters"),
        (["check", "keydoor-5x5#z"], "no variant 'z'; keydoor-5x5 has none"),
    ],
)
def test_messages_about_texts_name_what_to_change(words, message, capsys):
    with suppress(SystemExit):
        assert main(words) != 0
    assert message in capsys.readouterr().err
