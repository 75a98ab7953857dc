"""Compile a scenario and measure its steps per second.

examples:
  gv-engine bench
  gv-engine bench cave --num-envs 1024 --threads 4

A step takes random actions, and returns observations and action masks. Episodes that have ended
start again.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np

from gv_engine.cli import options as cli
from gv_engine.envs.backends.seeding import make_rng
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rules.errors import BuiltInDoesNotCompileError, DoesNotCompileError, format_count
from gv_engine.scenario.scenario import Scenario

_DEFAULT = "keydoor-9x9"
_NUM_ACTIONS = 64  # random actions that are sampled before the clock starts


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `bench` to its parser."""
    parser.add_scenario(_DEFAULT)
    parser.add_option("--num-envs N", cli.parse_positive, "number of worlds", 4096)
    threads_text = "measure with 1, 2, 4, … up to T threads, one per core unless given"
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    parser.add_option("--threads T", cli.parse_positive, threads_text, cores)
    parser.add_option("--seconds S", cli.parse_seconds, "duration of each measurement", 1)


def run(options: argparse.Namespace) -> int:
    """Run the command `bench`: measure the speed of a scenario, print a table, and return 0."""
    scenario = Scenario.load(options.scenario, **cli.scenario_options(options))
    rows = list(measure_speed(scenario, options.num_envs, options.threads, options.seconds))
    cli.print_table(("", ">"), rows, scenario.name)
    return 0


def measure_speed(
    scenario: Scenario, num_envs: int, threads: int, seconds: float
) -> Iterator[tuple[str, str]]:
    """Yield (label, value) texts about the speed and memory of a scenario: of a single world, and
    of `num_envs` worlds with up to `threads` threads. Each measurement takes this number of
    `seconds`.

    Args:
        scenario: scenario to measure.
        num_envs: number of parallel worlds.
        threads: maximum number of threads.
        seconds: duration of each measurement.
    """
    if scenario.layout.agents > 1:
        yield "agents that act in a step", str(scenario.layout.agents)
    world, label = "compiled", f"{num_envs:,} worlds"
    start = time.perf_counter()
    try:
        _make_vector_env(scenario, 1, world=world).reset(seed=0)
        yield "compiled, seconds", f"{time.perf_counter() - start:.2f}"
    except BuiltInDoesNotCompileError:
        raise
    except DoesNotCompileError as error:
        cli.complain(error)
        world, label = "object", f"{num_envs:,} object worlds"
        threads = 1  # more threads do not step objects faster
    yield "one object world, steps per second", f"{_measure_env(scenario, 'object', seconds):,.0f}"
    if world == "compiled":
        yield "one world, steps per second", f"{_measure_env(scenario, world, seconds):,.0f}"
    envs = _make_vector_env(scenario, num_envs, world=world)
    envs.reset(seed=0)
    resets = num_envs * _measure_rate(envs.reset, seconds)
    yield f"{label}, resets per second", f"{resets:,.0f}"
    powers_of_two = (2**k for k in range(threads.bit_length()))
    for num_threads in sorted({*powers_of_two, threads}):
        envs = _make_vector_env(scenario, num_envs, world=world, num_threads=num_threads)
        suffix = f", {format_count(num_threads, 'thread')}" if world == "compiled" else ""
        yield f"{label}{suffix}, steps per second", f"{_measure_vector_env(envs, seconds):,.0f}"
    memory = scenario.layout.dtype.itemsize + _count_output_bytes(envs) / num_envs
    yield "memory per world, KiB", f"{memory / 1024:.2f}"


_VectorEnv = GridVectorEnv | AgentsVectorEnv


def _make_vector_env(scenario: Scenario, num_envs: int, **options: Any) -> _VectorEnv:
    env_class = GridVectorEnv if scenario.layout.agents == 1 else AgentsVectorEnv
    return env_class(scenario, num_envs, copy=False, **options)


def _count_output_bytes(envs: _VectorEnv) -> int:
    """Return the size in bytes of all arrays that one step of `envs`, a vector environment,
    returns."""
    values: list[Any] = [envs.step(np.zeros((envs.num_envs, *envs.agent_shape), np.int64))]
    sizes: dict[int, int] = {}  # by identity, as an array may be returned twice
    for value in values:  # the loop adds nested values
        if isinstance(value, np.ndarray):
            sizes[id(value)] = value.nbytes
        elif isinstance(value, dict | tuple):
            values += value.values() if isinstance(value, dict) else value
    return sum(sizes.values())


def _measure_env(scenario: Scenario, world: str, seconds: float) -> float:
    """Return the steps per second of one environment, with random actions for this number of
    `seconds`. `world` is "compiled" or "object" (Python objects)."""
    if scenario.layout.agents > 1:
        return _measure_vector_env(_make_vector_env(scenario, 1, world=world), seconds)
    env = GridEnv(scenario, world=world)
    env.reset(seed=0)
    actions = make_rng(0, "actions").integers(len(scenario.actions), size=_NUM_ACTIONS).tolist()

    def take_all_actions() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return _NUM_ACTIONS * _measure_rate(take_all_actions, seconds)


def _measure_vector_env(envs: _VectorEnv, seconds: float) -> float:
    """Return the steps per second of `envs`, a vector environment, all worlds together, with random
    actions for this number of `seconds`."""
    envs.reset(seed=0)
    size = (_NUM_ACTIONS, envs.num_envs, *envs.agent_shape)
    actions = make_rng(0, "actions").integers(len(envs.scenario.actions), size=size)
    actions_of_steps = cycle(actions)
    return envs.num_envs * _measure_rate(lambda: envs.step(next(actions_of_steps)), seconds)


def _measure_rate(function: Callable[[], object], seconds: float) -> float:
    """Return the calls per second of `function`, measured for this number of `seconds` after a
    first call that is not counted."""
    function()
    num_calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        function()
        num_calls += 1
    return num_calls / (time.perf_counter() - start)
