"""Pixels of grids, put together from cached tiles; only cells that changed are drawn."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame

# ---- mosaic --------------------------------------------------------------------------------------

CellCodes = NDArray[np.uint32] | NDArray[np.uint64]
"""(H, W) look of cells: from the lowest byte type, state, colour and 1 if lit; on uint64 also type,
state and colour of the ground object, 0 for none."""

LOOK_MASK = 0xFFFFFF
"""Bits of a code for type, state and colour."""

CellPixels = NDArray[np.uint8] | NDArray[np.uint32]
"""(H * cell, W * cell, 3) uint8 red, green, blue; or (H * cell, W * cell) uint32 of a surface."""

NOT_DRAWN = 0xFFFFFFFF
PIXELS_AT_ONCE = 1 << 22  # pixels: tiles are copied in portions of about this size


def encode_looks(
    grid: NDArray[np.uint8],
    lit: NDArray[np.bool_] | None = None,
    beneath: NDArray[np.uint8] | None = None,
) -> CellCodes:
    """Return an (H, W) array with one code for the look of each cell, from `grid`, its type, state
    and colour, from `lit`, whether it is in sight, and from `beneath`, its ground.

    Args:
        grid: (H, W, 3) uint8 type, state and colour.
        lit: (H, W) True where a cell is in sight; everywhere if None.
        beneath: (H, W, 3) uint8 ground objects; None without a ground layer.
    """
    parts = np.zeros((*grid.shape[:2], 4 if beneath is None else 8), np.uint8)
    parts[..., :3] = grid
    parts[..., 3] = 1 if lit is None else lit
    if beneath is not None:
        covered = (beneath[..., 0] > FLOOR) & (beneath != grid).any(-1)
        parts[..., 4:7] = np.where(covered[..., None], beneath, 0)
    cell_codes: CellCodes = parts.view(f"<u{parts.shape[-1]}")[..., 0]
    return cell_codes


class TileCache:
    """Cache of the pixels of tiles by code, for one cell size.

    Args:
        sheet: sprites.
        cell: side of a cell in pixels.
        rgb: True for (cell, cell, 3) uint8 tiles; False for (cell, cell) uint32 tiles of surfaces.
    """

    def __init__(self, sheet: SpriteSheet, cell: int, rgb: bool = False) -> None:
        self.cell = cell
        self._sheet, self._rgb = sheet, rgb
        self._places: dict[int, int] = {}
        self._pictures: list[CellPixels] = []
        self._stack: CellPixels = np.empty(0, np.uint8)

    def __getitem__(self, codes: CellCodes) -> CellPixels:
        """Return the pictures of the cells with these codes, as an array of n pictures; pictures of
        new codes are drawn first."""
        places, codes_list = self._places, codes.tolist()
        new_codes = sorted(set(codes_list).difference(places))
        for code in new_codes:
            places[code] = len(places)
            self._pictures.append(self._draw_tile(code))
        if new_codes:
            self._stack = cast(CellPixels, np.stack(self._pictures))
        pixels: CellPixels = self._stack[[places[code] for code in codes_list]]
        return pixels

    def _draw_tile(self, code: int) -> CellPixels:
        """Return the picture of a cell with this code."""
        kind, state, color, lit, *ground_look, _ = code.to_bytes(8, "little")
        ground, ground_state, ground_color = ground_look
        sprite_name = self._sheet.sprite_name
        below = (sprite_name(ground, ground_state), ground_color) if ground else ()
        tile = self._sheet.tile(sprite_name(kind, state), color, self.cell, bool(lit), below)
        copy_pixels = pygame.surfarray.array3d if self._rgb else pygame.surfarray.array2d
        return np.ascontiguousarray(copy_pixels(tile).swapaxes(0, 1))


class TileCanvas:
    """Draws a grid into pixels, only the cells whose code changed since the last update.

    Args:
        tiles: tiles to draw with.
        shape: height and width in cells.
    """

    def __init__(self, tiles: TileCache, shape: tuple[int, int]) -> None:
        self.tiles = tiles
        self.shown: CellCodes = np.full(shape, NOT_DRAWN, np.uint32)

    def update(self, pixels: CellPixels, codes: CellCodes) -> None:
        """Draw into `pixels` those cells whose code in `codes` differs from the last call.

        Args:
            pixels: pixels to write, the same at every call, see `CellPixels`.
            codes: (H, W) codes to show.
        """
        ys, xs = np.nonzero(codes != self.shown)
        cell, (height, width) = self.tiles.cell, codes.shape
        cells = pixels.reshape(height, cell, width, cell, *pixels.shape[2:]).swapaxes(1, 2)
        portion = max(1, PIXELS_AT_ONCE // cell**2)
        for start in range(0, len(ys), portion):
            part = ys[start : start + portion], xs[start : start + portion]
            cells[part] = self.tiles[codes[part]]
        self.shown = codes

    def scroll(self, down: int, right: int) -> None:
        """Note that the pixels were moved by `down` and `right` cells; cells that came into sight
        count as not drawn."""
        height, width = self.shown.shape
        shown = np.full_like(self.shown, NOT_DRAWN)
        if abs(down) < height and abs(right) < width:
            kept = self.shown[max(0, -down) : height - down, max(0, -right) : width - right]
            y, x = max(0, down), max(0, right)
            shown[y : y + kept.shape[0], x : x + kept.shape[1]] = kept
        self.shown = shown

    def invalidate(self, y: int, x: int, around: int = 0) -> None:
        """Count the cells up to `around` cells away from row `y`, column `x` as not drawn, after
        something else was drawn over them."""
        self.shown = self.shown.copy()
        top, left = max(0, y - around), max(0, x - around)
        self.shown[top : max(0, y + around + 1), left : max(0, x + around + 1)] = NOT_DRAWN


# ---- cell pictures -------------------------------------------------------------------------------


def render_cells(
    scenario: Scenario, looks: NDArray[np.uint8], side: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return pictures of cells with the given `looks` (type, state, colour) and the sprites of
    `scenario`, `side` pixels wide: without and with an agent, and half as wide without.

    Args:
        scenario: scenario with the sprites.
        looks: (n, 3) uint8 type, state and colour.
        side: side of a cell in pixels.

    Returns:
        (2 n, side, side, 3) uint8 pictures, first without an agent, then with an agent that faces
        up; and (n, side // 2, side // 2, 3) uint8 pictures without an agent.
    """
    sheet = SpriteSheet(sprite_folders(scenario), types=scenario.types)
    shown = encode_looks(looks[None])[0]
    without_agent, small = (TileCache(sheet, size, rgb=True)[shown] for size in (side, side // 2))
    with_agent = without_agent.copy()
    column = pygame.image.frombuffer(with_agent.data, (side, side * len(with_agent)), "RGB")
    for k in range(len(with_agent)):
        column.blit(sheet.get("agent", 0, side), (0, k * side))
    return np.concatenate([without_agent, with_agent]).astype(np.uint8), small.astype(np.uint8)
