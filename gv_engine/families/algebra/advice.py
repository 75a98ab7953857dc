"""Hints that are looked for while the window goes on."""

from __future__ import annotations

from threading import Thread
from typing import Any

from gv_engine.families.algebra.search import Hint, find_hint
from gv_engine.playing.acting import Way
from gv_engine.reading.rule_files import failure


class Advice(Thread):
    """Looks for a way to the goal of an algebra game, on copies, from where the game is now.

    Args:
        game: a `gv_engine.playing.game.Game` of a mathy scenario.

    Attributes:
        hint: the first move of the way; None as long as none is found.
        rules: names of the game's rules.
    """

    def __init__(self, game: Any) -> None:
        super().__init__(daemon=True)
        self.hint: Hint | None = None
        self._env, self._state = game.scenario.make_env(), game.row().standing["state"]
        self.rules = game.frame().rules
        self._wrong = ""
        self.start()

    @property
    def answer(self) -> str:
        """The hint that was found, as a sentence."""
        if self.hint is None:
            return self._wrong or "No way to the goal was found in time"
        moves = "1 move" if self.hint.length == 1 else f"{self.hint.length} moves"
        return f"Hint: {self.rules[self.hint.rule]} here; the goal is {moves} away"

    def run(self) -> None:
        try:
            self.hint = find_hint(self._env, self._state)
        except Exception as error:  # whatever a rule of one's own may raise
            self._wrong = str(failure(error))


class HintFinder:
    """Finds the next move of algebra games; see `gv_engine.playing.acting.Adviser`."""

    def __init__(self, scenario: Any) -> None:
        self._advice: Advice | None = None

    def ask(self, game: Any) -> None:
        """Look for a way from the present state."""
        self._advice = Advice(game)

    def answer(self) -> Way | None:
        """The next move."""
        if self._advice is None or self._advice.is_alive():
            return None
        hint = self._advice.hint
        if hint is None:
            return Way((), self._advice.answer)
        return Way((f"{self._advice.rules[hint.rule]} {hint.node}",), self._advice.answer)

    def close(self) -> None:
        """Ask no more."""
        self._advice = None
