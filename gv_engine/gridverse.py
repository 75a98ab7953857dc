"""Public path of the object API of GridVerse, `gv_engine.plugins.gridverse`.

Names and module paths are those of the GridVerse documents: `gv_engine.gridverse.grid` has `Grid`,
and `gv_engine.gridverse.envs.reset_functions` has the registry of reset functions.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from gv_engine.plugins import alias_modules
from gv_engine.plugins.gridverse import action, registry

if TYPE_CHECKING:
    from gv_engine.plugins.gridverse import *

alias_modules(__name__, "gv_engine.plugins.gridverse")

_PATHS = {
    "actions": action,
    **{f"envs.{name}": module for name, module in registry.FUNCTION_MODULES.items()},
    "utils.registry": registry,
}
"""Modules that the GridVerse documents name differently, by their paths there."""

for _path, _module in _PATHS.items():
    sys.modules[f"{__name__}.{_path}"] = _module
    _package, _, _name = f"{__name__}.{_path}".rpartition(".")
    setattr(import_module(_package), _name, _module)
