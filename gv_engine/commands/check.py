"""`gv-engine check`: whether a scenario is sound."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import gv_engine
from gv_engine.batch import Batch
from gv_engine.commands import tables
from gv_engine.commands.arguments import (
    Commands,
    add_command,
    add_scenario,
    complain,
    natural,
    positive,
)
from gv_engine.errors import DoesNotCompileError, ScenarioError
from gv_engine.lockstep import examine
from gv_engine.promises import broken
from gv_engine.scenario import Scenario
from gv_engine.system import Phase, System

_HOME = Path(gv_engine.__file__).parent.parent
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
        scenario = Scenario.load(options.scenario)
    except ScenarioError as error:
        print(*error.problems, sep="\n", file=sys.stderr)
        return 1
    for member in scenario.members:
        tables.show(
            ("phase", "system", "where"),
            [
                (phase.name, call.name, place(call.system))
                for phase in Phase
                for call in member.calls(phase)
            ],
            f"{member.name}: its systems in their order",
        )
    try:
        Batch(scenario, 1)
        compiles = "yes"
    except DoesNotCompileError as error:
        compiles = f"no: {error}"
    promises = broken(scenario, seed=options.seed)
    report = examine(scenario, options.episodes, options.seed, compiles == "yes")
    rows: list[tuple[str, object]] = [("compiles", compiles)]
    rows += [("episodes", report.episodes), ("steps", f"{report.steps:,}")]
    if not report.fault and not promises:
        both = "object world equals compiled world, and " if compiles == "yes" else ""
        rows.append(("found", f"{both}nothing wrong"))
    tables.show(("", ""), rows)
    for fault in (*promises, *filter(None, [report.fault])):
        complain(fault)
    return 1 if promises or report.fault else 0


def place(system: System) -> str:
    """File and line of a system; the file relative to where Python was started, or to the engine's
    home, if it lies below one of them."""
    name, line = system.place
    file = Path(name)
    homes = [home for home in (Path.cwd(), _HOME) if file.is_relative_to(home)]
    return f"{file.relative_to(homes[0]) if homes else file}:{line}"
