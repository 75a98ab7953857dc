"""Environments of several agents: PettingZoo's, and arrays by world and agent."""

from __future__ import annotations

import copy
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import gv_engine
from components.core import HIDDEN
from gv_engine import AgentsVectorEnv, EachAgentVectorEnv, GridEnv, GridVectorEnv
from gv_engine.envs.backends import backend
from gv_engine.envs.observations import REPRESENTATION_NAMES
from gv_engine.gridverse import GridWorld
from gv_engine.rules.turns import DONE, ENDS
from gv_engine.scenario.library import gym_id, list_multi_agent_grids
from tests.comparing import STEPS_ON, same
from tests.world.test_worlds import assert_same_rows

pettingzoo_test = pytest.importorskip("pettingzoo.test")

RULES: dict[str, Any] = {
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["living_reward", "reach_exit"],
    "observation_function": {"name": "partially_occluded", "area": [[-3, 0], [-2, 2]]},
    "terminating_function": "reach_exit",
    "success_function": "reach_exit",
}
EMPTY = {"name": "empty", "shape": [4, 5]}
SINGLE_AGENT: dict[str, Any] = {**RULES, "max_steps": 30, "reset_function": EMPTY}
CREW = {"names": ["ann", "bob", "cat"], "turns": "shuffled", "blocks": []}


def level(**agents: Any) -> dict[str, Any]:
    return {**SINGLE_AGENT, "agents": {**CREW, **agents}}


@pytest.fixture(params=["object", pytest.param("compiled", marks=pytest.mark.compiled)])
def world(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def play_alike(played: gv_engine.Scenario, seed: int) -> None:
    """Worlds of a vector are parallel environments of objects, and so are their rows."""
    agents = played.layout.agents
    many = AgentsVectorEnv(played, 2, world="compiled", autoreset_mode="Disabled", copy=True)
    alone = [gv_engine.parallel_env(played, world="object") for _ in range(2)]
    seen, begun = many.reset(seed=seed)
    for i, env in enumerate(alone):
        for k, start in enumerate(env.reset(seed=seed + i)[0].values()):
            assert (seen["grid"][i, k] == start["grid"]).all()
        assert [name in env.agents for name in env.possible_agents] == begun["live"][i].tolist()
        assert not begun["action_mask"][i, len(env.agents) :].any()
    chance = np.random.default_rng(seed)
    while any(env.agents for env in alone):
        actions = chance.integers(len(played.actions), size=(2, agents))
        live = [[name in env.agents for name in env.possible_agents] for env in alone]
        actions[~np.array(live)] = 0  # as a parallel environment has it, which is not told of them
        seen, rewards, terminated, truncated, info = many.step(actions)
        for i, env in enumerate(alone):
            acting = [(k, name) for k, name in enumerate(env.possible_agents) if name in env.agents]
            if not acting:
                continue
            shown, paid, ended, cut, infos = env.step({name: actions[i, k] for k, name in acting})
            for k, name in acting:
                assert (seen["grid"][i, k] == shown[name]["grid"]).all()
                assert (info["action_mask"][i, k] == infos[name]["action_mask"]).all()
                told = rewards[i, k], terminated[i, k], truncated[i, k], info["success"][i, k]
                assert told == (paid[name], ended[name], cut[name], infos[name]["success"])
                assert info["live"][i, k] == (name in env.agents or not env.agents)
            assert_same_rows(many.snapshot(i), env.snapshot())


CROWDS: dict[str, Any] = {
    "mixture": [
        {"scenario": SINGLE_AGENT},
        {"scenario": level(names=["ann", "bob"], turns="rotating", ends="any")},
        {"scenario": level(done="leave")},
    ]
}
"""One, two or three agents."""


SOURCES: dict[str, Any] = {
    **{done: level(done=done) for done in DONE},
    "crowds": CROWDS,
    **{name: name for name in list_multi_agent_grids()},
}


@pytest.mark.sample("object-stay", "object-leave", "object-crowds", "object-commons")
@pytest.mark.filterwarnings("ignore::UserWarning")  # dictionaries, and names like "ann"
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_pettingzoos_own_tests(world: str, source: Any):
    """Of environments that step in parallel and in turns."""
    from pettingzoo.utils import parallel_to_aec

    made: Any = partial(gv_engine.parallel_env, source, world=world)
    cycles = 40 if world == "object" else 500
    pettingzoo_test.parallel_api_test(made(), num_cycles=cycles)
    pettingzoo_test.parallel_seed_test(made, num_cycles=cycles)
    pettingzoo_test.api_test(parallel_to_aec(made()), num_cycles=cycles)
    drawn = made(render_mode="rgb_array")
    drawn.reset(seed=0)
    assert drawn.render().shape[2] == 3


def test_a_world_of_a_mixture_goes_on_as_its_member_alone():
    env, seen = gv_engine.parallel_env(CROWDS, world="object"), set()
    for seed in range(12):
        env.reset(seed=seed)
        member = env.scenario.members[env.snapshot()["member"]]
        if len(env.agents) == 1:
            continue  # who is told of in another way
        played = CROWDS["mixture"][env.scenario.members.index(member)]["scenario"]
        own = gv_engine.parallel_env(played, world="object")
        own.reset(seed=0)
        drawn = np.random.default_rng(seed)
        drawn.random()  # which member it is
        own._batch.set_generator(0, drawn)
        own.reset()
        seen.add(len(own.agents))
        chance = np.random.default_rng(seed)
        while env.agents:
            assert env.agents == own.agents
            given = {name: int(chance.integers(4)) for name in env.agents}
            assert env.step(given)[1:4] == own.step(given)[1:4]
        assert not own.agents
    assert seen == {2, 3}


@STEPS_ON
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_agents_that_are_not_there_in_arrays(mode: str):
    envs = AgentsVectorEnv(CROWDS, 6, world="object", autoreset_mode=mode, episode_statistics=True)
    present = envs.scenario.present_agents()
    assert present.tolist() == [True, False, False]
    _, info = envs.reset(seed=0)
    chance, episodes = np.random.default_rng(0), 0
    for _ in range(60):
        there = envs.scenario.present_agents(info["member"][:, 0])
        assert (info["live"] <= there).all()
        assert not info["action_mask"][~there].any()
        seen, rewards, _, _, info = envs.step(chance.integers(4, size=(6, 3)))
        now = envs.scenario.present_agents(info["member"][:, 0])
        assert (seen["grid"][~now] == (HIDDEN, 0, 0)).all()
        assert not rewards[~there].any()
        if "episode" in info:
            over = info["_episode"].any(axis=1)
            assert (info["_episode"][over] == there[over]).all()
            episodes += over.sum()
    assert episodes > 6


def test_the_first_step_after_the_end_warns_and_does_nothing():
    env = gv_engine.parallel_env("hold-plates", world="object", max_steps=1)
    env.reset(seed=0)
    waits = dict.fromkeys(env.agents, 0)
    env.step(waits)
    row = env.snapshot()
    with pytest.warns(UserWarning, match=r"step\(\) after the end of the episode"):
        assert env.step(waits) == ({}, {}, {}, {}, {})
    assert env.step({}) == ({}, {}, {}, {}, {})
    assert env.snapshot() == row


def test_spaces_state_and_registry_of_pettingzoo():
    name = next(iter(list_multi_agent_grids()))
    env = gv_engine.parallel_env(name, world="object")
    for spaces, ask in (
        (env.observation_spaces, env.observation_space),
        (env.action_spaces, env.action_space),
    ):
        assert [*spaces] == env.possible_agents
        assert all(spaces[agent] is ask(agent) for agent in spaces)
    env.reset(seed=0)
    state = env.state()
    assert state in env.state_space
    assert {*state[..., 3].ravel().tolist()} == {*range(len(env.agents) + 1)}
    pettingzoo = pytest.importorskip("pettingzoo")
    if hasattr(pettingzoo, "make"):
        twin = pettingzoo.make("parallel", gym_id(name), world="object")
        twin.reset(seed=0)
        assert (twin.state() == state).all()


def test_rows_say_who_is_there():
    env = gv_engine.parallel_env(CROWDS, world="object")
    env.reset(seed=0)
    row = env.snapshot()
    assert row["present"] == len(env.agents) < 3
    assert row["done"].tolist()[1:] == [agent >= row["present"] for agent in range(3)]
    other = gv_engine.parallel_env(CROWDS, world="object")
    assert [*other.restore(row)[0]] == other.agents == env.agents
    row["present"] = 3
    with pytest.raises(ValueError, match="damaged: present is 3, and its member of the mixture"):
        other.restore(row)


SOLID = {**SINGLE_AGENT, "agents": {"components": ["Solid"]}}


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (level(), level(names=[*"bc"]), "two has the agents b, c, and one ann, bob, cat"),
        (level(), level(colors=["GREEN"]), "ann has Color GREEN in two, and Color RED in one"),
        (level(), SOLID, "agent has Solid() in two, and no Solid in one"),
        (SINGLE_AGENT, SOLID, "agent has Solid() in two, and no Solid in one"),
        (SOLID, SINGLE_AGENT, "agent has no Solid in two, and Solid() in one"),
    ],
)
def test_members_whose_agents_are_not_the_first_of_the_largest(one, other, says):
    members = [{**one, "name": "one"}, {**other, "name": "two"}]
    with pytest.raises(gv_engine.ScenarioError, match="need the same agents or the first") as error:
        gv_engine.Scenario.load({"mixture": [{"scenario": member} for member in members]})
    assert f"mixture[1]: {says}; all scenarios" in str(error.value)


@STEPS_ON
@pytest.mark.compiled
@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize("ends", ENDS)
def test_worlds_of_a_vector_are_parallel_environments(done: str, ends: str):
    play_alike(gv_engine.Scenario.load(level(done=done, ends=ends)), 5)


@STEPS_ON
@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(6))
def test_worlds_of_a_mixture_are_parallel_environments(seed: int):
    play_alike(gv_engine.Scenario.load(CROWDS), seed)


@pytest.mark.compiled
def test_each_agent_is_a_line():
    envs = EachAgentVectorEnv(level(), 2, autoreset_mode="SameStep", episode_statistics=True)
    many = AgentsVectorEnv(level(), 2, autoreset_mode="SameStep")
    first, _ = envs.reset(seed=1)
    assert (first["grid"] == many.reset(seed=1)[0]["grid"].reshape(first["grid"].shape)).all()
    assert envs.num_envs == 6
    returns, told = np.zeros(6), 0
    for actions in np.random.default_rng(0).integers(4, size=(100, 6)):
        _, rewards, terminated, truncated, info = envs.step(actions)
        shown = many.step(actions.reshape(2, 3))
        assert (shown[1].ravel() == rewards).all()
        returns += rewards
        if "episode" in info:
            over = info["_episode"].reshape(2, 3)
            assert (over.all(axis=1) == over.any(axis=1)).all()
            assert np.allclose(info["episode"]["r"], np.where(over.ravel(), returns, 0))
            assert (terminated | truncated)[over.ravel()].all()
            assert info["final_obs"][over.ravel()][0]["grid"].shape == (4, 5, 3)
            returns[over.ravel()] = 0
            told += 1
    assert told > 2


@pytest.mark.sample("default", "flat", "text", "fully")
@pytest.mark.parametrize(
    "form", [*REPRESENTATION_NAMES, {"name": "minigrid", "fully_observable": True}], ids=str
)
def test_spaces_hold_what_arrays_by_world_and_agent_show(form: Any):
    asked = {"extends": "MiniGrid-PutNear-6x6-N2-v0", "agents": 2}
    envs = AgentsVectorEnv(asked, 3, world="object", observation_representation=form)
    shown, _ = envs.reset(seed=0)
    assert shown in envs.observation_space
    actions = envs.action_space.sample()
    assert actions.shape == (3, 2)
    assert envs.step(actions)[0] in envs.observation_space
    texts = [envs.flat.missions()[2 * i : 2 * i + 2] for i in range(3)]
    assert envs.missions() == tuple(texts)
    assert all(map(all, texts))


def test_what_vectors_of_one_agent_have_those_of_several_have_too(world: str, monkeypatch):
    monkeypatch.setattr(backend, "get_expansion_size", lambda _: 4)
    envs = AgentsVectorEnv(level(), 2, world=world, autoreset_mode="Disabled", render_mode="ansi")
    envs.reset(seed=3)
    twin, rows = envs.fork(), envs.snapshot()
    assert (envs.state_key(rows) == twin.state_key(twin.snapshot())).all()
    assert envs.state_key(rows)[0] != envs.state_key(rows)[1]
    assert len(envs.render()) == 2
    assert (envs.render_mode, envs.num_worlds) == ("ansi", 2)
    joint = np.array([[0, 1, 2], [4, 5, 0]])
    grown = envs.expand(rows, joint)
    out = {"grid": np.zeros((2, 3, 4, 5, 3), np.uint8), "reward": np.zeros((2, 3))}
    for k, actions in enumerate(joint):
        shown, rewards, *_ = envs.step([actions] * 2, out=out)
        assert same(grown.rewards[:, k], rewards)
        assert_same_rows(grown.rows[0, k], envs.snapshot(0))
        expected = twin.step([actions] * 2)
        assert same((shown, rewards), expected[:2])
        assert np.shares_memory(shown["grid"], out["grid"])
        assert same(out["reward"], rewards)
        for each in (envs, twin):
            each.restore(rows, trusted=True)
    for wrong in ([0, 1], 0, [[0, 9, 0]]):
        with pytest.raises(ValueError, match=r"expected shape \(a, A\), whole numbers from 0 to 7"):
            envs.expand(rows, wrong)
    with pytest.raises(ValueError, match=r"shape \(6,\) and dtype float64: expected \(2, 3\)"):
        envs.step(joint, out={"reward": np.zeros(6)})


def test_a_copy_has_the_same_future_and_all_can_be_drawn(world: str):
    env = gv_engine.parallel_env(level(), world=world, render_mode="ansi")
    env.reset(seed=0)
    assert "####" in env.render()
    env.step(dict.fromkeys(env.agents, 0))
    others = [env.fork(), copy.deepcopy(env), gv_engine.parallel_env(level(), world="object")]
    others[-1].restore(env.snapshot())
    for _ in range(10):
        expected = env.step(dict.fromkeys(env.agents, 3))
        for other in others:
            found = other.step(dict.fromkeys(other.agents, 3))
            assert found[1:4] == expected[1:4]
            assert_same_rows(other.snapshot(), env.snapshot())


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        ({"ann": 0, "bob": 0}, "no action for cat, whose episode is not over"),
        ({"ann": 0, "bob": 0, "cat": 0, "dan": 0}, "no agent 'dan'"),
        ({"ann": 0, "bob": 0, "cat": 99}, "action 99 of cat: allowed are 0 to 7, for MOVE_FORWARD"),
        ([0, 0, 0], r"a list: expected a mapping of the agents' names \(ann, bob, cat\)"),
    ],
)
def test_actions_that_are_none(actions: dict[str, int], says: str):
    env = gv_engine.parallel_env(level(), world="object")
    with pytest.raises(ValueError, match=r"call reset\(\) before"):
        env.step(actions)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=says):
        env.step(actions)
    for space in (env.action_space, env.observation_space):
        with pytest.raises(ValueError, match="no agent 'bop'; did you mean 'bob'"):
            space("bop")


def test_what_is_refused():
    envs = AgentsVectorEnv(level(), 2, world="object")
    envs.reset(seed=0)
    wrong: dict[str, Any] = {
        r"shape \(2,\) and dtype int64: expected \(2, 3\) integers": [0, 0],
        r"shape \(2, 3\) and dtype float64: expected": np.zeros((2, 3)),
        "action 9 of bob in world 1: allowed are 0 to 7": [[0, 0, 0], [0, 9, 0]],
    }
    for says, actions in wrong.items():
        with pytest.raises(ValueError, match=says):
            envs.step(actions)
    for alone in (GridEnv, GridVectorEnv):
        with pytest.raises(ValueError, match=r"has 3 agents, and this environment takes one"):
            alone(level(), world="object")
    with pytest.raises(ValueError, match=r"has 3 agents, and a state takes one"):
        GridWorld.from_scenario(gv_engine.Scenario.load(level()))


def test_every_combination_of_actions_is_tried_in_order(monkeypatch):
    monkeypatch.setattr(backend, "get_expansion_size", lambda _: 4)
    env = AgentsVectorEnv("hold-plates", 2, world="object")
    env.reset(seed=0)
    rows = env.snapshot()[:1]
    every = [*product(range(env.num_actions), repeat=2)]
    found, expected = env.expand(rows), env.expand(rows, every)
    assert found.rows.shape == (1, env.num_actions**2)
    for name in ("rewards", "terminated", "masks"):
        assert same(getattr(found, name), getattr(expected, name))
    assert found.rows.tobytes() == expected.rows.tobytes()
    assert len(np.unique(found.rows["action"][0], axis=0)) == len(every)


def test_restored_worlds_tell_who_lives():
    envs = AgentsVectorEnv(level(turns="fixed"), 1, world="object", autoreset_mode="Disabled")
    envs.reset(seed=0)
    row = envs.snapshot()
    row["done"][0, 2] = 1  # bob
    for rows, live in ((row, [True, False, True]), (envs.snapshot(), [True, True, True])):
        _, info = envs.restore(rows)
        assert info["live"].tolist() == [live]
