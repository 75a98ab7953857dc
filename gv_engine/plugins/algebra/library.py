"""Names imported from mathy_core, and the systems of algebra by name with their default order."""

from __future__ import annotations

import inspect
import sys
import typing
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from gv_engine.plugins.algebra import systems as algebra
from gv_engine.plugins.algebra.extras import MATH
from gv_engine.rules.errors import MissingExtraError
from gv_engine.rules.system import TERMINATING, Call, Phase, System, get_system, system_of
from gv_engine.world.bound_call import BoundCall
from systems import terminating

# ---- mathy_core ----------------------------------------------------------------------------------

if "typing.io" not in sys.modules:
    _stand_in = ModuleType("typing.io")
    _stand_in.IO = typing.IO  # type: ignore[attr-defined]  # mathy_core imports only this name
    sys.modules["typing.io"] = _stand_in

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", SyntaxWarning)
        from mathy_core import expressions as expressions
        from mathy_core import rules as rules
        from mathy_core import util as util
        from mathy_core.parser import ExpressionParser as ExpressionParser
        from mathy_core.rule import BaseRule as BaseRule
        from mathy_core.rule import ExpressionChangeRule as ExpressionChangeRule
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "mathy_core":
        raise
    raise MissingExtraError(MATH.install_message, name=error.name) from None


def code_location(function: Any) -> str:
    """Return `file:line` where a function or class is defined, for messages. Without a source file,
    return its name."""
    try:
        return f"{inspect.getsourcefile(function)}:{inspect.getsourcelines(function)[1]}"
    except (OSError, TypeError):  # typed in, or built in
        return str(getattr(function, "__qualname__", function))


# ---- systems -------------------------------------------------------------------------------------

Order = Mapping[Phase, tuple[Call, ...]]

SYSTEMS: dict[Phase, dict[str, System]] = {}
"""Systems that a scenario may list, by phase and name."""
for _system in filter(None, map(system_of, vars(algebra).values())):
    SYSTEMS.setdefault(_system.phase, {})[_system.name] = _system

SUCCESS_SYSTEMS = {"solve": SYSTEMS[TERMINATING].pop("solve")} | {
    function.__name__: get_system(function)
    for function in (terminating.reduce_any, terminating.reduce_all)
}
"""Systems that decide whether an episode was a success, by name."""

DEFAULT_ORDER: Order = {
    phase: tuple(Call(system, {}) for system in systems.values())
    for phase, systems in SYSTEMS.items()
}
"""Order of systems for environments without a scenario, and for scenarios that list none."""


def bind_order(order: Order) -> Mapping[Phase, tuple[BoundCall, ...]]:
    """Return for each phase in `order` its calls as `BoundCall` objects, which are ready to run."""
    return {phase: tuple(map(BoundCall, calls)) for phase, calls in order.items()}
