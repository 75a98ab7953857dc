"""Forms of the editor: fields made from the schema, for the level, a cell or a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gv_engine.play.editor.form_fields import FormField, form_fields, make_field, to_words
from gv_engine.play.editor.pack import level_path
from gv_engine.play.editor.rules import RULE_PARTS, Rule
from gv_engine.play.editor.text_buffer import (
    EditError,
    KeyPath,
    format_key_path,
    has_value,
    read_scalar,
)
from gv_engine.play.editor.vocabulary import Vocabulary
from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.menu import UNSET, Menu, MenuRow
from gv_engine.play.ui.screens.replay import Prompt
from gv_engine.rules.errors import format_cell
from gv_engine.scenario.documents.parameters import PARAMETERS
from gv_engine.scenario.levels.packs import LEVEL_KEYS
from gv_engine.scenario.readers.map import LEGEND_KEYS
from gv_engine.scenario.syntax.json_schema import TEXT, Key
from gv_engine.scenario.syntax.yaml_parser import parse_value

if TYPE_CHECKING:
    from gv_engine.play.ui.screens.edit import EditScreen


# Keys of a level that are no fields of its form: they are painted, or edited as rules.
_EXCLUDED_KEYS = ("domain", "map", "legend", *(part.key for part in RULE_PARTS))
_FIRST_KEYS = ("name", "description", "theme", "max_steps")
_FIRST_AUTHOR_KEYS = ("mission", "observation_function", "view")
# Entry of the level form that is no field: the heading above the keys that painters need seldom.
_AUTHORS_HEADING = FormField("", "", {}, None, (), "", True, True, {}, label="For authors")
_MAX_DESCRIPTION_LINES = 4  # lines
_AREA_TEXT = "Cells that the agent sees, with itself: ahead of it, or on all sides."
# Number of choices up to which Enter switches to the next one; more are a list to pick from.
_MAX_CYCLED_CHOICES = 3


class EditorMenu(Menu):
    """Menu over the editor screen.

    Args:
        screen: editor screen.
    """

    def __init__(self, screen: EditScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen


class FormScreen(EditorMenu):
    """Form with a row for each field; choices are changed in the row, other values are typed.

    Args:
        screen: editor screen.
        title: title of the form.
        make_fields: function that returns the current fields.
        put: function that sets a field's value; None removes the field.
        path: path of the form's object in error messages.
        exists: function that returns False after the form's object is gone, such as by undo; then
            the editor closes the form.

    Attributes:
        exists: the function `exists`.
    """

    groups = ("list", "menu", "window")
    free_lines = 6

    def __init__(
        self,
        screen: EditScreen,
        title: str,
        make_fields: Callable[[], Sequence[FormField]],
        put: Callable[[str, Any], None],
        path: str = "",
        exists: Callable[[], bool] = lambda: True,
    ) -> None:
        """Create a form of fields given by `make_fields`; `put(name, value)` writes a value into
        the file."""
        super().__init__(screen)
        self.title, self._path = title, path
        self._make_fields, self._put, self.exists = make_fields, put, exists

    def rows(self) -> Sequence[MenuRow]:
        """Return a menu row for each field of the form."""
        rows = [self._make_row(field) for field in self._make_fields()]
        return rows or [MenuRow("Nothing can be set here", lambda _: self.app.pop())]

    def _make_row(self, field: FormField) -> MenuRow:
        """Return the row of `field`: arrows for numbers and few choices; a list to pick from for
        more choices."""
        if field is _AUTHORS_HEADING:
            return MenuRow(field.label, lambda _: None)
        has_list = len(field.presets) > _MAX_CYCLED_CHOICES
        is_number = field.number_schema is not None and isinstance(field.value, int)
        return MenuRow(
            field.label,
            partial(self._change, field.name),
            _format_value(field, self._screen.draft.vocabulary),
            choose=partial(self._pick, field.name) if has_list or is_number else None,
            has_steps=bool(field.choices) or is_number,
            repeats=is_number and not field.choices,
        )

    def _pick(self, name: str) -> None:
        """Open the list of the values of the field called `name`, or ask the user to type one."""
        field = self._find_field(name)
        if field is not None and field.presets:
            self.app.push(PickScreen(self, field))
        elif field is not None:
            self.ask_value(field)

    def choose_field(self, name: str) -> None:
        """Choose the row of the field called `name`; the first row if there is no such field."""
        names = [field.name for field in self._make_fields()]
        self.chosen = names.index(name) if name in names else 0

    def _find_field(self, name: str) -> FormField | None:
        return next((field for field in self._make_fields() if field.name == name), None)

    def _change(self, name: str, step: int) -> None:
        """Change the field called `name`: switch to the choice `step` positions further, open the
        form of its parts, or ask the user to type a value."""
        field = self._find_field(name)
        if field is None:  # undone meanwhile
            return
        if field.choices and (field.value is None or field.value in field.choices):
            self.pick_value(name, field.next_choice(step))
        elif field.number_schema and isinstance(field.value, int):
            self.pick_value(name, field.step_number(step))
        elif field.parts is not None:
            self.app.push(PartsScreen(self, name))
        elif field.keys:
            self.app.push(InnerForm(self, name))
        else:
            self.ask_value(field)

    def pick_value(self, name: str, value: Any) -> None:
        """Set the value of the field called `name` in the file, and show the changed level."""
        self._put(name, value)
        self._screen.refresh()

    def ask_value(self, field: FormField) -> None:
        """Open a dialog in which the user types the value of `field`."""

        def accept(text: str) -> None:
            self.pick_value(field.name, field.parse(text))

        explanation = field.description
        if field.expected:
            explanation += f" Expected: {field.expected}."
        self.app.push(Prompt(self.app, field.label, explanation, field.shown, accept))

    def run_command(self, name: str) -> None:
        """Run the command `name`: remove the selected field's value, undo, redo, or a command of
        menus."""
        fields = self._make_fields()
        if name == "remove" and fields:
            self.pick_value(fields[min(self.chosen, len(fields) - 1)].name, None)
        elif name in ("undo", "redo"):
            self._screen.run_command(name)
        else:
            super().run_command(name)
            if self._find_chosen_field() is _AUTHORS_HEADING:
                self.chosen += -1 if name in ("up", "page_up") else 1

    def _find_chosen_field(self) -> FormField | None:
        fields = self._make_fields()
        return fields[self.chosen] if self.chosen < len(fields) else None

    def _draw_button_row(self, painter: Painter, slot: Rect, row: MenuRow, index: int) -> None:
        if row.label == _AUTHORS_HEADING.label:
            painter.draw_text(slot.inflate(-painter.line_height, 0), row.label, "accent")
        else:
            super()._draw_button_row(painter, slot, row, index)

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the rows with `painter`, and below them the description and the error of the
        selected field."""
        super().draw(painter, now)
        field, line = self._find_chosen_field(), painter.line_height
        if field is None or field is _AUTHORS_HEADING:
            return
        texts = {"muted": field.description, "loss": self._find_error(field)}
        if field.value is not None:
            remove_hint = self.hint("list", "remove", "leaves it out.")
            texts["muted"] = f"{field.description} {remove_hint}".strip()
        width = min(painter.area.w - line, 46 * line)
        heights = [
            painter.text_height(text, width - 2 * line, _MAX_DESCRIPTION_LINES)
            for text in texts.values()
        ]
        card = Rect(0, 0, width, sum(heights) + line)
        card.midbottom = painter.area.centerx, painter.area.bottom - line // 2
        painter.draw_card(card)
        painter.draw_outline(card, "outline")
        rest = card.inflate(-2 * line, -line)
        for (color, text), height in zip(texts.items(), heights, strict=True):
            painter.draw_lines(cut(rest, "top", height), text, color)

    def _find_error(self, field: FormField) -> str:
        path = _join_path(self._path, field.name)
        faults = (fault for fault in self._screen.faults if fault.place.path.startswith(path))
        return next((fault.message for fault in faults), "")


class PickScreen(Menu):
    """List of the values of a field, to pick one.

    Args:
        form: form with the field.
        field: the field.
    """

    def __init__(self, form: FormScreen, field: FormField) -> None:
        super().__init__(form.app)
        self._form, self._edited = form, field
        self.title = field.label.capitalize()
        values = list(field.presets.values())
        self.chosen = values.index(field.value) if field.value in values else 0

    @property
    def text_above(self) -> str:
        """Description of the field."""
        return _AREA_TEXT if self._edited.is_area else self._edited.description

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each value, a row for no value unless one is required, and a row to type
        a value if that is possible."""
        field, pick = self._edited, self._form.pick_value
        rows = [
            self.closing_row(name, partial(pick, field.name, value))
            for name, value in field.presets.items()
        ]
        if not field.required:
            rows.append(self.closing_row("None of them", partial(pick, field.name, None)))
        if not field.choices:
            rows.append(self.closing_row("Another one", partial(self._form.ask_value, field)))
        return rows


class InnerForm(FormScreen):
    """Form of the inner fields of a field.

    Args:
        above: form that has the field.
        name: name of the field.
    """

    def __init__(self, above: FormScreen, name: str) -> None:
        """Create the form for the parts of one field, called `name`, of the form `above`."""
        self._above, self._name = above, name
        title, path = to_words(name).capitalize(), _join_path(above._path, name)
        make_fields, put = self._make_inner_fields, self._put_inner
        super().__init__(above._screen, title, make_fields, put, path, self._has_outer_field)

    def _has_outer_field(self) -> bool:
        return self._above.exists() and self._outer_field is not None

    @property
    def _outer_field(self) -> FormField | None:
        return self._above._find_field(self._name)

    def _make_inner_fields(self) -> Sequence[FormField]:
        """Return the fields of this form: the parts of the field that it edits; () if that field is
        gone."""
        if (field := self._outer_field) is None:
            return ()
        if field.parts:
            return field.parts.fields(field.value)
        return form_fields(field.keys, field.current, self._screen.draft.vocabulary)

    def _put_inner(self, name: str, value: Any) -> None:
        if field := self._outer_field:
            if field.parts:
                outer_value = field.parts.set_part(field.value, name, value)
            else:
                outer_value = field.with_current(name, value)
            self._above._put(self._name, outer_value)


class PartsScreen(InnerForm):
    """Form of a list, or of a mapping whose keys the user chooses: parts are added, set, moved and
    removed."""

    def rows(self) -> Sequence[MenuRow]:
        """Return a menu row for each item of the edited list or mapping, and a row that adds an
        item."""
        rows = super().rows() if self._make_fields() else ()
        key = self.app.bindings.label("list", "add")
        return (*rows, MenuRow("Add one", lambda _: self.run_command("add"), key=key))

    def run_command(self, name: str) -> None:
        """Run the command `name`: add or move an item, or a command of forms."""
        if name == "add":
            self._add()
        elif name in ("move_up", "move_down"):
            self._move(-1 if name == "move_up" else 1)
        elif name != "remove" or self.chosen < len(self._make_fields()):
            super().run_command(name)

    def _add(self) -> None:
        """Append an item to the edited list; for a mapping, first ask the user for the key of the
        new item."""
        field = self._outer_field
        if field is None or field.parts is None:
            return
        if field.parts.is_list:
            self._accept(str(len(field.value or ()) + 1))
        else:
            explanation = f"A unique name. {field.parts.key.description}"
            self.app.push(Prompt(self.app, "Name", explanation, "", self._accept))

    def _accept(self, name: str) -> None:
        """Add an item with the key or list number `name` and an example value, and select its
        row."""
        field = self._outer_field
        if field is None or field.parts is None:
            return
        if not field.parts.is_list and name in (field.value or {}):
            raise EditError(f"{name} is there already")
        self.pick_value(name, field.parts.example)
        self.choose_field(name)

    def _move(self, offset: int) -> None:
        """Move the selected item of the list by `offset` positions."""
        field, parts = self._outer_field, self._make_fields()
        if field is None or field.parts is None or self.chosen >= len(parts):
            return
        value = field.parts.move_part(field.value, parts[self.chosen].name, offset)
        if value != field.value:
            self._above.pick_value(self._name, value)
            self.chosen += offset


def _format_value(field: FormField, vocabulary: Vocabulary) -> str:
    """Return the value of `field` as a text: yes or no for booleans, default for none; for a rule,
    its name and its arguments, each formatted as in its own field."""
    for name, value in field.presets.items():
        if value == field.value:
            return name
    if field.keys and "name" in field.current:  # a rule with its arguments
        parts = form_fields(field.keys, field.current, vocabulary)
        texts = (_format_value(part, vocabulary) for part in parts if part.value is not None)
        return ", ".join(texts)
    return to_words(field.value) if isinstance(field.value, bool) else field.shown or UNSET


def _join_path(path: str, name: str) -> str:
    if name.isdecimal():
        return f"{path}[{int(name) - 1}]"
    return ".".join(filter(None, (path, name)))


def level_form(screen: EditScreen) -> FormScreen:
    """Return the form that edits the level in the editor `screen`: its name and what else a painter
    sets, then, for authors, its parameters and all other keys except the map and the rules."""
    draft = screen.draft
    keys = {name: key for name, key in draft.format.keys.items() if name not in _EXCLUDED_KEYS}
    names = dict.fromkeys(name for name in (*_FIRST_AUTHOR_KEYS, *keys) if name in keys)

    def make_fields() -> Sequence[FormField]:
        parameters = {field.name: field for field in _make_parameter_fields(screen)}
        fields = {field.name: field for field in form_fields(keys, draft.values, draft.vocabulary)}
        first = [fields[name] for name in _FIRST_KEYS if name in fields.keys() - parameters]
        rest = [fields[name] for name in names if name not in (*_FIRST_KEYS, *parameters)]
        return [*first, _AUTHORS_HEADING, *parameters.values(), *rest]

    def put_value(name: str, value: Any) -> None:
        path: KeyPath = (name,)
        if name in (field.name for field in _make_parameter_fields(screen)):
            path = (PARAMETERS, name)
            if has_value(draft.buffer.text, (*path, "default")):
                path = (*path, "default")
        draft.set_value(path, value)

    return FormScreen(screen, "Level", make_fields, put_value)


def pack_level_form(screen: EditScreen, number: int) -> FormScreen:
    """Return the form that edits level `number`, from 1, of the pack in the editor `screen`: all
    its keys except the map."""
    draft = screen.draft
    keys = {name: key for name, key in LEVEL_KEYS.items() if name != "map"}

    def make_fields() -> Sequence[FormField]:
        values = {
            name: text if key.schema == TEXT else parse_value(text)
            for name, key in keys.items()
            if (text := read_scalar(draft.buffer.text, level_path(number, name)))
        }
        return form_fields(keys, values, draft.vocabulary)

    def put_value(name: str, value: Any) -> None:
        draft.set_value(level_path(number, name), value)

    title = f"Level {number} of the pack"
    return FormScreen(
        screen, title, make_fields, put_value, exists=lambda: number <= len(draft.pack_titles)
    )


def _make_parameter_fields(screen: EditScreen) -> list[FormField]:
    """Return a form field for each parameter of the level in the editor `screen`, with the
    parameter's default value."""
    document = screen.draft.document
    fields = []
    for parameter in document.parameters if document else ():
        description = f"A parameter of the level. {parameter.description}".strip()
        schema = {"enum": list(parameter.choices)} if parameter.choices else {}
        key = Key(description, schema, required=True)
        field = make_field(parameter.name, key, parameter.default, screen.draft.vocabulary)
        is_text = parameter.kind == "text"
        fields.append(field._replace(expected=parameter.allowed_text, is_text=is_text))
    return fields


def cell_form(screen: EditScreen) -> FormScreen:
    """Return the form that edits the content of the map cell under the editor's cursor."""
    draft, cell = screen.draft, screen.cursor

    def make_fields() -> Sequence[FormField]:
        thing, types = draft.map.thing(cell), draft.vocabulary.types
        name, keys = str(thing.get("object", "")), dict(LEGEND_KEYS)
        if name in types and types[name].states:
            states = list(types[name].states)
            keys["state"] = keys["state"]._replace(schema={"enum": states})
        return form_fields(keys, thing, draft.vocabulary)

    def put_value(name: str, value: Any) -> None:
        thing = {**draft.map.thing(cell), name: value}
        if name == "object":  # another one has other states and colours
            thing = {key: thing[key] for key in thing if key not in ("state", "color", "content")}
        entry = draft.vocabulary.normalize_entry(thing)
        draft.edit(lambda _: draft.map.paint([(cell, entry)], keeps_ground=False))

    (y, x), title = cell, format_cell(*cell).capitalize()
    path = f"legend.{draft.map.rows[y][x]}"
    return FormScreen(screen, title, make_fields, put_value, path, lambda: cell in draft.map)


def rule_form(screen: EditScreen, opened_rule: Rule) -> FormScreen:
    """Return the form for the parameters of the rule `opened_rule` of the edited file."""
    draft = screen.draft

    def find_rule() -> Rule | None:
        """Return the rule as it is now; None if it is gone, such as by undo."""
        place = opened_rule.path, opened_rule.name
        rules = (rule for part in RULE_PARTS for rule in draft.rules.rules(part))
        return next((rule for rule in rules if (rule.path, rule.name) == place), None)

    def make_fields() -> Sequence[FormField]:
        if (rule := find_rule()) is None:
            return ()
        return form_fields(draft.rules.argument_table(rule), rule.arguments, draft.vocabulary)

    def put_value(name: str, value: Any) -> None:
        if rule := find_rule():
            draft.set_text(draft.rules.set_argument(rule, name, value))

    title, path = to_words(opened_rule.name), format_key_path(opened_rule.path)
    return FormScreen(screen, title, make_fields, put_value, path, lambda: bool(find_rule()))
