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
_SETTINGS = {
    **dict.fromkeys(("title", "author", "homepage", "background_color", "text_color"), True),
    **dict.fromkeys(("key_repeat_interval", "realtime_interval", "again_interval"), True),
    **dict.fromkeys(("flickscreen", "zoomscreen", "color_palette", "youtube"), True),
    **dict.fromkeys(("run_rules_on_level_start", "norepeat_action"), False),
    **dict.fromkeys(("require_player_movement", "debug", "verbose_logging"), False),
    **dict.fromkeys(("throttle_movement", "noundo", "noaction", "norestart", "scanline"), False),
}
"""Keys above the first section, True for those with a value."""
_COLOR_NAMES = [
    *("black", "white", "gray", "darkgray", "lightgray", "grey", "darkgrey", "lightgrey", "red"),
    *("darkred", "lightred", "brown", "darkbrown", "lightbrown", "orange", "yellow", "green"),
    *("darkgreen", "lightgreen", "blue", "lightblue", "darkblue", "purple", "pink", "transparent"),
]
_COLOR = re.compile(rf"({'|'.join(_COLOR_NAMES)}|#(?:[0-9a-f]{{3}}){{1,2}})\s*")
_HEADING = re.compile(rf"({'|'.join(SECTIONS)})(?!\w)")
_NAME = re.compile(r"\w+")
_MESSAGE = re.compile(r"\s*message", re.IGNORECASE)
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


class LegendEntry(NamedTuple):
    """Line of the legend. `word` is "and", "or", or "" for another name of one object."""

    line: int
    word: str
    names: list[str]


@dataclass
class GameSource:
    """Contents of a PuzzleScript source; all names are in lower case.

    Attributes:
        settings: values of the keys above the first section; "" for keys without a value.
        sprites: drawing of each object by name.
        lines: line of the declaration of each object.
        legend: entries by name, the second names of objects included.
        layers: names in each collision layer.
        rules: (line, text in lower case, text as written) of each rule.
        wins: (line, words) of each win condition.
        levels: levels and messages in order.
        faults: (line, message) of everything that could not be read.
    """

    settings: dict[str, str] = field(default_factory=dict)
    sprites: dict[str, Sprite] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    legend: dict[str, LegendEntry] = field(default_factory=dict)
    layers: list[list[str]] = field(default_factory=list)
    rules: list[tuple[int, str, str]] = field(default_factory=list)
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
            entry = self.legend.get(name)
            if entry is None or name in seen:
                self.fail(line, f"found {name!r}, expected an object or a name of the legend")
                return "", []
            seen.add(name)
            if entry.word:
                return entry.word, entry.names
            name = entry.names[0]
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
    source = GameSource()
    section = ""
    reader = _ObjectReader(source)
    is_level_open = False
    for line, written in _strip_comments(text):
        lower = written.lower().strip()
        if not lower:
            reader.is_inside, is_level_open = False, False
            continue
        if not lower.strip("= "):
            continue
        heading = _HEADING.match(lower) if section != "levels" else None
        if heading:
            section = _enter_section(source, line, section, heading[1])
            continue
        if section == "objects":
            reader.read_line(line, lower)
        elif section == "legend":
            _read_legend(source, line, lower)
        elif section == "collisionlayers":
            _read_layer(source, line, lower)
        elif section == "rules":
            source.rules.append((line, lower.partition("(")[0], written.strip()))
        elif section == "winconditions":
            source.wins.append((line, lower.split()))
        elif section == "levels":
            is_level_open = _read_level_line(source, line, written, lower, is_level_open)
        elif not section:
            _read_setting(source, line, written.strip())
    if section != "levels":
        source.fail(0, f"the section {SECTIONS[-1].upper()} is missing")
    return source


def _strip_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, text without comments) of each line that is not in a comment as a whole.
    Comments are in round brackets, which may be nested; messages have none."""
    depth = 0
    section_is_levels = False
    for line, written in enumerate(text.splitlines(), 1):
        if depth == 0 and section_is_levels and _MESSAGE.match(written):
            yield line, written
            continue
        if depth == 0 and _RULE_MESSAGE.match(written):
            yield line, written
            continue
        if "(" not in written and ")" not in written:
            if depth == 0:
                section_is_levels = section_is_levels or written.strip().lower() == "levels"
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


def _enter_section(source: GameSource, line: int, section: str, heading: str) -> str:
    before = SECTIONS.index(section) if section else -1
    if SECTIONS.index(heading) != before + 1:
        expected = SECTIONS[before + 1].upper()
        source.fail(line, f"found the section {heading.upper()}, expected {expected}")
    return heading


def _read_setting(source: GameSource, line: int, written: str) -> None:
    word, _, value = written.partition(" ")
    key = word.lower()
    if key not in _SETTINGS:
        source.fail(line, f"found {word[:40]!r}, expected a key such as title, or OBJECTS")
        return
    source.settings[key] = value.strip() if _SETTINGS[key] else ""


class _ObjectReader:
    """Reader of the section of objects, line by line: name, colours, rows of the sprite."""

    def __init__(self, source: GameSource) -> None:
        self.source = source
        self.is_inside = False
        self.name = ""
        self.has_colors = False

    def read_line(self, line: int, text: str) -> None:
        """Read one line of the section."""
        if not self.is_inside:
            self._read_name(line, text)
        elif not self.has_colors:
            self._read_colors(line, text)
        else:
            self._read_row(line, text)

    def _read_name(self, line: int, text: str) -> None:
        first, *others = text.split()
        name = _NAME.match(first)
        if not name:
            return  # rows of a sprite behind a blank line, about which PuzzleScript warns
        if name[0] != first:
            self.source.fail(line, f"found {first[:40]!r}, expected the name of an object")
            return
        if first in self.source.sprites or first in self.source.legend:
            self.source.fail(line, f"the name {first!r} is taken, declared above; choose another")
        self.name, self.is_inside, self.has_colors = first, True, False
        self.source.sprites[first] = Sprite([], [])
        self.source.lines[first] = line
        for other in others:
            if other in self.source.sprites or other in self.source.legend:
                self.source.fail(line, f"the name {other!r} is taken, declared above")
            self.source.legend[other] = LegendEntry(line, "", [first])

    def _read_colors(self, line: int, text: str) -> None:
        position = 0
        while position < len(text):
            match = _COLOR.match(text, position)
            if not match:
                found = text[position:].split()[0]
                self.source.fail(line, f"found {found[:40]!r}, expected a colour of {self.name!r}")
                break
            self.source.sprites[self.name].colors.append(match[1])
            position = match.end()
        self.has_colors = True

    def _read_row(self, line: int, text: str) -> None:
        rows = self.source.sprites[self.name].rows
        if not text.strip(".0123456789 "):
            rows.append(text.replace(" ", "")[:5])
            self.is_inside = len(rows) < 5
        elif rows:
            self.source.fail(
                line, f"found {text[:20]!r}, expected a row of the sprite of {self.name!r}"
            )
        else:
            self._read_name(line, text)


def _read_legend(source: GameSource, line: int, text: str) -> None:
    name, equals, rest = text.partition("=")
    name, words = name.strip(), rest.split()
    if not (name and equals and words) or len(words) % 2 == 0 or " " in name:
        source.fail(line, f"found {text[:40]!r}, expected A = B, A = B and C, or A = B or C")
        return
    if name in source.sprites or name in source.legend:
        source.fail(line, f"the name {name!r} is taken, declared above; choose another")
        return
    joins = set(words[1::2])
    if len(joins) > 1 or not joins <= {"and", "or"}:
        found = ", ".join(sorted(joins))
        source.fail(line, f"found {found[:40]!r} between names, expected only `and` or only `or`")
        return
    word = joins.pop() if joins else ""
    names = words[::2]
    if name in names:
        source.fail(line, f"{name!r} is defined by itself")
        return
    if not word:
        if source.resolve(names[0], line)[0]:
            source.legend[name] = LegendEntry(line, "", names)
        return
    parts: list[str] = []
    for part in names:
        kind, objects = source.resolve(part, line)
        if kind in ("and", "or") and kind != word:
            source.fail(
                line,
                f"found {part!r}, defined with `{kind}`, in a line with `{word}`; "
                "name its objects instead",
            )
        parts += objects
    source.legend[name] = LegendEntry(line, word, parts)


def _read_layer(source: GameSource, line: int, text: str) -> None:
    layer: list[str] = []
    for name in text.replace(",", " ").split():
        kind, objects = source.resolve(name, line)
        if kind == "and":
            source.fail(
                line, f"found {name!r}, whose objects share cells, so they have several layers"
            )
        layer += objects
    source.layers.append(layer)


def _read_level_line(
    source: GameSource, line: int, written: str, lower: str, is_level_open: bool
) -> bool:
    """Add one line to the levels. Return True if the next line may belong to the same level."""
    if lower.startswith("message"):
        source.levels.append(Level(line, [], written.strip()[len("message") :].strip() or " "))
        return False
    if not is_level_open:
        source.levels.append(Level(line, []))
    source.levels[-1].rows.append(lower)
    return True
