"""`gv-engine rollout`: play many episodes by a policy, and save all steps."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_levels,
    add_policy,
    add_ray,
    add_scenario,
    check_at_most,
    complain,
    delaying_signals,
    exit_code,
    handling_sigterm,
    parse_episode_seed,
    parse_natural,
    parse_positive,
    print_table,
    progress,
    scenario_options,
)
from gv_engine.cli.replay import load_verified
from gv_engine.cli.splits import check_is_grid
from gv_engine.envs.level_sets import LevelSet, level_set
from gv_engine.rollout.episode_folder import EpisodeFolder, read
from gv_engine.rollout.episode_stats import EpisodeStats
from gv_engine.rollout.policy import ActionSequence, policy_digest
from gv_engine.rollout.shards import Job, Shard
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import AnyScenario, get_plugin
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.autoplay import SOLVER
from gv_engine.session.watchdog import force_exit_after

if TYPE_CHECKING:
    from gv_engine.session.episode import Playable


# ---- ways ----------------------------------------------------------------------------------------

_SOLVER_SECONDS = 10.0
"""Seconds of search for each level."""


def find_action_sequences(
    options: argparse.Namespace, loaded: AnyScenario, levels: LevelSet | None, episodes: int
) -> tuple[ActionSequence, ...]:
    """Return the episodes' action sequences, from replays or the solver; print which episodes are
    left out.

    Args:
        options: options of the command.
        loaded: scenario.
        levels: levels to solve; None for the seeds from `--seed` on.
        episodes: number of episodes.

    Raises:
        UsageError: no action sequence is left, or options do not go together.
        ReplayError: a replay is damaged, or of another scenario.
    """
    if options.replays:
        conflicts = {
            "--policy": options.policy != "random",
            "--levels": options.levels,
            "--seed": options.seed,
            "--episodes": options.episodes,
            "--first": options.first,
            "--max-steps": options.max_steps,
        }
        if conflicting := [name for name, value in conflicts.items() if value]:
            raise UsageError(f"--from-replays determines the episodes: leave {conflicting[0]} out")
        sequences = tuple(_sequences_of_replays(cast("Playable", loaded), options.replays))
    else:
        if not isinstance(loaded, Scenario) or loaded.layout.agents > 1:
            raise UsageError(f"{loaded.name}: the solver solves only grids of one agent")
        first = options.seed + options.first
        with progress("levels", episodes) as advance:
            sequences = tuple(_sequences_of_solver(loaded, levels, first, episodes, advance))
    if not sequences:
        raise UsageError(f"{loaded.name}: no episode is left")
    return sequences


def _sequences_of_replays(scenario: Playable, files: list[Path]) -> Iterator[ActionSequence]:
    """Yield the action sequences of replays; print which are left out."""
    for file in files:
        game = load_verified(file, scenario)
        replay, actions = game.replay(), list[Any]()
        try:
            for step in replay.steps:
                actions.append(game.action_indices(step.action))
                game.redo()
        except ValueError:
            complain(f"{file} is left out: an agent does not act in step {len(actions) + 1}")
            continue
        if replay.outcome:
            yield ActionSequence(replay.seed, tuple(actions))
        else:
            complain(f"{file} is left out: the episode has no end")


def _sequences_of_solver(
    scenario: Scenario,
    levels: LevelSet | None,
    first: int,
    episodes: int,
    advance: Callable[..., None],
) -> Iterator[ActionSequence]:
    """Yield the shortest solutions of levels; print which levels are left out."""
    from gv_engine.validation.solver import Solver  # compiles

    solver = Solver(scenario, seconds=_SOLVER_SECONDS)
    for number in range(first, first + episodes):
        seed = levels.seeds[number % len(levels.seeds)] if levels else number
        solution = solver.solve(seed)
        advance()
        if solution.actions:
            yield ActionSequence(seed, solution.actions)
        else:
            complain(f"seed {seed} is left out: {solution.verdict.value}")


# ---- rollout -------------------------------------------------------------------------------------

_MAX_WORLDS = 256
_EPISODES = 100
_MAX_WAIT = 4.0
"""Seconds in which a step must end after Ctrl-C."""
_EXAMPLES = """\
gv-engine rollout keydoor-9x9 --episodes 1000 --seed 0
gv-engine rollout cave --policy valid --out cave-valid --threads 2
gv-engine rollout cave --policy ./policy.py:greedy
gv-engine rollout keydoor-9x9 --policy solver --levels train --episodes 200 --out shortest
gv-engine rollout keydoor-9x9 --from-replays games/*.gvreplay --out mine"""

_EPILOG = """
Episode k with --seed S is the same for every number of worlds. Its level is the level of
reset(seed=S + k), or, with K --levels, level number (S + k) % K. Its policy samples from
numpy.random.default_rng([S, k]).

A policy in a file is a function (observation, info, rngs) -> actions for N worlds at once:
observation["grid"] (N, h, w, 3), observation["item"] (N, 3), info["action_mask"] (N, actions);
in algebra observation["nodes"] (N, L), observation["values"] (N, L) and so on;
rngs is a list of N generators; actions are (N,) integers. A policy with memory is a class with
__init__(N, number of actions), act(observation, info, rngs) and begin(worlds), which gets the
numbers of worlds whose episodes begin.

With several agents, --policy ann=valid,hunters=./policy.py:greedy names agents or teams; the
others act at random. Agent k of A samples from numpy.random.default_rng([S, A * number + k]).

FOLDER gets an .npy file for each array, which grows while episodes are played. Per step: grid and
item (in algebra nodes, values, mask and time), action, reward, reward_terms, terminated and
truncated. Per episode: episode_start, episode_seed, episode_member, episode_success, last_grid and
last_item (or last_nodes …). rollout.json has the counts. With A agents, arrays per step and
last_grid have an axis of agents after the first; returns are sums over agents.
"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(commands, run, "rollout", "Play many episodes without a window", _EXAMPLES)
    parser.epilog += _EPILOG
    add_scenario(parser)
    parser.add_argument(
        "--episodes",
        metavar="N",
        type=parse_positive,
        help=f"number of episodes (default: {_EPISODES}, with --levels one for each level)",
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=parse_episode_seed,
        default=0,
        help="seed of the first episode (default: 0)",
    )
    add_policy(parser, more="; solver: the shortest solution, if one is found")
    parser.add_argument(
        "--from-replays",
        dest="replays",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="replay saved games, one episode each; games without an end, or in which an agent did "
        "not act in a step, are left out",
    )
    add_levels(parser, "play these levels in order")
    parser.add_argument(
        "--num-envs",
        metavar="M",
        type=parse_positive,
        default=_MAX_WORLDS,
        help=f"number of parallel worlds, at most one per episode (default: {_MAX_WORLDS})",
    )
    parser.add_argument(
        "--max-steps",
        metavar="T",
        type=_step_limit,
        help="step limit of an episode, instead of the scenario's",
    )
    parser.add_argument(
        "--threads",
        metavar="T",
        type=parse_positive,
        default=1,
        help="threads (in algebra processes) that step worlds; episodes do not change (default: 1)",
    )
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="new folder for all steps")
    parser.add_argument("--masks", action="store_true", help="save action masks, too")
    parser.add_argument(
        "--representation",
        metavar="NAME",
        help="representation of the observations, as compact, cells or onehot",
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue FOLDER after its last complete episode"
    )
    parser.add_argument(
        "--first",
        metavar="K",
        type=_episode_number,
        default=0,
        help="number of the first episode: play episodes K, K + 1 … of the rollout (default: 0)",
    )
    add_ray(parser, "play the episodes")


def run(options: argparse.Namespace) -> int:
    """Play the episodes, save their steps, print a table of statistics, and return the exit
    code."""
    with handling_sigterm():
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run the command, with SIGTERM handled like Ctrl-C."""
    loaded = load_scenario(options.scenario, **scenario_options(options))
    hooks = get_plugin(loaded)
    if options.resume and not options.out:
        raise UsageError("--resume continues a folder: name it by --out")
    try:
        scenario = loaded if options.replays else hooks.with_step_limit(loaded, options.max_steps)
    except ValueError as error:
        raise UsageError(f"{error}; give --max-steps") from None
    level_option = _level_option(scenario, options.levels)
    episodes = options.episodes or (
        len(level_option["levels"].seeds) if level_option else _EPISODES
    )
    sequences: tuple[ActionSequence, ...] = ()
    if options.replays or options.policy == SOLVER:
        levels = level_option.pop("levels", None)
        scenario = levels.scenario if levels else scenario
        sequences = find_action_sequences(options, scenario, levels, episodes)
        episodes = len(sequences)
    num_envs, out = min(options.num_envs, episodes), options.out
    representation = options.representation
    representation_option = {"observation_representation": representation} if representation else {}
    job = Job(
        scenario,
        options.policy,
        options.seed,
        num_envs,
        options.threads,
        keep=out is not None,
        masks=options.masks,
        options=level_option | representation_option,
        sequences=sequences,
    )
    try:
        env = job.make_env(1 if options.ray else num_envs)
    except ValueError as error:
        raise UsageError(
            f"--representation {representation}: {error}" if representation else str(error)
        ) from None
    policy = job.make_policy(env)
    if options.ray:
        _connect(options.ray)
    with delaying_signals():
        folder = (
            EpisodeFolder(
                out, env, _describe_rollout(options, level_option), options.resume, options.masks
            )
            if out
            else None
        )
    old_episodes = folder.episodes if folder else 0
    first, remaining = (
        old_episodes if sequences else options.first + old_episodes,
        episodes - old_episodes,
    )
    new_stats, total_stats = EpisodeStats(), EpisodeStats()
    if folder and old_episodes:
        total_stats.add_folder(env.scenario, read(out, check=False)[0])
    start, code = time.perf_counter(), 0
    try:
        with (
            handling_sigterm(),  # Ray replaces the handler of SIGTERM
            force_exit_after(
                _MAX_WAIT, "interrupted in a compiled step that does not come to an end"
            ),
            progress("episodes", episodes) as advance,
        ):
            advance(old_episodes)
            if options.ray:
                for shard in _shards(job, first, remaining, options.ray):
                    with delaying_signals():
                        if folder:
                            folder.extend(shard.rows)
                        new_stats.merge(shard.stats)
                    advance(shard.stats.episodes)
            elif remaining > 0:
                for episode in job.play(env, policy, first, remaining):
                    with delaying_signals():
                        if folder:
                            folder.append(episode)
                        new_stats.add(episode)
                    advance()
    except KeyboardInterrupt as interrupt:
        code = exit_code(interrupt)
    except Exception:  # without a complete episode there is nothing to resume
        if folder and not old_episodes + new_stats.episodes:
            folder.remove()
            folder = None
        raise
    finally:
        try:
            if folder:
                folder.close(complete=old_episodes + new_stats.episodes >= episodes)
        finally:
            env.close()
    seconds = time.perf_counter() - start
    total_stats.merge(new_stats)
    rows = total_stats.rows(scenario.reward_names, seconds, new=new_stats)
    print_table(("", ">"), rows, scenario.name)
    if old_episodes + new_stats.episodes < episodes:
        note = f", {folder.episodes} of them in {out}" if folder else ""
        complain(
            f"interrupted after {old_episodes + new_stats.episodes} of {episodes} episodes{note}"
        )
        return code
    return 0


def _describe_rollout(
    options: argparse.Namespace, level_option: dict[str, LevelSet]
) -> dict[str, Any]:
    """Return the description of how the episodes were played, for `rollout.json`."""
    description = {"seed": options.seed, "policy": options.policy}
    if digest := policy_digest(options.policy):
        description["policy_digest"] = digest
    if options.replays:
        description = {
            "seed": 0,
            "policy": "replays",
            "replays": [file.name for file in options.replays],
        }
    if options.first:
        description["first"] = options.first
    if options.representation:
        description["representation"] = options.representation
    if level_option:
        description |= {"levels": options.levels, "level_seeds": level_option["levels"].seeds}
    return description


def _connect(address: str) -> None:
    """Connect to a Ray cluster, before any file is written."""
    from gv_engine.rollout.on_ray import connect  # imported here: Ray takes seconds to import

    connect(address)


def _shards(job: Job, first: int, episodes: int, address: str) -> Iterator[Shard]:
    """Play episodes on a Ray cluster, and yield their shards."""
    from gv_engine.rollout.on_ray import play_shards  # imported here: Ray takes seconds to import

    return play_shards(job, first, episodes, address)


def _level_option(scenario: AnyScenario, levels: str | None) -> dict[str, LevelSet]:
    """Return the environment option `levels`, if a level set is named."""
    return {} if levels is None else {"levels": level_set(check_is_grid(scenario), levels)}


def _episode_number(text: str) -> int:
    """Return the number of an episode; its sum with `--seed` must fit into int64."""
    return check_at_most(2**61, parse_natural(text))


def _step_limit(text: str) -> int:
    """Return a step limit greater than 0, or raise an argparse error."""
    if text == "0":
        raise argparse.ArgumentTypeError(
            "found '0', which allows endless episodes; expected a whole number from 1 on"
        )
    return parse_positive(text)
