"""Somebody new who makes a level with the window alone; every key, click and drag is counted."""

import time
from typing import Any

from gv_engine.play.editor.document import STARTERS
from gv_engine.play.editor.map_model import MapCell
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.playtest import PlaytestScreen
from tests.desk import Desk
from tests.player import Player
from tests.screen import until

SOLUTION = ((3, 3), (4, 3), (5, 1), (2, 9), (4, 9), (5, 11))
"""Cells to click on to win: the crate twice, the lever, the key, the door and the exit."""


class Newcomer:
    """Somebody with keyboard and mouse at a desk, and at a real window if there is a player.

    Attributes:
        count: number of keys, clicks and drags so far; each letter is a key.
    """

    def __init__(self, desk: Desk, player: Player | None = None) -> None:
        self._desk, self._player, self.count = desk, player, 0

    def press(self, *keys: str) -> None:
        """Press keys, as bindings name them."""
        self.count += len(keys)
        (self._player.presses if self._player else self._desk.press)(*keys)

    def type(self, text: str) -> None:
        """Type letters."""
        self.count += len(text)
        (self._player.types if self._player else self._desk.type)(text)

    def drag(self, *path: tuple[int, int], button: int = 1) -> None:
        """Press a button of the mouse at the first place, and release it at the last one."""
        self.count += 1
        if self._player:
            left, top, *_ = self._player.area()
            places = [("mousemove", str(x + left), str(y + top)) for x, y in path]
            words = [*places[0], "mousedown", str(button)]
            words += [word for place in places[1:] for word in ("sleep", "0.1", *place)]
            self._player.screen.xdotool(*words, "sleep", "0.1", "mouseup", str(button))
        self._desk.drag(path[0], path[-1], button)

    def choose(self, name: str) -> None:
        """Click on an object of the palette."""
        self._desk.draw()
        assert self._desk.app._painter
        areas = self._desk.app._painter._hit_areas
        press = [area for area in areas if getattr(area.press, "args", ()) == (name,)]
        self.drag(press[0].rect.center)

    def paint(self, *cells: MapCell, button: int = 1) -> None:
        """Draw a line from the first cell of the edited map to the last one."""
        screen = self._desk.top(EditScreen)
        self.drag(*(screen.drawing.cell_rect(cell).center for cell in cells), button=button)

    def walk_to(self, cell: MapCell) -> None:
        """Click on a cell of the level that is played, and wait for the end of the walk."""
        stage: Any = self._desk.top(PlaytestScreen).stage
        self.drag(stage._state.cell_rect(*cell).center)
        self._desk.now = max(self._desk.now, time.monotonic())
        self._desk.wait(1, times=40)
        self._see_the_same()

    def _see_the_same(self) -> None:
        """Wait until the window shows the picture of the desk."""
        if self._player:
            self._player.screen.xdotool("mousemove", "1399", "999")
            self._desk.point((-1, -1))
            until(self._player.sees_the_same, "the same picture")

    def make_puzzle(self) -> None:
        """Make a puzzle of one's own, win it, and go back to the editor."""
        self.paint_puzzle()
        self.press("Tab")
        self._see_the_same()
        for cell in SOLUTION:
            self.walk_to(cell)
        assert self._desk.top(PlaytestScreen).frame.success
        self.press("Return")
        self._desk.top(EditScreen)

    def paint_puzzle(self) -> None:
        """Make the puzzle of docs/players.md in the editor: a crate blocks the way to a lever,
        which opens the gate to a key, which opens the door to the exit."""
        self.press("Ctrl+N", "End")
        assert list(STARTERS)[-1] == "puzzle"
        self.press("Return")
        self.paint((3, 1), (3, 2))  # walls, which are chosen in the beginning
        self.paint((3, 4))
        for cell in ((2, 3), (4, 2)):  # the crate and the lever go
            self.paint(cell, button=3)
        self.choose("Crate")
        self.paint((3, 3))
        self.choose("Lever")
        self.press("C", "C")  # red, as the gate
        self.paint((5, 1))
