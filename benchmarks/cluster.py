"""`python -m benchmarks.cluster`: a rollout on local Ray clusters with increasing numbers of nodes.

Each node has one core, like a machine of a cluster; the head runs no episodes. Cluster sizes take
turns, round by round. Figures are only reliable on an idle machine: the rollout's driver and Ray's
own processes share the same cores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import ray
from ray.cluster_utils import Cluster

from gv_engine.envs.rollout import on_ray
from gv_engine.envs.rollout.episode_folder import EpisodeFolder
from gv_engine.envs.rollout.episode_stats import EpisodeStats
from gv_engine.envs.rollout.shards import Job
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.scenario import Scenario

_WORLDS = 256
_PATIENCE = 180.0
"""Seconds to wait for the nodes."""


class RolloutTiming(NamedTuple):
    """Timing of a rollout; all times but `playing` are wall time in seconds.

    Attributes:
        steps: steps of all episodes.
        begun: time until the first shard arrived.
        went_on: time after the first shard.
        waited: part of `went_on` spent waiting for shards.
        playing: CPU seconds of all nodes in that time.
    """

    steps: int
    begun: float
    went_on: float
    waited: float
    playing: float


def measure_rollout(scenario: Scenario, episodes: int, keep: bool) -> RolloutTiming:
    """Run a rollout on the cluster that this process is connected to, and return its timing."""
    job = Job(scenario, "random", 0, _WORLDS, keep=keep)
    tally, playing, waited = EpisodeStats(), 0.0, 0.0
    with tempfile.TemporaryDirectory() as out, closing(job.make_env(1)) as env:
        folder = EpisodeFolder(Path(out, "rollout"), env, {"seed": 0}) if keep else None
        request_time = start = time.perf_counter()
        begun, first_steps = 0.0, 0
        for shard in on_ray.play_shards(job, 0, episodes, "auto"):
            waited += time.perf_counter() - request_time
            playing += shard.seconds
            if folder:
                folder.extend(shard.rows)
            tally.add(shard.values)
            request_time = time.perf_counter()
            if not begun:
                begun, first_steps = request_time, tally.steps
                waited = playing = 0.0
        if folder:
            folder.close(complete=True)
    elapsed = time.perf_counter() - begun
    return RolloutTiming(tally.steps - first_steps, begun - start, elapsed, waited, playing)


@contextmanager
def start_cluster(nodes: int) -> Iterator[None]:
    """Context manager for a Ray cluster with `nodes` nodes of one core and an idle head."""
    ray_cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(nodes):
        ray_cluster.add_node(wait=False, num_cpus=1)
    ray_cluster.wait_for_nodes(timeout=_PATIENCE)
    ray.init(ray_cluster.address, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()
        ray_cluster.shutdown()


def main() -> None:
    """Measure all cluster sizes and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--scenario", default="keydoor-9x9")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--episodes", type=int, default=40_960, help="of each rollout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="write every step into a folder")
    options = parser.parse_args()
    scenario: Any = load_scenario(options.scenario)
    timings_by_nodes: dict[int, list[RolloutTiming]] = {nodes: [] for nodes in options.nodes}
    for _ in range(options.rounds):
        for nodes, timings in timings_by_nodes.items():
            with start_cluster(nodes):
                measure_rollout(scenario, 2048 * nodes, options.keep)  # starts and compiles
                timings.append(measure_rollout(scenario, options.episodes, options.keep))
    print("nodes\tM steps/s\ttimes\tbegun, s\twaiting\tplaying, of cores")
    least = _median_speed(timings_by_nodes[options.nodes[0]])
    for nodes, timings in timings_by_nodes.items():
        speed = _median_speed(timings)
        begun = median(timing.begun for timing in timings)
        waited = median(timing.waited / timing.went_on for timing in timings)
        busy = median(timing.playing / timing.went_on / nodes for timing in timings)
        columns = f"{speed / 1e6:.2f}", f"{speed / least:.2f}", f"{begun:.1f}"
        print(nodes, *columns, f"{waited:.0%}", f"{busy:.0%}", sep="\t")


def _median_speed(timings: list[RolloutTiming]) -> float:
    return median(timing.steps / timing.went_on for timing in timings)


if __name__ == "__main__":
    main()
