"""From a `Frame` to a picture, with no window and no display.

The picture shows the state, with what the agent sees lit; the observation, turned as the agent
looks; and a panel of what it holds, did and got. All sizes follow from that of the picture.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.frame import Frame
from gv_engine.frontend.board import Board
from gv_engine.frontend.lettering import plate, signed, wrapped, write
from gv_engine.frontend.mosaic import SpriteNames
from gv_engine.frontend.sprites import SpriteSheet, pygame
from gv_engine.frontend.theme import DARK, Theme

MIN_SIZE = (320, 240)
"""Width and height of the smallest picture that holds everything, in pixels."""

SHARES = tuple(part / 40 for part in range(5, 36))  # of the room, tried for one of two neighbours


def draw_grid(
    grid: NDArray[np.uint8],
    cell: int,
    sheet: SpriteSheet,
    names: SpriteNames,
    seen: NDArray[np.bool_] | None = None,
    agent: tuple[int, int, int] | None = None,
) -> pygame.Surface:
    """Draw cells of `cell` pixels.

    Args:
        grid: (H, W, 3) type, state and colour of every cell.
        cell: pixels of a side, at least 1.
        sheet: the sprites.
        names: which of them shows a type in a state.
        seen: (H, W), the cells drawn bright; None: all of them.
        agent: y, x and facing; None, or a place outside the grid: not drawn.

    Returns:
        A surface of (W * cell, H * cell) pixels.
    """
    height, width, _ = grid.shape
    surface = pygame.Surface((width * cell, height * cell), 0, 32)
    nowhere = -1, -1, 0
    board = Board(sheet, names)
    board.draw(surface, surface.get_rect(), (0, 0), cell, grid, seen, agent or nowhere)
    return surface


def draw_frame(
    frame: Frame,
    size: tuple[int, int],
    sheet: SpriteSheet,
    names: SpriteNames,
    *,
    keys: Sequence[str] = (),
    again: str = "",
    theme: Theme = DARK,
    onto: pygame.Surface | None = None,
) -> pygame.Surface:
    """Draw the whole picture.

    Args:
        frame: what to show.
        size: width and height in pixels, at least MIN_SIZE.
        sheet: the sprites.
        names: which of them shows a type in a state.
        keys: the parts of the help line.
        again: how to play on, said when the episode is over.
        theme: the colours around the cells.
        onto: a surface of that size to draw on, in place of a new one.

    Raises:
        ValueError: the size is less than MIN_SIZE.
    """
    surface = pygame.Surface(size, 0, 32) if onto is None else onto
    line = line_height(size)
    small = line * 7 // 8
    help_lines = wrapped(keys, small, size[0] - 2 * line)
    at = layout(size, frame.grid.shape[:2], frame.observation.shape[:2], len(help_lines))

    surface.fill(theme.background)
    write(surface, at.title, frame.title, at.title.h, theme.text, "center")
    for number, text in enumerate(help_lines):
        write(surface, _lines(at.keys, line, number), text, small, theme.muted, "center")
    write(surface, at.state_label, "State", small, theme.muted)
    write(surface, at.view_label, "Observation", small, theme.muted)
    for rect, grid, draw in (
        (at.state, frame.grid, _state),
        (at.view, frame.observation, _view),
    ):
        picture = draw(frame, max(1, rect.w // grid.shape[1]), sheet, names)
        if picture.get_size() != rect.size:  # more cells than pixels
            picture = pygame.transform.smoothscale(picture, rect.size)
        surface.blit(picture, rect)

    surface.blit(plate(at.panel.size, line // 2, theme.card), at.panel)
    _draw_item(surface, at.item, frame, small, sheet, names, theme)
    of = "" if frame.max_steps is None else f" / {frame.max_steps}"
    for rect, label, value, color in (
        (at.action, "Action", frame.action.replace("_", " ").capitalize() or "-", theme.text),
        (at.steps, "Steps", f"{frame.steps}{of}", theme.text),
        (at.reward, "Reward", signed(frame.reward), sign_color(frame.reward, theme)),
        (at.total, "Return", signed(frame.total), theme.text),
    ):
        write(surface, _lines(rect, line, 0), label, small, theme.muted)
        write(surface, _lines(rect, line * 5 // 4, 0.8), value, line * 5 // 4, color)
    _draw_terms(surface, at.terms, frame, line, theme)
    ending = {"": "", "terminated": "Episode over", "truncated": "Out of steps"}[frame.outcome]
    note = " · ".join(filter(None, (ending, ending and again, frame.message)))
    if ending:
        surface.blit(plate(at.banner.size, line // 2, theme.accent), at.banner)
    write(
        surface,
        at.banner.inflate(-line, 0),
        note,
        line,
        theme.on_accent if ending else theme.accent,
    )
    return surface


def _state(frame: Frame, cell: int, sheet: SpriteSheet, names: SpriteNames) -> pygame.Surface:
    return draw_grid(frame.grid, cell, sheet, names, frame.seen, frame.agent)


def _view(frame: Frame, cell: int, sheet: SpriteSheet, names: SpriteNames) -> pygame.Surface:
    return draw_grid(frame.observation, cell, sheet, names, agent=(*frame.observer, 0))


def _lines(rect: pygame.Rect, line: int, above: float) -> pygame.Rect:
    """Return one line of a rectangle, with so many above it."""
    return pygame.Rect(rect.x, rect.y + int(above * line), rect.w, line)


def _draw_item(
    surface: pygame.Surface,
    rect: pygame.Rect,
    frame: Frame,
    small: int,
    sheet: SpriteSheet,
    names: SpriteNames,
    theme: Theme,
) -> None:
    write(surface, _lines(rect, small * 8 // 7, 0), "Holding", small, theme.muted)
    side = min(rect.w, rect.h - small * 3 // 2)
    well = pygame.Rect(rect.x, rect.y + small * 5 // 4, side, side)
    surface.blit(plate(well.size, small // 2, theme.well), well)
    kind, state, color = frame.item
    if kind:
        side = well.h * 7 // 8
        sprite = sheet.get(names(kind, state), color, side)
        surface.blit(sprite, sprite.get_rect(center=well.center))
    else:
        write(surface, well.inflate(-small // 2, 0), "-", small, theme.muted, "center")


def _draw_terms(
    surface: pygame.Surface, rect: pygame.Rect, frame: Frame, line: int, theme: Theme
) -> None:
    """Write the terms of the reward in columns, those that are not zero first if room is short."""
    terms = list(frame.terms.items())
    rows = max(1, rect.h // line)
    columns = max(1, min(ceil(len(terms) / rows), rect.w // (9 * line)))
    if len(terms) > rows * columns:
        terms.sort(key=lambda term: not term[1])
        del terms[rows * columns :]
    width = min((rect.w + line) // columns, 24 * line)
    for number, (name, value) in enumerate(terms):
        column, row = divmod(number, rows)
        slot = pygame.Rect(rect.x + column * width, rect.y + row * line, width - line, line)
        taken = write(surface, slot, signed(value), line, sign_color(value, theme), "right")
        slot.w -= taken + line // 2
        write(surface, slot, name.replace("_", " "), line, theme.text if value else theme.muted)


class Layout(NamedTuple):
    """Where the parts of a picture lie: disjoint but for the panel, which holds seven others."""

    title: pygame.Rect
    state_label: pygame.Rect
    state: pygame.Rect
    view_label: pygame.Rect
    view: pygame.Rect
    panel: pygame.Rect
    keys: pygame.Rect
    item: pygame.Rect
    action: pygame.Rect
    steps: pygame.Rect
    reward: pygame.Rect
    total: pygame.Rect
    terms: pygame.Rect
    banner: pygame.Rect


def line_height(size: tuple[int, int]) -> int:
    """Return the height of a line of text in a picture of that width and height, in pixels."""
    return max(11, min(size[0] // 44, size[1] // 38))


@lru_cache(maxsize=16)
def layout(
    size: tuple[int, int], grid: tuple[int, int], view: tuple[int, int], key_lines: int = 1
) -> Layout:
    """Place the parts of a picture.

    Of three arrangements (the panel below the observation, below both views side by side, below
    both one upon the other) and many proportions, take the one whose views are largest.

    Args:
        size: width and height of the picture, in pixels, at least MIN_SIZE.
        grid: height and width of the state, in cells.
        view: height and width of the observation, in cells.
        key_lines: lines of text that the help takes.

    Raises:
        ValueError: the size is less than MIN_SIZE.
    """
    width, height = size
    if width < MIN_SIZE[0] or height < MIN_SIZE[1]:
        least = " × ".join(map(str, MIN_SIZE))
        raise ValueError(f"a picture of {width} × {height} pixels is too small: at least {least}")
    line = line_height(size)
    title = pygame.Rect(line, line // 2, width - 2 * line, line * 3 // 2)
    keys = pygame.Rect(line, 0, width - 2 * line, line * key_lines)
    keys.bottom = height - line // 2
    # A line above the body is left for the labels of the views.
    body = pygame.Rect(line, title.bottom + line * 3 // 2, title.w, 0)
    body.h = keys.top - line // 2 - body.top
    plans = (plan(body, line, grid, view, share) for plan in PLANS for share in SHARES)
    state, seen, panel = max(plans, key=lambda plan: area(plan[0]) * area(plan[1]))
    labels = [pygame.Rect(rect.x, rect.y - line, rect.w, line) for rect in (state, seen)]
    return Layout(title, labels[0], state, labels[1], seen, panel, keys, **_parts(panel, line))


Plan = tuple[pygame.Rect, pygame.Rect, pygame.Rect]  # state, observation, panel
Shape = tuple[int, int]


def _beside(body: pygame.Rect, line: int, grid: Shape, view: Shape, share: float) -> Plan:
    """The state on the left; on the right the observation, and the panel below it."""
    column = max(12 * line, int(body.w * share))
    narrow = min(column, 24 * line)
    low = _panel_height(narrow, line)
    state = fit(grid, body.w - line - column, body.h)
    seen = fit(view, column, body.h - line - low)
    column = max(seen.w, narrow)
    whole = pygame.Rect(0, 0, state.w + line + column, max(state.h, seen.h + line + low))
    whole.center = body.center
    state.topleft = whole.topleft
    seen.topleft = state.right + line, whole.top
    panel = pygame.Rect(seen.x, seen.bottom + line, column, whole.bottom - seen.bottom - line)
    return state, seen, panel


def _row(body: pygame.Rect, line: int, grid: Shape, view: Shape, share: float) -> Plan:
    """The state left of the observation, the panel below both."""
    left = int((body.w - line) * share)
    low = _panel_height(body.w, line)
    state = fit(grid, left, body.h - line - low)
    seen = fit(view, body.w - line - left, body.h - line - low)
    both = state.w + line + seen.w
    wide = max(both, min(body.w, 48 * line))
    whole = pygame.Rect(0, 0, wide, max(state.h, seen.h) + line + low)
    whole.center = body.center
    state.topleft = whole.x + (wide - both) // 2, whole.y
    seen.topleft = state.right + line, whole.y
    return state, seen, pygame.Rect(whole.x, whole.bottom - low, wide, low)


def _stack(body: pygame.Rect, line: int, grid: Shape, view: Shape, share: float) -> Plan:
    """The state upon the observation, upon the panel."""
    low = _panel_height(body.w, line)
    room = body.h - low - 3 * line
    state = fit(grid, body.w, int(room * share))
    seen = fit(view, body.w, room - int(room * share))
    wide = max(state.w, seen.w, min(body.w, 48 * line))
    whole = pygame.Rect(0, 0, wide, state.h + seen.h + low + 3 * line)
    whole.center = body.center
    state.midtop = whole.midtop
    seen.midtop = whole.centerx, state.bottom + 2 * line
    return state, seen, pygame.Rect(whole.x, whole.bottom - low, wide, low)


PLANS = (_beside, _row, _stack)


def fit(shape: Shape, width: int, height: int) -> pygame.Rect:
    """Return the largest rectangle for so many cells of whole pixels; of a part of one if need."""
    rows, columns = shape
    room = min(width / columns, height / rows)
    cell = int(room) if room >= 1 else max(room, 0)
    return pygame.Rect(0, 0, max(1, int(columns * cell)), max(1, int(rows * cell)))


def area(rect: pygame.Rect) -> int:
    """Return the number of its pixels."""
    return rect.w * rect.h


def _is_wide(panel_width: int, line: int) -> bool:
    return panel_width >= 36 * line


def _panel_height(width: int, line: int) -> int:
    """Return the least height of a panel: with a line of terms, or three if there is room."""
    spare = 2 if line > 12 else 0
    return line * (spare + (8 if _is_wide(width, line) else 9))


def _parts(panel: pygame.Rect, line: int) -> dict[str, pygame.Rect]:
    inner = panel.inflate(-line, -line)
    wide = _is_wide(panel.w, line)
    item = pygame.Rect(inner.x, inner.y, line * 4, line * (7 if wide else 10) // 2)
    left, room = item.right + line // 2, inner.right - item.right - line // 2
    edges = (0, 33, 55, 77, 100) if wide else (0, 58, 100)  # percent; an action needs most room
    stats = (
        pygame.Rect(left + room * a // 100, y, room * b // 100 - room * a // 100, line * 5 // 2)
        for y in ((inner.y,) if wide else (inner.y, inner.y + line * 5 // 2))
        for a, b in pairwise(edges)
    )
    parts = dict(zip(("action", "steps", "reward", "total"), stats, strict=True))
    banner = pygame.Rect(inner.x, inner.bottom - line * 3 // 2, inner.w, line * 3 // 2)
    terms = pygame.Rect(inner.x, item.bottom + line // 4, inner.w, 0)
    terms.h = banner.y - line // 4 - terms.y
    return {"item": item, **parts, "terms": terms, "banner": banner}


def sign_color(value: float, theme: Theme) -> str:
    """Return the colour of a gain, a loss, or neither."""
    return theme.gain if value > 0 else theme.loss if value < 0 else theme.muted
