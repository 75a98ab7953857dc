"""An episode in a gridworld, for games and replays."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.frame import Frame
from gv_engine.language.geometry import WAIT, action_name, named_action
from gv_engine.language.system import REWARD, SUCCESS, TERMINATING, TRANSITION
from gv_engine.playing.episode import Told
from gv_engine.playing.row_digest import row_digest
from gv_engine.worlds.rng import generator_from_row
from gv_engine.worlds.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


class GridEpisode(Told):
    """Plays a scenario in an object world; see `gv_engine.playing.episode.Episode`.

    Attributes:
        scenario: what is played.
        actions: names of the scenario's actions.
        wait: `WAIT`, which rules see as no action at all; empty where functions of states or
            processors are listed, which only know the agent's actions.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.actions = scenario.action_names
        self.wait = action_name(WAIT) if _knows_columns_only(scenario) else ""
        self._simulation = Simulation(scenario)
        self.world = self._simulation.world
        self._grid = np.zeros((*scenario.area.shape, 3), np.uint8)
        self._item = np.zeros(3, np.uint8)

    @property
    def ending(self) -> str:
        """How it ended, for the player; empty while it goes on."""
        return self.scenario.ending(self._simulation.world)

    def reset(self, seed: int) -> None:
        """Begin the episode that an environment gives for a seed."""
        self._simulation.reset(np.random.default_rng(seed))
        self._observe()

    def refusal(self, action: str) -> str:
        """Why an action is none here; empty if it is one."""
        if action in self.actions or (action and action == self.wait):
            return ""
        return f"{action.replace('_', ' ').capitalize()}: not in this level"

    def step(self, action: str) -> None:
        """Take an action that is not refused.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        self._simulation.step(WAIT if action == self.wait else named_action(action))
        self._observe()

    def mask(self) -> dict[str, bool]:
        """Whether some transition would act on each of the actions."""
        mask = np.zeros(len(self.actions), np.int8)
        self._simulation.valid_actions(mask)
        return dict(zip(self.actions, mask.astype(bool).tolist(), strict=True))

    def frame(self, message: str) -> Frame:
        """What the rendering systems show."""
        frames: list[Frame] = []
        self._simulation.render(frames.append, self._grid, message)
        return frames[-1]

    def row(self) -> NDArray[Any]:
        """The whole world, a () array of `scenario.layout.dtype`."""
        return self._simulation.world.snapshot()

    def become(self, row: NDArray[Any]) -> None:
        """Begin with the world of a row.

        Raises:
            ValueError: the row is not one of this scenario's.
        """
        self.scenario.check(row)
        self._simulation.world.restore(row)
        self._observe()
        self._simulation.world.rng = generator_from_row(row["rng"])  # looking may have drawn

    def state(self) -> str:
        """16 hexadecimal digits that stand for the whole world."""
        return row_digest(self.row())

    def snapshot(self) -> tuple[bytes, tuple[float, ...]]:
        """The world, what the agent was shown, and the last reward function by function."""
        parts = (self.row().tobytes(), self._grid.tobytes(), self._item.tobytes())
        return zlib.compress(b"".join(parts), 1), self._simulation.terms

    def restore(self, snapshot: tuple[bytes, tuple[float, ...]]) -> None:
        """Become what a snapshot holds."""
        packed, terms = snapshot
        dtype = self.scenario.layout.dtype
        data = np.frombuffer(zlib.decompress(packed), np.uint8)
        row, grid, item = np.split(data, [dtype.itemsize, dtype.itemsize + self._grid.size])
        self._simulation.world.restore(row.view(dtype)[0:1].reshape(()))
        self._grid[...] = grid.reshape(self._grid.shape)
        self._item[...] = item
        self._simulation.terms = terms

    def _observe(self) -> None:
        # once a step, like an environment: looking may draw from the world's generator
        self._simulation.observe(self._grid, self._item)


def _knows_columns_only(scenario: Scenario) -> bool:
    return not any(
        part.system.is_processor or part.system.objects
        for member in scenario.members
        for phase in (TRANSITION, REWARD, TERMINATING, SUCCESS)
        for call in member.calls(phase)
        for part in call.parts()
    )
