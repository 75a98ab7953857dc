"""The screen of how a game was before its files were changed, step by step beside the game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gv_engine.session.hot_reload import join_differences
from gv_engine.session.session import Session
from gv_engine.ui.screens.game_screen import GameScreen
from gv_engine.ui.screens.screen import AppContext

_STEPS = {"back": -1, "forward": 1}
_ENDS = ("first", "last")


class BeforeScreen(GameScreen):
    """Look at how it was; what is different is marked. The game below goes along.

    Args:
        app: that it belongs to.
        below: the screen of a game that was otherwise, see `Session.before_reload`.
    """

    own_groups = ("replay",)
    heading = "Before: "

    def __init__(self, app: AppContext, below: GameScreen) -> None:
        was = below.game.before_reload()
        assert was is not None  # which is asked before
        self._below = below
        super().__init__(app, was)
        self.controls, self.tight_controls = below.controls, below.tight_controls
        self._says = ""
        self.stage.view = below.stage.view
        self.show(glide=False)

    @property
    def _present(self) -> Session:
        return self._below.game

    def _files_changed(self) -> None:
        """The game takes its steps again; then it was another one."""
        self._leave()

    def _other(self) -> Any:
        return self._below.game.frame() if self._is_compared else None

    @property
    def _is_compared(self) -> bool:
        """Whether the game below has this step, too."""
        return self.game.position == self._below.game.position

    def show(self, glide: bool = True) -> None:
        said = "the game has other steps now"
        if self._is_compared:
            said = join_differences(self._below.game.differences()) or "the same"
        self._says = f"Before, step {self.game.position}: {said}"
        super().show(glide)

    def _told(self) -> str:
        return self._says

    @property
    def _compares(self) -> str:
        return "Now"

    def _compare(self) -> None:
        self._leave()

    def _leave(self) -> None:
        self.app.pop()
        self._below.show(glide=False)

    def command(self, name: str) -> None:
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
            super().command(name)

    def knows(self, name: str) -> bool:
        return name in (*_STEPS, *_ENDS, "leave", "compare", "first_change") or not any(
            name == command.name for command in self.app.bindings.commands("replay")
        )

    def seek(self, position: int) -> None:
        self.game.seek(position)
        self._below.game.seek(min(self.game.position, self._below.game.num_comparable_steps or 0))
        self.show(glide=False)

    def hints(self) -> Sequence[str]:
        return self._below.hints()  # in as many lines, so that the board stays where it was

    def hints_now(self) -> Sequence[str]:
        told = (("back", "a step back"), ("forward", "on"), ("leave", "back to the game"))
        hints = [self.hint("replay", name, says) for name, says in told]
        return (*hints, self.hint("view", "help", "all keys"))
