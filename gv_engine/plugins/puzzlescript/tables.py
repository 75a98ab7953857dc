"""Rules of a PuzzleScript game as one list of numbers, which `turn.py` interprets.

A cell of the level has, in each collision layer, an object or none and a movement. For each object
and each movement of each layer there is a board: one number per column of the level, whose bit y is
1 if row y has it. Rules are matched on boards, so that one operation tests a whole column.

All addresses are indices into the list. It begins with `HEADER` numbers:

    objects, layers, flags, start of the layers of objects, player, win conditions, early, late

    player: is_all, number of objects, objects
    win conditions: number; for each NO -1, SOME 0, ALL 1; twice is_all, number of objects, objects
    early, late: number of groups; addresses of the groups
    group: is_random, group to go back to or -1, rigid number or 0, number of rules, their addresses
    rule: direction, commands, message, rigid number or 0, has_after, number of boards, boards that
        must not be empty, number of rows, addresses of the rows
    row: cells, ellipses, cells before the first and before the second, addresses of the cells
    cell: number of boards that have it, boards; number of sets, for each number of objects and
        objects of which one is there; number of boards that lack it, boards; address of a
        replacement or 0
    replacement: number of layers whose object changes; for each layer, object + 1, 0 for none, or
        -n for "none, if it is one of n" with these n objects; number of layers whose movement
        changes, for each layer, bits that are cleared, bits that are set; number of random objects,
        objects; number of layers with a random direction, layers; number of layers that a rigid
        rule moves, layers
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gv_engine.plugins.puzzlescript.expansion import (
    ELLIPSIS,
    RULE_COMMANDS,
    ExpandedRules,
    PatternCell,
    PatternRow,
    PatternRule,
    expand_rules,
)
from gv_engine.plugins.puzzlescript.game import PuzzleGame

OBJECTS, LAYERS, FLAGS, LAYER_OF, PLAYER, WINS, EARLY, LATE, HEADER = range(9)
"""Positions of the numbers at the beginning of the list, and their count."""
RUNS_AT_START, NEEDS_MOVE, IS_RANDOM, IS_RIGID = 1, 2, 4, 8
"""Flags of a game."""
CANCEL, RESTART, WIN, MESSAGE, AGAIN, CHECKPOINT, SOUND = (1 << k for k in range(7))
"""Bits of the commands of a rule."""
BOARDS_OF_LAYER, ANY_MOVE = 6, 5
"""Boards of movements for each layer, and which of them has all movements together."""
ALL_MOVES = 31
_MOVES = {"up": 1, "down": 2, "left": 4, "right": 8, "action": 16, "randomdir": 5}
_BITS = {
    "cancel": CANCEL,
    "restart": RESTART,
    "win": WIN,
    "message": MESSAGE,
    "again": AGAIN,
    "checkpoint": CHECKPOINT,
}
MAX_ROWS, _MAX_RIGID = 16, 30


@dataclass
class Program:
    """Rules of a game as numbers.

    Attributes:
        numbers: see the module.
        messages: texts of the commands `message`; a rule names its text by the number from 1.
        commands: bits of all commands that rules have.
        ellipses: largest number of ellipses in a row.
    """

    numbers: list[int] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    commands: int = 0
    ellipses: int = 0


@dataclass
class _CellPattern:
    """Objects and movements, as bits, of a cell on one side of a rule; see `_TableWriter`."""

    present: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    sets: list[list[int]] = field(default_factory=list)
    moves: dict[int, int] = field(default_factory=dict)
    still: set[int] = field(default_factory=set)
    layers: dict[int, str] = field(default_factory=dict)
    object_layers: set[int] = field(default_factory=set)


def write_program(game: PuzzleGame) -> Program:
    """Return the rules and win conditions of a game as numbers. Faults are added to the game's
    source."""
    rules = expand_rules(game)
    if game.source.faults:
        return Program()
    return _TableWriter(game).write(rules)


class _ImpossibleRuleError(Exception):
    """A pattern that no cell can match."""


class _TableWriter:
    """Writer of the list of numbers of one game."""

    def __init__(self, game: PuzzleGame) -> None:
        self.game = game
        self.program = Program()
        self.numbers = self.program.numbers
        self._addresses: dict[tuple[int, ...], int] = {}
        self.has_random = False

    def write(self, rules: ExpandedRules) -> Program:
        """Write all rules and return the program."""
        game, source = self.game, self.game.source
        self.numbers += [0] * HEADER
        early, late = (
            self._group_rules([rule for rule in rules.rules if rule.is_late == is_late])
            for is_late in (False, True)
        )
        rigid = [group for group in early if any(rule.is_rigid for rule in group)]
        if len(rigid) > _MAX_RIGID:
            fault = f"found {len(rigid)} groups of rigid rules, allowed are {_MAX_RIGID}"
            source.fail(rigid[_MAX_RIGID][0].line, fault)
        settings = source.settings
        flags = RUNS_AT_START * ("run_rules_on_level_start" in settings)
        flags |= NEEDS_MOVE * ("require_player_movement" in settings)
        layers = self._add([game.layer_of.get(name, 0) for name in game.objects])
        kind, names = game.names["player"]
        player = self._add([int(kind == "and"), *_with_count(game.list_numbers(names))])
        wins = self._write_wins()
        starts = [
            self._add(_with_count(self._write_groups(groups, rules.loops, rigid)))
            for groups in (early, late)
        ]
        flags |= IS_RANDOM * self.has_random | IS_RIGID * bool(rigid)
        counts = len(game.objects), game.num_layers
        self.numbers[:HEADER] = [*counts, flags, layers, player, wins, *starts]
        return self.program

    def _add(self, numbers: Iterable[int]) -> int:
        """Return the address of numbers, which are added unless they are there already."""
        key = tuple(numbers)
        if key not in self._addresses:
            self._addresses[key] = len(self.numbers)
            self.numbers += key
        return self._addresses[key]

    # ---- groups ----------------------------------------------------------------------------------

    def _group_rules(self, rules: Iterable[PatternRule]) -> list[list[PatternRule]]:
        """Return the rules by group, without those that no cell can match."""
        groups: dict[int, list[PatternRule]] = {}
        dead = set()
        for rule in rules:
            if self._is_possible(rule):
                groups.setdefault(rule.group, []).append(rule)
            else:
                dead.add(rule.line)
        return [groups[number] for number in sorted(groups)]

    def _is_possible(self, rule: PatternRule) -> bool:
        try:
            for row in rule.before:
                for cell in row:
                    if cell != ELLIPSIS:
                        self._read_before(rule, cell)
        except _ImpossibleRuleError:
            return False
        return True

    def _write_groups(
        self,
        groups: Sequence[list[PatternRule]],
        loops: Iterable[tuple[int, int]],
        rigid: list[list[PatternRule]],
    ) -> list[int]:
        """Write groups of rules; return their addresses. `loops` are the lines of loops."""
        targets = self._find_loop_targets(groups, loops)
        addresses = []
        for number, group in enumerate(groups):
            rigid_number = rigid.index(group) + 1 if group in rigid else 0
            rules = [self._write_rule(rule, rigid_number) for rule in group]
            head = [int(group[0].is_random), targets.get(number, -1), rigid_number]
            self.has_random |= group[0].is_random
            addresses.append(self._add([*head, *_with_count(rules)]))
        return addresses

    def _find_loop_targets(
        self, groups: Sequence[list[PatternRule]], loops: Iterable[tuple[int, int]]
    ) -> dict[int, int]:
        """Return the first group of a loop by its last group."""
        targets = {}
        for start, end in loops:
            inside = [n for n, group in enumerate(groups) if start <= group[0].line <= end]
            for group in groups:
                first, last = group[0].line, group[-1].line
                if first <= start <= last or first <= end <= last:
                    self.game.source.fail(start, "found a loop that cuts a group of rules in two")
            if inside:
                targets[inside[-1]] = inside[0]
        return targets

    # ---- rules -----------------------------------------------------------------------------------

    def _write_rule(self, rule: PatternRule, rigid_number: int) -> int:
        commands, message = 0, 0
        for command in rule.commands:
            word, _, text = command.partition(" ")
            commands |= _BITS.get(word, SOUND)
            if word == "message":
                self.program.messages.append(text)
                message = len(self.program.messages)
        self.program.commands |= commands
        rows, needed = [], dict[int, None]()
        if len(rule.before) > MAX_ROWS:
            fault = f"found {len(rule.before)} patterns, allowed are {MAX_ROWS}"
            self.game.source.fail(rule.line, fault)
        for j, row in enumerate(rule.before):
            after = rule.after[j] if rule.after else ()
            rows.append(self._write_row(rule, row, after, needed))
        own_rigid = rigid_number if rule.is_rigid else 0
        head = [_MOVES[rule.directions[0]], commands, message, own_rigid, int(bool(rule.after))]
        objects = len(self.game.objects)
        boards = sorted(needed, key=lambda board: board < objects)  # movements are rarest
        return self._add([*head, *_with_count(boards), *_with_count(rows)])

    def _write_row(
        self, rule: PatternRule, row: PatternRow, after: PatternRow, needed: dict[int, None]
    ) -> int:
        """Write one pattern, and what takes its place. Boards that must not be empty are added to
        `needed`."""
        cells, gaps = list[int](), list[int]()
        for k, cell in enumerate(row):
            if after and (after[k] == ELLIPSIS) != (cell == ELLIPSIS):
                self.game.source.fail(rule.line, "found ... on one side of -> only")
                break
            if cell == ELLIPSIS:
                gaps.append(len(cells))
                continue
            pattern = self._read_before(rule, cell)
            has = self._list_boards(pattern)
            needed |= dict.fromkeys(has)
            sets = [number for objects in pattern.sets for number in _with_count(objects)]
            lacks = [*sorted(pattern.missing), *(self._board(n, ANY_MOVE) for n in pattern.still)]
            replacement = self._write_replacement(rule, pattern, after[k]) if after else 0
            numbers = [*_with_count(has), len(pattern.sets), *sets, *_with_count(lacks)]
            cells.append(self._add([*numbers, replacement]))
        self.program.ellipses = max(self.program.ellipses, len(gaps))
        first, second = (*gaps, len(cells), len(cells))[:2]
        return self._add([len(cells), len(gaps), first, second, *cells])

    def _board(self, layer: int, move: int) -> int:
        return len(self.game.objects) + BOARDS_OF_LAYER * layer + move

    def _list_boards(self, pattern: _CellPattern) -> list[int]:
        moves = [
            self._board(layer, move)
            for layer, bits in pattern.moves.items()
            for move in range(ANY_MOVE)
            if bits >> move & 1
        ]
        return [*moves, *sorted(pattern.present)]

    def _read_before(self, rule: PatternRule, cell: PatternCell) -> _CellPattern:
        """Return what a cell on the left must have and lack; raise `_ImpossibleRuleError` if no
        cell can have it."""
        game, pattern = self.game, _CellPattern()
        for word, name in cell:
            kind, names = game.names[name]
            numbers = game.list_numbers(names)
            if word == "random":
                game.source.fail(rule.line, "found random on the left, expected it on the right")
                continue
            if word == "no":
                pattern.missing |= {*numbers}
                continue
            layer = self._find_layer(rule, name)
            if layer is None:
                continue
            if layer in pattern.layers:
                raise _ImpossibleRuleError
            pattern.layers[layer] = name
            if kind == "object":
                pattern.present |= {*numbers}
                pattern.object_layers.add(layer)
            else:
                pattern.sets.append(numbers)
            if word == "stationary":
                pattern.still.add(layer)
            elif word:
                pattern.moves[layer] = pattern.moves.get(layer, 0) | _MOVES[word]
        if pattern.present & pattern.missing:
            raise _ImpossibleRuleError
        return pattern

    def _find_layer(self, rule: PatternRule, name: str) -> int | None:
        layer = self.game.single_layer(name)
        if layer is None:
            fault = f"found {name!r}, whose objects have several layers"
            self.game.source.fail(rule.line, fault)
        return layer

    def _write_replacement(self, rule: PatternRule, before: _CellPattern, cell: PatternCell) -> int:
        """Write what a cell becomes; return the address, or 0 if it stays."""
        game, source = self.game, self.game.source
        new: dict[int, int] = {}  # object by layer
        used, cleared = set[int](), set[int]()
        moves, stops = dict[int, int](), dict[int, int]()
        held, random_layers, choices = set[int](), list[int](), set[int]()
        for word, name in cell:
            kind, names = game.names[name]
            numbers = game.list_numbers(names)
            if word == "random":
                choices |= {*numbers}
                continue
            if word == "no":
                cleared |= {*numbers}
                continue
            layer = self._find_layer(rule, name)
            if layer is None:
                continue
            if layer in used:
                source.fail(rule.line, f"found two objects of the layer of {name!r} in a cell")
            used.add(layer)
            if word:
                held.add(layer)
            if kind == "object":
                new[layer] = numbers[0]
            if word == "stationary":
                stops[layer] = ALL_MOVES
            elif word == "randomdir":
                random_layers.append(layer)
            elif word:
                moves[layer] = moves.get(layer, 0) | _MOVES[word]
        if not before.present <= {*new.values()}:
            cleared |= before.present
        if any(bits & ~moves.get(layer, 0) for layer, bits in before.moves.items()):
            for layer, bits in before.moves.items():
                stops[layer] = stops.get(layer, 0) | bits
        emptied = before.layers.keys() - used
        held |= emptied | (before.object_layers - new.keys())
        for layer in held:
            stops[layer] = ALL_MOVES
        objects = list[int]()
        num_layers = 0
        for layer, members in enumerate(game.objects_by_layer):
            lost = sorted(cleared & {*members})
            if layer in new:
                objects += [layer, new[layer] + 1]
            elif layer in emptied or (lost and len(lost) == len(members)):
                objects += [layer, 0]
            elif lost:
                objects += [layer, -len(lost), *lost]
            else:
                continue
            num_layers += 1
        changed = sorted(stops.keys() | moves.keys())
        steps = [n for layer in changed for n in (layer, stops.get(layer, 0), moves.get(layer, 0))]
        if not (objects or steps or choices or random_layers):
            return 0
        self.has_random |= bool(choices or random_layers)
        return self._add(
            [
                *(num_layers, *objects),
                *(len(changed), *steps),
                *_with_count(sorted(choices)),
                *_with_count(sorted(random_layers)),
                *_with_count(sorted(held) if rule.is_rigid else []),
            ]
        )

    # ---- win conditions --------------------------------------------------------------------------

    def _write_wins(self) -> int:
        numbers = [0]
        for line, words in self.game.source.wins:
            kinds = {"no": -1, "some": 0, "any": 0, "all": 1}
            is_valid = len(words) in (2, 4) and words[0] in kinds
            if not is_valid or (len(words) == 4 and words[2] != "on"):
                found = " ".join(words)[:40]
                self.game.source.fail(line, f"found {found!r}, expected All Target on Crate")
                continue
            numbers[0] += 1
            numbers.append(kinds[words[0]])
            for name in (words[1], words[3] if len(words) == 4 else ""):
                kind, names = self.game.names.get(name, ("", []))
                if name and not kind:
                    fault = f"found {name[:40]!r}, expected an object or a name of the legend"
                    self.game.source.fail(line, fault)
                # without a second name all cells count: all of no objects are in each
                is_all = kind == "and" or not name
                numbers += [int(is_all), *_with_count(self.game.list_numbers(names))]
        return self._add(numbers)


def _with_count(numbers: Sequence[int]) -> list[int]:
    return [len(numbers), *numbers]


assert {*_BITS} == {*RULE_COMMANDS}
