"""What the names in a scenario stand for: systems, object types, functions of Python modules.

A bare name is built in, `./rules.py:name` is looked up in a file beside the scenario, and
`package.module:name` in a module that Python finds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import esper

import systems  # noqa: F401  # fills the registries
from components.objects import built_in_types
from gv_engine.language import geometry
from gv_engine.language.modules import is_rule_module
from gv_engine.language.objects import OBJECT_TYPES
from gv_engine.language.system import (
    OBSERVATION,
    REGISTRIES,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
    System,
    marked,
    system_of,
)
from gv_engine.reading import rules
from gv_engine.reading.upstairs import system_from_states
from gv_engine.reading.values import Node, Wrong, instead, one_of, word
from systems.reset import from_map

_PROCESSORS = (TRANSITION, REWARD, TERMINATING)
DISTANCES = {f.__name__: f for f in (geometry.manhattan, geometry.euclidean)}
"""Functions of (dy, dx), by name."""
_DRAWN = marked(from_map).system


class Names:
    """The names that one scenario may use.

    Attributes:
        modules: those that it names, imported, by the text before the colon.
    """

    def __init__(self, folder: Path) -> None:
        self.modules: dict[str, ModuleType] = {}
        self._folder = folder
        self._failed: dict[str, str] = {}

    def preload(self, node: Node) -> None:
        """Import every module that is named below a node, ahead of the types they declare."""
        for text in _texts(node):
            where, colon, name = text.rpartition(":")
            if colon and name.isidentifier() and (_is_file(where) or _is_dotted(where)):
                self._import(where)

    def _import(self, where: str) -> None:
        if where in self.modules or where in self._failed:
            return
        try:
            if _is_file(where):
                self.modules[where] = rules.load(self._folder / where)
            else:
                self.modules[where] = rules.import_module(where)
        except rules.RuleFileError as error:
            self._failed[where] = f"{where} cannot be loaded: {error}"

    def _split(self, node: Node) -> tuple[str, str]:
        """Module and name of a reference, the module imported.

        Raises:
            Wrong: it cannot be imported; without a message if that has been said before.
        """
        where, _, name = word(node).rpartition(":")
        if not name.isidentifier() or not (_is_file(where) or _is_dotted(where)):
            raise Wrong(node, f"found {node.found}, expected ./rules.py:name or module:name")
        self._import(where)
        if where in self._failed:
            raise self._failure(node, where)
        return where, name

    def _failure(self, node: Node, where: str) -> Wrong:
        """That a module cannot be imported; without a message if that has been said before."""
        message, self._failed[where] = self._failed[where], ""
        return Wrong(node, message)

    def thing(self, node: Node) -> Any:
        """What a reference names."""
        where, name = self._split(node)
        module = self.modules[where]
        if not hasattr(module, name):
            defined = instead(name, rules.defined_in(module), "it defines")
            raise Wrong(node, f"{where} has no {name!r}{defined}")
        return getattr(module, name)

    def function(self, node: Node) -> Callable[..., Any]:
        """A plain function, by reference."""
        thing = self.thing(node)
        if not callable(thing):
            raise Wrong(node, f"{node.text} is a {type(thing).__name__}, expected a function")
        return thing  # type: ignore[no-any-return]  # callable is all that is known of it

    def distance(self, node: Node) -> Callable[..., Any]:
        """A function of (dy, dx), by name or reference."""
        if ":" in node.text:
            return self.function(node)
        return list(DISTANCES.values())[one_of(node, DISTANCES, "distance function")]

    def system(self, node: Node, phase: Phase, *, processors: bool = False) -> System:
        """The system of a name, which must be of a phase.

        Args:
            processors: whether an esper.Processor may stand for a system.
        """
        name = word(node)
        if ":" in name:
            return self._own_system(node, phase, processors)
        known = [other for other in REGISTRIES[phase] if REGISTRIES[phase][other] is not _DRAWN]
        if name in known:
            return REGISTRIES[phase][name]
        if name == _DRAWN.name:
            raise Wrong(node, f"{name} draws what stands under `map`; write that key instead")
        places = [other for other, registry in REGISTRIES.items() if name in registry]
        fault = f"{name!r} is a {called(places[0])}" if places else f"no {called(phase)} {name!r}"
        raise Wrong(node, f"{fault}{instead(name, known)}")

    def _own_system(self, node: Node, phase: Phase, processors: bool) -> System:
        thing = self.thing(node)
        if isinstance(thing, type) and issubclass(thing, esper.Processor):
            if not processors or phase not in _PROCESSORS:
                lists = ", ".join(each.name for each in _PROCESSORS)
                raise Wrong(
                    node,
                    f"{thing.__name__} is an esper.Processor; these stand by themselves and in "
                    f"{lists} only; write a function and decorate it with @system({phase.name})",
                )
            try:
                return rules.processor_system(thing, phase)
            except TypeError as error:
                raise Wrong(node, str(error)) from None
        system = system_of(thing)
        if system is None:
            return self._function_of_states(node, thing, phase)
        if system.phase is not phase:
            found = system.phase.name
            raise Wrong(node, f"{node.text} is a {found} system, but listed for {phase.name}")
        return system

    def _function_of_states(self, node: Node, thing: Any, phase: Phase) -> System:
        try:
            return system_from_states(thing, phase, node.text.rpartition(":")[2])
        except TypeError as error:
            raise Wrong(
                node,
                f"{node.text} is no system; decorate it with @system({phase.name}), or take "
                f"states: {error}",
            ) from None

    def sight(self, node: Node) -> Phase:
        """Whether a name stands for a visibility function or for an observation function."""
        if ":" not in word(node):
            both = OBSERVATION, VISIBILITY
            known = [phase for phase in both if node.text in REGISTRIES[phase]]
            return known[-1] if known else VISIBILITY
        thing = self.thing(node)
        system = system_of(thing)
        if system is not None:
            return system.phase if system.phase is OBSERVATION else VISIBILITY
        try:
            given = inspect.signature(thing).parameters.values()
        except (TypeError, ValueError):
            return VISIBILITY
        required = [p for p in given if p.kind is not p.KEYWORD_ONLY and p.default is p.empty]
        return OBSERVATION if len(required) == 1 else VISIBILITY

    def default_objects(self) -> tuple[int, ...]:
        """Types that stand on grids: the built-in ones and those of the scenario's modules."""
        return tuple(t.index for t in OBJECT_TYPES if t.in_grid and t.module in self._homes())

    def _homes(self) -> set[str]:
        return {
            *(kind.module for kind in built_in_types()),
            *(module.__name__ for module in self.modules.values()),
        }

    def object_type(self, node: Node) -> int:
        """The index of a type; `./things.py:Coin` imports that file first."""
        where, name = self._split(node) if ":" in word(node) else ("", node.text)
        # a type of another scenario's file would be known only if that was loaded before
        types = {
            t.name: t.index
            for t in OBJECT_TYPES
            if t.module in self._homes() or not is_rule_module(t.module)
        }
        if where:
            home = self.modules[where].__name__
            types |= {t.name: t.index for t in OBJECT_TYPES if t.module == home}
        if name not in types:
            for module in self._failed:  # which may declare it
                raise self._failure(node, module)
            raise Wrong(node, f"no object type {name!r}{instead(name, types)}")
        return types[name]


def called(phase: Phase) -> str:
    """What messages call a system of a phase."""
    return f"{phase.name.lower()} function"


def _texts(node: Node) -> Iterator[str]:
    if isinstance(node.value, dict | list):
        below = node.value.values() if isinstance(node.value, dict) else node.value
        for each in below:
            yield from _texts(each)
    else:
        yield node.text


def _is_file(where: str) -> bool:
    return where.endswith(".py") or where.startswith((".", "/"))


def _is_dotted(where: str) -> bool:
    return all(part.isidentifier() for part in where.split("."))
