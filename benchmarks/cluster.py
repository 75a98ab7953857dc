"""`python -m benchmarks.cluster`: a rollout on local clusters of Ray, of more and more nodes.

Each node has one core, as machines of a cluster have some; the head plays nothing. They take turns,
round by round. Worth its figures where nothing else runs: what drives the rollout, and Ray's own
processes, want some of the same cores.
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

from gv_engine.rollout import on_ray
from gv_engine.rollout.episode_folder import EpisodeFolder
from gv_engine.rollout.episode_stats import EpisodeStats
from gv_engine.rollout.shards import Job
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.scenario import Scenario

_WORLDS = 256
_PATIENCE = 180.0
"""Seconds until nodes are there."""


class Measured(NamedTuple):
    """A rollout, in seconds by the clock, but for `playing`.

    Attributes:
        steps: of all episodes.
        begun: until the first shard was there.
        went_on: from then on.
        waited: of these, for shards.
        playing: seconds of computing of all nodes meanwhile.
    """

    steps: int
    begun: float
    went_on: float
    waited: float
    playing: float


def measured(scenario: Scenario, episodes: int, keep: bool) -> Measured:
    """Play on the cluster that this process is connected to."""
    job = Job(scenario, "random", 0, _WORLDS, keep=keep)
    tally, playing, waited = EpisodeStats(), 0.0, 0.0
    with tempfile.TemporaryDirectory() as out, closing(job.make_env(1)) as env:
        folder = EpisodeFolder(Path(out, "rollout"), env, {"seed": 0}) if keep else None
        asked = began = time.perf_counter()
        begun, first_steps = 0.0, 0
        for shard in on_ray.play_shards(job, 0, episodes, "auto"):
            waited += time.perf_counter() - asked
            playing += shard.seconds
            if folder:
                folder.extend(shard.rows)
            tally.merge(shard.stats)
            asked = time.perf_counter()
            if not begun:
                begun, first_steps = asked, tally.steps
                waited = playing = 0.0
        if folder:
            folder.close(complete=True)
    took = time.perf_counter() - begun
    return Measured(tally.steps - first_steps, begun - began, took, waited, playing)


@contextmanager
def cluster(nodes: int) -> Iterator[None]:
    """So many nodes of one core, and a head that plays nothing."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(nodes):
        made.add_node(wait=False, num_cpus=1)
    made.wait_for_nodes(timeout=_PATIENCE)
    ray.init(made.address, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()
        made.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--scenario", default="keydoor-9x9")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--episodes", type=int, default=40_960, help="of each rollout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="write every step into a folder")
    options = parser.parse_args()
    scenario: Any = load_scenario(options.scenario)
    found: dict[int, list[Measured]] = {nodes: [] for nodes in options.nodes}
    for _ in range(options.rounds):
        for nodes, those in found.items():
            with cluster(nodes):
                measured(scenario, 2048 * nodes, options.keep)  # starts and compiles
                those.append(measured(scenario, options.episodes, options.keep))
    print("nodes\tM steps/s\ttimes\tbegun, s\twaiting\tplaying, of cores")
    least = _speed(found[options.nodes[0]])
    for nodes, those in found.items():
        speed = _speed(those)
        begun = median(each.begun for each in those)
        waited = median(each.waited / each.went_on for each in those)
        busy = median(each.playing / each.went_on / nodes for each in those)
        told = f"{speed / 1e6:.2f}", f"{speed / least:.2f}", f"{begun:.1f}"
        print(nodes, *told, f"{waited:.0%}", f"{busy:.0%}", sep="\t")


def _speed(those: list[Measured]) -> float:
    return median(each.steps / each.went_on for each in those)


if __name__ == "__main__":
    main()
