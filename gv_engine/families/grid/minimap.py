"""The minimap: the whole of a grid, and which part of it the camera shows."""

import numpy as np
from numpy.typing import NDArray

from gv_engine.frontend.controls.theme import Theme
from gv_engine.frontend.drawing.mosaic import Mosaic, Tiles, codes
from gv_engine.frontend.drawing.sprites import SpriteSheet, pygame

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
        self._mosaic = Mosaic(Tiles(sheet, 1), (0, 0))

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
            self._mosaic = Mosaic(Tiles(self._sheet, cell), (height, width))
            self._ground = pygame.Surface((width * cell, height * cell), 0, 32)
        self._mosaic.update(pygame.surfarray.pixels2d(self._ground).T, codes(grid, lit))
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
