"""The editor for real: the command in its own process, keys and mouse from xdotool, a virtual
screen; then what was made, by the other commands."""

import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.play.editor.map_model import MapCell
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.screens.edit import EditScreen
from tests.newcomer import Newcomer
from tests.player import NO_REPEATS, Player, started
from tests.screen import PATIENCE, Screen, until

pytestmark = [pytest.mark.compiled, pytest.mark.slow, pytest.mark.thorough]

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

CAVE = """\
map: |
  #######
  #>..E.#
  #######
transition_functions: [move_agent]
reward_functions: [reach_exit]
terminating_function: reach_exit
max_steps: 50
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}
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


def test_a_level_from_nothing_is_played_mended_saved_checked_and_rolled_out(
    screen: Screen, folder: Path
):
    patient = f"from gv_engine.play.editor import document; document._TIMEOUT = {PATIENCE}"
    with started(screen, folder, "edit", before=f"{NO_REPEATS}; {patient}") as player:
        player.desk.start()
        player.desk.app.edit_new_level("blank")
        hand = Hand(player)
        player.desk = Mock()  # keys are pressed and typed in the window alone
        until(lambda: len(np.unique(player.picture())) > 50, "the choice of starters")
        player.presses("Home", "Return")
        until(lambda: hand.sees(DARK.loss), "what is wrong with an empty level")
        player.presses("T", "T")
        hand.drags((0, 0), (3, 4), (6, 8))  # a room
        player.presses("T", "T")
        hand.drags((1, 4), (2, 4), (3, 4), (4, 4), (5, 4))  # a wall
        for cell in ((5, 7), (3, 4), (5, 2)):  # the exit, the door, the key
            player.presses("RightBracket")
            hand.clicks(cell)
        player.presses(*["LeftBracket"] * 4)
        hand.clicks((1, 1))  # the agent
        until(lambda: hand.sees(DARK.gain), "that it can be won")
        player.presses("F4", *["Down"] * 4, "Return", "Return")
        time.sleep(0.5)  # letters that come with the question are not meant
        player.types("open the door")
        player.presses("Return", "Escape", "Escape")
        until(lambda: hand.sees(DARK.gain), "that it can be won as before")
        editor = player.picture().copy()
        player.presses("Tab")
        until(lambda: not hand.sees(DARK.gain), "the level")
        player.presses("Up", "Up", "Tab")
        until(lambda: np.array_equal(player.picture(), editor), "the editor again")
        player.presses("RightBracket")
        hand.clicks((4, 2), (4, 1), (4, 3))  # walls between the agent and the key
        until(lambda: hand.sees(DARK.loss), "that it cannot be won")
        player.presses("Z")
        until(lambda: hand.sees(DARK.gain), "that it can be won again")
        player.presses("Ctrl+S")
        time.sleep(0.5)  # letters that come with the question are not meant
        player.types("vault")
        player.presses("Return")
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


def test_a_gallery_level_gives_its_gate_by_real_keys(screen: Screen, folder: Path):
    file = folder / "cave.yaml"
    file.write_text(CAVE)
    with started(screen, folder, "edit", str(file)) as player:
        player.desk = Mock()
        until(lambda: len(np.unique(player.picture())) > 50, "the editor")
        editor = player.picture().copy()
        player.presses("O")
        until(lambda: not np.array_equal(player.picture(), editor), "the list of levels")
        time.sleep(0.5)  # letters that come with the list are not meant
        player.types("levers")
        player.presses("Return")
        time.sleep(0.5)
        player.types("lever")
        player.presses("Return", "Down", "Right", "Right", "Right", "Space", "Ctrl+S")
        until(lambda: "Lever" in file.read_text("utf-8"), "the lever in the file")
        player.presses("Z", "Z", "Ctrl+S")
        until(lambda: "Lever" not in file.read_text("utf-8"), "the file without it")
        player.presses("Y", "Y", "Ctrl+S")
        until(lambda: "Lever" in file.read_text("utf-8"), "the lever again")
        assert player.leaves() == ""
    assert main(["check", "--quick", str(file)]) == 0


def test_a_newcomer_makes_wins_and_shares_a_puzzle_with_sixty_keys_and_clicks(
    screen: Screen, folder: Path
):
    with started(screen, folder, "play") as player:
        player.desk.start()
        player.desk.surface = pygame.Surface(player.area()[2:], 0, 32)
        until(lambda: len(np.unique(player.picture())) > 50, "the start screen")
        newcomer = Newcomer(player.desk, player)
        newcomer.make_puzzle()
        player.desk = Mock()  # the twin would write the same file
        newcomer.press("Ctrl+P")
        time.sleep(0.5)  # letters that come with the question are not meant
        newcomer.type("mine")
        newcomer.press("Return")
        until(Path("mine.html").exists, "the page")
        assert player.leaves() == ""
    assert newcomer.count <= 60
    assert Path("mine.html").read_text("utf-8").startswith("<!doctype html>")
    assert main(["solve", "mine.yaml"]) == 0


def test_a_view_is_picked_from_a_list_by_real_keys(screen: Screen, folder: Path):
    file = folder / "cave.yaml"
    file.write_text(CAVE)
    with started(screen, folder, "edit", str(file)) as player:
        player.desk = Mock()
        until(lambda: len(np.unique(player.picture())) > 50, "the editor")
        player.presses("F4", "Down", "Down", "Down", "Right", "Down", "Down", "Return")
        player.presses("Down", "Return", "Down", "Down", "Down", "Return")
        player.presses("Escape", "Escape", "Ctrl+S")
        until(lambda: "area: 2" in file.read_text(), "the view in the file")
        assert "max_steps: 51" in file.read_text()
        assert player.leaves() == ""
