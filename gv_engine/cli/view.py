"""`gv-engine view`: watch a batch of worlds in a window."""

from __future__ import annotations

import argparse

from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_policy,
    add_scenario,
    complain,
    consent,
    parse_natural,
    parse_positive,
    scenario_options,
)
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.scenario import Scenario

_WORLDS = 1024
_EXAMPLES = """\
gv-engine view keydoor-9x9
gv-engine view keydoor-9x9 --num-envs 256 --policy valid
gv-engine view caves/first.yaml --policy caves-run"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(commands, run, "view", "Watch a batch of worlds in a window", _EXAMPLES)
    add_scenario(parser)
    add_policy(parser)
    parser.add_argument(
        "--num-envs",
        metavar="M",
        type=parse_positive,
        default=_WORLDS,
        help=f"number of parallel worlds (default: {_WORLDS:,})",
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=parse_natural,
        default=0,
        help="seed of the first world (default: 0)",
    )
    parser.add_argument(
        "--threads",
        metavar="T",
        type=parse_positive,
        default=1,
        help="threads that step the worlds (default: 1)",
    )


def run(options: argparse.Namespace) -> int:
    """Open the window and step the worlds until it is closed."""
    scenario = load_scenario(options.scenario, **scenario_options(options))
    if not isinstance(scenario, Scenario):
        raise UsageError(f"{scenario.name} is of the domain {scenario.domain}: view shows grids")
    # imported here: other commands do not need pygame
    from gv_engine.session.batch_viewer import BatchViewer
    from gv_engine.ui.screens.batch import BatchScreen
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    scenario = scenario.require_single_agent("view")
    worlds = BatchViewer(scenario, options.num_envs, options.policy, options.seed, options.threads)
    app = App.load(**consent(options))

    def open_first_screen(app: App) -> None:
        worlds.start()
        app.push(BatchScreen(app, worlds, f"{options.policy}, {options.num_envs:,} worlds"))

    try:
        app.run(open_first_screen)
    except NoDisplay as error:
        complain(error)
        return 1
    return 0
