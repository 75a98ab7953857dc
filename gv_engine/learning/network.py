"""Actor-critic network of `ppo`, with the embedding bag and the optimiser it is trained by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from gv_engine.envs.representations import get_compiled
from gv_engine.learning.config import Hyperparameters
from gv_engine.learning.spec import NetworkSpec


class ActorCritic(nn.Module):
    """Actor and critic on a shared trunk: embeddings, a two-layer MLP, and an optional GRU.

    The first layer reads the embeddings of all input slots side by side. As codes are few, its
    products are computed once per code and slot (`first_layer_table`); an observation then only
    sums rows of this table.
    """

    def __init__(self, spec: NetworkSpec, settings: Hyperparameters) -> None:
        super().__init__()
        slots, (width, hidden) = len(spec.sizes), (settings.embedding_size, settings.hidden_size)
        self.spec = spec
        self.embedding = nn.Parameter(torch.randn(spec.codes + sum(spec.extra_sizes), width))
        scale = math.sqrt(2 / (slots * width))
        self.first = nn.Parameter(torch.randn(slots, width, hidden) * scale)
        self.first_bias = nn.Parameter(torch.zeros(hidden))
        self.second = _linear(hidden, hidden, math.sqrt(2))
        self.gru = nn.GRUCell(hidden, hidden) if settings.recurrent else None
        self.actor = _linear(hidden, spec.actions, 0.01)
        self.critic = _linear(hidden, 1, 1.0)

    def first_layer_table(self) -> Tensor:
        """Return the contribution of each input code to the first layer, as (codes of all inputs,
        hidden)."""
        spec, cells = self.spec, self.spec.cells + 1
        shared, *extra = self.embedding.split([spec.codes, *spec.extra_sizes])
        parts = [torch.bmm(shared.expand(cells, -1, -1), self.first[:cells]).flatten(0, 1)]
        parts += [codes @ self.first[cells + k] for k, codes in enumerate(extra)]
        return torch.cat(parts)

    def features(self, table: Tensor, rows: Tensor) -> Tensor:
        """Return the (M, hidden) features of observations given as (M, slots) rows of the table."""
        first = EmbeddingBag.apply(table, rows) + self.first_bias
        return functional.relu(self.second(functional.relu(first)))

    def recur(self, features: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return the (N, hidden) features after the GRU, and its new state; without a GRU both are
        unchanged."""
        if self.gru is None:
            return features, memory
        memory = self.gru(features, memory)
        return features + memory, memory

    def forward(self, features: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Return (M, actions) log-probabilities and (M,) values for (M, hidden) features. Actions
        whose mask is 0 get almost no probability."""
        # one product for both layers
        weights = torch.cat([self.actor.weight, self.critic.weight])
        biases = torch.cat([self.actor.bias, self.critic.bias])
        outputs = functional.linear(features, weights, biases)
        logits, values = outputs.split([self.spec.actions, 1], 1)
        excluded = (masks == 0) & (masks != 0).any(1, keepdim=True)  # an empty mask allows all
        logits = logits.masked_fill(excluded, -1e9)
        return logits - logits.logsumexp(1, keepdim=True), values[:, 0]


def _linear(inputs: int, outputs: int, scale: float) -> nn.Linear:
    """Return a linear layer with zero biases and an orthogonal weight matrix, multiplied by
    `scale`."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, scale)
    nn.init.zeros_(layer.bias)
    return layer


class EmbeddingBag(torch.autograd.Function):
    """(M, hidden) sums of the rows of a table that (M, slots) int32 indices select.

    The backward pass is compiled: that of `torch.nn.functional.embedding_bag` sorts the indices
    and takes five times as long.
    """

    @staticmethod
    def forward(context: Any, table: Tensor, rows: Tensor) -> Tensor:
        """Return the (M, hidden) sums of those rows of `table` that the indices `rows`, (M,
        inputs), select."""
        context.save_for_backward(rows)
        context.size = table.shape
        return functional.embedding_bag(rows, table, mode="sum")

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the table, for the gradient with respect to the
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


class Adam:
    """Adam (Kingma and Ba, 2015) over all weights as one vector, with gradient clipping.

    It calls torch's fused kernel; importing `torch.optim` would take two seconds.

    Args:
        net: network to train; its parameters become views of one vector.
        learning_rate: step size.
        max_grad_norm: gradient norm above which the gradient is clipped.

    Attributes:
        state: (2, weights) first and second moments, and (1,) number of steps.
    """

    def __init__(self, net: nn.Module, learning_rate: float, max_grad_norm: float) -> None:
        self._learning_rate, self._max_grad_norm = learning_rate, max_grad_norm
        parameters = list(net.parameters())
        self._weights = torch.cat([part.detach().flatten() for part in parameters])
        self.state = torch.zeros(2, len(self._weights)), torch.zeros(1)
        views = self._weights.split([part.numel() for part in parameters])
        for part, view in zip(parameters, views, strict=True):
            part.data = view.view_as(part)

    def step(self, gradient: Tensor) -> None:
        """Update the weights by a gradient in the form of one vector, which is clipped in place."""
        (first_moments, second_moments), steps = self.state
        gradient.mul_(torch.clamp(self._max_grad_norm / (gradient.norm() + 1e-6), max=1.0))
        steps += 1
        torch._fused_adam_(
            [self._weights],
            [gradient],
            [first_moments],
            [second_moments],
            [],
            [steps[0]],
            lr=self._learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-5,
            amsgrad=False,
            maximize=False,
        )

    def restore(self, state: tuple[Tensor, Tensor]) -> None:
        """Copy a saved `state`."""
        for own, saved in zip(self.state, state, strict=True):
            own.copy_(saved)
