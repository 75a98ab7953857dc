"""Geometry, grids, agents, states and observations, chance for authors; and grid objects: their
constructors, types of one's own, and whose components they are."""

import copy
import pickle
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

import components
from gv_engine import RuleError, Scenario, object_type, reset_function_registry
from gv_engine.gridverse import Beacon, GridObject, Hidden, MovingObstacle, NoneGridObject, Telepod
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.agent import Agent
from gv_engine.plugins.gridverse.geometry import Area, Orientation, Position, Shape, Transform
from gv_engine.plugins.gridverse.grid import Grid
from gv_engine.plugins.gridverse.grid_object import (
    Box,
    Color,
    Door,
    Exit,
    Floor,
    Key,
    Wall,
    class_of,
)
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.rng import (
    choice,
    choices,
    get_gv_rng_if_none,
    make_rng,
    reset_gv_rng,
    shuffle,
)
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules import geometry
from gv_engine.rules.component import Int8, is_component
from gv_engine.rules.objects import COLORS, OBJECT_TYPES

COPYING = [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
F, B, L, R = Orientation.F, Orientation.B, Orientation.L, Orientation.R


def small_state() -> State:
    above = [Wall(), Door(Door.Status.CLOSED, Color.RED), Wall()]
    grid = Grid([above, [Floor(), Box(Key(Color.BLUE)), Exit()]])
    return State(grid, Agent(Position(1, 0), F, Key(Color.GREEN)))


# ---- geometry ------------------------------------------------------------------------------------


def test_actions_are_those_of_the_engine():
    assert [action.name for action in Action] == list(geometry.ACTIONS)
    assert [action for action in Action if action.is_move()] == list(Action)[:4]


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


def test_without_a_generator_there_is_a_common_one():
    rng = make_rng(0)
    assert get_gv_rng_if_none(rng) is rng
    keydoor = reset_function_registry["keydoor"]
    drawn = [keydoor(Shape(7, 7)) for _ in map(reset_gv_rng, (3, 3))]
    assert drawn[0] == drawn[1] != keydoor(Shape(7, 7))
    assert get_gv_rng_if_none(None).random() != get_gv_rng_if_none(None).random()


# ---- objects -------------------------------------------------------------------------------------


class Lantern(GridObject):
    """Can be lit, in some colour."""

    class Status(IntEnum):
        OFF = 0
        ON = 1

    status: Status = Status.OFF
    watts: int = 40
    colored = True
    holdable = True


class Boulder(GridObject):
    blocks_movement = True
    blocks_vision = True


class Medal(GridObject):
    color = Color.YELLOW
    holdable = True


class Vault(Door):
    """A door, and something of its own."""

    gold: Int8 = 7


BUILT_IN = [
    # object, colour, states, blocks movement, blocks vision, holdable
    (NoneGridObject(), "NONE", 1, False, True, False),
    (Hidden(), "NONE", 1, False, True, False),
    (Floor(), "NONE", 1, False, False, False),
    (Wall(), "NONE", 1, True, True, False),
    (Exit(), "NONE", 1, False, False, False),
    (Door(Door.Status.OPEN, Color.RED), "RED", 3, False, False, False),
    (Key(Color.GREEN), "GREEN", 1, False, False, True),
    (MovingObstacle(), "NONE", 1, False, False, False),
    (Box(Floor()), "NONE", 1, True, False, False),
    (Telepod(Color.BLUE), "BLUE", 1, False, False, False),
    (Beacon(Color.YELLOW), "YELLOW", 1, False, False, False),
]


@pytest.mark.parametrize("index", range(len(BUILT_IN)))
def test_built_in_types_are_those_of_the_specification(index):
    thing, color, states, movement, vision, holdable = BUILT_IN[index]
    assert thing.type_index() == index
    assert type(thing).__name__ == OBJECT_TYPES[index].name
    assert thing.color.name == color
    assert thing.num_states() == states
    assert (thing.blocks_movement, thing.blocks_vision) == (movement, vision)
    assert thing.holdable is holdable


def test_colors_are_those_of_the_engine():
    assert [color.name for color in Color] == list(COLORS)


@pytest.mark.parametrize("status", Door.Status)
def test_doors_block_unless_open(status):
    door = Door(status, Color.RED)
    assert door.blocks_movement is door.blocks_vision is (status is not Door.Status.OPEN)
    assert door.is_open is not door.blocks_movement
    assert door.state_index == status
    with pytest.raises(AttributeError, match="status"):
        door.blocks_movement = False


def test_objects_are_values():
    assert Key(Color.RED) == Key(Color.RED) != Key(Color.BLUE)
    assert Key(Color.RED) != Telepod(Color.RED)
    assert hash(Key(Color.RED)) == hash(Key(Color.RED))
    assert Box(Key(Color.RED)) == Box(Floor())  # what is inside takes no part
    written = "Box(Door(Door.Status.LOCKED, Color.RED))"
    assert repr(Box(Door(Door.Status.LOCKED, Color.RED))) == written


def test_types_of_ones_own_get_the_next_indices():
    assert Boulder.type_index() == Lantern.type_index() + 1 > 10
    assert class_of(Lantern.type_index()) is Lantern
    assert OBJECT_TYPES["Lantern"].states == ("OFF", "ON")
    lantern = Lantern(Lantern.Status.ON, watts=60, color=Color.BLUE)
    assert lantern.appearance == (Lantern.type_index(), 1, 3)
    assert repr(lantern) == "Lantern(Lantern.Status.ON, 60, Color.BLUE)"
    assert (lantern.holdable, lantern.blocks_movement) == (True, False)
    assert Boulder().blocks_movement
    assert Boulder().blocks_vision
    assert Medal().color == Color.YELLOW
    assert Medal(color=Color.RED).color == Color.RED
    assert is_component(OBJECT_TYPES["Lantern"].components[0][0])


def test_a_subtype_has_the_parts_of_its_base():
    vault = Vault(Door.Status.LOCKED, Color.RED)
    assert (vault.status, vault.gold, vault.blocks_movement) == (2, 7, True)
    world = two_cells(vault).world
    assert world.door.has[vault.entity]
    assert world.vault.gold[vault.entity] == 7


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("blocks_vision", 1, r"Ghost.blocks_vision must be True, False or a property"),
        ("Status", IntEnum("status", ["A", "B"], start=1), "count from 0"),
    ],
)
def test_a_type_has_flags_that_are_true_or_false_and_states_from_0_on(name, value, says):
    with pytest.raises(TypeError, match=says):
        type("Ghost", (GridObject,), {name: value})


def test_types_declared_by_their_components_have_classes_too():
    index = object_type("Anvil", components.Solid, components.Color)
    anvil = class_of(index)(color=Color.RED)
    assert (type(anvil).__name__, anvil.blocks_movement, anvil.color) == ("Anvil", True, 1)


# ---- whose components they are -------------------------------------------------------------------


def two_cells(thing: GridObject) -> State:
    return State(Grid([[thing, Floor()]]), Agent(Position(0, 1), Orientation.L))


def test_an_object_owns_the_components_that_the_columns_read():
    door = Door(Door.Status.LOCKED, Color.RED)
    state = two_cells(door)
    w, e = state.world, door.entity
    assert state.grid[0, 0] is door
    w.door.status[e] = 0
    assert door.is_open
    door.status = Door.Status.CLOSED
    door.color = Color.BLUE
    assert (w.door.status[e], w.color.value[e]) == (1, 3)
    assert not w.solid.has[e]


def test_flags_of_an_object_are_components():
    lantern = Lantern()
    state = two_cells(lantern)
    lantern.blocks_movement = True
    lantern.holdable = False
    assert state.world.solid.has[lantern.entity]
    assert not state.world.portable.has[lantern.entity]
    state.world.take(lantern.entity, "solid")
    assert not lantern.blocks_movement


def test_one_object_in_two_cells_is_copied():
    door = Door(Door.Status.LOCKED, Color.RED)
    grid = Grid([[door, door]])
    assert grid[0, 0] is door
    assert grid[0, 1] is not door
    door.status = Door.Status.OPEN
    assert grid[0, 1] == Door(Door.Status.LOCKED, Color.RED)


def test_what_is_replaced_lives_on_by_itself():
    box = Box(Box(Key(Color.RED)))
    state = two_cells(box)
    inner = box.content
    state.grid[0, 0] = Wall()
    assert not box.is_in_world
    assert box.content is inner
    assert repr(box) == "Box(Box(Key(Color.RED)))"
    alive = state.world.alive[state.world.layout.first_object :]
    assert sum(alive) == 1  # the wall
    state.grid[0, 1] = box
    assert state.grid[0, 1] is box
    assert state.grid[0, 1].content is inner
    assert inner.entity == state.world.box.content[box.entity]


def test_an_object_that_a_rule_removed_keeps_its_last_values():
    door = Door(Door.Status.LOCKED, Color.RED)
    state = two_cells(door)
    e = door.entity
    state.world.remove(e)
    assert door == Door(Door.Status.LOCKED, Color.RED)
    door.status = Door.Status.OPEN  # and is no longer in the way of who comes next
    state.grid[0, 0] = Key(Color.BLUE)
    assert state.grid[0, 0].entity == e
    assert door.entity == 0


def test_content_can_be_exchanged_in_a_world():
    box = Box(Key(Color.RED))
    state = two_cells(box)
    box.content = Door(Door.Status.CLOSED, Color.GREEN)
    assert state.to_arrays()["content"][0, 0].tolist() == [5, 1, 2]
    box.content = Floor()
    assert state.world.box.content[box.entity] == 0
    assert box.content == Floor()


@pytest.mark.parametrize("again", COPYING)
@pytest.mark.parametrize("housed", [False, True])
def test_copies_are_independent(again, housed):
    box = Box(Lantern(Lantern.Status.ON, 60, color=Color.RED))
    if housed:
        two_cells(box)
    other: Any = again(box)
    assert repr(other) == repr(box)
    assert not other.is_in_world
    other.content.status = Lantern.Status.OFF
    assert box.content.state_index == 1


def test_a_world_refuses_what_it_does_not_know():
    state = two_cells(Wall())

    class Newcomer(GridObject):
        """Declared too late."""

    with pytest.raises(RuleError, match=r"Newcomer cannot be in this world.*before the grid"):
        state.grid[0, 0] = Newcomer()
    assert state.grid[0, 0] == Wall()


START = Position(0, 0)
NO_OBJECT: Any = 3


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Area((2, 0), (0, 0)), ValueError, "smaller number first"),
        (lambda: list(Area((0, 2), (1, 3)).positions("borders")), ValueError, "mean 'border'"),
        (lambda: Grid([]), ValueError, "lengths"),
        (lambda: Grid([[]]), ValueError, "at least one"),
        (lambda: Grid([[Wall()], [Wall(), Wall()]]), ValueError, r"lengths \[1, 2\]"),
        (lambda: Grid([[NO_OBJECT]]), TypeError, "expected a grid object"),
        (lambda: Grid([[NoneGridObject()]]), ValueError, "no cell"),
        (lambda: Agent(START, F, Floor()), ValueError, "cannot be held"),
        (lambda: Agent(START, F, Hidden()), ValueError, "cannot be held"),
        (lambda: State(Grid([[Floor()]]), Agent(Position(0, 1), F)), ValueError, "outside the"),
        (lambda: State(Grid([[Hidden()]]), Agent(START, F)), ValueError, "Hidden"),
        (lambda: Box(Hidden()), ValueError, "can stand in a cell"),
        (lambda: Box(NoneGridObject()), ValueError, "can stand in a cell"),
        (lambda: GridObject(), TypeError, "subclass"),
        (lambda: Lantern(Lantern.Status.ON, 3, 4), TypeError, "has 2 fields, found 3"),
        (lambda: Lantern(volts=3), TypeError, "no field 'volts'.*status, watts"),
        (lambda: Boulder(color=Color.RED), ValueError, "no colour"),
        (lambda: setattr(Wall(), "color", Color.RED), ValueError, "no colour"),
        (lambda: setattr(Wall(), "height", 3), AttributeError, "height: int = 0"),
        (lambda: Door(7, Color.RED), ValueError, "7"),
    ],
)
def test_what_cannot_be_made(make, error, says):
    with pytest.raises(error, match=says):
        make()
