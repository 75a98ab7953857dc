"""Units: parts of a step that are compiled once for all programs that have them.

A unit is a rule with all that it calls, or the look of an agent, as LLVM code of its own. It is
kept beside the programs, under a digest of its functions and of the types that it is called with,
and linked into every program that has it; so a new list of rules compiles only those that are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple, cast

from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils, registry
from numba.np.arrayobj import make_array

from gv_engine.compiler import programs
from gv_engine.compiler.intrinsics import (
    agents_of,
    figure,
    intrinsic,
    whose_turn,
)
from gv_engine.compiler.numba_pipeline import PARTS, part_library
from gv_engine.compiler.object_loader import ENTRY
from gv_engine.compiler.parameters import mark
from gv_engine.compiler.program_cache import keep_unit, kept_unit

# what numba says of its types leads nowhere
_types, _cgutils, _registry, _make_array = cast(Any, (types, cgutils, registry, make_array))

_INDEX = ir.IntType(64)


class Code(NamedTuple):
    """What a unit is compiled to.

    Attributes:
        name: of its function in LLVM code.
        returns: the Numba type of what it returns.
        library: the code, to be linked.
    """

    name: str
    returns: Any
    library: Any


class Unit(NamedTuple):
    """A function `(w, p, …)` of a world, of its own record of arguments, and of anything else.

    Attributes:
        function: what is compiled.
        field: of the parameters, where its own record is; "" if it takes none, `(w, …)`.
        once: whether it runs once, whoever acts.
        seldom: whether a call of it may cost what a call does.
    """

    function: Callable[..., Any]
    field: str = ""
    once: bool = False
    seldom: bool = False

    def kinds(self, w: Any, p: Any, *more: Any) -> tuple[Any, ...]:
        """The types of its arguments, in a program with parameters `p`."""
        return (w, p.fields[self.field].type, *more) if self.field else (w, *more)

    def code(self, kinds: tuple[Any, ...]) -> Code:
        """Its code for arguments of these types: known, kept, or compiled now."""
        around, codes, _ = _around.get()
        if (self.function, kinds) not in codes:
            finish = _by_itself if self.seldom else _optimised
            codes[self.function, kinds] = _code(self.function, kinds, finish, around)
        return codes[self.function, kinds]

    def emit(self, context: Any, builder: Any, types_: Sequence[Any], values: Sequence[Any]) -> Any:
        """Emit a call in a program with these arguments `(w, p, …)`; its result."""
        p, kinds = types_[1], self.kinds(*types_)
        w, parameters, *others = values
        given = [w, *others]
        if self.field:
            if "running" in p.fields:
                context.get_setattr("running", _types.void(p, _types.uint32))(
                    builder, (parameters, ir.IntType(32)(mark(self.field)))
                )
            read = context.get_getattr(p, self.field)
            given.insert(1, read(context, builder, p, parameters, self.field))
        code = self.code(kinds)
        if self.seldom:
            _around.get().seldom[code.name] = code.library
        else:
            context.active_code_library.add_linking_library(code.library)
        return _called(context, builder, code.name, code.returns, kinds, given)


def _called(
    context: Any, builder: Any, name: str, returns: Any, kinds: Sequence[Any], values: Sequence[Any]
) -> Any:
    """Emit a call of a function by its name in LLVM code; its result."""
    convention = context.call_conv
    kind = convention.get_function_type(returns, kinds)
    function = _cgutils.get_or_insert_function(builder.module, kind, name)
    status, result = convention.call_function(builder, function, returns, kinds, values)
    with _cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result


class _LinkContext(NamedTuple):
    """What a program's units lie among: a digest of it, the codes of those before, and the code of
    those that are called seldom."""

    digest: str
    codes: dict[tuple[Callable[..., Any], tuple[Any, ...]], Code]
    seldom: dict[str, Any]


_around: ContextVar[_LinkContext] = ContextVar("_around")


@contextmanager
def among(digest: str) -> Iterator[None]:
    """The units that this thread compiles in here lie among code, and settings, of this digest."""
    token = _around.set(_LinkContext(digest, {}, {}))
    try:
        yield
    finally:
        _around.reset(token)


@cache
def _spelled(kind: Any) -> str:
    """A type in a text that is the same in every process."""
    if isinstance(kind, types.Record):
        fields = ((n, f.offset, _spelled(f.type)) for n, f in cast(Any, kind.fields).items())
        return f"{type(kind).__name__}{kind.size}{list(fields)}"
    if isinstance(kind, types.BaseTuple):
        return f"({', '.join(map(_spelled, cast(Any, kind)))})"
    return str(kind)


# ---- calls in a program ------------------------------------------------------------------------


def call(unit: Unit) -> Any:
    """`(w, p, was)`: the unit's result."""

    def one(typing_context: Any, w: Any, p: Any, was: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return unit.emit(context, builder, signature.args, arguments)

        return unit.code(unit.kinds(w, p, was)).returns(w, p, was), generate

    return intrinsic(one)


def given(name: str, returns: Any = types.none) -> Any:
    """`((…))`: call the function of this name that comes with a program, with whole numbers."""

    def one(typing_context: Any, found: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = (types.int64,) * len(found)
            parts = zip(_cgutils.unpack_tuple(builder, arguments[0]), found, kinds)
            values = [context.cast(builder, *part) for part in parts]
            return _called(context, builder, f"{ENTRY}_{name}", returns, kinds, values)

        return returns(found), generate

    one.__name__ = name
    return intrinsic(one)


def in_turn(units: Sequence[Unit], acting: bool) -> Any:
    """`(w, p)`: one unit `(w, p, ())` after the other, each agent by agent: those that are acting,
    in their order, or all."""

    def each(typing_context: Any, w: Any, p: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            was = context.make_tuple(builder, _NONE, [])
            for unit in units:
                turns = (
                    nullcontext()
                    if unit.once
                    else _turns(context, builder, w, arguments[0], acting and "order")
                )
                with turns:
                    unit.emit(context, builder, (w, p, _NONE), (*arguments, was))
            return context.get_dummy_value()

        for unit in units:
            unit.code(unit.kinds(w, p, _NONE))
        return _types.none(w, p), generate

    return intrinsic(each)


def gathered(units: Sequence[Unit | None]) -> Any:
    """`(w, p)`: the results of all units `(w, p)`, as a tuple; () where there is none. Of several
    agents, the place of an array of results, by agent."""

    def each(typing_context: Any, w: Any, p: Any) -> Any:
        def result(unit: Unit | None, builder: Any, context: Any, arguments: Any) -> Any:
            if unit is None:
                return context.make_tuple(builder, _NONE, [])
            if count == 1:
                return unit.emit(context, builder, (w, p), arguments)
            kind = unit.code(unit.kinds(w, p)).returns
            results = _cgutils.alloca_once(builder, context.get_data_type(kind), count + 1)
            with _turns(context, builder, w, arguments[0], "live") as agent:
                value = unit.emit(context, builder, (w, p), arguments)
                context.pack_value(builder, kind, value, builder.gep(results, [agent]))
            return results

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            results = [result(unit, builder, context, arguments) for unit in units]
            return context.make_tuple(builder, kind, results)

        count = agents_of(w)
        found = [unit.code(unit.kinds(w, p)).returns if unit else None for unit in units]
        many = _types.CPointer if count > 1 else lambda kind: kind
        kind = _types.Tuple([many(kind) if kind else _NONE for kind in found])
        return kind(w, p), generate

    return intrinsic(each)


def summed(units: Sequence[Unit], slots: Sequence[int]) -> Any:
    """`(w, p, was, terms)`: all units `(w, p, was[k])` onto `w.reward`, where the next one finds
    the sum up to there, and each into its slot among the terms, behind which are those of the next
    agent."""

    def each(typing_context: Any, w: Any, p: Any, was: Any, terms: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            world, rows = arguments[0], _make_array(terms)(context, builder, arguments[3])
            for k, (unit, slot) in enumerate(zip(units, slots, strict=True)):
                with _turns(context, builder, w, world, "live") as agent:
                    own = builder.extract_value(arguments[2], k)
                    own = _of_agent(context, builder, was[k], own, agent)
                    kinds = w, p, _one(was[k])
                    term = unit.emit(context, builder, kinds, (*arguments[:2], own))
                    row = builder.mul(
                        builder.sub(agent, _INDEX(1)),
                        builder.udiv(builder.extract_value(rows.shape, 0), _INDEX(agents_of(w))),
                    )
                    builder.store(term, builder.gep(rows.data, [builder.add(row, _INDEX(slot))]))
                    reward = figure(context, builder, w, world, "reward", agent)
                    builder.store(builder.fadd(builder.load(reward), term), reward)
            return context.get_dummy_value()

        for unit, own in zip(units, was, strict=True):
            unit.code(unit.kinds(w, p, _one(own)))
        return _types.none(w, p, was, terms), generate

    return intrinsic(each)


@contextmanager
def _turns(context: Any, builder: Any, w: Any, world: Any, among: str | bool) -> Iterator[Any]:
    """Emit what follows for each agent, whose turn it is then: for all, for those that are `live`,
    or for these in their `order`."""
    if agents_of(w) == 1:
        yield _INDEX(1)
        return

    def number(name: str, index: Any) -> Any:
        return builder.load(figure(context, builder, w, world, name, index))

    count = _INDEX(agents_of(w))
    if "present" in w.fields:
        present = context.get_getattr(w, "present")(context, builder, w, world, "present")
        count = builder.zext(present, _INDEX)
    with _cgutils.for_range(builder, count) as loop, ExitStack() as inside:
        agent = builder.add(loop.index, _INDEX(1))
        if among == "order":
            agent = number("order", loop.index)
        if among:
            live = number("live", agent)
            inside.enter_context(builder.if_then(builder.icmp_unsigned("!=", live, live.type(0))))
        context.get_setattr("turn", _types.void(w, _types.int64))(builder, (world, agent))
        yield agent


def _of_agent(context: Any, builder: Any, kind: Any, value: Any, agent: Any) -> Any:
    """Emit what has been gathered for an agent."""
    if _one(kind) is kind:
        return value
    return context.unpack_value(builder, kind.dtype, builder.gep(value, [agent]))


def _one(kind: Any) -> Any:
    """The type of what has been gathered for an agent."""
    return kind.dtype if isinstance(kind, types.CPointer) else kind


@intrinsic
def now(typing_context: Any, w: Any, gathered: Any) -> Any:
    """`(w, gathered)`: what has been gathered for the agent whose turn it is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        agent = whose_turn(context, builder, w, arguments[0])
        return _of_agent(context, builder, gathered, arguments[1], agent)

    return _one(gathered)(w, gathered), generate


def masking(units: Sequence[Unit], actions: Sequence[int]) -> Any:
    """`(w, p, mask)`: write for each of these actions that is the scenario's whether one of the
    units `(w, p, action)` is true; those behind it are not asked, if they are not the engine's."""

    def every(typing_context: Any, w: Any, p: Any, mask: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            read = context.get_getattr(p, "places")
            places = _make_array(places_of)(
                context, builder, read(context, builder, p, arguments[1], "places")
            ).data
            first = _make_array(mask)(context, builder, arguments[2]).data
            found = _cgutils.alloca_once(builder, ir.IntType(1))
            # each action by itself, as a constant: what is asked for other ones falls away
            for index, action in enumerate(actions):
                number = _INDEX(action)
                place = builder.load(builder.gep(places, [_INDEX(index)]))
                with builder.if_then(builder.icmp_signed(">=", place, _INDEX(0))):
                    builder.store(_cgutils.false_bit, found)
                    for unit in units:
                        with guarded(builder, found):
                            answer = unit.emit(context, builder, asked, (*arguments[:2], number))
                            returns = unit.code(unit.kinds(*asked)).returns
                            answer = context.cast(builder, answer, returns, types.boolean)
                            builder.store(builder.or_(builder.load(found), answer), found)
                    valid = builder.zext(builder.load(found), first.type.pointee)
                    builder.store(valid, builder.gep(first, [place]))
            return context.get_dummy_value()

        places_of = typing_context.resolve_getattr(p, "places")
        asked = w, p, types.intp
        # asking costs less than a branch that processors guess wrongly
        guarded = _unless if "running" in p.fields else _always
        for unit in units:
            unit.code(unit.kinds(*asked))
        return _types.none(w, p, mask), generate

    masks = intrinsic(every)
    # so that programs can be told apart
    masks.__name__ = f"masks {actions}"
    return masks


def _unless(builder: Any, found: Any) -> Any:
    return builder.if_then(builder.not_(builder.load(found)))


def _always(builder: Any, found: Any) -> Any:
    return nullcontext()


_NONE = _types.Tuple(())


# ---- code ----------------------------------------------------------------------------------------


_CODES: dict[str, Code] = {}


def _code(
    function: Callable[..., Any], kinds: tuple[Any, ...], finish: Callable[..., Any], around: str
) -> Code:
    spelled = ", ".join(map(_spelled, kinds))
    key = programs.program_digest([function], spelled, finish.__name__, around)
    if key not in _CODES:
        name = f"unit_{key}"
        found = kept_unit(key)
        if found:
            returns, bitcode = _type_of(found[0]), found[1]
        else:
            returns, bitcode = _compile(function, kinds, name, finish)
        library = part_library(_codegen(), name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_dynamic_globals()
        library._finalized = True
        if not found and not library.has_dynamic_globals:  # addresses in this process
            with suppress(KeyError):  # a type that JSON does not say
                keep_unit(key, _spelled_type(returns), bitcode)
        _CODES[key] = Code(name, returns, library)
    return _CODES[key]


_PLAIN = {str(kind): kind for kind in (_types.none, _types.boolean, *_types.number_domain)}


def _spelled_type(kind: Any) -> Any:
    """A type of Numba as JSON: a name, or a list for a tuple.

    Raises:
        KeyError: it is another type than numbers and tuples of them.
    """
    if isinstance(kind, _types.BaseAnonymousTuple):
        return [_spelled_type(each) for each in kind]
    return str(_PLAIN[str(kind)])


def _type_of(spelled: Any) -> Any:
    """The type that `_spelled_type` told."""
    if isinstance(spelled, list):
        return _types.Tuple([_type_of(each) for each in spelled])
    return _PLAIN[spelled]


def _compile(
    function: Callable[..., Any], kinds: Any, name: str, finish: Callable[..., Any]
) -> tuple[Any, bytes]:
    """The type of what it returns, and LLVM code."""
    result = _typed(function, kinds)
    library = _codegen().create_library(name)
    library._final_module.link_in(result.library._final_module, preserve=True)
    module = finish(library, result.fndesc.llvm_func_name)
    module.get_function(result.fndesc.llvm_func_name).name = name
    return result.signature.return_type, module.as_bitcode()


def compile_whole(
    kernel: Callable[..., Any], elements: str, given: Sequence[FunctionType]
) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
    """An object file with `ENTRY`, what it asks for by name, and names of its environments.

    Where the kernel, a function of four numbers, has raised, `ENTRY` returns the address of what
    describes the exception, as a negative number; see `machine_code.Loaded`.

    Args:
        kernel: it.
        elements: of its arrays, which tell it from others.
        given: what it calls by their names, functions of whole numbers.
    """
    code = _code(kernel, _FOUR, _hidden, f"{elements} {_around.get().digest}")
    library = _codegen().create_library(ENTRY)
    library.add_ir_module(_entry(code))
    module = library._final_module
    module.link_in(code.library._final_module, preserve=True)
    for function in given:
        made = _typed(function, (types.int64,) * function.__code__.co_argcount)
        part = made.library._final_module
        part.get_function(made.fndesc.llvm_func_name).name = f"{ENTRY}_{function.__name__}"
        module.link_in(part, preserve=True)
    module = _optimised(library, ENTRY)
    # what is called seldom is optimised by itself, and that is enough
    for unit in _around.get().seldom.values():
        module.link_in(unit._final_module, preserve=True)
    _hidden(library, ENTRY)
    asked = [part.name for part in module.functions if part.is_declaration]
    kept = [part.name for part in module.global_variables]
    return (
        _codegen()._tm.emit_object(module),
        tuple(name for name in asked if not name.startswith("llvm.")),
        tuple(name for name in kept if name.startswith("_ZN08NumbaEnv")),
    )


_FOUR = (types.int64,) * 4
"""The types of the kernel's arguments."""


def _entry(kernel: Code) -> Any:
    """The module of a function that Python calls, with numbers, which calls the kernel."""
    context, pointer = _registry.cpu_target.target_context, ir.IntType(8).as_pointer()
    module = context.create_module(ENTRY)
    kind = context.call_conv.get_function_type(kernel.returns, _FOUR)
    called = ir.Function(module, kind, kernel.name)
    own = ir.FunctionType(pointer, [pointer, pointer.as_pointer(), _INDEX])
    entry = ir.Function(module, own, ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block())
    python = context.get_python_api(builder)
    given = [
        python.long_as_longlong(builder.load(builder.gep(entry.args[1], [_INDEX(number)])))
        for number in range(len(_FOUR))
    ]
    thread = python.save_thread()
    status, failed = context.call_conv.call_function(builder, called, kernel.returns, _FOUR, given)
    python.restore_thread(thread)
    raised = builder.neg(builder.ptrtoint(status.excinfoptr, _INDEX))
    builder.ret(python.long_from_longlong(builder.select(status.is_error, raised, failed)))
    return module


def _typed(function: Callable[..., Any], kinds: Any) -> Any:
    """What Numba makes of a function for arguments of these types."""
    compiled: Any = cast(Any, njit)(**PARTS)(function)
    compiled.compile(kinds)
    (result,) = compiled.overloads.values()
    return result


# ways to finish a library, of which only the entry is seen outside


def _hidden(library: Any, entry: str) -> Any:
    """LLVM code as it is, of what is part of another library as soon as that is finished."""
    for part in library._final_module.functions:
        if part.name == entry:
            part.linkage = "external"
        elif not part.is_declaration:
            part.linkage = "internal"
    return library._final_module


def _optimised(library: Any, entry: str) -> Any:
    """LLVM code as fast as can be."""
    _hidden(library, entry)
    library._optimize_final_module()
    return library._final_module


def _by_itself(library: Any, entry: str) -> Any:
    """LLVM code of what is never part of another library: it alone decides what becomes part of
    its callers, so that the code is smaller, and sooner there."""
    text = str(library._final_module).replace("alwaysinline", "nounwind")
    library._final_module = binding.parse_assembly(text)
    return _optimised(library, entry)


def _codegen() -> Any:
    return _registry.cpu_target.target_context.codegen()
