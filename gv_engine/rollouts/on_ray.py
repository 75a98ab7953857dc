"""Work on a cluster, by Ray: it finds room for each part, and does those anew that were lost with
their machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
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
"""Parts on their way, for each that has room."""


def shards(job: Job, first: int, episodes: int, address: str) -> Iterator[Shard]:
    """Play a rollout, and yield its shards in order.

    Args:
        job: the rollout; `workers` are so many cores for each shard.
        first, episodes: the number of the first one, and how many.
        address: as for `results`.
    """
    behind = first + episodes
    starts = takewhile(behind.__gt__, count(first, _SHARD))
    parts = ((start, min(_SHARD, behind - start)) for start in starts)
    play = partial(play_shard, replace(job, policy=absolute(job.policy)))
    return results(play, parts, address, job.workers)


def results(
    work: Callable[..., Any],
    parts: Iterable[tuple[Any, ...]],
    address: str,
    cores: int = 1,
    in_order: bool = True,
) -> Iterator[Any]:
    """Do each part of some work wherever there is room, and yield what comes of it.

    What is on its way does not grow with the number of parts.

    Args:
        work: a function.
        parts: what it takes for each of them.
        address: of a cluster, "auto" for the one that this machine belongs to; or `LOCAL`.
        cores: that a part needs.
        in_order: whether results come in the order of parts, or each as soon as it is there.
    """
    if not ray.is_initialized():
        ray.init(address, log_to_driver=False, include_dashboard=False)
    task: Any = ray.remote(num_cpus=cores, max_retries=-1)(_do)
    given, left = ray.put(work), iter(parts)
    coming: list[Any] = []
    try:
        while True:
            room = int(ray.cluster_resources().get("CPU", 1)) // cores
            while len(coming) < max(1, _AHEAD * room) and (part := next(left, None)) is not None:
                coming.append(task.remote(given, part))
            if not coming:
                return
            done = coming[0] if in_order else ray.wait(coming)[0][0]
            yield _told(done)
            coming.remove(done)
    finally:
        for each in coming:
            ray.cancel(each, force=True)


def _do(work: Callable[..., Any], part: tuple[Any, ...]) -> Any:
    return work(*part)


def _told(coming: Any) -> Any:
    """What came of a part, or the error that ended it, as it was there."""
    try:
        return ray.get(coming)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
