"""Rule sets: masks of applicable rules, computed in one pass, and rewriting by mathy_core.

The bits of the seven core rules are stored in every node (see
`gv_engine.plugins.algebra.expression`). For all other rules mathy_core tests node by node.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.algebra import expression, library
from gv_engine.plugins.algebra.expression import CONSTANT, SYMBOLS, Node, NodeKind
from gv_engine.plugins.algebra.library import expressions as lib
from gv_engine.plugins.algebra.library import rules as mathy_rules
from gv_engine.plugins.algebra.parser import parse
from gv_engine.rules.errors import GVEngineError


def from_library(
    expression: lib.MathExpression, sources: Mapping[str, Node] = MappingProxyType({})
) -> Node:
    """Convert a mathy_core expression to a tree of `Node`. `sources` maps ids of mathy_core nodes
    to the nodes they were made from, which are reused where nothing has changed.

    Args:
        sources: known nodes by the id of their mathy_core node, reused if nothing below has
            changed.
    """
    chain = [expression]  # long sums nest on the left, deeper than Python may recurse
    while chain[-1].left is not None:
        chain.append(chain[-1].left)
    node: Node | None = None
    for source in reversed(chain):
        kind, old = type(source), sources.get(source.id)
        if kind is Stub:
            node = old
            continue
        right = None if source.right is None else from_library(source.right, sources)
        value = None if kind in SYMBOLS else _value_of(source)
        if old is None or not (
            old.kind is kind
            and old.left is node
            and old.right is right
            and (old.value is value or (old.value == value and type(old.value) is type(value)))
        ):
            node = Node(kind, node, right, value)
        else:
            node = old
    assert node is not None, "a placeholder has a source"
    return node


def _value_of(expression: lib.MathExpression) -> int | float | str | None:
    """Return the value of a mathy_core node: the number of a constant, or the name of a variable or
    function. None for an operator."""
    if isinstance(expression, lib.ConstantExpression):
        return _python_number(expression.value)
    if isinstance(expression, lib.VariableExpression):
        return expression.identifier
    return expression.name if isinstance(expression, lib.FunctionExpression) else None


def _python_number(value: object) -> int | float:
    """Convert a number of mathy_core or NumPy to an int or float. Whole numbers become int."""
    if isinstance(value, int):
        return value
    number = float(value)  # type: ignore[arg-type]  # a number of NumPy
    return int(number) if number.is_integer() else number


LibraryNode = lib.MathExpression


class LibraryTree(NamedTuple):
    """Tree of mathy_core nodes, converted from a tree of the engine's `Node` objects.

    Attributes:
        root: root of the tree.
        nodes: all nodes in order; `nodes[i].id` is `str(i)`.
        sources: the `Node` objects, by the id of the mathy_core node made from each.
    """

    root: lib.MathExpression
    nodes: list[lib.MathExpression]
    sources: dict[str, Node]


class Stub(lib.MathExpression):
    """Placeholder for a subtree below the levels that a rule reads."""


def to_library(node: Node, depth: int | None = None) -> LibraryTree:
    """Convert an expression to a tree of new mathy_core nodes. Subtrees below `depth` levels are
    replaced by placeholders; None converts all.

    Args:
        depth: levels to convert; a `Stub` replaces what lies deeper. None converts all.
    """
    nodes: list[Any] = []
    sources: dict[str, Node] = {}

    def convert_subtree(node: Node, depth: int) -> Any:
        kind, left, right = node.kind, node.left, node.right
        if not depth and (left is not None or right is not None):
            kind, left, right = Stub, None, None
        converted: Any = kind.__new__(kind)  # their constructors take most of the time
        converted.__dict__.update(_default_attributes(kind))
        if left is not None:
            converted.left = convert_subtree(left, depth - 1)
            converted.left.parent = converted
        converted.id = str(len(nodes))
        sources[converted.id] = node
        nodes.append(converted)
        if right is not None:
            converted.right = convert_subtree(right, depth - 1)
            converted.right.parent = converted
        if kind is CONSTANT:
            converted.value = node.value
        elif kind is expression.VARIABLE:
            converted.identifier = node.value
        elif converted.left is None or converted.right is None:
            converted.child = converted.left or converted.right
            converted.child_on_left = converted.left is not None
        return converted

    return LibraryTree(convert_subtree(node, -1 if depth is None else depth), nodes, sources)


_DEFAULT_ATTRIBUTES: dict[NodeKind, dict[str, Any]] = {}


def _default_attributes(kind: NodeKind) -> dict[str, Any]:
    if kind not in _DEFAULT_ATTRIBUTES:
        _DEFAULT_ATTRIBUTES[kind] = vars(kind())
    return _DEFAULT_ATTRIBUTES[kind]


# ---- rewrite templates ---------------------------------------------------------------------------

TreeShape = tuple[NodeKind | None, ...]
"""Kinds of the nodes of a tree in preorder. None stands for a missing operand, `Stub` for a
subtree below the depth limit."""

Template = int | tuple[NodeKind, "Template | None", "Template | None"] | None
"""Template of a tree: the index of a part, or the kind of a new node with its operands."""


def split_expression(node: Node, depth: int) -> tuple[TreeShape, list[Node]]:
    """Return the kinds of an expression's nodes in preorder, and the nodes themselves. Nodes more
    than `depth` levels below the root are left out: the kind of their parent becomes `Stub`."""
    shape: list[NodeKind | None] = []
    parts: list[Node] = []
    stack: list[tuple[Node | None, int]] = [(node, depth)]
    while stack:
        part, depth = stack.pop()
        if part is None:
            shape.append(None)
            continue
        parts.append(part)
        is_leaf = part.left is None and part.right is None
        shape.append(part.kind if is_leaf or depth else Stub)
        if depth and not is_leaf:
            stack += (part.right, depth - 1), (part.left, depth - 1)
    return tuple(shape), parts


def copy_nodes(node: Node, depth: int) -> Node:
    """Return an equal expression in which the nodes of the first `depth` levels below the root are
    new objects."""
    left, right = (
        operand if operand is None or not depth else copy_nodes(operand, depth - 1)
        for operand in (node.left, node.right)
    )
    return Node(node.kind, left, right, node.value)


def make_template(result: Node | None, parts: Sequence[Node]) -> Template:
    """Return a template of the tree `result`: subtrees that occur in `parts` are replaced by their
    index there. `apply_template` builds a tree from the template and other parts."""
    if result is None:
        return None
    if result in parts:
        return parts.index(result)
    assert result.left or result.right, "a rule that moves parts makes no numbers"
    return result.kind, make_template(result.left, parts), make_template(result.right, parts)


def apply_template(template: Template, parts: Sequence[Node]) -> Node | None:
    """Build a tree from a template of `make_template`. Each index in the template is replaced by
    that item of `parts`. None for an empty template."""
    if type(template) is tuple:
        kind, left, right = template
        return Node(kind, apply_template(left, parts), apply_template(right, parts))
    return None if template is None else parts[template]  # type: ignore[index]  # a number


# ---- rule set ------------------------------------------------------------------------------------


class RewriteError(GVEngineError, ValueError):
    """A rule cannot be applied to a node."""


def core_rules(preferred_term_commute: bool = False) -> list[library.BaseRule]:
    """Return a new list of the seven default rewrite rules, in their fixed order.

    Args:
        preferred_term_commute: 4x may become x * 4.
    """
    return [
        mathy_rules.ConstantsSimplifyRule(),
        mathy_rules.CommutativeSwapRule(preferred=preferred_term_commute),
        mathy_rules.DistributiveMultiplyRule(),
        mathy_rules.DistributiveFactorOutRule(),
        mathy_rules.AssociativeSwapRule(),
        mathy_rules.VariableMultiplyRule(),
        mathy_rules.RestateSubtractionRule(),
    ]


class RuleProperties(NamedTuple):
    """Properties of a core rule.

    Attributes:
        bit: bit of the rule in `Node.rule_bits`.
        up, down: number of levels above and below its node that the rule reads.
        only_moves: the rule only moves subtrees, whatever numbers and letters they contain.
    """

    bit: int
    up: int
    down: int
    only_moves: bool = False


_CORE = {
    mathy_rules.ConstantsSimplifyRule: RuleProperties(expression.CA, 0, 3),
    mathy_rules.CommutativeSwapRule: RuleProperties(expression.CS, 0, 2, only_moves=True),
    mathy_rules.DistributiveMultiplyRule: RuleProperties(expression.DM, 0, 2, only_moves=True),
    mathy_rules.DistributiveFactorOutRule: RuleProperties(expression.DF, 0, 5),
    mathy_rules.AssociativeSwapRule: RuleProperties(expression.AG, 1, 1, only_moves=True),
    mathy_rules.VariableMultiplyRule: RuleProperties(expression.VM, 0, 4),
    mathy_rules.RestateSubtractionRule: RuleProperties(expression.RS, 1, 3),
}


def core_rule_properties(rule: library.BaseRule) -> RuleProperties | None:
    """Return the properties of a core rewrite rule, such as its bit in bit masks. None for a
    user-defined rule."""
    properties = _CORE.get(type(rule))
    if isinstance(rule, mathy_rules.CommutativeSwapRule) and rule.preferred and properties:
        return properties._replace(bit=expression.CS_ANY)
    if isinstance(rule, mathy_rules.DistributiveFactorOutRule) and rule.constants:
        return None
    return properties


class RuleSet(Sequence[library.BaseRule]):
    """Ordered list of rules, with the mask of their valid applications to an expression.

    Attributes:
        failures: message of the first failure of each user-defined rule, with its source location,
            by rule number. A failing application counts as not valid, and play goes on.

    Raises:
        ValueError: the list is empty, or an item is no rule.
    """

    def __init__(self, rules: Sequence[library.BaseRule]) -> None:
        """Make a set of core and user-defined rewrite rules. Raise ValueError if it is empty or an
        item is not a rule."""
        self._rules = tuple(rules)
        if not self._rules:
            raise ValueError("rules=[]: expected at least one rule")
        for number, rule in enumerate(self._rules):
            if not isinstance(rule, library.BaseRule):
                raise ValueError(
                    f"rules[{number}]={rule!r}: expected an object of a subclass of "
                    f"mathy_core.rule.BaseRule, such as CommutativeSwapRule()"
                )
        self.failures: dict[int, str] = {}
        self._properties = [core_rule_properties(rule) for rule in self._rules]
        # numbers of user-defined rules, and of all rules that may change an expression's value
        self._user_rules, self._value_changing_rules = list[int](), list[int]()
        for number, properties in enumerate(self._properties):
            if properties is None:
                self._user_rules.append(number)
            if properties is None or not properties.only_moves:
                self._value_changing_rules.append(number)
        bits = [0 if properties is None else properties.bit for properties in self._properties]
        # (256, rules): 1 where a byte of rule bits includes the rule
        self._table = (np.arange(256)[:, None] & np.array(bits, np.int64) > 0).astype(np.int8)

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]  # a rule or a slice
        return self._rules[number]

    def mask(self, root: Node) -> NDArray[np.int8]:
        """Return the action mask of an expression as (nodes, rules) int8. It is 1 where the rule
        applies to the node and preserves the expression's value."""
        allowed = self._table.take(np.frombuffer(root.rule_bytes(), np.uint8), 0)
        if self._user_rules:
            self._mask_user_rules(root, allowed)
        for number in self._user_rules if root.is_plain else self._value_changing_rules:
            for node in np.flatnonzero(allowed[:, number]).tolist():
                allowed[node, number] = self._keeps_value(root, node, number)
        return allowed

    def _mask_user_rules(self, root: Node, allowed: NDArray[np.int8]) -> None:
        """Fill the columns of user-defined rules in `allowed`, the (nodes, rules) action mask of
        the expression `root`: 1 where the rule applies to the node, else 0."""
        tree = to_library(root)
        for number in self._user_rules:
            for node, target in enumerate(tree.nodes):
                try:
                    allowed[node, number] = bool(self._rules[number].can_apply_to(target))
                except Exception as error:  # a user-defined rule may raise anything
                    allowed[node, number] = 0
                    self._record_failure(number, root, node, error)

    def _keeps_value(self, root: Node, node: int, number: int) -> bool:
        """Return True if applying rule `number` to node `node`, both indices, preserves the value
        of the expression `root`."""
        rule, properties = self._rules[number], self._properties[number]
        before = root
        try:
            if properties is None:
                after = self.apply(root, node, number)[1]
            else:  # the value of the whole depends on that of the part
                _, before, side, depth = _find_part(root, node, properties)
                after = before if before.is_plain else _apply_to_part(rule, before, side, depth)
        except RewriteError as error:
            self._record_failure(number, root, node, error)
            return False
        if before is after or expression.is_equivalent(before, after):
            return True
        self._record_failure(number, root, node, f"it changes the value: {after.text}")
        return False

    def _record_failure(self, number: int, root: Node, node: int, error: Exception | str) -> None:
        """Store the first failure of the user-defined rule `number` in `failures`. `error` is the
        exception, or a description of what went wrong."""
        rule_type = type(self._rules[number])
        if number in self.failures or rule_type.__module__.partition(".")[0] == "mathy_core":
            return
        has_apply_to = rule_type.apply_to is not library.BaseRule.apply_to
        location = library.code_location(rule_type.apply_to if has_apply_to else rule_type)
        if isinstance(error, Exception):
            cause = error.__context__ if isinstance(error, RewriteError) else error
            for frame in traceback.extract_tb(cause.__traceback__) if cause else ():
                if frame.filename in location:  # the last line in the file of the rule
                    location = f"{frame.filename}:{frame.lineno}"
            error = f"{type(cause).__name__}: {cause}" if cause else str(error)
        self.failures[number] = (
            f"{location}: {rule_type.__name__} at node {node} of {root.text}: {error}"
        )

    def apply(self, root: Node, node: int, number: int) -> tuple[str, Node]:
        """Apply rule `number` to node `node` of an expression, both indices. Return the new
        expression as text, and the tree that the text parses to.

        The caller must know that the rule applies.

        Args:
            root: the whole expression; unchanged.
            node: index of the node, in order.
            number: number of the rule.

        Raises:
            RewriteError: the rule fails, or its result cannot be parsed.
        """
        rule, properties = self._rules[number], self._properties[number]
        if properties is None:
            tree = to_library(root)
            result = _apply_in_tree(rule, tree, tree.nodes[node])
        else:
            ancestors, part, side, depth = _find_part(root, node, properties)
            apply = _apply_cached if properties.only_moves else _apply_to_part
            result = apply(rule, part, side, depth)
            for parent, on_right in reversed(ancestors):
                left, right = (parent.left, result) if on_right else (result, parent.right)
                result = Node(parent.kind, left, right, parent.value)
        return result.text, parse_again(result)

    def change(self, root: Node, node: int, number: int) -> library.ExpressionChangeRule:
        """Apply rule `number` to a node of a copy of the tree; return mathy_core's record of the
        change.

        Raises:
            RewriteError: the rule fails.
        """
        return _get_change(self._rules[number], to_library(root).nodes[node])


class LazyChange(library.ExpressionChangeRule):
    """Change whose `node` and `result` are computed by mathy_core on first access."""

    def __init__(self, rules: RuleSet, root: Node, node: int, number: int) -> None:
        """Record that rule `number` is applied to the node with index `node`; mathy_core computes
        the result on first access."""
        self._arguments = rules, root, node, number
        self.rule = rules[number]
        self._save_parent = None

    def __getattr__(self, name: str) -> Any:
        """Compute the attribute `node` or `result` on first access, by applying the rule in
        mathy_core."""
        if name not in ("node", "result"):
            raise AttributeError(f"a change has no {name}")
        rules, root, node, number = self._arguments
        change = rules.change(root, node, number)
        self.node, self.result = change.node, change.result
        return getattr(self, name)


def parse_again(root: Node) -> Node:
    """Convert a tree to text and parse the text again. The result can differ from the original
    tree.

    Raises:
        RewriteError: the text cannot be parsed.
    """
    if root.is_exact:
        return root
    try:
        return parse(root.text)
    except ValueError as error:
        raise RewriteError(str(error)) from None


def _find_node(root: Node, index: int) -> tuple[list[tuple[Node, bool]], Node]:
    """Return `(ancestors, node)` for the node with this in-order index. Each ancestor is a pair:
    the node, and True if the path continues to its right operand."""
    ancestors: list[tuple[Node, bool]] = []
    node = root
    while True:
        node_index = node.left.size if node.left is not None else 0
        if index == node_index:
            return ancestors, node
        on_right = index > node_index
        ancestors.append((node, on_right))
        if on_right:
            index -= node_index + 1
        child = node.right if on_right else node.left
        if child is None:
            raise RewriteError(f"{root.text} has {root.size} nodes, none of them is {index}")
        node = child


def _find_part(
    root: Node, node: int, properties: RuleProperties
) -> tuple[list[tuple[Node, bool]], Node, str, int]:
    """Find the subtree that a rule of mathy_core reads when applied to node number `node`. Return
    (ancestors, subtree, side, depth). `side` says to which of its nodes the rule applies: "root",
    or the "left" or "right" operand. `depth` is the number of levels that the rule reads.

    Args:
        root: the whole expression.
        node: index of the node to which the rule is applied, in order.
        properties: properties of the rule.
    """
    ancestors, part = _find_node(root, node)
    if not properties.up or not ancestors:
        return ancestors, part, "root", properties.down
    part, on_right = ancestors.pop()
    return ancestors, part, "right" if on_right else "left", properties.down + 1


_TEMPLATES: dict[tuple[type[library.BaseRule], str, TreeShape], Template] = {}
"""Cached templates of rules that only move subtrees: by rule class, side and shape of the part."""


def _apply_cached(rule: library.BaseRule, part: Node, side: str, depth: int) -> Node:
    """Apply a rule that only rearranges subtrees to `part`, by a cached template of the result. The
    rule applies to the node `side` ("root", "left" or "right") of `part`, and reads `depth`
    levels."""
    shape, parts = split_expression(part, depth)
    key = type(rule), side, shape
    if key not in _TEMPLATES:
        distinct = copy_nodes(part, depth)
        template_result = _apply_to_part(rule, distinct, side, depth)
        _TEMPLATES[key] = make_template(template_result, split_expression(distinct, depth)[1])
    result = apply_template(_TEMPLATES[key], parts)
    assert result is not None, "a rule has a result"
    return result


def _apply_to_part(rule: library.BaseRule, part: Node, side: str, depth: int) -> Node:
    """Apply a rule to a node of the subtree `part` and return the new subtree. `side` is "root", or
    "left" or "right" for the root's operand. The rule reads `depth` levels."""
    tree = to_library(part, depth)
    return _apply_in_tree(rule, tree, tree.root if side == "root" else getattr(tree.root, side))


def _apply_in_tree(rule: library.BaseRule, tree: LibraryTree, node: LibraryNode | None) -> Node:
    """Apply a rule to `node` of a mathy_core tree. Return the new tree as `Node` objects; unchanged
    subtrees are reused."""
    result = _get_change(rule, node).result
    assert result is not None, "_get_change raises otherwise"
    try:
        return from_library(result.get_root(), tree.sources)
    except ValueError as error:  # Python prints numbers of at most 4300 digits
        raise RewriteError(f"{rule.name} fails: {error}") from None


def _get_change(rule: library.BaseRule, node: LibraryNode | None) -> library.ExpressionChangeRule:
    """Apply a rule to a mathy_core node and return mathy_core's description of the change. Raise
    RewriteError if the rule fails."""
    try:
        assert node is not None, "`_find_node` raises if there is none"
        if type(rule) is mathy_rules.ConstantsSimplifyRule:
            change = _calculate_exactly(rule, node)
        elif type(rule) is mathy_rules.RestateSubtractionRule and _begins_with_number(node.right):
            change = _subtract_whole(rule, node)
        else:
            change = rule.apply_to(node)
    except Exception as error:  # mathy_core asserts, wraps and divides by nothing
        raise RewriteError(f"{rule.name} fails: {type(error).__name__}: {error}") from None
    if change.result is None:
        raise RewriteError(f"{rule.name} has no result")
    return change


def _begins_with_number(node: LibraryNode | None) -> bool:
    kinds = lib.AddExpression, lib.SubtractExpression, lib.PowerExpression
    return isinstance(node, kinds) and isinstance(node.left, lib.ConstantExpression)


def _subtract_whole(rule: library.BaseRule, node: LibraryNode) -> library.ExpressionChangeRule:
    """Rewrite x - (3 + y) as x + -(3 + y). mathy_core's own rule wrongly negates only the 3."""
    change = library.ExpressionChangeRule(rule, node).save_parent()
    result = lib.AddExpression(node.left, lib.NegateExpression(node.right))
    result.set_changed()
    return change.done(result)


def _calculate_exactly(rule: library.BaseRule, node: LibraryNode) -> library.ExpressionChangeRule:
    """Apply the rule that calculates with two numbers, using exact fractions. mathy_core alone
    would use floats and 64-bit integers.

    Raises:
        ArithmeticError: the result has no decimal number, such as 1 / 3.
    """
    constants: list[Any] = node.get_root().find_type(CONSTANT)
    kinds = {type(constant.value) for constant in constants}
    if kinds == {int} and type(node) in (expression.ADD, expression.MULTIPLY):
        return rule.apply_to(node)
    for constant in constants:
        constant.value = Fraction(expression.to_exact(constant.value))
    change = rule.apply_to(node)
    assert change.result is not None
    for constant in change.result.get_root().find_type(CONSTANT):
        constant.value = _to_decimal(constant.value)
    return change


def _to_decimal(value: object) -> int | float:
    """Convert a fraction to an int or float of exactly the same decimal value. Raise
    ArithmeticError if there is none, as for 1/3."""
    if not isinstance(value, Fraction):
        raise ArithmeticError(f"{value} is not exact")
    if value.denominator == 1:
        return value.numerator
    if Fraction(str(float(value))) != value:
        raise ArithmeticError(f"{value} is no decimal number")
    return float(value)
