"""Compiled worlds beside object worlds: the same outputs and rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gv_engine import load_scenario
from gv_engine.envs.backends.backend import Backend
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.envs.backends.object_backend import ObjectBatch
from gv_engine.envs.backends.seeding import make_seeded_generators
from gv_engine.rules.errors import RuleError
from gv_engine.world.simulation import DISABLED, NEXT_STEP, SAME_STEP
from tests.levels import NOT_OF_GALLERY

WORLDS, STEPS = 4, 40
MODES = {"keydoor-9x9": NEXT_STEP, "sokoban": DISABLED}


def differing(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], name: str = "") -> list[str]:
    """The fields of two arrays of records that differ, padding left out."""
    if a.dtype.names:
        parts = (differing(a[part], b[part], f"{name}.{part}") for part in a.dtype.names)
        return [each for part in parts for each in part]
    return [] if np.array_equal(a, b) else [name]


def compare(compiled: Backend, objects: Backend, mode: int) -> list[str]:
    """The names of the outputs and columns in which two batches differ."""
    left_out = ("error", *(("final_",) if mode != SAME_STEP else ()))
    names = [name for name in vars(compiled.outputs) if not name.startswith(left_out)]
    outputs = [
        name
        for name in names
        if not np.array_equal(getattr(compiled.outputs, name), getattr(objects.outputs, name))
    ]
    ours, theirs = (batch.snapshot(np.arange(len(batch))) for batch in (compiled, objects))
    found = differing(ours, theirs)
    return [*outputs, *(name for name in found if not name.startswith((".error", ".layout_")))]


def attempt(batch: Backend, actions: np.ndarray[Any, Any] | None, mode: int) -> str:
    """Step a batch, or reset it; the text of the error, "" for none."""
    try:
        if actions is None:
            batch.reset(np.ones(len(batch), np.bool_))
        else:
            batch.step(actions.copy(), mode)
    except RuleError as error:
        return str(error)
    return ""


@pytest.mark.compiled
@pytest.mark.sample("keydoor-9x9", "pogema-8x8-4a", "sokoban", "crafter", "teleport-7x7")
@pytest.mark.parametrize("name", [*NOT_OF_GALLERY, "pogema-8x8-4a-restart"])
def test_compiled_worlds_equal_objects(name: str):
    scenario: Any = load_scenario(name)
    mode = MODES.get(name, SAME_STEP)
    compiled, objects = CompiledBatch(scenario, WORLDS), ObjectBatch(scenario, WORLDS)
    for batch in (compiled, objects):
        batch.prepare()
        batch.set_generators(np.arange(WORLDS), make_seeded_generators([*range(WORLDS)]))
    rng = np.random.default_rng(0)
    seats = WORLDS * scenario.layout.agents
    choices = [None, *rng.integers(0, len(scenario.actions), (STEPS, seats))]
    for actions in choices:
        errors = [attempt(batch, actions, mode) for batch in (compiled, objects)]
        assert errors[0] == errors[1]
        assert compare(compiled, objects, mode) == []
        if errors[0]:
            break
