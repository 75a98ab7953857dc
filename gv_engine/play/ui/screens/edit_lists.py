"""Lists and menus of the editor: rules of the level, rules to add, objects of other levels, levels
of the pack, starters of new levels, and questions on saving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.play.editor import pack
from gv_engine.play.editor.document import STARTERS
from gv_engine.play.editor.form_fields import to_words
from gv_engine.play.editor.other_levels import Addition, LevelObject, OtherLevel
from gv_engine.play.editor.rules import RULE_PARTS, AvailableRule, Rule, RulePart, has_fault
from gv_engine.play.editor.text_buffer import EditError
from gv_engine.play.session.catalogue import built_in_entries, folder_entries, search
from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.input.bindings import GROUPS
from gv_engine.play.ui.screens.edit_forms import EditorMenu, pack_level_form, rule_form
from gv_engine.play.ui.screens.menu import ListScreen, Menu, MenuRow, SearchField
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.documents.loading import find_scenario_ref
from gv_engine.scenario.domains import DOMAINS

if TYPE_CHECKING:
    from gv_engine.play.ui.screens.edit import EditScreen

_MAX_SENTENCE_LINES = 3  # lines of a sentence


class SentenceRow(NamedTuple):
    """Row of a list.

    Attributes:
        name: title of the row.
        sentence: sentence below the title.
        act: function that choosing the row calls.
        rule: rule of the row; None for a heading or a rule to add.
        part: part of the scenario that the row belongs to.
        is_wrong: True if the rule has an error.
    """

    name: str
    sentence: str
    act: Callable[[], None]
    rule: Rule | None = None
    part: RulePart | None = None
    is_wrong: bool = False


class _SentenceList(ListScreen):
    """List of rows with a title and a sentence each.

    Args:
        screen: editor screen.
    """

    def __init__(self, screen: EditScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen

    def hints(self) -> Sequence[str]:
        """Return short texts on keys for the bottom of the screen."""
        raise NotImplementedError

    def run_command(self, name: str) -> None:
        """Run the command `name`: call the action of the selected row, or select another row."""
        rows = self.rows()
        if name == "choose" and rows:
            rows[min(self.chosen, len(rows) - 1)].act()
        else:
            super().run_command(name)

    def draw(self, painter: Painter, now: float) -> None:
        """Draw with `painter` the title, the visible rows, a scrollbar and hints."""
        line, rows = painter.line_height, self.rows()
        size = min(painter.area.w - line, 56 * line), painter.area.h - line
        body = painter.draw_dialog(size, self.title)
        footer = cut(body, "bottom", line, line // 2)
        painter.draw_text(footer, " · ".join(filter(None, self.hints())), "muted", "center", 0.9)
        cut(body, "top", line // 2)
        text_width = body.w - 2 * line
        heights = [
            painter.text_height(row.sentence, text_width, _MAX_SENTENCE_LINES) + line * 7 // 4
            for row in rows
        ]
        for index, slot in self.place_rows(painter, body, heights).items():
            self._draw_row(painter, slot, rows[index], index)

    def _draw_row(self, painter: Painter, slot: Rect, row: SentenceRow, index: int) -> None:
        """Draw `row`, number `index` of the list, into `slot`, highlighted if it is selected."""
        line, is_chosen = painter.line_height, index == self.chosen
        painter.add_hit_area(slot, partial(self._click, index))
        painter.draw_card(slot, "accent" if is_chosen else "well")
        is_heading = row.rule is None and row.part is not None
        if is_chosen:
            color = "on_accent"
        elif row.is_wrong:
            color = "loss"
        else:
            color = "accent" if is_heading else "text"
        sentence = slot.inflate(-line, -(line // 2))
        name = cut(sentence, "top", line)
        painter.draw_text(name, row.name, color)
        if row.is_wrong:
            painter.draw_text(name, "something is wrong", color, "right")
        cut(sentence, "left", line)
        if row.sentence:
            painter.draw_lines(sentence, row.sentence, "on_accent" if is_chosen else "muted")

    def _click(self, index: int, position: tuple[int, int]) -> None:
        if index == self.chosen:
            self.run_command("choose")
        self.chosen = index


class RuleListScreen(_SentenceList):
    """List of the level's rules by part of the scenario."""

    groups = ("list", "menu", "window")
    title = "Rules"

    def rows(self) -> Sequence[SentenceRow]:
        """Return the rows of the list: a heading for each part of the scenario, such as the
        rewards, and a row for each rule."""
        rules = self._screen.draft.rules
        faulty_paths = [fault.place.path for fault in self._screen.faults]
        rows = []
        for part in RULE_PARTS:
            title = ": ".join(filter(None, (part.title, rules.combination(part))))
            rows.append(SentenceRow(title, "", partial(self._open_add_screen, part), part=part))
            for rule in rules.rules(part):
                name = rule.name if ":" in rule.name else to_words(rule.name)
                act = partial(self._open_rule_form, rule)
                is_wrong = has_fault(rule, faulty_paths)
                rows.append(SentenceRow(name, rule.description, act, rule, part, is_wrong))
        return rows

    def choose_at(self, path: str) -> None:
        """Select the row of the rule to which the key path `path` of an error belongs."""
        has_path = [row.rule and has_fault(row.rule, [path]) for row in self.rows()]
        self.chosen = has_path.index(True) if True in has_path else 0

    def hints(self) -> Sequence[str]:
        """Return short texts on the keys that add, remove, move and set rules."""
        texts = {"add": "adds", "remove": "takes out", "move_up": "up", "move_down": "down"}
        hints = self.hints_of("list", texts)
        return (*hints, self.hint("menu", "choose", "sets"), self.hint("list", "undo", "undo"))

    def run_command(self, name: str) -> None:
        """Run the command `name`: add, remove or move a rule, undo, redo, or select another row."""
        rows = self.rows()
        row = rows[min(self.chosen, len(rows) - 1)]
        if name == "add" and row.part is not None:
            self._open_add_screen(row.part)
        elif name == "remove" and row.rule is not None:
            self._change(self._screen.draft.rules.remove_rule(row.rule))
        elif name in ("move_up", "move_down") and row.rule is not None:
            self._move(row.rule, -1 if name == "move_up" else 1)
        elif name in ("undo", "redo"):
            self._screen.run_command(name)
        else:
            super().run_command(name)

    def _change(self, text: str) -> None:
        self._screen.edit(lambda _: text)

    def _move(self, rule: Rule, offset: int) -> None:
        if self._screen.move_rule(rule, offset):
            self.chosen += offset

    def _open_rule_form(self, rule: Rule) -> None:
        if rule.system is not None and self._screen.draft.rules.argument_table(rule):
            self.app.push(rule_form(self._screen, rule))

    def _open_add_screen(self, part: RulePart) -> None:
        """Open the list of rules that can be added to `part`, such as the rewards."""
        rows = []
        for rule in self._screen.draft.rules.available_rules(part):
            name, act = to_words(rule.name), partial(self._insert_rule, part, rule)
            rows.append(SentenceRow(name, rule.description, act))
        self.app.push(SearchList(self._screen, part.title, rows))

    def _insert_rule(self, part: RulePart, rule: AvailableRule) -> None:
        """Add `rule` to `part`, such as the rewards; select its row, and open the form of its
        parameters."""
        self._change(self._screen.draft.rules.add_rule(part, rule))
        new_rule = self._screen.draft.rules.rules(part)[-1]
        self.chosen = [row.rule for row in self.rows()].index(new_rule)
        if new_rule.arguments:
            self._open_rule_form(new_rule)


class SearchList(SearchField, _SentenceList):
    """List of rows, filtered by typed text, one of which is chosen.

    Args:
        screen: editor screen.
        heading: title of the list.
        rows: all rows; the chosen one's action is called after the list is closed.
    """

    def __init__(self, screen: EditScreen, heading: str, rows: Sequence[SentenceRow]) -> None:
        super().__init__(screen)
        self._heading = heading
        self._rows = [row._replace(act=partial(self._choose, row.act)) for row in rows]

    @property
    def title(self) -> str:  # type: ignore[override]  # it changes with the query
        """Heading of the list, followed by the search text."""
        return f"{self._heading}: {self.query}|" if self.query else self._heading

    def rows(self) -> Sequence[SentenceRow]:
        """Return the rows that match the search text."""
        return search(self.query, self._rows, lambda row: (row.name, row.sentence))

    def hints(self) -> Sequence[str]:
        """Return short texts on how to search and choose, for the bottom of the screen."""
        return ("Type to search", self.hint("menu", "choose", "takes it"))

    def _choose(self, act: Callable[[], None]) -> None:
        self.app.pop()
        act()


# ---- objects of other levels ---------------------------------------------------------------------


def open_level_list(screen: EditScreen) -> None:
    """Open the list of levels whose objects can be added to the level in the editor `screen`."""
    names = {name for domain in DOMAINS.values() if domain.sketch for name in domain.playable}
    built_in = [entry for entry in built_in_entries() if entry.source in names]
    built_in.sort(key=lambda entry: entry.group not in ("Gallery", "Puzzles"))
    rows, listed_files = [], {screen.draft.ref.file}
    for entry in (*folder_entries(screen.draft.ref.file.parent), *built_in):
        with suppress(ScenarioError):
            file = find_scenario_ref(entry.source).file
            if file in listed_files:
                continue
            listed_files.add(file)
            act = partial(_open_object_list, screen, entry.source)
            rows.append(SentenceRow(entry.title, f"{entry.group}. {entry.description}", act))
    screen.app.push(SearchList(screen, "Add objects of a level", rows))


def _open_object_list(screen: EditScreen, source: str) -> None:
    """Open the list of the objects of the level `source`, to add one or all of them to the level in
    the editor `screen`."""
    level = OtherLevel(source, screen.draft.trust)
    if not level.objects:
        raise EditError(f"{level.title} has no objects with rules of their own")
    rows = []
    for level_object in level.objects:
        other_types = level_object.types[1:]
        sentences = dict.fromkeys(rule.description.rstrip(".") for rule in level_object.rules)
        text = f"With {', '.join(other_types)}. " if other_types else ""
        act = partial(add_objects, screen, level, [level_object])
        rows.append(SentenceRow(level_object.name, text + ". ".join(sentences), act))
    if len(rows) > 1:
        add_all = partial(add_objects, screen, level, level.objects)
        rows.append(SentenceRow("All of them", "", add_all))
    screen.app.push(SearchList(screen, f"Objects of {level.title}", rows))


def add_objects(screen: EditScreen, level: OtherLevel, objects: Sequence[LevelObject]) -> None:
    """Add `objects` of `level` to the level in the editor `screen`, make the first one the brush,
    and show a note. If the objects need Python files or sprites, a level without a file is saved
    first.

    Raises:
        EditError: something in the level is in the way of the objects.
    """
    addition = Addition(screen.draft, level, objects)
    if addition.files and screen.draft.buffer.file is None:
        screen.app.show_note("Python files or drawings come, too: save the level first")
        screen.save(then=lambda: add_objects(screen, level, objects))
        return
    text_before, text = screen.draft.buffer.text, addition.apply()
    screen.edit(lambda _: text)
    screen.brushes.choose(addition.names[objects[0].name])
    note = addition.summary if text != text_before else "All of it is here already"
    screen.app.show_note(note, 10)


# ---- menus ---------------------------------------------------------------------------------------

_MENU_COMMANDS = (
    *("try", "save", "save_as", "share", "copy", "level_form", "level_rules", "add_objects"),
    *("pack_levels", "size", "next_map", "next_fault"),
)


class EditMenu(EditorMenu):
    """Main menu of the editor."""

    title = "Editor"

    @property
    def text_above(self) -> str:
        """Path of the file."""
        file = self._screen.draft.buffer.file
        return str(file) if file else "It has no file yet."

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each command of the editor's menu."""
        app, has_map = self.app, self._screen.has_map
        has_maps = self._screen.draft.map.num_maps > 1
        descriptions = {command.name: command.description for command in GROUPS["edit"]}
        is_shown = {"size": has_map, "next_map": has_maps}
        names = [name for name in _MENU_COMMANDS if is_shown.get(name, True)]
        rows = [self.close_row("Go on editing")]
        rows += [self._make_edit_row(descriptions[name].capitalize(), name) for name in names]
        if not has_map:
            rows.append(self.closing_row("Draw it as a map", self._screen.draw_as_map))
        key = app.bindings.label("start", "new_level")
        return (
            *rows,
            self.closing_row("New level", lambda: app.push(StarterMenu(app)), key),
            self._make_edit_row("Keys", "help"),
            self.command_row("Settings", "settings"),
            self.closing_row("Leave the editor", self._leave),
        )

    def _make_edit_row(self, label: str, name: str) -> MenuRow:
        key = self.app.bindings.label("edit", name)
        return self.closing_row(label, lambda: self._screen.run_command(name), key)

    def _leave(self) -> None:
        """Close the editor; if there are unsaved edits, ask first."""
        if self._screen.draft.buffer.is_unsaved:
            self.app.push(LeaveMenu(self._screen))
        else:
            self._screen.leave()


class PackMenu(EditorMenu):
    """Menu of the levels of the edited pack in their order; if the level is in no pack, the menu
    offers to make a pack of it."""

    groups = ("list", "menu", "window")
    title = "Levels of the pack"

    def __init__(self, screen: EditScreen) -> None:
        super().__init__(screen)
        if self._titles:
            self.chosen = int(screen.draft.variant) - 1 if screen.draft.variant.isdecimal() else 0

    @property
    def _titles(self) -> Sequence[str]:
        return self._screen.draft.pack_titles

    @property
    def text_above(self) -> str:
        """Hints on the keys that change the list; if the level is in no pack, an explanation of
        packs."""
        if not self._titles:
            return "A pack has several levels with the same rules, which are played in their order."
        texts = {"add": "adds a copy", "remove": "takes out", "move_up": "up", "move_down": "down"}
        return " · ".join([*self.hints_of("list", texts), self.hint("list", "undo", "undo")])

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each level, and for the properties of the edited level."""
        rows = []
        for number, title in enumerate(self._titles, 1):
            mark = "edited" if str(number) == self._screen.draft.variant else ""
            rows.append(MenuRow(f"{number}  {title}", partial(self._open, number), key=mark))
        if rows:
            label = "Title, par and texts of the edited level"
            rows.append(MenuRow(label, lambda _: self._open_form()))
        else:
            rows.append(MenuRow("Make a pack of this level", lambda _: self._make_pack()))
        return [*rows, self.close_row("Go on editing")]

    def run_command(self, name: str) -> None:
        """Run the command `name`: add, remove or move a level, undo, redo, or a command of
        menus."""
        number, count = self.chosen + 1, len(self._titles)
        offset = {"move_up": -1, "move_down": 1}.get(name, 0)
        if name in ("undo", "redo"):
            self._screen.run_command(name)
        elif number > count:
            super().run_command(name)
        elif name == "add":
            self._edit(lambda text: pack.add_level(text, number), number + 1)
        elif name == "remove":
            self._edit(lambda text: pack.remove_level(text, number), min(number, count - 1))
        elif not offset:
            super().run_command(name)
        elif 1 <= number + offset <= count:
            self._edit(lambda text: pack.move_level(text, number, offset), number + offset)

    def _edit(self, change: Callable[[str], str], number: int) -> None:
        self._screen.edit(change)
        self._open_level(number)

    def _open_level(self, number: int) -> None:
        self.chosen = number - 1
        self._screen.draft.open_level(number)
        self._screen.refresh()

    def _open(self, number: int, _: int) -> None:
        self.app.pop()
        self._open_level(number)

    def _open_form(self) -> None:
        self.app.push(pack_level_form(self._screen, int(self._screen.draft.variant)))

    def _make_pack(self) -> None:
        rows = self._screen.draft.map.rows
        self._edit(lambda text: pack.make_pack(text, rows), 1)


class StarterMenu(Menu):
    """Menu of the starters for a new level."""

    title = "New level"

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each starter, a small level from which a new level begins as a copy."""
        edit = self.app.edit_new_level
        return [self.closing_row(text, partial(edit, name)) for name, text in STARTERS.items()]


class LeaveMenu(EditorMenu):
    """Question whether to save before leaving the editor."""

    title = "Not saved yet"

    def rows(self) -> Sequence[MenuRow]:
        """Return the menu rows: save and leave, leave without saving, or stay."""
        leave = self._screen.leave
        return (
            self.closing_row("Save and leave", lambda: self._screen.save(then=leave)),
            MenuRow("Leave without saving", lambda _: leave()),
            self.closing_row("Go on editing", lambda: None),
        )


class ConflictMenu(EditorMenu):
    """Question which version to keep if the file was also changed on disk.

    Args:
        screen: editor screen.
        then: called after the file is written.
    """

    title = "Changed elsewhere"
    text_above = "The file is no longer as it was read here. Undo leads back to either."

    def __init__(self, screen: EditScreen, then: Callable[[], None]) -> None:
        super().__init__(screen)
        self._then = then

    def rows(self) -> Sequence[MenuRow]:
        """Return the menu rows for a file that another program has changed: one for each way to
        resolve the conflict."""
        return (
            self.closing_row("Go on editing", lambda: None),
            self.closing_row("Write mine over it", self._write),
            self.closing_row("Take what is in the file", self._load_from_disk),
            self.closing_row("Save mine as another file", lambda: self._screen.save_as(self._then)),
        )

    def _write(self) -> None:
        self._screen.draft.buffer.accept_disk_version()
        self._screen.write(then=self._then)

    def _load_from_disk(self) -> None:
        self._screen.draft.buffer.load_from_disk()
        self._screen.refresh()
