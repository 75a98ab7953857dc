"""Sources with faults: where, what was found, what is allowed."""

import pytest

from gv_engine import Scenario
from gv_engine.rules.errors import ScenarioError
from tests import DATA

STORE = (DATA / "puzzlescript" / "store.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("* = Box\n", "* = Boxes\n", ":55: found 'boxes', expected an object or a name"),
        ("O = Mark", "* = Mark", "the name '*' is taken, declared above; choose another"),
        ("Wall or Box", "Wall or @", "found '@', defined with `and`, in a line with `or`"),
        ("Background\nMark", "Background", "'mark' is in no collision layer"),
        ("[ > Player | Box ] ->", "[ > Player | Box ]", "found no ->, expected a rule such as"),
        ("| Box ] ->", "| Bax ] ->", "found 'bax', expected an object or a name of the legend"),
        ("-> [ > Player | > Box ]", "-> [ > Player ]", "other numbers of cells on both sides"),
        ("[ > Player | Box ] ->", "[ > | Box ] ->", "found '>' at the end of a cell, expected an"),
        (
            "[ > Player | Box ]",
            "sideways [ > Player | Box ]",
            "found 'sideways' before the first [",
        ),
        ("[ > Player | Box ]", "late [ > Player | Box ]", "found '>' in a late rule"),
        ("All Mark on Box", "All Mark in Box", "found 'all mark in box', expected All Target on"),
        ("#P*.O#", "#P?.O#", "found '?', no name of the legend"),
        ("orange\n", "orangey\n", "found 'y', expected a colour of 'box'"),
        ("SOUNDS", "NOISES", "found the section COLLISIONLAYERS, expected SOUNDS"),
        ("Player P", "Player_ P", "there is no object player, nor a name in the legend"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, old, new, fault):
    assert old in STORE
    file = tmp_path / "store.txt"
    file.write_text(STORE.replace(old, new, 1), "utf-8")
    with pytest.raises(ScenarioError) as error:
        Scenario.load(file)
    assert fault in str(error.value)
    assert "store.txt" in str(error.value)


def test_there_is_no_such_level():
    with pytest.raises(ScenarioError, match=r"no level '3', there are 1 to 2"):
        Scenario.load(DATA / "puzzlescript" / "store.txt#3")


def test_a_message_may_have_no_text(tmp_path):
    file = tmp_path / "store.txt"
    rule = "[ > Player | Box ] -> [ > Player | > Box ]"
    assert rule in STORE
    file.write_text(STORE.replace(rule, f"{rule} message", 1), "utf-8")
    (number,) = Scenario.load(file).display_numbers
    assert number.texts == ("",)
