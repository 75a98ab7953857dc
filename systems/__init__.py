"""Rules: one file per phase of a step, one small function per rule."""

from gv_engine.rules.system import REGISTRIES
from systems import (
    absence,
    movers,
    numbers,
    rendering,
    reset,
    reward,
    terminating,
    together,
    transition,
    visibility,
)

_TRANSITIONS = transition, movers, numbers, together, absence
for _module in (reset, *_TRANSITIONS, reward, terminating, visibility, rendering):
    for _registry in REGISTRIES.values():
        _registry.collect(_module)
