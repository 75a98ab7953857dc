"""What the action mask says of actions that no transition acts on, and that yet do something."""

from typing import Any

import numpy as np
import pytest

from gv_engine import GridEnv, Scenario
from gv_engine.play.validation.action_masks import find_mask_faults
from gv_engine.rules.geometry import (
    DONE,
    MOVE_FORWARD,
    PICK_N_DROP,
    PICK_UP,
    TOGGLE,
    TURN_LEFT,
    Action,
)
from gv_engine.rules.system import REWARD, TRANSITION, Call, system
from gv_engine.world.bound_call import BoundCall, find_acting_calls
from tests.boards import scenario
from tests.scenario.reading import RULES as WALK

BOTH_WORLDS = pytest.mark.parametrize(
    "world", ["object", pytest.param("compiled", marks=pytest.mark.compiled)]
)
RULES = '''
from gv_engine import REWARD, TERMINATING, TRANSITION, system
from gv_engine.geometry import PICK_UP, TOGGLE

def is_toggle(w, agent, action, least=1):
    return action == TOGGLE and w.steps >= least

@system(TERMINATING, answers=is_toggle)
def rings(w, agent, least=1):
    """Toggling anything ends it, from a step on."""
    return is_toggle(w, agent, w.action[agent], least)

@system(TERMINATING)
def rings_unsaid(w, agent):
    """The same, of which the mask is not told."""
    return w.action[agent] == TOGGLE

@system(REWARD)
def pays_unsaid(w, agent):
    """A reward for an action that does nothing."""
    return 1.0 if w.action[agent] == PICK_UP else 0.0
'''
LEVEL: dict[str, Any] = {
    **WALK,
    "map": "#>.E#",
    "action_space": ["MOVE_FORWARD", "TURN_LEFT", "PICK_UP", "TOGGLE"],
}


def played(folder: Any, **changes: Any) -> Scenario:
    (folder / "rules.py").write_text(RULES)
    return Scenario.load({**LEVEL, **changes}, folder=folder)


def rule(name: str, **more: Any) -> dict[str, Any]:
    return {"name": f"./rules.py:{name}", **more}


def shut(env: GridEnv, info: dict[str, Any]) -> set[str]:
    """Names of the actions that the mask leaves out."""
    actions = env.scenario.actions
    return {Action(actions[i]).name for i in np.flatnonzero(info["action_mask"] == 0)}


@pytest.mark.sample("object")
@BOTH_WORLDS
@pytest.mark.parametrize(
    ("level", "always", "never"),
    [
        ("MiniGrid-GoToDoor-5x5-v0", {DONE, TOGGLE}, {PICK_UP}),
        ("MiniGrid-GoToObject-6x6-N2-v0", {DONE, TOGGLE}, set()),
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", {MOVE_FORWARD}, set()),
    ],
)
def test_what_ends_an_episode_is_not_left_out(level, always, never, world):
    env, chance = GridEnv(level, world=world), np.random.default_rng(0)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            left_out = shut(env, info)
            assert not left_out & {Action(each).name for each in always}
            assert left_out >= {Action(each).name for each in never}
            _, _, terminated, truncated, info = env.step(int(chance.integers(3)))
            over = terminated or truncated


@pytest.mark.sample("object")
@BOTH_WORLDS
def test_a_bump_that_counts_is_not_left_out(world):
    bump = {"name": "bump_into_wall", "reward": -1.0}
    nested = {"name": "reduce_sum", "reward_functions": ["reach_exit", bump]}
    cases = [(["reach_exit"], False), ([bump], True), ([nested], True)]
    # compiled, test_transition.py and test_things.py have the others
    for rewards, counts in cases if world == "object" else cases[2:]:
        env = GridEnv(scenario("###\n#^#\n#.#\n###", reward_functions=rewards), world=world)
        _, info = env.reset(seed=0)
        moves = {"MOVE_FORWARD", "MOVE_LEFT", "MOVE_RIGHT"}
        assert shut(env, info) & {*moves, "MOVE_BACKWARD"} == (set() if counts else moves)


@pytest.mark.sample("object")
@BOTH_WORLDS
def test_rules_say_what_they_answer(tmp_path, world):
    nested = {"name": "reduce_any", "terminating_functions": ["reach_exit", rule("rings")]}
    late = rule("rings", least=2)
    for ends, first in ((rule("rings"), 1), (nested, 1), (late, 2)):
        made = played(tmp_path, terminating_function=ends)
        env = GridEnv(made, world=world)
        _, info = env.reset(seed=0)
        for step in range(4):
            missing = {"PICK_UP"} if step >= first else {"PICK_UP", "TOGGLE"}
            assert shut(env, info) - {"MOVE_FORWARD"} == missing
            _, _, terminated, _, info = env.step(1)
            assert not terminated
        assert env.step(3)[2]
        assert find_mask_faults(made) == []


def test_a_mask_that_misleads_is_told(tmp_path):
    told = "the action mask leaves TOGGLE out (level 0, step 0), and yet it ends the episode; "
    ends = played(tmp_path, terminating_function=rule("rings_unsaid"))
    assert find_mask_faults(ends) == [f"{told}give the terminating function answers="]
    pays = played(tmp_path, reward_functions=["reach_exit", rule("pays_unsaid")])
    (fault,) = find_mask_faults(pays)
    assert "leaves PICK_UP out (level 0, step 0), and yet it changes a reward" in fault
    gate = {"states": {"SHUT": ["Solid"], "OPEN": []}}
    opens = {"name": "elapse", "object_type": "Gate"}
    board = {"map": "#>GE#", "objects": {"Gate": gate}, "legend": {"G": "Gate"}}
    moves = "move_agent", "turn_agent"
    (fault,) = find_mask_faults(played(tmp_path, **board, transition_functions=[opens, *moves]))
    assert "leaves MOVE_FORWARD out" in fault
    assert "put rules that happen by themselves behind it" in fault
    assert find_mask_faults(played(tmp_path, **board, transition_functions=[*moves, opens])) == []


def test_what_answers_is_of_rewards_and_ends():
    def any_action(w, agent, action):
        return True

    def unknown(w, agent, action, depth):
        return True

    def pays(w, agent):
        return 0.0

    with pytest.raises(TypeError, match="answers= tells the actions of a REWARD or TERMINATING"):
        system(TRANSITION, answers=any_action)(pays)
    with pytest.raises(TypeError, match="its helper unknown asks for 'depth'"):
        system(REWARD, answers=unknown)(pays)


def test_the_mask_asks_what_an_action_can_set_off():
    level = scenario("#>.#", transition_functions=["move_agent", "turn_agent", "pickndrop"])
    bound = [BoundCall(call) for call in level.calls(TRANSITION)]
    names = {
        action: (always_acts, [call.call.name for call in calls])
        for action in (MOVE_FORWARD, TURN_LEFT, PICK_N_DROP, TOGGLE)
        for always_acts, calls in [find_acting_calls(bound, 1, action)]
    }
    assert names == {
        MOVE_FORWARD: (False, ["move_agent"]),
        TURN_LEFT: (True, []),
        PICK_N_DROP: (False, ["pickndrop"]),
        TOGGLE: (False, []),
    }


def test_the_mask_asks_tests_that_look_for_what_is_not_there():
    @system(TRANSITION, when=lambda w, agent, action: getattr(w, "unknown", 0) > 0)
    def guess(w: Any, agent: int) -> Any:
        """Does nothing."""

    system_of: Any = guess
    bound = [BoundCall(Call.of(system_of.system, {}))]
    assert find_acting_calls(bound, 1, MOVE_FORWARD) == (False, bound)
