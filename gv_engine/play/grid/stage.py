"""Stage of gridworlds: draws the state, the agent's observation, or both side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN
from components.objects import WALL
from gv_engine.play.grid import input_map, overlay
from gv_engine.play.grid.board import Board, GridContent, Minimap, observation_of, whole_grid_of
from gv_engine.play.grid.domain import list_player_views
from gv_engine.play.grid.episode import GridHint, describe_action
from gv_engine.play.grid.input_map import Walk
from gv_engine.play.grid.inspector import GridInspector
from gv_engine.play.grid.motion import Cell, Motion, find_motion, is_failure, lerp, step_sound
from gv_engine.play.grid.view_places import MIN_MAP_SIZE, GridShape, ViewPlace, place_views
from gv_engine.play.ui.colors import DARK, Theme
from gv_engine.play.ui.drawing import sprites
from gv_engine.play.ui.drawing.sprites import SpriteSheet, clipped, draw_text_line, font, pygame
from gv_engine.play.ui.drawing.stage import MAP_SHARE, Camera, Stage, scroll_offset
from gv_engine.rules.errors import format_cell
from gv_engine.rules.frame import COVERED, AgentMark, Frame, PolicyMap, find_stack
from gv_engine.rules.geometry import ACTIONS
from gv_engine.scenario.domains import KeyCommand
from gv_engine.scenario.readers.map import describe_object

_TURNS = ("TURN_LEFT", "TURN_RIGHT")
_FOG = DARK.background  # colour of what players have not seen, and of what is around the grid
_MAX_SOFT_PIXELS = 4_000_000  # of a board whose edges in fog are soft
_STEP_SECONDS = 0.12  # duration of the animation of a step
_END_SECONDS = 0.7  # duration of the animation of the last step of an episode
_INSIDE = 0.5  # side, in cells, of an agent that has entered an exit
REDUNDANT_MOVES = ("MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT")  # not needed by agents that can turn


class GridStage(Stage):
    """Draws a grid session (state, observation, minimap and hints), and turns clicks and key
    commands into actions.

    Args:
        game: session to draw.
        theme: colours, and palette of the objects.
    """

    holds = True

    def __init__(self, game: Any, theme: Theme) -> None:
        """Create the drawing of `game`, an episode or another source of frames, with its sprites in
        the colours of `theme`."""
        self.line = 16
        self._game = game
        self._inspector = GridInspector(game, theme)
        self.side_panels = (self._inspector,)
        self._theme = theme
        self._actions = sorted(getattr(game, "actions", ()), key=REDUNDANT_MOVES.__contains__)
        self._has_relative_moves = input_map.has_relative_moves(self._actions, game)
        self._steerings = input_map.list_steerings(game, self._actions)
        self._steering = self._steerings[0]
        self._view = "both"
        self._whole_frame: Frame = game.frame()
        self._frame = self._whole_frame
        self._sheet = SpriteSheet(game.sprite_sources, theme.palette, self._frame.types)
        self._state = Board(self._sheet)
        self._surroundings = Board(self._sheet)
        self._observation = Board(self._sheet)
        self._camera = Camera()
        self._area = pygame.Rect(0, 0, 1, 1)
        self._minimap = Minimap(self._sheet, theme)
        self._has_minimap = True
        self._hint = GridHint(game, self._describe_action)
        self._motion: Motion | None = None
        self._walk: Walk | None = None
        self._is_putting = False
        self._note = ""  # answer to the last click
        self._mouse: tuple[int, int] | None = None
        self._differing_cells: Sequence[Cell] = ()
        self._policy_map: PolicyMap | None = None
        self._places: Mapping[str, ViewPlace] = {}

    @property
    def animation_seconds(self) -> float:  # type: ignore[override]  # it is longer for an end
        """Return the duration of the animation of the last step, in seconds."""
        return _END_SECONDS if self._shows_end else _STEP_SECONDS

    @property
    def _shows_end(self) -> bool:
        return bool(self._frame.outcome) and not self.is_research

    @property
    def agent_rect(self) -> pygame.Rect | None:
        """Return the rectangle of the agent's cell in the state; None if it is not shown."""
        if "state" not in self._places:
            return None
        return self._state.cell_rect(*self._frame.agent[:2])

    @property
    def player_views(self) -> Sequence[str]:
        """Return the views for players of this level, see `list_player_views`."""
        return list_player_views(self._game.scenario.view)

    @property
    def shape(self) -> GridShape | None:
        """Return height and width of the shown grid; None if two are shown."""
        grid = self._frame.observation if self.view == "observation" else self._frame.grid
        return None if self.view == "both" else grid.shape[:2]

    @property
    def view(self) -> str:
        """Return the name of the current view."""
        return self._view

    @view.setter
    def view(self, view: str) -> None:
        self._view = view
        self._frame = self._as_viewed(self._whole_frame)

    def _as_viewed(self, frame: Frame) -> Frame:
        return frame.limit_to_explored() if self._view == "explored" else frame

    @property
    def hinted_commands(self) -> Sequence[str]:  # type: ignore[override]  # it changes with the steering
        """Return the names of the key commands to show at the bottom of the window, the most
        important first."""
        replaced = self._steering.replaces if self.steering else ()
        return [name for name in self._actions if name not in (*replaced, "WAIT")]

    def find_command_with_keys(self, command: str) -> str:
        """Return the command whose keys the hints show for `command`: TURN_LEFT for MOVE_LEFT if
        the level has steps to the side in place of turns, else `command` itself."""
        turns = (t for t in _TURNS if input_map.resolve_action(t, self._actions) == command)
        return next(turns, command)

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """Return the steering commands if the agent is shown from above, else none."""
        if not self.steers or self.view == "observation":
            return ()
        return [command for steering in self._steerings for command in steering.commands]

    def has_command(self, name: str) -> bool:
        """Return True if the command `name` is available in this level."""
        if self.steering and any(name in steering.replaces for steering in self._steerings):
            return False
        return name not in ACTIONS or name in self._actions

    def begin(self, previous: Frame | None, frame: Frame) -> bool:
        """Set the frame to draw; prepare an animation from the frame `previous`, and remove hint
        and highlights. Return True if there is an animation."""
        self._whole_frame, self._frame = frame, self._as_viewed(frame)
        self._policy_map = frame.policy_map or self._policy_map
        before = None if previous is None else self._as_viewed(previous)
        self._motion = None if before is None else find_motion(before, self._frame)
        if self._motion and self.steering:
            self._motion = self._motion._replace(
                agent=(*self._motion.agent[:2], self._steering.facing)
            )
        self._steering.follow(frame)
        if self._walk and not (before and self._walk.is_as_expected(before, self._frame)):
            self.stop_walking()
        self._mouse = None  # a player who uses keys wants to see the cell, not its name
        self._inspector.begin()
        self._hint.clear()
        self._differing_cells = ()
        self._is_putting, self._note = False, ""
        return self._motion is not None

    def mark_differences(self, other: Frame | None) -> None:
        """Highlight the cells that differ in the frame `other`; None removes the highlights."""
        self._differing_cells = other.find_differences(self._whole_frame) if other else ()

    def show_policy_map(self, policy_map: PolicyMap | None) -> None:
        """Draw `policy_map` over the state from now on; nothing if it is None."""
        self._policy_map = policy_map

    @property
    def is_busy(self) -> bool:
        """Return True while a hint is searched for."""
        return self._hint.is_searching

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, progress: float) -> None:
        """Draw state and observation with highlights, tooltip and hint into `rect`; `progress` of
        the animation is from 0 to 1."""
        self._hint.update()
        self._area, surroundings = self._find_area()
        grid, seen = self._area.size[::-1], self._frame.observation.shape[:2]
        view = "state" if self.view == "explored" else self.view
        has_labels = self.is_research or bool(self._policy_map)
        room = tuple(rect)
        self._places = place_views(view, room, self.line, grid, seen, self._readable, has_labels)
        with clipped(surface, rect):
            surface.fill(_FOG if self._is_foggy else self._theme.background, rect)
            if "state" in self._places:
                if surroundings is not None:
                    self._draw_surroundings(surface, rect, self._places["state"].rect, surroundings)
                seconds = progress * self.animation_seconds
                moved = min(1.0, seconds / _STEP_SECONDS)
                self._draw_state(surface, self._places["state"], moved * (2 - moved), seconds)
            if "observation" in self._places:
                self._draw_observation(surface, self._places["observation"])
            self._draw_marks(surface)
            self._draw_tooltip(surface, rect)
            self._draw_hint(surface, rect)

    @property
    def _readable(self) -> int:
        return self.line * 5 // 4

    @property
    def _is_foggy(self) -> bool:
        return self.view == "explored" and not self.is_research

    def _draw_label(self, surface: pygame.Surface, name: str, place: ViewPlace) -> None:
        if place.label.h:
            text, line = name.capitalize(), self.line * 7 // 8
            draw_text_line(surface, place.label, text, line, self._theme.muted)

    def _find_area(self) -> tuple[pygame.Rect, NDArray[np.uint8] | None]:
        """Return the rectangle of cells to show, and the object that continues all around it. In a
        level with the same object along all its edges, such as a wall, players see one row of it
        around the rest; else the whole grid is shown, with nothing around it."""
        grid = self._frame.grid
        whole = pygame.Rect(0, 0, *grid.shape[1::-1])
        if self.is_research or self.view != "state" or self._game.scenario.dim:
            return whole, None
        edges = np.concatenate((grid[0], grid[-1], grid[:, 0], grid[:, -1]))
        is_other = (grid != edges[0]).any(axis=2)
        if edges[0, 0] <= FLOOR or (edges != edges[0]).any() or not is_other.any():
            return whole, np.array((WALL, 0, 0), np.uint8) if (edges[:, 0] > FLOOR).all() else None
        (top, *_, bottom), (left, *_, right) = (
            [*np.flatnonzero(is_other.any(axis=axis))] * 2 for axis in (1, 0)
        )
        size = right - left + 3, bottom - top + 3
        return pygame.Rect(left - 1, top - 1, *size), edges[0]

    def _draw_surroundings(
        self,
        surface: pygame.Surface,
        room: pygame.Rect,
        board: pygame.Rect,
        look: NDArray[np.uint8],
    ) -> None:
        """Fill `room` around the rectangle `board` with the object that has the appearance `look`,
        if the board is shown whole."""
        (width, height), cell = self._area.size, board.w // self._area.w
        if not cell or board.size != (width * cell, height * cell):
            return
        rows, columns = (-(-gap // cell) for gap in (board.y - room.y, board.x - room.x))
        shape = height + 2 * rows + 1, width + 2 * columns + 1, 3
        corner = rows * cell - (board.y - room.y), columns * cell - (board.x - room.x)
        walls = GridContent(np.broadcast_to(look, shape), (-9, -9, 0))
        self._surroundings.draw(surface, room, corner, cell, walls)

    def _draw_state(
        self, surface: pygame.Surface, place: ViewPlace, progress: float, seconds: float
    ) -> None:
        """Draw the grid, or the part of it around the agent that fits, into `place`; if it is only
        a part, also the minimap. `progress` of the step's animation is from 0 to 1, `seconds` after
        its beginning; at the end of an episode, the light changes after the step."""
        ended = 0.0
        if self._shows_end:
            ended = max(0.0, (seconds - _STEP_SECONDS) / (_END_SECONDS - _STEP_SECONDS))
        title = "explored" if self.view == "explored" else "state"
        shown_map = self._policy_map
        self._draw_label(surface, overlay.describe_values(shown_map) if shown_map else title, place)
        rect, frame, area = place.rect, self._frame, self._area
        (width, height), shape = area.size, frame.grid.shape[:2]
        cell = self._camera.cell_size((height, width), (rect.h, rect.w), self._readable)
        moving = self._motion if progress < 1 else None
        center = frame.agent[:2] if moving is None else lerp(moving.agent, frame.agent, progress)
        middle = center[0] - area.y, center[1] - area.x
        top, left = scroll_offset((height, width), (rect.h, rect.w), middle, cell)
        start = top + area.y * cell, left + area.x * cell
        content = whole_grid_of(frame)
        if self.view == "state" and not self.is_research and not self._game.scenario.dim:
            content = content._replace(lit=None)
        has_entered = frame.success and frame.grid[frame.agent[:2]][0] > FLOOR
        if has_entered and ended:
            content = content._replace(agent_size=1 - (1 - _INSIDE) * ended)
        if self.steering:
            content = content._replace(agent=(*frame.agent[:2], self._steering.facing))
        if self.side_panel is self._inspector and (lit := self._inspector.lit) is not None:
            content = content._replace(lit=lit)
        self._state.draw(surface, rect, start, cell, content, moving, progress)
        if self._is_foggy and height * width * cell**2 <= _MAX_SOFT_PIXELS:
            hidden = frame.grid[..., 0] == HIDDEN
            edge = overlay.make_fog(hidden.tobytes(), hidden.shape, cell, _FOG)
            with clipped(surface, rect):
                surface.blit(edge, self._state.cell_rect(0, 0))
        watched = chain.from_iterable(frame.watched.values())
        with clipped(surface, rect):
            overlay.draw_watched_cells(surface, watched, self._state.cell_rect, self._theme.loss)
            if shown_map and shown_map.visits.shape == shape:
                overlay.draw_policy_map(surface, shown_map, self._state.cell_rect)
        if ended:
            spot = self._state.cell_rect(*frame.agent[:2]) if frame.success else None
            is_alone = self._find_area()[1] is None and not self._is_foggy
            room = rect if is_alone else surface.get_clip()
            overlay.draw_spotlight(surface, room, spot, self._theme.accent, ended)
        self._draw_agent_marks(surface, progress)
        if self._has_minimap and (height * cell > rect.h or width * cell > rect.w):
            shown = start[0] / cell, start[1] / cell, rect.h / cell, rect.w / cell
            map_place, corner = self._place_map(rect, self._state.cell_rect(*center))
            if min(map_place.rect.size) >= MIN_MAP_SIZE * 2 // 3:
                self._draw_label(surface, "map", map_place)
                area, lit = map_place.rect, content.lit
                self._minimap.draw(surface, area, corner, frame.grid, lit, center, shown)

    def _draw_agent_marks(self, surface: pygame.Surface, progress: float) -> None:
        """Draw an arrow above the agent of the player, on each agent small what it holds, and as
        many dots on each agent of a team as the number of the team; nothing in levels with one
        agent."""
        movements = self._motion.movements if self._motion else ()
        starts = {movement.goal: movement.start for movement in movements}
        for mark in self._shown_marks:
            is_own = mark is self._frame.marks[0] and mark.cell == self._frame.agent[:2]
            start = starts.get(mark.cell, mark.cell)
            if is_own and self._motion:
                start = self._motion.agent[:2]
            rect = self._state.cell_rect(*lerp(start, mark.cell, progress))
            size = max(4, rect.w // 5)
            if is_own:
                self._draw_marker(surface, rect, self._marked_facing(mark))
            if mark.item[0]:
                kind, state, color = mark.item
                self._sheet.draw_covered(surface, rect, self._sheet.sprite_name(kind, state), color)
            for number in range(mark.team_number):
                dot = rect.right - size // 2, rect.y + size // 2 + number * size
                pygame.draw.circle(surface, self._theme.on_select, dot, size // 2)
                pygame.draw.circle(surface, self._theme.select, dot, max(1, size // 3))

    def _marked_facing(self, mark: AgentMark) -> int:
        return self._steering.facing if self.steering else mark.facing

    def _draw_marker(self, surface: pygame.Surface, cell: pygame.Rect, facing: int) -> None:
        """Draw an arrow that points at the agent in the rectangle `cell`: from above, or from below
        if it looks up, as the object ahead must be seen."""
        side = max(8, cell.w * 2 // 5)
        arrow = pygame.Rect(0, 0, side, side)
        is_below = facing == 0 or cell.y - side < surface.get_clip().y
        if is_below:
            arrow.midtop = cell.centerx, cell.bottom + side // 8
        else:
            arrow.midbottom = cell.centerx, cell.y + side // 4
        name = "triangle_up" if is_below else "triangle_down"
        for part, color in (
            (arrow, self._theme.on_select),
            (arrow.inflate(-side // 4, -side // 4), self._theme.select),
        ):
            surface.blit(sprites.draw_shape(name, part.w, color), part)

    @property
    def _shown_marks(self) -> list[AgentMark]:
        if self.view != "explored":
            return [*self._frame.marks]
        return [mark for mark in self._frame.marks if self._frame.seen[mark.cell]]

    def _place_map(self, state: pygame.Rect, agent: pygame.Rect) -> tuple[ViewPlace, str]:
        """Return the place of the minimap and the name of its corner: below the observation if
        there is room, else over the rectangle `state` in a corner away from the `agent`. The place
        is empty if there is no such corner."""
        if "map" in self._places:
            return self._places["map"], "topleft"
        side, empty = min(state.size) // MAP_SHARE, pygame.Rect(0, 0, 0, 0)
        inner = state.inflate(-self.line // 2, -self.line // 2)
        around_agent = agent.inflate(agent.size)
        for corner in ("topright", "topleft", "bottomright", "bottomleft"):
            rect = pygame.Rect(0, 0, side, side)
            setattr(rect, corner, getattr(inner, corner))
            if not rect.colliderect(around_agent):
                return ViewPlace(empty, rect), corner
        return ViewPlace(empty, empty), corner

    def _draw_observation(self, surface: pygame.Surface, place: ViewPlace) -> None:
        self._draw_label(surface, "observation", place)
        rect, frame, (height, width) = place.rect, self._frame, self._frame.observation.shape[:2]
        cell = max(1, min(rect.h // height, rect.w // width))
        start = scroll_offset((height, width), (rect.h, rect.w), frame.observer[:2], cell)
        self._observation.draw(surface, rect, start, cell, observation_of(frame))
        watched = (cells for guard, cells in frame.watched.items() if frame.seen[guard])
        seen = (cell for cell in chain.from_iterable(watched) if frame.seen[cell])
        shown = filter(None, (frame.to_view_cell(*cell) for cell in seen))
        with clipped(surface, rect):
            overlay.draw_watched_cells(
                surface, shown, self._observation.cell_rect, self._theme.loss
            )

    def _draw_marks(self, surface: pygame.Surface) -> None:
        """Outline, in both views, the cells that differ from another frame, the cell under the
        mouse, the inspected cell and the cell of the hint."""
        theme = self._theme
        for cell in self._differing_cells:
            self._outline_cell(surface, cell, theme.loss)
        if self._mouse:
            self._outline_cell(surface, self._cell_at(self._mouse), theme.select, thickness=1)
        self._outline_cell(surface, self._hint.cell, theme.accent)
        if self.side_panel is self._inspector:
            self._outline_cell(surface, self._inspector.selected_cell, theme.select)

    def _outline_cell(
        self, surface: pygame.Surface, cell: Cell | None, color: str, thickness: int = 2
    ) -> None:
        """Outline `cell` in both views, as far as they show it; nothing if it is None."""
        if cell is None:
            return
        boards = {
            "state": (self._state, cell),
            "observation": (self._observation, self._frame.to_view_cell(*cell)),
        }
        for view, (board, drawn_cell) in boards.items():
            if view in self._places and drawn_cell is not None:
                with clipped(surface, self._places[view].rect):
                    rect = board.cell_rect(*drawn_cell)
                    width = thickness * max(1, rect.w // 32)
                    pygame.draw.rect(surface, self._theme.on_select, rect, 2 * width)
                    pygame.draw.rect(surface, color, rect, width)

    def _draw_tooltip(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw a tooltip that describes the object in the cell under the mouse, inside `rect`."""
        if self._mouse is None or (tooltip := self._describe_cell(self._mouse)) is None:
            return
        cell, text = tooltip
        line = self.line * 7 // 8
        box = self._plate_rect(text, rect)
        box.midtop = cell.centerx, cell.bottom + line // 4
        if box.bottom > rect.bottom:
            box.bottom = cell.top - line // 4
        box.clamp_ip(rect)
        self._draw_plate(surface, box, text, self._theme.text)

    def _draw_hint(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw the answer to the last click, the request to click a cell for the held object, or
        the current hint, at the bottom of `rect`."""
        request = "Click where to put it" if self._is_putting else ""
        if text := self._note or request or self._hint.message:
            box = self._plate_rect(text, rect)
            box.midbottom = rect.midbottom
            self._draw_plate(surface, box, text, self._theme.accent)

    def _plate_rect(self, text: str, rect: pygame.Rect) -> pygame.Rect:
        line = self.line * 7 // 8
        return pygame.Rect(0, 0, min(font(line).size(text)[0] + line, rect.w), line * 3 // 2)

    def _draw_plate(self, surface: pygame.Surface, box: pygame.Rect, text: str, color: str) -> None:
        line = self.line * 7 // 8
        surface.blit(sprites.rounded_rect(box.size, line // 3, self._theme.card), box)
        draw_text_line(surface, box.inflate(-line, 0), text, line, color)

    def _describe_cell(self, position: tuple[int, int]) -> tuple[pygame.Rect, str] | None:
        """Return the rectangle of the cell drawn at a pixel position, and a description of its
        object; None if no cell is drawn there."""
        frame = self._frame
        if (cell := self._view_cell("state", self._state, position)) is not None:
            names = {mark.cell: mark.label for mark in self._shown_marks}
            agent = "agent on " if cell == frame.agent[:2] else ""
            agent = f"{names[cell]}: {agent}" if cell in names else agent
            words = describe_object(frame.types, *frame.grid[cell].tolist())
            place = f" at {format_cell(*cell)}" if self.is_research else ""
            text = f"{agent}{words}{place}"
            if self._policy_map:
                text += overlay.describe_cell_policy(self._policy_map, cell)
            return self._state.cell_rect(*cell), text
        if (cell := self._view_cell("observation", self._observation, position)) is not None:
            kind, state, color = frame.observation[cell].tolist()
            agent = "agent on " if cell == frame.observer[:2] else ""
            text = f"{agent}{describe_object(frame.types, kind, state, color)}"
            text = text if kind != HIDDEN else "not seen"
            return self._observation.cell_rect(*cell), text
        return None

    def draw_item(self, surface: pygame.Surface, rect: pygame.Rect) -> str:
        """Draw the object that the agent holds into `rect` and return its description; an empty
        text if nothing is held."""
        kind, state, color = self._frame.item
        if not kind:
            return ""
        name = self._sheet.sprite_name(kind, state)
        sprite = self._sheet.get(name, color, max(1, min(rect.size)))
        surface.blit(sprite, sprite.get_rect(center=rect.center))
        if self._is_putting:
            pygame.draw.rect(surface, self._theme.accent, rect, max(1, self.line // 8))
        return describe_object(self._frame.types, kind, state, color)

    def draw_thumbnail(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw only the grid, bright and as large as fits into `rect`; in a level with the view
        "explored", only explored cells."""
        if self._game.scenario.view == "explored":
            self.view = "explored"
        height, width = self._frame.grid.shape[:2]
        scale = min(rect.h / height, rect.w / width)
        cell = max(1, int(scale))
        picture = pygame.Surface((width * cell, height * cell), 0, 32)
        content = whole_grid_of(self._frame)._replace(lit=None)
        Board(self._sheet).draw(picture, picture.get_rect(), (0, 0), cell, content)
        if scale < 1:  # more cells than pixels
            size = max(1, int(width * scale)), max(1, int(height * scale))
            picture = pygame.transform.smoothscale(picture, size)
        surface.blit(picture, picture.get_rect(center=rect.center))

    def _describe_action(self, action: str) -> str:
        facing = self._frame.agent[2]
        direction = self._steering.direction_of(action, facing) if self.steering else ""
        return direction or self.action_text(action)

    def action_text(self, action: str) -> str:
        """Return `action` in words, such as "turn left"."""
        return describe_action(action, getattr(self._game, "commands", ()))

    # ---- input ---------------------------------------------------------------------------

    def command(self, name: str) -> str:
        """Run the key command `name` of the group `view`, and return an empty text; if the command
        is an action of the level, return its name instead."""
        if name == "hint" and not self._frame.outcome:
            self._hint.search()
        elif name == "minimap":
            self._has_minimap = not self._has_minimap
        elif name == "zoom_reset":
            self._camera.cell = None
        elif name in ("zoom_in", "zoom_out"):
            self._zoom(1 if name == "zoom_in" else -1)
        name = input_map.resolve_action(name, self._actions)
        is_own = any(command.name == name for command in self._game.commands)
        return name if name in ACTIONS or name in self._actions or is_own else ""

    def actions(self, name: str) -> Iterator[str]:
        """Yield the actions of a key command: several for a steering command such as "go left",
        else one."""
        if self.steering:
            look_first = self.view == "explored"  # the next cell may be unknown
            frame = self._game.frame
            yield from input_map.steer(self._steerings, name, frame, self._game, look_first)
        if name not in (command.name for command in self.steering):
            yield from super().actions(name)

    def click(self, position: tuple[int, int], button: int) -> str:
        """Handle a mouse click on a cell: start a walk to it (or use its object) and return the
        first action, or inspect the cell and return an empty text.

        A right click selects the cell in the inspector and opens the panel. So does a left click if
        the inspector is open or the stage does not walk.
        """
        cell = self._cell_at(position)
        if cell is None or button not in (1, 3):
            return ""
        if button == 1 and self.walks and self.side_panel is None:
            names = [*self._actions, *(command.name for command in self._game.commands)]
            if self.view == "explored":  # the agent sees only what is ahead
                names = [name for name in names if name not in REDUNDANT_MOVES]
            self._walk = Walk(cell, names, self._is_putting, self._has_relative_moves)
            action = self.next_walk_action()
            self._note = "" if action else self._explain_click(cell)
            return action
        self._inspector.choose(cell)
        self.side_panel = self._inspector
        return ""

    def _explain_click(self, cell: Cell) -> str:
        """Return the reason why a click on `cell` does nothing."""
        frame = self._frame
        if frame.outcome:
            return "The level is over"
        if cell == frame.agent[:2]:
            return "You are here"
        if frame.grid[cell][0] == HIDDEN:
            return "You have not seen that cell yet, and know no way to it"
        words = describe_object(frame.types, *frame.grid[cell].tolist())
        if frame.grid[cell][0] == FLOOR:
            return "No way leads there"
        y, x, _ = frame.agent
        is_beside = abs(cell[0] - y) + abs(cell[1] - x) == 1
        return f"You can do nothing with the {words}" if is_beside else f"No way to the {words}"

    def select_held_item(self) -> None:
        """Let the next click choose the cell in which to put down the held object; a second call
        cancels this."""
        puts = (
            self.walks
            and bool(self._frame.item[0])
            and not {*input_map.DROPS}.isdisjoint(self._actions)
        )
        self._is_putting = puts and not self._is_putting

    @property
    def absent_types(self) -> Collection[int]:
        """Return the indices of the object types that neither occur in the level nor can be left
        over when an object is used up."""
        frame = self._whole_frame
        present = {*np.unique(frame.grid[..., 0]).tolist(), int(frame.item[0])}
        if frame.beneath is not None:
            present |= {*np.unique(frame.beneath[..., 0]).tolist()}
        for stack in () if frame.stacks is None else np.unique(frame.stacks).tolist():
            present |= {entry & 255 for entry in find_stack(stack) if entry & COVERED}
        leftovers = {frame.types[kind].leaves for kind in present if kind < len(frame.types)}
        return {kind.index for kind in frame.types} - present - leftovers

    def sound(self, before: Frame, after: Frame) -> str:
        """Return the name of the sound of a step; empty if there is none."""
        return step_sound(before, after)

    def failure_text(self, before: Frame, after: Frame) -> str:
        """Return a sentence on an action without effect, with the reason if it is known; empty for
        moves and turns, which shake the agent."""
        action = input_map.own_action(after)
        is_move = action in (*input_map.MOVE_DIRECTIONS, *input_map.TURN_DIRECTIONS)
        if is_move or not action or after.outcome or not is_failure(before, after):
            return ""
        reason = input_map.explain_failure(after, action)
        own = [command for command in self._game.commands if command.name == action]
        for command in own if not reason else ():
            if missing := command.find_missing(self._amounts_of(before)):
                reason = f"{command.description.capitalize()}: too little {missing}"
            elif command.needs:
                reason = f"{command.description.capitalize()}: it needs {command.needs}"
        return reason or f"{self.action_text(action).capitalize()}: nothing happens"

    def _amounts_of(self, frame: Frame) -> dict[str, tuple[str, float]]:
        """Return the labels and values of the numbers of a frame, by name."""
        scenario = self._game.scenario
        numbers = (*scenario.state_numbers, *scenario.display_numbers)
        shown = (*frame.numbers, *frame.display)
        return {
            number.name: (number.label, float(each.text))
            for number, each in zip(numbers, shown, strict=False)
        }

    def find_missing(self, command: KeyCommand) -> str:
        """Return what is missing for the cost of an action now, in words; "" for nothing."""
        return command.find_missing(self._amounts_of(self._whole_frame)) if command.cost else ""

    def has_icon(self, name: str) -> bool:
        """Return True if there is a sprite called `name`."""
        return self._sheet.has_sprite(name)

    def draw_icon(self, surface: pygame.Surface, rect: pygame.Rect, name: str) -> None:
        """Draw the sprite called `name` into the square `rect`."""
        surface.blit(self._sheet.get(name, 0, max(1, rect.w)), rect)

    def prepare_hint(self) -> None:
        """Compile the level's rules for the search for hints, in a background process."""
        self._hint.prepare()

    def close(self) -> None:
        """End the background process that searches for hints."""
        self._hint.close()

    def next_walk_action(self) -> str:
        """Return the next action of the walk to a clicked cell; an empty text if the walk is
        over."""
        action = self._walk.next_action(self._frame, self._game.mask()) if self._walk else ""
        if not action:
            self.stop_walking()
        return action

    def stop_walking(self) -> None:
        """Cancel the walk to the clicked cell."""
        self._walk = None

    def hover(self, position: tuple[int, int] | None) -> bool:
        """Store the mouse position (None outside the window); return True if the tooltip has
        changed."""
        before = self._mouse and self._describe_cell(self._mouse)
        self._mouse = position
        return (position and self._describe_cell(position)) != before

    def wheel(self, position: tuple[int, int], notches: int) -> bool:
        """Zoom by `notches` of the mouse wheel (positive to zoom in) if the mouse is over the
        state; return True if the picture has changed."""
        if self._view_cell("state", self._state, position) is None:
            return False
        self._zoom(notches)
        return True

    def _zoom(self, notches: int) -> None:
        """Make the cells of the state larger for positive `notches` of the mouse wheel, smaller for
        negative ones."""
        if "state" not in self._places:
            return
        rect, (width, height) = self._places["state"].rect, self._area.size
        fitting_cell = max(1, min(rect.h // height, rect.w // width))
        cell = self._camera.cell_size((height, width), (rect.h, rect.w), self._readable)
        self._camera.zoom(notches, cell, fitting_cell)

    def _view_cell(self, view: str, board: Board, position: tuple[int, int]) -> Cell | None:
        return board.cell_at(position) if view in self._places else None

    def _cell_at(self, position: tuple[int, int]) -> Cell | None:
        """Return the (y, x) grid cell that is drawn at a pixel position, in the state or the
        observation; None if no cell is drawn there."""
        if (cell := self._view_cell("state", self._state, position)) is not None:
            return cell
        seen = self._view_cell("observation", self._observation, position)
        return None if seen is None else self._frame.to_grid_cell(*seen)
