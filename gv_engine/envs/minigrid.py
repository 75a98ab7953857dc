"""MiniGrid's environments, with the attributes, methods and quirks of the reference.

Levels with fewer actions than others treat the missing actions as their first one; wrappers share
the RNG of levels and rules; and an agent that stays in lava dies once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.envs.arg_checks import Seeds
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.minigrid_observations import MINIGRID_DIRECTIONS, encode_minigrid
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.errors import MissingExtraError
from gv_engine.rules.geometry import Area
from gv_engine.scenario.plugin import MINIGRID_PACKAGE
from gv_engine.world.columns import RowWorld
from gv_engine.world.rng import generator_from_row

# ---- objects and grid ----------------------------------------------------------------------------

TYPE_NAMES = (
    *("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava"),
    "agent",
)
"""Names of object types, by MiniGrid's number."""
COLOR_NAMES = "red", "green", "blue", "purple", "yellow", "grey"
"""Names of colours, by MiniGrid's number."""
UNSEEN, EMPTY, BOX = 0, 1, 7
DIRECTIONS: NDArray[np.int64] = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.int64)
"""x and y of one step ahead, by MiniGrid's direction."""

MiniGridActions = IntEnum("MiniGridActions", "left right forward pickup drop toggle done", start=0)


@dataclass(frozen=True)
class GridObject:
    """Copy of an object of a level; for `isinstance`, an instance of MiniGrid's class for its type.

    Attributes:
        type, color: names, see `TYPE_NAMES` and `COLOR_NAMES`.
        state: of a door: 0 open, 1 closed, 2 locked; else 0.
        contains: the object inside a box.
        cur_pos: x and y of its cell; (-1, -1) while it is carried.
    """

    type: str
    color: str
    state: int = 0
    contains: GridObject | None = None
    cur_pos: tuple[int, int] = (-1, -1)

    @property  # type: ignore[misc]  # only `isinstance` reads it
    def __class__(self) -> Any:
        """MiniGrid's class for this type of object, if MiniGrid has been imported, so that
        `isinstance` works."""
        module = sys.modules.get("minigrid.core.world_object")
        return getattr(module, self.type.capitalize(), GridObject)

    @property
    def is_open(self) -> bool:
        """Return True for an open door."""
        return self.type == "door" and self.state == 0

    @property
    def is_locked(self) -> bool:
        """Return True for a locked door."""
        return self.type == "door" and self.state == 2

    def can_overlap(self) -> bool:
        """Return True if the agent can stand on the object."""
        return self.is_open or self.type in ("goal", "floor", "lava")

    def can_pickup(self) -> bool:
        """Return True if the agent can carry the object."""
        return self.type in ("key", "ball", "box")

    def see_behind(self) -> bool:
        """Return True if the agent can see the cells behind the object."""
        return self.is_open or self.type not in ("wall", "door")

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's numbers of type, colour and state."""
        return TYPE_NAMES.index(self.type), COLOR_NAMES.index(self.color), self.state


@dataclass(frozen=True)
class Grid:
    """Read-only copy of the cells of a level, or of the agent's view.

    Attributes:
        codes: (w, h, 3) uint8 type, colour and state of each cell.
        contents: objects inside boxes, by x and y of the box.
    """

    codes: NDArray[np.uint8]
    contents: Mapping[tuple[int, int], GridObject] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.codes)

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.codes[0])

    @property
    def grid(self) -> tuple[GridObject | None, ...]:
        """Objects of all cells, row by row."""
        return tuple(self.get(i, j) for j in range(self.height) for i in range(self.width))

    def get(self, i: int, j: int) -> GridObject | None:
        """Return the object in column `i` of row `j` of the grid; None for an empty cell.

        Raises:
            IndexError: the grid has no such cell.
        """
        if not (0 <= i < self.width and 0 <= j < self.height):
            raise IndexError(f"cell {i}, {j}: the grid has {self.width} x {self.height} cells")
        return grid_object(self.codes[i, j], self.contents.get((i, j)), (int(i), int(j)))

    def encode(self, vis_mask: NDArray[np.bool_] | None = None) -> NDArray[np.uint8]:
        """Return a (w, h, 3) copy of the grid's (type, colour, state) numbers, with zeros where the
        (w, h) mask `vis_mask` is False."""
        seen = True if vis_mask is None else np.asarray(vis_mask)[..., None]
        return np.where(seen, self.codes, np.uint8(0))

    def __contains__(self, key: tuple[str | None, str]) -> bool:
        """Return True if the grid has an object of this (colour, type); with None as the colour, of
        any colour."""
        objects = (thing for thing in self.grid if thing and thing.type == key[1])
        return any(key[0] in (None, thing.color) for thing in objects)

    def _refuse(self, *args: Any, **options: Any) -> Never:
        """Raise an AttributeError that says how to change a level instead; called for every method
        of MiniGrid's grid that writes."""
        raise AttributeError(
            "MiniGrid's grid can only be read: write a scenario that extends the level, or "
            "change a row of env.unwrapped.snapshot() and hand it to restore()"
        )

    set = horz_wall = vert_wall = wall_rect = _refuse


def grid_object(
    code: NDArray[np.uint8], contains: GridObject | None, cell: tuple[int, int] = (-1, -1)
) -> GridObject | None:
    """Return the object with the MiniGrid numbers `code` (type, colour, state), which holds the
    object `contains`, if any; None for an empty cell."""
    kind, color, state = code.tolist()
    if TYPE_NAMES[kind] in ("unseen", "empty", "agent"):
        return None
    return GridObject(TYPE_NAMES[kind], COLOR_NAMES[color], state, contains, cell)


def draw_grid(
    grid: Grid,
    cell: int,
    agent_pos: tuple[int, int],
    agent_dir: int,
    highlight: NDArray[np.bool_] | None,
) -> NDArray[np.uint8]:
    """Return a picture of `grid`, an array of shape (h * cell, w * cell, 3), that MiniGrid's own
    code draws.

    Args:
        grid: cells to draw.
        cell: pixels of a cell's side.
        agent_pos, agent_dir: x, y and direction of the agent.
        highlight: (w, h) True for cells that are brighter.
    """
    from minigrid.core.grid import Grid as MiniGridGrid

    cells, _ = MiniGridGrid.decode(grid.codes)
    picture: NDArray[np.uint8] = cells.render(cell, agent_pos, agent_dir, highlight)
    return picture


# ---- environments --------------------------------------------------------------------------------

_NUM_ACTIONS = 7
_VIEW_SIZE = 7
_FACING_UP = 3
_LEVEL = "write a scenario that extends the level"
_STATE = "change a row of snapshot() and hand it to restore()"
_VIEW = "gen_obs_grid() returns the cells in view, and which of them are seen"
_DRAWS = "np_random draws what the level draws from"
_WINDOW = 'render_mode="human" opens a window that finds its own size'
_MAKE = "hand {} to gymnasium.make"
_REPLACEMENTS = {
    **dict.fromkeys(("place_agent", "place_obj", "put_obj", "_gen_grid"), _LEVEL),
    **dict.fromkeys(("grid", "carrying", "agent_pos", "agent_dir", "step_count"), _STATE),
    **dict.fromkeys(("front_pos", "dir_vec", "right_vec", "mission"), _STATE),
    **dict.fromkeys(("in_view", "agent_sees", "relative_coords"), _VIEW),
    **dict.fromkeys(("get_view_coords", "get_view_exts"), _VIEW),
    **dict.fromkeys(("_rand_int", "_rand_float", "_rand_bool", "_rand_pos"), _DRAWS),
    **dict.fromkeys(("_rand_elem", "_rand_subset", "_rand_color"), _DRAWS),
    **dict.fromkeys(("screen_size", "window", "clock", "render_size"), _WINDOW),
    **{name: _MAKE.format(name) for name in ("max_steps", "agent_view_size", "tile_size")},
    **{name: _MAKE.format("size, where the level takes it,") for name in ("width", "height")},
    "highlight": _MAKE.format("highlight"),
    "actions": "action_space has the numbers that the level takes",
    "agent_pov": "get_frame(agent_pov=True) draws the view",
    "get_pov_render": "get_frame(agent_pov=True) draws the view",
    "get_full_render": "get_frame() draws the level",
    "pprint_grid": 'render() with render_mode="ansi" returns the level as text',
    "see_through_walls": f'{_LEVEL} with observation_function: {{name: "fully_transparent"}}',
    "steps_remaining": "max_steps - step_count",
    "_reward": 'info["reward_terms"] has the reward of each step',
    "reward_range": "rewards are 0 to 1, in Dynamic-Obstacles -1 to 1",
}
"""Replacements for attributes of MiniGrid's environments that are missing or read-only here."""


def _view_area(size: int) -> Area:
    """Return the cells of MiniGrid's view with `size` rows and columns, relative to the agent.

    Raises:
        ValueError: MiniGrid has no view of this size.
    """
    if size not in range(3, 256, 2):
        raise ValueError(f"agent_view_size={size!r}: allowed are odd numbers from 3 to 255")
    return Area(1 - size, 0, -(size // 2), size // 2)


def _with_view_size(scenario: Any, size: int) -> Any:
    """Return `scenario`, or its name, changed so that the agent's view has `size` rows and
    columns."""
    area = _view_area(size)
    if size == _VIEW_SIZE:
        return scenario
    observation = {"area": [[area.ymin, area.ymax], [area.xmin, area.xmax]]}
    return {"name": scenario, "extends": scenario, "observation_function": observation}


class MiniGridEnv(GridEnv):
    """`GridEnv` with one world of a MiniGrid level, and with MiniGrid's attributes and methods.

    Attributes and methods that MiniGrid's wrappers read have MiniGrid's names and values; they
    cannot be set. `reset` ignores options, as MiniGrid does.

    Args:
        scenario, render_mode, options: as for `GridEnv`.
        agent_view_size: rows and columns of the view, an odd number.
        tile_size: pixels of a cell's side in "rgb_array" pictures; with `tile_size` or `highlight`
            set, MiniGrid itself draws them, see `get_frame`.
        highlight: pictures show the cells that the agent sees.
    """

    _is_rng_shared = False  # whether wrappers may have used the RNG since the world's last step
    _has_ended = False  # whether the last step has ended the episode
    actions = MiniGridActions

    def __init__(
        self,
        scenario: Any,
        render_mode: str | None = None,
        *,
        agent_view_size: int = _VIEW_SIZE,
        tile_size: int | None = None,
        highlight: bool | None = None,
        **options: Any,
    ) -> None:
        """Make the world and the spaces, with MiniGrid's view of `agent_view_size` cells;
        `tile_size` and `highlight` let MiniGrid's own code draw the pictures."""
        super().__init__(_with_view_size(scenario, agent_view_size), render_mode, **options)
        self._draws_like_minigrid = tile_size is not None or highlight is not None
        self._tile_size = tile_size or 32
        self._highlight = highlight is not False
        self._shows_view = options.get("observation_representation") == "minigrid"
        self._views: dict[int, GridEnv] = {}

    def __getattr__(self, name: str) -> Any:
        """Raise an AttributeError; for an attribute that only MiniGrid's environments have, it says
        what to use instead."""
        if name in _REPLACEMENTS:
            raise AttributeError(f"MiniGrid's {name} does not exist here: {_REPLACEMENTS[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; raise an AttributeError for those that MiniGrid's code would set but
        that are read-only here."""
        if name in _REPLACEMENTS:
            raise AttributeError(f"MiniGrid's {name} cannot be set: {_REPLACEMENTS[name]}")
        super().__setattr__(name, value)

    @property
    def agent_view_size(self) -> int:
        """Number of rows and columns of the view."""
        return self.scenario.area.shape[0]

    @property
    def tile_size(self) -> int:
        """Pixels of a cell's side in MiniGrid's pictures."""
        return self._tile_size

    @property
    def highlight(self) -> bool:
        """True if MiniGrid's pictures show the cells that the agent sees."""
        return self._highlight

    @property
    def np_random(self) -> np.random.Generator:
        """Random number generator of the level and its rules; a wrapper that samples from it
        changes the episode."""
        if self._started and not self._is_rng_shared:
            self._np_random, self._is_rng_shared = generator_from_row(self._row["rng"]), True
        return super().np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        """Set the random number generator of the level and its rules."""
        self._np_random, self._np_random_seed, self._is_rng_shared = generator, -1, True

    @property
    def max_steps(self) -> int | None:
        """Step limit of the episode."""
        return self.scenario.step_limit(self._world) if self._started else self.scenario.max_steps

    @property
    def step_count(self) -> int:
        """Steps since the level began."""
        return int(self._batch.outputs.lengths.item())

    @property
    def width(self) -> int:
        """Columns of the grid."""
        return int(self._row["width"])

    @property
    def height(self) -> int:
        """Rows of the grid."""
        return int(self._row["height"])

    @property
    def agent_pos(self) -> tuple[int, int]:
        """x and y of the agent."""
        position = self._row["position"]
        return int(position["x"][AGENT]), int(position["y"][AGENT])

    @property
    def agent_dir(self) -> int:
        """Direction of the agent, as in `direction` of an observation."""
        return int(MINIGRID_DIRECTIONS[self._row["agent"]["facing"][AGENT]])

    @property
    def dir_vec(self) -> NDArray[np.int64]:
        """(2,) unit vector (x, y) of the agent's direction."""
        x, y = DIRECTIONS[self.agent_dir]
        return np.array([x, y])

    @property
    def front_pos(self) -> NDArray[np.int64]:
        """(2,) x and y of the cell in front of the agent."""
        return np.add(self.agent_pos, self.dir_vec)

    @property
    def grid(self) -> Grid:
        """Copy of the current level as a MiniGrid grid."""
        world = self._world
        codes = encode_minigrid(world.cells().swapaxes(0, 1))
        boxes = np.argwhere(codes[..., 0] == BOX).tolist()
        contents = {(x, y): self._copy_content(world, world.at[y, x]) for x, y in boxes}
        return Grid(codes, {cell: content for cell, content in contents.items() if content})

    @property
    def carrying(self) -> GridObject | None:
        """Copy of the object that the agent holds; None if the agent holds nothing."""
        world = self._world
        return self._copy_object(world, world.agent.holding[AGENT])

    def _copy_object(self, world: RowWorld, entity: int) -> GridObject | None:
        """Return a copy of the entity number `entity` in `world` as a MiniGrid object, with the
        object inside it; None for NOTHING."""
        if entity == NOTHING:
            return None
        code = encode_minigrid(np.array(world.appearance(entity)))
        return grid_object(code, self._copy_content(world, entity))

    def _copy_content(self, world: RowWorld, entity: int) -> GridObject | None:
        """Return a copy of the object inside the box number `entity`; None if the box is empty or
        the entity is no box."""
        box = world.box
        return self._copy_object(world, box.content[entity]) if box.has[entity] else None

    def gen_obs(self) -> dict[str, Any]:
        """Return the current observation: `image`, `direction` and `mission`."""
        return self._observe(self.agent_view_size)

    def gen_obs_grid(self, agent_view_size: int | None = None) -> tuple[Grid, NDArray[np.bool_]]:
        """Return the cells in the agent's view as a grid, and a (w, h) mask that is True for the
        cells that the agent sees.

        Args:
            agent_view_size: rows and columns of the view; None for those of the environment.
        """
        image = self._observe(agent_view_size or self.agent_view_size)["image"]
        seen = image[..., 0] != UNSEEN
        image[~seen] = EMPTY, 0, 0
        return Grid(image), seen

    def _observe(self, size: int) -> dict[str, Any]:
        """Return the observation in MiniGrid's format, for a view with `size` rows and columns."""
        started = self.step_count > 0
        if started and size == self.agent_view_size and self._shows_view:
            return dict(self._observation())
        if size not in self._views:
            scenario = self.scenario.with_(area=_view_area(size))
            shown = "minigrid"
            self._views[size] = GridEnv(scenario, None, "object", observation_representation=shown)
        view = self._views[size]
        row = self._row
        row["steps"] += not started  # the first observation may show an object that is in hand now
        view._batch.restore(0, row, trusted=True)
        observation: dict[str, Any] = view._observation()
        return observation

    def get_frame(
        self, highlight: bool = True, tile_size: int = 32, agent_pov: bool = False
    ) -> NDArray[np.uint8]:
        """Return a picture that MiniGrid's own code draws, of shape (h * tile_size, w * tile_size,
        3).

        Args:
            highlight: brighten the cells of the level that the agent sees.
            tile_size: pixels of a cell's side.
            agent_pov: draw the view instead of the level, with the agent facing up.

        Raises:
            MissingExtraError: MiniGrid is not installed.
        """
        if MINIGRID_PACKAGE.missing_message:
            raise MissingExtraError(
                f"{MINIGRID_PACKAGE.missing_message}; observation_representation='pixels' and "
                "render_mode='rgb_array' draw without it, in another style"
            )
        size = self.agent_view_size
        view, seen = self.gen_obs_grid()
        if agent_pov:
            return draw_grid(view, tile_size, (size // 2, size - 1), _FACING_UP, seen)
        lit = np.zeros((self.width, self.height), np.bool_)
        if highlight:
            (dx, dy), (right, down) = self.dir_vec, np.argwhere(seen).T
            ahead, aside = size - 1 - down, right - size // 2
            x, y = self.agent_pos
            x, y = x + dx * ahead - dy * aside, y + dy * ahead + dx * aside
            inside = (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height)
            lit[x[inside], y[inside]] = True
        return draw_grid(self.grid, tile_size, self.agent_pos, self.agent_dir, lit)

    def render(self) -> Any:
        """Return a picture of the world: MiniGrid's own if `tile_size` or `highlight` was set, and
        the picture of `GridEnv.render` if not."""
        if self.render_mode == "rgb_array" and self._draws_like_minigrid and self._started:
            return self.get_frame(self._highlight, self._tile_size)
        return super().render()

    def hash(self, size: int = 16) -> str:
        """Return `size` hexadecimal digits that identify the state of level and agent, equal to
        those of MiniGrid."""
        state = self.grid.encode().tolist(), tuple(np.array(self.agent_pos)), self.agent_dir
        return sha256("".join(map(str, state)).encode()).hexdigest()[:size]

    @property
    def _world(self) -> RowWorld:
        """Read-only world over the current row."""
        return RowWorld(self.scenario.layout, self._row)

    @property
    def _row(self) -> NDArray[Any]:
        """Record (row) of the world's current state, a copy."""
        return self._batch.snapshot(0)

    def snapshot(self) -> NDArray[Any]:
        """Return the whole state of the world as one record (row). If wrappers have used
        `np_random`, the record has the resulting state of the generator."""
        self._sync_rng()
        return super().snapshot()

    def restore(self, row: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
        """Set the world to the state in `row`, a record from `snapshot`, as `GridEnv.restore`
        does."""
        self._is_rng_shared = self._has_ended = False
        return super().restore(row)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode with a new random level, as `GridEnv.reset` does; `options` are
        ignored."""
        self._sync_rng()
        self._is_rng_shared = True  # the seeded RNG is not in the row yet
        results = super().reset(seed=seed)
        self._is_rng_shared = self._has_ended = False
        return results

    def _step_batch(self, action: int) -> None:
        """Copy the state of `np_random`, which wrappers may have used, back into the world; then
        step the world by the action with the index `action`."""
        self._sync_rng()
        super()._step_batch(action)

    def _sync_rng(self) -> None:
        """Copy the state of `np_random` back into the world, in case wrappers have taken random
        numbers from it."""
        if self._started and self._is_rng_shared:
            self._batch.set_generator(0, self.np_random)
            self._is_rng_shared = False

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply the agent's action as `GridEnv.step` does; after an episode has ended in lava,
        report the end only once."""
        before = self.agent_pos if self._has_ended else None
        observation, reward, terminated, truncated, info = super().step(action)
        self._has_ended = terminated
        if terminated and before == self.agent_pos:
            stands_on = self.grid.get(*before)
            terminated = stands_on is None or stands_on.type != "lava"
        return observation, reward, terminated, truncated, info

    def _check_action(self, action: Any) -> int:
        """Return the action as an integer; 0 for an action of MiniGrid that this level does not
        have."""
        if isinstance(action, np.ndarray) and action.size == 1:
            action = action.item()
        lacking = self.num_actions < _NUM_ACTIONS and isinstance(action, int | np.integer)
        return super()._check_action(0 if lacking and action >= self.num_actions else action)


class MiniGridVectorEnv(GridVectorEnv):
    """`GridVectorEnv` with N worlds of a MiniGrid level, which takes MiniGrid's actions.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`.
        agent_view_size: rows and columns of the view, an odd number.
    """

    def __init__(
        self, scenario: Any, num_envs: int = 1, *, agent_view_size: int = _VIEW_SIZE, **options: Any
    ) -> None:
        """Make the worlds and the observation and action spaces; the class says what each argument
        means."""
        super().__init__(_with_view_size(scenario, agent_view_size), num_envs, **options)

    def _check_reset_arguments(
        self, seed: Seeds, options: dict[str, Any] | None
    ) -> tuple[list[int | None], NDArray[np.bool_]]:
        """Return the seed of each world and the mask of the worlds to reset; options other than
        `reset_mask` are ignored."""
        known = {key: mask for key, mask in (options or {}).items() if key == "reset_mask"}
        return super()._check_reset_arguments(seed, known)

    def _check_actions(self, actions: ArrayLike) -> NDArray[np.int64]:
        """Return the actions as an (N,) int64 array; 0 replaces actions of MiniGrid that this level
        does not have."""
        if self.num_actions < _NUM_ACTIONS:
            actions = np.where(np.asarray(actions) < self.num_actions, actions, 0)
        return super()._check_actions(actions)
