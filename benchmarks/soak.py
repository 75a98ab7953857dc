"""`python -m benchmarks.soak`: memory growth of a process that creates and forks many environments.

Ten levels take turns. The process measures before and after how many bytes are allocated and how
many are resident, and the median CPU time of a fork. Bytes that are resident but not allocated are
free again; the allocator keeps them.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
import time
from statistics import median

from benchmarks.worker import resident_bytes
from gv_engine import GridEnv, GridVectorEnv

LEVELS = (
    *("keydoor-9x9", "empty-8x8", "dynamic-obstacles-5x5", "teleport-5x5", "medley-7x7"),
    *("patrol", "ice", "levers", "chase", "sokoban"),
)
MEMORY, FORK = 1024, 3
"""Limits: growth of the allocated memory in KiB, and time of a fork in milliseconds."""


def main() -> None:
    """Measure and print a line; exit with 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--number", type=int, default=2000, help="of environments; default 2000")
    number = parser.parse_args().number
    if os.environ.get("PYTHONMALLOC") != "malloc":  # so that C's malloc knows of every byte
        command = [sys.executable, "-m", __spec__.name, "--number", str(number)]
        environ = os.environ | {"PYTHONMALLOC": "malloc"}
        sys.exit(subprocess.run(command, check=False, env=environ).returncode)
    _make_and_fork(4 * len(LEVELS))  # both environments of each level, twice
    before = _measure_memory()
    forks = _make_and_fork(number)
    allocated, resident = (
        after - start for after, start in zip(_measure_memory(), before, strict=True)
    )
    fork = 1000 * median(forks)
    print(
        f"{number} made and forked, {allocated} KiB more allocated, "
        f"{resident} KiB more resident, {fork:.2f} ms a fork"
    )
    sys.exit(allocated > MEMORY or fork > FORK)


def _make_and_fork(number: int) -> list[float]:
    """Create environments and fork each; return the seconds of each fork."""
    forks = []
    for i in range(number):
        level = LEVELS[i // 2 % len(LEVELS)]
        if i % 2:
            env: GridEnv | GridVectorEnv = GridEnv(level, world="compiled")
        else:
            env = GridVectorEnv(level, 4, world="compiled")
        env.reset(seed=i)
        start = time.process_time()
        env.fork()
        forks.append(time.process_time() - start)
    return forks


class _HeapCounts(ctypes.Structure):
    """`struct mallinfo2` of the GNU C library: `hblkhd` and `uordblks` are the bytes allocated by
    `mmap` and on the heap."""

    _fields_ = [  # the form that ctypes asks for
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")
        + ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    ]


def _measure_memory() -> tuple[int, int]:
    """Return the KiB of memory that this process has allocated, and that are resident."""
    gc.collect()
    count = ctypes.CDLL(None).mallinfo2
    count.restype = _HeapCounts
    heap = count()
    return (heap.hblkhd + heap.uordblks) // 1024, resident_bytes() // 1024


if __name__ == "__main__":
    main()
