"""Classes of objects as GridVerse's pages write them: attributes, properties, states, colours."""

from __future__ import annotations

import copy
import enum
import pickle
from typing import Any

import pytest

from gv_engine import transition_function_registry
from gv_engine.gridverse import Agent, Grid, Orientation, Position, State
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.functions import transition_with_copy
from gv_engine.plugins.gridverse.grid_object import (
    Box,
    Color,
    Door,
    Floor,
    GridObject,
    Hidden,
    Key,
    Wall,
    grid_object_registry,
)

move_agent = transition_function_registry["move_agent"]


class Gate(GridObject):
    """Opens and closes; its state decides what it blocks and which colour it shows."""

    holdable = False

    class Status(enum.Enum):
        SHUT = 0
        OPEN = enum.auto()

    state: Gate.Status

    def __init__(self, state: Gate.Status) -> None:
        self.state = state

    @classmethod
    def can_be_represented_in_state(cls) -> bool:
        return False

    @classmethod
    def num_states(cls) -> int:
        return len(Gate.Status)

    @property  # type: ignore[misc]  # read-only
    def state_index(self) -> int:
        return self.state.value

    @property  # type: ignore[misc]  # read-only
    def color(self) -> Color:
        return Color.RED if self.state is Gate.Status.SHUT else Color.GREEN

    @property
    def blocks_movement(self) -> bool:  # type: ignore[override]
        return self.state is Gate.Status.SHUT

    blocks_vision = blocks_movement


class Counter(GridObject):
    """Counts to two, without a Status."""

    count: int = 0
    color = Color.NONE
    blocks_movement = blocks_vision = False
    holdable = True

    @classmethod
    def num_states(cls) -> int:
        return 3

    @property  # type: ignore[misc]  # read-only
    def state_index(self) -> int:
        return self.count


class Painted(GridObject, register=False):
    """Base of objects with a colour."""

    color: Color
    blocks_movement = True
    weight: int = 3

    def __init__(self, color: Color) -> None:
        self.color = color


class Stone(Painted):
    state_index = 0


class Tile(GridObject):
    """Has a colour of its own, none at first."""

    state_index = 0
    color = Color.NONE

    def __init__(self, color: Color = Color.NONE) -> None:
        self.color = color


def beside(thing: GridObject) -> State:
    return State(Grid([[Floor(), thing]]), Agent(Position(0, 0), Orientation.R))


def test_properties_decide_as_the_object_changes():
    gate = Gate(Gate.Status.SHUT)
    state = beside(gate)
    world: Any = state.world
    assert gate.appearance == (Gate.type_index(), 0, Color.RED)
    assert world.solid.has[gate.entity]
    move_agent(state, Action.MOVE_FORWARD)
    assert state.agent.position == Position(0, 0)
    gate.state = Gate.Status.OPEN
    assert gate.appearance == (Gate.type_index(), 1, Color.GREEN)
    assert not world.solid.has[gate.entity]
    assert not world.opaque.has[gate.entity]
    assert state.to_arrays()["grid"][0, 1].tolist() == [Gate.type_index(), 1, 2]
    move_agent(state, Action.MOVE_FORWARD)
    assert state.agent.position == Position(0, 1)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_states_have_objects_of_their_own(again):
    gate = Gate(Gate.Status.OPEN)
    other: Any = again(beside(gate)).grid[0, 1]
    assert other.state is Gate.Status.OPEN
    assert other == gate
    other.state = Gate.Status.SHUT
    assert other.blocks_movement
    assert not gate.blocks_movement


def test_a_transition_can_run_on_a_copy():
    state = beside(Floor())
    moved = transition_with_copy(move_agent, state, Action.MOVE_FORWARD)
    assert (state.agent.position, moved.agent.position) == ((0, 0), (0, 1))


def test_states_without_a_status():
    counter = Counter()
    state = beside(counter)
    counter.count = 2
    assert state.to_arrays()["grid"][0, 1].tolist() == [Counter.type_index(), 2, 0]
    assert Counter.num_states() == len(Counter.kind.states) == 3
    with pytest.raises(ValueError, match="has states 0 to 2, found 3"):
        counter.count = 3


def test_a_base_without_a_type_gives_its_attributes():
    stone = Stone(Color.BLUE)
    assert (stone.color, stone.blocks_movement, stone.weight) == (Color.BLUE, True, 3)
    assert Stone in grid_object_registry
    assert Painted not in grid_object_registry
    with pytest.raises(TypeError, match="Painted is no type of its own"):
        Painted(Color.BLUE)
    assert grid_object_registry.register(Painted) in grid_object_registry
    assert Painted(Color.RED).appearance == (Painted.type_index(), 0, 1)


def test_a_colour_as_an_attribute():
    assert Tile().color is Color.NONE
    assert Tile(Color.YELLOW).color is Color.YELLOW
    tile = Tile()
    beside(tile)
    tile.color = Color.RED
    assert tile.appearance[2] == Color.RED


def test_the_registry_lists_classes_by_type_index():
    assert grid_object_registry[Gate.type_index()] is Gate
    assert grid_object_registry.names()[:4] == ["NoneGridObject", "Hidden", "Floor", "Wall"]
    assert grid_object_registry[2:4] == [Floor, Wall]
    assert grid_object_registry.index(Key) == Key.type_index()
    assert grid_object_registry.from_name("Gate") is Gate
    with pytest.raises(ValueError, match="did you mean 'Wall'"):
        grid_object_registry.from_name("Wal")


def test_what_arrays_describe_completely():
    kinds = Floor, Door, Hidden, Box, Gate
    assert [kind.can_be_represented_in_state() for kind in kinds] == [True, True, *[False] * 3]


def test_doors_have_their_status_by_both_names():
    door = Door(Door.Status.CLOSED, Color.RED)
    assert door.state is door.status is Door.Status.CLOSED
    door.state = Door.Status.OPEN
    assert door.is_open
    assert Door.Status.OPEN, "a member is true"


def test_floors_are_objects_too():
    grid, floor = Grid.from_shape((2, 2)), Floor()
    wall: GridObject = Wall()
    assert grid[0, 0] is grid[0, 0]
    grid[0, 1] = floor
    other = grid[1, 1]
    grid.swap(Position(0, 1), Position(1, 1))
    assert grid[1, 1] is floor
    assert grid[0, 1] is other
    grid[0, 1] = wall
    grid.swap((0, 1), (1, 1))
    assert (grid[0, 1] is floor, grid[1, 1] is wall) == (True, True)
    assert Grid(grid.objects) == grid
    assert grid.objects[0][1] is floor
