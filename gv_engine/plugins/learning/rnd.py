"""Exploration by random network distillation on PPO (Burda et al., 2019).

A predictor learns the outputs of a fixed random network for the observations that are met. Its
error is large where few observations were alike: it is added to the rewards, so that agents go
where they have not been. One critic estimates the sum of both; the paper has a critic for each.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.network_spec import NetworkSpec
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.layers import sum_rows
from gv_engine.plugins.learning.network import ActorCritic, make_linear
from gv_engine.plugins.learning.ppo import Learner
from gv_engine.plugins.learning.reward_scaler import RewardScaler
from gv_engine.plugins.learning.rollout_buffer import TrainingBatch
from gv_engine.plugins.learning.torch_library import Tensor, functional, nn, torch

CodeRows = NDArray[np.int32]
Errors = NDArray[np.float32]
Flags = NDArray[np.bool_]

_TRAINED_SHARE = 0.25
"""Share of the steps that the predictor learns from, so that it does not learn too fast."""


class CuriousNet(ActorCritic):
    """Actor and critic, and a predictor of the outputs of a random network."""

    def __init__(self, spec: NetworkSpec, settings: Hyperparameters) -> None:
        """Make the layers of actor and critic, and those of RND: the predictor and the fixed random
        target network."""
        super().__init__(spec, settings)
        hidden, slots = settings.hidden_size, len(spec.sizes)
        scale = math.sqrt(2 / slots)
        self.register_buffer("target", torch.randn(sum(spec.sizes), hidden) * scale)
        self.predictor_first = nn.Parameter(torch.randn(sum(spec.sizes), hidden) * scale)
        self.predictor_second = make_linear(hidden, hidden, math.sqrt(2))
        self.predictor_third = make_linear(hidden, hidden, 1.0)

    def prediction_errors(self, rows: Tensor) -> Tensor:
        """Return how badly the predictor predicts the random `target` network's output: the (M,)
        mean squared errors. `rows`, (M, slots), are M encoded observations."""
        with torch.no_grad():
            target = functional.relu(sum_rows(self.get_buffer("target"), rows))
        first = functional.relu(sum_rows(self.predictor_first, rows))
        predicted = self.predictor_third(functional.relu(self.predictor_second(first)))
        return (predicted - target).square().mean(1)


class RNDLearner(Learner):
    """PPO learner with additional rewards for new observations; arguments and attributes are those
    of `Learner`."""

    net: CuriousNet
    net_class = CuriousNet

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, device: str = "cpu") -> None:
        super().__init__(env, settings, device)
        self._novelty_scaler = RewardScaler(env.num_envs, settings.gamma)
        self._checkpoint_parts["novelty_scaler"] = self._novelty_scaler

    def _scaled_rewards(self, done: Flags, live: Flags) -> Tensor:
        """Return the (T, N) scaled rewards plus `rnd_coef` times the intrinsic rewards for new
        observations. `done` is True where an episode ended, `live` where an agent took part."""
        rows, *_ = self._network_inputs(slice(None))
        with torch.no_grad():
            errors = self.net.prediction_errors(rows.flatten(0, 1))
        by_step = errors.reshape(rows.shape[:2]).cpu().numpy()
        novelty = self._scaled_novelty(rows.cpu().numpy(), by_step, done, live)
        rewards = super()._scaled_rewards(done, live)
        return rewards + self.settings.rnd_coef * torch.from_numpy(novelty)

    def _scaled_novelty(self, rows: CodeRows, errors: Errors, done: Flags, live: Flags) -> Errors:
        return self._novelty_scaler.scale(errors[1:] * live, np.zeros_like(done), live)

    def _loss(self, batch: TrainingBatch, num_live: int) -> tuple[Tensor, Tensor]:
        """Return the sum of PPO loss and predictor loss, and the (5,) sums of `compute_ppo_loss`,
        all over the batch divided by `num_live`."""
        loss, losses = super()._loss(batch, num_live)
        trained = math.ceil(_TRAINED_SHARE * batch.rows.shape[1])  # sequences are in random order
        rows, live = (each[:, :trained].flatten(0, 1) for each in (batch.rows, batch.live))
        errors = (self.net.prediction_errors(rows) * live).sum()
        return loss + errors / (_TRAINED_SHARE * num_live), losses
