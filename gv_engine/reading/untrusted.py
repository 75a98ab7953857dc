"""Checks of texts from files and lines that others wrote; docs/security.md has where each is used.

>>> file_name_of("../../etc: cron"), is_file_name("keydoor-5x5"), is_file_name("..")
('etc-cron', True, False)
"""

from __future__ import annotations

import json
import re
from typing import Any

from gv_engine.language.errors import shortened

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NO_CHARACTERS = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
"""NUL and surrogates; but for those that stand for bytes of file names that are no UTF-8."""
_NOT_IN_LINES = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line breaks, surrogates, and characters that turn the direction of others."""
_FILE_NAME = re.compile(r"\w[\w .+-]{0,80}(?<![ .])")
_LONGEST_FILE_NAME = 200
"""Bytes; file systems have room for 255, with an ending."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""


def parse_json(data: bytes | str) -> Any:
    """Return the values of JSON, whose texts hold characters only.

    Raises:
        ValueError: it is no JSON in UTF-8, or a text in it holds NUL or a lone surrogate.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    text.encode()
    values = json.loads(text)
    waiting = [values] if "\\u" in text else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and _NO_CHARACTERS.search(value):
            raise ValueError(f"{shortened(value, 60)!r} holds NUL, or half of a character")
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return values


def checked_digest(value: Any) -> str:
    """Return a digest of a scenario.

    Raises:
        ValueError: it is none.
    """
    if not (isinstance(value, str) and _DIGEST.fullmatch(value)):
        raise ValueError(
            f"the digest is {shortened(repr(value), 80)}, expected 64 hexadecimal digits"
        )
    return value


def checked_line(value: Any, what: str) -> str:
    """Return a text that prints as one line, such as a name.

    Args:
        what: it is, for the message.

    Raises:
        ValueError: it is no text, or holds a line break or another control character.
    """
    if not isinstance(value, str) or _NOT_IN_LINES.search(value):
        raise ValueError(
            f"the {what} is {shortened(repr(value), 60)}, expected one line of text, without "
            f"control characters"
        )
    return value


def is_file_name(text: str) -> bool:
    """Return True for one component of a path, which every system takes for a file's name."""
    fits = _FILE_NAME.fullmatch(text) and len(text.encode()) <= _LONGEST_FILE_NAME
    return bool(fits) and not _DEVICE.fullmatch(text)


def file_name_of(text: str) -> str:
    """Return a file's name made of a text, "game" if no letter is left."""
    name = re.sub(r"[^\w-]+", "-", text).strip("-")[:50] or "game"
    return name if is_file_name(name) else f"game-{name}"
