"""Mistakes in the chance of files: located messages, for any text."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
import yaml

from gv_engine import Scenario
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import NoRoomError, RuleError, ScenarioError
from gv_engine.rules.geometry import ORIENTATIONS
from tests.fuzz.mutations import Trees
from tests.scenario.reading import assert_refused, begin, find_problems
from tests.scenario.test_chance import LEVEL, RULES, WALLS


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("in: west}", "in: wset}", "place[0].in: no room 'wset'; did you mean 'west'?"),
        ("in: west}", "in: [[1, 3], [9, 9]]}", "place[0]: up to 1 do not fit: the region of map "),
        ("in: west}", "in: [[3, 1], [1, 3]]}", "place[0].in[0]: found [3, 1], expected the small"),
        ("in: west}", "in: [1]}", "place[0].in: found a list of 1, expected rows and columns"),
        ("in: west}", "in: {cells: []}}", "place[0].in: found 0 cells, expected 1 to 100"),
        ("in: east}", "in: east, count: 9}", "place[1]: up to 9 do not fit: the region of map 1"),
        ("color: $color, in", "object: $color, in", "is given twice"),
        ("object: Key, color", "object: $other, color", "$other is a colour, expected an object"),
        ("LOCKED", "$n", "legend.D.state: $n is a whole number, expected a state"),
        ("LOCKED", "$lock", "legend.D.state: no drawn value 'lock'"),
        ("[1, $n]", "[3, $n]", "place[2].count[0]: a range from 3 to $n may be empty"),
        ("[1, $n]", "$other", "place[2].count: $other is a colour, expected a whole number"),
        ("[1, $n]", "[1]", "place[2].count: found a list of 1, expected the least and the"),
        ("not: $color", "not: RED", "draw.other.not: found 'RED', expected the name of a value"),
        ("one_of: [RED, GREEN, BLUE]", "one_of: [RED]", "draw.other.not: it may leave nothing"),
        ("[RED, GREEN, BLUE]", "[RED, GREEN, RED]", "draw.color[2]: RED is listed twice"),
        ("[RED, GREEN, BLUE]", "[]", "draw.color: found 0 options, expected 1 to 1000"),
        ("[RED, GREEN, BLUE]", "RED", "draw.color: found 'RED', expected a list of options"),
        ("{from: 2, to: 4}", "{from: 4, to: 2}", "draw.n.from: a range from 4 to 2 may be empty"),
        ("{from: 2, to: 4}", "{from: 4}", "draw.n: expected a list of options"),
        ("weights: [1, 3]", "weights: [1]", "found 1 weights for 2 options; give one for each"),
        ("weights: [1, 3]", "weights: [0, 1]", "weights[0]: found 0, allowed are 1 to 10000"),
        ("[Wall, Floor]", "[]", "legend.?.one_of: found 0, expected 1 to 100"),
        ("agent: any", "agent: ayn", "place[3].agent: no orientation 'ayn'; did you mean 'any'?"),
        ("agent: any", "agent: $color", "place[3].agent: $color is a colour, expected an orien"),
        ("{agent: any, in: west}", "{object: Box}", "maps[0]: no agent; put one of ^ v < >"),
        ("[turn, mirror]", "[trun]", "symmetries[0]: no symmetry 'trun'; did you mean 'turn'?"),
        ("[Exit, Key]", "[Floor]", "not_next_to[0]: found 'Floor', expected `agent` or an object"),
        ("[Exit, Key]", "[Exti]", "not_next_to[0]: no object type 'Exti'; did you mean 'Exit'?"),
        ("things: [agent, Key, Exit]", "things: [agent]", "reachable: expected a start"),
        ("reachable: {th", "tries: 9\n# {th", "tries: `tries` goes with `reachable`"),
        ("maps:", "room: [5, 5]\nmaps:", "given are maps and room"),
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
    monkeypatch.setattr(
        "gv_engine.scenario.syntax.fields.MAX_CELLS", 100
    )  # fewer than two maps of 9 x 9
    assert_refused("maps of up to 9x9 are too many", file)


PLACE = "place: [{object: Key, count: $(n)}]"
COUNTED = f"parameters: {{k: 1}}\nroom: [5, 5]\ndraw: {{n: [1]}}\n{PLACE}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("room: [5, 5]", "room: no agent in the room; `place` it: {agent: any}"),
        (
            "map: '>E'\nplace: [{agent: any, count: 2}]",
            "count: an agent is always one; leave out the count",
        ),
        ("map: '>.E'\nplace: [{agent: any}, {agent: any}]", "place[1]: a second agent, expected"),
        ("map: '>E'\ndraw: {s: [OPEN, LOCKED]}\nplace: [{object: Key, state: $s}]", "no states"),
        ("map: '>E'\nparameters: {n: 2}\ndraw: {n: [1, 2]}", "n is also a drawn value"),
        (COUNTED, "n is sampled with each level, after $(…) is evaluated"),
        (
            "map: '>a'\nlegend: {a: {room: x}}\nrooms: {x: [0, 0]}",
            "the legend already marks the cells",
        ),
        ("map: '>E'\nstate_space: {objects: [Exit]}\nplace: [Key]", "place[0]: it is Key, not am"),
        ("map: '>E'\nplace: [{count: 2}]", "place[0]: found neither `object` nor `agent`"),
        ("map: '>E'\nplace: 3", "place: found 3, expected a list"),
    ],
)
def test_more_mistakes(text: str, expected: str):
    assert_refused(expected, {**RULES, **yaml.safe_load(text)})


# ---- any text ------------------------------------------------------------------------------------

TEXTS = (
    LEVEL,
    WALLS,
    "map: '>..E'\ndraw: {a: {from: 0, to: 2}, b: [Key, Door], c: [OPEN, LOCKED]}\n"
    "place: [{object: $b, color: RED, count: $a}, {object: Door, state: $c, color: BLUE}]",
    "room: [4, 5]\nrooms: {west: [[0, 2], [0, 2]]}\n"
    "place: [{one_of: [Key, Wall], weights: [1, 2], in: west}, {agent: any, not_next_to: [Key]}]",
)


@pytest.mark.thorough
def test_any_text_loads_or_says_where_it_is_wrong():
    texts, begun = Trees([yaml.safe_load(text) for text in TEXTS]), 0
    for seed in range(1000):
        rng = Random(seed)
        text = texts.changed(rng, rng.choice(texts.trees))
        try:
            scenario = Scenario.load({**RULES, **text})
            w = begin(scenario, seed).world
        except (ScenarioError, NoRoomError):
            continue
        except RuleError as error:
            if str(error).startswith("reachable:"):
                continue
            raise
        begun += 1
        assert w.inside(w.position.y[AGENT], w.position.x[AGENT])
        assert 0 <= w.agent.facing[AGENT] < len(ORIENTATIONS)
        assert {*np.unique(w.cells()[..., 0]).tolist()} <= {*scenario.objects}
    assert begun > 50
