"""Screen that shows a game as the game was before its files were changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gv_engine.session.hot_reload import join_differences
from gv_engine.session.session import Session
from gv_engine.ui.screens.game_screen import GameScreen
from gv_engine.ui.screens.screen import AppContext

_STEPS = {"back": -1, "forward": 1}
_ENDS = ("first", "last")


class CompareScreen(GameScreen):
    """Screen that steps through the game before the change and marks differences; the game below
    follows.

    Args:
        app: app of the screen.
        below: screen of the changed game, see `Session.before_reload`.
    """

    extra_groups = ("replay",)
    heading = "Before: "

    def __init__(self, app: AppContext, below: GameScreen) -> None:
        previous_session = below.game.before_reload()
        assert previous_session is not None  # checked by the caller
        self._below = below
        super().__init__(app, previous_session)
        self.controls, self.tight_controls = below.controls, below.tight_controls
        self._text = ""
        self.stage.view = below.stage.view
        self.show(glide=False)

    @property
    def _watched_session(self) -> Session:
        return self._below.game

    def _on_files_changed(self) -> None:
        """Close the screen, because the game below is replayed now."""
        self._leave()

    def _compared_frame(self) -> Any:
        return self._below.game.frame() if self._is_compared else None

    @property
    def _is_compared(self) -> bool:
        """True if the game below has the current step."""
        return self.game.position == self._below.game.position

    def show(self, glide: bool = True) -> None:
        """Show the current frame and a text with its differences."""
        text = "the game has other steps now"
        if self._is_compared:
            text = join_differences(self._below.game.differences()) or "the same"
        self._text = f"Before, step {self.game.position}: {text}"
        super().show(glide)

    def _difference_text(self) -> str:
        return self._text

    @property
    def _compare_label(self) -> str:
        return "Now"

    def _toggle_comparison(self) -> None:
        self._leave()

    def _leave(self) -> None:
        """Close the screen and update the screen below."""
        self.app.pop()
        self._below.show(glide=False)

    def run_command(self, name: str) -> None:
        """Run the commands of the timeline; leave by `compare` and `leave`."""
        if name in _STEPS:
            self.seek(self.game.position + _STEPS[name])
        elif name in _ENDS:
            self.seek(0 if name == "first" else self.game.length)
        elif name == "first_change":
            difference = self._below.game.difference
            self.seek(difference.step if difference else 0)
        elif name == "leave":
            self._leave()
        else:
            super().run_command(name)

    def has_command(self, name: str) -> bool:
        """Return whether a command works; only the timeline's commands of the replay group do."""
        return name in (*_STEPS, *_ENDS, "leave", "compare", "first_change") or not any(
            name == command.name for command in self.app.bindings.commands("replay")
        )

    def seek(self, position: int) -> None:
        """Go to a step in both games."""
        self.game.seek(position)
        self._below.game.seek(min(self.game.position, self._below.game.num_comparable_steps or 0))
        self.show(glide=False)

    def hints(self) -> Sequence[str]:
        """Return the hints of the screen below, so that the layout stays the same."""
        return self._below.hints()

    def current_hints(self) -> Sequence[str]:
        """Return hints on the keys of this screen."""
        commands = (("back", "a step back"), ("forward", "on"), ("leave", "back to the game"))
        hints = [self.hint("replay", name, says) for name, says in commands]
        return (*hints, self.hint("view", "help", "all keys"))
