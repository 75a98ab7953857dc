"""A grid in a rectangle of a window: the part that the camera shows, and what moves upon it."""

from collections.abc import Iterator
from math import ceil

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.families.grid.motion import Cell, Motion, Thing
from gv_engine.frontend.drawing.camera import Point
from gv_engine.frontend.drawing.mosaic import SHOWN, Codes, Mosaic, Tiles, codes
from gv_engine.frontend.drawing.sprites import ANGLES, SpriteSheet, pygame

SMALLEST_AGENT = 8  # pixels: it must be found on a map of two pixels a cell


class Board:
    """Draws a grid again and again; what stays the same is kept.

    Args:
        sheet: the sprites.
    """

    def __init__(self, sheet: SpriteSheet) -> None:
        self._sheet = sheet
        self._ground = pygame.Surface((0, 0))
        self._mosaic = Mosaic(Tiles(sheet, 1), (0, 0))
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
        shown = codes(grid, lit, beneath)
        if motion is not None and progress < 1:
            bare = ~shown.dtype.type(SHOWN)
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

    def _update(self, shown: Codes, start: tuple[int, int], rect: pygame.Rect, cell: int) -> None:
        """Bring the ground up to date: the cells in sight, and no more than one beyond."""
        height, width = shown.shape
        rows, columns = min(height, ceil(rect.h / cell) + 1), min(width, ceil(rect.w / cell) + 1)
        y, x = min(start[0] // cell, height - rows), min(start[1] // cell, width - columns)
        if self._mosaic.tiles.cell != cell:
            self._mosaic = Mosaic(Tiles(self._sheet, cell), (0, 0))
        if self._mosaic.shown.shape != (rows, columns):
            self._mosaic = Mosaic(self._mosaic.tiles, (rows, columns))
            self._ground = pygame.Surface((columns * cell, rows * cell), 0, 32)
        elif self._origin != (y, x):
            down, right = self._origin[0] - y, self._origin[1] - x
            self._ground.scroll(right * cell, down * cell)
            self._mosaic.moved(down, right)
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
        self, surface: pygame.Surface, thing: Thing, place: Point, alpha: float, shown: Codes
    ) -> None:
        rect = self.place(*place)
        lit = bool(shown[round(place[0]), round(place[1])] >> 24 & 1)
        sprite = self._sheet.get(self._sheet.name(*thing[:2]), thing[2], rect.w, lit=lit)
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
