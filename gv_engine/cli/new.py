"""Make a folder with a level, a rule and a test.

examples:
  gv-engine new cave
  gv-engine new cave --folder levels
"""

from __future__ import annotations

import argparse
import importlib.util
import re
from pathlib import Path

from gv_engine.cli import options as cli
from gv_engine.cli import schema
from gv_engine.rules.errors import shorten
from gv_engine.scenario.domains import list_playable_scenarios
from gv_engine.scenario.library import add_whole_files

_STARTER = Path(__file__).parent / "starter"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{,99}")


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `new` to its parser."""
    parser.add_argument("name", metavar="NAME", help="name of the folder: letters, digits, - and _")
    folder_text = "parent folder (default: the current folder)"
    parser.add_option("--folder FOLDER", Path, folder_text, Path())


def run(options: argparse.Namespace) -> int:
    """Run the command `new`: write a first level, rule and test into a new folder, and print what
    to do next."""
    name: str = options.name
    if not _NAME.fullmatch(name):
        rule = "use at most 100 letters (a to z), digits, - and _, beginning with a letter"
        raise cli.UsageError(f"{shorten(repr(name), 60)} is not a valid name; {rule}")
    if name in add_whole_files(list_playable_scenarios()):
        raise cli.UsageError(f"{name} is the name of a built-in level; choose another name")
    target: Path = options.folder / name
    if target.exists():
        raise cli.UsageError(f"{target} already exists; choose another name")
    write_starter_project(target)
    print(f"Created {target}. Try next:")
    for line in ("gv-engine play", "gv-engine check", "python -m pytest"):
        print(f"  {line} {target}")
    if importlib.util.find_spec("pytest") is None:
        print("The last command needs pytest: pip install pytest")
    return 0


def write_starter_project(target: Path) -> None:
    """Create the folder `target` with a first level, rule and test, named after the folder, and the
    JSON schema of scenario files.

    Args:
        target: new folder.

    Raises:
        OSError: the folder exists or cannot be written.
    """
    module = target.name.replace("-", "_")
    target.mkdir(parents=True)
    for file in sorted(_STARTER.iterdir()):
        if file.is_file():
            text = file.read_text("utf-8")
            if file.suffix == ".md":
                text = text.replace("{{name}}", target.name).replace("{{module}}", module)
            copy = target / file.name.replace("starter", module)
            copy.write_text(text, "utf-8")
    (target / "scenario.schema.json").write_text(schema.schema_text(), "utf-8")
