"""The rules of a level for its players, from the docstrings of the systems that run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator
from typing import Any

from components.appearance import FLOOR
from gv_engine.language.call import Call
from gv_engine.language.component import snake_case
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

_SAID = r"(?i)(?P<before>\b(?:an?|the|one|every|each) )?(?P<objects>objects?|those|one) of {} type"
_OF_TYPES = {
    name: rf"{_SAID.format(which)}\b(, such as \w+,?)?"
    for name, which in {
        "object_type": "a",
        "other_type": "another",
        "ground_type": "a third",
    }.items()
}
"""Parameters of rules that are types of objects, and how docstrings speak of these."""
_MASSES = ("ice", "lava", "water", "slime", "sand", "mud", "grass", "snow", "fire", "floor")
"""What nobody counts."""


def sections(
    schedules: Schedules, types: ObjectTypes = OBJECT_TYPES, lacks: Collection[int] = ()
) -> list[Section]:
    """What happens in a level, what pays, what ends it and what wins, in the order of its rules;
    what several members of a mixture have in common, once.

    Args:
        schedules: the rules, by phase.
        types: those of the level.
        lacks: of these the numbers that it has none of; rules about them are left out.
    """
    found = []
    for phase, heading in _HEADINGS.items():
        calls = [call for _, schedule in schedules for call in schedule.get(phase, ())]
        parts = [part for call in calls for part in _whole(call)]
        said = [in_sentences(part, types) for part in parts if not _is_about(part, lacks)]
        if said:
            found.append((heading, list(dict.fromkeys(said))))
    return found


def _whole(call: Call) -> Iterator[Call]:
    """The rules of one that is met by any of several; else the rule itself."""
    inner = [part for path in call.paths() if len(path) == 2 for part in path[1:]]
    yield from inner if call.name == "reduce_any" and inner else (call,)


def _is_about(call: Call, kinds: Collection[int]) -> bool:
    """Whether a rule is about things of one of these types alone."""
    return any(call.arguments.get(name, -1) in kinds for name in _OF_TYPES if name != "ground_type")


def in_sentences(call: Call, types: ObjectTypes) -> tuple[str, str]:
    """The name of a rule for people, and what it says of the things that the level gives it; with
    the other values, and the rules that it is made of."""
    says = sentence(call.system.objects or call.system.function)
    told = dict(call.arguments)
    for name, words in _OF_TYPES.items():
        kind = told.get(name)
        if isinstance(kind, int) and FLOOR < kind < len(types) and re.search(words, says):
            says = _about(says, words, snake_case(types[kind].name).replace("_", " "))
            del told[name]
    inner = [part for part in call.parts() if part is not call]
    if inner:
        says = f"{says} Made of: {'; '.join(_bare(sentence(p.system.function)) for p in inner)}."
    values = [
        f"{name.replace('_', ' ')} {as_written(name, value, types).replace('_', ' ')}"
        for name, value in told.items()
        if isinstance(value, int | float)
    ]
    return call.name.replace("_", " "), f"{says} ({', '.join(values)})" if values else says


def _about(says: str, words: str, thing: str) -> str:
    """A sentence about objects of a type, with the type's name in their place."""
    vowel = thing[0] in "aeiou" and not thing.startswith("one")
    one = thing if thing in _MASSES else f"{'an' if vowel else 'a'} {thing}"
    several = thing if thing in _MASSES else f"{thing}es" if thing[-1] in "sxh" else f"{thing}s"

    def named(found: re.Match[str]) -> str:
        before, objects = found["before"] or "", found["objects"]
        if objects.lower() in ("objects", "those"):
            named = before + several
        elif before.lower() in ("an ", ""):
            named = one
        else:
            named = before + thing
        return named[0].upper() + named[1:] if found[0][0].isupper() else named

    return re.sub(words, named, says)


def sentence(function: Any) -> str:
    """What a function says of itself first."""
    said = inspect.getdoc(function) or ""
    return " ".join(said.partition("\n\n")[0].split())


def _bare(said: str) -> str:
    return said.rstrip(".")
