"""What happens: one file per part of a step, one small function per rule."""

import gv_engine  # noqa: F401  # first, so that either package can be imported before the other
from gv_engine.system import REGISTRIES
from systems import observation, reset, reward, terminating, transition, visibility

for _module in (reset, transition, reward, terminating, visibility, observation):
    for _registry in REGISTRIES.values():
        _registry.collect(_module)
