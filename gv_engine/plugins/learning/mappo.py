"""Multi-agent PPO with a centralised critic (Yu et al., 2022, "The surprising effectiveness of PPO
in cooperative multi-agent games").

All agents share one actor, which reads the observation of its agent. The critic reads the
observations of all agents of the world, and the index of the agent whose value it estimates; it is
only needed for training. By default agents share the rewards of their team (`share_rewards`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.network_spec import NetworkSpec
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.layers import sum_rows
from gv_engine.plugins.learning.network import ActorCritic, make_linear
from gv_engine.plugins.learning.ppo import Learner
from gv_engine.plugins.learning.torch_library import Tensor, nn, torch


class CentralCriticNet(ActorCritic):
    """Actor as in `ActorCritic`, and a critic with separate layers.

    The critic's first layer, `central_first`, has a row for each input code of each agent, and a
    row for each index of an agent. Features are the actor's, then the critic's.
    """

    def __init__(self, spec: NetworkSpec, settings: Hyperparameters) -> None:
        """Make the layers of the actor, which sees one agent's observation, and of the critic,
        which sees those of all agents. `spec` has the input sizes."""
        super().__init__(spec, replace(settings, separate_critic=False))
        del self.critic
        self.rows_per_sample = spec.agents
        hidden, slots = settings.hidden_size, len(spec.sizes)
        codes = spec.agents * sum(spec.sizes) + spec.agents
        scale = math.sqrt(2 / (spec.agents * slots))
        self.central_first = nn.Parameter(torch.randn(codes, hidden) * scale)
        self.central_bias = nn.Parameter(torch.zeros(hidden))
        self.central_second = make_linear(hidden, hidden, math.sqrt(2))
        self.central_value = make_linear(hidden, 1, 1.0)

    def features(self, table: Tensor, rows: Tensor) -> Tensor:
        """Return the (M, 2 * hidden) features of M observations: those for the actor, then those
        for the critic. `rows`, (M, slots), has indices into `table`, the first-layer weights,
        ordered by world and then by agent; M is a multiple of the number of agents."""
        agents, codes_per_agent = self.spec.agents, sum(self.spec.sizes)
        offsets = codes_per_agent * torch.arange(agents, dtype=rows.dtype, device=rows.device)
        by_world = rows.unflatten(0, (-1, agents)) + offsets[:, None]
        # once for each world
        joint = sum_rows(self.central_first, by_world.flatten(1)) + self.central_bias
        first = (joint[:, None] + self.central_first[agents * codes_per_agent :]).flatten(0, 1)
        second = self.central_second(self.activate(self.normalise(first)))
        central = self.activate(self.normalise(second))
        return torch.cat([super().features(table, rows), central], 1)

    def value(self, features: Tensor) -> Tensor:
        """Return (M,) values for (M, 2 * hidden) features."""
        return self.central_value(features.chunk(2, 1)[1])[:, 0]

    def outputs(self, features: Tensor) -> Tensor:
        """Return (M, actions + 1) logits and values for (M, 2 * hidden) features."""
        logits = self.actor(features.chunk(2, 1)[0])
        return torch.cat([logits, self.value(features)[:, None]], 1)


class MAPPOLearner(Learner):
    """MAPPO learner of a vector environment; arguments and attributes are those of `Learner`."""

    net_class = CentralCriticNet

    def _final_features(self, t: int, rows: NDArray[np.int32], cut: NDArray[np.int64]) -> Tensor:
        last = self._buffer.rows[t].copy()  # what the other agents saw
        last[cut] = rows
        return super()._final_features(t, last, np.arange(len(last)))[cut]
