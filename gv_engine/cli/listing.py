"""`gv-engine list`: the built-in scenarios."""

from __future__ import annotations

import argparse

from gv_engine.cli import output
from gv_engine.cli.options import Commands, add_command, complain
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.library import gym_id
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import DOMAINS

_EXAMPLES = """\
gv-engine list
gv-engine list | cut -f 1"""
_NO_ID = "gv_engine.parallel_env"
"""In place of a Gymnasium id, which stands for one agent."""


def add(commands: Commands) -> None:
    """Describe the command."""
    add_command(commands, run, "list", "List the scenarios that come with the engine", _EXAMPLES)


def run(options: argparse.Namespace) -> int:
    """Print name, Gymnasium id, size and description of each."""
    rows = []
    for domain in DOMAINS.values():
        try:
            hooks = domain.plugin
        except MissingExtraError as error:
            complain(error)
            continue
        for name in domain.playable:
            scenario, several = load_scenario(name), name in domain.multi_agent()
            of = _NO_ID if several else gym_id(name)
            rows.append((name, of, hooks.describe_size(scenario), scenario.description))
    output.print_table(("name", "Gymnasium id", "size", "description"), rows)
    return 0
