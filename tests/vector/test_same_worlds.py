"""Rules at the edges of what a world is, in object worlds and compiled: the same results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import DoesNotCompileError, Scenario
from gv_engine.envs.backends.backend import Backend, make_batch
from gv_engine.world.simulation import DISABLED
from tests.vector.test_compiled_batch import attempt, compare
from tests.vector.test_programs import BASE

pytestmark = [pytest.mark.compiled, pytest.mark.optimized]

RULES = '''
from collections.abc import Sequence

from components.objects import DOOR, EXIT, KEY, WALL
from gv_engine import NOTHING, RESET, REWARD, TERMINATING, TRANSITION, VISIBILITY, system


@system(REWARD)
def count(w, agent, amount: float, kinds: Sequence[int]):
    """Pays for each of some numbers."""
    return amount * len(kinds) + sum(kinds)


@system(REWARD)
def measure(w, agent):
    """Reads two tables of ways at once."""
    near = w.steps_from(1, 1)
    far = w.steps_from(3, 3)
    return near[1, 1] + 100 * far[1, 1] + 0.5 * len(near[0])


@system(RESET)
def grow(w):
    """A level of two sizes, which knows nothing of the one before."""
    before = w.height
    size = 4 + 5 * w.rng.integers(0, 2)
    w.set_shape(size, size)
    w.enclose(WALL)
    if before > 0:
        w.place(w.spawn(KEY), 1, 2)
    w.stand(1, 2, 2)


@system(TRANSITION)
def widen(w, agent):
    """The level becomes an empty room of the largest size."""
    for y in range(w.height):
        for x in range(w.width):
            w.remove(w.at[y, x])
    w.set_shape(9, 9)


@system(TRANSITION)
def add_state(w, agent):
    """A wall has a door's component, but no state."""
    e = w.spawn(WALL)
    if w.at[1, 3] == NOTHING:
        w.place(e, 1, 3)
        w.add(e, "door")
        w.door.status[e] = 2
        w.agent.facing[agent] = w.state_of(e)


@system(TERMINATING)
def is_known(w, agent):
    """Asks what is decided after it."""
    return w.terminated


@system(TERMINATING)
def two(w, agent):
    """A number for true."""
    return 2


@system(TERMINATING)
def is_sum(w, agent, terminating_functions):
    """Counts with the results of others."""
    return sum(terminating_functions) == 2


@system(TERMINATING)
def ended(w, agent):
    """Asks for what it decides."""
    return w.ended_by[agent] != 0


@system(VISIBILITY, rows=True)
def above(w, agent, view):
    """Sees what the row above lets through."""
    for i in range(view.height):
        view.see_row(i, view.clear_row(i - 1))


@system(VISIBILITY, rows=True)
def below(w, agent, view):
    """Sees what the row below lets through."""
    for i in range(view.height):
        view.see_row(i, view.clear_row(i + 1))
'''
KEYDOOR = {"reset_function": {"name": "keydoor", "shape": [7, 9]}}
TEST = {"name": "./rules.py:is_sum", "terminating_functions": [{"name": "./rules.py:two"}]}
SIGHT = {"name": "from_visibility", "area": [[-2, 2], [-2, 2]]}
LEVELS: dict[str, dict[str, Any]] = {
    "large": {"max_shape": [65, 70], "reward_functions": ["./rules.py:measure"]},
    "sizes": {"reset_function": "./rules.py:grow", "max_shape": [9, 9]},
    "state": {"transition_functions": ["./rules.py:add_state", "move_agent"]},
    "success": {"success_function": "./rules.py:is_known"},
    "nested": {"terminating_function": TEST},
    "above": {"observation_function": {**SIGHT, "visibility_function": "./rules.py:above"}},
    "below": {"observation_function": {**SIGHT, "visibility_function": "./rules.py:below"}},
}


def write(folder: Path, **changes: Any) -> dict[str, Any]:
    """A level beside the rules above."""
    (folder / "rules.py").write_text(RULES)
    level = {key: value for key, value in BASE.items() if key != "map"}
    plain = {"transition_functions": ["move_agent", "turn_agent"]}
    return {**level, **KEYDOOR, **plain, **changes}


def load(folder: Path, **changes: Any) -> Scenario:
    return Scenario.load(write(folder, **changes), folder=folder)


def both(scenario: Scenario) -> list[Backend]:
    """Three compiled worlds, and three of objects, at the start of an episode."""
    batches = [make_batch(scenario, 3, world) for world in ("compiled", "object")]
    for batch in batches:
        for i in range(3):
            batch.set_generator(i, np.random.default_rng(i))
        batch.reset(np.ones(3, np.bool_))
    return batches


def differences(batches: list[Backend], turns: int) -> Iterator[Any]:
    """What differs after each of some steps, and resets between them; steps go on after the end."""
    rng, scenario = np.random.default_rng(0), batches[0].scenario
    for turn in range(turns):
        actions = rng.integers(0, len(scenario.actions), 3 * scenario.layout.agents)
        given = None if turn % 20 == 19 else actions
        errors = [attempt(batch, given, DISABLED) for batch in batches]
        yield from [errors] if errors[0] != errors[1] else compare(batches[0], batches[1], DISABLED)


@pytest.mark.parametrize("name", LEVELS)
def test_both_worlds_are_the_same(name: str, tmp_path: Path) -> None:
    assert [*differences(both(load(tmp_path, name=name, **LEVELS[name])), 45)] == []


def test_members_of_a_mixture_have_parameters_of_their_own(tmp_path: Path) -> None:
    def paying(kinds: list[int]) -> dict[str, Any]:
        call = {"name": "./rules.py:count", "amount": 10.0, "kinds": kinds}
        return write(tmp_path, reward_functions=[call])

    members = [[3], [3, 3], []]
    for k, kinds in enumerate(members):
        (tmp_path / f"member{k}.yaml").write_text(json.dumps(paying(kinds)))
    mixture = {"mixture": [{"scenario": f"./member{k}.yaml"} for k in range(len(members))]}
    assert [*differences(both(Scenario.load(mixture, folder=tmp_path)), 60)] == []


@pytest.mark.parametrize("name", ["race", "hold-plates"])
def test_several_agents_go_on_after_the_end(name: str) -> None:
    loaded: Any = Scenario.load(name)
    assert [*differences(both(loaded.with_(max_steps=7)), 60)] == []


def test_restored_levels_of_another_size_leave_nothing(tmp_path: Path) -> None:
    changes = {"reset_function": "./rules.py:grow", "transition_functions": ["./rules.py:widen"]}
    batches = both(load(tmp_path, max_shape=[9, 9], **changes))
    for turn in range(6):
        rows = batches[1].snapshot(np.roll(np.arange(3), turn))
        for batch in batches:
            batch.restore(np.arange(3), rows)
        assert compare(batches[0], batches[1], DISABLED) == []
        for batch in batches:
            batch.step(np.zeros(3, np.int64), DISABLED)
        assert compare(batches[0], batches[1], DISABLED) == []
        for batch in batches:
            batch.reset(np.arange(3) == turn % 3)


def test_a_test_that_asks_what_it_decides_does_not_compile(tmp_path: Path) -> None:
    level = load(tmp_path, terminating_function="./rules.py:ended")
    with pytest.raises(DoesNotCompileError, match=r"ended .* reads w\.ended_by before it is known"):
        make_batch(level, 1, "compiled")
