"""A game in midst of editing: the level as it is now, and back."""

from __future__ import annotations

from gv_engine.session.session import Session
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.screen import AppContext


class TrialScreen(PlayScreen):
    """Play what is edited. See `GameScreen` for the arguments."""

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app, game)
        self.own_groups = ("trial", *self.own_groups)

    def command(self, name: str) -> None:
        if name in ("back", "edit_level"):
            self.app.pop()
        else:
            super().command(name)

    def knows(self, name: str) -> bool:
        return name not in ("kin", "edit_level") and super().knows(name)

    def closed(self) -> None:
        """Nothing of it is kept: what was played was not finished."""
        self.end_recording()

    def _files_changed(self) -> None:
        """The editor reads them."""
        self.app.pop()

    def buttons(self) -> tuple[tuple[str, str, str], ...]:
        return (("Edit", "trial", "back"), *super().buttons())

    def hints(self) -> tuple[str, ...]:
        return (self.hint("trial", "back", "edit"), *super().hints())
