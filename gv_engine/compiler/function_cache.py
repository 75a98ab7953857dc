"""Disk cache of single compiled functions, beside the cache of whole programs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

from gv_engine.compiler import program_cache
from gv_engine.compiler.numba_pipeline import config, njit


def jit_cached(function: FunctionType, *options: Any) -> Any:
    """Return a lazily compiled version of `function`: its first call loads the machine code from
    the disk cache, or compiles and saves it. `options` are the further arguments of
    `CompiledFunctionCache`; code is loaded only if their cache key is the same.

    Raises:
        OSError: as for `CompiledFunctionCache`.
    """
    compiled = njit(nogil=True)(function)
    compiled._cache = CompiledFunctionCache(function, *options)
    return compiled


class CompiledFunctionCache(FunctionCache):
    """Numba's cache of one function, in its own folder named by the cache key.

    Loading a cached function skips the tables that only compiling needs (a tenth of a second).
    """

    def __init__(
        self,
        function: FunctionType,
        key: str,
        on_miss: Callable[[], None],
        on_failure: Callable[[OSError], None],
    ) -> None:
        """Make the cache folder named `key` for the compiled code of `function`.

        Args:
            function: function to compile.
            key: cache key, a digest of all code that the function reaches.
            on_miss: called before the function is compiled.
            on_failure: called if the compiled function cannot be saved.

        Raises:
            OSError: the folder cannot be written, or other users can write there.
        """
        self._on_miss, self._on_failure = on_miss, on_failure
        self._folder = program_cache.cache_folder() / key
        program_cache.make_private_folder(self._folder)
        settings = {"CACHE_DIR": str(self._folder), "CACHE_LOCATOR_CLASSES": ""}
        before = {name: getattr(config, name, "") for name in settings}
        vars(config).update(settings)  # Numba reads them in the constructor
        try:
            super().__init__(function)  # type: ignore[no-untyped-call]  # numba is
        except RuntimeError as error:  # Numba found no writable folder
            raise OSError(str(error)) from None
        finally:
            vars(config).update(before)
        if not Path(self.cache_path).is_relative_to(self._folder):
            # Numba fell back to a folder that all programs share
            raise OSError(f"{self._folder} cannot be written")
        Path(self.cache_path).chmod(0o700)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function compiled for the argument types of `sig` from the cache; None if it
        is not cached. Damaged caches are deleted."""
        rtsys.initialize(target_context)
        try:
            # Numba's files are pickles
            for file in Path(self.cache_path).iterdir():
                if not file.is_file() or program_cache.find_foreign_access(file):
                    raise PermissionError
            compiled = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # the file is truncated or was tampered with
            compiled = None
            shutil.rmtree(self._folder, ignore_errors=True)
        if compiled is not None:
            return compiled
        self._on_miss()
        program_cache.delete_oldest()
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the compiled function `data` for the argument types `sig`. If writing fails, delete
        the folder and call `on_failure`."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            for file in Path(self.cache_path).iterdir():
                file.chmod(0o600)
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._on_failure(error)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Return the key under which Numba finds cached code: argument types and processor.

        The folder's name already identifies the code. Numba's own key would pickle the closure,
        with dispatcher numbers that differ in every process.
        """
        return sig, codegen.magic_tuple()
