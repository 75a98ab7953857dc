"""Policies of the agents that do not learn in a training, from the value of `--partner`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gv_engine.envs.rollout.policy import (
    RANDOM,
    BotPolicy,
    Policy,
    PolicyError,
    load_policy,
    policies_by_agent,
    policy_digest,
    with_absolute_paths,
)
from gv_engine.rules.turns import AgentGroup
from gv_engine.scenario.scenario import Scenario


class PartnerPolicies(NamedTuple):
    """Policies of the agents that do not learn in a training.

    Attributes:
        by_agent: policy of each such agent, by the agent's index from 0.
        text: the value of the option `--partner` with absolute paths.
        digest: see `policy_digest`.
    """

    by_agent: dict[int, Policy]
    text: str
    digest: str


def load_partners(text: str, scenario: Scenario, num_envs: int) -> PartnerPolicies:
    """Load the policies of the option `--partner`, such as `cat=random,hunters=./run`, for the
    agents that do not learn.

    Args:
        text: names of agents or teams, and of their policies, see `load_policy`.
        scenario: scenario of several agents.
        num_envs: number of worlds.

    Raises:
        PolicyError: there is no such agent, team or policy, no agent is left to learn, or a policy
            keeps a state that a checkpoint cannot hold.
        RunError: a run is damaged, or does not fit the scenario.
    """
    group, where = scenario.agent_group, f"--partner {text}"
    names = group.names
    if "=" not in text:
        expected = f"expected self, or NAME=POLICY, as {names[-1]}=random"
        raise PolicyError(f"{where}: {expected}")
    named = policies_by_agent(text, group, "--partner")
    if "self" in named.values():
        raise PolicyError(f"{where}: past selves act for all agents: give --partner self alone")
    if len(named) == len(names):
        raise PolicyError(
            f"{where}: no agent is left to learn: leave one of {', '.join(names)} out"
        )
    acting = num_envs, len(scenario.actions), False, scenario
    by_agent = {names.index(name): load_policy(each, *acting) for name, each in named.items()}
    for name, policy in zip(named.values(), by_agent.values(), strict=True):
        if isinstance(policy, BotPolicy) or getattr(policy, "has_state", False):
            raise PolicyError(
                f"{where}: {name} keeps a state of its own, which a checkpoint cannot hold: "
                f"allowed are {', '.join(RANDOM)}, runs and functions"
            )
    return PartnerPolicies(by_agent, with_absolute_paths(text, group), policy_digest(text))


def name_with_partners(run: Path, partner: str, group: AgentGroup) -> str:
    """Return a value for the option `--policy` that plays a trained run together with its training
    partners. `run` is the run's folder, `partner` the value of its option `--partner`."""
    if "=" not in partner:  # none, or past selves
        return str(run)
    named = policies_by_agent(partner, group, "--partner")
    return ",".join(f"{name}={named.get(name, run)}" for name in group.names)
