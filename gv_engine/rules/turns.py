"""Turn order of several agents, and the end of their episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gv_engine.rules.component import AGENT, to_snake_case
from gv_engine.rules.system import Call


def describe_ending(success: Call | None, is_truncated: bool, ending_calls: Sequence[Call]) -> str:
    """Return a sentence, without its full stop, that tells the player why the episode ended, such
    as "You were seen". `success` is the scenario's rule for success, and `ending_calls` are the
    rules that ended the episode.

    Args:
        success: call of the scenario's success function if the episode is a success, else None.
        is_truncated: True if the episode was cut off by the step limit.
        ending_calls: the call that ended the episode, after the calls that it is nested in.
    """
    if success is not None:
        return success.ending_message or "Well done!"
    if is_truncated:
        return "Time is up"
    for call in ending_calls:
        if message := call.ending_message or call.system.ending_message:
            return message
    if not ending_calls:
        return "The end"
    return f"The end: {to_snake_case(ending_calls[-1].name).replace('_', ' ')}"


TURNS = FIXED, SHUFFLED, ROTATING = "fixed", "shuffled", "rotating"
"""Turn orders: by agent number; shuffled in each step; or starting one agent later in each step."""
_SHUFFLED, _ROTATING = TURNS.index(SHUFFLED), TURNS.index(ROTATING)
DONE = STAY, LEAVE = "stay", "leave"
"""Options for an agent that is done: it stays in its cell, or leaves before the next step."""
ENDS = ALL, ANY = "all", "any"
"""Options for the end of the episode: when all agents are done, or as soon as any is."""


@dataclass(frozen=True)
class AgentGroup:
    """Rules by which a scenario's agents play together: names, teams, order of turns, and when the
    episode ends.

    Attributes:
        names: names of the agents, in order.
        turns, done, ends: one of the values in `TURNS`, in `DONE` and in `ENDS`.
        teams: (name, numbers of its members) of each team.
    """

    names: Sequence[str] = ("agent",)
    turns: str = FIXED
    done: str = STAY
    ends: str = ALL
    teams: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def team_of(self, agent: int) -> tuple[str, int]:
        """Return (name, number from 1 on) of the agent's team; ("", 0) if it has none."""
        for number, (name, members) in enumerate(self.teams, 1):
            if agent in members:
                return name, number
        return "", 0

    @property
    def agents_by_name(self) -> dict[str, tuple[int, ...]]:
        """Agent numbers by the name of an agent or of a team."""
        agents = {name: (agent,) for agent, name in enumerate(self.names, 1)}
        return agents | dict(self.teams)


SINGLE_AGENT = AgentGroup()
"""Group of a scenario with one agent."""


# The functions below run as they are on object worlds and, compiled, on rows of a batch.


def clear_step_results(w: Any, agent: int) -> None:
    """Before a step, set an agent's reward, done flag, success flag and ending rule to 0."""
    w.reward[agent] = 0.0
    w.done[agent] = 0
    w.success[agent] = 0
    w.ended_by[agent] = 0


def reaches_step_limit(w: Any, max_steps: int) -> Any:
    """Return True if the episode has reached the scenario's step limit `max_steps`."""
    return w.steps >= max_steps


def reaches_mission_limit(w: Any, max_steps: int) -> Any:
    """Return True if the episode has reached `max_steps`, or the step limit of its mission."""
    return w.steps >= max_steps or 0 < w.mission.max_steps[AGENT] <= w.steps


def begin_step(w: Any, removes_done_agents: bool) -> None:
    """Begin a step of several agents: set `w.live` to 1 for each agent that is on the grid and not
    done. If `removes_done_agents`, take the agents that are done off the grid.

    If the episode is over and yet continues, all agents on the grid take part.
    """
    for agent in w.agents():
        if not w.done[agent] or (w.terminated and w.position.y[agent] >= 0):
            clear_step_results(w, agent)
        elif removes_done_agents:
            w.stand(agent, -1, -1)
        w.reward[agent] = 0.0
        w.live[agent] = not w.done[agent] and w.position.y[agent] >= 0


def lift_absent_agents(w: Any) -> None:
    """Take those agents off the grid that a rule has put out of play for some steps, by a positive
    number in `w.absence.steps`."""
    for agent in w.agents():
        if w.absence.steps[agent] > 0 and not w.done[agent]:
            w.stand(agent, -1, -1)


def set_turn_order(w: Any, order_index: int) -> None:
    """Write the order in which agents act in this step into `w.order`. `order_index` is an index of
    `TURNS`: fixed, rotating or shuffled."""
    count = len(w.agents())
    first = w.steps % count if order_index == _ROTATING else 0
    for k in range(count):
        w.order[k] = 1 + (first + k) % count
    if order_index == _SHUFFLED:
        w.rng.shuffle(w.order[:count])


def is_episode_over(w: Any, one_suffices: bool) -> bool:
    """Return True if all agents are done; if `one_suffices`, also if at least one of them is."""
    count = 0
    for agent in w.agents():
        count += w.done[agent] != 0
    return count == len(w.agents()) or (one_suffices and count > 0)
