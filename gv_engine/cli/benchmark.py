"""`gv-engine benchmark`: a benchmark of learning, part by part, and its page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli import output
from gv_engine.cli.options import (
    INTERRUPTED,
    Commands,
    UsageError,
    add_command,
    add_ray,
    complain,
    positive,
    say,
    seeds,
    share,
)
from gv_engine.cli.output import progress, undisturbed
from gv_engine.rules.errors import MissingExtraError, printable, shortened
from gv_engine.scenario.optional_deps import RL, command_line

if TYPE_CHECKING:
    from gv_engine.benchmark.entry import BenchmarkEntry, EntryPart
    from gv_engine.benchmark.runner import PartRunner

_STEPS, _UNTIL = 1_000_000, 0.99
_EXAMPLES = """\
gv-engine benchmark mine --policy ppo --scenario "keydoor-*" --seeds 0:3
gv-engine benchmark mine                         # goes on: all scenarios, ten seeds
gv-engine benchmark mine --show
gv-engine benchmark own --policy ./policy.py:act
gv-engine benchmark benchmarks/entries/* --page docs/benchmark.md"""

_EPILOG = """
ENTRY is a folder: entry.json says what it is, and a line of parts.jsonl what came of each part.
What is there stays, so that the command goes on wherever it was stopped; parts of a scenario that
has changed since are made again. docs/benchmark.md says what the benchmark asks for, and has the
table.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands, run, "benchmark", "Benchmark a learner or a policy on all grids", _EXAMPLES
    )
    parser.epilog += _EPILOG
    parser.add_argument("entries", metavar="ENTRY", nargs="+", type=Path, help="a folder")
    parser.add_argument(
        "--policy",
        metavar="P",
        help="of a new entry: ppo, which `gv-engine train` learns; solver, which knows shortest "
        "ways; random, valid, or ./file.py:function, which has to be named each time",
    )
    parser.add_argument(
        "--memory", action="store_true", help="of a new entry of ppo: remember (a GRU)"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=positive,
        help=f"of a new entry of ppo: learn for so many at most (default: {_STEPS:,})",
    )
    parser.add_argument(
        "--until",
        metavar="SHARE",
        type=share,
        help="of a new entry of ppo: stop before that at such a success, when ways get no shorter "
        f"(default: {_UNTIL})",
    )
    parser.add_argument(
        "--scenario",
        dest="scenarios",
        metavar="NAME",
        action="append",
        help="make its parts alone, or of those like keydoor-*; may be repeated (default: all that "
        "the entry is meant for)",
    )
    parser.add_argument(
        "--seeds",
        metavar="A:B",
        type=seeds,
        default=(),
        help="make those of seeds A to B - 1 alone, within 0:10",
    )
    add_ray(parser, "make parts")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--show", action="store_true", help="make nothing, print what is there")
    shown.add_argument(
        "--page", metavar="FILE", type=Path, help="make nothing, write tables and curves into FILE"
    )


def run(options: argparse.Namespace) -> int:
    """Make what is missing, and show what is there."""
    # here, as what they import compiles
    from gv_engine.benchmark import page
    from gv_engine.benchmark.entry import BenchmarkEntry

    if options.page or options.show:
        entries = [BenchmarkEntry.read(path) for path in options.entries]
        if options.page:
            page.write_page(options.page, entries)
            say(f"{options.page}: {', '.join(entry.name for entry in entries)}")
    else:
        entries = [_entry(path, options) for path in options.entries]
        asked = [list(_asked(entry, options)) for entry in entries]
        for entry in entries:
            if not BenchmarkEntry.exists_in(entry.path):
                entry.create()
        for entry, parts in zip(entries, asked, strict=True):
            if code := _make(entry, parts, options.ray):
                return code
    if not options.page:
        _print(entries)
    for entry in entries:
        _tell_old(entry)
    return 0


def _entry(path: Path, options: argparse.Namespace) -> BenchmarkEntry:
    """The entry of a folder, or one that is not yet begun.

    Raises:
        UsageError: it is there and other options were given, or cannot be made by this command.
        PolicyError: there is no such policy.
        RunError: it is a run that is damaged, or none.
    """
    from gv_engine.benchmark.entry import BenchmarkEntry
    from gv_engine.benchmark.runner import PPO, RUN_NO_CODE
    from gv_engine.learning.policy_file import PolicyFile
    from gv_engine.rollout.policy import find_run, load_policy, policy_digest

    def digest(policy: str) -> str:
        return "" if policy in RUN_NO_CODE else policy_digest(policy)

    given = {name: getattr(options, name) for name in ("memory", "steps", "until")}
    given = {name: value for name, value in given.items() if value}
    if not BenchmarkEntry.exists_in(path) and options.policy:
        if given and options.policy != PPO:
            raise UsageError(f"--{next(iter(given))} is of --policy {PPO} alone")
        if run := find_run(options.policy):
            PolicyFile.read(run)
        elif options.policy not in RUN_NO_CODE:
            load_policy(options.policy, 1, 1)
        usual = {"memory": False, "steps": _STEPS, "until": _UNTIL} if options.policy == PPO else {}
        about = f"`--policy {options.policy}`" + "".join(
            f" `--{name}`" if value is True else f" `--{name} {value}`"
            for name, value in given.items()
        )
        return BenchmarkEntry(
            path,
            printable(path.resolve().name),
            about,
            options.policy,
            usual | given,
            digest(options.policy),
        )
    entry = BenchmarkEntry.read(path)
    if not entry.policy:
        raise UsageError(
            f"{path} was made by another program: --show prints it, --page puts it on a page"
        )
    if options.policy is None and entry.policy not in RUN_NO_CODE:
        raise UsageError(
            f"{path} is of a policy of somebody's own, and reading an entry runs no code: name it, "
            f"{command_line(['--policy', entry.policy])}"
        )
    asked = {"policy": options.policy or entry.policy, **given}
    known = {"policy": entry.policy, **entry.settings}
    for name, value in asked.items():
        if known.get(name) != value:
            raise UsageError(
                f"{path} was made with --{name} {known.get(name)}, not {value}: leave it out, or "
                f"name a new folder"
            )
    if entry.policy_digest != digest(entry.policy):
        raise UsageError(
            f"{path} has parts of {entry.policy} as it was before: put it back, or name a new "
            f"folder"
        )
    return entry


def _make(entry: BenchmarkEntry, asked: Sequence[tuple[str, int]], address: str | None) -> int:
    """Make those parts that are missing; the exit code."""
    from gv_engine.benchmark.runner import PartRunner

    making = PartRunner(entry.policy, entry.settings)
    missing = _missing(entry, asked)
    try:
        with progress(f"parts of {entry.name}", len(asked)) as advance:
            advance(len(asked) - len(missing))
            for part in _parts(making, entry, missing, address):
                with undisturbed():
                    entry.append(part)
                advance(1, f"{part.scenario}, seed {part.seed}")
    except KeyboardInterrupt:
        left = len(_missing(entry, missing))
        complain(
            f"interrupted: {entry.path} has {len(asked) - left} of {len(asked)} parts; the same "
            f"command goes on"
        )
        return INTERRUPTED
    return 0


def _asked(entry: BenchmarkEntry, options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """(scenario, seed) of all parts that were asked for, in their order.

    Raises:
        UsageError: there are no such seeds.
        BenchmarkError: no scenario has such a name, or the entry has other settings.
        MissingExtraError: what makes them is not installed.
    """
    from gv_engine.benchmark.entry import SEEDS, match_scenarios
    from gv_engine.benchmark.runner import PPO, PartRunner

    making = PartRunner(entry.policy, entry.settings)
    if making.policy == PPO and RL.missing:
        raise MissingExtraError(RL.missing)
    if options.seeds and options.seeds.stop > SEEDS:
        raise UsageError(
            f"--seeds {options.seeds.start}:{options.seeds.stop}: allowed are 0:{SEEDS}"
        )
    for name in match_scenarios(options.scenarios or entry.scenarios):
        for seed in (options.seeds or range(SEEDS)) if making.uses_seeds else (0,):
            yield name, seed


def _missing(entry: BenchmarkEntry, asked: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those parts that an entry has not, of scenarios as they are now."""
    from gv_engine.benchmark.entry import find_scenario

    digests = {key: part.digest for key, part in entry.read_parts().items()}
    return [each for each in asked if digests.get(each) != find_scenario(each[0]).identity.digest]


def _parts(
    making: PartRunner,
    entry: BenchmarkEntry,
    missing: Sequence[tuple[str, int]],
    address: str | None,
) -> Iterator[EntryPart]:
    """Make parts, here or on a cluster."""
    if address is None:
        for each in missing:
            if _missing(entry, [each]):  # nor made by another process meanwhile
                yield making.run(*each)
        return
    from gv_engine.rollout.on_ray import run_parts  # here, as Ray takes its time

    yield from run_parts(making.with_absolute_policy().run, missing, address, in_order=False)


def _print(entries: Sequence[BenchmarkEntry]) -> None:
    """Print the success of entries, scenario by scenario."""
    from gv_engine.benchmark.entry import all_scenarios
    from gv_engine.benchmark.page import Comparison

    head, rows = Comparison(entries).successes(list(all_scenarios()))
    plain = [[cell.replace("`", "") for cell in row] for row in rows if {*row[1:]} != {"–"}]
    output.print_table(["scenario", *(f"{name}>" for name in head[1:])], plain)


def _tell_old(entry: BenchmarkEntry) -> None:
    """Say which parts are of scenarios that have changed since."""
    if old := _missing(entry, [*entry.read_parts()]):
        names = shortened(", ".join(dict.fromkeys(name for name, _ in old)), 100)
        complain(
            f"{entry.path}: parts of scenarios that have changed since: {len(old)}, of {names}; "
            f"make them again"
        )
