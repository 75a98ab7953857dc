"""Episode in a gridworld for sessions and replays, and hints by the solver in the background."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN
from components.items import Forgotten
from gv_engine.envs.observations import make_encoder
from gv_engine.envs.rollout.policy import Policy
from gv_engine.play.grid.motion import Cell
from gv_engine.play.grid.plugin import DOMAIN
from gv_engine.play.session import episode
from gv_engine.play.session.autoplay import SolverAutoplayer
from gv_engine.play.session.episode import ACTION_SEPARATOR, Episode, PolicyInput
from gv_engine.play.session.game import Game
from gv_engine.play.session.inspection import world_differences
from gv_engine.play.session.replay import row_digest
from gv_engine.rules.errors import describe_allowed, format_count
from gv_engine.rules.frame import AgentMark, Frame
from gv_engine.rules.geometry import WAIT, action_name, add_up, named_action
from gv_engine.rules.system import REWARD, SUCCESS, TERMINATING, TRANSITION, get_system
from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.scenario.readers.map import describe_object
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import Simulation
from systems.queries import all_of, beside, blocks_vision, can_enter
from systems.terminating import seen

_SEEN = get_system(seen)
_COMPILE_NOTE_DELAY = 2.0  # seconds
HINT_STRENGTHS = 3
"""Number of strengths of a hint: each request in the same state gives a stronger one."""


class GridHint:
    """Hint for a session, searched for on request. Each further request in the same state gives a
    stronger hint: the number of steps to win, the object to go to next, and the next action.

    Args:
        game: session of a grid.
        describe_action: function that returns an action's name in words.

    Attributes:
        is_searching: a search is running.
        message: the hint, or a note that the search runs; empty without a request in this state.
        cell: cell of the next object, from the second request on; else None.
    """

    def __init__(self, game: Any, describe_action: Callable[[str], str]) -> None:
        self._game, self._describe_action = game, describe_action
        self._solver = SolverAutoplayer()
        self._since = 0.0
        self._strength = 0
        self.is_searching = False
        self.message = ""
        self.cell: tuple[int, int] | None = None

    def search(self) -> None:
        """Start a search for the shortest action sequence that wins from the session's current
        state; if there is a hint already, make it stronger. Do nothing while a search runs."""
        if self.is_searching:
            return
        self.is_searching, self.message = True, "Looking for a way"
        self._since = time.monotonic()
        self._strength = min(self._strength + 1, HINT_STRENGTHS)

    def clear(self) -> None:
        """Drop the hint, because the state has changed."""
        self.is_searching, self.message, self.cell, self._strength = False, "", None, 0

    def update(self) -> None:
        """Check the running search: set `message` to the hint when it has ended, or to a note when
        it takes long."""
        way = self._solver.path(self._game) if self.is_searching else None
        if way is None:
            if self.is_searching and time.monotonic() > self._since + _COMPILE_NOTE_DELAY:
                self.message = "Looking for a way; the rules are compiled the first time"
            return
        self.is_searching = False
        self.message = self._hint_text(way.actions) if way.actions else way.message

    def _hint_text(self, actions: Sequence[str]) -> str:
        """Return the hint of the requested strength, given the `actions` that win; from the second
        strength on, set `cell`."""
        steps = format_count(len(actions), "step")
        if self._strength == 1:
            return f"It can be won from here in {steps}. The same key tells where to go"
        words, self.cell = self._find_next_object(actions)
        if self._strength < HINT_STRENGTHS:
            return f"Next: the {words}. The same key tells the step"
        return f"Hint: {self._describe_action(actions[0])}; {steps} to go"

    def _find_next_object(self, actions: Sequence[str]) -> tuple[str, tuple[int, int]]:
        """Take `actions` in a copy of the game until something at the agent changes; return the
        changed object in words, and its cell."""
        game = Game(self._game.scenario, self._game.seed)
        game.restore(self._game.row())
        before = after = game.frame()
        for action in actions:
            game.apply_action(action)
            before, after = after, game.frame()
            changed = np.argwhere((before.grid != after.grid).any(-1)).tolist()
            y, x = before.agent[:2]
            near = [(cy, cx) for cy, cx in changed if abs(cy - y) + abs(cx - x) <= 1]
            things = [cell for cell in near if before.grid[cell][0] != FLOOR]
            if near:
                return _describe_cell(before if things else after, (things or near)[0])
        return _describe_cell(before, after.agent[:2])


def _describe_cell(frame: Frame, cell: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    return describe_object(frame.types, *frame.grid[cell].tolist()), cell


def describe_action(action: str, commands: Sequence[KeyCommand] = ()) -> str:
    """Return the action called `action` in words, such as "turn left"; `commands` describe the
    actions that the level defines."""
    names = {command.name: command.description for command in (*DOMAIN.keys, *commands)}
    return names.get(action) or action.replace("_", " ").lower()


def list_guards(scenario: Scenario) -> list[tuple[int, int]]:
    """Return (object type, reach in cells) of the guards for each use of the terminating rule named
    `seen`, which ends the episode when a guard sees an agent."""
    calls = (part for call in scenario.calls(TERMINATING) for part in call.walk())
    return [(c.arguments["object_type"], c.arguments["reach"]) for c in calls if c.system is _SEEN]


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
"""Keys of a second player at the same keyboard: its left half; a second gamepad has the buttons of
the first."""


class GridEpisode(Episode):
    """Episode of a scenario in an object world; see `gv_engine.play.session.episode.Episode`.

    Reward and total are sums over all agents.

    Attributes:
        scenario: scenario to play.
        agents: names of the present agents.
        controlled: index of the agent that the player controls, whose view is shown.
        partners: policies of other agents, by name.
        actions: names of the scenario's actions.
        wait: `WAIT`, which rules see as no action; empty if the scenario has rules in the style of
            GridVerse or esper processors, which do not support waiting.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._names = tuple(scenario.agent_group.names)
        self.controlled = 0
        self.partners: dict[str, Policy] = {}
        self.actions = scenario.action_names
        self.wait = action_name(WAIT) if _has_only_column_rules(scenario) else ""
        self._simulation = Simulation(scenario)
        self.world = self._simulation.world
        # last observations of each agent
        self._grid = np.zeros((len(self._names), *scenario.area.shape, 3), np.uint8)
        self._item = np.zeros((len(self._names), 3), np.uint8)
        self._explored: NDArray[np.uint8] = np.empty((0, 0, 0, 6), np.uint8)
        self._forgotten: list[int] = []

    @property
    def agents(self) -> tuple[str, ...]:
        """Return the names of the present agents, in order."""
        return self._names[: self.world.present]

    @property
    def reward(self) -> float:
        """Return the reward of the last step, summed over all agents."""
        return add_up(self.world.reward)

    @property
    def total(self) -> float:
        """Return the rewards since the reset, summed over all agents."""
        return add_up(self.world.total)

    @property
    def ending(self) -> str:
        """Return a text for the player on how the episode ended; empty while the episode goes
        on."""
        return self.scenario.describe_ending(self._simulation.world, self._shown_agent)

    @property
    def _shown_agent(self) -> int:
        return self.controlled + 1

    @property
    def commands(self) -> tuple[KeyCommand, ...]:
        """Return the actions that the level defines as key commands. With several agents, also keys
        for a second player and the command that switches the controlled agent."""
        own = self.scenario.own_actions
        if len(self.agents) == 1:
            return own
        taken = {key for command in own for key in command.keys}
        second = []
        for command in DOMAINS["grid"].keys:
            key = _SECOND_KEYS.get(command.name, "")
            if command.name in self.actions and key and key not in taken:
                taken.add(key)
                name, text = f"{self.agents[1]} ", f"{self.agents[1]}: {command.description}"
                pad = [f"Second {other}" for other in command.keys if other.startswith("Pad ")]
                keys = key, *pad
                second.append(KeyCommand(name + command.name, text, keys, command.repeats))
        return (*own, *second, KeyCommand("next_agent", "control another agent", ("Tab",)))

    def reset(self, seed: int) -> None:
        """Start the episode that a Gymnasium environment starts with this seed."""
        self._simulation.reset(np.random.default_rng(seed))
        for name, policy in self.partners.items():
            policy.begin([0], seed, [self._names.index(name)])
        self._clear_explored()
        self._observe()

    def refusal_reason(self, action: str) -> str:
        """Return a sentence on why `action`, an action's name, is not allowed; an empty text if it
        is allowed."""
        for name, does in self._parse(action).items():
            if name not in self.agents:
                return f"no agent {name!r}{describe_allowed(name, self.agents)}"
            if not does or does not in (*self.actions, self.wait):
                return f"{describe_action(does).capitalize()}: not in this level"
        if len(self.agents) > len(self._parse(action)) and not self.wait:
            return "Nobody can wait in this level: say what each agent does"
        return ""

    def _parse(self, action: str) -> dict[str, str]:
        """Return the action of each agent, by agent name, in a text such as "ann MOVE_FORWARD | bob
        TOGGLE"."""
        if len(self._names) == 1:
            return {self._names[0]: action}
        if action == self.wait:
            return {}
        parts = [part.rpartition(" ") for part in action.split(ACTION_SEPARATOR)]
        return {name or self.agents[self.controlled]: does for name, _, does in parts}

    def joint_action(self, action: str) -> str:
        """Return a text with the actions of all agents: the player's `action`, and for other agents
        the choice of their policies."""
        if len(self._names) == 1 or self.refusal_reason(action):
            return action
        by_agent = self._parse(action)
        for agent, name in enumerate(self.agents, 1):
            done = self.world.done[agent] and not self.world.terminated
            if name in self.partners and name not in by_agent and not done:
                choice = self.partners[name].act(*self._observe_agent(agent))[0]
                by_agent[name] = self.actions[int(choice)]
        acting = (name for name in self.agents if by_agent.get(name, self.wait) != self.wait)
        return ACTION_SEPARATOR.join(f"{name} {by_agent[name]}" for name in acting) or self.wait

    def action_indices(self, action: str) -> Any:
        """Return the index of `action` in `actions`, as environments take it; with several agents,
        a tuple with an index for each."""
        if len(self._names) == 1:
            return super().action_indices(action)
        acting = {name for k, name in enumerate(self.agents, 1) if not self.world.done[k]}
        by_agent = {name: self.wait if name in acting else self.actions[0] for name in self._names}
        by_agent |= self._parse(action)
        return tuple(map(self.actions.index, by_agent.values()))

    def merge_actions(self, action: str, others: str) -> str:
        """Return a text with the actions of all agents, such as "ann MOVE_FORWARD | bob TOGGLE":
        the player's action from `action`, and the actions of all other agents from `others`."""
        if len(self._names) == 1 or self.refusal_reason(action):
            return action
        own = {self.agents[self.controlled]: self.wait or self.actions[0], **self._parse(action)}
        by_agent = self._parse(others) | own
        return ACTION_SEPARATOR.join(
            f"{name} {by_agent[name]}" for name in self.agents if name in by_agent
        )

    def step(self, action: str) -> None:
        """Take an action, given by name, for which `refusal_reason` is empty.

        Raises:
            RuleError: a rule fails.
        """
        by_agent = self._parse(action)
        acts = (by_agent.get(name, self.wait or self.actions[0]) for name in self._names)
        self._simulation.step(*(WAIT if act == self.wait else named_action(act) for act in acts))
        self._observe()

    def mask(self) -> dict[str, bool]:
        """Return for each action of the controlled agent, by name, True if it would have an effect
        now."""
        mask = self._mask_of(self._shown_agent)
        return dict(zip(self.actions, mask.astype(bool).tolist(), strict=True))

    def _mask_of(self, agent: int) -> NDArray[np.int8]:
        mask = np.zeros(len(self.actions), np.int8)
        self._simulation.valid_actions(mask, agent)
        return mask

    def observe(self) -> PolicyInput:
        """Return observation and info of the current state with an axis of one world, as from
        `GridVectorEnv`, or with several agents from `AgentsVectorEnv`."""
        if len(self._names) == 1:
            return self._observe_agent(1)
        by_agent = [self._observe_agent(agent) for agent in self._simulation.agents]
        observation, info = (_stack_agents(parts) for parts in zip(*by_agent, strict=True))
        return observation, info

    def _observe_agent(self, agent: int) -> PolicyInput:
        """Return observation and info of one agent (numbered from 1) with an axis of one world, as
        from `GridVectorEnv`."""
        scenario, world = self.scenario, self._simulation.world
        grid, item = self._grid[agent - 1], self._item[agent - 1]
        parts = scenario.missions, scenario.observed_state
        numbers = [part.encode(world, agent) for part in parts if part]
        observation = make_encoder(scenario, "default").encode(grid, item, *numbers)
        names = scenario.reward_names
        terms = self._simulation.terms_of(agent) or (0.0,) * len(names)
        info = {
            "action_mask": self._mask_of(agent),
            "reward_terms": dict(zip(names, terms, strict=True)),
        }
        if scenario.tells_success:
            info["success"] = info["is_success"] = bool(world.success[agent])
        if scenario.mixture:
            info["member"] = world.member
        return episode.add_world_axis(observation, info)

    def frame(self, message: str) -> Frame:
        """Return a frame with all data to draw the current state, and `message`, a text for the
        player."""
        frames: list[Frame] = []
        shown = self._shown_agent
        self._simulation.render(frames.append, self._grid[shown - 1].copy(), message, shown)
        explored = self._explored[shown - 1].copy()
        marks, watched = self._agent_marks(), self._find_watched_cells()
        known = replace(frames[-1], explored=explored, is_dim=self.scenario.is_dim)
        return replace(known, marks=marks, watched=watched)

    def _find_watched_cells(self) -> dict[Cell, list[Cell]]:
        """Return the cells that guards see, by the cell of the guard."""
        world, watched = self.world, dict[Cell, list[Cell]]()
        for object_type, reach in list_guards(self.scenario.members[world.member]):
            for guard in all_of(world, object_type).tolist():
                y, x = place = int(world.position.y[guard]), int(world.position.x[guard])
                cells = watched.setdefault(place, [])
                for _ in range(reach):
                    y, x = beside(y, x, world.state_of(guard))
                    if not world.inside(y, x):
                        break
                    is_last = blocks_vision(world, world.at[y, x])
                    cells += [(y, x)] if not is_last or can_enter(world, y, x) else []
                    if is_last:
                        break
        return watched

    def _agent_marks(self) -> tuple[AgentMark, ...]:
        """Return a mark for each agent on the board, first for the agent whose view is shown; () in
        a level with one agent."""
        if len(self.agents) == 1:
            return ()
        position, shown = self.world.position, self._shown_agent
        agents = sorted(range(1, len(self.agents) + 1), key=lambda agent: agent != shown)
        return tuple(
            AgentMark(self._names[agent - 1], *self.scenario.agent_group.team_of(agent), cell)
            for agent in agents
            if (cell := (int(position.y[agent]), int(position.x[agent])))[0] >= 0
        )

    def row(self) -> NDArray[Any]:
        """Return the record (row) of the whole world, an array of shape () and dtype
        `scenario.layout.dtype`."""
        return self._simulation.world.snapshot()

    def load_row(self, row: NDArray[Any]) -> None:
        """Start the episode in the state `row`, a record that `env.snapshot()` returned.

        Raises:
            ValueError: the row does not belong to this scenario, or is invalid.
        """
        row = self.scenario.check_rows(row)
        self._simulation.world.restore(row)
        self._clear_explored()
        self._observe()
        self._simulation.world.rng = generator_from_row(row["rng"])  # observing may sample

    def state_digest(self) -> str:
        """Return a hash of the whole state as 16 hexadecimal digits."""
        return row_digest(self.row(), self.scenario.types)

    @property
    def view_hash(self) -> int:
        """Return a checksum of all agents' observations and held objects."""
        return zlib.crc32(self._item.data, zlib.crc32(self._grid.data))

    def differences(self, other: GridEpisode) -> list[str]:
        """Return sentences on how world and observations differ from the episode `other`; [] if
        they are equal."""
        sentences = world_differences(other.world, self.world, self.agents)
        before, after = other._grid, self._grid
        if before.shape != after.shape:
            (_, h, w, _), (_, *size, _) = before.shape, after.shape
            sentences.append(f"the view has {size[0]} × {size[1]} cells, had {h} × {w}")
        elif not sentences and (before != after).any():
            seen = [int((shown[..., 0] != HIDDEN).sum()) for shown in (after, before)]
            changed = int((before != after).any(-1).sum())
            sentences.append(f"{seen[0]} cells are seen, were {seen[1]}; {changed} look different")
        return sentences

    def snapshot(self) -> tuple[bytes, list[tuple[float, ...]]]:
        """Return the current state for `restore`: world and observations as compressed bytes, and
        each agent's last rewards by reward function."""
        shown = (self._grid, self._item, self._explored)
        parts = (self.row().tobytes(), *(array.tobytes() for array in shown))
        terms = [self._simulation.terms_of(agent) for agent in self._simulation.agents]
        return zlib.compress(b"".join(parts), 1), terms

    def restore(self, snapshot: tuple[bytes, list[tuple[float, ...]]]) -> None:
        """Restore the state in a snapshot from `snapshot`."""
        packed, terms = snapshot
        dtype = self.scenario.layout.dtype
        data = np.frombuffer(zlib.decompress(packed), np.uint8)
        sizes = dtype.itemsize, self._grid.size, self._item.size
        row, grid, item, explored = np.split(data, np.cumsum(sizes))
        self._simulation.world.restore(row.view(dtype)[0:1].reshape(()))
        self._clear_explored()
        for array, data in ((self._explored, explored), (self._grid, grid), (self._item, item)):
            array[...] = data.reshape(array.shape)
        for agent, values in zip(self._simulation.agents, terms, strict=True):
            self._simulation.set_terms(agent, values)

    def _clear_explored(self) -> None:
        """Mark all cells as unexplored for all agents."""
        world = self._simulation.world
        self._explored = np.zeros((len(self._names), world.height, world.width, 6), np.uint8)
        self._explored[..., 0] = HIDDEN
        self._forgotten = self._count_forgotten()

    def _count_forgotten(self) -> list[int]:
        if Forgotten not in self.scenario.layout.components:
            return [0] * len(self._names)
        return [self.world.forgotten.count[agent] for agent in self.scenario.layout.agent_entities]

    def _observe(self) -> None:
        """Compute the observations of all agents, and mark the cells that each agent sees as
        explored by it."""
        self.controlled = min(self.controlled, len(self.agents) - 1)
        world, area = self._simulation.world, self.scenario.area
        forgotten = self._count_forgotten()
        if self._explored.shape[1:3] != (world.height, world.width):
            self._clear_explored()
        for explored, before, now in zip(self._explored, self._forgotten, forgotten, strict=True):
            if before != now:
                explored[...] = [HIDDEN, 0, 0, 0, 0, 0]
        self._forgotten = forgotten
        # once a step, as in an environment: observing may use the world's generator
        for agent in self._simulation.agents:
            shown, explored = self._grid[agent - 1], self._explored[agent - 1]
            self._simulation.observe(shown, self._item[agent - 1], agent)
            if world.position.y[agent] >= 0:
                seen = area.grid_mask(world, agent, shown[..., 0] != HIDDEN)
                explored[seen, :3] = world.cells(seen)
                if (beneath := world.beneath(seen)) is not None:
                    explored[seen, 3:] = beneath


def _stack_agents(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {name: _stack_agents([part[name] for part in parts]) for name in parts[0]}
    return np.stack(parts, axis=1)


def _has_only_column_rules(scenario: Scenario) -> bool:
    calls = scenario.walk_calls(TRANSITION, REWARD, TERMINATING, SUCCESS)
    return not any(call.system.is_processor or call.system.objects for call in calls)
