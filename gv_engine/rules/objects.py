"""Object types: a name, an index and the components that an object of the type is made of.

Components say what an object does; its type is what observations and state arrays show. Built-in
types are declared in `components.objects`; authors add theirs with `object_type`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import (
    Int8,
    column_name,
    component,
    field_values,
    fields_of,
    is_component,
    to_snake_case,
)
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import ORIENTATIONS, NamedNumber, to_relative

RULE_MODULE_PREFIX = "gv_engine.scenario.documents.rule_modules."
"""Prefix of the names of modules loaded from Python files beside a scenario."""

INLINE_TYPES_PREFIX = f"{RULE_MODULE_PREFIX}objects "
"""Prefix of the module names given to object types that scenario files declare in YAML."""

SEPARATOR = "|"
"""Separator in the name of a rule package: after its folder, and before its type index offset."""

_MAX_GLYPH = 8
_OWN = {"components", "gv_engine", "systems"}


def is_rule_module(name: str) -> bool:
    """Return True for the name of a module loaded from a rule file."""
    return name.startswith(RULE_MODULE_PREFIX)


def is_engine_module(name: str) -> bool:
    """Return True for the name of a module that is part of the engine."""
    return name.partition(".")[0] in _OWN and not is_rule_module(name)


def is_rule_package(name: str) -> bool:
    """Return True for the name of a module of rules or components that come with the engine or a
    plugin."""
    return is_engine_module(name) and not {"systems", "components"}.isdisjoint(name.split("."))


def package_of(name: str) -> str:
    """Return the package name in the module name of a rule file (there is one package per folder);
    "" for any other module."""
    if not is_rule_module(name):
        return ""
    return RULE_MODULE_PREFIX + name.removeprefix(RULE_MODULE_PREFIX).partition(".")[0]


def type_index_offset(package: str) -> int:
    """Return the number of type indices that a package of rule files must skip, because other
    packages use them."""
    return int(package.partition(SEPARATOR)[2].partition(SEPARATOR)[2] or 0)


class Color(NamedNumber):
    """Colours by index; append new ones at the end."""

    NONE = 0
    RED = 1
    GREEN = 2
    BLUE = 3
    YELLOW = 4
    PURPLE = 5
    GREY = 6
    ORANGE = 7
    CYAN = 8


COLORS = tuple(color.name for color in Color)
USUAL_COLORS = tuple(range(Color.YELLOW + 1))
"""Default colours of a scenario, as the specification lists them."""

ABOVE, GROUND, TERRAIN = LAYERS = "above", "ground", "terrain"
"""Layers of a cell. A cell holds at most one object above, and beneath it one on the ground, or
terrain. All cells with terrain of one type share one entity, so that large grids need few
entities. A scenario can name more layers, which lie between these two."""

MOST_TYPES = 128
"""Maximum number of object types of a scenario: indices are bytes."""

Prefab = tuple[tuple[type[Any], tuple[float, ...]], ...]
"""Components with their field values: (class, values) pairs."""


@component
class Condition:
    """Component with the state of an object, as an index. Types such as Door have a state field of
    their own instead."""

    value: Int8 = 0


@dataclass(frozen=True)
class ObjectType:
    """Type of grid object.

    Attributes:
        name: name in scenario files and messages.
        index: number in channel 0 of grids.
        components: components of a new object, with their values.
        colored: True if objects have a colour (channel 2), NONE by default.
        states: names of the states in order (channel 1); () for one unnamed state.
        state: (column, field) that holds the state, None if there is only one state.
        sprite: base name of the sprite file; with states, `<sprite>_<state>` in lower case.
        in_grid: False for types that never occur on the grid (NoneGridObject, Hidden).
        module: name of the module that declares the type.
        state_components: components that an object has in each state only; () if no state changes
            components.
        leaves: index of the type that replaces a used-up object in its cell, None for none.
        layer: layer of the cell that the objects occupy: one of `LAYERS`, or one that the scenario
            names.
        glyphs: word of each state on a plain tile, in place of a sprite; () without words.
    """

    name: str
    index: int
    components: Prefab
    colored: bool
    states: tuple[str, ...]
    state: tuple[str, str] | None
    sprite: str
    in_grid: bool
    module: str
    state_components: tuple[Prefab, ...] = ()
    leaves: int | None = None
    layer: str = ABOVE
    glyphs: tuple[str, ...] = ()

    @property
    def num_states(self) -> int:
        return max(1, len(self.states))

    @property
    def is_oriented(self) -> bool:
        """True if the states of the objects are the four orientations."""
        return self.states == ORIENTATIONS

    @property
    def component_classes(self) -> dict[type[Any], None]:
        """Classes of all components that an object may have by its type and states."""
        return dict.fromkeys([*dict(self.components), *self.component_changes(0)])

    def sprite_of(self, state: int) -> str:
        """Return the name of the sprite file for a state, without folder and suffix."""
        return f"{self.sprite}_{self.states[state].lower()}" if self.states else self.sprite

    def glyph_of(self, state: int) -> str:
        """Return the word that is shown on a plain tile for a state, "" for none."""
        return self.glyphs[state] if state < len(self.glyphs) else ""

    def component_changes(self, state: int) -> dict[type[Any], tuple[float, ...] | None]:
        """Return the components that objects of this type have only in some states, by class: the
        field values of those that they have in `state`, and None for all others."""
        if not 0 <= state < len(self.state_components):
            return {}
        leaving = dict.fromkeys(cls for parts in self.state_components for cls, _ in parts)
        return leaving | dict(self.state_components[state])


class ObjectTypes:
    """Read-only collection of object types, found by index or by name.

    Args:
        types: of two types with the same index or name, the first wins.
    """

    def __init__(self, types: Iterable[ObjectType] = ()) -> None:
        """Collect `types`. If several have the same index or name, the first one counts."""
        self._by_index: dict[int, ObjectType] = {}
        self._by_name: dict[str, ObjectType] = {}
        for kind in types:
            if kind.index not in self._by_index:
                self._by_index[kind.index] = kind
                self._by_name.setdefault(kind.name, kind)

    def __iter__(self) -> Iterator[ObjectType]:
        """Iterate over the types in order of index."""
        return (self._by_index[index] for index in sorted(self._by_index))

    def __len__(self) -> int:
        return len(self._by_index)

    def __contains__(self, key: object) -> bool:
        """Return True if there is a type of this index or name."""
        return key in self._by_index or key in self._by_name

    def turn_to_view(self, grid: NDArray[np.uint8], facing: int) -> None:
        """Make the orientations of objects in `grid`, an (h, w, 3) array of (type, state, colour),
        relative to an observer that faces `facing`, in place."""
        if kinds := [kind.index for kind in self if kind.is_oriented]:
            states: Any = grid[..., 1]
            np.copyto(states, to_relative(states, facing), where=np.isin(grid[..., 0], kinds))

    def __getitem__(self, key: int | str) -> ObjectType:
        """Return the object type whose index or name is `key`.

        Raises:
            KeyError: no such type; the message suggests the most similar name.
        """
        kind = self._by_name.get(key) if isinstance(key, str) else self._by_index.get(key)
        if kind is not None:
            return kind
        names = [each.name for each in self]
        raise KeyError(f"no object type {key!r}{describe_allowed(key, names)}")


class DeclaredTypes(ObjectTypes):
    """All object types that Python code has declared, those of the engine included.

    Types of rule files are kept apart, by package: each package numbers its types from the first
    index after the engine's types on, so that indices are the same in every process.

    Attributes:
        common: module whose types every scenario may name, so that their names are reserved.
    """

    common = ""

    def __init__(self) -> None:
        super().__init__()
        self._packages: dict[str, dict[tuple[str, str], ObjectType]] = {}

    @property
    def built_in(self) -> tuple[ObjectType, ...]:
        """The engine's own types, which come first."""
        return tuple(kind for kind in self if is_engine_module(kind.module))

    def of_package(self, package: str) -> tuple[ObjectType, ...]:
        """Return the types of a package of rule files, in order of index."""
        return tuple(self._packages.get(package, {}).values())

    def iterate_all(self) -> Iterator[ObjectType]:
        """Yield all declared object types: the built-in ones; then those of all Python modules, the
        latest first (the built-in ones again); then those of rule files, the latest package first.
        `ObjectTypes` keeps the first of equal names."""
        yield from self.built_in
        yield from reversed(list(self))
        for package, types in reversed(self._packages.items()):
            if package:
                yield from types.values()

    def remove_package(self, package: str) -> None:
        """Remove the types of a package of rule files, so that numbering starts over."""
        self._packages.pop(package, None)

    def add(self, new: ObjectType) -> None:
        """Add a new object type. It replaces a type of the same name that the same module declared
        before."""
        package = package_of(new.module)
        self._packages.setdefault(package, {})[new.module, new.name] = new
        if not package:
            self._by_index[new.index] = self._by_name[new.name] = new

    @contextmanager
    def rollback_on_error(self) -> Iterator[None]:
        """Context manager: if the `with` block raises an error, remove the object types that were
        declared in it."""
        before = self._by_index.copy(), self._by_name.copy()
        packages = {package: types.copy() for package, types in self._packages.items()}
        try:
            yield
        except BaseException:
            self._by_index, self._by_name = before
            self._packages = packages
            raise

    def choose_index(self, name: str, module: str) -> int:
        """Return the index for a type that `module` declares: the same as before if it had one,
        else the lowest free one.

        Raises:
            ValueError: the name is taken, or there are too many types.
        """
        package = package_of(module)
        declared = self._packages.get(package, {})
        if (module, name) in declared:
            return declared[module, name].index
        other = self._by_name.get(name)
        # modules that no scenario uses together may declare the same name
        if other and self.common in (other.module, module):
            raise ValueError(
                f"object type {name!r} is already declared in {other.module}; choose another name"
            )
        first = len(self.built_in) + type_index_offset(package) if package else 0
        taken = {kind.index for kind in declared.values()}
        return check_type_index(next(index for index in count(first) if index not in taken), name)


def is_layer_name(name: object) -> bool:
    """Return True for a name that a layer of cells can have: lower-case letters, digits and _."""
    return isinstance(name, str) and name.isidentifier() and name.isascii() and name.islower()


def check_type_index(index: int, name: str) -> int:
    """Return `index` unchanged if it is an allowed type index; `name` is the type's name, for the
    error message.

    Raises:
        ValueError: the index is not below `MOST_TYPES`.
    """
    if index >= MOST_TYPES:
        raise ValueError(f"object type {name}: there are {MOST_TYPES} types already")
    return index


OBJECT_TYPES = DeclaredTypes()


def object_type(
    name: str,
    *components: object,
    states: tuple[str, ...] | Mapping[str, Iterable[object]] = (),
    state: tuple[type[Any], str] | None = None,
    sprite: str | None = None,
    in_grid: bool = True,
    module: str = "",
    layer: str = ABOVE,
    glyph: str | Mapping[str, str] = "",
) -> int:
    """Declare a type of grid object with these components. Return its type index, which authors
    store in a constant such as `ROCK`.

    Args:
        name: name in scenario files, in CamelCase.
        components: instances or classes of components; a new object gets copies. An object with
            the component `Color` has a colour.
        states: names of its states, for scenario files, messages and sprites; a new object is in
            the first state. A mapping lists for each state the components that objects have in this
            state only: `{"CLOSED": [Solid], "OPEN": []}`.
        state: (component class, field) that holds the state's index, required with `states`; for a
            mapping, the default is `(Condition, "value")`.
        sprite: base name of the sprite file; the name in snake_case if None.
        in_grid: False only for the types of "nothing" and "not seen".
        module: name of the declaring module; the caller's if left out.
        layer: "ground" for objects beneath others, such as plates, ice and targets; "terrain" for
            ground types without states, such as grass and water, whose cells all share one entity;
            or a name that the scenario file lists under `layers`.
        glyph: word of 1 to 8 characters on a plain tile, in place of a sprite, such as "PUSH"; or
            a word by name of the state.

    Raises:
        TypeError: one of `components` is no component, or `state` names no field.
        ValueError: the name is taken by another module, there is no such layer, states and state
            do not fit, or a word is too long or of no state.
    """
    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: expected a text in CamelCase, such as 'Lamp'")
    module = module or sys._getframe(1).f_globals["__name__"]
    options = {"states": states, "state": state, "sprite": sprite, "in_grid": in_grid}
    options |= {"layer": layer, "glyph": glyph}
    return declare_type(name, *components, module=module, **options).index


def declare_type(name: str, *components: object, module: str, **rest: Any) -> ObjectType:
    """Declare a type of grid object as `object_type` does, and return the `ObjectType` instead of
    its type index."""
    index = OBJECT_TYPES.choose_index(name, module)
    new_type = build_type(name, *components, module=module, index=index, **rest)
    OBJECT_TYPES.add(new_type)
    return new_type


def build_type(
    name: str,
    *components: object,
    states: tuple[str, ...] | Mapping[str, Iterable[object]] = (),
    state: tuple[type[Any], str] | None = None,
    sprite: str | None = None,
    in_grid: bool = True,
    module: str,
    layer: str = ABOVE,
    glyph: str | Mapping[str, str] = "",
    index: int,
) -> ObjectType:
    """Make the `ObjectType` for these settings without declaring it; `object_type` explains them.
    `index` becomes its type index."""
    if not is_layer_name(layer):
        raise ValueError(f"object type {name}: no layer {layer!r}{describe_allowed(layer, LAYERS)}")
    state_components: tuple[Prefab, ...] = ()
    if states and isinstance(states, Mapping):
        state_components = tuple(_read_components(name, brought) for brought in states.values())
        if state is None:
            components, state = (*components, Condition), (Condition, "value")
    if states and layer == TERRAIN:
        raise ValueError(f"object type {name}: terrain has no states; declare a type for each")
    states = tuple(states)
    parts = _read_components(name, components)
    gained = {cls for brought in state_components for cls, _ in brought}
    for cls in gained & {cls for cls, _ in parts}:
        raise ValueError(
            f"object type {name}: {cls.__name__} is always there, so no state brings it"
        )
    if bool(states) != (state is not None):
        raise ValueError(f"object type {name}: give both states and state=(Component, 'field')")
    if state is not None:
        owner, field = state
        if owner not in dict(parts) or field not in [f.name for f in fields_of(owner)]:
            raise TypeError(
                f"object type {name}: state {owner.__name__}.{field} is not among its parts"
            )
        if next(f.default for f in fields_of(owner) if f.name == field) != 0:
            raise TypeError(f"object type {name}: {owner.__name__}.{field} must default to state 0")
    all_parts = (*parts, *(state_components[0] if state_components else ()))
    colored = any(column_name(cls) == "color" for cls, _ in parts)
    state_column = None if state is None else (column_name(state[0]), state[1])
    rest = sprite or to_snake_case(name), in_grid, module, state_components
    glyphs = _read_glyphs(name, states, glyph)
    return ObjectType(
        name, index, all_parts, colored, states, state_column, *rest, layer=layer, glyphs=glyphs
    )


def _read_glyphs(
    name: str, states: tuple[str, ...], glyph: str | Mapping[str, str]
) -> tuple[str, ...]:
    """Return the glyph of each state, a short word that stands for it in text views; () if `glyph`
    is empty. `name` is the object type's name, for error messages."""
    words = dict.fromkeys(states or ("",), glyph) if isinstance(glyph, str) else dict(glyph)
    for state, word in words.items():
        if states and state not in states:
            hint = describe_allowed(state, states)
            raise ValueError(f"object type {name}: a glyph for no state, {state!r}{hint}")
        if len(word) > _MAX_GLYPH or not word.isprintable() or (glyph and not word.strip()):
            raise ValueError(
                f"object type {name}: found the glyph {word!r}, expected 1 to {_MAX_GLYPH} "
                f"characters, such as PUSH"
            )
    return tuple(words.get(state, "") for state in states or ("",)) if glyph else ()


def _read_components(name: str, components: Iterable[object]) -> Prefab:
    """Return (class, field values) for each of `components`: an instance such as `Door(OPEN)`, or a
    class for the defaults. `name` is the object type's name, for error messages."""
    parts = []
    for part in components:
        instance: Any = part() if isinstance(part, type) else part
        if not is_component(type(instance)):
            raise TypeError(f"object type {name}: {part!r} is no component")
        parts.append((type(instance), field_values(instance)))
    return tuple(parts)
