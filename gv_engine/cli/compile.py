"""Compile scenarios, and print how long it takes.

examples:
  gv-engine compile keydoor-9x9 cave
  gv-engine compile --all

Nothing is written to disk: each process compiles its own programs, one for all environments of
equal scenarios. The exit code is 1 if a rule does not compile.
"""

from __future__ import annotations

import argparse
import time

from gv_engine.cli import options as cli
from gv_engine.cli.check import find_compilable_sources
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import DOMAINS, get_plugin


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `compile` to its parser."""
    scenario_text = (
        "a name, a Gymnasium id, a YAML file with all its variants, or a folder with a "
        "scenario.yaml"
    )
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="*", help=scenario_text)
    parser.add_flag("--all", "compile all built-in scenarios")
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `compile`: compile the named scenarios, print a table of results, and return
    1 if one fails."""
    if bool(options.scenarios) == options.all:
        found = "both" if options.all else "neither"
        raise cli.UsageError(f"expected either scenarios or --all, found {found}")
    domains = [domain for domain in DOMAINS.values() if options.all and not domain.missing_message]
    names = options.scenarios or [name for domain in domains for name in domain.built_in()]
    sources = [source for name in names for source in find_compilable_sources(name)]
    scenarios = [load_scenario(source, **cli.scenario_options(options)) for source in sources]
    rows, code = [], 0
    with cli.progress("programs", len(scenarios)) as advance:
        for scenario in scenarios:
            start = time.perf_counter()
            try:
                outcome = get_plugin(scenario).compile_scenario(scenario)
            except DoesNotCompileError as error:
                cli.complain(f"{scenario.name}: {error}")
                outcome, code = "failed", 1
            rows.append((scenario.name, outcome, f"{time.perf_counter() - start:.1f}"))
            advance()
    cli.print_table(("scenario", "outcome", "seconds>"), rows)
    return code
