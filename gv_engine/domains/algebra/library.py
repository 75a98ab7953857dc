"""The systems of algebra by name, and their order where no scenario gives one."""

from __future__ import annotations

import sys
import typing
import warnings
from collections.abc import Mapping
from types import ModuleType

from gv_engine.rules.call import Call
from gv_engine.rules.errors import MissingExtraError
from gv_engine.rules.system import TERMINATING, Phase, System, marked, system_of
from gv_engine.scenario.optional_deps import MATH
from gv_engine.world.bound_call import BoundCall
from systems import algebra, terminating

# ---- library -------------------------------------------------------------------------------------

if "typing.io" not in sys.modules:
    _stand_in = ModuleType("typing.io")
    _stand_in.IO = typing.IO  # type: ignore[attr-defined]  # all that is asked of it
    sys.modules["typing.io"] = _stand_in

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", SyntaxWarning)
        from mathy_core import expressions as expressions
        from mathy_core import rules as rules
        from mathy_core import util as util
        from mathy_core.parser import ExpressionParser as ExpressionParser
        from mathy_core.parser import ParserException as ParserException
        from mathy_core.rule import BaseRule as BaseRule
        from mathy_core.rule import ExpressionChangeRule as ExpressionChangeRule
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "mathy_core":
        raise
    raise MissingExtraError(MATH.install_message, name=error.name) from None


# ---- order ---------------------------------------------------------------------------------------

Order = Mapping[Phase, tuple[Call, ...]]
Bound = Mapping[Phase, tuple[BoundCall, ...]]

SYSTEMS: dict[Phase, dict[str, System]] = {}
"""Systems that a scenario may list, by phase and name."""
for _system in filter(None, map(system_of, vars(algebra).values())):
    SYSTEMS.setdefault(_system.phase, {})[_system.name] = _system

SUCCESSES = {"solve": SYSTEMS[TERMINATING].pop("solve")} | {
    function.__name__: marked(function).system
    for function in (terminating.reduce_any, terminating.reduce_all)
}
"""Systems that say whether an episode has ended well, by name."""

USUAL: Order = {
    phase: tuple(Call(system, {}) for system in known.values()) for phase, known in SYSTEMS.items()
}
"""The order of environments without a scenario, and of files that give none."""


def bound(order: Order) -> Bound:
    """An order, ready to run."""
    return {phase: tuple(map(BoundCall, calls)) for phase, calls in order.items()}
