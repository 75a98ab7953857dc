"""Algebra as it is shown and played: the tree of an expression on its stage, and games in a window
and in a terminal."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.play.session.catalogue import size_variants
from gv_engine.play.session.replay import SUFFIX, Replay
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK, LIGHT
from gv_engine.play.ui.drawing.sprites import font, pygame
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.terminal.play import TerminalGame
from gv_engine.plugins.algebra.episode import HintSearch, TreeCursor
from gv_engine.plugins.algebra.frame import ExpressionFrame
from gv_engine.plugins.algebra.inspector import formula_font
from gv_engine.plugins.algebra.stage import (
    MIN_LINE,
    TreeLayout,
    TreeStage,
    WrappedText,
    fit_tree,
    lay_out_tree,
    measure_text,
)
from gv_engine.scenario.domains import DOMAINS, list_built_in_names
from tests.algebra_games import EASY, game_of, problem
from tests.desk import Desk, home, playing
from tests.screen import until

WORLDS = [name for name in list_built_in_names() if name.startswith("mathy-")]
PINK = (255, 0, 255)
ROOM = pygame.Rect(10, 20, 780, 420)


def stage_of(game: Session) -> TreeStage:
    stage = TreeStage(game, DARK)
    stage.draw(pygame.Surface((800, 600)), ROOM, 1)
    return stage


def place_of(stage: TreeStage, node: int) -> pygame.Rect:
    """The place of a node on the surface."""
    assert stage._layout is not None
    return stage._layout.rects[node].move(stage._corner).move(stage._tree_rect.topleft)


def play_at_random(game: Session, moves: int) -> None:
    rng = np.random.default_rng(game.seed)
    for _ in range(moves):
        valid = [action for action, applies in game.mask().items() if applies]
        if not valid or game.frame().outcome:
            return
        game.step(valid[rng.integers(len(valid))])


def check_no_overlap(layout: TreeLayout) -> None:
    for number, place in enumerate(layout.rects):
        assert place.collidelistall(layout.rects) == [number], (place, layout.line)
        assert pygame.Rect(0, 0, *layout.size).contains(place)


# ---- places ------------------------------------------------------------------------------


@pytest.mark.sample("poly-simplify-hard", "binomial-distribute-normal")
@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_no_node_lies_upon_another(name: str):
    for seed in range(4):
        game = game_of(name, seed)
        for moves in (0, 6):
            play_at_random(game, moves)
            nodes = game.frame().nodes
            for size in ((780, 420), (1450, 950), (300, 100)):
                layout = fit_tree(nodes, size, 30)
                check_no_overlap(layout)
                fits = layout.size[0] <= size[0] and layout.size[1] <= size[1]
                assert fits or layout.line == MIN_LINE
            check_no_overlap(lay_out_tree(nodes, 12))


@pytest.mark.parametrize(
    "text", ["123456789x + x", " + ".join(f"{n}{'abcxyz'[n % 6]}^2" for n in range(1000, 1016))]
)
def test_long_numbers_have_room_too(text: str):
    nodes = problem(text).frame().nodes
    for line in (MIN_LINE, 9, 20, 40):
        layout = lay_out_tree(nodes, line)
        check_no_overlap(layout)
        for node, place in zip(nodes, layout.rects, strict=True):
            assert measure_text(node.text, line) <= place.w


def test_nodes_stand_in_the_order_of_the_text_and_below_their_parents():
    nodes = game_of("mathy-poly-combine-in-place-hard", 20).frame().nodes
    assert len(nodes) == 123
    places = fit_tree(nodes, (1450, 900), 30).rects
    assert all(a.centerx < b.centerx for a, b in itertools.pairwise(places))
    for node, place in zip(nodes, places, strict=True):
        if node.parent >= 0:
            assert place.top > places[node.parent].bottom


def test_the_chosen_node_is_in_sight_however_large_the_tree():
    game = game_of("mathy-poly-combine-in-place-hard", 20)
    stage = stage_of(game)
    surface = pygame.Surface((800, 600))
    for _ in range(6):
        stage.command("zoom_in")
        for node in (0, 60, 122):
            stage._cursor.choose(node)
            stage.draw(surface, ROOM, 1)
            place = place_of(stage, node)
            assert stage._tree_rect.contains(place)
            assert stage._node_at(place.center) == node


def test_a_tree_that_nearly_fits_is_shown_whole():
    stage = stage_of(problem("4x + 2x + 7y + 3z"))
    nodes = stage._frame.nodes
    for line, whole in ((8, True), (7, False)):
        room = lay_out_tree(nodes, line).size
        layout = stage._lay_out(room)
        assert stage._readable_line == 9
        assert (layout.size[0] <= room[0]) == whole
        assert layout.line == (8 if whole else 9)


# ---- choosing ----------------------------------------------------------------------------


def test_every_node_can_be_reached_and_only_valid_rules_are_offered():
    game = game_of()
    cursor = TreeCursor(game.frame())
    mask = game.mask()
    cursor.choose(0)
    for node in game.frame().nodes:
        assert cursor.node == node.x
        for rule in range(len(game.frame().rules)):
            action = cursor.command(f"rule_{rule + 1}")
            valid = mask[f"{game.frame().actions[rule]} {node.x}"]
            assert bool(action) == valid
            assert not action or game.actions.index(action) >= 0
        cursor.command("node_after")
    assert cursor.command("rule_9") == ""
    stage = stage_of(game)
    node = next(node for node in game.frame().nodes if not node.rules)
    stage._cursor.choose(node.x)
    assert stage.command("rule_1") == ""
    message = "Constant Arithmetic does not apply to this node"
    assert stage._status_message() != stage._message == message
    assert stage.command("rule_9") == ""
    assert stage._message == "There are 7 rules"
    stage.command("node_after")
    assert stage._message == ""
    cursor.command("node_above")
    assert cursor.node == game.frame().nodes[-1].parent
    cursor.command("node_below")
    assert game.frame().nodes[cursor.node].parent == game.frame().nodes[-1].parent


def test_jumps_lead_round_the_nodes_with_rules():
    frame = game_of().frame()
    usable = [node.x for node in frame.nodes if node.rules]
    cursor = TreeCursor(frame)
    seen = []
    for _ in usable:
        seen.append(cursor.node)
        cursor.command("next_usable")
    assert sorted(seen) == usable
    assert cursor.node == seen[0]
    cursor.command("previous_usable")
    assert cursor.node == seen[-1]


def test_rules_are_chosen_in_turn():
    cursor = TreeCursor(game_of().frame())
    rules = cursor.chosen.rules
    assert len(rules) == 2
    seen = [cursor.rule]
    cursor.command("next_rule")
    seen.append(cursor.rule)
    assert tuple(seen) == rules
    assert cursor.command("apply") == cursor.action(rules[1])
    cursor.command("previous_rule")
    assert cursor.rule == rules[0]


def test_after_a_move_what_it_has_made_is_chosen():
    game = problem("4x + 2x")
    cursor = TreeCursor(game.frame())
    cursor.choose(3, 3)
    game.step(cursor.command("apply"))
    frame = game.frame()
    assert frame.text == "(4 + 2) * x"
    cursor.follow(frame)
    assert cursor.chosen.changed
    assert not any(node.changed and node.y < cursor.chosen.y for node in frame.nodes)
    cursor.choose(0)
    cursor.follow(game.frame())  # the same once more
    assert cursor.node == 0


def test_clicks_choose_nodes_in_tree_and_text_and_apply_rules():
    game = problem("4x + 2x")
    stage = stage_of(game)
    assert stage._text is not None
    for node in range(7):
        at = place_of(stage, node).center
        assert stage.click(at, 1) == ""
        assert stage._cursor.node == node
        assert stage.hover(at)
    for node in (0, 2, 3, 4, 6):  # the products have no sign
        (place,) = stage._text.rects_of(game.frame().nodes[node].span)
        assert stage.click(place.center, 1) == ""
        assert stage._cursor.node == node
    assert stage.click(place.center, 3) == ""
    stage._cursor.choose(3)
    stage.draw(pygame.Surface((800, 600)), ROOM, 1)
    offered = ["commutative_swap 3", "distributive_factoring 3"]
    assert [stage.click(rect.center, 1) for rect, _ in stage._buttons] == offered


def test_a_resting_mouse_does_not_cover_what_a_move_has_done():
    game = problem("4x + 2x")
    stage = stage_of(game)
    stage.hover(place_of(stage, 3).center)
    before = game.frame()
    stage._cursor.choose(3, 3)
    game.step(stage.command("apply"))
    stage.begin(before, game.frame())
    assert stage._status_message().startswith(game.frame().action)


# ---- pictures ----------------------------------------------------------------------------


@pytest.mark.sample("size0-")
@pytest.mark.parametrize("view", DOMAINS["algebra"].views)
@pytest.mark.parametrize("size", [(1, 1), (5, 300), (300, 5), (60, 60), (320, 110), (1900, 1000)])
def test_any_room_is_kept_to(view: str, size: tuple[int, int]):
    game = game_of("mathy-poly-simplify-hard", 3)
    play_at_random(game, 3)
    stage = TreeStage(game, LIGHT)
    stage.view = view
    surface = pygame.Surface((size[0] + 100, size[1] + 100), 0, 32)
    surface.fill(PINK)
    rect = pygame.Rect(40, 50, *size)
    stage.draw(surface, rect, 1)
    surface.fill(PINK, rect)
    assert (pygame.surfarray.array2d(surface) == surface.map_rgb(PINK)).all()


def test_what_the_last_move_has_changed_looks_different():
    game = problem("4x + 2x")
    game.step("commutative_swap 3")
    assert game.frame().nodes[3].changed
    pictures = []
    for shown in (game, problem("2x + 4x")):
        surface, stage = pygame.Surface((800, 600)), TreeStage(shown, DARK)
        stage._cursor.choose(0)
        stage.draw(surface, ROOM, 1)
        pictures.append(pygame.surfarray.array2d(surface))
    assert (pictures[0] != pictures[1]).any()


def test_nodes_glide_from_where_they_were():
    game = problem("4x + 2x")
    stage = stage_of(game)
    before = dict(stage._centers)
    previous = game.frame()
    game.step("commutative_swap 3")
    assert stage.begin(previous, game.frame())
    surface = pygame.Surface((800, 600))
    stage.draw(surface, ROOM, 0)
    staying = set(before) & {node.identity for node in game.frame().nodes}
    assert len(staying) == 7
    assert all(stage._centers[identity] == before[identity] for identity in staying)
    stage.draw(surface, ROOM, 0.5)
    between = dict(stage._centers)
    stage.draw(surface, ROOM, 1)
    moved = [identity for identity in staying if stage._centers[identity] != before[identity]]
    assert moved
    assert all(between[i] not in (before[i], stage._centers[i]) for i in moved)
    assert not stage.begin(None, game.frame())


def test_thumbnails_show_the_tree():
    surface = pygame.Surface((80, 80), 0, 32)
    surface.fill(DARK.well)
    empty = pygame.surfarray.array2d(surface)
    TreeStage(game_of(), DARK).draw_thumbnail(surface, surface.get_rect())
    assert (pygame.surfarray.array2d(surface) != empty).mean() > 0.05


# ---- hints -------------------------------------------------------------------------------


def test_without_a_way_the_hint_says_so():
    game = problem("4x + 2x", max_moves=1)
    advice = HintSearch(game)
    advice.join()
    assert advice.hint is None
    assert advice.answer == "No way to the goal was found in time"


# ---- inspector and letters ---------------------------------------------------------------------


def test_the_inspector_tells_what_each_rule_would_give_and_pay():
    game = game_of()
    stage = TreeStage(game, DARK)
    panel = stage._inspector
    before = game.state_digest()
    told = [text for _, text, _ in panel.rows(16, 2000)]
    chosen = stage._cursor.chosen
    assert told[0] == f"{chosen.kind} {chosen.text}"
    for rule in chosen.rules:
        found = panel.rule_result(rule, chosen.x)
        name = game.frame().rules[rule]
        assert told.index(f"{rule + 1} {name}") < told.index(found.text)
        other = game_of()
        other.step(stage._cursor.action(rule))
        frame = other.frame()
        assert (frame.text, frame.reward) == (found.text, pytest.approx(found.reward))
    assert game.state_digest() == before
    surface = pygame.Surface((300, 200), 0, 32)
    panel.draw(surface, surface.get_rect(), 16)
    assert panel.command("scroll_down")
    assert not panel.command("next_tab")
    leaf = next(node.x for node in game.frame().nodes if not node.rules)
    stage._cursor.choose(leaf)
    assert panel.rows(16, 300)[-1][1] == "No rule applies here"


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        *(
            ("x^2y", ["2"]),
            ("x^-2 * 4y^2.5", ["-2", "2.5"]),
            ("x^y^z + 1", ["y^z"]),
            ("x^5!y", ["5!"]),
        ),
        *(("x^(1 + 1)", []), ("x^y^(z + 1)", []), ("2^sgn(x)", []), ("(x^3)^2", ["3", "2"])),
    ],
)
def test_exponents_are_raised_as_far_as_they_reach(text, raised):
    letters = formula_font(24)
    pieces = letters._split_by_font(text)
    assert [part for part, used, _ in pieces if used is not letters._font] == raised


def test_exponents_are_written_small_and_the_caret_is_not():
    letters = formula_font(24)
    assert letters.size("4g^12")[0] < font(24).size("4g12")[0]
    assert letters.size("g^")[0] == letters.size("g")[0]
    assert letters.size("^")[0] == font(24).size("^")[0]  # the sign of a node
    assert letters.size("x^(a + b)")[0] > letters.size("x(a + b)")[0]
    picture = letters.render("g^4", "#ffffff")
    ink = pygame.surfarray.array_alpha(picture)[letters.size("g")[0] :]
    assert ink.any()
    assert not ink[:, picture.get_height() * 7 // 10 :].any()  # above the line
    writing = WrappedText("1g^4 + x", pygame.Rect(0, 0, 400, 60), 24, 0)
    (exponent,) = writing.rects_of((3, 4))
    assert writing.character_at(exponent.center) == 3
    assert [place.w for place in writing.rects_of((2, 3))] == [0]
    assert writing._visible_span((2, 3)) == (2, 4)


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
    assert "every state as recorded" in capsys.readouterr().out


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


def test_a_lost_end_is_red_and_can_be_tried_again(desk: Desk):
    screen = playing(desk, "mathy-poly-combine-in-place-easy", 0)
    while not screen.frame.outcome:
        mask = screen.game.mask()
        screen.take_action(next(action for action in mask if mask[action]))
    assert screen.frame.outcome == "lose"
    assert screen.frame.is_loss_highlighted
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


@pytest.mark.sample("size0")
@pytest.mark.parametrize("size", [(320, 240), (1920, 1080), (600, 900)])
def test_all_sizes_of_windows_are_drawn(desk: Desk, size: tuple[int, int]):
    playing(desk, "mathy-poly-simplify-hard", 3)
    desk.surface = pygame.Surface(size, 0, 32)
    assert len(np.unique(desk.look())) > 20


# ---- in a terminal -----------------------------------------------------------------------


def shown(screen: TerminalGame, width: int = 100, height: int = 30) -> str:
    return "\n".join(line.plain for line in screen.lines(width, height))


def test_the_terminal_shows_expression_tree_and_numbered_rules():
    game = problem("4x + 2x")
    screen = TerminalGame(game, Settings(), Bindings())
    text = shown(screen)
    assert "4x + 2x" in text
    assert "[+]" in text
    screen.press("Left")
    assert "[x]" in shown(screen)
    screen.press("Tab")
    assert "[+]" in shown(screen)
    assert "4 Distributive Factoring" in shown(screen)
    state = game.state_digest()
    screen.press("F")
    assert "the goal is 2 moves away" in shown(screen)
    assert game.state_digest() == state
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
    screen = TerminalGame(game_of("mathy-poly-combine-in-place-hard", 20), Settings(), Bindings())
    for key in ("V", "V", "V", "H"):
        lines = screen.lines(*size)
        assert len(lines) <= max(1, size[1])
        assert all(len(line) <= size[0] for line in lines)
        screen.press(key)


def test_the_terminal_lists_the_keys_of_rules_that_there_are():
    screen = TerminalGame(game_of(), Settings(), Bindings())
    screen.press("H")
    text = shown(screen, 120, 50)
    assert "apply rule 7" in text
    assert "apply rule 8" not in text


# ---- colours of moves -------------------------------------------------------------------------


@pytest.mark.sample("binomial")
@pytest.mark.parametrize("name", [EASY, "mathy-binomial-distribute-easy"])
def test_no_right_move_is_red(desk: Desk, name: str, monkeypatch: pytest.MonkeyPatch):
    """Neither in the window nor in a terminal, though some of them cost."""
    desk.surface = pygame.Surface((1280, 800), 0, 32)
    desk.app.settings.research = True  # rewards are shown
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
