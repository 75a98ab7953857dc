"""A game in a terminal: what keys do, and what stands on the screen."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from itertools import chain, zip_longest
from typing import Protocol

from rich.text import Text

from gv_engine.rules.errors import GVEngineError, reason
from gv_engine.rules.frame import Scene
from gv_engine.scenario.map import signed
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.session.catalogue import load_playable, next_size_variant
from gv_engine.session.replay import SUFFIX
from gv_engine.session.session import SESSION_COMMANDS, Session, parse_seed
from gv_engine.session.watchdog import PATIENCE, StuckRule, Watchdog
from gv_engine.ui.colors import THEMES
from gv_engine.ui.input.bindings import PAD, Bindings, key_label
from gv_engine.ui.settings import Progress, Settings, new_file, replay_folder
from gv_engine.ui.terminal.picker import LevelPicker
from gv_engine.ui.terminal.picture import terminal_picture
from gv_engine.ui.terminal.tty import Keys, Tty

_PANEL = 30
"""Columns that the panel needs beside the boards."""
_WIDE = 80
"""Columns from which on the panel stands beside the boards, even if these are cut for it."""
_MARGIN = 2
_LEAST = (50, 16)
"""Columns and lines in which a level of usual size can be played."""
_LOOK_EVERY = 0.25  # s between two looks at the terminal's size and the scenario's files
_FOLLOWS = 0.05  # s after which the rest of a sequence is no longer expected


class Shown(Protocol):
    """What fills the terminal.

    Attributes:
        stale: whether the lines may have changed since they were asked for.
        left: whether the player has had enough.
    """

    stale: bool
    left: bool

    @property
    def ground(self) -> str:
        """Style of all that nothing stands on."""

    def lines(self, width: int, height: int) -> list[Text]:
        """The screen, from the top, in so many characters."""

    def press(self, key: str) -> None:
        """What a key does."""

    def patience(self, now: float) -> float:
        """Seconds to wait for a key, at this time."""

    def tick(self, now: float) -> None:
        """Let time pass."""

    def look(self) -> None:
        """See whether files have changed."""


def play(
    game: Session | None, settings: Settings, bindings: Bindings, begin: Callable[[str], Session]
) -> None:
    """Play until the player leaves or the terminal is gone.

    Args:
        game: what is played; None to choose from a list, again and again.
        settings: theme, palette and speed count.
        bindings: the keys.
        begin: begins the game of a scenario that was chosen.

    Raises:
        NoTerminal: there is none.
        KeyboardInterrupt: Ctrl-C was pressed, and not to stop a rule; the terminal is as before.
    """
    with Tty() as tty, Watchdog(PATIENCE, lambda runaway: tty.ask(_asks(runaway))):
        if game is not None:
            _show(tty, TerminalGame(game, settings, bindings))
            return
        picker = LevelPicker(settings, bindings, begin)
        while _show(tty, picker) and picker.game is not None:
            if not _show(tty, TerminalGame(picker.game, settings, bindings)):
                return
            picker.again()


def _show(tty: Tty, screen: Shown) -> bool:
    """Show it until the player has had enough of it; returns whether there is still a terminal."""
    keys = Keys()
    size = tty.size
    looked = 0.0
    tty.show(screen.lines(*size), screen.ground)
    while not screen.left:
        now = time.monotonic()
        data = tty.read(_FOLLOWS if keys.waiting else screen.patience(now))
        if data is None:
            return False
        for key in keys.feed(data) if data or not keys.waiting else keys.pause():
            screen.press(key)
        screen.tick(time.monotonic())
        if now - looked >= _LOOK_EVERY:
            looked = now
            screen.look()
        if screen.stale or size != tty.size:
            size = tty.size
            screen.stale = False
            tty.show(screen.lines(*size), screen.ground)
    return True


def _asks(runaway: StuckRule) -> str:
    return f"Ctrl-C: stop what has been running for {runaway.seconds:.0f} s, {runaway}"


class TerminalGame:
    """The screen of a game, as text; see `gv_engine.ui.input.bindings` for its keys.

    Attributes:
        stale: whether the lines may have changed since they were asked for.
        left: whether the player has had enough.
    """

    def __init__(self, game: Session, settings: Settings, bindings: Bindings) -> None:
        self.game = game
        self.stale = True
        self.left = False
        self._usual = bindings
        self._speed = settings.time_speed
        self._theme = THEMES[settings.theme]._replace(palette=settings.palette)
        self._drawn = game.scenario
        self._progress = Progress()
        self._steers = settings.steering == "screen"
        self._picture = terminal_picture(game, self._theme, self._steers)
        self._domain = DOMAINS[game.frame().domain]
        self._groups = (self._domain.title, "play", "view", "window")
        self._views = tuple(self._domain.views)
        self._usual_view = settings.view if settings.view in self._views else self._views[0]
        self._view = self._own_view or self._usual_view
        self._note = ""
        self._typed: str | None = None
        self._leaving = False
        self._helping = False
        self._runs = False
        self._beat = 0.0

    @property
    def ground(self) -> str:
        """Style of all that nothing stands on."""
        return f"{self._theme.text} on {self._theme.background}"

    @property
    def _bindings(self) -> Bindings:
        """The keys, with those of the level's own actions."""
        own = (*self.game.commands, *self._picture.steering)
        return self._usual.of_level(self._domain.title, own)

    # ---- keys and time -------------------------------------------------------------------

    def press(self, key: str) -> None:
        """What a key does, by its name in `gv_engine.ui.input.bindings`."""
        self.stale = True
        self._note = ""
        if self._typed is not None:
            self._type(key)
            return
        helping, self._helping = self._helping, False
        leaving, self._leaving = self._leaving, False
        name = self._bindings.command(key, self._groups)
        if leaving and name in ("menu", "go_on"):
            self.left = True
        elif helping:
            return
        elif name in SESSION_COMMANDS:
            self._try(lambda: SESSION_COMMANDS[name](self.game))
        elif name in _COMMANDS:
            self._try(lambda: _COMMANDS[name](self))
        elif said := self._of_windows(name):
            self._note = f"Only in the window: {said}"
        elif name:
            self._try(lambda: self._act(name))
            if self.game.frame().success:
                self._try(lambda: self._progress.solved(self.game, self.game.frame().steps))

    def _act(self, name: str) -> None:
        for action in self._picture.actions(name):
            self.game.step(action)

    def _of_windows(self, name: str) -> str:
        """What a command does in the window alone; "" if it means something here, or nothing."""
        own, *others = (self._bindings.commands(group) for group in self._groups)
        if any(each.name == name for each in own):  # algebra has hints in both
            return ""
        return next((each.says for each in chain.from_iterable(others) if each.name == name), "")

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (GVEngineError, OSError) as error:
            self._note = reason(error)
        if self._drawn is not self.game.scenario:
            self._drawn = self.game.scenario
            self._picture = terminal_picture(self.game, self._theme, self._steers)
            self._view = self._own_view or self._usual_view

    @property
    def _own_view(self) -> str:
        """The view in which the level wants to be seen; "" for as the player likes."""
        return getattr(self.game.scenario, "view", "")  # algebra has none

    def _type(self, key: str) -> None:
        typed = self._typed or ""
        self._typed = None
        if key in ("Return", "Keypad Enter") and typed:
            self._try(lambda: self.game.reset(parse_seed(typed)))
        elif key == "Backspace":
            self._typed = typed[:-1]
        elif (key.isdigit() or key == "Minus") and len(typed) < 18:
            self._typed = typed + key.replace("Minus", "-")
        elif key not in ("Escape", "Return", "Keypad Enter"):
            self._typed = typed

    def patience(self, now: float) -> float:
        """Seconds to wait for a key, at this time."""
        return min(_LOOK_EVERY, max(0.0, self._beat - now)) if self._runs else _LOOK_EVERY

    def tick(self, now: float) -> None:
        """Let time pass, if it runs."""
        over = bool(self.game.frame().outcome)
        if self._runs and now >= self._beat and not (over or self._leaving or self._helping):
            self._try(lambda: self.game.step(self.game.wait))
            self._beat = now + 1 / self._speed
            self.stale = True

    def look(self) -> None:
        """Load the scenario again if its files have changed."""
        if self.game.has_file_changes():
            self._note = self.game.reload()
            self.stale = True

    def _enter_seed(self) -> None:
        self._typed = ""

    def _real_time(self) -> None:
        if not self.game.wait:
            self._note = "Time cannot run in this level: it has no action that waits"
        self._runs = bool(self.game.wait) and not self._runs

    def _save_replay(self) -> None:
        file = new_file(replay_folder(), self.game, SUFFIX)
        self.game.replay().save(file)
        self._note = f"Saved {file}"

    def _change_view(self) -> None:
        self._view = self._views[(self._views.index(self._view) + 1) % len(self._views)]

    def _kin(self) -> None:
        self.game.change_scenario(load_playable(next_size_variant(self.game.scenario.name)))

    def _menu(self) -> None:
        self._leaving = True

    def _help(self) -> None:
        self._helping = True

    # ---- what is seen --------------------------------------------------------------------

    def lines(self, width: int, height: int) -> list[Text]:
        """The screen, from the top.

        Args:
            width, height: in characters.
        """
        body = self._keys(width, height - 1) if self._helping else self._body(width, height - 1)
        body = [_fitted(line, width) for line in body[: height - 1]]
        body += [Text()] * (height - 1 - len(body))
        few = "" if width >= _LEAST[0] and height >= _LEAST[1] else "Too small a terminal   "
        return [*body, _fitted(Text(few + self._foot(), self._theme.muted), width)]

    def _body(self, width: int, room: int) -> list[Text]:
        """The boards, and the panel beside them or below."""
        if width < _WIDE and len(self._boards(width, room)[0]) + _PANEL > width:
            panel = self._panel(width)
            return [*self._boards(width, max(room - len(panel), room // 2)), *panel]
        left = self._boards(width - _PANEL, room)
        across = len(left[0]) + _MARGIN
        return [
            Text.assemble(line, " " * (across - len(line)), said)
            for line, said in zip_longest(left, self._panel(width - across), fillvalue=Text())
        ]

    def _boards(self, width: int, height: int) -> list[Text]:
        return self._picture.draw(self.game.frame(), self._view, max(1, width), max(1, height))

    def _panel(self, width: int) -> list[Text]:
        """How the game stands, in lines no wider than this."""
        theme, frame = self._theme, self.game.frame()
        of = "" if frame.max_steps is None else f" of {frame.max_steps}"
        ahead = self.game.length - self.game.position
        undone = f" ({ahead} undone)" if ahead else ""
        said = [
            Text(self.game.title, f"bold {theme.accent}"),
            Text(f"seed {self.game.seed}, step {frame.steps}{of}{undone}"),
            Text(f"return {signed(frame.total)}"),
            *map(Text, [f"you are {self.game.controlled}"] * (len(self.game.agents) > 1)),
            *map(Text, self._picture.facts(frame)),
        ]
        if self._runs:
            said.append(Text(f"time runs: {self._speed} steps a second"))
        if frame.action:
            action = frame.action.replace("_", " ").lower()
            said += [Text(), Text.assemble(f"{action} ", self._reward(frame, frame.reward))]
            said += [
                Text.assemble(
                    (f"  {name.replace('_', ' ')} ", theme.muted), self._reward(frame, term)
                )
                for name, term in frame.terms.items()
                if term
            ]
        for note in (self._brief(), frame.message, *self._note.split("\n")):
            rows = textwrap.wrap(note, max(1, width))
            said += [Text()] * bool(rows) + [Text(row, f"bold {theme.text}") for row in rows]
        if frame.outcome:
            said += [
                Text(),
                Text(f" {frame.ending} ", f"bold {theme.on_accent} on {theme.accent}"),
                Text(self._progress.told(self.game, frame.steps)),
            ]
        said += [Text(), *self._picture.legend(frame)]
        return [_fitted(line, width) for line in said]

    def _brief(self) -> str:
        """What the level of a pack says to its players."""
        level = self.game.pack_level
        return self._bindings.named_in(level.says, self._groups) if level else ""

    def _reward(self, frame: Scene, value: float) -> tuple[str, str]:
        theme = self._theme
        below = theme.loss if frame.is_blamed else theme.text
        return signed(value), theme.gain if value > 0 else below if value < 0 else theme.text

    def _foot(self) -> str:
        """What can be pressed now."""
        if self._typed is not None:
            return f"Which seed? {self._typed}_   Enter: play it   Esc: go on"
        if self._leaving:
            return f"Leave? {self._label('menu')}: leave   any other key: go on"
        if self._helping:
            return "Any key: go on"
        if self.game.frame().outcome:
            names = {"go_on": "next level", "again": "same level again", "undo": "undo"}
        else:
            names = {"help": "keys", "undo": "undo", "next_level": "next level"}
        names["menu"] = "leave"
        return "   ".join(f"{self._label(name)}: {says}" for name, says in names.items())

    def _label(self, name: str) -> str:
        labels = (
            self._bindings.label(group, name)
            for group in self._groups
            if any(command.name == name for command in self._bindings.commands(group))
        )
        return next(filter(None, labels), "")

    def _keys(self, width: int, height: int) -> list[Text]:
        """All keys, in as many columns as they need and have room."""
        found: dict[str, tuple[list[str], str]] = {}
        for group in self._groups:
            for command in self._bindings.commands(group):
                own = group == self._domain.title and self._picture.knows(command.name)
                does = own or command.name in (*SESSION_COMMANDS, *_COMMANDS)
                bound = self._bindings.keys(group, command.name)
                keys = [key_label(key) for key in bound if key not in PAD]
                if does and keys and self.game.supports_command(command.name):
                    says = "leave" if command.name == "menu" else command.says
                    found.setdefault(command.name, (keys, says))
        rows = max(1, height - 1)
        columns = min(-(-len(found) // rows), max(1, width // _PANEL))
        each = width // columns
        kept, room = (3, 26) if each >= 2 * _PANEL else (1, 14)
        entries = [
            Text.assemble((f"{', '.join(keys[:kept]):<{room}}", self._theme.accent), says)
            for keys, says in found.values()
        ]
        lines = [Text("Keys", f"bold {self._theme.accent}")]
        for row in range(rows):
            line = Text()
            for entry in entries[row : columns * rows : rows]:
                entry.truncate(max(0, each - 1), overflow="ellipsis", pad=True)
                line.append_text(entry).append(" ")
            lines.append(line)
        return lines


_COMMANDS: dict[str, Callable[[TerminalGame], None]] = {
    "kin": TerminalGame._kin,
    "enter_seed": TerminalGame._enter_seed,
    "real_time": TerminalGame._real_time,
    "save_replay": TerminalGame._save_replay,
    "view": TerminalGame._change_view,
    "menu": TerminalGame._menu,
    "help": TerminalGame._help,
}


def _fitted(line: Text, width: int) -> Text:
    """The line, cut with dots if it is longer than the room."""
    line = line.copy()
    line.truncate(max(1, width), overflow="ellipsis")
    return line
