"""The process of one contestant: `python -m benchmarks.worker FUNCTION SETTINGS CORES`.

Makes it, takes a step and says how much CPU time that took; then answers one line of JSON with
another, until there are no more. Needs nothing but Python and what the contestant imports.
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

from benchmarks.contestants import Contestant

SLICE = 0.02
"""Seconds of work between two looks at the clock."""


def main(name: str, settings: dict[str, Any], cores: int) -> None:
    """Make a contestant and obey; use only so many cores, or all if 0."""
    keep_to(cores)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the contestant prints is no answer
    make = maker(name)
    contestant = make(**settings)
    contestant.step(1)
    print(json.dumps(time.process_time()), file=answers, flush=True)
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        answer: object
        if what == "about":
            answer = _about(contestant, *arguments)
        elif what == "memory":
            answer = _memory(contestant, lambda: make(**settings))
        elif what == "growth":
            answer = _growth(contestant, *arguments)
        else:
            answer = _rate(getattr(contestant, what), contestant.worlds, *arguments)
        print(json.dumps(answer), file=answers, flush=True)


def keep_to(cores: int) -> None:
    """Use only so many cores, or all if 0; to be said before libraries count them."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])


def maker(name: str) -> Callable[..., Contestant]:
    """The function of an entry of the roster.

    Raises:
        AttributeError: there is none of this name.
    """
    *module, function = name.split(".")
    made_in = import_module(f"benchmarks.{''.join(module) or 'contestants'}")
    return getattr(made_in, function)  # type: ignore[no-any-return]  # `uses` and `contestants` have no others


def _about(contestant: Contestant, requirements: list[str]) -> dict[str, Any]:
    """What is played, and with which versions."""
    import re
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for requirement in requirements:
        package, *pinned = re.split(r"[^\w-]+", requirement, maxsplit=1)
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # only a part of it was built
            versions[package] = pinned[0]
    return {"task": contestant.task, "worlds": contestant.worlds, "versions": versions}


def _rate(work: Callable[[int], None], worlds: int, seconds: float) -> tuple[float, float]:
    """How often it is done in a second of CPU time, of all threads, and in one of the clock."""
    times = 1
    while True:  # a slice is as long as it should be
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


def _memory(contestant: Contestant, make: Callable[[], Contestant]) -> tuple[float, float]:
    """Bytes of the process, and of one more world in it."""
    before = resident()
    more = [make() for _ in range(max(4, 200 // contestant.worlds))]
    for other in more:
        other.step(1)
    return before, (resident() - before) / sum(other.worlds for other in more)


def _growth(contestant: Contestant, steps: int) -> int:
    """Bytes by which the process grows within so many steps, after a tenth of them."""
    times = steps // contestant.worlds + 1
    contestant.step(times // 10)
    before = resident()
    contestant.step(times)
    return resident() - before


def resident() -> int:
    """Bytes of memory that this process has in use.

    Raises:
        OSError: the system does not tell (only Linux does in this way).
    """
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))
