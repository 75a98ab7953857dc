"""Levers, plates, crates, coins, guards, ghosts, slime, clocks and one-way doors that a scenario
declares in text, in both worlds."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine import ScenarioError
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_LEFT,
    MOVE_RIGHT,
    ORIENTATIONS,
    TURN_LEFT,
)
from tests.boards import cells_of, scenario

pytestmark = pytest.mark.compiled_elsewhere

TURNS = {"TURN_LEFT", "TURN_RIGHT"}
RULES: dict[str, Any] = {
    "objects": {
        "Gate": {"states": {"CLOSED": ["Solid", "Opaque"], "OPEN": []}, "colored": True},
        "Grate": {"states": {"SHUT": ["Solid"], "OPEN": []}, "colored": True},
        "Lever": {"components": ["Solid"], "states": ["OFF", "ON"], "colored": True},
        "Plate": {"states": ["UP", "DOWN", "HELD"], "colored": True},
        "Crate": {"components": ["Solid"]},
        "Coin": {"leaves": "Rubble"},
        "Rubble": {},
    },
    "legend": {
        "g": "Gate",
        "r": {"object": "Gate", "color": "RED"},
        "t": "Grate",
        "l": "Lever",
        "1": {"object": "Lever", "color": "RED"},
        "P": "Plate",
        "C": "Crate",
        "c": "Coin",
    },
    "transition_functions": [
        {"name": "push", "object_type": "Crate", "other_type": "Plate"},
        "move_agent",
        "turn_agent",
        {"name": "switch", "object_type": "Lever"},
        {"name": "hold_down", "object_type": "Plate"},
        {"name": "follow", "object_type": "Gate", "other_type": "Lever"},
        {"name": "use_up", "object_type": "Coin"},
        {"name": "follow", "object_type": "Grate", "other_type": "Plate"},
    ],
    "reward_functions": [{"name": "use_up", "object_type": "Coin", "reward": 2.0}],
    "terminating_function": {"name": "none_left", "object_type": "Exit"},
}


def states(game, name: str) -> list[str]:
    """Names of the states of the objects of a type, row by row."""
    kind = game.scenario.types[name]
    cells = cells_of(game.row, game.scenario.layout).reshape(-1, 3).tolist()
    return [kind.states[state] for found, state, _ in cells if found == kind.index]


def test_a_lever_opens_the_gates_of_its_colour(yard):
    game = yard(">l\ngr")
    assert game.mask == {"ACTUATE", "TURN_LEFT", "TURN_RIGHT"}
    assert states(game.act(ACTUATE), "Gate") == ["OPEN", "CLOSED"]
    assert states(game.act(TURN_LEFT), "Gate") == ["OPEN", "CLOSED"]
    game.act(TURN_LEFT, TURN_LEFT, TURN_LEFT, ACTUATE)
    assert states(game, "Lever") == ["OFF"]
    assert states(game, "Gate") == ["CLOSED", "CLOSED"]


def test_a_gate_lets_pass_where_a_lever_of_its_colour_is_on(yard):
    assert states(yard(">1g", ACTUATE), "Gate") == ["CLOSED"]
    assert yard("l.\n^g", MOVE_RIGHT).board == "L.\n^G"
    assert yard("l.\n^g", ACTUATE, MOVE_RIGHT).board == "L.\n.^"


@pytest.mark.parametrize(("every", "expected"), [(False, "OPEN"), (True, "SHUT")])
def test_one_of_two_plates_opens_a_gate_unless_it_takes_every(yard, every, expected):
    *others, last = RULES["transition_functions"]
    game = yard(">PPt", MOVE_FORWARD, transition_functions=[*others, {**last, "every": every}])
    assert states(game, "Plate") == ["DOWN", "UP"]
    assert states(game, "Grate") == [expected]


def test_a_plate_is_down_while_the_agent_stands_on_it(yard):
    game = yard("#>P.t")
    assert game.mask == TURNS | {"MOVE_FORWARD"}  # to hold it down is no action
    assert states(game.act(MOVE_FORWARD), "Grate") == ["OPEN"]
    assert states(game, "Plate") == ["DOWN"]
    assert game.mask == TURNS | {"MOVE_FORWARD", "MOVE_BACKWARD"}
    assert states(game.act(MOVE_FORWARD), "Plate") == ["UP"]
    assert states(game, "Grate") == ["SHUT"]


def test_a_crate_holds_a_plate_down_for_good(yard):
    game = yard(">CP\n..t", MOVE_FORWARD)
    assert game.board == ".>P\n..G"
    assert states(game, "Plate") == ["HELD"]
    assert states(game.act(MOVE_FORWARD, MOVE_BACKWARD), "Grate") == ["OPEN"]
    assert states(game, "Plate") == ["HELD"]


@pytest.mark.parametrize(
    ("action", "after"),
    [
        (MOVE_FORWARD, "..C..\n..^..\n.C.C.\n..C..\n....."),
        (MOVE_LEFT, ".....\n..C..\nC^.C.\n..C..\n....."),
        (MOVE_RIGHT, ".....\n..C..\n.C.^C\n..C..\n....."),
        (MOVE_BACKWARD, ".....\n..C..\n.C.C.\n..^..\n..C.."),
    ],
)
def test_a_crate_is_pushed_any_way(yard, action, after):
    assert yard(".....\n..C..\n.C^C.\n..C..\n.....", action).board == after


@pytest.mark.parametrize("picture", [">C", ">CC.", ">C#", ">Cl", ">Cc"])
def test_a_crate_without_room_stays_and_the_move_is_not_valid(yard, picture):
    game = yard(picture)
    before = game.board
    assert "MOVE_FORWARD" not in game.mask
    assert game.act(MOVE_FORWARD).board == before


@pytest.mark.parametrize(
    ("picture", "after"),
    [
        (">CC.", ".>CC"),
        (">CCC.C", ".>CCCC"),
        (">CCP", ".>CP"),
        (">C.", ".>C"),
        (">CCc", ">CCC"),
        (">CC", ">CC"),
        (".\nC\nC\n^", "C\nC\n^\n."),
    ],
)
def test_a_row_of_crates_is_pushed_as_one(yard, picture, after):
    rules = [{**RULES["transition_functions"][0], "rows": True}, "move_agent"]
    game = yard(picture, transition_functions=rules)
    assert ("MOVE_FORWARD" in game.mask) == (game.board != after)
    assert game.act(MOVE_FORWARD).board == after


def test_a_held_plate_takes_no_second_crate(yard):
    game = yard(">CP.\n.C..", MOVE_FORWARD)
    assert states(game, "Plate") == ["HELD"]
    game = yard("..\nC.\n^P", MOVE_FORWARD)
    assert game.board == "C.\n^.\n.P"


def test_a_coin_is_used_up_pays_and_leaves_rubble(yard):
    game = yard(">c.c", MOVE_FORWARD)
    assert game.reward == 2.0
    assert game.act(MOVE_FORWARD).board == ".R>C"
    assert game.reward == 0.0
    assert game.terminated
    # the last one ends the episode
    ends = {"terminating_function": {"name": "none_left", "object_type": "Coin"}}
    game = yard(">cc", MOVE_FORWARD, **ends)
    assert not game.terminated
    assert game.act(MOVE_FORWARD).terminated


def test_what_is_used_up_pays_one_and_what_comes_pays_nothing(yard):
    rewards = [{"name": "use_up", "object_type": kind} for kind in ("Coin", "Rubble")]
    game = yard(">c.", MOVE_FORWARD, reward_functions=rewards)
    assert game.terms == {"use_up": 1.0, "use_up_2": 0.0}
    assert game.act(MOVE_FORWARD).board == ".R>"


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("side", [7, 40], ids=["small", "with lists"])
def test_both_worlds_agree_on_all_of_it(side):
    rows = [".........", ".C.P.lg..", ".>C.c.1r.", ".CCPPt.g.", "........."]
    below = ["." * max(9, side)] * (side - 5)
    picture = "\n".join([*(row.ljust(side, ".") for row in rows), *below])
    report = run_differential_test(scenario(picture, **RULES), episodes=4)
    assert report.fault == ""


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("switch", {"object_type": "Crate"}),
        ("hold_down", {"object_type": "Crate"}),
        ("follow", {"object_type": "Gate", "other_type": "Crate"}),
        ("push", {"object_type": "Coin", "other_type": "Crate"}),
    ],
)
def test_a_rule_of_states_refuses_a_type_without(name, types):
    with pytest.raises(ScenarioError, match="Crate has only one state"):
        scenario(">.", **{**RULES, "transition_functions": [{"name": name, **types}]})


def test_other_scenarios_do_not_know_the_types(yard):
    assert yard(">c").scenario.layout.types[-1].name == "Rubble"
    with pytest.raises(ScenarioError, match="no object type 'Coin'"):
        scenario(">c", legend={"c": "Coin"})


# ---- what moves by itself ------------------------------------------------------------------------

LOOKS = [*ORIENTATIONS]
MOVERS: dict[str, Any] = {
    "objects": {
        "Guard": {"states": LOOKS},
        "Ghost": {"states": ["RESTING", "RUNNING"]},
        "OneWay": {"components": ["Solid"], "states": LOOKS},
        "Slime": {},
        "Moss": {"layer": "ground"},
        "Fire": {},
        "Fuse": {},
        "Clock": {"states": ["ONE", "TWO", "THREE"]},
        "Rat": {"components": ["Solid"]},
        "Slug": {"layer": "ground"},
        "Hatch": {"layer": "ground", "states": {"OPEN": [], "SHUT": ["Solid"]}},
        "Rock": {"states": {"WHOLE": ["Solid"], "RUBBLE": []}},
    },
    "legend": {
        "u": {"object": "Guard", "state": "FORWARD"},
        "r": {"object": "Guard", "state": "RIGHT"},
        "l": {"object": "Guard", "state": "LEFT"},
        "G": {"object": "Ghost", "state": "RUNNING"},
        "g": "Ghost",
        ")": {"object": "OneWay", "state": "RIGHT"},
        "S": "Slime",
        "m": "Moss",
        "*": "Fire",
        "~": "Fuse",
        "c": "Clock",
        "R": "Rock",
        "q": "Rat",
        "s": "Slug",
        "=": {"ground": {"object": "Hatch", "state": "OPEN"}},
        "x": {"ground": {"object": "Hatch", "state": "SHUT"}},
    },
    "transition_functions": [
        {"name": "let_pass", "object_type": "OneWay"},
        "move_agent",
        "turn_agent",
        {"name": "switch", "object_type": "Rock", "again": False},
        {"name": "patrol", "object_type": "Guard"},
        {"name": "chase", "object_type": "Ghost"},
        {"name": "chase", "object_type": "Rat"},
        {"name": "chase", "object_type": "Slug"},
        {"name": "spread", "object_type": "Fire", "other_type": "Fuse"},
        {"name": "spread", "object_type": "Slime", "chance": 0.5},
        {"name": "spread", "object_type": "Moss"},
        {"name": "elapse", "object_type": "Clock", "again": False},
    ],
    "reward_functions": ["living_reward"],
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [
            {"name": "seen", "object_type": "Guard", "reach": 2},
            {"name": "none_left", "object_type": "Fuse", "spare": 3},
        ],
    },
}


@pytest.fixture
def plays(play):
    """Plays actions on a map under `MOVERS`, above so many fuses that it goes on."""

    def start(picture: str, *actions: int):
        rows = [line.ljust(5, "#") for line in picture.split("\n")]
        return play("\n".join([*rows, "~~~~~", "#####"]), *actions, **MOVERS)

    return start


def above(game) -> str:
    """The board without the fuses, and without the walls to its right."""
    return "\n".join(line.rstrip("#") for line in game.board.split("\n")[:-2])


def test_a_guard_goes_to_and_fro(plays):
    game = plays("r..#\n###^")
    seen = []
    for _ in range(6):
        game.act(TURN_LEFT)
        seen.append((above(game).split("\n")[0].index("G"), *states(game, "Guard")))
    ways = ["RIGHT", "RIGHT", "LEFT", "LEFT", "LEFT", "RIGHT"]
    assert seen == list(zip([1, 2, 2, 1, 0, 0], ways, strict=True))


def test_a_guard_does_not_change_places_with_the_agent(plays):
    game = plays(">l..", MOVE_FORWARD)
    assert above(game) == ".>.."
    assert game.terminated is False
    assert states(game, "Guard") == ["LEFT"]


@pytest.mark.parametrize(
    ("picture", "seen"),
    [(">..l", True), (">#.l", False), (">...l", False), ("<r..", False), ("l..>", False)],
)
def test_a_guard_sees_two_cells_ahead_but_not_through_walls(plays, picture, seen):
    assert plays(picture, TURN_LEFT).terminated is seen


def test_a_ghost_runs_around_what_blocks_and_catches_who_stands_still(plays):
    assert above(plays("#.#.\nG#>.\n....", TURN_LEFT)) == "#.#.\n.#^.\nG..."
    assert above(plays("g.>.", TURN_LEFT)) == "G.^."  # it rests
    game = plays("G.>", TURN_LEFT, TURN_LEFT)
    assert above(game) == "..<"
    assert game.row["at"][0, 2] != 0


@pytest.mark.parametrize("thing", ["K", "_", "g", "x"])
def test_a_ghost_goes_around_what_it_cannot_enter_even_if_agents_can(plays, thing):
    game = plays(f"G.{thing}>\n....", *(TURN_LEFT,) * 5)
    thing = game.row["at"][0, 3]
    assert game.scenario.types[game.row["kind"]["value"][thing]].name == "Ghost"


def test_without_a_way_around_a_ghost_waits_beside_what_is_in_its_way(plays):
    assert above(plays("G.K.>", *(TURN_LEFT,) * 3)) == ".GK.v"
    game = plays("G.x.>\n#####", *(TURN_LEFT,) * 3)
    assert game.board[0] == "G"  # nobody can enter


def test_ghosts_follow_each_other(plays):
    assert above(plays("GG..>", TURN_LEFT)) == "G.G.^"
    assert above(plays("GG..>", TURN_LEFT, TURN_LEFT)) == ".G.G<"


def test_a_solid_object_chases(plays):
    assert above(plays("q..>", TURN_LEFT)) == ".R.^"
    assert above(plays("qK>\n...", TURN_LEFT)) == ".K^\nR.."


def test_a_ground_object_chases_beneath_others_and_not_into_another(plays):
    game = plays("sK.>", TURN_LEFT)
    assert (game.row["ground"][0, :2] != 0).tolist() == [False, True]
    game.act(TURN_LEFT)
    assert (game.row["ground"][0, :3] != 0).tolist() == [False, False, True]
    before = plays("s=.>\n####").row["ground"][0, :4].tolist()
    assert plays("s=.>\n####", TURN_LEFT).row["ground"][0, :4].tolist() == before


def test_a_guard_turns_round_before_a_shut_hatch_and_crosses_an_open_one(plays):
    for hatch, ways in (("x", ["RIGHT", "LEFT", "LEFT"]), ("=", ["RIGHT"] * 3)):
        game = plays(f"r.{hatch}.#\n###^")
        seen = []
        for _ in ways:
            seen += states(game.act(TURN_LEFT), "Guard")
        assert seen == ways


def test_fire_runs_along_the_fuse_one_cell_a_step_and_the_last_of_them_end_it(play):
    game = play("*~~~~~\n^#####", TURN_LEFT, **MOVERS)
    assert game.board == "FFFFFF\n<#####"
    assert not game.terminated
    assert game.act(TURN_LEFT).terminated
    kinds = game.row["kind"]["value"][game.row["at"][0, :6]]
    assert len(set(kinds[:3])) == len(set(kinds[3:])) == 1
    assert kinds[0] != kinds[3]


def test_slime_spreads_by_chance_to_free_cells_alone(plays):
    game = plays("S...E\n####>", *[TURN_LEFT] * 20)
    assert above(game) == "SSSSE\n####>"
    assert above(plays("S...E\n####>", TURN_LEFT)) != above(game)


def test_moss_spreads_on_the_ground_beneath_things(plays):
    game = plays("mR.\n##>", TURN_LEFT)
    assert (game.row["ground"][0, :3] > 0).tolist() == [True, True, False]
    below = game.act(TURN_LEFT).row["ground"][:2, :3] > 0
    assert below.tolist() == [[True, True, True], [False, False, False]]
    assert states(game, "Rock") == ["WHOLE"]


def test_a_clock_goes_on_to_its_last_state_and_a_rock_breaks_for_good(plays):
    assert states(plays("c>", TURN_LEFT), "Clock") == ["TWO"]
    assert states(plays("c>", *[TURN_LEFT] * 5), "Clock") == ["THREE"]
    game = plays(">R.")
    assert "ACTUATE" in game.mask
    assert "ACTUATE" not in game.act(ACTUATE).mask
    assert states(game.act(ACTUATE), "Rock") == ["RUBBLE"]


def test_a_one_way_door_lets_in_the_way_it_looks_and_no_other(plays):
    game = plays(">).")
    assert "MOVE_FORWARD" in game.mask
    assert above(game.act(MOVE_FORWARD)) == ".>."
    assert above(game.act(MOVE_FORWARD)) == ".O>"
    assert "MOVE_BACKWARD" not in game.mask
    assert above(game.act(MOVE_BACKWARD)) == ".O>"
    assert above(plays("...\n.)#\n.^.", MOVE_FORWARD)).endswith(".O\n.^.")


def test_who_stands_in_a_one_way_door_may_leave_it_by_any_side(plays):
    assert above(plays(">)\n..", MOVE_FORWARD, MOVE_RIGHT)) == ".O\n.>"
    assert above(plays(">)\n..", MOVE_FORWARD, MOVE_BACKWARD, MOVE_FORWARD)) == ".>\n.."


@pytest.mark.parametrize(
    ("name", "object_type", "more", "message"),
    [
        ("patrol", "Ghost", {}, "Ghost has no orientations; its states must be"),
        ("let_pass", "Fire", {}, "Fire has no orientations"),
        ("spread", "Fire", {"chance": 2}, "found chance 2.0: allowed are 0"),
        ("elapse", "Fire", {}, "Fire has only one state"),
    ],
)
def test_what_is_not_fit_for_a_rule_is_told(name, object_type, more, message):
    call = {"name": name, "object_type": object_type, **more}
    with pytest.raises(ScenarioError, match=message):
        scenario(">.", **{**MOVERS, "transition_functions": ["move_agent", call]})
