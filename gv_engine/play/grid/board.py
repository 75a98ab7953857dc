"""Drawing of a grid: the animated board, the minimap, and the editor's view of a map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.play.editor.map_model import MapCell, MapModel
from gv_engine.play.grid.motion import Cell, CellObject, Motion, lerp
from gv_engine.play.grid.overlay import draw_policy_map, draw_watched_cells
from gv_engine.play.session.sprite_paths import SpriteSource, sprite_sources
from gv_engine.play.ui.colors import DARK, Theme
from gv_engine.play.ui.drawing import sprites
from gv_engine.play.ui.drawing.recording import DrawFrame
from gv_engine.play.ui.drawing.sprites import CellCodes, SpriteSheet, pygame
from gv_engine.play.ui.drawing.stage import Camera, MapDrawing, Point, scroll_offset
from gv_engine.play.ui.drawing.tiles import LOOK_MASK, TileCache, TileCanvas, encode_looks
from gv_engine.rules.frame import Frame
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.scenario import Scenario


class GridContent(NamedTuple):
    """Grid to draw.

    Attributes:
        grid: (H, W, 3) type, state and colour of every cell.
        agent: y, x and facing; an agent outside the grid is not drawn.
        lit: (H, W) cells that are drawn bright; None for all.
        beneath: (H, W, 3) objects on the ground, if there is a ground layer.
        stacks: (H, W) numbers of stacks of states, if objects are drawn on top of each other.
        color: colour of the agent, if there are several.
        agent_size: side of the agent in cells; what is under a smaller one is seen anyway.
    """

    grid: NDArray[np.uint8]
    agent: tuple[int, int, int]
    lit: NDArray[np.bool_] | None = None
    beneath: NDArray[np.uint8] | None = None
    color: int = 0
    agent_size: float = 1.0
    stacks: NDArray[np.uint16] | None = None

    @property
    def codes(self) -> CellCodes:
        """(H, W) appearances of the cells, see `encode_looks`."""
        return encode_looks(self.grid, self.lit, self.beneath, self.stacks)

    @property
    def has_agent(self) -> bool:
        """True if the agent is on the grid."""
        y, x, _ = self.agent
        height, width = self.grid.shape[:2]
        return bool(0 <= y < height and 0 <= x < width)


def whole_grid_of(frame: Frame) -> GridContent:
    """Return the whole grid of `frame` with its agent."""
    content = GridContent(frame.grid, frame.agent, frame.lit, frame.beneath, frame.color)
    return content._replace(stacks=frame.stacks)


def observation_of(frame: Frame) -> GridContent:
    """Return what the agent of `frame` observes, with the agent in it."""
    beneath = frame.visible_ground
    return GridContent(frame.observation, frame.observer, beneath=beneath, color=frame.color)


class CellSurface:
    """Surface with the cells of a grid, on which only the cells that have changed are redrawn.

    Attributes:
        surface: the drawn cells; a new surface after a `resize` that returns True.
        canvas: record of what is drawn.
    """

    def __init__(self, sheet: SpriteSheet) -> None:
        self._sheet = sheet
        self.surface = pygame.Surface((0, 0))
        self.canvas = TileCanvas(TileCache(sheet, 1), (0, 0))

    @property
    def cell(self) -> int:
        """Side of a cell in pixels."""
        return self.canvas.tiles.cell

    def resize(self, shape: tuple[int, ...], cell: int) -> bool:
        """Make room for a grid of this shape, (height, width), with cells of `cell` pixels. Return
        False if it already has that size, so that the drawn cells can stay."""
        if (self.canvas.shown.shape, self.cell) == (shape, cell):
            return False
        height, width = shape
        tiles = self.canvas.tiles if self.cell == cell else TileCache(self._sheet, cell)
        self.canvas = TileCanvas(tiles, (height, width))
        self.surface = pygame.Surface((width * cell, height * cell), 0, 32)
        return True

    def update(self, codes: CellCodes) -> None:
        """Draw the (H, W) cells with these codes, see `encode_looks`."""
        self.canvas.update(pygame.surfarray.pixels2d(self.surface).T, codes)


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
        self._theme, self._sheet = theme, sheet
        self._cells = CellSurface(sheet)

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
        """Draw the whole grid as a minimap into a corner of `room`. Cells in the mask `lit`, (H,
        W), are bright. The agent's (y, x) and the part `shown` in the main view are marked.

        Args:
            surface: surface to draw on.
            room: rectangle that the map must stay in.
            corner: corner of the room to put the map into, such as "topleft".
            grid: (H, W, 3) type, state and colour of every cell.
            lit: (H, W) cells that are drawn bright; None for all.
            agent: y, x of the agent.
            shown: top, left, height and width of the visible part, in cells.
        """
        codes = self._sheet.add_joins(encode_looks(grid, lit))
        picture, scale = self._draw_cells(codes, room.inflate(-2 * EDGE, -2 * EDGE))
        frame = picture.get_rect().inflate(2 * EDGE, 2 * EDGE)
        setattr(frame, corner, getattr(room, corner))
        surface.fill(self._theme.on_select, frame)
        surface.fill(self._theme.select, frame.inflate(-2, -2))
        inner = frame.inflate(-2 * EDGE, -2 * EDGE)
        surface.blit(picture, inner)
        top, left, height, width = (round(part * scale) for part in shown)
        part = pygame.Rect(inner.x + left, inner.y + top, width, height).clip(inner)
        pygame.draw.rect(surface, self._theme.on_select, part.inflate(2, 2).clip(inner), 1)
        pygame.draw.rect(surface, self._theme.select, part, 1)
        side = max(AGENT_DOT, int(scale))
        dot = pygame.Rect(0, 0, side, side)
        y, x = (int((part + 0.5) * scale) for part in agent)
        dot.center = inner.x + x, inner.y + y
        surface.fill(self._theme.on_select, dot.inflate(2, 2).clip(inner))
        surface.fill(self._theme.accent, dot.clip(inner))

    def _draw_cells(self, codes: CellCodes, room: pygame.Rect) -> tuple[pygame.Surface, float]:
        """Return a picture of the cells, as large as fits into `room`, and the pixels per cell."""
        height, width = codes.shape
        scale = min(room.h / height, room.w / width)
        self._cells.resize(codes.shape, max(1, int(scale)))
        self._cells.update(codes)
        if scale >= 1:
            return self._cells.surface, self._cells.cell
        # more cells than pixels
        size = max(1, round(width * scale)), max(1, round(height * scale))
        return pygame.transform.smoothscale(self._cells.surface, size), scale


# ---- board ---------------------------------------------------------------------------------------

MIN_AGENT_SIZE = 8  # pixels, so that the agent is visible in tiny cells


class Board:
    """Drawing of a grid that redraws only the cells that have changed.

    Args:
        sheet: sprites.
    """

    def __init__(self, sheet: SpriteSheet) -> None:
        self._sheet = sheet
        self._cells = CellSurface(sheet)  # the visible part of the grid, and a bit more
        self._origin = 0, 0  # cell in the corner of `_cells`
        self._corner = 0, 0  # position of cell 0, 0 on the surface, in pixels
        self._clip = pygame.Rect(0, 0, 0, 0)
        self._shape = 0, 0

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        corner: Point,
        cell: int,
        content: GridContent,
        motion: Motion | None = None,
        progress: float = 1.0,
    ) -> None:
        """Draw a grid into `rect`, scrolled so that the pixel `corner` (y, x) of the grid is at the
        top left. During an animation, `motion` and `progress` give the positions of objects and
        agent between two frames.

        Args:
            surface: surface to draw on.
            rect: rectangle to draw into.
            corner: (y, x) in pixels of the point of the grid at the rectangle's top left corner.
            cell: side of a cell in pixels.
            content: grid to draw, after the animation.
            motion: changes to animate; None for no animation.
            progress: progress of the animation, from 0 to 1.
        """
        top, left = round(corner[0]), round(corner[1])
        codes = content.codes
        self._corner, self._shape = (rect.y - top, rect.x - left), codes.shape
        self._clip = rect.clip(surface.get_clip())
        if motion is not None and progress < 1:
            _hide_moving_objects(codes, motion)
        codes = self._sheet.add_joins(codes)
        self._update_cells(codes, (max(0, top), max(0, left)), rect, cell)
        with sprites.clipped(surface, self._clip):
            surface.blit(self._cells.surface, self.cell_rect(*self._origin).topleft)
            if motion is not None and progress < 1:
                for obj, position, opacity in motion.objects(progress):
                    self._draw_object(surface, obj, position, opacity, codes)
                self._draw_moving_agent(surface, content, motion, progress)
                return
            y, x, facing = content.agent
            angle, size = sprites.ANGLES[facing], content.agent_size
            self._draw_agent(surface, content.agent, angle, content.color, size)
            if content.has_agent and size == 1:
                cell_rect, look = self.cell_rect(y, x), content.grid[y, x]
                self._sheet.draw_under_agent(surface, cell_rect, look, facing)

    def _update_cells(
        self, codes: CellCodes, start: tuple[int, int], rect: pygame.Rect, cell: int
    ) -> None:
        """Redraw those cached cells whose appearance, in `codes`, has changed. The view begins
        `start` pixels (y, x) from the grid's top left corner."""
        height, width = codes.shape
        rows, columns = min(height, ceil(rect.h / cell) + 1), min(width, ceil(rect.w / cell) + 1)
        y, x = min(start[0] // cell, height - rows), min(start[1] // cell, width - columns)
        is_new = self._cells.resize((rows, columns), cell)
        if not is_new and self._origin != (y, x):
            down, right = self._origin[0] - y, self._origin[1] - x
            self._cells.surface.scroll(right * cell, down * cell)
            self._cells.canvas.scroll(down, right)
        self._origin = y, x
        self._cells.update(codes[y : y + rows, x : x + columns])

    def _draw_moving_agent(
        self, surface: pygame.Surface, content: GridContent, motion: Motion, progress: float
    ) -> None:
        """Draw the agent on its way to its cell and facing, at `progress` from 0 to 1."""
        facing = content.agent[2]
        # at most half a turn
        turn = (sprites.ANGLES[facing] - sprites.ANGLES[motion.agent[2]] + 180) % 360 - 180
        angle = sprites.ANGLES[facing] - turn * (1 - progress) + motion.shake(progress)
        y, x = lerp(motion.agent, content.agent, progress)
        self._draw_agent(surface, (y, x, facing), angle, content.color)

    def _draw_agent(
        self,
        surface: pygame.Surface,
        agent: tuple[float, float, int],
        angle: float,
        color: int,
        size: float = 1.0,
    ) -> None:
        """Draw the agent at (y, x, facing), rotated by `angle` degrees and `size` cells wide;
        nothing if it is outside the grid."""
        height, width = self._shape
        if not (-1 < agent[0] < height and -1 < agent[1] < width):
            return
        rect = self.cell_rect(agent[0], agent[1])
        side = max(round(rect.w * size), MIN_AGENT_SIZE)
        if angle == sprites.ANGLES[agent[2]]:
            sprite = self._sheet.agent(color, side, agent[2])
        else:
            sprite = pygame.transform.rotozoom(self._sheet.agent(color, side), angle, 1)
        surface.blit(sprite, sprite.get_rect(center=rect.center))

    def _draw_object(
        self,
        surface: pygame.Surface,
        obj: CellObject,
        position: Point,
        opacity: float,
        codes: CellCodes,
    ) -> None:
        """Draw an object at a position (y, x) in cells, which may be fractional. `opacity` is from
        0 to 1, and `codes` tell which cells are bright."""
        (kind, state, color), (y, x) = obj, position
        rect = self.cell_rect(y, x)
        is_lit = bool(codes[round(y), round(x)] >> 24 & 1)
        sprite = self._sheet.get(self._sheet.sprite_name(kind, state), color, rect.w, is_lit=is_lit)
        if opacity < 1:
            sprite = sprite.copy()
            sprite.set_alpha(int(255 * opacity))
        surface.blit(sprite, rect)

    def cell_rect(self, y: float, x: float) -> pygame.Rect:
        """Return the rectangle on the surface, in pixels, that the last `draw` used for cell (y,
        x)."""
        cell, (top, left) = self._cells.cell, self._corner
        return pygame.Rect(left + round(x * cell), top + round(y * cell), cell, cell)

    def cell_at(self, position: tuple[int, int]) -> Cell | None:
        """Return the (y, x) cell that is drawn at a position (x, y) in pixels; None if no cell is
        there."""
        if not self._clip.collidepoint(position):
            return None
        cell, (top, left) = self._cells.cell, self._corner
        y, x = (position[1] - top) // cell, (position[0] - left) // cell
        height, width = self._shape
        return (y, x) if 0 <= y < height and 0 <= x < width else None


def _hide_moving_objects(codes: CellCodes, motion: Motion) -> None:
    """Replace the objects in the cells where moving objects will arrive by floor, since these are
    drawn separately. `codes` is changed in place."""
    keep_ground = ~codes.dtype.type(LOOK_MASK)
    for movement in motion.movements:
        if movement.opacity[1]:  # else the object is gone at the end
            codes[movement.goal] = FLOOR | codes[movement.goal] & keep_ground


_NO_AGENT = (-9, -9, 0)  # outside of the grid, so that it is not drawn
_READABLE = 5 / 4  # smallest side of a readable cell, in lines of text


class EditorMapView(MapDrawing):
    """Draws grid maps in the editor.

    Args:
        theme: colours, and palette of the objects.
        sources: places of the scenario's own sprites, see `sprite_sources`.
        types: object types of the scenario.
    """

    def __init__(self, theme: Theme, sources: Iterable[SpriteSource], types: ObjectTypes) -> None:
        self._theme = theme
        self._sheet = SpriteSheet(sources, theme.palette, types)
        self._board = Board(self._sheet)
        self._camera = Camera()
        self._fitting_cell = self._cell = 1  # sides in pixels: whole map visible, current
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
        cell = self._cell = max(1, self._camera.cell_size((height, width), room, readable))
        self._fitting_cell = max(1, min(rect.h // height, rect.w // width))
        start = scroll_offset((height, width), room, self._update_center(cursor, room, cell), cell)
        grid, ground = sketch.cell_arrays()
        self._board.draw(surface, rect, start, cell, GridContent(grid, _NO_AGENT, beneath=ground))
        with sprites.clipped(surface, rect):
            for y, x, facing in sketch.agents():
                cell_rect = self._board.cell_rect(y, x)
                surface.blit(self._sheet.get("agent", 0, cell_rect.w, facing), cell_rect)

    def _update_center(
        self, cursor: MapCell, room: tuple[int, int], cell: int
    ) -> tuple[float, float]:
        """Scroll just enough to keep the cell `cursor` away from the border of the view. Return the
        cell (y, x) in the centre."""
        margin = 1.5  # cells between the middle of the cursor's cell and the border
        y, x = (
            min(max(center, target - side / cell / 2 + margin), target + side / cell / 2 - margin)
            for center, target, side in zip(self._center, cursor, room, strict=True)
        )
        self._center = y, x
        return self._center

    def outline_cells(
        self, surface: pygame.Surface, rect: pygame.Rect, cells: Mapping[MapCell, str]
    ) -> None:
        """Outline cells of the map; `cells` gives the name of the theme colour for each cell."""
        with sprites.clipped(surface, rect):
            for cell, color in cells.items():
                cell_rect = self._board.cell_rect(*cell)
                width = max(2, cell_rect.w // 16)
                pygame.draw.rect(surface, self._theme.on_select, cell_rect, width + 1)
                pygame.draw.rect(surface, getattr(self._theme, color), cell_rect, width)

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
            self._camera.zoom(notches, self._cell, self._fitting_cell)
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
        self._canvases: list[TileCanvas] = []  # one for each part
        self._picture: NDArray[np.uint8] = np.zeros((0, 0, 3), np.uint8)
        self._surface = pygame.Surface((0, 0))  # draws into the memory of the picture

    def draw(self, frame: Frame) -> NDArray[np.uint8]:
        """Return the picture of a frame as a (height, width, 3) RGB array, with its policy map over
        the state, if it has one.

        Returns:
            (H * cell, W * cell, 3) uint8 new array; with both views as high as the higher one, and
            half a cell wider than both together.
        """
        if self._view == "explored":
            frame = frame.limit_to_explored()
        parts = [whole_grid_of(frame)] if self._view != "observation" else []
        if self._view in ("both", "observation"):
            parts.append(observation_of(frame))
        shapes = [part.grid.shape[:2] for part in parts]
        if shapes != [canvas.shown.shape for canvas in self._canvases]:
            self._allocate(shapes)
        left = 0
        for canvas, part in zip(self._canvases, parts, strict=True):
            height, width = (side * self._cell for side in part.grid.shape[:2])
            codes = self._sheet.add_joins(part.codes)
            canvas.update(self._picture[:height, left : left + width], codes)
            self._surface.set_clip((left, 0, width, height))
            if part.has_agent:
                self._draw_agent(canvas, part, left)
            left += width + self._cell // 2
        picture = self._picture.copy()
        if self._view != "observation":
            self._draw_overlays(picture, frame)
        return picture

    def _allocate(self, shapes: list[tuple[int, ...]]) -> None:
        """Allocate the picture for grids with these (height, width) in cells, side by side."""
        self._canvases = [TileCanvas(self._tiles, (height, width)) for height, width in shapes]
        cell = self._cell
        width = sum(shape[1] * cell for shape in shapes) + cell // 2 * (len(shapes) - 1)
        height = max(shape[0] * cell for shape in shapes)
        self._picture = np.empty((height, width, 3), np.uint8)
        self._picture[:] = pygame.Color(DARK.background)[:3]
        self._surface = pygame.image.frombuffer(self._picture.data, (width, height), "RGB")

    def _draw_agent(self, canvas: TileCanvas, part: GridContent, left: int) -> None:
        """Draw the agent of one grid into the picture. The grid begins `left` pixels from the left.
        The cells covered by the agent are marked, so that the next `draw` renews them."""
        y, x, facing = part.agent
        rect = self._cell_rect(y, x).move(left, 0)
        side = max(self._cell, MIN_AGENT_SIZE)
        excess = side - self._cell
        corner = rect.x - excess // 2, rect.y - excess // 2
        self._surface.blit(self._sheet.agent(part.color, side, facing), corner)
        self._sheet.draw_under_agent(self._surface, rect, part.grid[y, x], facing)
        canvas.invalidate(y, x, around=-(-excess // self._cell))

    def _draw_overlays(self, picture: NDArray[np.uint8], frame: Frame) -> None:
        """Draw the cells that guards see, and the policy map if there is one, into `picture`."""
        height, width, _ = picture.shape
        surface = pygame.image.frombuffer(picture.data, (width, height), "RGB")
        watched = chain.from_iterable(frame.watched.values())
        draw_watched_cells(surface, watched, self._cell_rect, DARK.loss)
        if frame.policy_map:
            draw_policy_map(surface, frame.policy_map, self._cell_rect)

    def _cell_rect(self, y: float, x: float) -> pygame.Rect:
        cell = self._cell
        return pygame.Rect(round(x * cell), round(y * cell), cell, cell)


def make_renderer(scenario: Scenario, view: str, cell: int) -> DrawFrame:
    """Return a function that draws frames of a scenario as RGB arrays. `view` is "both", "state",
    "observation" or "explored", and `cell` the side of a cell in pixels."""
    sheet = SpriteSheet(sprite_sources(scenario), types=scenario.types)
    return GridRenderer(sheet, view, cell).draw
