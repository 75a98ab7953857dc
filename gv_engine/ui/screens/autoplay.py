"""The screen on which an agent plays, and hands the game to whoever presses a key."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gv_engine.rules.errors import GVEngineError
from gv_engine.session.autoplay import ActionChoice, Autoplayer, Opponent, make_autoplayer
from gv_engine.session.episode import ACTION_SEPARATOR
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.game_screen import LOOK_UP
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.screen import AppContext

BAR_ROWS = 4  # of bars
MOST_BARS = 12  # bars
BACK_AND_FORTH = ("undo", "redo", "first", "last", "game_before", "game_after")


class ActingScreen(PlayScreen):
    """Watch an agent play, go back under it, and take over.

    Args:
        app: that it belongs to.
        game: what is played.
        actor: who plays it.
    """

    in_menu: tuple[str, ...] = (
        "agent",
        "agent_step",
        "agent_faster",
        "agent_slower",
        *PlayScreen.in_menu,
    )
    controls = 7.25
    tight_controls = 3.0

    def __init__(self, app: AppContext, game: Session, actor: Autoplayer) -> None:
        super().__init__(app, game)
        self.own_groups = (*self.own_groups, "agent")
        self.actor = actor
        self._acts = True
        self._due = 0.0
        self._choice: ActionChoice | None = None

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        due = super().tick(now) or math.inf
        if self.frame.outcome:
            return due
        if self._choice is None and not self._think():
            return min(due, LOOK_UP)
        if self._acts:
            if now >= self._due:
                self._due = now + 1 / self.app.settings.speed
                self._follow()
            due = min(due, max(0.0, self._due - now))
        return due

    def _think(self) -> bool:
        """Ask the agent what it would do here; True if it has said."""
        try:
            self._choice = self.actor.choose(self.game)
        except GVEngineError:
            self._stop()
            self._choice = ActionChoice("", {})
            raise
        self.app.stale |= self._choice is not None
        return self._choice is not None

    def _follow(self) -> None:
        """Do what the agent would do."""
        if self.frame.outcome or not (self._choice or self._think()):
            return
        action, before = self._choice.action if self._choice else "", self.game.position
        if action:
            self.step(lambda: self.game.redo_or_step(action))
            if self.game.position == before:  # it was refused, and would be again
                self._stop()

    def take(self, action: str) -> None:
        """The player acts, and takes over with it; see `PlayScreen.take`. Of several agents only
        that one: for the others the agent goes on to act."""
        if action:
            self._stop()
            others = self._choice.action if self._choice else ""
            action = self.game.merge_actions(action, others or self.game.wait)
        super().take(action)

    def seek(self, position: int) -> None:
        self._stop()
        super().seek(position)

    def show(self, glide: bool = True) -> None:
        self._choice = None
        super().show(glide)

    def command(self, name: str) -> None:
        if name == "agent":
            self._acts, self._due = not self._acts, 0.0
        elif name == "agent_step":
            self._stop()
            self._follow()
        elif name in ("agent_faster", "agent_slower"):
            self.change_speed(1 if name == "agent_faster" else -1)
            self._due = 0.0
        else:
            if name in BACK_AND_FORTH:
                self._stop()
            super().command(name)

    def _restage(self) -> None:
        if self._staged is not self.game.scenario:  # which the agent has to know
            self.actor.close()
            self.actor = make_autoplayer(self.game, self.actor.name)
        super()._restage()

    def closed(self) -> None:
        super().closed()
        self.actor.close()

    def _race(self) -> None:
        """Play the level against the agent."""
        self.app.race(Opponent.load(self.actor.name, self.game))

    def _stop(self) -> None:
        self._acts = False
        self.app.stale = True

    # ---- what is seen ----------------------------------------------------------------

    def facts(self) -> Sequence[str]:
        speed = f"{self.app.settings.speed} steps a second"
        acts = f"{self.actor.name} acts, {speed}" if self._acts else f"{self.actor.name} waits"
        return (*super().facts(), acts)

    def hints(self) -> Sequence[str]:
        told = (
            ("agent", "pause, or take over by any move" if self._acts else "let it act"),
            ("agent_step", "one step of it"),
            ("agent_slower", "slower"),
            ("agent_faster", "faster"),
        )
        hints = [self.hint("agent", name, says) for name, says in told]
        race = self.hint("play", "race", "race it") if self.knows("race") else ""
        undo = self.hint("play", "undo", "undo")
        return (*hints, undo, race, self.hint("view", "help", "all keys"))

    def draw_controls(self, pen: Painter, rect: pygame.Rect) -> None:
        line = pen.line
        super().draw_controls(pen, pygame.Rect(rect.x, rect.y, rect.w, line))
        rest = pygame.Rect(rect.x, rect.y + line * 5 // 4, rect.w, rect.h - line * 5 // 4)
        head = pygame.Rect(rest.x + line // 2, rest.y, rest.w - line, line * 3 // 2)
        button = head.copy()
        button.w = min(head.w // 2, 14 * line)
        label, key = "Pause" if self._acts else "Let it act", self.app.bindings.label
        pen.button(button, label, lambda: self._press("agent"), key("agent", "agent"))
        said = pygame.Rect(button.right + line // 2, head.y, 0, head.h)
        said.w = head.right - said.x
        pen.text(said, self._said(), "muted")
        if rest.h >= (BAR_ROWS + 1) * line and self._choice and self._choice.probabilities:
            rest.y += line * 7 // 4
            rest.h -= line * 7 // 4
            self._draw_chances(pen, rest.inflate(-line, 0), self._choice)

    def _said(self) -> str:
        """What the agent would do, in words."""
        if self.frame.outcome:
            return ""
        if self._choice is None:
            return f"{self.actor.name} thinks"
        return self._choice.action and f"{self.actor.name}: {_in_words(self._choice.action)}"

    def _draw_chances(self, pen: Painter, rect: pygame.Rect, choice: ActionChoice) -> None:
        """A bar for each action, the likeliest ones if they are many."""
        line = pen.line
        shown = likeliest(choice)
        columns = -(-len(shown) // BAR_ROWS)
        width = rect.w // columns
        for number, (action, chance) in enumerate(shown):
            column, row = divmod(number, BAR_ROWS)
            slot = pygame.Rect(rect.x + column * width, rect.y + row * line, width - line, line)
            ink = "accent" if action == choice.action else "text" if chance else "muted"
            name = pygame.Rect(slot.x, slot.y, slot.w * 9 // 20, line)
            pen.text(name, _in_words(action), ink, size=0.9)
            share = pygame.Rect(slot.right - 5 * line // 2, slot.y, 5 * line // 2, line)
            pen.text(
                share,
                f"{chance:.1%}" if 0 < chance < 0.0995 else f"{chance:.0%}",
                ink,
                "right",
                0.9,
            )
            bar = pygame.Rect(name.right + line // 4, slot.y + line // 4, 0, line // 2)
            bar.w = share.x - line // 4 - bar.x
            pen.card(bar, "well")
            bar.w = round(bar.w * min(1.0, max(0.0, chance)))
            pen.card(bar, "accent" if action == choice.action else "outline")


def likeliest(choice: ActionChoice) -> list[tuple[str, float]]:
    """Actions and how likely they are, in the order of the level; of many, those that matter."""
    told = sorted(
        choice.probabilities.items(), key=lambda pair: (-pair[1], pair[0] != choice.action)
    )
    kept = dict(told[:MOST_BARS])
    return [(action, chance) for action, chance in choice.probabilities.items() if action in kept]


def _in_words(action: str) -> str:
    """An action, or what each of several agents does, by their names."""
    said = []
    for part in action.split(ACTION_SEPARATOR):
        name, _, does = part.rpartition(" ")
        words = does.replace("_", " ")
        said.append(f"{name}: {words.lower()}" if name else words.capitalize())
    return ", ".join(said)
