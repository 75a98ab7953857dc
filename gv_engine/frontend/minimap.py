"""The minimap: the whole grid in a corner of what the camera shows, and which part that is."""

import numpy as np
from numpy.typing import NDArray

from gv_engine.frontend.mosaic import Mosaic, SpriteNames, Tiles, codes
from gv_engine.frontend.sprites import SpriteSheet, pygame
from gv_engine.frontend.theme import Theme

SHARE = 3  # it takes this part of the shorter side of the view
LEAST = 48  # pixels: a smaller one shows nothing


class Minimap:
    """Draws the whole of a grid small.

    Args:
        sheet: the sprites.
        names: which of them shows a type in a state.
        theme: for its frame.
    """

    def __init__(self, sheet: SpriteSheet, names: SpriteNames, theme: Theme) -> None:
        self._sheet, self._names, self._theme = sheet, names, theme
        self._ground = pygame.Surface((0, 0))
        self._mosaic = Mosaic(Tiles(sheet, names, 1), (0, 0))

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        grid: NDArray[np.uint8],
        lit: NDArray[np.bool_] | None,
        agent: tuple[float, float],
        shown: tuple[float, float, float, float],
        avoid: pygame.Rect,
    ) -> None:
        """Draw it into the corner at the right above, or at the left if the agent is there.

        Args:
            surface: to draw on.
            rect: the view.
            grid: (H, W, 3).
            lit: (H, W), as for boards.
            agent: its y, x.
            shown: top, left, height and width of what the view shows, in cells.
            avoid: where the agent is on the surface.
        """
        height, width, _ = grid.shape
        room = min(rect.size) // SHARE
        if room < LEAST:
            return
        cell = max(1, room // max(height, width))
        if self._mosaic.tiles.cell != cell or self._mosaic.shown.shape != (height, width):
            self._mosaic = Mosaic(Tiles(self._sheet, self._names, cell), (height, width))
            self._ground = pygame.Surface((width * cell, height * cell), 0, 32)
        self._mosaic.update(pygame.surfarray.pixels2d(self._ground).T, codes(grid, lit))
        picture, scale = self._ground, float(cell)
        if max(picture.get_size()) > room:  # more cells than pixels
            scale = room / max(height, width)
            size = max(1, round(width * scale)), max(1, round(height * scale))
            picture = pygame.transform.smoothscale(picture, size)
        frame = pygame.Rect(0, 0, picture.get_width() + 4, picture.get_height() + 4)
        frame.topright = rect.right - 4, rect.y + 4
        if frame.colliderect(avoid.inflate(avoid.w * 4, avoid.h * 4)):
            frame.topleft = rect.x + 4, rect.y + 4
        surface.fill(self._theme.on_select, frame)
        surface.fill(self._theme.select, frame.inflate(-2, -2))
        inner = frame.inflate(-4, -4)
        surface.blit(picture, inner)
        top, left, tall, wide = (round(part * scale) for part in shown)
        part = pygame.Rect(inner.x + left, inner.y + top, wide, tall).clip(inner)
        pygame.draw.rect(surface, self._theme.on_select, part.inflate(2, 2).clip(inner), 1)
        pygame.draw.rect(surface, self._theme.select, part, 1)
        dot = pygame.Rect(0, 0, 5, 5)
        dot.center = (
            inner.x + int((agent[1] + 0.5) * scale),
            inner.y + int((agent[0] + 0.5) * scale),
        )
        surface.fill(self._theme.select, dot.inflate(2, 2).clip(inner))
        surface.fill(self._theme.accent, dot.clip(inner))
