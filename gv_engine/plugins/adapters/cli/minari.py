"""Convert a rollout to a Minari dataset, or back.

examples:
  gv-engine minari keydoor/valid-v0 --from keydoor-episodes --author "A. Name" --email a@name.org
  gv-engine minari keydoor/valid-v0 --to episodes
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.cli import options as cli


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `minari` to its parser."""
    parser.add_argument(
        "name", metavar="NAME", help="name of the dataset, such as keydoor/valid-v0"
    )
    direction = parser.add_mutually_exclusive_group(required=True)
    from_text = "folder of a rollout, from `gv-engine rollout --out`"
    parser.add_option("--from FOLDER", Path, from_text, dest="source", group=direction)
    parser.add_option(
        "--to FOLDER", Path, "new folder for the rollout", dest="out", group=direction
    )
    scenario_text = "with --to: file or folder of the dataset's scenario, if it has moved"
    parser.add_option("--scenario SCENARIO", str, scenario_text)
    parser.add_argument(
        "--reference",
        nargs=2,
        metavar=("POOR", "GOOD"),
        type=Path,
        help="with --from: rollouts whose mean returns count as scores 0 and 1, for example of "
        "--policy random and --policy solver",
    )
    parser.add_option("--author NAME", str, "with --from: author of the data")
    parser.add_option("--email ADDRESS", str, "with --from: address of the author")
    parser.add_option("--link URL", str, "with --from: link to the code that made the data")
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `minari`: convert a folder of episodes from `rollout` to a Minari dataset, or
    a dataset to a folder."""
    # imported here: Minari takes seconds to import
    from gv_engine.plugins.adapters.minari import to_dataset, to_folder

    try:
        if options.source:
            metadata = {"author": options.author, "author_email": options.email}
            metadata["code_permalink"] = options.link
            dataset = to_dataset(options.source, options.name, options.reference, **metadata)
            episodes, steps = dataset.total_episodes, dataset.total_steps
            cli.say(f"{options.name}: {episodes:,} episodes, {steps:,} steps")
            return 0
        if options.settings:
            raise cli.UsageError(
                "--set: the dataset already has the values of all parameters; leave out --set"
            )
        to_folder(options.name, options.out, options.scenario, **cli.consent(options))
    except (FileNotFoundError, ValueError) as error:
        raise cli.UsageError(str(error)) from None
    return 0
