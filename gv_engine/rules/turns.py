"""How several agents share a step: in which order they act, and when it is over for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TURNS = FIXED, SHUFFLED, ROTATING = "fixed", "shuffled", "rotating"
"""Agents act by their numbers, in an order that each step draws, or each step begins with the next
one."""
DONE = STAY, LEAVE = "stay", "leave"
"""An agent that is done stays where it is, or leaves before the next step."""
ENDS = ALL, ANY = "all", "any"
"""The episode is over when all agents are done, or as soon as one is."""


@dataclass(frozen=True)
class TurnPolicy:
    """What a scenario says of its agents as a whole.

    Attributes:
        names: of the agents, in their order.
        turns, done, ends: one of `TURNS`, of `DONE` and of `ENDS`.
        teams: their names, and the numbers of their members.
    """

    names: Sequence[str] = ("agent",)
    turns: str = FIXED
    done: str = STAY
    ends: str = ALL
    teams: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def agents_by_name(self) -> dict[str, tuple[int, ...]]:
        """The numbers of the agents that a name means: an agent's, or a team's."""
        single = ((name, (agent,)) for agent, name in enumerate(self.names, 1))
        return dict((*single, *self.teams))


SINGLE_AGENT = TurnPolicy()
"""That of one agent."""


# ---- one text for both worlds ------------------------------------------------------------------


def clear_step_results(w: Any, agent: int) -> None:
    """Forget what came of an agent's last step."""
    w.reward[agent] = 0.0
    w.done[agent] = 0
    w.success[agent] = 0
    w.ended_by[agent] = 0


def begin_step(w: Any, leaves: bool) -> None:
    """Before a step of several agents: find out who takes part in it.

    Where the episode is over and goes on, all do that have not left.
    """
    for agent in w.agents():
        if not w.done[agent] or (w.terminated and w.position.y[agent] >= 0):
            clear_step_results(w, agent)
        elif leaves:
            w.stand(agent, -1, -1)
        w.reward[agent] = 0.0
        w.live[agent] = not w.done[agent]


def set_turn_order(w: Any, turns: int) -> None:
    """Bring several agents into the order in which they take turns; it is a number of `TURNS`."""
    count = len(w.agents())
    first = w.steps % count if turns == 2 else 0
    for k in range(count):
        w.order[k] = 1 + (first + k) % count
    if turns == 1:
        w.rng.shuffle(w.order[:count])


def is_episode_over(w: Any, one_suffices: bool) -> bool:
    """Whether all agents are done, or any is."""
    count = 0
    for agent in w.agents():
        count += w.done[agent] != 0
    return count == len(w.agents()) or (one_suffices and count > 0)
