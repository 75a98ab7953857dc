"""Interquartile means and their intervals."""

import numpy as np
import pytest

from gv_engine.benchmark.page import interquartile_mean, middle_mean


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5], 0.5),
        ([0, 0.25, 0.75], 1 / 3),  # a quarter of three is none
        ([1, 0, 0.5, 0.25], 0.375),
        ([0, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1, 1], (0.1 + 0.2 + 0.3 + 0.4 + 0.5 + 0.6) / 6),
    ],
)
def test_a_quarter_is_left_out_at_both_ends(values, expected):
    assert middle_mean(np.array(values, float)) == pytest.approx(expected)
    assert interquartile_mean([values]).value == pytest.approx(expected)


def test_seeds_are_drawn_within_their_scenario():
    """Whichever seeds are drawn, each scenario keeps what all of its seeds have."""
    assert interquartile_mean([[0.0] * 10, [1.0] * 10]) == (0.5, 0.5, 0.5)
    together = interquartile_mean([[0.0] * 10 + [1.0] * 10])
    assert together.low < 0.3
    assert together.high > 0.7


def test_the_interval_has_as_often_the_mean_in_it_as_it_says():
    rng = np.random.default_rng(3)
    found = [interquartile_mean([rng.normal(size=20).tolist()]) for _ in range(200)]
    held = sum(mean.low < 0 < mean.high for mean in found)
    assert 0.85 < held / 200 < 0.99


def test_more_seeds_are_believed_more():
    rng = np.random.default_rng(0)
    widths = [
        mean.high - mean.low
        for number in (5, 20, 80)
        for mean in [interquartile_mean([rng.random(number).tolist()])]
    ]
    assert widths == sorted(widths, reverse=True)
    assert interquartile_mean([[0.2, 0.4, 0.9]]) == interquartile_mean([[0.2, 0.4, 0.9]])
