"""Expansion of PuzzleScript rules: from the text of a rule to rules for one direction, in which
every word names an object or a property whose objects share a layer.

The steps and their order are those of PuzzleScript's own engine, as the results depend on them.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gv_engine.plugins.puzzlescript.game import PuzzleGame

PatternCell = tuple[tuple[str, str], ...]
"""(word before a name, such as `>` or `no`, or "", and the name) of each item of a cell."""
PatternRow = tuple[PatternCell, ...]
"""Cells between two square brackets."""

_Named = dict[tuple[str, str], tuple[str, int, tuple[int, int]]]
"""Direction, number of cells and first cell (row, column) of each (name, ambiguous movement)."""
_Counts = dict[str, tuple[str, int]]
"""Direction and number of uses of each ambiguous movement."""
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
_SIMPLE = "up", "down", "left", "right"
_WORDS = {
    *_RELATIVE,
    *_SIMPLE,
    *("moving", "stationary", "no", "randomdir", "random", "action"),
    *("horizontal", "vertical", "orthogonal"),
}
"""Words that may stand before a name."""
RULE_COMMANDS = "cancel", "checkpoint", "restart", "win", "message", "again"
_SOUNDS = tuple(f"sfx{number}" for number in range(11))
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
    directions: tuple[str, ...]
    before: tuple[PatternRow, ...]
    after: tuple[PatternRow, ...]
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
    for line, lower, text in game.source.rules:
        if (mark := lower.strip()) in ("startloop", "endloop"):
            if (mark == "startloop") == bool(opened):
                other = "endloop" if opened else "startloop"
                game.source.fail(line, f"found {mark}, expected {other} before it")
                continue
            if opened:
                result.loops.append((opened, line))
            opened = 0 if opened else line
            continue
        rule = _RuleReader(game, line, lower, text).read(written)
        if rule is not None:
            written.append(rule)
    if opened:
        game.source.fail(opened, "found startloop without an endloop")
    for rule in written:
        trimmed = _trim_exclusions(game, rule)
        for direction in trimmed.directions:
            for moving in _split_movements(game, _make_absolute(game, trimmed, direction)):
                result.rules += _split_properties(game, moving)
        if len(result.rules) > _MAX_RULES:
            game.source.fail(rule.line, f"the rules up to here are more than {_MAX_RULES:,}")
            break
    result.rules = [_stop_new_objects(game, rule) for rule in result.rules]
    result.rules = _remove_duplicates(result.rules)
    return result


# ---- text ----------------------------------------------------------------------------------------


class _RuleReader:
    """Reader of the text of one rule."""

    def __init__(self, game: PuzzleGame, line: int, lower: str, written: str) -> None:
        self.game, self.line, self.written = game, line, written
        spaced = re.sub(r"(\[|\]|\||->)", r" \1 ", lower).strip()
        self.tokens = re.sub(r"^\+", "+ ", spaced).split()

    def fail(self, message: str) -> None:
        """Add a fault of this rule."""
        self.game.source.fail(self.line, message)

    def read(self, earlier: Sequence[PatternRule]) -> PatternRule | None:
        """Return the rule, or None after a fault. `earlier` are the rules before it."""
        num_faults = len(self.game.source.faults)
        if "->" not in self.tokens:
            self.fail("found no ->, expected a rule such as [ > Player | Crate ] -> [ … ]")
            return None
        start = self.tokens.index("[") if "[" in self.tokens else len(self.tokens)
        arrow = self.tokens.index("->")
        if start > arrow:
            self.fail("found no [ before ->, expected a pattern such as [ > Player ]")
            return None
        group, directions, flags = self._read_head(self.tokens[:start], earlier)
        before, _ = self._read_rows(self.tokens[start:arrow], is_late="late" in flags)
        after, commands = self._read_rows(
            self.tokens[arrow + 1 :], is_late="late" in flags, is_after=True
        )
        if not before or not all(before):
            self.fail("found no pattern, expected one such as [ > Player ]")
        elif (after or not commands) and [*map(len, before)] != [*map(len, after)]:
            self.fail(
                "found other numbers of cells on both sides of ->, expected the same number of "
                "brackets, and of cells in each"
            )
        if {"late", "rigid"} <= flags:
            self.fail("found late and rigid, expected one of them")
        if len(self.game.source.faults) > num_faults:
            return None
        directions = directions or _AXES["orthogonal"]
        rule = PatternRule(self.line, group, directions, before, after, commands)
        if not _is_directional(rule):
            directions = directions[:1]
        return replace(
            rule,
            directions=directions,
            is_late="late" in flags,
            is_rigid="rigid" in flags,
            is_random="random" in flags,
        )

    def _read_head(
        self, words: Sequence[str], earlier: Sequence[PatternRule]
    ) -> tuple[int, tuple[str, ...], set[str]]:
        """Return the group, the directions and the other words before the first bracket."""
        group, directions, flags = self.line, list[str](), set[str]()
        for position, word in enumerate(words):
            if word == "+":
                if position or not earlier:
                    self.fail("found +, expected it at the beginning of a rule after another")
                else:
                    group = earlier[-1].group
            elif word in _AXES:
                directions += _AXES[word]
            elif word in _SIMPLE:
                directions.append(word)
            elif word in ("late", "rigid", "random"):
                flags.add(word)
            else:
                self.fail(
                    f"found {word[:40]!r} before the first [, expected directions such as right or "
                    "horizontal, late, rigid or random"
                )
        if "random" in flags and group != self.line:
            self.fail("found + and random, expected random in the first rule of a group")
        return group, tuple(directions), flags

    def _read_rows(
        self, tokens: Sequence[str], is_late: bool, is_after: bool = False
    ) -> tuple[tuple[PatternRow, ...], tuple[str, ...]]:
        """Return the patterns and the commands in the tokens of one side of a rule."""
        rows, commands = list[PatternRow](), list[str]()
        row: list[PatternCell] | None = None
        cell: list[tuple[str, str]] = []
        word = ""
        for token in tokens:
            if token == "[":
                if row is not None:
                    self.fail("found [ within a pattern, expected ] before it")
                row, cell = [], []
            elif row is None and token in (*RULE_COMMANDS, *_SOUNDS):
                if not is_after:
                    self.fail(f"found {token} before ->, expected it at the end of the rule")
                if token == "message":
                    found = re.search(r"\bmessage\b", self.written[self.written.find("->") :], re.I)
                    start = self.written.find("->") + (found.end() if found else 0)
                    commands.append(f"message {self.written[start:].strip()}")
                    break
                commands.append(token)
            elif row is None and (token in _WORDS or token in self.game.names or token == "..."):
                continue  # PuzzleScript warns about it, and games have it
            elif row is None:
                self.fail(f"found {token[:40]!r} outside of brackets, expected [ or a command")
                break
            elif token in ("|", "]"):
                if word:
                    self.fail(f"found {word!r} before {token}, expected an object behind it")
                row.append(tuple(cell))
                cell, word = [], ""
                if token == "]":
                    rows.append(tuple(row))
                    row = None
            elif token == "...":
                cell.append(("...", "..."))
            elif token in _WORDS:
                if word:
                    self.fail(f"found {word} {token}, expected one movement of an object")
                if is_late and token not in ("no", "random", "randomdir"):
                    self.fail(f"found {token!r} in a late rule, which has no movements")
                word = token
            elif token in self.game.names:
                if any(name == token and {word, other} != {"no"} for other, name in cell):
                    self.fail(f"found {token!r} twice in a cell")
                cell.append((word, token))
                word = ""
            elif token == "->":
                self.fail("found -> twice")
            elif token in (*RULE_COMMANDS, *_SOUNDS):
                commands.append(token)
            else:
                self.fail(f"found {token[:40]!r}, expected an object or a name of the legend")
        if row is not None:
            self.fail("found a pattern without ]")
        for row_read in rows:
            self._check_ellipses(row_read)
        return tuple(rows), tuple(commands)

    def _check_ellipses(self, row: PatternRow) -> None:
        """Check that the ellipses of a row stand alone in cells, which are not the first or the
        last."""
        gaps = [number for number, cell in enumerate(row) if ("...", "...") in cell]
        if any(len(row[number]) > 1 for number in gaps):
            self.fail("found ... with objects in a cell, expected it alone")
        if {0, len(row) - 1} & {*gaps}:
            self.fail("found ... in the first or last cell, expected cells on both sides")
        if len(gaps) > 2:
            self.fail("found three ... in a pattern, expected two at most")


def _is_directional(rule: PatternRule) -> bool:
    """Return True if the direction of a rule makes a difference."""
    if any(len(row) > 1 for row in rule.before):
        return True
    cells = itertools.chain.from_iterable((*rule.before, *rule.after))
    return any(word in _RELATIVE for cell in cells for word, _ in cell)


# ---- steps of the expansion ----------------------------------------------------------------------


def _map_cells(rule: PatternRule, change: Callable[[PatternCell], PatternCell]) -> PatternRule:
    """Return a rule with each cell replaced by `change` of it."""
    before = tuple(tuple(map(change, row)) for row in rule.before)
    after = tuple(tuple(map(change, row)) for row in rule.after)
    return replace(rule, before=before, after=after)


def _set_cell(
    rows: tuple[PatternRow, ...], j: int, k: int, cell: PatternCell
) -> tuple[PatternRow, ...]:
    row = (*rows[j][:k], cell, *rows[j][k + 1 :])
    return (*rows[:j], row, *rows[j + 1 :])


def _trim_exclusions(game: PuzzleGame, rule: PatternRule) -> PatternRule:
    """Return a rule without those `no` that say nothing: after the arrow if they also stand before
    it, and before it if a required object fills the layer anyway."""
    after = rule.after
    for j, row in enumerate(after):
        for k, cell in enumerate(row):
            items, found, number = list(cell), rule.before[j][k], 0
            while number < len(items):
                if items[number][0] == "no" and items[number] in found:
                    del items[number]  # and the next one stays, as in PuzzleScript
                number += 1
            after = _set_cell(after, j, k, tuple(items))
    before = rule.before
    for j, row in enumerate(before):
        for k, cell in enumerate(row):
            before = _set_cell(before, j, k, _trim_cell(game, cell))
    return replace(rule, before=before, after=after)


def _trim_cell(game: PuzzleGame, cell: PatternCell) -> PatternCell:
    if not any(word == "no" for word, _ in cell):
        return cell
    required, layers = set[str](), set[int]()
    for word, name in cell:
        if word not in ("no", "..."):
            kind, objects = game.names[name]
            is_known = name in game.layer_of or kind == "and"  # second names do not count
            if is_known or (kind == "or" and game.single_layer(name) is not None):
                required |= {*objects}
                layers |= {game.layer_of[each] for each in objects}
    kept = []
    for word, name in cell:
        kind, objects = game.names.get(name, ("", []))
        is_filled = {game.layer_of[each] for each in objects} <= layers
        if word != "no" or kind == "and" or not (is_filled and required.isdisjoint(objects)):
            kept.append((word, name))
    return tuple(kept)


def _make_absolute(game: PuzzleGame, rule: PatternRule, direction: str) -> PatternRule:
    """Return a rule for one direction, with movements that do not depend on it, and with objects
    in place of names that are declared with `and`, or that are second names."""
    meanings = dict(zip(_RELATIVE, _ABSOLUTE[direction]))

    def convert(cell: PatternCell) -> PatternCell:
        own, added = list[tuple[str, str]](), list[tuple[str, str]]()
        for word, name in cell:
            word = meanings.get(word, word)
            kind, objects = game.names.get(name, ("", []))
            if kind == "and":
                if word == "no":
                    fault = f"found `no {name}`, whose objects are declared with `and`; name each"
                    game.source.fail(rule.line, fault)
                own.append((word, objects[0]))
                added += [(word, each) for each in objects[1:]]
            else:
                own.append((word, objects[0] if kind == "object" else name))
        return (*own, *added)

    rule = replace(_map_cells(rule, convert), directions=(direction,))
    if direction in ("up", "left") and not any(ELLIPSIS in row for row in rule.before):
        opposite = {"up": "down", "left": "right"}[direction]
        before = tuple(row[::-1] for row in rule.before)
        after = tuple(row[::-1] for row in rule.after)
        rule = replace(rule, directions=(opposite,), before=before, after=after)
    return rule


def _split_movements(game: PuzzleGame, rule: PatternRule) -> list[PatternRule]:
    """Return a rule for each meaning of the ambiguous movements, such as `moving`, in its patterns.
    A movement that stands once on the left has the same meaning on the right."""
    open_rules: deque[tuple[PatternRule, _Named, _Counts]] = deque([(rule, {}, {})])
    done = []
    while open_rules:
        current, named, counts = open_rules.popleft()
        places = [
            (j, k, *next((name, word) for word, name in cell if word in _AMBIGUOUS))
            for j, row in enumerate(current.before)
            for k, cell in enumerate(row)
            if any(word in _AMBIGUOUS for word, _ in cell)
        ]
        if not places:
            done.append(_settle_movements(game, current, named, counts))
        # a rule with several is split at each, which gives equal rules, of which the last one stays
        for j, k, name, word in places:
            for direction in _AMBIGUOUS[word]:
                before = _move_in_cell(current.before, j, k, word, name, direction)
                after = current.after
                if after:
                    after = _move_in_cell(after, j, k, word, name, direction)
                first, count, cell = named.get((name, word), (direction, 0, (-1, -1)))
                own_named = {**named, (name, word): (first, count + (cell != (j, k)), cell)}
                if not count:
                    own_named[name, word] = direction, 1, (j, k)
                general, uses = counts.get(word, (direction, 0))
                own_counts = {**counts, word: (general, uses + 1)}
                new = replace(current, before=before, after=after)
                open_rules.append((new, own_named, own_counts))
        if len(open_rules) > _MAX_RULES:
            game.source.fail(rule.line, f"this rule stands for more than {_MAX_RULES:,}")
            return []
    return done


def _move_in_cell(
    rows: tuple[PatternRow, ...], j: int, k: int, word: str, name: str, direction: str
) -> tuple[PatternRow, ...]:
    cell = tuple((direction, n) if (w, n) == (word, name) else (w, n) for w, n in rows[j][k])
    return _set_cell(rows, j, k, cell)


def _settle_movements(
    game: PuzzleGame, rule: PatternRule, named: _Named, counts: _Counts
) -> PatternRule:
    """Return a rule whose ambiguous movements on the right have the meanings chosen on the left."""
    meanings = {key: direction for key, (direction, count, _) in named.items() if count == 1}
    general = {word: direction for word, (direction, count) in counts.items() if count == 1}

    def settle(cell: PatternCell) -> PatternCell:
        return tuple(
            (meanings.get((name, word), general.get(word, word)), name) for word, name in cell
        )

    settled = replace(rule, after=tuple(tuple(map(settle, row)) for row in rule.after))
    for cell in itertools.chain.from_iterable(settled.after):
        for word, _ in cell:
            if word in _AMBIGUOUS:
                name = word.partition("_")[0]
                fault = f"found {name!r} on the right, which no movement on the left makes clear"
                game.source.fail(rule.line, fault)
    return settled


def _split_properties(game: PuzzleGame, rule: PatternRule) -> list[PatternRule]:
    """Return a rule for each object of each name that is declared with `or`, if its objects have
    several layers, or if the name on the right needs the object on the left."""

    def spell_out(cell: PatternCell) -> PatternCell:
        parts = []
        for word, name in cell:
            kind, objects = game.names.get(name, ("", []))
            names = objects if word == "no" and kind == "or" else [name]
            parts += [(word, each) for each in names]
        return tuple(parts)

    rule = _map_cells(rule, spell_out)
    ambiguous = {
        name
        for row, new_row in zip(rule.before, rule.after)
        for cell, new_cell in zip(row, new_row)
        for name in _list_properties(game, new_cell)
        if name not in _list_properties(game, cell)
    }
    open_rules: deque[tuple[PatternRule, dict[str, tuple[str, int]]]] = deque([(rule, {})])
    done: list[PatternRule] = []
    while open_rules:
        current, chosen = open_rules.popleft()
        place = next(
            (
                (j, k, name)
                for j, row in enumerate(current.before)
                for k, cell in enumerate(row)
                for name in _list_properties(game, cell)
                if game.single_layer(name) is None or name in ambiguous
            ),
            None,
        )
        if place is None:
            done.append(_settle_properties(game, current, chosen, ambiguous))
            continue
        j, k, name = place
        for each in game.names[name][1]:
            cells = {name: each}
            before = _set_cell(current.before, j, k, _rename(current.before[j][k], cells))
            after = current.after
            if after:
                after = _set_cell(after, j, k, _rename(after[j][k], cells))
            count = chosen.get(name, (each, 0))
            own = {**chosen, name: (count[0], count[1] + 1)}
            open_rules.append((replace(current, before=before, after=after), own))
        if len(open_rules) > _MAX_RULES:
            game.source.fail(rule.line, f"this rule stands for more than {_MAX_RULES:,}")
            return []
    return done


def _rename(cell: PatternCell, names: dict[str, str]) -> PatternCell:
    return tuple((word, name if word == "random" else names.get(name, name)) for word, name in cell)


def _settle_properties(
    game: PuzzleGame,
    rule: PatternRule,
    chosen: dict[str, tuple[str, int]],
    ambiguous: Iterable[str],
) -> PatternRule:
    """Return a rule in which names on the right mean the objects that were chosen on the left."""
    names = {name: each for name, (each, count) in chosen.items() if count == 1}
    after = tuple(tuple(_rename(cell, names) for cell in row) for row in rule.after)
    for cell in itertools.chain.from_iterable(after):
        for name in _list_properties(game, cell):
            if name in ambiguous:
                game.source.fail(
                    rule.line,
                    f"found {name!r} on the right, expected the same name in the same cell on the "
                    "left, or once anywhere on the left",
                )
    return replace(rule, after=after)


def _list_properties(game: PuzzleGame, cell: PatternCell) -> list[str]:
    return [
        name for word, name in cell if word != "random" and game.names.get(name, ("",))[0] == "or"
    ]


def _stop_new_objects(game: PuzzleGame, rule: PatternRule) -> PatternRule:
    """Return a rule whose new objects, in layers that the left side does not name, do not move."""
    if rule.is_late:
        return rule
    after = rule.after
    for j, row in enumerate(after):
        for k, cell in enumerate(row):
            before = {
                each for _, name in rule.before[j][k] for each in game.names.get(name, ("", []))[1]
            }
            layers = {game.layer_of[each] for each in before}
            if any(not word for word, _ in cell):
                stopped = tuple(
                    ("stationary", name)
                    if not word
                    and game.names[name][0] == "object"
                    and name not in before
                    and game.layer_of[name] not in layers
                    else (word, name)
                    for word, name in cell
                )
                after = _set_cell(after, j, k, stopped)
    return replace(rule, after=after)


def _remove_duplicates(rules: list[PatternRule]) -> list[PatternRule]:
    """Return the rules without those that another rule with the same text, behind them in their
    group, repeats."""
    kept: list[PatternRule] = []
    seen: set[PatternRule] = set()
    group = -1
    for rule in reversed(rules):
        if rule.group != group:
            seen, group = set(), rule.group
        key = rule if any(len(row) > 1 for row in rule.before) else replace(rule, directions=())
        if key not in seen:
            seen.add(key)
            kept.append(rule)
    return kept[::-1]
