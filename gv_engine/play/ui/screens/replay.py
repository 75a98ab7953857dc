"""Replay player, dialogs to enter text and to export, and the screen that shows a game as it was
before its files were changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, ClassVar

from gv_engine.play.session.controller import supports_command
from gv_engine.play.session.game import Game
from gv_engine.play.session.hot_reload import HotReload
from gv_engine.play.session.rollout_games import RolloutSessions
from gv_engine.play.session.timeline import join_differences
from gv_engine.play.ui.drawing.recording import Recorder, find_views
from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.game_screen import VIEW_COMMANDS, GameScreen, KeyCaps
from gv_engine.play.ui.screens.menu import Menu, MenuRow
from gv_engine.play.ui.screens.screen import AppContext, Screen, ScreenCommands
from gv_engine.play.ui.screens.settings import PauseMenu
from gv_engine.play.ui.screens.text_field import TextField
from gv_engine.play.ui.settings import CELLS, EXPORTS, SPEEDS, new_file, recording_folder
from gv_engine.rules.errors import GVEngineError, error_text

# ---- prompt --------------------------------------------------------------------------------------

MAX_LENGTH = 400  # characters
Accept = Callable[[str], None]  # function that takes the text that was entered


class Prompt(Screen):
    """Dialog that asks for a line of text.

    Args:
        app: app of the screen.
        title: question.
        explanation: text below the question.
        text: initial text; the first typed letter replaces it.
        accept: function that gets the text; if it raises an error, the dialog stays open.
        characters: allowed characters; empty for all.
    """

    is_overlay = True
    groups = ("text", "menu", "window")

    def __init__(
        self,
        app: AppContext,
        title: str,
        explanation: str,
        text: str,
        accept: Accept,
        characters: str = "",
    ) -> None:
        """Ask the question `title`, with the initial answer `text`; `accept(answer)` is called with
        the user's answer."""
        super().__init__(app)
        self._title, self._explanation = title, explanation
        self._accept, self._characters = accept, characters
        self.field = TextField(text, characters, MAX_LENGTH)

    def on_text(self, text: str) -> None:
        """Insert the allowed characters of the typed `text` into the field."""
        self.field.insert(text)

    def run_command(self, name: str) -> None:
        """Run the command `name`: accept, edit or cancel the text; up and down change a number by
        1."""
        if name == "choose":
            self._accept_text()
        elif name in ("up", "down") and self._characters and self.field.text.isdecimal():
            step = 1 if name == "up" else -1  # so that a gamepad can enter a number
            self.field.set_text(str(max(0, int(self.field.text) + step)))
        elif name == "leave":
            self.app.pop()
        elif error := self.field.run_command(name):
            self.app.show_note(error)

    def _accept_text(self) -> None:
        """Pass the typed text to the function `accept`, and close the dialog."""
        if self.field.text:
            self._accept(self.field.text)
        if self.app.top is self:  # `accept` may have closed it
            self.app.pop()

    def draw(self, painter: Painter, now: float) -> None:
        """Draw question, explanation, text field and buttons with `painter`."""
        line, label = painter.line_height, self.app.bindings.label
        width = min(painter.area.w - line, 30 * line)
        text_height = painter.text_height(self._explanation, width - 2 * line, 3)
        rest = painter.draw_dialog((width, 8 * line + text_height), self._title)
        text_rect = cut(rest, "top", text_height, line // 2)
        painter.draw_lines(text_rect, self._explanation, "muted")
        self.field.draw(painter, cut(rest, "top", 2 * line, line // 2))
        buttons, half = cut(rest, "top", line * 7 // 4), rest.w // 2 - line // 4
        accept, leave = cut(buttons, "left", half), cut(buttons, "right", half)
        painter.draw_button(accept, "OK", self._accept_text, label("menu", "choose"), True)
        painter.draw_button(leave, "Cancel", self.app.pop, label("menu", "leave"))


# ---- export --------------------------------------------------------------------------------------

SLICE_SECONDS = 0.03  # s of drawing before events are handled again
EXPORT_NAMES = {".mp4": "MP4 video", ".gif": "GIF animation", ".png": "PNG of this step"}


class ExportScreen(Menu):
    """Menu of export options; writes the file in slices, with a progress bar and a button to stop.

    Args:
        app: app of the screen.
        game: session to export.
    """

    title = "Export"

    def __init__(self, app: AppContext, game: Game) -> None:
        super().__init__(app)
        self._game = game
        self._views = find_views(game.scenario)
        if app.settings.export_view not in self._views:
            app.settings.export_view = next(iter(self._views))
        self._writing: Generator[None] | None = None
        self._num_written = self._num_pictures = 0

    @property
    def text_above(self) -> str:
        """Folder into which the file is written, in words."""
        return f"Into {recording_folder()}"

    def rows(self) -> Sequence[MenuRow]:
        """Return a menu row for each option of the export."""
        settings = self.app.settings
        suffixes = {suffix: EXPORT_NAMES.get(suffix, suffix) for suffix in EXPORTS}
        speeds = {speed: f"{speed} steps a second" for speed in SPEEDS}
        return (
            MenuRow("Export", lambda _: self._begin()),
            self.choice_row(settings, "As", "export_as", suffixes),
            self.choice_row(settings, "View", "export_view", {view: view for view in self._views}),
            self.choice_row(settings, "Cells", "export_cell", {c: f"{c} pixels" for c in CELLS}),
            self.choice_row(settings, "Speed", "export_speed", speeds),
            self.close_row("Back"),
        )

    def run_command(self, name: str) -> None:
        """Run the command `name` of the menu; while the file is written, only `leave`, which stops
        writing."""
        if self._writing is None:
            super().run_command(name)
        elif name == "leave":
            self._stop()
            self.app.show_note("Not exported")

    def tick(self, now: float) -> float | None:
        """Write pictures into the file for 30 ms, and close the menu when the file is complete;
        return 0 to be called again at once, or None if nothing is being written."""
        if self._writing is None:
            return None
        self.app.needs_redraw = True
        until = time.monotonic() + SLICE_SECONDS
        try:
            while time.monotonic() < until:
                next(self._writing)
        except StopIteration:
            self._writing = None
            self.app.pop()
        except (GVEngineError, OSError) as error:
            self._writing = None
            self.app.show_note(f"Not exported: {error_text(error)}", stays=15)
        return 0

    def on_close(self) -> None:
        """Stop writing if the file is unfinished, and save the chosen options."""
        self._stop()
        self.app.save_settings()

    def _begin(self) -> None:
        self._num_written = 0
        self._writing = self._write()

    def _stop(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def _write(self) -> Generator[None]:
        """Write the picture or video file, and yield after each picture; closing the generator
        early deletes the file."""
        settings, position = self.app.settings, self._game.position
        # the watched session stays at its step
        game = Game.from_replay(self._game.replay(), self._game.scenario)
        is_picture = settings.export_as == ".png"
        positions = [position] if is_picture else range(game.length + 1)
        self._num_pictures = len(positions)
        file = new_file(recording_folder(), game, settings.export_as)
        view, cell, fps = settings.export_view, settings.export_cell, settings.export_speed
        with Recorder(file, game.scenario, view, cell, fps) as recorder:
            for step in positions:
                game.seek(step)
                recorder.add(game.frame())
                self._num_written += 1
                yield
        self.app.show_note(f"Saved {file}")

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the menu with `painter`, or a progress bar while the file is written."""
        if self._writing is None:
            super().draw(painter, now)
            return
        line = painter.line_height
        card = Rect(0, 0, min(painter.area.w - line, 26 * line), 6 * line)
        card.center = painter.area.center
        painter.draw_card(card)
        rest = card.inflate(-2 * line, -line)
        text = f"{self._num_written} of {self._num_pictures} pictures"
        painter.draw_text(cut(rest, "top", line, line // 2), text)
        share = self._num_written / max(1, self._num_pictures)
        painter.draw_bar(cut(rest, "top", line, line // 2), share)
        button, key = cut(rest, "top", line * 7 // 4), self.app.bindings.label("menu", "leave")
        painter.draw_button(button, "Stop", self._stop, key)


class CompareScreen(GameScreen):
    """Screen that steps through the game as it was before its files were changed, and marks the
    differences; the changed game, on the screen below, goes to the same step.

    Args:
        app: app of the screen.
        below: screen of the changed game, see `HotReload.game_before`.
    """

    extra_groups = ("replay",)
    heading = "Before: "
    commands: ClassVar[ScreenCommands] = {
        **GameScreen.commands,
        "back": lambda screen: screen.seek(screen.game.position - 1),
        "forward": lambda screen: screen.seek(screen.game.position + 1),
        "first": lambda screen: screen.seek(0),
        "last": lambda screen: screen.seek(screen.game.length),
        "leave": lambda screen: screen._leave(),
    }

    def __init__(self, app: AppContext, below: GameScreen) -> None:
        """Create a screen that shows the game of the screen `below` as it was before its files
        changed."""
        game_before = HotReload(below.game).game_before()
        assert game_before is not None  # checked by the caller
        self._below = below
        super().__init__(app, game_before)
        self.controls, self.tight_controls = below.controls, below.tight_controls
        self._text = ""
        self.stage.view = below.stage.view
        self.show(animate=False)

    @property
    def _watched_game(self) -> Game:
        return self._below.game

    def _on_files_changed(self) -> None:
        self._leave()

    def _get_compared_frame(self) -> Any:
        return self._below.game.frame() if self._is_same_step else None

    @property
    def _is_same_step(self) -> bool:
        return self.game.position == self._below.game.position

    def show(self, animate: bool = True) -> None:
        """Show the current step of the game before the files changed, and a text with its
        differences from the changed game; `animate` animates the change."""
        text = "the game has other steps now"
        if self._is_same_step:
            text = join_differences(HotReload(self._below.game).differences()) or "the same"
        self._text = f"Before, step {self.game.position}: {text}"
        super().show(animate)

    def _describe_difference(self) -> str:
        return self._text

    def _seek_difference(self) -> None:
        difference = self._below.game.difference
        self.seek(difference.step if difference else 0)

    @property
    def _compare_label(self) -> str:
        return "Now"

    def _toggle_comparison(self) -> None:
        self._leave()

    def _leave(self) -> None:
        self.app.pop()
        self._below.show(animate=False)

    def has_command(self, name: str) -> bool:
        """Return True if the command called `name` is available; of the replay commands, only the
        commands that move between steps are available."""
        replay_commands = [command.name for command in self.app.bindings.commands("replay")]
        return name in self.commands or name not in replay_commands

    def seek(self, position: int) -> None:
        """Go to step `position` in both games, before and after the change of files."""
        self.game.seek(position)
        comparison = self._below.game.comparison
        self._below.game.seek(min(self.game.position, comparison.num_steps if comparison else 0))
        self.show(animate=False)

    def hints(self) -> Sequence[str]:
        """Return the hints of the screen below, so that the layout stays the same."""
        return self._below.hints()

    def key_caps(self) -> Sequence[KeyCaps]:
        """Return the keys of the screen below, so that the layout stays the same."""
        return self._below.key_caps()

    def current_key_caps(self) -> Sequence[KeyCaps]:
        """Return the keys of this screen; () if it shows hints in their place."""
        words = {"back": "back", "forward": "on", "leave": "now"}
        caps = [(self.app.bindings.label("replay", name), word) for name, word in words.items()]
        return (caps,) if self.key_caps() else ()

    def current_hints(self) -> Sequence[str]:
        """Return short texts on the keys of this screen."""
        texts = {"back": "a step back", "forward": "on", "leave": "back to the game"}
        return (*self.hints_of("replay", texts), self.hint("view", "help", "all keys"))


EPISODE_COMMANDS = ("next_episode", "previous_episode")


class ReplayScreen(GameScreen):
    """Screen that plays a replay.

    Args:
        app: app of the screen.
        game: session with the replay's steps, see `Game.from_replay`.
    """

    controls = 5.0
    tight_controls = 3.25
    extra_groups = ("replay",)
    menu_commands: tuple[str, ...] = (
        *(*EPISODE_COMMANDS, "export", "take_over", "copy", "first", "last"),
        *VIEW_COMMANDS,
    )
    commands: ClassVar[ScreenCommands] = {
        **GameScreen.commands,
        "play": lambda screen: screen._toggle_playing(),
        "forward": lambda screen: screen._move(1),
        "back": lambda screen: screen._move(-1),
        "first": lambda screen: screen.seek(0),
        "last": lambda screen: screen.seek(screen.game.length),
        "faster": lambda screen: screen.change_speed(1),
        "slower": lambda screen: screen.change_speed(-1),
        "export": lambda screen: screen.app.push(ExportScreen(screen.app, screen.game)),
        "take_over": lambda screen: screen.app.take_over(screen.game),
        "leave": Screen.commands["leave"],
        "menu": lambda screen: screen.app.push(PauseMenu(screen)),
    }
    resume_label, leave_label = "Go on watching", "Leave the replay"

    def __init__(self, app: AppContext, game: Game) -> None:
        super().__init__(app, game)
        self._is_playing = False
        self._next_step = 0.0

    def tick(self, now: float) -> float:
        """If the replay is running, go to the next step when it is due at the time `now`; return
        the seconds until the next call."""
        seconds = super().tick(now)
        if self._is_playing and self._is_at_end and now >= self._next_step:
            self._is_playing, self.app.needs_redraw = False, True
        if not self._is_playing:
            return seconds
        if now >= self._next_step:
            self._move(1)
            if now > self._next_step + 1:  # more than a second late
                self._next_step = now
            # counted from when the step was due, so that the speed is exact
            self._next_step += 1 / self.app.settings.speed
        return min(seconds, max(0.0, self._next_step - now))

    @property
    def _is_at_end(self) -> bool:
        return self.game.position >= self.game.length

    def run_command(self, name: str) -> None:
        """Run the command `name` of the replay; some of the commands pause it."""
        if name in ("forward", "back", "export", "take_over"):
            self._is_playing = False
        super().run_command(name)

    def change_speed(self, step: int) -> None:
        """Change the speed by `step` positions in `SPEEDS`; the new speed applies at once."""
        super().change_speed(step)
        self._next_step = 0.0

    def has_command(self, name: str) -> bool:
        """Return True if the command `name` is available: not the commands for other episodes of a
        rollout."""
        return name not in EPISODE_COMMANDS and supports_command(self.game, name)

    def on_resume(self) -> None:
        """Show the current frame again."""
        self.show(animate=False)

    def _toggle_playing(self) -> None:
        """Start or pause the replay; at its end start again from the beginning."""
        if not self._is_playing and self._is_at_end:
            self.seek(0)
        self._is_playing = not self._is_playing
        self._next_step = 0.0

    def _move(self, steps: int) -> None:
        """Go `steps` steps forward in the replay, or back if it is negative."""
        position = max(0, min(self.game.length, self.game.position + steps))
        if position != self.game.position:
            self.game.seek(position)
            self.show(animate=steps == 1)

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        """Return the buttons of game screens after the buttons to leave and to export the
        replay."""
        return (("Leave", "replay", "leave"), ("Export", "replay", "export"), *super().buttons())

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel, with the speed of the replay."""
        return (*super().facts(), f"Speed: {self.app.settings.speed} steps a second")

    def hints(self) -> Sequence[str]:
        """Return short texts on the keys of the replay, for the bottom of the screen."""
        texts = {"play": "play or pause", "back": "back", "forward": "on", "faster": "faster"}
        texts |= {"slower": "slower", "take_over": "play on from here"}
        return (*self.hints_of("replay", texts), self.hint("view", "help", "all keys"))

    def draw_controls(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the timeline, the buttons to play and step, and the number of the
        step."""
        line, game = painter.line_height, self.game
        timeline = Rect(rect.x, rect.y, rect.w, line)
        self._draw_timeline(painter, timeline)
        bar = timeline.inflate(-line, -line // 4)
        row = Rect(rect.x, bar.bottom + line // 2, rect.w, line * 7 // 4)
        play = "Pause" if self._is_playing else "Play"
        icons = {"first": "left", "back": "left", "play": "", "forward": "right", "last": "right"}
        width = min(8 * line, (row.w - 2 * line) // len(icons))
        row.x = row.centerx - len(icons) * width // 2
        for name, direction in icons.items():
            slot = cut(row, "left", width - line // 2, line // 2)
            press, label = partial(self.run_command, name), "" if direction else play
            painter.draw_button(slot, label, press, is_chosen=not direction, background="card")
            if direction:
                painter.draw_arrow(slot, direction, bar=name in ("first", "last"))
        if rect.h >= 4 * line:
            below = Rect(rect.x, row.bottom + line // 4, rect.w, line * 5 // 4)
            source = "as the files are now" if game.difference else "as recorded"
            text = f"Step {game.position} of {game.length}, {source}"
            painter.draw_text(below, text, "muted", "center")


class RolloutScreen(ReplayScreen):
    """Screen that plays the episodes of a rollout.

    Args:
        app: app of the screen.
        games: episodes of the rollout.
    """

    def __init__(self, app: AppContext, games: RolloutSessions) -> None:
        self._games, self._episode = games, 0
        super().__init__(app, games.open_session(0))
        self._is_playing = True

    def has_command(self, name: str) -> bool:
        """Return True: all commands of replays and for other episodes are available."""
        return True

    def run_command(self, name: str) -> None:
        """Run the command `name`: show the next or previous episode of the rollout, or a command of
        replays."""
        if name in EPISODE_COMMANDS:
            self._open_episode(self._episode + (1 if name == "next_episode" else -1))
        else:
            super().run_command(name)

    def _open_episode(self, index: int) -> None:
        """Show the episode number `index`, from 0, of the rollout."""
        if not 0 <= index < len(self._games):
            self.app.show_note(f"{self._games.path} has {len(self._games)} episodes")
            return
        self._episode, self.game = index, self._games.open_session(index)
        self._next_step = 0.0
        self.frame = self.game.frame()
        self._rebuild_stage()
        self.show(animate=False)

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel, with the number of the episode."""
        return (*super().facts(), f"Episode {self._episode + 1} of {len(self._games)}")

    def hints(self) -> Sequence[str]:
        """Return short texts on the keys of the replay, with the key for the next episode."""
        first, *rest = super().hints()
        return (first, self.hint("replay", "next_episode", "next episode"), *rest)
