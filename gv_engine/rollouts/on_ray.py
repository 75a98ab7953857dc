"""Work on a cluster, by Ray: it finds room for each part, and does those anew that were lost with
their machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import count, takewhile
from typing import Any

from gv_engine.language.errors import MissingExtraError
from gv_engine.reading.extras import RAY
from gv_engine.rollouts.policy import absolute
from gv_engine.rollouts.shards import Job, Shard, ShardPlayer

if RAY.missing:
    raise MissingExtraError(RAY.missing)

import ray  # behind the word on how to get it

LOCAL = "local"
"""In place of an address: Ray on this machine, for this command alone."""
_SHARD, _LARGE_SHARD = 512, 4096
"""Episodes of a shard; of one whose steps are not kept, where there are many."""
_SHARES = 64
"""Into which a rollout is parted at least, if its shards are large."""
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
    size = _SHARD if job.keep else max(_SHARD, min(_LARGE_SHARD, episodes // _SHARES))
    starts = takewhile(behind.__gt__, count(first, size))
    parts = ((start, min(size, behind - start)) for start in starts)
    there = replace(job, policy=absolute(job.policy), num_envs=min(job.num_envs, _SHARD))
    return results(ShardPlayer(there).play, parts, address, job.workers)


def results(
    work: Callable[..., Any],
    parts: Iterable[tuple[Any, ...] | None],
    address: str,
    cores: int = 1,
    in_order: bool = True,
) -> Iterator[Any]:
    """Do each part of some work wherever there is room, and yield what comes of it.

    What is on its way does not grow with the number of parts.

    Args:
        work: a function, of which every process has one.
        parts: what it takes for each of them; None if there is none until another has come back.
        address: of a cluster, "auto" for the one that this machine belongs to; or `LOCAL`.
        cores: that a part needs.
        in_order: whether results come in the order of parts, or each as soon as it is there.
    """
    if not ray.is_initialized():
        ray.init(address, log_to_driver=False, include_dashboard=False)
    task: Any = ray.remote(num_cpus=cores, max_retries=-1)(_do)
    given, left = [ray.put(work)], iter(parts)  # in a list Ray hands on the reference itself
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


def _do(given: list[Any], part: tuple[Any, ...]) -> Any:
    (reference,) = given
    return _unpacked(reference)(*part)


@lru_cache(maxsize=1)
def _unpacked(reference: Any) -> Callable[..., Any]:
    work: Callable[..., Any] = ray.get(reference)
    return work


def _told(coming: Any) -> Any:
    """What came of a part, or the error that ended it, as it was there."""
    try:
        return ray.get(coming)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
