"""What of the values that a level draws is read while it is played, see `w.drawn`.

Arguments such as `$color` stand for them in resets alone, missions among them, whose trace is in
the world. Other rules read them by their code, which is what is looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dis import get_instructions
from types import FunctionType

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.compiled.program_functions import codes_within, functions_of
from gv_engine.language.call import Call
from gv_engine.language.system import RENDERING, RESET, Phase
from gv_engine.reading.scenario import Scenario

_ANY = 2**62
"""In place of the number of a value: it may be any."""


def draws_in_play(scenario: Scenario) -> NDArray[np.bool_]:
    """(members, drawn) which of the values that a member of a mixture draws its rules may read
    after a reset."""
    found = np.zeros((len(scenario.members), scenario.layout.drawn), np.bool_)
    if not found.size:
        return found
    for read, member in zip(found, scenario.members, strict=True):
        for part in _parts(member):
            system = part.system
            if system.is_processor:  # whose code is anywhere
                read[:] = True
            roots = *system.functions, system.objects, *part.arguments.values()
            for number in (number for each in functions_of(roots) for number in _numbers(each)):
                read[number if -len(read) <= number < len(read) else slice(None)] = True
    return found


def _parts(member: Scenario) -> Iterator[Call]:
    """What runs after a reset, and is more than a picture."""
    for phase in Phase:
        if phase not in (RESET, RENDERING):
            for call in member.calls(phase):
                yield from call.parts()


def _numbers(function: FunctionType) -> Iterator[int]:
    """The numbers k of `w.drawn[k]` in a function; `_ANY` where k is worked out."""
    for code in codes_within(function.__code__):
        said = "drawn" in code.co_names or "drawn" in code.co_consts
        lines = [*get_instructions(code)] if said else []
        for named, number, taken in zip(lines, lines[1:], lines[2:], strict=False):
            if named.opname in ("LOAD_ATTR", "LOAD_CONST") and named.argval == "drawn":
                known = function.__globals__ if number.opname == "LOAD_GLOBAL" else {}
                value = known.get(number.argval, number.argval)
                # the second since Python 3.14
                indexed = taken.opname == "BINARY_SUBSCR" or taken.argrepr == "[]"
                yield value if indexed and isinstance(value, int) else _ANY
