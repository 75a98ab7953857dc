"""Writers of PNG, GIF and MP4 files, one picture at a time."""

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
"""(H, W, 3) uint8 red, green, blue."""


class PictureWriter:
    """Base class of writers; holds at most two pictures in memory.

    Args:
        path: existing file to write to.
        fps: pictures per second.

    Attributes:
        moves: whether the file shows more than one picture.
    """

    moves: ClassVar[bool] = True

    def __init__(self, path: Path, fps: float) -> None:
        self.path = path
        self.fps = fps

    def add(self, picture: Picture) -> None:
        """Add the next picture to the file; all pictures have the size of the first.

        Raises:
            OSError: the picture cannot be written.
        """
        raise NotImplementedError

    def close(self, count: int) -> None:
        """Finish the file.

        Args:
            count: number of pictures added, as a check.

        Raises:
            OSError: the file is incomplete.
        """

    def stop(self) -> None:
        """Stop after an error: release the resources of the writer without writing the rest of the
        file."""


class Png(PictureWriter):
    """PNG file of the last picture."""

    moves = False
    _last: Picture

    def add(self, picture: Picture) -> None:
        """Keep the picture until the next one."""
        self._last = picture

    def close(self, count: int) -> None:
        """Write the last picture to the file; earlier ones are dropped, and `count` is not
        checked."""
        import imageio.v3

        # on its own it does not let go of a file that it could not write
        self.path.write_bytes(imageio.v3.imwrite("<bytes>", self._last, extension=".png"))


class Mp4(PictureWriter):
    """MP4 video."""

    options: ClassVar[Mapping[str, Any]] = {"macro_block_size": 2}

    _encoder: Generator[None, Picture | None, None] | None = None

    def add(self, picture: Picture) -> None:
        """Send the picture to the video encoder, which runs as a process of its own."""
        if self._encoder is None:
            height, width, _ = picture.shape
            options = {"fps": self.fps, "ffmpeg_log_level": "quiet", **self.options}
            self._encoder = imageio_ffmpeg().write_frames(
                str(self.path), (width, height), **options
            )
            next(self._encoder)
        try:
            self._encoder.send(np.ascontiguousarray(picture))
        except OSError:  # its message is the whole command line
            raise OSError(_STOPPED) from None

    def close(self, count: int) -> None:
        """Finish the video file, and raise an error unless it has `count` pictures, as the encoder
        does not report errors.

        Raises:
            OSError: the file is incomplete.
        """
        self.stop()
        try:
            frames, _ = imageio_ffmpeg().count_frames_and_secs(self.path)
        except RuntimeError:
            frames = 0
        if frames != count:
            raise OSError(_STOPPED)

    def stop(self) -> None:
        """Stop the encoder."""
        if self._encoder is not None:
            self._encoder.close()


class _LosslessVideo(Mp4):
    """Lossless intermediate video."""

    options: ClassVar[Mapping[str, Any]] = {
        "codec": "libx264rgb",
        "pix_fmt_out": "rgb24",
        "macro_block_size": 1,
        "quality": None,
        "output_params": ["-qp", "0", "-preset", "ultrafast"],
    }


class Gif(PictureWriter):
    """Looping GIF with the 256 colours that suit all pictures best.

    The colours are known at the end; until then the pictures are in a lossless video beside the
    file.
    """

    def __init__(self, path: Path, fps: float) -> None:
        super().__init__(path, fps)
        self._video = _LosslessVideo(path.with_suffix(".mkv"), fps)
        self._colors = path.with_suffix(".png")

    def add(self, picture: Picture) -> None:
        """Add the picture to the intermediate video."""
        self._video.add(picture)

    def close(self, count: int) -> None:
        """Choose the 256 colours, and convert the intermediate video of `count` pictures to the GIF
        file."""
        try:
            self._video.close(count)
            video, colors = str(self._video.path), str(self._colors)
            _run_ffmpeg("-i", video, "-vf", "palettegen=reserve_transparent=0", colors)
            filters = "paletteuse=dither=none:diff_mode=rectangle"
            _run_ffmpeg("-i", video, "-i", colors, "-lavfi", filters, str(self.path))
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop the video encoder, and delete the intermediate files."""
        self._video.stop()
        for path in (self._video.path, self._colors):
            path.unlink(missing_ok=True)


def _run_ffmpeg(*arguments: str) -> None:
    command = [imageio_ffmpeg().get_ffmpeg_exe(), "-v", "quiet", "-y", *arguments]
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
        raise OSError(_STOPPED)


def imageio_ffmpeg() -> Any:
    """Import and return the module `imageio_ffmpeg`, which finds the video encoder and has no type
    annotations."""
    return importlib.import_module("imageio_ffmpeg")


FORMATS: dict[str, type[PictureWriter]] = {".gif": Gif, ".mp4": Mp4, ".png": Png}
"""Writers by file suffix."""
