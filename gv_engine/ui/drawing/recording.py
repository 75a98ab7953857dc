"""Recordings: an episode as pictures, drawn without a display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from gv_engine.scenario.files import AtomicFile
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.session.episode import Playable
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.session.video_writer import FORMATS, Picture
from gv_engine.ui.colors import DARK
from gv_engine.ui.drawing.hud import draw_panel, place_parts
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import Stage, make_stage
from gv_engine.ui.drawing.widgets import Painter, line_height

# ---- onlooker ------------------------------------------------------------------------------------

MIN_SIZE = (320, 240)
"""Width and height of the smallest picture that holds everything, in pixels; others are shrunk."""


class Onlooker:
    """Draws frames on the stage of their domain, with the panel of the play screen beside it.

    For the stage it stands for the game.

    Args:
        title: of the game.
        sprite_folders: of the game's own sprites.
        alone: a view of the stage, which is then all that is drawn.
        hints: that stand at the bottom.
    """

    def __init__(
        self,
        title: str,
        sprite_folders: Iterable[Path] = (),
        alone: str = "",
        hints: Sequence[str] = (),
    ) -> None:
        self.title, self.sprite_folders = title, tuple(sprite_folders)
        self._alone, self._hints = alone, " · ".join(hints)
        self._frame: Any = None
        self._stage: Stage | None = None

    def frame(self) -> Any:
        """The frame that was drawn last."""
        return self._frame

    def command(self, name: str) -> None:
        """Take a command of the bindings' group `view`."""
        if self._stage is None:
            return
        if name == "view":
            views = tuple(DOMAINS[self._frame.domain].views)
            self._stage.view = views[(views.index(self._stage.view) + 1) % len(views)]
        else:
            self._stage.command(name)

    def draw(self, surface: pygame.Surface, frame: Any) -> None:
        """Draw all that a frame shows, whatever the size of the surface."""
        self._frame = frame
        if self._stage is None:
            self._stage = make_stage(self, DARK)
        width, height = surface.get_size()
        zoom = max(MIN_SIZE[0] / width, MIN_SIZE[1] / height)
        if zoom <= 1:
            self._draw(surface, self._stage)
            return
        picture = pygame.Surface((ceil(width * zoom), ceil(height * zoom)), 0, 32)
        self._draw(picture, self._stage)
        pygame.transform.smoothscale(picture, (width, height), surface)

    def _draw(self, surface: pygame.Surface, stage: Stage) -> None:
        frame, line = self._frame, line_height(surface.get_size(), 1)
        stage.line = line
        stage.begin(None, frame)
        if self._alone:
            stage.view = self._alone
            stage.draw(surface, surface.get_rect(), 1)
            return
        surface.fill(DARK.background)
        told = bool(self._hints)
        at = place_parts(surface.get_rect(), line, beside=False, controls=0, hints=told)
        pen = Painter(surface, DARK, line)
        pen.text(at.header, self.title, size=1.3)
        stage.draw(surface, at.stage, 1)
        draw_panel(pen, at.panel, frame, stage, [frame.ending] if frame.ending else [])
        pen.text(at.hints, self._hints, "muted", "center", 0.9)


# ---- recording -----------------------------------------------------------------------------------

CELL = 32  # pixels of a cell's side in what environments render

DrawFrame = Callable[[Any], Picture]
Drawing = Callable[["Playable", str, int], DrawFrame]


def _window(scenario: Playable, view: str, cell: int) -> DrawFrame:
    return from_stage(scenario, "", cell)


def from_stage(scenario: Playable, view: str, cell: int) -> DrawFrame:
    """Draws a view as the stage of the domain does, in a picture of 25 × 16 cells."""
    onlooker = Onlooker(scenario.name, sprite_folders(scenario), alone=view)
    width, height = cell * 25, cell * 16
    surface = pygame.Surface((width, height), 0, 32)

    def draw(frame: Any) -> Picture:
        onlooker.draw(surface, frame)
        data = bytearray(pygame.image.tobytes(surface, "RGB"))
        return np.frombuffer(data, np.uint8).reshape(height, width, 3)

    return draw


def views_of(scenario: Playable) -> Mapping[str, Drawing]:
    """The views of a scenario by name, the usual one first, that of a player last."""
    own = DOMAINS[scenario.identity.domain].views
    return {**{view: resolve_name(place) for view, place in own.items()}, "window": _window}


class Pixels:
    """Render mode `rgb_array`: (H, W, 3) uint8, drawn without a display."""

    result: Any = None

    def __init__(self, scenario: Playable) -> None:
        view, drawing = next(iter(views_of(scenario).items()))
        self._draw = drawing(scenario, view, CELL)

    def show(self, frame: Any) -> None:
        """Draw a frame."""
        self.result = self._draw(frame)

    def close(self) -> None:
        """Nothing to let go of."""


class Recorder:
    """Records frames as they come, into a file that appears, whole, when it is closed.

    As a context manager it is closed at the end of the block, and discarded by an error in it.

    Args:
        path: ends with one of `gv_engine.session.video_writer.FORMATS`.
        scenario: whose frames they are.
        view: one of `views_of(scenario)`; the usual one if empty.
        cell: pixels of a cell's side.
        fps: frames a second.

    Raises:
        ValueError: no such kind of file.
        OSError: nothing can be written there.

    Attributes:
        shown: frames recorded so far.
    """

    def __init__(
        self, path: Path, scenario: Playable, view: str = "", cell: int = 48, fps: float = 8
    ) -> None:
        kind = FORMATS.get(path.suffix.lower())
        if kind is None:
            raise ValueError(f"{path}: the name must end with {', '.join(FORMATS)}")
        self.path = path
        self.shown = 0
        views = views_of(scenario)
        view = view or next(iter(views))
        self._draw = views[view](scenario, view, cell)
        self._last: Picture | None = None
        self._held = int(fps) if kind.moves else 0
        self._draft = AtomicFile(path)
        self._file = kind(self._draft.path, fps)

    def add(self, frame: Any) -> None:
        """Record a frame.

        Raises:
            OSError: it cannot be written; nothing is left of the file.
        """
        picture = self._draw(frame)
        height, width, _ = picture.shape
        # videos want an even number of rows and columns
        picture = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
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
            self._draft.commit()

    def discard(self) -> None:
        """Stop; nothing is left of the file."""
        try:
            with suppress(OSError):
                self._file.stop()
        finally:  # another Ctrl-C, too
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
        except BaseException:  # Ctrl-C while the end is written, which takes a while
            self.discard()
            raise


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
