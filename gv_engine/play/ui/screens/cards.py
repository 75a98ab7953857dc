"""Cards of the start screen, each with a picture, a title and a text about what a click opens;
and medals of puzzle levels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from gv_engine.play.session.catalogue import Entry, format_title
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import SUFFIX, Replay
from gv_engine.play.session.rollout_games import is_rollout
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import Rect, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.pictures import draw_picture, load_picture
from gv_engine.play.ui.screens.screen import AppContext
from gv_engine.play.ui.settings import MEDALS
from gv_engine.rules.errors import GVEngineError, Stopped, TrustError, error_text, format_count

TILE_LINES = 3.5  # height of the text on a tile


class Card:
    """Card of the start screen: a picture with text, which opens a level or a replay.

    Attributes:
        title: name of what the card opens.
        file: file that the card opens, if any.
        text: text about it; empty until the card is loaded.
        error: message if it cannot be opened, else "".
        loaded_theme: theme of the loaded picture; None before.
        is_tile: True for a picture above the text, False for one beside it.
        is_wide: True for a card that takes a row of its own.
        medals: medals that the player has won, drawn beside the title or, if
            `has_medals_below`, in the last line.
    """

    is_tile = is_wide = has_medals_below = False
    medals: Sequence[str] = ()

    def __init__(self, title: str, file: Path | None = None, text: str = "") -> None:
        """Create a card that opens `file`, if given; `text` is shown below the title, and loaded
        later if empty."""
        self.title, self.file, self.text = title, file, text
        self.error = ""
        self.picture: pygame.Surface | None = None
        self.loaded_theme: Theme | None = None
        # picture, size in pixels, and the picture in that size
        self._scaled: tuple[pygame.Surface, tuple[int, int], pygame.Surface] | None = None

    @property
    def search_texts(self) -> tuple[str, str]:
        """Title and text that the search looks at."""
        return self.title, self.text

    def load(self, app: AppContext, theme: Theme) -> None:
        """Load the card's picture, in colours of `theme`, and its text; an error becomes the text
        on the card. May be called in another thread."""
        try:
            self.load_content(app, theme)
        except Stopped as stopped:
            self.error = str(stopped)
        except Exception as error:  # any error of a scenario file; the other cards must still work
            self.error = error_text(error) or type(error).__name__
        self.loaded_theme = theme

    def load_content(self, app: AppContext, theme: Theme) -> None:
        """Load the card's picture and its text. Subclasses override this method, which does nothing
        here.

        Args:
            app: app that finds scenarios.
            theme: colours of the picture.

        Raises:
            GVEngineError, OSError: the file cannot be read.
        """

    def open(self, app: AppContext) -> None:
        """Open the level or replay of the card in `app`; subclasses override this method.

        Raises:
            GVEngineError, OSError: it cannot be opened.
        """
        raise NotImplementedError

    def edit(self, app: AppContext) -> None:
        """Open the card's level in the editor of `app`; raise an error if the card has no level.

        Raises:
            GVEngineError, OSError: there is no level, or it cannot be edited.
        """
        raise GVEngineError(f"{self.title} is no level to edit")

    def draw(self, painter: Painter, rect: Rect, is_chosen: bool) -> None:
        """Draw the card into `rect`, with an outline if `is_chosen` is True."""
        line = painter.line_height
        painter.draw_card(rect)
        if is_chosen:
            painter.draw_outline(rect)
        rest = Rect(rect.x + line // 2, rect.y + line // 2, rect.w - line // 2 * 2, rect.h - line)
        if self.is_tile:
            self.draw_picture(painter, cut(rest, "top", rest.h - int(TILE_LINES * line), line // 4))
        else:
            self.draw_picture(painter, cut(rest, "left", rest.h * 5 // 4, line * 3 // 4))
        size = 1.6 if self.is_wide else 1.15
        title = cut(rest, "top", int(line * size * 1.1))
        row = (
            Rect(rest.x, rest.bottom - line, rest.w, line)
            if self.has_medals_below
            else title.copy()
        )
        draw_medals(painter, row, self.medals)
        if self.medals and not self.has_medals_below:
            title.w -= len(self.medals) * row.h * 6 // 5
        painter.draw_text(title, self.title, size=size, is_name=True)
        painter.draw_lines(rest, self.error or self.text, "loss" if self.error else "muted", 0.9)

    def draw_picture(self, painter: Painter, well: Rect) -> None:
        """Draw the card's picture into `well`; until it is loaded, an empty panel."""
        painter.draw_card(well, "well")
        if self.picture is None or min(well.size) < painter.line_height:
            return
        width, height = self.picture.get_size()
        scale = min((well.w - 4) / width, (well.h - 4) / height)
        size = max(1, int(width * scale)), max(1, int(height * scale))
        if self._scaled is None or self._scaled[0] is not self.picture or self._scaled[1] != size:
            scaled = pygame.transform.smoothscale(self.picture, size)
            self._scaled = self.picture, size, scaled
        painter.surface.blit(self._scaled[2], self._scaled[2].get_rect(center=well.center))


class ScenarioCard(Card):
    """Card of the start screen that opens a game of a scenario."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(format_title(entry.title), Path(entry.source))
        self.entry = entry

    @property
    def search_texts(self) -> tuple[str, str]:
        """Name, and title and text, that the search looks at."""
        return self.entry.title, f"{self.title} {self.text}"

    def load_content(self, app: AppContext, theme: Theme) -> None:
        """Load the scenario's description and a picture of the level of seed 0. A scenario with
        Python code of its own is not run."""
        try:
            self.picture, self.text = load_picture(self.entry, theme)
        except TrustError:
            description = " ".join(self.entry.description.split())
            self.text = f"{description} Its own Python runs when you open it.".strip()

    def open(self, app: AppContext) -> None:
        """Open a game of the card's scenario."""
        app.play(self.entry.source)

    def edit(self, app: AppContext) -> None:
        """Open the card's scenario in the editor."""
        app.edit(self.entry.source)


class MissingCard(Card):
    """Card for scenarios that need a package which is not installed.

    Args:
        entries: the scenarios.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__(f"{len(entries)} more levels", text=entries[0].missing)
        self._names = " ".join(entry.title for entry in entries)

    @property
    def search_texts(self) -> tuple[str, str]:
        """Title of the card, and the names of its scenarios, that the search looks at."""
        return self.title, self._names

    def open(self, app: AppContext) -> None:
        """Raise an error that says how to install the missing package."""
        raise GVEngineError(self.text)


class ReplayCard(Card):
    """Card of the start screen that plays a replay."""

    file: Path

    def __init__(self, file: Path) -> None:
        super().__init__(file.stem, file)

    def load_content(self, app: AppContext, theme: Theme) -> None:
        """Load a summary of the replay and, if `app` knows the scenario, a picture of the level.
        The summary of a puzzle compares the steps with par and the best. Seed and return are only
        in the research view."""
        replay = Replay.load(self.file)
        steps = f"{format_title(replay.scenario.name)}, {format_count(len(replay.steps), 'step')}"
        summary = replay.summary if app.settings.research else steps
        self.text = self.summarize(summary, replay, app)
        with suppress(GVEngineError, OSError):  # it may still be read about
            game = Game(app.find_scenario(replay, self.file), replay.seed)
            if game.pack_level and not app.settings.research:
                result = app.progress.format_result(game, len(replay.steps))
                self.text = self.summarize(f"{game.heading[0]}: {result}", replay, app)
            self.picture = draw_picture(game, theme)

    def summarize(self, summary: str, replay: Replay, app: AppContext) -> str:
        """Return the text of the card with this `summary` of the replay."""
        return summary

    def open(self, app: AppContext) -> None:
        """Open the screen that plays the card's replay."""
        app.watch_replay(self.file)

    def draw_picture(self, painter: Painter, well: Rect) -> None:
        """Draw the picture of the level into `well`, with a play symbol."""
        super().draw_picture(painter, well)
        symbol = well.inflate(-well.w // 2, -well.h // 2)
        if self.picture is not None:  # in the corner of a picture
            symbol = Rect(0, 0, well.h // 4, well.h // 4)
            gap = painter.line_height // 4
            symbol.bottomright = well.right - gap, well.bottom - gap
            painter.draw_card(symbol.inflate(symbol.w // 2, symbol.h // 2))
        points = (symbol.topleft, symbol.midright, symbol.bottomleft)
        pygame.draw.polygon(painter.surface, painter.color("muted"), points)


class UnfinishedCard(ReplayCard):
    """Card of the start screen that continues an unfinished game.

    Args:
        file: file of the game, see `save_unfinished`.
        title: title of the level; that of the file if empty.
    """

    def __init__(self, file: Path, title: str = "") -> None:
        super().__init__(file)
        name = file.stem.removeprefix("unfinished-").rpartition("-")[0]
        self.title = title or format_title(name)

    def summarize(self, summary: str, replay: Replay, app: AppContext) -> str:
        """Return the `summary` of the unfinished game, with the scenario's file if `app` knows
        it."""
        file = app.find_recent_file(replay)
        return f"{summary} in {file}" if file else summary

    def open(self, app: AppContext) -> None:
        """Continue the unfinished game."""
        app.resume_game(self.file)


class GoOnCard(Card):
    """Card of the start screen that goes on where the player has left.

    Args:
        target: card of the unfinished game or of the next level.
        pack: title of the level's pack, or another text about the level.
    """

    is_wide = True

    def __init__(self, target: Card, pack: str) -> None:
        super().__init__(target.title)
        self._target, self._pack = target, pack
        self._copy_content()

    def _copy_content(self) -> None:
        self.picture, self.error = self._target.picture, self._target.error
        self.text = f"{self._pack}. {self._target.text}"

    def load_content(self, app: AppContext, theme: Theme) -> None:
        """Load picture and text of the target."""
        self._target.load(app, theme)
        self._copy_content()

    def open(self, app: AppContext) -> None:
        """Open the target."""
        self._target.open(app)

    def edit(self, app: AppContext) -> None:
        """Open the target's level in the editor."""
        self._target.edit(app)


class CategoryCard(Card):
    """Card of the start screen that opens a category, with the picture of its first card.

    Args:
        name: name of the category.
        cards: its cards.
        show: function that shows them.
    """

    is_tile = True

    def __init__(self, name: str, cards: Sequence[Card], show: Callable[[], None]) -> None:
        super().__init__(name, text=format_count(len(cards), "level"))
        self._first, self._show = cards[0], show

    def load_content(self, app: AppContext, theme: Theme) -> None:
        """Load the picture of the first card."""
        self._first.load(app, theme)
        self.picture = self._first.picture

    def open(self, app: AppContext) -> None:
        """Show the cards of the category."""
        self._show()


class FileCard(Card):
    """Card for a file or folder that was typed or dropped; the file is read only when it is
    opened."""

    file: Path

    def __init__(self, file: Path) -> None:
        super().__init__(file.name, file, str(file))

    def open(self, app: AppContext) -> None:
        """Open the file of the card: watch it if it is a replay or a folder of episodes, else play
        it as a scenario."""
        if self.file.suffix == SUFFIX or is_rollout(self.file):
            app.watch_replay(self.file)
        else:
            app.play(str(self.file))

    def edit(self, app: AppContext) -> None:
        """Open the card's file in the editor."""
        app.edit(str(self.file))


# ---- medals --------------------------------------------------------------------------------------

_MEDAL_SCALE = 4
_MEDAL_COLORS = {"solved": "gain", "par": "accent", "first": "text"}  # theme colours
# Corners of the check mark and of the star, in tenths of the disc's width from its centre.
_CHECK_MARK = [pygame.Vector2(x, y) for x, y in ((-2.3, 0.2), (-0.6, 2.0), (2.4, -1.6))]
_STAR = [pygame.Vector2(0, -(1.6 if n % 2 else 3.6)).rotate(36 * n) for n in range(10)]


def draw_medal(painter: Painter, disc: Rect, medal: str, is_won: bool = True) -> None:
    """Draw the medal called `medal`, a key of `MEDALS`, into the square `disc`: a check mark, a
    star or a 1; only its outline unless the player has won it."""
    small = pygame.Surface(disc.size, 0, 32)
    small.blit(painter.surface, (0, 0), disc)
    large = pygame.transform.scale_by(small, _MEDAL_SCALE)  # its edges are smooth when shrunk
    _draw_large_medal(painter, large, medal, is_won)
    painter.surface.blit(pygame.transform.smoothscale(large, disc.size), disc)


def _draw_large_medal(painter: Painter, surface: pygame.Surface, medal: str, is_won: bool) -> None:
    disc, scale = surface.get_rect(), surface.get_width() / 10
    color = painter.color("card" if is_won else "outline")
    if is_won:
        disc_color = painter.color(_MEDAL_COLORS[medal])
        pygame.draw.circle(surface, disc_color, disc.center, disc.w // 2)
    else:
        pygame.draw.circle(surface, color, disc.center, disc.w // 2, max(1, disc.w // 10))
    width = max(2, disc.w // 8)
    if medal == "solved":
        points = [disc.center + offset * scale for offset in _CHECK_MARK]
        pygame.draw.lines(surface, color, False, points, width)
    elif medal == "par":
        pygame.draw.polygon(surface, color, [disc.center + corner * scale for corner in _STAR])
    else:
        stem = Rect(0, 0, max(2, disc.w // 7), disc.w // 2)
        stem.center = disc.center
        pygame.draw.rect(surface, color, stem)
        tip = stem.x - scale * 1.6, stem.y + scale * 1.6
        pygame.draw.line(surface, color, stem.topleft, tip, width)


def draw_medals(painter: Painter, rect: Rect, won: Collection[str], has_all: bool = False) -> None:
    """Draw the medals in `won` from the right end of `rect` to the left, each as high as `rect`;
    with `has_all`, also the outlines of the others."""
    slot = Rect(rect.right - rect.h, rect.y, rect.h, rect.h)
    for medal in reversed(MEDALS):
        if has_all or medal in won:
            draw_medal(painter, slot, medal, medal in won)
            slot.x -= rect.h * 6 // 5
