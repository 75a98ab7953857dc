"""Play screen: a player plays a game step by step or in real time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from gv_engine.play.session import sprite_paths
from gv_engine.play.session.autoplay import (
    SOLVER,
    Opponent,
    SolverPolicy,
    assign_opponents,
    list_opponents,
)
from gv_engine.play.session.catalogue import is_last_level, source_of
from gv_engine.play.session.controller import PLAY_COMMANDS, PlayController, supports_command
from gv_engine.play.session.replay import Replay, ReplayError
from gv_engine.play.session.session import Session
from gv_engine.play.session.tones import choose_sound
from gv_engine.play.ui.drawing.recording import Recorder
from gv_engine.play.ui.drawing.sprites import Rect, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.input.bindings import GROUPS
from gv_engine.play.ui.screens import aids
from gv_engine.play.ui.screens.end_card import EndCard
from gv_engine.play.ui.screens.game_screen import POLL_INTERVAL, VIEW_COMMANDS, GameScreen, KeyCaps
from gv_engine.play.ui.screens.menu import RulesScreen
from gv_engine.play.ui.screens.replay import Prompt
from gv_engine.play.ui.screens.screen import AppContext, ScreenCommands
from gv_engine.play.ui.screens.settings import PauseMenu
from gv_engine.play.ui.settings import (
    new_file,
    recording_folder,
    save_replay,
    save_unfinished,
)
from gv_engine.rules.errors import complain, error_text, format_count
from gv_engine.rules.frame import Scene, group_checklists
from gv_engine.rules.geometry import ACTIONS
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.domains import KeyCommand, get_plugin
from gv_engine.scenario.readers.map import format_reward
from gv_engine.scenario.reference_docs import list_rule_sections

# Actions that players may mean by an action that the level lacks.
_SIMILAR_ACTIONS = {
    "ACTUATE": ("TOGGLE", "PICK_UP"),
    "TOGGLE": ("ACTUATE",),
    "PICK_N_DROP": ("PICK_UP", "DROP"),
    **dict.fromkeys(("PICK_UP", "DROP"), ("PICK_N_DROP",)),
}
_TURNS = "TURN_LEFT", "TURN_RIGHT"
_WAITS = ("NOOP",)  # a player seldom needs it
# Words for actions below the world.
_WORDS = {
    **{"MOVE_FORWARD": "walk", "MOVE_BACKWARD": "back", "ACTUATE": "use", "TOGGLE": "open"},
    **{"PICK_N_DROP": "take", "PICK_UP": "take", "DROP": "drop", "DONE": "done"},
}
MAX_CAPS = 6  # keys in one line below the world
MAX_WORDS = 14  # letters beside a key
_HINT_DELAY = 0.5  # s from the first picture of a level to the preparation of hints
_FIRST_MOVES = 5  # hints on moves before those on undo; hints at the end are left out first


def describe_ticks(before: Scene, after: Scene) -> str:
    """Return a sentence on the items of checklists that a step has ticked; "" for none."""
    pairs = zip((*before.numbers, *before.display), (*after.numbers, *after.display), strict=False)
    ticked = [new for old, new in pairs if new.is_ticked and not old.is_ticked]
    if not ticked:
        return ""
    lists = group_checklists((*after.numbers, *after.display))
    title = ticked[0].checklist
    return f"{aids.count_ticked(title, lists[title])}: {', '.join(n.label for n in ticked)}"


class PlayScreen(GameScreen):
    """Screen to play a game. See `GameScreen` for the arguments.

    Attributes:
        game: session to play.
        has_opponents: True if agents outside the player's team act by the policy in the settings.
        prepares_hints: True if the search for hints is compiled before the player asks for one.
        starts_time: True if real time begins by itself in a level with the key `time`.
    """

    menu_commands: tuple[str, ...] = (
        *("again", "hint", "rules", "next_level", "previous_level", "partner", "kin", "enter_seed"),
        *("copy", "save_replay", "watch", "race", "record", "picture", "real_time", "edit_level"),
        *VIEW_COMMANDS,
    )

    game: Session
    has_opponents = True
    prepares_hints = True
    starts_time = True

    commands: ClassVar[ScreenCommands] = {
        **GameScreen.commands,
        "real_time": lambda screen: screen._toggle_real_time(),
        "enter_seed": lambda screen: screen._enter_seed(),
        "save_replay": lambda screen: screen.save_replay(),
        "watch": lambda screen: screen._watch_saved_replay(),
        "rules": lambda screen: screen._show_rules(),
        "race": lambda screen: screen._start_race(),
        "record": lambda screen: screen._toggle_recording(),
        "picture": lambda screen: screen._save_picture(),
        "edit_level": lambda screen: screen.app.edit(source_of(screen.game.scenario)),
        "menu": lambda screen: screen.app.push(PauseMenu(screen)),
    }

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app, game)
        show_note = partial(app.show_note, stays=15)
        self._controller = PlayController(game, app.progress, show_note, app.load_scenario)
        self.extra_groups = (self.domain.title, "play")
        if not self.starts_time and game.scenario.beat:
            self._controller.toggle_real_time()
        self._controller.schedule_next_step(time.monotonic(), app.settings.time_speed)
        self._recorder: Recorder | None = None
        self._saved_replay: Path | None = None
        self._saved_state = ""
        self._is_walking = False
        self._next_walk_step = 0.0
        self._opponents = app.settings.opponents  # setting of the opponents that act
        self._hint_time: float | None = None  # when hints are prepared
        self._configure_stage()
        if self.has_opponents:
            game.join_partner()

    # ---- events ----------------------------------------------------------------------

    def tick(self, now: float) -> float:
        """Take the next step of a walk to a clicked cell, or the next step of real time, if one is
        due at the time `now`; return the seconds until the next call."""
        seconds = super().tick(now)
        for solver in self._solvers:
            self.app.needs_redraw |= solver.update_path()
            if solver.note:
                seconds = min(seconds, POLL_INTERVAL)
        if self._is_walking:
            if now >= self._next_walk_step:
                self._next_walk_step = now + self.stage.animation_seconds
                action = self.stage.next_walk_action()
                self._is_walking = bool(action)
                self.take_action(action)
            seconds = min(seconds, self._next_walk_step - now)
        seconds = min(seconds, self._prepare_hint(now))
        controller, time_speed = self._controller, self.app.settings.time_speed
        if not self.app.has_focus:
            controller.schedule_next_step(now, time_speed)
        elif controller.seconds_to_step(now) <= 0:
            controller.schedule_next_step(now, time_speed)
            self.take_action(self.game.wait)
        return min(seconds, controller.seconds_to_step(now))

    def _prepare_hint(self, now: float) -> float:
        """Prepare hints as soon as a level has been on the screen for a moment; return the seconds
        until then, infinity if there is nothing to wait for."""
        waits = bool(self._solvers)  # their first moves come first
        if waits or not self.prepares_hints or self.frame.outcome:
            return math.inf
        if self._hint_time is None:
            self._hint_time = now + _HINT_DELAY
        elif now >= self._hint_time:
            self._hint_time = math.inf
            self.stage.prepare_hint()
        return self._hint_time - now

    @property
    def level_commands(self) -> tuple[str, tuple[KeyCommand, ...]]:  # type: ignore[override]  # it changes with the game
        """Name of the domain's command group, and the commands that the current level adds to the
        group."""
        return self.domain.title, (*self.game.commands, *self.stage.steering)

    def has_command(self, name: str) -> bool:
        """Return True if the command called `name` is available in this game."""
        if name == "watch":
            return self._saved_replay is not None
        if name == "edit_level":
            return bool(self.domain.sketch)
        return supports_command(self.game, name) and self.stage.has_command(name)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Handle a mouse event as `GameScreen` does; a click also starts the walk to the clicked
        cell."""
        super().on_mouse(event)
        if event.type == pygame.MOUSEBUTTONDOWN:  # the click may start a walk
            self._is_walking, self._next_walk_step = (
                True,
                time.monotonic() + self.stage.animation_seconds,
            )

    def run_command(self, name: str) -> None:
        """Run the command `name`: one of the session such as undo, an action of the domain, or a
        command of this screen."""
        self.stage.stop_walking()
        if name == "go_on" and self.frame.success and is_last_level(self.game.scenario):
            self.app.end_pack(source_of(self.game.scenario))
        elif name in PLAY_COMMANDS:
            self._controller.run_command(name)
            self.show(animate=False)
        elif any(command.name == name for command in self.app.bindings.commands(self.domain.title)):
            for action in self.stage.actions(name):
                if text := self._describe_missing_action(action):
                    self.game.message = text
                    self.show(animate=False)
                else:
                    self.take_action(action)
        else:
            super().run_command(name)

    def _describe_missing_action(self, action: str) -> str:
        """If the level lacks `action`, return a message with its key and the keys of similar
        actions that the level has; else return ""."""
        if action not in ACTIONS or action in (*self.game.actions, self.game.wait):
            return ""
        group = self.domain.title
        descriptions = {command.name: command.description for command in GROUPS[group]}
        texts = [f"{self.hint(group, action, descriptions[action])}: not in this level"]
        for similar_action in _SIMILAR_ACTIONS.get(action, ()):
            if similar_action in self.game.actions:
                texts.append(self.hint(group, similar_action, descriptions[similar_action]))
        return "; ".join(texts)

    def take_action(self, action: str) -> None:
        """Take `action` in the game, unless the episode is over, and show the result.

        Raises:
            RuleError: a rule failed; the game stays as before.
        """
        if action and not self.frame.outcome:
            self.step(lambda: self._controller.take_action(action))

    def step(self, take_steps: Callable[[], object]) -> None:
        """Call `take_steps`, which steps the session, and show the result; if that was exactly one
        step, with animation and sound."""
        position_before, previous_frame = self.game.position, self.frame
        take_steps()
        has_stepped = self.game.position == position_before + 1
        self.show(animate=has_stepped)
        settings = self.app.settings
        if has_stepped and (settings.sound or settings.captions):
            stage_sound = self.stage.sound(previous_frame, self.frame)
            self.app.play_sound(choose_sound(self.frame, stage_sound))
        if has_stepped and (text := self.stage.failure_text(previous_frame, self.frame)):
            self.app.show_note(text, stays=2)
        elif has_stepped and (text := describe_ticks(previous_frame, self.frame)):
            self.app.show_note(text, stays=4)
        self._controller.schedule_next_step(time.monotonic(), self.app.settings.time_speed)

    def _rebuild_stage(self) -> None:
        """Replace the object that draws the world; in another level, also assign the opponents
        again."""
        self.stage.close()
        self._hint_time = None
        super()._rebuild_stage()
        self._configure_stage()
        if self.has_opponents and not (self.game.partners or self.game.position):
            self.assign_opponents()  # in the next level
            self.game.join_partner()

    def on_resume(self) -> None:
        """Apply settings that may have changed: how arrow keys steer, and the policy of the
        opponents."""
        self._configure_stage()
        if self._opponents == self.app.settings.opponents:
            return
        self._opponents = self.app.settings.opponents
        if not list_opponents(self.game):
            self.app.show_note("This level has no opponents: no agent is of another team")
        elif self.has_opponents:
            self.assign_opponents()
        else:
            self.app.show_note("Opponents act in games, not in races, trials or beside an agent")

    def assign_opponents(self) -> None:
        """Start the level again with the opponents of the settings; show a note if they cannot act
        here."""
        self._opponents = self.app.settings.opponents
        message = assign_opponents(self.game, self._opponents)
        self.show(animate=False)
        if message:
            self.app.show_note(message, stays=15)

    @property
    def _solvers(self) -> list[SolverPolicy]:
        partners = self.game.partners.values()
        return [partner for partner in partners if isinstance(partner, SolverPolicy)]

    def _configure_stage(self) -> None:
        self.stage.walks = True
        self.stage.steers = self.app.settings.steers(self.game.scenario)

    def on_close(self) -> None:
        """End the video recording, and save the game if it is unfinished."""
        self.stage.close()
        for solver in self._solvers:
            solver.close()
        self.end_recording()
        self._controller.save_failed_try()
        self.app.sessions.append(self.game)
        try:
            source = source_of(self.game.scenario)
            save_unfinished(self.game.title, source, self.unsaved_work())
        except OSError as error:
            complain(f"the game is not saved: {error_text(error)}")

    def unsaved_work(self) -> Replay | None:
        """Return the game as a replay; None if it has no step, has ended, or began from a saved
        state."""
        with suppress(ReplayError):  # it began with a snapshot
            replay = self.game.replay()
            return replay if replay.steps and not replay.outcome else None
        return None

    @property
    def copied_replay(self) -> Replay:
        """Return the game to copy as a line of text: its steps without undone ones."""
        replay = self.game.replay()
        return replace(replay, steps=replay.steps[: self.game.position])

    def _toggle_real_time(self) -> None:
        self._controller.toggle_real_time()
        self._controller.schedule_next_step(time.monotonic(), self.app.settings.time_speed)

    def _enter_seed(self) -> None:
        """Ask the player for a seed, and start its level."""

        def accept(text: str) -> None:
            self._controller.start_level(text)
            self.show(animate=False)

        explanation, seed = "Equal seeds are equal levels.", str(self.game.seed)
        self.app.push(Prompt(self.app, "Which seed?", explanation, seed, accept, "0123456789-"))

    def save_replay(self) -> None:
        """Save the episode so far as a replay file."""
        with self.app.showing_errors("The replay is not saved"):
            file = save_replay(self.game)
            self._saved_replay, self._saved_state = file, self.game.state_digest()
            hint = self.hint("play", "watch", "watches it")
            self.app.show_note(" · ".join(filter(None, (f"Saved {file}", hint))))

    def _watch_saved_replay(self) -> None:
        """Watch the replay that was saved last."""
        if self._saved_replay is not None:
            self.app.watch_replay(self._saved_replay, self.game.scenario)
        else:
            hint = self.hint("play", "save_replay", "saves one")
            self.app.show_note("; ".join(filter(None, ("No replay is saved yet", hint))))

    def show(self, animate: bool = True) -> None:
        """Show the current state of the game, animated if `animate`, and add it to a running video
        recording."""
        if self._stage_scenario is not self.game.scenario:
            self.end_recording()
            self.app.add_recent(self.game.scenario)
        super().show(animate)
        if self._recorder is not None:
            try:
                self._recorder.add(self.frame)
            except (OSError, ValueError) as error:
                self._recorder.discard()
                self._recorder = None
                self.app.show_note(f"The recording is lost: {error_text(error)}", stays=15)

    def _show_rules(self) -> None:
        """Open a list of the rules of the current level."""
        scenario = self.game.scenario
        absent_types = self.stage.absent_types if self.game.pack_level else ()
        schedules = get_plugin(scenario).list_schedules(scenario)
        sections = list_rule_sections(schedules, self.frame.types, absent_types)
        self.app.push(RulesScreen(self.app, self.game.heading[0], scenario.description, sections))

    def _start_race(self) -> None:
        self.app.start_race(Opponent.load(str(self._saved_replay or SOLVER), self.game))

    def _toggle_recording(self) -> None:
        """Start or end a video recording of the game."""
        if self._recorder is not None:
            self.end_recording()
            return
        with self.app.showing_errors("Not recorded"):
            recorder = self._create_recorder(self.app.settings.recording)
            recorder.add(self.frame)
            self._recorder = recorder

    def end_recording(self) -> None:
        """End the video recording, if one runs, and show where it was saved."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            with self.app.showing_errors("The recording is lost"):
                recorder.close()
                self.app.show_note(f"Saved {recorder.path}")

    def _save_picture(self) -> None:
        """Save a picture of the current state as a PNG file."""
        with self.app.showing_errors("The picture is not saved"):
            with self._create_recorder(".png") as recorder:
                recorder.add(self.frame)
            self.app.show_note(f"Saved {recorder.path}")

    def _create_recorder(self, suffix: str) -> Recorder:
        file = new_file(recording_folder(), self.game, suffix)
        return Recorder(file, self.game.scenario, self.stage.view, fps=self.app.settings.time_speed)

    # ---- drawing ---------------------------------------------------------------------

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        """Return the buttons of game screens after a button for the pause menu."""
        return (("Menu", "play", "menu"), *super().buttons())

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel: seed, par, controlled agent, real time and
        recording, as far as they apply."""
        facts = [*super().facts(), self._goal_text]
        if len(self.game.agents) > 1:
            own = next(
                (mark for mark in self.frame.marks if mark.name == self.game.controlled), None
            )
            name = own.label if own else self.game.controlled
            is_named = self.is_research or (own and own.team)
            facts.append(f"You are {name if is_named else self._own_color or name}")
        facts.append("Your partner works along" * self.game.has_partner)
        facts += [solver.note for solver in self._solvers]
        if self._controller.is_real_time and self.app.has_focus:
            speed = self._controller.time_speed(self.app.settings.time_speed)
            facts.append(f"Time runs: {speed} steps a second")
        elif self._controller.is_real_time:
            facts.append("Time waits until this window has the keys")
        if self._recorder is not None:
            facts.append(f"Recording: {self._recorder.path.suffix[1:]}")
        return [*filter(None, facts)]

    def _list_status(self) -> list[str]:
        is_over = self.frame.outcome and not self._is_animating  # the card tells the result
        if not is_over or self.is_research:
            return super()._list_status()
        return [fact for fact in self.facts() if fact != self._goal_text]

    @property
    def _own_color(self) -> str:
        """Name of the colour of the player's agent, such as "Red"; "" if agents have none."""
        color = getattr(self.frame, "color", 0)
        return COLORS[color].capitalize() if color else ""

    @property
    def _goal_text(self) -> str:
        level = self.game.pack_level
        return "" if level is None else self.app.progress.format_goal(level).capitalize()

    def hints(self) -> Sequence[str]:
        """Return short texts on the keys for moves, undo and help, for the bottom of the screen."""
        domain = self.domain.title
        descriptions = {c.name: c.description for c in self.app.bindings.commands(domain)}
        moves = [
            self.hint(domain, self.stage.find_command_with_keys(name), descriptions[name])
            for name in self.stage.hinted_commands
        ]
        if steering := self.stage.steering:
            moves.insert(0, f"{self.app.bindings.join_labels(domain, steering[:4])} move")
        game_commands = {"undo": "undo"}
        if self.game.pack_level:
            game_commands["hint"] = "hint"
        hints = [*moves[:_FIRST_MOVES], *self.hints_of("play", game_commands)]
        if self.has_command("next_agent"):
            hints += [self._second_player_hint, self.hint(domain, "next_agent", "another agent")]
        return (*hints, *moves[_FIRST_MOVES:], self.hint("view", "help", "all keys"))

    @property
    def _icon_commands(self) -> list[KeyCommand]:
        """Actions of the level in the bar below the board."""
        return [command for command in self.game.commands if command.icon and not self.is_research]

    @property
    def bar_lines(self) -> float:
        """Height, in lines, of the bar of actions; 0 without actions that have icons."""
        return aids.BAR_LINES if self._icon_commands else 0

    def draw_controls(self, painter: Painter, rect: Rect) -> None:
        """Draw the bar of actions, and below it the timeline."""
        if commands := self._icon_commands:
            mask, label = self.game.mask(), self.app.bindings.label
            scenario: Any = self.game.scenario
            labels = sprite_paths.list_number_sprites(scenario)
            slots = [
                aids.ActionSlot(
                    command,
                    label(self.domain.title, command.name),
                    [(labels[name], amount) for name, amount in command.cost],
                    mask.get(command.name, True) and not self.stage.find_missing(command),
                    partial(self.run_command, command.name),
                )
                for command in commands
            ]
            bar = cut(rect, "top", int((self.bar_lines - 0.25) * painter.line_height))
            aids.draw_actions(painter, bar, slots, partial(self.stage.draw_icon, painter.surface))
        super().draw_controls(painter, rect)

    def _draw_hints(self, painter: Painter, rest: Rect, max_lines: int, message: str) -> None:
        if (layout := self._layout) and not (self.is_research or self._has_timeline):
            above = layout.controls.y + int(self.bar_lines * painter.line_height)
            panels = (each.bottom for each in (layout.panel, layout.side) if each.h)
            above = max([above, *panels])
            rest.centery = (above + painter.area.bottom) // 2  # of the bar below the board
        super()._draw_hints(painter, rest, max_lines, message)

    def current_key_caps(self) -> Sequence[KeyCaps]:
        """Return the keys of the episode; for players none at its end."""
        # the card at its end has them
        return ((),) if self.frame.outcome and not self.is_research else self.key_caps()

    def key_caps(self) -> Sequence[KeyCaps]:
        """Return (key, word) pairs for at most `MAX_CAPS` keys, and below them those of a second
        player; () in the research view."""
        if self.is_research:
            return ()
        label = self.app.bindings.label
        in_bar = [command.name for command in self._icon_commands]
        names = [n for n in self.stage.hinted_commands if n not in (*_WAITS, *in_bar)]
        moves = self._caps_of(names, self.stage.steering)
        last = [(label("play", "undo"), "undo")]
        if self.game.pack_level:
            last.append((label("play", "hint"), "hint"))
        if self.game.scenario.beat:
            last.append((label("play", "real_time"), "time"))
        if self.has_command("partner"):
            last.append(
                (label("play", "partner"), "2 players" if self.game.has_partner else "alone")
            )
        elif self.has_command("next_agent"):
            last.append((label(self.domain.title, "next_agent"), "switch"))
        more = (label("view", "help"), "more")
        own: KeyCaps = self._pick_caps([*moves[: MAX_CAPS - 1 - len(last)], *last, more])
        if len(self.game.agents) != 2 or self.game.has_partner:
            return (own,)
        group, second = self.domain.title, self.game.agents[1]
        steering = [c for c in self.stage.steering if c.name.startswith(f"{second} ")]
        names = [
            command.name
            for command in self.app.bindings.commands(group)
            if command.name.startswith(f"{second} ") and self.has_command(command.name)
        ]
        others = self._pick_caps(self._caps_of(names, steering))
        first, other = self._agent_title(self.game.controlled), self._agent_title(second)
        return ((("", first), *own), (("", other), *others))

    def _agent_title(self, agent: str) -> str:
        """Return the name of the colour of the agent called `agent`; its own name if it has
        none."""
        if agent == self.game.controlled:
            return self._own_color or agent
        cells = [mark.cell for mark in self.frame.marks if mark.name == agent]
        color = int(self.frame.grid[cells[0]][2]) if cells else 0
        return COLORS[color].capitalize() if color else agent

    def _caps_of(
        self, names: Sequence[str], steering: Sequence[KeyCommand]
    ) -> list[tuple[str, str]]:
        """Return the (key, word) pairs of the commands called `names`, after one for all of
        `steering`, or for all arrow keys of which some turn the agent."""
        group, bindings = self.domain.title, self.app.bindings
        commands = {command.name: command for command in bindings.commands(group)}
        caps = [(bindings.join_labels(group, steering[:4]), "move")] if steering else []
        turns = [commands[name] for name in _TURNS if name in names]
        if len(turns) == len(_TURNS):
            caps.append((bindings.join_labels(group, turns), "turn"))
        for name in names:
            if name in (*_TURNS, *(command.name for command in steering)) and (turns or steering):
                continue
            words = commands[name].description.rpartition(": ")[2].partition(",")[0]
            words = words if len(words) <= MAX_WORDS else words.removeprefix("to the ").split()[0]
            key = bindings.label(group, self.stage.find_command_with_keys(name))
            caps.append((key, _WORDS.get(name.rpartition(" ")[2], words)))
        return caps

    @staticmethod
    def _pick_caps(caps: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(key, word) for key, word in caps if key][:MAX_CAPS]

    @property
    def _second_player_hint(self) -> str:
        """Keys of the second player, such as `agent_2: W A S D move, F use what is ahead`."""
        second, group, bindings = self.game.agents[1], self.domain.title, self.app.bindings
        commands = [
            command
            for command in bindings.commands(group)
            if command.name.startswith(f"{second} ") and self.has_command(command.name)
        ]
        steering = [command for command in commands if command in self.stage.steering]
        texts = [f"{bindings.join_labels(group, steering[:4])} move"] if steering else []
        for command in commands:
            if command not in steering:
                words = command.description.removeprefix(f"{second}: ")
                texts.append(self.hint(group, command.name, words))
        return f"{second}: {', '.join(filter(None, texts))}"

    def current_hints(self) -> Sequence[str]:
        """Return the hints to show: during the episode `hints()`, at its end hints on the keys for
        what to do next."""
        if not self.frame.outcome:
            return self.hints()
        choices = [
            self.hint("play", name, label.lower()) for label, name in self._list_end_choices()
        ]
        return (*choices, self.hint("view", "help", "all keys"))

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the game with `painter`; at the end of the episode also the result and buttons for
        what to do next."""
        super().draw(painter, now)
        if self.frame.outcome and self._layout and not self._is_animating:
            if self.is_research:
                self._draw_end(painter, self._layout.panel)
            else:
                line = painter.line_height
                self._draw_end(painter, self._layout.stage.inflate(-line, -line))

    def _describe_view(self) -> str:
        has_peeked = self._controller.record_peek(self.stage.view) and self.game.pack_level
        return super()._describe_view() + ". This is no first try now" * bool(has_peeked)

    @property
    def goal(self) -> str:
        """Instructions of the level, or else its goal."""
        return self._instructions or super().goal

    @property
    def _instructions(self) -> str:
        level, steering = self.game.pack_level, self.stage.steering
        says = level.says if level else ""
        return self.app.bindings.fill_in_keys(says, self.groups, steering, clicks=True)

    def _list_end_choices(self) -> Sequence[tuple[str, str]]:
        """Return (label, command) of the buttons that are shown at the end of the episode."""
        is_saved = self._saved_state == self.game.state_digest()
        replay = ("Watch replay", "watch") if is_saved else ("Save replay", "save_replay")
        undo, next_level = ("Undo", "undo"), "Next level"
        if self.game.is_lost:
            return (("Try again", "go_on"), undo, (next_level, "next_level"), replay)
        if self.frame.success and is_last_level(self.game.scenario):
            next_level = "Back to the levels"
        return ((next_level, "go_on"), ("Restart", "again"), undo, replay)

    @property
    def _result_text(self) -> str:
        steps = format_count(self.frame.steps, "step")
        if self.is_research:
            steps = f"Return {format_reward(self.frame.total)} in {steps}"
        elif self.has_score:
            steps = f"Score {format_reward(self.frame.total).lstrip('+')} · {steps}"
        return self.app.progress.format_result(self.game, self.frame.steps) or steps

    def _draw_end(self, painter: Painter, area: Rect) -> None:
        """Draw the card at the end of the episode into `area`. The hints name the keys of choices
        for which it has no room."""
        level = self.game.pack_level if self.frame.success else None
        choices, label = self._list_end_choices(), partial(self.app.bindings.label, "play")
        card = EndCard(
            title="Solved!" if level else self.frame.ending,
            result=self._result_text,
            color="loss" if self.frame.success is False or self.game.is_lost else "gain",
            choices=choices,
            won=self.app.progress.medals(level) if level else None,
            has_par=bool(level and level.par),
            run_command=self.run_command,
            key_label=label,
        )
        agent = None if self.is_research else self.stage.agent_rect
        num_buttons = card.draw(painter, area, not self.is_research, agent)
        if self._layout and not self.is_research:
            caps = [(label(name), text.lower()) for text, name in choices[num_buttons:]]
            hints = self._layout.hints.copy()
            painter.draw_keys(cut(hints, "bottom", painter.line_height), self._pick_caps(caps))
