"""Runner of the benchmark: computes parts of entries with a policy, the solver, or PPO."""

from __future__ import annotations

import math
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gv_engine.envs.level_sets import LevelSet
from gv_engine.envs.rollout.policy import BUILT_IN, GREEDY, with_absolute_paths
from gv_engine.envs.rollout.shards import Job
from gv_engine.play.session.autoplay import SOLVER
from gv_engine.plugins.learning.benchmark import entry
from gv_engine.rules.errors import shorten
from gv_engine.scenario.storage.files import parse_json, read_bytes

PPO = "ppo"
"""Name of the policy that `gv-engine train` learns."""
RUN_NO_CODE = (*BUILT_IN, SOLVER, PPO)
"""Policies that run no custom code; all other policies are custom files."""

_SETTINGS = {"memory": bool, "steps": int, "until": float}
_SOLVER_SECONDS = 20.0  # CPU seconds of the solver for the levels of a scenario
_MIN_EPISODES = 500  # finished episodes before the success rate counts
_PATIENCE = 100_000  # training steps without shorter episodes, after which training ends
_IMPROVEMENT = 0.98
# File that describes a run, read without torch, and its maximum bytes
_RUN, _LARGEST = "run.json", 2**22
_MAX_POINTS = 32  # maximum number of points of a curve


@dataclass(frozen=True)
class PartRunner:
    """Runner that computes the parts of a benchmark entry, the results for one scenario and one
    seed each. It can be sent to other processes.

    Attributes:
        policy: one of `RUN_NO_CODE`, or `./file.py:function`.
        settings: settings of PPO: `memory`, True for a recurrent network; `steps`, the maximum
            number of training steps; `until`, the success rate after which training goes on only
            while episodes get shorter.

    Raises:
        BenchmarkError: the settings are invalid.
    """

    policy: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise BenchmarkError if the policy does not take these settings: only PPO has any."""
        expected = _SETTINGS if self.policy == PPO else {}
        types = {name: type(value) for name, value in self.settings.items()}
        if types != expected:
            names = ", ".join(f"{name} ({kind.__name__})" for name, kind in expected.items())
            raise entry.BenchmarkError(
                f"settings of an entry of {self.policy} are {names or 'none'}, and not "
                f"{shorten(str(self.settings), 60)}"
            )

    @property
    def uses_seeds(self) -> bool:
        """True if the results depend on the seed."""
        return self.policy != SOLVER

    def with_absolute_policy(self) -> PartRunner:
        """Return a copy in which the path of a custom policy is absolute, for processes with
        another working directory."""
        is_file = self.policy not in RUN_NO_CODE
        return replace(self, policy=with_absolute_paths(self.policy)) if is_file else self

    def run(self, scenario: str, seed: int) -> entry.EntryPart:
        """Test the policy on one scenario with one seed, and return the results. If the policy is
        PPO, train it first.

        Raises:
            BenchmarkError: the benchmark does not have the scenario.
            PolicyError: there is no such policy, or it returned an invalid action.
        """
        results = _RUNNERS.get(self.policy, _run_policy)(self, scenario, seed)
        levels, digest = entry.split_levels(scenario), entry.find_scenario(scenario).identity.digest
        results["different"] = len({*levels.test.seeds})
        results["held_out"] = levels.apart and self._is_held_out(scenario, digest)
        return entry.EntryPart(scenario, seed, digest, **results)

    def _is_held_out(self, scenario: str, digest: str) -> bool:
        """Return False if the policy is a training run that may have seen the scenario's test
        levels. This is so if it used other levels than "train" and "validation", unknown levels, or
        a scenario with another hash than `digest`.

        The `run.json` of a run folder has the training levels; custom files count as held-out.
        """
        path, _, attribute = self.policy.rpartition(":")
        folder = Path(path if attribute == GREEDY else self.policy)
        if self.policy in RUN_NO_CODE or not folder.is_dir():
            return True
        try:
            run = parse_json(read_bytes(folder / _RUN, _LARGEST, "descriptions of runs"))
            seeds, trained_on = {*run["level_seeds"]}, run["scenario"]["digest"]
        except Exception:  # any error of invalid values
            return False
        levels = entry.split_levels(scenario)
        allowed = {s for each in (levels.train, levels.validation) if each for s in each.seeds}
        return trained_on == digest and seeds <= allowed


def measure_lengths(
    scenario: str, policy: str, seed: int, test: LevelSet | None = None
) -> tuple[int, ...]:
    """Play a policy on `TESTED` levels of a scenario. Return the number of steps to success for
    each level, or 0 where it does not succeed.

    Args:
        scenario: name of the scenario.
        policy: name of the policy, see `gv_engine.envs.rollout.policy`.
        seed: seed of the policy.
        test: levels; the test levels if None.
    """
    test = test or entry.split_levels(scenario).test
    job = Job(test.scenario, policy, entry.TESTED * seed, entry.TESTED, options={"levels": test})
    env = job.make_env(entry.TESTED)
    try:
        # level k is played in episode k, as the seed is a multiple of their number
        episodes = list(job.play(env, job.make_policy(env), 0, entry.TESTED))
    finally:
        env.close()
    return tuple(episode.length if episode.success else 0 for episode in episodes)


def _run_policy(runner: PartRunner, scenario: str, seed: int) -> dict[str, Any]:
    """Test a policy on the test levels of a scenario, and on levels with new layouts. Return the
    results as the fields `lengths` and `layout_success` of `EntryPart`."""
    levels = entry.split_levels(scenario)
    tested = lengths = measure_lengths(scenario, runner.policy, seed)
    if levels.test_layout and levels.test_layout != levels.test:
        tested = measure_lengths(scenario, runner.policy, seed, levels.test_layout)
    success = sum(length > 0 for length in tested) / len(tested)
    return {"lengths": lengths, "layout_success": success if levels.test_layout else None}


def _run_solver(runner: PartRunner, scenario: str, seed: int) -> dict[str, Any]:
    """Search for the shortest solution of each test level of a scenario. Return their lengths as
    the field `lengths` of `EntryPart`."""
    from gv_engine.play.validation.survey import Survey  # compiles

    test = entry.split_levels(scenario).test
    solutions = Survey(test.scenario, test.seeds, _SOLVER_SECONDS).solutions
    steps = {seed: len(solution.actions) for seed, solution in solutions.items()}
    return {"lengths": tuple(steps.get(seed, 0) for seed in test.seeds)}


def _run_ppo(runner: PartRunner, scenario: str, seed: int) -> dict[str, Any]:
    """Train a network with PPO on a scenario and test it. Return the results as fields of
    `EntryPart`, by name."""
    # here, as torch takes its time
    from gv_engine.plugins.learning.config import Config
    from gv_engine.plugins.learning.run_folder import Run
    from gv_engine.plugins.learning.training import Training

    grid, levels = entry.find_scenario(scenario), entry.split_levels(scenario)
    config = Config.from_values({"seed": seed, "recurrent": runner.settings["memory"]})
    settings = config.hyperparameters
    max_steps, until = runner.settings["steps"], runner.settings["until"]
    curve: list[tuple[int, float]] = []
    lengths: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder), grid, settings, levels.train and "train", levels.train)
        with closing(Training(run, grid, levels.train)) as training:
            began, is_done = time.process_time(), False
            while not is_done:
                metrics = training.update()  # which keeps the best weights, as `train` does
                if not math.isnan(metrics.success_rate):
                    curve.append((metrics.steps, round(metrics.success_rate, 3)))
                    if metrics.episodes >= _MIN_EPISODES:
                        lengths.append((metrics.steps, metrics.episode_length))
                is_successful = bool(lengths) and metrics.success_rate >= until
                is_done = metrics.steps >= max_steps or (is_successful and _has_converged(lengths))
            seconds = time.process_time() - began
            training.save_checkpoint()
        return {
            **_run_policy(PartRunner(folder), scenario, seed),
            "greedy": measure_lengths(scenario, f"{folder}:{GREEDY}", seed),
            "steps": metrics.steps,
            "seconds": round(seconds, 2),
            "curve": _thin_out(curve),
        }


def _has_converged(lengths: list[tuple[int, float]]) -> bool:
    steps, length = lengths[-1]
    earlier = [old_length for number, old_length in lengths if number <= steps - _PATIENCE]
    return bool(earlier) and length >= _IMPROVEMENT * earlier[-1]


def _thin_out(curve: list[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Reduce a learning curve to at most 32 evenly spaced points, including the first and the
    last."""
    last = len(curve) - 1
    if last < _MAX_POINTS:
        return tuple(curve)
    return tuple(curve[round(k * last / (_MAX_POINTS - 1))] for k in range(_MAX_POINTS))


_RUNNERS = {SOLVER: _run_solver, PPO: _run_ppo}  # functions for policies that need their own
