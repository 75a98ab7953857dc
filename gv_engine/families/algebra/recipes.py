"""Recipes: what a rule that only moves parts makes of every expression of one form.

mathy_core is asked once for each form, which is that of two or three nodes; from then on the parts
of the same form are put together as it has put them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gv_engine.families.algebra.expression import Node, NodeKind
from gv_engine.families.algebra.parsing import Sealed

NodeForm = tuple[NodeKind | None, ...]
"""The kinds of nodes, a node ahead of its operands, None where it has none; `Sealed` for all that
is below a depth."""

Recipe = int | tuple[NodeKind, "Recipe | None", "Recipe | None"] | None
"""A tree made of parts: the number of one, or a kind and its operands."""


class TakenApart(NamedTuple):
    """An expression taken apart: its form, and its nodes in the order of that."""

    form: NodeForm
    parts: list[Node]


def taken_apart(node: Node, depth: int) -> TakenApart:
    """The form of an expression down to a depth."""
    form: list[NodeKind | None] = []
    parts: list[Node] = []
    _take(node, depth, form, parts)
    return TakenApart(tuple(form), parts)


def _take(node: Node, depth: int, form: list[NodeKind | None], parts: list[Node]) -> None:
    parts.append(node)
    left, right = node.left, node.right
    if left is None and right is None:
        form.append(node.kind)
    elif not depth:
        form.append(Sealed)
    else:
        form.append(node.kind)
        for operand in (left, right):
            if operand is None:
                form.append(None)
            else:
                _take(operand, depth - 1, form, parts)


def unshared(node: Node, depth: int) -> Node:
    """The same expression of new nodes down to a depth, so that none stands there twice."""
    left, right = (
        operand if operand is None or not depth else unshared(operand, depth - 1)
        for operand in (node.left, node.right)
    )
    return Node(node.kind, left, right, node.value)


def recipe_of(result: Node | None, parts: Sequence[Node]) -> Recipe:
    """How a result is made of parts, each of which is a node of its own."""
    if result is None or result in parts:
        return None if result is None else parts.index(result)
    assert result.left or result.right, "what moves parts makes no numbers"
    return result.kind, recipe_of(result.left, parts), recipe_of(result.right, parts)


def made(recipe: Recipe, parts: Sequence[Node]) -> Node | None:
    """What a recipe makes of parts."""
    if type(recipe) is tuple:
        kind, left, right = recipe
        return Node(kind, made(left, parts), made(right, parts))
    return None if recipe is None else parts[recipe]  # type: ignore[index]  # a number
