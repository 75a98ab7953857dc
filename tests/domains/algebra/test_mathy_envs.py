"""mathy_envs by its own names: observations as recorded, states, masks and ids of Gymnasium."""

from __future__ import annotations

import importlib
import inspect
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import gv_engine.mathy_envs as mathy_envs
from gv_engine.mathy import MathyEnv as DocumentedEnv
from gv_engine.mathy_envs import MathyEnv, MathyEnvState, ObservationType, envs
from gv_engine.plugins.algebra.library import BaseRule, rules
from gv_engine.plugins.algebra.mathy_envs.gym import IDS, MaskedDiscrete
from tests.mathy_conformance import RECORDED


def dense(recorded: Any) -> Any:
    """A recorded array, which may be given as its shape and what is not zero."""
    if not isinstance(recorded, dict):
        return np.array(recorded, np.float32)
    array = np.zeros(recorded["shape"], np.float32)
    for place, value in recorded["nonzero"]:
        array[tuple(np.atleast_1d(place))] = value
    return array


@pytest.mark.parametrize("kind", ObservationType)
def test_observations_are_those_that_were_recorded(kind):
    for row in RECORDED["observations"]:
        env = MathyEnv(max_seq_len=row["max_seq_len"])
        state = MathyEnvState(None, row["text"], row["max_moves"], 7, row["namespace"])
        state = state.get_out_state(row["text"], (-1, -1), row["moves_remaining"])
        found: Any = env.state_to_observation(state, row["max_seq_len"], kind)
        expected = row[kind.value]
        if kind is ObservationType.FLAT:
            np.testing.assert_allclose(found, dense(expected), rtol=1e-6)
            continue
        fields = found.to_dict()
        mask = fields.pop("action_mask")
        assert mask.tolist() == dense(row["flat"])[-len(mask) :].tolist()
        for name, value in fields.items():
            np.testing.assert_allclose(value, dense(expected[name]), rtol=1e-6, err_msg=name)
        with pytest.raises(ValueError, match="nodes, allowed are max_seq_len="):
            state.to_observation(max_seq_len=state.root.size - 1, obs_type=kind)


def test_masks_and_actions_are_by_rule():
    env, documented = envs.PolySimplify(seed=3), DocumentedEnv()
    state = MathyEnvState(problem="4x + 2x + 7", num_rules=7)
    mask = np.array(env.get_valid_moves(state))
    assert mask.shape == (7, 9)
    assert mask.T.ravel().tolist() == documented.get_valid_moves(state)
    expression = env.parser.parse(state.agent.problem)
    assert env.get_actions_for_node(expression) == mask.tolist()
    drawn = {env.random_action(expression) for _ in range(200)}
    assert drawn == set(map(tuple, np.argwhere(mask).tolist()))
    by_number = env.get_next_state(state, 3 * env.max_seq_len + 3)[0]
    assert by_number == env.get_next_state(state, (3, 3))[0]
    assert by_number.agent.action == (3, 3)
    assert isinstance(by_number, MathyEnvState)
    assert by_number.num_rules == 7
    assert isinstance(env.get_rule_from_timestep(by_number.agent.history[-1]), BaseRule)
    assert env.action_size == 7 * 128
    with pytest.raises(ValueError, match="Commutative Swap does not apply to node 0"):
        env.get_next_state(state, 128)
    env.rules = [*MathyEnv.core_rules(), rules.MultiplicativeInverseRule()]
    assert len(env.get_valid_moves(MathyEnvState(problem="x / y"))) == 8
    assert str(env.parser.parse("xy^2")) == "x * y^2"


def test_states_become_texts_arrays_and_bytes():
    env = envs.PolySimplify(seed=1)
    state: Any = env.get_initial_state()[0]
    for _ in range(3):
        state, _, _ = env.get_next_state(
            state, env.random_action(env.parser.parse(state.agent.problem))
        )
    again = [
        MathyEnvState.from_string(state.to_string()),
        MathyEnvState.from_np(state.to_np(400)),
        pickle.loads(pickle.dumps(state)),
        state.clone(),
        MathyEnvState.copy(state),
    ]
    for copied in again:
        assert copied == state
        assert copied.num_rules == state.num_rules == 7
    assert state.to_np(400).shape == (400,)
    with pytest.raises(ValueError, match="allowed are pad_to=3"):
        state.to_np(3)
    with pytest.raises(ValueError, match="is no text of to_string"):
        MathyEnvState.from_string("4x + 2x")
    with pytest.raises(TypeError, match="expected the text of an expression"):
        MathyEnvState()


@pytest.mark.parametrize("name", ["poly-easy", "poly-like-terms-haystack-hard"])
@pytest.mark.parametrize("kind", ObservationType)
def test_the_ids_of_gymnasium(name, kind):
    assert len(IDS) == 24
    env: Any = gymnasium.make(f"mathy-{name}-v0", obs_type=kind, invalid_action_response="penalize")
    observation, _ = env.reset(seed=5)
    again, _ = gymnasium.make(f"mathy-{name}-v0", obs_type=kind).reset(seed=5)
    assert repr(again) == repr(observation)
    for _ in range(30):
        assert observation in env.observation_space
        action = env.action_space.sample()
        assert env.unwrapped.action_space.mask[action]
        observation, _, terminated, truncated, info = env.step(action)
        assert info["valid"]
        if terminated or truncated:
            assert "win" in info
            break


def test_masks_as_probabilities_and_repeated_problems(capsys):
    env: Any = gymnasium.make(
        "mathy-poly-easy-v0", mask_as_probabilities=True, repeat_problem=True, env_problem="4x + 2x"
    ).unwrapped
    observation, _ = env.reset()
    assert observation[-env.action_size :].sum() == pytest.approx(1)
    assert env.action_space.mask.sum() == 2
    env.reset_with_input("x + 3 + 4")
    env.render()
    assert "x + 3 + 4" in capsys.readouterr().out
    assert env.reset()[0].tolist() == observation.tolist()
    with pytest.raises(ValueError, match="expected \\(3,\\)"):
        MaskedDiscrete(3, [1, 0])


def test_modules_have_the_paths_of_the_documents():
    paths = ["env", "envs.poly_grouping", "gym", "state", "time_step", "types", "util"]
    for package, names in (
        ("mathy_envs", paths),
        ("mathy", ["env", "state", "time_step", "types"]),
    ):
        for name in names:
            importlib.import_module(f"gv_engine.{package}.{name}")
    types: Any = importlib.import_module("gv_engine.mathy.types")
    assert types.MathyEnvProblem is mathy_envs.MathyEnvProblem
    assert [type(rule) for rule in DocumentedEnv.core_rules()] == [
        type(rule) for rule in DocumentedEnv().rules
    ]
    assert DocumentedEnv.core_rules(preferred_term_commute=True)[1].preferred
    shared = [*inspect.signature(DocumentedEnv.render_state).parameters]
    assert [*inspect.signature(DocumentedEnv.print_state).parameters] == shared
