"""A file while it is edited: what it says now, every step of that, and what is on the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gv_engine.editor.yaml_text import EditError, composed
from gv_engine.scenario.document import MAX_SCENARIO_BYTES
from gv_engine.scenario.fields import ErrorCollector, FieldError, decode_utf8
from gv_engine.scenario.files import atomic_write, format_bytes, read_bytes
from gv_engine.session.file_watch import Watch


class TextBuffer:
    """The text of a file, edited step by step; all steps can be undone and done again.

    Args:
        text: what it says at first.
        file: where it is saved; None as long as nobody has said where.
        is_saved: whether the file says so already.

    Attributes:
        text: what it says now.
        file: where it is saved.
    """

    def __init__(self, text: str, file: Path | None = None, is_saved: bool = False) -> None:
        self.text, self.file = _with_end(text.replace("\r\n", "\n")), file
        self._breaks = "\r\n" if "\r\n" in text else "\n"
        self._saved = self.text if is_saved else None
        self._before: list[str] = []
        self._after: list[str] = []
        self._stroke: object = None
        self._watch = Watch([file] if file else [])

    @classmethod
    def of(cls, file: Path) -> TextBuffer:
        """The manuscript of a file.

        Raises:
            OSError: it cannot be read.
            EditError: it is no text.
        """
        return cls(_text_of(file), file, is_saved=True)

    @property
    def is_changed(self) -> bool:
        """Whether it says something else than when it was saved last."""
        return self.text != self._saved

    @property
    def is_edited(self) -> bool:
        """Whether something was done here that is not saved."""
        return self.is_changed and bool(self._before or self._after)

    def edit(self, change: Callable[[str], str], stroke: object = None) -> bool:
        """Change the text.

        Args:
            change: makes the new text of the old one.
            stroke: steps that follow each other with the same one are undone together.

        Returns:
            Whether it says something else now.

        Raises:
            EditError: the change cannot be made; all is as it was.
        """
        text = change(self.text)
        if text == self.text:
            return False
        composed(text)
        if len(text.encode()) > MAX_SCENARIO_BYTES:
            most = format_bytes(MAX_SCENARIO_BYTES)
            raise EditError(f"scenario files are at most {most}, and this would be larger")
        if stroke is None or stroke != self._stroke:
            self._before.append(self.text)
        self._stroke = stroke
        self.text = text
        self._after.clear()
        return True

    def undo(self) -> bool:
        """Take a step back; False if there is none."""
        return self._step(self._before, self._after)

    def redo(self) -> bool:
        """Take a step that was undone; False if there is none."""
        return self._step(self._after, self._before)

    def _step(self, source: list[str], other: list[str]) -> bool:
        if not source:
            return False
        other.append(self.text)
        self.text, self._stroke = source.pop(), None
        return True

    # ---- the file ------------------------------------------------------------------------

    def save(self, file: Path | None = None) -> Path:
        """Write the file.

        Args:
            file: another one than so far.

        Raises:
            OSError: it cannot be written, and is as it was.
            ValueError: nobody has said where.
        """
        target = file or self.file
        if target is None:
            raise ValueError("a new file needs a name")
        with atomic_write(target) as draft:
            draft.write_bytes(self.text.replace("\n", self._breaks).encode())
        self.file, self._saved = target, self.text
        self._watch = Watch([target])
        return target

    @property
    def differs(self) -> bool:
        """Whether the file is no longer as it was read or written here."""
        return self.file is not None and self._watch.differs([self.file])

    def remember(self) -> None:
        """What the file says now is known: it differs no more until somebody writes it again."""
        self._watch = Watch([self.file] if self.file else [])

    def take(self) -> None:
        """Take what the file says now, as a step that can be undone.

        Raises:
            OSError: it cannot be read.
            EditError: it is no text, or no YAML.
        """
        assert self.file
        watch = Watch([self.file])
        text = _with_end(_text_of(self.file).replace("\r\n", "\n"))
        self.edit(lambda _: text)
        self._watch, self._saved = watch, text


def _text_of(file: Path) -> str:
    try:
        return decode_utf8(read_bytes(file, MAX_SCENARIO_BYTES, "scenario files"))
    except FieldError as wrong:
        problems = ErrorCollector(str(file))
        raise EditError(str(problems.error_with(wrong))) from None


def _with_end(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"
