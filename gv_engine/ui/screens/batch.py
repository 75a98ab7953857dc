"""The wall: many worlds that step by themselves, of which each can be opened and played."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gv_engine.session.autoplay import PolicyAutoplayer
from gv_engine.session.batch_viewer import BatchSnapshot, BatchSource, BatchViewer, CurvePoint
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.ui.drawing.batch_view import LARGEST_CELL, LEAST_CELL, Wall
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.autoplay import ActingScreen
from gv_engine.ui.screens.screen import AppContext, Screen

PACES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 250.0, 1000.0, math.inf)
PICTURE_TIME = 1 / 60  # s
FOREIGN = ("next_level", "previous_level", "kin", "enter_seed", "race", "real_time")
"""What a game does that would leave the wall."""


class Curve(NamedTuple):
    """A curve over the points of a wall, and how its last value is written."""

    name: str
    field: str
    says: Callable[[float], str]


TOLD_CURVES = (
    Curve("Success", "success", lambda value: f"{value:.1%}"),
    Curve("Return", "total", lambda value: f"{value:+.3g}"),
    Curve("Length", "length", lambda value: f"{value:.4g}"),
    Curve("Steps a second", "speed", lambda value: f"{value:,.0f}"),
)


class BatchScreen(Screen):
    """Watch many worlds.

    Args:
        app: that it belongs to.
        worlds: they; where they are somebody else's, they are only looked at.
        says: what acts in them.
    """

    groups = ("wall", "window")

    def __init__(self, app: AppContext, worlds: BatchSource, says: str) -> None:
        super().__init__(app)
        self.worlds, self._says = worlds, says
        self._theme = app.theme
        self._wall = self._hung()
        self._first = 0
        self._due = 0.0
        self._look: BatchSnapshot | None = None
        self._others = 0, ""
        self._pointed: int | None = None
        self._paused: float | None = None

    def _hung(self) -> Wall:
        scenario, palette = self.worlds.scenario, self._theme.palette
        sheet = SpriteSheet(sprite_folders(scenario), palette, types=scenario.types)
        return Wall(sheet, self._theme)

    @property
    def own(self) -> BatchViewer | None:
        """The worlds, if they can be paced and played."""
        return self.worlds if isinstance(self.worlds, BatchViewer) else None

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        if now >= self._due:
            self._due = now + PICTURE_TIME
            look, others = (
                self.worlds.latest_snapshot(),
                (len(self.worlds.curves), self.worlds.trouble),
            )
            self.app.stale |= look is not self._look or others != self._others
            self._look, self._others = look, others
        return max(0.0, self._due - now)

    def knows(self, name: str) -> bool:
        return self.own is not None or not name.startswith("wall_")

    def command(self, name: str) -> None:
        if name in ("scroll_up", "scroll_down"):
            self._scroll(1 if name == "scroll_down" else -1)
        elif name in ("zoom_in", "zoom_out"):
            wall, step = self._wall, 1 if name == "zoom_in" else -1
            cell = wall.least if wall.least > LEAST_CELL else wall.at.cell
            wall.least, self._first = max(LEAST_CELL, min(LARGEST_CELL, cell + step)), 0
        elif name == "wall_open":
            self._open()
        elif name in ("wall_left", "wall_right", "wall_up", "wall_down"):
            columns = self._wall.at.columns
            moves = {"wall_left": -1, "wall_right": 1, "wall_up": -columns, "wall_down": columns}
            self._choose(moves[name])
        elif name.startswith("wall_"):
            if self.own is not None:
                self._set_pace(self.own, name)
        else:
            super().command(name)

    def _set_pace(self, worlds: BatchViewer, name: str) -> None:
        if name == "wall_pause":
            paused = worlds.pace == 0
            self._paused, worlds.pace = worlds.pace, self._paused or math.inf if paused else 0.0
        elif name == "wall_step":
            if worlds.pace:
                self._paused, worlds.pace = worlds.pace, 0.0
            worlds.between_steps(worlds.step)
        else:
            pace = worlds.pace or self._paused or math.inf
            number = PACES.index(pace) + (1 if name == "wall_faster" else -1)
            worlds.pace = PACES[max(0, min(len(PACES) - 1, number))]

    def pointed(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self._scroll(-event.y)
        elif event.type == pygame.MOUSEMOTION:
            self._pointed = self._wall.at_pixel(event.pos)
            self.app.stale = True
        elif event.type == pygame.WINDOWLEAVE:
            self._pointed = None
        elif event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            self._pointed = self._wall.at_pixel(event.pos)
            self._open()

    def _open(self) -> None:
        if self._pointed is not None and self.own is not None:
            self.app.push(ZoomScreen(self.app, self.own, self._pointed))

    def _choose(self, by: int) -> None:
        """Choose another world, beginning with the first that is seen, and keep it in sight."""
        shown, at = self.worlds.latest_snapshot(), self._wall.at
        if shown is None:
            return
        chosen = self._first if self._pointed is None else self._pointed + by
        self._pointed = chosen = max(0, min(len(shown.codes) - 1, chosen))
        row, first = chosen // at.columns, self._first // at.columns
        self._scroll(min(0, row - first) + max(0, row - first - at.rows + 1))

    def _scroll(self, rows: int) -> None:
        shown = self.worlds.latest_snapshot()
        at = self._wall.at
        number = 0 if shown is None else len(shown.codes)
        last = max(0, -(-number // at.columns) - at.rows)
        self._first = max(0, min(last, self._first // at.columns + rows)) * at.columns
        self.app.stale = True

    def closed(self) -> None:
        if self.own is not None:
            self.own.close()

    # ---- what is seen ----------------------------------------------------------------

    def draw(self, pen: Painter, now: float) -> None:
        if self._theme != self.app.theme:
            self._theme = self.app.theme
            self._wall = self._hung()
        line = pen.line
        inner = pen.area.inflate(-line, -line // 2)
        roomy = inner.h >= 24 * line
        head = pygame.Rect(inner.x, inner.y, inner.w, (4 if roomy else 5 / 4) * line)
        foot = pygame.Rect(inner.x, inner.bottom - line, inner.w, line)
        room = pygame.Rect(inner.x, head.bottom + line // 4, inner.w, 0)
        room.h = foot.y - line // 4 - room.y
        self._draw_head(pen, head, roomy)
        shown = self.worlds.latest_snapshot()
        if shown is not None and min(room.size) > 0:
            before = pen.surface.get_clip()
            pen.surface.set_clip(room)
            self._wall.draw(pen.surface, room, shown.codes, self._first)
            if self._pointed is not None and self._pointed < len(shown.codes):
                place = self._wall.place(self._pointed)
                pygame.draw.rect(pen.surface, self._theme.select, place, 2)
            pen.surface.set_clip(before)
        said = self.worlds.trouble or " · ".join(self._hints())
        pen.text(foot, said, "loss" if self.worlds.trouble else "muted", "center", 0.9)

    def _hints(self) -> Sequence[str]:
        label = self.app.bindings.label
        told = (
            ("wall_pause", "pause or go on"),
            ("wall_step", "one step"),
            ("wall_slower", "slower"),
            ("wall_faster", "faster"),
            ("leave", "leave"),
        )
        keys = [
            f"{label('wall', name)} {says}"
            for name, says in told
            if self.knows(name) and label("wall", name)
        ]
        if self._pointed is not None:
            keys.insert(0, f"World {self._pointed}")
        key = label("wall", "wall_open") if self._pointed is not None else ""
        return [*keys, *([f"{key or 'click a world'} to open it"] if self.own else [])]

    def _draw_head(self, pen: Painter, rect: pygame.Rect, roomy: bool) -> None:
        line = pen.line
        title = pygame.Rect(rect.x, rect.y, rect.w * 3 // 10, line * 3 // 2)
        pen.text(title, self.worlds.scenario.name, size=1.3)
        points = list(self.worlds.curves)
        last = points[-1] if points else CurvePoint(*(math.nan,) * 4)
        if roomy:
            told = f"{self._says}, {self._pace()}"
            pen.text(pygame.Rect(title.x, title.bottom, title.w, line), told, "muted")
            shown = self.worlds.latest_snapshot()
            steps = f"{shown.steps:,} steps each" if shown else "not begun"
            pen.text(pygame.Rect(title.x, title.bottom + line, title.w, line), steps, "muted")
        width = (rect.right - title.right) // len(TOLD_CURVES)
        for number, curve in enumerate(TOLD_CURVES):
            slot = pygame.Rect(title.right + number * width, rect.y, width - line // 2, rect.h)
            value = getattr(last, curve.field)
            said = "-" if math.isnan(value) else curve.says(value)
            row = pygame.Rect(slot.x, slot.y, slot.w, line)
            taken = pen.text(row, said, "accent", "right", 0.9)
            row.w -= taken + line // 4
            pen.text(row, curve.name, "muted", size=0.9)
            if roomy:
                well = pygame.Rect(slot.x, row.bottom, slot.w, slot.bottom - row.bottom)
                pen.card(well, "well")
                values = [getattr(point, curve.field) for point in points]
                _draw_curve(pen, well.inflate(-line // 2, -line // 2), values)

    def _pace(self) -> str:
        if self.own is None:
            return "learning"
        pace = self.own.pace
        told = "full speed" if pace == math.inf else f"{pace:g} steps a second"
        return told if pace else "paused"


def _draw_curve(pen: Painter, rect: pygame.Rect, values: Sequence[float]) -> None:
    """The values from left to right, the least of them below."""
    known = [(n, value) for n, value in enumerate(values) if not math.isnan(value)]
    if len(known) < 2 or min(rect.size) < 2:
        return
    least, most = (pick(value for _, value in known) for pick in (min, max))
    span, last = most - least or 1.0, max(1, len(values) - 1)
    points = [
        (rect.x + n * (rect.w - 1) / last, rect.bottom - 1 - (value - least) / span * (rect.h - 1))
        for n, value in known
    ]
    pygame.draw.aalines(pen.surface, pen.color("accent"), False, points)


class ZoomScreen(ActingScreen):
    """Play one of the worlds of a wall, which stands still there until it is put back.

    Args:
        app: that it belongs to.
        worlds: of the wall.
        number: of the world.
    """

    def __init__(self, app: AppContext, worlds: BatchViewer, number: int) -> None:
        game = worlds.take_over(number)
        super().__init__(app, game, PolicyAutoplayer(game, worlds.policy))
        self._worlds, self._number = worlds, number
        self._acts = False

    def knows(self, name: str) -> bool:
        return name not in FOREIGN and super().knows(name)

    def command(self, name: str) -> None:
        if name == "menu":
            self.app.pop()
        elif name in FOREIGN:
            self.app.say("This world belongs to the wall")
        else:
            super().command(name)

    def closed(self) -> None:
        self.end_recording()
        self.actor.close()
        self._worlds.give_back(self._number, self.game)

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        _, *others = super().buttons()
        return (("Back to the wall", "play", "menu"), *others)

    def facts(self) -> Sequence[str]:
        _, *others = super().facts()
        return (f"World {self._number}", *others)
