"""Terrain: ground of whose type all cells share one entity."""

from typing import Any

import numpy as np
import pytest

from components.core import FLOOR
from components.objects import BALL
from gv_engine import NOTHING, RuleError, Scenario
from gv_engine.envs.level_sets import compute_content_keys
from gv_engine.gridverse import Floor as FloorObject
from gv_engine.gridverse import Grid, Position, Wall
from gv_engine.play.session.inspection import world_differences
from gv_engine.play.validation.lint import find_mistakes
from gv_engine.plugins.gridverse.object_store import class_of
from gv_engine.rules.objects import object_type
from gv_engine.scenario.memory.row_checks import compute_derived_columns, find_fault
from tests import DATA
from tests.scenario.reading import CAMP, assert_refused, begin, camp


@pytest.fixture
def w() -> Any:
    """The camp at its beginning: ice at (2, 5), no snow."""
    return begin(camp()).world


def kind_of(w: Any, name: str) -> int:
    index: int = w.layout.object_types[name].index
    return index


def test_cells_share_an_entity(w):
    snow, ice = kind_of(w, "Snow"), kind_of(w, "Ice")
    before = w.free
    for x in range(1, 5):
        w.pave(1, x, snow)
    w.place(w.spawn(ice), 1, 1)  # in place of snow
    assert w.free == before
    assert w.ground[1, 1:6].tolist() == [w.terrain_of(ice), *[w.terrain_of(snow)] * 3, NOTHING]
    assert (w.placed[snow], w.placed[ice]) == (3, 2)
    assert w.of_type(snow).tolist() == [w.terrain_of(snow)] * 3
    assert w.terrain_of(ice) in w.having(w.solid)
    assert (w.steps_from(1, 1)[1, 2], w.blocks_movement(w.ground[1, 1])) == (1, True)
    w.pave(1, 1, FLOOR)
    w.pave(1, 1, FLOOR)
    assert (w.ground[1, 1], w.placed[ice]) == (NOTHING, 1)
    assert w.cells()[1, 3].tolist() == [snow, 0, 0]
    assert w.unique(ice) == w.terrain_of(ice)
    assert [w.terrain_of(kind) for kind in (FLOOR, BALL, 127, -1)] == [NOTHING, -1, -1, -1]


def test_terrain_is_not_moved_or_removed(w):
    ice = w.ground[2, 5]
    w.lift(ice)
    assert w.ground[2, 5] == ice
    with pytest.raises(RuleError, match=r"w\.pave\(y, x, FLOOR\) clears one"):
        w.remove(ice)
    with pytest.raises(RuleError, match="the type is no terrain; spawn an object"):
        w.pave(2, 5, BALL)
    with pytest.raises(RuleError, match="outside the grid"):
        w.pave(9, 5, FLOOR)


def test_an_object_on_the_ground_and_terrain_exclude_each_other():
    objects = CAMP["objects"] | {"Mat": {"layer": "ground"}}
    legend = CAMP["legend"] | {"m": {"ground": "Mat"}}
    rows = CAMP["map"].replace("#>K..P#", "#>K.mP#")
    w: Any = begin(camp(objects=objects, legend=legend, map=rows)).world
    with pytest.raises(RuleError, match=r"an object lies on the ground; w\.lift or w\.remove that"):
        w.pave(1, 4, kind_of(w, "Snow"))
    mat = w.ground[1, 4]
    with pytest.raises(RuleError, match="the cell holds another object"):
        w.place(mat, 2, 5)
    w.place(mat, 1, 3)
    w.pave(1, 4, kind_of(w, "Snow"))
    assert not find_fault(w.layout, w.snapshot()[None])


def test_rows_hold_it(w):
    w.pave(1, 3, kind_of(w, "Snow"))
    row, layout = w.snapshot(), w.layout
    assert w.fork().snapshot() == row
    rows = np.stack([row, row, row])
    assert not find_fault(layout, rows)
    np.testing.assert_array_equal(compute_derived_columns(layout, rows)["placed"][0], w.placed)
    rows["ground"][1, 1, 4] = w.terrain_of(kind_of(w, "Snow"))  # another cell
    rows["ground"][2, 1, 3] = w.terrain_of(kind_of(w, "Ice"))  # another type
    keys = compute_content_keys(rows, layout, np.zeros((1, 0), np.bool_))
    assert len({*keys.tolist()}) == 3
    for column, field, says in (
        ("kind", "value", "the type of Snow is 2"),
        ("position", "y", "position of Snow is 2"),
    ):
        damaged = row[None].copy()
        damaged[column][field][0, w.terrain_of(kind_of(w, "Snow"))] = 2
        assert says in find_fault(layout, damaged)


def test_the_object_api_reads_and_writes_it():
    index = object_type("TestMoss", layer="terrain", module=__name__)
    moss = class_of(index)
    grid = Grid([[Wall(), FloorObject()]], [[moss(), FloorObject()]])
    assert grid.ground[0, 0].kind.index == index
    grid[0, 1] = moss()
    assert grid.world.placed[index] == 2
    assert grid[Position(0, 1)] is grid.ground[0, 0]
    grid.ground[0, 1] = FloorObject()
    assert grid.world.placed[index] == 1
    assert isinstance(grid[0, 1], FloorObject)
    again = Grid([[grid[0, x] for x in range(2)]], [[grid.ground[0, x] for x in range(2)]])
    assert again == grid


def test_terrain_has_one_state():
    objects = CAMP["objects"] | {"Mud": {"layer": "terrain", "states": ["WET", "DRY"]}}
    assert_refused("terrain has no states", {**CAMP, "objects": objects})


GRASS = {"Grass": {"layer": "terrain", "colored": True}, "Mat": {"layer": "ground"}}
MEADOW: dict[str, Any] = {
    "objects": CAMP["objects"] | GRASS,
    "map": "#######\n#>K.gP#\n#>DQQi#\n#######",
    "legend": CAMP["legend"] | {"g": {"ground": "Grass"}},
}


def test_things_are_placed_on_it_but_no_other_ground():
    place = [{"object": "Mat"}, {"object": "Key", "color": "RED"}]
    for seed in range(4):
        w: Any = begin(camp(**MEADOW, place=place), seed).world
        assert w.ground[1, 4] == w.terrain_of(kind_of(w, "Grass"))
        assert w.at[1, 4] != NOTHING  # one cell is left for the key
        assert w.placed[kind_of(w, "Mat")] == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"g": {"ground": {"object": "Grass", "color": "RED"}}}, "terrain, which has one colour"),
        ({"g": {"object": "Box", "content": "Grass"}}, "Grass has the layer `terrain`; only"),
        ({"g": {"agent": "LEFT", "holds": "Grass"}}, "Grass has the layer `terrain`; only"),
    ],
)
def test_terrain_has_one_colour_and_is_not_held(changes: Any, says: str):
    legend = CAMP["legend"] | changes
    assert_refused(says, {**CAMP, **MEADOW, "legend": legend}, DATA / "camp")


def test_a_cell_that_is_paved_is_a_difference(w):
    before = w.fork()
    w.pave(1, 3, kind_of(w, "Snow"))
    assert world_differences(before, w) == ["snow at row 1, column 3, was floor"]


def test_missions_may_be_about_it():
    mission = {"text": "go to the {object}", "object": "Ice"}
    level = camp(mission=mission, map=CAMP["map"])
    assert "no level has" not in str(find_mistakes(level))


def test_a_mixture_has_an_entity_for_each_terrain():
    def member(name: str) -> dict[str, Any]:
        objects = CAMP["objects"] | {name: {"layer": "terrain"}}
        legend = CAMP["legend"] | {"g": {"ground": name}}
        own = {**CAMP, **MEADOW, "objects": objects, "legend": legend, "capacity": 26}
        return {key: value for key, value in own.items() if key != "observation"}

    mixture = {"mixture": [{"scenario": member("Sand")}, {"scenario": member("Mud")}]}
    layouts = [Scenario.load(each, DATA / "camp").layout for each in (member("Sand"), mixture)]
    one, both = layouts
    assert len(both.terrain) > len(one.terrain)
    assert both.capacity - len(both.terrain) == one.capacity - len(one.terrain)


def test_ground_and_terrain_have_other_layouts():
    one, other = (
        camp(objects=CAMP["objects"] | {"Sand": {"layer": layer}}).layout
        for layer in ("ground", "terrain")
    )
    assert one.signature != other.signature
