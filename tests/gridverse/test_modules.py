"""Modules of GridVerse beside states and functions: drawing on grids, representations, files,
pictures, and environments with Gym's old interface."""

import json
import math
from collections import Counter
from typing import Any

import imageio.v3 as imageio
import numpy as np
import pytest
import yaml

from gv_engine import Scenario
from gv_engine.plugins.gridverse import (
    Action,
    Color,
    Grid,
    ObservationSpace,
    Position,
    Shape,
    StateSpace,
    design,
)
from gv_engine.plugins.gridverse.debugging import checkraise, debugging
from gv_engine.plugins.gridverse.envs.utils import get_next_position
from gv_engine.plugins.gridverse.envs.yaml.factory import (
    factory_env_from_data,
    factory_env_from_yaml,
)
from gv_engine.plugins.gridverse.envs.yaml.schemas import SchemaError, schemas
from gv_engine.plugins.gridverse.geometry import Area, Orientation
from gv_engine.plugins.gridverse.grid_object import Box, Door, Exit, Floor, Key, Wall
from gv_engine.plugins.gridverse.gym import (
    STRING_TO_YAML_FILE,
    GymEnvironment,
    GymStateWrapper,
    outer_env_factory,
)
from gv_engine.plugins.gridverse.representations.observation_representations import (
    make_observation_representation,
)
from gv_engine.plugins.gridverse.representations.spaces import Space, SpaceType
from gv_engine.plugins.gridverse.representations.state_representations import (
    make_state_representation,
)
from gv_engine.plugins.gridverse.utils.raytracing import compute_rays_fancy
from gv_engine.plugins.gridverse.utils.rl import make_return_computer
from gv_engine.plugins.gridverse.utils.space_builders import StateSpaceBuilder
from systems.visibility import trace_rays

TYPES = [Wall, Floor, Exit, Door, Key]
LEVEL: dict[str, Any] = {
    "state_space": {"objects": [kind.__name__ for kind in TYPES], "colors": ["NONE", "YELLOW"]},
    "observation_space": {"objects": ["Wall", "Floor", "Exit", "Door", "Key"], "colors": ["NONE"]},
    "reset_function": {"name": "keydoor", "shape": [5, 6]},
    "transition_functions": [{"name": "move_agent"}, {"name": "turn_agent"}],
    "reward_functions": [
        {"name": "living_reward", "reward": -0.5},
        {"name": "getting_closer", "distance_function": "manhattan", "object_type": "Exit"},
    ],
    "observation_function": {"name": "partially_occluded", "area": [[-2, 0], [-1, 1]]},
    "terminating_function": {"name": "reach_exit"},
}


# ---- grids ---------------------------------------------------------------------------------------


def count_walls(grid: Grid) -> int:
    return Counter(map(type, grid))[Wall]


@pytest.mark.parametrize(
    ("draw", "walls"),
    [
        (design.draw_wall_boundary, 18),
        (lambda grid: design.draw_room(grid, Area((1, 3), (1, 4)), Wall), 10),
        (lambda grid: design.draw_area(grid, Area((1, 3), (1, 4)), Wall, fill=True), 12),
        (lambda grid: design.draw_room_grid(grid, [0, 2, 4], [1, 4], Wall), 16),
        (lambda grid: design.draw_line_horizontal(grid, 2, range(5), Wall), 5),
        (lambda grid: design.draw_line_vertical(grid, [1, 4], 3, Wall), 2),
    ],
)
def test_drawing_on_a_grid(draw, walls):
    grid = Grid.from_shape((5, 6))
    positions = draw(grid)
    assert count_walls(grid) == len(positions) == len(set(positions)) == walls
    assert all(isinstance(grid[position], Wall) for position in positions)


def test_where_actions_lead():
    at = Position(2, 2)
    assert get_next_position(at, Orientation.R, Action.MOVE_LEFT) == Position(1, 2)
    assert get_next_position(at, Orientation.R, Action.TURN_LEFT) == at


@pytest.mark.parametrize("area", [Area((-3, 0), (-2, 2)), Area((-2, 1), (-1, 3))])
def test_rays_are_those_of_the_rules(area):
    height, width = area.shape
    own = compute_rays_fancy(Position(*area.observer), Area((0, height - 1), (0, width - 1)))
    table = [[divmod(cell, width) for cell in ray if cell >= 0] for ray in trace_rays(area)]
    assert own == table


def test_returns_are_discounted():
    add = make_return_computer(0.5)
    assert [add(1.0) for _ in range(3)] == [1.0, 1.5, 1.75]


def test_checks_that_only_run_while_debugging():
    checkraise(lambda: False, KeyError, "never")
    with debugging(), pytest.raises(KeyError, match="is 3"):
        checkraise(lambda: False, KeyError, "{name} is {}", 3, name="x")


# ---- representations -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "no-overlap", "compact"])
def test_representations_are_those_of_scenarios(name):
    scenario = Scenario.load("keydoor-5x5")
    inner = scenario.inner_env()
    inner.set_seed(0)
    inner.reset()
    state = make_state_representation(name, inner.state_space)
    observation = make_observation_representation(name, inner.observation_space)
    from gv_engine.representations import Representation

    for own, shown, expected in (
        (state, inner.state, Representation.of_state(scenario, (5, 5), name)),
        (observation, inner.observation, Representation.of_observation(scenario, name)),
    ):
        arrays: Any = own.convert(shown)
        assert list(arrays) == list(own.space)
        for key, array in expected.convert(shown).items():
            assert arrays[key].tolist() == array.tolist()
            assert arrays[key].dtype in (np.int64, np.float64)
            assert own.space[key].contains(arrays[key])


def test_states_that_arrays_do_not_describe():
    space = StateSpace((3, 3), [Floor, Box], [Color.NONE])
    assert not space.can_be_represented
    with pytest.raises(ValueError, match="Box"):
        make_state_representation("default", space)
    with pytest.raises(ValueError, match="did you mean 'compact'"):
        make_observation_representation("compat", ObservationSpace((3, 3), [Floor], []))


def test_spaces_of_arrays():
    space = Space.make_categorical_space(np.array([1, 2]))
    assert space == Space(SpaceType.CATEGORICAL, np.array([0, 0]), np.array([1, 2]))
    assert space.contains(np.array([1, 0]))
    assert not space.contains(np.array([2, 0]))
    assert not space.contains(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="above the upper"):
        Space.make_discrete_space(np.array([3]), np.array([2]))


def test_observation_spaces_know_the_place_of_the_agent():
    space = ObservationSpace(Shape(4, 5), TYPES, [Color.RED])
    assert (space.area, space.agent_position) == (Area((-3, 0), (-2, 2)), Position(3, 2))
    assert (space.max_type_index, space.max_state_index, space.max_object_color) == (6, 3, 1)
    with pytest.raises(ValueError, match="odd width"):
        ObservationSpace((4, 4), TYPES, [])


def test_builders_of_spaces():
    builder = StateSpaceBuilder()
    builder.set_grid_shape((3, 3))
    builder.set_colors([Color.RED])
    with pytest.raises(RuntimeError, match="not set: object_types"):
        builder.build()
    builder.set_object_types([Wall])
    assert builder.build().object_types == (Wall,)


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_without_our_keys(tmp_path):
    path = tmp_path / "level.yaml"
    path.write_text(yaml.safe_dump(LEVEL))
    own, scenario = factory_env_from_yaml(path), Scenario.load(path).inner_env()
    for env in (own, scenario):
        env.set_seed(1)
        env.reset()
    assert own.state == scenario.state
    assert own.observation == scenario.observation
    for action in own.action_space.actions:
        assert own.step(action) == scenario.step(action)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"colours": []}, "the key 'colours': allowed: state_space"),
        ({"action_space": []}, r"'action_space' is \[\]: expected at least 1 items"),
        ({"action_space": ["ACTUATE"] * 2}, "expected different items"),
        ({"action_space": ["ACT"]}, "an item of 'action_space' is 'ACT': expected one of MOVE"),
        ({"reset_function": {"name": "keydoor"}}, "keydoor needs 'shape'"),
        ({"reset_function": {"name": "keydor"}}, "did you mean 'keydoor'"),
        ({"reset_function": {"shape": [5, 5]}}, "expected a key 'name'"),
        ({"reset_function": {"name": "keydoor", "shape": [5, 0]}}, "expected at least 1"),
        ({"terminating_function": "reach_exit"}, "expected an object"),
    ],
)
def test_faults_in_files(changes, says):
    with pytest.raises(ValueError, match=says):
        factory_env_from_data({**LEVEL, **changes})


def test_a_parameter_that_a_function_does_not_take():
    level = {**LEVEL, "terminating_function": {"name": "reach_exit", "color": "RED"}}
    with pytest.warns(UserWarning, match="reach_exit takes no parameter color; it takes none"):
        factory_env_from_data(level)


def test_schemas():
    assert schemas["shape"].is_valid([1, 2])
    assert not schemas["shape"].is_valid([1, 2, 3])
    with pytest.raises(SchemaError, match="expected 2 items"):
        schemas["layout"].validate([1])
    shown = schemas["env"].json_schema("level")
    assert json.loads(json.dumps(shown))["$id"] == "level"


# ---- Gym -----------------------------------------------------------------------------------------


@pytest.fixture
def env() -> GymEnvironment:
    env = GymEnvironment(outer_env_factory(STRING_TO_YAML_FILE["GV-Keydoor-5x5-v0"]))
    env.seed(3)
    return env


def test_the_old_interface(env):
    first = env.reset()
    assert env.observation_space.contains(first)
    observation, reward, done, info = env.step(0)
    assert (reward, done, info) == (-0.05, False, {})
    assert observation["grid"].tolist() == env.observation["grid"].tolist()
    env.seed(3)
    assert env.reset()["grid"].tolist() == first["grid"].tolist()
    assert env.seed()[0] >= 0


def test_states_in_place_of_observations(env):
    with pytest.raises(ValueError, match="represents no states"):
        GymStateWrapper(env)
    env.set_state_representation("compact")
    env.set_observation_representation("no-overlap")
    wrapped = GymStateWrapper(env)
    assert wrapped.observation_space.contains(wrapped.reset())
    state, *_, info = wrapped.step(wrapped.action_space.sample())
    assert state["agent"].shape == (6,)
    assert env.observation_space.contains(info["observation"])


# ---- pictures ------------------------------------------------------------------------------------


def test_pictures(env):
    env.reset()
    state, observation = env.render("rgb_array")
    assert (state.shape, observation.shape) == ((200, 200, 3), (280, 280, 3))
    assert len(np.unique(state.reshape(-1, 3), axis=0)) > 20
    assert env.render("rgb_array_state").tolist() == state.tolist()
    with pytest.raises(ValueError, match="did you mean 'human_state'"):
        env.render("human_stat")


def test_keys_of_a_window(env, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    import pygame

    from gv_engine.plugins.gridverse.rendering import GridVerseViewer

    pressed = []

    class Keyboard:
        def on_key_press(self, symbol, modifiers):
            pressed.append(symbol)

    env.reset()
    state = env.outer_env.inner_env.state
    viewer = GridVerseViewer(state.grid.shape, caption="State")
    viewer.window.push_handlers(Keyboard())
    for key in (pygame.K_UP, pygame.K_q):
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, mod=0))
    plain: Any = viewer.render(state, return_rgb_array=True)
    assert pressed == [0xFF52, ord("q")]
    viewer.flip_hud()
    bare: Any = viewer.render(state, return_rgb_array=True)
    assert (plain != bare).any()
    assert not (plain != bare)[-40:].any()
    viewer.flip_visibility()
    assert not viewer.window.visible
    viewer.close()


def test_shapes():
    from gv_engine.plugins.gridverse import rendering_gym as shapes

    viewer = shapes.Viewer(40, 20)
    viewer.set_bounds(0, 4, 0, 2)
    square = shapes.make_polygon([(0, 0), (0, 1), (1, 1), (1, 0)])
    square.set_color(1, 0, 0)
    square.add_attr(shapes.Transform(rotation=math.pi / 2))
    square.add_attr(shapes.Transform(translation=(2, 0)))
    viewer.add_geom(square)
    capsule = shapes.make_capsule(1, 0.2)
    capsule.set_color(0, 0, 1)
    capsule.add_attr(shapes.Transform(translation=(2.5, 1.5)))
    viewer.add_onetime(capsule)
    viewer.draw_line((0, 1.5), (1, 1.5), color=(0, 1, 0), linewidth=2)
    picture: Any = viewer.render(return_rgb_array=True)
    red, green, blue, white = ([255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255])
    # the square has turned to the left of x = 2, at the bottom
    assert picture[15, 15].tolist() == red
    assert picture[15, 25].tolist() == picture[5, 15].tolist() == white
    assert picture[5, 5].tolist() == green
    assert picture[5, 30].tolist() == blue
    again: Any = viewer.render(return_rgb_array=True)
    assert again[5, 30].tolist() == white
    assert again[15, 15].tolist() == red


def test_recordings(env, tmp_path):
    from gv_engine.plugins.gridverse.recording import Data, DataBuilder, generate_images, record

    inner = env.outer_env.inner_env
    builder: Any = DataBuilder(0.9)
    with pytest.raises(RuntimeError, match="append0"):
        builder.append(None, Action.ACTUATE, 0.0)
    env.reset()
    builder.append0(inner.state)
    for action in inner.action_space.actions[:2]:
        reward, _ = inner.step(action)
        builder.append(inner.state, action, reward)
    images = list(generate_images(builder.build()))
    assert [image.shape for image in images] == [(200, 200, 3)] * 3
    gif, mp4 = tmp_path / "new" / "a.gif", tmp_path / "a.mp4"
    record("gif", images, filename=str(gif), duration=1.5)
    record("mp4", images, filename=str(mp4), fps=4)
    record("images", images, filenames=(str(tmp_path / f"{i}.png") for i in range(9)))
    assert imageio.imread(gif).shape[1:] == (200, 200, 3)
    assert imageio.immeta(mp4)["fps"] == 4
    assert imageio.imread(tmp_path / "2.png").tolist() == images[2].tolist()
    with pytest.raises(ValueError, match="expected one more frame"):
        Data(images, [], [], 1.0)
    with pytest.raises(ValueError, match="did you mean 'gif'"):
        record("gi", images)
