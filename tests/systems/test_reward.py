"""Rewards and ends on small boards (GridVerse specification, sections 4 and 5), in both worlds."""

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
)
from tests.boards import RULES, Session, distances, scenario

KEY = {"name": "pickndrop", "object_type": "Key"}
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


@SIGNS
def test_living_reward(play, sign):
    rewards = rewarded(living_reward={"reward": 0.25 * sign})
    game = play("^", TURN_LEFT, reward_functions=rewards)
    assert game.terms["living_reward"] == game.reward == 0.25 * sign


def test_the_defaults(play):
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


@pytest.mark.parametrize("thing", "K_Tbo.")
def test_only_an_exit_is_an_exit(play, thing):
    rewards = rewarded(reach_exit={"reward_on": 5.0, "reward_off": -2.0})
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


def test_actuate_door_unlocking(play):
    rewards = rewarded(actuate_door={"reward_open": 1.5})
    game = play("K<D", PICK_N_DROP, TURN_LEFT, TURN_LEFT, reward_functions=rewards)
    assert game.act(ACTUATE).reward == 1.5


@pytest.mark.parametrize("picture", [">D", ">_", ">.", ">#", ">", "d>", ">.d"])
def test_actuate_door_with_nothing_to_open(play, picture):
    rewards = rewarded(actuate_door={"reward_open": 1.5, "reward_close": -1.5})
    assert play(picture, ACTUATE, reward_functions=rewards).reward == 0.0


@SIGNS
def test_actuate_door_closing(play, sign):
    rewards = rewarded(actuate_door={"reward_open": 9.0, "reward_close": 1.5 * sign})
    game = play(">_", ACTUATE, reward_functions=rewards, transition_functions=SLAMMING)
    assert game.board == ">d"
    assert game.reward == 1.5 * sign
    # opened and closed again within one step
    assert game.act(ACTUATE).reward == 0.0


def test_actuate_door_that_is_no_more():
    changes = {
        "reward_functions": rewarded(actuate_door={"reward_open": 1.5, "reward_close": -1.5}),
        "transition_functions": ["./rules.py:break_door"],
    }
    for picture in (">d", ">_"):
        game = Session(scenario(picture, **changes), "object").act(ACTUATE)
        assert (game.board, game.reward) == (">.", 0.0)


def test_actuate_door_is_about_the_door_ahead_on_actuate_only(play):
    rewards = rewarded(actuate_door={"reward_open": 1.5, "reward_close": -1.5})
    game = play(
        """
        d..
        .>_
        d..
        """,
        reward_functions=rewards,
    )
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


def test_pickndrop_swapping_two_of_the_type_is_worth_nothing(play):
    rewards = rewarded(pickndrop={"object_type": "Key", "reward_pick": 2.0, "reward_drop": -2.0})
    game = play("K>K", PICK_N_DROP, TURN_LEFT, TURN_LEFT, reward_functions=rewards)
    assert game.act(PICK_N_DROP).item == "YELLOW Key"
    assert game.reward == 0.0


def test_pickndrop_of_another_type_is_worth_nothing(play):
    rewards = rewarded(pickndrop={"object_type": "Door", "reward_pick": 2.0, "reward_drop": -2.0})
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


CLOSER = distances(getting_closer={})

# ---- distances ---------------------------------------------------------------------------------


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


def closer(game: Session) -> tuple[float, float]:
    """Return the rewards of getting closer by Manhattan and by Euclidean distance."""
    return game.terms["getting_closer"], game.terms["getting_closer_2"]


@pytest.mark.sample("object")
def test_getting_closer_defaults(play):
    game = play(">.E", MOVE_FORWARD, **CLOSER)
    assert game.reward == 2.0
    assert game.act(MOVE_BACKWARD).reward == -2.0


@pytest.mark.sample("object")
@pytest.mark.parametrize(
    ("leap", "manhattan", "euclidean"),
    [((1, -1), 0.0, 1.0), ((2, -1), -1.0, 1.0), ((2, 0), -1.0, -1.0), ((1, -3), 1.0, 1.0)],
)
def test_the_straight_line_may_say_otherwise(play, leap, manhattan, euclidean):
    game = play("E..^\n....\n....", **distances(leap=leap)).act(ACTUATE)
    assert closer(game) == (manhattan, euclidean)


@pytest.mark.sample("object")
@pytest.mark.parametrize("picture", [">.", ">.EE"])
def test_getting_closer_needs_exactly_one(play, picture):
    with pytest.raises(RuleError, match=r"world 1: needs exactly one object of its object_type"):
        play(picture, MOVE_FORWARD, **distances())


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
    least = {"name": "reduce", "reduction": "builtins:min"}
    largest = {"name": "reduce", "reduction": "builtins:max"}
    game = Session(
        scenario(
            ">#",
            reward_functions=[{**least, "reward_functions": ["living_reward", "reach_exit"]}],
            terminating_function={
                **largest,
                "terminating_functions": ["reach_exit", "bump_into_wall"],
            },
        ),
        "object",
    )
    game.act(MOVE_FORWARD)
    assert (game.reward, game.batch.outputs.terminated[1]) == (-1.0, True)
