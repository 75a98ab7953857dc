"""Pictures of a game that somebody else plays: what a program's window and recordings show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from gv_engine.frontend.controls.theme import DARK
from gv_engine.frontend.drawing.hud import draw_panel, place_parts
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.stage import Stage, make_stage
from gv_engine.frontend.drawing.widgets import Pen, line_height
from gv_engine.reading.families import FAMILIES

MIN_SIZE = (320, 240)
"""Width and height of the smallest picture that holds everything, in pixels; others are shrunk."""


class Onlooker:
    """Draws frames on the stage of their family, with the panel of the play screen beside it.

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
            views = tuple(FAMILIES[self._frame.family].views)
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
        pen = Pen(surface, DARK, line)
        pen.text(at.header, self.title, size=1.3)
        stage.draw(surface, at.stage, 1)
        draw_panel(pen, at.panel, frame, stage, [frame.ending] if frame.ending else [])
        pen.text(at.hints, self._hints, "muted", "center", 0.9)
