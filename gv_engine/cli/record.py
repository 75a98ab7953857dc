"""`gv-engine record`: write an episode as a picture, animation or video."""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path

from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_pictures,
    add_policy,
    add_scenario,
    check_picture_name,
    draw_frames,
    parse_natural,
    say,
    scenario_options,
)
from gv_engine.cli.replay import load_verified
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.session.autoplay import make_autoplayer
from gv_engine.session.catalogue import load_playable
from gv_engine.session.episode import Playable
from gv_engine.session.replay import SUFFIX
from gv_engine.session.session import Session
from gv_engine.session.video_writer import FORMATS

_STEPS = 100
_EXAMPLES = """\
gv-engine record keydoor-9x9 keydoor.png --view window
gv-engine record keydoor-9x9 keydoor.gif --seed 3 --policy valid --steps 60
gv-engine record cave cave.mp4 --policy ./policy.py:greedy --view state
gv-engine record keydoor-9x9 solved.gvreplay --policy solver
gv-engine record first.gvreplay first.mp4"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands, run, "record", "Draw an episode into a file, without a display", _EXAMPLES
    )
    add_scenario(parser)
    parser.add_argument(
        "out",
        metavar="OUT",
        type=Path,
        help=f"file to write: {', '.join(FORMATS)} (the last is one picture, after --steps), or "
        f"{SUFFIX} for a replay",
    )
    parser.add_argument(
        "--seed", metavar="S", type=parse_natural, default=0, help="seed of the level (default: 0)"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=parse_natural,
        help=f"maximum number of steps (default: {_STEPS}; 0 for a PNG; all steps of a replay)",
    )
    add_policy(parser)
    add_pictures(parser)


def run(options: argparse.Namespace) -> int:
    """Play an episode or a replay, and write its frames, or its replay, into a file."""
    out: Path = options.out
    if out.suffix != SUFFIX:
        check_picture_name(out)
    if options.scenario.endswith(SUFFIX):
        return _record_replay(options)
    scenario = load_playable(options.scenario, **scenario_options(options))
    if out.suffix == SUFFIX:
        return _save_replay(scenario, options)
    still = out.suffix.lower() == ".png"
    steps = (0 if still else _STEPS) if options.steps is None else options.steps
    hooks = DOMAINS[scenario.identity.domain].plugin
    frames = hooks.iter_frames(scenario, options.policy, options.seed, steps)
    num_frames = draw_frames(frames, scenario, out, options)
    say(f"{out}: {scenario.name}, seed {options.seed}, {num_frames - 1} steps")
    return 0


def _save_replay(scenario: Playable, options: argparse.Namespace) -> int:
    """Play an episode and save it as a replay."""
    game = Session(scenario, options.seed)
    autoplayer = make_autoplayer(game, options.policy)
    try:
        while len(game.past_steps) < (_STEPS if options.steps is None else options.steps):
            if game.past_steps and game.past_steps[-1].outcome:
                break
            while (choice := autoplayer.choose(game)) is None:  # it computes in another process
                time.sleep(0.01)
            game.step(choice.action)
    finally:
        autoplayer.close()
    game.replay().save(options.out)
    say(f"{options.out}: {scenario.name}, seed {options.seed}, {len(game.past_steps)} steps")
    return 0


def _record_replay(options: argparse.Namespace) -> int:
    """Write the frames of a replay."""
    if options.seed or options.policy != "random":
        raise UsageError(f"{options.scenario} is a replay: it takes neither --seed nor --policy")
    game = load_verified(Path(options.scenario))
    frames = islice(game.frames(), None if options.steps is None else options.steps + 1)
    num_frames = draw_frames(frames, game.scenario, options.out, options)
    say(f"{options.out}: {game.title}, seed {game.seed}, {num_frames - 1} steps")
    return 0
