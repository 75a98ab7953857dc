"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path`, of the same suffix, that takes its place when the block is left.

    An error in the block removes it and leaves `path` as it was.

    Raises:
        OSError: nothing can be written there; known before the block begins.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    draft = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        draft.touch(exist_ok=False)
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}") from None
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
