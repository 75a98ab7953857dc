"""Editor view of a grid map: objects, agents and cell markers."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from gv_engine.domains.grid.board import Board
from gv_engine.editor.map_model import MapCell, MapModel
from gv_engine.rules.objects import ObjectTypes
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.camera import Camera, scroll_offset
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.ui.drawing.stage import MapDrawing

_NO_AGENT = (-9, -9, 0)
_READABLE = 5 / 4  # smallest side of a readable cell, in lines of text


class EditorMapView(MapDrawing):
    """Draws grid maps in the editor.

    Args:
        theme: colours, and palette of the objects.
        folders: folders with the scenario's own sprites.
        types: object types of the scenario.
    """

    def __init__(self, theme: Theme, folders: Iterable[Path], types: ObjectTypes) -> None:
        self._theme = theme
        self._sheet = SpriteSheet(folders, theme.palette, types)
        self._board = Board(self._sheet)
        self._camera = Camera()
        self._size = 1, 1, 1  # cell sides in pixels: whole map visible, usual, current
        self._center = 0.0, 0.0

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        line: int,
        sketch: MapModel,
        cursor: MapCell,
    ) -> None:
        """Draw the map with its agents, scrolled to the cursor; `line` is the line height in
        pixels."""
        height, width = sketch.shape
        room, readable = (rect.h, rect.w), int(line * _READABLE)
        cell = self._camera.cell_size((height, width), room, readable)
        cell = max(1, cell)
        whole = max(1, min(rect.h // height, rect.w // width))
        self._size = whole, cell, cell
        start = scroll_offset((height, width), room, self._update_center(cursor, room, cell), cell)
        grid, ground = sketch.cell_arrays()
        before = surface.get_clip()
        surface.set_clip(rect.clip(before))
        self._board.draw(surface, rect, start, cell, grid, None, _NO_AGENT, beneath=ground)
        for y, x, facing in sketch.agents():
            place = self._board.cell_rect(y, x)
            surface.blit(self._sheet.get("agent", 0, place.w, facing), place)
        surface.set_clip(before)

    def _update_center(
        self, cursor: MapCell, room: tuple[int, int], cell: int
    ) -> tuple[float, float]:
        """Return the (y, x) cell at the center: the previous one while the cursor is well inside
        the view."""
        near = [
            min(max(center, to - side / cell / 2 + 1.5), to + side / cell / 2 - 1.5)
            for center, to, side in zip(self._center, cursor, room, strict=True)
        ]
        self._center = near[0], near[1]
        return self._center

    def outline_cells(
        self, surface: pygame.Surface, rect: pygame.Rect, cells: Mapping[MapCell, str]
    ) -> None:
        """Outline cells in theme colours."""
        before = surface.get_clip()
        surface.set_clip(rect.clip(before))
        for cell, color in cells.items():
            place = self._board.cell_rect(*cell)
            thick = max(2, place.w // 16)
            pygame.draw.rect(surface, self._theme.on_select, place, thick + 1)
            pygame.draw.rect(surface, getattr(self._theme, color), place, thick)
        surface.set_clip(before)

    def cell_at(self, position: tuple[int, int]) -> MapCell | None:
        """Return the cell that is drawn at a position; None if there is none."""
        return self._board.cell_at(position)

    def cell_rect(self, cell: MapCell) -> pygame.Rect:
        """Return the rectangle of a cell on the surface."""
        return self._board.cell_rect(*cell)

    def zoom(self, notches: int) -> None:
        """Zoom by some notches; 0 resets the zoom."""
        if notches:
            self._camera.zoom(notches, self._size[1], self._size[0])
        else:
            self._camera.cell = None

    def object_picture(self, kind: int, state: int, color: int, size: int) -> pygame.Surface:
        """Return the sprite of an object in a size in pixels."""
        name = self._sheet.sprite_name(kind, state)
        return self._sheet.get(name, color, size)

    def agent_picture(self, facing: int, size: int) -> pygame.Surface:
        """Return the sprite of an agent that faces a direction, in a size in pixels."""
        return self._sheet.get("agent", 0, size, facing)
