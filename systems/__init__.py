"""Rules: one file per phase of a step, one small function per rule."""

from gv_engine.rules.system import REGISTRIES
from systems import movers, rendering, reset, reward, terminating, transition, visibility

for _module in (reset, transition, movers, reward, terminating, visibility, rendering):
    for _registry in REGISTRIES.values():
        _registry.collect(_module)
