"""Code with vector (SIMD) instructions for work on many cells: copying a view from the grid,
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
    """Emits LLVM vector (SIMD) instructions on vectors of `size` 32-bit integers."""

    def __init__(self, body: Body, size: int) -> None:
        self.body, self.size, self.value = body, size, body.emit.value
        self.vector_type = f"<{size} x i32>"

    def constant(self, lane: int, lane_type: str = "i32") -> str:
        """Return a constant vector with equal lanes."""
        return f"<{', '.join([f'{lane_type} {lane}'] * self.size)}>"

    def broadcast(self, operand: str) -> str:
        """Emit a vector with an i32 in all lanes."""
        llvm = self.vector_type
        first = self.value(f"insertelement {llvm} poison, i32 {operand}, i32 0")
        return self.value(f"shufflevector {llvm} {first}, {llvm} poison, {llvm} {self.constant(0)}")

    def shuffle(
        self, llvm: str, vector: str, lanes: Sequence[int], other_vector: str = "poison"
    ) -> str:
        """Emit a vector of some lanes of a vector, or of two: those of the other follow."""
        indices = ", ".join(f"i32 {lane}" for lane in lanes)
        mask = f"<{len(lanes)} x i32> <{indices}>"
        return self.value(f"shufflevector {llvm} {vector}, {llvm} {other_vector}, {mask}")

    def clamp(self, operand: str, low: int, high: int) -> str:
        """Emit code that limits the 64-bit integer `operand` to the range [low, high]; return the
        result's LLVM name."""
        for bound, predicate in ((low, "slt"), (high, "sgt")):
            is_beyond = self.value(f"icmp {predicate} i64 {operand}, {bound}")
            operand = self.value(f"select i1 {is_beyond}, i64 {bound}, i64 {operand}")
        return operand

    def bit_range(self, low: str, high: str) -> str:
        """Emit an i64 whose bits from `low` to `high` - 1 are set, among the first `size`."""
        powers = [self.value(f"shl i64 1, {self.clamp(end, 0, self.size)}") for end in (low, high)]
        below_low, below_high = (self.value(f"sub i64 {power}, 1") for power in powers)
        return self.value(f"and i64 {below_high}, {self.value(f'xor i64 {below_low}, -1')}")

    def pack(self, mask: str) -> str:
        """Emit the bits of a vector of i1 as an i64."""
        bits = self.value(f"bitcast <{self.size} x i1> {mask} to i{self.size}")
        return self.value(f"zext i{self.size} {bits} to i64")

    def transpose(self, rows: list[str]) -> list[str]:
        """Emit the transposition of a square matrix, given as one vector per row; return the new
        rows. Blocks of 1, 2, 4 … elements are swapped in turn."""
        rows, step, lanes = [*rows], 1, range(self.size)
        while step < self.size:
            for r in (r for r in lanes if not r & step):
                upper, lower = rows[r], rows[r + step]
                upper_lanes = [self.size + k - step if k & step else k for k in lanes]
                lower_lanes = [self.size + k if k & step else k + step for k in lanes]
                rows[r] = self.shuffle(self.vector_type, upper, upper_lanes, lower)
                rows[r + step] = self.shuffle(self.vector_type, upper, lower_lanes, lower)
            step *= 2
        return rows

    def element_address(self, record: Record, name: str, index: str, item_size: int) -> str:
        """Emit the address of the element at an index of an array of a record."""
        _, start = record.type.fields[name]
        array = self.body.emit.offset(record.pointer, start)
        return self.body.emit.offset(array, self.value(f"mul i64 {index}, {item_size}"))


def cut_looks(
    w: Any, view: Any, is_turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Copy the appearances of cells into a view. Row i of the view is row `line + i * next_line` of
    the grid, its cell j is cell `cell + j * next_cell`, where both steps are 1 or -1; if turned,
    columns take the place of rows. Cells off the grid look Hidden and are opaque."""


@emits(cut_looks)
def _emit_cut_looks(body: Body, w: Record, view: Record, *numbers: Any) -> None:
    """Emit the code of `cut_looks`, which copies appearances of grid cells into a view. `numbers`
    are its other arguments."""
    is_turned = arithmetic.to_number(body, numbers[0]).operand
    line, next_line, cell, next_cell = (
        arithmetic.to_int(body, number).operand for number in numbers[1:]
    )
    _ViewCopier(body, w, view, is_turned, line, next_line, cell, next_cell).emit()


class _ViewCopier:
    """Emits the code of `cut_looks`, which copies appearances of grid cells into a view. The code
    copies square tiles of `size` x `size` cells with vector instructions."""

    def __init__(
        self,
        body: Body,
        w: Record,
        view: Record,
        is_turned: str,
        line: str,
        next_line: str,
        cell: str,
        next_cell: str,
    ) -> None:
        """Prepare the copy. All strings are LLVM names of the arguments of `cut_looks`, which says
        what they mean."""
        self._body, self._w, self._view = body, w, view
        self._is_turned, self._line, self._next_line = is_turned, line, next_line
        self._cell, self._next_cell = cell, next_cell
        view_attributes, layout = view.type.attributes, w.type.attributes["layout"]
        self._size = view_attributes["tile"]
        self._height, self._width = view_attributes["height"], view_attributes["width"]
        self._by_rows = view_attributes["by_rows"]
        self._stride = layout.width + 1
        self._vectors = v = _Vectors(body, self._size)
        self._num_rows, self._num_columns = (
            v.clamp(memory.read_field(body, w, name).operand, 0, most)
            for name, most in (("height", layout.height), ("width", layout.width))
        )
        self._is_backward = v.value(f"icmp slt i64 {next_cell}, 0")
        self._backward_mask = v.broadcast(v.value(f"sext i1 {self._is_backward} to i32"))
        self._off_grid = v.constant(HIDDEN | _OPAQUE)
        self._off_grid_cells = body.module.array(np.full(self._size, HIDDEN | _OPAQUE, np.uint32))
        self._next_line_offset = v.value(f"mul i64 {next_line}, {self._stride}")

    def emit(self) -> None:
        """Emit the code that copies all tiles, square blocks of cells, from the grid into the
        view."""
        num_tile_rows = -(-self._height // self._size)
        if num_tile_rows == 1:
            self._write_tiles(0)
        else:
            flow.emit_loop(self._body, num_tile_rows, self._write_tiles)

    def _cut_tile(self, i: str, j: int) -> list[str]:
        """Emit code that loads one tile from the grid: the one whose upper left corner is view cell
        (`i`, `j`). Return one vector of appearances per row."""
        v, emit, is_turned, lanes = (
            self._vectors,
            self._body.emit,
            self._is_turned,
            range(self._size),
        )
        along = v.value(f"select i1 {is_turned}, i64 {i}, i64 {j}")
        away = v.value(f"select i1 {is_turned}, i64 {j}, i64 {i}")
        near = v.value(f"add i64 {self._cell}, {v.value(f'mul i64 {along}, {self._next_cell}')}")
        far = v.value(f"add i64 {self._line}, {v.value(f'mul i64 {away}, {self._next_line}')}")
        back = v.value(f"sub i64 {near}, {self._size - 1}")
        first = v.value(f"select i1 {self._is_backward}, i64 {back}, i64 {near}")
        # bits of the loaded cells that are on the grid; the first may be off the grid
        low, high = v.value(f"sub i64 0, {first}"), v.value(f"sub i64 {self._num_columns}, {first}")
        on_grid_bits = v.value(f"trunc i64 {v.bit_range(low, high)} to i{self._size}")
        mask = v.value(f"bitcast i{self._size} {on_grid_bits} to <{self._size} x i1>")
        first = v.clamp(first, -self._size, self._stride)
        start = v.value(f"add i64 {v.value(f'mul i64 {far}, {self._stride}')}, {first}")
        rows = []
        for _ in lanes:
            is_row_on_grid = v.value(f"icmp ult i64 {far}, {self._num_rows}")
            looks = v.element_address(self._w, "looks", start, 4)
            pointer = v.value(
                f"select i1 {is_row_on_grid}, ptr {looks}, ptr {self._off_grid_cells}"
            )
            row = v.value(f"load {v.vector_type}, ptr {pointer}, align 4")
            operands = f"{v.vector_type} {row}, {v.vector_type} {self._off_grid}"
            row = v.value(f"select <{self._size} x i1> {mask}, {operands}")
            far = v.value(f"add i64 {far}, {self._next_line}")
            start = v.value(f"add i64 {start}, {self._next_line_offset}")
            mirrored = v.shuffle(v.vector_type, row, lanes[::-1])
            # by XOR, as LLVM would turn a select into a branch, which processors mispredict
            difference = v.value(f"xor {v.vector_type} {row}, {mirrored}")
            change = v.value(f"and {v.vector_type} {difference}, {self._backward_mask}")
            rows.append(v.value(f"xor {v.vector_type} {row}, {change}"))
        start_label = str(emit.block)
        turn_label, end_label = emit.new_block(), emit.new_block()
        emit.branch(is_turned, turn_label, end_label)
        emit.start_block(turn_label)
        turned_rows = v.transpose(rows)
        emit.jump(end_label)
        emit.start_block(end_label)
        return [
            emit.phi(v.vector_type, ((row, start_label), (turned_row, turn_label)))
            for row, turned_row in zip(rows, turned_rows)
        ]

    def _write_tiles(self, tile_row: Any) -> None:
        """Emit code that copies the tiles with index `tile_row` from the top, and stores for
        visibility rules which of their cells are transparent."""
        v, emit, size = self._vectors, self._body.emit, self._size
        i = v.value(f"mul i64 {arithmetic.to_int(self._body, tile_row).operand}, {size}")
        padded_width = -(-self._width // size) * size
        clear_rows, clear_from_right = ["0"] * size, ["0"] * size
        for j in range(0, self._width, size):
            for number, look in enumerate(self._cut_tile(i, j)):
                row = v.value(f"add i64 {i}, {number}")
                index = v.value(f"add i64 {v.value(f'mul i64 {row}, {padded_width}')}, {j}")
                pointer = v.element_address(self._view, "looks", index, 4)
                emit.do(f"store {v.vector_type} {look}, ptr {pointer}, align 4")
                if not self._by_rows:
                    self._store_opaque(look, row, j)
                    continue
                mirrored = v.shuffle(v.vector_type, look, range(size)[::-1])
                clear_rows[number] = self._add_clear_bits(clear_rows[number], look, j)
                clear_from_right[number] = self._add_clear_bits(
                    clear_from_right[number], mirrored, j, from_right=True
                )
        if self._by_rows:
            self._store_words("clear_rows", i, clear_rows)
            self._store_words("clear_from_right", i, clear_from_right)

    def _store_opaque(self, appearances: str, row: str, j: int) -> None:
        """Emit code that stores one byte per cell for part of a view row: 1 if the cell blocks
        vision, else 0. The part begins at column `j` of row `row`; the vector `appearances` has its
        cells."""
        v, size = self._vectors, self._size
        is_opaque = v.value(f"icmp slt {v.vector_type} {appearances}, {v.constant(0)}")
        # a store may run over the row's end only if the next row is stored later
        num_cells = min(size, self._width - j) if j else size
        opaque = v.shuffle(f"<{size} x i1>", is_opaque, range(num_cells))
        opaque = v.value(f"zext <{num_cells} x i1> {opaque} to <{num_cells} x i8>")
        index = v.value(f"add i64 {v.value(f'mul i64 {row}, {self._width}')}, {j}")
        pointer = v.element_address(self._view, "opaque", index, 1)
        self._body.emit.do(f"store <{num_cells} x i8> {opaque}, ptr {pointer}, align 1")

    def _add_clear_bits(self, mask: str, appearances: str, j: int, from_right: bool = False) -> str:
        """Emit code that sets bits of the integer `mask` for the transparent cells of part of a
        view row, which begins at column `j`; return the new mask. The vector `appearances` has the
        cells, mirrored if `from_right`."""
        v = self._vectors
        num_cells = min(self._size, self._width - j)
        bits = v.pack(v.value(f"icmp sge {v.vector_type} {appearances}, {v.constant(0)}"))
        if from_right:
            bits = v.value(f"lshr i64 {bits}, {self._size - num_cells}")
            bits = v.value(f"shl i64 {bits}, {self._width - j - num_cells}")
        else:
            bits = v.value(f"and i64 {bits}, {(1 << num_cells) - 1}")
            bits = v.value(f"shl i64 {bits}, {j}")
        return v.value(f"or i64 {mask}, {bits}")

    def _store_words(self, name: str, first_row: str, masks: list[str]) -> None:
        """Emit code that stores each of `masks`, one per view row from `first_row` on, into the
        field `name` of the view."""
        v = self._vectors
        for number, word in enumerate(masks):
            row = v.value(f"add i64 {first_row}, {number}")
            pointer = v.element_address(self._view, name, row, 8)
            self._body.emit.do(f"store i64 {word}, ptr {pointer}")


def write_seen_looks(view: Any, grid: Any) -> None:
    """Write the seen cells of a view into (h, w, 3) uint8 `grid` as (type, state, colour), and
    Hidden for others."""


@emits(write_seen_looks)
def _emit_write_seen_looks(body: Body, view: Record, grid: ArrayValue) -> None:
    """Emit the code of `write_seen_looks`, which writes the cells of a view into an observation
    `grid`: Hidden if unseen."""
    size, width = view.type.attributes["tile"], view.type.attributes["width"]
    v, padded_width = _Vectors(body, size), -(-width // size) * size
    hidden = v.constant(HIDDEN)

    def write_row(k: Scalar) -> None:
        i = k.operand
        row = body.emit.offset(grid.pointer, v.value(f"mul i64 {i}, {3 * width}"))
        for j in range(0, width, size):
            index = v.value(f"add i64 {v.value(f'mul i64 {i}, {padded_width}')}, {j}")
            pointer = v.element_address(view, "looks", index, 4)
            look = v.value(f"load {v.vector_type}, ptr {pointer}, align 4")
            operands = f"{v.vector_type} {look}, {v.vector_type} {hidden}"
            look = v.value(f"select <{size} x i1> {_find_seen(v, view, i, j)}, {operands}")
            channels = v.value(f"bitcast {v.vector_type} {look} to <{4 * size} x i8>")
            num_bytes = 3 * min(size, width - j)
            for start in [*range(0, num_bytes - _STORE, _STORE), max(0, num_bytes - _STORE)]:
                # three of the four bytes of each look
                stop = min(num_bytes, start + _STORE)
                lanes = [n // 3 * 4 + n % 3 for n in range(start, stop)]
                chunk = v.shuffle(f"<{4 * size} x i8>", channels, lanes)
                pointer = body.emit.offset(row, 3 * j + start)
                body.emit.do(f"store <{len(lanes)} x i8> {chunk}, ptr {pointer}, align 1")

    flow.emit_loop(body, view.type.attributes["height"], write_row)


def _find_seen(v: _Vectors, view: Record, i: str, j: int) -> str:
    """Emit code that loads which cells of view row `i` are seen, from column `j` on. Return a
    vector of flags, true for each seen cell."""
    width = view.type.attributes["width"]
    if not view.type.attributes["by_rows"]:
        index = v.value(f"add i64 {v.value(f'mul i64 {i}, {width}')}, {j}")
        pointer = v.element_address(view, "seen", index, 1)
        cells = v.value(f"load <{v.size} x i8>, ptr {pointer}, align 1")
        return v.value(f"icmp ne <{v.size} x i8> {cells}, {v.constant(0, 'i8')}")
    seen = v.constant(0)
    for name, bits in (
        ("seen_rows", [j + k for k in range(v.size)]),
        ("seen_from_right", [width - 1 - j - k for k in range(v.size)]),
    ):
        word = v.value(f"load i64, ptr {v.element_address(view, name, i, 8)}")
        first_bit = max(0, min(bits))
        word = v.value(f"trunc i64 {v.value(f'lshr i64 {word}, {first_bit}')} to i32")
        lanes = ", ".join(f"i32 {1 << bit - first_bit if bit >= 0 else 0}" for bit in bits)
        seen_bits = v.value(f"and {v.vector_type} {v.broadcast(word)}, <{lanes}>")
        seen = v.value(f"or {v.vector_type} {seen}, {seen_bits}")
    return v.value(f"icmp ne {v.vector_type} {seen}, {v.constant(0)}")


def find_typed_cells(w: Any, i: int, types: int) -> Any:
    """Return 64 bits: bit k is 1 if the cell 64 * i + k shows an object of a type in the bit mask
    `types`, see `cells.merge_bits`."""


@emits(find_typed_cells)
def _emit_find_typed_cells(body: Body, w: Record, i: Any, types: Any) -> Scalar:
    """Emit the code of `find_typed_cells(w, i, types)`: return a 64-bit mask of the cells from
    number 64 * `i` on, 1 if the cell shows an object whose type is in the bit mask `types`."""
    layout, v = w.type.attributes["layout"], _Vectors(body, 16)
    num_cells = (layout.height + 1) * (layout.width + 1)
    type_mask = v.broadcast(v.value(f"trunc i64 {arithmetic.to_int(body, types).operand} to i32"))
    word_index, bits = arithmetic.to_int(body, i).operand, "0"
    first_cell = v.value(f"shl i64 {word_index}, 6")
    for k in range(0, 64, v.size):
        # may read past the last cell, where the row goes on or a spare one lies
        pointer = v.element_address(w, "looks", v.value(f"add i64 {first_cell}, {k}"), 4)
        look = v.value(f"load {v.vector_type}, ptr {pointer}, align 4")
        type_bit = v.value(f"and {v.vector_type} {look}, {v.constant(31)}")
        shifted = v.value(f"lshr {v.vector_type} {type_mask}, {type_bit}")
        is_of_type = v.value(f"and {v.vector_type} {shifted}, {v.constant(1)}")
        word = v.pack(v.value(f"icmp ne {v.vector_type} {is_of_type}, {v.constant(0)}"))
        bits = v.value(f"or i64 {bits}, {v.value(f'shl i64 {word}, {k}')}")
    is_last_word = v.value(f"icmp eq i64 {word_index}, {(num_cells - 1) // 64}")
    last_mask = (1 << (num_cells - 1) % 64 + 1) - 1
    if last_mask >> 63:  # as LLVM writes an i64 with its highest bit
        last_mask -= 1 << 64
    existing = v.value(f"select i1 {is_last_word}, i64 {last_mask}, i64 -1")
    return Scalar(Kind.UINT, v.value(f"and i64 {bits}, {existing}"))
