"""Screen to play the level in the editor."""

from __future__ import annotations

from collections.abc import Sequence

from gv_engine.play.session.session import Session
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.screen import AppContext


class PlaytestScreen(PlayScreen):
    """Play screen of the edited level. See `GameScreen` for the other arguments.

    Args:
        fewest: fewest steps to win the level, its par unless it names one; None if unknown.
    """

    has_opponents = False

    def __init__(self, app: AppContext, game: Session, fewest: int | None = None) -> None:
        super().__init__(app, game)
        self._fewest = fewest
        self.extra_groups = ("trial", *self.extra_groups)

    def run_command(self, name: str) -> None:
        """Run the command `name`: return to the editor, or a command of the play screen."""
        if name in ("back", "edit_level") or (name == "go_on" and self.frame.success):
            self.app.pop()
        else:
            super().run_command(name)

    def has_command(self, name: str) -> bool:
        """Return True if the command `name` is available: not the next size or difficulty, and not
        the editor, which is open below."""
        return name not in ("kin", "edit_level") and super().has_command(name)

    def on_close(self) -> None:
        """End the video recording; the game of an edited level is not saved."""
        self.stage.close()
        self.end_recording()

    def unsaved_work(self) -> None:
        """Return None: the game of an edited level is not saved."""
        return None

    def _on_files_changed(self) -> None:
        self.app.pop()

    @property
    def _result_text(self) -> str:
        text, level = super()._result_text, self.game.pack_level
        has_par = bool(level and level.par) or not self._fewest
        return text if has_par else f"{text} · par {self._fewest}"

    def _list_end_choices(self) -> Sequence[tuple[str, str]]:
        choices = super()._list_end_choices()
        return (("Back to the editor", "go_on"), *choices[1:]) if self.frame.success else choices

    def buttons(self) -> tuple[tuple[str, str, str], ...]:
        """Return the buttons of the play screen after a button back to the editor."""
        return (("Edit", "trial", "back"), *super().buttons())

    def hints(self) -> tuple[str, ...]:
        """Return the hints of the play screen after a hint on the key back to the editor."""
        return (self.hint("trial", "back", "edit"), *super().hints())
