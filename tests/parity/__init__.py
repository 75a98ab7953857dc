"""Known worlds beside the packages they are from, one module each: `make parity`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

WORLDS = ("foraging", "pogema", "pogema_instances", "kitchen", "warehouse")
"""Modules in this folder, each with a `WORLD`. They are also imported where only the world's own
package is installed, so they import numpy alone at the top."""


class Level(NamedTuple):
    """Level of a known world: its name and arguments there, and its scenario and parameters
    here."""

    name: str
    arguments: dict[str, Any]
    scenario: str
    parameters: dict[str, Any]


def load_scenario(level: Level, recorded: Arrays) -> Any:
    """Return the scenario that a level names, with its parameters."""
    from gv_engine import Scenario

    return Scenario.load(level.scenario, **level.parameters)


def list_seeds(first: int, count: int) -> list[int]:
    """Return the seeds of `count` worlds from `first` on."""
    return [*range(first, first + count)]


class KnownWorld(NamedTuple):
    """World of another package.

    Attributes:
        packages: what pip installs.
        actions: names of our actions, in the order of their numbers there.
        levels: what is played.
        dtypes: dtypes of a recording in a file, by name.
        record: function `(arguments, seeds, steps)` that plays random joint actions in the world's
            own package and returns (S, T, A) `actions` and `rewards`, (S, T) `done`, and (S, T + 1,
            ...) arrays of the states before each action and at the end. The action after an end is
            ignored: that step is the reset.
        read: function `(scenario, rows, recorded)` that returns the same arrays (S, ...) of states
            by name, from S rows of our worlds.
        load: function `(level, recorded)` that returns the scenario of a level.
        find_seeds: function `(first, count)` that returns the seeds of our worlds.
        find_metrics: function `(scenario, sums, lengths, success)` that returns (S, K) `metrics` at
            the end of an episode, the last that is compared. `sums` are the (S,) sums of reward
            terms, by name. None for worlds without metrics, where episode follows on episode.
    """

    packages: tuple[str, ...]
    actions: Sequence[str]
    levels: Sequence[Level]
    dtypes: Mapping[str, str]
    record: Callable[[dict[str, Any], range, int], Arrays]
    read: Callable[[Any, NDArray[Any], Arrays], Arrays]
    load: Callable[[Level, Arrays], Any] = load_scenario
    find_seeds: Callable[[int, int], list[int]] = list_seeds
    find_metrics: Callable[..., NDArray[Any]] | None = None


def get_world(name: str) -> KnownWorld:
    """Return the known world of this name."""
    world: KnownWorld = import_module(f"tests.parity.{name}").WORLD
    return world


def play_episodes(
    seeds: range,
    steps: int,
    begin: Callable[[int | None], None],
    describe: Callable[[], dict[str, Any]],
    choose: Callable[[Any, int], NDArray[Any]],
    step: Callable[[NDArray[Any]], tuple[Any, bool]],
) -> Arrays:
    """Return what a world's own package plays, see `KnownWorld.record`.

    Args:
        seeds: seeds of the levels that are played.
        steps: number of joint actions from each seed.
        begin: begins the episode of a seed; for None the next one.
        describe: returns the state by name, in values that do not change later.
        choose: returns (A,) actions by a random generator and the number of steps so far.
        step: takes (A,) actions; returns the (A,) rewards, and True if the episode has ended.
    """
    import numpy as np

    recorded: dict[str, list[Any]] = defaultdict(list)

    def note(**values: Any) -> None:
        for name, value in values.items():
            recorded[name].append(value)

    for seed in seeds:
        rng, done = np.random.default_rng((seed, 1)), False
        begin(seed)
        note(**describe())
        for t in range(steps):
            actions = choose(rng, t)
            if done:  # the step that begins the next episode
                begin(None)
                rewards, done = [0.0] * len(actions), False
            else:
                rewards, done = step(actions)
            note(actions=actions, rewards=rewards, done=done, **describe())
    return {
        name: np.array(values).reshape(len(seeds), -1, *np.shape(values[0]))
        for name, values in recorded.items()
    }
