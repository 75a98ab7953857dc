"""Pictures and videos of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar

import imageio.v3 as imageio
import numpy as np
from numpy.typing import NDArray

from gv_engine.play.session.video_writer import FORMATS
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.rendering import GridVerseViewer
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.errors import describe_allowed

Image: TypeAlias = NDArray[np.uint8]
"""Picture, (H, W, 3) uint8."""

FrameType = TypeVar("FrameType", State, Observation, Image)


@dataclass(frozen=True)
class Data(Generic[FrameType]):
    """Episode: states, observations or pictures, and what happened between them.

    Attributes:
        frames: one more than there are actions.
        actions, rewards: of each step.
        discount: weight of a reward for each step that it comes later, for the return.

    Raises:
        ValueError: the numbers of frames, actions and rewards do not fit.
    """

    frames: Sequence[FrameType]
    actions: Sequence[Action]
    rewards: Sequence[float]
    discount: float

    def __post_init__(self) -> None:
        if not len(self.frames) - 1 == len(self.actions) == len(self.rewards):
            counts = len(self.frames), len(self.actions), len(self.rewards)
            raise ValueError(f"{counts} frames, actions, rewards: expected one more frame")

    @property
    def is_state_data(self) -> bool:
        """Return True if the frames are states."""
        return isinstance(self.frames[0], State)

    @property
    def is_observation_data(self) -> bool:
        """Return True if the frames are observations."""
        return isinstance(self.frames[0], Observation)

    @property
    def is_image_data(self) -> bool:
        """Return True if the frames are pictures."""
        return isinstance(self.frames[0], np.ndarray)


@dataclass(frozen=True)
class DataBuilder(Generic[FrameType]):
    """Collector of an episode, step by step."""

    discount: float
    frames: list[FrameType] = field(init=False, default_factory=list)
    actions: list[Action] = field(init=False, default_factory=list)
    rewards: list[float] = field(init=False, default_factory=list)

    def append0(self, frame: FrameType) -> None:
        """Add the first frame; raise RuntimeError if there is one already."""
        if self.frames:
            raise RuntimeError("there is a first frame already; call append")
        self.frames.append(frame)

    def append(self, frame: FrameType, action: Action, reward: float) -> None:
        """Record a step: the action, its reward, and the state or observation after it. Raise
        RuntimeError if the first frame has not been recorded."""
        if not self.frames:
            raise RuntimeError("there is no first frame yet; call append0")
        self.frames.append(frame)
        self.actions.append(action)
        self.rewards.append(reward)

    def build(self) -> Data[FrameType]:
        """Return the episode so far."""
        return Data(self.frames, self.actions, self.rewards, self.discount)


class HUD_Info(TypedDict):
    """Values that are written over a picture."""

    action: Action | None
    reward: float | None
    ret: float | None
    done: bool | None


def generate_images(data: Data[Any]) -> Iterator[Image]:
    """Render each state or observation of a recorded episode, and yield the images."""
    if data.is_image_data:
        yield from data.frames
        return
    viewer = GridVerseViewer(data.frames[0].grid.shape)
    viewer.flip_hud()
    for frame in data.frames:
        picture: Any = viewer.render(frame, return_rgb_array=True)
        yield picture


def record(
    mode: str,
    images: Sequence[Image],
    *,
    filename: str | None = None,
    filenames: Iterable[str] | None = None,
    **kwargs: Any,
) -> None:
    """Write images to files in the format `mode`: one image file each, or a single GIF or MP4.

    Args:
        mode: "images" for `filenames`, "gif" or "mp4" for `filename`.
        kwargs: further options of the function for the mode.

    Raises:
        ValueError: the mode is unknown, or there is no name for its file.
    """
    recorders: dict[str, Any] = {"images": record_images, "gif": record_gif, "mp4": record_mp4}
    if mode not in recorders:
        raise ValueError(f"mode={mode!r}{describe_allowed(mode, recorders)}")
    names = filenames if mode == "images" else filename
    if names is None:
        raise ValueError(f"mode {mode!r} needs {'filenames' if mode == 'images' else 'filename'}")
    recorders[mode](names, images, **kwargs)


def record_images(filenames: Iterable[str], images: Sequence[Image], **kwargs: Any) -> None:
    """Write each picture into a file of its own."""
    # the names may be endless
    for image, filename in zip(images, filenames, strict=False):
        _make_folder(filename)
        imageio.imwrite(filename, image)


def record_gif(
    filename: str,
    images: Sequence[Image],
    *,
    loop: int = 0,
    fps: float = 2.0,
    duration: float | None = None,
    **kwargs: Any,
) -> None:
    """Write a GIF file.

    Args:
        loop: number of repetitions; 0 for endless.
        fps: pictures per second.
        duration: seconds in all, instead of `fps`.
    """
    _make_folder(filename)
    seconds = 1 / fps if duration is None else duration / len(images)
    imageio.imwrite(
        filename, np.stack(images), extension=".gif", loop=loop, duration=1000 * seconds
    )


def record_mp4(
    filename: str,
    images: Sequence[Image],
    *,
    fps: float = 2.0,
    duration: float | None = None,
    **kwargs: Any,
) -> None:
    """Write an MP4 file.

    Args:
        fps: pictures per second.
        duration: seconds in all, instead of `fps`.
    """
    _make_folder(filename)
    writer = FORMATS[".mp4"](Path(filename), fps if duration is None else len(images) / duration)
    for image in images:
        writer.add(image)
    writer.close(len(images))


def _make_folder(filename: str) -> None:
    Path(filename).parent.mkdir(parents=True, exist_ok=True)
