"""What environments show: numbers, planes, pictures and text, all of the same cells."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from components.core import FLOOR, HIDDEN, NONE_GRID_OBJECT
from components.objects import DOOR, EXIT, KEY, WALL, built_in_types
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.envs.backends.backend import make_batch
from gv_engine.envs.observations import REPRESENTATION_NAMES, make_encoder, mark_channels
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.play.grid.board import make_renderer
from gv_engine.play.session.autoplay import play_steps
from gv_engine.play.session.session import Session
from gv_engine.play.ui.drawing.tiles import render_cells
from gv_engine.rules.objects import COLORS
from tests.boards import RULES, scenario
from tests.comparing import STEPS_ON, same
from tests.systems.test_ground import RULES as GROUND_RULES

LEVEL = "keydoor-5x5"
KINDS = pytest.mark.parametrize("kind", ["object", "compiled"])
OPTIONS = [
    {"name": "flat", "onehot": True},
    {"name": "onehot", "dtype": "float32"},
    {"name": "pixels", "cell": 9},
    {"name": "pixels", "cell": 16, "channels_first": True},
]
ASKED = [*REPRESENTATION_NAMES, *OPTIONS]
FULL: dict[str, Any] = {"name": "minigrid", "fully_observable": True}
COMPILED = ["default", "compact", "cells", "layers", "onehot", OPTIONS[-1], "minigrid", FULL]
"""What arrays of its own or compiled code make."""
KINDS_OF_FORM = pytest.mark.sample("default-", "flat-", "layers-", "pixels-", "text-", "minigrid-")
"""One of each that makes an observation in a way of its own."""
ASKS = "MiniGrid-PutNear-6x6-N2-v0"
"""A level in which something is asked for."""
BOARD = """
    #E##
    .K.D
    ..^.
"""


def seen(area, kind="object", board=BOARD, **options):
    """An environment of a board that shows everything in an area."""
    given = {"observation_function": {"name": "fully_transparent", "area": area}}
    return GridEnv(scenario(board, **{**RULES, **given}), world=kind, **options)


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_gymnasiums_own_check(asked):
    env = GridEnv(LEVEL, world="object", observation_representation=asked)
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", ["default", "flat", "pixels", "text"])
def test_environments_are_made_by_name(name):
    made = gymnasium.make("GV-Keydoor-5x5-v0", world="object", observation_representation=name)
    assert made.reset(seed=0)[0] in made.observation_space
    options: Any = {"world": "object", "observation_representation": {"name": name}}
    envs = gymnasium.make_vec("GV-Scenario-v0", num_envs=2, scenario=LEVEL, **options)
    assert envs.reset(seed=0)[0] in envs.observation_space
    assert envs.single_observation_space == made.observation_space


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("pixel", "no representation 'pixel'; did you mean 'pixels'"),
        ("no_overlap", "'no_overlap'; did you mean 'no-overlap'"),
        ({"cell": 8}, r"no representation None \(allowed: "),
        (3, r"no representation 3 \(allowed: "),
        ({"name": "pixels", "size": 8}, "'pixels' has no option 'size' .*cell, channels_first"),
        ({"name": "cells", "dtype": "uint8"}, "'cells' has no option 'dtype'; it has none"),
        ({"name": "pixels", "cell": 7}, "cell=7: allowed are whole numbers from 8 on"),
        ({"name": "onehot", "dtype": "float64"}, "allowed are 'uint8' and 'float32'"),
    ],
)
def test_what_cannot_be_asked_for(asked, message):
    with pytest.raises(ValueError, match=message):
        GridVectorEnv(LEVEL, world="object", observation_representation=asked)


def part_of(envs: Any, shown: Any, *, of_space: bool = True) -> Any:
    """What a vector shows of its first world, as its space has it, or as one world shows it."""
    if not isinstance(shown, dict):
        return shown[0]
    part = {key: value[0] for key, value in shown.items()}
    if of_space or "image" not in part:
        return part
    # one world shows a text where many show numbers
    return part | {"direction": int(part["direction"]), "mission": envs.missions()[0]}


@pytest.mark.sample("SAME_STEP", "default")
@STEPS_ON
@pytest.mark.sample("keydoor")
@pytest.mark.compiled
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize(
    ("level", "asked"),
    [*((LEVEL, asked) for asked in COMPILED), (ASKS, "minigrid"), (ASKS, FULL)],
    ids=str,
)
def test_both_worlds_one_and_many_show_the_same(level, asked, mode):
    options = {"max_steps": 7, "observation_representation": asked}
    objects, compiled, own = (
        GridVectorEnv(level, 3, world=kind, copy=copied, autoreset_mode=mode, **options)
        for kind, copied in (("object", False), ("compiled", False), ("compiled", True))
    )
    alone, other = (GridEnv(level, world=kind, **options) for kind in ("object", "compiled"))
    found: Any = objects.reset(seed=1)
    first: Any = other.reset(seed=1)
    assert same(found, compiled.reset(seed=1))
    assert same(found, own.reset(seed=1))
    assert same(alone.reset(seed=1), first)
    pilot = np.random.default_rng(0)
    ends = 0
    for step in range(16):
        assert part_of(objects, found[0]) in objects.single_observation_space
        if step < 7:
            assert same(part_of(objects, found[0], of_space=False), first[0])
        actions = pilot.integers(objects.num_actions, size=3)
        found = objects.step(actions)
        assert same(found, compiled.step(actions))
        assert same(found, own.step(actions))
        assert same(alone.step(actions[0]), first := other.step(actions[0]))
        for last in found[4].get("final_obs", ()):
            if last is not None:
                ends += 1
                assert last in objects.single_observation_space
    assert (ends > 4) == (mode is AutoresetMode.SAME_STEP)


@KINDS_OF_FORM
@pytest.mark.sample("False", "default")
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_last_observation_is_that_of_the_end(asked, copied):
    """Not that of the level which a reset has put in its place; twice, as places are kept."""
    options = {"max_steps": 5, "observation_representation": asked, "world": "object"}
    at_once = GridVectorEnv(ASKS, 3, autoreset_mode="SameStep", copy=copied, **options)
    later = GridVectorEnv(ASKS, 3, autoreset_mode="Disabled", **options)
    at_once.reset(seed=3), later.reset(seed=3)
    pilot = np.random.default_rng(0)
    for _ in range(2):
        for _ in range(5):
            actions = pilot.integers(2, size=3)
            *_, info = at_once.step(actions)
            expected: Any = later.step(actions)[0]
        for i, last in enumerate(info["final_obs"]):
            parted = isinstance(expected, dict)
            own = {key: part[i] for key, part in expected.items()} if parted else expected[i]
            assert same(last, own)
        later.reset(options={"reset_mask": np.ones(3, bool)})


@KINDS_OF_FORM
@pytest.mark.sample("object", "default")
@pytest.mark.parametrize(("level", "kind"), [(ASKS, "object"), (LEVEL, "compiled")])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_copies_go_on_alike(asked, level, kind):
    """Also beyond the ends of episodes."""
    options = {"observation_representation": asked, "max_steps": 3}
    envs = GridVectorEnv(level, 3, world=kind, **options)
    envs.reset(seed=0)
    envs.step([5, 2, 3])
    twins = envs.fork(), copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))
    for action in range(5):
        actions = np.array([action, action + 3, action + 5]) % envs.num_actions
        found = envs.step(actions)
        assert all(same(found, twin.step(actions)) for twin in twins)


@pytest.mark.sample("mixing", "default")
@pytest.mark.parametrize("name", ["medley-7x7", "memory-5x5", "mixing", "sokoban"])
@pytest.mark.parametrize("asked", [*ASKED, FULL], ids=str)
def test_every_kind_of_level(name, asked):
    envs = GridVectorEnv(name, 4, world="object", observation_representation=asked)
    shown: Any = envs.reset(seed=0)[0]
    assert shown in envs.observation_space
    if envs.scenario.missions and isinstance(shown, dict) and "mission" in shown:
        assert shown["mission"].any()


# ---- planes ------------------------------------------------------------------------------------


@KINDS
def test_planes_are_those_of_the_numbers_of_compact(kind):
    compact, planes = (
        GridVectorEnv(LEVEL, 3, world=kind, observation_representation=asked)
        for asked in ("compact", "onehot")
    )
    expected, found = compact.reset(seed=3)[0], planes.reset(seed=3)[0]
    channels = np.arange(found["grid"].shape[1])
    for action in (4, 0, 7, 5, 7, 0):
        for part in ("grid", "item"):
            marks = (expected[part][..., None, :] == channels[:, None]).any(-1)
            np.testing.assert_array_equal(found[part], np.moveaxis(marks, -1, 1))
        expected, found = compact.step([action] * 3)[0], planes.step([action] * 3)[0]


# ---- pictures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [8, 13])
def test_pictures_are_those_of_the_game(cell):
    played = Scenario.load(LEVEL)
    draw = make_renderer(played, "observation", cell)
    form = make_encoder(played, {"name": "pixels", "cell": cell})
    held = 0
    game = Session(played, 2)
    play_steps(game, "valid", 60)
    for frame in game.frames():
        picture = form.encode(frame.observation, np.array(frame.item, np.uint8))
        drawn = draw(frame)
        if frame.item[0] != NONE_GRID_OBJECT:
            held += 1
            y, x = (slice((n + 1) * cell - cell // 2, (n + 1) * cell) for n in played.area.observer)
            thing = render_cells(played, np.array([frame.item], np.uint8), cell)[1][0]
            drawn[y, x] = thing
        np.testing.assert_array_equal(picture, drawn)
    assert held > 5


@pytest.mark.parametrize("cell", [8, 9])
def test_whatever_differs_looks_different(cell):
    """Also what the agent stands on, and holds."""
    looks = [
        (kind.index, state, color)
        for kind in built_in_types()
        for state in range(kind.num_states)
        for color in range(len(COLORS) if kind.colored else 1)
        if kind.index
    ]
    pictures, things = render_cells(Scenario.load(LEVEL), np.array(looks, np.uint8), cell)
    bare, taken = np.split(pictures, 2)
    holding = np.repeat(taken, len(things), axis=0)
    half = cell // 2
    holding[:, -half:, -half:] = np.tile(things, (len(taken), 1, 1, 1))
    every = np.concatenate([bare, taken, holding])
    assert len({picture.tobytes() for picture in every}) == len(every)


@pytest.mark.sample("object")
@KINDS
@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("area", [[[-1, 1], [-2, 1]], [[-4, -1], [-1, 1]], [[0, 0], [0, 0]]])
def test_views_of_any_size(area, channels_first, kind):
    """The agent in their midst, or beyond them."""
    asked = {"name": "pixels", "channels_first": channels_first}
    env = seen(area, kind, observation_representation=asked)
    picture = env.reset(seed=0)[0]
    assert picture in env.observation_space
    if channels_first:
        picture = np.moveaxis(picture, 0, -1)
    default = seen(area, kind).reset(seed=0)[0]["grid"]
    looks = default.reshape(-1, 3)
    bare, taken = np.split(render_cells(env.scenario, looks, 8)[0], 2)
    own = env.scenario.area.observer
    for k, (y, x) in enumerate(np.ndindex(default.shape[:2])):
        cell = picture[8 * y : 8 * y + 8, 8 * x : 8 * x + 8]
        np.testing.assert_array_equal(cell, (taken if (y, x) == own else bare)[k])


# ---- text --------------------------------------------------------------------------------------


def test_a_view_as_text():
    env = seen([[-2, 1], [-2, 1]], observation_representation="text")
    assert env.reset(seed=0)[0].split("\n") == [
        "#E##",
        ".K.D",
        "..^.",
        "????",
        "holding nothing",
        "exit: 2 ahead, 1 left",
        "yellow key: 1 ahead, 1 left",
        "locked yellow door: 1 ahead, 1 right",
    ]


def test_what_is_held_where_the_agent_stands_and_what_is_behind_it():
    grid = np.full((3, 3, 3), (HIDDEN, 0, 0), np.uint8)
    grid[1] = FLOOR, 0, 0
    grid[1, 1], grid[2, 0], grid[0, 2] = (EXIT, 0, 0), (DOOR, 0, 2), (WALL, 0, 0)
    told = make_encoder(seen([[-1, 1], [-1, 1]]).scenario, "text")
    assert told.encode(grid, np.array([KEY, 0, 4], np.uint8)).split("\n")[3:] == [
        "holding yellow key",
        "exit: here",
        "open green door: 1 behind, 1 left",
    ]


@pytest.mark.parametrize(("style", "lines"), [("map", 7 + 1 + 49), ("sentences", 1 + 48)])
def test_the_space_of_texts_has_room_for_the_longest(style: str, lines: int):
    form = make_encoder(Scenario.load(LEVEL), {"name": "text", "style": style})
    grid = np.full((7, 7, 3), (DOOR, 1, 4), np.uint8)
    longest = form.encode(grid, np.array([DOOR, 1, 4], np.uint8))
    assert longest in form.space
    assert len(longest.split("\n")) == lines


def test_styles_of_texts():
    form = {"name": "text", "style": "sentences"}
    env = seen([[-2, 1], [-2, 1]], observation_representation=form)
    assert env.reset(seed=0)[0].split("\n") == [
        "You see a wall 2 steps forward",
        "You see a exit 1 step left and 2 steps forward",
        "You see a yellow key 1 step left and 1 step forward",
        "You see a locked yellow door 1 step right and 1 step forward",
    ]
    with pytest.raises(ValueError, match=r"style='words' .*allowed: map, sentences"):
        seen([[-2, 1], [-2, 1]], observation_representation={"name": "text", "style": "words"})


# ---- rollouts ----------------------------------------------------------------------------------


def to_roll_out(form: str) -> tuple[GridVectorEnv, Any]:
    envs = GridVectorEnv(
        LEVEL,
        2,
        world="object",
        autoreset_mode="Disabled",
        observation_representation=form,
        max_steps=30,
    )
    return envs, load_policy("random", 2, envs.num_actions)


@pytest.mark.parametrize("name", ["cells", "layers", "minigrid", "onehot"])
def test_rollouts_keep_numbers_of_all_kinds(name):
    envs, policy = to_roll_out(name)
    for episode in rollout(envs, policy, 2, 0, keep_steps=True):
        assert episode.steps is not None
        shown: Any = envs.single_observation_space
        part = envs.recorded[0]
        assert episode.steps[part].shape[1:] == shown[part].shape


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_planes_hold_zeros_and_ones_as_their_space_says(dtype):
    asked = {"name": "onehot", "dtype": dtype}
    envs = GridVectorEnv(LEVEL, 2, world="object", observation_representation=asked)
    shown, _ = envs.reset(seed=0)
    spaces: Any = envs.single_observation_space
    for name in ("grid", "item"):
        low, high = spaces[name].low, spaces[name].high
        assert (low.min(), low.max(), high.min(), high.max()) == (0, 0, 1, 1)
        assert set(np.unique(shown[name])) == {0, 1}
    numbers = np.random.default_rng(0).integers(0, 7, (4, 5, 3))
    planes = np.full((4, 7, 5), 9)
    mark_channels(numbers, planes)
    expected = [[[k in cell for cell in cells] for k in range(7)] for cells in numbers.tolist()]
    assert planes.tolist() == np.array(expected, int).tolist()


# ---- layers: what is on the ground of cells -----------------------------------------------------

LAYERS: dict[str, Any] = {"observation_representation": "layers"}
UNSEEN = HIDDEN, 0, 0

ON_GROUND = """
    .t#i
    XPK.
    .>.q
"""


def test_what_lies_beneath_is_seen_where_the_cell_is():
    played = scenario(ON_GROUND, **GROUND_RULES)
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
    "max_steps": 3,
}
WITH_GROUND: dict[str, Any] = {
    **{key: GROUND_RULES[key] for key in ("objects", "legend", "transition_functions")},
    **SHARED,
    "map": "iXp\nI>q",
    "mission": {"text": "win"},
}
BARE = {**SHARED, "transition_functions": ["move_agent", "turn_agent"], "map": "K#\n.^"}
MIXED = {"mixture": [{"scenario": each} for each in (WITH_GROUND, BARE)], "max_steps": 3}


def test_members_without_ground_show_floor_there():
    shown, info = GridVectorEnv(MIXED, 8, world="object", **LAYERS).reset(seed=0)
    grounds = [{*grid[..., 3].ravel().tolist()} for grid in shown["grid"]]
    drawn = {(member, kinds <= {FLOOR, HIDDEN}) for member, kinds in zip(info["member"], grounds)}
    assert drawn == {(0, False), (1, True)}


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("level", [WITH_GROUND, MIXED], ids=["ground", "mixture"])
def test_both_worlds_show_both_layers(level, mode):
    objects, compiled = (
        GridVectorEnv(level, 8, world=kind, autoreset_mode=mode, **LAYERS)
        for kind in ("object", "compiled")
    )
    assert same(objects.reset(seed=0), compiled.reset(seed=0))
    for actions in np.random.default_rng(0).integers(objects.num_actions, size=(12, 8)):
        assert same(objects.step(actions), compiled.step(actions))


def test_who_does_not_ask_for_it_has_no_room_for_it():
    plain = make_batch(scenario(ON_GROUND, **GROUND_RULES), 2, "object").outputs
    assert plain.ground.nbytes == plain.final_ground.nbytes == 0
    assert len(plain.observed) == len(plain.final_observed) == 2
    assert {"ground", "final_ground"} <= plain.unused_names
