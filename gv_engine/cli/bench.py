"""`gv-engine bench`: how fast a scenario runs here."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np

from gv_engine.cli import output
from gv_engine.cli.options import (
    Commands,
    add_command,
    add_scenario,
    complain,
    duration,
    positive,
    scenario_options,
)
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rules.errors import BuiltInDoesNotCompileError, DoesNotCompileError
from gv_engine.scenario.scenario import Scenario

_DEFAULT = "keydoor-9x9"
_AHEAD = 64  # steps whose actions are drawn before the clock runs
_EXAMPLES = """\
gv-engine bench
gv-engine bench cave --num-envs 1024 --threads 4"""
_EPILOG = """
Steps are those of random actions, each with its observation, action mask, and a new level where an
episode has ended. The compiled program is kept, so that whatever comes next begins at once.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands, run, "bench", "Compile a scenario and measure its steps per second", _EXAMPLES
    )
    parser.epilog += _EPILOG
    add_scenario(parser, _DEFAULT)
    parser.add_argument(
        "--num-envs", metavar="N", type=positive, default=4096, help="worlds (default: 4096)"
    )
    parser.add_argument(
        "--threads",
        metavar="T",
        type=positive,
        default=cores(),
        help=f"measure 1, 2, 4, … up to so many (default: {cores()}, the cores there are)",
    )
    parser.add_argument(
        "--seconds", metavar="S", type=duration, default=1, help="of each measurement (default: 1)"
    )


def run(options: argparse.Namespace) -> int:
    """Print a line for each measurement."""
    scenario = Scenario.load(options.scenario, **scenario_options(options))
    rows = list(measurements(scenario, options.num_envs, options.threads, options.seconds))
    output.print_table(("", ">"), rows, scenario.name)
    return 0


def cores() -> int:
    """Number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measurements(
    scenario: Scenario, num_envs: int, threads: int, seconds: float
) -> Iterator[tuple[str, str]]:
    """(what, value) one by one.

    Args:
        scenario: what is played.
        num_envs: how many worlds at once.
        threads: the most of them.
        seconds: of each measurement.
    """
    if scenario.layout.agents > 1:
        yield "agents that act in a step", str(scenario.layout.agents)
    world, worlds = "compiled", f"{num_envs:,} worlds"
    began = time.perf_counter()
    try:
        _many(scenario, 1, world=world).reset(seed=0)
        yield "compiled or loaded, seconds", f"{time.perf_counter() - began:.2f}"
    except BuiltInDoesNotCompileError:
        raise
    except DoesNotCompileError as error:
        complain(error)
        world, worlds = "object", f"{num_envs:,} object worlds"
        threads = 1  # objects take turns
    yield "one object world, steps per second", f"{_steps_of_one(scenario, 'object', seconds):,.0f}"
    if world == "compiled":
        yield "one world, steps per second", f"{_steps_of_one(scenario, world, seconds):,.0f}"
    envs = _many(scenario, num_envs, world=world)
    yield f"{worlds}, resets per second", f"{_resets(envs, seconds):,.0f}"
    number = 1
    while number <= threads:
        envs = _many(scenario, num_envs, world=world, num_threads=number)
        name = f", {number} thread{'s' if number > 1 else ''}" if world == "compiled" else ""
        yield f"{worlds}{name}, steps per second", f"{_steps_of_many(envs, seconds):,.0f}"
        number = threads if number < threads < 2 * number else 2 * number
    memory = scenario.layout.dtype.itemsize + _shown(envs) / num_envs
    yield "memory per world, KiB", f"{memory / 1024:.2f}"


_Many = GridVectorEnv | AgentsVectorEnv


def _many(scenario: Scenario, num_envs: int, **options: Any) -> _Many:
    """Worlds of one agent each, or of several."""
    made = GridVectorEnv if scenario.layout.agents == 1 else AgentsVectorEnv
    return made(scenario, num_envs, copy=False, **options)


def _shown(envs: _Many) -> int:
    """Bytes of all that a step returns."""
    found: dict[int, int] = {}

    def add_up(thing: Any) -> None:
        if isinstance(thing, np.ndarray):
            found[id(thing)] = thing.nbytes
        elif isinstance(thing, dict | tuple):
            for part in thing.values() if isinstance(thing, dict) else thing:
                add_up(part)

    add_up(envs.step(np.zeros((envs.num_envs, *envs.agent_shape), np.int64)))
    return sum(found.values())


def _steps_of_one(scenario: Scenario, world: str, seconds: float) -> float:
    if scenario.layout.agents > 1:
        return _steps_of_many(_many(scenario, 1, world=world), seconds)
    env = GridEnv(scenario, world=world)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(len(scenario.actions), size=_AHEAD).tolist()

    def play() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return _AHEAD * _rate(play, seconds)


def _steps_of_many(envs: _Many, seconds: float) -> float:
    envs.reset(seed=0)
    size = (_AHEAD, envs.num_envs, *envs.agent_shape)
    actions = np.random.default_rng(0).integers(len(envs.scenario.actions), size=size)
    turns = cycle(actions)
    return envs.num_envs * _rate(lambda: envs.step(next(turns)), seconds)


def _resets(envs: _Many, seconds: float) -> float:
    envs.reset(seed=0)
    return envs.num_envs * _rate(envs.reset, seconds)


def _rate(work: Callable[[], object], seconds: float) -> float:
    """How often it is done in a second, after a first time."""
    work()
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        work()
        done += 1
    return done / (time.perf_counter() - began)
