"""Rule files: Python beside a scenario, imported as modules of this one.

The file `/home/me/maze/rules.py` is, for scenarios that name no other of its folder, the module
`gv_engine.scenario.rule_modules./home/me/maze|rules.rules`:

- rule files of different scenarios never meet, and none is searched along `sys.path`;
- what they declare is counted in the same order in every process: a package imports the files in
  its name, `rules,more`, one after the other;
- a rule file can import its neighbours, `from .things import COIN`;
- whatever is defined there can be pickled and found again in another process.

No bytecode is kept: after two changes within a second it would be taken for current.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, get_type_hints
from urllib.parse import unquote

import esper

from gv_engine.rules.component import fields_of, is_component
from gv_engine.rules.errors import (
    GVEngineError,
    OutOfBoundsError,
    RuleError,
    Stopped,
    StoppedError,
    nearest,
)
from gv_engine.rules.modules import RULE_FILES, SEPARATOR, is_engine_module, is_rule_module
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.rules.system import Parameter, Phase, System, system_of
from gv_engine.scenario.files import read_bytes
from gv_engine.scenario.layout import Layout
from gv_engine.scenario.resources import PACKAGE

# a module with a path, even an empty one, can have modules below it
__path__: list[str] = []

_MAX_BYTES = 2**24
"""Bytes of a rule file."""
_HINT_LIMITS = 100, 2**20
"""Files, and bytes of each, for a hint."""
_FAILED_DIGEST = "broken"
"""In place of the digest of a package of which a file has failed."""


class RuleFileError(Exception):
    """A rule file that cannot be imported; says where and why."""


@dataclass(frozen=True)
class SourceFile:
    """A Python file as it was when it was loaded.

    Attributes:
        path: where it is.
        digest: of its bytes, but for the kind of its line breaks; empty if it was not there.
    """

    path: Path
    digest: str

    @classmethod
    def read(cls, path: Path) -> SourceFile:
        """The file as it is now."""
        try:
            return cls(path, hash_text(read_bytes(path, _MAX_BYTES, "rule files")))
        except OSError:
            return cls(path, "")

    @property
    def is_current(self) -> bool:
        """Whether the file is still the same."""
        return self == SourceFile.read(self.path)


_loaded: dict[str, SourceFile] = {}
_replaced_modules: dict[str, dict[str, ModuleType]] = {}
"""The modules of packages before they were imported anew."""


class _SourceLoader(SourceFileLoader):
    """Loads from source, always."""

    def path_stats(self, path: Any) -> Any:
        raise OSError("no bytecode")

    def get_data(self, path: str) -> bytes:
        data = super().get_data(path)
        self._source = SourceFile(Path(path), hash_text(data))
        return data

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _loaded[module.__name__] = self._source


class _PackageLoader(Loader):
    """Imports the files that a package is named after; those that fail say so when they are asked
    for."""

    def exec_module(self, module: ModuleType) -> None:
        for root in _split_package_name(module.__name__)[1].split(","):
            with suppress(Exception, SystemExit, Stopped):
                importlib.import_module(f"{module.__name__}.{root}")


_LOADERS = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_SourceLoader, SOURCE_SUFFIXES)


class _Finder(MetaPathFinder):
    """Finds folders as packages, and what really lies in them as their modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(RULE_FILES):
            return None
        folder = str(get_rule_folder(fullname))
        below = [unquote(part) for part in fullname.removeprefix(RULE_FILES).split(".")[1:]]
        # a relative one comes of `from ..name import …`, which leads out of the folder
        if not below and Path(folder).is_absolute() and Path(folder).is_dir():
            package = ModuleSpec(fullname, _PackageLoader(), is_package=True)
            package.submodule_search_locations = [folder]
            return package
        file = Path(folder, f"{'.'.join(below)}.py")
        if len(below) == 1 and file.is_file():
            found = spec_from_file_location(
                fullname, file, loader=_SourceLoader(fullname, str(file))
            )
        else:
            finders = (FileFinder(place, *_LOADERS) for place in path or ())
            found = next(filter(None, (finder.find_spec(fullname) for finder in finders)), None)
        for place in _list_locations(found):
            if not place.resolve().is_relative_to(Path(folder).resolve()):
                raise ImportError(f"{place} leads out of its folder, to {place.resolve()}")
        return found


def _list_locations(found: ModuleSpec | None) -> Iterator[Path]:
    """Where a module is, and where those below it are."""
    if found is not None:
        if found.origin is not None:
            yield Path(found.origin)
        yield from map(Path, found.submodule_search_locations or ())


sys.meta_path.insert(0, _Finder())


def _split_package_name(name: str) -> tuple[str, str]:
    """What the name of a rule file's module says: its folder, and the files of its package."""
    folder, _, more = name.removeprefix(RULE_FILES).partition(".")[0].partition(SEPARATOR)
    return folder, more.partition(SEPARATOR)[0]


def get_rule_folder(name: str) -> Path:
    """The folder of a rule file, by the name of its module."""
    return Path(unquote(_split_package_name(name)[0]))


def make_package_name(files: Iterable[Path], offset: int = 0) -> str:
    """The name of the package of files of one folder, in which their modules are.

    Args:
        files: in the order in which they are imported; resolved.
        offset: how many indices of object types it leaves to others.
    """
    files = list(files)
    roots = ",".join(_escape(file.stem) for file in files)
    parts = [_escape(str(files[0].parent)), roots, *([str(offset)] if offset else [])]
    return RULE_FILES + SEPARATOR.join(parts)


def forget_changed_package(package: str) -> None:
    """Forget a package if one of its files has changed, or failed, so that it is imported anew."""
    own = [name for name in _loaded if name == package or name.startswith(f"{package}.")]
    if all(_loaded[name].is_current for name in own):
        return
    for name in own:
        del _loaded[name]
    below = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    _replaced_modules[package] = {name: sys.modules.pop(name) for name in below}
    OBJECT_TYPES.forget(package)


def resolve_rule_file(file: Path) -> Path:
    """A rule file, resolved.

    Raises:
        RuleFileError: there is no such file.
    """
    file = file.resolve()
    try:
        is_python = file.is_file() and file.suffix == ".py"
    except OSError as error:  # a name too long
        raise RuleFileError(f"{file}: {error.strerror}") from None
    if not is_python:
        here = sorted(near.name for near in file.parent.glob("*.py"))
        hint = f"; {nearest(file.name, here)}" if here else ""
        raise RuleFileError(f"no Python file {file.name!r} in {str(file.parent)!r}{hint}")
    return file


def load_rule_file(file: Path, package: str = "") -> ModuleType:
    """The module of a rule file, as it was when its package was refreshed.

    Args:
        package: in which it is; one of its own, refreshed now, if left out.

    Raises:
        RuleFileError: there is no such file, or importing it fails.
    """
    file = resolve_rule_file(file)
    if not package:
        package = make_package_name([file])
        forget_changed_package(package)
    try:
        return import_module(f"{package}.{_escape(file.stem)}")
    except RuleFileError:
        # what is in play goes on with the old modules, and the next attempt starts here again
        sys.modules.update(_replaced_modules.get(package, {}))
        _loaded[package] = SourceFile(file, _FAILED_DIGEST)
        raise


def find_declaration(folder: Path, name: str) -> str:
    """The reference to a name that a Python file of a folder seems to declare, or "".

    Nothing is run: the text of the files is looked at.
    """
    if not name.isidentifier():
        return ""
    declares = re.compile(
        rf"^(?:def|class) {name}\b|\bobject_type\(\s*[\"']{name}[\"']", re.MULTILINE
    )
    files, size = _HINT_LIMITS
    for file in sorted(folder.glob("*.py"))[:files]:
        with suppress(OSError, UnicodeError):
            if declares.search(read_bytes(file, size, "rule files").decode("utf-8")):
                return f"./{file.name}:{name}"
    return ""


def import_module(name: str) -> ModuleType:
    """Import a module by name, again if its file has changed.

    Raises:
        RuleFileError: the import fails.
    """
    seen = _loaded.get(name)
    try:
        if seen is None or seen.is_current:
            module = importlib.import_module(name)
        else:
            module = _reimport(name, seen.path)
    except (Exception, SystemExit, Stopped) as error:  # whatever an author's file may raise
        raise RuleFileError(_describe_import_error(error)) from None
    file = getattr(module, "__file__", None)
    if file and name not in _loaded and not is_engine_module(name):
        _loaded[name] = SourceFile.read(Path(file))
    return module


def _reimport(name: str, file: Path) -> ModuleType:
    spec = spec_from_file_location(name, file, loader=_SourceLoader(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    before = sys.modules[name]
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules[name] = before
        raise
    return module


def list_source_files(modules: Iterable[ModuleType]) -> list[SourceFile]:
    """The files of modules, and of those beside them that they import."""
    found: dict[str, SourceFile] = {}
    waiting = [module.__name__ for module in modules]
    while waiting:
        name = waiting.pop()
        file = _loaded.get(name) or _find_unloaded_file(name)
        if file is not None and name not in found:
            found[name] = file
            if is_rule_module(name):
                folder = name.rpartition(".")[0]
                waiting += [
                    f"{folder}.{_escape(near)}" for near in _iter_relative_imports(file.path)
                ]
    return list(found.values())


def _find_unloaded_file(name: str) -> SourceFile | None:
    """The rule file of a module that some function imports when it is called."""
    path = get_rule_folder(name) / f"{unquote(name.rpartition('.')[2])}.py"
    return SourceFile.read(path) if is_rule_module(name) and path.is_file() else None


def _iter_relative_imports(file: Path) -> Iterator[str]:
    """What a file imports by `from .name import …` or `from . import name`."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # it has changed since it was loaded
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.partition(".")[0] for name in names)


def hash_text(data: bytes) -> str:
    """Hexadecimal digits that stand for a text, whichever line breaks a checkout gave it."""
    return sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _escape(part: str) -> str:
    for character in ("%", ".", SEPARATOR, ","):
        part = part.replace(character, f"%{ord(character):02X}")
    return part


def _describe_import_error(error: BaseException) -> str:
    if isinstance(error, Stopped):
        return str(error)
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
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(PACKAGE)]
    return f"{own[-1].filename}:{own[-1].lineno}: {what}" if own else what


def find_author_line(error: BaseException) -> str:
    """`file:line` of an author's code where an error comes from, or empty."""
    frames = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _is_author_frame(frame)
    ]
    return frames[-1] if frames else ""


def _is_author_frame(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return is_rule_module(name) or name in _loaded


def is_rule_frame(frame: FrameType) -> bool:
    """Whether what runs there belongs to a rule, an author's or a built-in one."""
    return _is_author_frame(frame) or _get_top_package(frame) == "systems"


def is_engine_frame(frame: FrameType) -> bool:
    """Whether what runs there belongs to the engine or to esper, and not to a rule."""
    name = frame.f_globals.get("__name__", "")
    return not is_rule_frame(frame) and (
        is_engine_module(name) or _get_top_package(frame) == "esper"
    )


def _get_top_package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def make_rule_error(error: Exception | Stopped) -> RuleError:
    """The message about an error that came out of a rule, or of what rules have left behind.

    Raises:
        Exception: the error itself, if it came from no rule.
    """
    if isinstance(error, Stopped):
        return StoppedError(str(error))
    if isinstance(error, RuleError) and isinstance(cause := error.__cause__, Exception):
        return make_rule_error(cause) if find_author_line(cause) else error
    place = find_author_line(error)
    if isinstance(error, GVEngineError):
        return RuleError(f"{place}: {error}" if place else str(error))
    if not place:
        if system_of(error) or isinstance(error, OutOfBoundsError):
            return make_system_error(error)
        raise error
    return RuleError(f"{place}: {_describe_error(error)}")


def make_system_error(error: Exception) -> RuleError:
    """The message about an error that ended a step of one world, by the system it came out of."""
    system = system_of(error)
    what = _describe_error(error)
    if isinstance(error, IndexError):
        what = str(error)  # which says so itself
    elif isinstance(error, ZeroDivisionError):
        what = "ZeroDivisionError: division by zero"  # every compiler has words of its own
    return RuleError(f"{system.title if system else 'the rules or what they have left'}: {what}")


def _describe_error(error: Exception) -> str:
    """Its class and text; of what a world has not, also what it has."""
    asked = getattr(error, "obj", None)
    layout = getattr(asked, "layout", None)
    columns: Any = getattr(asked, "cls", None)
    if isinstance(error, AttributeError) and is_component(columns):
        known = nearest(error.name, ("has", *(field.name for field in fields_of(columns))))
        return f"{columns.__name__} has no column {error.name!r}; {known}"
    if not (isinstance(error, AttributeError) and isinstance(layout, Layout)):
        return f"{type(error).__name__}: {error}"
    near = get_close_matches(str(error.name), layout.names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    known = ", ".join(layout.names)
    return f"this world has no {error.name!r}; its components are {known}{hint}"


def list_defined_names(module: ModuleType) -> list[str]:
    """The public names that a module defines itself, functions and classes, in order."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def make_processor_system(cls: type[esper.Processor], phase: Phase) -> System:
    """The system that an author's esper.Processor is: what its `__init__` takes is its parameters.

    Raises:
        TypeError: `__init__` takes *args, **kwargs or keyword-only arguments, or it has no method
            `process`.
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
    if cls.process is esper.Processor.process:
        raise TypeError(f"{cls.__name__} has no method process, which does the work")
    return System(cls, phase, cls.__name__, tuple(parameters))
