"""Forms of the editor: fields made from the schema, for the level, a cell, a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gv_engine.editor.form_fields import FormField, form_fields
from gv_engine.editor.rules import RULE_PARTS, Rule, format_key_path
from gv_engine.editor.yaml_text import EditError, KeyPath, has_value
from gv_engine.scenario.json_schema import Key
from gv_engine.scenario.map import LEGEND_KEYS
from gv_engine.scenario.parameters import PARAMETERS
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.screens.export import Prompt
from gv_engine.ui.screens.menu import Menu, MenuRow

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit_board import PaintScreen

_ELSEWHERE = ("domain", "map", "legend", *(part.key for part in RULE_PARTS))
"""Keys of a level that are no fields: they are painted, or listed among the rules."""
_FIRST = ("name", "description", "mission", "max_steps", "agents", "objects")
_LONGEST_SAYS = 4  # lines


class _Inside(NamedTuple):
    """What a form of what stands in a field is made of, see `FormScreen`."""

    title: str
    made: Callable[[], Sequence[FormField]]
    put: Callable[[str, Any], None]
    path: str


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
            MenuRow(_words(each.name), partial(self._change, each.name), _shown(each) or "-")
            for each in self._made()
        ]
        return rows or [MenuRow("Nothing can be set here", lambda _: self.app.pop())]

    def choose_field(self, name: str) -> None:
        """Choose the row of a field, if there is one."""
        names = [each.name for each in self._made()]
        self.chosen = names.index(name) if name in names else 0

    def _field(self, name: str) -> FormField | None:
        return next((each for each in self._made() if each.name == name), None)

    def _change(self, name: str, step: int) -> None:
        """Take the next choice, or ask for what is typed."""
        each = self._field(name)
        if each is None:  # undone meanwhile
            return
        if each.choices and (each.value is None or each.value in each.choices):
            self._take(name, each.next_choice(step))
        elif each.parts is not None:
            self.app.push(PartsScreen(self, name))
        elif each.keys:
            self.app.push(FormScreen(self._screen, *self._inside(name, self._keyed)))
        else:
            self._ask(each)

    def _take(self, name: str, value: Any) -> None:
        self._put(name, value)
        self._screen.refresh()

    def _inside(self, name: str, told: Callable[[FormField], Sequence[FormField]]) -> _Inside:
        """What a form of what stands in a field is made of; empty once the field is gone."""

        def made() -> Sequence[FormField]:
            now = self._field(name)
            return told(now) if now else ()

        def put_inner(inner: str, value: Any) -> None:
            if now := self._field(name):
                part = now.parts.set_part(now.value, inner, value) if now.parts else None
                self._put(name, part if now.parts else now.with_current(inner, value))

        return _Inside(_words(name).capitalize(), made, put_inner, _joined(self._path, name))

    def _keyed(self, each: FormField) -> Sequence[FormField]:
        return form_fields(each.keys, each.current, self._screen.work.vocabulary)

    def _ask(self, each: FormField) -> None:
        def accept(text: str) -> None:
            self._take(each.name, each.parse(text))

        words = (
            f"{each.description} Expected: {each.expected}." if each.expected else each.description
        )
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

    def draw(self, pen: Painter, now: float) -> None:
        super().draw(pen, now)
        made = self._made()
        if self.chosen >= len(made):
            return
        each, line = made[self.chosen], pen.line
        path = _joined(self._path, each.name)
        wrong = [f.message for f in self._screen.faults if f.place.path.startswith(path)]
        keys = self.app.bindings
        hint = f"{keys.label('list', 'remove')} leaves it out" * (each.value is not None)
        says = " ".join(filter(None, (each.description, hint and f"{hint}.")))
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


class PartsScreen(FormScreen):
    """The form of a list, or of names of one's own: parts are added, set, moved and taken out.

    Args:
        above: the form of which that is a field.
        name: of the field.
    """

    def __init__(self, above: FormScreen, name: str) -> None:
        self._above, self._name = above, name
        inside = above._inside(
            name, lambda each: each.parts.fields(each.value) if each.parts else ()
        )
        super().__init__(above._screen, *inside)

    def rows(self) -> Sequence[MenuRow]:
        key = self.app.bindings.label("list", "add")
        return (
            *(super().rows() if self._made() else ()),
            MenuRow("Add one", lambda _: self.command("add"), key=key),
        )

    def command(self, name: str) -> None:
        if name == "add":
            self._add()
        elif name in ("move_up", "move_down"):
            self._move(-1 if name == "move_up" else 1)
        elif name != "remove" or self.chosen < len(self._made()):
            super().command(name)
        self.app.stale = True

    def _add(self) -> None:
        each = self._above._field(self._name)
        if each is None or each.parts is None:
            return
        parts, value = each.parts, each.value
        if parts.is_list:
            self._accept(str(len(value or ()) + 1))
        else:
            words = f"A name of its own. {parts.key.says}"
            self.app.push(Prompt(self.app, "Name", words, "", self._accept))

    def _accept(self, name: str) -> None:
        each = self._above._field(self._name)
        if each is None or each.parts is None:
            return
        if not each.parts.is_list and name in (each.value or {}):
            raise EditError(f"{name} is there already")
        self._take(name, each.parts.example)
        self.choose_field(name)

    def _move(self, by: int) -> None:
        each, made = self._above._field(self._name), self._made()
        if each is None or each.parts is None or self.chosen >= len(made):
            return
        told = each.parts.move_part(each.value, made[self.chosen].name, by)
        if told != each.value:
            self._above._take(self._name, told)
            self.chosen += by


def _shown(each: FormField) -> str:
    return {True: "yes", False: "no"}[each.value] if isinstance(each.value, bool) else each.shown


def _words(name: str) -> str:
    return name.replace("_", " ")


def _joined(path: str, name: str) -> str:
    """The way to a part, as messages give it; parts of a list have their numbers as names."""
    if name.isdecimal():
        return f"{path}[{int(name) - 1}]"
    return ".".join(filter(None, (path, name)))


def level_form(screen: PaintScreen) -> FormScreen:
    """The form of a level: all keys of its file that are neither painted nor rules."""
    work = screen.work
    keys = work.format.keys
    order = [*(key for key in _FIRST if key in keys), *(key for key in keys if key not in _FIRST)]
    shown = {key: keys[key] for key in order if key not in _ELSEWHERE}

    def made() -> Sequence[FormField]:
        return [*_parameters(screen), *form_fields(shown, work.values, work.vocabulary)]

    def put_value(name: str, value: Any) -> None:
        path: KeyPath = (name,)
        if name in (parameter.name for parameter in _parameters(screen)):
            path = _parameter_path(work.buffer.text, name)
        work.set_value(path, value)

    return FormScreen(screen, "Level", made, put_value)


def _parameters(screen: PaintScreen) -> list[FormField]:
    """The parameters of a level, with their values unless somebody sets them."""
    document = screen.work.document
    found = []
    for each in document.parameters if document else ():
        says = f"A parameter of the level. {each.says}".strip()
        value, choices = each.default, each.choices
        key = Key(says, {"enum": list(choices)} if choices else {}, required=True)
        made = form_fields({each.name: key}, {each.name: value}, screen.work.vocabulary)[0]
        found.append(made._replace(expected=each.allowed, is_text=each.kind == "text"))
    return found


def _parameter_path(text: str, name: str) -> KeyPath:
    long: KeyPath = (PARAMETERS, name, "default")
    return long if has_value(text, long) else (PARAMETERS, name)


def cell_form(screen: PaintScreen) -> FormScreen:
    """The form of what is in the cell of the cursor."""
    work, cell = screen.work, screen.cursor

    def made() -> Sequence[FormField]:
        thing, words = work.map.thing(cell), work.vocabulary
        name = str(thing.get("object", ""))
        states = words.types[name].states if name in words.types else ()
        own = {"state": LEGEND_KEYS["state"]._replace(form={"enum": list(states)})}
        told = {**LEGEND_KEYS, **(own if states else {})}
        return form_fields(told, thing, words)

    def put_value(name: str, value: Any) -> None:
        thing = {**work.map.thing(cell), name: value}
        if name == "object":  # another one has other states and colours
            thing = {key: thing[key] for key in thing if key not in ("state", "color", "content")}
        told = work.vocabulary.normalize_entry(
            {key: part for key, part in thing.items() if part is not None}
        )
        work.edit(lambda _: work.map.paint([(cell, told)], over=False))

    character = work.map.rows[cell[0]][cell[1]]
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
        return form_fields(work.rules.argument_table(now), now.arguments, work.vocabulary)

    def put_value(name: str, value: Any) -> None:
        text = work.rules.set_argument(rule(), name, value)
        work.edit(lambda _: text)

    return FormScreen(screen, _words(rule().name), made, put_value, format_key_path(path))
