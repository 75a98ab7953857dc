"""The stage of gridworlds: the state, what the agent sees of it, or both side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from components.appearance import HIDDEN
from gv_engine.domains.grid.board import Board, Cell, Minimap, Motion, between, motion
from gv_engine.domains.grid.episode import sound_between
from gv_engine.domains.grid.hint import GridHint
from gv_engine.domains.grid.input_map import PUTTING, Steering, Walk, action_of
from gv_engine.domains.grid.inspector import GridInspector
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import ACTIONS
from gv_engine.scenario.map import object_words
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.camera import Camera, default_cell_size, scroll_offset
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.ui.drawing.stage import MAP_SHARE, Stage
from gv_engine.ui.drawing.text import draw_text_line, font, rounded_rect

# ---- arrangement ---------------------------------------------------------------------------------

SHARES = tuple(part / 40 for part in range(8, 37))  # of the room, tried for the state
SMALLER = 0.6  # than is well readable may cells of the observation be, so that all of a state shows
LARGER = 1.5  # than the cells of a state in parts, those of the observation may well be
LEAST_MAP = 96  # pixels: a smaller map is better laid over the state

GridShape = tuple[int, int]
"""Height and width of a grid in cells."""


class Place(NamedTuple):
    """Where a view lies, and its name above it; without a height if there is no room for it."""

    label: pygame.Rect
    rect: pygame.Rect


@lru_cache(maxsize=8)
def place_views(
    view: str,
    rect: tuple[int, int, int, int],
    line: int,
    grid: GridShape,
    seen: GridShape,
    readable: int,
) -> Mapping[str, Place]:
    """Place the views: next to or above one another, whichever shows more.

    Args:
        view: both, state or observation.
        rect: left, top, width and height of the room, in pixels.
        line: height of a line of text, in pixels.
        grid: of the state.
        seen: of the observation.
        readable: pixels of a cell's side below which the state is shown in parts.

    Returns:
        "state" and "observation", as the view has them; and "map", if the state is shown in parts
        and there is room for a map below the observation.
    """
    room = pygame.Rect(rect)
    label = line if room.h > 8 * line else 0
    if view != "both":
        shape, least = (grid, readable) if view == "state" else (seen, 0)
        size = _fit(shape, room.w, room.h - label, least)[1]
        return {view: _place(_centered(room, size[0], size[1] + label), size, label)}
    plans = []
    for share in SHARES:
        for beside in (True, False):
            wide = int((room.w - line) * share) if beside else room.w
            tall = room.h - label if beside else int((room.h - line - 2 * label) * share)
            cell, state = _fit(grid, wide, tall, readable)
            wide = room.w - line - state[0] if beside else room.w
            tall = room.h - label if beside else room.h - line - 2 * label - state[1]
            other, shown = _fit(seen, wide, tall, 0)
            is_part = _is_part(state, grid, cell)
            useful = LARGER * cell if is_part else cell
            worth = state[0] * state[1] * min(other, useful) ** 2
            fine = not is_part and other >= readable * SMALLER
            plans.append(((fine, worth), beside, is_part, state, shown))
    _, beside, is_part, state, shown = max(plans, key=lambda plan: plan[0])
    if not beside:
        whole = _centered(room, 0, state[1] + line + shown[1] + 2 * label)
        below = whole.move(0, label + state[1] + line)
        return {
            "state": _place(whole, state, label),
            "observation": _place(below, shown, label),
        }
    whole = _centered(room, state[0] + line + shown[0], max(state[1], shown[1]) + label)
    left = pygame.Rect(whole.x, whole.y, state[0], 0)
    right = pygame.Rect(left.right + line, whole.y, shown[0], 0)
    places = {"state": _place(left, state, label), "observation": _place(right, shown, label)}
    rest = whole.h - label - shown[1] - line
    if is_part and min(shown[0], rest - label) >= LEAST_MAP:
        below = right.move(0, label + shown[1] + line)
        places["map"] = _place(below, (shown[0], rest - label), label)
    return places


def _is_part(size: tuple[int, int], grid: GridShape, cell: float) -> bool:
    """Whether a state with cells of that side is larger than what is shown."""
    return size[0] < grid[1] * int(cell) or size[1] < grid[0] * int(cell)


def _centered(room: pygame.Rect, width: int, height: int) -> pygame.Rect:
    rect = pygame.Rect(0, 0, width, height)
    rect.center = room.center
    return rect


def _place(at: pygame.Rect, size: tuple[int, int], label: int) -> Place:
    """A label, and a view of that size below it, in the middle of the width."""
    rect = pygame.Rect(0, at.y + label, *size)
    rect.centerx = at.centerx
    return Place(pygame.Rect(rect.x, at.y, rect.w, label), rect)


def _fit(shape: GridShape, wide: int, tall: int, readable: int) -> tuple[float, tuple[int, int]]:
    """Pixels of a cell's side, and width and height of what can be shown of a grid."""
    wide, tall = max(1, wide), max(1, tall)
    cell = default_cell_size(shape, (tall, wide), readable)
    worth = cell or min(tall / shape[0], wide / shape[1])
    cell = max(1, cell)
    return worth, (min(wide, shape[1] * cell), min(tall, shape[0] * cell))


# ---- stage ---------------------------------------------------------------------------------------

SELDOM = ("MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT")  # those who turn get everywhere


class GridStage(Stage):
    """Draws a game of grids.

    Args:
        game: what is played.
        theme: its colours, and the palette of the objects.
    """

    holds = True
    glide = 0.12

    def __init__(self, game: Any, theme: Theme) -> None:
        self.line = 16
        self._game = game
        self._lens = GridInspector(game, theme)
        self.side_panels = (self._lens,)
        self._theme = theme
        self._actions = sorted(getattr(game, "actions", ()), key=SELDOM.__contains__)
        self._steering = Steering(self._actions, getattr(game, "commands", ()))
        self._view = "both"
        self._whole: Frame = game.frame()
        self._frame = self._whole
        self._sheet = SpriteSheet(game.sprite_folders, theme.palette, self._frame.types)
        self._state = Board(self._sheet)
        self._seen = Board(self._sheet)
        self._camera = Camera()
        self._minimap = Minimap(self._sheet, theme)
        self._has_minimap = True
        self._advice = GridHint(game)
        self._motion: Motion | None = None
        self._walk: Walk | None = None
        self._puts = False
        self._mouse: tuple[int, int] | None = None
        self._different: Sequence[Cell] = ()
        self._places: Mapping[str, Place] = {}

    @property
    def view(self) -> str:
        return self._view

    @view.setter
    def view(self, view: str) -> None:
        self._view = view
        self._frame = self._as_shown(self._whole)

    def _as_shown(self, frame: Frame) -> Frame:
        """The frame, or as much of it as is explored."""
        return frame.as_explored() if self._view == "explored" else frame

    @property
    def hinted_commands(self) -> Sequence[str]:  # type: ignore[override]  # it changes with the steering
        if not self.steering:
            return self._actions
        others = (name for name in self._actions if name not in self._steering.replaces)
        return (*(command.name for command in self.steering[:4]), *others)

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """Directions, where the agent is seen from above."""
        return self._steering.commands if self.steers and self.view != "observation" else ()

    def has_command(self, name: str) -> bool:
        if self.steering and name in self._steering.replaces:
            return False
        return name not in ACTIONS or name in self._actions

    def begin(self, previous: Frame | None, frame: Frame) -> bool:
        self._whole, self._frame = frame, self._as_shown(frame)
        before = None if previous is None else self._as_shown(previous)
        self._motion = None if before is None else motion(before, self._frame)
        if self._walk and not (before and self._walk.is_as_expected(before, self._frame)):
            self.stop_walking()
        self._mouse = None  # who plays with keys wants to see the cell, not its name
        self._lens.begin()
        self._advice.forget()
        self._different = ()
        self._puts = False
        return self._motion is not None

    def mark_differences(self, other: Frame | None) -> None:
        """Outline the cells that look different in another frame."""
        self._different = other.differing(self._whole) if other else ()

    @property
    def is_busy(self) -> bool:
        """Whether a hint is looked for."""
        return self._advice.waits

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, progress: float) -> None:
        frame, theme = self._frame, self._theme
        before = surface.get_clip()
        surface.set_clip(rect.clip(before))
        surface.fill(theme.background, rect)
        grid, seen = frame.grid.shape[:2], frame.observation.shape[:2]
        view = "state" if self.view == "explored" else self.view
        self._places = place_views(view, tuple(rect), self.line, grid, seen, self._readable)
        if "state" in self._places:
            self._draw_state(surface, self._places["state"], progress * (2 - progress))
        if "observation" in self._places:
            self._draw_observation(surface, self._places["observation"])
        self._draw_marks(surface)
        self._draw_hint(surface, rect)
        self._draw_advice(surface, rect)
        surface.set_clip(before)

    @property
    def _readable(self) -> int:
        """Pixels of a side that a cell needs to be made out."""
        return self.line * 5 // 4

    def _draw_label(self, surface: pygame.Surface, name: str, place: Place) -> None:
        if place.label.h:
            text, line = name.capitalize(), self.line * 7 // 8
            draw_text_line(surface, place.label, text, line, self._theme.muted)

    def _draw_state(self, surface: pygame.Surface, at: Place, progress: float) -> None:
        self._draw_label(surface, "explored" if self.view == "explored" else "state", at)
        rect, frame, (height, width) = at.rect, self._frame, self._frame.grid.shape[:2]
        room = rect.h, rect.w
        cell = self._camera.cell_size((height, width), room, self._readable)
        moving = self._motion if progress < 1 else None
        center = frame.agent[:2] if moving is None else between(moving.agent, frame.agent, progress)
        start = scroll_offset((height, width), room, center, cell)
        lit = self._lens.lit if self.side_panel is self._lens else None
        lit = frame.seen if lit is None else lit
        drawn = frame.grid, lit, frame.agent, moving, progress, frame.beneath, frame.color
        self._state.draw(surface, rect, start, cell, *drawn)
        if self._has_minimap and (height * cell > rect.h or width * cell > rect.w):
            shown = start[0] / cell, start[1] / cell, rect.h / cell, rect.w / cell
            place, side = self._map_place(rect, self._state.place(*center))
            if min(place.rect.size) >= LEAST_MAP:
                self._draw_label(surface, "map", place)
                self._minimap.draw(surface, place.rect, side, frame.grid, lit, center, shown)

    def _map_place(self, rect: pygame.Rect, agent: pygame.Rect) -> tuple[Place, str]:
        """Where the minimap goes: below the observation, or over the state, in the first
        corner that the agent is not near; in none if cells are that large."""
        if "map" in self._places:
            return self._places["map"], "topleft"
        side, no_label = min(rect.size) // MAP_SHARE, pygame.Rect(0, 0, 0, 0)
        room, near = rect.inflate(-self.line // 2, -self.line // 2), agent.inflate(agent.size)
        for where in ("topright", "topleft", "bottomright", "bottomleft"):
            place = pygame.Rect(0, 0, side, side)
            setattr(place, where, getattr(room, where))
            if not place.colliderect(near):
                return Place(no_label, place), where
        return Place(no_label, no_label), where

    def _draw_observation(self, surface: pygame.Surface, at: Place) -> None:
        self._draw_label(surface, "observation", at)
        rect, frame, (height, width) = at.rect, self._frame, self._frame.observation.shape[:2]
        room = rect.h, rect.w
        cell = max(1, min(rect.h // height, rect.w // width))
        agent = (*frame.observer, 0)
        start = scroll_offset((height, width), room, frame.observer, cell)
        seen = frame.observation, None, agent, None, 1.0, frame.beneath_seen, frame.color
        self._seen.draw(surface, rect, start, cell, *seen)

    def _draw_marks(self, surface: pygame.Surface) -> None:
        """Outline the cells that are different, pointed at or inspected, in both views."""
        pointed = self._cell_at(self._mouse) if self._mouse else None
        chosen = self._lens.chosen if self.side_panel is self._lens else None
        loss, select = self._theme.loss, self._theme.select
        marks = [*((cell, 2, loss) for cell in self._different), (pointed, 1, select)]
        for cell, thick, ink in (*marks, (chosen, 2, select)):
            if cell is None:
                continue
            if "state" in self._places:
                self._outline(surface, self._places["state"].rect, self._state, cell, thick, ink)
            seen = self._frame.in_view(*cell)
            if "observation" in self._places and seen is not None:
                clip = self._places["observation"].rect
                self._outline(surface, clip, self._seen, seen, thick, ink)

    def _outline(
        self,
        surface: pygame.Surface,
        clip: pygame.Rect,
        board: Board,
        cell: Cell,
        thick: int,
        ink: str,
    ) -> None:
        before = surface.get_clip()
        surface.set_clip(clip.clip(before))
        place = board.place(*cell)
        thick *= max(1, place.w // 32)
        pygame.draw.rect(surface, self._theme.on_select, place, thick + max(1, thick))
        pygame.draw.rect(surface, ink, place, thick)
        surface.set_clip(before)

    def _draw_hint(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Say what is in the cell that is pointed at, below it or above."""
        if self._mouse is None or (hint := self._hint(self._mouse)) is None:
            return
        cell, text = hint
        line = self.line * 7 // 8
        box = pygame.Rect(0, 0, min(font(line).size(text)[0] + line, rect.w), line * 3 // 2)
        box.midtop = cell.centerx, cell.bottom + line // 4
        if box.bottom > rect.bottom:
            box.bottom = cell.top - line // 4
        box.clamp_ip(rect)
        self._draw_plate(surface, box, text, self._theme.text)

    def _draw_advice(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Say the next step at the bottom, if the player has asked."""
        self._advice.look()
        if text := "Click where to put it" if self._puts else self._advice.says:
            line = self.line * 7 // 8
            box = pygame.Rect(0, 0, min(font(line).size(text)[0] + line, rect.w), line * 3 // 2)
            box.midbottom = rect.midbottom
            self._draw_plate(surface, box, text, self._theme.accent)

    def _draw_plate(self, surface: pygame.Surface, box: pygame.Rect, text: str, ink: str) -> None:
        line = self.line * 7 // 8
        surface.blit(rounded_rect(box.size, line // 3, self._theme.card), box)
        draw_text_line(surface, box.inflate(-line, 0), text, line, ink)

    def _hint(self, position: tuple[int, int]) -> tuple[pygame.Rect, str] | None:
        """The cell that is drawn there, and what is in it."""
        frame = self._frame
        if (cell := self._at("state", self._state, position)) is not None:
            agent = "agent on " if cell == frame.agent[:2] else ""
            words = object_words(frame.types, *frame.grid[cell].tolist())
            text = f"{agent}{words} at {cell[0]}, {cell[1]}"
            return self._state.place(*cell), text
        if (cell := self._at("observation", self._seen, position)) is not None:
            kind, state, color = frame.observation[cell].tolist()
            agent = "agent on " if cell == frame.observer else ""
            text = (
                "not seen"
                if kind == HIDDEN
                else agent + object_words(frame.types, kind, state, color)
            )
            return self._seen.place(*cell), text
        return None

    def draw_item(self, surface: pygame.Surface, rect: pygame.Rect) -> str:
        kind, state, color = self._frame.item
        if not kind:
            return ""
        sprite = self._sheet.get(
            self._sheet.sprite_name(kind, state), color, max(1, min(rect.size))
        )
        surface.blit(sprite, sprite.get_rect(center=rect.center))
        if self._puts:
            pygame.draw.rect(surface, self._theme.accent, rect, max(1, self.line // 8))
        return object_words(self._frame.types, kind, state, color)

    def draw_thumbnail(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw the state alone, as large as fits, lit everywhere; of a level that is to be
        explored, what is known of it."""
        if self._game.scenario.view == "explored":
            self.view = "explored"
        frame, (height, width) = self._frame, self._frame.grid.shape[:2]
        cell = min(rect.h // height, rect.w // width)
        board = pygame.Surface((width * max(1, cell), height * max(1, cell)), 0, 32)
        whole = board.get_rect()
        shown = frame.grid, None, frame.agent
        Board(self._sheet).draw(board, whole, (0, 0), max(1, cell), *shown, color=frame.color)
        if not cell:  # more cells than pixels
            scale = min(rect.h / height, rect.w / width)
            size = max(1, int(width * scale)), max(1, int(height * scale))
            board = pygame.transform.smoothscale(board, size)
        surface.blit(board, board.get_rect(center=rect.center))

    # ---- what the player does ------------------------------------------------------------

    def command(self, name: str) -> str:
        """Take a command of the group `view`, or one of `grid`, which is an action."""
        if name == "hint" and not self._frame.outcome:
            self._advice.ask()
        elif name == "minimap":
            self._has_minimap = not self._has_minimap
        elif name == "zoom_reset":
            self._camera.cell = None
        elif name in ("zoom_in", "zoom_out"):
            self._zoom(1 if name == "zoom_in" else -1)
        name = action_of(name, self._actions)
        is_own = any(command.name == name for command in self._game.commands)
        return name if name in ACTIONS or name in self._actions or is_own else ""

    def actions(self, name: str) -> Iterator[str]:
        """Of a direction of the screen those that lead there, else the one of the command."""
        if any(command.name == name for command in self.steering):
            looks = self.view == "explored"  # who sees only what is ahead, looks where they go
            return self._steering.lead(name, lambda: self._frame, self._game, looks)
        return super().actions(name)

    def click(self, position: tuple[int, int], button: int) -> str:
        """A left click walks to a cell, or handles what is in it; a right one, or any where nobody
        walks or the inspector is open, chooses the cell that the inspector shows, and opens it."""
        cell = self._cell_at(position)
        if cell is None or button not in (1, 3):
            return ""
        if button == 1 and self.walks and self.side_panel is None:
            looks = self.view == "explored"  # who sees only what is ahead, looks where they go
            names = [name for name in self._actions if not (looks and name in SELDOM)]
            own = [command.name for command in self._game.commands]
            self._walk = Walk(cell, (*names, *own), self._puts)
            return self.next_walk_action()
        self._lens.choose(cell)
        self.side_panel = self._lens
        return ""

    def select_held_item(self) -> None:
        puts = self.walks and bool(self._frame.item[0]) and not {*PUTTING}.isdisjoint(self._actions)
        self._puts = puts and not self._puts

    @property
    def absent_types(self) -> Collection[int]:
        frame = self._whole
        layers = [frame.grid, *([] if frame.beneath is None else [frame.beneath])]
        there = {int(kind) for layer in layers for kind in np.unique(layer[..., 0])}
        there |= {int(frame.item[0])}
        left = {frame.types[kind].leaves for kind in there if kind < len(frame.types)}
        return {kind.index for kind in frame.types} - there - left

    def sound(self, before: Frame, after: Frame) -> str:
        return sound_between(before, after)

    def next_walk_action(self) -> str:
        action = self._walk.next(self._frame, self._game.mask()) if self._walk else ""
        if not action:
            self.stop_walking()
        return action

    def stop_walking(self) -> None:
        self._walk = None

    def hover(self, position: tuple[int, int] | None) -> bool:
        before = self._mouse and self._hint(self._mouse)
        self._mouse = position
        return (position and self._hint(position)) != before

    def wheel(self, position: tuple[int, int], notches: int) -> bool:
        """Zoom in or out where the state is."""
        if self._at("state", self._state, position) is None:
            return False
        self._zoom(notches)
        return True

    def _zoom(self, notches: int) -> None:
        if "state" not in self._places:
            return
        rect, (height, width) = self._places["state"].rect, self._frame.grid.shape[:2]
        whole = max(1, min(rect.h // height, rect.w // width))
        size = self._camera.cell_size((height, width), (rect.h, rect.w), self._readable)
        self._camera.zoom(notches, size, whole)

    def _at(self, view: str, board: Board, position: tuple[int, int]) -> Cell | None:
        return board.at(position) if view in self._places else None

    def _cell_at(self, position: tuple[int, int]) -> Cell | None:
        """The cell of the grid that is drawn there, in either view."""
        if (cell := self._at("state", self._state, position)) is not None:
            return cell
        seen = self._at("observation", self._seen, position)
        return None if seen is None else self._frame.on_grid(*seen)
