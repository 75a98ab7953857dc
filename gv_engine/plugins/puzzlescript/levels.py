"""Levels of a PuzzleScript game as numbers."""

from __future__ import annotations

from typing import NamedTuple

from gv_engine.plugins.puzzlescript.game import PuzzleGame
from gv_engine.plugins.puzzlescript.source import Level

MAX_HEIGHT, MAX_WIDTH = 62, 512
"""Largest level: the rows of a column are the bits of one number."""


class LevelMap(NamedTuple):
    """Objects of a level.

    Attributes:
        height, width: size in cells.
        objects: object + 1, or 0, of each layer of each cell; cells from left to right, each column
            from top to bottom.
    """

    height: int
    width: int
    objects: list[int]


def read_level(game: PuzzleGame, level: Level) -> LevelMap:
    """Return the objects of a level. Faults are added to the game's source."""
    height, width = len(level.rows), len(level.rows[0])
    if height > MAX_HEIGHT or width > MAX_WIDTH:
        fault = f"found a level of {height}×{width} cells, allowed are {MAX_HEIGHT}×{MAX_WIDTH}"
        game.source.fail(level.line, fault)
        return LevelMap(1, 1, [0] * game.num_layers)
    meanings: dict[str, list[int]] = {}
    objects: list[int] = []
    for x in range(width):
        for y, row in enumerate(level.rows):
            character = row[min(x, len(row) - 1)]
            if character not in meanings:
                meanings[character] = _read_character(game, character, level.line + y)
            objects += meanings[character]
    return LevelMap(height, width, _fill_background(game, objects))


def _read_character(game: PuzzleGame, character: str, line: int) -> list[int]:
    layers = [0] * game.num_layers
    kind, names = game.names.get(character, ("", []))
    if kind in ("", "or"):
        fault = "no name of the legend" if not kind else "declared with `or`, so it may be any of"
        hint = " {}; declare it with `and`".format(", ".join(names)) if kind else ""
        game.source.fail(line, f"found {character!r}, {fault}{hint}")
    for name in names:
        layer = game.layer_of[name]
        if layers[layer]:
            other = game.objects[layers[layer] - 1]
            if other != name:
                game.source.fail(line, f"{character!r} has {other} and {name}, of one layer")
        layers[layer] = game.number_of[name] + 1
    return layers


def _fill_background(game: PuzzleGame, objects: list[int]) -> list[int]:
    """Put the background of the level, its first one, into all cells without any."""
    _, names = game.names["background"]
    if not names or names[0] not in game.layer_of:
        return objects
    layer, step = game.layer_of[names[0]], game.num_layers
    own = filter(None, objects[layer::step])
    background = next(own, game.number_of[names[0]] + 1)
    objects[layer::step] = [each or background for each in objects[layer::step]]
    return objects
