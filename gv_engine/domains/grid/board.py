"""A grid in a rectangle of a window: the part that the camera shows, and what moves upon it."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.rules.frame import Frame
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.camera import Point
from gv_engine.ui.drawing.sprites import ANGLES, SpriteSheet, pygame
from gv_engine.ui.drawing.tile_canvas import (
    LOOK_MASK,
    CellCodes,
    TileCache,
    TileCanvas,
    encode_cells,
)

# ---- motion --------------------------------------------------------------------------------------

Cell = tuple[int, int]
"""y, x."""

Thing = tuple[int, int, int]
"""Type, state and colour."""

TOO_MUCH = 200  # changed cells: more than happens in a step, not to be followed by the eye


class Motion(NamedTuple):
    """The way from one frame to the next.

    Attributes:
        agent: y, x and facing before.
        glides: things that move on by a cell: what, from where, to where.
        leaves, comes: things that vanish and appear: what and where.
    """

    agent: tuple[int, int, int]
    glides: tuple[tuple[Thing, Cell, Cell], ...]
    leaves: tuple[tuple[Thing, Cell], ...]
    comes: tuple[tuple[Thing, Cell], ...]


def motion(before: Frame, after: Frame) -> Motion | None:
    """What moves from one frame to the next; None if nothing does, or if too much is different."""
    if before.grid.shape != after.grid.shape:
        return None
    grids = _things(before), _things(after)
    ys, xs = np.nonzero((grids[0] != grids[1]).any(2))
    if len(ys) > TOO_MUCH or (not len(ys) and before.agent == after.agent):
        return None
    cells = list(zip(ys.tolist(), xs.tolist(), strict=True))
    left, come = ({cell: _thing(grid, cell) for cell in cells} for grid in grids)
    glides = []
    for (y, x), thing in come.items():
        for start in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if thing[0] != FLOOR and left.get(start) == thing:
                glides.append((thing, start, (y, x)))
                del left[start]
                break
    gone = {goal for _, _, goal in glides}
    return Motion(
        before.agent,
        tuple(glides),
        tuple((thing, cell) for cell, thing in left.items() if thing[0] != FLOOR),
        tuple(
            (thing, cell) for cell, thing in come.items() if thing[0] != FLOOR and cell not in gone
        ),
    )


def _things(frame: Frame) -> NDArray[np.uint8]:
    """(H, W, 3) the grid without its ground, which stays where it is."""
    if frame.beneath is None:
        return frame.grid
    is_ground = (frame.grid == frame.beneath).all(-1, keepdims=True)
    return np.where(is_ground, np.array([FLOOR, 0, 0], np.uint8), frame.grid)


def _thing(grid: NDArray[np.uint8], cell: Cell) -> Thing:
    kind, state, color = grid[cell].tolist()
    return kind, state, color


# ---- minimap -------------------------------------------------------------------------------------

EDGE = 2  # pixels of the frame: a dark and a light line
AGENT_DOT = 5  # pixels: where the agent is, at least


class Minimap:
    """Draws the whole of a grid small.

    Args:
        sheet: the sprites.
        theme: for its frame.
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
        """Draw it as large as fits.

        Args:
            surface: to draw on.
            room: that the map keeps to.
            corner: of the room, that it is put into: topleft, bottomright or their like.
            grid: (H, W, 3).
            lit: (H, W), as for boards.
            agent: its y, x.
            shown: top, left, height and width of what the view shows, in cells.
        """
        height, width, _ = grid.shape
        scale = min((room.h - 2 * EDGE) / height, (room.w - 2 * EDGE) / width)
        cell = max(1, int(scale))
        if self._mosaic.tiles.cell != cell or self._mosaic.shown.shape != (height, width):
            self._mosaic = TileCanvas(TileCache(self._sheet, cell), (height, width))
            self._ground = pygame.Surface((width * cell, height * cell), 0, 32)
        self._mosaic.update(pygame.surfarray.pixels2d(self._ground).T, encode_cells(grid, lit))
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
        dot = pygame.Rect(0, 0, max(AGENT_DOT, int(scale)), max(AGENT_DOT, int(scale)))
        dot.center = (
            inner.x + int((agent[1] + 0.5) * scale),
            inner.y + int((agent[0] + 0.5) * scale),
        )
        surface.fill(self._theme.on_select, dot.inflate(2, 2).clip(inner))
        surface.fill(self._theme.accent, dot.clip(inner))


# ---- board ---------------------------------------------------------------------------------------

SMALLEST_AGENT = 8  # pixels: it must be found on a map of two pixels a cell


class Board:
    """Draws a grid again and again; what stays the same is kept.

    Args:
        sheet: the sprites.
    """

    def __init__(self, sheet: SpriteSheet) -> None:
        self._sheet = sheet
        self._ground = pygame.Surface((0, 0))
        self._mosaic = TileCanvas(TileCache(sheet, 1), (0, 0))
        self._origin = 0, 0  # the cell in the corner of the ground
        self._corner = 0, 0  # pixels of the surface, of the grid's cell 0, 0
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
        """Draw a grid.

        Args:
            surface: to draw on; nothing is drawn outside the rectangle.
            rect: where.
            corner: y, x in pixels of the grid that lie in the rectangle's corner.
            cell: pixels of a cell's side.
            grid: (H, W, 3) type, state and colour of every cell.
            lit: (H, W), the cells drawn bright; None: all of them.
            agent: y, x and facing; outside the grid it is not drawn.
            motion: how it came to this; None if at once.
            progress: of the motion, from 0 to 1.
            beneath: (H, W, 3) what lies on the ground, if there is one.
            color: of the agent, if there are several.
        """
        top, left = round(corner[0]), round(corner[1])
        self._corner, self._shape = (rect.y - top, rect.x - left), grid.shape[:2]
        self._clip = rect.clip(surface.get_clip())
        shown = encode_cells(grid, lit, beneath)
        if motion is not None and progress < 1:
            bare = ~shown.dtype.type(LOOK_MASK)
            for *_, goal in (*motion.comes, *motion.glides):
                shown[goal] = FLOOR | shown[goal] & bare
        self._update(shown, (max(0, top), max(0, left)), rect, cell)
        before = surface.get_clip()
        surface.set_clip(self._clip)
        y, x = self._origin
        surface.blit(self._ground, self.place(y, x).topleft)
        if motion is None or progress >= 1:
            self._draw_agent(surface, agent, ANGLES[agent[2]], color)
        else:
            for thing, at, alpha in _moving(motion, progress):
                self._draw_thing(surface, thing, at, alpha, shown)
            turn = (ANGLES[agent[2]] - ANGLES[motion.agent[2]] + 180) % 360 - 180
            angle = ANGLES[agent[2]] - turn * (1 - progress)
            place = between(motion.agent, agent, progress)
            self._draw_agent(surface, (*place, agent[2]), angle, color)
        surface.set_clip(before)

    def _update(
        self, shown: CellCodes, start: tuple[int, int], rect: pygame.Rect, cell: int
    ) -> None:
        """Bring the ground up to date: the cells in sight, and no more than one beyond."""
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
        height, width = self._shape
        if not (-1 < agent[0] < height and -1 < agent[1] < width):
            return
        place = self.place(agent[0], agent[1])
        side = max(place.w, SMALLEST_AGENT)
        if angle == ANGLES[agent[2]]:
            sprite = self._sheet.agent(color, side, agent[2])
        else:
            sprite = pygame.transform.rotozoom(self._sheet.agent(color, side), angle, 1)
        surface.blit(sprite, sprite.get_rect(center=place.center))

    def _draw_thing(
        self, surface: pygame.Surface, thing: Thing, place: Point, alpha: float, shown: CellCodes
    ) -> None:
        rect = self.place(*place)
        lit = bool(shown[round(place[0]), round(place[1])] >> 24 & 1)
        sprite = self._sheet.get(self._sheet.sprite_name(*thing[:2]), thing[2], rect.w, lit=lit)
        if alpha < 1:
            sprite = sprite.copy()
            sprite.set_alpha(int(255 * alpha))
        surface.blit(sprite, rect)

    def place(self, y: float, x: float) -> pygame.Rect:
        """Where a cell lies on the surface, as it was drawn last."""
        cell = self._mosaic.tiles.cell
        top, left = self._corner
        return pygame.Rect(left + round(x * cell), top + round(y * cell), cell, cell)

    def at(self, position: tuple[int, int]) -> Cell | None:
        """The cell drawn at x, y of the surface, if there is one."""
        if not self._clip.collidepoint(position):
            return None
        cell, (top, left) = self._mosaic.tiles.cell, self._corner
        y, x = (position[1] - top) // cell, (position[0] - left) // cell
        height, width = self._shape
        return (y, x) if 0 <= y < height and 0 <= x < width else None


def _moving(motion: Motion, progress: float) -> Iterator[tuple[Thing, Point, float]]:
    """Things with their place and how opaque they are."""
    for thing, cell in motion.leaves:
        yield thing, cell, 1 - progress
    for thing, cell in motion.comes:
        yield thing, cell, progress
    for thing, start, goal in motion.glides:
        yield thing, between(start, goal, progress), 1.0


def between(start: tuple[int, ...], goal: tuple[int, ...], progress: float) -> Point:
    """y, x on the way; who moves by more than a cell is there at once."""
    if max(abs(start[0] - goal[0]), abs(start[1] - goal[1])) > 1:
        return goal[0], goal[1]
    rest = 1 - progress
    return goal[0] + (start[0] - goal[0]) * rest, goal[1] + (start[1] - goal[1]) * rest
