"""An episode in a gridworld, for games and replays."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN
from gv_engine.envs.observations import form_of
from gv_engine.rules.errors import nearest
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import ACTIONS, MOVE_RIGHT, WAIT, action_name, named_action
from gv_engine.rules.system import REWARD, SUCCESS, TERMINATING, TRANSITION
from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.session.action_preview import world_differences
from gv_engine.session.episode import (
    ACTION_SEPARATOR,
    PolicyInput,
    SingleAgentEpisode,
    add_world_axis,
)
from gv_engine.session.replay import row_digest
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.rollout.policy import Policy
    from gv_engine.scenario.scenario import Scenario


# ---- hearing -------------------------------------------------------------------------------------

_MOVES = ACTIONS[: MOVE_RIGHT + 1]


def sound_between(before: Frame, after: Frame) -> str:
    """The name of the sound of a step, see `gv_engine.ui.screens.sounds`; empty for none of
    its own."""
    if after.item != before.item:
        return "take" if after.item[0] else "drop"
    if before.grid.shape != after.grid.shape:
        return ""
    changed = (before.grid != after.grid).any(-1)
    same_kind = before.grid[..., 0] == after.grid[..., 0]
    if (changed & same_kind & (before.grid[..., 1] != after.grid[..., 1])).any():
        return "door"
    if after.action in _MOVES and after.agent == before.agent and not changed.any():
        return "bump"
    return ""


# ---- episode -------------------------------------------------------------------------------------

_SECOND_KEYS = {
    "MOVE_FORWARD": "W",
    "MOVE_BACKWARD": "S",
    "TURN_LEFT": "A",
    "TURN_RIGHT": "D",
    "MOVE_LEFT": "Q",
    "MOVE_RIGHT": "E",
    "ACTUATE": "F",
    "TOGGLE": "F",
    "PICK_N_DROP": "C",
    "PICK_UP": "C",
    "DROP": "B",
}
"""The keys of a second player at the same keyboard, who has its left half."""


class GridEpisode(SingleAgentEpisode):
    """Plays a scenario in an object world; see `gv_engine.session.episode.Episode`.

    Reward and total are sums over all agents.

    Attributes:
        scenario: what is played.
        agents: the names of those who act.
        controlled: which of them a player's actions are for, from 0 on; its view is shown, too.
        partners: what acts for others, by name.
        actions: names of the scenario's actions.
        wait: `WAIT`, which rules see as no action at all; empty where functions of states or
            processors are listed, which only know the agent's actions.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._names = tuple(scenario.sharing.names)
        self.controlled = 0
        self.partners: dict[str, Policy] = {}
        self.actions = scenario.action_names
        self.wait = action_name(WAIT) if _knows_columns_only(scenario) else ""
        self._simulation = Simulation(scenario)
        self.world = self._simulation.world
        # what each was shown
        self._grid = np.zeros((len(self._names), *scenario.area.shape, 3), np.uint8)
        self._item = np.zeros((len(self._names), 3), np.uint8)
        self._explored: NDArray[np.uint8] = np.empty(0, np.uint8)

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of those that are there, in their order."""
        return self._names[: self.world.present]

    @property
    def reward(self) -> float:
        """Of the last step, the sum over all agents."""
        return float(sum(self.world.reward))

    @property
    def total(self) -> float:
        """The sum of the rewards since the reset, over all agents."""
        return float(sum(self.world.total))

    @property
    def ending(self) -> str:
        """How it ended for the agent that is shown; empty while it goes on."""
        return self.scenario.ending(self._simulation.world, self._shown)

    @property
    def _shown(self) -> int:
        """The agent whose view is shown."""
        return self.controlled + 1

    @property
    def commands(self) -> tuple[KeyCommand, ...]:
        """The level's own actions; where there are several agents, also those of a second player,
        who plays the second one, and the way to another agent."""
        own = self.scenario.own_actions
        if len(self.agents) == 1:
            return own
        taken = {key for command in own for key in command.keys}
        second = []
        for command in DOMAINS["grid"].keys:
            key = _SECOND_KEYS.get(command.name, "")
            if command.name in self.actions and key and key not in taken:
                taken.add(key)
                does, says = f"{self.agents[1]} {command.name}", f"{self.agents[1]}: {command.says}"
                second.append(KeyCommand(does, says, (key,), command.repeats))
        return (*own, *second, KeyCommand("next_agent", "control another agent", ("Tab",)))

    def reset(self, seed: int) -> None:
        """Begin the episode that an environment gives for a seed."""
        self._simulation.reset(np.random.default_rng(seed))
        for name, policy in self.partners.items():
            policy.begin([0], seed, [self._names.index(name)])
        self._know_nothing()
        self._observe()

    def refusal_reason(self, action: str) -> str:
        """Why an action is none here; empty if it is one."""
        for name, does in self._told(action).items():
            if name not in self.agents:
                return f"no agent {name!r}: {nearest(name, self.agents)}"
            if not does or does not in (*self.actions, self.wait):
                return f"{does.replace('_', ' ').capitalize()}: not in this level"
        if len(self.agents) > len(self._told(action)) and not self.wait:
            return "Nobody can wait in this level: say what each agent does"
        return ""

    def _told(self, action: str) -> dict[str, str]:
        """What an action says that agents do, by their names."""
        if len(self._names) == 1:
            return {self._names[0]: action}
        if action == self.wait:
            return {}
        parts = [part.rpartition(" ") for part in action.split(ACTION_SEPARATOR)]
        return {name or self.agents[self.controlled]: does for name, _, does in parts}

    def joint_action(self, action: str) -> str:
        """What all agents do when a player has said what one of them does; see
        `gv_engine.session.episode.Episode`."""
        if len(self._names) == 1 or self.refusal_reason(action):
            return action
        told = self._told(action)
        for agent, name in enumerate(self.agents, 1):
            done = self.world.done[agent] and not self.world.terminated
            if name in self.partners and name not in told and not done:
                told[name] = self.actions[int(self.partners[name].act(*self._seen(agent))[0])]
        acts = (name for name in self.agents if told.get(name, self.wait) != self.wait)
        return ACTION_SEPARATOR.join(f"{name} {told[name]}" for name in acts) or self.wait

    def action_indices(self, action: str) -> Any:
        """The numbers of what agents do; see `gv_engine.session.episode.Episode`."""
        if len(self._names) == 1:
            return super().action_indices(action)
        acting = {name for k, name in enumerate(self.agents, 1) if not self.world.done[k]}
        does = {name: self.wait if name in acting else self.actions[0] for name in self._names}
        does |= self._told(action)
        return tuple(map(self.actions.index, does.values()))

    def merge_actions(self, action: str, others: str) -> str:
        """What all do when a player has said something, and others do as they would; see
        `gv_engine.session.episode.Episode`."""
        if len(self._names) == 1 or self.refusal_reason(action):
            return action
        own = {self.agents[self.controlled]: self.wait or self.actions[0], **self._told(action)}
        told = self._told(others) | own
        return ACTION_SEPARATOR.join(f"{name} {told[name]}" for name in self.agents if name in told)

    def step(self, action: str) -> None:
        """Take an action that is not refused.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        told = self._told(action)
        does = (told.get(name, self.wait or self.actions[0]) for name in self._names)
        self._simulation.step(*(WAIT if name == self.wait else named_action(name) for name in does))
        self._observe()

    def mask(self) -> dict[str, bool]:
        """Whether some transition would act on each of the actions, by the agent that is shown."""
        mask = self._mask(self._shown)
        return dict(zip(self.actions, mask.astype(bool).tolist(), strict=True))

    def _mask(self, agent: int) -> NDArray[np.int8]:
        mask = np.zeros(len(self.actions), np.int8)
        self._simulation.valid_actions(mask, agent)
        return mask

    def observe(self) -> PolicyInput:
        """What `GridVectorEnv` hands out, the observation as `default`; `AgentsVectorEnv`, where
        there may be several agents."""
        if len(self._names) == 1:
            return self._seen(1)
        each = [self._seen(agent) for agent in self._simulation.agents]
        observation, info = (_side_by_side(parts) for parts in zip(*each, strict=True))
        return observation, info

    def _seen(self, agent: int) -> PolicyInput:
        """The same of an agent."""
        scenario, world = self.scenario, self._simulation.world
        grid, item = self._grid[agent - 1], self._item[agent - 1]
        asked = [scenario.missions.numbers(world, agent)] if scenario.missions else []
        observation = form_of(scenario, "default").one(grid, item, *asked)
        names = scenario.reward_names
        terms = self._simulation.terms_of(agent) or (0.0,) * len(names)
        info = {
            "action_mask": self._mask(agent),
            "reward_terms": dict(zip(names, terms, strict=True)),
        }
        if scenario.tells_success:
            info["success"] = info["is_success"] = bool(world.success[agent])
        if scenario.mixture:
            info["member"] = world.member
        return add_world_axis(observation, info)

    def frame(self, message: str) -> Frame:
        """What the rendering systems show."""
        frames: list[Frame] = []
        shown = self._shown
        self._simulation.render(frames.append, self._grid[shown - 1], message, shown)
        return replace(frames[-1], explored=self._explored[shown - 1].copy())

    def row(self) -> NDArray[Any]:
        """The whole world, a () array of `scenario.layout.dtype`."""
        return self._simulation.world.snapshot()

    def load_row(self, row: NDArray[Any]) -> None:
        """Begin with the world of a row.

        Raises:
            ValueError: the row is not one of this scenario's.
        """
        row = self.scenario.check(row)
        self._simulation.world.restore(row)
        self._know_nothing()
        self._observe()
        self._simulation.world.rng = generator_from_row(row["rng"])  # looking may have drawn

    def state(self) -> str:
        """16 hexadecimal digits that stand for the whole world."""
        return row_digest(self.row(), self.scenario.types)

    @property
    def view_hash(self) -> int:
        """A number for what all agents are shown, and what they hold."""
        return zlib.crc32(self._item.data, zlib.crc32(self._grid.data))

    def differences(self, was: GridEpisode) -> list[str]:
        """What is different in the world of another episode, and in what its agents see."""
        told = world_differences(was.world, self.world, self.agents)
        before, after = was._grid, self._grid
        if before.shape != after.shape:
            (_, h, w, _), (_, *size, _) = before.shape, after.shape
            told.append(f"the view has {size[0]} × {size[1]} cells, had {h} × {w}")
        elif not told and (before != after).any():
            seen = [int((shown[..., 0] != HIDDEN).sum()) for shown in (after, before)]
            other = int((before != after).any(-1).sum())
            told.append(f"{seen[0]} cells are seen, were {seen[1]}; {other} look different")
        return told

    def snapshot(self) -> tuple[bytes, list[tuple[float, ...]]]:
        """The world, what agents were and are shown, and the last reward of each function by
        function."""
        shown = (self._grid, self._item, self._explored)
        parts = (self.row().tobytes(), *(array.tobytes() for array in shown))
        terms = [self._simulation.terms_of(agent) for agent in self._simulation.agents]
        return zlib.compress(b"".join(parts), 1), terms

    def restore(self, snapshot: tuple[bytes, list[tuple[float, ...]]]) -> None:
        """Become what a snapshot holds."""
        packed, terms = snapshot
        dtype = self.scenario.layout.dtype
        data = np.frombuffer(zlib.decompress(packed), np.uint8)
        sizes = dtype.itemsize, self._grid.size, self._item.size
        row, grid, item, explored = np.split(data, np.cumsum(sizes))
        self._simulation.world.restore(row.view(dtype)[0:1].reshape(()))
        self._know_nothing()
        self._explored[...] = explored.reshape(self._explored.shape)
        self._grid[...] = grid.reshape(self._grid.shape)
        self._item[...] = item.reshape(self._item.shape)
        for agent, values in zip(self._simulation.agents, terms, strict=True):
            self._simulation.set_terms(agent, values)

    def _know_nothing(self) -> None:
        """No agent has seen anything of this world."""
        world = self._simulation.world
        self._explored = np.zeros((len(self._names), world.height, world.width, 6), np.uint8)
        self._explored[..., 0] = HIDDEN

    def _observe(self) -> None:
        self.controlled = min(self.controlled, len(self.agents) - 1)
        world, area = self._simulation.world, self.scenario.area
        # once a step, like an environment: looking may draw from the world's generator
        for agent in self._simulation.agents:
            shown, explored = self._grid[agent - 1], self._explored[agent - 1]
            self._simulation.observe(shown, self._item[agent - 1], agent)
            if world.position.y[agent] >= 0:
                seen = area.on_grid(world, agent, shown[..., 0] != HIDDEN)
                explored[seen, :3] = world.cells(seen)
                if (beneath := world.beneath(seen)) is not None:
                    explored[seen, 3:] = beneath


def _side_by_side(parts: Sequence[Any]) -> Any:
    """(1, A, …) of (1, …) arrays of each agent, in mappings too."""
    if isinstance(parts[0], dict):
        return {name: _side_by_side([part[name] for part in parts]) for name in parts[0]}
    return np.stack(parts, axis=1)


def _knows_columns_only(scenario: Scenario) -> bool:
    return not any(
        part.system.is_processor or part.system.objects
        for member in scenario.members
        for phase in (TRANSITION, REWARD, TERMINATING, SUCCESS)
        for call in member.calls(phase)
        for part in call.parts()
    )
