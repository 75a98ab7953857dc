"""Protocols of what a domain draws in the window: the stage of a game and the map of the editor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any, NamedTuple, Protocol

from gv_engine.play.editor.map_model import MapCell, MapModel
from gv_engine.play.session.sprite_paths import SpriteSource
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import Rect, join_into_lines, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.rules.frame import Scene
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.domains import DOMAINS, KeyCommand
from gv_engine.scenario.readers.map import format_reward

Shape = tuple[int, int]  # height and width
Point = tuple[float, float]  # y, x in cells from the corner of the grid, or in pixels

MAX_READABLE = 7  # largest side of a cell, unless the user zooms in, in smallest readable sides
CELLS_ACROSS = 13  # visible cells along the shorter side, if a grid is too large to be shown whole
ZOOM_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128)  # pixels


class Camera:
    """Zoom level of a grid. Without zoom a grid is shown whole if its cells are large enough, else
    around the agent.

    Attributes:
        cell: side of a cell in pixels; None before the first zoom.
    """

    cell: int | None = None

    def cell_size(self, grid: Shape, viewport: Shape, min_readable: int) -> int:
        """Return the side of a cell in pixels: the size that the user has zoomed to, or else
        `default_cell_size(grid, viewport, min_readable)`."""
        if self.cell is None:
            return default_cell_size(grid, viewport, min_readable)
        return max(self.cell, _fit_cell(grid, viewport))

    def zoom(self, notches: int, size: int, min_size: int) -> None:
        """Enlarge the cells by `notches` of the mouse wheel, or shrink them if it is negative.
        `size` is the current side of a cell in pixels.

        Args:
            notches: number of zoom steps.
            size: present side of a cell in pixels.
            min_size: exclusive lower limit of the side in pixels.
        """
        sizes = [allowed for allowed in ZOOM_SIZES if allowed > min_size]
        for _ in range(abs(notches)):
            if notches > 0:
                size = next((larger for larger in sizes if larger > size), size)
            else:
                smaller = [allowed for allowed in sizes if allowed < size]
                size = smaller[-1] if smaller else max(1, min_size)
        self.cell = size


def _fit_cell(grid: Shape, viewport: Shape) -> int:
    return min(viewport[0] // grid[0], viewport[1] // grid[1])


def default_cell_size(grid: Shape, viewport: Shape, min_readable: int) -> int:
    """Return the side of a cell in pixels with which the whole grid fits into `viewport`. If that
    is less than `min_readable` pixels, return a larger side, with which only a part of the grid
    fits. A small grid is not enlarged beyond `MAX_READABLE * min_readable`.

    Args:
        grid: height and width in cells.
        viewport: height and width in pixels.
        min_readable: smallest side in pixels that is readable.
    """
    fitting = _fit_cell(grid, viewport)
    if fitting < min_readable:
        return max(min_readable, min(viewport) // CELLS_ACROSS)
    return min(fitting, MAX_READABLE * min_readable) if min_readable else fitting


def scroll_offset(grid: Shape, viewport: Shape, center: Point, cell: int) -> Point:
    """Return the pixel position (y, x) in the grid to show at the viewport's top left corner, so
    that the cell `center` is as near to the middle as possible. It is negative if the grid is
    smaller than the viewport.

    Args:
        grid: height and width of the grid in cells.
        viewport: height and width of the viewport in pixels.
        center: y, x of the cell to show in the middle, as far as the edges of the grid allow.
        cell: side of a cell in pixels.
    """

    def offset(axis: int) -> float:
        grid_size, viewport_size = grid[axis] * cell, viewport[axis]
        if grid_size <= viewport_size:
            return (grid_size - viewport_size) // 2  # centred
        centered = (center[axis] + 0.5) * cell - viewport_size / 2
        return min(max(0.0, centered), grid_size - viewport_size)

    return offset(0), offset(1)


# ---- stage ---------------------------------------------------------------------------------------

MAP_SHARE = 4  # a minimap takes 1 / `MAP_SHARE` of the shorter side


class SidePanel(Protocol):
    """Panel beside the stage with details of a game, such as the inspector.

    Attributes:
        title: label of the button that opens the panel.
    """

    title: str

    def draw(self, surface: pygame.Surface, rect: Rect, line: int) -> None:
        """Draw the panel into `rect`; `line` is the height of a line of text in pixels."""

    def event(self, event: pygame.event.Event) -> bool:
        """Handle a mouse event on the panel; return True if the panel must be drawn again."""

    def command(self, name: str) -> bool:
        """Run the command `name` of the inspector; return True if the panel must be drawn again."""


class Stage(Protocol):
    """Draws one game of a domain, and turns clicks and key commands on the drawing into actions.

    Attributes:
        view: current view, a key of the domain's `views`; set by the screen.
        line: height of a line of text in pixels; set by the screen before drawing.
        side_panels: panels that can be opened, one at a time.
        side_panel: the open panel or None; the stage may mark what the panel is about.
        holds: True if players can hold an item.
        animation_seconds: duration of a movement in seconds.
        walks: True if a click on a cell makes the agent walk there, False if a click selects the
            cell; set by the screen.
        hinted_commands: names of the domain's commands for the hints at the bottom, the most
            important first.
        steers: True if arrow keys move in the direction of the arrow on the screen; set by the
            screen.
        is_research: True if the view is for somebody who studies an agent; set by the screen.
        has_history: True if players need the list that `draw_history` draws.
    """

    view: str
    line: int
    is_research: bool = False
    has_history: bool = False
    side_panels: Sequence[SidePanel] = ()
    side_panel: SidePanel | None = None
    holds: bool
    animation_seconds: float
    walks: bool = False
    steers: bool = False
    hinted_commands: Sequence[str]

    @property
    def player_views(self) -> Sequence[str]:
        """Views for players, of the domain's `views`, the default first; () for all."""
        return ()

    @property
    def shape(self) -> Shape | None:
        """Height and width of the drawing in cells; None if it has no fixed proportions."""
        return None

    @property
    def agent_rect(self) -> Rect | None:
        """Rectangle of the agent in the last drawing; None if it has none."""
        return None

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """Commands that replace the domain's commands while arrow keys move the agent in the
        direction of the arrow on the screen (`steers` is True)."""
        return ()

    def has_command(self, name: str) -> bool:
        """Return whether the command `name` of the domain does something in this game."""
        return True

    def action_text(self, action: str) -> str:
        """Return `action`, the name of an action, in words such as `move forward`."""
        return action.replace("_", " ").lower()

    def find_command_with_keys(self, command: str) -> str:
        """Return the command whose keys the hints show for `command`: `command` itself, or a
        command with the same effect and shorter keys."""
        return command

    @property
    def absent_types(self) -> Collection[int]:
        """Numbers of the object types that do not occur in the world."""
        return ()

    @property
    def is_busy(self) -> bool:
        """True while a computation runs whose result will be drawn."""
        return False

    def __init__(self, game: Any, theme: Theme) -> None: ...

    def begin(self, previous: Any, frame: Any) -> bool:
        """Set the frame to draw, and begin the animation of the change from `previous`, the frame
        before the last step; None if there was no step. Return True if there is something to
        animate.

        Args:
            previous: the frame before, or None if no step leads from it to this frame.
            frame: a `Scene`.

        Returns:
            True if something moves; then `draw` is called with a progress from 0 to 1.
        """

    def mark_differences(self, other: Any) -> None:
        """Highlight the differences between the drawn frame and the frame `other` until the next
        `begin`; None removes the highlights."""
        return None

    def show_policy_map(self, policy_map: Any) -> None:
        """Draw the policy's action and value in each cell over the world from now on; `policy_map`
        is a `gv_engine.rules.frame.PolicyMap`, or None for nothing."""
        return None

    def draw(self, surface: pygame.Surface, rect: Rect, progress: float) -> None:
        """Draw the world into `rect`; `progress` of the last step's animation is from 0 to 1.

        Args:
            surface: surface of the window.
            rect: rectangle of any size, even a few pixels.
            progress: progress of the movement from the previous frame to this one; 1 at its end.
        """

    def draw_item(self, surface: pygame.Surface, rect: Rect) -> str:
        """Draw the item that the agent holds into the small square `rect`, and return its name; ""
        if there is none."""

    def draw_history(self, surface: pygame.Surface, rect: Rect) -> bool:
        """Draw the history of the episode into `rect`; return False if the domain has none."""
        return False

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel."""
        return ()

    def draw_thumbnail(self, surface: pygame.Surface, rect: Rect) -> None:
        """Draw only the world into `rect`, as large as fits and centred."""

    def command(self, name: str) -> str:
        """Run the key command `name` of the domain; return the action for the game, or "" if the
        command only changes the drawing.

        Returns:
            The action for the game; empty if the command only changes the drawing.
        """

    def actions(self, name: str) -> Iterator[str]:
        """Yield the actions of the domain's key command `name`. The caller must take each action
        before it asks for the next."""
        if action := self.command(name):
            yield action

    def click(self, position: tuple[int, int], button: int) -> str:
        """Handle a press of a mouse `button` (1 left, 2 middle, 3 right) at `position`, x and y in
        pixels; return the action to take, or "".

        Returns:
            The action for the game; empty for none.
        """

    def select_held_item(self) -> None:
        """Select the item that the agent holds, so that the next click chooses the cell to put it
        into; deselect it if it is selected."""
        return None

    def sound(self, before: Any, after: Any) -> str:
        """Return the name of the sound for the step from the frame `before` to the frame `after`;
        "" for the default sound."""
        return ""

    def failure_text(self, before: Any, after: Any) -> str:
        """Return a sentence for the player if the action between the frames `before` and `after`
        had no effect; "" if it had one, or if it is seen anyway."""
        return ""

    def find_missing(self, command: KeyCommand) -> str:
        """Return what is missing for the cost of an action now, in words; "" for nothing."""
        return ""

    def has_icon(self, name: str) -> bool:
        """Return True if there is a sprite called `name`."""
        return False

    def draw_icon(self, surface: pygame.Surface, rect: Rect, name: str) -> None:
        """Draw the sprite called `name` into the square `rect`."""
        return

    def next_walk_action(self) -> str:
        """Return the next action on the way to the cell that was clicked; "" if there is none."""
        return ""

    def stop_walking(self) -> None:
        """Cancel the walk to the clicked cell."""
        return None

    def prepare_hint(self) -> None:
        """Get ready in the background for a first hint, if that takes long."""
        return None

    def close(self) -> None:
        """Release what the stage holds, such as a search process."""
        return None

    def hover(self, position: tuple[int, int] | None) -> bool:
        """Handle a move of the mouse to `position`, x and y in pixels; None if the mouse has left
        the world. Return True if the world must be drawn again."""

    def wheel(self, position: tuple[int, int], notches: int) -> bool:
        """Handle a turn of the mouse wheel by `notches`, positive away from the user; return True
        if the world must be drawn again."""


def make_stage(game: Any, theme: Theme) -> Stage:
    """Return a new stage, of the class that the game's domain registers, that draws the session
    `game` in colours of `theme`."""
    stage: Stage = resolve_name(DOMAINS[game.frame().domain].stage)(game, theme)
    return stage


# ---- map drawing ---------------------------------------------------------------------------------


class MapDrawing(Protocol):
    """Draws the map of an edited level, and finds the cell at a pixel."""

    def draw(
        self, surface: pygame.Surface, rect: Rect, line: int, sketch: MapModel, cursor: MapCell
    ) -> None:
        """Draw the edited map `sketch` into `rect`; if it is too large, the part around the cell
        `cursor`.

        Args:
            surface: surface of the window.
            rect: rectangle to draw in.
            line: height of a line of text, in pixels.
            sketch: model of the level's map.
            cursor: selected cell.
        """

    def outline_cells(
        self, surface: pygame.Surface, rect: Rect, cells: Mapping[MapCell, str]
    ) -> None:
        """Outline cells of the map in the picture in `rect`; `cells` gives the name of the theme
        colour for each cell."""

    def cell_at(self, position: tuple[int, int]) -> MapCell | None:
        """Return the map cell at `position`, x and y in pixels; None if there is none."""

    def cell_rect(self, cell: MapCell) -> Rect:
        """Return the rectangle of a cell in the last picture."""

    def zoom(self, notches: int) -> None:
        """Make the map larger by `notches` turns of the mouse wheel, or smaller if it is negative;
        0 resets the size."""

    def object_picture(self, kind: int, state: int, color: int, size: int) -> pygame.Surface:
        """Return a picture, `size` pixels wide, of an object given by the indices of its type,
        state and colour."""

    def agent_picture(self, facing: int, size: int) -> pygame.Surface:
        """Return a picture, `size` pixels wide, of an agent that looks in the direction with index
        `facing`."""


def make_map_drawing(
    domain: str, theme: Theme, sources: Iterable[SpriteSource], types: ObjectTypes
) -> MapDrawing:
    """Return a new `MapDrawing`, of the class that `domain` registers, in colours of `theme`.
    `sources` are searched for the level's sprites, and `types` are its object types."""
    drawing: MapDrawing = resolve_name(DOMAINS[domain].sketch)(theme, sources, types)
    return drawing


_MISSION_LINES = 6  # lines from which on a panel shows the mission at its top
_MAX_MISSION_LINES = 3  # lines
_COUNTERS = 3  # rows of steps, reward and return
WIDE_ASPECT = 1.45  # width : height from which on the panel is beside the stage, else below


class ScreenLayout(NamedTuple):
    """Rectangles of the parts of a game's screen; they are disjoint, and a part without room has
    height 0."""

    header: Rect
    goal: Rect
    stage: Rect
    panel: Rect
    side: Rect
    controls: Rect
    hints: Rect


def is_small_window(area: Rect, line: int) -> bool:
    """Return whether the window `area` has less than 28 lines of text, each `line` pixels high."""
    return area.h < 28 * line


def _count_panel_lines(area: Rect, line: int) -> float:
    """Return the height, in lines, of the status panel below the stage."""
    if area.h < 24 * line:
        return 3
    return 5.25 if is_small_window(area, line) else 8


def lay_out_screen(
    area: Rect,
    line: int,
    has_side_panel: bool,
    controls: float,
    hints: int,
    goal: float = 0,
    has_panel: bool = True,
) -> ScreenLayout:
    """Return the rectangles of the parts of a game's screen in the window `area`. `line` is the
    height of a line of text in pixels; `controls`, `hints` and `goal` are heights in lines.

    Args:
        area: rectangle of the window.
        line: height of a line of text, in pixels.
        has_side_panel: True if a side panel is open.
        controls: height of the controls below the stage, in lines.
        hints: number of lines with hints at the bottom.
        goal: number of lines below the header, for the goal and the state vector.
        has_panel: True if there is a status panel; without panels the stage is as wide as the area.
    """
    gap, margin = max(3, line // 2), line * 3 // 4
    stage = area.inflate(-2 * margin, -gap)
    header = cut(stage, "top", line * 7 // 4, gap // 2)
    goal_rect = cut(stage, "top", int(goal * line), margin * bool(goal))
    hints_rect = cut(stage, "bottom", hints * line, gap // 2)
    is_wide, is_large = area.w >= WIDE_ASPECT * area.h, area.w >= 44 * line
    side_panel = Rect(stage.right, stage.bottom, 0, 0)
    panel = side_panel.copy()
    if has_side_panel:
        if is_wide or is_large:
            width = min(max(22 * line, stage.w * 2 // 5), 40 * line, stage.w * 3 // 5)
            side_panel = cut(stage, "right", width, gap)
            panel_lines = 2 if stage.w >= 24 * line else 4
        else:
            side_panel = cut(stage, "bottom", stage.h // 2, gap)
            panel_lines = 2
        if has_panel:
            panel = cut(stage, "bottom", panel_lines * line, gap)
    elif not has_panel:
        stage.x, stage.w = area.x, area.w
    elif is_wide and is_large:
        panel = cut(stage, "right", min(max(14 * line, stage.w // 4), 22 * line), gap)
    else:
        panel = cut(stage, "bottom", int(_count_panel_lines(area, line) * line), gap)
    controls_rect = cut(stage, "bottom", int(controls * line), gap // 2)
    return ScreenLayout(header, goal_rect, stage, panel, side_panel, controls_rect, hints_rect)


# Label of a button, and the function that a press calls.
PanelButton = tuple[str, Callable[[], None]]


class StatusPanel:
    """Panel about the state of an episode: mission, held item, steps, rewards and message. Parts
    that do not fit are left out, the least important first.

    Args:
        painter: painter to draw with.
        scene: frame to describe.
        stage: stage that draws the held item.
        facts: short texts, the first of them the seed.
        seed_button: button beside the seed, if it fits.
        is_research: False to leave out rewards and what is not for players.
    """

    def __init__(
        self,
        painter: Painter,
        scene: Scene,
        stage: Stage,
        facts: Sequence[str],
        seed_button: PanelButton | None = None,
        is_research: bool = True,
    ) -> None:
        self._painter, self._line = painter, painter.line_height
        self._scene, self._stage, self._is_research = scene, stage, is_research
        self._seed, self._seed_button = facts[0] if facts else "", seed_button
        self._facts = [*stage.facts(), *facts]
        self._numbers = scene.numbers

    def draw(self, rect: Rect) -> bool:
        """Draw the panel into `rect`; return False if there is a message that did not fit."""
        line, message = self._line, self._scene.message
        if not self._is_research:
            return self._draw_for_player(rect.copy())
        self._painter.draw_card(rect)
        inner = rect.inflate(-line, -line * 3 // 4)
        if inner.w < 4 * line or inner.h < line:
            return not message
        if rect.h < 5 * line:
            return self._draw_compact(inner)
        self._draw_mission(inner)
        if rect.w > 2 * rect.h:
            left = cut(inner, "left", inner.w * 9 // 20, line)
            self._draw_counters(left)
            message_rect = left
        else:
            self._draw_counters(inner)
        self._draw_state_vector(inner)
        if rect.w <= 2 * rect.h:
            height = min(self._painter.text_height(message, inner.w), 6 * line)
            message_rect = cut(inner, "bottom", height, line // 2 * bool(height))
        if not self._stage.draw_history(self._painter.surface, inner):
            self._draw_reward_terms(inner)
        if message and message_rect.h >= line:
            self._painter.draw_lines(message_rect, message, "accent")
        return not message or message_rect.h >= line

    def _draw_for_player(self, rest: Rect) -> bool:
        """Draw facts, history and message into `rest`. Return False if the message did not fit."""
        painter, message = self._painter, self._scene.message
        if not rest.w:
            return not message
        for fact in filter(None, self._facts):
            height = min(painter.text_height(fact, rest.w), rest.h)
            painter.draw_lines(cut(rest, "top", height), fact, "muted")
        height = painter.text_height(message, rest.w)
        is_shown = bool(message) and height <= rest.h
        if is_shown:
            painter.draw_lines(cut(rest, "bottom", height), message, "accent")
        self._stage.draw_history(painter.surface, rest)
        return is_shown or not message

    def _draw_compact(self, rect: Rect) -> bool:
        """Draw everything as lines of text into the low rectangle `rect`, with the held item as a
        button at their left. Return False if there is a message, which is not drawn."""
        line, scene = self._line, self._scene
        well = Rect(rect.x, rect.y, min(rect.h, 2 * line), min(rect.h, 2 * line))
        if self._stage.holds and self._stage.draw_item(self._painter.surface, well):
            self._painter.add_hit_area(well, lambda _: self._stage.select_held_item())
            cut(rect, "left", well.w, line // 2)
        texts = [scene.mission, *(f"{number.label} {number.text}" for number in self._numbers)]
        texts += [" ".join(counter) for counter in self._counters]
        texts += self._facts
        terms = ((name.replace("_", " "), reward) for name, reward in scene.terms.items())
        texts += [f"{name} {format_reward(reward)}" for name, reward in terms if reward]
        for text in join_into_lines([*filter(None, texts)], line, rect.w)[: rect.h // line]:
            self._painter.draw_text(cut(rect, "top", line), text)
        return not scene.message

    def _draw_mission(self, rest: Rect) -> None:
        """Draw the mission at the top of `rest`, which is shrunk; in a low panel, make it the first
        of the facts instead."""
        mission, line = self._scene.mission, self._line
        if mission and rest.h < _MISSION_LINES * line:
            self._facts.insert(0, mission)
        elif mission:
            height = self._painter.text_height(mission, rest.w, _MAX_MISSION_LINES)
            self._painter.draw_lines(cut(rest, "top", height, line // 2), mission, "accent")

    @property
    def _counters(self) -> list[tuple[str, str]]:
        """Labels and values of steps, reward and return."""
        scene = self._scene
        limit = f" / {scene.max_steps}" if scene.max_steps else ""
        return [
            ("Steps", f"{scene.steps}{limit}"),
            ("Reward", format_reward(scene.reward)),
            ("Return", format_reward(scene.total)),
        ]

    def _draw_counters(self, rest: Rect) -> None:
        """Draw held item, counters and facts at the top of `rest`, which is shrunk to the free
        space below."""
        line, stage = self._line, self._stage
        # one more line fits below; the held item is as high as three rows
        row_height = min(line * 5 // 4, (rest.h - line * 5 // 4) // _COUNTERS)
        counters = cut(rest, "top", _COUNTERS * row_height, line // 4)
        item = self._draw_held_item(counters, rest.w // 3) if stage.holds else ""
        for label, value in self._counters:
            slot = cut(counters, "top", row_height)
            self._draw_label(slot, label)
            color = self._choose_color(self._scene.reward) if label == "Reward" else "text"
            self._painter.draw_text(slot, value, color, "right", 1.1)
        held = f"Holding: {item}" if item else ""
        action = self._scene.action
        last_action = f"Last action: {stage.action_text(action)}" if action else ""
        for text in filter(None, (*self._facts, held, last_action)):
            if line <= rest.h:
                row = cut(rest, "top", line)
                self._draw_label(row, text)
                if text == self._seed:
                    self._draw_seed_button(row)
        cut(rest, "top", line // 4)

    def _draw_held_item(self, rect: Rect, max_side: int) -> str:
        """Draw the held item, or a dash, as a button at the left of `rect`, which is shrunk; return
        the item's name, "" for none."""
        side = min(rect.h, max_side)
        well = cut(rect, "left", side, self._line // 2)
        well.h = side
        self._painter.draw_card(well, "well")
        picture = well.inflate(-side // 8, -side // 8)
        if item := self._stage.draw_item(self._painter.surface, picture):
            self._painter.add_hit_area(well, lambda _: self._stage.select_held_item())
        else:
            self._painter.draw_text(well, "-", "muted", "center")
        return item

    def _draw_label(self, row: Rect, label: str) -> None:
        """Draw `label` at the left of `row`, which is shrunk to the space beside it."""
        width = self._painter.draw_text(row, label, "muted", size=0.9)
        cut(row, "left", width + self._line // 2)

    def _draw_seed_button(self, row: Rect) -> None:
        if self._seed_button:
            label, press = self._seed_button
            width = self._painter.text_width(label) + self._line
            if width <= row.w:
                self._painter.draw_button(cut(row, "left", width), label, press)

    def _draw_state_vector(self, rest: Rect) -> None:
        """Draw the agent's state vector at the top of `rest`, a line for each number or bar, as far
        as they fit; `rest` is shrunk to the free space below."""
        line, painter, numbers = self._line, self._painter, self._numbers
        for number in numbers[: max(0, rest.h // line)]:
            row = cut(rest, "top", line)
            self._draw_label(row, number.label)
            cut(row, "right", painter.draw_text(row, number.text, "text", "right") + line // 2)
            if number.share is not None and row.w > line:
                painter.draw_bar(cut(row, "right", min(row.w, 6 * line)), number.share)
        cut(rest, "top", line // 4 * bool(numbers))

    def _draw_reward_terms(self, rect: Rect) -> None:
        """Draw the last reward of each reward rule into `rect`; if not all fit, rewards other than
        0 come first."""
        line, painter, rest = self._line, self._painter, rect.copy()
        max_rows = rect.h // line - 1
        terms = list(self._scene.terms.items())
        if max_rows < 1 or not terms:
            return
        painter.draw_text(cut(rest, "top", line), "Reward, rule by rule", "muted", size=0.9)
        if len(terms) > max_rows:
            terms.sort(key=lambda term: not term[1])
        for name, value in terms[:max_rows]:
            slot = cut(rest, "top", line)
            text, color = format_reward(value), self._choose_color(value)
            slot.w -= painter.draw_text(slot, text, color, "right") + line // 2
            painter.draw_text(slot, name.replace("_", " "), "text" if value else "muted")

    def _choose_color(self, value: float) -> str:
        """Return the name of the theme colour for a reward of `value`."""
        if value > 0:
            return "gain"
        if value < 0:
            return "loss" if self._scene.is_loss_highlighted else "text"
        return "muted"
