"""Episode in a gridworld for sessions and replays, and hints by the solver in the background."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN
from components.items import Forgotten
from gv_engine.envs.observations import make_encoder
from gv_engine.envs.rollout.policy import Policy
from gv_engine.play.grid.domain import DOMAIN
from gv_engine.play.grid.input_map import second_player_keys
from gv_engine.play.grid.motion import Cell
from gv_engine.play.session import episode
from gv_engine.play.session.autoplay import SolverAutoplayer, list_opponents
from gv_engine.play.session.episode import ACTION_SEPARATOR, Episode, PolicyInput
from gv_engine.play.session.game import Game
from gv_engine.play.session.inspection import world_differences
from gv_engine.play.session.replay import row_digest
from gv_engine.rules.errors import describe_allowed, format_count
from gv_engine.rules.frame import AgentMark, Frame
from gv_engine.rules.geometry import WAIT, action_name, add_up, named_action
from gv_engine.rules.system import REWARD, SUCCESS, TERMINATING, TRANSITION, get_system
from gv_engine.scenario.domains import DOMAINS, KeyCommand
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
        self._solver: SolverAutoplayer | None = None
        self._search_start = 0.0  # monotonic seconds
        self._strength = 0  # 0 to `HINT_STRENGTHS`
        self.is_searching = False
        self.message = ""
        self.cell: tuple[int, int] | None = None

    def search(self) -> None:
        """Start a search for the shortest action sequence that wins from the session's current
        state; if there is a hint already, make it stronger. Do nothing while a search runs."""
        if self.is_searching:
            return
        self.is_searching, self.message = True, "Looking for a way"
        self._search_start = time.monotonic()
        self._strength = min(self._strength + 1, HINT_STRENGTHS)

    def prepare(self) -> None:
        """Get ready for a search in the background, so that the first hint takes less time."""
        self._get_solver().prepare(self._game)

    def close(self) -> None:
        """End the background process."""
        if self._solver:
            self._solver.close()

    @property
    def _lone_agent(self) -> str:
        """Name of the agent that a hint is for; "" if all agents want to win together."""
        return self._game.controlled if list_opponents(self._game) else ""

    def _get_solver(self) -> SolverAutoplayer:
        if self._solver is None:
            name = self._lone_agent
            number = self._game.agents.index(name) + 1 if name else 0
            self._solver = SolverAutoplayer(agent=number)
        return self._solver

    def clear(self) -> None:
        """Drop the hint, because the state has changed."""
        self.is_searching, self.message, self.cell, self._strength = False, "", None, 0

    def update(self) -> None:
        """Check the running search: set `message` to the hint when it has ended, or to a note when
        it takes long."""
        if not self.is_searching:
            return
        path = self._get_solver().path(self._game)
        if path is not None:
            self.is_searching = False
            self.message = self._format_hint(path.actions) if path.actions else path.message
        elif time.monotonic() > self._search_start + _COMPILE_NOTE_DELAY:
            self.message = "Looking for a way; the rules are compiled the first time"

    def _format_hint(self, actions: Sequence[str]) -> str:
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
        name = self._lone_agent
        for action in actions:
            game.apply_action(game.merge_actions(f"{name} {action}", game.wait) if name else action)
            before, after = after, game.frame()
            agent_y, agent_x, _ = before.agent
            changed = np.argwhere((before.grid != after.grid).any(-1)).tolist()
            near = [(y, x) for y, x in changed if abs(y - agent_y) + abs(x - agent_x) <= 1]
            if objects := [cell for cell in near if before.grid[cell][0] != FLOOR]:
                return _describe_cell(before, objects[0])
            if near:  # something has appeared on the floor
                return _describe_cell(after, near[0])
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
    nested_calls = (part for call in scenario.calls(TERMINATING) for part in call.walk())
    arguments = [call.arguments for call in nested_calls if call.system is _SEEN]
    return [(values["object_type"], values["reach"]) for values in arguments]


# ---- episode -------------------------------------------------------------------------------------


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
        self._names = tuple(scenario.agent_group.names)  # those of absent agents, too
        self.controlled = 0
        self.partners: dict[str, Policy] = {}
        self.actions = scenario.action_names
        self.wait = action_name(WAIT) if _has_only_column_rules(scenario) else ""
        self._simulation = Simulation(scenario)
        self.world = self._simulation.world
        # last observations of each agent, and the cells that it has seen, with ground objects
        self._grid = np.zeros((len(self._names), *scenario.area.shape, 3), np.uint8)
        self._item = np.zeros((len(self._names), 3), np.uint8)
        self._explored: NDArray[np.uint8] = np.empty((0, 0, 0, 6), np.uint8)  # (A, H, W, 6)
        self._forgotten: list[int] = []  # how often each agent has forgotten all cells

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
        return self.scenario.describe_ending(self.world, self._shown_agent)

    @property
    def _shown_agent(self) -> int:
        return self.controlled + 1  # entity 0 is no agent

    @property
    def commands(self) -> tuple[KeyCommand, ...]:
        """Return the actions that the level defines as key commands. With several agents, also keys
        for a second player and the command that switches the controlled agent."""
        level_commands = self.scenario.own_actions
        if len(self.agents) == 1:
            return level_commands
        used_keys = {key for command in level_commands for key in command.keys}
        second_agent, second_commands = self.agents[1], []
        for command in (*DOMAINS["grid"].keys, *level_commands):
            keys = second_player_keys(command.name, used_keys)
            if command.name in self.actions and keys and keys[0] not in used_keys:
                used_keys.add(keys[0])
                name = f"{second_agent} {command.name}"
                description = f"{second_agent}: {command.description}"
                second_commands.append(KeyCommand(name, description, keys, command.repeats))
        switch = KeyCommand("next_agent", "control another agent", ("Tab",))
        return (*level_commands, *second_commands, switch)

    def reset(self, seed: int) -> None:
        """Start the episode that a Gymnasium environment starts with this seed."""
        self._simulation.reset(np.random.default_rng(seed))
        for name, policy in self.partners.items():
            policy.begin([0], seed, [self._names.index(name)])
        self._clear_explored()
        self._update_observations()

    def refusal_reason(self, action: str) -> str:
        """Return a sentence on why `action`, an action's name, is not allowed; an empty text if it
        is allowed."""
        by_agent = self._parse(action)
        for name, agent_action in by_agent.items():
            if name not in self.agents:
                return f"no agent {name!r}{describe_allowed(name, self.agents)}"
            if not agent_action or agent_action not in (*self.actions, self.wait):
                return f"{describe_action(agent_action).capitalize()}: not in this level"
        if len(self.agents) > len(by_agent) and not self.wait:
            return "Nobody can wait in this level: say what each agent does"
        return ""

    def _parse(self, action: str) -> dict[str, str]:
        """Return the action of each agent, by agent name, in a text such as "ann MOVE_FORWARD | bob
        TOGGLE". An action without a name is that of the controlled agent."""
        if len(self._names) == 1:
            return {self._names[0]: action}
        if action == self.wait:
            return {}
        parts = [part.rpartition(" ") for part in action.split(ACTION_SEPARATOR)]
        player = self.agents[self.controlled]
        return {name or player: agent_action for name, _, agent_action in parts}

    def joint_action(self, action: str) -> str:
        """Return a text with the actions of all agents: the player's `action`, and for other agents
        the choice of their policies."""
        if len(self._names) == 1 or self.refusal_reason(action):
            return action
        by_agent = self._parse(action)
        for agent, name in enumerate(self.agents, 1):
            is_done = self.world.done[agent] and not self.world.terminated
            if name in self.partners and name not in by_agent and not is_done:
                index = self.partners[name].act(*self._observe_agent(agent))[0]
                by_agent[name] = self.actions[int(index)]
        acting = {name: by_agent[name] for name in by_agent if by_agent[name] != self.wait}
        return self._join(acting) or self.wait

    def assist(self, agent: str) -> int:
        """Return the index of the action that the scenario's partner chooses for `agent` now."""
        return self.scenario.actions.index(self._simulation.assist(self._names.index(agent) + 1))

    def _join(self, by_agent: Mapping[str, str]) -> str:
        names = [name for name in self.agents if name in by_agent]
        return ACTION_SEPARATOR.join(f"{name} {by_agent[name]}" for name in names)

    def action_indices(self, action: str) -> Any:
        """Return the index of `action` in `actions`, as environments take it; with several agents,
        a tuple with an index for each."""
        if len(self._names) == 1:
            return super().action_indices(action)
        by_agent = dict.fromkeys(self._names, self.actions[0])  # what absent and done agents do
        for agent, name in enumerate(self.agents, 1):
            if not self.world.done[agent]:
                by_agent[name] = self.wait
        by_agent |= self._parse(action)
        return tuple(map(self.actions.index, by_agent.values()))

    def merge_actions(self, action: str, others: str) -> str:
        """Return a text with the actions of all agents, such as "ann MOVE_FORWARD | bob TOGGLE":
        the player's action from `action`, and the actions of all other agents from `others`."""
        if len(self._names) == 1 or self.refusal_reason(action):
            return action
        player = {self.agents[self.controlled]: self.wait or self.actions[0]}
        return self._join(self._parse(others) | player | self._parse(action))

    def step(self, action: str) -> None:
        """Take an action, given by name, for which `refusal_reason` is empty.

        Raises:
            RuleError: a rule fails.
        """
        by_agent = self._parse(action)
        actions = [by_agent.get(name, self.wait or self.actions[0]) for name in self._names]
        self._simulation.step(
            *(WAIT if action == self.wait else named_action(action) for action in actions)
        )
        self._update_observations()

    def mask(self, agent: str = "") -> dict[str, bool]:
        """Return for each action of `agent`, by default the controlled one, True if it would have
        an effect now."""
        mask = self._mask_of(self._names.index(agent) + 1 if agent else self._shown_agent)
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
        stack = partial(np.stack, axis=1)
        observation, info = (join_nested(parts, stack) for parts in zip(*by_agent, strict=True))
        return observation, info

    def _observe_agent(self, agent: int) -> PolicyInput:
        """Return observation and info of one agent (numbered from 1) with an axis of one world, as
        from `GridVectorEnv`."""
        scenario, world = self.scenario, self.world
        grid, item = self._grid[agent - 1], self._item[agent - 1]
        vectors = [
            part.encode(world, agent)
            for part in (scenario.missions, scenario.observed_state)
            if part
        ]
        observation = make_encoder(scenario, "default").encode(grid, item, *vectors)
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
        agent = self._shown_agent
        self._simulation.render(frames.append, self._grid[agent - 1].copy(), message, agent)
        return replace(
            frames[-1],
            explored=self._explored[agent - 1].copy(),
            is_dim=self.scenario.is_dim,
            marks=self._agent_marks(),
            watched=self._find_watched_cells(),
        )

    def _find_watched_cells(self) -> dict[Cell, list[Cell]]:
        """Return the cells that guards see, by the cell of the guard."""
        world = self.world
        watched: dict[Cell, list[Cell]] = {}
        for object_type, reach in list_guards(self.scenario.members[world.member]):
            for guard in all_of(world, object_type).tolist():
                cell = int(world.position.y[guard]), int(world.position.x[guard])
                ray = self._iter_ray(cell, world.state_of(guard), reach)
                watched.setdefault(cell, []).extend(ray)
        return watched

    def _iter_ray(self, cell: Cell, direction: int, reach: int) -> Iterator[Cell]:
        """Yield the cells that a guard in `cell` sees in a direction, at most `reach`. The ray ends
        at the first cell that blocks vision, which is included only if an agent can enter it."""
        y, x = cell
        for _ in range(reach):
            y, x = beside(y, x, direction)
            if not self.world.inside(y, x):
                return
            is_last = blocks_vision(self.world, self.world.at[y, x])
            if not is_last or can_enter(self.world, y, x):
                yield y, x
            if is_last:
                return

    def _agent_marks(self) -> tuple[AgentMark, ...]:
        """Return a mark for each agent on the board, first for the agent whose view is shown; () in
        a level with one agent."""
        if len(self.agents) == 1:
            return ()
        position, shown = self.world.position, self._shown_agent
        marks = []
        for agent in sorted(range(1, len(self.agents) + 1), key=lambda agent: agent != shown):
            cell = int(position.y[agent]), int(position.x[agent])
            if cell[0] >= 0:
                team = self.scenario.agent_group.team_of(agent)
                facing = int(self.world.agent.facing[agent])
                kind, state, color = self._item[agent - 1].tolist()
                name, item = self._names[agent - 1], (kind, state, color)
                marks.append(AgentMark(name, *team, cell, facing, item))
        return tuple(marks)

    def row(self) -> NDArray[Any]:
        """Return the record (row) of the whole world, an array of shape () and dtype
        `scenario.layout.dtype`."""
        return self.world.snapshot()

    def load_row(self, row: NDArray[Any]) -> None:
        """Start the episode in the state `row`, a record that `env.snapshot()` returned.

        Raises:
            ValueError: the row does not belong to this scenario, or is invalid.
        """
        row = self.scenario.check_rows(row)
        self.world.restore(row)
        self._clear_explored()
        self._update_observations()
        self.world.rng = generator_from_row(row["rng"])  # observing may sample

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
            (_, old_height, old_width, _), (_, height, width, _) = before.shape, after.shape
            had = f"had {old_height} × {old_width}"
            sentences.append(f"the view has {height} × {width} cells, {had}")
        elif not sentences and (before != after).any():
            seen, seen_before = ((grid[..., 0] != HIDDEN).sum() for grid in (after, before))
            changed = (before != after).any(-1).sum()
            counts = f"{seen} cells are seen, were {seen_before}"
            sentences.append(f"{counts}; {changed} look different")
        return sentences

    def snapshot(self) -> tuple[bytes, list[tuple[float, ...]]]:
        """Return the current state for `restore`: world and observations as compressed bytes, and
        each agent's last rewards by reward function."""
        arrays = (self.row(), self._grid, self._item, self._explored)
        data = b"".join(array.tobytes() for array in arrays)
        terms = [self._simulation.terms_of(agent) for agent in self._simulation.agents]
        return zlib.compress(data, 1), terms

    def restore(self, snapshot: tuple[bytes, list[tuple[float, ...]]]) -> None:
        """Restore the state in a snapshot from `snapshot`."""
        compressed, terms = snapshot
        dtype = self.scenario.layout.dtype
        data = np.frombuffer(zlib.decompress(compressed), np.uint8)
        sizes = dtype.itemsize, self._grid.size, self._item.size
        row, grid, item, explored = np.split(data, np.cumsum(sizes))
        self.world.restore(row.view(dtype).reshape(()))
        self._clear_explored()
        for array, values in ((self._explored, explored), (self._grid, grid), (self._item, item)):
            array[...] = values.reshape(array.shape)
        for agent, agent_terms in zip(self._simulation.agents, terms, strict=True):
            self._simulation.set_terms(agent, agent_terms)

    def _clear_explored(self) -> None:
        """Mark all cells as unexplored for all agents."""
        shape = (len(self._names), self.world.height, self.world.width, 6)
        self._explored = np.zeros(shape, np.uint8)
        self._explored[..., 0] = HIDDEN
        self._forgotten = self._count_forgotten()

    def _count_forgotten(self) -> list[int]:
        if Forgotten not in self.scenario.layout.components:
            return [0] * len(self._names)
        return [self.world.forgotten.count[agent] for agent in self.scenario.layout.agent_entities]

    def _update_observations(self) -> None:
        """Compute the observations of all agents, and mark the cells that each agent sees as
        explored by it; an agent that has forgotten its cells begins anew."""
        self.controlled = min(self.controlled, len(self.agents) - 1)
        world, area = self.world, self.scenario.area
        forgotten = self._count_forgotten()
        if self._explored.shape[1:3] != (world.height, world.width):
            self._clear_explored()
        for explored, before, now in zip(self._explored, self._forgotten, forgotten, strict=True):
            if before != now:
                explored[...] = [HIDDEN, 0, 0, 0, 0, 0]
        self._forgotten = forgotten
        # once a step, as in an environment: observing may use the world's generator
        for agent in self._simulation.agents:
            view, explored = self._grid[agent - 1], self._explored[agent - 1]
            self._simulation.observe(view, self._item[agent - 1], agent)
            if world.position.y[agent] >= 0:
                seen = area.grid_mask(world, agent, view[..., 0] != HIDDEN)
                explored[seen, :3] = world.cells(seen)
                if (beneath := world.beneath(seen)) is not None:
                    explored[seen, 3:] = beneath


def join_nested(parts: Sequence[Any], join: Callable[[Sequence[Any]], Any]) -> Any:
    """Return `join(parts)`; for dicts, which may be nested, a dict of what `join` returns for the
    values of each key."""
    if isinstance(parts[0], dict):
        return {key: join_nested([part[key] for part in parts], join) for key in parts[0]}
    return join(parts)


def _has_only_column_rules(scenario: Scenario) -> bool:
    calls = scenario.walk_calls(TRANSITION, REWARD, TERMINATING, SUCCESS)
    return not any(call.system.is_processor or call.system.objects for call in calls)
