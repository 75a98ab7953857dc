"""Partners: who acts in training, and what is learned of it; needs torch."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import EachAgentVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.envs.rollout.policy_file import RunError, TrainedPolicy
from gv_engine.learning import resume_training, train
from gv_engine.rules.errors import TrustError
from tests.learning.drawn import drawn, make_learner

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning.run_folder import Run  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

SMALL: Any = {"num_envs": 6, "num_steps": 16}
FIRST = """
from gv_engine.learning import load_policy

def first(observation, info, rngs):
    return [int(rng.random() * 2) for rng in rngs]

class Counting:
    def __init__(self, num_envs, num_actions):
        self.steps = [0] * num_envs

    def begin(self, worlds):
        pass

    def act(self, observation, info, rngs):
        return self.steps
"""


@pytest.mark.parametrize(
    ("level", "partner", "says"),
    [
        ("hunt", "dog=random", "--partner dog=random: no agent or team 'dog'"),
        ("hunt", "random", "expected self, or NAME=POLICY, as cat=random"),
        ("hunt", "cat=self", "past selves act for all agents: give --partner self alone"),
        ("hunt", "cat=random,hunters=valid", "no agent is left to learn"),
        ("hunt", "cat=nowhere", "no policy 'nowhere'"),
        ("hunt", "cat=bot", "whose missions have a bot"),
        ("hunt", "cat=run", "was trained on keydoor-5x5"),
        ("hunt", "cat=./a.py:Counting", "keeps a state of its own"),
        ("keydoor-5x5", "self", "keydoor-5x5 has one agent: leave the partner out"),
    ],
)
def test_partners_that_do_not_fit_are_told_before_a_run_begins(level, partner, says, here, capsys):
    Path("a.py").write_text(FIRST)
    drawn(Path("run"))
    assert main(["train", level, "--partner", partner, "--steps", "1", "--out", "out"]) == 2
    assert says in capsys.readouterr().err
    with pytest.raises(Exception, match=says.partition(",")[0]):
        train(level, {"partner": partner, "steps": 1}, out="out")
    assert not Path("out").exists()


@pytest.mark.parametrize(("method", "memory"), [("ppo", False), ("ppo", True), ("mappo", False)])
def test_nothing_is_learned_of_what_partners_do(method, memory):
    learner = make_learner(
        "hunt", "object", partner="bob=valid,cat=random", learner=method, recurrent=memory, **SMALL
    )
    batch = learner._collect()
    lines = np.arange(learner.env.num_envs) % 3 > 0
    assert not batch.live[:, lines].any()
    assert batch.live[:, ~lines].all()
    other = batch._replace(
        **{name: getattr(batch, name).clone() for name in ("actions", "advantages", "returns")}
    )
    for array in other.actions, other.advantages, other.returns:
        array[:, lines] += 1
    found = []
    for each in batch, other:
        torch.manual_seed(0)
        learner._rngs["minibatches"].manual_seed(0)
        gradients: list[Any] = []
        learner._adam.step = gradients.append
        learner._optimise(each)
        found.append(torch.stack(gradients))
    assert torch.equal(*found)
    assert found[0].isfinite().all()
    assert found[0].any()


@pytest.mark.parametrize("memory", [False, True])
def test_a_run_is_a_partner_that_acts_as_it_does_elsewhere(memory, here):
    drawn(Path("run"), "hunt", memory)
    level = Scenario.load("hunt").with_step_limit(9)
    learner = make_learner(level, "object", partner="hunters=run:greedy", **SMALL)
    known = EachAgentVectorEnv(level, SMALL["num_envs"], world="object")
    policy = TrainedPolicy("run", greedy=True)
    step, checked, seen = learner.env.step, [], {}
    for k, partner in learner.partners._policies.items():

        def act(observation, info, k=k, act=partner.act):
            seen[k] = observation
            return act(observation, info)

        partner.act = act

    def compare(actions, out):
        rows = learner.env.snapshot()
        observation, info = known.restore(rows)
        if policy.agents.size:
            policy.begin(np.flatnonzero((rows["steps"] == 0).repeat(3)).tolist())
        expected = policy.act(observation, info)
        assert (actions.reshape(-1, 3)[:, :2] == expected.reshape(-1, 3)[:, :2]).all()
        found = policy.probabilities
        assert found is not None
        for k, partner in learner.partners._policies.items():
            assert np.allclose(partner.probabilities, found[k::3])
            assert seen[k].keys() == observation.keys()
            assert all((seen[k][name] == each[k::3]).all() for name, each in observation.items())
        checked.append(actions.reshape(-1, 3)[:, 2] != expected.reshape(-1, 3)[:, 2])
        return step(actions, out=out)

    learner.env.step = compare
    for _ in range(3):
        learner.update()
    assert len(checked) == 48
    assert np.mean(checked) > 0.3  # cat learns, and acts by itself


def test_random_partners_are_other_ones_in_each_step_and_world():
    learner = make_learner("hunt", "object", partner="cat=random", **SMALL)
    taken = []
    step = learner.env.step

    def record(actions: Any, out: Any) -> Any:
        taken.append(actions[2::3].copy())
        return step(actions, out)

    learner.env.step = record
    learner.update()
    learner.update()
    assert len({each.tobytes() for each in taken}) == 32
    assert len({each.tobytes() for each in np.array(taken).T}) == SMALL["num_envs"]
    assert np.bincount(np.ravel(taken)).min() > 5


def test_past_selves_act_for_all_sides_but_one(monkeypatch):
    level = Scenario.load("hunt").with_step_limit(5)
    learner = make_learner(
        level, "object", partner="self", past_interval=2, past_selves=3, num_envs=20, num_steps=8
    )
    partners, steps = learner.partners, []
    kept = [{name: each.clone() for name, each in learner.net.state_dict().items()}]
    act = type(partners).act

    def check(own, actions, seen):
        before = actions.copy()
        act(own, actions, seen)
        lines = own.is_learning.ravel()
        assert (actions[lines] == before[lines]).all()
        for slot, net in enumerate(own._nets):
            index = np.flatnonzero(~lines & (own._slots.repeat(3) == slot))
            masks = seen.info["action_mask"][index]
            chances, *_ = net.forward(seen.rows[index], own._memory[index], masks)
            expected = (np.log(chances + 1e-300) - seen.noise.numpy()[index]).argmax(1)
            assert (actions[index] == expected).all()
        steps.append((own.is_learning.copy(), own._slots.copy(), learner.env.snapshot()["steps"]))

    monkeypatch.setattr(type(partners), "act", check)
    for update in range(9):
        learner.update()
        if update % 2:
            weights = learner.net.state_dict()
            kept.append({name: each.clone() for name, each in weights.items()})
    pool = [kept[3], kept[4], kept[2]]  # the fourth and the fifth are where the first two were
    for own, expected in zip(partners._pool, pool, strict=True):
        assert all(torch.equal(own[name], expected[name]) for name in expected)
    sides = {tuple(world) for learning, *_ in steps for world in learning.tolist()}
    assert sides == {(True, True, False), (False, False, True)}
    for (sides_before, slots_before, _), (sides_now, slots_now, age) in pairwise(steps):
        assert (sides_now[age > 0] == sides_before[age > 0]).all()
        assert (slots_now[age > 0] == slots_before[age > 0]).all()
    assert {*np.ravel([slots for _, slots, _ in steps])} == {0, 1, 2}


def test_returns_and_successes_are_those_of_the_learning_side():
    learner = make_learner("hunt", "object", partner="cat=random", num_envs=2)
    ended = np.array([True] * 3 + [False] * 3)
    episode = {"r": np.array([1.0, 2.0, 10.0, 0, 0, 0]), "s": ended & ~ended, "l": ended * 4}
    step = learner.partners.is_learning, learner.curriculum.is_measured
    learner._count_episodes({"episode": episode, "_episode": ended}, *step)
    assert learner._estimator._counts[2].tolist() == [3.0]
    episode["s"] = np.array([False, False, True, False, False, False])
    learner._count_episodes({"episode": episode, "_episode": ended}, *step)
    assert learner._estimator._counts[3].tolist() == [0.0] * 2


def test_a_run_knows_its_partners_and_does_not_go_on_with_others(here, capsys):
    Path("a.py").write_text(FIRST)
    small = "--num-envs", "4", "--steps", "128"
    words = "train", "hunt", "--partner", "ann=./a.py:first", "--partner", "bob=valid"
    assert main([*words, *small, "--out", "run"]) == 0
    said = capsys.readouterr().out
    assert f"--policy ann={here / 'a.py'}:first,bob=valid,cat=run" in said
    assert "evaluated" not in said
    assert Run(Path("run")).settings.partner == f"ann={here / 'a.py'}:first,bob=valid"
    assert main(["train", "--resume", "run", "--partner", "self"]) == 2
    assert "keeps the run's own --partner" in capsys.readouterr().err
    assert main(["train", "--resume", "run", "--steps", "800"]) == 2
    assert "resume it with --trust if you trust them" in capsys.readouterr().err
    with pytest.raises(TrustError):
        resume_training("run", steps=800)
    assert main(["train", "--resume", "run", "--steps", "800", "--trust"]) == 0
    Path("a.py").write_text(FIRST + "\n# other")
    with pytest.raises(RunError, match="has changed since the run began: put its old file back"):
        resume_training("run", steps=1600, trust=True)


def test_self_play_keeps_the_last_weights(here):
    config = {"partner": "self", "num_envs": 32, "steps": 40_000, "num_minibatches": 1}
    train("hunt", config, out="run")
    run = Run(Path("run"))
    assert run.load_checkpoint()["best"] == {}
    net = run.load_checkpoint()["learner"]["net"]
    with np.load("run/policy.npz") as policy:
        assert (policy["net.first_bias"] == net["first_bias"].numpy()).all()
