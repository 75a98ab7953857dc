"""What policies draw is that of the episode, wherever it is drawn."""

import numpy as np
import pytest

from gv_engine.language.turns import Sharing
from gv_engine.learning.policy_file import POLICY_FILE
from gv_engine.rollouts.policy import PolicyError, absolute, load_policy

WORLDS = 40


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [3, 2**40])
@pytest.mark.parametrize("name", ["random", "valid"])
def test_compiled_draws_are_those_of_the_episodes_generators(name, seed):
    policies = [load_policy(name, WORLDS, 8, compiled=compiled) for compiled in (False, True)]
    pilot = np.random.default_rng(0)
    rngs = {}
    fresh = list(range(WORLDS))
    number = 0
    for _ in range(150):  # more than are drawn at a time
        for policy in policies:
            policy.begin(fresh, seed, range(number, number + len(fresh)))
        for i, world in enumerate(fresh):
            rngs[world] = np.random.default_rng([seed, number + i])
        number += len(fresh)
        info = {"action_mask": (pilot.random((WORLDS, 8)) < 0.3).astype(np.int8)}
        found, again = (policy.act({}, info) for policy in policies)
        assert np.array_equal(found, again)
        draws = np.array([rngs[world].random() for world in range(WORLDS)])
        if name == "random":
            assert np.array_equal(found, (draws * 8).astype(int))
        fresh = np.flatnonzero(pilot.random(WORLDS) < 0.01).tolist()
    assert number > 2 * WORLDS


def test_policies_of_agents_are_found_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    several = Sharing(names=("ann", "bob"))
    found = absolute("ann=./own.py:act,bob=valid", several)
    assert found == f"ann={tmp_path / 'own.py'}:act,bob=valid"
    assert absolute("runs=1", Sharing()) == str(tmp_path / "runs=1")


def test_behind_a_run_stands_greedy_alone(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / POLICY_FILE).touch()
    with pytest.raises(PolicyError, match="may stand :greedy alone"):
        load_policy(f"{run}:gready", 1, 6)
