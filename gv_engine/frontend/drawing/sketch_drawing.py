"""What draws a level that is edited: each family whose levels are drawn brings its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from gv_engine.editing.sketch import MapCell, Sketch
from gv_engine.frontend.controls.theme import Theme
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.language.objects import ObjectTypes
from gv_engine.reading.families import FAMILIES


class SketchDrawing(Protocol):
    """Draws one level, and says which cell is where."""

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        line: int,
        sketch: Sketch,
        cursor: MapCell,
    ) -> None:
        """Draw the level, or the part around the cursor, into the rectangle.

        Args:
            line: height of a line of text, in pixels.
            sketch: the level, which has a map.
        """

    def mark(
        self, surface: pygame.Surface, rect: pygame.Rect, cells: Mapping[MapCell, str]
    ) -> None:
        """Outline cells, each in a colour of the theme."""

    def at(self, position: tuple[int, int]) -> MapCell | None:
        """The cell that is drawn at x, y."""

    def place(self, cell: MapCell) -> pygame.Rect:
        """Where a cell was drawn last."""

    def zoom(self, notches: int) -> None:
        """Show cells larger, smaller, or, with 0, as is usual."""

    def thing(self, kind: int, state: int, color: int, size: int) -> pygame.Surface:
        """The picture of an object."""

    def agent(self, facing: int, size: int) -> pygame.Surface:
        """The picture of an agent."""


def make_drawing(
    family: str, theme: Theme, folders: Iterable[Path], types: ObjectTypes
) -> SketchDrawing:
    """What draws the levels of a family that has some."""
    made: SketchDrawing = resolve_name(FAMILIES[family].sketch)(theme, folders, types)
    return made
