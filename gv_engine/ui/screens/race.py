"""The screen of a race: one's own game, and somebody else's of the same level beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gv_engine.rules.errors import GVEngineError
from gv_engine.session.autoplay import Opponent, describe_standing, describe_winner
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import Stage, make_stage
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.game_screen import LOOK_UP
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.screen import AppContext


class RaceScreen(PlayScreen):
    """Play beside somebody who takes a step for each of one's own, and goes on at the end.

    Args:
        app: that it belongs to.
        game: one's own, at its beginning.
        rival: the other one.
    """

    def __init__(self, app: AppContext, game: Session, rival: Opponent) -> None:
        super().__init__(app, game)
        self.rival = rival
        self._beyond = 0  # steps that the other one has taken since one's own game is over
        self._due = 0.0
        self._waits = True  # for the other one to be where it belongs
        self._gone = ""  # why there is none any more
        self._shown = rival.session.frame()
        self._beside = self._staged_beside()
        if not (self._own_view or app.settings.view):
            self._choose_view(self._beside.view)  # both alike

    def _staged_beside(self) -> Stage:
        stage = make_stage(self.rival.session, self._theme)
        stage.begin(None, self._shown)
        stage.view = tuple(self.domain.views)[1]
        return stage

    # ---- what happens ----------------------------------------------------------------

    def show(self, glide: bool = True) -> None:
        super().show(glide)
        self._beyond, self._waits = 0, True

    def tick(self, now: float) -> float | None:
        due = super().tick(now) or math.inf
        if self._gone:
            return due
        if self._waits:
            self._waits = not self._go_on()
            return min(due, LOOK_UP) if self._waits else due
        if self.frame.outcome and not self.rival.is_over:
            if now >= self._due:
                self._due = now + 1 / self.app.settings.time_speed
                self._beyond += 1
                self._waits = True
            due = min(due, self._due - now)
        return due

    def _go_on(self) -> bool:
        """Let the other one be as many steps old; False if it thinks."""
        try:
            if not self.rival.follow_level(self.game):
                self._gone = f"{self.rival.name} has played another level"
            elif not self.rival.go_to(self.game.position + self._beyond):
                return False
        except GVEngineError as error:
            self._gone = f"{self.rival.name}: {error}"
        previous, self._shown = self._shown, self.rival.session.frame()
        follows = self._shown.steps == previous.steps + 1
        self._beside.begin(previous if follows else None, self._shown)
        self.app.stale = True
        return True

    def closed(self) -> None:
        super().closed()
        self.rival.close()

    # ---- what is seen ----------------------------------------------------------------

    def draw_stage(self, pen: Painter, rect: pygame.Rect, progress: float) -> None:
        line = pen.line
        across = rect.w >= rect.h
        half, other = rect.copy(), rect.copy()
        if across:
            half.w = other.w = (rect.w - line) // 2
            other.right = rect.right
        else:
            half.h = other.h = (rect.h - line // 2) // 2
            other.bottom = rect.bottom
        self._beside.line = line
        mine = describe_standing("You", self.game)
        thinks = f"{self.rival.name} thinks" if self._waits else ""
        theirs = self._gone or thinks or describe_standing(self.rival.name, self.rival.session)
        for room, said in ((half, mine), (other, theirs)):
            pen.text(pygame.Rect(room.x, room.y, room.w, line), said, "muted", "center")
            room.y += line * 5 // 4
            room.h -= line * 5 // 4
        super().draw_stage(pen, half, progress)
        self._beside.draw(pen.surface, other, 1.0)

    def _restage(self) -> None:
        super()._restage()
        self._beside = self._staged_beside()

    def facts(self) -> Sequence[str]:
        both_over = self.frame.outcome and self.rival.is_over and not self._gone
        return (*super().facts(), *([describe_winner(self.game, self.rival)] if both_over else []))
