"""Likely slips that `gv-engine check` tells, one of each kind, and none in what is right."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine.play.validation import action_masks
from gv_engine.play.validation.lint import find_placed_mistakes
from gv_engine.rules.errors import ProblemPlace
from tests.boards import scenario

SOUND: dict[str, Any] = {
    "transition_functions": ["move_agent", "turn_agent", "actuate_door", "pickndrop"],
    "reward_functions": ["reach_exit", {"name": "living_reward", "reward": -0.1}],
}
BOARD = """
    #######
    #>KD.E#
    #######
"""
WALLED = "#########\n#>KD.##E#\n#########"
TELEPODS = "##########\n#>TK.##TE#\n##########"
BEACON = [{"name": "overlap", "object_type": "Beacon"}]
ON_OFF = {"states": ["OFF", "ON"]}
PAID = {"name": "overlap", "object_type": "Key", "reward_on": 2.0}
TAKEN = {**PAID, "reward_on": -2.0}
SWITCH = {"name": "switch", "object_type": "Lever"}
FOLLOW = {"name": "follow", "object_type": "Gate", "other_type": "Lever"}
GATES: dict[str, Any] = {
    "board": """
        #######
        #>aA.E#
        #..bB.#
        #######
    """,
    "objects": {
        "Lever": {"components": ["Solid"], "states": ["OFF", "ON"], "colored": True},
        "Gate": {"states": {"CLOSED": ["Solid"], "OPEN": []}, "colored": True},
    },
    "legend": {
        **{"a": {"object": "Lever", "color": "RED"}, "A": {"object": "Gate", "color": "RED"}},
        **{"b": {"object": "Lever", "color": "GREEN"}, "B": {"object": "Gate", "color": "BLUE"}},
    },
    "transition_functions": ["move_agent", SWITCH, FOLLOW],
}


@pytest.fixture(autouse=True)
def _few_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tests/systems/test_masks.py` has what the masks of many steps find."""
    monkeypatch.setattr(action_masks, "_STEPS", 2)


def found(board: str = BOARD, **changes: Any) -> dict[str, ProblemPlace]:
    """The places of slips by what is said of them."""
    slips = find_placed_mistakes(scenario(board, **{**SOUND, **changes}))
    return {
        f"{finding.name} {finding.message.removeprefix('<mapping>: ')}": place
        for finding, place in slips
    }


OPAQUE = {"Gate": {"states": {"OPEN": ["Opaque"], "CLOSED": ["Solid", "Opaque"]}}}
PUSH = {"name": "push", "object_type": "Crate"}
SLIDE = {"name": "slide", "object_type": "Ice"}
FETCH = {"text": "fetch the {color} {object}", "object": "Key", "color": "RED"}
CHANGES: dict[str, dict[str, Any]] = {
    "opaque": {"objects": OPAQUE},
    "character": {"legend": {"B": "Box", "K": "Key"}},
    "box": {"transition_functions": ["move_agent", "actuate_door", "actuate_box"]},
    "beacon": {"reward_functions": BEACON},
    "push": {
        **{"objects": {"Crate": {"components": ["Solid"]}}, "legend": {"K": "Crate"}},
        "transition_functions": ["move_agent", PUSH],
    },
    "slide": {
        "objects": {"Ice": {"layer": "ground"}},
        "transition_functions": [SLIDE, "move_agent"],
    },
    "follow": {
        "objects": {"Lever": ON_OFF, "Gate": ON_OFF},
        "transition_functions": [FOLLOW, SWITCH],
    },
    "gate": GATES,
    "key": {"mission": FETCH},
    "action": {"action_space": ["MOVE_FORWARD", "TURN_LEFT", "ACTUATE"]},
    "on_action": {
        "action_space": ["MOVE_FORWARD", "TURN_LEFT", "ACTUATE", "PICK_N_DROP"],
        "transition_functions": ["move_agent", {"name": "actuate_box", "on_action": "TOGGLE"}],
    },
    "reward": {"reward_functions": ["reach_exit", PAID, "living_reward", TAKEN]},
    "walls": {"board": WALLED},
    "obstacle": {"board": "#####\n#>.o#\n#K.E#\n#####"},
    "icon": {"action_space": ["MOVE_FORWARD", {"name": "KICK", "key": "K", "icon": "boot"}]},
    "drawing": {"objects": {"Token": {}}, "legend": {"K": "Token"}},
}
SLIPS = {
    "opaque": "state objects.Gate: every state of Gate brings Opaque",
    "character": "legend legend.B: no map has the character 'B'",
    "box": "rule transition_functions[2]: actuate_box never acts: no map, place or rule ever",
    "beacon": "rule reward_functions[0]: overlap never acts: no map, place or rule ever makes a Be",
    "push": "order transition_functions[1]: push makes way for a move; put it before move_agent",
    "slide": "order transition_functions[0]: slide goes by where a move has led; put it behind",
    "follow": "order transition_functions[0]: follow is a step late; put it behind switch",
    "gate": "color transition_functions[2]: the Gate at row 2, column 4 is BLUE, and no Lev",
    "key": "mission mission: no level has what it asks for",
    "action": "action transition_functions[3]: pickndrop never acts: it waits for PICK_N_DROP",
    "on_action": "action transition_functions[1]: actuate_box never acts: it waits for TOGGLE",
    "reward": "reward reward_functions[3]: overlap always cancels overlap above",
    "walls": "goal terminating_function: reach_exit is never met: walls are around all",
    "obstacle": "object transition_functions: no rule acts on a MovingObstacle; add move_obstacles",
    "icon": "drawing no boot.svg beside the scenario, so an action's icon looks like ?",
    "drawing": "drawing objects.Token: no token.svg beside the scenario, so it is a tile with T",
}
"""By what has been changed, the name of the slip, and the beginning of what is said."""


CELLS = {"gate": [(2, 4)], "walls": [(1, 7)], "obstacle": [(1, 3)]}


@pytest.mark.parametrize("name", CHANGES)
def test_slips_are_found(name: str):
    slips = found(**CHANGES[name])
    (place,) = [place for said, place in slips.items() if said.startswith(SLIPS[name])]
    assert [*place.cells] == CELLS.get(name, [])


def test_a_slip_within_a_rule_of_several_is_at_its_own_place():
    ends = {"name": "reduce_any", "terminating_functions": ["reach_exit", *BEACON]}
    (place,) = found(terminating_function=ends).values()
    assert place.path == "terminating_function.terminating_functions[1]"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        # a rule, a thing in a box, what is left over, and another map may make it
        {
            "transition_functions": ["actuate_box"],
            "legend": {"K": {"object": "Box", "content": "Beacon"}},
            "reward_functions": BEACON,
        },
        {
            "objects": {"Coin": {"leaves": "Hole", "sprite": "key"}, "Hole": {"sprite": "key"}},
            "legend": {"K": "Coin"},
            "reward_functions": [{"name": "overlap", "object_type": "Hole"}],
        },
        {"transition_functions": ["./rules.py:leap", "actuate_box"], "board": WALLED},
        {"transition_functions": ["move_agent", "teleport"], "board": TELEPODS},
        {"reward_functions": [PAID, PAID, {**TAKEN, "reward_off": 1.0}]},
    ],
)
def test_what_may_be_meant_is_no_slip(changes: dict[str, Any]):
    assert not found(**changes)
