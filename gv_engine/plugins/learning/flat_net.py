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


def is_supported(net: ActorCritic, settings: Hyperparameters) -> bool:
    """Return True if `FlatNetGradient` can compute the gradient of a network; others need
    autograd."""
    is_flat = settings.encoder == FLAT and settings.separate_critic
    has_extras = settings.recurrent or settings.layer_norm
    return is_flat and not has_extras and type(net) is ActorCritic and net.first_bias.is_cpu


class FlatNetGradient:
    """Gradient of `compute_ppo_loss` for a network for which `is_supported` returns True. Actor and
    critic are networks of the same shape, whose hidden layers are computed as one batch of two."""

    def __init__(self, net: ActorCritic, settings: Hyperparameters) -> None:
        """Keep the weights of the network, which change in place."""
        self._settings = settings
        self._coefficients = settings.clip_coef, settings.ent_coef, settings.vf_coef
        weights = [each.detach() for each in net.parameters()]
        self._first_bias, self._first, self._extra = weights[:3]
        self._actor, self._critic = weights[3:7], weights[7:]

    def compute(self, inputs: Tensor, steps: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return the gradient as one vector, in the order of `net.parameters()`, and the (5,) sums
        of entropy and losses that `compute_ppo_loss` returns.

        Args:
            inputs: (L, I) inputs of L steps of a minibatch, see `NumberEncoder.read`.
            steps: masks, actions and so on of these steps, as in `compute_ppo_loss`.
        """
        numbers, one_hot = inputs.tensor_split([self._first.shape[1]], 1)
        first = torch.addmm(self._first_bias, numbers, self._first.T)
        first = self._activate(first.addmm_(one_hot, self._extra))
        halves = first.unflatten(1, (2, -1)).transpose(0, 1)  # (2, L, hidden)
        second, bias = map(torch.stack, zip(self._actor[:2], self._critic[:2], strict=True))
        hidden = self._activate(torch.baddbmm(bias[:, None], halves, second.transpose(1, 2)))
        (actor, actor_bias), (critic, critic_bias) = self._actor[2:], self._critic[2:]
        logits = torch.addmm(actor_bias, hidden[0], actor.T)
        outputs = torch.cat([logits, torch.addmm(critic_bias, hidden[1], critic.T)], 1)
        grad_outputs = torch.empty_like(outputs)
        arguments = outputs.numpy(), tuple(each.numpy() for each in steps), self._coefficients
        _, *sums = get_compiled(write_ppo_gradient)(*arguments, grad_outputs.numpy())
        grad_logits, grad_values = grad_outputs.tensor_split([-1], 1)
        grad_activated = torch.stack([grad_logits @ actor, grad_values @ critic])
        grad_hidden = self._backward_activation(grad_activated, hidden)
        grad_first = torch.bmm(grad_hidden, second).transpose(0, 1).flatten(1)
        grad_first = self._backward_activation(grad_first, first)
        grad_second = torch.bmm(grad_hidden.transpose(1, 2), halves)
        grad_bias, grad_output_bias = grad_hidden.sum(1), grad_outputs.sum(0)
        gradients = [
            *(grad_first.sum(0), grad_first.T @ numbers, one_hot.T @ grad_first),
            *(grad_second[0], grad_bias[0], grad_logits.T @ hidden[0], grad_output_bias[:-1]),
            *(grad_second[1], grad_bias[1], grad_values.T @ hidden[1], grad_output_bias[-1:]),
        ]
        return torch.cat([each.flatten() for each in gradients]), torch.tensor(sums)

    def _activate(self, numbers: Tensor) -> Tensor:
        return numbers.tanh_() if self._settings.activation == TANH else functional.relu_(numbers)

    def _backward_activation(self, grad_activated: Tensor, activated: Tensor) -> Tensor:
        """Return the gradient with respect to the inputs of an activation, given that with respect
        to its outputs."""
        if self._settings.activation == TANH:
            return torch.ops.aten.tanh_backward(grad_activated, activated)
        return torch.ops.aten.threshold_backward(grad_activated, activated, 0)
