"""Disk cache of single compiled functions: Numba's own cache, in folders beside the programs."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core import environment
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

from gv_engine.compiler.program_cache import (
    cache_folder,
    delete_oldest,
    find_foreign_access,
    make_private_folder,
)
from gv_engine.rules.objects import is_rule_module

# Numba numbers its symbols from 1 in every process, so two cached programs may use one name for
# different functions, and the first one loaded would serve both (numba issue 10486).
FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 64), -1)  # type: ignore[assignment]

# Numba reads .numba_config.yaml of the current folder, which may be a stranger's, and which can
# name modules to import. Variables NUMBA_* stay in force.
_config: Any = numba.config
_config._config_fname = os.devnull
with suppress(RuntimeError):  # it set the number of threads, and they run
    _config.reload_config()


def _rebuild_env(module: str, constants: Any, name: str) -> Any:
    """Replace Numba's `_rebuild_env`: name this module in place of a rule module.

    Numba looks into the named module only for Python code, which programs never do. A rule file may
    be gone or changed, and must not be imported here.
    """
    # see the docstring: rule modules are never imported from here
    return _numbas_rebuild_env(__name__ if is_rule_module(module) else module, constants, name)


_numbas_rebuild_env: Any = environment._rebuild_env
environment._rebuild_env = _rebuild_env


class CompiledFunctionCache(FunctionCache):
    """Numba's cache of one function, in its own folder named by the cache key.

    Loading a cached function skips the tables that only compiling needs (a tenth of a second).
    `on_miss` is called before a function is compiled.
    """

    def __init__(
        self,
        function: FunctionType,
        key: str,
        on_miss: Callable[[], None],
        on_failure: Callable[[OSError], None],
    ) -> None:
        """Make the folder of a function.

        Args:
            function: function to compile.
            key: cache key, a digest of all code that the function reaches.
            on_miss: called before the function is compiled.
            on_failure: called if the compiled function cannot be saved.

        Raises:
            OSError: the folder cannot be written, or other users can write there.
        """
        self._on_miss = on_miss
        self._on_failure = on_failure
        self._folder = cache_folder() / key
        make_private_folder(self._folder)
        settings = {"CACHE_DIR": str(self._folder), "CACHE_LOCATOR_CLASSES": ""}
        before = {name: getattr(_config, name, "") for name in settings}
        vars(_config).update(settings)  # Numba reads them in the constructor
        try:
            super().__init__(function)  # type: ignore[no-untyped-call]  # numba is
        except RuntimeError as error:  # Numba found no writable folder
            raise OSError(str(error)) from None
        finally:
            vars(_config).update(before)
        if not Path(self.cache_path).is_relative_to(self._folder):
            # Numba fell back to a folder that all programs share
            raise OSError(f"{self._folder} cannot be written")
        Path(self.cache_path).chmod(0o700)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these argument types; None if it is not cached."""
        rtsys.initialize(target_context)
        try:
            # Numba's files are pickles
            for file in Path(self.cache_path).iterdir():
                if not file.is_file() or find_foreign_access(file):
                    raise PermissionError
            compiled = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # the file is truncated or was tampered with
            compiled = None
            shutil.rmtree(self._folder, ignore_errors=True)
        if compiled is not None:
            return compiled
        self._on_miss()
        delete_oldest()
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function, if there is room on the disk."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            for file in Path(self.cache_path).iterdir():
                file.chmod(0o600)
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._on_failure(error)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Return the key in Numba's index: signature and processor.

        The folder's name already identifies the code. Numba's own key would pickle the closure,
        with dispatcher numbers that differ in every process.
        """
        return sig, codegen.magic_tuple()
