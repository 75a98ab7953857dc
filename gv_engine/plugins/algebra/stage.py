"""Stage of algebra: draws the tree of an expression, its text, and the rules of the selected
node."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def measure_text(text: str, line: int) -> int:
    """Return the width of a text for a line height, both in pixels."""
    return font(line).size(text)[0]


def fit_tree(nodes: Sequence[TreeNode], room: tuple[int, int], max_line: int) -> TreeLayout:
    """Return a layout of a tree that fits into `room`, with text as large as possible; with the
    smallest text if even that is too large.

    Args:
        nodes: nodes of the tree, in order.
        room: width and height of the room in pixels.
        max_line: greatest line height in pixels.
    """

    def is_too_large(line: int) -> bool:
        width, height = lay_out_tree(nodes, line).size
        return width > room[0] or height > room[1]

    lines = range(MIN_LINE + 1, min(max_line, MAX_LINE) + 1)
    line = MIN_LINE + bisect_left(lines, True, key=is_too_large)
    return _stretch(lay_out_tree(nodes, line), room)


def lay_out_tree(nodes: Sequence[TreeNode], line: int) -> TreeLayout:
    """Return the narrowest layout of a tree's nodes with text that is `line` pixels high.

    Between two nodes of one row there is always a node of another row, so a node may be wider than
    a column.
    """
    gap = max(2, line // 3)
    high = line + max(2, line // 3)
    wide = [max(high, measure_text(node.text, line) + max(2, line // 2)) for node in nodes]
    pitch = high / 2
    latest: dict[int, int] = {}
    for node, side in zip(nodes, wide, strict=True):
        if (left := latest.get(node.y)) is not None:
            pitch = max(pitch, ((wide[left] + side) / 2 + gap) / (node.x - left))
        latest[node.y] = node.x
    row = high + max(3, line * 2 // 3)
    before = max(side / 2 - node.x * pitch for node, side in zip(nodes, wide, strict=True))
    return _make_layout(
        line,
        (
            (round(before + node.x * pitch), node.y * row, side, high)
            for node, side in zip(nodes, wide, strict=True)
        ),
    )


def _stretch(layout: TreeLayout, room: tuple[int, int]) -> TreeLayout:
    """Return a copy of a tree layout with larger distances between nodes, to fill `room`, but at
    most twice as wide and high."""
    (width, height), line = layout.size, layout.line
    high = layout.rects[0].h
    stretch_x = max(1.0, (min(room[0], width * 2) - line * 2) / width)
    stretch_y = max(1.0, (min(room[1], height * 2) - high) / max(1, height - high))
    return _make_layout(
        line,
        (
            (round(rect.centerx * stretch_x), round(rect.y * stretch_y), *rect.size)
            for rect in layout.rects
        ),
    )


def _make_layout(line: int, boxes: Iterable[tuple[int, int, int, int]]) -> TreeLayout:
    """Return the tree layout for nodes with the given (x of the center, top, width, height), moved
    so that the leftmost node begins at x = 0."""
    rects = []
    for center, top, width, height in boxes:
        rects.append(pygame.Rect(0, top, width, height))
        rects[-1].centerx = center
    whole = rects[0].unionall(rects)
    return TreeLayout(line, tuple(rect.move(-whole.x, 0) for rect in rects), whole.size)


# ---- written expression --------------------------------------------------------------------------

MIN_TEXT_LINE = 9
"""Height of the smallest line in pixels."""
TEXT_MARGIN = 0.4
"""Margin around the text, as a fraction of a line."""


class WrappedText:
    """Text of the expression of one frame, wrapped into lines.

    Args:
        text: text of the expression.
        room: rectangle that the text must stay in.
        max_line: greatest line height in pixels.
        chosen: index of a character that is visible even if not all lines are.

    Attributes:
        rect: part of the room that the text takes, from the top.
    """

    def __init__(self, text: str, room: pygame.Rect, max_line: int, chosen: int) -> None:
        """Wrap `text` into `room`, in lines of at most `max_line` pixels; the character with index
        `chosen` is visible even if not all lines fit."""
        self._text = text
        self._line = max(MIN_TEXT_LINE, max_line)
        inner = self._inner(room)
        while len(self._wrap(inner.w)) * self._line > inner.h and self._line > MIN_TEXT_LINE:
            self._line -= 1
            inner = self._inner(room)
        self._rows = self._wrap(inner.w)
        visible = max(1, inner.h // self._line)
        current = next((n for n, (_, end) in enumerate(self._rows) if chosen < end), 0)
        first = max(0, min(current - visible // 2, len(self._rows) - visible))
        self._rows = self._rows[first : first + visible]
        self._topleft = inner.topleft
        high = len(self._rows) * self._line + 2 * (inner.y - room.y)
        self.rect = pygame.Rect(room.x, room.y, room.w, min(room.h, high))

    def _inner(self, room: pygame.Rect) -> pygame.Rect:
        edge = ceil(self._line * TEXT_MARGIN)
        return room.inflate(-2 * edge, -2 * edge) if min(room.size) > 4 * edge else room.copy()

    def _wrap(self, width: int) -> list[tuple[int, int]]:
        """Wrap the text at spaces to `width` pixels; return (start, end) character indices of each
        line."""
        letters, text = formula_font(self._line), self._text
        rows, start = [], 0
        while start < len(text):
            ends = range(start + 1, len(text) + 1)
            fitting = bisect_right(ends, width, key=lambda end: letters.size(text[start:end])[0])
            end = start + max(1, fitting)
            if end < len(text):
                end = text.rfind(" ", start + 1, end) + 1 or end
            rows.append((start, end))
            start = end
        return rows or [(0, 0)]

    def rects_of(self, span: tuple[int, int]) -> Iterator[pygame.Rect]:
        """Yield the rectangles on the screen of the characters in `span` (start, end), one for each
        line of text."""
        letters = formula_font(self._line)
        for number, (start, end) in enumerate(self._rows):
            first, last = max(start, span[0]), min(end, span[1])
            if first < last:
                left = letters.size(self._text[start:first])[0]
                part = self._text[start:last].rstrip() if last == end else self._text[start:last]
                x, y = self._topleft[0] + left, self._topleft[1] + number * self._line
                yield pygame.Rect(x, y, letters.size(part)[0] - left, self._line)

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
        """Draw the expression's text on `surface`; the node with index `node` is highlighted, and
        nodes changed by the last move are underlined."""
        chosen = frame.nodes[node]
        thick = max(1, self._line // 8)
        for place in self.rects_of(chosen.whole):
            surface.fill(theme.outline, place.inflate(2 * thick, 0))
        for place in self.rects_of(self._visible_span(chosen.span)):
            surface.fill(theme.accent, place.inflate(thick, 0))
        for changed in frame.nodes:
            if changed.changed:
                for place in self.rects_of(changed.span):
                    line = pygame.Rect(place.x, place.bottom - thick, place.w, thick)
                    surface.fill(theme.gain, line)
        self._draw_span(surface, (0, len(self._text)), theme.text)
        self._draw_span(surface, self._visible_span(chosen.span), theme.on_accent)

    def _visible_span(self, span: tuple[int, int]) -> tuple[int, int]:
        if span[0] < span[1] and not any(place.w for place in self.rects_of(span)):
            return span[0], span[1] + 1
        return span

    def _draw_span(self, surface: pygame.Surface, span: tuple[int, int], color: str) -> None:
        """Draw the characters in `span` (start, end) in a colour."""
        letters = formula_font(self._line)
        for place in self.rects_of(span):
            number = (place.y - self._topleft[1]) // self._line
            picture = letters.render(self._text[slice(*self._rows[number])], color)
            whole = pygame.Rect(self._topleft[0], place.y, picture.get_width(), self._line)
            with clipped(surface, place.inflate(0, self._line // 4)):
                surface.blit(picture, picture.get_rect(midleft=whole.midleft))


# ---- stage ---------------------------------------------------------------------------------------

MIN_ROOMY_LINES = 14  # lines of text: in a lower stage, notes cover the tree
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
    animation_seconds = 0.35

    def __init__(self, game: Any, theme: Theme) -> None:
        self.view = "both"
        self.line = 16
        self._game, self._theme = game, theme
        self._frame: ExpressionFrame = game.frame()
        self._cursor = TreeCursor(self._frame)
        self._inspector = TreeInspector(game, theme, self._cursor)
        self.side_panels = (self._inspector,)
        self._hint_search: HintSearch | None = None
        self._note = ""
        self._zoomed_line: int | None = None  # line height in pixels, if the player has zoomed
        self._has_map = True
        self._mouse: Pixel | None = None
        self._layout: TreeLayout | None = None
        self._room = pygame.Rect(0, 0, 0, 0)  # rectangle of the tree
        self._corner = (0, 0)  # corner of the layout in the room
        self._text: WrappedText | None = None
        self._buttons: list[tuple[pygame.Rect, int]] = []
        self._centers: dict[int, Pixel] = {}  # centers by identity, from the corner of the room
        self._removed: tuple[TreeNode, ...] = ()
        self._starts: Mapping[int, Pixel] = {}
        self._changed_nodes: frozenset[int] = frozenset()

    def begin(self, previous: ExpressionFrame | None, frame: ExpressionFrame) -> bool:
        """Set the frame to draw; prepare an animation from the frame `previous`, and remove hint,
        note and highlights. Return True if there is an animation."""
        moves = previous is not None and previous.nodes != frame.nodes and bool(self._centers)
        self._starts = dict(self._centers) if moves else {}
        staying = {node.identity for node in frame.nodes}
        left = previous.nodes if moves and previous is not None else ()
        self._removed = tuple(node for node in left if node.identity not in staying)
        self._frame = frame
        self._cursor.follow(frame)
        self._inspector.begin()
        self._hint_search = None
        self._note = ""
        self._changed_nodes = frozenset()
        self._mouse = None  # a player who uses keys sees the result of the move instead
        return moves

    def mark_differences(self, other: ExpressionFrame | None) -> None:
        """Highlight the nodes that do not occur in the expression of the frame `other`."""
        if other:
            theirs = {(node.text, other.text[slice(*node.whole)]) for node in other.nodes}
            ours = ((node, self._frame.text[slice(*node.whole)]) for node in self._frame.nodes)
            self._changed_nodes = frozenset(
                node.x for node, whole in ours if (node.text, whole) not in theirs
            )

    @property
    def is_busy(self) -> bool:
        """Return True while a hint is searched for."""
        return self._hint_search is not None

    def _select_hint(self) -> None:
        """If the search for a hint has ended, show its result as a note, and select the node and
        rule of the hint."""
        search = self._hint_search
        if search and not search.is_alive():
            self._hint_search = None
            self._note = search.answer
            if search.hint is not None:
                self._cursor.choose(search.hint.node, search.hint.rule)

    def facts(self) -> list[str]:
        """Return a line with the number of moves left."""
        return [f"Moves left: {self._frame.moves_remaining} of {self._frame.max_moves}"]

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, progress: float) -> None:
        """Draw the current expression's text, tree and rule buttons into `rect`; `progress` of the
        animation is from 0 to 1."""
        line = self.line
        self._select_hint()
        rest = rect.copy()
        self._text = self._layout = None
        self._buttons = []
        with clipped(surface, rect):
            surface.fill(self._theme.background, rect)
            note = pygame.Rect(rect.x, rect.bottom, rect.w, 0)
            if rect.h >= 6 * line:
                bar = pygame.Rect(rect.x, rect.bottom - line * 7 // 4, rect.w, line * 7 // 4)
                self._draw_rules(surface, bar)
                note = pygame.Rect(rect.x, bar.y - line * 5 // 4, rect.w, line * 5 // 4)
                # in a low stage the note covers part of the tree
                rest.h = (note.y if rect.h >= MIN_ROOMY_LINES * line else bar.y) - rest.y
            if self.view != "tree":
                self._draw_text(surface, rest)
            if self.view == "expression":
                self.draw_history(surface, rest)
            else:
                with clipped(surface, rest):
                    self._draw_tree(surface, rest, progress * (2 - progress))
            self._draw_note(surface, note)

    def _draw_note(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw the current message to the player, if there is one, on a rounded background."""
        text = self._note or self._status_note()
        if text and rect.h:
            card = rect.inflate(min(0, measure_text(text, self.line) + self.line - rect.w), 0)
            surface.blit(rounded_rect(card.size, self.line // 2, self._theme.background), card)
            ink = self._theme.accent
            draw_text_line(surface, card, text, self.line, ink, "center", get_font=formula_font)

    def _status_note(self) -> str:
        """Return a message to the player on the search for a hint, the node under the mouse, or the
        last move."""
        if self._hint_search:
            return "Looking for a way to the goal ..."
        if self._mouse is not None and (node := self._node_at(self._mouse)) is not None:
            pointed = self._frame.nodes[node]
            rules = ", ".join(self._frame.rules[rule] for rule in pointed.rules)
            text = self._frame.text[slice(*pointed.whole)]
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
            chosen = rule == self._cursor.rule
            color = theme.accent if chosen else theme.card
            surface.blit(rounded_rect(button.size, line // 2, color), button)
            ink = theme.on_accent if chosen else theme.text
            draw_text_line(surface, button.inflate(-gap, 0), name, line, ink, "center")
            self._buttons.append((button, rule))
            x += width + gap

    def _draw_text(self, surface: pygame.Surface, rest: pygame.Rect) -> None:
        """Draw the text of the expression at the top of the rectangle `rest`, and shrink `rest` to
        the space below the text."""
        alone = self.view == "expression"
        room = pygame.Rect(rest.x, rest.y, rest.w, rest.h if alone else rest.h // 3)
        max_line = self.line * (3 if alone else 5) // (1 if alone else 4)
        text = WrappedText(self._frame.text, room, max_line, self._cursor.chosen.span[0])
        surface.blit(rounded_rect(text.rect.size, self.line // 2, self._theme.card), text.rect)
        text.draw(surface, self._theme, self._frame, self._cursor.node)
        self._text = text
        rest.h -= text.rect.h + self.line // 2
        rest.y = text.rect.bottom + self.line // 2

    def _draw_tree(self, surface: pygame.Surface, room: pygame.Rect, progress: float) -> None:
        """Draw the tree into `room`; if only a part of the tree is visible, also a minimap.
        `progress` of the animation is from 0 to 1."""
        if min(room.size) < 8:
            return
        layout = self._lay_out(room.size)
        self._layout, self._room = layout, room
        self._corner = self._tree_corner(layout, room)
        ends = self._node_centers(layout, self._corner)
        self._centers = dict(self._animate(ends, progress)) if progress < 1 else ends
        self._draw_nodes(surface, layout, self._centers, progress)
        if self._has_map and (layout.size[0] > room.w or layout.size[1] > room.h):
            self._draw_map(surface, layout, room)

    def _node_centers(self, layout: TreeLayout, corner: Pixel) -> dict[int, Pixel]:
        """Return the center in pixels of each node, by `TreeNode.identity`, for a layout with its
        top left corner at `corner`."""
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
        """Draw edges and nodes at `centers`, which are by node identity. During an animation,
        removed nodes are drawn as shrinking dots."""
        self._draw_edges(surface, layout, centers)
        for node in self._removed if progress < 1 else ():
            side = round(layout.line * (1 - progress))
            if node.identity in self._starts and side > 1:
                dot = pygame.Rect(0, 0, side, side)
                dot.center = self._in_room(self._starts[node.identity])
                surface.blit(rounded_rect(dot.size, side // 2, self._theme.outline), dot)
        for node, rect in zip(self._frame.nodes, layout.rects, strict=True):
            place = rect.copy()
            place.center = self._in_room(centers[node.identity])
            self._draw_node(surface, node, place, layout.line)

    def _in_room(self, position: Pixel) -> Pixel:
        return position[0] + self._room.x, position[1] + self._room.y

    def _lay_out(self, room: tuple[int, int]) -> TreeLayout:
        """Return the tree layout for the player's zoom; without zoom, as large as fits into `room`,
        but at least readable."""
        whole = fit_tree(self._frame.nodes, room, self.line * 3 // 2)
        if self._zoomed_line is None:
            line = self._readable if whole.line * FIT_TOLERANCE < self._readable else whole.line
        else:
            line = max(whole.line, self._zoomed_line)
        return whole if line == whole.line else lay_out_tree(self._frame.nodes, line)

    @property
    def _readable(self) -> int:
        return max(9, self.line // 2)

    def _tree_corner(self, layout: TreeLayout, room: pygame.Rect) -> Pixel:
        """Return the position of the layout's top left corner in `room`, such that the selected
        node is visible."""
        place = layout.rects[self._cursor.node]
        x, y = (
            (space - size) // 2 if size <= space else max(space - size, min(0, space // 2 - middle))
            for size, space, middle in zip(layout.size, room.size, place.center, strict=True)
        )
        return x, y

    def _animate(self, ends: Mapping[int, Pixel], progress: float) -> Iterator[tuple[int, Pixel]]:
        """Yield (identity, center) of each node at `progress` of the animation towards the centers
        `ends`. New nodes start at their nearest ancestor that existed before."""
        nodes = self._frame.nodes
        for node in nodes:
            end = start = ends[node.identity]
            above: TreeNode | None = node
            while above is not None:
                if above.identity in self._starts:
                    start = self._starts[above.identity]
                    break
                above = nodes[above.parent] if above.parent >= 0 else None
            x, y = (round(a + (b - a) * progress) for a, b in zip(start, end, strict=True))
            yield node.identity, (x, y)

    def _draw_edges(
        self, surface: pygame.Surface, layout: TreeLayout, centers: Mapping[int, Pixel]
    ) -> None:
        """Draw the lines between the nodes and their operands."""
        nodes, thick = self._frame.nodes, max(1, layout.line // 10)
        for node in nodes:
            if node.parent >= 0:
                start = self._in_room(centers[nodes[node.parent].identity])
                end = self._in_room(centers[node.identity])
                color = self._theme.gain if node.changed else self._theme.outline
                if thick > 1:
                    pygame.draw.line(surface, color, start, end, thick)
                pygame.draw.aaline(surface, color, start, end)

    def _draw_node(
        self, surface: pygame.Surface, node: TreeNode, place: pygame.Rect, line: int
    ) -> None:
        """Draw a node into `place` as a box with its text: round for variables, square for numbers,
        in between for operators."""
        if not place.colliderect(surface.get_clip()):
            return
        theme = self._theme
        radius = {"variable": place.h // 2, "constant": place.h // 8}.get(node.kind, place.h // 3)
        edge = max(1, line // 8)
        chosen = node.x == self._cursor.node
        pointed = self._mouse is not None and place.collidepoint(self._mouse)
        rim = theme.select if pointed else theme.muted if node.rules else theme.outline
        ground = theme.card if node.rules else theme.background
        ink = theme.text if node.rules else theme.muted
        if node.changed:
            rim, edge = theme.gain, edge + 1
        if node.x in self._changed_nodes:
            rim, edge = theme.loss, edge + 1
        if chosen:
            rim = theme.gain if node.changed else theme.accent
            ground, ink = theme.accent, theme.on_accent
        surface.blit(rounded_rect(place.size, radius, rim), place)
        inner = place.inflate(-2 * edge, -2 * edge)
        if min(inner.size) > 0:
            surface.blit(rounded_rect(inner.size, max(0, radius - edge), ground), inner)
        if line > 5:
            picture = font(line).render(node.text, ink)
            shown = picture.get_bounding_rect()  # some signs stand high in their line
            shown.center = place.center
            surface.blit(picture, shown, picture.get_bounding_rect())

    def _draw_map(self, surface: pygame.Surface, layout: TreeLayout, room: pygame.Rect) -> None:
        """Draw a minimap of the whole tree in the corner of `room` where it covers the fewest
        nodes."""
        theme = self._theme
        side = min(room.size) // MAP_SHARE
        scale = min(side * 2 / layout.size[0], side / layout.size[1])
        card = pygame.Rect(0, 0, int(layout.size[0] * scale) + 4, int(layout.size[1] * scale) + 4)
        moved = [place.move(self._in_room(self._corner)) for place in layout.rects]
        cards = []
        for name in ("bottomright", "topleft", "bottomleft", "topright"):
            setattr(card, name, getattr(room, name))
            cards.append(card.copy())
        card = min(cards, key=lambda rect: len(rect.collidelistall(moved)))
        surface.blit(rounded_rect(card.size, 2, theme.outline), card)
        surface.fill(theme.well, card.inflate(-2, -2))
        inner = card.inflate(-4, -4)
        left, top = inner.x - self._corner[0] * scale, inner.y - self._corner[1] * scale
        shown = pygame.Rect(left, top, room.w * scale, room.h * scale).clip(inner)
        surface.fill(theme.card, shown)
        pygame.draw.rect(surface, theme.select, shown, 1)
        for node, place in zip(self._frame.nodes, layout.rects, strict=True):
            side = max(NODE_DOT, int(place.h * scale))
            dot = pygame.Rect(0, 0, side, side)
            dot.center = inner.x + int(place.centerx * scale), inner.y + int(place.centery * scale)
            chosen = node.x == self._cursor.node
            color = theme.accent if chosen else theme.gain if node.changed else theme.muted
            surface.fill(color, dot)

    def draw_item(self, surface: pygame.Surface, rect: pygame.Rect) -> str:
        """Return an empty text: the player never holds anything."""
        return ""

    def draw_history(self, surface: pygame.Surface, rect: pygame.Rect) -> bool:
        """Draw the moves of the episode as a list into `rect`, the last moves if not all fit;
        return True."""
        theme, line = self._theme, self.line
        codes = dict(zip(self._frame.rules, self._frame.codes, strict=True))
        aside, rows, ink = 5 * line // 2, rect.h // line - 1, theme.text
        draw_text_line(
            surface, pygame.Rect(*rect.topleft, rect.w, line), "Moves", line, theme.muted
        )
        lines: list[tuple[str, str, str]] = []  # rule, text and colour, from the bottom
        for entry in reversed(self._frame.history):
            first, *others = wrap_text(entry.text, line, rect.w - aside)
            lines += [("", text, ink) for text in reversed(others)]
            lines.append((codes.get(entry.rule, ""), first, ink))
            ink = theme.muted
            if len(lines) >= rows:
                break
        for number, (code, text, ink) in enumerate(reversed(lines[: max(0, rows)]), start=1):
            slot = pygame.Rect(rect.x, rect.y + number * line, aside, line)
            draw_text_line(surface, slot, code, line, theme.accent)
            slot.x, slot.w = slot.right, rect.w - aside
            draw_text_line(surface, slot, text, line, ink, get_font=formula_font)
        return True

    def draw_thumbnail(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw only the tree, in the center of `rect` and as large as fits."""
        layout = fit_tree(self._frame.nodes, rect.size, rect.h // 5)
        self._room = rect
        corner = (rect.w - layout.size[0]) // 2, (rect.h - layout.size[1]) // 2
        self._draw_nodes(surface, layout, self._node_centers(layout, corner), 1.0)

    # ---- input ---------------------------------------------------------------------------

    def command(self, name: str) -> str:
        """Run the key command `name` of the groups `algebra` or `view`; return the action to take,
        or an empty text."""
        self._note = ""
        if name == "hint":
            if not (self._frame.outcome or self._hint_search):
                self._hint_search = HintSearch(self._game)
        elif name == "minimap":
            self._has_map = not self._has_map
        elif name == "zoom_reset":
            self._zoomed_line = None
        elif name in ("zoom_in", "zoom_out"):
            self._zoom(1 if name == "zoom_in" else -1)
        action = self._cursor.command(name)
        if name.startswith(RULE_PREFIX) and not action and not self._frame.outcome:
            rule = int(name.removeprefix(RULE_PREFIX)) - 1
            rules = self._frame.rules
            self._note = (
                f"{rules[rule]} does not apply to this node"
                if rule < len(rules)
                else f"There are {len(rules)} rules"
            )
        return action

    def click(self, position: Pixel, button: int) -> str:
        """Handle a mouse click: select the clicked node, or return the action of the clicked rule
        button, else an empty text."""
        if button != 1:
            return ""
        self._note = ""
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
        """Make the text in the tree one step larger for positive `notches` of the mouse wheel,
        smaller for negative ones."""
        if self._layout is not None:
            line = self._layout.line
            step = max(1, round(line * (ZOOM - 1)))
            self._zoomed_line = max(3, min(4 * self.line, line + step * (1 if notches > 0 else -1)))

    def _node_at(self, position: Pixel) -> int | None:
        """Return the index of the node at a position in pixels, in the tree or in the text; None if
        there is none."""
        if self._layout is not None and self._room.collidepoint(position):
            x = position[0] - self._room.x - self._corner[0]
            y = position[1] - self._room.y - self._corner[1]
            index = pygame.Rect(x, y, 1, 1).collidelist(self._layout.rects)
            return None if index < 0 else index
        character = self._text.character_at(position) if self._text else None
        if character is None:
            return None
        covers = [n for n in self._frame.nodes if n.whole[0] <= character < n.whole[1]]
        return min(covers, key=lambda n: n.whole[1] - n.whole[0]).x if covers else None
