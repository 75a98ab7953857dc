"""What a learner collects and learns from, apart from the runs that keep it."""

from typing import Any

import numpy as np
import pytest

from gv_engine import load_scenario
from gv_engine.envs.backends.seeding import derive_seeds, make_seeded_generators
from gv_engine.envs.rollout.numpy_net import NumpyNet
from gv_engine.scenario.library import (
    list_built_in_grids,
    list_multi_agent_grids,
)
from tests.learning.drawn import make_learner

torch: Any = pytest.importorskip("torch")

pytestmark = [pytest.mark.slow, pytest.mark.compiled]


@pytest.mark.parametrize("memory", [False, True])
def test_what_was_likely_then_is_as_likely_when_it_is_learned(memory):
    """Masks, codes, and where memories end are the same in acting and in learning."""
    learner = make_learner("keydoor-5x5", num_envs=16, recurrent=memory, learning_rate=0.0)
    learner.net.actor.weight.data *= 100  # chances that differ
    for _ in range(20):
        figures = learner.update()
        assert abs(figures.approx_kl) < 1e-5
    assert figures.episodes > 5  # some of them have ended within an update


@pytest.mark.parametrize("levels", [None, "train"])
def test_two_seeds_share_no_worlds_and_no_numbers(levels):
    """With `seed + i` for world i, all worlds of two seeds but one would be equal."""
    learners = [make_learner("keydoor-5x5", levels=levels, seed=seed) for seed in (0, 1)]
    worlds, *others = (
        [{*map(tuple, part)} for part in parts]
        for parts in (
            [learner.env.snapshot()["rng"].tolist() for learner in learners],
            [[rng.get_state().tolist() for rng in each._rngs.values()] for each in learners],
            [[each.net.second.weight.flatten().tolist()] for each in learners],
        )
    )
    assert len(worlds[0] | worlds[1]) == 2 * 128
    for first, second in others:
        assert not first & second
    assert len(others[0][0]) == len(learners[0]._rngs)
    states = make_seeded_generators(range(1000))
    incs = {*states["inc_low"].tolist()}
    assert not incs & {*learners[0].env.snapshot()["rng"]["inc_low"].tolist()}


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize(
    ("level", "settings"),
    [
        ("keydoor-5x5", {"learner": "pqn"}),
        ("keydoor-5x5", {"learner": "pqn", "recurrent": True}),
        ("hunt", {"learner": "pqn"}),
    ],
    ids=str,
)
def test_pqn_values_a_cut_episode_by_the_actions_that_its_mask_allows(level, settings, masked):
    settings |= {"num_envs": 16, "num_steps": 32, "mask_actions": masked}
    learner = make_learner({"extends": level, "max_steps": 7}, **settings)
    learner.net.actor.weight.data.zero_()
    learner.net.actor.bias.data = worth = torch.arange(1.0, 1 + learner.spec.actions)
    expected, found, step = [], [], learner.env.step

    def take_step(actions: Any, out: Any) -> Any:
        results = step(actions, out=out)
        _, _, terminated, truncated, info = results
        of_step = torch.zeros(len(actions))
        if "final_info" in info:
            masks = torch.from_numpy(info["final_info"]["action_mask"])
            allowed = (masks > 0) | (masks == 0).all(1, keepdim=True) | (not masked)
            is_cut = truncated & ~terminated & (info["episode"]["l"] >= 7)
            of_step = (worth * allowed).amax(1) * torch.from_numpy(is_cut)
        expected.append(of_step)
        return results

    def keep(values: Any, bootstrap_values: Any, live: Any) -> Any:
        found.append(bootstrap_values)
        return advantages(values, bootstrap_values, live)

    advantages, learner._advantages, learner.env.step = learner._advantages, keep, take_step
    learner.update()
    assert torch.equal(found[0], torch.stack(expected))
    cut = found[0][found[0] > 0]
    assert len(cut) > 16
    assert bool((cut < len(worth)).any()) == masked


def test_advantages_are_those_of_their_definition():
    learner = make_learner("keydoor-5x5", num_envs=3, num_steps=6)
    settings = learner.settings
    rng = np.random.default_rng(0)
    arrays = learner._buffer.arrays
    arrays["reward"][:] = rng.random((6, 3))
    arrays["terminated"][:] = [[t == 2, False, False] for t in range(6)]
    arrays["truncated"][:] = [[False, t == 3, False] for t in range(6)]
    learner._reward_scaler.scale = lambda rewards, done, live: rewards
    expected, missed = torch.rand(7, 3), torch.zeros(6, 3)
    missed[3, 1] = 0.7
    live = torch.ones(6, 3, dtype=torch.bool)
    gains = learner._advantages(expected, missed, live)
    following = expected[1:].clone()
    following[2, 0], following[3, 1] = 0, 0.7
    surprise = torch.from_numpy(arrays["reward"]) + settings.gamma * following - expected[:-1]
    for world, ends in enumerate([[2, 5], [3, 5], [5]]):
        for t in range(6):
            end = next(each for each in ends if each >= t)
            powers = [(settings.gamma * settings.gae_lambda) ** k for k in range(end - t + 1)]
            total = sum(p * float(surprise[t + k, world]) for k, p in enumerate(powers))
            assert float(gains[t, world]) == pytest.approx(total, abs=1e-5)


def test_the_explained_variance_is_of_agents_that_learn():
    learner = make_learner("race", "object", num_envs=4, num_steps=16, partner="agent_2=random")
    batch = learner._collect()
    learner._optimise(batch)
    counted = batch.live.numpy()
    errors, returns = (each.numpy()[counted] for each in (batch.advantages, batch.returns))
    assert 0 < len(errors) < counted.size
    found = learner.metrics.explained_variance
    assert found == pytest.approx(1 - errors.var() / returns.var(), abs=1e-4)


def test_nothing_is_learned_of_agents_that_are_done_or_not_there():
    """What they see and do changes no weight; agents are told apart by their numbers."""
    alone = {"extends": "commons", "agents": 1, "map": "###\n#>#\n###"}
    mixed = {"mixture": [{"scenario": alone}, "commons"], "max_steps": 9}
    settings: Any = {"num_envs": 8, "num_steps": 16, "update_epochs": 1}
    one, other = (make_learner(mixed, "object", **settings) for _ in range(2))
    collected = one._collect()
    live = collected.live
    worlds = derive_seeds(one.settings.seed, "worlds", 8)
    assert live[0].tolist() == one.env.reset(seed=worlds)[1]["live"].tolist()
    assert 0.5 < live.float().mean() < 1
    seats = (collected.rows[..., -1] - int(one.spec.first_rows[-1])).reshape(16, 8, 2)
    assert (seats == torch.tensor([0, 1])).all()
    one._optimise(collected)
    changed = other._collect()
    changed.rows[~live] = changed.rows[live][0]
    changed.actions[~live] = 0
    changed.advantages[~live], changed.returns[~live] = 100, 100
    other._optimise(changed)
    for mine, theirs in zip(one.net.parameters(), other.net.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("level", ["keydoor-5x5", "doors", "commons"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_gradient_of_a_flat_network_is_that_of_autograd(level, activation):
    """With a mission, and with two agents, some of which do not take part."""
    options = {"encoder": "flat", "separate_critic": True, "activation": activation}
    learner = make_learner(level, "object", num_envs=4, num_steps=32, ent_coef=0.1, **options)
    learner._optimise(learner._collect())  # so that some probability ratios are not 1
    batch = learner._collect()
    batch.live[::3, -1] = learner.spec.agents == 1
    count = int(batch.live.sum())
    inputs = learner.net.flat.read(batch.rows.flatten(0, 1)).unflatten(0, batch.live.shape)
    found = learner._gradient(batch._replace(rows=inputs), count)
    learner._flat_gradient = None
    for mine, theirs in zip(found, learner._gradient(batch, count), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_what_others_end_is_over_and_what_the_limit_ends_is_not():
    """A line that is truncated is worth what was still to be expected, only at the limit."""
    level = {"extends": "race", "max_steps": 5}
    learner = make_learner(level, "object", num_envs=2, num_steps=4)
    final = {name: array[0] for name, array in learner.env.reset(seed=0)[0].items()}
    told = np.array([5] * 3 + [4] * 3)
    info = {
        "live": np.ones(6, bool),
        "episode": {"r": np.zeros(6), "l": told, "s": np.array([False] * 5 + [True])},
        "_episode": np.ones(6, bool),
        "final_obs": np.array([final] * 6, object),
        "final_info": {"action_mask": np.ones((6, learner.spec.actions), np.int8)},
    }
    terminated = np.array([False] * 5 + [True])
    missed = torch.zeros(4, 6)
    with torch.no_grad():
        learner._process_ends(2, (None, None, terminated, ~terminated, info), missed)
        step = learner.partners.is_learning, learner.curriculum.is_measured
        learner._count_episodes(info, *step)
    assert (missed[2, :3] != 0).all()
    assert (missed[2, 3:] == 0).all()
    assert (missed[[0, 1, 3]] == 0).all()
    assert learner.metrics.success_rate == 0.5


@pytest.mark.parametrize(
    ("level", "memory"),
    [("keydoor-9x9", False), ("keydoor-9x9", True), ("doors", True), ("hunt", False)],
)
def test_what_is_learned_acts_by_numpy_as_by_torch(level, memory):
    """In views, missions and numbers of agents as they come in episodes."""
    learner = make_learner(level, "object", num_envs=48, num_steps=40, recurrent=memory)
    net, shape = learner.net, learner.spec
    net.actor.weight.data *= 100  # chances that differ
    acting = NumpyNet(shape, {name: part.numpy() for name, part in net.state_dict().items()})
    kept = net.first_layer_table().detach()
    memories = np.zeros((48 * shape.agents, learner.settings.hidden_size))
    known = torch.zeros(memories.shape)
    collected = learner._collect()
    for rows, masks in zip(collected.rows, collected.masks, strict=True):
        chances, _, memories = acting.forward(rows.numpy(), memories, masks.numpy())
        with torch.no_grad():
            features, known = net.recur(net.features(kept, rows), known)
            likely, _ = net(features, masks)
        assert np.abs(chances - likely.exp().numpy()).max() < 1e-5
        assert np.abs(memories - known.numpy()).max() < 1e-5


# of BabyAI's levels, which are alike for learners, a small one and a large one
LEARNED = [
    *(n for n, ref in list_built_in_grids().items() if ref.file.parent.name != "babyai"),
    *("BabyAI-PickupLoc-v0", "BabyAI-GoTo-v0"),
    *list_multi_agent_grids(),
]


@pytest.mark.parametrize("name", LEARNED)
def test_every_level_can_be_learned(name):
    learner = make_learner(load_scenario(name), "object", num_envs=2, num_steps=4)
    figures = learner.update()
    assert figures.steps == 8 * learner.env.scenario.layout.agents
    assert np.isfinite(figures.entropy)
    assert np.isfinite(figures.value_loss)


def test_missions_are_seen():
    learner = make_learner("doors", num_envs=8)
    rows = learner._collect().rows
    mission = learner.env.scenario.missions
    assert mission
    assert rows.shape[2] == 7 * 7 + 1 + len(mission.names)
    firsts = torch.from_numpy(learner.spec.first_rows)
    asked = (rows - firsts)[:, :, -len(mission.names) :].numpy()
    assert np.array_equal(asked, learner._buffer.arrays["mission"][:-1])
    assert int(rows.max()) < sum(learner.spec.sizes)
