"""Where compiled programs are kept between processes.

Every program has a folder of its own, named by a digest of all that it is made of, so what is found
there is never stale.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from gv_engine.language.errors import RuleError
from gv_engine.reading.files import replacing

KEPT_PROGRAMS = 500
"""Programs that are kept, several times what comes with the engine; beyond, the oldest go when a
new one comes."""

KEPT_UNITS = 10_000
"""Units that are kept, likewise."""


def cache_folder() -> Path:
    """The user's folder of compiled programs: `GV_ENGINE_CACHE_DIR` if that is set."""
    given = os.environ.get("GV_ENGINE_CACHE_DIR")
    own = Path(given or platformdirs.user_cache_dir("gv-engine")) / "compiled"
    return _INSTEAD.get(own, own)


_INSTEAD: dict[Path, Path] = {}


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
    """A program; None if it is not kept."""
    found = _unpickled(_program(key))
    return found if isinstance(found, KeptProgram) else None


def keep_program(key: str, program: KeptProgram) -> None:
    """Keep a program, if there is room for it."""
    try:
        make_room()
        with replacing(_program(key)) as draft:
            draft.write_bytes(pickle.dumps(program))
    except OSError as error:
        not_kept(error)


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
    folder = cache_folder() / key
    folder.mkdir(parents=True, exist_ok=True)
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
        f"Set GV_ENGINE_CACHE_DIR to a folder that can be written",
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

            folder = cache_folder() / key
            folder.mkdir(parents=True, exist_ok=True)
            fcntl.flock(stack.enter_context((folder / "lock").open("wb")), fcntl.LOCK_EX)
        yield


def kept_unit(key: str) -> tuple[Any, bytes] | None:
    """What a unit returns, as a type of Numba's, and its code; None if it is not kept."""
    return _unpickled(_unit(key))  # type: ignore[no-any-return]


def keep_unit(key: str, returns: Any, bitcode: bytes) -> None:
    """Keep a unit, if there is room for it; without it, it is compiled again."""
    path = _unit(key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            draft.write_bytes(pickle.dumps((returns, bitcode)))


def _unpickled(path: Path) -> Any:
    """What is in a file; None, and no file, if it is damaged."""
    try:
        return pickle.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except Exception:  # whatever comes of a file that was cut short or tampered with
        with suppress(OSError):
            path.unlink()
        return None


def _unit(key: str) -> Path:
    return _units() / f"{key}.unit"


def _units() -> Path:
    return cache_folder().parent / "units"


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process was faster
        return 0.0
