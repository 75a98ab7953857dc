"""Layers of a network whose gradients are written out, where they are faster than torch's.

Products on the CPU are those of oneDNN, which takes half the time of MKL on AMD's processors.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import get_compiled
from gv_engine.plugins.learning.torch_library import Tensor, functional, nn, torch

_MAX_ONE_HOT = 2048
"""Rows of a table up to which one-hot codes are faster on a GPU than sorting."""
_MAX_NUMBERS = 2**26
"""Numbers of a matrix of one-hot codes."""


def is_exporting() -> bool:
    """Return True while torch traces a network for an exported file."""
    return bool(torch.jit.is_tracing() or torch.compiler.is_exporting())


def _has_onednn(tensor: Tensor) -> bool:
    return tensor.is_cpu and bool(torch.backends.mkldnn.is_available())


def multiply(
    inputs: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "none"
) -> Tensor:
    """Return `activation(inputs @ weight.T + bias)`, where `activation` is "none" or "relu". On the
    CPU, oneDNN computes it if available, and autograd cannot differentiate the result."""
    if _has_onednn(inputs):
        arguments: Any = inputs, weight, bias, activation, [], ""
        return cast("Tensor", torch.ops.mkldnn._linear_pointwise(*arguments))
    outputs = functional.linear(inputs, weight, bias)
    return functional.relu(outputs) if activation == "relu" else outputs


def linear(inputs: Tensor, weight: Tensor, bias: Tensor, activation: str = "none") -> Tensor:
    """Return the (M, outputs) output of a linear layer for (M, inputs), rectified if `activation`
    is "relu"."""
    if is_exporting():
        outputs = functional.linear(inputs, weight, bias)
        return functional.relu(outputs) if activation == "relu" else outputs
    if _has_onednn(inputs) and torch.is_grad_enabled():
        return cast("Tensor", OneDNNLinear.apply(inputs, weight, bias, activation))
    return multiply(inputs, weight, bias, activation)


class OneDNNLinear(torch.autograd.Function):
    """Autograd function of `linear` on the CPU."""

    @staticmethod
    def forward(context: Any, inputs: Tensor, weight: Tensor, *others: Any) -> Tensor:
        """Return the (M, outputs) output of the layer; arguments are those of `linear`."""
        outputs = multiply(inputs, weight, *others)
        context.save_for_backward(inputs, weight, outputs if others[1] == "relu" else None)
        return outputs

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients with respect to inputs, weight and bias, given the `gradient` g with
        respect to the outputs: d inputs = g W, d W = g^T inputs, d bias = sum of g."""
        inputs, weight, outputs = context.saved_tensors
        if outputs is not None:  # d relu(x) / d x = 1 where x > 0, else 0
            gradient = torch.ops.aten.threshold_backward(gradient, outputs, 0)
        of_weight = multiply(gradient.T, inputs.T)
        return multiply(gradient, weight.T), of_weight, gradient.sum(0), None


def unroll_gru(gru: nn.GRUCell, features: Tensor, starts: Tensor | None, memory: Tensor) -> Tensor:
    """Return the (T, M, hidden) hidden states of `gru` (Cho et al., 2014) after each of T steps of
    M sequences. Its input size equals its hidden size.

    Args:
        gru: layer with the weights.
        features: (T, M, hidden) inputs.
        starts: (T, M) True where the state is reset before the step; None for one step without a
            reset.
        memory: (M, hidden) hidden state before the first step; it gets no gradient.
    """
    kept = features.new_ones(1, 1, 1) if starts is None else ~starts[..., None]
    if not is_exporting():
        weights = gru.weight_ih, gru.weight_hh, gru.bias_ih, gru.bias_hh
        return cast("Tensor", GRUSequence.apply(features, kept, memory, *weights))
    states = []
    for of_step, keep in zip(features, kept, strict=True):
        memory = gru(of_step, memory * keep)
        states.append(memory)
    return torch.stack(states)


class GRUSequence(torch.autograd.Function):
    """Autograd function of `unroll_gru`: backpropagation through time (Werbos, 1990), with one
    product for the inputs of all steps, and one for the gradient of each weight matrix.

    With the input i of a step and the state h before: r, z = sigmoid(Wi i + Wh h + b) are the reset
    and update gates, m = (Wh h + b)_n, n = tanh((Wi i + b)_n + r m), and h' = n + z (h - n).
    """

    @staticmethod
    def forward(
        context: Any, features: Tensor, kept: Tensor, memory: Tensor, *weights: Tensor
    ) -> Tensor:
        """Return the (T, M, hidden) states; arguments are those of `unroll_gru`, the inverse of
        `starts`, and the weights of the layer."""
        input_weight, weight, input_bias, bias = weights
        sizes = 2 * memory.shape[1], memory.shape[1]
        gates = multiply(features.flatten(0, 1), input_weight, input_bias)
        gates = gates.unflatten(0, features.shape[:2])
        before, states, candidates = features.new_empty(3, *features.shape)
        for t in range(len(features)):
            torch.mul(memory, kept[t], out=before[t])
            of_gates, candidates[t] = multiply(before[t], weight, bias).split(sizes, 1)
            both, new = gates[t].split(sizes, 1)
            reset, update = both.add_(of_gates).sigmoid_().chunk(2, 1)
            new.addcmul_(reset, candidates[t]).tanh_()
            memory = torch.lerp(new, before[t], update, out=states[t])
        context.save_for_backward(features, kept, gates, before, candidates, input_weight, weight)
        return states

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients with respect to the features and the weights, given the `gradient`
        with respect to the states. The state before the first step gets no gradient."""
        features, kept, gates, before, candidates, input_weight, weight = context.saved_tensors
        reset, update, new = gates.chunk(3, 2)
        # d tanh(x) / dx = 1 - tanh(x)^2; d sigmoid(x) / dx = sigmoid(x) (1 - sigmoid(x))
        of_new = (1 - update) * (1 - new * new)
        of_update = (before - new) * update * (1 - update)
        of_reset = of_new * candidates * reset * (1 - reset)
        for_input = torch.stack([of_reset, of_update, of_new], 2)
        for_memory = torch.stack([of_reset, of_update, of_new * reset], 2)
        after = torch.zeros_like(before[0])  # of the later steps, by h'
        by_state = torch.empty_like(gradient)
        for t in reversed(range(len(gates))):
            torch.add(gradient[t], after, out=by_state[t])
            for_memory[t].mul_(by_state[t, :, None])
            after = multiply(for_memory[t].flatten(1), weight.T)
            after.addcmul_(by_state[t], update[t]).mul_(kept[t])
        by_input, by_memory = for_input.mul_(by_state[:, :, None]), for_memory
        by_input, by_memory = (each.flatten(0, 1).flatten(1) for each in (by_input, by_memory))
        return (
            multiply(by_input, input_weight.T).view_as(features),
            *(None, None),
            multiply(by_input.T, features.flatten(0, 1).T),
            multiply(by_memory.T, before.flatten(0, 1).T),
            *(by_input.sum(0), by_memory.sum(0)),
        )


def sum_rows(table: Tensor, indices: Tensor) -> Tensor:
    """Return (M, width) sums of rows of a table; `indices`, (M, slots) int32, selects the rows of
    each sum."""
    if is_exporting():
        return table[indices].sum(1)
    if torch.is_grad_enabled() and indices.is_cpu:
        return cast("Tensor", EmbeddingBag.apply(table, indices))
    if torch.is_grad_enabled() and len(table) <= _MAX_ONE_HOT:
        return cast("Tensor", OneHotBag.apply(table, indices))
    return functional.embedding_bag(indices, table, mode="sum")


class EmbeddingBag(torch.autograd.Function):
    """Autograd function of `sum_rows` on the CPU.

    The backward pass is compiled; the backward pass of
    `torch.nn.functional.embedding_bag` sorts the indices and takes five times as long.
    """

    @staticmethod
    def forward(context: Any, table: Tensor, rows: Tensor) -> Tensor:
        """Return the (M, width) sums of those rows of `table` that the indices `rows`, (M, slots),
        select."""
        context.save_for_backward(rows)
        context.size = table.shape
        return functional.embedding_bag(rows, table, mode="sum")

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the table, given the `gradient` with respect to the
        sums."""
        (rows,) = context.saved_tensors
        table_gradient = gradient.new_zeros(context.size)
        arrays = rows.numpy(), gradient.contiguous().numpy(), table_gradient.numpy()
        get_compiled(add_to_rows)(*arrays)
        return table_gradient, None


def add_to_rows(rows: NDArray[np.int32], gradient: NDArray[Any], out: NDArray[Any]) -> None:
    """Add row i of `gradient`, (M, hidden), to each row of `out` whose index is in `rows[i]`, for
    all i."""
    for i in range(len(rows)):
        for row in rows[i]:
            for k in range(out.shape[1]):
                out[row, k] += gradient[i, k]


class OneHotBag(EmbeddingBag):
    """Autograd function of `sum_rows` of a small table on a GPU.

    The backward pass is a product with the indices as one-hot codes; the backward pass of
    `torch.nn.functional.embedding_bag` sorts the indices.
    """

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the table, given the `gradient` with respect to the
        sums."""
        (rows,) = context.saved_tensors
        table_gradient, one = gradient.new_zeros(context.size), gradient.new_ones(1, 1)
        number = max(1, _MAX_NUMBERS // len(table_gradient))
        for part, of_sums in zip(rows.split(number), gradient.split(number), strict=True):
            codes = gradient.new_zeros(len(part), len(table_gradient))
            codes.scatter_add_(1, part.long(), one.expand_as(part))
            table_gradient.addmm_(codes.T, of_sums)
        return table_gradient, None


def select_codes(scores: Tensor, codes: Tensor) -> Tensor:
    """Return the (M, heads, C) numbers of `scores`, (M, heads, K), at the indices `codes`, (M, C)
    int64, which are the same for all heads."""
    if torch.is_grad_enabled() and not (codes.is_cpu or is_exporting()):
        return cast("Tensor", OneHotSelection.apply(scores, codes))
    return scores.gather(2, codes[:, None].expand(-1, scores.shape[1], -1))


class OneHotSelection(torch.autograd.Function):
    """Autograd function of `select_codes` on a GPU.

    The backward pass is a product with one-hot codes; that of `torch.gather` adds in an order that
    differs from run to run, so the same seed would give another result.
    """

    @staticmethod
    def forward(context: Any, scores: Tensor, codes: Tensor) -> Tensor:
        """Return the (M, heads, C) selected numbers; arguments are those of `select_codes`."""
        context.save_for_backward(codes)
        context.number = scores.shape[2]
        return scores.gather(2, codes[:, None].expand(-1, scores.shape[1], -1))

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the scores, given the `gradient` with respect to the
        selected numbers. The codes have no gradient: None."""
        (codes,), parts = context.saved_tensors, []
        number = max(1, _MAX_NUMBERS // (codes.shape[1] * context.number))
        for part, of_part in zip(codes.split(number), gradient.split(number), strict=True):
            one_hot = gradient.new_zeros(*part.shape, context.number)
            parts.append(of_part @ one_hot.scatter_(2, part[..., None], 1.0))
        return torch.cat(parts), None
