"""Sets of rules and where they apply: masks in one pass, rewriting by mathy_core itself.

The seven core rules leave their marks on every node (see `gv_engine.domains.algebra.expression`).
Of rules that have none, mathy_core is asked node by node.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.domains.algebra import expression as marks
from gv_engine.domains.algebra.expression import Node, NodeKind, same_value
from gv_engine.domains.algebra.library import BaseRule, ExpressionChangeRule
from gv_engine.domains.algebra.library import expressions as lib_expressions
from gv_engine.domains.algebra.library import rules as lib
from gv_engine.domains.algebra.parsing import LibraryTree, Sealed, from_library, parse, to_library
from gv_engine.domains.algebra.types import code_place
from gv_engine.rules.errors import GVEngineError

# ---- recipes -------------------------------------------------------------------------------------

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


# ---- rule set ------------------------------------------------------------------------------------


class RewriteError(GVEngineError, ValueError):
    """A rule that cannot be applied where it was asked to be."""


def core_rules(preferred_term_commute: bool = False) -> list[BaseRule]:
    """The seven rules that environments have by default, in their order.

    Args:
        preferred_term_commute: whether 4x may become x * 4.
    """
    return [
        lib.ConstantsSimplifyRule(),
        lib.CommutativeSwapRule(preferred=preferred_term_commute),
        lib.DistributiveMultiplyRule(),
        lib.DistributiveFactorOutRule(),
        lib.AssociativeSwapRule(),
        lib.VariableMultiplyRule(),
        lib.RestateSubtractionRule(),
    ]


class Reach(NamedTuple):
    """The mark and the range of a core rule.

    Attributes:
        mark: its bit in the marks of nodes.
        up, down: how far from its node it looks.
        moves: whether it only moves parts around, whatever numbers and letters they are.
    """

    mark: int
    up: int
    down: int
    moves: bool = False


_CORE = {
    lib.ConstantsSimplifyRule: Reach(marks.CA, 0, 3),
    lib.CommutativeSwapRule: Reach(marks.CS, 0, 2, moves=True),
    lib.DistributiveMultiplyRule: Reach(marks.DM, 0, 2, moves=True),
    lib.DistributiveFactorOutRule: Reach(marks.DF, 0, 5),
    lib.AssociativeSwapRule: Reach(marks.AG, 1, 1, moves=True),
    lib.VariableMultiplyRule: Reach(marks.VM, 0, 4),
    lib.RestateSubtractionRule: Reach(marks.RS, 1, 3),
}


def reach_of(rule: BaseRule) -> Reach | None:
    """The mark and the range of a rule; None for those without marks."""
    found = _CORE.get(type(rule))
    if isinstance(rule, lib.CommutativeSwapRule) and rule.preferred and found:
        return found._replace(mark=marks.CS_ANY)
    if isinstance(rule, lib.DistributiveFactorOutRule) and rule.constants:
        return None
    return found


class RuleSet(Sequence[BaseRule]):
    """An ordered list of rules, and what they can do with an expression.

    Attributes:
        failures: of rules from elsewhere than mathy_core, by number: the first bug of each, with
            its place. Such a rule does not apply there, and play goes on.

    Raises:
        ValueError: there is none, or something that is no rule.
    """

    def __init__(self, rules: Sequence[BaseRule]) -> None:
        self._rules = tuple(rules)
        if not self._rules:
            raise ValueError("rules=[]: expected at least one rule")
        for number, rule in enumerate(self._rules):
            if not isinstance(rule, BaseRule):
                raise ValueError(
                    f"rules[{number}]={rule!r}: expected an object of a subclass of "
                    f"mathy_core.rule.BaseRule, such as CommutativeSwapRule()"
                )
        self.failures: dict[int, str] = {}
        self._reach = [reach_of(rule) for rule in self._rules]
        self._foreign = [number for number, reach in enumerate(self._reach) if reach is None]
        bits = [0 if reach is None else reach.mark for reach in self._reach]
        # (256, rules): which rules a byte of marks stands for
        self._table = (np.arange(256)[:, None] & np.array(bits, np.int64) > 0).astype(np.int8)

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]  # a rule, or some
        return self._rules[number]

    def mask(self, root: Node) -> NDArray[np.int8]:
        """(nodes, rules): 1 where applying the rule to the node, in order, gives an expression of
        the same value."""
        allowed = self._table.take(np.frombuffer(root.marked(), np.uint8), 0)
        doubtful = self._foreign if root.plain else range(len(self._rules))
        if self._foreign:
            self._ask(root, allowed)
        for number in doubtful:
            for node in np.flatnonzero(allowed[:, number]).tolist():
                allowed[node, number] = self._holds(root, node, number)
        return allowed

    def _ask(self, root: Node, allowed: NDArray[np.int8]) -> None:
        tree = to_library(root)
        for number in self._foreign:
            for node, asked in enumerate(tree.nodes):
                try:
                    allowed[node, number] = bool(self._rules[number].can_apply_to(asked))
                except Exception as error:  # whatever a rule of one's own may raise
                    allowed[node, number] = 0
                    self._remember(number, root, node, error)

    def _holds(self, root: Node, node: int, number: int) -> bool:
        try:
            text, result = self.apply(root, node, number)
        except RewriteError as error:
            self._remember(number, root, node, error)
            return False
        same = same_value(root, result)
        if not same:
            self._remember(number, root, node, f"it changes the value: {text}")
        return same

    def _remember(self, number: int, root: Node, node: int, fault: Exception | str) -> None:
        """Keep the first bug of a rule that is an author's."""
        kind = type(self._rules[number])
        if number in self.failures or kind.__module__.partition(".")[0] == "mathy_core":
            return
        place = code_place(kind.apply_to if kind.apply_to is not BaseRule.apply_to else kind)
        if isinstance(fault, Exception):
            cause = fault.__context__ if isinstance(fault, RewriteError) else fault
            frames = traceback.extract_tb(cause.__traceback__) if cause else []
            own = [f"{f.filename}:{f.lineno}" for f in frames if f.filename in place]
            place = own[-1] if own else place
            fault = f"{type(cause).__name__}: {cause}" if cause else str(fault)
        self.failures[number] = f"{place}: {kind.__name__} at node {node} of {root.text}: {fault}"

    def apply(self, root: Node, node: int, number: int) -> tuple[str, Node]:
        """The text after a rule, and what it parses to; whether the rule applies is not asked.

        Args:
            root: the whole expression; it stays as it is.
            node: its index in order.
            number: of the rule.

        Raises:
            RewriteError: the rule fails, or its result is no expression.
        """
        rule, reach = self._rules[number], self._reach[number]
        if reach is None:
            tree = to_library(root)
            result = _result(rule, tree, tree.nodes[node])
            return result.text, as_parsed(result)
        above, part = _path(root, node)
        side, depth = "root", reach.down
        if reach.up and above:
            part, on_right = above.pop()
            side, depth = "right" if on_right else "left", depth + 1
        if reach.moves:
            result = _moved(rule, part, side, depth)
        else:
            result = _rewritten(rule, part, side, depth)
        for parent, on_right in reversed(above):
            left, right = (parent.left, result) if on_right else (result, parent.right)
            result = Node(parent.kind, left, right, parent.value)
        return result.text, as_parsed(result)

    def change(self, root: Node, node: int, number: int) -> ExpressionChangeRule:
        """What mathy_core says of applying a rule: a change of a whole tree of its own nodes.

        Raises:
            RewriteError: the rule fails.
        """
        return _applied(self._rules[number], to_library(root).nodes[node])


class LazyChange(ExpressionChangeRule):
    """A change that is worked out when somebody looks at its `node` or its `result`."""

    def __init__(self, rules: RuleSet, root: Node, node: int, number: int) -> None:
        self._asked = rules, root, node, number
        self.rule = rules[number]
        self._save_parent = None

    def __getattr__(self, name: str) -> Any:
        if name not in ("node", "result"):
            raise AttributeError(f"a change has no {name}")
        rules, root, node, number = self._asked
        change = rules.change(root, node, number)
        self.node, self.result = change.node, change.result
        return getattr(self, name)


def as_parsed(root: Node) -> Node:
    """The tree that the text of a tree parses to.

    Raises:
        RewriteError: it parses to nothing.
    """
    if root.exact:
        return root
    try:
        return parse(root.text)
    except ValueError as error:
        raise RewriteError(str(error)) from None


def _path(root: Node, index: int) -> tuple[list[tuple[Node, bool]], Node]:
    """The nodes above the one at an index, each with whether it lies on the right, and itself."""
    above: list[tuple[Node, bool]] = []
    node = root
    while True:
        own = _index(node)
        if index == own:
            return above, node
        on_right = index > own
        above.append((node, on_right))
        if on_right:
            index -= own + 1
        child = node.right if on_right else node.left
        if child is None:
            raise RewriteError(f"{root.text} has {root.size} nodes, none of them is {index}")
        node = child


def _index(node: Node) -> int:
    """A node's own index among those below it."""
    return node.left.size if node.left is not None else 0


_RECIPES: dict[tuple[type[BaseRule], str, NodeForm], Recipe] = {}
"""What rules that only move parts have made: by their class, where they were applied, and to what
form."""


def _moved(rule: BaseRule, part: Node, side: str, depth: int) -> Node:
    """What a rule that only moves parts makes of one; see `_rewritten`."""
    form, parts = taken_apart(part, depth)
    key = type(rule), side, form
    if key not in _RECIPES:
        shown = unshared(part, depth)
        result = _rewritten(rule, shown, side, depth)
        _RECIPES[key] = recipe_of(result, taken_apart(shown, depth).parts)
    found = made(_RECIPES[key], parts)
    assert found is not None, "a rule has a result"
    return found


def _rewritten(rule: BaseRule, part: Node, side: str, depth: int) -> Node:
    """What mathy_core makes of a part.

    Args:
        rule: what is applied.
        part: an expression.
        side: where in the part: to its root, or to what hangs on the left or right of that.
        depth: how far down the rule looks.
    """
    tree = to_library(part, depth)
    return _result(rule, tree, tree.root if side == "root" else getattr(tree.root, side))


def _result(rule: BaseRule, tree: LibraryTree, node: lib_expressions.MathExpression | None) -> Node:
    result = _applied(rule, node).result
    assert result is not None, "or it was told"
    return from_library(result.get_root(), tree.known)


def _applied(rule: BaseRule, node: lib_expressions.MathExpression | None) -> ExpressionChangeRule:
    try:
        change = rule.apply_to(node)  # type: ignore[arg-type]  # it is there, `_path` has found it
    except Exception as error:  # mathy_core asserts, wraps and divides by nothing
        raise RewriteError(f"{rule.name} fails: {type(error).__name__}: {error}") from None
    if change.result is None:
        raise RewriteError(f"{rule.name} has no result")
    return change
