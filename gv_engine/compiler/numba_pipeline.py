"""All uses of Numba's private interfaces in the engine; also re-exports its modules without type
hints.

Numba compiles every function to machine code, although only the whole program runs. A function
compiled with `PART_OPTIONS` is optimised and compiled only as part of the program it is linked
into, which saves a third of the time.

Bounds checks raise an error with the index, axis and size. Numba's own check omits these numbers
and is set per function. Here it is set for a whole program: all code compiled inside
`setting(CHECKED, True)`, including Numba's own functions, whatever NUMBA_BOUNDSCHECK says.
"""

from __future__ import annotations

import inspect
import operator
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from types import FunctionType
from typing import Any, cast

import numba
import numba.extending
from llvmlite import binding
from llvmlite.binding import Linkage
from numba.core import base, cpu, environment, registry
from numba.core import cgutils as numba_cgutils
from numba.core import event as numba_event
from numba.core import ir as numba_ir
from numba.core import postproc as numba_postproc
from numba.core import transforms as numba_transforms
from numba.core import types as numba_types
from numba.core import utils as numba_utils
from numba.core.bytecode import FunctionIdentity
from numba.core.callconv import RETCODE_USEREXC
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.errors import UnsupportedError
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.core.typing import context as typing_context
from numba.core.typing.templates import _OverloadFunctionTemplate
from numba.np import arrayobj

from gv_engine.compiler.language.wasm import WASM_TRIPLE, make_wasm_machine
from gv_engine.rules.errors import OutOfBoundsError
from gv_engine.rules.objects import is_rule_module

# ---- Numba without type hints --------------------------------------------------------------------

# Numba's type hints are incomplete, and wrong for what the engine does
types: Any = numba_types
cgutils: Any = numba_cgutils
postproc: Any = numba_postproc
transforms: Any = numba_transforms
extending: Any = numba.extending
njit: Any = numba.njit
make_array: Any = arrayobj.make_array
_populate_array: Any = arrayobj.populate_array
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
intrinsic: Decorator = extending.intrinsic
target_context: Any = registry.cpu_target.target_context


def emit_as(make_signature: Callable[..., Any]) -> Decorator:
    """Return a decorator that turns a function that emits LLVM IR into a Numba intrinsic of the
    same name. `make_signature` returns the signature of the intrinsic.

    The emitter takes `(context, builder, signature, arguments)` and returns the result.

    Args:
        make_signature: function that takes the Numba types of the arguments and returns the
            signature; its parameters are those of the intrinsic.
    """

    def decorate(emit: Callable[..., Any]) -> Callable[..., Any]:
        """Return a Numba intrinsic whose LLVM IR is emitted by the function `emit`."""

        def define(typing_context: Any, *arguments: Any) -> Any:
            """Return signature and code generator for these argument types."""
            return make_signature(*arguments), emit

        context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(make_signature).parameters.values()
        signature = inspect.Signature([context, *parameters])
        define.__signature__ = signature  # type: ignore[attr-defined]  # numba reads it
        define.__name__, define.__doc__ = emit.__name__, emit.__doc__
        return intrinsic(define)

    return decorate


def emit_array(context: Any, builder: Any, array_type: Any, pointer: Any, length: Any) -> Any:
    """Emit LLVM IR that builds a one-dimensional Numba array of `length` elements over the memory
    at `pointer`, and return the array. It has no reference count."""
    array = make_array(array_type)(context, builder)
    num_bytes = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    size = context.get_constant(types.intp, num_bytes)
    data = builder.bitcast(pointer, array.data.type)
    _populate_array(array, data, shape=[length], strides=[size], itemsize=size, meminfo=None)
    return array._getvalue()


def get_type_code(numba_type: Any) -> int:
    """Return the number that identifies a Numba type in this process."""
    return numba_type._code  # type: ignore[no-any-return]  # numba's


# ---- parts ---------------------------------------------------------------------------------------

_MIN_LONG_STATEMENTS = 115
"""Number of Numba statements from which LLVM decides about inlining. Forced inlining of long
functions takes ten times as long."""


class _PartCodegen:
    """Numba code generator for functions that are linked into programs and never loaded into memory
    on their own."""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of Numba's code generator."""
        return getattr(target_context.codegen(), name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing; a part needs no environment in memory."""

    def _function_pass_manager(self) -> Any:
        """Return LLVM's fast passes for a function; the linked program gets the slow ones."""
        return target_context.codegen()._function_pass_manager(opt=1)


class PartLibrary(JITCodeLibrary):
    """LLVM IR of a separately compiled function, to be linked into the libraries of programs.

    The functions that it calls are linked by `link_callees`, each once.
    """

    def _optimize_functions(self, module: Any) -> None:
        """Run LLVM's fast passes on the functions that are defined in the LLVM module `module`."""
        codegen: Any = self._codegen
        module.data_layout = codegen._data_layout
        passes, builder = codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        """Mark the library as finished, without linking and machine code."""
        self._finalized = True

    def link_callees(self, entry: str = "") -> Any:
        """Return a new LLVM module with the code of this library and of all functions that it
        calls. LLVM may drop functions other than `entry` that nothing calls."""
        module, linked = self._final_module.clone(), {self}
        waiting, others = self._linking_libraries[::-1], []
        while waiting:
            library = waiting.pop()
            if library in linked:
                continue
            linked.add(library)
            if isinstance(library, PartLibrary):
                module.link_in(library._final_module, preserve=True)
                waiting += library._linking_libraries[::-1]
            else:
                others.append(library._get_module_for_linking())
        # after all calls, as LLVM links functions of these only where something calls them
        for other in others:
            module.link_in(other, preserve=True)
        for function in module.functions:
            is_callee = function.linkage == Linkage.external and not function.is_declaration
            if is_callee and function.name != entry:
                function.linkage = "linkonce_odr"
        return module

    def _get_module_for_linking(self) -> Any:
        """Return the LLVM module to link into a function that Python calls."""
        self._shared_module = self._shared_module or self.link_callees()
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: this code only runs as part of a program, so Python cannot call it."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]  # numba is
        return 0


def _find_traps(state: Any) -> Iterator[tuple[str, Any]]:
    """Yield (message, source location) for each statement in Numba's compiler `state` that Numba
    compiles without an error, though the code would hang or never do what Python does."""
    for block in state.func_ir.blocks.values():
        for printing in block.find_insts(numba_ir.Print):  # would wait for the GIL for ever
            yield "`print` cannot be compiled", printing.loc
    for expression, signature in state.calltypes.items():
        if getattr(expression, "op", "") == "binop" and expression.fn in (operator.eq, operator.ne):
            is_text = [isinstance(kind, _TEXT_TYPES) for kind in signature.args]
            if any(is_text) and not all(is_text):
                yield "a number is compared with a text, and is never equal to it", expression.loc


_TEXT_TYPES = (types.UnicodeType, types.StringLiteral)


@cast(Any, register_pass)(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lowering pass that writes into a `PartLibrary` and limits forced inlining."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function in Numba's compiler `state` to LLVM IR in a new `PartLibrary`; return
        True if the pass changed the state."""
        for message, place in _find_traps(state):
            raise UnsupportedError(message, place)
        statements = sum(len(block.body) for block in state.func_ir.blocks.values())
        state.flags.forceinline &= statements < _MIN_LONG_STATEMENTS
        state.library = cast(Any, PartLibrary)(_PartCodegen(), state.func_id.func_name)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]  # numba is


class _PartCompiler(Compiler):
    """Numba compiler of functions that are linked into programs, see `PartLibrary`."""

    def define_pipelines(self) -> list[Any]:
        """Return Numba's list of compiler passes, in which `_PartLowering` emits the LLVM IR and
        types are not annotated."""
        (numba_pipeline,) = super().define_pipelines()  # type: ignore[no-untyped-call]  # numba is
        pipeline = cast(Any, PassManager)(numba_pipeline.pipeline_name)
        pipeline.passes = [
            (_PartLowering if step is NativeLowering else step, description)
            for step, description in numba_pipeline.passes
            if step is not AnnotateTypes
        ]
        pipeline.finalize()
        return [pipeline]


_FLAGS = {name: option.default for name, option in cast(Any, Flags).options.items()}
# Numba compares flags at each look-up of a function, and reads all by name for that
cast(Any, Flags).values = lambda flags: {**_FLAGS, **flags._values}


def _list_variables(statement: Any, value: Any) -> list[Any]:
    """Return the variables in `value`, a part of a statement of Numba's IR.

    Replaces Numba's `_rec_list_vars`, which calls itself a million times for a program, mostly for
    values without parts.
    """
    if type(value) in _PLAIN_TYPES:
        return []
    return [value] if type(value) is numba_ir.Var else _list_nested(statement, value)


_PLAIN_TYPES = {str, int, type(None), numba_ir.Loc}
_list_nested = cast(Any, numba_ir.Inst)._rec_list_vars
cast(Any, numba_ir.Inst)._rec_list_vars = _list_variables

_NUMBA_OPTIONS = dict[str, Any](no_cfunc_wrapper=True, no_cpython_wrapper=True)
_NUMBA_OPTIONS["pipeline_class"] = _PartCompiler
"""Options of Numba's own functions within compiled code."""

PART_OPTIONS: dict[str, Any] = {"forceinline": True, **_NUMBA_OPTIONS}
"""Options of functions that are only called from compiled code."""

register_jitable: Decorator = extending.register_jitable(**PART_OPTIONS)
"""Decorator of functions that are only called from compiled code."""


def register_parts(functions: Iterable[FunctionType]) -> None:
    """Make Python functions callable from code that Numba compiles, except those that `overload`
    has given another implementation. Their globals keep the values that they have now."""
    for function in functions:
        if function not in _OVERLOADED:
            register_jitable(function)


def overload(function: Any) -> Decorator:
    """Return a decorator for a function that gets Numba argument types and returns the
    implementation that Numba compiles in place of `function`."""
    _OVERLOADED.add(function)
    register = extending.overload(function, jit_options=PART_OPTIONS)
    return lambda build: register(strip_annotations(build))


def strip_annotations(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper of `build`, a function from Numba types to an implementation, such that
    neither the wrapper nor the implementations have annotations: Numba requires equal
    signatures."""

    def strip(function: Any) -> inspect.Signature:
        """Return the signature of a function without annotations."""
        signature = inspect.signature(function)
        empty = inspect.Parameter.empty
        parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
        return signature.replace(parameters=parameters, return_annotation=empty)

    def build_unannotated(*arguments: Any, **named: Any) -> Any:
        """Return what `build` returns for these Numba types."""
        implementation = build(*arguments, **named)
        if implementation is not None:
            implementation.__signature__ = strip(implementation)
        return implementation

    build_unannotated.__signature__ = strip(build)  # type: ignore[attr-defined]  # numba reads it
    return build_unannotated


_OVERLOADED: set[Any] = set()
"""Functions that `overload` has given an implementation for compiled code."""
_overload: Any = _OverloadFunctionTemplate
_implementation = _overload._get_impl
_order_templates: Any = numba_utils.order_by_target_specificity
_NARROW_INTEGERS = types.int8, types.int16, types.int32, types.uint8, types.uint16


@contextmanager
def patch_numba() -> Iterator[None]:
    """Context manager: Numba compiles calls inside the `with` block with integers narrower than 64
    bits passed as int64, so that one compiled function serves all integer types.

    Numba's own functions become parts, too. Numba tells no listeners of its passes and locks, finds
    the variables that are alive only where it uses them, and sorts templates once. These take a
    sixth of the time.
    """
    orders: dict[Any, Any] = {}

    def order_once(target: Any, templates: Any, fnkey: Any = "") -> Any:
        """Return what Numba's `order_by_target_specificity` returns, computed once."""
        key = (target, *templates)
        if key not in orders:
            orders[key] = _order_templates(target, templates, fnkey)
        return orders[key]

    replacements = [
        (_overload, "_get_impl", _get_widened_implementation),
        (numba_event, "broadcast", lambda event: None),
        (postproc.PostProcessor, "run", _post_process),
        (numba_utils, "order_by_target_specificity", order_once),
        (typing_context, "order_by_target_specificity", order_once),
    ]
    with ExitStack() as stack:
        for owner, name, value in replacements:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        yield


def _post_process(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Update the control flow graph and the lifetimes of variables in a function's Numba IR. It
    replaces Numba's `PostProcessor.run`, with the same arguments, and saves time: Numba calls it
    after each of nine passes. Only for generators it calls the original, which also finds the
    variables that are alive at the start of each block."""
    func_ir = processor.func_ir
    if func_ir.is_generator:
        _post_process_fully(processor, emit_dels, extend_lifetimes)
        return
    func_ir.blocks = transforms.canonicalize_cfg(func_ir.blocks)
    func_ir.variable_lifetime = postproc.VariableLifetime(func_ir.blocks)
    func_ir.generator_info = None
    if emit_dels:
        processor._insert_var_dels(extend_lifetimes=extend_lifetimes)


_post_process_fully = postproc.PostProcessor.run


def _get_widened_implementation(template: Any, args: Any, kws: Any) -> Any:
    """Return Numba's implementation of an overloaded function for the types of `args` and `kws`,
    with narrow integers widened to int64. Replaces Numba's `_get_impl`."""
    if template._jit_options.get("pipeline_class") is _PartCompiler:
        args, kws = map(_widen_type, args), {name: _widen_type(kind) for name, kind in kws.items()}
    else:
        template._jit_options = {**template._jit_options, **_NUMBA_OPTIONS}
    return _implementation(template, tuple(args), kws)


def _widen_type(numba_type: Any) -> Any:
    """Return int64 for an integer type narrower than 64 bits, also inside tuples. Other Numba types
    are returned unchanged."""
    if type(numba_type) in (types.Tuple, types.UniTuple):
        return types.Tuple(tuple(map(_widen_type, numba_type)))
    return types.int64 if numba_type in _NARROW_INTEGERS else numba_type


# ---- LLVM modules --------------------------------------------------------------------------------


def compile_to_ir(function: Callable[..., Any], argument_types: Any) -> tuple[Any, str, Any]:
    """Compile a Python function for the Numba types `argument_types` to LLVM IR.

    Returns:
        The LLVM module, the function's name in the module, and the Numba type of the result.
    """
    compiled = njit(**PART_OPTIONS)(function)
    compiled.compile(argument_types)
    (result,) = compiled.overloads.values()
    name = result.fndesc.llvm_func_name
    return result.library.link_callees(name), name, result.signature.return_type


def make_library(name: str, *modules: Any) -> Any:
    """Return a new Numba code library named `name` with these LLVM modules linked into it."""
    library = target_context.codegen().create_library(name)
    for module in modules:
        library._final_module.link_in(module, preserve=True)
    return library


def get_module(library: Any) -> Any:
    """Return the LLVM module of a code library."""
    return library._final_module


def load_part(name: str, bitcode: bytes) -> Any:
    """Return a Numba code library named `name` that contains LLVM bitcode which was compiled
    earlier."""
    library = cast(Any, PartLibrary)(target_context.codegen(), name)
    library._final_module = binding.parse_bitcode(bitcode)
    library._finalize_dynamic_globals()
    library._finalized = True
    return library


def hide_internals(library: Any, *entries: str) -> Any:
    """Give all functions in a code library internal linkage except those named in `entries`; return
    the library's LLVM module."""
    for function in library._final_module.functions:
        if function.name in entries:
            function.linkage = "external"
        elif not function.is_declaration:
            function.linkage = "internal"
    return library._final_module


def optimize(library: Any, *entries: str) -> Any:
    """Run LLVM's optimisations on a code library whose only visible functions are `entries`; return
    the library's LLVM module."""
    hide_internals(library, *entries)
    library._optimize_final_module()
    return library._final_module


def optimize_alone(library: Any, entry: str) -> Any:
    """Run LLVM's optimisations without forced inlining on a code library whose only visible
    function is `entry`; return its LLVM module. For functions that are never inlined elsewhere.

    The code is smaller and compiles faster than with forced inlining.
    """
    text = str(library._final_module).replace("alwaysinline", "nounwind")
    library._final_module = binding.parse_assembly(text)
    return optimize(library, entry)


def emit_code(module: Any) -> bytes:
    """Return the object code of an LLVM module for this processor; for WebAssembly its bitcode, as
    several programs are linked into one module."""
    wasm = compiles_to_wasm()
    code: bytes = module.as_bitcode() if wasm else target_context.codegen()._tm.emit_object(module)
    return code


def get_generator(value: Any) -> Any:
    """Return the code generator of an intrinsic; any other value itself."""
    return getattr(value, "_defn", value)


# ---- WebAssembly ---------------------------------------------------------------------------------


class _WasmCodegen(JITCPUCodegen):
    """Numba's code generator for 32-bit WebAssembly; nothing is loaded into this process."""

    def _init(self, module: Any) -> None:
        """Set up LLVM for WebAssembly in place of this processor."""
        super()._init(module)  # type: ignore[no-untyped-call]  # numba is
        self._tm = make_wasm_machine()
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)

    def _create_empty_module(self, name: str) -> Any:
        """Return an empty LLVM module named `name`."""
        module = super()._create_empty_module(name)  # type: ignore[no-untyped-call]  # numba is
        module.triple = WASM_TRIPLE
        return module

    def _add_module(self, module: Any) -> None:
        """Do nothing; the module cannot run here."""

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing; environments are read by code that runs in this process."""


def switch_to_wasm() -> None:
    """Make Numba compile for WebAssembly from now on, in this whole process.

    Memory has 32-bit pointers there, so no code that was compiled before fits: call this before
    anything else is compiled.
    """
    target_context._internal_codegen = cast(Any, _WasmCodegen)("wasm")


def compiles_to_wasm() -> bool:
    """Return True after `switch_to_wasm`."""
    return isinstance(target_context.codegen(), _WasmCodegen)


# ---- bounds checks -------------------------------------------------------------------------------

CHECKED = ContextVar("CHECKED", default=False)
"""True while functions are compiled with bounds checks."""


@contextmanager
def setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    """Give the context variable `variable` the value `value` during the `with` block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class _BoundsCheckOptions(cpu.CPUTargetOptions):
    """Numba target options that switch bounds checks on inside `setting(CHECKED, True)`."""

    def finalize(self, flags: Any, options: Any) -> None:
        """Set Numba's compiler flag `boundscheck` if compilation runs within
        `setting(CHECKED, True)`."""
        if CHECKED.get():
            flags.boundscheck = True
        super().finalize(flags, options)  # type: ignore[no-untyped-call]  # numba is


def _is_bounds_check_enabled(context: Any) -> Any:
    """Return True inside `setting(CHECKED, True)`, else Numba's own setting."""
    return CHECKED.get() or _numba_enable_boundscheck.__get__(context)


def _emit_array_bounds_check(
    context: Any, builder: Any, index: Any, size: Any, axis: Any = None
) -> None:
    """Emit LLVM IR that checks an array index. A wrong index raises the engine's error if CHECKED
    is set, as for programs with authors' rules, else Numba's."""
    if CHECKED.get():
        axis = axis if isinstance(axis, int) else 0
        emit_bounds_check(context, builder, index, size, axis, wrapped=True)
    else:
        _numba_boundscheck(context, builder, index, size, axis)


_numba_boundscheck = cgutils.do_boundscheck
cgutils.do_boundscheck = _emit_array_bounds_check
_base_context: Any = base.BaseContext
_numba_enable_boundscheck = _base_context.enable_boundscheck
_base_context.enable_boundscheck = _numba_enable_boundscheck.getter(_is_bounds_check_enabled)
registry.cpu_target.options = _BoundsCheckOptions


def emit_bounds_check(
    context: Any, builder: Any, index: Any, size: Any, axis: int = 0, wrapped: bool = False
) -> None:
    """Emit LLVM IR that raises `OutOfBoundsError` unless 0 <= `index` < `size`.

    Args:
        axis: axis of the array, shown in the error.
        wrapped: True if the size was already added to a negative index.
    """
    # one unsigned comparison stands for two signed ones
    with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", index, size)):
        shown_index = index
        if wrapped:
            negative = builder.icmp_signed("<", index, index.type(0))
            shown_index = builder.select(negative, builder.sub(index, size), index)
        signature = types.none(types.intp, types.intp, types.intp)
        compiled = _compiled_raise.get_compile_result(signature)
        context.active_code_library.add_linking_library(compiled.library)
        arguments = shown_index, context.get_constant(types.intp, axis), size
        status, _ = context.call_internal_no_propagate(
            builder, compiled.fndesc, signature, arguments
        )
        # returns at once, so that LLVM knows the index afterwards and checks it only once
        calls, handler = context.call_conv, getattr(builder, "_in_try_block", None)
        builder.store(status.excinfoptr, calls._get_excinfo_argument(builder.function))
        if handler:
            builder.branch(handler["target"])
        else:
            calls._return_errcode_raw(builder, status.code)


@emit_as(lambda value, capacity: types.none(value, types.intp))
def check_entity(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `check_entity(value, capacity)`, which raises
    `OutOfBoundsError` unless 0 <= `value` < `capacity`; nothing in programs without checks."""
    emit_entity_check(context, builder, signature.args[0], *arguments)
    return context.get_dummy_value()


def emit_entity_check(context: Any, builder: Any, kind: Any, value: Any, capacity: Any) -> None:
    """Emit the code of `check_entity` for a value of the Numba type `kind`."""
    if context.enable_boundscheck and isinstance(kind, types.Integer):
        number = context.cast(builder, value, kind, types.intp)
        emit_bounds_check(context, builder, number, capacity, OutOfBoundsError.ENTITY)


def _raise_out_of_bounds(index: int, axis: int, size: int) -> None:
    """Raise the error of an index; compiled as `_compiled_raise`."""
    raise OutOfBoundsError(index, axis, size)


_compiled_raise = njit(_raise_out_of_bounds)


@emit_as(lambda address: types.none(types.intp))
def raise_exception_at(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `raise_exception_at(address)`, which leaves the compiled
    function with the exception that is described at `address`; nothing happens if it is 0."""
    calls, (address,) = context.call_conv, arguments
    place = calls._get_excinfo_argument(builder.function)
    builder.store(builder.inttoptr(address, place.type.pointee), place)
    with builder.if_then(builder.icmp_signed("!=", address, address.type(0))):
        calls._return_errcode_raw(builder, RETCODE_USEREXC)
    return context.get_dummy_value()


# ---- compiled code on disk -----------------------------------------------------------------------

# Numba numbers its symbols from 1 in every process, so two cached programs may use one name for
# different functions, and the first one loaded would serve both (numba issue 10486).
FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 64), -1)  # type: ignore[assignment]

# Numba reads .numba_config.yaml of the current folder, which may be a stranger's, and which can
# name modules to import. Variables NUMBA_* stay in force.
config: Any = numba.config
config._config_fname = os.devnull
with suppress(RuntimeError):  # it set the number of threads, and they run
    config.reload_config()


def _rebuild_env(module: str, constants: Any, name: str) -> Any:
    """Rebuild a Numba environment `name` from `constants`, for the module called `module`, or for
    this module if `module` is a user's rule module. Replaces Numba's `_rebuild_env`.

    Numba looks into the named module only for Python code, which programs never do. A rule file may
    be gone or changed, and must not be imported here.
    """
    return _numba_rebuild_env(__name__ if is_rule_module(module) else module, constants, name)


_numba_rebuild_env: Any = environment._rebuild_env
environment._rebuild_env = _rebuild_env
