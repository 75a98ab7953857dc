"""Drawing of a grid: the animated board, the minimap, and the editor's view of a map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.play.editor.map_model import MapCell, MapModel
from gv_engine.play.grid.motion import Cell, CellObject, Motion, lerp
from gv_engine.play.grid.overlay import draw_policy_map, draw_watched_cells
from gv_engine.play.session.sprite_paths import sprite_folders
from gv_engine.play.ui.colors import DARK, Theme
from gv_engine.play.ui.drawing.recording import DrawFrame
from gv_engine.play.ui.drawing.sprites import (
    ANGLES,
    LOOK_MASK,
    CellCodes,
    SpriteSheet,
    TileCache,
    TileCanvas,
    clipped,
    encode_looks,
    pygame,
)
from gv_engine.play.ui.drawing.stage import Camera, MapDrawing, Point, scroll_offset
from gv_engine.rules.frame import Frame
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.scenario import Scenario

# ---- minimap -------------------------------------------------------------------------------------

EDGE = 2  # width of the frame in pixels: a dark and a light line
AGENT_DOT = 5  # smallest side of the agent's dot in pixels


class Minimap:
    """Minimap, a small picture of a whole grid.

    Args:
        sheet: sprites.
        theme: colours of the frame.
    """

    def __init__(self, sheet: SpriteSheet, theme: Theme) -> None:
        self._sheet, self._theme = sheet, theme
        self._ground = pygame.Surface((0, 0))
        self._mosaic = TileCanvas(TileCache(sheet, 1), (0, 0))

    def draw(
        self,
        surface: pygame.Surface,
        room: pygame.Rect,
        corner: str,
        grid: NDArray[np.uint8],
        lit: NDArray[np.bool_] | None,
        agent: tuple[float, float],
        shown: tuple[float, float, float, float],
    ) -> None:
        """Draw the whole grid into a corner of `room`, as large as fits, with cells in the mask
        `lit` bright; mark the agent and the part `shown` (in cells) that the main view displays.

        Args:
            surface: surface to draw on.
            room: rectangle that the map must stay in.
            corner: corner of the room to put the map into, such as "topleft".
            grid: (H, W, 3) type, state and colour of every cell.
            lit: (H, W) cells that are drawn bright; None for all.
            agent: y, x of the agent.
            shown: top, left, height and width of the visible part, in cells.
        """
        height, width, _ = grid.shape
        scale = min((room.h - 2 * EDGE) / height, (room.w - 2 * EDGE) / width)
        cell = max(1, int(scale))
        if self._mosaic.tiles.cell != cell or self._mosaic.shown.shape != (height, width):
            self._mosaic = TileCanvas(TileCache(self._sheet, cell), (height, width))
            self._ground = pygame.Surface((width * cell, height * cell), 0, 32)
        self._mosaic.update(pygame.surfarray.pixels2d(self._ground).T, encode_looks(grid, lit))
        picture, scale = self._ground, min(scale, cell)
        if scale < 1:  # more cells than pixels
            size = max(1, round(width * scale)), max(1, round(height * scale))
            picture = pygame.transform.smoothscale(picture, size)
        frame = picture.get_rect().inflate(2 * EDGE, 2 * EDGE)
        setattr(frame, corner, getattr(room, corner))
        surface.fill(self._theme.on_select, frame)
        surface.fill(self._theme.select, frame.inflate(-2, -2))
        inner = frame.inflate(-2 * EDGE, -2 * EDGE)
        surface.blit(picture, inner)
        top, left, tall, wide = (round(part * scale) for part in shown)
        part = pygame.Rect(inner.x + left, inner.y + top, wide, tall).clip(inner)
        pygame.draw.rect(surface, self._theme.on_select, part.inflate(2, 2).clip(inner), 1)
        pygame.draw.rect(surface, self._theme.select, part, 1)
        side = max(AGENT_DOT, int(scale))
        dot = pygame.Rect(0, 0, side, side)
        y, x = (int((part + 0.5) * scale) for part in agent)
        dot.center = inner.x + x, inner.y + y
        surface.fill(self._theme.on_select, dot.inflate(2, 2).clip(inner))
        surface.fill(self._theme.accent, dot.clip(inner))


# ---- board ---------------------------------------------------------------------------------------

MIN_AGENT_SIZE = 8  # pixels, so that the agent is visible in tiny cells


class Board:
    """Drawing of a grid that redraws only the cells that have changed.

    Args:
        sheet: sprites.
    """

    def __init__(self, sheet: SpriteSheet) -> None:
        self._sheet = sheet
        self._ground = pygame.Surface((0, 0))
        self._mosaic = TileCanvas(TileCache(sheet, 1), (0, 0))
        self._origin = 0, 0  # cell in the corner of the ground
        self._corner = 0, 0  # position of cell 0, 0 on the surface, in pixels
        self._clip = pygame.Rect(0, 0, 0, 0)
        self._shape = 0, 0

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        corner: Point,
        cell: int,
        grid: NDArray[np.uint8],
        lit: NDArray[np.bool_] | None,
        agent: tuple[int, int, int],
        motion: Motion | None = None,
        progress: float = 1.0,
        beneath: NDArray[np.uint8] | None = None,
        color: int = 0,
    ) -> None:
        """Draw a grid into `rect`, scrolled so that the pixel `corner` (y, x) of the grid is at the
        top left, with cells in the mask `lit` bright. During an animation, `motion` and `progress`
        give the positions of objects and agent between two frames.

        Args:
            surface: surface to draw on.
            rect: rectangle to draw into.
            corner: (y, x) in pixels of the point of the grid at the rectangle's top left corner.
            cell: side of a cell in pixels.
            grid: (H, W, 3) type, state and colour of every cell.
            lit: (H, W) cells that are drawn bright; None for all.
            agent: y, x and facing; an agent outside the grid is not drawn.
            motion: changes to animate; None for no animation.
            progress: progress of the animation, from 0 to 1.
            beneath: (H, W, 3) objects on the ground, if there is a ground layer.
            color: colour of the agent, if there are several.
        """
        top, left = round(corner[0]), round(corner[1])
        self._corner, self._shape = (rect.y - top, rect.x - left), grid.shape[:2]
        self._clip = rect.clip(surface.get_clip())
        shown = encode_looks(grid, lit, beneath)
        if motion is not None and progress < 1:
            bare = ~shown.dtype.type(LOOK_MASK)
            for _, _, goal, (_, last) in motion.movements:
                if last:  # else the object is gone then
                    shown[goal] = FLOOR | shown[goal] & bare
        self._update_ground(shown, (max(0, top), max(0, left)), rect, cell)
        with clipped(surface, self._clip):
            surface.blit(self._ground, self.cell_rect(*self._origin).topleft)
            if motion is None or progress >= 1:
                self._draw_agent(surface, agent, ANGLES[agent[2]], color)
                y, x, _ = agent
                if 0 <= y < self._shape[0] and 0 <= x < self._shape[1]:
                    self._sheet.draw_under_agent(surface, self.cell_rect(y, x), grid[y, x])
            else:
                for obj, at, alpha in motion.objects(progress):
                    self._draw_object(surface, obj, at, alpha, shown)
                turn = (ANGLES[agent[2]] - ANGLES[motion.agent[2]] + 180) % 360 - 180
                angle = ANGLES[agent[2]] - turn * (1 - progress) + motion.shake(progress)
                place = lerp(motion.agent, agent, progress)
                self._draw_agent(surface, (*place, agent[2]), angle, color)

    def _update_ground(
        self, shown: CellCodes, start: tuple[int, int], rect: pygame.Rect, cell: int
    ) -> None:
        """Redraw the cells of the cached background that have changed in `shown`, for a view that
        begins `start` pixels (y, x) after the grid's top left."""
        height, width = shown.shape
        rows, columns = min(height, ceil(rect.h / cell) + 1), min(width, ceil(rect.w / cell) + 1)
        y, x = min(start[0] // cell, height - rows), min(start[1] // cell, width - columns)
        if self._mosaic.tiles.cell != cell:
            self._mosaic = TileCanvas(TileCache(self._sheet, cell), (0, 0))
        if self._mosaic.shown.shape != (rows, columns):
            self._mosaic = TileCanvas(self._mosaic.tiles, (rows, columns))
            self._ground = pygame.Surface((columns * cell, rows * cell), 0, 32)
        elif self._origin != (y, x):
            down, right = self._origin[0] - y, self._origin[1] - x
            self._ground.scroll(right * cell, down * cell)
            self._mosaic.scroll(down, right)
        self._origin = y, x
        window = shown[y : y + rows, x : x + columns]
        self._mosaic.update(pygame.surfarray.pixels2d(self._ground).T, window)

    def _draw_agent(
        self, surface: pygame.Surface, agent: tuple[float, float, int], angle: float, color: int
    ) -> None:
        """Draw the agent at (y, x, facing), rotated by `angle` degrees; nothing if it is outside
        the grid."""
        height, width = self._shape
        if not (-1 < agent[0] < height and -1 < agent[1] < width):
            return
        place = self.cell_rect(agent[0], agent[1])
        side = max(place.w, MIN_AGENT_SIZE)
        if angle == ANGLES[agent[2]]:
            sprite = self._sheet.agent(color, side, agent[2])
        else:
            sprite = pygame.transform.rotozoom(self._sheet.agent(color, side), angle, 1)
        surface.blit(sprite, sprite.get_rect(center=place.center))

    def _draw_object(
        self, surface: pygame.Surface, obj: CellObject, place: Point, alpha: float, shown: CellCodes
    ) -> None:
        """Draw an object (type, state, colour) at a position (y, x) in cells, which may be
        fractional. `alpha` is the opacity from 0 to 1, and `shown` tells which cells are bright."""
        rect = self.cell_rect(*place)
        lit = bool(shown[round(place[0]), round(place[1])] >> 24 & 1)
        sprite = self._sheet.get(self._sheet.sprite_name(*obj[:2]), obj[2], rect.w, is_lit=lit)
        if alpha < 1:
            sprite = sprite.copy()
            sprite.set_alpha(int(255 * alpha))
        surface.blit(sprite, rect)

    def cell_rect(self, y: float, x: float) -> pygame.Rect:
        """Return the rectangle on the surface, in pixels, that the last `draw` used for cell (y,
        x)."""
        cell = self._mosaic.tiles.cell
        top, left = self._corner
        return pygame.Rect(left + round(x * cell), top + round(y * cell), cell, cell)

    def cell_at(self, position: tuple[int, int]) -> Cell | None:
        """Return the (y, x) cell that is drawn at a position (x, y) in pixels; None if no cell is
        there."""
        if not self._clip.collidepoint(position):
            return None
        cell, (top, left) = self._mosaic.tiles.cell, self._corner
        y, x = (position[1] - top) // cell, (position[0] - left) // cell
        height, width = self._shape
        return (y, x) if 0 <= y < height and 0 <= x < width else None


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
        self._size = 1, 1  # cell sides in pixels: whole map visible, current
        self._center = 0.0, 0.0

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        line: int,
        sketch: MapModel,
        cursor: MapCell,
    ) -> None:
        """Draw the map `sketch` with its agents into `rect`, scrolled so that the cell `cursor` is
        visible; `line` is the height of a line of text in pixels."""
        height, width = sketch.shape
        room, readable = (rect.h, rect.w), int(line * _READABLE)
        cell = max(1, self._camera.cell_size((height, width), room, readable))
        self._size = max(1, min(rect.h // height, rect.w // width)), cell
        start = scroll_offset((height, width), room, self._update_center(cursor, room, cell), cell)
        grid, ground = sketch.cell_arrays()
        self._board.draw(surface, rect, start, cell, grid, None, _NO_AGENT, beneath=ground)
        with clipped(surface, rect):
            for y, x, facing in sketch.agents():
                place = self._board.cell_rect(y, x)
                surface.blit(self._sheet.get("agent", 0, place.w, facing), place)

    def _update_center(
        self, cursor: MapCell, room: tuple[int, int], cell: int
    ) -> tuple[float, float]:
        """Scroll as little as needed to keep the cell `cursor` away from the border of the view;
        return the (y, x) cell in its center."""
        near = [
            min(max(center, to - side / cell / 2 + 1.5), to + side / cell / 2 - 1.5)
            for center, to, side in zip(self._center, cursor, room, strict=True)
        ]
        self._center = near[0], near[1]
        return self._center

    def outline_cells(
        self, surface: pygame.Surface, rect: pygame.Rect, cells: Mapping[MapCell, str]
    ) -> None:
        """Outline cells of the map; `cells` gives the name of the theme colour for each cell."""
        with clipped(surface, rect):
            for cell, color in cells.items():
                place = self._board.cell_rect(*cell)
                thick = max(2, place.w // 16)
                pygame.draw.rect(surface, self._theme.on_select, place, thick + 1)
                pygame.draw.rect(surface, getattr(self._theme, color), place, thick)

    def cell_at(self, position: tuple[int, int]) -> MapCell | None:
        """Return the cell that is drawn at a position; None if there is none."""
        return self._board.cell_at(position)

    def cell_rect(self, cell: MapCell) -> pygame.Rect:
        """Return the rectangle of a cell on the surface."""
        return self._board.cell_rect(*cell)

    def zoom(self, notches: int) -> None:
        """Make the cells larger for positive `notches` of the mouse wheel, smaller for negative
        ones; 0 resets the zoom."""
        if notches:
            self._camera.zoom(notches, self._size[1], self._size[0])
        else:
            self._camera.cell = None

    def object_picture(self, kind: int, state: int, color: int, size: int) -> pygame.Surface:
        """Return the sprite of an object in a size in pixels."""
        return self._sheet.get(self._sheet.sprite_name(kind, state), color, size)

    def agent_picture(self, facing: int, size: int) -> pygame.Surface:
        """Return the sprite of an agent that faces a direction, in a size in pixels."""
        return self._sheet.get("agent", 0, size, facing)


class GridRenderer:
    """Renderer of the state, the observation, or both side by side, without text.

    Args:
        sheet: sprites.
        view: both, state, observation or explored.
        cell: side of a cell in pixels.
    """

    def __init__(self, sheet: SpriteSheet, view: str = "both", cell: int = 32) -> None:
        self._sheet, self._view, self._cell = sheet, view, cell
        self._tiles = TileCache(sheet, cell, rgb=True)
        self._shapes: list[tuple[int, int]] = []
        self._mosaics: list[TileCanvas] = []
        self._picture: NDArray[np.uint8] = np.zeros((0, 0, 3), np.uint8)
        self._surface = pygame.Surface((0, 0))

    def draw(self, frame: Frame) -> NDArray[np.uint8]:
        """Return the picture of a frame as a (height, width, 3) RGB array, with its policy map over
        the state, if it has one.

        Returns:
            (H * cell, W * cell, 3) uint8 new array; with both views as high as the higher one, and
            half a cell wider than both together.
        """
        if self._view == "explored":
            frame = frame.limit_to_explored()
        parts = []
        if self._view != "observation":
            shown = encode_looks(frame.grid, frame.lit, frame.beneath)
            parts.append((shown, frame.grid, frame.agent))
        if self._view in ("both", "observation"):
            shown = encode_looks(frame.observation, None, frame.visible_ground)
            parts.append((shown, frame.observation, frame.observer))
        shapes = [shown.shape for shown, *_ in parts]
        if shapes != self._shapes:
            self._allocate(shapes)
        cell, left = self._cell, 0
        for mosaic, (shown, looks, agent) in zip(self._mosaics, parts, strict=True):
            height, width = shown.shape
            part = slice(0, height * cell), slice(left, left + width * cell)
            mosaic.update(self._picture[part], shown)
            y, x, facing = agent
            if 0 <= y < height and 0 <= x < width:
                side = max(cell, MIN_AGENT_SIZE)
                over = side - cell
                corner = left + x * cell - over // 2, y * cell - over // 2
                self._surface.set_clip((left, 0, width * cell, height * cell))
                self._surface.blit(self._sheet.agent(frame.color, side, facing), corner)
                place = pygame.Rect(left + x * cell, y * cell, cell, cell)
                self._sheet.draw_under_agent(self._surface, place, looks[y, x])
                mosaic.invalidate(y, x, around=-(-over // cell))
            left += width * cell + cell // 2
        picture = self._picture.copy()
        if self._view != "observation":
            rows, columns = picture.shape[:2]
            surface = pygame.image.frombuffer(picture.data, (columns, rows), "RGB")
            watched = chain.from_iterable(frame.watched.values())
            draw_watched_cells(surface, watched, self._cell_rect, DARK.loss)
            if frame.policy_map:
                draw_policy_map(surface, frame.policy_map, self._cell_rect)
        return picture

    def _cell_rect(self, y: float, x: float) -> pygame.Rect:
        cell = self._cell
        return pygame.Rect(round(x * cell), round(y * cell), cell, cell)

    def _allocate(self, shapes: list[tuple[int, int]]) -> None:
        """Allocate the image for grids with these (height, width) shapes in cells, placed side by
        side."""
        self._shapes = shapes
        self._mosaics = [TileCanvas(self._tiles, shape) for shape in shapes]
        cell = self._cell
        width = sum(shape[1] * cell for shape in shapes) + cell // 2 * (len(shapes) - 1)
        height = max(shape[0] * cell for shape in shapes)
        self._picture = np.empty((height, width, 3), np.uint8)
        self._picture[:] = pygame.Color(DARK.background)[:3]
        # the surface draws into the memory of the array
        self._surface = pygame.image.frombuffer(self._picture.data, (width, height), "RGB")


def make_renderer(scenario: Scenario, view: str, cell: int) -> DrawFrame:
    """Return a function that draws frames of a scenario as RGB arrays. `view` is "both", "state",
    "observation" or "explored", and `cell` the side of a cell in pixels."""
    sheet = SpriteSheet(sprite_folders(scenario), types=scenario.types)
    return GridRenderer(sheet, view, cell).draw
