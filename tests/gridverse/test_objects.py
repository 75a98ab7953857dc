"""Grid objects: their constructors, types of one's own, and whose components they are."""

import copy
import pickle
from enum import IntEnum
from typing import Any

import pytest

import components
from gv_engine import RuleError, object_type
from gv_engine.gridverse import (
    Agent,
    Beacon,
    Box,
    Color,
    Door,
    Exit,
    Floor,
    Grid,
    GridObject,
    Hidden,
    Key,
    MovingObstacle,
    NoneGridObject,
    Orientation,
    Position,
    State,
    Telepod,
    Wall,
)
from gv_engine.gridverse.grid_object import class_of
from gv_engine.rules.component import Int8, is_component
from gv_engine.rules.objects import COLORS, OBJECT_TYPES


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


COPYING = [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
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


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
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
def test_what_makes_no_object(make, error, says):
    with pytest.raises(error, match=says):
        make()


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
        ("blocks_vision", 1, r"Ghost.blocks_vision must be True or False"),
        ("Status", IntEnum("status", ["A", "B"], start=0), "status: Status"),
    ],
)
def test_a_type_has_flags_that_are_true_or_false_and_a_field_for_its_states(name, value, says):
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
    assert sum(state.world.alive) == 2  # the agent and the wall
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
