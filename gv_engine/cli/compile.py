"""Compile scenarios and cache their programs.

examples:
  gv-engine compile keydoor-9x9 cave
  gv-engine compile --all

Environments load cached programs; without one they step the slower object world while they compile.
The cache is a folder of the user, or GV_ENGINE_CACHE_DIR. Compile before many processes start.
"""

from __future__ import annotations

import argparse
import time
import warnings

from gv_engine.cli import options as cli
from gv_engine.cli.check import find_compilable_sources
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import DOMAINS, get_plugin


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `compile` to its parser."""
    scenario_text = (
        "a name, a Gymnasium id, a YAML file with all its variants, or a folder with a "
        "scenario.yaml"
    )
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="*", help=scenario_text)
    parser.add_flag("--all", "compile all built-in scenarios")
    parser.add_consent()


def run(options: argparse.Namespace) -> int:
    """Run the command `compile`: compile the named scenarios ahead of use, print a table of
    results, and return 1 if one fails."""
    if bool(options.scenarios) == options.all:
        found = "both" if options.all else "neither"
        raise cli.UsageError(f"name scenarios, or use --all; found {found}")
    domains = [domain for domain in DOMAINS.values() if options.all and not domain.missing_message]
    names = options.scenarios or [name for domain in domains for name in domain.built_in()]
    sources = [source for name in names for source in find_compilable_sources(name)]
    scenarios = [load_scenario(source, **cli.scenario_options(options)) for source in sources]
    rows, code = [], 0
    with cli.progress("programs", len(scenarios)) as advance, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # raised if a program cannot be cached
        for scenario in scenarios:
            start = time.perf_counter()
            try:
                outcome = get_plugin(scenario).compile_scenario(scenario)
            except (DoesNotCompileError, RuntimeWarning) as error:
                cli.complain(f"{scenario.name}: {error}")
                outcome, code = "failed", 1
            rows.append((scenario.name, outcome, f"{time.perf_counter() - start:.1f}"))
            advance()
    cli.print_table(("scenario", "outcome", "seconds>"), rows)
    return code
