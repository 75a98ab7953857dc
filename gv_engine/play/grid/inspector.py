"""Inspector panel of grids: pages on the cell, agent, observation, sight and actions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import REPRESENTATIONS
from gv_engine.play.grid.motion import Cell
from gv_engine.play.grid.plugin import DOMAIN
from gv_engine.play.session import inspection
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import clipped, draw_text_line, font, pygame, rounded_rect
from gv_engine.play.ui.drawing.widgets import wrap_text
from gv_engine.rules.errors import format_cell
from gv_engine.rules.frame import Frame
from gv_engine.rules.system import REGISTRIES, REWARD, VISIBILITY
from gv_engine.scenario.readers.map import format_reward
from gv_engine.scenario.reference_docs import describe_rule
from gv_engine.scenario.scenario import Scenario

AS_SHOWN = "as the agent saw it"
SEEN, NOT_SEEN = "#", "."  # drawn as a large and a small square
NOTCH = 3  # lines that one notch of the wheel scrolls


class PageLine(NamedTuple):
    """Line of a page: a label and a value, or numbers in columns, indented by `level`."""

    label: str
    value: str = ""
    level: int = 0
    columns: tuple[str, ...] = ()
    is_heading: bool = False


class GridInspector:
    """Panel with pages on a session's cells, agent, observation, sight and actions.

    Args:
        game: session with `scenario`, `frame()` and `row()`.
        theme: colours of the panel.

    Attributes:
        chosen: (y, x) of the inspected cell; None for the agent's cell.
    """

    title = "Inspector"

    def __init__(self, game: Any, theme: Theme) -> None:
        self.chosen: Cell | None = None
        self._game, self._theme = game, theme
        self._pages: dict[str, Callable[[], Iterator[PageLine]]] = {
            "Cell": self._cell_lines,
            "Agent": self._agent_lines,
            "Observation": self._observation_lines,
            "Sight": self._sight_lines,
            "Actions": self._actions_lines,
        }
        self._page = "Cell"
        self._representation = REPRESENTATIONS[0]
        self._function = AS_SHOWN
        self._scrolled = 0
        self._line = 16
        self._room = 1  # lines
        self._width = 300  # pixels
        self._buttons: list[tuple[pygame.Rect, str]] = []
        self._scenario: Scenario | None = None
        self._inspection: inspection.Inspection
        self._trial: inspection.ActionPreview
        self._outcomes: Mapping[str, inspection.Outcome] = {}
        self._frame: Frame
        self._is_stale = True
        self._rows: list[PageLine] = []
        self._sight: inspection.VisibleCells | None = None

    def begin(self) -> None:
        """Mark the pages as outdated, because the frame has changed."""
        self._is_stale = True

    # ---- pages ---------------------------------------------------------------------------

    @property
    def lit(self) -> NDArray[np.bool_] | None:
        """Return an (H, W) bool array of the cells that the selected visibility function shows, to
        be drawn bright; None to draw bright what the agent saw."""
        if self._page != "Sight" or self._function == AS_SHOWN:
            return None
        self._refresh()
        return None if self._sight is None or self._sight.problem else self._sight.on_grid

    def _refresh(self) -> None:
        """Compute the lines of the current page again if they are outdated."""
        if not self._is_stale:
            return
        self._is_stale, self._frame = False, self._game.frame()
        if self._scenario is not self._game.scenario:
            self._scenario = self._game.scenario
            self._inspection = inspection.Inspection(self._scenario)
            self._trial = inspection.ActionPreview(self._scenario)
        self._inspection.load(self._game.row())
        height, width = self._frame.grid.shape[:2]
        if self.chosen is not None and not (self.chosen[0] < height and self.chosen[1] < width):
            self.chosen = None
        if self._function not in self._choices("Sight"):
            self._function = AS_SHOWN
        self._sight = None
        if self._page == "Sight" and self._function != AS_SHOWN:
            self._sight = self._inspection.visible_cells(self._function)
        if self._page == "Actions":
            self._outcomes = self._trial.outcomes(self._game.row())
        self._rows = list(self._pages[self._page]())

    def _choices(self, page: str) -> tuple[str, ...]:
        """Return the options that a page offers: names of representations or of visibility
        functions; () on other pages."""
        if page == "Observation":
            return REPRESENTATIONS
        if page == "Sight":
            return (AS_SHOWN, *REGISTRIES[VISIBILITY])
        return ()

    def _cell_lines(self) -> Iterator[PageLine]:
        """Yield the lines of the page "Cell": the entities in the inspected cell, with their
        components."""
        y, x = self.chosen or self._frame.agent[:2]
        yield PageLine("cell", format_cell(y, x))
        try:
            entities = self._inspection.cell(y, x)
        except IndexError:
            yield PageLine("beyond the grid")
            return
        if not entities:
            yield PageLine("free floor, no entity")
        for entity in entities:
            yield from _entity_lines(entity)

    def _agent_lines(self) -> Iterator[PageLine]:
        """Yield the lines of the page "Agent": held objects, last reward and components."""
        agent = self._inspection.agent()
        names = [entity.name for entity in agent.holds.values()]
        yield PageLine("holds", ", ".join(names) or "nothing")
        yield from self._reward_lines()
        yield from _entity_lines(agent)

    def _observation_lines(self) -> Iterator[PageLine]:
        """Yield the lines of the page "Observation": its arrays in the selected representation."""
        frame = self._frame
        cells = frame.observation, frame.item
        try:
            arrays = self._inspection.observation(self._representation, *cells)
        except ValueError as error:
            yield PageLine(str(error))
            return
        for name, array in arrays.items():
            shape = " × ".join(map(str, array.shape))
            yield PageLine(name, f"{shape} {array.dtype}", is_heading=True)
            objects = {"grid": frame.observation, "item": np.array(frame.item, np.uint8)}.get(name)
            parts: list[tuple[str, NDArray[Any], str]] = [("", array, self._meaning_of(name))]
            if objects is not None:
                legends = inspection.describe_numbers(array, objects, frame.types)
                parts = [
                    (part, array[..., k], ", ".join(f"{n} {w}" for n, w in legends[k].items()))
                    for k, part in enumerate(("type", "state", "colour"))
                ]
            for part, numbers, legend in parts:
                if part:
                    yield PageLine(part)
                for line in np.atleast_2d(numbers).tolist():
                    yield PageLine("", columns=tuple(f"{number:g}" for number in line))
                yield from self._notes(legend)

    def _meaning_of(self, name: str) -> str:
        """Return an explanation of the numbers in the observation array `name`; an empty text if
        there is none."""
        scenario = self._inspection.scenario
        named = {"mission": scenario.missions, "state": scenario.observed_state}
        if numbers := named.get(name):
            return ", ".join(numbers.names)
        return {"agent_id_grid": "1 is the agent's own cell"}.get(name, "")

    def _sight_lines(self) -> Iterator[PageLine]:
        """Yield the lines of the page "Sight": the cells that the selected visibility function lets
        the agent see."""
        if self._sight is not None and self._sight.problem:
            yield PageLine(self._sight.problem)
            return
        seen = self._sight.seen if self._sight is not None else self._frame.observation[..., 0] != 1
        yield PageLine("seen", f"{int(seen.sum())} of {seen.size} cells of the view")
        for line in seen.tolist():
            yield PageLine("", columns=tuple(SEEN if cell else NOT_SEEN for cell in line))

    def _actions_lines(self) -> Iterator[PageLine]:
        """Yield the lines of the page "Actions": whether each action is valid, and its effects."""
        commands = (*DOMAIN.keys, *self._inspection.scenario.own_actions)
        titles = {key.name: key.description.capitalize() for key in commands}  # as in the help
        for action, is_valid in self._inspection.actions().items():
            name = titles.get(action, action.replace("_", " ").capitalize())
            yield PageLine(name, "does something" if is_valid else "nothing", is_heading=is_valid)
            if not self._frame.outcome:
                yield from self._outcome_lines(self._outcomes[action])

    def _outcome_lines(self, outcome: inspection.Outcome) -> Iterator[PageLine]:
        """Yield lines on the outcome of an action: effects, end of the episode and rewards."""
        yield from self._notes("; ".join(outcome.effects) or outcome.problem)
        if outcome.ending:
            yield PageLine(outcome.ending, "", 1)
        for name, value in outcome.terms.items():
            yield PageLine(name.replace("_", " "), format_reward(value), 1)

    def _reward_lines(self) -> Iterator[PageLine]:
        """Yield lines with the last reward of each reward function, and a description of the
        function."""
        frame = self._frame
        yield PageLine("reward of the last step", format_reward(frame.reward), is_heading=True)
        scenario = self._inspection.scenario
        descriptions = {
            call.name: describe_rule(call, scenario.types)[1]
            for member in scenario.members
            for call in member.calls(REWARD)
        }
        for name, value in frame.terms.items():
            yield PageLine(name.replace("_", " "), format_reward(value))
            yield from self._notes(descriptions.get(name, ""))

    def _notes(self, text: str) -> Iterator[PageLine]:
        for line in wrap_text(text, self._line, max(self._line, self._width - self._line)):
            yield PageLine(line, "", 1)

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        """Draw the inspector panel into `rect`. `line` is the height of a line of text in
        pixels."""
        width = rect.w - line - line // 2
        self._is_stale |= (self._line, self._width) != (line, width)
        self._line, self._width = line, width
        self._refresh()
        self._buttons = []
        with clipped(surface, rect):
            surface.blit(rounded_rect(rect.size, line // 2, self._theme.card), rect)
            inner = rect.inflate(-line, -line)
            if min(inner.size) >= line:
                self._draw_page(surface, inner)

    def _draw_page(self, surface: pygame.Surface, inner: pygame.Rect) -> None:
        """Draw the current page into the rectangle `inner`: buttons, visible lines and scroll
        bar."""
        line = self._line
        top = self._draw_buttons(surface, inner, inner.y, tuple(self._pages), self._page)
        choices = self._choices(self._page)
        if choices:
            chosen = self._representation if self._page == "Observation" else self._function
            top = self._draw_buttons(surface, inner, top, choices, chosen)
        body = pygame.Rect(inner.x, top + line // 4, inner.w, inner.bottom - top - line // 4)
        self._room = max(1, body.h // line)
        self._scrolled = max(0, min(self._scrolled, len(self._rows) - self._room))
        rows = self._rows[self._scrolled : self._scrolled + self._room]
        room = body.inflate(-line // 2, 0).move(-line // 4, 0)
        for number, row in enumerate(rows):
            self._draw_row(surface, pygame.Rect(room.x, body.y + number * line, room.w, line), row)
        if len(self._rows) > self._room:
            tall = max(line, body.h * self._room // len(self._rows))
            down = (body.h - tall) * self._scrolled // (len(self._rows) - self._room)
            bar = pygame.Rect(body.right - line // 4, body.y + down, max(2, line // 4), tall)
            surface.fill(self._theme.outline, bar)

    def _draw_buttons(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        top: int,
        names: tuple[str, ...],
        chosen: str,
    ) -> int:
        """Draw a button for each of `names` from the pixel row `top` on, wrapped into lines, with
        `chosen` highlighted; return the pixel row below the buttons."""
        line, theme, left = self._line, self._theme, rect.x
        for name in names:
            title = name.replace("_", " ")
            width = min(rect.w, font(line).size(title)[0] + line)
            if left > rect.x and left + width > rect.right:
                left, top = rect.x, top + line * 3 // 2
            button = pygame.Rect(left, top, width, line * 5 // 4)
            color, ink = (theme.well, theme.text)
            if name == chosen:
                color, ink = theme.accent, theme.on_accent
            surface.blit(rounded_rect(button.size, line // 3, color), button)
            draw_text_line(surface, button.inflate(-line // 2, 0), title, line, ink, "center")
            self._buttons.append((button, name))
            left += width + line // 4
        return top + line * 3 // 2

    def _draw_row(self, surface: pygame.Surface, rect: pygame.Rect, row: PageLine) -> None:
        """Draw one line of a page into `rect`: label and value, or numbers in columns."""
        theme, line = self._theme, self._line
        rect.x += row.level * line
        rect.w = max(1, rect.w - row.level * line)
        if row.columns:
            widest = max(font(line).size(column)[0] for column in row.columns)
            step = min(max(widest + line // 2, line), max(1, rect.w // len(row.columns)))
            for number, text in enumerate(row.columns):
                slot = pygame.Rect(rect.x + number * step, rect.y, step, rect.h)
                if text in (SEEN, NOT_SEEN):
                    size = line * 3 // 4 if text == SEEN else line // 4
                    square = pygame.Rect(0, 0, size, size)
                    square.center = slot.center
                    surface.fill(theme.accent if text == SEEN else theme.muted, square)
                else:
                    ink = theme.muted if text == "0" else theme.text
                    draw_text_line(surface, slot, text, line, ink)
            return
        color = theme.accent if row.is_heading else theme.text if not row.value else theme.muted
        taken = draw_text_line(surface, rect, row.label, line, color)
        rest = pygame.Rect(rect.x + taken + line // 2, rect.y, rect.w - taken - line // 2, rect.h)
        if row.value and rest.w > 0:
            draw_text_line(surface, rest, row.value, line, theme.text)

    # ---- input ---------------------------------------------------------------------------

    def event(self, event: pygame.event.Event) -> bool:
        """Handle a mouse wheel or click on the panel; return True if the panel has changed."""
        if event.type == pygame.MOUSEWHEEL:
            return self._scroll(-event.y * NOTCH)
        if event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            for button, name in self._buttons:
                if button.collidepoint(event.pos):
                    return self._select(name)
        return False

    def command(self, name: str) -> bool:
        """Run the key command `name` of the group `inspector`; return True if the panel has
        changed."""
        if name in ("scroll_up", "scroll_down"):
            return self._scroll(self._room // 2 if name == "scroll_down" else -self._room // 2)
        if name in ("next_tab", "previous_tab"):
            return self._select(_neighbor(tuple(self._pages), self._page, name == "next_tab"))
        if name in ("next_choice", "previous_choice"):
            self._refresh()
            choices = self._choices(self._page)
            chosen = self._representation if self._page == "Observation" else self._function
            return bool(choices) and self._select(_neighbor(choices, chosen, name == "next_choice"))
        if name in STEPS:
            self._refresh()
            y, x = self.chosen or self._frame.agent[:2]
            height, width = self._frame.grid.shape[:2]
            dy, dx = STEPS[name]
            self.chosen = min(max(0, y + dy), height - 1), min(max(0, x + dx), width - 1)
            return self._select("Cell")
        return False

    def choose(self, cell: Cell) -> None:
        """Select a cell and show the page "Cell"."""
        self.chosen = cell
        self._select("Cell")

    def _select(self, name: str) -> bool:
        """Show the page with this name, or select the representation or visibility function with
        this name; return True."""
        if name in self._pages:
            self._page, self._scrolled = name, 0
        elif name in REPRESENTATIONS:
            self._representation = name
        else:
            self._function = name
        self._is_stale = True
        return True

    def _scroll(self, lines: int) -> bool:
        before = self._scrolled
        self._scrolled = max(0, min(before + lines, len(self._rows) - self._room))
        return self._scrolled != before


STEPS = {"cell_up": (-1, 0), "cell_down": (1, 0), "cell_left": (0, -1), "cell_right": (0, 1)}


def _neighbor(names: tuple[str, ...], name: str, forward: bool) -> str:
    return names[(names.index(name) + (1 if forward else -1)) % len(names)]


def _entity_lines(entity: inspection.Entity, level: int = 0) -> Iterator[PageLine]:
    """Yield lines on an entity, its components and the entities that it holds; `level` is the
    indentation."""
    yield PageLine(entity.name, f"entity {entity.number}", level, is_heading=True)
    for part in entity.parts:
        yield PageLine(part.name, "", level)
        for field, value in part.fields.items():
            yield PageLine(field, value, level + 1)
    for field, held in entity.holds.items():
        yield PageLine(field, "holds", level)
        yield from _entity_lines(held, level + 1)
