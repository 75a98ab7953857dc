"""Explanations of syntax errors in YAML: the likely mistake with its line, in place of the parser's
words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from gv_engine.rules.errors import format_count, shorten

_INDENT = re.compile(r"[ \t]*")
_ENTRY = re.compile(r"(?P<indent> *)(?P<dashes>(?:- +)*)(?P<rest>.*)")
_KEY = re.compile(r"[^\s#'\"\[{][^#'\"\[{]*?:(\s|$)")
_BLOCK = re.compile(r":\s*\|\s*$")
_QUOTE_COLONS = "put quotes around a text that has a colon and a space in it"
_BRACKETS = {"flow mapping": "}", "flow sequence": "]"}


def explain_syntax_error(text: str, error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """Return line number and message for a YAML syntax error. The message names the likely mistake,
    such as a missing colon."""
    lines = text.splitlines() or [""]
    mark = error.problem_mark or error.context_mark
    line = min(mark.line + 1 if mark else 1, len(lines))
    begin = min(error.context_mark.line + 1, len(lines)) if error.context_mark else line
    problem, context = str(error.problem), error.context or ""
    for number in range(begin, line + 1):
        if "\t" in _INDENT.match(lines[number - 1])[0]:  # type: ignore[index]  # it matches always
            return number, "the line begins with a tab; indent with spaces, not tabs"
    if "quoted scalar" in context and "end of stream" in problem:
        return begin, f"a quote opens here and does not close: {_show(lines, begin)}"
    for kind, bracket in _BRACKETS.items():
        if kind in context and problem.startswith("expected ','"):
            return _explain_brackets(lines, line, begin, problem, bracket)
    if "could not find expected ':'" in problem:
        return begin, _explain_missing_colon(lines, begin)
    is_unexpected_mapping = problem.startswith("mapping values")
    if is_unexpected_mapping and (mistake := _find_colon_mistake(lines, line)):
        return mistake
    if is_unexpected_mapping or "expected <block end>" in problem:
        if re.match(r" *-[^-\s]", lines[line - 1]):
            return line, f"put a space after the dash: {_show(lines, line)}"
        if message := _explain_indentation(lines, line):
            return line, message
    if "cannot start any token" in problem:
        return line, f"{problem}; put quotes around a text that begins with it"
    if "alias" in problem or "alias" in context or "anchor" in context:
        return line, f"{problem}; put quotes around a text that begins with * or &"
    hint = f"; it begins in line {begin}" if begin != line else ""
    return line, f"{context + ', ' if context else ''}{problem}{hint}"


def _find_colon_mistake(lines: list[str], line: int) -> tuple[int, str] | None:
    """Return line number and message if the error in `line` comes from a second colon there, or
    from a missing colon in the line above. None otherwise."""
    if len(re.findall(r":\s", re.sub(r"[{[].*[]}]", "", lines[line - 1]))) > 1:
        return line, f"found a second colon in {_show(lines, line)}; {_QUOTE_COLONS}"
    previous = next((n for n in range(line - 1, 0, -1) if lines[n - 1].strip()), None)
    is_item = lines[line - 1].lstrip().startswith("- ")
    if previous is None or is_item or _KEY.match(_match_entry(lines[previous - 1])["rest"]):
        return None
    return previous, _explain_missing_colon(lines, previous)


def find_lost_row(text: str) -> tuple[int, str] | None:
    """Return line number and message for the first map row that YAML takes for a comment, as it
    begins with # and is less indented than the map's first row. None if there is none."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if _BLOCK.search(line) and (lost_row := _find_lost_row_below(lines, number)):
            return lost_row
    return None


def _find_lost_row_below(lines: list[str], number: int) -> tuple[int, str] | None:
    """Return line number and message for the first line after the text block that begins in line
    `number`, if it looks like a row of that block. None otherwise."""
    first_row = lines[number] if number < len(lines) else ""
    expected = _indent_of(first_row)
    for row_number, row in enumerate(lines[number:], number + 1):
        indent = _indent_of(row)
        if row.strip() and indent < expected:
            is_row = " " not in row.strip() and len(row.strip()) == len(first_row.strip())
            if not (row.lstrip().startswith("#") and is_row):
                return None
            found = (
                f"found {format_count(indent, 'space')} before the row {_show(lines, row_number)}"
            )
            return (
                row_number,
                f"{found}, which makes it a comment; expected {expected} as before the first row",
            )
    return None


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _show(lines: list[str], number: int) -> str:
    return f"`{shorten(lines[number - 1].strip(), 50)}`"


def _explain_brackets(
    lines: list[str], line: int, begin: int, problem: str, bracket: str
) -> tuple[int, str]:
    """Return line number and message for a YAML list or mapping that its closing `bracket` does not
    end. It begins in line `begin`; `problem` is PyYAML's message about `line`."""
    if line != begin or "stream end" in problem:
        return begin, f"a bracket opens here that {bracket!r} does not close: {_show(lines, begin)}"
    token, shown = problem.rpartition("got ")[2].strip("'<>"), _show(lines, line)
    if token in ("]", "}"):
        return line, f"found {token!r} where {bracket!r} closes the bracket: {shown}"
    hint = f"; {_QUOTE_COLONS}" if token == ":" else ""
    return line, f"found {token!r}, expected ',' between entries or {bracket!r}: {shown}{hint}"


def _explain_missing_colon(lines: list[str], number: int) -> str:
    """Return the message for line `number`, which is not a YAML entry `key: value`."""
    rest = lines[number - 1].strip()
    entry = re.fullmatch(r"((?:- +)?)([\w.]+)\s*([:=]?)\s*(.*)", rest)
    if not entry:
        return f"found {_show(lines, number)}, expected an entry such as `name: value`"
    dash, name, sign, value = entry.groups()
    fix = shorten(f"{dash}{name}: {value}".strip(), 50)
    lacks = "a space after the colon" if sign == ":" else "a colon after the name"
    return f"found {_show(lines, number)}, which lacks {lacks}: `{fix}`"


def _iter_starts(line: str) -> Iterator[tuple[str, int]]:
    """Yield (kind, column) for each YAML list item and the key that begin in a line: `- a: 1` gives
    ("-", 0) and ("key", 2)."""
    match = _match_entry(line)
    for dash in re.finditer("-", match["dashes"]):
        yield "-", len(match["indent"]) + dash.start()
    if match["rest"] == "-":
        yield "-", match.start("rest")
    elif _KEY.match(match["rest"]):
        yield "key", match.start("rest")


def _match_entry(line: str) -> re.Match[str]:
    match = _ENTRY.match(line)
    assert match  # all of its parts may be empty
    return match


def _explain_indentation(lines: list[str], number: int) -> str:
    """Return a message if line `number` is indented differently from the entries above it; "" if it
    is not."""
    start = next(_iter_starts(lines[number - 1]), None)
    if start is None:
        return ""
    kind, column = start
    lines_by_column: dict[int, int] = {}  # nearest line above, of the blocks that are open
    for above in range(1, number):
        if starts := [*_iter_starts(lines[above - 1])]:
            first_column = starts[0][1]
            lines_by_column = {c: n for c, n in lines_by_column.items() if c <= first_column}
            lines_by_column |= {c: above for other_kind, c in starts if other_kind == kind}
    if not lines_by_column or column in lines_by_column:
        return ""
    distance = min(abs(other - column) for other in lines_by_column)
    nearest = sorted(other for other in lines_by_column if abs(other - column) == distance)
    expected = " or ".join(f"{other} as in line {lines_by_column[other]}" for other in nearest)
    return (
        f"found {format_count(column, 'space')} before {_show(lines, number)}, expected {expected}"
    )
