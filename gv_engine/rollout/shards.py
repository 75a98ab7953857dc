"""Shards: parts of a rollout, each played wherever there is room, that together are the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from time import process_time
from typing import Any, NamedTuple

from gv_engine.rollout.episode_folder import rows_of
from gv_engine.rollout.episode_stats import EpisodeStats
from gv_engine.rollout.policy import (
    SOLVER,
    ActionSequence,
    Policy,
    PolicyError,
    ScriptedPolicy,
    load_policies,
    runs_of,
)
from gv_engine.rollout.rollout import FinishedEpisode, rollout, rows_of_steps
from gv_engine.rules.errors import BuiltInDoesNotCompileError, DoesNotCompileError
from gv_engine.scenario.plugin import AnyScenario, get_plugin


@dataclass(frozen=True)
class Job:
    """A rollout that is to be played, as it goes to other processes.

    Attributes:
        scenario: what is played.
        policy: the name of what acts, see `gv_engine.rollout.policy`.
        seed: of the rollout.
        num_envs, workers: worlds at once, and what shares them.
        keep: whether the rows of a folder are wanted.
        masks: whether these have action masks.
        options: that the vector environment takes besides.
        ways: that are gone, one in each episode, in place of what a policy would do.
    """

    scenario: AnyScenario
    policy: str
    seed: int
    num_envs: int
    workers: int = 1
    keep: bool = False
    masks: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    ways: tuple[ActionSequence, ...] = ()

    def environment(self, num_envs: int) -> Any:
        """What it is played in.

        Raises:
            ValueError: an option has no such value, or there is nothing that a folder could keep.
        """
        how = {"workers": self.workers, "autoreset_mode": "Disabled", **self.options}
        env = get_plugin(self.scenario).make_rollout_env(self.scenario, num_envs, **how)
        rows_of_steps(env, self.masks)
        return env

    def actor(self, env: Any) -> Policy:
        """What acts in it.

        Raises:
            PolicyError: there is no such policy, or it is a run, and sees another representation.
            RunError: the run is damaged, or of another kind of worlds.
        """
        if self.ways:
            return ScriptedPolicy(self.ways, env.num_envs)
        shown = self.options.get("observation_representation", "default")
        if shown != "default" and (runs := runs_of(self.policy)):
            raise PolicyError(
                f"{runs[0]} acts by what the representation default shows, and not by {shown}; "
                "keep default, and turn what was kept into another one"
            )
        acting = env.num_envs, env.num_actions, env.world == "compiled"
        return load_policies(self.policy, self.scenario, *acting, [SOLVER])

    def episodes(
        self, env: Any, actor: Policy, first: int, episodes: int
    ) -> Iterator[FinishedEpisode]:
        """Play some of it."""
        seeds = [way.seed for way in self.ways]
        return rollout(env, actor, episodes, self.seed, self.keep, first, self.masks, seeds)


class Shard(NamedTuple):
    """A part of a rollout.

    Attributes:
        tally: of the episodes that were played.
        rows: the arrays of a folder of them, if they are kept.
        seconds: of computing that it took.
    """

    tally: EpisodeStats
    rows: dict[str, Any]
    seconds: float


@dataclass
class ShardPlayer:
    """Plays shards of a rollout, in worlds that are made once in each process.

    Attributes:
        job: the rollout.
    """

    job: Job

    def play(self, first: int, episodes: int) -> Shard:
        """Play episodes, from the one with this number on."""
        began, tally, kept = process_time(), EpisodeStats(), list[FinishedEpisode]()
        for episode in self.job.episodes(*self._acting, first, episodes):
            tally.add(episode)
            if self.job.keep:
                kept.append(episode)
        return Shard(tally, rows_of(kept) if kept else {}, process_time() - began)

    @cached_property
    def _acting(self) -> tuple[Any, Policy]:
        """The worlds, and what acts in them."""
        job = self.job
        try:  # nobody waits for a worker's first steps, so that objects need not bridge them
            get_plugin(job.scenario).compile_scenario(job.scenario)
        except BuiltInDoesNotCompileError:
            raise
        except DoesNotCompileError:
            pass
        env = job.environment(job.num_envs)
        return env, job.actor(env)
