"""Protocols of episodes and scenarios of any domain, as sessions use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gv_engine.scenario.domains import DOMAINS, AnyScenario, KeyCommand

if TYPE_CHECKING:
    from gv_engine.envs.rollout.policy import Policy

ACTION_SEPARATOR = " | "
"""Separator of the actions of several agents."""

PolicyInput = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""(1, …) arrays of an observation by name, and an info dict whose values also have this axis of one
world."""


class Episode(Protocol):
    """Scenario that is played one episode at a time, without a window; also the base class of
    episodes, with defaults for a single agent.

    Actions are texts. In a grid they are names, for several agents `ann MOVE_FORWARD | bob TOGGLE`,
    and agents without an action wait. In algebra they name a rule and a node. Snapshots are opaque
    and stay within the process.

    Attributes:
        world: the world, with rewards and ends.
        actions: all actions of the current state, in order.
        wait: action that only lets time pass; empty if the level has none.
        controlled: index of the agent that the player controls; the frame shows its view.
        partners: policies of other agents, by agent name.
    """

    world: Any
    actions: Any
    controlled: int = 0
    partners: dict[str, Policy]
    wait: Any = ""

    @property
    def agents(self) -> Sequence[str]:
        """Names of the agents."""
        return ("agent",)

    def joint_action(self, action: str) -> str:
        """Return the text with the actions of all agents, given `action` of the player; other
        agents act by their policies, or wait.

        Raises:
            PolicyError: a policy returned an invalid action.
        """
        return action

    def assist(self, agent: str) -> int:
        """Return the index of the action that the scenario's own rule for agents that nobody plays,
        `Scenario.partner`, chooses for `agent` now; 0 in domains without such rules."""
        return 0

    def action_name(self, index: int) -> str:
        """Return the name of the action with this index in the environment's action space."""
        return str(self.actions[index])

    def format_action(self, indices: Any) -> str:
        """Return the text of an action, such as `FORWARD`, given its index in the environment's
        action space, or one index for each agent.

        Args:
            indices: () index of an action, or (A,) one for each agent.
        """
        present_indices = np.ravel(indices)[: len(self.agents)]
        names = [self.action_name(int(index)) for index in present_indices]
        if len(names) == 1:
            return names[0]
        return ACTION_SEPARATOR.join(map(" ".join, zip(self.agents, names, strict=True)))

    def action_indices(self, action: str) -> Any:
        """Return the indices into `actions` for the text `action`: one index, or (A,) in domains
        where there may be several agents; an agent that is done gets 0.

        Raises:
            ValueError: an agent waits, which has no index.
        """
        return [*self.actions].index(action)

    def merge_actions(self, action: str, others: str) -> str:
        """Return the text with the actions of all agents: from `action` for the player's agent and
        for the agents that it names, and from `others` for all other agents."""
        return action

    @property
    def commands(self) -> tuple[KeyCommand, ...]:
        """Key commands of this level only."""
        return ()

    @property
    def steps(self) -> int:
        """Number of steps since the reset."""
        return int(self.world.steps)

    @property
    def reward(self) -> float:
        """Reward of the last step."""
        return float(self.world.reward)

    @property
    def total(self) -> float:
        """Sum of the rewards since the reset."""
        return float(self.world.total)

    @property
    def outcome(self) -> str:
        """`terminated`, `truncated`, or empty before the end."""
        if self.world.terminated:
            return "terminated"
        return "truncated" if self.world.truncated else ""

    @property
    def ending(self) -> str:
        """Sentence about the end, for the player; empty before the end."""

    def reset(self, seed: int) -> None:
        """Start the episode with the level of `seed`, the same as an environment's
        `reset(seed=seed)`."""

    def refusal_reason(self, action: str) -> str:
        """Return why `action` is not possible now, as a sentence for the player; "" if it is
        possible."""

    def step(self, action: str) -> None:
        """Take `action`, which must be a valid one."""

    def mask(self, agent: str = "") -> Mapping[str, bool]:
        """Return by action name whether the action of `agent`, by default of the controlled one,
        has an effect in the current state."""

    def observe(self) -> PolicyInput:
        """Return observation and info of the current state as from a vector environment with one
        world; in scenarios of several agents, an axis of agents follows the axis of worlds."""

    def frame(self, message: str) -> Any:
        """Return a frame with all data to draw the current state, and `message`, a text for the
        player; in a grid a `gv_engine.rules.frame.Frame`."""

    def row(self) -> Any:
        """Return a copy of the current state that can be saved; in a grid a record (row), an array
        of shape () and dtype `scenario.layout.dtype`."""

    def load_row(self, row: Any) -> None:
        """Start the episode from the saved state `row`, see `Episode.row`.

        Raises:
            ValueError: the row does not belong to the scenario.
        """

    def state_digest(self) -> str:
        """Return a hash of the whole state as 16 hexadecimal digits, equal in all processes."""

    @property
    def view_hash(self) -> int:
        """Hash of the agents' observations, for domains in which equal states may have different
        observations; 0 in other domains."""
        return 0

    def differences(self, other: Any) -> list[str]:
        """Return sentences about the differences from `other`, an episode of the same domain and
        maybe another scenario, the most important first; rewards, end and mission are left out."""

    def snapshot(self) -> Any:
        """Return a small snapshot of the whole episode for `restore`."""

    def restore(self, snapshot: Any) -> None:
        """Return to the state of a snapshot, the RNG included."""


def add_world_axis(observation: Mapping[str, Any], info: Mapping[str, Any]) -> PolicyInput:
    """Return the pair of observation and info with an axis of length 1 put before the axes of all
    arrays, as a policy for many worlds expects."""
    return _add_axis(observation), _add_axis(info)


def _add_axis(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _add_axis(part) for name, part in value.items()}
    return np.asarray(value)[None]


class Playable(AnyScenario, Protocol):
    """Scenario of any domain, with its files."""

    @property
    def source(self) -> Path | None:
        """Scenario file; None if there is none."""

    def watched_files(self) -> Sequence[Path]:
        """Return the files whose changes call for a reload: those that the scenario was read from,
        and files beside them that it could import."""

    def reload(self) -> Playable:
        """Read the scenario again from its files, and return the new scenario.

        Raises:
            ScenarioError: all errors of the files.
        """


def make_episode(scenario: AnyScenario) -> Episode:
    """Return an episode that runs `scenario`, before its first reset."""
    episode: Episode = resolve_name(DOMAINS[scenario.domain].episode)(scenario)
    return episode
