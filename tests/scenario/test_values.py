"""Values of scenario files: how far each may go, and what is said beyond."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine.rules.errors import ScenarioError
from gv_engine.rules.geometry import Area
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax.fields import ErrorCollector, FieldError, YamlNode
from gv_engine.scenario.syntax.yaml_parser import parse_yaml


def node(text: str) -> YamlNode:
    return fields.mapping(parse_yaml(f"value: {text}".encode(), ErrorCollector("f")))["value"]


AREA = "[[ymin, ymax], [xmin, xmax]], or a radius"


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        (fields.read_pair, "[1, 512]", (1, 512)),
        (fields.read_pair, "[512, 1]", (512, 1)),
        (fields.read_area, "[[-128, 0], [-64, 64]]", Area(-128, 0, -64, 64)),
        (fields.read_area, "64", Area(-64, 64, -64, 64)),
        (fields.read_area, "0", Area(0, 0, 0, 0)),
        (fields.read_int32, "-2147483648", -(2**31)),
        (fields.read_int32, "2147483647", 2**31 - 1),
        (fields.number, "1e300", 1e300),
        (fields.boolean, "true", True),
        (fields.text, "a b", "a b"),
        (fields.optional_text, "''", ""),
        (fields.read_color, "RED", 1),
        (fields.read_plain, "[1, [true, 2.5]]", (1, (True, 2.5))),
    ],
)
def test_values_at_their_bounds(read: Any, text: str, found: Any):
    assert read(node(text)) == found
    assert type(read(node(text))) is type(found)


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (fields.read_pair, "[0, 5]", "found 0, allowed are 1 to 512"),
        (fields.read_pair, "[5, 513]", "found 513, allowed are 1 to 512"),
        (fields.read_pair, "[5]", "found a list of 1, expected two numbers: [height, width]"),
        (fields.read_pair, "7", "found 7, expected two numbers: [height, width]"),
        (fields.read_area, "[[0, 129], [0, 1]]", "found 130 cells, a view has at most 129"),
        (fields.read_area, "[[0, 128], [0, 129]]", "found 130 cells, a view has at most 129"),
        (fields.read_area, "[[1, 0], [0, 1]]", "found [1, 0], expected the smaller number first"),
        (fields.read_area, "[[-513, 0], [0, 1]]", "found -513, allowed are -512 to 512"),
        (fields.read_area, "[[0, 1]]", f"expected two ranges: {AREA}"),
        (fields.read_area, "[[0, 1], [0, 1, 2]]", f"expected two ranges: {AREA}"),
        (fields.read_area, "65", "found 65, allowed are 0 to 64"),
        (fields.read_area, "-1", "found -1, allowed are 0 to 64"),
        (fields.read_area, "true", "found true, expected a whole number"),
        (fields.read_area, "[7, 8]", "found 7, expected a range: [least, most]"),
        (fields.read_int32, "2147483648", "allowed are -2147483648 to 2147483647"),
        (fields.read_int32, "true", "found true, expected a whole number"),
        (fields.read_int32, "1.0", "found 1.0, expected a whole number; write 1"),
        (fields.read_int32, "1e3", "expected a whole number; write 1000"),
        (fields.read_int32, "1.5", "found 1.5, expected a whole number"),
        (fields.read_area, "[-6, 0, -3, 3]", f"two ranges: {AREA}; write [[-6, 0], [-3, 3]]"),
        (fields.number, ".inf", "expected a finite number"),
        (fields.number, "1" + "0" * 400, "expected a finite number"),
        (fields.number, "false", "found false, expected a number"),
        (fields.number, "'7'", "found '7', expected a number"),
        (fields.boolean, "1", "found 1, expected true or false"),
        (fields.text, "''", "found '', expected a text"),
        (fields.text, "[a]", "found a list of 1, expected a text"),
        (fields.optional_text, "{a: 1}", "found a mapping, expected a text"),
        (fields.text, "", "found nothing, expected a text"),
        (fields.boolean, "x" * 40, f"found '{'x' * 40}', expected"),
        (fields.boolean, "x" * 41, f"found '{'x' * 37}...', expected"),
        (fields.read_plain, "[1, word]", "found 'word', expected a number, true, false, or a list"),
        (fields.read_color, "RAD", "no colour 'RAD'; did you mean 'RED'?"),
        (fields.mapping, "[1]", "found a list of 1, expected a mapping of names to values"),
    ],
)
def test_values_beyond_their_bounds(read: Any, text: str, said: str):
    with pytest.raises(FieldError) as error:
        read(node(text))
    assert said in error.value.message


def test_names_that_stand_twice_get_numbers():
    assert fields.make_unique("abaa") == ("a", "b", "a_2", "a_3")
    assert fields.make_unique(["a", "a_2", "a", "a"]) == ("a", "a_2", "a_3", "a_4")


def test_problems_are_told_in_the_order_of_their_lines():
    problems = ErrorCollector("level.yaml")
    found = parse_yaml(b"a: 1\nb: {c: 2,\n  d: 3}\nRED: 4\n", problems)
    entries = fields.mapping(found)
    fields.read_fields(problems, found, ["a"], ["bb"])

    def fail() -> None:
        raise FieldError(fields.mapping(entries["b"])["d"], "is  wrong")

    with problems.collect():
        fail()
    problems.add(entries["a"], "")
    assert len(problems) == 3
    with pytest.raises(ScenarioError) as error:
        problems.raise_if_any()
    assert str(error.value).splitlines() == [
        "level.yaml:2: b: unknown key 'b'; did you mean 'bb'? (allowed: bb, a)",
        "level.yaml:3: b.d: is wrong",
        "level.yaml:4: RED: unknown key 'RED'",
    ]
    assert [place.line for place in error.value.places] == [2, 3, 4]
    whole = problems.error_with(FieldError(entries["a"], "too"))
    assert str(whole).splitlines()[0] == "level.yaml:1: a: too"


def test_so_many_problems_are_enough():
    problems = ErrorCollector("level.yaml")
    for number in range(199):
        problems.add(YamlNode(number), "wrong")
    with pytest.raises(ScenarioError):
        problems.add(YamlNode(199), "wrong")


def test_colors_stand_once_in_their_order():
    problems = ErrorCollector("f")
    assert fields.read_colors(problems, node("[BLUE, RED]")) == (1, 3)
    assert len(problems) == 0
    assert fields.read_colors(problems, node("[BLUE, BLUE]")) == (3,)
    assert "BLUE is listed twice" in str(problems.error_with(FieldError(node("1"), "")))
    with pytest.raises(FieldError, match="found an empty list, expected at least one name"):
        fields.read_colors(problems, node("[]"))


@pytest.mark.parametrize("line", [1, 2, 7])
def test_bytes_that_are_no_text_are_told_with_their_line(line: int):
    with pytest.raises(FieldError, match="byte 0xff is not UTF-8 text") as error:
        parse_yaml(b"\n" * (line - 1) + b"a: \xff\nb: 1\n", ErrorCollector("f"))
    assert error.value.node.line == line
