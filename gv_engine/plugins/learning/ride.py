"""Exploration by impact on PPO (RIDE; Raileanu and Rocktäschel, 2020).

A step is rewarded by how far the observation after it is from the one before, divided by the square
root of the visits of the observation in the episode. Distances are those of embeddings, from which
one network tells the action between two observations, and another one predicts the second from the
first and the action: so what the agent cannot change has little influence.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gv_engine.envs.backends.seeding import derive_seeds
from gv_engine.envs.rollout.network_spec import NetworkSpec
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.episode_visits import EpisodeVisits
from gv_engine.plugins.learning.layers import sum_rows
from gv_engine.plugins.learning.network import make_linear
from gv_engine.plugins.learning.optimizer import Adam
from gv_engine.plugins.learning.ppo import Learner
from gv_engine.plugins.learning.reward_scaler import RewardScaler
from gv_engine.plugins.learning.rnd import Flags
from gv_engine.plugins.learning.torch_library import Tensor, functional, nn, torch

_FORWARD_WEIGHT, _INVERSE_WEIGHT = 0.1, 1.0
"""Weights of the losses of predicted observations and actions; the paper's 10 and 0.1 failed."""


class Dynamics(nn.Module):
    """Embedding of observations, and the networks that it is learned with."""

    def __init__(self, spec: NetworkSpec, hidden: int) -> None:
        """Make the layers for observations and actions of the sizes in `spec`."""
        super().__init__()
        scale = math.sqrt(2 / len(spec.sizes))
        self.table = nn.Parameter(torch.randn(sum(spec.sizes), hidden) * scale)
        self.embedding = make_linear(hidden, hidden, 1.0)
        self._actions = spec.actions
        self.inverse_hidden = make_linear(2 * hidden, hidden, math.sqrt(2))
        self.inverse = make_linear(hidden, spec.actions, 1.0)
        self.forward_hidden = make_linear(hidden + spec.actions, hidden, math.sqrt(2))
        self.forward_output = make_linear(hidden, hidden, 1.0)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the (M, hidden) embeddings of M observations, given as (M, slots) `rows`."""
        return self.embedding(functional.relu(sum_rows(self.table, rows)))

    def loss(self, before: Tensor, after: Tensor, actions: Tensor) -> Tensor:
        """Return the (M,) losses of M steps, given the embeddings before and after them."""
        both = torch.cat([before, after], 1)
        logits = self.inverse(functional.relu(self.inverse_hidden(both)))
        inverse = functional.cross_entropy(logits, actions, reduction="none")
        known = torch.cat([before, functional.one_hot(actions, self._actions).float()], 1)
        predicted = self.forward_output(functional.relu(self.forward_hidden(known)))
        return _FORWARD_WEIGHT * (predicted - after).norm(dim=1) + _INVERSE_WEIGHT * inverse


class RIDELearner(Learner):
    """PPO learner with additional rewards for the impact of steps (RIDE); arguments and attributes
    are those of `Learner`."""

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, device: str = "cpu") -> None:
        """Make a learner; the arguments are those of `Learner`."""
        super().__init__(env, settings, device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(*derive_seeds(settings.seed, "dynamics"))
            self._dynamics = Dynamics(self.spec, settings.hidden_size).to(self.device)
        self._dynamics_adam = Adam(self._dynamics, settings.learning_rate, settings.max_grad_norm)
        self._impact_scaler = RewardScaler(env.num_envs, settings.gamma)
        self._visits = EpisodeVisits(env.num_envs, len(self.spec.sizes))
        self._checkpoint_parts |= {
            "dynamics": self._dynamics,
            "dynamics_adam": self._dynamics_adam,
            "impact_scaler": self._impact_scaler,
            "visited": self._visits,
        }

    def _begin_episodes(self, results: tuple[Any, dict[str, Any]]) -> None:
        super()._begin_episodes(results)
        self._visits.begin_episodes()
        self._impact_scaler.begin_episodes()

    def _scaled_rewards(self, done: Flags, live: Flags) -> Tensor:
        """Return the (T, N) scaled rewards plus `rnd_coef` times those for impact. `done` is True
        where an episode ended, `live` where an agent took part."""
        rows, *_ = self._network_inputs(slice(None))
        has_next = live & ~done
        impact = self._learn_dynamics(rows, torch.from_numpy(has_next).to(self.device))
        visits = self._visits.count(rows.cpu().numpy(), done)
        impact = impact.cpu().numpy() * has_next / np.sqrt(np.maximum(visits, 1))
        impact = self._impact_scaler.scale(impact, done, live)
        rewards = super()._scaled_rewards(done, live)
        return rewards + self.settings.rnd_coef * torch.from_numpy(impact)

    def _learn_dynamics(self, rows: Tensor, has_next: Tensor) -> Tensor:
        """Learn from the steps where `has_next` (T, N) is True: both observations belong to one
        episode. Return the (T, N) distances between the embeddings before and after each step."""
        with torch.enable_grad():
            embeddings = self._dynamics(rows.flatten(0, 1)).unflatten(0, rows.shape[:2])
            before, after = embeddings[:-1], embeddings[1:]
            if has_next.any():
                steps = (each[has_next] for each in (before, after, self._buffer.actions))
                self._dynamics_adam.learning_rate.fill_(self.learning_rate)
                self._dynamics_adam.minimise(self._dynamics.loss(*steps).mean())
        return (after - before).norm(dim=2).detach()
