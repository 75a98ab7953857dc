"""Rollouts on a cluster, by Ray: it finds room for each shard, and plays those anew that were lost
with their machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, takewhile
from typing import Any

import ray

from gv_engine.rollouts.policy import absolute
from gv_engine.rollouts.shards import Job, Shard, play_shard

LOCAL = "local"
"""In place of an address: Ray on this machine, for this command alone."""
_SHARD = 512
"""Episodes of a shard."""
_AHEAD = 2
"""Shards on their way, for each that has room."""


def shards(job: Job, first: int, episodes: int, address: str) -> Iterator[Shard]:
    """Play a rollout, and yield its shards in order.

    What is on its way does not grow with their number.

    Args:
        job: the rollout; `workers` are so many cores for each shard.
        first, episodes: the number of the first one, and how many.
        address: of a cluster, "auto" for the one that this machine belongs to; or `LOCAL`.
    """
    if not ray.is_initialized():
        ray.init(address, log_to_driver=False, include_dashboard=False)
    task: Any = ray.remote(num_cpus=job.workers, max_retries=-1)(play_shard)
    given = ray.put(replace(job, policy=absolute(job.policy)))
    behind = first + episodes
    starts = takewhile(behind.__gt__, count(first, _SHARD))
    coming: deque[Any] = deque()
    try:
        while True:
            room = int(ray.cluster_resources().get("CPU", 1)) // job.workers
            while len(coming) < max(1, _AHEAD * room) and (start := next(starts, None)) is not None:
                coming.append(task.remote(given, start, min(_SHARD, behind - start)))
            if not coming:
                return
            yield _told(coming[0])
            coming.popleft()
    finally:
        for each in coming:
            ray.cancel(each, force=True)


def _told(coming: Any) -> Shard:
    """What came of a shard, or the error that ended it, as it was there."""
    try:
        found: Shard = ray.get(coming)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    return found
