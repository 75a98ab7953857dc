"""Trained policies as ONNX and TorchScript files, which act without this package.

`PolicyModule` computes in torch's operations what `TrainedPolicy` computes in NumPy's, from
observations in the representation `default` on.
"""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from gv_engine.envs.representations import MISSION, STATE
from gv_engine.learning.network_spec import BINS_PER_UNIT, StateCodes, codes_by_cell
from gv_engine.learning.numpy_net import NUM_HEADS, first_layer_table
from gv_engine.learning.policy_file import PolicyFile, TrainedPolicy
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.files import atomic_write
from gv_engine.scenario.plugin import ONNX_PACKAGE

ABOUT = "gv_engine"
"""Name of the description: a property of an ONNX model, an extra file of a TorchScript one."""
_AGENT, _MASK, _MEMORY, _NEW_MEMORY = "agent", "action_mask", "memory", "new_memory"
_PROBABILITIES, _VALUES = "probabilities", "values"
_OPSET = 18
"""Version of ONNX's operators."""


class InputSpec(NamedTuple):
    """Input of an exported policy.

    Attributes:
        shape: axes after that of the worlds.
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
            `action_mask` (N, actions) and `memory` (N, hidden), the state of the GRU.
        outputs: names of the outputs, in order: `probabilities` (N, actions), NaN where something
            is observed that the policy was not trained with, and where there are any `values` (N,)
            and `new_memory` (N, hidden); all float32.
    """

    def __init__(self, file: PolicyFile) -> None:
        super().__init__()
        self._spec, self._epsilon = file.network_spec, file.epsilon
        self._layer_norm = file.layer_norm
        codes, weights = codes_by_cell(file.cells), file.weights
        self._code_sizes = codes.shape
        # the cells that an encoder "cnn" reads as a picture are not in the table
        self._pictured = pictured = self._spec.cells if "picture.weight" in weights else 0
        rows = self._spec.first_rows[pictured:] - self._spec.first_rows[pictured]
        table = first_layer_table(self._spec, weights)
        own = {"table": table, "codes": codes.ravel(), "rows": rows}
        for name, array in {**own, **weights}.items():
            if name != "first":
                self.register_buffer(name.replace(".", "_"), torch.tensor(array))
        self.inputs = dict(_list_inputs(file))
        is_valued = "critic.weight" in weights or self._epsilon is not None
        has_memory = _MEMORY in self.inputs
        self.outputs = [_PROBABILITIES, *[_VALUES] * is_valued, *[_NEW_MEMORY] * has_memory]

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Return the tensors of `outputs`, given those of `inputs`."""
        given = dict(zip(self.inputs, tensors, strict=True))
        codes, is_known = self._encode_cells(given)
        mission = self._encode_mission(given) if self._spec.mission else None
        features = self._features(codes, mission, self._encode_others(given))
        memory = features
        if _MEMORY in given:
            memory = self._recur(features, given[_MEMORY])
            features = features + memory
        logits = functional.linear(features, self.actor_weight, self.actor_bias)
        if _MASK in given:
            mask = given[_MASK] != 0
            logits = logits.masked_fill(~mask & mask.any(1, keepdim=True), -torch.inf)
        if self._epsilon is None:
            probabilities = logits.softmax(1)
        else:
            allowed = logits.isfinite().float()
            best = functional.one_hot(logits.argmax(1), self._spec.actions).float()
            random = allowed / allowed.sum(1, keepdim=True)
            probabilities = self._epsilon * random + (1 - self._epsilon) * best
        results = {_PROBABILITIES: probabilities.masked_fill(~is_known, torch.nan)}
        if self._epsilon is not None:
            results[_VALUES] = logits.amax(1)
        elif _VALUES in self.outputs:
            values = functional.linear(features, self.critic_weight, self.critic_bias)
            results[_VALUES] = values[:, 0]
        results[_NEW_MEMORY] = memory
        return tuple(results[name] for name in self.outputs)

    def _encode_cells(self, given: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return (N, cells + 1) codes of the cells and the carried item, and (N, 1) whether all are
        known to the policy; unknown ones have the code 0."""
        cells = torch.cat([given["grid"].flatten(1, 2), given["item"][:, None]], 1).long()
        _, states, colors = self._code_sizes
        clipped = [cells[..., k].clamp(max=size - 1) for k, size in enumerate(self._code_sizes)]
        codes = self.codes[(clipped[0] * states + clipped[1]) * colors + clipped[2]].long()
        return codes.clamp(min=0), (codes >= 0).all(1, keepdim=True)

    def _encode_mission(self, given: dict[str, Tensor]) -> Tensor:
        """Return (N, integers) codes of the mission."""
        sizes = torch.tensor(self._spec.mission)
        return given[MISSION].long().remainder(sizes)

    def _encode_others(self, given: dict[str, Tensor]) -> list[Tensor]:
        """Return (N,) codes of the numbers of the state vector, and of the agent's index."""
        numbers = [_encode_number(given[STATE][:, k], c) for k, c in enumerate(self._spec.state)]
        return [*numbers, *([given[_AGENT]] if _AGENT in given else [])]

    def _features(self, codes: Tensor, mission: Tensor | None, others: list[Tensor]) -> Tensor:
        """Return the (N, hidden) output of the first two layers, see `NumpyNet`."""
        parts = [
            codes[:, self._pictured :],
            *([] if mission is None else [mission]),
            *(each[:, None] for each in others),
        ]
        first = self.table[torch.cat(parts, 1) + self.rows].sum(1) + self.first_bias
        if self._pictured:
            first = first + self._picture(codes[:, : self._pictured])
        if mission is not None and hasattr(self, "queries"):
            first = first + self._match(codes, mission)
        second = functional.linear(self._activate(first), self.second_weight, self.second_bias)
        return self._activate(second)

    def _picture(self, codes: Tensor) -> Tensor:
        """Return the (N, hidden) contribution of the view, read by convolutions."""
        hidden = self.embedding[codes].unflatten(1, (self._spec.height, -1)).movedim(-1, 1)
        for name in ("convolution_1", "convolution_2"):
            weight, bias = getattr(self, f"{name}_weight"), getattr(self, f"{name}_bias")
            hidden = functional.conv2d(hidden, weight, bias, padding=1).relu()
        return functional.linear(hidden.flatten(1), self.picture_weight, self.picture_bias)

    def _match(self, codes: Tensor, mission: Tensor) -> Tensor:
        """Return the (N, hidden) contribution of how well the cells match the mission."""
        heads = self.queries.unflatten(1, (NUM_HEADS, -1))
        firsts = self._spec.first_rows[codes.shape[1] : codes.shape[1] + len(self._spec.mission)]
        rows = mission + torch.tensor(firsts - firsts[0]).long()
        scores = (heads[rows].sum(1) @ self.embedding[: self._spec.codes].T).relu()
        found = scores.gather(2, codes[:, None].expand(-1, NUM_HEADS, -1)).flatten(1)
        return functional.linear(found, self.match_weight, self.match_bias)

    def _activate(self, numbers: Tensor) -> Tensor:
        """Return the rectified numbers, normalised if the policy was trained so."""
        if self._layer_norm:
            numbers = functional.layer_norm(numbers, (numbers.shape[1],))
        return numbers.relu()

    def _recur(self, features: Tensor, memory: Tensor) -> Tensor:
        """Return the new (N, hidden) state of the GRU."""
        inputs = functional.linear(features, self.gru_weight_ih, self.gru_bias_ih).chunk(3, 1)
        states = functional.linear(memory, self.gru_weight_hh, self.gru_bias_hh).chunk(3, 1)
        reset, update = (torch.sigmoid(inputs[k] + states[k]) for k in (0, 1))
        new = torch.tanh(inputs[2] + reset * states[2])
        return new + update * (memory - new)

    def make_example(self, num_worlds: int = 2) -> tuple[Tensor, ...]:
        """Return zeros for all inputs of some worlds, and ones as the action mask."""
        return tuple(
            torch.full((num_worlds, *shape), int(name == _MASK), dtype=dtype)
            for name, (shape, dtype) in self.inputs.items()
        )


def _list_inputs(file: PolicyFile) -> list[tuple[str, InputSpec]]:
    """Return name and form of each input of a policy, in order."""
    spec, hidden = file.network_spec, len(file.weights["first_bias"])
    is_float = any(number.is_float for number in file.scenario_spec.state)
    state_dtype = torch.float32 if is_float else torch.int32
    return [
        ("grid", InputSpec((*file.scenario_spec.view, 3), torch.uint8)),
        ("item", InputSpec((3,), torch.uint8)),
        *[(MISSION, InputSpec((len(spec.mission),), torch.int32))] * bool(spec.mission),
        *[(STATE, InputSpec((len(spec.state),), state_dtype))] * bool(spec.state),
        *[(_AGENT, InputSpec((), torch.int64))] * (spec.agents > 1),
        *[(_MASK, InputSpec((spec.actions,), torch.int8))] * file.mask_actions,
        *[(_MEMORY, InputSpec((hidden,), torch.float32))] * ("gru.weight_ih" in file.weights),
    ]


def _encode_number(values: Tensor, codes: StateCodes) -> Tensor:
    """Return the codes of (N,) values of a state vector's number, see `StateCodes.encode`."""
    values = values.double().nan_to_num()
    if codes.low is None or codes.high is None:
        bins = values.sign() * values.abs().log1p() * BINS_PER_UNIT + codes.size // 2
    else:
        bins = (values - codes.low) * (codes.size - 1) / (codes.high - codes.low)
    return bins.round().clamp(0, codes.size - 1).long()


def export_policy(run: str | Path, out: str | Path) -> dict[str, Any]:
    """Write the policy of a run into a file, as ONNX or TorchScript.

    Args:
        run: folder of the run.
        out: file to write; its name ends in `.onnx`, or `.pt` for TorchScript.

    Returns:
        Description, which the file has, too, as JSON under the name `ABOUT`: `scenario`; `actions`,
            their names in order; `inputs` and `outputs`, see `PolicyModule`.

    Raises:
        ValueError: the name has another ending.
        RunError: there is no run, or it is damaged.
        MissingExtraError: ONNX is not installed.
        OSError: the file cannot be written.
    """
    out, path = Path(out), Path(run)
    if out.suffix not in _WRITERS:
        raise ValueError(f"{out}: expected a name that ends in {' or '.join(_WRITERS)}")
    if out.suffix == ".onnx" and ONNX_PACKAGE.missing_message:
        raise MissingExtraError(ONNX_PACKAGE.missing_message)
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
    """Write a policy as TorchScript, with a description."""
    traced = torch.jit.trace(module, module.make_example(), check_trace=False)
    torch.jit.save(traced, str(out), _extra_files={ABOUT: about})


def _write_onnx(module: PolicyModule, out: Path, about: str) -> None:
    """Write a policy as ONNX, with a description."""
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
