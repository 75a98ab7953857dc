"""Forms of observations: numbers for cells, planes of them, pictures, and text.

>>> from gv_engine import Scenario
>>> form_of(Scenario.load("keydoor-5x5"), {"name": "pixels", "cell": 9}).space
Box(0, 255, (63, 63, 3), uint8)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from itertools import pairwise
from pkgutil import resolve_name
from string import ascii_letters, digits, punctuation
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from components.appearance import NONE_GRID_OBJECT
from gv_engine.envs.arg_checks import at_least
from gv_engine.envs.minigrid_observations import MiniGridForm
from gv_engine.envs.observation_base import MISSION, ObservationEncoder, compiled
from gv_engine.envs.representations import (
    REPRESENTATIONS,
    Arrays,
    Representation,
    agent_id_grid,
    observer,
)
from gv_engine.rules.errors import nearest
from gv_engine.scenario.map import mission_line, object_words, view_text

if TYPE_CHECKING:
    from gv_engine.scenario.missions import Missions
    from gv_engine.scenario.scenario import Scenario
    from gv_engine.vector.backend import Backend

FormName = str | Mapping[str, Any]
"""The name of a form; or a mapping of `name` and the form's options."""

_CELL_PICTURES = "gv_engine.ui.drawing.tile_canvas:render_cells"
"""What draws them, imported when it is needed."""

_LEAST_SIDE = 8
"""Pixels of the smallest drawings."""

_FARTHEST = ": 512 behind, 512 right\n"


class IndexGrid(ObservationEncoder):
    """`grid` (h, w, channels), `agent_id_grid` (h, w) and `item` (channels,), see `Representation`.

    Args:
        scenario: whose observations they are.
        name: of the representation.
    """

    space: spaces.Dict

    def __init__(self, scenario: Scenario, name: str) -> None:
        super().__init__(Representation.of_observation(scenario, name))
        self.space = self._representation.roomy_space
        self._agent_id_grid = agent_id_grid(scenario.area.shape, observer(scenario))
        self._fresh = self._representation.fresh

    def arrays(self, *many: int) -> Arrays:
        made = {
            name: np.zeros((*many, *self.space[name].shape), self.space[name].dtype)  # type: ignore[misc]  # boxes have one
            for name in self.space
        }
        made["agent_id_grid"][...] = self._agent_id_grid
        return made

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        for cells, place in ((grid, out["grid"]), (item, out["item"])):
            if place is cells:
                continue
            found = self._representation.codes(cells, place)
            if found is not place:  # those of the default are the cells themselves
                np.copyto(place, found)

    def sharing(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> Arrays:
        arrays = self.arrays(len(item))
        same = self._representation.name == "default"
        return {**arrays, "grid": grid, "item": item} if same else arrays

    def told(self, arrays: Arrays) -> Arrays:
        return arrays.copy()

    def one(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> Arrays:
        return {
            "grid": self._fresh(grid),
            "agent_id_grid": self._agent_id_grid.copy(),
            "item": self._fresh(item),
        }


class LayeredGrid(IndexGrid):
    """`grid` (h, w, 6), `agent_id_grid` (h, w) and `item` (3,): in three channels what `default`
    shows, and in three more what lies on the ground, of which that shows only what nothing covers.

    There it is Floor where nothing lies, and Hidden where nothing is seen.

    Args:
        scenario: whose observations they are.
    """

    made_of = "grid", "item", "ground"

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario, "default")
        shown: Any = self.space["grid"]
        low, high = (np.concatenate([bound, bound], -1) for bound in (shown.low, shown.high))
        both = spaces.Box(low, high, dtype=np.uint8)
        self.space = spaces.Dict({**self.space.spaces, "grid": both})

    def sharing(self, *observed: NDArray[np.uint8]) -> Arrays:
        _, item, _ = observed
        return {**self.arrays(len(item)), "item": item}

    def write(self, out: Arrays, *observed: NDArray[np.uint8]) -> None:
        grid, item, ground = observed
        out["grid"][..., :3], out["grid"][..., 3:] = grid, ground
        if out["item"] is not item:
            np.copyto(out["item"], item)

    def one(self, *observed: NDArray[np.uint8]) -> Arrays:
        arrays = self.arrays()
        self.write(arrays, *observed)
        return arrays


class OneHot(IndexGrid):
    """`grid` (channels, h, w), `agent_id_grid` (h, w) and `item` (channels,): channel k is 1 where
    `compact` shows the number k, be it a type, a state or a colour.

    Args:
        scenario: whose observations they are.
        dtype: uint8 or float32.
    """

    def __init__(self, scenario: Scenario, dtype: str = "uint8") -> None:
        if dtype not in ("uint8", "float32"):
            raise ValueError(f"dtype={dtype!r}: allowed are 'uint8' and 'float32'")
        super().__init__(scenario, "compact")
        size, kind = self._representation.size, np.dtype(dtype).type
        self.space = spaces.Dict(
            {
                "grid": spaces.Box(0, 1, (size, *scenario.area.shape), kind),
                "agent_id_grid": self.space["agent_id_grid"],
                "item": spaces.Box(0, 1, (size,), kind),
            }
        )

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        held = item[..., None, None, :], out["item"][..., None, None]
        for cells, planes in ((grid, out["grid"]), held):
            numbers = self._representation.codes(cells)
            numbers = numbers.reshape(-1, cells.shape[-3] * cells.shape[-2], 3)
            planes = planes.reshape(len(numbers), self._representation.size, -1)
            if self._representation.compiles:
                compiled(mark_channels)(numbers, planes)
                continue
            planes[...] = 0
            for channel in range(3):
                rows = numbers[:, None, :, channel].astype(np.int64)
                np.put_along_axis(planes, rows, 1, axis=1)

    one, sharing = ObservationEncoder.one, ObservationEncoder.sharing


def mark_channels(numbers: NDArray[Any], planes: NDArray[Any]) -> None:
    """Set (M, channels, cells) to 1 where a channel is among the (M, cells, 3) numbers, else 0."""
    for i in range(len(numbers)):
        planes[i] = 0
        for k in range(numbers.shape[1]):
            for channel in range(3):
                planes[i, numbers[i, k, channel], k] = 1


class PixelView(ObservationEncoder):
    """A picture of the view, (h * cell, w * cell, 3) uint8: red, green and blue, in the drawings
    and the standard palette of the game.

    The agent looks up, in its own cell; what it holds lies over the lower right quarter of that.
    If it stands beyond the view, neither is shown.

    Args:
        scenario: whose observations they are.
        cell: pixels of a cell's side, at least 8.
        channels_first: (3, h * cell, w * cell) instead.
    """

    kept = ("pixels",)
    space: spaces.Box

    def __init__(self, scenario: Scenario, cell: int = 8, channels_first: bool = False) -> None:
        super().__init__(Representation.of_observation(scenario, "cells"))
        cell = at_least(_LEAST_SIDE, cell=cell)
        self._first = bool(channels_first)
        (height, width), (y, x) = scenario.area.shape, scenario.area.observer
        self._own = (y, x) if 0 <= y < height and 0 <= x < width else None
        shape = height * cell, width * cell
        self.space = spaces.Box(0, 255, (3, *shape) if self._first else (*shape, 3), np.uint8)
        pictures = resolve_name(_CELL_PICTURES)(scenario, self._representation.listed, cell)
        self._cells, self._things = map(self._lines, pictures)

    def _lines(self, pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """(n, planes, side, bytes of a line): a plane for each colour, or one of all."""
        if self._first:
            return np.ascontiguousarray(np.moveaxis(pictures, -1, 1))
        return pictures.reshape(len(pictures), 1, pictures.shape[1], -1)

    def arrays(self, *many: int) -> Arrays:
        return {"pixels": np.zeros((*many, *self.space.shape), np.uint8)}

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        (height, width), (_, planes, side, run) = grid.shape[-3:-1], self._cells.shape
        codes = np.empty((grid[..., 0, 0, 0].size, height, width), np.uint32)
        self._representation.codes(grid.reshape(-1, height, width, 3), codes[..., None])
        if self._own:
            codes[:, *self._own] += len(self._things)
        lines = out["pixels"].reshape(len(codes), planes, height, side, width * run)
        cells = lines.reshape(*lines.shape[:4], width, run)
        if self._representation.compiles:
            from gv_engine.compiler.observation import painter

            compiled(painter(run))(codes, self._cells, lines)
        else:
            cells[...] = self._cells[codes].transpose(0, 3, 1, 4, 2, 5)
        if self._own:
            y, x = self._own
            half, line = self._things.shape[2:]
            held = item.reshape(-1, 3)
            who = np.flatnonzero(held[:, 0] != NONE_GRID_OBJECT)
            things = self._representation.codes(held[who])[:, 0]
            cells[:, :, y, side - half :, x, run - line :][who] = self._things[things]

    def told(self, arrays: Arrays) -> NDArray[np.uint8]:
        return arrays["pixels"]


class ViewText(ObservationEncoder):
    """The view in the characters of maps, what is held, and where things are, in words.

    Of many worlds it is a tuple of texts.

    Args:
        scenario: whose observations they are.
    """

    kept = ()
    lasting = False
    space: spaces.Text

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(Representation.of_observation(scenario))
        self._shape, self._scenario = scenario.area.shape, scenario
        self._observer = scenario.area.observer
        (height, width), listed = self._shape, self._representation.listed
        words = [object_words(self._scenario.types, *look) for look in listed.tolist()]
        line = len(_FARTHEST) + max(map(len, words))
        self.space = spaces.Text(
            max_length=height * (width + 1) + (height * width + 1) * line,
            charset=frozenset(ascii_letters + digits + punctuation + " \n").union(*words),
        )

    def arrays(self, *many: int) -> Arrays:
        shapes = {"grid": (*self._shape, 3), "item": (3,)}
        return {name: np.zeros((*many, *shape), np.uint8) for name, shape in shapes.items()}

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        for cells, place in ((grid, out["grid"]), (item, out["item"])):
            if cells is not place:
                np.copyto(place, cells)

    def sharing(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> Arrays:
        return {"grid": grid, "item": item}

    def told(self, arrays: Arrays) -> str | tuple[str, ...]:
        grid, item = arrays["grid"], arrays["item"]
        if item.ndim == 1:
            return self._text(grid, item)
        return tuple(self._text(*shown) for shown in zip(grid, item, strict=True))

    def _text(self, grid: NDArray[np.uint8], item: NDArray[np.uint8], mission: str = "") -> str:
        return view_text(grid, item, self._scenario.types, self._observer, mission)

    def beside(self, missions: Missions) -> spaces.Text:
        line = f"{mission_line('')}\n"
        return spaces.Text(
            max_length=self.space.max_length + len(line) + missions.longest,
            charset=self.space.character_set.union(missions.characters, line),
        )

    def told_beside(self, arrays: Arrays, missions: Missions) -> str | tuple[str, ...]:
        grid, item, asked = (arrays[name] for name in ("grid", "item", MISSION))
        if item.ndim == 1:
            return self._text(grid, item, missions.text(asked))
        return tuple(
            self._text(cells, held, missions.text(numbers))
            for cells, held, numbers in zip(grid, item, asked, strict=True)
        )


class Flat(ObservationEncoder):
    """All that is seen as one line of numbers, (D,): `grid`, `item` and `mission`, if there is one,
    of `cells` one behind the other, or of `onehot`, for libraries that take nothing else.

    Args:
        scenario: whose observations they are.
        onehot: channels that are 0 or 1, in place of numbers of cells; a mission stays as it is.
        dtype: "float32"; else the smallest that holds the numbers.
    """

    kept = ("flat",)
    asks = True
    space: spaces.Box

    def __init__(self, scenario: Scenario, onehot: bool = False, dtype: str | None = None) -> None:
        if dtype not in (None, "float32"):
            raise ValueError(f"dtype={dtype!r}: allowed are 'float32' and None")
        super().__init__(Representation.of_observation(scenario, "cells"))
        self._form: IndexGrid = OneHot(scenario) if onehot else IndexGrid(scenario, "cells")
        shown: list[Any] = [self._form.space["grid"], self._form.space["item"]]
        if scenario.missions:
            self.made_of = (*self.made_of, MISSION)
            shown.append(spaces.Box(scenario.missions.low, scenario.missions.high, dtype=np.int32))
        ends = np.cumsum([0, *(box.low.size for box in shown)])
        self._places = [slice(*pair) for pair in pairwise(ends.tolist())]
        low, high = (
            np.concatenate([getattr(b, n).ravel() for b in shown]) for n in ("low", "high")
        )
        least = np.result_type(*(np.min_scalar_type(bound) for bound in (low.min(), high.max())))
        kind = np.dtype(dtype or least).type
        self.space = spaces.Box(low.astype(kind), high.astype(kind), dtype=kind)
        self._between: Arrays = {}

    def belongs_to(self, worlds: Backend) -> None:
        self._form.belongs_to(worlds)

    def arrays(self, *many: int) -> Arrays:
        return {"flat": np.zeros((*many, *self.space.shape), self.space.dtype)}

    def sharing(self, *observed: NDArray[Any]) -> Arrays:
        return self.arrays(len(observed[0]))

    def write(self, out: Arrays, *observed: NDArray[Any]) -> None:
        grid, item, *mission = observed
        many = item.shape[:-1]
        if not self._between or self._between["item"].shape[: len(many)] != many:
            self._between = self._form.arrays(*many)
        self._form.write(self._between, grid, item)
        parts = self._between["grid"], self._between["item"], *mission
        for place, part in zip(self._places, parts, strict=True):
            out["flat"][..., place] = part.reshape(*many, -1)

    def told(self, arrays: Arrays) -> NDArray[Any]:
        return arrays["flat"]

    def one(self, *observed: NDArray[Any]) -> NDArray[Any]:
        arrays = self.arrays()
        self.write(arrays, *observed)
        return arrays["flat"]


class WithMission(ObservationEncoder):
    """What the agent is asked to do beside what it sees: `mission` (k,) int32, and in a text a
    line.

    Args:
        form: of what it sees.
        missions: of the scenario.
    """

    def __init__(self, form: ObservationEncoder, missions: Missions) -> None:
        self._form, self._missions = form, missions
        self.space = form.beside(missions)
        self.kept = (*form.kept, MISSION) if form.lasting else form.kept
        self.made_of, self.lasting = (*form.made_of, MISSION), form.lasting

    def belongs_to(self, worlds: Backend) -> None:
        self._form.belongs_to(worlds)

    def arrays(self, *many: int) -> Arrays:
        asked = np.zeros((*many, len(self._missions.names)), np.int32)
        return {**self._form.arrays(*many), MISSION: asked}

    def sharing(self, *observed: NDArray[Any]) -> Arrays:
        *seen, mission = observed
        return {**self._form.sharing(*seen), MISSION: mission}

    def write(self, out: Arrays, *observed: NDArray[Any]) -> None:
        *seen, mission = observed
        self._form.write(out, *seen)
        if out[MISSION] is not mission:
            np.copyto(out[MISSION], mission)

    def told(self, arrays: Arrays) -> Any:
        return self._form.told_beside(arrays, self._missions)

    def one(self, *observed: NDArray[Any]) -> Any:
        arrays = self.arrays()
        self.write(arrays, *observed)
        return self.told(arrays)


_FORMS: dict[str, Callable[..., ObservationEncoder]] = {
    **{name: partial(IndexGrid, name=name) for name in (*REPRESENTATIONS, "cells")},
    "flat": Flat,
    "layers": LayeredGrid,
    "minigrid": MiniGridForm,
    "onehot": OneHot,
    "pixels": PixelView,
    "text": ViewText,
}
FORMS = tuple(_FORMS)
"""Names that `observation_representation` takes."""


def form_of(scenario: Scenario, asked: FormName) -> ObservationEncoder:
    """The form of a scenario's observations.

    Raises:
        ValueError: no such name, or it has no such option, or not with this value.
    """
    options = {"name": asked} if isinstance(asked, str) else dict(asked)
    name = options.pop("name", None)
    if name not in _FORMS:
        raise ValueError(f"no representation {name!r}: {nearest(name, FORMS)}")
    made = _FORMS[name]
    known = [option for option in signature(made).parameters if option not in ("scenario", "name")]
    for option in options:
        if option not in known:
            allowed = nearest(option, known) if known else "allowed are none here"
            raise ValueError(f"the representation {name!r} has no option {option!r}: {allowed}")
    form = made(scenario, **options)
    missions = None if form.asks else scenario.missions
    return WithMission(form, missions) if missions else form
