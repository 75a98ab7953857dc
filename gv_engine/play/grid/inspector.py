"""Inspector panel of grids: pages on the cell, agent, observation, sight and actions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import HIDDEN
from gv_engine.envs.representations import REPRESENTATIONS
from gv_engine.play.grid.domain import DOMAIN
from gv_engine.play.grid.motion import Cell
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
        selected_cell: (y, x) of the inspected cell; None for the agent's cell.
    """

    title = "Inspector"

    def __init__(self, game: Any, theme: Theme) -> None:
        self.selected_cell: Cell | None = None
        self._game, self._theme = game, theme
        self._pages: dict[str, Callable[[], Iterator[PageLine]]] = {
            "Cell": self._cell_lines,
            "Agent": self._agent_lines,
            "Observation": self._observation_lines,
            "Sight": self._sight_lines,
            "Actions": self._actions_lines,
        }
        self._page = "Cell"
        self._selected = {"Observation": REPRESENTATIONS[0], "Sight": AS_SHOWN}  # option by page
        self._first_line = 0
        self._num_visible_lines = 1
        self._line = 16  # height of a line in pixels
        self._width = 300  # pixels
        self._buttons: list[tuple[pygame.Rect, str]] = []
        self._scenario: Scenario | None = None
        self._inspection: inspection.Inspection
        self._preview: inspection.ActionPreview
        self._outcomes: Mapping[str, inspection.Outcome] = {}
        self._frame: Frame
        self._is_outdated = True
        self._lines: list[PageLine] = []
        self._sight: inspection.VisibleCells | None = None

    def begin(self) -> None:
        """Mark the pages as outdated, because the frame has changed."""
        self._is_outdated = True

    # ---- pages ---------------------------------------------------------------------------

    @property
    def lit(self) -> NDArray[np.bool_] | None:
        """Return an (H, W) bool array of the cells that the selected visibility function shows, to
        be drawn bright; None to draw bright what the agent saw."""
        self._refresh()
        return None if self._sight is None or self._sight.problem else self._sight.on_grid

    def _refresh(self) -> None:
        """Compute the lines of the current page again if they are outdated."""
        if not self._is_outdated:
            return
        self._is_outdated, self._frame = False, self._game.frame()
        if self._scenario is not self._game.scenario:
            self._scenario = self._game.scenario
            self._inspection = inspection.Inspection(self._scenario)
            self._preview = inspection.ActionPreview(self._scenario)
        self._inspection.load(self._game.row())
        height, width = self._frame.grid.shape[:2]
        if self.selected_cell is not None:
            y, x = self.selected_cell
            self.selected_cell = (y, x) if y < height and x < width else None
        function = self._selected["Sight"]
        if function not in REGISTRIES[VISIBILITY]:
            function = self._selected["Sight"] = AS_SHOWN
        self._sight = None
        if self._page == "Sight" and function != AS_SHOWN:
            self._sight = self._inspection.visible_cells(function)
        if self._page == "Actions":
            self._outcomes = self._preview.outcomes(self._game.row())
        self._lines = list(self._pages[self._page]())

    def _list_options(self) -> tuple[str, ...]:
        """Return the options that the current page offers: names of representations or of
        visibility functions; () on other pages."""
        if self._page == "Observation":
            return REPRESENTATIONS
        if self._page == "Sight":
            return (AS_SHOWN, *REGISTRIES[VISIBILITY])
        return ()

    def _cell_lines(self) -> Iterator[PageLine]:
        """Yield the lines of the page "Cell": the entities in the inspected cell, with their
        components."""
        y, x = self.selected_cell or self._frame.agent[:2]
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
        frame, representation = self._frame, self._selected["Observation"]
        try:
            arrays = self._inspection.observation(representation, frame.observation, frame.item)
        except ValueError as error:
            yield PageLine(str(error))
            return
        objects = {"grid": frame.observation, "item": np.array(frame.item, np.uint8)}
        for name, array in arrays.items():
            shape = " × ".join(map(str, array.shape))
            yield PageLine(name, f"{shape} {array.dtype}", is_heading=True)
            if name not in objects:
                yield from self._number_lines(array, self._explain_array(name))
                continue
            legends = inspection.describe_numbers(array, objects[name], frame.types)
            for index, (part, words) in enumerate(zip(("type", "state", "colour"), legends)):
                yield PageLine(part)
                legend = ", ".join(f"{number} {word}" for number, word in words.items())
                yield from self._number_lines(array[..., index], legend)

    def _number_lines(self, numbers: NDArray[Any], legend: str) -> Iterator[PageLine]:
        for row in np.atleast_2d(numbers).tolist():
            yield PageLine("", columns=tuple(f"{number:g}" for number in row))
        yield from self._note_lines(legend)

    def _explain_array(self, name: str) -> str:
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
        if self._sight is not None:
            seen = self._sight.seen
        else:
            seen = self._frame.observation[..., 0] != HIDDEN
        yield PageLine("seen", f"{int(seen.sum())} of {seen.size} cells of the view")
        for line in seen.tolist():
            yield PageLine("", columns=tuple(SEEN if cell else NOT_SEEN for cell in line))

    def _actions_lines(self) -> Iterator[PageLine]:
        """Yield the lines of the page "Actions": whether each action is valid, and its effects."""
        commands = (*DOMAIN.keys, *self._inspection.scenario.own_actions)
        titles = {command.name: command.description.capitalize() for command in commands}
        for action, is_valid in self._inspection.actions().items():
            name = titles.get(action, action.replace("_", " ").capitalize())
            yield PageLine(name, "does something" if is_valid else "nothing", is_heading=is_valid)
            if not self._frame.outcome:
                yield from self._outcome_lines(self._outcomes[action])

    def _outcome_lines(self, outcome: inspection.Outcome) -> Iterator[PageLine]:
        """Yield lines on the outcome of an action: effects, end of the episode and rewards."""
        yield from self._note_lines("; ".join(outcome.effects) or outcome.problem)
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
            yield from self._note_lines(descriptions.get(name, ""))

    def _note_lines(self, text: str) -> Iterator[PageLine]:
        for line in wrap_text(text, self._line, max(self._line, self._width - self._line)):
            yield PageLine(line, "", 1)

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        """Draw the inspector panel into `rect`. `line` is the height of a line of text in
        pixels."""
        width = rect.w - line - line // 2
        self._is_outdated |= (self._line, self._width) != (line, width)
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
        if options := self._list_options():
            top = self._draw_buttons(surface, inner, top, options, self._selected[self._page])
        body = pygame.Rect(inner.x, top + line // 4, inner.w, inner.bottom - top - line // 4)
        num_lines, num_visible = len(self._lines), max(1, body.h // line)
        self._num_visible_lines = num_visible
        self._scroll(0)
        text_width = body.w - line // 2  # beside the scroll bar
        visible_lines = self._lines[self._first_line : self._first_line + num_visible]
        for number, page_line in enumerate(visible_lines):
            line_rect = pygame.Rect(body.x, body.y + number * line, text_width, line)
            self._draw_line(surface, line_rect, page_line)
        if num_lines > num_visible:
            bar_height = max(line, body.h * num_visible // num_lines)
            y = body.y + (body.h - bar_height) * self._first_line // (num_lines - num_visible)
            bar = pygame.Rect(body.right - line // 4, y, max(2, line // 4), bar_height)
            surface.fill(self._theme.outline, bar)

    def _draw_buttons(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        top: int,
        names: tuple[str, ...],
        selected: str,
    ) -> int:
        """Draw a button for each of `names` from the pixel row `top` on, wrapped into lines, with
        `selected` highlighted; return the pixel row below the buttons."""
        line, theme, left = self._line, self._theme, rect.x
        for name in names:
            title = name.replace("_", " ")
            width = min(rect.w, font(line).size(title)[0] + line)
            if left > rect.x and left + width > rect.right:
                left, top = rect.x, top + line * 3 // 2
            button = pygame.Rect(left, top, width, line * 5 // 4)
            color, text_color = theme.well, theme.text
            if name == selected:
                color, text_color = theme.accent, theme.on_accent
            surface.blit(rounded_rect(button.size, line // 3, color), button)
            draw_text_line(
                surface, button.inflate(-line // 2, 0), title, line, text_color, "center"
            )
            self._buttons.append((button, name))
            left += width + line // 4
        return top + line * 3 // 2

    def _draw_line(self, surface: pygame.Surface, rect: pygame.Rect, page_line: PageLine) -> None:
        """Draw one line of a page into `rect`: label and value, or numbers in columns."""
        theme, line = self._theme, self._line
        indent = page_line.level * line
        rect = pygame.Rect(rect.x + indent, rect.y, max(1, rect.w - indent), rect.h)
        if page_line.columns:
            self._draw_columns(surface, rect, page_line.columns)
            return
        color = theme.muted if page_line.value else theme.text
        color = theme.accent if page_line.is_heading else color
        label_width = draw_text_line(surface, rect, page_line.label, line, color) + line // 2
        rest = pygame.Rect(rect.x + label_width, rect.y, rect.w - label_width, rect.h)
        if page_line.value and rest.w > 0:
            draw_text_line(surface, rest, page_line.value, line, theme.text)

    def _draw_columns(
        self, surface: pygame.Surface, rect: pygame.Rect, columns: tuple[str, ...]
    ) -> None:
        """Draw texts in columns of equal width, `SEEN` and `NOT_SEEN` as squares."""
        theme, line = self._theme, self._line
        widest = max(font(line).size(text)[0] for text in columns)
        width = min(max(widest + line // 2, line), max(1, rect.w // len(columns)))
        for number, text in enumerate(columns):
            slot = pygame.Rect(rect.x + number * width, rect.y, width, rect.h)
            if text in (SEEN, NOT_SEEN):
                size = line * 3 // 4 if text == SEEN else line // 4
                square = pygame.Rect(0, 0, size, size)
                square.center = slot.center
                surface.fill(theme.accent if text == SEEN else theme.muted, square)
            else:
                draw_text_line(
                    surface, slot, text, line, theme.muted if text == "0" else theme.text
                )

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
            half_page = self._num_visible_lines // 2
            return self._scroll(half_page if name == "scroll_down" else -half_page)
        offset = 1 if name.startswith("next") else -1
        if name in ("next_tab", "previous_tab"):
            return self._select(_neighbor(tuple(self._pages), self._page, offset))
        if name in ("next_choice", "previous_choice"):
            self._refresh()
            options = self._list_options()
            return bool(options) and self._select(
                _neighbor(options, self._selected[self._page], offset)
            )
        if name in STEPS:
            self._refresh()
            y, x = self.selected_cell or self._frame.agent[:2]
            height, width = self._frame.grid.shape[:2]
            dy, dx = STEPS[name]
            self.selected_cell = min(max(0, y + dy), height - 1), min(max(0, x + dx), width - 1)
            return self._select("Cell")
        return False

    def choose(self, cell: Cell) -> None:
        """Select a cell and show the page "Cell"."""
        self.selected_cell = cell
        self._select("Cell")

    def _select(self, name: str) -> bool:
        """Show the page with this name, or select the option with this name on the current page;
        return True."""
        if name in self._pages:
            self._page, self._first_line = name, 0
        else:
            self._selected[self._page] = name
        self._is_outdated = True
        return True

    def _scroll(self, lines: int) -> bool:
        before, last = self._first_line, len(self._lines) - self._num_visible_lines
        self._first_line = max(0, min(before + lines, last))
        return self._first_line != before


STEPS = {"cell_up": (-1, 0), "cell_down": (1, 0), "cell_left": (0, -1), "cell_right": (0, 1)}


def _neighbor(names: tuple[str, ...], name: str, offset: int) -> str:
    return names[(names.index(name) + offset) % len(names)]


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
