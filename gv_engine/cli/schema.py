"""Print the JSON schema of scenario files, for editors that complete and check them.

examples:
  gv-engine schema > scenario.schema.json
"""

from __future__ import annotations

import argparse
import json

from gv_engine.cli import options as cli


def add_options(parser: cli.CommandParser) -> None:
    """Add no options: the command `schema` has none."""


def run(options: argparse.Namespace) -> int:
    """Print the schema and return 0."""
    cli.say(schema_text())
    return 0


def schema_text() -> str:
    """Return the JSON schema of scenario files as text."""
    from gv_engine.scenario.reference_docs import make_schema

    return json.dumps(make_schema(), ensure_ascii=False, separators=(",", ":"))
