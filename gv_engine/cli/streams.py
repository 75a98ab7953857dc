"""Standard input and output of commands: replaces closed streams, and handles narrow encodings and
closed pipes."""

from __future__ import annotations

import codecs
import errno
import os
import sys
import unicodedata
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from gv_engine.rules.errors import complain

_ASCII = {"×": "x", "…": "...", "·": "-", "–": "-", "—": "-", "−": "-", "→": "->", "←": "<-"}
_ASCII |= {"≥": ">=", "≤": "<=", "≠": "!=", "²": "^2", "³": "^3"}
_ASCII |= {**dict.fromkeys("“”„", '"'), **dict.fromkeys("‘’", "'")}


def replace_with_ascii(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII in place of characters that an encoding lacks, and the index after them: `x` for
    `×`, `e` for `é`, else an escape sequence; an error handler of `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_to_ascii, error.object[error.start : error.end])), error.end


def _to_ascii(character: str) -> str:
    plain = unicodedata.normalize("NFD", character).encode("ascii", "ignore").decode()
    return _ASCII.get(character) or plain or character.encode("unicode_escape").decode()


codecs.register_error("ascii_text", replace_with_ascii)


def open_streams() -> None:
    """Prepare stdin, stdout and stderr: replace closed ones by empty ones, and let the others write
    escape sequences for characters that their encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # takes the number of the closed file, so that no other file gets it
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="ascii_text")


def flush_output(text: str = "") -> bool:
    """Write `text` and everything buffered to stdout and stderr. Return False if stdout cannot be
    written. An error is printed then, unless the reader of a pipe has gone."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        discard_output()
        if error.errno not in _reader_gone_errors():
            complain(f"the output cannot be written: {error.strerror}")
        return False
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            _discard(sys.stderr)
    return True


def _reader_gone_errors() -> tuple[int, ...]:
    """Return the error numbers of writing to a pipe whose reader has gone away."""
    return (errno.EPIPE, errno.EINVAL) if sys.platform == "win32" else (errno.EPIPE,)


def discard_output() -> None:
    """Write nothing to stdout any more."""
    _discard(sys.stdout)


def _discard(stream: TextIO) -> None:
    # the interpreter would flush it at its end, and say that it cannot
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
