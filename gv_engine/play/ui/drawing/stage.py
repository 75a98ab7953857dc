"""Protocols of what a domain draws in the window: the stage of a game and the map of the editor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple, Protocol

from gv_engine.play.editor.map_model import MapCell, MapModel
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import Rect, join_into_lines, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut, wrap_text
from gv_engine.rules.frame import Scene
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.scenario.readers.map import format_reward

Point = tuple[float, float]
"""y, x in cells from the corner of the grid, or in pixels."""

CELLS_ACROSS = 24  # visible cells along the shorter side, if a grid is too large to be shown whole
ZOOM_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128)  # pixels


class Camera:
    """Zoom level of a grid. Without zoom a grid is shown whole if its cells are large enough, else
    around the agent.

    Attributes:
        cell: side of a cell in pixels; None before the first zoom.
    """

    cell: int | None = None

    def cell_size(self, grid: tuple[int, int], room: tuple[int, int], readable: int) -> int:
        """Return the side of a cell in pixels: the size that the user has zoomed to, or else
        `default_cell_size(grid, room, readable)`."""
        if self.cell is None:
            return default_cell_size(grid, room, readable)
        # at least large enough to fill the room
        return max(self.cell, min(room[0] // grid[0], room[1] // grid[1]))

    def zoom(self, notches: int, size: int, min_size: int) -> None:
        """Enlarge the cells by `notches` of the mouse wheel, or shrink them if it is negative.
        `size` is the current side of a cell in pixels.

        Args:
            notches: number of zoom steps.
            size: present side of a cell in pixels.
            min_size: exclusive lower limit of the side in pixels.
        """
        steps = [step for step in ZOOM_SIZES if step > min_size]
        for _ in range(abs(notches)):
            if notches > 0:
                size = next((step for step in steps if step > size), size)
            else:
                size = next((step for step in reversed(steps) if step < size), max(1, min_size))
        self.cell = size


def default_cell_size(grid: tuple[int, int], room: tuple[int, int], readable: int) -> int:
    """Return the side of a cell in pixels with which the whole grid fits into `room`. If that is
    less than `readable` pixels, return a larger side, with which only a part of the grid fits.

    Args:
        grid: height and width in cells.
        room: height and width in pixels.
        readable: smallest side in pixels that is readable.
    """
    whole = min(room[0] // grid[0], room[1] // grid[1])
    return whole if whole >= readable else max(readable, min(room) // CELLS_ACROSS)


def scroll_offset(grid: tuple[int, int], room: tuple[int, int], center: Point, cell: int) -> Point:
    """Return the pixel position (y, x) in the grid of the viewport's top left corner, such that the
    cell `center` is as near to the middle as possible; negative if the grid is smaller than the
    viewport.

    Args:
        grid: height and width of the grid in cells.
        room: height and width of the viewport in pixels.
        center: y, x of the cell to show in the middle, as far as the edges of the grid allow.
        cell: side of a cell in pixels.
    """
    y, x = (
        (size * cell - space) // 2
        if size * cell <= space
        else min(max(0.0, (at + 0.5) * cell - space / 2), size * cell - space)
        for size, space, at in zip(grid, room, center, strict=True)
    )
    return y, x


# ---- stage ---------------------------------------------------------------------------------------

MAP_SHARE = 4
"""A minimap takes 1 / `MAP_SHARE` of the shorter side."""


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
        glide: duration of a movement in seconds.
        walks: True if a click on a cell makes the agent walk there, False if a click selects the
            cell; set by the screen.
        hinted_commands: names of the domain's commands for the hints at the bottom, the most
            important first.
        steers: True if arrow keys move in the direction of the arrow on the screen; set by the
            screen.
    """

    view: str
    line: int
    side_panels: Sequence[SidePanel] = ()
    side_panel: SidePanel | None = None
    holds: bool
    glide: float
    walks: bool = False
    steers: bool = False
    hinted_commands: Sequence[str]

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

    def keyed_command(self, name: str) -> str:
        """Return the command whose keys the hints show for the command `name`: `name` itself, or a
        command with the same effect and shorter keys."""
        return name

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

    def next_walk_action(self) -> str:
        """Return the next action on the way to the cell that was clicked; "" if there is none."""
        return ""

    def stop_walking(self) -> None:
        """Cancel the walk to the clicked cell."""
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
    domain: str, theme: Theme, folders: Iterable[Path], types: ObjectTypes
) -> MapDrawing:
    """Return a new `MapDrawing`, of the class that `domain` registers, in colours of `theme`.
    `folders` are searched for the level's sprites, and `types` are its object types."""
    drawing: MapDrawing = resolve_name(DOMAINS[domain].sketch)(theme, folders, types)
    return drawing


_MISSION_LINES = 6  # lines from which on a panel shows the mission at its top
_MAX_MISSION_LINES = 3  # lines
_COUNTERS = 3  # rows of steps, reward and return
WIDE_ASPECT = 1.45  # width : height from which on the panel is beside the stage, else below


class ScreenLayout(NamedTuple):
    """Rectangles of the parts of a game's screen; they are disjoint, and a part without room has
    height 0."""

    header: Rect
    stage: Rect
    panel: Rect
    side: Rect
    controls: Rect
    hints: Rect


def is_small_window(area: Rect, line: int) -> bool:
    """Return whether the window `area` has less than 28 lines of text, each `line` pixels high."""
    return area.h < 28 * line


def _panel_lines(area: Rect, line: int) -> float:
    return 3 if area.h < 24 * line else 5.25 if is_small_window(area, line) else 8


def lay_out_screen(
    area: Rect, line: int, has_side_panel: bool, controls: float, hints: int
) -> ScreenLayout:
    """Return the rectangles of the parts of a game's screen in the window `area`. `line` is the
    height of a line of text in pixels; `controls` and `hints` are heights in lines.

    Args:
        area: rectangle of the window.
        line: height of a line of text, in pixels.
        has_side_panel: True if a side panel is open.
        controls: height of the controls below the stage, in lines.
        hints: number of lines with hints at the bottom.
    """
    gap = max(3, line // 2)
    stage = area.inflate(-2 * gap, -gap)
    header = cut(stage, "top", line * 7 // 4, gap // 2)
    hints_rect = cut(stage, "bottom", hints * line, gap // 2)
    is_wide, is_large = area.w >= WIDE_ASPECT * area.h, area.w >= 44 * line
    wide = (is_wide or is_large) if has_side_panel else (is_wide and is_large)
    side_panel = Rect(stage.right, stage.bottom, 0, 0)
    panel_lines = _panel_lines(area, line)
    if wide:
        share = max(22 * line, stage.w * 2 // 5) if has_side_panel else max(14 * line, stage.w // 4)
        width = min(share, 40 * line if has_side_panel else 22 * line, stage.w * 3 // 5)
        panel = cut(stage, "right", width, gap)
        if has_side_panel:
            side_panel = panel
            panel_lines = 2 if stage.w >= 24 * line else 4
    elif has_side_panel:
        side_panel = cut(stage, "bottom", stage.h // 2, gap)
        panel_lines = 2
    if has_side_panel or not wide:
        panel = cut(stage, "bottom", int(panel_lines * line), gap)
    controls_rect = cut(stage, "bottom", int(controls * line), gap // 2)
    return ScreenLayout(header, stage, panel, side_panel, controls_rect, hints_rect)


PanelButton = tuple[str, Callable[[], None]]
"""Label of a button, and the function that a press calls."""


def draw_status_panel(
    painter: Painter,
    rect: Rect,
    scene: Scene,
    stage: Stage,
    facts: Sequence[str],
    seed_button: PanelButton | None = None,
    has_rewards: bool = True,
) -> bool:
    """Draw the status panel into `rect`: mission, held item, steps, `facts`, message and the reward
    of each rule, as far as they fit. Return False if there is a message that did not fit.

    Args:
        painter: painter to draw with.
        rect: rectangle of the panel; parts that do not fit are left out, the least important first.
        scene: frame to describe.
        stage: stage that draws the held item.
        facts: short texts, the first of them the seed.
        seed_button: button beside the seed, if it fits.
        has_rewards: False to leave out all rewards.

    Returns:
        False if there is a message and it did not fit.
    """
    line = painter.line_height
    seed, facts = facts[0] if facts else "", (*stage.facts(), *facts)
    seed_text_and_button = (seed, seed_button) if seed_button else None
    mission = [scene.mission] if scene.mission else []
    counters = _counter_rows(scene, has_rewards)
    painter.draw_card(rect)
    inner = rect.inflate(-line, -line * 3 // 4)
    if inner.w < 4 * line or inner.h < line:
        return not scene.message
    if rect.h < 5 * line:
        _draw_held_item(painter, inner, stage)
        terms = [
            f"{name.replace('_', ' ')} {format_reward(v)}"
            for name, v in scene.terms.items()
            if v and has_rewards
        ]
        numbers = [f"{number.label} {number.text}" for number in scene.numbers]
        texts = [*mission, *numbers, *map(" ".join, counters), *facts, *terms]
        for row in join_into_lines(texts, line, inner.w)[: inner.h // line]:
            painter.draw_text(cut(inner, "top", line), row)
        return not scene.message
    if inner.h < _MISSION_LINES * line:
        facts = (*mission, *facts)
    elif mission:
        height = len(wrap_text(scene.mission, line, inner.w)[:_MAX_MISSION_LINES]) * line
        painter.draw_lines(cut(inner, "top", height, line // 2), scene.mission, "accent")
    if rect.w > 2 * rect.h:
        left = cut(inner, "left", inner.w * 9 // 20, line)
        _draw_counters(painter, left, scene, stage, counters, facts, seed_text_and_button)
        _draw_numbers(painter, inner, scene)
        _draw_history(painter, inner, scene, stage, has_rewards)
        return _draw_message(painter, left, scene.message)
    _draw_counters(painter, inner, scene, stage, counters, facts, seed_text_and_button)
    _draw_numbers(painter, inner, scene)
    height = min(len(wrap_text(scene.message, line, inner.w)), 6) * line
    message = cut(inner, "bottom", height, line // 2 * bool(height))
    _draw_history(painter, inner, scene, stage, has_rewards)
    return _draw_message(painter, message, scene.message)


def _draw_held_item(painter: Painter, rect: Rect, stage: Stage) -> None:
    """Draw the item that the agent holds at the left of `rect`, as a button that selects the item,
    and shrink `rect` by the width used."""
    line = painter.line_height
    side = min(rect.h, 2 * line)
    well = Rect(rect.x, rect.y, side, side)
    if stage.holds and stage.draw_item(painter.surface, well):
        painter.add_hit_area(well, lambda _: stage.select_held_item())
        cut(rect, "left", side, line // 2)


def _counter_rows(scene: Scene, has_rewards: bool) -> list[tuple[str, str]]:
    limit = "" if scene.max_steps is None else f" / {scene.max_steps}"
    rewards = [("Reward", format_reward(scene.reward)), ("Return", format_reward(scene.total))]
    return [("Steps", f"{scene.steps}{limit}"), *(rewards if has_rewards else ())]


def _draw_numbers(painter: Painter, rest: Rect, scene: Scene) -> None:
    """Draw the agent's state vector at the top of `rest`, a line for each number or bar, as far as
    they fit, and shrink `rest` to the free space below."""
    line = painter.line_height
    for number in scene.numbers[: max(0, rest.h // line)]:
        row = cut(rest, "top", line)
        cut(row, "left", painter.draw_text(row, number.label, "muted", size=0.9) + line // 2)
        cut(row, "right", painter.draw_text(row, number.text, "text", "right") + line // 2)
        if number.share is not None and row.w > line:
            painter.draw_bar(cut(row, "right", min(row.w, 6 * line)), number.share)
    cut(rest, "top", line // 4 * bool(scene.numbers))


def _draw_counters(
    painter: Painter,
    rest: Rect,
    scene: Scene,
    stage: Stage,
    rows: Sequence[tuple[str, str]],
    facts: Sequence[str],
    seed_button: tuple[str, PanelButton] | None,
) -> None:
    """Draw the held item, the counters `rows` and `facts` of the frame `scene` at the top of
    `rest`, and shrink `rest` to the free space below.

    Args:
        painter: painter to draw with.
        rest: rectangle to draw in.
        scene: frame to describe.
        stage: stage that draws the held item.
        rows: label and value of each counter.
        facts: short texts below the numbers.
        seed_button: text of the seed, and the button beside it.
    """
    line = painter.line_height
    # one more line fits below; the held item is as high as three rows
    row_height = min(line * 5 // 4, (rest.h - line * 5 // 4) // _COUNTERS)
    counters, item = cut(rest, "top", _COUNTERS * row_height, line // 4), ""
    if stage.holds:
        side = min(counters.h, rest.w // 3)
        well = cut(counters, "left", side, line // 2)
        well.h = side
        painter.draw_card(well, "well")
        item = stage.draw_item(painter.surface, well.inflate(-side // 8, -side // 8))
        if item:
            painter.add_hit_area(well, lambda _: stage.select_held_item())
        else:
            painter.draw_text(well, "-", "muted", "center")
    for label, value in rows:
        slot = cut(counters, "top", row_height)
        cut(slot, "left", painter.draw_text(slot, label, "muted", size=0.9) + line // 2)
        color = _value_color(scene, scene.reward) if label == "Reward" else "text"
        painter.draw_text(slot, value, color, "right", 1.1)
    held = f"Holding: {item}" if item else ""
    action = scene.action and f"Last action: {stage.action_text(scene.action)}"
    for text in (*facts, held, action):
        if text and line <= rest.h:
            row = cut(rest, "top", line)
            cut(row, "left", painter.draw_text(row, text, "muted", size=0.9) + line // 2)
            if seed_button and text == seed_button[0]:
                label, press = seed_button[1]
                width = painter.text_width(label) + line
                if width <= row.w:
                    painter.draw_button(cut(row, "left", width), label, press)
    cut(rest, "top", line // 4)


def _draw_history(
    painter: Painter, rect: Rect, scene: Scene, stage: Stage, has_rewards: bool
) -> None:
    if not stage.draw_history(painter.surface, rect) and has_rewards:
        _draw_reward_terms(painter, rect, scene)


def _draw_reward_terms(painter: Painter, rect: Rect, scene: Scene) -> None:
    """Draw the last reward of each reward rule in `scene` into `rect`; if not all fit, rewards
    other than 0 come first."""
    line, rest = painter.line_height, rect.copy()
    rows = rect.h // line - 1
    terms = list(scene.terms.items())
    if rows < 1 or not terms:
        return
    painter.draw_text(cut(rest, "top", line), "Reward, rule by rule", "muted", size=0.9)
    if len(terms) > rows:
        terms.sort(key=lambda term: not term[1])
    for name, value in terms[:rows]:
        slot, color = cut(rest, "top", line), _value_color(scene, value)
        slot.w -= painter.draw_text(slot, format_reward(value), color, "right") + line // 2
        painter.draw_text(slot, name.replace("_", " "), "text" if value else "muted")


def _draw_message(painter: Painter, rect: Rect, message: str) -> bool:
    if message and rect.h >= painter.line_height:
        painter.draw_lines(rect, message, "accent")
    return not message or rect.h >= painter.line_height


def _value_color(scene: Scene, value: float) -> str:
    below = "loss" if scene.is_loss_highlighted else "text"
    return "gain" if value > 0 else below if value < 0 else "muted"
