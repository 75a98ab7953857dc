"""Places of a tree's nodes in a picture: columns in order, rows by depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.language.expression_frame import TreeNode

LEAST, LARGEST_LINE = 3, 40
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
    low, high = LEAST, max(LEAST, min(most, LARGEST_LINE))
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
