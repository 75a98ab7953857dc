"""`gv-engine list`: the built-in scenarios."""

from __future__ import annotations

import argparse

from gv_engine.cli.options import Commands, add_command, complain, print_table
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.library import gym_id
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import DOMAINS

_EXAMPLES = """\
gv-engine list
gv-engine list | cut -f 1"""
_NO_ID = "gv_engine.parallel_env"
"""Text instead of a Gymnasium id for several agents."""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    add_command(commands, run, "list", "List the built-in scenarios", _EXAMPLES)


def run(options: argparse.Namespace) -> int:
    """Print a table with name, Gymnasium id, size and description of each scenario."""
    rows = []
    for domain in DOMAINS.values():
        try:
            hooks = domain.plugin
        except MissingExtraError as error:
            complain(error)
            continue
        for name in domain.playable:
            scenario, has_several_agents = load_scenario(name), name in domain.multi_agent()
            env_id = _NO_ID if has_several_agents else gym_id(name)
            rows.append((name, env_id, hooks.describe_size(scenario), scenario.description))
    print_table(("name", "Gymnasium id", "size", "description"), rows)
    return 0
