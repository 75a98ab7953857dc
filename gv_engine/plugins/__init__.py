"""Plugins: additions to the engine, a folder each, which it finds by their `plugin.py`."""

import sys
from importlib import import_module
from pkgutil import walk_packages


def publish(path: str, package: str) -> None:
    """Import all modules of a plugin's `package`, and make each of them known below the public
    `path` as well: one module under two names."""
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        sys.modules[path + name.removeprefix(package)] = sys.modules[name]
