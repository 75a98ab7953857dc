"""Representations and their spaces; the recordings of `test_conformance` decide the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from components.core import FLOOR, HIDDEN, NONE_GRID_OBJECT
from components.objects import BOX, DOOR, KEY, WALL
from gv_engine import GridVectorEnv
from gv_engine.envs.representations import REPRESENTATIONS, Representation
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes

SPACE = {"objects": [FLOOR, WALL, DOOR, KEY], "colors": [4], "shape": (3, 5)}
LEVEL = "keydoor-5x5"
ALL = (*REPRESENTATIONS, "cells")


def of(name, *, is_state=False, **changes):
    return Representation(name, **{**SPACE, **changes}, is_state=is_state)


def cells(*wanted):
    return np.array(wanted, np.uint8)


@pytest.mark.parametrize(
    ("name", "is_state", "low", "high"),
    [
        ("default", False, [0, 0, 0], [6, 2, 4]),
        ("default", True, [0, 0, 0], [6, 2, 4]),
        ("no-overlap", False, [0, 7, 11], [6, 9, 15]),
        ("no-overlap", True, [0, 7, 11], [6, 9, 15]),
        # six types and eight states; without Hidden, one less of each
        ("compact", False, [0, 6, 14], [5, 13, 15]),
        ("compact", True, [0, 5, 12], [4, 11, 13]),
    ],
)
def test_bounds_are_exact(name, is_state, low, high):
    space = of(name, is_state=is_state).space
    for box in (space["grid"], space["item"]):
        assert box.dtype == np.uint8
        assert (box.low == low).all()
        assert (box.high == high).all()
    assert space["grid"].shape == (3, 5, 3)
    assert space["agent_id_grid"].shape == (3, 5)
    assert ("agent" in space.spaces) == is_state


def test_compact_counts_types_then_states_then_colours():
    seen = cells((NONE_GRID_OBJECT, 0, 0), (HIDDEN, 0, 0), (FLOOR, 0, 0), (WALL, 0, 0))
    doors, key = cells(*((DOOR, state, 4) for state in range(3))), cells((KEY, 0, 4))
    found = of("compact").codes(np.concatenate([seen, doors, key]))
    assert found[:, 0].tolist() == [0, 1, 2, 3, 4, 4, 4, 5]
    assert found[:, 1].tolist() == [6, 7, 8, 9, 10, 11, 12, 13]
    assert found[:, 2].tolist() == [14] * 4 + [15] * 4


@pytest.mark.parametrize("is_state", [False, True])
def test_cells_count_types_in_their_states_and_colours(is_state):
    found = of("cells", is_state=is_state)
    kinds = {NONE_GRID_OBJECT: 1, HIDDEN: 1, FLOOR: 1, WALL: 1, DOOR: 3, KEY: 1}
    if is_state:
        del kinds[HIDDEN]
    every = [(t, s, c) for t, states in kinds.items() for s in range(states) for c in (0, 4)]
    assert found.codes(cells(*every))[:, 0].tolist() == list(range(found.size))
    for box, shape in ((found.space["grid"], (3, 5, 1)), (found.space["item"], (1,))):
        assert box.shape == shape
        assert box.dtype == np.uint8
        assert (box.low.min(), box.high.max()) == (0, found.size - 1)


def test_many_cells_are_words():
    found = of("cells", objects=range(2, 11), colors=range(256))
    assert found.dtype == np.uint16
    assert found.codes(cells((10, 0, 255))).tolist() == [[found.size - 1]]


class CompiledWorlds:
    """Those whose arrays compiled code makes."""

    uses_compiled_code = True


@pytest.mark.compiled
@settings(max_examples=60)
@given(
    kinds=st.sets(st.integers(2, 10), min_size=1),
    colors=st.sets(st.integers(0, 12)),
    count=st.integers(0, 200),
    seed=st.integers(0, 999),
)
def test_compiled_code_finds_the_same_numbers(kinds, colors, count, seed):
    """Many at once, and what is left over; and whatever is not listed, wherever it is."""
    plain, compiled = (of("cells", objects=kinds, colors=colors) for _ in range(2))
    compiled.bind_backend(CompiledWorlds())
    pilot = np.random.default_rng(seed)
    shown = plain.listed[pilot.integers(len(plain.listed), size=count)]
    np.testing.assert_array_equal(plain.codes(shown), compiled.codes(shown))
    np.testing.assert_array_equal(plain.listed[compiled.codes(shown)[:, 0]], shown)
    for wrong in (pilot.integers(0, 256), pilot.integers(0, 12)):
        for channel, known in ((0, plain.listed[:, 0]), (2, plain.listed[:, 2])):
            if count and wrong not in known:
                other = shown.copy()
                other[pilot.integers(count), channel] = wrong
                with pytest.raises(ValueError, match=f"{wrong} is not in the space"):
                    compiled.codes(other)


def test_a_larger_dtype_where_numbers_need_it():
    door = replace(OBJECT_TYPES[DOOR], states=tuple(map(str, range(130))))
    kinds = ObjectTypes(replace(door, name=f"Door{k}", index=k) for k in range(128))
    found = Representation(
        "no-overlap", range(2, 128), range(5), (3, 3), is_state=False, types=kinds
    )
    assert found.dtype == np.uint16
    assert found.codes(cells((127, 2, 4))).tolist() == [[127, 128 + 2, 128 + 130 + 4 + 1]]


@pytest.mark.parametrize("name", ALL[1:])
@pytest.mark.parametrize(
    ("unlisted", "message"),
    [((4, 0, 0), "type 4 is not in the space"), ((FLOOR, 0, 2), "colour 2 is not in the space")],
)
def test_what_the_space_does_not_list_is_refused(name, unlisted, message):
    with pytest.raises(ValueError, match=message):
        of(name).codes(cells((FLOOR, 0, 0), unlisted))


def test_a_state_with_box_cannot_be_represented():
    for name in ALL:
        with pytest.raises(ValueError, match="state with Box cannot be represented"):
            of(name, is_state=True, objects=[FLOOR, BOX])
        of(name, objects=[FLOOR, BOX])


# ---- states ------------------------------------------------------------------------------------


class Shown:
    """A state, as the object-level API gives it out."""

    def __init__(self, agent, shape=(3, 5)):
        self.agent, self.shape = agent, shape

    def to_arrays(self):
        grid = np.broadcast_to(cells(FLOOR, 0, 0), (*self.shape, 3))
        return {"grid": grid, "agent": np.array(self.agent), "item": cells(0, 0, 0)}


@pytest.mark.parametrize("name", ALL)
def test_states_know_where_the_agent_is(name):
    found = of(name, is_state=True)
    arrays = found.convert(Shown((2, 1, 3)))
    assert arrays in found.space
    assert np.argwhere(arrays["agent_id_grid"]).tolist() == [[2, 1]]
    assert arrays["agent"].tolist() == [1.0, -0.5, 0, 0, 0, 1]


def test_on_a_single_row_every_place_is_in_the_middle():
    found = of("default", is_state=True, shape=(1, 3))
    arrays = found.convert(Shown((0, 2, 0), (1, 3)))
    assert arrays in found.space
    assert arrays["agent"].tolist() == [0.0, 1.0, 1, 0, 0, 0]


def test_many_at_once():
    found = of("compact", is_state=True)
    agents = np.array([[0, 0, 0], [2, 4, 1]])
    grid = np.broadcast_to(cells(FLOOR, 0, 0), (2, 3, 5, 3))
    arrays = found.encode(grid, np.zeros((2, 3), np.uint8), agents)
    for i, agent in enumerate(agents):
        for key, array in found.convert(Shown(agent)).items():
            np.testing.assert_array_equal(arrays[key][i], array)


# ---- environments ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_environments_show_the_codes_of_what_the_default_shows(name):
    options: Any = {"world": "object", "max_steps": 7, "autoreset_mode": AutoresetMode.SAME_STEP}
    plain = GridVectorEnv(LEVEL, 3, **options)
    envs = GridVectorEnv(LEVEL, 3, observation_representation=name, **options)
    own = Representation.of_observation(envs.scenario, name)
    assert envs.single_observation_space == own.gymnasium_space
    expected, found = plain.reset(seed=1)[0], envs.reset(seed=1)[0]
    for action in (0, 4, 7, 0, 5, 7, 0):
        for key in ("grid", "item"):
            np.testing.assert_array_equal(found[key], own.codes(expected[key]))
        expected, *_, info = plain.step(np.full(3, action))
        found, *_, told = envs.step(np.full(3, action))
    for one, other in zip(info["final_obs"], told["final_obs"], strict=True):
        np.testing.assert_array_equal(own.codes(one["grid"]), other["grid"])
