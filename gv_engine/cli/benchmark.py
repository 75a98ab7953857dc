"""`gv-engine benchmark`: evaluate a learner or a policy on all grid scenarios, and make a page of
results."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli.options import (
    INTERRUPTED,
    Commands,
    UsageError,
    add_command,
    add_ray,
    complain,
    delaying_signals,
    parse_positive,
    parse_seeds,
    parse_share,
    print_table,
    progress,
    say,
)
from gv_engine.rules.errors import MissingExtraError, escape_unprintable, shorten
from gv_engine.scenario.plugin import RL, format_command

if TYPE_CHECKING:
    from gv_engine.benchmark.entry import BenchmarkEntry, EntryPart
    from gv_engine.benchmark.runner import PartRunner

_STEPS, _UNTIL = 1_000_000, 0.99
_EXAMPLES = """\
gv-engine benchmark mine --policy ppo --scenario "keydoor-*" --seeds 0:3
gv-engine benchmark mine                         # continue with all scenarios and ten seeds
gv-engine benchmark mine --show
gv-engine benchmark own --policy ./policy.py:act
gv-engine benchmark benchmarks/entries/* --page docs/benchmark.md"""

_EPILOG = """
ENTRY is a folder: entry.json describes the policy, and parts.jsonl has a line of results for each
part. Existing parts are kept, so that the command continues where it stopped; parts of a scenario
that has changed are made again. docs/benchmark.md has the rules of the benchmark and the results.
"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands, run, "benchmark", "Benchmark a learner or a policy on all grids", _EXAMPLES
    )
    parser.epilog += _EPILOG
    parser.add_argument("entries", metavar="ENTRY", nargs="+", type=Path, help="folder of an entry")
    parser.add_argument(
        "--policy",
        metavar="P",
        help="policy of a new entry: ppo, trained as by `gv-engine train`; solver, which finds "
        "shortest solutions; random; valid; or ./file.py:function, which must be given each time",
    )
    parser.add_argument("--memory", action="store_true", help="for a new ppo entry: add a GRU")
    parser.add_argument(
        "--steps",
        metavar="N",
        type=parse_positive,
        help=f"for a new ppo entry: maximum number of training steps (default: {_STEPS:,})",
    )
    parser.add_argument(
        "--until",
        metavar="SHARE",
        type=parse_share,
        help="for a new ppo entry: stop training early at this success rate, once solutions get no "
        f"shorter (default: {_UNTIL})",
    )
    parser.add_argument(
        "--scenario",
        dest="scenarios",
        metavar="NAME",
        action="append",
        help="make parts of this scenario, or of a pattern as keydoor-*; may be repeated (default: "
        "all scenarios of the entry)",
    )
    parser.add_argument(
        "--seeds",
        metavar="A:B",
        type=parse_seeds,
        default=(),
        help="make parts of seeds A to B - 1, within 0:10",
    )
    add_ray(parser, "make parts")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--show", action="store_true", help="print the results, make no parts")
    shown.add_argument(
        "--page", metavar="FILE", type=Path, help="write tables and curves into FILE, make no parts"
    )


def run(options: argparse.Namespace) -> int:
    """Make the missing parts of entries, or print or publish their results."""
    # imported here: these modules compile
    from gv_engine.benchmark import page
    from gv_engine.benchmark.entry import BenchmarkEntry

    if options.page or options.show:
        entries = [BenchmarkEntry.read(path) for path in options.entries]
        if options.page:
            page.write_page(options.page, entries)
            say(f"{options.page}: {', '.join(entry.name for entry in entries)}")
    else:
        entries = [_load_or_create_entry(path, options) for path in options.entries]
        selected_parts = [list(_select_parts(entry, options)) for entry in entries]
        for entry in entries:
            if not BenchmarkEntry.exists_in(entry.path):
                entry.create()
        for entry, parts in zip(entries, selected_parts, strict=True):
            if code := _make_parts(entry, parts, options.ray):
                return code
    if not options.page:
        _print_results(entries)
    for entry in entries:
        _warn_of_outdated_parts(entry)
    return 0


def _load_or_create_entry(path: Path, options: argparse.Namespace) -> BenchmarkEntry:
    """Return the entry of a folder, or a new entry that is not written yet.

    Raises:
        UsageError: the options differ from those of the entry, or another program made the entry.
        PolicyError: the policy does not exist.
        RunError: the run is damaged or missing.
    """
    from gv_engine.benchmark.entry import BenchmarkEntry
    from gv_engine.benchmark.runner import PPO, RUN_NO_CODE
    from gv_engine.learning.policy_file import PolicyFile
    from gv_engine.rollout.policy import find_run, load_policy, policy_digest

    def digest(policy: str) -> str:
        return "" if policy in RUN_NO_CODE else policy_digest(policy)

    options_given = {name: getattr(options, name) for name in ("memory", "steps", "until")}
    options_given = {name: value for name, value in options_given.items() if value}
    if not BenchmarkEntry.exists_in(path) and options.policy:
        if options_given and options.policy != PPO:
            raise UsageError(f"--{next(iter(options_given))} is only for --policy {PPO}")
        if run := find_run(options.policy):
            PolicyFile.read(run)
        elif options.policy not in RUN_NO_CODE:
            load_policy(options.policy, 1, 1)
        default_settings = (
            {"memory": False, "steps": _STEPS, "until": _UNTIL} if options.policy == PPO else {}
        )
        description = f"`--policy {options.policy}`" + "".join(
            f" `--{name}`" if value is True else f" `--{name} {value}`"
            for name, value in options_given.items()
        )
        return BenchmarkEntry(
            path,
            escape_unprintable(path.resolve().name),
            description,
            options.policy,
            default_settings | options_given,
            digest(options.policy),
        )
    entry = BenchmarkEntry.read(path)
    if not entry.policy:
        raise UsageError(
            f"{path} was made by another program: --show prints it, --page puts it on a page"
        )
    if options.policy is None and entry.policy not in RUN_NO_CODE:
        raise UsageError(
            f"{path} is of a policy in a Python file, and reading an entry runs no code: give "
            f"{format_command(['--policy', entry.policy])}"
        )
    requested = {"policy": options.policy or entry.policy, **options_given}
    existing = {"policy": entry.policy, **entry.settings}
    for name, value in requested.items():
        if existing.get(name) != value:
            raise UsageError(
                f"{path} was made with --{name} {existing.get(name)}, not {value}: leave it "
                f"out, or name a new folder"
            )
    if entry.policy_digest != digest(entry.policy):
        raise UsageError(
            f"{path} has parts of another version of {entry.policy}: restore that version, or name "
            f"a new folder"
        )
    return entry


def _make_parts(
    entry: BenchmarkEntry, selected_parts: Sequence[tuple[str, int]], address: str | None
) -> int:
    """Make the missing parts of an entry, and return the exit code."""
    from gv_engine.benchmark.runner import PartRunner

    making = PartRunner(entry.policy, entry.settings)
    missing = _missing_parts(entry, selected_parts)
    try:
        with progress(f"parts of {entry.name}", len(selected_parts)) as advance:
            advance(len(selected_parts) - len(missing))
            for part in _iterate_parts(making, entry, missing, address):
                with delaying_signals():
                    entry.append(part)
                advance(1, f"{part.scenario}, seed {part.seed}")
    except KeyboardInterrupt:
        left = len(_missing_parts(entry, missing))
        total = len(selected_parts)
        complain(
            f"interrupted: {entry.path} has {total - left} of {total} parts; the same command "
            f"continues"
        )
        return INTERRUPTED
    return 0


def _select_parts(entry: BenchmarkEntry, options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Yield (scenario, seed) of all parts that the options select.

    Raises:
        UsageError: the seeds are out of range.
        BenchmarkError: no scenario has the name, or the entry has other settings.
        MissingExtraError: a needed package is not installed.
    """
    from gv_engine.benchmark.entry import SEEDS, match_scenarios
    from gv_engine.benchmark.runner import PPO, PartRunner

    making = PartRunner(entry.policy, entry.settings)
    if making.policy == PPO and RL.missing_message:
        raise MissingExtraError(RL.missing_message)
    if options.seeds and options.seeds.stop > SEEDS:
        raise UsageError(
            f"--seeds {options.seeds.start}:{options.seeds.stop}: allowed are 0:{SEEDS}"
        )
    for name in match_scenarios(options.scenarios or entry.scenarios):
        for seed in (options.seeds or range(SEEDS)) if making.uses_seeds else (0,):
            yield name, seed


def _missing_parts(
    entry: BenchmarkEntry, parts: Sequence[tuple[str, int]]
) -> list[tuple[str, int]]:
    """Return the parts that the entry does not have for the present version of their scenario."""
    from gv_engine.benchmark.entry import find_scenario

    digests = {key: part.digest for key, part in entry.read_parts().items()}
    return [part for part in parts if digests.get(part) != find_scenario(part[0]).identity.digest]


def _iterate_parts(
    making: PartRunner,
    entry: BenchmarkEntry,
    missing: Sequence[tuple[str, int]],
    address: str | None,
) -> Iterator[EntryPart]:
    """Yield parts as they are made, on this machine or on a Ray cluster."""
    if address is None:
        for part in missing:
            if _missing_parts(entry, [part]):  # another process may have made it
                yield making.run(*part)
        return
    from gv_engine.rollout.on_ray import run_parts  # imported here: Ray takes seconds to import

    yield from run_parts(making.with_absolute_policy().run, missing, address, in_order=False)


def _print_results(entries: Sequence[BenchmarkEntry]) -> None:
    """Print a table of the success of entries by scenario."""
    from gv_engine.benchmark.entry import all_scenarios
    from gv_engine.benchmark.page import Comparison

    head, rows = Comparison(entries).successes(list(all_scenarios()))
    plain = [[cell.replace("`", "") for cell in row] for row in rows if {*row[1:]} != {"–"}]
    print_table(["scenario", *(f"{name}>" for name in head[1:])], plain)


def _warn_of_outdated_parts(entry: BenchmarkEntry) -> None:
    """Print which parts are of an old version of their scenario."""
    if outdated := _missing_parts(entry, [*entry.read_parts()]):
        names = shorten(", ".join(dict.fromkeys(name for name, _ in outdated)), 100)
        complain(
            f"{entry.path}: parts of old scenario versions: {len(outdated)}, of {names}; make them "
            f"again"
        )
