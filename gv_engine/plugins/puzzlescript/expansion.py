"""Expansion of PuzzleScript rules: from the text of a rule to rules for one direction, in which
every word names an object or a property whose objects share a layer.

The steps and their order are those of PuzzleScript's own engine, as the results depend on them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from gv_engine.plugins.puzzlescript.game import PuzzleGame

PatternItem = tuple[str, str]
"""Word before a name, such as `>` or `no`, or "", and the name."""
PatternCell = tuple[PatternItem, ...]
PatternRow = tuple[PatternCell, ...]
"""Cells between two square brackets."""

ELLIPSIS: PatternCell = (("...", "..."),)
_AXES = {
    "horizontal": ("left", "right"),
    "vertical": ("up", "down"),
    "orthogonal": ("up", "down", "left", "right"),
}
_AMBIGUOUS = {
    **_AXES,
    **dict.fromkeys(("horizontal_par", "horizontal_perp"), _AXES["horizontal"]),
    **dict.fromkeys(("vertical_par", "vertical_perp"), _AXES["vertical"]),
    "moving": ("up", "down", "left", "right", "action"),
}
"""Movements that stand for several, each of which becomes a rule of its own."""
_RELATIVE = "^", "v", "<", ">", "parallel", "perpendicular"
_ABSOLUTE = {
    "right": ("up", "down", "left", "right", "horizontal_par", "vertical_perp"),
    "up": ("left", "right", "down", "up", "vertical_par", "horizontal_perp"),
    "down": ("right", "left", "up", "down", "vertical_par", "horizontal_perp"),
    "left": ("down", "up", "right", "left", "horizontal_par", "vertical_perp"),
}
"""Meaning of the words in `_RELATIVE` by the direction of the rule."""
_DIRECTIONS = {**_AXES, **{direction: (direction,) for direction in _ABSOLUTE}}
_LATE_WORDS = {"no", "random", "randomdir"}
_WORDS = {*_RELATIVE, *_DIRECTIONS, *_LATE_WORDS, "moving", "stationary", "action"}
"""Words that may stand before a name."""
_COMMANDS = {
    *("cancel", "checkpoint", "restart", "win", "message", "again"),
    *(f"sfx{number}" for number in range(11)),
}
_PATTERN = re.compile(r"\[([^\[\]]*)\]")
_MAX_RULES = 20_000


@dataclass(frozen=True)
class PatternRule:
    """Rule of a game, before or after its expansion.

    Attributes:
        line: line of its text.
        group: line of the rule that its group begins with.
        directions: directions in which it is tried; one direction after the expansion.
        before, after: patterns to find, and what takes their place; no `after` for a rule that only
            has commands.
        commands: names of its commands, `message` with the text behind a blank.
    """

    line: int
    group: int
    directions: tuple[str, ...] = _AXES["orthogonal"]
    before: tuple[PatternRow, ...] = ()
    after: tuple[PatternRow, ...] = ()
    commands: tuple[str, ...] = ()
    is_late: bool = False
    is_rigid: bool = False
    is_random: bool = False


@dataclass
class ExpandedRules:
    """Expanded rules of a game, in order, and the lines (first, last) of its loops."""

    rules: list[PatternRule] = field(default_factory=list)
    loops: list[tuple[int, int]] = field(default_factory=list)


def expand_rules(game: PuzzleGame) -> ExpandedRules:
    """Return the rules of a game with relative directions and names of several objects written out.
    Errors are recorded in `game.source`."""
    result, written = ExpandedRules(), list[PatternRule]()
    opened = 0
    for line, text in game.source.rules:
        mark = text.strip().lower()
        if mark in ("startloop", "endloop"):
            if (mark == "startloop") == bool(opened):
                other = "endloop" if opened else "startloop"
                game.source.fail(line, f"found {mark}, expected {other} before it")
                continue
            if opened:
                result.loops.append((opened, line))
            opened = 0 if opened else line
        elif rule := _RuleReader(game, line).read(text, written):
            written.append(rule)
    if opened:
        game.source.fail(opened, "found startloop without an endloop")
    for rule in written:
        for direction in rule.directions:
            for moving in _split_movements(game, _make_absolute(game, rule, direction)):
                result.rules += _split_properties(game, moving)
        if len(result.rules) > _MAX_RULES:
            game.source.fail(rule.line, f"the rules up to here are more than {_MAX_RULES:,}")
            break
    result.rules = _remove_duplicates(result.rules)
    return result


# ---- text ----------------------------------------------------------------------------------------


class _RuleReader:
    """Reader of the text of one rule."""

    def __init__(self, game: PuzzleGame, line: int) -> None:
        self.game, self.line = game, line
        self.flags = set[str]()
        self.commands = list[str]()

    def fail(self, message: str) -> None:
        """Add a fault of this rule."""
        self.game.source.fail(self.line, message)

    def read(self, text: str, earlier: Sequence[PatternRule]) -> PatternRule | None:
        """Return the rule, or None after a fault. `earlier` are the rules before it."""
        num_faults = len(self.game.source.faults)
        left, arrow, right = text.partition("->")
        head, bracket, rest = left.lower().partition("[")
        if not (arrow and bracket):
            found = "[ before ->" if arrow else "->"
            self.fail(f"found no {found}, expected a rule such as [ > Player | Crate ] -> [ … ]")
            return None
        group, directions = self._read_head(head, earlier)
        before = self._read_side(bracket + rest)
        if self.commands:
            self.fail(f"found {self.commands[0]} before ->, expected it at the end of the rule")
        right, *message = re.split(r"\bmessage\b", right, maxsplit=1, flags=re.IGNORECASE)
        after = self._read_side(right.lower())
        self.commands += [f"message {each.strip()}" for each in message]
        if not all(before):
            self.fail("found no pattern, expected one such as [ > Player ]")
        elif (after or not self.commands) and [*map(len, before)] != [*map(len, after)]:
            self.fail(
                "found other numbers of cells on both sides of ->, expected the same number of "
                "brackets, and of cells in each"
            )
        if {"late", "rigid"} <= self.flags:
            self.fail("found late and rigid, expected one of them")
        if len(self.game.source.faults) > num_faults:
            return None
        items = [item for row in (*before, *after) for cell in row for item in cell]
        is_directional = any(len(row) > 1 for row in before)
        if not is_directional and not any(word in _RELATIVE for word, _ in items):
            directions = directions[:1]
        flags = ("late" in self.flags, "rigid" in self.flags, "random" in self.flags)
        commands = tuple(self.commands)
        return PatternRule(self.line, group, directions, before, after, commands, *flags)

    def _read_head(self, text: str, earlier: Sequence[PatternRule]) -> tuple[int, tuple[str, ...]]:
        """Return the group and the directions of a rule, and keep the other words before the first
        bracket."""
        group, directions = self.line, list[str]()
        text = text.strip()
        if text.startswith("+"):
            text = text[1:]
            if earlier:
                group = earlier[-1].group
            else:
                self.fail("found +, expected it at the beginning of a rule after another")
        for word in text.split():
            if word in ("late", "rigid", "random"):
                self.flags.add(word)
            elif word in _DIRECTIONS:
                directions += _DIRECTIONS[word]
            else:
                self.fail(
                    f"found {word[:40]!r} before the first [, expected directions such as right or "
                    "horizontal, late, rigid or random"
                )
        if "random" in self.flags and group != self.line:
            self.fail("found + and random, expected random in the first rule of a group")
        return group, tuple(directions) or _AXES["orthogonal"]

    def _read_side(self, text: str) -> tuple[PatternRow, ...]:
        """Return the patterns in the text of one side of a rule, and keep its commands."""
        rows = [
            tuple(self._read_cell(cell) for cell in match[1].split("|"))
            for match in _PATTERN.finditer(text)
        ]
        for word in _PATTERN.sub(" ", text).split():
            if word in _COMMANDS:
                self.commands.append(word)
            elif word not in (*_WORDS, *self.game.names, "..."):  # about these PuzzleScript warns
                self.fail(
                    f"found {word[:40]!r} outside of brackets, expected a pattern in brackets, or "
                    "a command"
                )
                break
        for row in rows:
            gaps = [number for number, cell in enumerate(row) if ELLIPSIS[0] in cell]
            if any(len(row[number]) > 1 for number in gaps):
                self.fail("found ... with objects in a cell, expected it alone")
            if {0, len(row) - 1} & {*gaps}:
                self.fail("found ... in the first or last cell, expected cells on both sides")
            if len(gaps) > 2:
                self.fail("found three ... in a pattern, expected two at most")
        return tuple(rows)

    def _read_cell(self, text: str) -> PatternCell:
        cell, word = list[PatternItem](), ""
        for token in text.split():
            if token in _WORDS:
                if word:
                    self.fail(f"found {word} {token}, expected one movement of an object")
                if "late" in self.flags and token not in _LATE_WORDS:
                    self.fail(f"found {token!r} in a late rule, which has no movements")
                word = token
            elif token == "...":
                cell += ELLIPSIS
            elif token in self.game.names:
                if any(name == token and {word, other} != {"no"} for other, name in cell):
                    self.fail(f"found {token!r} twice in a cell")
                cell.append((word, token))
                word = ""
            elif token in _COMMANDS:
                self.commands.append(token)
            else:
                self.fail(f"found {token[:40]!r}, expected an object or a name of the legend")
        if word:
            self.fail(f"found {word!r} at the end of a cell, expected an object behind it")
        return tuple(cell)


# ---- steps of the expansion ----------------------------------------------------------------------


def _change_items(
    rule: PatternRule, change: Callable[[int, int, PatternItem], Sequence[PatternItem]]
) -> PatternRule:
    """Return a rule with each item replaced by the items that `change` returns for the number of
    its row, the number of its cell, and itself."""
    before, after = (
        tuple(
            tuple(
                tuple(new for item in cell for new in change(j, k, item))
                for k, cell in enumerate(row)
            )
            for j, row in enumerate(rows)
        )
        for rows in (rule.before, rule.after)
    )
    return replace(rule, before=before, after=after)


def _make_absolute(game: PuzzleGame, rule: PatternRule, direction: str) -> PatternRule:
    """Return a rule for one direction, with movements that do not depend on it, and with objects
    in place of names that are declared with `and`, or that are second names."""
    meanings = dict(zip(_RELATIVE, _ABSOLUTE[direction]))

    def convert(j: int, k: int, item: PatternItem) -> Sequence[PatternItem]:
        word, name = item
        kind, objects = game.names.get(name, ("", []))
        if kind == "and" and word == "no":
            fault = f"found `no {name}`, whose objects are declared with `and`; name each"
            game.source.fail(rule.line, fault)
        names = [name] if kind not in ("and", "object") else objects
        return [(meanings.get(word, word), each) for each in names]

    rule = replace(_change_items(rule, convert), directions=(direction,))
    if direction in ("up", "left") and not any(ELLIPSIS in row for row in rule.before):
        opposite = {"up": "down", "left": "right"}[direction]
        before, after = (tuple(row[::-1] for row in rows) for rows in (rule.before, rule.after))
        rule = replace(rule, directions=(opposite,), before=before, after=after)
    return rule


def _split_movements(game: PuzzleGame, rule: PatternRule) -> Iterator[PatternRule]:
    """Yield a rule for each meaning of the ambiguous movements, such as `moving`, in its
    patterns."""
    return _split(
        game,
        rule,
        list_options=lambda item: _AMBIGUOUS.get(item[0], ()),
        list_keys=lambda item: (item, item[0]),
        choose=lambda item, word: (word, item[1]),
        is_last_first=True,
    )


def _split_properties(game: PuzzleGame, rule: PatternRule) -> Iterator[PatternRule]:
    """Yield a rule for each object of each name that is declared with `or`, if its objects have
    several layers, or if the name on the right needs the object on the left."""

    def spell_out(j: int, k: int, item: PatternItem) -> Sequence[PatternItem]:
        word, name = item
        is_list = word == "no" and game.names[name][0] == "or"
        return [(word, each) for each in (game.names[name][1] if is_list else [name])]

    def list_properties(cell: PatternCell) -> set[str]:
        kinds = {name: game.names.get(name, ("",))[0] for word, name in cell if word != "random"}
        return {name for name, kind in kinds.items() if kind == "or"}

    def list_options(item: PatternItem) -> Sequence[str]:
        is_open = item[1] in ambiguous or game.single_layer(item[1]) is None
        return game.names[item[1]][1] if is_open and list_properties((item,)) else ()

    rule = _change_items(rule, spell_out)
    ambiguous = set[str]()
    for row, new_row in zip(rule.before, rule.after):
        for cell, new_cell in zip(row, new_row):
            ambiguous |= list_properties(new_cell) - list_properties(cell)
    return _split(
        game,
        rule,
        list_options=list_options,
        list_keys=lambda item: () if item[0] == "random" else (item[1],),
        choose=lambda item, name: (item[0], name),
    )


def _split(
    game: PuzzleGame,
    rule: PatternRule,
    list_options: Callable[[PatternItem], Sequence[str]],
    list_keys: Callable[[PatternItem], tuple[Hashable, ...]],
    choose: Callable[[PatternItem, str], PatternItem],
    is_last_first: bool = False,
) -> Iterator[PatternRule]:
    """Yield a rule for each choice of one of its options for each item on the left that has any.

    An item on the right means the same as the item with its first key in its cell on the left; else
    the same as the only item on the left that has one of its keys. If `is_last_first`, the options
    of the last cell change slowest, else those of the first.
    """
    places = [
        (j, k, item)
        for j, row in enumerate(rule.before)
        for k, cell in enumerate(row)
        for item in cell
        if list_options(item)
    ]
    places.sort(key=lambda place: place[:2], reverse=is_last_first)
    options = [list_options(item) for *_, item in places]
    if prod(map(len, options)) > _MAX_RULES:
        game.source.fail(rule.line, f"this rule stands for more than {_MAX_RULES:,}")
        return
    counts = Counter(key for *_, item in places for key in list_keys(item))
    meanings = dict[Hashable, str]()

    def change(j: int, k: int, item: PatternItem) -> Sequence[PatternItem]:
        keys = list_keys(item)
        known = [key for key in ((j, k, *keys[:1]), *keys) if key in meanings]
        return [choose(item, meanings[known[0]]) if known else item]

    for chosen in product(*options):
        meanings.clear()
        for (j, k, item), option in zip(places, chosen):
            keys = list_keys(item)
            meanings[j, k, keys[0]] = option
            meanings |= {key: option for key in keys if counts[key] == 1}
        new = _change_items(rule, change)
        for item in (item for row in new.after for cell in row for item in cell):
            if list_options(item):
                found = re.sub("_par|_perp", "", " ".join(item)).strip()
                fault = f"found {found!r} on the right, expected it in the same cell on the left"
                game.source.fail(rule.line, f"{fault}, or once anywhere on the left")
        yield new


def _remove_duplicates(rules: list[PatternRule]) -> list[PatternRule]:
    """Return the rules without those that another rule with the same text, behind them in their
    group, repeats."""
    kept = dict[PatternRule, PatternRule]()
    for rule in rules:
        has_rows = any(len(row) > 1 for row in rule.before)
        key = rule if has_rows else replace(rule, directions=())
        kept.pop(key, None)
        kept[key] = rule
    return [*kept.values()]
