"""Components of expressions: every node of an expression tree is an entity.

The components hold texts and exact numbers, so their worlds cannot be stored as NumPy arrays.
"""

from dataclasses import dataclass as component

from gv_engine.rules.component import NOTHING


@component(slots=True)
class Constant:
    """Number in an expression."""

    value: int | float


@component(slots=True)
class Variable:
    """Variable of an expression."""

    name: str


@component(slots=True)
class Operator:
    """Operator or function, with the entities of its operands."""

    symbol: str
    left: int = NOTHING
    """Entity of the left operand."""
    right: int = NOTHING
    """Entity of the right operand; also the operand of a unary minus."""


@component(slots=True)
class Identity:
    """Number that is unique to a node in an episode; rewriting and undo keep it."""

    number: int


@component(slots=True)
class InOrder:
    """Position of a node in the written expression: left operand, node, right operand."""

    index: int


@component(slots=True)
class Depth:
    """Number of nodes above a node in the tree."""

    value: int


@component(slots=True)
class Changed:
    """Tag of nodes that the last rule has changed or created."""
