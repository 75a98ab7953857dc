"""Reader of PuzzleScript sources: from a text to its objects, legend, layers, rules and levels.

The language is described at https://www.puzzlescript.net/Documentation/documentation.html. Where
that is silent, the reader does what PuzzleScript's own engine does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gv_engine.scenario.documents.foreign_files import SourceError

SECTIONS = (
    *("objects", "legend", "sounds", "collisionlayers"),
    *("rules", "winconditions", "levels"),
)
"""Headings of a source, in order."""
_KEY = re.compile(
    r"title|author|homepage|background_color|text_color|color_palette|key_repeat_interval|"
    r"realtime_interval|again_interval|flickscreen|zoomscreen|youtube|run_rules_on_level_start|"
    r"norepeat_action|require_player_movement|debug|verbose_logging|throttle_movement|noundo|"
    r"noaction|norestart|scanline"
)
"""Keys above the first section."""
_COLOR = re.compile(
    r"((?:dark|light)?(?:gr[ae]y|red|brown|green|blue)|black|white|orange|yellow|purple|pink|"
    r"transparent|#(?:[0-9a-f]{3}){1,2})\s*"
)
_HEADING = re.compile(rf"({'|'.join(SECTIONS)})(?!\w)")
_LEVEL_MESSAGE = re.compile(r"\s*message", re.IGNORECASE)
_RULE_MESSAGE = re.compile(r"[^(]*->[^(]*\bmessage\b", re.IGNORECASE)
_MAX_FAULTS = 20


class Sprite(NamedTuple):
    """Drawing of an object: names or codes of its colours, and up to 5 rows of their digits."""

    colors: list[str]
    rows: list[str]


class Level(NamedTuple):
    """Level of a game: rows of legend characters. A message between levels has a text, no rows."""

    line: int
    rows: list[str]
    message: str = ""


@dataclass
class GameSource:
    """Contents of a PuzzleScript source; all names are in lower case.

    Attributes:
        settings: values of the keys above the first section; "" for keys without a value.
        sprites: drawing of each object by name.
        lines: line of the declaration of each name.
        legend: ("and", "or", or "" for another name of one object; names) of each other name.
        layers: names in each collision layer.
        rules: (line, text) of each rule.
        wins: (line, words) of each win condition.
        levels: levels and messages in order.
        faults: (line, message) of everything that could not be read.
    """

    settings: dict[str, str] = field(default_factory=dict)
    sprites: dict[str, Sprite] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    legend: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    layers: list[list[str]] = field(default_factory=list)
    rules: list[tuple[int, str]] = field(default_factory=list)
    wins: list[tuple[int, list[str]]] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)

    def fail(self, line: int, message: str) -> None:
        """Add a fault; raise `SourceError` if there are too many."""
        if (line, message) not in self.faults:
            self.faults.append((line, message))
        if len(self.faults) >= _MAX_FAULTS:
            raise SourceError(self.faults)

    def raise_if_any(self) -> None:
        """Raise `SourceError` if there are faults."""
        if self.faults:
            raise SourceError(sorted(self.faults))

    def resolve(self, name: str, line: int) -> tuple[str, list[str]]:
        """Return ("object", its name), ("or", objects) or ("and", objects) for a name; ("", []) and
        a fault for a name that nothing has."""
        seen = set()
        while name not in self.sprites:
            word, names = self.legend.get(name, ("", []))
            if word:
                return word, names
            if not names or name in seen:
                self.fail(line, f"found {name!r}, expected an object or a name of the legend")
                return "", []
            seen.add(name)
            name = names[0]
        return "object", [name]


def is_puzzlescript(text: str) -> bool:
    """Return True if a text has the headings of a PuzzleScript source."""
    headings = {line.strip().lower() for line in text.splitlines() if len(line) < 40}
    return {"objects", "legend", "collisionlayers", "rules", "levels"} <= {
        match[1] for line in headings if (match := _HEADING.match(line))
    }


def read_game_source(text: str) -> GameSource:
    """Return the contents of a PuzzleScript source.

    Raises:
        SourceError: there are too many faults to read on; others are in `GameSource.faults`.
    """
    reader = _SourceReader()
    for line, written in _strip_comments(text):
        reader.read_line(line, written.strip())
    if reader.section != "levels":
        reader.source.fail(0, f"the section {SECTIONS[-1].upper()} is missing")
    return reader.source


def _strip_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, text without comments) of each line that is not in a comment as a whole.
    Comments are in round brackets, which may be nested; messages have none."""
    depth, section_is_levels = 0, False
    for line, written in enumerate(text.splitlines(), 1):
        section_is_levels |= depth == 0 and written.strip().lower() == "levels"
        message = _LEVEL_MESSAGE if section_is_levels else _RULE_MESSAGE
        if depth == 0 and (not {*"()"} & {*written} or message.match(written)):
            yield line, written
            continue
        kept = []
        for character in written:
            if character == "(":
                depth += 1
            elif character == ")":
                depth = max(0, depth - 1)
            elif depth == 0:
                kept.append(character)
        if rest := "".join(kept).strip():
            yield line, rest


class _SourceReader:
    """Reader of the lines of a source, one after the other."""

    def __init__(self) -> None:
        self.source = GameSource()
        self.fail = self.source.fail
        self.section = ""
        self.object = ""  # whose colours and rows are read
        self.has_colors = False
        self.is_level_open = False

    def read_line(self, line: int, written: str) -> None:
        """Read a line."""
        text = written.lower()
        heading = _HEADING.match(text) if self.section != "levels" else None
        if not text:
            self.object, self.is_level_open = "", False
        elif heading:
            before = SECTIONS.index(self.section) if self.section else -1
            if SECTIONS.index(heading[1]) != before + 1:
                expected = SECTIONS[before + 1].upper()
                self.fail(line, f"found the section {heading[1].upper()}, expected {expected}")
            self.section = heading[1]
        elif text.strip("= ") and self.section != "sounds":
            getattr(self, f"_read_{self.section or 'settings'}")(line, text, written)

    def _read_settings(self, line: int, text: str, written: str) -> None:
        word, _, value = written.partition(" ")
        if not _KEY.fullmatch(word.lower()):
            self.fail(line, f"found {word[:40]!r}, expected a key such as title, or OBJECTS")
        self.source.settings[word.lower()] = value.strip()

    def _read_rules(self, line: int, text: str, written: str) -> None:
        self.source.rules.append((line, written))

    def _read_winconditions(self, line: int, text: str, written: str) -> None:
        self.source.wins.append((line, text.split()))

    # ---- names -----------------------------------------------------------------------------------

    def _declare(self, name: str, line: int) -> bool:
        """Note the line of a new name; return False after a fault if there is such a name."""
        if name in self.source.lines:
            self.fail(line, f"the name {name!r} is taken, declared above; choose another")
            return False
        self.source.lines[name] = line
        return True

    def _read_objects(self, line: int, text: str, written: str) -> None:
        sprites = self.source.sprites
        is_row = not text.strip(".0123456789 ")
        if self.object and not self.has_colors:
            self.has_colors = True
            rest = _COLOR.sub("", text)
            sprites[self.object].colors.extend(_COLOR.findall(text))
            if rest:
                found = rest.split()[0][:40]
                self.fail(line, f"found {found!r}, expected a colour of {self.object!r}")
        elif self.object and is_row:
            sprites[self.object].rows.append(text.replace(" ", "")[:5])
            if len(sprites[self.object].rows) == 5:
                self.object = ""
        elif self.object and sprites[self.object].rows:
            self.fail(line, f"found {text[:20]!r}, expected a row of the sprite of {self.object!r}")
        elif re.match(r"\w", text):  # PuzzleScript warns about other lines, rows of a sprite
            first, *others = text.split()
            if not re.fullmatch(r"\w+", first):
                self.fail(line, f"found {first[:40]!r}, expected the name of an object")
                return
            self._declare(first, line)
            self.object, self.has_colors = first, False
            sprites[first] = Sprite([], [])
            for other in others:
                if self._declare(other, line):
                    self.source.legend[other] = "", [first]

    def _read_legend(self, line: int, text: str, written: str) -> None:
        name, equals, rest = text.partition("=")
        name, words = name.strip(), rest.split()
        names, joins = words[::2], {*words[1::2]}
        if not (name and equals and len(words) % 2) or " " in name:
            self.fail(line, f"found {text[:40]!r}, expected A = B, A = B and C, or A = B or C")
            return
        if len(joins) > 1 or not joins <= {"and", "or"}:
            found = ", ".join(sorted(joins))[:40]
            self.fail(line, f"found {found!r} between names, expected only `and` or only `or`")
            return
        if name in names:
            self.fail(line, f"{name!r} is defined by itself")
            return
        parts: list[str] = []
        for part in names:
            kind, objects = self.source.resolve(part, line)
            if joins and kind not in ("", "object", *joins):
                self.fail(
                    line,
                    f"found {part!r}, defined with `{kind}`, in a line with `{min(joins)}`; "
                    "name its objects instead",
                )
            parts += objects
        if self._declare(name, line):
            self.source.legend[name] = (min(joins), parts) if joins else ("", names)

    def _read_collisionlayers(self, line: int, text: str, written: str) -> None:
        layer: list[str] = []
        for name in text.replace(",", " ").split():
            kind, objects = self.source.resolve(name, line)
            if kind == "and":
                self.fail(line, f"found {name!r}, whose objects share cells, so not their layer")
            layer += objects
        self.source.layers.append(layer)

    def _read_levels(self, line: int, text: str, written: str) -> None:
        levels = self.source.levels
        is_message = text.startswith("message")
        if is_message:
            levels.append(Level(line, [], written[len("message") :].strip() or " "))
        elif not self.is_level_open:
            levels.append(Level(line, []))
        if not is_message:
            levels[-1].rows.append(text)
        self.is_level_open = not is_message
