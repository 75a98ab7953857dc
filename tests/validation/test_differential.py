"""Worlds that a rule leaves inconsistent are found at the step that did it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gv_engine import Scenario
from gv_engine.play.validation import differential
from gv_engine.play.validation.differential import Report, find_row_fault, run_differential_test
from tests.scenario.reading import RULES, begin

RULE = """
from components.objects import KEY
from gv_engine import TRANSITION, World, system


@system(TRANSITION)
def stray(w: World, first: int, fails: int, what: str) -> None:
    \"\"\"From a step on, a key says that it is elsewhere; from another on, the rule fails.\"\"\"
    if w.steps >= first:
        for e in range(2, w.capacity):
            if w.alive[e] and w.kind.value[e] == KEY:
                w.position.x[e] = 2
    if w.steps >= fails:
        if what == "raise":
            raise KeyError("lost")
        w.placed[KEY] = 7
"""
FAULT = "has the position (1, 2), where w.at has it not"


def load(folder: Path, **arguments: int | str) -> Scenario:
    """A walk in which a rule harms the world."""
    (folder / "rules.py").write_text(RULE)
    harms = {"name": "./rules.py:stray", **arguments}
    rules = {**RULES, "transition_functions": ["turn_agent", harms], "max_steps": 90}
    return Scenario.load({**rules, "map": "#######\n#>..KE#\n#######"}, folder)


@pytest.mark.parametrize("waiting", [1, 4, 32])
@pytest.mark.parametrize("what", ["raise", "count"])
@pytest.mark.parametrize(("first", "fails"), [(0, 90), (6, 90), (6, 8), (40, 41)])
def test_the_first_step_that_harms_a_world_is_told(
    waiting: int, what: str, first: int, fails: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """However many rows are checked at once, and whatever happens afterwards."""
    monkeypatch.setattr(differential, "_MAX_WAITING", waiting)
    scenario = load(tmp_path, first=first, fails=fails, what=what)
    report = run_differential_test(scenario, episodes=2, compiled=False)
    assert FAULT in report.fault
    assert report.fault.startswith(f"seed 0, step {first + 1}, ")
    assert report._replace(fault="") == Report(1, first, "")


def test_an_error_without_harm_is_told(tmp_path: Path):
    scenario = load(tmp_path, first=99, fails=3, what="raise")
    report = run_differential_test(scenario, compiled=False)
    assert report.fault.startswith("seed 0, step 4, ")
    assert "lost" in report.fault


def test_harm_in_a_batch_is_told(tmp_path: Path):
    scenario = load(tmp_path, first=2, fails=99, what="count")
    fault = differential._find_batch_fault(scenario, "object", 20, 0)
    assert fault.startswith("turn 4 of 4 object worlds: ")
    assert FAULT in fault


def test_a_wrong_count_is_told_of_one_of_several_rows(tmp_path: Path):
    scenario = load(tmp_path, first=99, fails=99, what="count")
    row = begin(scenario).world.snapshot()
    rows = row.repeat(3)
    assert find_row_fault(scenario, rows) == find_row_fault(scenario, row) == ""
    rows["placed"][1, 4] += 5
    said = f"w.placed[4] is {rows['placed'][1, 4]}, but {row['placed'][4]} by the objects"
    fault = find_row_fault(scenario, rows)
    assert fault == find_row_fault(scenario, rows[1])
    assert fault.startswith(said)


PAYING = """
import math
from gv_engine import REWARD, World, system


@system(REWARD)
def pay(w: World, agent: int) -> float:
    return {returned}
"""


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        ("w.steps == 2", ""),  # a truth value, compiled as a number
        ("math.nan if w.steps == 2 else 0.0", "pay returned nan; a reward is a finite number"),
        ("math.inf if w.steps == 2 else 0.0", "pay returned inf; a reward is a finite number"),
    ],
)
def test_rewards_are_finite_numbers_or_truth_values(returned: str, fault: str, tmp_path: Path):
    (tmp_path / "rules.py").write_text(PAYING.format(returned=returned))
    level = {**RULES, "map": "#####\n#>.E#\n#####", "reward_functions": ["./rules.py:pay"]}
    report = run_differential_test(Scenario.load(level, tmp_path), episodes=1)
    assert report.fault.partition(": ")[2] == fault


@pytest.mark.parametrize(("side", "steps"), [(9, 200), (65, 200), (129, 63), (512, 10)])
def test_large_grids_have_fewer_steps(side, steps):
    reset = {"reset_function": {"name": "empty", "shape": [side, side]}}
    scenario = Scenario.load({**RULES, **reset, "max_shape": [side, side]})
    assert abs(differential._get_max_steps(scenario) - steps) <= steps // 10
