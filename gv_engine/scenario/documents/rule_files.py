"""Python files of rules beside a scenario: importing them anew when they have changed."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import machinery
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import esper

from gv_engine.rules import errors, objects
from gv_engine.rules.objects import RULE_MODULE_PREFIX, SEPARATOR, is_engine_module, is_rule_module
from gv_engine.rules.source import SOURCE_LINES, SourceLines
from gv_engine.rules.system import Parameter, Phase, System, read_type_hints
from gv_engine.scenario.storage.files import read_bytes
from gv_engine.scenario.storage.resources import PACKAGE

_MAX_BYTES = 2**24
"""Maximum size of a rule file in bytes."""
_HINT_LIMITS = 100, 2**20
"""Maximum number of files, and maximum bytes of each, that are searched for a hint."""
_FAILED_DIGEST = "broken"
"""Digest of a package with a file that failed to import."""


class RuleFileError(Exception):
    """A rule file cannot be imported; the message says where and why."""


@dataclass(frozen=True)
class SourceFile:
    """A Python file at the time when it was loaded.

    Attributes:
        path: the file.
        digest: hash of its content, independent of the kind of line breaks; "" for a missing file.
        mentions_esper: True if its content does, so that its rules may call esper.
    """

    path: Path
    digest: str
    mentions_esper: bool = field(default=True, compare=False)

    @classmethod
    def of(cls, path: Path, data: bytes) -> SourceFile:
        """Return the record of a file with the content `data`."""
        return cls(path, hash_text(data), b"esper" in data)

    @classmethod
    def read(cls, path: Path) -> SourceFile:
        """Return path and content hash of a Python file, as it is now."""
        try:
            return cls.of(path, read_bytes(path, _MAX_BYTES, "rule files"))
        except OSError:
            return cls(path, "")

    @property
    def is_current(self) -> bool:
        """True if the file has not changed."""
        return self == SourceFile.read(self.path)


_loaded: dict[str, SourceFile] = {}
"""Source files of the imported modules, by module name."""
_replaced_modules: dict[str, dict[str, ModuleType]] = {}
"""Modules of packages before their last reload, by package and module name."""


class SourceLoader(machinery.SourceFileLoader):
    """Module loader that neither reads nor writes bytecode, records the source file,
    and keeps its lines in the module."""

    _lines = SourceLines()

    def path_stats(self, path: Any) -> Any:
        raise OSError("no bytecode")

    def get_data(self, path: str) -> bytes:
        """Return the content of a Python file for Python's import system, and record its hash."""
        data = super().get_data(path)
        self._source = SourceFile.of(Path(path), data)
        with suppress(SyntaxError, UnicodeDecodeError):  # importing it tells
            self._lines[:] = decode_source(data).splitlines(keepends=True)
        return data

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[SOURCE_LINES] = self._lines = SourceLines()
        super().exec_module(module)
        _loaded[module.__name__] = self._source


def is_loaded(name: str) -> bool:
    """Return True if the module `name` was imported as a file of rules."""
    return name in _loaded


def split_package_name(name: str) -> tuple[str, str]:
    """Return (escaped folder, escaped names of files with commas) in the name of a module."""
    folder, _, more = name.removeprefix(RULE_MODULE_PREFIX).partition(".")[0].partition(SEPARATOR)
    return folder, more.partition(SEPARATOR)[0]


def get_rule_folder(name: str) -> Path:
    """Return the folder of a rule file, from the name of its module."""
    return Path(unquote(split_package_name(name)[0]))


def make_package_name(files: Iterable[Path], offset: int = 0) -> str:
    """Return the module name of the package made from the rule files of one folder. `offset` is the
    number of object types declared by packages before it.

    Args:
        files: the resolved files, in the order in which they are imported.
        offset: number of object type indices that precede those of the package.
    """
    files = list(files)
    roots = ",".join(_escape(file.stem) for file in files)
    parts = [_escape(str(files[0].parent)), roots, *([str(offset)] if offset else [])]
    return RULE_MODULE_PREFIX + SEPARATOR.join(parts)


def forget_changed_package(package: str) -> None:
    """Remove a package from `sys.modules` if one of its files has changed or failed to import. The
    next import then reads the files again."""
    loaded = [name for name in _loaded if name == package or name.startswith(f"{package}.")]
    if all(_loaded[name].is_current for name in loaded):
        return
    for name in loaded:
        del _loaded[name]
    below = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    _replaced_modules[package] = {name: sys.modules.pop(name) for name in below}
    objects.OBJECT_TYPES.remove_package(package)


def resolve_rule_file(file: Path) -> Path:
    """Return the absolute path of a Python file, with links resolved. Raise an error if the file
    does not exist or is no Python file.

    Raises:
        RuleFileError: there is no such Python file.
    """
    file = file.resolve()
    try:
        is_python = file.is_file() and file.suffix == ".py"
    except OSError as error:  # the name is too long
        raise RuleFileError(f"{file}: {error.strerror}") from None
    if not is_python:
        names = sorted(other.name for other in file.parent.glob("*.py"))
        hint = errors.describe_allowed(file.name, names)
        raise RuleFileError(f"no Python file {file.name!r} in {str(file.parent)!r}{hint}")
    return file


def load_rule_file(file: Path, package: str = "") -> ModuleType:
    """Import a Python file of a scenario's author, and return the module. `package` is the package
    that it belongs to.

    Args:
        file: the file.
        package: name of its package; if left out, a package of this file alone, reloaded if the
            file has changed.

    Raises:
        RuleFileError: the file is missing, or fails to import.
    """
    file = resolve_rule_file(file)
    if not package:
        package = make_package_name([file])
        forget_changed_package(package)
    try:
        return import_module(f"{package}.{_escape(file.stem)}")
    except RuleFileError:
        # running worlds keep the old modules, and the next call tries again
        sys.modules.update(_replaced_modules.get(package, {}))
        _loaded[package] = SourceFile(file, _FAILED_DIGEST)
        raise


def find_declaration(folder: Path, name: str) -> str:
    """Return a reference such as `./rules.py:name` to a Python file in the folder that seems to
    define `name`; "" if none does. The files are searched as text and not imported."""
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
    """Import the module `name` and return it; import it again if its file has changed since.

    Raises:
        RuleFileError: the import fails.
    """
    source = _loaded.get(name)
    try:
        if source is None or source.is_current:
            module = importlib.import_module(name)
        else:
            module = _reimport(name, source.path)
    except (Exception, SystemExit, errors.Stopped) as error:  # an author's file may raise anything
        raise RuleFileError(_describe_import_error(error)) from None
    file = getattr(module, "__file__", None)
    if file and name not in _loaded and not is_engine_module(name):
        _loaded[name] = SourceFile.read(Path(file))
    return module


def _reimport(name: str, file: Path) -> ModuleType:
    """Import a module again because its file has changed. If that fails, the old module stays."""
    spec = spec_from_file_location(name, file, loader=SourceLoader(name, str(file)))
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
    """Return path and content hash of the source files of `modules`, and of all rule files that
    these import."""
    files: dict[str, SourceFile] = {}
    pending = [module.__name__ for module in modules]
    while pending:
        name = pending.pop()
        file = _loaded.get(name) or _find_unloaded_file(name)
        if file is not None and name not in files:
            files[name] = file
            if is_rule_module(name):
                # the file may have changed since it was loaded
                with suppress(OSError, SyntaxError, ValueError):
                    imported = _find_relative_imports(file.path.read_bytes())
                    pending += [f"{name.rpartition('.')[0]}.{_escape(each)}" for each in imported]
    return list(files.values())


def _find_unloaded_file(name: str) -> SourceFile | None:
    path = get_rule_folder(name) / f"{unquote(name.rpartition('.')[2])}.py"
    return SourceFile.read(path) if is_rule_module(name) and path.is_file() else None


@lru_cache
def _find_relative_imports(code: bytes) -> set[str]:
    """Return the module names in the relative imports of Python code: `rules` for `from .rules
    import f` or `from . import rules`."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    local = [node for node in nodes if node.level == 1]
    names = [node.module or alias.name for node in local for alias in node.names]
    return {name.partition(".")[0] for name in names}


def hash_text(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of a text, independent of its kind of line breaks."""
    return sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _escape(part: str) -> str:
    for character in ("%", ".", SEPARATOR, ","):
        part = part.replace(character, f"%{ord(character):02X}")
    return part


def _describe_import_error(error: BaseException) -> str:
    """Return a message for an error during an import: file and line in the author's code, error
    class and text."""
    if isinstance(error, errors.Stopped):
        return str(error)
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{error.filename}:{error.lineno}: {kind}: {error.msg}"
    message = f"{kind}: {error}" if str(error) else kind
    # the author's line, not the line of the engine that it called
    others = PACKAGE, *map(Path, (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")))
    lines = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_file()
        and not any(map(Path(frame.filename).is_relative_to, others))
    ]
    if isinstance(error, ModuleNotFoundError) and lines:
        # as the author wrote it
        module = re.sub(rf"^{re.escape(RULE_MODULE_PREFIX)}.*\.", "", str(error.name))
        message = message.replace(str(error.name), module)
        if Path(lines[-1].filename).with_name(f"{module}.py").is_file():
            message += f"; for the file beside this one write `from .{module} import …`"
    return f"{lines[-1].filename}:{lines[-1].lineno}: {message}" if lines else message


def list_defined_names(module: ModuleType) -> list[str]:
    """Return the names of the public functions and classes that a module defines itself, in the
    order of their definitions."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def make_processor_system(cls: type[esper.Processor], phase: Phase) -> System:
    """Wrap an author's esper.Processor in a system of this phase. The parameters of its `__init__`
    become the system's parameters.

    Raises:
        TypeError: `__init__` has *args, **kwargs or keyword-only parameters, or there is no method
            `process`.
    """
    signature = inspect.signature(cls)
    hints, parameters = read_type_hints(cls.__init__), []
    for parameter in signature.parameters.values():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(
                f"{cls.__name__}{signature} takes {parameter}; parameters of a processor are "
                f"given by position, so avoid *, ** and keyword-only arguments"
            )
        hint = hints.get(parameter.name, Any)
        parameters.append(Parameter(parameter.name, hint, parameter.default))
    if cls.process is esper.Processor.process:
        raise TypeError(f"{cls.__name__} has no method `process`; add one")
    return System(cls, phase, cls.__name__, tuple(parameters))
