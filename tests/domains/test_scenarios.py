"""Every built-in scenario, from its seed alone; `test_environment` has Gymnasium's own check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from gv_engine import GridEnv, RuleError, Scenario
from gv_engine.envs.registration import make_env, make_vector_env
from gv_engine.gridverse import Action as GridverseAction
from gv_engine.play.session.sprite_paths import find_broken_sprites, find_missing_sprites
from gv_engine.play.validation.differential import find_row_fault
from gv_engine.play.validation.lint import find_mistakes
from gv_engine.rules.component import AGENT
from gv_engine.rules.frame import Frame
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import list_built_in_names
from gv_engine.scenario.library import gym_id, list_plugin_grids
from gv_engine.world.columns import RowWorld
from gv_engine.world.simulation import Simulation
from systems.rendering import draw_state_and_observation
from tests.comparing import same
from tests.levels import GRID_NAMES, OF_GALLERY
from tests.processes import under_hash_seeds
from tests.session.test_inspection import a_look

DOMAINS = [
    *("crossing-5x5", "dynamic-obstacles-5x5", "empty-4x4", "four-rooms-7x7", "keydoor-5x5"),
    *("memory-5x5", "memory-four-rooms-7x7", "teleport-5x5"),
]
"""One of each kind of level, all of one layout; larger levels run the same functions."""


def played(env, seed, steps):
    """What a random player is shown, beginning anew where an episode ends."""
    player = np.random.default_rng(seed)
    yield env.reset(seed=seed)
    for _ in range(steps):
        shown = env.step(player.integers(env.action_space.n))
        yield shown
        if shown[2] or shown[3]:
            yield env.reset()


# ---- properties, each of a scenario that is loaded once ------------------------------------------


def check_names(scenario: Any) -> None:
    """Its name and its Gymnasium id lead to it."""
    assert load_scenario(gym_id(scenario.name)).name == scenario.name
    assert scenario.name in list_built_in_names()


def check_success(scenario: Any) -> None:
    """It says what a success is, unless it has no aim; MiniGrid's by a function of its own."""
    assert scenario.tells_success is (scenario.name not in AIMLESS)
    if scenario.name in list_plugin_grids():
        assert scenario.success or scenario.name in AIMLESS


def check_contents(scenario: Scenario) -> None:
    """It has a description and a limit, and gives no warning; it is the same by its id."""
    assert scenario.source == Scenario.load(gym_id(scenario.name)).source
    assert scenario.description
    assert scenario.max_steps
    assert not scenario.warnings


def check_random_player(scenario: Scenario) -> None:
    """A random player meets nothing that the spaces do not list."""
    env = GridEnv(scenario, world="object", max_steps=40)
    for shown in played(env, 3, 60):
        assert shown[0] in env.observation_space
        assert not find_row_fault(env.scenario, env.snapshot())


def check_inspection(scenario: Scenario) -> None:
    """The inspector shows what is in every cell."""
    inspection, simulation = a_look(scenario, seed=0)
    world = simulation.world
    for y, x in np.ndindex(world.height, world.width):
        found = [entity.number for entity in inspection.cell(y, x) if entity.name != "agent"]
        assert found == [e for e in (world.at[y, x], world.ground[y, x]) if e]


def check_mistakes(scenario: Scenario) -> None:
    """No likely mistake is found."""
    assert not find_mistakes(scenario)


def check_frames(scenario: Scenario) -> None:
    """What is drawn of a row is what is drawn of the world."""
    simulation = Simulation(scenario)
    chance = np.random.default_rng(7)
    simulation.reset(np.random.default_rng(7))
    shown = np.zeros((*scenario.area.shape, 3), np.uint8)
    for _ in range(25):
        simulation.observe(shown, np.zeros(3, np.uint8))
        frames: list[Frame] = []
        simulation.render(frames.append, shown)
        row = RowWorld(scenario.layout, simulation.world.snapshot())
        canvas = scenario.canvas(row, frames.append, shown, simulation.terms_of())
        draw_state_and_observation(row, AGENT, canvas)
        for field in fields(Frame):
            one, other = (getattr(frame, field.name) for frame in frames)
            assert type(one) is type(other), field.name
            assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
        simulation.step(int(chance.choice(scenario.actions)))


def check_inner_environment(scenario: Scenario) -> None:
    """GridVerse's inner environment and the outer one play the same; its views always turn."""
    if scenario.mixture:
        return
    if not scenario.area.turns:
        with pytest.raises(RuleError, match="has views with `turns: no`, and GridVerse's always"):
            scenario.inner_env()
        return
    inner, outer = scenario.inner_env(), GridEnv(scenario, world="object")
    inner.set_seed(7)
    inner.reset()
    shown, _ = outer.reset(seed=7)
    for action in np.random.default_rng(7).integers(len(scenario.actions), size=15).tolist():
        assert np.array_equal(inner.observation.to_arrays()["grid"], shown["grid"])
        found = inner.step(GridverseAction(scenario.actions[action]))
        shown, reward, terminated, _, _ = outer.step(action)
        assert found == (reward, terminated)
        if terminated:
            return


def check_sprites(scenario: Scenario) -> None:
    """Everything in a level of the gallery has a sprite that can be drawn."""
    if scenario.name in OF_GALLERY:
        assert [*find_missing_sprites(scenario), *find_broken_sprites(scenario)] == []


GRIDS = {*GRID_NAMES}
AIMLESS = ("crafter", "MiniGrid-Playground-v0")
OF_ALL: tuple[Callable[[Any], None], ...] = (check_names, check_success)
OF_GRIDS = (
    *(check_contents, check_inspection, check_mistakes, check_frames, check_inner_environment),
    *(check_sprites, check_random_player),
)


@pytest.mark.sample(
    "dynamic-obstacles-5x5",
    "keydoor-5x5",
    "medley",
    "fetch",
    "GoToLocal-v0",
    "mathy-poly-simplify-easy",
)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in GRIDS - {*DOMAINS} else ())
        for name in list_built_in_names()
    ],
)
def test_a_built_in_scenario_has_all_properties(name: str):
    scenario: Any = load_scenario(name)
    assert scenario.name == name
    for check in (*OF_ALL, *(OF_GRIDS if name in GRIDS else ())):
        try:
            check(scenario)
        except Exception as error:
            error.add_note(f"{name}: {check.__doc__}")
            raise


@pytest.mark.parametrize("make", [make_env, make_vector_env])
@pytest.mark.parametrize("name", ["keydoor-5x5", "mathy-poly-simplify-easy"])
def test_a_misspelt_option_is_told_whatever_the_scenario_is(name, make):
    for scenario in (name, load_scenario(name)):
        with pytest.raises(
            TypeError, match=r"no option 'max_stepz'; environments take 'max_steps'"
        ):
            make(scenario, max_stepz=3)
        with pytest.raises(TypeError, match=r"no option 'autoreset'; vector environments take 'au"):
            make(scenario, autoreset="Disabled")


@pytest.mark.sample("keydoor-5x5")
@pytest.mark.compiled
@pytest.mark.parametrize("name", DOMAINS)
def test_objects_and_compiled_play_the_same(name):
    one, other = (played(GridEnv(name, world=w), 5, 300) for w in ("object", "compiled"))
    assert all(same(*shown) for shown in zip(one, other, strict=True))


TRACE = """
import hashlib
from gv_engine import GridEnv
from tests.domains.test_scenarios import played
from tests.levels import GRID_NAMES
for name in GRID_NAMES:
    digest = hashlib.sha256()
    for observation, *rest in played(GridEnv(name, world="object"), 7, 60):
        digest.update(observation["grid"].tobytes() + observation["item"].tobytes())
        digest.update(repr(rest).encode())
    print(name, digest.hexdigest())
"""


@pytest.mark.thorough
def test_a_seed_is_the_same_episode_whatever_the_hash_seed():
    one, other = under_hash_seeds(TRACE)
    assert one == other
    assert [line.split()[0] for line in one.splitlines()] == GRID_NAMES
