"""Expressions as things: every node of a tree is an entity.

These components hold texts and exact numbers, so that worlds made of them have no rows.
"""

from dataclasses import dataclass as component

from gv_engine.rules.component import NOTHING


@component(slots=True)
class Constant:
    """A number."""

    value: int | float


@component(slots=True)
class Variable:
    """A letter."""

    name: str


@component(slots=True)
class Operator:
    """A sign or a function, and what it works on."""

    symbol: str
    left: int = NOTHING
    """The entity of the left operand."""
    right: int = NOTHING
    """The same on the right, where the operand of -x hangs."""


@component(slots=True)
class Identity:
    """Tells a node from all others that there were in the game; rules and undoing keep it."""

    number: int


@component(slots=True)
class InOrder:
    """Where the node stands in the written expression: left operand, node, right operand."""

    index: int


@component(slots=True)
class Depth:
    """How many nodes are above it."""

    value: int


@component(slots=True)
class Changed:
    """A mark: the last rule has changed or made it."""
