"""First layer of a network that reads observations as plain numbers, as most libraries do."""

from __future__ import annotations

import math

from gv_engine.envs.rollout.network_spec import NetworkSpec
from gv_engine.plugins.learning.torch_library import Tensor, functional, nn, torch

_MAX_NUMBER = 10.0
"""Bound of the normalised numbers."""


class NumberEncoder(nn.Module):
    """Linear layer, without a bias, on type, state and colour of each cell and of the carried item.

    Each number is normalised by its running mean and standard deviation, as by `VecNormalize` of
    Stable-Baselines3. Codes of the mission, the state vector and the agent have weights of their
    own, as one-hot codes.
    """

    def __init__(self, spec: NetworkSpec, hidden: int) -> None:
        """Make a layer with `hidden` outputs for observations of the sizes in `spec`."""
        super().__init__()
        slots, extra = spec.cells + 1, sum(spec.extra_sizes)
        self._shape = slots, spec.codes
        self.weight = nn.Parameter(torch.empty(hidden, 3 * slots))
        nn.init.orthogonal_(self.weight, math.sqrt(2))
        self.extra = nn.Parameter(torch.randn(extra, hidden) / max(1, len(spec.extra_sizes)))
        self.register_buffer("numbers", torch.zeros(slots * spec.codes, 3))
        # of each number: how many there were, their mean, and their variance
        self.register_buffer("moments", torch.zeros(3, slots, 3, dtype=torch.float64))

    def forward(self) -> Tensor:
        """Return what each code of each slot adds to the outputs, (input codes, hidden)."""
        slots, codes = self._shape
        numbers = self.get_buffer("numbers").view(slots, codes, 3)
        by_slot = self.weight.T.reshape(slots, 3, -1)
        return torch.cat([torch.bmm(numbers, by_slot).flatten(0, 1), self.extra])

    def read(self, rows: Tensor) -> Tensor:
        """Return the (M, inputs) numbers that (M, slots) encoded observations stand for: normalised
        numbers of the cells, then one-hot codes of the other slots."""
        slots, codes = self._shape
        numbers = functional.embedding(rows[:, :slots], self.get_buffer("numbers")).flatten(1)
        indices = (rows[:, slots:] - slots * codes).long()
        one_hot = numbers.new_zeros(len(rows), len(self.extra)).scatter_(1, indices, 1.0)
        return torch.cat([numbers, one_hot], 1)

    def add_observations(self, rows: Tensor, cells: Tensor) -> None:
        """Update the running mean and variance of all numbers by (M, slots) encoded observations,
        and normalise the numbers anew. `cells` (codes, 3) has the numbers of each cell code."""
        (slots, codes), moments = self._shape, self.get_buffer("moments")
        values = cells[rows[:, :slots] % codes].double()
        count, mean, variance = moments
        size, delta = len(values), values.mean(0) - mean
        total = count + size
        squares = count * variance + size * values.var(0, correction=0)
        squares += delta**2 * count * size / total
        moments.copy_(torch.stack([total, mean + delta * size / total, squares / total]))
        _, mean, variance = moments[:, :, None]
        numbers = (cells - mean) / (variance + 1e-8).sqrt()
        self.get_buffer("numbers").copy_(numbers.clamp(-_MAX_NUMBER, _MAX_NUMBER).flatten(0, 1))
