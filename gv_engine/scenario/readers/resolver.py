"""Resolver of the names in a scenario: systems, object types, components and Python functions.

A bare name is built in, `./rules.py:name` is looked up in a file of the scenario's folder, and
`package.module:name` in a module that may be named. Nothing is imported that `Trust` refuses. Only
objects that are marked as systems, registered, or defined by the scenario may be called.

The engine's types come first, then the types of the scenario's rule files, folder by folder in the
order in which the scenario names them, then the types that it declares in YAML. The members of a
mixture share one numbering.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import esper

import systems  # noqa: F401  # fills the registries
from components.objects import OPTIONAL, built_in_components, built_in_types
from gv_engine.late_imports import load_plugin_object
from gv_engine.rules import geometry, objects
from gv_engine.rules.component import is_component
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import Action
from gv_engine.rules.objects import (
    ABOVE,
    GROUND,
    OBJECT_TYPES,
    ObjectType,
    ObjectTypes,
    is_engine_module,
)
from gv_engine.rules.system import REGISTRIES, Phase, System, get_system, system_of, unwrap_partials
from gv_engine.scenario.documents import rule_files
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.documents.trust import is_file_reference, is_module_name
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.levels.packs import no_file_message
from gv_engine.scenario.readers.actions import read_action
from gv_engine.scenario.storage.files import read_bytes
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax.fields import (
    CodeError,
    ErrorCollector,
    FieldError,
    UntrustedCodeError,
    YamlNode,
)
from systems.absence import note_starts
from systems.reset import from_map

MAX_MODULES = 100  # that a scenario may name
_MAX_DATA_BYTES = 2**24  # maximum size of a file that a rule reads
_KEYS = {
    Phase.RESET: "reset_function",
    Phase.TRANSITION: "transition_functions",
    Phase.REWARD: "reward_functions",
    Phase.TERMINATING: "terminating_function",
    Phase.SUCCESS: "success_function",
    Phase.OBSERVATION: "observation_function",
}
"""Key of a scenario that lists the systems of a phase."""
_NO_REFERENCES = ("name", "description", "map", "maps")
"""Keys whose values are not searched for references."""


@dataclass(frozen=True)
class TypeIds:
    """Type indices of one scenario, or of several that are played together.

    Attributes:
        packages: package of the rule modules, by folder of rule files.
        text_types: index of each type that is declared in YAML, by (module, name).
    """

    packages: Mapping[Path, str] = field(default_factory=dict)
    text_types: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def assign(cls, documents: Sequence[Document]) -> TypeIds:
        """Assign type indices to the object types of scenarios that are played together.
        `documents` are their parsed files, whose Python modules are imported."""
        files_by_folder, modules = _find_rule_files(documents)
        names = set().union(*map(_list_possible_names, documents))
        first = len(OBJECT_TYPES.built_in)
        offset, previous_offset = 0, -1
        while offset != previous_offset:  # imports of rule files may declare types too
            previous_offset = offset
            packages, end = _import_packages(files_by_folder, offset)
            # indices of other types that the scenarios may name must not lie between
            others = [kind.index for kind in OBJECT_TYPES if _may_be_named(kind, modules, names)]
            if any(first + offset <= index < first + end for index in others):
                offset = max(others) + 1 - first
        yaml_types = dict.fromkeys(chain.from_iterable(map(_iter_yaml_types, documents)))
        free = max([first + end, *(index + 1 for index in others)])
        return cls(packages, {name: free + k for k, name in enumerate(yaml_types)})


def _find_rule_files(
    documents: Sequence[Document],
) -> tuple[dict[Path, dict[Path, None]], list[str]]:
    """Return the Python files that scenarios refer to, grouped by folder, and the names of other
    modules to import. Untrusted and missing ones are left out. `documents` are the parsed scenario
    files."""
    files: dict[Path, dict[Path, None]] = {}
    modules: list[str] = []
    for document in documents:
        nodes = list_referring_nodes(document.root)
        references = dict(chain.from_iterable(map(iter_references, nodes)))
        for source in [*references][:MAX_MODULES]:
            if document.trust.explain_refusal(document.folder, source):
                continue
            with suppress(rule_files.RuleFileError):  # reported by the resolver
                if is_file_reference(source):
                    file = rule_files.resolve_rule_file(document.folder / source)
                    files.setdefault(file.parent, {})[file] = None
                else:
                    modules.append(rule_files.import_module(source).__name__)
    return files, modules


def _import_packages(
    files_by_folder: Mapping[Path, Iterable[Path]], offset: int
) -> tuple[dict[Path, str], int]:
    """Import Python files, grouped by folder, as one package per folder. Return the packages' names
    by folder, and the next free type index. Object types are numbered from `offset` on."""
    packages, end = {}, offset
    for folder, files in files_by_folder.items():
        packages[folder] = rule_files.make_package_name(files, end)
        rule_files.forget_changed_package(packages[folder])
        with suppress(ImportError):
            import_module(packages[folder])
        end += len(OBJECT_TYPES.of_package(packages[folder]))
    return packages, end


def iter_references(node: YamlNode) -> Iterator[tuple[str, str]]:
    """Yield (module, reference) for each text below a YAML node that looks like a reference to
    Python code: `rules.py:name` gives ("rules.py", "rules.py:name")."""
    for reference in _iter_texts(node):
        source, colon, name = reference.rpartition(":")
        if colon and name.isidentifier() and (is_file_reference(source) or is_module_name(source)):
            yield source, reference


def make_yaml_module_name(node: YamlNode, folder: Path) -> str:
    """Return a module name for the object types that a scenario file declares in YAML, in `node`.
    The name contains a hash of the declarations, so that scenarios with equal declarations have the
    same types. No module is created.

    Args:
        node: the declarations.
        folder: folder that their references to Python files are relative to; part of the hash if
            there are any.
    """
    content = json.dumps(node.plain, default=str)
    home = str(folder.resolve()) if ".py:" in content else ""
    return objects.INLINE_TYPES_PREFIX + rule_files.hash_text(f"{home} {content}".encode())[:16]


def _iter_yaml_types(document: Document) -> Iterator[tuple[str, str]]:
    """Yield (module name, type name) for each object type that a scenario file declares under
    `objects`."""
    entries = document.root.value
    node = entries.get("objects") if isinstance(entries, dict) else None
    if node is not None and isinstance(node.value, dict):
        module = make_yaml_module_name(node, document.folder)
        yield from ((module, name) for name in node.value)


def _may_be_named(kind: ObjectType, modules: Sequence[str], names: set[str]) -> bool:
    return not is_engine_module(kind.module) and (kind.module in modules or kind.name in names)


def _list_possible_names(document: Document) -> set[str]:
    nodes = list_referring_nodes(document.root)
    texts = {found for node in nodes for found in _iter_texts(node)}
    return texts - {name for _, name in _iter_yaml_types(document)}


def list_referring_nodes(root: YamlNode) -> list[YamlNode]:
    """Return the values of those top-level keys of the scenario file `root` that may contain
    references to Python code."""
    entries = root.value if isinstance(root.value, dict) else {}
    return [node for key, node in entries.items() if key not in _NO_REFERENCES]


def _iter_texts(node: YamlNode) -> Iterator[str]:
    """Yield all keys and scalar values below a YAML node as text."""
    if isinstance(node.value, dict):
        yield from node.value
        for child in node.value.values():
            yield from _iter_texts(child)
    elif isinstance(node.value, list):
        for child in node.value:
            yield from _iter_texts(child)
    else:
        yield node.text


_PROCESSOR_PHASES = (Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING)
"""Phases in which an esper.Processor can be a system."""
DISTANCES: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (geometry.manhattan, geometry.euclidean)},
    "math:hypot": math.hypot,
}
"""Functions of (dy, dx), by name."""
REDUCTIONS: dict[str, Callable[..., Any]] = {
    **{f"builtins:{f.__name__}": f for f in (all, any, max, min)},
    "builtins:sum": geometry.add_up,
}
"""Functions of several numbers, by name."""
_MAP_RESET = get_system(from_map)
"""The system that resets a world to a map; scenarios use the key `map` instead."""
ADDED_SYSTEMS = _MAP_RESET, get_system(note_starts)
"""Systems that the reader adds and scenario files cannot name."""


class NameResolver:
    """Resolver of the names in one scenario.

    Args:
        document: the scenario; its trust decides which files may be loaded.
        numbering: type indices of the scenario, and of the scenarios that are played together with
            it.
        problems: collector of the scenario's errors, for readers that resolve names.

    Attributes:
        folder: folder that references to rule files are relative to.
        modules: the imported modules, by the text before the colon of references.
        data_files: files that rules read, by path.
        declared_types: object types that the scenario declares in YAML.
        declared_components: components that it declares in YAML, by name.
        own_actions: names of the scenario's actions that are not built in.
        layers: names of the layers of a cell, from the ground up.
    """

    def __init__(self, document: Document, numbering: TypeIds, problems: ErrorCollector) -> None:
        """Make a resolver for the names in a parsed scenario file. Modules are imported later.
        `numbering` assigns indices to object types, and errors go to `problems`."""
        self.numbering = numbering
        self.problems = problems
        self.modules: dict[str, ModuleType] = {}
        self.data_files: dict[Path, rule_files.SourceFile] = {}
        self.declared_types: tuple[ObjectType, ...] = ()
        self.declared_components: dict[str, type] = {}
        self.own_actions: tuple[str, ...] = ()
        self.layers: tuple[str, ...] = (GROUND, ABOVE)
        self.folder = document.folder
        self._trust = document.trust
        # by the text before the colon of references: references, and messages, "" once reported
        self._references: dict[str, dict[str, None]] = {}
        self._failed: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._types: tuple[Any, ObjectTypes] | None = None  # with the key of this cache

    def import_references(self, node: YamlNode) -> None:
        """Import the Python modules of all references in the YAML tree `node`, so that the object
        types that they declare are known."""
        for source, reference in iter_references(node):
            if reference not in DISTANCES and reference not in REDUCTIONS:
                self._import_module(source, reference)

    def _import_module(self, source: str, reference: str) -> None:
        """Import a Python file or module unless that was tried before. A failure or a lack of trust
        is recorded and not raised. `reference` is the text that names it."""
        self._references.setdefault(source, {})[reference] = None
        if source in self.modules or source in self._failed or source in self._refused:
            return
        if refusal := self._trust.explain_refusal(self.folder, source):
            self._refused[source] = refusal
        elif len(self.modules) + len(self._failed) >= MAX_MODULES:
            self._failed[source] = (
                f"{source} is one module too many, expected at most {MAX_MODULES}"
            )
        else:
            try:
                self.modules[source] = self._load_module(source)
            except rule_files.RuleFileError as error:
                self._failed[source] = f"{source} cannot be loaded: {error}"

    def _load_module(self, source: str) -> ModuleType:
        """Import the file or module `source`, and return the module."""
        if not is_file_reference(source):
            return rule_files.import_module(source)
        file = self.folder / source
        package = self.numbering.packages.get(file.resolve().parent, "")
        return rule_files.load_rule_file(file, package)

    def _resolve_module(self, node: YamlNode) -> tuple[str, str]:
        """Import the module of a reference `module:name` in a YAML node. Return the module's name
        and the object's.

        Raises:
            FieldError: the reference is malformed or cannot be imported; with an empty message if
                that has been reported before.
        """
        source, _, name = fields.text(node).rpartition(":")
        if not name.isidentifier() or not (is_file_reference(source) or is_module_name(source)):
            raise node.error(f"found {node.summary}, expected ./rules.py:name or module:name")
        self._import_module(source, node.text)
        if source not in self.modules:
            raise self._import_error(node, source)
        return source, name

    def _import_error(self, node: YamlNode, source: str) -> FieldError:
        """Return a FieldError for a module that cannot be imported or is not trusted. Its message
        is empty if the error was reported before. `node` is the YAML node of the reference."""
        if source in self._failed:
            message, self._failed[source] = self._failed[source], ""
            return CodeError(node, message)
        refusal = self._refused[source]
        if not refusal:
            return UntrustedCodeError(node, "")
        similar = [other for other, reason in self._refused.items() if reason == refusal]
        self._refused |= dict.fromkeys(similar, "")
        references = ", ".join(name for other in similar for name in self._references[other])
        return UntrustedCodeError(node, f"{references}: not loaded, {refusal}")

    def resolve_data_file(self, node: YamlNode) -> str:
        """Return the absolute path of the file that a YAML node names, which is relative to the
        scenario's folder. Raise FieldError if the file cannot be read, or the scenario may not name
        files."""
        name, home = fields.text(node), self.folder.resolve()
        file = ((Path(node.file).parent if node.file else home) / name).resolve()
        if not (self._trust.can_name_files(self.folder) or file.is_relative_to(home)):
            raise node.error(no_file_message(name))
        with node.report(OSError):
            data = read_bytes(file, _MAX_DATA_BYTES, "data files")
        self.data_files[file] = rule_files.SourceFile(file, rule_files.hash_text(data), False)
        return str(file)

    def resolve_object(self, node: YamlNode) -> Any:
        """Return the Python object to which a YAML node refers, such as `./rules.py:Worth`. Raise
        FieldError if it is a callable from a module that the scenario may not use."""
        thing = self._get_object(node)
        if callable(thing) and not self._is_allowed(thing):
            raise self._foreign_error(node, thing)
        return thing

    def _is_allowed(self, definition: Any) -> bool:
        """Return True if a Python object is defined in the scenario's folder, or in a module that
        the scenario may use."""
        module = _get_module_name(definition)
        if objects.is_rule_module(module):
            folders = self.folder.resolve(), *self._trust.base_folders
            return any(map(rule_files.get_rule_folder(module).is_relative_to, folders))
        return bool(module) and not self._trust.explain_refusal(self.folder, module)

    def _foreign_error(self, node: YamlNode, definition: Any) -> FieldError:
        """Return a FieldError for a callable that is defined in a module that the scenario may not
        use. `node` is the YAML node of the reference."""
        module = _get_module_name(definition) or "elsewhere"
        return UntrustedCodeError(
            node,
            f"{node.text} comes from {module}; name something that is a system, is registered, or "
            f"is defined in the scenario's own folder",
        )

    def _get_object(self, node: YamlNode) -> Any:
        """Return the Python object to which a YAML node refers, without checking where it is
        defined."""
        source, name = self._resolve_module(node)
        module = self.modules[source]
        if not hasattr(module, name):
            hint = describe_allowed(name, rule_files.list_defined_names(module), "it defines")
            raise node.error(f"{source} has no {name!r}{hint}")
        return getattr(module, name)

    def resolve_function(self, node: YamlNode, *example: Any) -> Callable[..., Any]:
        """Return the Python function to which a YAML node refers as `module:name`. Raise FieldError
        if it is not callable, or not with the arguments `example`."""
        function = self.resolve_object(node)
        if not callable(function):
            raise node.error(f"{node.text} is a {type(function).__name__}, expected a function")
        if example:
            try:
                inspect.signature(function).bind(*example)
            except (TypeError, ValueError) as error:
                count = "one argument" if len(example) == 1 else f"{len(example)} arguments"
                raise node.error(f"{node.text} does not take {count}: {error}") from None
        return function  # type: ignore[no-any-return]  # known to be callable

    def resolve_action(self, node: YamlNode) -> Action:
        """Return the action that `node` names."""
        return read_action(node, self.own_actions)

    def resolve_built_in_or_own(
        self, node: YamlNode, built_in: Mapping[str, Callable[..., Any]], label: str, *example: Any
    ) -> Callable[..., Any]:
        """Return the function that a YAML node names: one of `built_in`, or the author's own by a
        reference `module:name`, which must accept the arguments `example`. `label` is the kind of
        function in messages."""
        module, colon, _ = fields.text(node).rpartition(":")
        if node.text in built_in or not colon or module in ("builtins", "math"):
            return built_in[fields.choose(node, [*built_in], label)]
        return self.resolve_function(node, *example)

    def resolve_system(
        self, node: YamlNode, phase: Phase, *, allows_processors: bool = False
    ) -> System:
        """Return the system (rule function) of this phase that a YAML node names: a built-in one,
        or the author's own by a reference `module:name`.

        Args:
            node: the name or reference.
            phase: the phase that the system must have.
            allows_processors: True if an esper.Processor may be the system.
        """
        name = fields.text(node)
        if ":" in name:
            return self._check_domain(
                node, self._resolve_own_system(node, phase, allows_processors)
            )
        added = [system.name for system in ADDED_SYSTEMS]
        names = [other for other in REGISTRIES[phase] if other not in added]
        if name in names:
            return REGISTRIES[phase][name]
        if name == _MAP_RESET.name:
            raise node.error(f"{name} builds the level under `map`; write that key instead")
        actual_phase = next((other for other in REGISTRIES if name in REGISTRIES[other]), None)
        if actual_phase is None:
            raise node.error(f"no {phase.label} {name!r}{self._suggest(name, names)}")
        key = _KEYS.get(actual_phase)
        fix = f"; move it to {key}" if key else self._suggest(name, names)
        raise node.error(f"{name!r} is a {actual_phase.label}{fix}")

    def _check_domain(self, node: YamlNode, system: System) -> System:
        """Return `system` unchanged. Raise FieldError at the YAML node if it is not made for
        gridworlds."""
        for domain in DOMAINS.values():
            if system.function.__module__ == domain.rules:
                hint = describe_allowed(system.name, REGISTRIES[system.phase])
                raise node.error(f"{system.title} is for {domain.title}{hint}")
        return system

    def _suggest(self, name: str, names: Iterable[str]) -> str:
        if reference := rule_files.find_declaration(self.folder, name):
            return f"; a file beside the scenario declares it, write {reference}"
        return describe_allowed(name, names)

    def _resolve_own_system(self, node: YamlNode, phase: Phase, allows_processors: bool) -> System:
        """Return the author's own system of this phase, to which a YAML node refers as
        `module:name`. `allows_processors` permits an esper.Processor."""
        definition = self._get_object(node)
        if isinstance(definition, type) and issubclass(definition, esper.Processor):
            if not allows_processors or phase not in _PROCESSOR_PHASES:
                phases = ", ".join(other.name for other in _PROCESSOR_PHASES)
                raise node.error(
                    f"{definition.__name__} is an esper.Processor; these stand by themselves and "
                    f"in {phases} only; write a function and decorate it with @system({phase.name})"
                )
            if not self._is_allowed(definition):
                raise self._foreign_error(node, definition)
            with node.report(TypeError):
                return rule_files.make_processor_system(definition, phase)
        system = system_of(definition)
        if system is None:
            return self._adapt_state_function(node, definition, phase)
        if system.phase is not phase:
            own = system.phase.name
            raise node.error(f"{node.text} is a {own} system, but listed for {phase.name}")
        return system

    def _adapt_state_function(self, node: YamlNode, function: Any, phase: Phase) -> System:
        """Wrap a GridVerse function, which takes `State` objects, in a system of this phase, which
        takes a world. Errors are reported at the YAML node."""
        is_allowed = self._is_allowed(function) or _is_registered(function, phase)
        if callable(function) and not is_allowed:
            raise self._foreign_error(node, function)
        try:
            name = node.text.rpartition(":")[2]
            system: System = load_plugin_object("state_function_adapter")(function, phase, name)
        except TypeError as error:
            code = getattr(function, "__code__", None)
            if code and code.co_varnames[: code.co_argcount][:1] in (("state",), ("grid",)):
                raise node.error(f"{node.text}: {error}") from None
            kind = "a class, not a system" if isinstance(function, type) else "no system"
            raise node.error(
                f"{node.text} is {kind}; decorate a function with @system({phase.name})"
            ) from None
        return system

    def resolve_view_phase(self, node: YamlNode) -> Phase:
        """Return the phase of the function that a YAML node names: OBSERVATION if it fills the
        whole observation, VISIBILITY if it only selects visible cells."""
        if ":" not in fields.text(node):
            is_visibility = node.text in REGISTRIES[Phase.VISIBILITY]
            is_observation = node.text in REGISTRIES[Phase.OBSERVATION] and not is_visibility
            return Phase.OBSERVATION if is_observation else Phase.VISIBILITY
        function = self._get_object(node)
        if system := system_of(function):
            return system.phase if system.phase is Phase.OBSERVATION else Phase.VISIBILITY
        # a function of state objects makes observations from the state alone
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return Phase.VISIBILITY
        required = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.default is p.empty]
        return Phase.OBSERVATION if len(required) == 1 else Phase.VISIBILITY

    @property
    def types(self) -> ObjectTypes:
        """Table of the object types that the scenario may name. It is rebuilt when further modules
        have been imported."""
        cache_key = len(self.modules), self.declared_types
        if self._types is None or self._types[0] != cache_key:
            self._types = cache_key, self._build_types()
        return self._types[1]

    def _build_types(self) -> ObjectTypes:
        """Return a table of the object types that the scenario may name. Types of other scenarios
        in this process are left out."""
        modules = self._list_type_modules()
        # types of other scenarios are left out: they depend on what was loaded before
        shared = [t for t in OBJECT_TYPES if t.module in modules or _is_foreign_module(t.module)]
        packages = {objects.package_of(module.__name__): None for module in self.modules.values()}
        declared = chain.from_iterable(map(OBJECT_TYPES.of_package, packages))
        # the uppermost layer has a name of the scenario's own
        own = [
            replace(t, layer=ABOVE) if t.layer == self.layers[-1] else t
            for t in declared
            if t.module in modules
        ]
        return ObjectTypes((*self.declared_types, *own, *shared))

    def is_type_taken(self, name: str) -> bool:
        """Return True if the engine or a module of this scenario has an object type of this name;
        those of other scenarios do not count."""
        return name in self.types and self.types[name].module in self._list_type_modules()

    @property
    def between(self) -> tuple[str, ...]:
        """Names of the layers between the ground and the uppermost one, topmost first."""
        return self.layers[-2:0:-1]

    def list_grid_types(self) -> tuple[int, ...]:
        """Return the indices of the object types that can be on a grid: built-in ones and those of
        the scenario."""
        modules = self._list_type_modules()
        return tuple(t.index for t in self.types if t.in_grid and t.module in modules)

    def _list_type_modules(self) -> set[str]:
        """Return the names of the modules whose object types the scenario may use: built-in ones
        and its own."""
        return {
            *(kind.module for kind in built_in_types()),
            *(module.__name__ for module in self.modules.values()),
            *(kind.module for kind in self.declared_types),
        }

    def resolve_component(self, node: YamlNode) -> type:
        """Return the component class that a YAML node names: by its name if it is built in or
        declared in the file, or by a reference such as `./rules.py:Worth`."""
        if ":" in fields.text(node):
            component = self.resolve_object(node)
            if not is_component(component):
                raise node.error(
                    f"{node.text} is not a component; decorate its class with @component"
                )
            return component  # type: ignore[no-any-return]  # is_component is no TypeGuard
        known = built_in_component_names() | self.declared_components
        if node.text not in known:
            hint = f"{self._suggest(node.text, known)}; `components` declares new ones"
            raise node.error(f"no component {node.text!r}{hint}")
        return known[node.text]

    def resolve_object_type(self, node: YamlNode) -> int:
        """Return the index of the object type that a YAML node names. For a reference such as
        `./things.py:Coin`, that file is imported first."""
        types, name = self.types, fields.text(node)
        if ":" in name:
            source, name = self._resolve_module(node)
            module = self.modules[source].__name__
            # types of this module before others of the same name
            types = ObjectTypes((*(t for t in self.types if t.module == module), *self.types))
        if name not in types:
            for source in (*self._failed, *self._refused):  # it may declare the type
                raise self._import_error(node, source)
            names = (t.name for t in types if t.in_grid)
            raise node.error(f"no object type {name!r}{self._suggest(name, names)}")
        return types[name].index

    def resolve_state(self, node: YamlNode) -> int:
        """Return the index of the state that a YAML node names with its type, such as
        `Door.OPEN`."""
        owner, dot, state = fields.text(node).rpartition(".")
        if not (owner and dot and state):
            raise node.error(f"found {node.text!r}, expected a type and its state: Door.OPEN")
        kind = self.types[self.resolve_object_type(replace(node, value=owner, text=owner))]
        if state not in kind.states:
            hint = describe_allowed(state, kind.states) or "; it has none"
            raise node.error(f"{owner} has no state {state!r}{hint}")
        return kind.states.index(state)


def built_in_component_names() -> dict[str, type]:
    """Return the built-in components that scenario files may list, by name."""
    return {cls.__name__: cls for cls in (*built_in_components(), *OPTIONAL)}


def _is_foreign_module(module: str) -> bool:
    return not (objects.is_rule_module(module) or is_engine_module(module))


def _get_module_name(definition: Any) -> str:
    return str(getattr(unwrap_partials(definition), "__module__", None) or "")


def _is_registered(function: Any, phase: Phase) -> bool:
    return any(REGISTRIES[phase][name].objects is function for name in REGISTRIES[phase])
