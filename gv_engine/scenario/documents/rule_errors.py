"""Errors of rules, with the file and line of the author's code."""

from __future__ import annotations

import traceback
from types import FrameType
from typing import Any

from gv_engine.rules import errors
from gv_engine.rules.component import fields_of, is_component
from gv_engine.rules.objects import is_engine_module, is_rule_module, is_rule_package
from gv_engine.rules.system import system_of
from gv_engine.rules.world import World
from gv_engine.scenario.documents.rule_files import is_loaded
from gv_engine.scenario.memory.layout import Layout


def find_author_line(error: BaseException) -> str:
    """Return `file:line` of the scenario author's code where an error was raised. "" if the
    traceback contains none of it."""
    frames = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _is_author_frame(frame)
    ]
    return frames[-1] if frames else ""


def _is_author_frame(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return is_rule_module(name) or is_loaded(name)


def is_rule_frame(frame: FrameType) -> bool:
    """Return True if a frame runs code of a rule, an author's or a built-in one."""
    if frame.f_code.co_filename == "<string>":  # made by dataclass, and called by the engine
        return False
    return _is_author_frame(frame) or is_rule_package(frame.f_globals.get("__name__", ""))


def is_engine_frame(frame: FrameType) -> bool:
    """Return True if a frame of a traceback belongs to the engine or the library esper, and not to
    a rule."""
    name = frame.f_globals.get("__name__", "")
    return not is_rule_frame(frame) and (
        is_engine_module(name) or _get_top_package(frame) == "esper"
    )


def _get_top_package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def make_rule_error(error: Exception | errors.Stopped) -> errors.RuleError:
    """Convert an exception raised by a rule to a RuleError, whose message has the file and line in
    the author's code.

    Raises:
        Exception: the error itself, if no rule caused it.
    """
    if isinstance(error, errors.Stopped):
        return errors.StoppedError(str(error))
    if isinstance(error, errors.RuleError) and isinstance(cause := error.__cause__, Exception):
        return make_rule_error(cause) if find_author_line(cause) else error
    place = find_author_line(error)
    if isinstance(error, errors.GVEngineError):
        return errors.RuleError(f"{place}: {error}" if place else str(error))
    if not place:
        if system_of(error) or isinstance(error, errors.OutOfBoundsError):
            return make_system_error(error)
        raise error
    return errors.RuleError(f"{place}: {_describe_error(error)}")


def make_system_error(error: Exception) -> errors.RuleError:
    """Convert an exception to a RuleError that names the failed system, when no line of an author's
    code is known."""
    system = system_of(error)
    message = _describe_error(error)
    if isinstance(error, IndexError):
        message = str(error)  # complete in itself
    elif isinstance(error, ZeroDivisionError):
        message = "ZeroDivisionError: division by zero"  # compilers differ in the text
    return errors.RuleError(
        f"{system.title if system else 'the rules, or the state that they left'}: {message}"
    )


def _describe_error(error: Exception) -> str:
    """Return class and message of an exception. For an unknown column or component, the known ones
    are listed too."""
    owner = getattr(error, "obj", None)
    layout = getattr(owner, "layout", None)
    component: Any = getattr(owner, "cls", None)
    if isinstance(error, AttributeError) and is_component(component):
        hint = errors.describe_allowed(error.name, [f.name for f in fields_of(component)], "it has")
        return f"{component.__name__} has no column {error.name!r}{hint}"
    if isinstance(error, NameError) and error.__traceback__:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        known = [*frame.f_locals, *frame.f_globals]
        return f"{type(error).__name__}: {error}{errors.suggest_similar(error.name, known)}"
    if not (isinstance(error, AttributeError) and isinstance(layout, Layout)):
        return f"{type(error).__name__}: {error}"
    methods = [name for name in vars(World) if not name.startswith("_")]
    near = errors.suggest_similar(error.name, [*layout.names, *methods])
    columns = ", ".join(map(str, layout.names))
    return f"this world has no {error.name!r}{near} (allowed: {columns}, and methods of World)"
