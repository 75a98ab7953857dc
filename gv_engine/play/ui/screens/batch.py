"""Screens of a batch of worlds: one shows all worlds, the other plays a single world of the
batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gv_engine.play.session import autoplay
from gv_engine.play.session.batch_viewer import BatchSnapshot, BatchSource, BatchViewer
from gv_engine.play.session.sprite_paths import sprite_sources
from gv_engine.play.ui.drawing.batch_view import (
    MAX_CELL,
    MIN_CELL,
    BatchLayout,
    BatchView,
    lay_out_batch,
)
from gv_engine.play.ui.drawing.recording import FrameRenderer
from gv_engine.play.ui.drawing.sprites import Rect, SpriteSheet, clipped, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.autoplay import AutoplayScreen
from gv_engine.play.ui.screens.screen import AppContext, Screen, ScreenCommands

PACES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 250.0, 1000.0, math.inf)  # steps per second
PICTURE_TIME = 1 / 60  # s
# ScreenCommands of a game that are not allowed for a world of the batch.
BLOCKED_COMMANDS = ("next_level", "previous_level", "kin", "enter_seed", "race", "real_time")


# Field of `CurvePoint`, and format of its last value, by title of the curve in the header.
CURVES = {
    "Success": ("success", "{:.1%}"),
    "Return": ("total", "{:+.3g}"),
    "Length": ("length", "{:.4g}"),
    "Steps a second": ("speed", "{:,.0f}"),
}


# Filters of worlds by the result of their last episode.
RESULTS = {0: "all worlds", 1: "won", -1: "failed"}


class BatchScreen(Screen):
    """Screen that shows all worlds of a batch, with curves of their success, return and length.

    Args:
        app: app of the screen.
        worlds: the worlds; if they are not a `BatchViewer`, they can only be watched.
        policy_name: text about the policy that acts.
    """

    groups = ("batch", "window")

    def __init__(self, app: AppContext, worlds: BatchSource, policy_name: str) -> None:
        super().__init__(app)
        self.worlds, self._policy_name = worlds, policy_name
        self._theme = app.theme
        self._view = self._make_view()
        self._first = 0  # of the shown worlds, the first visible one
        self._next_check = 0.0
        self._drawn_state: tuple[BatchSnapshot | None, Any] = None, ()
        self._selected: int | None = None  # index among the shown worlds
        self._filter = 0  # index in `RESULTS`
        self._anchor: int | None = None  # world to keep in sight when the zoom has changed
        self._pace_before_pause: float | None = None
        self._watched: int | None = None  # world whose values are shown
        self._renderer: FrameRenderer | None = None

    def _make_view(self) -> BatchView:
        scenario, palette = self.worlds.scenario, self._theme.palette
        sheet = SpriteSheet(sprite_sources(scenario), palette, types=scenario.types)
        return BatchView(sheet, self._theme)

    @property
    def local_worlds(self) -> BatchViewer | None:
        """The worlds if this process steps them, so that their speed can be set and worlds can be
        opened; else None."""
        return self.worlds if isinstance(self.worlds, BatchViewer) else None

    # ---- events ----------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Redraw the window if the worlds or the curves have changed since the last call, at most
        60 times a second. Return the seconds until the next call."""
        if now >= self._next_check:
            self._next_check = now + PICTURE_TIME
            worlds, (drawn_snapshot, drawn_facts) = self.worlds, self._drawn_state
            snapshot = worlds.latest_snapshot()
            facts = len(worlds.curves), id(worlds.values), worlds.trouble
            # snapshots are compared by identity: they hold arrays
            if snapshot is not drawn_snapshot or facts != drawn_facts:
                self._drawn_state = snapshot, facts
                self.app.needs_redraw = True
        return max(0.0, self._next_check - now)

    def has_command(self, name: str) -> bool:
        """Return True if the command called `name` is available; commands that start with `batch_`,
        except `batch_values`, are available only if this process steps the worlds."""
        is_local = self.local_worlds is not None
        return is_local or name == "batch_values" or not name.startswith("batch_")

    commands: ClassVar[ScreenCommands] = {
        **Screen.commands,
        "scroll_up": lambda screen: screen._scroll(-1),
        "scroll_down": lambda screen: screen._scroll(1),
        "zoom_in": lambda screen: screen._zoom(1),
        "zoom_out": lambda screen: screen._zoom(-1),
        "batch_filter": lambda screen: screen._switch_filter(),
        "batch_open": lambda screen: screen._open(),
        "batch_values": lambda screen: screen._toggle_values(),
        "batch_left": lambda screen: screen._select(-1),
        "batch_right": lambda screen: screen._select(1),
        "batch_up": lambda screen: screen._select(-screen._view.layout.columns),
        "batch_down": lambda screen: screen._select(screen._view.layout.columns),
    }

    def run_command(self, name: str) -> None:
        """Run the command `name`: scroll, zoom, select or open a world, or change the speed."""
        if name in self.commands:
            super().run_command(name)
        elif name.startswith("batch_") and self.local_worlds is not None:
            self._set_pace(self.local_worlds, name)

    def _switch_filter(self) -> None:
        self._filter = (self._filter + 1) % len(RESULTS)
        self._first, self._selected = 0, None

    def _toggle_values(self) -> None:
        """Switch between all worlds and the policy's values in the cells of the selected world, by
        default the first one."""
        self._selected = self._selected or 0
        if self.local_worlds:
            self._open(shows_values=True)
            return
        self._watched = self._selected if self._watched is None else None
        self.worlds.watch_values(self._watched)
        self.app.needs_redraw = True

    def _find_shown_worlds(self) -> NDArray[np.int64]:
        """Return the indices of the worlds that the filter shows."""
        snapshot = self.worlds.latest_snapshot()
        return np.arange(0) if snapshot is None else snapshot.worlds_with([*RESULTS][self._filter])

    def _zoom(self, step: int) -> None:
        """Make the cells of all worlds larger by `step` pixels (smaller if negative); the selected
        world, or the first one shown, stays in sight."""
        view = self._view
        cell = view.min_cell if view.min_cell > MIN_CELL else view.layout.cell
        view.min_cell = max(MIN_CELL, min(MAX_CELL, cell + step))
        self._anchor = self._first if self._selected is None else self._selected

    def _set_pace(self, worlds: BatchViewer, name: str) -> None:
        """Pause `worlds`, let them take one step, or change their speed: `name` is the command."""
        if name == "batch_pause" and worlds.pace == 0:
            worlds.pace = self._pace_before_pause or math.inf
        elif name == "batch_pause":
            self._pace_before_pause, worlds.pace = worlds.pace, 0.0
        elif name == "batch_step":
            if worlds.pace:
                self._pace_before_pause, worlds.pace = worlds.pace, 0.0
            worlds.between_steps(worlds.step)
        else:
            pace = worlds.pace or self._pace_before_pause or math.inf
            # the beat of a level may lie between two of them
            paces = sorted({*PACES, pace})
            index = paces.index(pace) + (1 if name == "batch_faster" else -1)
            worlds.pace = paces[max(0, min(len(paces) - 1, index))]

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Handle a mouse event: the wheel zooms, the mouse selects the world below it, and a
        click opens that world."""
        if event.type == pygame.MOUSEWHEEL:
            self._zoom(event.y)
        elif event.type == pygame.MOUSEMOTION:
            self._selected = self._view.world_at(event.pos)
            self.app.needs_redraw = True
        elif event.type == pygame.WINDOWLEAVE:
            self._selected = None
        elif event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            self._selected = self._view.world_at(event.pos)
            self._open()

    def _open(self, shows_values: bool = False) -> None:
        """Open the selected world as a game; if `shows_values`, with the policy's values in its
        cells."""
        shown = self._find_shown_worlds()
        if self._selected is not None and self._selected < len(shown) and self.local_worlds:
            screen = WorldScreen(self.app, self.local_worlds, int(shown[self._selected]))
            if shows_values:
                screen.show_values(True)
            self.app.push(screen)

    def _select(self, offset: int) -> None:
        """Move the selection by `offset` worlds and scroll to the selected world; if none is
        selected, select the first visible one."""
        count, layout = len(self._find_shown_worlds()), self._view.layout
        if not count:
            return
        selected = self._first if self._selected is None else self._selected + offset
        self._selected = max(0, min(count - 1, selected))
        row, first_row = self._selected // layout.columns, self._first // layout.columns
        last_row = first_row + layout.rows - 1
        self._scroll(min(0, row - first_row) + max(0, row - last_row))

    def _scroll(self, rows: int) -> None:
        layout = self._view.layout
        self._scroll_to(
            self._first // layout.columns + rows, layout, len(self._find_shown_worlds())
        )

    def _scroll_to(self, row: int, layout: BatchLayout, count: int) -> None:
        """Make `row` of `count` worlds the first visible one, as far as there are rows below."""
        last_first_row = max(0, -(-count // layout.columns) - layout.rows)
        self._first = max(0, min(last_first_row, row)) * layout.columns

    def on_close(self) -> None:
        """Close the worlds if this process steps them."""
        if self.local_worlds is not None:
            self.local_worlds.close()

    # ---- drawing ---------------------------------------------------------------------

    def draw(self, painter: Painter, now: float) -> None:
        """Draw curves, worlds, the selected world and hints with `painter`."""
        if self._theme != self.app.theme:
            self._theme = self.app.theme
            self._view, self._renderer = self._make_view(), None
        line = painter.line_height
        rest = painter.area.inflate(-line, -line // 2)
        is_large = rest.h >= 24 * line
        header = cut(rest, "top", line * 4 if is_large else line * 5 // 4, line // 4)
        footer = cut(rest, "bottom", line, line // 4)
        self._draw_header(painter, header, is_large)
        if self._watched is not None:
            self._draw_values(painter, rest)
        elif min(rest.size) > 0 and (snapshot := self.worlds.latest_snapshot()):
            with clipped(painter.surface, rest):
                self._draw_worlds(painter, rest, snapshot.codes[self._find_shown_worlds()])
        if self.worlds.trouble:
            painter.draw_text(footer, self.worlds.trouble, "loss", "center", 0.9)
        else:
            painter.draw_text(footer, " · ".join(self._list_hints()), "muted", "center", 0.9)

    def _draw_worlds(self, painter: Painter, rect: Rect, codes: NDArray[np.uint32]) -> None:
        """Draw the worlds with these cell codes into `rect`, and an outline around the selected
        one."""
        if not len(codes):
            text = f"No world has {[*RESULTS.values()][self._filter]} yet"
            painter.draw_text(rect, text, "muted", "center")
            return
        if self._anchor is not None:
            layout = lay_out_batch(rect.size, len(codes), codes.shape[1:], self._view.min_cell)
            row = self._anchor // layout.columns - layout.rows // 2
            self._scroll_to(row, layout, len(codes))
            self._anchor = None
        self._view.draw(painter.surface, rect, codes, self._first)
        if self._selected is not None and self._selected < len(codes):
            world_rect = self._view.world_rect(self._selected)
            pygame.draw.rect(painter.surface, self._theme.select, world_rect, 2)

    def _draw_values(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the watched world with the policy's values in its cells."""
        frame, scenario = self.worlds.values, self.worlds.scenario
        if frame is None or min(rect.size) <= 0:
            text = f"World {self._watched}: its values come with the next update"
            painter.draw_text(rect, text, "muted", "center")
            return
        if self._renderer is None:
            sources = sprite_sources(scenario)
            self._renderer = FrameRenderer(scenario.name, sources, "state", theme=self._theme)
        self._renderer.draw(painter.surface.subsurface(rect), frame)

    def _list_hints(self) -> Sequence[str]:
        """Return short texts on the available keys, for the bottom of the screen."""
        next_filter = [*RESULTS.values()][(self._filter + 1) % len(RESULTS)]
        texts = {
            **{"batch_pause": "pause or go on", "batch_step": "one step"},
            "batch_filter": f"show {next_filter}",
            "batch_values": "values" if self._watched is None else "all worlds",
            **{"batch_slower": "slower", "batch_faster": "faster", "leave": "leave"},
        }
        available = {name: text for name, text in texts.items() if self.has_command(name)}
        hints = self.hints_of("batch", available)
        shown = self._find_shown_worlds()
        if self._watched is not None:
            return [f"World {self._watched}", *hints]
        open_key = ""
        if self._selected is not None and self._selected < len(shown):
            hints.insert(0, f"World {shown[self._selected]}")
            open_key = self.app.bindings.label("batch", "batch_open")
        if self.local_worlds:
            hints.append(f"{open_key or 'click a world'} to open it")
        return hints

    def _draw_header(self, painter: Painter, rect: Rect, is_large: bool) -> None:
        """Draw into `rect` the scenario's name, the number of steps and the curves of the
        statistics; only the curves' last values unless `is_large`."""
        line, curves = painter.line_height, rect.copy()
        column = cut(curves, "left", rect.w * 3 // 10)
        painter.draw_text(cut(column, "top", line * 3 // 2), self.worlds.scenario.name, size=1.3)
        if is_large:
            snapshot = self.worlds.latest_snapshot()
            steps = f"{snapshot.steps:,} steps each" if snapshot else "not begun"
            for text in (f"{self._policy_name}, {self._describe_speed()}", steps):
                painter.draw_text(cut(column, "top", line), text, "muted")
        points = list(self.worlds.curves)  # another thread may add one
        width = curves.w // len(CURVES)
        for title, (field, value_format) in CURVES.items():
            values = [getattr(point, field) for point in points]
            slot = cut(curves, "left", width - line // 2, line // 2)
            last = values[-1] if values else math.nan
            last_text = "-" if math.isnan(last) else value_format.format(last)
            _draw_curve_title(painter, cut(slot, "top", line), title, last_text)
            if is_large:
                painter.draw_card(slot, "well")
                _draw_curve(painter, slot.inflate(-line // 2, -line // 2), values)

    def _describe_speed(self) -> str:
        """Return a text with the speed of the worlds, such as `8 steps a second`."""
        if self.local_worlds is None:
            return "learning"
        pace = self.local_worlds.pace
        names = {math.inf: "full speed", 0.0: "paused"}
        return names.get(pace, f"{pace:g} steps a second")


def _draw_curve_title(painter: Painter, row: Rect, title: str, last: str) -> None:
    width = painter.draw_text(row, last, "accent", "right", 0.9)
    row.w -= width + painter.line_height // 4
    painter.draw_text(row, title, "muted", size=0.9)


def _draw_curve(painter: Painter, rect: Rect, values: Sequence[float]) -> None:
    """Draw `values` as a curve from left to right, scaled to fill `rect`; NaN values are left
    out."""
    known = {index: value for index, value in enumerate(values) if not math.isnan(value)}
    if len(known) < 2 or min(rect.size) < 2:
        return
    low, high = min(known.values()), max(known.values())
    x_scale = (rect.w - 1) / (len(values) - 1)
    y_scale = (rect.h - 1) / (high - low or 1.0)
    points = [
        (rect.x + index * x_scale, rect.bottom - 1 - (value - low) * y_scale)
        for index, value in known.items()
    ]
    pygame.draw.aalines(painter.surface, painter.color("accent"), False, points)


class WorldScreen(AutoplayScreen):
    """Play screen of one world of a batch; the batch does not step this world until the screen is
    closed.

    Args:
        app: app of the screen.
        worlds: worlds of the batch.
        number: number of the world.
    """

    def __init__(self, app: AppContext, worlds: BatchViewer, number: int) -> None:
        """Take the world with index `number` out of the batch `worlds`, and let the player continue
        it."""
        game = worlds.take_over(number)
        super().__init__(app, game, autoplay.PolicyAutoplayer(game, worlds.policy))
        self._worlds, self._number = worlds, number
        self._is_acting = False

    def has_command(self, name: str) -> bool:
        """Return True if the command called `name` is available; commands that would leave this
        world, such as the next level, are not."""
        return name not in BLOCKED_COMMANDS and super().has_command(name)

    def run_command(self, name: str) -> None:
        """Run the command `name` of the play screen; `menu` returns to the batch of worlds."""
        if name == "menu":
            self.app.pop()
        elif name in BLOCKED_COMMANDS:
            self.app.show_note("This world belongs to the batch")
        else:
            super().run_command(name)

    def on_close(self) -> None:
        """Put the world back into the batch, which continues from the state that the player has
        reached."""
        self.end_recording()
        self.autoplayer.close()
        self._maps.close()
        self._worlds.give_back(self._number, self.game)

    def unsaved_work(self) -> None:
        """Return None: the game goes back into the batch instead of being saved."""
        return None

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        """Return the buttons of the play screen, the first one replaced by a button back to the
        batch."""
        return (("Back to the batch", "play", "menu"), *super().buttons()[1:])

    def facts(self) -> Sequence[str]:
        """Return the texts of the play screen for the status panel, with the world's number in
        place of the seed."""
        return (f"World {self._number}", *super().facts()[1:])
