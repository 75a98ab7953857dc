"""Compiled worlds, whatever else the process has compiled and taught to Numba's records."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.compiled

FIRST = {
    "njit": """
from numba import njit
@njit
def one_more(x): return x + 1
assert one_more(1) == 2
""",
    # methods, attributes and functions of all records, some called like those of ours
    "everything": """
import numpy as np
from numba import int64, njit, types, vectorize
from numba.experimental import jitclass
from numba.extending import overload, overload_attribute, overload_method

@overload_method(types.Record, "remove")
def remove(r, e):
    return lambda r, e: r.cells * e

@overload_method(types.Record, "integers")
def integers(r, low, high=None):
    return lambda r, low, high=None: 5

@overload_attribute(types.Record, "steps")
@overload_attribute(types.Record, "row")
def seven(r):
    return lambda r: 7

def half(r): raise NotImplementedError
@overload(half)
def half_of_a_record(r):
    return (lambda r: r.cells / 2) if isinstance(r, types.Record) else None

@njit
def of_record(r): return r.remove(3), r.integers(4), r.steps + r.row, half(r)
record = np.full(1, 9, [("cells", np.int64)])[0]
assert of_record(record) == (27, 5, 14, 4.5)

@vectorize
def one_more(x): return x + 1
assert one_more(np.arange(3)).tolist() == [1, 2, 3]

@jitclass([("n", int64)])
class Twice:
    def __init__(self, n): self.n = n
    def value(self): return 2 * self.n
@njit
def value(twice): return twice.value()
assert value(Twice(4)) == 8
""",
}
PLAY = """
import sys
sys.path.insert(0, "")
from gv_engine import Scenario
from gv_engine.validation.differential import run_differential_test
from tests.vector.test_programs import BASE

def play(**changes):
    rules = ["move_agent", "turn_agent", "pickndrop"]
    level = Scenario.load({**BASE, "transition_functions": rules, **changes})
    assert run_differential_test(level, episodes=2).fault == ""

"""
AFTER = {
    "njit": "play()",
    "everything": """
@njit
def between(r): return r.remove(4)
assert between(record) == 36
play()
@njit
def after(r): return r.remove(5), of_record(r)
assert after(record) == (45, (27, 5, 14, 4.5))
play(capacity=60)
""",
}


@pytest.mark.thorough
@pytest.mark.parametrize("what", FIRST)
def test_worlds_compile_whatever_others_have_compiled(what, tmp_path):
    code = FIRST[what] + PLAY + AFTER[what]
    environment = {**os.environ, "GV_ENGINE_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert done.stderr.count("compiling") == AFTER[what].count("play(")
