"""`gv-engine schema`: the JSON schema of scenario files."""

from __future__ import annotations

import argparse
import json

from gv_engine.cli import options as cli

_EXAMPLES = """\
gv-engine schema > scenario.schema.json"""


def add(commands: cli.Commands) -> None:
    """Add the command's parser."""
    text = "Print the JSON schema of scenario files, for editors that complete and check them"
    cli.add_command(commands, run, "schema", text, _EXAMPLES)


def run(options: argparse.Namespace) -> int:
    """Print the schema and return 0."""
    cli.say(schema_text())
    return 0


def schema_text() -> str:
    """Return the JSON schema of scenario files as text."""
    from gv_engine.scenario.reference_docs import make_schema

    return json.dumps(make_schema(), ensure_ascii=False, separators=(",", ":"))
