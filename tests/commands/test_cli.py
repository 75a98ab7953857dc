"""The command line: in this process where that tells enough, in another where it does not."""

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio.v3
import numpy as np
import pytest

from gv_engine import GridVectorEnv, __version__
from gv_engine.batches.compiled.compiler import Program
from gv_engine.commands import COMMANDS, bench, main
from gv_engine.families.grid import hooks
from gv_engine.reading.families import built_in_names
from gv_engine.reading.files import replacing
from gv_engine.reading.library import gym_id
from gv_engine.rollouts import episode_folder
from gv_engine.rollouts.episode_folder import EpisodeFolder, RolloutError
from tests import ROOT

pytestmark = pytest.mark.slow

SCENARIO = """
map: |
  #####
  #> E#
  #####
{more}
transition_functions: [{{name: move_agent}}, {{name: {rule}}}]
reward_functions: [{{name: reach_exit}}]
observation_function: {{name: fully_transparent, area: [[-2, 0], [-1, 1]]}}
terminating_function: {{name: reach_exit}}
"""
HIDDEN = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")


def command(*words: str | Path, here: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the command in another process, without a screen."""
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    return subprocess.run(
        [sys.executable, "-m", "gv_engine", *map(str, words)],
        cwd=here,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, rule: str = "turn_agent", more: str = "", code: str = "") -> Path:
    """A corridor, maybe with a rule of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "scenario.yaml").write_text(SCENARIO.format(rule=rule, more=more))
    head = "from gv_engine import *\nfrom gv_engine.language.component import *\n"
    (folder / "rules.py").write_text(head + code)
    return folder


# ---- what all commands share -----------------------------------------------------------------


def test_version_and_help(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"gv-engine {__version__}\n"
    named = ("play", "replay", "list", "new", "check", "compile", "rollout", "record", "bench")
    for words in ([], *([name] for name in named)):
        with pytest.raises(SystemExit, match="0"):
            main([*words, "--help"])
        said = capsys.readouterr().out
        assert f"gv-engine {' '.join(words)}" in said
        assert "examples:\n" in said
    assert len(COMMANDS) == len(named)


@pytest.mark.parametrize("words", [["rollout"], ["record"], ["play"], ["check"]])
def test_unknown_scenario(words: list[str], capsys: pytest.CaptureFixture[str]):
    code = main([*words, "keydor-9x9", *(["a.png"] if words == ["record"] else [])])
    assert code == (1 if words == ["check"] else 2)
    said = capsys.readouterr().err
    assert said.startswith("keydor-9x9: no scenario of this name; did you mean 'keydoor-9x9'?")
    assert said.endswith("; `gv-engine list` shows all\n")
    assert len(said) < 200


def test_mistakes_come_line_by_line(here: Path, capsys: pytest.CaptureFixture[str]):
    write(here, rule="turn_agnt", more="max_steps: never")
    assert main(["rollout", "."]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in said] == ["max_steps", "transition_functions[1].name"]
    assert "scenario.yaml:7" in said[1]


def test_an_error_in_a_rule_names_its_line(here: Path, capsys: pytest.CaptureFixture[str]):
    code = "@system(TRANSITION)\ndef broken(w, agent):\n    w.nonsense = {}[w.action]\n"
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
    write(here, more=r'name: "\e]0;PWNED\a"' + "\nmax_steps: 3")
    assert main(["record", ".", "a.png"]) == 0
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
        (["--max-steps", "0"], "an episode may go on for ever"),
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
        from gv_engine.commands import main
        main(["list"])
        assert not {"numba", "pygame", "rich", "imageio"} & set(sys.modules)
        main(["play"])
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
    code = code.replace('main(["play"])', "").replace('"imageio" not', '"pygame" not')
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- list ------------------------------------------------------------------------------------


def test_list(capsys: pytest.CaptureFixture[str]):
    assert main(["list"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows] == [[name, gym_id(name)] for name in built_in_names()]
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


# ---- rollout ---------------------------------------------------------------------------------


def rolled(*words: str, out: str) -> dict[str, np.ndarray]:
    assert main(["rollout", "empty-4x4", *words, "--out", out]) == 0
    arrays, about = episode_folder.read(out)
    assert about["complete"]
    assert (about["steps"], about["episodes"]) == (len(arrays["grid"]), len(arrays["last_grid"]))
    return arrays


@pytest.mark.parametrize("policy", ["random", "valid", "./policy.py:lazy"])
def test_episodes_are_the_same_for_every_number_of_worlds(here: Path, policy: str):
    (here / "policy.py").write_text(
        "import numpy as np\n"
        "def lazy(observation, info, rngs):\n"
        "    assert observation['grid'].shape[0] == len(info['action_mask']) == len(rngs)\n"
        "    return np.array([rng.integers(6) for rng in rngs])\n"
    )
    words = ("--episodes", "7", "--seed", "5", "--max-steps", "40", "--policy", policy)
    one, *others = (
        rolled(*words, "--num-envs", str(number), "--threads", "2", out=str(number))
        for number in (1, 3, 50)
    )
    for other in others:
        assert list(one) == list(other)
        for name, array in one.items():
            assert np.array_equal(array, other[name]), name


def test_out_holds_the_episodes(here: Path):
    file = rolled("--episodes", "6", "--seed", "9", "--max-steps", "30", out="a")
    about = json.loads((here / "a" / "rollout.json").read_text())
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled", max_steps=30)
    starts = file["episode_start"]
    for k, start in enumerate(starts):
        seed = int(file["episode_seed"][k])
        assert seed == 9 + k
        observation, _ = env.reset(seed=seed)
        for t in range(start, [*starts, len(file["action"])][k + 1]):
            assert np.array_equal(file["grid"][t], observation["grid"][0])
            assert np.array_equal(file["item"][t], observation["item"][0])
            observation, reward, terminated, truncated, info = env.step(file["action"][t : t + 1])
            assert file["reward"][t] == reward[0]
            terms = [info["reward_terms"][name][0] for name in about["reward_names"]]
            assert file["reward_terms"][t].tolist() == terms
            assert (file["terminated"][t], file["truncated"][t]) == (terminated[0], truncated[0])
        assert terminated[0] or truncated[0]
        assert np.array_equal(file["last_grid"][k], observation["grid"][0])
    assert about["action_names"][-1] == "TURN_RIGHT"
    assert about["scenario"]["source"] == "empty-4x4"
    assert (about["seed"], about["policy"]) == (9, "random")


def test_valid_keeps_to_the_mask(here: Path):
    file = rolled("--episodes", "3", "--policy", "valid", "--max-steps", "30", out="a")
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    _, info = env.reset(seed=0)
    for action in file["action"][: [*file["episode_start"], len(file["action"])][1]]:
        assert info["action_mask"][0, action]
        *_, info = env.step(np.array([action]))


def test_summary(capsys: pytest.CaptureFixture[str]):
    assert main(["rollout", "empty-4x4", "--episodes", "20", "--max-steps", "50"]) == 0
    rows = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert rows["episodes"] == "20"
    shares = [float(rows[name].removesuffix("%")) for name in ("terminated", "truncated")]
    assert sum(shares) == pytest.approx(100)
    terms = [float(value) for name, value in rows.items() if name.endswith("mean sum")]
    assert sum(terms) == pytest.approx(float(rows["return, mean"]), rel=1e-4)
    assert float(rows["return, least"]) <= float(rows["return, mean"])


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--out", "."], "is there already; give the name of a new folder"),
        (["--out", "missing/run"], "cannot be written"),
        (["--policy", "rnd"], "did you mean 'random'?"),
        (["--policy", "os:_exit"], "no policy 'os:_exit': (allowed: random, valid, ./file.py:"),
        (["--policy", "./none.py:f"], "./none.py cannot be loaded"),
        (["--policy", "./policy.py:lasy"], "did you mean 'lazy'?"),
        (["--policy", "./policy.py:lazy"], "expected (100,) integers"),
        (["--policy", "./policy.py:wild"], "returned the action 9: allowed are 0 to 5"),
        (["--policy", "./policy.py:rude"], "policy.py:8: ZeroDivisionError"),
    ],
)
def test_rollout_refuses(
    here: Path, words: list[str], part: str, capsys: pytest.CaptureFixture[str]
):
    (here / "policy.py").write_text(
        "import numpy as np\n"
        "def lazy(observation, info, rngs):\n"
        "    return 0\n"
        "def wild(observation, info, rngs):\n"
        "    return np.full(len(rngs), 9)\n"
        "def rude(observation, info, rngs):\n"
        "    a = 0\n"
        "    return 1 // a\n"
    )
    assert main(["rollout", "empty-4x4", *words]) in (1, 2)
    assert part in capsys.readouterr().err
    assert [file.name for file in here.iterdir() if file.is_file()] == ["policy.py"]


def test_an_episode_must_end(here: Path, capsys: pytest.CaptureFixture[str]):
    write(here)
    assert main(["rollout", "."]) == 2
    assert "--max-steps" in capsys.readouterr().err
    write(here, more="max_steps: 5")
    assert main(["rollout", ".", "--episodes", "2"]) == 0


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_keeps_what_is_finished(here: Path):
    (here / "policy.py").write_text(
        "import sys\nimport time\nimport numpy as np\n"
        "def slow(observation, info, rngs):\n"
        "    print('step', file=sys.stderr, flush=True)\n"
        "    time.sleep(0.01)\n"
        "    return np.array([rng.integers(6) for rng in rngs])\n"
    )
    words = "rollout empty-4x4 --episodes 100000 --num-envs 2 --policy ./policy.py:slow"
    with subprocess.Popen(
        [sys.executable, "-m", "gv_engine", *words.split(), "--max-steps", "5", "--out", "a"],
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for _ in range(20):
            process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "interrupted after" in said
    assert "Traceback" not in said
    arrays, about = episode_folder.read(here / "a")
    assert not about["complete"]
    assert f"{about['episodes']} of them in a" in said
    assert len(arrays["episode_start"]) == about["episodes"] >= 2
    assert len(arrays["grid"]) == len(arrays["action"]) == about["steps"]
    assert len(np.load(here / "a" / "grid.npy")) == about["steps"]


@pytest.mark.parametrize("episodes", [3, 10])
def test_ctrl_c_between_two_counts(
    here: Path,
    episodes: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    append = EpisodeFolder.append

    def interrupted(folder, episode):
        append(folder, episode)
        if episode.number == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(EpisodeFolder, "append", interrupted)
    words = ["empty-4x4", "--max-steps", "5", "--out", "a", "--episodes", str(episodes)]
    code = main(["rollout", *words])
    about = episode_folder.read("a")[1]
    assert about["episodes"] == 3
    assert about["complete"] == (episodes == 3)
    assert code == (0 if episodes == 3 else 130)
    said = (
        "" if episodes == 3 else "gv-engine: interrupted after 3 of 10 episodes, 3 of them in a\n"
    )
    assert capsys.readouterr().err == said
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_compiling(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Program, "prepare", interrupted)
    assert main(["rollout", "empty-4x4", "--out", "a"]) == 130
    assert capsys.readouterr().err == "gv-engine: interrupted\n"
    assert not (here / "a").exists()


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_killed_process_leaves_what_it_has_counted(here: Path):
    words = "rollout empty-4x4 --episodes 10000000 --max-steps 20 --num-envs 8 --out a"
    with subprocess.Popen(
        [sys.executable, "-m", "gv_engine", *words.split()],
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    ) as process:
        while (
            not (here / "a" / "rollout.json").exists() or not episode_folder.read("a")[1]["steps"]
        ):
            assert process.poll() is None
        process.kill()
    arrays, counts = episode_folder.read("a")
    assert not counts["complete"]
    starts, seeds = arrays["episode_start"], arrays["episode_seed"]
    assert len(starts) == len(arrays["last_grid"]) == counts["episodes"] > 0
    assert np.array_equal(seeds, np.arange(len(seeds)))
    ends = np.append(starts[1:], counts["steps"]) - 1
    assert (arrays["terminated"] | arrays["truncated"]).nonzero()[0].tolist() == ends.tolist()
    assert len(arrays["grid"]) == len(arrays["reward_terms"]) == counts["steps"]


def test_a_folder_without_a_rollout(here: Path):
    with pytest.raises(RolloutError, match="holds no rollout"):
        episode_folder.read(here)


def test_files_appear_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "a.npz"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(path) as draft:
        draft.write_text("half: \udcff", "utf-8")
    assert path.read_text() == "old"
    with replacing(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="is a folder"), replacing(tmp_path):
        pass


# ---- compile ---------------------------------------------------------------------------------


@pytest.mark.compiled
def test_compile(here: Path, capsys: pytest.CaptureFixture[str]):
    write(here / "odd", "./rules.py:rule", code=RULE + "    {i: [] for i in 'ab'}\n")
    (here / "two.yaml").write_text(
        "variants:\n  small: {}\n  large: {max_steps: 9}\n"
        + SCENARIO.format(rule="turn_agent", more="")
    )
    assert main(["compile", "empty-4x4"]) == 0
    assert capsys.readouterr().out.startswith("empty-4x4\t")
    assert main(["compile", "empty-4x4", "two.yaml", "odd"]) == 1
    out, said = capsys.readouterr()
    rows = [line.split("\t")[:2] for line in out.splitlines()]
    assert rows[0] == ["empty-4x4", "kept already"]
    assert [name for name, _ in rows[1:]] == ["two-small", "two-large", "odd"]
    assert rows[-1] == ["odd", "failed"]
    assert re.search(r"gv-engine: odd: a rule cannot be compiled \(.*rules\.py, line", said)


@pytest.mark.parametrize("words", [[], ["empty-4x4", "--all"]])
def test_compile_wants_scenarios_or_all(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["compile", *words]) == 2
    assert capsys.readouterr().err == "gv-engine: name scenarios, or say --all\n"


def test_compile_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def compile(scenario: Any) -> str:
        if scenario.name == "empty-8x8":
            warnings.warn("compiled programs cannot be kept", RuntimeWarning, stacklevel=1)
        return "compiled"

    monkeypatch.setattr(hooks, "compile", compile)
    assert main(["compile", "--all"]) == 1
    out, said = capsys.readouterr()
    assert [line.split("\t")[0] for line in out.splitlines()] == built_in_names()
    assert out.count("\tfailed\t") == 1
    assert said == "gv-engine: empty-8x8: compiled programs cannot be kept\n"


# ---- bench -----------------------------------------------------------------------------------


def once(work: Callable[[], object], seconds: float) -> float:
    """Once a second, whatever it takes: no test looks at the clock."""
    work()
    return 1.0


def test_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bench, "_rate", once)
    words = ["--num-envs", "10", "--threads", "3", "--seconds", "0.3"]
    assert main(["bench", "empty-4x4", *words]) == 0
    rows = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert rows["10 worlds, resets per second"] == "10"
    threads = [name.split(", ")[1] for name in rows if "thread" in name]
    assert threads == ["1 thread", "2 threads", "3 threads"]
    assert 1 < float(rows["memory per world, KiB"]) < 5


def test_bench_of_what_does_not_compile(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bench, "_rate", once)
    code = RULE + "    {i: [] for i in 'ab'}['a'].append(object())\n"
    write(here, "./rules.py:rule", "max_steps: 5", code)
    assert main(["bench", ".", "--num-envs", "2", "--threads", "3"]) == 0
    out, said = capsys.readouterr()
    rows = [line.split("\t")[0] for line in out.splitlines()]
    assert "2 object worlds, steps per second" in rows
    assert not [row for row in rows if "thread" in row]
    assert said.count("cannot be compiled (") == 1
    assert said.count("compiling") == 1


@pytest.mark.parametrize("seconds", ["0", "-1", "x", "nan", "inf"])
def test_bench_takes_some_time(seconds: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "empty-4x4", f"--seconds={seconds}"])
    assert "expected seconds, more than 0" in capsys.readouterr().err


# ---- record ----------------------------------------------------------------------------------


def test_cells_are_no_larger_than_a_picture_holds(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main(["record", "keydoor-5x5", "a.png", "--cell", "1000000"])
    assert "found 1000000, allowed are at most 256" in capsys.readouterr().err


@pytest.mark.parametrize("view", ["both", "state", "observation", "window"])
def test_picture(here: Path, view: str):
    assert main(["record", "keydoor-5x5", "a.png", "--view", view, "--cell", "16"]) == 0
    picture = imageio.v3.imread("a.png")
    sizes = {"both": (112, 200), "state": (80, 80), "observation": (112, 112)}
    assert picture.shape[:2] == sizes.get(view, (256, 400))
    assert len(np.unique(picture)) > 20


# imageio leaves the pipes open through which it reads a video
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_animation(here: Path, suffix: str):
    out = f"a.{suffix}"
    words = ["--steps", "6", "--fps", "4", "--cell", "15", "--policy", "valid", "--view", "state"]
    assert main(["record", "keydoor-5x5", out, *words]) == 0
    pictures = imageio.v3.imread(out)
    assert pictures.shape[1:3] == (76, 76)  # even, for the video
    assert len({picture.tobytes() for picture in pictures}) > 3


def test_equal_seeds_are_equal_pictures(here: Path):
    for out, seed in (("a.png", "1"), ("b.png", "1"), ("c.png", "2")):
        assert main(["record", "keydoor-7x7", out, "--seed", seed, "--steps", "9"]) == 0
    a, b, c = (Path(out).read_bytes() for out in ("a.png", "b.png", "c.png"))
    assert a == b != c


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["a.avi"], "a.avi: the name must end with .gif, .mp4, .png"),
        (["a.png", "--view", "stat"], "did you mean 'state'?"),
        (["missing/a.png"], "cannot be written"),
    ],
)
def test_record_refuses(
    here: Path, words: list[str], part: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["record", "keydoor-5x5", *words]) != 0
    assert part in capsys.readouterr().err
    assert not list(here.iterdir())


def test_record_needs_no_display(here: Path):
    done = command("record", "keydoor-5x5", "a.png", here=here)
    assert done.returncode == 0, done.stderr
    assert (here / "a.png").is_file()


# ---- new and check ---------------------------------------------------------------------------


def test_new_is_sound_from_the_start(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["new", "my-cave", "--folder", "levels"]) == 0
    folder = Path("levels", "my-cave")
    assert "gv-engine play levels/my-cave" in capsys.readouterr().out.replace(os.sep, "/")
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md",
        "rubble_cracked.svg",
        "rubble_whole.svg",
        "rules.py",
        "scenario.yaml",
        "test_my_cave.py",
    ]
    assert "{{" not in (folder / "README.md").read_text()
    assert main(["check", str(folder)]) == 0
    assert "hit_rubble\tlevels/my-cave/rules.py" in capsys.readouterr().out.replace(os.sep, "/")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(folder)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("name", "part"), [("cave", "exists already"), ("a b", "is no name")])
def test_new_refuses(here: Path, name: str, part: str, capsys: pytest.CaptureFixture[str]):
    Path("cave").mkdir()
    assert main(["new", name]) == 2
    assert part in capsys.readouterr().err
    assert not list(Path("cave").iterdir())


@pytest.mark.parametrize("name", ["keydoor-9x9", "empty-4x4"])
def test_check_finds_nothing_in_what_is_right(name: str, capsys: pytest.CaptureFixture[str]):
    assert main(["check", name, "--episodes", "2"]) == 0
    said = capsys.readouterr().out
    assert "TRANSITION\tmove_agent\tsystems" in said
    assert "object world equals compiled world" in said


RULE = "@system(TRANSITION)\ndef rule(w, agent):\n"
LAMP = "LAMP = object_type('Lamp')\n"


@pytest.mark.parametrize(
    ("more", "code", "part"),
    [
        ("", RULE + "    w.position.x[w.at[0, 0]] = 3\n", "has the position (0, 3)"),
        ("", RULE + "    w.at[1, 3] = 0\n", "Exit) has the position (1, 3)"),
        ("", RULE + "    w.agent.holding[agent] = 40\n", "agent.holding[1] is 40, which has been"),
        ("", RULE + "    w.agent.holding[agent] = w.at[0, 0]\n", "which also stands on the grid"),
        ("", RULE + "    w.position.y[agent] = -1\n", "a rule has put the agent outside the grid"),
        ("", RULE + "    w.fail('no more')\n", "no more"),
        (
            "state_space: {objects: [Wall, Floor, Exit]}",
            LAMP + RULE + "    if w.at[1, 2] == 0:\n        w.place(w.spawn(LAMP), 1, 2)\n",
            "Lamp stands on the grid, which state_space.objects does not list",
        ),
        (
            "observation_space: {objects: [Wall, Floor]}",
            RULE + "    pass\n",
            "Exit is seen, which observation_space.objects does not list",
        ),
        (
            "observation_space: {colors: [NONE]}",
            RULE + "    w.color.value[w.at[1, 3]] = 2\n",
            "the colour GREEN is seen, which observation_space.colors does not list",
        ),
    ],
)
def test_check_finds(
    here: Path, more: str, code: str, part: str, capsys: pytest.CaptureFixture[str]
):
    write(here, "./rules.py:rule", more, code)
    assert main(["check", "."]) == 1
    said = capsys.readouterr().err
    assert part in said
    assert "seed 0, step " in said


def test_check_finds_a_difference(here: Path, capsys: pytest.CaptureFixture[str]):
    code = """
@component
class Count:
    value: Int8 = 127
COUNTER = object_type("Counter", Count)
@system(TRANSITION)
def rule(w, agent):
    if w.at[1, 2] == 0:
        w.place(w.spawn(COUNTER), 1, 2)
    w.count.value[w.at[1, 2]] += 1
"""
    write(here, "./rules.py:rule", "", code)
    assert main(["check", "."]) == 1
    assert "w.count.value: Python integer 128" in capsys.readouterr().err


def test_check_says_what_does_not_compile(here: Path, capsys: pytest.CaptureFixture[str]):
    code = RULE + "    {i: [] for i in 'ab'}['a'].append(object())\n"
    write(here, "./rules.py:rule", "", code)
    assert main(["check", "."]) == 0
    said = dict(line.rsplit("\t", 1) for line in capsys.readouterr().out.splitlines())
    assert said["compiles"].startswith("no: ")
    assert said["found"] == "nothing wrong"


def test_check_lists_the_rules_within_others(here: Path, capsys: pytest.CaptureFixture[str]):
    write(here, code="@system(TERMINATING)\ndef tired(w, agent):\n    return w.steps > 9\n")
    file = here / "scenario.yaml"
    text = file.read_text()
    both = "{name: reduce_any, terminating_functions: [reach_exit, ./rules.py:tired]}"
    start = text.index("terminating_function: ")
    file.write_text(f"{text[:start]}terminating_function: {both}\n")
    assert main(["check", ".", "--episodes", "1"]) == 0
    said = capsys.readouterr().out
    assert "TERMINATING\treduce_any\tsystems" in said
    assert "TERMINATING\t  tired\trules.py:3" in said


@pytest.mark.parametrize("text", ["hello", "<svg"])
def test_a_drawing_that_is_none_is_told(here: Path, text: str, capsys: pytest.CaptureFixture[str]):
    write(here, "./rules.py:rule", code=LAMP + RULE + "    pass\n")
    (here / "lamp.svg").write_text(text)
    assert main(["check", ".", "--episodes", "1"]) == 1
    assert "lamp.svg: no SVG drawing" in capsys.readouterr().err
    lit = RULE + "    if w.at[1, 2] == 0:\n        w.place(w.spawn(LAMP), 1, 2)\n"
    write(here, "./rules.py:rule", code=LAMP + lit)
    assert main(["record", ".", "lamp.png", "--steps", "1"]) == 1
    assert "lamp.svg: no SVG drawing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "hint"), [("Lamp.svg", "; did you mean 'Lamp.svg'? (there are: Lamp.svg)"), ("", "")]
)
def test_check_tells_of_drawings_that_are_not_there(
    here: Path, file: str, hint: str, capsys: pytest.CaptureFixture[str]
):
    write(here, "./rules.py:rule", code=LAMP + RULE + "    pass\n")
    if file:
        (here / file).write_text("<svg></svg>")
    assert main(["check", ".", "--episodes", "1"]) == 0
    missing = "no lamp.svg beside the scenario, so it looks like ?"
    assert f"drawing\t{missing}{hint}\n" in capsys.readouterr().out
