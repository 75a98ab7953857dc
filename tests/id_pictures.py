"""Pictures of the first level of every MiniGrid id, on one sheet for each family.

    python -m tests.id_pictures [FOLDER]

writes `minigrid-ids.png` and `babyai-ids.png`, by default into docs/images/.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
import pygame

from gv_engine import Scenario
from gv_engine.scenario.library import list_babyai_grids, list_minigrid_grids
from gv_engine.session.session import Session
from gv_engine.ui.colors import LIGHT
from gv_engine.ui.drawing.sprites import LineFont, cached_font
from gv_engine.ui.drawing.stage import make_stage
from tests import ROOT

COLUMNS, SIDE, LINE, GAP = 8, 120, 11, 10


def draw_level(name: str) -> pygame.Surface:
    """The first level of an id with seed 0, as on the cards of the start screen."""
    picture = pygame.Surface((SIDE, SIDE), 0, 32)
    picture.fill(LIGHT.background)
    session = Session(Scenario.load(name), seed=0)
    make_stage(session, LIGHT).draw_thumbnail(picture, picture.get_rect())
    return picture


def draw_sheet(names: Iterable[str]) -> pygame.Surface:
    """A sheet with the picture and the name of each id, without its family."""
    names = [*names]
    rows = -(-len(names) // COLUMNS)
    cell = SIDE + GAP, SIDE + 2 * LINE + GAP
    sheet = pygame.Surface((COLUMNS * cell[0] + GAP, rows * cell[1] + GAP))
    sheet.fill(LIGHT.background)
    font = cached_font(LineFont, LINE)
    for number, name in enumerate(names):
        row, column = divmod(number, COLUMNS)
        left, top = GAP + column * cell[0], GAP + row * cell[1]
        sheet.blit(draw_level(name), (left, top))
        short = name.partition("-")[2]
        halves = [short] if font.size(short)[0] <= SIDE else split(short)
        for line, text in enumerate(halves):
            label = font.render(text, LIGHT.text)
            place = label.get_rect(midtop=(left + SIDE // 2, top + SIDE + 2 + line * LINE))
            sheet.blit(label, place)
    return sheet


def split(name: str) -> list[str]:
    """A name in two lines, parted at the dash nearest to its middle."""
    dashes = [k for k, letter in enumerate(name) if letter == "-"]
    middle = min(dashes, key=lambda k: abs(k - len(name) / 2))
    return [name[: middle + 1], name[middle + 1 :]]


def main(arguments: list[str]) -> None:
    """Write both sheets."""
    folder = Path(arguments[0]) if arguments else ROOT / "docs" / "images"
    pygame.init()
    families = {"minigrid": list_minigrid_grids(), "babyai": list_babyai_grids()}
    for family, names in families.items():
        pygame.image.save(draw_sheet(names), folder / f"{family}-ids.png")


if __name__ == "__main__":
    main(sys.argv[1:])
