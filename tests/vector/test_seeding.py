"""Worlds that are seeded together draw as NumPy's generators of the same seeds do."""

import zlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gv_engine import GridEnv, GridVectorEnv
from gv_engine.envs.backends.seeding import (
    POLICY,
    derive_seeds,
    make_purpose_generators,
    make_rng,
    make_seeded_generators,
)
from gv_engine.scenario.memory.layout import RNG
from gv_engine.world.rng import generator_from_row, generator_to_row

MANY = 20
"""Seeds that are worked on together."""

words = st.integers(0, 2**32 - 1)
edges = st.sampled_from([2**k + d for k in (32, 63, 64, 96, 128, 160) for d in (-1, 0, 1)])


def expected(seed):
    record = np.zeros((), RNG)
    generator_to_row(np.random.default_rng(seed), record)
    return record


@given(st.lists(st.one_of(words, edges, st.integers(0, 2**200)), max_size=2 * MANY))
@example([0] * MANY)
@example(list(range(2**32 - MANY, 2**32 + MANY)))
@example(list(range(2**64 - MANY, 2**64)))
@example(list(range(2**64 - MANY, 2**64 + MANY)))
def test_any_seeds_are_numpys(seeds):
    found = make_seeded_generators(seeds)
    assert found.shape == (len(seeds),)
    for record, seed in zip(found, seeds, strict=True):
        assert record == expected(seed)


@given(st.one_of(words, edges), st.lists(st.one_of(words, edges), max_size=2 * MANY))
@example(2**32 - 1, list(range(MANY)))
@example(2**32, list(range(MANY)))
@example(2**64 - 1, list(range(2**32 - MANY, 2**32)))
@example(0, list(range(2**32 - MANY, 2**32 + MANY)))
def test_generators_of_a_purpose_are_numpys(seed, numbers):
    found = make_purpose_generators(seed, POLICY, numbers)
    assert found.shape == (len(numbers),)
    for record, number in zip(found, numbers, strict=True):
        key = zlib.crc32(b"policy"), number
        assert record == expected(np.random.SeedSequence(seed, spawn_key=key))


@given(st.one_of(words, edges.filter(lambda seed: seed < 2**65)))
@example(0)
def test_no_purpose_has_the_numbers_of_a_level_or_of_another_purpose(seed):
    """`default_rng(S)` and `default_rng([S, 0])` are equal."""
    levels = [np.random.default_rng(each) for each in (seed, [seed, 0], [seed, 1], seed + 1)]
    others = [make_rng(seed, POLICY, 0), make_rng(seed, POLICY, 1), make_rng(seed, "weights")]
    others += map(np.random.default_rng, derive_seeds(seed, "worlds", 2))
    increments = [rng.bit_generator.state["state"]["inc"] for rng in (*levels, *others)]
    assert len({*increments}) == len(increments) - 1
    assert increments[0] == increments[1]


def test_they_go_on_as_numpys():
    for seed, record in enumerate(make_seeded_generators(range(MANY))):
        draws, numpys = generator_from_row(record), np.random.default_rng(seed)
        np.testing.assert_array_equal(draws.random(5), numpys.random(5))


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
@pytest.mark.parametrize("seed", [7, 2**64 - 3, list(range(50, 50 + MANY))])
def test_worlds_of_a_vector_environment_are_seeded_together(world, seed):
    envs = GridVectorEnv("empty-4x4", MANY, world=world)
    envs.reset(seed=seed)
    seeds = seed if isinstance(seed, list) else range(seed, seed + MANY)
    single = GridEnv("empty-4x4", world="object")
    for row, own in zip(envs.snapshot(), seeds, strict=True):
        single.reset(seed=own)
        assert row == single.snapshot()


def test_a_mask_and_missing_seeds_leave_other_generators_alone():
    envs = GridVectorEnv("empty-4x4", MANY, world="object")
    envs.reset(seed=0)
    chosen = np.arange(MANY) % 2 == 0
    seeds = [100 + i if i % 3 else None for i in range(MANY)]
    envs.reset(seed=seeds, options={"reset_mask": chosen})
    for i, row in enumerate(envs.snapshot()):
        stream = expected(100 + i if chosen[i] and i % 3 else i)
        assert row["rng"]["inc_low"] == stream["inc_low"]


def test_worlds_without_seeds_differ():
    envs = GridVectorEnv("empty-4x4", MANY, world="object")
    envs.reset()
    assert len(np.unique(envs.snapshot()["rng"])) == MANY
