"""Episodes of a rollout are those that the same seeds and draws give in a world alone."""

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, GridVectorEnv, Scenario
from gv_engine.envs.backends.seeding import POLICY, make_rng
from gv_engine.envs.rollout import rollout as rollouts
from gv_engine.envs.rollout import step_history
from gv_engine.envs.rollout.episode_stats import EpisodeStats, EpisodeValues
from gv_engine.envs.rollout.policy import (
    ActionSequence,
    CallablePolicy,
    PolicyError,
    ScriptedPolicy,
    load_policies,
    load_policy,
)
from tests.comparing import same
from tests.envs.test_agents_environments import level
from tests.scenario.test_mixture import CARRY, TWO

ALL, ANY = ({**level(ends=ends), "max_steps": 20} for ends in ("all", "any"))
FEWER = {**level(ends="any", names=["ann", "bob"]), "name": "fewer", "max_steps": 9}
CASES = {
    "draws": ({"extends": "teleport-5x5", "max_steps": 40}, "valid", 7, 2),
    "mixture": (TWO, "random", 9, 4),
    "mission": ({"extends": "MiniGrid-GoToDoor-5x5-v0", "max_steps": 4}, "valid", 7, 1),
    "all": (ALL, "ann=valid,cat=valid", 6, 2),
    "any": (ANY, "random", 6, 2),
    "fewer": ({"mixture": [{"scenario": ALL}, {"scenario": FEWER}]}, "random", 26, 4),
}
"""Levels, policies, numbers of episodes, and of ends by members that come about in them."""


def made(scenario, num_envs):
    kind = AgentsVectorEnv if len(scenario.agent_group.names) > 1 else GridVectorEnv
    return kind(scenario, num_envs, world="object", autoreset_mode="Disabled", copy=True)


def test_a_policy_samples_with_other_numbers_than_the_level_has():
    """`default_rng([S, 0])`, with which episode 0 once began, is `default_rng(S)`."""
    increments = []

    def act(observation, info, rngs):
        increments.append(rngs[0].bit_generator.state["state"]["inc"])
        return np.zeros(1, int)

    env = made(Scenario.load(CASES["draws"][0]), 1)
    policy = CallablePolicy(act, 1, env.num_actions, "act")
    for episode in rollouts.rollout(env, policy, 2, seed=3):
        row = env.snapshot()["rng"][0]
        assert increments[-1] != int(row["inc_high"]) << 64 | int(row["inc_low"]), episode.number
    assert len({*increments}) == 2


def drawn(rngs, masks, names):
    """Return an action for each agent: equal chances for all actions, or for the valid ones."""
    actions = []
    for rng, mask, name in zip(rngs, masks, names, strict=True):
        open_ = np.flatnonzero(mask) if name == "valid" and mask.any() else np.arange(len(mask))
        actions.append(open_[int(rng.random() * len(open_))])
    return actions


def alone(scenario, text, seed, number):
    """Return an episode, played without a rollout, as (steps, last observation, facts)."""
    env, agents = made(scenario, 1), scenario.agent_group.names
    named = dict(part.split("=") for part in text.split(",")) if "=" in text else {}
    policies = [named.get(name, "random" if named else text) for name in agents]
    rngs = [make_rng(seed, POLICY, len(agents) * number + k) for k in range(len(agents))]
    observation, info = env.reset(seed=seed + number)
    steps, over = [], False
    while not over:
        masks = info["action_mask"].reshape(len(agents), -1)
        action = drawn(rngs, masks, policies)
        before = {name: observation[name][0] for name in env.recorded}
        observation, reward, terminated, truncated, info = env.step(
            np.reshape(action, (1, *env.agent_shape))
        )
        terms = [info["reward_terms"][name][0] for name in scenario.reward_names]
        flags = {"terminated": terminated[0], "truncated": truncated[0]}
        steps.append(
            {**before, **flags, "action": np.reshape(action, env.agent_shape), "reward": reward[0]}
            | {
                "reward_terms": np.stack(terms, -1),
                "action_mask": masks.reshape(*env.agent_shape, -1),
            }
        )
        over = (terminated | truncated).all()
    member = int(np.max(info.get("member", 0)))
    agent_group = scenario.members[member].agent_group
    suffices = any if agent_group.ends == "any" else all

    def ended(flags):
        return suffices(np.atleast_1d(flags[0])[: len(agent_group.names)])

    facts = {
        "number": number,
        "seed": seed + number,
        "member": member,
        "length": len(steps),
        "terminated": ended(terminated),
        "truncated": not ended(terminated),
        "success": ended(info["success"]) if "success" in info else None,
    }
    together = {name: np.stack([step[name] for step in steps]) for name in steps[0]}
    return together, {name: array[0] for name, array in observation.items()}, facts


@pytest.mark.sample("-4")
@pytest.mark.parametrize("num_envs", [1, 4])
@pytest.mark.parametrize(
    ("document", "text", "episodes", "kinds_of_end"), CASES.values(), ids=CASES
)
def test_an_episode_is_that_of_a_world_alone(
    document, text, episodes, kinds_of_end, num_envs, monkeypatch
):
    monkeypatch.setattr(step_history, "_MAX_BLOCK_STEPS", 1)  # room for steps grows
    scenario = Scenario.load(document)
    env = made(scenario, num_envs)
    policy = load_policies(text, scenario, num_envs, env.num_actions)
    ends, kinds = set(), rollouts.describe_step_arrays(env, masks=True)
    for number, found in zip(
        count(2), rollouts.rollout(env, policy, episodes, 5, True, 2, True), strict=False
    ):
        steps, last, facts = alone(scenario, text, 5, number)
        assert {name: getattr(found, name) for name in facts} == facts
        assert found.steps is not None
        assert set(found.steps) == steps.keys() == kinds.keys()
        assert len(found.steps) == len(kinds)
        for name, array in found.steps.items():
            assert np.array_equal(array, steps[name]), name
            assert (array.dtype, array.shape[1:]) == kinds[name]
        assert same(found.last, last)
        terms = steps["reward_terms"].reshape(-1, len(scenario.reward_names)).sum(0)
        assert np.allclose(found.terms, terms)
        assert np.isclose(found.total, steps["reward"].sum())
        ends.add((found.member, found.terminated))
    assert number == episodes + 1
    assert len(ends) == kinds_of_end


@pytest.mark.compiled
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("policy", ["random", "valid"])
@pytest.mark.parametrize("document", [CASES["draws"][0], CASES["mission"][0], TWO])
def test_episodes_in_a_compiled_loop_are_those_of_single_steps(document, policy, keep, monkeypatch):
    monkeypatch.setattr(rollouts, "_STEPS_AT_ONCE", 7)
    monkeypatch.setattr(step_history, "_MAX_BLOCK_STEPS", 7)
    env = GridVectorEnv(document, 70, world="compiled", autoreset_mode="Disabled")
    single_steps, found, step = [], [], env.step

    def count_step(*args):
        single_steps.append(args)
        return step(*args)

    monkeypatch.setattr(env, "step", count_step)
    for compiled in (False, True):
        player = load_policy(policy, 70, env.num_actions, compiled=compiled)
        episodes = [*rollouts.rollout(env, player, 150, 5, keep, masks=True)]
        found.append([(dict(episode.steps or {}), episode) for episode in episodes])
        assert bool(single_steps) != (compiled and env.batch.can_run_loop)
        single_steps.clear()
    for (steps, one), (again, other) in zip(*found, strict=True):
        assert same(steps, again)
        assert bool(steps) == keep
        assert same((one.last, one.terms), (other.last, other.terms))
        facts = [vars(replace(e, last={}, terms=np.zeros(0), steps=None)) for e in (one, other)]
        assert same(*facts)


@pytest.mark.compiled
def test_values_that_python_computes_are_not_recorded_by_compiled_code():
    shown = []
    settings: Any = [{"observation_representation": "compact"}, {"reward_dtype": "float32"}, {}]
    for options in settings:
        env = GridVectorEnv(
            "keydoor-5x5", 3, world="compiled", autoreset_mode="Disabled", **options
        )
        shown.append(bool(env.step_arrays))
    assert shown == [False, False, True]
    assert not GridVectorEnv("keydoor-5x5", 3, world="object").step_arrays


def test_blocks_of_steps_are_used_again_when_no_episode_has_them():
    history = step_history.StepHistory({"action": (np.uint8, ())}, 2)
    kept, addresses = [], []
    for number in range(8):
        history.start_block(0)
        history.stop = history.block_steps
        history.record({"action": [number, number]})
        steps = history.get_steps(1, 1, history.stop)
        addresses.append(steps.pieces("action")[0].ctypes.data)
        kept += [steps] if number in (2, 4) else []
        del steps
    assert [int(steps["action"][0]) for steps in kept] == [2, 4]
    assert len({*addresses}) == 3


def test_episodes_are_told_apart_by_which_they_are():
    """Not by what is in them, which are arrays."""
    env = made(Scenario.load(CASES["draws"][0]), 2)
    policy = load_policy("valid", 2, env.num_actions)
    found = [episode for _ in range(2) for episode in rollouts.rollout(env, policy, 2, 0, True)]
    assert len({*found}) == 4
    assert found[0] == found[0] != found[2]


def test_seeds_that_are_given_are_those_of_the_worlds():
    scenario = Scenario.load(CASES["draws"][0])
    env = made(scenario, 6)  # two of which are idle
    seeds = [50, 7, 50, 9]
    policy = load_policy("valid", 6, env.num_actions)
    found = [*rollouts.rollout(env, policy, 4, 3, True, seeds=seeds)]
    assert [episode.seed for episode in found] == seeds
    for episode in found:
        assert episode.steps is not None
        first = {name: episode.steps[name][0] for name in env.recorded}
        shown, _ = made(scenario, 1).reset(seed=episode.seed)
        assert same(first, {name: shown[name][0] for name in env.recorded})


def test_known_ways_are_gone_to_their_ends_and_no_further():
    several = ScriptedPolicy([ActionSequence(5, ((1, 2), (3, 4))), ActionSequence(6, ((5, 6),))], 2)
    several.begin([1, 0], 0, [0, 1])
    assert several.act({}, {}).tolist() == [[5, 6], [1, 2]]
    several.begin([0], 0, [0])
    assert several.act({}, {}).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(PolicyError, match="way 0 ends after 2 steps, and its episode does not"):
        several.act({}, {})


def test_tallies_of_parts_are_those_of_the_whole():
    env = made(Scenario.load(CARRY | {"success_function": "reach_exit", "max_steps": 30}), 3)
    found = [*rollouts.rollout(env, load_policy("random", 3, env.num_actions), 7, 0)]
    whole, parts = EpisodeStats(), EpisodeStats()
    whole.add(EpisodeValues.of_episodes(found))
    for part in (found[:3], found[3:4], found[4:]):
        parts.add(EpisodeValues.of_episodes(part))
    assert whole.sums.tolist() == parts.sums.tolist()
    names = env.scenario.reward_names
    rows = dict(whole.rows(names, 0.5))
    assert rows == dict(parts.rows(names, 0.5))
    totals, lengths = ([getattr(each, of) for each in found] for of in ("total", "length"))
    assert len({*totals}) > 2
    assert (rows["episodes"], rows["steps"]) == ("7", f"{sum(lengths)}")
    assert rows["steps per second"] == f"{sum(lengths) * 2:,}"
    for name, values in (("return", totals), ("length", lengths)):
        spread = sum(values) / 7, min(values), max(values)
        told = [rows[f"{name}, {each}"] for each in ("mean", "least", "most")]
        assert told == [f"{value:.6g}" for value in spread]
    for name in ("terminated", "truncated", "success"):
        assert rows[name] == f"{sum(getattr(each, name) for each in found) / 7:.1%}"
    means = np.sum([each.terms for each in found], axis=0) / 7
    for name, mean in zip(names, means, strict=True):
        assert rows[f"{name}, mean sum"] == f"{mean:.6g}"
    none = dict.fromkeys(("episodes", "steps", "steps per second"), "0")
    assert dict(EpisodeStats().rows((), 1.0)) == none


@pytest.mark.parametrize(("shown", "told"), [("flat", "Box"), ("pixels", "Box"), ("text", "Text")])
def test_what_a_folder_cannot_keep_is_told(shown, told):
    env = GridVectorEnv("empty-4x4", 1, world="object", observation_representation=shown)
    with pytest.raises(ValueError, match=f"rollouts keep grid, item, and here .* a {told} alone"):
        rollouts.describe_step_arrays(env)


@pytest.mark.parametrize(
    ("num_actions", "dtype"), [(1, np.uint8), (256, np.uint8), (257, np.uint16)]
)
def test_actions_are_kept_in_the_smallest_numbers(num_actions, dtype, monkeypatch):
    env = made(Scenario.load("empty-4x4"), 1)
    monkeypatch.setattr(env, "num_actions", num_actions)
    assert rollouts.describe_step_arrays(env)["action"] == (dtype, ())
    assert rollouts.describe_step_arrays(env, masks=True)["action_mask"] == (
        np.int8,
        (num_actions,),
    )
    assert "action_mask" not in rollouts.describe_step_arrays(env)
