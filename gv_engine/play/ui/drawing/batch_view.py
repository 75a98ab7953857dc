"""View of a batch of worlds: a tile for each cell, all copied into one surface at once.

>>> lay_out_batch((1200, 700), 1024, (9, 9))
BatchLayout(cell=3, columns=42, rows=25, pitch_y=28, pitch_x=28)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN
from components.objects import WALL
from gv_engine.play.session.batch_viewer import OUTSIDE_CODE
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import SMALL, CellCodes, Rect, SpriteSheet, pygame
from gv_engine.play.ui.drawing.tiles import TileCache

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
        pitch_y, pitch_x: pixels from one world to the next, down and across.
    """

    cell: int
    columns: int
    rows: int
    pitch_y: int
    pitch_x: int


def lay_out_batch(
    size: tuple[int, int], count: int, shape: tuple[int, ...], min_cell: int = MIN_CELL
) -> BatchLayout:
    """Return a layout for `count` worlds of this shape, (height, width), in an area of `size`,
    (width, height) pixels. Cells are as large as possible, but at least `min_cell` pixels, even if
    not all worlds fit.

    Args:
        size: width and height in pixels.
        count: number of worlds.
        shape: height and width of a world in cells.
        min_cell: smallest side of a cell, in pixels.
    """
    for cell in range(MAX_CELL, min_cell - 1, -1):
        gap = max(WORLD_GAP, cell * max(shape) // 32)
        pitch_y, pitch_x = shape[0] * cell + gap, shape[1] * cell + gap
        columns, rows = max(1, (size[0] + gap) // pitch_x), max(1, (size[1] + gap) // pitch_y)
        if columns * rows >= count or cell == min_cell:
            break
    return BatchLayout(cell, columns, rows, pitch_y, pitch_x)


class WorldTiles(TileCache):
    """Cache of tile pixels by the cell's packed appearance (type, state, colour and agent), see
    `gv_engine.play.session.batch_viewer.APPEARANCE_BITS`.

    Args:
        sheet: sprites of the scenario.
        cell: side of a cell in pixels.
        theme: its background colour fills cells outside of a world.
    """

    def __init__(self, sheet: SpriteSheet, cell: int, theme: Theme) -> None:
        super().__init__(sheet, cell)
        self._theme = theme

    def _draw_tile(self, code: int) -> pygame.Surface:
        """Return the picture of a cell. The integer `code` holds object type, state, colour and
        agent in one byte each."""
        sheet, cell = self._sheet, self.cell
        tile = pygame.Surface((cell, cell), 0, 32)
        type_index, state, color, agent, *_, joins = code.to_bytes(8, "little")
        name = "" if code == OUTSIDE_CODE else sheet.sprite_name(type_index, state)
        if not name:
            tile.fill(self._theme.background)
        elif cell < FLAT_BELOW:
            mean = (
                self._find_mean_color("agent", 0) if agent else self._find_mean_color(name, color)
            )
            is_gray = max(mean) - min(mean) < MIN_SATURATION
            if is_gray and type_index not in (HIDDEN, FLOOR, WALL):
                mean = _choose_color(type_index)
            tile.fill(mean)
        else:
            tile.blit(sheet.tile(name, color, cell, joins=joins), (0, 0))
            if agent:
                tile.blit(sheet.get("agent", 0, cell, agent - 1), (0, 0))
        return tile

    def _find_mean_color(self, name: str, color: int) -> tuple[int, ...]:
        """Return the mean (red, green, blue) of a sprite in the palette colour with index `color`.
        Opaque and colourful pixels weigh more, so that different objects get different colours."""
        drawing = self._sheet.get(name, color, SMALL)
        pixels = pygame.surfarray.array3d(drawing).astype(float)
        saturation = pixels.max(2) - pixels.min(2)
        weights = (pygame.surfarray.array_alpha(drawing) * (1 + saturation))[..., None]
        mean = (pixels * weights).sum((0, 1)) / max(1.0, weights.sum())
        return tuple(mean.astype(int).tolist())


def _choose_color(type_index: int) -> tuple[int, ...]:
    color = pygame.Color(0)
    color.hsva = (type_index * GOLDEN_ANGLE % 360, 75, 85, 100)
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
        self._tiles = WorldTiles(sheet, MIN_CELL, theme)
        self._first = 0
        self._drawn: CellCodes | None = None  # codes of the cells on `_surface`
        self._rect = Rect(0, 0, 0, 0)
        self._num_worlds = 0
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
        self._rect, self._num_worlds = rect.copy(), len(codes)
        if self._drawn is None:
            self._tiles = WorldTiles(self._sheet, layout.cell, self._theme)
            self.layout, self._first = layout, first
            size = layout.columns * layout.pitch_x, layout.rows * layout.pitch_y
            self._surface = pygame.Surface(size, 0, 32)
            self._surface.fill(self._theme.background)
        codes = codes[first : first + layout.columns * layout.rows]
        self._update_cells(self._sheet.add_joins(codes) if layout.cell >= SMALL else codes)
        surface.blit(self._surface, self._origin, (0, 0, *rect.size))

    def _update_cells(self, codes: CellCodes) -> None:
        """Redraw those cells of the visible worlds whose code has changed since the last call.
        `codes` is (n, H, W)."""
        if self._drawn is None or self._drawn.shape != codes.shape:
            world, y, x = (axis.ravel() for axis in np.indices(codes.shape))
        else:
            world, y, x = np.nonzero(codes != self._drawn)
        layout, (_, height, width) = self.layout, codes.shape
        row, column = np.divmod(world, layout.columns)
        # view of the pixels with the axes row, column, y, x and those of a cell
        pixels = pygame.surfarray.pixels2d(self._surface).T
        down, right = pixels.strides
        shape = (layout.rows, layout.columns, height, width, layout.cell, layout.cell)
        strides = (
            *(layout.pitch_y * down, layout.pitch_x * right),
            *(layout.cell * down, layout.cell * right, down, right),
        )
        cells = np.lib.stride_tricks.as_strided(pixels, shape, strides)
        cells[row, column, y, x] = self._tiles[codes[world, y, x]]
        del cells, pixels  # these views lock the surface
        self._drawn = codes

    @property
    def _origin(self) -> tuple[int, int]:
        """Position of the first visible world in pixels. The worlds are centred if there is
        room."""
        width, height = self._surface.get_size()
        x_margin = max(0, self._rect.w - width) // 2
        y_margin = max(0, self._rect.h - height) // 2
        return self._rect.x + x_margin, self._rect.y + y_margin

    def world_rect(self, world: int) -> Rect:
        """Return the rectangle on the surface in which the world with index `world` is drawn."""
        row, column = divmod(world - self._first, self.layout.columns)
        (x, y), pitch_x, pitch_y = self._origin, self.layout.pitch_x, self.layout.pitch_y
        return Rect(x + column * pitch_x, y + row * pitch_y, pitch_x, pitch_y)

    def world_at(self, position: tuple[int, int]) -> int | None:
        """Return the index of the world that is drawn at `position`, x and y in pixels; None if
        there is none."""
        layout, (left, top) = self.layout, self._origin
        column, row = (position[0] - left) // layout.pitch_x, (position[1] - top) // layout.pitch_y
        if not (0 <= column < layout.columns and 0 <= row < layout.rows):
            return None
        world = self._first + row * layout.columns + column
        return world if world < self._num_worlds else None
