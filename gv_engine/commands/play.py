"""`gv-engine play`: a scenario in a window."""

from __future__ import annotations

import argparse

from gv_engine.commands.arguments import (
    Commands,
    add_command,
    add_scenario,
    complain,
    natural,
    signed,
)
from gv_engine.game import Game, Played
from gv_engine.scenario import Scenario

_DEFAULT = "keydoor-9x9"
_EXAMPLES = """\
gv-engine play
gv-engine play empty-8x8 --seed 7
gv-engine play caves/first.yaml"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands, run, "play", "Play a scenario in a window; the keys stand below it", _EXAMPLES
    )
    add_scenario(parser, _DEFAULT)
    parser.add_argument(
        "--seed",
        metavar="N",
        type=natural,
        help="of the first level, each further one has the next (default: by chance)",
    )


def run(options: argparse.Namespace) -> int:
    """Open the window; when it is closed, say how it went."""
    game = Game(Scenario.load(options.scenario), options.seed)
    # here, so that no other command imports pygame
    from gv_engine.frontend import window

    try:
        window.play(game)
    except window.NoDisplay as error:
        complain(error)
        return 1
    if game.played:
        print(f"{game.title}: {'; '.join(map(told, game.played))}")
    return 0


def told(played: Played) -> str:
    """One episode in words."""
    steps = "1 step" if played.steps == 1 else f"{played.steps} steps"
    outcome = {"terminated": "", "truncated": "out of steps, ", "": "left, "}[played.outcome]
    return f"seed {played.seed}, {outcome}return {signed(played.total)} in {steps}"
