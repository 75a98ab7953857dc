"""Games in a terminal: the event loop, keys and the layout of the screen."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import Path

from rich.text import Text

from gv_engine.play.session.catalogue import (
    Entry,
    built_in_entries,
    folder_entries,
    search,
    with_pack_levels,
)
from gv_engine.play.session.controller import PLAY_COMMANDS, PlayController, supports_command
from gv_engine.play.session.hot_reload import HotReload
from gv_engine.play.session.session import Session
from gv_engine.play.session.watchdog import PATIENCE, Watchdog
from gv_engine.play.ui.colors import THEMES
from gv_engine.play.ui.input.bindings import PADS, Bindings, key_label, next_row
from gv_engine.play.ui.settings import LOCKED_NOTE, Progress, Settings, save_replay
from gv_engine.play.ui.terminal.tty import Keys, Tty, make_terminal_picture
from gv_engine.rules.errors import GVEngineError, Stopped, error_text
from gv_engine.rules.frame import Scene
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.readers.map import format_reward

# Characters of keys that are neither letters nor digits.
_CHARACTERS_OF_KEYS = {"Space": " ", "Minus": "-", "Period": ".", "Slash": "/"}
_DESCRIPTION_LINES = 3  # lines for the description of the chosen level


class TerminalScreen:
    """Screen that fills the terminal.

    Args:
        settings: settings of the player.
        bindings: key bindings.

    Attributes:
        needs_redraw: True if the lines may have changed.
        left: True after the player has left the screen.
    """

    def __init__(self, settings: Settings, bindings: Bindings) -> None:
        self.needs_redraw = True
        self.left = False
        self._theme = THEMES[settings.theme]._replace(palette=settings.palette)
        self._base_bindings = bindings
        self._progress = Progress()
        self._note = ""

    @property
    def ground(self) -> str:
        """Rich style of the background."""
        return f"{self._theme.text} on {self._theme.background}"

    def lines(self, width: int, height: int) -> list[Text]:
        """Return the lines of text that fill the screen, from the top, in `width` × `height`
        characters."""
        raise NotImplementedError

    def press(self, key: str) -> None:
        """React to the pressed `key`, a key name such as `Up`."""
        raise NotImplementedError

    def wait_seconds(self, now: float) -> float:
        """Return the seconds to wait for a key, at the time `now`."""
        return 1.0  # the terminal's size may change

    def tick(self, now: float) -> None:
        """Do what is due at the time `now`, such as a step in real time."""

    def check_files(self) -> None:
        """Read files again that have changed on disk."""


class LevelPicker(TerminalScreen):
    """Terminal screen that chooses a level and begins its game.

    Args:
        settings: settings with the theme.
        bindings: key bindings; the keys of menus are used.
        begin: function from a scenario's name or file to a new session.

    Attributes:
        game: session of the chosen level, or None.
    """

    def __init__(
        self, settings: Settings, bindings: Bindings, begin: Callable[[str], Session]
    ) -> None:
        """Create a list of all levels; `begin(name)` creates the session of the chosen one."""
        super().__init__(settings, bindings)
        self.game: Session | None = None
        self._begin = begin
        entries = with_pack_levels([*folder_entries(Path.cwd()), *built_in_entries()])
        self._entries = [entry for entry in entries if not entry.missing]
        self._matches = self._entries
        self._locked = self._find_locked()  # digests
        self._locked_entry: Entry | None = None  # chosen once, which has not opened it yet
        self._query = ""
        self._chosen = self._first_visible = 0
        self._num_visible = 1

    def press(self, key: str) -> None:
        """Run the menu command of the pressed `key`, or append its character to the search text."""
        self.needs_redraw = True
        self._note = ""
        name = self._base_bindings.command_name(key, ("menu",))
        row = next_row(name, self._chosen, self._num_visible, len(self._matches))
        typed = _CHARACTERS_OF_KEYS.get(key) or (key.lower() if len(key) == 1 else "")
        if row is not None:
            self._chosen = row
        elif name == "choose" and self._matches:
            self._choose(self._matches[self._chosen])
        elif name == "erase":
            self._search(self._query[:-1])
        elif name == "leave" and self._query:
            self._search("")
        elif name == "leave":
            self.left = True
        elif not name and typed:
            self._search(self._query + typed)

    def reset(self) -> None:
        """Clear the choice of a level and read again which levels are solved, so that the list can
        be shown again."""
        self.game, self.left, self.needs_redraw = None, False, True
        self._progress = Progress()
        self._locked = self._find_locked()

    def _find_locked(self) -> set[str]:
        """Return the digests of all locked levels of packs."""
        locked = set[str]()
        for pack in self._entries:
            if not pack.level:
                levels = (entry.level for entry in pack.levels)
                locked |= self._progress.find_locked(filter(None, levels))
        return locked

    def _choose(self, entry: Entry) -> None:
        """Create the session of the level `entry` and leave the list; if that fails, stay and show
        the error. A locked level opens only when it is chosen twice."""
        is_locked = entry.level and entry.level.digest in self._locked
        if is_locked and self._locked_entry is not entry:
            self._locked_entry = entry
            self._note = LOCKED_NOTE.format(self._base_bindings.label("menu", "choose"))
            return
        try:
            self.game = self._begin(entry.source)
            self.left = True
        except (GVEngineError, OSError, Stopped) as error:
            self._note = error_text(error)

    def _search(self, query: str) -> None:
        self._query = query
        self._chosen = 0
        self._matches = search(query, self._entries, lambda entry: (entry.title, entry.group))

    def lines(self, width: int, height: int) -> list[Text]:
        """Return the lines of the level list from the top, in `width` × `height` characters.

        Args:
            width, height: size of the screen in characters.
        """
        theme, label = self._theme, self._base_bindings.label
        self._num_visible = max(1, height - _DESCRIPTION_LINES - 3)
        rows = self._format_level_rows()
        query_text = f"{self._query}_" if self._query else "type to search"
        leave_text = "clear" if self._query else "leave"
        footer = f"{label('menu', 'choose')}: play   {label('menu', 'leave')}: {leave_text}"
        lines = [
            Text.assemble(("Levels  ", f"bold {theme.accent}"), query_text),
            Text(),
            *rows,
            *[Text()] * (self._num_visible - len(rows)),
            *self._format_description(width),
        ]
        shown = [*lines[: max(0, height - 1)], Text(footer, theme.muted)]
        return [_truncate(line, width) for line in shown]

    def _format_level_rows(self) -> list[Text]:
        """Return a line for each visible level, or a line that says that no level matches."""
        theme, count = self._theme, self._num_visible
        if not self._matches:
            return [Text(f" Nothing fits {self._query!r}", theme.muted)]
        first = max(self._chosen - count + 1, min(self._first_visible, self._chosen))
        self._first_visible = first
        entries = self._matches[first : first + count]
        title_width = max(len(entry.title) for entry in entries) + 2
        rows = [
            Text.assemble(
                (f" {entry.title:<{title_width}}", theme.text),
                (f"{entry.group} ", theme.muted),
                (self._format_progress(entry), theme.gain),
            )
            for entry in entries
        ]
        rows[self._chosen - first].stylize(f"{theme.on_accent} on {theme.accent}")
        return rows

    def _format_progress(self, entry: Entry) -> str:
        """Return par, best and medals of `entry` if it is a level of a pack, such as `par 20 · your
        best 25 · Done`; else ""."""
        if entry.level is None:
            return ""
        goal = self._progress.format_goal(entry.level)
        medals = self._progress.format_medals(entry.level)
        locked = "Locked" if entry.level.digest in self._locked else ""
        return " · ".join(filter(None, (goal, medals, locked)))

    def _format_description(self, width: int) -> list[Text]:
        """Return three lines of `width` characters with the description of the chosen level, or an
        error message."""
        text = self._note
        if not text and self._matches:
            try:
                text = self._matches[self._chosen].description
            except (GVEngineError, OSError) as error:
                text = error_text(error)
        rows = textwrap.wrap(" ".join(text.split()), max(1, width))[:_DESCRIPTION_LINES]
        return [Text(row) for row in rows] + [Text()] * (_DESCRIPTION_LINES - len(rows))


_PANEL_WIDTH = 30  # columns that the panel beside the board needs
# Columns from which on the panel is beside the board, even if the board is cut off.
_WIDE_TERMINAL = 80
_MARGIN = 2
_MIN_SIZE = (50, 16)  # columns and lines that a level of usual size needs
_CHECK_INTERVAL = 0.25  # s between checks of the terminal's size and the scenario's files
_SEQUENCE_TIMEOUT = 0.05  # s to wait for the rest of an escape sequence


def play(
    game: Session | None, settings: Settings, bindings: Bindings, begin: Callable[[str], Session]
) -> None:
    """Let the user play the session `game` in the terminal until the user leaves. If `game` is
    None, the user chooses levels from a list, and `begin(name)` creates their sessions.

    Args:
        game: session to play; None to choose levels from a list.
        settings: theme, palette and speed.
        bindings: key bindings.
        begin: function from a scenario's name or file to a new session.

    Raises:
        NoTerminal: input or output is no terminal.
        KeyboardInterrupt: Ctrl-C was pressed, and not to stop a rule; the terminal is restored.
    """
    question = "Ctrl-C: stop what has been running for {0.seconds:.0f} s, {0}"
    with Tty() as tty, Watchdog(PATIENCE, lambda rule: tty.ask(question.format(rule))):
        if game is not None:
            _run_screen(tty, TerminalGame(game, settings, bindings))
            return
        picker = LevelPicker(settings, bindings, begin)
        while _run_screen(tty, picker) and picker.game is not None:
            if not _run_screen(tty, TerminalGame(picker.game, settings, bindings)):
                return
            picker.reset()


def _run_screen(tty: Tty, screen: TerminalScreen) -> bool:
    """Run the event loop of `screen`: show its lines in the terminal `tty` and pass it the pressed
    keys until the player leaves it. Return False if the terminal was closed."""
    keys = Keys()
    size = tty.size
    last_check = 0.0  # time
    tty.show(screen.lines(*size), screen.ground)
    while not screen.left:
        now = time.monotonic()
        data = tty.read(_SEQUENCE_TIMEOUT if keys.is_waiting else screen.wait_seconds(now))
        if data is None:
            return False
        is_sequence_over = not data and keys.is_waiting
        for key in keys.flush() if is_sequence_over else keys.feed(data):
            screen.press(key)
        screen.tick(time.monotonic())
        if now - last_check >= _CHECK_INTERVAL:
            last_check = now
            screen.check_files()
        if screen.needs_redraw or size != tty.size:
            size = tty.size
            screen.needs_redraw = False
            tty.show(screen.lines(*size), screen.ground)
    return True


class TerminalGame(TerminalScreen):
    """Terminal screen of a game, see `gv_engine.play.ui.input.bindings` for its keys."""

    def __init__(self, game: Session, settings: Settings, bindings: Bindings) -> None:
        super().__init__(settings, bindings)
        self.game = game
        self._controller = PlayController(game, self._progress, self._show_note)
        game.join_partner()
        self._speed, self._shows_rewards = settings.time_speed, settings.research
        self._controller.schedule_next_step(time.monotonic(), self._speed)
        self._shown_hint = ""
        self._drawn_scenario = game.scenario
        self._steers = settings.steers
        self._picture = make_terminal_picture(game, self._theme, self._steers(game.scenario))
        self._domain = DOMAINS[game.frame().domain]
        self._groups = (self._domain.title, "play", "view", "window")
        self._views = tuple(self._domain.views)
        remembered = settings.view if settings.research else ""
        wanted = (view for view in (remembered, "state") if view in self._views)
        self._default_view = next(wanted, self._views[0])
        self._view = self.game.scenario.view or self._default_view
        self._typed_seed: str | None = None
        self._is_leaving = False
        self._is_help_open = False

    @property
    def _bindings(self) -> Bindings:
        level_commands = (*self.game.commands, *self._picture.steering)
        return self._base_bindings.with_level_commands(self._domain.title, level_commands)

    # ---- keys and time -------------------------------------------------------------------

    def press(self, key: str) -> None:
        """Run the command of the pressed `key`; while the player types a seed, edit the seed."""
        self.needs_redraw = True
        self._note = ""
        if self._typed_seed is not None:
            self._edit_seed(key)
            return
        was_help_open, self._is_help_open = self._is_help_open, False
        was_leaving, self._is_leaving = self._is_leaving, False
        name = self._bindings.command_name(key, self._groups)
        if was_leaving and name in ("menu", "go_on"):
            self.left = True
        elif was_help_open or (name == "hint" and self._ask_hint()):
            return
        elif name in PLAY_COMMANDS:
            self._try(lambda: self._controller.run_command(name))
        elif name in _COMMANDS:
            self._try(lambda: _COMMANDS[name](self))
        elif description := self._describe_window_command(name):
            self._note = f"Only in the window: {description}"
        elif name:
            self._try(lambda: self._act(name))

    def _ask_hint(self) -> bool:
        if self._picture.has_hints:
            self._try(self._picture.ask_hint, drops_hint=False)
        return self._picture.has_hints

    def _act(self, name: str) -> None:
        for action in self._picture.actions(name):
            self._controller.take_action(action)

    def _describe_window_command(self, name: str) -> str:
        """Return the description of the command `name` if it is not available in the terminal, only
        in the window; else ""."""
        domain_commands, *other_groups = (self._bindings.commands(group) for group in self._groups)
        if any(command.name == name for command in domain_commands):  # algebra has hints in both
            return ""
        descriptions = (c.description for group in other_groups for c in group if c.name == name)
        return next(descriptions, "")

    def _try(self, act: Callable[[], object], drops_hint: bool = True) -> None:
        """Call `act` and show its error as a note, if any; if it has changed the scenario, create
        the drawing of the world again. If `drops_hint`, the hint, which is for the state before, is
        removed."""
        if drops_hint:
            self._picture.drop_hint()
        try:
            act()
        except (GVEngineError, OSError) as error:
            self._note = error_text(error)
        if self._drawn_scenario is not self.game.scenario:
            self._drawn_scenario = self.game.scenario
            steers = self._steers(self.game.scenario)
            self._picture.close()
            self._picture = make_terminal_picture(self.game, self._theme, steers)
            self._view = self.game.scenario.view or self._default_view

    def _edit_seed(self, key: str) -> None:
        """Apply the pressed `key` to the seed that the player is typing; Enter starts the level of
        that seed."""
        typed = self._typed_seed or ""
        self._typed_seed = None
        if key in ("Return", "Keypad Enter") and typed:
            self._try(lambda: self._controller.start_level(typed))
        elif key == "Backspace":
            self._typed_seed = typed[:-1]
        elif (key.isdigit() or key == "Minus") and len(typed) < 18:
            self._typed_seed = typed + key.replace("Minus", "-")
        elif key not in ("Escape", "Return", "Keypad Enter"):
            self._typed_seed = typed

    def wait_seconds(self, now: float) -> float:
        """Return the seconds to wait for a key: until the next check of the files, or the next step
        in real time."""
        return min(_CHECK_INTERVAL, max(0.0, self._controller.seconds_to_step(now)))

    def tick(self, now: float) -> None:
        """In real time, take a step with the action for waiting if it is due at the time `now`."""
        is_paused = self._is_leaving or self._is_help_open
        self.needs_redraw |= self._picture.hint_text != self._shown_hint
        if self._controller.seconds_to_step(now) <= 0 and not is_paused:
            self._try(lambda: self._controller.take_action(self.game.wait))
            self._controller.schedule_next_step(now, self._speed)
            self.needs_redraw = True

    def check_files(self) -> None:
        """If scenario files have changed on disk, reload the scenario and replay the steps."""
        hot_reload = HotReload(self.game)
        if hot_reload.has_file_changes():
            self._note = hot_reload.reload()
            self.needs_redraw = True

    def _show_note(self, note: str) -> None:
        self._note = note

    def _change_view(self) -> None:
        self._view = self._views[(self._views.index(self._view) + 1) % len(self._views)]
        self._controller.record_peek(self._view)

    # ---- drawing -------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> list[Text]:
        """Return the lines of the game, or of the list of keys, from the top, in `width` × `height`
        characters.

        Args:
            width, height: size of the screen in characters.
        """
        body_height = height - 1
        get_lines = self._format_keys if self._is_help_open else self._format_body
        body = get_lines(width, body_height)[:body_height]
        body += [Text()] * (body_height - len(body))
        is_small = width < _MIN_SIZE[0] or height < _MIN_SIZE[1]
        warning = "Too small a terminal   " if is_small else ""
        footer = Text(warning + self._format_footer(), self._theme.muted)
        return [_truncate(line, width) for line in (*body, footer)]

    def _format_body(self, width: int, height: int) -> list[Text]:
        """Return the lines of the board and the status panel, side by side or one below the other,
        in `width` × `height` characters."""
        is_wide = width >= _WIDE_TERMINAL
        if not is_wide and len(self._draw_board(width, height)[0]) + _PANEL_WIDTH > width:
            panel = self._format_panel(width)
            return [*self._draw_board(width, max(height - len(panel), height // 2)), *panel]
        board = self._draw_board(width - _PANEL_WIDTH, height)
        board_width = len(board[0]) + _MARGIN
        pairs = zip_longest(board, self._format_panel(width - board_width), fillvalue=Text())
        return [
            Text.assemble(line, " " * (board_width - len(line)), panel_line)
            for line, panel_line in pairs
        ]

    def _draw_board(self, width: int, height: int) -> list[Text]:
        return self._picture.draw(self.game.frame(), self._view, max(1, width), max(1, height))

    def _format_panel(self, width: int) -> list[Text]:
        """Return the lines of the status panel, `width` characters wide: title, steps, return, last
        rewards, messages, result and legend."""
        scene = self.game.frame()
        lines = self._format_status(scene, width)
        if scene.action:
            lines += self._format_last_step(scene)
        lines += self._format_notes(scene, width)
        if scene.outcome:
            lines += self._format_result(scene)
        lines += [Text(), *self._picture.legend(scene)]
        return [_truncate(line, width) for line in lines]

    @property
    def _has_rewards(self) -> bool:
        return self._shows_rewards or self.game.pack_level is None

    def _format_status(self, scene: Scene, width: int) -> list[Text]:
        """Return the lines on the level and the state of the game: title, steps, return, goal,
        agent and what the domain adds."""
        game, level = self.game, self.game.pack_level
        title, subtitle = game.heading
        limit = "" if scene.max_steps is None else f" of {scene.max_steps}"
        num_undone = game.length - game.position
        undone_text = f" ({num_undone} undone)" if num_undone else ""
        seed = f"seed {game.seed}, " if self._has_rewards else ""
        lines = [
            f"{seed}step {scene.steps}{limit}{undone_text}",
            f"return {format_reward(scene.total)}" if self._has_rewards else "",
            self._progress.format_goal(level) if level else "",
            f"you are {game.controlled}" if len(game.agents) > 1 else "",
            *self._wrap(self._picture.facts(scene), width),
            f"time runs: {self._controller.time_speed(self._speed)} steps a second"
            if self._controller.is_real_time
            else "",
        ]
        heading = [Text(title, f"bold {self._theme.accent}"), Text(subtitle, self._theme.muted)]
        return [*filter(None, heading), *map(Text, filter(None, lines))]

    def _format_last_step(self, scene: Scene) -> list[Text]:
        """Return the lines on the last action, with its reward and the rules that gave it, if
        rewards are shown."""
        action = scene.action.replace("_", " ").lower()
        if not self._has_rewards:
            return [Text(), Text(f"{action} ")]
        lines = [Text(), Text.assemble(f"{action} ", self._format_reward(scene, scene.reward))]
        for name, term in scene.terms.items():
            if term:
                label = f"  {name.replace('_', ' ')} ", self._theme.muted
                lines.append(Text.assemble(label, self._format_reward(scene, term)))
        return lines

    def _format_notes(self, scene: Scene, width: int) -> list[Text]:
        """Return the lines with instructions, hint, message of the game and note, each after an
        empty line; `_shown_hint` becomes the hint."""
        self._shown_hint = self._picture.hint_text
        lines = []
        notes = self._get_instructions(), self._shown_hint, scene.message, *self._note.split("\n")
        for note in notes:
            if rows := self._wrap([note], width):
                lines += [Text(), *(Text(row, f"bold {self._theme.text}") for row in rows)]
        return lines

    def _format_result(self, scene: Scene) -> list[Text]:
        """Return the lines on the end of the episode: success or failure, steps and medals."""
        theme, level = self._theme, self.game.pack_level
        is_lost = scene.success is False or self.game.is_lost
        ground = theme.loss if is_lost else theme.gain
        is_solved = level is not None and scene.success
        ending = "Solved!" if is_solved else scene.ending
        medals = self._progress.format_medals(level) if level and is_solved else ""
        return [
            Text(),
            Text(f" {ending} ", f"bold {theme.on_accent} on {ground}"),
            Text(self._progress.format_result(self.game, scene.steps)),
            Text(medals, theme.accent),
        ]

    @staticmethod
    def _wrap(texts: Iterable[str], width: int) -> list[str]:
        return [row for text in texts for row in textwrap.wrap(text, max(1, width))]

    def _get_instructions(self) -> str:
        level, steering = self.game.pack_level, self._picture.steering
        return self._bindings.fill_in_keys(level.says, self._groups, steering) if level else ""

    def _format_reward(self, scene: Scene, value: float) -> tuple[str, str]:
        """Return the text of a reward, and its colour."""
        color = self._theme.text
        if value > 0:
            color = self._theme.gain
        elif value < 0 and scene.is_loss_highlighted:
            color = self._theme.loss
        return format_reward(value), color

    def _format_footer(self) -> str:
        """Return the text of the last line: a question, or hints on keys."""
        if self._typed_seed is not None:
            return f"Which seed? {self._typed_seed}_   Enter: play it   Esc: go on"
        if self._is_leaving:
            return f"Leave? {self._get_label('menu')}: leave   any other key: go on"
        if self._is_help_open:
            return "Any key: go on"
        if self.game.frame().outcome:
            texts = {"go_on": "next level", "again": "restart", "undo": "undo"}
            if self.game.is_lost:
                texts = {"go_on": "try again", "undo": "undo", "next_level": "next level"}
        else:
            texts = {"help": "keys", "undo": "undo"}
            if self.game.pack_level:
                texts["hint"] = "hint"
            texts["next_level"] = "next level"
        texts["menu"] = "leave"
        return "   ".join(f"{self._get_label(name)}: {text}" for name, text in texts.items())

    def _get_label(self, name: str) -> str:
        """Return the label of the first key of the command `name`; "" if there is none."""
        for group in self._groups:
            has_command = name in (command.name for command in self._bindings.commands(group))
            if has_command and (label := self._bindings.label(group, name)):
                return label
        return ""

    def _format_keys(self, width: int, height: int) -> list[Text]:
        """Return the lines of the list of keys, in as many columns as fit into `width` × `height`
        characters."""
        commands = self._list_commands()
        rows = max(1, height - 1)
        columns = min(-(-len(commands) // rows), max(1, width // _PANEL_WIDTH))
        column_width = width // columns
        max_keys, keys_width = (3, 26) if column_width >= 2 * _PANEL_WIDTH else (1, 14)
        lines = [Text("Keys", f"bold {self._theme.accent}"), *(Text() for _ in range(rows))]
        for index, (keys, description) in enumerate(commands[: columns * rows]):
            keys_text = f"{', '.join(keys[:max_keys]):<{keys_width}}"
            entry = Text.assemble((keys_text, self._theme.accent), description)
            entry.truncate(max(0, column_width - 1), overflow="ellipsis", pad=True)
            lines[1 + index % rows].append_text(entry).append(" ")
        return lines

    def _list_commands(self) -> list[tuple[list[str], str]]:
        """Return labels of keys and description of each command that can be used here."""
        keys_by_command: dict[str, tuple[list[str], str]] = {}
        for group in self._groups:
            for name, description, *_ in self._bindings.commands(group):
                bound_keys = self._bindings.keys(group, name)
                keys = [key_label(key) for key in bound_keys if key not in PADS]
                if keys and self._has_command(group, name) and supports_command(self.game, name):
                    description = "leave" if name == "menu" else description
                    keys_by_command.setdefault(name, (keys, description))
        return [*keys_by_command.values()]

    def _has_command(self, group: str, name: str) -> bool:
        if name in PLAY_COMMANDS or name in _COMMANDS:
            return True
        if name == "hint" and self._picture.has_hints:
            return True
        return group == self._domain.title and self._picture.has_command(name)


_COMMANDS: dict[str, Callable[[TerminalGame], object]] = {
    "enter_seed": lambda screen: setattr(screen, "_typed_seed", ""),
    "real_time": lambda screen: screen._controller.toggle_real_time(),
    "save_replay": lambda screen: screen._show_note(f"Saved {save_replay(screen.game)}"),
    "view": TerminalGame._change_view,
    "menu": lambda screen: setattr(screen, "_is_leaving", True),
    "help": lambda screen: setattr(screen, "_is_help_open", True),
}


def _truncate(line: Text, width: int) -> Text:
    line = line.copy()
    line.truncate(max(1, width), overflow="ellipsis")
    return line
