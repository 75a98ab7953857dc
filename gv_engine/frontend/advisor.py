"""Hints that are looked for while the window goes on."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Any

from gv_engine.mathy.search import Hint, find_hint


class Advisor:
    """Looks for a way to the goal of an algebra game.

    Attributes:
        hint: the first move of the way that was found for the last question; None if none was.
    """

    def __init__(self) -> None:
        self.hint: Hint | None = None
        self._rules: Sequence[str] = ()
        self._thread: Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether it is looking."""
        return self._thread is not None and self._thread.is_alive()

    def ask(self, game: Any) -> None:
        """Begin to look, on copies, from where a game is now; while it is looking, nothing new.

        Args:
            game: a `gv_engine.game.Game` of a mathy scenario.
        """
        if self.busy:
            return
        self.hint = None
        env, state = game.scenario.make_env(), game.row().state
        self._rules = game.frame().rules

        def look() -> None:
            self.hint = find_hint(env, state)

        self._thread = Thread(target=look, daemon=True)
        self._thread.start()

    @property
    def answer(self) -> str:
        """What was found, as a sentence."""
        if self.hint is None:
            return "No way to the goal was found in time"
        moves = "1 move" if self.hint.length == 1 else f"{self.hint.length} moves"
        return f"Hint: {self._rules[self.hint.rule]} here; the goal is {moves} away"

    def wait(self) -> Hint | None:
        """The hint, once it is found or none is."""
        if self._thread is not None:
            self._thread.join()
        return self.hint
