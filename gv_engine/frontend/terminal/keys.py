"""Keys of a terminal: from the bytes that it sends to the names that bindings have.

A terminal sends what is printed on a key; it counts as the key of that place on a US keyboard.
"""

from __future__ import annotations

import re

_SEQUENCE = re.compile(rb"\x1b(?:\[[<=>?]?([0-9;]*)([A-Za-z~])|O([A-Za-z])|\[\[([A-E]))")
_BEGUN = re.compile(rb"\x1b(?:\[[<=>?]?[0-9;]*|\[\[|O)?")
_CHARACTER = re.compile(rb"[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*")
_ENDS = {
    **{b"A": "Up", b"B": "Down", b"C": "Right", b"D": "Left", b"H": "Home", b"F": "End"},
    **{b"P": "F1", b"Q": "F2", b"R": "F3", b"S": "F4", b"Z": "Shift+Tab", b"M": "Keypad Enter"},
}
_NUMBERS = {
    **{1: "Home", 2: "Insert", 3: "Delete", 4: "End", 5: "PageUp", 6: "PageDown"},
    **{7: "Home", 8: "End", 11: "F1", 12: "F2", 13: "F3", 14: "F4", 15: "F5"},
    **{17: "F6", 18: "F7", 19: "F8", 20: "F9", 21: "F10", 23: "F11", 24: "F12"},
}
_MODIFIERS = (("Ctrl+", 4), ("Alt+", 2), ("Shift+", 1))
_SIGNS = (
    ("Minus", "-", "_"),
    ("Equals", "=", "+"),
    ("LeftBracket", "[", "{"),
    ("RightBracket", "]", "}"),
    ("Backslash", "\\", "|"),
    ("Semicolon", ";", ":"),
    ("Apostrophe", "'", '"'),
    ("Grave", "`", "~"),
    ("Comma", ",", "<"),
    ("Period", ".", ">"),
    ("Slash", "/", "?"),
    *((digit, digit, sign) for digit, sign in zip("1234567890", "!@#$%^&*()", strict=True)),
)
"""(key, what it types, what it types with Shift)"""
_CHARACTERS = {
    **{plain: name for name, plain, _ in _SIGNS},
    **{shifted: f"Shift+{name}" for name, _, shifted in _SIGNS},
    **{chr(97 + n): chr(65 + n) for n in range(26)},
    **{chr(65 + n): f"Shift+{chr(65 + n)}" for n in range(26)},
    **{chr(1 + n): f"Ctrl+{chr(65 + n)}" for n in range(26)},
    **{"\t": "Tab", "\r": "Return", "\n": "Return", " ": "Space"},
    **{"\x7f": "Backspace", "\b": "Backspace", "\x1b": "Escape"},
}


class Keys:
    """Takes the bytes of a terminal as they come, in any pieces.

    >>> keys = Keys()
    >>> keys.feed(b"w\\x1b[1;2D\\x1b")
    ['W', 'Shift+Left']
    >>> keys.pause()
    ['Escape']
    """

    def __init__(self) -> None:
        self._buffer = b""

    @property
    def waiting(self) -> bool:
        """Whether the beginning of something has come, and the rest should follow at once."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[str]:
        """The keys that have been pressed, unknown ones left out."""
        self._buffer += data
        found: list[str] = []
        while self._buffer and not _BEGUN.fullmatch(self._buffer):
            name = self._next()
            if name:
                found.append(name)
        return found

    def pause(self) -> list[str]:
        """Nothing has followed: what looked like the beginning of a sequence was the Escape key."""
        rest, self._buffer = self._buffer[1:], b""
        return ["Escape", *self.feed(rest)]

    def _next(self) -> str:
        sequence = _SEQUENCE.match(self._buffer)
        if sequence:
            self._buffer = self._buffer[sequence.end() :]
            return _named(*sequence.groups())
        if self._buffer[:1] == b"\x1b":
            self._buffer = self._buffer[1:]
            if self._buffer[:1] == b"\x1b":
                return "Escape"
            character = self._character()
            return f"Alt+{character}" if character else ""
        return self._character()

    def _character(self) -> str:
        text = _CHARACTER.match(self._buffer)
        length = text.end() if text else 1
        character = self._buffer[:length].decode("utf-8", "replace")
        self._buffer = self._buffer[length:]
        return _CHARACTERS.get(character, "")


def _named(
    numbers: bytes | None, end: bytes | None, single: bytes | None, console: bytes | None
) -> str:
    if console:
        return f"F{console[0] - 64}"
    first, *more = (int(number or 1) for number in (numbers or b"").split(b";"))
    name = _NUMBERS.get(first, "") if end == b"~" else _ENDS.get(end or single or b"", "")
    bits = more[0] - 1 if more else 0
    return "".join(prefix for prefix, bit in _MODIFIERS if bits & bit) + name if name else ""
