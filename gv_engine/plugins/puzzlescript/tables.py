"""Rules of a PuzzleScript game as one list of numbers, which `turn.py` interprets.

A cell of the level has, in each collision layer, an object or none and a movement. For each object
and each movement of each layer there is a board: one number per column of the level, whose bit y is
1 if row y has it. Rules are matched on boards, so that one operation tests a whole column.

All addresses are indices into the list. It begins with the numbers that `Header` names:

    objects, layers, flags, start of the layers of objects, player, win conditions, early, late

    player: is_all, number of objects, objects
    win conditions: number; for each NO -1, SOME 0, ALL 1; twice is_all, number of objects, objects
    early, late: number of groups; addresses of the groups
    group: is_random, group to go back to or -1, rigid number or 0, number of rules, their addresses
    rule: direction, commands, message, rigid number or 0, has_after, number of boards, boards that
        must not be empty, number of rows, addresses of the rows
    row: cells, ellipses, cells before the first and before the second, addresses of the cells
    cell: address of a replacement or 0; number of boards that have it, boards; number of sets, for
        each number of objects and objects of which one is there; number of boards that lack it,
        boards
    replacement: four lists, each behind the number of its numbers: random objects; layer, bits that
        are cleared and bits that are set of each movement; layer, new object + 1 or 0, and old
        object + 1 or 0 for any of each object that changes; layers that a rigid rule moves
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby

from gv_engine.plugins.puzzlescript.expansion import (
    ELLIPSIS,
    ExpandedRules,
    PatternCell,
    PatternRow,
    PatternRule,
    expand_rules,
)
from gv_engine.plugins.puzzlescript.game import PuzzleGame


class Header(IntEnum):
    """Positions of the numbers at the beginning of the list."""

    OBJECTS, LAYERS, FLAGS, LAYER_OF, PLAYER, WINS, EARLY, LATE = range(8)


class Flag(IntEnum):
    """Bits of the flags of a game."""

    RUNS_AT_START, NEEDS_MOVE, IS_RANDOM, IS_RIGID = (1 << k for k in range(4))


class Command(IntEnum):
    """Bits of the commands of a rule."""

    CANCEL, RESTART, WIN, MESSAGE, AGAIN, CHECKPOINT, SOUND = (1 << k for k in range(7))


BOARDS_OF_LAYER, ANY_MOVE = 6, 5
"""Boards of movements for each layer, and which of them has all movements together."""
ALL_MOVES, RANDOM_MOVE = 31, 32
"""Bits of all movements, and the bit that sets a random one."""
MAX_ROWS, _MAX_RIGID = 16, 30
_MOVES = {"up": 1, "down": 2, "left": 4, "right": 8, "action": 16, "randomdir": 5}
_WIN_KINDS = {"no": -1, "some": 0, "any": 0, "all": 1}


@dataclass
class Program:
    """Rules of a game as numbers.

    Attributes:
        numbers: see the module.
        messages: numbers from 1 of the texts of the commands `message`, by which rules name them.
        commands: bits of all commands that rules have.
        ellipses: largest number of ellipses in a row.
    """

    numbers: list[int] = field(default_factory=list)
    messages: dict[str, int] = field(default_factory=dict)
    commands: int = 0
    ellipses: int = 0


@dataclass
class _CellPattern:
    """Objects, by number, and movements, as bits, that a cell on the left of a rule has or lacks.

    Attributes:
        layers: True for layers with one certain object, False for one of several.
        named: layers of all objects that the cell names.
        is_possible: False if the cell has two objects of a layer.
    """

    present: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    sets: list[list[int]] = field(default_factory=list)
    moves: dict[int, int] = field(default_factory=dict)
    still: set[int] = field(default_factory=set)
    layers: dict[int, bool] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)
    is_possible: bool = True


def write_program(game: PuzzleGame) -> Program:
    """Return the rules and win conditions of a game as numbers. Faults are added to the game's
    source."""
    rules = expand_rules(game)
    return Program() if game.source.faults else _TableWriter(game).write(rules)


class _TableWriter:
    """Writer of the list of numbers of one game."""

    def __init__(self, game: PuzzleGame) -> None:
        self.game = game
        self.fail = game.source.fail
        self.program = Program()
        self.numbers = self.program.numbers
        self._addresses: dict[tuple[int, ...], int] = {}
        self.has_random, self.num_rigid = False, 0

    def write(self, rules: ExpandedRules) -> Program:
        """Write all rules and return the program."""
        game, settings = self.game, self.game.source.settings
        self.numbers += [0] * len(Header)
        layers = self._add(game.layer_of.get(name, 0) for name in game.objects)
        player = self._add(self._list_objects("player"))
        wins = self._write_wins()
        early, late = (
            self._write_groups([rule for rule in rules.rules if rule.is_late == is_late], rules)
            for is_late in (False, True)
        )
        flags = Flag.RUNS_AT_START * ("run_rules_on_level_start" in settings)
        flags |= Flag.NEEDS_MOVE * ("require_player_movement" in settings)
        flags |= Flag.IS_RANDOM * self.has_random | Flag.IS_RIGID * bool(self.num_rigid)
        counts = len(game.objects), game.num_layers
        self.numbers[: len(Header)] = [*counts, flags, layers, player, wins, early, late]
        return self.program

    def _add(self, numbers: Iterable[int]) -> int:
        """Return the address of numbers, which are added unless they are there already."""
        key = tuple(numbers)
        if key not in self._addresses:
            self._addresses[key] = len(self.numbers)
            self.numbers += key
        return self._addresses[key]

    def _list_objects(self, name: str) -> list[int]:
        """Return the numbers of a list of objects in a condition. A condition without a second name
        counts all cells: all of no objects are in each."""
        kind, names = self.game.names.get(name, ("", []))
        return [int(kind == "and" or not name), *_with_count(self.game.list_numbers(names))]

    def _write_wins(self) -> int:
        numbers = [len(self.game.source.wins)]
        for line, words in self.game.source.wins:
            is_valid = len(words) in (2, 4) and words[0] in _WIN_KINDS
            if not is_valid or words[2:3] not in ([], ["on"]):
                found = " ".join(words)[:40]
                self.fail(line, f"found {found!r}, expected All Target on Crate")
                continue
            for name in words[1::2]:
                if name not in self.game.names:
                    fault = f"found {name[:40]!r}, expected an object or a name of the legend"
                    self.fail(line, fault)
            numbers.append(_WIN_KINDS[words[0]])
            for name in (words[1], "".join(words[3:])):
                numbers += self._list_objects(name)
        return self._add(numbers)

    # ---- groups and rules ------------------------------------------------------------------------

    def _write_groups(self, rules: Sequence[PatternRule], expanded: ExpandedRules) -> int:
        """Write groups of rules, without those that no cell can match; return the address of their
        list."""
        groups = []
        for _, members in groupby(rules, lambda rule: rule.group):
            read = [(rule, self._read_patterns(rule)) for rule in members]
            if possible := [(rule, rows) for rule, rows in read if rows]:
                groups.append(possible)
        spans = [(group[0][0].line, group[-1][0].line) for group in groups]
        targets = {}
        for start, end in expanded.loops:
            if any(first <= start <= last or first <= end <= last for first, last in spans):
                self.fail(start, "found a loop that cuts a group of rules in two")
            if inside := [k for k, (first, _) in enumerate(spans) if start <= first <= end]:
                targets[inside[-1]] = inside[0]
        addresses = []
        for number, group in enumerate(groups):
            is_rigid, is_random = any(rule.is_rigid for rule, _ in group), group[0][0].is_random
            self.num_rigid += is_rigid
            if self.num_rigid > _MAX_RIGID:
                fault = f"found more than {_MAX_RIGID} groups of rigid rules, as many are allowed"
                self.fail(spans[number][0], fault)
            self.has_random |= is_random
            rigid = self.num_rigid if is_rigid else 0
            written = [self._write_rule(rule, rows, rigid) for rule, rows in group]
            head = [int(is_random), targets.get(number, -1), rigid]
            addresses.append(self._add([*head, *_with_count(written)]))
        return self._add(_with_count(addresses))

    def _write_rule(
        self, rule: PatternRule, rows: Sequence[Sequence[_CellPattern | None]], rigid: int
    ) -> int:
        commands, message = 0, 0
        for command in rule.commands:
            word, _, text = command.partition(" ")
            commands |= Command.__members__.get(word.upper(), Command.SOUND)
            if word == "message":
                message = self.program.messages.setdefault(text, len(self.program.messages) + 1)
        self.program.commands |= commands
        if len(rows) > MAX_ROWS:
            self.fail(rule.line, f"found {len(rows)} patterns, allowed are {MAX_ROWS}")
        needed = dict[int, None]()
        addresses = [
            self._write_row(rule, row, rule.after[j] if rule.after else (), needed)
            for j, row in enumerate(rows)
        ]
        head = [_MOVES[rule.directions[0]], commands, message, rigid * rule.is_rigid]
        objects = len(self.game.objects)
        boards = sorted(needed, key=lambda board: board < objects)  # movements are rarest
        has_after = int(bool(rule.after))
        return self._add([*head, has_after, *_with_count(boards), *_with_count(addresses)])

    def _write_row(
        self,
        rule: PatternRule,
        row: Sequence[_CellPattern | None],
        after: PatternRow,
        needed: dict[int, None],
    ) -> int:
        """Write one pattern, None for its ellipses, and what takes its place. Boards that must not
        be empty are added to `needed`."""
        cells, gaps = list[int](), list[int]()
        for k, pattern in enumerate(row):
            if after and (after[k] == ELLIPSIS) != (pattern is None):
                self.fail(rule.line, "found ... on one side of -> only")
                break
            if pattern is None:
                gaps.append(len(cells))
                continue
            has = [
                self._board(layer, move)
                for layer, bits in pattern.moves.items()
                for move in range(ANY_MOVE)
                if bits >> move & 1
            ]
            has += sorted(pattern.present)
            needed |= dict.fromkeys(has)
            sets = [number for objects in pattern.sets for number in _with_count(objects)]
            lacks = [*sorted(pattern.missing), *(self._board(n, ANY_MOVE) for n in pattern.still)]
            replacement = self._write_replacement(rule, pattern, after[k]) if after else 0
            numbers = [*_with_count(has), len(pattern.sets), *sets, *_with_count(lacks)]
            cells.append(self._add([replacement, *numbers]))
        self.program.ellipses = max(self.program.ellipses, len(gaps))
        first, second = (*gaps, len(cells), len(cells))[:2]
        return self._add([len(cells), len(gaps), first, second, *cells])

    def _board(self, layer: int, move: int) -> int:
        return len(self.game.objects) + BOARDS_OF_LAYER * layer + move

    # ---- cells -----------------------------------------------------------------------------------

    def _read_patterns(self, rule: PatternRule) -> list[list[_CellPattern | None]]:
        """Return what each cell on the left of a rule must have and lack, None for ellipses; [] if
        no level can have all of it."""
        rows = list[list[_CellPattern | None]]()
        for row in rule.before:
            rows.append([])
            for cell in row:
                pattern = None if cell == ELLIPSIS else self._read_before(rule, cell)
                if pattern and (pattern.present & pattern.missing or not pattern.is_possible):
                    return []
                rows[-1].append(pattern)
        return rows

    def _read_before(self, rule: PatternRule, cell: PatternCell) -> _CellPattern:
        game, pattern = self.game, _CellPattern()
        for word, name in cell:
            kind, names = game.names[name]
            numbers = game.list_numbers(names)
            pattern.named |= {game.layer_of[each] for each in names}
            if word == "random":
                self.fail(rule.line, "found random on the left, expected it on the right")
                continue
            if word == "no":
                pattern.missing |= {*numbers}
                continue
            layer = self._find_layer(rule, name)
            pattern.is_possible &= layer not in pattern.layers
            pattern.layers[layer] = kind == "object"
            if kind == "object":
                pattern.present |= {*numbers}
            else:
                pattern.sets.append(numbers)
            if word == "stationary":
                pattern.still.add(layer)
            elif word:
                pattern.moves[layer] = _MOVES[word]
        return pattern

    def _find_layer(self, rule: PatternRule, name: str) -> int:
        layer = self.game.single_layer(name)
        if layer is None:
            self.fail(rule.line, f"found {name!r}, whose objects have several layers")
        return layer or 0

    def _write_replacement(self, rule: PatternRule, before: _CellPattern, cell: PatternCell) -> int:
        """Write what a cell becomes; return the address, or 0 if it stays."""
        game = self.game
        new, moves = dict[int, int](), dict[int, int]()  # by layer
        cleared, choices = set[int](), set[int]()
        used, held = set[int](), set[int]()
        for word, name in cell:
            kind, names = game.names[name]
            numbers = game.list_numbers(names)
            if word in ("random", "no"):
                (choices if word == "random" else cleared).update(numbers)
                continue
            layer = self._find_layer(rule, name)
            if layer in used:
                self.fail(rule.line, f"found two objects of the layer of {name!r} in a cell")
            used.add(layer)
            if kind == "object":
                new[layer] = numbers[0]
                if not word and not rule.is_late and layer not in before.named:
                    word = "stationary"  # a new object does not move
            if word:
                held.add(layer)
                moves[layer] = RANDOM_MOVE if word == "randomdir" else _MOVES.get(word, 0)
        cleared -= before.missing
        if not before.present <= {*new.values()}:
            cleared |= before.present
        is_stopping = any(bits & ~moves.get(layer, 0) for layer, bits in before.moves.items())
        stops = {**before.moves} if is_stopping else {}
        emptied = before.layers.keys() - used
        held |= emptied | {layer for layer, is_one in before.layers.items() if is_one} - new.keys()
        stops |= dict.fromkeys(held, ALL_MOVES)
        steps = [
            number
            for layer in sorted(stops.keys() | moves.keys())
            for number in (layer, stops.get(layer, 0), moves.get(layer, 0))
        ]
        objects = [n for layer in sorted(emptied) for n in (layer, 0, 0)]
        objects += [n for layer, number in sorted(new.items()) for n in (layer, number + 1, 0)]
        for number in sorted(cleared):
            layer = game.layer_of[game.objects[number]]
            if layer not in new:
                objects += [layer, 0, number + 1]
        if not (objects or steps or choices):
            return 0
        self.has_random |= bool(choices) or any(each & RANDOM_MOVE for each in moves.values())
        rigid = sorted(held) if rule.is_rigid else []
        lists = sorted(choices), steps, objects, rigid
        return self._add(number for each in lists for number in _with_count(each))


def _with_count(numbers: Sequence[int]) -> list[int]:
    return [len(numbers), *numbers]
