"""Damaged checkpoints are refused before anything of them is restored."""

import copy
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from warnings import catch_warnings

import pytest

torch: Any = pytest.importorskip("torch")

from gv_engine.envs.rollout.policy_file import RunError  # noqa: E402  # after the check for torch
from tests.fuzz.checkpoints import CHECKPOINT, PROGRESS, WAYS, Checkpoints, as_bytes  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    return Checkpoints(tmp_path_factory.mktemp("runs"))


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("way", "path", "value", "says"),
    [
        ("ppo", "seconds", "a", "seconds is of type str; expected of type float"),
        ("ppo", "best", 3, "best is of type int; expected a mapping"),
        ("ppo", "best", {"score": 0}, "best: the entry 'net' is missing or unknown"),
        ("ppo", "learner.counts", [1], "learner.counts is a list of 1; expected"),
        ("ppo", "learner.counts", [-1, 0], "counts has -1; expected numbers from 0"),
        ("ppo", "learner.losses", None, "learner.losses is of type NoneType; expected a tensor"),
        ("ppo", "learner.starts", torch.zeros(4), "learner.starts is a tensor of torch.float32"),
        ("ppo", "learner.live", torch.ones(5, dtype=bool), r"shape \(5,\); expected .* \(4,\)"),
        ("ppo", "learner.memory", torch.zeros(4, 9), "learner.memory is a tensor"),
        ("ppo", "learner.colors", torch.full((4,), 99), "colors has 99; expected numbers from 0"),
        ("ppo", "learner.reward_scaler.moments", [0.0, 0.0, 1.0], "moments has 0.0"),
        ("ppo", "learner.reward_scaler.moments", [1.0, 0.0, -1.0], "moments has -1.0"),
        ("ppo", "learner.estimator.0", torch.full((4,), -1), "estimator has -1"),
        ("ppo", "learner.estimator.0", torch.full((4,), 2**40), f"estimator has {2**40}"),
        ("ppo", "learner.rngs.actions", torch.zeros(5056, dtype=torch.uint8), "Invalid mt19937"),
        ("ppo", "learner.net", {}, "learner.net: the entry 'actor.bias' is missing"),
        ("plr", "learner.curriculum.scores", torch.zeros(1).double(), "curriculum.scores has 1"),
        ("plr", "learner.curriculum.updates", -1, "played_at has .*; expected numbers from 0"),
        ("plr", "learner.curriculum.updates", 2**70, "curriculum.updates has"),
        ("accel", "learner.curriculum.rows", torch.zeros(1, 3, dtype=torch.uint8), "rows"),
        ("noveld", "learner.visited", [[0], ["a"], [], []], "visited.1..0. is of type str"),
        ("ride", "learner.visited", [[0], ["a"], [], []], "visited.1..0. is of type str"),
        ("ride", "learner.impact_scaler.moments", [0.0, 0.0, 1.0], "moments has 0.0"),
        ("ride", "learner.dynamics", {}, "learner.dynamics: the entry 'embedding.bias' is missing"),
        ("self", "learner.partners.pool", [], "partners.pool has 0"),
        ("self", "learner.partners._slots", torch.full((4,), 7), "_slots has 7"),
    ],
)
def test_a_damaged_entry_is_told(way, path, value, says, checkpoints, tmp_path):
    state = copy.deepcopy(checkpoints.states[way])
    *parents, name = path.split(".")
    node = state
    for each in parents:
        node = node[each]
    node[int(name) if name.isdigit() else name] = value
    folder = write(tmp_path, {**checkpoints.files[way], CHECKPOINT: as_bytes(state)})
    with pytest.raises(RunError, match=rf"checkpoint\.pt is damaged, .*: .*{says}"):
        checkpoints.run(folder)


@pytest.mark.parametrize("way", WAYS)
def test_a_whole_checkpoint_is_restored(way, checkpoints, tmp_path):
    checkpoints.run(write(tmp_path, checkpoints.files[way]))


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\0", "\xff"])
def test_a_damaged_curve_is_told(text, checkpoints, tmp_path):
    folder = write(tmp_path, {**checkpoints.files["ppo"], PROGRESS: text.encode("latin-1")})
    with pytest.raises(RunError, match=r"progress\.csv is damaged"):
        checkpoints.run(folder)
    (folder / PROGRESS).unlink()
    with pytest.raises(RunError, match=r"holds no run: there is no progress\.csv"):
        checkpoints.run(folder)


def test_drawn_damage_is_refused_or_trained_on(checkpoints, tmp_path):
    for number in range(60):
        folder = tmp_path / "case"
        folder.mkdir()
        write(folder, checkpoints.make(Random(number)))
        with suppress(RunError), catch_warnings(action="ignore"):  # numbers may be infinite
            checkpoints.run(folder)
        shutil.rmtree(folder)
