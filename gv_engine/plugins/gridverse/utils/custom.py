"""Names of functions and objects in modules of users: `module:name`."""

import importlib


def is_custom(name: str) -> bool:
    """Return True for a name with a module, `module:name`."""
    return ":" in name


def import_custom(name: str) -> str:
    """Import the module in `module:name`, which registers what it defines, and return the name
    without the module."""
    module, _, name = name.partition(":")
    importlib.import_module(module)
    return name


def import_if_custom(name: str) -> str:
    """Return the result of `import_custom` for a name with a module; any other name unchanged."""
    return import_custom(name) if is_custom(name) else name
