"""The front end's one event loop: a window, a stack of screens, and what is pressed.

The loop sleeps while nothing moves. A screen says with `tick` when it wants to be woken and with
`stale` that it has to be drawn; key presses are handled when they come, whatever is being drawn.

A key press is named by `Keyboard.keys` (keyboard.py), made a command by `Bindings.find`
(controls/bindings.py) and handed to the screen on top: `PlayScreen.command` (screens/play.py). The
stage of its domain makes an action of it (`GridStage.command` in domains/grid/stage.py), which
`PlayScreen.take` gives to `Session.step` (session/session.py), and that to its episode's `step`
(domains/grid/episode.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Unpack

from gv_engine.editor.document import new_document, open_document
from gv_engine.rules.errors import GVEngineError, Stopped, TrustError, complain, reason
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.scenario.trust import Consent
from gv_engine.session.autoplay import Autoplayer, Opponent
from gv_engine.session.catalogue import is_scenario_text, load_playable, load_referenced, source_of
from gv_engine.session.episode import Playable
from gv_engine.session.replay import Replay, ReplayError, scenario_of_replay
from gv_engine.session.rollout_games import RolloutSessions, is_rollout
from gv_engine.session.session import Session
from gv_engine.session.watchdog import PATIENCE, StuckRule, Watchdog
from gv_engine.ui.colors import THEMES, Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, Pixel, line_height
from gv_engine.ui.input.bindings import Bindings, BindingsError
from gv_engine.ui.input.rebinding import lost, rebind
from gv_engine.ui.screens import sounds
from gv_engine.ui.screens.autoplay import ActingScreen
from gv_engine.ui.screens.compare import BeforeScreen
from gv_engine.ui.screens.edit import EditScreen
from gv_engine.ui.screens.edit_menu import StarterMenu
from gv_engine.ui.screens.game_screen import GameScreen
from gv_engine.ui.screens.help import HelpScreen
from gv_engine.ui.screens.keyboard import Keyboard
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.race import RaceScreen
from gv_engine.ui.screens.replay import ReplayScreen, RolloutScreen
from gv_engine.ui.screens.screen import NOTE_STAYS, AppContext, Screen
from gv_engine.ui.screens.settings import SettingsScreen
from gv_engine.ui.settings import Progress, Settings, forced_scale, level_folder
from gv_engine.ui.window.confirm_stop import Question
from gv_engine.ui.window.viewer import open_window

TITLE = "GV Engine"
FRAME = 1 / 60  # s: no two pictures follow each other faster
# SDL waits by looking every millisecond, which costs more of a core than is nice
NAP, DOZE = 0.005, 0.016  # s between two looks at what was pressed: by habit, and when nothing was
AWAKE = 1.0  # s after something happened
HELD = 0.6  # s: who presses the key for full screen twice in less is holding it
MOUSE = (
    pygame.MOUSEBUTTONDOWN,
    pygame.MOUSEBUTTONUP,
    pygame.MOUSEMOTION,
    pygame.MOUSEWHEEL,
    pygame.WINDOWLEAVE,
)


class App(AppContext):
    """The app: it knows all screens, and they know it as their host.

    Attributes:
        screens: the stack; the last one has the keys.
        told: the games that were played, for a word at the end.
        consent: which Python scenarios may run, as for `load_scenario`.
    """

    def __init__(self, settings: Settings, bindings: Bindings, **consent: Unpack[Consent]) -> None:
        self.settings, self._bindings, self.consent = settings, bindings, consent
        self.progress = Progress()
        self._opened: dict[str, Playable] = {}
        self.screens: list[Screen] = []
        self.stale = True
        self.told: list[Session] = []
        self._keyboard = Keyboard()
        self._note, self._note_until = "", 0.0
        self._unwritten = ""
        self._happened = 0.0
        self._toggled = 0.0
        self._pen: Painter | None = None
        self._mouse: Pixel | None = None
        self._question: Question | None = None

    @classmethod
    def load(cls, **consent: Unpack[Consent]) -> App:
        """An app with the player's settings and keys; what is wrong with them is said."""
        settings, wrong = Settings.load()
        bindings, broken = Bindings.load()
        app = cls(settings, bindings, **consent)
        troubles = [trouble for trouble in (wrong, broken, app.progress.wrong) if trouble]
        for trouble in troubles:
            complain(trouble)
        if troubles:
            app.say(" · ".join(troubles), stays=20)
        return app

    @property
    def theme(self) -> Theme:
        return THEMES[self.settings.theme]._replace(palette=self.settings.palette)

    @property
    def bindings(self) -> Bindings:
        levels = (screen.level for screen in reversed(self.screens) if screen.level[1])
        return self._bindings.of_level(*next(levels, Screen.level))

    @property
    def scale(self) -> float:
        """Size of text and panels: what `GV_ENGINE_SCALE` or the settings say, or the screen's."""
        return forced_scale() or self.settings.scale or self._screens_scale()

    @property
    def top(self) -> Screen:
        """The screen that has the keys."""
        return self.screens[-1]

    def push(self, screen: Screen) -> None:
        self.screens.append(screen)
        self._keyboard.forget_text()
        self.stale = True

    def pop(self) -> None:
        self.screens.pop().closed()
        self._keyboard.forget_text()
        self.stale = True
        if self.screens:
            self.top.uncovered()

    def quit(self) -> None:
        while self.screens:
            self.screens.pop().closed()

    def say(self, note: str, stays: float = NOTE_STAYS) -> None:
        self._note, self._note_until = note, time.monotonic() + stays
        self.stale = True

    def sound(self, name: str) -> None:
        if self.settings.sound and (why := sounds.play_sound(name)):
            self.settings.sound = False
            self.say(why)

    def remember(self) -> None:
        try:
            self.settings.save()
        except OSError as error:
            why = f"Settings are not kept: {reason(error)}"
            if why != self._unwritten:
                self._unwritten = why
                complain(why)
                self.say(why)

    # ---- what is opened --------------------------------------------------------------

    def tell_keys(self, groups: tuple[str, ...], knows: Callable[[str], bool]) -> None:
        self.push(HelpScreen(self, groups, knows))

    def rebind(self, group: str, name: str, keys: Sequence[str] | None) -> None:
        try:
            before, self._bindings = self._bindings, rebind(group, name, keys)
        except BindingsError as error:
            self.say(str(error), stays=15)
        else:
            self.say(lost(before, self._bindings, name))

    def choose_settings(self) -> None:
        self.push(SettingsScreen(self))

    def play(self, source: str, seed: int | None = None) -> None:
        self.begin(Session(load_playable(source, **self.consent), seed))

    def begin(self, game: Session) -> None:
        """Play a game from where it is, and remember its scenario."""
        self.push(PlayScreen(self, game))
        self.has_come_to(game.scenario)

    def choose(self, source: str) -> Playable:
        scenario = load_playable(source, **self.consent)
        self.has_come_to(scenario)
        return scenario

    def has_come_to(self, scenario: Playable) -> None:
        source = source_of(scenario)
        self._opened[source] = scenario
        if scenario.document.pack_level:  # its pack leads to it
            source = source.rpartition("#")[0]
        self.settings.played(source)
        self.remember()

    def edit(self, source: str) -> None:
        self.push(EditScreen(self, open_document(source, **self.consent)))

    def new_level(self) -> None:
        self.push(StarterMenu(self))

    def begin_level(self, starter: str) -> None:
        self.push(EditScreen(self, new_document(starter, **self.consent)))

    def watch(self, file: Path, scenario: Playable | None = None) -> None:
        if is_rollout(file):
            self.push(RolloutScreen(self, RolloutSessions(file, scenario, **self.consent)))
            return
        replay = Replay.load(file)
        self.push(ReplayScreen(self, replay, self._played_again(replay, file, scenario)))

    def go_on(self, file: Path) -> None:
        replay = Replay.load(file)
        named = self.recent_file(replay)
        scenario = load_playable(named, **self.consent) if named else None
        game = self._played_again(replay, file, scenario)
        game.seek(game.length)
        self.begin(game)

    def open_line(self, line: str) -> None:
        replay = Replay.from_line(line)
        try:
            scenario = self.scenario_of(replay, Path("a line that was pasted"))
        except ReplayError:  # nobody knows it here
            scenario = scenario_of_replay(replay, level_folder())
        game = Session.from_replay(replay, scenario)
        game.seek(game.length)
        self.begin(game)

    def take_over(self, replayed: Session) -> None:
        game = Session.from_replay(replayed.replay(), replayed.scenario)
        game.seek(replayed.position)
        self.begin(game)

    def let_act(self, game: Session, actor: Autoplayer) -> None:
        """Let an agent play a game."""
        self.push(ActingScreen(self, game, actor))
        self.has_come_to(game.scenario)

    def race(self, rival: Opponent) -> None:
        own = Session(rival.session.scenario, rival.session.seed)
        self.push(RaceScreen(self, own, rival))
        self.has_come_to(own.scenario)

    def compare(self) -> None:
        assert isinstance(self.top, GameScreen)
        self.push(BeforeScreen(self, self.top))

    def played(self, game: Session) -> None:
        self.told.append(game)

    def recent_file(self, replay: Replay) -> str:
        found = (
            file for file in self.settings.recent if is_scenario_text(file, replay.scenario.text)
        )
        return next(found, "")

    def _played_again(
        self, replay: Replay, file: Path, scenario: Playable | None = None
    ) -> Session:
        return Session.from_replay(replay, self.scenario_of(replay, file, scenario))

    def scenario_of(self, replay: Replay, file: Path, scenario: Playable | None = None) -> Playable:
        given = () if scenario is None else (scenario,)
        known = chain(given, self._opened.values(), self._recent_scenarios(replay, file))
        return replay.find(known)

    def _recent_scenarios(self, replay: Replay, file: Path) -> Iterator[Playable]:
        """Those that the player has played before, as long as they are sound.

        Raises:
            TrustError: the one that the replay is of runs Python of its own.
        """
        for source in self.settings.recent:
            try:
                yield load_referenced(source, file, **self.consent)
            except TrustError:
                if is_scenario_text(source, replay.scenario.text):
                    raise
            except (GVEngineError, OSError):
                continue

    # ---- the loop --------------------------------------------------------------------

    def toggle_full_screen(self) -> None:
        now = time.monotonic()
        pause, self._toggled = now - self._toggled, now
        if pause > HELD:  # the new window does not know that the key is still held
            self.settings.full_screen = not self.settings.full_screen
            self._open()
            self.remember()

    def run(self, screens: Callable[[App], None]) -> None:
        """Open the window and play until it is closed or the last screen has gone.

        Args:
            screens: puts the first screens on the stack, once there is a window.

        Raises:
            NoDisplay: there is no screen.
        """
        self._open()
        try:
            with Watchdog(PATIENCE, self._overrun):
                with self._saying():
                    screens(self)
                self._loop()
        except KeyboardInterrupt:
            pass
        finally:
            self.quit()
            self.remember()
            self._keyboard.close()
            sounds.close()
            pygame.display.quit()

    def _loop(self) -> None:
        drawn = 0.0
        while self.screens:
            now = time.monotonic()
            if self.stale and now >= drawn + FRAME:
                with self._saying():
                    self.draw_on(pygame.display.get_surface(), now)
                pygame.display.flip()
                drawn = now
            due = None
            with self._saying():
                due = self.top.tick(now)
            self._question = None
            waits = [] if due is None else [due]
            if self.stale:
                waits.append(drawn + FRAME - time.monotonic())
            if self._note:
                waits.append(self._note_until - now)
                if now >= self._note_until:
                    self._note, self.stale = "", True
            if self.screens:
                self.take(self._wait(min(waits, default=math.inf)))

    def _overrun(self, runaway: StuckRule) -> bool:
        """In midst of a rule: ask whether to stop it."""
        surface = pygame.display.get_surface()
        if self._question is None:
            self._question = Question(surface, self._keyboard, self.bindings)
        line = line_height(surface.get_size(), self.scale)
        self._question.draw(runaway, self.theme, line)
        pygame.display.flip()
        self.stale = True
        return self._question.answer()

    def _open(self) -> None:
        size = tuple(self.settings.window) or None
        open_window(TITLE, size, self.settings.full_screen)  # type: ignore[arg-type]  # 0 or 2 sides
        self._keyboard.open()
        self.stale = True

    def _screens_scale(self) -> float:
        if not pygame.display.get_init():
            return 1.0
        height = pygame.display.get_desktop_sizes()[0][1]
        return max(1.0, min(3.0, height // 270 / 4))

    def _wait(self, patience: float) -> list[pygame.event.Event]:
        """Wait so many seconds for something to happen; returns all that has."""
        begun = now = time.monotonic()
        while not (events := pygame.event.get()) and now < begun + patience:
            nap = NAP if now < self._happened + AWAKE else DOZE
            time.sleep(min(nap, begun + patience - now))
            now = time.monotonic()
        if events:
            self._happened = now
        return events

    def take(self, events: Iterable[pygame.event.Event]) -> None:
        """Pass on what has happened."""
        self._keyboard.begin()
        for key in self._keyboard.again(time.monotonic()):
            with self._saying():
                self._press(key, True)
        for event in events:
            if not self.screens:
                return
            with self._saying():
                self._take(event)

    def _take(self, event: pygame.event.Event) -> None:
        if event.type == pygame.QUIT:
            self.quit()
        elif event.type in (pygame.VIDEORESIZE, pygame.WINDOWEXPOSED):
            self.stale = True
            if event.type == pygame.VIDEORESIZE and not self.settings.full_screen:
                self.settings.window = [max(100, side) for side in event.size]
        elif event.type in MOUSE:
            self._point(event)
        elif event.type == pygame.TEXTINPUT:
            if self._keyboard.hears_text:
                self.top.typed(event.text)
        elif event.type == pygame.DROPFILE:
            self.top.dropped(Path(event.file))
        else:
            for key, repeated in self._keyboard.keys(event):
                self._press(key, repeated)

    def _press(self, key: str, repeated: bool) -> None:
        if not repeated and self.top.takes(key):
            self._keyboard.counts(key, repeated, False)
            self.stale = True
            return
        command = self.bindings.find(key, self.top.groups)
        if command and self._keyboard.counts(key, repeated, command.repeats):
            self._note, self.stale = "", True
            self._do(command)

    def _do(self, command: KeyCommand) -> None:
        if command.name == "full_screen":
            self.toggle_full_screen()
        else:
            self.top.command(command.name)

    def _point(self, event: pygame.event.Event) -> None:
        if event.type != pygame.MOUSEWHEEL:
            self._mouse = getattr(event, "pos", None)
        if self._pen is None or not self._pen.pointed(event):
            self.top.pointed(event)
        else:
            self.stale = True

    @contextmanager
    def _saying(self) -> Iterator[None]:
        """What goes wrong is said, and the app goes on."""
        try:
            yield
        except (GVEngineError, OSError) as error:
            self.say(reason(error), stays=15)
        except Stopped as stopped:
            self.say(str(stopped), stays=15)

    def draw_on(self, surface: pygame.Surface, now: float) -> None:
        """Draw what is to be seen at a time in seconds."""
        self.stale = False
        line = line_height(surface.get_size(), self.scale)
        pen = Painter(surface, self.theme, line, self._mouse, self._pen)
        surface.fill(self.theme.background)
        first = max(n for n, screen in enumerate(self.screens) if n == 0 or not screen.over)
        for screen in self.screens[first:]:
            if screen.over:
                pen.dim()
            screen.draw(pen, now)
        if self._note:
            pen.note(self._note)
        self._pen = pen
