"""The systems of algebra by name, and their order where no scenario gives one."""

from __future__ import annotations

from collections.abc import Mapping

from gv_engine.language.call import Call
from gv_engine.language.system import TERMINATING, Phase, System, marked, system_of
from gv_engine.worlds.bound_call import BoundCall
from systems import algebra, terminating

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
