"""Walks to cells that were clicked."""

from __future__ import annotations

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.domains.grid.episode import step_sound
from gv_engine.domains.grid.input_map import Walk
from gv_engine.domains.grid.stage import GridStage
from gv_engine.scenario.library import PUZZLES
from gv_engine.scenario.map import grid_to_text
from gv_engine.session.session import Session
from gv_engine.ui.colors import DARK
from gv_engine.ui.drawing.sprites import pygame


def game_of(rows: str, **more: object) -> Session:
    level = {"extends": "shared/rules.yaml", "map": rows.replace(" ", "\n"), **more}
    return Session(Scenario.load(level, folder=PUZZLES), 0)


def follow(game: Session, stage: GridStage, action: str) -> list[str]:
    """Take an action of a walk on a stage, and all that follow."""
    taken = []
    while action:
        before = game.frame()
        game.step(action)
        taken.append(action)
        stage.begin(before, game.frame())
        action = stage.next_walk_action()
    return taken


def walked(game: Session, goal: tuple[int, int]) -> list[str]:
    """The actions of the way that a click begins."""
    walk, taken = Walk(goal, game.actions), []
    while action := walk.next_action(game.frame(), game.mask()):
        before = game.frame()
        game.step(action)
        taken.append(action)
        if not walk.is_as_expected(before, game.frame()):
            break
    return taken


def test_it_goes_the_shortest_way_and_ends_there():
    game = game_of("##### #>..# #.#.# #..E# #####")
    assert len(walked(game, (3, 2))) == 3
    assert game.frame().agent[:2] == (3, 2)
    walked(game, (3, 3))
    assert game.frame().success


def test_things_are_handled():
    game = game_of("####### #>.y.Y# #1C..E# #.7...# #######")
    assert walked(game, (1, 3)) == ["MOVE_FORWARD", "PICK_N_DROP"]
    walked(game, (1, 5))
    assert game.frame().types[game.frame().grid[1, 5, 0]].name == "Door"
    assert game.frame().grid[1, 5, 1] == 0
    assert walked(game, (2, 1))[-1] == "ACTUATE"
    assert game.frame().grid[3, 2, 1] == 1
    game = game_of("##### #>C.# #..E# #####")
    assert walked(game, (1, 2)) == ["MOVE_FORWARD"]
    frame = game.frame()
    assert grid_to_text(frame.grid, frame.types, frame.agent).split()[1] == "#.>C#"


def test_what_is_held_is_put_where_a_click_says():
    game = game_of("####### #>y...# #.p..E# #######")
    stage = GridStage(game, DARK)
    stage.walks = True
    stage.select_held_item()  # nothing is held yet
    walked(game, (1, 2))
    stage.begin(None, game.frame())
    surface = pygame.Surface((400, 300), 0, 32)
    stage.select_held_item()
    stage.draw(surface, surface.get_rect(), 1.0)
    follow(game, stage, stage.click(stage._state.cell_rect(2, 2).center, 1))
    frame = game.frame()
    assert frame.types[frame.grid[2, 2, 0]].name == "Key"
    assert not frame.item[0]


@pytest.mark.parametrize("rows", ["##### #>LE# #####", "##### #>iE# #####", "##### #>sE# #####"])
def test_nobody_is_led_into_danger(rows: str):
    assert walked(game_of(rows), (1, 3)) == []
    assert walked(game_of(rows), (1, 2)) == ["MOVE_FORWARD"]


def test_it_stops_where_something_moves():
    game = game_of("######## #>.....# ######## #l....E# ########")
    assert walked(game, (1, 6)) == ["MOVE_FORWARD"]


def test_there_is_no_way_to_what_is_walled_in():
    for goal in ((1, 3), (0, 0)):
        assert walked(game_of("##### #>#E# #####"), goal) == []


def test_who_cannot_turn_pushes_aside():
    game = Session(Scenario.load("sokoban#1"), 0)
    assert walked(game, (2, 3)) == ["MOVE_RIGHT"]
    stage = GridStage(game, DARK)
    assert stage.command("TURN_LEFT") == "MOVE_LEFT"


def test_a_click_in_the_fog_walks_looking_ahead_until_something_is_seen():
    pygame.display.init()
    game = game_of("######### #>......# #######.# #E......# #########", view="explored")
    stage = GridStage(game, DARK)
    stage.view, stage.walks = "explored", True
    surface = pygame.Surface((900, 500), 0, 32)
    stage.draw(surface, surface.get_rect(), 1.0)
    taken = follow(game, stage, stage.click(stage._state.cell_rect(3, 7).center, 1))
    assert taken == [*["MOVE_FORWARD"] * 6, "TURN_RIGHT", "MOVE_FORWARD", "MOVE_FORWARD"]


def test_what_was_seen_is_remembered_as_it_was_and_forgotten_by_undo():
    game = game_of("######### #>..#...# #...7...# #.1.#..E# #########", view="explored")
    known = [game.frame().limit_to_explored().grid]
    for action in ("TURN_RIGHT", "TURN_RIGHT"):
        game.step(action)
        known.append(game.frame().limit_to_explored().grid)
    hidden = [(grid[..., 0] == 1).sum() for grid in known]
    assert hidden[0] > hidden[1] >= hidden[2] > 0
    assert (known[1][0] == known[0][0]).all()
    game.undo(2)
    assert (game.frame().limit_to_explored().grid == known[0]).all()
    game.redo(2)
    assert (game.frame().limit_to_explored().grid == known[2]).all()
    again = Session.from_replay(game.replay(), game.scenario)
    again.seek(2)
    assert (again.frame().limit_to_explored().grid == known[2]).all()
    whole = game.frame().grid
    assert np.array_equal(known[2][known[2][..., 0] != 1], whole[known[2][..., 0] != 1])


def test_steps_are_heard():
    game = game_of("##### #>yY# #..E# #####")

    def heard(action: str) -> str:
        before = game.frame()
        game.step(action)
        return step_sound(before, game.frame())

    actions = ("MOVE_LEFT", "PICK_N_DROP", "MOVE_FORWARD", "ACTUATE", "TURN_LEFT", "PICK_N_DROP")
    assert [heard(action) for action in actions] == ["bump", "take", "", "door", "", ""]
    assert [heard(action) for action in ("TURN_LEFT", "PICK_N_DROP")] == ["", "drop"]
