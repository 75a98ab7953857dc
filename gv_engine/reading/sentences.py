"""The rules of a level for its players, from the docstrings of the systems that run."""

from __future__ import annotations

import inspect
from typing import Any

from gv_engine.language.call import Call
from gv_engine.language.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.language.system import REWARD, SUCCESS, TERMINATING, TRANSITION
from gv_engine.reading.families import Schedules
from gv_engine.reading.handbook import as_written

Section = tuple[str, list[tuple[str, str]]]
"""A heading, and under it names of rules and their sentences."""

_HEADINGS = {
    TRANSITION: "What happens",
    REWARD: "What pays",
    TERMINATING: "What ends it",
    SUCCESS: "What wins",
}


def sections(schedules: Schedules, types: ObjectTypes = OBJECT_TYPES) -> list[Section]:
    """What happens in a level, what pays, what ends it and what wins, in the order of its rules;
    what several members of a mixture have in common, once. `types` are those of the level."""
    found = []
    for phase, heading in _HEADINGS.items():
        said = [
            in_sentences(call, types)
            for _, schedule in schedules
            for call in schedule.get(phase, ())
        ]
        if said:
            found.append((heading, list(dict.fromkeys(said))))
    return found


def in_sentences(call: Call, types: ObjectTypes) -> tuple[str, str]:
    """The name of a rule for people, and what it says; with the values that the level gives it, and
    the rules that it is made of."""
    says = sentence(call.system.objects or call.system.function)
    inner = [part for part in call.parts() if part is not call]
    if inner:
        says = f"{says} Made of: {'; '.join(_bare(sentence(p.system.function)) for p in inner)}."
    values = [
        f"{name.replace('_', ' ')} {as_written(name, value, types).replace('_', ' ')}"
        for name, value in call.arguments.items()
        if isinstance(value, int | float)
    ]
    return call.name.replace("_", " "), f"{says} ({', '.join(values)})" if values else says


def sentence(function: Any) -> str:
    """What a function says of itself first."""
    said = inspect.getdoc(function) or ""
    return " ".join(said.partition("\n\n")[0].split())


def _bare(said: str) -> str:
    return said.rstrip(".")
