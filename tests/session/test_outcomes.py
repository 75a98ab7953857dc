"""What actions would do and pay."""

import numpy as np
import pytest

from components.objects import KEY
from gv_engine import Scenario
from gv_engine.rules.geometry import named_action
from gv_engine.session.inspection import ActionPreview, world_differences
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


def test_what_an_action_does_is_told_in_words():
    scenario = Scenario.load({**ROOM, "name": "room"})
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    trial = ActionPreview(scenario)
    row = simulation.world.snapshot()
    before = row.copy()
    found = trial.outcomes(row)
    assert found["MOVE_FORWARD"].effects == ("goes to row 1, column 2",)
    assert found["ACTUATE"].effects == ()
    assert found["MOVE_FORWARD"].terms == {"living_reward": -0.05}
    assert found["TURN_RIGHT"].effects == ("looks backward",)
    assert found["PICK_N_DROP"].effects == ("takes the yellow key",)
    assert (row == before).all()
    simulation.step(named_action("PICK_N_DROP"))
    simulation.step(named_action("MOVE_FORWARD"))
    found = trial.outcomes(simulation.world.snapshot())
    assert found["ACTUATE"].effects == ("the locked yellow door becomes a open yellow door",)
    assert found["PICK_N_DROP"].effects == ()


def test_the_end_is_told():
    ends = {**ROOM, "name": "end", "map": "####\n#>E#\n####", "legend": {}}
    scenario = Scenario.load(ends)
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    found = ActionPreview(scenario).outcomes(simulation.world.snapshot())
    assert found["MOVE_FORWARD"].ending == "You reached the exit"
    assert found["MOVE_FORWARD"].reward > 0
    assert found["TURN_LEFT"].ending == ""


def test_a_rule_that_fails_is_told_and_pays_nothing(tmp_path):
    rules = (
        "from gv_engine import TRANSITION, system\n\n@system(TRANSITION)\ndef fails(w, agent):\n"
    )
    (tmp_path / "rules.py").write_text(rules + "    1 // (w.action[agent] - w.action[agent])\n")
    changes = {"transition_functions": [*ROOM["transition_functions"], "./rules.py:fails"]}
    scenario = Scenario.load({**ROOM, **changes, "name": "fails"}, tmp_path)
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    for found in ActionPreview(scenario).outcomes(simulation.world.snapshot()).values():
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
    rule = (
        "from gv_engine import TRANSITION, system\n\n@system(TRANSITION)\ndef acts(w, agent):\n"
        "    key, door = w.at[1, 2], w.at[1, 3]\n"
    )
    (tmp_path / "rules.py").write_text(f"{rule}    {line}\n")
    changes = {"transition_functions": ["./rules.py:acts"], "action_space": ["TURN_LEFT"]}
    scenario = Scenario.load({**ROOM, **changes, "name": "acts"}, tmp_path)
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    (found,) = ActionPreview(scenario).outcomes(simulation.world.snapshot()).values()
    assert (found.effects, found.problem) == (EFFECTS[line], "")
    assert found.terms == {"living_reward": -0.05}
    assert found.reward == -0.05


# ---- worlds that differ ------------------------------------------------------------------------


def a_world(**changes):
    simulation = Simulation(Scenario.load({**ROOM, "name": "room", **changes}))
    simulation.reset(np.random.default_rng(0))
    return simulation.world


def put(w, e, y, x):
    w.lift(e)
    w.place(e, y, x)


DIFFERENCES = {
    "nothing": (lambda w, key, door: None, [], []),
    "facing": (
        lambda w, key, door: w.agent.facing.__setitem__(1, 1),
        ["agent looks backward, looked right"],
        ["agent looks right, looked backward"],
    ),
    "place": (
        lambda w, key, door: put(w, key, 2, 1),
        ["yellow key at row 2, column 1, was at row 1, column 2"],
        ["yellow key at row 1, column 2, was at row 2, column 1"],
    ),
    "nowhere": (
        lambda w, key, door: w.lift(key),
        ["yellow key at nowhere, was at row 1, column 2"],
        ["yellow key at row 1, column 2, was at nowhere"],
    ),
    "agent": (
        lambda w, key, door: put(w, 1, 2, 1),
        ["agent at row 2, column 1, was at row 1, column 1"],
        ["agent at row 1, column 1, was at row 2, column 1"],
    ),
    "held": (
        lambda w, key, door: (w.lift(key), w.agent.holding.__setitem__(1, key)),
        ["agent holds yellow key, held nothing"],
        ["agent holds nothing, held yellow key"],
    ),
    "gone": (
        lambda w, key, door: w.remove(key),
        ["no yellow key, was there"],
        ["yellow key at row 1, column 2, was not there"],
    ),
    "look": (
        lambda w, key, door: w.set_state(door, 0),
        ["open yellow door at row 1, column 3, was locked yellow door"],
        ["locked yellow door at row 1, column 3, was open yellow door"],
    ),
    "component": (
        lambda w, key, door: w.add(key, "door"),
        ["yellow key at row 1, column 2 has Door, lacked it"],
        ["yellow key at row 1, column 2 lacks Door, had it"],
    ),
    "of the agent": (
        lambda w, key, door: w.add(1, "door"),
        ["agent has Door, lacked it"],
        ["agent lacks Door, had it"],
    ),
    "draws": (
        lambda w, key, door: w.rng.random(),
        ["random draws: more or fewer of them"],
        ["random draws: more or fewer of them"],
    ),
    "two": (
        lambda w, key, door: (w.remove(key), w.agent.facing.__setitem__(1, 0), w.rng.random()),
        ["agent looks forward, looked right", "no yellow key, was there"],
        ["agent looks right, looked forward", "yellow key at row 1, column 2, was not there"],
    ),
}


@pytest.mark.parametrize("what", DIFFERENCES)
def test_what_differs_is_told_in_sentences(what):
    was, now = a_world(), a_world()
    change, there, back = DIFFERENCES[what]
    with now.context:
        change(now, now.at[1, 2], now.at[1, 3])
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
    low, wide = a_world(map="#####\n#>kD#\n#####"), a_world(map="######\n#>kD.#\n######")
    assert world_differences(low, wide)[0] == "the grid has 3 × 6 cells, was 3 × 5"


def test_what_differs_of_several_is_told_by_their_names():
    was, now = (
        a_world(map="####\n#>>#\n#..#\n####", agents={"names": ["ann", "bob"]}) for _ in range(2)
    )
    with now.context:
        put(now, 1, 2, 1)
        now.agent.facing[2] = 0
    assert world_differences(was, now, ("ann", "bob")) == [
        "ann at row 2, column 1, was at row 1, column 1",
        "bob looks forward, looked right",
    ]
