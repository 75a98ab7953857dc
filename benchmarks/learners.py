"""`python -m benchmarks.learners`: training on a MiniGrid level, by the engine and by MiniGrid's
usual tools.

Each learner has its own process, core and settings, and at most `--most` seconds. It trains until
it wins 95 of 100 episodes by its own measure: of the last 100 episodes, or for the engine by a
survival estimate, see `survival_estimate.py` in `gv_engine/plugins/learning/`. Seconds are CPU time
from the start of the process, imports included; wall time is shown beside. The policy is then
tested on 200 seeds, the same for all learners.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.peers import ROOT, PeerError, python_for
from benchmarks.worker import limit_cores

LEVEL = "MiniGrid-DoorKey-5x5-v0"
LONGEST = 250
"""Step limit of an episode of the level."""
WINDOW, GOAL = 100, 0.95
"""Number of episodes, and success rate that ends training."""
TESTED = range(1_000_000, 1_000_200)
"""Seeds of the test."""
MARKS = (0.25, 0.5, 0.75, GOAL)
"""Success rates whose first time is reported."""

ZOO: dict[str, Any] = {
    "n_steps": 128,
    "batch_size": 64,
    "gae_lambda": 0.95,
    "gamma": 0.99,
    "n_epochs": 10,
    "ent_coef": 0.0,
    "learning_rate": 2.5e-4,
    "clip_range": 0.2,
}
"""Settings that RL Baselines3 Zoo publishes for the level in `hyperparams/ppo.yml`; it also uses 8
worlds, the wrapper FlatObsWrapper, and normalised observations and rewards."""
ZOO_WORLDS = 8


class LevelLearner(Protocol):
    """Learner of the level.

    Attributes:
        steps: environment steps of all worlds so far.
    """

    steps: int

    def update(self) -> float:
        """Train for one update; return the learner's own success rate, 0 while it is unknown."""

    def test(self, seeds: range) -> Iterator[bool]:
        """Yield for each seed whether its episode is won, with actions sampled as in training."""


class EngineLearner:
    """Learner of `gv-engine train` with its default settings."""

    def __init__(self, seed: int) -> None:
        from gv_engine.plugins.learning.config import Hyperparameters
        from gv_engine.plugins.learning.ppo import Learner, make_training_env

        self._settings = Hyperparameters(seed=seed)
        self._learner = Learner(make_training_env(LEVEL, self._settings), self._settings)
        self.steps = 0

    def update(self) -> float:
        """Train for one update; return the estimated success rate, 0 while it is unknown."""
        metrics = self._learner.update()
        self.steps = metrics.steps
        return 0.0 if math.isnan(metrics.success_rate) else metrics.success_rate

    def test(self, seeds: range) -> Iterator[bool]:
        """Save the policy, and yield the success of one episode per seed."""
        from gv_engine.envs.rollout.shards import Job
        from gv_engine.plugins.learning.run_folder import Run

        scenario = self._learner.env.scenario
        with tempfile.TemporaryDirectory() as folder:
            run = Run.create(Path(folder), scenario, self._settings)
            run.save_checkpoint(self._learner, 0.0)
            job = Job(scenario, folder, seeds.start, len(seeds))
            env = job.make_env(len(seeds))
            for episode in job.play(env, job.make_policy(env), 0, len(seeds)):
                yield bool(episode.success)


class StableBaselines3Learner:
    """Stable-Baselines3's PPO on MiniGrid with the settings of RL Baselines3 Zoo."""

    def __init__(self, seed: int) -> None:
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.vec_env import VecNormalize

        worlds = make_vec_env(_make_flat_level, ZOO_WORLDS, seed)
        self._env = VecNormalize(worlds, gamma=ZOO["gamma"])
        self._model = PPO("MlpPolicy", self._env, seed=seed, device="cpu", **ZOO)
        self.steps = 0

    def update(self) -> float:
        """Train for one update; return the success rate of the last episodes."""
        self._model.learn(ZOO["n_steps"] * ZOO_WORLDS, reset_num_timesteps=False)
        self.steps = self._model.num_timesteps
        if self.steps < ZOO_WORLDS * LONGEST:  # won episodes end first and would bias the rate
            return 0.0
        won: int = sum(ended["r"] > 0 for ended in self._model.ep_info_buffer)
        return won / WINDOW

    def test(self, seeds: range) -> Iterator[bool]:
        """Yield the success of one episode per seed."""
        env = _make_flat_level()
        for seed in seeds:
            observation, over, reward = env.reset(seed=seed)[0], False, 0.0
            while not over:
                action, _ = self._model.predict(self._env.normalize_obs(observation))
                observation, reward, terminated, truncated, _ = env.step(int(action))
                over = terminated or truncated
            yield float(reward) > 0


def _make_flat_level() -> Any:
    """Return the level with the observation of the Zoo, as floats.

    The buffer of Stable-Baselines3 2.9 has the dtype of the space, and normalised bytes would lose
    almost all information.
    """
    import gymnasium
    import minigrid  # noqa: F401  # registers its environments
    import numpy as np
    from gymnasium.wrappers import DtypeObservation
    from minigrid.wrappers import FlatObsWrapper

    return DtypeObservation(FlatObsWrapper(gymnasium.make(LEVEL)), np.float32)


class Contender(NamedTuple):
    """Learner that takes part.

    Attributes:
        label: name in the table.
        make: creates the learner from a seed.
        packages: packages to install; none for learners that run in the engine's own environment.
    """

    label: str
    make: Callable[[int], LevelLearner]
    packages: tuple[str, ...] = ()


CONTENDERS = {
    "gv-engine": Contender("GV Engine, `gv-engine train`", EngineLearner),
    "sb3": Contender(
        "MiniGrid, Stable-Baselines3", StableBaselines3Learner, ("stable-baselines3", "minigrid")
    ),
}


class Progress(NamedTuple):
    """Progress of a learner.

    Attributes:
        cpu: CPU seconds of all threads.
        steps: environment steps of all worlds.
        success: success rate by the learner's own measure.
    """

    cpu: float
    steps: int
    success: float


def train(name: str, seed: int, most: float) -> None:
    """Train a learner; print a line of JSON for each update, and one for the test."""
    limit_cores(1)
    learner = CONTENDERS[name].make(seed)
    success = 0.0
    while success < GOAL and time.process_time() < most:
        success = learner.update()
        print(json.dumps((time.process_time(), learner.steps, success)), flush=True)
    print(json.dumps(sum(learner.test(TESTED)) / len(TESTED)), flush=True)


def run_contender(name: str, contender: Contender, seed: int, most: float) -> Iterator[str]:
    """Yield the cells of a contender's row.

    Raises:
        PeerError: the contender cannot take part; the message is the last line that it printed.
    """
    arguments = "--learn", name, "--seed", str(seed), "--most", str(most)
    history: list[tuple[float, Progress]] = []
    test_success = -1.0
    python = python_for(contender.packages)
    start = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [python, "-m", "benchmarks.learners", *arguments],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout
        for line in process.stdout:
            answer = json.loads(line)
            if isinstance(answer, float):
                test_success = answer
            else:
                history.append((time.perf_counter() - start, Progress(*answer)))
        process.wait()
        errors.seek(0)
        if process.returncode:
            raise PeerError(next(islice(reversed(errors.readlines()), 1), "it ended").strip())
    yield contender.label
    for mark in MARKS:
        first = next((progress for _, progress in history if progress.success >= mark), None)
        yield (f"{first.steps:,} in {first.cpu:.1f} s" if first else f"> {history[-1][1].steps:,}")
    seconds, last = history[-1]
    yield from (f"{last.cpu:.1f} s", f"{seconds:.1f} s", f"{last.steps / last.cpu:,.0f}/s")
    yield f"{test_success:.1%}"


def main() -> None:
    """Run all contenders one after the other and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learners", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=[*CONTENDERS])
    parser.add_argument("--seed", type=int, default=0, help="of levels and learners; default 0")
    parser.add_argument("--most", type=float, default=600, help="seconds of computing; default 600")
    parser.add_argument("--learn", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        train(options.learn, options.seed, options.most)
        return
    head = ["", *(f"{mark:.0%}" for mark in MARKS), "CPU", "wall", "steps", "evaluated"]
    for line in (head, ["---", *["--:"] * (len(head) - 1)]):
        print("|", " | ".join(line), "|")
    for name in options.only:
        contender = CONTENDERS[name]
        try:
            row = run_contender(name, contender, options.seed, options.most)
            print("|", " | ".join(row), "|", flush=True)
        except PeerError as error:
            print(f"| {contender.label} | cannot take part: {error} |")


if __name__ == "__main__":
    main()
