"""Forms of the editor: fields made from the schema, for the level, a cell, a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gv_engine.editing.fields import FormField, form_fields
from gv_engine.editing.rules import RULE_PARTS, Rule, path_words
from gv_engine.editing.yaml_text import KeyPath, has
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen, wrap
from gv_engine.frontend.window.screens.menu import Menu, MenuRow
from gv_engine.frontend.window.screens.prompt import Prompt
from gv_engine.reading.forms import Key
from gv_engine.reading.map import LEGEND_KEYS
from gv_engine.reading.parameters import PARAMETERS

if TYPE_CHECKING:
    from gv_engine.frontend.window.screens.edit_board import PaintScreen

_ELSEWHERE = ("family", "map", "legend", *(part.key for part in RULE_PARTS))
"""Keys of a level that are no fields: they are painted, or listed among the rules."""
_FIRST = ("name", "description", "mission", "max_steps", "agents", "objects")
_LONGEST_SAYS = 4  # lines


class FormScreen(Menu):
    """A form: a row for each field, changed where it stands, or typed.

    Args:
        screen: the editor.
        title: what it is about.
        made: makes the fields as they are now.
        put: lets a field have a value, None for nothing.
        path: to what it is about, as messages about it begin.
    """

    groups = ("list", "menu", "window")
    foot = 6

    def __init__(
        self,
        screen: PaintScreen,
        title: str,
        made: Callable[[], Sequence[FormField]],
        put: Callable[[str, Any], None],
        path: str = "",
    ) -> None:
        super().__init__(screen.app)
        self._screen, self._title, self._made, self._put = screen, title, made, put
        self._path = path

    @property
    def title(self) -> str:
        return self._title

    def rows(self) -> Sequence[MenuRow]:
        rows = [
            MenuRow(
                each.name.replace("_", " "), partial(self._change, each.name), each.shown or "-"
            )
            for each in self._made()
        ]
        return rows or [MenuRow("Nothing can be set here", lambda _: self.app.pop())]

    def choose_field(self, name: str) -> None:
        """Choose the row of a field, if there is one."""
        names = [each.name for each in self._made()]
        self.chosen = names.index(name) if name in names else 0

    def _field(self, name: str) -> FormField:
        return next(each for each in self._made() if each.name == name)

    def _change(self, name: str, step: int) -> None:
        """Take the next choice, or ask for what is typed."""
        each = self._field(name)
        if each.choices and (each.value is None or each.value in each.choices):
            self._take(name, each.after(step))
        elif each.below:
            self._open(each)
        else:
            self._ask(each)

    def _take(self, name: str, value: Any) -> None:
        self._put(name, value)
        self._screen.refresh()

    def _open(self, each: FormField) -> None:
        """Fill in what stands in a field by a form of its own."""
        words = self._screen.work.words

        def made() -> Sequence[FormField]:
            return form_fields(each.below, self._field(each.name).value or {}, words)

        def put_inner(name: str, value: Any) -> None:
            inner = {**(self._field(each.name).value or {}), name: value}
            told = {key: part for key, part in inner.items() if part is not None}
            self._put(each.name, told or None)

        path = ".".join(filter(None, (self._path, each.name)))
        title = _words(each.name).capitalize()
        self.app.push(FormScreen(self._screen, title, made, put_inner, path))

    def _ask(self, each: FormField) -> None:
        def accept(text: str) -> None:
            self._take(each.name, each.read(text))

        words = f"{each.says} Expected: {each.expects}." if each.expects else each.says
        self.app.push(Prompt(self.app, _words(each.name), words, each.shown, accept))

    def command(self, name: str) -> None:
        made = self._made()
        if name == "remove" and made:
            self._take(made[min(self.chosen, len(made) - 1)].name, None)
        elif name in ("undo", "redo"):
            self._screen.command(name)
        else:
            super().command(name)
        self.app.stale = True

    def draw(self, pen: Pen, now: float) -> None:
        super().draw(pen, now)
        made = self._made()
        if not made:
            return
        each, line = made[min(self.chosen, len(made) - 1)], pen.line
        path = ".".join(filter(None, (self._path, each.name)))
        wrong = [f.says for f in self._screen.faults if f.place.path.startswith(path)]
        keys = self.app.bindings
        hint = f"{keys.label('list', 'remove')} leaves it out" * (each.value is not None)
        says = " ".join(filter(None, (each.says, hint and f"{hint}.")))
        width = min(pen.area.w - line, 46 * line)
        shown = wrap(says, line, width - 2 * line, _LONGEST_SAYS)
        faults = wrap(wrong[0], line, width - 2 * line, _LONGEST_SAYS) if wrong else []
        card = pygame.Rect(0, 0, width, (len(shown) + len(faults) + 1) * line)
        card.midbottom = pen.area.centerx, pen.area.bottom - line // 2
        pen.card(card)
        pen.frame(card, "outline")
        inner = card.inflate(-2 * line, -line)
        high = pen.lines(pygame.Rect(inner.x, inner.y, inner.w, len(shown) * line), says, "muted")
        if faults:
            rest = pygame.Rect(inner.x, inner.y + high, inner.w, len(faults) * line)
            pen.lines(rest, wrong[0], "loss")


def _words(name: str) -> str:
    return name.replace("_", " ")


def level_form(screen: PaintScreen) -> FormScreen:
    """The form of a level: all keys of its file that are neither painted nor rules."""
    work = screen.work
    keys = work.format.keys
    order = [*(key for key in _FIRST if key in keys), *(key for key in keys if key not in _FIRST)]
    shown = {key: keys[key] for key in order if key not in _ELSEWHERE}

    def made() -> Sequence[FormField]:
        return [*_parameters(screen), *form_fields(shown, work.said, work.words)]

    def put_value(name: str, value: Any) -> None:
        path: KeyPath = (name,)
        if name in (parameter.name for parameter in _parameters(screen)):
            path = _parameter_path(work.manuscript.text, name)
        work.put(path, value)

    return FormScreen(screen, "Level", made, put_value)


def _parameters(screen: PaintScreen) -> list[FormField]:
    """The parameters of a level, with their values unless somebody sets them."""
    document = screen.work.document
    found = []
    for each in document.parameters if document else ():
        says = f"A parameter of the level. {each.says}".strip()
        value, choices = each.default, each.choices
        key = Key(says, {"enum": list(choices)} if choices else {}, required=True)
        made = form_fields({each.name: key}, {each.name: value}, screen.work.words)[0]
        found.append(made._replace(expects=each.allowed, is_text=each.kind == "text"))
    return found


def _parameter_path(text: str, name: str) -> KeyPath:
    long: KeyPath = (PARAMETERS, name, "default")
    return long if has(text, long) else (PARAMETERS, name)


def cell_form(screen: PaintScreen) -> FormScreen:
    """The form of what is in the cell of the cursor."""
    work, cell = screen.work, screen.cursor

    def made() -> Sequence[FormField]:
        thing, words = work.sketch.thing(cell), work.words
        name = str(thing.get("object", ""))
        states = words.types[name].states if name in words.types else ()
        own = {"state": LEGEND_KEYS["state"]._replace(form={"enum": list(states)})}
        told = {**LEGEND_KEYS, **(own if states else {})}
        return form_fields(told, thing, words)

    def put_value(name: str, value: Any) -> None:
        thing = {**work.sketch.thing(cell), name: value}
        if name == "object":  # another one has other states and colours
            thing = {key: thing[key] for key in thing if key not in ("state", "color", "content")}
        told = work.words.plain({key: part for key, part in thing.items() if part is not None})
        work.edit(lambda _: work.sketch.painted([(cell, told)], over=False))

    character = work.sketch.rows[cell[0]][cell[1]]
    return FormScreen(
        screen, f"Row {cell[0]}, column {cell[1]}", made, put_value, f"legend.{character}"
    )


def rule_form(screen: PaintScreen, path: KeyPath) -> FormScreen:
    """The form of a rule that the text lists."""
    work = screen.work

    def rule() -> Rule:
        listed = (each for part in RULE_PARTS for each in work.rules.rules(part))
        return next(each for each in listed if each.path == path)

    def made() -> Sequence[FormField]:
        now = rule()
        return form_fields(work.rules.keys(now), now.arguments, work.words)

    def put_value(name: str, value: Any) -> None:
        text = work.rules.said(rule(), name, value)
        work.edit(lambda _: text)

    return FormScreen(screen, _words(rule().name), made, put_value, path_words(path))
