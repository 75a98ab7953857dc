"""`gv-engine minari`: convert rollouts to Minari datasets and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.cli.options import Commands, UsageError, add_command, add_consent, consent, say

_EXAMPLES = """\
gv-engine minari keydoor/valid-v0 --from keydoor-episodes --author "A. Name" --email a@name.org
gv-engine minari keydoor/valid-v0 --to episodes"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands, run, "minari", "Convert a rollout to a Minari dataset, or back", _EXAMPLES
    )
    parser.add_argument("name", metavar="NAME", help="name of the dataset, as keydoor/valid-v0")
    direction = parser.add_mutually_exclusive_group(required=True)
    direction.add_argument(
        "--from",
        dest="source",
        metavar="FOLDER",
        type=Path,
        help="folder of a rollout, from `gv-engine rollout --out`",
    )
    direction.add_argument(
        "--to", dest="out", metavar="FOLDER", type=Path, help="new folder for the rollout"
    )
    parser.add_argument(
        "--scenario",
        metavar="SCENARIO",
        help="with --to: the dataset's scenario on this machine, if it has moved",
    )
    parser.add_argument(
        "--reference",
        nargs=2,
        metavar=("POOR", "GOOD"),
        type=Path,
        help="with --from: rollouts whose mean returns count as scores 0 and 1, as of --policy "
        "random and --policy solver",
    )
    parser.add_argument("--author", metavar="NAME", help="with --from: author of the data")
    parser.add_argument("--email", metavar="ADDRESS", help="with --from: address of the author")
    parser.add_argument(
        "--link", metavar="URL", help="with --from: link to the code that made the data"
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Convert a rollout to a dataset, or a dataset to a rollout."""
    # imported here: Minari takes seconds to import
    from gv_engine.adapters.minari import to_dataset, to_folder

    try:
        if options.source:
            dataset = to_dataset(
                options.source,
                options.name,
                options.reference,
                author=options.author,
                author_email=options.email,
                code_permalink=options.link,
            )
            episodes, steps = dataset.total_episodes, dataset.total_steps
            say(f"{options.name}: {episodes:,} episodes, {steps:,} steps")
            return 0
        if options.settings:
            raise UsageError("--set: the dataset has the values of all parameters; leave it out")
        to_folder(options.name, options.out, options.scenario, **consent(options))
    except (FileNotFoundError, ValueError) as error:
        raise UsageError(str(error)) from None
    return 0
