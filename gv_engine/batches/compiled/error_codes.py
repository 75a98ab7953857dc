"""Numbers that stand for what went wrong in a compiled world, in `row["error"]`."""

from __future__ import annotations

from zlib import crc32

from gv_engine.worlds.world import CAPACITY, TO_NOTHING, UNKNOWN_TYPE


def message_code(message: str) -> int:
    """The number that stands in `row["error"]` for a message of `w.fail`."""
    return crc32(message.encode()) or 1


CAPACITY_CODE = message_code(CAPACITY)
UNKNOWN_TYPE_CODE = message_code(UNKNOWN_TYPE)
TO_NOTHING_CODE = message_code(TO_NOTHING)
