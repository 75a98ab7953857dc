"""List the built-in scenarios.

examples:
  gv-engine list
  gv-engine list | cut -f 1
"""

from __future__ import annotations

import argparse

from gv_engine.cli import options as cli
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.library import gym_id

_NO_ID = "gv_engine.parallel_env"
"""Text instead of a Gymnasium id for several agents."""


def add_options(parser: cli.CommandParser) -> None:
    """Add no options: the command `list` has none."""


def run(options: argparse.Namespace) -> int:
    """Run the command `list`: print a table of the built-in scenarios with Gymnasium id, size and
    description; return 0."""
    rows = []
    for domain in DOMAINS.values():
        try:
            hooks = domain.plugin
        except MissingExtraError as error:
            cli.complain(error)
            continue
        for name in domain.playable:
            scenario, has_several_agents = load_scenario(name), name in domain.multi_agent()
            env_id = _NO_ID if has_several_agents else gym_id(name)
            rows.append((name, env_id, hooks.describe_size(scenario), scenario.description))
    cli.print_table(("name", "Gymnasium id", "size", "description"), rows)
    return 0
