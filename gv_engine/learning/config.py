"""Hyperparameters of a learner and its stop condition; importable without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gv_engine.learning.ppo import TrainingMetrics

_MIN_EPISODES = 500
"""Finished episodes before `StopCondition.until` is compared with the success rate."""


@dataclass(frozen=True)
class Hyperparameters:
    """Settings of PPO; the defaults suit all grid scenarios of the engine.

    Attributes:
        seed: seed of the worlds, the initial weights and the sampling of actions.
        recurrent: add a GRU, reset at the start of each episode.
        mask_actions: give probability 0 to the actions that `info["action_mask"]` excludes.
        augment_colors: permute interchangeable colours per episode, see `color_augmentation`.
        num_envs: number of worlds; a world of A agents fills A lines of a batch.
        num_steps: steps of each world between two updates.
        update_epochs: passes over the collected steps in an update.
        num_minibatches: minibatches of a pass.
        learning_rate: step size of Adam.
        gamma: discount factor.
        gae_lambda: lambda of generalised advantage estimation.
        clip_coef: clip range of the probability ratio.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the value loss.
        max_grad_norm: gradient norm above which the gradient is clipped.
        embedding_size: length of the embedding of a cell code.
        hidden_size: width of the hidden layers and of the GRU.
        num_threads: threads that share the gradient of a minibatch.
        num_env_threads: threads that step the worlds.
    """

    seed: int = 0
    recurrent: bool = False
    mask_actions: bool = True
    augment_colors: bool = True
    num_envs: int = 128
    num_steps: int = 32
    update_epochs: int = 3
    num_minibatches: int = 4
    learning_rate: float = 2e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    embedding_size: int = 16
    hidden_size: int = 128
    num_threads: int = 1
    num_env_threads: int = 1


RECURRENT_DEFAULTS = {"recurrent": True, "num_envs": 256, "num_minibatches": 2, "ent_coef": 0.03}
"""Settings of a recurrent learner that differ from the defaults: more exploration, and larger
minibatches, because a GRU runs through them step by step."""


class StopCondition(NamedTuple):
    """End of training: a number of steps, or a success rate before that.

    Attributes:
        steps: total environment steps of all worlds.
        until: success rate in (0, 1] that ends training early; None for no early end.
    """

    steps: int = 1_000_000
    until: float | None = None

    def is_met(self, metrics: TrainingMetrics) -> bool:
        """Return True if `metrics` have reached the number of steps or the success rate at which
        training ends."""
        if self.until is None or metrics.episodes < _MIN_EPISODES:
            return metrics.steps >= self.steps
        return metrics.steps >= self.steps or metrics.success_rate >= self.until
