"""What only compiled code uses, as the Python that it is: each line can be followed, none waits."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from components.core import HIDDEN
from gv_engine import AGENT, Simulation
from gv_engine.compiler import rng, sight
from gv_engine.rules.geometry import Area
from gv_engine.scenario.memory.layout import RNG
from gv_engine.world.columns import RowWorld
from gv_engine.world.rng import generator_to_row, sample_scenario_index
from systems import queries, visibility
from tests.boards import scenario

# ---- observations ------------------------------------------------------------------------------


class Row(RowWorld):
    """A row with what observations ask of it."""

    tables, layout = SimpleNamespace(turned=()), SimpleNamespace(agents=1)

    def inside(self, y, x):
        return 0 <= y < self.height and 0 <= x < self.width

    def blocks_vision(self, e):
        return queries.blocks_vision(self, e)

    def state_of(self, e):
        return self.appearance(e)[1]


def cut(w, view, turned, line, next_line, cell, next_cell):
    """What `cut_looks` does, cell by cell."""
    for name in ("clear_rows", "clear_from_right"):
        getattr(view, name, np.zeros(1)).fill(0)
    for i, j in np.ndindex(view.height, view.width):
        along, away = (i, j) if turned else (j, i)
        y, x = line + away * next_line, cell + along * next_cell
        kind, state, color, opaque = HIDDEN, 0, 0, True
        if 0 <= y < w.height and 0 <= x < w.width:
            kind, state, color = w.appearance(w.at[y, x])
            opaque = w.blocks_vision(w.at[y, x])
        view.looks[i, j] = kind | state << 8 | color << 16 | bool(opaque) << 31
        if hasattr(view, "opaque"):
            view.opaque[i, j] = bool(opaque)
        elif not opaque:
            view.clear_rows[i] |= 1 << j
            view.clear_from_right[i] |= 1 << view.width - 1 - j


def show(view, grid):
    """What `write_seen_looks` does, cell by cell."""
    for i, j in np.ndindex(grid.shape[:2]):
        if hasattr(view, "seen"):
            seen = view.seen[i, j]
        else:
            seen = view.seen_rows[i] >> j | view.seen_from_right[i] >> view.width - 1 - j
        look = int(view.looks[i, j]) if seen & 1 else HIDDEN
        grid[i, j] = [look >> shift & 255 for shift in (0, 8, 16)]


@pytest.fixture(autouse=True)
def no_vectors(monkeypatch):
    """Without the code that only LLVM knows."""
    monkeypatch.setattr(sight, "cut_looks", cut)
    monkeypatch.setattr(sight, "write_seen_looks", show)


def view_of(area, by_bits):
    """The record of a view with the methods that compiled code gives it."""
    kind = sight.make_view_type(area, by_bits, with_entities=not by_bits)
    (record,) = np.zeros(1, kind.dtype).view(np.recarray)
    for name in record.dtype.names:
        if record.dtype[name].shape:
            record[name].fill(7)  # whatever was looked at before
    view = SimpleNamespace(**{name: record[name] for name in record.dtype.names})
    for name, value in kind.attributes.items():
        setattr(view, name, partial(value, view) if callable(value) else value)
    return view


BOARD = """
    #K.D...#
    .dEB.T.K
    ob^T.d.D
"""
"""Wider than high, for a row too."""

AREAS = [
    [[-2, 0], [-1, 1]],
    [[-3, 0], [-2, 2]],
    [[-6, 0], [-3, 3]],
    [[-2, 0], [-3, 1]],
    [[-1, 0], [0, 2]],
    [[0, 0], [0, 0]],
]


@pytest.mark.sample("area0", "area2")
@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize(
    ("visible", "by_bits"),
    [("fully_transparent", False), ("partially_occluded", False), ("partially_occluded", True)],
)
def test_from_anywhere_it_is_the_view_of_the_object_world(visible, by_bits, area):
    played = scenario(BOARD, observation_function={"name": visible, "area": area})
    simulation = Simulation(played)
    simulation.reset(np.random.default_rng(0))
    world = simulation.world
    view = view_of(played.area, by_bits)
    shape = (*played.area.shape, 3)
    for y, x in np.ndindex(world.height, world.width):
        for facing in range(4):
            world.position.y[AGENT], world.position.x[AGENT] = y, x
            world.agent.facing[AGENT] = facing
            world.agent.holding[AGENT] = world.at[(y + 1) % world.height, x]
            row = Row(played.layout, world.snapshot())
            grid, item = np.full(shape, 9, np.uint8), np.full(3, 9, np.uint8)
            sight.cut_view(row, AGENT, view)
            played.visibility.system.function(row, AGENT, view)
            sight.write_seen(row, AGENT, view, grid, item)
            expected, held = np.zeros(shape, np.uint8), np.zeros(3, np.uint8)
            simulation.observe(expected, held)
            np.testing.assert_array_equal(grid, expected)
            np.testing.assert_array_equal(item, held)
            if not by_bits:
                np.testing.assert_array_equal(view.entity, simulation.view.entity)
                np.testing.assert_array_equal(view.opaque, simulation.view.opaque)


def test_a_look_begins_with_nothing_seen():
    played = scenario(BOARD)
    simulation = Simulation(played)
    simulation.reset(np.random.default_rng(0))
    view = view_of(played.area, by_bits=True)
    sight.cut_view(Row(played.layout, simulation.world.snapshot()), AGENT, view)
    assert not view.seen_rows.any()


# ---- rays --------------------------------------------------------------------------------------


def test_rays_begin_in_the_cell_of_the_agent_and_are_nobodys_to_change():
    rays = visibility.trace_rays(Area(0, 0, -1, 1))
    assert set(rays[:, 0].tolist()) == {1}
    assert not rays.flags.writeable
    assert visibility.trace_rays(Area(0, 0, 0, 0)).tolist() == [[0]] * 4
    # as wide as the longest
    table = visibility.trace_rays(Area(-1, 0, 0, 1))
    assert {*table.ravel().tolist()} == {-1, 0, 1, 2, 3}
    assert table[:, 0].tolist() == [2] * 9


def test_no_ray_comes_into_a_view_without_the_agent():
    for area in (Area(-4, -2, -1, 1), Area(2, 3, -1, 1), Area(0, 0, 1, 2)):
        assert set(visibility.trace_rays(area).ravel().tolist()) == {-1}
    # and a record has no columns of nothing
    assert visibility.trace_rays(Area(-3, -2, -1, 1)).tolist() == [[-1]] * 12


def test_views_may_be_as_wide_as_it_says():
    assert visibility.trace_rays(Area(0, 0, -48, 48)).max() == visibility.WIDEST - 1
    with pytest.raises(ValueError, match="up to 97 rows and columns"):
        visibility.trace_rays(Area(0, 0, -48, 49))


@pytest.mark.parametrize(
    "sight",
    [
        {"name": "raytracing"},
        {"name": "raytracing", "absolute_counts": False, "threshold": 0.5},
        {"name": "stochastic_raytracing"},
    ],
)
def test_from_beyond_the_view_light_reaches_nothing(sight):
    played = scenario(
        "...\n...\n...\n.^.", observation_function={**sight, "area": [[-3, -2], [-1, 1]]}
    )
    simulation = Simulation(played)
    simulation.reset(np.random.default_rng(0))
    assert not simulation.look().seen.any()


# ---- draws -------------------------------------------------------------------------------------


def record_of(generator):
    (record,) = np.zeros(1, RNG).view(np.recarray)
    generator_to_row(generator, record)
    return record


def shuffled(draw, n):
    values = np.arange(n)
    draw(values)
    return values


def assert_draws_alike(ours, numpys, seeds=8, times=5):
    """Draws from a row's generator are those of NumPy's, and so is what comes next."""
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        record = record_of(generator)
        with np.errstate(over="ignore"):  # as 64 bits have it
            for _ in range(times):
                np.testing.assert_array_equal(ours(record), numpys(generator))
                # what comes next finds half a word left over
                assert rng.integers(record, 0, 10) == generator.integers(10)
        assert record == record_of(generator)


def test_fractions_are_those_of_numpy():
    assert_draws_alike(rng.random, np.random.Generator.random)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        *((0, 1), (0, 2), (-3, 4), (2, 9), (0, 3 * 2**30), (0, 2**32 - 1), (0, 2**32)),
        *((5, 2**32 + 6), (0, 2**32 + 2**31), (-(2**61), 2**62), (0, 2**63 - 1), (1, 2**62 + 2)),
    ],
)
def test_integers_are_those_of_numpy(low, high):
    assert_draws_alike(lambda r: rng.integers(r, low, high), lambda g: g.integers(low, high))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 17, 40])
def test_orders_are_those_of_numpy(n):
    assert_draws_alike(
        lambda r: shuffled(partial(rng.shuffle, r), n), lambda g: shuffled(g.shuffle, n)
    )


@pytest.mark.parametrize(
    ("n", "size"),
    [
        *((1, 1), (2, 2), (9, 3), (20, 20), (300, 0), (300, 40)),
        *((10_000, 201), (10_001, 200), (10_001, 201), (10_001, 10_001), (10_050, 201)),
    ],
)
def test_choices_are_those_of_numpy(n, size):
    few = {"seeds": 1, "times": 1} if n >= 10_000 else {}
    assert_draws_alike(
        lambda r: rng.sample_without_replacement(r, n, size),
        lambda g: g.choice(n, size=size, replace=False),
        **few,
    )


@pytest.mark.parametrize("last", [1, 2, 5, 255, 256, 70_000, 2**20 + 1, 2**31])
def test_a_masked_draw_takes_the_first_that_fits(last):
    generator = np.random.default_rng(last)
    record = record_of(generator)
    mask = (1 << last.bit_length()) - 1
    for _ in range(50):
        expected = last + 1
        while expected > last:
            expected = int(generator.integers(2**32, dtype=np.uint32)) & mask
        with np.errstate(over="ignore"):
            assert rng._sample_up_to(record, last) == expected


def test_no_draw_is_made_from_nothing():
    record = record_of(np.random.default_rng(0))
    for low, high in ((0, 0), (3, 3), (3, 2)):
        with pytest.raises(ValueError, match="low >= high" if low else "high <= 0"):
            rng.integers(record, low, high)
    with pytest.raises(ValueError, match="larger sample than population"):
        rng.sample_without_replacement(record, 3, 4)


@pytest.mark.parametrize(
    ("drawn", "member"), [(0.0, 0), (0.24, 0), (0.25, 1), (0.74, 1), (0.75, 2), (0.99, 2)]
)
def test_a_member_is_drawn_by_its_share(drawn, member):
    members = [SimpleNamespace(share=share) for share in (0.25, 0.75, 1.0)]
    assert sample_scenario_index(SimpleNamespace(random=lambda: drawn), members) == member
