"""`gv-engine edit`: paint a level, set its rules, and play it, in a window."""

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
    """Describe the command."""
    parser = add_command(commands, run, "edit", "Make or change a level in a window", _EXAMPLES)
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a YAML file, which need not be there yet, a folder with a scenario.yaml, or a name, "
        "of which a copy is edited (default: choose what a new level begins with)",
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Open the window; what cannot be edited is said before."""
    from gv_engine.editor.document import open_document

    work = (
        open_document(options.scenario, **scenario_options(options)) if options.scenario else None
    )
    # here, so that no other command imports pygame
    from gv_engine.ui.screens.edit import EditScreen
    from gv_engine.ui.screens.start import StartScreen
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    def first(app: App) -> None:
        app.push(StartScreen(app))
        if work is None:
            app.new_level()
        else:
            app.push(EditScreen(app, work))

    app = App.load(**consent(options))
    try:
        app.run(first)
    except NoDisplay as error:
        complain(error)
        return 1
    return 0
