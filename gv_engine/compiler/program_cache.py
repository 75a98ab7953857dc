"""Where compiled programs are kept between processes.

Every program has a folder of its own, named by a digest of all that it is made of, so what is found
there is never stale. A file begins with a line with the digest of the rest, and a line of JSON; its
machine code follows. Machine code runs, so nothing is read that others can write.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from gv_engine.rules.errors import CapacityError, RuleError
from gv_engine.scenario.files import atomic_write

KEPT_PROGRAMS = 500
"""Programs that are kept, several times what comes with the engine; beyond, the oldest go when a
new one comes."""

KEPT_UNITS = 10_000
"""Units that are kept, likewise."""


def cache_folder() -> Path:
    """The user's folder of compiled programs: `GV_ENGINE_CACHE_DIR` if that is set."""
    given = os.environ.get("GV_ENGINE_CACHE_DIR")
    try:
        own = Path(given or platformdirs.user_cache_dir("gv-engine")).absolute() / "compiled"
    except (OSError, RuntimeError):  # there is no working directory, or no home
        own = _NOWHERE
    return _INSTEAD.get(own, own)


_INSTEAD: dict[Path, Path] = {}
_NOWHERE = Path(os.devnull, "compiled")
"""A folder that cannot be made."""


def keep_until_exit() -> None:
    """From now on keep programs in a folder that goes with this process, instead of theirs.

    Raises:
        OSError: there is no place for one.
    """
    folder = Path(tempfile.mkdtemp(prefix="gv-engine-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _INSTEAD[cache_folder()] = folder / "compiled"


class KeptProgram(NamedTuple):
    """A compiled program, as it is kept.

    Attributes:
        made_of: a digest of all functions in it.
        code: an object file.
        symbols: what the code asks for by name.
        environments: names of the variables in it by which Numba finds what exceptions say.
        errors: what the numbers in `row["error"]` stand for.
    """

    made_of: str
    code: bytes
    symbols: tuple[str, ...]
    environments: tuple[str, ...]
    errors: Mapping[int, RuleError]


def kept_program(key: str) -> KeptProgram | None:
    """Return a program; None if it is not kept."""
    found = _read(_program(key))
    if found is None:
        return None
    (made_of, symbols, environments, errors), code = found
    told = {number: _ERRORS[name](says) for number, name, says in errors}
    return KeptProgram(made_of, code, tuple(symbols), tuple(environments), told)


def keep_program(key: str, program: KeptProgram) -> None:
    """Keep a program, if there is room for it."""
    errors = [(number, type(told).__name__, str(told)) for number, told in program.errors.items()]
    about = program.made_of, program.symbols, program.environments, errors
    try:
        make_folder(_program(key).parent)
        make_room()
        _write(_program(key), about, program.code)
    except OSError as error:
        not_kept(error)


_ERRORS = {cls.__name__: cls for cls in (RuleError, CapacityError)}


def _program(key: str) -> Path:
    return cache_folder() / key / "program"


def make_place(key: str) -> None:
    """Make sure that a program can be kept, if need be until this process ends."""
    try:
        _try_place(key)
    except OSError as error:
        not_kept(error)
        with suppress(OSError):  # there is no room for what goes with this process either
            keep_until_exit()
            _try_place(key)


def _try_place(key: str) -> None:
    for folder in (cache_folder() / key, _units()):
        make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass


def make_room() -> None:
    """Let the oldest programs and units go, where there are many."""
    for old in _oldest(cache_folder(), KEPT_PROGRAMS):
        shutil.rmtree(old, ignore_errors=True)
    for old in _oldest(_units(), KEPT_UNITS):
        old.unlink(missing_ok=True)


def _oldest(folder: Path, kept: int) -> list[Path]:
    """What is in a folder beyond the newest ones that are kept there."""
    found = list(folder.glob("*"))
    return sorted(found, key=_age)[:-kept] if len(found) > kept else []


def not_kept(error: OSError) -> None:
    """Warn that programs are not kept."""
    warnings.warn(
        f"compiled programs cannot be kept ({error}); every process will compile anew. "
        f"Set GV_ENGINE_CACHE_DIR to a folder of your own that nobody else can write",
        RuntimeWarning,
        stacklevel=3,
    )


@contextmanager
def alone(key: str) -> Iterator[None]:
    """In here no other process compiles a program that does so in here; who waited finds it kept.

    Where files cannot be locked, nobody waits.
    """
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            make_folder(cache_folder() / key)
            how = os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK  # a pipe is an error, instead of a wait
            lock = os.open(cache_folder() / key / "lock", how, 0o600)
            fcntl.flock(stack.enter_context(os.fdopen(lock)), fcntl.LOCK_EX)
        yield


def kept_unit(key: str) -> tuple[Any, bytes] | None:
    """Return the type of what a unit returns, as `keep_unit` got it, and its code; None if the unit
    is not kept."""
    return _read(_unit(key))


def keep_unit(key: str, returns: Any, bitcode: bytes) -> None:
    """Keep a unit, if there is room for it; without it, it is compiled again.

    Args:
        returns: the type of what it returns, as JSON can say it.
    """
    with suppress(OSError):
        make_folder(_units())
        _write(_unit(key), returns, bitcode)


def _unit(key: str) -> Path:
    return _units() / f"{key}.unit"


def _units() -> Path:
    return cache_folder().parent / "units"


# ---- files and folders of this user alone --------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Make a folder of the cache, and what is missing above it, for this user alone.

    Raises:
        OSError: it cannot be made, or others can write there.
    """
    if folder.is_relative_to(_NOWHERE.parent):
        raise FileNotFoundError("there is no home folder, or no working directory")
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
        if stranger := find_stranger(each):
            raise PermissionError(stranger)


def find_stranger(path: Path, own: Path | None = None) -> str:
    """Return why others may have written what is at a path, as a clause; empty if they cannot have.

    Everything on the way is looked at: the folders, links and what these lead to. Above the cache a
    folder such as /tmp may be open to all, if what is in it stays with its owner.

    Args:
        own: what is to be this user's alone, with all that is below it; by default the cache.

    Raises:
        OSError: there is nothing.
    """
    if os.name != "posix":
        return ""  # rights are lists there, which Python does not read
    path.stat()  # no links in a circle
    own = own or cache_folder().parent
    root = Path("/").stat().st_uid  # not 0, where users have other numbers than outside
    for each in (*reversed(path.parents), path):
        found = each.lstat()
        inside = each.is_relative_to(own)
        if found.st_uid not in {0, os.geteuid(), *(() if inside else (root,))}:
            return f"{each} belongs to user {found.st_uid}"
        if stat.S_ISLNK(found.st_mode):
            target = each.parent / each.readlink()
            if stranger := find_stranger(target, target if inside else target / "none"):
                return stranger
        elif found.st_mode & 0o022 and (inside or not found.st_mode & stat.S_ISVTX):
            return f"others can write to {each}, as its mode {found.st_mode & 0o7777:04o} says"
    return ""


def _read(path: Path) -> tuple[Any, bytes] | None:
    """Return what `_write` wrote to this path; None if it is not there, or in a folder of others.

    A file that is damaged, no regular one, or that others can write, is removed.
    """
    try:
        if find_stranger(path.parent):
            return None
        with suppress(ValueError):
            if path.is_file() and not find_stranger(path):  # a pipe would have to be waited for
                digest, _, rest = path.read_bytes().partition(b"\n")
                if digest == hashlib.sha256(rest).hexdigest().encode():
                    head, _, code = rest.partition(b"\n")
                    named, about = json.loads(head)
                    if named == [path.parent.name, path.name]:
                        return about, code
        path.unlink()
    except OSError:
        pass
    return None


def _write(path: Path, about: Any, code: bytes) -> None:
    rest = json.dumps(((path.parent.name, path.name), about)).encode() + b"\n" + code
    with atomic_write(path) as draft:
        draft.chmod(0o600)
        draft.write_bytes(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process was faster
        return 0.0
