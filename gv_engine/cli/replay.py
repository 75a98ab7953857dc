"""`gv-engine replay`: an episode that was saved, watched, checked, or drawn into a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.cli.options import (
    Commands,
    add_command,
    add_consent,
    add_pictures,
    check_name,
    complain,
    consent,
    draw,
    say,
    scenario_options,
)
from gv_engine.scenario.map import signed
from gv_engine.session.catalogue import load_playable
from gv_engine.session.episode import Playable
from gv_engine.session.replay import Replay, ReplayError
from gv_engine.session.rollout_games import is_rollout
from gv_engine.session.session import Session

_EXAMPLES = """\
gv-engine replay first.gvreplay
gv-engine replay keydoor-episodes
gv-engine replay first.gvreplay --verify
gv-engine replay first.gvreplay --scenario cave --record first.mp4 --view state"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(
        commands, run, "replay", "Watch a replay in a window, check it, or record it", _EXAMPLES
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="what was saved from play; or the folder of a rollout, to watch",
    )
    parser.add_argument(
        "--verify", action="store_true", help="play it again and compare every state; no window"
    )
    parser.add_argument(
        "--record", metavar="OUT", type=Path, help="draw it into a .gif, .mp4 or .png; no window"
    )
    parser.add_argument(
        "--scenario",
        metavar="SCENARIO",
        help="what was played, where that is no built-in scenario: its file or folder",
    )
    add_pictures(parser)
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Do what was asked for; 1 if the episode does not go as the replay says."""
    given = (
        load_playable(options.scenario, **scenario_options(options)) if options.scenario else None
    )
    if not (options.verify or options.record):
        return watch(options.file, options, given)
    out: Path | None = options.record
    if out:
        check_name(out)
    game = verified(options.file, given)
    if out:
        draw(game.frames(), game.scenario, out, options)
    say(f"{out or options.file}: {_described(game.replay())}, every state as it was")
    return 0


def verified(file: Path, given: Playable | None = None) -> Session:
    """The game of a replay file, in which every state is as it was.

    Args:
        file: what was saved.
        given: the scenario that it was played in, if that is no built-in one.

    Raises:
        ReplayError: it cannot be played again, or goes another way.
        OSError: it cannot be read.
    """
    replay = Replay.load(file)
    try:
        game = Session.from_replay(replay, given or replay.find())
        if game.difference:
            raise ReplayError(game.difference.message)
    except ReplayError as error:
        raise ReplayError(f"{file}: {error}") from None
    return game


def _described(replay: Replay) -> str:
    """What a replay is of, and how it went."""
    steps = len(replay.steps)
    told = [
        replay.scenario.name,
        f"seed {replay.seed}",
        "1 step" if steps == 1 else f"{steps} steps",
        f"return {signed(replay.total)}",
        replay.outcome,
    ]
    return ", ".join(filter(None, told))


def watch(file: Path, options: argparse.Namespace, given: Playable | None = None) -> int:
    """Open a window on a replay or a rollout.

    Args:
        file: of it.
        options: with those about consent.
        given: the scenario that was played, if it was named.
    """
    # here, so that no other command imports pygame
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    if not is_rollout(file):
        Replay.load(file)  # of what is none, whether there is a screen or not
    app = App.load(**consent(options))
    try:
        app.run(lambda app: app.watch(file, given))
    except NoDisplay as error:
        complain(error)
        return 1
    return 0
