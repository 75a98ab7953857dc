"""Errors that say what was found, what is allowed, and the likely fix."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import accumulate
from typing import NamedTuple

_SCREEN = 4000
"""Characters of a message, about as many as a screen has room for."""
_MOST_COMPARED = 300
"""Names; each that is compared with a wrong one takes up to 0.1 ms."""
_LONGEST_LINE = 1000


class GVEngineError(Exception):
    """Base of the engine's own errors, whose text is printable whatever it quotes."""

    def __str__(self) -> str:
        return escape_unprintable(super().__str__())


class RuleError(GVEngineError, RuntimeError):
    """A rule met a world in which it is not defined, or broke a promise that rules make.

    Attributes:
        worlds: numbers of all worlds of a batch that failed in this step; the text is of the first.
        told: the error of that one, without its number.
    """

    worlds: tuple[int, ...] = ()
    world_error: RuleError | None = None

    @classmethod
    def in_worlds(cls, failed: Iterable[int], error: RuleError) -> RuleError:
        """The error of a step, from that of the first of the worlds which it failed in."""
        first, *others = failed
        error = error.world_error or error
        more = f" ({len(others)} more failed: `worlds` of this error)" if others else ""
        found = type(error)(f"world {first}: {error}{more}")
        found.worlds, found.world_error = (first, *others), error
        return found


class Stopped(BaseException):
    """Raised within a rule that runs for too long; no Exception, so that few rules catch it."""


class StoppedError(RuleError):
    """A rule ran for too long and was stopped."""


class ColumnError(RuleError):
    """A rule wrote what no column holds; says which rule, where the error carries its system."""

    def __str__(self) -> str:
        system = getattr(self, "system", None)
        said = super().__str__()
        return f"{system.title}: {said}" if system else said


class CapacityError(RuleError):
    """A world ran out of entities."""


class NoRoomError(RuleError):
    """A thing that a level places finds no free cell; made of its number and its line, 0 for none,
    or of a text."""

    def __str__(self) -> str:
        if len(self.args) != 2:
            return super().__str__()
        number, line = self.args
        place = f"place[{number}]" + (f" in line {line}" if line else "")
        return (
            f"{place}: no free cell is left where it may stand; make the region larger, or the "
            f"count smaller"
        )


class OutOfBoundsError(IndexError):
    """An index that an array or a column does not have, in the words of NumPy."""

    def __init__(self, index: int, axis: int, size: int) -> None:
        super().__init__(index, axis, size)

    def __str__(self) -> str:
        return "index {} is out of bounds for axis {} with size {}".format(*self.args)


class DoesNotCompileError(GVEngineError, RuntimeError):
    """A rule that runs in the object world cannot be compiled for a batch."""


class BuiltInDoesNotCompileError(DoesNotCompileError):
    """A rule of the engine cannot be compiled here: a fault of the engine or its installation."""


class MissingExtraError(GVEngineError, ModuleNotFoundError):
    """A library that only some worlds need is not installed."""


class SeveralAgentsError(GVEngineError, ValueError):
    """A scenario with several agents, where there is room for one."""


class ProblemPlace(NamedTuple):
    """Where in a scenario something is wrong.

    Attributes:
        path: of the value, as messages give it; "" for the whole.
        line: of its file, from 1; None in a scenario that is no file.
        file: that it stands in, if that is another one than the scenario's.
        cells: y, x on the map; () if it is about no cell.
    """

    path: str = ""
    line: int | None = None
    file: str = ""
    cells: tuple[tuple[int, int], ...] = ()


class ScenarioError(GVEngineError, ValueError):
    """A scenario with mistakes.

    Its text is `problems`, or the first of them and how many there are more.

    Attributes:
        problems: all of them, one located line each.
        places: where each of them is, as far as the reader has told; () if it has not.
    """

    places: tuple[ProblemPlace, ...] = ()

    def __init__(self, problems: Iterable[str]) -> None:
        told = [problems] if isinstance(problems, str) else problems  # as whoever adds to it has it
        self.problems = tuple(shorten(problem, _LONGEST_LINE) for problem in told)
        ends = accumulate(len(problem) for problem in self.problems)
        shown = sum(end <= _SCREEN for end in ends) or 1
        more = len(self.problems[shown:])
        said = f"… and {more} more"
        super().__init__("\n".join([*self.problems[:shown], *([said] if more else [])]))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class TrustError(ScenarioError):
    """A scenario that names Python which may not run."""


class UnknownOptionError(ScenarioError, TypeError):
    """An option that is neither known nor a parameter of the scenario."""


def escape_unprintable(text: str) -> str:
    """A text whose characters that no screen shows, but for line breaks and tabs, are written out.

    >>> escape_unprintable("a\\x1b[31mred")
    'a\\\\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )


def complain(message: object) -> None:
    """Print a message of the engine to the errors, as printable text."""
    print(escape_unprintable(f"gv-engine: {message}"), file=sys.stderr, flush=True)


def shorten(text: str, most: int) -> str:
    """A text as a screen shows it, without its middle if it is longer than `most` characters."""
    text = escape_unprintable(text)
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]} … {text[len(text) - (most - head) :]}"


def describe_allowed(found: object, allowed: Iterable[object]) -> str:
    """`did you mean 'x'? (allowed: x, y)` for a message about a wrong name."""
    names = [str(name) for name in allowed]
    as_written = {name.casefold(): name for name in reversed(names[:_MOST_COMPARED])}
    near = get_close_matches(str(found)[:_LONGEST_LINE].casefold(), as_written, 1, cutoff=0.5)
    hint = f"did you mean {as_written[near[0]]!r}? " if near else ""
    return f"{hint}(allowed: {', '.join(names)})"


def error_text(error: Exception) -> str:
    """What went wrong, for people: with the file, without the number that the system gives it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
