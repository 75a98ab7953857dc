"""Card at the end of an episode: the result, medals, and buttons for what to do next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.cards import draw_medal, draw_medals
from gv_engine.play.ui.settings import MEDALS

_WIDTH = 34  # greatest width in lines


@dataclass(frozen=True)
class EndCard:
    """Card with the result of an episode.

    Attributes:
        title: large text, such as `Solved!`.
        result: small text, such as the number of steps.
        color: name of the color of the title and the outline.
        choices: (label, command) of the buttons.
        won: medals that the player has won; None for a card without medals.
        has_par: whether the level has a medal for par.
        run_command: function that runs the command of a button.
        key_label: function that returns the key of a command.
    """

    title: str
    result: str
    color: str
    choices: Sequence[tuple[str, str]]
    won: Collection[str] | None
    has_par: bool
    run_command: Callable[[str], None]
    key_label: Callable[[str], str]

    def draw(self, painter: Painter, area: Rect, is_on_board: bool, agent: Rect | None) -> int:
        """Draw the card at the bottom of `area`, or at the top if the `agent` is below. Leave out
        parts that do not fit. Return the number of buttons that are drawn.

        Args:
            painter: painter to draw with.
            area: area for the card.
            is_on_board: if True, `area` is the board, and most of it stays visible.
            agent: area of the agent, which stays visible; None if it does not matter.
        """
        line = painter.line_height
        width = min(area.w, _WIDTH * line)
        area = Rect(area.centerx - width // 2, area.y, width, area.h)
        text_width = painter.text_width(self.title, 1.4) + painter.text_width(self.result)
        is_one_line = text_width + 4 * line <= area.w
        header_height = (3 if is_one_line else 4) * line
        columns = self._count_button_columns(painter, area.w - line)
        num_rows = -(-len(self.choices) // columns)
        max_height = area.h * 3 // 4
        if is_on_board:
            max_height = area.h * 2 // 5
            if agent:
                max_height = min(max_height, max(agent.y - area.y, area.bottom - agent.bottom))
            num_rows = max(0, min(num_rows, (max_height - header_height) // (2 * line)))
        if header_height + num_rows * 2 * line > area.h:
            num_rows = 0
        if not num_rows:
            is_one_line, header_height = True, min(area.h, 3 * line)
        buttons_height = num_rows * 2 * line
        medals_height = 0 if self.won is None else 3 * line
        if header_height + medals_height + buttons_height > max_height:
            medals_height = 0
        card = Rect(0, 0, area.w, header_height + medals_height + buttons_height)
        card.midbottom = area.midbottom
        if agent and card.colliderect(agent):
            card.midtop = area.midtop
        painter.draw_card(card)
        painter.draw_outline(card, self.color)
        header = Rect(card.x, card.y + line // 2, card.w, 2 * line)
        text_rect = (header if num_rows else card).inflate(-2 * line, 0)
        title_width = painter.draw_text(text_rect, self.title, self.color, size=1.4)
        cut(text_rect, "left", title_width + line)
        if is_one_line:
            self._draw_result(painter, text_rect, has_medals=not medals_height)
        else:
            result_rect = Rect(card.x + line, header.bottom, card.w - 2 * line, line)
            painter.draw_text(result_rect, self.result)
        y = card.y + header_height
        if medals_height:
            self._draw_medals(painter, Rect(card.x + line, y, card.w - 2 * line, 2 * line))
        shown = self.choices[: num_rows * columns]
        x = card.x + line * 3 // 4
        buttons_rect = Rect(x, y + medals_height - line // 4, card.w - line, buttons_height)
        self._draw_buttons(painter, buttons_rect, columns, shown)
        return len(shown)

    def _draw_result(self, painter: Painter, rect: Rect, has_medals: bool) -> None:
        """Draw the result at the right of `rect`, and small medals at its left if they are asked
        for and fit."""
        line = painter.line_height
        painter.draw_text(rect, self.result, align="right")
        discs = Rect(rect.x, 0, 4 * line, line * 5 // 4)
        discs.centery = rect.centery
        has_room = discs.w + line + painter.text_width(self.result) <= rect.w
        if self.won is not None and has_medals and has_room:
            draw_medals(painter, discs, self.won, has_all=True)

    def _draw_medals(self, painter: Painter, rect: Rect) -> None:
        """Draw the medals into `rect`, side by side with their names. Medals that are not won are
        only outlined."""
        medals = {medal: name for medal, name in MEDALS.items() if self.has_par or medal != "par"}
        line, width = painter.line_height, rect.w // len(medals)
        for index, (medal, name) in enumerate(medals.items()):
            slot = Rect(rect.x + index * width, rect.y, width, rect.h)
            side = 2 * line if width > 8 * line else line * 5 // 4
            content_width = side + line // 4 + painter.text_width(name, 0.9)
            cut(slot, "left", max(0, width - content_width) // 2)
            disc = cut(slot, "left", side, line // 4)
            disc.h, disc.centery = disc.w, rect.centery
            is_won = medal in (self.won or ())
            draw_medal(painter, disc, medal, is_won)
            painter.draw_text(slot, name, "text" if is_won else "muted", size=0.9)

    def _count_button_columns(self, painter: Painter, width: int) -> int:
        texts = [text + self.key_label(name) for text, name in self.choices]
        button_width = max(map(painter.text_width, texts)) + 7 * painter.line_height // 2
        return next((columns for columns in (4, 2) if columns * button_width <= width), 1)

    def _draw_buttons(
        self, painter: Painter, rect: Rect, columns: int, choices: Sequence[tuple[str, str]]
    ) -> None:
        line, column_width = painter.line_height, rect.w // columns
        for index, (text, name) in enumerate(choices):
            row, column = divmod(index, columns)
            x, y = rect.x + column * column_width, rect.y + row * 2 * line
            slot = Rect(x, y, column_width - line // 2, line * 7 // 4)
            press = partial(self.run_command, name)
            painter.draw_button(slot, text, press, self.key_label(name), is_chosen=index == 0)
