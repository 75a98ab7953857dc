"""`gv-engine list`: the built-in scenarios."""

from __future__ import annotations

import argparse

import numpy as np

from gv_engine.commands import tables
from gv_engine.commands.arguments import Commands, add_command
from gv_engine.scenario import Scenario, gym_id, names
from gv_engine.simulation import Simulation

_EXAMPLES = """\
gv-engine list
gv-engine list | cut -f 1"""


def add(commands: Commands) -> None:
    """Describe the command."""
    add_command(commands, run, "list", "List the scenarios that come with the engine", _EXAMPLES)


def run(options: argparse.Namespace) -> int:
    """Print name, Gymnasium id, height × width and description of each."""
    scenarios = {name: Scenario.load(name) for name in names()}
    tables.show(
        ("name", "Gymnasium id", "size", "description"),
        [(name, gym_id(name), size(it), it.description) for name, it in scenarios.items()],
    )
    return 0


def size(scenario: Scenario) -> str:
    """Height × width of the scenario's first level; of a mixture, those of all its members."""
    found: dict[str, None] = {}
    for member in scenario.members:
        simulation = Simulation(member)
        simulation.reset(np.random.default_rng(0))
        found[f"{simulation.world.height}×{simulation.world.width}"] = None
    return ", ".join(found)
