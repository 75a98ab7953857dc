"""The bot for BabyAI's missions beside MiniGrid's own bot, on the same levels.

    python -m tests.minigrid_bot [--seeds N] [--first SEED] [--ids TEXT ...] [--alone]

prints a line for each id: the success and the mean steps of successful episodes of both bots, and
their demonstrations a second, resets and steps of the environment included. The ids are those with
one of the texts in them. MiniGrid's bot runs in an environment of its own, in one process, as ours
does; `--alone` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import python_for
from benchmarks.roster import ROSTER
from gv_engine import GridVectorEnv, Scenario
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.plugins.minigrid.ids import list_babyai_grids
from tests import ROOT

MEAN_STEPS = {
    "BabyAI-GoToSeqS5R2-v0": 13.1,
    "BabyAI-OpenDoorsOrderN4-v0": 12.5,
    "BabyAI-PickupLoc-v0": 6.65,
    "BabyAI-UnlockPickupDist-v0": 29.0,
    "BabyAI-BlockedUnlockPickup-v0": 34.35,
    "BabyAI-KeyCorridorS3R3-v0": 58.15,
}
"""Mean steps of MiniGrid's bot on the levels of the seeds 0 to 19, which it all solves."""

_NUM_ENVS = 500


class Demonstrations(NamedTuple):
    """Episodes of a bot.

    Attributes:
        steps: steps of each episode; 0 for a failure.
        seconds: time for all of them.
    """

    steps: NDArray[np.int64]
    seconds: float

    def __str__(self) -> str:
        solved = self.steps[self.steps > 0]
        mean = f"{solved.mean():8.2f}" if len(solved) else "       –"
        rate = len(self.steps) / self.seconds
        return f"{100 * len(solved) / len(self.steps):6.1f} %{mean}{rate:10,.0f}/s"


def play_ours(name: str, first: int, count: int) -> Demonstrations:
    """Return the episodes of our bot, after the scenario is compiled."""
    scenario = Scenario.load(name)
    num_envs = min(count, _NUM_ENVS)
    env = GridVectorEnv(scenario, num_envs, autoreset_mode="Disabled", world="compiled", copy=False)
    policy = load_policy("bot", num_envs, env.num_actions, True, scenario)
    list(rollout(env, policy, 1, first))
    began = time.perf_counter()
    episodes = [*rollout(env, policy, count, first)]
    seconds = time.perf_counter() - began
    return Demonstrations(np.array([e.length if e.success else 0 for e in episodes]), seconds)


def play_theirs(names: Sequence[str], first: int, count: int) -> Iterator[Demonstrations]:
    """Yield the episodes of MiniGrid's bot for each id."""
    process = subprocess.Popen(
        [python_for(ROSTER["minigrid"].packages), "-m", "tests.minigrid_bot_recorder"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    with process, process.stdin, process.stdout:
        for name in names:
            print(json.dumps([name, first, count]), file=process.stdin, flush=True)
            # MiniGrid prints rejected levels to the same place
            line = next(line for line in process.stdout if line.startswith("[["))
            steps, seconds = json.loads(line)
            yield Demonstrations(np.array(steps), seconds)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if ours solves fewer levels, or needs more steps, in any id that
    MiniGrid's bot solves."""
    parser = argparse.ArgumentParser(prog="python -m tests.minigrid_bot")
    parser.add_argument("--seeds", type=int, default=50, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--ids", nargs="+", default=[""], metavar="TEXT", help="parts of ids")
    parser.add_argument("--alone", action="store_true", help="play our bot only")
    options = parser.parse_args(arguments)
    names = [
        name.removeprefix("GV-")
        for name in list_babyai_grids()
        if any(text in name for text in options.ids)
    ]
    how = options.first, options.seeds
    theirs = iter([None] * len(names)) if options.alone else play_theirs(names, *how)
    worse, seconds, their_seconds = [], 0.0, 0.0
    print(f"{'id':32} {'success':>8}{'steps':>8}{'rate':>12}   MiniGrid's bot")
    for name in names:
        ours, other = play_ours(name, *how), next(theirs)
        seconds += ours.seconds
        line = f"{name:32} {ours}"
        if other:
            their_seconds += other.seconds
            line += f"   {other}  {other.seconds / ours.seconds:6.0f}x"
            if is_worse(ours.steps, other.steps):
                worse.append(name)
                line += "  WORSE"
        print(line, flush=True)
    count = len(names) * options.seeds
    print(f"{count:,} demonstrations: ours {count / seconds:,.0f} a second", end="")
    if their_seconds:
        faster = their_seconds / seconds
        print(f", MiniGrid's bot {count / their_seconds:,.1f}, {faster:.0f}x", end="")
    print(f"; worse in {len(worse)} ids: {', '.join(worse)}" if worse else "; worse in no id")
    return 1 if worse else 0


def is_worse(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> bool:
    """Return True if fewer episodes are solved, or those that both solve take more steps."""
    both = (ours > 0) & (theirs > 0)
    return bool((ours > 0).sum() < (theirs > 0).sum() or ours[both].sum() > theirs[both].sum())


if __name__ == "__main__":
    sys.exit(main())
