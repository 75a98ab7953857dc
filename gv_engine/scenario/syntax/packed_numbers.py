"""Long lists of whole numbers as short texts in scenario files."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

import numpy as np

from gv_engine.scenario.syntax.fields import YamlNode, text

_MAX_BYTES = 2**23


def pack_numbers(numbers: Sequence[int]) -> str:
    """Return a text that stands for integers of up to 32 bits: they are compressed by zlib and
    written in Base64.

    >>> pack_numbers([1, 2, 3])
    'eNpjZGBgYAJiZiAGAAA0AAc='
    """
    data = np.asarray(numbers, "<i4").tobytes()
    return base64.b64encode(zlib.compress(data, 9)).decode()


def read_packed_numbers(node: YamlNode) -> tuple[int, ...]:
    """Return the integers in a text of `pack_numbers`.

    Raises:
        FieldError: the node has another text, or it stands for more than 2 million numbers.
    """
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text(node), validate=True), _MAX_BYTES)
        if reader.unconsumed_tail or not reader.eof or len(data) % 4:
            raise ValueError
    except (ValueError, zlib.error):
        raise node.error("found no list of packed numbers, as `pack_numbers` writes them") from None
    return tuple(np.frombuffer(data, "<i4").tolist())
