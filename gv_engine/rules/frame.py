"""Contents of one picture of a grid or an expression, independent of any drawing library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.geometry import RIGHT, Area, rotate, step_x, step_y, to_relative
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes

COVERED = 1 << 24
"""Bit of an entry of a stack that is not a state but an appearance."""
_STACKS: list[tuple[int, ...]] = [()]
_STACK_NUMBERS: dict[tuple[int, ...], int] = {(): 0}


def number_stacks(stacks: NDArray[np.integer[Any]]) -> NDArray[np.uint16]:
    """Return a number for each stack of states, equal for equal stacks in the whole process. Zeros
    are left out, and 0 is the empty stack.

    Args:
        stacks: (…, L) states, the lowest first.
    """
    flat = stacks.reshape(-1, stacks.shape[-1])
    unique, inverse = np.unique(flat, axis=0, return_inverse=True)
    numbers = []
    for states in unique.tolist():
        key = tuple(filter(None, states))
        if key not in _STACK_NUMBERS:
            _STACK_NUMBERS[key] = len(_STACKS)
            _STACKS.append(key)
        numbers.append(_STACK_NUMBERS[key])
    return np.array(numbers, np.uint16)[inverse].reshape(stacks.shape[:-1])


def number_covered(w: Any) -> NDArray[np.uint16]:
    """Return (H, W) numbers of stacks as of `number_stacks`: of all objects in a cell but the
    topmost one, if one of them is on a layer between; else 0. In place of states they hold
    appearances, `COVERED | color << 16 | state << 8 | type`."""
    cells = np.stack([layer[: w.height, : w.width] for layer in (w.ground, *w.between[::-1], w.at)])
    stacks = np.zeros((w.height, w.width, len(cells)), np.int64)
    for y, x in np.argwhere(np.count_nonzero(cells[1:], axis=0) > 1):
        for layer, e in enumerate(filter(None, cells[:, y, x].tolist())):
            kind, state, color = w.appearance(e)
            stacks[y, x, layer] = COVERED | color << 16 | state << 8 | kind
        stacks[y, x, layer] = 0  # it is shown
    return number_stacks(stacks)


def find_stack(number: int) -> tuple[int, ...]:
    """Return the states of the stack with a number from `number_stacks`, the lowest first."""
    return _STACKS[number]


VIEWS = ("both", "state", "observation", "explored")
"""Views of a frame: state beside observation, state alone, observation alone, explored cells."""


class ShownNumber(NamedTuple):
    """One number of an agent's state vector, with its name and bounds, as it is shown to people.

    Attributes:
        label, text: label of the number, and its value as text.
        share: fill level of its bar, from 0 to 1; None for a number without a bar.
        is_for_players: False if only agents and researchers see it.
        checklist: title of the list in which it is an item, ticked unless it is 0; "" for none.
        is_text: True if `text` is a text on its own, "" for none, and no value.
    """

    label: str
    text: str
    share: float | None = None
    is_for_players: bool = True
    checklist: str = ""
    is_text: bool = False

    @property
    def is_ticked(self) -> bool:
        """True for a ticked item of a checklist."""
        return bool(self.checklist) and self.text != "0"

    @property
    def icon(self) -> str:
        """Name of the sprite that stands for the number, if there is such a sprite."""
        return self.label.replace(" ", "_")


def group_checklists(numbers: Sequence[ShownNumber]) -> dict[str, list[ShownNumber]]:
    """Return the items of each checklist among `numbers`, by its title."""
    lists: dict[str, list[ShownNumber]] = {}
    for number in numbers:
        if number.checklist:
            lists.setdefault(number.checklist, []).append(number)
    return lists


class AgentMark(NamedTuple):
    """Agent on the board of a level with several agents.

    Attributes:
        name, team: name of the agent, and of its team; "" for none.
        team_number: number of the team, from 1; 0 for none.
        cell: y, x.
        facing: 0 up, 1 down, 2 left, 3 right.
        item: type, state and colour of the held object; type 0 for none.
    """

    name: str
    team: str
    team_number: int
    cell: tuple[int, int]
    facing: int = 0
    item: tuple[int, int, int] = (0, 0, 0)

    @property
    def label(self) -> str:
        """Name of the agent and of its team, such as `ann of thieves`."""
        return f"{self.name} of {self.team}" if self.team else self.name


class PolicyMap(NamedTuple):
    """Map of a policy for each cell of the grid: its value estimate and action probabilities if the
    agent stood there, with everything else unchanged; and how often the agent was there in this
    episode.

    Attributes:
        actions: names of the A actions.
        values: (H, W, 4) float64 value with the agent in a cell, facing up, down, left or right;
            NaN where it cannot stand or the episode would be over, and if values are unknown.
        probabilities: (H, W, 4, A) float64 probability of each action there; NaN in those cells.
        visits: (H, W) int64 number of states of the episode with the agent in a cell.
        note: condition of the values, such as "without memory of the episode"; "" for none.
    """

    actions: Sequence[str]
    values: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    visits: NDArray[np.int64]
    note: str = ""

    def find_best_directions(self) -> NDArray[np.int64]:
        """Return an (H, W) array with the best direction for the agent to face in each cell: the
        one with the highest value or, without values, with the most probable action. -1 for cells
        without data."""
        is_known = ~np.isnan(self.values)
        scores = self.values if is_known.any() else self.probabilities.max(-1)
        scores = np.where(np.isnan(scores), -np.inf, scores)
        best: NDArray[np.int64] = np.where(np.isinf(scores.max(-1)), -1, scores.argmax(-1))
        return best

    def value_range(self) -> tuple[float, float]:
        """Return the lowest and the highest value of the cells, where a cell has the value of its
        best facing; NaN if no value is known."""
        best = self.values[~np.isnan(self.values).all(-1)]
        best = np.nanmax(best, -1) if len(best) else np.array([np.nan])
        return float(best.min()), float(best.max())


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """Base class of frames of grid worlds and of formula worlds: last action, rewards, outcome
    and texts.

    Attributes:
        action: last action, such as MOVE_FORWARD or `Commutative Swap at 3`; "" after a reset.
        reward: reward of the last step.
        terms: reward of the last step by reward function.
        total: return, the sum of the rewards of the episode so far.
        steps: number of steps of the episode so far.
        max_steps: step limit of an episode, None for no limit.
        mission: task of the agent as text; "" for none.
        numbers: state vector of the agent.
        display: further numbers, for players.
        outcome: "", `terminated` or `truncated`; in algebra `win`, `lose` or `truncated`.
        success: True if the episode ended in success.
        ending: sentence for the player on how the episode ended; "" while it goes on.
        message: note for the player.
        types: object types by index.
    """

    action: str = ""
    reward: float = 0.0
    terms: Mapping[str, float] = field(default_factory=dict)
    total: float = 0.0
    steps: int = 0
    max_steps: int | None = None
    mission: str = ""
    numbers: tuple[ShownNumber, ...] = ()
    display: tuple[ShownNumber, ...] = ()
    outcome: str = ""
    success: bool = False
    ending: str = ""
    message: str = ""
    types: ObjectTypes = OBJECT_TYPES

    @property
    def is_loss_highlighted(self) -> bool:
        """True if a negative reward is drawn in the colour for mistakes."""
        return True


@dataclass(frozen=True, eq=False)
class Frame(Scene):
    """Everything that is drawn in one picture of a grid world, as arrays and plain values.

    Attributes:
        grid: (H, W, 3) uint8 type, state and colour of every cell.
        agent: (y, x, facing), with 0 up, 1 down, 2 left, 3 right.
        item: type, state and colour of the held object; type 0 for none.
        seen: (H, W) mask of the cells of the grid that the agent sees now.
        observation: (h, w, 3) uint8 like `grid`; type 1, Hidden, for cells that are not seen.
        observer: (y, x, facing) of the agent in the observation; a cell outside the observation
            means that no agent is drawn.
        beneath: (H, W, 3) uint8 objects on the ground layer of every cell; None if the scenario has
            none.
        stacks: (H, W) numbers of the states that are drawn on top of each other in each cell, see
            `number_stacks`; None if the scenario has no such objects.
        color: colour of the agent in a scenario with several agents.
        explored: (H, W, 6) uint8 type, state and colour of every cell and of its ground, as the
            agent last saw them; type 1, Hidden, where it never looked. None if this is not
            recorded.
        marks: agents on the board, the shown one first; () in a level with one agent.
        is_dim: True if cells out of the agent's sight are drawn darker.
        watched: cells (y, x) in which guards see an agent, by cell of the guard.
        policy_map: values, likely actions and visits to draw over the grid; None for none.
    """

    domain: ClassVar[str] = "grid"

    title: str
    grid: NDArray[np.uint8]
    agent: tuple[int, int, int]
    item: tuple[int, int, int]
    seen: NDArray[np.bool_]
    observation: NDArray[np.uint8]
    observer: tuple[int, int, int]
    beneath: NDArray[np.uint8] | None = None
    stacks: NDArray[np.uint16] | None = None
    color: int = 0
    explored: NDArray[np.uint8] | None = None
    marks: tuple[AgentMark, ...] = ()
    is_dim: bool = True
    watched: Mapping[tuple[int, int], Sequence[tuple[int, int]]] = field(default_factory=dict)
    policy_map: PolicyMap | None = None

    @property
    def lit(self) -> NDArray[np.bool_] | None:
        """(H, W) mask of the cells that are drawn bright; None for all."""
        return self.seen if self.is_dim else None

    def limit_to_explored(self) -> Frame:
        """Return a copy of the frame that shows only what the agent knows. Cells out of its sight
        look as it last saw them, and the cells that a guard watches are shown only if it sees the
        guard."""
        if self.explored is None:
            return self
        grid = np.where(self.seen[..., None], self.grid, self.explored[..., :3])
        stacks = None if self.stacks is None else np.where(self.seen, self.stacks, 0)
        beneath = None if self.beneath is None else self.explored[..., 3:]
        hidden = self.types["Hidden"].index
        watched = {
            guard: [cell for cell in cells if grid[cell][0] != hidden]
            for guard, cells in self.watched.items()
            if self.seen[guard]
        }
        return replace(self, grid=grid, beneath=beneath, stacks=stacks, watched=watched)

    def find_differences(self, other: Frame) -> list[tuple[int, int]]:
        """Return the cells (y, x) in which `other` shows another object or agent than this frame.
        Return [] if the grids differ in shape."""
        if self.grid.shape != other.grid.shape:
            return []
        differs = (self.grid != other.grid).any(-1)
        if self.beneath is not None and other.beneath is not None:
            differs |= (self.beneath != other.beneath).any(-1)
        if self.stacks is not None and other.stacks is not None:
            differs |= self.stacks != other.stacks
        if self.agent != other.agent:
            for y, x, _ in (self.agent, other.agent):
                differs[y, x] = True
        return [(int(y), int(x)) for y, x in np.argwhere(differs)]

    @property
    def visible_ground(self) -> NDArray[np.uint8] | None:
        """(h, w, 3) uint8 array with (type, state, colour) of the ground in the agent's view; type
        0 for cells out of sight. None if the level has no ground objects."""
        if self.beneath is None:
            return None
        ground = np.zeros_like(self.observation)
        for i, j in np.ndindex(ground.shape[:2]):
            cell = self.to_grid_cell(i, j)
            if cell and self.seen[cell]:
                ground[i, j] = self.beneath[cell]
        self.types.turn_to_view(ground, self._up)
        return ground

    @property
    def _up(self) -> int:
        # where the agent faces on the grid, less how far it is turned within the observation
        return to_relative(self.agent[2], self.observer[2])

    def to_view_cell(self, y: int, x: int) -> tuple[int, int] | None:
        """Return (row, column) of the observation that shows the grid cell (y, x); None if the cell
        is outside the observation."""
        up = self._up
        aside = rotate(up, RIGHT)
        dy, dx = y - self.agent[0], x - self.agent[1]
        i = self.observer[0] - dy * step_y(up) - dx * step_x(up)
        j = self.observer[1] + dy * step_y(aside) + dx * step_x(aside)
        height, width = self.observation.shape[:2]
        return (i, j) if 0 <= i < height and 0 <= j < width else None

    def to_grid_cell(self, i: int, j: int) -> tuple[int, int] | None:
        """Return (y, x) of the grid cell that is shown in row `i`, column `j` of the observation;
        None outside of the grid."""
        up = self._up
        aside = rotate(up, RIGHT)
        ahead, right = self.observer[0] - i, j - self.observer[1]
        y = self.agent[0] + ahead * step_y(up) + right * step_y(aside)
        x = self.agent[1] + ahead * step_x(up) + right * step_x(aside)
        height, width = self.grid.shape[:2]
        return (y, x) if 0 <= y < height and 0 <= x < width else None


@dataclass(frozen=True, eq=False)
class Canvas:
    """Surface that rendering rules draw on: `show` takes the finished frame. It also has values
    that the world does not know, such as the title and the last observation.

    Attributes:
        show: function that takes the finished frame and shows it in a window, an array or a text.
        area: observation area.
        observation: (h, w, 3) last observation of the agent.
        numbers: state vector of the agent.
        display: further numbers, for players.
        types: object types of the scenario.
        agent: number of the agent whose view is shown.
    """

    show: Callable[[Frame], None]
    title: str
    area: Area
    observation: NDArray[np.uint8]
    terms: Mapping[str, float]
    max_steps: int | None
    mission: str
    numbers: tuple[ShownNumber, ...]
    display: tuple[ShownNumber, ...]
    ending: str
    message: str
    types: ObjectTypes
    agent: int = 1
