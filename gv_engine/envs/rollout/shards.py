"""Shards: parts of a rollout that separate processes play."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from time import process_time
from typing import Any, NamedTuple

from gv_engine.envs.rollout import policy as policies
from gv_engine.envs.rollout.episode_folder import episode_rows
from gv_engine.envs.rollout.episode_stats import EpisodeValues
from gv_engine.envs.rollout.rollout import FinishedEpisode, describe_step_arrays, rollout
from gv_engine.scenario.domains import AnyScenario, get_plugin


@dataclass(frozen=True)
class Job:
    """Description of a rollout: scenario, policy, seed and what to record. It can be sent to other
    processes.

    Attributes:
        scenario: scenario of the episodes.
        policy: name of the policy, see `gv_engine.envs.rollout.policy`.
        seed: seed of the rollout.
        num_envs, workers: number of worlds at once, and of threads or processes that share them.
        keep: whether to return the recorded steps, for a rollout folder.
        masks: whether the recorded steps include action masks.
        options: further options of the vector environment.
        sequences: action sequences, one for each episode, in place of the policy.
    """

    scenario: AnyScenario
    policy: str
    seed: int
    num_envs: int
    workers: int = 1
    keep: bool = False
    masks: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    sequences: tuple[policies.ActionSequence, ...] = ()

    def make_env(self, num_envs: int) -> Any:
        """Return a vector environment of `num_envs` worlds in which the rollout can be played.

        Raises:
            ValueError: an option has an invalid value, or the observations cannot be saved.
        """
        options = {"workers": self.workers, "autoreset_mode": "Disabled", **self.options}
        env = get_plugin(self.scenario).make_rollout_env(self.scenario, num_envs, **options)
        describe_step_arrays(env, self.masks)
        return env

    def make_policy(self, env: Any) -> policies.Policy:
        """Return the policy of the rollout, to act in the vector environment `env`.

        Raises:
            PolicyError: there is no such policy, or it is a trained one with another
                representation.
            RunError: the run is damaged, or of another kind of worlds.
        """
        if self.sequences:
            return policies.ScriptedPolicy(self.sequences, env.num_envs)
        representation = self.options.get("observation_representation", "default")
        names = policies.policies_needing_default(self.policy)
        if names and representation != "default":
            raise policies.PolicyError(
                f"{names[0]} acts by what the representation default shows, and not by "
                f"{representation}; keep default, and turn what was kept into another one"
            )
        return policies.load_policies(
            self.policy,
            self.scenario,
            env.num_envs,
            env.num_actions,
            compiled=env.world == "compiled",
            more_names=[policies.SOLVER],
        )

    def play(
        self, env: Any, policy: policies.Policy, first: int, episodes: int
    ) -> Iterator[FinishedEpisode]:
        """Play `episodes` episodes of the rollout in `env` with `policy`, from episode number
        `first` on, and yield each when it is finished."""
        seeds = [sequence.seed for sequence in self.sequences]
        return rollout(env, policy, episodes, self.seed, self.keep, first, self.masks, seeds)


class Shard(NamedTuple):
    """Results of one part of a rollout, some of its episodes.

    Attributes:
        values: results of the episodes.
        rows: arrays for a rollout folder, see `episode_rows`; {} unless `Job.keep`.
        seconds: CPU time.
    """

    values: EpisodeValues
    rows: dict[str, Any]
    seconds: float


@dataclass
class ShardPlayer:
    """Plays parts of a rollout one after the other, in worlds that are created once in each
    process.

    Attributes:
        job: rollout.
    """

    job: Job

    def play(self, first: int, episodes: int) -> Shard:
        """Play `episodes` episodes (at least one) from episode number `first` on. Return their
        results, with their steps if the rollout records steps."""
        start = process_time()
        played = [*self.job.play(*self._env_and_policy, first, episodes)]
        rows = episode_rows(played) if self.job.keep else {}
        return Shard(EpisodeValues.of_episodes(played), rows, process_time() - start)

    @cached_property
    def _env_and_policy(self) -> tuple[Any, policies.Policy]:
        env = self.job.make_env(self.job.num_envs)
        return env, self.job.make_policy(env)
