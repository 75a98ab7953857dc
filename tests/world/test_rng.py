"""Compiled draws are NumPy's own, bit for bit, and leave the same state behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gv_engine import DoesNotCompileError
from gv_engine.compiler import compiled_function
from gv_engine.compiler.compiled_function import compile_function
from gv_engine.compiler.rows import GENERATOR
from gv_engine.scenario.memory.layout import RNG
from gv_engine.world.rng import generator_from_row, generator_to_row

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True, scope="module")
def _records_are_generators() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_function, "RecordType", lambda dtype: GENERATOR)
        patch.setattr(compiled_function, "ARENA_BYTES", 1 << 20)
        yield


def draw_integer(rs: Any, out: Any, n: int) -> int:
    return int(rs[0].integers(n))


def draw_between(rs: Any, out: Any, low: int, high: int) -> int:
    return int(rs[0].integers(low, high))


def choose(rs: Any, out: Any, n: int) -> int:
    return int(rs[0].choice(n))


def choose_several(rs: Any, out: Any, n: int, k: int) -> None:
    out[:k] = rs[0].choice(n, size=k)


def choose_different(rs: Any, out: Any, n: int, k: int) -> None:
    out[:k] = rs[0].choice(n, size=k, replace=False)


def shuffle(rs: Any, out: Any, n: int) -> None:
    values = np.arange(n)
    rs[0].shuffle(values)
    out[:n] = values


def draw_fraction(rs: Any, out: Any) -> float:
    return float(rs[0].random())


def draw_grid(rs: Any, out: Any, height: int, width: int) -> None:
    found = rs[0].random((height, width))
    for y in range(height):
        out[y * width : (y + 1) * width] = found[y]


def draw_fractions(rs: Any, out: Any, n: int) -> None:
    out[:n] = rs[0].random(n)


small = st.integers(1, 40)
edges = [2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**62 + 1]
ranges = st.one_of(small, st.integers(1, 2**32), st.integers(1, 2**62), st.sampled_from(edges))
bounds = st.tuples(st.integers(-(2**61), 2**61), ranges).map(lambda pair: (pair[0], sum(pair)))
part = st.tuples(st.integers(0, 30), st.integers(1, 300)).map(lambda p: (max(p), p[0]))
DRAWS: dict[Any, Any] = {
    draw_integer: st.tuples(ranges),
    draw_between: bounds,
    choose: st.tuples(ranges),
    choose_several: st.tuples(small, st.integers(0, 30)),
    choose_different: part,
    shuffle: st.tuples(st.integers(0, 80)),
    draw_fraction: st.just(()),
    draw_grid: st.tuples(small, small),
    draw_fractions: st.tuples(st.integers(0, 40)),
}
"""Functions of [generator], NumPy's or of a row, of an array that they fill, and of numbers; and
strategies of the numbers."""
COMPILED = {draw: compile_function(draw) for draw in DRAWS}
draws = st.sampled_from([*DRAWS]).flatmap(lambda draw: st.tuples(st.just(draw), DRAWS[draw]))


def record_of(generator):
    record = np.zeros(1, RNG)
    generator_to_row(generator, record[0])
    return record


def assert_same_draws(seed, calls):
    generator = np.random.default_rng(seed)
    record = record_of(generator)
    ours, theirs = np.zeros((2, 20_000))
    for draw, numbers in calls:
        found = COMPILED[draw](record, ours, *numbers)
        expected = draw([generator], theirs, *numbers)
        assert found == expected, f"{draw.__name__} {numbers}"
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{draw.__name__} {numbers}")
        assert record == record_of(generator), f"state after {draw.__name__} {numbers}"


@pytest.mark.thorough
@given(st.integers(0, 2**64), st.lists(draws, min_size=1, max_size=60))
def test_any_sequence_of_draws(seed, calls):
    assert_same_draws(seed, calls)


@pytest.mark.parametrize(
    ("n", "size"),
    [(10_000, 300), (10_001, 200), (10_001, 201), (10_001, 10_001), (20_000, 400), (20_000, 401)],
)
def test_large_populations(n, size):
    calls = [(choose_different, (n, size)), (draw_fraction, ())]
    assert_same_draws(n + size, calls)
    assert_same_draws(n + size, [(draw_integer, (3,)), *calls])


def test_a_range_of_one_draws_nothing():
    record, out = record_of(np.random.default_rng(7)), np.ones(1)
    before = record.copy()
    assert COMPILED[draw_integer](record, out, 1) == COMPILED[choose](record, out, 1) == 0
    assert COMPILED[draw_between](record, out, 5, 6) == 5
    COMPILED[choose_different](record, out, 1, 1)
    assert out.tolist() == [0]
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
    def choose_of_array(rs: Any) -> Any:
        return rs[0].choice(np.arange(3))

    with pytest.raises(DoesNotCompileError, match="choice"):
        compile_function(choose_of_array)(record_of(np.random.default_rng(0)))
