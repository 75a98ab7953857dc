"""Replay player: watch an episode step by step or at a speed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gv_engine.session.replay import Replay
from gv_engine.session.rollout_games import RolloutSessions
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import Rect
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.export import ExportScreen
from gv_engine.ui.screens.game_screen import VIEW_COMMANDS, GameScreen
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.screens.settings import PauseMenu

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
