"""`gv-engine minari`: rollouts as datasets of Minari, and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_consent,
    consent,
    say,
)

_EXAMPLES = """\
gv-engine minari keydoor/valid-v0 --from keydoor-episodes --author "A. Name" --email a@name.org
gv-engine minari keydoor/valid-v0 --to episodes"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands, run, "minari", "Make a dataset of a rollout, or a rollout of one", _EXAMPLES
    )
    parser.add_argument("name", metavar="NAME", help="of the dataset, as keydoor/valid-v0")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument(
        "--from", dest="source", metavar="FOLDER", type=Path, help="of `gv-engine rollout --out`"
    )
    way.add_argument("--to", dest="out", metavar="FOLDER", type=Path, help="a new folder")
    parser.add_argument(
        "--scenario",
        metavar="SCENARIO",
        help="with --to: where on this machine that is which was played, if not where it was",
    )
    parser.add_argument(
        "--reference",
        nargs=2,
        metavar=("POOR", "GOOD"),
        type=Path,
        help="with --from: rollouts whose mean returns are scores 0 and 1, as of --policy random "
        "and --policy solver",
    )
    parser.add_argument("--author", metavar="NAME", help="with --from: of the data")
    parser.add_argument("--email", metavar="ADDRESS", help="with --from: the author's")
    parser.add_argument("--link", metavar="URL", help="with --from: to the code behind the data")
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Make one of the other."""
    # here, as Minari takes its time
    from gv_engine.adapters.minari import to_dataset, to_folder

    try:
        if options.source:
            made = to_dataset(
                options.source,
                options.name,
                options.reference,
                author=options.author,
                author_email=options.email,
                code_permalink=options.link,
            )
            say(f"{options.name}: {made.total_episodes:,} episodes, {made.total_steps:,} steps")
            return 0
        if options.settings:
            raise UsageError("--set: a dataset has all values of parameters; leave it out")
        to_folder(options.name, options.out, options.scenario, **consent(options))
    except (FileNotFoundError, ValueError) as error:
        raise UsageError(str(error)) from None
    return 0
