"""`gv-engine play`: the start screen, or a scenario in a window or a terminal."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from numpy.typing import NDArray

from gv_engine.commands.arguments import (
    Commands,
    UsageError,
    add_command,
    add_consent,
    complain,
    consent,
    natural,
    say,
    scenario_options,
)
from gv_engine.language.errors import Stopped, StoppedError
from gv_engine.playing.catalogue import load_playable
from gv_engine.playing.game import Game, Played
from gv_engine.playing.runaway import PATIENCE, Guard, Runaway
from gv_engine.reading.scenario import Scenario
from gv_engine.reading.text import signed
from gv_engine.rollouts import snapshots

_FIRST = "keydoor-9x9"
_EXAMPLES = """\
gv-engine play
gv-engine play empty-8x8 --seed 7
gv-engine play caves/first.yaml
gv-engine play --from worlds.npz --row 5
gv-engine play keydoor-9x9 --terminal"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, run, "play", "Play in a window", _EXAMPLES)
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml (default: "
        f"that of --from, else choose in the window; {_FIRST} in a terminal)",
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
        "--row", metavar="N", type=natural, help="which world of FILE (default: 0, the first)"
    )
    parser.add_argument(
        "--terminal", action="store_true", help="in this terminal, over ssh for instance"
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Open the window; when it is closed, say how it went."""
    if options.terminal:
        return _in_terminal(options)
    # what is wrong with it is said before a window opens, which then asks about endless rules
    asked = options.scenario or options.snapshot or options.row is not None
    with _named():
        make = _read(options) if asked else None
    game: Game | None = None
    with suppress(Stopped, StoppedError), Guard(PATIENCE, lambda runaway: True):
        game = make and make()
    # here, so that no other command imports pygame
    from gv_engine.frontend.window.app import App
    from gv_engine.frontend.window.screens.start import StartScreen
    from gv_engine.frontend.window.viewer import NoDisplay

    def first(app: App) -> None:
        app.push(StartScreen(app))
        if make is not None:
            app.begin(make() if game is None else game)

    app = App.load(**consent(options))
    try:
        app.run(first)
    except NoDisplay as error:
        complain(error)
        return 1
    _say(app.told)
    return 0


def _in_terminal(options: argparse.Namespace) -> int:
    game = begin(options)
    # here, as rich takes a tenth of a second
    from gv_engine.frontend.controls.bindings import Bindings
    from gv_engine.frontend.controls.settings import Settings
    from gv_engine.frontend.terminal.play import play
    from gv_engine.frontend.terminal.tty import NoTerminal

    settings, wrong = Settings.load()
    bindings, broken = Bindings.load()
    for trouble in filter(None, (wrong, broken)):
        complain(trouble)
    try:
        play(game, settings, bindings)
    except NoTerminal as error:
        complain(error)
        return 1
    finally:
        _say([game])
    return 0


def begin(options: argparse.Namespace) -> Game:
    """The game that was asked for; a rule that takes its time to begin it is named.

    Raises:
        UsageError: FILE has no such row, or there are options that do not go together.
    """
    with _named():
        return _read(options)()


def _named() -> Guard:
    """Names a rule that takes its time, and lets it."""
    named: list[Runaway] = []

    def name(runaway: Runaway) -> bool:
        if not named:
            complain(f"{runaway} has been running for {runaway.seconds:.0f} s. Ctrl-C: stop it")
        named.append(runaway)
        return False

    return Guard(PATIENCE, name)


def _read(options: argparse.Namespace) -> Callable[[], Game]:
    """The function that begins the play, once its files are read."""
    if options.snapshot is None and options.row is not None:
        raise UsageError(f"--row {options.row} is a world of a file; give it by --from FILE")
    if options.snapshot is None:
        named = load_playable(options.scenario or _FIRST, **scenario_options(options))
        return partial(Game, named, options.seed)
    if options.seed is not None:
        raise UsageError(
            f"--seed {options.seed}: the world of --from is drawn already; leave it out"
        )
    named = options.scenario and Scenario.load(options.scenario, **scenario_options(options))
    scenario, rows = snapshots.load(options.snapshot, named or None, **consent(options))
    row = options.row or 0
    if row >= len(rows):
        raise UsageError(
            f"--row {row}: {options.snapshot} has {len(rows)} worlds, numbered from 0 on"
        )
    return partial(_restored, scenario, rows[row : row + 1].reshape(()))


def _restored(scenario: Scenario, row: NDArray[Any]) -> Game:
    game = Game(scenario)
    game.restore(row)
    return game


def _say(games: Iterable[Game]) -> None:
    for game in games:
        if game.played:
            say(f"{game.title}: {'; '.join(map(told, game.played))}")


def told(played: Played) -> str:
    """One episode in words."""
    steps = "1 step" if played.steps == 1 else f"{played.steps} steps"
    ending = played.ending.rstrip("!.") or "left"
    ending = ending[0].lower() + ending[1:]
    return f"seed {played.seed}, {ending}, return {signed(played.total)} in {steps}"
