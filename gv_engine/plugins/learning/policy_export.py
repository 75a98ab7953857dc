"""Trained policies as ONNX and TorchScript files, which act without this package.

`PolicyModule` encodes observations in the representation `default`, and has the network of the
training.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gv_engine.envs.representations import MISSION, STATE
from gv_engine.envs.rollout.network_spec import BINS_PER_UNIT, StateCodes, codes_by_cell
from gv_engine.envs.rollout.numpy_net import GRU, find_cell_kind
from gv_engine.envs.rollout.policy_file import PolicyFile, TrainedPolicy
from gv_engine.plugins.learning.config import CNN, EMBEDDING, MLP, Hyperparameters
from gv_engine.plugins.learning.extras import ONNX_PACKAGE
from gv_engine.plugins.learning.network import ActorCritic
from gv_engine.plugins.learning.pqn import QNetwork
from gv_engine.plugins.learning.torch_library import Tensor, nn, torch
from gv_engine.scenario.storage.files import atomic_write, to_path

ABOUT = "gv_engine"
"""Name of the description: a property of an ONNX model, an extra file of a TorchScript one."""
_AGENT, _MASK, _MEMORY, _NEW_MEMORY = "agent", "action_mask", "memory", "new_memory"
_PROBABILITIES, _VALUES = "probabilities", "values"
_OPSET = 18
"""Version of ONNX's operators."""


class InputSpec(NamedTuple):
    """Input of an exported policy.

    Attributes:
        shape: shape without the first axis, that of the worlds.
        dtype: dtype of the tensor.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype


class PolicyModule(nn.Module):
    """Policy that acts in N worlds.

    Args:
        file: the policy.

    Attributes:
        inputs: inputs by name, in order: `grid` (N, h, w, 3), `item` (N, 3), and where there are
            any `mission` (N, k), `state` (N, k), `agent` (N,), the index in its world,
            `action_mask` (N, actions) and `memory` (N, memory size), the state of the recurrent
            layer.
        outputs: names of the outputs, in order: `probabilities` (N, actions), NaN where something
            is observed that the policy was not trained with, and where there are any `values` (N,)
            and `new_memory` (N, memory size); all float32.
    """

    def __init__(self, file: PolicyFile) -> None:
        """Make a torch module that computes the policy in `file`, for export."""
        super().__init__()
        self._spec, self._epsilon = file.network_spec, file.epsilon
        codes = codes_by_cell(file.cells)
        self._code_sizes = codes.shape
        self.register_buffer("codes", torch.from_numpy(codes.ravel()).long())
        self.register_buffer("first_rows", torch.from_numpy(self._spec.first_rows).long())
        self._net = load_network(file)
        self.register_buffer("table", self._net.first_layer_table())
        self._net.register_parameter("first", None)  # it is in the table
        self.inputs = dict(_list_inputs(file, self._net))
        is_valued = "critic.weight" in file.weights or self._epsilon is not None
        has_memory = _MEMORY in self.inputs
        self.outputs = [_PROBABILITIES, *[_VALUES] * is_valued, *[_NEW_MEMORY] * has_memory]

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Run the policy. `tensors` are in the order of the attribute `inputs`, the results in that
        of `outputs`."""
        given = dict(zip(self.inputs, tensors, strict=True))
        codes, is_known = self._encode_cells(given)
        rows = torch.cat([codes, *self._encode_others(given)], 1) + self.first_rows
        features = self._net.features(self.table, rows)
        features, memory = self._net.recur(features, given.get(_MEMORY, features))
        masks = given.get(_MASK, features.new_ones(1, self._spec.actions))
        log_probs, values = (
            self._net(features, masks)
            if self._epsilon is None
            else self._net.act(features, masks, self._epsilon)
        )
        probabilities = log_probs.exp().masked_fill(~is_known, torch.nan)
        results = {_PROBABILITIES: probabilities, _VALUES: values, _NEW_MEMORY: memory}
        return tuple(results[name] for name in self.outputs)

    def _encode_cells(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return integer codes of the cells and the carried item, (N, cells + 1), and a flag, (N,
        1), that is False if the policy does not know one of them. Unknown ones have code 0."""
        cells = torch.cat([inputs["grid"].flatten(1, 2), inputs["item"][:, None]], 1).long()
        _, states, colors = self._code_sizes
        clipped = [cells[..., k].clamp(max=size - 1) for k, size in enumerate(self._code_sizes)]
        codes = self.codes[(clipped[0] * states + clipped[1]) * colors + clipped[2]]
        return codes.clamp(min=0), (codes >= 0).all(1, keepdim=True)

    def _encode_others(self, inputs: dict[str, Tensor]) -> Iterator[Tensor]:
        """Yield the integer codes of the inputs other than cells, each (N, k): mission, state
        vector and agent index."""
        if self._spec.mission:
            yield inputs[MISSION].long().remainder(torch.tensor(self._spec.mission))
        for k, codes in enumerate(self._spec.state):
            yield _encode_number(inputs[STATE][:, k : k + 1], codes)
        if _AGENT in inputs:
            yield inputs[_AGENT][:, None]

    def make_example(self, num_worlds: int = 2) -> tuple[Tensor, ...]:
        """Return example inputs for the export: zeros, except for the action mask, which is 1."""
        return tuple(
            torch.full((num_worlds, *shape), int(name == _MASK), dtype=dtype)
            for name, (shape, dtype) in self.inputs.items()
        )


def load_network(file: PolicyFile) -> ActorCritic:
    """Return the network of a policy file with its weights as float32. If the file has no critic,
    the critic's weights are 0."""
    weights = {name: torch.from_numpy(array) for name, array in file.weights.items()}
    hidden, encoder = len(weights["first_bias"]), MLP if "table" in weights else EMBEDDING
    settings = Hyperparameters(
        encoder=CNN if "picture.weight" in weights else encoder,
        embedding_size=1 if encoder == MLP else weights["embedding"].shape[1],
        hidden_size=hidden,
        recurrent=bool(find_cell_kind(weights)),
        recurrent_cell=find_cell_kind(weights) or GRU,
        layer_norm=file.layer_norm,
        activation=file.activation,
    )
    with torch.device("meta"):  # no memory, and no random numbers
        net = (ActorCritic if file.epsilon is None else QNetwork)(file.network_spec, settings)
    critic = {"critic.weight": torch.zeros(1, hidden), "critic.bias": torch.zeros(1)}
    # weights of RND's predictor are not used
    net.load_state_dict({**critic, **weights}, strict=False, assign=True)
    net.requires_grad_(False)
    return net


def _list_inputs(file: PolicyFile, net: ActorCritic) -> list[tuple[str, InputSpec]]:
    """Return (name, shape and dtype) of each input of a policy, in order."""
    spec = file.network_spec
    is_float = any(number.is_float for number in file.scenario_spec.state)
    state_dtype = torch.float32 if is_float else torch.int32
    inputs = {
        "grid": (True, (*file.scenario_spec.view, 3), torch.uint8),
        "item": (True, (3,), torch.uint8),
        MISSION: (spec.mission, (len(spec.mission),), torch.int32),
        STATE: (spec.state, (len(spec.state),), state_dtype),
        _AGENT: (spec.agents > 1, (), torch.int64),
        _MASK: (file.mask_actions, (spec.actions,), torch.int8),
        _MEMORY: (net.cell_name, (net.memory_size,), torch.float32),
    }
    return [(name, InputSpec(*spec)) for name, (is_there, *spec) in inputs.items() if is_there]


def _encode_number(values: Tensor, codes: StateCodes) -> Tensor:
    """Return the codes of one number of the state vector, for a batch of values.
    `StateCodes.encode` explains the codes."""
    values = values.double().nan_to_num()
    if codes.low is None or codes.high is None:
        bins = values.sign() * values.abs().log1p() * BINS_PER_UNIT + codes.size // 2
    else:
        bins = (values - codes.low) * (codes.size - 1) / (codes.high - codes.low)
    return bins.round().clamp(0, codes.size - 1).long()


def export_policy(run: str | Path, out: str | Path) -> dict[str, Any]:
    """Export the policy of a training run to a file, as ONNX or TorchScript.

    Args:
        run: folder of the run.
        out: file to write; its name ends in `.onnx`, or `.pt` for TorchScript.

    Returns:
        Description of the policy, which the file also contains as JSON under the name `ABOUT`:
        `scenario`; `actions`, their names in order; `inputs` and `outputs`, see `PolicyModule`.

    Raises:
        ValueError: the name has another ending.
        RunError: there is no run, or it is damaged.
        MissingExtraError: ONNX is not installed.
        OSError: the file cannot be written.
    """
    out, path = to_path(out, "out"), to_path(run, "run")
    if out.suffix not in _WRITERS:
        raise ValueError(f"{out}: expected a name that ends in {' or '.join(_WRITERS)}")
    if out.suffix == ".onnx":
        ONNX_PACKAGE.require()
    TrainedPolicy(path)  # checks the weights
    file = PolicyFile.read(path)
    module = PolicyModule(file).eval()
    about = {
        "scenario": file.scenario,
        "actions": [*file.scenario_spec.actions],
        "inputs": {
            name: {"shape": ["N", *shape], "dtype": str(dtype).removeprefix("torch.")}
            for name, (shape, dtype) in module.inputs.items()
        },
        "outputs": module.outputs,
    }
    write = _WRITERS[out.suffix]
    with warnings.catch_warnings(action="ignore"), torch.no_grad(), atomic_write(out) as draft:
        write(module, draft, json.dumps(about))
    return about


def _write_torchscript(module: PolicyModule, out: Path, about: str) -> None:
    traced = torch.jit.trace(module, module.make_example(), check_trace=False)
    torch.jit.save(traced, str(out), _extra_files={ABOUT: about})


def _write_onnx(module: PolicyModule, out: Path, about: str) -> None:
    """Export a policy to the ONNX file `out`. The text `about` is stored as metadata."""
    worlds = torch.export.Dim("N")
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # which name libraries that are not needed
    try:
        program = torch.onnx.export(
            module,
            module.make_example(),
            input_names=[*module.inputs],
            output_names=module.outputs,
            opset_version=_OPSET,
            dynamic_shapes=(tuple({0: worlds} for _ in module.inputs),),
            dynamo=True,
            verbose=False,
        )
    finally:
        logging.disable(before)
    assert program is not None
    program.model.metadata_props[ABOUT] = about
    program.save(out)


_WRITERS = {".onnx": _write_onnx, ".pt": _write_torchscript}
"""Functions that write a policy, by the ending of the file's name."""
