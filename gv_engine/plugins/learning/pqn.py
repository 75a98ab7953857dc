"""Parallelised Q-network (Gallici et al., 2024, "Simplifying deep temporal difference learning").

Q-learning on fresh steps of many worlds: no replay buffer and no target network. Layer
normalisation keeps the values from diverging. Targets are Q(lambda) returns: the returns of
generalised advantage estimation, with the greatest value of an action that the mask
allows as the value of a state. Actions are epsilon-greedy, with an epsilon that falls linearly. The
paper uses RAdam, this file Adam.
"""

from __future__ import annotations

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.network import ActorCritic, find_excluded
from gv_engine.plugins.learning.ppo import Learner
from gv_engine.plugins.learning.rollout_buffer import TrainingBatch
from gv_engine.plugins.learning.torch_library import Tensor, functional, torch


class QNetwork(ActorCritic):
    """Network whose actor gives action values; its critic is unused."""

    def act(
        self, features: Tensor, masks: Tensor, epsilon: Tensor | float
    ) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities of an epsilon-greedy policy, (N, actions), and the greatest
        value among the valid actions, (N,)."""
        excluded = find_excluded(masks)
        values, best = self.actor(features).masked_fill(excluded, -torch.inf).max(1)
        allowed = (~excluded).float()
        random = epsilon * allowed / allowed.sum(1, keepdim=True)
        greedy = functional.one_hot(best, self.spec.actions).float() * (1 - epsilon)
        return (random + greedy).log(), values


class PQNLearner(Learner):
    """PQN learner of a vector environment; arguments and attributes are those of `Learner`."""

    net: QNetwork
    net_class = QNetwork

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, device: str = "cpu") -> None:
        super().__init__(env, settings, device)
        self._epsilon = torch.zeros((), dtype=torch.float64, device=self.device)

    @property
    def epsilon(self) -> float:
        """Share of random actions at the current number of steps."""
        settings = self.settings
        progress = min(1.0, self._num_steps / max(1, settings.exploration_steps))
        return settings.start_epsilon + progress * (settings.end_epsilon - settings.start_epsilon)

    def _prepare_acting(self) -> None:
        super()._prepare_acting()
        self._epsilon.fill_(self.epsilon)

    def _act_and_value(self, features: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        return self.net.act(features, masks, self._epsilon)

    def _loss(self, batch: TrainingBatch, num_live: int) -> tuple[Tensor, Tensor]:
        """Return half the squared error of the taken actions' values, summed and divided by
        `num_live`, and five statistics. All but the value loss are NaN, as PQN has no others."""
        features, _, actions, _, _, returns = self._read_batch(batch)
        values = self.net.actor(features).gather(1, actions[:, None])[:, 0]
        value_loss = (values - returns).square().sum() / num_live
        unknown = torch.full_like(value_loss, torch.nan)
        return value_loss / 2, torch.stack([unknown, unknown, value_loss, unknown, unknown])
