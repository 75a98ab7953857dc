"""Keyboard, gamepads and clipboard: from pygame's events to names of keys."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.input.bindings import (
    LETTERS,
    PAD,
    PADS,
    SCANCODES,
    SECOND,
    set_layout_labels,
)

from pygame._sdl2 import controller  # isort: skip


# ---- clipboard -----------------------------------------------------------------------------------

# MIME types of text in the clipboard: the first one works for writing under X11, the second
# elsewhere.
_MIME_TYPES = ("text/plain;charset=utf-8", pygame.SCRAP_TEXT)


def copy_to_clipboard(text: str) -> str:
    """Copy `text`, one line, to the clipboard; return an error message, or "" if it worked."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        try:
            pygame.scrap.put(_MIME_TYPES[0], text.encode())
        except pygame.error:
            pygame.scrap.put(_MIME_TYPES[1], text.encode())
    except pygame.error as error:
        return f"There is no clipboard: {error}"
    return ""


def paste_from_clipboard() -> str:
    """Return the first line of the text in the clipboard; "" if there is none."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        raw = next(filter(None, map(pygame.scrap.get, _MIME_TYPES)), b"")
    except pygame.error:
        return ""
    return raw.decode("utf-8", "replace").replace("\0", "").strip().partition("\n")[0]


# ---- keyboard ------------------------------------------------------------------------------------


REPEAT_AFTER, REPEAT_EVERY = 250, 90  # ms
STICK_OUT, STICK_BACK = 20_000, 12_000  # of 32767: thresholds of pressing and releasing a stick
_NAMES = {code: name for name, code in SCANCODES.items()}
_MODIFIERS = (
    (pygame.KMOD_CTRL | pygame.KMOD_META, "Ctrl+"),
    (pygame.KMOD_ALT, "Alt+"),
    (pygame.KMOD_SHIFT, "Shift+"),
)
_STICK = {0: ("Pad Left", "Pad Right"), 1: ("Pad Up", "Pad Down")}


# What a US keyboard types with each key that may differ elsewhere. Digits are on all keyboards.
_US_CHARACTERS = {
    **{letter: letter.lower() for letter in LETTERS},
    **{"Minus": "-", "Equals": "=", "LeftBracket": "[", "RightBracket": "]", "Backslash": "\\"},
    **dict(zip(("Semicolon", "Apostrophe", "Grave", "Comma", "Period", "Slash"), ";'`,./")),
}
_LAST_LATIN = 0x24F  # other keyboards have Latin letters beside their own


def read_layout_labels() -> dict[str, str]:
    """Return what is printed on the keys of the user's keyboard that differ from a US keyboard, by
    name of the key."""
    # indexing by a key code looks up the scancode that types it in the current layout
    wrapper: Any = pygame.key.ScancodeWrapper  # said to hold what keys are pressed
    scancodes = wrapper(range(512))
    characters = {scancodes[code]: chr(code) for code in range(0x21, _LAST_LATIN + 1)}
    printed = {name: characters.get(SCANCODES[name], us) for name, us in _US_CHARACTERS.items()}
    return {
        name: character if character == "ß" else character.upper()
        for name, character in printed.items()
        if character != _US_CHARACTERS[name]
    }


class Keyboard:
    """Translator from pygame events to names of keys, such as `Shift+Left` or `Pad A`, that
    distinguishes held keys from new presses.

    Attributes:
        accepts_text: True if typed text is passed to the screen on top.
    """

    def __init__(self) -> None:
        self.accepts_text = True
        self._held: set[str] = set()
        self._last_key = ""
        self._batch_keys: set[str] = set()  # accepted in this batch of events
        self._batch_releases: set[str] = set()  # released in this batch of events
        self._repeat_times: dict[str, float] = {}  # next repeat of a held gamepad button
        self._pads: dict[int, object] = {}  # by instance id; the first one has no prefix
        self._is_pressing = False  # True while the command of a pressed key runs

    def open(self) -> None:
        """Begin to listen to keys and gamepads, for a new window."""
        self._held.clear()
        set_layout_labels(read_layout_labels())
        pygame.key.set_repeat(REPEAT_AFTER, REPEAT_EVERY)
        if not controller.get_init():
            controller.init()

    def close(self) -> None:
        """Release the gamepads."""
        self._pads.clear()
        controller.quit()

    @property
    def holds_last_key(self) -> bool:
        """True while the key or button that was pressed last is held."""
        return self._last_key in self._held

    def begin_batch(self, events: Iterable[pygame.event.Event]) -> None:
        """Begin a new batch of events, in which a held key counts at most once more; not at all if
        the batch releases it. pygame repeats a key until it sees the release, so a short press
        during a slow frame would count as held."""
        self._batch_keys.clear()
        self._batch_releases = {
            _NAMES.get(event.scancode, "") for event in events if event.type == pygame.KEYUP
        }

    def ignore_opening_text(self) -> None:
        """Ignore the typed character of the key that has just opened or closed a screen; characters
        of later keys are accepted."""
        self.accepts_text = not self._is_pressing

    def accepts(self, key: str, is_repeat: bool, can_repeat: bool) -> bool:
        """Return True if a press of `key` should run its command: a new press always; a repeat of a
        held key (`is_repeat`) only if `can_repeat`, and once per batch of events."""
        if is_repeat and (not can_repeat or key in self._batch_keys):
            return False
        self._batch_keys.add(key)
        return True

    def keys(self, event: pygame.event.Event) -> Iterator[tuple[str, bool]]:
        """Yield (key name, True if the key was already held) for each key or gamepad button that
        the event presses."""
        if event.type == pygame.KEYDOWN:
            yield from self._press_key(event)
        elif event.type == pygame.KEYUP:
            self._held.discard(_NAMES.get(event.scancode, ""))
            self.accepts_text = True
        elif event.type == pygame.WINDOWFOCUSLOST:
            self._held.clear()
        elif event.type in (pygame.KEYMAPCHANGED, pygame.WINDOWFOCUSGAINED):
            set_layout_labels(read_layout_labels())
        elif event.type == pygame.CONTROLLERBUTTONDOWN and event.button < len(PAD):
            key = self._get_pad_prefix(event) + PAD[event.button]
            yield key, self._hold(key)
        elif event.type == pygame.CONTROLLERBUTTONUP and event.button < len(PAD):
            self._held.discard(self._get_pad_prefix(event) + PAD[event.button])
        elif event.type == pygame.CONTROLLERAXISMOTION and event.axis in _STICK:
            yield from self._move_stick(event)
        elif event.type == pygame.CONTROLLERDEVICEADDED:
            self._open_gamepad(event.device_index)
        elif event.type == pygame.CONTROLLERDEVICEREMOVED:
            self._pads.pop(event.instance_id, None)
            self._held -= PADS

    def _press_key(self, event: pygame.event.Event) -> Iterator[tuple[str, bool]]:
        """Yield the key of the event, as `keys` does, if it has a name. Until the caller asks for
        the next key, `_is_pressing` is True."""
        name = _NAMES.get(event.scancode, "")
        was_held = bool(name) and self._hold(name)
        self.accepts_text |= not was_held
        prefix = "".join(text for flag, text in _MODIFIERS if event.mod & flag)
        self._is_pressing = True
        try:
            if name and not (was_held and name in self._batch_releases):
                yield prefix + name, was_held
        finally:
            self._is_pressing = False

    def _move_stick(self, event: pygame.event.Event) -> Iterator[tuple[str, bool]]:
        """Yield the direction of a gamepad's stick, as `keys` does, if it is pushed there now."""
        deflections = -event.value, event.value
        for name, deflection in zip(_STICK[event.axis], deflections, strict=True):
            key = self._get_pad_prefix(event) + name
            if deflection < STICK_BACK:
                self._held.discard(key)
            elif deflection > STICK_OUT and key not in self._held:
                yield key, self._hold(key)

    def repeated_buttons(self, now: float) -> list[str]:
        """Return the held gamepad buttons that count as pressed again at the time `now`, as held
        keys of a keyboard do."""
        times = {key: time for key, time in self._repeat_times.items() if key in self._held}
        keys = [key for key, time in times.items() if now >= time]
        self._repeat_times = times | dict.fromkeys(keys, now + REPEAT_EVERY / 1000)
        return keys

    def _hold(self, key: str) -> bool:
        """Record that `key` is held; return True if it was already held."""
        was_held = key in self._held
        self._held.add(key)
        self._last_key = key
        if key in PADS and not was_held:
            self._repeat_times[key] = time.monotonic() + REPEAT_AFTER / 1000
        return was_held

    def _get_pad_prefix(self, event: pygame.event.Event) -> str:
        first = next(iter(self._pads), event.instance_id)
        return "" if event.instance_id == first else SECOND

    def _open_gamepad(self, index: int) -> None:
        with suppress(pygame.error):  # unplugged again before it could be opened
            pad = controller.Controller(index)
            self._pads[pad.as_joystick().get_instance_id()] = pad
