"""Methods of `World` in compiled code, on the records of a batch.

Importing this module imports numba and teaches it the verbs of `gv_engine.language.verbs` (the
same text), the draws of `gv_engine.batches.compiled.rng_kernels`, and the few methods that need a
twin: spawn, remove, fail, state_of and set_state.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import cache, reduce
from typing import Any, cast
from zlib import crc32

import numpy as np
from numba import extending, from_dtype, types
from numba.core.errors import TypingError
from numba.extending import register_jitable
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.batches.compiled import rng_kernels, sight
from gv_engine.batches.compiled.intrinsics import (
    LANES,
    agreeing,
    around,
    cells,
    clearing,
    count_ones,
    filling,
    line_of,
    lowest_one,
    multiply_high,
    prefetch_cell,
    spreading,
    to_write,
    writing,
)
from gv_engine.batches.compiled.parts import PARTS
from gv_engine.batches.compiled.records import (
    GeneratorRecord,
    Kept,
    NoCells,
    OurRecord,
    ViewRecord,
    WorldRecord,
    showing,
    world_of,
)
from gv_engine.batches.compiled.vectors import cells_of
from gv_engine.language.bits import ones
from gv_engine.language.component import AGENT, NOTHING, column_name, fields_of
from gv_engine.language.errors import RuleError
from gv_engine.language.lines import in_line
from gv_engine.language.system import measured
from gv_engine.language.verbs import VERBS
from gv_engine.reading.layout import Layout
from gv_engine.worlds.world import CAPACITY, TO_NOTHING, UNKNOWN_TYPE


def message_code(message: str) -> int:
    """The number that stands in `row["error"]` for a message of `w.fail`."""
    return crc32(message.encode()) or 1


CAPACITY_CODE = message_code(CAPACITY)
UNKNOWN_TYPE_CODE = message_code(UNKNOWN_TYPE)
TO_NOTHING_CODE = message_code(TO_NOTHING)

# their own types know no such `jit_options`
overload, overload_method = cast(Any, (extending.overload, extending.overload_method))

_LAYOUTS: dict[OurRecord, Layout] = {}


@cache
def know(layout: Layout) -> None:
    """From now on, the methods of the rows of a layout can be compiled."""
    _LAYOUTS[showing(from_dtype(layout.looks_dtype), layout.shown)] = layout


def _bare(function: Callable[..., Any]) -> inspect.Signature:
    """The signature without annotations: numba compares those of a method and what builds it."""
    signature = inspect.signature(function)
    empty = inspect.Parameter.empty
    return signature.replace(
        parameters=[p.replace(annotation=empty) for p in signature.parameters.values()],
        return_annotation=inspect.Signature.empty,
    )


def _method(
    name: str, of: type[OurRecord] = WorldRecord, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Teach numba a method of records: the function gets types and returns what to compile."""

    def teach(build: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*arguments: Any, **named: Any) -> Any:
            method = build(*arguments, **named)
            method.__signature__ = _bare(method)
            return method

        choose.__signature__ = _bare(build)  # type: ignore[attr-defined]  # numba reads it
        overload_method(of, name, jit_options=PARTS, **options)(choose)
        return build

    return teach


# ---- the same text ---------------------------------------------------------------------------


def _teach_verb(name: str, verb: Callable[..., Any]) -> None:
    def build(*arguments: Any) -> Callable[..., Any]:
        return verb

    build.__signature__ = inspect.signature(verb)  # type: ignore[attr-defined]  # numba reads it
    _method(name)(build)


for _name, _verb in VERBS.items():
    # all at once where that comes to the same
    _teach_verb("enclose_one_by_one" if _name == "enclose" else _name, _verb)


def _teach_view(name: str) -> None:
    def build(*arguments: Any) -> Callable[..., Any]:
        fields = arguments[0].fields
        by = sight.BY_CELLS if "seen" in fields else sight.BY_BITS
        return (sight.BY_ENTITIES if "entity" in fields else by)[name]

    build.__signature__ = inspect.signature(sight.BY_BITS[name])  # type: ignore[attr-defined]
    _method(name, ViewRecord)(build)


for _name in sight.BY_BITS:
    _teach_view(_name)


@overload(measured, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _measured(value: Any) -> Any:
    def impl(value: Any) -> Any:
        return 1.0 * value

    def as_it_is(value: Any) -> Any:
        return value

    return as_it_is if isinstance(value, types.BaseTuple) else impl


@overload(ones, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _ones(bits: Any) -> Any:
    def impl(bits: Any) -> Any:
        return count_ones(bits)

    return impl


@overload(in_line, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _line(array: Any) -> Any:
    if getattr(array, "layout", "") == "C":
        return lambda array: line_of(array)
    return None


# ---- chance ----------------------------------------------------------------------------------


@overload(rng_kernels.high_product, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _high_product(a: Any, b: Any) -> Any:
    return lambda a, b: multiply_high(a, b)


@_method("integers", GeneratorRecord)
def _integers(r: Any, low: Any, high: Any = None) -> Any:
    if _is_none(high):
        return lambda r, low, high=None: rng_kernels.integers(r, 0, low)
    return lambda r, low, high=None: rng_kernels.integers(r, low, high)


@_method("random", GeneratorRecord)
def _random(r: Any, size: Any = None) -> Any:
    if _is_none(size):
        return lambda r, size=None: rng_kernels.random(r)

    def fill(r: Any, size: Any = None) -> Any:
        values = np.empty(size, np.float64)
        flat = values.reshape(-1)
        for i in range(flat.size):
            flat[i] = rng_kernels.random(r)
        return values

    return fill


@_method("shuffle", GeneratorRecord)
def _shuffle(r: Any, x: Any) -> Any:
    return lambda r, x: rng_kernels.shuffle(r, x)


@_method("choice", GeneratorRecord)
def _choice(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
    if not isinstance(a, types.Integer):
        raise TypingError("compiled rules draw w.rng.choice(n) for a number n; index with it")
    if _is_none(size):
        return lambda r, a, size=None, replace=True: rng_kernels.choice(r, a)

    def several(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
        if not replace:
            return rng_kernels.pick(r, a, size)
        drawn = np.empty(size, np.int64)
        for i in range(size):
            drawn[i] = rng_kernels.choice(r, a)
        return drawn

    return several


def _is_none(kind: Any) -> bool:
    """Whether an argument's type says that it was left out or None."""
    return kind is None or isinstance(kind, types.NoneType | types.Omitted)


# ---- twins -----------------------------------------------------------------------------------


@_method("fail", prefer_literal=True)
def _fail(w: Any, message: Any) -> Any:
    if not isinstance(message, types.StringLiteral):
        raise TypingError("w.fail takes a text written out in the rule")
    code = message_code(message.literal_value)

    def impl(w: Any, message: Any) -> None:
        if w.error == 0:
            w.error = code

    return impl


@_method("add", prefer_literal=True)
def _add(w: Any, e: Any, column: Any) -> Any:
    return _setter(w, column, True)


@_method("take", prefer_literal=True)
def _take(w: Any, e: Any, column: Any) -> Any:
    return _setter(w, column, False)


def _setter(w: OurRecord, column: Any, has: bool) -> Callable[[Any, Any, Any], None]:
    """`(w, e, column)`: the component is there or not, and reads its defaults."""
    if not isinstance(column, types.StringLiteral):
        raise TypingError("w.add and w.take ask for a column's name written out in the rule")
    name = column.literal_value
    found = [cls for cls in _LAYOUTS[w].components if column_name(cls) == name]
    if not found:
        raise TypingError(f"there are no columns {name!r}")
    columns = [(name, "has", np.array([has]))]
    columns += [(name, field.name, np.array([field.default])) for field in fields_of(found[0])]
    write = writing(columns)

    def impl(w: Any, e: Any, column: Any) -> None:
        if e == NOTHING:
            if w.error == 0:
                w.error = TO_NOTHING_CODE
            return
        write(w, e, 0)
        if has:
            w.now_strange(w.kind.value[e])
        w.look_again(e)

    return impl


@_method("spawn")
def _spawn(w: Any, kind: Any) -> Any:
    layout = _LAYOUTS[w]
    write = writing(_new(layout))
    known = np.array([bool(parts) for parts in layout.prefabs])
    note = _note_highest if layout.is_large else _note_nothing

    def impl(w: Any, kind: Any) -> Any:
        if not (0 <= kind < len(known) and known[kind]):
            if w.error == 0:
                w.error = UNKNOWN_TYPE_CODE
            return NOTHING
        e = w.free
        while e < w.capacity and w.alive[e] != 0:
            e += 1
        if e >= w.capacity:
            if w.error == 0:
                w.error = CAPACITY_CODE
            return NOTHING
        w.alive[e] = 1
        w.free = e + 1
        note(w, e)
        write(w, e, kind)
        return e

    return impl


@cache
def _new(layout: Layout) -> list[tuple[str, str, NDArray[Any]]]:
    """Of `_prefabs` the columns that new objects change: what is not alive reads its defaults."""
    kinds = slice(layout.kinds)
    return [
        (column, field, table)
        for column, field, table in _prefabs(layout)
        if (table[kinds] != table[layout.kinds]).any()
    ]


@_method("enclose")
def _enclose(w: Any, kind: Any) -> Any:
    layout = _LAYOUTS[w]
    spread = spreading(_new(layout))
    above = zip(layout.prefabs, layout.grounds, strict=True)
    known = np.array([bool(parts) and not on_ground for parts, on_ground in above])
    large = layout.is_large
    note = _note_highest if large else _note_nothing

    @register_jitable(**PARTS)
    def put(w: Any, e: Any, y: Any, x: Any, look: Any, blocks: Any) -> Any:
        cell = y * w.at.shape[1] + x
        w.in_line()[cell] = e
        w.alive[e] = 1
        w.position.y[e] = y
        w.position.x[e] = x
        w.looks[y, x] = look
        if large:
            w.enlist(cell, w.kind.value[e])
            w.block(cell, blocks)
        return e + 1

    def impl(w: Any, kind: Any) -> None:
        height, width, e = w.height, w.width, w.free
        count = 2 * (height + width) - 4
        free = height > 1 and width > 1 and 0 <= kind < len(known)
        free = free and LANES <= count <= w.capacity - e
        if free:
            taken = 0
            for other in w.in_line():
                taken |= other
            for other in range(e, e + count):
                taken |= w.alive[other]
            free = known[kind] and taken == 0
        if not free:
            w.enclose_one_by_one(kind)
            return
        # many bytes are stored as soon as one
        spread(w, e, count, kind)
        look, blocks = w.look_of(e), w.blocks_movement(e)
        for x in range(width):
            e = put(w, e, 0, x, look, blocks)
        for y in range(1, height - 1):
            e = put(w, e, y, 0, look, blocks)
            e = put(w, e, y, width - 1, look, blocks)
        for x in range(width):
            e = put(w, e, height - 1, x, look, blocks)
        w.free = e
        w.placed[kind] += count
        w.recent[kind] = e - 1
        note(w, e - 1)

    return impl


@register_jitable(**PARTS)
def _note_highest(w: Any, e: Any) -> None:
    w.highest = max(w.highest, e)


@register_jitable(**PARTS)
def _note_nothing(w: Any, e: Any) -> None:
    pass


@_method("remove")
def _remove(w: Any, e: Any) -> Any:
    def impl(w: Any, e: Any) -> None:
        if e != NOTHING:
            w.lift(e)
            w.become_nothing(e)
            if e < w.free:
                w.free = e

    return impl


@_method("become_nothing")
def _become_nothing(w: Any, e: Any) -> Any:
    """For the kernels: take all components from an entity, wherever it says that it stands."""
    layout = _LAYOUTS[w]
    write = _writer(layout)
    empty = layout.kinds

    def impl(w: Any, e: Any) -> None:
        write(w, e, empty)
        w.alive[e] = 0

    return impl


@_method("become_empty")
def _become_empty(w: Any) -> Any:
    """For the kernels: take everything out of a world."""
    layout = _LAYOUTS[w]
    empty = np.zeros((), layout.looks_dtype)
    for name in layout.dtype.names:  # type: ignore[union-attr]  # a record
        empty[name] = layout.defaults()[name]
    for name in layout.looked_at:
        empty[name] = FLOOR
    start = layout.dtype.fields["at"][1]  # type: ignore[index]  # a record
    fill = filling(start, empty.tobytes()[start:])
    if not layout.is_large:
        return lambda w: fill(w)
    clear = clearing(
        [(column, name, table[layout.kinds]) for column, name, table in _prefabs(layout)]
    )

    forget = _forget_drawn if layout.drawn else _note_nothing

    def impl(w: Any) -> None:
        clear(w, w.highest)
        forget(w, NOTHING)
        for e in range(1, w.highest + 1):
            w.alive[e] = 0
        w.forget_cells(True)
        w.strange = w.highest = 0
        for kind in range(len(w.placed)):
            w.placed[kind] = 0
            w.recent[kind] = NOTHING

    return impl


@register_jitable(**PARTS)
def _forget_drawn(w: Any, e: Any) -> None:
    for k in range(len(w.drawn)):
        w.drawn[k] = 0


@_method("clear")
def _clear(w: Any) -> Any:
    def impl(w: Any) -> None:
        w.capacity = len(w.alive)
        w.become_empty()
        w.alive[AGENT] = 1
        w.become_agent(AGENT)
        w.free = AGENT + 1

    return impl


@_method("nothing_is_intact")
def _nothing_is_intact(w: Any) -> Any:
    """For the kernels: whether no rule has written to a column of NOTHING."""
    layout = _LAYOUTS[w]
    agrees = agreeing(_prefabs(layout))
    empty = layout.kinds
    return lambda w: agrees(w, NOTHING, empty)


@_method("in_line")
def _in_line(w: Any) -> Any:
    """For the kernels: all cells of the grid, row by row."""
    return lambda w: cells(w)


@_method("look_of")
def _look_of(w: Any, e: Any) -> Any:
    """For the kernels: how a cell with this entity looks, see `Layout.looks_dtype`."""

    def impl(w: Any, e: Any) -> Any:
        if e == NOTHING:
            return np.uint32(FLOOR)
        seen = w.kind.value[e] & 255 | (w.state_of(e) & 255) << 8 | (w.color.value[e] & 255) << 16
        return np.uint32(seen | (w.blocks_vision(e) != 0) << 31)

    return impl


@_method("look_again")
def _look_again(w: Any, e: Any) -> Any:
    """For the kernels: an entity looks different; tell the cell that holds it."""

    def impl(w: Any, e: Any) -> None:
        y, x = w.position.y[e], w.position.x[e]
        if y >= 0 and w.at[y, x] == e:
            w.at[y, x] = e
        elif y >= 0 and w.ground[y, x] == e != NOTHING:
            w.ground[y, x] = e
        elif e != NOTHING and e != AGENT:  # in hand, say, or where it does not say
            w.look_everywhere(e)

    return impl


@_method("look_everywhere")
def _look_everywhere(w: Any, e: Any = None) -> Any:
    """For the kernels: derive anew what is behind a row, or look again at the cells that hold an
    entity."""
    if _is_none(e):
        layered = "ground" in _LAYOUTS[w].layers

        def everything(w: Any, e: Any = None) -> None:
            w.forget_cells(False)
            w.strange = _NOT_KNOWN
            w.highest = len(w.alive) - 1
            for y in range(w.at.shape[0]):
                for x in range(w.at.shape[1]):
                    if w.ground[y, x] != NOTHING:
                        w.ground[y, x] = w.ground[y, x]
                    if w.at[y, x] != NOTHING:
                        w.at[y, x] = w.at[y, x]

        def each(w: Any, e: Any = None) -> None:
            w.strange = _NOT_KNOWN
            for y in range(w.height):
                for x in range(w.width):
                    if layered:
                        w.ground[y, x] = w.ground[y, x]
                    else:
                        w.at[y, x] = w.at[y, x]

        return everything if _LAYOUTS[w].is_large else each

    def impl(w: Any, e: Any = None) -> None:
        for y in range(w.height):
            for x in range(w.width):
                if w.at[y, x] == e:
                    w.at[y, x] = w.at[y, x]
                if w.ground[y, x] == e:
                    w.ground[y, x] = e

    return impl


# ---- lists and ways --------------------------------------------------------------------------

_NOT_KNOWN = np.uint32(2**32 - 1)
"""`strange`, where it has not been found out: any type may be."""


@_method("now_strange")
def _now_strange(w: Any, kind: Any) -> Any:
    """For the kernels: objects of a type may have components that it does not give them."""

    def impl(w: Any, kind: Any) -> None:
        w.strange |= np.uint32(1) << np.uint32(kind & 31)

    return impl


@_method("enlist")
def _enlist(w: Any, cell: Any, kind: Any) -> Any:
    """For the kernels: a cell holds an object that looks like this type."""

    def impl(w: Any, cell: Any, kind: Any) -> None:
        k, i = kind % len(w.listed), cell >> 6
        w.listed[k, i] |= np.uint64(1) << np.uint64(cell & 63)
        w.filled[k, i >> 6] |= np.uint64(1) << np.uint64(i & 63)

    return impl


@_method("unlist")
def _unlist(w: Any, cell: Any, kind: Any) -> Any:
    """For the kernels: a cell no longer holds the object that looked like this type."""

    def impl(w: Any, cell: Any, kind: Any) -> None:
        k, i = kind % len(w.listed), cell >> 6
        w.listed[k, i] &= ~(np.uint64(1) << np.uint64(cell & 63))
        if w.listed[k, i] == 0:
            w.filled[k, i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))

    return impl


@_method("block")
def _block(w: Any, cell: Any, blocks: Any) -> Any:
    """For the kernels: nobody can enter a cell, or anybody can; if that is new, ways are not."""

    def impl(w: Any, cell: Any, blocks: Any) -> None:
        bit = np.uint64(1) << np.uint64(cell & 63)
        if ((w.blocked[cell >> 6] & bit) != 0) != (blocks != 0):
            w.blocked[cell >> 6] ^= bit
            w.ways_from = 0

    return impl


@_method("forget_cells")
def _forget_cells(w: Any, lift: Any) -> Any:
    """For the kernels: all cells look like free floor and are on no list; with `lift`, they are
    free."""
    stride = w.fields["at"].type.shape[1]
    forget_ground = _forget_ground if "ground" in _LAYOUTS[w].layers else _leave_ground

    def impl(w: Any, lift: Any) -> None:
        at = w.in_line()
        for k in range(len(w.filled)):
            for j in range(w.filled.shape[1]):
                full = w.filled[k, j]
                w.filled[k, j] = 0
                while full != 0:
                    i = 64 * j + lowest_one(full)
                    full &= full - np.uint64(1)
                    bits = w.listed[k, i]
                    w.listed[k, i] = 0
                    while bits != 0:
                        cell = 64 * i + lowest_one(bits)
                        bits &= bits - np.uint64(1)
                        w.looks[cell // stride, cell % stride] = FLOOR
                        forget_ground(w, cell // stride, cell % stride, lift)
                        if lift:
                            at[cell] = NOTHING
        for i in range(len(w.blocked)):
            w.blocked[i] = 0
        w.ways_from = 0

    return impl


@register_jitable(**PARTS)
def _forget_ground(w: Any, y: Any, x: Any, lift: Any) -> None:
    w.beneath[y, x] = FLOOR
    if lift:
        to_write(w.ground)[y, x] = NOTHING


@register_jitable(**PARTS)
def _leave_ground(w: Any, y: Any, x: Any, lift: Any) -> None:
    pass


@_method("find_strange")
def _find_strange(w: Any) -> Any:
    """For the kernels: find out objects of which types have components that these do not give."""
    layout = _LAYOUTS[w]
    agrees = agreeing([part for part in _prefabs(layout) if part[1] == "has"])
    kinds = layout.kinds

    def impl(w: Any) -> None:
        w.strange = 0
        for e in range(AGENT + 1, len(w.alive)):
            kind = w.kind.value[e]
            if w.alive[e] and not agrees(w, e, kind if 0 <= kind < kinds else kinds):
                w.strange |= np.uint32(1) << np.uint32(kind & 31)

    return impl


@_method("having")
def _having(w: Any, columns: Any) -> Any:
    own = {
        kind.index
        for kind in _LAYOUTS[w].types
        for cls in (*dict(_LAYOUTS[w].prefabs[kind.index]), *kind.changes(0))
        if column_name(cls) == columns.column
    }
    if any(column_name(cls) == columns.column for cls, _ in _LAYOUTS[w].agent):
        own.add(0)
    kinds = np.uint32(sum({1 << (kind & 31) for kind in own}))
    rows, stride = w.fields["at"].type.shape
    words = -(-rows * stride // 64)
    layers = len(_LAYOUTS[w].layers)

    @register_jitable(**PARTS)
    def enter(w: Any, columns: Any, i: Any, bits: Any, found: Any, count: Any) -> Any:
        """Those of a word of cells that have it."""
        at = w.in_line()
        while bits != 0:
            cell = 64 * i + lowest_one(bits)
            bits &= bits - np.uint64(1)
            y, x = cell // stride, cell % stride
            if y < w.height and x < w.width:
                count = _add_those(w, columns, w.ground[y, x], at[cell], found, count)
        return count

    def listed(w: Any, columns: Any) -> Any:
        if w.strange == _NOT_KNOWN:
            w.find_strange()
        asked, count = np.uint64(kinds | w.strange), 0
        for j in range(w.filled.shape[1]):
            full = _of_types(w.filled, asked, j)
            while full != 0:
                i = 64 * j + lowest_one(full)
                full &= full - np.uint64(1)
                bits = _of_types(w.listed, asked, i)
                count += count_ones(bits)
                while bits != 0:
                    cell = 64 * i + lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    for y in range(-1, 2):
                        prefetch_cell(w, y + cell // stride, cell % stride)
        found = np.empty(layers * count, np.int64)
        count = 0
        for j in range(w.filled.shape[1]):
            full = _of_types(w.filled, asked, j)
            while full != 0:
                i = 64 * j + lowest_one(full)
                full &= full - np.uint64(1)
                count = enter(w, columns, i, _of_types(w.listed, asked, i), found, count)
        return found[:count]

    def looking_so(w: Any, columns: Any) -> Any:
        if w.strange == _NOT_KNOWN:
            w.find_strange()
        asked, count = np.uint64(kinds | w.strange), 0
        for i in range(words):
            count += count_ones(cells_of(w, i, asked))
        found = np.empty(count, np.int64)
        count = 0
        for i in range(words):
            count = enter(w, columns, i, cells_of(w, i, asked), found, count)
        return found[:count]

    def every(w: Any, columns: Any) -> Any:
        found, count = np.empty(layers * w.height * w.width, np.int64), 0
        for y in range(w.height):
            for x in range(w.width):
                count = _add_those(w, columns, w.ground[y, x], w.at[y, x], found, count)
        return found[:count]

    # how a cell looks says nothing of what lies beneath its thing
    small = every if layers > 1 else looking_so
    return listed if _LAYOUTS[w].is_large else small


@register_jitable(**PARTS)
def _add_those(w: Any, columns: Any, below: Any, above: Any, found: Any, count: Any) -> Any:
    """Of what is in a cell, those that have a component; how many are found now."""
    if below != NOTHING and columns.has[below]:
        found[count] = below
        count += 1
    if columns.has[above]:
        found[count] = above
        count += 1
    return count


@register_jitable(**PARTS)
def _of_types(lists: Any, asked: Any, i: Any) -> Any:
    """A word of the lists of all types whose bits are set."""
    bits = np.uint64(0)
    while asked != 0:
        for k in range(lowest_one(asked), len(lists), 32):
            bits |= lists[k, i]
        asked &= asked - np.uint64(1)
    return bits


@_method("steps_from")
def _steps_from(w: Any, y: Any, x: Any) -> Any:
    def impl(w: Any, y: Any, x: Any) -> Any:
        key = np.uint64(((np.int64(y) << 15 | x) << 15 | w.height) << 15 | w.width)
        if w.ways_from != key:
            w.walk_from(y, x, w.ways)
            w.ways_from = key
        return w.ways

    def anew(w: Any, y: Any, x: Any) -> Any:
        steps = np.empty((w.height, w.width), np.int64)
        w.walk_from(y, x, steps)
        return steps

    return impl if _LAYOUTS[w].is_large else anew


@overload(operator.getitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _get_of_no_ground(cells: Any, index: Any) -> Any:
    def nothing(cells: Any, index: Any) -> Any:
        return NOTHING

    return nothing if isinstance(cells, NoCells) else None


@overload(operator.setitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _set_in_no_ground(kept: Any, index: Any, value: Any) -> Any:
    def refuse(kept: Any, index: Any, value: Any) -> None:
        raise RuleError(_NO_GROUND)

    return refuse if isinstance(kept, NoCells) else None


_NO_GROUND = "w.ground: there are no object types that live on the ground"


@_method("show_layers")
def _show_layers(w: Any, y: Any, x: Any) -> Any:
    """For the kernels: a cell looks like the thing in it, or else like its ground."""

    def impl(w: Any, y: Any, x: Any) -> None:
        above, below = w.at[y, x], w.beneath[y, x]
        look = below if above == NOTHING else w.look_of(above) | below & _OPAQUE
        w.looks[y, x] = look

    return impl


_OPAQUE = np.uint32(1 << 31)


@overload(operator.setitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _set_kept(kept: Any, index: Any, value: Any) -> Any:
    if not isinstance(kept, Kept):
        return None
    if isinstance(index, types.Integer) and kept.ndim == 1:
        world: Any = world_of(kept)
        columns = world.fields["kind"]
        is_kind = kept.start == columns.offset + columns.type.fields["value"].offset

        def write(kept: Any, index: Any, value: Any) -> None:
            to_write(kept)[index] = value
            w = around(kept)
            if is_kind:
                w.now_strange(value)
            w.look_again(index if index >= 0 else len(kept) + index)

        return write
    if isinstance(index, types.BaseTuple) and len(index) == kept.ndim == 2:
        record: Any = world_of(kept)
        rows, stride = record.fields["at"].type.shape
        if "ground" in record.fields:
            on_ground = kept.start == record.fields["ground"].offset
            put_there = _put_on_ground if on_ground else _put_above
            listed = "listed" in record.fields
            note = _note_layers if listed else _note_nothing_of
            forget = (_unlist_ground if on_ground else _unlist_above) if listed else note

            def put_on_layer(kept: Any, index: Any, value: Any) -> None:
                y, x = index
                y, x = y if y >= 0 else y + rows, x if x >= 0 else x + stride
                w = around(kept)
                forget(w, y, x, y * stride + x)
                to_write(kept)[y, x] = value
                put_there(w, y, x, value)
                note(w, y, x, y * stride + x)

            return put_on_layer

        def put_and_show(kept: Any, index: Any, value: Any) -> None:
            y, x = index
            to_write(kept)[y, x] = value
            w = around(kept)
            w.looks[y, x] = w.look_of(value)

        def put(kept: Any, index: Any, value: Any) -> None:
            y, x = index
            at = to_write(kept)
            w = around(kept)
            cell = (y if y >= 0 else y + rows) * stride + (x if x >= 0 else x + stride)
            if at[y, x] != NOTHING:
                w.unlist(cell, w.looks[y, x] & 255)
            at[y, x] = value
            look = w.look_of(value)
            w.looks[y, x] = look
            if value != NOTHING:
                w.enlist(cell, look & 255)
            w.block(cell, w.blocks_movement(value))

        return put if "listed" in record.fields else put_and_show
    return None


# what is to be done about a cell that has two layers


@register_jitable(**PARTS)
def _put_on_ground(w: Any, y: Any, x: Any, value: Any) -> None:
    w.beneath[y, x] = w.look_of(value)
    w.show_layers(y, x)


@register_jitable(**PARTS)
def _put_above(w: Any, y: Any, x: Any, value: Any) -> None:
    w.show_layers(y, x)


@register_jitable(**PARTS)
def _unlist_ground(w: Any, y: Any, x: Any, cell: Any) -> None:
    if w.ground[y, x] != NOTHING:
        w.unlist(cell, w.beneath[y, x] & 255)


@register_jitable(**PARTS)
def _unlist_above(w: Any, y: Any, x: Any, cell: Any) -> None:
    if w.at[y, x] != NOTHING:
        w.unlist(cell, w.looks[y, x] & 255)


@register_jitable(**PARTS)
def _note_layers(w: Any, y: Any, x: Any, cell: Any) -> None:
    above, below = w.at[y, x], w.ground[y, x]
    if below != NOTHING:
        w.enlist(cell, w.beneath[y, x] & 255)
    if above != NOTHING:
        w.enlist(cell, w.looks[y, x] & 255)
    w.block(cell, w.blocks_movement(below) | w.blocks_movement(above))


@register_jitable(**PARTS)
def _note_nothing_of(w: Any, y: Any, x: Any, cell: Any) -> None:
    pass


@_method("become_agent")
def _become_agent(w: Any, e: Any) -> Any:
    """For the kernels: give an entity the components of the agent."""
    layout = _LAYOUTS[w]
    write = _writer(layout)
    agent = layout.kinds + 1
    return lambda w, e: write(w, e, agent)


@cache
def _writer(layout: Layout) -> Callable[[Any, int, int], None]:
    """`(w, e, number)`: write all columns of an entity as a prefab says, see `_prefabs`."""
    return writing(_prefabs(layout))


def _prefabs(layout: Layout) -> list[tuple[str, str, NDArray[Any]]]:
    """Of each column (name, field) the numbers of all prefabs: those of types by their indices,
    behind them the empty one and the agent's."""
    given = [dict(parts) for parts in (*layout.prefabs, (), layout.agent)]
    columns = []
    for cls in layout.components:
        columns.append((column_name(cls), "has", np.array([cls in parts for parts in given])))
        for position, field in enumerate(fields_of(cls)):
            values = [parts[cls][position] if cls in parts else field.default for parts in given]
            columns.append((column_name(cls), field.name, np.array(values)))
    return columns


@_method("state_of")
def _state_of(w: Any, e: Any) -> Any:
    if not _LAYOUTS[w].states:
        return lambda w, e: 0
    # an absent component reads 0, so that the sum is the one state that the object has
    return reduce(_add_state, (_state(*names) for names in _LAYOUTS[w].states))


def _state(column: str, field: str) -> Any:
    return lambda w, e: 0 + w[column][field][e]


def _add_state(first: Any, second: Any) -> Any:
    first, second = register_jitable(first), register_jitable(second)
    return lambda w, e: first(w, e) + second(w, e)


@_method("num_states")
def _num_states(w: Any, kind: Any) -> Any:
    return _by_type(_LAYOUTS[w].num_states, 1)


@_method("left_by")
def _left_by(w: Any, kind: Any) -> Any:
    return _by_type(_LAYOUTS[w].leaves, -1)


def _by_type(values: tuple[int | bool, ...], otherwise: int | bool) -> Any:
    """`(w, kind)`: the value of a type."""
    table = np.array(values)
    return lambda w, kind: table[kind] if 0 <= kind < len(table) else otherwise


@_method("on_ground")
def _on_ground(w: Any, kind: Any) -> Any:
    layout = _LAYOUTS[w]
    # a constant, so that nothing is left of what rules would do about it
    return _by_type(layout.grounds, False) if any(layout.grounds) else lambda w, kind: False


@_method("set_state")
def _set_state(w: Any, e: Any, state: Any) -> Any:
    def first(w: Any, e: Any, state: Any) -> None:
        pass

    write = register_jitable(first)
    for column, field in _LAYOUTS[w].states:
        write = _write_state(write, column, field)
    for cls in _LAYOUTS[w].brought:
        write = _bring(write, _LAYOUTS[w], cls)
    return lambda w, e, state: write(w, e, state)


def _write_state(before: Any, column: str, field: str) -> Any:
    def write(w: Any, e: Any, state: Any) -> None:
        before(w, e, state)
        if w[column]["has"][e]:
            w[column][field][e] = state

    return register_jitable(write)


def _bring(before: Any, layout: Layout, cls: type) -> Any:
    """Then let a component come or go with the new state."""
    most = max(len(kind.brings) for kind in layout.types)
    numbers = np.full((layout.kinds, most), -1)  # where states have nothing to do with it
    given: list[tuple[float, ...] | None] = [None]
    for kind in layout.types:
        for state in range(len(kind.brings)):
            changes = kind.changes(state)
            if cls in changes:
                numbers[kind.index, state] = len(given) if changes[cls] is not None else 0
                given.append(changes[cls])
    name, fields = column_name(cls), fields_of(cls)
    empty = tuple(field.default for field in fields)
    columns = [(name, "has", np.array([values is not None for values in given]))]
    for position, field in enumerate(fields):
        columns.append((name, field.name, np.array([(v or empty)[position] for v in given])))
    write = writing(columns)

    def bring(w: Any, e: Any, state: Any) -> None:
        before(w, e, state)
        kind = w.kind.value[e]
        if 0 <= kind < len(numbers) and 0 <= state < most:
            number = numbers[kind, state]
            if number >= 0 and (number > 0) != (w[name]["has"][e] != 0):
                write(w, e, number)
                w.look_again(e)

    return register_jitable(bring)
