"""The stage of algebra: the tree of an expression, the expression as it is written, its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from gv_engine.domains.algebra.episode import RULE, TreeCursor
from gv_engine.domains.algebra.hints import Advice
from gv_engine.domains.algebra.inspector import TreeInspector
from gv_engine.domains.algebra.parsing import formulas
from gv_engine.rules.frame import ExpressionFrame, TreeNode
from gv_engine.scenario.map import signed
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import MAP_SHARE, Stage
from gv_engine.ui.drawing.text import draw_text_line, font, rounded_rect
from gv_engine.ui.drawing.widgets import Pixel, wrap_text

# ---- tree layout ---------------------------------------------------------------------------------

LEAST_LINE, LARGEST_LINE = 3, 40
"""Pixels of a line in a node."""

Width = Callable[[str, int], int]
"""How wide a text is at a height of line, both in pixels."""


class TreeLayout(NamedTuple):
    """Places for the nodes of one tree; none overlaps another.

    Attributes:
        line: height of the text in the nodes, in pixels.
        places: of the nodes in order; the tree begins at (0, 0).
        size: width and height of the whole.
    """

    line: int
    places: tuple[pygame.Rect, ...]
    size: tuple[int, int]


def fit(nodes: Sequence[TreeNode], room: tuple[int, int], most: int, width: Width) -> TreeLayout:
    """The largest layout that fits into a room; the smallest there is, where none does.

    Args:
        nodes: in order.
        room: its width and height in pixels.
        most: pixels of a line that need not be surpassed.
        width: of texts.
    """
    low, high = LEAST_LINE, max(LEAST_LINE, min(most, LARGEST_LINE))
    while low < high:  # more lines need more room
        middle = (low + high + 1) // 2
        size = lay_out(nodes, middle, width).size
        if size[0] <= room[0] and size[1] <= room[1]:
            low = middle
        else:
            high = middle - 1
    return _spread(lay_out(nodes, low, width), room)


def lay_out(nodes: Sequence[TreeNode], line: int, width: Width) -> TreeLayout:
    """A layout, as narrow as it gets, with text of so many pixels.

    Two nodes of one row always have another between them, so that a node may be wider than a
    column.
    """
    gap = max(2, line // 3)
    high = line + max(2, line // 3)
    wide = [max(high, width(node.text, line) + max(2, line // 2)) for node in nodes]
    pitch = high / 2
    latest: dict[int, int] = {}
    for node, side in zip(nodes, wide, strict=True):
        left = latest.get(node.y)
        if left is not None:
            pitch = max(pitch, ((wide[left] + side) / 2 + gap) / (node.x - left))
        latest[node.y] = node.x
    row = high + max(3, line * 2 // 3)
    before = max((side / 2 - node.x * pitch for node, side in zip(nodes, wide, strict=True)))
    places = []
    for node, side in zip(nodes, wide, strict=True):
        place = pygame.Rect(0, node.y * row, side, high)
        place.centerx = round(before + node.x * pitch)
        places.append(place)
    whole = places[0].unionall(places)
    return TreeLayout(line, tuple(place.move(-whole.x, 0) for place in places), whole.size)


def _spread(layout: TreeLayout, room: tuple[int, int]) -> TreeLayout:
    """Pull a layout apart where there is room left, but not so far that lines get long."""
    (width, height), line = layout.size, layout.line
    high = layout.places[0].h
    across = min(room[0], width * 2) - line * 2
    down = min(room[1], height * 2)
    stretch_x = max(1.0, across / width)
    stretch_y = max(1.0, (down - high) / max(1, height - high))
    places = []
    for place in layout.places:
        moved = place.copy()
        moved.centerx = round(place.centerx * stretch_x)
        moved.y = round(place.y * stretch_y)
        places.append(moved)
    whole = places[0].unionall(places)
    return TreeLayout(line, tuple(place.move(-whole.x, 0) for place in places), whole.size)


# ---- writing -------------------------------------------------------------------------------------

LEAST_FONT_SIZE = 9
"""Pixels of the smallest line."""
BESIDE = 0.4
"""Of a line: what is free around the text."""


class Writing:
    """The expression of one frame, in as many lines as it needs.

    Args:
        text: the expression.
        room: that it keeps to.
        most: height of a line that need not be surpassed, in pixels.
        chosen: a character that is shown even if not all are.

    Attributes:
        rect: what is taken of the room, from its top.
    """

    def __init__(self, text: str, room: pygame.Rect, most: int, chosen: int) -> None:
        self._text = text
        self._line = max(LEAST_FONT_SIZE, most)
        inner = self._inner(room)
        while len(self._wrap(inner.w)) * self._line > inner.h and self._line > LEAST_FONT_SIZE:
            self._line -= 1
            inner = self._inner(room)
        self._rows = self._wrap(inner.w)
        shown = max(1, inner.h // self._line)
        current = next((n for n, (_, end) in enumerate(self._rows) if chosen < end), 0)
        first = max(0, min(current - shown // 2, len(self._rows) - shown))
        self._rows = self._rows[first : first + shown]
        self._at = inner.topleft
        high = len(self._rows) * self._line + 2 * (inner.y - room.y)
        self.rect = pygame.Rect(room.x, room.y, room.w, min(room.h, high))

    def _inner(self, room: pygame.Rect) -> pygame.Rect:
        edge = ceil(self._line * BESIDE)
        return room.inflate(-2 * edge, -2 * edge) if min(room.size) > 4 * edge else room.copy()

    def _wrap(self, width: int) -> list[tuple[int, int]]:
        """First characters and ends of the lines; they break at blanks."""
        letters, text = formulas(self._line), self._text
        rows, start = [], 0
        while start < len(text):
            end = len(text)
            while letters.size(text[start:end])[0] > width and end > start + 1:
                blank = text.rfind(" ", start + 1, end - 1)
                end = blank + 1 if blank > start else end - 1
            rows.append((start, end))
            start = end
        return rows or [(0, 0)]

    def places(self, span: tuple[int, int]) -> Iterator[pygame.Rect]:
        """Where characters from one to another stand, line by line."""
        letters = formulas(self._line)
        for number, (start, end) in enumerate(self._rows):
            first, last = max(start, span[0]), min(end, span[1])
            if first < last:
                left = letters.size(self._text[start:first])[0]
                shown = self._text[start:last].rstrip() if last == end else self._text[start:last]
                x, y = self._at[0] + left, self._at[1] + number * self._line
                yield pygame.Rect(x, y, letters.size(shown)[0] - left, self._line)

    def at(self, position: tuple[int, int]) -> int | None:
        """The character that stands there."""
        for start, end in self._rows:
            for character in range(start, end):
                if any(
                    rect.collidepoint(position) for rect in self.places((character, character + 1))
                ):
                    return character
        return None

    def draw(
        self, surface: pygame.Surface, theme: Theme, frame: ExpressionFrame, node: int
    ) -> None:
        """Write it, with one node and all below it marked, and what has changed underlined."""
        chosen = frame.nodes[node]
        thick = max(1, self._line // 8)
        for place in self.places(chosen.whole):
            surface.fill(theme.outline, place.inflate(2 * thick, 0))
        for place in self.places(self._seen(chosen.span)):
            surface.fill(theme.accent, place.inflate(thick, 0))
        for changed in frame.nodes:
            if changed.changed:
                for place in self.places(changed.span):
                    line = pygame.Rect(place.x, place.bottom - thick, place.w, thick)
                    surface.fill(theme.gain, line)
        self._write(surface, (0, len(self._text)), theme.text)
        self._write(surface, self._seen(chosen.span), theme.on_accent)

    def _seen(self, span: tuple[int, int]) -> tuple[int, int]:
        """The characters that stand for some; those of the exponent for a caret that is not
        written."""
        if span[0] < span[1] and not any(place.w for place in self.places(span)):
            return span[0], span[1] + 1
        return span

    def _write(self, surface: pygame.Surface, span: tuple[int, int], color: str) -> None:
        """Write the lines, as far as they are from one character to another."""
        before, letters = surface.get_clip(), formulas(self._line)
        for place in self.places(span):
            number = (place.y - self._at[1]) // self._line
            picture = letters.render(self._text[slice(*self._rows[number])], color)
            whole = pygame.Rect(self._at[0], place.y, picture.get_width(), self._line)
            surface.set_clip(place.inflate(0, self._line // 4).clip(before))
            surface.blit(picture, picture.get_rect(midleft=whole.midleft))
        surface.set_clip(before)


# ---- stage ---------------------------------------------------------------------------------------

ROOMY = 14  # lines of text: a lower stage is short of room
ZOOM = 1.25
NEARLY = 1.15  # a tree that could fit if letters were smaller by this much does
NODE_DOT = 2  # pixels of a node on the map, at least


def text_width(text: str, line: int) -> int:
    """How wide a text is at a height of line, both in pixels."""
    return font(line).size(text)[0]


class TreeStage(Stage):
    """Draws a game of algebra.

    Args:
        game: what is played.
        theme: its colours.
    """

    hinted_commands = ("next_usable", "apply", "hint", "node_before", "node_after", "node_above")
    holds = False
    glide = 0.35

    def __init__(self, game: Any, theme: Theme) -> None:
        self.view = "both"
        self.line = 16
        self._game, self._theme = game, theme
        self._frame: ExpressionFrame = game.frame()
        self._cursor = TreeCursor(self._frame)
        self._inspector = TreeInspector(game, theme, self._cursor)
        self.side_panels = (self._inspector,)
        self._advice: Advice | None = None
        self._note = ""
        self._zoomed: int | None = None  # pixels of a line, if the player has zoomed
        self._has_map = True
        self._mouse: Pixel | None = None
        self._layout: TreeLayout | None = None
        self._room = pygame.Rect(0, 0, 0, 0)  # of the tree
        self._corner = (0, 0)  # of the tree, where the layout begins
        self._writing: Writing | None = None
        self._buttons: list[tuple[pygame.Rect, int]] = []
        self._drawn: dict[int, Pixel] = {}  # by identity: middles, from the corner of the room
        self._gone: tuple[TreeNode, ...] = ()
        self._from: Mapping[int, Pixel] = {}
        self._different: frozenset[int] = frozenset()

    def begin(self, previous: ExpressionFrame | None, frame: ExpressionFrame) -> bool:
        moves = previous is not None and previous.nodes != frame.nodes and bool(self._drawn)
        self._from = dict(self._drawn) if moves else {}
        staying = {node.identity for node in frame.nodes}
        left = previous.nodes if moves and previous is not None else ()
        self._gone = tuple(node for node in left if node.identity not in staying)
        self._frame = frame
        self._cursor.follow(frame)
        self._inspector.begin()
        self._advice = None
        self._note = ""
        self._different = frozenset()
        self._mouse = None  # who plays with keys wants to see what the move has done
        return moves

    def mark_differences(self, other: ExpressionFrame | None) -> None:
        """Mark the nodes that another expression lacks."""
        if other:
            there = {(node.text, other.text[slice(*node.whole)]) for node in other.nodes}
            mine = ((node, self._frame.text[slice(*node.whole)]) for node in self._frame.nodes)
            self._different = frozenset(
                node.x for node, whole in mine if (node.text, whole) not in there
            )

    @property
    def is_busy(self) -> bool:
        """Whether a hint is looked for."""
        return self._advice is not None

    def _take_advice(self) -> None:
        """Choose the node and rule of a hint that was found."""
        if self._advice is None or self._advice.is_alive():
            return
        advice, self._advice = self._advice, None
        self._note = advice.answer
        if advice.hint is not None:
            self._cursor.choose(advice.hint.node, advice.hint.rule)

    def facts(self) -> list[str]:
        """How many moves are left."""
        frame = self._frame
        return [f"Moves left: {frame.moves_remaining} of {frame.max_moves}"]

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, progress: float) -> None:
        """Draw the written expression, the tree, and the rules that apply to the chosen node."""
        theme, line = self._theme, self.line
        before = surface.get_clip()
        surface.set_clip(rect.clip(before))
        surface.fill(theme.background, rect)
        self._take_advice()
        rest = rect.copy()
        self._writing = self._layout = None
        self._buttons = []
        note = pygame.Rect(rect.x, rect.bottom, rect.w, 0)
        if rect.h >= 6 * line:
            bar = pygame.Rect(rect.x, rect.bottom - line * 7 // 4, rect.w, line * 7 // 4)
            self._draw_rules(surface, bar)
            note = pygame.Rect(rect.x, bar.y - line * 5 // 4, rect.w, line * 5 // 4)
            # where room is short, what is said may cover some of the tree
            rest.h = (note.y if rect.h >= ROOMY * line else bar.y) - rest.y
        if self.view != "tree":
            self._draw_writing(surface, rest)
        if self.view == "expression":
            self.draw_history(surface, rest)
        else:
            self._draw_tree(surface, rest, progress * (2 - progress))
        self._draw_note(surface, note)
        surface.set_clip(before)

    def _draw_note(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        said = self._note or self._said()
        if said and rect.h:
            card = rect.inflate(min(0, text_width(said, self.line) + self.line - rect.w), 0)
            surface.blit(rounded_rect(card.size, self.line // 2, self._theme.background), card)
            ink = self._theme.accent
            draw_text_line(surface, card, said, self.line, ink, "center", letters=formulas)

    def _said(self) -> str:
        """What is pointed at, or what has happened."""
        if self._advice:
            return "Looking for a way to the goal ..."
        if self._mouse is not None and (node := self._node_at(self._mouse)) is not None:
            pointed = self._frame.nodes[node]
            rules = ", ".join(self._frame.rules[rule] for rule in pointed.rules)
            text = self._frame.text[slice(*pointed.whole)]
            return f"{text}: {rules or 'no rule applies here'}"
        if self._frame.action:
            return f"{self._frame.action}: {signed(self._frame.reward)}"
        return ""  # the goal stands in the panel or below

    def _draw_rules(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """A button for each rule of the chosen node."""
        frame, theme, line = self._frame, self._theme, self.line
        rules = () if frame.outcome else self._cursor.chosen.rules
        if not rules:
            said = "" if frame.outcome else "No rule applies to this node"
            draw_text_line(surface, rect, said, line, theme.muted, "center")
            return
        gap = line // 2
        names = [f"{rule + 1}  {frame.rules[rule]}" for rule in rules]
        if sum(text_width(name, line) + line + gap for name in names) > rect.w:
            names = [f"{rule + 1} {frame.codes[rule]}" for rule in rules]
        widths = [text_width(name, line) + line for name in names]
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

    def _draw_writing(self, surface: pygame.Surface, rest: pygame.Rect) -> None:
        """The written expression; what it takes is gone from the rest."""
        alone = self.view == "expression"
        room = pygame.Rect(rest.x, rest.y, rest.w, rest.h if alone else rest.h // 3)
        most = self.line * (3 if alone else 5) // (1 if alone else 4)
        writing = Writing(self._frame.text, room, most, self._cursor.chosen.span[0])
        surface.blit(
            rounded_rect(writing.rect.size, self.line // 2, self._theme.card), writing.rect
        )
        writing.draw(surface, self._theme, self._frame, self._cursor.node)
        self._writing = writing
        rest.h -= writing.rect.h + self.line // 2
        rest.y = writing.rect.bottom + self.line // 2

    def _draw_tree(self, surface: pygame.Surface, room: pygame.Rect, progress: float) -> None:
        if min(room.size) < 8:
            return
        before = surface.get_clip()
        surface.set_clip(room.clip(before))
        frame = self._frame
        layout = self._lay_out(room.size)
        self._layout, self._room = layout, room
        self._corner = self._scrolled(layout, room)
        ends = {
            node.identity: (place.centerx + self._corner[0], place.centery + self._corner[1])
            for node, place in zip(frame.nodes, layout.places, strict=True)
        }
        middles = dict(self._moving(ends, progress)) if progress < 1 else ends
        self._draw_edges(surface, layout, middles)
        for node in self._gone if progress < 1 else ():
            if node.identity in self._from:
                self._draw_fading(surface, self._from[node.identity], layout.line, 1 - progress)
        for node, place in zip(frame.nodes, layout.places, strict=True):
            moved = place.copy()
            x, y = middles[node.identity]
            moved.center = x + room.x, y + room.y
            self._draw_node(surface, node, moved, layout.line)
        self._drawn = middles
        if self._has_map and (layout.size[0] > room.w or layout.size[1] > room.h):
            self._draw_map(surface, layout, room)
        surface.set_clip(before)

    def _lay_out(self, room: tuple[int, int]) -> TreeLayout:
        """As large as fits, but readable; or as the player has zoomed."""
        nodes, line = self._frame.nodes, self.line
        whole = fit(nodes, room, line * 3 // 2, text_width)
        if self._zoomed is not None and self._zoomed > whole.line:
            return lay_out(nodes, self._zoomed, text_width)
        if self._zoomed is None and whole.line * NEARLY < self._readable:
            return lay_out(nodes, self._readable, text_width)
        return whole

    @property
    def _readable(self) -> int:
        """Pixels of a line that can be read."""
        return max(9, self.line // 2)

    def _scrolled(self, layout: TreeLayout, room: pygame.Rect) -> Pixel:
        """Where the tree begins, so that the chosen node is in sight."""
        place = layout.places[self._cursor.node]
        x, y = (
            (space - size) // 2 if size <= space else max(space - size, min(0, space // 2 - middle))
            for size, space, middle in zip(layout.size, room.size, place.center, strict=True)
        )
        return x, y

    def _moving(self, ends: Mapping[int, Pixel], progress: float) -> Iterator[tuple[int, Pixel]]:
        """Where nodes are on their way; new ones come out of where their parent was."""
        nodes = self._frame.nodes
        for node in nodes:
            end = start = ends[node.identity]
            above: TreeNode | None = node
            while above is not None:
                if above.identity in self._from:
                    start = self._from[above.identity]
                    break
                above = nodes[above.parent] if above.parent >= 0 else None
            x, y = (round(a + (b - a) * progress) for a, b in zip(start, end, strict=True))
            yield node.identity, (x, y)

    def _draw_edges(
        self, surface: pygame.Surface, layout: TreeLayout, middles: Mapping[int, Pixel]
    ) -> None:
        room, nodes = self._room, self._frame.nodes
        thick = max(1, layout.line // 10)
        for node in nodes:
            if node.parent < 0:
                continue
            (x1, y1), (x2, y2) = middles[nodes[node.parent].identity], middles[node.identity]
            color = self._theme.gain if node.changed else self._theme.outline
            start, end = (x1 + room.x, y1 + room.y), (x2 + room.x, y2 + room.y)
            if thick > 1:
                pygame.draw.line(surface, color, start, end, thick)
            pygame.draw.aaline(surface, color, start, end)

    def _draw_node(
        self, surface: pygame.Surface, node: TreeNode, place: pygame.Rect, line: int
    ) -> None:
        """A plate: round for letters, with corners for numbers, in between for signs."""
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
        if node.x in self._different:
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

    def _draw_fading(self, surface: pygame.Surface, middle: Pixel, line: int, share: float) -> None:
        """A node that is gone shrinks where it was."""
        side = round(line * share)
        if side > 1:
            place = pygame.Rect(0, 0, side, side)
            place.center = middle[0] + self._room.x, middle[1] + self._room.y
            surface.blit(rounded_rect(place.size, side // 2, self._theme.outline), place)

    def _draw_map(self, surface: pygame.Surface, layout: TreeLayout, room: pygame.Rect) -> None:
        """The whole tree in small, in the corner where fewer nodes are in the way."""
        theme = self._theme
        side = min(room.size) // MAP_SHARE
        scale = min(side * 2 / layout.size[0], side / layout.size[1])
        card = pygame.Rect(0, 0, int(layout.size[0] * scale) + 4, int(layout.size[1] * scale) + 4)
        corner = self._corner[0] + room.x, self._corner[1] + room.y
        moved = [place.move(corner) for place in layout.places]
        cards = []
        for name in ("bottomright", "topleft", "bottomleft", "topright"):
            setattr(card, name, getattr(room, name))
            cards.append(card.copy())
        card = min(cards, key=lambda one: len(one.collidelistall(moved)))
        surface.blit(rounded_rect(card.size, 2, theme.outline), card)
        surface.fill(theme.well, card.inflate(-2, -2))
        inner = card.inflate(-4, -4)
        shown = pygame.Rect(
            inner.x - self._corner[0] * scale,
            inner.y - self._corner[1] * scale,
            room.w * scale,
            room.h * scale,
        ).clip(inner)
        surface.fill(theme.card, shown)
        pygame.draw.rect(surface, theme.select, shown, 1)
        for node, place in zip(self._frame.nodes, layout.places, strict=True):
            dot = pygame.Rect(
                0, 0, max(NODE_DOT, int(place.h * scale)), max(NODE_DOT, int(place.h * scale))
            )
            dot.center = inner.x + int(place.centerx * scale), inner.y + int(place.centery * scale)
            chosen = node.x == self._cursor.node
            color = theme.accent if chosen else theme.gain if node.changed else theme.muted
            surface.fill(color, dot)

    def draw_item(self, surface: pygame.Surface, rect: pygame.Rect) -> str:
        """Nothing is ever held."""
        return ""

    def draw_history(self, surface: pygame.Surface, rect: pygame.Rect) -> bool:
        """Write the moves so far, the last ones if there is no room for all."""
        theme, line = self._theme, self.line
        codes = dict(zip(self._frame.rules, self._frame.codes, strict=True))
        aside, rows, ink = 5 * line // 2, rect.h // line - 1, theme.text
        draw_text_line(
            surface, pygame.Rect(*rect.topleft, rect.w, line), "Moves", line, theme.muted
        )
        shown: list[tuple[str, str, str]] = []  # rule, text and colour, from below
        for entry in reversed(self._frame.history):
            first, *others = wrap_text(entry.text, line, rect.w - aside)
            shown += [("", text, ink) for text in reversed(others)]
            shown.append((codes.get(entry.rule, ""), first, ink))
            ink = theme.muted
            if len(shown) >= rows:
                break
        for number, (code, text, ink) in enumerate(reversed(shown[: max(0, rows)]), start=1):
            slot = pygame.Rect(rect.x, rect.y + number * line, aside, line)
            draw_text_line(surface, slot, code, line, theme.accent)
            slot.x, slot.w = slot.right, rect.w - aside
            draw_text_line(surface, slot, text, line, ink, letters=formulas)
        return True

    def draw_thumbnail(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw the tree alone, as large as fits, in the middle."""
        layout = fit(self._frame.nodes, rect.size, rect.h // 5, text_width)
        self._room = rect
        x, y = ((space - size) // 2 for space, size in zip(rect.size, layout.size, strict=True))
        middles = {
            node.identity: (place.centerx + x, place.centery + y)
            for node, place in zip(self._frame.nodes, layout.places, strict=True)
        }
        self._draw_edges(surface, layout, middles)
        for node, place in zip(self._frame.nodes, layout.places, strict=True):
            self._draw_node(surface, node, place.move(x + rect.x, y + rect.y), layout.line)

    # ---- what the player does ------------------------------------------------------------

    def command(self, name: str) -> str:
        """Take a command of the groups `algebra` or `view`."""
        self._note = ""
        if name == "hint":
            if not (self._frame.outcome or self._advice):
                self._advice = Advice(self._game)
        elif name == "minimap":
            self._has_map = not self._has_map
        elif name == "zoom_reset":
            self._zoomed = None
        elif name in ("zoom_in", "zoom_out"):
            self._zoom(1 if name == "zoom_in" else -1)
        action = self._cursor.command(name)
        if name.startswith(RULE) and not action and not self._frame.outcome:
            rule = int(name.removeprefix(RULE)) - 1
            rules = self._frame.rules
            self._note = (
                f"{rules[rule]} does not apply to this node"
                if rule < len(rules)
                else f"There are {len(rules)} rules"
            )
        return action

    def click(self, position: Pixel, button: int) -> str:
        """A left click chooses a node, or applies a rule to the one that is chosen."""
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
        before = self._mouse and self._node_at(self._mouse)
        self._mouse = position
        return (position and self._node_at(position)) != before

    def wheel(self, position: Pixel, notches: int) -> bool:
        """Zoom in or out."""
        self._zoom(notches)
        return True

    def _zoom(self, notches: int) -> None:
        if self._layout is not None:
            line = self._layout.line
            step = max(1, round(line * (ZOOM - 1)))
            self._zoomed = max(3, min(4 * self.line, line + step * (1 if notches > 0 else -1)))

    def _node_at(self, position: Pixel) -> int | None:
        """The node that is drawn or written there."""
        if self._layout is not None and self._room.collidepoint(position):
            x = position[0] - self._room.x - self._corner[0]
            y = position[1] - self._room.y - self._corner[1]
            found = pygame.Rect(x, y, 1, 1).collidelist(self._layout.places)
            return None if found < 0 else found
        if self._writing is not None and (character := self._writing.at(position)) is not None:
            covers = [n for n in self._frame.nodes if n.whole[0] <= character < n.whole[1]]
            return min(covers, key=lambda n: n.whole[1] - n.whole[0]).x if covers else None
        return None
