"""`gv-engine rollout`: many episodes, played by a policy."""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gv_engine.commands import tables
from gv_engine.commands.arguments import (
    INTERRUPTED,
    Commands,
    UsageError,
    add_command,
    add_policy,
    add_scenario,
    complain,
    positive,
    scenario_options,
    seed_of_many,
)
from gv_engine.commands.progress import progress
from gv_engine.playing.runaway import heeded
from gv_engine.reading.families import hooks_of
from gv_engine.reading.loading import load_scenario
from gv_engine.rollouts.episode_folder import EpisodeFolder
from gv_engine.rollouts.policy import load_policy
from gv_engine.rollouts.rollout import FinishedEpisode, rollout

_MOST_WORLDS = 256
_HEEDS = 4.0
"""Seconds in which a step has to end after Ctrl-C."""
_EXAMPLES = """\
gv-engine rollout keydoor-9x9 --episodes 1000 --seed 0
gv-engine rollout cave --policy valid --out cave-valid --threads 2
gv-engine rollout cave --policy ./policy.py:greedy"""

_EPILOG = """
Episode k of seed S is the same for every number of worlds: its level is that of
reset(seed=S + k), and its policy draws from numpy.random.default_rng([S, k]).

A policy of your own is a function (observation, info, rngs) -> actions, over N worlds at once:
observation["grid"] (N, h, w, 3), observation["item"] (N, 3), info["action_mask"] (N, actions);
in algebra observation["nodes"] (N, L), observation["values"] (N, L) and so on;
rngs is a list of N generators; actions are (N,) integers.

FOLDER gets one .npy for each array, which grow while episodes are played: grid and item (in
algebra nodes, values, mask and time), action, reward, reward_terms, terminated and truncated over
all steps; episode_start, episode_seed, episode_member, episode_success, last_grid and last_item (or
last_nodes …) over all episodes; and rollout.json, which counts them.
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
        "--seed", metavar="S", type=seed_of_many, default=0, help="of the first one (default: 0)"
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
        "--max-steps", metavar="T", type=_limit, help="an episode's, in place of the scenario's"
    )
    parser.add_argument(
        "--threads",
        metavar="T",
        type=positive,
        default=1,
        help="that share the worlds, in algebra processes; the episodes are the same (default: 1)",
    )
    parser.add_argument(
        "--out", metavar="FOLDER", type=Path, help="where to keep every step; a new folder"
    )


def run(options: argparse.Namespace) -> int:
    """Play the episodes, write them down, and print what came of them."""
    loaded = load_scenario(options.scenario, **scenario_options(options))
    hooks = hooks_of(loaded)
    try:
        scenario = hooks.limited(loaded, options.max_steps)
    except ValueError as error:
        raise UsageError(f"{error}; give --max-steps") from None
    num_envs = min(options.num_envs, options.episodes)
    env = hooks.make_vector_env(
        scenario, num_envs, workers=options.threads, autoreset_mode="Disabled"
    )
    policy = load_policy(
        options.policy, num_envs, env.num_actions, compiled=env.world == "compiled"
    )
    out: Path | None = options.out
    more = {"seed": options.seed, "policy": options.policy}
    with _undisturbed():
        folder = EpisodeFolder(out, env, more) if out else None
    tally = Tally()
    began = time.perf_counter()
    try:
        with (
            heeded(_HEEDS, "interrupted in a compiled step that does not come to an end"),
            progress("episodes", options.episodes) as advance,
        ):
            for episode in rollout(
                env, policy, options.episodes, options.seed, keep=folder is not None
            ):
                with _undisturbed():
                    if folder:
                        folder.append(episode)
                    tally.add(episode)
                advance()
    except KeyboardInterrupt:
        pass
    finally:
        try:
            if folder:
                folder.close(complete=tally.episodes == options.episodes)
        finally:
            env.close()
    took = time.perf_counter() - began
    tables.print_table(("", ">"), tally.rows(scenario.reward_names, took), scenario.name)
    if tally.episodes < options.episodes:
        written = f", {folder.episodes} of them in {out}" if folder else ""
        complain(f"interrupted after {tally.episodes} of {options.episodes} episodes{written}")
        return INTERRUPTED
    return 0


class Tally:
    """Sums over episodes, in their order.

    Attributes:
        episodes, steps: so many there were.
    """

    def __init__(self) -> None:
        self.episodes = self.steps = 0
        self._ends = {"terminated": 0, "truncated": 0}
        self._returns: list[float] = []  # sum, least, most
        self._lengths: list[float] = []
        self._terms: Any = 0.0

    def add(self, episode: FinishedEpisode) -> None:
        """Count an episode."""
        self.episodes += 1
        self.steps += episode.length
        self._ends["terminated"] += episode.terminated
        self._ends["truncated"] += episode.truncated
        if episode.success is not None:
            self._ends["success"] = self._ends.get("success", 0) + episode.success
        self._returns = _more(self._returns, episode.total)
        self._lengths = _more(self._lengths, episode.length)
        self._terms = self._terms + episode.terms

    def rows(self, reward_names: tuple[str, ...], took: float) -> list[tuple[str, str]]:
        """(what, value) of a finished rollout.

        Args:
            reward_names: of the scenario.
            took: seconds.
        """
        rows = [
            ("episodes", f"{self.episodes:,}"),
            ("steps", f"{self.steps:,}"),
            ("steps per second", f"{self.steps / took:,.0f}"),
        ]
        if not self.episodes:
            return rows
        for name, (total, least, most) in (("return", self._returns), ("length", self._lengths)):
            rows += [
                (f"{name}, mean", _number(total / self.episodes)),
                (f"{name}, least", _number(least)),
                (f"{name}, most", _number(most)),
            ]
        rows += [(name, f"{ends / self.episodes:.1%}") for name, ends in self._ends.items()]
        means = self._terms / self.episodes
        return rows + [
            (f"{name}, mean sum", _number(mean)) for name, mean in zip(reward_names, means)
        ]


def _limit(text: str) -> int:
    """A number of steps."""
    if text == "0":
        raise argparse.ArgumentTypeError(
            "found '0', with which an episode may go on for ever; expected a whole number from 1 on"
        )
    return positive(text)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C goes to the main thread
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _more(sums: list[float], value: float) -> list[float]:
    """Sum, least and most, one more value included."""
    if not sums:
        return [value] * 3
    total, least, most = sums
    return [total + value, min(least, value), max(most, value)]


def _number(value: float) -> str:
    return f"{value:.6g}"
