"""State vector of an agent: numbers of components that it observes beside its view.

    observation: {state: [agent.health, agent.food, Pot.soups]}

Each number is a field of a component: of the agent itself, or of the only object of a type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import Field, column_name, fields_of, to_snake_case
from gv_engine.rules.frame import ShownNumber
from gv_engine.scenario import fields
from gv_engine.scenario import json_schema as schema
from gv_engine.scenario.fields import YamlNode
from gv_engine.scenario.json_schema import Key, KeyTable
from gv_engine.scenario.layout import Layout
from gv_engine.scenario.map import format_numbers

_AGENT = "agent"
_SHOWN = "number", "bar"
_MOST_DIGITS = 16
"""Characters of a number in a line, with what parts it from the others."""
_MOST = 256
"""Numbers of a state vector at most."""

NUMBER_KEYS: KeyTable = {
    "of": Key("Number, as `agent.health` or `Pot.soups`.", schema.TEXT, required=True),
    "label": Key("Word for people; by default the field's name.", schema.TEXT),
    "show": Key("How the window shows it: `number`, or `bar`.", schema.enum_schema(_SHOWN)),
}
OBSERVATION_KEYS: KeyTable = {
    "state": Key(
        "Numbers of components that the agent observes: `[agent.health, Pot.soups]`.",
        schema.list_of(
            schema.any_of(schema.TEXT, schema.object_schema(NUMBER_KEYS)), maxItems=_MOST
        ),
        nested=NUMBER_KEYS,
    )
}


class StateNumber(NamedTuple):
    """Number of a state vector.

    Attributes:
        name: name in the scenario file, such as "agent.health".
        label: word for people.
        kind: type index of the object that has the number; None for the agent.
        column, field: column of the component, and its field.
        low, high: least and greatest value.
        is_float: True for a floating-point number.
        has_bar: True if the window shows a bar.
    """

    name: str
    label: str
    kind: int | None
    column: str
    field: str
    low: float
    high: float
    is_float: bool
    has_bar: bool


class ObservedState:
    """State vector of the agents of a scenario.

    Args:
        numbers: its numbers, in order.

    Attributes:
        names, labels: their names in the scenario file, and their words for people.
        dtype: int32, or float32 if any number is a float.
        low, high: (k,) arrays of that dtype, the least and the greatest values.
    """

    def __init__(self, numbers: Sequence[StateNumber]) -> None:
        self.numbers = tuple(numbers)
        self.names = tuple(number.name for number in numbers)
        self.labels = tuple(number.label for number in numbers)
        self.dtype: Any = np.float32 if any(n.is_float for n in numbers) else np.int32
        self.low: Any
        self.high: Any
        self.low, self.high = (
            np.array([getattr(number, end) for number in numbers]).astype(self.dtype)
            for end in ("low", "high")
        )

    def encode(self, w: Any, agent: int = 1) -> NDArray[Any]:
        """Return the state vector (k,) of an agent in world `w`."""
        values = (
            getattr(getattr(w, column), field)[agent if kind is None else w.unique(kind)]
            for _, _, kind, column, field, *_ in self.numbers
        )
        return np.fromiter(values, self.dtype, len(self.numbers))

    def to_line(self, vector: NDArray[Any]) -> str:
        """Return the line about a state vector (k,) in a text."""
        return format_numbers(self.describe(vector))

    @property
    def max_line_length(self) -> int:
        """Number of characters that no line of `to_line` exceeds."""
        return sum(map(len, self.labels)) + _MOST_DIGITS * len(self.labels)

    @property
    def line_characters(self) -> frozenset[str]:
        """Set of all characters that lines of `to_line` may have."""
        return frozenset("".join(self.labels)).union("0123456789+-.einfa, ")

    def find_fault(self, vector: NDArray[Any]) -> str:
        """Return an error message if a number of a state vector (k,) is out of its bounds; an empty
        text if none is."""
        for name, value, low, high in zip(self.names, vector, self.low, self.high, strict=True):
            if not low <= value <= high:
                return f"{name} is {value:g}, and its bounds are {low:g} to {high:g}"
        return ""

    def describe(self, vector: NDArray[Any]) -> tuple[ShownNumber, ...]:
        """Return the numbers of a state vector (k,) as people see them."""
        return tuple(
            ShownNumber(
                number.label,
                f"{value:g}",
                min(max((value - number.low) / (number.high - number.low), 0.0), 1.0)
                if number.has_bar
                else None,
            )
            for number, value in zip(self.numbers, vector.tolist(), strict=True)
        )


class StateReader:
    """Reader of the key `observation` of a scenario file.

    Args:
        names: resolver of the file's names.
        layout: layout of the scenario's worlds.
    """

    def __init__(self, names: Any, layout: Layout) -> None:
        self._names, self._layout = names, layout
        self._types = {to_snake_case(kind.name): kind.name for kind in layout.types}

    def read(self, node: YamlNode) -> tuple[StateNumber, ...]:
        """Return the numbers that the mapping in `node` lists under `state`."""
        entries = fields.read_fields(self._names.problems, node, OBSERVATION_KEYS)
        if "state" not in entries:
            return ()
        numbers: list[StateNumber] = []
        for item in fields.limited_items(entries["state"], _MOST, "numbers"):
            with self._names.problems.collect():
                number = self._read_number(item)
                if number.name in (other.name for other in numbers):
                    raise item.error(f"{number.name} is listed twice")
                numbers.append(number)
        return tuple(numbers)

    def _read_number(self, node: YamlNode) -> StateNumber:
        """Return the number that an item of the list describes: a text, or a mapping with `of`."""
        entries = {"of": node}
        if isinstance(node.value, dict):
            entries = fields.read_fields(self._names.problems, node, NUMBER_KEYS)
            if "of" not in entries:
                raise node.error("`of` is missing; it is the number, as agent.health")
        name = fields.text(entries["of"])
        owner, *path = name.split(".")
        if len(path) not in (1, 2) or not all((owner, *path)):
            raise entries["of"].error(
                f"found {name!r}, expected agent.FIELD, TYPE.FIELD, or COMPONENT between the two"
            )
        kind = None if owner == _AGENT else self._resolve_type(entries["of"], owner)
        column, field = self._find_field(entries["of"], kind, *path[::-1])
        low, high = self._find_bounds(entries["of"], field)
        has_bar = "show" in entries and fields.choose(entries["show"], _SHOWN, "form") == "bar"
        if has_bar and not (field.declared_bounds and low < high):
            raise entries["show"].error(
                f"a bar needs bounds; declare them: "
                f"`{field.name}: Annotated[Int8, Bounds(0, 9)] = 0`"
            )
        label = fields.read_name(entries["label"]) if "label" in entries else field.name
        label = label.replace("_", " ")
        is_float = isinstance(field.dtype, np.dtype) and field.dtype.kind == "f"
        return StateNumber(name, label, kind, column, field.name, low, high, is_float, has_bar)

    def _resolve_type(self, node: YamlNode, name: str) -> int:
        """Return the index of the object type called `name`, also in snake_case."""
        type_name = self._types.get(name, name)
        index: int = self._names.resolve_object_type(replace(node, value=type_name, text=type_name))
        return index

    def _find_field(
        self, node: YamlNode, kind: int | None, name: str, component: str = ""
    ) -> tuple[str, Field]:
        """Return the column and the field called `name` of the component that is meant: the one in
        column `component`, or the only one that has such a field."""
        classes: tuple[type, ...] = self._layout.components
        if kind is not None:
            classes = tuple(self._layout.object_types[kind].component_classes)
        found = [
            (column_name(cls), field)
            for cls in classes
            for field in fields_of(cls)
            if field.name == name and component in ("", column_name(cls))
        ]
        if len(found) == 1:
            return found[0]
        if found:
            columns = " and ".join(column for column, _ in found)
            owner = node.text.split(".")[0]
            raise node.error(
                f"{columns} have a field {name}; write {owner}.{found[0][0]}.{name} or the like"
            )
        known = dict.fromkeys(field.name for cls in classes for field in fields_of(cls))
        hint = fields.suggestion(name, known)
        raise node.error(f"no component {component or 'here'} has a field {name!r}{hint}")

    def _find_bounds(self, node: YamlNode, field: Field) -> tuple[float, float]:
        """Return the least and the greatest value of a field."""
        if field.is_entity:
            raise node.error(f"{field.name} is another object, and agents observe numbers alone")
        if isinstance(field.dtype, str):  # a coordinate
            return -1, max(self._layout.height, self._layout.width) - 1
        return field.bounds
