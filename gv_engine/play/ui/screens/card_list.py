"""Screens of cards under headings, with a search field."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from threading import Thread
from typing import NamedTuple

from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import Rect, clipped, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.cards import TILE_LINES, Card
from gv_engine.play.ui.screens.menu import SearchField
from gv_engine.play.ui.screens.screen import AppContext

CARD_LINES = 5  # height of a card
COLUMN_WIDTH = 19  # lines
TILE_WIDTH = 11, 20  # smallest and largest width of a tile, in lines
MAX_COLUMNS = 6  # of tiles
WIDE_WIDTH = 38  # largest width of a card that takes a row, in lines
MARGIN_LINES = 2  # lines around the chosen card; cards fade out there if more follow
LOADING_SLICE = 0.1  # s of loading cards before the visible ones are looked for again
LOADING_POLL = 0.03  # s between two looks at the thread that loads cards
LOADING_PATIENCE = 2.0  # s to wait for the thread that loads cards


CardSection = tuple[str, Sequence[Card]]  # heading and cards


class PlacedCard(NamedTuple):
    """A card and its rectangle, relative to the top of all cards."""

    card: Card
    rect: Rect


class CardsScreen(SearchField):
    """Screen of cards under headings; arrow keys choose a card, typed text is searched for.

    Attributes:
        placeholder: text in the empty search field.
        leave_label: text for the key that leaves.
        buttons: label, group and command of the buttons at the top.
        hinted_commands: group, command and text of further hints.
        categories: names of the categories to choose from; the first one shows some cards of each.
        category: name of the chosen category.
    """

    title = "GV Engine"
    placeholder = "Search for a level, or type the path of a file"
    leave_label = "quits"
    buttons: Sequence[tuple[str, str, str]] = (
        ("Settings", "window", "settings"),
        ("Keys", "window", "help"),
    )
    hinted_commands: Sequence[tuple[str, str, str]] = ()
    categories: Sequence[str] = ()
    category = ""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.chosen = 0
        self._scroll = 0  # pixels
        self._viewport = Rect(0, 0, 0, 0)
        self._line = 1
        self._headings: list[tuple[str, Rect]] = []
        self.links: dict[str, str] = {}  # text beside a heading that is a category, which it opens
        self._cards: list[PlacedCard] = []
        self._is_outdated = True
        self._theme: Theme | None = None  # None before the first picture
        self._loader: Thread | None = None
        self._must_stop_loading = False

    def sections(self) -> Iterable[CardSection]:
        """Yield (heading, cards) pairs with the cards to show: those that match the search text, or
        all if it is empty."""
        raise NotImplementedError

    @property
    def num_columns(self) -> int:
        """Number of columns of cards that are no tiles."""
        return max(1, (self._viewport.w - self._line // 2) // (COLUMN_WIDTH * self._line))

    @property
    def tile_gap(self) -> int:
        """Pixels between two tiles."""
        return self._line // 2

    @property
    def _placed_cards(self) -> list[PlacedCard]:
        if self._is_outdated:
            self._place_cards()
        return self._cards

    # ---- events ----------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Let a thread load cards, visible ones first; return the seconds until the next call, or
        None if all are loaded."""
        if self._theme is None:
            return 0  # draw the first picture before loading cards
        if self._loader is not None:
            if self._loader.is_alive():
                return LOADING_POLL
            self._loader = None
            self.app.needs_redraw = True
        visible = self._viewport.move(0, self._scroll - self._viewport.y)
        unloaded = [
            placed for placed in self._placed_cards if placed.card.loaded_theme != self._theme
        ]
        if not unloaded:
            return None
        unloaded.sort(key=lambda placed: not placed.rect.colliderect(visible))
        self._must_stop_loading = False
        cards = [placed.card for placed in unloaded]
        self._loader = Thread(target=self._load_cards, args=(cards, self._theme), daemon=True)
        self._loader.start()
        return LOADING_POLL

    def _load_cards(self, cards: Iterable[Card], theme: Theme) -> None:
        """Load some of `cards`, for at most `LOADING_SLICE` after the first one."""
        until = time.monotonic() + LOADING_SLICE
        for card in cards:
            card.load(self.app, theme)
            if self._must_stop_loading or time.monotonic() > until:
                break

    def stop_loading(self) -> None:
        """Wait until no thread loads cards: scenarios are not read in two threads at once."""
        self._must_stop_loading = True
        if self._loader is not None:
            self._loader.join(LOADING_PATIENCE)

    def on_close(self) -> None:
        """End the thread that loads cards."""
        self.stop_loading()

    def run_command(self, name: str) -> None:
        """Run the command `name`: select or open a card, clear the search text, or leave."""
        last = len(self._placed_cards) - 1
        indices = {"left": self.chosen - 1, "right": self.chosen + 1, "first": 0, "last": last}
        rows = {"up": -1, "down": 1, "page_up": -4, "page_down": 4}.get(name, 0)
        if rows:
            for _ in range(abs(rows)):
                self._move_row(1 if rows > 0 else -1)
        elif name in indices:
            self._choose(indices[name])
        elif name == "choose":
            if card := self.chosen_card:
                self._open(card)
        elif name == "leave" and self.query:
            self.set_query("")
        else:
            super().run_command(name)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Scroll the cards when the mouse wheel is turned."""
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= event.y * 4 * self._line

    def set_query(self, query: str) -> None:
        """Set the search text to `query`, and scroll to the top; the cards are laid out again
        later."""
        super().set_query(query)
        self._scroll = 0
        self._is_outdated = True

    def _choose(self, index: int) -> None:
        """Select the card with this `index`, and scroll to it."""
        self.chosen = max(0, min(len(self._placed_cards) - 1, index))
        if self._placed_cards:
            rect = self._placed_cards[self.chosen].rect
            margin = MARGIN_LINES * self._line  # with the heading, outside of the fade
            max_scroll, min_scroll = rect.y - margin, rect.bottom + margin - self._viewport.h
            self._scroll = max(min_scroll, min(self._scroll, max_scroll))

    def _move_row(self, step: int) -> None:
        """Select the nearest card in the row above if `step` is -1, or in the row below if it is
        1."""
        cards = self._placed_cards
        if not cards:
            return
        current = cards[min(self.chosen, len(cards) - 1)].rect
        distances = [
            (abs(card.rect.y - current.y), abs(card.rect.x - current.x), index)
            for index, card in enumerate(cards)
            if (card.rect.y - current.y) * step > 0
        ]
        if distances:
            self._choose(min(distances)[2])

    @property
    def chosen_card(self) -> Card | None:
        """The selected card; None if there are no cards."""
        cards = self._placed_cards[: self.chosen + 1]
        return cards[-1].card if cards else None

    def _open(self, card: Card) -> None:
        self.stop_loading()
        card.open(self.app)

    # ---- drawing ---------------------------------------------------------------------

    def draw(self, painter: Painter, now: float) -> None:
        """Draw search field, cards, scrollbar and hints with `painter`."""
        self._line = line = painter.line_height
        gap = line // 2
        self._viewport = inner = painter.area.inflate(-2 * gap, -gap)
        self._draw_header(painter, cut(inner, "top", 2 * line, gap))
        if self.categories:
            self._draw_categories(painter, cut(inner, "top", line * 3 // 2, gap))
        footer = cut(inner, "bottom", self.footer_lines * line, gap)
        self._theme = painter.theme
        self._place_cards()
        self.chosen = max(0, min(self.chosen, len(self._cards) - 1))
        height = max((card.rect.bottom for card in self._cards), default=0)
        self._scroll = max(0, min(self._scroll, height + gap - inner.h))
        self.draw_cards(painter)
        if not self._cards:
            rest = inner.inflate(-2 * line, -2 * line)
            painter.draw_lines(rest, self.describe_no_card(), "muted")
        groove = Rect(painter.area.right - line // 3, inner.y, line // 4, inner.h)
        painter.draw_scrollbar(groove, self._scroll, max(0, inner.h), height)
        self.draw_footer(painter, footer)

    def describe_no_card(self) -> str:
        """Return why there is no card, with the keys in a level whose description has the search
        text."""
        if not self.query:
            return "There is nothing here yet."
        keys = self.app.bindings.describe_keys(("play", "view"))
        found = [f"{key}: {does}" for key, does in keys if self.query.lower() in does]
        text = f"Nothing fits {self.query!r}. Type a name, a word or the path of a file."
        return text + f" In a level, {', '.join(found)}." * bool(found)

    def draw_footer(self, painter: Painter, rect: Rect) -> None:
        """Draw hints on keys into `rect`, as many as fit; the last one, on leaving, always."""
        hints = [*filter(None, self._list_hints())]
        while len(hints) > 1 and painter.text_width(" · ".join(hints), 0.9) > rect.w:
            del hints[-2]
        painter.draw_text(rect, " · ".join(hints), "muted", "center", 0.9)

    def _list_hints(self) -> Sequence[str]:
        """Return short texts on keys for the bottom of the screen."""
        return (
            "Type to search",
            "Arrows choose",
            self.hint("menu", "choose", "plays"),
            *(self.hint(*command) for command in self.hinted_commands),
            self.hint("window", "help", "keys"),
            self.hint("window", "settings", "settings"),
            self.hint("menu", "leave", "clears" if self.query else self.leave_label),
        )

    def _draw_header(self, painter: Painter, rect: Rect) -> None:
        """Draw title, buttons and search field into `rect`; in a narrow window only the search
        field."""
        line, field = painter.line_height, rect.copy()
        if rect.w > 40 * line:
            title_rect = Rect(rect.x, rect.y, 15 * line, rect.h)
            cut(field, "left", painter.draw_text(title_rect, self.title, size=1.5) + line)
            self.draw_buttons(painter, field, self.buttons, 0)
        painter.draw_card(field, "well")
        painter.draw_outline(field, "accent" if self.query else "outline")
        text_rect = field.inflate(-line, 0)
        if not self.query:
            painter.draw_text(text_rect, self.placeholder, "muted")
        elif painter.text_width(self.query + "|") <= text_rect.w:
            painter.draw_text(text_rect, self.query + "|")
        else:
            last_letters = self.query[-max(1, text_rect.w // line) :]
            painter.draw_text(text_rect, f"...{last_letters}|")

    def _draw_categories(self, painter: Painter, row: Rect) -> None:
        """Draw a button for each category into `row`; if not all fit, those around the chosen
        one."""
        line = painter.line_height
        gap = line // 3
        widths = {name: painter.text_width(name) + line for name in self.categories}
        names = [*self.categories]
        while len(names) > 1 and sum(widths[name] + gap for name in names) - gap > row.w:
            is_in_second_half = 2 * names.index(self.category) >= len(names)
            names.remove(names[0] if is_in_second_half else names[-1])
        for name in names:
            press = partial(self.choose_category, name)
            slot = cut(row, "left", widths[name], gap)
            painter.draw_button(slot, name, press, "", name == self.category, "card")

    def choose_category(self, name: str) -> None:
        """Show the cards of the category called `name`."""
        self.category = name
        self.set_query("")

    def _place_cards(self) -> None:
        """Compute the rectangles of headings and cards; short sections of cards that are no tiles
        stand side by side."""
        self._headings, self._cards, self._is_outdated = [], [], False
        line = self._line
        gap, heading_height = line // 2, line * 3 // 2
        width = self._viewport.w - gap  # of all columns
        num_columns = self.num_columns
        first_column = top = bottom = 0
        for heading, cards in self.sections():
            if not cards:
                continue
            is_tiled, is_wide = all(card.is_tile for card in cards), cards[0].is_wide
            columns, size = min(len(cards), num_columns), (width // num_columns, CARD_LINES * line)
            if is_tiled:
                columns, size = self.choose_tile_size(len(cards))
            elif is_wide:
                columns, size = 1, (min(width, WIDE_WIDTH * line), CARD_LINES * line * 3 // 2)
            card_width, height = size
            is_alone = is_tiled or is_wide
            if is_alone or first_column + columns > num_columns:
                first_column, top = 0, bottom + gap * bool(bottom)
            x = first_column * card_width
            heading_rect = Rect(x, top, columns * card_width - gap, heading_height)
            self._headings.append((heading, heading_rect))
            card_gap = self.tile_gap if is_tiled else gap
            for index, card in enumerate(cards):
                row, column = divmod(index, columns)
                y = heading_rect.bottom + row * (height + card_gap)
                rect = Rect(x + column * card_width, y, card_width - card_gap, height)
                self._cards.append(PlacedCard(card, rect))
                bottom = max(bottom, rect.bottom + gap)
            first_column = num_columns if is_alone else first_column + columns

    def choose_tile_size(self, count: int) -> tuple[int, tuple[int, int]]:
        """Return the number of columns for `count` tiles, and the width of a column and the height
        of a tile in pixels."""
        line, width = self._line, self._viewport.w - self._line // 2
        columns = max(2, min(MAX_COLUMNS, width // (TILE_WIDTH[0] * line)))
        columns = min(columns, max(2, count))
        if count % columns == 1:
            columns = max(2, columns - 1)
        return columns, self.make_tile_size(min(width // columns, TILE_WIDTH[1] * line))

    def make_tile_size(self, width: int) -> tuple[int, int]:
        """Return `width`, of a column in pixels, and the height of its tiles."""
        return width, (width - 2 * self._line) * 9 // 16 + int((TILE_LINES + 1) * self._line)

    def draw_cards(self, painter: Painter) -> None:
        """Draw the visible headings and cards, and make the cards clickable."""
        viewport = self._viewport
        offset = viewport.x, viewport.y - self._scroll
        with clipped(painter.surface, viewport):
            for heading, rect in self._headings:
                slot = rect.move(offset)
                if slot.colliderect(viewport):
                    self._draw_heading(painter, slot, heading)
            for index, (card, rect) in enumerate(self._cards):
                slot = rect.move(offset)
                if slot.colliderect(viewport):
                    painter.add_hit_area(slot.clip(viewport), partial(self._press, index, card))
                    card.draw(painter, slot, index == self.chosen)
        end = max((card.rect.bottom for card in self._cards), default=0) - self._scroll
        height = min(MARGIN_LINES * self._line, viewport.h // 4)
        for side, hidden in (("top", self._scroll), ("bottom", end - viewport.h)):
            if hidden > 0 and height > 0:
                painter.draw_fade(cut(viewport.copy(), side, height), side)

    def _draw_heading(self, painter: Painter, rect: Rect, heading: str) -> None:
        """Draw `heading` into `rect`, and at its right the link to all cards of the category."""
        painter.draw_text(rect, heading, size=1.15)
        if link := self.links.get(heading, ""):
            slot = cut(rect.copy(), "right", painter.text_width(link))
            is_hovered = painter.add_hit_area(slot, lambda _: self.choose_category(heading))
            painter.draw_text(slot, link, "accent" if is_hovered else "muted", "right")

    def _press(self, index: int, card: Card, position: tuple[int, int]) -> None:
        self.chosen = index
        self._open(card)
