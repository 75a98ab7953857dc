"""A wall of worlds: all their cells as pixels, by one look-up in a table of tiles.

>>> place_wall((1200, 700), 1024, (9, 9))
Arrangement(cell=3, columns=42, rows=25, tall=28, wide=28)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.session.batch_viewer import OUTSIDE_CODE
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import SMALL, SpriteSheet, pygame

BETWEEN = 1  # pixels between worlds, for each 32 of a world's side, and at least one
FLAT = 6  # pixels: smaller cells have the colour of their drawing alone
LARGEST_CELL = 32  # pixels of a cell
LEAST_CELL = 2


class Arrangement(NamedTuple):
    """Worlds in rows.

    Attributes:
        cell: pixels of a cell's side.
        columns, rows: so many worlds there is room for.
        tall, wide: pixels from one world to the next.
    """

    cell: int
    columns: int
    rows: int
    tall: int
    wide: int


def place_wall(
    room: tuple[int, int], number: int, shape: tuple[int, int], least: int = LEAST_CELL
) -> Arrangement:
    """The arrangement with the largest cells in which all worlds have room; or the least cells.

    Args:
        room: width and height in pixels.
        number: of worlds.
        shape: height and width of a world in cells.
        least: pixels of a cell's side, at least.
    """
    for cell in range(LARGEST_CELL, least - 1, -1):
        gap = max(BETWEEN, cell * max(shape) // 32)
        tall, wide = shape[0] * cell + gap, shape[1] * cell + gap
        columns, rows = max(1, (room[0] + gap) // wide), max(1, (room[1] + gap) // tall)
        if columns * rows >= number or cell == least:
            break
    return Arrangement(cell, columns, rows, tall, wide)


class TileTable:
    """Pixels of cells by code, see `gv_engine.session.batch_viewer.APPEARANCE_BITS`.

    Args:
        sheet: the sprites.
        cell: pixels of a side.
        theme: what is beyond a world.
    """

    def __init__(self, sheet: SpriteSheet, cell: int, theme: Theme) -> None:
        self._sheet, self._cell, self._theme = sheet, cell, theme
        self._codes = np.empty(0, np.uint32)
        self._tiles = np.empty((0, cell, cell), np.uint32)

    def __getitem__(self, codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """(n, cell, cell) the pixels of (n,) codes."""
        at = np.searchsorted(self._codes, codes)
        known = self._codes.take(at, mode="clip") == codes if len(self._codes) else at > at
        if not known.all():
            more = np.unique(codes[~known])
            tiles = np.stack([self._picture(int(code)) for code in more])
            whole = np.concatenate([self._codes, more])
            order = whole.argsort()
            self._codes = whole[order]
            self._tiles = np.concatenate([self._tiles, tiles])[order]
            at = np.searchsorted(self._codes, codes)
        found: NDArray[np.uint32] = self._tiles[at]
        return found

    def _picture(self, code: int) -> NDArray[np.uint32]:
        cell = self._cell
        tile = pygame.Surface((cell, cell), 0, 32)
        if code == OUTSIDE_CODE:
            tile.fill(self._theme.background)
            return self._pixels(tile)
        kind, state, color, agent = code.to_bytes(4, "little")
        name = self._sheet.name(kind, state)
        if cell < FLAT:
            tile.fill(self._ink("agent", 0) if agent else self._ink(name, color))
            return self._pixels(tile)
        tile.blit(self._sheet.tile(name, color, cell), (0, 0))
        if agent:
            tile.blit(self._sheet.get("agent", 0, cell, agent - 1), (0, 0))
        return self._pixels(tile)

    def _ink(self, name: str, color: int) -> tuple[int, ...]:
        """The colour that most of a drawing has, without what it does not cover."""
        drawing = self._sheet.get(name, color, SMALL)
        covers = pygame.surfarray.array_alpha(drawing)[..., None].astype(float)
        mean = (pygame.surfarray.array3d(drawing) * covers).sum((0, 1)) / max(1.0, covers.sum())
        return tuple(mean.astype(int).tolist())

    @staticmethod
    def _pixels(tile: pygame.Surface) -> NDArray[np.uint32]:
        return np.ascontiguousarray(pygame.surfarray.array2d(tile).T).astype(np.uint32)


class Wall:
    """Draws worlds again and again; what stays the same is kept.

    Args:
        sheet: the sprites.
        theme: its colours.

    Attributes:
        least: pixels of a cell's side, even if not all worlds have room.
        at: how they are placed.
    """

    def __init__(self, sheet: SpriteSheet, theme: Theme) -> None:
        self._sheet, self._theme = sheet, theme
        self.least = LEAST_CELL
        self._surface = pygame.Surface((1, 1), 0, 32)
        self._table = TileTable(sheet, LEAST_CELL, theme)
        self._first = 0
        self._drawn: NDArray[np.uint32] | None = None
        self._rect = pygame.Rect(0, 0, 0, 0)
        self._number = 0
        self.at = Arrangement(LEAST_CELL, 1, 1, 1, 1)

    def draw(
        self, surface: pygame.Surface, rect: pygame.Rect, codes: NDArray[np.uint32], first: int = 0
    ) -> None:
        """Draw (N, H, W) codes, from world `first` on, which is the first of its row."""
        height, width = codes.shape[1:]
        at = place_wall(rect.size, len(codes), (height, width), self.least)
        if (at, first, rect.size) != (self.at, self._first, self._rect.size):
            self._drawn = None
        self._rect, self._number = rect.copy(), len(codes)
        if self._drawn is None:
            self._table = TileTable(self._sheet, at.cell, self._theme)
            self.at, self._first = at, first
            self._surface = pygame.Surface((at.columns * at.wide, at.rows * at.tall), 0, 32)
            self._surface.fill(self._theme.background)
        shown = codes[first : first + at.columns * at.rows]
        if self._drawn is None or self._drawn.shape != shown.shape:
            world, y, x = (each.ravel() for each in np.indices(shown.shape))
        else:
            world, y, x = np.nonzero(shown != self._drawn)
        row, column = np.divmod(world, at.columns)
        pixels = pygame.surfarray.pixels2d(self._surface).T
        down, right = pixels.strides
        strides = at.tall * down, at.wide * right, at.cell * down, at.cell * right, down, right
        sides = at.rows, at.columns, height, width, at.cell, at.cell
        cells = np.lib.stride_tricks.as_strided(pixels, sides, strides)
        cells[row, column, y, x] = self._table[shown[world, y, x]]
        del cells, pixels  # while they are there nobody draws the surface
        self._drawn = shown
        surface.blit(self._surface, self._corner, (0, 0, *rect.size))

    @property
    def _corner(self) -> tuple[int, int]:
        """Where it begins, in the middle of its room."""
        used = self._surface.get_rect()
        x, y = (max(0, room - size) // 2 for room, size in zip(self._rect.size, used.size))
        return self._rect.x + x, self._rect.y + y

    def place(self, world: int) -> pygame.Rect:
        """Where a world is drawn."""
        row, column = divmod(world - self._first, self.at.columns)
        x, y = self._corner
        size = self.at.wide, self.at.tall
        return pygame.Rect((x + column * size[0], y + row * size[1]), size)

    def at_pixel(self, position: tuple[int, int]) -> int | None:
        """The world that is drawn there."""
        x, y = (a - b for a, b in zip(position, self._corner))
        column, row = x // self.at.wide, y // self.at.tall
        if x < 0 or y < 0 or column >= self.at.columns or row >= self.at.rows:
            return None
        world = self._first + row * self.at.columns + column
        return world if world < self._number else None
