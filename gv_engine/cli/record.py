"""Draw an episode into a file, without a display.

examples:
  gv-engine record keydoor-9x9 keydoor.png --view window
  gv-engine record keydoor-9x9 keydoor.gif --seed 3 --policy valid --steps 60
  gv-engine record cave cave.mp4 --policy ./policy.py:greedy --view state
  gv-engine record keydoor-9x9 solved.gif --policy solver
  gv-engine record keydoor-9x9 solved.gvreplay --policy solver
  gv-engine record keydoor-5x5 values.gif --policy knows-doors --overlay
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.cli import options as cli
from gv_engine.play.session.autoplay import iter_mapped_frames, play_steps
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import SUFFIX
from gv_engine.play.session.video_writer import FORMATS
from gv_engine.rules.errors import format_count

_STEPS = 100


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `record` to its parser."""
    parser.add_scenario()
    out_text = (
        f"file to write: {', '.join(FORMATS)} (.png is one picture, after --steps), or "
        f"{SUFFIX} for a replay"
    )
    parser.add_argument("out", metavar="OUT", type=Path, help=out_text)
    parser.add_seed("seed of the level")
    steps_text = f"maximum number of steps (default: {_STEPS}, or 0 for .png)"
    parser.add_option("--steps N", cli.parse_natural, steps_text)
    parser.add_policy(extra_help="solver (a shortest solution), ")
    overlay_text = "draw the policy's values, likely actions and visits over the cells"
    parser.add_flag("--overlay", overlay_text)
    parser.add_picture_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `record`: play an episode, and save it as a picture, video or replay."""
    out: Path = options.out
    cli.check_picture_name(out, SUFFIX)
    scenario = load_playable(options.scenario, **cli.scenario_options(options))
    default = 0 if out.suffix.lower() == ".png" else _STEPS
    game = Game(scenario, options.seed)
    play_steps(game, options.policy, default if options.steps is None else options.steps)
    if out.suffix == SUFFIX:
        game.replay().save(out)
    else:
        frames = iter_mapped_frames(game, options.policy) if options.overlay else game.frames()
        cli.draw_frames(frames, scenario, out, options)
    cli.say(f"{out}: {scenario.name}, seed {options.seed}, {format_count(game.length, 'step')}")
    return 0
