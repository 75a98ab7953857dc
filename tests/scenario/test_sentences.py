"""Rules told to players, from the docstrings of the systems that run."""

import pytest

from gv_engine import Scenario
from gv_engine.play.grid.hooks import list_schedules
from gv_engine.scenario.reference_docs import list_rule_sections


def test_values_of_the_level_stand_behind_the_sentence():
    told = dict(list_rule_sections(list_schedules(Scenario.load("keydoor-9x9"))))
    pays = dict(told["What pays"])
    assert pays["living reward"] == "Pays -0.05 in every step."
    assert pays["reach exit"] == "Pays 5 while the agent stands on an exit, else 0."
    assert pays["getting closer"].startswith("Pays 0.2 for a step closer to the one exit, and")
    assert dict(told["What happens"])["actuate door"].endswith("(on action ACTUATE)")
    assert dict(told["What wins"])["reach exit"] == "The agent stands on an exit."


def test_things_are_called_by_their_names_and_what_a_level_lacks_is_left_out():
    scenario = Scenario.load("puzzles-hard#11")
    told = dict(list_rule_sections(list_schedules(scenario), scenario.types))
    happens = told["What happens"]
    assert dict(happens)["patrol"].startswith("Guards move in the direction they face")
    assert dict(happens)["push"].startswith(
        "Push a crate out of the way of a move, into a free cell"
    )
    assert "an agent that moves onto ice slide on in that direction" in dict(happens)["slide"]
    assert dict(happens)["let pass"].startswith("A one way lets the agent in")
    assert [says for name, says in told["What ends it"] if name == "overlap"] == [
        "The agent stands on a guard.",
        "The agent stands on lava.",
    ]
    lacks = {kind.index for kind in scenario.types if kind.name not in ("Guard", "Exit")}
    told = dict(list_rule_sections(list_schedules(scenario), scenario.types, lacks))
    assert [name for name, _ in told["What happens"]] == [
        *("move agent", "turn agent", "actuate door", "actuate box", "pickndrop", "teleport"),
        "patrol",
    ]


@pytest.mark.parametrize(
    ("level", "heading", "name", "sentence"),
    [
        (
            *("coins", "What ends it", "reduce all"),
            "All of several conditions hold. Made of: The agent stands on an exit; "
            "No more than 2 coins are left on the grid.",
        ),
        ("commons", "What happens", "spread", "A berry takes the place of every object of"),
        ("targets", "What wins", "all covered", "There are targets, and each shares its cell with"),
    ],
)
def test_values_and_names_stand_within_the_sentence(
    level: str, heading: str, name: str, sentence: str
):
    scenario = Scenario.load(level)
    told = dict(list_rule_sections(list_schedules(scenario), scenario.types))
    assert dict(told[heading])[name].startswith(sentence)
    assert "`" not in dict(told[heading])[name]


def test_rules_that_members_share_are_told_once():
    told = dict(list_rule_sections(list_schedules(Scenario.load("keydoor-sizes"))))
    assert told == dict(list_rule_sections(list_schedules(Scenario.load("keydoor-9x9"))))
