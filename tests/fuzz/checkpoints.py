"""Checkpoints of trainings whose values are damaged: refused, or trained on from; needs torch."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import torch

from gv_engine.envs.level_sets import LevelSet
from gv_engine.plugins.learning.run_folder import Run
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.scenario import Scenario
from tests.learning.drawn import make_learner

CHECKPOINT, PROGRESS, RUN = "checkpoint.pt", "progress.csv", "run.json"
_SMALL: dict[str, Any] = {
    **{"num_envs": 4, "num_steps": 4, "hidden_size": 8, "embedding_size": 4},
    **{"update_epochs": 1, "num_minibatches": 1},
}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "ppo": ("keydoor-5x5", {"recurrent": True}),
    "plr": ("keydoor-5x5", {"curriculum": "plr", "level_buffer_size": 6}),
    "accel": ("keydoor-5x5", {"curriculum": "accel", "level_buffer_size": 4}),
    "noveld": ("keydoor-5x5", {"learner": "noveld"}),
    "ride": ("keydoor-5x5", {"learner": "ride"}),
    "self": ("hunt", {"partner": "self"}),
}
"""Scenario and settings of the trainings, by name."""
_NUMBERS = (0, 1, -1, 3, 100, -(2**62), 2**62, 0.5, float("nan"), float("inf"), -float("inf"))
_VALUES: tuple[Any, ...] = (*_NUMBERS, None, True, "", "a", [], {}, [0], [[0]], (), {"a": 0})


class Checkpoints:
    """Checkpoints in which a value is damaged, and other files of a run."""

    def __init__(self, folder: Path) -> None:
        self._scenarios = {name: load_scenario(name) for name, _ in WAYS.values()}
        # a worker that begins again finds the folders of the one before
        place = Path(mkdtemp(dir=folder))
        self.files = {way: self._train(way, place / way) for way in WAYS}
        self.states = {
            way: torch.load(BytesIO(f[CHECKPOINT]), weights_only=True)
            for way, f in self.files.items()
        }

    def _make_learner(self, way: str) -> Any:
        name, settings = WAYS[way]
        scenario: Any = self._scenarios[name]
        levels = LevelSet(scenario, tuple(range(6))) if way == "accel" else None
        return make_learner(scenario, "object", levels=levels, **_SMALL, **settings)

    def _train(self, way: str, path: Path) -> dict[str, bytes]:
        """Return the files of a run of two updates."""
        learner = self._make_learner(way)
        scenario = learner.env.scenario
        assert isinstance(scenario, Scenario)
        run = Run.create(path, scenario, learner.settings)
        for _ in range(2):
            learner.update()
            run.log_update(learner, 0.5)
        run.save_checkpoint(learner, 1.0)
        run.close()
        files = {name: (path / name).read_bytes() for name in (CHECKPOINT, PROGRESS, RUN)}
        return {**files, "way": way.encode()}

    def make(self, rng: Random) -> dict[str, bytes]:
        way = rng.choice([*WAYS])
        state = copy.deepcopy(self.states[way])
        if rng.random() < 0.2:
            weights = copy.deepcopy(state["learner"]["net"])
            state["best"] = {"score": [0.5, 0.0, -3.0], "steps": 8, "net": weights}
        for _ in range(rng.choice((1, 1, 1, 2))):
            _damage(rng, *rng.choice([*_entries(state)]))
        return {**self.files[way], CHECKPOINT: as_bytes(state)}

    def run(self, folder: Path) -> None:
        """Restore a learner from a folder with a run, and train it on."""
        run, learner = Run(folder), self._make_learner((folder / "way").read_text())
        run.restore_learner(learner)
        learner.update()
        run.log_update(learner, 1.0)
        run.policy_file(learner, run.best.get("net"))
        run.close()
        torch.save(learner.state(), BytesIO())


def as_bytes(state: Any) -> bytes:
    """Return the file that torch writes."""
    data = BytesIO()
    torch.save(state, data)
    return data.getvalue()


def _entries(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of all values below the root."""
    pairs: Any = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in [*pairs]:
        yield tree, key
        if isinstance(value, dict | list):
            yield from _entries(value)


def _damage(rng: Random, node: Any, key: Any) -> None:
    """Change or remove a value of a mapping or a list."""
    value, how = node[key], rng.random()
    if isinstance(value, torch.Tensor) and how < 0.7:
        node[key] = _damaged_tensor(rng, value)
    elif how < 0.8:
        node[key] = rng.choice(_VALUES)
    elif how < 0.9:
        del node[key]
    elif isinstance(node, dict):
        node[rng.choice(("a", 0, "net"))] = value
    else:
        node.append(value)


def _damaged_tensor(rng: Random, tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with another number, shape or dtype."""
    match rng.randrange(4):
        case 0 | 1 if tensor.numel():
            changed = tensor.clone().flatten()
            number = rng.choice(_NUMBERS)
            if tensor.dtype.is_floating_point or number == number // 1:
                fits = tensor.dtype in (torch.int64, torch.float32, torch.float64)
                changed[rng.randrange(len(changed))] = number if fits else int(abs(number) % 256)
            return changed.view_as(tensor)
        case 2:
            other = rng.choice((torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool))
            return tensor.to(other)
        case _:
            shapes = tensor[:0], tensor.flatten(), tensor[None], torch.cat([tensor, tensor])
            return rng.choice(shapes).clone()
