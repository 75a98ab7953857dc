"""Policies as ONNX and TorchScript act as they do in NumPy; needs torch, and ONNX for some."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import EachAgentVectorEnv
from gv_engine.cli import main
from gv_engine.envs.backends.seeding import POLICY, make_rng
from gv_engine.envs.rollout.network_spec import StateCodes
from gv_engine.envs.rollout.numpy_net import GRU, LSTM
from gv_engine.envs.rollout.policy_file import PolicyFile
from gv_engine.learning import TrainedPolicy
from tests.learning.drawn import drawn

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning.policy_export import (  # noqa: E402
    ABOUT,
    PolicyModule,
    _encode_number,
    export_policy,
)

pytestmark = [
    pytest.mark.usefixtures("here"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`torch.jit"),  # deprecated
]

RUN = Path("run")
NO_CRITIC = {"critic.weight", "critic.bias"}
Net = Callable[[dict[str, Any]], dict[str, Any]]


def in_torch(path: Path) -> Net:
    """Load a policy as TorchScript: a function of inputs by name."""
    extra = {ABOUT: ""}
    module = torch.jit.load(path, _extra_files=extra)
    about = json.loads(extra[ABOUT])

    def act(given: dict[str, Any]) -> dict[str, Any]:
        assert [*given] == [*about["inputs"]]
        results = module(*map(torch.from_numpy, given.values()))
        return dict(zip(about["outputs"], [each.numpy() for each in results], strict=True))

    return act


def in_onnx(path: Path) -> Net:
    """Load a policy as ONNX: a function of inputs by name."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(path)
    about = json.loads(session.get_modelmeta().custom_metadata_map[ABOUT])
    assert [each.name for each in session.get_inputs()] == [*about["inputs"]]
    return lambda given: dict(zip(about["outputs"], session.run(None, given), strict=True))


LOADERS = {".pt": in_torch, ".onnx": in_onnx}


def export(suffix: str) -> Net:
    if suffix == ".onnx":
        pytest.importorskip("onnxscript", reason="the extra onnx is not installed")
    out = Path(f"policy{suffix}")
    export_policy(RUN, out)
    return LOADERS[suffix](out)


def inputs_of(observation: dict[str, Any], info: Any, about: PolicyFile) -> dict[str, Any]:
    """The inputs of a network without memory."""
    names = [name for name, _ in PolicyModule(about).inputs.items()]
    agents = np.arange(len(observation["grid"])) % about.network_spec.agents
    every = {**observation, "agent": agents, "action_mask": info["action_mask"]}
    return {name: every[name] for name in names if name != "memory"}


def compare(level: str, net: Net, steps: int = 12) -> float:
    """Act in some worlds with both; return the greatest difference of a probability."""
    policy, file = TrainedPolicy(RUN), PolicyFile.read(RUN)
    envs = EachAgentVectorEnv(level, 3, world="object", autoreset_mode="NextStep")
    observation, info = envs.reset(seed=5)
    rng = np.random.default_rng(5)
    number, worst, has_memory = len(observation["grid"]), 0.0, "memory" in PolicyModule(file).inputs
    memory = np.zeros((number, policy.memory.shape[1]), np.float32)
    rngs = [make_rng(5, POLICY, k) for k in range(number)]
    for _ in range(steps):
        policy.act(observation, info, rngs)
        given = inputs_of(observation, info, file)
        found = net(given | ({"memory": memory} if has_memory else {}))
        assert policy.probabilities is not None
        worst = max(worst, float(np.abs(found["probabilities"] - policy.probabilities).max()))
        assert ("values" in found) == (policy.values is not None)
        if policy.values is not None:
            np.testing.assert_allclose(found["values"], policy.values, atol=1e-4)
        if has_memory:
            memory = found["new_memory"]
            np.testing.assert_allclose(memory, policy.memory, atol=1e-5)
            assert (memory != 0).any()
        actions = np.array([rng.choice(p.size, p=p) for p in policy.probabilities])
        observation, _, _, _, info = envs.step(actions)
    return worst


@pytest.mark.parametrize("suffix", LOADERS)
@pytest.mark.parametrize(
    ("level", "memory", "encoder"),
    [
        *(("keydoor-5x5", False, "embedding"), ("keydoor-5x5", True, "embedding")),
        *(("BabyAI-GoToLocal-v0", True, "embedding"), ("BabyAI-GoToLocal-v0", True, "cnn")),
        *(("BabyAI-GoToLocal-v0", False, "mlp"), ("crafter", False, "embedding")),
        *(("crafter", False, "cnn"), ("hunt", True, "embedding"), ("hunt", False, "mlp")),
        ("doors", LSTM, "embedding"),
    ],
)
def test_probabilities_are_those_of_numpy(level: str, memory: Any, encoder: str, suffix: str):
    drawn(RUN, level, memory=bool(memory), encoder=encoder, cell=LSTM if memory == LSTM else GRU)
    assert compare(level, export(suffix)) < 1e-5


@pytest.mark.parametrize("suffix", LOADERS)
@pytest.mark.parametrize(
    "changes",
    [
        {"layer_norm": True, "epsilon": 0.1},
        {"activation": "tanh"},
        {"mask_actions": False},
        {"weights": NO_CRITIC},
    ],
    ids=["action values", "tanh", "no masks", "no critic"],
)
def test_other_learners_policies_are_equal_too(changes: dict[str, Any], suffix: str):
    drawn(RUN)
    file = PolicyFile.read(RUN)
    if "weights" in changes:
        kept = {name: each for name, each in file.weights.items() if name not in NO_CRITIC}
        changes = {"weights": kept}
    file._replace(**changes).write(RUN)
    assert compare("keydoor-5x5", export(suffix)) < 1e-5


@pytest.mark.parametrize("suffix", LOADERS)
def test_what_was_never_seen_gives_no_numbers(suffix: str):
    drawn(RUN)
    net = export(suffix)
    grid = np.full((2, 7, 7, 3), (2, 0, 0), np.uint8)
    grid[1, 3, 3] = 200, 0, 0
    mask = np.ones((2, 8), np.int8)
    mask[0, 1:] = 0
    given = {"grid": grid, "item": np.zeros((2, 3), np.uint8), "action_mask": mask}
    found = net(given)["probabilities"]
    assert found[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert np.isnan(found[1]).all()
    given["action_mask"][0] = 0  # allows all
    assert (net(given)["probabilities"][0] > 0).all()


def test_numbers_of_the_state_have_the_same_codes():
    values = np.append(np.random.default_rng(3).normal(0, 50, 500), [np.nan, 0.5, 1.5, 2.5, 1e9])
    for codes in (StateCodes(None, None, 128), StateCodes(-10.0, 90.0, 101), StateCodes(0, 5, 6)):
        found = _encode_number(torch.from_numpy(values), codes).numpy()
        assert (found == codes.encode(values)).all()


def test_the_command_tells_the_inputs_and_outputs(capsys: pytest.CaptureFixture[str]):
    drawn(RUN, memory=True)
    assert main(["export", "--policy", "run", "--net", "policy.pt"]) == 0
    told = capsys.readouterr().out
    assert "policy of keydoor-5x5" in told
    assert "(N, 7, 7, 3)" in told
    assert "memory" in told
    assert "outputs: probabilities, values, new_memory; actions: MOVE_FORWARD," in told


def test_policies_that_come_along_are_exported():
    assert main(["export", "memory-9x9", "--policy", "trained", "--net", "policy.pt"]) == 0
    given = {
        "grid": np.full((1, 7, 7, 3), (2, 0, 0), np.uint8),
        "item": np.zeros((1, 3), np.uint8),
        "action_mask": np.ones((1, 6), np.int8),
        "memory": np.zeros((1, 128), np.float32),
    }
    assert in_torch(Path("policy.pt"))(given)["probabilities"].sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--policy", "random", "--net", "x.pt"],
            "--net writes the network of a run: found random",
        ),
        (["--net", "x.pt"], "found no --policy"),
        (["keydoor-5x5", "--net", "x.pt"], "found no --policy"),
        (["--policy", "run", "--net", "x.bin"], "expected a name that ends in .onnx or .pt"),
        (
            ["keydoor-5x5", "--policy", "run", "--net", "x.pt"],
            "of a run needs no scenario: found keydoor",
        ),
        (["--policy", "trained", "--net", "x.pt"], "names the scenario: found none"),
        (["keydoor-7x7", "--policy", "trained", "--net", "x.pt"], "but with BabyAI-GoToLocal"),
        (["--net", "x.pt", "--html", "x.html"], "found --html and --net"),
        (["--policy", ".", "--net", "x.pt"], "holds several runs: name one"),
    ],
)
def test_mistakes_of_options_are_told(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    drawn(RUN)
    assert main(["export", *words]) == 2
    assert message in capsys.readouterr().err
    assert not Path("x.pt").exists()
