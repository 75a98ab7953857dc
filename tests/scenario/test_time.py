"""Real time: the key `time`, its action WAIT in environments, and beats in sessions."""

import math
from typing import Any

import numpy as np
import pytest

from gv_engine import GridEnv, Scenario
from gv_engine.play.session.batch_viewer import BatchViewer
from gv_engine.play.session.controller import PlayController
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from tests.scenario.reading import find_problems

FIRE: dict[str, Any] = {
    "map": "f.^.\n.#E.",
    "legend": {"f": "Fire"},
    "objects": {"Fire": {"components": ["Solid"]}},
    "time": {"beat": 5},
    "action_space": ["MOVE_FORWARD", "MOVE_BACKWARD"],
    "transition_functions": ["move_agent", {"name": "spread", "object_type": "Fire"}],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "fully_transparent", "area": 2, "turns": False},
    "terminating_function": "reach_exit",
}

OTHER = {**FIRE, "map": "f.^E"}


@pytest.mark.compiled
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_an_agent_can_wait_for_a_beat(world: str):
    env = GridEnv(Scenario.load(FIRE), world=world)
    _, info = env.reset(seed=0)
    assert env.scenario.action_names == ("MOVE_FORWARD", "MOVE_BACKWARD", "WAIT")
    assert info["action_mask"].tolist() == [0, 1, 1]
    observation, _, _, _, _ = env.step(2)
    played = Session(Scenario.load(FIRE), 0)
    played.step("WAIT")
    assert np.array_equal(observation["grid"], played.frame().observation)
    assert played.action_indices("WAIT") == 2
    again = Replay.from_bytes(played.replay().to_bytes())
    assert Session.from_replay(again, Scenario.load(FIRE)).difference is None


@pytest.mark.parametrize(
    ("time", "problem"),
    [
        (6, "time: found 6, expected {beat: 6} for 6 steps a second"),
        ({}, "time: found a mapping, expected {beat: 6} for 6 steps a second"),
        ({"beat": 0}, "time.beat: found 0, allowed are 1 to 60"),
        ({"beat": 2.5}, "time.beat: found 2.5, expected a whole number"),
        ({"beat": 6, "beats": 1}, "time.beats: unknown key 'beats'; did you mean 'beat'?"),
    ],
)
def test_wrong_times_are_refused(time: Any, problem: str):
    assert find_problems({**FIRE, "time": time})[0].startswith(f"<mapping>: {problem}")


def test_rules_of_states_cannot_wait(tmp_path):
    (tmp_path / "rules.py").write_text(
        "from gv_engine.gridverse import reward_function_registry\n"
        "@reward_function_registry.register\n"
        "def pay(state, action, next_state, *, rng=None):\n    return 1.0\n"
    )
    level = {**FIRE, "reward_functions": ["./rules.py:pay"]}
    (problem,) = find_problems(level, tmp_path)
    assert "time: agents cannot wait for pay; allowed are rules that take a world" in problem


def test_wait_is_no_action_of_authors():
    for name, message in (("WAIT", "no action 'WAIT'"), ({"name": "WAIT"}, "WAIT is built in")):
        level = {**FIRE, "action_space": ["MOVE_FORWARD", name]}
        assert message in find_problems(level)[0]


def test_a_mixture_runs_in_the_time_of_its_members():
    mixture = Scenario.load({"mixture": [{"scenario": FIRE}, {"scenario": OTHER}]})
    assert (mixture.beat, mixture.action_names[-1]) == (5, "WAIT")
    own = Scenario.load({"mixture": [{"scenario": FIRE}], "action_space": ["MOVE_LEFT"]})
    assert own.action_names == ("MOVE_LEFT", "WAIT")
    timeless = {key: value for key, value in OTHER.items() if key != "time"}
    (problem,) = find_problems({"mixture": [{"scenario": FIRE}, {"scenario": timeless}]})
    assert "has the actions MOVE_FORWARD, MOVE_BACKWARD, and" in problem


def test_time_runs_from_the_beginning_and_stops_on_request():
    controller = PlayController(Session(Scenario.load(FIRE), 0))
    controller.schedule_next_step(10.0, speed=60)
    assert controller.seconds_to_step(10.0) == pytest.approx(1 / 5)
    controller.toggle_real_time()
    assert controller.seconds_to_step(10.0) == math.inf
    other = PlayController(Session(Scenario.load("empty-4x4"), 0))
    other.schedule_next_step(10.0, speed=60)
    assert other.seconds_to_step(10.0) == math.inf
    other.toggle_real_time()
    assert other.seconds_to_step(10.0) == pytest.approx(1 / 60)


@pytest.mark.compiled
def test_many_worlds_are_watched_in_the_time_of_the_level():
    worlds = BatchViewer(Scenario.load(FIRE), 2)
    assert worlds.pace == 5
    worlds.close()
