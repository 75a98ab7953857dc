"""Explanations of syntax errors in YAML: the likely mistake with its line, in place of the parser's
words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from gv_engine.rules.errors import shorten

_INDENT = re.compile(r"[ \t]*")
_ENTRY = re.compile(r"(?P<indent> *)(?P<dashes>(?:- +)*)(?P<rest>.*)")
_KEY = re.compile(r"[^\s#'\"\[{][^#'\"\[{]*?:(\s|$)")
_BLOCK = re.compile(r":\s*\|\s*$")
_ENDS = {"flow mapping": "}", "flow sequence": "]"}


def explain_syntax_error(text: str, error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """Return line number and message for a syntax error of the YAML `text`."""
    lines = text.splitlines() or [""]
    mark = error.problem_mark or error.context_mark
    line = min(mark.line + 1 if mark else 1, len(lines))
    begin = min(error.context_mark.line + 1, len(lines)) if error.context_mark else line
    problem, context = str(error.problem), error.context or ""
    for number in range(begin, line + 1):
        if "\t" in _INDENT.match(lines[number - 1])[0]:  # type: ignore[index]  # it matches always
            return number, "the line begins with a tab; indent with spaces, not tabs"
    if "quoted scalar" in context and "end of stream" in problem:
        return begin, f"a text in quotes begins here and has no end: {_show(lines, begin)}"
    for kind, end in _ENDS.items():
        if kind in context and problem.startswith("expected ','"):
            return _explain_brackets(lines, line, begin, problem, end)
    if "could not find expected ':'" in problem:
        return begin, _explain_missing_colon(lines, begin)
    if problem.startswith("mapping values"):
        previous = next((n for n in range(line - 1, 0, -1) if lines[n - 1].strip()), 0)
        if len(re.findall(r":\s", lines[line - 1])) > 1:
            hint = "put quotes around a text that has a colon and a space in it"
            return line, f"found a second colon in {_show(lines, line)}; {hint}"
        is_item = lines[line - 1].lstrip().startswith("- ")
        if previous and not is_item and not _KEY.match(_ENTRY.match(lines[previous - 1])["rest"]):  # type: ignore[index]
            return previous, _explain_missing_colon(lines, previous)
    if problem.startswith("mapping values") or "expected <block end>" in problem:
        if re.match(r" *-[^-\s]", lines[line - 1]):
            return line, f"put a space after the dash: {_show(lines, line)}"
        if found := _explain_indentation(lines, line):
            return line, found
    if "cannot start any token" in problem:
        return line, f"{problem}; put quotes around a text that begins with it"
    if "alias" in problem or "alias" in context or "anchor" in context:
        return line, f"{problem}; put quotes around a text that begins with * or &"
    hint = f"; it begins in line {begin}" if begin != line else ""
    return line, f"{context + ', ' if context else ''}{problem}{hint}"


def find_lost_row(text: str) -> tuple[int, str] | None:
    """Return line number and message for the first row of a map that is a comment, as it begins
    with # and is less indented than the first row; None if there is none."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if not _BLOCK.search(line):
            continue
        rows: list[str] = []
        for at, row in enumerate(lines[number:], number + 1):
            indent = len(row) - len(row.lstrip(" "))
            first = len(rows[0]) - len(rows[0].lstrip(" ")) if rows else indent
            if row.strip() and indent < first:
                mark = row.strip()
                if mark.startswith("#") and " " not in mark and len(mark) == len(rows[0].strip()):
                    found = f"found {_count_spaces(indent)} before the row {_show(lines, at)}"
                    return at, f"{found}, a comment so; expected {first} as before the first row"
                break
            rows.append(row)
    return None


def _count_spaces(number: int) -> str:
    return f"{number} space{'s' * (number != 1)}"


def _show(lines: list[str], number: int) -> str:
    return f"`{shorten(lines[number - 1].strip(), 50)}`"


def _explain_brackets(
    lines: list[str], line: int, begin: int, problem: str, end: str
) -> tuple[int, str]:
    """Return line and message for a list or mapping in brackets that does not end with `end`."""
    if line != begin or "stream end" in problem:
        return begin, f"a bracket opens here that {end!r} does not close: {_show(lines, begin)}"
    found = problem.rpartition("got ")[2].strip("'<>")
    if found in ("]", "}"):
        return line, f"found {found!r} where {end!r} closes the bracket: {_show(lines, line)}"
    return line, f"found {found!r}, expected ',' between entries or {end!r}: {_show(lines, line)}"


def _explain_missing_colon(lines: list[str], number: int) -> str:
    """Return the message for line `number`, which is no entry `key: value`."""
    rest = lines[number - 1].strip()
    entry = re.fullmatch(r"((?:- +)?)([\w.]+)\s*([:=]?)\s*(.*)", rest)
    if not entry:
        return f"found {_show(lines, number)}, expected an entry such as `name: value`"
    dash, name, sign, value = entry.groups()
    fix = shorten(f"{dash}{name}: {value}".strip(), 50)
    lacks = "a space after the colon" if sign == ":" else "a colon after the name"
    return f"found {_show(lines, number)}, which lacks {lacks}: `{fix}`"


def _starts(line: str) -> Iterator[tuple[str, int]]:
    """Yield (kind, column) of the list entries and the key that begin in a line; kinds are "-" and
    "key"."""
    match = _ENTRY.match(line)
    assert match
    for dash in re.finditer("-", match["dashes"]):
        yield "-", len(match["indent"]) + dash.start()
    if match["rest"] == "-":
        yield "-", match.start("rest")
    elif _KEY.match(match["rest"]):
        yield "key", match.start("rest")


def _explain_indentation(lines: list[str], number: int) -> str:
    """Return the message for line `number` if entries of its kind above begin in other columns than
    it does; "" if that is not its mistake."""
    own = next(_starts(lines[number - 1]), None)
    if own is None:
        return ""
    kind, column = own
    above: dict[int, int] = {}  # nearest line by column, of the blocks that are open
    for k in range(1, number):
        if starts := [*_starts(lines[k - 1])]:
            above = {at: n for at, n in above.items() if at <= starts[0][1]}
            above |= {at: k for each, at in starts if each == kind}
    if not above or column in above:
        return ""
    distance = min(abs(at - column) for at in above)
    near = sorted(at for at in above if abs(at - column) == distance)
    places = " or ".join(f"{at} as in line {above[at]}" for at in near)
    return f"found {_count_spaces(column)} before {_show(lines, number)}, expected {places}"
