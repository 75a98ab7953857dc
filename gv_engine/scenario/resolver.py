"""Names in scenarios: the systems, object types and functions of Python that they stand for.

A bare name is built in, `./rules.py:name` is looked up in a file of the scenario's folder, and
`package.module:name` in a module that may be named. Nothing is imported that `Trust` refuses, and
nothing is handed out to be called but what is marked, registered, or defined by the scenario.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import esper

import systems  # noqa: F401  # fills the registries
from components.objects import built_in_components, built_in_types
from gv_engine.rules import geometry
from gv_engine.rules.component import is_component
from gv_engine.rules.geometry import Action
from gv_engine.rules.modules import is_engine_module, is_rule_module, package_of
from gv_engine.rules.objects import OBJECT_TYPES, ObjectType, ObjectTypes
from gv_engine.rules.system import (
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
    unwrapped,
)
from gv_engine.scenario import rule_modules
from gv_engine.scenario.actions import read_action
from gv_engine.scenario.document import Document
from gv_engine.scenario.fields import (
    FieldError,
    UntrustedCodeError,
    YamlNode,
    read_choice,
    suggestion,
    text,
)
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.scenario.trust import is_file_reference, is_module_name
from gv_engine.scenario.type_ids import MAX_MODULES, TypeIds, iter_references
from systems.reset import from_map

_STATE_FUNCTION_ADAPTER = "gv_engine.gridverse.functions:system_from"
"""Place of what makes a system of a function of states, in a room above."""
_PROCESSOR_PHASES = (TRANSITION, REWARD, TERMINATING)
DISTANCES: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (geometry.manhattan, geometry.euclidean)},
    "math:hypot": math.hypot,
}
"""Functions of (dy, dx), by name."""
REDUCTIONS: dict[str, Callable[..., Any]] = {
    f"builtins:{f.__name__}": f for f in (all, any, max, min, sum)
}
"""Functions of several numbers, by name."""
_MAP_RESET = marked(from_map).system


class NameResolver:
    """The names that one scenario may use.

    Args:
        document: the scenario, whose files may be loaded as far as it is trusted.
        numbering: of it, and of others that are played together with it.

    Attributes:
        modules: those that it names, imported, by the text before the colon.
        own: the types that it declares itself, in text.
        own_actions: names of its actions that are not built in.
    """

    def __init__(self, document: Document, numbering: TypeIds) -> None:
        self.numbering = numbering
        self.modules: dict[str, ModuleType] = {}
        self.declared_types: tuple[ObjectType, ...] = ()
        self.own_actions: tuple[str, ...] = ()
        self._folder = document.folder
        self._trust = document.trust
        self._failed: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._types: tuple[Any, ObjectTypes] | None = None
        self._references: dict[str, dict[str, None]] = {}  # references, by what is before the colon

    def import_references(self, node: YamlNode) -> None:
        """Import every module that is named below a node, ahead of the types they declare."""
        for where, reference in iter_references(node):
            if reference not in DISTANCES and reference not in REDUCTIONS:
                self._import_module(where, reference)

    def _import_module(self, where: str, reference: str) -> None:
        self._references.setdefault(where, {})[reference] = None
        if where in self.modules or where in self._failed or where in self._refused:
            return
        if refusal := self._trust.explain_refusal(self._folder, where):
            self._refused[where] = refusal
            return
        if len(self.modules) + len(self._failed) >= MAX_MODULES:
            self._failed[where] = f"{where} is one module more than {MAX_MODULES}"
            return
        try:
            if is_file_reference(where):
                file = self._folder / where
                package = self.numbering.packages.get(file.resolve().parent, "")
                self.modules[where] = rule_modules.load_rule_file(file, package)
            else:
                self.modules[where] = rule_modules.import_module(where)
        except rule_modules.RuleFileError as error:
            self._failed[where] = f"{where} cannot be loaded: {error}"

    def _resolve_module(self, node: YamlNode) -> tuple[str, str]:
        """Module and name of a reference, the module imported.

        Raises:
            Wrong: it cannot be imported; without a message if that has been said before.
        """
        where, _, name = text(node).rpartition(":")
        if not name.isidentifier() or not (is_file_reference(where) or is_module_name(where)):
            raise FieldError(node, f"found {node.summary}, expected ./rules.py:name or module:name")
        self._import_module(where, node.text)
        if where not in self.modules:
            raise self._import_error(node, where)
        return where, name

    def _import_error(self, node: YamlNode, where: str) -> FieldError:
        """The problem of a module that is not imported; without a message if it is known."""
        if where in self._failed:
            message, self._failed[where] = self._failed[where], ""
            return FieldError(node, message)
        refusal = self._refused[where]
        if not refusal:
            return UntrustedCodeError(node, "")
        alike = [each for each, why in self._refused.items() if why == refusal]
        self._refused |= dict.fromkeys(alike, "")
        references = ", ".join(text for each in alike for text in self._references[each])
        return UntrustedCodeError(node, f"{references}: not loaded, {refusal}")

    def resolve_object(self, node: YamlNode) -> Any:
        """What a reference names: something that the scenario, or a module it may name, defines."""
        thing = self._get_object(node)
        if callable(thing) and not self._is_allowed(thing):
            raise self._foreign_error(node, thing)
        return thing

    def _is_allowed(self, thing: Any) -> bool:
        home = _get_module_name(thing)
        if is_rule_module(home):
            folders = self._folder.resolve(), *self._trust.base_folders
            return any(map(rule_modules.get_rule_folder(home).is_relative_to, folders))
        return bool(home) and not self._trust.explain_refusal(self._folder, home)

    def _foreign_error(self, node: YamlNode, thing: Any) -> FieldError:
        return UntrustedCodeError(
            node,
            f"{node.text} comes from {_get_module_name(thing) or 'elsewhere'}; name something that is a "
            f"system, is registered, or is defined in the scenario's own folder",
        )

    def _get_object(self, node: YamlNode) -> Any:
        """The object that a reference leads to, of any kind."""
        where, name = self._resolve_module(node)
        module = self.modules[where]
        if not hasattr(module, name):
            defined = suggestion(name, rule_modules.list_defined_names(module), "it defines")
            raise FieldError(node, f"{where} has no {name!r}{defined}")
        return getattr(module, name)

    def resolve_function(self, node: YamlNode, *example: Any) -> Callable[..., Any]:
        """A plain function, by reference.

        Args:
            example: what it is going to be called with, if that is known.
        """
        thing = self.resolve_object(node)
        if not callable(thing):
            raise FieldError(node, f"{node.text} is a {type(thing).__name__}, expected a function")
        if example:
            try:
                inspect.signature(thing).bind(*example)
            except (TypeError, ValueError) as error:
                count = "one argument" if len(example) == 1 else f"{len(example)} arguments"
                raise FieldError(node, f"{node.text} does not take {count}: {error}") from None
        return thing  # type: ignore[no-any-return]  # callable is all that is known of it

    def resolve_distance(self, node: YamlNode) -> Callable[..., Any]:
        """A function of (dy, dx), by name or reference."""
        return self._resolve_built_in(node, DISTANCES, "distance function", 0, 0)

    def resolve_action(self, node: YamlNode) -> Action:
        """An action, by name."""
        return read_action(node, self.own_actions)

    def resolve_reduction(self, node: YamlNode) -> Callable[..., Any]:
        """A function of several numbers, by name or reference."""
        return self._resolve_built_in(node, REDUCTIONS, "reduction", ())

    def resolve_parameter(self, node: YamlNode) -> Callable[..., Any]:
        """A function for a system that an author wrote, by name or reference."""
        return self._resolve_built_in(node, {**DISTANCES, **REDUCTIONS}, "function")

    def _resolve_built_in(
        self, node: YamlNode, known: Mapping[str, Callable[..., Any]], what: str, *example: Any
    ) -> Callable[..., Any]:
        where, colon, _ = text(node).rpartition(":")
        if node.text in known or not colon or where in ("builtins", "math"):
            return list(known.values())[read_choice(node, known, what)]
        return self.resolve_function(node, *example)

    def resolve_system(self, node: YamlNode, phase: Phase, *, processors: bool = False) -> System:
        """The system of a name, which must be of a phase.

        Args:
            processors: whether an esper.Processor may stand for a system.
        """
        name = text(node)
        if ":" in name:
            return self._check_domain(node, self._resolve_own_system(node, phase, processors))
        known = [other for other in REGISTRIES[phase] if REGISTRIES[phase][other] is not _MAP_RESET]
        if name in known:
            return REGISTRIES[phase][name]
        if name == _MAP_RESET.name:
            raise FieldError(node, f"{name} draws what stands under `map`; write that key instead")
        places = [other for other, registry in REGISTRIES.items() if name in registry]
        fault = f"{name!r} is a {places[0].label}" if places else f"no {phase.label} {name!r}"
        raise FieldError(node, fault + self._suggest(name, known))

    def _check_domain(self, node: YamlNode, found: System) -> System:
        for domain in DOMAINS.values():
            if found.function.__module__ == domain.rules:
                known = suggestion(found.name, REGISTRIES[found.phase])
                raise FieldError(node, f"{found.title} is for {domain.title}{known}")
        return found

    def _suggest(self, name: str, known: Iterable[str]) -> str:
        """The end of a message about a name that is not built in."""
        beside = rule_modules.find_declaration(self._folder, name)
        return f"; a file beside declares it, write {beside}" if beside else suggestion(name, known)

    def _resolve_own_system(self, node: YamlNode, phase: Phase, processors: bool = False) -> System:
        """The system of a reference."""
        thing = self._get_object(node)
        if isinstance(thing, type) and issubclass(thing, esper.Processor):
            if not processors or phase not in _PROCESSOR_PHASES:
                lists = ", ".join(each.name for each in _PROCESSOR_PHASES)
                raise FieldError(
                    node,
                    f"{thing.__name__} is an esper.Processor; these stand by themselves and in "
                    f"{lists} only; write a function and decorate it with @system({phase.name})",
                )
            if not self._is_allowed(thing):
                raise self._foreign_error(node, thing)
            try:
                return rule_modules.make_processor_system(thing, phase)
            except TypeError as error:
                raise FieldError(node, str(error)) from None
        system = system_of(thing)
        if system is None:
            return self._adapt_state_function(node, thing, phase)
        if system.phase is not phase:
            found = system.phase.name
            raise FieldError(node, f"{node.text} is a {found} system, but listed for {phase.name}")
        return system

    def _adapt_state_function(self, node: YamlNode, thing: Any, phase: Phase) -> System:
        if callable(thing) and not self._is_allowed(thing) and not _is_registered(thing, phase):
            raise self._foreign_error(node, thing)
        try:
            name = node.text.rpartition(":")[2]
            made: System = resolve_name(_STATE_FUNCTION_ADAPTER)(thing, phase, name)
        except TypeError as error:
            raise FieldError(
                node,
                f"{node.text} is no system; decorate it with @system({phase.name}), or take "
                f"states: {error}",
            ) from None
        return made

    def resolve_view_phase(self, node: YamlNode) -> Phase:
        """Whether a name stands for a visibility function or for an observation function."""
        if ":" not in text(node):
            both = OBSERVATION, VISIBILITY
            known = [phase for phase in both if node.text in REGISTRIES[phase]]
            return known[-1] if known else VISIBILITY
        thing = self._get_object(node)
        system = system_of(thing)
        if system is not None:
            return system.phase if system.phase is OBSERVATION else VISIBILITY
        try:
            given = inspect.signature(thing).parameters.values()
        except (TypeError, ValueError):
            return VISIBILITY
        required = [p for p in given if p.kind is not p.KEYWORD_ONLY and p.default is p.empty]
        return OBSERVATION if len(required) == 1 else VISIBILITY

    @property
    def types(self) -> ObjectTypes:
        """The types that it may name."""
        made_of = len(self.modules), self.declared_types
        if self._types is None or self._types[0] != made_of:
            self._types = made_of, self._build_types()
        return self._types[1]

    def _build_types(self) -> ObjectTypes:
        homes = self._list_type_modules()
        # one of another scenario's file or domain would be known only if that was loaded before
        told = (
            kind for kind in OBJECT_TYPES if kind.module in homes or _is_foreign_module(kind.module)
        )
        declared = (kind for package in self._list_packages() for kind in OBJECT_TYPES.of(package))
        return ObjectTypes(
            (*self.declared_types, *(k for k in declared if k.module in homes), *told)
        )

    def _list_packages(self) -> dict[str, None]:
        return dict.fromkeys(package_of(module.__name__) for module in self.modules.values())

    def is_type_taken(self, name: str) -> bool:
        """Whether the engine, or a module of the scenario, has a type of this name. What else a
        process has declared is in nobody's way."""
        return name in self.types and self.types[name].module in self._list_type_modules()

    def list_grid_types(self) -> tuple[int, ...]:
        """Types that stand on grids: the built-in ones and those of the scenario's modules."""
        homes = self._list_type_modules()
        return tuple(t.index for t in self.types if t.in_grid and t.module in homes)

    def _list_type_modules(self) -> set[str]:
        return {
            *(kind.module for kind in built_in_types()),
            *(module.__name__ for module in self.modules.values()),
            *(kind.module for kind in self.declared_types),
        }

    def resolve_component(self, node: YamlNode) -> type:
        """A component: a built-in one, or `./rules.py:Worth`."""
        if ":" in text(node):
            found = self.resolve_object(node)
            if not is_component(found):
                raise FieldError(
                    node, f"{node.text} is no component; decorate its class with @component"
                )
            return found  # type: ignore[no-any-return]  # is_component is no TypeGuard
        known = {cls.__name__: cls for cls in built_in_components()}
        if node.text not in known:
            hint = self._suggest(node.text, known)
            raise FieldError(node, f"no component {node.text!r}{hint}")
        return known[node.text]

    def resolve_object_type(self, node: YamlNode) -> int:
        """The index of a type; `./things.py:Coin` imports that file first."""
        where, name = self._resolve_module(node) if ":" in text(node) else ("", node.text)
        types = self.types
        if where:
            home = self.modules[where].__name__
            types = ObjectTypes((*(kind for kind in types if kind.module == home), *types))
        if name not in types:
            for module in (*self._failed, *self._refused):  # which may declare it
                raise self._import_error(node, module)
            known = (kind.name for kind in types if kind.in_grid)
            raise FieldError(node, f"no object type {name!r}{self._suggest(name, known)}")
        return types[name].index


def _is_foreign_module(module: str) -> bool:
    """Whether a module is neither a scenario's nor the engine's."""
    return not (is_rule_module(module) or is_engine_module(module))


def _get_module_name(thing: Any) -> str:
    """The name of the module that defines a function or class, or an object's class."""
    return str(getattr(unwrapped(thing), "__module__", None) or "")


def _is_registered(thing: Any, phase: Phase) -> bool:
    registry = REGISTRIES[phase]
    return any(registry[name].objects is thing for name in registry)
