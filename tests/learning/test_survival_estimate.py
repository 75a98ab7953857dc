"""What episodes come to, of those that have ended and those that have not."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gv_engine.plugins.learning.survival_estimate import SurvivalEstimator

LONGEST, WINS_BY = 200, 20


class Backend:
    """Episodes that are won within some steps by a chance, or else lost at the limit."""

    def __init__(self, number: int, chance: float) -> None:
        self.chance, self._rng = chance, np.random.default_rng(3)
        self._ages, self._lengths = np.zeros(number, int), self._drawn(number)

    def _drawn(self, number: int) -> NDArray[np.int64]:
        won = self._rng.random(number) < self.chance
        return np.where(won, self._rng.integers(1, WINS_BY, number), LONGEST)

    def step(self) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.bool_]]:
        self._ages += 1
        over, won = self._ages == self._lengths, self._lengths < LONGEST
        totals = np.where(won, 1 - self._ages / LONGEST, 0)
        self._ages[over] = 0
        self._lengths = np.where(over, self._drawn(len(over)), self._lengths)
        return over, totals, won


@pytest.mark.sample("-64")
@pytest.mark.parametrize("number", [1, 64, 512, 2048])
@pytest.mark.parametrize("chance", [0.02, 0.5, 0.9])
def test_short_episodes_count_no_more_than_long_ones_in_worlds_that_begin_together(number, chance):
    table, worlds, told = SurvivalEstimator(number), Backend(number, chance), []
    for _ in range(LONGEST * (40 if number == 1 else 4)):
        table.add_step(*worlds.step())
        told.append(table.means)
    known = [means for means in told if not np.isnan(means.success_rate)]
    if number > 1:
        assert known == told[LONGEST - 1 :]  # until then nobody can have lost
        spread = 5 * np.sqrt(chance * (1 - chance) / min(number, 500))
        assert all(abs(means.success_rate - chance) < spread + 0.01 for means in known)
    assert 0 < known[-1].episode_length <= LONGEST
    assert 0 <= known[-1].episode_return < known[-1].success_rate + 0.001


def test_means_are_those_of_all_episodes_where_all_have_ended():
    table = SurvivalEstimator(1)
    lengths, totals, won = [3, 1, 5, 5], [1.0, -2.0, 4.5, 0.5], [True, False, True, False]
    for length, total, success in zip(lengths, totals, won, strict=True):
        for age in range(1, length + 1):
            over = np.array([age == length])
            table.add_step(over, np.array([total]), np.array([success]))
    assert table.means == pytest.approx((1.0, 3.5, 0.5), rel=0.01)


def test_what_was_long_ago_is_forgotten():
    table, worlds = SurvivalEstimator(64), Backend(64, 0.0)
    for chance in (0.0, 1.0):
        worlds.chance = chance
        for _ in range(LONGEST * 3):
            table.add_step(*worlds.step())
        assert table.means.success_rate == pytest.approx(chance, abs=0.005)


def test_it_goes_on_from_its_state():
    table, other, worlds = SurvivalEstimator(8), SurvivalEstimator(8), Backend(8, 0.5)
    assert np.isnan(table.means.success_rate)
    for _ in range(LONGEST):
        table.add_step(*worlds.step())
    other.restore(*table.state())
    for _ in range(LONGEST):
        step = worlds.step()
        table.add_step(*step)
        other.add_step(*step)
    assert table.means == other.means
    assert table.means.success_rate > 0
