"""Contents of boxes and of the agent's hand, as maps, legends and places say them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from components.objects import BOX, KEY, WALL
from gv_engine import AGENT
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import ACTUATE, PICK_N_DROP
from tests import DATA, boards
from tests.boards import scenario
from tests.scenario.reading import assert_refused, begin

KEY_IN_BOX = {"object": "Box", "content": {"object": "Key", "color": "RED"}}
RULES: dict[str, Any] = {
    "transition_functions": ["actuate_box", "actuate_door", "pickndrop"],
    "legend": {
        "C": {"object": "Box", "content": KEY_IN_BOX},
        "a": {"agent": "RIGHT", "holds": {"object": "Key", "color": "YELLOW"}},
    },
}
"""One legend for all, so that they compile one program."""
DRAWN_KEY = {"object": "Key", "color": "$color"}
LEVEL: dict[str, Any] = {
    **RULES,
    "draw": {"color": ["RED", "GREEN", "BLUE"], "what": ["Key", "Wall"]},
    "symmetries": ["turn", "mirror"],
    "legend": {
        "B": {
            "object": "Box",
            "content": {"one_of": [{"object": "Box", "content": DRAWN_KEY}, "$what", "Floor"]},
        },
        "a": {"agent": "RIGHT", "holds": DRAWN_KEY},
    },
    "place": [{"object": "Box", "content": DRAWN_KEY, "count": [0, 2]}],
}
PICTURE = """
    BaB.
    .B..
    D..E
"""


def look(w: Any, e: int) -> tuple[int, int]:
    return w.kind.value[e], w.color.value[e]


@pytest.mark.sample("object")
def test_a_box_holds_what_the_legend_says(play):
    game = play(">C.", ACTUATE, **RULES)
    assert game.board == ">B."
    assert game.act(ACTUATE).board == ">K."
    assert game.act(PICK_N_DROP).item == "RED Key"


@pytest.mark.sample("object")
def test_the_agent_holds_what_the_legend_says(play):
    game = play("aD.", **RULES)
    assert game.item == "YELLOW Key"
    assert game.act(ACTUATE).board == ">_."


@pytest.mark.sample("object")
def test_what_is_placed_holds_things(play):
    place = [KEY_IN_BOX, {"agent": "RIGHT", "in": [0, 0], "holds": "Key"}]
    game = play("...", **RULES, place=place)
    held = int(game.row["agent"]["holding"][AGENT])
    assert game.row["kind"]["value"][held] == KEY
    (box,) = np.flatnonzero(game.row["kind"]["value"] == BOX)
    content = game.row["box"]["content"][box]
    assert (game.row["kind"]["value"][content], game.row["color"]["value"][content]) == (KEY, 1)


def test_contents_are_drawn():
    played = scenario(PICTURE, **LEVEL)
    found = set()
    for seed in range(40):
        w = begin(played, seed).world
        color = w.drawn[0]
        assert look(w, w.agent.holding[AGENT]) == (KEY, color)
        for box in w.having(w.box):
            content = w.box.content[box]
            inner = w.box.content[content]
            found.add((w.kind.value[content], inner != NOTHING))
            if inner != NOTHING:
                assert look(w, inner) == (KEY, color)
    assert found == {(BOX, True), (KEY, False), (WALL, False), (w.kind.value[NOTHING], False)}


@pytest.mark.thorough
@pytest.mark.compiled
def test_both_worlds_hold_the_same():
    assert not run_differential_test(scenario(PICTURE, **LEVEL), 10, 0, True).fault


def test_there_is_room_for_boxes_in_boxes():
    symbol: dict[str, Any] = KEY_IN_BOX
    for _ in range(4):
        symbol = {"object": "Box", "content": symbol}
    played = scenario("\n".join(["BBBBBBBB"] * 7 + ["BBBBBBB>"]), legend={"B": symbol})
    assert begin(played).world.placed[BOX] == 63


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"object": "Key", "content": "Key"}, "legend.x.content: Key has no component Box"),
        ({"object": "Box", "content": {"agent": "LEFT"}}, "content: found an agent, expected an"),
        ({"object": "Box", "content": "Kex"}, "no object type 'Kex'; did you mean 'Key'"),
        ({"object": "Box", "content": "Beacon"}, "'x' is Beacon, not among the state space's"),
        ({"object": "Key", "holds": "Key"}, "legend.x.holds: only an `agent` holds something"),
        ({"one_of": ["Box"], "content": "Key"}, "`content` belongs in the items of `one_of`"),
    ],
)
def test_mistakes_are_told(entry: dict[str, Any], says: str):
    space = {"objects": ["Floor", "Wall", "Key", "Box"]}
    level = {**boards.RULES, "map": ">x", "legend": {"x": entry}, "state_space": space}
    assert_refused(says, level, DATA)
