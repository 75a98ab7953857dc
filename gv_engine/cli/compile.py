"""`gv-engine compile`: programs ahead of their use."""

from __future__ import annotations

import argparse
import time
import warnings

from gv_engine.cli import output
from gv_engine.cli.check import played_of
from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_consent,
    complain,
    scenario_options,
)
from gv_engine.cli.output import progress
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import DOMAINS, get_plugin

_EXAMPLES = """\
gv-engine compile keydoor-9x9 cave
gv-engine compile --all"""
_EPILOG = """
Environments load what is kept, and step objects while they compile what is not. Programs are kept
per user, or in GV_ENGINE_CACHE_DIR: compile there before many processes start, or where none has
the time.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands, run, "compile", "Compile scenarios ahead, and keep their programs", _EXAMPLES
    )
    parser.epilog += _EPILOG
    parser.add_argument(
        "scenarios",
        metavar="SCENARIO",
        nargs="*",
        help="a name, a Gymnasium id, a YAML file with all its variants, or a folder with a "
        "scenario.yaml",
    )
    parser.add_argument("--all", action="store_true", help="all that come with the engine")
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Print what came of each; 1 if one does not compile or cannot be kept."""
    if bool(options.scenarios) == options.all:
        raise UsageError("name scenarios, or say --all")
    there = [domain for domain in DOMAINS.values() if options.all and not domain.missing_message]
    named = options.scenarios or [name for domain in there for name in domain.built_in()]
    sources = [source for name in named for source in played_of(name)]
    scenarios = [load_scenario(source, **scenario_options(options)) for source in sources]
    rows, code = [], 0
    with progress("programs", len(scenarios)) as advance, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # one that is not kept is of no use
        for scenario in scenarios:
            began = time.perf_counter()
            try:
                found = get_plugin(scenario).compile_scenario(scenario)
            except (DoesNotCompileError, RuntimeWarning) as error:
                complain(f"{scenario.name}: {error}")
                found, code = "failed", 1
            rows.append((scenario.name, found, f"{time.perf_counter() - began:.1f}"))
            advance()
    output.print_table(("scenario", "outcome", "seconds>"), rows)
    return code
