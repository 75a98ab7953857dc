"""Rules of a level: listed, added, ordered, set and taken out, with the comments around them."""

from typing import Any

import pytest

from gv_engine.play.editor.document import EditorDocument, new_document, open_document
from gv_engine.play.editor.form_fields import form_fields, make_field
from gv_engine.play.editor.rules import RULE_PARTS, Rule, swap_fault_path
from gv_engine.play.editor.text_buffer import EditError, TextBuffer
from gv_engine.rules.system import system_of
from gv_engine.scenario.syntax.json_schema import (
    BOOLEAN,
    COLOR,
    TEXT,
    Key,
    any_of,
    enum_schema,
    integer_schema,
)
from gv_engine.scenario.syntax.yaml_parser import parse_value
from systems.terminating import reduce_any

HAPPENS, PAYS, ENDS, WINS = RULE_PARTS


def rule(made: EditorDocument, part: Any, number: int) -> Rule:
    return made.rules.rules(part)[number]


def names(made: EditorDocument, part: Any) -> list[str]:
    return [each.name for each in made.rules.rules(part)]


def add(made: EditorDocument, part: Any, name: str) -> None:
    (known,) = (each for each in made.rules.available_rules(part) if each.name == name)
    becomes(made, made.rules.add_rule(part, known))


def becomes(made: EditorDocument, text: str, **stroke: int) -> None:
    """Let this be its text."""
    made.edit(lambda _: text, **stroke)


def test_rules_are_told_in_sentences():
    says = rule(open_document("keydoor-9x9"), PAYS, 4).description
    assert says == "Pays -0.05 in every step."
    made = open_document("chase")
    assert made.rules.combination(ENDS) == "any of these"
    assert names(made, ENDS) == ["none_left", "overlap"]
    assert all(each.system for part in RULE_PARTS for each in made.rules.rules(part))


@pytest.mark.parametrize("name", ["switch", "elapse", "follow"])
def test_sentences_about_levers_and_lamps_have_no_words_of_the_file(name: str):
    """Those of the play window and of the palette's tooltips."""
    known = new_document("keydoor").rules.available_rules(HAPPENS)
    (said,) = (each.description for each in known if each.name == name)
    assert "`" not in said
    assert "next state" in said or "highest state" in said


def test_rules_are_added_ordered_and_taken_out():
    made = open_document("keydoor-9x9")
    before = made.buffer.text
    add(made, HAPPENS, "actuate_box")
    becomes(made, made.rules.move_rule(rule(made, HAPPENS, 4), -2))
    listed = ["move_agent", "turn_agent", "actuate_box", "actuate_door", "pickndrop"]
    assert names(made, HAPPENS) == listed
    assert made.rules.move_rule(rule(made, HAPPENS, 0), -1) == made.buffer.text
    for _ in range(2):
        becomes(made, made.rules.remove_rule(rule(made, HAPPENS, 2)))
    assert names(made, HAPPENS) == ["move_agent", "turn_agent", "pickndrop"]
    assert not made.faults
    comments = [line for line in before.splitlines() if line.startswith("#")]
    assert [line for line in made.buffer.text.splitlines() if line.startswith("#")] == comments


def test_a_second_end_makes_it_any_of_these():
    made = new_document("coins")
    add(made, ENDS, "reach_exit")
    assert made.rules.combination(ENDS) == "any of these"
    assert names(made, ENDS) == ["none_left", "reach_exit"]
    add(made, ENDS, "overlap")
    assert names(made, ENDS) == ["none_left", "reach_exit", "overlap"]
    for number in (2, 1):
        becomes(made, made.rules.remove_rule(rule(made, ENDS, number)))
    assert made.rules.combination(ENDS) == ""
    assert made.buffer.text == new_document("coins").buffer.text
    with pytest.raises(EditError, match="Something has to end it"):
        made.rules.remove_rule(rule(made, ENDS, 0))
    becomes(made, made.rules.remove_rule(rule(made, WINS, 0)))
    assert not made.rules.rules(WINS)
    add(made, WINS, "reach_exit")
    assert names(made, WINS) == ["reach_exit"]
    assert not made.faults


def test_parameters_are_set_and_left_out():
    made = new_document("room")
    moves = rule(made, HAPPENS, 0)
    becomes(made, made.rules.set_argument(moves, "for", "bob"))
    assert "  - {name: move_agent, for: bob}\n" in made.buffer.text
    assert made.faults[0].place.path == "transition_functions[0].for"
    pays = rule(made, PAYS, 0)
    becomes(made, made.rules.set_argument(pays, "reward_on", None))
    assert "  - {name: reach_exit}\n" in made.buffer.text


@pytest.mark.thorough
def test_every_rule_can_be_added_to_a_level():
    """What must be given is given an example, which may not fit this level."""
    for part in RULE_PARTS:
        for known in new_document("keydoor").rules.available_rules(part):
            made = new_document("keydoor")
            add(made, part, known.name)
            told = " ".join(fault.message for fault in made.faults)
            words = (
                "has no orientations",
                "mission: missing",
                "have the same layer",
                "need several agents",
                "only several agents have names",
                "an agent that is alone is never out of play",
            )
            assert not told or any(map(told.count, words)), (known.name, told)


def test_rules_about_numbers_need_one():
    offered = {each.name for each in new_document("keydoor").rules.available_rules(HAPPENS)}
    assert not offered & {"hurt", "spend", "cool_down"}
    made = open_document("hunter")
    assert not made.faults
    hurts = rule(made, HAPPENS, len(names(made, HAPPENS)) - 1).description
    assert "cooldown of 3 steps" in hurts
    for name in ("heal", "spend", "cool_down"):
        add(made, HAPPENS, name)
        assert not made.faults
    assert "{name: heal, object_type: Door, number: Health.points}" in made.buffer.text


def test_rules_of_what_is_extended_are_said_before_they_are_changed():
    extending = EditorDocument(TextBuffer("extends: empty-8x8\n"))
    becomes(extending, extending.rules.move_rule(rule(extending, HAPPENS, 0), 1))
    assert names(extending, HAPPENS)[:2] == ["turn_agent", "move_agent"]
    assert not extending.faults


def test_fields_are_made_from_the_schema():
    words = new_document("room").vocabulary
    told = make_field("color", Key("Its colour.", COLOR), "RED", words)
    assert (told.next_choice(1), told.next_choice(-1)) == ("GREEN", "NONE")
    told = make_field("turns", Key("Who.", enum_schema(["a", "b"]), required=True), "b", words)
    assert (told.next_choice(1), told.next_choice(-1)) == ("a", "a")
    assert make_field("is", Key("Whether.", BOOLEAN), None, words).choices == (True, False)
    schema = any_of(integer_schema(1, 9), {"type": "null"})
    told = make_field("number", Key("How many.", schema), 4, words)
    assert told.expected == "a whole number from 1 to 9 or nothing"
    assert told.parse("7") == 7
    with pytest.raises(EditError, match="number: not valid YAML"):
        told.parse("[7")
    assert make_field("says", Key("What.", TEXT), None, words).parse("7: on") == "7: on"


def test_all_keys_of_levels_and_rules_have_fields():
    made = open_document("keydoor-9x9")
    for told in form_fields(made.format.keys, made.values, made.vocabulary):
        assert told.description, told
        assert told.choices or told.expected or told.is_text, told
    system = system_of(reduce_any)
    assert system
    for part in RULE_PARTS:
        for each in made.rules.rules(part):
            assert {*each.arguments} <= {*made.rules.argument_table(each)}


@pytest.mark.parametrize(
    ("level", "name", "sentence"),
    [
        (
            "crates",
            "push",
            "Push a crate out of the way of a move, into a free cell or into",
        ),
        ("levers", "follow", "Set gates to the highest state that a lever in the same colour has"),
        ("levers", "switch", "Set the lever ahead to its next state"),
        ("coins", "none_left", "No more than 2 coins are left on the grid."),
        ("coins", "living_reward", "Pays -0.05 in every step."),
        ("keydoor-5x5", "reach_exit", "Pays 5 while the agent stands on an exit, else 0."),
    ],
)
def test_a_rule_is_a_sentence_with_its_parameters(level: str, name: str, sentence: str):
    rules = open_document(level).rules
    told = [r.description for part in RULE_PARTS for r in rules.rules(part) if r.name == name]
    assert any(text.startswith(sentence) for text in told), told


def test_states_stay_names_whatever_is_edited():
    made = open_document("levers")
    lever = made.values["objects"]["Lever"]
    assert lever["states"] == ["OFF", "ON"]
    made.set_value(("objects", "Lever"), {**lever, "sprite": "lever"})
    assert made.values["objects"]["Lever"]["states"] == ["OFF", "ON"]
    assert "false" not in made.buffer.text.partition("legend")[0]
    assert made.scenario is not None
    (kind,) = [t for t in made.vocabulary.types if t.name == "Lever"]
    assert kind.states == ("OFF", "ON")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[OFF, ON]", ["OFF", "ON"]),
        ("[no, yes]", ["no", "yes"]),
        ("[true, false]", [True, False]),
        ("yes", True),
        ("OFF", "OFF"),
        ("{a: [Off], b: on}", {"a": ["Off"], "b": True}),
    ],
)
def test_typed_words_can_be_names(text: str, value: object):
    assert parse_value(text, keeps_words=True) == value


def test_marks_of_faults_move_with_their_rule():
    path = ("reward_functions", 1)
    assert swap_fault_path("reward_functions[1].object_type", path, 1) == (
        "reward_functions[2].object_type"
    )
    assert swap_fault_path("reward_functions[2]", path, 1) == "reward_functions[1]"
    assert swap_fault_path("reward_functions[10]", path, 1) == "reward_functions[10]"
    assert swap_fault_path("legend.a", path, 1) == "legend.a"
