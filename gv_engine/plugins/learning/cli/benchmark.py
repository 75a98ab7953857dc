"""Benchmark a learner or a policy on all grids.

examples:
  gv-engine benchmark mine --policy ppo --scenario "keydoor-*" --seeds 0:3
  gv-engine benchmark mine                         # continue with all scenarios and ten seeds
  gv-engine benchmark mine --show
  gv-engine benchmark own --policy ./policy.py:act
  gv-engine benchmark benchmarks/entries/* --page docs/benchmark.md

ENTRY is a folder: entry.json describes the policy, and parts.jsonl has one line of results for each
part, which is a scenario with a seed. The command keeps parts that exist, so it continues where it
stopped, and measures parts of changed scenarios again. docs/benchmark.md has the rules and results.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gv_engine.cli import options as cli
from gv_engine.envs.rollout.policy import find_run, load_policy, policy_digest
from gv_engine.envs.rollout.policy_file import PolicyFile
from gv_engine.plugins.learning.benchmark import page
from gv_engine.plugins.learning.benchmark.entry import (
    SEEDS,
    BenchmarkEntry,
    EntryPart,
    all_scenarios,
    find_scenario,
    match_scenarios,
)
from gv_engine.plugins.learning.benchmark.runner import PPO, RUN_NO_CODE, PartRunner
from gv_engine.plugins.learning.cli.command_words import parse_seeds
from gv_engine.plugins.learning.extras import RL
from gv_engine.rules.errors import escape_unprintable, shorten
from gv_engine.scenario.domains import format_command

_STEPS, _UNTIL = 1_000_000, 0.99


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `benchmark` to its parser."""
    parser.add_argument("entries", metavar="ENTRY", nargs="+", type=Path, help="folder of an entry")
    policy_text = (
        "policy of a new entry: ppo (trained as by `gv-engine train`), solver (shortest "
        "solutions), random, valid, or ./file.py:function, which you have to name each time"
    )
    parser.add_option("--policy P", str, policy_text)
    parser.add_flag("--memory", "for a new ppo entry: add a GRU")
    steps_text = f"for a new ppo entry: maximum number of training steps (default: {_STEPS:,})"
    parser.add_option("--steps N", cli.parse_positive, steps_text)
    until_text = (
        "for a new ppo entry: stop training early at this success rate, once solutions get no "
        f"shorter (default: {_UNTIL})"
    )
    parser.add_option("--until SHARE", cli.parse_share, until_text)
    scenario_text = (
        "measure only this scenario, or a pattern such as keydoor-* (repeatable; default: all "
        "scenarios of the entry)"
    )
    parser.add_option("--scenario NAME", str, scenario_text, dest="scenarios", action="append")
    seeds_text = "measure only seeds A to B - 1, within 0:10"
    parser.add_option("--seeds A:B", parse_seeds, seeds_text, ())
    parser.add_ray_option("measure parts")
    shown = parser.add_mutually_exclusive_group()
    parser.add_flag("--show", "print the results, and measure nothing", group=shown)
    parser.add_option(
        "--page FILE", Path, "write tables and curves into FILE, and measure nothing", group=shown
    )


def run(options: argparse.Namespace) -> int:
    """Run the command `benchmark`: compute missing results of benchmark entries, print results, or
    write a page that compares entries. Return the exit code."""
    if options.page or options.show:
        entries = [BenchmarkEntry.read(path) for path in options.entries]
        if options.page:
            page.write_page(options.page, entries)
            cli.say(f"{options.page}: {', '.join(entry.name for entry in entries)}")
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
    """Load the benchmark entry in the folder `path`, and check that the options agree with it. If
    the folder has none, return a new, unsaved entry made from the options.

    Raises:
        UsageError: the options differ from those of the entry, or another program made the entry.
        PolicyError: the policy does not exist.
        RunError: the run is damaged or missing.
    """
    names = ("memory", "steps", "until")
    given = {name: value for name in names if (value := getattr(options, name))}
    if options.policy and not BenchmarkEntry.exists_in(path):
        return _make_entry(path, options.policy, given)
    entry = BenchmarkEntry.read(path)
    _check_entry(entry, options.policy, given)
    return entry


def _make_entry(path: Path, policy: str, given: Mapping[str, Any]) -> BenchmarkEntry:
    """Return a new, unsaved benchmark entry for a policy. `given` has the PPO settings that the
    command line sets, by name."""
    if given and policy != PPO:
        raise cli.UsageError(f"--{next(iter(given))} is only for --policy {PPO}")
    if run := find_run(policy):
        PolicyFile.read(run)  # fails if it is damaged
    elif policy not in RUN_NO_CODE:
        load_policy(policy, 1, 1)  # fails if there is none
    about = f"`--policy {policy}`"
    for name, value in given.items():
        about += f" `--{name}`" if value is True else f" `--{name} {value}`"
    settings = {"memory": False, "steps": _STEPS, "until": _UNTIL, **given} if policy == PPO else {}
    name = escape_unprintable(path.resolve().name)
    return BenchmarkEntry(path, name, about, policy, settings, _digest_policy(policy))


def _check_entry(entry: BenchmarkEntry, policy: str | None, given: Mapping[str, Any]) -> None:
    """Raise UsageError if the command line contradicts a saved entry: another policy, or a setting
    in `given` with another value. A `policy` of None is not compared."""
    if not entry.policy:
        raise cli.UsageError(
            f"{entry.path} was written by another program; read it with --show or --page"
        )
    if policy is None and entry.policy not in RUN_NO_CODE:
        raise cli.UsageError(
            f"{entry.path} has a policy in a Python file, which runs only if you name it: "
            f"add {format_command(['--policy', entry.policy])}"
        )
    existing = {"policy": entry.policy, **entry.settings}
    for name, value in {"policy": policy or entry.policy, **given}.items():
        if existing.get(name) != value:
            raise cli.UsageError(
                f"{entry.path} was made with --{name} {existing.get(name)}, not {value}; leave it "
                f"out, or name a new folder"
            )
    if entry.policy_digest != _digest_policy(entry.policy):
        raise cli.UsageError(
            f"{entry.path} has parts of another version of {entry.policy}; restore that version, "
            f"or name a new folder"
        )


def _digest_policy(policy: str) -> str:
    return "" if policy in RUN_NO_CODE else policy_digest(policy)


def _make_parts(
    entry: BenchmarkEntry, selected_parts: Sequence[tuple[str, int]], address: str | None
) -> int:
    """Compute and save the missing results of an entry. `selected_parts` are (scenario, seed)
    pairs. They run on the Ray cluster at `address`, or here if it is None. Return the exit code."""
    runner = PartRunner(entry.policy, entry.settings)
    missing = _missing_parts(entry, selected_parts)
    try:
        with cli.progress(f"parts of {entry.name}", len(selected_parts)) as advance:
            advance(len(selected_parts) - len(missing))
            for part in _iterate_parts(runner, entry, missing, address):
                with cli.delaying_signals():
                    entry.append(part)
                advance(1, f"{part.scenario}, seed {part.seed}")
    except KeyboardInterrupt:
        total = len(selected_parts)
        parts = f"{total - len(_missing_parts(entry, missing))} of {total} parts"
        cli.complain(f"interrupted: {entry.path} has {parts}; run the same command to continue")
        return cli.INTERRUPTED
    return 0


def _select_parts(entry: BenchmarkEntry, options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Yield the (scenario, seed) pairs of an entry that the command line selects.

    Raises:
        UsageError: the seeds are out of range.
        BenchmarkError: no scenario has the name, or the entry has other settings.
        MissingExtraError: a needed package is not installed.
    """
    runner = PartRunner(entry.policy, entry.settings)
    if runner.policy == PPO:
        RL.require()
    if options.seeds and options.seeds.stop > SEEDS:
        raise cli.UsageError(
            f"--seeds {options.seeds.start}:{options.seeds.stop}: allowed are 0:{SEEDS}"
        )
    for name in match_scenarios(options.scenarios or entry.scenarios):
        for seed in (options.seeds or range(SEEDS)) if runner.uses_seeds else (0,):
            yield name, seed


def _missing_parts(
    entry: BenchmarkEntry, parts: Sequence[tuple[str, int]]
) -> list[tuple[str, int]]:
    digests = {key: part.digest for key, part in entry.read_parts().items()}
    return [part for part in parts if digests.get(part) != find_scenario(part[0]).identity.digest]


def _iterate_parts(
    runner: PartRunner,
    entry: BenchmarkEntry,
    missing: Sequence[tuple[str, int]],
    address: str | None,
) -> Iterator[EntryPart]:
    """Compute and yield the results for the `missing` (scenario, seed) pairs, on the Ray cluster at
    `address` or here if it is None. Here, a pair is skipped if another process has saved its
    results to `entry` in the meantime."""
    if address is None:
        for part in missing:
            if _missing_parts(entry, [part]):  # another process may have made it
                yield runner.run(*part)
        return
    from gv_engine.envs.rollout.on_ray import (
        run_parts,  # imported here: Ray takes seconds to import
    )

    yield from run_parts(runner.with_absolute_policy().run, missing, address, in_order=False)


def _print_results(entries: Sequence[BenchmarkEntry]) -> None:
    """Print a table of the results of benchmark entries, one line for each scenario."""
    head, rows = page.Comparison(entries).table(list(all_scenarios()))
    plain = [
        [cell.replace("`", "").replace("**", "") for cell in row]
        for row in rows
        if {*row[1:]} != {"–"}
    ]
    cli.print_table(["scenario", *(f"{name}>" for name in head[1:])], plain)


def _warn_of_outdated_parts(entry: BenchmarkEntry) -> None:
    """Print a warning that lists the scenarios that have changed since the entry's results were
    computed."""
    if outdated := _missing_parts(entry, [*entry.read_parts()]):
        names = shorten(", ".join(dict.fromkeys(name for name, _ in outdated)), 100)
        cli.complain(
            f"{entry.path} holds results of older versions of {names} ({len(outdated)}); measure "
            f"them again"
        )
