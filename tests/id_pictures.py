"""Pictures of the first level of every MiniGrid id and of the gallery, on one sheet for each
family; and of the window, for docs/players.md.

    python -m tests.id_pictures [FOLDER] [NAME …]

writes `minigrid-ids.png`, `babyai-ids.png`, `gallery.png`, `start.png` and `players-….png`, or
those named, by default into docs/images/.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
import pygame
from PIL import Image

from gv_engine import Scenario
from gv_engine.play.session.catalogue import built_in_entries
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import LIGHT
from gv_engine.play.ui.drawing.sprites import LineFont, cached_font
from gv_engine.play.ui.drawing.stage import make_stage
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.plugins.minigrid.ids import list_babyai_grids, list_minigrid_grids
from tests import ROOT
from tests.desk import Desk, playing
from tests.newcomer import Newcomer
from tests.screens import SCENES, Window, draw

COLUMNS, SIDE, LINE, GAP = 8, 120, 11, 10
WINDOW = Window((1000, 640), 1, "dark")
WIDTH = 720  # of pictures of the window
save = pygame.image.save


def draw_level(name: str, side: int = SIDE) -> pygame.Surface:
    """The first level of an id with seed 0, as on the cards of the start screen."""
    picture = pygame.Surface((side, side), 0, 32)
    picture.fill(LIGHT.background)
    session = Session(Scenario.load(name), seed=0)
    make_stage(session, LIGHT).draw_thumbnail(picture, picture.get_rect())
    return picture


def draw_sheet(names: Iterable[str], columns: int = COLUMNS, side: int = SIDE) -> pygame.Surface:
    """A sheet with the picture and the name of each id, without its family."""
    names = [*names]
    rows = -(-len(names) // columns)
    cell = side + GAP, side + 2 * LINE + GAP
    sheet = pygame.Surface((columns * cell[0] + GAP, rows * cell[1] + GAP))
    sheet.fill(LIGHT.background)
    font = cached_font(LineFont, LINE)
    for number, name in enumerate(names):
        row, column = divmod(number, columns)
        left, top = GAP + column * cell[0], GAP + row * cell[1]
        sheet.blit(draw_level(name, side), (left, top))
        short = name.partition("-")[2] if name.endswith("-v0") else name
        halves = [short] if font.size(short)[0] <= side else split(short)
        for line, text in enumerate(halves):
            label = font.render(text, LIGHT.text)
            place = label.get_rect(midtop=(left + side // 2, top + side + 2 + line * LINE))
            sheet.blit(label, place)
    return sheet


def split(name: str) -> list[str]:
    """A name in two lines, parted at the dash nearest to its middle."""
    dashes = [k for k, letter in enumerate(name) if letter == "-"]
    middle = min(dashes, key=lambda k: abs(k - len(name) / 2))
    return [name[: middle + 1], name[middle + 1 :]]


def get_stuck(desk: Desk) -> None:
    """Push the crate of the tutorial before the exit and ask for a hint."""
    screen = playing(desk, "tutorial#4")
    desk.press(*["Right"] * 4, "F4")
    while screen.stage.is_busy:
        time.sleep(0.1)
        desk.draw()


def make_puzzle(desk: Desk) -> None:
    """Make the puzzle of docs/players.md in the editor, and wait until it has been solved."""
    desk.start()
    Newcomer(desk).paint_puzzle()
    while not desk.top(EditScreen).verdict[0].startswith("Can"):
        time.sleep(0.1)
        desk.wait(0.1)


def show_research_view(desk: Desk) -> None:
    """Show what the agent sees, and the reward of each rule, beside key-door."""
    desk.app.settings.research = True
    SCENES["keydoor"](desk)


WINDOW_PICTURES = {
    "start": SCENES["start"],
    "keydoor": show_research_view,
    "players-solved": SCENES["won-puzzle"],
    "players-stuck": get_stuck,
    "players-map": SCENES["pack"],
    "players-editor": make_puzzle,
}


def draw_window(scene: Callable[[Desk], None], file: Path) -> None:
    """Write what a scene shows, smaller and in 200 colours, so that the file is small."""
    picture = draw(scene, WINDOW)
    height = WINDOW.size[1] * WIDTH // WINDOW.size[0]
    smaller = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    few_colours = smaller.quantize(200, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    few_colours.save(file, optimize=True)


def main(arguments: list[str]) -> None:
    """Write all pictures, or those named."""
    folder = Path(arguments[0]) if arguments else ROOT / "docs" / "images"
    gallery = [entry.source for entry in built_in_entries() if entry.group == "Gallery"]
    drawings: dict[str, Callable[[Path], object]] = {
        "minigrid-ids": lambda file: save(draw_sheet(list_minigrid_grids()), file),
        "babyai-ids": lambda file: save(draw_sheet(list_babyai_grids()), file),
        "gallery": lambda file: save(draw_sheet(gallery, 8, 120), file),
        **{name: partial(draw_window, scene) for name, scene in WINDOW_PICTURES.items()},
    }
    pygame.init()
    for name in arguments[1:] or drawings:
        drawings[name](folder / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
