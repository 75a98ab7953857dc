"""`gv-engine rollout`."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import GridVectorEnv
from gv_engine.cli import main, rollout
from gv_engine.compiler.batch_program import BatchProgram
from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.episode_folder import EpisodeFolder
from gv_engine.envs.rollout.episode_stats import EpisodeStats
from gv_engine.envs.rollout.policy import PolicyError
from gv_engine.plugins.learning.evaluation import evaluate_policy

pytestmark = pytest.mark.slow


def rolled(*words: str, out: str) -> dict[str, np.ndarray]:
    assert main(["rollout", "empty-4x4", *words, "--out", out]) == 0
    arrays, about = episode_folder.read(out)
    assert about["complete"]
    assert (about["steps"], about["episodes"]) == (len(arrays["grid"]), len(arrays["last_grid"]))
    return arrays


def printed(capsys) -> dict[str, str]:
    """Return the table that was printed."""
    return dict(line.split("\t") for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("policy", ["random", "valid", "./policy.py:lazy", "./policy.py:InTurn"])
def test_episodes_are_the_same_for_every_number_of_worlds(here: Path, policy: str):
    (here / "policy.py").write_text(
        "import numpy as np\n"
        "def lazy(observation, info, rngs):\n"
        "    assert observation['grid'].shape[0] == len(info['action_mask']) == len(rngs)\n"
        "    return np.array([rng.integers(6) for rng in rngs])\n"
        "class InTurn:\n"
        "    def __init__(self, num_envs, num_actions):\n"
        "        self.next, self.number = np.zeros(num_envs, int), num_actions\n"
        "    def begin(self, worlds):\n"
        "        self.next[worlds] = 0\n"
        "    def act(self, observation, info, rngs):\n"
        "        self.next += 1\n"
        "        return self.next % self.number\n"
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


@pytest.mark.parametrize("shown", ["default", "onehot"])
def test_out_holds_the_episodes(here: Path, shown: str):
    words = ["--episodes", "6", "--seed", "9", "--max-steps", "30", "--policy", "valid"]
    more = [] if shown == "default" else ["--masks", "--representation", shown]
    arrays = rolled(*words, *more, out="a")
    assert ("action_mask" in arrays) == (shown == "onehot")
    about = json.loads((here / "a" / "rollout.json").read_text())
    env = GridVectorEnv(
        "empty-4x4", 1, world="object", max_steps=30, observation_representation=shown
    )
    assert arrays["episode_seed"].tolist() == [9, 10, 11, 12, 13, 14]
    starts = arrays["episode_start"].tolist()
    for k, (start, end) in enumerate(zip(starts, [*starts[1:], about["steps"]])):
        seen, info = env.reset(seed=9 + k)
        for t in range(start, end):
            assert np.array_equal(arrays["grid"][t], seen["grid"][0])
            assert np.array_equal(arrays["item"][t], seen["item"][0])
            mask = info["action_mask"][0]
            assert np.array_equal(arrays["action_mask"][t] if more else mask, mask)
            assert mask[arrays["action"][t]]
            action = arrays["action"][t : t + 1].astype(int)
            seen, reward, terminated, truncated, info = env.step(action)
            assert arrays["reward"][t] == reward[0]
            terms = [info["reward_terms"][name][0] for name in about["reward_names"]]
            assert arrays["reward_terms"][t].tolist() == terms
            flags = arrays["terminated"][t], arrays["truncated"][t]
            assert flags == (terminated[0], truncated[0])
        assert terminated[0] or truncated[0]
        assert np.array_equal(arrays["last_grid"][k], seen["grid"][0])
    assert about["action_names"][-1] == "TURN_RIGHT"
    assert about["scenario"]["source"] == "empty-4x4"
    assert (about["seed"], about["policy"]) == (9, "valid")


def test_summary(capsys):
    assert main(["rollout", "empty-4x4", "--episodes", "20", "--max-steps", "50"]) == 0
    rows = printed(capsys)
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
        (["--policy", "os:_exit"], "'os:_exit' (allowed: random, valid, bot, trained"),
        (["--policy", "./policy.py:rude"], "policy.py:2: ZeroDivisionError"),
        (["--policy", "./policy.py:wild"], "returned the action 9: allowed are 0 to 5"),
        (["--representation", "compct"], "did you mean 'compact'?"),
        (["--representation", "pixels"], "rollouts keep grid"),
        (["--resume"], "--resume continues a folder; name it with --out"),
    ],
)
def test_rollout_refuses(here: Path, words: list[str], part: str, capsys):
    (here / "policy.py").write_text(
        "def rude(observation, info, rngs):\n    return 1 // 0\n"
        "def wild(observation, info, rngs):\n    return [9 for _ in rngs]\n"
    )
    assert main(["rollout", "empty-4x4", *words]) == 2
    assert part in capsys.readouterr().err
    assert [file.name for file in here.iterdir() if file.is_file()] == ["policy.py"]


@pytest.mark.parametrize(
    ("command", "compiling"),
    [
        ("rollout keydoor-5x5 --levels test", "gv_engine.cli.rollout.level_set"),
        ("check keydoor-5x5", "gv_engine.play.grid.hooks.find_broken_contracts"),
        ("view keydoor-5x5", "gv_engine.play.session.batch_viewer.GridVectorEnv"),
        ("", "gv_engine.plugins.learning.evaluation.level_set"),
    ],
    ids=["rollout", "check", "view", "evaluate"],
)
def test_an_unknown_policy_is_told_before_anything_compiles(command, compiling, monkeypatch):
    monkeypatch.setattr(compiling, lambda *args, **kwargs: pytest.fail("compiles first"))
    if command:
        assert main([*command.split(), "--policy", "rnd"]) == 2
        return
    with pytest.raises(PolicyError, match="no policy 'rnd'; did you mean 'random'"):
        evaluate_policy("rnd", "keydoor-5x5", "test")


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


def test_an_episode_must_end(here: Path, capsys):
    level = here / "level.yaml"
    level.write_text("extends: empty-4x4\nmax_steps: null\n")
    assert main(["rollout", "level.yaml"]) == 2
    assert "--max-steps" in capsys.readouterr().err
    level.write_text("extends: empty-4x4\nmax_steps: 5\n")
    assert main(["rollout", "level.yaml", "--episodes", "2"]) == 0


def test_ctrl_c_keeps_what_is_finished(here: Path, capsys):
    (here / "policy.py").write_text(
        "import signal\n"
        "steps = []\n"
        "def act(observation, info, rngs):\n"
        "    steps.append(1)\n"
        "    if len(steps) == 18:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return [0 for rng in rngs]\n"
    )
    words = ["--num-envs", "2", "--max-steps", "5", "--policy", "./policy.py:act", "--out", "a"]
    assert main(["rollout", "empty-4x4", *words]) == 130
    arrays, about = episode_folder.read("a")
    assert not about["complete"]
    said = (
        f"interrupted after {about['episodes']} of 100 episodes, {about['episodes']} of them in a"
    )
    assert said in capsys.readouterr().err
    assert len(arrays["episode_start"]) == about["episodes"] >= 2
    assert len(arrays["grid"]) == len(arrays["action"]) == about["steps"]
    assert len(np.load(here / "a" / "grid.npy")) == about["steps"]


@pytest.mark.parametrize(
    ("number", "episodes", "code"),
    [(signal.SIGINT, 3, 0), (signal.SIGINT, 10, 130), (signal.SIGTERM, 10, 143)],
)
def test_ctrl_c_and_sigterm_between_two_counts(here, number, episodes, code, capsys, monkeypatch):
    append = EpisodeFolder.append

    def interrupted(folder, episode):
        append(folder, episode)
        if episode.number == 2:
            signal.raise_signal(number)

    monkeypatch.setattr(EpisodeFolder, "append", interrupted)
    monkeypatch.setattr(rollout, "_BURST", 1)
    words = ["empty-4x4", "--max-steps", "5", "--out", "a", "--episodes", str(episodes)]
    before = signal.getsignal(number)
    assert main(["rollout", *words]) == code
    about = episode_folder.read("a")[1]
    assert about["episodes"] == 3
    assert about["complete"] == (episodes == 3)
    told = "gv-engine: interrupted after 3 of 10 episodes, 3 of them in a\n"
    assert (told in capsys.readouterr().err) == (episodes == 10)
    assert signal.getsignal(number) is before


def test_ctrl_c_in_a_burst_keeps_its_episodes(here: Path, capsys, monkeypatch):
    append, add = EpisodeFolder.append, EpisodeStats.add

    def interrupted(folder, episode):
        append(folder, episode)
        if episode.number == 20:
            signal.raise_signal(signal.SIGINT)

    def count(stats, values):
        sizes.append(len(values.lengths))
        add(stats, values)

    sizes: list[int] = []
    monkeypatch.setattr(EpisodeFolder, "append", interrupted)
    monkeypatch.setattr(EpisodeStats, "add", count)
    monkeypatch.setattr(rollout, "_BURST", 8)
    monkeypatch.setattr(rollout, "_MAX_DELAY", 1e9)
    words = ["empty-4x4", "--max-steps", "5", "--out", "a", "--episodes", "100"]
    assert main(["rollout", *words]) == 130
    told = "gv-engine: interrupted after 24 of 100 episodes, 24 of them in a\n"
    assert told in capsys.readouterr().err
    assert sizes == [8, 8, 8]
    assert episode_folder.read("a")[1]["episodes"] == 24


def test_ctrl_c_while_compiling(here: Path, capsys, monkeypatch):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(BatchProgram, "prepare", interrupted)
    assert main(["rollout", "empty-4x4", "--out", "a"]) == 130
    assert capsys.readouterr().err == "gv-engine: interrupted\n"
    assert not (here / "a").exists()


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
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    counts = {row[0]: row[1] for row in rows}
    assert counts.keys() == {"train", "validation", "test", "test-layout", "larger"}
    assert [row[2:] for row in rows] == [
        ["1", "", ""],
        ["1", "0%", ""],
        ["1", "0%", ""],
        ["", "", "empty-4x4 has one layout, too few for the set test-layout: at least 5"],
        ["1", "100%", ""],
    ]
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
    assert main([*words, "part", "--seed", "1", "--resume"]) == 2
    assert "part is of another rollout: its seed is 0, not 1" in capsys.readouterr().err
    assert main([*words, "part", "--resume"]) == 0
    for each in (here / "whole").iterdir():
        assert each.read_bytes() == (here / "part" / each.name).read_bytes(), each.name
    assert main([*words, "part", "--resume"]) == 0  # there is nothing left to do


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
    ],
)
def test_a_rollout_goes_on_with_its_own_options_alone(here, capsys, first, then, differs):
    words = ["rollout", "empty-4x4", "--max-steps", "9", "--out", "x", "--episodes"]
    assert main([*words, "2", *first]) == 0
    before = (here / "x" / "rollout.json").read_bytes()
    assert main([*words, "4", *then, "--resume"]) == 2
    assert differs in capsys.readouterr().err
    assert (here / "x" / "rollout.json").read_bytes() == before
    assert main([*words, "4", *first, "--resume"]) == 0


@pytest.mark.parametrize(
    "played", ["{here}level.yaml", "empty-4x4 --levels {here}some.json"], ids=["file", "levels"]
)
def test_a_rollout_goes_on_from_another_folder(here: Path, capsys, monkeypatch, played):
    (here / "level.yaml").write_text("extends: empty-4x4\n")
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
    assert main([*words("../", "other"), "--episodes", "4", "--resume"]) == 2
    assert 'its policy is "../ü.py:act", not "../ü.py:other"' in capsys.readouterr().err
    policy = here / "ü.py"
    policy.write_text(policy.read_text().replace("argmax", "argmin"))
    assert main([*words("../", "act"), "--episodes", "4", "--resume"]) == 2
    assert "x is of another rollout: its policy_digest is" in capsys.readouterr().err
    assert episode_folder.read("../x")[1]["episodes"] == 3
