"""Play many episodes without a window.

examples:
  gv-engine rollout keydoor-9x9 --episodes 1000 --seed 0
  gv-engine rollout cave --policy valid --out cave-valid --threads 2
  gv-engine rollout cave --policy ./policy.py:greedy
  gv-engine rollout keydoor-9x9 --policy solver --levels train --episodes 200 --out shortest
  gv-engine rollout keydoor-9x9 --from-replays games/*.gvreplay --out mine

Episode k with --seed S is the same for every number of worlds. Its level is the level of
reset(seed=S + k), or, with K --levels, level number (S + k) % K. Its policy samples from
gv_engine.envs.backends.seeding.make_rng(S, "policy", k).

A policy in a file is a function (observation, info, rngs) -> actions for N worlds at once:
observation["grid"] (N, h, w, 3), observation["item"] (N, 3), info["action_mask"] (N, actions);
in algebra observation["nodes"] (N, L), observation["values"] (N, L) and so on;
rngs is a list of N generators; actions are (N,) integers. A policy with memory is a class with
__init__(N, number of actions), act(observation, info, rngs) and begin(worlds), which gets the
numbers of worlds whose episodes begin.

With several agents, --policy ann=valid,hunters=./policy.py:greedy names agents or teams. All
others act at random. Agent j of A samples from make_rng(S, "policy", A * k + j).

FOLDER gets an .npy file for each array, which grows while episodes are played. Per step: grid and
item (in algebra nodes, values, mask and time), action, reward, reward_terms, terminated and
truncated. Per episode: episode_start, episode_seed, episode_member, episode_success, last_grid and
last_item (or last_nodes …). rollout.json has the counts. With A agents, arrays per step and
last_grid have an axis of agents after the first; returns are sums over agents.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from gv_engine.cli import options as cli
from gv_engine.cli.replay import load_verified_replay
from gv_engine.envs.level_sets import LevelSet, level_set
from gv_engine.envs.rollout.episode_folder import EpisodeFolder, read
from gv_engine.envs.rollout.episode_stats import EpisodeStats, EpisodeValues, estimate_success
from gv_engine.envs.rollout.policy import ActionSequence, load_policies, policy_digest
from gv_engine.envs.rollout.rollout import FinishedEpisode
from gv_engine.envs.rollout.shards import Job, Shard
from gv_engine.play.session.autoplay import SOLVER
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.watchdog import force_exit_after
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import AnyScenario
from gv_engine.scenario.scenario import Scenario

# ---- action sequences ----------------------------------------------------------------------------

_SOLVER_SECONDS = 10.0
"""Seconds of search for each level."""


def find_action_sequences(
    options: argparse.Namespace, loaded: AnyScenario, levels: LevelSet | None, episodes: int
) -> tuple[ActionSequence, ...]:
    """Return the actions of each episode: those of the replays that the options name, or else
    solutions of `levels` that the solver finds. Print which episodes are left out. `loaded` is the
    scenario.

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
        names = "levels", "seed", "episodes", "first", "max_steps"
        conflicts = {"--policy": options.policy != "random", **cli.get_options(options, *names)}
        if conflicting := [name for name, value in conflicts.items() if value]:
            raise cli.UsageError(
                f"--from-replays already determines the episodes; leave out {conflicting[0]}"
            )
        sequences = tuple(_iter_replay_sequences(cast(Playable, loaded), options.replays))
    else:
        if not isinstance(loaded, Scenario) or loaded.layout.agents > 1:
            raise cli.UsageError(f"{loaded.name}: the solver plays only grids with one agent")
        first = options.seed + options.first
        with cli.progress("levels", episodes) as advance:
            sequences = tuple(_iter_solver_sequences(loaded, levels, first, episodes, advance))
    if not sequences:
        raise cli.UsageError(f"{loaded.name}: no episode to play; all were skipped")
    return sequences


def _iter_replay_sequences(scenario: Playable, files: list[Path]) -> Iterator[ActionSequence]:
    """Yield the actions of each replay in `files`. A replay in which `scenario` gives other states
    than recorded is left out, and its name is printed."""
    for file in files:
        game = load_verified_replay(file, scenario)
        replay = game.replay()
        actions: list[Any] = []
        try:
            for step in replay.steps:
                actions.append(game.action_indices(step.action))
                game.seek(game.position + 1)
        except ValueError:
            cli.complain(f"skipped {file}: an agent does not act in step {len(actions) + 1}")
            continue
        if replay.outcome:
            yield ActionSequence(replay.seed, tuple(actions))
        else:
            cli.complain(f"skipped {file}: the episode has no end")


def _iter_solver_sequences(
    scenario: Scenario,
    levels: LevelSet | None,
    first: int,
    episodes: int,
    advance: Callable[..., None],
) -> Iterator[ActionSequence]:
    """Yield the actions of a shortest solution for each of `episodes` levels, from number `first`
    on. Print which levels are left out because no solution was found. `advance` moves a progress
    bar."""
    from gv_engine.play.validation.solver import Solver  # compiles

    solver = Solver(scenario, seconds=_SOLVER_SECONDS)
    for number in range(first, first + episodes):
        seed = levels.seeds[number % len(levels.seeds)] if levels else number
        solution = solver.solve(seed)
        advance()
        if solution.actions:
            yield ActionSequence(seed, solution.actions)
        else:
            cli.complain(f"skipped seed {seed}: {solution.verdict.value}")


# ---- rollout -------------------------------------------------------------------------------------

_MAX_WORLDS = 256
_EPISODES = 100
_BURST, _MAX_DELAY = 256, 0.1
"""Number of episodes, and seconds, after which finished episodes are counted and written."""
_MAX_WAIT = 4.0
"""Seconds in which a step must end after Ctrl-C."""


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `rollout` to its parser."""
    parser.add_scenario()
    episodes_text = f"number of episodes (default: {_EPISODES}, with --levels one for each level)"
    parser.add_option("--episodes N", cli.parse_positive, episodes_text)
    parser.add_seed("seed of the first episode", cli.parse_episode_seed)
    parser.add_policy(extra_help="solver (shortest solutions that are found), ")
    replays_text = (
        "replay saved games, one episode each; games without an end, or in which an agent did "
        "not act in a step, are left out"
    )
    parser.add_option("--from-replays FILE", Path, replays_text, dest="replays", nargs="+")
    parser.add_levels("play these levels in order")
    envs_text = "number of parallel worlds, at most one per episode"
    parser.add_option("--num-envs M", cli.parse_positive, envs_text, _MAX_WORLDS)
    limit_text = "step limit of an episode, instead of the scenario's"
    parser.add_option("--max-steps T", _parse_step_limit, limit_text)
    threads_text = "threads (in algebra processes) that step worlds; the episodes stay the same"
    parser.add_option("--threads T", cli.parse_positive, threads_text, 1)
    parser.add_option("--out FOLDER", Path, "new folder into which all steps are written")
    parser.add_flag("--masks", "also save action masks")
    parser.add_flag("--compress", "write compressed files, which take a tenth of the space or less")
    representation_text = "representation of the observations, such as compact, cells or onehot"
    parser.add_option("--representation NAME", str, representation_text)
    parser.add_flag("--resume", "continue --out FOLDER after its last complete episode")
    first_text = "number of the first episode: play episodes K, K + 1 … of the rollout"
    # the sum of number and --seed must fit into int64
    parse_episode_number = partial(cli.parse_at_most, 2**61, cli.parse_natural)
    parser.add_option("--first K", parse_episode_number, first_text, 0)
    parser.add_ray_option("play the episodes")


class _RolloutPlan(NamedTuple):
    """Settings of a rollout, worked out from the options of the command.

    Attributes:
        job: rollout.
        first: number of its first episode.
        episodes: number of episodes.
        levels: levels to play; None for the levels of the seeds from `--seed` on.
    """

    job: Job
    first: int
    episodes: int
    levels: LevelSet | None


@cli.handling_sigterm()
def run(options: argparse.Namespace) -> int:
    """Run the command `rollout`: play the episodes, save their steps, print statistics, and return
    the exit code."""
    plan = _make_rollout_plan(options)
    try:
        env = plan.job.make_env(1 if options.ray else plan.job.num_envs)
    except ValueError as error:
        prefix = f"--representation {options.representation}: " if options.representation else ""
        raise cli.UsageError(f"{prefix}{error}") from None
    policy = plan.job.make_policy(env)
    if options.ray:
        from gv_engine.envs.rollout import on_ray  # imported here: Ray takes seconds to import

        on_ray.connect(options.ray)
    folder = _open_folder(options, env, plan) if options.out else None
    results = _Results(EpisodeStats(), folder)
    stats, num_old_episodes = results.stats, folder.episodes if folder else 0
    if num_old_episodes:
        stats.add_folder(env.scenario, read(options.out, check=False)[0])
    old_counts = stats.episodes, stats.steps
    remaining = plan.first + num_old_episodes, plan.episodes - num_old_episodes
    start, code = time.perf_counter(), 0
    try:
        with (
            cli.handling_sigterm(),  # Ray replaces the handler of SIGTERM
            force_exit_after(_MAX_WAIT, "interrupted in a compiled step that does not end"),
            cli.progress("episodes", plan.episodes) as advance,
        ):
            results.advance = advance
            advance(num_old_episodes)
            if options.ray:
                for shard in on_ray.play_shards(plan.job, *remaining, options.ray):
                    results.add_shard(shard)
            elif num_old_episodes < plan.episodes:
                results.add_episodes(plan.job.play(env, policy, *remaining))
    except KeyboardInterrupt as interrupt:
        code = cli.exit_code(interrupt)
    except Exception:
        results.remove_empty_folder()
        raise
    finally:
        try:
            if results.folder:
                results.folder.close(complete=stats.episodes >= plan.episodes)
        finally:
            env.close()
    seconds = time.perf_counter() - start
    rows = stats.rows(plan.job.scenario.reward_names, seconds, old_counts)
    if plan.levels:
        rows.append(("levels", f"{options.levels}, {len(plan.levels.seeds):,}"))
        if "success" in stats.ends:
            rate = estimate_success(stats.ends["success"], stats.episodes)
            rows.append(("success, 95 % interval", f"{rate.low:.1%} to {rate.high:.1%}"))
    cli.print_table(("", ">"), rows, plan.job.scenario.name)
    if stats.episodes >= plan.episodes:
        return 0  # also if Ctrl-C came in the last moment
    saved = f", {folder.episodes} of them in {options.out}" if folder else ""
    cli.complain(f"interrupted after {stats.episodes} of {plan.episodes} episodes{saved}")
    return code


def _make_rollout_plan(options: argparse.Namespace) -> _RolloutPlan:
    """Return the settings of the rollout that the options ask for. Print which episodes are left
    out.

    Raises:
        UsageError: options do not go together.
    """
    scenario = load_scenario(options.scenario, **cli.scenario_options(options))
    if options.resume and not options.out:
        raise cli.UsageError("--resume continues a folder; name it with --out")
    if not options.replays:
        scenario = cli.require_step_limit(scenario, options.max_steps, "give --max-steps")
    env_options: dict[str, Any] = {}
    levels: LevelSet | None = None
    if options.levels is not None:
        grid = cli.require_grid(scenario, "only grids have level sets")
        if options.policy != SOLVER:  # an unknown one fails before the level set compiles
            load_policies(options.policy, grid, 1, len(grid.actions), more_names=[SOLVER])
        levels = env_options["levels"] = level_set(grid, options.levels)
    episodes = options.episodes or (len(levels.seeds) if levels else _EPISODES)
    sequences: tuple[ActionSequence, ...] = ()
    if options.replays or options.policy == SOLVER:  # each sequence has its seed
        env_options = {}
        scenario = levels.scenario if levels else scenario
        sequences = find_action_sequences(options, scenario, levels, episodes)
        episodes = len(sequences)
    if options.representation:
        env_options["observation_representation"] = options.representation
    job = Job(
        scenario,
        options.policy,
        options.seed,
        num_envs=min(options.num_envs, episodes),
        workers=options.threads,
        keep=options.out is not None,
        masks=options.masks,
        options=env_options,
        sequences=sequences,
    )
    return _RolloutPlan(job, 0 if sequences else options.first, episodes, levels)


def _open_folder(options: argparse.Namespace, env: Any, plan: _RolloutPlan) -> EpisodeFolder:
    """Return the folder that --out names, to write episodes into: a new one, or with --resume that
    of an unfinished rollout.

    Raises:
        UsageError: it has more episodes than the rollout.
    """
    out = options.out
    if options.resume and (number := read(out, check=False)[1]["episodes"]) > plan.episodes:
        raise cli.UsageError(f"{out} has {number} episodes; give --episodes {number} or more")
    description = _describe_rollout(options, plan.levels)
    with cli.delaying_signals():
        kept = {"masks": options.masks, "compress": options.compress}
        return EpisodeFolder(out, env, description, options.resume, **kept)


@dataclass
class _Results:
    """Results of a rollout so far: statistics, and the folder if there is one. Ctrl-C is delayed
    while results are added.

    Attributes:
        stats: statistics of the finished episodes.
        folder: folder that their steps are written to; None if they are not saved.
        advance: function that moves a progress bar by a number of episodes.
    """

    stats: EpisodeStats
    folder: EpisodeFolder | None
    advance: Callable[..., None] = lambda number: None

    def add_shard(self, shard: Shard) -> None:
        """Add the episodes of a shard, one part of the rollout."""
        with cli.delaying_signals():
            if self.folder:
                self.folder.extend(shard.rows)
            self.stats.add(shard.values)
        self.advance(len(shard.values.lengths))

    def add_episodes(self, episodes: Iterable[FinishedEpisode]) -> None:
        """Add episodes as they finish. Several are written at once."""
        finished: list[FinishedEpisode] = []
        last_time = time.perf_counter()
        try:
            for episode in episodes:
                finished.append(episode)
                if len(finished) == _BURST or time.perf_counter() > last_time + _MAX_DELAY:
                    self._add_finished(finished)
                    last_time = time.perf_counter()
        finally:  # also those before Ctrl-C
            self._add_finished(finished)

    def _add_finished(self, finished: list[FinishedEpisode]) -> None:
        """Add the episodes in the list `finished`, and clear the list."""
        with cli.delaying_signals():
            episodes = [*finished]
            finished.clear()
            if self.folder:
                for episode in episodes:
                    self.folder.append(episode)
            if episodes:
                self.stats.add(EpisodeValues.of_episodes(episodes))
        self.advance(len(episodes))

    def remove_empty_folder(self) -> None:
        """Delete the folder if no episode is complete, so that there is nothing to resume."""
        if self.folder and not self.stats.episodes:
            self.folder.remove()
            self.folder = None


def _describe_rollout(options: argparse.Namespace, levels: LevelSet | None) -> dict[str, Any]:
    """Return what `rollout.json` says about how the episodes were played: seed, policy and
    levels."""
    description = {"seed": options.seed, "policy": options.policy}
    if digest := policy_digest(options.policy):
        description["policy_digest"] = digest
    if options.replays:
        names = [file.name for file in options.replays]
        description = {"seed": 0, "policy": "replays", "replays": names}
    if options.first:
        description["first"] = options.first
    if options.representation:
        description["representation"] = options.representation
    if levels and options.policy == SOLVER:
        description["solved_levels"] = options.levels
    elif levels:
        description |= {"levels": options.levels, "level_seeds": levels.seeds}
    return description


def _parse_step_limit(text: str) -> int:
    """Return `text` as a limit of steps per episode, at least 1; raise an argparse error for
    another text."""
    if text == "0":
        raise argparse.ArgumentTypeError(
            "found '0', which allows endless episodes; expected a whole number of at least 1"
        )
    return cli.parse_positive(text)
