"""What resets can draw, and what not (GridVerse specification, section 7).

Recordings say what a seed gives; these tests, that every place and colour has its chance and no
other has. That both worlds draw alike is held by `test_everything`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from components.core import FLOOR, YELLOW
from components.items import LOCKED
from components.objects import BEACON, DOOR, EXIT, KEY, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine import AGENT, Scenario, ScenarioError, Simulation
from gv_engine.rules.geometry import BACKWARD, FORWARD, RIGHT
from gv_engine.rules.objects import COLORS
from systems.reward import shortest_path_length
from tests.scenario.reading import RULES


class SampledLevel:
    """A level that was drawn."""

    def __init__(self, world):
        self.cells = world.cells()
        self.kinds = self.cells[..., 0]
        self.agent = world.position.y[AGENT], world.position.x[AGENT]
        self.facing = world.agent.facing[AGENT]
        self.way = shortest_path_length(world, AGENT, EXIT) if self.count(EXIT) == 1 else None

    def where(self, kind):
        """Cells with an object of a type."""
        return {tuple(cell) for cell in np.argwhere(self.kinds == kind).tolist()}

    def count(self, kind):
        return len(self.where(kind))

    def colors(self, kind):
        """Names of the colours of the objects of a type."""
        return [COLORS[color] for color in self.cells[self.kinds == kind][:, 2]]


def levels(count=300, objects=None, **reset):
    """Levels that a reset draws, from the seeds 0, 1, 2 …"""
    played = Scenario.load({**RULES, "objects": objects or {}, "reset_function": reset})
    simulation = Simulation(played)
    for seed in range(count):
        simulation.reset(np.random.default_rng(seed))
        yield SampledLevel(simulation.world)


def box(top, left, bottom, right):
    """The cells of a rectangle, the last ones included."""
    return {(y, x) for y in range(top, bottom + 1) for x in range(left, right + 1)}


def border(height, width):
    return box(0, 0, height - 1, width - 1) - box(1, 1, height - 2, width - 2)


# ---- empty -------------------------------------------------------------------------------------


def test_an_empty_room():
    (level,) = levels(1, name="empty", shape=[5, 6])
    assert level.where(WALL) == border(5, 6)
    assert level.where(EXIT) == {(3, 4)}
    assert (level.agent, level.facing) == ((1, 1), RIGHT)
    assert level.count(FLOOR) == 3 * 4 - 1


def test_exits_and_agents_anywhere():
    drawn = [*levels(name="empty", shape=[5, 6], random_agent=True, random_exit=True)]
    inner = box(1, 1, 3, 4)
    exits = [exit for level in drawn for exit in level.where(EXIT)]
    assert len(exits) == len(drawn)
    assert {*exits} == {level.agent for level in drawn} == inner
    assert {level.facing for level in drawn} == {*range(4)}
    assert all(level.agent not in level.where(EXIT) for level in drawn)
    assert all(level.where(WALL) == border(5, 6) for level in drawn)


# ---- keydoor -----------------------------------------------------------------------------------


def test_a_key_and_a_door():
    walls, doors, keys, agents = (Counter[Any]() for _ in range(4))
    for level in levels(name="keydoor", shape=[5, 7]):
        (door,), (key,) = level.where(DOOR), level.where(KEY)
        assert level.where(WALL) == border(5, 7) | {(y, door[1]) for y in (1, 2, 3)} - {door}
        assert level.cells[door].tolist() == [DOOR, LOCKED, YELLOW]
        assert level.cells[key].tolist() == [KEY, 0, YELLOW]
        assert level.where(EXIT) == {(3, 5)}
        walls[door[1]] += 1
        doors[door[0]] += 1
        keys[key[0], key[1] - door[1]] += 1
        agents[level.agent[0], level.agent[1] - door[1], level.facing] += 1
    assert walls.keys() == {2, 3, 4}
    assert doors.keys() == {1, 2, 3}
    # so many cells to the left of the door
    assert keys.keys() == {(y, x) for y in (1, 2, 3) for x in (-1, -2, -3)}
    assert {key[:2] for key in agents} == keys.keys()
    assert {facing for _, _, facing in agents} == {*range(4)}


# ---- dynamic_obstacles -------------------------------------------------------------------------


@pytest.mark.parametrize("random_agent", [False, True])
def test_obstacles_anywhere_but_on_the_exit_and_the_agent(random_agent):
    obstacles, agents = set(), set()
    room = {"name": "dynamic_obstacles", "shape": [5, 5], "random_agent": random_agent}
    for level in levels(num_obstacles=2, **room):
        assert level.count(MOVING_OBSTACLE) == 2
        assert level.where(EXIT) == {(3, 3)}
        assert level.agent not in level.where(MOVING_OBSTACLE)
        obstacles |= level.where(MOVING_OBSTACLE)
        agents.add((level.agent, level.facing))
    inner = box(1, 1, 3, 3) - {(3, 3)}
    if random_agent:
        assert obstacles == inner
        assert agents == {(cell, facing) for cell in inner for facing in range(4)}
    else:
        assert obstacles == inner - {(1, 1)}
        assert agents == {((1, 1), RIGHT)}


@pytest.mark.parametrize("shape", [[4, 6], [6, 4]])
def test_as_many_obstacles_as_there_is_room_for(shape):
    for number in (0, 6):
        (level,) = levels(1, name="dynamic_obstacles", shape=shape, num_obstacles=number)
        assert level.count(MOVING_OBSTACLE) == number
    with pytest.raises(ScenarioError, match="has room for 0 to 6"):
        next(levels(1, name="dynamic_obstacles", shape=shape, num_obstacles=7))


# ---- rooms -------------------------------------------------------------------------------------


@pytest.mark.sample("shape1", "shape2")
@pytest.mark.parametrize(
    ("shape", "layout", "rows", "columns"),
    [
        ((7, 9), (2, 2), (0, 3, 6), (0, 4, 8)),
        ((8, 7), (2, 3), (0, 3, 7), (0, 2, 4, 6)),
        ((10, 5), (3, 1), (0, 3, 6, 9), (0, 4)),
        ((5, 11), (1, 3), (0, 4), (0, 3, 6, 10)),
    ],
)
def test_rooms_and_the_openings_between_them(shape, layout, rows, columns):
    lines = {(y, x) for y in range(shape[0]) for x in range(shape[1]) if y in rows or x in columns}
    # for each wall between two rooms, the cells where it may be open
    between = [
        *(
            box(y, left + 1, y, right - 1)
            for y in rows[1:-1]
            for left, right in itertools.pairwise(columns)
        ),
        *(
            box(top + 1, x, bottom - 1, x)
            for x in columns[1:-1]
            for top, bottom in itertools.pairwise(rows)
        ),
    ]
    openings, agents, exits, facings = (set() for _ in range(4))
    for level in levels(name="rooms", shape=list(shape), layout=list(layout)):
        walls = level.where(WALL)
        assert walls < lines
        opened = lines - walls
        assert [len(opened & wall) for wall in between] == [1] * len(between)
        assert len(opened) == len(between)
        assert level.way not in (0, np.inf)
        openings |= opened
        agents.add(level.agent)
        exits |= level.where(EXIT)
        facings.add(level.facing)
    assert openings == set().union(*between)
    assert facings == {*range(4)}
    inner = box(0, 0, shape[0] - 1, shape[1] - 1) - lines
    assert agents >= inner
    assert exits >= inner


# ---- memory ------------------------------------------------------------------------------------


def test_rooms_to_remember():
    colors, goods, beacons, agents, facings, exits = (set() for _ in range(6))
    rooms = {"name": "memory_rooms", "shape": [5, 7], "layout": [1, 2]}
    for level in levels(**rooms, colors=["RED", "GREEN", "BLUE"], num_beacons=2, num_exits=2):
        (good,) = {*level.colors(BEACON)}
        assert level.count(BEACON) == level.count(EXIT) == 2
        assert level.colors(EXIT).count(good) == 1
        assert len({*level.colors(EXIT)}) == 2
        assert level.agent not in level.where(EXIT) | level.where(BEACON)
        colors |= {*level.colors(EXIT)}
        goods.add(good)
        beacons |= level.where(BEACON)
        exits |= level.where(EXIT)
        agents.add(level.agent)
        facings.add(level.facing)
    assert colors == goods == {"RED", "GREEN", "BLUE"}
    inner = box(1, 1, 3, 2) | box(1, 4, 3, 5)
    assert all(inner <= cells for cells in (beacons, exits, agents))
    assert facings == {*range(4)}


@pytest.mark.parametrize(
    ("picture", "agent"),
    [
        ("#####/#E.E#/##.##/#b.b#/#####", (2, 2)),
        ("#######/#E...E#/###.###/#b...b#/#######", (2, 3)),
        ("#####/#E.E#/##.##/##.##/##.##/#b.b#/#####", (3, 2)),
        ("#####/#E.E#/##.##/##.##/#b.b#/#####", (3, 2)),
    ],
)
def test_a_corridor_to_remember(picture, agent):
    rows = picture.split("/")
    shape = [len(rows), len(rows[0])]
    looks, colors = set(), ["RED", "GREEN", "YELLOW"]
    for level in levels(200, name="memory", shape=shape, colors=colors):
        shown = {WALL: "#", FLOOR: ".", EXIT: "E", BEACON: "b"}
        assert ["".join(shown[kind] for kind in row) for row in level.kinds.tolist()] == rows
        assert (level.agent, level.facing) == (agent, FORWARD)
        (good,) = {*level.colors(BEACON)}
        left, right = level.colors(EXIT)
        assert (left == good) + (right == good) == 1
        looks.add((left, right, good))
    assert len(looks) == 3 * 2 * 2  # a good and a bad colour, and a side for them


# ---- teleport ----------------------------------------------------------------------------------


def test_two_telepods():
    pods, facings = set(), set()
    for level in levels(name="teleport", shape=[4, 5]):
        assert level.colors(TELEPOD) == ["RED", "RED"]
        assert level.agent == (1, 1)
        assert level.where(EXIT) == {(2, 3)}
        pods |= level.where(TELEPOD)
        facings.add(level.facing)
    assert pods == box(1, 1, 2, 3) - {(1, 1), (2, 3)}
    assert facings == {RIGHT, BACKWARD}


# ---- crossing ----------------------------------------------------------------------------------


@pytest.mark.sample("1", "4")
@pytest.mark.parametrize("rivers", [1, 2, 3, 4])
def test_rivers_and_the_way_across(rivers):
    rows, columns = {2, 4}, {2, 4}
    drawn, open_cells = set(), set()
    for level in levels(name="crossing", shape=[7, 7], num_rivers=rivers, object_type="Wall"):
        walls = level.where(WALL) - border(7, 7)
        # all of a river but the way across and where others cross
        across = {y for y in range(1, 6) if len({x for cy, x in walls if cy == y}) >= 4}
        down = {x for x in range(1, 6) if len({y for y, cx in walls if cx == x}) >= 4}
        assert across <= rows
        assert down <= columns
        assert len(across) + len(down) == rivers
        full = {(y, x) for y in across for x in range(1, 6)} | {
            (y, x) for x in down for y in range(1, 6)
        }
        assert walls < full
        assert len(full - walls) == rivers
        assert (level.agent, level.facing) == ((1, 1), RIGHT)
        assert level.where(EXIT) == {(5, 5)}
        assert np.isfinite(level.way)
        drawn.add((tuple(sorted(across)), tuple(sorted(down))))
        open_cells |= full - walls
    assert len(drawn) == [0, 4, 6, 4, 1][rivers]
    lines = {(y, x) for y in range(1, 6) for x in range(1, 6) if y in rows or x in columns}
    crossings = {(y, x) for y in rows for x in columns}
    assert open_cells == (lines - crossings if rivers == 4 else lines)


def test_rivers_of_another_shape():
    drawn = set()
    for level in levels(name="crossing", shape=[5, 9], num_rivers=1, object_type="MovingObstacle"):
        river = level.where(MOVING_OBSTACLE)
        assert level.where(WALL) == border(5, 9)
        assert level.way == 2 + 6
        (y, x), (other_y, _) = min(river), max(river)
        drawn.add(("row", y) if y == other_y else ("column", x))
    assert drawn == {("row", 2), ("column", 2), ("column", 4), ("column", 6)}


def test_rivers_on_the_ground_have_the_same_ways_across():
    reset = {"name": "crossing", "shape": [7, 7], "num_rivers": 3}
    above = levels(20, **reset, object_type="MovingObstacle")
    below = levels(20, {"Brook": {"layer": "ground"}}, **reset, object_type="Brook")
    for over, under in zip(above, below, strict=True):
        assert np.array_equal(over.kinds == FLOOR, under.kinds == FLOOR)
