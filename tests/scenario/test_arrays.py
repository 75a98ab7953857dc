"""Fields of components that are arrays: `counts: Annotated[Int16, Array(Item)] = 0`."""

import pickle
from typing import Annotated, Any

import numpy as np
import pytest

from gv_engine import Array, Int8, component
from gv_engine.envs.level_sets import compute_content_keys
from gv_engine.play.session.inspection import Inspection
from gv_engine.plugins.gridverse.object_store import class_of
from gv_engine.rules.component import field_values
from gv_engine.rules.errors import ColumnError, OutOfBoundsError
from gv_engine.rules.objects import object_type
from gv_engine.scenario.memory.row_checks import find_fault
from tests import DATA
from tests.scenario.reading import CAMP, assert_refused, begin, camp


@component
class Pack:
    """Pack."""

    sizes: Annotated[Int8, Array(["a", "b"])] = 2


def test_each_component_has_its_own_numbers():
    make: Any = Pack
    first, second = make(), make([3, 4])
    first.sizes[0] = 9
    assert (field_values(first), field_values(second), field_values(make(5))) == (
        ((9, 2),),
        ((3, 4),),
        ((5, 5),),
    )
    with pytest.raises(ValueError, match="sizes: found 3 numbers, expected 2"):
        make([1, 2, 3])


@pytest.mark.parametrize(
    ("annotation", "default", "says"),
    [
        ("Annotated[Int16, Array(3)]", "(1, 2, 3)", "'counts' has the default (1, 2, 3), exp"),
        ("Annotated[EntityId, Array(3)]", "0", "the array 'counts' can hold numbers only"),
        ("Annotated[Int16, Array(0)]", "0", "found 0 items, expected 1 to 128"),
        ("Annotated[Int16, Array(129)]", "0", "found 129 items, expected 1 to 128"),
        ("Annotated[Int16, Array(['a', 'a'])]", "0", "two of the items a, a have one name"),
        ("Annotated[Int16, Array(Odd)]", "0", "the values of Odd do not count from 0"),
        ("Annotated[Int8, Array(2), Bounds(0, 5)]", "7", "the default 7, which is not from 0 to 5"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(tmp_path, annotation, default, says):
    rules = f"""
from enum import IntEnum
from typing import Annotated
from gv_engine import Array, Bounds, EntityId, Int8, Int16, component

class Odd(IntEnum):
    ONE = 1

@component
class Bag:
    counts: {annotation} = {default}
"""
    (tmp_path / "rules.py").write_text(rules, "utf-8")
    assert_refused(says, {"agents": {"components": ["./rules.py:Bag"]}}, tmp_path)


@pytest.mark.parametrize(
    ("counts", "expected"), [({"STONE": 4}, [0, 4, 0]), ([1, 2, 3], [1, 2, 3]), (7, [7, 7, 7])]
)
def test_a_file_gives_them_by_name_in_order_or_one_for_all(counts: Any, expected: list[int]):
    own = {"./rules.py:Bag": {"counts": counts}, "./rules.py:Vitals": {}, "./rules.py:Warmth": {}}
    world = begin(camp(agents={**CAMP["agents"], "components": own})).world
    assert world.snapshot()["bag"]["counts"][1].tolist() == expected


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({"STON": 4}, "no item 'STON'; did you mean 'STONE'"),
        ([1, 2], "found 2 numbers, expected 3: WOOD, STONE, SAP"),
        ({"STONE": 40000}, "40000"),
        ("much", "much"),
    ],
)
def test_a_file_that_gives_others_is_refused(counts: Any, says: str):
    objects = {**CAMP["objects"], "Pot": {"components": {"./rules.py:Bag": {"counts": counts}}}}
    assert_refused(says, {**CAMP, "objects": objects}, DATA / "camp")


def test_rules_read_and_write_one_number_at_a_time():
    world: Any = begin(camp()).world
    with pytest.raises(ColumnError, match=r"w\.bag\.counts\[1\] names an array of 3 numbers; name"):
        world.bag.counts[1]
    with pytest.raises(ColumnError, match="names an array of 3 numbers"):
        world.bag.counts[1, :]
    with pytest.raises(OutOfBoundsError):
        world.bag.counts[1, 3]
    with pytest.raises(OutOfBoundsError):
        world.bag.counts[world.capacity, 0] = 1
    assert world.bag.counts[3, 0] == 0  # of an entity without the component
    with pytest.raises(ColumnError, match=r"bag\.counts of an entity that has no Bag"):
        world.bag.counts[3, 0] = 1
    with pytest.raises(ColumnError, match=r"w\.bag\.counts: 40000 does not fit into int16"):
        world.bag.counts[1, 0] = 40_000


def test_worlds_come_back_with_them():
    simulation = begin(camp())
    world, layout = simulation.world, simulation.world.layout
    for _ in range(2):
        simulation.step(7, 7)
    row = world.snapshot()
    assert row["bag"]["counts"][:3].tolist() == [[0, 0, 0], [3, 1, 0], [4, 2, 0]]
    for other in (world.fork(), pickle.loads(pickle.dumps(world))):
        assert other.snapshot() == row
    assert not find_fault(layout, row[None])
    is_read = np.zeros((1, 0), np.bool_)
    changed = row.copy()
    changed["bag"]["counts"][1, :2] = [1, 3]  # the same numbers in another order
    keys = compute_content_keys(np.stack([row, row, changed]), layout, is_read)
    assert keys[0] == keys[1] != keys[2]
    changed["bag"]["counts"][3, 1] = 1
    assert "lacks the component Bag" in find_fault(layout, changed[None])


def test_the_inspector_names_them():
    scenario = camp()
    inspection = Inspection(scenario)
    world: Any = begin(scenario).world
    world.bag.counts[1, 2] = 5
    inspection.load(world.snapshot())
    (bag,) = (part for part in inspection.agent().parts if part.name == "Bag")
    assert bag.fields == {"counts": "SAP: 5", "weights": "0: 2, 1: 2"}


def test_copies_of_objects_have_their_own_numbers():
    index = object_type("TestSack", Pack, module=__name__)
    sack: Any = class_of(index)([3, 4])
    other = sack.copy()
    other.sizes[0] = 9
    assert (sack.sizes, other.sizes) == ([3, 4], [9, 4])
    sack.sizes = 5
    assert sack.sizes == [5, 5]
    with pytest.raises(ValueError, match="found 3 numbers, expected 2"):
        sack.sizes = [1, 2, 3]
