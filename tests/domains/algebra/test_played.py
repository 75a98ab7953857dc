"""Algebra as it is played, in a window and in a terminal, and what colours say of moves."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.domains.algebra.episode import HintSearch
from gv_engine.rules.frame import ExpressionFrame
from gv_engine.session.catalogue import size_variants
from gv_engine.session.replay import SUFFIX, Replay
from gv_engine.session.session import Session
from gv_engine.ui.colors import DARK
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.input.bindings import Bindings
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.settings import Settings
from gv_engine.ui.terminal.play import TerminalGame
from tests.algebra_games import EASY, game_of, problem
from tests.desk import Desk, home, playing
from tests.screen import until


def valid_of(game: Session) -> str:
    return next(action for action, applies in game.mask().items() if applies)


# ---- at a desk ---------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    home(tmp_path, monkeypatch)
    desk = Desk()
    yield desk
    desk.app.quit()


def ask(desk: Desk, screen: PlayScreen) -> None:
    desk.press("F")

    def has_answered() -> bool:
        desk.wait(0.05)
        desk.look()
        return not screen.stage.is_busy

    until(has_answered, "the hint")
    desk.look()


@pytest.mark.slow
def test_hint_by_hint_to_a_win_that_is_kept_and_verified(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    screen = playing(desk, EASY, 1)
    while not screen.frame.outcome:
        assert screen.game.length < 16
        ask(desk, screen)
        desk.press("Space")
    assert screen.frame.outcome == "win"
    steps = screen.game.length
    desk.press("Z")
    assert (screen.frame.outcome, screen.game.position) == ("", steps - 1)
    desk.press("Home")
    assert screen.frame.text == screen.frame.history[-1].text
    assert len(screen.frame.history) == 1
    desk.press("End", "Ctrl+S")
    (file,) = tmp_path.rglob(f"*{SUFFIX}")
    replay = Replay.load(file)
    assert len(replay.steps) == steps
    assert main(["replay", str(file), "--verify"]) == 0
    assert main(["replay", str(file), "--record", str(tmp_path / "seen.png"), "--cell", "24"]) == 0
    assert (tmp_path / "seen.png").stat().st_size > 1000
    assert "every state as it was" in capsys.readouterr().out


def test_a_rule_by_its_number_and_one_that_does_not_apply(desk: Desk):
    screen = playing(desk, EASY, 1)
    before = screen.frame.text
    desk.press("1")
    assert screen.frame.text == before
    desk.press("2")
    assert screen.frame.text != before
    assert screen.frame.action.startswith("Commutative Swap")


def test_the_key_of_difficulties_goes_round_them(desk: Desk):
    playing(desk, EASY, 1)
    seen = []
    for _ in range(3):
        desk.press("L")
        screen = desk.app.top
        assert isinstance(screen, PlayScreen)
        assert screen.game.seed == 1
        seen.append(screen.game.scenario.name.rpartition("-")[2])
    assert seen == ["normal", "hard", "easy"]
    assert size_variants("no such level") == []


def test_losing_says_why(desk: Desk):
    screen = playing(desk, "mathy-poly-combine-in-place-easy", 0)
    while not screen.frame.outcome:
        screen.take_action(valid_of(screen.game))
    assert screen.frame.outcome == "lose"
    desk.look()
    desk.press("R")
    assert not screen.frame.outcome


def test_views_and_the_map_are_switched(desk: Desk):
    playing(desk, "mathy-poly-combine-in-place-hard", 20)
    pictures = [desk.look().copy()]
    for key in ("M", "V", "V", "V", "Equals"):
        desk.press(key)
        pictures.append(desk.look().copy())
    assert all((a != b).any() for a, b in itertools.pairwise(pictures))


@pytest.mark.parametrize("size", [(320, 240), (1920, 1080), (600, 900)])
def test_all_sizes_of_windows_are_drawn(desk: Desk, size: tuple[int, int]):
    playing(desk, "mathy-poly-simplify-hard", 3)
    desk.surface = pygame.Surface(size, 0, 32)
    assert len(np.unique(desk.look())) > 20


# ---- in a terminal -----------------------------------------------------------------------


def terminal(game: Session) -> TerminalGame:
    return TerminalGame(game, Settings(), Bindings())


def shown(screen: TerminalGame, width: int = 100, height: int = 30) -> str:
    return "\n".join(line.plain for line in screen.lines(width, height))


def test_the_terminal_shows_expression_tree_and_numbered_rules():
    game = problem("4x + 2x")
    screen = terminal(game)
    text = shown(screen)
    assert "4x + 2x" in text
    assert "[+]" in text
    screen.press("Left")
    assert "[x]" in shown(screen)
    screen.press("Tab")
    assert "[+]" in shown(screen)
    assert "4 Distributive Factoring" in shown(screen)
    screen.press("4")
    assert game.frame().text == "(4 + 2) * x"
    screen.press("F")
    assert "the goal is 1 move away" in shown(screen)
    screen.press("Space")
    assert "Well done!" in shown(screen)
    screen.press("Z")
    assert game.frame().text == "(4 + 2) * x"


@pytest.mark.parametrize("size", [(1, 1), (20, 8), (60, 24), (200, 60)])
def test_the_terminal_keeps_to_its_size(size: tuple[int, int]):
    screen = terminal(game_of("mathy-poly-combine-in-place-hard", 20))
    for key in ("V", "V", "V", "H"):
        lines = screen.lines(*size)
        assert len(lines) <= max(1, size[1])
        assert all(len(line) <= size[0] for line in lines)
        screen.press(key)


def test_the_terminal_lists_the_keys_of_rules_that_there_are():
    screen = terminal(game_of())
    screen.press("H")
    text = shown(screen, 120, 50)
    assert "apply rule 7" in text
    assert "apply rule 8" not in text


# ---- colours of moves -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [EASY, "mathy-binomial-distribute-easy"])
def test_no_right_move_is_red(desk: Desk, name: str, monkeypatch: pytest.MonkeyPatch):
    """Neither in the window nor in a terminal, though some of them cost."""
    desk.surface = pygame.Surface((1280, 800), 0, 32)
    desk.app.play(name, 1)
    assert isinstance(desk.app.top, PlayScreen)
    game, screen = desk.app.top.game, TerminalGame(game_of(name), Settings(), Bindings())
    costs = 0
    while not game.frame().outcome:
        advice = HintSearch(game)
        advice.join()
        assert advice.hint is not None
        action = f"{game.frame().actions[advice.hint.rule]} {advice.hint.node}"
        desk.app.top.take_action(action)
        screen.game.step(action)
        assert not is_red(desk, screen)
        if game.frame().reward < 0 and not game.frame().outcome:
            costs += 1
            with monkeypatch.context() as patch:
                patch.setattr(ExpressionFrame, "is_loss_highlighted", True)
                assert is_red(desk, screen)  # it would be seen
    assert costs


def is_red(desk: Desk, terminal: TerminalGame) -> bool:
    """Whether anything is, in both."""
    away = np.abs(desk.look().astype(int) - pygame.Color(DARK.loss)[:3]).sum(-1)
    seen = away.min() < 12  # thin letters reach no colour quite
    styles = {str(span.style) for line in terminal.lines(100, 40) for span in line.spans}
    told = any(DARK.loss in style for style in styles)
    assert seen == told
    return told


def test_a_lost_end_is_red():
    game = problem("4x + 2x", max_moves=9)
    while not game.frame().outcome:
        game.step(valid_of(game))
    assert game.frame().is_loss_highlighted == (game.frame().outcome == "lose")
    assert game.frame().outcome == "lose"
