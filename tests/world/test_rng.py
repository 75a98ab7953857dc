"""Compiled draws are NumPy's own, bit for bit, and leave the same state behind."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.extending import register_jitable

from gv_engine.compiler import (
    method_registry,  # noqa: F401  # registers the methods of `w.rng`
    rng,
)
from gv_engine.compiler.intrinsics import make_batch_cast
from gv_engine.compiler.parameters import make_address_record
from gv_engine.scenario.layout import RNG
from gv_engine.world.rng import generator_from_row, generator_to_row

pytestmark = pytest.mark.compiled

# a scenario's program marks what it reaches
for kernel in vars(rng).values():
    if isinstance(kernel, FunctionType):
        register_jitable(kernel)


def compiled(draw):
    """A function of a generator and numbers, compiled for a generator's row."""
    inner, batch = register_jitable(draw), make_batch_cast({"rows": RNG})

    @numba.njit
    def run(address, *arguments):
        return inner(batch(address).rows[0], *arguments)

    def draw_from(row, *arguments):
        places = make_address_record({"rows": np.atleast_1d(row)})
        return run(places.ctypes.data, *arguments)

    return draw_from


def shuffled(r, n):
    values = np.arange(n)
    r.shuffle(values)
    return values


small = st.integers(1, 40)
edges = [2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**62 + 1]
ranges = st.one_of(small, st.integers(1, 2**32), st.integers(1, 2**62), st.sampled_from(edges))
bounds = st.tuples(st.integers(-(2**61), 2**61), ranges).map(lambda pair: (pair[0], sum(pair)))
part = st.tuples(st.integers(0, 30), st.integers(1, 300)).map(lambda p: (max(p), p[0]))
DRAWS: dict[str, Any] = {
    "integers(n)": (lambda r, n: r.integers(n), st.tuples(ranges)),
    "integers(a, b)": (lambda r, a, b: r.integers(a, b), bounds),
    "choice(n)": (lambda r, n: r.choice(n), st.tuples(ranges)),
    "choice(n, k)": (lambda r, n, k: r.choice(n, size=k), st.tuples(small, st.integers(0, 30))),
    "choice without replacement": (lambda r, n, k: r.choice(n, size=k, replace=False), part),
    "shuffle": (shuffled, st.tuples(st.integers(0, 80))),
    "random()": (lambda r: r.random(), st.just(())),
    "random(shape)": (lambda r, h, w: r.random((h, w)), st.tuples(small, small)),
    "random(n)": (lambda r, n: r.random(n), st.tuples(st.integers(0, 40))),
}
"""Functions of a generator, NumPy's or of a row, and strategies of their other arguments."""
OURS = {name: compiled(draw) for name, (draw, _) in DRAWS.items()}
draws = st.sampled_from(sorted(DRAWS)).flatmap(
    lambda name: st.tuples(st.just(name), DRAWS[name][1])
)


def record_of(generator):
    record = np.zeros(1, RNG)
    generator_to_row(generator, record[0])
    return record


def assert_same_draws(seed, calls):
    generator = np.random.default_rng(seed)
    record = record_of(generator)
    for name, arguments in calls:
        found = OURS[name](record, *arguments)
        expected = DRAWS[name][0](generator, *arguments)
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} {arguments}")
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        assert record == record_of(generator), f"state after {name} {arguments}"


@pytest.mark.thorough
@given(st.integers(0, 2**64), st.lists(draws, min_size=1, max_size=60))
def test_any_sequence_of_draws(seed, calls):
    assert_same_draws(seed, calls)


@pytest.mark.parametrize(
    ("n", "size"),
    [(10_000, 300), (10_001, 200), (10_001, 201), (10_001, 10_001), (20_000, 400), (20_000, 401)],
)
def test_large_populations(n, size):
    calls = [("choice without replacement", (n, size)), ("random()", ())]
    assert_same_draws(n + size, calls)
    assert_same_draws(n + size, [("integers(n)", (3,)), *calls])


def test_a_range_of_one_draws_nothing():
    record = record_of(np.random.default_rng(7))
    before = record.copy()
    assert OURS["integers(n)"](record, 1) == OURS["choice(n)"](record, 1) == 0
    assert OURS["integers(a, b)"](record, 5, 6) == 5
    assert OURS["choice without replacement"](record, 1, 1).tolist() == [0]
    assert record == before


# ---- rows and generators -----------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 2**64), st.integers(0, 5))
def test_a_row_holds_a_generator_for_another_day(seed, draws_before):
    generator = np.random.default_rng(seed)
    for _ in range(draws_before):
        generator.integers(10)
    again = generator_from_row(record_of(generator)[0])
    assert again.bit_generator is not generator.bit_generator
    for _ in range(5):
        assert again.integers(1000) == generator.integers(1000)
        assert again.random() == generator.random()
    assert record_of(again) == record_of(generator)


@pytest.mark.parametrize("asked", [(1,), (7,), (2**40,), (7, 3), (7, 3, False), ([4, 5, 6],)])
def test_the_choices_of_a_row_are_numpys(asked):
    generator = np.random.default_rng(5)
    again = generator_from_row(record_of(generator)[0])
    for _ in range(20):
        found, expected = again.choice(*asked), generator.choice(*asked)
        assert type(found) is type(expected)
        assert np.array_equal(found, expected)
    assert record_of(again) == record_of(generator)
    for each in (generator, again):
        with pytest.raises(ValueError, match="a must be"):
            each.choice(0)


def test_an_unused_half_means_nothing():
    generator = np.random.default_rng(3)
    generator.integers(10)  # buffers the other half
    generator.integers(10)  # uses it
    assert generator.bit_generator.state["uinteger"] != 0
    assert record_of(generator)["half"] == 0
    assert record_of(generator_from_row(record_of(generator)[0])) == record_of(generator)


def test_only_pcg64_has_a_row():
    said = "worlds need a generator over PCG64, this one is over MT19937"
    with pytest.raises(TypeError, match=said):
        record_of(np.random.Generator(np.random.MT19937(0)))


def test_a_population_must_be_a_number_in_compiled_rules():
    from_array = compiled(lambda r: r.choice(np.arange(3)))
    with pytest.raises(numba.TypingError, match=r"w\.rng\.choice\(n\) with an integer n"):
        from_array(record_of(np.random.default_rng(0)))
