"""What worlds have in common holds nothing from one of them to the next."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks.workloads import make_keydoor
from components.core import HIDDEN
from gv_engine import DoesNotCompileError, GridEnv, GridVectorEnv, RuleError, Scenario
from gv_engine.play.validation import differential
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.rules.geometry import TURN_LEFT, TURN_RIGHT
from gv_engine.world import view
from gv_engine.world.simulation import Simulation
from gv_engine.world.view import ObjectView

RULES = '''
import numpy as np

from gv_engine import TRANSITION, VISIBILITY, system
from gv_engine.rules.geometry import RIGHT

@system(VISIBILITY)
def glance(w, agent, view):
    """Looking right, the agent sees everything, else its own row."""
    for i in range(view.height):
        for j in range(view.width):
            if i == view.y or w.agent.facing[agent] == RIGHT:
                view.seen[i, j] = 1


@system(VISIBILITY, rows=True)
def glance_by_rows(w, agent, view):
    """The same."""
    for i in range(view.height):
        if i == view.y or w.agent.facing[agent] == RIGHT:
            view.see_row(i, 15)


@system(VISIBILITY)
def objects_alone(w, agent, view):
    """Objects are seen, of what blocks vision those on the left."""
    for i in range(view.height):
        for j in range(view.width):
            e = view.entity[i, j]
            view.seen[i, j] = e != 0 and (j <= view.x or not view.opaque[i, j])


@system(VISIBILITY)
def stretch(w, agent, view):
    """A view that grows."""
    view.height = 9


@system(VISIBILITY, tables={"lit": lambda area: np.zeros(area.shape)})
def afterglow(w, agent, view, lit):
    """What was once seen stays lit."""
    lit[0, 0] = 1


@system(TRANSITION)
def remember(w, agent):
    """Every third step, whoever takes it, turns the agent."""
    w.taken = getattr(w, "taken", 0) + 1
    if w.taken % 3 == 0:
        w.agent.facing[agent] = 2


@system(TRANSITION)
def shift(w, agent, steps: tuple[int, int] = (0, 1)):
    """Steps that grow."""
    steps[0] += 1
'''


MEADOW = "\n".join([*["........."] * 4, "....^....", *["........."] * 4])


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """A meadow seen by one of the functions above."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.py").write_text(RULES)

    def load(visibility, *transitions, area=((-3, 0), (-1, 2))):
        return Scenario.load(
            {
                "map": MEADOW,
                "max_steps": 9,
                "reward_functions": ["living_reward"],
                "terminating_function": "reach_exit",
                "transition_functions": ["turn_agent", "move_agent", *transitions],
                "observation_function": {"name": visibility, "area": [list(pair) for pair in area]},
            },
            folder=folder,
        )

    return load


def seen(observation):
    return (observation["grid"][..., 0] != HIDDEN).sum(axis=(1, 2)).tolist()


@pytest.mark.sample("object")
@pytest.mark.parametrize("kind", ["object", "compiled"])
@pytest.mark.parametrize("visibility", ["glance", "glance_by_rows"])
def test_a_look_begins_with_nothing_seen(load, visibility, kind):
    level = load(f"./rules.py:{visibility}")
    envs = GridVectorEnv(level, 4, world=kind, autoreset_mode="Disabled")
    stay = level.actions.index(7)
    right, left = level.actions.index(TURN_RIGHT), level.actions.index(TURN_LEFT)
    assert seen(envs.reset(seed=0)[0]) == [4] * 4
    assert seen(envs.step([stay, right, stay, stay])[0]) == [4, 16, 4, 4]
    assert seen(envs.step([stay, left, right, stay])[0]) == [4, 4, 16, 4]
    again = np.array([False, False, True, False])
    assert seen(envs.reset(options={"reset_mask": again})[0]) == [4] * 4


@pytest.mark.sample("rules0")
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rules", "said", "cause"),
    [
        (["./rules.py:stretch"], r"writes view\.height", r"height. cannot be assigned here"),
        (["./rules.py:afterglow"], "read-only", "read-only"),
        (["fully_transparent", "./rules.py:shift"], "item assignment", "read-only"),
    ],
)
def test_rules_cannot_write_what_all_worlds_share(load, rules, said, cause):
    level = load(*rules)
    env = GridEnv(level, world="object")
    with pytest.raises((RuleError, TypeError, ValueError), match=said):  # noqa: PT012
        env.reset(seed=0)
        env.step(0)
    compiled_error = rf"rules\.py:\d+.*{cause}"
    with pytest.raises((DoesNotCompileError, RuleError), match=compiled_error):  # noqa: PT012
        env = GridEnv(level, world="compiled")
        env.reset(seed=0)
        env.step(0)


@pytest.mark.parametrize(
    ("visibility", "is_cached"),
    [
        ("partially_occluded", True),
        ("raytracing", True),
        ("fully_transparent", True),
        ("stochastic_raytracing", False),
        ("./rules.py:glance_by_rows", False),
        ("./rules.py:objects_alone", False),
    ],
)
def test_rules_that_read_opaque_cells_alone_are_cached(load, visibility, is_cached):
    level = load(visibility)
    GridEnv(level, world="object").reset(seed=0)
    assert bool(level.sight_cache) == is_cached


@pytest.mark.parametrize("visibility", ["partially_occluded", "raytracing"])
def test_cached_views_equal_computed_ones(monkeypatch, visibility):
    monkeypatch.setattr(view, "_CACHED_CELLS", 49 * 20)
    level = Scenario.load(make_keydoor(7, visibility))
    simulations = [Simulation(level), Simulation(level)]
    simulations[1].watch(lambda system, name, function: function)  # ends the use of the cache
    cache, sizes = level.sight_cache, list[int]()
    assert cache is not None
    for seed in range(20):
        for simulation in simulations:
            simulation.reset(np.random.default_rng(seed))
        for action in np.random.default_rng(seed).integers(0, 8, 30).tolist():
            grids = np.zeros((2, 7, 7, 3), np.uint8)
            for simulation, grid in zip(simulations, grids, strict=True):
                simulation.step(action)
                simulation.observe(grid, np.zeros(3, np.uint8))
            assert (grids[0] == grids[1]).all()
            assert (simulations[0].view.seen == simulations[1].view.seen).all()
            sizes.append(len(cache))
    assert max(sizes) <= 21
    assert sorted(sizes) != sizes, "the cache was never emptied"


# ---- what `check` finds ------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("visibility", ["glance", "objects_alone"])
def test_check_finds_nothing_wrong_with_a_rule_that_only_adds(load, visibility):
    assert run_differential_test(load(f"./rules.py:{visibility}")).fault == ""


def test_check_finds_rules_that_remember(load):
    report = run_differential_test(load("fully_transparent", "./rules.py:remember"), compiled=False)
    assert re.match(
        r"turn \d+ of 4 object worlds, world \d of seed \d: .* is .*, and .* when the world takes "
        r"the turn alone: a rule remembers something from another world, or from before",
        report.fault,
    )


def test_check_finds_views_that_keep_what_was_seen(load, monkeypatch):
    """One world by one they keep the same, and nothing is found; compiled views are new ones."""

    def look(self, w, agent):
        kept = self.seen.copy()
        own(self, w, agent)
        self.seen[:] = kept

    own = ObjectView.look
    monkeypatch.setattr(ObjectView, "look", look)
    level = load("./rules.py:glance", area=[[-2, 0], [-4, 3]])
    assert "of 4 object worlds" in differential._find_batch_fault(level, "object", 20, seed=0)
