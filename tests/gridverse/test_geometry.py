"""Every pair of geometry types and every operator: GridVerse's result, or a TypeError."""

import dataclasses
import operator
from itertools import product
from typing import Any

import pytest

from gv_engine.plugins.gridverse.geometry import (
    Area,
    Orientation,
    Position,
    Shape,
    Transform,
    distance_function_factory,
    get_manhattan_boundary,
)

R = Orientation.R
AREA, AT, TURN = Area((0, 2), (-1, 3)), Position(1, 2), Transform(Position(2, -1), R)
KINDS: dict[str, Any] = {
    "shape": Shape(2, 3),
    "area": AREA,
    "position": AT,
    "orientation": R,
    "transform": TURN,
}
TURNED_AREA, TURNED = Area((-1, 3), (-2, 0)), Position(2, -1)
MOVED_AREA, MOVED = Area((1, 5), (-3, -1)), Position(4, -2)
DEFINED: dict[tuple[str, str, str], Any] = {
    ("add", "position", "position"): Position(2, 4),
    ("sub", "position", "position"): Position(0, 0),
    ("mul", "orientation", "orientation"): Orientation.B,
    ("mul", "transform", "transform"): Transform(Position(1, -3), Orientation.B),
}
for one, other, result in (
    ("orientation", "area", TURNED_AREA),
    ("orientation", "position", TURNED),
    ("transform", "area", MOVED_AREA),
    ("transform", "position", MOVED),
    ("transform", "orientation", Orientation.B),
):
    DEFINED |= {("mul", one, other): result, ("mul", other, one): result}
for one, other in (("area", "position"), ("position", "area")):
    DEFINED["add", one, other] = Area((1, 3), (1, 5))

OPERATORS = (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
    *("and_", "or_", "xor", "lshift", "rshift"),
)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_all_pairs(name):
    for one, other in product(KINDS, KINDS):
        pair = KINDS[one], KINDS[other]
        expected = DEFINED.get((name, one, other))
        if expected is None:
            with pytest.raises(TypeError):
                getattr(operator, name)(*pair)
        else:
            found = getattr(operator, name)(*pair)
            assert (type(found), found) == (type(expected), expected), (one, other)


def test_different_kinds_are_unequal():
    for kind in operator.eq, operator.ne:
        assert kind(Shape(1, 2), Position(1, 2)) is (kind is operator.ne)
    assert Shape(1, 2) == (1, 2)
    assert Position(1, 2) in {(1, 2)}


def test_positions_and_numbers():
    assert Position(3, 6) == AT * 3
    assert Position(2, 3) == (1, 1) + AT
    assert R * 2 == 6
    assert Position(-1, -2) == -AT
    assert -R is Orientation.L
    assert Transform(Position(0, 0), Orientation.F) == -TURN * TURN


def test_replacing_one_number():
    replace: Any = dataclasses.replace
    assert replace(AT, y=5) == Position(5, 2)
    assert replace(Shape(2, 3), width=9).as_tuple == (2, 9)


def test_members_are_true():
    assert Orientation.F
    assert min(Orientation) == 0


def test_areas():
    assert Area.from_positions([Position(2, 5), Position(4, 1)]) == Area((2, 4), (1, 5))
    assert (AREA.ys, AREA.xs) == ((0, 2), (-1, 3))
    assert [*AREA.y_coordinates()] == [0, 1, 2]
    assert [*AREA.x_coordinates()] == [-1, 0, 1, 2, 3]


def test_the_cells_at_a_distance():
    around = get_manhattan_boundary(Position(4, 3), 2)
    assert around == [(2, 3), (3, 4), (4, 5), (5, 4), (6, 3), (5, 2), (4, 1), (3, 2)]
    with pytest.raises(ValueError, match="positive"):
        get_manhattan_boundary(AT, 0)


def test_distance_functions_by_name():
    assert distance_function_factory("manhattan")(AT, Position(0, 0)) == 3
    with pytest.raises(ValueError, match="did you mean 'euclidean'"):
        distance_function_factory("euclid")
