"""`gv-engine replay`: watch, verify or record a saved episode."""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.cli.options import (
    Commands,
    add_command,
    add_consent,
    add_pictures,
    check_picture_name,
    complain,
    consent,
    draw_frames,
    say,
    scenario_options,
)
from gv_engine.scenario.map import format_reward
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
    """Add the command's parser."""
    parser = add_command(commands, run, "replay", "Watch, verify or record a replay", _EXAMPLES)
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a replay, or the folder of a rollout to watch"
    )
    parser.add_argument(
        "--verify", action="store_true", help="replay all steps and compare every state; no window"
    )
    parser.add_argument(
        "--record",
        metavar="OUT",
        type=Path,
        help="draw the episode into a .gif, .mp4 or .png; no window",
    )
    parser.add_argument(
        "--scenario",
        metavar="SCENARIO",
        help="file or folder of the scenario, if it is not built in",
    )
    add_pictures(parser)
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Watch, verify or record the replay; return 1 if a state differs from the replay."""
    scenario = (
        load_playable(options.scenario, **scenario_options(options)) if options.scenario else None
    )
    if not (options.verify or options.record):
        return watch_file(options.file, options, scenario)
    out: Path | None = options.record
    if out:
        check_picture_name(out)
    game = load_verified(options.file, scenario)
    if out:
        draw_frames(game.frames(), game.scenario, out, options)
    say(f"{out or options.file}: {_summarize(game.replay())}, every state as it was")
    return 0


def load_verified(file: Path, scenario: Playable | None = None) -> Session:
    """Return a session with the steps of a replay file, after all states were compared.

    Args:
        file: replay file.
        scenario: scenario of the replay, if it is not built in.

    Raises:
        ReplayError: the replay cannot be played, or a state differs.
        OSError: the file cannot be read.
    """
    replay = Replay.load(file)
    try:
        session = Session.from_replay(replay, scenario or replay.find())
        if session.difference:
            raise ReplayError(session.difference.message)
    except ReplayError as error:
        raise ReplayError(f"{file}: {error}") from None
    return session


def _summarize(replay: Replay) -> str:
    """Return a summary of a replay: scenario, seed, steps, return and result."""
    steps = len(replay.steps)
    parts = [
        replay.scenario.name,
        f"seed {replay.seed}",
        "1 step" if steps == 1 else f"{steps} steps",
        f"return {format_reward(replay.total)}",
        replay.outcome,
    ]
    return ", ".join(filter(None, parts))


def watch_file(file: Path, options: argparse.Namespace, scenario: Playable | None = None) -> int:
    """Open a window with a replay or a rollout, and return the exit code.

    Args:
        file: replay file, or folder of a rollout.
        options: the options about Python.
        scenario: scenario of the replay, if it was named.
    """
    # imported here: other commands do not need pygame
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    if not is_rollout(file):
        Replay.load(file)  # raises for other files, also without a screen
    app = App.load(**consent(options))
    try:
        app.run(lambda app: app.watch_replay(file, scenario))
    except NoDisplay as error:
        complain(error)
        return 1
    return 0
