"""Errors that say what was found, what is allowed, and the likely fix."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class GVEngineError(Exception):
    """Base of the engine's own errors."""


class RuleError(GVEngineError, RuntimeError):
    """A rule met a world in which it is not defined, or broke a promise that rules make."""


class CapacityError(RuleError):
    """A world ran out of entities."""


class DoesNotCompileError(GVEngineError, RuntimeError):
    """A rule that runs in the object world cannot be compiled for a batch."""


class MissingExtraError(GVEngineError, ModuleNotFoundError):
    """A library that only some worlds need is not installed."""


class ScenarioError(GVEngineError, ValueError):
    """A scenario with mistakes; `problems` lists all of them, one located line each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[str, ...]]]:
        return ScenarioError, (self.problems,)


def nearest(found: object, allowed: Iterable[object]) -> str:
    """`did you mean 'x'? (allowed: x, y)` for a message about a wrong name."""
    names = [str(name) for name in allowed]
    near = get_close_matches(str(found), names, 1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}(allowed: {', '.join(names)})"


def reason(error: Exception) -> str:
    """What went wrong, for people: with the file, without the number that the system gives it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
