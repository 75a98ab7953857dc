"""Layers of a network whose gradients are written out, where they are faster than torch's."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import get_compiled
from gv_engine.plugins.learning.torch_library import Tensor, functional, nn, torch

_MAX_ONE_HOT = 2048
"""Rows of a table up to which one-hot codes are faster on a GPU than sorting."""
_MAX_NUMBERS = 2**26
"""Size of a matrix of one-hot codes; larger batches are split into chunks."""


def is_exporting() -> bool:
    """Return True while torch traces a network for an exported file."""
    return bool(torch.jit.is_tracing() or torch.compiler.is_exporting())


def unroll(cell: nn.RNNCellBase, features: Tensor, starts: Tensor | None, memory: Tensor) -> Tensor:
    """Run a GRU or an LSTM over T steps of M sequences, and return its state after each step, (T,
    M, memory size). The cell's input size must equal its hidden size.

    Args:
        cell: layer with the weights, an `nn.GRUCell` or an `nn.LSTMCell`.
        features: (T, M, hidden) inputs.
        starts: (T, M) True where the state is reset before the step; None for one step without a
            reset.
        memory: (M, memory size) state before the first step; it gets no gradient. That of an LSTM
            is its output, then its cell state.
    """
    kept = features.new_ones(1, 1, 1) if starts is None else ~starts[..., None]
    is_lstm = isinstance(cell, nn.LSTMCell)
    if not (is_lstm or is_exporting()):
        weights = cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh
        return cast("Tensor", GRUSequence.apply(features, kept, memory, *weights))
    states = []
    for step_features, keep in zip(features, kept, strict=True):
        before = memory * keep
        if is_lstm:
            memory = torch.cat(cell(step_features, before.chunk(2, 1)), 1)
        else:
            memory = cell(step_features, before)
        states.append(memory)
    return torch.stack(states)


class GRUSequence(torch.autograd.Function):
    """Autograd function of `unroll` for a GRU (Cho et al., 2014): backpropagation through time
    (Werbos, 1990), with one product for the inputs of all steps, and one for the gradient of each
    weight matrix.

    With the input i of a step and the state h before: r, z = sigmoid(Wi i + Wh h + b) are the reset
    and update gates, m = (Wh h + b)_n, n = tanh((Wi i + b)_n + r m), and h' = n + z (h - n).
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, kept: Tensor, memory: Tensor, *weights: Tensor
    ) -> Tensor:
        """Return the (T, M, hidden) states. `kept` is 0 where an episode starts and 1 elsewhere.
        `weights` are the GRU's weights and biases. The other arguments are those of
        `unroll`."""
        input_weight, weight, input_bias, bias = weights
        # columns of the reset and update gates, and of the candidate
        sizes = 2 * memory.shape[1], memory.shape[1]
        gates = functional.linear(features, input_weight, input_bias)
        before, states, candidates = features.new_empty(3, *features.shape)
        for t in range(len(features)):
            torch.mul(memory, kept[t], out=before[t])
            from_memory = functional.linear(before[t], weight, bias)
            gates_from_memory, candidates[t] = from_memory.split(sizes, 1)
            reset_and_update, new = gates[t].split(sizes, 1)
            reset, update = reset_and_update.add_(gates_from_memory).sigmoid_().chunk(2, 1)
            new.addcmul_(reset, candidates[t]).tanh_()
            memory = torch.lerp(new, before[t], update, out=states[t])
        ctx.save_for_backward(features, kept, gates, before, candidates, input_weight, weight)
        return states

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients with respect to the features and the weights, given that with
        respect to the states. The state before the first step gets no gradient."""
        features, kept, gates, before, candidates, input_weight, weight = ctx.saved_tensors
        reset, update, new = gates.chunk(3, 2)
        # d tanh(x) / dx = 1 - tanh(x)^2; d sigmoid(x) / dx = sigmoid(x) (1 - sigmoid(x))
        # (T, M, hidden) d h' / d of what each gate and the candidate are functions of
        d_new = (1 - update) * (1 - new * new)
        d_update = (before - new) * update * (1 - update)
        d_reset = d_new * candidates * reset * (1 - reset)
        # gradients with respect to Wi i and Wh h: so far without the factor of `state_gradient`
        input_gradient = torch.stack([d_reset, d_update, d_new], 2)
        memory_gradient = torch.stack([d_reset, d_update, d_new * reset], 2)
        gradient_of_later_steps = torch.zeros_like(before[0])
        state_gradient = torch.empty_like(gradient)
        for t in reversed(range(len(gates))):
            torch.add(gradient[t], gradient_of_later_steps, out=state_gradient[t])
            memory_gradient[t].mul_(state_gradient[t, :, None])
            gradient_of_later_steps = memory_gradient[t].flatten(1) @ weight
            gradient_of_later_steps.addcmul_(state_gradient[t], update[t]).mul_(kept[t])
        input_gradient.mul_(state_gradient[:, :, None])
        by_input, by_memory = (
            each.flatten(0, 1).flatten(1) for each in (input_gradient, memory_gradient)
        )
        return (
            (by_input @ input_weight).view_as(features),
            None,
            None,
            by_input.T @ features.flatten(0, 1),
            by_memory.T @ before.flatten(0, 1),
            by_input.sum(0),
            by_memory.sum(0),
        )


def sum_rows(table: Tensor, indices: Tensor) -> Tensor:
    """For each of M observations, sum the rows of `table` with the given `indices`, (M, slots)
    int32. Return the sums, (M, width)."""
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
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        """Return the (M, width) sums of those rows of `table` that the indices `rows`, (M, slots),
        select."""
        ctx.save_for_backward(rows)
        ctx.size = table.shape
        return functional.embedding_bag(rows, table, mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the table, given that with respect to the sums."""
        (rows,) = ctx.saved_tensors
        table_gradient = gradient.new_zeros(ctx.size)
        add = get_compiled(add_to_rows)
        add(rows.numpy(), gradient.contiguous().numpy(), table_gradient.numpy())
        return table_gradient, None


def add_to_rows(rows: NDArray[np.int32], gradient: NDArray[Any], out: NDArray[Any]) -> None:
    """For each i, add `gradient[i]` to the rows of `out` with the indices `rows[i]`. Shapes: `rows`
    (M, slots), `gradient` (M, hidden), `out` (any, hidden)."""
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
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the table, given that with respect to the sums."""
        (rows,) = ctx.saved_tensors
        table_gradient, one = gradient.new_zeros(ctx.size), gradient.new_ones(1, 1)
        chunk_size = max(1, _MAX_NUMBERS // len(table_gradient))
        chunks = zip(rows.split(chunk_size), gradient.split(chunk_size), strict=True)
        for row_chunk, gradient_chunk in chunks:
            one_hot = gradient.new_zeros(len(row_chunk), len(table_gradient))
            one_hot.scatter_add_(1, row_chunk.long(), one.expand_as(row_chunk))
            table_gradient.addmm_(one_hot.T, gradient_chunk)
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
    def forward(ctx: Any, scores: Tensor, codes: Tensor) -> Tensor:
        """Return the (M, heads, C) selected numbers; arguments are those of `select_codes`."""
        ctx.save_for_backward(codes)
        ctx.num_codes = scores.shape[2]
        return scores.gather(2, codes[:, None].expand(-1, scores.shape[1], -1))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the scores, given that with respect to the selected
        numbers. Codes are integers and get no gradient."""
        (codes,) = ctx.saved_tensors
        score_gradients = []
        chunk_size = max(1, _MAX_NUMBERS // (codes.shape[1] * ctx.num_codes))
        chunks = zip(codes.split(chunk_size), gradient.split(chunk_size), strict=True)
        for code_chunk, gradient_chunk in chunks:
            one_hot = gradient.new_zeros(*code_chunk.shape, ctx.num_codes)
            one_hot.scatter_(2, code_chunk[..., None], 1.0)
            score_gradients.append(gradient_chunk @ one_hot)
        return torch.cat(score_gradients), None
