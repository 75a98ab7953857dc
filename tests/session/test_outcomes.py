"""What actions would do and pay."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.objects import KEY
from gv_engine import AGENT, Scenario
from gv_engine.play.session.inspection import ActionPreview, Outcome, world_differences
from gv_engine.rules.geometry import named_action
from gv_engine.world.simulation import Simulation

ROOM = {
    "map": "######\n#>kD.#\n#.R.E#\n######",
    "state_space": {
        "objects": ["Wall", "Floor", "Exit", "Door", "Key", "MovingObstacle"],
        "colors": ["NONE", "YELLOW"],
    },
    "legend": {
        "k": {"object": "Key", "color": "YELLOW"},
        "D": {"object": "Door", "state": "LOCKED", "color": "YELLOW"},
        "R": "MovingObstacle",
    },
    "action_space": ["MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT", "ACTUATE", "PICK_N_DROP"],
    "transition_functions": ["move_agent", "turn_agent", "actuate_door", "pickndrop"],
    "reward_functions": [{"name": "living_reward", "reward": -0.05}, {"name": "reach_exit"}],
    "terminating_function": "reach_exit",
    "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
}


def begun(folder: Path | None = None, **changes: Any) -> Simulation:
    """The room with these changes, at its beginning."""
    simulation = Simulation(Scenario.load({**ROOM, "name": "room", **changes}, folder))
    simulation.reset(np.random.default_rng(0))
    return simulation


def previews(simulation: Simulation) -> dict[str, Outcome]:
    """What each action would do now."""
    return ActionPreview(simulation.scenario).outcomes(simulation.world.snapshot())


def test_what_an_action_does_is_told_in_words():
    simulation = begun()
    trial = ActionPreview(simulation.scenario)
    row = simulation.world.snapshot()
    before = row.copy()
    found = trial.outcomes(row)
    assert found["MOVE_FORWARD"].effects == ("goes to row 1, column 2",)
    assert found["ACTUATE"].effects == ()
    assert found["MOVE_FORWARD"].terms == {"living_reward": -0.05}
    assert found["TURN_RIGHT"].effects == ("looks backward",)
    assert found["PICK_N_DROP"].effects == ("takes the yellow key",)
    assert (row == before).all()
    for action in ("PICK_N_DROP", "MOVE_FORWARD"):
        simulation.step(named_action(action))
    found = previews(simulation)
    assert found["ACTUATE"].effects == ("the locked yellow door becomes a open yellow door",)
    assert found["PICK_N_DROP"].effects == ()


def test_the_end_is_told():
    found = previews(begun(map="####\n#>E#\n####", legend={}))
    assert found["MOVE_FORWARD"].ending == "You reached the exit"
    assert found["MOVE_FORWARD"].reward > 0
    assert found["TURN_LEFT"].ending == ""


RULE = """
from gv_engine import TRANSITION, system

@system(TRANSITION)
def acts(w, agent):
    key, door = w.at[1, 2], w.at[1, 3]
    {line}
"""


def test_a_rule_that_fails_is_told_and_pays_nothing(tmp_path):
    (tmp_path / "rules.py").write_text(RULE.format(line="1 // (door - door)"))
    for found in previews(begun(tmp_path, transition_functions=["./rules.py:acts"])).values():
        assert found[:4] == ((), 0.0, {}, "")
        assert "division" in found.problem or "by zero" in found.problem


EFFECTS = {
    "pass": (),
    "w.agent.facing[agent] = 2": ("looks left",),
    "w.lift(agent); w.place(agent, 2, 1)": ("goes to row 2, column 1",),
    "w.lift(key)": ("the yellow key leaves the grid",),
    "w.lift(key); w.place(key, 2, 1)": ("the yellow key goes to row 2, column 1",),
    "w.lift(key); w.agent.holding[agent] = key": ("takes the yellow key",),
    "w.remove(key)": ("the yellow key is gone",),
    "w.place(w.spawn(w.kind.value[key]), 2, 1)": ("a key appears",),
    "w.color.value[key] = 0": ("the yellow key becomes a key",),
    "w.set_state(door, 0)": ("the locked yellow door becomes a open yellow door",),
    "w.add(agent, 'door')": ("gets Door",),
    "w.add(key, 'door')": ("the yellow key gets Door",),
    "w.take(key, 'key')": ("the yellow key loses Key",),
}


@pytest.mark.parametrize("line", EFFECTS)
def test_effects_are_told_whoever_they_are_of(tmp_path, line):
    (tmp_path / "rules.py").write_text(RULE.format(line=line))
    changes = {"transition_functions": ["./rules.py:acts"], "action_space": ["TURN_LEFT"]}
    (found,) = previews(begun(tmp_path, **changes)).values()
    assert (found.effects, found.problem) == (EFFECTS[line], "")
    assert found.terms == {"living_reward": -0.05}
    assert found.reward == -0.05


# ---- worlds that differ ------------------------------------------------------------------------


def a_world(**changes: Any) -> Any:
    return begun(**changes).world


AT, THERE = "row 1, column 2", "row 2, column 1"
DRAWS = "random draws: more or fewer of them"
DIFFERENCES = [
    ("pass", [], []),
    (
        "w.agent.facing[agent] = 1",
        ["agent looks backward, looked right"],
        ["agent looks right, looked backward"],
    ),
    (
        "w.lift(key); w.place(key, 2, 1)",
        [f"yellow key at {THERE}, was at {AT}"],
        [f"yellow key at {AT}, was at {THERE}"],
    ),
    (
        "w.lift(key)",
        [f"yellow key at nowhere, was at {AT}"],
        [f"yellow key at {AT}, was at nowhere"],
    ),
    (
        "w.lift(agent); w.place(agent, 2, 1)",
        [f"agent at {THERE}, was at row 1, column 1"],
        [f"agent at row 1, column 1, was at {THERE}"],
    ),
    (
        "w.lift(key); w.agent.holding[agent] = key",
        ["agent holds yellow key, held nothing"],
        ["agent holds nothing, held yellow key"],
    ),
    (
        "w.set_state(door, 0)",
        ["open yellow door at row 1, column 3, was locked yellow door"],
        ["locked yellow door at row 1, column 3, was open yellow door"],
    ),
    (
        "w.add(key, 'door')",
        [f"yellow key at {AT} has Door, lacked it"],
        [f"yellow key at {AT} lacks Door, had it"],
    ),
    ("w.add(agent, 'door')", ["agent has Door, lacked it"], ["agent lacks Door, had it"]),
    ("w.rng.random()", [DRAWS], [DRAWS]),
    (
        "w.remove(key); w.agent.facing[agent] = 0; w.rng.random()",
        ["agent looks forward, looked right", "no yellow key, was there"],
        ["agent looks right, looked forward", f"yellow key at {AT}, was not there"],
    ),
]


@pytest.mark.parametrize(("line", "there", "back"), DIFFERENCES)
def test_what_differs_is_told_in_sentences(line: str, there: list[str], back: list[str]):
    was, now = a_world(), a_world()
    with now.context:
        exec(line, {"w": now, "agent": AGENT, "key": now.at[1, 2], "door": now.at[1, 3]})
    assert world_differences(was, now) == there
    assert world_differences(now, was) == back


def test_more_than_six_things_that_moved_are_told_cell_by_cell():
    was, now = (a_world(map="######\n#>...#\n#....#\n######") for _ in range(2))
    cells = [(2, 1), (2, 2), (2, 3), (2, 4), (1, 2), (1, 3)]
    with now.context:
        for y, x in cells:
            now.place(now.spawn(KEY), y, x)
        now.agent.facing[1] = 1
        turned = "agent looks backward, looked right"
        each = [f"key at row {y}, column {x}, was not there" for y, x in cells]
        assert world_differences(was, now) == [turned, *each]
        now.place(now.spawn(KEY), 1, 4)
    rows = [f"key at row {y}, column {x}, was floor" for y, x in sorted([*cells, (1, 4)])]
    assert world_differences(was, now) == [turned, *rows]
    assert world_differences(now, was)[1] == "floor at row 1, column 2, was key"


def test_another_size_is_told_first_and_then_one_difference():
    was, now = a_world(), a_world(map="#####\n#>kD#\n#####")
    size, *others = world_differences(was, now)
    assert size == "the grid has 3 × 5 cells, was 4 × 6"
    assert len(others) == 1
    assert world_differences(now, was)[0] == "the grid has 4 × 6 cells, was 3 × 5"
    wide = a_world(map="######\n#>kD.#\n######")
    assert world_differences(now, wide)[0] == "the grid has 3 × 6 cells, was 3 × 5"


def test_what_differs_of_several_is_told_by_their_names():
    was, now = (
        a_world(map="####\n#>>#\n#..#\n####", agents={"names": ["ann", "bob"]}) for _ in range(2)
    )
    with now.context:
        now.lift(1)
        now.place(1, 2, 1)
        now.agent.facing[2] = 0
    assert world_differences(was, now, ("ann", "bob")) == [
        "ann at row 2, column 1, was at row 1, column 1",
        "bob looks forward, looked right",
    ]
