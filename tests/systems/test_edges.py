"""What happens where rules come to their limits: defined behaviour or a clear error."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from components.objects import BOX, EXIT, KEY, WALL
from gv_engine import (
    AGENT,
    DoesNotCompileError,
    GridEnv,
    RuleError,
    Scenario,
    ScenarioError,
    Simulation,
)
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_FORWARD,
    MOVE_RIGHT,
    ORIENTATIONS,
    PICK_N_DROP,
    TURN_LEFT,
)
from tests.boards import MEASURES, Session, cells_of, distances, scenario
from tests.scenario.reading import RULES as WALK
from tests.scenario.reading import begin
from tests.systems import test_things as things

pytestmark = pytest.mark.compiled_elsewhere

ALL = {**things.RULES, "legend": {}}


def state(game):
    """All of a state that rules could have changed."""
    columns = ("at", "alive", "position", "agent", "door", "box", "rng")
    return [game.row[column].tobytes() for column in columns]


# ---- the edge of the grid ----------------------------------------------------------------------


@pytest.mark.parametrize("facing", ORIENTATIONS)
def test_a_single_cell_is_a_world(play, facing):
    game = play("a", **{**ALL, "legend": {"a": {"agent": facing}}})
    before = state(game)
    for action in (*range(MOVE_RIGHT + 1), ACTUATE, PICK_N_DROP):
        assert state(game.act(action)) == before
    assert game.mask == {"TURN_LEFT", "TURN_RIGHT"}


# ---- telepods, boxes, obstacles ----------------------------------------------------------------

PODS = {"R": {"object": "Telepod", "color": "RED"}, "B": {"object": "Telepod", "color": "BLUE"}}


def test_a_lone_telepod_leads_nowhere_and_draws_nothing(play):
    game = play(">RB", **{**ALL, "legend": PODS})
    drawn = game.row["rng"].tobytes()
    game.act(MOVE_FORWARD, TURN_LEFT)
    assert game.row["position"]["x"][AGENT] == 1
    assert game.row["rng"].tobytes() == drawn


def test_a_box_in_a_box(play):
    game = play(">B", **ALL)
    # what no map can draw
    world = Simulation(game.scenario).world
    world.restore(game.row)
    inner, key = world.spawn(BOX), world.spawn(KEY)
    world.box.content[world.at[0, 1]], world.box.content[inner] = inner, key
    game.batch.restore(1, world.snapshot())
    for thing, picture in [(inner, ">B"), (key, ">K"), (key, ">K")]:
        assert game.act(ACTUATE).board == picture
        assert game.row["at"][0, 1] == thing
    assert not game.row["alive"][inner]


def test_obstacles_with_nowhere_to_go_stay_and_draw_nothing(play):
    game = play("#o#K\n###o", **{**ALL, "legend": {"K": {"object": "Wall", "agent": "FORWARD"}}})
    before = state(game)
    assert state(game.act(ACTUATE)) == before


def test_the_agent_is_in_no_obstacles_way(play):
    assert play("^#\no#", ACTUATE, **ALL).row["at"][0, 0] != NOTHING


# ---- rewards that measure ----------------------------------------------------------------------


@pytest.mark.parametrize("picture", ["^EE", "^.."])
def test_they_need_exactly_one(play, picture):
    game = play(picture, **distances())
    with pytest.raises(RuleError, match="world 1: needs exactly one object of its object_type"):
        game.act(TURN_LEFT)


@pytest.mark.parametrize("name", MEASURES)
def test_each_of_them_does(name):
    rewards = {"reward_functions": [{"name": name, "object_type": "Exit"}]}
    for picture in ("^EE", "^.."):
        game = Session(scenario(picture, **rewards), "object")
        with pytest.raises(RuleError, match="needs exactly one object of its object_type"):
            game.act(TURN_LEFT)


def path_reward(game):
    return game.terms["getting_closer_shortest_path"]


def test_a_way_that_is_cut_off_is_infinite_and_stays_so(play):
    game = play(">_E", ACTUATE, **distances(slams=True))
    assert game.board == ">dE"
    assert path_reward(game) == -1.0
    assert path_reward(game.act(TURN_LEFT)) == 0.0


def test_to_a_blocking_cell_there_is_a_way_only_for_what_is_in_it(play):
    legend = {"a": {"object": "Wall", "agent": "RIGHT"}}
    game = play("a.B", legend=legend, **distances(object_type="Box"))
    assert path_reward(game.act(TURN_LEFT)) == 0.0  # from infinite to infinite
    assert path_reward(game.act(TURN_LEFT, TURN_LEFT, TURN_LEFT, MOVE_FORWARD)) == 1.0
    assert game.board == "#>B"
    assert path_reward(game.act(MOVE_FORWARD)) == 0.0


# ---- views -------------------------------------------------------------------------------------

SIGHTS = ["fully_transparent", "partially_occluded", "raytracing", "stochastic_raytracing"]
PILLARS = "K..o\n.#.#\n..^.\n#dE."


def seen(area, sight):
    """A view that one program shows under all visibility functions."""
    call = {"name": "./everything/rules.py:any_visibility", "which": SIGHTS.index(sight)}
    call |= {"absolute": True, "threshold": 1.0, "area": area}
    return {"observation_function": call}


AREAS = {
    "even": [[-3, 0], [-3, 2]],
    "off-centre": [[-1, 4], [-5, 1]],
    "larger than the grid": [[-7, 6], [-8, 8]],
}


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
def test_areas_of_any_kind(area):
    at_the_bottom = area[0][1] == 0
    for sight in SIGHTS:
        if sight == "partially_occluded" and not at_the_bottom:
            continue
        one, other = (
            Session(scenario(PILLARS, **seen(area, sight)), w) for w in ("object", "batch")
        )
        for _ in ORIENTATIONS:
            assert one.act(TURN_LEFT).view == other.act(TURN_LEFT).view
            everything = Session(scenario(one.board, **seen(area, SIGHTS[0])), "object").view
            assert all(found in ("?", there) for found, there in zip(one.view, everything))


@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
def test_rays_reach_everything_where_nothing_blocks(area):
    views = {Session(scenario("....\n..^.", **seen(area, s)), "object").view for s in SIGHTS[::2]}
    assert len(views) == 1


@pytest.mark.thorough
@pytest.mark.compiled
def test_views_of_more_columns_than_a_number_has_bits():
    sight = {"observation_function": {"name": "fully_transparent", "area": [[-3, 0], [-40, 40]]}}
    one, other = (Session(scenario(PILLARS, **sight), world) for world in ("object", "batch"))
    for _ in ORIENTATIONS:
        assert one.act(TURN_LEFT).view == other.act(TURN_LEFT).view
    sight["observation_function"]["name"] = "partially_occluded"
    with pytest.raises(DoesNotCompileError, match="for up to 62 columns"):
        Session(scenario(PILLARS, **sight), "batch")
    assert Session(scenario(PILLARS, **sight), "object").view
    with pytest.warns(RuntimeWarning, match="for up to 62 columns.*stepping object worlds"):
        assert GridEnv(scenario(PILLARS, **sight)).world == "object"


def test_rays_in_an_even_view(play):
    game = play(PILLARS, **seen(AREAS["even"], "raytracing"))
    assert game.view == "??????\n??..o?\n?.#.#?\n?....?"


def test_an_agent_outside_of_its_view_sees_nothing_by_rays():
    for sight in SIGHTS[2:]:
        played = scenario(PILLARS, **seen([[1, 3], [0, 2]], sight))
        assert set(Session(played, "object").view) == {"?", "\n"}
        assert not GridEnv(played, world="object").reset(seed=0)[0]["agent_id_grid"].any()


# ---- sizes -------------------------------------------------------------------------------------


def level(**reset):
    return {**WALK, "reset_function": reset}


@pytest.mark.parametrize("size", [4, 200])
def test_the_smallest_room_and_a_large_one(world, size):
    game = Session(Scenario.load(level(name="empty", shape=[size, size])), world)
    grid = cells_of(game.row, game.scenario.layout)
    assert grid.shape == (size, size, 3)
    assert (grid[..., 0] == WALL).sum() == 4 * (size - 1)
    assert np.argwhere(grid[..., 0] == EXIT).tolist() == [[size - 2, size - 2]]
    for _ in range(size - 3):
        game.act(MOVE_FORWARD)
    assert game.row["position"]["x"][AGENT] == size - 2
    assert game.act(MOVE_RIGHT).terminated == (size == 4)
    assert game.row.nbytes < 5 * 2**20


# ---- resets that do not fit --------------------------------------------------------------------

COLORS = ["RED", "GREEN"]


def crossing(shape, num_rivers=1, object_type="Wall"):
    return level(name="crossing", shape=shape, num_rivers=num_rivers, object_type=object_type)


def memory_rooms(shape, layout=(2, 2), num_beacons=1, num_exits=2, colors=COLORS):
    rooms = {"shape": list(shape), "layout": list(layout), "colors": colors}
    return level(name="memory_rooms", **rooms, num_beacons=num_beacons, num_exits=num_exits)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (level(name="empty", shape=[3, 9]), "empty: found shape [3, 9], it needs at least [4, 4]"),
        (level(name="keydoor", shape=[9, 4]), "found shape [9, 4], it needs at least [4, 5]"),
        (level(name="teleport", shape=[4, 3]), "found shape [4, 3], it needs at least [4, 4]"),
        (level(name="dynamic_obstacles", shape=[3, 3], num_obstacles=0), "needs at least [4, 4]"),
        (level(name="dynamic_obstacles", shape=[4, 4], num_obstacles=3), "has room for 0 to 2"),
        (level(name="dynamic_obstacles", shape=[4, 4], num_obstacles=-1), "found num_obstacles -1"),
        (crossing([5, 6]), "found shape [5, 6]: both sides must be odd"),
        (crossing([6, 5]), "found shape [6, 5]: both sides must be odd"),
        (crossing([3, 5]), "found shape [3, 5], it needs at least [5, 5]"),
        (crossing([5, 5], 0), "found num_rivers 0: at least one"),
        (level(name="rooms", shape=[4, 9], layout=[2, 2]), "too small for 2 rows of rooms"),
        (level(name="rooms", shape=[9, 6], layout=[2, 3]), "too small for 3 columns of rooms"),
        (level(name="rooms", shape=[9, 3], layout=[1, 3]), "too small for 3 columns of rooms"),
        (level(name="rooms", shape=[3, 3], layout=[1, 1]), "needs 2 free cells, a shape of"),
        (level(name="memory", shape=[5, 6], colors=COLORS), "the width must be odd"),
        (level(name="memory", shape=[4, 5], colors=COLORS), "it needs at least [5, 5]"),
        (level(name="memory", shape=[5, 5], colors=["RED"]), "at least two colors"),
        (level(name="memory", shape=[5, 5], colors=["RED", "NONE"]), "none of them NONE"),
        (memory_rooms((5, 5), num_beacons=6), "needs 9 free cells, a shape of [5, 5] has 8"),
        (memory_rooms((9, 9), num_beacons=0), "found num_beacons 0: at least one"),
        (memory_rooms((9, 9), num_exits=1), "found num_exits 1: allowed are 2 to"),
        (memory_rooms((9, 9), num_exits=3), "allowed are 2 to the number of colors, 2"),
        (memory_rooms((9, 9), colors=["NONE", "RED"]), "found NONE among the colors"),
        (memory_rooms((4, 9)), "too small for 2 rows of rooms"),
    ],
)
def test_resets_that_do_not_fit_are_refused_with_their_place(wrong, message):
    with pytest.raises(ScenarioError) as refused:
        Scenario.load(wrong)
    [problem] = refused.value.problems
    assert problem.startswith("<mapping>: reset_function")
    assert message in problem


def grids_of(accepted, seeds=4):
    """The grids that a reset draws."""
    scenario = Scenario.load(accepted)
    for seed in range(seeds):
        yield begin(scenario, seed).world.cells()[..., 0]


@pytest.mark.parametrize(
    "tight",
    [
        level(name="empty", shape=[4, 4], random_agent=True, random_exit=True),
        level(name="keydoor", shape=[4, 5]),
        level(name="teleport", shape=[4, 4]),
        level(name="dynamic_obstacles", shape=[4, 4], num_obstacles=2, random_agent=True),
        level(name="memory", shape=[5, 5], colors=COLORS),
        level(name="rooms", shape=[3, 4], layout=[1, 1]),
        memory_rooms((5, 5), num_beacons=5),
    ],
    ids=lambda config: config["reset_function"]["name"],
)
def test_resets_that_just_fit(tight):
    for grid in grids_of(tight):
        assert (grid == EXIT).sum() >= 1


def fits(shape, layout):
    """Whether NumPy can lay out the rooms, and draw a cell for each of the openings."""
    lines = [np.linspace(0, n - 1, k + 1).astype(int) for n, k in zip(shape, layout, strict=True)]
    gaps = [np.diff(along).min() for along in lines]
    apart = all(gap >= (2 if across > 1 else 1) for gap, across in zip(gaps, layout[::-1]))
    rows, columns = layout
    free = np.prod([n - len(set(along)) for n, along in zip(shape, lines, strict=True)])
    return apart and free + (rows - 1) * columns + rows * (columns - 1) >= 2


def test_rooms_are_refused_exactly_where_they_cannot_be_drawn():
    outcomes = set()
    for shape in itertools.product((1, 3, 4, 5, 7, 8), repeat=2):
        for layout in itertools.product(range(1, 4), repeat=2):
            config = level(name="rooms", shape=list(shape), layout=list(layout))
            if fits(shape, layout):
                assert all((grid == EXIT).sum() == 1 for grid in grids_of(config, 1))
            else:
                with pytest.raises(ScenarioError):
                    Scenario.load(config)
            outcomes.add(fits(shape, layout))
    assert outcomes == {True, False}


def test_more_rivers_than_there_are_candidates_are_all_of_them():
    for grid in grids_of(crossing([5, 7], 50)):
        inner = grid[1:-1, 1:-1] == WALL
        # a row and two columns cross, and one cell of each way through is open
        assert inner.sum() == 5 + 3 + 3 - 2 - 3


def test_rivers_of_floor_are_floor():
    world = begin(Scenario.load(crossing([5, 5], 2, "Floor"))).world
    assert (world.at[1:4, 1:4] != NOTHING).sum() == 1  # the exit


def test_steps_to_where_no_way_leads_are_below_0():
    assert begin(scenario("^.#.")).world.steps_from(0, 0).tolist() == [[0, 1, -1, -1]]
