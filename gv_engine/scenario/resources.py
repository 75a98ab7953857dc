"""Where the engine's own files lie, in a checkout and in an installed wheel.

Imports nothing but the standard library, so that `gv_engine/__init__.py` can call
`check_sibling_packages` before it imports anything else.
"""

import signal
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

PACKAGE = Path(__file__).absolute().parent.parent
"""The folder of gv_engine itself."""

HOME: Path = PACKAGE.parent
"""Where gv_engine and its neighbours lie."""

_SIBLINGS = ("components", "systems")


def _find_data_folder(name: str) -> Path:
    # Inside first: beside an installed gv_engine, site-packages may hold a stranger's `assets`.
    inside = PACKAGE / name
    return inside if inside.is_dir() else HOME / name


ASSETS: Path = _find_data_folder("assets")
"""Sprites and fonts."""

SCENARIOS: Path = _find_data_folder("scenarios")
"""One YAML file, or one folder, per scenario."""


def is_cli_process() -> bool:
    """Whether this process is `gv-engine` or `python -m gv_engine`, and no program of others."""
    words = sys.orig_argv
    started = Path(sys.argv[0] if sys.argv else "").stem
    return started == "gv-engine" or ("-m", "gv_engine") in pairwise(words)


def use_default_sigint() -> None:
    """Let Ctrl-C end the command while it is imported, when nothing else could catch it."""
    if is_cli_process() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def check_sibling_packages() -> None:
    """Make sure that `components` and `systems` are the packages beside gv_engine.

    Both names are common: a folder of that name where Python was started, or another
    distribution, would be imported in their place.

    Raises:
        ImportError: Python would import, or has imported, a stranger under one of the names.
    """
    for name in _SIBLINGS:
        found = _find_package(name)
        # The parents are compared, not the packages: either of these may itself be a link.
        if found is None or found.parent.resolve() == HOME.resolve():
            continue
        verb = "has already imported" if name in sys.modules else "would import"
        raise ImportError(
            f"gv_engine needs its own package {name!r} from {str(HOME / name)!r}, but Python "
            f"{verb} {str(found)!r} under that name. Rename or move the latter, run from another "
            f"folder, or give GV Engine a virtual environment of its own.",
            name=name,
            path=str(found),
        )


def _find_package(name: str) -> Path | None:
    """Return the package folder or module file that `import name` gives; None without one."""
    module = sys.modules.get(name)
    spec = find_spec(name) if module is None else None
    folders = getattr(module, "__path__", None) or getattr(spec, "submodule_search_locations", None)
    if folders:
        return Path(next(iter(folders)))
    file = getattr(module, "__file__", None) or getattr(spec, "origin", None)
    return Path(file) if file else None
