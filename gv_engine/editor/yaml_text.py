"""Changes in the text of a YAML file: what changes is written anew, all else stays as it is.

Libraries that load a file and dump it again lay it out anew, and lose the comment behind an item
that is taken out, which mostly belongs to what follows. Here every change is one of the text, at
the places that PyYAML tells, so that comments, blank lines and quotes stay where they are.

>>> text = "rules: [move, turn]  # in this order\\n"
>>> put(text, ("rules", 1), {"name": "push", "by": 2})
'rules: [move, {name: push, by: 2}]  # in this order\\n'
>>> insert(text, ("rules",), 0, "look")
'rules: [look, move, turn]  # in this order\\n'
"""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import Any, NamedTuple

import yaml

from gv_engine.rules.errors import GVEngineError

KeyPath = tuple[str | int, ...]
"""The way to a value: keys of mappings, numbers of items of lists."""

_WIDTH = 96
"""Letters of a line of a text that is written over several."""
_STEP = 2
"""Spaces by which what lies deeper is indented."""


class EditError(GVEngineError):
    """A change that cannot be made; the message says why."""


class _Loader(yaml.SafeLoader):
    """Composes nodes; an alias is one by itself, so that its own place is known."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]  # its stubs lack it
            return yaml.ScalarNode("!alias", event.anchor, event.start_mark, event.end_mark)
        composed: yaml.Node | None = super().compose_node(parent, index)
        return composed


class _Entry(NamedTuple):
    """A value, what it stands in, and where."""

    node: yaml.Node
    within: yaml.CollectionNode
    key: yaml.Node | None
    number: int
    """Of the entries or items there."""


def composed(text: str) -> yaml.MappingNode:
    """The nodes of a text, with their places.

    Raises:
        EditError: it is no YAML, or no mapping.
    """
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or error
        raise EditError(f"not valid YAML: {line}{problem}") from None
    if root is None:
        return yaml.MappingNode("tag:yaml.org,2002:map", [])
    if not isinstance(root, yaml.MappingNode):
        raise EditError("found no mapping; a scenario file has keys and values")
    return root


def has(text: str, path: KeyPath) -> bool:
    """Whether there is a value."""
    return _find(composed(text), path) is not None


def scalar(text: str, path: KeyPath) -> str | None:
    """A scalar as it is written, without quotes; None if there is none."""
    found = _find(composed(text), path)
    return found.node.value if found and isinstance(found.node, yaml.ScalarNode) else None


def length(text: str, path: KeyPath) -> int:
    """How many items a list has; 0 if there is none."""
    found = _find(composed(text), path)
    return len(found.node.value) if found and isinstance(found.node, yaml.SequenceNode) else 0


def put(text: str, path: KeyPath, value: Any, after: str = "") -> str:
    """The text with a value, in the place of another one or behind all others.

    Args:
        path: to the value; what it stands in is made, if it is not there.
        value: plain: a mapping, a list or a scalar.
        after: the key that a new one is put behind, if that is there.

    Raises:
        EditError: it stands in something that has no keys.
    """
    root = composed(text)
    found = _find(root, path)
    if found:
        return _replaced(text, found, value)
    *above, last = path
    parent = _find(root, tuple(above)) if above else None
    within = parent.node if parent else root
    if above and parent is None:
        return put(text, tuple(above), {last: value}, after)
    if not isinstance(within, yaml.MappingNode) or isinstance(last, int):
        raise EditError(f"{_words(path)}: nothing can be put there")
    if within.flow_style and (within.value or parent):
        entry = _flow({last: value})[1:-1]
        if not within.value:
            return _spliced(text, *_span(text, within), f"{{{entry}}}")
        end = _end(text, within.value[-1][1])
        return _spliced(text, end, end, f", {entry}")
    if not within.value:
        return f"{text}{_newline(text)}{_line(last, value, 0)}"
    behind = next((n for n, (key, _) in enumerate(within.value) if key.value == after), -1)
    first, end = within.value[0][0], _line_end(text, _end(text, within.value[behind][1]))
    indent = first.start_mark.column
    entry = _line(last, value, indent)
    if end == len(text) and not text.endswith("\n"):
        return f"{text}\n{entry}"
    return _spliced(text, end, end, entry)


def remove(text: str, path: KeyPath) -> str:
    """The text without a value.

    Raises:
        EditError: there is none.
    """
    found = _found(text, path)
    within, number = found.within, found.number
    if len(within.value) == 1:
        empty = "[]" if found.key is None else "{}"
        if not within.start_mark:  # the only key of a file
            raise EditError(f"{_words(path)}: the last key of a file stays")
        start, end = _span(text, within)
        head = text[:start].rstrip()
        return f"{head}{' ' if head.endswith((':', '-', ',')) else ''}{empty}{text[end:]}"
    if within.flow_style:
        starts = [_start(part) for part in within.value]
        if number + 1 < len(starts):
            return _spliced(text, starts[number], starts[number + 1], "")
        return _spliced(text, _end_of(text, within.value[number - 1]), _end(text, found.node), "")
    if found.key is None:
        start, end = _chunk(text, within, number)
        return _spliced(text, start, end, "")
    start = found.key.start_mark.index
    if text[_line_start(text, start) : start].strip():  # behind the dash of an item
        return _spliced(text, start, within.value[number + 1][0].start_mark.index, "")
    end = _line_end(text, _end(text, found.node))
    return _spliced(text, _line_start(text, start), end, "")


def insert(text: str, path: KeyPath, number: int, value: Any) -> str:
    """The text with another item in a list, which is made if it is not there.

    Args:
        path: to the list.
        number: of the new item.
        value: plain.

    Raises:
        EditError: it is no list.
    """
    found = _find(composed(text), path)
    if found is None or (isinstance(found.node, yaml.ScalarNode) and not found.node.value):
        return put(text, path, [value])
    within = found.node
    if not isinstance(within, yaml.SequenceNode):
        raise EditError(f"{_words(path)}: found no list to put something into")
    items, item = within.value, _flow(value)
    if not items:
        return _spliced(text, *_span(text, within), f"[{item}]")
    if within.flow_style:
        if number < len(items):
            at = items[number].start_mark.index
            return _spliced(text, at, at, f"{item}, ")
        at = _end(text, items[-1])
        return _spliced(text, at, at, f", {item}")
    indent = " " * within.start_mark.column
    if number < len(items):
        at = _above_comments(text, within, number)
    else:
        at = _chunk(text, within, len(items) - 1)[1]
    start = "" if not at or text[at - 1] == "\n" else "\n"
    return _spliced(text, at, at, f"{start}{indent}- {item}\n")


def move(text: str, path: KeyPath, number: int, to: int) -> str:
    """The text with an item of a list, and the comment above it, in another place there.

    Args:
        path: to the list.
        number: of the item, before and after.

    Raises:
        EditError: it is no list, or has no such item.
    """
    within = _found(text, path).node
    if not isinstance(within, yaml.SequenceNode) or max(number, to) >= len(within.value):
        raise EditError(f"{_words(path)}: found no such item")
    if number == to:
        return text
    if within.flow_style:
        parts = [text[slice(*_span(text, item))] for item in within.value]
        spans = [_span(text, item) for item in within.value]
        parts.insert(to, parts.pop(number))
        for (start, end), part in zip(reversed(spans), reversed(parts), strict=True):
            text = _spliced(text, start, end, part)
        return text
    starts = [_above_comments(text, within, n) for n in range(len(within.value))]
    end = _chunk(text, within, len(within.value) - 1)[1]
    body = text[starts[0] : end]
    ended = body if body.endswith("\n") else f"{body}\n"
    cuts = [start - starts[0] for start in starts] + [len(ended)]
    chunks = [ended[a:b] for a, b in pairwise(cuts)]
    chunks.insert(to, chunks.pop(number))
    return _spliced(text, starts[0], end, "".join(chunks))


def put_rows(text: str, path: KeyPath, rows: list[str]) -> str:
    """The text with the rows of a map, each on a line of its own.

    Raises:
        EditError: as for `put`.
    """
    found = _find(composed(text), path)
    if found is None:
        return put_rows(put(text, path, "."), path, rows)
    within = found.within
    if within.flow_style:
        return put(text, path, "\n".join(rows))
    column = found.key.start_mark.column if found.key else within.start_mark.column
    return _spliced(text, *_span(text, found.node), _rows(rows, column, _remark(text, found.node)))


def is_remarked(text: str, path: KeyPath) -> bool:
    """Whether a comment stands behind a value, in its line."""
    found = _found(text, path)
    end = _end(text, found.node)
    return text[end : _line_end(text, end)].lstrip(" ,}]").startswith("#")


# ---- where things are ------------------------------------------------------------------------


def _find(root: yaml.Node, path: KeyPath) -> _Entry | None:
    found, node = None, root
    for step in path:
        found = _inside(node, step)
        if found is None:
            return None
        node = found.node
    return found


def _inside(node: yaml.Node, step: str | int) -> _Entry | None:
    if isinstance(node, yaml.MappingNode):
        for number, (key, value) in enumerate(node.value):
            if key.value == str(step):
                return _Entry(value, node, key, number)
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return _Entry(node.value[step], node, None, step)
    return None


def _found(text: str, path: KeyPath) -> _Entry:
    found = _find(composed(text), path)
    if found is None:
        raise EditError(f"{_words(path)}: there is nothing")
    return found


def _start(part: Any) -> int:
    """Of an item, or of an entry (key, value)."""
    first = part[0] if isinstance(part, tuple) else part
    return int(first.start_mark.index)


def _end_of(text: str, part: Any) -> int:
    return _end(text, part[1] if isinstance(part, tuple) else part)


def _end(text: str, node: yaml.Node) -> int:
    """Behind the last letter of a value; YAML's own marks are behind what follows a block."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        return _end_of(text, node.value[-1])
    end = int(node.end_mark.index)
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        start = int(node.start_mark.index)
        return start + len(text[start:end].rstrip("\n"))
    return end


def _span(text: str, node: yaml.Node) -> tuple[int, int]:
    return int(node.start_mark.index), _end(text, node)


def _chunk(text: str, within: yaml.CollectionNode, number: int) -> tuple[int, int]:
    """The lines of an item of a list whose items have dashes."""
    start = int(within.value[number].start_mark.index)
    return _line_start(text, start), _line_end(text, _end(text, within.value[number]))


def _above_comments(text: str, within: yaml.CollectionNode, number: int) -> int:
    """Where the comment above an item begins, or the item; that above the first is the list's."""
    start, indent = _chunk(text, within, number)[0], within.start_mark.column
    while number and (above := _line_start(text, start - 1)) < start:
        line = text[above:start]
        if not line.strip().startswith("#") or len(line) - len(line.lstrip()) < indent:
            break
        start = above
    return start


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, max(0, at)) + 1


def _line_end(text: str, at: int) -> int:
    """Behind the line break."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


# ---- what is written -------------------------------------------------------------------------


def _replaced(text: str, found: _Entry, value: Any) -> str:
    start, end = _span(text, found.node)
    style = found.node.style if isinstance(found.node, yaml.ScalarNode) else None
    column = found.key.start_mark.column if found.key else found.within.start_mark.column
    is_long = isinstance(value, str) and (style == ">" or len(value) > _WIDTH)
    written = _block(value, column) if is_long and not found.within.flow_style else _flow(value)
    space = " " if start == end and not text[:start].endswith(" ") else ""
    if remark := _remark(text, found.node):
        sign, line_break, rest = written.partition("\n")
        written = f"{sign}{remark}{line_break}{rest}"
    return _spliced(text, start, end, space + written)


def _line(key: str, value: Any, indent: int) -> str:
    """An entry on a line of its own, or on several."""
    said, written = _flow(key), _block(value, indent)
    space = "" if written.startswith("\n") else " "
    return f"{' ' * indent}{said}:{space}{written}\n"


def _block(value: Any, indent: int) -> str:
    """A value behind a key of a block that is indented so far."""
    inner = " " * (indent + _STEP)
    if isinstance(value, str) and len(value) > _WIDTH and "\n" not in value:
        lines = textwrap.wrap(value, _WIDTH - len(inner), break_long_words=False)
        return f">\n{textwrap.indent(chr(10).join(lines), inner)}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "".join(f"\n{inner}- {_flow(item)}" for item in value)
    if isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        return "".join(f"\n{inner}{_flow({key: part})[1:-1]}" for key, part in value.items())
    return _flow(value)


def _remark(text: str, node: yaml.Node) -> str:
    """The comment behind the sign of a text over several lines."""
    if not isinstance(node, yaml.ScalarNode) or node.style not in ("|", ">"):
        return ""
    start = int(node.start_mark.index)
    _, mark, says = text[start : _line_end(text, start)].rstrip().partition("#")
    return f"  {mark}{says}" if mark else ""


def _rows(rows: list[str], indent: int, remark: str) -> str:
    inner = " " * (indent + _STEP)
    sign = (f"|{_STEP}" if rows[0].startswith(" ") else "|") + remark
    return f"{sign}\n" + "\n".join(f"{inner}{row}" for row in rows)


def _flow(value: Any) -> str:
    """A value in one line, as it may stand within brackets."""
    options: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "width": 10**6}
    whole = yaml.dump([value], Dumper=_Dumper, allow_unicode=True, **options)
    return str(whole.strip()[1:-1])


class _Dumper(yaml.SafeDumper):
    """Repeats what is the same, in place of anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _spliced(text: str, start: int, end: int, part: str) -> str:
    return text[:start] + part + text[end:]


def _newline(text: str) -> str:
    return "" if not text or text.endswith("\n") else "\n"


def _words(path: KeyPath) -> str:
    return ".".join(map(str, path))
