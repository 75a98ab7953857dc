"""A level that is edited, as it is drawn: things, agents, and the marks of the editor."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from gv_engine.domains.grid.board import Board
from gv_engine.editor.map_model import MapCell, MapModel
from gv_engine.rules.objects import ObjectTypes
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.camera import Camera, corner
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.ui.drawing.stage import SketchDrawing

_NOBODY = (-9, -9, 0)
_READABLE = 5 / 4  # lines of text that a cell's side needs


class EditorMapView(SketchDrawing):
    """Draws the levels of grids while they are edited.

    Args:
        theme: its colours, and the palette of the objects.
        folders: where drawings of the author's are.
        types: that may be named.
    """

    def __init__(self, theme: Theme, folders: Iterable[Path], types: ObjectTypes) -> None:
        self._theme = theme
        self._sheet = SpriteSheet(folders, theme.palette, types)
        self._board = Board(self._sheet)
        self._camera = Camera()
        self._size = 1, 1, 1  # of a cell, at least, and as it is
        self._center = 0.0, 0.0

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        line: int,
        sketch: MapModel,
        cursor: MapCell,
    ) -> None:
        height, width = sketch.shape
        room, readable = (rect.h, rect.w), int(line * _READABLE)
        cell = self._camera.size((height, width), room, readable)
        cell = max(1, cell)
        whole = max(1, min(rect.h // height, rect.w // width))
        self._size = whole, cell, cell
        start = corner((height, width), room, self._followed(cursor, room, cell), cell)
        grid, ground = sketch.cell_arrays()
        before = surface.get_clip()
        surface.set_clip(rect.clip(before))
        self._board.draw(surface, rect, start, cell, grid, None, _NOBODY, beneath=ground)
        for y, x, facing in sketch.agents():
            place = self._board.place(y, x)
            surface.blit(self._sheet.get("agent", 0, place.w, facing), place)
        surface.set_clip(before)

    def _followed(self, cursor: MapCell, room: tuple[int, int], cell: int) -> tuple[float, float]:
        """What is in the middle: the same as before, as long as the cursor is well in sight."""
        near = [
            min(max(center, at - side / cell / 2 + 1.5), at + side / cell / 2 - 1.5)
            for center, at, side in zip(self._center, cursor, room, strict=True)
        ]
        self._center = near[0], near[1]
        return self._center

    def mark(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        cells: Mapping[MapCell, str],
    ) -> None:
        before = surface.get_clip()
        surface.set_clip(rect.clip(before))
        for cell, color in cells.items():
            place = self._board.place(*cell)
            thick = max(2, place.w // 16)
            pygame.draw.rect(surface, self._theme.on_select, place, thick + 1)
            pygame.draw.rect(surface, getattr(self._theme, color), place, thick)
        surface.set_clip(before)

    def at(self, position: tuple[int, int]) -> MapCell | None:
        return self._board.at(position)

    def place(self, cell: MapCell) -> pygame.Rect:
        return self._board.place(*cell)

    def zoom(self, notches: int) -> None:
        if notches:
            self._camera.zoom(notches, self._size[1], self._size[0])
        else:
            self._camera.cell = None

    def thing(self, kind: int, state: int, color: int, size: int) -> pygame.Surface:
        name = self._sheet.name(kind, state)
        return self._sheet.get(name, color, size)

    def agent(self, facing: int, size: int) -> pygame.Surface:
        return self._sheet.get("agent", 0, size, facing)
