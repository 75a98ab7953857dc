"""What actions would do and pay."""

import numpy as np

from gv_engine import Scenario
from gv_engine.rules.geometry import named_action
from gv_engine.session.action_preview import ActionPreview
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
