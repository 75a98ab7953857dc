"""`gv-engine record`: an episode as a picture, an animation or a video."""

from __future__ import annotations

import argparse
from pathlib import Path

from gv_engine.commands.arguments import (
    Commands,
    UsageError,
    add_command,
    add_policy,
    add_scenario,
    natural,
    positive,
)
from gv_engine.errors import nearest
from gv_engine.policy import load_policy
from gv_engine.scenario import Scenario
from gv_engine.vector_environment import GridVectorEnv

_STEPS = {".gif": 100, ".mp4": 100, ".png": 0}
_EXAMPLES = """\
gv-engine record keydoor-9x9 keydoor.png --view window
gv-engine record keydoor-9x9 keydoor.gif --seed 3 --policy valid --steps 60
gv-engine record cave cave.mp4 --policy ./policy.py:greedy --view state"""


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
        help=f"a name that ends with {', '.join(_STEPS)}: the last is one picture, after --steps",
    )
    parser.add_argument(
        "--seed", metavar="S", type=natural, default=0, help="of the level (default: 0)"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=natural,
        help="at most so many, the episode may end before (default: 100; 0 for a PNG)",
    )
    add_policy(parser)
    parser.add_argument(
        "--view",
        metavar="V",
        default="both",
        help="state, observation, both, or window: what a player sees (default: both)",
    )
    parser.add_argument(
        "--fps", metavar="F", type=positive, default=8, help="steps a second (default: 8)"
    )
    parser.add_argument(
        "--cell", metavar="PX", type=positive, default=48, help="a cell's side (default: 48)"
    )


def run(options: argparse.Namespace) -> int:
    """Play at most one episode and draw every step of it."""
    out: Path = options.out
    suffix = out.suffix.lower()
    if suffix not in _STEPS:
        raise UsageError(f"{out}: the name must end with {', '.join(_STEPS)}")
    scenario = Scenario.load(options.scenario)
    policy = load_policy(options.policy, 1, len(scenario.actions))
    steps = _STEPS[suffix] if options.steps is None else options.steps
    # here, so that no other command imports pygame
    from gv_engine import recording

    if options.view not in recording.VIEWS:
        raise UsageError(f"--view {options.view}: {nearest(options.view, recording.VIEWS)}")
    env = GridVectorEnv(scenario, 1, world="object", autoreset_mode="Disabled")
    frames = recording.frames(env, policy, options.seed, steps)
    with recording.Recorder(out, scenario, options.view, options.cell, options.fps) as recorder:
        for frame in frames:
            recorder.add(frame)
    print(f"{out}: {scenario.name}, seed {options.seed}, {recorder.shown - 1} steps")
    return 0
