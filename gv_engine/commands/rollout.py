"""`gv-engine rollout`: many episodes, played by a policy."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

from gv_engine.commands import tables
from gv_engine.commands.arguments import (
    Commands,
    UsageError,
    add_command,
    add_policy,
    add_scenario,
    complain,
    natural,
    positive,
)
from gv_engine.environment import load
from gv_engine.files import replacing
from gv_engine.policy import load_policy
from gv_engine.rollout import Episode, rollout, save
from gv_engine.vector_environment import GridVectorEnv

_MOST_WORLDS = 256
_EXAMPLES = """\
gv-engine rollout keydoor-9x9 --episodes 1000 --seed 0
gv-engine rollout cave --policy valid --out cave.npz
gv-engine rollout cave --policy ./policy.py:greedy"""

_EPILOG = """
Episode k of seed S is the same for every number of worlds: its level is that of
reset(seed=S + k), and its policy draws from numpy.random.default_rng([S, k]).

A policy of your own is a function (observation, info, rngs) -> actions, over N worlds at once:
observation["grid"] (N, h, w, 3), observation["item"] (N, 3), info["action_mask"] (N, actions);
rngs is a list of N generators; actions are (N,) integers.

FILE.npz holds, step after step, grid, item, action, reward, reward_terms, terminated and
truncated, and for each episode episode_start, episode_seed, last_grid and last_item.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, run, "rollout", "Play many episodes without a window", _EXAMPLES)
    parser.epilog += _EPILOG
    add_scenario(parser)
    parser.add_argument(
        "--episodes", metavar="N", type=positive, default=100, help="how many (default: 100)"
    )
    parser.add_argument(
        "--seed", metavar="S", type=natural, default=0, help="of the first one (default: 0)"
    )
    add_policy(parser)
    parser.add_argument(
        "--num-envs",
        metavar="M",
        type=positive,
        default=_MOST_WORLDS,
        help=f"worlds at once, no more than there are episodes (default: {_MOST_WORLDS})",
    )
    parser.add_argument(
        "--max-steps", metavar="T", type=positive, help="an episode's, in place of the scenario's"
    )
    parser.add_argument("--out", metavar="FILE.npz", type=Path, help="where to keep every step")


def run(options: argparse.Namespace) -> int:
    """Play the episodes, write them down, and print what came of them."""
    out: Path | None = options.out
    if out is not None and out.suffix != ".npz":
        raise UsageError(f"--out {out}: the name must end with .npz")
    scenario = load(options.scenario, options.max_steps)
    if scenario.max_steps is None:
        raise UsageError(
            f"{scenario.name} has no max_steps, so that an episode may go on for ever; give "
            f"--max-steps"
        )
    num_envs = min(options.num_envs, options.episodes)
    policy = load_policy(options.policy, num_envs, len(scenario.actions))
    with replacing(out) if out else nullcontext() as draft:
        env = GridVectorEnv(scenario, num_envs, autoreset_mode="Disabled")
        episodes: list[Episode] = []
        interrupted = False
        began = time.perf_counter()
        try:
            with _progress(options.episodes) as advance:
                for episode in rollout(
                    env, policy, options.episodes, options.seed, keep=out is not None
                ):
                    episodes.append(episode)
                    advance()
        except KeyboardInterrupt:
            interrupted = True
        took = time.perf_counter() - began
        if draft:
            with draft.open("wb") as file:
                save(file, scenario, episodes)
    tables.show(("", ">"), summary(episodes, scenario.reward_names, took), scenario.name)
    if interrupted:
        written = f", all in {out}" if out else ""
        complain(f"interrupted after {len(episodes)} of {options.episodes} episodes{written}")
        return 130
    return 0


def summary(
    episodes: list[Episode], reward_names: tuple[str, ...], took: float
) -> list[tuple[str, str]]:
    """(what, value) of a finished rollout.

    Args:
        episodes: in any order.
        reward_names: of the scenario.
        took: seconds.
    """
    lengths = np.array([episode.length for episode in episodes])
    steps = int(lengths.sum())
    rows = [
        ("episodes", f"{len(episodes):,}"),
        ("steps", f"{steps:,}"),
        ("steps per second", f"{steps / took:,.0f}"),
    ]
    if not episodes:
        return rows
    # in order, so that sums are the same for every number of worlds
    ordered = sorted(episodes, key=lambda episode: episode.number)
    totals = np.array([episode.total for episode in ordered])
    for name, values in (("return", totals), ("length", lengths)):
        rows += [
            (f"{name}, mean", _number(values.mean())),
            (f"{name}, least", _number(values.min())),
            (f"{name}, most", _number(values.max())),
        ]
    for name in ("terminated", "truncated"):
        share = np.mean([getattr(episode, name) for episode in ordered])
        rows.append((name, f"{share:.1%}"))
    means = np.mean([episode.terms for episode in ordered], axis=0)
    rows += [(f"{name}, mean sum", _number(mean)) for name, mean in zip(reward_names, means)]
    return rows


def _number(value: float) -> str:
    return f"{value:.6g}"


@contextmanager
def _progress(episodes: int) -> Iterator[Callable[[], None]]:
    """A bar on the terminal; what is yielded moves it on by an episode."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=episodes)
        yield lambda: progress.advance(task)
