"""Rules: one file per phase of a step, one small function per rule."""

from gv_engine.rules.system import REGISTRIES, get_system
from systems import (
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

for _module in (reset, transition, movers, together, reward, terminating, visibility, rendering):
    for _registry in REGISTRIES.values():
        _registry.collect(_module)
for _name in ("verify_instruction", "follow_instruction", "followed_instruction"):
    _system = get_system(getattr(instructions, _name))
    REGISTRIES[_system.phase].add(_system)
