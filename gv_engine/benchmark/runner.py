"""The parts of an entry, each made by itself: by a policy, the solver, or a learner."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gv_engine.benchmark.entry import (
    TESTED,
    BenchmarkError,
    EntryPart,
    played_scenario,
    split_levels,
)
from gv_engine.rollout.policy import BUILT_IN, GREEDY, absolute
from gv_engine.rollout.shards import Job
from gv_engine.rules.errors import shortened
from gv_engine.scenario.files import parse_json, read_bytes
from gv_engine.session.autoplay import SOLVER

PPO = "ppo"
"""The policy that `gv-engine train` learns."""
RUN_NO_CODE = (*BUILT_IN, SOLVER, PPO)
"""Policies that come with the engine; others are files of somebody's own."""

_SETTINGS = {"memory": bool, "steps": int, "until": float}
_SEARCHED = 20.0
"""Seconds of computing that the solver has for the levels of a scenario."""
_SURE = 500
"""Episodes that have to have ended before success is believed."""
_SETTLED = 100_000
"""Steps of training in which ways get no shorter, by `_SHORTER`, until it ends."""
_SHORTER = 0.98
_RUN, _LARGEST = "run.json", 2**22
"""What the folder of a run says of it, read without torch, and the bytes that it may have."""
_POINTS = 32
"""Of a curve, at most."""


@dataclass(frozen=True)
class Making:
    """How parts are made, as it goes to other processes.

    Attributes:
        policy: one of `RUN_NO_CODE`, or `./file.py:function`.
        settings: of the learner: `memory`; the `steps` after which it stops; and the success
            `until` which it goes on, and then until its ways get shorter no more.

    Raises:
        BenchmarkError: it has other settings.
    """

    policy: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = _SETTINGS if self.policy == PPO else {}
        found = {name: type(value) for name, value in self.settings.items()}
        if found != wanted:
            told = ", ".join(f"{name} ({kind.__name__})" for name, kind in wanted.items())
            raise BenchmarkError(
                f"settings of an entry of {self.policy} are {told or 'none'}, and not "
                f"{shortened(str(self.settings), 60)}"
            )

    @property
    def drawn(self) -> bool:
        """Whether seeds differ."""
        return self.policy != SOLVER

    def everywhere(self) -> Making:
        """The same for processes that work in other folders."""
        return self if self.policy in RUN_NO_CODE else replace(self, policy=absolute(self.policy))

    def part(self, scenario: str, seed: int) -> EntryPart:
        """Make a part.

        Raises:
            BenchmarkError: the benchmark does not play the scenario.
            PolicyError: there is no such policy, or it answers with something that is no action.
        """
        found = _MAKERS.get(self.policy, _by_policy)(self, scenario, seed)
        levels, digest = split_levels(scenario), played_scenario(scenario).identity.digest
        return EntryPart(
            scenario,
            seed,
            digest,
            different=len({*levels.test.seeds}),
            held_out=levels.apart and self._keeps_to_train(digest),
            **found,
        )

    def _keeps_to_train(self, digest: str) -> bool:
        """Whether the levels to train on of the scenario with this digest are all that was learned.

        Of the folder of a run its `run.json` says so; what a file of somebody's own has learned
        nobody can tell.
        """
        where, _, attribute = self.policy.rpartition(":")
        folder = Path(where if attribute == GREEDY else self.policy)
        if self.policy in RUN_NO_CODE or not folder.is_dir():
            return True
        try:
            run = parse_json(read_bytes(folder / _RUN, _LARGEST, "descriptions of runs"))
            told = run["levels"], run["scenario"]["digest"]
        except Exception:  # whatever comes of values that may be anything
            return False
        return told == ("train", digest)


def played(scenario: str, policy: str, seed: int) -> tuple[int, ...]:
    """The `lengths` of a part: what a policy comes to on the levels of the test.

    Args:
        scenario: its name.
        policy: its name, see `gv_engine.rollout.policy`.
        seed: of what it draws.
    """
    test = split_levels(scenario).test
    job = Job(test.scenario, policy, TESTED * seed, TESTED, options={"levels": test})
    env = job.environment(TESTED)
    try:
        # level k is played in episode k, as the seed is a multiple of their number
        episodes = list(job.episodes(env, job.actor(env), 0, TESTED))
    finally:
        env.close()
    return tuple(episode.length if episode.success else 0 for episode in episodes)


def _by_policy(making: Making, scenario: str, seed: int) -> dict[str, Any]:
    return {"lengths": played(scenario, making.policy, seed)}


def _by_solver(making: Making, scenario: str, seed: int) -> dict[str, Any]:
    from gv_engine.validation.solver import Survey  # compiles

    test = split_levels(scenario).test
    found = Survey(test.scenario, test.seeds, _SEARCHED).solutions
    return {"lengths": tuple(len(found[s].actions) if s in found else 0 for s in test.seeds)}


def _by_learning(making: Making, scenario: str, seed: int) -> dict[str, Any]:
    # here, as torch takes its time
    from gv_engine.learning.config import RECURRENT_DEFAULTS, Hyperparameters
    from gv_engine.learning.ppo import Learner, make_training_env
    from gv_engine.learning.run_folder import Run

    known, levels = played_scenario(scenario), split_levels(scenario)
    defaults: dict[str, Any] = RECURRENT_DEFAULTS if making.settings["memory"] else {}
    settings = Hyperparameters(seed=seed, **defaults)
    curve: list[tuple[int, float]] = []
    lengths: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder), known, settings, levels.train and "train", levels.train)
        learner = Learner(make_training_env(known, settings, levels=levels.train), settings)
        began = time.process_time()
        while True:
            metrics = learner.update()
            run.log_update(learner, time.process_time() - began)
            if not math.isnan(metrics.success_rate):
                curve.append((metrics.steps, round(metrics.success_rate, 3)))
                if metrics.episodes >= _SURE:
                    lengths.append((metrics.steps, metrics.episode_length))
            wins = bool(lengths) and metrics.success_rate >= making.settings["until"]
            if (wins and _settled(lengths)) or metrics.steps >= making.settings["steps"]:
                break
        seconds = time.process_time() - began
        run.save_checkpoint(learner, seconds)
        run.close()
        learner.env.close()
        return {
            "lengths": played(scenario, folder, seed),
            "greedy": played(scenario, f"{folder}:{GREEDY}", seed),
            "steps": metrics.steps,
            "seconds": round(seconds, 2),
            "curve": _thinned(curve),
        }


def _settled(lengths: list[tuple[int, float]]) -> bool:
    """Whether ways, (steps of training, length) so far, get shorter no more."""
    steps, length = lengths[-1]
    then = [old for number, old in lengths if number <= steps - _SETTLED]
    return bool(then) and length >= _SHORTER * then[-1]


def _thinned(curve: list[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """So many points of a curve, its ends among them."""
    last = len(curve) - 1
    if last < _POINTS:
        return tuple(curve)
    return tuple(curve[round(k * last / (_POINTS - 1))] for k in range(_POINTS))


_MAKERS = {SOLVER: _by_solver, PPO: _by_learning}
"""What makes parts in a way of its own."""
