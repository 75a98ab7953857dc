"""Chance in text: what files say of it, what is drawn, and that both worlds draw the same."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.appearance import FLOOR
from components.objects import BEACON, EXIT, KEY, WALL
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.batches.compiled.parameters import parameters
from gv_engine.language.component import AGENT
from gv_engine.language.errors import NoRoomError, RuleError, ScenarioError
from gv_engine.language.geometry import ORIENTATIONS, step_x, step_y
from gv_engine.reading.text import board
from gv_engine.worlds.simulation import Simulation

RULES = {
    "transition_functions": ["move_agent", "turn_agent", "actuate_door", "pickndrop"],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
    "terminating_function": "reach_exit",
}
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


def drawn(scenario: Scenario, seed: int) -> Simulation:
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(seed))
    return simulation


def shown(simulation: Simulation) -> str:
    w = simulation.world
    facing = w.agent.facing[AGENT]
    return board(w.cells(), (w.position.y[AGENT], w.position.x[AGENT], facing))


def cells_of(simulation: Simulation, kind: int) -> list[tuple[int, int]]:
    found = np.argwhere(simulation.world.cells()[..., 0] == kind).tolist()
    return [(y, x) for y, x in found]


# ---- what is drawn -------------------------------------------------------------------------------


def test_levels_are_what_they_were():
    """The order of draws is part of the format."""
    assert [shown(drawn(level(), seed)) for seed in (0, 2)] == RECORDED


RECORDED = [
    """\
#######
#E.#K.#
#..D.>#
#..#b.#
#######""",
    """\
#####
#E..#
#...#
#.D##
#b.K#
#..<#
#####""",
]


def test_a_value_is_the_same_wherever_it_stands():
    for seed in range(50):
        simulation = drawn(level(), seed)
        grid, values = simulation.world.cells(), simulation.world.drawn
        colors = {kind: {*grid[grid[..., 0] == kind][:, 2].tolist()} for kind in (5, KEY, BEACON)}
        assert colors[5] == colors[KEY] == {values[0]}
        assert colors[BEACON] == {values[1]} != colors[KEY]
        assert 2 <= values[2] <= 4
        assert 1 <= len(cells_of(simulation, BEACON)) <= values[2]


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
    seen = Counter[str]()
    for seed in range(400):
        simulation = drawn(level(text), seed)
        w = simulation.world
        y, x, way = w.position.y[AGENT], w.position.x[AGENT], w.agent.facing[AGENT]
        assert cells_of(simulation, EXIT) == [(y + step_y(way), x + step_x(way))]
        assert cells_of(simulation, KEY) == [(y - step_y(way), x - step_x(way))]
        seen[shown(simulation)] += 1
    assert len(seen) == 8
    uniform(seen)


def test_states_that_are_orientations_turn():
    text = "map: '>C'\nsymmetries: [turn]\nlegend: {C: {object: ./belts.py:Belt, state: RIGHT}}"
    folder = Path(__file__).parent.parent / "data" / "chance"
    scenario = Scenario.load({**RULES, **yaml.safe_load(text)}, folder=folder)
    for seed in range(20):
        w = drawn(scenario, seed).world
        (e,) = w.having(w.belt)
        assert w.belt.way[e] == w.agent.facing[AGENT]


def uniform(seen: Counter[Any], *weights: int) -> None:
    """As likely as their weights, in order of the keys: chi-square, far out in its tail."""
    expected = np.array(weights or (1,) * len(seen)) * seen.total() / (sum(weights) or len(seen))
    found = np.array([seen[key] for key in sorted(seen)])
    assert len(found) == len(expected)
    assert ((found - expected) ** 2 / expected).sum() < len(found) + 6 * (
        2 * len(found)
    ) ** 0.5 + 12


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
        simulation = drawn(scenario, seed)
        w = simulation.world
        numbers[w.drawn[0]] += 1
        colors[w.drawn[1]] += 1
        which[w.position.x[AGENT]] += 1
        kinds[int(w.cells()[0, 2, 0])] += 1
        columns[cells_of(simulation, KEY)[0]] += 1
    uniform(numbers)
    uniform(colors, 1, 2, 3)
    uniform(which)
    uniform(kinds, *(weight for _, weight in sorted(((WALL, 1), (FLOOR, 3), (EXIT, 2)))))
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
    counts = Counter[int]()
    for seed in range(60):
        simulation = drawn(level(text), seed)
        w = simulation.world
        assert (w.position.y[AGENT], w.position.x[AGENT], w.agent.facing[AGENT]) == (3, 4, 2)
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
    more = {"place": [{"object": "Beacon", "color": "RED", "count": 2}]}
    scenario = Scenario.load({**RULES, "reset_function": reset, **more})
    plain = Scenario.load({**RULES, "reset_function": reset})
    for seed in range(10):
        one, other = drawn(scenario, seed), drawn(plain, seed)
        before, after = other.world.cells(), one.world.cells()
        assert (after != before).any(axis=2).sum() == 2
        assert len(cells_of(one, BEACON)) == 2


WALLS = """\
maps: ["#####\\n#.?.#\\n#.?.#\\n#####"]
legend: {"?": {one_of: [Wall, Floor]}}
place:
  - {agent: RIGHT, in: [[1, 2], 1]}
  - {object: Exit, in: [[1, 2], 3]}
"""


def test_what_must_be_reachable_is():
    closed = Counter(is_closed(level(WALLS), seed) for seed in range(100))
    assert 10 < closed[True] < 40
    assert not any(is_closed(level(WALLS, reachable=["agent", "Exit"]), s) for s in range(100))


def is_closed(scenario: Scenario, seed: int) -> bool:
    grid = drawn(scenario, seed).world.cells()
    return bool((grid[1:3, 2, 0] == WALL).all())


def test_what_blocks_is_reached_from_beside_and_hides_what_is_behind():
    text = "map: '{}'\nreachable: {}"
    for row, things, good in (
        (">.B", "[agent, Box]", True),
        (">BE", "[agent, Exit]", False),
        (">dE", "[agent, Door]", True),
        (">dE", "[agent, Exit]", False),
        (">dE", "{things: [agent, Exit], through: [Door]}", True),
        (">.E#E", "[agent, Exit]", False),
        (">..", "[agent, Exit]", False),
        ("E#>.K", "[Key, agent]", True),
        ("E#>.K", "[Key, agent, Exit]", False),
    ):
        if good:
            drawn(level(text.format(row, things)), 0)
        else:
            with pytest.raises(RuleError, match="reachable: no level of all"):
                drawn(level(text.format(row, things), tries=3), 0)


# ---- both worlds ---------------------------------------------------------------------------------


@pytest.mark.compiled
def test_both_worlds_draw_the_same():
    for scenario in (level(), level(WALLS, reachable=["agent", "Exit"])):
        envs = GridVectorEnv(scenario, 64)
        envs.reset(seed=list(range(64)))
        rows = envs.snapshot()
        for seed in range(64):
            env = GridEnv(scenario, world="object")
            env.reset(seed=seed)
            assert env.snapshot().tobytes() == rows[seed].tobytes()


@pytest.mark.compiled
def test_both_worlds_fail_alike():
    full = {"place": [{"agent": "any"}, {"object": "Key", "color": "RED", "count": 4}]}
    walls = {"map": "??\n??", "legend": {"?": {"one_of": ["Wall", "Floor"]}}}
    scenario = level("{}", **walls, **full)
    told = "place\\[1\\]: no free cell is left where it may stand"
    shut = level("map: '>#E'", reachable=["agent", "Exit"], tries=2)
    for failing, message in ((scenario, told), (shut, "reachable: no level of all that were")):
        for world in ("object", "compiled"):
            with pytest.raises(RuleError, match=message):
                GridEnv(failing, world=world).reset(seed=0)


def test_another_level_is_data():
    """So that it compiles nothing: the record of parameters has the same fields."""
    other = LEVEL.replace("[1, $n]", "1").replace("in: east", "in: [[1, 2], [4, 4]]")
    other = other.replace("aaa?bb", "a?.bbb").replace("[RED, GREEN, BLUE]", "[RED, BLUE]", 1)
    assert parameters(level()).dtype == parameters(level(other)).dtype
    assert level().layout == level(other).layout


# ---- with all else -------------------------------------------------------------------------------


def test_worlds_are_kept_with_what_was_drawn():
    simulation = drawn(level(), 3)
    values = list(simulation.world.drawn)
    assert any(values)
    again = pickle.loads(pickle.dumps(simulation))
    assert list(again.world.drawn) == values == list(simulation.world.fork().drawn)
    assert again.scenario.identity == simulation.scenario.identity
    assert level(LEVEL.replace("to: 4", "to: 3")).identity != level().identity


def test_plain_scenarios_hold_nothing_drawn():
    scenario = Scenario.load("keydoor-5x5")
    assert "drawn" not in (scenario.layout.dtype.names or ())
    plain = level("map: '>.E'\nlegend: {x: {object: Key, color: RED}}")
    assert "drawn" not in (plain.layout.dtype.names or ())
    assert not Simulation(plain).world.drawn.size


def test_parameters_and_drawn_values_stand_side_by_side():
    text = """\
parameters: {size: 7, most: {default: 3, min: 2}}
draw: {n: {from: 1, to: $most}}
room: [$size, $(size + 2)]
place: [{agent: any}, {object: Exit, count: $n}]
"""
    scenario = level(text)
    assert drawn(scenario, 0).world.cells().shape == (7, 9, 3)
    found = {len(cells_of(drawn(scenario, seed), EXIT)) for seed in range(30)}
    assert found == {1, 2, 3}


def test_variants_and_mixtures(tmp_path: Path):
    base = {**RULES, "room": [5, 5], "place": [{"agent": "any"}, {"object": "Exit"}]}
    variants = {"drawn": {"map": ">.E", "place": []}, "wide": {"room": [5, 9]}}
    (tmp_path / "base.yaml").write_text(yaml.safe_dump({**base, "variants": variants}))
    shapes = [
        drawn(Scenario.load(tmp_path / f"base.yaml#{name}"), 0).world.cells().shape
        for name in variants
    ]
    assert shapes == [(1, 3, 3), (5, 9, 3)]
    over = {"extends": "base.yaml#wide", "place": {"Exit": {"count": 2}}}
    (tmp_path / "over.yaml").write_text(yaml.safe_dump(over))
    assert len(cells_of(drawn(Scenario.load(tmp_path / "over.yaml"), 0), EXIT)) == 2
    other = {**RULES, "reset_function": {"name": "empty", "shape": [8, 8]}}
    mixed = Scenario.load(
        {"mixture": [str(tmp_path / "over.yaml"), {"scenario": other}]}, trust=True
    )
    assert mixed.layout.drawn == 8
    sizes = {drawn(mixed, seed).world.cells().shape for seed in range(10)}
    assert sizes == {(5, 9, 3), (8, 8, 3)}
    assert level().inner_env().functional_reset().grid.shape in [(5, 7), (7, 5), (4, 8), (8, 4)]


# ---- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("in: west}", "in: wset}", "place[0].in: no room 'wset'; did you mean 'west'?"),
        ("in: west}", "in: [[1, 3], [9, 9]]}", "place[0]: up to 1 of it, where its region of map"),
        (
            "in: west}",
            "in: [[0, 0], [0, 3]]}",
            "place[0]: up to 1 of it, where its region of map 1",
        ),
        (
            "in: west}",
            "in: [[3, 1], [1, 3]]}",
            "place[0].in[0]: found [3, 1], expected the smaller",
        ),
        ("in: west}", "in: [1]}", "place[0].in: found a list of 1, expected rows and columns"),
        ("in: west}", "in: {cells: []}}", "place[0].in: found 0 cells, expected 1 to 100"),
        ("in: east}", "in: east, count: 9}", "place[1]: up to 9 of it, where its region of map 1"),
        ("color: $color, in", "object: $color, in", "a second time"),
        ("object: Key, color", "object: $other, color", "$other is a colour, expected an object"),
        ("LOCKED", "$n", "legend.D.state: $n is a whole number, expected a state"),
        ("LOCKED", "$lock", "legend.D.state: no drawn value 'lock'"),
        ("[1, $n]", "[3, $n]", "place[2].count[0]: a range from 3 to $n may be empty"),
        ("[1, $n]", "$other", "place[2].count: $other is a colour, expected a whole number"),
        ("[1, $n]", "-1", "place[2].count: found -1, allowed are 0 to"),
        ("[1, $n]", "[1]", "place[2].count: found a list of 1, expected the least and the"),
        ("not: $color", "not: [$color, $n]", "draw.other.not[1]: no drawn value 'n'"),
        ("not: $color", "not: RED", "draw.other.not: found 'RED', expected the name of a value"),
        ("one_of: [RED, GREEN, BLUE]", "one_of: [RED]", "draw.other.not: it may leave nothing"),
        ("[RED, GREEN, BLUE]", "[RED, GREEN, RED]", "draw.color[2]: RED stands here a second time"),
        ("[RED, GREEN, BLUE]", "[RED, Wall]", "draw.color[1]: no colour 'Wall'"),
        ("[RED, GREEN, BLUE]", "[]", "draw.color: found 0 options, expected 1 to 1000"),
        ("[RED, GREEN, BLUE]", "RED", "draw.color: found 'RED', expected a list of options"),
        ("{from: 2, to: 4}", "{from: 4, to: 2}", "draw.n.from: a range from 4 to 2 may be empty"),
        ("{from: 2, to: 4}", "{from: 4}", "draw.n: expected a list of options"),
        ("weights: [1, 3]", "weights: [1]", "found 1 weights for 2 options; give one for each"),
        ("weights: [1, 3]", "weights: [0, 1]", "weights[0]: found 0, allowed are 1 to 10000"),
        ("[Wall, Floor]", "[Wall, Wal]", "legend.?.one_of[1]: no object type 'Wal'; did you mean"),
        ("[Wall, Floor]", "[]", "legend.?.one_of: found 0, expected 1 to 100"),
        ("agent: any", "agent: ayn", "place[3].agent: no orientation 'ayn'; did you mean 'any'?"),
        ("agent: any", "agent: $color", "place[3].agent: $color is a colour, expected an orien"),
        ("{agent: any, in: west}", "{object: Box}", "maps[0]: no agent; put one of ^ v < >"),
        ("[turn, mirror]", "[trun]", "symmetries[0]: no symmetry 'trun'; did you mean 'turn'?"),
        ("[Exit, Key]", "[Floor]", "not_next_to[0]: found 'Floor', expected `agent` or an object"),
        ("[Exit, Key]", "[Exti]", "not_next_to[0]: no object type 'Exti'; did you mean 'Exit'?"),
        ("things: [agent, Key, Exit]", "things: [agent]", "reachable: expected where ways begin"),
        ("things: [agent, Key, Exit]", "thigns: [agent]", "reachable.thigns: unknown key 'thigns'"),
        ("reachable:", "tries: 0\nreachable:", "tries: found 0, allowed are 1 to 10000"),
        ("reachable: {th", "tries: 9\n# {th", "tries: `tries` goes with `reachable`"),
        ("maps:", "room: [5, 5]\nmaps:", "both are given: maps and room"),
        ("object: Exit", "objcet: Exit", "place[1].objcet: unknown key 'objcet'; did you mean"),
        ("color: $color, in", "colour: $color, in", "place[0].colour: unknown key 'colour'"),
    ],
)
def test_mistakes_are_located(old: str, new: str, expected: str, tmp_path: Path):
    assert old in LEVEL
    file = tmp_path / "level.yaml"
    file.write_text(yaml.safe_dump(RULES) + LEVEL.replace(old, new, 1))
    with pytest.raises(ScenarioError) as error:
        Scenario.load(file)
    assert all(problem.startswith(f"{file}:") for problem in error.value.problems)
    assert any(expected in problem for problem in error.value.problems), error.value.problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("room: [5, 5]", "room: no agent in the room; `place` it: {agent: any}"),
        (
            "room: [5, 5]\nlegend: {a: Wall}\nplace: [{agent: any}]",
            "legend: a legend without a map",
        ),
        ("map: '>E'\nplace: [{agent: any, count: 2}]", "count: there is one agent; leave it out"),
        ("map: '>.E'\nplace: [{agent: any}, {agent: any}]", "place[1]: a second agent; there is"),
        ("map: '>E'\ndraw: {s: [OPEN, LOCKED]}\nplace: [{object: Key, state: $s}]", "no states"),
        ("map: '>E'\nparameters: {n: 2}\ndraw: {n: [1, 2]}", "n is drawn, too"),
        (
            "parameters: {k: 1}\nroom: [5, 5]\ndraw: {n: [1]}\nplace: [{object: Key, count: $(n)}]",
            "n is drawn with each level, and $(…) is worked out before",
        ),
        (
            "map: '>a'\nlegend: {a: {room: x}}\nrooms: {x: [0, 0]}",
            "the legend marks the cells of x",
        ),
        ("map: '>E'\nplace: [{object: Wall, color: RED}]", "place[0].color: Wall has no colour"),
        (
            "map: '>E'\nstate_space: {objects: [Exit]}\nplace: [Key]",
            "place[0]: it is Key, not among",
        ),
        ("map: '>E'\nplace: [{count: 2}]", "place[0]: found neither `object` nor `agent`"),
        ("map: '>E'\nplace: 3", "place: found 3, expected a list"),
        ("map: '>E'\nplace: [3]", "place[0]: no object type '3'"),
    ],
)
def test_more_mistakes(text: str, expected: str):
    with pytest.raises(ScenarioError) as error:
        level(text)
    assert any(expected in problem for problem in error.value.problems), error.value.problems


# ---- any text ------------------------------------------------------------------------------------

WORDS = [*"012", "$a", "$b", "$c", "RED", "BLUE", "Key", "Wall", "Floor", "Door", "OPEN", "any"]
WORDS += ["agent", "west", "Exit", "LEFT", "one_of", "[1, 2]", "[[0, 3], [0, 3]]", "[]", "{}"]
values = st.recursive(
    st.sampled_from([yaml.safe_load(word) for word in WORDS]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
things = st.fixed_dictionaries(
    {},
    optional={
        "object": st.sampled_from(["Key", "Door", "Wall", "$b", "Floor"]) | values,
        "color": st.sampled_from(["RED", "$a"]) | values,
        "state": st.sampled_from(["OPEN", "$c"]) | values,
        "agent": st.sampled_from(["any", "LEFT"]) | values,
        "one_of": st.lists(st.sampled_from(["Key", "Wall", "Floor", "$b"]), max_size=3) | values,
        "weights": st.lists(st.integers(0, 3), max_size=3),
        "count": st.integers(0, 3) | values,
        "in": st.sampled_from(["west", [[0, 3], [0, 3]], ["west", "east"]]) | values,
        "not_next_to": st.lists(st.sampled_from(["agent", "Key", "Wall"]), max_size=2) | values,
        "room": st.sampled_from(["west", "east"]),
    },
)
texts = st.fixed_dictionaries(
    {},
    optional={
        "draw": st.fixed_dictionaries(
            {},
            optional={
                "a": st.sampled_from([["RED", "BLUE"], {"from": 0, "to": 2}]) | values,
                "b": st.sampled_from([["Key", "Door"], {"one_of": ["Key", "Box"], "not": "$a"}]),
                "c": st.sampled_from([["OPEN", "LOCKED"], [1, 2]]) | values,
            },
        ),
        "map": st.sampled_from(["#...#\n.>xy.", "x.y.", ".>.\n.E.\nxxx"]),
        "maps": st.lists(st.sampled_from(["xyx>", "...\n.>.", ".."]), max_size=3) | values,
        "room": st.sampled_from([[4, 5], [2, 2]]) | values,
        "symmetries": st.lists(st.sampled_from(["turn", "mirror"]), max_size=2) | values,
        "legend": st.fixed_dictionaries({"x": things, "y": things}),
        "rooms": st.fixed_dictionaries({"west": st.just([[0, 2], [0, 2]]) | values}),
        "place": st.lists(things, max_size=3) | values,
        "reachable": st.lists(st.sampled_from(["agent", "Key", "Exit"]), max_size=3) | values,
        "tries": st.integers(0, 3) | values,
    },
)


@given(texts, st.integers(0, 9))
def test_any_text_loads_or_says_where_it_is_wrong(text: dict[str, Any], seed: int):
    try:
        scenario = Scenario.load({**RULES, **text})
    except ScenarioError:
        return
    try:
        w = drawn(scenario, seed).world
    except NoRoomError:
        return
    except RuleError as error:
        if str(error).startswith("reachable:"):
            return
        raise
    assert w.inside(w.position.y[AGENT], w.position.x[AGENT])
    assert 0 <= w.agent.facing[AGENT] < len(ORIENTATIONS)
    assert {*np.unique(w.cells()[..., 0]).tolist()} <= {*scenario.objects}
