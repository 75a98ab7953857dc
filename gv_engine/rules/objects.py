"""Object types: a name, an index and the components that an object of the type is made of.

Components say what an object does; its type is what observations and state arrays show. Built-in
types are declared in `components.objects`; authors add theirs with `object_type`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from difflib import get_close_matches
from enum import IntEnum
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import (
    Int8,
    column_name,
    component,
    fields_of,
    is_component,
    to_snake_case,
)
from gv_engine.rules.geometry import ORIENTATIONS, to_relative
from gv_engine.rules.modules import is_engine_module, package_of, type_index_offset


class Color(IntEnum):
    """The colours, by their index; new ones go to the end."""

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
"""Those of a scenario that does not list its own: the specification's."""

ABOVE, GROUND = LAYERS = "above", "ground"
"""Where objects of a type live. A cell holds one of each."""

MOST_TYPES = 128
"""Object types that a scenario may have: their indices are bytes."""

Parts = tuple[tuple[type[Any], tuple[float, ...]], ...]
"""(class, values) of components."""


@component
class Condition:
    """Index of the state of objects whose types name no component of their own for it."""

    value: Int8 = 0


@dataclass(frozen=True)
class ObjectType:
    """A kind of grid object.

    Attributes:
        name: as scenario files and messages write it.
        index: what grids show in channel 0.
        components: those that a new object gets.
        colored: whether objects have a colour (channel 2), NONE by default.
        states: names of the states in order (channel 1); one unnamed state if empty.
        state: (column, field) that holds the state, None if there is only one state.
        sprite: base name of the drawing; with states, `<sprite>_<state>` in lower case.
        in_grid: False for types that no state contains (NoneGridObject, Hidden).
        module: where it was declared.
        brings: components that an object has in each of the states; () if states change none.
        leaves: index of the type of what is in its cell when it is used up, None for nothing.
        layer: where its objects live, one of `LAYERS`.
    """

    name: str
    index: int
    components: Parts
    colored: bool
    states: tuple[str, ...]
    state: tuple[str, str] | None
    sprite: str
    in_grid: bool
    module: str
    state_components: tuple[Parts, ...] = ()
    leaves: int | None = None
    layer: str = ABOVE

    @property
    def num_states(self) -> int:
        return max(1, len(self.states))

    @property
    def is_oriented(self) -> bool:
        """Whether objects look some way: their states are the orientations."""
        return self.states == ORIENTATIONS

    @property
    def component_classes(self) -> dict[type[Any], None]:
        """The classes of all components that an object may have by its type and states."""
        return dict.fromkeys([*dict(self.components), *self.component_changes(0)])

    def sprite_of(self, state: int) -> str:
        """File name, without folder and suffix, of the drawing of an object in this state."""
        return f"{self.sprite}_{self.states[state].lower()}" if self.states else self.sprite

    def component_changes(self, state: int) -> dict[type[Any], tuple[float, ...] | None]:
        """Of the components that some state brings, the values of those that come with this one;
        None for those that leave."""
        if not 0 <= state < len(self.state_components):
            return {}
        leaving = dict.fromkeys(cls for parts in self.state_components for cls, _ in parts)
        return leaving | dict(self.state_components[state])


class ObjectTypes:
    """Object types by index and by name: of one scenario, say.

    Args:
        types: of two with one index, the first is there; of two with one name, it is meant by it.
    """

    def __init__(self, types: Iterable[ObjectType] = ()) -> None:
        self._by_index: dict[int, ObjectType] = {}
        self._by_name: dict[str, ObjectType] = {}
        for kind in types:
            if kind.index not in self._by_index:
                self._by_index[kind.index] = kind
                self._by_name.setdefault(kind.name, kind)

    def __iter__(self) -> Iterator[ObjectType]:
        """In order of their indices."""
        return (self._by_index[index] for index in sorted(self._by_index))

    def __len__(self) -> int:
        return len(self._by_index)

    def __contains__(self, key: object) -> bool:
        """Whether there is a type of this index or name."""
        return key in self._by_index or key in self._by_name

    def turn_to_view(self, grid: NDArray[np.uint8], facing: int) -> None:
        """Let the objects in a view, (h, w, 3), that look some way look as somebody sees them who
        looks along `facing`."""
        if kinds := [kind.index for kind in self if kind.is_oriented]:
            ways: Any = grid[..., 1]
            np.copyto(ways, to_relative(ways, facing), where=np.isin(grid[..., 0], kinds))

    def __getitem__(self, key: int | str) -> ObjectType:
        """The type of this index or name.

        Raises:
            KeyError: no such type; the message names the nearest.
        """
        found = self._by_name.get(key) if isinstance(key, str) else self._by_index.get(key)
        if found is not None:
            return found
        names = [known.name for known in self]
        near = get_close_matches(str(key), names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"no object type {key!r}{hint} (known: {', '.join(names)})")


class DeclaredTypes(ObjectTypes):
    """The types that Python declares: the engine's, and those of other modules of the process.

    Those of rule files are not among them. Each package of these counts its own, from the index
    behind the engine's on, so that they are the same in every process.

    Attributes:
        common: the module of those that every scenario may name, so that their names are taken.
    """

    common = ""

    def __init__(self) -> None:
        super().__init__()
        self._packages: dict[str, dict[tuple[str, str], ObjectType]] = {}

    @property
    def built_in(self) -> tuple[ObjectType, ...]:
        """The engine's, which come first."""
        return tuple(kind for kind in self if is_engine_module(kind.module))

    def of_package(self, package: str) -> tuple[ObjectType, ...]:
        """Those of a package of rule files, in order of their indices."""
        return tuple(self._packages.get(package, {}).values())

    def iterate_all(self) -> Iterator[ObjectType]:
        """All types: these, the engine's first, and then those of rule files, newer ones first."""
        yield from self.built_in
        yield from reversed(list(self))
        for package, types in reversed(self._packages.items()):
            if package:
                yield from types.values()

    def remove_package(self, package: str) -> None:
        """Let a package of rule files count anew."""
        self._packages.pop(package, None)

    def add(self, new: ObjectType) -> None:
        """Register a type; declaring it again from the same module replaces it."""
        package = package_of(new.module)
        self._packages.setdefault(package, {})[new.module, new.name] = new
        if not package:
            self._by_index[new.index] = self._by_name[new.name] = new

    @contextmanager
    def rollback_on_error(self) -> Iterator[None]:
        """An error in the block takes back what it has declared."""
        before = self._by_index.copy(), self._by_name.copy()
        packages = {package: types.copy() for package, types in self._packages.items()}
        try:
            yield
        except BaseException:
            self._by_index, self._by_name = before
            self._packages = packages
            raise

    def choose_index(self, name: str, module: str) -> int:
        """The index of a type to be declared.

        Raises:
            ValueError: its name is taken, or there are too many.
        """
        package = package_of(module)
        known = self._packages.get(package, {})
        if (module, name) in known:
            return known[module, name].index
        rival = self._by_name.get(name)
        # a scenario that has none of the other's types may use their names
        if rival and self.common in (rival.module, module):
            raise ValueError(
                f"object type {name!r} is already declared in {rival.module}; choose another name"
            )
        first = len(self.built_in) + type_index_offset(package) if package else 0
        taken = {kind.index for kind in known.values()}
        return check_type_index(next(index for index in count(first) if index not in taken), name)


def check_type_index(index: int, name: str) -> int:
    """The index of a type to be declared.

    Raises:
        ValueError: there is no room for it.
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
) -> int:
    """Declare a type of grid object and return its index, to be kept as a module constant.

    Args:
        name: CamelCase, as scenario files will write it.
        components: instances or classes of components; a new object gets copies. An object with
            the component `Color` is coloured.
        states: names of its states, for scenario files, messages and sprites. In a mapping each
            has the components that come and go with it: `{"CLOSED": [Solid], "OPEN": []}`; the
            first is that of a new object.
        state: (component class, field) that holds the state's index, needed with `states`; with a
            mapping, `Condition` does unless another one is given.
        sprite: base name of its drawing; the name in snake_case if None.
        in_grid: False only for types that stand for "nothing" and "not seen".
        module: where it is declared; the caller's if left out.
        layer: "ground" for what lies beneath other things, such as plates, ice and targets.

    Raises:
        TypeError: something among `components` is no component, or `state` names no field.
        ValueError: the name is taken by another module, there is no such layer, or states and
            state do not fit.
    """
    module = module or sys._getframe(1).f_globals["__name__"]
    return declare_type(
        name,
        *components,
        states=states,
        state=state,
        sprite=sprite,
        in_grid=in_grid,
        module=module,
        layer=layer,
    ).index


def declare_type(name: str, *components: object, module: str, **rest: Any) -> ObjectType:
    """The type that `object_type` declares."""
    index = OBJECT_TYPES.choose_index(name, module)
    made = build_type(name, *components, module=module, index=index, **rest)
    OBJECT_TYPES.add(made)
    return made


def build_type(
    name: str,
    *components: object,
    states: tuple[str, ...] | Mapping[str, Iterable[object]] = (),
    state: tuple[type[Any], str] | None = None,
    sprite: str | None = None,
    in_grid: bool = True,
    module: str,
    layer: str = ABOVE,
    index: int,
) -> ObjectType:
    """A type of this index, declared to nobody; see `object_type`."""
    if layer not in LAYERS:
        raise ValueError(f"object type {name}: no layer {layer!r}; allowed are {LAYERS}")
    state_components: tuple[Parts, ...] = ()
    if states and isinstance(states, Mapping):
        state_components = tuple(_parts(name, brought) for brought in states.values())
        if state is None:
            components, state = (*components, Condition), (Condition, "value")
    states = tuple(states)
    parts = _parts(name, components)
    for cls in {cls for brought in state_components for cls, _ in brought} & {
        cls for cls, _ in parts
    }:
        raise ValueError(
            f"object type {name}: {cls.__name__} is always there, so no state brings it"
        )
    if bool(states) != (state is not None):
        raise ValueError(f"object type {name}: give both states and state=(Component, 'field')")
    if state is not None:
        owner, field = state
        if owner not in [cls for cls, _ in parts] or field not in [
            f.name for f in fields_of(owner)
        ]:
            raise TypeError(
                f"object type {name}: state {owner.__name__}.{field} is not among its parts"
            )
        if next(f.default for f in fields_of(owner) if f.name == field) != 0:
            raise TypeError(f"object type {name}: {owner.__name__}.{field} must default to state 0")
    return ObjectType(
        name=name,
        index=index,
        components=(*parts, *(state_components[0] if state_components else ())),
        colored=any(column_name(cls) == "color" for cls, _ in parts),
        states=states,
        state=None if state is None else (column_name(state[0]), state[1]),
        sprite=sprite or to_snake_case(name),
        in_grid=in_grid,
        module=module,
        state_components=state_components,
        layer=layer,
    )


def _parts(name: str, components: Iterable[object]) -> Parts:
    """Instances or classes of components, as object types keep them."""
    parts = []
    for part in components:
        instance: Any = part() if isinstance(part, type) else part
        if not is_component(type(instance)):
            raise TypeError(f"object type {name}: {part!r} is no component")
        parts.append((type(instance), astuple(instance)))
    return tuple(parts)
