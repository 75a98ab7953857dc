"""The text field of dialogs: caret, selection, words and the clipboard."""

import pytest

from gv_engine.play.ui.screens import text_field
from gv_engine.play.ui.screens.replay import Prompt
from gv_engine.play.ui.screens.text_field import TextField
from tests.desk import Desk

pytestmark = pytest.mark.window


@pytest.fixture
def prompt(desk: Desk) -> Prompt:
    """A dialog about a text of two words."""
    accepted: list[str] = []
    made = Prompt(desk.app, "Name", "A name.", "old cave", accepted.append)
    desk.app.push(made)
    desk.draw()
    return made


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["X"], "x"),  # all is selected at first
        (["Right", "X"], "old cavex"),
        (["Left", "X"], "xold cave"),
        (["Home", "Right", "X"], "oxld cave"),
        (["End", "Left", "X"], "old cavxe"),
        (["Backspace", "X"], "x"),
        (["End", "Backspace"], "old cav"),
        (["Home", "Delete"], "ld cave"),
        (["Home", "Backspace"], "old cave"),
        (["End", "Delete"], "old cave"),
        (["End", "Ctrl+Left", "X"], "old xcave"),
        (["Home", "Ctrl+Right", "X"], "oldx cave"),
        (["End", "Ctrl+Backspace"], "old "),
        (["Home", "Ctrl+Delete"], " cave"),
        (["End", "Shift+Left", "Shift+Left", "X"], "old cax"),
        (["Home", "Shift+End", "X"], "x"),
        (["Home", "Ctrl+Shift+Right", "X"], "x cave"),
        (["Home", "Shift+Right", "Right", "X"], "oxld cave"),
        (["Home", "Ctrl+A", "X"], "x"),
        (["Home", "Ctrl+Right", "Shift+Home", "Ctrl+X", "End", "Ctrl+V"], " caveold"),
        (["Home", "Ctrl+Shift+Right", "Ctrl+C", "End", "Ctrl+V"], "old caveold"),
    ],
    ids=" ".join,
)
def test_keys_edit_as_everywhere(
    desk: Desk, prompt: Prompt, monkeypatch: pytest.MonkeyPatch, keys: list[str], text: str
):
    clipboard: list[str] = [""]

    def copy(text: str) -> str:
        clipboard.append(text)
        return ""

    monkeypatch.setattr(text_field, "copy_to_clipboard", copy)
    monkeypatch.setattr(text_field, "paste_from_clipboard", lambda: clipboard[-1])
    for key in keys:
        if key == "X":
            desk.type("x")
        else:
            desk.press(key)
    assert prompt.field.text == text


def test_a_click_puts_the_caret(desk: Desk, prompt: Prompt):
    painter = desk.app._painter
    assert painter
    area = next(area for area in painter._hit_areas if area.rect.w > 300)
    desk.click((area.rect.x + desk.app._painter.line_height, area.rect.centery))  # type: ignore[union-attr]
    desk.type("x")
    assert prompt.field.text in ("xold cave", "oxld cave")


def test_long_texts_scroll_and_have_an_end(desk: Desk, prompt: Prompt):
    desk.type("word " * 100)
    assert len(prompt.field.text) <= 400
    ends = desk.look()
    desk.press("Home")
    assert (desk.look() != ends).any()
    field = TextField("12", "0123456789")
    field.insert("a3\n4")
    assert field.text == "34"
