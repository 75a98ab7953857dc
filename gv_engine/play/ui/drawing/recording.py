"""Recordings: episodes drawn into pictures and videos without a display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from gv_engine.envs.arg_checks import check_at_least
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.sprite_paths import SpriteSource, sprite_sources
from gv_engine.play.session.video_writer import FORMATS, Picture
from gv_engine.play.ui.colors import DARK, Theme
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.drawing.stage import Stage, StatusPanel, lay_out_screen, make_stage
from gv_engine.play.ui.drawing.widgets import Painter, line_height
from gv_engine.rules.errors import describe_allowed
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.storage.files import AtomicFile, make_write_error

# ---- renderer ------------------------------------------------------------------------------------

# Width and height in pixels of the smallest picture that holds everything; smaller ones are scaled
# down.
MIN_SIZE = (320, 240)


class FrameRenderer:
    """Renderer that draws frames as the play screen shows them: the world, title, status panel and
    hints.

    The renderer takes the place of a session: the stage reads its `frame`, `title` and
    `sprite_sources`.

    Args:
        title: title of the game.
        sprite_sources: places of the game's own sprites, see `sprite_paths.sprite_sources`.
        view: if not empty, draw only the stage, in this view.
        hints: hints at the bottom.
        theme: colours.
    """

    def __init__(
        self,
        title: str,
        sprite_sources: Iterable[SpriteSource] = (),
        view: str = "",
        hints: Sequence[str] = (),
        theme: Theme = DARK,
    ) -> None:
        self.title, self.sprite_sources = title, tuple(sprite_sources)
        self._view, self._hints, self._theme = view, " · ".join(hints), theme
        self._frame: Any = None
        self._stage: Stage | None = None

    def frame(self) -> Any:
        """Return the state that was drawn last."""
        return self._frame

    def run_command(self, name: str) -> None:
        """Run the view command `name`: `view` switches to the next view, others such as zoom go to
        the domain's drawing."""
        if self._stage is None:
            return
        if name == "view":
            views = tuple(DOMAINS[self._frame.domain].views)
            self._stage.view = views[(views.index(self._stage.view) + 1) % len(views)]
        else:
            self._stage.command(name)

    def draw(self, surface: pygame.Surface, frame: Any) -> None:
        """Draw `frame`, a snapshot of a game for drawing, on a surface of any size."""
        self._frame = frame
        if self._stage is None:
            self._stage = make_stage(self, self._theme)
            self._stage.is_research = True
        width, height = surface.get_size()
        scale = max(MIN_SIZE[0] / width, MIN_SIZE[1] / height)
        if scale <= 1:
            self._draw(surface, self._stage)
            return
        large = pygame.Surface((ceil(width * scale), ceil(height * scale)), 0, 32)
        self._draw(large, self._stage)
        pygame.transform.smoothscale(large, (width, height), surface)

    def _draw(self, surface: pygame.Surface, stage: Stage) -> None:
        """Draw the last frame with `stage` on a surface of at least `MIN_SIZE`. If a single view
        such as "state" was chosen, only that is drawn, else both views with title, panel and
        hints."""
        frame, line = self._frame, line_height(surface.get_size(), 1)
        stage.line = line
        stage.begin(None, frame)
        if self._view:
            stage.view = self._view
            stage.draw(surface, surface.get_rect(), 1)
            return
        surface.fill(self._theme.background)
        layout = lay_out_screen(surface.get_rect(), line, False, 0, hints=bool(self._hints))
        painter = Painter(surface, self._theme, line)
        painter.draw_text(layout.header, self.title, size=1.3)
        stage.draw(surface, layout.stage, 1)
        facts = [frame.ending] if frame.ending else []
        StatusPanel(painter, frame, stage, facts).draw(layout.panel)
        painter.draw_text(layout.hints, self._hints, "muted", "center", 0.9)


# ---- recording -----------------------------------------------------------------------------------

RENDER_CELL = 32  # side of a cell in pixels, for `rgb_array`

DrawFrame = Callable[[Any], Picture]  # function that draws a frame into an (H, W, 3) uint8 picture
# Function (scenario, view, side of a cell in pixels) that returns a `DrawFrame`.
RendererFactory = Callable[["Playable", str, int], DrawFrame]


def stage_renderer(scenario: Playable, view: str, cell: int) -> DrawFrame:
    """Return a function that draws a frame of a game of `scenario`, and returns it as a (16 * cell,
    25 * cell, 3) uint8 RGB array. The view `window` adds title and status panel."""
    stage_view = "" if view == "window" else view
    renderer = FrameRenderer(scenario.name, sprite_sources(scenario), view=stage_view)
    width, height = cell * 25, cell * 16
    surface = pygame.Surface((width, height), 0, 32)

    def draw(frame: Any) -> Picture:
        renderer.draw(surface, frame)
        data = bytearray(pygame.image.tobytes(surface, "RGB"))
        return np.frombuffer(data, np.uint8).reshape(height, width, 3)

    return draw


def find_views(scenario: Playable) -> Mapping[str, RendererFactory]:
    """Return for each view of a scenario the function that makes its renderer; the domain's default
    view comes first, `window` last."""
    domain_views = DOMAINS[scenario.identity.domain].views
    factories = {view: resolve_name(path) for view, path in domain_views.items()}
    return {**factories, "window": stage_renderer}


class PixelRenderer:
    """Render mode `rgb_array`: draws frames into (H, W, 3) uint8 arrays without a display."""

    result: Any = None

    def __init__(self, scenario: Playable) -> None:
        view, make_renderer = next(iter(find_views(scenario).items()))
        self._draw = make_renderer(scenario, view, RENDER_CELL)

    def show(self, frame: Any) -> None:
        """Draw `frame`, the displayed state of a world, into the array `result`."""
        self.result = self._draw(frame)

    def close(self) -> None:
        """Do nothing; there is no window to close."""


class Recorder:
    """Writes frames into a picture or video file, which appears when the recorder is closed.

    As a context manager the recorder is closed at the end of the block, and discarded after an
    error.

    Args:
        path: file name; ends with one of `gv_engine.play.session.video_writer.FORMATS`.
        scenario: scenario of the frames.
        view: key of `find_views(scenario)`; empty for the default view.
        cell: side of a cell in pixels.
        fps: frames per second.

    Raises:
        ValueError: the file type or the view is unknown, or `cell` is less than 1.
        OSError: the file cannot be written.

    Attributes:
        shown: number of frames recorded so far.
    """

    def __init__(
        self, path: Path, scenario: Playable, view: str = "", cell: int = 48, fps: float = 8
    ) -> None:
        writer = FORMATS.get(path.suffix.lower())
        if writer is None:
            raise ValueError(f"{path}: the name must end with {', '.join(FORMATS)}")
        self.path = path
        self.shown = 0
        views = find_views(scenario)
        view = view or next(iter(views))
        if view not in views:
            raise ValueError(f"no view {view!r}{describe_allowed(view, views)}")
        check_at_least(1, cell=cell)
        self._draw = views[view](scenario, view, cell)
        self._last: Picture | None = None
        self._repeats_at_end = int(fps) if writer.moves else 0
        self._draft = AtomicFile(path)
        self._file = writer(self._draft.path, fps)

    def add(self, frame: Any) -> None:
        """Draw `frame`, a snapshot of a game for drawing, as the next picture of the file.

        Raises:
            OSError: the file cannot be written; it is removed.
        """
        picture = self._draw(frame)
        height, width, _ = picture.shape
        # videos want an even number of rows and columns
        picture = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        if self._last is not None:
            picture = _fit_picture(picture, self._last)
        self._last = picture
        self.shown += 1
        with self._discard_on_error():
            self._file.add(picture)

    def close(self) -> None:
        """Finish the file and move it to its final path; without any picture no file is written.

        Raises:
            OSError: the file cannot be written completely; it is removed.
        """
        if self._last is None:
            self.discard()
            return
        with self._discard_on_error():
            for _ in range(self._repeats_at_end):  # the last frame is shown for a second
                self._file.add(self._last)
            self._file.close(self.shown + self._repeats_at_end)
            self._draft.commit()

    def discard(self) -> None:
        """Stop recording, and delete the unfinished file."""
        try:
            with suppress(OSError):
                self._file.stop()
        finally:  # after another Ctrl-C, too
            self._draft.discard()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        """Finish the file at the end of the block, or delete it after an error."""
        if error_type is None:
            self.close()
        else:
            self.discard()

    @contextmanager
    def _discard_on_error(self) -> Iterator[None]:
        """Delete the unfinished file if the `with` block, which writes into it, fails."""
        try:
            yield
        except OSError as error:
            self.discard()
            raise make_write_error(self.path, error) from None
        except BaseException:  # Ctrl-C while the end is written, which takes a while
            self.discard()
            raise


def _fit_picture(picture: Picture, model: Picture) -> Picture:
    """Centre `picture` in an array of the shape of `model`. A larger picture is cropped."""
    if picture.shape == model.shape:
        return picture
    sizes = zip(picture.shape, model.shape, strict=True)
    step = max(-(-size // model_size) for size, model_size in sizes)
    picture = picture[::step, ::step]
    height, width, _ = picture.shape
    top, left = (model.shape[0] - height) // 2, (model.shape[1] - width) // 2
    fitted = np.zeros_like(model)
    fitted[top : top + height, left : left + width] = picture
    return fitted
