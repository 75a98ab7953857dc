"""Folders of the engine's data files, in a source checkout and in an installed wheel.

The module imports only the standard library, so that `gv_engine/__init__.py` can call
`check_sibling_packages` before it imports anything else.
"""

import signal
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

PACKAGE = Path(__file__).absolute().parents[2]
"""Folder of the package gv_engine."""

HOME: Path = PACKAGE.parent
"""Folder that holds gv_engine and its sibling packages."""

SIBLINGS = ("components", "systems")
"""Packages of the engine in the same folder as gv_engine."""


def _find_data_folder(name: str) -> Path:
    # inside first: site-packages may hold an `assets` of another distribution
    inside = PACKAGE / name
    return inside if inside.is_dir() else HOME / name


ASSETS: Path = _find_data_folder("assets")
"""Sprites and fonts."""

SCENARIOS: Path = _find_data_folder("scenarios")
"""Built-in scenarios, a YAML file or a folder each."""


def is_cli_process() -> bool:
    """Return True if this process was started as `gv-engine` or `python -m gv_engine`."""
    program = Path(sys.argv[0] if sys.argv else "").stem
    return program == "gv-engine" or ("-m", "gv_engine") in pairwise(sys.orig_argv)


def use_default_sigint() -> None:
    """Let Ctrl-C (SIGINT) end a command-line process at once and without a traceback; called before
    its modules are imported."""
    if is_cli_process() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def check_sibling_packages() -> None:
    """Raise an error if Python would import other packages named `components` and `systems` than
    those beside gv_engine.

    Both names are common: a folder of that name in the current folder, or another distribution,
    would be imported instead.

    Raises:
        ImportError: Python would import, or has imported, another package under one of the names.
    """
    for name in SIBLINGS:
        package = _find_package(name)
        # compare the parents: each of the packages may itself be a link
        if package is None or package.parent.resolve() == HOME.resolve():
            continue
        verb = "has already imported" if name in sys.modules else "would import"
        raise ImportError(
            f"gv_engine needs its own package {name!r} from {str(HOME / name)!r}, but Python "
            f"{verb} {str(package)!r} under that name. Rename or move the latter, run from another "
            f"folder, or give GV Engine a virtual environment of its own.",
            name=name,
            path=str(package),
        )


def _find_package(name: str) -> Path | None:
    """Return the folder or file that `import name` would import. None if there is none."""
    module = sys.modules.get(name)
    spec = find_spec(name) if module is None else None
    folders = getattr(module, "__path__", None) or getattr(spec, "submodule_search_locations", None)
    if folders:
        return Path(next(iter(folders)))
    file = getattr(module, "__file__", None) or getattr(spec, "origin", None)
    return Path(file) if file else None
