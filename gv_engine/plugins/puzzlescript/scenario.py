"""Scenarios of PuzzleScript games: from a source to the keys of a grid scenario."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from gv_engine.plugins.puzzlescript.drawings import draw_sprite
from gv_engine.plugins.puzzlescript.game import LevelMap, PuzzleGame
from gv_engine.plugins.puzzlescript.source import Level, Sprite, is_puzzlescript, read_game_source
from gv_engine.plugins.puzzlescript.tables import Command, Program, write_program
from gv_engine.scenario.documents.foreign_files import FileFormat, SourceError
from gv_engine.scenario.levels.level_files import PackLevel
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.packed_numbers import pack_numbers

_PACKAGE = "gv_engine.plugins.puzzlescript"
_CELL = "Cell"
_MAX_STATES = 128
_MAX_VIEW = 129
_FREE_ENTITIES = 4
_MOVES = "MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"
_MATCHES_OF_CELL = 2
"""Matches of a rule that are kept for each cell; rules with ellipses have more."""
_MAX_MATCHES = 2**16


class _Compiled(NamedTuple):
    game: PuzzleGame
    program: Program
    levels: list[Level]


@lru_cache(maxsize=8)
def _compile(text: str) -> _Compiled:
    """Return the game of a source, its program, and its levels without messages.

    Raises:
        SourceError: the source has faults.
    """
    game = PuzzleGame(read_game_source(text))
    levels = [level for level in game.source.levels if level.rows]
    if not levels:
        game.source.fail(0, "found no level")
    game.source.raise_if_any()
    program = write_program(game)
    game.source.raise_if_any()
    return _Compiled(game, program, levels)


def make_scenario(text: str, level_name: str, has_tools: bool = False) -> dict[str, Any]:
    """Return the keys of the grid scenario of a PuzzleScript source, as a scenario file has them.
    Its variants are the levels, named by their numbers from 1.

    Args:
        text: the source.
        level_name: number of the level to play; "" for the first.
        has_tools: True to have the actions ACTUATE, RESTART and NOOP in any case, for tests that
            replay recorded inputs.

    Raises:
        SourceError: the source has faults, or no level of this name.
    """
    game, program, levels = _compile(text)
    names = [str(number) for number in range(1, len(levels) + 1)]
    if level_name and level_name not in names:
        raise SourceError([(0, f"no level {level_name!r}, there are 1 to {len(levels)}")])
    chosen = int(level_name or 1) - 1
    level = game.read_level(levels[chosen])
    game.source.raise_if_any()
    has_restart = bool(program.commands & Command.CHECKPOINT) or has_tools
    settings = game.source.settings
    actions: list[Any] = [*_MOVES]
    if "noaction" not in settings or has_tools:
        actions.append("ACTUATE")
    if "realtime_interval" in settings or has_tools:
        actions.append("NOOP")
    if has_restart:
        actions.append({"name": "RESTART", "key": "B", "says": "back to the last checkpoint"})
    components = [f"{_PACKAGE}.components:{kind}{game.num_layers}" for kind in ("Stack", "Saved")]
    turn = {"program": _pack(program.numbers), "max_matches": _count_matches(program, level)}
    restart = "RESTART" if has_restart else "DONE"
    end = f"{_PACKAGE}.systems:won"
    states = [*_name_states(game)]
    scenario = {
        "description": _describe(game, levels[chosen]),
        "view": "state",
        "capacity": level.height * level.width + _FREE_ENTITIES,
        "max_shape": [level.height, level.width],
        "action_space": actions,
        "agents": {"number": 1, "components": ["Bodiless"]},
        "world": {"components": [f"{_PACKAGE}.components:TurnResult"]},
        "objects": {_CELL: {"components": components, "states": states}},
        "sprites": {
            f"{_CELL} {state}": draw_sprite(game.source.sprites.get(name, Sprite([], [])))
            for state, name in zip(states, ["", *game.objects])
        },
        "transition_functions": [
            {"name": f"{_PACKAGE}.systems:take_turn", **turn, "restart": restart}
        ],
        "reward_functions": [f"{_PACKAGE}.systems:win"],
        "observation_function": {
            "name": "fully_transparent",
            "area": [[1, min(level.height, _MAX_VIEW)], [1, min(level.width, _MAX_VIEW)]],
            "turns": False,
        },
        "terminating_function": end,
        "success_function": end,
        "reset_function": {
            "name": f"{_PACKAGE}.systems:build_level",
            "shape": [level.height, level.width],
            "cells": _pack(level.objects),
            "layers": game.num_layers,
            "object_type": _CELL,
        },
    }
    if "run_rules_on_level_start" in settings:
        scenario["settle"] = [{"name": f"{_PACKAGE}.systems:start_level", **turn}]
    if texts := [*program.messages]:
        scenario["observation"] = {"display": [{"of": "world.message", "texts": texts}]}
    if len(levels) > 1:
        scenario["variants"] = {name: {} for name in names}
    return scenario


def _describe(game: PuzzleGame, level: Level) -> str:
    settings = game.source.settings
    title = settings.get("title", "A game in PuzzleScript")
    author = settings.get("author", "")
    return f"{title}, by {author}" if author else title


def _pack(numbers: list[int]) -> str:
    """Return numbers as a text, padded with zeros to a power of two, so that most games and levels
    of similar size share one compiled program."""
    size = 1 << max(10, (len(numbers) - 1).bit_length())
    return pack_numbers(numbers + [0] * (size - len(numbers)))


def _count_matches(program: Program, level: LevelMap) -> int:
    """Return how many matches of one rule are kept for a level."""
    count = _MATCHES_OF_CELL * level.height * level.width
    count *= int(max(level.height, level.width) ** program.ellipses)
    return min(_MAX_MATCHES, 1 << max(8, (count - 1).bit_length()))


def _name_states(game: PuzzleGame) -> Iterator[str]:
    """Yield the names of the states of a cell: nothing, then each object."""
    taken = {"NOTHING"}
    yield "NOTHING"
    for number, name in enumerate(game.objects[: _MAX_STATES - 1]):
        state = name.upper() if name.isidentifier() else f"_{name.upper()}"
        state = state if name and state not in taken else f"OBJECT_{number}"
        taken.add(state)
        yield state


def list_levels(text: str) -> tuple[PackLevel, ...]:
    """Return the levels of a source; players read the messages before a level while they play it.
    () for a source with one level."""
    levels, says = list[PackLevel](), list[str]()
    for level in _compile(text).game.source.levels:
        says += [level.message] if level.message else []
        if level.rows:
            rows = "\n".join(level.rows)
            node = YamlNode(rows, "", level.line, rows)
            title = f"Level {len(levels) + 1}"
            levels.append(PackLevel(node, title, says=" ".join(says).strip()))
            says = []
    return tuple(levels) if len(levels) > 1 else ()


FORMAT = FileFormat("PuzzleScript", is_puzzlescript, make_scenario, list_levels)
