"""Keyboard and gamepads: from the events of the window to names of keys."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.input.bindings import PAD, SCANCODES

from pygame._sdl2 import controller  # isort: skip


# ---- clipboard -----------------------------------------------------------------------------------

_KINDS = ("text/plain;charset=utf-8", pygame.SCRAP_TEXT)
"""What texts are called there: under X11 the first one can be put, elsewhere the second."""


def copied(text: str) -> str:
    """Put a line of text into the clipboard; returns why that does not go, empty if it does."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        try:
            pygame.scrap.put(_KINDS[0], text.encode())
        except pygame.error:
            pygame.scrap.put(_KINDS[1], text.encode())
    except pygame.error as error:
        return f"There is no clipboard: {error}"
    return ""


def pasted() -> str:
    """The text in the clipboard, one line of it; empty if there is none."""
    try:
        if not pygame.scrap.get_init():
            pygame.scrap.init()
        raw = next(filter(None, map(pygame.scrap.get, _KINDS)), b"")
    except pygame.error:
        return ""
    return raw.decode("utf-8", "replace").replace("\0", "").strip().partition("\n")[0]


# ---- keyboard ------------------------------------------------------------------------------------

# below the line that quiets pygame's greeting


REPEAT_AFTER, REPEAT_EVERY = 250, 90  # ms a key is held
STICK_OUT, STICK_BACK = 20_000, 12_000  # of 32767: where a stick counts as pressed, and no longer
_NAMES = {code: name for name, code in SCANCODES.items()}
_MODIFIERS = (
    (pygame.KMOD_CTRL | pygame.KMOD_META, "Ctrl+"),
    (pygame.KMOD_ALT, "Alt+"),
    (pygame.KMOD_SHIFT, "Shift+"),
)
_STICK = {0: ("Pad Left", "Pad Right"), 1: ("Pad Up", "Pad Down")}


class Keyboard:
    """Names what is pressed, `Shift+Left` or `Pad A`, and tells a held key from a new press.

    Attributes:
        hears_text: whether text that is typed now is meant for the screen that is on top now.
    """

    def __init__(self) -> None:
        self.hears_text = True
        self._held: set[str] = set()
        self._done: set[str] = set()
        self._due: dict[str, float] = {}
        self._pads: dict[int, object] = {}
        self._presses = False

    def open(self) -> None:
        """Listen to a new window."""
        self._held.clear()
        pygame.key.set_repeat(REPEAT_AFTER, REPEAT_EVERY)
        if not controller.get_init():
            controller.init()

    def close(self) -> None:
        """Let go of the gamepads."""
        self._pads.clear()
        controller.quit()

    def begin(self) -> None:
        """Events that were waiting together come now."""
        self._done.clear()

    def forget_text(self) -> None:
        """Another screen is on top: the letters of the key that brought it, if one did, are not
        meant for it; those of the next key are, however soon it comes."""
        self.hears_text = not self._presses

    def counts(self, key: str, repeated: bool, repeats: bool) -> bool:
        """Whether a press is to be heeded: a new one, or one of a key held for a command that
        repeats, unless the game is slow: it must not walk on after the key is let go.
        """
        if repeated and (not repeats or key in self._done):
            return False
        self._done.add(key)
        return True

    def keys(self, event: pygame.event.Event) -> Iterator[tuple[str, bool]]:
        """The keys that an event presses, each with whether it had been held."""
        if event.type == pygame.KEYDOWN:
            name = _NAMES.get(event.scancode, "")
            held = bool(name) and self._hold(name)
            self.hears_text |= not held
            prefix = "".join(text for flag, text in _MODIFIERS if event.mod & flag)
            self._presses = True
            try:
                if name:
                    yield prefix + name, held
            finally:
                self._presses = False
        elif event.type == pygame.KEYUP:
            self._held.discard(_NAMES.get(event.scancode, ""))
            self.hears_text = True
        elif event.type == pygame.WINDOWFOCUSLOST:
            self._held.clear()
        elif event.type == pygame.CONTROLLERBUTTONDOWN and event.button < len(PAD):
            yield PAD[event.button], self._hold(PAD[event.button])
        elif event.type == pygame.CONTROLLERBUTTONUP and event.button < len(PAD):
            self._held.discard(PAD[event.button])
        elif event.type == pygame.CONTROLLERAXISMOTION and event.axis in _STICK:
            for key, away in zip(_STICK[event.axis], (-event.value, event.value), strict=True):
                if away < STICK_BACK:
                    self._held.discard(key)
                elif away > STICK_OUT and key not in self._held:
                    yield key, self._hold(key)
        elif event.type == pygame.CONTROLLERDEVICEADDED:
            self._plug(event.device_index)
        elif event.type == pygame.CONTROLLERDEVICEREMOVED:
            self._pads.pop(event.instance_id, None)
            self._held -= set(PAD)

    def again(self, now: float) -> list[str]:
        """Buttons of gamepads that are held and due to repeat; keys repeat by themselves."""
        self._due = {key: due for key, due in self._due.items() if key in self._held}
        keys = [key for key, due in self._due.items() if now >= due]
        self._due |= dict.fromkeys(keys, now + REPEAT_EVERY / 1000)
        return keys

    def _hold(self, key: str) -> bool:
        held = key in self._held
        self._held.add(key)
        if key in PAD and not held:
            self._due[key] = time.monotonic() + REPEAT_AFTER / 1000
        return held

    def _plug(self, index: int) -> None:
        try:
            pad = controller.Controller(index)
            self._pads[pad.as_joystick().get_instance_id()] = pad
        except pygame.error:
            pass  # unplugged again before it could be opened
