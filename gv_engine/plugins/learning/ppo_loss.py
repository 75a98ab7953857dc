"""Loss of PPO, on the CPU with its gradient in closed form: clipped policy loss (Schulman et al.,
2017, equation 7), value loss and entropy bonus (equation 9)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import get_compiled
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.network import find_log_probs
from gv_engine.plugins.learning.torch_library import Tensor, torch


def compute_ppo_loss(
    outputs: Tensor, steps: tuple[Tensor, ...], settings: Hyperparameters
) -> tuple[Tensor, Tensor]:
    """Return the PPO loss summed over L steps, and the sums of entropy, approximate KL divergence,
    squared value error, clipped policy loss and clipped steps as (5,).

    Args:
        outputs: (L, actions + 1) logits and values.
        steps: (L, actions) masks; (L,) actions; their log-probabilities when they were taken;
            advantages; and value targets.
        settings: hyperparameters.
    """
    if outputs.is_cpu:  # with autograd, an update of keydoor-9x9 took 10 % longer
        loss, sums = PPOLoss.apply(outputs, steps, settings)
        return loss, sums
    masks, actions, old_log_probs, advantages, returns = steps
    all_log_probs = find_log_probs(outputs[:, :-1], masks)
    log_ratio = all_log_probs.gather(1, actions[:, None])[:, 0] - old_log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip_coef, 1 + settings.clip_coef)
    policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).sum()
    value_loss = (outputs[:, -1] - returns).square().sum()
    entropy = -(all_log_probs.exp() * all_log_probs).sum()
    loss = policy_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy
    divergence, num_clipped = (ratio - 1 - log_ratio).sum(), (ratio != clipped).sum()
    return loss, torch.stack([entropy, divergence, value_loss, policy_loss, num_clipped])


class PPOLoss(torch.autograd.Function):
    """Autograd function of `compute_ppo_loss` on the CPU, with a compiled gradient."""

    @staticmethod
    def forward(
        ctx: Any, outputs: Tensor, steps: tuple[Tensor, ...], settings: Hyperparameters
    ) -> tuple[Tensor, Tensor]:
        """Return the loss and the (5,) sums of `compute_ppo_loss`, and keep the gradient for
        `backward`."""
        ctx.gradient = torch.empty_like(outputs)
        loss, *sums = get_compiled(write_ppo_gradient)(
            outputs.detach().numpy(),
            tuple(each.numpy() for each in steps),
            (settings.clip_coef, settings.ent_coef, settings.vf_coef),
            ctx.gradient.numpy(),
        )
        reported = outputs.new_tensor(sums)
        ctx.mark_non_differentiable(reported)
        return outputs.new_tensor(loss), reported

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient with respect to `outputs`, given `scale`, the gradient with respect
        to the loss."""
        return ctx.gradient * scale, None, None


def write_ppo_gradient(
    outputs: NDArray[np.float32],
    steps: tuple[NDArray[Any], ...],
    coefficients: tuple[float, float, float],
    gradient: NDArray[np.float32],
) -> tuple[float, float, float, float, float, float]:
    """Write the gradient of the PPO loss with respect to `outputs` (logits and value of each step)
    into `gradient`. Return the loss and the sums of `compute_ppo_loss`. `coefficients` are
    `clip_coef`, `ent_coef`, `vf_coef`."""
    masks, actions, old_log_probs, advantages, returns = steps
    clip_coef, ent_coef, vf_coef = coefficients
    loss = entropies = divergences = squared_errors = policy_loss = num_clipped = 0.0
    num_actions = outputs.shape[1] - 1
    probs, log_probs = np.zeros(num_actions), np.zeros(num_actions)
    for i in range(len(outputs)):
        action, advantage = actions[i], advantages[i]
        entropy = write_action_probs(outputs[i], masks[i], probs, log_probs)
        log_ratio = log_probs[action] - old_log_probs[i]
        ratio = math.exp(log_ratio)
        clipped = min(max(ratio, 1 - clip_coef), 1 + clip_coef)
        gain = min(advantage * ratio, advantage * clipped)
        # d loss / d log p(a) = -advantage * ratio, or 0 where the clipped gain is less
        by_log_prob = -advantage * ratio if advantage * ratio <= gain else 0.0
        for j in range(num_actions):
            # d log p(a) / d logit(j) = [a = j] - p(j), d entropy / d logit(j) = -p(j) (log p(j) +
            # entropy)
            by_logit = by_log_prob * ((action == j) - probs[j])
            gradient[i, j] = by_logit + ent_coef * probs[j] * (log_probs[j] + entropy)
        error = outputs[i, num_actions] - returns[i]
        gradient[i, num_actions] = 2 * vf_coef * error  # d squared error / d value = 2 error
        policy_loss -= gain
        num_clipped += float(clipped != ratio)
        entropies += entropy
        divergences += ratio - 1 - log_ratio
        squared_errors += error * error
    loss = policy_loss + vf_coef * squared_errors - ent_coef * entropies
    return loss, entropies, divergences, squared_errors, policy_loss, num_clipped


def write_action_probs(
    logits: NDArray[np.float32],
    mask: NDArray[np.int8],
    probs: NDArray[np.float64],
    log_probs: NDArray[np.float64],
) -> float:
    """Write the softmax of `logits` into `probs`, and its logarithm into `log_probs`. Return the
    entropy. Actions whose mask is 0 have probability 0, unless all masks are 0. Excess items of
    `logits` are ignored."""
    allows_all = not mask.any()
    max_logit, total = -math.inf, 0.0
    for j in range(len(probs)):
        if allows_all or mask[j]:
            max_logit = max(max_logit, logits[j])
    for j in range(len(probs)):
        log_probs[j] = logits[j] - max_logit
        probs[j] = math.exp(log_probs[j]) if allows_all or mask[j] else 0.0
        total += probs[j]
    entropy, log_total = 0.0, math.log(total)
    for j in range(len(probs)):
        log_probs[j] -= log_total
        probs[j] /= total
        entropy -= probs[j] * log_probs[j]
    return entropy
