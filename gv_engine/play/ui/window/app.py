"""The app: a window, a stack of screens and the event loop.

The loop sleeps while nothing moves. `Screen.tick` returns when it wants to be called again, and
`needs_redraw` asks for a new picture; key presses are handled as soon as they arrive.

`Keyboard.keys` (screens/keyboard.py) names a key press, `Bindings.find` (input/bindings.py) finds
its command, and the screen on top runs the command: `PlayScreen.run_command` (screens/play.py), or
the function in `Screen.commands` if the command is no action. The stage of the domain turns an
action's command into the action (`GridStage.command` in domains/grid/stage.py), which
`PlayScreen.take_action` passes to `PlayController.take_action` (session/controller.py), which the
terminal and text games call, too; from there it goes through `Session.step` (session/session.py)
to the `step` of the episode (domains/grid/episode.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Unpack

from gv_engine.play.editor.document import new_document, open_document, open_unsaved
from gv_engine.play.session.autoplay import Autoplayer, Opponent
from gv_engine.play.session.catalogue import Entry, load_playable
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import Replay, ReplayError, scenario_of_replay
from gv_engine.play.session.rollout_games import RolloutSessions, is_rollout
from gv_engine.play.session.session import Session
from gv_engine.play.session.watchdog import PATIENCE, StuckRule, Watchdog
from gv_engine.play.ui.autosave import Autosave, UnsavedEdits, find_autosaves
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.drawing.widgets import Painter, Pixel, line_height
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.screens import sounds
from gv_engine.play.ui.screens.autoplay import AutoplayScreen, RaceScreen
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.game_screen import GameScreen
from gv_engine.play.ui.screens.menu import AutosaveMenu, HelpScreen, Menu, MenuRow
from gv_engine.play.ui.screens.packs import PackCard, PackEnd, make_card
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.replay import CompareScreen, ReplayScreen, RolloutScreen
from gv_engine.play.ui.screens.screen import AppContext
from gv_engine.play.ui.screens.settings import SettingsScreen
from gv_engine.play.ui.settings import Settings, forced_scale, level_folder
from gv_engine.play.ui.window.viewer import open_window
from gv_engine.rules.errors import complain
from gv_engine.scenario.documents.trust import Consent

ANSWER_EVENTS = (
    *(pygame.KEYDOWN, pygame.CONTROLLERBUTTONDOWN, pygame.MOUSEBUTTONDOWN),
    pygame.TEXTINPUT,  # text of keys that were no answer is dropped
)
QUESTION = "Wait for it, or stop it: then the game is as it was before."


class StopQuestion(Menu):
    """Dialog over the last picture that asks whether to stop a running rule.

    Attributes:
        rule: the running rule, with the time since it began.
        is_confirmed: True after the user has chosen to stop the rule.
    """

    rule: StuckRule

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.is_confirmed = False
        pygame.event.clear(ANSWER_EVENTS)  # drop events from before the question

    @property
    def title(self) -> str:  # type: ignore[override]  # it changes with time
        """Time for which the rule has been running."""
        return f"A rule has been running for {self.rule.seconds:.0f} s"

    @property
    def text_above(self) -> str:
        """Name of the rule, and what the user can do."""
        return f"{self.rule}\n{QUESTION}"

    def rows(self) -> Sequence[MenuRow]:
        """Return the row that stops the rule."""
        key = self.app.bindings.label("menu", "leave")
        return [MenuRow("Stop it", lambda _: self._confirm(), key=key)]

    def run_command(self, name: str) -> None:
        """Stop the rule if the command `name` chooses or leaves."""
        if name in ("choose", "leave"):
            self._confirm()

    def _confirm(self) -> None:
        self.is_confirmed = True


TITLE = "GV Engine"
FRAME_TIME = 1 / 60  # s: no two pictures follow each other faster
# SDL waits by looking every millisecond, which costs more of a core than is nice
NAP, DOZE = (
    0.005,
    0.04,
)  # s between two polls for events: soon after an event, and ten seconds later
DROWSINESS = DOZE / 10  # share of the time since the last event
MOUSE_EVENTS = (
    *(pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP, pygame.MOUSEMOTION),
    *(pygame.MOUSEWHEEL, pygame.WINDOWLEAVE),
)


class App(AppContext):
    """The app: opens the window and screens, and runs the event loop."""

    def __init__(self, settings: Settings, bindings: Bindings, **consent: Unpack[Consent]) -> None:
        super().__init__(settings, bindings, **consent)
        self._last_event = 0.0
        self._must_reopen = False
        self._painter: Painter | None = None
        self._mouse: Pixel | None = None
        self._question: StopQuestion | None = None
        self._picture_below: pygame.Surface  # what the question is drawn over

    @classmethod
    def load(cls, **consent: Unpack[Consent]) -> App:
        """Return an app with settings and key bindings read from the player's files; show and print
        messages about errors in the files. `consent` says which Python code may run."""
        settings, settings_error = Settings.load()
        bindings, keys_error = Bindings.load()
        app = cls(settings, bindings, **consent)
        messages = [*filter(None, (settings_error, keys_error, app.progress.error))]
        for message in messages:
            complain(message)
        if messages:
            app.show_note(" · ".join(messages), stays=20)
        return app

    @property
    def scale(self) -> float:
        """Scale of text and panels: from `GV_ENGINE_SCALE` if set, else from the settings, else
        from the size of the monitor."""
        return forced_scale() or self.settings.scale or self._choose_monitor_scale()

    # ---- opening screens -------------------------------------------------------------

    def show_help(self, groups: tuple[str, ...], has_command: Callable[[str], bool]) -> None:
        """Open the list of keys of the commands in `groups`."""
        self.push(HelpScreen(self, groups, has_command))

    def open_settings(self) -> None:
        """Open the settings."""
        self.push(SettingsScreen(self))

    def play(self, source: str, seed: int | None = None) -> None:
        """Open a game of the scenario `source` (name or file) in the level of `seed`."""
        game = Session(load_playable(source, **self.consent), seed)
        self.play_session(game)
        if isinstance(screen := self.top, PlayScreen):
            screen.assign_opponents()

    def play_session(self, game: Session) -> None:
        """Open a screen to play the session `game` from its current step, and add its scenario to
        the recent ones."""
        self.push(PlayScreen(self, game))
        self.add_recent(game.scenario)

    def end_pack(self, source: str) -> None:
        """Close the game on top, and show the end of the pack of the level `source`."""
        self.pop()  # the map below may show the end
        card = make_card(Entry(source.rpartition("#")[0], "Files"))
        if isinstance(card, PackCard) and not isinstance(self.top, PackEnd):
            self.push(PackEnd(self, card))

    def edit(self, source: str) -> None:
        """Open the scenario `source` (name or file) in the editor."""
        self.push(EditScreen(self, open_document(source, **self.consent)))

    def edit_new_level(self, starter: str) -> None:
        """Open a new level, which begins as a copy of `starter`, in the editor."""
        self.push(EditScreen(self, new_document(starter, **self.consent)))

    def watch_replay(self, file: Path, scenario: Playable | None = None) -> None:
        """Open the screen that plays `file`, a replay or a folder of episodes; `scenario` is a
        candidate for the recorded scenario."""
        if is_rollout(file):
            self.push(RolloutScreen(self, RolloutSessions(file, scenario, **self.consent)))
            return
        replay = Replay.load(file)
        scenario = self.find_scenario(replay, file, scenario)
        self.push(ReplayScreen(self, Game.from_replay(replay, scenario)))

    def _resume_replay(self, replay: Replay, scenario: Playable, step: int | None = None) -> None:
        game = Session.from_replay(replay, scenario)
        game.seek(game.length if step is None else step)
        self.play_session(game)

    def resume_game(self, file: Path) -> None:
        """Continue the game saved in the replay `file` from its last step."""
        replay = Replay.load(file)
        source = self.find_recent_file(replay)
        scenario = load_playable(source, **self.consent) if source else None
        self._resume_replay(replay, self.find_scenario(replay, file, scenario))

    def offer_autosaves(self) -> None:
        """If a window has left unsaved work behind, ask the user what to do with it."""
        if found := find_autosaves():
            self.push(AutosaveMenu(self, found))

    def resume_autosave(self, autosave: Autosave) -> None:
        """Continue the game or the edits of `autosave`, and delete its file."""
        work = autosave.work
        if isinstance(work, UnsavedEdits):
            document = open_unsaved(work.text, work.file, work.variant, **self.consent)
            self.push(EditScreen(self, document))
        else:
            self.resume_game(autosave.file)
        self._autosaves.flush(self._unsaved_works)
        if not self._autosaves.error:
            autosave.discard()

    def resume_from_text(self, line: str) -> None:
        """Continue the game in `line`, a text copied with the copy command; a level that this
        machine does not have is read from the text."""
        replay = Replay.from_line(line)
        try:
            scenario = self.find_scenario(replay, Path("pasted text"))
        except ReplayError:  # no known scenario fits
            scenario = scenario_of_replay(replay, level_folder())
        self._resume_replay(replay, scenario)

    def take_over(self, replay_session: Game) -> None:
        """Open a new game that continues from the current step of the replay in
        `replay_session`."""
        replay, step = replay_session.replay(), replay_session.position
        self._resume_replay(replay, replay_session.scenario, step)

    def watch_agent(self, game: Session, autoplayer: Autoplayer) -> None:
        """Open a screen in which `autoplayer`, a policy or the solver, plays the session `game`."""
        self.push(AutoplayScreen(self, game, autoplayer))
        self.add_recent(game.scenario)

    def start_race(self, opponent: Opponent) -> None:
        """Open a race screen, on which the user plays the level of `opponent` beside the opponent's
        game."""
        session = Session(opponent.session.scenario, opponent.session.seed)
        self.push(RaceScreen(self, session, opponent))
        self.add_recent(session.scenario)

    def open_comparison(self) -> None:
        """Open the screen that shows the game on top as it was before its files were changed."""
        assert isinstance(self.top, GameScreen)
        self.push(CompareScreen(self, self.top))

    # ---- the loop --------------------------------------------------------------------

    def toggle_full_screen(self) -> None:
        """Switch between window and full screen when the pressed key is let go: a new window would
        get a held key as a new press."""
        self.settings.full_screen = not self.settings.full_screen
        self.save_settings()
        self._must_reopen = True
        self._reopen_when_released()

    def _reopen_when_released(self) -> None:
        if self._must_reopen and not self._keyboard.holds_last_key:
            self._must_reopen = False
            self._open()

    def run(self, open_first_screens: Callable[[App], None]) -> None:
        """Open the window, call `open_first_screens`, and handle events until the window or the
        last screen is closed.

        Args:
            open_first_screens: function that pushes the first screens, called once the window is
                open.

        Raises:
            NoDisplay: no window can be opened.
        """
        self._open()
        try:
            with Watchdog(PATIENCE, self._ask_to_stop):
                with self.showing_errors():
                    open_first_screens(self)
                    self.offer_autosaves()
                self._run_loop()
        except KeyboardInterrupt:
            pass
        finally:
            self.quit()
            self.save_settings()
            self._keyboard.close()
            sounds.close()
            pygame.display.quit()

    def _run_loop(self) -> None:
        """Run the event loop: draw, call the top screen's `tick` and handle events until no screen
        is left."""
        last_draw = 0.0
        while self.screens:
            now = time.monotonic()
            if self.needs_redraw and now >= last_draw + FRAME_TIME:
                with self.showing_errors():
                    self.draw_on(pygame.display.get_surface(), now)
                pygame.display.flip()
                last_draw = now
            seconds_to_tick = None
            with self.showing_errors():
                seconds_to_tick = self.top.tick(now)
            self._question = None
            waits = [wait for wait in (seconds_to_tick, self.autosave(now)) if wait is not None]
            if self.needs_redraw:
                waits.append(last_draw + FRAME_TIME - time.monotonic())
            if self._note:
                waits.append(self._note_until - now)
                if now >= self._note_until:
                    self._note, self.needs_redraw = "", True
            if self._caption:
                waits.append(self._caption_until - now)
                if now >= self._caption_until:
                    self._caption, self.needs_redraw = "", True
            if self.screens:
                self.handle_events(self._wait_for_events(min(waits, default=math.inf)))

    def _ask_to_stop(self, rule: StuckRule) -> bool:
        """Show the dialog that asks whether to stop the long-running `rule`; return True if the
        user has chosen to stop it. Called repeatedly while the rule runs."""
        surface = pygame.display.get_surface()
        if self._question is None:
            self._question, self._picture_below = StopQuestion(self), surface.copy()
        question = self._question
        question.rule = rule
        surface.blit(self._picture_below, (0, 0))
        line = line_height(surface.get_size(), self.scale)
        painter = Painter(surface, self.theme, line, pygame.mouse.get_pos())
        painter.dim()
        question.draw(painter, time.monotonic())
        pygame.display.flip()
        self.needs_redraw = True
        for event in pygame.event.get(ANSWER_EVENTS):
            if event.type == pygame.MOUSEBUTTONDOWN:
                painter.handle_mouse(event)
            for key, is_repeat in self._keyboard.keys(event):
                if not is_repeat:
                    question.run_command(self.bindings.command_name(key, ("menu",)))
        return question.is_confirmed or pygame.event.peek(pygame.QUIT)

    def _open(self) -> None:
        """Open the window, or open it again, in the size that the settings have."""
        size = tuple(self.settings.window) or None
        open_window(TITLE, size, self.settings.full_screen)  # type: ignore[arg-type]  # 0 or 2 sides
        self._keyboard.open()
        self.has_focus = self.needs_redraw = True

    def _choose_monitor_scale(self) -> float:
        """Return a factor for text and panels, from 1 to 3, that suits the height of the
        monitor."""
        if not pygame.display.get_init():
            return 1.0
        height = pygame.display.get_desktop_sizes()[0][1]
        return max(1.0, min(3.0, height // 270 / 4))

    def _wait_for_events(self, max_seconds: float) -> list[pygame.event.Event]:
        """Return the next events of the window, waiting at most `max_seconds` seconds; [] if there
        are none."""
        now = time.monotonic()
        end_time = now + max_seconds
        while not (events := pygame.event.get()) and now < end_time:
            nap = max(NAP, min(DOZE, (now - self._last_event) * DROWSINESS))
            time.sleep(min(nap, end_time - now))
            now = time.monotonic()
        if events:
            self._last_event = now
        return events

    def handle_events(self, events: Iterable[pygame.event.Event]) -> None:
        """Handle the given window events, and repeat the commands of gamepad buttons that are
        held."""
        now, events = time.monotonic(), list(events)
        self._keyboard.begin_batch(events)
        for event in events:
            if not self.screens:
                return
            with self.showing_errors():
                self._handle_event(event)
        for key in self._keyboard.repeated_buttons(now):  # buttons just released do not repeat
            if self.screens:
                with self.showing_errors():
                    self._press_key(key, True)
        self._reopen_when_released()

    def _handle_event(self, event: pygame.event.Event) -> None:
        """Handle one event of the window, mouse, keyboard or gamepad."""
        if event.type == pygame.QUIT:
            self.quit()
        elif event.type in (pygame.VIDEORESIZE, pygame.WINDOWEXPOSED):
            self.needs_redraw = True
            if event.type == pygame.VIDEORESIZE and not self.settings.full_screen:
                self.settings.window = [max(100, side) for side in event.size]
        elif event.type in MOUSE_EVENTS:
            self._handle_mouse(event)
        elif event.type == pygame.TEXTINPUT:
            if self._keyboard.accepts_text:
                self.needs_redraw = True
                self.top.on_text(event.text)
        elif event.type == pygame.DROPFILE:
            self.top.on_file_drop(Path(event.file))
        else:
            if event.type in (pygame.WINDOWFOCUSLOST, pygame.WINDOWFOCUSGAINED):
                self.has_focus = event.type == pygame.WINDOWFOCUSGAINED
                self.needs_redraw = True
            self.needs_redraw |= event.type == pygame.KEYMAPCHANGED
            for key, is_repeat in self._keyboard.keys(event):
                self._press_key(key, is_repeat)

    def _press_key(self, key: str, is_repeat: bool) -> None:
        """Run the command bound to `key`, unless the top screen captures the key; `is_repeat` is
        True if the key was already held."""
        if not is_repeat and self.top.capture_key(key):
            self._keyboard.accepts(key, is_repeat, False)
            self.needs_redraw = True
            return
        command = self.bindings.find(key, self.top.groups)
        if not command:
            return
        can_repeat = command.repeats and self.top.can_repeat(command.name)
        if self._keyboard.accepts(key, is_repeat, can_repeat):
            self._mouse = None  # a player who uses keys wants to see the board, not its labels
            self._note, self.needs_redraw = "", True
            if command.name == "full_screen":
                self.toggle_full_screen()
            elif command.name == "sound":
                self.turn_sound(not self.settings.sound)
            else:
                self.top.run_command(command.name)

    def _handle_mouse(self, event: pygame.event.Event) -> None:
        """Pass a mouse event to the hit areas of the last picture; if it hits none, or the mouse
        moves without dragging one, to the screen on top."""
        if event.type != pygame.MOUSEWHEEL:
            self._mouse = getattr(event, "pos", None)
        is_handled = self._painter is not None and self._painter.handle_mouse(event)
        is_motion = event.type == pygame.MOUSEMOTION
        self.needs_redraw |= is_handled or not is_motion
        if not is_handled or (is_motion and not event.buttons[0]):
            self.top.on_mouse(event)

    def draw_on(self, surface: pygame.Surface, now: float) -> None:
        """Draw the visible screens and the current note on `surface`; `now` is the time in
        seconds."""
        self.needs_redraw = False
        line = line_height(surface.get_size(), self.scale)
        painter = Painter(surface, self.theme, line, self._mouse, self._painter)
        surface.fill(self.theme.background)
        opaque = (index for index, screen in enumerate(self.screens) if not screen.is_overlay)
        first = max(opaque, default=0)
        for screen in self.screens[first:]:
            if screen.is_overlay:
                painter.dim()
            screen.draw(painter, now)
        if self._caption:
            painter.draw_caption(self._caption)
        if self._note:
            painter.draw_note(self._note, self.top.footer_lines)
        self._painter = painter
