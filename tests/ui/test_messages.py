"""Texts that a level shows by the number that a rule has written: those of PuzzleScript games."""

import pygame
import pytest

from gv_engine.play.grid.terminal import GridTerminalView
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK
from gv_engine.plugins.puzzlescript.scenario import list_levels
from gv_engine.scenario.library import GALLERY
from tests.desk import Desk, playing

LEVEL = str(GALLERY / "fresh-snow.txt#1")
SAYS = "Not over your own tracks"


@pytest.mark.parametrize("command", [None, "research"])
def test_the_window_shows_a_text_until_the_next_turn(desk: Desk, command: str | None):
    desk.surface = pygame.Surface((1280, 800), 0, 32)
    screen = playing(desk, LEVEL)
    if command:
        screen.run_command(command)
    for action, is_shown in (("MOVE_LEFT", 0), ("MOVE_RIGHT", 1), ("MOVE_LEFT", 0)):
        screen.take_action(action)
        desk.look()
        assert screen._goal_lines.count(SAYS) == is_shown
        assert SAYS not in [number.text for row in screen._number_rows for number in row]


def test_the_terminal_shows_a_text_on_a_line_of_its_own():
    game = Session(load_playable(LEVEL), 0)
    view = GridTerminalView(game, DARK)
    assert SAYS not in view.facts(game.frame())
    game.step("MOVE_LEFT")
    game.step("MOVE_RIGHT")
    assert SAYS in view.facts(game.frame())
    assert not any("message" in line for line in view.facts(game.frame()))


def test_players_read_the_message_before_a_level():
    levels = list_levels((GALLERY / "fresh-snow.txt").read_text("utf-8"))
    assert [level.says for level in levels][1:] == ["Trees", "The whole garden"]
