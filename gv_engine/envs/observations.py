"""Observation encoders: index grids, one-hot planes, pixels, text and flat vectors.

>>> from gv_engine import Scenario
>>> make_encoder(Scenario.load("keydoor-5x5"), {"name": "pixels", "cell": 9}).space
Box(0, 255, (63, 63, 3), uint8)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from inspect import signature
from itertools import pairwise
from pkgutil import resolve_name
from string import ascii_letters, digits, punctuation
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from components.core import NONE_GRID_OBJECT
from gv_engine.envs import representations
from gv_engine.envs.arg_checks import check_at_least
from gv_engine.envs.representations import MISSION, STATE, Arrays, ObservationEncoder, agent_id_grid
from gv_engine.late_imports import CELL_RENDERER, find_plugins
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import FORWARD
from gv_engine.scenario.missions.sentences import VIEW_STYLES
from gv_engine.scenario.readers.map import describe_object

if TYPE_CHECKING:
    from gv_engine.envs.backends.backend import Backend
    from gv_engine.scenario.missions.mission_tokens import MissionTokens
    from gv_engine.scenario.missions.missions import Missions
    from gv_engine.scenario.readers.observed_state import ObservedState
    from gv_engine.scenario.scenario import Scenario

RepresentationSpec = str | Mapping[str, Any]
"""Name of an encoder, or a mapping of `name` and the encoder's options."""

_MIN_CELL_PIXELS = 8

_LONGEST_SENTENCE = "You see a  512 steps right and 512 steps backward\n"
"""Longest sentence about an object, without the description of the object."""


class IndexGrid(ObservationEncoder):
    """Encoder of the code numbers of cells: `grid` (h, w, channels), `agent_id_grid` (h, w) and
    `item` (channels,). `Representation` explains them.

    Args:
        scenario: scenario that is observed.
        name: name of the representation.
    """

    space: spaces.Dict

    def __init__(self, scenario: Scenario, name: str) -> None:
        """Prepare the encoder for the representation called `name`, such as "compact"."""
        super().__init__(representations.Representation.of_observation(scenario, name))
        self.space = self._representation.gymnasium_space
        self._agent_id_grid = agent_id_grid(
            scenario.area.shape, representations.observer_pose(scenario)
        )
        self._is_default = name == "default"  # whose codes are the cells themselves

    def make_arrays(self, *batch_shape: int) -> Arrays:
        """Return new arrays `grid` and `item` with zeros, and the constant `agent_id_grid`, for one
        observation or for a batch of this shape."""
        arrays = super().make_arrays(*batch_shape)
        arrays["agent_id_grid"][...] = self._agent_id_grid
        return arrays

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        """Encode the observed cells (`grid`) and the object in the agent's hand (`item`), and write
        the code numbers into the arrays `out`."""
        for cells, target in ((grid, out["grid"]), (item, out["item"])):
            if not self._is_default:
                self._representation.codes(cells, target)
            elif target is not cells:
                np.copyto(target, cells)

    def make_shared_arrays(self, *observed: NDArray[Any]) -> Arrays:
        """Return arrays for N observations; in the representation `default`, `grid` and `item` are
        the observed arrays, not copies."""
        grid, item, *_ = observed
        arrays = self.make_arrays(len(grid))
        return {**arrays, "grid": grid, "item": item} if self._is_default else arrays

    def encode(self, *observed: NDArray[Any]) -> Arrays:
        """Return the encoded observation of one world from the `observed` arrays, its cells and the
        held object."""
        make_new: Any = np.ndarray.copy if self._is_default else self._representation.codes
        grid, item = map(make_new, observed)
        return {"grid": grid, "agent_id_grid": self._agent_id_grid.copy(), "item": item}


class LayeredGrid(IndexGrid):
    """Encoder of cells with their ground: `grid` (h, w, 6), in which the last three channels are
    the ground, `agent_id_grid` (h, w) and `item` (3,).

    The first three channels are those of `default`, which shows the ground only where nothing
    covers it. The ground channels are Floor where nothing lies on the ground and Hidden where
    nothing is seen.

    Args:
        scenario: scenario that is observed.
    """

    source_arrays = "grid", "item", "ground"

    def __init__(self, scenario: Scenario) -> None:
        """Prepare the encoder; the class docstring explains its arrays."""
        super().__init__(scenario, "default")
        view: Any = self.space["grid"]
        low, high = (np.concatenate([bound, bound], -1) for bound in (view.low, view.high))
        layers = spaces.Box(low, high, dtype=np.uint8)
        self.space = spaces.Dict({**self.space.spaces, "grid": layers})

    def make_shared_arrays(self, *observed: NDArray[np.uint8]) -> Arrays:
        """Return arrays for N observations; `item` is the observed array of held objects, not a
        copy."""
        _, item, _ = observed
        return {**self.make_arrays(len(item)), "item": item}

    def write(self, out: Arrays, *observed: NDArray[np.uint8]) -> None:
        """Write the observed cells and the ground beneath them into the six channels of
        `out["grid"]`, and the object in the agent's hand into `out["item"]`."""
        grid, item, ground = observed
        out["grid"][..., :3], out["grid"][..., 3:] = grid, ground
        if out["item"] is not item:
            np.copyto(out["item"], item)

    encode = ObservationEncoder.encode  # that of `IndexGrid` has three channels


class OneHotGrid(IndexGrid):
    """Encoder of cells as one-hot planes: `grid` (channels, h, w), `agent_id_grid` (h, w) and
    `item` (channels,). Channel k is 1 where the type, state or colour has code number k in the
    representation `compact`.

    Args:
        scenario: scenario that is observed.
        dtype: uint8 or float32.
    """

    def __init__(self, scenario: Scenario, dtype: str = "uint8") -> None:
        """Prepare the encoder; its planes have this dtype."""
        if dtype not in ("uint8", "float32"):
            raise ValueError(f"dtype={dtype!r}: allowed are 'uint8' and 'float32'")
        super().__init__(scenario, "compact")
        channels, box_dtype = self._representation.size, np.dtype(dtype).type
        self.space = spaces.Dict(
            {
                "grid": spaces.Box(0, 1, (channels, *scenario.area.shape), box_dtype),
                "agent_id_grid": self.space["agent_id_grid"],
                "item": spaces.Box(0, 1, (channels,), box_dtype),
            }
        )

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        """Write the observed cells (`grid`) and the object in the agent's hand (`item`) into `out`:
        planes with 1 where a type, state or colour is, else 0."""
        item_as_grid = item[..., None, None, :], out["item"][..., None, None]
        for cells, planes in ((grid, out["grid"]), item_as_grid):
            codes = self._representation.codes(cells)
            codes = codes.reshape(-1, cells.shape[-3] * cells.shape[-2], 3)
            planes = planes.reshape(len(codes), self._representation.size, -1)
            if self._representation.is_compiled:
                representations.get_compiled(mark_channels)(codes, planes)
                continue
            planes[...] = 0
            for k in range(3):  # type, state and colour
                channels = codes[:, None, :, k].astype(np.int64)
                np.put_along_axis(planes, channels, 1, axis=1)

    # those of `IndexGrid` return codes
    encode, make_shared_arrays = ObservationEncoder.encode, ObservationEncoder.make_shared_arrays


def mark_channels(codes: NDArray[Any], planes: NDArray[Any]) -> None:
    """Fill `planes` (M, channels, cells) with 0, and with 1 in the channels that `codes` (M, cells,
    3) lists for each cell. This function is also compiled."""
    for i in range(len(codes)):
        planes[i] = 0
        for cell in range(codes.shape[1]):
            for k in range(3):
                planes[i, codes[i, cell, k], cell] = 1


class PixelView(ObservationEncoder):
    """Encoder that draws the agent's view: an image (h * cell, w * cell, 3) of uint8 RGB, with the
    sprites of the game.

    The agent faces up in its own cell. The object in its hand covers the lower right quarter of
    that cell. Both are missing if the agent's cell is outside the view.

    Args:
        scenario: scenario that is observed.
        cell: pixels of a cell's side, at least 8.
        channels_first: encode (3, h * cell, w * cell) instead.
    """

    buffer_names = ("pixels",)
    space: spaces.Box

    def __init__(self, scenario: Scenario, cell: int = 8, channels_first: bool = False) -> None:
        """Prepare the encoder. A cell of the image has `cell` x `cell` pixels; `channels_first`
        makes the colour axis the first one."""
        super().__init__(representations.Representation.of_observation(scenario, "cells"))
        cell = check_at_least(_MIN_CELL_PIXELS, cell=cell)
        self._channels_first = bool(channels_first)
        (height, width), (y, x) = scenario.area.shape, scenario.area.observer
        self._agent_cell = (y, x) if 0 <= y < height and 0 <= x < width else None
        if not scenario.area.turns:
            self.source_arrays = "grid", "item", "facing"
        shape = height * cell, width * cell
        picture_shape = (3, *shape) if self._channels_first else (*shape, 3)
        self.space = spaces.Box(0, 255, picture_shape, np.uint8)
        pictures = resolve_name(CELL_RENDERER)(scenario, self._representation.listed, cell)
        self._cell_pictures, self._item_pictures = map(self._split_planes, pictures)

    def _split_planes(self, pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return (n, side, side, 3) pictures as (n, planes, side, bytes of a pixel line)."""
        if self._channels_first:
            return np.ascontiguousarray(np.moveaxis(pictures, -1, 1))
        return pictures.reshape(len(pictures), 1, pictures.shape[1], -1)

    def write(
        self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8], facing: Any = FORWARD
    ) -> None:
        """Draw the observed cells (`grid`), the agent, and the object in its hand (`item`) into the
        image in `out`. `facing` is the agent's direction in the view."""
        height, width = grid.shape[-3:-1]
        _, planes, side, line_bytes = self._cell_pictures.shape
        codes = np.empty((grid[..., 0, 0, 0].size, height, width), np.uint32)
        self._representation.codes(grid.reshape(-1, height, width, 3), codes[..., None])
        if self._agent_cell:  # pictures with the agent come after those of all objects
            codes[:, *self._agent_cell] += len(self._item_pictures) * (1 + np.uint32(facing))
        lines = out["pixels"].reshape(len(codes), planes, height, side, width * line_bytes)
        cells = lines.reshape(*lines.shape[:4], width, line_bytes)
        if self._representation.is_compiled:
            paint = representations.get_compiled(make_tile_blit(line_bytes))
            paint(codes, self._cell_pictures, lines)
        else:
            cells[...] = self._cell_pictures[codes].transpose(0, 3, 1, 4, 2, 5)
        if self._agent_cell:
            y, x = self._agent_cell
            item_side, item_bytes = self._item_pictures.shape[2:]
            items = item.reshape(-1, 3)
            holding = np.flatnonzero(items[:, 0] != NONE_GRID_OBJECT)
            pictures = self._item_pictures[self._representation.codes(items[holding])[:, 0]]
            cells[:, :, y, side - item_side :, x, line_bytes - item_bytes :][holding] = pictures


@cache
def make_tile_blit(line_bytes: int) -> Callable[..., None]:
    """Return the function `paint_tiles(codes, tiles, out)`, to be compiled, which puts an image
    together from tiles: `codes` has the tile of each cell. A row of pixels of a tile takes
    `line_bytes` bytes."""
    from gv_engine.compiler.addresses import make_byte_copy

    copy = make_byte_copy(line_bytes)

    def paint_tiles(codes: Any, tiles: Any, out: Any) -> None:
        num_images, height, width = codes.shape
        planes, side = tiles.shape[1:3]
        target = 0
        for i in range(num_images):
            for plane in range(planes):
                for y in range(height):
                    for line in range(side):
                        for x in range(width):
                            source = (codes[i, y, x] * planes + plane) * side + line
                            copy(tiles, source * line_bytes, out, target)
                            target += line_bytes

    return paint_tiles


class TextView(ObservationEncoder):
    """Encoder of the agent's view as text. With a batch of worlds, it is a tuple of texts.

    Args:
        scenario: scenario that is observed.
        style: "map" for the characters of maps, the object in hand, and the positions of objects in
            words; "sentences" for the sentences of BabyAI-Text, one per line.
    """

    buffer_names = ()
    shares_memory = False
    space: spaces.Text

    def __init__(self, scenario: Scenario, style: str = "map") -> None:
        """Prepare the encoder; the class docstring explains `style`."""
        super().__init__(representations.Representation.of_observation(scenario))
        if style not in VIEW_STYLES:
            raise ValueError(f"style={style!r}{describe_allowed(style, VIEW_STYLES)}")
        self._view_to_text = VIEW_STYLES[style]
        self._shape, self._scenario = scenario.area.shape, scenario
        self._observer = scenario.area.observer
        if not scenario.area.turns:
            self.source_arrays = "grid", "item", "facing"
        (height, width), listed = self._shape, self._representation.listed
        names = [describe_object(self._scenario.types, *cell) for cell in listed.tolist()]
        max_line_length = len(_LONGEST_SENTENCE) + max(map(len, names))
        # a map, and a line for each cell and for the object in hand
        self.space = spaces.Text(
            max_length=height * (width + 1) + (height * width + 1) * max_line_length,
            charset=frozenset(ascii_letters + digits + punctuation + " \n").union(*names),
        )

    def make_arrays(self, *batch_shape: int) -> Arrays:
        """Return new arrays of cells and held objects with zeros, for one observation or for a
        batch of this shape."""
        shapes = {"grid": (*self._shape, 3), "item": (3,), "facing": ()}
        return {name: np.zeros((*batch_shape, *shape), np.uint8) for name, shape in shapes.items()}

    def write(self, out: Arrays, *observed: NDArray[np.uint8]) -> None:
        """Copy the observed cells, held objects and directions into `out`; they become text in
        `to_observation`."""
        for name, array in zip(self.source_arrays, observed, strict=True):
            if array is not out[name]:
                np.copyto(out[name], array)

    def make_shared_arrays(self, *observed: NDArray[Any]) -> Arrays:
        """Return the observed arrays themselves, by name."""
        return dict(zip(self.source_arrays, observed, strict=True))

    def to_observation(self, arrays: Arrays) -> str | tuple[str, ...]:
        """Return the text of the view in `arrays`, or a tuple of texts if they hold many views."""
        views = [arrays[name] for name in self.source_arrays]
        if arrays["item"].ndim == 1:
            return self._format_view(*views)
        return tuple(self._format_view(*view) for view in zip(*views, strict=True))

    def _format_view(self, grid: NDArray[Any], item: NDArray[Any], facing: Any = FORWARD) -> str:
        observer = *self._observer, int(facing)
        return self._view_to_text(grid, item, self._scenario.types, observer)


class FlatEncoder(ObservationEncoder):
    """Encoder of the whole observation as one vector (D,): grid and item as code numbers or
    one-hot, then mission and state vector if the scenario has them.

    Args:
        scenario: scenario that is observed.
        onehot: use one-hot channels instead of cell codes; mission and state stay as they are.
        dtype: "float32", or None for the smallest dtype that holds the numbers.
    """

    buffer_names = ("flat",)
    has_mission = has_state = True
    space: spaces.Box

    def __init__(self, scenario: Scenario, onehot: bool = False, dtype: str | None = None) -> None:
        """Prepare the encoder. With `onehot`, the vector has zeros and ones, else code numbers."""
        if dtype not in (None, "float32"):
            raise ValueError(f"dtype={dtype!r}: allowed are 'float32' and None")
        self._encoder: IndexGrid = OneHotGrid(scenario) if onehot else IndexGrid(scenario, "cells")
        super().__init__(self._encoder._representation)
        boxes: list[Any] = [self._encoder.space["grid"], self._encoder.space["item"]]
        if scenario.missions:
            self.source_arrays = (*self.source_arrays, MISSION)
            boxes.append(spaces.Box(scenario.missions.low, scenario.missions.high, dtype=np.int32))
        if state := scenario.observed_state:
            self.source_arrays = (*self.source_arrays, STATE)
            boxes.append(spaces.Box(state.low, state.high, dtype=state.dtype))
            dtype = "float32" if state.dtype is np.float32 else dtype
        ends = np.cumsum([0, *(box.low.size for box in boxes)])
        self._slices = [slice(*pair) for pair in pairwise(ends.tolist())]
        low = np.concatenate([box.low.ravel() for box in boxes])
        high = np.concatenate([box.high.ravel() for box in boxes])
        smallest = np.result_type(np.min_scalar_type(low.min()), np.min_scalar_type(high.max()))
        box_dtype = np.dtype(dtype or smallest).type
        self.space = spaces.Box(low.astype(box_dtype), high.astype(box_dtype), dtype=box_dtype)
        self._scratch: Arrays = {}  # encoded grids and items, reused

    def write(self, out: Arrays, *observed: NDArray[Any]) -> None:
        """Write the observed grid, item, mission and state one after the other into the vector
        `out["flat"]`."""
        grid, item, *numbers = observed
        batch_shape = item.shape[:-1]
        if not self._scratch or self._scratch["item"].shape[: len(batch_shape)] != batch_shape:
            self._scratch = self._encoder.make_arrays(*batch_shape)
        self._encoder.write(self._scratch, grid, item)
        parts = self._scratch["grid"], self._scratch["item"], *numbers
        for target, part in zip(self._slices, parts, strict=True):
            out["flat"][..., target] = part.reshape(*batch_shape, -1)


class TokenEncoder(ObservationEncoder):
    """Encoder that wraps another one and replaces the `mission` by the token ids of its text:
    (length,) int32, padded with 0.

    Args:
        encoder: encoder of observations with a mission in numbers.
        tokens: converter of the mission's numbers to token ids.
    """

    def __init__(self, encoder: ObservationEncoder, tokens: MissionTokens) -> None:
        """Prepare the encoder around `encoder`. `tokens` maps missions to token ids."""
        super().__init__(encoder._representation)
        self._encoder, self._tokens = encoder, tokens
        parts: Any = encoder.single_observation_space
        ids = spaces.Box(tokens.low, tokens.high, dtype=np.int32)
        self.space = spaces.Dict({**parts.spaces, MISSION: ids})
        self.source_arrays, self.buffer_names = encoder.source_arrays, encoder.buffer_names
        self.recorded, self.shares_memory = encoder.recorded, encoder.shares_memory

    def bind_backend(self, backend: Backend) -> None:
        """Use compiled code for the view if the worlds of this backend are compiled."""
        self._encoder.bind_backend(backend)

    def make_arrays(self, *batch_shape: int) -> Arrays:
        """Return the arrays of the inner encoder, with zeros for token ids as `mission`."""
        ids = np.zeros((*batch_shape, len(self._tokens.low)), np.int32)
        return {**self._encoder.make_arrays(*batch_shape), MISSION: ids}

    def write(self, out: Arrays, *observed: NDArray[Any]) -> None:
        """Write the inner encoder's encoding of the `observed` arrays into the arrays `out`, and
        the token ids of the missions, the last of the `observed` arrays, into `out["mission"]`."""
        self._encoder.write({**out, MISSION: observed[-1]}, *observed)
        out[MISSION][...] = self._tokens.encode(observed[-1])

    def encode(self, *observed: NDArray[Any]) -> Any:
        """Return the observation of one world, see `ObservationEncoder`."""
        observation = self._encoder.encode(*observed)
        return {**observation, MISSION: self._tokens.encode(observed[-1])}


class VectorEncoder(ObservationEncoder):
    """Encoder that wraps another one and adds a vector to its observation, as an array (k,) or as a
    line of text.

    Args:
        encoder: encoder of the other parts of the observation.
        key: name of the vector in observations and in `StepArrays`.
        source: missions or state vector of the scenario.
    """

    def __init__(
        self, encoder: ObservationEncoder, key: str, source: Missions | ObservedState
    ) -> None:
        """Prepare the encoder around `encoder`. The vector that `source` describes is added under
        the name `key`."""
        super().__init__(encoder._representation)
        self._encoder, self._key, self._source = encoder, key, source
        self._box = spaces.Box(source.low, source.high, dtype=source.dtype)
        self.space = self._add_to_space(encoder.space)
        self.source_arrays = *encoder.source_arrays, key
        self.buffer_names = encoder.buffer_names and (*encoder.buffer_names, key)
        self.recorded, self.shares_memory = encoder.recorded, encoder.shares_memory

    @property
    def single_observation_space(self) -> spaces.Space[Any]:
        """Space of one world's observation in a vector environment."""
        return self._add_to_space(self._encoder.single_observation_space)

    def _add_to_space(self, space: spaces.Space[Any]) -> spaces.Space[Any]:
        """Return `space`, the observation space of the wrapped encoder, extended by the vector."""
        if isinstance(space, spaces.Text):
            charset = space.character_set.union(self._source.line_characters, "\n")
            length = space.max_length + 1 + self._source.max_line_length
            return spaces.Text(max_length=length, charset=charset)
        parts: Any = {self._encoder.buffer_names[0]: space}
        if isinstance(space, spaces.Dict):
            parts = space.spaces
        return spaces.Dict({**parts, self._key: self._box})

    def bind_backend(self, backend: Backend) -> None:
        """Use compiled code for the view if the worlds of this backend are compiled."""
        self._encoder.bind_backend(backend)

    def make_arrays(self, *batch_shape: int) -> Arrays:
        """Return the arrays of the inner encoder, and an array with zeros for the vector."""
        vector = np.zeros((*batch_shape, *self._box.shape), self._box.dtype)
        return {**self._encoder.make_arrays(*batch_shape), self._key: vector}

    def make_shared_arrays(self, *observed: NDArray[Any]) -> Arrays:
        """Return arrays for N observations; the vector is the observed array, not a copy."""
        *inner_observed, vector = observed
        return {**self._encoder.make_shared_arrays(*inner_observed), self._key: vector}

    def write(self, out: Arrays, *observed: NDArray[Any]) -> None:
        """Let the wrapped encoder encode the `observed` arrays except the last one, which has the
        vectors; write everything into the arrays `out`."""
        *inner_observed, vector = observed
        self._encoder.write(out, *inner_observed)
        if out[self._key] is not vector:
            np.copyto(out[self._key], vector)

    def to_observation(self, arrays: Arrays) -> Any:
        """Return the inner encoder's observation with the vector."""
        inner = {name: array for name, array in arrays.items() if name != self._key}
        return self._add_vector(self._encoder.to_observation(inner), arrays[self._key])

    def encode(self, *observed: NDArray[Any]) -> Any:
        """Return the observation of one world, see `ObservationEncoder`."""
        *inner_observed, vector = observed
        return self._add_vector(self._encoder.encode(*inner_observed), vector.copy())

    def _add_vector(self, observation: Any, vector: NDArray[Any]) -> Any:
        """Return the wrapped encoder's `observation` with the `vector` (k,) added; for N worlds,
        with the vectors (N, k)."""
        if isinstance(observation, str):
            return "\n".join(filter(None, (observation, self._source.to_line(vector))))
        if isinstance(observation, tuple):  # a text for each world
            pairs = zip(observation, vector, strict=True)
            return tuple(self._add_vector(text, numbers) for text, numbers in pairs)
        if not isinstance(observation, dict):  # an array that had no name before
            observation = {self._encoder.buffer_names[0]: observation}
        return {**observation, self._key: vector}


_ENCODERS: dict[str, Callable[..., ObservationEncoder]] = {
    **{name: partial(IndexGrid, name=name) for name in (*representations.REPRESENTATIONS, "cells")},
    "flat": FlatEncoder,
    "layers": LayeredGrid,
    "onehot": OneHotGrid,
    "pixels": PixelView,
    "text": TextView,
}
_PLUGIN_ENCODERS = {
    name: path for plugin in find_plugins() for name, path in plugin.representations.items()
}
"""Class paths of the encoders of plugins."""
REPRESENTATION_NAMES = *_ENCODERS, *_PLUGIN_ENCODERS
"""Names that `observation_representation` takes."""


def make_encoder(scenario: Scenario, spec: RepresentationSpec) -> ObservationEncoder:
    """Return the encoder that turns what an agent observes into the representation `spec`: a name
    such as "compact", or a mapping with `name` and options.

    With the option `"mission": "tokens"`, for any representation with a separate mission in
    numbers, the mission is given as the token ids of its text.

    Raises:
        ValueError: the name is unknown, or the encoder has no such option or value.
    """
    options = dict(spec) if isinstance(spec, Mapping) else {"name": spec}
    name, mission_option = options.pop("name", None), options.pop("mission", None)
    encoder = _find_encoder_class(name, options)(scenario, **options)
    if scenario.missions and not encoder.has_mission:
        encoder = VectorEncoder(encoder, MISSION, scenario.missions)
    if mission_option is not None:
        encoder = _make_token_encoder(scenario, name, encoder, mission_option)
    if scenario.observed_state and not encoder.has_state:
        encoder = VectorEncoder(encoder, STATE, scenario.observed_state)
    return encoder


def _find_encoder_class(name: Any, options: Iterable[str]) -> Callable[..., ObservationEncoder]:
    """Return the encoder class of the representation called `name`. Raise ValueError if there is
    none, or if it does not take one of `options`."""
    if not isinstance(name, str) or name not in REPRESENTATION_NAMES:
        allowed = describe_allowed(str(name or ""), REPRESENTATION_NAMES)
        raise ValueError(f"no representation {name!r}{allowed}")
    encoder_class: Callable[..., ObservationEncoder]
    encoder_class = _ENCODERS.get(name) or resolve_name(_PLUGIN_ENCODERS[name])
    parameters = signature(encoder_class).parameters
    known = [option for option in parameters if option not in ("scenario", "name")]
    for option in options:
        if option not in known:
            allowed = describe_allowed(option, known) or "; it has none"
            raise ValueError(f"the representation {name!r} has no option {option!r}{allowed}")
    return encoder_class


def _make_token_encoder(
    scenario: Scenario, name: Any, encoder: ObservationEncoder, mission_option: Any
) -> ObservationEncoder:
    """Return an encoder around `encoder` that gives missions as token ids. Raise ValueError unless
    `mission_option`, the option `mission` of the representation `name`, is "tokens" and the
    scenario has missions."""
    if mission_option != "tokens":
        raise ValueError(f"found the option mission={mission_option!r}, allowed is 'tokens'")
    if scenario.missions is None:
        raise ValueError("the scenario has no missions, so that there are no token ids")
    if not isinstance(encoder.single_observation_space, spaces.Dict):
        raise ValueError(f"the representation {name!r} has no separate mission for token ids")
    return TokenEncoder(encoder, scenario.missions.tokens)
