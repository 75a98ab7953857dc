"""`python -m tests.screens FOLDER`: a picture of every screen, in many sizes, to be looked at.

Each scene is drawn in windows from 400 × 300 to 2560 × 1440, with text from 100 % to 400 %, in both
themes: FOLDER/SCENE/WINDOW.png, and all of them on FOLDER/SCENE.png. `--against OTHER` says which
pictures are not those of another folder, made before a change, and lays such pairs side by side.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image, ImageChops, ImageDraw

from gv_engine.play.session.autoplay import Opponent, make_autoplayer
from gv_engine.play.session.catalogue import Entry, load_playable
from gv_engine.play.session.session import Session
from gv_engine.play.ui.autosave import autosave_folder
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.screens.packs import make_card
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.window.app import App
from tests.desk import Desk, home, playing, watching


class Window(NamedTuple):
    """How a scene is looked at."""

    size: tuple[int, int]
    scale: float
    theme: str

    @property
    def title(self) -> str:
        return f"{self.size[0]}x{self.size[1]}-{self.scale:.0%}-{self.theme}".replace("%", "")


WINDOWS = (
    Window((400, 300), 1, "dark"),
    Window((400, 300), 2, "light"),
    Window((640, 400), 1, "dark"),
    Window((1280, 800), 1, "dark"),
    Window((1280, 800), 2, "light"),
    Window((1280, 800), 4, "dark"),
    Window((2560, 1440), 1, "light"),
    Window((2560, 1440), 2, "dark"),
    Window((2560, 1440), 4, "light"),
    Window((640, 900), 1, "light"),
)

_LONG = "A level with a name that is longer than anybody would ever want to read on a card"
_JAPANESE = "鍵と扉の部屋: 鍵を見つけて、扉を開けて、出口まで歩こう"
_OF_ONES_OWN = """\
name: "{name}"
description: "{name}. {name}."
state_space: {{objects: [Wall, Floor, Exit], colors: [NONE]}}
action_space: [MOVE_FORWARD, TURN_LEFT, TURN_RIGHT]
observation_space: {{objects: [Wall, Floor, Exit], colors: [NONE]}}
reset_function: {{name: empty, shape: {shape}}}
transition_functions: [{{name: move_agent}}, {{name: turn_agent}}]
reward_functions: [{{name: reach_exit, reward_on: 1.0, reward_off: 0.0}}]
observation_function: {{name: partially_occluded, area: [[-6, 0], [-3, 3]]}}
terminating_function: {{name: reach_exit}}
"""


def _own(desk: Desk, name: str, shape: str = "[6, 6]") -> None:
    file = Path("own.yaml")
    file.write_text(_OF_ONES_OWN.format(name=name, shape=shape), "utf-8")
    playing(desk, str(file))


def _start(desk: Desk, *typed: str) -> None:
    desk.start()
    for text in typed:
        desk.type(text)
    desk.settle()


def _pack(desk: Desk, name: str = "tutorial", solved: int = 0) -> None:
    """Some levels are solved, the last one of them in too many steps."""
    for level in Entry(name, "").levels[:solved]:
        game = Session(load_playable(level.source), 0)
        desk.app.progress.add_solution(game, 30 if level.source == f"{name}#{solved}" else 1)
    _start(desk)
    make_card(Entry(name, "")).open(desk.app)
    desk.look()
    desk.settle()


def _category(desk: Desk) -> None:
    desk.start().choose_category("Not solved")
    desk.look()
    desk.settle()


def _captioned(desk: Desk) -> None:
    desk.app.settings.captions = True
    _played(desk, "tutorial#3", "Right", "Down", "Down")


def _going_on(desk: Desk) -> None:
    playing(desk, "tutorial#2")
    desk.press("Left", "Right")
    desk.back_to_start()
    desk.look()
    desk.settle()


def _pack_end(desk: Desk) -> None:
    _pack(desk, "tutorial", 6)
    desk.app.play("tutorial#6")
    desk.app.end_pack("tutorial#6")


def _played(desk: Desk, name: str, *keys: str) -> None:
    playing(desk, name)
    desk.press(*keys)


def _acting(desk: Desk) -> None:
    desk.start()
    game = Session(load_playable("keydoor-9x9"), 3)
    desk.app.watch_agent(game, make_autoplayer(game, "solver"))
    desk.look()
    while game.position < 4:  # it thinks in a thread of its own
        time.sleep(0.01)
        desk.wait(1.0)


def _valued(desk: Desk) -> None:
    desk.start()
    game = Session(load_playable("keydoor-9x9"), 3)
    desk.app.watch_agent(game, make_autoplayer(game, "valid"))
    desk.press("F8", "V")
    for _ in range(100):
        desk.wait(0.02)


def _picked(desk: Desk) -> None:
    _edited(desk, "F4")
    desk.choose("observation function")
    desk.choose("area")


def _won(desk: Desk) -> None:
    playing(desk, seed=3)
    desk.press("Right", "Down", "Right", "Down")


def _lost(desk: Desk) -> None:
    """A puzzle is lost: the agent walks into lava."""
    levels = "[{title: Hot, map: '>LE', par: 9}, {title: Cold, map: '>E', par: 1}]"
    text = f"extends: lava\nreset_function: null\nlevels: {levels}\n"
    Path("trap.yaml").write_text(text + "legend: {L: {ground: Lava}}\n", "utf-8")
    playing(desk, "trap.yaml#1")
    desk.press("Right")


def _unsaved(desk: Desk) -> None:
    """A window was killed, and the next one asks."""
    for number, level in enumerate(("keydoor-9x9", "empty-4x4")):
        game = Session(load_playable(level), 3)
        game.step("TURN_LEFT")
        file = autosave_folder() / "killed" / f"{number}.gvreplay"
        file.parent.mkdir(parents=True, exist_ok=True)
        game.replay().save(file)
        os.utime(file, (0, 1.5e9 + number))
    desk.start()
    desk.app.offer_autosaves()


def _replay(desk: Desk, *keys: str) -> None:
    watching(desk, "TURN_LEFT", "MOVE_FORWARD", "TURN_RIGHT")
    desk.press("Right", *keys)


def _race(desk: Desk) -> None:
    desk.start()
    desk.app.start_race(Opponent.load("valid", Session(load_playable("keydoor-9x9"), 3)))
    desk.look()
    desk.press("Left", "Up")
    desk.wait(1.0)


def _broken(desk: Desk) -> None:
    Path("broken.yaml").write_text("name: broken\ntransition_functions: [{name: move_agnt}]\n")
    _start(desk, "broken")


def _objects(desk: Desk) -> None:
    """Show what a level of the gallery has to add."""
    _edited(desk, "O")
    desk.type("levers", "Return")


def _edited(desk: Desk, *keys: str) -> None:
    desk.start()
    desk.app.edit_new_level("keydoor")
    desk.look()
    desk.press(*keys)


def _changed(desk: Desk, *keys: str) -> None:
    """Save a file while its level is played: from the second step on it is another game."""
    _own(desk, "changed")
    desk.press("Left", "Up", "Up", "Right", "Up")
    file = Path("own.yaml")
    rules = "[{name: move_agent}, {name: turn_agent}]"
    file.write_text(file.read_text("utf-8").replace(rules, "[{name: turn_agent}]"), "utf-8")
    desk.notice()
    desk.press("Ctrl+Home", *keys)


def _steered(desk: Desk, *keys: str) -> None:
    """Keys go where they point."""
    desk.app.settings.arrow_keys = "point"
    _played(desk, "puzzles-easy#1", "Up", "Down", "Right", *keys)


SCENES: dict[str, Callable[[Desk], None]] = {
    "start": _start,
    "search": lambda desk: _start(desk, "key"),
    "nothing-found": lambda desk: _start(desk, "qqqq"),
    "category": _category,
    "going-on": _going_on,
    "pack": lambda desk: _pack(desk, "puzzles-easy", 4),
    "pack-end": _pack_end,
    "unsaved": _unsaved,
    "tutorial": lambda desk: _played(desk, "tutorial#4", "Up"),
    "fog": lambda desk: _played(desk, "tutorial#6", "Up", "Right"),
    "keydoor": lambda desk: _played(desk, "keydoor-9x9", "Up", "Left"),
    "memory": lambda desk: _played(desk, "memory-9x9"),
    "tiny": lambda desk: _own(desk, "tiny", "[4, 4]"),
    "huge": lambda desk: _own(desk, "huge", "[70, 90]"),
    "long-name": lambda desk: _own(desk, _LONG),
    "japanese": lambda desk: _own(desk, _JAPANESE),
    "mission": lambda desk: _played(desk, "fetch", "Up"),
    "together": lambda desk: _played(desk, "hold-plates"),
    "won": _won,
    "captions": _captioned,
    "won-puzzle": lambda desk: _played(desk, "tutorial#1", *["Right"] * 4),
    "lost-puzzle": _lost,
    "algebra": lambda desk: _played(desk, "mathy-poly-simplify-normal", "Down"),
    "algebra-inspector": lambda desk: _played(desk, "mathy-poly-simplify-normal", "I"),
    "pause": lambda desk: _played(desk, "keydoor-9x9", "Escape"),
    "pause-list": lambda desk: _played(desk, "keydoor-9x9", "Escape", *["Down"] * 4, "Return"),
    "help": lambda desk: _played(desk, "keydoor-9x9", "H"),
    "settings": lambda desk: _played(desk, "keydoor-9x9", "F2"),
    "keys": lambda desk: _played(desk, "keydoor-9x9", "F2", *["Up"] * 7, "Return"),
    "rules": lambda desk: _played(desk, "keydoor-9x9", "F3"),
    "seed": lambda desk: _played(desk, "keydoor-9x9", "G"),
    "race-menu": lambda desk: _played(desk, "keydoor-9x9", "F7"),
    "inspector": lambda desk: _played(desk, "keydoor-9x9", "I"),
    "inspector-agent": lambda desk: _played(desk, "keydoor-9x9", "I", "Tab"),
    "inspector-observation": lambda desk: _played(desk, "keydoor-9x9", "I", "Tab", "Tab"),
    "inspector-actions": lambda desk: _played(desk, "keydoor-9x9", "I", "Shift+Tab"),
    "acting": _acting,
    "values": _valued,
    "replay": _replay,
    "steered": _steered,
    "steered-help": lambda desk: _steered(desk, "H"),
    "changed": _changed,
    "before": lambda desk: _changed(desk, "Ctrl+B"),
    "replay-menu": lambda desk: _replay(desk, "F10"),
    "export": lambda desk: _replay(desk, "E"),
    "race": _race,
    "broken": _broken,
    "editor": lambda desk: _edited(desk, "Down", "Down", "Space"),
    "editor-fault": lambda desk: _edited(desk, "Down", "Right", "Delete"),
    "editor-level": lambda desk: _edited(desk, "F4"),
    "editor-pick": _picked,
    "editor-list": lambda desk: _edited(desk, "F4", *["Down"] * 9, "Return"),
    "editor-text": lambda desk: _edited(desk, "F4", "Down", "Return", "End", "Ctrl+Shift+Left"),
    "editor-pack": lambda desk: _edited(desk, "F6", "Return", "A", "A"),
    "editor-add": lambda desk: _edited(desk, "O"),
    "editor-objects": _objects,
    "editor-rules": lambda desk: _edited(desk, "F3", "Down"),
}
"""What leads to each, from the door."""


def draw(scene: Callable[[Desk], None], window: Window) -> Image.Image:
    """What a scene shows in a window, in a home of its own."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        home(Path(folder), patch)
        patch.chdir(folder)
        settings = Settings(animation=False, scale=window.scale, theme=window.theme)
        desk = Desk(window.size, App(settings, Bindings()))
        try:
            scene(desk)
            seen = desk.look()
        finally:
            desk.app.quit()
        return Image.fromarray(seen.copy())


def sheet(pictures: dict[str, Image.Image], across: int = 3, width: int = 640) -> Image.Image:
    """Pictures side by side with their titles, large ones made smaller."""
    label = 18
    rows = [[*pictures.items()][k : k + across] for k in range(0, len(pictures), across)]
    small = {
        title: picture.resize((width, max(1, picture.height * width // picture.width)))
        if picture.width > width
        else picture
        for title, picture in pictures.items()
    }
    heights = [max(small[title].height for title, _ in row) + label for row in rows]
    whole = Image.new("RGB", (across * (width + 8), sum(heights)), "#808080")
    pen, y = ImageDraw.Draw(whole), 0
    for row, height in zip(rows, heights, strict=True):
        for k, (title, _) in enumerate(row):
            pen.text((k * (width + 8) + 4, y + 3), title, "white")
            whole.paste(small[title], (k * (width + 8), y + label))
        y += height
    return whole


def compare(folder: Path, other: Path) -> int:
    """Say which pictures are not those of another folder, lay them side by side; how many."""
    pairs: dict[str, Image.Image] = {}
    for file in sorted(folder.glob("*/*.png")):
        name = str(file.relative_to(folder))
        now, before = Image.open(file), other / name
        if not before.exists():
            print(f"{name}: new")
            continue
        was = Image.open(before)
        box = (0, 0, 1, 1) if was.size != now.size else ImageChops.difference(was, now).getbbox()
        if box:
            print(f"{name}: differs from ({box[0]}, {box[1]}) to ({box[2]}, {box[3]})")
            pairs[f"{name}, before"], pairs[name] = was, now
    if pairs:
        sheet(pairs, 2, 960).save(folder / "differences.png")
        print(f"{folder / 'differences.png'}: {len(pairs) // 2} pairs")
    return len(pairs) // 2


def main() -> int:
    """Draw, and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.screens", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--only", nargs="+", choices=SCENES, metavar="SCENE", default=[*SCENES])
    parser.add_argument("--against", metavar="OTHER", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    pygame.display.init()
    for name in options.only:
        pictures = {window.title: draw(SCENES[name], window) for window in WINDOWS}
        (options.folder / name).mkdir(parents=True, exist_ok=True)
        for title, picture in pictures.items():
            picture.save(options.folder / name / f"{title}.png")
        sheet(pictures).save(options.folder / f"{name}.png")
        print(options.folder / f"{name}.png")
    return 1 if options.against and compare(options.folder, options.against) else 0


if __name__ == "__main__":
    sys.exit(main())
