"""A rule is saved while its level is played or watched: the window marks what it has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.replay import CompareScreen, ReplayScreen
from tests.desk import Desk, home, playing
from tests.session.test_flowing import ALGEBRA, LEVEL, RULES, edit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "level").mkdir()
    (tmp_path / "level" / "scenario.yaml").write_text(LEVEL)
    (tmp_path / "level" / "rules.py").write_text(RULES)
    return tmp_path / "level"


@pytest.fixture
def screen(desk: Desk, folder: Path) -> PlayScreen:
    """Three steps to the right, and one turn."""
    screen = playing(desk, str(folder))
    desk.press("Up", "Up", "Up", "Right")
    return screen


def saved(desk: Desk, file: Path, old: str, new: str) -> None:
    """Save a file, and let the window notice."""
    edit(file, old, new)
    desk.notice()
    desk.draw()


def test_a_saved_rule_marks_the_first_step_that_differs(
    desk: Desk, folder: Path, screen: PlayScreen
):
    before = desk.look()
    saved(desk, folder / "rules.py", "== 3", "== 4")
    assert (screen.game.position, screen.game.length) == (4, 4)
    assert screen._describe_difference() == "from step 2 on: reward 0, was +1 (pay)"
    assert (desk.look() != before).any()
    desk.press("Ctrl+Home")
    assert (screen.game.position, screen.frame.reward) == (2, -0.5)
    saved(desk, folder / "rules.py", "== 4", "== 3")
    assert (screen.frame.reward, screen._describe_difference()) == (0.5, "")


def test_before_and_after_are_compared(desk: Desk, folder: Path):
    screen = playing(desk, str(folder))
    desk.press("Up", "Up", "Right")
    saved(desk, folder / "scenario.yaml", ", turn_agent", "")
    desk.press("Ctrl+Home")
    after = desk.look()
    places = screen._layout
    assert screen.stage._differing_cells == [(1, 3)]  # type: ignore[attr-defined]
    desk.press("Ctrl+B")
    desk.draw()
    top = desk.top(CompareScreen)
    assert (top.frame.agent[2], screen.frame.agent[2]) != (3, 1)
    assert top._layout == places  # the board stays where it is
    assert top._describe_difference() == "Before, step 3: agent looks right, looked backward"
    assert (desk.look() != after).any()
    desk.press("Left")
    assert (top.game.position, screen.game.position) == (2, 2)
    assert top._describe_difference() == "Before, step 2: the same"
    desk.press("Ctrl+Home", "Ctrl+B")
    assert desk.app.top is screen
    assert screen.game.position == 3
    desk.press("Ctrl+B", "Escape", "Up")
    assert desk.app.top is screen
    assert screen.game.length == 4


def test_the_mark_and_the_buttons_are_clicked(desk: Desk, folder: Path, screen: PlayScreen):
    saved(desk, folder / "rules.py", "== 3", "== 4")
    at, painter = screen._layout, desk.app._painter
    assert at
    assert painter
    desk.click((at.controls.centerx, at.controls.y + 4))
    assert screen.game.position == 2
    for x in range(at.controls.x, at.controls.right, 2 * painter.line_height):
        desk.click((x, at.controls.bottom - painter.line_height))
        if isinstance(desk.app.top, CompareScreen):
            return
    pytest.fail("no button leads to how it was")


def test_where_the_game_ends_now_the_end_from_before_can_be_seen(
    desk: Desk, folder: Path, screen: PlayScreen
):
    saved(desk, folder / "scenario.yaml", "terminating", "max_steps: 2\nterminating")
    assert (screen.game.length, screen.frame.outcome) == (2, "truncated")
    desk.press("Ctrl+B", "End")
    top = desk.top(CompareScreen)
    assert top.game.position == 4
    assert top._describe_difference() == "Before, step 4: the game has other steps now"
    desk.press("Escape")
    assert screen.game.position == 2
    saved(desk, folder / "scenario.yaml", "max_steps: 2\nterminating", "terminating")
    assert (screen.game.position, screen.game.length) == (4, 4)


def test_a_failing_rule_is_told_with_its_step(desk: Desk, folder: Path, screen: PlayScreen):
    fails = 'passes."""\n    if w.steps == 2:\n        1 / 0'
    saved(desk, folder / "rules.py", 'passes."""', fails)
    assert screen.error_text.startswith("Still as before: step 3: rules.py:13: ZeroDivision")
    desk.press("Up")
    assert screen.game.length == 5
    saved(desk, folder / "rules.py", fails, 'passes."""')
    assert screen.error_text == ""


def test_a_replay_flows_while_it_is_watched(desk: Desk, folder: Path):
    playing(desk, str(folder))
    desk.press("Up", "Up", "Up", "Ctrl+S", "F6")
    screen = desk.top(ReplayScreen)
    desk.press("End")
    saved(desk, folder / "rules.py", "== 3", "== 4")
    assert screen.game.difference
    assert (screen.game.difference.step, screen.game.position) == (2, 3)
    desk.press("Ctrl+B")
    desk.top(CompareScreen)
    edit(folder / "rules.py", "== 4", "== 3")
    desk.wait(1)
    assert desk.app.top is screen
    saved(desk, folder / "rules.py", "== 3", "== 3 ")
    assert screen.game.difference is None


def test_algebra_flows_too(desk: Desk, tmp_path: Path):
    file = tmp_path / "level.yaml"
    file.write_text(ALGEBRA)
    screen = playing(desk, str(file))
    desk.press("Tab", "Space")
    saved(desk, file, "max_moves: 9", "max_moves: 9\nrewards: {time: -3}")
    assert screen._describe_difference() == "from step 1 on: reward -3, was -0.01 (spend time)"
    saved(desk, file, "max_moves: 9", "max_moves: 9\ndifficulty: hard")
    desk.press("Ctrl+B")
    assert "expression" in desk.top(CompareScreen)._describe_difference()


@pytest.mark.sample("size0", "size2")
@pytest.mark.parametrize("size", [(400, 300), (1280, 800), (640, 900)])
def test_what_is_told_has_a_place_in_every_window(
    folder: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
):
    home(folder.parent, monkeypatch)
    desk = Desk(size)
    screen = playing(desk, str(folder))
    desk.press("Up", "Up", "Up", "Right")
    bare = desk.look()
    saved(desk, folder / "rules.py", "== 3", "== 4")
    at = screen._layout
    assert at
    told = np.s_[at.controls.y : at.controls.bottom, at.controls.x : at.controls.right]
    assert (desk.look()[told] != bare[told]).any()
    assert at.stage.h >= size[1] // 8
