"""A terminal taken over for a while: keys come one by one, and all is as before afterwards."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from rich.console import Console
from rich.control import Control
from rich.screen import Screen
from rich.text import Text

from gv_engine.language.errors import printable

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

_ENDING = ("SIGTERM", "SIGHUP")


class NoTerminal(RuntimeError):
    """There is no terminal to play in."""


class Tty:
    """The terminal of this process, as a context manager.

    Attributes:
        console: what is drawn on; it knows the terminal's colours.

    Raises:
        NoTerminal: on entering; input or output is no terminal, or not one of POSIX.
    """

    def __init__(self) -> None:
        self.console = Console(highlight=False, soft_wrap=False)
        self._before: Any = None
        self._handlers: dict[int, Any] = {}
        self._ended = 0
        self._asks = self._answered = False

    def __enter__(self) -> Tty:
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
        self._before = termios.tcgetattr(self._input)
        mode = termios.tcgetattr(self._input)
        # Ctrl with S, Z, V and Y are keys of the game; Ctrl-C goes on to end it
        mode[0] &= ~(termios.IXON | termios.ICRNL)
        mode[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        for name in ("VSUSP", "VQUIT"):
            mode[6][getattr(termios, name)] = b"\0"
        handlers = dict.fromkeys(_ENDING, self._end) | {"SIGINT": self._interrupt}
        for name, handler in handlers.items():
            number = getattr(signal, name)
            self._handlers[number] = signal.signal(number, handler)
        termios.tcsetattr(self._input, termios.TCSADRAIN, mode)
        self.console.set_alt_screen(True)
        self.console.show_cursor(False)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.console.show_cursor(True)
            self.console.set_alt_screen(False)
        except OSError:  # it has been closed
            pass
        finally:
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, at this moment."""
        return self.console.size

    def read(self, seconds: float) -> bytes | None:
        """What has been typed, at most so many seconds later; None if the terminal is gone."""
        self._asks = self._answered = False
        if self._ended:
            self._end(self._ended, None)
        ready, _, _ = select.select([self._input], [], [], seconds)
        if not ready:
            return b""
        try:
            return os.read(self._input, 1024) or None
        except OSError:
            return None

    def show(self, lines: Iterable[Text], style: str) -> None:
        """Fill the screen.

        Args:
            lines: from the top; what does not fit is cut off.
            style: of the ground.
        """
        shown = [line.copy() for line in lines]
        for line in shown:  # names out of files; as many characters, so that colours stay in place
            line.plain = "".join(c if c.isprintable() else "?" for c in line.plain)
        self.console.control(Control.home())
        self.console.print(Screen(*shown, style=style), end="")

    def ask(self, question: str) -> bool:
        """Put a line below all else, while something goes on that keeps `read` from being called.

        Returns:
            Whether Ctrl-C has been pressed since this was first asked, or the game is to end.
        """
        self._asks = True
        width, height = self.size
        line = Text(printable(question), "reverse")
        line.truncate(max(1, width - 1), overflow="ellipsis", pad=True)
        self.console.control(Control.move_to(0, height - 1))
        self.console.print(line, end="")
        return self._answered or bool(self._ended)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._ended = number  # a rule may catch what is raised
        raise SystemExit(128 + number)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._asks:
            raise KeyboardInterrupt
        self._answered = True
