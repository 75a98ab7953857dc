"""Rules of a level: listed, added, ordered, set and taken out, with the comments around them."""

from collections.abc import Callable

import pytest

from gv_engine.editor.document import EditorDocument, new_work, open_work
from gv_engine.editor.form_fields import field, form_fields
from gv_engine.editor.rules import RULE_PARTS, Rule
from gv_engine.editor.text_buffer import TextBuffer
from gv_engine.editor.yaml_text import EditError
from gv_engine.rules.system import system_of
from gv_engine.scenario.json_schema import (
    BOOLEAN,
    COLOR,
    TEXT,
    Key,
    any_of,
    enum_schema,
    integer_schema,
)
from systems.terminating import reduce_any

HAPPENS, PAYS, ENDS, WINS = RULE_PARTS


def rule(made: EditorDocument, part: object, number: int) -> Rule:
    return made.rules.rules(part)[number]  # type: ignore[arg-type]


def names(made: EditorDocument, part: object) -> list[str]:
    return [each.name for each in made.rules.rules(part)]  # type: ignore[arg-type]


def add(made: EditorDocument, part: object, name: str) -> None:
    rules = made.rules
    known = next(each for each in rules.known(part) if each.name == name)  # type: ignore[arg-type]
    made.edit(lambda _: rules.added(part, known))  # type: ignore[arg-type]


def becomes(text: str) -> Callable[[str], str]:
    """A change to this text."""
    return lambda _: text


def test_rules_are_told_in_sentences():
    made = open_work("keydoor-9x9")
    says = rule(made, PAYS, 4).says
    assert says == "Pays the same reward for every step. (reward -0.05)"
    made = open_work("chase")
    assert made.rules.how(ENDS) == "any of these"
    assert names(made, ENDS) == ["none_left", "overlap"]
    assert all(each.system for part in RULE_PARTS for each in made.rules.rules(part))


def test_rules_are_added_ordered_and_taken_out():
    made = open_work("keydoor-9x9")
    before = made.manuscript.text
    add(made, HAPPENS, "actuate_box")
    text = made.rules.moved(rule(made, HAPPENS, 4), -2)
    made.edit(lambda _: text)
    listed = ["move_agent", "turn_agent", "actuate_box", "actuate_door", "pickndrop"]
    assert names(made, HAPPENS) == listed
    assert made.rules.moved(rule(made, HAPPENS, 0), -1) == made.manuscript.text
    for _ in range(2):
        text = made.rules.removed(rule(made, HAPPENS, 2))
        made.edit(becomes(text))
    assert names(made, HAPPENS) == ["move_agent", "turn_agent", "pickndrop"]
    assert not made.faults
    comments = [line for line in before.splitlines() if line.startswith("#")]
    assert [line for line in made.manuscript.text.splitlines() if line.startswith("#")] == comments


def test_a_second_end_makes_it_any_of_these():
    made = new_work("coins")
    add(made, ENDS, "reach_exit")
    assert made.rules.how(ENDS) == "any of these"
    assert names(made, ENDS) == ["none_left", "reach_exit"]
    add(made, ENDS, "overlap")
    assert names(made, ENDS) == ["none_left", "reach_exit", "overlap"]
    for number in (2, 1):
        text = made.rules.removed(rule(made, ENDS, number))
        made.edit(becomes(text))
    assert made.rules.how(ENDS) == ""
    assert made.manuscript.text == new_work("coins").manuscript.text
    with pytest.raises(EditError, match="Something has to end it"):
        made.rules.removed(rule(made, ENDS, 0))
    text = made.rules.removed(rule(made, WINS, 0))
    made.edit(lambda _: text)
    assert not made.rules.rules(WINS)
    add(made, WINS, "reach_exit")
    assert names(made, WINS) == ["reach_exit"]
    assert not made.faults


def test_parameters_are_set_and_left_out():
    made = new_work("room")
    moves = rule(made, HAPPENS, 0)
    text = made.rules.said(moves, "for", "bob")
    made.edit(lambda _: text)
    assert "  - {name: move_agent, for: bob}\n" in made.manuscript.text
    assert made.faults[0].place.path == "transition_functions[0].for"
    pays = rule(made, PAYS, 0)
    text = made.rules.said(pays, "reward_on", None)
    made.edit(lambda _: text)
    assert "  - {name: reach_exit}\n" in made.manuscript.text


def test_every_rule_can_be_added_to_a_level():
    """What must be given is given an example, which may not fit this level."""
    for part in RULE_PARTS:
        for known in new_work("keydoor").rules.known(part):
            made = new_work("keydoor")
            add(made, part, known.name)
            told = " ".join(fault.says for fault in made.faults)
            words = ("has no orientations", "mission: missing", "have the same layer")
            assert not told or any(map(told.count, words)), (known.name, told)


def test_rules_of_what_is_extended_are_said_before_they_are_changed():
    extending = EditorDocument(TextBuffer("extends: empty-8x8\n"))
    text = extending.rules.moved(rule(extending, HAPPENS, 0), 1)
    extending.edit(lambda _: text)
    assert names(extending, HAPPENS)[:2] == ["turn_agent", "move_agent"]
    assert not extending.faults


def test_fields_are_made_from_the_schema():
    words = new_work("room").words
    told = field("color", Key("Its colour.", COLOR), "RED", words)
    assert (told.after(1), told.after(-1)) == ("GREEN", "NONE")
    told = field("turns", Key("Who.", enum_schema(["a", "b"]), required=True), "b", words)
    assert (told.after(1), told.after(-1)) == ("a", "a")
    assert field("is", Key("Whether.", BOOLEAN), None, words).choices == (True, False)
    told = field(
        "number", Key("How many.", any_of(integer_schema(1, 9), {"type": "null"})), 4, words
    )
    assert told.expects == "a whole number from 1 to 9 or nothing"
    assert told.read("7") == 7
    with pytest.raises(EditError, match="number: not valid YAML"):
        told.read("[7")
    assert field("says", Key("What.", TEXT), None, words).read("7: on") == "7: on"


def test_all_keys_of_levels_and_rules_have_fields():
    made = open_work("keydoor-9x9")
    for told in form_fields(made.format.keys, made.said, made.words):
        assert told.says, told
        assert told.choices or told.expects or told.is_text, told
    system = system_of(reduce_any)
    assert system
    for part in RULE_PARTS:
        for each in made.rules.rules(part):
            assert {*each.arguments} <= {*made.rules.keys(each)}
