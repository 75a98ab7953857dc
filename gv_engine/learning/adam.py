"""A step down a gradient."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Adam:
    """Adam (Kingma and Ba, 2015) over all weights as one vector, with gradients cut in length.

    The step is torch's own, without `torch.optim` about it, which takes two seconds to import.

    Args:
        net: whose weights they are; from now on, views of that vector.
        rate: of a step.
        longest: length of a gradient, beyond which it is cut.

    Attributes:
        state: (2, weights) running means of the slopes and of their squares, and (1,) how many
            steps were taken.
    """

    def __init__(self, net: nn.Module, rate: float, longest: float) -> None:
        self._rate, self._longest = rate, longest
        parts = list(net.parameters())
        self._weights = torch.cat([part.detach().flatten() for part in parts])
        self.state = torch.zeros(2, len(self._weights)), torch.zeros(1)
        owned = self._weights.split([part.numel() for part in parts])
        for part, own in zip(parts, owned, strict=True):
            part.data = own.view_as(part)

    def descend(self, slopes: Tensor) -> None:
        """Take a step down; (weights,) slopes are changed."""
        (means, squares), number = self.state
        slopes.mul_(torch.clamp(self._longest / (slopes.norm() + 1e-6), max=1.0))
        number += 1
        torch._fused_adam_(
            [self._weights],
            [slopes],
            [means],
            [squares],
            [],
            [number[0]],
            lr=self._rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-5,
            amsgrad=False,
            maximize=False,
        )

    def restore(self, state: tuple[Tensor, Tensor]) -> None:
        """Go on from a state."""
        for own, kept in zip(self.state, state, strict=True):
            own.copy_(kept)
