"""Replay player, and the screen that shows a game as the game was before its files were changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gv_engine.session.hot_reload import join_differences
from gv_engine.session.replay import Replay
from gv_engine.session.rollout_games import RolloutSessions
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import Rect
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.export import ExportScreen
from gv_engine.ui.screens.game_screen import VIEW_COMMANDS, GameScreen
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.screens.settings import PauseMenu

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


EPISODES = ("next_episode", "previous_episode")


class ReplayScreen(GameScreen):
    """Screen that plays a replay.

    Args:
        app: app of the screen.
        replay: replay to watch.
        game: session with the replay's steps, see `Session.of`.
    """

    controls = 5.0
    tight_controls = 3.25
    extra_groups = ("replay",)
    menu_commands: tuple[str, ...] = (
        *EPISODES,
        "export",
        "take_over",
        "copy",
        "first",
        "last",
        *VIEW_COMMANDS,
    )
    resume_label, leave_label = "Go on watching", "Leave the replay"

    def __init__(self, app: AppContext, replay: Replay, game: Session) -> None:
        super().__init__(app, game)
        self.replay = replay
        self._is_playing = False
        self._due = 0.0

    def tick(self, now: float) -> float | None:
        """Go to the next step while playing; return the seconds until the next call."""
        due = super().tick(now)
        if not self._is_playing:
            return due
        if now >= self._due:
            if self.game.position >= self.game.length:
                self._is_playing = False
                self.app.needs_redraw = True
                return due
            self._move(1)
            # count from when the step was due, so that the speed is exact
            late = now - self._due
            self._due = (now if late > 1 else self._due) + 1 / self.app.settings.speed
        wait = max(0.0, self._due - now)
        return wait if due is None else min(wait, due)

    def run_command(self, name: str) -> None:
        """Run a command of the player: play, step, speed, export, take over."""
        if name == "play":
            self._toggle_playing()
        elif name in ("forward", "back"):
            self._is_playing = False
            self._move(1 if name == "forward" else -1)
        elif name in ("first", "last"):
            self.seek(0 if name == "first" else self.game.length)
        elif name in ("faster", "slower"):
            self.change_speed(1 if name == "faster" else -1)
            self._due = 0.0
        elif name == "export":
            self._is_playing = False
            self.app.push(ExportScreen(self.app, self.game))
        elif name == "take_over":
            self._is_playing = False
            self.app.take_over(self.game)
        elif name == "leave":
            self.app.pop()
        elif name == "menu":
            self.app.push(PauseMenu(self))
        else:
            super().run_command(name)

    def has_command(self, name: str) -> bool:
        return name not in EPISODES and self.game.supports_command(name)

    def on_resume(self) -> None:
        """Show the current frame again."""
        self.show(glide=False)

    def _toggle_playing(self) -> None:
        """Start or pause playing; start again at the end."""
        if not self._is_playing and self.game.position >= self.game.length:
            self.seek(0)
        self._is_playing = not self._is_playing
        self._due = 0.0
        self.app.needs_redraw = True

    def _move(self, steps: int) -> None:
        """Go some steps forward or back."""
        step = max(0, min(self.game.length, self.game.position + steps))
        if step != self.game.position:
            self.game.seek(step)
            self.show(glide=steps == 1)

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        return (("Leave", "replay", "leave"), ("Export", "replay", "export"), *super().buttons())

    def facts(self) -> Sequence[str]:
        return (*super().facts(), f"Speed: {self.app.settings.speed} steps a second")

    def hints(self) -> Sequence[str]:
        """Return hints on the keys of the player."""
        commands = (
            ("play", "play or pause"),
            ("back", "back"),
            ("forward", "on"),
            ("faster", "faster"),
            ("slower", "slower"),
            ("take_over", "play on from here"),
        )
        hints = [self.hint("replay", name, description) for name, description in commands]
        return (*hints, self.hint("view", "help", "all keys"))

    def draw_controls(self, painter: Painter, rect: Rect) -> None:
        """Draw the timeline, the buttons and the step number."""
        line, game = painter.line_height, self.game
        bar = Rect(rect.x, rect.y, rect.w, line).inflate(-line, -line // 4)
        length = max(1, game.length)
        painter.draw_bar(bar, game.position / length, lambda to: self.seek(round(to * length)))
        self._draw_difference_mark(painter, bar)
        row = Rect(rect.x, bar.bottom + line // 2, rect.w, line * 7 // 4)
        choices = (
            ("To the beginning", "|<", "first"),
            ("Back", "<", "back"),
            ("Pause" if self._is_playing else "Play", "", "play"),
            ("On", ">", "forward"),
            ("To the end", ">|", "last"),
        )
        width = min(8 * line, (row.w - 2 * line) // len(choices))
        x = row.centerx - len(choices) * width // 2
        for label, sign, name in choices:
            slot = Rect(x, row.y, width - line // 2, row.h)
            press = partial(self._press, name)
            painter.draw_button(slot, sign or label, press, chosen=not sign, ground="card")
            x += width
        if rect.h < 4 * line:
            return
        below = Rect(rect.x, row.bottom + line // 4, rect.w, line * 5 // 4)
        source = "as the files are now" if game.difference else "as recorded"
        painter.draw_text(
            below, f"Step {game.position} of {game.length}, {source}", "muted", "center"
        )


class RolloutScreen(ReplayScreen):
    """Screen that plays the episodes of a rollout.

    Args:
        app: app of the screen.
        games: episodes of the rollout.
    """

    def __init__(self, app: AppContext, games: RolloutSessions) -> None:
        self._games, self._number = games, 0
        game = games.open_session(0)
        super().__init__(app, game.replay(), game)
        self._is_playing = True

    def has_command(self, name: str) -> bool:
        return True

    def run_command(self, name: str) -> None:
        if name in EPISODES:
            self._open_episode(self._number + (1 if name == "next_episode" else -1))
        else:
            super().run_command(name)

    def _open_episode(self, number: int) -> None:
        """Show another episode."""
        if not 0 <= number < len(self._games):
            self.app.show_note(f"{self._games.path} has {len(self._games)} episodes")
            return
        self._number, self.game = number, self._games.open_session(number)
        self.replay = self.game.replay()
        self._due = 0.0
        self.frame = self.game.frame()
        self._rebuild_stage()
        self.show(glide=False)

    def facts(self) -> Sequence[str]:
        return (*super().facts(), f"Episode {self._number + 1} of {len(self._games)}")

    def hints(self) -> Sequence[str]:
        first, *rest = super().hints()
        return (first, self.hint("replay", "next_episode", "next episode"), *rest)
