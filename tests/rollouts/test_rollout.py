"""Episodes keep their steps, however many there is room for at first."""

import numpy as np
import pytest

from gv_engine import GridVectorEnv
from gv_engine.rollouts import rollout as rollouts
from gv_engine.rollouts.policy import load_policy
from tests.comparing import same


def episodes_of(num_envs):
    env = GridVectorEnv(
        "teleport-5x5", num_envs, world="object", autoreset_mode="Disabled", max_steps=40
    )
    policy = load_policy("valid", num_envs, env.num_actions)
    return list(rollouts.rollout(env, policy, 12, 0, keep=True))


@pytest.mark.parametrize("room", [1, 2, 3])
def test_steps_are_kept_while_the_room_for_them_grows(room, monkeypatch):
    expected = episodes_of(1)
    monkeypatch.setattr(rollouts, "_SHORT", room)
    for one, other in zip(episodes_of(5), expected, strict=True):
        assert len(one.steps["grid"]) == one.length
        assert same(one.steps, other.steps)
    assert len({one.length for one in expected}) > 3
    assert max(one.length for one in expected) > 4 * room
    assert all(np.isclose(one.steps["reward"].sum(), one.total) for one in expected)
