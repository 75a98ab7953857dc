"""Text buffer of one file with undo history and change-on-disk detection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gv_engine.editor.yaml_text import EditError, compose_yaml
from gv_engine.scenario.document import MAX_SCENARIO_BYTES
from gv_engine.scenario.fields import ErrorCollector, FieldError, decode_utf8
from gv_engine.scenario.files import atomic_write, format_bytes, read_bytes
from gv_engine.session.file_watch import Watch


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
        self.text, self.file = _with_final_newline(text.replace("\r\n", "\n")), file
        self._line_break = "\r\n" if "\r\n" in text else "\n"
        self._saved = self.text if is_saved else None
        self._undo_stack: list[str] = []
        self._redo_stack: list[str] = []
        self._stroke: object = None
        self._watch = Watch([file] if file else [])

    @classmethod
    def load(cls, file: Path) -> TextBuffer:
        """Return a buffer of a file's text.

        Raises:
            OSError: the file cannot be read.
            EditError: the file is no text.
        """
        return cls(_read_text(file), file, is_saved=True)

    @property
    def is_changed(self) -> bool:
        """True if the text differs from the last saved text."""
        return self.text != self._saved

    @property
    def is_edited(self) -> bool:
        """True if there are unsaved edits."""
        return self.is_changed and bool(self._undo_stack or self._redo_stack)

    def edit(self, change: Callable[[str], str], stroke: object = None) -> bool:
        """Apply a change to the text, as a step that can be undone.

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
            most = format_bytes(MAX_SCENARIO_BYTES)
            raise EditError(f"scenario files are at most {most}, and this would be larger")
        if stroke is None or stroke != self._stroke:
            self._undo_stack.append(self.text)
        self._stroke = stroke
        self.text = text
        self._redo_stack.clear()
        return True

    def undo(self) -> bool:
        """Undo an edit; False if there is none."""
        return self._step(self._undo_stack, self._redo_stack)

    def redo(self) -> bool:
        """Redo an edit; False if there is none."""
        return self._step(self._redo_stack, self._undo_stack)

    def _step(self, source: list[str], other: list[str]) -> bool:
        """Move a text from the `source` stack into the buffer and the current text onto `other`;
        False if `source` is empty."""
        if not source:
            return False
        other.append(self.text)
        self.text, self._stroke = source.pop(), None
        return True

    # ---- the file ------------------------------------------------------------------------

    def save(self, file: Path | None = None) -> Path:
        """Write the text to the file, and return the file.

        Args:
            file: new file; by default the old one.

        Raises:
            OSError: the file cannot be written, and is unchanged.
            ValueError: no file is set.
        """
        target = file or self.file
        if target is None:
            raise ValueError("a new file needs a name")
        with atomic_write(target) as draft:
            draft.write_bytes(self.text.replace("\n", self._line_break).encode())
        self.file, self._saved = target, self.text
        self._watch = Watch([target])
        return target

    @property
    def has_disk_changes(self) -> bool:
        """True if the file has changed since the buffer read or wrote it."""
        return self.file is not None and self._watch.differs([self.file])

    def accept_disk_version(self) -> None:
        """Ignore the changes of the file so far."""
        self._watch = Watch([self.file] if self.file else [])

    def load_from_disk(self) -> None:
        """Replace the text by that of the file, as a step that can be undone.

        Raises:
            OSError: the file cannot be read.
            EditError: the file is no text, or no YAML.
        """
        assert self.file
        watch = Watch([self.file])
        text = _with_final_newline(_read_text(self.file).replace("\r\n", "\n"))
        self.edit(lambda _: text)
        self._watch, self._saved = watch, text


def _read_text(file: Path) -> str:
    """Return the text of a file.

    Raises:
        OSError: the file cannot be read.
        EditError: the file is no text.
    """
    try:
        return decode_utf8(read_bytes(file, MAX_SCENARIO_BYTES, "scenario files"))
    except FieldError as error:
        problems = ErrorCollector(str(file))
        raise EditError(str(problems.error_with(error))) from None


def _with_final_newline(text: str) -> str:
    """Return a text that ends with a newline, unless it is empty."""
    return text if text.endswith("\n") or not text else f"{text}\n"
