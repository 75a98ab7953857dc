"""Rules: one file per phase of a step, one small function per rule."""

from gv_engine.rules.system import REGISTRIES, get_system
from systems import (
    absence,
    movers,
    rendering,
    reset,
    reward,
    terminating,
    together,
    transition,
    visibility,
)
from systems.minigrid import instructions

_RULES = reset, transition, movers, together, absence, reward, terminating, visibility, rendering
for _module in _RULES:
    for _registry in REGISTRIES.values():
        _registry.collect(_module)
for _name in ("verify_instruction", "follow_instruction", "followed_instruction"):
    _system = get_system(getattr(instructions, _name))
    REGISTRIES[_system.phase].add(_system)
