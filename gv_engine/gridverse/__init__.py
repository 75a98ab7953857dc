"""Object API of GridVerse: states, grids and objects for writing rules and levels.

Names and module paths are those of the GridVerse documents: `gv_engine.gridverse.grid` has `Grid`,
and `gv_engine.gridverse.envs.reset_functions` has the registry of reset functions. This package
exports all of them; they are listed in `__init__.pyi`.
"""

import sys
from importlib import import_module

import lazy_loader

from gv_engine.gridverse import action, registry

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

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
