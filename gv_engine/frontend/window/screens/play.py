"""The play screen: somebody plays a game, step by step or in time that runs."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Sequence
from functools import partial

from gv_engine.frontend.controls.bindings import GROUPS
from gv_engine.frontend.controls.folders import (
    keep_unfinished,
    new_file,
    recording_folder,
    replay_folder,
)
from gv_engine.frontend.drawing.recording import Recorder
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen
from gv_engine.frontend.window.screens.game_screen import GameScreen
from gv_engine.frontend.window.screens.menu import Menu, MenuRow
from gv_engine.frontend.window.screens.prompt import Prompt
from gv_engine.frontend.window.screens.screen import Host
from gv_engine.frontend.window.sounds import sound_of
from gv_engine.language.errors import reason
from gv_engine.playing.catalogue import next_of_kin
from gv_engine.playing.game import GAME_COMMANDS, Game
from gv_engine.playing.replay import SUFFIX, ReplayError
from gv_engine.reading.families import Command

END_HEIGHT = 7  # lines that the end is told in
LOOK_AGAIN = 0.4  # s between two looks at the scenario's files


class PlayScreen(GameScreen):
    """Play. See `GameScreen` for the arguments."""

    def __init__(self, app: Host, game: Game) -> None:
        super().__init__(app, game)
        self.own_groups = (self.family.title, "play")
        self._recorder: Recorder | None = None
        self._runs = False
        self._beat = 0.0
        self._look = 0.0

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        due = super().tick(now)
        if now >= self._look:
            self._look = now + LOOK_AGAIN
            if self.game.changed():
                self._reload()
        due = min(self._look - now, due or math.inf)
        if self._runs and not self.frame.outcome:
            if now >= self._beat:
                self._beat = now + 1 / self.app.settings.speed
                self.take(self.game.wait)
            due = min(due, self._beat - now)
        return due

    @property
    def level(self) -> tuple[str, tuple[Command, ...]]:  # type: ignore[override]  # it is the game's
        return self.family.title, self.game.scenario.own_actions

    def knows(self, name: str) -> bool:
        return self.stage.knows(name)

    def command(self, name: str) -> None:
        if any(command.name == name for command in self.app.bindings.commands(self.family.title)):
            self.take(self.stage.command(name))
        elif name in GAME_COMMANDS:
            GAME_COMMANDS[name](self.game)
            self.show(glide=False)
        elif action := _COMMANDS.get(name):
            action(self)
        else:
            super().command(name)

    def take(self, action: str) -> None:
        """Let the game take an action.

        Raises:
            RuleError: a rule failed; the game is as it was before.
        """
        if not action or self.frame.outcome:
            return
        before = self.game.position
        self.game.step(action)
        stepped = self.game.position == before + 1
        self.show(glide=stepped)
        if stepped:
            self.app.sound(sound_of(self.frame))
        self._beat = time.monotonic() + 1 / self.app.settings.speed

    def closed(self) -> None:
        self._end_recording()
        self.app.played(self.game)
        try:
            keep_unfinished(self.game.replay())
        except ReplayError:  # it began with a snapshot
            pass
        except OSError as error:
            print(f"gv-engine: the game is not kept: {reason(error)}", file=sys.stderr)

    def _reload(self) -> None:
        before = self.game.scenario
        said = self.game.reload()
        failed = self.game.scenario is before
        where = re.sub(r"^\S*[/\\]", "", said.split("\n")[0])  # the folder is known
        self.trouble = f"Still as before: {where}" if failed else ""
        self._restage()
        self.show(glide=False)
        self.app.say(said, stays=20 if "\n" in said else 6)

    def _real_time(self) -> None:
        if not self.game.wait:
            self.app.say("Time cannot run in this level: it has no action that waits")
            return
        self._runs = not self._runs
        self._beat = time.monotonic() + 1 / self.app.settings.speed
        self.app.stale = True

    def _kin(self) -> None:
        """Play the same in another size or difficulty, with the same seed."""
        other = next_of_kin(self.game.scenario.name)
        self.app.pop()
        self.app.play(other, self.game.seed)

    def _enter_seed(self) -> None:
        def accept(text: str) -> None:
            self.game.reset(int(text))
            self.show(glide=False)

        words, seed = "Equal seeds are equal levels.", str(self.game.seed)
        self.app.push(Prompt(self.app, "Which seed?", words, seed, accept, "0123456789"))

    def save_replay(self) -> None:
        """Keep the episode so far as a file."""
        try:
            file = new_file(replay_folder(), self.game, SUFFIX)
            self.game.replay().save(file)
        except (OSError, ReplayError) as error:
            self.app.say(f"The replay is not saved: {reason(error)}")
        else:
            self.app.say(f"Saved {file}")

    def show(self, glide: bool = True) -> None:
        super().show(glide)
        if self._recorder is not None:
            try:
                self._recorder.add(self.frame)
            except (OSError, ValueError) as error:
                self._recorder.discard()
                self._recorder = None
                self.app.say(f"The recording is lost: {reason(error)}", stays=15)

    def _record(self) -> None:
        """Begin a recording of what is shown from now on, or end it."""
        if self._recorder is not None:
            self._end_recording()
            return
        try:
            self._recorder = self._recorder_of(self.app.settings.recording)
            self._recorder.add(self.frame)
        except OSError as error:
            self._recorder = None
            self.app.say(f"Not recorded: {reason(error)}", stays=15)

    def _end_recording(self) -> None:
        if self._recorder is None:
            return
        recorder, self._recorder = self._recorder, None
        try:
            recorder.close()
        except OSError as error:
            self.app.say(f"The recording is lost: {reason(error)}", stays=15)
        else:
            self.app.say(f"Saved {recorder.path}")

    def _picture(self) -> None:
        """Save what is shown now."""
        try:
            with self._recorder_of(".png") as recorder:
                recorder.add(self.frame)
        except OSError as error:
            self.app.say(f"The picture is not saved: {reason(error)}", stays=15)
        else:
            self.app.say(f"Saved {recorder.path}")

    def _recorder_of(self, suffix: str) -> Recorder:
        file = new_file(recording_folder(), self.game, suffix)
        return Recorder(file, self.game.scenario, self.stage.view, fps=self.app.settings.speed)

    def _menu(self) -> None:
        self.app.push(PauseMenu(self))

    # ---- what is seen ----------------------------------------------------------------

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        return (("Menu", "play", "menu"), *super().buttons())

    def facts(self) -> Sequence[str]:
        runs = f"Time runs: {self.app.settings.speed} steps a second"
        records = "" if self._recorder is None else f"Recording: {self._recorder.path.suffix[1:]}"
        return (*super().facts(), *([runs] if self._runs else []), *([records] if records else []))

    def hints(self) -> Sequence[str]:
        commands = self.app.bindings.commands(self.family.title)
        says = {command.name: command.says for command in commands}
        moves = [self.hint(self.family.title, name, says[name]) for name in self.stage.taught]
        undo = self.hint("play", "undo", "undo")
        return (*moves[:5], undo, *moves[5:], self.hint("view", "help", "all keys"))

    def reserved(self, pen: Pen, room: pygame.Rect) -> int:
        told = self.frame.outcome and room.h >= 14 * pen.line
        return END_HEIGHT * pen.line if told else 0

    def draw(self, pen: Pen, now: float) -> None:
        super().draw(pen, now)
        if self.frame.outcome and self._at:
            at = self._at
            # below the stage's picture; where there is no room for it, over the panel too
            small = not self.reserved(pen, at.stage) and at.panel.y > at.stage.bottom
            self._draw_end(pen, at.stage.union(at.panel) if small else at.stage)

    def _draw_end(self, pen: Pen, room: pygame.Rect) -> None:
        """Say how it ended and what to press now."""
        line = pen.line
        title = self.frame.ending
        choices = (
            ("Next level", "play", "go_on"),
            ("Same level again", "play", "again"),
            ("Undo", "play", "undo"),
            ("Save replay", "play", "save_replay"),
        )
        keys = [self.app.bindings.label(group, name) for _, group, name in choices]
        widths = [
            pen.width(label + key) + 3 * line
            for (label, _, _), key in zip(choices, keys, strict=True)
        ]
        columns = 2 if sum(widths) + 3 * line > room.w else 4
        if 2 * max(widths) + 2 * line > room.w:
            columns = 1
        rows = -(-len(choices) // columns)
        card = pygame.Rect(
            0, 0, columns * (max(widths) + line // 2) + line, 3 * line + rows * 2 * line
        )
        card.w = min(card.w, room.w)
        if card.h > room.h:  # the keys are in the menu too
            rows, card.h = 0, 3 * line
        card.midbottom = room.centerx, room.bottom
        pen.card(card)
        pen.frame(card, "accent")
        top = pygame.Rect(card.x + line, card.y + line // 2, card.w - 2 * line, 2 * line)
        total = f"Return {self.frame.total:+.6g} in {self.frame.steps} steps"
        taken = pen.text(top, title, "accent", size=1.4)
        top.x += taken + line
        top.w -= taken + line
        pen.text(top, total, "text", "right")
        across = (card.w - line) // columns
        for number, ((label, _, name), key) in enumerate(zip(choices, keys, strict=True)):
            row, column = divmod(number, columns)
            if row < rows:
                slot = pygame.Rect(0, 0, across - line // 2, line * 7 // 4)
                slot.topleft = (
                    card.x + line * 3 // 4 + column * across,
                    card.y + line * 5 // 2 + row * 2 * line,
                )
                pen.button(slot, label, partial(self._press, name), key, number == 0)


_COMMANDS = {
    "real_time": PlayScreen._real_time,
    "kin": PlayScreen._kin,
    "enter_seed": PlayScreen._enter_seed,
    "save_replay": PlayScreen.save_replay,
    "record": PlayScreen._record,
    "picture": PlayScreen._picture,
    "menu": PlayScreen._menu,
}

IN_MENU = (
    *("again", "next_level", "kin", "enter_seed"),
    *("save_replay", "record", "picture", "real_time"),
)


class PauseMenu(Menu):
    """The menu in the middle of a game."""

    title = "Pause"

    def __init__(self, screen: PlayScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen

    @property
    def words(self) -> str:
        return str(getattr(self._screen.game.scenario, "description", ""))

    def rows(self) -> Sequence[MenuRow]:
        says = {command.name: command.says.capitalize() for command in GROUPS["play"]}
        label = self.app.bindings.label
        return (
            MenuRow("Go on playing", lambda _: self.app.pop(), key=label("menu", "leave")),
            *(
                MenuRow(says[name], partial(self._do, name), key=label("play", name))
                for name in IN_MENU
            ),
            MenuRow("Keys", lambda _: self._screen.command("help"), key=label("window", "help")),
            MenuRow(
                "Settings", lambda _: self.command("settings"), key=label("window", "settings")
            ),
            MenuRow("Leave this level", lambda _: self._leave()),
            MenuRow("Quit", lambda _: self.app.quit()),
        )

    def _do(self, name: str, step: int) -> None:
        self.app.pop()
        self._screen.command(name)

    def _leave(self) -> None:
        self.app.pop()
        self.app.pop()
