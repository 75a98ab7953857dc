"""Play screen: a player plays a game step by step or in real time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gv_engine.rules.errors import complain, error_text
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.scenario.plugin import KeyCommand, get_plugin
from gv_engine.scenario.reference_docs import list_rule_sections
from gv_engine.session.autoplay import SOLVER, Opponent
from gv_engine.session.catalogue import next_size_variant, source_of
from gv_engine.session.replay import SUFFIX, ReplayError
from gv_engine.session.session import SESSION_COMMANDS, Session, parse_seed
from gv_engine.ui.drawing.recording import Recorder
from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.widgets import Painter, wrap_text
from gv_engine.ui.screens.export import Prompt
from gv_engine.ui.screens.game_screen import VIEW_COMMANDS, GameScreen
from gv_engine.ui.screens.menu import RulesScreen
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.screens.settings import PauseMenu
from gv_engine.ui.screens.sounds import choose_sound
from gv_engine.ui.settings import new_file, recording_folder, replay_folder, save_unfinished


class PlayScreen(GameScreen):
    """Screen to play a game. See `GameScreen` for the arguments."""

    menu_commands: tuple[str, ...] = (
        *("again", "hint", "rules", "next_level", "previous_level", "kin", "enter_seed", "copy"),
        *("save_replay", "watch", "race", "record", "picture", "real_time", "edit_level"),
        *VIEW_COMMANDS,
    )

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app, game)
        self.extra_groups = (self.domain.title, "play")
        self._recorder: Recorder | None = None
        self._saved_replay: Path | None = None
        self._saved_state = ""
        self._is_real_time = False
        self._next_time_step = 0.0
        self._is_walking = False
        self._next_walk_step = 0.0
        self._configure_stage()

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Walk on the clicked way, or let time pass in real time; return the seconds until the next
        call."""
        due = super().tick(now)
        due = math.inf if due is None else due
        if self._is_walking:
            if now >= self._next_walk_step:
                self._next_walk_step = now + self.stage.glide
                action = self.stage.next_walk_action()
                self._is_walking = bool(action)
                self.take_action(action)
            due = min(due, self._next_walk_step - now)
        if self._is_real_time and not self.frame.outcome:
            if now >= self._next_time_step:
                self._next_time_step = now + 1 / self.app.settings.time_speed
                self.take_action(self.game.wait)
            due = min(due, self._next_time_step - now)
        return due

    @property
    def level(self) -> tuple[str, tuple[KeyCommand, ...]]:  # type: ignore[override]  # it changes with the game
        """Group of the domain, and the commands that the level and the stage add to the group."""
        return self.domain.title, (*self.game.commands, *self.stage.steering)

    def has_command(self, name: str) -> bool:
        """Return whether a command works in this game."""
        if name == "watch":
            return self._saved_replay is not None
        if name == "edit_level":
            return bool(self.domain.sketch)
        return self.game.supports_command(name) and self.stage.has_command(name)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Handle the mouse as `GameScreen` does, and start to walk after a click."""
        super().on_mouse(event)
        if event.type == pygame.MOUSEBUTTONDOWN:  # the click may start a walk
            self._is_walking, self._next_walk_step = True, time.monotonic() + self.stage.glide

    def run_command(self, name: str) -> None:
        """Run a command of the timeline, an action, or a command of this screen."""
        self.stage.stop_walking()
        if name in SESSION_COMMANDS:
            SESSION_COMMANDS[name](self.game)
            self.show(glide=False)
        elif any(command.name == name for command in self.app.bindings.commands(self.domain.title)):
            for action in self.stage.actions(name):
                self.take_action(action)
        elif function := _COMMANDS.get(name):
            function(self)
        else:
            super().run_command(name)

    def take_action(self, action: str) -> None:
        """Take an action, unless the episode is over.

        Raises:
            RuleError: a rule failed; the game stays as before.
        """
        if action and not self.frame.outcome:
            self.step(lambda: self.game.step(action))
            self._save_solution()

    def step(self, take_steps: Callable[[], None]) -> None:
        """Call a function that steps the game, and show the step with movement and sound."""
        before, previous_frame = self.game.position, self.frame
        take_steps()
        has_stepped = self.game.position == before + 1
        self.show(glide=has_stepped)
        if has_stepped:
            self.app.play_sound(
                choose_sound(self.frame, self.stage.sound(previous_frame, self.frame))
            )
        self._next_time_step = time.monotonic() + 1 / self.app.settings.time_speed

    def _rebuild_stage(self) -> None:
        super()._rebuild_stage()
        self._configure_stage()

    def on_resume(self) -> None:
        self._configure_stage()

    def _configure_stage(self) -> None:
        """Set what clicks and arrow keys do on the stage."""
        self.stage.walks = True
        self.stage.steers = self.app.settings.steering == "screen"

    def _save_solution(self) -> None:
        """Save that a level of a pack is solved."""
        if self.frame.success:
            try:
                self.app.progress.add_solution(self.game, self.frame.steps)
            except OSError as error:
                self.app.show_note(f"The solution is not saved: {error_text(error)}", stays=15)

    def on_close(self) -> None:
        """End the recording, and save an unfinished game."""
        self.end_recording()
        self.app.record_session(self.game)
        try:
            save_unfinished(self.game.replay())
        except ReplayError:  # it began with a snapshot
            pass
        except OSError as error:
            complain(f"the game is not saved: {error_text(error)}")

    def _toggle_real_time(self) -> None:
        """Start or stop real time."""
        if not self.game.wait:
            self.app.show_note("Time cannot run in this level: it has no action that waits")
            return
        self._is_real_time = not self._is_real_time
        self._next_time_step = time.monotonic() + 1 / self.app.settings.time_speed
        self.app.needs_redraw = True

    def _play_variant(self) -> None:
        """Play the scenario's next size or difficulty, with the same seed."""
        self.game.change_scenario(
            self.app.load_scenario(next_size_variant(self.game.scenario.name))
        )
        self.show(glide=False)

    def _enter_seed(self) -> None:
        """Ask for a seed and play it."""

        def accept(text: str) -> None:
            self.game.reset(parse_seed(text))
            self.show(glide=False)

        words, seed = "Equal seeds are equal levels.", str(self.game.seed)
        self.app.push(Prompt(self.app, "Which seed?", words, seed, accept, "0123456789-"))

    def save_replay(self) -> None:
        """Save the episode so far as a replay file."""
        try:
            file = new_file(replay_folder(), self.game, SUFFIX)
            self.game.replay().save(file)
        except (OSError, ReplayError) as error:
            self.app.show_note(f"The replay is not saved: {error_text(error)}")
        else:
            self._saved_replay, self._saved_state = file, self.game.state()
            key = self.app.bindings.label("play", "watch")
            self.app.show_note(f"Saved {file}" + f" · {key} watches it" * bool(key))

    def _watch_saved_replay(self) -> None:
        """Watch the replay that was saved last."""
        if self._saved_replay is not None:
            self.app.watch_replay(self._saved_replay, self.game.scenario)

    def show(self, glide: bool = True) -> None:
        """Show the current frame, and record it if a recording runs."""
        if self._stage_scenario is not self.game.scenario:
            self.end_recording()
            self.app.add_recent(self.game.scenario)
        super().show(glide)
        if self._recorder is not None:
            try:
                self._recorder.add(self.frame)
            except (OSError, ValueError) as error:
                self._recorder.discard()
                self._recorder = None
                self.app.show_note(f"The recording is lost: {error_text(error)}", stays=15)

    def _show_rules(self) -> None:
        """Show the rules of the level."""
        scenario = self.game.scenario
        types = getattr(self.frame, "types", OBJECT_TYPES)  # algebra has none
        absent_types = self.stage.absent_types if self.game.pack_level else ()
        rule_sections = list_rule_sections(
            get_plugin(scenario).list_schedules(scenario), types, absent_types
        )
        self.app.push(RulesScreen(self.app, self.game.title, scenario.description, rule_sections))

    def _race(self) -> None:
        """Race against the last saved replay, or the solver if there is none."""
        self.app.start_race(Opponent.load(str(self._saved_replay or SOLVER), self.game))

    def _toggle_recording(self) -> None:
        """Start or end a recording."""
        if self._recorder is not None:
            self.end_recording()
            return
        try:
            self._recorder = self._create_recorder(self.app.settings.recording)
            self._recorder.add(self.frame)
        except OSError as error:
            self._recorder = None
            self.app.show_note(f"Not recorded: {error_text(error)}", stays=15)

    def end_recording(self) -> None:
        """End the recording, and show where it was saved."""
        if self._recorder is None:
            return
        recorder, self._recorder = self._recorder, None
        try:
            recorder.close()
        except OSError as error:
            self.app.show_note(f"The recording is lost: {error_text(error)}", stays=15)
        else:
            self.app.show_note(f"Saved {recorder.path}")

    def _save_picture(self) -> None:
        """Save a picture of the current frame."""
        try:
            with self._create_recorder(".png") as recorder:
                recorder.add(self.frame)
        except OSError as error:
            self.app.show_note(f"The picture is not saved: {error_text(error)}", stays=15)
        else:
            self.app.show_note(f"Saved {recorder.path}")

    def _create_recorder(self, suffix: str) -> Recorder:
        """Return a recorder of a new file with a suffix."""
        file = new_file(recording_folder(), self.game, suffix)
        return Recorder(file, self.game.scenario, self.stage.view, fps=self.app.settings.time_speed)

    def _open_editor(self) -> None:
        """Open the level in the editor."""
        self.app.edit(source_of(self.game.scenario))

    def _open_menu(self) -> None:
        """Open the pause menu."""
        self.app.push(PauseMenu(self))

    # ---- what is seen ----------------------------------------------------------------

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        return (("Menu", "play", "menu"), *super().buttons())

    def facts(self) -> Sequence[str]:
        """Return seed, goal, controlled agent, real time and recording, as far as they apply."""
        real_time_text = f"Time runs: {self.app.settings.time_speed} steps a second"
        recording_text = (
            "" if self._recorder is None else f"Recording: {self._recorder.path.suffix[1:]}"
        )
        has_several_agents = len(self.game.agents) > 1
        agent_text = f"You are {self.game.controlled}"
        return (
            *super().facts(),
            *([self._goal_text] if self._goal_text else []),
            *([agent_text] * has_several_agents),
            *([real_time_text] if self._is_real_time else []),
            *([recording_text] if recording_text else []),
        )

    @property
    def _goal_text(self) -> str:
        """Text with the par of a level of a pack and the player's best."""
        level = self.game.pack_level
        return "" if level is None else self.app.progress.format_goal(level).capitalize()

    def hints(self) -> Sequence[str]:
        """Return hints on moves, undo and help."""
        commands = self.app.bindings.commands(self.domain.title)
        descriptions = {command.name: command.description for command in commands}
        moves = [
            self.hint(self.domain.title, name, descriptions[name])
            for name in self.stage.hinted_commands
        ]
        undo = self.hint("play", "undo", "undo")
        hint = self.hint("play", "hint", "hint") if self.game.pack_level else ""
        has_several_agents = self.has_command("next_agent")
        next_agent = (
            self.hint(self.domain.title, "next_agent", "another agent")
            if has_several_agents
            else ""
        )
        return (
            *moves[:5],
            undo,
            hint,
            next_agent,
            *moves[5:],
            self.hint("view", "help", "all keys"),
        )

    def current_hints(self) -> Sequence[str]:
        """Return the hints, or the choices at the end of the episode."""
        if not self.frame.outcome:
            return self.hints()
        choices = [self.hint("play", name, label.lower()) for label, name in self._end_choices()]
        return (*choices, self.hint("view", "help", "all keys"))

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the game, and at the end of the episode the result and choices."""
        super().draw(painter, now)
        if self.frame.outcome and self._layout:
            self._draw_end(painter, self._layout.panel)

    def draw_stage(self, painter: Painter, rect: Rect, progress: float) -> None:
        """Draw the stage, with the pack level's instructions above."""
        instructions = self._instructions
        if instructions:
            line = painter.line_height
            rows = len(wrap_text(instructions, line, rect.w - line))
            text_rect = Rect(rect.x, rect.y, rect.w, min(rows * line + line // 2, rect.h // 2))
            painter.draw_card(text_rect)
            painter.draw_lines(text_rect.inflate(-line, -(line // 2)), instructions, "accent")
            rect = Rect(rect.x, text_rect.bottom + line // 2, rect.w, 0)
            rect.h = text_rect.y + self._layout.stage.h - rect.y if self._layout else 0
        super().draw_stage(painter, rect, progress)

    @property
    def _instructions(self) -> str:
        """Instructions of a level of a pack, with the player's keys filled in."""
        level = self.game.pack_level
        text = " ".join(level.says.split()) if level else ""
        return self.app.bindings.fill_in_keys(text, self.groups)

    def _end_choices(self) -> Sequence[tuple[str, str]]:
        """Return label and command of the choices at the end of the episode."""
        is_saved = self._saved_state == self.game.state()
        replay_choice = ("Watch replay", "watch") if is_saved else ("Save replay", "save_replay")
        if self.game.is_lost:
            return (
                ("Try again", "go_on"),
                ("Undo", "undo"),
                ("Next level", "next_level"),
                replay_choice,
            )
        return (
            ("Next level", "go_on"),
            ("Same level again", "again"),
            ("Undo", "undo"),
            replay_choice,
        )

    @property
    def _result_text(self) -> str:
        """Text with the result of the episode."""
        steps, prefix = self.frame.steps, f"Return {self.frame.total:+.6g} in"
        return self.app.progress.format_result(self.game, steps) or f"{prefix} {steps} steps"

    def _draw_end(self, painter: Painter, room: Rect) -> None:
        """Draw the result and the choices over the panel; without room only the result."""
        line, choices = painter.line_height, self._end_choices()
        keys = [self.app.bindings.label("play", name) for _, name in choices]
        button_width = 7 * line // 2 + max(
            painter.text_width(label + key) for (label, _), key in zip(choices, keys, strict=True)
        )
        columns = next((n for n in (4, 2) if n * button_width + line <= room.w), 1)
        title, result = self.frame.ending, self._result_text
        if self.frame.success and self.game.pack_level:
            title = "Solved!"
        is_one_line = (
            painter.text_width(title, 1.4) + painter.text_width(result) + 4 * line <= room.w
        )
        header_height = (3 if is_one_line else 4) * line
        rows = -(-len(choices) // columns)
        if header_height + rows * 2 * line > room.h:  # then the hints tell what to press
            rows, is_one_line, header_height = 0, True, room.h
        card = Rect(0, 0, room.w, header_height + rows * 2 * line)
        card.midbottom = room.midbottom
        painter.draw_card(card)
        painter.draw_outline(card, "accent")
        text_rect = Rect(card.x, card.y + line // 2, card.w, 2 * line) if rows else card.copy()
        text_rect.inflate_ip(-2 * line, 0)
        title_width = painter.draw_text(text_rect, title, "accent", size=1.4)
        if is_one_line:
            result_rect = Rect(
                text_rect.x + title_width + line,
                text_rect.y,
                text_rect.w - title_width - line,
                text_rect.h,
            )
            painter.draw_text(result_rect, result, align="right")
        else:
            painter.draw_text(Rect(text_rect.x, text_rect.bottom, text_rect.w, line), result)
        column_width = (card.w - line) // columns
        for number, ((label, name), key) in enumerate(zip(choices, keys, strict=True)):
            row, column = divmod(number, columns)
            if row < rows:
                slot = Rect(0, 0, column_width - line // 2, line * 7 // 4)
                slot.topleft = (
                    card.x + line * 3 // 4 + column * column_width,
                    card.y + header_height - line // 4 + row * 2 * line,
                )
                painter.draw_button(slot, label, partial(self._press, name), key, number == 0)


_COMMANDS = {
    "real_time": PlayScreen._toggle_real_time,
    "kin": PlayScreen._play_variant,
    "enter_seed": PlayScreen._enter_seed,
    "save_replay": PlayScreen.save_replay,
    "watch": PlayScreen._watch_saved_replay,
    "rules": PlayScreen._show_rules,
    "race": PlayScreen._race,
    "record": PlayScreen._toggle_recording,
    "picture": PlayScreen._save_picture,
    "edit_level": PlayScreen._open_editor,
    "menu": PlayScreen._open_menu,
}


class PlaytestScreen(PlayScreen):
    """Play screen of the edited level. See `GameScreen` for the arguments."""

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app, game)
        self.extra_groups = ("trial", *self.extra_groups)

    def run_command(self, name: str) -> None:
        """Return to the editor, or run a command of the play screen."""
        if name in ("back", "edit_level"):
            self.app.pop()
        else:
            super().run_command(name)

    def has_command(self, name: str) -> bool:
        return name not in ("kin", "edit_level") and super().has_command(name)

    def on_close(self) -> None:
        """End the recording; the game is not saved."""
        self.end_recording()

    def _on_files_changed(self) -> None:
        """Return to the editor, which loads the files."""
        self.app.pop()

    def buttons(self) -> tuple[tuple[str, str, str], ...]:
        return (("Edit", "trial", "back"), *super().buttons())

    def hints(self) -> tuple[str, ...]:
        return (self.hint("trial", "back", "edit"), *super().hints())
