"""Learners beside PPO: PQN and MAPPO; needs torch."""

import csv
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.envs.rollout.numpy_net import LSTM, NumpyNet
from gv_engine.envs.rollout.policy_file import PolicyFile, TrainedPolicy
from gv_engine.learning import evaluate, train
from gv_engine.plugins.learning.config import ConfigError
from tests import ROOT
from tests.learning.drawn import drawn, make_learner
from tests.screen import PATIENCE

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning.network import select_acting_weights  # noqa: E402
from gv_engine.plugins.learning.run_folder import Run  # noqa: E402
from gv_engine.plugins.learning.training import Training  # noqa: E402

pytestmark = [pytest.mark.usefixtures("here"), pytest.mark.slow, pytest.mark.compiled]

SAVING = """
import sys
from gv_engine.cli import main
from gv_engine.plugins.learning import training
training._CHECKPOINT_SECONDS = 0.0
sys.exit(main())
"""
"""The command, with a checkpoint after each update."""
FLAT = (
    *("--set-hp", "encoder=flat", "--set-hp", "activation=tanh", "--set-hp", "reward_clip=10.0"),
    *("--set-hp", "separate_critic=true", "--set-hp", "anneal_steps=4000"),
    *("--set-hp", "eval_interval=1500"),
)


def lines_of(run: Path) -> list[str]:
    """The lines of the curve, without what the clock says."""
    lines = (run / "progress.csv").read_text().splitlines()
    return [line.partition(",")[2] for line in lines]


LSTM_WORDS = "--memory", "--set-hp", "recurrent_cell=lstm"
REPLAYS = "--max-steps", "12", "--set-hp", "level_buffer_size=40"


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
@pytest.mark.parametrize(
    ("level", "words"),
    [
        ("keydoor-5x5", ("--learner", "ppo", "--memory")),
        ("keydoor-5x5", ("--learner", "rnd")),
        ("keydoor-5x5", ("--learner", "noveld", "--memory")),
        ("keydoor-5x5", ("--learner", "ride")),
        ("keydoor-5x5", ("--learner", "pqn")),
        ("keydoor-5x5", ("--learner", "pqn", "--memory")),
        ("keydoor-5x5", ("--set-hp", "encoder=cnn", "--memory")),
        ("keydoor-5x5", ("--set-hp", "encoder=mlp")),
        ("keydoor-5x5", FLAT),
        ("keydoor-5x5", ("--curriculum", "plr", *REPLAYS)),
        ("keydoor-5x5", ("--curriculum", "accel", *REPLAYS)),
        ("hand-over", ("--learner", "mappo", "--max-steps", "20")),
        ("race", ("--partner", "agent_1=friend,agent_3=random", "--max-steps", "20")),
        ("race", ("--partner", "agent_2=valid", "--learner", "mappo")),
        ("race", ("--partner", "self", *LSTM_WORDS, "--set-hp", "past_interval=1")),
    ],
    ids=" ".join,
)
def test_a_run_that_was_killed_goes_on_byte_for_byte(level, words):
    small = "--set-hp", "num_envs=8", "--set-hp", "num_steps=16"
    drawn(Path("friend"), "race", memory=True)
    steps = "--steps", str(40 * 8 * 16 * Scenario.load(level).layout.agents)
    assert main(["train", level, *words, *small, *steps, "--out", "whole"]) == 0
    command = [sys.executable, "-c", SAVING, "train", level, *words, *small, *steps]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*command, "--out", "part"], env=env) as process:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and process.poll() is None:
            if (Path("part/progress.csv").exists()) and len(lines_of(Path("part"))) > 5:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.01)
    assert process.returncode == -signal.SIGKILL
    assert len(lines_of(Path("part"))) < 41
    assert main(["train", "--resume", "part"]) == 0
    assert lines_of(Path("part")) == lines_of(Path("whole"))
    files = [Path(run, "policy.npz").read_bytes() for run in ("part", "whole")]
    assert files[0] == files[1]
    states = [Run(Path(run)).load_checkpoint()["learner"] for run in ("part", "whole")]
    for one, other in zip(states[0]["adam"], states[1]["adam"], strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("learner", ["rnd", "noveld", "mappo"])
def test_a_policy_file_holds_what_acting_needs_and_the_checkpoint_all(learner: str):
    level = "hunt" if learner == "mappo" else "keydoor-5x5"
    config = {"steps": 100, "num_envs": 4, "num_steps": 8}
    train(level, config, out="usual")
    train(level, {**config, "learner": learner}, out="run")
    file, usual = PolicyFile.read(Path("run")), PolicyFile.read(Path("usual"))
    critic = {"critic.weight", "critic.bias"} if learner == "mappo" else set()
    assert file.weights.keys() == usual.weights.keys() - critic
    saved = Run(Path("run")).load_checkpoint()["learner"]["net"]
    assert file.weights.keys() < saved.keys()
    # a file of an earlier version, with all weights, acts alike
    full = file._replace(weights={name: each.numpy() for name, each in saved.items()})
    inputs = file.network_spec.first_rows[None], np.zeros((1, 128)), np.ones((1, 8))
    outputs: list[Any] = [TrainedPolicy(each)._net.forward(*inputs) for each in (file, full)]
    assert np.array_equal(outputs[0][0], outputs[1][0])
    assert (outputs[0][1] is None) == (learner == "mappo")
    assert outputs[0][1] == outputs[1][1]


def test_targets_of_pqn_are_q_lambda_returns(monkeypatch):
    """Also where the step limit cuts an episode, whose last value is that of its last view."""
    learner = make_learner(
        Scenario.load("keydoor-5x5").with_step_limit(7), "object", learner="pqn", num_envs=6
    )
    rewards = learner._buffer.arrays["reward"]
    monkeypatch.setattr(learner._reward_scaler, "scale", lambda rewards, *_: rewards)
    batch = learner._collect()
    ended = learner._buffer.arrays["terminated"] | learner._buffer.arrays["truncated"]
    gamma, share = learner.settings.gamma, learner.settings.gae_lambda
    rows, masks, _ = learner._network_inputs(slice(None))
    with torch.no_grad():
        table = learner.net.first_layer_table()
        values = learner.net.actor(learner.net.features(table, rows.flatten(0, 1)))
        allowed = masks.flatten(0, 1) != 0
        best = values.masked_fill(~allowed, -torch.inf).amax(1).reshape(-1, 6).numpy()
    target, checked = best[-1], 0
    cut = np.zeros(6, bool)
    for t in reversed(range(len(rewards))):
        after = (1 - share) * best[t + 1] + share * target
        target = rewards[t] + gamma * np.where(ended[t], 0, after)
        cut = np.where(ended[t], learner._buffer.arrays["truncated"][t], cut)
        sure = ~(cut & ended[t])
        found = batch.returns[t].numpy()
        assert np.allclose(found[sure], target[sure], atol=1e-5)
        checked += int(sure.sum())
        target = found
    assert checked > 100
    assert learner._buffer.arrays["truncated"].any()


def test_pqn_explores_less_and_less():
    learner = make_learner("keydoor-5x5", "object", learner="pqn", exploration_steps=1000)
    shares = []
    for steps in (0, 500, 1000, 5000):
        learner._num_steps = steps
        shares.append(round(learner.epsilon, 3))
    assert shares == [1.0, 0.525, 0.05, 0.05]
    with torch.no_grad():
        learner._prepare_acting()
    features, masks = torch.randn(50, 128), torch.ones(50, 8)
    masks[:, 3:] = 0
    masks[7] = 0
    log_probs, values = learner._act_and_value(features, masks)
    chances = log_probs.exp()
    assert torch.allclose(chances.sum(1), torch.ones(50))
    assert (chances[torch.arange(50) != 7][:, 3:] == 0).all()
    assert torch.allclose(chances[7].min(), torch.tensor(0.05 / 8))
    assert torch.equal(values[7], learner.net.actor(features)[7].max())


@pytest.mark.parametrize(
    ("level", "method", "memory", "encoder"),
    [
        ("keydoor-5x5", "ppo", False, "flat"),
        ("doors", "ppo", True, "flat"),
        ("keydoor-5x5", "pqn", False, "embedding"),
        ("doors", "pqn", True, "cnn"),
        ("doors", "pqn", False, "mlp"),
        ("hunt", "mappo", True, "embedding"),
        ("hunt", "mappo", False, "cnn"),
        ("hunt", "mappo", True, "mlp"),
        ("doors", "rnd", True, "embedding"),
        ("doors", "rnd", False, "cnn"),
        ("doors", "rnd", False, "mlp"),
        ("doors", "ppo", True, "cnn"),
        ("crafter", "ppo", False, "cnn"),
        ("doors", "ppo", True, "mlp"),
        ("doors", "ppo", LSTM, "embedding"),
        ("hunt", "mappo", LSTM, "embedding"),
    ],
)
def test_what_is_learned_acts_by_numpy_as_by_torch(level, method, memory, encoder):
    sizes: dict[str, Any] = {"num_envs": 24, "num_steps": 20, "recurrent": bool(memory)}
    if memory == LSTM:
        sizes["recurrent_cell"] = LSTM
    if is_flat := encoder == "flat":
        sizes |= {"activation": "tanh", "separate_critic": True}
    learner = make_learner(level, "object", **sizes, learner=method, encoder=encoder)
    learner.update()
    learner.net.actor.weight.data *= 10
    learner._num_steps = 10**9  # the least epsilon
    settings = learner.settings
    weights = {name: part.numpy() for name, part in learner.net.state_dict().items()}
    weights = select_acting_weights(learner.spec, weights, settings.hidden_size)
    epsilon = settings.end_epsilon if method == "pqn" else None
    acting = NumpyNet(learner.spec, weights, settings.layer_norm, epsilon, settings.activation)
    slots = len(learner.spec.sizes)
    kept = learner.net.first_layer_table().detach()
    memories = np.zeros((learner.env.num_envs, acting.memory_size))
    known = torch.zeros(memories.shape)
    batch = learner._collect()
    for rows, masks in zip(batch.rows, batch.masks, strict=True):
        own = rows[:, :slots].numpy()
        chances, values, memories = acting.forward(own, memories, masks.numpy())
        with torch.no_grad():
            features, known = learner.net.recur(learner.net.features(kept, rows), known)
            log_probs, expected = learner._act_and_value(features, masks)
        assert np.abs(chances - log_probs.exp().numpy()).max() < 1e-4
        if method == "mappo" or is_flat:
            assert values is None
        else:
            assert np.abs(values - expected.numpy()).max() < 1e-4


@pytest.mark.parametrize(
    ("encoder", "level"), [("embedding", "doors"), ("cnn", "doors"), ("mlp", "ice")]
)
def test_a_separate_critic_and_the_actor_share_no_hidden_layer(encoder, level):
    """The gradient of the values is 0 for each layer that the probabilities depend on."""
    learner = make_learner(level, num_envs=4, num_steps=8, encoder=encoder, separate_critic=True)
    net, shared = learner.net, ("embedding", "queries", "convolution")
    net.actor.weight.data *= 100
    rows, masks, _ = learner._network_inputs(0)
    log_probs, values = net(net.features(net.first_layer_table(), rows), masks)
    named = dict(net.named_parameters())
    options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    for output, is_of_actor in ((log_probs[:, 0], True), (values, False)):
        gradients = torch.autograd.grad(output.sum(), [*named.values()], **options)
        found = {name: each.numpy() for name, each in zip(named, gradients, strict=True)}
        acting = select_acting_weights(learner.spec, found, learner.settings.hidden_size)
        layers = {name: each for name, each in acting.items() if not name.startswith(shared)}
        of_critic = {name for name in layers if name.startswith("critic_")}
        assert {name for name in layers if layers[name].any()} == (
            layers.keys() - of_critic if is_of_actor else of_critic
        )


def test_a_flat_encoder_normalises_by_all_observations_so_far():
    learner = make_learner("keydoor-5x5", num_envs=4, num_steps=8, encoder="flat")
    encoder, spec = learner.net.flat, learner.spec
    seen = [learner._buffer.rows[:1].copy()]
    for _ in range(3):
        learner.update()
        seen.append(learner._buffer.rows[1:].copy())
    rows = np.concatenate([each.reshape(-1, each.shape[-1]) for each in seen])
    codes = (rows - spec.first_rows)[:, : spec.cells + 1]
    numbers = learner.cells[codes].astype(float)  # (M, slots, 3)
    expected = (learner.cells - numbers.mean(0)[:, None]) / np.sqrt(numbers.var(0) + 1e-8)[:, None]
    found = encoder.numbers.numpy().reshape(expected.shape)
    assert np.allclose(found, expected.clip(-10, 10), atol=1e-4)
    assert (np.abs(found) == 10).any()
    inputs = found[np.arange(spec.cells + 1), codes].reshape(len(codes), -1)
    with torch.no_grad():
        read = encoder.read(torch.from_numpy(rows)).numpy()
        outputs = encoder()[torch.from_numpy(rows)].sum(1).numpy()
        weight = encoder.weight.numpy()
    assert np.array_equal(read, inputs)
    assert np.allclose(outputs, inputs @ weight.T, atol=1e-3)


def test_rewards_are_clipped_and_the_learning_rate_falls():
    learner = make_learner("keydoor-5x5", num_envs=4, num_steps=8, reward_clip=0.1, anneal_steps=96)
    rewards = np.array([[0.0, 5.0, -5.0, 1e-4]] * 8, np.float32)
    scaled = learner._reward_scaler.scale(rewards, rewards > 9, rewards < 9)
    assert scaled.min() == -np.float32(0.1) < 0 < scaled[0, 3] < scaled.max() == np.float32(0.1)
    rates = [learner.update().learning_rate for _ in range(4)]
    assert rates == pytest.approx([2e-3 * 2 / 3, 2e-3 / 3, 0, 0])
    before = learner.net.second.weight.clone()
    learner.update()
    assert torch.equal(before, learner.net.second.weight)


def test_the_curve_has_evaluations_on_levels_that_are_not_trained_on():
    config = {"num_envs": 4, "num_steps": 16, "levels": "train"}
    result = train("keydoor-5x5", {**config, "steps": 320, "eval_interval": 128}, out="run")
    with (result.path / "progress.csv").open() as file:
        lines = [*csv.DictReader(file)]
    evaluated = [float(line["evaluated_return"]) for line in lines]
    assert [not math.isnan(each) for each in evaluated] == [False, True, False, True, False]
    assert all(float(line["explained_variance"]) <= 1 for line in lines)
    last = train("keydoor-5x5", {**config, "steps": 256}, out="short")
    with closing(Training(Run(last.path), Scenario.load("keydoor-5x5"), None)) as training:
        policy = training.run.policy_file(training.learner)
    found = evaluate(policy, "keydoor-5x5", "validation", episodes=100)
    assert found.success
    assert found.success.mean == float(lines[3]["evaluated_success"])
    assert found.episode_return.mean == evaluated[3]


def test_a_team_is_evaluated_in_training_as_by_its_name():
    config = {"learner": "mappo", "num_envs": 4, "num_steps": 16, "steps": 128}
    result = train("warehouse-tiny-2ag", {**config, "eval_interval": 128}, out="run")
    policy = PolicyFile.read(result.path)
    one, other = (evaluate(each, "warehouse-tiny-2ag", seed=3) for each in (policy, result.path))
    assert one == other
    assert 0 < one.episode_return.mean < 100


def test_the_critic_of_mappo_sees_all_agents_and_its_actor_one():
    learner = make_learner("hunt", "object", num_envs=4, num_steps=8, learner="mappo")
    batch, agents = learner._collect(), learner.spec.agents
    rows, masks, _ = learner._network_inputs(3)
    assert torch.equal(batch.rows[3], rows)
    changed = rows.clone()
    changed[1, 0] += 1  # the first cell that the second agent of the first world sees
    table = learner.net.first_layer_table()
    with torch.no_grad():
        one, two = (
            learner.net(learner.net.features(table, each), masks) for each in (rows, changed)
        )
    differs = [(a != b).reshape(len(rows), -1).any(1) for a, b in zip(one, two, strict=True)]
    assert differs[0].nonzero().flatten().tolist() == [1]
    assert differs[1].nonzero().flatten().tolist() == [*range(agents)]
    assert len({*one[1][:agents].tolist()}) == agents  # each has a value of its own


@pytest.mark.parametrize("memory", [False, True])
def test_minibatches_of_mappo_have_the_agents_of_a_world_side_by_side(memory, monkeypatch):
    sizes: Any = {"num_envs": 5, "num_steps": 4, "num_minibatches": 3, "recurrent": memory}
    learner = make_learner("hunt", "object", **sizes, learner="mappo")
    agents, (seen, compute) = learner.spec.agents, ([], learner.net.features)

    def features(table, rows):
        seen.append(rows)
        return compute(table, rows)

    monkeypatch.setattr(learner.net, "features", features)
    learner.update()
    for rows in seen:
        of_world = rows.unflatten(0, (-1, agents))[..., -1]
        assert (of_world == of_world[0]).all()
        assert (of_world[0].diff() == 1).all()
    assert len({len(rows) for rows in seen}) > 1


@pytest.mark.parametrize("options", [{"learner": "mappo"}, {"share_rewards": True}], ids=str)
@pytest.mark.parametrize(("level", "expected"), [("hand-over", [3, 3]), ("ball", [3, 3, 12, 12])])
def test_rewards_are_those_of_the_team(level, expected, options):
    sizes: Any = {"num_envs": 2, "num_steps": 3, "num_minibatches": 1}
    learner = make_learner(level, "object", **options, **sizes)
    agents = learner.spec.agents
    own = np.array([[1, 2, 4, 8][:agents] * 2] * 3, np.float32)
    learner._buffer.arrays["reward"][...] = own
    assert learner._rewards().tolist() == [expected * 2] * 3
    assert (learner._buffer.arrays["reward"] == own).all()


def test_rnd_rewards_what_is_new_and_less_each_time():
    learner = make_learner("keydoor-5x5", "object", num_envs=4, num_steps=16, learner="rnd")
    learner._collect()
    rows = learner._buffer.inputs(slice(1, None))[0].flatten(0, 1)
    other = make_learner("keydoor-5x5", "object", num_envs=4, num_steps=16, learner="rnd", seed=9)
    other._collect()
    unseen = other._buffer.inputs(slice(1, None))[0].flatten(0, 1)
    seen = {row.tobytes() for row in rows.numpy()}
    new = torch.tensor([row.tobytes() not in seen for row in unseen.numpy()])
    assert new.any()
    before = learner.net.prediction_errors(rows).mean()
    target = learner.net.target.clone()
    predictor = [each for name, each in learner.net.named_parameters() if "predictor" in name]
    optimiser = torch.optim.Adam(predictor, 1e-3)
    for _ in range(100):
        optimiser.zero_grad()
        learner.net.prediction_errors(rows).mean().backward()
        optimiser.step()
    assert torch.equal(learner.net.target, target)
    after = learner.net.prediction_errors(rows).mean()
    assert after < 0.3 * before
    assert learner.net.prediction_errors(unseen[new]).mean() > 1.5 * after


@pytest.mark.parametrize("memory", [False, True])
def test_the_predictor_of_rnd_learns_from_a_quarter_of_the_sequences(memory):
    options: Any = {"num_envs": 8, "num_steps": 16, "learner": "rnd", "recurrent": memory}
    learner = make_learner("keydoor-5x5", "object", **options)
    batch = learner._collect()
    names = [name for name, _ in learner.net.named_parameters()]

    def gradients() -> dict[str, Any]:
        whole, _ = learner._gradient(batch, batch.actions.numel())
        sizes = [each.numel() for each in learner.net.parameters()]
        return dict(zip(names, whole.split(sizes), strict=True))

    before = gradients()
    batch.rows[:, 2:] = batch.rows[:, :1]
    after = gradients()
    for name in names:
        assert torch.equal(before[name], after[name]) == ("predictor" in name), name
        assert before[name].any()


def test_rnd_adds_to_rewards_and_novelty_does_not_end_with_an_episode():
    options: Any = {"num_envs": 4, "num_steps": 16, "learner": "rnd"}
    alone, curious = (
        make_learner("keydoor-5x5", "object", rnd_coef=weight, **options) for weight in (0.0, 1.0)
    )
    live = np.ones((16, 4), np.bool_)
    rewards = []
    for learner in (alone, curious):
        learner._collect()
        rewards.append(learner._scaled_rewards(np.zeros_like(live), live))
    added = (rewards[1] - rewards[0]).numpy()
    assert (added > 0).all()
    again = curious._novelty_scaler
    errors = np.ones((1, 4), np.float32)
    flags = np.ones((1, 4), np.bool_)
    before = again._returns.copy()
    again.scale(errors, ~flags, flags)
    assert np.allclose(again._returns, before * 0.99 + 1)


def test_noveld_rewards_steps_to_newer_observations_once_in_an_episode():
    level = Scenario.load("keydoor-5x5").with_(max_steps=40)
    options: Any = {"num_envs": 4, "num_steps": 100, "learner": "noveld"}
    learner, other = (make_learner(level, "object", **options) for _ in range(2))
    learner._novelty_scaler.scale = lambda gains, done, live: gains
    given, rewards, compute = [], [], learner._scaled_novelty

    def keep(*arguments: Any) -> Any:
        given.append([each.copy() for each in arguments])
        rewards.append(compute(*arguments))
        return rewards[-1]

    learner._scaled_novelty = keep
    for _ in range(3):  # what was visited before an update counts after it
        learner.update()
        other.restore(learner.state())
        assert other._visits.state() == learner._visits.state()
    rewarded = 0
    for agent in range(4):
        visited: set[bytes] = set()
        for (rows, errors, done, _), found in zip(given, rewards, strict=True):
            for t in range(100):
                before, after = (rows[k, agent].tobytes() for k in (t, t + 1))
                visited = visited | {before}
                gain = max(errors[t + 1, agent] - 0.5 * errors[t, agent], 0)
                known = done[t, agent] or after in visited
                assert found[t, agent] == (0 if known else np.float32(gain))
                rewarded += found[t, agent] > 0
                visited = set() if done[t, agent] else visited
    assert 100 < rewarded < 600


def test_ride_rewards_impact_less_at_each_visit_in_an_episode():
    level = Scenario.load("keydoor-5x5").with_(max_steps=40)
    options: Any = {"num_envs": 4, "num_steps": 100, "learner": "ride", "rnd_coef": 1.0}
    learner, other = (make_learner(level, "object", **options) for _ in range(2))
    impact, given = [], []

    def keep(rewards: Any, done: Any, live: Any) -> Any:
        impact.append((rewards, done))
        return rewards

    def learn(rows: Any, has_next: Any) -> Any:
        given.append((rows.numpy().copy(), compute(rows, has_next)))
        return given[-1][1]

    compute, learner._learn_dynamics = learner._learn_dynamics, learn
    learner._impact_scaler.scale = keep
    for _ in range(3):  # visits before an update count after it
        learner.update()
        other.restore(learner.state())
        assert other._visits.state() == learner._visits.state()
        assert torch.equal(other._dynamics.table, learner._dynamics.table)
    repeated = 0
    for agent in range(4):
        visits: list[bytes] = []
        for (rows, distances), (rewards, done) in zip(given, impact, strict=True):
            for t in range(100):
                before, after = (rows[k, agent].tobytes() for k in (t, t + 1))
                visits = [*(visits or [before]), after]
                count = 0 if done[t, agent] else visits.count(after)
                expected = distances[t, agent].item() / count**0.5 if count else 0
                assert rewards[t, agent] == pytest.approx(expected, rel=1e-5)
                visits = [after] if done[t, agent] else visits
                repeated += count > 1
    assert 100 < repeated < 1100


def test_the_embeddings_of_ride_tell_the_actions():
    learner = make_learner("keydoor-5x5", "object", num_envs=8, num_steps=16, learner="ride")
    learner._collect()
    rows, actions = learner._buffer.inputs(slice(None))[0], learner._buffer.actions
    has_moved = (rows[1:] != rows[:-1]).any(2)

    def tell_actions() -> float:
        embeddings = learner._dynamics(rows.flatten(0, 1)).unflatten(0, rows.shape[:2])
        both = torch.cat([embeddings[:-1], embeddings[1:]], 2)
        chosen = learner._dynamics.inverse(learner._dynamics.inverse_hidden(both).relu()).argmax(2)
        return float((chosen == actions)[has_moved].float().mean())

    before = tell_actions()
    for _ in range(200):
        distances = learner._learn_dynamics(rows, torch.ones_like(actions, dtype=torch.bool))
    assert before < 0.5 < 0.9 < tell_actions()
    assert not distances.requires_grad
    assert (distances[~has_moved] == 0).all()
    weights = learner._dynamics.table.clone()
    learner._learn_dynamics(rows, torch.zeros_like(actions, dtype=torch.bool))
    assert torch.equal(weights, learner._dynamics.table)


@pytest.mark.parametrize("level", ["empty-4x4", "MiniGrid-GoToDoor-5x5-v0"])
def test_the_example_reads_levels_with_and_without_missions(level, monkeypatch):
    from examples import small_ppo

    monkeypatch.setattr(small_ppo, "GOAL", 0.0)
    assert small_ppo.train(level, 0, 20_000) >= 1024


def test_what_does_not_fit_is_told_before_a_run_begins(capsys):
    with pytest.raises(ConfigError, match="mappo trains several agents, and keydoor-5x5 has one"):
        train("keydoor-5x5", {"learner": "mappo"}, out="a")
    assert main(["train", "keydoor-5x5", "--learner", "mappo", "--out", "a"]) == 2
    assert main(["train", "keydoor-5x5", "--learner", "pq", "--out", "a"]) == 2
    assert "no learner 'pq'; did you mean 'pqn'?" in capsys.readouterr().err
    assert main(["train", "keydoor-5x5", "--learner", "pqn", "--imitate", "b"]) == 2
    assert "--imitate works with the learner ppo, not with pqn" in capsys.readouterr().err
    assert not Path("a").exists()


@pytest.mark.thorough
def test_pqn_learns_key_door():
    train("keydoor-5x5", {"learner": "pqn", "steps": 300_000, "levels": "train"}, out="run")
    found = evaluate("run", "keydoor-5x5", "test", episodes=200)
    assert found.success
    assert found.success.mean >= 0.95
