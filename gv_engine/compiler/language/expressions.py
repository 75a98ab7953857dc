"""Expressions of a function: from the nodes of the AST to values."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from gv_engine.compiler.language.arithmetic import CONVERT, Arithmetic
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.memory import ARRAY_METHODS, Memory
from gv_engine.compiler.language.source import LIST_METHODS, Source
from gv_engine.compiler.language.values import (
    ArrayValue,
    Kind,
    ListValue,
    Method,
    Range,
    Record,
    Scalar,
    array_of,
    bounds_of,
    describe,
    form_of,
    is_growing,
    is_known,
    is_number,
    kind_of,
    kind_of_dtype,
    leaves,
    narrow_of,
    outline_of,
    parts_of,
    rebuild,
    to_known,
    with_parts,
)
from gv_engine.rules.functions import is_foreign

_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
"""Functions by the number of a conversion such as `!r` in a text."""


@dataclass(frozen=True, eq=False)
class Nested:
    """A function or lambda within another one.

    Attributes:
        owner: body of the other one.
        source: its code.
        signature: its parameters, whose defaults are known.
        free: variables of the owner that it reads.
    """

    owner: Expressions
    source: Any
    signature: inspect.Signature
    free: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return getattr(self.source.node, "name", "<lambda>")


REFUSED = {
    "Try": "`try` does not compile: ask before, as in `if n != 0`",
    "With": "`with` does not compile",
    "Match": "`match` does not compile: use `if` and `elif`",
    "Delete": "`del` does not compile",
    "Global": "`global` does not compile: keep what changes in a column",
    "Nonlocal": "`nonlocal` does not compile: return the value",
    "ClassDef": "a class within a function does not compile: define it above",
    "Import": "an import within a function does not compile: import above",
    "ImportFrom": "an import within a function does not compile: import above",
    "Yield": "`yield` does not compile: return a list",
    "DictComp": "a dict with unknown keys does not compile: use an array",
    "SetComp": "a set with unknown items does not compile: use an array",
}
"""Reasons why statements and expressions do not compile, by the names of their classes in `ast`."""


class Unknown(Exception):
    """Raised where a variable is read that only code below assigns, in a loop: this try to compile
    only learns what the code below assigns."""


@dataclass(frozen=True)
class Iterated:
    """Items of a loop: their number, or a function that reads it in each turn, and a function from
    an index to an item."""

    length: Any
    read: Callable[[Scalar], Any]


_BYTES = {"true": "1", "false": "0"}


class Expressions(Memory, Arithmetic, ast.NodeVisitor):
    """Evaluates expressions; `names` are the globals and captured variables of the function."""

    node: ast.AST
    names: Mapping[str, Any]
    source: Source
    grown: Set[str]
    library: Mapping[Any, Callable[..., Any]]

    def read_variable(self, name: str) -> Any:
        """Return the value of a local variable; raise KeyError if there is none of this name."""
        raise NotImplementedError

    def forking(self) -> Any:
        """Return a context manager for branches that may set variables."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a variable, an element, a field, or a tuple of them."""
        raise NotImplementedError

    def call_version(self, function: Callable[..., Any], *values: Any) -> tuple[Any, str | None]:
        """Call a function; return its result, and its error code or None."""
        raise NotImplementedError

    def pass_on(self, code: str, before: Callable[[], None] = lambda: None) -> None:
        """Return an error code of a call if it is not 0, after the code that `before` emits."""
        raise NotImplementedError

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        outer, self.node = self.node, node
        value = to_known(self.visit(node))
        self.node = outer
        return value

    def generic_visit(self, node: ast.AST) -> Any:
        """Refuse what the language does not have."""
        name = type(node).__name__
        self.refuse(REFUSED.get(name, f"{name} does not compile"))

    # ---- names and constants ---------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        try:
            value = self.read_variable(node.id)
        except KeyError:
            pass
        else:
            return self.read_list(value) if is_growing(value) else value
        if node.id in self.names:
            return self.names[node.id]
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        self.refuse(f"the name {node.id!r} is not defined")

    def visit_Tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self._values(node.elts))

    def visit_Set(self, node: ast.Set) -> Any:
        values = tuple(self._values(node.elts))
        if not is_known(values):
            self.refuse("a set has items that are known before the program runs: take a tuple")
        return frozenset(values)

    def visit_Dict(self, node: ast.Dict) -> Any:
        pairs = [
            (key and self.evaluate(key), self.evaluate(x)) for key, x in zip(node.keys, node.values)
        ]
        if None in node.keys or not is_known(pairs):
            self.refuse("a dict has keys and values that are known before the program runs")
        return dict(pairs)

    def visit_List(self, node: ast.List) -> Any:
        return [*self._values(node.elts)]

    def _values(self, nodes: Sequence[ast.expr]) -> Iterator[Any]:
        """Yield the values of expressions, with `*values` unpacked."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.unpack(self.evaluate(node.value))
            else:
                yield self.evaluate(node)

    def unpack(self, value: Any, count: int | None = None) -> Sequence[Any]:
        """Return the items of a tuple, or of an array of known length."""
        value = array_of(value)
        if isinstance(value, ArrayValue) and isinstance(length := value.shape[0], int):
            value = tuple(self.read_element(value, (k,)) for k in range(length))
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.refuse(f"found {describe(value)}, which cannot be unpacked")
        if count is not None and len(value) != count:
            self.refuse(f"found {len(value)} values for {count} names")
        return value

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        parts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.evaluate(part.value)
            if not is_known(value):
                self.refuse("a text in compiled code is known before the program runs")
            spec = self.evaluate(part.format_spec) if part.format_spec else ""
            if (convert := _CONVERSIONS.get(part.conversion)) is not None:
                value = convert(value)
            parts.append(format(value, spec))
        return "".join(parts)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    # ---- operators -------------------------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.negate(self.condition(node.operand))
        return self.unary(node.op, self.evaluate(node.operand))

    def compare(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(op, ast.In | ast.NotIn) and isinstance(array_of(b), ArrayValue):
            if isinstance(b, ListValue):
                self.require_no_nan(a)
            found = self.call_function(holds_number, b, a)
            return found if isinstance(op, ast.In) else self.negate(found)
        a, b = self._with_array(a, b)
        if _has_array(a, b) and not isinstance(op, ast.Is | ast.IsNot):
            return self._each(super().compare, op, a, b)
        return super().compare(op, a, b)

    def _with_array(self, *values: Any) -> Sequence[Any]:
        """Return values with known arrays as arrays of the program, if a value is not known."""
        if is_known(values):
            return values
        return [self.constant_array(x) if isinstance(x, np.ndarray) else x for x in values]

    def binary(self, op: ast.operator, a: Any, b: Any) -> Any:
        a, b = self._with_array(a, b)
        if _has_array(a, b):
            return self._each(super().binary, op, a, b)
        return super().binary(op, a, b)

    def _each(self, operate: Callable[..., Any], op: ast.AST, a: Any, b: Any) -> ArrayValue:
        """Return the results of an operator on the elements of an array and a number, or of two
        arrays of one shape, as an array."""
        if isinstance(a, ListValue) or isinstance(b, ListValue):
            self.refuse("operators do not take lists in compiled code: np.array(...) of them")
        arrays = [value for value in (a, b) if isinstance(value, ArrayValue)]
        shape = arrays[0].shape
        if len(arrays) == 2 and len(shape) != len(arrays[1].shape):
            self.refuse("operators take two arrays of one shape in compiled code")
        for x, y in zip(shape, arrays[-1].shape):
            differ = self.compare(ast.NotEq(), x, y)
            self.fail_if(differ, "ValueError: operands could not be broadcast together")
        if len(shape) > 1:
            a, b = (self.flatten(x) if isinstance(x, ArrayValue) else x for x in (a, b))
            flat = self._each(operate, op, a, b)
            blank = self.new_array(shape, flat.dtype)
            return replace(blank, pointer=flat.pointer)
        # eight bytes for each number, before its type is known
        found = self.new_array(arrays[0].shape, np.dtype(np.int64))

        def visit(k: Scalar) -> None:
            nonlocal found
            items = (
                self.read_array(x, k, True) if isinstance(x, ArrayValue) else x for x in (a, b)
            )
            value = self.to_number(operate(op, *items))
            dtype = value.kind.dtype
            found = replace(found, dtype=dtype, strides=(dtype.itemsize,))
            self.store(self.element(found, (k,), is_inside=True), dtype, value)

        outer, self.is_array = self.is_array, True
        self.loop(arrays[0].shape[0], visit)
        self.is_array = outer
        return found

    def visit_Compare(self, node: ast.Compare) -> Any:
        left = self.evaluate(node.left)
        return self._compare_chain(left, node.ops, node.comparators)

    def _compare_chain(self, left: Any, ops: list[ast.cmpop], nodes: list[ast.expr]) -> Any:
        """Return `left op node op …`; what follows a false comparison is not evaluated."""
        is_set = isinstance(nodes[0], ast.Set) and isinstance(ops[0], ast.In | ast.NotIn)
        right = self.visit_Tuple(nodes[0]) if is_set else self.evaluate(nodes[0])
        found = self.compare(ops[0], left, right)
        if len(ops) == 1:
            return found
        return self.choose(
            found, lambda: self._compare_chain(right, ops[1:], nodes[1:]), lambda: found
        )

    def condition(self, node: ast.expr) -> Scalar | bool:
        """Return the truth of an expression, known or not."""
        if isinstance(node, ast.BoolOp):
            return self._all_of(node.values, isinstance(node.op, ast.And))
        return self.truth(self.evaluate(node))

    def _all_of(self, nodes: list[ast.expr], is_and: bool) -> Scalar | bool:
        """Return the truth of `a and b …`, or of `a or b …`."""
        first = self.condition(nodes[0])
        if len(nodes) == 1 or (isinstance(first, bool) and first is not is_and):
            return first

        def rest() -> Any:
            return self._all_of(nodes[1:], is_and)

        decided: Scalar | bool = self._branch_on(first, rest, lambda: first, is_and)
        return decided

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return self._last_of(node.values, isinstance(node.op, ast.And))

    def _last_of(self, nodes: list[ast.expr], is_and: bool) -> Any:
        """Return the operand that decides `a and b …`, or `a or b …`."""
        first = self.evaluate(nodes[0])
        if len(nodes) == 1:
            return first

        def rest() -> Any:
            return self._last_of(nodes[1:], is_and)

        return self._branch_on(self.truth(first), rest, lambda: first, is_and)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self.condition(node.test)
        return self.choose(
            test, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse)
        )

    def _branch_on(
        self, test: Scalar | bool, rest: Callable[[], Any], first: Callable[[], Any], is_and: bool
    ) -> Any:
        """Return `rest()` if the test leaves `and` (or `or`) undecided, else `first()`."""
        return self.choose(test, rest, first) if is_and else self.choose(test, first, rest)

    def choose(
        self, test: Scalar | bool, then: Callable[[], Any], otherwise: Callable[[], Any]
    ) -> Any:
        """Return the value of one of two branches."""
        branches = then, otherwise
        if isinstance(test, bool):
            return branches[0 if test else 1]()
        labels = [self.emit.new_block() for _ in range(3)]
        self.emit.branch(test.text, labels[0], labels[1])
        ends: list[tuple[str, Any]] = []
        with self.forking() as fork:
            for label, branch in zip(labels, branches):
                fork.begin()
                self.emit.start(label)
                try:
                    value = to_known(branch())
                except Unknown:
                    self.emit.start_dead()
                if self.emit.is_open() and self.emit.block is not None:
                    fork.end()
                    ends.append((self.emit.block, value))
        if not ends:
            self.emit.start_dead()
            return None
        return self._merge(ends, labels[2])

    def _merge(self, ends: list[tuple[str, Any]], label: str) -> Any:
        """Let blocks go on at `label`; return the value that each of them brings."""
        joined = ends[0][1]
        for _, value in ends[1:]:
            joined = self.join(joined, value)
        texts: list[list[str]] = []
        blocks: list[str] = []
        for block, value in ends:
            self.emit.start(block)
            texts.append([leaf.text for leaf in leaves(self.fit(value, joined))])
            blocks.append(str(self.emit.block))  # `fit` may have left the block
            self.emit.jump(label)
        self.emit.start(label)
        merged = [
            self.emit.phi(leaf.llvm, zip(row, blocks))
            for leaf, row in zip(leaves(joined), zip(*texts))
        ]
        return rebuild(joined, iter(merged))

    def join(self, a: Any, b: Any) -> Any:
        """Return a value of the form that can hold both values: equal known values stay known,
        numbers of two kinds become numbers of the wider kind."""
        if is_known(a) and a is b:
            return a
        if is_number(a) and is_number(b):
            if is_known((a, b)) and form_of(a) == form_of(b):
                return a
            kind = self.join_kinds(kind_of(a), kind_of(b))
            x, y = self.to_number(a), self.to_number(b)
            return Scalar(kind, "", min(x.low, y.low), max(x.high, y.high), narrow_of(a, b))
        if isinstance(a, Range | range) and isinstance(b, Range | range):
            a, b = _to_range(a), _to_range(b)
        if (parts := parts_of(a)) and outline_of(a) == outline_of(b):
            return with_parts(a, map(self.join, parts, parts_of(b)))
        if outline_of(a) == outline_of(b) and (is_known((a, b)) or not isinstance(a, Method)):
            return a
        self.refuse(f"the value is {describe(a)} here and {describe(b)} there")

    def fit(self, value: Any, form: Any) -> Any:
        """Return a value in a form that `join` returned."""
        if isinstance(form, Scalar):
            is_float = form.kind is Kind.FLOAT
            return self.to_exact_float(value) if is_float else self.convert(value, form.kind)
        value = _to_range(value) if isinstance(form, Range) else value
        parts = parts_of(value)
        return with_parts(value, map(self.fit, parts, parts_of(form))) if parts else value

    # ---- attributes, elements, calls -------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.evaluate(node.value)
        return self.read_attribute(owner, node.attr)

    def read_attribute(self, owner: Any, name: str) -> Any:
        """Return the attribute `name` of a record, an array or a known object."""
        if isinstance(owner, Record):
            return self.read_field(owner, name)
        if isinstance(owner, ListValue):
            if name != "copy":
                self.refuse(f"a list has no {name!r} in compiled code")
            return Method(owner, ARRAY_METHODS[name])
        if isinstance(owner, ArrayValue):
            return self.read_array_attribute(owner, name)
        if is_known(owner) and not is_number(owner):
            if isinstance(owner, np.ndarray) and name in ARRAY_METHODS:
                return Method(self.constant_array(owner), ARRAY_METHODS[name])
            try:
                return getattr(owner, name)
            except AttributeError as error:
                self.refuse(str(error))
        self.refuse(f"{describe(owner)} has no attribute {name!r} in compiled code")

    def visit_Slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.evaluate(part) for part in parts))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.evaluate(node.value), self.evaluate(node.slice)
        return self.read_item(owner, index)

    def read_item(self, owner: Any, index: Any) -> Any:
        """Return `owner[index]`."""
        if isinstance(owner, Record) and isinstance(index, str):
            return self.read_field(owner, index)
        if isinstance(owner, np.ndarray):
            places = index if isinstance(index, tuple) else (index,)
            if len(places) == owner.ndim and all(
                isinstance(place, int | np.integer) and 0 <= place < size
                for place, size in zip(places, owner.shape)
            ):
                return owner[index]
            owner = self.constant_array(owner)
        if isinstance(owner, ArrayValue):
            return self.read_array(owner, index)
        if isinstance(owner, ListValue):
            return self.read_from_list(owner, index)
        if isinstance(owner, dict) and not is_known(index):
            return self._read_dict(owner, index)
        if is_known(index):
            try:
                return owner[index]
            except (LookupError, TypeError) as error:
                self.refuse(f"{type(error).__name__}: {error}")
        if isinstance(owner, tuple | list | range) and owner:
            return self._read_tuple(tuple(owner), index)
        self.refuse(f"{describe(owner)} takes an index that is known before the program runs")

    def _read_dict(self, values: dict[Any, Any], key: Any, *default: Any) -> Any:
        """Return the value of a key in a known dict, or the default if there is no such key."""
        place: Any = len(values)
        for k, each in enumerate(values):
            place = self.select(self.compare(ast.Eq(), key, each), k, place)
        if not default:
            missing = self.compare(ast.Eq(), place, len(values))
            self.fail_if(missing, "KeyError: the dict has no such key")
        return self._read_tuple((*values.values(), *default), place)

    def _read_tuple(self, values: tuple[Any, ...], index: Any) -> Any:
        """Return the item at an index of a tuple of values of one form: from tables of constants,
        or from memory on the stack that this place fills."""
        place = self.place_index(self.to_int(index), len(values))
        joined = reduce(self.join, values)
        rows = [list(leaves(self.fit(value, joined))) for value in values]
        found = []
        for column in zip(*rows):
            llvm = "i8" if column[0].llvm == "i1" else column[0].llvm
            texts = [leaf.text for leaf in column]
            if any(text.startswith("%") for text in texts):
                table = self.emit.slot(f"[{len(texts)} x {column[0].llvm}]")
                llvm = column[0].llvm
                for k, text in enumerate(texts):
                    at = self.emit.get(f"getelementptr {llvm}, ptr {table}, i64 {k}")
                    self.emit.do(f"store {llvm} {text}, ptr {at}")
            else:
                table = self.module.table(llvm, [_BYTES.get(text, text) for text in texts])
            at = self.emit.get(f"getelementptr {llvm}, ptr {table}, i64 {place.text}")
            text = self.emit.get(f"load {llvm}, ptr {at}")
            is_byte = llvm == "i8"
            found.append(self.emit.get(f"trunc i8 {text} to i1") if is_byte else text)
        return rebuild(joined, iter(found))

    def read_list(self, values: ListValue) -> Any:
        """Return the items that a list has now."""
        raise NotImplementedError

    def read_from_list(self, values: ListValue, index: Any, is_inside: bool = False) -> Any:
        """Return `values[index]`."""
        raise NotImplementedError

    def change_list(self, method: str, values: ListValue, arguments: Sequence[Any]) -> Any:
        """Call a method of a list."""
        raise NotImplementedError

    def visit_Call(self, node: ast.Call) -> Any:
        match node.func:
            case ast.Attribute(ast.Name(name), method) if (
                method in LIST_METHODS and name in self.source.assigned
            ):
                values = self.read_variable(name)
                if is_growing(values):
                    if node.keywords:
                        self.refuse(f"`{method}` takes no keywords in compiled code")
                    return self.change_list(method, values, [*self._values(node.args)])
        function = self.evaluate(node.func)
        is_compiled = isinstance(function, FunctionType | Nested | Method)
        if is_compiled and any(map(self.is_iterator, node.args)):
            self.refuse("an iterator is no argument in compiled code: use a list")
        is_reduced = function in (any, all, sum) and node.args
        if is_reduced and isinstance(generator := node.args[0], ast.GeneratorExp):
            start = [*self._values(node.args[1:]), *self._keywords(node).values()]
            if len(start) > (function is sum):
                self.refuse(f"{function.__name__} takes fewer arguments")
            parts = (*node.args[1:], *node.keywords)
            if any(isinstance(each, ast.Call) for part in parts for each in ast.walk(part)):
                self.refuse("the number that `sum` begins with is no call here: name it before")
            return self._reduce(function, generator, self.start_of_sum(*start))
        return self.call(function, [*self._values(node.args)], self._keywords(node))

    def _keywords(self, node: ast.Call) -> dict[str, Any]:
        """Return the values of the keyword arguments of a call."""
        if any(keyword.arg is None for keyword in node.keywords):
            self.refuse("`**values` does not compile")
        return {str(each.arg): self.evaluate(each.value) for each in node.keywords}

    def start_of_sum(self, start: Any = 0) -> int | Scalar:
        """Return the number that a sum begins with; refuse what is no integer."""
        if not is_number(start) or kind_of(start) is not Kind.INT or narrow_of(start):
            self.refuse(f"found {describe(start)} in place of an integer that `sum` begins with")
        return start  # type: ignore[no-any-return]

    def is_iterator(self, node: ast.expr) -> bool:
        """Return True for generators, `zip(…)` and so on, whose items Python gives out once."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.evaluate(node.func) in (enumerate, reversed, zip)
        return isinstance(node, ast.GeneratorExp)

    def call(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Return the result of a call."""
        if isinstance(function, Method) and isinstance(function.function, Nested):
            return self.call_nested(function.function, function.record, arguments, keywords)
        if isinstance(function, Nested):
            return self.call_nested(function, None, arguments, keywords)
        if isinstance(function, Method):
            return self.call(function.function, [function.record, *arguments], keywords)
        if (emitted := self.library.get(function)) is not None:
            try:
                return emitted(self, *arguments, **keywords)
            except (ArithmeticError, TypeError, ValueError) as error:
                self.refuse(f"{describe(function)}: {error}")
        if isinstance(function, FunctionType):
            if is_foreign(function):
                name = f"{function.__module__}.{function.__name__}"
                self.refuse(f"{name} is a function of another library, which does not compile")
            return self.call_function(function, *arguments, **keywords)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, dict) and function == owner.get and len(arguments) == 2:
            return self._read_dict(owner, *arguments)
        if callable(function) and is_known((*arguments, *keywords.values())) and _is_pure(function):
            try:
                result = function(*arguments, **keywords)
            except Exception as error:  # any exception of what runs while compiling
                self.refuse(f"{describe(function)}: {error}")
            if not hasattr(result, "__next__"):  # it would give out its items while compiling
                return result
        self.refuse(f"{describe(function)} does not compile")

    def call_nested(
        self, function: Nested, captured: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """Return the result of a call of a function within another one."""
        raise NotImplementedError

    # ---- comprehensions --------------------------------------------------------------------------

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        """Return a list of values if what is iterated is known item by item, else an array."""
        generator = node.generators[0]
        items = self.iterate(self.evaluate(generator.iter))
        if isinstance(items, tuple):
            is_listed = len(node.generators) > 1 or not generator.ifs or not items
            if is_listed or self._are_known(generator, items):
                return self._collect_known(node.elt, node.generators, items)
            items = self.to_table(items)
        if len(node.generators) > 1:
            self.refuse("a list takes one `for` over items that are not known: write loops")
        length = items.length
        count = self.emit.slot("i64")
        self.emit.do(f"store i64 0, ptr {count}")
        width = len(node.elt.elts) if isinstance(node.elt, ast.Tuple) else 1
        # eight bytes for each number, before its type is known
        columns = [self.new_array(length, np.dtype(np.int64)) for _ in range(width)]

        def add(k: Scalar) -> None:
            self.assign(generator.target, items.read(k))
            for end in self._filter(generator.ifs):
                value = self.evaluate(node.elt)
                place = Scalar(Kind.INT, self.emit.get(f"load i64, ptr {count}"), 0)
                for j, part in enumerate(value if isinstance(value, tuple) else (value,)):
                    number = self.to_number(part)
                    dtype = number.kind.dtype
                    if number.narrow:
                        self.refuse(CONVERT.format(number.narrow))
                    columns[j] = replace(columns[j], dtype=dtype, strides=(dtype.itemsize,))
                    self.store(self.element(columns[j], (place,), True), dtype, number)
                after = self.emit.get(f"add i64 {place.text}, 1")
                self.emit.do(f"store i64 {after}, ptr {count}")
                self.emit.jump(end)

        self.loop(length, add, [generator.target, *generator.ifs, node.elt])
        size = Scalar(Kind.INT, self.emit.get(f"load i64, ptr {count}"), 0, bounds_of(length)[1])
        found = tuple(replace(column, shape=(size,)) for column in columns)
        item = tuple(Scalar(kind_of_dtype(each.dtype), "") for each in found)
        return ListValue(found, item if isinstance(node.elt, ast.Tuple) else item[0])

    visit_GeneratorExp = visit_ListComp

    def _are_known(self, generator: ast.comprehension, items: tuple[Any, ...]) -> bool:
        """Return True if the tests of a comprehension do not depend on the running program. Their
        code here stands where nothing reaches it."""
        block = self.emit.block
        assert block is not None
        with self.forking() as fork:
            self.emit.start(self.emit.new_block())
            self.assign(generator.target, items[0])
            are_known = all(isinstance(self.condition(test), bool) for test in generator.ifs)
            self.emit.end("unreachable")
            fork.begin()
        self.emit.start(block)
        return are_known

    def _collect_known(
        self, element: ast.expr, generators: list[ast.comprehension], items: tuple[Any, ...]
    ) -> Any:
        """Return the list of a comprehension over known items."""
        values: list[Any] = []
        generator, *inner = generators
        for item in items:
            self.assign(generator.target, item)
            is_taken = all(map(self._decide, generator.ifs))
            if is_taken and inner:
                more = self.iterate(self.evaluate(inner[0].iter))
                if not isinstance(more, tuple):
                    self.refuse("a list takes one `for` over items that are not known: write loops")
                values += self._collect_known(element, inner, more)
            elif is_taken:
                values.append(self.evaluate(element))
        return values

    def _decide(self, test: ast.expr) -> bool:
        truth = self.condition(test)
        if not isinstance(truth, bool):
            self.refuse("the `if` of this comprehension is not known: write a loop")
        return truth

    def _filter(self, tests: list[ast.expr]) -> Iterator[str]:
        """Yield once the label to jump to at the end of the code that runs if all tests hold."""
        end = self.emit.new_block()
        for test in tests:
            found = self.condition(test)
            if found is True:
                continue
            more = self.emit.new_block()
            self.emit.branch(self.to_number(found).text, more, end)
            self.emit.start(more)
        yield end
        self.emit.start(end)

    def _reduce(self, function: Any, node: ast.GeneratorExp, start: int | Scalar) -> Any:
        """Return `any`, `all` or `sum` of a generator; `any` and `all` stop as soon as Python."""
        is_sum, found, end = function is sum, function is not all, self.emit.new_block()
        first = self.to_int(start) if is_sum else constant(function is all)
        result = self.emit.slot(first.kind.llvm)
        self.emit.do(f"store {first.kind.llvm} {first.text}, ptr {result}")

        def add() -> None:
            before = Scalar(Kind.INT, self.emit.get(f"load i64, ptr {result}"))
            total = self.binary(ast.Add(), before, self.evaluate(node.elt))
            if total.kind is not Kind.INT:
                self.refuse("`sum` of fractions rounds by version of Python: use add_up")
            self.emit.do(f"store i64 {total.text}, ptr {result}")

        def look() -> None:
            test = self.condition(node.elt)
            hit, skip = self.emit.new_block(), self.emit.new_block()
            wanted = test if found else self.negate(test)
            self.emit.branch(self.to_number(wanted).text, hit, skip)
            self.emit.start(hit)
            self.emit.do(f"store i1 {constant(found).text}, ptr {result}")
            self.emit.jump(end)
            self.emit.start(skip)

        self._nest(node.generators, node.elt, add if is_sum else look)
        self.emit.jump(end)
        self.emit.start(end)
        text = self.emit.get(f"load {first.kind.llvm}, ptr {result}")
        return Scalar(first.kind, text)

    def _nest(
        self, generators: list[ast.comprehension], element: ast.expr, act: Callable[[], None]
    ) -> None:
        """Call `act` for all items of the generators of a comprehension."""
        generator, *inner = generators
        items = self.iterate(self.evaluate(generator.iter))
        table = self.to_table(items) if isinstance(items, tuple) else items

        def visit(k: Scalar) -> None:
            self.assign(generator.target, table.read(k))
            for skip in self._filter(generator.ifs):
                self._nest(inner, element, act) if inner else act()
                self.emit.jump(skip)

        nodes = [part for each in inner for part in (each.target, each.iter, *each.ifs)]
        self.loop(table.length, visit, [generator.target, *generator.ifs, *nodes, element])

    def iterate(self, value: Any) -> tuple[Any, ...] | Iterated:
        """Return the items of a value: a tuple if they are known one by one."""
        if isinstance(value, np.ndarray):
            value = self.constant_array(value)
        if isinstance(value, ArrayValue):
            return Iterated(value.shape[0], lambda k: self.read_array(value, k, is_inside=True))
        if isinstance(value, ListValue):
            items = value
            return Iterated(items.length, lambda k: self.read_from_list(items, k, is_inside=True))
        if isinstance(value, range | Range):
            value = _to_range(value)
            return Iterated(self.range_length(value), lambda k: self.range_item(value, k))
        if isinstance(value, Iterated):
            return value
        if isinstance(value, tuple | list | frozenset | set | dict) or is_known(value):
            if isinstance(value, set | frozenset):
                self.refuse("a set has no order: iterate over a tuple, or `sorted(...)` of it")
            try:
                return tuple(value)
            except TypeError:
                pass
        self.refuse(f"found {describe(value)}, which cannot be iterated")

    def to_table(self, items: tuple[Any, ...]) -> Iterated:
        """Return the items of a tuple whose items have one form, as a table of the program."""
        return Iterated(len(items), lambda k: self._read_tuple(items, k) if items else 0)

    def range_length(self, value: Range) -> int | Scalar:
        """Return the number of items of a range."""
        parts = value.start, value.stop, value.step
        if is_known(parts):
            return len(range(*parts))  # type: ignore[arg-type]
        if value.step != 1:
            length = self.call_function(count_items, value.start, value.stop, value.step)
            return replace(length, low=0) if isinstance(length, Scalar) else length
        span = self.binary(ast.Sub(), value.stop, value.start)
        length = self.select(self.compare(ast.Gt(), span, 0), span, 0)
        return Scalar(Kind.INT, length.text, 0, max(length.high, 0))

    def range_item(self, value: Range, k: Scalar) -> Scalar:
        """Return item number `k` of a range."""
        start, stop = self.to_int(value.start), self.to_int(value.stop)
        text = k.text
        if value.step != 1:
            text = self.emit.get(f"mul i64 {text}, {self.to_int(value.step).text}")
        if start.text != "0":
            text = self.emit.get(f"add i64 {start.text}, {text}")
        low, high = min(start.low, stop.low + 1), max(start.high, stop.high - 1)
        step = bounds_of(value.step)
        if step[0] > 0:
            low = start.low
        elif step[1] < 0:
            high = start.high
        return Scalar(Kind.INT, text, low, max(low, high))


def _is_pure(function: Any) -> bool:
    """Return True for what may run while compiling: classes, methods of constants, and what the
    engine's own objects offer."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, dict):
        return function.__name__ in ("get", "keys", "values", "items")
    if isinstance(function, type) or isinstance(owner, str | tuple | int | float | frozenset):
        return True
    return type(owner).__module__.startswith("gv_engine.")


def _has_array(*values: Any) -> bool:
    return any(isinstance(value, ArrayValue | ListValue) for value in values)


def _to_range(value: Range | range) -> Range:
    return Range(value.start, value.stop, value.step)


def holds_number(values: Any, number: Any) -> bool:
    """Return True if an array has a number among its elements."""
    for value in values:
        if value == number:
            return True
    return False


def count_items(start: int, stop: int, step: int) -> int:
    """Return the number of items of a range."""
    if step > 0:
        return 0 if stop <= start else (stop - start - 1) // step + 1
    return 0 if stop >= start else (start - stop - 1) // -step + 1


LIBRARY: dict[Any, Callable[..., Any]] = {}
"""Code by the function that rules call."""


_F = TypeVar("_F", bound=Callable[..., Any])


def emits(*functions: Any) -> Callable[[_F], _F]:
    """Return a decorator for a function that emits the code of calls of `functions`."""

    def add(emit: _F) -> _F:
        LIBRARY.update(dict.fromkeys(functions, emit))
        return emit

    return add
