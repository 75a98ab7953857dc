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
from collections.abc import Iterable
from types import TracebackType
from typing import Any

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
    """`with context:` makes esper's functions speak of this context's world.

    `clear` and `give` write into esper's own dictionaries, of which it hands out no more than
    copies: with a call of `esper.add_component` for each component, resets took twice as long.
    """

    def __init__(self) -> None:
        while _RETIRED:
            _RETIRED.pop()._retire()
        self.name = f"gv_engine-{next(_NUMBERS)}"
        self._outer: list[str] = []
        weakref.finalize(self, _forget, self.name)
        with self:
            self._entities: dict[int, dict[type, Any]] = esper._entities
            self._having: dict[type, set[int]] = esper._components
            self._found_one = esper._get_component_cache
            self._found_several = esper._get_components_cache

    @property
    def size(self) -> int:
        """How many entities there are."""
        return len(self._entities)

    def clear(self, size: int) -> None:
        """Have so many entities, from 1 on, and none with a component."""
        with self:
            esper.clear_dead_entities()
            if self.size == size == next(reversed(self._entities)):
                for parts in self._entities.values():
                    parts.clear()
                self._having.clear()
                esper.clear_cache()
                return
            esper.clear_database()
            # all ids ahead: one that esper deletes lazily and hands out again would lose its
            # components at the next process
            for _ in range(size):
                esper.create_entity()

    def give(self, e: int, prefab: Iterable[tuple[type, tuple[float, ...], list[Any]]]) -> None:
        """Give an entity new components: of a class, with values, also put into these rows."""
        parts, having = self._entities[e], self._having
        for cls, values, rows in prefab:
            rows[e] = parts[cls] = cls(*values)
            try:
                having[cls].add(e)
            except KeyError:
                having[cls] = {e}
        self._found_one.clear()
        self._found_several.clear()

    def give_each(
        self, entities: range, prefab: Iterable[tuple[type, tuple[float, ...], list[Any]]]
    ) -> None:
        """Give each of several entities in a row new components, see `give`."""
        each = [self._entities[e] for e in entities]
        for cls, values, rows in prefab:
            made = [cls(*values) for _ in entities]
            rows[entities.start : entities.stop] = made
            self._having.setdefault(cls, set()).update(entities)
            for parts, component in zip(each, made):
                parts[cls] = component
        self._found_one.clear()
        self._found_several.clear()

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
