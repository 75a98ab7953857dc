"""Rule files: Python beside a scenario, imported as modules of this one.

The file `/home/me/maze/rules.py` is the module `gv_engine.rules./home/me/maze.rules`, so that

- rule files of different scenarios never meet, and none is searched along `sys.path`;
- a rule file can import its neighbours, `from .things import COIN`;
- whatever is defined there can be pickled and found again in another process.

No bytecode is kept: after two changes within a second it would be taken for current.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints
from urllib.parse import unquote

import esper

from gv_engine.errors import nearest
from gv_engine.system import Parameter, Phase, System

# a module with a path, even an empty one, can have modules below it
__path__: list[str] = []

_PREFIX = __name__ + "."
_loaded: dict[str, tuple[Path, tuple[int, int]]] = {}


class RuleFileError(Exception):
    """A rule file that cannot be imported; says where and why."""


class _Loader(SourceFileLoader):
    """Loads from source, always."""

    def path_stats(self, path: Any) -> Any:
        raise OSError("no bytecode")

    def exec_module(self, module: ModuleType) -> None:
        file = Path(self.path)
        stamp = _stamp(file)
        super().exec_module(module)
        _loaded[module.__name__] = file, stamp


class _Finder(MetaPathFinder):
    """Finds folders as packages, and the Python files in them as their modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX):
            return None
        folder, *below = (unquote(part) for part in fullname.removeprefix(_PREFIX).split("."))
        if not below and Path(folder).is_dir():
            package = ModuleSpec(fullname, None, is_package=True)
            package.submodule_search_locations = [folder]
            return package
        file = Path(folder, f"{'.'.join(below)}.py")
        if len(below) != 1 or not file.is_file():
            return None
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, str(file)))


sys.meta_path.insert(0, _Finder())


def is_rule_module(name: str) -> bool:
    """Whether a module of this name comes from a rule file."""
    return name.startswith(_PREFIX)


def load(file: Path) -> ModuleType:
    """The module of a rule file, imported again once it, or another of its folder, has changed.

    Raises:
        RuleFileError: there is no such file, or importing it fails.
    """
    file = file.resolve()
    if not file.is_file() or file.suffix != ".py":
        here = sorted(near.name for near in file.parent.glob("*.py"))
        hint = f"; {nearest(file.name, here)}" if here else ""
        raise RuleFileError(f"no Python file {file.name!r} in {str(file.parent)!r}{hint}")
    package = _PREFIX + _escaped(str(file.parent))
    old = {name: seen for name, seen in _loaded.items() if name.startswith(package + ".")}
    if all(_stamp(path) == stamp for path, stamp in old.values()):
        old = {}
    modules = {name: sys.modules.pop(name) for name in old if name in sys.modules}
    for name in old:
        del _loaded[name]
    try:
        return import_module(f"{package}.{_escaped(file.stem)}")
    except RuleFileError:
        # what is in play goes on with the old modules, and the next attempt starts here again
        sys.modules.update(modules)
        _loaded.update(old)
        raise


def import_module(name: str) -> ModuleType:
    """Import a module by name.

    Raises:
        RuleFileError: the import fails.
    """
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever an author's file may raise
        raise RuleFileError(_cause(error)) from None


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(".", "%2E")


def _stamp(file: Path) -> tuple[int, int]:
    try:
        stat = file.stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def _cause(error: BaseException) -> str:
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{error.filename}:{error.lineno}: {kind}: {error.msg}"
    what = f"{kind}: {error}" if str(error) else kind
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_file() and frame.filename not in (__file__, importlib.__file__)
    ]
    # the author's line, not the engine's that it called
    own = [frame for frame in frames if Path(frame.filename).parent != Path(__file__).parent]
    return f"{own[-1].filename}:{own[-1].lineno}: {what}" if own else what


def defined_in(module: ModuleType) -> list[str]:
    """The public names that a module defines itself, functions and classes, in order."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def processor_system(cls: type[esper.Processor], phase: Phase) -> System:
    """The system that an author's esper.Processor is: what its `__init__` takes is its parameters.

    Raises:
        TypeError: `__init__` takes *args, **kwargs or keyword-only arguments.
    """
    signature = inspect.signature(cls)
    try:
        hints = get_type_hints(cls.__init__, include_extras=True)
    except NameError:  # a name that only type checkers import
        hints = {}
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(
                f"{cls.__name__}{signature} takes {parameter}; parameters of a processor are "
                f"given by position, so avoid *, ** and keyword-only arguments"
            )
        hint = hints.get(parameter.name, Any)
        parameters.append(Parameter(parameter.name, hint, parameter.default))
    return System(cls, phase, cls.__name__, tuple(parameters))
