"""Lists of the editor: rules of the level, rules to add, and objects of other levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.play.editor.other_levels import Addition, LevelObject, OtherLevel
from gv_engine.play.editor.rules import RULE_PARTS, AvailableRule, Rule, RulePart, has_fault
from gv_engine.play.editor.text_buffer import EditError
from gv_engine.play.session.catalogue import built_in_entries, folder_entries, search
from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.widgets import Painter, cut, wrap_text
from gv_engine.play.ui.screens.edit_forms import rule_form
from gv_engine.play.ui.screens.menu import ListScreen, SearchField
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.documents.loading import find_scenario_ref
from gv_engine.scenario.plugin import DOMAINS

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
        heights = [self._row_height(line, body.w, row) for row in rows]
        for number, slot in self.place_rows(painter, body, heights).items():
            self._draw_row(painter, slot, rows[number], number)

    def _row_height(self, line: int, width: int, row: SentenceRow) -> int:
        lines = wrap_text(row.sentence, line, width - 2 * line, _MAX_SENTENCE_LINES)
        return (len(lines) + 1) * line + line // 2 + line // 4

    def _draw_row(self, painter: Painter, slot: Rect, row: SentenceRow, index: int) -> None:
        """Draw `row`, number `index` of the list, into `slot`, highlighted if it is selected."""
        line, chosen = painter.line_height, index == self.chosen
        painter.add_hit_area(slot, partial(self._click, index))
        painter.draw_card(slot, "accent" if chosen else "well")
        color = "on_accent" if chosen else "loss" if row.is_wrong else "text"
        if row.rule is None and row.part is not None and not chosen:
            color = "accent"
        sentence = slot.inflate(-line, -(line // 2))
        name = cut(sentence, "top", line)
        painter.draw_text(name, row.name, color)
        if row.is_wrong:
            painter.draw_text(name, "something is wrong", color, "right")
        cut(sentence, "left", line)
        if row.sentence:
            painter.draw_lines(sentence, row.sentence, "on_accent" if chosen else "muted")

    def _click(self, index: int, position: tuple[int, int]) -> None:
        if index == self.chosen:
            self.rows()[index].act()
        self.chosen = index


class RuleListScreen(_SentenceList):
    """List of the level's rules by part of the scenario."""

    groups = ("list", "menu", "window")
    title = "Rules"

    def rows(self) -> Sequence[SentenceRow]:
        """Return the rows of the list: a heading for each part of the scenario, such as the
        rewards, and a row for each rule."""
        rules = self._screen.work.rules
        faulty_paths = [fault.place.path for fault in self._screen.faults]
        rows = []
        for part in RULE_PARTS:
            title = ": ".join(filter(None, (part.title, rules.combination(part))))
            rows.append(SentenceRow(title, "", partial(self._open_add_screen, part), None, part))
            for rule in rules.rules(part):
                name = rule.name if ":" in rule.name else rule.name.replace("_", " ")
                act = partial(self._open_rule_form, rule)
                is_wrong = has_fault(rule, faulty_paths)
                rows.append(SentenceRow(name, rule.description, act, rule, part, is_wrong))
        return rows

    def choose_at(self, path: str) -> None:
        """Select the row of the rule to which the key path `path` of an error belongs."""
        rules = [row.rule for row in self.rows()]
        matches = (n for n, rule in enumerate(rules) if rule and has_fault(rule, [path]))
        self.chosen = next(matches, 0)

    def hints(self) -> Sequence[str]:
        """Return short texts on the keys that add, remove, move and set rules."""
        texts = {"add": "adds", "remove": "takes out", "move_up": "up", "move_down": "down"}
        hints = self.hints_of("list", texts)
        return (*hints, self.hint("menu", "choose", "sets"), self.hint("list", "undo", "undo"))

    def run_command(self, name: str) -> None:
        """Run the command `name`: add, remove or move a rule, undo, redo, or select another row."""
        row = self.rows()[self.chosen]
        if name == "add" and row.part is not None:
            self._open_add_screen(row.part)
        elif name == "remove" and row.rule is not None:
            self._change(self._screen.work.rules.remove_rule(row.rule))
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
        if rule.system is not None and self._screen.work.rules.argument_table(rule):
            self.app.push(rule_form(self._screen, rule.path))

    def _open_add_screen(self, part: RulePart) -> None:
        """Open the list of rules that can be added to `part`, such as the rewards."""
        rows = [
            SentenceRow(
                rule.name.replace("_", " "),
                rule.description,
                partial(self._insert_rule, part, rule),
            )
            for rule in self._screen.work.rules.available_rules(part)
        ]
        self.app.push(SearchList(self._screen, part.title, rows))

    def _insert_rule(self, part: RulePart, rule: AvailableRule) -> None:
        """Add `rule` to `part`, such as the rewards; select its row, and open the form of its
        parameters."""
        self._change(self._screen.work.rules.add_rule(part, rule))
        new_rule = self._screen.work.rules.rules(part)[-1]
        rows = self.rows()
        self.chosen = next(n for n, row in enumerate(rows) if row.rule == new_rule)
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
    first = [entry for entry in built_in if entry.group in ("Gallery", "Puzzles")]
    entries = [*folder_entries(screen.work.ref.file.parent), *first, *built_in]
    rows, files = [], {screen.work.ref.file}
    for entry in entries:
        with suppress(ScenarioError):
            file = find_scenario_ref(entry.source).file
            if file in files:
                continue
            files.add(file)
            act = partial(_open_object_list, screen, entry.source)
            rows.append(SentenceRow(entry.title, f"{entry.group}. {entry.description}", act))
    screen.app.push(SearchList(screen, "Add objects of a level", rows))


def _open_object_list(screen: EditScreen, source: str) -> None:
    """Open the list of the objects of the level `source`, to add one or all of them to the level in
    the editor `screen`."""
    level = OtherLevel(source, screen.work.trust)
    if not level.objects:
        raise EditError(f"{level.title} has no objects with rules of their own")
    rows = []
    for each in level.objects:
        others = f"With {', '.join(each.types[1:])}. " if each.types[1:] else ""
        sentences = dict.fromkeys(rule.description.rstrip(".") for rule in each.rules)
        act = partial(add_objects, screen, level, [each])
        rows.append(SentenceRow(each.name, others + ". ".join(sentences), act))
    whole = SentenceRow("All of them", "", partial(add_objects, screen, level, level.objects))
    rows += [whole] if len(rows) > 1 else []
    screen.app.push(SearchList(screen, f"Objects of {level.title}", rows))


def add_objects(screen: EditScreen, level: OtherLevel, objects: Sequence[LevelObject]) -> None:
    """Add `objects` of `level` to the level in the editor `screen`, make the first one the brush,
    and show a note. If the objects need Python files or sprites, a level without a file is saved
    first.

    Raises:
        EditError: something in the level is in the way of the objects.
    """
    addition = Addition(screen.work, level, objects)
    if addition.files and screen.work.buffer.file is None:
        screen.app.show_note("Python files or drawings come, too: save the level first")
        screen.save(then=lambda: add_objects(screen, level, objects))
        return
    before, text = screen.work.buffer.text, addition.apply()
    screen.edit(lambda _: text)
    screen.brushes.choose(addition.names[objects[0].name])
    screen.app.show_note(addition.summary if text != before else "All of it is here already", 10)
