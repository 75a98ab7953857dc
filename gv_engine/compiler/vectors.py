"""Code with vectors, for what is done for many cells at once: cutting a view out of the grid,
writing it, and finding cells by object type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.core import HIDDEN
from gv_engine.compiler.language import arithmetic, flow, memory
from gv_engine.compiler.language.body import Body, emits
from gv_engine.compiler.language.values import ArrayValue, Kind, Record, Scalar

_OPAQUE = 1 << 31
_STORE = 16
"""Bytes of one vector store."""


class _Vectors:
    """Emits instructions on vectors of `size` lanes of i32 into a function."""

    def __init__(self, body: Body, size: int) -> None:
        self.body, self.size, self.get = body, size, body.emit.value
        self.kind = f"<{size} x i32>"

    def splat(self, value: int, kind: str = "i32", size: int = 0) -> str:
        """Return a constant vector with equal lanes."""
        return f"<{', '.join([f'{kind} {value}'] * (size or self.size))}>"

    def spread(self, text: str) -> str:
        """Return a vector with an i32 in all lanes."""
        first = self.get(f"insertelement {self.kind} poison, i32 {text}, i32 0")
        zeros = self.splat(0)
        return self.get(
            f"shufflevector {self.kind} {first}, {self.kind} poison, {self.kind} {zeros}"
        )

    def shuffle(self, kind: str, vector: str, order: Sequence[int], other: str = "poison") -> str:
        """Return the lanes `order` of a vector, or of two."""
        lanes = ", ".join(f"i32 {k}" for k in order)
        mask = f"<{len(order)} x i32> <{lanes}>"
        return self.get(f"shufflevector {kind} {vector}, {kind} {other}, {mask}")

    def clamp(self, text: str, low: int, high: int) -> str:
        """Return an i64 limited to [low, high]."""
        for bound, sign in ((low, "slt"), (high, "sgt")):
            test = self.get(f"icmp {sign} i64 {text}, {bound}")
            text = self.get(f"select i1 {test}, i64 {bound}, i64 {text}")
        return text

    def bit_range(self, low: str, high: str) -> str:
        """Return an i64 whose bits from `low` to `high` - 1 are set, among the first `size`."""
        ends = [self.get(f"shl i64 1, {self.clamp(end, 0, self.size)}") for end in (low, high)]
        lower, upper = (self.get(f"sub i64 {end}, 1") for end in ends)
        return self.get(f"and i64 {upper}, {self.get(f'xor i64 {lower}, -1')}")

    def pack(self, mask: str) -> str:
        """Return the bits of a vector of i1 as an i64."""
        word = self.get(f"bitcast <{self.size} x i1> {mask} to i{self.size}")
        return self.get(f"zext i{self.size} {word} to i64")

    def transpose(self, rows: list[str]) -> list[str]:
        """Return the columns of a square matrix of vectors."""
        rows, step, lanes = [*rows], 1, range(self.size)
        while step < self.size:
            for r in (r for r in lanes if not r & step):
                one, two = rows[r], rows[r + step]
                first = [self.size + k - step if k & step else k for k in lanes]
                second = [self.size + k if k & step else k + step for k in lanes]
                rows[r] = self.shuffle(self.kind, one, first, two)
                rows[r + step] = self.shuffle(self.kind, one, second, two)
            step *= 2
        return rows

    def place(self, record: Record, name: str, index: str, size: int) -> str:
        """Return the address of the element with an index in an array of a record."""
        start = self.body.emit.offset(record.pointer, record.type.fields[name][1])
        return self.body.emit.offset(start, self.get(f"mul i64 {index}, {size}"))


def cut_looks(
    w: Any, view: Any, is_turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Copy the appearances of cells into a view. Row i of the view is row `line + i * next_line` of
    the grid, its cell j is cell `cell + j * next_cell`, where both steps are 1 or -1; if turned,
    columns take the place of rows. Cells off the grid look Hidden and are opaque."""


@emits(cut_looks)
def _cut_looks(body: Body, w: Record, view: Record, *numbers: Any) -> None:
    size, layout = view.type.attributes["tile"], w.type.attributes["layout"]
    height, width = view.type.attributes["height"], view.type.attributes["width"]
    by_rows, stride, v = view.type.attributes["by_rows"], layout.width + 1, _Vectors(body, size)
    padded = -(-width // size) * size
    is_turned = arithmetic.to_number(body, numbers[0]).operand
    line, next_line, cell, next_cell = (
        arithmetic.to_int(body, each).operand for each in numbers[1:]
    )
    rows, columns = (
        v.clamp(memory.read_field(body, w, name).operand, 0, most)
        for name, most in (("height", layout.height), ("width", layout.width))
    )
    backward = v.get(f"icmp slt i64 {next_cell}, 0")
    turns = v.spread(v.get(f"sext i1 {backward} to i32"))
    hidden, lanes = v.splat(HIDDEN | _OPAQUE), range(size)
    nothing = body.module.array(np.full(size, HIDDEN | _OPAQUE, np.uint32))
    further = v.get(f"mul i64 {next_line}, {stride}")

    def cut_tile(i: str, j: int) -> list[str]:
        along = v.get(f"select i1 {is_turned}, i64 {i}, i64 {j}")
        away = v.get(f"select i1 {is_turned}, i64 {j}, i64 {i}")
        near = v.get(f"add i64 {cell}, {v.get(f'mul i64 {along}, {next_cell}')}")
        far = v.get(f"add i64 {line}, {v.get(f'mul i64 {away}, {next_line}')}")
        back = v.get(f"sub i64 {near}, {size - 1}")
        first = v.get(f"select i1 {backward}, i64 {back}, i64 {near}")
        # bits of the loaded cells that are on the grid; the first may be off the grid
        low, high = v.get(f"sub i64 0, {first}"), v.get(f"sub i64 {columns}, {first}")
        inside = v.get(f"trunc i64 {v.bit_range(low, high)} to i{size}")
        mask = v.get(f"bitcast i{size} {inside} to <{size} x i1>")
        first = v.clamp(first, -size, stride)
        start = v.get(f"add i64 {v.get(f'mul i64 {far}, {stride}')}, {first}")
        tile = []
        for _ in lanes:
            on_grid = v.get(f"icmp ult i64 {far}, {rows}")
            place = v.get(
                f"select i1 {on_grid}, ptr {v.place(w, 'looks', start, 4)}, ptr {nothing}"
            )
            look = v.get(f"load {v.kind}, ptr {place}, align 4")
            choice = f"<{size} x i1> {mask}, {v.kind} {look}, {v.kind} {hidden}"
            look = v.get(f"select {choice}")
            far = v.get(f"add i64 {far}, {next_line}")
            start = v.get(f"add i64 {start}, {further}")
            mirrored = v.shuffle(v.kind, look, lanes[::-1])
            # by XOR, as LLVM would turn a select into a branch, which processors mispredict
            other = v.get(f"and {v.kind} {v.get(f'xor {v.kind} {look}, {mirrored}')}, {turns}")
            tile.append(v.get(f"xor {v.kind} {look}, {other}"))
        before, inner, end = str(body.emit.block), body.emit.new_block(), body.emit.new_block()
        body.emit.branch(is_turned, inner, end)
        body.emit.start_block(inner)
        turned = v.transpose(tile)
        body.emit.jump(end)
        body.emit.start_block(end)
        return [
            body.emit.phi(v.kind, pair)
            for pair in (((one, before), (two, inner)) for one, two in zip(tile, turned))
        ]

    def write_tiles(k: Any) -> None:
        i = v.get(f"mul i64 {arithmetic.to_int(body, k).operand}, {size}")
        words = [["0"] * size, ["0"] * size]
        for j in range(0, width, size):
            count = min(size, width - j)
            for number, look in enumerate(cut_tile(i, j)):
                row = v.get(f"add i64 {i}, {number}")
                index = v.get(f"add i64 {v.get(f'mul i64 {row}, {padded}')}, {j}")
                place = v.place(view, "looks", index, 4)
                body.emit.do(f"store {v.kind} {look}, ptr {place}, align 4")
                if not by_rows:
                    test = v.get(f"icmp slt {v.kind} {look}, {v.splat(0)}")
                    # a store may run over the row's end only if the next row is stored later
                    order = lanes[: count if j else size]
                    opaque = v.shuffle(f"<{size} x i1>", test, order)
                    opaque = v.get(f"zext <{len(order)} x i1> {opaque} to <{len(order)} x i8>")
                    index = v.get(f"add i64 {v.get(f'mul i64 {row}, {width}')}, {j}")
                    place = v.place(view, "opaque", index, 1)
                    body.emit.do(f"store <{len(order)} x i8> {opaque}, ptr {place}, align 1")
                    continue
                mirrored = v.shuffle(v.kind, look, lanes[::-1])
                for side, each in enumerate((look, mirrored)):
                    word = v.pack(v.get(f"icmp sge {v.kind} {each}, {v.splat(0)}"))
                    if side == 0:
                        word = v.get(f"and i64 {word}, {(1 << count) - 1}")
                        word = v.get(f"shl i64 {word}, {j}")
                    else:
                        word = v.get(f"lshr i64 {word}, {size - count}")
                        word = v.get(f"shl i64 {word}, {width - j - count}")
                    words[side][number] = v.get(f"or i64 {words[side][number]}, {word}")
        for name, of_rows in zip(("clear_rows", "clear_from_right"), words) if by_rows else ():
            for number, word in enumerate(of_rows):
                place = v.place(view, name, v.get(f"add i64 {i}, {number}"), 8)
                body.emit.do(f"store i64 {word}, ptr {place}")

    tiles = -(-height // size)
    if tiles == 1:
        write_tiles(0)
    else:
        flow.emit_loop(body, tiles, write_tiles)


def write_seen_looks(view: Any, grid: Any) -> None:
    """Write the seen cells of a view into (h, w, 3) uint8 `grid` as (type, state, colour), and
    Hidden for others."""


@emits(write_seen_looks)
def _write_seen_looks(body: Body, view: Record, grid: ArrayValue) -> None:
    size, by_rows = view.type.attributes["tile"], view.type.attributes["by_rows"]
    height, width = view.type.attributes["height"], view.type.attributes["width"]
    v, padded = _Vectors(body, size), -(-width // size) * size
    hidden = v.splat(HIDDEN)

    def find_seen(i: str, begin: int) -> str:
        if not by_rows:
            index = v.get(f"add i64 {v.get(f'mul i64 {i}, {width}')}, {begin}")
            place = v.place(view, "seen", index, 1)
            cells = v.get(f"load <{size} x i8>, ptr {place}, align 1")
            return v.get(f"icmp ne <{size} x i8> {cells}, {v.splat(0, 'i8')}")
        seen = v.splat(0)
        for name, bits in (
            ("seen_rows", [begin + k for k in range(size)]),
            ("seen_from_right", [width - 1 - begin - k for k in range(size)]),
        ):
            word = v.get(f"load i64, ptr {v.place(view, name, i, 8)}")
            first = max(0, min(bits))
            word = v.get(f"trunc i64 {v.get(f'lshr i64 {word}, {first}')} to i32")
            lanes = ", ".join(f"i32 {1 << bit - first if bit >= 0 else 0}" for bit in bits)
            part = v.get(f"and {v.kind} {v.spread(word)}, <{lanes}>")
            seen = v.get(f"or {v.kind} {seen}, {part}")
        return v.get(f"icmp ne {v.kind} {seen}, {v.splat(0)}")

    def write_row(k: Scalar) -> None:
        row = body.emit.offset(grid.pointer, v.get(f"mul i64 {k.operand}, {3 * width}"))
        for begin in range(0, width, size):
            count = min(size, width - begin)
            index = v.get(f"add i64 {v.get(f'mul i64 {k.operand}, {padded}')}, {begin}")
            look = v.get(f"load {v.kind}, ptr {v.place(view, 'looks', index, 4)}, align 4")
            seen = find_seen(k.operand, begin)
            look = v.get(f"select <{size} x i1> {seen}, {v.kind} {look}, {v.kind} {hidden}")
            parts = v.get(f"bitcast {v.kind} {look} to <{4 * size} x i8>")
            whole = 3 * count
            for start in [*range(0, whole - _STORE, _STORE), max(0, whole - _STORE)]:
                order = [n // 3 * 4 + n % 3 for n in range(start, min(whole, start + _STORE))]
                chosen = v.shuffle(f"<{4 * size} x i8>", parts, order)
                place = body.emit.offset(row, 3 * begin + start)
                body.emit.do(f"store <{len(order)} x i8> {chosen}, ptr {place}, align 1")

    flow.emit_loop(body, height, write_row)


def find_typed_cells(w: Any, i: int, types: int) -> Any:
    """Return 64 bits: bit k is 1 if the cell 64 * i + k shows an object of a type in the bit mask
    `types`, see `cells.merge_bits`."""


@emits(find_typed_cells)
def _find_typed_cells(body: Body, w: Record, i: Any, types: Any) -> Scalar:
    layout, v = w.type.attributes["layout"], _Vectors(body, 16)
    cells = (layout.height + 1) * (layout.width + 1)
    of_types = v.spread(v.get(f"trunc i64 {arithmetic.to_int(body, types).operand} to i32"))
    number, bits = arithmetic.to_int(body, i).operand, "0"
    first = v.get(f"shl i64 {number}, 6")
    for begin in range(0, 64, v.size):
        # may read past the last cell, where the row goes on or a spare one lies
        place = v.place(w, "looks", v.get(f"add i64 {first}, {begin}"), 4)
        look = v.get(f"load {v.kind}, ptr {place}, align 4")
        kind = v.get(f"and {v.kind} {look}, {v.splat(31)}")
        same = v.get(f"and {v.kind} {v.get(f'lshr {v.kind} {of_types}, {kind}')}, {v.splat(1)}")
        word = v.pack(v.get(f"icmp ne {v.kind} {same}, {v.splat(0)}"))
        bits = v.get(f"or i64 {bits}, {v.get(f'shl i64 {word}, {begin}')}")
    last = v.get(f"icmp eq i64 {number}, {(cells - 1) // 64}")
    ones = (1 << (cells - 1) % 64 + 1) - 1
    ones = ones - (1 << 64) if ones >> 63 else ones
    existing = v.get(f"select i1 {last}, i64 {ones}, i64 -1")
    return Scalar(Kind.UINT, v.get(f"and i64 {bits}, {existing}"))
