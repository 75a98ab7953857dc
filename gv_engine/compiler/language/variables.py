"""Local variables of a function being compiled: their values or templates, and their memory."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
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
    AnyValue,
    Kind,
    ListValue,
    Record,
    Scalar,
    describe,
    forget_bounds,
    is_known,
    is_number,
    iter_nested,
    kind_of,
    leaves,
    narrow_dtype_of,
    rebuild,
    to_known,
    version_key,
    with_parts,
)


def make_growing(body: Body, name: str, value: AnyValue, item: AnyValue) -> AnyValue:
    """Emit code that copies a list, so that the variable `name` can append to it; return the copy.
    Return any other value unchanged. `item` is the type of the items (a template), None if it is
    unknown."""
    if not isinstance(value, list | ListValue):
        return value
    num_columns = len(sequences.item_numbers(item)) if item else 0
    head = memory.allocate(body, constant(sequences.HEAD_SIZE + 8 * num_columns))
    body.emit.do(f"store i64 0, ptr {head}")
    body.emit.do(f"store i64 0, ptr {body.emit.offset(head, 8)}")
    copied = ListValue((), item, name, head)
    items = sequences.get_items(body, value)
    if isinstance(items, tuple):
        for each in items:
            sequences.append_item(body, copied, each)
    else:
        flow.emit_loop(
            body, items.length, lambda k: sequences.append_item(body, copied, items.read(k))
        )
    return copied


def read_variable(body: Body, name: str) -> AnyValue:
    """Return the value of a local variable; emit loads if it is in memory.

    Raises:
        Unknown: only code below assigns the variable, and no earlier try has found its template.
        CompileAgain: the value must be in memory.
    """
    if name not in body.variables:
        if name not in body.hints.templates:
            body.early_reads.setdefault(name, body.node)
            raise Unknown
        body.variables[name] = _get_shared(body, name, body.hints.templates[name])
    if name not in body.set_names:
        body.carried.add(name)
    if name not in body.set_names and body.is_checked:
        if name not in body.is_set_flags:
            body.refuse(f"{name!r} may not be set here: set it before")
        is_set = body.emit.value(f"load i1, ptr {body.is_set_flags[name]}")
        is_unset = Scalar(Kind.BOOL, body.emit.value(f"xor i1 {is_set}, true"))
        body.fail_if(is_unset, f"UnboundLocalError: the variable {name!r} is not set")
    variable = body.variables[name]
    if isinstance(variable.template, Mixed):
        if name in body.hints.shared:
            body.refuse(f"{name!r} is {variable.template}: it needs one value while compiling")
        body.hints.shared.add(name)
        raise CompileAgain
    if not variable.slots:
        if name not in body.set_names and not variable.is_known:
            body.hints.stored.add(name)
            raise CompileAgain
        return variable.template
    operands = [
        body.emit.value(f"load {leaf.llvm}, ptr {slot}")
        for leaf, slot in zip(leaves(variable.template), variable.slots)
    ]
    return rebuild(variable.template, iter(operands))


def assign_name(body: Body, name: str, value: AnyValue, is_argument: bool = False) -> None:
    """Assign a value to the local variable `name`. If several statements assign the variable, it is
    kept in memory, and a store is emitted. A constant can stay a constant if there is only one."""
    if name in body.changed_lists and not is_argument:
        value = make_growing(body, name, value, body.hints.item_templates.get(name))
    elif _contains_growing_list(value):
        body.refuse("a list that grows has one name: the other one would not see its items")
    value = body.last_values[name] = to_known(value)
    is_shared = body.source.assigned[name] > 1 or name in body.hints.shared
    if is_shared and (name in body.shared or _contains_numbers(value)):
        variable = _assign_shared(body, name, value)
    elif name in body.hints.stored:
        variable = body.variables[name] = _new_variable(body, value)
    else:
        variable = body.variables[name] = LocalVariable(value, [])
    if variable.slots:
        converted = flow.convert_to_template(body, value, variable.template)
        for leaf, slot in zip(leaves(converted), variable.slots):
            body.emit.do(f"store {leaf.llvm} {leaf.operand}, ptr {slot}")
    if name in body.is_set_flags:
        body.emit.do(f"store i1 true, ptr {body.is_set_flags[name]}")
    body.set_names.add(name)


def _new_variable(body: Body, template: AnyValue) -> LocalVariable:
    return LocalVariable(template, [body.emit.alloca(leaf.llvm) for leaf in leaves(template)])


def _assign_shared(body: Body, name: str, value: AnyValue) -> LocalVariable:
    """Return the variable `name`, which several statements assign and which is kept in memory. If
    `value` does not fit this memory, compile the function again."""
    template = body.hints.templates.get(name, _to_template(value))
    variable = body.variables[name] = _get_shared(body, name, template)
    joined = _to_template(flow.join_values(body, variable.template, value))
    if version_key(joined) != version_key(variable.template):
        body.hints.templates[name] = joined
        raise CompileAgain
    return variable


def _get_shared(body: Body, name: str, template: AnyValue) -> LocalVariable:
    if name not in body.shared:
        body.shared[name] = _new_variable(body, template)
    return body.shared[name]


def assign(body: Body, target: ast.expr, value: AnyValue) -> None:
    """Assign a value to a target of an assignment: a name, an element, a field, or a tuple of
    targets."""
    outer, body.node = body.node, target
    match target:
        case ast.Name(id="_") if not body.source.loads["_"]:
            pass  # takes any values
        case ast.Name():
            assign_name(body, target.id, value)
        case ast.Tuple() | ast.List():
            for part, each in zip(target.elts, _unpack_targets(body, target.elts, value)):
                assign(body, part.value if isinstance(part, ast.Starred) else part, each)
        case ast.Subscript():
            owner = arrays.to_mutable(body, body.evaluate(target.value))
            sequences.write_item(body, owner, body.evaluate(target.slice), value)
        case ast.Attribute():
            owner = body.evaluate(target.value)
            if not isinstance(owner, Record):
                body.refuse(f"{describe(owner)} cannot be changed in compiled code")
            memory.write_field(body, owner, target.attr, value)
        case _:
            body.refuse(f"{type(target).__name__} cannot be assigned")
    body.node = outer


def _unpack_targets(body: Body, targets: list[ast.expr], value: AnyValue) -> Sequence[Any]:
    """Return the value for each target of an assignment such as `a, *b = value`. A target with a
    star gets a list of the values that are left."""
    star_indices = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if not star_indices:
        return sequences.unpack(body, value, len(targets))
    items = tuple(sequences.unpack(body, value))
    if len(items) < len(targets) - 1:
        body.refuse(f"found {len(items)} values for {len(targets) - 1} names or more")
    (start,) = star_indices
    stop = len(items) - (len(targets) - 1 - start)
    return (*items[:start], [*items[start:stop]], *items[stop:])


def forget_known(body: Body, nodes: Iterable[ast.AST], is_unrolled: bool = False) -> None:
    """Treat the variables that a loop assigns as not constant, because they may change from one
    iteration to the next. `nodes` is the code of the loop."""
    stores = find_usage(*nodes).stores
    for name in stores.keys() & body.variables.keys() - body.shared.keys():
        variable = body.variables[name]
        if is_unrolled or (body.source.assigned[name] > 1 and variable.is_known):
            body.variables[name] = LocalVariable(Mixed(variable.template, "another"), [])


def flag_unset(body: Body, nodes: Sequence[ast.AST]) -> None:
    """With checks on, emit a run-time flag for each variable that `nodes` may assign for the first
    time. The flag is false until then, and a read of an unset variable fails."""
    if body.is_checked:
        names = find_usage(*nodes).stores.keys()
        for name in sorted(names - body.set_names - body.is_set_flags.keys()):
            emit_unset_flag(body, name)


def emit_unset_flag(body: Body, name: str) -> None:
    """Emit memory for a flag that tells if a variable is set, and a store of false."""
    body.is_set_flags[name] = body.emit.alloca("i1")
    body.emit.do(f"store i1 false, ptr {body.is_set_flags[name]}")


def resolve_early_reads(body: Body) -> None:
    """If variables were read before their assignment was compiled, compile the function again with
    their types. Raise an error for a variable that is never assigned."""
    assigned = body.early_reads.keys() & body.last_values.keys()
    for name in assigned:
        body.hints.templates[name] = _to_template(body.last_values[name])
        body.hints.shared.add(name)
    if assigned:
        raise CompileAgain
    for name, node in body.early_reads.items():
        body.node = node
        body.refuse(f"{name!r} is not set here")


def _contains_numbers(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_contains_numbers, value))
    return is_number(value) or not is_known(value)


def _contains_growing_list(value: Any) -> bool:
    return any(isinstance(each, ListValue) and bool(each.name) for each in iter_nested(value))


def _to_template(value: Any) -> Any:
    """Return the type of a variable that several statements assign, as a value with blank LLVM
    names (template). Its numbers are not constant."""
    if is_number(value):
        return Scalar(kind_of(value), "", narrow_dtype=narrow_dtype_of(value))
    if isinstance(value, tuple) or (isinstance(value, list) and not is_known(value)):
        return with_parts(value, map(_to_template, value))
    return forget_bounds(value)
