"""The game that the window plays."""

from pathlib import Path

import numpy as np
import pytest

from gv_engine import GridEnv, RuleError, Scenario
from gv_engine.frontend.window import Game as Wanted
from gv_engine.game import Game, Played
from gv_engine.geometry import ACTIONS


def game(name: str = "keydoor-5x5", seed: int | None = 200) -> Game:
    return Game(Scenario.load(name), seed)


def test_it_is_what_the_window_asks_for():
    made: Wanted = game()
    assert made.title == "keydoor-5x5"
    assert made.names(5, 2) == "door_locked"
    assert made.sprite_folders[0].name == "scenarios"


def test_it_plays_the_episodes_of_an_environment():
    env, played = GridEnv("keydoor-5x5", world="object"), game(seed=3)
    rng = np.random.default_rng(0)
    for seed in (3, 4):
        observation, _ = env.reset(seed=seed)
        assert played.seed == seed
        for _ in range(50):
            frame = played.frame()
            assert np.array_equal(frame.observation, observation["grid"])
            action = int(rng.integers(8))
            observation, reward, *_ = env.step(action)
            played.step(ACTIONS[action])
            assert played.frame().reward == reward
        assert played.frame().steps == 50
        played.reset()


def test_looking_again_changes_nothing():
    looked, ignored = game(), game()
    for action in ("TURN_LEFT", "MOVE_LEFT"):
        looked.frame()
        looked.frame()
        looked.step(action)
        ignored.step(action)
    assert np.array_equal(looked.frame().grid, ignored.frame().grid)


def test_the_goal_is_said_until_the_first_step():
    played = game()
    assert played.frame().message == "Find the key, open the door, reach the exit."
    played.step("TURN_LEFT")
    assert played.frame().message == ""
    played.reset()
    assert played.frame().message != ""


def test_an_action_that_the_scenario_lacks_is_no_step():
    played = game("empty-4x4")
    played.step("ACTUATE")
    assert played.frame().message == "Actuate: not in this level"
    assert played.frame().steps == 0
    played.step("TURN_LEFT")
    assert played.frame().message == ""


def test_episodes_without_a_step_do_not_count():
    played = game(seed=7)
    played.reset()
    assert (played.seed, played.played) == (8, [])
    played.step("TURN_LEFT")
    played.reset()
    assert (played.seed, played.played) == (9, [Played(8, 1, -0.05, "")])
    played.step("TURN_LEFT")
    assert [episode.seed for episode in played.played] == [8, 9]
    played.again()
    played.reset(seed=3)
    assert [episode.seed for episode in played.played] == [8, 9]
    assert played.seed == 3


def test_drawn_seeds_can_be_typed():
    seeds = {game(seed=None).seed for _ in range(5)}
    assert len(seeds) > 1
    assert max(seeds) < 10_000


def test_a_rule_that_fails_says_so(tmp_path: Path):
    (tmp_path / "rules.py").write_text(
        "from gv_engine import TRANSITION, system\n"
        "@system(TRANSITION)\n"
        "def give_up(w, agent):\n"
        "    w.fail('no more')\n"
    )
    (tmp_path / "scenario.yaml").write_text(
        "map: '>E'\n"
        "transition_functions: [{name: ./rules.py:give_up}]\n"
        "reward_functions: []\n"
        "observation_function: {name: fully_transparent, area: [[-1, 0], [0, 0]]}\n"
        "terminating_function: {name: reach_exit}\n"
    )
    played = game(str(tmp_path))
    with pytest.raises(RuleError, match="no more"):
        played.step("TURN_LEFT")
