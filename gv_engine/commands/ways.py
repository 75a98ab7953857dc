"""Ways for `gv-engine rollout` that are known ahead: of replays, and of the solver."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gv_engine.commands.arguments import UsageError, complain
from gv_engine.commands.progress import progress
from gv_engine.commands.replay import verified
from gv_engine.envs.level_sets import LevelSet
from gv_engine.reading.families import AnyScenario
from gv_engine.reading.scenario import Scenario
from gv_engine.rollouts.following import KnownWay

if TYPE_CHECKING:
    from gv_engine.playing.episode import Playable

_SEARCHED = 10.0
"""Seconds of computing for each level."""


def known_ways(
    options: argparse.Namespace, loaded: AnyScenario, levels: LevelSet | None, episodes: int
) -> tuple[KnownWay, ...]:
    """The ways of episodes; what has none is told and left out.

    Args:
        options: of the command.
        loaded: what is played.
        levels: whose ways the solver finds, if not those of all seeds from `--seed` on.
        episodes: how many.

    Raises:
        UsageError: none is left, or options do not go together.
        ReplayError: a replay is damaged, or of another scenario.
    """
    if options.replays:
        given = {
            "--policy": options.policy != "random",
            "--levels": options.levels,
            "--seed": options.seed,
            "--episodes": options.episodes,
            "--first": options.first,
            "--max-steps": options.max_steps,
        }
        if wrong := [name for name, value in given.items() if value]:
            raise UsageError(f"--from-replays says what is played: leave {wrong[0]} out")
        ways = tuple(_of_replays(cast("Playable", loaded), options.replays))
    else:
        if not isinstance(loaded, Scenario) or loaded.layout.agents > 1:
            raise UsageError(f"{loaded.name}: the solver finds ways in grids of one agent alone")
        first = options.seed + options.first
        with progress("levels", episodes) as advance:
            ways = tuple(_of_solver(loaded, levels, first, episodes, advance))
    if not ways:
        raise UsageError(f"no way of {loaded.name} is left")
    return ways


def _of_replays(scenario: Playable, files: list[Path]) -> Iterator[KnownWay]:
    for file in files:
        game = verified(file, scenario)
        replay, actions = game.replay(), list[Any]()
        try:
            for taken in replay.steps:
                actions.append(game.numbers_of(taken.action))
                game.redo()
        except ValueError:
            complain(f"{file} is left out: somebody waits in step {len(actions) + 1}")
            continue
        if replay.outcome:
            yield KnownWay(replay.seed, tuple(actions))
        else:
            complain(f"{file} is left out: the game was left before its end")


def _of_solver(
    scenario: Scenario,
    levels: LevelSet | None,
    first: int,
    episodes: int,
    advance: Callable[..., None],
) -> Iterator[KnownWay]:
    from gv_engine.checking.solving import Solver  # compiles

    solver = Solver(scenario, seconds=_SEARCHED)
    for number in range(first, first + episodes):
        own = levels.seeds[number % len(levels.seeds)] if levels else number
        found = solver.solve(own)
        advance()
        if found.actions:
            yield KnownWay(own, found.actions)
        else:
            complain(f"seed {own} is left out: {found.verdict.value}")
