"""Names of keys, by their place on a US keyboard, and of the buttons of a gamepad."""

from __future__ import annotations

_CALLED = {
    **{"Escape": "Esc", "Return": "Enter", "Equals": "+", "Minus": "-", "Slash": "?"},
    **{"LeftBracket": "[", "RightBracket": "]", "Grave": "`", "Semicolon": ";"},
}
"""What people call some keys."""

LETTERS = {chr(65 + n): 4 + n for n in range(26)}
DIGITS = {str((n + 1) % 10): 30 + n for n in range(10)}
_FUNCTION = {f"F{n}": 57 + n for n in range(1, 13)}
_KEYPAD = {f"Keypad {n}": 89 + (n - 1) % 10 for n in range(10)}
_OTHERS = (
    "Return Escape Backspace Tab Space Minus Equals LeftBracket RightBracket Backslash",
    "Semicolon Apostrophe Grave Comma Period Slash CapsLock",
    "PrintScreen ScrollLock Pause Insert Home PageUp Delete End PageDown Right Left Down Up",
)
SCANCODES: dict[str, int] = {
    **LETTERS,
    **DIGITS,
    **_FUNCTION,
    **_KEYPAD,
    **{name: 40 + n for n, name in enumerate(_OTHERS[0].split())},
    **{name: 51 + n for n, name in enumerate(_OTHERS[1].split())},
    **{name: 70 + n for n, name in enumerate(_OTHERS[2].split())},
    **{f"Keypad {sign}": 84 + n for n, sign in enumerate("/*-+")},
    "Keypad Enter": 88,
    "Keypad .": 99,
    "NonUSBackslash": 100,
}
"""Usages of the USB keyboard page by name; they are SDL's scancodes too."""

_BUTTONS = "A B X Y Back Guide Start LeftStick RightStick LB RB Up Down Left Right"
PAD = tuple(f"Pad {name}" for name in _BUTTONS.split())
"""Buttons of a gamepad, in SDL's order."""

MODIFIERS = ("Ctrl", "Alt", "Shift")
"""In the order in which the names of keys have them."""


def key_label(key: str) -> str:
    """A key as people call it: Esc, Shift+Left, +."""
    *modifiers, name = key_parts(key)
    return "+".join([*modifiers, _CALLED.get(name, name)])


def key_parts(key: str) -> list[str]:
    """The modifiers of a key and its name, which may end with a plus."""
    *modifiers, name = key.removesuffix("+").split("+")
    return [*modifiers, name + "+" * key.endswith("+")]
