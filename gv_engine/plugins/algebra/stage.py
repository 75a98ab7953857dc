"""Stage of algebra: draws the tree of an expression, its text, and the rules of the selected
node."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import clipped, draw_text_line, font, pygame, rounded_rect
from gv_engine.play.ui.drawing.stage import MAP_SHARE, Stage
from gv_engine.play.ui.drawing.widgets import Pixel, wrap_text
from gv_engine.plugins.algebra.episode import RULE_PREFIX, HintSearch, TreeCursor
from gv_engine.plugins.algebra.frame import ExpressionFrame
from gv_engine.plugins.algebra.inspector import TreeInspector, formula_font
from gv_engine.plugins.algebra.systems import TreeNode
from gv_engine.scenario.readers.map import format_reward

# ---- tree layout ---------------------------------------------------------------------------------

MIN_LINE, MAX_LINE = 3, 40
"""Smallest and largest height of the text in a node, in pixels."""


class TreeLayout(NamedTuple):
    """Rectangles of the nodes of one tree, without overlaps.

    Attributes:
        line: height of the text in the nodes, in pixels.
        rects: rectangles of the nodes in order, in pixels; the tree begins at (0, 0).
        size: width and height of the tree.
    """

    line: int
    rects: tuple[pygame.Rect, ...]
    size: tuple[int, int]


def with_times_signs(text: str) -> str:
    """Return `text` with × for *, of the same length, as the window shows it."""
    return text.replace("*", "×")


def measure_text(text: str, line: int) -> int:
    """Return the width of a text for a line height, both in pixels."""
    return font(line).size(text)[0]


def fit_tree(nodes: Sequence[TreeNode], available: tuple[int, int], max_line: int) -> TreeLayout:
    """Lay out a tree to fit into `available`, (width, height) in pixels, with the largest possible
    text up to `max_line` pixels high. If even the smallest text does not fit, use that.

    Args:
        nodes: nodes of the tree, in order.
        available: width and height in pixels.
        max_line: greatest line height in pixels.
    """

    def is_too_large(line: int) -> bool:
        width, height = lay_out_tree(nodes, line).size
        return width > available[0] or height > available[1]

    lines = range(MIN_LINE + 1, min(max_line, MAX_LINE) + 1)
    line = MIN_LINE + bisect_left(lines, True, key=is_too_large)
    return _stretch(lay_out_tree(nodes, line), available)


def lay_out_tree(nodes: Sequence[TreeNode], line: int) -> TreeLayout:
    """Return the narrowest layout of a tree whose text is `line` pixels high.

    Between two nodes of one row there is always a node of another row, so a node may be wider than
    a column.
    """
    gap = node_padding = max(2, line // 3)
    node_height = line + node_padding
    widths = [max(node_height, measure_text(node.text, line) + max(2, line // 2)) for node in nodes]
    column_width = node_height / 2
    last_in_row: dict[int, int] = {}
    for node, width in zip(nodes, widths, strict=True):
        if (left := last_in_row.get(node.y)) is not None:
            needed = (widths[left] + width) / 2 + gap
            column_width = max(column_width, needed / (node.x - left))
        last_in_row[node.y] = node.x
    row_height = node_height + max(3, line * 2 // 3)
    # so that the leftmost node begins at x = 0
    margin = max(width / 2 - node.x * column_width for node, width in zip(nodes, widths))
    rects = []
    for node, width in zip(nodes, widths, strict=True):
        rects.append(pygame.Rect(0, node.y * row_height, width, node_height))
        rects[-1].centerx = round(margin + node.x * column_width)
    return _make_layout(line, rects)


def _stretch(layout: TreeLayout, available: tuple[int, int]) -> TreeLayout:
    """Return a copy of a tree layout with more space between nodes, to fill `available`, (width,
    height) in pixels. Width and height are at most doubled."""
    (width, height), line = layout.size, layout.line
    node_height = layout.rects[0].h
    stretch_x = max(1.0, (min(available[0], width * 2) - line * 2) / width)
    y_range = max(1, height - node_height)
    stretch_y = max(1.0, (min(available[1], height * 2) - node_height) / y_range)
    rects = []
    for rect in layout.rects:
        rects.append(pygame.Rect(0, round(rect.y * stretch_y), *rect.size))
        rects[-1].centerx = round(rect.centerx * stretch_x)
    return _make_layout(line, rects)


def _make_layout(line: int, rects: list[pygame.Rect]) -> TreeLayout:
    """Return the tree layout with these rectangles of nodes, moved so that the leftmost one begins
    at x = 0."""
    bounds = rects[0].unionall(rects)
    return TreeLayout(line, tuple(rect.move(-bounds.x, 0) for rect in rects), bounds.size)


# ---- written expression --------------------------------------------------------------------------

MIN_TEXT_LINE = 9
"""Height of the smallest line in pixels."""
TEXT_MARGIN = 0.4
"""Margin around the text, as a fraction of a line."""


class WrappedText:
    """Text of the expression of one frame, wrapped into lines.

    Args:
        text: text of the expression.
        available: rectangle that the text must stay in.
        max_line: greatest line height in pixels.
        selected: index of a character that is visible even if not all lines are.

    Attributes:
        rect: part of `available` that the text takes, from the top.
    """

    def __init__(self, text: str, available: pygame.Rect, max_line: int, selected: int) -> None:
        """Wrap `text` into lines that fit into `available`, with the largest font up to `max_line`
        pixels. If not all lines fit, show the lines around the character with index `selected`."""
        self._text = text
        self._line = max(MIN_TEXT_LINE, max_line)
        inner = self._without_margin(available)
        while len(self._wrap(inner.w)) * self._line > inner.h and self._line > MIN_TEXT_LINE:
            self._line -= 1
            inner = self._without_margin(available)
        rows = self._wrap(inner.w)
        num_visible = max(1, inner.h // self._line)
        selected_row = next((n for n, (_, end) in enumerate(rows) if selected < end), 0)
        first = max(0, min(selected_row - num_visible // 2, len(rows) - num_visible))
        self._rows = rows[first : first + num_visible]  # (start, end) of the visible lines
        self._topleft = inner.topleft
        height = len(self._rows) * self._line + 2 * (inner.y - available.y)
        self.rect = pygame.Rect(*available.topleft, available.w, min(available.h, height))

    def _without_margin(self, rect: pygame.Rect) -> pygame.Rect:
        """Return `rect` reduced by the margin around the text."""
        margin = ceil(self._line * TEXT_MARGIN)
        if min(rect.size) <= 4 * margin:
            return rect.copy()
        return rect.inflate(-2 * margin, -2 * margin)

    def _wrap(self, width: int) -> list[tuple[int, int]]:
        """Wrap the text at spaces to lines of at most `width` pixels. Return each line as (start,
        end) indices of characters."""
        text_font, text = formula_font(self._line), self._text
        rows, start = [], 0
        while start < len(text):
            ends = range(start + 1, len(text) + 1)
            num_fitting = bisect_right(ends, width, key=lambda k: text_font.size(text[start:k])[0])
            end = start + max(1, num_fitting)
            if end < len(text):
                end = text.rfind(" ", start + 1, end) + 1 or end
            rows.append((start, end))
            start = end
        return rows or [(0, 0)]

    def rects_of(self, span: tuple[int, int]) -> Iterator[pygame.Rect]:
        """Yield where the characters of `span`, (start, end), are on the screen: one rectangle for
        each line of text."""
        text_font = formula_font(self._line)
        for number, (start, end) in enumerate(self._rows):
            first, last = max(start, span[0]), min(end, span[1])
            if first < last:
                left = text_font.size(self._text[start:first])[0]
                part = self._text[start:last].rstrip() if last == end else self._text[start:last]
                x, y = self._topleft[0] + left, self._topleft[1] + number * self._line
                yield pygame.Rect(x, y, text_font.size(part)[0] - left, self._line)

    def character_at(self, position: tuple[int, int]) -> int | None:
        """Return the index of the character drawn at a position in pixels; None if no character is
        there."""
        for start, end in self._rows:
            for index in range(start, end):
                if any(rect.collidepoint(position) for rect in self.rects_of((index, index + 1))):
                    return index
        return None

    def draw(
        self, surface: pygame.Surface, theme: Theme, frame: ExpressionFrame, node: int
    ) -> None:
        """Draw the expression's text. Highlight the node with index `node`, and underline the nodes
        that the last move changed."""
        selected = frame.nodes[node]
        visible_span = self._visible_span(selected.span)
        thickness = max(1, self._line // 8)
        for rect in self.rects_of(selected.whole):
            surface.fill(theme.outline, rect.inflate(2 * thickness, 0))
        for rect in self.rects_of(visible_span):
            surface.fill(theme.accent, rect.inflate(thickness, 0))
        for changed_node in filter(lambda node: node.changed, frame.nodes):
            for rect in self.rects_of(changed_node.span):
                underline = pygame.Rect(rect.x, rect.bottom - thickness, rect.w, thickness)
                surface.fill(theme.gain, underline)
        self._draw_span(surface, (0, len(self._text)), theme.text)
        self._draw_span(surface, visible_span, theme.on_accent)

    def _visible_span(self, span: tuple[int, int]) -> tuple[int, int]:
        """Return `span`, or, if its characters have no width, such as a caret, the span with the
        character after it."""
        if span[0] < span[1] and not any(rect.w for rect in self.rects_of(span)):
            return span[0], span[1] + 1
        return span

    def _draw_span(self, surface: pygame.Surface, span: tuple[int, int], color: str) -> None:
        """Draw the characters of `span`, (start, end), in the theme colour named `color`."""
        for rect in self.rects_of(span):
            number = (rect.y - self._topleft[1]) // self._line
            row = self._text[slice(*self._rows[number])]
            picture = formula_font(self._line).render(row, color)
            midleft = self._topleft[0], rect.centery
            with clipped(surface, rect.inflate(0, self._line // 4)):
                surface.blit(picture, picture.get_rect(midleft=midleft))


# ---- stage ---------------------------------------------------------------------------------------

MIN_BAR_LINES = 6  # lines of text: a lower stage has no buttons of rules
MIN_MESSAGE_LINES = 14  # lines of text: in a lower stage, messages cover the tree
MIN_TREE_SIZE = 8  # width and height in pixels below which no tree is drawn
MIN_NODE_LINE = 6  # smaller text in nodes is not drawn
ZOOM = 1.25
FIT_TOLERANCE = 1.15  # text of a fitted tree may be smaller than readable by this factor
NODE_DOT = 2  # smallest size of a node on the map, in pixels


class TreeStage(Stage):
    """Draws an algebra session (the expression's text, its tree, and a button for each rule), and
    turns clicks and key commands into actions.

    Args:
        game: session to draw.
        theme: colours.
    """

    hinted_commands = ("next_usable", "apply", "hint", "node_before", "node_after", "node_above")
    holds = False
    has_history = True
    animation_seconds = 0.35

    def __init__(self, game: Any, theme: Theme) -> None:
        """Make the view that draws `game`, a play session, in the colours of `theme`."""
        self.view = "both"
        self.line = 16
        self._game, self._theme = game, theme
        self._frame: ExpressionFrame = game.frame()
        self._cursor = TreeCursor(self._frame)
        self._inspector = TreeInspector(game, theme, self._cursor)
        self.side_panels = (self._inspector,)
        self._hint_search: HintSearch | None = None
        self._message = ""
        self._zoomed_line: int | None = None  # line height in pixels, if the player has zoomed
        self._shows_minimap = True
        self._mouse: Pixel | None = None
        self._layout: TreeLayout | None = None
        self._tree_rect = pygame.Rect(0, 0, 0, 0)
        self._corner = (0, 0)  # corner of the layout, from that of `_tree_rect`
        self._text: WrappedText | None = None
        self._buttons: list[tuple[pygame.Rect, int]] = []  # with rule numbers
        # centers of nodes by identity, from the corner of `_tree_rect`: now, and before the move
        self._centers: dict[int, Pixel] = {}
        self._old_centers: Mapping[int, Pixel] = {}
        self._removed_nodes: tuple[TreeNode, ...] = ()
        self._differing_nodes: frozenset[int] = frozenset()  # of a comparison

    def begin(self, previous: ExpressionFrame | None, frame: ExpressionFrame) -> bool:
        """Show a new frame. Clear hint, message and highlights, and prepare an animation from
        `previous`, the frame before. Return True if something is animated."""
        self._old_centers, self._removed_nodes = {}, ()
        is_animated = bool(previous and previous.nodes != frame.nodes and self._centers)
        if previous and is_animated:
            self._old_centers = dict(self._centers)
            kept = {node.identity for node in frame.nodes}
            self._removed_nodes = tuple(n for n in previous.nodes if n.identity not in kept)
        self._frame = frame
        self._cursor.follow(frame)
        self._inspector.begin()
        self._hint_search = None
        self._message = ""
        self._differing_nodes = frozenset()
        self._mouse = None  # a player who uses keys sees the result of the move instead
        return is_animated

    def mark_differences(self, other: ExpressionFrame | None) -> None:
        """Highlight the nodes of the current expression that do not occur in the expression of
        `other`. None removes the highlights."""
        if other:
            known = {(node.text, other.text[slice(*node.whole)]) for node in other.nodes}
            self._differing_nodes = frozenset(
                node.x
                for node in self._frame.nodes
                if (node.text, self._frame.text[slice(*node.whole)]) not in known
            )

    @property
    def is_busy(self) -> bool:
        """Return True while a hint is searched for."""
        return self._hint_search is not None

    def _select_hint(self) -> None:
        """If the search for a hint has finished, show its result as a message, and select the
        suggested node and rule."""
        search = self._hint_search
        if search and not search.is_alive():
            self._hint_search = None
            self._message = search.answer
            if search.hint is not None:
                self._cursor.choose(search.hint.node, search.hint.rule)

    def facts(self) -> list[str]:
        """Return a line with the number of moves left."""
        return [f"Moves left: {self._frame.moves_remaining} of {self._frame.max_moves}"]

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, progress: float) -> None:
        """Draw text, tree and rule buttons of the current expression into `rect`. `progress` is the
        progress of the animation, from 0 to 1."""
        line = self.line
        self._select_hint()
        available = rect.copy()
        self._text = self._layout = None
        self._buttons = []
        with clipped(surface, rect):
            surface.fill(self._theme.background, rect)
            message = pygame.Rect(rect.x, rect.bottom, rect.w, 0)
            if rect.h >= MIN_BAR_LINES * line:
                bar = pygame.Rect(rect.x, rect.bottom - line * 7 // 4, rect.w, line * 7 // 4)
                self._draw_rules(surface, bar)
                message = pygame.Rect(rect.x, bar.y - line * 5 // 4, rect.w, line * 5 // 4)
                covers_tree = rect.h < MIN_MESSAGE_LINES * line
                available.h = (bar.y if covers_tree else message.y) - available.y
            if self.view != "tree":
                self._draw_text(surface, available)
            if self.view == "expression":
                self.draw_history(surface, available)
            else:
                with clipped(surface, available):  # the animation slows down towards its end
                    self._draw_tree(surface, available, progress * (2 - progress))
            self._draw_message(surface, message)

    def _draw_message(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw the current message to the player, if there is one, on a rounded background."""
        text, line = self._message or self._status_message(), self.line
        if text and rect.h:
            width = min(rect.w, measure_text(text, line) + line)
            card = pygame.Rect(rect.x + (rect.w - width) // 2, rect.y, width, rect.h)
            surface.blit(rounded_rect(card.size, line // 2, self._theme.background), card)
            color = self._theme.accent
            draw_text_line(surface, card, text, line, color, "center", get_font=formula_font)

    def _status_message(self) -> str:
        """Return the message for the player: about the search for a hint, the node under the mouse,
        or the last move."""
        if self._hint_search:
            return "Looking for a way to the goal ..."
        if self._mouse is not None and (node := self._node_at(self._mouse)) is not None:
            pointed = self._frame.nodes[node]
            rules = ", ".join(self._frame.rules[rule] for rule in pointed.rules)
            text = with_times_signs(self._frame.text[slice(*pointed.whole)])
            return f"{text}: {rules or 'no rule applies here'}"
        if self._frame.action:
            return f"{self._frame.action}: {format_reward(self._frame.reward)}"
        return ""  # the goal is shown in the panel or below

    def _draw_rules(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw a button for each rule that applies to the selected node."""
        frame, theme, line = self._frame, self._theme, self.line
        rules = () if frame.outcome else self._cursor.chosen.rules
        if not rules:
            text = "" if frame.outcome else "No rule applies to this node"
            draw_text_line(surface, rect, text, line, theme.muted, "center")
            return
        gap = line // 2
        names = [f"{rule + 1}  {frame.rules[rule]}" for rule in rules]
        if sum(measure_text(name, line) + line + gap for name in names) > rect.w:
            names = [f"{rule + 1} {frame.codes[rule]}" for rule in rules]
        widths = [measure_text(name, line) + line for name in names]
        x = rect.centerx - (sum(widths) + gap * (len(widths) - 1)) // 2
        for rule, name, width in zip(rules, names, widths, strict=True):
            button = pygame.Rect(max(rect.x, x), rect.y, width, rect.h)
            is_selected = rule == self._cursor.rule
            background = theme.accent if is_selected else theme.card
            surface.blit(rounded_rect(button.size, line // 2, background), button)
            color = theme.on_accent if is_selected else theme.text
            draw_text_line(surface, button.inflate(-gap, 0), name, line, color, "center")
            self._buttons.append((button, rule))
            x += width + gap

    def _draw_text(self, surface: pygame.Surface, available: pygame.Rect) -> None:
        """Draw the expression's text at the top of `available`, and shrink this rectangle in place
        to the space left below."""
        text_rect, max_line = available.copy(), 3 * self.line
        if self.view == "both":
            text_rect.h, max_line = available.h // 3, self.line * 5 // 4
        text = WrappedText(
            with_times_signs(self._frame.text), text_rect, max_line, self._cursor.chosen.span[0]
        )
        surface.blit(rounded_rect(text.rect.size, self.line // 2, self._theme.card), text.rect)
        text.draw(surface, self._theme, self._frame, self._cursor.node)
        self._text = text
        available.h -= text.rect.h + self.line // 2
        available.y = text.rect.bottom + self.line // 2

    def _draw_tree(self, surface: pygame.Surface, rect: pygame.Rect, progress: float) -> None:
        """Draw the tree into `rect`, with a minimap if only part of the tree fits. `progress` is
        the progress of the animation, from 0 to 1."""
        if min(rect.size) < MIN_TREE_SIZE:
            return
        layout = self._lay_out(rect.size)
        self._layout, self._tree_rect = layout, rect
        self._corner = self._tree_corner(layout, rect)
        ends = self._node_centers(layout, self._corner)
        self._centers = dict(self._animate(ends, progress)) if progress < 1 else ends
        self._draw_nodes(surface, layout, self._centers, progress)
        if self._shows_minimap and (layout.size[0] > rect.w or layout.size[1] > rect.h):
            self._draw_minimap(surface, layout, rect)

    def _node_centers(self, layout: TreeLayout, corner: Pixel) -> dict[int, Pixel]:
        """Return the centre of each node in pixels, by `TreeNode.identity`. The layout's top left
        corner is at `corner`."""
        return {
            node.identity: (rect.centerx + corner[0], rect.centery + corner[1])
            for node, rect in zip(self._frame.nodes, layout.rects, strict=True)
        }

    def _draw_nodes(
        self,
        surface: pygame.Surface,
        layout: TreeLayout,
        centers: Mapping[int, Pixel],
        progress: float,
    ) -> None:
        """Draw edges and nodes. `centers` has the position of each node by `TreeNode.identity`.
        During an animation, removed nodes are drawn as shrinking dots."""
        self._draw_edges(surface, layout, centers)
        for node in self._removed_nodes if progress < 1 else ():
            diameter = round(layout.line * (1 - progress))
            if node.identity in self._old_centers and diameter > 1:
                dot = pygame.Rect(0, 0, diameter, diameter)
                dot.center = self._to_screen(self._old_centers[node.identity])
                surface.blit(rounded_rect(dot.size, diameter // 2, self._theme.outline), dot)
        for node, layout_rect in zip(self._frame.nodes, layout.rects, strict=True):
            rect = layout_rect.copy()
            rect.center = self._to_screen(centers[node.identity])
            self._draw_node(surface, node, rect, layout.line)

    def _to_screen(self, position: Pixel) -> Pixel:
        return position[0] + self._tree_rect.x, position[1] + self._tree_rect.y

    def _lay_out(self, available: tuple[int, int]) -> TreeLayout:
        """Return the tree's layout, as large as fits into `available`, (width, height) in pixels.
        It is larger than that if the player has zoomed in or the text would be unreadable."""
        fitted = fit_tree(self._frame.nodes, available, self.line * 3 // 2)
        line, readable = fitted.line, self._readable_line
        if self._zoomed_line is not None:
            line = max(line, self._zoomed_line)
        elif line * FIT_TOLERANCE < readable:
            line = readable
        return fitted if line == fitted.line else lay_out_tree(self._frame.nodes, line)

    @property
    def _readable_line(self) -> int:
        return max(MIN_TEXT_LINE, self.line // 2)

    def _tree_corner(self, layout: TreeLayout, rect: pygame.Rect) -> Pixel:
        """Return where the layout's top left corner must be in `rect` for the selected node to be
        visible."""
        selected = layout.rects[self._cursor.node]

        def corner(size: int, available: int, middle: int) -> int:
            if size <= available:
                return (available - size) // 2
            return max(available - size, min(0, available // 2 - middle))

        return (
            corner(layout.size[0], rect.w, selected.centerx),
            corner(layout.size[1], rect.h, selected.centery),
        )

    def _animate(self, ends: Mapping[int, Pixel], progress: float) -> Iterator[tuple[int, Pixel]]:
        """Yield (identity, centre) of each node during an animation towards the centres `ends`.
        `progress` runs from 0 to 1. New nodes start at their nearest ancestor that existed
        before."""
        nodes = self._frame.nodes
        for node in nodes:
            ancestor = node
            while ancestor.identity not in self._old_centers and ancestor.parent >= 0:
                ancestor = nodes[ancestor.parent]
            end = ends[node.identity]
            start = self._old_centers.get(ancestor.identity, end)
            x, y = (round(a + (b - a) * progress) for a, b in zip(start, end, strict=True))
            yield node.identity, (x, y)

    def _draw_edges(
        self, surface: pygame.Surface, layout: TreeLayout, centers: Mapping[int, Pixel]
    ) -> None:
        """Draw the lines between the nodes and their operands."""
        nodes, thickness = self._frame.nodes, max(1, layout.line // 10)
        for node in nodes:
            if node.parent >= 0:
                start = self._to_screen(centers[nodes[node.parent].identity])
                end = self._to_screen(centers[node.identity])
                color = self._theme.gain if node.changed else self._theme.outline
                if thickness > 1:
                    pygame.draw.line(surface, color, start, end, thickness)
                pygame.draw.aaline(surface, color, start, end)

    def _draw_node(
        self, surface: pygame.Surface, node: TreeNode, rect: pygame.Rect, line_height: int
    ) -> None:
        """Draw one node into `rect` as a box with its text. Variables have round boxes, numbers
        square ones, operators slightly rounded ones."""
        if not rect.colliderect(surface.get_clip()):
            return
        radius = {"variable": rect.h // 2, "constant": rect.h // 8}.get(node.kind, rect.h // 3)
        # a pixel more around nodes of the last move, and around differences
        extra = int(node.changed) + int(node.x in self._differing_nodes)
        border = max(1, line_height // 8) + extra
        border_color, background, color = self._node_colors(node, rect)
        surface.blit(rounded_rect(rect.size, radius, border_color), rect)
        inner = rect.inflate(-2 * border, -2 * border)
        if min(inner.size) > 0:
            surface.blit(rounded_rect(inner.size, max(0, radius - border), background), inner)
        if line_height >= MIN_NODE_LINE:
            text_surface = font(line_height).render(with_times_signs(node.text), color)
            visible = text_surface.get_bounding_rect()  # some signs stand high in their line
            target = visible.copy()
            target.center = rect.center
            surface.blit(text_surface, target, visible)

    def _node_colors(self, node: TreeNode, rect: pygame.Rect) -> tuple[str, str, str]:
        """Return the colours of a node's border, background and text. `rect` is where the node is
        drawn."""
        theme = self._theme
        if node.x == self._cursor.node:
            return theme.gain if node.changed else theme.accent, theme.accent, theme.on_accent
        background, color = theme.background, theme.muted
        if node.rules:
            background, color = theme.card, theme.text
        if node.x in self._differing_nodes:
            return theme.loss, background, color
        if node.changed:
            return theme.gain, background, color
        if self._mouse is not None and rect.collidepoint(self._mouse):
            return theme.select, background, color
        return theme.muted if node.rules else theme.outline, background, color

    def _draw_minimap(self, surface: pygame.Surface, layout: TreeLayout, rect: pygame.Rect) -> None:
        """Draw a minimap of the whole tree in that corner of `rect` where it covers the fewest
        nodes."""
        theme = self._theme
        (width, height), side = layout.size, min(rect.size) // MAP_SHARE
        scale = min(side * 2 / width, side / height)
        card = pygame.Rect(0, 0, int(width * scale) + 4, int(height * scale) + 4)
        bottom, right = rect.bottom - card.h, rect.right - card.w
        corners = (right, bottom), rect.topleft, (rect.x, bottom), (right, rect.y)
        nodes = [node.move(self._to_screen(self._corner)) for node in layout.rects]
        card = min(
            (card.move(corner) for corner in corners),
            key=lambda card: len(card.collidelistall(nodes)),
        )
        surface.blit(rounded_rect(card.size, 2, theme.outline), card)
        surface.fill(theme.well, card.inflate(-2, -2))
        inner = card.inflate(-4, -4)
        left, top = inner.x - self._corner[0] * scale, inner.y - self._corner[1] * scale
        visible = pygame.Rect(left, top, rect.w * scale, rect.h * scale).clip(inner)
        surface.fill(theme.card, visible)
        pygame.draw.rect(surface, theme.select, visible, 1)
        for node, node_rect in zip(self._frame.nodes, layout.rects, strict=True):
            side = max(NODE_DOT, int(node_rect.h * scale))
            dot = pygame.Rect(0, 0, side, side)
            dot.center = (
                inner.x + int(node_rect.centerx * scale),
                inner.y + int(node_rect.centery * scale),
            )
            is_selected = node.x == self._cursor.node
            color = theme.accent if is_selected else theme.gain if node.changed else theme.muted
            surface.fill(color, dot)

    def draw_item(self, surface: pygame.Surface, rect: pygame.Rect) -> str:
        """Return an empty text: the player never holds anything."""
        return ""

    def draw_history(self, surface: pygame.Surface, rect: pygame.Rect) -> bool:
        """Draw a list of the episode's moves into `rect`. If not all fit, draw the last ones.
        Return True."""
        theme, line = self._theme, self.line
        codes = dict(zip(self._frame.rules, self._frame.codes, strict=True))
        rect = pygame.Rect(rect.x, rect.y + line // 2, rect.w, rect.h - line // 2)
        code_width, num_rows = 5 * line // 2, max(0, rect.h // line - 1)
        history = self._frame.history
        title = pygame.Rect(*rect.topleft, rect.w, line)
        draw_text_line(surface, title, "Moves", line, theme.muted)
        rows: list[tuple[str, str, str]] = []  # code of the rule, text, colour
        for entry in history[max(0, len(history) - num_rows) :]:
            first, *continued = wrap_text(with_times_signs(entry.text), line, rect.w - code_width)
            color = theme.text if entry is history[-1] else theme.muted
            rows.append((codes.get(entry.rule, ""), first, color))
            rows += [("", text, color) for text in continued]
        first_row = max(0, len(rows) - num_rows)
        for number, (code, text, color) in enumerate(rows[first_row:], start=1):
            slot = pygame.Rect(rect.x, rect.y + number * line, code_width, line)
            draw_text_line(surface, slot, code, line, theme.accent)
            slot.x, slot.w = slot.right, rect.w - code_width
            draw_text_line(surface, slot, text, line, color, get_font=formula_font)
        return True

    def draw_thumbnail(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw only the tree, centred in `rect` and as large as fits."""
        layout = fit_tree(self._frame.nodes, rect.size, rect.h // 5)
        self._tree_rect = rect
        corner = (rect.w - layout.size[0]) // 2, (rect.h - layout.size[1]) // 2
        self._draw_nodes(surface, layout, self._node_centers(layout, corner), 1.0)

    # ---- input ---------------------------------------------------------------------------

    def command(self, name: str) -> str:
        """Run the key command `name`, such as a cursor move or a change of zoom. Return the action
        to take, or "" if there is none."""
        self._message = ""
        if name == "hint":
            if not (self._frame.outcome or self._hint_search):
                self._hint_search = HintSearch(self._game)
        elif name == "minimap":
            self._shows_minimap = not self._shows_minimap
        elif name == "zoom_reset":
            self._zoomed_line = None
        elif name in ("zoom_in", "zoom_out"):
            self._zoom(1 if name == "zoom_in" else -1)
        action = self._cursor.command(name)
        if name.startswith(RULE_PREFIX) and not action and not self._frame.outcome:
            rule, rules = int(name.removeprefix(RULE_PREFIX)) - 1, self._frame.rules
            self._message = f"There are {len(rules)} rules"
            if rule < len(rules):
                self._message = f"{rules[rule]} does not apply to this node"
        return action

    def click(self, position: Pixel, button: int) -> str:
        """Handle a mouse click. A click on a node selects it, a click on a rule button returns the
        rule's action. Return "" if there is no action."""
        if button != 1:
            return ""
        self._message = ""
        for rect, rule in self._buttons:
            if rect.collidepoint(position):
                return self._cursor.action(rule)
        node = self._node_at(position)
        if node is not None:
            self._cursor.choose(node)
        return ""

    def hover(self, position: Pixel | None) -> bool:
        """Store the mouse position (None outside the window); return True if the mouse is on
        another node than before."""
        before = self._mouse and self._node_at(self._mouse)
        self._mouse = position
        return (position and self._node_at(position)) != before

    def wheel(self, position: Pixel, notches: int) -> bool:
        """Zoom by `notches` of the mouse wheel, and return True because the picture changes."""
        self._zoom(notches)
        return True

    def _zoom(self, notches: int) -> None:
        """Make the tree's text one size larger if `notches` of the mouse wheel is positive, one
        smaller if negative."""
        if self._layout is not None:
            line = self._layout.line
            step = max(1, round(line * (ZOOM - 1)))
            zoomed = line + step if notches > 0 else line - step
            self._zoomed_line = max(MIN_LINE, min(4 * self.line, zoomed))

    def _node_at(self, position: Pixel) -> int | None:
        """Return the index of the node at a position in pixels, in the tree or in the expression's
        text. None if there is no node."""
        if self._layout is not None and self._tree_rect.collidepoint(position):
            x = position[0] - self._tree_rect.x - self._corner[0]
            y = position[1] - self._tree_rect.y - self._corner[1]
            index = pygame.Rect(x, y, 1, 1).collidelist(self._layout.rects)
            return None if index < 0 else index
        character = self._text.character_at(position) if self._text else None
        if character is None:
            return None
        covers = [n for n in self._frame.nodes if n.whole[0] <= character < n.whole[1]]
        return min(covers, key=lambda n: n.whole[1] - n.whole[0]).x if covers else None
