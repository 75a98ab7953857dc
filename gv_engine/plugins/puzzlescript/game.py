"""Objects and names of a PuzzleScript game: their numbers and collision layers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from gv_engine.plugins.puzzlescript.source import GameSource

MAX_LAYERS = 128
"""Maximum number of collision layers, as arrays of components are not longer."""


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
        """Number the objects of a source. Faults are added to the source."""
        self.source = source
        self.names: dict[str, tuple[str, list[str]]] = {}
        for name in (*source.sprites, *source.legend):
            line = source.lines.get(name) or source.legend[name].line
            self.names[name] = source.resolve(name, line)
        self.layer_of: dict[str, int] = {}
        self.number_of: dict[str, int] = {}
        self.objects: list[str] = []
        for layer, names in enumerate(source.layers):
            for name in names:
                # a name in several layers belongs to the last
                self.layer_of[name], self.number_of[name] = layer, len(self.objects)
                self.objects.append(name)
        for number, name in enumerate(self.objects):
            if self.number_of[name] != number:
                self.objects[number] = ""
        self.num_layers = len(source.layers)
        for name in source.sprites:
            if name not in self.layer_of:
                source.fail(source.lines[name], f"{name!r} is in no collision layer")
                self.layer_of[name], self.number_of[name] = 0, 0
        for name in ("player", "background"):
            if name not in self.names:
                source.fail(0, f"there is no object {name}, nor a name in the legend")
                self.names[name] = "object", [next(iter(self.layer_of), "")]
        if self.num_layers > MAX_LAYERS:
            source.fail(0, f"found {self.num_layers} collision layers, allowed are {MAX_LAYERS}")

    def single_layer(self, name: str) -> int | None:
        """Return the layer of all objects that a name stands for; None if they have several."""
        return self._single_layers.get(name)

    @cached_property
    def _single_layers(self) -> dict[str, int]:
        layers = {
            name: {self.layer_of[each] for each in objects}
            for name, (_, objects) in self.names.items()
        }
        return {name: each.pop() for name, each in layers.items() if len(each) == 1}

    def list_numbers(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of objects, ascending."""
        return sorted({self.number_of[name] for name in names})

    @cached_property
    def objects_by_layer(self) -> list[list[int]]:
        """Numbers of the objects in each layer."""
        layers: list[list[int]] = [[] for _ in range(self.num_layers)]
        for name, number in self.number_of.items():
            layers[self.layer_of[name]].append(number)
        return layers
