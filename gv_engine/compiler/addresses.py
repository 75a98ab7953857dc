"""Copies between addresses, and calls of programs, for compiled functions of the engine. Nothing
here tests bounds."""

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
    to, at = (
        body.emit.value(f"inttoptr i64 {arithmetic.to_int(body, each).operand} to ptr")
        for each in (target, source)
    )
    memory.emit_memcpy(body, to, at, arithmetic.to_int(body, size).operand)


def make_byte_copy(count: int) -> Callable[[Any, int, Any, int], None]:
    """Return a function `(source, start, goal, place)` of compiled code that copies `count` bytes
    from index `start` of the bytes of an array to index `place` of those of another one."""

    def copy(source: Any, start: int, goal: Any, place: int) -> None:
        raise NotImplementedError

    @emits(copy)
    def emit(body: Body, source: ArrayValue, start: Any, goal: ArrayValue, place: Any) -> None:
        at = body.emit.offset(source.pointer, arithmetic.to_int(body, start).operand)
        memory.emit_memcpy(
            body,
            body.emit.offset(goal.pointer, arithmetic.to_int(body, place).operand),
            at,
            str(count),
        )

    return copy
