"""Recordings: an episode as pictures, drawn without a display."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gv_engine.files import Draft
from gv_engine.frame import Frame
from gv_engine.frontend.onlooker import Onlooker
from gv_engine.frontend.sprites import SpriteSheet, pygame
from gv_engine.frontend.views import Views
from gv_engine.picture_files import FORMATS, Picture
from gv_engine.pictures import sprite_folders, sprite_name
from gv_engine.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.episode import Playable
    from gv_engine.policy import Policy
    from gv_engine.vector_environment import GridVectorEnv


def frames(env: GridVectorEnv, policy: Policy, seed: int, steps: int) -> Iterator[Frame]:
    """What is to be seen at the beginning of an episode and after each of its steps.

    Args:
        env: of one world; its episode is number 0 of `gv_engine.rollout` with this seed.
        policy: what acts.
        seed: of the world, and of what the policy draws.
        steps: at most so many; the episode may end before.
    """
    mirror = Simulation(env.scenario)
    policy.begin(0, np.random.default_rng([seed, 0]))
    observation, info = env.reset(seed=seed)
    over = False
    for step in range(steps + 1):
        if step:
            if over:
                return
            actions = policy.act(observation, info)
            observation, _, terminated, truncated, info = env.step(actions)
            over = bool(terminated[0] or truncated[0])
        mirror.world.restore(env.snapshot(0))
        terms = info["reward_terms"]
        mirror.terms = [float(terms[name][0]) for name in env.scenario.reward_names]
        found: list[Frame] = []
        mirror.render(found.append, observation["grid"][0])
        yield found[-1]


class Artist:
    """Draws frames of one scenario as arrays.

    Args:
        scenario: whose frames they are.
        view: one of `VIEWS`.
        cell: pixels of a cell's side.
    """

    def __init__(self, scenario: Playable, view: str, cell: int) -> None:
        self._draw = VIEWS[view](scenario, view, cell)

    def draw(self, frame: Frame) -> Picture:
        """A picture with an even number of rows and columns, as videos want them."""
        picture = self._draw(frame)
        height, width, _ = picture.shape
        return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


Draw = Callable[[Frame], Picture]


def _views(scenario: Playable, view: str, cell: int) -> Draw:
    sheet = SpriteSheet(sprite_folders(scenario))
    return Views(sheet, sprite_name, view, cell).draw


def _window(scenario: Playable, view: str, cell: int) -> Draw:
    onlooker = Onlooker(scenario.name, sprite_name, sprite_folders(scenario))
    width, height = cell * 25, cell * 16
    surface = pygame.Surface((width, height), 0, 32)

    def draw(frame: Frame) -> Picture:
        onlooker.draw(surface, frame)
        data = bytearray(pygame.image.tobytes(surface, "RGB"))
        return np.frombuffer(data, np.uint8).reshape(height, width, 3)

    return draw


VIEWS: dict[str, Callable[[Playable, str, int], Draw]] = {
    "both": _views,
    "state": _views,
    "observation": _views,
    "window": _window,
}
"""What of a frame is drawn; a window is as large as 25 × 16 cells."""


class Recorder:
    """Records frames as they come, into a file that appears, whole, when it is closed.

    As a context manager it is closed at the end of the block, and discarded by an error in it.

    Args:
        path: ends with one of `gv_engine.picture_files.FORMATS`.
        scenario: whose frames they are.
        view: one of `VIEWS`.
        cell: pixels of a cell's side.
        fps: frames a second.

    Raises:
        ValueError: no such kind of file.
        OSError: nothing can be written there.

    Attributes:
        shown: frames recorded so far.
    """

    def __init__(
        self, path: Path, scenario: Playable, view: str = "both", cell: int = 48, fps: float = 8
    ) -> None:
        kind = FORMATS.get(path.suffix.lower())
        if kind is None:
            raise ValueError(f"{path}: the name must end with {', '.join(FORMATS)}")
        self.path = path
        self.shown = 0
        self._artist = Artist(scenario, view, cell)
        self._last: Picture | None = None
        self._held = int(fps) if kind.moves else 0
        self._draft = Draft(path)
        self._file = kind(self._draft.path, fps)

    def add(self, frame: Frame) -> None:
        """Record a frame.

        Raises:
            OSError: it cannot be written; nothing is left of the file.
        """
        picture = self._artist.draw(frame)
        if self._last is not None:
            picture = _fitted(picture, self._last)
        self._last = picture
        self.shown += 1
        with self._writing():
            self._file.add(picture)

    def close(self) -> None:
        """Finish the file and put it in its place; without a frame, there is none.

        Raises:
            OSError: not all of it could be written; nothing is left of the file.
        """
        if self._last is None:
            self.discard()
            return
        with self._writing():
            for _ in range(self._held):  # the end stands still for a second
                self._file.add(self._last)
            self._file.close(self.shown + self._held)
            self._draft.keep()

    def discard(self) -> None:
        """Stop; nothing is left of the file."""
        with suppress(OSError):
            self._file.stop()
        self._draft.discard()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.discard()
            raise OSError(f"{self.path} cannot be written: {error.strerror or error}") from None


def _fitted(picture: Picture, model: Picture) -> Picture:
    """A picture in the middle of one as large as the model, made smaller if it must be."""
    if picture.shape == model.shape:
        return picture
    every = max(-(-have // want) for have, want in zip(picture.shape, model.shape, strict=True))
    picture = picture[::every, ::every]
    found = np.zeros_like(model)
    top, left = ((w - h) // 2 for h, w in zip(picture.shape[:2], model.shape[:2], strict=True))
    found[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return found
