"""Boxes, obstacles, telepods, and the rewards that go with them, on small boards in both worlds."""

from typing import Any

import pytest

from components.objects import WALL
from gv_engine import RuleError
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_LEFT,
    MOVE_RIGHT,
    PICK_N_DROP,
    TURN_LEFT,
    TURN_RIGHT,
    Action,
    manhattan,
)
from gv_engine.rules.system import REGISTRIES, Phase
from systems.building import random_free_of
from tests.boards import EVERYTHING, MEASURES, distances, scenario
from tests.scenario.reading import begin
from tests.systems import test_missions as missions

pytestmark = pytest.mark.compiled_elsewhere

LEGEND = {
    "1": {"object": "Telepod", "color": "RED"},
    "2": {"object": "Telepod", "color": "BLUE"},
    "w": {"object": "Wall", "agent": "RIGHT"},
    "k": {"object": "Key", "color": "RED", "agent": "RIGHT"},
    "o": "MovingObstacle",
    "x": {"object": "MovingObstacle", "agent": "RIGHT"},
    "R": {"object": "Exit", "color": "RED"},
    "G": {"object": "Exit", "color": "GREEN"},
    "b": {"object": "Beacon", "color": "RED"},
    "e": {"object": "Exit", "color": "RED", "agent": "RIGHT"},
}
OVERLAP = {"name": "overlap", "object_type": "Key"}
RULES: dict[str, Any] = {
    "legend": LEGEND,
    "transition_functions": EVERYTHING,
    "reward_functions": [
        {**OVERLAP, "reward_on": 2.0, "reward_off": -0.5},
        {"name": "bump_moving_obstacle", "reward": -3.0},
        {"name": "bump_into_wall", "reward": -0.75},
        {"name": "reduce_sum", "reward_functions": ["bump_moving_obstacle", "bump_into_wall"]},
    ],
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [
            "bump_moving_obstacle",
            {"name": "reduce_all", "terminating_functions": [OVERLAP, "bump_into_wall"]},
        ],
    },
}


# ---- boxes -------------------------------------------------------------------------------------


def test_a_box_opens_and_is_gone(yard):
    game = yard(">B.")
    assert game.mask == {"TURN_LEFT", "TURN_RIGHT", "ACTUATE"}
    assert game.act(ACTUATE).board == ">.."
    assert game.act(MOVE_FORWARD).board == ".>."


def test_only_a_box_ahead_is_opened_and_by_actuate_alone(yard):
    for action in (MOVE_FORWARD, TURN_LEFT, PICK_N_DROP):
        assert "B" in yard(">B", action).board
    for picture in (">#", ">K", ">.B", "B>.", ">"):
        game = yard(picture)
        assert "ACTUATE" not in game.mask
        assert game.act(ACTUATE).board == picture


# ---- moving obstacles --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("^#o.", "^#.o"),
        ("^#.o", "^#o."),
        ("^##\n##o\n##.", "^##\n##.\n##o"),
        ("^#.\n##o\n###", "^#o\n##.\n###"),
        # in order of their cells: the first one has no room yet when the second one makes some
        ("^#oo.", "^#o.o"),
        ("^##\n#oo\n##.", "^##\n#o.\n##o"),
        # the second one follows the first
        ("^#.oo", "^#oo."),
    ],
)
def test_an_obstacle_goes_where_there_is_floor(yard, before, after):
    assert yard(before, ACTUATE).board == after


def test_an_obstacle_goes_nowhere_else(yard):
    for thing in "#KE_BTb":
        picture = f"^#{thing}\n##o\n##{thing}"
        assert yard(picture, ACTUATE, ACTUATE, ACTUATE).board == picture


def test_an_obstacle_wanders_everywhere_in_time_and_alike_in_both_worlds(yard):
    boards = {yard("...\n.o.\n...\n##v", ACTUATE, seed=seed).board for seed in range(20)}
    places = {".o.\n...\n...", "...\no..\n...", "...\n..o\n...", "...\n...\n.o."}
    assert boards == {f"{place}\n##v" for place in places}


def test_the_agent_is_no_obstacle_to_an_obstacle(yard):
    game = yard("o>#", ACTUATE)
    assert game.terminated
    assert game.terms["bump_moving_obstacle"] == -3.0


def test_obstacles_and_telepods_make_no_action_valid(yard):
    moves = {"MOVE_RIGHT", "MOVE_FORWARD"}  # a bump costs something
    assert yard(">#\no.\n1.\n1.").mask == {"TURN_LEFT", "TURN_RIGHT", *moves}


# ---- telepods ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (">1.1", ".1.>"),
        (">1.\n..1", ".1.\n..>"),
        (">1.2", ".>.2"),  # of another colour
        (">1..", ".>.."),  # alone
        (">1.2\n...1", ".1.2\n...>"),
    ],
)
def test_a_telepod_leads_to_the_other_of_its_colour(yard, before, after):
    game = yard(before, MOVE_FORWARD)
    assert game.board.replace("T", "1") == after.replace("2", "1")


def test_who_stays_on_a_telepod_goes_back(yard):
    assert yard(">1.1", MOVE_FORWARD, TURN_LEFT).board.replace("T", "1") == ".^.1"


def test_one_of_several_telepods_is_drawn(yard):
    ends = {yard(">1.1\n.1..", MOVE_FORWARD, seed=seed).board for seed in range(20)}
    assert len(ends) == 2
    assert all(board[1] == "T" for board in ends)


# ---- rewards and ends --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("picture", "action"),
    [
        (">#", MOVE_FORWARD),
        ("#>", MOVE_BACKWARD),
        ("#\n>", MOVE_LEFT),
        (">\n#", MOVE_RIGHT),
        ("w.", TURN_LEFT),  # in a wall already
    ],
)
def test_bumping_into_a_wall(yard, picture, action):
    game = yard(picture, action)
    assert (game.terms["bump_into_wall"], game.terms["reduce_sum"]) == (-0.75, -1.0)
    assert not game.terminated


@pytest.mark.parametrize(
    ("picture", "action"),
    [
        *((">#", action) for action in (TURN_LEFT, ACTUATE, PICK_N_DROP)),
        # what is free, what blocks but is no wall, what is beyond the grid, the way out of a wall
        *((picture, MOVE_FORWARD) for picture in (">.", ">D", ">", "^", "w.")),
    ],
)
def test_what_is_no_bump_into_a_wall(yard, picture, action):
    game = yard(picture, action)
    assert (game.terms["bump_into_wall"], game.terms["reduce_sum"]) == (0.0, 0.0)
    assert not game.terminated


def test_overlap(yard):
    game = yard(">K", TURN_LEFT)
    assert game.terms["overlap"] == -0.5
    assert game.act(TURN_RIGHT, MOVE_FORWARD).terms["overlap"] == 2.0
    # in the hand it is under nobody's feet
    assert yard("k.", TURN_LEFT).terms["overlap"] == 2.0
    assert yard(">K.", PICK_N_DROP, MOVE_FORWARD).terms["overlap"] == -0.5
    over_floor = {"name": "overlap", "object_type": "Floor"}
    game = yard(">K", TURN_LEFT, reward_functions=[over_floor, *RULES["reward_functions"][1:]])
    assert game.terms["overlap"] == 1.0
    assert game.act(TURN_RIGHT, MOVE_FORWARD).terms["overlap"] == 0.0


def test_standing_where_an_obstacle_is(yard):
    closed_in = "x##\n###"
    game = yard(closed_in, TURN_LEFT)
    assert (game.terms["bump_moving_obstacle"], game.terminated) == (-3.0, True)
    assert game.terms["reduce_sum"] == -1.0
    game = yard("o#>", TURN_LEFT)
    assert (game.terms["bump_moving_obstacle"], game.terminated) == (0.0, False)


def test_any_and_all_of_several_ends(yard):
    assert not yard("k.", TURN_LEFT).terminated  # on the key alone
    assert not yard(">#", MOVE_FORWARD).terminated  # into the wall alone
    assert yard("k#", MOVE_FORWARD).terminated  # both
    assert yard("x#", TURN_LEFT).terminated  # the other one of the two


# ---- distances ---------------------------------------------------------------------------------

PATH = MEASURES[2]
FAR = {"legend": LEGEND, **distances()}


@pytest.fixture
def far(play):
    """Return a function that plays actions on a map under `FAR` and returns the rewards."""
    return lambda picture, *actions: play(picture, *actions, **FAR).terms


@pytest.mark.parametrize(
    ("picture", "manhattan", "euclidean"),
    [
        ("^..\n...\n..E", 4, 8**0.5),
        ("E..\n...\n..^", 4, 8**0.5),
        ("^...E", 4, 4.0),
        ("^\n.\nE", 2, 2.0),
        ("...^\n.E..", 3, 5**0.5),
        ("e.", 0, 0.0),
    ],
)
def test_in_proportion_to_the_distance(far, picture, manhattan, euclidean):
    terms = far(picture, TURN_LEFT)
    assert terms["proportional_to_distance"] == -manhattan
    assert terms["proportional_to_distance_2"] == -euclidean


def test_a_reward_per_unit_of_distance(play):
    rewards = distances(proportional_to_distance={"reward_per_unit_distance": -0.5})
    assert play("^..\n...\n..E", TURN_LEFT, **rewards).reward == -0.5 * (4 + 8**0.5)


@pytest.mark.parametrize(
    ("picture", "action", "worth"),
    [
        (">.E", MOVE_FORWARD, 1.0),
        (".>E", MOVE_BACKWARD, -1.0),
        (">.E", TURN_LEFT, 0.0),
        # round the wall: away from the exit is the way to it
        ("v#E\n...", MOVE_FORWARD, 1.0),
        (".#E\n>..", MOVE_LEFT, -1.0),
        ("...\n^#E\n.#.\n...", MOVE_FORWARD, 1.0),
        ("...\n^#E\n.#.\n.#.", MOVE_BACKWARD, -1.0),
        # no way at all, before or after
        (">.#E", MOVE_FORWARD, 0.0),
        (">d.E", ACTUATE, 1.0),  # there is one now
        (">D.E", ACTUATE, 0.0),
        (">B.E", ACTUATE, 1.0),
        (">KTE", MOVE_FORWARD, 1.0),  # one can walk over these
        (">o#E", TURN_LEFT, 0.0),
        # of a grid of any shape
        (".....E\n######\n>.....", MOVE_FORWARD, 0.0),
        (".....E\n.#####\n.>....", MOVE_BACKWARD, 1.0),
        ("E\n.\n.\nv\n.", MOVE_FORWARD, -1.0),
    ],
)
def test_the_shortest_path(far, picture, action, worth):
    assert far(picture, action)[PATH] == worth


# ---- memory ------------------------------------------------------------------------------------

MEMORY = {
    "legend": LEGEND,
    "mission": {"text": "remember", "object": "Key", "color": "RED"},
    "transition_functions": missions.RULES["transition_functions"],
    "reward_functions": [*missions.QUIET, "reach_exit_memory"],
    "terminating_function": missions.RULES["terminating_function"],
}


@pytest.mark.parametrize(
    ("picture", "worth"),
    [
        (">R.b\n...G", 1.0),
        (">G.b\n...R", -1.0),
        (">..b\n.RG.", 0.0),
        (">R..\n...b", 1.0),
        ("b...\n.>G.", -1.0),
        ("....\n.>R.\nb.b.", 1.0),
    ],
)
def test_the_exit_of_the_beacons_colour_is_the_good_one(play, picture, worth):
    game = play(picture, MOVE_FORWARD, **MEMORY)
    assert game.reward == worth
    assert game.terminated == (worth != 0)


def test_without_a_beacon_nobody_knows(play):
    with pytest.raises(RuleError, match="there is no Beacon on the grid"):
        play(">R", MOVE_FORWARD, **MEMORY)


def test_parameters_of_memory(play):
    memory = {"name": "reach_exit_memory", "reward_good": 4.0, "reward_bad": -2.0}
    changed = {**MEMORY, "reward_functions": [*missions.QUIET, memory]}
    for thing, worth in (("R", 4.0), ("G", -2.0), (".", 0.0)):
        assert play(f">{thing}b", MOVE_FORWARD, **changed).reward == worth


# ---- what a scenario may leave out -------------------------------------------------------------

ON_OFF = {"reward_on": 1.0, "reward_off": 0.0}
CLOSER = {"reward_closer": 1.0, "reward_further": -1.0}
DEFAULTS: dict[tuple[Phase, str], dict[str, Any]] = {
    (Phase.RESET, "empty"): {"random_agent": False, "random_exit": False},
    (Phase.RESET, "dynamic_obstacles"): {"random_agent": False},
    (Phase.REWARD, "living_reward"): {"reward": -1.0},
    (Phase.REWARD, "overlap"): ON_OFF,
    (Phase.REWARD, "reach_exit"): ON_OFF,
    (Phase.REWARD, "bump_moving_obstacle"): {"reward": -1.0},
    (Phase.REWARD, "bump_into_wall"): {"reward": -1.0},
    (Phase.REWARD, "proportional_to_distance"): {
        "distance_function": manhattan,
        "reward_per_unit_distance": -1.0,
    },
    (Phase.REWARD, "getting_closer"): {"distance_function": manhattan, **CLOSER},
    (Phase.REWARD, "getting_closer_shortest_path"): CLOSER,
    (Phase.REWARD, "actuate_door"): {
        "reward_open": 1.0,
        "reward_close": -1.0,
        "on_action": Action.ACTUATE,
    },
    (Phase.REWARD, "pickndrop"): {"reward_pick": 1.0, "reward_drop": -1.0},
    (Phase.REWARD, "reach_exit_memory"): {"reward_good": 1.0, "reward_bad": -1.0},
    (Phase.VISIBILITY, "raytracing"): {"absolute_counts": True, "threshold": 1.0},
}


@pytest.mark.parametrize(("phase", "name"), DEFAULTS)
def test_defaults_are_those_of_the_specification(phase, name):
    parameters = REGISTRIES[phase][name].parameters
    found = {p.name: p.default for p in parameters if not p.required}
    assert found == DEFAULTS[phase, name]
    assert [*map(type, found.values())] == [*map(type, DEFAULTS[phase, name].values())]


def test_no_free_cell_is_no_cell():
    world = begin(scenario("#>")).world
    assert random_free_of(world, ((0, 0), (0, 2)), WALL) == (-1, -1)
    assert random_free_of(world, ((0, 0), (0, 1)), WALL) == (0, 1)


def test_a_shut_hatch_is_no_free_cell():
    hatch = {"layer": "ground", "states": {"OPEN": [], "SHUT": ["Solid"]}}
    for state, cell in (("OPEN", (0, 0)), ("SHUT", (-1, -1))):
        legend = {"x": {"ground": {"object": "Hatch", "state": state}}}
        world = begin(scenario("x>", objects={"Hatch": hatch}, legend=legend)).world
        assert random_free_of(world, ((0, 0),), WALL) == cell
