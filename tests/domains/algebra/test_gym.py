"""Mathy scenarios as Gymnasium environments, alone and many together."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gv_engine.plugins.algebra import ExpressionEnv
from gv_engine.plugins.algebra.gym_env import algebra_scenario
from gv_engine.plugins.algebra.hooks import check_random_episodes, make_vector_env
from gv_engine.plugins.algebra.vector_env import ExpressionVectorEnv
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.library import gym_id
from tests.comparing import same
from tests.processes import under_hash_seeds

NAMES = list(DOMAINS["algebra"].built_in())
EASY = "mathy-poly-simplify-easy"
PLAIN = {"domain": "algebra", "environment": "PolySimplify", "problem": "4x + 2x"}


def env(scenario=EASY, **options) -> ExpressionEnv:
    return ExpressionEnv(scenario, **options)


def valid(info, rng) -> int:
    offered = np.flatnonzero(info["action_mask"])
    return int(rng.choice(offered)) if len(offered) else 0


def test_there_is_an_id_for_each_environment_and_difficulty():
    assert len(NAMES) == 24
    assert gym_id("mathy-poly-simplify-hard") == "GV-MathyPolySimplify-hard-v0"
    made: Any = gymnasium.make("GV-MathyPolySimplify-hard-v0").unwrapped
    assert made.scenario.difficulty == "hard"
    made = gymnasium.make("GV-Scenario-v0", scenario=EASY).unwrapped
    assert made.scenario.name == EASY


@pytest.mark.sample("poly-simplify-easy", "poly-simplify-blockers-hard", "binomial-distribute-hard")
@pytest.mark.parametrize("name", NAMES)
def test_nothing_wrong_is_found(name):
    for representation in ("dict", "graph"):
        made = gymnasium.make(gym_id(name), observation_representation=representation)
        check_env(made.unwrapped, skip_render_check=True)
    found = check_random_episodes(algebra_scenario(name), 6, 1)
    assert not found.faults
    assert ("found", "nothing wrong") in found.facts


def test_what_is_seen():
    made = env(PLAIN)
    observation, info = made.reset(seed=0)
    assert observation["nodes"][:8].tolist() == [10, 5, 50, 3, 10, 5, 50, 0]
    assert observation["values"][:8].tolist() == [4, 0, 0, 0, 2, 0, 0, 0]
    assert observation["time"].tolist() == [0.0]
    assert np.array_equal(observation["mask"].ravel(), info["action_mask"])
    assert np.flatnonzero(info["action_mask"]).tolist() == [22, 24]
    observation, reward, terminated, truncated, info = made.step(24)
    assert (reward, terminated, truncated) == (0.01, False, False)
    assert (info["text"], info["decided_by"]) == ("(4 + 2) * x", "helpful_move")
    assert info["reward_terms"]["helpful_move"] == 0.01
    assert info["moves_remaining"] == 7
    assert observation["time"].tolist() == [0.125]
    _, reward, terminated, _, info = made.step(np.int64(7))
    assert (reward, terminated, info["outcome"], info["text"]) == (1.5, True, "win", "6x")
    assert not info["action_mask"].any()
    with pytest.raises(ValueError, match="the episode is over"):
        made.step(0)


def test_the_graph_has_an_edge_to_each_node_but_the_root():
    made = env(observation_representation="graph")
    observation, _ = made.reset(seed=1, options={"problem": "4x + x"})
    tree_edges = observation["edge_index"]
    assert tree_edges.shape == (2, 127)
    assert tree_edges[:, :4].T.tolist() == [[1, 0], [3, 1], [1, 2], [3, 4]]
    assert (tree_edges[:, 4:] == -1).all()


def test_the_end_comes_after_three_times_the_moves():
    made = env()
    made.reset(seed=0, options={"problem": "4x + 2x"})
    for step in range(1, 25):
        _, reward, terminated, truncated, info = made.step(0)
        assert (reward, terminated, truncated) == (-0.5, False, step == 24)
    assert info["outcome"] == "truncated"
    assert env(max_steps=3).scenario.max_steps == 3


def test_what_reset_may_be_told():
    made = env()
    assert made.reset(options={"problem": "4x + 2x", "max_moves": 3})[1]["moves_remaining"] == 3
    drawn = made.reset(seed=4)[1]
    again = made.reset(seed=4, options={"max_moves": 2})[1]
    assert (again["text"], again["moves_remaining"]) == (drawn["text"], 2)
    for options, said in (
        ({"problm": "x"}, "no option 'problm'; did you mean 'problem'"),
        ({"problem": 5}, "problem=5: expected the text"),
        ({"problem": "4x + 2x = 3"}, "is an equation"),
        ({"problem": "6x"}, "solved already"),
        ({"problem": "x / x"}, "no rule applies anywhere in x / x; give another problem"),
        ({"problem": "4x +"}, "no expression"),
        ({"problem": " + ".join("x" * 99)}, "197 nodes"),
        ({"max_moves": 0}, "allowed are 1 to"),
        ({"max_moves": "many"}, "max_moves='many': expected a whole number"),
    ):
        with pytest.raises(ValueError, match=said):
            made.reset(options=options)


@pytest.mark.parametrize("action", [-1, 896, 1.5, "x", None])
def test_actions_that_are_none(action):
    made = env()
    with pytest.raises(ValueError, match=r"allowed are 0 to 895|call reset"):
        made.step(action)
    made.reset(seed=0)
    with pytest.raises(ValueError, match="allowed are 0 to 895"):
        made.step(action)


def played(made: ExpressionEnv, steps: int, seed: int):
    rng = np.random.default_rng(seed)
    info = {"action_mask": made.simulation.env.mask(made.simulation.state).ravel()}
    for _ in range(steps):
        shown = made.step(valid(info, rng))
        info = shown[4]
        yield shown
        if shown[2] or shown[3]:
            return


def test_a_snapshot_has_the_same_future():
    made = env("mathy-poly-simplify-hard")
    made.reset(seed=5)
    list(played(made, 4, 0))
    token = pickle.loads(pickle.dumps(made.snapshot()))
    fork = made.fork()
    first = list(played(made, 20, 1))
    assert all(same(*shown) for shown in zip(first, played(fork, 20, 1), strict=True))
    made.restore(token)
    assert all(same(*shown) for shown in zip(first, played(made, 20, 1), strict=True))
    # the generator is part of it: the next problem is the same too
    made.restore(token)
    fork.restore(token)
    assert same(made.reset(), fork.reset())
    with pytest.raises(TypeError, match="expected a snapshot"):
        made.restore({})  # type: ignore[arg-type]  # on purpose


TRACE = """
from tests.domains.algebra.test_gym import NAMES, env, played
for name in NAMES:
    made = env(name)
    made.reset(seed=7)
    for observation, reward, *_, info in played(made, 8, 3):
        print(name, info["text"], reward, observation["type"])
"""


@pytest.mark.thorough
def test_a_seed_is_the_same_episode_whatever_the_hash_seed():
    one, other = under_hash_seeds(TRACE)
    assert one == other
    assert len(one.splitlines()) > 100


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_many_are_as_one(mode):
    options: Any = {"autoreset_mode": mode, "render_mode": "rgb_array"}
    several = ExpressionVectorEnv(EASY, 3, **options)
    alone = [env(render_mode="rgb_array") for _ in range(3)]
    first: Any = several.reset(seed=20)
    shown, kept = first, copy.deepcopy(first)
    ones = [one.reset(seed=20 + i) for i, one in enumerate(alone)]
    rng = np.random.default_rng(0)
    begun = 0
    for _ in range(40):
        infos = [info for _, info in ones]
        assert np.array_equal(shown[-1]["action_mask"], [info["action_mask"] for info in infos])
        assert shown[-1]["text"].tolist() == [info["text"] for info in infos]
        for i, (observation, _) in enumerate(ones):
            assert all(np.array_equal(shown[0][name][i], observation[name]) for name in observation)
        actions = np.array([valid(info, rng) for info in infos])
        over = [one.simulation.terminated or one.simulation.truncated for one in alone]
        shown = several.step(actions)
        assert shown[0] in several.observation_space
        for i, one in enumerate(alone):
            if over[i] and mode == "NextStep":
                ones[i] = one.reset()
                assert not shown[2][i]
                begun += 1
                continue
            observation, reward, terminated, truncated, info = one.step(actions[i])
            assert (reward, terminated, truncated) == tuple(part[i] for part in shown[1:4])
            for name, term in info["reward_terms"].items():
                assert shown[4]["reward_terms"][name][i] == term
            ones[i] = observation, info
            if mode == "SameStep" and (terminated or truncated):
                assert same(shown[4]["final_obs"][i], observation)
                assert shown[4]["final_info"]["text"][i] == info["text"]
                ones[i] = one.reset()
                begun += 1
    assert begun
    assert np.array_equal((several.render() or ())[1], alone[1].render())
    assert same(first, kept), "what was shown stays as it was"


def test_max_episode_steps_is_gymnasiums_time_limit():
    options: Any = {"scenario": PLAIN, "max_episode_steps": 3, "disable_env_checker": True}
    many = gymnasium.make_vec("GV-Scenario-v0", 3, **options)
    others = gymnasium.make_vec("GV-Scenario-v0", 3, vectorization_mode="sync", **options)
    _, info = many.reset(seed=0)
    others.reset(seed=0)
    rng, flags = np.random.default_rng(0), []
    for _ in range(40):
        actions = [valid({"action_mask": mask}, rng) for mask in info["action_mask"]]
        *found, info = many.step(actions)
        assert same(tuple(found[1:]), others.step(np.array(actions))[1:4])
        flags += list(zip(found[2].tolist(), found[3].tolist(), strict=True))
    assert {*flags} == {(False, False), (True, False), (False, True), (True, True)}


@pytest.mark.slow
def test_several_processes_are_as_one_and_tell_what_goes_wrong_in_them():
    before = {*multiprocessing.active_children()}
    level = {**PLAIN, "max_moves": 3, "invalid_action_response": "raise"}
    options: Any = {"autoreset_mode": "SameStep", "episode_statistics": True}
    options["render_mode"] = "rgb_array"
    one = ExpressionVectorEnv(level, 3, **options)
    with closing(make_vector_env(algebra_scenario(level), 3, workers=2, **options)) as shared:
        first = shared.reset(seed=20)
        kept = copy.deepcopy(first)
        assert same(first, one.reset(seed=20))
        for actions in ([24, 22, 24], [7, 24, 7], [24, 7, 22]):
            shown = shared.step(actions)
            assert same(shown, one.step(actions))
        assert shown[4]["_final_obs"].tolist() == [False, True, False]
        assert same(shared.render(), one.render())
        token = shared.snapshot(2)
        one.restore(2, token)
        assert same(one.snapshot(2), token)
        assert same(first, kept), "what was shown stays as it was"
        with pytest.raises(ValueError, match="is invalid in"):
            shared.step([24, 22, 0])
        assert same(shared.reset(seed=20), first)
        ended = ({*multiprocessing.active_children()} - before).pop()
        ended.kill()
        ended.join()
        with pytest.raises(RuntimeError, match="the worker process has ended"):
            shared.step([24, 24, 24])
    assert {*multiprocessing.active_children()} == before


def test_only_those_that_are_asked_for_begin_anew():
    several = ExpressionVectorEnv(EASY, 3, autoreset_mode="Disabled")
    texts = several.reset(seed=0)[1]["text"]
    chosen = np.array([False, True, False])
    again = several.reset(seed=[1, 9, 3], options={"reset_mask": chosen})[1]["text"]
    assert (texts == again).tolist() == [True, False, True]
    for arguments, said in (
        ({"seed": [1, 2]}, "2 seeds for 3 games"),
        ({"seed": -1}, "seed=-1: allowed are whole numbers from 0 on"),
        ({"options": {"reset_mask": chosen[:2]}}, r"reset_mask has shape \(2,\)"),
        ({"options": {"problem": "x"}}, r"no option 'problem' \(allowed: reset_mask"),
    ):
        with pytest.raises(ValueError, match=said):
            several.reset(**arguments)
    for actions, said in (
        ([0], r"actions have shape \(1,\)"),
        ([0, 896, 0], "action 896 of game 1"),
    ):
        with pytest.raises(ValueError, match=said):
            several.step(actions)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_envs": 0}, "num_envs=0: allowed are whole numbers from 1 on"),
        ({"processes": 0}, "processes=0: allowed are whole numbers from 1 on"),
        ({"autoreset_mode": "Sometimes"}, "allowed are 'NextStep', 'SameStep', 'Disabled'"),
        ({"render_mode": "human"}, "'human': allowed are None and rgb_array, ansi"),
    ],
)
def test_many_that_cannot_be_made(options, said):
    with pytest.raises(ValueError, match=said):
        ExpressionVectorEnv(EASY, **{"num_envs": 1, **options})


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_statistics_of_episodes(mode):
    options: Any = {"autoreset_mode": mode, "episode_statistics": True}
    several = ExpressionVectorEnv({**PLAIN, "max_moves": 3}, 2, **options)
    several.reset(seed=0)
    assert "episode" not in several.step([24, 0])[4]
    info = several.step([7, 0])[4]
    assert info["_episode"].tolist() == [True, False]
    assert info["episode"]["r"].tolist() == [1.51, 0.0]
    assert info["episode"]["l"].tolist() == [2, 0]
    assert "s" not in info["episode"]
    assert "episode" not in several.step([24, 0])[4]
    made = ExpressionVectorEnv(EASY, 1, max_steps=1, episode_statistics=True)
    made.reset(seed=0)
    assert made.step([0])[4]["episode"]["s"].tolist() == [False]


def test_it_is_drawn_as_text():
    made = env(render_mode="ansi")
    made.reset(seed=0, options={"problem": "4x + 2x"})
    made.step(24)
    lines = str(made.render()).splitlines()
    assert [line.split() for line in lines[:3]] == [["*"], ["+", "x"], ["4", "2"]]
    assert lines[3] == "(4 + 2) * x"
    assert lines[4] == "Distributive Factoring at 3: +0.01, return +0.01, 7 moves left"
    with pytest.raises(ValueError, match="allowed are None and human, rgb_array, ansi"):
        env(render_mode="smell")


def test_it_is_drawn_as_pixels():
    made = env(render_mode="rgb_array")
    made.reset(seed=0, options={"problem": "4x + 2x"})
    first = made.render()
    assert (first.shape, first.dtype) == ((512, 800, 3), np.uint8)
    before = made.snapshot()
    made.step(24)
    second = made.render()
    assert (second != first).any()
    # a picture is that of the state, whatever was drawn before
    assert np.array_equal(made.fork().render(), second)
    made.close()
    assert np.array_equal(made.render(), second)
    made.restore(before)
    assert np.array_equal(made.render(), first)
