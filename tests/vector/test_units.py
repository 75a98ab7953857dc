"""Units: what programs share is compiled once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from types import BuiltinFunctionType

import pytest

from gv_engine import GridVectorEnv, Scenario
from gv_engine.compiler import link_units, programs
from gv_engine.vector.backend import make_batch
from gv_engine.vector.compiled_backend import CompiledBatch

pytestmark = pytest.mark.compiled

SCENARIO = {
    "map": "#####\n#>KE#\n#.d.#\n#####",
    "max_steps": 50,
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["living_reward", "reach_exit"],
    "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
    "terminating_function": {"name": "reach_exit"},
}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of units, in a cache of its own."""
    monkeypatch.setenv("GV_ENGINE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(link_units, "_CODES", {})
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    folder = tmp_path / "units"
    folder.mkdir()
    return folder


def compiles(kept, **changes):
    """How many units are compiled when a scenario with these changes is made."""
    before = set(kept.iterdir())
    GridVectorEnv(Scenario.load({**SCENARIO, **changes}), 2, world="compiled")
    return len(set(kept.iterdir()) - before)


@pytest.mark.thorough
def test_a_new_list_of_rules_compiles_those_that_are_new(kept):
    assert compiles(kept) > 5
    # another reward, which measures before it judges, and answers; the others in another order
    assert compiles(kept, reward_functions=["reach_exit", "bump_into_wall", "living_reward"]) == 3
    # a condition, and what it does
    assert compiles(kept, transition_functions=["pickndrop", "move_agent", "turn_agent"]) == 2
    # values are data
    assert compiles(kept, reward_functions=[{"name": "living_reward", "reward": 2.0}]) == 0


@pytest.mark.thorough
def test_units_are_found_again_after_those_of_others(kept):
    """Numba numbers types by their turn in a process."""
    compiles(kept)
    shutil.rmtree(kept.parent / "compiled")
    elsewhere = f"""
from pathlib import Path
from gv_engine import GridVectorEnv, Scenario
GridVectorEnv(Scenario.load("empty-4x4"), 2, world="compiled")
before = set(Path({str(kept)!r}).iterdir())
GridVectorEnv(Scenario.load({SCENARIO}), 2, world="compiled")
assert set(Path({str(kept)!r}).iterdir()) == before
"""
    subprocess.run([sys.executable, "-c", elsewhere], check=True)


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [b"", b"no pickle"])
def test_a_damaged_unit_is_compiled_anew(kept, damage):
    compiles(kept)
    whole = {path: path.read_bytes() for path in kept.iterdir()}
    for path in whole:
        path.write_bytes(damage)
    link_units._CODES.clear()
    compiles(kept, reward_functions=["reach_exit", "living_reward"])
    assert all(path.read_bytes() != damage for path in whole)


@pytest.mark.thorough
def test_python_calls_a_program_without_anything_between_them(kept):
    """By ctypes, a call took longer than the step of a world."""
    worlds = make_batch(Scenario.load(SCENARIO), 2, "compiled")
    assert isinstance(worlds, CompiledBatch)
    assert all(isinstance(each.run, BuiltinFunctionType) for each in worlds.programs)
