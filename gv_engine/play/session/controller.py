"""Commands of a player in a session, the same in a window, in a terminal and through text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from gv_engine.play.session.catalogue import load_playable, next_size_variant, size_variants
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.session import Session
from gv_engine.rules.errors import ScenarioError, error_text

GIVING_UP_COMMANDS = ("undo", "first", "again", "next_level", "previous_level")
"""Commands that end the first try: a level that is solved after one of them does not count as
solved at the first try."""


class SolvedLevels(Protocol):
    """Store of the levels that a player has solved or tried; its methods may raise an OSError."""

    def add_solution(self, game: Game, steps: int) -> None: ...
    def add_failed_try(self, game: Game, at_start: bool = False) -> None: ...


class PlayController:
    """Carries out the commands and actions of the player of `game`, saves what the player has
    solved, and knows when real time takes its next step.

    Args:
        game: session to play.
        solved: store of solved levels; None to save none.
        show_note: shows a text to the player.
        load: function from a scenario's name to the scenario.

    Attributes:
        game: as above.
    """

    def __init__(
        self,
        game: Session,
        solved: SolvedLevels | None = None,
        show_note: Callable[[str], None] = lambda _: None,
        load: Callable[[str], Playable] = load_playable,
    ) -> None:
        self.game, self._solved, self._show_note, self._load = game, solved, show_note, load
        self._is_time_toggled = False
        self._next_step_time = 0.0

    def run_command(self, name: str) -> None:
        """Run the command called `name`, one of `PLAY_COMMANDS`.

        Raises:
            GVEngineError: the command failed, and the session is unchanged.
        """
        if name in GIVING_UP_COMMANDS:
            self.save_failed_try()
        PLAY_COMMANDS[name](self)

    def _play_variant(self) -> None:
        self.game.change_scenario(self._load(next_size_variant(self.game.scenario.name)))

    def take_action(self, action: str) -> bool:
        """Take an action. If it ends the episode, save the solution or the failed try. Return True
        if a step was taken.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        self.game.release_agent(action.rpartition(" ")[0])  # a second player has taken it over
        has_stepped = self.game.step(action)
        if self._solved:
            frame = self.game.frame()
            if frame.success:
                with self._notify_on_failure("The solution"):
                    self._solved.add_solution(self.game, frame.steps)
            elif frame.outcome:
                self.save_failed_try()
        return has_stepped

    def start_level(self, seed: str) -> None:
        """Start the level of `seed`, which the player has typed.

        Raises:
            ScenarioError: the text is no seed.
            RuleError: a rule failed, and the session is unchanged.
        """
        self.game.reset(parse_seed(seed))

    def save_failed_try(self, at_start: bool = False) -> None:
        """Save that the player has not solved the level at the first try; before the first step,
        only if `at_start`."""
        if self._solved:
            with self._notify_on_failure("The progress"):
                self._solved.add_failed_try(self.game, at_start)

    def record_peek(self, view: str) -> bool:
        """Return True if `view` shows more than the level's own view. If so, record that the first
        try has failed."""
        whole = "state", "both"
        has_peeked = self.game.scenario.view not in ("", *whole) and view in whole
        if has_peeked:
            self.save_failed_try(at_start=True)
        return has_peeked

    @contextmanager
    def _notify_on_failure(self, noun: str) -> Iterator[None]:
        """Tell the player that what `noun` names is not saved if the block raises an OSError."""
        try:
            yield
        except OSError as error:
            self._show_note(f"{noun} is not saved: {error_text(error)}")

    # ---- real time -----------------------------------------------------------------------

    def toggle_real_time(self) -> None:
        """Start or stop real time, in which the game steps at a fixed rate without key presses;
        only show a note if the level has no action that waits."""
        if self.game.wait:
            self._is_time_toggled = not self._is_time_toggled
        else:
            self._show_note("Time cannot run in this level: it has no action that waits")

    @property
    def is_real_time(self) -> bool:
        """True if the game steps at a fixed rate without key presses: in a level with the key
        `time` until the player stops it, in others once the player has started it."""
        return bool(self.game.scenario.beat) != self._is_time_toggled

    def time_speed(self, default: int) -> int:
        """Return the steps a second of real time: the level's, or else `default`."""
        return self.game.scenario.beat or default

    def schedule_next_step(self, now: float, speed: int) -> None:
        """In real-time play, make the next step due after the time `now` by one beat of the level,
        or else by 1 / `speed` seconds."""
        self._next_step_time = now + 1 / self.time_speed(speed)

    def seconds_to_step(self, now: float) -> float:
        """Return the seconds from `now` until the next step of real time is due, 0.0 or less if it
        is due already; infinity without real time or after the end."""
        if self.is_real_time and not self.game.outcome:
            return self._next_step_time - now
        return math.inf


def supports_command(game: Game, name: str) -> bool:
    """Return whether the command called `name` can do something in the current level of `game`."""
    return name not in _CONDITIONS or _CONDITIONS[name](game)


_CONDITIONS: dict[str, Callable[[Game], bool]] = {
    "kin": lambda game: len(size_variants(game.scenario.name)) > 1,
    "next_agent": lambda game: len(game.agents) > 1,
    "partner": lambda game: bool(getattr(game.scenario, "partner", None)),
    "real_time": lambda game: bool(game.wait),
    "first_change": lambda game: game.difference is not None,
    "compare": lambda game: game.comparison is not None,
}
"""Conditions of the commands that only some levels support."""

PLAY_COMMANDS: dict[str, Callable[[PlayController], None]] = {
    "undo": lambda controller: controller.game.undo(),
    "redo": lambda controller: controller.game.redo(),
    "first": lambda controller: controller.game.seek(0),
    "last": lambda controller: controller.game.seek(controller.game.length),
    "again": lambda controller: controller.game.restart(),
    "next_level": lambda controller: controller.game.next_level(),
    "previous_level": lambda controller: controller.game.previous_level(),
    "game_before": lambda controller: controller.game.previous_timeline(),
    "game_after": lambda controller: controller.game.next_timeline(),
    "go_on": lambda controller: controller.game.continue_play(),
    "first_change": lambda controller: controller.game.seek_first_difference(),
    "next_agent": lambda controller: controller.game.control_next_agent(),
    "partner": lambda controller: controller.game.toggle_partner(),
    "kin": PlayController._play_variant,
}
"""Commands of every front end, by name."""


def parse_seed(text: str) -> int:
    """Return the seed, a whole number from 0 on, that a player typed as `text`.

    Raises:
        ScenarioError: the text is no seed.
    """
    if not text.isdecimal():
        raise ScenarioError([f"Seeds are whole numbers from 0 on, such as 7, not {text}"])
    return int(text)
