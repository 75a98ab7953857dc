"""`gv-engine record`: an episode as a picture, an animation or a video."""

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
    check_name,
    draw,
    natural,
    say,
    scenario_options,
)
from gv_engine.cli.replay import verified
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
    """Describe the command."""
    parser = add_command(
        commands, run, "record", "Draw an episode into a file, without a display", _EXAMPLES
    )
    add_scenario(parser)
    parser.add_argument(
        "out",
        metavar="OUT",
        type=Path,
        help=f"a name that ends with {', '.join(FORMATS)}: the last is one picture, after --steps; "
        f"or with {SUFFIX}: a replay",
    )
    parser.add_argument(
        "--seed", metavar="S", type=natural, default=0, help="of the level (default: 0)"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=natural,
        help=f"at most so many, the episode may end before (default: {_STEPS}; 0 for a PNG; all of "
        f"a replay)",
    )
    add_policy(parser)
    add_pictures(parser)


def run(options: argparse.Namespace) -> int:
    """Play at most one episode, or a replay, and draw every step of it."""
    out: Path = options.out
    if out.suffix != SUFFIX:
        check_name(out)
    if options.scenario.endswith(SUFFIX):
        return _replay(options)
    scenario = load_playable(options.scenario, **scenario_options(options))
    if out.suffix == SUFFIX:
        return _keep(scenario, options)
    still = out.suffix.lower() == ".png"
    steps = (0 if still else _STEPS) if options.steps is None else options.steps
    hooks = DOMAINS[scenario.identity.domain].hooks
    frames = hooks.frames(scenario, options.policy, options.seed, steps)
    shown = draw(frames, scenario, out, options)
    say(f"{out}: {scenario.name}, seed {options.seed}, {shown - 1} steps")
    return 0


def _keep(scenario: Playable, options: argparse.Namespace) -> int:
    """Play an episode, and keep it as a replay."""
    game = Session(scenario, options.seed)
    actor = make_autoplayer(game, options.policy)
    try:
        while len(game.past_steps) < (_STEPS if options.steps is None else options.steps):
            if game.past_steps and game.past_steps[-1].outcome:
                break
            while (choice := actor.choose(game)) is None:  # it thinks in a process of its own
                time.sleep(0.01)
            game.step(choice.action)
    finally:
        actor.close()
    game.replay().save(options.out)
    say(f"{options.out}: {scenario.name}, seed {options.seed}, {len(game.past_steps)} steps")
    return 0


def _replay(options: argparse.Namespace) -> int:
    if options.seed or options.policy != "random":
        raise UsageError(f"{options.scenario} is a replay: it takes neither --seed nor --policy")
    game = verified(Path(options.scenario))
    frames = islice(game.frames(), None if options.steps is None else options.steps + 1)
    shown = draw(frames, game.scenario, options.out, options)
    say(f"{options.out}: {game.title}, seed {game.seed}, {shown - 1} steps")
    return 0
