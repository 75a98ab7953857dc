"""Python modules of rules that a scenario names, and the user's consent to run them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib import machinery
from importlib.abc import Loader, MetaPathFinder
from importlib.metadata import entry_points
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import FrameType, ModuleType
from typing import Any, TypedDict, Unpack, cast
from urllib.parse import unquote

import esper

from gv_engine.rules import errors, objects
from gv_engine.rules.component import fields_of, is_component
from gv_engine.rules.objects import RULE_MODULE_PREFIX, SEPARATOR, is_engine_module, is_rule_module
from gv_engine.rules.source import SOURCE_LINES, SourceLines
from gv_engine.rules.system import Parameter, Phase, System, read_type_hints, system_of
from gv_engine.rules.world import World
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.storage.files import read_bytes
from gv_engine.scenario.storage.resources import PACKAGE, SCENARIOS, SIBLINGS

ENTRY_POINT_GROUP = "gv_engine.rules"
"""Entry point group by which installed packages declare modules that scenarios may name."""


class Consent(TypedDict, total=False):
    """Options of `load_scenario` that say which Python code a scenario may run; see `Trust`."""

    trust: bool
    allow_modules: Iterable[str]
    code: bool


@dataclass(frozen=True)
class Trust:
    """User's consent to run a scenario's Python code.

    Attributes:
        trust: True if scenarios that a file only refers to may run the Python code of their folders
            too.
        allow_modules: packages and modules that may be named, with their submodules.
        code: False if only YAML may be loaded.
        referrer: the file that refers to the scenario; "" if the user named or trusts the scenario.
        base_folders: other folders, which hold the scenarios that this one extends.
        is_detached: True if the scenario came without its folder, so that it may name no other
            file.
    """

    trust: bool = False
    allow_modules: tuple[str, ...] = ()
    code: bool = True
    referrer: str = ""
    base_folders: tuple[Path, ...] = ()
    is_detached: bool = False

    @classmethod
    def from_options(cls, **consent: Unpack[Consent]) -> Trust:
        """Return the trust (which Python code may run) that a user gives by the options `trust`,
        `allow_modules` and `code`.

        Raises:
            TypeError: an option is unknown.
            ValueError: `allow_modules` is a text instead of a list, or holds an invalid module
                name.
        """
        known = Consent.__annotations__
        for name in consent:
            if name not in known:
                hint = errors.describe_allowed(name, ("the named arguments", *known))
                raise TypeError(f"no option {name!r}{hint}")
        modules = consent.get("allow_modules", ())
        if isinstance(modules, str):
            raise ValueError(f"allow_modules={modules!r}: expected a list of names")
        modules = tuple(modules)
        for name in modules:
            if not is_module_name(name):
                raise ValueError(
                    f"allow_modules: {name!r} is no name of a module, as caves.rules is"
                )
        return cls(consent.get("trust", False), modules, consent.get("code", True))

    def for_reference(self, referrer: object) -> Trust:
        """Return the trust for a scenario that a file refers to."""
        return self if self.trust else replace(self, referrer=self.referrer or str(referrer))

    def for_member(self, file: Path, folder: Path, mixture: str) -> Trust:
        """Return the trust (which Python code may run) for a scenario file that the scenario
        `mixture` lists as a member.

        Args:
            file: file of the member.
            folder: folder of the mixture.
            mixture: name of the mixture.
        """
        file = file.resolve()
        if any(file.is_relative_to(home.resolve()) for home in (folder, SCENARIOS)):
            return self
        return self.for_reference(mixture)

    def for_base(self, base: Path, folder: Path) -> Trust:
        """Return the trust (which Python code may run) for a scenario in `folder` that extends a
        scenario file in the folder `base`."""
        base = base.resolve()
        if base.is_relative_to(folder.resolve()):
            return self
        return replace(self, base_folders=(*self.base_folders, base))

    def can_name_files(self, folder: Path) -> bool:
        """Return True if a scenario in a folder may name files other than built-in scenarios."""
        return not self.is_detached or folder.is_relative_to(SCENARIOS)

    def explain_refusal(self, folder: Path, source: str) -> str:
        """Return the reason why a scenario in `folder` may not load the Python file or module
        `source`, as a text for a message; "" if it may.

        Args:
            folder: folder of the scenario.
            source: the file or module as the scenario names it.
        """
        is_file = is_file_reference(source)
        if not is_file and _is_below(source, SIBLINGS):
            return ""
        if not self.code:
            return "Python code is switched off (--no-code, code=False)"
        is_own = is_file and folder.resolve().is_relative_to(SCENARIOS.resolve())
        if self.referrer and not is_own:  # rules that come with the engine may always run
            return (
                f"{self.referrer} only refers to this scenario; if you trust it, name it yourself, "
                f"or add --trust (in Python trust=True)"
            )
        explain = self._explain_outside_file if is_file else self._explain_unknown_module
        return explain(folder, source)

    def _explain_outside_file(self, folder: Path, source: str) -> str:
        """Return the reason why a scenario in `folder` may not load the Python file `source` from
        the place where it is, as a text for a message; "" if it may."""
        home = next((base for base in self.base_folders if _is_inside(folder / source, base)), None)
        if home is None:
            return _explain_path(folder, source)
        if self.trust or home.is_relative_to(SCENARIOS.resolve()):
            return ""
        return "the scenario only extends the one there; if you trust it, add --trust"

    def _explain_unknown_module(self, folder: Path, module: str) -> str:
        """Return the reason why a scenario may not import `module`, as a text for a message; "" if
        the user or an installed package allows it."""
        # read from the metadata of installed packages, which are not imported for it
        declared = (point.module for point in entry_points(group=ENTRY_POINT_GROUP))
        if _is_below(module, self.allow_modules) or _is_below(module, declared):
            return ""
        return (
            f"scenarios may name files of their folder; if you trust the module, add "
            f"--allow-module {module} (in Python allow_modules=[{module!r}])"
        )


DEFAULT_TRUST = Trust()
"""Consent that a user gives by naming a scenario: its folder's Python code may run."""


def pop_consent(options: dict[str, Any]) -> Consent:
    """Remove from `options` those that say which Python code may run, and return them."""
    names = options.keys() & Consent.__annotations__.keys()
    return cast(Consent, {name: options.pop(name) for name in names})


def split_options(options: Mapping[str, Any]) -> tuple[Trust, dict[str, Any]]:
    """Return (trust, settings): which Python code may run according to `options`, and all other
    options, which are values of parameters.

    Raises:
        ValueError: as for `Trust.from_options`.
    """
    settings = dict(options)
    return Trust.from_options(**pop_consent(settings)), settings


def is_file_reference(source: str) -> bool:
    """Return True if the part of a reference before the colon is a file, False for a module."""
    return source.endswith(".py") or source.startswith((".", "/"))


def is_module_name(name: str) -> bool:
    """Return True if a text is a valid module name."""
    return all(part.isidentifier() for part in name.split("."))


def _explain_path(folder: Path, source: str) -> str:
    """Return the reason why the path `source` leads to no file inside the scenario's folder, as a
    text for a message; "" if it leads to one."""
    paths = PurePosixPath(source), PureWindowsPath(source)
    if any(path.is_absolute() or path.drive or ".." in path.parts for path in paths):
        return "files are named from the scenario's folder on and lie in it, as ./rules.py"
    try:
        file = (folder / source).resolve()
        is_inside = file.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a cycle of links, an invalid character
        return f"it cannot be found: {error}"
    if file == folder.resolve():
        return "it is the scenario's folder; files in it are named as ./rules.py"
    return "" if is_inside else f"it leads out of the scenario's folder, to {file}"


def _is_inside(file: Path, folder: Path) -> bool:
    """Return True if `file`, with links resolved, is in `folder` or below."""
    try:
        return file.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):  # a loop of links, or no path
        return False


def _is_below(module: str, packages: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


# a module with a path, even an empty one, can have submodules
__path__: list[str] = []

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
        """Return a record of the file at `path` with a hash of its present content."""
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


class _SourceLoader(machinery.SourceFileLoader):
    """Module loader that neither reads nor writes bytecode, records the source file in `_loaded`,
    and keeps its lines in the module."""

    _lines = SourceLines()

    def path_stats(self, path: Any) -> Any:
        raise OSError("no bytecode")

    def get_data(self, path: str) -> bytes:
        """Return the content of the file at `path`, and keep a record of the file and its hash for
        `exec_module`."""
        data = super().get_data(path)
        self._source = SourceFile.of(Path(path), data)
        with suppress(SyntaxError, UnicodeDecodeError):  # importing it tells
            self._lines[:] = decode_source(data).splitlines(keepends=True)
        return data

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[SOURCE_LINES] = self._lines = SourceLines()
        super().exec_module(module)
        _loaded[module.__name__] = self._source


class _PackageLoader(Loader):
    """Loader of a package that imports all files listed in the package's name. The error of a file
    is raised only when that file itself is imported."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the rule files that the name of this package lists; ignore the errors of files
        that fail."""
        for root in _split_package_name(module.__name__)[1].split(","):
            with suppress(Exception, SystemExit, errors.Stopped):
                importlib.import_module(f"{module.__name__}.{root}")


_LOADERS = (
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (_SourceLoader, machinery.SOURCE_SUFFIXES),
)


class _Finder(MetaPathFinder):
    """Import hook for rule files: folders are packages, and the files in them are their modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> machinery.ModuleSpec | None:
        """Return the import specification of the rule file or package called `fullname`; None for
        any other module. Python calls this on import.

        Raises:
            ImportError: the file lies outside of the scenario's folder.
        """
        if not fullname.startswith(RULE_MODULE_PREFIX):
            return None
        folder = str(get_rule_folder(fullname))
        below = [unquote(part) for part in fullname.removeprefix(RULE_MODULE_PREFIX).split(".")[1:]]
        # `from ..name import …` gives a relative folder, outside of the scenario's
        if not below and Path(folder).is_absolute() and Path(folder).is_dir():
            package = machinery.ModuleSpec(fullname, _PackageLoader(), is_package=True)
            package.submodule_search_locations = [folder]
            return package
        file = Path(folder, f"{'.'.join(below)}.py")
        if len(below) == 1 and file.is_file():
            spec = spec_from_file_location(
                fullname, file, loader=_SourceLoader(fullname, str(file))
            )
        else:
            finders = (machinery.FileFinder(place, *_LOADERS) for place in path or ())
            spec = next(filter(None, (finder.find_spec(fullname) for finder in finders)), None)
        # the file of a module, and the folders of its submodules
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        for place in map(Path, filter(None, places)):
            if not place.resolve().is_relative_to(Path(folder).resolve()):
                raise ImportError(f"{place} leads out of its folder, to {place.resolve()}")
        return spec


sys.meta_path.insert(0, _Finder())


def _split_package_name(name: str) -> tuple[str, str]:
    folder, _, more = name.removeprefix(RULE_MODULE_PREFIX).partition(".")[0].partition(SEPARATOR)
    return folder, more.partition(SEPARATOR)[0]


def get_rule_folder(name: str) -> Path:
    """Return the folder of a rule file, from the name of its module."""
    return Path(unquote(_split_package_name(name)[0]))


def make_package_name(files: Iterable[Path], offset: int = 0) -> str:
    """Return the module name of the package that holds these rule files of one folder, whose object
    types are numbered from `offset` on.

    Args:
        files: the resolved files, in the order in which they are imported.
        offset: number of object type indices that precede those of the package.
    """
    files = list(files)
    roots = ",".join(_escape(file.stem) for file in files)
    parts = [_escape(str(files[0].parent)), roots, *([str(offset)] if offset else [])]
    return RULE_MODULE_PREFIX + SEPARATOR.join(parts)


def forget_changed_package(package: str) -> None:
    """Remove `package` from the imported modules if one of its files has changed or failed to
    import, so that the next import reads them again."""
    loaded = [name for name in _loaded if name == package or name.startswith(f"{package}.")]
    if all(_loaded[name].is_current for name in loaded):
        return
    for name in loaded:
        del _loaded[name]
    below = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    _replaced_modules[package] = {name: sys.modules.pop(name) for name in below}
    objects.OBJECT_TYPES.remove_package(package)


def resolve_rule_file(file: Path) -> Path:
    """Return the absolute path of a rule file, links resolved; raise an error if there is no such
    Python file.

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
    """Import a rule file (Python code of a scenario's author) and return its module.

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
    """Return a reference such as `./rules.py:name` to the function, class or object type `name` in
    a Python file of the folder, or "". The files are only searched as text."""
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
    """Import the module `name` again, since its `file` has changed; keep the old module if that
    fails."""
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
    """Return records of the source files of `modules`, and of all rule files that these import."""
    files: dict[str, SourceFile] = {}
    pending = [module.__name__ for module in modules]
    while pending:
        name = pending.pop()
        file = _loaded.get(name) or _find_unloaded_file(name)
        if file is not None and name not in files:
            files[name] = file
            if is_rule_module(name):
                folder = name.rpartition(".")[0]
                pending += [
                    f"{folder}.{_escape(other)}" for other in _iter_relative_imports(file.path)
                ]
    return list(files.values())


def _find_unloaded_file(name: str) -> SourceFile | None:
    path = get_rule_folder(name) / f"{unquote(name.rpartition('.')[2])}.py"
    return SourceFile.read(path) if is_rule_module(name) and path.is_file() else None


def _iter_relative_imports(file: Path) -> Iterator[str]:
    """Yield the names of the modules that a Python file imports by `from .name import …` or `from .
    import name`."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # the file has changed since it was loaded
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.partition(".")[0] for name in names)


def hash_text(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of a text, independent of its kind of line breaks."""
    return sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _escape(part: str) -> str:
    for character in ("%", ".", SEPARATOR, ","):
        part = part.replace(character, f"%{ord(character):02X}")
    return part


def _describe_import_error(error: BaseException) -> str:
    """Return the message about an error during an import: place in the author's file, class and
    text of the error."""
    if isinstance(error, errors.Stopped):
        return str(error)
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{error.filename}:{error.lineno}: {kind}: {error.msg}"
    message = f"{kind}: {error}" if str(error) else kind
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_file() and frame.filename not in (__file__, importlib.__file__)
    ]
    # the author's line, not the line of the engine that it called
    others = PACKAGE, *map(Path, (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")))
    lines = [each for each in frames if not any(map(Path(each.filename).is_relative_to, others))]
    if isinstance(error, ModuleNotFoundError) and lines:
        module = re.sub(rf"^{__name__}\..*\.", "", str(error.name))  # as the author wrote it
        message = message.replace(str(error.name), module)
        if Path(lines[-1].filename).with_name(f"{module}.py").is_file():
            message += f"; for the file beside this one write `from .{module} import …`"
    return f"{lines[-1].filename}:{lines[-1].lineno}: {message}" if lines else message


def find_author_line(error: BaseException) -> str:
    """Return `file:line` of the innermost line of a scenario author's code in the error's
    traceback; "" if there is none."""
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
    """Return True if a frame runs code of a rule, an author's or a built-in one."""
    return _is_author_frame(frame) or _get_top_package(frame) == "systems"


def is_engine_frame(frame: FrameType) -> bool:
    """Return True if the call frame runs code of this engine or of the library esper, but not a
    rule."""
    name = frame.f_globals.get("__name__", "")
    return not is_rule_frame(frame) and (
        is_engine_module(name) or _get_top_package(frame) == "esper"
    )


def _get_top_package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def make_rule_error(error: Exception | errors.Stopped) -> errors.RuleError:
    """Return a `RuleError` for `error`, an exception that a rule caused, with file and line of the
    author's code in its message.

    Raises:
        Exception: the error itself, if no rule caused it.
    """
    if isinstance(error, errors.Stopped):
        return errors.StoppedError(str(error))
    if isinstance(error, errors.RuleError) and isinstance(cause := error.__cause__, Exception):
        return make_rule_error(cause) if find_author_line(cause) else error
    place = find_author_line(error)
    if isinstance(error, errors.GVEngineError):
        return errors.RuleError(f"{place}: {error}" if place else str(error))
    if not place:
        if system_of(error) or isinstance(error, errors.OutOfBoundsError):
            return make_system_error(error)
        raise error
    return errors.RuleError(f"{place}: {_describe_error(error)}")


def make_system_error(error: Exception) -> errors.RuleError:
    """Return a `RuleError` for `error`, an exception without a line of an author's code; the
    message names the system (rule) that failed."""
    system = system_of(error)
    message = _describe_error(error)
    if isinstance(error, IndexError):
        message = str(error)  # complete in itself
    elif isinstance(error, ZeroDivisionError):
        message = "ZeroDivisionError: division by zero"  # compilers differ in the text
    return errors.RuleError(
        f"{system.title if system else 'the rules or what they have left'}: {message}"
    )


def _describe_error(error: Exception) -> str:
    """Return class and text of the exception `error`; for an unknown column or component also a
    list of the known ones."""
    owner = getattr(error, "obj", None)
    layout = getattr(owner, "layout", None)
    component: Any = getattr(owner, "cls", None)
    if isinstance(error, AttributeError) and is_component(component):
        hint = errors.describe_allowed(error.name, [f.name for f in fields_of(component)], "it has")
        return f"{component.__name__} has no column {error.name!r}{hint}"
    if isinstance(error, NameError) and error.__traceback__:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        known = [*frame.f_locals, *frame.f_globals]
        return f"{type(error).__name__}: {error}{errors.suggest_similar(error.name, known)}"
    if not (isinstance(error, AttributeError) and isinstance(layout, Layout)):
        return f"{type(error).__name__}: {error}"
    methods = [name for name in vars(World) if not name.startswith("_")]
    near = errors.suggest_similar(error.name, [*layout.names, *methods])
    columns = ", ".join(map(str, layout.names))
    return f"this world has no {error.name!r}{near} (allowed: {columns}, and methods of World)"


def list_defined_names(module: ModuleType) -> list[str]:
    """Return the names of the public functions and classes that a module defines itself, in the
    order of their definitions."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def make_processor_system(cls: type[esper.Processor], phase: Phase) -> System:
    """Return a system of `phase` that runs `cls`, an author's esper.Processor; the parameters of
    its `__init__` become those of the system.

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
        raise TypeError(f"{cls.__name__} has no method process, which does the work")
    return System(cls, phase, cls.__name__, tuple(parameters))
