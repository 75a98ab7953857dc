"""The content of one picture of an expression, free of any drawing library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.geometry import RIGHT, Area, rotate, step_x, step_y
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes

# ---- frame ---------------------------------------------------------------------------------------

VIEWS = ("both", "state", "observation", "explored")
"""Ways to look at a frame: the state beside the observation, each alone, and what has been seen."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """How a game stands, of whatever domain: a part of every frame."""

    action: str = ""
    """The last one, such as MOVE_FORWARD or `Commutative Swap at 3`; empty at the beginning."""
    reward: float = 0.0
    """Of the last step."""
    terms: Mapping[str, float] = field(default_factory=dict)
    """The reward of the last step, function by function."""
    total: float = 0.0
    """The return: the rewards of the episode so far."""
    steps: int = 0
    """Of the episode so far."""
    max_steps: int | None = None
    """After which the episode is cut off."""
    mission: str = ""
    """What the agent is asked to do; empty if it is nothing."""
    outcome: str = ""
    """Empty, `terminated` or `truncated`; in algebra `win`, `lose` or `truncated`."""
    success: bool = False
    """Whether it ended well."""
    ending: str = ""
    """How it ended, for the player; empty while it goes on."""
    message: str = ""
    """A note for the player."""

    @property
    def is_loss_highlighted(self) -> bool:
        """Whether a reward below zero says that something went wrong, and may be coloured so."""
        return True


@dataclass(frozen=True, eq=False)
class Frame(Scene):
    """All that one picture shows, as arrays and plain values."""

    domain: ClassVar[str] = "grid"

    title: str
    grid: NDArray[np.uint8]
    """(H, W, 3) type, state and colour of every cell."""
    agent: tuple[int, int, int]
    """y, x, facing: 0 up, 1 down, 2 left, 3 right."""
    item: tuple[int, int, int]
    """Type, state and colour of the held object; type 0 is nothing."""
    seen: NDArray[np.bool_]
    """(H, W) the cells of the grid that the agent sees now."""
    observation: NDArray[np.uint8]
    """(h, w, 3) like grid; type 1, Hidden, is not seen."""
    observer: tuple[int, int]
    """y, x of the agent in the observation, looking up; outside of it, no agent is drawn."""
    beneath: NDArray[np.uint8] | None = None
    """(H, W, 3) what lies on the ground of every cell; None where nothing ever does."""
    types: ObjectTypes = OBJECT_TYPES
    """Which these numbers mean."""
    color: int = 0
    """Of the agent, if there are several."""
    explored: NDArray[np.uint8] | None = None
    """(H, W, 6) type, state and colour of every cell and of what lies on its ground, as the agent
    saw them last; type 1, Hidden, where it has never looked. None if nobody has kept it."""

    def limit_to_explored(self) -> Frame:
        """The same with no more of the state than the agent knows."""
        if self.explored is None:
            return self
        grid = np.where(self.seen[..., None], self.grid, self.explored[..., :3])
        beneath = None if self.beneath is None else self.explored[..., 3:]
        return replace(self, grid=grid, beneath=beneath)

    def find_differences(self, other: Frame) -> list[tuple[int, int]]:
        """The cells, y and x, that look different in another frame, where agents stand too; none
        of another grid."""
        if self.grid.shape != other.grid.shape:
            return []
        differs = (self.grid != other.grid).any(-1)
        if self.beneath is not None and other.beneath is not None:
            differs |= (self.beneath != other.beneath).any(-1)
        if self.agent != other.agent:
            for y, x, _ in (self.agent, other.agent):
                differs[y, x] = True
        return [(int(y), int(x)) for y, x in np.argwhere(differs)]

    @property
    def visible_ground(self) -> NDArray[np.uint8] | None:
        """(h, w, 3) the same of the cells of the observation, as the agent sees it; of type 0 where
        it does not."""
        if self.beneath is None:
            return None
        found = np.zeros_like(self.observation)
        for i, j in np.ndindex(found.shape[:2]):
            cell = self.to_grid_cell(i, j)
            if cell and self.seen[cell]:
                found[i, j] = self.beneath[cell]
        self.types.turn_to_view(found, self.agent[2])
        return found

    def to_view_cell(self, y: int, x: int) -> tuple[int, int] | None:
        """The cell of the observation that shows a cell of the grid; None if none does."""
        facing = self.agent[2]
        aside = rotate(facing, RIGHT)
        dy, dx = y - self.agent[0], x - self.agent[1]
        i = self.observer[0] - dy * step_y(facing) - dx * step_x(facing)
        j = self.observer[1] + dy * step_y(aside) + dx * step_x(aside)
        height, width = self.observation.shape[:2]
        return (i, j) if 0 <= i < height and 0 <= j < width else None

    def to_grid_cell(self, i: int, j: int) -> tuple[int, int] | None:
        """The cell of the grid that a cell of the observation shows; None beyond the grid."""
        facing = self.agent[2]
        aside = rotate(facing, RIGHT)
        ahead, right = self.observer[0] - i, j - self.observer[1]
        y = self.agent[0] + ahead * step_y(facing) + right * step_y(aside)
        x = self.agent[1] + ahead * step_x(facing) + right * step_x(aside)
        height, width = self.grid.shape[:2]
        return (y, x) if 0 <= y < height and 0 <= x < width else None


@dataclass(frozen=True, eq=False)
class Canvas:
    """What rendering systems draw on, with all that the world itself does not tell."""

    show: Callable[[Frame], None]
    """Takes the finished frame: a window, an array, a text."""
    title: str
    area: Area
    """Of the observation."""
    observation: NDArray[np.uint8]
    """(h, w, 3) what the agent was shown last."""
    terms: Mapping[str, float]
    max_steps: int | None
    mission: str
    ending: str
    message: str
    types: ObjectTypes
    """Of the scenario."""
    agent: int = 1
    """Whose view it is."""


# ---- expression frame ----------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeNode:
    """One node of the tree, at its place in a grid of `x` and `y`: no two share a column."""

    identity: int
    """A number that a node keeps as long as rules keep it; it glides from picture to picture."""
    kind: str
    """`constant`, `variable` or `operator`."""
    text: str
    """What stands in it: a number, a letter, a sign."""
    x: int
    """Its index in order, from 0: left operand, node, right operand. Actions count nodes by it."""
    y: int
    """How many nodes are above it."""
    parent: int
    """`x` of the node above; -1 at the root."""
    changed: bool
    """Whether the last move has changed or made it."""
    rules: tuple[int, ...]
    """Numbers of the rules that apply to it."""
    span: tuple[int, int]
    """Its own characters in the written expression, from and to; none for the sign in 4x."""
    whole: tuple[int, int]
    """The characters of all that is written for it and below it."""


@dataclass(frozen=True)
class RewriteRecord:
    """One entry of the list of moves: an expression, and what led to it."""

    text: str
    rule: str
    """Empty at the start."""
    node: int
    """-1 at the start."""


@dataclass(frozen=True, eq=False)
class ExpressionFrame(Scene):
    """All that one picture of an expression shows, as plain values."""

    domain: ClassVar[str] = "algebra"

    title: str
    text: str
    """The written expression."""
    nodes: tuple[TreeNode, ...]
    """In order, so that `nodes[i].x == i`."""
    rules: tuple[str, ...]
    """Names of the rules, by number."""
    codes: tuple[str, ...]
    """Two letters for each of them."""
    actions: tuple[str, ...]
    """What the actions of each rule begin with: `commutative_swap`, then a blank and the node."""
    history: tuple[RewriteRecord, ...]
    """The start first, the present expression last."""
    moves_remaining: int
    max_moves: int

    @property
    def is_loss_highlighted(self) -> bool:
        """Only at a lost end: right moves may cost, too, as those do that spread brackets out."""
        return self.outcome == "lose"

    @property
    def depth(self) -> int:
        """How many rows of nodes there are."""
        return 1 + max(node.y for node in self.nodes)


def expression_to_text(frame: ExpressionFrame) -> str:
    """The tree as text, above the written expression, and a line with what happened."""
    starts, width = [], 0
    for node in frame.nodes:
        starts.append(width)
        width += len(node.text) + 1
    rows = [[" "] * width for _ in range(frame.depth)]
    for node, start in zip(frame.nodes, starts, strict=True):
        rows[node.y][start : start + len(node.text)] = node.text
    last = f"{frame.action}: {frame.reward:+g}, " if frame.action else ""
    line = f"{last}return {frame.total:+g}, {frame.moves_remaining} moves left"
    if frame.outcome:
        line += f", {frame.outcome}"
    return "\n".join([*("".join(row).rstrip() for row in rows), frame.text, line])
