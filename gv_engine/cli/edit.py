"""`gv-engine edit`: the editor window."""

from __future__ import annotations

import argparse

from gv_engine.cli.options import (
    Commands,
    add_command,
    add_consent,
    complain,
    consent,
    scenario_options,
)

_EXAMPLES = """\
gv-engine edit
gv-engine edit cave.yaml
gv-engine edit keydoor-9x9"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(commands, run, "edit", "Edit a level in a window", _EXAMPLES)
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a YAML file, which may be new, a folder with a scenario.yaml, or the name of a "
        "built-in scenario, which is copied (default: choose a starter for a new level)",
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Open the editor; errors of the scenario are raised before the window opens."""
    from gv_engine.editor.document import open_document

    work = (
        open_document(options.scenario, **scenario_options(options)) if options.scenario else None
    )
    # imported here: other commands do not need pygame
    from gv_engine.ui.screens.edit import EditScreen
    from gv_engine.ui.screens.start import StartScreen
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    def first(app: App) -> None:
        app.push(StartScreen(app))
        if work is None:
            app.open_new_level_menu()
        else:
            app.push(EditScreen(app, work))

    app = App.load(**consent(options))
    try:
        app.run(first)
    except NoDisplay as error:
        complain(error)
        return 1
    return 0
