"""Environments whose actions are texts."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from gv_engine import TextActions
from gv_engine.scenario.missions.sentences import ActionTextError

SENTENCES = {"name": "text", "style": "sentences"}


def made(id: str, **options: Any) -> TextActions:
    return TextActions(
        gymnasium.make(id, world="object", observation_representation=SENTENCES, **options)
    )


def test_a_level_of_babyai_is_solved_in_words():
    env = made("GV-BabyAI-GoToRedBallNoDists-v0")
    assert env.action_texts == (
        *("turn left", "turn right", "go forward", "pick up", "drop", "toggle", "done"),
    )
    observation, info = env.reset(seed=0)
    total, done = 0.0, False
    while not done:
        *seen, mission = observation.split("\n")
        assert mission == "mission: go to the red ball"
        ball = next((line for line in seen if "red ball" in line), "behind")
        action = "go forward" if "forward" in ball else "turn left"
        assert action in info["actions"]
        observation, reward, done, truncated, info = env.step(action)
        total += reward
        assert not truncated
    assert info["success"]
    assert total > 0


def test_texts_stand_for_the_actions_of_the_environment():
    env = made("GV-Keydoor-5x5-v0")
    plain = gymnasium.make("GV-Keydoor-5x5-v0", world="object", observation_representation="text")
    _, info = env.reset(seed=7)
    plain.reset(seed=7)
    for action in ("go forward", "TURN_LEFT", "pick n drop", "go left"):
        assert info["actions"] == [
            text for text, on in zip(env.action_texts, info["action_mask"], strict=True) if on
        ]
        index = plain.unwrapped.scenario.action_names.index(  # type: ignore[attr-defined]
            {"go forward": "MOVE_FORWARD", "go left": "MOVE_LEFT"}.get(
                action, action.upper().replace(" ", "_")
            )
        )
        _, *results, info = env.step(action)
        assert results == [*plain.step(np.int64(index))[1:4]]


def test_other_texts_are_refused_and_change_nothing():
    env = made("GV-Keydoor-5x5-v0")
    env.reset(seed=7)
    before = env.get_wrapper_attr("snapshot")()
    with pytest.raises(ActionTextError, match=r"no action 'jump' \(allowed: go forward, go back"):
        env.step("jump")
    assert env.get_wrapper_attr("snapshot")() == before


def test_the_space_of_actions_has_their_texts():
    env = made("GV-Keydoor-5x5-v0")
    env.action_space.seed(1)
    assert {env.action_space.sample() for _ in range(200)} == {*env.action_texts}
    assert "jump" not in env.action_space
    assert env.action_space.sample(np.eye(8, dtype=np.int8)[2]) == env.action_texts[2]
    assert env.action_space == made("GV-Keydoor-5x5-v0").action_space
