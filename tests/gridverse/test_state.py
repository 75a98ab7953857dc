"""Positions and orientations, grids, agents, states and observations, and chance for authors."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.gridverse import (
    Action,
    Agent,
    Area,
    Box,
    Color,
    Door,
    Exit,
    Floor,
    Grid,
    Hidden,
    Key,
    NoneGridObject,
    Observation,
    Orientation,
    Position,
    Shape,
    State,
    Transform,
    Wall,
    choice,
    choices,
    design,
    get_gv_rng_if_none,
    make_rng,
    shuffle,
)
from gv_engine.rules import geometry
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.scenario.map import grid_to_text

COPYING = [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
F, B, L, R = Orientation.F, Orientation.B, Orientation.L, Orientation.R


def small_state() -> State:
    above = [Wall(), Door(Door.Status.CLOSED, Color.RED), Wall()]
    grid = Grid([above, [Floor(), Box(Key(Color.BLUE)), Exit()]])
    return State(grid, Agent(Position(1, 0), F, Key(Color.GREEN)))


# ---- geometry ------------------------------------------------------------------------------------


def test_actions_are_those_of_the_engine():
    assert [action.name for action in Action] == list(geometry.ACTIONS)
    assert [action for action in Action if action.is_move] == list(Action)[:4]


@pytest.mark.parametrize(("one", "other", "both"), [(R, R, B), (R, L, F), (B, L, R), (F, L, L)])
def test_orientations_compose(one, other, both):
    assert one * other is both
    assert -one * one is F


def test_orientations_turn_positions_and_areas():
    assert R * Position(-1, 0) == (0, 1)
    assert L * Position(-2, 1) == (-1, -2)
    assert R * Area((-6, 0), (-3, 3)) == Area((-3, 3), (0, 6))
    at = Transform(Position(4, 2), R)
    assert at * Position(-1, 0) == (4, 3)
    assert (-at) * (at * Position(3, 5)) == (3, 5)
    assert (at * at).orientation is B


def test_positions_are_pairs():
    y, x = Position(2, 3) + (1, 1)
    assert (y, x) == (3, 4)
    assert Position(2, 3) - Position(1, 5) == Position(1, -2)
    assert Position(1, 2) * 3 == (3, 6)
    assert Position.manhattan_distance(Position(0, 0), Position(3, 4)) == 7
    assert Position.euclidean_distance(Position(0, 0), Position(3, 4)) == 5
    assert [tuple(p) for p in Position(1, 1).neighbors()] == [(0, 1), (1, 2), (2, 1), (1, 0)]


def test_areas():
    area = Area((0, 2), (1, 3))
    assert (area.height, area.width, area.shape) == (3, 3, (3, 3))
    assert area.contains((2, 3))
    assert not area.contains((3, 3))
    assert list(area.positions("inside")) == [(1, 2)]
    assert len(list(area.positions("border"))) == 8
    assert area + Position(1, 1) == Area((1, 3), (2, 4))


# ---- grids ---------------------------------------------------------------------------------------


def test_cells_by_pair_and_by_position():
    grid = small_state().grid
    assert grid.shape == Shape(2, 3)
    assert grid.area == Area((0, 1), (0, 2))
    assert grid[0, 1] is grid[Position(0, 1)]
    assert grid.object_types() == {Wall, Door, Floor, Box, Exit}
    assert list(grid.positions(Wall)) == [(0, 0), (0, 2)]
    assert [type(thing).__name__ for thing in grid][:2] == ["Wall", "Door"]


@pytest.mark.parametrize("position", [(-1, 0), (0, 3), (2, 0), Position(0, -1)])
def test_there_is_nothing_outside_the_grid(position):
    grid = small_state().grid
    assert position not in grid
    assert isinstance(grid.get(position, Hidden), Hidden)
    with pytest.raises(IndexError, match="outside the grid of 2×3"):
        grid[position]
    with pytest.raises(IndexError, match="outside"):
        grid[position] = Wall()


START = Position(0, 0)
NO_OBJECT: Any = 3


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Area((2, 0), (0, 0)), ValueError, "smaller number first"),
        (
            lambda: list(Area((0, 2), (1, 3)).positions("borders")),
            ValueError,
            "did you mean 'border'",
        ),
        (lambda: Grid([]), ValueError, "lengths"),
        (lambda: Grid([[]]), ValueError, "at least one"),
        (lambda: Grid([[Wall()], [Wall(), Wall()]]), ValueError, r"lengths \[1, 2\]"),
        (lambda: Grid([[NO_OBJECT]]), TypeError, "expected a grid object"),
        (lambda: Grid([[NoneGridObject()]]), ValueError, "no cell"),
        (lambda: Agent(START, F, Floor()), ValueError, "cannot be held"),
        (lambda: Agent(START, F, Hidden()), ValueError, "cannot be held"),
        (
            lambda: State(Grid([[Floor()]]), Agent(Position(0, 1), F)),
            ValueError,
            "outside the grid",
        ),
        (lambda: State(Grid([[Hidden()]]), Agent(START, F)), ValueError, "Hidden"),
    ],
)
def test_what_makes_no_area_grid_agent_or_state(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_a_part_of_the_grid():
    part = small_state().grid.subgrid([[-1, 0], [1, 3]])
    inside = [Door(Door.Status.CLOSED, Color.RED), Wall(), Hidden()]
    assert part == Grid([[Hidden()] * 3, inside])


def test_a_grid_as_others_see_it():
    grid = Grid([[Wall(), Exit()], [Floor(), Floor()], [Key(Color.RED), Floor()]])
    assert grid * F == grid
    # to the right of who looks right lies what is below
    assert grid * R == Grid([[Exit(), Floor(), Floor()], [Wall(), Floor(), Key(Color.RED)]])
    assert (grid * R) * R == grid * B
    assert (grid * R) * L == grid


def test_swapping_moves_the_objects_themselves_and_what_is_in_the_hand():
    state = small_state()
    door, box = state.grid[0, 1], state.grid[1, 1]
    state.grid.swap((0, 1), (1, 1))
    assert state.grid[1, 1] is door
    assert state.grid[0, 1] is box
    state.grid.swap((1, 1), (1, 0))
    assert state.grid[1, 0] is door
    assert state.grid[1, 1] == Floor()
    state.grid.swap((1, 0), (1, 0))
    assert state.grid[1, 0] is door
    state.grid[0, 0], state.grid[1, 0] = state.grid[1, 0], state.grid[0, 0]
    assert isinstance(state.grid[0, 0], Door)
    assert isinstance(state.grid[1, 0], Wall)
    state.grid[1, 2], state.agent.grid_object = state.agent.grid_object, state.grid[1, 2]
    assert state.grid[1, 2] == Key(Color.GREEN)
    assert state.agent.grid_object == Exit()


def test_drawing_helpers():
    grid = Grid.from_shape((7, 9))
    assert len(design.draw_wall_boundary(grid)) == 28
    design.draw_room_grid(grid, [0, 3, 6], [0, 4, 8])
    design.draw_line_horizontal(grid, 1, range(1, 3), Exit)
    design.draw_line_vertical(grid, [4, 5], 1, lambda: Key(Color.YELLOW))
    design.draw_area(grid, design.rooms_of([0, 3, 6], [0, 4, 8])[3], Exit, fill=True)
    drawn = """\
#########
#EE.#...#
#...#...#
#########
#K..#EEE#
#K..#EEE#
#########"""
    assert grid_to_text(grid.to_array(), OBJECT_TYPES) == drawn
    assert design.draw_room(grid, Area((0, 1), (0, 1))) == [(0, 0), (0, 1), (1, 0), (1, 1)]


# ---- agents and states ---------------------------------------------------------------------------


def test_the_agent_is_that_of_the_world():
    state = small_state()
    w, agent = state.world, state.agent
    agent.orientation = R
    agent.position = Position(0, 1)
    assert (w.agent.facing[1], w.position.y[1], w.position.x[1]) == (R, 0, 1)
    w.agent.facing[1] = L
    assert agent.orientation is L
    assert agent.front() == (0, 0)
    assert agent.transform * Position(-1, 0) == (0, 0)
    agent.grid_object = NoneGridObject()
    assert w.agent.holding[1] == 0
    with pytest.raises(ValueError, match="outside the grid"):
        agent.position = Position(5, 5)


def test_states_are_values():
    one, other = small_state(), small_state()
    assert one == other
    assert hash(one) == hash(other)
    other.agent.orientation = B
    assert one != other
    third = small_state()
    box: Any = third.grid[1, 1]
    box.content = Floor()
    assert one == third  # contents take no part
    third.agent.grid_object = NoneGridObject()
    assert one != third


@pytest.mark.parametrize("again", COPYING)
def test_copies_of_states_have_the_same_future(again):
    state = small_state()
    other = again(state)
    assert other == state
    assert other.world.rng.random() == state.world.rng.random()
    other.grid[0, 1].status = Door.Status.OPEN
    assert other != state


def test_a_grid_and_an_agent_belong_to_one_state():
    grid, agent = Grid([[Floor(), Wall()]]), Agent(Position(0, 0), F)
    one, other = State(grid, agent), State(grid, agent)
    assert one.grid is grid
    assert one.agent is agent
    agent.orientation = B
    grid[0, 1] = Exit()
    assert other.agent.orientation is F
    assert other.grid[0, 1] == Wall()


def test_no_cell_of_a_state_becomes_hidden():
    with pytest.raises(ValueError, match="no cell of a state"):
        small_state().grid[0, 0] = Hidden()


# ---- arrays --------------------------------------------------------------------------------------


def test_states_as_arrays():
    state = small_state()
    arrays: Any = state.to_arrays()
    assert {key: (a.shape, a.dtype.name) for key, a in arrays.items()} == {
        "grid": ((2, 3, 3), "uint8"),
        "agent": ((3,), "int64"),
        "item": ((3,), "uint8"),
        "content": ((2, 3, 3), "uint8"),
    }
    assert arrays["content"].tolist() == [[[0] * 3] * 3, [[0] * 3, [6, 0, 3], [0] * 3]]
    again = State.from_arrays(**arrays)
    assert again == state
    box: Any = again.grid[1, 1]
    assert box.content == Key(Color.BLUE)
    empty = State.from_arrays(arrays["grid"], arrays["agent"], arrays["item"])
    assert empty.to_arrays()["content"][1, 1].tolist() == [2, 0, 0]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("grid", np.zeros((2, 3)), r"grid has shape \(2, 3\).*expected"),
        ("grid", [[[99, 0, 0]]], r"grid\[0, 0\] has type 99"),
        ("grid", [[[1, 0, 0]]], r"grid\[0, 0\] is a Hidden"),
        ("grid", [[[5, 3, 0]]], r"grid\[0, 0\] has state 3: a Door has 3"),
        ("grid", [[[3, 0, 1]]], r"colour 1, which no Wall has"),
        ("agent", [0, 0], r"agent has shape \(2,\)"),
        ("agent", [0, 0, 4], "an orientation is 0 to 3"),
        ("agent", [5, 0, 0], "outside the grid"),
        ("item", [2, 0, 0], "stands for an empty hand"),
        ("content", [[[6, 0, 1]]], "but the cell has Floor"),
    ],
)
def test_arrays_that_mean_nothing(key, value, says):
    arrays = {"grid": [[[2, 0, 0]]], "agent": [0, 0, 0], "item": [0, 0, 0], "content": None}
    with pytest.raises(ValueError, match=says):
        State.from_arrays(**{**arrays, key: value})


def test_observations_as_arrays():
    env = Scenario.load("keydoor-5x5").inner_env()
    env.set_seed(0)
    env.reset()
    arrays = env.observation.to_arrays()
    assert set(arrays) == {"grid", "agent", "item"}
    again = Observation.from_arrays(**arrays)
    assert again == env.observation
    assert hash(again) == hash(env.observation)
    again.grid[0, 0] = Exit()
    assert again != env.observation
    assert again.to_arrays()["grid"][0, 0].tolist() == [4, 0, 0]
    assert pickle.loads(pickle.dumps(again)) == again


# ---- chance --------------------------------------------------------------------------------------


def test_helpers_draw_as_the_specification_says():
    rng, twin = make_rng(3), np.random.default_rng(3)
    data = ["a", "b", "c", "d", "e"]
    assert choice(rng, data) == data[twin.choice(5)]
    picked = twin.choice(5, size=3, replace=False)
    assert choices(rng, data, size=3, replace=False) == [data[i] for i in picked]
    indices = [0, 1, 2, 3, 4]
    twin.shuffle(indices)
    assert shuffle(rng, data) == [data[i] for i in indices]
    assert data == ["a", "b", "c", "d", "e"]
    assert rng.random() == twin.random()


def test_without_a_generator_there_is_a_fresh_one():
    rng = make_rng(0)
    assert get_gv_rng_if_none(rng) is rng
    assert get_gv_rng_if_none(None).random() != get_gv_rng_if_none(None).random()
