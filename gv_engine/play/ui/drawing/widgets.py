"""Painter of the screens: text, cards, buttons and bars, and the areas of the picture that react to
presses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import (
    Rect,
    cut_middle,
    draw_shape,
    draw_text_line,
    font,
    light_font,
    pygame,
    rounded_rect,
    shorten_text,
    split_clusters,
)

Pixel = tuple[int, int]  # x, y of the window

SHADE = 150  # of 255: opacity of the shade behind an overlay


class HitArea(NamedTuple):
    """Rectangle of the picture that reacts to presses of the mouse button.

    Attributes:
        drag: True to call `press` again whenever the mouse moves while the button is down.
    """

    rect: Rect
    press: Callable[[Pixel], None]
    drag: bool


def line_height(size: tuple[int, int], scale: float) -> int:
    """Return the height of a line of text in pixels for a window of `size` (width, height), times
    the user's factor `scale` as far as the window has room for that.

    Args:
        size: width and height of the window in pixels.
        scale: factor of the text size, 1 for the default; the result is limited to what the window
            has room for.
    """
    width, height = size
    usual = min(max(20, width / 64), max(20, height / 40), width / 44, height / 33)
    return int(max(11, min(usual * scale, width / 28, height / 20)))


def wrap_text(text: str, line_height: int, width: int, max_lines: int = 1000) -> list[str]:
    """Return `text` wrapped to lines of `width` pixels, at most `max_lines`, of which the last may
    be wider; `line_height` sets the font size."""
    lines: list[str] = []
    for paragraph in cut_middle(text, max_lines * width).splitlines():
        current = ""
        words = _split_words(paragraph, line_height, width)
        for word, space in words:
            longer = current + space + word if current else word
            if not current or font(line_height).size(longer)[0] <= width:
                current = longer
            elif len(lines) < max_lines - 1:
                lines.append(current)
                current = word
            else:  # not measured word by word: that takes quadratic time
                return [*lines, longer + "".join(space + word for word, space in words)]
        lines.append(current)
    return lines[:max_lines]


def _split_words(paragraph: str, line_height: int, width: int) -> Iterator[tuple[str, str]]:
    """Yield (word, separator before it) for the words of `paragraph`; a word wider than `width`
    pixels is split into letters. `line_height` sets the font size."""
    for word in paragraph.split():
        parts = [word] if font(line_height).size(word)[0] <= width else split_clusters(word)
        for number, part in enumerate(parts):
            yield part, "" if number else " "


def cut(rect: Rect, side: str, size: int, gap: int = 0) -> Rect:
    """Cut a strip of `size` pixels off one side of `rect` and return it. `side` is "top", "bottom",
    "left" or "right". `rect` itself becomes smaller by the strip and `gap` pixels.

    Args:
        rect: rectangle to shrink.
        side: side of the part: top, bottom, left or right.
        size: height or width of the part in pixels.
        gap: pixels between the part and the rest.
    """
    part = rect.copy()
    if side in ("top", "bottom"):
        part.h = size
        rect.h -= size + gap
    else:
        part.w = size
        rect.w -= size + gap
    if side == "top":
        rect.y += size + gap
    elif side == "left":
        rect.x += size + gap
    elif side == "bottom":
        part.y = rect.bottom + gap
    else:
        part.x = rect.right + gap
    return part


def find_first_row(heights: Sequence[int], chosen: int, height: int, first: int = 0) -> int:
    """Return the index of the first row to show in a list that is `height` pixels high, so that row
    `chosen` is visible. It is as close to the previous first row, `first`, as possible.

    Args:
        heights: height of each row in pixels.
        chosen: index of the row to show.
        height: height of the list in pixels.
        first: index of the first visible row before.
    """
    first = min(first, chosen)
    while first < chosen and sum(heights[first : chosen + 1]) > height:
        first += 1
    return first


class Painter:
    """Draws one picture of the window and records its hit areas.

    Args:
        surface: surface to draw on.
        theme: colours.
        line_height: height of a line of text, in pixels.
        mouse: position of the mouse; None outside of the window.
        previous: painter of the previous picture; a drag that began there continues.

    Attributes:
        area: rectangle of the whole picture.
    """

    def __init__(
        self,
        surface: pygame.Surface,
        theme: Theme,
        line_height: int,
        mouse: Pixel | None = None,
        previous: Painter | None = None,
    ) -> None:
        """Create a painter for one picture; a drag that began in the picture of the painter
        `previous` continues."""
        self.surface, self.theme, self.mouse = surface, theme, mouse
        self.line_height = line_height
        self.area = surface.get_rect()
        self._hit_areas: list[HitArea] = []  # a later one lies over earlier ones
        self._dragged: HitArea | None = previous._dragged if previous else None
        self._hovered: Rect | None = None

    def color(self, name: str) -> str:
        """Return the theme's colour called `name`, such as `accent`, as `#rrggbb`."""
        color: str = getattr(self.theme, name)
        return color

    def draw_card(self, rect: Rect, color: str = "card") -> None:
        """Draw `rect` filled with round corners in the theme's colour called `color`."""
        if rect.w > 0 and rect.h > 0:
            radius = min(self.line_height // 2, rect.w // 2, rect.h // 2)
            self.surface.blit(rounded_rect(rect.size, radius, self.color(color)), rect)

    def draw_shape(self, rect: Rect, name: str, color: str = "text") -> None:
        """Draw a shape of `sprites.SHAPES` into the square `rect` in the theme's colour called
        `color`."""
        self.surface.blit(draw_shape(name, max(1, rect.w), self.color(color)), rect)

    def draw_outline(self, rect: Rect, color: str = "accent") -> None:
        """Draw the outline of `rect` in the theme's colour called `color`."""
        line = self.line_height
        pygame.draw.rect(self.surface, self.color(color), rect, max(2, line // 8), line // 2)

    def draw_dialog(
        self, size: tuple[int, int], title: str, bottom_margin: int = 0, is_name: bool = False
    ) -> Rect:
        """Draw a dialog of `size` (width, height) with `title` in the middle of the picture above
        `bottom_margin` pixels; return the rectangle below the title. `is_name` is as for
        `draw_text`."""
        card = Rect((0, 0), size)
        card.center = self.area.centerx, self.area.y + (self.area.h - bottom_margin) // 2
        self.draw_card(card)
        inner = card.inflate(-2 * self.line_height, -self.line_height)
        title_rect = cut(inner, "top", 2 * self.line_height)
        self.draw_text(title_rect, title, size=1.4, is_name=is_name)
        return inner

    def draw_text(
        self,
        rect: Rect,
        text: str,
        color: str = "text",
        align: str = "left",
        size: float = 1.0,
        is_name: bool = False,
        is_light: bool = False,
    ) -> int:
        """Draw one line of text into `rect`, vertically centred and with `align` left, center or
        right, shortened if needed; return its width in pixels. `color` is a name in the theme, and
        `size` a factor.

        Args:
            rect: rectangle that the text must not leave.
            text: any text; white space is collapsed to single spaces.
            color: name of a theme colour.
            align: left, center or right.
            size: font size as a multiple of the line height.
            is_name: True to shorten in the middle: names often begin alike.
            is_light: True for thin strokes, which muted text always has.
        """
        if rect.w < self.line_height or not text:
            return 0
        line = self._get_font_height(size)
        get_font = light_font if is_light or color == "muted" else font
        return draw_text_line(
            self.surface, rect, text, line, self.color(color), align, is_name, get_font
        )

    def _get_font_height(self, size: float) -> int:
        return max(11, int(self.line_height * size))

    def draw_lines(
        self, rect: Rect, text: str, color: str = "text", size: float = 1.0, align: str = "left"
    ) -> int:
        """Draw `text` wrapped into `rect`, from its top, as many lines as fit; return their height
        in pixels. Its strokes are thin. `color` is a name in the theme, `size` a factor, and
        `align` left, center or right.

        Returns:
            The height written, in pixels.
        """
        line = self._get_font_height(size)
        lines = wrap_text(text, line, rect.w, max(1, rect.h // line))
        for number, words in enumerate(lines):
            slot = Rect(rect.x, rect.y + number * line, rect.w, line)
            is_path = " " not in words  # its end says most
            shown = shorten_text(words, line, rect.w, is_path)
            self.draw_text(slot, shown, color, align, size, is_light=True)
        return len(lines) * line

    def text_width(self, text: str, size: float = 1.0) -> int:
        """Return the width of `text` in pixels, drawn `size` times as large as usual."""
        return font(self._get_font_height(size)).size(text)[0]

    def text_height(self, text: str, width: int, max_lines: int = 1000) -> int:
        """Return the height in pixels of `text` wrapped to `width` pixels and `max_lines` lines."""
        return len(wrap_text(text, self.line_height, width, max_lines)) * self.line_height

    def dim(self) -> None:
        """Darken everything drawn so far, and remove all hit areas."""
        shade = pygame.Surface(self.area.size, pygame.SRCALPHA)
        shade.fill((0, 0, 0, SHADE))
        self.surface.blit(shade, (0, 0))
        self._hit_areas.clear()

    def draw_fade(self, rect: Rect, side: str) -> None:
        """Cover `rect` with the background, fully at its `side`, top or bottom, and not at all at
        the other one."""
        fade = pygame.Surface((1, rect.h), pygame.SRCALPHA)
        for y in range(rect.h):
            distance = y if side == "top" else rect.h - 1 - y
            color = pygame.Color(self.color("background"))
            color.a = 255 * (rect.h - distance) // rect.h
            fade.set_at((0, y), color)
        self.surface.blit(pygame.transform.scale(fade, rect.size), rect)

    def draw_note(self, text: str, footer_lines: int) -> None:
        """Draw the note `text` above the `footer_lines` lines at the bottom of the picture."""
        line = self.line_height
        width = min(self.area.w - line, self.text_width(text) + 2 * line)
        rect = Rect(0, 0, width, self.text_height(text, width - 2 * line, 4) + line)
        rect.midbottom = self.area.centerx, self.area.bottom - line // 2 - footer_lines * line
        self.draw_card(rect, "accent")
        self.draw_lines(rect.inflate(-line, -line), text, "on_accent", align="center")

    def draw_caption(self, text: str) -> None:
        """Draw the caption `text` of a sound above the timeline and the hints."""
        line = self.line_height
        rect = Rect(0, 0, self.text_width(f"[{text}]") + 2 * line, line * 3 // 2)
        rect.midbottom = self.area.centerx, self.area.bottom - 5 * line
        self.draw_card(rect, "well")
        self.draw_text(rect, f"[{text}]", align="center")

    def add_hit_area(self, rect: Rect, press: Callable[[Pixel], None], drag: bool = False) -> bool:
        """Make a rectangle clickable: `press` is called with the mouse position at a click and, if
        `drag`, while the mouse is dragged. Return True if the mouse is over it.

        Args:
            rect: rectangle of the picture.
            press: function of x, y in pixels.
            drag: call the function also while the mouse is dragged.

        Returns:
            True if the mouse is over the rectangle.
        """
        self._hit_areas.append(HitArea(rect.copy(), press, drag))
        is_hovered = self.mouse is not None and rect.collidepoint(self.mouse)
        if is_hovered:
            self._hovered = rect.copy()
        return is_hovered

    def draw_button(
        self,
        rect: Rect,
        label: str,
        press: Callable[[], None],
        key: str = "",
        is_chosen: bool = False,
        background: str = "well",
        has_hover: bool = True,
        align: str = "",
    ) -> bool:
        """Draw a button with the text `label` into `rect`, on the theme colour `background`; a
        click calls `press`. `key` is shown as the key with the same effect, `is_chosen` highlights
        the button, and `has_hover` outlines it under the mouse. Return True if the mouse is over
        it.

        Args:
            rect: rectangle of the button.
            label: text of the button.
            press: function without arguments.
            key: key with the same effect, shown at the right.
            is_chosen: True for the accent colour.
            background: name of the theme colour behind the label.
            has_hover: True to outline the button while the mouse is over it.
            align: left or center; by default left beside a key, else center.
        """
        is_hovered = self.add_hit_area(rect, lambda _: press())
        self.draw_card(rect, "accent" if is_chosen else background)
        if is_hovered and has_hover and not is_chosen:
            self.draw_outline(rect, "outline")
        inner = rect.inflate(-self.line_height, 0)
        if key:
            key_color = "on_accent" if is_chosen else "muted"
            key_width = self.draw_text(inner, key, key_color, "right", 0.9)
            inner.w -= key_width + self.line_height // 2
        align = align or ("left" if key else "center")
        self.draw_text(inner, label, "on_accent" if is_chosen else "text", align)
        return is_hovered

    def draw_arrow(
        self, rect: Rect, direction: str, color: str = "text", bar: bool = False
    ) -> None:
        """Draw a triangle in the middle of `rect` that points left, right, up or down, as high as
        small letters; with `bar`, it points at a bar, as on a button that goes to the end."""
        big = 2 * self.line_height  # four times as large, so that its edges are smooth
        picture = pygame.Surface((big, big), pygame.SRCALPHA)
        left, right = big * 3 // 10, big * 7 // 10
        points = ((left, big // 5), (left, big * 4 // 5), (right, big // 2))
        pygame.draw.polygon(picture, self.color(color), points)
        if bar:
            pygame.draw.rect(picture, self.color(color), (right, big // 5, big // 8, big * 3 // 5))
        turns = {"right": 0, "up": 1, "left": 2, "down": 3}
        side = self.line_height
        small = pygame.transform.smoothscale(picture, (side, side))
        small = pygame.transform.rotate(small, 90 * turns[direction])
        self.surface.blit(small, small.get_rect(center=rect.center))

    def draw_keys(self, rect: Rect, keys: Sequence[tuple[str, str]]) -> None:
        """Draw (key, word) pairs in the middle of `rect`, each key on a cap, and a word without a
        key as a heading. Pairs that do not fit are left out, those before the last first."""
        line, shown = self.line_height, [*keys]

        def measure(pair: tuple[str, str]) -> int:
            return self.text_width(pair[0], 0.9) + self.text_width(pair[1], 0.9) + 2 * line

        while len(shown) > 1 and sum(map(measure, shown)) > rect.w:
            del shown[-2]
        x = rect.centerx - (sum(map(measure, shown)) - line) // 2
        for key, word in shown:
            cap = Rect(x, rect.y, self.text_width(key, 0.9) + line * 2 // 3, rect.h)
            if key:
                self.draw_card(cap)
                self.draw_text(cap, key, "text", "center", 0.9)
            word_rect = Rect(cap.right + line // 4, rect.y, rect.right - cap.right, rect.h)
            self.draw_text(word_rect, word, "muted" if key else "accent", size=0.9)
            x += measure((key, word))

    def draw_bar(self, rect: Rect, share: float) -> int:
        """Draw a progress bar into `rect`, filled to the fraction `share` from 0 to 1; return the
        width of the filled part in pixels."""
        groove = rect.inflate(0, -rect.h // 2)
        self.draw_card(groove, "outline")
        filled = groove.copy()
        filled.w = round(groove.w * min(1.0, max(0.0, share)))
        self.draw_card(filled, "accent")
        return filled.w

    def draw_slider(self, rect: Rect, share: float, move: Callable[[float], None]) -> None:
        """Draw a progress bar that the user can drag, which calls `move` with the new fraction."""
        knob = Rect(0, 0, rect.h * 3 // 4, rect.h)
        knob.center = rect.x + self.draw_bar(rect, share), rect.centery
        self.draw_card(knob.clamp(rect.inflate(knob.w, 0)), "text")

        def drag(position: Pixel) -> None:
            move(min(1.0, max(0.0, (position[0] - rect.x) / max(1, rect.w))))

        self.add_hit_area(rect.inflate(knob.w, rect.h // 2), drag, drag=True)

    def draw_scrollbar(self, groove: Rect, first: int, shown: int, count: int) -> None:
        """Draw a scrollbar into `groove` for a list of `count` rows, of which `shown` are visible,
        starting with row `first`. If all rows are visible, draw nothing."""
        if shown < count:
            thumb = groove.copy()
            thumb.h = max(self.line_height, groove.h * shown // count)
            thumb.y += groove.h * first // count
            self.draw_card(thumb, "outline")

    def handle_mouse(self, event: pygame.event.Event) -> bool:
        """Handle a mouse event; return True if it hit a hit area, or the mouse moved onto another
        one."""
        if event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            for area in reversed(self._hit_areas):
                if area.rect.collidepoint(event.pos):
                    self._dragged = area if area.drag else None
                    area.press(event.pos)
                    return True
        elif event.type == pygame.MOUSEBUTTONUP and event.button == 1 and self._dragged:
            self._dragged = None
            return True
        elif event.type == pygame.MOUSEMOTION:
            if self._dragged:
                self._dragged.press(event.pos)
                return True
            rects = (area.rect for area in reversed(self._hit_areas))
            hovered = next((rect for rect in rects if rect.collidepoint(event.pos)), None)
            if hovered != self._hovered:
                self._hovered = hovered
                return True
        return False
