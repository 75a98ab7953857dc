"""Rollouts and other work on a Ray cluster; parts that are lost with their machine run again."""

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

from gv_engine.envs.rollout.policy import with_absolute_paths
from gv_engine.envs.rollout.shards import Job, Shard, ShardPlayer
from gv_engine.rules.errors import GVEngineError, MissingExtraError
from gv_engine.scenario.documents.rule_errors import find_author_line
from gv_engine.scenario.domains import RAY

if RAY.missing_message:
    raise MissingExtraError(RAY.missing_message)

import ray  # after the check that it is installed
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

LOCAL = "local"
"""Address of a temporary Ray instance on this machine."""
_CONNECT_SECONDS = 5.0  # seconds to wait for an address
_TOKEN_HINT = (
    "; somebody listens there: if it wants a token, set RAY_AUTH_MODE=token here and on all of its "
    "machines, each with the same ~/.ray/auth_token, as docs/cluster.md says"
)
_SHARD, _LARGE_SHARD = 512, 4096  # episodes of a shard, and of a large shard without recorded steps
_MIN_SHARDS = 64  # least number of large shards
_REFRESH_SECONDS = 1.0  # seconds between two queries for machines
_AHEAD = 4  # submitted parts for each slot


class ClusterError(GVEngineError):
    """There is no Ray cluster at the address, or it refuses this process."""


class RemoteError(GVEngineError):
    """An author's code failed on another machine. The message names its file and line."""


def connect(address: str) -> None:
    """Connect this process to the Ray cluster at `address`. Do nothing if it is connected already.

    Args:
        address: HOST:PORT, "auto" for the cluster of this machine, or `LOCAL`.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    if ray.is_initialized():
        return
    host_and_port = _parse_address(address)
    if host_and_port:
        _check_listening(*host_and_port)
    try:
        ray.init(address, log_to_driver=False, include_dashboard=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ClusterError(f"{error}{_TOKEN_HINT if host_and_port else ''}") from None


def _parse_address(address: str) -> tuple[str, int] | None:
    """Return (host, port) of a Ray cluster's address such as "10.0.0.1:6379". Return None for
    addresses such as "auto", which only Ray can resolve.

    Raises:
        ClusterError: the address is invalid.
    """
    scheme, _, network_location = address.rpartition("://")
    if address in ("auto", LOCAL) or scheme not in ("", "ray"):
        return None
    try:
        parsed = urlsplit(f"//{network_location}")
        host, port = parsed.hostname, parsed.port
    except ValueError:
        host = port = None
    if not (host and port):
        raise ClusterError(
            f"no cluster is named {address!r} (allowed: HOST:PORT, as `ray start --head` prints "
            f"it; auto, if this machine belongs to one; {LOCAL})"
        )
    return host, port


def _check_listening(host: str, port: int) -> None:
    """Raise an error at once if no program listens at this host and port. Ray would try to connect
    for minutes.

    Raises:
        ClusterError: nothing listens.
    """
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(
            f"no cluster at {host}:{port}: {error.strerror or error}; start one there by "
            f"`ray start --head --port={port}`, or give the address that it prints"
        ) from None


def play_shards(job: Job, first: int, episodes: int, address: str) -> Iterator[Shard]:
    """Play the episodes from number `first` on, `episodes` in all, on a Ray cluster. They are split
    into shards (parts), which are yielded in order.

    Args:
        job: rollout; `workers` is the number of cores of a shard.
        first, episodes: number of the first episode, and number of episodes.
        address: as for `connect`.
    """
    end = first + episodes
    size = _SHARD if job.keep else max(_SHARD, min(_LARGE_SHARD, episodes // _MIN_SHARDS))
    starts = takewhile(end.__gt__, count(first, size))
    parts = ((start, min(size, end - start)) for start in starts)
    policy = with_absolute_paths(job.policy, job.scenario.agent_group)
    remote_job = replace(job, policy=policy, num_envs=min(job.num_envs, _SHARD))
    return run_parts(ShardPlayer(remote_job).play, parts, address, job.workers)


def run_parts(
    function: Callable[..., Any],
    argument_tuples: Iterable[tuple[Any, ...] | None],
    address: str,
    cores: int = 1,
    in_order: bool = True,
) -> Iterator[Any]:
    """Call a function with each of the tuples of arguments, in processes of a Ray cluster, and
    yield the results. None in place of a tuple means that a result is awaited first.

    Memory does not grow with the number of parts.

    Args:
        function: function, sent once to every process.
        argument_tuples: arguments of each call; None if the next part depends on a result.
        address: as for `connect`.
        cores: cores of a call.
        in_order: whether to yield results in order of the parts, or as they arrive.
    """
    connect(address)
    task: Any = ray.remote(num_cpus=cores, max_retries=-1)(_run_part)
    function_refs = [ray.put(function)]  # in a list, as Ray replaces a reference by its value
    remaining = iter(argument_tuples)
    running: dict[Any, str | None] = {}  # machine by task
    unfinished: list[Any] = []  # running ones, and those that wait for earlier ones
    # a second task for each slot keeps machines busy while results are used
    machines = _Machines(cores, tasks_per_slot=2 if in_order else 1)
    try:
        while True:
            for machine in machines.free_slots(running.values()):
                is_full = len(unfinished) >= _AHEAD * machines.slots
                if is_full or (part := next(remaining, None)) is None:
                    break
                placed = task.options(scheduling_strategy=_make_scheduling_strategy(machine))
                unfinished.append(placed.remote(function_refs, part))
                running[unfinished[-1]] = machine
            if not unfinished:
                return
            (done, *_), _ = ray.wait([*running], fetch_local=False)
            del running[done]
            if not in_order:
                unfinished.remove(done)
                yield _get_result(done)
            while in_order and unfinished and unfinished[0] not in running:
                yield _get_result(unfinished.pop(0))
    finally:
        for task_ref in running:
            ray.cancel(task_ref, force=True)


class _Machines:
    """The machines of a Ray cluster, with the number of tasks that each can run at once.

    Parts are assigned to machines here; Ray's own scheduling would move parts to and fro.

    Args:
        cores: cores of a part.
        tasks_per_slot: submitted parts for each slot, of which one runs.

    Attributes:
        slots: number of slots of all machines.
    """

    def __init__(self, cores: int, tasks_per_slot: int) -> None:
        self._cores, self._tasks_per_slot = cores, tasks_per_slot
        self._slots: dict[str | None, int] = {}  # by id of the machine
        self._last_refresh = -math.inf

    @property
    def slots(self) -> int:
        """Number of slots of all machines."""
        return sum(self._slots.values())

    def free_slots(self, running: Iterable[str | None]) -> list[str | None]:
        """Return the ids of machines that can take another task, idle ones first. `running` has the
        machine id of each running task, None if Ray has chosen it."""
        if time.monotonic() - self._last_refresh > _REFRESH_SECONDS:
            nodes = (node for node in ray.nodes() if node["Alive"])
            cpus = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in nodes}
            slots = {machine: number // self._cores for machine, number in cpus.items()}
            self._slots = {machine: number for machine, number in slots.items() if number}
            self._slots = self._slots or {None: 1}
            self._last_refresh = time.monotonic()
        num_assigned = Counter(running)
        # (number of tasks before this one in the same slot, machine)
        free = [
            (index // num_slots, machine)
            for machine, num_slots in self._slots.items()
            for index in range(num_assigned[machine], num_slots * self._tasks_per_slot)
        ]
        return [machine for _, machine in sorted(free, key=itemgetter(0))]


def _make_scheduling_strategy(machine: str | None) -> Any:
    return NodeAffinitySchedulingStrategy(machine, soft=True) if machine else "DEFAULT"


def _run_part(references: list[Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function with `arguments`, in a process of the Ray cluster. `references` is a list
    whose only item is Ray's reference to the function.

    Raises:
        RemoteError: custom code failed.
    """
    (reference,) = references
    try:
        return _get_function(reference)(*arguments)
    except (GVEngineError, OSError):
        raise
    except Exception as error:
        if location := find_author_line(error):
            raise RemoteError(f"{location}: {type(error).__name__}: {error}") from None
        raise


@lru_cache(maxsize=1)
def _get_function(reference: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = ray.get(reference)
    return function


def _get_result(reference: Any) -> Any:
    """Return the result of a call in another process, given by Ray's `reference`. Raise its error
    if it has failed."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
