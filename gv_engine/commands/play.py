"""`gv-engine play`: a scenario in a window."""

from __future__ import annotations

import argparse

from gv_engine import snapshots
from gv_engine.commands.arguments import (
    Commands,
    UsageError,
    add_command,
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
gv-engine play caves/first.yaml
gv-engine play --from worlds.npz --row 5"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands, run, "play", "Play a scenario in a window; the keys stand below it", _EXAMPLES
    )
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml (default: "
        f"{_DEFAULT}, or that of FILE)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=natural,
        help="of the first level, each further one has the next (default: by chance)",
    )
    parser.add_argument(
        "--from",
        dest="snapshot",
        metavar="FILE",
        help="begin with a world that gv_engine.snapshots.save has written",
    )
    parser.add_argument(
        "--row", metavar="N", type=natural, default=0, help="which world of FILE (default: 0)"
    )


def run(options: argparse.Namespace) -> int:
    """Open the window; when it is closed, say how it went."""
    game = begin(options)
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


def begin(options: argparse.Namespace) -> Game:
    """The game that was asked for.

    Raises:
        UsageError: FILE has no such row.
    """
    if options.snapshot is None:
        return Game(Scenario.load(options.scenario or _DEFAULT), options.seed)
    named = options.scenario and Scenario.load(options.scenario)
    scenario, rows = snapshots.load(options.snapshot, named or None)
    if options.row >= len(rows):
        raise UsageError(
            f"--row {options.row}: {options.snapshot} has {len(rows)} worlds, numbered from 0 on"
        )
    game = Game(scenario, options.seed)
    game.restore(rows[options.row : options.row + 1].reshape(()))
    return game


def told(played: Played) -> str:
    """One episode in words."""
    steps = "1 step" if played.steps == 1 else f"{played.steps} steps"
    outcome = {"terminated": "", "truncated": "out of steps, ", "": "left, "}[played.outcome]
    return f"seed {played.seed}, {outcome}return {signed(played.total)} in {steps}"
