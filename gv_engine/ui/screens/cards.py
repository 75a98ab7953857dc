"""Cards of the start screen: a thumbnail, a name, a line about it, and what it opens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gv_engine.rules.errors import GVEngineError, Stopped, TrustError, error_text
from gv_engine.scenario.map import format_reward
from gv_engine.session.catalogue import Entry
from gv_engine.session.replay import SUFFIX, Replay
from gv_engine.session.rollout_games import is_rollout
from gv_engine.session.session import Session
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import make_stage
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.screen import AppContext


class Card:
    """Something that the start screen offers.

    Attributes:
        title: its name.
        text: a line about it, empty until it is made.
        wrong: why it cannot be opened, empty if it can.
    """

    file: Path | None = None
    """What it opens, if that is a file and not said otherwise."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.text = ""
        self.wrong = ""
        self._thumbnail: pygame.Surface | None = None
        self._made_for: Theme | None = None

    @property
    def said(self) -> tuple[str, str]:
        """Its name and a text about it, as it is searched for."""
        return self.title, self.text

    def is_made(self, theme: Theme) -> bool:
        """Whether thumbnail and text are there."""
        return self._made_for == theme

    def make(self, app: AppContext, theme: Theme, side: int) -> None:
        """Make thumbnail and text, the former of `side` pixels."""
        self._made_for = theme
        try:
            self.read(app, theme, side)
        except Stopped as stopped:
            self.wrong = str(stopped)
        except (GVEngineError, OSError, ValueError) as error:  # ValueError: an unreadable drawing
            self.wrong = error_text(error)

    def read(self, app: AppContext, theme: Theme, side: int) -> None:
        """See `make`; there may be nothing to read.

        Raises:
            GVEngineError, OSError: it cannot be opened.
        """

    def open(self, app: AppContext) -> None:
        """Open what it offers.

        Raises:
            GVEngineError, OSError: it cannot be opened.
        """
        raise NotImplementedError

    def edit(self, app: AppContext) -> None:
        """Edit what it offers.

        Raises:
            GVEngineError, OSError: that cannot be done.
        """
        raise GVEngineError(f"{self.title} is no level to edit")

    def draw(self, pen: Painter, rect: pygame.Rect, chosen: bool) -> None:
        """Draw it."""
        line = pen.line
        pen.card(rect)
        if chosen:
            pen.frame(rect)
        side = rect.h - line
        well = pygame.Rect(rect.x + line // 2, rect.y + line // 2, side, side)
        self.draw_thumbnail(pen, well)
        text = pygame.Rect(well.right + line * 3 // 4, well.y, 0, line * 5 // 4)
        text.w = rect.right - line // 2 - text.x
        pen.text(text, self.title, size=1.15, middle=True)
        below = pygame.Rect(text.x, text.bottom, text.w, well.bottom - text.bottom)
        pen.lines(below, self.wrong or self.text, "loss" if self.wrong else "muted", 0.9)

    def _draw_beginning(self, game: Session, theme: Theme, side: int) -> None:
        self._thumbnail = pygame.Surface((side, side), 0, 32)
        self._thumbnail.fill(theme.well)
        make_stage(game, theme).draw_thumbnail(self._thumbnail, self._thumbnail.get_rect())

    def draw_thumbnail(self, pen: Painter, well: pygame.Rect) -> None:
        """Draw the thumbnail, or an empty place until it is made."""
        if self._thumbnail is None:
            pen.card(well, "well")
            return
        picture = self._thumbnail
        if picture.get_width() != well.w:
            picture = pygame.transform.smoothscale(picture, well.size)
        pen.surface.blit(picture, well)


class ScenarioCard(Card):
    """Opens a scenario."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.title)
        self.entry = entry
        self.file = Path(entry.source)

    @classmethod
    def of(cls, source: str) -> ScenarioCard:
        """The card of a file."""
        return cls(Entry(source, "Files"))

    def read(self, app: AppContext, theme: Theme, side: int) -> None:
        try:
            scenario = self.entry.scenario
        except TrustError:
            about = " ".join(self.entry.description.split())
            self.text = f"{about} Its own Python runs when you open it.".strip()
            return
        self.text = " ".join(scenario.description.split())
        self._draw_beginning(Session(scenario, seed=0), theme, side)

    def open(self, app: AppContext) -> None:
        app.play(self.entry.source)

    def edit(self, app: AppContext) -> None:
        app.edit(self.entry.source)


class MissingCard(Card):
    """Stands for scenarios that need what is not installed.

    Args:
        entries: the scenarios.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__(f"{len(entries)} more levels")
        self.text = entries[0].missing
        self._names = " ".join(entry.title for entry in entries)

    @property
    def said(self) -> tuple[str, str]:
        return self.title, self._names

    def open(self, app: AppContext) -> None:
        raise GVEngineError(self.text)


class ReplayCard(Card):
    """Opens a replay."""

    file: Path

    def __init__(self, file: Path) -> None:
        super().__init__(file.stem)
        self.file = file

    def read(self, app: AppContext, theme: Theme, side: int) -> None:
        replay = Replay.load(self.file)
        self.text = self.about(replay, app)
        with suppress(GVEngineError, OSError):  # it may still be read about
            self._draw_beginning(
                Session(app.scenario_of(replay, self.file), replay.seed), theme, side
            )

    def about(self, replay: Replay, app: AppContext) -> str:
        """A line about it."""
        return (
            f"{replay.scenario.name}, seed {replay.seed}: {len(replay.steps)} steps, "
            f"return {format_reward(replay.total)}"
        )

    def open(self, app: AppContext) -> None:
        app.watch(self.file)

    def draw_thumbnail(self, pen: Painter, well: pygame.Rect) -> None:
        super().draw_thumbnail(pen, well)
        sign = well.inflate(-well.w // 2, -well.h // 2)
        if self._thumbnail is not None:  # in the corner of a picture
            sign = pygame.Rect(0, 0, well.w // 4, well.h // 4)
            sign.bottomright = well.right - pen.line // 4, well.bottom - pen.line // 4
            pen.card(sign.inflate(sign.w // 2, sign.h // 2))
        points = (sign.topleft, sign.midright, sign.bottomleft)
        pygame.draw.polygon(pen.surface, pen.color("muted"), points)


class UnfinishedCard(ReplayCard):
    """Goes on with the game that was left in the middle."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.title = "Go on playing"

    def about(self, replay: Replay, app: AppContext) -> str:
        file = app.recent_file(replay)
        return " ".join(filter(None, (super().about(replay, app), file and f"in {file}")))

    def open(self, app: AppContext) -> None:
        app.go_on(self.file)


class FileCard(Card):
    """Opens a file or folder that was typed or dropped; nothing of it is read before."""

    file: Path

    def __init__(self, file: Path) -> None:
        super().__init__(file.name)
        self.file = file
        self.text = str(file)

    def open(self, app: AppContext) -> None:
        if self.file.suffix == SUFFIX or is_rollout(self.file):
            app.watch(self.file)
        else:
            app.play(str(self.file))

    def edit(self, app: AppContext) -> None:
        app.edit(str(self.file))
