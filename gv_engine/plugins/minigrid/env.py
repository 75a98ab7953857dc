"""MiniGrid's environments, with the attributes, methods and quirks of the reference.

Levels with fewer actions than others treat the missing actions as their first one; wrappers share
the RNG of levels and rules; and an agent that stays in lava dies once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.envs.arg_checks import Seeds
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.minigrid.extras import MINIGRID_PACKAGE
from gv_engine.plugins.minigrid.instructions import make_instructions
from gv_engine.plugins.minigrid.names import NAMES_IN_MINIGRID, REPLACEMENTS
from gv_engine.plugins.minigrid.objects import (
    DIRECTIONS,
    EMPTY,
    UNSEEN,
    Grid,
    GridObject,
    MiniGridActions,
    draw_grid,
    make_object,
    spawn_object,
    write_object,
)
from gv_engine.plugins.minigrid.observations import MINIGRID_DIRECTIONS, encode_minigrid
from gv_engine.plugins.minigrid.rooms import Room, RoomGrid
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.errors import MissingExtraError
from gv_engine.rules.geometry import Area
from gv_engine.world.columns import RowWorld
from gv_engine.world.rng import generator_from_row
from gv_engine.world.world import ObjectWorld

_NUM_ACTIONS = 7
_VIEW_SIZE = 7
_FACING_UP = 3
_GOAL = 8


def _view_area(size: int) -> Area:
    if size not in range(3, 256, 2):
        raise ValueError(f"agent_view_size={size!r}: allowed are odd numbers from 3 to 255")
    return Area(1 - size, 0, -(size // 2), size // 2)


def _with_view_size(scenario: Any, size: int) -> Any:
    """Return a mapping for a scenario that extends `scenario` and has a view of `size` rows and
    columns. If that is MiniGrid's usual size, return `scenario` itself."""
    area = _view_area(size)
    if size == _VIEW_SIZE:
        return scenario
    observation = {"area": [[area.ymin, area.ymax], [area.xmin, area.xmax]]}
    return {"name": scenario, "extends": scenario, "observation_function": observation}


class MiniGridEnv(GridEnv):
    """`GridEnv` with one world of a MiniGrid level, and with MiniGrid's attributes and methods.

    Attributes and methods that MiniGrid's wrappers read have MiniGrid's names and values. Setting
    `agent_pos`, `agent_dir`, `carrying` and `step_count`, `grid.set` and `put_obj` change the
    level. `reset` ignores options, as MiniGrid does.

    Args:
        scenario, render_mode, options: as for `GridEnv`.
        agent_view_size: rows and columns of the view, an odd number.
        tile_size: pixels of a cell's side in "rgb_array" pictures; with `tile_size` or `highlight`
            set, MiniGrid itself draws them, see `get_frame`.
        highlight: pictures show the cells that the agent sees.
        descriptions: let `info["descriptions"]` have the `descriptions` of each observation.
    """

    _is_rng_shared = False  # True if wrappers may have used the RNG since the world's last step
    _objects: dict[int, GridObject]  # of the episode, by entity
    _instructions: Any = None  # MiniGrid's object for the mission, once it is read
    _cached_row: NDArray[Any] | None = None  # of the current state, until it changes
    _cached_grid: Grid | None = None
    _has_ended = False  # True if the last step has ended the episode
    actions = MiniGridActions

    def __init__(
        self,
        scenario: Any,
        render_mode: str | None = None,
        *,
        agent_view_size: int = _VIEW_SIZE,
        tile_size: int | None = None,
        highlight: bool | None = None,
        descriptions: bool = False,
        **options: Any,
    ) -> None:
        """Make the world and the spaces, with a view of `agent_view_size` cells as in MiniGrid. If
        `tile_size` or `highlight` is given, MiniGrid's own code draws the pictures."""
        super().__init__(_with_view_size(scenario, agent_view_size), render_mode, **options)
        self._draws_like_minigrid = tile_size is not None or highlight is not None
        self._tile_size = tile_size or 32
        self._highlight = highlight is not False
        self._is_minigrid_view = options.get("observation_representation") == "minigrid"
        # environments that encode this world's state, by size of the view and representation
        self._encoding_envs: dict[tuple[int, str], GridEnv] = {}
        self._has_descriptions = descriptions
        self._objects = {}

    def __getattr__(self, name: str) -> Any:
        """Return a parameter of the level under the name that it has in MiniGrid's environments.
        Other unknown attributes raise AttributeError.

        Raises:
            AttributeError: there is none; for an attribute that only MiniGrid's environments have,
                the message says what to use instead.
        """
        if name in NAMES_IN_MINIGRID and NAMES_IN_MINIGRID[name] in self._parameters:
            return self._parameters[NAMES_IN_MINIGRID[name]]
        if name in REPLACEMENTS:
            raise AttributeError(f"MiniGrid's {name} does not exist here: {REPLACEMENTS[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; raise an AttributeError for those that MiniGrid's code would set but
        that are read-only here."""
        if name in REPLACEMENTS:
            raise AttributeError(f"MiniGrid's {name} cannot be set: {REPLACEMENTS[name]}")
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
    def _parameters(self) -> dict[str, Any]:
        return {each.name: each.value for each in self.scenario.document.parameters}

    @property
    def max_steps(self) -> int | None:
        """Step limit of the episode; before the first reset, 0 if the mission sets it."""
        if self._started:
            return self.scenario.step_limit(self._world)
        return self._parameters.get("max_steps", self.scenario.max_steps)

    @cached_property
    def _example(self) -> MiniGridEnv:
        example = type(self)(self.scenario, world="object")
        example.reset(seed=0)
        return example

    @property
    def step_count(self) -> int:
        """Steps since the level began; setting it changes the state."""
        return int(self._row["steps"])

    @step_count.setter
    def step_count(self, steps: int) -> None:
        with self._edit_world() as world:
            world.steps = int(steps)

    @property
    def steps_remaining(self) -> int:
        """Steps until the step limit."""
        return (self.max_steps or 0) - self.step_count

    @property
    def width(self) -> int:
        """Columns of the grid; before the first reset, of the largest grid of the scenario."""
        return int(self._row["width"]) if self._started else self.scenario.largest_shape[1]

    @property
    def height(self) -> int:
        """Rows of the grid; before the first reset, of the largest grid of the scenario."""
        return int(self._row["height"]) if self._started else self.scenario.largest_shape[0]

    @property
    def mission(self) -> str:
        """Mission of the agent as text; before the first reset, that of an example."""
        return super().mission if self._started else self._example.mission

    @property
    def agent_pos(self) -> Any:
        """Position (x, y) of the agent; None before the first reset. Setting it moves the agent."""
        if not self._started:
            return None
        position = self._row["position"]
        return int(position["x"][AGENT]), int(position["y"][AGENT])

    @agent_pos.setter
    def agent_pos(self, cell: Iterable[int]) -> None:
        x, y = map(int, cell)
        if not (0 <= x < self.width and 0 <= y < self.height):
            raise ValueError(f"agent_pos={(x, y)}: the grid has {self.width} x {self.height} cells")
        with self._edit_world() as world:
            world.stand(AGENT, y, x)

    @property
    def agent_dir(self) -> Any:
        """Direction of the agent, as in `direction` of an observation, None before the first reset;
        setting it turns the agent."""
        if not self._started:
            return None
        return int(MINIGRID_DIRECTIONS[self._row["agent"]["facing"][AGENT]])

    @agent_dir.setter
    def agent_dir(self, direction: int) -> None:
        if direction not in range(4):
            raise ValueError(f"agent_dir={direction!r}: allowed are 0 to 3")
        with self._edit_world() as world:
            world.agent.facing[AGENT] = MINIGRID_DIRECTIONS.tolist().index(direction)

    @property
    def dir_vec(self) -> NDArray[np.int64]:
        """(2,) unit vector (x, y) of the agent's direction."""
        if not self._started:
            raise ValueError("call reset() first: before that, the agent has no direction")
        vector: NDArray[np.int64] = DIRECTIONS[self.agent_dir]
        return vector.copy()

    @property
    def right_vec(self) -> NDArray[np.int64]:
        """(2,) unit vector (x, y) to the right of the agent."""
        x, y = self.dir_vec
        return np.array([-y, x])

    @property
    def front_pos(self) -> NDArray[np.int64]:
        """(2,) x and y of the cell in front of the agent."""
        front: NDArray[np.int64] = self.dir_vec + self.agent_pos
        return front

    @property
    def goal_pos(self) -> tuple[int, int]:
        """Position (x, y) of the first goal in the level, searched column by column. Before the
        first reset, it is that of an example level.

        Raises:
            AttributeError: the level has no goal.
        """
        if not self._started:
            return self._example.goal_pos
        goals = np.argwhere(self.grid.codes[..., 0] == _GOAL).tolist()
        if not goals:
            raise AttributeError("this level has no goal, whose cell goal_pos would be")
        x, y = goals[0]
        return x, y

    @property
    def goal_position(self) -> tuple[int, int] | None:
        """x and y of the first goal of the level, None before the first reset."""
        return self.goal_pos if self._started else None

    @property
    def grid(self) -> Grid:
        """Copy of the current level as a MiniGrid grid. Its method `set` also changes the level."""
        if self._cached_grid is not None:
            return self._cached_grid
        world = self._world
        codes = np.zeros((self.width, self.height, 3), np.uint8)
        codes[...] = EMPTY, 0, 0
        if self._started:
            codes[...] = encode_minigrid(world.cells().swapaxes(0, 1))
        at = world.at.tolist()

        def find(x: int, y: int) -> GridObject | None:
            return self._get_object(world, at[y][x], (x, y))

        grid = Grid(codes, find, self._replace_objects)
        self._cached_grid = grid if self._started else None
        return grid

    @property
    def carrying(self) -> GridObject | None:
        """Object that the agent holds; None if it holds nothing. Setting it gives the agent a new
        object of the same kind."""
        if not self._started:
            return None
        world = self._world
        return self._get_object(world, world.agent.holding[AGENT])

    @carrying.setter
    def carrying(self, thing: Any) -> None:
        with self._edit_world() as world:
            if (held := world.agent.holding[AGENT]) != NOTHING:
                world.agent.holding[AGENT] = NOTHING
                world.remove(held)
            if thing is not None:
                world.agent.holding[AGENT] = spawn_object(world, thing)

    def put_obj(self, obj: Any, i: int, j: int) -> None:
        """Put an object into column `i` of row `j` of the level, as `grid.set` does."""
        self.grid.set(i, j, obj)

    def _replace_objects(self, cells: Iterable[tuple[int, int]], thing: Any) -> None:
        """Put a new object like `thing` into each of the cells (x, y), replacing what is there.
        None clears the cells."""
        with self._edit_world() as world:
            for x, y in cells:
                if (e := world.at[y, x]) != NOTHING:
                    world.remove(e)
                if thing is not None:
                    world.place(spawn_object(world, thing), y, x)

    @contextmanager
    def _edit_world(self) -> Iterator[ObjectWorld]:
        """Context manager that yields an object world with the current state for editing. At the
        end of the block, the edited state becomes the current one, and an ended episode
        continues."""
        if not self._started:
            raise ValueError("call reset() before the level is changed")
        self._sync_rng()
        world = ObjectWorld(self.scenario.layout)
        world.restore(self._row)
        yield world
        row = world.snapshot()
        row["done"] = row["terminated"] = row["truncated"] = 0
        self._batch.restore(0, row, trusted=True)
        self._clear_cache()

    def _get_object(
        self, world: RowWorld, entity: int, cell: tuple[int, int] = (-1, -1)
    ) -> GridObject | None:
        """Return an entity of `world` as a MiniGrid object in the cell (x, y), including the object
        inside it. None if the entity is NOTHING."""
        if entity == NOTHING:
            return None
        new = make_object(encode_minigrid(np.array(world.appearance(entity))), cell)
        known = self._objects.setdefault(int(entity), new)
        if known.type != new.type:  # the number of a removed entity is used again
            known = self._objects[int(entity)] = new
        known.color, known.state, known.cur_pos = new.color, new.state, cell
        if world.box.has[entity]:
            known.contains = self._get_object(world, world.box.content[entity])
        return known

    def gen_obs(self) -> dict[str, Any]:
        """Return the current observation: `image`, `direction` and `mission`."""
        observation: dict[str, Any] = self._observe(self.agent_view_size)
        return observation

    def gen_obs_grid(self, agent_view_size: int | None = None) -> tuple[Grid, NDArray[np.bool_]]:
        """Return the cells in the agent's view as a grid, and a (w, h) mask that is True for the
        cells that the agent sees.

        Args:
            agent_view_size: rows and columns of the view; None for those of the environment.
        """
        image: NDArray[np.uint8] = self._observe(agent_view_size or self.agent_view_size)["image"]
        seen = image[..., 0] != UNSEEN
        image[~seen] = EMPTY, 0, 0
        return Grid(image), seen

    @property
    def descriptions(self) -> list[str]:
        """Sentences of BabyAI-Text about what the agent sees and carries."""
        text = self._observe(self.agent_view_size, "text", style="sentences")
        return [line for line in text.splitlines() if line.startswith("You ")]

    def _info(self) -> dict[str, Any]:
        info = super()._info()
        return info | {"descriptions": self.descriptions} if self._has_descriptions else info

    def _observe(self, size: int, representation: str = "minigrid", **options: Any) -> Any:
        """Return the observation of the current state for a view of `size` rows and columns, in
        this representation."""
        is_first = self.step_count == 0
        is_own_view = self._is_minigrid_view and size == self.agent_view_size
        if is_own_view and representation == "minigrid" and not is_first:
            return dict(self._observation())
        key = size, representation
        if key not in self._encoding_envs:
            scenario = self.scenario.with_(area=_view_area(size))
            spec = {"name": representation, **options}
            env = GridEnv(scenario, None, "object", observation_representation=spec)
            self._encoding_envs[key] = env
        env = self._encoding_envs[key]
        row = self._row.copy()
        if is_first:  # the first observation may show an object that is in hand now
            row["steps"] += 1
        env._batch.restore(0, row, trusted=True)
        return env._observation()

    def get_frame(
        self, highlight: bool = True, tile_size: int = 32, agent_pov: bool = False
    ) -> NDArray[np.uint8]:
        """Return an image drawn by MiniGrid's own code, (h * tile_size, w * tile_size, 3).

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
        view, seen = self.gen_obs_grid()
        if agent_pov:
            size = self.agent_view_size
            return draw_grid(view, tile_size, (size // 2, size - 1), _FACING_UP, seen)
        highlighted = self._map_to_grid(seen & highlight)
        return draw_grid(self.grid, tile_size, self.agent_pos, self.agent_dir, highlighted)

    def _map_to_grid(self, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Convert a mask of the cells in the agent's view to a (width, height) mask of the cells in
        the level."""
        size = self.agent_view_size
        columns, rows = np.argwhere(seen).T
        ahead, aside = size - 1 - rows, columns - size // 2
        (dx, dy), (x, y) = self.dir_vec, self.agent_pos
        xs, ys = x + dx * ahead - dy * aside, y + dy * ahead + dx * aside
        is_inside = (xs >= 0) & (xs < self.width) & (ys >= 0) & (ys < self.height)
        mask = np.zeros((self.width, self.height), np.bool_)
        mask[xs[is_inside], ys[is_inside]] = True
        return mask

    def get_pov_render(self, tile_size: int) -> NDArray[np.uint8]:
        """Return the agent's view as MiniGrid draws it, see `get_frame`."""
        return self.get_frame(tile_size=tile_size, agent_pov=True)

    def get_full_render(self, highlight: bool, tile_size: int) -> NDArray[np.uint8]:
        """Return the level as MiniGrid draws it, see `get_frame`."""
        return self.get_frame(highlight, tile_size)

    def get_view_coords(self, i: int, j: int) -> tuple[int, int]:
        """Convert a cell of the level in column `i` and row `j` to column and row in the agent's
        view. The cell may be outside the view."""
        offset = np.subtract((i, j), self.agent_pos)
        size = self.agent_view_size
        aside, ahead = int(offset @ self.right_vec), int(offset @ self.dir_vec)
        return size // 2 + aside, size - 1 - ahead

    def relative_coords(self, x: int, y: int) -> tuple[int, int] | None:
        """Return column and row of a cell in the agent's view; None for cells outside the view."""
        i, j = self.get_view_coords(x, y)
        size = self.agent_view_size
        return (i, j) if 0 <= i < size and 0 <= j < size else None

    def in_view(self, x: int, y: int) -> bool:
        """Return True if a cell is in the agent's view, seen or not."""
        return self.relative_coords(x, y) is not None

    def agent_sees(self, x: int, y: int) -> bool:
        """Return True if the cell in column `x` and row `y` contains an object that the agent
        sees."""
        view_cell = self.relative_coords(x, y)
        if view_cell is None:
            return False
        view, seen = self.gen_obs_grid()
        return bool(seen[view_cell]) and view.get(*view_cell) is not None

    def get_view_exts(self, agent_view_size: int | None = None) -> tuple[int, int, int, int]:
        """Return the bounds (left, top, right, bottom) of the agent's view in the level. Right and
        bottom are exclusive.

        Args:
            agent_view_size: rows and columns of the view; None for those of the environment.
        """
        size = agent_view_size or self.agent_view_size
        x, y = self.agent_pos
        left, top = {
            0: (x, y - size // 2),
            1: (x - size // 2, y),
            2: (x - size + 1, y - size // 2),
            3: (x - size // 2, y - size + 1),
        }[self.agent_dir]
        return left, top, left + size, top + size

    @property
    def see_through_walls(self) -> bool:
        """True if walls do not block the agent's view."""
        return self.scenario.visibility.name == "fully_transparent"

    # ---- rooms and instructions of RoomGrid and BabyAI -------------------------------------------

    @cached_property
    def _rooms(self) -> RoomGrid:
        return RoomGrid.of(self.scenario, self.width, self.height)

    @property
    def room_size(self) -> int:
        """Rows and columns of a room, walls included."""
        return self._rooms.size

    @property
    def num_rows(self) -> int:
        """Rows of rooms."""
        return self._rooms.rows

    @property
    def num_cols(self) -> int:
        """Columns of rooms."""
        return self._rooms.columns

    @property
    def room_grid(self) -> list[list[Room]]:
        """Rooms of the level, row by row."""
        return [[self.get_room(i, j) for i in range(self.num_cols)] for j in range(self.num_rows)]

    def get_room(self, i: int, j: int) -> Room:
        """Return the room in column `i` and row `j` of the level's grid of rooms."""
        room, grid = self._rooms.get(i, j), self.grid

        def find_door(cells: Iterable[tuple[int, int]]) -> GridObject | None:
            objects = (grid.get(x, y) for x, y in cells)
            return next((thing for thing in objects if thing and thing.type == "door"), None)

        return replace(room, doors=tuple(map(find_door, room.list_walls())))

    def room_from_pos(self, x: int, y: int) -> Room:
        """Return the room with a cell; a wall belongs to the room on its right or below it."""
        return self.get_room(x // (self.room_size - 1), y // (self.room_size - 1))

    @property
    def instrs(self) -> Any:
        """MiniGrid's instruction object for the mission of the current episode.

        It finds its objects when it is first read in an episode, which must be before the first
        step for descriptions such as "on your left".

        Raises:
            MissingExtraError: MiniGrid is not installed.
            AttributeError: the mission is none of BabyAI's.
        """
        if self._instructions is None:
            has_progress = "progress" in (self.scenario.layout.dtype.names or ())
            strict = has_progress and bool(self._row["progress"]["strict"][AGENT])
            self._instructions = make_instructions(self.mission, strict)
            self._instructions.reset_verifier(self)
        return self._instructions

    def update_objs_poss(self, instr: Any = None) -> None:
        """Update the positions that an instruction stores for its objects. By default, it is
        `instrs`."""
        instr = instr or self.instrs
        parts = [getattr(instr, name, None) for name in ("instr_a", "instr_b")]
        if None in parts:
            instr.update_objs_poss()
        else:
            for part in parts:
                self.update_objs_poss(part)

    def render(self) -> Any:
        """Return a picture of the world: MiniGrid's own if `tile_size` or `highlight` was set, and
        the picture of `GridEnv.render` if not."""
        if self.render_mode == "rgb_array" and self._draws_like_minigrid and self._started:
            return self.get_frame(self._highlight, self._tile_size)
        return super().render()

    def pprint_grid(self) -> str:
        """Return the level as text with two characters per cell: type and colour of the object, or
        the agent's direction. `_` is an open door, `L` a locked one.

        Raises:
            ValueError: there is no level before the first reset.
        """
        if not self._started:
            raise ValueError(
                "The environment hasn't been `reset` therefore the `agent_pos`, `agent_dir` or "
                "`grid` are unknown."
            )
        grid = self.grid
        cells = {(x, y): write_object(grid.get(x, y)) for x, y in np.ndindex(grid.codes.shape[:2])}
        cells[self.agent_pos] = 2 * ">V<^"[self.agent_dir]
        lines = ("".join(cells[x, y] for x in range(self.width)) for y in range(self.height))
        return "\n".join(lines)

    def hash(self, size: int = 16) -> str:
        """Return `size` hexadecimal digits that identify the state of level and agent, equal to
        those of MiniGrid."""
        state = self.grid.encode().tolist(), tuple(np.array(self.agent_pos)), self.agent_dir
        return sha256("".join(map(str, state)).encode()).hexdigest()[:size]

    @property
    def _world(self) -> RowWorld:
        return RowWorld(self.scenario.layout, self._row)

    @property
    def _row(self) -> NDArray[Any]:
        if self._cached_row is None:
            self._cached_row = self._batch.snapshot(0)
        return self._cached_row

    def _clear_cache(self) -> None:
        self._cached_row = self._cached_grid = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling and copying, without what can be read again."""
        self._clear_cache()
        return {**super().__getstate__(), "_objects": {}, "_instructions": None}

    def snapshot(self) -> NDArray[Any]:
        """Return the whole state of the world as one record (row). If wrappers have used
        `np_random`, the record has the resulting state of the generator."""
        self._sync_rng()
        return super().snapshot()

    def restore(self, row: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
        """Restore the world from `row`, a record that `snapshot` returned, and return observation
        and info."""
        self._is_rng_shared = self._has_ended = False
        self._objects, self._instructions = {}, None
        self._clear_cache()
        return super().restore(row)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode with a new random level, as `GridEnv.reset` does; `options` are
        ignored."""
        self._sync_rng()
        self._clear_cache()  # the descriptions of the new level are read before `reset` returns
        self._objects, self._instructions = {}, None
        self._is_rng_shared = True  # the seeded RNG is not in the row yet
        results = super().reset(seed=seed)
        self._clear_cache()
        self._is_rng_shared = self._has_ended = False
        return results

    def _step_batch(self, action: int) -> None:
        self._sync_rng()
        self._clear_cache()
        super()._step_batch(action)

    def _sync_rng(self) -> None:
        """Copy the state of `np_random` back into the world, since wrappers may have drawn random
        numbers from it."""
        if self._started and self._is_rng_shared:
            self._batch.set_generator(0, self.np_random)
            self._is_rng_shared = False
            self._clear_cache()

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, like `GridEnv.step`. If an episode ended in lava, later steps do not
        report the end again."""
        end_pos = self.agent_pos if self._has_ended else None
        observation, reward, terminated, truncated, info = super().step(action)
        self._has_ended = terminated
        if self._instructions is not None and action == MiniGridActions.drop:
            self.update_objs_poss()
        if terminated and self.agent_pos == end_pos:  # it has stayed where the episode ended
            ground = self.grid.get(*end_pos)
            terminated = ground is None or ground.type != "lava"
        return observation, reward, terminated, truncated, info

    def _check_action(self, action: Any) -> int:
        """Return the action as an int. An action of MiniGrid that this level lacks gives 0."""
        if isinstance(action, np.ndarray) and action.size == 1:
            action = action.item()
        if self.num_actions < _NUM_ACTIONS and isinstance(action, int | np.integer):
            action = 0 if action >= self.num_actions else action
        return super()._check_action(action)


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
        known = {key: mask for key, mask in (options or {}).items() if key == "reset_mask"}
        return super()._check_reset_arguments(seed, known)

    def _check_actions(self, actions: ArrayLike) -> NDArray[np.int64]:
        if self.num_actions < _NUM_ACTIONS:
            actions = np.where(np.asarray(actions) < self.num_actions, actions, 0)
        return super()._check_actions(actions)
