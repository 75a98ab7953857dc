"""Watch a batch of worlds in a window.

examples:
  gv-engine view keydoor-9x9
  gv-engine view keydoor-9x9 --num-envs 256 --policy valid
  gv-engine view caves/first.yaml --policy caves-run
"""

from __future__ import annotations

import argparse
from functools import partial

from gv_engine.cli import options as cli
from gv_engine.scenario.documents.loading import load_scenario


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `view` to its parser."""
    parser.add_scenario()
    parser.add_policy()
    parse_number = partial(cli.parse_at_most, 2**20, cli.parse_positive)
    parser.add_option("--num-envs M", parse_number, "number of parallel worlds", 1024)
    parser.add_seed("seed of the first world")
    parser.add_option("--threads T", cli.parse_positive, "threads that step the worlds", 1)


def run(options: argparse.Namespace) -> int:
    """Run the command `view`: show many worlds in a window, in which a policy acts until the window
    is closed."""
    loaded = load_scenario(options.scenario, **cli.scenario_options(options))
    scenario = cli.require_grid(loaded, "view shows only grids").require_single_agent("view")
    # imported here: other commands do not need pygame
    from gv_engine.play.session.batch_viewer import BatchViewer
    from gv_engine.play.ui.screens.batch import BatchScreen
    from gv_engine.play.ui.window.app import App

    worlds = BatchViewer(scenario, options.num_envs, options.policy, options.seed, options.threads)

    def open_first_screen(app: App) -> None:
        worlds.start()
        app.push(BatchScreen(app, worlds, f"{options.policy}, {options.num_envs:,} worlds"))

    App.load(**cli.consent(options)).run(open_first_screen)
    return 0
