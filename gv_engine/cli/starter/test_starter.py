"""Tests: the level can be solved, its rule works, and compiled worlds equal object worlds."""

from pathlib import Path

from gv_engine import AGENT, GridEnv, Scenario
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.rules.geometry import ACTIONS

FOLDER = Path(__file__).parent


def play(*actions: str) -> tuple[GridEnv, list[float]]:
    """Return the environment after these actions, and the reward of each action."""
    env = GridEnv(FOLDER, world="object")
    env.reset(seed=0)
    return env, [env.step(ACTIONS.index(action))[1] for action in actions]


def test_rubble_blocks_until_it_is_hit_twice() -> None:
    to_rubble = ["MOVE_FORWARD"] * 3
    env, _ = play(*to_rubble)
    assert env.snapshot()["position"]["x"][AGENT] == 3
    env, rewards = play(*to_rubble, "ACTUATE", "ACTUATE", "MOVE_FORWARD")
    assert env.snapshot()["position"]["x"][AGENT] == 4
    assert rewards[3:] == [-0.05, 0.95, -0.05]


def test_only_rubble_can_be_hit() -> None:
    env, _ = play()
    hit = ACTIONS.index("ACTUATE")
    assert not env.reset()[1]["action_mask"][hit]
    for action in ["MOVE_FORWARD"] * 2:
        *_, info = env.step(ACTIONS.index(action))
    assert info["action_mask"][hit]


def test_object_world_equals_compiled_world() -> None:
    assert not run_differential_test(Scenario.load(FOLDER), episodes=5, seed=0).fault
