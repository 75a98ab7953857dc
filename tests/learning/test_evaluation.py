"""Means over training seeds; no torch is needed."""

import pytest

from gv_engine.plugins.learning.evaluation import summarise_seeds


def test_the_interquartile_mean_leaves_out_a_quarter_on_both_sides():
    mean, iqm = summarise_seeds([1.0, 0.0, 0.9, 0.8, 0.7, 0.0, 1.0, 0.6, 0.5, 0.4])
    assert mean.mean == pytest.approx(0.59)
    assert iqm.mean == pytest.approx((0.4 + 0.5 + 0.6 + 0.7 + 0.8 + 0.9) / 6)
    assert mean.low < 0.59 < mean.high
    assert iqm.low < 0.65 < iqm.high


def test_intervals_over_two_seeds_are_those_of_all_resamples():
    """Means of 0 and 1 are 0, 1/2, 1/2 and 1, so both ends are among the 2.5 % on each side."""
    mean, iqm = summarise_seeds([0.0, 1.0])
    assert mean == iqm == (0.5, 0.0, 1.0)


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution_for_many_seeds():
    values = [k / 399 for k in range(400)]
    mean, _ = summarise_seeds(values)
    half = 1.96 * (1 / 12) ** 0.5 / 20  # the deviation of a uniform number, over sqrt(400)
    assert mean.low == pytest.approx(0.5 - half, abs=0.003)
    assert mean.high == pytest.approx(0.5 + half, abs=0.003)


def test_one_seed_has_no_width():
    assert summarise_seeds([0.3]).iqm == (0.3, 0.3, 0.3)
