"""View of a batch of worlds: a tile for each cell, all copied into one surface at once.

>>> lay_out_batch((1200, 700), 1024, (9, 9))
BatchLayout(cell=3, columns=42, rows=25, tall=28, wide=28)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN
from components.objects import WALL
from gv_engine.play.session.batch_viewer import OUTSIDE_CODE
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import SMALL, Rect, SpriteSheet, pygame

WORLD_GAP = 1  # pixels between worlds; more if a world is wider than 32 pixels
FLAT_BELOW = 6  # pixels: smaller cells are filled with the mean colour of their sprite
MIN_SATURATION = 60  # of 255: kinds with a greyer sprite get a colour of their own there
GOLDEN_ANGLE = 137  # degrees between the hues of two kinds, so that all differ
MAX_CELL = 32  # pixels of a cell's side
MIN_CELL = 2


class BatchLayout(NamedTuple):
    """Sizes of a grid of worlds.

    Attributes:
        cell: pixels of a cell's side.
        columns, rows: number of worlds that fit side by side, and one below the other.
        tall, wide: pixels from one world to the next, down and across.
    """

    cell: int
    columns: int
    rows: int
    tall: int
    wide: int


def lay_out_batch(
    room: tuple[int, int], count: int, shape: tuple[int, int], min_cell: int = MIN_CELL
) -> BatchLayout:
    """Return the layout that shows `count` worlds of `shape` (height, width) in an area of `room`
    (width, height) pixels, with cells as large as possible, but at least `min_cell` pixels, even if
    not all worlds fit.

    Args:
        room: width and height in pixels.
        count: number of worlds.
        shape: height and width of a world in cells.
        min_cell: smallest side of a cell, in pixels.
    """
    for cell in range(MAX_CELL, min_cell - 1, -1):
        gap = max(WORLD_GAP, cell * max(shape) // 32)
        tall, wide = shape[0] * cell + gap, shape[1] * cell + gap
        columns, rows = max(1, (room[0] + gap) // wide), max(1, (room[1] + gap) // tall)
        if columns * rows >= count or cell == min_cell:
            break
    return BatchLayout(cell, columns, rows, tall, wide)


class TileTable:
    """Cache of tile pixels by the cell's packed appearance (type, state, colour and agent), see
    `gv_engine.play.session.batch_viewer.APPEARANCE_BITS`.

    Args:
        sheet: sprites of the scenario.
        cell: side of a cell in pixels.
        theme: its background colour fills cells outside of a world.
    """

    def __init__(self, sheet: SpriteSheet, cell: int, theme: Theme) -> None:
        self._sheet, self._cell, self._theme = sheet, cell, theme
        self._codes = np.empty(0, np.uint32)
        self._tiles = np.empty((0, cell, cell), np.uint32)

    def __getitem__(self, codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the pictures of the cells with these codes, (n, cell, cell) uint32 pixels;
        pictures of new codes are drawn first."""
        indices = np.searchsorted(self._codes, codes)
        found = self._codes.take(indices, mode="clip") if len(self._codes) else ~codes
        is_cached = found == codes
        if not is_cached.all():
            new_codes = np.unique(codes[~is_cached])
            tiles = np.stack([self._draw_tile(int(code)) for code in new_codes])
            all_codes = np.concatenate([self._codes, new_codes])
            order = all_codes.argsort()
            self._codes = all_codes[order]
            self._tiles = np.concatenate([self._tiles, tiles])[order]
            indices = np.searchsorted(self._codes, codes)
        pixels: NDArray[np.uint32] = self._tiles[indices]
        return pixels

    def _draw_tile(self, code: int) -> NDArray[np.uint32]:
        """Return the picture of a cell as (cell, cell) uint32 pixels; `code` packs the cell's
        object type, state, colour and agent, one byte each."""
        cell, sheet = self._cell, self._sheet
        tile = pygame.Surface((cell, cell), 0, 32)
        kind, state, color, agent = code.to_bytes(4, "little")
        if code == OUTSIDE_CODE:
            tile.fill(self._theme.background)
        elif cell < FLAT_BELOW:
            name = sheet.sprite_name(kind, state)
            mean = self._mean_color("agent", 0) if agent else self._mean_color(name, color)
            if max(mean) - min(mean) < MIN_SATURATION and kind not in (HIDDEN, FLOOR, WALL):
                mean = _color_of_kind(kind)
            tile.fill(mean)
        else:
            tile.blit(sheet.tile(sheet.sprite_name(kind, state), color, cell), (0, 0))
            if agent:
                tile.blit(sheet.get("agent", 0, cell, agent - 1), (0, 0))
        return np.ascontiguousarray(pygame.surfarray.array2d(tile).T).astype(np.uint32)

    def _mean_color(self, name: str, color: int) -> tuple[int, ...]:
        """Return the mean (red, green, blue) of the sprite `name` in the palette colour with index
        `color`. Opaque and colourful pixels weigh more, so that object types differ."""
        drawing = self._sheet.get(name, color, SMALL)
        pixels = pygame.surfarray.array3d(drawing).astype(float)
        saturation = pixels.max(2) - pixels.min(2)
        covers = (pygame.surfarray.array_alpha(drawing) * (1 + saturation))[..., None]
        mean = (pixels * covers).sum((0, 1)) / max(1.0, covers.sum())
        return tuple(mean.astype(int).tolist())


def _color_of_kind(kind: int) -> tuple[int, ...]:
    color = pygame.Color(0)
    color.hsva = (kind * GOLDEN_ANGLE % 360, 75, 85, 100)
    return color.r, color.g, color.b


class BatchView:
    """Draws a batch of worlds on a surface; only cells that changed since the last call are drawn.

    Args:
        sheet: sprites of the scenario.
        theme: colours.

    Attributes:
        min_cell: smallest side of a cell in pixels, even if not all worlds fit.
        layout: sizes of the last picture.
    """

    def __init__(self, sheet: SpriteSheet, theme: Theme) -> None:
        self._sheet, self._theme = sheet, theme
        self.min_cell = MIN_CELL
        self._surface = pygame.Surface((1, 1), 0, 32)
        self._table = TileTable(sheet, MIN_CELL, theme)
        self._first = 0
        self._drawn: NDArray[np.uint32] | None = None
        self._rect = Rect(0, 0, 0, 0)
        self._number = 0
        self.layout = BatchLayout(MIN_CELL, 1, 1, 1, 1)

    def draw(
        self, surface: pygame.Surface, rect: Rect, codes: NDArray[np.uint32], first: int = 0
    ) -> None:
        """Draw worlds into `rect` of the surface. `codes` packs type, state, colour and agent of
        every cell into a uint32; `first` is the index of the first world shown.

        Args:
            surface: surface to draw on.
            rect: rectangle to fill.
            codes: (N, H, W) uint32 cell codes.
            first: number of the first world to show, which is the first of its row.
        """
        height, width = codes.shape[1:]
        layout = lay_out_batch(rect.size, len(codes), (height, width), self.min_cell)
        if (layout, first, rect.size) != (self.layout, self._first, self._rect.size):
            self._drawn = None
        self._rect, self._number = rect.copy(), len(codes)
        if self._drawn is None:
            self._table = TileTable(self._sheet, layout.cell, self._theme)
            self.layout, self._first = layout, first
            size = layout.columns * layout.wide, layout.rows * layout.tall
            self._surface = pygame.Surface(size, 0, 32)
            self._surface.fill(self._theme.background)
        shown = codes[first : first + layout.columns * layout.rows]
        if self._drawn is None or self._drawn.shape != shown.shape:
            world, y, x = (axis.ravel() for axis in np.indices(shown.shape))
        else:
            world, y, x = np.nonzero(shown != self._drawn)
        row, column = np.divmod(world, layout.columns)
        pixels = pygame.surfarray.pixels2d(self._surface).T
        down, right = pixels.strides
        cell, tall, wide = layout.cell, layout.tall, layout.wide
        strides = (tall * down, wide * right, cell * down, cell * right, down, right)
        sides = layout.rows, layout.columns, height, width, cell, cell
        cells = np.lib.stride_tricks.as_strided(pixels, sides, strides)
        cells[row, column, y, x] = self._table[shown[world, y, x]]
        del cells, pixels  # these views lock the surface
        self._drawn = shown
        surface.blit(self._surface, self._origin, (0, 0, *rect.size))

    @property
    def _origin(self) -> tuple[int, int]:
        used = self._surface.get_rect()
        x, y = (max(0, room - size) // 2 for room, size in zip(self._rect.size, used.size))
        return self._rect.x + x, self._rect.y + y

    def world_rect(self, world: int) -> Rect:
        """Return the rectangle on the surface in which the world with index `world` is drawn."""
        row, column = divmod(world - self._first, self.layout.columns)
        (x, y), wide, tall = self._origin, self.layout.wide, self.layout.tall
        return Rect(x + column * wide, y + row * tall, wide, tall)

    def world_at(self, position: tuple[int, int]) -> int | None:
        """Return the index of the world that is drawn at `position`, x and y in pixels; None if
        there is none."""
        x, y = (a - b for a, b in zip(position, self._origin))
        column, row = x // self.layout.wide, y // self.layout.tall
        if x < 0 or y < 0 or column >= self.layout.columns or row >= self.layout.rows:
            return None
        world = self._first + row * self.layout.columns + column
        return world if world < self._number else None
