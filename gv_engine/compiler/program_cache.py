"""Disk cache of compiled programs and units, and digests of the functions that they are made of.

Every program has a folder named by its cache key, a digest of all its inputs, so an entry is never
stale. A file has a line with the SHA-256 of the rest, a line of JSON, and the object code. As the
code is executed, files that others can write are not read.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gv_engine.rules.errors import CapacityError, RuleError
from gv_engine.scenario.files import atomic_write

_FOREIGN_PACKAGES = {"numpy", "numba", "llvmlite", "esper"} | set(sys.stdlib_module_names)
_T = TypeVar("_T")
_CONSTANT_TYPES = (int, float, str, bool, bytes, type(None), np.generic)


def find_functions(roots: Iterable[Any]) -> dict[FunctionType, list[tuple[str, Any]]]:
    """Return all functions of the engine or of authors that can be called from `roots`. Each is
    mapped to the (name, value) pairs of the globals, closure cells and defaults that it uses."""
    uses: dict[FunctionType, list[tuple[str, Any]]] = {}
    waiting = [root for root in roots if isinstance(root, FunctionType)]
    while waiting:
        function = waiting.pop()
        if function in uses or function.__module__.partition(".")[0] in _FOREIGN_PACKAGES:
            continue
        uses[function] = list(_iter_used_names(function))
        for _, value in uses[function]:
            waiting += [part for part in _iter_flat(value) if isinstance(part, FunctionType)]
    return uses


def find_strings(functions: Iterable[FunctionType]) -> set[str]:
    """Return all string constants that occur in the code of these functions."""
    codes = (code for function in functions for code in iter_code(function.__code__))
    return {constant for code in codes for constant in code.co_consts if isinstance(constant, str)}


def uses_name(function: Any, name: str) -> bool:
    """Return True if `function`, or any function that it may call, uses the name or string constant
    `name`."""
    functions = find_functions([function])
    names_by_code = (function.__code__.co_names for function in functions)
    return any(name in names for names in names_by_code) or name in find_strings(functions)


def program_digest(roots: Iterable[Any], *more: str) -> str:
    """Return 24 hexadecimal digits: a digest of the code and constants of all reached functions and
    of `more`."""
    return hash_functions(find_functions(roots), *more)


def hash_functions(functions: Mapping[FunctionType, list[tuple[str, Any]]], *more: str) -> str:
    """Return the digest of functions, as `find_functions` returns them, and of texts."""
    lines = sorted(_describe_function(function, uses) for function, uses in functions.items())
    return hashlib.sha256("\n".join([*lines, *more]).encode()).hexdigest()[:24]


def describe_location(function: FunctionType) -> str:
    """Return the beginning of an error message: that `function` cannot be compiled, with its file
    and line."""
    code = function.__code__
    return f"a rule cannot be compiled ({code.co_filename}, line {code.co_firstlineno})"


def _describe_function(function: FunctionType, uses: list[tuple[str, Any]]) -> str:
    """Return a text of a function's bytecode and of the values in `uses`, from which digests are
    computed."""
    codes = [
        (c.co_name, c.co_code.hex(), c.co_names, c.co_varnames, _list_constants(c))
        for c in iter_code(function.__code__)
    ]
    values = sorted((name, constant_text(value)) for name, value in uses)
    return repr((function.__qualname__, codes, values))


def _iter_used_names(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of the globals, module attributes, closure cells and defaults that a
    function uses."""
    for code in iter_code(function.__code__):
        modules = []
        for name in code.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                yield name, value
                is_module = isinstance(value, ModuleType)
                if is_module and value.__name__.partition(".")[0] not in _FOREIGN_PACKAGES:
                    modules.append(value)
        for module in modules:
            for name in code.co_names:
                if hasattr(module, name):
                    yield f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for number, value in enumerate(function.__defaults__ or ()):
        yield f"default {number}", value


def iter_code(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects of functions nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from iter_code(constant)


def _list_constants(code: CodeType) -> list[str]:
    """Return the constants of a code object as texts, without nested code."""
    return [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]


def _iter_flat(value: Any) -> Iterator[Any]:
    """Yield all elements of nested tuples and lists, or `value` itself if it is neither."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from _iter_flat(part)
    else:
        yield value


def constant_text(value: Any) -> str:
    """Return a text for a constant of a rule that is the same in every process; for a function or
    class it is the name."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, tuple | list):
        return "(" + ",".join(constant_text(part) for part in value) + ")"
    if isinstance(value, FunctionType | type):
        return value.__qualname__
    if isinstance(value, _CONSTANT_TYPES):
        return repr(value)
    return f"{type(value).__qualname__} {getattr(value, '__name__', '')}"


MAX_PROGRAMS = 500
"""Maximum number of programs in the cache, several times the number of built-in scenarios; the
oldest are deleted beyond that."""

MAX_UNITS = 10_000
"""Maximum number of units in the cache; the oldest are deleted beyond that."""


def cache_folder() -> Path:
    """Return the folder on disk with the user's compiled programs, which the variable
    `GV_ENGINE_CACHE_DIR` can change."""
    import platformdirs  # not needed to step objects

    variable = os.environ.get("GV_ENGINE_CACHE_DIR")
    try:
        folder = Path(variable or platformdirs.user_cache_dir("gv-engine")).absolute() / "compiled"
    except (OSError, RuntimeError):  # there is no working directory, or no home
        folder = _NO_FOLDER
    return _REPLACEMENT_FOLDERS.get(folder, folder)


_REPLACEMENT_FOLDERS: dict[Path, Path] = {}
_NO_FOLDER = Path(os.devnull, "compiled")
"""Path of a folder that cannot be made."""


def use_temporary_cache() -> None:
    """Store compiled programs in a new temporary folder from now on, until this process ends.

    Raises:
        OSError: no temporary folder can be made.
    """
    folder = Path(tempfile.mkdtemp(prefix="gv-engine-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _REPLACEMENT_FOLDERS[cache_folder()] = folder / "compiled"


ENTRY = "gv_engine_run"
"""Name of the program's function that Python calls."""

LOOP = "gv_engine_loop"
"""Name of the program's function that compiled code calls; it takes and returns int64."""


class CachedProgram(NamedTuple):
    """Compiled program as stored on disk.

    Attributes:
        digest: digest of all functions in the program.
        code: object file.
        symbols: external symbols of the code.
        environments: names of the variables through which Numba finds the arguments of exceptions.
        errors: errors that the codes in `row["error"]` stand for.
    """

    digest: str
    code: bytes
    symbols: tuple[str, ...]
    environments: tuple[str, ...]
    errors: Mapping[int, RuleError]


def read_program(key: str) -> CachedProgram | None:
    """Return a cached program; None if it is not in the cache."""
    return _read(_program_path(key), _parse_program)


def _parse_program(header: Any, code: bytes) -> CachedProgram:
    """Return the compiled program that a cache file contains, from its JSON header and its object
    code."""
    digest, symbols, environments, errors = header
    rule_errors = {number: _ERRORS[name](message) for number, name, message in errors}
    return CachedProgram(digest, code, tuple(symbols), tuple(environments), rule_errors)


def write_program(key: str, program: CachedProgram) -> None:
    """Write a compiled program into the disk cache under the cache key `key`. If writing fails,
    warn and go on."""
    errors = [
        (number, type(error).__name__, str(error)) for number, error in program.errors.items()
    ]
    header = program.digest, program.symbols, program.environments, errors
    try:
        make_private_folder(_program_path(key).parent)
        delete_oldest()
        _write(_program_path(key), header, program.code)
    except OSError as error:
        warn_not_cached(error)


_ERRORS = {cls.__name__: cls for cls in (RuleError, CapacityError)}


def _program_path(key: str) -> Path:
    """Return the path of a program's file."""
    return cache_folder() / key / "program"


def ensure_writable(key: str) -> None:
    """Make the cache folder of the program with the cache key `key`. If it cannot be written, warn
    and use a temporary cache."""
    try:
        _test_writable(key)
    except OSError as error:
        warn_not_cached(error)
        with suppress(OSError):  # no room for a temporary cache either
            use_temporary_cache()
            _test_writable(key)


def _test_writable(key: str) -> None:
    """Create the folder of the program `key` and the folder of compiled units; raise OSError if
    either cannot be written to."""
    for folder in (cache_folder() / key, _units_folder()):
        make_private_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass


def delete_oldest() -> None:
    """Delete the oldest programs and units of the disk cache, so that at most `MAX_PROGRAMS` and
    `MAX_UNITS` remain."""
    for old in _list_oldest(cache_folder(), MAX_PROGRAMS):
        shutil.rmtree(old, ignore_errors=True)
    for old in _list_oldest(_units_folder(), MAX_UNITS):
        old.unlink(missing_ok=True)


def _list_oldest(folder: Path, count: int) -> list[Path]:
    """Return the paths in a folder beyond the `count` newest ones."""
    paths = list(folder.glob("*"))
    return sorted(paths, key=_modification_time)[:-count] if len(paths) > count else []


def warn_not_cached(error: OSError) -> None:
    """Warn that compiled programs cannot be stored, with the reason `error`, so that every process
    compiles them again."""
    message = (
        f"compiled programs cannot be kept ({error}); every process compiles them again. "
        f"Set GV_ENGINE_CACHE_DIR to a folder that only you can write"
    )
    warnings.warn(message, RuntimeWarning, stacklevel=3)


@contextmanager
def compile_lock(key: str) -> Iterator[None]:
    """Context manager: hold a file lock, so that only one process at a time compiles the program
    with the cache key `key`.

    A process that waited finds the program in the cache. If files cannot be locked, nobody waits.
    """
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            make_private_folder(cache_folder() / key)
            # opening a pipe is then an error instead of a wait
            flags = os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK
            lock = os.open(cache_folder() / key / "lock", flags, 0o600)
            fcntl.flock(stack.enter_context(os.fdopen(lock)), fcntl.LOCK_EX)
        yield


def read_unit(key: str) -> tuple[Any, bytes] | None:
    """Return (JSON of the result type, bitcode) of a cached unit; None if it is not in the
    cache."""
    return _read(_unit_path(key), lambda returns, bitcode: (returns, bitcode))


def write_unit(key: str, returns: Any, bitcode: bytes) -> None:
    """Write LLVM bitcode of a unit, a separately compiled function, into the disk cache under
    `key`; if writing fails, do nothing.

    Args:
        returns: type of the unit's result, as JSON.
    """
    with suppress(OSError):
        make_private_folder(_units_folder())
        _write(_unit_path(key), returns, bitcode)


def _unit_path(key: str) -> Path:
    """Return the path of a unit's file."""
    return _units_folder() / f"{key}.unit"


def _units_folder() -> Path:
    """Return the folder of the units."""
    return cache_folder().parent / "units"


# ---- private files and folders -------------------------------------------------------------------


def make_private_folder(folder: Path) -> None:
    """Make a folder, and its missing parents, that only this user can read and write; raise OSError
    if other users can write there.

    Raises:
        OSError: it cannot be made, or others can write there.
    """
    if folder.is_relative_to(_NO_FOLDER.parent):
        raise FileNotFoundError("there is no home folder, or no working directory")
    for ancestor in (*reversed(folder.parents), folder):
        if not ancestor.exists():
            ancestor.mkdir(mode=0o700, exist_ok=True)
        if reason := find_foreign_access(ancestor):
            raise PermissionError(reason)


def find_foreign_access(path: Path, private_folder: Path | None = None) -> str:
    """Return a text that says why other users may have written to `path`; an empty string if no
    other user can have.

    All folders and links on the path are checked. Above the cache, a folder such as /tmp may be
    writable for all if its sticky bit is set.

    Args:
        private_folder: folder that must be writable by this user only, with everything below; by
            default the cache.

    Raises:
        OSError: the path does not exist.
    """
    if os.name != "posix":
        return ""  # access lists, which Python does not read
    path.stat()  # raises OSError for a cycle of links
    private_folder = private_folder or cache_folder().parent
    root = Path("/").stat().st_uid  # not 0 in a user namespace
    for ancestor in (*reversed(path.parents), path):
        status = ancestor.lstat()
        is_private = ancestor.is_relative_to(private_folder)
        if status.st_uid not in {0, os.geteuid(), *(() if is_private else (root,))}:
            return f"{ancestor} belongs to user {status.st_uid}"
        if stat.S_ISLNK(status.st_mode):
            target = ancestor.parent / ancestor.readlink()
            if reason := find_foreign_access(target, target if is_private else target / "none"):
                return reason
        elif status.st_mode & 0o022 and (is_private or not status.st_mode & stat.S_ISVTX):
            return f"others can write to {ancestor}, as its mode {status.st_mode & 0o7777:04o} says"
    return ""


def _read(path: Path, parse: Callable[[Any, bytes], _T]) -> _T | None:
    """Return `parse(header, code)` for a file of the disk cache; None if the file is missing,
    damaged, or in a folder that other users can write.

    A file is removed if it is damaged, not a regular file, or writable by others.
    """
    try:
        if find_foreign_access(path.parent):
            return None
        # all that JSON of another form raises
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            # opening a pipe would wait
            if path.is_file() and not find_foreign_access(path):
                digest, _, rest = path.read_bytes().partition(b"\n")
                if digest == hashlib.sha256(rest).hexdigest().encode():
                    head, _, code = rest.partition(b"\n")
                    names, header = json.loads(head)
                    if names == [path.parent.name, path.name]:
                        return parse(header, code)
        path.unlink()
    except OSError:
        pass
    return None


def _write(path: Path, header: Any, code: bytes) -> None:
    """Write `header`, as JSON, and `code` to a file of the disk cache, with their SHA-256. The
    write is atomic."""
    rest = json.dumps(((path.parent.name, path.name), header)).encode() + b"\n" + code
    with atomic_write(path) as draft:
        draft.chmod(0o600)
        draft.write_bytes(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)


def _modification_time(path: Path) -> float:
    """Return the modification time of a file; 0 if another process has deleted the file."""
    try:
        return path.stat().st_mtime
    except OSError:  # another process has deleted it
        return 0.0
