"""Where compiled programs are kept between processes.

Every program has a folder of its own, named by a digest of all that it is made of, so what is found
there is never stale.
"""

from __future__ import annotations

import atexit
import os
import pickle
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import platformdirs
from numba.core import environment
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

from gv_engine.language.modules import is_rule_module
from gv_engine.reading.files import replacing

KEPT_PROGRAMS = 100
"""Programs that are kept; beyond, the oldest go when a new one comes."""

KEPT_UNITS = 2000
"""Units that are kept, likewise."""

# Numba numbers its symbols from 1 in every process, so two programs from the cache may use one name
# for different functions, and the first one loaded would serve both (numba issue 10486).
FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 64), -1)  # type: ignore[assignment]


def _rebuild_env(module: str, constants: Any, name: str) -> Any:
    # A program names the modules of its rules, only to let Python code look into them, which ours
    # never does. The folder of these rules may be gone, and must not be run if another is in play.
    return _numbas_rebuild_env(__name__ if is_rule_module(module) else module, constants, name)


_numbas_rebuild_env: Any = environment._rebuild_env
environment._rebuild_env = _rebuild_env


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


class NotKeptError(Exception):
    """A program is not there, and nobody is to compile it now."""


_compiles: ContextVar[bool] = ContextVar("_compiles", default=True)


@contextmanager
def loading_only() -> Iterator[None]:
    """In here this thread loads programs, and raises `NotKeptError` where one is to be compiled."""
    token = _compiles.set(False)
    try:
        yield
    finally:
        _compiles.reset(token)


class ProgramCache(FunctionCache):
    """Numba's cache of one function, in a folder of its own.

    A program that is there is loaded without the tables that only compiling needs, which take
    Numba a tenth of a second; `on_miss` is called before one is compiled.
    """

    def __init__(
        self,
        function: FunctionType,
        key: str,
        on_miss: Callable[[], None],
        on_failure: Callable[[OSError], None],
    ) -> None:
        """Find the folder of a program.

        Args:
            function: what is compiled.
            key: the digest of all that the program is made of.
            on_miss: called before it is compiled.
            on_failure: called if it cannot be kept after that.

        Raises:
            OSError: the folder cannot be written.
        """
        self._on_miss = on_miss
        self._on_failure = on_failure
        self._folder = cache_folder() / key
        config: Any = numba.config
        before = config.CACHE_DIR
        config.CACHE_DIR = str(self._folder)  # read while the cache is made
        try:
            super().__init__(function)  # type: ignore[no-untyped-call]  # numba is
        except RuntimeError as error:  # no folder at all can be written
            raise OSError(str(error)) from None
        finally:
            config.CACHE_DIR = before
        if not Path(self.cache_path).is_relative_to(self._folder):
            # Numba fell back to a folder where programs would not be told apart
            raise OSError(f"{self._folder} cannot be written")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for these argument types, or None."""
        rtsys.initialize(target_context)
        try:
            found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever comes of a file that was cut short or tampered with
            found = None
            shutil.rmtree(self._folder, ignore_errors=True)
        if found is not None:
            return found
        if not _compiles.get():
            raise NotKeptError
        self._on_miss()
        self._make_room()
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if there is room for it."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._on_failure(error)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # The folder's name stands for the code and all that it closes over. Numba would pickle
        # that, dispatchers and their numbers by chance included, and find nothing again.
        return sig, codegen.magic_tuple()

    def _make_room(self) -> None:
        folders = sorted(self._folder.parent.glob("*"), key=_age)
        for old in folders[:-KEPT_PROGRAMS]:
            shutil.rmtree(old, ignore_errors=True)


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
    try:
        return pickle.loads(_unit(key).read_bytes())  # type: ignore[no-any-return]
    except FileNotFoundError:
        return None
    except Exception:  # whatever comes of a file that was tampered with
        with suppress(OSError):
            _unit(key).unlink()
        return None


def keep_unit(key: str, returns: Any, bitcode: bytes) -> None:
    """Keep a unit, if there is room for it; without it, it is compiled again."""
    path = _unit(key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in sorted(path.parent.glob("*.unit"), key=_age)[:-KEPT_UNITS]:
            old.unlink()
        with replacing(path) as draft:
            draft.write_bytes(pickle.dumps((returns, bitcode)))


def _unit(key: str) -> Path:
    return cache_folder().parent / "units" / f"{key}.unit"


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process was faster
        return 0.0
