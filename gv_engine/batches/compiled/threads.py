"""Threads that do one piece of work together."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


class Threads:
    """The calling thread and some more, which are started when there is work for them.

    Args:
        size: how many threads in all.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, work: Callable[[int], int], size: int) -> int:
        """Do the work in the first `size` threads at once; the sum of what they return.

        Args:
            work: gets the number of its thread, from 0 on.
            size: at most all of them.
        """
        if size <= 1:
            return work(0)
        if self._pool is None or self._process != os.getpid():  # no thread outlives a fork
            self._pool, self._process = ThreadPoolExecutor(self.size - 1, "gv-engine"), os.getpid()
        others = [self._pool.submit(work, number) for number in range(1, size)]
        try:
            mine = work(0)
        finally:
            wait(others)  # whatever happens here, nobody goes on writing behind our back
        return mine + sum(other.result() for other in others)
