"""Files of pictures, written one picture at a time: PNG, GIF, MP4."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

_STOPPED = "the encoder stopped; is the disk full?"

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

        # on its own it does not let go of a file that it could not write
        self.path.write_bytes(imageio.v3.imwrite("<bytes>", self._last, extension=".png"))


class Mp4(PictureFile):
    """A video."""

    options: ClassVar[Mapping[str, Any]] = {"macro_block_size": 2}

    _encoder: Generator[None, Picture | None, None] | None = None

    def add(self, picture: Picture) -> None:
        """Hand the picture to the encoder, a process of its own."""
        if self._encoder is None:
            height, width, _ = picture.shape
            self._encoder = imageio_ffmpeg().write_frames(
                str(self.path),
                (width, height),
                fps=self.fps,
                ffmpeg_log_level="quiet",
                **self.options,
            )
            next(self._encoder)
        try:
            self._encoder.send(np.ascontiguousarray(picture))
        except OSError:  # it says it with its whole command line
            raise OSError(_STOPPED) from None

    def close(self, count: int) -> None:
        """Let the encoder finish, and read back what it has written: it does not say how it ended.

        Raises:
            OSError: the file is not whole.
        """
        self.stop()
        try:
            found, _ = imageio_ffmpeg().count_frames_and_secs(self.path)
        except RuntimeError:
            found = 0
        if found != count:
            raise OSError(_STOPPED)

    def stop(self) -> None:
        """Let go of the file, which nobody will look at."""
        if self._encoder is not None:
            self._encoder.close()


class _Film(Mp4):
    """A video without loss, to make something else of."""

    options: ClassVar[Mapping[str, Any]] = {
        "codec": "libx264rgb",
        "pix_fmt_out": "rgb24",
        "macro_block_size": 1,
        "quality": None,
        "output_params": ["-qp", "0", "-preset", "ultrafast"],
    }


class Gif(PictureFile):
    """An animation that repeats, in the 256 colours that suit the whole of it best.

    These are known at the end, and until then the pictures are in a film beside it.
    """

    def __init__(self, path: Path, fps: float) -> None:
        super().__init__(path, fps)
        self._film = _Film(path.with_suffix(".mkv"), fps)
        self._colors = path.with_suffix(".png")

    def add(self, picture: Picture) -> None:
        """Put the picture into the film."""
        self._film.add(picture)

    def close(self, count: int) -> None:
        """Choose the colours, and make the animation of the film."""
        try:
            self._film.close(count)
            film, colors = str(self._film.path), str(self._colors)
            _ffmpeg("-i", film, "-vf", "palettegen=reserve_transparent=0", colors)
            use = "paletteuse=dither=none:diff_mode=rectangle"
            _ffmpeg("-i", film, "-i", colors, "-lavfi", use, str(self.path))
        finally:
            self.stop()

    def stop(self) -> None:
        """Let go of the file, which nobody will look at."""
        self._film.stop()
        for path in (self._film.path, self._colors):
            path.unlink(missing_ok=True)


def _ffmpeg(*words: str) -> None:
    command = [imageio_ffmpeg().get_ffmpeg_exe(), "-v", "quiet", "-y", *words]
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
        raise OSError(_STOPPED)


def imageio_ffmpeg() -> Any:
    """The module that knows where the encoder is; it has no types."""
    return importlib.import_module("imageio_ffmpeg")


FORMATS: dict[str, type[PictureFile]] = {".gif": Gif, ".mp4": Mp4, ".png": Png}
"""Kinds of files, by suffix."""
