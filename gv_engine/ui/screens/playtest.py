"""Screen that plays the level of the editor."""

from __future__ import annotations

from gv_engine.session.session import Session
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.screen import AppContext


class PlaytestScreen(PlayScreen):
    """Play screen of the edited level. See `GameScreen` for the arguments."""

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app, game)
        self.extra_groups = ("trial", *self.extra_groups)

    def run_command(self, name: str) -> None:
        """Return to the editor, or run a command of the play screen."""
        if name in ("back", "edit_level"):
            self.app.pop()
        else:
            super().run_command(name)

    def has_command(self, name: str) -> bool:
        return name not in ("kin", "edit_level") and super().has_command(name)

    def on_close(self) -> None:
        """End the recording; the game is not saved."""
        self.end_recording()

    def _on_files_changed(self) -> None:
        """Return to the editor, which loads the files."""
        self.app.pop()

    def buttons(self) -> tuple[tuple[str, str, str], ...]:
        return (("Edit", "trial", "back"), *super().buttons())

    def hints(self) -> tuple[str, ...]:
        return (self.hint("trial", "back", "edit"), *super().hints())
