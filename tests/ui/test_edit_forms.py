"""Forms of the editor, in which levels, cells and rules are set."""

from pathlib import Path

import pytest

from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.edit_forms import FormScreen, PickScreen, cell_form
from gv_engine.play.ui.screens.edit_lists import (
    PackMenu,
    RuleListScreen,
)
from tests.desk import Desk, labels
from tests.editing import COMMENTED, editing

pytestmark = pytest.mark.window


@pytest.fixture
def screen(desk: Desk) -> EditScreen:
    """The editor with a key and a door."""
    return editing(desk)


def test_the_level_is_set_in_a_form(desk: Desk, screen: EditScreen):
    desk.press("F4")
    desk.choose("description")
    desk.type("Mine: take it", "Return")
    desk.choose("mission", "Return", "Return")
    desk.type("open the door", "Return", "Escape")
    desk.choose("max steps", "Delete", "Return")
    desk.type("soon", "Return")
    assert screen.faults[0].place.path == "max_steps"
    desk.press("Z")
    said = screen.draft.values
    assert said["description"] == "Mine: take it"
    assert said["mission"] == {"text": "open the door"}
    assert "max_steps" not in said
    assert not screen.faults


def test_the_form_of_the_level_begins_with_what_a_painter_sets(desk: Desk, tmp_path: Path):
    file = tmp_path / "cave.yaml"
    file.write_text(COMMENTED, "utf-8")
    editing(desk, str(file))
    desk.press("F4")
    form = desk.top(FormScreen)
    first = ["name", "description", "theme", "max steps", "For authors", "steps", "mission"]
    assert labels(form)[:7] == first
    assert {"dim", "capacity", "state space"} < {*labels(form)[7:]}
    desk.press(*["Down"] * 4)
    assert labels(form)[form.chosen] == "steps"
    desk.press("Up")
    assert labels(form)[form.chosen] == "max steps"
    before = desk.app.screens[:]
    desk.choose("For authors", "Return")
    desk.choose("For authors", "Delete")
    assert desk.app.screens == before
    edited = desk.app.screens[-2]
    assert isinstance(edited, EditScreen)
    assert file.read_text("utf-8") == COMMENTED == edited.draft.buffer.text


def test_what_is_in_a_cell_is_set_in_a_form(desk: Desk, screen: EditScreen):
    screen.cursor = (3, 5)
    desk.press("P")
    desk.choose("color", "Right")
    thing = {"object": "Door", "state": "LOCKED", "color": "YELLOW"}
    assert screen.draft.map.thing((3, 5)) != thing
    desk.choose("state", "Left", "Z", "Z")
    assert screen.draft.map.thing((3, 5)) == thing


def test_rules_are_added_ordered_and_set(desk: Desk, screen: EditScreen):
    desk.press("F3")
    desk.top(RuleListScreen)
    desk.press("A")
    desk.type("use up", "Return")
    desk.top(FormScreen)
    desk.press("Right", "Escape", "Shift+Up", "Shift+Up")

    def names() -> list[str]:
        rules = screen.draft.values["transition_functions"]
        return [rule if isinstance(rule, str) else rule["name"] for rule in rules]

    assert names() == ["move_agent", "turn_agent", "use_up", "actuate_door", "pickndrop"]
    desk.press("Delete")
    assert len(names()) == 4
    desk.press("Z")
    assert len(names()) == 5


def test_a_form_closes_when_its_rule_is_undone(desk: Desk):
    desk.start()
    desk.press("Ctrl+N")
    desk.choose("An empty level")
    desk.press("F3")
    rules = desk.top(RuleListScreen)
    rules.chosen = [row.name for row in rules.rows()].index("What pays")
    desk.press("Return")
    desk.type("sent out", "Return")
    desk.top(FormScreen)
    desk.press("Z")
    assert desk.top(RuleListScreen) is rules
    desk.press("Y")
    desk.dash_off("", "End", "Z", "Delete")  # the rules are fewer before they are drawn
    assert desk.top(RuleListScreen) is rules


def test_a_form_closes_when_another_rule_takes_the_place_of_its_own(desk: Desk, screen: EditScreen):
    desk.press("F3", "A")
    desk.type("use up", "Return", "Escape", "Shift+Up", "Return")
    form = desk.top(FormScreen)
    desk.press("Z")
    desk.top(RuleListScreen)
    assert form not in desk.app.screens


def test_forms_close_with_their_cell_their_level_and_their_part(desk: Desk, screen: EditScreen):
    desk.press("G")
    desk.type("20x20", "Return")
    screen.cursor = (15, 15)
    desk.press("P", "Z")
    assert desk.top(EditScreen) is screen
    desk.press("F6")
    desk.choose("Make a pack of this level")
    desk.press("Return", "F6", "A")
    desk.choose("Title, par and texts of the edited level")
    desk.top(FormScreen)
    desk.press(*["Z"] * 4)
    desk.top(PackMenu)
    desk.press("Escape", "F4")
    desk.choose("objects")
    desk.choose("Add one")
    desk.type("Gate", "Return", "Return")
    assert desk.top(FormScreen).title == "Gate"
    desk.press("Z")
    assert desk.top(FormScreen).title == "Objects"


def test_forms_show_values_in_words(desk: Desk, screen: EditScreen):
    screen.edit(lambda _: f"{screen.draft.buffer.text}dim: true\n")
    desk.press("F4")
    assert {row.label: row.value for row in desk.top(FormScreen).rows()}["dim"] == "yes"
    desk.choose("action space")
    assert labels(desk.top(FormScreen))[:2] == ["move forward", "move backward"]
    desk.press("Escape")
    desk.choose("observation function")
    desk.choose("name")
    assert "partially occluded" in labels(desk.top(PickScreen))
    desk.press("Escape", "Escape", "Escape")
    desk.app.push(cell_form(screen))
    desk.choose("object")
    desk.choose("moving obstacle")
    assert screen.draft.map.thing(screen.cursor) == {"object": "MovingObstacle"}
    desk.choose("object")
    desk.choose("door")
    desk.choose("color")
    desk.choose("red")
    assert [row.value for row in desk.top(FormScreen).rows()][:3] == ["door", "default", "red"]


def test_values_are_picked_and_stepped_and_no_yaml_is_typed(desk: Desk, screen: EditScreen):
    desk.press("F4")
    desk.choose("max steps", "Right")
    steps = screen.draft.values["max_steps"]
    desk.choose("max steps", "Left", "Left")
    assert (steps, screen.draft.values["max_steps"]) == (210, 190)
    desk.hold("Right", 2)
    assert screen.draft.values["max_steps"] == 220
    desk.choose("observation function")
    assert [row.value for row in desk.top(FormScreen).rows()][1] == "7 × 7 ahead"
    desk.choose("area")
    assert labels(desk.top(PickScreen))[-1] == "Another one"
    desk.choose("5 × 5 around")
    assert screen.draft.values["observation_function"]["area"] == 2
    desk.choose("area")
    desk.choose("Another one")
    desk.type("", *["Backspace"] * 20)
    desk.type("[[-1, 0], [-1, 1]]", "Return")
    assert screen.draft.values["observation_function"]["area"] == [[-1, 0], [-1, 1]]
    desk.choose("name")
    desk.choose("raytracing")
    assert screen.draft.values["observation_function"]["name"] == "raytracing"
    desk.press("Escape")
    form = desk.top(FormScreen)
    rows = {row.label: row for row in form.rows()}
    assert rows["max steps"].has_steps
    assert not rows["name"].has_steps
    assert not rows["mission"].has_steps
    assert not screen.faults


@pytest.mark.thorough
def test_lists_and_names_of_ones_own_are_filled_in_part_by_part(desk: Desk, screen: EditScreen):
    desk.press("F4")
    for row in ("state space", "colors", "purple"):
        desk.choose(row)
    usual = ["NONE", "RED", "GREEN", "BLUE", "YELLOW"]
    assert screen.draft.values["state_space"]["colors"] == [*usual, "PURPLE"]
    desk.choose("purple")
    assert screen.draft.values["state_space"]["colors"] == usual
    desk.press("Escape", "Escape")
    for row in ("symmetries", "turn", "mirror"):
        desk.choose(row)
    desk.press("Escape")
    assert screen.draft.values["symmetries"] == ["turn", "mirror"]
    for row in ("place", "Add one", "1", "object"):
        desk.choose(row)
    desk.choose("wall")
    desk.press("Escape", "A", "Delete", "Escape")
    assert screen.draft.values["place"] == [{"object": "Wall"}]
    desk.choose("objects")
    desk.choose("Add one")
    desk.type("Gate", "Return", "Return")
    desk.choose("states")
    desk.type("[CLOSED, OPEN]", "Return", "Escape", "Escape")
    assert screen.draft.values["objects"] == {"Gate": {"states": ["CLOSED", "OPEN"]}}
    desk.choose("observation function")
    desk.choose("name")
    desk.press("Escape")
    assert list(screen.draft.values["observation_function"]) == ["name", "area"]
    desk.press(*["Z"] * 40)  # what is undone below an open form


def test_parts_of_lists_are_moved(desk: Desk, screen: EditScreen):
    text = screen.draft.buffer.text
    screen.edit(lambda _: f"{text}place: [{{object: Wall}}, {{object: Key}}]\n")
    desk.press("F4")
    desk.choose("place")
    desk.press("Down", "Shift+Up", "Shift+Up")
    assert [each["object"] for each in screen.draft.values["place"]] == ["Key", "Wall"]
    assert desk.top(FormScreen).chosen == 0
