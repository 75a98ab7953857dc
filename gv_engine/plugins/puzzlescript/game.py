"""Objects, names and levels of a PuzzleScript game as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gv_engine.plugins.puzzlescript.source import GameSource, Level

MAX_LAYERS = 128
"""Maximum number of collision layers, as arrays of components are not longer."""
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


class PuzzleGame:
    """A source with the meaning of its names.

    Attributes:
        source: its contents, which collects faults.
        names: ("object", "or" or "and", and the names of objects) of each name.
        layer_of: collision layer of each object.
        number_of: number of each object, from 0, in the order of the layers.
        objects: objects by number; "" for a number that no object has.
        num_layers: number of collision layers.
    """

    def __init__(self, source: GameSource) -> None:
        """Number the objects of a source.

        Raises:
            SourceError: the source has faults.
        """
        self.source = source
        self.names: dict[str, tuple[str, list[str]]] = {}
        for name in (*source.sprites, *source.legend):
            self.names[name] = source.resolve(name, source.lines[name])
        self.layer_of: dict[str, int] = {}
        self.number_of: dict[str, int] = {}
        self.objects: list[str] = []
        for layer, names in enumerate(source.layers):
            for name in names:
                # a name in several layers belongs to the last
                if name in self.number_of:
                    self.objects[self.number_of[name]] = ""
                self.layer_of[name], self.number_of[name] = layer, len(self.objects)
                self.objects.append(name)
        self.num_layers = len(source.layers)
        for name in source.sprites:
            if name not in self.layer_of:
                source.fail(source.lines[name], f"{name!r} is in no collision layer")
        for name in ("player", "background"):
            if name not in self.names:
                source.fail(0, f"there is no object {name}, nor a name in the legend")
        if self.num_layers > MAX_LAYERS:
            source.fail(0, f"found {self.num_layers} collision layers, allowed are {MAX_LAYERS}")
        source.raise_if_any()
        layers = {
            name: {self.layer_of[each] for each in self.names[name][1]} for name in self.names
        }
        self._single_layers = {name: min(each) for name, each in layers.items() if len(each) == 1}

    def single_layer(self, name: str) -> int | None:
        """Return the layer of all objects that a name stands for; None if they have several."""
        return self._single_layers.get(name)

    def list_numbers(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of objects, ascending."""
        return sorted({self.number_of[name] for name in names})

    def read_level(self, level: Level) -> LevelMap:
        """Return the objects of a level. Faults are added to the source."""
        height, width = len(level.rows), len(level.rows[0])
        if height > MAX_HEIGHT or width > MAX_WIDTH:
            fault = f"found a level of {height}×{width} cells, allowed are {MAX_HEIGHT}×{MAX_WIDTH}"
            self.source.fail(level.line, fault)
            return LevelMap(1, 1, [0] * self.num_layers)
        meanings: dict[str, list[int]] = {}
        objects: list[int] = []
        for x in range(width):
            for y, row in enumerate(level.rows):
                character = row[min(x, len(row) - 1)]
                if character not in meanings:
                    meanings[character] = self._read_character(character, level.line + y)
                objects += meanings[character]
        # the background of the level, its first one, is in all cells without any
        _, names = self.names["background"]
        layer = self.layer_of[names[0]]
        own = filter(None, objects[layer :: self.num_layers])
        background = next(own, self.number_of[names[0]] + 1)
        objects[layer :: self.num_layers] = [
            each or background for each in objects[layer :: self.num_layers]
        ]
        return LevelMap(height, width, objects)

    def _read_character(self, character: str, line: int) -> list[int]:
        layers = [0] * self.num_layers
        kind, names = self.names.get(character, ("", []))
        if kind in ("", "or"):
            fault = (
                "no name of the legend" if not kind else "declared with `or`, so it may be any of"
            )
            hint = " {}; declare it with `and`".format(", ".join(names)) if kind else ""
            self.source.fail(line, f"found {character!r}, {fault}{hint}")
        for name in names:
            layer, number = self.layer_of[name], self.number_of[name]
            if layers[layer] not in (0, number + 1):
                other = self.objects[layers[layer] - 1]
                self.source.fail(line, f"{character!r} has {other} and {name}, of one layer")
            layers[layer] = number + 1
        return layers
