"""`gv-engine schema`: what scenario files may say, for editors."""

from __future__ import annotations

import argparse
import json

from gv_engine.cli.options import Commands, add_command, say

_EXAMPLES = """\
gv-engine schema > scenario.schema.json"""


def add(commands: Commands) -> None:
    """Describe the command."""
    add_command(
        commands,
        run,
        "schema",
        "Print the JSON schema of scenario files, for editors that complete and check them",
        _EXAMPLES,
    )


def run(options: argparse.Namespace) -> int:
    """Print it."""
    say(format_schema())
    return 0


def format_schema() -> str:
    """The schema as it stands in a file."""
    from gv_engine.scenario.schema import make_schema

    return json.dumps(make_schema(), ensure_ascii=False, separators=(",", ":"))
