"""Likely slips that `gv-engine check` tells, one of each kind, and none in what is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gv_engine.cli import main
from gv_engine.validation.lint import find_mistakes, find_placed_mistakes
from tests.boards import scenario

RULES = {
    "observation_function": {"name": "partially_occluded", "area": [[-3, 0], [-2, 2]]},
    "terminating_function": "reach_exit",
}
SOUND: dict[str, Any] = {
    "transition_functions": ["move_agent", "turn_agent", "actuate_door", "pickndrop"],
    "reward_functions": ["reach_exit", {"name": "living_reward", "reward": -0.1}],
}
BOARD = """
    #######
    #>KD.E#
    #######
"""
PAID = {"name": "overlap", "object_type": "Key", "reward_on": 2.0}
TAKEN = {**PAID, "reward_on": -2.0}
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
    "transition_functions": [
        "move_agent",
        {"name": "switch", "object_type": "Lever"},
        {"name": "follow", "object_type": "Gate", "other_type": "Lever"},
    ],
}


def found(board: str = BOARD, **changes: Any) -> list[tuple[str, str]]:
    return [
        (one.name, one.message) for one in find_mistakes(scenario(board, **{**SOUND, **changes}))
    ]


def test_nothing_is_found_in_what_is_right():
    assert not found()


SLIPS = [
    (
        {"objects": {"Gate": {"states": {"OPEN": ["Opaque"], "CLOSED": ["Solid", "Opaque"]}}}},
        ("state", "objects.Gate: every state of Gate brings Opaque"),
    ),
    (
        {"legend": {"B": "Box", "K": "Key"}},
        ("legend", "legend.B: no map has the character 'B'"),
    ),
    (
        {"transition_functions": ["move_agent", "actuate_door", "actuate_box"]},
        ("rule", "transition_functions[2]: actuate_box never acts: no map, place or rule ever"),
    ),
    (
        {"reward_functions": [{"name": "overlap", "object_type": "Beacon"}]},
        ("rule", "reward_functions[0]: overlap never acts: no map, place or rule ever makes a Bea"),
    ),
    (
        {
            "objects": {"Crate": {"components": ["Solid"]}},
            "legend": {"K": "Crate"},
            "transition_functions": ["move_agent", {"name": "push", "object_type": "Crate"}],
        },
        ("order", "transition_functions[1]: push makes way for a move; put it before move_agent"),
    ),
    (
        {
            "objects": {"Ice": {"layer": "ground"}},
            "transition_functions": [{"name": "slide", "object_type": "Ice"}, "move_agent"],
        },
        ("order", "transition_functions[0]: slide goes by where a move has led; put it behind"),
    ),
    (
        {
            "objects": {"Lever": {"states": ["OFF", "ON"]}, "Gate": {"states": ["OFF", "ON"]}},
            "transition_functions": [
                {"name": "follow", "object_type": "Gate", "other_type": "Lever"},
                {"name": "switch", "object_type": "Lever"},
            ],
        },
        ("order", "transition_functions[0]: follow is a step late; put it behind switch"),
    ),
    (
        GATES,
        ("color", "transition_functions[2]: the Gate at row 3, column 5 is BLUE, and no Lever is"),
    ),
    (
        {"mission": {"text": "fetch the {color} {object}", "object": "Key", "color": "RED"}},
        ("mission", "mission: no level has what it asks for"),
    ),
    (
        {"action_space": ["MOVE_FORWARD", "TURN_LEFT", "ACTUATE"]},
        ("action", "transition_functions[3]: pickndrop never acts: it waits for PICK_N_DROP"),
    ),
    (
        {"reward_functions": ["reach_exit", PAID, "living_reward", TAKEN]},
        ("reward", "reward_functions[3]: overlap always cancels overlap above"),
    ),
    (
        {"board": "#########\n#>KD.##E#\n#########"},
        ("goal", "terminating_function: reach_exit is never met: walls are around all"),
    ),
    (
        {"objects": {"Token": {}}, "legend": {"K": "Token"}},
        ("drawing", "objects.Token: no token.svg beside the scenario, so it is a tile with T"),
    ),
]


@pytest.mark.parametrize(("changes", "slip"), SLIPS)
def test_slips_are_found(changes: dict[str, Any], slip: tuple[str, str]):
    said = found(**changes)
    assert any(name == slip[0] and slip[1] in says for name, says in said), said


def test_a_slip_that_is_about_cells_has_them():
    changes = {**SOUND, **GATES}
    slips = find_placed_mistakes(scenario(changes.pop("board"), **changes))
    assert [place.cells for finding, place in slips if finding.name == "color"] == [((2, 4),)]
    walled = scenario("#########\n#>KD.##E#\n#########", **SOUND)
    assert [place.cells for _, place in find_placed_mistakes(walled)] == [((1, 7),)]


def test_a_slip_within_a_rule_of_several_is_at_its_own_place():
    inner = {"name": "overlap", "object_type": "Beacon"}
    ends = {"name": "reduce_any", "terminating_functions": ["reach_exit", inner]}
    (slip,) = find_placed_mistakes(scenario(BOARD, **{**SOUND, "terminating_function": ends}))
    assert slip[1].path == "terminating_function.terminating_functions[1]"


@pytest.mark.parametrize(
    "changes",
    [
        # a rule, a thing in a box, what is left over, and another map may make it
        {
            "transition_functions": ["actuate_box"],
            "legend": {"K": {"object": "Box", "content": "Beacon"}},
            "reward_functions": [{"name": "overlap", "object_type": "Beacon"}],
        },
        {
            "objects": {"Coin": {"leaves": "Hole", "sprite": "key"}, "Hole": {"sprite": "key"}},
            "legend": {"K": "Coin"},
            "reward_functions": [{"name": "overlap", "object_type": "Hole"}],
        },
        {
            "transition_functions": ["./rules.py:leap", "actuate_box"],
            "board": "#########\n#>KD.##E#\n#########",
        },
        {
            "transition_functions": ["move_agent", "teleport"],
            "board": "##########\n#>TK.##TE#\n##########",
        },
        {"reward_functions": [PAID, PAID, {**TAKEN, "reward_off": 1.0}]},
    ],
)
def test_what_may_be_meant_is_no_slip(changes: dict[str, Any]):
    assert not found(**changes)


@pytest.mark.compiled
def test_check_tells_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "slip.yaml"
    file.write_text("map: '>E'\nlegend:\n  B: Box\n" + yaml.safe_dump({**RULES, **SOUND}))
    assert main(["check", str(file), "--episodes", "1"]) == 0
    assert f"legend\t{file}:3: legend.B: no map has" in capsys.readouterr().out
