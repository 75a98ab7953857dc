"""Optimiser of all learners: Adam with gradient clipping."""

from __future__ import annotations

from typing import Any

from gv_engine.plugins.learning.torch_library import Tensor, nn, torch


class Adam:
    """Adam (Kingma and Ba, 2015) over all weights as one vector, with gradient clipping.

    It calls torch's fused kernel; importing `torch.optim` would take two seconds.

    Args:
        net: network to train; its parameters become views of one vector.
        learning_rate: initial step size.
        max_grad_norm: gradient norm above which the gradient is clipped.

    Attributes:
        parameters: parameters of `net`.
        learning_rate: step size, a tensor of one number, which may change between steps.
    """

    def __init__(self, net: nn.Module, learning_rate: float, max_grad_norm: float) -> None:
        """Make an Adam optimiser. All weights of `net` are moved into one vector; both moments
        start at 0."""
        self._max_grad_norm, self.parameters = max_grad_norm, tuple(net.parameters())
        self._weights = torch.cat([parameter.detach().flatten() for parameter in self.parameters])
        self.learning_rate = self._weights.new_tensor(learning_rate)
        self._moments = self._weights.new_zeros(2, len(self._weights))
        self._steps = self._weights.new_zeros(1)
        views = self._weights.split([parameter.numel() for parameter in self.parameters])
        for parameter, view in zip(self.parameters, views, strict=True):
            parameter.data = view.view_as(parameter)

    def minimise(self, loss: Tensor) -> None:
        """Take one step on a loss, a tensor of one number."""
        gradients = torch.autograd.grad(loss, self.parameters)
        self.step(torch.cat([each.flatten() for each in gradients]))

    def step(self, gradient: Tensor) -> None:
        """Update the weights by `gradient`, one vector for all weights. It is clipped in place to
        the maximum norm."""
        gradient.mul_(torch.clamp(self._max_grad_norm / (gradient.norm() + 1e-6), max=1.0))
        self._steps += 1
        moments: Any = [self._moments[0]], [self._moments[1]], []
        options = {"beta1": 0.9, "beta2": 0.999, "weight_decay": 0.0, "eps": 1e-5}
        options |= {"lr": self.learning_rate, "amsgrad": False, "maximize": False}
        torch._fused_adam_([self._weights], [gradient], *moments, [self._steps[0]], **options)

    def state(self) -> tuple[Tensor, Tensor]:
        """Return what a checkpoint saves: both moments, (2, number of weights), and the number of
        updates so far, (1,); no copies."""
        return self._moments, self._steps

    def restore(self, state: tuple[Tensor, Tensor]) -> None:
        """Copy a saved `state()`."""
        for current, saved in zip(self.state(), state, strict=True):
            current.copy_(saved)
