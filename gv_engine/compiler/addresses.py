"""Copies between memory addresses, and calls of compiled programs by their address. Nothing here
checks bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gv_engine.compiler.language import arithmetic, memory
from gv_engine.compiler.language.body import Body, emits
from gv_engine.compiler.language.values import ArrayValue, Kind, Scalar


def call_program(loop: int, address: int, start: int, stop: int, mode: int) -> int:
    """Call the function of a program at the address `loop`; return what it returns."""
    raise NotImplementedError


@emits(call_program)
def _call_program(body: Body, loop: Any, *values: Any) -> Scalar:
    function = body.emit.value(f"inttoptr i64 {arithmetic.to_int(body, loop).operand} to ptr")
    arguments = ", ".join(f"i64 {arithmetic.to_int(body, value).operand}" for value in values)
    return Scalar(Kind.INT, body.emit.value(f"call i64 {function}({arguments})"))


def copy_bytes(target: int, source: int, size: int) -> None:
    """Copy `size` bytes from the address `source` to the address `target`."""
    raise NotImplementedError


@emits(copy_bytes)
def _copy_bytes(body: Body, target: Any, source: Any, size: Any) -> None:
    """Emit a call of memcpy, which copies `size` bytes from the address `source` to the address
    `target`."""
    target_pointer, source_pointer = (
        body.emit.value(f"inttoptr i64 {arithmetic.to_int(body, address).operand} to ptr")
        for address in (target, source)
    )
    num_bytes = arithmetic.to_int(body, size).operand
    memory.emit_memcpy(body, target_pointer, source_pointer, num_bytes)


def make_byte_copy(count: int) -> Callable[[Any, int, Any, int], None]:
    """Return a function to be called in compiled code, `(source, source_start, target,
    target_start)`. It copies `count` bytes from one array to another. The starts are byte offsets
    in the arrays."""

    def copy(source: Any, source_start: int, target: Any, target_start: int) -> None:
        raise NotImplementedError

    @emits(copy)
    def emit(
        body: Body, source: ArrayValue, source_start: Any, target: ArrayValue, target_start: Any
    ) -> None:
        from_pointer = body.emit.offset(
            source.pointer, arithmetic.to_int(body, source_start).operand
        )
        to_pointer = body.emit.offset(target.pointer, arithmetic.to_int(body, target_start).operand)
        memory.emit_memcpy(body, to_pointer, from_pointer, str(count))

    return copy
