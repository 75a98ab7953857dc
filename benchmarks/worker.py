"""Process of one workload: `python -m benchmarks.worker FUNCTION SETTINGS CORES`.

It creates the workload, takes a step and prints the CPU time of the start; then it answers each
line of JSON with another until its input ends. It needs nothing but Python and what the workload
imports.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.workloads import Workload

SLICE = 0.02
"""Seconds of work between two readings of the clock."""


def main(name: str, settings: dict[str, Any], cores: int) -> None:
    """Create a workload and answer questions about it, on `cores` cores, or all for 0."""
    limit_cores(cores)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keep the workload's own output out of the answers
    make = find_maker(name)
    workload = make(**settings)
    workload.step(1)
    print(json.dumps(time.process_time()), file=answers, flush=True)
    for line in sys.stdin:
        question, *arguments = json.loads(line)
        answer: object
        if question == "about":
            answer = _describe(workload, *arguments)
        elif question == "memory":
            answer = _measure_memory(workload, lambda: make(**settings))
        elif question == "growth":
            answer = _measure_growth(workload, *arguments)
        else:
            answer = _measure_rate(getattr(workload, question), workload.worlds, *arguments)
        print(json.dumps(answer), file=answers, flush=True)


def limit_cores(cores: int) -> None:
    """Restrict this process to `cores` cores, or all for 0; call this before libraries count the
    cores."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])


def find_maker(name: str) -> Callable[..., Workload]:
    """Return the function of a roster entry.

    Raises:
        AttributeError: there is no function of this name.
    """
    *module, function = name.split(".")
    imported = import_module(f"benchmarks.{''.join(module) or 'workloads'}")
    return getattr(imported, function)  # type: ignore[no-any-return]  # `engine` and `workloads` have no others


def _describe(workload: Workload, requirements: list[str]) -> dict[str, Any]:
    """Return the task, the number of worlds and the versions of packages."""
    import re
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for requirement in requirements:
        package, *pinned = re.split(r"[^\w-]+", requirement, maxsplit=1)
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # only a part of the package was built
            versions[package] = pinned[0]
    return {"task": workload.task, "worlds": workload.worlds, "versions": versions}


def _measure_rate(work: Callable[[int], None], worlds: int, seconds: float) -> tuple[float, float]:
    """Return how often `work` is done per second of CPU time of all threads, and per second of wall
    time."""
    times = 1
    while True:  # double the work until it takes a slice
        cpu = time.process_time()
        work(times)
        if (spent := time.process_time() - cpu) > SLICE / 2:
            break
        times = max(2 * times, int(times * SLICE / max(spent, 1e-6) / 2))
    done, cpu, clock = 0, time.process_time(), time.perf_counter()
    while time.process_time() - cpu < seconds:
        work(times)
        done += times * worlds
    return done / (time.process_time() - cpu), done / (time.perf_counter() - clock)


def _measure_memory(workload: Workload, make: Callable[[], Workload]) -> tuple[float, float]:
    """Return the bytes of the process, and of one more world in it."""
    before = resident_bytes()
    workloads = [make() for _ in range(max(4, 200 // workload.worlds))]
    for added in workloads:
        added.step(1)
    return before, (resident_bytes() - before) / sum(added.worlds for added in workloads)


def _measure_growth(workload: Workload, steps: int) -> int:
    """Return the bytes by which the process grows within `steps` steps, after a tenth of them as
    warm-up."""
    times = steps // workload.worlds + 1
    workload.step(times // 10)
    before = resident_bytes()
    workload.step(times)
    return resident_bytes() - before


def resident_bytes() -> int:
    """Return the bytes of memory that this process uses.

    Raises:
        OSError: the system does not report it as Linux does.
    """
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))
