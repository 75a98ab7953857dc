"""Means of few runs, and how far to believe them, as Agarwal et al. (2021) advise: interquartile
means, and intervals by a bootstrap that draws the seeds of each scenario by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_DRAWS = 2000
_INTERVAL = (2.5, 97.5)
"""Percent, between which 95 % lie."""


class Mean(NamedTuple):
    """A mean, and the interval of 95 % around it."""

    value: float
    low: float
    high: float


def middle(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(…) means of (…, n) without their lowest and highest quarters, rounded down."""
    cut = values.shape[-1] // 4
    ordered = np.sort(values, axis=-1)
    mean: NDArray[np.float64] = ordered[..., cut : values.shape[-1] - cut].mean(-1)
    return mean


def interquartile_mean(scores: Sequence[Sequence[float]]) -> Mean:
    """The interquartile mean over all seeds of all scenarios.

    Args:
        scores: of the seeds of each scenario.
    """
    groups = [np.array(each, float) for each in scores]
    rng = np.random.default_rng(0)
    drawn = [each[rng.integers(len(each), size=(_DRAWS, len(each)))] for each in groups]
    low, high = np.percentile(middle(np.concatenate(drawn, axis=1)), _INTERVAL).tolist()
    return Mean(float(middle(np.concatenate(groups))), low, high)
