"""State vector of an agent: component fields that the agent observes in addition to its view.

    observation: {state: [agent.health, agent.food, Pot.soups], display: [agent.deeds]}

Each number is a field of a component: of the agent itself, of the world (`world.daylight`), or of
the only object of a type. A field that is an array stands for all its numbers, and
`agent.counts.WOOD` for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import Agent, Position
from gv_engine.rules.component import Field, column_name, fields_of, to_snake_case
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.frame import ShownNumber
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.readers.map import format_numbers
from gv_engine.scenario.readers.resolver import NameResolver
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable

_AGENT, _WORLD = "agent", "world"
WORLD = -1
"""Value of `StateNumber.kind` for the world's own entity."""
_SHOWN = "number", "bar", "checklist", "hidden"
_MAX_NUMBER_LENGTH = 16  # maximum number of characters of a number in a line, separators included
_MAX = 256

NUMBER_KEYS: KeyTable = {
    "of": Key("Number, as `agent.health` or `Pot.soups`.", schema.TEXT, required=True),
    "label": Key("Word for people; by default the field's name.", schema.TEXT),
    "show": Key(
        "How players see it: `number`, `bar`, `checklist` for an array, or `hidden`.",
        schema.enum_schema(_SHOWN),
    ),
}
_DISPLAY_KEYS: KeyTable = {
    **NUMBER_KEYS,
    "texts": Key(
        "Texts that players read in place of the values 1, 2, 3 and so on, '' for none.",
        schema.list_of(schema.TEXT),
    ),
}
_NUMBERS, _DISPLAYED = (
    schema.list_of(schema.any_of(schema.TEXT, schema.object_schema(keys)), maxItems=_MAX)
    for keys in (NUMBER_KEYS, _DISPLAY_KEYS)
)
OBSERVATION_KEYS: KeyTable = {
    "state": Key(
        "Numbers of components that the agent observes: `[agent.health, world.day, Pot.soups]`.",
        _NUMBERS,
        nested=NUMBER_KEYS,
    ),
    "display": Key(
        "Numbers that players see and the agent does not: `[{of: agent.deeds, show: checklist}]`.",
        _DISPLAYED,
        nested=_DISPLAY_KEYS,
    ),
}


class StateNumber(NamedTuple):
    """Number of a state vector.

    Attributes:
        name: name in the scenario file, such as "agent.health".
        label: name that people see.
        kind: type index of the object that has the number; WORLD for the world's own entity, None
            for the agent.
        column, field: column of the component, and its field.
        item: index in a field that is an array, None for a single number.
        low, high: least and greatest value; None for a row or column of the grid.
        is_float: True for a floating-point number.
        shown: how players see it, one of `_SHOWN`.
        checklist: title of the list of which it is an item; "" for none.
        texts: texts that players see in place of the values from 1 on, "" for none; () to see the
            number.
    """

    name: str
    label: str
    kind: int | None
    column: str
    field: str
    item: int | None
    low: float | None
    high: float | None
    is_float: bool
    shown: str
    checklist: str = ""
    texts: tuple[str, ...] = ()

    @property
    def source(self) -> tuple[Any, ...]:
        """Owner, column, field and item: where worlds store the number."""
        return self.kind, self.column, self.field, self.item


class ObservedState:
    """State vector of the agents of a scenario.

    Args:
        numbers: its numbers, in order.
        layout: layout of the worlds.

    Attributes:
        names, labels: names of the numbers in the scenario file, and the names that people see.
        dtype: int32, or float32 if any number is a float.
        low, high: (k,) arrays of that dtype, the least and the greatest values.
    """

    def __init__(self, numbers: Sequence[StateNumber], layout: Layout) -> None:
        """Prepare to read the given numbers, such as an agent's health, from worlds of this
        layout."""
        self.numbers = tuple(numbers)
        self.names = tuple(number.name for number in numbers)
        self.labels = tuple(number.label for number in numbers)
        self.dtype: Any = np.float32 if any(n.is_float for n in numbers) else np.int32
        last = max(layout.height, layout.width) - 1  # row or column
        bounds = [(-1, last) if n.low is None else (n.low, n.high) for n in numbers]
        self.low: Any = np.array([low for low, _ in bounds]).astype(self.dtype)
        self.high: Any = np.array([high for _, high in bounds]).astype(self.dtype)

    def encode(self, w: Any, agent: int = 1) -> NDArray[Any]:
        """Return the state vector (k,) of an agent: the numbers of world `w` that it observes."""
        values = []
        for _, _, kind, column, field, item, *_ in self.numbers:
            e = agent if kind is None else w.world if kind == WORLD else w.unique(kind)
            values.append(getattr(getattr(w, column), field)[e if item is None else (e, item)])
        return np.array(values, self.dtype)

    def to_line(self, vector: NDArray[Any]) -> str:
        """Return the line of a text observation that lists the numbers of a state vector (k,)."""
        return format_numbers(self.describe(vector))

    @property
    def max_line_length(self) -> int:
        """Upper bound of the length of a line of `to_line`, in characters."""
        return sum(map(len, self.labels)) + _MAX_NUMBER_LENGTH * len(self.labels)

    @property
    def line_characters(self) -> frozenset[str]:
        """Set of all characters that lines of `to_line` may have."""
        return frozenset("".join(self.labels)).union("0123456789+-.einfa, ")

    def find_fault(self, vector: NDArray[Any]) -> str:
        """Return an error message if a number of a state vector (k,) is out of bounds, else ""."""
        for name, value, low, high in zip(self.names, vector, self.low, self.high, strict=True):
            if not low <= value <= high:
                return f"{name} is {value:g}, and its bounds are {low:g} to {high:g}"
        return ""

    def describe(self, vector: NDArray[Any]) -> tuple[ShownNumber, ...]:
        """Return label, text and bar length of each number in a state vector (k,), for display."""
        shown = []
        for number, value, low, high in zip(self.numbers, vector, self.low, self.high, strict=True):
            share = None
            if number.shown == "bar":
                share = min(max(float((value - low) / max(1e-9, high - low)), 0.0), 1.0)
            is_empty = number.item is not None and not value and not number.checklist
            is_for_players = number.shown != "hidden" and not is_empty
            text = f"{value:g}"
            if number.texts:
                text = number.texts[int(value) - 1] if 0 < value <= len(number.texts) else ""
            about = is_for_players, number.checklist, bool(number.texts)
            shown.append(ShownNumber(number.label, text, share, *about))
        return tuple(shown)


class StateReader:
    """Reader of the key `observation` of a scenario file.

    Args:
        names: resolver of the file's names.
        layout: layout of the scenario's worlds.
    """

    def __init__(self, names: NameResolver, layout: Layout) -> None:
        self._names, self._layout = names, layout
        self._types = {to_snake_case(kind.name): kind.name for kind in layout.types}

    def read(self, node: YamlNode) -> tuple[tuple[StateNumber, ...], tuple[StateNumber, ...]]:
        """Read the YAML mapping of the observed state, and return the numbers listed under its keys
        `state` and `display`."""
        entries = fields.read_fields(self._names.problems, node, OBSERVATION_KEYS)
        if not entries:
            raise node.error("`state` is missing; it lists numbers: {state: [agent.health]}")
        sources: set[tuple[Any, ...]] = set()
        state, display = (
            self._read_list(entries[key], sources, keys) if key in entries else ()
            for key, keys in (("state", NUMBER_KEYS), ("display", _DISPLAY_KEYS))
        )
        return state, display

    def _read_list(
        self, node: YamlNode, sources: set[tuple[Any, ...]], keys: KeyTable
    ) -> tuple[StateNumber, ...]:
        """Read a YAML list of numbers, whose mappings may have `keys`, and add where worlds store
        them to `sources`, which has those of numbers that are listed elsewhere."""
        numbers: list[StateNumber] = []
        for item in fields.limited_items(node, _MAX, "numbers"):
            with self._names.problems.collect():
                for number in self._read_numbers(item, keys):
                    if number.source in sources:
                        raise item.error(f"{number.name} is listed twice")
                    sources.add(number.source)
                    numbers.append(number)
        if len(numbers) > _MAX:
            raise node.error(f"found {len(numbers)} numbers, expected at most {_MAX}")
        return tuple(numbers)

    def _read_numbers(self, node: YamlNode, keys: KeyTable) -> list[StateNumber]:
        """Return the numbers that an item of the YAML list describes, such as `agent.health`: one
        number, or all numbers of an array."""
        entries = {"of": node}
        if isinstance(node.value, dict):
            entries = fields.read_fields(self._names.problems, node, keys)
            if "of" not in entries:
                raise node.error("`of` is missing; give the number, such as agent.health")
        name = fields.text(entries["of"])
        kind, column, field, items = self._resolve_number(entries["of"], name)
        if field.is_entity:
            fault = f"{field.name} is another object, and agents observe only numbers"
            raise entries["of"].error(fault)
        low: float | None = None
        high: float | None = None
        is_float = False
        if isinstance(field.dtype, np.dtype):  # else a row or column
            low, high = field.bounds
            is_float = field.dtype.kind == "f"
        shown = fields.choose(entries["show"], _SHOWN, "form") if "show" in entries else "number"
        if shown == "bar" and not field.declared_bounds:
            type_name = "float" if is_float else "int"
            raise entries["show"].error(
                f"found bar, and {field.name} has no declared bounds; declare them, as "
                f"`{field.name}: Annotated[{type_name}, Bounds(0, 9)] = 9`, or leave out `show`"
            )
        if shown == "checklist" and items == [None]:
            fault = f"found checklist, and {field.name} is a single number; expected an array"
            raise entries["show"].error(fault)
        given_label = fields.read_name(entries["label"]) if "label" in entries else ""
        texts = fields.items(entries["texts"]) if "texts" in entries else ()
        numbers = []
        for item in items:
            item_name = "" if item is None else field.items[item]
            title = (given_label or field.name) * (shown == "checklist")
            word = "" if title else given_label
            label = _make_label(field.name, item_name.lower(), word, len(items) == 1)
            full_name = name if len(items) == 1 else f"{name}.{item_name}"
            source = kind, column, field.name, item
            label = label.replace("_", " ")
            bounds = low, high, is_float
            about = shown, title, tuple(map(fields.optional_text, texts))
            numbers.append(StateNumber(full_name, label, *source, *bounds, *about))
        return numbers

    def _resolve_number(
        self, node: YamlNode, name: str
    ) -> tuple[int | None, str, Field, Sequence[int | None]]:
        """Find what a name such as `agent.health` or `agent.counts.WOOD` refers to. Return the
        owner (None for the agent, WORLD, or a type index), the component's name, the field, and the
        indices of its items, which are [None] for a single number."""
        owner, *parts = name.split(".")
        if len(parts) not in (1, 2, 3) or not all((owner, *parts)):
            last = name.split(".")[-1] or "health"
            raise node.error(
                f"found {name!r}, expected agent.FIELD, world.FIELD or TYPE.FIELD, as "
                f"agent.{last}, or with its component, agent.COMPONENT.{last}"
            )
        kind = self._read_owner(node, owner)
        arrays = {f.name for cls in self._layout.components for f in fields_of(cls) if f.items}
        # of two parts the first is a component, unless only a field has this name
        has_item = len(parts) == 2 and parts[0] in arrays - {*self._layout.names}
        component = parts.pop(0) if len(parts) > 1 and not has_item else ""
        column, field = self._find_field(node, owner, kind, parts[0], component)
        return kind, column, field, self._read_items(node, field, *parts[1:])

    def _read_items(self, node: YamlNode, field: Field, name: str = "") -> Sequence[int | None]:
        """Return the indices of the item `name`, or of all items, of an array field. Return [None]
        for a field with a single number."""
        if not name:
            return range(len(field.items)) or [None]
        if not field.items:
            raise node.error(f"{field.name} is a single number, without an item {name!r}")
        if name not in field.items:
            raise node.error(
                f"{field.name} has no item {name!r}{describe_allowed(name, field.items)}"
            )
        return [field.items.index(name)]

    def _read_owner(self, node: YamlNode, name: str) -> int | None:
        """Return whose number it is: None for "agent", WORLD for "world", else the index of the
        object type with this name."""
        if name.lower() == _AGENT:
            return None
        if name != _WORLD:
            type_name = self._types.get(name, name)
            return self._names.resolve_object_type(replace(node, value=type_name, text=type_name))
        if not self._layout.world_components:
            raise node.error("the world has no components; list them: world: {components: […]}")
        return WORLD

    def _find_field(
        self, node: YamlNode, owner: str, kind: int | None, name: str, component: str
    ) -> tuple[str, Field]:
        """Find the component field `name` among the components of an owner, or only in `component`
        if given. Return the component's column and the field. `kind` is None for the agent, WORLD,
        or a type index; `owner` is its name.

        Without `component`, it is the only component of the owner that has such a field; `owner` is
        the owner's name, and `kind` as in `StateNumber`. With `component`, it is the component in
        that column, also if the owner begins without it, as rules may add it later.
        """
        classes = self._list_components(kind)
        if component:
            classes = [cls for cls in self._layout.components if column_name(cls) == component]
            if not classes:
                hint = describe_allowed(component, self._layout.names)
                raise node.error(f"no component {component!r}{hint}")
        fields_by_column = [(column_name(cls), f) for cls in classes for f in fields_of(cls)]
        matches = [(column, field) for column, field in fields_by_column if field.name == name]
        if len(matches) == 1:
            return matches[0]
        if matches:
            columns = " and ".join(column for column, _ in matches)
            raise node.error(
                f"{columns} have a field {name}; write {owner}.{matches[0][0]}.{name} or the like"
            )
        hint = describe_allowed(name, dict.fromkeys(field.name for _, field in fields_by_column))
        whose = f"component {component} has" if component else f"components of {owner} have"
        raise node.error(f"the {whose} no field {name!r}{hint}")

    def _list_components(self, kind: int | None) -> Iterable[type]:
        """Return the component classes that an owner has at the start. `kind` is None for the
        agent, WORLD for the world, or the index of an object type."""
        if kind == WORLD:
            return [cls for cls, _ in self._layout.world_components]
        if kind is None:
            bodies = (cls for body in self._layout.bodies for cls, _ in body)
            return dict.fromkeys((Agent, Position, *bodies))
        return self._layout.object_types[kind].component_classes


def _make_label(field: str, item: str, given_label: str, is_only_item: bool) -> str:
    """Return the label of a number: `given_label` if the author gives one, else the name of the
    item, or that of the field if items are numbered."""
    if given_label:
        return given_label if is_only_item else f"{given_label} {item}"
    return item if item and not item.isdigit() else f"{field} {item}".strip()
