"""Rules told to players, from the docstrings of the systems that run."""

from gv_engine import Scenario
from gv_engine.families.grid.hooks import schedules
from gv_engine.reading.sentences import sections


def test_values_of_the_level_stand_behind_the_sentence():
    told = dict(sections(schedules(Scenario.load("keydoor-9x9"))))
    pays = dict(told["What pays"])
    assert pays["living reward"] == "The same for every step. (reward -0.05)"
    assert "object type Exit" in pays["getting closer"]
    assert dict(told["What happens"])["actuate door"].endswith("(on action ACTUATE)")
    assert dict(told["What wins"])["reach exit"] == "The agent stands on an exit."


def test_rules_that_members_share_are_told_once():
    told = dict(sections(schedules(Scenario.load("keydoor-sizes"))))
    assert told == dict(sections(schedules(Scenario.load("keydoor-9x9"))))
