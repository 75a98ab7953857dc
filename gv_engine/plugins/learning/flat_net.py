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
    """Return True if `find_flat_gradient` can compute the gradient of a network."""
    is_flat = settings.encoder == FLAT and settings.separate_critic
    has_more = settings.recurrent or settings.layer_norm
    return is_flat and not has_more and type(net) is ActorCritic and net.first_bias.is_cpu


def find_flat_gradient(
    net: ActorCritic, inputs: Tensor, steps: Sequence[Tensor], settings: Hyperparameters
) -> tuple[Tensor, Tensor]:
    """Return the gradient of `compute_ppo_loss` with respect to all parameters of `net` as one
    vector, and the (5,) sums.

    Args:
        net: network that `is_supported`.
        inputs: (L, inputs) numbers, see `NumberEncoder.read`.
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
    by_outputs = torch.empty(len(inputs), sum(each.shape[1] for each in outputs))
    _, *sums = get_compiled(write_ppo_gradient)(
        torch.cat(outputs, 1).numpy(),
        tuple(each.numpy() for each in steps),
        (settings.clip_coef, settings.ent_coef, settings.vf_coef),
        by_outputs.numpy(),
    )
    by_first, gradients = torch.empty_like(first), []
    parts = zip(layers, by_outputs.tensor_split([-1], 1), by_first.chunk(2, 1), strict=True)
    for (half, weight, second, last_weight), by_output, by_half in parts:
        by_second = _derive(by_output @ last_weight, second, settings)
        torch.mm(by_second, weight, out=by_half)
        gradients += [by_second.T @ half, by_second.sum(0), by_output.T @ second, by_output.sum(0)]
    by_first = _derive(by_first, first, settings)
    gradients = [by_first.sum(0), by_first.T @ numbers, one_hot.T @ by_first, *gradients]
    return torch.cat([each.flatten() for each in gradients]), torch.tensor(sums)


def _activate(numbers: Tensor, settings: Hyperparameters) -> Tensor:
    return numbers.tanh_() if settings.activation == TANH else functional.relu_(numbers)


def _derive(by_activated: Tensor, activated: Tensor, settings: Hyperparameters) -> Tensor:
    """Return the gradient with respect to the inputs of an activation, given that with respect to
    its outputs."""
    if settings.activation == TANH:
        return torch.ops.aten.tanh_backward(by_activated, activated)
    return torch.ops.aten.threshold_backward(by_activated, activated, 0)
