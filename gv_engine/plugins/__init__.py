"""Plugins: additions to the engine, a folder each, which it finds by their `plugin.py`."""

import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from pkgutil import walk_packages


def alias_modules(public_name: str, package: str) -> None:
    """Make every module of a `package` importable under `public_name`, too, as the same module
    object, which is loaded when it is first used."""
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        if module.name not in sys.modules:
            _load_late(module.name)
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        sys.modules[public_name + name.removeprefix(package)] = sys.modules[name]


def _load_late(name: str) -> None:
    """Enter the module `name` into `sys.modules`; it is loaded when an attribute of it is used."""
    spec = find_spec(name)
    assert spec
    assert spec.loader
    spec.loader = loader = LazyLoader(spec.loader)
    sys.modules[name] = module = module_from_spec(spec)
    loader.exec_module(module)
    parent, _, leaf = name.rpartition(".")
    setattr(sys.modules[parent], leaf, module)
