"""The base of all screens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen

if TYPE_CHECKING:
    from gv_engine.frontend.window.app import App


class Screen:
    """A picture that fills the window, and what its keys do.

    Attributes:
        app: that it belongs to.
        groups: of the bindings that are active while it is on top.
        over: whether the screen below is seen behind it.
    """

    groups: tuple[str, ...] = ("menu", "window")
    over: ClassVar[bool] = False

    def __init__(self, app: App) -> None:
        self.app = app

    def draw(self, pen: Pen, now: float) -> None:
        """Draw it; `now` is the time in seconds."""
        raise NotImplementedError

    def tick(self, now: float) -> float | None:
        """Do what is due; returns in how many seconds to do so again, None for not by itself."""
        return None

    def command(self, name: str) -> None:
        """A key of one of its groups was pressed.

        Raises:
            GVEngineError, OSError: it cannot be done; the app says why.
        """
        if name == "leave":
            self.app.pop()
        elif name == "help":
            from gv_engine.frontend.window.screens.help import HelpScreen

            self.app.push(HelpScreen(self.app, self.groups))
        elif name == "settings":
            from gv_engine.frontend.window.screens.settings import SettingsScreen

            self.app.push(SettingsScreen(self.app))

    def typed(self, text: str) -> None:
        """Text was typed."""

    def pointed(self, event: pygame.event.Event) -> None:
        """The mouse did something that was not about a button of the pen."""

    def dropped(self, file: Path) -> None:
        """A file was dropped on the window; see `command` for what may go wrong."""

    def uncovered(self) -> None:
        """It is on top again."""

    def closed(self) -> None:
        """It is gone for good; what is worth keeping is to be kept now."""
