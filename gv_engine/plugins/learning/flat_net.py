"""Gradient of PPO's loss for networks with the encoder "flat", written out for small minibatches.

In a minibatch of 64 steps, torch's autograd takes longer than the products themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from gv_engine.envs.representations import get_compiled
from gv_engine.plugins.learning.config import FLAT, TANH, Hyperparameters
from gv_engine.plugins.learning.network import ActorCritic
from gv_engine.plugins.learning.ppo_loss import write_ppo_gradient
from gv_engine.plugins.learning.torch_library import Tensor, functional, torch

_BRANCHES = ("second", "actor"), ("critic_second", "critic_value")
"""Second layer and last layer of the actor, and of the critic."""


def is_supported(net: ActorCritic, settings: Hyperparameters) -> bool:
    """Return True if `compute_flat_net_gradient` can compute the gradient of a network; others need
    autograd."""
    is_flat = settings.encoder == FLAT and settings.separate_critic
    has_extras = settings.recurrent or settings.layer_norm
    return is_flat and not has_extras and type(net) is ActorCritic and net.first_bias.is_cpu


def compute_flat_net_gradient(
    net: ActorCritic, inputs: Tensor, steps: Sequence[Tensor], settings: Hyperparameters
) -> tuple[Tensor, Tensor]:
    """Return the gradient of `compute_ppo_loss` as one vector, in the order of `net.parameters()`,
    and the (5,) sums that `compute_ppo_loss` returns.

    Args:
        net: network that `is_supported`.
        inputs: (L, I) inputs of L steps, see `NumberEncoder.read`.
        steps: as in `compute_ppo_loss`.
        settings: hyperparameters.
    """
    weights = {name: each.detach() for name, each in net.named_parameters()}
    numbers, one_hot = inputs.tensor_split([weights["flat.weight"].shape[1]], 1)
    first = torch.addmm(weights["first_bias"], numbers, weights["flat.weight"].T)
    first = _activate(first.addmm_(one_hot, weights["flat.extra"]), settings)
    layers, outputs = [], []
    for half, (name, last) in zip(first.chunk(2, 1), _BRANCHES, strict=True):
        weight, last_weight = weights[f"{name}.weight"], weights[f"{last}.weight"]
        second = _activate(torch.addmm(weights[f"{name}.bias"], half, weight.T), settings)
        outputs.append(torch.addmm(weights[f"{last}.bias"], second, last_weight.T))
        layers.append((half, weight, second, last_weight))
    grad_outputs = torch.empty(len(inputs), sum(each.shape[1] for each in outputs))
    _, *sums = get_compiled(write_ppo_gradient)(
        torch.cat(outputs, 1).numpy(),
        tuple(each.numpy() for each in steps),
        (settings.clip_coef, settings.ent_coef, settings.vf_coef),
        grad_outputs.numpy(),
    )
    grad_first, gradients = torch.empty_like(first), []
    parts = zip(layers, grad_outputs.tensor_split([-1], 1), grad_first.chunk(2, 1), strict=True)
    for (half, weight, second, last_weight), grad_output, grad_half in parts:
        grad_second = _backward_activation(grad_output @ last_weight, second, settings)
        torch.mm(grad_second, weight, out=grad_half)
        gradients += [
            grad_second.T @ half,
            grad_second.sum(0),
            grad_output.T @ second,
            grad_output.sum(0),
        ]
    grad_first = _backward_activation(grad_first, first, settings)
    gradients = [grad_first.sum(0), grad_first.T @ numbers, one_hot.T @ grad_first, *gradients]
    return torch.cat([each.flatten() for each in gradients]), torch.tensor(sums)


def _activate(numbers: Tensor, settings: Hyperparameters) -> Tensor:
    return numbers.tanh_() if settings.activation == TANH else functional.relu_(numbers)


def _backward_activation(
    grad_activated: Tensor, activated: Tensor, settings: Hyperparameters
) -> Tensor:
    """Return the gradient with respect to the inputs of an activation, given that with respect to
    its outputs."""
    if settings.activation == TANH:
        return torch.ops.aten.tanh_backward(grad_activated, activated)
    return torch.ops.aten.threshold_backward(grad_activated, activated, 0)
