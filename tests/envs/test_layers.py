"""The representation `layers`: what shows in the cells of a view, and what is on their ground."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from components.core import FLOOR, HIDDEN
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.rules.frame import Frame
from gv_engine.vector.backend import make_batch
from gv_engine.world.simulation import Simulation
from tests.boards import scenario
from tests.comparing import same
from tests.systems.test_ground import RULES

LAYERS: dict[str, Any] = {"observation_representation": "layers"}
THINGS = "....##itpwmGCXPI124qKD"
SIZE = 3, 5
WORLDS = 3
UNSEEN = HIDDEN, 0, 0


@st.composite
def levels(draw: st.DrawFn) -> Scenario:
    """Things on the ground and above it, the agent among them, in one layout for all."""
    height, width = SIZE
    cells = draw(st.lists(st.sampled_from(THINGS), min_size=15, max_size=15))
    cells[draw(st.integers(0, height * width - 1))] = draw(st.sampled_from("^<>vA3"))
    rows = ["".join(cells[y * width : (y + 1) * width]) for y in range(height)]
    return scenario("\n".join(rows), **RULES, capacity=64, max_steps=6)


def looked_up(played: Scenario, row: Any) -> Any:
    """Both layers, from the whole grid of a picture."""
    simulation, frames = Simulation(played), list[Frame]()
    simulation.world.restore(row)
    simulation.render(frames.append)
    (frame,) = frames
    below = frame.visible_ground
    assert below is not None
    seen = frame.observation[..., :1] != HIDDEN
    return np.concatenate([frame.observation, np.where(seen, below, UNSEEN)], -1)


@pytest.mark.thorough
@pytest.mark.compiled
@settings(max_examples=30)
@given(played=levels(), seed=st.integers(0, 99), mode=st.sampled_from(AutoresetMode))
def test_both_worlds_one_and_many_show_both_layers(played, seed, mode):
    objects, compiled = (
        GridVectorEnv(played, WORLDS, world=kind, autoreset_mode=mode, **LAYERS)
        for kind in ("object", "compiled")
    )
    alone, other = (GridEnv(played, world=kind, **LAYERS) for kind in ("compiled", "object"))
    found: Any = objects.reset(seed=seed)
    assert same(found, compiled.reset(seed=seed))
    assert same(found[0]["grid"][0], alone.reset(seed=seed)[0]["grid"])
    other.reset(seed=0)
    pilot = np.random.default_rng(seed)
    for _ in range(9):
        np.testing.assert_array_equal(found[0]["grid"][1], looked_up(played, compiled.snapshot(1)))
        row = objects.snapshot(1)
        assert same(other.restore(row)[0], {name: part[1] for name, part in found[0].items()})
        assert same(other.restore(row), alone.restore(row))
        actions = pilot.integers(objects.num_actions, size=WORLDS)
        found = objects.step(actions)
        assert same(found, compiled.step(actions))
        shown = alone.step(actions[1])[0]
        for last in found[4].get("final_obs", ())[1:2]:
            assert last is None or same(last, shown)


# ---- what there is to see -----------------------------------------------------------------------

BOARD = """
    .t#i
    XPK.
    .>.q
"""


def test_what_lies_beneath_is_seen_where_the_cell_is():
    played = scenario(BOARD, **RULES)
    env, plain = GridEnv(played, world="object", **LAYERS), GridEnv(played, world="object")
    grid, expected = (made.reset(seed=0)[0]["grid"] for made in (env, plain))
    np.testing.assert_array_equal(grid[..., :3], expected)
    kinds = {kind.index: kind.name for kind in played.layout.types}
    beneath = [[kinds.get(index, "?") for index in line] for line in grid[..., 3].tolist()]
    # facing right: up in the view is right on the grid
    assert beneath == [
        ["?", "?", "?", "?", "?"],
        ["Ice", "Floor", "Plate", "?", "?"],
        ["Floor", "Floor", "Floor", "?", "?"],
        ["Target", "Plate", "Floor", "?", "?"],
    ]
    assert (grid[..., 3:][grid[..., 0] == HIDDEN] == UNSEEN).all()
    assert env.observation_space.contains(env.reset()[0])


def test_who_has_no_ground_shows_floor_there():
    played = scenario("#K.\n.>D\n...")
    grid = GridEnv(played, world="object", **LAYERS).reset(seed=0)[0]["grid"]
    seen = grid[..., 0] != HIDDEN
    assert seen.any()
    assert (grid[..., 3:][seen] == (FLOOR, 0, 0)).all()
    assert (grid[..., 3:][~seen] == UNSEEN).all()


SHARED = {
    "reward_functions": ["living_reward"],
    "terminating_function": "reach_exit",
    "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
}
WITH_GROUND: dict[str, Any] = {
    **{key: RULES[key] for key in ("objects", "legend", "transition_functions")},
    **SHARED,
    "map": "iXp\nI>q",
    "mission": {"text": "win"},
}
BARE = {**SHARED, "transition_functions": ["move_agent", "turn_agent"], "map": "K#\n.^"}
MIXED = {"mixture": [{"scenario": each} for each in (WITH_GROUND, BARE)], "max_steps": 3}


@pytest.mark.thorough
@pytest.mark.compiled
def test_members_without_ground_show_floor_there():
    played = Scenario.load(MIXED)
    objects, compiled = (
        GridVectorEnv(played, 8, world=kind, autoreset_mode="SameStep", **LAYERS)
        for kind in ("object", "compiled")
    )
    found: Any = objects.reset(seed=0)
    assert same(found, compiled.reset(seed=0))
    drawn, pilot = set(), np.random.default_rng(0)
    for _ in range(12):
        for member, grid in zip(found[-1]["member"].tolist(), found[0]["grid"], strict=True):
            floor = {*grid[..., 3].ravel().tolist()} <= {FLOOR, HIDDEN}
            drawn.add((member, floor))
        actions = pilot.integers(objects.num_actions, size=8)
        found = objects.step(actions)
        assert same(found, compiled.step(actions))
    assert drawn == {(0, False), (1, True)}


def test_who_does_not_ask_for_it_has_no_room_for_it():
    plain = make_batch(scenario(BOARD, **RULES), 2, "object").outputs
    assert plain.ground.nbytes == plain.final_ground.nbytes == 0
    assert len(plain.observed) == len(plain.final_observed) == 2
    assert {"ground", "final_ground"} <= plain.unused_names
