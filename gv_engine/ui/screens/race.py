"""Screen of a race: the player's game beside an opponent's game of the same level."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gv_engine.rules.errors import GVEngineError
from gv_engine.session.autoplay import Opponent, describe_standing, describe_winner
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import Rect
from gv_engine.ui.drawing.stage import Stage, make_stage
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.game_screen import POLL_INTERVAL
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.screen import AppContext


class RaceScreen(PlayScreen):
    """Play screen beside an opponent, who takes a step for each step of the player and then plays
    to the end.

    Args:
        app: app of the screen.
        game: session of the player, at its beginning.
        opponent: opponent with a session of the same level.
    """

    def __init__(self, app: AppContext, game: Session, opponent: Opponent) -> None:
        super().__init__(app, game)
        self.opponent = opponent
        self._extra_steps = 0  # steps of the opponent after the end of the player's game
        self._due = 0.0
        self._is_waiting = True  # until the opponent is at the player's step
        self._end_reason = ""  # message after the opponent has stopped
        self._opponent_frame = opponent.session.frame()
        self._opponent_stage = self._make_opponent_stage()
        if not (self._level_view or app.settings.view):
            self._choose_view(self._opponent_stage.view)  # the same view for both

    def _make_opponent_stage(self) -> Stage:
        """Return the stage that draws the opponent's game."""
        stage = make_stage(self.opponent.session, self._theme)
        stage.begin(None, self._opponent_frame)
        stage.view = tuple(self.domain.views)[1]
        return stage

    # ---- what happens ----------------------------------------------------------------

    def show(self, glide: bool = True) -> None:
        """Show the current frame, and let the opponent follow to its step."""
        super().show(glide)
        self._extra_steps, self._is_waiting = 0, True

    def tick(self, now: float) -> float | None:
        """Let the opponent take its steps; return the seconds until the next call."""
        due = super().tick(now) or math.inf
        if self._end_reason:
            return due
        if self._is_waiting:
            self._is_waiting = not self._advance_opponent()
            return min(due, POLL_INTERVAL) if self._is_waiting else due
        if self.frame.outcome and not self.opponent.is_over:
            if now >= self._due:
                self._due = now + 1 / self.app.settings.time_speed
                self._extra_steps += 1
                self._is_waiting = True
            due = min(due, self._due - now)
        return due

    def _advance_opponent(self) -> bool:
        """Move the opponent to the player's step; return False while the opponent computes."""
        try:
            if not self.opponent.follow_level(self.game):
                self._end_reason = f"{self.opponent.name} has played another level"
            elif not self.opponent.go_to(self.game.position + self._extra_steps):
                return False
        except GVEngineError as error:
            self._end_reason = f"{self.opponent.name}: {error}"
        previous, self._opponent_frame = self._opponent_frame, self.opponent.session.frame()
        is_next_step = self._opponent_frame.steps == previous.steps + 1
        self._opponent_stage.begin(previous if is_next_step else None, self._opponent_frame)
        self.app.needs_redraw = True
        return True

    def on_close(self) -> None:
        super().on_close()
        self.opponent.close()

    # ---- what is seen ----------------------------------------------------------------

    def draw_stage(self, painter: Painter, rect: Rect, progress: float) -> None:
        """Draw both games side by side, or one below the other, with their standings."""
        line = painter.line_height
        is_wide = rect.w >= rect.h
        player_rect, opponent_rect = rect.copy(), rect.copy()
        if is_wide:
            player_rect.w = opponent_rect.w = (rect.w - line) // 2
            opponent_rect.right = rect.right
        else:
            player_rect.h = opponent_rect.h = (rect.h - line // 2) // 2
            opponent_rect.bottom = rect.bottom
        self._opponent_stage.line = line
        player_text = describe_standing("You", self.game)
        waiting_text = f"{self.opponent.name} thinks" if self._is_waiting else ""
        opponent_text = (
            self._end_reason
            or waiting_text
            or describe_standing(self.opponent.name, self.opponent.session)
        )
        for room, text in ((player_rect, player_text), (opponent_rect, opponent_text)):
            painter.draw_text(Rect(room.x, room.y, room.w, line), text, "muted", "center")
            room.y += line * 5 // 4
            room.h -= line * 5 // 4
        super().draw_stage(painter, player_rect, progress)
        self._opponent_stage.draw(painter.surface, opponent_rect, 1.0)

    def _rebuild_stage(self) -> None:
        super()._rebuild_stage()
        self._opponent_stage = self._make_opponent_stage()

    def facts(self) -> Sequence[str]:
        """Return the facts of the play screen, and the winner at the end."""
        both_over = self.frame.outcome and self.opponent.is_over and not self._end_reason
        return (
            *super().facts(),
            *([describe_winner(self.game, self.opponent)] if both_over else []),
        )
