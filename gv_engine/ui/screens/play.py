"""The play screen: somebody plays a game, step by step or in time that runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gv_engine.rules.errors import complain, reason
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.scenario.plugin import KeyCommand, hooks_of
from gv_engine.scenario.reference_docs import sections
from gv_engine.session.autoplay import SOLVER, Opponent
from gv_engine.session.catalogue import next_size_variant, source_of
from gv_engine.session.replay import SUFFIX, ReplayError
from gv_engine.session.session import SESSION_COMMANDS, Session, parse_seed
from gv_engine.ui.drawing.recording import Recorder
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.screens.export import Prompt
from gv_engine.ui.screens.game_screen import LOOKING, GameScreen
from gv_engine.ui.screens.help import RulesScreen
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.screens.settings import PauseMenu
from gv_engine.ui.screens.sounds import sound_of
from gv_engine.ui.settings import (
    keep_unfinished,
    new_file,
    recording_folder,
    replay_folder,
)


class PlayScreen(GameScreen):
    """Play. See `GameScreen` for the arguments."""

    in_menu: tuple[str, ...] = (
        *("again", "hint", "rules", "next_level", "previous_level", "kin", "enter_seed", "copy"),
        *("save_replay", "watch", "race", "record", "picture", "real_time", "edit_level"),
        *LOOKING,
    )

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app, game)
        self.own_groups = (self.domain.title, "play")
        self._recorder: Recorder | None = None
        self._saved: Path | None = None
        self._saved_at = ""
        self._runs = False
        self._beat = 0.0
        self._walks = False
        self._onward = 0.0
        self._set_stage()

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        due = super().tick(now)
        due = math.inf if due is None else due
        if self._walks:
            if now >= self._onward:
                self._onward = now + self.stage.glide
                action = self.stage.onward()
                self._walks = bool(action)
                self.take(action)
            due = min(due, self._onward - now)
        if self._runs and not self.frame.outcome:
            if now >= self._beat:
                self._beat = now + 1 / self.app.settings.time_speed
                self.take(self.game.wait)
            due = min(due, self._beat - now)
        return due

    @property
    def level(self) -> tuple[str, tuple[KeyCommand, ...]]:  # type: ignore[override]  # it is the game's
        return self.domain.title, (*self.game.commands, *self.stage.steering)

    def knows(self, name: str) -> bool:
        if name == "watch":
            return self._saved is not None
        if name == "edit_level":
            return bool(self.domain.sketch)
        return self.game.supports_command(name) and self.stage.knows(name)

    def pointed(self, event: pygame.event.Event) -> None:
        super().pointed(event)
        if event.type == pygame.MOUSEBUTTONDOWN:  # the stage may be on the way to there
            self._walks, self._onward = True, time.monotonic() + self.stage.glide

    def command(self, name: str) -> None:
        self.stage.halt()
        if name in SESSION_COMMANDS:
            SESSION_COMMANDS[name](self.game)
            self.show(glide=False)
        elif any(each.name == name for each in self.app.bindings.commands(self.domain.title)):
            for action in self.stage.actions(name):
                self.take(action)
        elif act := _COMMANDS.get(name):
            act(self)
        else:
            super().command(name)

    def take(self, action: str) -> None:
        """Let the game take an action.

        Raises:
            RuleError: a rule failed; the game is as it was before.
        """
        if action and not self.frame.outcome:
            self.step(lambda: self.game.step(action))
            self._mark()

    def step(self, steps: Callable[[], None]) -> None:
        """Show a step that the game takes."""
        before, shown = self.game.position, self.frame
        steps()
        stepped = self.game.position == before + 1
        self.show(glide=stepped)
        if stepped:
            self.app.sound(sound_of(self.frame, self.stage.sound(shown, self.frame)))
        self._beat = time.monotonic() + 1 / self.app.settings.time_speed

    def _restage(self) -> None:
        super()._restage()
        self._set_stage()

    def uncovered(self) -> None:
        self._set_stage()

    def _set_stage(self) -> None:
        """Tell the stage what the player may do on it."""
        self.stage.walks = True
        self.stage.steers = self.app.settings.steering == "screen"

    def _mark(self) -> None:
        """A level of a pack that is solved is marked."""
        if self.frame.success:
            try:
                self.app.progress.solved(self.game, self.frame.steps)
            except OSError as error:
                self.app.say(f"That it is solved is not kept: {reason(error)}", stays=15)

    def closed(self) -> None:
        self.end_recording()
        self.app.played(self.game)
        try:
            keep_unfinished(self.game.replay())
        except ReplayError:  # it began with a snapshot
            pass
        except OSError as error:
            complain(f"the game is not kept: {reason(error)}")

    def _real_time(self) -> None:
        if not self.game.wait:
            self.app.say("Time cannot run in this level: it has no action that waits")
            return
        self._runs = not self._runs
        self._beat = time.monotonic() + 1 / self.app.settings.time_speed
        self.app.stale = True

    def _kin(self) -> None:
        """Play the same in another size or difficulty, with the same seed."""
        self.game.change_scenario(self.app.choose(next_size_variant(self.game.scenario.name)))
        self.show(glide=False)

    def _enter_seed(self) -> None:
        def accept(text: str) -> None:
            self.game.reset(parse_seed(text))
            self.show(glide=False)

        words, seed = "Equal seeds are equal levels.", str(self.game.seed)
        self.app.push(Prompt(self.app, "Which seed?", words, seed, accept, "0123456789-"))

    def save_replay(self) -> None:
        """Keep the episode so far as a file."""
        try:
            file = new_file(replay_folder(), self.game, SUFFIX)
            self.game.replay().save(file)
        except (OSError, ReplayError) as error:
            self.app.say(f"The replay is not saved: {reason(error)}")
        else:
            self._saved, self._saved_at = file, self.game.state()
            key = self.app.bindings.label("play", "watch")
            self.app.say(f"Saved {file}" + f" · {key} watches it" * bool(key))

    def _watch(self) -> None:
        """Watch what was saved last."""
        if self._saved is not None:
            self.app.watch(self._saved, self.game.scenario)

    def show(self, glide: bool = True) -> None:
        if self._staged is not self.game.scenario:
            self.end_recording()
            self.app.has_come_to(self.game.scenario)
        super().show(glide)
        if self._recorder is not None:
            try:
                self._recorder.add(self.frame)
            except (OSError, ValueError) as error:
                self._recorder.discard()
                self._recorder = None
                self.app.say(f"The recording is lost: {reason(error)}", stays=15)

    def _rules(self) -> None:
        """Tell what happens in this level, what pays and what ends it."""
        scenario = self.game.scenario
        types = getattr(self.frame, "types", OBJECT_TYPES)  # algebra has none
        lacks = self.stage.lacks if self.game.pack_level else ()
        told = sections(hooks_of(scenario).schedules(scenario), types, lacks)
        self.app.push(RulesScreen(self.app, self.game.title, scenario.description, told))

    def _race(self) -> None:
        """Play the level against what was saved of it last, or else whoever knows the way."""
        self.app.race(Opponent.load(str(self._saved or SOLVER), self.game))

    def _record(self) -> None:
        """Begin a recording of what is shown from now on, or end it."""
        if self._recorder is not None:
            self.end_recording()
            return
        try:
            self._recorder = self._recorder_of(self.app.settings.recording)
            self._recorder.add(self.frame)
        except OSError as error:
            self._recorder = None
            self.app.say(f"Not recorded: {reason(error)}", stays=15)

    def end_recording(self) -> None:
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
        return Recorder(file, self.game.scenario, self.stage.view, fps=self.app.settings.time_speed)

    def _edit(self) -> None:
        self.app.edit(source_of(self.game.scenario))

    def _menu(self) -> None:
        self.app.push(PauseMenu(self))

    # ---- what is seen ----------------------------------------------------------------

    def buttons(self) -> Sequence[tuple[str, str, str]]:
        return (("Menu", "play", "menu"), *super().buttons())

    def facts(self) -> Sequence[str]:
        runs = f"Time runs: {self.app.settings.time_speed} steps a second"
        records = "" if self._recorder is None else f"Recording: {self._recorder.path.suffix[1:]}"
        several = len(self.game.agents) > 1
        acts = f"You are {self.game.controlled}"
        return (
            *super().facts(),
            *([self._goal] if self._goal else []),
            *([acts] * several),
            *([runs] if self._runs else []),
            *([records] if records else []),
        )

    @property
    def _goal(self) -> str:
        """The fewest steps of a level of a pack, and the player's."""
        level = self.game.pack_level
        return "" if level is None else self.app.progress.goal(level).capitalize()

    def hints(self) -> Sequence[str]:
        commands = self.app.bindings.commands(self.domain.title)
        says = {command.name: command.says for command in commands}
        moves = [self.hint(self.domain.title, name, says[name]) for name in self.stage.taught]
        undo = self.hint("play", "undo", "undo")
        stuck = self.hint("play", "hint", "hint") if self.game.pack_level else ""
        several = self.knows("next_agent")
        other = self.hint(self.domain.title, "next_agent", "another agent") if several else ""
        return (*moves[:5], undo, stuck, other, *moves[5:], self.hint("view", "help", "all keys"))

    def hints_now(self) -> Sequence[str]:
        if not self.frame.outcome:
            return self.hints()
        told = [self.hint("play", name, label.lower()) for label, name in self._choices()]
        return (*told, self.hint("view", "help", "all keys"))

    def draw(self, pen: Painter, now: float) -> None:
        super().draw(pen, now)
        if self.frame.outcome and self._at:
            self._draw_end(pen, self._at.panel)

    def draw_stage(self, pen: Painter, rect: pygame.Rect, progress: float) -> None:
        """Above the stage stands what the level of a pack tells its players."""
        brief = self._brief
        if brief:
            line = pen.line
            rows = len(wrap(brief, line, rect.w - line))
            top = pygame.Rect(rect.x, rect.y, rect.w, min(rows * line + line // 2, rect.h // 2))
            pen.card(top)
            pen.lines(top.inflate(-line, -(line // 2)), brief, "accent")
            rect = pygame.Rect(rect.x, top.bottom + line // 2, rect.w, 0)
            rect.h = top.y + self._at.stage.h - rect.y if self._at else 0
        super().draw_stage(pen, rect, progress)

    @property
    def _brief(self) -> str:
        """What the level says to its players, with the keys that they have."""
        level = self.game.pack_level
        told = " ".join(level.says.split()) if level else ""
        return self.app.bindings.named_in(told, self.groups)

    def _choices(self) -> Sequence[tuple[str, str]]:
        """What there is to do when the level is over: labels and commands of the group `play`."""
        is_saved = self._saved_at == self.game.state()
        kept = ("Watch replay", "watch") if is_saved else ("Save replay", "save_replay")
        if self.game.is_lost:
            return (("Try again", "go_on"), ("Undo", "undo"), ("Next level", "next_level"), kept)
        return (("Next level", "go_on"), ("Same level again", "again"), ("Undo", "undo"), kept)

    @property
    def _result(self) -> str:
        """What came of it, in words."""
        steps, usual = self.frame.steps, f"Return {self.frame.total:+.6g} in"
        return self.app.progress.told(self.game, steps) or f"{usual} {steps} steps"

    def _draw_end(self, pen: Painter, room: pygame.Rect) -> None:
        """Say over the panel how it ended and what to press now; what is below tells keys too."""
        line, choices = pen.line, self._choices()
        keys = [self.app.bindings.label("play", name) for _, name in choices]
        widest = 7 * line // 2 + max(
            pen.width(label + key) for (label, _), key in zip(choices, keys, strict=True)
        )
        columns = next((n for n in (4, 2) if n * widest + line <= room.w), 1)
        title, total = self.frame.ending, self._result
        if self.frame.success and self.game.pack_level:
            title = "Solved!"
        in_one = pen.width(title, 1.4) + pen.width(total) + 4 * line <= room.w
        head = (3 if in_one else 4) * line
        rows = -(-len(choices) // columns)
        if head + rows * 2 * line > room.h:  # then the hints tell what to press
            rows, in_one, head = 0, True, room.h
        card = pygame.Rect(0, 0, room.w, head + rows * 2 * line)
        card.midbottom = room.midbottom
        pen.card(card)
        pen.frame(card, "accent")
        top = pygame.Rect(card.x, card.y + line // 2, card.w, 2 * line) if rows else card.copy()
        top.inflate_ip(-2 * line, 0)
        taken = pen.text(top, title, "accent", size=1.4)
        if in_one:
            rest = pygame.Rect(top.x + taken + line, top.y, top.w - taken - line, top.h)
            pen.text(rest, total, align="right")
        else:
            pen.text(pygame.Rect(top.x, top.bottom, top.w, line), total)
        across = (card.w - line) // columns
        for number, ((label, name), key) in enumerate(zip(choices, keys, strict=True)):
            row, column = divmod(number, columns)
            if row < rows:
                slot = pygame.Rect(0, 0, across - line // 2, line * 7 // 4)
                slot.topleft = (
                    card.x + line * 3 // 4 + column * across,
                    card.y + head - line // 4 + row * 2 * line,
                )
                pen.button(slot, label, partial(self._press, name), key, number == 0)


_COMMANDS = {
    "real_time": PlayScreen._real_time,
    "kin": PlayScreen._kin,
    "enter_seed": PlayScreen._enter_seed,
    "save_replay": PlayScreen.save_replay,
    "watch": PlayScreen._watch,
    "rules": PlayScreen._rules,
    "race": PlayScreen._race,
    "record": PlayScreen._record,
    "picture": PlayScreen._picture,
    "edit_level": PlayScreen._edit,
    "menu": PlayScreen._menu,
}
