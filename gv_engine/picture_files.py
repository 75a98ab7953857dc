"""Files of pictures, written one picture at a time: PNG, GIF, MP4."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""(H, W, 3) red, green, blue."""


class PictureFile:
    """A file that pictures go into; at any time it holds no more than two of them in memory.

    Args:
        path: of a file that is there and may be written.
        fps: pictures a second.
    """

    moves: ClassVar[bool] = True
    """Whether it shows more than one picture."""

    def __init__(self, path: Path, fps: float) -> None:
        self.path = path
        self.fps = fps

    def add(self, picture: Picture) -> None:
        """Take the next picture, of the size of the first.

        Raises:
            OSError: it cannot be written.
        """
        raise NotImplementedError

    def close(self, count: int) -> None:
        """Finish the file.

        Args:
            count: how many pictures it was given.

        Raises:
            OSError: not all of it could be written.
        """

    def stop(self) -> None:
        """Let go of the file, which nobody will look at."""


class Png(PictureFile):
    """The last picture."""

    moves = False
    _last: Picture

    def add(self, picture: Picture) -> None:
        """Keep the picture until another comes."""
        self._last = picture

    def close(self, count: int) -> None:
        """Write the picture."""
        import imageio.v3

        imageio.v3.imwrite(self.path, self._last)


class _Stream(PictureFile):
    def __init__(self, path: Path, fps: float, options: dict[str, Any]) -> None:
        import imageio.v2

        super().__init__(path, fps)
        self._writer: Any = imageio.v2.get_writer(path, **options)  # append_data is not typed

    def add(self, picture: Picture) -> None:
        """Write the picture."""
        self._writer.append_data(picture)

    def close(self, count: int) -> None:
        """Write what is still to be written."""
        self._writer.close()

    def stop(self) -> None:
        """Let go of the file, which nobody will look at."""
        self._writer.close()


class Gif(_Stream):
    """An animation that repeats."""

    def __init__(self, path: Path, fps: float) -> None:
        super().__init__(path, fps, {"duration": 1000 / fps, "loop": 0})


class Mp4(_Stream):
    """A video."""

    def __init__(self, path: Path, fps: float) -> None:
        options = {"fps": fps, "macro_block_size": 2, "ffmpeg_log_level": "quiet"}
        super().__init__(path, fps, options)

    def close(self, count: int) -> None:
        """Let the encoder finish, and read back what it has written: it says nothing of failures.

        Raises:
            OSError: the file is not whole.
        """
        super().close(count)
        import imageio_ffmpeg  # type: ignore[import-untyped]  # it has no types

        try:
            found, _ = imageio_ffmpeg.count_frames_and_secs(self.path)
        except RuntimeError:
            found = 0
        if found != count:
            raise OSError(f"the encoder wrote {found} of {count} pictures; is the disk full?")


FORMATS: dict[str, type[PictureFile]] = {".gif": Gif, ".mp4": Mp4, ".png": Png}
"""Kinds of files, by suffix."""
