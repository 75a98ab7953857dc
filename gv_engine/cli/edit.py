"""Edit a level in a window.

examples:
  gv-engine edit
  gv-engine edit cave.yaml
  gv-engine edit keydoor-9x9
"""

from __future__ import annotations

import argparse

from gv_engine.cli import options as cli
from gv_engine.scenario.storage.files import path_exists


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `edit` to its parser."""
    scenario_text = (
        "a YAML file, which need not exist yet, a folder with a scenario.yaml, or a built-in "
        "scenario to copy (default: choose a starter for a new level)"
    )
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help=scenario_text)
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `edit`: check the scenario file, open the editor window, and return 0 when
    the window is closed."""
    from gv_engine.play.editor.document import open_document

    name, settings = options.scenario, cli.scenario_options(options)
    document = open_document(name, **settings) if name else None
    if document and document.buffer.file and not path_exists(document.buffer.file):
        cli.complain(
            f"{name} does not exist yet; the window shows a new level, and Save creates the file"
        )
    # imported here: other commands do not need pygame
    from gv_engine.play.ui.screens.edit import EditScreen
    from gv_engine.play.ui.screens.edit_lists import StarterMenu
    from gv_engine.play.ui.screens.start import StartScreen
    from gv_engine.play.ui.window.app import App

    def open_first_screens(app: App) -> None:
        app.push(StartScreen(app))
        if document is None:
            app.push(StarterMenu(app))
        else:
            app.push(EditScreen(app, document))

    App.load(**cli.consent(options)).run(open_first_screens)
    return 0
