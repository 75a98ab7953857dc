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
        """Return the side of a cell in pixels; the arguments are those of `default_cell_size`."""
        if self.cell is None:
            return default_cell_size(grid, room, readable)
        return max(
            self.cell, min(room[0] // grid[0], room[1] // grid[1])
        )  # at least large enough to fill the room

    def zoom(self, notches: int, size: int, min_size: int) -> None:
        """Change the size of a cell in pixels: zoom in, or out if `notches` is negative.

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
    """Return the side of a cell in pixels without zoom; 0 if a cell is smaller than a pixel.

    Args:
        grid: height and width in cells.
        room: height and width in pixels.
        readable: smallest side in pixels that is readable.
    """
    whole = min(room[0] // grid[0], room[1] // grid[1])
    return whole if whole >= readable else max(readable, min(room) // CELLS_ACROSS)


def scroll_offset(grid: tuple[int, int], room: tuple[int, int], center: Point, cell: int) -> Point:
    """Return y, x in pixels of the viewport's corner on the grid; negative if the grid is smaller.

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
        """Draw the panel; `line` is the height of a line of text in pixels."""

    def event(self, event: pygame.event.Event) -> bool:
        """Handle a mouse event on the panel (button, motion or wheel); return True to redraw."""

    def command(self, name: str) -> bool:
        """Run a command of the bindings' group `inspector`; return True to redraw."""


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
        """Return whether the game has a command of its domain; the help leaves out others."""
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
        """Set the frame to draw.

        Args:
            previous: the frame before, or None if no step leads from it to this frame.
            frame: a `Scene`.

        Returns:
            True if something moves; then `draw` is called with a progress from 0 to 1.
        """

    def mark_differences(self, other: Any) -> None:
        """Mark what differs from another frame of the game, or nothing for None, until the next
        frame."""
        return None

    def draw(self, surface: pygame.Surface, rect: Rect, progress: float) -> None:
        """Draw the world into a rectangle of the surface, and nothing outside of it.

        Args:
            surface: surface of the window.
            rect: rectangle of any size, even a few pixels.
            progress: progress of the movement from the previous frame to this one; 1 at its end.
        """

    def draw_item(self, surface: pygame.Surface, rect: Rect) -> str:
        """Draw the held item into a small square; return the item's name, empty if nothing is
        held."""

    def draw_history(self, surface: pygame.Surface, rect: Rect) -> bool:
        """Draw the history of the episode into a part of the panel; return False if the domain has
        none."""
        return False

    def facts(self) -> Sequence[str]:
        """Return short texts for the status panel."""
        return ()

    def draw_thumbnail(self, surface: pygame.Surface, rect: Rect) -> None:
        """Draw only the world, as large as fits, centred in a rectangle."""

    def command(self, name: str) -> str:
        """Run a command of the domain's group or of `view`.

        Returns:
            The action for the game; empty if the command only changes the drawing.
        """

    def actions(self, name: str) -> Iterator[str]:
        """Yield the actions for a command of the domain's group; the game takes each action before
        the next is computed."""
        if action := self.command(name):
            yield action

    def click(self, position: tuple[int, int], button: int) -> str:
        """Handle a press of a mouse button (1 left, 2 middle, 3 right) at x, y.

        Returns:
            The action for the game; empty for none.
        """

    def select_held_item(self) -> None:
        """Select the held item, so that the next click chooses the cell to put it; deselect it if
        it is selected."""
        return None

    def sound(self, before: Any, after: Any) -> str:
        """Return the name of the sound for the step between two frames; empty for the default
        sound."""
        return ""

    def next_walk_action(self) -> str:
        """Return the next action on the way to the clicked cell; empty if there is none."""
        return ""

    def stop_walking(self) -> None:
        """Cancel the way to the clicked cell."""
        return None

    def hover(self, position: tuple[int, int] | None) -> bool:
        """Handle the mouse position, or None after the mouse has left; return True to redraw."""

    def wheel(self, position: tuple[int, int], notches: int) -> bool:
        """Handle a turn of the mouse wheel, positive away from the user; return True to redraw."""


def make_stage(game: Any, theme: Theme) -> Stage:
    """Return a new stage for a game, of the class that the game's domain registers."""
    stage: Stage = resolve_name(DOMAINS[game.frame().domain].stage)(game, theme)
    return stage


# ---- map drawing ---------------------------------------------------------------------------------


class MapDrawing(Protocol):
    """Draws the map of an edited level, and finds the cell at a pixel."""

    def draw(
        self, surface: pygame.Surface, rect: Rect, line: int, sketch: MapModel, cursor: MapCell
    ) -> None:
        """Draw the level, or the part around the cursor, into a rectangle.

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
        """Outline cells, each in the theme's colour of that name."""

    def cell_at(self, position: tuple[int, int]) -> MapCell | None:
        """Return the cell at x, y of the surface, or None."""

    def cell_rect(self, cell: MapCell) -> Rect:
        """Return the rectangle of a cell in the last picture."""

    def zoom(self, notches: int) -> None:
        """Zoom in by positive notches, out by negative notches; 0 resets the zoom."""

    def object_picture(self, kind: int, state: int, color: int, size: int) -> pygame.Surface:
        """Return the picture of an object."""

    def agent_picture(self, facing: int, size: int) -> pygame.Surface:
        """Return the picture of an agent."""


def make_map_drawing(
    domain: str, theme: Theme, folders: Iterable[Path], types: ObjectTypes
) -> MapDrawing:
    """Return a new map drawing, of the class that the domain registers."""
    drawing: MapDrawing = resolve_name(DOMAINS[domain].sketch)(theme, folders, types)
    return drawing
