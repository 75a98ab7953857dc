"""What `gv-engine check` tells of rules that touch what they may not."""

import pytest

from gv_engine import Scenario
from gv_engine.play.validation.contracts import find_broken_contracts
from tests import DATA

RULES = "./promises.py:"
ROOM = {
    "map": ">d.\n...",
    "transition_functions": ["move_agent"],
    "reward_functions": ["living_reward"],
    "observation_function": {"name": "fully_transparent", "area": [[-1, 0], [0, 0]]},
    "terminating_function": "reach_exit",
}
ENGINES = "a transition function, writes w.{}, which is set by the engine; rules only read it"


def told(key: str, name: str) -> list[str]:
    listed = [*ROOM[key], RULES + name]
    return find_broken_contracts(Scenario.load({**ROOM, key: listed}, folder=DATA), episodes=1)


def line(text: str) -> int:
    lines = (DATA / "promises.py").read_text("utf-8").splitlines()
    return lines.index(next(each for each in lines if text in each)) + 1


@pytest.mark.parametrize(
    ("phase", "name", "at", "says"),
    [
        ("transition", "try_luck", "lucky", "the when of try_luck, draws by chance"),
        ("transition", "turn_first", "turning", "the when of turn_first, edits the state"),
        (
            *("reward", "remember_mark", "leaving_a_mark"),
            "the remember of remember_mark, edits the state",
        ),
    ],
)
def test_a_condition_and_a_memory_only_look(phase: str, name: str, at: str, says: str):
    (report,) = told(f"{phase}_functions", name)
    assert report.startswith(f"{at} ({DATA / 'promises.py'}:{line(f'def {at}')}), {says}")


@pytest.mark.parametrize(
    ("name", "figure"),
    [("end_it", "terminated"), ("pay", "reward"), ("hurry", "steps"), ("act_for_you", "action")],
)
def test_what_the_engine_sets_is_no_rule_s_to_write(name: str, figure: str):
    place = f"{DATA / 'promises.py'}:{line(f'def {name}(') - 1}"  # its decorator's
    assert f"{name} ({place}), {ENGINES.format(figure)}" in told("transition_functions", name)


def test_what_a_rule_keeps_in_its_module_is_told():
    (report,) = told("transition_functions", "count_calls")
    assert "a transition function, changes the global 'calls', which no reset or snapshot" in report


def test_what_transitions_may_do_is_no_fault():
    assert told("transition_functions", "keep_to_yourself") == []
