"""Digests of rows: equal for equal worlds in every process, whatever the layouts.

Rows number entities, columns and types; of these, types of one's own get their number when they are
loaded, and sizes are rounded up. So types are called by their names, integers are 64 bits wide, and
only what is alive counts.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.geometry import WAIT
from gv_engine.language.objects import ObjectTypes
from gv_engine.reading.layout import RNG

_PLAIN = (
    "reward",
    "total",
    "steps",
    "error",
    "action",
    "free",
    "terminated",
    "truncated",
    "member",
)

_WAITED = 8
"""The number of `WAIT` when the first replays were kept, whose digests stay what they are."""


def row_digest(row: NDArray[Any], types: ObjectTypes) -> str:
    """16 hexadecimal digits that stand for a world.

    Args:
        row: () array of a `Layout.dtype`.
        types: of the layout.
    """
    digest = sha256()

    def say(name: str, values: Any) -> None:
        array = np.asarray(values)
        wide = array.astype("<f8" if array.dtype.kind == "f" else "<i8")
        digest.update(f"{name} {wide.shape} ".encode())
        digest.update(wide.tobytes())

    for name in RNG.names or ():
        say(name, row["rng"][name].view(np.int64))
    for name in _PLAIN:
        values = row[name][1:].squeeze() if row[name].ndim else row[name]
        say(name, np.where(values == WAIT, _WAITED, values) if name == "action" else values)
    if row["done"].size > 2:  # of one agent the world says it
        say("done", row["done"][1:])
    for name in ("at", "ground"):
        if name in (row.dtype.names or ()):
            say(name, row[name][: row["height"], : row["width"]])
    say("alive", np.flatnonzero(row["alive"]))
    for name in row.dtype.names or ():
        fields = row[name].dtype.names
        if fields and "has" in fields:
            having = np.flatnonzero(row[name]["has"])
            say(name, having)
            for field in fields[1:]:
                values = row[name][field][having]
                if (name, field) == ("kind", "value"):
                    digest.update(_names(values, types).encode())
                else:
                    say(field, values)
    for name in ("placed", "recent"):
        table = row[name]
        found = np.flatnonzero(table)
        order = sorted((types[int(kind)].name, int(table[kind])) for kind in found)
        digest.update(f"{name} {order}".encode())
    return digest.hexdigest()[:16]


def _names(kinds: NDArray[Any], types: ObjectTypes) -> str:
    return " ".join(types[kind].name for kind in kinds.tolist())
