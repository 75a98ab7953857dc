"""Screens on which an agent plays: alone until the player takes over, or in a race."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import GVEngineError
from gv_engine.session import autoplay
from gv_engine.session.batch_viewer import BatchSnapshot, BatchSource, BatchViewer, CurvePoint
from gv_engine.session.episode import ACTION_SEPARATOR
from gv_engine.session.session import Session
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.ui.drawing.batch_view import (
    MAX_CELL,
    MIN_CELL,
    BatchLayout,
    BatchView,
    lay_out_batch,
)
from gv_engine.ui.drawing.recording import FrameRenderer
from gv_engine.ui.drawing.sprites import Rect, SpriteSheet, pygame
from gv_engine.ui.drawing.stage import Stage, make_stage
from gv_engine.ui.drawing.widgets import Painter, cut
from gv_engine.ui.screens.game_screen import POLL_INTERVAL, RELOAD_SLICE
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.screen import AppContext, Screen

BAR_ROWS = 4
MAX_BARS = 12
TIMELINE_COMMANDS = ("undo", "redo", "first", "last", "game_before", "game_after")


class AutoplayScreen(PlayScreen):
    """Play screen with an agent that acts, can be paused, single-stepped and taken over from.

    Args:
        app: app of the screen.
        game: session to play.
        autoplayer: agent that acts.
    """

    menu_commands: tuple[str, ...] = (
        *("agent", "agent_step", "agent_faster", "agent_slower"),
        *PlayScreen.menu_commands,
    )
    controls = 7.25
    tight_controls = 3.0

    def __init__(self, app: AppContext, game: Session, autoplayer: autoplay.Autoplayer) -> None:
        super().__init__(app, game)
        self.extra_groups = (*self.extra_groups, "agent")
        self.autoplayer = autoplayer
        self._is_acting = True
        self._due = 0.0
        self._choice: autoplay.ActionChoice | None = None
        self.shows_values = False
        self._maps = autoplay.PolicyMaps(autoplayer.name)
        self._map_steps: autoplay.MapSteps | None = None
        self._mapped_state = ""

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float:
        """Let the agent (policy or solver) choose its next action and, unless paused, take that
        action as soon as the chosen speed allows at the time `now`. Return the seconds until the
        next call."""
        due = super().tick(now)
        if self.shows_values:
            due = min(due, self._update_map())
        if self.frame.outcome:
            return due
        if self._choice is None and not self._ask_agent():
            return min(due, POLL_INTERVAL)
        if self._is_acting:
            if now >= self._due:
                self._due = now + 1 / self.app.settings.speed
                self._act()
            due = min(due, max(0.0, self._due - now))
        return due

    def _update_map(self) -> float:
        """Compute for a short time what the agent does and expects in each cell, and draw the
        result; return the seconds until the next call."""
        state = self.game.state()
        if self._map_steps is None and state != self._mapped_state:
            self._mapped_state, self._map_steps = state, self._maps.start(self.game)
        until = time.monotonic() + RELOAD_SLICE
        while self._map_steps is not None and time.monotonic() < until:
            try:
                if wait := next(self._map_steps):
                    return wait
            except StopIteration as end:
                self._map_steps = None
                self.stage.show_policy_map(end.value)
                self.app.needs_redraw = True
            except GVEngineError:
                self._map_steps = None
                raise
        return math.inf if self._map_steps is None and state == self._mapped_state else 0.0

    def _next_view(self) -> None:
        """Switch to the next view; after the first one comes that of the agent's values."""
        first = next(iter(self.domain.views))
        if self.shows_values:
            self.show_values(False)
        elif self.stage.view == first and self._maps.start(self.game) is not None:
            self.show_values(True)
            self.app.show_note(f"View: values of {self.autoplayer.name}", stays=1.5)
            return
        super()._next_view()

    def show_values(self, shows: bool) -> None:
        """Show what the agent does and expects in each cell of the state, or the first view."""
        first, state, *_ = self.domain.views
        self.shows_values, self._map_steps, self._mapped_state = shows, None, ""
        self.stage.show_policy_map(None)
        self._choose_view(state if shows else first)

    def _ask_agent(self) -> bool:
        """Ask the agent (policy or solver) for its next action, which may be computed in the
        background; return True once the action is known."""
        try:
            self._choice = self.autoplayer.choose(self.game)
        except GVEngineError:
            self._pause()
            self._choice = autoplay.ActionChoice("", {})
            raise
        self.app.needs_redraw |= self._choice is not None
        return self._choice is not None

    def _act(self) -> None:
        """Take the action that the agent has chosen; pause the agent if the session refuses the
        action."""
        if self.frame.outcome or not (self._choice or self._ask_agent()):
            return
        action, before = self._choice.action if self._choice else "", self.game.position
        if action:
            self.step(lambda: self.game.redo_or_step(action))
            if self.game.position == before:  # refused: it would be refused again
                self._pause()

    def take_action(self, action: str) -> None:
        """Pause the agent and take the player's `action`. With several agents, the others take the
        actions that the agent had chosen for them."""
        if action:
            self._pause()
            others = self._choice.action if self._choice else ""
            action = self.game.merge_actions(action, others or self.game.wait)
        super().take_action(action)

    def seek(self, position: int) -> None:
        """Pause the agent, and go to the state after `position` steps."""
        self._pause()
        super().seek(position)

    def show(self, glide: bool = True) -> None:
        """Show the current state of the game, animated if `glide`, and discard the action that the
        agent has chosen for an earlier state."""
        self._choice = None
        super().show(glide)

    def run_command(self, name: str) -> None:
        """Run the command `name`: pause, single-step, speed up or slow down the agent; pass other
        commands to the play screen."""
        if name == "agent":
            self._is_acting, self._due = not self._is_acting, 0.0
        elif name == "agent_step":
            self._pause()
            self._act()
        elif name in ("agent_faster", "agent_slower"):
            self.change_speed(1 if name == "agent_faster" else -1)
            self._due = 0.0
        else:
            if name in TIMELINE_COMMANDS:
                self._pause()
            super().run_command(name)

    def _rebuild_stage(self) -> None:
        """Replace the object that draws the world; if the scenario has changed, also create the
        agent again."""
        if self._stage_scenario is not self.game.scenario:  # the agent belongs to a scenario
            self.autoplayer.close()
            self.autoplayer = autoplay.make_autoplayer(self.game, self.autoplayer.name)
            self._map_steps = None
        self._mapped_state = ""
        super()._rebuild_stage()

    def on_close(self) -> None:
        super().on_close()
        self.autoplayer.close()
        self._maps.close()

    def _race(self) -> None:
        """Open a race of the player against the agent on this level."""
        self.app.start_race(autoplay.Opponent.load(self.autoplayer.name, self.game))

    def _pause(self) -> None:
        """Pause the agent."""
        self._is_acting = False
        self.app.needs_redraw = True

    # ---- what is seen ----------------------------------------------------------------

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel: those of the play screen, and whether the agent
        acts or waits."""
        state = f"acts, {self.app.settings.speed} steps a second" if self._is_acting else "waits"
        return (*super().facts(), f"{self.autoplayer.name} {state}")

    def hints(self) -> Sequence[str]:
        """Return short texts such as `P pause` on the keys that control the agent, for the bottom
        of the screen."""
        toggle = "pause, or take over by any move" if self._is_acting else "let it act"
        texts = {"agent": toggle, "agent_step": "one step of it"}
        texts |= {"agent_slower": "slower", "agent_faster": "faster"}
        hints = self.hints_of("agent", texts)
        race = {"race": "race it"} if self.has_command("race") else {}
        hints += self.hints_of("play", {"undo": "undo", **race})
        values = self.hint("view", "view", "its values, other views")
        return (*hints, values, self.hint("view", "help", "all keys"))

    def draw_controls(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the timeline, the pause button, the agent's next action and the
        probabilities of its actions."""
        line, rest = painter.line_height, rect.copy()
        super().draw_controls(painter, cut(rest, "top", line, line // 4))
        row = cut(rest, "top", line * 7 // 4).inflate(-line, 0)
        row.h = line * 3 // 2
        button = cut(row, "left", min(row.w // 2, 14 * line), line // 2)
        label, key = "Pause" if self._is_acting else "Let it act", self.app.bindings.label
        painter.draw_button(button, label, lambda: self.run_command("agent"), key("agent", "agent"))
        painter.draw_text(row, self._describe_choice(), "muted")
        has_room = rest.h + line * 7 // 4 >= (BAR_ROWS + 1) * line
        if has_room and self._choice and self._choice.probabilities:
            self._draw_probabilities(painter, rest.inflate(-line, 0), self._choice)

    def _describe_choice(self) -> str:
        """Return a text with the action that the agent has chosen; "" at the end of the episode."""
        if self.frame.outcome:
            return ""
        if self._choice is None:
            return f"{self.autoplayer.name} thinks"
        action = self._choice.action
        return action and f"{self.autoplayer.name}: {_describe_action(action)}"

    def _draw_probabilities(
        self, painter: Painter, rect: Rect, choice: autoplay.ActionChoice
    ) -> None:
        """Draw into `rect` a bar with the probability of each action in `choice`, or of the most
        likely ones if there are many."""
        line = painter.line_height
        shown = likely_actions(choice)
        width = rect.w // -(-len(shown) // BAR_ROWS)
        for number, (action, chance) in enumerate(shown):
            column, row = divmod(number, BAR_ROWS)
            rest = Rect(rect.x + column * width, rect.y + row * line, width - line, line)
            color = "accent" if action == choice.action else "text" if chance else "muted"
            name = cut(rest, "left", rest.w * 9 // 20, line // 4)
            painter.draw_text(name, _describe_action(action), color, size=0.9)
            share = cut(rest, "right", 5 * line // 2, line // 4)
            text = f"{chance:.1%}" if 0 < chance < 0.0995 else f"{chance:.0%}"
            painter.draw_text(share, text, color, "right", 0.9)
            bar = Rect(rest.x, rest.y + line // 4, rest.w, line // 2)
            painter.draw_card(bar, "well")
            bar.w = round(bar.w * min(1.0, max(0.0, chance)))
            painter.draw_card(bar, "accent" if action == choice.action else "outline")


def likely_actions(choice: autoplay.ActionChoice) -> list[tuple[str, float]]:
    """Return the (action, probability) pairs of the `MAX_BARS` most likely actions in `choice`, in
    the order of the level's actions."""
    by_probability = sorted(
        choice.probabilities.items(), key=lambda pair: (-pair[1], pair[0] != choice.action)
    )
    shown = dict(by_probability[:MAX_BARS])
    return [(action, chance) for action, chance in choice.probabilities.items() if action in shown]


def _describe_action(action: str) -> str:
    """Return `action` in words such as `Move forward`; if it joins the actions of several agents,
    each with the agent's name."""
    texts = []
    for part in action.split(ACTION_SEPARATOR):
        name, _, agent_action = part.rpartition(" ")
        words = agent_action.replace("_", " ")
        texts.append(f"{name}: {words.lower()}" if name else words.capitalize())
    return ", ".join(texts)


class RaceScreen(PlayScreen):
    """Play screen beside an opponent, who takes a step for each step of the player and then plays
    to the end.

    Args:
        app: app of the screen.
        game: session of the player, at its beginning.
        opponent: opponent with a session of the same level.
    """

    def __init__(self, app: AppContext, game: Session, opponent: autoplay.Opponent) -> None:
        super().__init__(app, game)
        self.opponent = opponent
        self._extra_steps = 0  # steps of the opponent after the end of the player's game
        self._due = 0.0
        self._is_waiting = True  # until the opponent is at the player's step
        self._end_reason = ""  # message after the opponent has stopped
        self._opponent_frame = opponent.session.frame()
        self._opponent_stage = self._make_opponent_stage()
        if not (self._level_view or app.settings.view):
            self._choose_view(tuple(self.domain.views)[1])

    def _make_opponent_stage(self) -> Stage:
        """Return a new `Stage` that draws the opponent's game."""
        stage = make_stage(self.opponent.session, self._theme)
        stage.begin(None, self._opponent_frame)
        return stage

    # ---- what happens ----------------------------------------------------------------

    def show(self, glide: bool = True) -> None:
        """Show the current state of the player's game, animated if `glide`, and let the opponent go
        to the same step."""
        super().show(glide)
        self._extra_steps, self._is_waiting = 0, True

    def tick(self, now: float) -> float:
        """Let the opponent catch up with the player's step and, after the player's game is over,
        play on to its own end. Return the seconds until the next call."""
        due = super().tick(now)
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
        """Move the opponent's game to the player's step; return False if the opponent's next action
        is still being computed."""
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
        """Draw both games into `rect`, side by side or one above the other, each with its steps and
        return. `progress` of the player's animation is from 0 to 1."""
        line = painter.line_height
        player_rect = rect.copy()
        if rect.w >= rect.h:
            half = (rect.w - line) // 2
            opponent_rect = cut(player_rect, "right", half)
            player_rect.w = half
        else:
            half = (rect.h - line // 2) // 2
            opponent_rect = cut(player_rect, "bottom", half)
            player_rect.h = half
        self._opponent_stage.line, self._opponent_stage.view = line, self.stage.view
        opponent = self.opponent
        text = self._end_reason or (f"{opponent.name} thinks" if self._is_waiting else "")
        text = text or autoplay.describe_standing(opponent.name, opponent.session)
        player_text = autoplay.describe_standing("You", self.game)
        for room, standing in ((player_rect, player_text), (opponent_rect, text)):
            painter.draw_text(cut(room, "top", line, line // 4), standing, "muted", "center")
        super().draw_stage(painter, player_rect, progress)
        self._opponent_stage.draw(painter.surface, opponent_rect, 1.0)

    def _rebuild_stage(self) -> None:
        super()._rebuild_stage()
        self._opponent_stage = self._make_opponent_stage()

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel: those of the play screen, and at the end the
        winner."""
        is_over = self.frame.outcome and self.opponent.is_over and not self._end_reason
        winner = (autoplay.describe_winner(self.game, self.opponent),) if is_over else ()
        return (*super().facts(), *winner)


PACES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 250.0, 1000.0, math.inf)
PICTURE_TIME = 1 / 60  # s
BLOCKED_COMMANDS = ("next_level", "previous_level", "kin", "enter_seed", "race", "real_time")
"""Commands of a game that are not allowed for a world of the batch."""


CURVES = {
    "Success": ("success", "{:.1%}"),
    "Return": ("total", "{:+.3g}"),
    "Length": ("length", "{:.4g}"),
    "Steps a second": ("speed", "{:,.0f}"),
}
"""Field of `CurvePoint`, and format of its last value, by title of the curve in the header."""


RESULTS = {0: "all worlds", 1: "won", -1: "failed"}
"""Filters of worlds by the result of their last episode."""


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
        self._first = 0
        self._due = 0.0
        self._seen: tuple[BatchSnapshot | None, Any] = None, ()
        self._selected: int | None = None
        self._filter = 0
        self._anchor: int | None = None
        self._paused: float | None = None
        self._watched: int | None = None  # world whose values are shown
        self._renderer: FrameRenderer | None = None

    def _make_view(self) -> BatchView:
        """Return a new `BatchView`, which draws the worlds, in the colours of the theme."""
        scenario, palette = self.worlds.scenario, self._theme.palette
        sheet = SpriteSheet(sprite_folders(scenario), palette, types=scenario.types)
        return BatchView(sheet, self._theme)

    @property
    def local_worlds(self) -> BatchViewer | None:
        """The worlds if their speed can be set and worlds can be opened, else None."""
        return self.worlds if isinstance(self.worlds, BatchViewer) else None

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Redraw the window if the worlds or the curves have changed since the last call, at most
        60 times a second. Return the seconds until the next call."""
        if now >= self._due:
            self._due = now + PICTURE_TIME
            worlds, before = self.worlds, self._seen
            news = len(worlds.curves), id(worlds.values), worlds.trouble
            self._seen = worlds.latest_snapshot(), news
            # snapshots are compared by identity: they hold arrays
            is_new = self._seen[0] is not before[0] or self._seen[1] != before[1]
            self.app.needs_redraw |= is_new
        return max(0.0, self._due - now)

    def has_command(self, name: str) -> bool:
        """Return True if the command called `name` is available: most of those that start with
        `batch_` are only if this process steps the worlds."""
        is_local = self.local_worlds is not None
        return is_local or name == "batch_values" or not name.startswith("batch_")

    commands: ClassVar[Mapping[str, Callable[[Any], object]]] = {
        **Screen.commands,
        "scroll_up": lambda screen: screen._scroll(-1),
        "scroll_down": lambda screen: screen._scroll(1),
        "zoom_in": lambda screen: screen._zoom(1),
        "zoom_out": lambda screen: screen._zoom(-1),
        "batch_filter": lambda screen: screen._next_filter(),
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

    def _next_filter(self) -> None:
        """Show all worlds, those whose last episode was won, or those whose last one failed."""
        self._filter = (self._filter + 1) % len(RESULTS)
        self._first, self._selected = 0, None

    def _toggle_values(self) -> None:
        """Show what the policy expects in the cells of the selected world, or of the first one; or
        show all worlds again."""
        self._selected = self._selected or 0
        if self.local_worlds:
            self._open(shows_values=True)
            return
        self._watched = self._selected if self._watched is None else None
        self.worlds.watch_values(self._watched)
        self.app.needs_redraw = True

    def _shown_worlds(self) -> NDArray[np.int64]:
        """Return the indices of the worlds that the filter leaves."""
        state = self.worlds.latest_snapshot()
        return np.arange(0) if state is None else state.worlds_with([*RESULTS][self._filter])

    def _zoom(self, step: int) -> None:
        """Make the cells of all worlds larger by `step` pixels (smaller if negative); the selected
        world, or the first one shown, stays in sight."""
        view = self._view
        cell = view.min_cell if view.min_cell > MIN_CELL else view.layout.cell
        view.min_cell = max(MIN_CELL, min(MAX_CELL, cell + step))
        self._anchor = self._first if self._selected is None else self._selected

    def _set_pace(self, worlds: BatchViewer, name: str) -> None:
        """Pause `worlds`, let them take one step, or change their speed: `name` is the command."""
        if name == "batch_pause":
            is_paused = worlds.pace == 0
            self._paused, worlds.pace = worlds.pace, self._paused or math.inf if is_paused else 0.0
        elif name == "batch_step":
            if worlds.pace:
                self._paused, worlds.pace = worlds.pace, 0.0
            worlds.between_steps(worlds.step)
        else:
            pace = worlds.pace or self._paused or math.inf
            number = PACES.index(pace) + (1 if name == "batch_faster" else -1)
            worlds.pace = PACES[max(0, min(len(PACES) - 1, number))]

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
        """Open the selected world as a game, with what the policy expects if `shows_values`."""
        shown = self._shown_worlds()
        if self._selected is not None and self._selected < len(shown) and self.local_worlds:
            screen = WorldScreen(self.app, self.local_worlds, int(shown[self._selected]))
            if shows_values:
                screen.show_values(True)
            self.app.push(screen)

    def _select(self, offset: int) -> None:
        """Move the selection by `offset` worlds and scroll to the selected world; if none is
        selected, select the first visible one."""
        count, layout = len(self._shown_worlds()), self._view.layout
        if not count:
            return
        chosen = self._first if self._selected is None else self._selected + offset
        self._selected = chosen = max(0, min(count - 1, chosen))
        row, first = chosen // layout.columns, self._first // layout.columns
        self._scroll(min(0, row - first) + max(0, row - first - layout.rows + 1))

    def _scroll(self, rows: int) -> None:
        """Scroll the worlds down by `rows` rows, or up if it is negative."""
        layout = self._view.layout
        last = max(0, -(-len(self._shown_worlds()) // layout.columns) - layout.rows)
        self._first = max(0, min(last, self._first // layout.columns + rows)) * layout.columns

    def on_close(self) -> None:
        """Close the worlds if this process steps them."""
        if self.local_worlds is not None:
            self.local_worlds.close()

    # ---- what is seen ----------------------------------------------------------------

    def draw(self, painter: Painter, now: float) -> None:
        """Draw curves, worlds, the selected world and hints with `painter`."""
        if self._theme != self.app.theme:
            self._theme = self.app.theme
            self._view, self._renderer = self._make_view(), None
        line = painter.line_height
        room = painter.area.inflate(-line, -line // 2)
        roomy = room.h >= 24 * line
        header = cut(room, "top", line * 4 if roomy else line * 5 // 4, line // 4)
        footer = cut(room, "bottom", line, line // 4)
        self._draw_header(painter, header, roomy)
        state = self.worlds.latest_snapshot()
        if self._watched is not None:
            self._draw_values(painter, room)
        elif state is not None and min(room.size) > 0:
            clip = painter.surface.get_clip()
            painter.surface.set_clip(room)
            codes = state.codes[self._shown_worlds()]
            if self._anchor is not None:
                shape, min_cell = codes.shape[1:], self._view.min_cell
                self._show_anchor(lay_out_batch(room.size, len(codes), shape, min_cell), len(codes))
            if len(codes):
                self._view.draw(painter.surface, room, codes, self._first)
            else:
                text = f"No world has {[*RESULTS.values()][self._filter]} yet"
                painter.draw_text(room, text, "muted", "center")
            if self._selected is not None and self._selected < len(codes):
                world_rect = self._view.world_rect(self._selected)
                pygame.draw.rect(painter.surface, self._theme.select, world_rect, 2)
            painter.surface.set_clip(clip)
        hints = self.worlds.trouble or " · ".join(self._hints())
        painter.draw_text(footer, hints, "loss" if self.worlds.trouble else "muted", "center", 0.9)

    def _draw_values(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the watched world with what the policy expects in its cells."""
        frame, scenario = self.worlds.values, self.worlds.scenario
        if frame is None or min(rect.size) <= 0:
            text = f"World {self._watched}: its values come with the next update"
            painter.draw_text(rect, text, "muted", "center")
            return
        if self._renderer is None:
            folders = sprite_folders(scenario)
            self._renderer = FrameRenderer(scenario.name, folders, "state", theme=self._theme)
        self._renderer.draw(painter.surface.subsurface(rect), frame)

    def _show_anchor(self, layout: BatchLayout, count: int) -> None:
        """After a change of size to `layout`, scroll the `count` worlds so that the world under the
        mouse, or else the first one, is in sight."""
        last = max(0, -(-count // layout.columns) - layout.rows)
        row = (self._anchor or 0) // layout.columns - layout.rows // 2
        self._first, self._anchor = max(0, min(last, row)) * layout.columns, None

    def _hints(self) -> Sequence[str]:
        """Return short texts on the available keys, for the bottom of the screen."""
        texts = {"batch_pause": "pause or go on", "batch_step": "one step"}
        next_filter = [*RESULTS.values()][(self._filter + 1) % len(RESULTS)]
        texts |= {"batch_filter": f"show {next_filter}"}
        texts |= {"batch_values": "values" if self._watched is None else "all worlds"}
        texts |= {"batch_slower": "slower", "batch_faster": "faster", "leave": "leave"}
        hints = self.hints_of("batch", {n: texts[n] for n in filter(self.has_command, texts)})
        shown = self._shown_worlds()
        if self._watched is not None:
            return [f"World {self._watched}", *hints]
        if is_selected := self._selected is not None and self._selected < len(shown):
            hints.insert(0, f"World {shown[self._selected]}")
        if self.local_worlds:
            key = self.app.bindings.label("batch", "batch_open") if is_selected else ""
            hints.append(f"{key or 'click a world'} to open it")
        return hints

    def _draw_header(self, painter: Painter, rect: Rect, roomy: bool) -> None:
        """Draw into `rect` the scenario's name, the number of steps and the curves of the
        statistics; only the curves' last values unless `roomy`."""
        line = painter.line_height
        rest = rect.copy()
        column = cut(rest, "left", rect.w * 3 // 10)
        painter.draw_text(cut(column, "top", line * 3 // 2), self.worlds.scenario.name, size=1.3)
        points = list(self.worlds.curves)
        last = points[-1] if points else CurvePoint(*(math.nan,) * 4)
        if roomy:
            description = f"{self._policy_name}, {self._describe_speed()}"
            state = self.worlds.latest_snapshot()
            steps = f"{state.steps:,} steps each" if state else "not begun"
            painter.draw_text(cut(column, "top", line), description, "muted")
            painter.draw_text(cut(column, "top", line), steps, "muted")
        width = rest.w // len(CURVES)
        for title, (field, value_format) in CURVES.items():
            slot = cut(rest, "left", width - line // 2, line // 2)
            row, value = cut(slot, "top", line), getattr(last, field)
            text = "-" if math.isnan(value) else value_format.format(value)
            row.w -= painter.draw_text(row, text, "accent", "right", 0.9) + line // 4
            painter.draw_text(row, title, "muted", size=0.9)
            if roomy:
                painter.draw_card(slot, "well")
                values = [getattr(point, field) for point in points]
                _draw_curve(painter, slot.inflate(-line // 2, -line // 2), values)

    def _describe_speed(self) -> str:
        """Return a text with the speed of the worlds, such as `8 steps a second`."""
        if self.local_worlds is None:
            return "learning"
        pace = self.local_worlds.pace
        names = {math.inf: "full speed", 0.0: "paused"}
        return names.get(pace, f"{pace:g} steps a second")


def _draw_curve(painter: Painter, rect: Rect, values: Sequence[float]) -> None:
    """Draw `values` as a curve from left to right, scaled to fill `rect`; NaN values are left
    out."""
    known = {n: value for n, value in enumerate(values) if not math.isnan(value)}
    if len(known) < 2 or min(rect.size) < 2:
        return
    least, most = min(known.values()), max(known.values())
    span, last = most - least or 1.0, max(1, len(values) - 1)
    points = [
        (rect.x + n * (rect.w - 1) / last, rect.bottom - 1 - (value - least) / span * (rect.h - 1))
        for n, value in known.items()
    ]
    pygame.draw.aalines(painter.surface, painter.color("accent"), False, points)


class WorldScreen(AutoplayScreen):
    """Play screen of one world of a batch; the world stands still in the batch until the screen is
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
        return None

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        _, *others = super().buttons()
        return (("Back to the batch", "play", "menu"), *others)

    def facts(self) -> Sequence[str]:
        _, *others = super().facts()
        return (f"World {self._number}", *others)
