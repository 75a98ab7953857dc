"""Text field of one line with caret, selection and clipboard."""

from __future__ import annotations

import re

from gv_engine.play.ui.drawing.sprites import Rect, clipped
from gv_engine.play.ui.drawing.widgets import Painter
from gv_engine.play.ui.screens.keyboard import copy_to_clipboard, paste_from_clipboard

# Commands that delete, with the movement of the caret over what they delete.
_DELETIONS = {
    **{"erase": "left", "erase_word": "word_left"},
    **{"delete": "right", "delete_word": "word_right"},
}
_WORD = re.compile(r"\w+")
_SIZE = 1.1  # of the text, in lines


class TextField:
    """Text that the user edits; first all of it is selected, so that typing replaces it.

    Args:
        text: initial text.
        characters: allowed characters; empty for all.
        max_length: largest number of characters.

    Attributes:
        text: current text.
        caret: index of the character after the caret.
    """

    def __init__(self, text: str, characters: str = "", max_length: int = 4000) -> None:
        self.text, self.caret = text, len(text)
        self._anchor = 0  # where the selection begins that ends at the caret
        self._characters, self._max_length = characters, max_length
        self._scroll = 0  # pixels

    @property
    def selection(self) -> tuple[int, int]:
        """(start, end) indices of the selected characters; `end` is exclusive."""
        return min(self.caret, self._anchor), max(self.caret, self._anchor)

    def set_text(self, text: str) -> None:
        """Replace the whole text by `text`, and put the caret behind it."""
        self.text = text
        self._move(len(text))

    def insert(self, text: str) -> None:
        """Replace the selection with the allowed characters of `text`, up to the maximum length."""
        characters = self._characters or text
        allowed = "".join(c for c in text if c.isprintable() and c in characters)
        start, end = self.selection
        max_inserted = self._max_length - len(self.text) + end - start
        if inserted := allowed[: max(0, max_inserted)]:
            self._replace(start, end, inserted)

    def run_command(self, name: str) -> str | None:
        """Run the command `name` of the groups `text` and `menu`; return an error message or "", or
        None for another command."""
        caret, (start, end) = self.caret, self.selection
        targets = {"left": caret - 1, "right": caret + 1, "first": 0, "last": len(self.text)}
        targets |= {"word_left": self._find_word_left(), "word_right": self._find_word_right()}
        if name == "select_all":
            self._move(len(self.text))
            self._anchor = 0
        elif name in ("left", "right") and start < end:
            self._move(start if name == "left" else end)
        elif name.removeprefix("select_") in targets:
            target = targets[name.removeprefix("select_")]
            self._move(target, keeps_anchor=name.startswith("select_"))
        elif name in _DELETIONS:
            if start == end:
                start, end = sorted((caret, targets[_DELETIONS[name]]))
            self._replace(max(0, start), end, "")
        elif name in ("copy_text", "cut_text"):
            error = copy_to_clipboard(self.text[start:end]) if start < end else ""
            if name == "cut_text" and not error:
                self._replace(start, end, "")
            return error
        elif name == "paste":
            self.insert(paste_from_clipboard())
        else:
            return None
        return ""

    def _find_word_left(self) -> int:
        starts = [match.start() for match in _WORD.finditer(self.text)]
        return max((start for start in starts if start < self.caret), default=0)

    def _find_word_right(self) -> int:
        ends = [match.end() for match in _WORD.finditer(self.text)]
        return min((end for end in ends if end > self.caret), default=len(self.text))

    def _move(self, index: int, keeps_anchor: bool = False) -> None:
        self.caret = max(0, min(len(self.text), index))
        self._anchor = self._anchor if keeps_anchor else self.caret

    def _replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]
        self._move(start + len(text))

    # ---- drawing ---------------------------------------------------------------------

    def draw(self, painter: Painter, rect: Rect) -> None:
        """Draw the text, the selection and the caret into `rect`; a long text scrolls with the
        caret. A click puts the caret."""
        line = painter.line_height
        painter.draw_card(rect, "well")
        painter.draw_outline(rect)
        inner = rect.inflate(-line, -line // 4)

        def offset(index: int) -> int:
            return painter.text_width(self.text[:index], _SIZE)

        start, end, caret = *map(offset, self.selection), offset(self.caret)
        self._scroll = max(caret - inner.w + 2, min(self._scroll, caret))
        x = inner.x - self._scroll
        with clipped(painter.surface, inner.inflate(4, 0)):
            selection_rect = Rect(x + start, inner.y, end - start, inner.h)
            painter.surface.fill(painter.color("outline"), selection_rect)
            caret_rect = Rect(x + caret, inner.y, max(2, line // 10), inner.h)
            painter.surface.fill(painter.color("accent"), caret_rect)
            text_rect = Rect(x, inner.y, offset(len(self.text)) + line, inner.h)
            painter.draw_text(text_rect, self.text, size=_SIZE)

        def press(position: tuple[int, int]) -> None:
            indices = range(len(self.text) + 1)
            self._move(min(indices, key=lambda index: abs(x + offset(index) - position[0])))

        painter.add_hit_area(rect, press)
