"""Watch, verify or record a replay.

examples:
  gv-engine replay first.gvreplay
  gv-engine replay keydoor-episodes
  gv-engine replay first.gvreplay --verify
  gv-engine replay first.gvreplay --scenario cave --record first.mp4 --view state
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.cli import options as cli
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import DifferenceError, Replay, ReplayError
from gv_engine.play.session.rollout_games import is_rollout


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `replay` to its parser."""
    file_text = "a replay, or the folder of a rollout to watch"
    parser.add_argument("file", metavar="FILE", type=Path, help=file_text)
    parser.add_flag("--verify", "replay all steps and compare every state, without a window")
    record_text = "draw the episode into a .gif, .mp4 or .png, without a window"
    parser.add_option("--record OUT", Path, record_text)
    scenario_text = "file or folder of the scenario, if it is not built in"
    parser.add_option("--scenario SCENARIO", str, scenario_text)
    parser.add_picture_options()
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `replay`: watch, verify or record a saved episode; return 1 if a state
    differs from the recorded one."""
    scenario = (
        load_playable(options.scenario, **cli.scenario_options(options))
        if options.scenario
        else None
    )
    if not (options.verify or options.record):
        return watch_file(options.file, options, scenario)
    if options.record:
        cli.check_picture_name(options.record)
    try:
        session = load_verified_replay(options.file, scenario)
    except DifferenceError as error:  # a finding, and no wrong use
        cli.complain(error)
        return 1
    if options.record:
        cli.draw_frames(session.frames(), session.scenario, options.record, options)
    summary = session.replay().summary
    cli.say(f"{options.record or options.file}: {summary}, every state as recorded")
    return 0


def load_verified_replay(file: Path, scenario: Playable | None = None) -> Game:
    """Return a session with the steps of the replay in `file`. Raise an error if the scenario now
    gives another state than was recorded. `scenario` is needed only if the replay's own is not
    built in.

    Args:
        file: replay file.
        scenario: scenario of the replay, if it is not built in.

    Raises:
        ReplayError: the replay cannot be played, or a state differs.
        OSError: the file cannot be read.
    """
    replay = Replay.load(file)
    try:
        session = Game.from_replay(replay, scenario or replay.find())
        if session.difference:
            raise DifferenceError(session.difference.message)
    except ReplayError as error:
        raise type(error)(f"{file}: {error}") from None
    return session


def watch_file(file: Path, options: argparse.Namespace, scenario: Playable | None = None) -> int:
    """Open a window that plays `file`, a replay or a folder written by `rollout`; return the exit
    code. `scenario` is None unless the user has named one.

    Args:
        file: replay file, or folder of a rollout.
        options: the options about Python.
        scenario: scenario of the replay, if it was named.
    """
    # imported here: other commands do not need pygame
    from gv_engine.play.ui.window.app import App

    if not is_rollout(file):
        Replay.load(file)  # raises for other files, also without a screen
    App.load(**cli.consent(options)).run(lambda app: app.watch_replay(file, scenario))
    return 0
