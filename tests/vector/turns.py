"""Compiled worlds that take turns, and what is kept beside their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gv_engine import Scenario
from gv_engine.vector.compiled_backend import CompiledBatch
from gv_engine.world.simulation import NEXT_STEP, RESTART

WORLDS = 40
ALL = np.arange(WORLDS)
DIFFERS_OF = '''

def differs_of(w, kind):
    """Whether a look at every cell finds other objects of a type, up to as many as were placed."""
    found = all_of(w, kind)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            e = w.on_layer_of(kind, y, x)
            if e != NOTHING and w.kind.value[e] == kind and count < w.placed[kind]:
                if count == len(found) or found[count] != e:
                    return True
                count += 1
    return count != len(found)
'''
"""For rules that compare what is kept of a type with what is there."""


def begun(scenario: Scenario, seed: int = 0) -> CompiledBatch:
    """Checked worlds at the beginning of their first episodes."""
    batch = CompiledBatch(scenario, WORLDS, checked=True)
    batch.prepare()
    for i in range(WORLDS):
        batch.set_generator(i, np.random.default_rng(seed + i))
    batch.step(np.full(WORLDS, RESTART), NEXT_STEP)
    return batch


def by_chance(batch: CompiledBatch, turns: int, mode: int = NEXT_STEP) -> Iterator[int]:
    """Let all agents act by chance; the number of each turn, after it."""
    actions = np.random.default_rng(1)
    for turn in range(turns):
        batch.step(actions.integers(0, 8, WORLDS), mode)
        yield turn


def go_on(batch: CompiledBatch, turns: int) -> CompiledBatch:
    """Let all agents go forward."""
    for _ in range(turns):
        batch.step(np.zeros(WORLDS, np.int64), NEXT_STEP)
    return batch


def assert_as_fresh(batch: CompiledBatch, names: Iterable[str]) -> None:
    """After a reset what is kept beside rows, if it is, is what other worlds make of them."""
    batch.reset(np.ones(WORLDS, np.bool_))
    fresh = begun(batch.scenario)
    fresh.restore(ALL, batch.snapshot(ALL), trusted=True)
    for name in {*names}.intersection(batch.derived_rows.dtype.names):
        np.testing.assert_array_equal(batch.derived_rows[name], fresh.derived_rows[name])
