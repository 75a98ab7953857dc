"""Units: parts of a step that are compiled once and linked into every program that uses them.

A unit is a rule with all functions it calls, or the observation of an agent, as LLVM bitcode. It is
cached on disk under a digest of its functions and argument types. So a new list of rules only
compiles the rules that are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core.errors import UnsupportedError

from gv_engine.compiler import numba_pipeline, program_cache
from gv_engine.compiler.intrinsics import count_agents, emit_agent_pointer, emit_current_agent
from gv_engine.compiler.numba_pipeline import cgutils, emit_as, intrinsic, make_array, types
from gv_engine.compiler.parameters import Dtypes, rule_id
from gv_engine.compiler.program_cache import ENTRY, LOOP

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
    """Function `(world, parameters, ...)` that is compiled separately and linked into programs; it
    gets its own field of a program's parameter record.

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
        """Return the Numba types of the function's arguments: of the world, of the unit's field of
        the parameters `p`, if it has one, and `more`."""
        return (w, p.fields[self.field].type, *more) if self.field else (w, *more)

    def get_code(self, types_: tuple[Any, ...]) -> UnitCode:
        """Return this unit's compiled code for the Numba types `types_`: from memory, from the disk
        cache, or compiled now."""
        digest, codes, _ = _link_context.get()
        if (self.function, types_) not in codes:
            finish = numba_pipeline.optimize_alone if self.rare else numba_pipeline.optimize
            codes[self.function, types_] = _get_or_compile(self.function, types_, finish, digest)
        return codes[self.function, types_]

    def emit(self, context: Any, builder: Any, types_: Sequence[Any], values: Sequence[Any]) -> Any:
        """Emit LLVM IR that calls this unit; return the LLVM value of the result. `types_` and
        `values` are the program's arguments `(world, parameters, ...)`."""
        p, arg_types = types_[1], self.argument_types(*types_)
        w, parameters, *others = values
        arguments = [w, *others]
        if self.field:
            if "running" in p.fields:
                context.get_setattr("running", types.void(p, types.uint32))(
                    builder, (parameters, ir.IntType(32)(rule_id(self.field)))
                )
            read = context.get_getattr(p, self.field)
            arguments.insert(1, read(context, builder, p, parameters, self.field))
        code = self.get_code(arg_types)
        if self.rare:
            _link_context.get().rare[code.name] = code.library
        else:
            context.active_code_library.add_linking_library(code.library)
        return _emit_call(context, builder, code.name, code.returns, arg_types, arguments)


def _emit_call(
    context: Any, builder: Any, name: str, returns: Any, arg_types: Any, values: Sequence[Any]
) -> Any:
    """Emit LLVM IR that calls the function `name` and passes on its exceptions; return the LLVM
    value of the result."""
    convention = context.call_conv
    function_type = convention.get_function_type(returns, arg_types)
    function = cgutils.get_or_insert_function(builder.module, function_type, name)
    status, result = convention.call_function(builder, function, returns, arg_types, values)
    with cgutils.if_unlikely(builder, status.is_error):
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


def linking(digest: str) -> AbstractContextManager[None]:
    """Return a context manager: within the `with` block this thread compiles and links the
    functions of one program. `digest` becomes part of their keys in the disk cache."""
    return numba_pipeline.setting(_link_context, _LinkContext(digest, {}, {}))


@cache
def _type_text(numba_type: Any) -> str:
    """Return a text that describes a Numba type, for cache keys. It is the same in every
    process."""
    if isinstance(numba_type, types.Record):
        fields = ((n, f.offset, _type_text(f.type)) for n, f in numba_type.fields.items())
        return f"{type(numba_type).__name__}{numba_type.size}{list(fields)}"
    if isinstance(numba_type, types.BaseTuple):
        return f"({', '.join(map(_type_text, numba_type))})"
    return str(numba_type)


# ---- calls in a program ------------------------------------------------------------------------


def make_call(unit: Unit) -> Any:
    """Return an intrinsic `(world, parameters, measurements)` that calls `unit`, a separately
    compiled function, and returns its result."""

    @emit_as(lambda w, p, was: unit.get_code(unit.argument_types(w, p, was)).returns(w, p, was))
    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the call of the unit and return its result."""
        return unit.emit(context, builder, signature.args, arguments)

    return call


def make_stub(name: str, returns: Any = types.none) -> Any:
    """Return an intrinsic that calls the program's function `name` with the integers of a tuple as
    arguments. `returns` is the Numba type of the result."""

    @emit_as(lambda numbers: returns(numbers))
    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that calls the function with all integers as int64; return the LLVM value of
        the result."""
        kinds = (types.int64,) * len(signature.args[0])
        parts = zip(cgutils.unpack_tuple(builder, arguments[0]), signature.args[0], kinds)
        values = [context.cast(builder, *part) for part in parts]
        return _emit_call(context, builder, f"{ENTRY}_{name}", returns, kinds, values)

    # the name is part of program digests
    call.__name__ = name
    return call


def make_sequence(units: Sequence[Unit], acting: bool) -> Any:
    """Return an intrinsic `(world, parameters)` that calls compiled functions (`units`) in order,
    each once or for each agent; with `acting`, only for agents that take part in the step.

    Args:
        acting: call only agents that take part in the step, in turn order; else all agents.
    """

    def each(typing_context: Any, w: Any, p: Any) -> Any:
        """Type check all units for these argument types; return the intrinsic's signature and code
        generator."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR that calls the units in order, within loops over the agents where
            needed."""
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
        return types.none(w, p), generate

    return intrinsic(each)


def make_measurement(units: Sequence[Unit | None]) -> Any:
    """Return an intrinsic `(world, parameters)` that calls compiled functions (`units`) and returns
    the tuple of their results, with () in place of a unit that is None.

    With several agents, each result is a pointer to an array by agent.
    """

    def each(typing_context: Any, w: Any, p: Any) -> Any:
        """Type check all units for these argument types; return the intrinsic's signature and code
        generator."""

        def result(unit: Unit | None, builder: Any, context: Any, arguments: Any) -> Any:
            """Emit LLVM IR that calls one unit; return the LLVM value of the result. With several
            agents it is a pointer to the results by agent."""
            if unit is None:
                return context.make_tuple(builder, _NONE, [])
            if count == 1:
                return unit.emit(context, builder, (w, p), arguments)
            kind = unit.get_code(unit.argument_types(w, p)).returns
            results = cgutils.alloca_once(builder, context.get_data_type(kind), count + 1)
            with _agent_loop(context, builder, w, arguments[0], "live") as agent:
                value = unit.emit(context, builder, (w, p), arguments)
                context.pack_value(builder, kind, value, builder.gep(results, [agent]))
            return results

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR that calls all units; return the LLVM value of the tuple of their
            results."""
            results = [result(unit, builder, context, arguments) for unit in units]
            return context.make_tuple(builder, kind, results)

        count = count_agents(w)
        codes = [unit and unit.get_code(unit.argument_types(w, p)) for unit in units]
        kinds = [code and code.returns for code in codes]
        many = types.CPointer if count > 1 else lambda kind: kind
        kind = types.Tuple([many(kind) if kind else _NONE for kind in kinds])
        return kind(w, p), generate

    return intrinsic(each)


def make_reward_sum(units: Sequence[Unit], slots: Sequence[int]) -> Any:
    """Return an intrinsic `(world, parameters, measurements, terms)` that adds the results of all
    reward functions (`units`) to `w.reward`, and writes the reward of unit i into column `slots[i]`
    of the array `terms`.

    Each reward also goes into its slot of `terms`, an array of agents times reward functions, agent
    by agent. A unit sees the sum of the units before it.
    """

    def each(typing_context: Any, w: Any, p: Any, was: Any, terms: Any) -> Any:
        """Type check all reward units for these argument types; return the intrinsic's signature
        and code generator."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR that calls the reward functions, stores each reward in `terms` and adds
            it to the agent's reward."""
            world, rows = arguments[0], make_array(terms)(context, builder, arguments[3])
            for k, (unit, slot) in enumerate(zip(units, slots, strict=True)):
                with _agent_loop(context, builder, w, world, "live") as agent:
                    own = builder.extract_value(arguments[2], k)
                    own = _emit_agent_value(context, builder, was[k], own, agent)
                    kinds = w, p, _agent_value_type(was[k])
                    term = unit.emit(context, builder, kinds, (*arguments[:2], own))
                    size = builder.extract_value(rows.shape, 0)
                    size = builder.udiv(size, _INDEX(count_agents(w)))
                    row = builder.mul(builder.sub(agent, _INDEX(1)), size)
                    builder.store(term, builder.gep(rows.data, [builder.add(row, _INDEX(slot))]))
                    reward = emit_agent_pointer(context, builder, w, world, "reward", agent)
                    builder.store(builder.fadd(builder.load(reward), term), reward)
            return context.get_dummy_value()

        for unit, own in zip(units, was, strict=True):
            unit.get_code(unit.argument_types(w, p, _agent_value_type(own)))
        return types.none(w, p, was, terms), generate

    return intrinsic(each)


@contextmanager
def _agent_loop(
    context: Any, builder: Any, w: Any, world: Any, select: str | bool
) -> Iterator[Any]:
    """Context manager: emit the LLVM IR of the `with` block in a loop over all agents, or over the
    agents that `select` describes, with `w.turn` set to the agent; yield the agent's index.

    Args:
        select: False for all agents, "live" for agents that take part in the step, "order" for
            these in turn order.
    """
    if count_agents(w) == 1:
        yield _INDEX(1)
        return

    def number(name: str, index: Any) -> Any:
        """Emit LLVM IR that loads element `index` of the per-agent field `name`."""
        return builder.load(emit_agent_pointer(context, builder, w, world, name, index))

    count = _INDEX(count_agents(w))
    if "present" in w.fields:
        present = context.get_getattr(w, "present")(context, builder, w, world, "present")
        count = builder.zext(present, _INDEX)
    with cgutils.for_range(builder, count) as loop, ExitStack() as inside:
        agent = builder.add(loop.index, _INDEX(1))
        if select == "order":
            agent = number("order", loop.index)
        if select:
            live = number("live", agent)
            inside.enter_context(builder.if_then(builder.icmp_unsigned("!=", live, live.type(0))))
        context.get_setattr("turn", types.void(w, types.int64))(builder, (world, agent))
        yield agent


def _emit_agent_value(context: Any, builder: Any, numba_type: Any, value: Any, agent: Any) -> Any:
    """Return the LLVM value for one `agent`: an element of `value` if `value` is an array with one
    element per agent, else `value` itself."""
    if _agent_value_type(numba_type) is numba_type:
        return value
    return context.unpack_value(builder, numba_type.dtype, builder.gep(value, [agent]))


def _agent_value_type(numba_type: Any) -> Any:
    """Return the type of one agent's value: the element type of a per-agent array."""
    return numba_type.dtype if isinstance(numba_type, types.CPointer) else numba_type


@emit_as(lambda w, values: _agent_value_type(values)(w, values))
def agent_value(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `agent_value(world, values)`, which returns the element
    of the array `values` that belongs to the agent whose turn it is."""
    w, values = signature.args
    agent = emit_current_agent(context, builder, w, arguments[0])
    return _emit_agent_value(context, builder, values, arguments[1], agent)


def make_mask_writer(units: Sequence[Unit], actions: Sequence[int]) -> Any:
    """Return an intrinsic `(world, parameters, mask)` that writes the action mask: 1 for each of
    the `actions` for which any test `(world, parameters, action)` among the `units` is true.

    Only actions with a place in `p.places` are tested. After a true unit, later units run only in
    programs without bounds checks, where that is faster than a branch.
    """

    def every(typing_context: Any, w: Any, p: Any, mask: Any) -> Any:
        """Type check all tests for these argument types; return the intrinsic's signature and code
        generator."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR that runs the tests for each action and writes 1 or 0 into the mask."""
            read = context.get_getattr(p, "places")
            places = make_array(places_of)(
                context, builder, read(context, builder, p, arguments[1], "places")
            ).data
            first = make_array(mask)(context, builder, arguments[2]).data
            is_valid = cgutils.alloca_once(builder, ir.IntType(1))
            # each action is a constant, so that LLVM removes the tests of other actions
            for index, action in enumerate(actions):
                number = _INDEX(action)
                place = builder.load(builder.gep(places, [_INDEX(index)]))
                with builder.if_then(builder.icmp_signed(">=", place, _INDEX(0))):
                    builder.store(cgutils.false_bit, is_valid)
                    for unit in units:
                        known = builder.load(is_valid)
                        with builder.if_then(builder.not_(known)) if checked else nullcontext():
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
        checked = "running" in p.fields
        for unit in units:
            unit.get_code(unit.argument_types(*kinds))
        return types.none(w, p, mask), generate

    masks = intrinsic(every)
    # the name is part of program digests
    masks.__name__ = f"masks {actions}"
    return masks


_NONE = types.Tuple(())


# ---- code ----------------------------------------------------------------------------------------


_CODES: dict[str, UnitCode] = {}


def _get_or_compile(
    function: Callable[..., Any], arg_types: Any, finish: Callable[..., Any], digest: str
) -> UnitCode:
    """Return the code of `function` for arguments of the Numba types `arg_types`: from memory, or
    from the disk cache; if it is in neither, compile it.

    Args:
        finish: function `(library, entry)` that prepares the LLVM module; part of the cache key.
        digest: digest of the engine's code and settings; part of the cache key.
    """
    types_text = ", ".join(map(_type_text, arg_types))
    key = program_cache.program_digest([function], types_text, finish.__name__, digest)
    if key not in _CODES:
        name = f"unit_{key}"
        cached = program_cache.read_unit(key)
        if cached:
            returns, bitcode = _type_from_json(cached[0]), cached[1]
        else:
            returns, bitcode = _compile_to_bitcode(function, arg_types, name, finish)
        library = numba_pipeline.load_part(name, bitcode)
        if not cached and not library.has_dynamic_globals:  # these are addresses in this process
            with suppress(KeyError):  # a type without a JSON form
                program_cache.write_unit(key, _type_to_json(returns), bitcode)
        _CODES[key] = UnitCode(name, returns, library)
    return _CODES[key]


_PLAIN = {str(kind): kind for kind in (types.none, types.boolean, *types.number_domain)}


def _type_to_json(numba_type: Any) -> Any:
    """Return a Numba type in a form that JSON can store: a name, or a list for a tuple.

    Raises:
        KeyError: it is neither a number nor a tuple of numbers.
    """
    if isinstance(numba_type, types.BaseAnonymousTuple):
        return [_type_to_json(each) for each in numba_type]
    return str(_PLAIN[str(numba_type)])


def _type_from_json(data: Any) -> Any:
    """Return the Numba type for JSON that `_type_to_json` has returned."""
    if isinstance(data, list):
        return types.Tuple([_type_from_json(each) for each in data])
    return _PLAIN[data]


def _compile_to_bitcode(
    function: Callable[..., Any], arg_types: Any, name: str, finish: Callable[..., Any]
) -> tuple[Any, bytes]:
    """Compile `function` for these Numba types, let `finish(library, entry)` optimise it, and
    return the type of its result and its LLVM bitcode under `name`."""
    part, entry, returns = numba_pipeline.compile_to_ir(function, arg_types)
    module = finish(numba_pipeline.make_library(name, part), entry)
    module.get_function(entry).name = name
    return returns, module.as_bitcode()


def compile_program(loop: Any) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
    """Compile a `loop.BatchLoop` into one program; return (object code, external symbols, names of
    Numba environments). For WebAssembly the code is LLVM bitcode, see
    `numba_pipeline.switch_to_wasm`.

    The program's entry is `ENTRY`. If the kernel raises, `ENTRY` returns the negative address of
    the exception's description; see `object_loader.Loaded`.
    """
    rare = _link_context.get().rare
    code = _get_unoptimized_code(loop.kernel, loop.dtypes)
    library = numba_pipeline.make_library(ENTRY)
    is_wasm = numba_pipeline.compiles_to_wasm()
    entries = (ENTRY,) if is_wasm else (ENTRY, LOOP)
    library.add_ir_module(_build_loop(entries[-1], code))
    if not is_wasm:
        library.add_ir_module(_build_entry())
    module = numba_pipeline.get_module(library)
    module.link_in(numba_pipeline.get_module(code.library), preserve=True)
    for function, dtypes in loop.callees:
        shared = _get_unoptimized_code(function, dtypes)
        part = numba_pipeline.get_module(shared.library).clone()
        part.get_function(shared.name).name = f"{ENTRY}_{function.__name__}"
        module.link_in(part)
    for function in loop.own:
        part, name, _ = numba_pipeline.compile_to_ir(function, _int_types(function))
        part.get_function(name).name = f"{ENTRY}_{function.__name__}"
        module.link_in(part, preserve=True)
    module = numba_pipeline.optimize(library, *entries)
    # rare units are already optimised, and not inlined
    for unit in rare.values():
        module.link_in(numba_pipeline.get_module(unit), preserve=True)
    numba_pipeline.hide_internals(library, *entries)
    declared = [part.name for part in module.functions if part.is_declaration]
    if "numba_gil_ensure" in declared:  # Python's objects would need a Numba environment in memory
        raise UnsupportedError("a call of Python in a rule cannot be compiled")
    variables = [part.name for part in module.global_variables]
    return (
        numba_pipeline.emit_code(module),
        tuple(name for name in declared if not name.startswith("llvm.")),
        tuple(name for name in variables if name.startswith("_ZN08NumbaEnv")),
    )


def _get_unoptimized_code(function: FunctionType, dtypes: Dtypes) -> UnitCode:
    """Return the code, not optimised yet, of a function whose arguments are all integers, from the
    cache or compiled now. `dtypes` are the element dtypes of the arrays that it uses."""
    digest = f"{dtypes} {_link_context.get().digest}"
    return _get_or_compile(function, _int_types(function), numba_pipeline.hide_internals, digest)


def _int_types(function: FunctionType) -> tuple[Any, ...]:
    """Return the Numba types of the arguments of `function`, which are all int64."""
    return (types.int64,) * function.__code__.co_argcount


_INTS = (types.int64,) * 4
"""Types of the kernel's arguments: address, start, stop, mode."""


def _build_entry() -> Any:
    """Return an LLVM module with the program's `ENTRY`: a function for Python's METH_FASTCALL
    convention that releases the GIL and calls `LOOP`."""
    pointer = ir.IntType(8).as_pointer()
    kinds = pointer, pointer.as_pointer(), _INDEX
    module, builder, arguments = _begin_entry(ENTRY, pointer, kinds)
    python = numba_pipeline.target_context.get_python_api(builder)
    numbers = [
        python.long_as_longlong(builder.load(builder.gep(arguments[1], [_INDEX(number)])))
        for number in range(len(_INTS))
    ]
    kind = ir.FunctionType(_INDEX, [_INDEX] * len(_INTS))
    thread = python.save_thread()
    result = builder.call(cgutils.get_or_insert_function(module, kind, LOOP), numbers)
    python.restore_thread(thread)
    builder.ret(python.long_from_longlong(result))
    return module


def _build_loop(name: str, kernel: UnitCode) -> Any:
    """Return an LLVM module with a function `name` of four int64, the arguments of `kernel`. It
    returns the number of failed worlds, or the negative address of an exception's description."""
    module, builder, arguments = _begin_entry(name, _INDEX, [_INDEX] * len(_INTS))
    convention = numba_pipeline.target_context.call_conv
    kind = convention.get_function_type(kernel.returns, _INTS)
    function = cgutils.get_or_insert_function(module, kind, kernel.name)
    status, failed = convention.call_function(builder, function, kernel.returns, _INTS, arguments)
    raised = builder.neg(builder.ptrtoint(status.excinfoptr, _INDEX))
    builder.ret(builder.select(status.is_error, raised, failed))
    return module


def _begin_entry(name: str, returns: Any, arg_types: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return a new LLVM module with a function `name` of these LLVM types, a builder at the
    beginning of the function, and its arguments."""
    module = numba_pipeline.target_context.create_module(name)
    entry = ir.Function(module, ir.FunctionType(returns, arg_types), name)
    return module, ir.IRBuilder(entry.append_basic_block()), entry.args
