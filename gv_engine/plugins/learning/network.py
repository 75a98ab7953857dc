"""Network of a policy: actor and critic on a shared trunk, or each on its own.

`NumpyNet` in `numpy_net.py` computes the same actor without torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.network_spec import NetworkSpec
from gv_engine.envs.rollout.numpy_net import LSTM, NUM_HEADS
from gv_engine.plugins.learning.config import CNN, FLAT, MLP, Hyperparameters
from gv_engine.plugins.learning.layers import select_codes, sum_rows, unroll
from gv_engine.plugins.learning.number_encoder import NumberEncoder
from gv_engine.plugins.learning.torch_library import Tensor, functional, nn, torch

CNN_CHANNELS = 32
"""Channels of the convolutions of an encoder "cnn"."""


class ActorCritic(nn.Module):
    """Actor and critic on a shared trunk: an encoder, a hidden layer, and an optional GRU or
    LSTM. With `separate_critic` the critic has hidden layers of its own, which share embeddings
    alone with those of the actor: features are the actor's, then the critic's.

    The encoder "embedding" is a layer that reads the embeddings of all input slots side by side. As
    codes are few, its products are computed once per code and slot (`first_layer_table`); an
    observation then only sums rows of this table. With "mlp" the rows of the table are the weights:
    a layer on one-hot codes, which slots and missions do not share. With "cnn" two convolutions of
    3 x 3 cells and a linear layer read the embeddings of the view as a picture; the table has the
    other slots alone. "flat" reads cells as normalised numbers, see `NumberEncoder`.

    With a mission, the first layer also reads how well each cell matches it: scores of attention
    heads (Vaswani et al., 2017) whose queries are sums over the mission's integers, and whose keys
    are the cells' embeddings. So an object that the mission names is found wherever it is seen.

    Attributes:
        cell_name: name of the recurrent layer, "gru" or "lstm"; "" without one.
        memory_size: length of its state.
        rows_per_sample: number of consecutive rows, the agents of one world, that have to stay in
            one minibatch.
    """

    rows_per_sample = 1

    def __init__(self, spec: NetworkSpec, settings: Hyperparameters) -> None:
        """Make the layers of the network. `spec` has the sizes of inputs and outputs."""
        super().__init__()
        slots, (width, hidden) = len(spec.sizes), (settings.embedding_size, settings.hidden_size)
        columns = hidden * 2 if settings.separate_critic else hidden
        self.spec, self.encoder = spec, settings.encoder
        if self.encoder == FLAT:
            self.flat = NumberEncoder(spec, columns)
        elif self.encoder == MLP:
            self.table = nn.Parameter(torch.randn(sum(spec.sizes), columns) * math.sqrt(2 / slots))
        else:
            self.embedding = nn.Parameter(torch.randn(spec.codes + sum(spec.extra_sizes), width))
            scale = math.sqrt(2 / (slots * width))
            table_slots = slots - spec.cells if self.encoder == CNN else slots
            self.first = nn.Parameter(torch.randn(table_slots, width, columns) * scale)
        self.first_bias = nn.Parameter(torch.zeros(columns))
        if self.encoder == CNN:
            self.convolution_1 = nn.Conv2d(width, CNN_CHANNELS, 3, padding=1)
            self.convolution_2 = nn.Conv2d(CNN_CHANNELS, CNN_CHANNELS, 3, padding=1)
            self.picture = make_linear(CNN_CHANNELS * spec.cells, columns, math.sqrt(2))
        self._has_match = bool(spec.mission) and self.encoder not in (MLP, FLAT)
        if (mission := spec.mission) and self._has_match:
            queries = torch.randn(sum(mission), NUM_HEADS * width)
            self.queries = nn.Parameter(queries / math.sqrt(len(mission) * width))
            self.match = make_linear(NUM_HEADS * (spec.cells + 1), columns, math.sqrt(2))
        self.second = make_linear(hidden, hidden, math.sqrt(2))
        self.cell_name = settings.recurrent_cell if settings.recurrent else ""
        self.memory_size = settings.memory_size
        if self.cell_name:
            cell_class = nn.LSTMCell if self.cell_name == LSTM else nn.GRUCell
            self.add_module(self.cell_name, cell_class(hidden, hidden))
        self.actor = make_linear(hidden, spec.actions, 0.01)
        self.is_separate = settings.separate_critic
        if self.is_separate:
            self.critic_second = make_linear(hidden, hidden, math.sqrt(2))
            self.critic_value = make_linear(hidden, 1, 1.0)
        else:
            self.critic = make_linear(hidden, 1, 1.0)
        # views of two halves cannot be changed in place
        suffix = "" if self.is_separate else "_"
        self.activate: Callable[[Tensor], Tensor] = getattr(torch, settings.activation + suffix)
        self.normalise: Callable[[Tensor], Tensor] = _unchanged
        if settings.layer_norm:  # without weights of its own
            self.normalise = partial(functional.layer_norm, normalized_shape=(hidden,))

    def first_layer_table(self) -> Tensor:
        """Return the first layer's weights as a table, (input codes, hidden). Row k is what input
        code k adds to the hidden units."""
        if self.encoder == FLAT:
            return self.flat()
        if self.encoder == MLP:
            return self.table
        spec, cells = self.spec, 1 if self.encoder == CNN else self.spec.cells + 1
        shared, *extra = self.embedding.split([spec.codes, *spec.extra_sizes])
        parts = [torch.bmm(shared.expand(cells, -1, -1), self.first[:cells]).flatten(0, 1)]
        parts += [codes @ self.first[cells + k] for k, codes in enumerate(extra)]
        return torch.cat(parts)

    def features(self, table: Tensor, rows: Tensor) -> Tensor:
        """Return the (M, hidden) features of M observations. `rows`, (M, slots), has indices into
        `table`, the result of `first_layer_table`. With a separate critic, return (M, 2 *
        hidden)."""
        cells, table_rows = self.spec.cells, rows
        if self.encoder == CNN:  # the table has no cells
            table_rows = rows[:, cells:] - cells * self.spec.codes
        first = sum_rows(table, table_rows).add_(self.first_bias)
        if self.encoder == CNN:
            first = first + self.picture(self._convolve(rows[:, :cells] % self.spec.codes))
        if self._has_match:
            first = first + self.match(self._compute_mission_scores(rows))
        if not self.is_separate:
            return self._activate_hidden(first, self.second)
        own, others = first.chunk(2, 1)
        layers = (own, self.second), (others, self.critic_second)
        return torch.cat([self._activate_hidden(*each) for each in layers], 1)

    def _activate_hidden(self, first: Tensor, second: nn.Linear) -> Tensor:
        hidden = self.activate(self.normalise(first))
        return self.activate(self.normalise(second(hidden)))

    def _convolve(self, codes: Tensor) -> Tensor:
        """Run the convolutions on (M, cells) cell codes, and return their flattened output, (M,
        channels * cells)."""
        height, width = self.spec.height, self.spec.cells // self.spec.height
        embedded = sum_rows(self.embedding, codes.reshape(-1, 1))
        picture = embedded.unflatten(0, (-1, height, width))
        hidden = functional.relu(self.convolution_1(picture.movedim(-1, 1)))
        return functional.relu(self.convolution_2(hidden)).flatten(1)

    def _compute_mission_scores(self, rows: Tensor) -> Tensor:
        """Return how well each cell and the carried item match the mission, as (M, heads * (cells +
        1)). `rows`, (M, slots), are encoded observations. `NumpyNet` computes the same."""
        codes, mission = self.spec.split_rows(rows)
        # (M, heads, width), sums over the mission's integers
        queries = sum_rows(self.queries, mission).unflatten(1, (NUM_HEADS, -1))
        # (M, heads, codes): the score of each code, which all cells that show it have
        scores = functional.relu(queries @ self.embedding[: self.spec.codes].T)
        return select_codes(scores, codes.long()).flatten(1)

    def recur(
        self, features: Tensor, memory: Tensor, starts: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Run the recurrent layer on features, and return the new features and the layer's new
        state. A network without such a layer returns both unchanged.

        Args:
            features: (T * M, columns) features of T steps of M sequences; columns beyond `hidden`
                are kept.
            memory: (M, memory size) state before the first step.
            starts: (T, M) True where the state is reset before the step; None for one step without
                a reset.
        """
        if not self.cell_name:
            return features, memory
        inputs, other_features = features.tensor_split([self.second.out_features], 1)
        by_step = inputs[None] if starts is None else inputs.unflatten(0, starts.shape)
        states = unroll(getattr(self, self.cell_name), by_step, starts, memory)
        outputs = states[..., : inputs.shape[1]].flatten(0, 1)
        return torch.cat([inputs + outputs, other_features], 1), states[-1]

    def forward(self, features: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Return (M, actions) log-probabilities and (M,) values for (M, hidden) features. Actions
        whose mask is 0 get almost no probability."""
        logits, values = self.outputs(features).split([self.spec.actions, 1], 1)
        return find_log_probs(logits, masks), values[:, 0]

    def outputs(self, features: Tensor) -> Tensor:
        """Return (M, actions + 1) logits and values for (M, hidden) features, or for (M, 2 *
        hidden) with a separate critic."""
        if self.is_separate:
            own, others = features.chunk(2, 1)
            return torch.cat([self.actor(own), self.critic_value(others)], 1)
        weights = torch.cat([self.actor.weight, self.critic.weight])  # one product for both
        biases = torch.cat([self.actor.bias, self.critic.bias])
        return functional.linear(features, weights, biases)


def select_acting_weights(
    spec: NetworkSpec, weights: Mapping[str, NDArray[Any]], hidden: int
) -> dict[str, NDArray[Any]]:
    """Return the weights of an `ActorCritic` as `NumpyNet` reads them: without those of a separate
    critic, and for the encoder "flat" with a `table` in place of its layer."""
    selected = {name: each for name, each in weights.items() if not name.startswith("flat.")}
    if "flat.weight" in weights:
        numbers = weights["flat.numbers"].reshape(spec.cells + 1, spec.codes, 3)
        by_slot = weights["flat.weight"].T.reshape(spec.cells + 1, 3, -1)
        table = (numbers @ by_slot).reshape(-1, by_slot.shape[2])
        selected["table"] = np.concatenate([table, weights["flat.extra"]])
    if len(weights["first_bias"]) > hidden:  # the columns, or rows, after those of the actor
        for name in selected.keys() & {"table", "first", "first_bias"}:
            selected[name] = selected[name][..., :hidden]
        for name in [each for each in selected if each.startswith(("match.", "picture."))]:
            selected[name] = selected[name][:hidden]
    return selected


def find_log_probs(logits: Tensor, masks: Tensor) -> Tensor:
    """Return the (M, actions) log-probabilities of logits. Actions whose mask is 0 get almost no
    probability."""
    logits = logits.masked_fill(find_excluded(masks), -1e9)
    return logits.log_softmax(1)


def find_excluded(masks: Tensor) -> Tensor:
    """Return True for each action that a mask excludes; an empty mask allows all."""
    return (masks == 0) & (masks != 0).any(1, keepdim=True)


def _unchanged(numbers: Tensor) -> Tensor:
    return numbers


def make_linear(inputs: int, outputs: int, scale: float) -> nn.Linear:
    """Return a linear layer with zero biases and an orthogonal weight matrix multiplied by
    `scale`."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, scale)
    nn.init.zeros_(layer.bias)
    return layer
