"""The editor for real: the command in its own process, keys and mouse from xdotool, a virtual
screen; then what was made, by the other commands."""

import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.editor.map_model import MapCell
from gv_engine.ui.colors import DARK
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.screens.edit import EditScreen
from tests.player import Player, started
from tests.screen import Screen, until

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

COMMENTED = """\
# My first cave.
description: Get out.  # in words
map: |  # as I drew it
  #####
  #>.E#
  #####
# What a step does.
transition_functions:
  - move_agent  # goes
  # Last of all:
  - turn_agent
reward_functions: [reach_exit]  # what pays
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}  # all it sees

# The end.
terminating_function: reach_exit
success_function: reach_exit
# That is all.
"""


VAULT = """\
map: |
  #########
  #>..#...#
  #...#...#
  #...D...#
  ###.#...#
  #.K.#..E#
  #########
"""


class Hand:
    """Somebody with a mouse, who knows from the twin where cells are."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self.twin = player.desk
        self.x, self.y, *size = player.area()
        self.twin.surface = pygame.Surface(size, 0, 32)

    def at(self, cell: MapCell) -> tuple[str, str]:
        self.twin.look()
        x, y = self.twin.top(EditScreen).drawing.cell_rect(cell).center
        return str(self.x + x), str(self.y + y)

    def clicks(self, *cells: MapCell, button: str = "1") -> None:
        for cell in cells:
            self._player.screen.xdotool("mousemove", *self.at(cell), "click", button)

    def drags(self, *cells: MapCell) -> None:
        first, *others = cells
        words = ["mousemove", *self.at(first), "mousedown", "1"]
        for cell in others:
            words += ["sleep", "0.1", "mousemove", *self.at(cell)]
        self._player.screen.xdotool(*words, "sleep", "0.1", "mouseup", "1", "sleep", "0.1")

    def sees(self, color: str) -> bool:
        """Whether something is said in a colour, beside the level."""
        wanted = np.array(pygame.Color(color)[:3])
        picture = self._player.picture()
        right = picture[60:, picture.shape[1] * 3 // 4 :]
        return int((np.abs(right.astype(int) - wanted) < 12).all(-1).sum()) > 20


def keys(player: Player, *names: str) -> None:
    """Press keys in the window alone."""
    twin, player.desk = player.desk, Mock()  # it presses as well
    player.presses(*names)
    player.desk = twin


def types(player: Player, text: str) -> None:
    """Type in the window alone, once the question is read: what comes with it is not meant."""
    time.sleep(0.5)
    twin, player.desk = player.desk, Mock()  # it types as well
    player.types(text)
    player.desk = twin


@pytest.mark.thorough
def test_a_level_from_nothing_is_played_mended_saved_checked_and_rolled_out(
    screen: Screen, folder: Path
):
    with started(screen, folder, "edit") as player:
        player.desk.start()
        player.desk.app.edit_new_level("blank")
        hand = Hand(player)
        until(lambda: len(np.unique(player.picture())) > 50, "the choice of starters")
        keys(player, "Home", "Return")
        until(lambda: hand.sees(DARK.loss), "what is wrong with an empty level")
        keys(player, "T", "T")
        hand.drags((0, 0), (3, 4), (6, 8))  # a room
        keys(player, "T", "T")
        hand.drags((1, 4), (2, 4), (3, 4), (4, 4), (5, 4))  # a wall
        for cell in ((5, 7), (3, 4), (5, 2)):  # the exit, the door, the key
            keys(player, "RightBracket")
            hand.clicks(cell)
        keys(player, *["LeftBracket"] * 4)
        hand.clicks((1, 1))  # the agent
        until(lambda: hand.sees(DARK.gain), "that it can be won")
        keys(player, "F4", "Down", "Down", "Return", "Return")
        types(player, "open the door")
        keys(player, "Return", "Escape", "Escape")
        keys(player, "Tab", "Up", "Up", "Tab")
        keys(player, *["RightBracket"])
        hand.clicks((4, 2), (4, 1), (4, 3))  # walls between the agent and the key
        until(lambda: hand.sees(DARK.loss), "that it cannot be won")
        keys(player, "Z")
        until(lambda: hand.sees(DARK.gain), "that it can be won again")
        keys(player, "Ctrl+S")
        types(player, "vault")
        keys(player, "Return")
        file = folder / "vault.yaml"
        until(file.exists, "the file")
        assert player.leaves() == ""
    text = file.read_text("utf-8")
    assert VAULT in text
    assert "mission: {text: open the door}\n" in text
    assert "# What a step does, in this order.\n" in text
    assert main(["check", str(file)]) == 0
    assert main(["solve", str(file)]) == 0
    out = folder / "episodes"
    assert main(["rollout", str(file), "--episodes", "3", "--out", str(out)]) == 0
    assert list(out.iterdir())


@pytest.mark.thorough
def test_a_file_keeps_its_comments(screen: Screen, folder: Path):
    file = folder / "cave.yaml"
    file.write_text(COMMENTED, "utf-8")
    with started(screen, folder, "edit", str(file)) as player:
        player.desk.start()
        player.desk.app.edit(str(file))
        hand = Hand(player)
        until(lambda: len(np.unique(player.picture())) > 50, "the level")
        keys(player, "RightBracket", "RightBracket", "RightBracket")
        hand.clicks((1, 2))
        before = player.picture()
        keys(player, "F3")
        until(lambda: not np.array_equal(player.picture(), before), "the list of rules")
        keys(player, "Down", "Shift+Down", "Escape", "Ctrl+S")
        until(lambda: file.read_text("utf-8") != COMMENTED, "that it is saved")
        assert player.leaves() == ""
    changed = COMMENTED.replace("#>.E#", "#>KE#")
    moved = "  # Last of all:\n  - turn_agent\n  - move_agent  # goes\n"
    changed = changed.replace("  - move_agent  # goes\n  # Last of all:\n  - turn_agent\n", moved)
    assert file.read_text("utf-8") == changed
