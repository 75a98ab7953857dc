r"""Text buffer of one file with undo history and change-on-disk detection, and edits of YAML text.

Edits of YAML keep everything else: comments, blank lines, quotes and layout.

Libraries that load and dump YAML change the layout, and lose the comment after a removed item. Here
each edit replaces part of the text, at places that PyYAML reports.

>>> text = "rules: [move, turn]  # in this order\n"
>>> put(text, ("rules", 1), {"name": "push", "by": 2})
'rules: [move, {name: push, by: 2}]  # in this order\n'
>>> insert(text, ("rules",), 0, "look")
'rules: [look, move, turn]  # in this order\n'
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gv_engine.play.session.timeline import Watch
from gv_engine.rules.errors import GVEngineError
from gv_engine.scenario.documents.document import MAX_SCENARIO_BYTES
from gv_engine.scenario.storage.files import format_bytes, read_bytes, write_file
from gv_engine.scenario.syntax.fields import ErrorCollector, FieldError
from gv_engine.scenario.syntax.yaml_parser import decode_utf8

KeyPath = tuple[str | int, ...]
"""Path to a value: keys of mappings, indices of lists."""

_WIDTH = 96  # characters in a line of folded text
_INDENT = 2  # spaces of indentation


class EditError(GVEngineError):
    """Error of an edit that is not possible; the message names the reason."""


class _Loader(yaml.SafeLoader):
    """YAML loader that keeps the place of each alias."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Override of PyYAML's method. An alias such as `*name` becomes a scalar node with its own
        position in the text, instead of the node that it refers to."""
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]  # its stubs lack it
            return yaml.ScalarNode("!alias", event.anchor, event.start_mark, event.end_mark)
        compose_yaml: yaml.Node | None = super().compose_node(parent, index)
        return compose_yaml


class _Entry(NamedTuple):
    """Value in a collection, with its key (None in a list) and its index there."""

    node: yaml.Node
    collection: yaml.CollectionNode
    key: yaml.Node | None
    position: int

    @property
    def column(self) -> int:
        """Indentation of the key, or of the list."""
        return int((self.key or self.collection).start_mark.column)


@lru_cache(maxsize=8)
def compose_yaml(text: str) -> yaml.MappingNode:
    """Return the YAML node tree of `text`, in which every node has its position in the text. It is
    cached and must not be changed.

    Raises:
        EditError: the text is no YAML, or no mapping.
    """
    try:
        root = yaml.compose(text, Loader=_Loader) or yaml.MappingNode("tag:yaml.org,2002:map", [])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or error
        raise EditError(f"not valid YAML: {line}{problem}") from None
    if not isinstance(root, yaml.MappingNode):
        raise EditError("found no mapping; a scenario file has keys and values")
    return root


def has_value(text: str, path: KeyPath) -> bool:
    """Return whether the YAML `text` has a value at the key path `path`."""
    return _find_entry(compose_yaml(text), path) is not None


def read_scalar(text: str, path: KeyPath) -> str | None:
    """Return the scalar at the key path `path` in the YAML `text` as a string without quotes; None
    if there is none."""
    entry = _find_entry(compose_yaml(text), path)
    return entry.node.value if entry and isinstance(entry.node, yaml.ScalarNode) else None


def list_length(text: str, path: KeyPath) -> int:
    """Return the number of items of the list at the key path `path` in the YAML `text`; 0 if there
    is no list."""
    entry = _find_entry(compose_yaml(text), path)
    return len(entry.node.value) if entry and isinstance(entry.node, yaml.SequenceNode) else 0


def put(text: str, path: KeyPath, value: Any, after: str = "") -> str:
    """Return the YAML `text` with the value at the key path `path` set to `value`. A new key is
    added behind the key `after` if that exists, else at the end of its mapping.

    Args:
        path: path to the value; missing mappings are added.
        value: plain mapping, list or scalar.
        after: key to add a new key behind, if it exists.

    Raises:
        EditError: the parent has no keys.
    """
    root = compose_yaml(text)
    entry = _find_entry(root, path)
    if entry:
        return _replace_value(text, entry, value)
    *parent_path, key = path
    parent = _find_entry(root, tuple(parent_path)) if parent_path else None
    if parent_path and parent is None:
        return put(text, tuple(parent_path), {key: value}, after)
    node = parent.node if parent else root
    if not isinstance(node, yaml.MappingNode) or isinstance(key, int):
        raise EditError(f"{format_key_path(path)}: nothing can be put there")
    if node.flow_style and (node.value or parent):
        item = _format_flow({key: value})[1:-1]
        if not node.value:
            return _splice(text, *_span(text, node), f"{{{item}}}")
        end = _end(text, node.value[-1])
        return _splice(text, end, end, f", {item}")
    if not node.value:  # an empty file
        newline = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{newline}{_format_entry(key, value, 0)}"
    previous = next((pair for pair in node.value if pair[0].value == after), node.value[-1])
    end = _line_end(text, _end(text, previous))
    line = _format_entry(key, value, node.value[0][0].start_mark.column)
    if end == len(text) and not text.endswith("\n"):
        return f"{text}\n{line}"
    return _splice(text, end, end, line)


def remove(text: str, path: KeyPath) -> str:
    """Return the YAML `text` without the key or list item at the key path `path`, such as
    `("objects", 2)`.

    Raises:
        EditError: there is none, or it is the last key of the file.
    """
    entry = _require_entry(text, path)
    collection, index = entry.collection, entry.position
    items = collection.value
    if len(items) == 1:
        if not collection.start_mark:  # the only key of a file
            raise EditError(f"{format_key_path(path)}: the last key of a file stays")
        start, end = _span(text, collection)
        head = text[:start].rstrip()
        space = " " if head.endswith((":", "-", ",")) else ""
        return f"{head}{space}{'[]' if entry.key is None else '{}'}{text[end:]}"
    if collection.flow_style:
        if index + 1 < len(items):
            return _splice(text, _start(items[index]), _start(items[index + 1]), "")
        return _splice(text, _end(text, items[index - 1]), _end(text, entry.node), "")
    if entry.key is None:
        return _splice(text, *_item_lines(text, collection, index), "")
    start = _start(entry.key)
    line_start = _line_start(text, start)
    if text[line_start:start].strip():  # behind the dash of a list item
        return _splice(text, start, _start(items[index + 1]), "")
    return _splice(text, line_start, _line_end(text, _end(text, entry.node)), "")


def insert(text: str, path: KeyPath, index: int, value: Any) -> str:
    """Return the YAML `text` with `value` inserted as item `index` of the list at the key path
    `path`; a missing list is added.

    Args:
        path: path to the list.
        index: index of the new item.
        value: plain value.

    Raises:
        EditError: the value at the path is no list.
    """
    entry = _find_entry(compose_yaml(text), path)
    if entry is None or (isinstance(entry.node, yaml.ScalarNode) and not entry.node.value):
        return put(text, path, [value])
    sequence = entry.node
    if not isinstance(sequence, yaml.SequenceNode):
        raise EditError(f"{format_key_path(path)}: found no list to put something into")
    items, item = sequence.value, _format_flow(value)
    if not items:
        return _splice(text, *_span(text, sequence), f"[{item}]")
    is_last = index >= len(items)
    if sequence.flow_style:
        position = _end(text, items[-1]) if is_last else _start(items[index])
        return _splice(text, position, position, f", {item}" if is_last else f"{item}, ")
    if is_last:
        _, position = _item_lines(text, sequence, len(items) - 1)
    else:
        position = _item_start(text, sequence, index)
    newline = "\n" if position and text[position - 1] != "\n" else ""
    indent = " " * sequence.start_mark.column
    return _splice(text, position, position, f"{newline}{indent}- {item}\n")


def duplicate(text: str, path: KeyPath, index: int) -> str:
    """Return the YAML `text` with a copy of item `index` of the list at the key path `path` behind
    the item.

    Raises:
        EditError: there is no such item.
    """
    entry = _require_entry(text, (*path, index))
    if entry.collection.flow_style:
        start, end = _span(text, entry.node)
        return _splice(text, end, end, f", {text[start:end]}")
    start, end = _item_lines(text, entry.collection, index)
    newline = "" if text[end - 1] == "\n" else "\n"
    return _splice(text, end, end, newline + text[start:end])


def move(text: str, path: KeyPath, index: int, new_index: int) -> str:
    """Return the YAML `text` with item `index` of the list at the key path `path` moved to
    `new_index`, with the comment above it.

    Args:
        path: path to the list.
        index, new_index: old and new index.

    Raises:
        EditError: the value at the path is no list, or has no such item.
    """
    sequence = _require_entry(text, path).node
    if not isinstance(sequence, yaml.SequenceNode) or max(index, new_index) >= len(sequence.value):
        raise EditError(f"{format_key_path(path)}: found no such item")
    if index == new_index:
        return text
    if sequence.flow_style:
        spans = [_span(text, item) for item in sequence.value]
        items = [text[start:end] for start, end in spans]
        items.insert(new_index, items.pop(index))
        for (start, end), item in zip(reversed(spans), reversed(items), strict=True):
            text = _splice(text, start, end, item)
        return text
    starts = [_item_start(text, sequence, k) for k in range(len(sequence.value))]
    _, end = _item_lines(text, sequence, len(sequence.value) - 1)
    if not text[:end].endswith("\n"):
        text, end = f"{text}\n", end + 1
    items = [text[start:stop] for start, stop in pairwise([*starts, end])]
    items.insert(new_index, items.pop(index))
    return _splice(text, starts[0], end, "".join(items))


def put_rows(text: str, path: KeyPath, rows: list[str]) -> str:
    """Return the YAML `text` with the level map at the key path `path` replaced by `rows`, written
    as a block with one line per row.

    Raises:
        EditError: as for `put`.
    """
    entry = _find_entry(compose_yaml(text), path)
    if entry is None:
        return put_rows(put(text, path, "."), path, rows)
    if entry.collection.flow_style:
        return put(text, path, "\n".join(rows))
    comment = _find_block_scalar_comment(text, entry.node)
    return _splice(text, *_span(text, entry.node), _format_rows(rows, entry.column, comment))


def has_comment(text: str, path: KeyPath) -> bool:
    """Return True if a comment follows the value at the key path `path` on the same line of the
    YAML `text`."""
    end = _end(text, _require_entry(text, path).node)
    return text[end : _line_end(text, end)].lstrip(" ,}]").startswith("#")


# ---- places ---------------------------------------------------------------------------------


def _find_entry(root: yaml.Node, path: KeyPath) -> _Entry | None:
    """Return the entry at a key path below a YAML node: the value with its key and its list or
    mapping. None if there is none."""
    entry, node = None, root
    for key in path:
        entry = _find_child_entry(node, key)
        if entry is None:
            return None
        node = entry.node
    return entry


def _find_child_entry(node: yaml.Node, key: str | int) -> _Entry | None:
    """Return the entry of a YAML mapping or list at `key`, which is a key or a list index. None if
    there is none."""
    if isinstance(node, yaml.MappingNode):
        for index, (key_node, value) in enumerate(node.value):
            if key_node.value == str(key):
                return _Entry(value, node, key_node, index)
    elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return _Entry(node.value[key], node, None, key)
    return None


def _require_entry(text: str, path: KeyPath) -> _Entry:
    """Return the entry at a key path in a YAML text: the value with its key and its list or
    mapping. Raise an error if there is none.

    Raises:
        EditError: there is none.
    """
    entry = _find_entry(compose_yaml(text), path)
    if entry is None:
        raise EditError(f"{format_key_path(path)}: there is nothing")
    return entry


def _start(part: Any) -> int:
    """Return the index in the text of the first character of `part`, a YAML node or a (key, value)
    pair of nodes."""
    node = part[0] if isinstance(part, tuple) else part
    return int(node.start_mark.index)


def _end(text: str, part: Any) -> int:
    """Return the index in `text` just after a YAML node, or after a (key, value) pair of nodes.
    Blank lines that follow are not included, unlike with PyYAML's end mark."""
    node: yaml.Node = part[1] if isinstance(part, tuple) else part
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        return _end(text, node.value[-1])
    end = int(node.end_mark.index)
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return len(text[:end].rstrip("\n"))
    return end


def _span(text: str, node: yaml.Node) -> tuple[int, int]:
    return _start(node), _end(text, node)


def _item_lines(text: str, sequence: yaml.CollectionNode, index: int) -> tuple[int, int]:
    start, end = _span(text, sequence.value[index])
    return _line_start(text, start), _line_end(text, end)


def _item_start(text: str, sequence: yaml.CollectionNode, index: int) -> int:
    """Return the index in `text` where item `index` of the list `sequence` begins, including a
    comment above the item; a comment above the first item is not included."""
    start, indent = _item_lines(text, sequence, index)[0], sequence.start_mark.column
    # no line of the item before, as a row of a map may look like a comment
    lowest = _item_lines(text, sequence, index - 1)[1] if index else start
    while lowest <= (line_start := _line_start(text, start - 1)) < start:
        line = text[line_start:start]
        if not line.strip().startswith("#") or len(line) - len(line.lstrip()) < indent:
            break
        start = line_start
    return start


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, max(0, position)) + 1


def _line_end(text: str, position: int) -> int:
    line_break = text.find("\n", position)
    return len(text) if line_break < 0 else line_break + 1


# ---- formatting -----------------------------------------------------------------------------


def _replace_value(text: str, entry: _Entry, value: Any) -> str:
    """Return the YAML `text` with the value of `entry` replaced by `value`."""
    start, end = _span(text, entry.node)
    style = entry.node.style if isinstance(entry.node, yaml.ScalarNode) else None
    is_long = isinstance(value, str) and (style == ">" or len(value) > _WIDTH)
    is_block = is_long and not entry.collection.flow_style
    new_text = _format_block(value, entry.column) if is_block else _format_flow(value)
    space = " " if start == end and not text[:start].endswith(" ") else ""
    if comment := _find_block_scalar_comment(text, entry.node):
        first_line, newline, other_lines = new_text.partition("\n")
        new_text = f"{first_line}{comment}{newline}{other_lines}"
    return _splice(text, start, end, space + new_text)


def _format_entry(key: str, value: Any, indent: int) -> str:
    value_text = _format_block(value, indent)
    space = "" if value_text.startswith("\n") else " "
    return f"{' ' * indent}{_format_flow(key)}:{space}{value_text}\n"


def _format_block(value: Any, indent: int) -> str:
    """Return `value` as YAML text that can follow a key indented by `indent` spaces; long texts,
    lists of mappings and nested mappings take several lines."""
    inner = " " * (indent + _INDENT)
    if isinstance(value, str) and len(value) > _WIDTH and "\n" not in value:
        lines = textwrap.wrap(value, _WIDTH - len(inner), break_long_words=False)
        return f">\n{textwrap.indent(chr(10).join(lines), inner)}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "".join(f"\n{inner}- {_format_flow(item)}" for item in value)
    if isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        return "".join(f"\n{inner}{_format_flow({key: part})[1:-1]}" for key, part in value.items())
    return _format_flow(value)


def _find_block_scalar_comment(text: str, node: yaml.Node) -> str:
    """Return the comment on the first line of a YAML block scalar (`| # comment`), with two spaces
    and its `#` in front; "" if there is none."""
    if not isinstance(node, yaml.ScalarNode) or node.style not in ("|", ">"):
        return ""
    start = _start(node)
    _, mark, comment = text[start : _line_end(text, start)].rstrip().partition("#")
    return f"  {mark}{comment}" if mark else ""


def _format_rows(rows: list[str], indent: int, comment: str) -> str:
    """Return `rows` as a YAML block scalar, with `comment` behind its sign."""
    inner = " " * (indent + _INDENT)
    sign = f"|{_INDENT}" if rows[0].startswith(" ") else "|"
    return f"{sign}{comment}\n" + "\n".join(f"{inner}{row}" for row in rows)


def _format_flow(value: Any) -> str:
    """Return `value` as YAML in one line."""
    options: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "width": 10**6}
    # in a list, as some scalars would get the end mark of a document
    list_text = yaml.dump([value], Dumper=_Dumper, allow_unicode=True, **options)
    return str(list_text.strip().removeprefix("[").removesuffix("]"))


class _Dumper(yaml.SafeDumper):
    """YAML dumper that repeats equal values in place of anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _splice(text: str, start: int, end: int, part: str) -> str:
    return text[:start] + part + text[end:]


def format_key_path(path: KeyPath) -> str:
    """Return a key path as error messages show it, such as `reward_functions[0].name`."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


class TextBuffer:
    """Text of a file with undo and redo.

    Args:
        text: initial text.
        file: file to save to; None if the user has not chosen one.
        is_saved: whether the file has this text already.

    Attributes:
        text: current text.
        file: file to save to.
    """

    def __init__(self, text: str, file: Path | None = None, is_saved: bool = False) -> None:
        self.text, self.file = _normalize_newlines(text), file
        self._line_break = "\r\n" if "\r\n" in text else "\n"
        self._saved_text = self.text if is_saved else None
        self._undo_stack: list[str] = []
        self._redo_stack: list[str] = []
        self._stroke: object = None
        self.accept_disk_version()

    @classmethod
    def load(cls, file: Path) -> TextBuffer:
        """Return a buffer with the text of `file`, which counts as saved.

        Raises:
            OSError: the file cannot be read.
            EditError: the file is no text.
        """
        return cls(_read_text(file), file, is_saved=True)

    @property
    def is_unsaved(self) -> bool:
        """True if the text differs from the last saved text, or was never saved."""
        return self.text != self._saved_text

    @property
    def is_edited(self) -> bool:
        """True if the text is unsaved because of edits; False for a new document without edits."""
        return self.is_unsaved and bool(self._undo_stack or self._redo_stack)

    def edit(self, change: Callable[[str], str], stroke: object = None) -> bool:
        """Replace the text by `change(text)`, which can be undone in one step.

        Args:
            change: returns the new text for the old one.
            stroke: consecutive edits with an equal stroke are undone together.

        Returns:
            Whether the text has changed.

        Raises:
            EditError: the change is not possible; the text stays as it was.
        """
        text = change(self.text)
        if text == self.text:
            return False
        compose_yaml(text)
        if len(text.encode()) > MAX_SCENARIO_BYTES:
            limit = format_bytes(MAX_SCENARIO_BYTES)
            raise EditError(f"scenario files are at most {limit}, and this would be larger")
        if stroke is None or stroke != self._stroke:
            self._undo_stack.append(self.text)
        self._stroke = stroke
        self.text = text
        self._redo_stack.clear()
        return True

    def undo(self) -> bool:
        """Undo the last edit; return False if there is none."""
        return self._restore_text(self._undo_stack, self._redo_stack)

    def redo(self) -> bool:
        """Redo the last edit that was undone; return False if there is none."""
        return self._restore_text(self._redo_stack, self._undo_stack)

    def _restore_text(self, source: list[str], target: list[str]) -> bool:
        """Undo or redo: move the last text of the stack `source` into the buffer, and the current
        text onto the stack `target`. Return False if `source` is empty."""
        if not source:
            return False
        target.append(self.text)
        self.text, self._stroke = source.pop(), None
        return True

    # ---- the file ------------------------------------------------------------------------

    def save(self, file: Path | None = None) -> Path:
        """Write the text to `file`, by default the file of the buffer, and return the path written.

        Args:
            file: new file; by default the old one.

        Raises:
            OSError: the file cannot be written, and is unchanged.
            ValueError: no file is set.
        """
        target = file or self.file
        if target is None:
            raise ValueError("a new file needs a name")
        write_file(target, self.text.replace("\n", self._line_break), is_durable=True)
        self.file, self._saved_text = target, self.text
        self.accept_disk_version()
        return target

    @property
    def has_disk_changes(self) -> bool:
        """True if the file has changed since the buffer read or wrote it."""
        return self.file is not None and self._watch.differs([self.file])

    def accept_disk_version(self) -> None:
        """Ignore all changes that other programs have made to the file so far, so that
        `has_disk_changes` is False."""
        self._watch = Watch([self.file] if self.file else [])

    def load_from_disk(self) -> None:
        """Replace the text by the content of the buffer's file, which can be undone.

        Raises:
            OSError: the file cannot be read.
            EditError: the file is no text, or no YAML.
        """
        assert self.file
        watch = Watch([self.file])
        text = _normalize_newlines(_read_text(self.file))
        self.edit(lambda _: text)
        self._watch, self._saved_text = watch, text


def _read_text(file: Path) -> str:
    """Return the UTF-8 text of `file`; raise an error if the file is no text or too large for a
    scenario file.

    Raises:
        OSError: the file cannot be read.
        EditError: the file is no text.
    """
    try:
        return decode_utf8(read_bytes(file, MAX_SCENARIO_BYTES, "scenario files"))
    except FieldError as error:
        raise EditError(str(ErrorCollector(str(file)).error_with(error))) from None


def _normalize_newlines(text: str) -> str:
    text = text.replace("\r\n", "\n")
    return text if text.endswith("\n") or not text else f"{text}\n"
