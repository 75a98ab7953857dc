"""The base of the screens that play a game or a replay: a stage, its panel, ways to look at it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from gv_engine.scenario.plugin import DOMAINS
from gv_engine.session.session import Session
from gv_engine.ui.drawing.hud import ScreenParts, draw_panel, is_tight, place_parts
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import SidePanel, Stage, make_stage
from gv_engine.ui.drawing.text import wrapped
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.input.bindings import GROUPS
from gv_engine.ui.screens.keyboard import copied
from gv_engine.ui.screens.screen import AppContext, Screen
from gv_engine.ui.settings import SPEEDS

LOOKING = ("view", "inspect", "minimap", "zoom_in", "zoom_out", "zoom_reset")
"""Commands of the group `view` that a gamepad has no button for."""
LOOK_UP = 0.05  # s between two looks at what the stage works out meanwhile
LOOK_AGAIN = 0.4  # s between two looks at the scenario's files
FLOWS = 0.01  # s for which steps are taken again before the next picture
TOLD = 2.5  # lines of what a saved file has changed

_FOLDERS = re.compile(r"\S*[/\\](?=[^/\\\s]+:)")
"""Of a file whose name a colon follows."""


class GameScreen(Screen):
    """Shows a game on its stage.

    Args:
        app: that it belongs to.
        game: what is shown.

    Attributes:
        game: what is shown.
        stage: which draws it.
        frame: the one that is shown now.
        domain: that its worlds are of.
    """

    controls = 1.0
    """Height of what is below the stage, in lines; in a window of few lines `tight_controls`."""
    tight_controls = 1.0
    heading = ""
    """What stands before the title of the game."""
    in_menu: tuple[str, ...] = ()
    """Commands that its menu offers, beside actions that a gamepad has no button for."""
    goes_on, leaves = "Go on playing", "Leave this level"
    """What its menu calls going on and leaving."""
    trouble = ""
    """What is wrong for as long as it stands there, in one line."""
    own_groups: tuple[str, ...] = ()
    """Groups of bindings that the screen has besides those of looking around."""

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app)
        self.game = game
        self.frame = game.frame()
        self.domain = DOMAINS[self.frame.domain]
        self._theme = app.theme
        self.stage: Stage = make_stage(game, self._theme)
        self._staged = game.scenario
        self.stage.begin(None, self.frame)
        self._choose_view(self._own_view or app.settings.view)
        self._glides_since = 0.0
        self._glides = False
        self._at: ScreenParts | None = None
        self._mouse = (-1, -1)
        self._look = 0.0
        self._flow: Iterator[None] | None = None

    @property
    def groups(self) -> tuple[str, ...]:  # type: ignore[override]  # they change with the inspector
        lens = ("inspector",) if self.stage.side_panel else ()
        return (*self.own_groups, *lens, "view", "window")

    def show(self, glide: bool = True) -> None:
        """The game is elsewhere now: take its frame, gliding if a step leads there."""
        previous, self.frame = self.frame, self.game.frame()
        if self._staged is not self.game.scenario:
            self._restage()
        moves = self.stage.begin(previous if glide else None, self.frame)
        self.stage.compare(self._other())
        self._glides = moves and glide and self.app.settings.animation
        self._glides_since = time.monotonic()
        self.app.stale = True

    def tick(self, now: float) -> float | None:
        if self._glides:
            self._glides = now < self._glides_since + self.stage.glide
            self.app.stale = True
        due = self._look_at_files(now)
        if not self.stage.busy:
            return due
        self.app.stale = True
        return min(due, LOOK_UP)

    # ---- files that change -----------------------------------------------------------

    @property
    def _present(self) -> Session:
        """The game whose files may change."""
        return self.game

    def _look_at_files(self, now: float) -> float:
        """See whether they have changed; returns in how many seconds to do so again."""
        if self._flow is None and now >= self._look:
            self._look = now + LOOK_AGAIN
            if self._present.has_file_changes():
                self._files_changed()
        if self._flow is None:
            return max(0.0, self._look - now)
        until = time.monotonic() + FLOWS
        for _ in self._flow:
            if time.monotonic() >= until:
                return 0.0
        self._flow = None
        return 0.0

    def _files_changed(self) -> None:
        """Take the steps again as the files are now, bit by bit."""
        self._flow = self._flowing()

    def _flowing(self) -> Iterator[None]:
        game, before = self.game, self.game.scenario
        said = yield from game.reload_incrementally()
        if not said or game is not self.game:
            return
        failed = game.scenario is before
        where = _FOLDERS.sub("", said.split("\n")[0])  # they are known
        self.trouble = f"Still as before: {where}" if failed else ""
        self._restage()
        self.show(glide=False)
        if self.game.difference is None or failed:
            self.app.say(said, stays=20 if "\n" in said else 6)

    def _other(self) -> Any:
        """The frame that what is shown is compared with; None for none."""
        difference, was = self.game.difference, self.game.before_reload()
        here = difference and difference.step == self.game.position
        return was.frame() if was and here else None

    def _told(self) -> str:
        """What a saved file has changed, or where a replay went another way; empty for nothing."""
        return self.game.difference.message if self.game.difference else ""

    def _draw_mark(self, pen: Painter, bar: pygame.Rect) -> None:
        """Mark the first step that goes another way on the bar of all steps."""
        difference = self._present.difference
        if difference is not None:
            x = bar.x + bar.w * difference.step // max(1, self.game.length)
            mark = pygame.Rect(0, bar.y, max(3, pen.line // 4), bar.h)
            mark.centerx = min(x, bar.right)
            pen.card(mark, "loss")
            pen.hot(mark.inflate(mark.w, 0), lambda _: self._press("first_change"))

    def _draw_told(self, pen: Painter, rect: pygame.Rect) -> None:
        """Say what is different, between the ways to that step and to how it was."""
        line, difference = pen.line, self._present.difference
        step = difference.step if difference else 0
        rest = rect.inflate(-line, -line // 2)
        for name, label in (("compare", self._compares), ("first_change", f"Step {step}")):
            key = self.app.bindings.label("view", name)
            width = pen.width(label) + pen.width(key) + 2 * line
            if label and rest.w - width > 16 * line:
                button = pygame.Rect(rest.right - width, 0, width, min(rest.h, line * 7 // 4))
                button.centery = rest.centery
                pen.button(button, label, partial(self._press, name), key, ground="card")
                rest.w -= width + line // 2
        rows = len(wrap(self._told(), line * 9 // 10, rest.w, 2))
        rest.y += (rest.h - rows * line * 9 // 10) // 2
        pen.lines(rest, self._told(), "loss", 0.9)

    @property
    def _compares(self) -> str:
        """What the button says that shows how it was; empty where it was never otherwise."""
        return "" if self.game.num_comparable_steps is None else "Before"

    def command(self, name: str) -> None:
        if name == "view":
            views = tuple(self.domain.views)
            self._choose_view(views[(views.index(self.stage.view) + 1) % len(views)])
            if not self._own_view:
                self.app.settings.view = self.stage.view
            self.app.say(f"View: {self.stage.view}", stays=1.5)
        elif name == "inspect":
            self.stage.side_panel = self._next_panel()
        elif name == "copy":
            self._copy()
        elif name == "first_change":
            self.game.seek_first_difference()
            self.show(glide=False)
        elif name == "compare":
            self._compare()
        elif name in ("help", "settings"):
            super().command(name)
        elif self.stage.side_panel and self._inspects(name):
            self.stage.side_panel.command(name)
        else:
            self.stage.command(name)

    def pointed(self, event: pygame.event.Event) -> None:
        if self._at is None:
            return
        lens, panel = self._at.side, self.stage.side_panel
        place = event.pos if hasattr(event, "pos") else self._mouse
        self._mouse = place
        changed = False
        if panel is not None and lens.collidepoint(place):
            changed = panel.event(event)
        elif event.type == pygame.MOUSEBUTTONDOWN and self._at.stage.collidepoint(place):
            if event.button <= 3:
                self.take(self.stage.click(place, event.button))
                changed = True
        elif event.type == pygame.MOUSEWHEEL and self._at.stage.collidepoint(place):
            changed = self.stage.wheel(place, event.y)
        elif event.type in (pygame.MOUSEMOTION, pygame.WINDOWLEAVE):
            inside = event.type == pygame.MOUSEMOTION and self._at.stage.collidepoint(place)
            changed = self.stage.hover(place if inside else None)
        self.app.stale |= changed

    def _compare(self) -> None:
        """Show how it was before a file was saved."""
        if self.game.num_comparable_steps is None:
            self.app.say("No file that was saved has changed a step of this game")
        else:
            self.app.compare()

    def _copy(self) -> None:
        """Put the level and its steps into the clipboard.

        Raises:
            ReplayError: it began with a snapshot.
        """
        line = self.game.replay().to_line()
        why = copied(line)
        paste = self.app.bindings.label("menu", "paste")
        self.app.say(why or f"Copied as a line of text; {paste} in the search goes on from here")

    def take(self, action: str) -> None:
        """Let the game take what the stage has made of a click or a key; by default nothing."""

    def draw(self, pen: Painter, now: float) -> None:
        if self._theme != self.app.theme:
            self._restage()
        tight = is_tight(pen.area, pen.line)
        room = len(self._fitting_hints(pen, 2))
        hints = self._fitting_hints(pen, room, self.hints_now())
        told_lines = TOLD if self._told() else 0.0
        controls = (self.tight_controls if tight else self.controls) + told_lines
        panel = self.stage.side_panel
        at = place_parts(pen.area, pen.line, panel is not None, controls, room)
        self._at = at
        self.stage.line = pen.line
        progress = (now - self._glides_since) / self.stage.glide if self._glides else 1.0
        try:
            self.draw_stage(pen, at.stage, max(0.0, min(1.0, progress)))
        except ValueError as error:  # a drawing of the author's that cannot be read
            pen.lines(at.stage, str(error), "loss")
        self._draw_header(pen, at.header)
        copy = "Copy", partial(self._press, "copy")
        told = draw_panel(pen, at.panel, self.frame, self.stage, self.facts(), copy)
        if panel is not None:
            panel.draw(pen.surface, at.side, pen.line)
        rest = at.controls.copy()
        rest.h -= int(told_lines * pen.line)
        self.draw_controls(pen, rest)
        if told_lines:
            below = pygame.Rect(rest.x, rest.bottom, rest.w, at.controls.bottom - rest.bottom)
            self._draw_told(pen, below)
        said = self.trouble or ("" if told else self.frame.message)
        if said:
            hints = [said, *self._fitting_hints(pen, 1, self.hints_now())] if room > 1 else [said]
        for number, hint in enumerate(hints):
            slot = pygame.Rect(at.hints.x, at.hints.y + number * pen.line, at.hints.w, pen.line)
            ink = "muted" if hint != said else "loss" if self.trouble else "accent"
            pen.text(slot, hint, ink, "center", 0.9)

    def draw_stage(self, pen: Painter, rect: pygame.Rect, progress: float) -> None:
        """Draw the world, and whatever shares the room with it."""
        self.stage.draw(pen.surface, rect, progress)

    def _fitting_hints(
        self, pen: Painter, most: int, hints: Sequence[str] | None = None
    ) -> list[str]:
        """Hints, the usual ones if None, in so many lines; the last, which leads to all keys, is
        among them."""
        parts = [hint for hint in (self.hints() if hints is None else hints) if hint]
        small = pen.line * 9 // 10
        while len(rows := wrapped(parts, small, pen.area.w - pen.line)) > most and len(parts) > 1:
            del parts[-2]
        return rows[:most]

    def facts(self) -> Sequence[str]:
        """Short texts for the panel."""
        return (f"Seed: {self.game.seed}",)

    def hints(self) -> Sequence[str]:
        """What stands at the bottom, a key and what it does each."""
        raise NotImplementedError

    def hints_now(self) -> Sequence[str]:
        """The hints of this moment, in as much room as the usual ones take."""
        return self.hints()

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        """Label, group and command of the buttons at the top, those that matter most first."""
        panel = self._next_panel() or self.stage.side_panel
        panels = ((panel.title, "view", "inspect"),) if panel else ()
        return (("Keys", "view", "help"), ("View", "view", "view"), *panels)

    def _next_panel(self) -> SidePanel | None:
        """The side panel that is opened next; None after the last one."""
        order = (None, *self.stage.side_panels)
        return order[(order.index(self.stage.side_panel) + 1) % len(order)]

    def draw_controls(self, pen: Painter, rect: pygame.Rect) -> None:
        """Draw what is below the stage: by itself the way through the episode."""
        length = self.game.length
        if length:
            rect = rect.inflate(-pen.line, -pen.line // 4)
            pen.bar(rect, self.game.position / length, lambda to: self.seek(round(to * length)))
            self._draw_mark(pen, rect)

    def seek(self, position: int) -> None:
        """Go to a step of the episode."""
        if position != self.game.position:
            self.game.seek(position)
            self.show(glide=False)

    def change_speed(self, step: int) -> None:
        """Another speed of what goes by itself."""
        settings = self.app.settings
        number = SPEEDS.index(settings.speed) + step
        settings.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, number))]
        self.app.stale = True

    def hint(self, group: str, name: str, says: str) -> str:
        """A key and what it does, empty if the command has none."""
        key = self.app.bindings.label(group, name)
        return f"{key} {says}" if key else ""

    def _draw_header(self, pen: Painter, rect: pygame.Rect) -> None:
        rest = rect.copy()
        for label, group, name in self.buttons():
            key = self.app.bindings.label(group, name)
            width = pen.width(label) + pen.width(key) + 2 * pen.line
            if width > rest.w - 9 * pen.line:
                break
            slot = pygame.Rect(rest.right - width, rest.y, width, rest.h)
            pen.button(slot, label, partial(self._press, name), key, ground="card")
            rest.w -= width + pen.line // 2
        level = self.game.pack_level
        pen.text(
            rest,
            self.heading + " ".join((self.game.title, *([level.title] if level else []))),
            size=1.3,
        )

    def _press(self, name: str) -> None:
        self.command(name)
        self.app.stale = True

    def _inspects(self, name: str) -> bool:
        return any(command.name == name for command in GROUPS["inspector"])

    def _choose_view(self, view: str) -> None:
        if view in self.domain.views:
            self.stage.view = view
            self.app.stale = True

    def _restage(self) -> None:
        """Another theme or scenario: the stage is built anew."""
        before, self._theme = self.stage, self.app.theme
        same = self._staged is self.game.scenario
        self.stage, self._staged = make_stage(self.game, self._theme), self.game.scenario
        self.stage.begin(None, self.frame)
        if before.side_panel is not None:
            number = before.side_panels.index(before.side_panel)
            self.stage.side_panel = self.stage.side_panels[number]
        self._choose_view(before.view if same else self._own_view or self.app.settings.view)

    @property
    def _own_view(self) -> str:
        """The view in which the level wants to be seen; "" for as the player likes."""
        return getattr(self.game.scenario, "view", "")  # algebra has none
