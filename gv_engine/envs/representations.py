"""Representations: the arrays that stand for an observation or a state (specification, section 9).

>>> from gv_engine import Scenario
>>> compact = Representation.of_observation(Scenario.load("keydoor-5x5"), "compact")
>>> compact.space["item"].low.tolist(), compact.space["item"].high.tolist()
([0, 7, 16], [6, 15, 17])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE, NONE_GRID_OBJECT
from components.objects import BOX
from gv_engine.rules.errors import nearest
from gv_engine.rules.geometry import FORWARD, ORIENTATIONS
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario
    from gv_engine.vector.backend import Backend

Arrays = dict[str, NDArray[Any]]


class HasArrays(Protocol):
    """A state or an observation of the object-level API."""

    def to_arrays(self) -> Mapping[str, NDArray[Any]]:
        """`grid` (H, W, 3), `agent` (3,) y, x, orientation, and `item` (3,)."""
        ...


class _Codes(NamedTuple):
    """What numbers a representation has for (type, state, colour) indices."""

    types: dict[int, int]
    first_states: dict[int, int]  # by type; its further states follow
    colors: dict[int, int]
    stride: int = 0  # from one state to the next, where type, state and colour are one number

    def ranges(self, states: dict[int, int]) -> list[list[int]]:
        """All numbers there are, channel by channel."""
        if self.stride:
            return [list(range(self.stride * sum(states.values())))]
        shown = [
            first + k for kind, first in self.first_states.items() for k in range(states[kind])
        ]
        return [list(self.types.values()), shown, list(self.colors.values())]


def _default(states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    """The indices themselves."""
    return _Codes({t: t for t in states}, dict.fromkeys(states, 0), {c: c for c in colors})


def _no_overlap(states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    """States behind the largest type, colours behind the largest number of states."""
    state = max(states) + 1
    color = state + max(states.values()) + 1
    return _Codes(
        {t: t for t in states}, dict.fromkeys(states, state), {c: color + c for c in colors}
    )


def _compact(states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    """Counted without gaps: types, each type's states, colours."""
    firsts, count = {}, len(states)
    for kind, number in states.items():
        firsts[kind] = count
        count += number
    return _Codes(
        {t: i for i, t in enumerate(states)}, firsts, {c: count + i for i, c in enumerate(colors)}
    )


def _cells(states: dict[int, int], colors: tuple[int, ...]) -> _Codes:
    """One number for each type in each of its states and each colour, without gaps."""
    firsts, count, stride = {}, 0, len(colors)
    for kind, number in states.items():
        firsts[kind] = count
        count += number * stride
    return _Codes(firsts, dict.fromkeys(states, 0), {c: i for i, c in enumerate(colors)}, stride)


_CODES: dict[str, Callable[[dict[int, int], tuple[int, ...]], _Codes]] = {
    "default": _default,
    "no-overlap": _no_overlap,
    "compact": _compact,
    "cells": _cells,
}
REPRESENTATIONS = "default", "no-overlap", "compact"
"""Those of the specification; type, state and colour are three numbers."""


class Representation:
    """Turns (type, state, colour) arrays into those of one representation, and knows their space.

    Attributes:
        name: one of `REPRESENTATIONS`, or "cells".
        channels: numbers for a cell: 3, and 1 under "cells", `size` of which there are.
        listed: (n, 3) uint8 all types, states and colours that there may be; under "cells", k
            stands for the one at k.
        space: a Dict of `grid` (H, W, channels), `agent_id_grid` (H, W), which is 1 at the agent,
            and `item` (channels,), all of unsigned integers; for states also `agent` (6,) float64,
            y and x from -1 to 1 and the orientation one-hot.

    Args:
        name: see above.
        objects, colors: indices of the types and colours that may occur; NoneGridObject, NONE and,
            for observations, Hidden are always among them.
        shape: (height, width) of the grid.
        is_state: of a state, not of an observation.
        types: of the scenario.

    Raises:
        ValueError: no such name, or a state with Box, whose content no array would show.
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
        if name not in _CODES:
            raise ValueError(f"no representation {name!r}: {nearest(name, tuple(_CODES))}")
        kinds = sorted({NONE_GRID_OBJECT, *objects} | (set() if is_state else {HIDDEN}))
        if is_state and BOX in kinds:
            raise ValueError(
                "a state with Box cannot be represented, arrays do not show what is in a box; "
                "leave Box out of the state space's objects, or represent observations only"
            )
        self.name = name
        self.is_state = is_state
        states = {kind: types[kind].num_states for kind in kinds}
        codes = _CODES[name](states, tuple(sorted({NONE, *colors})))
        ranges = codes.ranges(states)
        low, high = [min(numbers) for numbers in ranges], [max(numbers) for numbers in ranges]
        self.dtype = np.min_scalar_type(max(high))
        self.channels, self.size = len(ranges), max(high) + 1
        self._stride = codes.stride
        self._unlisted = max(high) + 1
        self._types = self._table(codes.types)
        self._first_states = self._table(codes.first_states)
        self._colors = self._table(codes.colors)
        self.space = self._space(shape, low, high)
        self.listed = np.array(
            [(t, s, c) for t in states for s in range(states[t]) for c in sorted({NONE, *colors})],
            np.uint8,
        )
        self._worlds: Backend | None = None
        self._steps: NDArray[Any] | None = None  # of the numbers, where compiled code asks

    @classmethod
    def of_observation(cls, scenario: Scenario, name: str = "default") -> Representation:
        """The representation of a scenario's observations."""
        objects, colors = scenario.observation_objects, scenario.observation_colors
        shape, types = scenario.area.shape, scenario.types
        return cls(name, objects, colors, shape, is_state=False, types=types)

    @classmethod
    def of_state(
        cls, scenario: Scenario, shape: tuple[int, int], name: str = "default"
    ) -> Representation:
        """The representation of a scenario's states on grids of this (height, width)."""
        objects, colors, types = scenario.objects, scenario.colors, scenario.types
        return cls(name, objects, colors, shape, is_state=True, types=types)

    def _table(self, codes: dict[int, int]) -> NDArray[Any]:
        table = np.full(256, self._unlisted, np.min_scalar_type(self._unlisted))
        table[list(codes)] = list(codes.values())
        return table

    def _space(self, shape: tuple[int, int], low: list[int], high: list[int]) -> spaces.Dict:
        def box(shape: tuple[int, ...], low: Any, high: Any, dtype: Any) -> spaces.Box:
            low, high = (np.broadcast_to(bound, shape).astype(dtype) for bound in (low, high))
            return spaces.Box(low, high, dtype=dtype)

        found: dict[str, spaces.Space[Any]] = {
            "grid": box((*shape, self.channels), low, high, self.dtype),
            "agent_id_grid": box(shape, 0, 1, np.uint8),
            "item": box((self.channels,), low, high, self.dtype),
        }
        if self.is_state:
            one_hot = [0] * len(ORIENTATIONS)
            found["agent"] = box((6,), [-1, -1, *one_hot], 1, np.float64)
        return spaces.Dict(found)

    @property
    def roomy_space(self) -> spaces.Dict:
        """The space of environments, with room above where one number is all: Gymnasium takes that
        for a mistake."""
        return spaces.Dict(
            {
                name: spaces.Box(box.low, np.maximum(box.high, box.low + 1), dtype=box.dtype.type)
                for name, box in self.space.items()
                if isinstance(box, spaces.Box)
            }
        )

    def belongs_to(self, worlds: Backend) -> None:
        """Compiled code makes the arrays of worlds that are compiled themselves."""
        self._worlds = worlds

    @property
    def compiles(self) -> bool:
        """Whether compiled code makes the arrays."""
        return self._worlds is not None and self._worlds.uses_compiled_code

    def codes(self, cells: NDArray[np.uint8], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The numbers for cells or held objects.

        Args:
            cells: (…, 3) uint8 type, state and colour indices.
            out: (…, channels) of `dtype`, to be filled.

        Returns:
            (…, channels) of `dtype`: `out` or a new array; under `default`, `cells` themselves.

        Raises:
            ValueError: a type or colour that the space does not list; `default` does not look.
        """
        if self.name == "default":
            return cells
        if out is None:
            out = np.empty((*cells.shape[:-1], self.channels), self.dtype)
        if self.compiles and not self._recode(cells.reshape(-1, 3), out.reshape(-1, self.channels)):
            return out
        kinds = self._listed(self._types, cells[..., 0], "type")
        colors = self._listed(self._colors, cells[..., 2], "colour")
        if self._stride:
            out[..., 0] = kinds + self._stride * cells[..., 1].astype(np.int64) + colors
            return out
        out[..., 0], out[..., 2] = kinds, colors
        out[..., 1] = self._first_states[cells[..., 0]] + cells[..., 1]
        return out

    def _recode(self, cells: NDArray[np.uint8], out: NDArray[Any]) -> bool:
        """Fill (M, channels) by compiled code; whether a cell is not listed."""
        from gv_engine.compiler.compiler import compile_function

        wrong = False
        if self._stride and out.dtype == np.uint8:
            from gv_engine.compiler import appearance_cache

            if self._steps is None:
                numbered = (False, self._types, self._stride), (True, self._colors, 1)
                found = [
                    appearance_cache.make_code_steps(*each, self._unlisted) for each in numbered
                ]
                self._steps = np.concatenate(found)
            wrong = compile_function(appearance_cache.encode_cells)(
                cells, self._steps, self._stride, out[:, 0]
            )
            done = len(cells) // appearance_cache.CHUNK * appearance_cache.CHUNK
            cells, out = cells[done:], out[done:]
        tables = self._types, self._first_states, self._colors, self._unlisted, self._stride
        return compile_function(recode)(cells, *tables, out) or wrong

    @property
    def fresh(self) -> Callable[[NDArray[np.uint8]], NDArray[Any]]:
        """`codes` in an array of its own, also under `default`."""
        return np.ndarray.copy if self.name == "default" else self.codes

    def _listed(self, table: NDArray[Any], indices: NDArray[np.uint8], what: str) -> NDArray[Any]:
        found = table[indices]
        if found.max(initial=0) == self._unlisted:
            wrong = indices[found == self._unlisted][0]
            raise ValueError(f"{what} {wrong} is shown, which the space does not list")
        return found

    def encode(
        self, grid: NDArray[np.uint8], item: NDArray[np.uint8], agent: NDArray[np.integer[Any]]
    ) -> Arrays:
        """The arrays of `space`, for one or for many.

        Args:
            grid: (…, H, W, 3) type, state and colour indices.
            item: (…, 3) the same of the held object.
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
            arrays["agent"] = _agent(grid.shape[-3:-1], agent)
        return arrays

    def convert(self, shown: HasArrays) -> Arrays:
        """The arrays of a state or an observation.

        Raises:
            ValueError: see `codes`.
        """
        arrays = shown.to_arrays()
        return self.encode(arrays["grid"], arrays["item"], arrays["agent"])


def recode(
    cells: NDArray[np.uint8],
    types: NDArray[Any],
    first_states: NDArray[Any],
    colors: NDArray[Any],
    unlisted: int,
    stride: int,
    out: NDArray[Any],
) -> bool:
    """Look up the numbers of (M, 3) cells; whether one is not listed."""
    wrong = False
    for k in range(len(cells)):
        kind, color = types[cells[k, 0]], colors[cells[k, 2]]
        if stride:
            out[k, 0] = kind + stride * cells[k, 1] + color
        else:
            out[k, 0] = kind
            out[k, 1] = first_states[cells[k, 0]] + cells[k, 1]
            out[k, 2] = color
        wrong |= (kind == unlisted) | (color == unlisted)
    return wrong


def agent_id_grid(shape: tuple[int, ...], agent: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """(…, H, W) uint8 with 1 at the agents' cells (…, 3), all 0 where that is beyond the grid."""
    y, x = agent[..., 0, None, None], agent[..., 1, None, None]
    height, width = shape
    found: NDArray[np.bool_] = (np.arange(height)[:, None] == y) & (np.arange(width) == x)
    return found.astype(np.uint8)


def observer(scenario: Scenario) -> NDArray[np.int64]:
    """(3,) y, x and orientation of the agent in the scenario's observations."""
    return np.array([*scenario.area.observer, FORWARD])


def _agent(shape: tuple[int, ...], agent: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    found = np.zeros((*agent.shape[:-1], 2 + len(ORIENTATIONS)))
    for axis, size in enumerate(shape):
        # on a single row or column every position is in the middle
        found[..., axis] = (2 * agent[..., axis] - size + 1) / max(1, size - 1)
    found[..., 2:] = agent[..., 2, None] == np.arange(len(ORIENTATIONS))
    return found
