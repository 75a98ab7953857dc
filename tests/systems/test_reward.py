"""Rewards and ends on small boards (GridVerse specification, sections 4 and 5), in both worlds."""

import math
from typing import Any

import pytest

from gv_engine import RuleError
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_LEFT,
    PICK_N_DROP,
    TURN_LEFT,
    TURN_RIGHT,
    add_up,
)
from tests.boards import RULES, Session, distances, scenario

SLAMMING = [*RULES["transition_functions"][:-1], {"name": "./rules.py:slam_door", "on": True}]


def rewarded(**parameters):
    """The reward list of `RULES` with other parameters, all other terms being 0."""
    quiet: dict[str, dict[str, Any]] = {
        "living_reward": {"reward": 0.0},
        "reach_exit": {"reward_on": 0.0, "reward_off": 0.0},
        "actuate_door": {"reward_open": 0.0, "reward_close": 0.0},
        "pickndrop": {"object_type": "Key", "reward_pick": 0.0, "reward_drop": 0.0},
    }
    return [{"name": name, **quiet[name], **parameters.get(name, {})} for name in quiet]


SIGNS = pytest.mark.parametrize("sign", [1.0, -1.0])


def test_living_reward_and_the_defaults(play):
    for reward in (0.25, -0.25):
        rewards = rewarded(living_reward={"reward": reward})
        game = play("^", TURN_LEFT, reward_functions=rewards)
        assert game.terms["living_reward"] == game.reward == reward
    game = play(">E", MOVE_FORWARD)
    expected = {"living_reward": -1.0, "reach_exit": 1.0, "actuate_door": 0.0, "pickndrop": 0.0}
    assert game.terms == expected
    assert game.reward == 0.0


@SIGNS
def test_reach_exit(play, sign):
    rewards = rewarded(reach_exit={"reward_on": 5.0 * sign, "reward_off": -0.5 * sign})
    game = play(">E.", TURN_LEFT, reward_functions=rewards)
    assert game.reward == -0.5 * sign
    assert not game.terminated
    game.act(TURN_RIGHT, MOVE_FORWARD)
    assert game.reward == 5.0 * sign
    assert game.terminated
    # an episode that is over goes on if one lets it
    game.act(TURN_RIGHT)
    assert game.reward == 5.0 * sign
    assert game.terminated
    game.act(MOVE_LEFT)
    assert game.reward == -0.5 * sign
    assert not game.terminated


def test_only_an_exit_is_an_exit(play):
    rewards = rewarded(reach_exit={"reward_on": 5.0, "reward_off": -2.0})
    for thing in "K_Tbo.":
        game = play(f">{thing}", MOVE_FORWARD, reward_functions=rewards)
        assert game.reward == -2.0
        assert not game.terminated


@SIGNS
def test_actuate_door_opening(play, sign):
    rewards = rewarded(actuate_door={"reward_open": 1.5 * sign, "reward_close": 9.0})
    game = play(">d", MOVE_FORWARD, reward_functions=rewards)
    assert game.reward == 0.0
    assert game.act(ACTUATE).reward == 1.5 * sign
    assert game.act(ACTUATE).reward == 0.0


OPEN_AND_CLOSE = rewarded(actuate_door={"reward_open": 1.5, "reward_close": -1.5})


def test_actuate_door_unlocking(play):
    game = play("K<D", PICK_N_DROP, TURN_LEFT, TURN_LEFT, reward_functions=OPEN_AND_CLOSE)
    assert game.act(ACTUATE).reward == 1.5


@pytest.mark.parametrize("picture", [">D", ">_", ">.", ">#", ">", "d>", ">.d"])
def test_actuate_door_with_nothing_to_open(play, picture):
    assert play(picture, ACTUATE, reward_functions=OPEN_AND_CLOSE).reward == 0.0


@SIGNS
def test_actuate_door_closing(play, sign):
    rewards = rewarded(actuate_door={"reward_open": 9.0, "reward_close": 1.5 * sign})
    game = play(">_", ACTUATE, reward_functions=rewards, transition_functions=SLAMMING)
    assert game.board == ">d"
    assert game.reward == 1.5 * sign
    # opened and closed again within one step
    assert game.act(ACTUATE).reward == 0.0


def test_actuate_door_that_is_no_more():
    breaks = {"transition_functions": ["./rules.py:break_door"]}
    for picture in (">d", ">_"):
        broken = scenario(picture, **breaks, reward_functions=OPEN_AND_CLOSE)
        game = Session(broken, "object").act(ACTUATE)
        assert (game.board, game.reward) == (">.", 0.0)


def test_actuate_door_is_about_the_door_ahead_on_actuate_only(play):
    game = play("d..\n.>_\nd..", reward_functions=OPEN_AND_CLOSE)
    for action in (PICK_N_DROP, TURN_LEFT, TURN_RIGHT, MOVE_FORWARD, MOVE_BACKWARD):
        assert game.act(action).reward == 0.0


@SIGNS
def test_pickndrop(play, sign):
    rewards = rewarded(
        pickndrop={"object_type": "Key", "reward_pick": 1.25 * sign, "reward_drop": -0.75 * sign}
    )
    game = play(">K", TURN_LEFT, TURN_RIGHT, reward_functions=rewards)
    assert game.reward == 0.0
    assert game.act(PICK_N_DROP).reward == 1.25 * sign
    assert game.act(MOVE_FORWARD).reward == 0.0
    assert game.act(PICK_N_DROP).reward == 0.0
    assert game.act(TURN_LEFT, TURN_LEFT, PICK_N_DROP).reward == -0.75 * sign


def test_pickndrop_of_two_of_the_type_or_of_another_type_is_worth_nothing(play):
    pays = {"reward_pick": 2.0, "reward_drop": -2.0}
    rewards = rewarded(pickndrop={"object_type": "Key", **pays})
    game = play("K>K", PICK_N_DROP, TURN_LEFT, TURN_LEFT, reward_functions=rewards)
    assert game.act(PICK_N_DROP).item == "YELLOW Key"  # one for the other
    assert game.reward == 0.0
    rewards = rewarded(pickndrop={"object_type": "Door", **pays})
    game = play(">K", PICK_N_DROP, reward_functions=rewards)
    assert game.item == "YELLOW Key"
    assert game.reward == 0.0
    assert game.act(PICK_N_DROP).reward == 0.0


def test_terms_are_added_from_left_to_right(play):
    rewards = rewarded(
        living_reward={"reward": 0.1},
        reach_exit={"reward_off": 0.2},
        actuate_door={"reward_open": 0.3},
    )
    game = play(">d", ACTUATE, reward_functions=rewards)
    assert game.reward == (0.1 + 0.2) + 0.3
    assert game.reward != 0.1 + (0.2 + 0.3)


# ---- distances ---------------------------------------------------------------------------------


def closer(game: Session) -> tuple[float, float]:
    """Return the rewards of getting closer by Manhattan and by Euclidean distance."""
    return game.terms["getting_closer"], game.terms["getting_closer_2"]


@pytest.mark.sample("object")
@SIGNS
def test_getting_closer(play, sign):
    parameters = {"reward_closer": 0.2 * sign, "reward_further": -0.3 * sign}
    game = play(">..E", MOVE_FORWARD, **distances(getting_closer=parameters))
    assert closer(game) == (0.2 * sign, 0.2 * sign)
    game.act(MOVE_BACKWARD)
    assert closer(game) == (-0.3 * sign, -0.3 * sign)
    game.act(TURN_LEFT)
    assert closer(game) == (0.0, 0.0)
    assert game.reward == 0.0


@pytest.mark.sample("object")
@pytest.mark.parametrize(
    ("leap", "manhattan", "euclidean"),
    [((1, -1), 0.0, 1.0), ((2, -1), -1.0, 1.0), ((2, 0), -1.0, -1.0), ((1, -3), 1.0, 1.0)],
)
def test_the_straight_line_may_say_otherwise(play, leap, manhattan, euclidean):
    game = play("E..^\n....\n....", **distances(leap=leap)).act(ACTUATE)
    assert closer(game) == (manhattan, euclidean)


@pytest.mark.sample("object")
def test_the_one_object_may_be_carried_away(play):
    game = play("K<", **distances(object_type="Key", getting_closer={}))
    assert game.act(MOVE_BACKWARD).reward == 0.0
    with pytest.raises(RuleError, match="exactly one"):
        game.act(PICK_N_DROP)


@pytest.mark.sample("object")
def test_the_one_that_is_left_is_the_one(play):
    two = play("K.<K", TURN_LEFT, TURN_LEFT, PICK_N_DROP)
    assert two.board == "K.>."
    one = play("^...", **distances(object_type="Key", getting_closer={}))
    one.batch.restore(1, two.row)
    assert one.act(MOVE_BACKWARD).reward == 2.0
    assert one.act(MOVE_FORWARD).reward == -2.0


def test_the_least_and_the_largest_of_something():
    least = {"reward_functions": ["living_reward", "reach_exit"], "reduction": "builtins:min"}
    ends = {"terminating_functions": ["reach_exit", "bump_into_wall"], "reduction": "builtins:max"}
    made = scenario(
        ">#",
        reward_functions=[{"name": "reduce", **least}],
        terminating_function={"name": "reduce", **ends},
    )
    game = Session(made, "object").act(MOVE_FORWARD)
    assert (game.reward, game.terminated) == (-1.0, True)


@pytest.mark.parametrize(
    "rule", [{"name": "reduce", "reduction": "builtins:sum"}, {"name": "reduce_sum"}]
)
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_rewards_are_added_in_order(rule, world):
    rewards = [{"name": "living_reward", "reward": reward} for reward in (0.1, 0.2, 0.3)]
    made = scenario(">.", reward_functions=[{**rule, "reward_functions": rewards}])
    # Python's sum is 0.6 from 3.12 on
    assert Session(made, world).act(MOVE_FORWARD).reward == 0.6000000000000001
    assert add_up([0.1] * 10) == 0.9999999999999999 != math.fsum([0.1] * 10)
