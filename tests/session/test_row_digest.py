"""Digests stand for all that a world is, and for nothing else; files of games keep them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario, Simulation
from gv_engine.play.session.replay import row_digest

KEPT = {
    "keydoor-5x5": "c35c43762ec0e8a2",
    "medley-7x7": "dcad319fea7c28dd",
    "hold-plates": "4366affe16419596",
    "hunt": "fa1f5f1a666dccc8",
    "keydoor-sizes": "878a5fb6d98c8b81",
    "MiniGrid-GoToDoor-5x5-v0": "43dab10b4aa9b04b",
}
"""What replays that were kept say of the third step of a game with seed 5."""


def row_of(name: str) -> tuple[Scenario, Any]:
    scenario = Scenario.load(name)
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(5))
    for action in scenario.actions[:3]:
        simulation.step(*[action] * len(simulation.agents))
    return scenario, simulation.world.snapshot()


@pytest.mark.parametrize("name", KEPT)
def test_digests_stay_what_they_are(name: str):
    scenario, row = row_of(name)
    assert row_digest(row, scenario.types) == KEPT[name]


@pytest.mark.parametrize("name", ["hunt", "medley-7x7"])
def test_a_world_that_differs_has_another_digest(name: str):
    scenario, row = row_of(name)
    known = row_digest(row, scenario.types)
    one = 1 if row["done"].size > 2 else 0  # of one agent the world says it
    there = np.flatnonzero(row["alive"])
    changes: list[tuple[str, Any]] = [
        (name, 1) for name in ("reward", "total", "action", *["done"] * one)
    ]
    changes += [(name, ()) for name in ("steps", "terminated", "truncated", "member", "free")]
    changes += [(name, (0, 0)) for name in ("at", "ground") if name in row.dtype.names]
    changes += [(name, int(np.flatnonzero(row[name])[0])) for name in ("placed", "recent")]
    changes += [("rng", field) for field in row["rng"].dtype.names]
    for name, where in changes:
        other = row.copy()
        other[name][where] += 1
        assert row_digest(other, scenario.types) != known, (name, where)
    for name in {*row.dtype.names} - {"rng"}:
        fields = row[name].dtype.names
        if fields and "has" in fields:
            having = np.flatnonzero(row[name]["has"])
            lacking = np.flatnonzero(row[name]["has"] == 0)
            for field in fields[1:] if having.size else ():
                other = row.copy()
                other[name][field][lacking] += 1
                assert row_digest(other, scenario.types) == known, (name, field)
                values = other[name][field]
                others = [value for value in values[having] if value != values[having[0]]]
                is_kind = (name, field) == ("kind", "value")  # not every number is a type's
                values[having[0]] = others[0] if is_kind else values[having[0]] + 1
                assert row_digest(other, scenario.types) != known, (name, field)
    corner = row["height"] - 1, row["width"] - 1
    for name, where in (("alive", there[-1]), ("at", corner)):
        other = row.copy()
        other[name][where] = 0
        assert row_digest(other, scenario.types) != known, name
    other = row.copy()
    other["at"][row["height"] :] = other["at"][:, row["width"] :] = 3
    assert row_digest(other, scenario.types) == known
