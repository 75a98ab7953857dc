"""Local variables of a function: their forms, memory, and what branches leave of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gv_engine.compiler.language.expressions import Unknown
from gv_engine.compiler.language.lists import Lists
from gv_engine.compiler.language.source import Source, find_usage
from gv_engine.compiler.language.values import (
    Kind,
    ListValue,
    Record,
    Scalar,
    describe,
    forget_bounds,
    form_of,
    is_known,
    is_number,
    kind_of,
    leaves,
    narrow_of,
    parts_of,
    rebuild,
    to_known,
    walk,
    with_parts,
)


class CompileAgain(Exception):
    """Raised to compile a function again, as a variable needs a wider type."""


@dataclass
class Hints:
    """Findings of earlier tries to compile a function.

    Attributes:
        forms: forms of variables that are assigned in several places.
        shared: further variables that need memory for all their values.
        stored: variables that are read where not every way to the place assigns them, so that their
            value stays in memory.
        items: forms of the items of lists that grow, by variable.
    """

    forms: dict[str, Any] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    items: dict[str, Any] = field(default_factory=dict)


@dataclass
class LocalVariable:
    """A local variable: the form of its value, and memory for each LLVM value of it.

    Without memory, the form is the value itself.
    """

    form: Any
    slots: list[str]

    @property
    def is_known(self) -> bool:
        """True if nothing of the value depends on the running program."""
        return not any(True for _ in leaves(self.form))


VariableState = tuple[set[str], "dict[str, LocalVariable]"]
"""Names of the variables that are set, and all variables."""


class Variables(Lists):
    """Reads and assigns the variables of a function."""

    source: Source

    def __init__(self, hints: Hints) -> None:
        """Start without variables. `hints` are from earlier tries."""
        self._hints = hints
        self._variables: dict[str, LocalVariable] = {}
        self._shared: dict[str, LocalVariable] = {}
        self._flags: dict[str, str] = {}
        self._set: set[str] = set()
        self._forms: dict[str, Any] = {}
        self._early: dict[str, ast.AST] = {}
        self._carried: set[str] = set()

    def read_variable(self, name: str) -> Any:
        if name not in self.source.assigned:
            raise KeyError(name)
        if name not in self._variables:
            if name not in self._hints.forms:
                self._early.setdefault(name, self.node)
                raise Unknown
            self._variables[name] = self._keep(name, self._hints.forms[name])
        if name not in self._set:
            self._carried.add(name)
        if name not in self._set and self.is_checked:
            if name not in self._flags:
                self.refuse(f"{name!r} may not be set here: set it before")
            is_set = self.emit.get(f"load i1, ptr {self._flags[name]}")
            unset = self.emit.get(f"xor i1 {is_set}, true")
            self.fail_if(
                Scalar(Kind.BOOL, unset), f"UnboundLocalError: the variable {name!r} is not set"
            )
        variable = self._variables[name]
        if isinstance(variable.form, _Mixed):
            if name in self._hints.shared:
                self.refuse(f"{name!r} is {variable.form}: it needs one value while compiling")
            self._hints.shared.add(name)
            raise CompileAgain
        if not variable.slots:
            if name not in self._set and not variable.is_known:
                self._hints.stored.add(name)
                raise CompileAgain
            return variable.form
        texts = [
            self.emit.get(f"load {leaf.llvm}, ptr {slot}")
            for leaf, slot in zip(leaves(variable.form), variable.slots)
        ]
        return rebuild(variable.form, iter(texts))

    def assign_name(self, name: str, value: Any, is_argument: bool = False) -> None:
        """Assign a value to a local variable. It stays known while compiling if only this place
        assigns the variable, or if it is no number."""
        if name in self.grown and not is_argument:
            value = self.make_growing(name, value, self._hints.items.get(name))
        elif _has_growing_items(value):
            self.refuse("a list that grows has one name: the other one would not see its items")
        value = self._forms[name] = to_known(value)
        is_shared = self.source.assigned[name] > 1 or name in self._hints.shared
        if is_shared and (name in self._shared or _has_numbers(value)):
            variable = self._share(name, value)
        elif name in self._hints.stored:
            variable = self._variables[name] = self._new_variable(value)
        else:
            variable = self._variables[name] = LocalVariable(value, [])
        if variable.slots:
            for leaf, slot in zip(leaves(self.fit(value, variable.form)), variable.slots):
                self.emit.do(f"store {leaf.llvm} {leaf.text}, ptr {slot}")
        if name in self._flags:
            self.emit.do(f"store i1 true, ptr {self._flags[name]}")
        self._set.add(name)

    def widen_items(self, values: ListValue, item: Any) -> None:
        if values.name not in self.grown:
            self.refuse("the item is of another kind than those of the list")
        before = self._hints.items.get(values.name, item)
        if type(before) is not type(item) or len(parts_of(before)) != len(parts_of(item)):
            self.refuse(f"the items of {values.name!r} are numbers here and tuples there")
        self._hints.items[values.name] = item
        raise CompileAgain

    def _new_variable(self, form: Any) -> LocalVariable:
        return LocalVariable(form, [self.emit.slot(leaf.llvm) for leaf in leaves(form)])

    def _share(self, name: str, value: Any) -> LocalVariable:
        """Return a variable whose form can hold the values of all places that assign it."""
        form = self._hints.forms.get(name, _widen(value))
        variable = self._variables[name] = self._keep(name, form)
        joined = _widen(self.join(variable.form, value))
        if form_of(joined) != form_of(variable.form):
            self._hints.forms[name] = joined
            raise CompileAgain
        return variable

    def _keep(self, name: str, form: Any) -> LocalVariable:
        """Return the variable for all values of a name, made at its first use."""
        if name not in self._shared:
            self._shared[name] = self._new_variable(form)
        return self._shared[name]

    def assign(self, target: ast.expr, value: Any) -> None:
        outer, self.node = self.node, target
        match target:
            case ast.Name(id="_") if not self.source.loads["_"]:
                pass  # takes values of all forms
            case ast.Name():
                self.assign_name(target.id, value)
            case ast.Tuple() | ast.List():
                for part, each in zip(target.elts, self._split(target.elts, value)):
                    self.assign(part.value if isinstance(part, ast.Starred) else part, each)
            case ast.Subscript():
                owner = self.to_changeable(self.evaluate(target.value))
                self.write_item(owner, self.evaluate(target.slice), value)
            case ast.Attribute():
                owner = self.evaluate(target.value)
                if not isinstance(owner, Record):
                    self.refuse(f"{describe(owner)} cannot be changed in compiled code")
                self.write_field(owner, target.attr, value)
            case _:
                self.refuse(f"{type(target).__name__} cannot be assigned")
        self.node = outer

    def _split(self, targets: list[ast.expr], value: Any) -> Sequence[Any]:
        """Return a value for each target; `*name` takes what the others leave."""
        stars = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if not stars:
            return self.unpack(value, len(targets))
        items, after = tuple(self.unpack(value)), len(targets) - 1 - stars[0]
        if len(items) < len(targets) - 1:
            self.refuse(f"found {len(items)} values for {len(targets) - 1} names or more")
        return (
            *items[: stars[0]],
            [*items[stars[0] : len(items) - after]],
            *items[len(items) - after :],
        )

    @contextmanager
    def forking(self) -> Iterator[_Fork]:
        fork = _Fork(self, self._state())
        yield fork
        self._go_on(fork.after)

    def _state(self) -> VariableState:
        """Return the variables that are set here, and all variables."""
        return set(self._set), dict(self._variables)

    def _go_on(self, states: Sequence[VariableState]) -> None:
        """Go on with the variables behind branches that meet here."""
        if states:
            self._set = set.intersection(*(names for names, _ in states))
            self._variables = _merge_variables([each for _, each in states])

    def _forget_known(self, nodes: Iterable[ast.AST], is_unrolled: bool = False) -> None:
        """Forget known values of variables that a loop assigns: they may change
        between its turns."""
        stores = find_usage(*nodes).stores
        for name in stores.keys() & self._variables.keys() - self._shared.keys():
            variable = self._variables[name]
            if is_unrolled or (self.source.assigned[name] > 1 and variable.is_known):
                self._variables[name] = LocalVariable(_Mixed(variable.form, "another"), [])

    @contextmanager
    def _branching(self, *statements: Iterable[ast.AST]) -> Iterator[None]:
        """Note for variables that these statements may set that they are not set yet."""
        if self.is_checked:
            names = find_usage(*(part for group in statements for part in group)).stores.keys()
            for name in sorted(names - self._set - self._flags.keys()):
                self._flags[name] = self.emit.slot("i1")
                self.emit.do(f"store i1 false, ptr {self._flags[name]}")
        yield

    def _learn_early(self) -> None:
        """Compile again with what is known of variables that were read before this try knew them;
        refuse those that nothing assigns before."""
        known = self._early.keys() & self._forms.keys()
        for name in known:
            self._hints.forms[name] = _widen(self._forms[name])
            self._hints.shared.add(name)
        if known:
            raise CompileAgain
        for name, node in self._early.items():
            self.node = node
            self.refuse(f"{name!r} is not set here")


@dataclass
class _Fork:
    """Variables before branches, and behind each branch that goes on."""

    body: Variables
    before: VariableState
    after: list[VariableState] = field(default_factory=list)

    def begin(self) -> None:
        """Begin a branch with the variables from before."""
        self.body._go_on([self.before])

    def end(self) -> None:
        """Note the variables at the end of a branch."""
        self.after.append(self.body._state())


@dataclass(frozen=True)
class _Mixed:
    """Stands for the value of a variable that is one of two known values."""

    first: Any
    second: Any

    def __str__(self) -> str:
        return f"{describe(self.first)} or {describe(self.second)}"


def _merge_variables(branches: Sequence[dict[str, LocalVariable]]) -> dict[str, LocalVariable]:
    """Return the variables behind two branches; those with different known values are mixed."""
    merged = dict(branches[0])
    for name, variable in (pair for branch in branches[1:] for pair in branch.items()):
        other = merged.setdefault(name, variable)
        if other is not variable and (
            not (other.is_known and variable.is_known)
            or form_of(other.form) != form_of(variable.form)
        ):
            merged[name] = LocalVariable(_Mixed(other.form, variable.form), [])
    return merged


def _has_numbers(value: Any) -> bool:
    """Return True if a value is a number, or has parts that the running program computes."""
    if isinstance(value, tuple):
        return any(map(_has_numbers, value))
    return is_number(value) or not is_known(value)


def _has_growing_items(value: Any) -> bool:
    """Return True for the items of a list that grows, and for tuples with them."""
    return any(isinstance(each, ListValue) and bool(each.name) for each in walk(value))


def _widen(value: Any) -> Any:
    """Return a form for a variable that is assigned in several places: numbers are not known."""
    if is_number(value):
        return Scalar(kind_of(value), "", narrow=narrow_of(value))
    if isinstance(value, tuple) or (isinstance(value, list) and not is_known(value)):
        return with_parts(value, map(_widen, value))
    return forget_bounds(value)
