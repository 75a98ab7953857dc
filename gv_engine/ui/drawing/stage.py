"""What draws a level that is edited: each domain whose levels are drawn brings its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

from gv_engine.editor.map_model import MapCell, MapModel
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame

# ---- stage ---------------------------------------------------------------------------------------

MAP_SHARE = 4  # a map over what it shows a part of takes this part of its shorter side


class SidePanel(Protocol):
    """Tells more of a game beside the stage, such as what its world is made of.

    Attributes:
        title: what its button says.
    """

    title: str

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        """Draw the panel; `line` is the height of a line of text in pixels."""

    def event(self, event: pygame.event.Event) -> bool:
        """Take a mouse event (button, motion or wheel) that falls on the panel; True if the panel
        or the stage looks different now."""

    def command(self, name: str) -> bool:
        """Take a command of the bindings' group `inspector`; True if it looks different now."""


class Stage(Protocol):
    """Draws one game and translates what the player does on the drawing.

    Attributes:
        view: a way to look at the game, one of the domain's `views`, set by the screen.
        line: height of a line of text in pixels, set by the screen before it draws.
        side_panels: what can be opened beside it, one at a time.
        side_panel: the one that is open, so that the stage may mark what it is about.
        holds: whether its players can hold something.
        glide: seconds that a movement takes.
        walks: whether a click walks to a cell, rather than choosing it; set by the screen.
        taught: commands of its domain to tell the player at the bottom, the most needed first.
        steers: whether keys go where they point on the screen; set by the screen.
    """

    view: str
    line: int
    side_panels: Sequence[SidePanel] = ()
    side_panel: SidePanel | None = None
    holds: bool
    glide: float
    walks: bool = False
    steers: bool = False
    taught: Sequence[str]

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """What keys do in the place of the domain's commands while it steers."""
        return ()

    def knows(self, name: str) -> bool:
        """Whether the game has a command of its domain, to be told in the help."""
        return True

    @property
    def lacks(self) -> Collection[int]:
        """Numbers of the types of objects that its world has none of."""
        return ()

    @property
    def busy(self) -> bool:
        """Whether something is worked out meanwhile that will be drawn."""
        return False

    def __init__(self, game: Any, theme: Theme) -> None: ...

    def begin(self, previous: Any, frame: Any) -> bool:
        """Take the frame that is shown from now on.

        Args:
            previous: the frame before, None where no step leads from it to this one.
            frame: a `Scene`.

        Returns:
            Whether something moves: if so, the screen draws with progress from 0 to 1.
        """

    def compare(self, other: Any) -> None:
        """Mark what is different in another frame of the same game, None for nothing; forgotten
        with the next frame."""
        return None

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, progress: float) -> None:
        """Draw the world into the rectangle, and nothing outside it.

        Args:
            surface: of the window.
            rect: of any size, even of a few pixels.
            progress: of the movement from the previous frame to this one, 1 when it has ended.
        """

    def draw_item(self, surface: pygame.Surface, rect: pygame.Rect) -> str:
        """Draw what the player holds into a small square; returns its name for people, empty if
        nothing is held."""

    def draw_story(self, surface: pygame.Surface, rect: pygame.Rect) -> bool:
        """Draw how it came to this into a part of the panel; False if this domain has no more to
        tell than the rewards."""
        return False

    def facts(self) -> Sequence[str]:
        """Facts for the panel, in a few words each."""
        return ()

    def draw_thumbnail(self, surface: pygame.Surface, rect: pygame.Rect) -> None:
        """Draw the world alone, as large as fits, in the middle of the rectangle."""

    def command(self, name: str) -> str:
        """Take a command of the bindings' group of its domain, or of `view`.

        Returns:
            The action that the game is to take for it; empty if it is the stage's own affair.
        """

    def actions(self, name: str) -> Iterator[str]:
        """Take a command of the group of its domain: the actions that the game is to take for it,
        each of them before the next one is asked for."""
        if action := self.command(name):
            yield action

    def click(self, position: tuple[int, int], button: int) -> str:
        """Take a press of a mouse button (1 left, 2 middle, 3 right) in the drawing.

        Returns:
            The action that the game is to take for it, empty for none.
        """

    def hold_out(self) -> None:
        """What is held was clicked: the next click says where to put it, unless it was clicked
        again."""
        return None

    def sound(self, before: Any, after: Any) -> str:
        """The name of the sound of the step between two frames; empty if its reward says it."""
        return ""

    def onward(self) -> str:
        """The next action on the way that a click has begun; empty if there is none."""
        return ""

    def halt(self) -> None:
        """End the way that a click has begun."""
        return None

    def hover(self, position: tuple[int, int] | None) -> bool:
        """The mouse is here, or has left; True if the drawing looks different now."""

    def wheel(self, position: tuple[int, int], notches: int) -> bool:
        """The wheel was turned away (positive) here; True if the drawing looks different now."""


def make_stage(game: Any, theme: Theme) -> Stage:
    """The stage for a game, by its frames."""
    made: Stage = resolve_name(DOMAINS[game.frame().domain].stage)(game, theme)
    return made


# ---- sketch drawing ------------------------------------------------------------------------------


class SketchDrawing(Protocol):
    """Draws one level, and says which cell is where."""

    def draw(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        line: int,
        sketch: MapModel,
        cursor: MapCell,
    ) -> None:
        """Draw the level, or the part around the cursor, into the rectangle.

        Args:
            line: height of a line of text, in pixels.
            sketch: the level, which has a map.
        """

    def mark(
        self, surface: pygame.Surface, rect: pygame.Rect, cells: Mapping[MapCell, str]
    ) -> None:
        """Outline cells, each in a colour of the theme."""

    def at(self, position: tuple[int, int]) -> MapCell | None:
        """The cell that is drawn at x, y."""

    def place(self, cell: MapCell) -> pygame.Rect:
        """Where a cell was drawn last."""

    def zoom(self, notches: int) -> None:
        """Show cells larger, smaller, or, with 0, as is usual."""

    def thing(self, kind: int, state: int, color: int, size: int) -> pygame.Surface:
        """The picture of an object."""

    def agent(self, facing: int, size: int) -> pygame.Surface:
        """The picture of an agent."""


def make_drawing(
    domain: str, theme: Theme, folders: Iterable[Path], types: ObjectTypes
) -> SketchDrawing:
    """What draws the levels of a domain that has some."""
    made: SketchDrawing = resolve_name(DOMAINS[domain].sketch)(theme, folders, types)
    return made
