"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Draft:
    """A file beside another one, of the same suffix, that may take its place.

    Attributes:
        path: where to write.

    Raises:
        OSError: nothing can be written there.
    """

    def __init__(self, target: Path) -> None:
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a folder")
        self._target = target
        self.path = target.with_name(f".{target.stem}-{os.getpid()}{target.suffix}")
        try:
            self.path.touch(exist_ok=False)
        except OSError as error:
            raise OSError(f"{target} cannot be written: {error.strerror}") from None

    def keep(self) -> None:
        """Put it in the other's place."""
        self.path.replace(self._target)

    def discard(self) -> None:
        """Remove it, unless it has been kept."""
        self.path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when the block is left.

    An error in the block removes it and leaves `path` as it was.

    Raises:
        OSError: nothing can be written there; known before the block begins.
    """
    draft = Draft(path)
    try:
        yield draft.path
        draft.keep()
    finally:
        draft.discard()
