"""Base of the screens that show a game or a replay: stage, status panel, timeline and hot
reload."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from gv_engine.play.session.catalogue import find_goal_sentence
from gv_engine.play.session.game import Game
from gv_engine.play.session.hot_reload import HotReload
from gv_engine.play.session.replay import Replay
from gv_engine.play.ui.drawing.sprites import Rect, join_into_lines, pygame
from gv_engine.play.ui.drawing.stage import (
    ScreenLayout,
    SidePanel,
    Stage,
    StatusPanel,
    default_cell_size,
    is_small_window,
    lay_out_screen,
    make_stage,
)
from gv_engine.play.ui.drawing.widgets import Painter, cut, wrap_text
from gv_engine.play.ui.input.bindings import GROUPS
from gv_engine.play.ui.screens import aids
from gv_engine.play.ui.screens.keyboard import copy_to_clipboard
from gv_engine.play.ui.screens.screen import AppContext, Screen, ScreenCommands
from gv_engine.play.ui.settings import SPEEDS
from gv_engine.rules.frame import Scene, ShownNumber, group_checklists
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.readers.map import format_reward

# ScreenCommands of the group `view` that no gamepad button has.
VIEW_COMMANDS = ("view", "research", "inspect", "minimap", "zoom_in", "zoom_out", "zoom_reset")
POLL_INTERVAL = 0.05  # s between two checks of a background computation
FILE_CHECK_INTERVAL = 1.0  # s
RELOAD_SLICE = 0.01  # s of replaying steps between two pictures
DIFFERENCE_LINES = 2.5  # height of the text about a difference

KeyCaps = Sequence[tuple[str, str]]  # (key, word) pairs

_VIEW_TEXTS = {
    "both": "the whole level, and what the agent sees",
    "state": "the whole level",
    "observation": "what the agent sees",
    "explored": "what you have seen so far",
}
_FOLDERS = re.compile(r"[^\s(]*[/\\](?=[^/\\\s]+:)")  # folder of a file name that a colon follows


class GameScreen(Screen):
    """Screen that shows a game on its stage.

    Args:
        app: app of the screen.
        game: session to show.

    Attributes:
        game: session to show.
        stage: stage that draws the game.
        frame: current frame.
        domain: domain of the game.
        controls: height of the controls below the stage, in lines; `tight_controls` in small
            windows.
        heading: text before the title of the game.
        menu_commands: commands of the pause menu; the menu also has the actions that no gamepad
            button has.
        resume_label, leave_label: labels of the rows of the pause menu that resume and leave.
        error_text: error that is shown until it is fixed.
        extra_groups: groups of bindings in addition to the groups for viewing.
        always_research: True if the screen is for somebody who studies an agent.
    """

    controls = 1.0
    tight_controls = 1.0
    heading = ""
    menu_commands: tuple[str, ...] = ()
    resume_label, leave_label = "Go on playing", "Leave this level"
    error_text = ""
    extra_groups: tuple[str, ...] = ()

    always_research = False

    commands: ClassVar[ScreenCommands] = {
        "help": Screen.commands["help"],
        "settings": Screen.commands["settings"],
        "view": lambda screen: screen._switch_view(),
        "research": lambda screen: screen._toggle_research(),
        "inspect": lambda screen: screen._open_next_panel(),
        "copy": lambda screen: screen._copy(),
        "first_change": lambda screen: screen._seek_difference(),
        "compare": lambda screen: screen._toggle_comparison(),
    }

    def __init__(self, app: AppContext, game: Game) -> None:
        super().__init__(app)
        self.game = game
        self.frame = game.frame()
        self.domain = DOMAINS[self.frame.domain]
        self._theme = app.theme
        self.stage: Stage = make_stage(game, self._theme)
        self._stage_scenario = game.scenario
        self.stage.begin(None, self.frame)
        self._choose_default_view()
        self._animation_start = 0.0
        self._is_animating = False
        self._layout: ScreenLayout | None = None
        self._checklist_rect = Rect(0, 0, 0, 0)  # without width if it does not fit
        self._mouse_position = (-1, -1)
        self._next_check = 0.0
        self._goal_lines: list[str] = []
        self._number_rows: list[list[ShownNumber]] = []
        self._reload_steps: Iterator[None] | None = None

    @property
    def groups(self) -> tuple[str, ...]:  # type: ignore[override]  # they change with the inspector
        """Names of the key binding groups that are active; `inspector` only while a side panel is
        open."""
        side_groups = ("inspector",) if self.stage.side_panel else ()
        return (*self.extra_groups, *side_groups, "view", "window")

    def show(self, animate: bool = True) -> None:
        """Show the current state of the game; `animate` animates the change from the state shown
        before, if it can be animated."""
        previous, self.frame = self.frame, self.game.frame()
        if self._stage_scenario is not self.game.scenario:
            self._rebuild_stage()
        can_animate = self.stage.begin(previous if animate else None, self.frame)
        self.stage.mark_differences(self._get_compared_frame())
        self._is_animating = can_animate and animate and self.app.settings.animation
        self._animation_start = time.monotonic()
        self.app.needs_redraw = True

    def tick(self, now: float) -> float:
        """Continue the animation of a step and the reloading of changed files; return the seconds
        until the next call."""
        if self._is_animating:
            self._is_animating = now < self._animation_start + self.stage.animation_seconds
            self.app.needs_redraw = True
        seconds = self._check_files(now)
        if not self.stage.is_busy:
            return seconds
        self.app.needs_redraw = True
        return min(seconds, POLL_INTERVAL)

    # ---- files that change -----------------------------------------------------------

    @property
    def _watched_game(self) -> Game:
        return self.game

    def _check_files(self, now: float) -> float:
        """Check every second whether scenario files have changed, and continue a running hot reload
        for a short time; return the seconds until the next call."""
        if self._reload_steps is None and now >= self._next_check:
            self._next_check = now + FILE_CHECK_INTERVAL
            if HotReload(self._watched_game).has_file_changes():
                self._on_files_changed()
        if self._reload_steps is None:
            return max(0.0, self._next_check - now)
        end_time = time.monotonic() + RELOAD_SLICE
        for _ in self._reload_steps:
            if time.monotonic() >= end_time:
                break
        else:
            self._reload_steps = None
        return 0.0

    def _on_files_changed(self) -> None:
        self._reload_steps = self._reload()

    def _reload(self) -> Iterator[None]:
        """Reload the changed scenario, replay the steps of the game in it, and show the result;
        yield after each part, so that the window stays responsive."""
        game, scenario_before = self.game, self.game.scenario
        message = yield from HotReload(game).reload_incrementally()
        if not message or game is not self.game:
            return
        has_failed = game.scenario is scenario_before
        first_line = _FOLDERS.sub("", message.split("\n")[0])
        self.error_text = f"Still as before: {first_line}" if has_failed else ""
        self._rebuild_stage()
        self.show(animate=False)
        if self.game.difference is None or has_failed:
            self.app.show_note(message, stays=20 if "\n" in message else 6)

    def _get_compared_frame(self) -> Any:
        """Return the frame before the files changed, if this is the first step that differs; else
        None."""
        difference, game_before = self.game.difference, HotReload(self.game).game_before()
        if game_before and difference and difference.step == self.game.position:
            return game_before.frame()
        return None

    def _describe_difference(self) -> str:
        return self.game.difference.message if self.game.difference else ""

    def _draw_difference(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the text on the first differing step, and buttons that show that step
        and the game before the change."""
        line, difference = painter.line_height, self._watched_game.difference
        step = difference.step if difference else 0
        inner, text = rect.inflate(-line, -line // 2), self._describe_difference()
        row = Rect(inner.x, 0, inner.w, min(inner.h, line * 7 // 4))
        row.centery = inner.centery
        buttons = [(f"Step {step}", "view", "first_change")]
        if self._compare_label:
            buttons.insert(0, (self._compare_label, "view", "compare"))
        self.draw_buttons(painter, row, buttons, 16 * line + 1)
        text_height = len(wrap_text(text, line * 9 // 10, row.w, 2)) * line * 9 // 10
        text_rect = Rect(row.x, inner.y + (inner.h - text_height) // 2, row.w, inner.h)
        painter.draw_lines(text_rect, text, "loss", 0.9)

    @property
    def _compare_label(self) -> str:
        return "" if self.game.comparison is None else "Before"

    def run_command(self, name: str) -> None:
        """Run the command `name` of this screen, of the open side panel, or of the stage, which
        draws the world."""
        panel = self.stage.side_panel
        if name in self.commands:
            super().run_command(name)
        elif panel and any(command.name == name for command in GROUPS["inspector"]):
            panel.command(name)
        else:
            self.stage.command(name)

    def _switch_view(self) -> None:
        """Switch to the next view of the domain, such as state or observation."""
        views = self._views
        self.stage.view = views[(views.index(self.stage.view) + 1) % len(views)]
        if self.is_research and not self.game.scenario.view:
            self.app.settings.view = self.stage.view
        self.app.show_note(self._describe_view(), stays=1.5)

    def _describe_view(self) -> str:
        return f"View: {_VIEW_TEXTS.get(self.stage.view, self.stage.view)}"

    @property
    def is_research(self) -> bool:
        """True if the screen shows rewards, the observation, the seed and the inspector."""
        return self.always_research or self.app.settings.research

    @property
    def _views(self) -> Sequence[str]:
        views = () if self.is_research else self.stage.player_views
        return views or tuple(self.domain.views)

    def _toggle_research(self) -> None:
        """Switch between the view for players and that for research, which is remembered."""
        self.app.settings.research = not self.app.settings.research
        self.app.save_settings()
        self._choose_default_view()
        self.app.show_note(f"Research view: {'on' if self.is_research else 'off'}", stays=1.5)

    def _choose_default_view(self) -> None:
        """Let the stage show the level's default view, or in research the one chosen before."""
        self.stage.is_research = self.is_research
        wanted = self.game.scenario.view or self.app.settings.view
        is_chosen = self.is_research and wanted in self._views
        self.stage.view = wanted if is_chosen else self._views[0]

    def _open_next_panel(self) -> None:
        self.stage.side_panel = self._find_next_panel()

    def _seek_difference(self) -> None:
        self.game.seek_first_difference()
        self.show(animate=False)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Pass a mouse event to the side panel or to the stage, which draws the world; take the
        action that a click stands for."""
        if self._layout is None:
            return
        panel, stage_rect = self.stage.side_panel, self._layout.stage
        position = event.pos if hasattr(event, "pos") else self._mouse_position
        self._mouse_position = position
        is_on_stage = stage_rect.collidepoint(position)
        has_changed = False
        if event.type in (pygame.MOUSEMOTION, pygame.WINDOWLEAVE):
            is_hovered = event.type == pygame.MOUSEMOTION and is_on_stage
            has_changed = self.stage.hover(position if is_hovered else None)
        elif panel is not None and self._layout.side.collidepoint(position):
            has_changed = panel.event(event)
        elif event.type == pygame.MOUSEBUTTONDOWN and is_on_stage and event.button <= 3:
            self.take_action(self.stage.click(position, event.button))
            has_changed = True
        elif event.type == pygame.MOUSEWHEEL and is_on_stage:
            has_changed = self.stage.wheel(position, event.y)
        self.app.needs_redraw |= has_changed

    def _toggle_comparison(self) -> None:
        """Open the screen that steps through the game as it was before scenario files changed, for
        comparison."""
        if self.game.comparison is None:
            self.app.show_note("No saved file has changed a step of this game")
        else:
            self.app.open_comparison()

    def _copy(self) -> None:
        """Copy the game, level and steps, to the clipboard as a line of text.

        Raises:
            ReplayError: the session began with a snapshot.
        """
        error = copy_to_clipboard(self.copied_replay.to_line())
        paste = self.app.bindings.label("menu", "paste")
        note = f"Copied as a line of text; {paste} in the search goes on from here"
        self.app.show_note(error or note)

    @property
    def copied_replay(self) -> Replay:
        """Return the game to copy as a line of text: all of its steps."""
        return self.game.replay()

    def take_action(self, action: str) -> None:
        """Take `action`, chosen by a click on the world; screens that only show a game do
        nothing."""

    def draw(self, painter: Painter, now: float) -> None:
        """Draw title, world, status panel, controls and hints with `painter`."""
        if self._theme != self.app.theme:
            self._rebuild_stage()
        line, panel = painter.line_height, self.stage.side_panel
        is_tight = is_small_window(painter.area, line) and not self.is_research
        hint_lines = len(self.key_caps()) or len(
            self._fit_hints(painter, self.hints(), 1 if is_tight else 2)
        )
        self._wrap_goal(painter)
        # at the end, the card above the hints has their keys, too
        self.footer_lines = 0 if self.frame.outcome and not self.is_research else hint_lines
        if self.bar_lines:
            self.footer_lines += round(self.bar_lines + self.controls)
        layout = self._layout = self._lay_out(painter, hint_lines)
        self._draw_world(painter, layout.stage, now)
        self._draw_header(painter, layout.header.copy())
        if self._checklist_rect.w:
            aids.draw_checklists(painter, self._checklist_rect, self._checklists)
        goal = layout.goal.copy()
        for text in self._goal_lines:
            painter.draw_text(cut(goal, "top", line), text, "accent", is_light=True)
        draw_icon = partial(self.stage.draw_icon, painter.surface)
        for numbers in self._number_rows:
            row = cut(goal, "top", int(aids.NUMBER_LINES * line))
            aids.draw_numbers(painter, row, numbers, self.stage.has_icon, draw_icon)
        copy = ("Copy", partial(self.run_command, "copy"))
        scene, facts = self._get_panel_scene(), self.facts() if self.is_research else ()
        status = StatusPanel(painter, scene, self.stage, facts, copy, self.is_research)
        message_fits = status.draw(layout.panel)
        if panel is not None:
            panel.draw(painter.surface, layout.side, line)
        controls = layout.controls.copy()
        if self._describe_difference():
            self._draw_difference(painter, cut(controls, "bottom", int(DIFFERENCE_LINES * line)))
        self.draw_controls(painter, controls)
        message = self.error_text or ("" if message_fits else scene.message)
        self._draw_hints(painter, layout.hints.copy(), hint_lines, message)

    @property
    def bar_lines(self) -> float:
        """Height, in lines, of a bar of actions between the board and the controls."""
        return 0

    @property
    def _checklists(self) -> dict[str, list[ShownNumber]]:
        if self.is_research:
            return {}
        return group_checklists((*self.frame.numbers, *self.frame.display))

    def _lay_out(self, painter: Painter, hint_lines: int) -> ScreenLayout:
        is_small = is_small_window(painter.area, painter.line_height)
        control_lines = self.tight_controls if is_small else self.controls
        if self._describe_difference():
            control_lines += DIFFERENCE_LINES
        control_lines += self.bar_lines
        has_side_panel = self.stage.side_panel is not None
        layout = lay_out_screen(
            painter.area,
            painter.line_height,
            has_side_panel,
            control_lines,
            hint_lines,
            len(self._goal_lines) + aids.NUMBER_LINES * len(self._number_rows),
            self.is_research or self.stage.has_history,
        )
        line, lists = painter.line_height, self._checklists
        self._checklist_rect = Rect(0, 0, 0, 0)
        if lists and aids.has_room(layout.stage, line, lists):
            self._checklist_rect = cut(
                layout.stage, "right", aids.CHECKLIST_WIDTH * line, line // 2
            )
        return layout

    @property
    def goal(self) -> str:
        """Goal of the level, which is shown below its title; "" for none."""
        return self.frame.mission or find_goal_sentence(self.game.scenario)

    def _get_panel_scene(self) -> Scene:
        """Return the frame without the goal, which is shown below the title."""
        is_goal = self.frame.message == find_goal_sentence(self.game.scenario)
        message = "" if is_goal else self.frame.message
        scene: Scene = replace(self.frame, mission="", message=message)
        return scene

    def _wrap_goal(self, painter: Painter) -> None:
        """Wrap the goal and, for players, their state vector into the rows below the title."""
        line = painter.line_height
        width = painter.area.w - line * 3 // 2
        shown = (*self.frame.numbers, *self.frame.display)
        texts = [self.goal, *(number.text for number in shown if number.is_text)]
        lines = [each for text in texts for each in wrap_text(text, line, width, 4)]
        self._goal_lines = list(filter(None, lines))
        numbers = [
            number
            for number in shown
            if number.is_for_players
            and not (number.checklist or number.is_text or self.is_research)
        ]
        self._number_rows = aids.wrap_numbers(painter, numbers, width, self.stage.has_icon)

    @property
    def has_score(self) -> bool:
        """True if the return matters to a player: there is no goal to reach, or it is gained."""
        has_goal = getattr(self.game.scenario, "tells_success", True)
        is_told = any(number.is_for_players for number in self.frame.numbers)
        is_scored = self.frame.total > 0 or not (has_goal or is_told)
        return is_scored and not (self.is_research or self.game.pack_level)

    @property
    def stage_shape(self) -> tuple[int, int] | None:
        """Height and width of what is drawn on the stage, in cells; None for any proportions."""
        return self.stage.shape

    def _draw_world(self, painter: Painter, rect: Rect, now: float) -> None:
        """Draw the world into `rect`, as far as its animation has got at the time `now`."""
        self.stage.line = painter.line_height
        if painter.mouse is None or not rect.collidepoint(painter.mouse):
            self.stage.hover(None)
        progress = 1.0
        if self._is_animating:
            progress = (now - self._animation_start) / self.stage.animation_seconds
        try:
            self.draw_stage(painter, rect, max(0.0, min(1.0, progress)))
        except ValueError as error:  # a drawing of the author's that cannot be read
            painter.draw_lines(rect, str(error), "loss")

    def _draw_hints(self, painter: Painter, rest: Rect, max_lines: int, message: str) -> None:
        """Draw the current hints into `rest`; `message`, if not empty, takes the place of the first
        line."""
        line = painter.line_height
        if message:
            color = "loss" if self.error_text else "accent"
            painter.draw_text(cut(rest, "top", line), message, color, "center", 0.9)
            max_lines -= 1
        for caps in self.current_key_caps()[:max_lines]:
            painter.draw_keys(cut(rest, "top", line), caps)
            max_lines = 0
        for hint in self._fit_hints(painter, self.current_hints(), max_lines):
            painter.draw_text(cut(rest, "top", line), hint, "muted", "center", 0.9)

    def key_caps(self) -> Sequence[KeyCaps]:
        """Return lines of keys that players see in place of the hints, the least important key next
        to last; () for none."""
        return ()

    def current_key_caps(self) -> Sequence[KeyCaps]:
        """Return the lines of keys for the current state of the game, in place of `key_caps`."""
        return self.key_caps()

    def draw_stage(self, painter: Painter, rect: Rect, progress: float) -> None:
        """Draw the world into `rect`; `progress` of the step's animation is from 0 to 1."""
        self.stage.draw(painter.surface, rect, progress)

    @staticmethod
    def _fit_hints(painter: Painter, hints: Sequence[str], max_lines: int) -> list[str]:
        """Return `hints` joined into at most `max_lines` lines; hints that do not fit are left out,
        the last one last."""
        fitting = [hint for hint in hints if hint]
        font_height, width = painter.line_height * 9 // 10, painter.area.w - painter.line_height
        lines = join_into_lines(fitting, font_height, width)
        while len(lines) > max_lines and len(fitting) > 1:
            del fitting[-2]
            lines = join_into_lines(fitting, font_height, width)
        return lines[:max_lines]

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel, the first of them the seed or ""."""
        return (f"Seed: {self.game.seed}",) if self.is_research else ("",)

    def hints(self) -> Sequence[str]:
        """Return short texts for the bottom of the screen, each with a key and its effect."""
        raise NotImplementedError

    def current_hints(self) -> Sequence[str]:
        """Return the hints for the current state of the game, which are shown in place of
        `hints`."""
        return self.hints()

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        """Return (label, group, command) of the buttons at the top, the most important first."""
        buttons = [("Keys", "view", "help"), ("View", "view", "view")]
        panel = self._find_next_panel() or self.stage.side_panel
        if panel and (self.is_research or self.stage.side_panel):
            buttons.append((panel.title, "view", "inspect"))
        return buttons

    def _find_next_panel(self) -> SidePanel | None:
        choices = (None, *self.stage.side_panels)
        return choices[(choices.index(self.stage.side_panel) + 1) % len(choices)]

    def draw_controls(self, painter: Painter, rect: Rect) -> None:
        """Draw the controls below the world into `rect`: the timeline, with which the user goes to
        any step."""
        if self._has_timeline:
            self._draw_timeline(painter, rect)

    @property
    def _has_timeline(self) -> bool:
        game = self.game
        is_usual = game.position == game.length and not self._watched_game.difference
        return bool(game.length) and (self.is_research or not is_usual)

    def _draw_timeline(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the timeline, with which the user goes to any step; the first differing
        step after a reload is marked."""
        length, line = max(1, self.game.length), painter.line_height
        bar = rect.inflate(0, -line // 4)
        bar.w = min(bar.w, self._measure_board() or bar.w) - line
        bar.centerx = rect.centerx
        share = self.game.position / length
        painter.draw_slider(bar, share, lambda share: self.seek(round(share * length)))
        difference = self._watched_game.difference
        if difference is not None:
            mark = Rect(0, bar.y, max(3, line // 4), bar.h)
            mark.centerx = min(bar.x + bar.w * difference.step // length, bar.right)
            painter.draw_card(mark, "loss")
            painter.add_hit_area(
                mark.inflate(mark.w, 0), lambda _: self.run_command("first_change")
            )

    def _measure_board(self) -> int:
        """Return the width in pixels of the grids on the stage; 0 if it has no fixed shape."""
        shape, stage = self.stage_shape, self._layout and self._layout.stage
        if not shape or not stage:
            return 0
        return shape[1] * default_cell_size(shape, (stage.h, stage.w), self.stage.line * 5 // 4)

    def seek(self, position: int) -> None:
        """Go to the state after `position` steps of the episode, and show it."""
        if position != self.game.position:
            self.game.seek(position)
            self.show(animate=False)

    def change_speed(self, step: int) -> None:
        """Change the speed of replays and agents by `step` positions in `SPEEDS`."""
        settings = self.app.settings
        index = SPEEDS.index(settings.speed) + step
        settings.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, index))]

    def _draw_header(self, painter: Painter, rect: Rect) -> None:
        """Draw the title of the game and the buttons into `rect`."""
        line = painter.line_height
        status = "" if self.is_research else " · ".join(filter(None, self._list_status()))
        status_width = painter.text_width(status)
        self.draw_buttons(painter, rect, self.buttons(), 9 * line + status_width)
        title, subtitle = self.game.heading
        title_rect = rect.copy()
        title_rect.w -= status_width + line
        width = painter.draw_text(title_rect, self.heading + title, size=1.3, is_name=True)
        cut(rect, "left", width + line)
        if painter.text_width(subtitle) + line + status_width <= rect.w:
            cut(rect, "left", painter.draw_text(rect, subtitle, "muted", is_name=True))
            cut(rect, "left", line * bool(subtitle))
        cut(rect, "left", painter.draw_text(rect, status), line)
        well = Rect(rect.x, rect.y, rect.h, rect.h)
        is_shown = self.stage.holds and not self.is_research and rect.w > rect.h
        if is_shown and (item := self.stage.draw_item(painter.surface, well)):
            painter.add_hit_area(well, lambda _: self.stage.select_held_item())
            cut(rect, "left", well.w + line // 4)
            painter.draw_text(rect, item, "muted")

    def _list_status(self) -> list[str]:
        """Return short texts for players beside the title: steps, score and facts. The limit of
        steps is shown from its half on."""
        scene = self.frame
        is_limited = scene.max_steps and 2 * scene.steps >= scene.max_steps
        texts = [f"Steps {scene.steps}" + f" of {scene.max_steps}" * bool(is_limited)]
        if self.has_score:
            texts.append(f"Score {format_reward(scene.total).lstrip('+')}")
        if not self._checklist_rect.w:
            texts += [aids.count_ticked(*each) for each in self._checklists.items()]
        return [*texts, *self.facts()]

    def _rebuild_stage(self) -> None:
        """Replace the stage, which draws the world, after a change of colours or scenario."""
        old_stage, self._theme = self.stage, self.app.theme
        is_same_scenario = self._stage_scenario is self.game.scenario
        self.stage, self._stage_scenario = make_stage(self.game, self._theme), self.game.scenario
        self.stage.begin(None, self.frame)
        if old_stage.side_panel is not None:
            index = old_stage.side_panels.index(old_stage.side_panel)
            self.stage.side_panel = self.stage.side_panels[index]
        self._choose_default_view()
        if is_same_scenario:
            self.stage.view = old_stage.view
