"""Raw terminal: key presses one by one, full-screen output, and restoring of the terminal's
state."""

from __future__ import annotations

import os
import re
import select
import signal
import string
import sys
from collections.abc import Iterable, Iterator, Sequence
from pkgutil import resolve_name
from tempfile import TemporaryFile
from types import FrameType
from typing import Any, Protocol

from rich.console import Console
from rich.control import Control
from rich.screen import Screen
from rich.text import Text

from gv_engine.play.ui.colors import Theme
from gv_engine.rules.errors import GVEngineError, escape_unprintable
from gv_engine.scenario.domains import DOMAINS, KeyCommand


class TerminalPicture(Protocol):
    """Draws frames of one domain in letters, and turns commands into actions.

    Attributes:
        steers: True if arrow keys move in the direction of the arrow on the screen; set by the
            creator.
        has_hints: True if `ask_hint` gives hints.
    """

    steers: bool = False
    has_hints: bool = False

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """Commands that replace the domain's commands while arrow keys move the agent in the
        direction of the arrow on the screen (`steers` is True)."""
        return ()

    def draw(self, frame: Any, view: str, width: int, height: int) -> list[Text]:
        """Return lines of text that show the world of `frame` in the named `view`, in at most
        `width` × `height` characters."""

    def facts(self, frame: Any) -> list[str]:
        """Return short texts about `frame` for the status panel, such as the held item."""

    def legend(self, frame: Any) -> list[Text]:
        """Return lines that explain the letters in sight."""

    def command(self, name: str) -> str:
        """Return the action of the domain's command `name`; "" if it has none."""

    def actions(self, name: str) -> Iterator[str]:
        """Yield the actions of the domain's key command `name`. The caller must take each action
        before it asks for the next."""
        if action := self.command(name):
            yield action

    def has_command(self, name: str) -> bool:
        """Return whether the level has a command of the domain's group."""

    def ask_hint(self) -> None:
        """Search for a hint, or make the hint stronger."""
        return None

    def drop_hint(self) -> None:
        """Forget the hint, because the state has changed."""
        return None

    def close(self) -> None:
        """Release what the view holds, such as a search process."""
        return None

    @property
    def hint_text(self) -> str:
        """The hint, or a note that the search for it is running; "" for none."""
        return ""


def make_terminal_picture(game: Any, theme: Theme, steers: bool) -> TerminalPicture:
    """Return an object that draws the session `game` as characters in colours of `theme`. With
    `steers`, arrow keys move the agent in the direction of the arrow on the screen."""
    picture: TerminalPicture = resolve_name(DOMAINS[game.frame().domain].terminal)(game, theme)
    picture.steers = steers
    return picture


# ---- keys ----------------------------------------------------------------------------------------

# An escape sequence, and the beginning of one.
_SEQUENCE = re.compile(rb"\x1b(?:\[[<=>?]?([0-9;]*)([A-Za-z~])|O([A-Za-z])|\[\[([A-E]))")
_BEGUN = re.compile(rb"\x1b(?:\[[<=>?]?[0-9;]*|\[\[|O)?")
_CHARACTER = re.compile(rb"[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*")
# Keys by the last byte of their sequence, and by the number before a final `~`.
_FINAL_BYTES = {
    **{b"A": "Up", b"B": "Down", b"C": "Right", b"D": "Left", b"H": "Home", b"F": "End"},
    **{b"P": "F1", b"Q": "F2", b"R": "F3", b"S": "F4", b"Z": "Shift+Tab", b"M": "Keypad Enter"},
}
_NUMBERS = {
    **{1: "Home", 2: "Insert", 3: "Delete", 4: "End", 5: "PageUp", 6: "PageDown"},
    **{7: "Home", 8: "End", 11: "F1", 12: "F2", 13: "F3", 14: "F4", 15: "F5"},
    **{17: "F6", 18: "F7", 19: "F8", 20: "F9", 21: "F10", 23: "F11", 24: "F12"},
}
_MODIFIERS = (("Ctrl+", 4), ("Alt+", 2), ("Shift+", 1))  # with their bits in a sequence
_SIGN_NAMES = (
    "Minus Equals LeftBracket RightBracket Backslash Semicolon Apostrophe Grave",
    "Comma Period Slash 1 2 3 4 5 6 7 8 9 0",
)
# Keys by character.
_CHARACTERS = {
    **dict(zip("-=[]\\;'`,./1234567890", " ".join(_SIGN_NAMES).split(), strict=True)),
    **{letter: letter.upper() for letter in string.ascii_lowercase},
    **{chr(1 + n): f"Ctrl+{letter}" for n, letter in enumerate(string.ascii_uppercase)},
    **{"\t": "Tab", "\r": "Return", "\n": "Return", " ": "Space"},
    **{"\x7f": "Backspace", "\b": "Backspace", "\x1b": "Escape"},
}
_SHIFTED = zip('_+{}|:"~<>?!@#$%^&*()', " ".join(_SIGN_NAMES).split(), strict=True)
_CHARACTERS |= {character: f"Shift+{name}" for character, name in _SHIFTED}
_CHARACTERS |= {letter: f"Shift+{letter}" for letter in string.ascii_uppercase}


class Keys:
    r"""Decoder from the bytes of a terminal, which may arrive in any pieces, to names of keys.

    >>> keys = Keys()
    >>> keys.feed(b"w\x1b[1;2D\x1b")
    ['W', 'Shift+Left']
    >>> keys.flush()
    ['Escape']
    """

    def __init__(self) -> None:
        self._buffer = b""

    @property
    def is_waiting(self) -> bool:
        """True if the buffer is the beginning of an escape sequence."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[str]:
        """Append `data` to the buffer, and return the names of the keys whose byte sequences are
        now complete; unknown keys are left out."""
        self._buffer += data
        names: list[str] = []
        while self._buffer and not _BEGUN.fullmatch(self._buffer):
            if name := self._take_key():
                names.append(name)
        return names

    def flush(self) -> list[str]:
        """End an incomplete escape sequence, because no more bytes have come in time; return
        `Escape` and the keys of the bytes after it."""
        rest, self._buffer = self._buffer[1:], b""
        return ["Escape", *self.feed(rest)]

    def _take_key(self) -> str:
        """Remove the bytes of the next key from the buffer, and return the key's name; "" if it is
        unknown."""
        if sequence := _SEQUENCE.match(self._buffer):
            self._buffer = self._buffer[sequence.end() :]
            return _name_sequence(*sequence.groups())
        if not self._buffer.startswith(b"\x1b"):
            return self._take_character()
        self._buffer = self._buffer[1:]
        if self._buffer.startswith(b"\x1b"):
            return "Escape"
        key = self._take_character()
        return f"Alt+{key}" if key else ""

    def _take_character(self) -> str:
        """Remove the next character from the buffer, and return the name of its key; "" if it is
        unknown."""
        match = _CHARACTER.match(self._buffer)
        length = match.end() if match else 1
        character = self._buffer[:length].decode("utf-8", "replace")
        self._buffer = self._buffer[length:]
        return _CHARACTERS.get(character, "")


def _name_sequence(
    numbers: bytes | None, end: bytes | None, ss3_end: bytes | None, console_end: bytes | None
) -> str:
    """Return the name of the key for a terminal escape sequence, such as `Shift+Left`; "" if
    unknown. The arguments are the groups that the regular expression `_SEQUENCE` matched."""
    if console_end:  # A for F1 to E for F5
        return f"F{console_end[0] - ord('@')}"
    number, *modifiers = (int(digits or 1) for digits in (numbers or b"").split(b";"))
    name = _FINAL_BYTES.get(end or ss3_end or b"", "")
    if end == b"~":
        name = _NUMBERS.get(number, "")
    if not name:
        return ""
    modifier_bits = modifiers[0] - 1 if modifiers else 0
    return "".join(prefix for prefix, bit in _MODIFIERS if modifier_bits & bit) + name


# ---- tty -----------------------------------------------------------------------------------------

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

_ENDING = ("SIGTERM", "SIGHUP")  # signals that end the process


class NoTerminal(GVEngineError, RuntimeError):
    """Input or output is no terminal."""


class Tty:
    """The terminal of this process, as a context manager that restores its state.

    Attributes:
        console: console to draw on, which knows the terminal's colours.

    Raises:
        NoTerminal: on entering, if input or output is no terminal of a POSIX system.
    """

    def __init__(self) -> None:
        self.console = Console(highlight=False, soft_wrap=False)
        self._mode_before: Any = None
        self._handlers_before: dict[int, Any] = {}  # by signal
        self._end_signal = 0  # signal that ends the process; 0 before
        self._messages = self._stderr = -1  # file descriptors: of a file, and of the old stderr
        self._is_asking = self._has_answered = False

    def __enter__(self) -> Tty:
        """Switch the terminal to raw mode (each key at once) and its second screen, and install
        signal handlers."""
        if termios is None:
            raise NoTerminal(
                "play in the terminal needs Linux, macOS or another POSIX system; on Windows, use "
                "WSL or play in the window"
            )
        if not (sys.stdin.isatty() and sys.stdout.isatty()) or self.console.is_dumb_terminal:
            raise NoTerminal(
                "play in the terminal needs a terminal: input and output must not be redirected, "
                "and TERM must not be 'dumb'"
            )
        self._input = sys.stdin.fileno()
        self._mode_before = termios.tcgetattr(self._input)
        handlers = dict.fromkeys(_ENDING, self._exit_on_signal) | {"SIGINT": self._interrupt}
        for name, handler in handlers.items():
            number = getattr(signal, name)
            self._handlers_before[number] = signal.signal(number, handler)
        self._set_raw_mode()
        self.console.set_alt_screen(True)
        self.console.show_cursor(False)
        if sys.stderr.isatty():
            self._hold_messages()
        return self

    def _set_raw_mode(self) -> None:
        """Let the terminal pass each key at once, also Ctrl with S, Z, V and Y, which are keys of
        the game; Ctrl-C still interrupts."""
        mode = termios.tcgetattr(self._input)
        input_flags, local_flags, control_characters = 0, 3, 6  # indices in `mode`
        mode[input_flags] &= ~(termios.IXON | termios.ICRNL)
        mode[local_flags] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        mode[control_characters][termios.VSUSP] = b"\0"
        mode[control_characters][termios.VQUIT] = b"\0"
        termios.tcsetattr(self._input, termios.TCSADRAIN, mode)

    def _hold_messages(self) -> None:
        """Write stderr, also of other processes, into a file until the game ends."""
        self._stderr = os.dup(sys.stderr.fileno())
        with TemporaryFile() as file:
            self._messages = os.dup(file.fileno())
        os.dup2(self._messages, sys.stderr.fileno())

    def _show_messages(self) -> None:
        """Restore stderr, and write the messages that it got during the game to the terminal."""
        os.dup2(self._stderr, sys.stderr.fileno())
        with os.fdopen(self._messages, "rb") as file:
            file.seek(0)
            os.write(self._stderr, file.read())
        os.close(self._stderr)

    def __exit__(self, *_: object) -> None:
        """Restore the terminal's screen, mode and signal handlers."""
        try:
            self.console.show_cursor(True)
            self.console.set_alt_screen(False)
        except OSError:  # it has been closed
            pass
        finally:
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._mode_before)
            for number, handler in self._handlers_before.items():
                signal.signal(number, handler)
            if self._messages >= 0:
                self._show_messages()

    @property
    def size(self) -> tuple[int, int]:
        """Current size of the terminal: columns and lines."""
        return self.console.size

    def read(self, seconds: float) -> bytes | None:
        """Return the bytes that the user types within `seconds`. b"" if there are none, None if the
        terminal is closed."""
        self._is_asking = self._has_answered = False
        if self._end_signal:
            self._exit_on_signal(self._end_signal, None)
        ready, _, _ = select.select([self._input], [], [], seconds)
        if not ready:
            return b""
        try:
            return os.read(self._input, 1024) or None
        except OSError:
            return None

    def show(self, lines: Iterable[Text], style: str) -> None:
        """Fill the terminal with `lines` from the top, on a background of the Rich style `style`.

        Args:
            lines: lines from the top; the rest is cut off.
            style: Rich style of the background.
        """
        printable_lines = [line.copy() for line in lines]
        for line in printable_lines:  # names out of files; of the same length, for the colours
            line.plain = "".join(c if c.isprintable() else "?" for c in line.plain)
        self.console.control(Control.home())
        self.console.print(Screen(*printable_lines, style=style), end="")

    def ask(self, question: str) -> bool:
        """Draw a question in the last line of the screen. Return True if the user has pressed
        Ctrl-C since it was first drawn. It is called repeatedly during a long computation.

        Returns:
            True if Ctrl-C was pressed since the first call, or the process is to end.
        """
        self._is_asking = True
        width, height = self.size
        line = Text(escape_unprintable(question), "reverse")
        line.truncate(max(1, width - 1), overflow="ellipsis", pad=True)
        self.console.control(Control.move_to(0, height - 1))
        self.console.print(line, end="")
        return self._has_answered or bool(self._end_signal)

    def _exit_on_signal(self, signal_number: int, frame: FrameType | None) -> None:
        self._end_signal = signal_number  # checked again if a rule catches the exception
        raise SystemExit(128 + signal_number)

    def _interrupt(self, signal_number: int, frame: FrameType | None) -> None:
        if not self._is_asking:
            raise KeyboardInterrupt
        self._has_answered = True
