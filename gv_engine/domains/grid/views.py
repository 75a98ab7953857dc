"""Rendering of frames to RGB arrays without a window. Only changed cells are redrawn."""

import numpy as np
from numpy.typing import NDArray

from gv_engine.domains.grid.board import MIN_AGENT_SIZE
from gv_engine.rules.frame import Frame
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.ui.colors import DARK
from gv_engine.ui.drawing.recording import DrawFrame
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.ui.drawing.tile_canvas import TileCache, TileCanvas, encode_looks


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
        """Return the picture of a frame as a (height, width, 3) RGB array.

        Returns:
            (H * cell, W * cell, 3) uint8 new array; with both views as high as the higher one, and
            half a cell wider than both together.
        """
        if self._view == "explored":
            frame = frame.limit_to_explored()
        parts = []
        if self._view != "observation":
            parts.append((encode_looks(frame.grid, frame.seen, frame.beneath), frame.agent))
        if self._view in ("both", "observation"):
            shown = encode_looks(frame.observation, None, frame.visible_ground)
            parts.append((shown, (*frame.observer, 0)))
        shapes = [shown.shape for shown, _ in parts]
        if shapes != self._shapes:
            self._allocate(shapes)
        cell, left = self._cell, 0
        for mosaic, (shown, agent) in zip(self._mosaics, parts, strict=True):
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
                mosaic.invalidate(y, x, around=-(-over // cell))
            left += width * cell + cell // 2
        return self._picture.copy()

    def _allocate(self, shapes: list[tuple[int, int]]) -> None:
        """Allocate the image for grids of these (height, width) shapes in cells, side by side."""
        self._shapes = shapes
        self._mosaics = [TileCanvas(self._tiles, shape) for shape in shapes]
        cell = self._cell
        width = sum(shape[1] * cell for shape in shapes) + cell // 2 * (len(shapes) - 1)
        height = max(shape[0] * cell for shape in shapes)
        self._picture = np.empty((height, width, 3), np.uint8)
        self._picture[:] = pygame.Color(DARK.background)[:3]
        # the surface make_renderer on the memory of the array
        self._surface = pygame.image.frombuffer(self._picture.data, (width, height), "RGB")


def make_renderer(scenario: Scenario, view: str, cell: int) -> DrawFrame:
    """Return a function that draws frames of a scenario as RGB arrays. `view` names what is shown,
    `cell` is the side of a cell in pixels."""
    sheet = SpriteSheet(sprite_folders(scenario), types=scenario.types)
    return GridRenderer(sheet, view, cell).draw
