"""Exceptions of the engine. Messages say what was found, what is allowed, and the likely fix."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from itertools import accumulate, islice
from string import digits
from typing import NamedTuple

_MAX_MESSAGE_LENGTH = 4000
"""Maximum number of characters of a message, about one screen."""
_MAX_COMPARED = 300
"""Maximum number of names that a wrong name is compared with; each takes up to 0.1 ms."""
_MAX_LINE_LENGTH = 1000

STEP_AFTER_END = "step() after the end of the episode: call reset(), later rewards mean nothing"
STEP_AFTER_CLOSE = "step() after close(): call reset(), or make a new environment"


class GVEngineError(Exception):
    """Base class of the engine's exceptions. Their text never holds unprintable characters."""

    def __str__(self) -> str:
        return escape_unprintable(super().__str__())


class RuleError(GVEngineError, RuntimeError):
    """A rule failed: it cannot run in this world, or did something that rules must not do.

    Attributes:
        worlds: indices of all worlds of a batch that failed in this step; the message is about the
            first.
        world_error: error of the first of these worlds, without its index; None outside a batch.
    """

    worlds: tuple[int, ...] = ()
    world_error: RuleError | None = None

    @classmethod
    def from_worlds(cls, failed_worlds: Iterable[int], first_error: RuleError) -> RuleError:
        """Return one error for a step in which several worlds failed. It names the indices of all
        of them, and has the message of `first_error`."""
        worlds = tuple(failed_worlds)
        error = first_error.world_error or first_error  # without the index of another batch
        num_others = len(worlds) - 1
        note = f" ({num_others} more failed: `worlds` of this error)" if num_others else ""
        batch_error = type(error)(f"world {worlds[0]}: {error}{note}")
        batch_error.worlds, batch_error.world_error = worlds, error
        return batch_error


class Stopped(BaseException):
    """Raised inside a rule that runs for too long, to stop it. It is a BaseException, so that
    `except Exception` in the rule does not catch it."""


class StoppedError(RuleError):
    """A rule ran for too long and was stopped."""


class ColumnError(RuleError):
    """A rule wrote a value that a component's field cannot hold. The message names the rule if the
    attribute `system` is set."""

    def __str__(self) -> str:
        system = getattr(self, "system", None)
        message = super().__str__()
        return f"{system.title}: {message}" if system else message


class CapacityError(RuleError):
    """A world ran out of free entities."""


class NoRoomError(RuleError):
    """No cell was free for an object that a reset rule places at random. The arguments are a
    message; or an index in the scenario's list `place`, and its line number (0 if unknown)."""

    def __str__(self) -> str:
        """Return the message. It says where in the scenario file the object is listed."""
        if len(self.args) != 2:
            return super().__str__()
        number, line = self.args
        place = f"place[{number}]" + (f" in line {line}" if line else "")
        return (
            f"{place}: no free cell is left where it may stand; make the region larger, or the "
            f"count smaller"
        )


class OutOfBoundsError(IndexError):
    """An index is out of bounds of an array; or, if the axis is `ENTITY`, a number is written as an
    entity that does not exist."""

    ENTITY = -1

    def __init__(self, index: int, axis: int, size: int) -> None:
        super().__init__(index, axis, size)

    def __str__(self) -> str:
        """Return the message: NumPy's for an index, or one that names the missing entity."""
        index, axis, size = self.args
        if axis == self.ENTITY:
            return f"{index} is no entity: allowed are 1 to {size - 1}, and 0 for none"
        return "index {} is out of bounds for axis {} with size {}".format(*self.args)


class DoesNotCompileError(GVEngineError, RuntimeError):
    """A rule cannot be compiled. It still runs in worlds of Python objects."""


class BuiltInDoesNotCompileError(DoesNotCompileError):
    """A rule of the engine itself cannot be compiled, because of a bug or a broken installation."""


class MissingExtraError(GVEngineError, ModuleNotFoundError):
    """An optional dependency, which only some domains need, is not installed."""


class SeveralAgentsError(GVEngineError, ValueError):
    """A scenario has several agents where only one is supported."""


class ProblemPlace(NamedTuple):
    """Place of a problem in a scenario file: file, line, column.

    Attributes:
        path: keys that lead to the value, as messages show them; "" for the whole scenario.
        line: line in the file, from 1; None for a scenario without a file.
        file: path of the file, if it is not the scenario's own; else "".
        cells: (y, x) of cells of the map; () if the problem has none.
    """

    path: str = ""
    line: int | None = None
    file: str = ""
    cells: tuple[tuple[int, int], ...] = ()


class ScenarioError(GVEngineError, ValueError):
    """A scenario has mistakes.

    The message lists `problems`; a long list is cut and ends with the number of further problems.

    Attributes:
        problems: all problems, each one line with its location.
        places: location of each problem; () if the reader gives none.
    """

    places: tuple[ProblemPlace, ...] = ()

    def __init__(self, problems: Iterable[str]) -> None:
        """Make the error from one text, or from several texts of one line each."""
        lines = [problems] if isinstance(problems, str) else problems
        self.problems = tuple(shorten(line, _MAX_LINE_LENGTH) for line in lines)
        total_lengths = accumulate(map(len, self.problems))
        num_shown = sum(length <= _MAX_MESSAGE_LENGTH for length in total_lengths) or 1
        shown, num_hidden = self.problems[:num_shown], len(self.problems[num_shown:])
        hidden_note = [f"… and {num_hidden} more"] if num_hidden else []
        super().__init__("\n".join([*shown, *hidden_note]))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class TrustError(ScenarioError):
    """A scenario names Python code that is not allowed to run."""


class UnknownOptionError(ScenarioError, TypeError):
    """An option is neither one of the environment nor a parameter of the scenario."""


def escape_unprintable(text: str) -> str:
    """Return `text` with each unprintable character replaced by an escape sequence, except line
    breaks and tabs.

    >>> escape_unprintable("a\\x1b[31mred")
    'a\\\\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )


def complain(message: object) -> None:
    """Print a message of the engine to stderr, with unprintable characters escaped; do nothing if
    stderr cannot be written."""
    with suppress(OSError):
        print(escape_unprintable(f"gv-engine: {message}"), file=sys.stderr, flush=True)


def shorten(text: str, max_length: int) -> str:
    """Return `text` with unprintable characters escaped, and with its middle replaced by an
    ellipsis if it is longer than `max_length`."""
    text = escape_unprintable(text)
    if len(text) <= max_length:
        return text
    head = max_length * 2 // 3
    return f"{text[:head]} … {text[len(text) - (max_length - head) :]}"


def format_count(number: int, noun: str) -> str:
    """Return a number of things, each called `noun`: `1 step`, `2 steps`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def format_cell(y: int, x: int) -> str:
    """Return `row 2, column 3` for the cell (2, 3): both count from 0, as in rules."""
    return f"row {y}, column {x}"


def describe_allowed(wrong: object, allowed: Iterable[object], label: str = "allowed") -> str:
    """Return the end of an error message about the unknown name `wrong`: the most similar of the
    `allowed` names, and all of them after `label`.

    >>> f"no color 'bleu'{describe_allowed('bleu', ['red', 'blue'])}"
    "no color 'bleu'; did you mean 'blue'? (allowed: red, blue)"
    >>> f"no color 'z'{describe_allowed('z', ['red', 'blue'])}"
    "no color 'z' (allowed: red, blue)"
    >>> describe_allowed("z", [])
    ''
    """
    names = [str(name) for name in allowed]
    return f"{suggest_similar(wrong, names)} ({label}: {', '.join(names)})" if names else ""


def suggest_similar(wrong: object, allowed: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the text `; did you mean 'x'?`, to end an error message. x is the name in `allowed`
    that is most similar to the unknown name `wrong`, ignoring case. Return "" if none is similar by
    at least `cutoff`, from 0 to 1.

    >>> suggest_similar("lr", ["seed", "learning_rate"])
    "; did you mean 'learning_rate'?"
    >>> suggest_similar("agent_0", ["agent_1", "agent_2"])  # either one
    ''
    """
    # of names that differ in case alone, the first one counts
    as_written = {name.casefold(): name for name in reversed([*islice(allowed, _MAX_COMPARED)])}
    folded = str(wrong)[:_MAX_LINE_LENGTH].casefold()
    similar = get_close_matches(folded, as_written, 2, cutoff)
    if not similar:  # `lr` for learning_rate
        similar = [name for name in as_written if "_" in name and _initials_of(name) == folded]
    if not similar and len(folded) > 2:
        similar = [name for name in as_written if name.startswith(folded)]
    if not similar:
        return ""
    without_digits = {name.translate(_DIGITS_REMOVED) for name in (folded, *similar)}
    if len(similar) > 1 and len(without_digits) == 1:
        return ""  # only the number is wrong: any of them may be meant
    return f"; did you mean {as_written[similar[0]]!r}?"


_DIGITS_REMOVED = str.maketrans("", "", digits)


def _initials_of(name: str) -> str:
    return "".join(word[:1] for word in name.split("_"))


def suggest_whole(value: object) -> str:
    """Return `; write 1000` for a float such as 1e3, which is whole; "" for other values.

    >>> suggest_whole(1e3)
    '; write 1000'
    """
    if isinstance(value, float) and abs(value) < 2**53 and value.is_integer():
        return f"; write {int(value)}"
    return ""


def error_text(error: BaseException) -> str:
    """Return the message of an exception; for an OSError the file and the reason without the error
    number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
