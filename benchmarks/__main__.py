"""`python -m benchmarks`: speed of the engine beside its peers, in one run.

Every workload has its own process, and each peer its own virtual environment in `.venv-peers/`.
Workloads take turns, round by round, so that a machine that slows down slows all of them down.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.comparison import Comparison
from benchmarks.peers import INSTEAD
from benchmarks.report import print_tables, write_tables
from benchmarks.roster import GROUPS, ROSTER


def main() -> None:
    """Run the comparison and print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*GROUPS, *ROSTER],
        metavar="NAME",
        help=f"beside gv-engine: {', '.join(GROUPS)}; {', '.join(ROSTER)}",
    )
    parser.add_argument("--rounds", type=int, default=7, help="default 7")
    parser.add_argument("--seconds", type=float, default=0.5, help="CPU time of one measurement")
    parser.add_argument("--steps-only", action="store_true", help="neither starts nor memory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--write", action="store_true", help="renew docs/performance.md")
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="NAME=SOURCE",
        help="install a peer's package from there: a folder, an archive, another version",
    )
    arguments = parser.parse_args()
    for override in arguments.package:
        name, _, source = override.partition("=")
        if not source or name not in {package for e in ROSTER.values() for package in e.packages}:
            parser.error(f"--package {override}: expected the name of a package, = and where it is")
        INSTEAD[name] = source
    if arguments.write and (arguments.only or arguments.steps_only):
        parser.error("--write wants everything measured, so neither --only nor --steps-only")
    selected = {"gv-engine"}
    for name in arguments.only or ROSTER:
        selected.update(GROUPS.get(name, [name]))
    names = [name for name in ROSTER if name in selected]
    comparison = Comparison(names, arguments.rounds, arguments.seconds)
    comparison.run(arguments.steps_only)
    if arguments.json:
        arguments.json.write_text(json.dumps(comparison.results, indent=1), "utf-8")
    print_tables(comparison.results)
    if arguments.write:
        write_tables(comparison.results)


if __name__ == "__main__":
    main()
