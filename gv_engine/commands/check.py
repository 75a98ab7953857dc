"""`gv-engine check`: whether a scenario is sound."""

from __future__ import annotations

import argparse
import sys

from gv_engine.commands import tables
from gv_engine.commands.arguments import (
    Commands,
    add_command,
    add_scenario,
    complain,
    natural,
    positive,
)
from gv_engine.language.errors import ScenarioError
from gv_engine.reading.families import hooks_of
from gv_engine.reading.loading import load_scenario

_EXAMPLES = """\
gv-engine check keydoor-9x9
gv-engine check cave --episodes 100 --seed 7"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        run,
        "check",
        "Load a scenario, compile it, and compare the object world with the compiled one",
        _EXAMPLES,
    )
    add_scenario(parser)
    parser.add_argument(
        "--episodes",
        metavar="N",
        type=positive,
        default=10,
        help="random ones, of at most 200 steps (default: 10)",
    )
    parser.add_argument(
        "--seed", metavar="S", type=natural, default=0, help="of the first one (default: 0)"
    )


def run(options: argparse.Namespace) -> int:
    """Print the systems in their order, and what has been found; 1 if something is wrong."""
    try:
        scenario = load_scenario(options.scenario)
    except ScenarioError as error:
        print(*error.problems, sep="\n", file=sys.stderr)
        return 1
    hooks = hooks_of(scenario)
    for title, systems in hooks.systems(scenario):
        tables.show(("phase", "system", "where"), systems, f"{title}: its systems in their order")
    found = hooks.examine(scenario, options.episodes, options.seed)
    tables.show(("", ""), found.facts)
    for fault in found.faults:
        complain(fault)
    return 1 if found.faults else 0
