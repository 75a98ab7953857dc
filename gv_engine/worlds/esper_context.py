"""esper made safe: its world is a module global, so every world here lives in a context of its own.

A context is entered through one lock, switches esper to its own world and back again, and may be
entered again inside itself. Several worlds can thus take turns in one process and in several
threads without ever seeing each other's entities.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from types import TracebackType

import esper

_LOCK = threading.RLock()
_NUMBERS = itertools.count(1)


def _forget(name: str) -> None:
    with _LOCK:
        if esper.current_world != name and name in esper.list_worlds():
            esper.delete_world(name)


_RETIRED: deque[EsperContext] = deque()
"""Contexts whose simulation is gone. Their processors hold the world, and with it the context; they
are let go when the next context is made, not while memory is being reclaimed in midst of esper."""


class EsperContext:
    """`with context:` makes esper's functions speak of this context's world."""

    def __init__(self) -> None:
        while _RETIRED:
            _RETIRED.pop()._retire()
        self.name = f"gv_engine-{next(_NUMBERS)}"
        self._outer: list[str] = []
        weakref.finalize(self, _forget, self.name)

    def belong_to(self, owner: object) -> None:
        """Let go of all processors some time after the owner, who runs them, is gone."""
        weakref.finalize(owner, _RETIRED.append, self).atexit = False

    def _retire(self) -> None:
        with self:
            # esper has no public list of them
            for processor in tuple(esper._processors):
                esper.remove_processor(type(processor))

    def __enter__(self) -> None:
        _LOCK.acquire()
        current = esper.current_world
        self._outer.append(current)
        if current != self.name:
            esper.switch_world(self.name)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        outer = self._outer.pop()
        if outer != self.name:
            esper.switch_world(outer)
        _LOCK.release()
