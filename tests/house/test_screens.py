"""The pictures of `make screens`: drawn the same twice, compared, and without text over text."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gv_engine.play.grid import inspector
from gv_engine.play.grid import stage as grid_stage
from gv_engine.play.ui.drawing import widgets
from gv_engine.play.ui.drawing.sprites import Rect, draw_text_line, pygame
from gv_engine.play.ui.drawing.widgets import Painter
from gv_engine.play.ui.window.app import App
from gv_engine.plugins.algebra import inspector as algebra_inspector
from gv_engine.plugins.algebra import stage as algebra_stage
from tests.screens import SCENES, WINDOWS, Window, compare, draw, sheet

pytestmark = pytest.mark.window


def test_a_change_is_found_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    small = Window((400, 300), 1, "dark")
    drawn = {name: draw(SCENES[name], small) for name in ("tiny", "pause")}
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        for name in drawn:
            (folder / name).mkdir(parents=True)
            draw(SCENES[name], small).save(folder / name / "small.png")
    assert compare(after, before) == 0
    changed = drawn["tiny"].copy()
    changed.putpixel((7, 5), (1, 2, 3))
    changed.save(after / "tiny" / "small.png")
    assert compare(after, before) == 1
    assert capsys.readouterr().out.startswith("tiny/small.png: differs from (7, 5) to (8, 6)\n")
    assert (after / "differences.png").exists()
    assert sheet(drawn).width > 2 * 400


class Text(NamedTuple):
    """A text, and the rectangle of the window that it takes; no words for a card."""

    words: str
    rect: Rect


class Noting(NamedTuple):
    """A surface that notes where a text is drawn."""

    surface: pygame.Surface
    words: str
    texts: list[Text]

    def blit(self, picture: pygame.Surface, target: Rect) -> None:
        seen = target.clip(self.surface.get_clip())
        self.texts.append(Text(self.words, seen.move(self.surface.get_abs_offset())))
        self.surface.blit(picture, target)


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    """The texts and cards of the last picture of a window, without those under a shade."""
    found: list[Text] = []

    def note(surface: Any, rect: Rect, text: str, *more: Any, **named: Any) -> int:
        return draw_text_line(Noting(surface, text, found), rect, text, *more, **named)  # type: ignore[arg-type]  # it has what is used

    def before(owner: type, name: str, react: Callable[..., object]) -> None:
        method = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            react(*arguments)
            return method(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    for module in (widgets, inspector, grid_stage, algebra_inspector, algebra_stage):
        monkeypatch.setattr(module, "draw_text_line", note)
    before(App, "draw_on", lambda *_: found.clear())
    before(Painter, "dim", lambda *_: found.clear())
    before(Painter, "draw_card", lambda _, card, *__: found.append(Text("", card.copy())))
    return found


def overlaps(texts: list[Text]) -> list[tuple[str, str]]:
    """Return the pairs of texts that lie over each other by more than a third of a line, with no
    card between them."""
    found = []
    for (low, one), (high, other) in combinations(enumerate(texts), 2):
        shared = one.rect.clip(other.rect)
        if not (one.words and other.words and shared.w > 2):
            continue
        is_covered = any(not each.words and each.rect.contains(shared) for each in texts[low:high])
        if not is_covered and 3 * shared.h > min(one.rect.h, other.rect.h):
            found.append((one.words, other.words))
    return found


@pytest.mark.parametrize("window", [WINDOWS[1], WINDOWS[3]], ids=lambda window: window.title)
@pytest.mark.parametrize("name", ["start", "keydoor", "together", "won-puzzle", "settings"])
def test_no_text_lies_over_another(name: str, window: Window, texts: list[Text]):
    draw(SCENES[name], window)
    assert len(texts) > 3
    assert overlaps(texts) == []


@pytest.mark.thorough
@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: window.title)
@pytest.mark.parametrize("name", SCENES)
def test_no_text_of_any_screen_lies_over_another(name: str, window: Window, texts: list[Text]):
    draw(SCENES[name], window)
    assert overlaps(texts) == []


def test_overlapping_texts_are_found(texts: list[Text], monkeypatch: pytest.MonkeyPatch):
    def draw_twice(painter: Painter, rect: Rect, _: Any) -> None:
        painter.draw_text(rect, "Keys", align="center")
        painter.draw_text(rect.move(3, rect.h // 3), "Words", align="center")

    monkeypatch.setattr(Painter, "draw_keys", draw_twice)
    draw(SCENES["keydoor"], WINDOWS[3])
    assert overlaps(texts) == [("Keys", "Words")]
