"""Pictures of single cells, of which those of what an agent sees are put together."""

import numpy as np
from numpy.typing import NDArray

from gv_engine.frontend.drawing.mosaic import Tiles, codes
from gv_engine.frontend.drawing.sprites import SpriteSheet, pygame
from gv_engine.playing.drawings import sprite_folders
from gv_engine.reading.scenario import Scenario


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
