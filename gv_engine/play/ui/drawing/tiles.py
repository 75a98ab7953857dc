"""Grids drawn from cached pictures of cells (tiles)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.play.session import sprite_paths
from gv_engine.play.ui.drawing.sprites import (
    ANGLES,
    CellCodes,
    LowerSprite,
    Rect,
    SpriteSheet,
    draw_text_line,
    pygame,
)
from gv_engine.rules.frame import COVERED, find_stack
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.scenario import Scenario

LOOK_MASK = 0xFFFFFF  # bits of a code for type, state and colour

# (H * cell, W * cell, 3) uint8 red, green, blue; or (H * cell, W * cell) uint32 of a surface.
CellPixels = NDArray[np.uint8] | NDArray[np.uint32]

NOT_DRAWN = 0xFFFFFFFF
PIXELS_AT_ONCE = 1 << 22  # pixels: tiles are copied in portions of about this size


def encode_looks(
    grid: NDArray[np.uint8],
    lit: NDArray[np.bool_] | None = None,
    beneath: NDArray[np.uint8] | None = None,
    stacks: NDArray[np.uint16] | None = None,
) -> CellCodes:
    """Return an (H, W) array with one integer per cell that packs all that its picture depends on:
    type, state and colour from `grid`, visibility from `lit`, and the ground from `beneath`.

    Args:
        grid: (H, W, 3) uint8 type, state and colour.
        lit: (H, W) True where a cell is in sight; everywhere if None.
        beneath: (H, W, 3) uint8 ground objects; None without a ground layer.
        stacks: (H, W) numbers of stacks of states, see `gv_engine.rules.frame.number_stacks`.
    """
    has_more = beneath is not None or stacks is not None
    parts = np.zeros((*grid.shape[:2], 8 if has_more else 4), np.uint8)
    parts[..., :3] = grid
    parts[..., 3] = 1 if lit is None else lit
    if beneath is not None:
        covered = (beneath[..., 0] > FLOOR) & (beneath != grid).any(-1)
        parts[..., 4:7] = np.where(covered[..., None], beneath, 0)
    if stacks is not None:  # in place of state and colour of the ground
        is_stack = stacks > 0
        parts[is_stack, 4] = 0
        parts[is_stack, 5:7] = stacks[is_stack, None].astype("<u2").view(np.uint8)
    codes: CellCodes = parts.view(f"<u{parts.shape[-1]}")[..., 0]
    return codes


class TileCache:
    """Cache of the pixels of tiles by appearance, packed into a code as by `encode_looks`, for one
    cell size.

    Args:
        sheet: sprites.
        cell: side of a cell in pixels.
        rgb: True for (cell, cell, 3) uint8 tiles; False for (cell, cell) uint32 tiles of surfaces.
    """

    def __init__(self, sheet: SpriteSheet, cell: int, rgb: bool = False) -> None:
        """Create a cache of pictures of cells that are `cell` pixels wide. The pictures are RGB
        arrays if `rgb`, else uint32 pixels of surfaces."""
        self.cell = cell
        self._sheet, self._is_rgb = sheet, rgb
        self._codes: CellCodes = np.empty(0, np.uint32)  # sorted, in the order of the tiles
        shape, dtype = ((cell, cell, 3), np.uint8) if rgb else ((cell, cell), np.uint32)
        self._tiles: CellPixels = np.empty((0, *shape), dtype)

    def __getitem__(self, codes: CellCodes) -> CellPixels:
        """Return the pictures of the cells with these codes, as an array of n pictures; pictures of
        new codes are drawn first."""
        indices = np.searchsorted(self._codes, codes)
        cached_codes = self._codes.take(indices, mode="clip") if len(self._codes) else ~codes
        is_new = cached_codes != codes
        if is_new.any():
            new_codes = np.unique(codes[is_new])
            all_codes = np.concatenate([self._codes, new_codes])
            all_tiles = [*self._tiles, *(self._copy_tile(int(code)) for code in new_codes)]
            order = all_codes.argsort()
            self._codes = all_codes[order]
            self._tiles = cast(CellPixels, np.stack(all_tiles).astype(self._tiles.dtype)[order])
            indices = np.searchsorted(self._codes, codes)
        pixels: CellPixels = self._tiles[indices]
        return pixels

    def _copy_tile(self, code: int) -> NDArray[Any]:
        copy_pixels = pygame.surfarray.array3d if self._is_rgb else pygame.surfarray.array2d
        return np.ascontiguousarray(copy_pixels(self._draw_tile(code)).swapaxes(0, 1))

    def _draw_tile(self, code: int) -> pygame.Surface:
        """Return the picture of a cell; `code` packs its appearance as `encode_looks` does."""
        type_index, state, color, is_lit, *ground_appearance, joins = code.to_bytes(8, "little")
        ground_type, ground_state, ground_color = ground_appearance
        sheet, lower, states = self._sheet, list[LowerSprite](), list[int]()
        if ground_type:
            lower.append((sheet.sprite_name(ground_type, ground_state), ground_color))
        for entry in () if ground_type else find_stack(ground_state | ground_color << 8):
            if entry & COVERED:
                lower.append((sheet.sprite_name(entry & 255, entry >> 8 & 255), entry >> 16 & 255))
            elif entry not in states:
                states.append(entry)
        names = [sheet.sprite_name(type_index, each) for each in states or [state]]
        name = sprite_paths.STACKED.join(names)
        return sheet.tile(name, color, self.cell, bool(is_lit), lower, joins)


class TileCanvas:
    """Draws a grid into pixels, only the cells whose code changed since the last update.

    Args:
        tiles: tiles to draw with.
        shape: height and width in cells.
    """

    def __init__(self, tiles: TileCache, shape: tuple[int, int]) -> None:
        self.tiles = tiles
        self.shown: CellCodes = np.full(shape, NOT_DRAWN, np.uint64)

    def update(self, pixels: CellPixels, codes: CellCodes) -> None:
        """Draw into `pixels` the cells whose code in `codes` differs from the last call.

        Args:
            pixels: pixels to write, the same at every call, see `CellPixels`.
            codes: (H, W) codes to show.
        """
        rows, columns = np.nonzero(codes != self.shown)
        cell, (height, width) = self.tiles.cell, codes.shape
        cells = pixels.reshape(height, cell, width, cell, *pixels.shape[2:]).swapaxes(1, 2)
        batch_size = max(1, PIXELS_AT_ONCE // cell**2)
        for start in range(0, len(rows), batch_size):
            batch = slice(start, start + batch_size)
            indices = rows[batch], columns[batch]
            cells[indices] = self.tiles[codes[indices]]
        self.shown = codes

    def scroll(self, down: int, right: int) -> None:
        """Record that the pixels were moved by `down` and `right` cells. The next `update` draws
        the cells that came into view."""
        height, width = self.shown.shape
        shown = np.full_like(self.shown, NOT_DRAWN)
        if abs(down) < height and abs(right) < width:
            kept = self.shown[max(0, -down) : height - down, max(0, -right) : width - right]
            y, x = max(0, down), max(0, right)
            shown[y : y + kept.shape[0], x : x + kept.shape[1]] = kept
        self.shown = shown

    def invalidate(self, y: int, x: int, around: int = 0) -> None:
        """Let the next `update` redraw the cells up to `around` cells away from row `y`, column
        `x`, because something else was drawn over them."""
        self.shown = self.shown.copy()
        top, left = max(0, y - around), max(0, x - around)
        self.shown[top : max(0, y + around + 1), left : max(0, x + around + 1)] = NOT_DRAWN


# ---- cell pictures -------------------------------------------------------------------------------


def render_cells(
    scenario: Scenario, appearances: NDArray[np.uint8], side: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return pictures of cells with the given appearances, (n, 3) type, state and colour, in the
    sprites of `scenario`: large ones without and with an agent, `side` pixels wide, and small ones
    without an agent, half as wide.

    Args:
        scenario: scenario with the sprites.
        appearances: (n, 3) uint8 type, state and colour.
        side: side of a cell in pixels.

    Returns:
        (2 n, side, side, 3) uint8 pictures, first without an agent, then with an agent that faces
        up, or (5 n, …) with one in each of the four directions if the view does not turn; and (n,
        side // 2, side // 2, 3) uint8 pictures without an agent.
    """
    sheet = SpriteSheet(sprite_paths.sprite_sources(scenario), types=scenario.types)
    codes = encode_looks(appearances[None])[0]
    without_agent = TileCache(sheet, side, rgb=True)[codes]
    small = TileCache(sheet, side // 2, rgb=True)[codes]
    num_directions = 1 if scenario.area.turns else len(ANGLES)
    pictures = np.concatenate([without_agent] * (1 + num_directions))
    # the same pixels as one surface, a column of all pictures, on which agents are drawn
    column = pygame.image.frombuffer(pictures.data, (side, side * len(pictures)), "RGB")
    for index in range(len(codes), len(pictures)):
        direction = index // len(codes) - 1
        column.blit(sheet.get("agent", 0, side, direction), (0, index * side))
    return pictures.astype(np.uint8), small.astype(np.uint8)


@lru_cache(maxsize=8)
def _get_shared_tiles(types: ObjectTypes, side: int) -> tuple[SpriteSheet, TileCache]:
    sheet = SpriteSheet(types=types)
    return sheet, TileCache(sheet, side, rgb=True)


def render_grid(
    grid: NDArray[np.uint8],
    agent: NDArray[np.int64],
    types: ObjectTypes,
    side: int,
    lines: Sequence[str] = (),
) -> NDArray[np.uint8]:
    """Return the picture of a grid with an agent on it, (H * side, W * side, 3) uint8.

    Args:
        grid: (H, W, 3) uint8 type, state and colour.
        agent: (3,) y, x and orientation.
        types: types that the indices refer to.
        side: side of a cell in pixels.
        lines: text at the top left.
    """
    sheet, tiles = _get_shared_tiles(types, side)
    height, width = grid.shape[:2]
    pixels = np.empty((height * side, width * side, 3), np.uint8)
    TileCanvas(tiles, (height, width)).update(pixels, sheet.add_joins(encode_looks(grid)))
    picture = pygame.image.frombuffer(pixels.data, (width * side, height * side), "RGB")
    y, x, orientation = agent.tolist()
    picture.blit(sheet.agent(0, side, orientation), (x * side, y * side))
    line_height = side * 2 // 5
    shade = pygame.Surface((picture.get_width(), line_height * len(lines)), pygame.SRCALPHA)
    shade.fill((0, 0, 0, 100))
    picture.blit(shade, (0, 0))
    for row, text in enumerate(lines):
        rect = Rect(0, row * line_height, picture.get_width(), line_height)
        draw_text_line(picture, rect, text, line_height, "white")
    return pixels
