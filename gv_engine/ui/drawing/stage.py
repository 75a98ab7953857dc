"""Protocols of what a domain draws in the window: the stage of a game and the map of the editor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

from gv_engine.editor.map_model import MapCell, MapModel
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import Rect, pygame

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
        """Return the side of a cell in pixels: as the user has zoomed, or without zoom as by
        `default_cell_size`, which has the same arguments `grid`, `room` and `readable`."""
        if self.cell is None:
            return default_cell_size(grid, room, readable)
        return max(
            self.cell, min(room[0] // grid[0], room[1] // grid[1])
        )  # at least large enough to fill the room

    def zoom(self, notches: int, size: int, min_size: int) -> None:
        """Make cells larger by `notches` turns of the mouse wheel, or smaller if it is negative.
        `size` is the present side in pixels, and it stays above `min_size`.

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
    """Return the side of a cell in pixels with which the grid fits into the room, or, if that is
    less than `readable`, a larger one; both sizes are (height, width).

    Args:
        grid: height and width in cells.
        room: height and width in pixels.
        readable: smallest side in pixels that is readable.
    """
    whole = min(room[0] // grid[0], room[1] // grid[1])
    return whole if whole >= readable else max(readable, min(room) // CELLS_ACROSS)


def scroll_offset(grid: tuple[int, int], room: tuple[int, int], center: Point, cell: int) -> Point:
    """Return (y, x) of the corner of the visible part on the grid in pixels, so that the cell
    `center` is as near to the middle as possible; negative if the grid is smaller than the room.

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
"""Share of the shorter side that a minimap takes: one in this many."""


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
        """Commands that replace the domain's commands while `steers` is True."""
        return ()

    def has_command(self, name: str) -> bool:
        """Return whether the command `name` of the domain does something in this game."""
        return True

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
        """Set the state to draw: `frame`, after a step from the state `previous`, or None if no
        step led there. Return True if the change can be drawn as a movement.

        Args:
            previous: the frame before, or None if no step leads from it to this frame.
            frame: a `Scene`.

        Returns:
            True if something moves; then `draw` is called with a progress from 0 to 1.
        """

    def mark_differences(self, other: Any) -> None:
        """Mark what differs in the drawn world from the state `other`, until the next state; None
        marks nothing."""
        return None

    def draw(self, surface: pygame.Surface, rect: Rect, progress: float) -> None:
        """Draw the world into `rect`; `progress` is that of the movement of the last step, 1 at its
        end.

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
        """Run the command `name` of the domain; return the action to take, or "" if it only changes
        the drawing.

        Returns:
            The action for the game; empty if the command only changes the drawing.
        """

    def actions(self, name: str) -> Iterator[str]:
        """Yield the actions of the domain's command `name`; each must be taken before the next is
        asked for."""
        if action := self.command(name):
            yield action

    def click(self, position: tuple[int, int], button: int) -> str:
        """Handle a press of a mouse `button` (1 left, 2 middle, 3 right) at `position`, x and y in
        pixels; return the action to take, or "".

        Returns:
            The action for the game; empty for none.
        """

    def select_held_item(self) -> None:
        """Select the item that the agent holds, so that the next click chooses the cell to put it;
        deselect it if it is selected."""
        return None

    def sound(self, before: Any, after: Any) -> str:
        """Return the name of the sound for the step from the state `before` to `after`; "" for the
        usual sound."""
        return ""

    def next_walk_action(self) -> str:
        """Return the next action on the way to the cell that was clicked; "" if there is none."""
        return ""

    def stop_walking(self) -> None:
        """Cancel the way to the clicked cell."""
        return None

    def hover(self, position: tuple[int, int] | None) -> bool:
        """Handle that the mouse is at `position`, or has left for None; return True if the world
        must be drawn again."""

    def wheel(self, position: tuple[int, int], notches: int) -> bool:
        """Handle a turn of the mouse wheel by `notches`, positive away from the user; return True
        if the world must be drawn again."""


def make_stage(game: Any, theme: Theme) -> Stage:
    """Return a new object that draws the session `game` in colours of `theme`, of the class that
    the game's domain registers."""
    stage: Stage = resolve_name(DOMAINS[game.frame().domain].stage)(game, theme)
    return stage


# ---- map drawing ---------------------------------------------------------------------------------


class MapDrawing(Protocol):
    """Draws the map of an edited level, and finds the cell at a pixel."""

    def draw(
        self, surface: pygame.Surface, rect: Rect, line: int, sketch: MapModel, cursor: MapCell
    ) -> None:
        """Draw the edited level, or the part of it around the cell `cursor`, into `rect`; `sketch`
        is the model of the map.

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
        """Outline the given cells, each in the theme's colour of that name, in the picture in
        `rect`."""

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
    """Return a new object that draws edited maps in colours of `theme`, of the class that `domain`
    registers; `folders` have the level's sprites, and `types` are its object types."""
    drawing: MapDrawing = resolve_name(DOMAINS[domain].sketch)(theme, folders, types)
    return drawing
