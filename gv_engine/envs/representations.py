"""Representations: arrays that encode an observation or a state (GridVerse specification, section
9).

>>> from gv_engine import Scenario
>>> compact = Representation.of_observation(Scenario.load("keydoor-5x5"), "compact")
>>> compact.space["item"].low.tolist(), compact.space["item"].high.tolist()
([0, 7, 16], [6, 15, 17])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from components.core import HIDDEN, NONE, NONE_GRID_OBJECT
from components.objects import BOX
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import FORWARD, ORIENTATIONS
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes

if TYPE_CHECKING:
    from gv_engine.envs.backends.backend import Backend
    from gv_engine.scenario.scenario import Scenario


Arrays = dict[str, NDArray[Any]]


class HasArrays(Protocol):
    """State or observation of the object-level API."""

    def to_arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return `grid` (H, W, 3), `agent` (3,) y, x, orientation, and `item` (3,)."""
        ...


class _Codes(NamedTuple):
    """Code numbers that one representation uses for types, states and colours, whose indices they
    replace."""

    types: dict[int, int]
    first_states: dict[int, int]  # by type; its other states follow
    colors: dict[int, int]
    stride: int = 0  # between states, if type, state and colour share one number

    def list_possible(self, num_states: dict[int, int]) -> list[list[int]]:
        """Return for each channel of a cell all code numbers that can occur there. `num_states` has
        the number of states of each type."""
        if self.stride:
            return [list(range(self.stride * sum(num_states.values())))]
        states = [
            first + k
            for object_type, first in self.first_states.items()
            for k in range(num_states[object_type])
        ]
        return [list(self.types.values()), states, list(self.colors.values())]


def _make_default_codes(num_states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    return _Codes({t: t for t in num_states}, dict.fromkeys(num_states, 0), {c: c for c in colors})


def _make_no_overlap_codes(num_states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    """Return code numbers that do not overlap: first the types, then the states from above the
    largest type, then `colors` from above the largest state. `num_states` has the number of states
    of each type."""
    first_state = max(num_states) + 1
    first_color = first_state + max(num_states.values()) + 1
    return _Codes(
        types={t: t for t in num_states},
        first_states=dict.fromkeys(num_states, first_state),
        colors={c: first_color + c for c in colors},
    )


def _make_compact_codes(num_states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    """Return code numbers without gaps: 0, 1, 2 … for the types, then for the states of each type,
    then for `colors`. `num_states` has the number of states of each type."""
    *first_states, first_color = accumulate(num_states.values(), initial=len(num_states))
    return _Codes(
        types={t: i for i, t in enumerate(num_states)},
        first_states=dict(zip(num_states, first_states, strict=True)),
        colors={c: i for i, c in enumerate(colors, first_color)},
    )


def _make_cell_codes(num_states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    """Return code numbers with a single channel: one number for each combination of type, state and
    one of `colors`. `num_states` has the number of states of each type."""
    stride = len(colors)
    *first_codes, _ = accumulate((stride * n for n in num_states.values()), initial=0)
    return _Codes(
        types=dict(zip(num_states, first_codes, strict=True)),
        first_states=dict.fromkeys(num_states, 0),
        colors={c: i for i, c in enumerate(colors)},
        stride=stride,
    )


_CODE_MAKERS: dict[str, Callable[[dict[int, int], tuple[int, ...]], _Codes]] = {
    "default": _make_default_codes,
    "no-overlap": _make_no_overlap_codes,
    "compact": _make_compact_codes,
    "cells": _make_cell_codes,
}
REPRESENTATIONS = "default", "no-overlap", "compact"
"""Representations of the specification, with three numbers for type, state and colour."""


class Representation:
    """Encoder of arrays with (type, state, colour) into one representation, such as "compact", and
    its space.

    Attributes:
        name: one of `REPRESENTATIONS`, or "cells".
        channels: numbers per cell: 3, or 1 for "cells".
        size: number of different codes.
        listed: (n, 3) uint8 all possible types, states and colours; for "cells", code k stands for
            row k.
        space: Dict of `grid` (H, W, channels), `agent_id_grid` (H, W), which is 1 at the agent, and
            `item` (channels,), all unsigned integers; for states also `agent` (6,) float64: y and x
            from -1 to 1, and the orientation one-hot.

    Args:
        name: name of the representation.
        objects, colors: indices of the types and colours that may occur; NoneGridObject, NONE and,
            for observations, Hidden are always included.
        shape: (height, width) of the grid.
        is_state: represent a state instead of an observation.
        types: object types of the scenario.

    Raises:
        ValueError: the name is unknown, or a state has Box, whose content no array would show.
    """

    def __init__(
        self,
        name: str,
        objects: Iterable[int],
        colors: Iterable[int],
        shape: tuple[int, int],
        *,
        is_state: bool,
        types: ObjectTypes = OBJECT_TYPES,
    ) -> None:
        """Compute the code numbers of the types `objects` and of `colors`, and the space for grids
        of this `shape`. If `is_state`, observations are whole grids with the agent."""
        if name not in _CODE_MAKERS:
            allowed = describe_allowed(name, tuple(_CODE_MAKERS))
            raise ValueError(f"no representation {name!r}{allowed}")
        object_types = sorted({NONE_GRID_OBJECT, *objects} | (set() if is_state else {HIDDEN}))
        if is_state and BOX in object_types:
            raise ValueError(
                "a state with Box cannot be represented, arrays do not show what is in a box; "
                "leave Box out of the state space's objects, or represent observations only"
            )
        self.name = name
        self.is_state = is_state
        num_states = {object_type: types[object_type].num_states for object_type in object_types}
        color_indices = tuple(sorted({NONE, *colors}))
        codes = _CODE_MAKERS[name](num_states, color_indices)
        possible = codes.list_possible(num_states)
        low, high = [min(numbers) for numbers in possible], [max(numbers) for numbers in possible]
        self.dtype = np.min_scalar_type(max(high))
        self.channels, self.size = len(possible), max(high) + 1
        self._stride = codes.stride
        self._unlisted = max(high) + 1  # code of the types and colours that are not in the space
        self._types = self._make_table(codes.types)
        self._first_states = self._make_table(codes.first_states)
        self._colors = self._make_table(codes.colors)
        self.space = self._make_space(shape, low, high)
        self.listed = np.array(
            [(t, s, c) for t in num_states for s in range(num_states[t]) for c in color_indices],
            np.uint8,
        )
        self._backend: Backend | None = None
        self._byte_table: NDArray[Any] | None = None  # lookup table of compiled code

    @classmethod
    def of_observation(cls, scenario: Scenario, name: str = "default") -> Representation:
        """Return the representation called `name` for observations in the scenario."""
        objects, colors = scenario.observation_objects, scenario.observation_colors
        shape, types = scenario.area.shape, scenario.types
        return cls(name, objects, colors, shape, is_state=False, types=types)

    @classmethod
    def of_state(
        cls, scenario: Scenario, shape: tuple[int, int], name: str = "default"
    ) -> Representation:
        """Return the representation called `name` for whole levels of the scenario with this
        (height, width)."""
        objects, colors, types = scenario.objects, scenario.colors, scenario.types
        return cls(name, objects, colors, shape, is_state=True, types=types)

    def _make_table(self, codes: dict[int, int]) -> NDArray[Any]:
        table = np.full(256, self._unlisted, np.min_scalar_type(self._unlisted))
        table[list(codes)] = list(codes.values())
        return table

    def _make_space(self, shape: tuple[int, int], low: list[int], high: list[int]) -> spaces.Dict:
        """Return the Gymnasium space for grids of this `shape`, in which the code numbers of
        channel k go from `low[k]` to `high[k]`."""

        def box(shape: tuple[int, ...], low: Any, high: Any, dtype: Any) -> spaces.Box:
            low, high = (np.broadcast_to(bound, shape).astype(dtype) for bound in (low, high))
            return spaces.Box(low, high, dtype=dtype)

        boxes: dict[str, spaces.Space[Any]] = {
            "grid": box((*shape, self.channels), low, high, self.dtype),
            "agent_id_grid": box(shape, 0, 1, np.uint8),
            "item": box((self.channels,), low, high, self.dtype),
        }
        if self.is_state:
            one_hot = [0] * len(ORIENTATIONS)
            boxes["agent"] = box((6,), [-1, -1, *one_hot], 1, np.float64)
        return spaces.Dict(boxes)

    @property
    def gymnasium_space(self) -> spaces.Dict:
        """The space as Gymnasium accepts it: bounds that are equal are changed so that `high` is
        `low` + 1."""
        return spaces.Dict(
            {
                name: spaces.Box(box.low, np.maximum(box.high, box.low + 1), dtype=box.dtype.type)
                for name, box in self.space.items()
                if isinstance(box, spaces.Box)
            }
        )

    def bind_backend(self, backend: Backend) -> None:
        """Use compiled code to fill the arrays if the worlds of this backend are compiled."""
        self._backend = backend

    @property
    def is_compiled(self) -> bool:
        """True if compiled code fills the arrays."""
        return self._backend is not None and self._backend.uses_compiled_code

    def codes(self, cells: NDArray[np.uint8], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the code numbers of `cells`, an array of (type, state, colour). They are written
        into `out` if it is given.

        Args:
            cells: (…, 3) uint8 type, state and colour indices.
            out: (…, channels) array of `dtype` to fill.

        Returns:
            (…, channels) of `dtype`: `out` or a new array; for `default`, `cells` itself.

        Raises:
            ValueError: the space has no such type or colour; `default` does not check this.
        """
        if self.name == "default":
            return cells
        if out is None:
            out = np.empty((*cells.shape[:-1], self.channels), self.dtype)
        if self.is_compiled:
            flat_cells, flat_codes = cells.reshape(-1, 3), out.reshape(-1, self.channels)
            if not self._encode_compiled(flat_cells, flat_codes):
                return out
            # the code below finds the unlisted type or colour and raises the error
        types = self._look_up(self._types, cells[..., 0], "type")
        colors = self._look_up(self._colors, cells[..., 2], "colour")
        if self._stride:
            out[..., 0] = types + self._stride * cells[..., 1].astype(np.int64) + colors
            return out
        out[..., 0], out[..., 2] = types, colors
        out[..., 1] = self._first_states[cells[..., 0]] + cells[..., 1]
        return out

    def _encode_compiled(self, cells: NDArray[np.uint8], out: NDArray[Any]) -> bool:
        """Write the code numbers of `cells` (M, 3) into `out` (M, channels), by compiled code.
        Return True if a type or colour is not in the space."""
        from gv_engine.compiler import cell_codes
        from gv_engine.compiler.compiled_function import compile_function

        has_unlisted = False
        if self._stride and out.dtype == np.uint8:
            if self._byte_table is None:
                make_steps, unlisted = cell_codes.make_code_steps, self._unlisted
                type_steps = make_steps(False, self._types, self._stride, unlisted)
                color_steps = make_steps(True, self._colors, 1, unlisted)
                self._byte_table = np.concatenate([type_steps, color_steps])
            has_unlisted = compile_function(cell_codes.encode_cells)(
                cells, self._byte_table, self._stride, out[:, 0]
            )
            num_encoded = len(cells) // cell_codes.CHUNK * cell_codes.CHUNK
            cells, out = cells[num_encoded:], out[num_encoded:]
        tables = self._types, self._first_states, self._colors, self._unlisted, self._stride
        return compile_function(look_up_codes)(cells, *tables, out) or has_unlisted

    def _look_up(self, table: NDArray[Any], indices: NDArray[np.uint8], noun: str) -> NDArray[Any]:
        """Return `table[indices]`: the code numbers of types or colours. Raise an error for one
        that is not in the space; `noun`, "type" or "colour", is for its message.

        Raises:
            ValueError: an index is not listed.
        """
        codes = table[indices]
        if codes.max(initial=0) == self._unlisted:
            unlisted = indices[codes == self._unlisted][0]
            raise ValueError(f"{noun} {unlisted} is not in the space")
        return codes

    def encode(
        self, grid: NDArray[np.uint8], item: NDArray[np.uint8], agent: NDArray[np.integer[Any]]
    ) -> Arrays:
        """Return the arrays of an observation by name: the encoded `grid` and `item`, and those
        about the `agent`. Works for many observations at once.

        Args:
            grid: (…, H, W, 3) type, state and colour indices.
            item: (…, 3) type, state and colour indices of the held object.
            agent: (…, 3) y, x and orientation.

        Raises:
            ValueError: see `codes`.
        """
        arrays = {
            "grid": self.codes(grid),
            "agent_id_grid": agent_id_grid(grid.shape[-3:-1], agent),
            "item": self.codes(item),
        }
        if self.is_state:
            arrays["agent"] = encode_agent(grid.shape[-3:-1], agent)
        return arrays

    def convert(self, shown: HasArrays) -> Arrays:
        """Return the arrays of `space` by name for `shown`, a state or observation object of the
        object-level API.

        Raises:
            ValueError: see `codes`.
        """
        arrays = shown.to_arrays()
        return self.encode(arrays["grid"], arrays["item"], arrays["agent"])


def look_up_codes(
    cells: NDArray[np.uint8],
    types: NDArray[Any],
    first_states: NDArray[Any],
    colors: NDArray[Any],
    unlisted: int,
    stride: int,
    out: NDArray[Any],
) -> bool:
    """Write the code numbers of `cells` (M, 3) into `out` (M, channels), by tables. A state's code
    is the first one of its type plus state * `stride`. Return True if a type or colour has the code
    `unlisted`, and so is not in the space.

    Args:
        cells: type, state and colour indices.
        types, colors: code by type and by colour index.
        first_states: code of the first state by type index; other states follow it.
        unlisted: code of the types and colours that are not in the space.
        stride: 0 for three codes per cell; else each cell has one code, and the codes of a type's
            states are this far apart.
        out: array that is written into.
    """
    has_unlisted = False
    for k in range(len(cells)):
        type_code, color_code = types[cells[k, 0]], colors[cells[k, 2]]
        if stride:
            out[k, 0] = type_code + stride * cells[k, 1] + color_code
        else:
            out[k, 0] = type_code
            out[k, 1] = first_states[cells[k, 0]] + cells[k, 1]
            out[k, 2] = color_code
        has_unlisted |= (type_code == unlisted) | (color_code == unlisted)
    return has_unlisted


def agent_id_grid(shape: tuple[int, ...], agent: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """Return a grid of this `shape` with 1 in the agent's cell and 0 elsewhere. `agent` has its (y,
    x, orientation); off the grid, all are 0. Many agents give many grids."""
    y, x = agent[..., 0, None, None], agent[..., 1, None, None]
    height, width = shape
    is_agent: NDArray[np.bool_] = (np.arange(height)[:, None] == y) & (np.arange(width) == x)
    return is_agent.astype(np.uint8)


def observer_pose(scenario: Scenario) -> NDArray[np.int64]:
    """Return (3,) y, x and orientation of the agent in the scenario's observations."""
    return np.array([*scenario.area.observer, FORWARD])


def encode_agent(shape: tuple[int, ...], agent: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return six numbers for an agent, given as (y, x, orientation): y and x scaled to -1 … 1 on a
    grid of this `shape`, and the orientation one-hot. `agent` (…, 3) gives (…, 6)."""
    encoded = np.zeros((*agent.shape[:-1], 2 + len(ORIENTATIONS)))
    for axis, size in enumerate(shape):
        # on a single row or column every position counts as the middle
        encoded[..., axis] = (2 * agent[..., axis] - size + 1) / max(1, size - 1)
    encoded[..., 2:] = agent[..., 2, None] == np.arange(len(ORIENTATIONS))
    return encoded


MISSION, STATE = "mission", "state"
"""Keys of the mission and of the state vector in observations."""


class ObservationEncoder:
    """Base class of encoders, which make the observations that an environment returns.

    Attributes:
        space: space of one observation.
        source_arrays: names of the arrays in `StepArrays` that an observation is made of.
        buffer_names: names of the arrays that change in every step and that a caller may provide.
        recorded: names of the arrays that rollouts record, without mission and state vector.
        shares_memory: True if an observation changes when its arrays are overwritten.
        has_mission, has_state: True if observations already include the mission, or the state
            vector.
    """

    space: spaces.Space[Any]
    source_arrays: tuple[str, ...] = ("grid", "item")
    buffer_names: tuple[str, ...] = ("grid", "item")
    recorded: tuple[str, ...] = ("grid", "item")
    shares_memory = True
    has_mission = has_state = False

    def __init__(self, representation: Representation) -> None:
        self._representation = representation

    @property
    def single_observation_space(self) -> spaces.Space[Any]:
        """Space of one world's observation in a vector environment."""
        return self.space

    def bind_backend(self, backend: Backend) -> None:
        """Use compiled code to fill the arrays if the worlds of this backend are compiled."""
        self._representation.bind_backend(backend)

    def make_arrays(self, *batch_shape: int) -> Arrays:
        """Return zeroed arrays for one observation, or for a batch of this shape."""
        parts = self._parts.items()
        return {name: np.zeros((*batch_shape, *box.shape), box.dtype) for name, box in parts}

    @property
    def _parts(self) -> Mapping[str, Any]:
        if isinstance(self.space, spaces.Dict):
            return self.space.spaces
        return dict.fromkeys(self.buffer_names, self.space)

    def make_shared_arrays(self, *observed: NDArray[Any]) -> Arrays:
        """Return new arrays for N observations. If the observation has one of the backend's arrays
        `observed` unchanged, such as `grid` (N, h, w, 3), return that array itself."""
        return self.make_arrays(len(observed[0]))

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        """Encode the observed `grid` and `item` (the object in hand), and write the result into the
        arrays `out`.

        Args:
            out: arrays from `make_arrays`.
            grid, item: (…, h, w, 3) and (…, 3) type, state and colour indices.

        Raises:
            ValueError: the space has no such type or colour; `default` does not check this.
        """
        raise NotImplementedError

    def to_observation(self, arrays: Arrays) -> Any:
        """Return the observation, or the observations of many worlds, as environments return it: a
        dictionary of `arrays`, or the only array if the space is no `Dict`."""
        if isinstance(self.space, spaces.Dict):
            return arrays.copy()  # callers may change the dictionary
        return arrays[self.buffer_names[0]]

    def encode(self, *observed: NDArray[Any]) -> Any:
        """Return the encoded observation of one world. `observed` are the arrays, as the backend
        writes them, whose names are in `source_arrays`."""
        arrays = self.make_arrays()
        self.write(arrays, *observed)
        return self.to_observation(arrays)

    def split(self, arrays: Arrays) -> NDArray[np.object_]:
        """Return an object array with one observation for each of K worlds. `arrays` have K entries
        on their first axis; the observations are views of them."""
        observations = np.empty(len(next(iter(arrays.values()))), object)
        for i, parts in enumerate(zip(*arrays.values(), strict=True)):
            observations[i] = self.to_observation(dict(zip(arrays, parts, strict=True)))
        return observations


def get_compiled(function: Any) -> Any:
    """Return the compiled version of `function`; each function is compiled only once."""
    from gv_engine.compiler.compiled_function import compile_function

    return compile_function(function)
