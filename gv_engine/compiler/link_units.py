"""Units: parts of a step that are compiled once and linked into every program that uses them.

A unit is a rule with all functions it calls, or the observation of an agent, as LLVM bitcode. It is
cached on disk under a digest of its functions and argument types. So a new list of rules only
compiles the rules that are new.
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

from gv_engine.compiler import program_cache
from gv_engine.compiler.intrinsics import (
    count_agents,
    emit_agent_pointer,
    emit_current_agent,
    intrinsic,
)
from gv_engine.compiler.numba_pipeline import PART_OPTIONS, part_library
from gv_engine.compiler.object_loader import ENTRY
from gv_engine.compiler.parameters import rule_id
from gv_engine.compiler.program_cache import read_unit, write_unit

# Numba's type hints do not help here
_types, _cgutils, _registry, _make_array = cast(Any, (types, cgutils, registry, make_array))

_INDEX = ir.IntType(64)


class UnitCode(NamedTuple):
    """Compiled code of a unit.

    Attributes:
        name: name of the function in the LLVM module.
        returns: Numba type of the result.
        library: code library to link.
    """

    name: str
    returns: Any
    library: Any


class Unit(NamedTuple):
    """A compilable function `(world, parameters, ...)` of a world and of its own parameter record.

    Attributes:
        function: Python function to compile.
        field: field of the parameters that holds the unit's record; "" if the function is `(world,
            ...)`.
        runs_once: True if it runs once per step, not once per agent.
        rare: True if it runs rarely, so that it is not inlined.
    """

    function: Callable[..., Any]
    field: str = ""
    runs_once: bool = False
    rare: bool = False

    def argument_types(self, w: Any, p: Any, *more: Any) -> tuple[Any, ...]:
        """Return the Numba types of the function's arguments, in a program with parameters of type
        `p`."""
        return (w, p.fields[self.field].type, *more) if self.field else (w, *more)

    def get_code(self, types_: tuple[Any, ...]) -> UnitCode:
        """Return the code for these argument types: from memory, from the disk cache, or compiled
        now."""
        digest, codes, _ = _link_context.get()
        if (self.function, types_) not in codes:
            finish = _optimize_alone if self.rare else _optimize
            codes[self.function, types_] = _get_or_compile(self.function, types_, finish, digest)
        return codes[self.function, types_]

    def emit(self, context: Any, builder: Any, types_: Sequence[Any], values: Sequence[Any]) -> Any:
        """Emit a call with the program's arguments `(world, parameters, ...)` and return its
        result."""
        p, argument_types = types_[1], self.argument_types(*types_)
        w, parameters, *others = values
        arguments = [w, *others]
        if self.field:
            if "running" in p.fields:
                context.get_setattr("running", _types.void(p, _types.uint32))(
                    builder, (parameters, ir.IntType(32)(rule_id(self.field)))
                )
            read = context.get_getattr(p, self.field)
            arguments.insert(1, read(context, builder, p, parameters, self.field))
        code = self.get_code(argument_types)
        if self.rare:
            _link_context.get().rare[code.name] = code.library
        else:
            context.active_code_library.add_linking_library(code.library)
        return _emit_call(context, builder, code.name, code.returns, argument_types, arguments)


def _emit_call(
    context: Any, builder: Any, name: str, returns: Any, kinds: Sequence[Any], values: Sequence[Any]
) -> Any:
    """Emit a call of an LLVM function by name, with error propagation; return its result."""
    convention = context.call_conv
    kind = convention.get_function_type(returns, kinds)
    function = _cgutils.get_or_insert_function(builder.module, kind, name)
    status, result = convention.call_function(builder, function, returns, kinds, values)
    with _cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result


class _LinkContext(NamedTuple):
    """Program that units are linked into.

    Attributes:
        digest: digest of the engine code and settings.
        codes: code of the units linked so far, by function and argument types.
        rare: libraries of the rare units, by function name.
    """

    digest: str
    codes: dict[tuple[Callable[..., Any], tuple[Any, ...]], UnitCode]
    rare: dict[str, Any]


_link_context: ContextVar[_LinkContext] = ContextVar("_link_context")


@contextmanager
def linking(digest: str) -> Iterator[None]:
    """Context manager: units that this thread compiles inside have `digest` in their cache key."""
    token = _link_context.set(_LinkContext(digest, {}, {}))
    try:
        yield
    finally:
        _link_context.reset(token)


@cache
def _type_text(kind: Any) -> str:
    """Return a text for a Numba type that is equal in every process."""
    if isinstance(kind, types.Record):
        fields = ((n, f.offset, _type_text(f.type)) for n, f in cast(Any, kind.fields).items())
        return f"{type(kind).__name__}{kind.size}{list(fields)}"
    if isinstance(kind, types.BaseTuple):
        return f"({', '.join(map(_type_text, cast(Any, kind)))})"
    return str(kind)


# ---- calls in a program ------------------------------------------------------------------------


def make_call(unit: Unit) -> Any:
    """Return an intrinsic `(world, parameters, measurements)` that calls a unit and returns its
    result."""

    def one(typing_context: Any, w: Any, p: Any, was: Any) -> Any:
        """Type check the unit; return the signature and code generator of the call."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR for a call of `one` and return the result."""
            return unit.emit(context, builder, signature.args, arguments)

        return unit.get_code(unit.argument_types(w, p, was)).returns(w, p, was), generate

    return intrinsic(one)


def make_stub(name: str, returns: Any = types.none) -> Any:
    """Return an intrinsic that takes a tuple of integers and calls the program's function of this
    name."""

    def one(typing_context: Any, numbers: Any) -> Any:
        """Type check the call; return its signature and code generator."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR for a call of `one` and return the result."""
            kinds = (types.int64,) * len(numbers)
            parts = zip(_cgutils.unpack_tuple(builder, arguments[0]), numbers, kinds)
            values = [context.cast(builder, *part) for part in parts]
            return _emit_call(context, builder, f"{ENTRY}_{name}", returns, kinds, values)

        return returns(numbers), generate

    one.__name__ = name
    return intrinsic(one)


def make_sequence(units: Sequence[Unit], acting: bool) -> Any:
    """Return an intrinsic `(world, parameters)` that calls units in order, each once or for each
    agent.

    Args:
        acting: call only agents that take part in the step, in turn order; else all agents.
    """

    def each(typing_context: Any, w: Any, p: Any) -> Any:
        """Type check all units; return the signature and code generator of the sequence."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit the calls of the units, in agent loops where needed."""
            was = context.make_tuple(builder, _NONE, [])
            for unit in units:
                turns = (
                    nullcontext()
                    if unit.runs_once
                    else _agent_loop(context, builder, w, arguments[0], acting and "order")
                )
                with turns:
                    unit.emit(context, builder, (w, p, _NONE), (*arguments, was))
            return context.get_dummy_value()

        for unit in units:
            unit.get_code(unit.argument_types(w, p, _NONE))
        return _types.none(w, p), generate

    return intrinsic(each)


def make_measurement(units: Sequence[Unit | None]) -> Any:
    """Return an intrinsic `(world, parameters)` with the tuple of the units' results; () for None.

    With several agents, each result is a pointer to an array by agent.
    """

    def each(typing_context: Any, w: Any, p: Any) -> Any:
        """Type check all units; return the signature and code generator of the measurement."""

        def result(unit: Unit | None, builder: Any, context: Any, arguments: Any) -> Any:
            """Emit the calls of one unit; return its result, or a pointer to the results by
            agent."""
            if unit is None:
                return context.make_tuple(builder, _NONE, [])
            if count == 1:
                return unit.emit(context, builder, (w, p), arguments)
            kind = unit.get_code(unit.argument_types(w, p)).returns
            results = _cgutils.alloca_once(builder, context.get_data_type(kind), count + 1)
            with _agent_loop(context, builder, w, arguments[0], "live") as agent:
                value = unit.emit(context, builder, (w, p), arguments)
                context.pack_value(builder, kind, value, builder.gep(results, [agent]))
            return results

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR for a call of `each` and return the result."""
            results = [result(unit, builder, context, arguments) for unit in units]
            return context.make_tuple(builder, kind, results)

        count = count_agents(w)
        kinds = [
            unit.get_code(unit.argument_types(w, p)).returns if unit else None for unit in units
        ]
        many = _types.CPointer if count > 1 else lambda kind: kind
        kind = _types.Tuple([many(kind) if kind else _NONE for kind in kinds])
        return kind(w, p), generate

    return intrinsic(each)


def make_reward_sum(units: Sequence[Unit], slots: Sequence[int]) -> Any:
    """Return an intrinsic `(world, parameters, measurements, terms)` that adds the rewards of all
    units to `w.reward`.

    Each reward also goes into its slot of `terms`, an array of agents times reward functions, agent
    by agent. A unit sees the sum of the units before it.
    """

    def each(typing_context: Any, w: Any, p: Any, was: Any, terms: Any) -> Any:
        """Type check all units; return the signature and code generator of the sum."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit the calls of the units, and the stores of their terms and of the sum."""
            world, rows = arguments[0], _make_array(terms)(context, builder, arguments[3])
            for k, (unit, slot) in enumerate(zip(units, slots, strict=True)):
                with _agent_loop(context, builder, w, world, "live") as agent:
                    own = builder.extract_value(arguments[2], k)
                    own = _emit_agent_value(context, builder, was[k], own, agent)
                    kinds = w, p, _agent_value_type(was[k])
                    term = unit.emit(context, builder, kinds, (*arguments[:2], own))
                    row = builder.mul(
                        builder.sub(agent, _INDEX(1)),
                        builder.udiv(builder.extract_value(rows.shape, 0), _INDEX(count_agents(w))),
                    )
                    builder.store(term, builder.gep(rows.data, [builder.add(row, _INDEX(slot))]))
                    reward = emit_agent_pointer(context, builder, w, world, "reward", agent)
                    builder.store(builder.fadd(builder.load(reward), term), reward)
            return context.get_dummy_value()

        for unit, own in zip(units, was, strict=True):
            unit.get_code(unit.argument_types(w, p, _agent_value_type(own)))
        return _types.none(w, p, was, terms), generate

    return intrinsic(each)


@contextmanager
def _agent_loop(
    context: Any, builder: Any, w: Any, world: Any, select: str | bool
) -> Iterator[Any]:
    """Context manager: emit the code inside once per agent, with `w.turn` set; yields the agent
    index.

    Args:
        selection: False for all agents, "live" for agents that take part in the step, "order" for
            these in turn order.
    """
    if count_agents(w) == 1:
        yield _INDEX(1)
        return

    def number(name: str, index: Any) -> Any:
        """Emit the load of an agent's value by field name."""
        return builder.load(emit_agent_pointer(context, builder, w, world, name, index))

    count = _INDEX(count_agents(w))
    if "present" in w.fields:
        present = context.get_getattr(w, "present")(context, builder, w, world, "present")
        count = builder.zext(present, _INDEX)
    with _cgutils.for_range(builder, count) as loop, ExitStack() as inside:
        agent = builder.add(loop.index, _INDEX(1))
        if select == "order":
            agent = number("order", loop.index)
        if select:
            live = number("live", agent)
            inside.enter_context(builder.if_then(builder.icmp_unsigned("!=", live, live.type(0))))
        context.get_setattr("turn", _types.void(w, _types.int64))(builder, (world, agent))
        yield agent


def _emit_agent_value(context: Any, builder: Any, kind: Any, value: Any, agent: Any) -> Any:
    """Emit the load of one agent's value from a per-agent array; a single value passes through."""
    if _agent_value_type(kind) is kind:
        return value
    return context.unpack_value(builder, kind.dtype, builder.gep(value, [agent]))


def _agent_value_type(kind: Any) -> Any:
    """Return the type of one agent's value: the element type of a per-agent array."""
    return kind.dtype if isinstance(kind, types.CPointer) else kind


@intrinsic
def agent_value(typing_context: Any, w: Any, values: Any) -> Any:
    """Intrinsic `(world, values)`: return the current agent's element of a per-agent array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR for a call of `agent_value` and return the result."""
        agent = emit_current_agent(context, builder, w, arguments[0])
        return _emit_agent_value(context, builder, values, arguments[1], agent)

    return _agent_value_type(values)(w, values), generate


def make_mask_writer(units: Sequence[Unit], actions: Sequence[int]) -> Any:
    """Return an intrinsic `(world, parameters, mask)` that writes the action mask: 1 if a unit
    `(world, parameters, action)` is true.

    Only actions with a place in `p.places` are tested. After a true unit, later units run only in
    programs without bounds checks, where that is faster than a branch.
    """

    def every(typing_context: Any, w: Any, p: Any, mask: Any) -> Any:
        """Type check all units and return the signature and code generator of the mask."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit a test of each action by all units, with the action as a constant."""
            read = context.get_getattr(p, "places")
            places = _make_array(places_of)(
                context, builder, read(context, builder, p, arguments[1], "places")
            ).data
            first = _make_array(mask)(context, builder, arguments[2]).data
            is_valid = _cgutils.alloca_once(builder, ir.IntType(1))
            # each action is a constant, so that LLVM removes the tests of other actions
            for index, action in enumerate(actions):
                number = _INDEX(action)
                place = builder.load(builder.gep(places, [_INDEX(index)]))
                with builder.if_then(builder.icmp_signed(">=", place, _INDEX(0))):
                    builder.store(_cgutils.false_bit, is_valid)
                    for unit in units:
                        with guarded(builder, is_valid):
                            answer = unit.emit(context, builder, kinds, (*arguments[:2], number))
                            returns = unit.get_code(unit.argument_types(*kinds)).returns
                            answer = context.cast(builder, answer, returns, types.boolean)
                            builder.store(builder.or_(builder.load(is_valid), answer), is_valid)
                    valid = builder.zext(builder.load(is_valid), first.type.pointee)
                    builder.store(valid, builder.gep(first, [place]))
            return context.get_dummy_value()

        places_of = typing_context.resolve_getattr(p, "places")
        kinds = w, p, types.intp
        # a test costs less than a mispredicted branch
        guarded = _emit_if_false if "running" in p.fields else _emit_always
        for unit in units:
            unit.get_code(unit.argument_types(*kinds))
        return _types.none(w, p, mask), generate

    masks = intrinsic(every)
    # the name is part of program digests
    masks.__name__ = f"masks {actions}"
    return masks


def _emit_if_false(builder: Any, flag: Any) -> Any:
    """Return a context manager that emits a branch taken if the flag is False."""
    return builder.if_then(builder.not_(builder.load(flag)))


def _emit_always(builder: Any, flag: Any) -> Any:
    """Return a context manager that emits no branch."""
    return nullcontext()


_NONE = _types.Tuple(())


# ---- code ----------------------------------------------------------------------------------------


_CODES: dict[str, UnitCode] = {}


def _get_or_compile(
    function: Callable[..., Any], kinds: tuple[Any, ...], finish: Callable[..., Any], digest: str
) -> UnitCode:
    """Return the code of a function for these argument types: from memory, the disk cache, or
    compiled now.

    Args:
        finish: function `(library, entry)` that prepares the LLVM module; part of the cache key.
        digest: digest of the surrounding code; part of the cache key.
    """
    types_text = ", ".join(map(_type_text, kinds))
    key = program_cache.program_digest([function], types_text, finish.__name__, digest)
    if key not in _CODES:
        name = f"unit_{key}"
        cached = read_unit(key)
        if cached:
            returns, bitcode = _type_from_json(cached[0]), cached[1]
        else:
            returns, bitcode = _compile_to_bitcode(function, kinds, name, finish)
        library = part_library(_get_codegen(), name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_dynamic_globals()
        library._finalized = True
        if not cached and not library.has_dynamic_globals:  # these are addresses in this process
            with suppress(KeyError):  # a type without a JSON form
                write_unit(key, _type_to_json(returns), bitcode)
        _CODES[key] = UnitCode(name, returns, library)
    return _CODES[key]


_PLAIN = {str(kind): kind for kind in (_types.none, _types.boolean, *_types.number_domain)}


def _type_to_json(kind: Any) -> Any:
    """Return a Numba type as JSON: a name, or a list for a tuple.

    Raises:
        KeyError: it is neither a number nor a tuple of numbers.
    """
    if isinstance(kind, _types.BaseAnonymousTuple):
        return [_type_to_json(each) for each in kind]
    return str(_PLAIN[str(kind)])


def _type_from_json(data: Any) -> Any:
    """Return the Numba type that `_type_to_json` wrote."""
    if isinstance(data, list):
        return _types.Tuple([_type_from_json(each) for each in data])
    return _PLAIN[data]


def _compile_to_bitcode(
    function: Callable[..., Any], kinds: Any, name: str, finish: Callable[..., Any]
) -> tuple[Any, bytes]:
    """Compile a function; return the Numba type of its result and its LLVM bitcode."""
    result = _compile_with_numba(function, kinds)
    library = _get_codegen().create_library(name)
    library._final_module.link_in(result.library._final_module, preserve=True)
    module = finish(library, result.fndesc.llvm_func_name)
    module.get_function(result.fndesc.llvm_func_name).name = name
    return result.signature.return_type, module.as_bitcode()


def compile_program(
    kernel: Callable[..., Any], dtypes_text: str, callees: Sequence[FunctionType]
) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
    """Return (object code, external symbols, names of Numba environments) of a program.

    The program's entry is `ENTRY`. If the kernel raises, `ENTRY` returns the negative address of
    the exception's description; see `object_loader.LoadedProgram`.

    Args:
        kernel: loop over the worlds, a function of four integers.
        dtypes_text: dtypes of the kernel's arrays, part of the cache key.
        callees: functions of integers that the kernel calls by name.
    """
    code = _get_or_compile(
        kernel, _INTS, _hide_internals, f"{dtypes_text} {_link_context.get().digest}"
    )
    library = _get_codegen().create_library(ENTRY)
    library.add_ir_module(_build_entry_module(code))
    module = library._final_module
    module.link_in(code.library._final_module, preserve=True)
    for function in callees:
        compiled = _compile_with_numba(function, (types.int64,) * function.__code__.co_argcount)
        part = compiled.library._final_module
        part.get_function(compiled.fndesc.llvm_func_name).name = f"{ENTRY}_{function.__name__}"
        module.link_in(part, preserve=True)
    module = _optimize(library, ENTRY)
    # rare units are already optimised, and not inlined
    for unit in _link_context.get().rare.values():
        module.link_in(unit._final_module, preserve=True)
    _hide_internals(library, ENTRY)
    declared = [part.name for part in module.functions if part.is_declaration]
    variables = [part.name for part in module.global_variables]
    return (
        _get_codegen()._tm.emit_object(module),
        tuple(name for name in declared if not name.startswith("llvm.")),
        tuple(name for name in variables if name.startswith("_ZN08NumbaEnv")),
    )


_INTS = (types.int64,) * 4
"""Types of the kernel's arguments: address, start, stop, mode."""


def _build_entry_module(kernel: UnitCode) -> Any:
    """Return the LLVM module of `ENTRY`: a METH_FASTCALL function that releases the GIL and calls
    the kernel."""
    context, pointer = _registry.cpu_target.target_context, ir.IntType(8).as_pointer()
    module = context.create_module(ENTRY)
    kind = context.call_conv.get_function_type(kernel.returns, _INTS)
    called = ir.Function(module, kind, kernel.name)
    own = ir.FunctionType(pointer, [pointer, pointer.as_pointer(), _INDEX])
    entry = ir.Function(module, own, ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block())
    python = context.get_python_api(builder)
    numbers = [
        python.long_as_longlong(builder.load(builder.gep(entry.args[1], [_INDEX(number)])))
        for number in range(len(_INTS))
    ]
    thread = python.save_thread()
    status, failed = context.call_conv.call_function(
        builder, called, kernel.returns, _INTS, numbers
    )
    python.restore_thread(thread)
    raised = builder.neg(builder.ptrtoint(status.excinfoptr, _INDEX))
    builder.ret(python.long_from_longlong(builder.select(status.is_error, raised, failed)))
    return module


def _compile_with_numba(function: Callable[..., Any], kinds: Any) -> Any:
    """Return Numba's compile result of a function for these argument types."""
    compiled: Any = cast(Any, njit)(**PART_OPTIONS)(function)
    compiled.compile(kinds)
    (result,) = compiled.overloads.values()
    return result


# ---- preparing a module: only the entry stays visible outside -----------------------------------


def _hide_internals(library: Any, entry: str) -> Any:
    """Make all functions of a library internal except `entry`; return its LLVM module."""
    for part in library._final_module.functions:
        if part.name == entry:
            part.linkage = "external"
        elif not part.is_declaration:
            part.linkage = "internal"
    return library._final_module


def _optimize(library: Any, entry: str) -> Any:
    """Hide internal functions and optimise a library; return its LLVM module."""
    _hide_internals(library, entry)
    library._optimize_final_module()
    return library._final_module


def _optimize_alone(library: Any, entry: str) -> Any:
    """Optimise a library that is never inlined elsewhere, with inlining left to LLVM; return its
    module.

    The code is smaller and compiles faster than with forced inlining.
    """
    text = str(library._final_module).replace("alwaysinline", "nounwind")
    library._final_module = binding.parse_assembly(text)
    return _optimize(library, entry)


def _get_codegen() -> Any:
    """Return Numba's code generator for this processor."""
    return _registry.cpu_target.target_context.codegen()
