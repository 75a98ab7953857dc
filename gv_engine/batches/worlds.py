"""Many worlds at once: compiled rows, or object worlds where a rule does not compile.

Both kinds show the same thing in the same arrays (`Outputs`), so that environments do not know
which one they drive.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from gv_engine.batches.compiled.batch import CompiledBatch
from gv_engine.batches.objects import ObjectBatch
from gv_engine.language.errors import BuiltInDoesNotCompileError, DoesNotCompileError

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


def make_batch(
    scenario: Scenario,
    num_worlds: int,
    world: str = "auto",
    num_threads: int = 1,
    masks: bool = True,
    checked: bool = False,
) -> CompiledBatch | ObjectBatch:
    """Compiled worlds; object ones where that is asked for or an author's rule does not compile.

    Args:
        world: "compiled", "object", or "auto": compiled if possible, with a warning if not.
        num_threads: for compiled worlds; objects take turns in one.
        masks: whether to find out which actions would do something.
        checked: as for `CompiledBatch`; objects refuse an index beyond their columns anyway.

    Raises:
        DoesNotCompileError: "compiled" was asked for and a rule cannot be compiled, or "auto" and
            none of the rules is an author's.
        ValueError: `world` is none of the three.
    """
    if world not in ("auto", "compiled", "object"):
        raise ValueError(f"world={world!r}: allowed are 'auto', 'compiled' and 'object'")
    if world != "object":
        try:
            return CompiledBatch(scenario, num_worlds, num_threads, masks, checked)
        except DoesNotCompileError as error:
            if world == "compiled" or isinstance(error, BuiltInDoesNotCompileError):
                raise
            warnings.warn(f"{error}; stepping object worlds instead", RuntimeWarning, stacklevel=3)
    return ObjectBatch(scenario, num_worlds, masks)
