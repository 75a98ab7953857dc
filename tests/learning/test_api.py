"""Learning from Python: training with callbacks and loggers, and evaluation of policies."""

import re
import shlex
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from gv_engine import GridVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.envs.rollout.episode_stats import estimate_success
from gv_engine.envs.rollout.policy import PolicyError
from gv_engine.envs.rollout.policy_file import RunError
from gv_engine.learning import evaluate, load_policy
from gv_engine.plugins.learning.loggers import WandbLogger
from gv_engine.rules.errors import MissingExtraError
from tests import ROOT
from tests.learning.drawn import drawn

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("here")]
LEVEL = "keydoor-5x5"


def test_an_evaluation_is_that_of_a_rollout(here, capsys):
    drawn(here / "run")
    one = evaluate("run", LEVEL, "test", episodes=42, num_envs=5)
    assert one == evaluate("run", LEVEL, "test", episodes=42, num_envs=42)
    assert one == evaluate(load_policy("run"), LEVEL, "test", episodes=42)
    assert (one.levels, one.num_levels, one.episodes) == ("test", 21, 42)
    assert one.success
    words = "--levels", "test", "--episodes", "42", "--policy", "run"
    assert main(["rollout", LEVEL, *words]) == 0
    report = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert report["success"] == f"{one.success.mean:.1%}"
    assert report["length, mean"] == f"{one.episode_length.mean:.6g}"
    assert report["levels"] == "test, 21"
    interval = f"{one.success.low:.1%} to {one.success.high:.1%}"
    assert report["success, 95 % interval"] == interval


def test_by_default_each_level_is_played_once(here):
    one = evaluate("random", LEVEL, "test-layout")
    assert (one.num_levels, one.episodes) == (12, 12)
    assert one.success
    for each in (one.success, one.episode_return, one.episode_length):
        assert each.low < each.mean < each.high


def test_functions_and_classes_are_evaluated(here):
    def first(observation, info, rngs):
        return info["action_mask"].argmax(1)

    assert evaluate(first, LEVEL, episodes=3).episodes == 3
    with pytest.raises(PolicyError, match="<lambda> is called with"):
        evaluate(lambda observation: 0, LEVEL, episodes=3)
    with pytest.raises(PolicyError, match="has several agents: give the policy by name"):
        evaluate(first, "hunt", episodes=3)
    with pytest.raises(ValueError, match="episodes=0: allowed are whole numbers from 1 on"):
        evaluate(first, LEVEL, episodes=0)


@pytest.mark.parametrize(
    ("successes", "episodes", "expected"),
    [  # of R's prop.test(x, n, correct = FALSE)
        (0, 10, (0.0, 0.0, 0.2775328)),
        (7, 10, (0.7, 0.3967781, 0.8922087)),
        (200, 200, (1.0, 0.9811547, 1.0)),
    ],
)
def test_the_interval_of_a_rate_is_wilsons(successes, episodes, expected):
    assert estimate_success(successes, episodes) == pytest.approx(expected, abs=1e-6)


def test_a_policy_acts_on_what_it_is_given(here):
    drawn(here / "run", memory=True)
    envs = GridVectorEnv(LEVEL, 4, world="object", autoreset_mode="Disabled")
    observation, info = envs.reset(seed=0)
    policy, greedy = load_policy("run"), load_policy("run", envs.scenario, greedy=True)
    rngs = [np.random.default_rng(k) for k in range(4)]
    actions = policy.act(observation, info, rngs)
    best = greedy.act(observation, info)
    first, values = (np.array(each) for each in (policy.probabilities, policy.values))
    assert (first.shape, values.shape) == ((4, envs.num_actions), (4,))
    assert (first[range(4), actions] > 0).all()
    assert np.array_equal(best, first.argmax(1))
    policy.act(observation, info, rngs)
    assert not np.allclose(first, np.array(policy.probabilities))  # it remembers
    policy.begin(range(4))
    policy.act(observation, info, rngs)
    assert np.array_equal(first, np.array(policy.probabilities))
    with pytest.raises(ValueError, match="found 3 generators, expected 4, one for each world"):
        policy.act(observation, info, rngs[:3])
    with pytest.raises(RunError, match="was trained on keydoor-5x5 with"):
        load_policy("run", Scenario.load("hunt"))


def test_observations_of_another_form_are_refused_with_the_fix(here):
    drawn(here / "run", level="MiniGrid-DoorKey-5x5-v0")
    policy = load_policy("run", greedy=True)
    make: Any = partial(gymnasium.make_vec, "GV-MiniGrid-DoorKey-5x5-v0", 2, world="object")
    default: dict[str, Any] = {"observation_representation": "default"}
    for options, says in (
        ({}, r'has image, direction, mission, and no grid: .*representation="default"'),
        ({**default, "action_masks": False}, r"no action_mask, .* with action_masks=True"),
    ):
        with pytest.raises(ValueError, match=says):
            policy.act(*make(**options).reset(seed=0))
    observation, info = make(**default).reset(seed=0)
    assert policy.act(observation, info).shape == (2,)
    one = {name: array[0] for name, array in observation.items()}
    with pytest.raises(ValueError, match=r"shape \(7, 7, 3\): expected \(N, 7, 7, 3\)"):
        policy.act(one, info)
    with pytest.raises(ValueError, match="has no arrays by name, and no grid"):
        policy.act(observation["grid"], info)


def test_weights_and_biases_gets_each_update(monkeypatch):
    with pytest.raises(MissingExtraError, match="pip install wandb"):
        WandbLogger("mine")
    sent: list[Any] = []
    there = SimpleNamespace(
        log=lambda values, step: sent.append((step, values)),
        finish=lambda exit_code: sent.append(exit_code),
    )

    def init(**options: Any) -> Any:
        sent.append(options)
        return there

    stub = SimpleNamespace(init=init)
    monkeypatch.setitem(sys.modules, "wandb", stub)
    with WandbLogger("mine", name="first") as log:
        log({"steps": 4096, "entropy": 1.5})
    assert sent == [
        {"project": "mine", "name": "first"},
        (4096, {"steps": 4096, "entropy": 1.5}),
        0,
    ]


def test_the_example_of_the_page_runs(here, capsys):
    pytest.importorskip("torch")
    page = (ROOT / "docs/learning.md").read_text("utf-8")
    section = page.partition("## In Python")[2].partition("\n## ")[0]
    namespace: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(code, namespace)
    assert capsys.readouterr().out.count("\n") >= 3
    assert namespace["result"].metrics.steps == namespace["curve"][-1]["steps"]
    assert evaluate("knows-doors", LEVEL, "test-layout") == namespace["found"]


@pytest.mark.thorough
def test_the_tutorial_trains_an_agent_and_tests_it(here, capsys):
    pytest.importorskip("torch")
    page = (ROOT / "docs/researchers.md").read_text("utf-8")
    steps = page.partition("## Train a policy")[2].partition("## Save episodes")[0]
    for kind, code in re.findall(r"```(sh|python)\n(.*?)```", steps, re.DOTALL):
        if kind == "sh":
            assert main(shlex.split(code)[1:]) == 0
        else:
            exec(code, {})
    *_, shown = re.findall(r"```text\n(.*?)```", steps, re.DOTALL)
    assert capsys.readouterr().out.endswith(shown)


def test_a_second_run_in_a_notebook_is_told_what_to_do(here):
    pytest.importorskip("torch")
    from gv_engine.learning import train

    with pytest.raises(ValueError, match="'cuda:99' is no device"):
        train(LEVEL, {"steps": 1, "num_envs": 2, "device": "cuda:99"}, "run")
    train(LEVEL, {"steps": 1, "num_envs": 2}, "run")  # nothing was left there
    with pytest.raises(
        FileExistsError, match=r"another folder by `out`, .*resume_training\('run'\)"
    ):
        train(LEVEL, {"steps": 1, "num_envs": 2}, "run")


def test_a_network_that_diverges_is_told(here):
    pytest.importorskip("torch")
    from gv_engine.learning import train

    config = {"steps": 4000, "num_envs": 16, "learning_rate": 1e12}
    with pytest.warns(RuntimeWarning, match="run: the weights of the network are not finite any"):
        train(LEVEL, config, out="run")


def test_training_from_python_is_that_of_the_command(here):
    pytest.importorskip("torch")
    from gv_engine.learning import resume_training, train
    from gv_engine.plugins.learning.run_folder import Run

    config = {"steps": 8192, "levels": "train", "seed": 3, "learning_rate": 1e-3}
    (here / "a.yaml").write_text("steps: 8192\nlevels: train\nseed: 3\nlearning_rate: 5\n")
    words = "--config", "a.yaml", "--set-hp", "learning_rate=1e-3", "--out", "command"
    assert main(["train", LEVEL, *words]) == 0
    logged: list[Any] = []
    stopped = train(LEVEL, config, "python", [lambda training: True], [logged.append])
    assert (stopped.metrics.steps, len(logged)) == (4096, 1)
    assert resume_training("python").metrics.steps == 8192
    one, other = (Run(here / name) for name in ("command", "python"))
    assert (one.settings, one.stop_condition, one.level_seeds) == (
        other.settings,
        other.stop_condition,
        other.level_seeds,
    )
    weights = [run.load_checkpoint()["learner"]["net"] for run in (one, other)]
    for name, tensor in weights[0].items():
        assert tensor.equal(weights[1][name]), name
