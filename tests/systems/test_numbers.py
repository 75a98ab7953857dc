"""Hit points, cooldowns and bags: numbers of components that built-in rules change, in both
worlds."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine.rules.geometry import ACTUATE, MOVE_FORWARD, TURN_LEFT
from tests.boards import RULES as WALK
from tests.scenario.reading import find_problems

COMPONENTS = {
    "Health": {"points": {"start": 3, "max": 5}},
    "Purse": {"coins": {"start": 0, "max": 2}},
    "Rest": {"shield": 0, "sword": 0},
}
RULES: dict[str, Any] = {
    "components": COMPONENTS,
    "agents": {"components": ["Health", "Purse", "Rest"]},
    "objects": {
        "Rat": {"components": {"Solid": {}, "Health": {"points": 3}}, "leaves": "Bone"},
        "Thorn": {"layer": "ground"},
        "Spring": {},
        "Coin": {"layer": "ground"},
        "Bone": {"layer": "ground"},
        "Gate": {"states": {"CLOSED": ["Solid"], "AJAR": ["Solid"], "OPEN": []}},
        "Shop": {"components": ["Solid"], "leaves": "Bone"},
    },
    "legend": {
        "r": "Rat",
        "R": {"object": "Rat", "ground": "Bone"},
        "t": "Thorn",
        "s": "Spring",
        "c": "Coin",
        "g": "Gate",
        "$": "Shop",
    },
    "transition_functions": [
        {"name": "cool_down", "number": "Rest.shield"},
        {"name": "cool_down", "number": "Rest.sword", "amount": 2},
        "move_agent",
        "turn_agent",
        {
            **{"name": "hit", "object_type": "Rat", "number": "Health.points", "amount": 2},
            **{"cooldown": "Rest.sword", "cooldown_steps": 3},
        },
        {"name": "heal", "object_type": "Spring", "number": "Health.points", "amount": 4},
        {"name": "collect_into", "object_type": "Coin", "number": "Purse.coins"},
        {"name": "spend", "object_type": "Gate", "number": "Purse.coins"},
        {"name": "spend", "object_type": "Shop", "number": "Purse.coins", "amount": 2},
        {
            **{"name": "hurt", "object_type": "Thorn", "number": "Health.points", "amount": 2},
            **{"cooldown": "Rest.shield", "cooldown_steps": 3},
        },
        {"name": "hurt", "object_type": "Rat", "number": "Health.points", "beside": True},
    ],
    "reward_functions": [{"name": "gain", "number": "Health.points", "reward": 0.5}],
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [
            {"name": "number_at_most", "number": "Health.points"},
            {"name": "number_at_least", "number": "Purse.coins", "value": 2},
        ],
    },
    "success_function": {"name": "number_at_least", "number": "Purse.coins", "value": 2},
    "observation": {"state": ["agent.points", "agent.coins", "agent.shield", "agent.sword"]},
}


def numbers(game: Any) -> tuple[int, ...]:
    """Points, coins, shield and sword of the agent."""
    row = game.row
    return tuple(
        int(row[component][field][1])
        for component, field in (
            *(("health", "points"), ("purse", "coins"), ("rest", "shield"), ("rest", "sword")),
        )
    )


def reward(game: Any) -> float:
    return float(game.row["reward"][1])


def test_a_thorn_hurts_who_stands_on_it_once_in_three_steps(yard):
    game = yard(">t.")
    points = [numbers(game.act(action))[0] for action in (MOVE_FORWARD, *[TURN_LEFT] * 3)]
    assert points == [1, 1, 1, 0]  # and not below 0
    assert game.row["terminated"]


def test_a_number_at_0_is_not_lowered_again(yard):
    game = yard(">t.", MOVE_FORWARD, *[TURN_LEFT] * 3)
    assert reward(game) == -0.5
    assert reward(game.act(*[TURN_LEFT] * 3)) == 0
    assert numbers(game)[0] == 0


def test_a_rat_bites_from_the_next_cell(yard):
    game = yard(">..r", TURN_LEFT)
    assert numbers(game)[0] == 3
    assert numbers(yard("..\n>r", TURN_LEFT))[0] == 2
    assert numbers(yard(".r\n>.", TURN_LEFT))[0] == 3  # none at a corner


def test_the_second_blow_wins_and_waits_for_the_sword(yard):
    game = yard(">r.")
    assert "ACTUATE" in game.mask
    game.act(ACTUATE)
    assert (numbers(game)[3], "ACTUATE" in game.mask) == (3, False)
    assert int(game.row["health"]["points"][2]) == 1
    game.act(ACTUATE)  # no blow, the sword rests
    assert int(game.row["health"]["points"][2]) == 1
    assert "ACTUATE" not in game.mask
    assert numbers(game)[3] == 1


def test_what_is_beaten_leaves_something_unless_its_cell_is_taken(yard):
    beaten = {"objects": {**RULES["objects"]}}
    beaten["objects"]["Rat"] = {
        **beaten["objects"]["Rat"],
        "components": {"Solid": {}, "Health": {"points": 1}},
    }
    assert yard(">r.", ACTUATE, **beaten).row["placed"].sum() == 1
    assert yard(">R.", ACTUATE, **beaten).row["placed"].sum() == 1


def test_a_spring_heals_up_to_the_maximum_and_stays(yard):
    game = yard(">s.", MOVE_FORWARD)
    assert (numbers(game)[0], reward(game)) == (5, 1.0)
    assert reward(game.act(TURN_LEFT)) == 0
    assert game.row["placed"].sum() == 1


def test_coins_are_collected_until_the_purse_is_full(yard):
    game = yard(">ccc", MOVE_FORWARD)
    assert (numbers(game)[1], bool(game.row["terminated"])) == (1, False)
    game.act(MOVE_FORWARD)
    assert numbers(game)[1] == 2
    assert game.row["success"][1]
    game.act(MOVE_FORWARD)
    assert (numbers(game)[1], game.row["placed"].sum()) == (2, 1)


def test_a_gate_takes_a_coin_for_each_state_and_a_shop_two_at_once(yard):
    assert "ACTUATE" not in yard(">g.").mask
    game = yard(">ccg.", MOVE_FORWARD, MOVE_FORWARD)
    for coins in (1, 0):
        assert "ACTUATE" in game.mask
        assert numbers(game.act(ACTUATE))[1] == coins
    assert "ACTUATE" not in game.mask
    game.act(MOVE_FORWARD)
    assert game.board == "...>."  # the gate is open
    assert "ACTUATE" not in yard(">c$", MOVE_FORWARD).mask
    game = yard(">cc$", MOVE_FORWARD, MOVE_FORWARD, ACTUATE)
    assert (numbers(game)[1], game.row["placed"].sum()) == (0, 1)


def test_what_cools_down_of_objects_does_so_too(yard):
    rules = {"transition_functions": [{"name": "cool_down", "number": "Health.points"}]}
    game = yard(">r.", TURN_LEFT, **rules)
    assert [int(game.row["health"]["points"][e]) for e in (1, 2)] == [2, 2]
    assert yard(">..", TURN_LEFT, **rules).row["health"]["points"][1] == 2


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"number": "Health"}, "found 'Health', expected a component and its field: Health.points"),
        ({"number": "Healt.points"}, "no component 'Healt'"),
        ({"number": "Health.pints"}, "Health has no whole number 'pints'"),
        ({"number": "Mood.joy"}, "Mood has no whole number 'joy'"),
        ({"number": "Mana.points"}, "agents have no Mana; write agents: {components: [Mana]}"),
        ({"number": "Door.status"}, "Door is built in; expected a component that the scenario"),
        ({"amount": 0}, "found amount 0, expected at least 1"),
        (
            {"cooldown_steps": 2},
            "cooldown_steps needs the number that counts it, such as cooldown: Sword.rest",
        ),
        (
            {"cooldown_steps": -2, "cooldown": "Health.points"},
            "found cooldown_steps -2, expected at least 0",
        ),
    ],
)
def test_wrong_numbers_are_refused(rule: dict[str, Any], says: str):
    hurt = {"name": "hurt", "object_type": "Door", "number": "Health.points", **rule}
    components = {**COMPONENTS, "Mana": {"points": 1}, "Mood": {"joy": 0.5}}
    level = {**WALK, "map": ">E", "components": components, "transition_functions": [hurt]}
    faults = find_problems({**level, "agents": {"components": ["Health", "Mood"]}})
    assert [says in fault for fault in faults] == [True], faults


def test_what_is_hit_needs_the_number():
    hit = {"name": "hit", "object_type": "Door", "number": "Health.points"}
    level = {**WALK, "map": ">E", "components": COMPONENTS, "transition_functions": [hit]}
    (fault,) = find_problems(level)
    assert "Door has no component with this number; list it under its `components`" in fault
