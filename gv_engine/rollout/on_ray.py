"""Work on a cluster, by Ray: it finds room for each part, and does those anew that were lost with
their machine."""

from __future__ import annotations

import math
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import count, takewhile
from operator import itemgetter
from typing import Any
from urllib.parse import urlsplit

from gv_engine.rollout.policy import absolute
from gv_engine.rollout.shards import Job, Shard, ShardPlayer
from gv_engine.rules.errors import GVEngineError, MissingExtraError
from gv_engine.scenario.optional_deps import RAY
from gv_engine.scenario.rule_modules import find_author_line

if RAY.missing_message:
    raise MissingExtraError(RAY.missing_message)

import ray  # behind the word on how to get it
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

LOCAL = "local"
"""In place of an address: Ray on this machine, for this command alone."""
_ANSWERS = 5.0
"""Seconds in which an address has to."""
_WANTED = (
    "; somebody listens there: if it wants a token, set RAY_AUTH_MODE=token here and on all of its "
    "machines, each with the same ~/.ray/auth_token, as docs/cluster.md says"
)
_SHARD, _LARGE_SHARD = 512, 4096
"""Episodes of a shard; of one whose steps are not kept, where there are many."""
_SHARES = 64
"""Into which a rollout is parted at least, if its shards are large."""
_SECONDS = 1.0
"""After which it is asked again which machines there are."""
_AHEAD = 4
"""Parts that are not yet handed on, for each that has room."""


class ClusterError(GVEngineError):
    """There is no cluster, or it does not let this process in."""


class RemoteError(GVEngineError):
    """Code of one's own failed on some machine; it says where in its file, which only that machine
    knows."""


def reach(address: str) -> None:
    """Connect with a cluster, if that has not been done.

    Args:
        address: HOST:PORT; "auto" for the one that this machine belongs to; or `LOCAL`.

    Raises:
        ClusterError: it cannot be reached.
    """
    if ray.is_initialized():
        return
    place = _host_and_port(address)
    if place:
        _knock(*place)
    try:
        ray.init(address, log_to_driver=False, include_dashboard=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ClusterError(f"{error}{_WANTED if place else ''}") from None


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Host and port of an address; None where only Ray knows them."""
    scheme, _, rest = address.rpartition("://")
    if address in ("auto", LOCAL) or scheme not in ("", "ray"):
        return None
    try:
        found = urlsplit(f"//{rest}")
        host, port = found.hostname, found.port
    except ValueError:
        host = port = None
    if not (host and port):
        raise ClusterError(
            f"no cluster is named {address!r} (allowed: HOST:PORT, as `ray start --head` prints "
            f"it; auto, if this machine belongs to one; {LOCAL})"
        )
    return host, port


def _knock(host: str, port: int) -> None:
    """Make sure that somebody listens; Ray would wait for minutes."""
    try:
        socket.create_connection((host, port), _ANSWERS).close()
    except OSError as error:
        raise ClusterError(
            f"no cluster at {host}:{port}: {error.strerror or error}; start one there by "
            f"`ray start --head --port={port}`, or give the address that it prints"
        ) from None


def shards(job: Job, first: int, episodes: int, address: str) -> Iterator[Shard]:
    """Play a rollout, and yield its shards in order.

    Args:
        job: the rollout; `workers` are so many cores for each shard.
        first, episodes: the number of the first one, and how many.
        address: as for `reach`.
    """
    behind = first + episodes
    size = _SHARD if job.keep else max(_SHARD, min(_LARGE_SHARD, episodes // _SHARES))
    starts = takewhile(behind.__gt__, count(first, size))
    parts = ((start, min(size, behind - start)) for start in starts)
    policy = absolute(job.policy, job.scenario.sharing)
    there = replace(job, policy=policy, num_envs=min(job.num_envs, _SHARD))
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
        address: as for `reach`.
        cores: that a part needs.
        in_order: whether results come in the order of parts, or each as soon as it is there.
    """
    reach(address)
    task: Any = ray.remote(num_cpus=cores, max_retries=-1)(_do)
    given, left = [ray.put(work)], iter(parts)  # in a list Ray hands on the reference itself
    running: dict[Any, str | None] = {}  # by the machine that each was given
    coming: list[Any] = []  # these, and those that wait for one before them
    machines = _Machines(cores, 2 if in_order else 1)  # results may keep who takes them busy
    try:
        while True:
            for machine in machines.free(running.values()):
                if len(coming) >= _AHEAD * machines.room or (part := next(left, None)) is None:
                    break
                placed = task.options(scheduling_strategy=_placed(machine))
                coming.append(placed.remote(given, part))
                running[coming[-1]] = machine
            if not coming:
                return
            (done, *_), _ = ray.wait([*running], fetch_local=False)
            del running[done]
            if not in_order:
                coming.remove(done)
                yield _told(done)
            while in_order and coming and coming[0] not in running:
                yield _told(coming.pop(0))
    finally:
        for each in running:
            ray.cancel(each, force=True)


class _Machines:
    """Those of the cluster, and for how many parts each has room.

    Each part is given a machine. Parts that Ray is handed to find one itself go to and fro between
    machines that think that the other has room.

    Args:
        cores: that a part needs.
        depth: parts for each room, of which one is done and others wait for it.

    Attributes:
        room: of all together.
    """

    def __init__(self, cores: int, depth: int) -> None:
        self._cores, self._depth = cores, depth
        self._asked, self._rooms = -math.inf, dict[str | None, int]()

    @property
    def room(self) -> int:
        return sum(self._rooms.values())

    def free(self, taken: Iterable[str | None]) -> list[str | None]:
        """Machines that take parts beside those they have, those with room at once first; None is
        any, if there is none that is large enough yet."""
        if time.monotonic() - self._asked > _SECONDS:
            there = (node for node in ray.nodes() if node["Alive"])
            cpus = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in there}
            self._rooms = {name: n // self._cores for name, n in cpus.items() if n >= self._cores}
            self._rooms = self._rooms or {None: 1}
            self._asked = time.monotonic()
        held = Counter(taken)
        places = [
            (number // room, name)
            for name, room in self._rooms.items()
            for number in range(held[name], room * self._depth)
        ]
        return [name for _, name in sorted(places, key=itemgetter(0))]


def _placed(machine: str | None) -> Any:
    """Where Ray is to do a part: there, and anywhere if that machine has gone."""
    return NodeAffinitySchedulingStrategy(machine, soft=True) if machine else "DEFAULT"


def _do(given: list[Any], part: tuple[Any, ...]) -> Any:
    (reference,) = given
    try:
        return _unpacked(reference)(*part)
    except (GVEngineError, OSError):
        raise
    except Exception as error:
        if place := find_author_line(error):
            raise RemoteError(f"{place}: {type(error).__name__}: {error}") from None
        raise


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
