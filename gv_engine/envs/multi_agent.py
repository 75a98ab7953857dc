"""Many worlds of a scenario with several agents: line by line, or in arrays by world and agent."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Discrete, Space
from gymnasium.utils import seeding
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray
from pettingzoo import ParallelEnv  # what may not be there

from gv_engine.envs.arg_checks import Seeds, places
from gv_engine.envs.environment import GridEnv, grid_scenario
from gv_engine.envs.observations import FormName, form_of
from gv_engine.envs.render_modes import Renderer, with_usable_modes
from gv_engine.envs.scenario_vector_env import VectorStep, masked
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rules.errors import MissingExtraError, nearest
from gv_engine.scenario.optional_deps import PARALLEL
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import make_batch
from gv_engine.world.autoreset import DISABLED, RESTART, SAME_STEP

# ---- parallel environment ------------------------------------------------------------------------

if PARALLEL.missing_message:
    raise MissingExtraError(PARALLEL.missing_message)


class ParallelGridEnv(ParallelEnv[str, Any, int]):  # type: ignore[misc]  # it has no types
    """One world of a scenario, in which all agents act at once, by their names.

    Observations, actions and infos are those of a `GridEnv`, one for each agent. An agent whose
    episode has ended is in `agents` no longer; it is terminated where a terminating function is
    true for it, and truncated where the episode ends for all others, at `max_steps` say.

    Args:
        scenario, render_mode, world, max_steps, observation_representation, options: as for
            `GridEnv`.

    Attributes:
        scenario: what is played.
        possible_agents: the names of all agents, in their order; of a mixture, those of the member
            with the most. In a world that plays another one, `agents` begins with fewer.
        agents: of those whose episode goes on.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        *,
        render_mode: str | None = None,
        world: str = "auto",
        max_steps: int | None = None,
        observation_representation: FormName = "default",
        **options: Any,
    ) -> None:
        modes = GridEnv.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(
                f"render_mode={render_mode!r}: allowed are None and {', '.join(modes)}"
            )
        self.scenario = grid_scenario(scenario, max_steps, **options)
        self.metadata = {
            **with_usable_modes(GridEnv.metadata),
            "name": self.scenario.name,
            "is_parallelizable": True,
        }
        self.render_mode = render_mode
        self.possible_agents = list(self.scenario.sharing.names)
        self.agents: list[str] = []
        self._form = form_of(self.scenario, observation_representation)
        self._batch = make_batch(self.scenario, 1, world, more=self._form.made_of)
        self._form.belongs_to(self._batch)
        self._action_space = Discrete(len(self.scenario.actions))
        self._seats = {name: seat for seat, name in enumerate(self.possible_agents)}
        self._renderer: Renderer | None = None
        self._started = False

    @property
    def world(self) -> str:
        """The backend that steps now."""
        return self._batch.world

    def observation_space(self, agent: str) -> Space[Any]:
        """What an agent may see, the same space at every call."""
        self._know(agent)
        return self._form.space

    def action_space(self, agent: str) -> Space[Any]:
        """What an agent may do, the same space at every call."""
        self._know(agent)
        return self._action_space

    def _know(self, agent: Any) -> None:
        """Make sure that it is the name of an agent."""
        if agent not in self._seats:
            raise ValueError(f"no agent {agent!r}: {nearest(str(agent), self.possible_agents)}")

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a new level; with a seed, the one that belongs to it. No options are known, and none
        refused, as PettingZoo has it."""
        if seed is not None or not self._started:
            self._batch.set_generator(0, seeding.np_random(seed)[0])
        self._started = True
        self._batch.step(np.full(len(self._seats), RESTART), DISABLED)
        self.agents = self._present()
        return self._observations(self.agents), self._infos(self.agents)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Let the agents act whose episode goes on.

        Args:
            actions: of each of them, by its name.

        Returns:
            observations, rewards, terminations, truncations and infos of these agents.

        Raises:
            ValueError: one is missing or unknown, an action is none of the action space, or nothing
                was reset yet.
            RuleError: a rule is not defined on this world.
        """
        acting, out = self.agents, self._batch.outputs
        self._batch.step(self._chosen(actions), DISABLED)
        ended = {
            name: (bool(out.terminated[seat]), bool(out.truncated[seat]))
            for name, seat in self._seats.items()
        }
        self.agents = [name for name in acting if not any(ended[name])]
        return (
            self._observations(acting),
            {name: float(out.rewards[self._seats[name]]) for name in acting},
            {name: ended[name][0] for name in acting},
            {name: ended[name][1] for name in acting},
            self._infos(acting),
        )

    def _chosen(self, actions: Mapping[str, Any]) -> NDArray[np.int64]:
        """(A,) numbers of actions, 0 for agents whose episode is over."""
        if not self._started:
            raise ValueError("call reset() before the first step()")
        if not isinstance(actions, Mapping):
            raise ValueError(
                f"actions are a {type(actions).__name__}: expected a mapping of the agents' names "
                f"({', '.join(self.possible_agents)}) to numbers"
            )
        for name in actions:
            self._know(name)
        chosen = np.zeros(len(self._seats), np.int64)
        for name in self.agents:
            if name not in actions:
                raise ValueError(f"no action of {name}, whose episode goes on")
            if not self._action_space.contains(actions[name]):
                last = self._action_space.n - 1
                raise ValueError(
                    f"action {actions[name]!r} of {name}: allowed are 0 to {last}, for "
                    f"{', '.join(self.scenario.action_names)}"
                )
            chosen[self._seats[name]] = actions[name]
        return chosen

    def _observations(self, names: list[str]) -> dict[str, Any]:
        arrays = self._batch.outputs.named(self._form.made_of)
        return {
            name: self._form.one(*(array[self._seats[name], ...] for array in arrays))
            for name in names
        }

    def _infos(self, names: list[str]) -> dict[str, Any]:
        return {name: self._info(self._seats[name]) for name in names}

    def _info(self, seat: int) -> dict[str, Any]:
        out, scenario = self._batch.outputs, self.scenario
        terms = zip(scenario.reward_names, out.terms[seat].tolist(), strict=True)
        info: dict[str, Any] = {
            "action_mask": out.mask[seat].copy(),
            "reward_terms": dict(terms),
        }
        if scenario.tells_success:
            info["success"] = info["is_success"] = bool(out.success[seat])
        if scenario.mixture:
            info["member"] = int(out.member[seat])
        if scenario.missions:
            info["mission"] = scenario.missions.text(out.mission[seat])
        return info

    def snapshot(self) -> NDArray[Any]:
        """The world as one row: a () array of `scenario.layout.dtype`."""
        return self._batch.snapshot(0)

    def restore(self, row: NDArray[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Become the world of a row, and return what it shows, as `reset` does.

        Raises:
            ValueError: the row has another layout.
        """
        self._started = True
        self._batch.restore(0, row)
        over = row["terminated"] or row["truncated"]
        names, present = enumerate(self.possible_agents, 1), self._present()
        self.agents = [name for number, name in names if not (over or row["done"][number])]
        return self._observations(present), self._infos(present)

    def _present(self) -> list[str]:
        """The agents of the member of a mixture that is played; elsewhere all."""
        present = self.scenario.present(int(self._batch.outputs.member[0])).tolist()
        return list(compress(self.possible_agents, present))

    def fork(self) -> ParallelGridEnv:
        """An independent environment with the same world, and the same future."""
        return deepcopy(self)

    def render(self) -> Any:
        """A picture of the world, as for `GridEnv`; with the view of the first agent."""
        if self.render_mode is None or not self._started:
            return None
        if self._renderer is None:
            self._renderer = Renderer(self.render_mode, self.scenario, self._batch.render)
        return self._renderer.draw(0)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_renderer": None}  # a copy opens a window of its own

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scenario.name}, {self.world}>"

    __str__ = __repr__


# ---- agents vector environment -------------------------------------------------------------------


class EachAgentVectorEnv(GridVectorEnv):
    """N worlds of A agents as a Gymnasium vector environment of N * A lines, for trainers that
    know one agent; those of one world follow each other.

    World i of `reset(seed=s)` has the seed `s + i`; `reset_mask`, snapshots and pictures are those
    of worlds. An agent that is done has a reward of 0 and stays `terminated` until its world begins
    anew: `info["live"]`, (N * A,) bool, says whose next action counts. Episodes, their statistics
    and `final_obs` end with their worlds. Where a member of a mixture has fewer agents, the lines
    of the others are like those of agents that have left, and no episode of theirs is counted.

    Args:
        scenario, options: as for `GridVectorEnv`.
        num_envs: N.
    """

    several = True

    def _line(self, number: int) -> str:
        world, agent = divmod(number, len(self.scenario.sharing.names))
        return f"{self.scenario.sharing.names[agent]} in {super()._line(world)}"

    def _settle_ends(self) -> None:
        out, over = self._batch.outputs, self._by_world(self._ended).all(axis=1, keepdims=True)
        member = out.final_member if self._mode == SAME_STEP else out.member
        self._by_world(self._ended)[:] = over & self._present(member)

    def _present(self, member: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(N, A) or (A,) which agents are there, by what lines say of their worlds."""
        if not self.scenario.layout.fewer:
            return self._all[: len(self.scenario.sharing.names)]
        return self.scenario.present(self._by_world(member)[:, 0])

    def _by_world(self, lines: NDArray[Any]) -> NDArray[Any]:
        """(N, A, …) an array of all lines."""
        agents = len(self.scenario.sharing.names)
        return lines.reshape(self.num_worlds, agents, *lines.shape[1:])

    def _info(self, given: Any = None) -> dict[str, Any]:
        out = self._batch.outputs
        over = self._by_world(out.terminated | out.truncated)
        live = (~over | over.all(axis=1, keepdims=True)) & self._present(out.member)
        return super()._info(given) | masked({"live": live.ravel()}, self._all)


def _shared(name: str) -> Any:
    """Return a property that reads the attribute of this name from `flat`."""
    return property(attrgetter(f"flat.{name}"), doc=getattr(EachAgentVectorEnv, name, None).__doc__)


class AgentsVectorEnv:
    """N worlds of A agents, stepped together by compiled code, in arrays (N, A, …).

    Observations, rewards, `terminated`, `truncated` and what is in `info` are those of
    `GridVectorEnv`, with an axis of agents behind that of worlds; `info["live"]` is (N, A) bool,
    whose next action counts. Methods that it shares with `GridVectorEnv` do the same.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`; N worlds.

    Attributes:
        flat: the same worlds, each agent in a line of its own, as a Gymnasium vector environment.
        agents: the names of the agents.
        seats: (A,), the axis that arrays have behind that of worlds.
        single_observation_space, single_action_space, num_actions, recorded: of one agent.
        observation_space, action_space: of all agents of all worlds.
    """

    autoreset_mode = _shared("autoreset_mode")
    batch = _shared("batch")
    close = _shared("close")
    expand = _shared("expand")
    metadata = _shared("metadata")
    num_actions = _shared("num_actions")
    num_worlds = _shared("num_worlds")
    recorded = _shared("recorded")
    render = _shared("render")
    render_mode = _shared("render_mode")
    scenario = _shared("scenario")
    single_action_space = _shared("single_action_space")
    single_observation_space = _shared("single_observation_space")
    snapshot = _shared("snapshot")
    state_key = _shared("state_key")
    world = _shared("world")

    def __init__(
        self, scenario: Scenario | str | Path | dict[str, Any], num_envs: int = 1, **options: Any
    ) -> None:
        self.flat = EachAgentVectorEnv(scenario, num_envs, **options)
        self.num_envs = num_envs
        self.agents = tuple(self.scenario.sharing.names)
        self.seats = (len(self.agents),)
        self.action_space = spaces.MultiDiscrete(np.full((num_envs, *self.seats), self.num_actions))
        each = batch_space(self.single_observation_space, *self.seats)
        texts = isinstance(each, spaces.Tuple)  # of which Gymnasium would make a tuple by agent
        self.observation_space: spaces.Space[Any] = (
            spaces.Tuple([each] * num_envs) if texts else batch_space(each, num_envs)
        )

    @property
    def labels(self) -> dict[str, list[str]]:
        """What numbers in the data of rollouts stand for, and the names of the agents."""
        return {**self.flat.labels, "agents": list(self.agents)}

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Draw new levels, as `GridVectorEnv.reset` does."""
        observation, info = self.flat.reset(seed=seed, options=options, out=self._lines(out))
        return self._by_world(observation), self._by_world(info)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Let every agent act.

        Args:
            actions: (N, A) integers of the action space; those of agents that are done are not
                looked at, but have to be there.
            out: as for `GridVectorEnv.step`, of shapes (N, A, …).

        Raises:
            ValueError: they have another shape, one is none of the action space, or nothing was
                reset yet; or `out` does not fit.
            RuleError: a rule is not defined on one of the worlds.
        """
        given, expected = np.asarray(actions), (self.num_envs, *self.seats)
        if given.shape != expected or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions have shape {given.shape} and dtype {given.dtype}: expected {expected} "
                f"integers"
            )
        observation, *results, info = self.flat.step(given.ravel(), self._lines(out))
        rewards, terminated, truncated = map(self._by_world, results)
        return self._by_world(observation), rewards, terminated, truncated, self._by_world(info)

    def restore(
        self, rows: NDArray[Any], worlds: ArrayLike | None = None, *, trusted: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Make worlds those of rows, as `GridVectorEnv.restore` does."""
        observation, info = self.flat.restore(rows, worlds, trusted=trusted)
        return self._by_world(observation), self._by_world(info)

    def missions(self) -> tuple[tuple[str, ...], ...]:
        """Return what each agent of each world is asked to do, in words; empty for nothing."""
        found: tuple[tuple[str, ...], ...] = self._by_world(self.flat.missions())
        return found

    def fork(self) -> AgentsVectorEnv:
        """Return an independent environment with the same worlds, and the same future."""
        return deepcopy(self)

    def _lines(self, out: Mapping[str, Any] | None) -> dict[str, NDArray[Any]] | None:
        """Return the memory of `out`, (N, A, …), as arrays of all lines."""
        if out is None:
            return None
        kinds = {
            name: ((self.num_envs, *self.seats, *shape[1:]), dtype)
            for name, (shape, dtype) in self.flat._results.items()
        }
        lines = self.flat.num_envs
        return {
            name: array.reshape(lines, *array.shape[2:])
            for name, array in places(out, kinds).items()
        }

    def _by_world(self, lines: Any) -> Any:
        """Return arrays (N, A, …) of those of all lines, also in mappings; of texts, tuples."""
        if isinstance(lines, dict):
            return {name: self._by_world(value) for name, value in lines.items()}
        (agents,) = self.seats
        if isinstance(lines, tuple):
            return tuple(lines[i : i + agents] for i in range(0, len(lines), agents))
        return lines.reshape(self.num_envs, agents, *lines.shape[1:])

    def __repr__(self) -> str:
        worlds = f"{self.num_envs:,} worlds of {len(self.agents)} agents"
        return f"<{type(self).__name__} {self.scenario.name}, {worlds}, {self.world}>"
