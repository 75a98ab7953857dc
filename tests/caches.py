"""Caches of compiled programs for tests that want one of their own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gv_engine.compiler.program_cache import cache_folder, make_private_folder


def own_cache(folder: Path) -> dict[str, str]:
    """The environment of a process with a cache in a folder: without programs, with the units of
    all tests, so that what is compiled is the program alone."""
    units = cache_folder().parent / "units"
    make_private_folder(units)
    folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(OSError):  # where there are no links, or there is one already
        (folder / "units").symlink_to(units, target_is_directory=True)
    return {**os.environ, "GV_ENGINE_CACHE_DIR": str(folder)}
