"""Pictures of single cells, of which those of what an agent sees are put together."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame

# ---- mosaic --------------------------------------------------------------------------------------

Codes = NDArray[np.uint32] | NDArray[np.uint64]
"""(H, W) what a cell shows: from the lowest byte on type, state, colour, and whether it is lit; and
on uint64 type, state and colour of the ground beneath, 0 for none."""

SHOWN = 0xFFFFFF
"""The bits for type, state and colour."""

CellPixels = NDArray[np.uint8] | NDArray[np.uint32]
"""(H * cell, W * cell, 3) uint8 red, green, blue; or without that axis, the uint32 of a surface."""

NOT_DRAWN = 0xFFFFFFFF
PIXELS_AT_ONCE = 1 << 22  # pixels: tiles are copied in portions of about so many


def codes(
    grid: NDArray[np.uint8],
    lit: NDArray[np.bool_] | None = None,
    beneath: NDArray[np.uint8] | None = None,
) -> Codes:
    """The codes of an (H, W, 3) grid, lit where (H, W) `lit` says so, or everywhere; with what lies
    beneath the things in its cells, (H, W, 3), if there is a ground."""
    parts = np.zeros((*grid.shape[:2], 4 if beneath is None else 8), np.uint8)
    parts[..., :3] = grid
    parts[..., 3] = 1 if lit is None else lit
    if beneath is not None:
        covered = (beneath[..., 0] > FLOOR) & (beneath != grid).any(-1)
        parts[..., 4:7] = np.where(covered[..., None], beneath, 0)
    found: Codes = parts.view(f"<u{parts.shape[-1]}")[..., 0]
    return found


class Tiles:
    """Pictures of cells of one size by code, each made once.

    Args:
        sheet: the sprites.
        cell: pixels of a cell's side.
        rgb: whether they are (cell, cell, 3) uint8; else (cell, cell) uint32 for surfaces.
    """

    def __init__(self, sheet: SpriteSheet, cell: int, rgb: bool = False) -> None:
        self.cell = cell
        self._sheet, self._rgb = sheet, rgb
        self._places: dict[int, int] = {}
        self._pictures: list[CellPixels] = []
        self._stack: CellPixels = np.empty(0, np.uint8)

    def __getitem__(self, codes: Codes) -> CellPixels:
        """(n, cell, cell) or (n, cell, cell, 3) the pictures of (n,) codes."""
        places, wanted = self._places, codes.tolist()
        unknown = sorted(set(wanted).difference(places))
        for code in unknown:
            places[code] = len(places)
            self._pictures.append(self._picture(code))
        if unknown:
            self._stack = cast(CellPixels, np.stack(self._pictures))
        found: CellPixels = self._stack[[places[code] for code in wanted]]
        return found

    def _picture(self, code: int) -> CellPixels:
        kind, state, color, lit, under, its_state, its_color, _ = code.to_bytes(8, "little")
        below = (self._sheet.name(under, its_state), its_color) if under else ()
        tile = self._sheet.tile(self._sheet.name(kind, state), color, self.cell, bool(lit), below)
        take = pygame.surfarray.array3d if self._rgb else pygame.surfarray.array2d
        return np.ascontiguousarray(take(tile).swapaxes(0, 1))


class Mosaic:
    """Remembers what pixels show, and changes those that are to show something else.

    Args:
        tiles: that it is put together from.
        shape: height and width in cells.
    """

    def __init__(self, tiles: Tiles, shape: tuple[int, int]) -> None:
        self.tiles = tiles
        self.shown: Codes = np.full(shape, NOT_DRAWN, np.uint32)

    def update(self, pixels: CellPixels, codes: Codes) -> None:
        """Draw what is not shown yet.

        Args:
            pixels: the same at every call, see `CellPixels`.
            codes: (H, W).
        """
        ys, xs = np.nonzero(codes != self.shown)
        cell, (height, width) = self.tiles.cell, codes.shape
        cells = pixels.reshape(height, cell, width, cell, *pixels.shape[2:]).swapaxes(1, 2)
        portion = max(1, PIXELS_AT_ONCE // cell**2)
        for start in range(0, len(ys), portion):
            part = ys[start : start + portion], xs[start : start + portion]
            cells[part] = self.tiles[codes[part]]
        self.shown = codes

    def moved(self, down: int, right: int) -> None:
        """The pixels were moved by so many cells; what comes in is not drawn yet."""
        height, width = self.shown.shape
        shown = np.full_like(self.shown, NOT_DRAWN)
        if abs(down) < height and abs(right) < width:
            to, source = (
                (
                    slice(max(0, sign * down), height + min(0, sign * down)),
                    slice(max(0, sign * right), width + min(0, sign * right)),
                )
                for sign in (1, -1)
            )
            shown[to] = self.shown[source]
        self.shown = shown

    def forget(self, y: int, x: int, around: int = 0) -> None:
        """A cell and those so near to it were drawn over."""
        self.shown = self.shown.copy()
        top, left = max(0, y - around), max(0, x - around)
        self.shown[top : max(0, y + around + 1), left : max(0, x + around + 1)] = NOT_DRAWN


# ---- cell pictures -------------------------------------------------------------------------------


def cell_pictures(
    scenario: Scenario, looks: NDArray[np.uint8], side: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Pictures of cells that look like this.

    Args:
        scenario: whose drawings they are.
        looks: (n, 3) type, state and colour.
        side: pixels of a cell's side.

    Returns:
        (2 n, side, side, 3) red, green and blue, first the cells, then the same with the agent in
        them, looking up; and the cells again, half as large, (n, side // 2, side // 2, 3).
    """
    sheet = SpriteSheet(sprite_folders(scenario), types=scenario.types)
    shown = codes(looks[None])[0]
    bare, small = (Tiles(sheet, size, rgb=True)[shown] for size in (side, side // 2))
    taken = bare.copy()
    column = pygame.image.frombuffer(taken.data, (side, side * len(taken)), "RGB")
    for k in range(len(taken)):
        column.blit(sheet.get("agent", 0, side), (0, k * side))
    return np.concatenate([bare, taken]).astype(np.uint8), small.astype(np.uint8)
