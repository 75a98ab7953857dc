"""MiniGrid's levels through their Gymnasium ids: what they show, one and many, and their habits.

`tests/systems/test_minigrid.py` compares them with recordings of MiniGrid itself.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from components.objects import TELEPOD
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.envs.observations import make_encoder
from gv_engine.play.session.inspection import Inspection
from gv_engine.plugins.minigrid import env as minigrid
from gv_engine.plugins.minigrid.env import _view_area
from gv_engine.plugins.minigrid.ids import list_minigrid_grids
from gv_engine.plugins.minigrid.instructions import make_instructions
from gv_engine.plugins.minigrid.names import REPLACEMENTS
from gv_engine.plugins.minigrid.objects import GridObject
from gv_engine.plugins.minigrid.observations import paint_images
from gv_engine.rules.errors import MissingExtraError, ScenarioError
from gv_engine.scenario.library import gym_id
from gv_engine.world.rng import generator_from_row
from tests import DATA
from tests.boards import RULES, scenario
from tests.comparing import STEPS_ON, same
from tests.envs.test_forms import FULL

PUT_NEAR, BALLS = "GV-MiniGrid-PutNear-6x6-N2-v0", "GV-MiniGrid-Dynamic-Obstacles-5x5-v0"


def one(name: str, **options: Any) -> Any:
    return gymnasium.make(name, **{"world": "object", "disable_env_checker": True, **options})


def begun(name: str, seed: int = 0, **options: Any) -> Any:
    """One world at its beginning, without wrappers."""
    env = one(name, **options).unwrapped
    env.reset(seed=seed)
    return env


def many(name: str, number: int, **options: Any) -> Any:
    return gymnasium.make_vec(name, number, **{"world": "object", **options})


@pytest.mark.parametrize("kind", ["object", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_only_the_first_picture_shows_an_object_in_hand_on_the_floor(kind):
    env = one("GV-BabyAI-PutNextS5N2Carrying-v0", world=kind)
    for seed, cell in ((0, (5, 5)), (5, (0, 6)), (3, None)):  # cell of the view; None: unseen
        image, world = env.reset(seed=seed)[0]["image"], env.unwrapped
        held = world.carrying
        assert (held.color, held.type) not in world.grid
        seen = np.argwhere((image == held.encode()).all(axis=-1)).tolist()
        assert seen == ([[*cell]] if cell else [])
        assert image[3, 6].tolist() == [1, 0, 0]
        assert world.gen_obs()["image"][3, 6].tolist() == [*held.encode()]
        assert env.step(6)[0]["image"][3, 6].tolist() == [*held.encode()]


def test_all_ids_are_registered_as_minigrid_has_them():
    ids = [name for name in gymnasium.registry if name.startswith("GV-MiniGrid-")]
    names = list_minigrid_grids()
    assert ids == [f"GV-{name}" for name in names] == [gym_id(name) for name in names]
    assert len(ids) == 76


@pytest.mark.parametrize("name", [PUT_NEAR, BALLS, "GV-MiniGrid-Playground-v0"])
def test_gymnasiums_own_check(name):
    check_env(one(name).unwrapped, skip_render_check=True)


def test_spaces_are_minigrids():
    env = one(PUT_NEAR)
    spaces = env.observation_space
    assert spaces["image"] == Box(0, 255, (7, 7, 3), np.uint8)
    assert (spaces["direction"], env.action_space) == (Discrete(4), Discrete(7))
    assert isinstance(spaces["mission"], Text)
    assert one(BALLS).action_space == Discrete(3)
    envs = many(PUT_NEAR, 3)
    shown = envs.reset(seed=0)[0]
    assert shown in envs.observation_space
    assert shown["mission"].shape == (3, len(envs.scenario.missions.names))


def shared(world: str) -> tuple[Any, ...]:
    """What comes of a world whose generator others draw from."""
    env = begun(BALLS, world=world)
    own = generator_from_row(env.snapshot()["rng"])
    assert env.np_random.bit_generator.state == own.bit_generator.state
    other, drawn = env.fork(), []
    for _ in range(3):
        drawn.append(env.np_random.random())  # so that balls go elsewhere
        env.step(1), other.step(1)
    assert drawn[0] == own.random()
    grid, undisturbed = env.snapshot()["at"], other.snapshot()["at"]
    assert not same(grid, undisturbed)
    found = *drawn, grid, env.agent_pos, env.agent_dir, env.step_count
    env.np_random = np.random.default_rng(7)
    assert env.np_random_seed == -1, "as Gymnasium says of generators that are handed over"
    other = env.fork()
    assert env.np_random.random() == np.random.default_rng(7).random()
    assert other.np_random.random() == np.random.default_rng(7).random()
    env.reset(seed=0)
    assert env.np_random_seed == 0
    assert env.np_random.random() == drawn[0]
    env.restore(other.snapshot())
    assert env.np_random.random() == other.np_random.random()
    with pytest.raises(AttributeError):
        env.max_steps = 3
    return found


def test_wrappers_share_the_generator_and_read_the_world():
    """Some of MiniGrid's own and of Gymnasium's draw from it, others ask where the agent is."""
    assert shared("object")[-3:] == ((1, 1), 3, 3)


@pytest.mark.thorough
@pytest.mark.compiled
def test_wrappers_share_the_generator_of_compiled_worlds_too():
    assert same(shared("object"), shared("compiled"))


def test_a_generator_is_there_before_the_first_level():
    env, other = (one(BALLS).unwrapped for _ in range(2))
    env.np_random = np.random.default_rng(7)
    env.reset()
    other.np_random = np.random.default_rng(7)
    assert same(env.reset(seed=3), other.reset(seed=3))
    assert same(env.snapshot(), other.snapshot())


# ---- under MiniGrid's names ---------------------------------------------------------------------


MAZE, NEAR = "MiniGrid-ObstructedMaze-1Dlhb-v0", "MiniGrid-PutNear-6x6-N2-v0"


def code(thing: Any) -> tuple[int, ...]:
    return thing.encode()[:2] if thing else (0, 0)


def contents(thing: Any) -> Any:
    return thing and thing.contains


@pytest.mark.sample("object")
@pytest.mark.parametrize(("name", "world"), [(MAZE, "object"), (NEAR, "compiled")])
def test_grids_objects_and_views_are_as_recorded(name, world):
    with np.load(DATA / "minigrid" / f"{name}.npz") as arrays:
        recorded = dict(arrays.items())
    env = one(f"GV-{name}", world=world).unwrapped
    other = one(f"GV-{name}", world=world, observation_representation="default").unwrapped
    in_boxes = recorded.get("content", np.zeros_like(recorded["grid"][..., :2]))
    held = inside = 0
    for frame in range(min(200, recorded["start"][1])):
        action, seed = int(recorded["action"][frame]), int(recorded["seed"][0])
        for each in (env, other):
            if action < 0:
                each.reset(seed=None if frame else seed)
            else:
                each.step(action)
        grid, carried = env.grid, env.carrying
        assert same(grid.encode(), recorded["grid"][frame])
        things = np.array(grid.grid, object).reshape(env.height, env.width).T
        codes = [[each.encode() if each else (1, 0, 0) for each in column] for column in things]
        assert np.array_equal(codes, recorded["grid"][frame])
        codes = [[code(contents(each)) for each in column] for column in things]
        assert np.array_equal(codes, in_boxes[frame])
        carries = [*code(carried), *code(contents(carried))]
        assert carries == recorded["carried"][frame].tolist()
        ahead = [(1, 0), (0, 1), (-1, 0), (0, -1)][env.agent_dir]
        assert env.dir_vec.tolist() == [*ahead]
        assert env.front_pos.tolist() == [*np.add(env.agent_pos, ahead)]
        for each in (env, other):
            assert same(each.gen_obs()["image"], recorded["image"][frame])
        view, seen = env.gen_obs_grid()
        assert same(view.encode(seen), recorded["image"][frame])
        held += carried is not None
        inside += any(map(contents, grid.grid))
    assert held
    assert inside or "Maze" not in env.scenario.name


def test_states_have_minigrids_hash():
    env = begun("GV-MiniGrid-DoorKey-8x8-v0")
    assert env.hash() == "591b33dd2109b684"
    before = env.hash(64)
    env.step(1)
    assert env.hash(64) != before
    env.step(0)
    assert env.hash(64) == before


def test_objects_pass_for_those_of_minigrid(monkeypatch):
    """If it is installed, that is."""
    goal, wall = type("Goal", (), {}), type("Wall", (), {})
    classes = SimpleNamespace(Goal=goal, Wall=wall)
    monkeypatch.setitem(sys.modules, "minigrid.core.world_object", classes)
    env = begun("GV-MiniGrid-Empty-5x5-v0")
    assert isinstance(env.grid.get(3, 3), goal)
    assert isinstance(env.grid.get(0, 0), wall)
    assert not isinstance(env.grid.get(0, 0), goal)


@pytest.mark.parametrize("kind", ["object", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_a_level_can_be_edited(kind):
    env = begun("GV-MiniGrid-DoorKey-6x6-v0", world=kind)
    env.agent_pos, env.agent_dir, env.step_count = (1, 1), 0, 7
    assert (env.agent_pos, env.agent_dir, env.step_count) == ((1, 1), 0, 7)
    for x, y in np.argwhere(env.grid.codes[..., 0] > 1).tolist():
        if 0 < x < 5 and 0 < y < 5:
            env.grid.set(x, y, None)
    env.put_obj(GridObject("key", "red"), 2, 1)
    env.grid.set(3, 1, GridObject("door", "red", state=2))
    env.grid.set(4, 1, GridObject("goal", "green"))
    env.grid.horz_wall(1, 2, 4)
    assert env.goal_pos == (4, 1)
    assert not env.agent_sees(4, 1)
    results = [env.step(action) for action in (3, 2, 5, 2, 2)]
    assert [result[2] for result in results] == [False] * 4 + [True]
    assert results[-1][1] == pytest.approx(1 - 0.9 * 12 / env.max_steps)
    assert env.carrying.type == "key"
    env.carrying = None
    assert env.carrying is None
    env.carrying = GridObject("key", "blue")
    assert env.gen_obs()["image"][3, 6].tolist() == [5, 2, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the episode had ended
        assert env.step(0)[2:4] == (False, False)


def test_what_cannot_be_edited():
    env = begun("GV-MiniGrid-Empty-5x5-v0")
    with pytest.raises(ValueError, match="this level has no 'floor': allowed are ball, box, door,"):
        env.put_obj(GridObject("floor", "red"), 1, 1)
    with pytest.raises(ValueError, match="agent_dir=4: allowed are 0 to 3"):
        env.agent_dir = 4
    with pytest.raises(ValueError, match="the grid has 5 x 5 cells"):
        env.agent_pos = 5, 0
    with pytest.raises(IndexError, match="cell 5, 0: the grid has 5 x 5 cells"):
        env.grid.get(5, 0)
    with pytest.raises(AttributeError, match="the agent's view can only be read"):
        env.gen_obs_grid()[0].set(1, 1, None)
    with pytest.raises(ValueError, match=r"call reset\(\) before the level is changed"):
        one("GV-MiniGrid-Empty-5x5-v0").unwrapped.agent_dir = 0


def test_an_object_is_the_same_while_the_episode_lasts():
    env = begun("GV-MiniGrid-Fetch-5x5-N2-v0", seed=3)
    first = {id(thing): thing for thing in env.grid.grid if thing and thing.type != "wall"}
    for action in (0, 2, 3, 1, 2, 3, 2, 3):
        env.step(action)
        now = [thing for thing in (*env.grid.grid, env.carrying) if thing and thing.type != "wall"]
        assert {id(thing) for thing in now} <= first.keys()


@pytest.mark.parametrize(
    ("name", "shape"),
    [("MiniGrid-Empty-8x8-v0", (8, 8)), ("BabyAI-PutNextS6N3-v0", (11, 6))],
)
def test_attributes_before_the_first_reset(name, shape):
    env = one(f"GV-{name}").unwrapped
    assert (env.width, env.height) == shape == env.grid.encode().shape[:2]
    assert env.mission in env.observation_space["mission"]
    assert (env.agent_pos, env.agent_dir, env.carrying) == (None, None, None)
    assert set(env.grid.grid) == {None}
    for attribute in ("dir_vec", "right_vec", "front_pos"):
        with pytest.raises(ValueError, match=r"call reset\(\) first"):
            getattr(env, attribute)
    with pytest.raises(ValueError, match="The environment hasn't been `reset`"):
        env.pprint_grid()


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("BabyAI-GoToLocal-v0", {"max_steps": 0, "num_dists": 8}),
        ("MiniGrid-LavaCrossingS9N1-v0", {"num_crossings": 1, "goal_position": None}),
        ("MiniGrid-DistShift1-v0", {"strip2_row": 2, "goal_pos": (7, 1), "max_steps": 252}),
        ("MiniGrid-Fetch-5x5-N2-v0", {"numObjs": 2, "size": 5, "max_steps": 125}),
    ],
)
def test_values_before_the_first_reset_are_minigrids(name, attributes):
    env = one(f"GV-{name}").unwrapped
    assert {attribute: getattr(env, attribute) for attribute in attributes} == attributes
    assert env.mission
    assert env.mission in env.observation_space["mission"]


def test_the_level_as_text():
    env = begun("GV-MiniGrid-DoorKey-5x5-v0")
    assert env.pprint_grid().splitlines() == [
        "WGWGWGWGWG",
        "WG  LY  WG",
        "WGKYWG  WG",
        "WG<<WGGGWG",
        "WGWGWGWGWG",
    ]


def test_descriptions_are_sentences_about_the_view():
    env = begun("GV-BabyAI-UnlockLocal-v0", seed=10, descriptions=True)
    info = env.restore(env.snapshot())[1]
    assert info["descriptions"] == env.descriptions
    assert "You see a red key 2 steps forward" in info["descriptions"]
    assert "descriptions" not in begun("GV-BabyAI-UnlockLocal-v0").step(0)[-1]
    for action in (2, 3):
        info = env.step(action)[-1]
    assert info["descriptions"][0] == "You carry a red key"
    env.step(2)
    assert env.reset(seed=11)[-1]["descriptions"] == env.descriptions  # of the new level


def test_rooms_and_cells_of_the_view():
    env = begun("GV-BabyAI-GoTo-v0", seed=1)
    assert (env.room_size, env.num_rows, env.num_cols) == (8, 3, 3)
    room = env.room_from_pos(*env.agent_pos)
    assert room.pos_inside(*env.agent_pos)
    for door in filter(None, room.doors):
        assert room.pos_inside(*door.cur_pos)
        assert env.grid.get(*door.cur_pos) is door
    for action in (0, 2, 1, 2):
        assert env.get_view_coords(*env.agent_pos) == (3, 6)
        assert env.relative_coords(*env.front_pos) == (3, 5)
        assert env.relative_coords(*(env.agent_pos - env.dir_vec)) is None
        left, top, right, bottom = env.get_view_exts()
        inside = [env.in_view(x, y) for x in range(left, right) for y in range(top, bottom)]
        assert inside == [True] * 49
        env.step(action)


@pytest.mark.parametrize(
    ("mission", "kind"),
    [
        ("go to the red ball on your left", "GoToInstr"),
        ("pick up a box and open the red door", "AndInstr"),
        ("put the red ball next to a key, then open a door", "BeforeInstr"),
        ("go to a door after you pick up a key and go to a box", "AfterInstr"),
    ],
)
def test_instructions_are_minigrids_own(mission, kind):
    pytest.importorskip("minigrid")
    made = make_instructions(mission, False)
    assert type(made).__name__ == kind


NAMES = """
_gen_grid _rand_bool _rand_color _rand_elem _rand_float _rand_int _rand_pos _rand_subset _reward
actions agent_dir agent_pos agent_pov agent_sees agent_view_size carrying clock dir_vec front_pos
get_full_render get_pov_render get_view_coords get_view_exts grid height highlight in_view max_steps
mission place_agent place_obj pprint_grid put_obj relative_coords render_size reward_range right_vec
screen_size see_through_walls step_count steps_remaining tile_size width window
goal_position room_from_pos room_size num_rows strip2_row n_obstacles targetColor obj door
add_distractors gen_mission level_name numObjs success_pos minNumRooms doors_open
"""
"""Attributes of MiniGrid's environments that are none of Gymnasium's and that scripts may set."""


@pytest.mark.parametrize("name", NAMES.split())
def test_attributes_are_there_or_name_their_replacement(name):
    env = begun("GV-MiniGrid-Empty-5x5-v0")
    try:
        getattr(env, name)
    except AttributeError as error:
        assert str(error).startswith(f"MiniGrid's {name} does not exist here: ")  # noqa: PT017  # or none
    if name in REPLACEMENTS:
        with pytest.raises(AttributeError, match=f"^MiniGrid's {name} cannot be set: "):
            setattr(env, name, None)


@pytest.mark.parametrize("size", [3, 5, 9])
def test_views_have_the_size_that_is_asked_for(size):
    usual = one(PUT_NEAR).unwrapped
    env, envs = one(PUT_NEAR, agent_view_size=size), many(PUT_NEAR, 2, agent_view_size=size)
    shown, shown_by_many = env.reset(seed=1)[0], envs.reset(seed=1)[0]
    usual.reset(seed=1)
    for action in (0, 2, 1, 3, 2, 2):
        assert shown["image"].shape == env.observation_space["image"].shape == (size, size, 3)
        assert shown["image"].any()
        assert same(shown["image"], shown_by_many["image"][0])
        view, seen = usual.gen_obs_grid(size)
        assert same(view.encode(seen), shown["image"])
        shown, shown_by_many = env.step(action)[0], envs.step([action] * 2)[0]
        usual.step(action)
    assert env.unwrapped.agent_view_size == size


def test_views_of_other_sizes_are_refused():
    assert _view_area(255).shape == (255, 255)
    for size in (1, 4, "5", 257):
        with pytest.raises(ValueError, match=r"agent_view_size=.*: allowed are odd numbers from 3"):
            one(PUT_NEAR, agent_view_size=size)


def test_pictures_of_minigrid_want_it_installed():
    """Whoever names the size of a cell wants MiniGrid's own picture; else it is ours."""
    env = begun("GV-MiniGrid-Empty-5x5-v0", render_mode="rgb_array", tile_size=16, highlight=False)
    assert (env.tile_size, env.highlight) == (16, False)
    for draw in (env.render, env.get_frame):
        with pytest.raises(MissingExtraError, match=r"pip install minigrid; .*'pixels' and"):
            draw()


@STEPS_ON
def test_an_agent_that_stays_in_lava_dies_once():
    env = begun("GV-MiniGrid-LavaGapS5-v0")
    ends: list[bool] = []
    grid = env.grid
    for _ in range(200):
        ahead = grid.get(*env.front_pos)
        lava = ahead is not None and ahead.type == "lava"
        ends.append(env.step(2 if lava or (ahead is None and not any(ends)) else 1)[2])
        if any(ends):
            break
    assert ends[-1]
    for action in (0, 1, 6):
        assert not env.step(action)[2]


def test_options_of_others_are_ignored():
    env, envs = one(PUT_NEAR), many(PUT_NEAR, 2)
    options = {"of": "another library"}
    assert same(env.reset(seed=0, options=options)[0], env.reset(seed=0)[0])
    assert same(envs.reset(seed=0, options=options)[0], envs.reset(seed=0)[0])
    mask = np.array([True, False])
    with pytest.raises(ValueError, match="reset_mask has shape"):
        envs.reset(options={"reset_mask": mask[:1], **options})


@pytest.mark.parametrize("action", [np.array([1]), np.array([[1]]), np.array(1)])
def test_actions_may_be_arrays_of_one(action):
    for name in (PUT_NEAR, BALLS):
        assert same(*(begun(name).step(each) for each in (action, 1)))
    for wrong in ([1.0], [1, 1]):
        with pytest.raises(ValueError, match="allowed are 0 to"):
            begun(BALLS).step(np.array(wrong))


# ---- habits ------------------------------------------------------------------------------------


EMPTY = "MiniGrid-Empty-5x5-v0"
OWN = {"name": "own", "extends": EMPTY}
LOADED = Scenario.load(OWN, size=4)
WAYS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "id": (partial(one, f"GV-{EMPTY}"), partial(many, f"GV-{EMPTY}", 2), {"size": 4}),
    "class": (partial(GridEnv, EMPTY), partial(GridVectorEnv, EMPTY, 2), {"size": 4}),
    "any": (
        partial(one, "GV-Scenario-v0"),
        partial(many, "GV-Scenario-v0", 2),
        {"scenario": EMPTY, "size": 4},
    ),
    "extends": (partial(GridEnv, OWN), partial(GridVectorEnv, OWN, 2), {"size": 4}),
    "loaded": (GridEnv, partial(GridVectorEnv, num_envs=2), {"scenario": LOADED}),
}
"""Makers of the smallest room, one world and two, and what they take."""


@pytest.mark.sample("id-AutoresetMode.NEXT_STEP-object", "SAME_STEP-object", "id-AutoresetMode.DIS")
@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize(("make", "make_vector", "source"), WAYS.values(), ids=WAYS)
def test_an_end_in_the_last_step_is_both(make, make_vector, source, mode, world):
    way = (2, 1, 2)  # to the goal of the smallest room
    for steps, truncated in ((3, True), (4, False)):
        env = make(max_steps=steps, world=world, **source)
        envs = make_vector(max_steps=steps, world=world, autoreset_mode=mode, **source)
        env.reset(seed=0), envs.reset(seed=0)
        for action in way:
            _, reward, *ends, _ = env.step(action)
            _, rewards, *all_ends, _ = envs.step([action] * 2)
        assert ends == [True, truncated]
        assert np.array(all_ends).T.tolist() == [ends, ends]
        # the limit that was asked for counts in the reward, too
        assert reward == rewards[0] == 1 - 0.9 * (3 / steps)


@pytest.mark.parametrize("action", [3, 6, 7])
def test_actions_that_a_level_lacks_are_its_first(action):
    shown = []
    for given in (0, action):
        envs = many(BALLS, 2)
        envs.reset(seed=0)
        shown.append((begun(BALLS).step(given), envs.step([given, 1])))
    assert same(*shown)


@pytest.mark.parametrize(("name", "action"), [(PUT_NEAR, 7), (PUT_NEAR, -1), (BALLS, -1)])
def test_all_others_are_refused(name, action):
    envs = many(name, 2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=f"action {action}: allowed are 0 to"):
        begun(name).step(action)
    with pytest.raises(ValueError, match=f"action {action} of world 1: allowed are 0 to"):
        envs.step([0, action])


def test_levels_are_made_with_other_parameters():
    env = begun("GV-MiniGrid-DoorKey-8x8-v0", size=6)
    assert env.scenario.max_steps == 360
    with pytest.raises(ScenarioError, match="no option 'sise'"):
        one("GV-MiniGrid-DoorKey-8x8-v0", sise=6)
    with pytest.raises(ScenarioError, match="max_steps=0: allowed are whole numbers from 1"):
        GridEnv(LOADED, max_steps=0, world="object")


def test_other_representations_are_there_too():
    env = one(PUT_NEAR, observation_representation="default")
    assert set(env.reset(seed=0)[0]) == {"grid", "agent_id_grid", "item", "mission"}


def drawn_by_minigrid(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What MiniGrid, which need not be there, is asked to draw."""
    asked: list[tuple[Any, ...]] = []

    def draw(*given: Any) -> Any:
        asked.append(given)
        return np.zeros((given[1], given[1], 3), np.uint8)

    monkeypatch.setattr(minigrid, "MINIGRID_PACKAGE", SimpleNamespace(missing_message=""))
    monkeypatch.setattr(minigrid, "draw_grid", draw)
    return asked


@pytest.mark.parametrize("size", [3, 7])
def test_minigrid_draws_the_level_with_what_the_agent_sees(size, monkeypatch):
    asked = drawn_by_minigrid(monkeypatch)
    env = begun(PUT_NEAR, seed=3, agent_view_size=size)
    inspection, ways = Inspection(env.scenario), set()
    for action in (1, 2, 1, 2, 2, 1, 2, 2, 2, 1, 2):
        env.step(action)
        ways.add(env.agent_dir)
        env.get_frame(tile_size=9)
        grid, cell, place, way, lit = asked[-1]
        assert same(grid.encode(), env.grid.encode())
        assert (cell, place, way) == (9, env.agent_pos, env.agent_dir)
        inspection.load(env.snapshot())
        sight = inspection.visible_cells(env.scenario.visibility.name)
        assert np.array_equal(lit, sight.on_grid.T)
        env.get_frame(highlight=False)
        assert asked[-1][1] == 32
        assert not asked[-1][-1].any()
        env.get_frame(tile_size=5, agent_pov=True)
        grid, cell, place, way, seen = asked[-1]
        view, visible = env.gen_obs_grid()
        assert same(grid.encode(), view.encode())
        assert (cell, place, way) == (5, (size // 2, size - 1), 3)
        assert same(seen, visible)
    assert ways == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("options", "cell", "highlighted"),
    [({"tile_size": 6}, 6, True)] + [({"highlight": lit}, 32, lit) for lit in (False, True)],
)
def test_render_draws_like_minigrid_where_it_is_asked_to(options, cell, highlighted, monkeypatch):
    asked = drawn_by_minigrid(monkeypatch)
    env = begun(PUT_NEAR, render_mode="rgb_array", **options)
    assert env.render().shape == (cell, cell, 3)
    assert asked[-1][-1].any() == highlighted
    assert (env.tile_size, env.highlight) == (cell, highlighted)


def test_boxes_of_a_grid_tell_what_is_in_them():
    env = begun("GV-MiniGrid-ObstructedMaze-1Dlh-v0")
    things = [each for each in env.grid.grid if each]
    (door,) = (each for each in things if each.type == "door")
    (box,) = (each for each in things if each.type == "box")
    assert (box.contains.type, box.contains.color) == ("key", door.color)
    assert all(each.contains is None for each in things if each is not box)
    assert env.carrying is None
    key = GridObject("key", "red")
    assert (key.state, key.contains, key.cur_pos) == (0, None, (-1, -1))
    assert key.encode() == (5, 0, 0)


# ---- the representation --------------------------------------------------------------------------


def test_columns_from_the_left_and_in_each_the_farthest_first():
    """What MiniGrid lacks has numbers of its own."""
    sees = {"name": "fully_transparent", "area": [[-2, 0], [-1, 0]]}
    made = scenario("DT\n.^", **{**RULES, "observation_function": sees})
    env = GridEnv(made, world="object", observation_representation="minigrid")
    free, beyond, telepod = [1, 0, 0], [2, 5, 0], [11 + TELEPOD, 0, 0]
    locked_yellow_door = [4, 4, 2]
    shown = env.reset(seed=0)[0]
    assert shown["image"].tolist() == [[beyond, locked_yellow_door, free], [beyond, telepod, free]]
    assert (shown["direction"], shown["mission"]) == (3, "")


@pytest.mark.parametrize("area", [[[-2, 0], [-1, 0]], [[-2, -1], [0, 2]]])
def test_the_code_that_is_compiled_paints_the_same(area):
    """The agent in the view, with what it holds, and beyond it."""
    sees = {"name": "raytracing", "area": area}
    made = scenario("DT\n.^", **{**RULES, "observation_function": sees})
    form: Any = make_encoder(made, "minigrid")
    pilot, shape = np.random.default_rng(0), (5, *made.area.shape, 3)
    grid = pilot.integers(256, size=shape, dtype=np.uint8)
    grid[..., 0] = pilot.integers(2, 11, size=shape[:-1])
    grid[..., 2] = pilot.integers(5, size=shape[:-1])
    item = grid[:, 0, 0].copy()
    out = form.make_arrays(5)
    form.write(out, grid, item, np.arange(5) % 4, out["mission"])
    painted = np.zeros((5, grid[0, ..., 0].size, 3), np.uint8)
    (types, colors), own = form._codes, form._agent_cell_index
    paint_images(grid.reshape(5, -1, 3), item, types, colors, form._cells, own, painted)
    assert painted.reshape(out["image"].shape).tolist() == out["image"].tolist()


DIST_SHIFT = """
222222222
2A1999182
211999112
211111112
211111112
211111112
222222222
"""


def test_the_whole_grid_and_the_agent_in_it():
    env = one("GV-MiniGrid-DistShift1-v0", observation_representation=FULL)
    shown = env.reset(seed=0)[0]
    assert shown in env.observation_space
    kinds = [[int(char, 16) for char in row] for row in DIST_SHIFT.split()]
    assert shown["image"][..., 0].T.tolist() == kinds
    for action, x, direction in ((1, 1, 1), (0, 1, 0), (2, 2, 0)):
        image = env.step(action)[0]["image"]
        assert np.argwhere(image[..., 0] == 10).tolist() == [[x, 1]]
        assert image[x, 1].tolist() == [10, 0, direction]
