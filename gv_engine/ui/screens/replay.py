"""The replay player: an episode watched, step by step or by itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gv_engine.session.replay import Replay
from gv_engine.session.rollout_games import RolloutSessions
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.export import ExportScreen
from gv_engine.ui.screens.game_screen import LOOKING, GameScreen
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.screens.settings import PauseMenu

EPISODES = ("next_episode", "previous_episode")


class ReplayScreen(GameScreen):
    """Watch a replay.

    Args:
        app: that it belongs to.
        replay: what is watched.
        game: in which it has been played, see `Session.of`.
    """

    controls = 5.0
    tight_controls = 3.25
    own_groups = ("replay",)
    in_menu: tuple[str, ...] = (*EPISODES, "export", "take_over", "copy", "first", "last", *LOOKING)
    goes_on, leaves = "Go on watching", "Leave the replay"

    def __init__(self, app: AppContext, replay: Replay, game: Session) -> None:
        super().__init__(app, game)
        self.replay = replay
        self._plays = False
        self._due = 0.0

    def tick(self, now: float) -> float | None:
        due = super().tick(now)
        if not self._plays:
            return due
        if now >= self._due:
            if self.game.position >= self.game.length:
                self._plays = False
                self.app.stale = True
                return due
            self._go(1)
            # from when it was due, so that the speed holds; from now on if that is long ago
            late = now - self._due
            self._due = (now if late > 1 else self._due) + 1 / self.app.settings.speed
        waits = max(0.0, self._due - now)
        return waits if due is None else min(waits, due)

    def command(self, name: str) -> None:
        if name == "play":
            self._toggle()
        elif name in ("forward", "back"):
            self._plays = False
            self._go(1 if name == "forward" else -1)
        elif name in ("first", "last"):
            self.seek(0 if name == "first" else self.game.length)
        elif name in ("faster", "slower"):
            self.change_speed(1 if name == "faster" else -1)
            self._due = 0.0
        elif name == "export":
            self._plays = False
            self.app.push(ExportScreen(self.app, self.game))
        elif name == "take_over":
            self._plays = False
            self.app.take_over(self.game)
        elif name == "leave":
            self.app.pop()
        elif name == "menu":
            self.app.push(PauseMenu(self))
        else:
            super().command(name)

    def knows(self, name: str) -> bool:
        return name not in EPISODES and self.game.supports_command(name)

    def uncovered(self) -> None:
        self.show(glide=False)

    def _toggle(self) -> None:
        if not self._plays and self.game.position >= self.game.length:
            self.seek(0)
        self._plays = not self._plays
        self._due = 0.0
        self.app.stale = True

    def _go(self, steps: int) -> None:
        to = max(0, min(self.game.length, self.game.position + steps))
        if to != self.game.position:
            self.game.seek(to)
            self.show(glide=steps == 1)

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        return (
            ("Leave", "replay", "leave"),
            ("Export", "replay", "export"),
            *super().buttons(),
        )

    def facts(self) -> Sequence[str]:
        return (*super().facts(), f"Speed: {self.app.settings.speed} steps a second")

    def hints(self) -> Sequence[str]:
        told = (
            ("play", "play or pause"),
            ("back", "back"),
            ("forward", "on"),
            ("faster", "faster"),
            ("slower", "slower"),
            ("take_over", "play on from here"),
        )
        hints = [self.hint("replay", name, says) for name, says in told]
        return (*hints, self.hint("view", "help", "all keys"))

    def draw_controls(self, pen: Painter, rect: pygame.Rect) -> None:
        line, game = pen.line, self.game
        bar = pygame.Rect(rect.x, rect.y, rect.w, line).inflate(-line, -line // 4)
        length = max(1, game.length)
        pen.bar(bar, game.position / length, lambda to: self.seek(round(to * length)))
        self._draw_mark(pen, bar)
        row = pygame.Rect(rect.x, bar.bottom + line // 2, rect.w, line * 7 // 4)
        choices = (
            ("To the beginning", "|<", "first"),
            ("Back", "<", "back"),
            ("Pause" if self._plays else "Play", "", "play"),
            ("On", ">", "forward"),
            ("To the end", ">|", "last"),
        )
        width = min(8 * line, (row.w - 2 * line) // len(choices))
        x = row.centerx - len(choices) * width // 2
        for label, sign, name in choices:
            slot = pygame.Rect(x, row.y, width - line // 2, row.h)
            press = partial(self._press, name)
            pen.button(slot, sign or label, press, chosen=not sign, ground="card")
            x += width
        if rect.h < 4 * line:
            return
        below = pygame.Rect(rect.x, row.bottom + line // 4, rect.w, line * 5 // 4)
        how = "as the files are now" if game.difference else "as recorded"
        pen.text(below, f"Step {game.position} of {game.length}, {how}", "muted", "center")


class RolloutScreen(ReplayScreen):
    """Watch the episodes of a rollout, one after the other.

    Args:
        app: that it belongs to.
        games: the episodes.
    """

    def __init__(self, app: AppContext, games: RolloutSessions) -> None:
        self._games, self._number = games, 0
        game = games.open_session(0)
        super().__init__(app, game.replay(), game)
        self._plays = True

    def knows(self, name: str) -> bool:
        return True

    def command(self, name: str) -> None:
        if name in EPISODES:
            self._open(self._number + (1 if name == "next_episode" else -1))
        else:
            super().command(name)

    def _open(self, number: int) -> None:
        if not 0 <= number < len(self._games):
            self.app.say(f"{self._games.path} has {len(self._games)} episodes")
            return
        self._number, self.game = number, self._games.open_session(number)
        self.replay = self.game.replay()
        self._due = 0.0
        self.frame = self.game.frame()
        self._restage()
        self.show(glide=False)

    def facts(self) -> Sequence[str]:
        return (*super().facts(), f"Episode {self._number + 1} of {len(self._games)}")

    def hints(self) -> Sequence[str]:
        first, *rest = super().hints()
        return (first, self.hint("replay", "next_episode", "next episode"), *rest)
