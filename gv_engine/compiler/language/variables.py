"""Local variables of a function: their forms and their memory."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gv_engine.compiler.language import arrays, flow, memory, sequences
from gv_engine.compiler.language.body import (
    Body,
    CompileAgain,
    LocalVariable,
    Mixed,
    Unknown,
)
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.source import find_usage
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
    rebuild,
    to_known,
    walk,
    with_parts,
)


def make_growing(body: Body, name: str, value: Any, item: Any) -> Any:
    """Return the list that a variable takes; other values as they are. `item` is the form of
    its items; None if no try has found it yet."""
    if not isinstance(value, list | ListValue):
        return value
    head = memory.allocate(
        body, constant(sequences.HEAD + 8 * len(sequences.numbers_of(item) if item else ()))
    )
    body.emit.do(f"store i64 0, ptr {head}")
    body.emit.do(f"store i64 0, ptr {body.emit.offset(head, 8)}")
    grown = ListValue((), item, name, head)
    items = sequences.iterate(body, value)
    if isinstance(items, tuple):
        for each in items:
            sequences.append_item(body, grown, each)
    else:
        flow.repeat(body, items.length, lambda k: sequences.append_item(body, grown, items.read(k)))
    return grown


def read_variable(body: Body, name: str) -> Any:
    """Return the value of a local variable."""
    if name not in body.variables:
        if name not in body.hints.forms:
            body.early.setdefault(name, body.node)
            raise Unknown
        body.variables[name] = _keep(body, name, body.hints.forms[name])
    if name not in body.set_names:
        body.carried.add(name)
    if name not in body.set_names and body.is_checked:
        if name not in body.flags:
            body.refuse(f"{name!r} may not be set here: set it before")
        is_set = body.emit.get(f"load i1, ptr {body.flags[name]}")
        unset = body.emit.get(f"xor i1 {is_set}, true")
        body.fail_if(
            Scalar(Kind.BOOL, unset), f"UnboundLocalError: the variable {name!r} is not set"
        )
    variable = body.variables[name]
    if isinstance(variable.form, Mixed):
        if name in body.hints.shared:
            body.refuse(f"{name!r} is {variable.form}: it needs one value while compiling")
        body.hints.shared.add(name)
        raise CompileAgain
    if not variable.slots:
        if name not in body.set_names and not variable.is_known:
            body.hints.stored.add(name)
            raise CompileAgain
        return variable.form
    texts = [
        body.emit.get(f"load {leaf.llvm}, ptr {slot}")
        for leaf, slot in zip(leaves(variable.form), variable.slots)
    ]
    return rebuild(variable.form, iter(texts))


def assign_name(body: Body, name: str, value: Any, is_argument: bool = False) -> None:
    """Assign a value to a local variable. It stays known while compiling if only this place
    assigns the variable, or if it is no number."""
    if name in body.grown and not is_argument:
        value = make_growing(body, name, value, body.hints.items.get(name))
    elif _has_growing_items(value):
        body.refuse("a list that grows has one name: the other one would not see its items")
    value = body.forms[name] = to_known(value)
    is_shared = body.source.assigned[name] > 1 or name in body.hints.shared
    if is_shared and (name in body.shared or _has_numbers(value)):
        variable = _share(body, name, value)
    elif name in body.hints.stored:
        variable = body.variables[name] = _new_variable(body, value)
    else:
        variable = body.variables[name] = LocalVariable(value, [])
    if variable.slots:
        for leaf, slot in zip(leaves(flow.fit(body, value, variable.form)), variable.slots):
            body.emit.do(f"store {leaf.llvm} {leaf.text}, ptr {slot}")
    if name in body.flags:
        body.emit.do(f"store i1 true, ptr {body.flags[name]}")
    body.set_names.add(name)


def _new_variable(body: Body, form: Any) -> LocalVariable:
    return LocalVariable(form, [body.emit.slot(leaf.llvm) for leaf in leaves(form)])


def _share(body: Body, name: str, value: Any) -> LocalVariable:
    """Return a variable whose form can hold the values of all places that assign it."""
    form = body.hints.forms.get(name, _widen(value))
    variable = body.variables[name] = _keep(body, name, form)
    joined = _widen(flow.join(body, variable.form, value))
    if form_of(joined) != form_of(variable.form):
        body.hints.forms[name] = joined
        raise CompileAgain
    return variable


def _keep(body: Body, name: str, form: Any) -> LocalVariable:
    if name not in body.shared:
        body.shared[name] = _new_variable(body, form)
    return body.shared[name]


def assign(body: Body, target: ast.expr, value: Any) -> None:
    """Assign a value to a variable, an element, a field, or a tuple of them."""
    outer, body.node = body.node, target
    match target:
        case ast.Name(id="_") if not body.source.loads["_"]:
            pass  # takes values of all forms
        case ast.Name():
            assign_name(body, target.id, value)
        case ast.Tuple() | ast.List():
            for part, each in zip(target.elts, _split(body, target.elts, value)):
                assign(body, part.value if isinstance(part, ast.Starred) else part, each)
        case ast.Subscript():
            owner = arrays.to_changeable(body, body.evaluate(target.value))
            sequences.write_item(body, owner, body.evaluate(target.slice), value)
        case ast.Attribute():
            owner = body.evaluate(target.value)
            if not isinstance(owner, Record):
                body.refuse(f"{describe(owner)} cannot be changed in compiled code")
            memory.write_field(body, owner, target.attr, value)
        case _:
            body.refuse(f"{type(target).__name__} cannot be assigned")
    body.node = outer


def _split(body: Body, targets: list[ast.expr], value: Any) -> Sequence[Any]:
    """Return a value for each target; `*name` takes what the others leave."""
    stars = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if not stars:
        return sequences.unpack(body, value, len(targets))
    items, after = tuple(sequences.unpack(body, value)), len(targets) - 1 - stars[0]
    if len(items) < len(targets) - 1:
        body.refuse(f"found {len(items)} values for {len(targets) - 1} names or more")
    return (
        *items[: stars[0]],
        [*items[stars[0] : len(items) - after]],
        *items[len(items) - after :],
    )


def forget_known(body: Body, nodes: Iterable[ast.AST], is_unrolled: bool = False) -> None:
    """Forget known values of variables that a loop assigns: they may change
    between its turns."""
    stores = find_usage(*nodes).stores
    for name in stores.keys() & body.variables.keys() - body.shared.keys():
        variable = body.variables[name]
        if is_unrolled or (body.source.assigned[name] > 1 and variable.is_known):
            body.variables[name] = LocalVariable(Mixed(variable.form, "another"), [])


@contextmanager
def note_unset(body: Body, *statements: Iterable[ast.AST]) -> Iterator[None]:
    """Note for variables that these statements may set that they are not set yet."""
    if body.is_checked:
        names = find_usage(*(part for group in statements for part in group)).stores.keys()
        for name in sorted(names - body.set_names - body.flags.keys()):
            body.flags[name] = body.emit.slot("i1")
            body.emit.do(f"store i1 false, ptr {body.flags[name]}")
    yield


def learn_early(body: Body) -> None:
    """Compile again with what is known of variables that were read before this try knew them;
    refuse those that nothing assigns before."""
    known = body.early.keys() & body.forms.keys()
    for name in known:
        body.hints.forms[name] = _widen(body.forms[name])
        body.hints.shared.add(name)
    if known:
        raise CompileAgain
    for name, node in body.early.items():
        body.node = node
        body.refuse(f"{name!r} is not set here")


def _has_numbers(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_numbers, value))
    return is_number(value) or not is_known(value)


def _has_growing_items(value: Any) -> bool:
    return any(isinstance(each, ListValue) and bool(each.name) for each in walk(value))


def _widen(value: Any) -> Any:
    """Return a form for a variable that is assigned in several places: numbers are not known."""
    if is_number(value):
        return Scalar(kind_of(value), "", narrow=narrow_of(value))
    if isinstance(value, tuple) or (isinstance(value, list) and not is_known(value)):
        return with_parts(value, map(_widen, value))
    return forget_bounds(value)
