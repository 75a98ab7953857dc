"""`gv-engine rollout`: many episodes, played by a policy."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gv_engine.cli import output
from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_levels,
    add_policy,
    add_ray,
    add_scenario,
    at_most,
    complain,
    natural,
    positive,
    scenario_options,
    seed_of_many,
)
from gv_engine.cli.output import code_after, progress, terminable, undisturbed
from gv_engine.cli.replay import verified
from gv_engine.cli.splits import grid
from gv_engine.envs.level_sets import LevelSet, level_set
from gv_engine.rollout.episode_folder import EpisodeFolder, read
from gv_engine.rollout.episode_stats import EpisodeStats
from gv_engine.rollout.policy import ActionSequence, policy_digest
from gv_engine.rollout.shards import Job, Shard
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import AnyScenario, hooks_of
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.autoplay import SOLVER
from gv_engine.session.watchdog import force_exit_after

if TYPE_CHECKING:
    from gv_engine.session.episode import Playable


# ---- ways ----------------------------------------------------------------------------------------

_SEARCHED = 10.0
"""Seconds of computing for each level."""


def known_ways(
    options: argparse.Namespace, loaded: AnyScenario, levels: LevelSet | None, episodes: int
) -> tuple[ActionSequence, ...]:
    """The ways of episodes; what has none is told and left out.

    Args:
        options: of the command.
        loaded: what is played.
        levels: whose ways the solver finds, if not those of all seeds from `--seed` on.
        episodes: how many.

    Raises:
        UsageError: none is left, or options do not go together.
        ReplayError: a replay is damaged, or of another scenario.
    """
    if options.replays:
        given = {
            "--policy": options.policy != "random",
            "--levels": options.levels,
            "--seed": options.seed,
            "--episodes": options.episodes,
            "--first": options.first,
            "--max-steps": options.max_steps,
        }
        if wrong := [name for name, value in given.items() if value]:
            raise UsageError(f"--from-replays says what is played: leave {wrong[0]} out")
        ways = tuple(_of_replays(cast("Playable", loaded), options.replays))
    else:
        if not isinstance(loaded, Scenario) or loaded.layout.agents > 1:
            raise UsageError(f"{loaded.name}: the solver finds ways in grids of one agent alone")
        first = options.seed + options.first
        with progress("levels", episodes) as advance:
            ways = tuple(_of_solver(loaded, levels, first, episodes, advance))
    if not ways:
        raise UsageError(f"no way of {loaded.name} is left")
    return ways


def _of_replays(scenario: Playable, files: list[Path]) -> Iterator[ActionSequence]:
    for file in files:
        game = verified(file, scenario)
        replay, actions = game.replay(), list[Any]()
        try:
            for taken in replay.steps:
                actions.append(game.action_indices(taken.action))
                game.redo()
        except ValueError:
            complain(f"{file} is left out: somebody waits in step {len(actions) + 1}")
            continue
        if replay.outcome:
            yield ActionSequence(replay.seed, tuple(actions))
        else:
            complain(f"{file} is left out: the game was left before its end")


def _of_solver(
    scenario: Scenario,
    levels: LevelSet | None,
    first: int,
    episodes: int,
    advance: Callable[..., None],
) -> Iterator[ActionSequence]:
    from gv_engine.validation.solver import Solver  # compiles

    solver = Solver(scenario, seconds=_SEARCHED)
    for number in range(first, first + episodes):
        own = levels.seeds[number % len(levels.seeds)] if levels else number
        found = solver.solve(own)
        advance()
        if found.actions:
            yield ActionSequence(own, found.actions)
        else:
            complain(f"seed {own} is left out: {found.verdict.value}")


# ---- rollout -------------------------------------------------------------------------------------

_MOST_WORLDS = 256
_EPISODES = 100
_HEEDS = 4.0
"""Seconds in which a step has to end after Ctrl-C."""
_EXAMPLES = """\
gv-engine rollout keydoor-9x9 --episodes 1000 --seed 0
gv-engine rollout cave --policy valid --out cave-valid --threads 2
gv-engine rollout cave --policy ./policy.py:greedy
gv-engine rollout keydoor-9x9 --policy solver --levels train --episodes 200 --out shortest
gv-engine rollout keydoor-9x9 --from-replays games/*.gvreplay --out mine"""

_EPILOG = """
Episode k of seed S is the same for every number of worlds: its level is that of
reset(seed=S + k), of K --levels number (S + k) % K, and its policy draws from
numpy.random.default_rng([S, k]).

A policy of your own is a function (observation, info, rngs) -> actions, over N worlds at once:
observation["grid"] (N, h, w, 3), observation["item"] (N, 3), info["action_mask"] (N, actions);
in algebra observation["nodes"] (N, L), observation["values"] (N, L) and so on;
rngs is a list of N generators; actions are (N,) integers. One that remembers is a class, made with
N and the number of actions, with such a method `act`, and `begin(worlds)`, which is told where
episodes begin.

Of several agents, --policy ann=valid,hunters=./policy.py:greedy names them or their teams, and
the others act by chance; agent k of A draws from numpy.random.default_rng([S, A * number + k]).

FOLDER gets one .npy for each array, which grow while episodes are played: grid and item (in
algebra nodes, values, mask and time), action, reward, reward_terms, terminated and truncated over
all steps; episode_start, episode_seed, episode_member, episode_success, last_grid and last_item (or
last_nodes …) over all episodes; and rollout.json, which counts them. Of A agents, all of steps and
last_grid have an axis of agents behind the first; returns are sums over agents.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, run, "rollout", "Play many episodes without a window", _EXAMPLES)
    parser.epilog += _EPILOG
    add_scenario(parser)
    parser.add_argument(
        "--episodes",
        metavar="N",
        type=positive,
        help=f"how many (default: {_EPISODES}, with --levels one for each level)",
    )
    parser.add_argument(
        "--seed", metavar="S", type=seed_of_many, default=0, help="of the first one (default: 0)"
    )
    add_policy(parser, more="; solver: the shortest way, where it is found")
    parser.add_argument(
        "--from-replays",
        dest="replays",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="play games again that were saved from play, each an episode; those that were left "
        "before their end, or in which somebody waited, are left out",
    )
    add_levels(parser, "play these levels, one after the other")
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
    parser.add_argument(
        "--masks", action="store_true", help="keep also which actions would do something"
    )
    parser.add_argument(
        "--representation",
        metavar="NAME",
        help="of the observations, for the policy and the folder, as compact, cells or onehot",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with FOLDER, behind the episodes that are whole in it",
    )
    parser.add_argument(
        "--first",
        metavar="K",
        type=_number,
        default=0,
        help="the number of the first: episodes K, K + 1 … of the same rollout (default: 0)",
    )
    add_ray(parser, "share the episodes")


def run(options: argparse.Namespace) -> int:
    """Play the episodes, write them down, and print what came of them."""
    with terminable():
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    loaded = load_scenario(options.scenario, **scenario_options(options))
    hooks = hooks_of(loaded)
    if options.resume and not options.out:
        raise UsageError("--resume goes on with a folder: name it by --out")
    try:
        scenario = loaded if options.replays else hooks.limited(loaded, options.max_steps)
    except ValueError as error:
        raise UsageError(f"{error}; give --max-steps") from None
    listed = _listed(scenario, options.levels)
    episodes = options.episodes or (len(listed["levels"].seeds) if listed else _EPISODES)
    ways: tuple[ActionSequence, ...] = ()
    if options.replays or options.policy == SOLVER:
        levels = listed.pop("levels", None)
        scenario = levels.scenario if levels else scenario
        ways = known_ways(options, scenario, levels, episodes)
        episodes = len(ways)
    num_envs, out = min(options.num_envs, episodes), options.out
    named = options.representation
    shown = {"observation_representation": named} if named else {}
    job = Job(
        scenario,
        options.policy,
        options.seed,
        num_envs,
        options.threads,
        keep=out is not None,
        masks=options.masks,
        options=listed | shown,
        sequences=ways,
    )
    try:
        env = job.make_env(1 if options.ray else num_envs)
    except ValueError as error:
        raise UsageError(f"--representation {named}: {error}" if named else str(error)) from None
    actor = job.make_policy(env)
    if options.ray:
        _reach(options.ray)
    with undisturbed():
        folder = (
            EpisodeFolder(out, env, _about(options, listed), options.resume, options.masks)
            if out
            else None
        )
    before = folder.episodes if folder else 0
    first, left = before if ways else options.first + before, episodes - before
    tally, whole = EpisodeStats(), EpisodeStats()
    if folder and before:
        whole.add_folder(env.scenario, read(out, check=False)[0])
    began, code = time.perf_counter(), 0
    try:
        with (
            terminable(),  # Ray has a word of its own for SIGTERM
            force_exit_after(_HEEDS, "interrupted in a compiled step that does not come to an end"),
            progress("episodes", episodes) as advance,
        ):
            advance(before)
            if options.ray:
                for shard in _shards(job, first, left, options.ray):
                    with undisturbed():
                        if folder:
                            folder.extend(shard.rows)
                        tally.merge(shard.stats)
                    advance(shard.stats.episodes)
            elif left > 0:
                for episode in job.play(env, actor, first, left):
                    with undisturbed():
                        if folder:
                            folder.append(episode)
                        tally.add(episode)
                    advance()
    except KeyboardInterrupt as interrupt:
        code = code_after(interrupt)
    except Exception:  # in the first step, maybe: then there is nothing to go on with
        if folder and not before + tally.episodes:
            folder.remove()
            folder = None
        raise
    finally:
        try:
            if folder:
                folder.close(complete=before + tally.episodes >= episodes)
        finally:
            env.close()
    took = time.perf_counter() - began
    whole.merge(tally)
    rows = whole.rows(scenario.reward_names, took, new=tally)
    output.print_table(("", ">"), rows, scenario.name)
    if before + tally.episodes < episodes:
        written = f", {folder.episodes} of them in {out}" if folder else ""
        complain(f"interrupted after {before + tally.episodes} of {episodes} episodes{written}")
        return code
    return 0


def _about(options: argparse.Namespace, listed: dict[str, LevelSet]) -> dict[str, Any]:
    """What a folder says of how its episodes were played."""
    about = {"seed": options.seed, "policy": options.policy}
    if digest := policy_digest(options.policy):
        about["policy_digest"] = digest
    if options.replays:
        about = {"seed": 0, "policy": "replays", "replays": [file.name for file in options.replays]}
    if options.first:
        about["first"] = options.first
    if options.representation:
        about["representation"] = options.representation
    if listed:
        about |= {"levels": options.levels, "level_seeds": listed["levels"].seeds}
    return about


def _reach(address: str) -> None:
    """Connect with a cluster, before anything is written."""
    from gv_engine.rollout.on_ray import connect  # here, as Ray takes its time

    connect(address)


def _shards(job: Job, first: int, episodes: int, address: str) -> Iterator[Shard]:
    """Play on a cluster."""
    from gv_engine.rollout.on_ray import play_shards  # here, as Ray takes its time

    return play_shards(job, first, episodes, address)


def _listed(scenario: AnyScenario, levels: str | None) -> dict[str, LevelSet]:
    """The option `levels` of an environment, if a set was named."""
    return {} if levels is None else {"levels": level_set(grid(scenario), levels)}


def _number(text: str) -> int:
    """The number of an episode, which its seed of int64 is the sum of, and of `--seed`."""
    return at_most(2**61, natural(text))


def _limit(text: str) -> int:
    """A number of steps."""
    if text == "0":
        raise argparse.ArgumentTypeError(
            "found '0', with which an episode may go on for ever; expected a whole number from 1 on"
        )
    return positive(text)
