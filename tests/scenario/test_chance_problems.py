"""Mistakes in the chance of files: located messages, for any text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gv_engine import Scenario
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import NoRoomError, RuleError, ScenarioError
from gv_engine.rules.geometry import ORIENTATIONS
from tests.scenario.reading import assert_refused, begin, find_problems
from tests.scenario.test_chance import LEVEL, RULES


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("in: west}", "in: wset}", "place[0].in: no room 'wset'; did you mean 'west'?"),
        ("in: west}", "in: [[1, 3], [9, 9]]}", "place[0]: up to 1 of it, where its region of map"),
        ("in: west}", "in: [[0, 0], [0, 3]]}", "place[0]: up to 1 of it, where its region of map"),
        ("in: west}", "in: [[3, 1], [1, 3]]}", "place[0].in[0]: found [3, 1], expected the small"),
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
        ("things: [agent, Key, Exit]", "things: [agent]", "reachable: expected a start"),
        ("things: [agent, Key, Exit]", "thigns: [agent]", "reachable.thigns: unknown key 'thigns'"),
        ("reachable:", "tries: 0\nreachable:", "tries: found 0, allowed are 1 to 10000"),
        ("reachable: {th", "tries: 9\n# {th", "tries: `tries` goes with `reachable`"),
        ("maps:", "room: [5, 5]\nmaps:", "given are maps and room"),
        ("object: Exit", "objcet: Exit", "place[1].objcet: unknown key 'objcet'; did you mean"),
        ("color: $color, in", "colour: $color, in", "place[0].colour: unknown key 'colour'"),
    ],
)
def test_mistakes_are_located(old: str, new: str, expected: str, tmp_path: Path):
    assert old in LEVEL
    file = tmp_path / "level.yaml"
    file.write_text(yaml.safe_dump(RULES) + LEVEL.replace(old, new, 1))
    assert all(problem.startswith(f"{file}:") for problem in find_problems(file))
    assert_refused(expected, file)


def test_maps_have_a_limited_number_of_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (file := tmp_path / "level.yaml").write_text(yaml.safe_dump(RULES) + LEVEL)
    Scenario.load(file)
    monkeypatch.setattr("gv_engine.scenario.fields.MAX_CELLS", 100)  # fewer than two maps of 9 x 9
    assert_refused("maps of up to 9x9 are too many", file)


PLACE = "place: [{object: Key, count: $(n)}]"
COUNTED = f"parameters: {{k: 1}}\nroom: [5, 5]\ndraw: {{n: [1]}}\n{PLACE}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("room: [5, 5]", "room: no agent in the room; `place` it: {agent: any}"),
        ("room: [5, 5]\nlegend: {a: Wall}\nplace: [{agent: any}]", "legend: a legend without a m"),
        ("map: '>E'\nplace: [{agent: any, count: 2}]", "count: it is one agent; leave it out"),
        ("map: '>.E'\nplace: [{agent: any}, {agent: any}]", "place[1]: a second agent; there is"),
        ("map: '>E'\ndraw: {s: [OPEN, LOCKED]}\nplace: [{object: Key, state: $s}]", "no states"),
        ("map: '>E'\nparameters: {n: 2}\ndraw: {n: [1, 2]}", "n is drawn, too"),
        (COUNTED, "n is drawn with each level, and $(…) is worked out before"),
        ("map: '>a'\nlegend: {a: {room: x}}\nrooms: {x: [0, 0]}", "the legend marks the cells of"),
        ("map: '>E'\nplace: [{object: Wall, color: RED}]", "place[0].color: Wall has no colour"),
        ("map: '>E'\nstate_space: {objects: [Exit]}\nplace: [Key]", "place[0]: it is Key, not am"),
        ("map: '>E'\nplace: [{count: 2}]", "place[0]: found neither `object` nor `agent`"),
        ("map: '>E'\nplace: 3", "place: found 3, expected a list"),
        ("map: '>E'\nplace: [3]", "place[0]: no object type '3'"),
    ],
)
def test_more_mistakes(text: str, expected: str):
    assert_refused(expected, {**RULES, **yaml.safe_load(text)})


# ---- any text ------------------------------------------------------------------------------------

WORDS = [*"012", "$a", "$b", "$c", "RED", "BLUE", "Key", "Wall", "Floor", "Door", "OPEN", "any"]
WORDS += ["agent", "west", "Exit", "LEFT", "one_of", "[1, 2]", "[[0, 3], [0, 3]]", "[]", "{}"]
values = st.recursive(
    st.sampled_from([yaml.safe_load(word) for word in WORDS]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


def choose(*plain: Any) -> st.SearchStrategy[Any]:
    """One of these, as most authors write it, or any value."""
    return st.sampled_from(plain) | values


def some(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping of some of these keys."""
    return st.fixed_dictionaries({}, optional=strategies)


def several(*plain: str, most: int = 3) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(plain), max_size=most)


things = some(
    object=choose("Key", "Door", "Wall", "$b", "Floor"),
    color=choose("RED", "$a"),
    state=choose("OPEN", "$c"),
    agent=choose("any", "LEFT"),
    one_of=several("Key", "Wall", "Floor", "$b") | values,
    weights=st.lists(st.integers(0, 3), max_size=3),
    count=st.integers(0, 3) | values,
    not_next_to=several("agent", "Key", "Wall", most=2) | values,
    room=st.sampled_from(["west", "east"]),
    **{"in": choose("west", [[0, 3], [0, 3]], ["west", "east"])},
)
draws = some(
    a=choose(["RED", "BLUE"], {"from": 0, "to": 2}),
    b=st.sampled_from([["Key", "Door"], {"one_of": ["Key", "Box"], "not": "$a"}]),
    c=choose(["OPEN", "LOCKED"], [1, 2]),
)
texts = some(
    draw=draws,
    map=st.sampled_from(["#...#\n.>xy.", "x.y.", ".>.\n.E.\nxxx"]),
    maps=several("xyx>", "...\n.>.", "..") | values,
    room=choose([4, 5], [2, 2]),
    symmetries=several("turn", "mirror", most=2) | values,
    legend=st.fixed_dictionaries({"x": things, "y": things}),
    rooms=st.fixed_dictionaries({"west": st.just([[0, 2], [0, 2]]) | values}),
    place=st.lists(things, max_size=3) | values,
    reachable=several("agent", "Key", "Exit") | values,
    tries=st.integers(0, 3) | values,
)


@pytest.mark.thorough
@given(texts, st.integers(0, 9))
def test_any_text_loads_or_says_where_it_is_wrong(text: dict[str, Any], seed: int):
    try:
        scenario = Scenario.load({**RULES, **text})
    except ScenarioError:
        return
    try:
        w = begin(scenario, seed).world
    except NoRoomError:
        return
    except RuleError as error:
        if str(error).startswith("reachable:"):
            return
        raise
    assert w.inside(w.position.y[AGENT], w.position.x[AGENT])
    assert 0 <= w.agent.facing[AGENT] < len(ORIENTATIONS)
    assert {*np.unique(w.cells()[..., 0]).tolist()} <= {*scenario.objects}
