"""States of a search as the words that differ: the same successors as of whole records."""

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.envs.backends.backend import expand_states, hash_states, make_batch
from gv_engine.envs.backends.compact_states import CompactStates
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.play.session.game import Game

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("name", ["puzzles-hard#15", "patrol", "hand-over", "sokoban#3"])
def test_compact_states_expand_as_whole_records_do(name: str) -> None:
    scenario = Scenario.load(name)
    worlds = make_batch(scenario, 3, "compiled", masks=False)
    assert isinstance(worlds, CompiledBatch)
    choices = np.arange(len(scenario.actions))
    agents = scenario.layout.agents
    actions = choices if agents == 1 else np.indices((len(choices),) * agents).reshape(agents, -1).T
    rows = Game(scenario, 0).row()[None]
    store = CompactStates(worlds, rows, actions, by_generator=False, by_steps=False)
    states = store.starts
    for _ in range(5):
        next_rows = expand_states(worlds, rows, actions).rows.reshape(-1)
        successors = store.expand(states)
        heads = store.read_heads(successors.words)
        for field in ("terminated", "success", "rng", "steps", "total"):
            np.testing.assert_array_equal(heads[field], next_rows[field])
        _, groups = np.unique(successors.keys, return_inverse=True)
        whole_keys = hash_states(next_rows, False, False, use_compiled_code=False)
        _, first, whole_groups = np.unique(whole_keys, return_index=True, return_inverse=True)
        # equal and different states are the same ones, whatever their hashes are
        np.testing.assert_array_equal(groups[first][whole_groups], groups)
        assert len({*groups.tolist()}) == len(first)
        rows, states = next_rows[first][:40], successors.words[first][:40]
    assert states.shape[1] < rows.itemsize // 8 / 4
