"""Chance in text: what files say of it, what is drawn, and that both worlds draw the same."""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from components.core import FLOOR
from components.objects import BEACON, EXIT, KEY, WALL
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.compiler.parameters import make_parameters
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import RuleError
from gv_engine.rules.geometry import step_x, step_y
from gv_engine.scenario.readers.map import grid_to_text
from gv_engine.world.simulation import Simulation
from tests import DATA, boards
from tests.scenario import reading
from tests.scenario.reading import begin, measure

KINDS = "object", "compiled"
TRANSITIONS = ["move_agent", "turn_agent", "actuate_door", "pickndrop"]
RULES = {**reading.RULES, "transition_functions": TRANSITIONS}
LEVEL = """\
draw:
  color: [RED, GREEN, BLUE]
  other: {one_of: [RED, GREEN, BLUE], not: $color}
  n: {from: 2, to: 4}
maps:
  - |
    #######
    #aa?bb#
    #aaDbb#
    #aa#bb#
    #######
  - |
    ########
    #aaa?bb#
    #aaaDbb#
    ########
symmetries: [turn, mirror]
legend:
  "?": {one_of: [Wall, Floor], weights: [1, 3]}
  a: {room: west}
  b: {room: east}
  D: {object: Door, state: LOCKED, color: $color}
place:
  - {object: Key, color: $color, in: west}
  - {object: Exit, in: east}
  - {object: Beacon, color: $other, count: [1, $n], not_next_to: [Exit, Key]}
  - {agent: any, in: west}
reachable: {things: [agent, Key, Exit], through: [Door]}
"""


def level(text: str = LEVEL, **more: Any) -> Scenario:
    return Scenario.load({**RULES, **yaml.safe_load(text), **more})


def agent_of(w: Any) -> tuple[int, int, int]:
    """Row, column and orientation."""
    return w.position.y[AGENT], w.position.x[AGENT], w.agent.facing[AGENT]


def shown(simulation: Simulation) -> str:
    w = simulation.world
    return grid_to_text(w.cells(), simulation.scenario.types, agent_of(w))


def cells_of(simulation: Simulation, kind: int) -> list[tuple[int, int]]:
    found = np.argwhere(simulation.world.cells()[..., 0] == kind).tolist()
    return [(y, x) for y, x in found]


# ---- what is drawn -------------------------------------------------------------------------------


def test_levels_are_what_they_were():
    """The order of draws is part of the format."""
    assert shown(begin(level(), 0)) == boards.drawn("""
        #######
        #E.#K.#
        #..D.>#
        #..#b.#
        #######
    """)
    assert shown(begin(level(), 2)).endswith("#.D##\n#b.K#\n#..<#\n#####")


def test_a_value_is_the_same_wherever_it_stands():
    scenario = level()
    for seed in range(20):
        simulation = begin(scenario, seed)
        grid, values = simulation.world.cells(), simulation.world.drawn
        colors = {kind: {*grid[grid[..., 0] == kind][:, 2].tolist()} for kind in (5, KEY, BEACON)}
        assert colors[5] == colors[KEY] == {values[0]}
        assert colors[BEACON] == {values[1]} != colors[KEY]
        assert 2 <= values[2] <= 4
        assert 1 <= len(cells_of(simulation, BEACON)) <= values[2]


@pytest.mark.thorough
def test_maps_turn_with_all_that_stands_on_them():
    text = """\
map: |
  ###
  a>E
  ..b
symmetries: [turn, mirror]
legend: {a: {room: home}, b: {room: away}}
place:
  - {object: Key, in: home}
  - {object: Beacon, in: away}
"""
    scenario, seen = level(text), Counter[str]()
    for seed in range(400):
        simulation = begin(scenario, seed)
        y, x, way = agent_of(simulation.world)
        assert cells_of(simulation, EXIT) == [(y + step_y(way), x + step_x(way))]
        assert cells_of(simulation, KEY) == [(y - step_y(way), x - step_x(way))]
        seen[shown(simulation)] += 1
    assert len(seen) == 8
    uniform(seen)


def test_states_that_are_orientations_turn():
    text = "map: '>C'\nsymmetries: [turn]\nlegend: {C: {object: ./belts.py:Belt, state: RIGHT}}"
    scenario = Scenario.load({**RULES, **yaml.safe_load(text)}, folder=DATA / "chance")
    for seed in range(8):
        w = begin(scenario, seed).world
        (e,) = w.having(w.belt)
        assert w.belt.way[e] == w.agent.facing[AGENT]


def uniform(seen: Counter[Any], *weights: int) -> None:
    """As likely as their weights, in order of the keys: chi-square, far out in its tail."""
    expected = np.array(weights or (1,) * len(seen)) * seen.total() / (sum(weights) or len(seen))
    found = np.array([seen[key] for key in sorted(seen)])
    assert len(found) == len(expected)
    bound = len(found) + 6 * (2 * len(found)) ** 0.5 + 12
    assert ((found - expected) ** 2 / expected).sum() < bound


@pytest.mark.thorough
def test_all_are_as_likely_as_they_should_be():
    text = """\
draw:
  n: {from: 1, to: 3}
  color: {one_of: [RED, GREEN, BLUE], weights: [1, 2, 3]}
maps: ['..?..>', '..?.<.']
legend: {"?": {one_of: [Wall, Floor, Exit], weights: [1, 3, 2]}}
place:
  - {object: Key, color: $color, in: [0, [0, 1]]}
"""
    scenario = level(text)
    which, numbers, colors, kinds, columns = (Counter[Any]() for _ in range(5))
    for seed in range(1200):
        simulation = begin(scenario, seed)
        w = simulation.world
        numbers[w.drawn[0]] += 1
        colors[w.drawn[1]] += 1
        which[w.position.x[AGENT]] += 1
        kinds[int(w.cells()[0, 2, 0])] += 1
        columns[cells_of(simulation, KEY)[0]] += 1
    uniform(numbers)
    uniform(colors, 1, 2, 3)
    uniform(which)
    uniform(kinds, *dict(sorted({WALL: 1, FLOOR: 3, EXIT: 2}.items())).values())
    uniform(columns)


def test_regions_are_kept():
    text = """\
room: [7, 9]
rooms: {top: [[1, 2], [1, 7]], corner: {cells: [[5, 7], [5, 6]]}}
place:
  - {agent: LEFT, in: [3, 4]}
  - {object: Exit, in: {cells: [[5, 1], [4, 1]]}}
  - {object: Beacon, color: RED, count: 4, in: top, not_next_to: [Beacon]}
  - {object: Key, color: BLUE, count: [0, 2], in: [corner, top]}
  - {one_of: [MovingObstacle, Box], count: 3, not_next_to: agent}
"""
    scenario, counts = level(text), Counter[int]()
    for seed in range(40):
        simulation = begin(scenario, seed)
        w = simulation.world
        assert agent_of(w) == (3, 4, 2)
        assert w.at[3, 4] == 0
        assert cells_of(simulation, EXIT)[0] in [(5, 1), (4, 1)]
        beacons = cells_of(simulation, BEACON)
        assert len(beacons) == 4
        assert all(y in (1, 2) and 1 <= x <= 7 for y, x in beacons)
        assert not any((y, x + 1) in beacons or (y + 1, x) in beacons for y, x in beacons)
        keys = cells_of(simulation, KEY)
        assert all(y in (1, 2) or (y, x) in [(5, 7), (5, 6)] for y, x in keys)
        things = cells_of(simulation, 7) + cells_of(simulation, 8)
        assert len(things) == 3
        assert not any(abs(y - 3) + abs(x - 4) == 1 for y, x in things)
        counts[len(keys)] += 1
    uniform(counts)


def test_things_go_on_top_of_any_reset():
    reset = {"name": "keydoor", "shape": [7, 9]}
    place = [{"object": "Beacon", "color": "RED", "count": 2}]
    plain = level("{}", reset_function=reset)
    scenario = level("{}", reset_function=reset, place=place)
    for seed in range(3):
        one, other = begin(scenario, seed), begin(plain, seed)
        assert (one.world.cells() != other.world.cells()).any(axis=2).sum() == 2
        assert len(cells_of(one, BEACON)) == 2


WALLS = """\
maps: ["#####\\n#.?.#\\n#.?.#\\n#####"]
legend: {"?": {one_of: [Wall, Floor]}}
place:
  - {agent: RIGHT, in: [[1, 2], 1]}
  - {object: Exit, in: [[1, 2], 3]}
"""


@pytest.mark.thorough
def test_what_must_be_reachable_is():
    def count_closed(scenario: Scenario) -> int:
        middles = [begin(scenario, seed).world.cells()[1:3, 2, 0] for seed in range(100)]
        return sum((middle == WALL).all() for middle in middles)

    assert 10 < count_closed(level(WALLS)) < 40
    assert count_closed(level(WALLS, reachable=["agent", "Exit"])) == 0


def test_what_blocks_is_reached_from_beside_and_hides_what_is_behind():
    text = "map: '{}'\nreachable: {}"
    for row, things, good in (
        (">.B", "[agent, Box]", True),
        (">BE", "[agent, Exit]", False),
        (">dE", "[agent, Exit]", False),
        (">dE", "{things: [agent, Exit], through: [Door]}", True),
        (">.E#E", "[agent, Exit]", False),
        (">..", "[agent, Exit]", False),
        ("E#>.K", "[Key, agent, Exit]", False),
    ):
        refused = pytest.raises(RuleError, match="reachable: none of the levels")
        with nullcontext() if good else refused:
            begin(level(text.format(row, things), tries=3))


# ---- both worlds ---------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.compiled
def test_both_worlds_draw_the_same():
    for scenario in (level(), level(WALLS, reachable=["agent", "Exit"])):
        object_worlds, compiled = (GridVectorEnv(scenario, 64, world=w) for w in KINDS)
        for envs in (object_worlds, compiled):
            envs.reset(seed=0)
        assert object_worlds.snapshot().tobytes() == compiled.snapshot().tobytes()


@pytest.mark.thorough
@pytest.mark.compiled
def test_both_worlds_fail_alike():
    place = [{"agent": "any"}, {"object": "Key", "color": "RED", "count": 4}]
    walls = {"map": "??\n??", "legend": {"?": {"one_of": ["Wall", "Floor"]}}}
    full = level("{}", **walls, place=place)
    told = r"place\[1\]: no free cell is left where it may stand"
    shut = level("map: '>#E'", reachable=["agent", "Exit"], tries=2)
    for failing, message in ((full, told), (shut, "reachable: none of the levels that were")):
        for world in KINDS:
            with pytest.raises(RuleError, match=message):
                GridEnv(failing, world=world).reset(seed=0)


def test_another_level_is_data():
    """So that it compiles nothing: the record of parameters has the same fields."""
    other = LEVEL.replace("[1, $n]", "1").replace("in: east", "in: [[1, 2], [4, 4]]")
    other = other.replace("aaa?bb", "a?.bbb").replace("[RED, GREEN, BLUE]", "[RED, BLUE]", 1)
    assert make_parameters(level()).dtype == make_parameters(level(other)).dtype
    assert level().layout == level(other).layout


# ---- with all else -------------------------------------------------------------------------------


def test_worlds_are_kept_with_what_was_drawn():
    simulation = begin(level(), 3)
    values = list(simulation.world.drawn)
    assert any(values)
    again = pickle.loads(pickle.dumps(simulation))
    assert list(again.world.drawn) == values == list(simulation.world.fork().drawn)
    assert again.scenario.identity == simulation.scenario.identity
    assert level(LEVEL.replace("to: 4", "to: 3")).identity != level().identity


def test_plain_scenarios_hold_nothing_drawn():
    plain = level("map: '>.E'\nlegend: {x: {object: Key, color: RED}}")
    for scenario in (Scenario.load("keydoor-5x5"), plain, boards.scenario(">BK")):
        assert "drawn" not in (scenario.layout.dtype.names or ())
        assert scenario.layout.drawn == 0
    assert not Simulation(plain).world.drawn.size


def test_parameters_and_drawn_values_stand_side_by_side():
    text = """\
parameters: {size: 7, most: {default: 3, min: 2}}
draw: {n: {from: 1, to: $most}}
room: [$size, $(size + 2)]
place: [{agent: any}, {object: Exit, count: $n}]
"""
    scenario = level(text)
    assert measure(scenario) == (7, 9)
    found = {len(cells_of(begin(scenario, seed), EXIT)) for seed in range(20)}
    assert found == {1, 2, 3}


def test_variants_and_mixtures(tmp_path: Path):
    base = {**RULES, "room": [5, 5], "place": [{"agent": "any"}, {"object": "Exit"}]}
    variants = {"drawn": {"map": ">.E", "place": []}, "wide": {"room": [5, 9]}}
    (tmp_path / "base.yaml").write_text(yaml.safe_dump({**base, "variants": variants}))
    shapes = [measure(Scenario.load(tmp_path / f"base.yaml#{name}")) for name in variants]
    assert shapes == [(1, 3), (5, 9)]
    over = {"extends": "base.yaml#wide", "place": {"Exit": {"count": 2}}}
    (tmp_path / "over.yaml").write_text(yaml.safe_dump(over))
    assert len(cells_of(begin(Scenario.load(tmp_path / "over.yaml"), 0), EXIT)) == 2
    other = {**RULES, "reset_function": {"name": "empty", "shape": [8, 8]}}
    members = [str(tmp_path / "over.yaml"), {"scenario": other}]
    mixed = Scenario.load({"mixture": members}, trust=True)
    assert mixed.layout.drawn == 8
    assert {measure(mixed, seed) for seed in range(10)} == {(5, 9), (8, 8)}
    inner = level().inner_env()
    inner.set_seed(0)
    assert inner.functional_reset().grid.shape in [(5, 7), (7, 5), (4, 8), (8, 4)]
