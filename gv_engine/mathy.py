"""Public path of algebra, as MathyEnv's documents print it, with their modules `env`, `state`,
`time_step` and `types`; see `gv_engine.plugins.algebra`."""

import sys
from typing import Any

from gv_engine.plugins import algebra
from gv_engine.plugins.algebra import env, state

__all__ = algebra.__all__

for _path, _module in {"env": env, "state": state, "time_step": state, "types": state}.items():
    sys.modules[f"{__name__}.{_path}"] = globals()[_path] = _module


def __getattr__(name: str) -> Any:
    return getattr(algebra, name)
