"""What a success is, and how an episode has ended, in both worlds and wherever it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gv_engine
from gv_engine import AGENT, GridEnv, GridVectorEnv, Scenario, ScenarioError
from gv_engine.cli import main
from gv_engine.cli.play import summarize_episode
from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.policy import RandomPolicy
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.play.session.session import Session
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.plugins.algebra.gym_env import ExpressionEnv
from gv_engine.plugins.algebra.scenario import AlgebraScenario
from gv_engine.plugins.algebra.vector_env import ExpressionVectorEnv
from gv_engine.rules.geometry import MOVE_BACKWARD, MOVE_FORWARD, TURN_LEFT
from gv_engine.scenario.documents.document import read_mapping
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import get_plugin
from gv_engine.world.columns import RowWorld
from tests import DATA
from tests.boards import RULES

WORLDS = pytest.mark.parametrize("world", ["object", "compiled"])


def scenario(picture: str = "#>E", over: Any = "reach_exit", **keys: Any) -> Scenario:
    """A small level, ended by `over`."""
    return Scenario.load({**RULES, "map": picture, "terminating_function": over, **keys}, DATA)


def overlap(object_type: str, **more: str) -> dict[str, str]:
    return {"name": "overlap", "object_type": object_type, **more}


def tree(
    one: dict[str, str],
    other: dict[str, str],
    third: dict[str, str],
    success: str = "Exit",
    **more: str,
) -> Scenario:
    """Ends where one and the other are true, or the third, or at a wall: one program for all. Only
    the exit pays."""
    both = {"name": "reduce_all", "terminating_functions": [one, other]}
    over = {"name": "reduce_any", "terminating_functions": [both, third, "bump_into_wall"], **more}
    rewards = [{"name": "living_reward", "reward": 0.0}, *RULES["reward_functions"][1:]]
    won = overlap(success, says="You made it")
    return scenario("#>.E", over, success_function=won, reward_functions=rewards)


def ended(made: Scenario, world: str, *actions: int, max_steps: int | None = None) -> Any:
    """(terminated, success, ending) after these actions."""
    env = GridEnv(made, world=world, max_steps=max_steps)
    env.reset(seed=0)
    for action in actions:
        _, _, terminated, _, info = env.step(action)
    row = env.snapshot()
    # what is told is in the row, for undo, replays and pictures of compiled worlds
    assert bool(row["success"][AGENT]) is info.get("success", False)
    return terminated, info.get("success"), made.describe_ending(RowWorld(made.layout, row), AGENT)


ALGEBRA = {"domain": "algebra", "environment": "PolySimplify", "problem": "4x + 2x", "max_moves": 3}
"""One small problem."""


def algebra(**keys: Any) -> AlgebraScenario:
    """`ALGEBRA` with other keys."""
    return AlgebraScenario.read(read_mapping({**ALGEBRA, **keys}, DATA), {})


KEY, EXIT = overlap("Key"), overlap("Exit")
TO_EXIT = (MOVE_FORWARD, MOVE_FORWARD)
TO_WALL = (MOVE_BACKWARD,)


# ---- the key ---------------------------------------------------------------------------------


def test_the_starter_says_what_a_success_is():
    assert load_scenario(Path(gv_engine.__file__).parent / "cli" / "starter").tells_success


@WORLDS
def test_where_nothing_is_said_nothing_is_guessed(world):
    made = scenario()
    assert made.success is None
    assert not made.tells_success
    assert ended(made, world, MOVE_FORWARD) == (True, None, "You reached the exit")
    infos = GridVectorEnv(made, 2, world=world, episode_statistics=True)
    infos.reset(seed=0)
    *_, info = infos.step([MOVE_FORWARD] * 2)
    assert set(info["episode"]) == {"r", "l"}
    assert not {"success", "is_success"} & set(info)


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"success_function": ["reach_exit"]}, "found a list, expected one function"),
        ({"success_function": "reach_ext"}, "no terminating function 'reach_ext'.*reach_exit"),
        ({"success_function": "living_reward"}, "'living_reward' is a reward function"),
        ({"success_function": "esper:Processor"}, "esper:Processor: not loaded"),
        ({"success_function": {"name": "reach_exit", "says": [1]}}, "expected a text"),
    ],
)
def test_what_is_wrong_with_the_key_is_said(keys, fault):
    with pytest.raises(ScenarioError, match=fault):
        scenario(**keys)


# ---- both worlds -----------------------------------------------------------------------------


@WORLDS
def test_a_success_is_an_end_where_the_success_function_is_true(world):
    made = tree(KEY, KEY, EXIT)
    assert ended(made, world, TURN_LEFT) == (False, False, "")
    assert ended(made, world, *TO_EXIT) == (True, True, "You made it")
    assert ended(made, world, *TO_WALL) == (True, False, "You walked into a wall")
    cut = ended(made, world, TURN_LEFT, TURN_LEFT, max_steps=2)
    assert cut == (False, False, "Time is up")
    # being there without an end is no success
    assert ended(tree(KEY, KEY, KEY), world, *TO_EXIT) == (False, False, "")


@pytest.mark.sample("object")
@WORLDS
def test_what_is_remembered_is_measured_before_the_transitions(world):
    over = {"name": "reduce_any", "terminating_functions": ["reach_exit", "bump_into_wall"]}
    # which asks where the agent has stood, not where it stands now, before a wall
    made = scenario("#>E#", over, success_function="bump_into_wall")
    assert ended(made, world, MOVE_FORWARD)[:2] == (True, False)
    assert ended(made, world, MOVE_BACKWARD)[:2] == (True, True)


@WORLDS
@pytest.mark.parametrize(
    ("made", "said"),
    [
        (tree(KEY, KEY, {**EXIT, "says": "The wrong exit"}, "Key"), "The wrong exit"),
        (tree(KEY, KEY, EXIT, "Key"), "The end: overlap"),
        (tree(KEY, KEY, EXIT, "Key", says="That is that"), "That is that"),
        # what is nested in a test that is not true has ended nothing
        (tree({**EXIT, "says": "One"}, KEY, {**EXIT, "says": "Third"}, "Key"), "Third"),
        (tree({**EXIT, "says": "One"}, EXIT, {**EXIT, "says": "Third"}, "Key"), "One"),
    ],
)
def test_the_sentence_is_that_of_what_ended_the_episode(world, made, said):
    assert ended(made, world, *TO_EXIT) == (True, False, said)


@pytest.mark.parametrize(
    ("over", "success", "said"),
    [
        ("reach_exit", None, "You reached the exit"),
        ("./rules.py:nobody_is_left", None, "The end: nobody is left"),
        ("./rules.py:out_of_luck", None, "Your luck has run out"),
        ("reach_exit", "reach_exit", "Well done!"),
    ],
)
def test_an_end_and_a_success_have_words_of_their_own_or_a_name(over, success, said):
    key = {"success_function": success} if success else {}
    has_won = True if success else None
    assert ended(scenario(over=over, **key), "object", MOVE_FORWARD) == (True, has_won, said)


@pytest.mark.sample("object")
@WORLDS
@pytest.mark.parametrize("name", ["memory-5x5", "dynamic-obstacles-5x5", "medley-7x7"])
def test_only_the_good_exit_is_a_success(name, world):
    env = GridEnv(name, world=world, max_steps=60)
    rng = np.random.default_rng(0)
    seen = set()
    for seed in range(40):
        _, info = env.reset(seed=seed)
        terminated = truncated = False
        while not (terminated or truncated):
            assert info["success"] is info["is_success"] is False
            chosen = rng.integers(len(env.scenario.actions))
            _, _, terminated, truncated, info = env.step(chosen)
        terms = info["reward_terms"]
        paid = terms.get("reach_exit_memory", 0.0) > 0 or terms.get("reach_exit", 0.0) > 0
        assert info["success"] is info["is_success"] is (terminated and paid)
        seen.add((terminated, info["success"]))
    assert (True, False) in seen
    assert (True, True) in seen or name.startswith("dynamic")


@pytest.mark.thorough
@pytest.mark.compiled
def test_check_compares_it():
    # 2 << 62 needs more than the 64 bits of compiled numbers
    made = scenario("#>.E", "reach_exit", success_function="./rules.py:far_along")
    fault = run_differential_test(made, episodes=4).fault
    assert "object world: goes on" in fault
    assert "far_along" in fault
    assert "OverflowError" in fault


@pytest.mark.compiled
@WORLDS
def test_a_snapshot_knows_how_the_episode_ended(world):
    made = tree(KEY, KEY, EXIT)
    env = GridEnv(made, world=world)
    env.reset(seed=0)
    for action in TO_EXIT:
        env.step(action)
    row = env.snapshot()
    other = GridEnv(made, world="object" if world == "compiled" else "compiled")
    assert other.restore(row)[1]["success"] is True
    assert other.reset(seed=0)[1]["success"] is False
    row["ended_by"][AGENT] = 7
    with pytest.raises(ValueError, match="the snapshot is damaged: ended_by is 7"):
        other.restore(row)


# ---- vector environments -----------------------------------------------------------------------


@pytest.mark.sample("NextStep-True-object", "SameStep-False", "Disabled-True-object")
@WORLDS
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_vector_environments_tell_it_in_every_mode(world, mode, copy):
    options = {"autoreset_mode": mode, "copy": copy, "episode_statistics": True}
    envs = GridVectorEnv(tree(KEY, KEY, EXIT), 8, world=world, max_steps=10, **options)
    _, info = envs.reset(seed=0)
    assert not info["success"].any()
    assert info["_success"].all()
    rng = np.random.default_rng(0)
    good = bad = 0
    for _ in range(40):
        _, _, terminated, truncated, info = envs.step(rng.integers(6, size=8))
        over = terminated | truncated
        last = info.get("final_info", info)
        assert (info["is_success"] == info["success"]).all()
        paid = terminated & (last["reward_terms"]["reach_exit"] > 0)
        assert (info["success"] == paid).all()
        good += paid.sum()
        bad += (terminated & ~paid).sum()
        if over.any():
            assert (info["episode"]["s"] == paid).all()
            assert (info["_episode"] == over).all()
            if mode == "SameStep":
                assert (last["success"] == paid).all()
                assert (last["_success"] == over).all()
            if mode == "Disabled":
                envs.reset(options={"reset_mask": over})
    assert good
    assert bad


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_vector_environments_of_algebra_tell_it_in_every_mode(mode):
    envs = ExpressionVectorEnv(algebra(success_function="solve"), 2, autoreset_mode=mode)
    envs.reset(seed=0)
    for action in ([24, 22], [7, 22], [7, 22]):
        *_, terminated, _, info = envs.step(action)
        if terminated[0]:
            break
    assert (info["success"] == [True, False]).all()
    assert (terminated == [True, False]).all()
    if mode == "SameStep":
        assert (info["final_info"]["success"] == [True, False]).all()


# ---- rollouts and games ------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    "made",
    [tree(KEY, KEY, EXIT), load_scenario("mathy-poly-simplify-easy")],
    ids=["grid", "algebra"],
)
def test_rollouts_hold_it(made):
    env = get_plugin(made).make_vector_env(made, 4, autoreset_mode="Disabled")
    num_actions = int(env.single_action_space.n)
    episodes = list(rollout(env, RandomPolicy(4, num_actions, use_action_mask=True), 16, 0))
    won = [episode.success for episode in episodes]
    assert set(won) == {True, False}
    assert won == [episode.terminated and episode.total > 0 for episode in episodes]
    assert not any(episode.success and episode.truncated for episode in episodes)


def test_a_rollout_is_kept_and_summed_up_with_its_successes(tmp_path, capsys):
    out = tmp_path / "kept"
    level = "mathy-poly-simplify-easy"
    assert main(["rollout", level, "--policy", "valid", "--episodes", "12", "--out", str(out)]) == 0
    arrays, _ = episode_folder.read(out)
    last = np.append(arrays["episode_start"][1:], len(arrays["reward"])) - 1
    paid = arrays["reward"][last] > 0
    assert (arrays["episode_success"] == paid).all()
    assert 0 < paid.sum() < 12
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "success" in line)
    assert line.split()[-1] == f"{paid.mean():.1%}"


def test_a_rollout_of_a_silent_scenario_has_none(tmp_path, capsys):
    file = tmp_path / "silent.yaml"
    file.write_text(json.dumps(ALGEBRA))
    assert main(["rollout", str(file), "--episodes", "2", "--out", str(tmp_path / "kept")]) == 0
    assert "episode_success" not in episode_folder.read(tmp_path / "kept")[0]
    assert "success" not in capsys.readouterr().out


NOBODY = "./rules.py:nobody_is_left"


@pytest.mark.parametrize(
    ("success", "actions", "said"),
    [
        ("solve", [24, 7], (True, "Well done!")),
        ({"name": "solve", "says": "Simple"}, [24, 7], (True, "Simple")),
        ("solve", [22, 22, 22], (False, "No moves are left")),
        ("solve", [0] * 9, (False, "Time is up")),
        (NOBODY, [22, 22, 22], (True, "Well done!")),
        (
            {"name": "reduce_all", "terminating_functions": ["solve", NOBODY]},
            [24, 7],
            (True, "Well done!"),
        ),
        (None, [24, 7], (None, "The problem is over")),
    ],
)
def test_algebra_says_it_by_the_same_key(success, actions, said):
    key = {} if success is None else {"success_function": success}
    env = ExpressionEnv(algebra(**key))
    env.reset(seed=0)
    for action in actions:
        assert not env.simulation.ending
        *_, terminated, truncated, info = env.step(action)
    assert terminated or truncated
    assert (info.get("success"), env.simulation.ending) == said
    assert info.get("success") == info.get("is_success")
    other = env.fork()
    assert (other.simulation.success, other.simulation.ending) == (bool(said[0]), said[1])
    assert env.reset(seed=0)[1].get("success") in (False, None)


def test_algebra_refuses_what_only_grids_know():
    with pytest.raises(ScenarioError, match=r"no success function 'reach_exit'.*solve"):
        algebra(success_function="reach_exit")


def test_games_tell_how_they_ended():
    made = tree(KEY, KEY, EXIT)
    game = Session(made, seed=3)

    def told() -> tuple[str, bool | None]:
        return game.frame().ending, game.frame().success

    game.step("MOVE_FORWARD")
    assert told() == ("", False)
    game.step("MOVE_FORWARD")
    assert told() == ("You made it", True)
    summary = summarize_episode(game.titled_summaries[-1][1])
    assert summary.startswith("seed 3, you made it, return ")
    game.undo()
    assert told() == ("", False)
    game.redo()
    assert told() == ("You made it", True)
    watched = Session.from_replay(game.replay(), made)
    watched.seek(watched.length)
    assert watched.frame().ending == "You made it"
    game.seek(0)
    game.step("MOVE_BACKWARD")
    assert told() == ("You walked into a wall", False)
    summary = summarize_episode(game.titled_summaries[-1][1])
    assert summary.startswith("seed 3, you walked into a wall, return ")
