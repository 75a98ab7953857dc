"""Changes in the text of a YAML file: what is not changed stays as it is."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gv_engine.play.editor import text_buffer
from gv_engine.play.editor.text_buffer import EditError
from gv_engine.scenario.storage.resources import SCENARIOS

FILES = [SCENARIOS / "keydoor.yaml", *(SCENARIOS / "gallery").glob("[bcs]*.yaml")]
TEXT = """\
# about it
name: cave  # its name
rules:
  # goes first
  - move
  # pushes
  - {name: push, by: 2}  # far
  - name: pull
    by: 3  # near

# what it is worth
worth: [1, 2]
empty:
"""


def changed(text: str) -> list[str]:
    """The lines of `TEXT` that are no longer there, then those that are new."""
    before, after = TEXT.splitlines(), text.splitlines()
    gone = [f"-{line}" for line in before if line not in after]
    return gone + [f"+{line}" for line in after if line not in before]


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (("name",), "den", ["-name: cave  # its name", "+name: den  # its name"]),
        (("rules", 1, "by"), 5, ["+  - {name: push, by: 5}  # far"]),
        (("rules", 2, "by"), 5, ["-    by: 3  # near", "+    by: 5  # near"]),
        (("rules", 2, "far"), "a, b", ["+    far: 'a, b'"]),
        (("rules", 0), {"name": "move"}, ["+  - {name: move}"]),
        (("worth", 0), -1.5, ["+worth: [-1.5, 2]"]),
        (("empty",), "no", ["-empty:", "+empty: 'no'"]),
        (("legend",), {"#": "Wall", "k": {"object": "Key"}}, ["+  k: {object: Key}"]),
        (("deep", "er"), 1, ["+deep: {er: 1}"]),
        (("said",), "word " * 30, ["+said: >"]),
    ],
)
def test_a_value_is_put(path: Any, value: Any, lines: list[str]):
    text = text_buffer.put(TEXT, path, value)
    assert set(lines) <= set(changed(text))
    found = yaml.safe_load(text)
    for step in path:
        found = found[step]
    assert found.split() == value.split() if isinstance(value, str) else found == value


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (("name",), ["-name: cave  # its name"]),
        (("rules", 0), ["-  - move"]),
        (("rules", 1), ["-  - {name: push, by: 2}  # far"]),
        (("rules", 2), ["-  - name: pull", "-    by: 3  # near"]),
        (("rules", 2, "name"), ["-  - name: pull", "-    by: 3  # near", "+  - by: 3  # near"]),
        (("worth", 1), ["-worth: [1, 2]", "+worth: [1]"]),
    ],
)
def test_a_value_is_taken_out(path: Any, lines: list[str]):
    assert changed(text_buffer.remove(TEXT, path)) == lines


def test_the_last_item_leaves_an_empty_list():
    assert text_buffer.remove("a:\n  - 1  # one\nb: 2\n", ("a", 0)) == "a: []  # one\nb: 2\n"


def test_items_come_with_the_comments_above_them():
    text = text_buffer.move(TEXT, ("rules",), 1, 2)
    assert text.index("pull") < text.index("# pushes") < text.index("push, by")
    assert text_buffer.move(text, ("rules",), 2, 1) == TEXT
    assert text_buffer.move(TEXT, ("worth",), 0, 1) == TEXT.replace("[1, 2]", "[2, 1]")


def test_items_are_inserted_above_the_comment_of_the_next():
    text = text_buffer.insert(TEXT, ("rules",), 1, {"name": "look"})
    assert "  - move\n  - {name: look}\n  # pushes\n" in text
    assert text_buffer.insert(TEXT, ("worth",), 2, 3) == TEXT.replace("[1, 2]", "[1, 2, 3]")
    assert text_buffer.insert(TEXT, ("more",), 0, 3).endswith("more: [3]\n")


MAPS = """\
levels:
  - title: One
    map: |
      ###
      #E#
  # a comment
  - map: |
      ##
      ##
name: x
"""


def test_items_whose_maps_look_like_comments_are_moved_and_copied():
    moved = text_buffer.move(MAPS, ("levels",), 1, 0)
    one, two = yaml.safe_load(MAPS)["levels"]
    assert yaml.safe_load(moved) == {"levels": [two, one], "name": "x"}
    assert moved.startswith("levels:\n  # a comment\n  - map: |\n")
    copied = text_buffer.duplicate(MAPS, ("levels",), 1)
    assert yaml.safe_load(copied) == {"levels": [one, two, two], "name": "x"}
    flow = text_buffer.duplicate("levels: [{map: a}, {map: b}]", ("levels",), 0)
    assert flow == "levels: [{map: a}, {map: a}, {map: b}]"
    with pytest.raises(EditError, match="there is nothing"):
        text_buffer.duplicate(MAPS, ("levels",), 2)


def test_rows_of_a_map():
    text = text_buffer.put_rows(TEXT, ("map",), ["#  #", " .. "])
    assert text.endswith("map: |\n  #  #\n   .. \n")
    assert yaml.safe_load(text_buffer.put_rows(text, ("map",), ["  ", "##"]))["map"] == "  \n##\n"


def test_a_comment_behind_the_sign_of_a_text_stays():
    text = "map: |  # as drawn\n  ##\nsaid: >-  # for people\n  word\n"
    changed = text_buffer.put_rows(text, ("map",), ["#.#"])
    assert changed == text.replace("  ##\n", "  #.#\n")
    assert text_buffer.put(text, ("said",), "no") == text.replace(">-", "'no'").replace(
        "\n  word", ""
    )
    longer = text_buffer.put(text, ("said",), "word " * 30)
    assert "said: >  # for people\n  word word" in longer


def test_what_cannot_be_put_is_refused():
    with pytest.raises(EditError, match="name: found no list"):
        text_buffer.insert(TEXT, ("name",), 0, 1)
    with pytest.raises(EditError, match=r"name\.x: nothing can be put there"):
        text_buffer.put(TEXT, ("name", "x"), 1)
    with pytest.raises(EditError, match="not valid YAML: line 1"):
        text_buffer.put("a: [", ("b",), 1)


def paths(node: yaml.Node, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all values."""
    if isinstance(node, yaml.MappingNode):
        parts: Any = [(key.value, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        parts = enumerate(node.value)
    else:
        return []
    return [way for key, part in parts for way in [(*path, key), *paths(part, (*path, key))]]


@pytest.mark.thorough
@given(st.data())
def test_comments_stay_whatever_is_done(data: st.DataObject):
    """Only what stands in a line that is taken out goes."""
    text = data.draw(st.sampled_from(FILES)).read_text("utf-8")
    for _ in range(data.draw(st.integers(1, 4))):
        own_lines = re.findall(r"^\s*#.*", text, re.MULTILINE)
        path = data.draw(st.sampled_from(paths(text_buffer.compose_yaml(text))))
        change = data.draw(st.sampled_from(["put", "remove", "insert", "move"]))
        before = text
        try:
            if change == "put":
                text = text_buffer.put(
                    text, path, data.draw(st.sampled_from([1, "a: b", {"x": []}]))
                )
            elif change == "remove":
                text = text_buffer.remove(text, path)
            elif change == "insert":
                text = text_buffer.insert(text, path, 0, {"name": "new"})
            else:
                text = text_buffer.move(text, path, 0, text_buffer.list_length(text, path) - 1)
            text_buffer.compose_yaml(text)
        except EditError:
            text = before  # an anchor that others need, or no list
            continue
        left = re.findall(r"^\s*#.*", text, re.MULTILINE)
        inside = [line for line in own_lines if line not in left]
        assert all(line in before[slice(*_span(before, path))] for line in inside), change


def _span(text: str, path: tuple[Any, ...]) -> tuple[int, int]:
    found = text_buffer._require_entry(text, path)
    return text_buffer._span(text, found.node)
