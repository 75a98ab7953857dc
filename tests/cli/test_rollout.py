"""`gv-engine rollout`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import GridVectorEnv
from gv_engine.cli import main
from gv_engine.compiler.programs import Program
from gv_engine.rollout import episode_folder
from gv_engine.rollout.episode_folder import EpisodeFolder, RolloutError
from gv_engine.scenario.files import atomic_write
from tests import ROOT
from tests.cli.shell import write

pytestmark = pytest.mark.slow


def rolled(*words: str, out: str) -> dict[str, np.ndarray]:
    assert main(["rollout", "empty-4x4", *words, "--out", out]) == 0
    arrays, about = episode_folder.read(out)
    assert about["complete"]
    assert (about["steps"], about["episodes"]) == (len(arrays["grid"]), len(arrays["last_grid"]))
    return arrays


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the table that was printed."""
    return dict(line.split("\t") for line in capsys.readouterr().out.splitlines())


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
        (["--policy", "os:_exit"], "'os:_exit': (allowed: random, valid, bot, solver, ./file.py:"),
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


def test_a_policy_that_fails_at_once_leaves_the_name_free(here: Path, capsys):
    file = here / "own.py"
    file.write_text("def act(observation, info, rngs):\n    return [9 for _ in rngs]\n")
    words = ["rollout", "empty-4x4", "--max-steps", "9", "--episodes", "2", "--out", "x"]
    words += ["--policy", "own.py:act"]
    assert main(words) == 2
    assert "returned" in capsys.readouterr().err
    assert not (here / "x").exists()
    file.write_text(
        "import numpy as np\n"
        "def act(observation, info, rngs):\n    return np.zeros(len(rngs), int)\n"
    )
    assert main(words) == 0


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


@pytest.mark.parametrize(
    ("number", "episodes", "code"),
    [(signal.SIGINT, 3, 0), (signal.SIGINT, 10, 130), (signal.SIGTERM, 10, 143)],
)
def test_ctrl_c_and_sigterm_between_two_counts(
    here: Path,
    number: signal.Signals,
    episodes: int,
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    append = EpisodeFolder.append

    def interrupted(folder, episode):
        append(folder, episode)
        if episode.number == 2:
            signal.raise_signal(number)

    monkeypatch.setattr(EpisodeFolder, "append", interrupted)
    words = ["empty-4x4", "--max-steps", "5", "--out", "a", "--episodes", str(episodes)]
    before = signal.getsignal(number)
    assert main(["rollout", *words]) == code
    about = episode_folder.read("a")[1]
    assert about["episodes"] == 3
    assert about["complete"] == (episodes == 3)
    told = "gv-engine: interrupted after 3 of 10 episodes, 3 of them in a\n"
    assert (told in capsys.readouterr().err) == (episodes == 10)
    assert signal.getsignal(number) is before


def test_ctrl_c_while_compiling(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Program, "prepare", interrupted)
    assert main(["rollout", "empty-4x4", "--out", "a"]) == 130
    assert capsys.readouterr().err == "gv-engine: interrupted\n"
    assert not (here / "a").exists()


@pytest.mark.thorough
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
    with pytest.raises(UnicodeEncodeError), atomic_write(path) as draft:
        draft.write_text("half: \udcff", "utf-8")
    assert path.read_text() == "old"
    with atomic_write(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="is a folder"), atomic_write(tmp_path):
        pass


def test_every_level_of_a_set_is_played_once(here: Path, capsys):
    assert main(["splits", "empty-4x4", "--levels", "0:9", "--out", "some.json"]) == 0
    assert "some.json: " in capsys.readouterr().out
    assert main(["splits", "empty-4x4", "--levels", "some.json"]) == 0
    heads, *lines = capsys.readouterr().out.splitlines()
    assert heads == "level\tseed"
    seeds = [int(line.split("\t")[1]) for line in lines]
    assert 1 < len(seeds) <= 9
    words = ["rollout", "empty-4x4", "--max-steps", "5", "--levels", "some.json", "--out", "a"]
    assert main(words) == 0
    arrays, about = episode_folder.read("a")
    assert (about["levels"], about["level_seeds"]) == ("some.json", seeds)
    env = GridVectorEnv("empty-4x4", len(seeds), world="object")
    shown, _ = env.reset(seed=seeds)
    assert np.array_equal(arrays["grid"][arrays["episode_start"]], shown["grid"])


def test_sets_are_counted_and_solved(here: Path, capsys):
    assert main(["splits", "empty-4x4"]) == 0
    counts = dict(line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()[1:])
    assert counts.keys() == {"train", "test", "larger"}
    assert main(["splits", "empty-4x4", "--levels", "test", "--solve"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert len(lines) == int(counts["test"])
    assert all(int(steps) > 0 for _, _, steps in lines)


def test_parts_are_those_of_the_whole(here: Path):
    words = ("--max-steps", "40", "--seed", "2", "--policy", "valid")
    whole = rolled("--episodes", "7", *words, out="whole")
    parts = [rolled("--episodes", "4", *words, out="a")]
    parts.append(rolled("--episodes", "3", "--first", "4", *words, out="b"))
    for name, array in whole.items():
        first, second = (part[name] for part in parts)
        if name == "episode_start":
            second = second + len(parts[0]["action"])
        assert np.concatenate([first, second]).tobytes() == array.tobytes(), name


def test_a_rollout_goes_on_behind_what_is_whole(here: Path, monkeypatch, capsys):
    words = ["rollout", "empty-4x4", "--max-steps", "40", "--episodes", "9", "--out"]
    assert main([*words, "whole"]) == 0
    append, number = EpisodeFolder.append, 0

    def interrupted(folder: EpisodeFolder, episode: Any) -> None:
        nonlocal number
        if number == 4:
            raise KeyboardInterrupt
        number += 1
        append(folder, episode)

    monkeypatch.setattr(EpisodeFolder, "append", interrupted)
    assert main([*words, "part"]) == 130
    monkeypatch.setattr(EpisodeFolder, "append", append)
    with (here / "part" / "grid.npy").open("ab") as file:
        file.write(b"what a killed process leaves behind")
    assert main([*words, "part", "--seed", "1", "--resume"]) == 1
    assert "part is of another rollout: its seed is 0, not 1" in capsys.readouterr().err
    assert main([*words, "part", "--resume"]) == 0
    for each in (here / "whole").iterdir():
        assert each.read_bytes() == (here / "part" / each.name).read_bytes(), each.name
    assert main([*words, "part", "--resume"]) == 0  # there is nothing left to do
    assert main(["rollout", "empty-4x4", "--resume"]) == 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words", ["keydoor-5x5 --max-steps 40 --policy valid", "hand-over --max-steps 60"]
)
def test_what_is_printed_is_of_all_episodes_of_the_folder(here: Path, capsys, words: str):
    command = ["rollout", *words.split(), "--out"]
    assert main([*command, "whole", "--episodes", "7"]) == 0
    whole = printed(capsys)
    assert main([*command, "part", "--episodes", "3"]) == 0
    capsys.readouterr()
    assert main([*command, "part", "--episodes", "7", "--resume"]) == 0
    resumed = printed(capsys)
    assert resumed.pop("new episodes") == "4"
    del whole["steps per second"], resumed["steps per second"]
    assert resumed == whole
    assert main([*command, "part", "--episodes", "7", "--resume"]) == 0
    assert printed(capsys) == {**whole, "new episodes": "0", "steps per second": "0"}
    assert main([*command, "part", "--episodes", "6", "--resume"]) == 2
    assert "part has 7 episodes; give --episodes 7 or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("first", "then", "differs"),
    [
        (("--first", "3"), (), "its first is 3, not null"),
        (("--levels", "train"), (), 'its levels is "train", not null'),
        (
            ("--policy", "solver", "--levels", "train"),
            ("--policy", "solver", "--levels", "test"),
            'its solved_levels is "train", not "test"',
        ),
        (("--representation", "compact"), (), 'its representation is "compact", not null'),
        (("--masks",), (), 'its action_mask.npy is {"dtype"'),
        ((), ("--masks",), "its action_mask.npy is null, not {"),
    ],
)
def test_a_rollout_goes_on_with_its_own_options_alone(here, capsys, first, then, differs):
    words = ["rollout", "empty-4x4", "--max-steps", "9", "--out", "x", "--episodes"]
    assert main([*words, "2", *first]) == 0
    before = (here / "x" / "rollout.json").read_bytes()
    assert main([*words, "4", *then, "--resume"]) == 1
    assert differs in capsys.readouterr().err
    assert (here / "x" / "rollout.json").read_bytes() == before
    assert main([*words, "4", *first, "--resume"]) == 0


def test_a_rollout_goes_on_with_the_policy_that_it_had(here: Path, capsys):
    file = here / "mine.py"
    file.write_text("def act(observation, info, rngs):\n    return [0 for _ in rngs]\n")
    words = ["rollout", "empty-4x4", "--max-steps", "9", "--out", "x", "--policy", "mine.py:act"]
    assert main([*words, "--episodes", "2"]) == 0
    assert main([*words, "--episodes", "3", "--resume"]) == 0
    file.write_text(file.read_text().replace("0", "1"))
    assert main([*words, "--episodes", "4", "--resume"]) == 1
    assert "x is of another rollout: its policy_digest is" in capsys.readouterr().err


@pytest.mark.parametrize(
    "played", ["{here}level", "empty-4x4 --levels {here}some.json"], ids=["file", "levels"]
)
def test_a_rollout_goes_on_from_another_folder(here: Path, capsys, monkeypatch, played):
    write(here / "level")
    (here / "ü.py").write_text(
        "def act(observation, info, rngs):\n    return info['action_mask'].argmax(1)\n"
        "def other(observation, info, rngs):\n    return act(observation, info, rngs)\n"
    )
    assert main(["splits", "empty-4x4", "--levels", "0:9", "--out", "some.json"]) == 0

    def words(folder: str, name: str) -> list[str]:
        own = ["--policy", f"{folder}ü.py:{name}", "--out", f"{folder}x"]
        return ["rollout", *played.format(here=folder).split(), "--max-steps", "9", *own]

    assert main([*words("", "act"), "--episodes", "2"]) == 0
    (here / "beside").mkdir()
    monkeypatch.chdir(here / "beside")
    assert main([*words("../", "act"), "--episodes", "3", "--resume"]) == 0
    capsys.readouterr()
    assert main([*words("../", "other"), "--episodes", "4", "--resume"]) == 1
    assert 'its policy is "../ü.py:act", not "../ü.py:other"' in capsys.readouterr().err
    assert episode_folder.read("../x")[1]["episodes"] == 3


def test_masks_and_another_representation_are_kept(here: Path):
    words = ("--episodes", "5", "--max-steps", "9", "--policy", "valid")
    plain = rolled(*words, out="plain")
    arrays = rolled(*words, "--masks", "--representation", "onehot", out="more")
    assert arrays.keys() - plain.keys() == {"action_mask"}
    env = GridVectorEnv(
        "empty-4x4", 1, world="object", max_steps=9, observation_representation="onehot"
    )
    for k, start in enumerate(arrays["episode_start"].tolist()):
        seen, info = env.reset(seed=k)
        end = start + int(np.argmax((arrays["terminated"] | arrays["truncated"])[start:])) + 1
        for step in range(start, end):
            assert np.array_equal(seen["grid"][0], arrays["grid"][step])
            assert np.array_equal(info["action_mask"][0], arrays["action_mask"][step])
            assert arrays["action_mask"][step, arrays["action"][step]]
            seen, *_, info = env.step(arrays["action"][step : step + 1].astype(int))
        assert np.array_equal(seen["grid"][0], arrays["last_grid"][k])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("alone", "alone is called with (observation, info, rngs): too many positional arguments"),
        ("thing", "thing is 7; expected a function, or a class"),
        ("Unmade", "Unmade is called with (num_envs, num_actions): too many positional"),
        ("Deaf", "Deaf.begin is called with (worlds): too many positional arguments"),
        ("thin", "own.py has no function 'thin': (allowed: alone, Deaf, Unmade)"),
    ],
)
def test_a_policy_that_cannot_be_called_is_told(here: Path, capsys, name, told):
    (here / "own.py").write_text(
        "def alone(observation):\n    return 0\nthing = 7\n"
        "class Deaf:\n"
        "    def __init__(self, num_envs, num_actions): pass\n"
        "    def act(self, *seen): pass\n"
        "    def begin(self): pass\n"
        "class Unmade(Deaf):\n    def __init__(self): pass\n"
    )
    assert main(["rollout", "empty-4x4", "--policy", f"own.py:{name}"]) == 2
    assert told in capsys.readouterr().err


def test_a_policy_that_remembers_is_told_where_episodes_begin(here: Path, capsys):
    (here / "own.py").write_text(
        "import numpy as np\n"
        "class InTurn:\n"
        "    def __init__(self, num_envs, num_actions):\n"
        "        self.next, self.number = np.zeros(num_envs, int), num_actions\n"
        "    def begin(self, worlds):\n"
        "        self.next[worlds] = 0\n"
        "    def act(self, observation, info, rngs):\n"
        "        self.next += 1\n"
        "        return (self.next - 1) % self.number\n"
        "class Other:\n"
        "    pass\n"
    )
    words = ("--episodes", "7", "--max-steps", "20", "--policy", "./own.py:InTurn")
    one, many = (rolled(*words, "--num-envs", number, out=number) for number in ("1", "3"))
    for arrays in (one, many):
        starts = arrays["episode_start"]
        after = np.arange(len(arrays["action"])) - np.repeat(
            starts, np.diff([*starts, len(arrays["action"])])
        )
        assert np.array_equal(arrays["action"], after % 6)
    assert main(["rollout", "empty-4x4", "--policy", "./own.py:Other"]) == 2
    assert "Other: the class lacks `act`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"),
    [("compct", "did you mean 'compact'?"), ("pixels", "rollouts keep grid")],
)
def test_a_representation_that_is_not_kept_is_told(here: Path, capsys, name, told):
    assert main(["rollout", "empty-4x4", "--representation", name]) == 2
    assert told in capsys.readouterr().err
