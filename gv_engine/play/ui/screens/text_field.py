"""Text field of one line with caret, selection and clipboard."""

from __future__ import annotations

import re

from gv_engine.play.ui.drawing.sprites import Rect, clipped
from gv_engine.play.ui.drawing.widgets import Painter
from gv_engine.play.ui.screens.keyboard import copy_to_clipboard, paste_from_clipboard

_WORD = re.compile(r"\w+")
_SIZE = 1.1  # of the text, in lines


class TextField:
    """Text that the user edits; first all of it is selected, so that typing replaces it.

    Args:
        text: initial text.
        letters: allowed letters; empty for all.
        max_length: largest number of characters.

    Attributes:
        text: current text.
        caret: index of the character after the caret.
    """

    def __init__(self, text: str, letters: str = "", max_length: int = 4000) -> None:
        self.text, self.caret = text, len(text)
        self._anchor = 0  # where the selection begins that ends at the caret
        self._letters, self._max_length = letters, max_length
        self._scroll = 0

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
        fitting = "".join(c for c in text if c.isprintable() and c in (self._letters or text))
        start, end = self.selection
        room = self._max_length - len(self.text) + end - start
        if fitting := fitting[: max(0, room)]:
            self._replace(start, end, fitting)

    def run_command(self, name: str) -> str | None:
        """Run the command `name` of the groups `text` and `menu`; return an error message or "", or
        None for another command."""
        caret, (start, end) = self.caret, self.selection
        places = {"left": caret - 1, "right": caret + 1, "first": 0, "last": len(self.text)}
        places |= {"word_left": self._word_left(), "word_right": self._word_right()}
        backward = {"erase": "left", "erase_word": "word_left"}
        deletions = {**backward, "delete": "right", "delete_word": "word_right"}
        if name == "select_all":
            self._move(len(self.text))
            self._anchor = 0
        elif name in ("left", "right") and start < end:
            self._move(start if name == "left" else end)
        elif name.removeprefix("select_") in places:
            place = places[name.removeprefix("select_")]
            self._move(place, keeps_anchor=name.startswith("select_"))
        elif name in deletions:
            if start == end:
                start, end = sorted((caret, places[deletions[name]]))
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

    def _word_left(self) -> int:
        starts = [match.start() for match in _WORD.finditer(self.text)]
        return max((start for start in starts if start < self.caret), default=0)

    def _word_right(self) -> int:
        ends = [match.end() for match in _WORD.finditer(self.text)]
        return min((end for end in ends if end > self.caret), default=len(self.text))

    def _move(self, place: int, keeps_anchor: bool = False) -> None:
        self.caret = max(0, min(len(self.text), place))
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
        first, last = (painter.text_width(self.text[:i], _SIZE) for i in self.selection)
        caret = painter.text_width(self.text[: self.caret], _SIZE)
        self._scroll = max(caret - inner.w + 2, min(self._scroll, caret))
        x = inner.x - self._scroll
        selected = "outline", first, last - first
        with clipped(painter.surface, inner.inflate(4, 0)):
            for color, left, width in (selected, ("accent", caret, max(2, line // 10))):
                painter.surface.fill(painter.color(color), (x + left, inner.y, width, inner.h))
            whole = Rect(x, inner.y, painter.text_width(self.text, _SIZE) + line, inner.h)
            painter.draw_text(whole, self.text, size=_SIZE)

        def press(position: tuple[int, int]) -> None:
            widths = [painter.text_width(self.text[:i], _SIZE) for i in range(len(self.text) + 1)]
            self._move(min(range(len(widths)), key=lambda i: abs(widths[i] - position[0] + x)))

        painter.add_hit_area(rect, press)
