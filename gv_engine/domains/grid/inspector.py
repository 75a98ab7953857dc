"""The inspector: a panel that shows what the world is made of, in pages to be turned."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.domains.grid.board import Cell
from gv_engine.domains.grid.plugin import DOMAIN
from gv_engine.envs.representations import REPRESENTATIONS
from gv_engine.rules.frame import Frame
from gv_engine.rules.system import REWARD
from gv_engine.scenario.map import signed
from gv_engine.scenario.reference_docs import in_sentences
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.action_preview import ActionPreview, Outcome
from gv_engine.session.inspection import (
    Entity,
    Inspection,
    VisibleCells,
    describe_numbers,
    visibility_function_names,
)
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.text import font, plate, write
from gv_engine.ui.drawing.widgets import wrap

AS_SHOWN = "as the agent saw it"
SEEN, NOT_SEEN = "#", "."  # drawn as a large and a small square
NOTCH = 3  # lines that a notch of the wheel scrolls


class PageLine(NamedTuple):
    """A line of a page: a label and a value, or numbers in columns; indented by its level."""

    label: str
    value: str = ""
    level: int = 0
    columns: tuple[str, ...] = ()
    is_heading: bool = False


class GridInspector:
    """Shows a game's cells, agent, observation, sight and actions.

    Args:
        game: what is played; asked for its `scenario`, `frame()` and `row()`.
        theme: the colours of the panel.

    Attributes:
        chosen: y, x of the cell that is looked at; None: the agent's.
    """

    title = "Inspector"

    def __init__(self, game: Any, theme: Theme) -> None:
        self.chosen: Cell | None = None
        self._game, self._theme = game, theme
        self._pages: dict[str, Callable[[], Iterator[PageLine]]] = {
            "Cell": self._cell,
            "Agent": self._agent,
            "Observation": self._observation,
            "Sight": self._sight,
            "Actions": self._actions,
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
        self._looking: Inspection
        self._trial: ActionPreview
        self._tried: Mapping[str, Outcome] = {}
        self._shown: Frame
        self._is_stale = True
        self._rows: list[PageLine] = []
        self._seen: VisibleCells | None = None

    def begin(self) -> None:
        """Forget the frame: another one is shown."""
        self._is_stale = True

    # ---- what is shown -------------------------------------------------------------------

    @property
    def lit(self) -> NDArray[np.bool_] | None:
        """(H, W) the cells to be shown bright; None: those that the agent saw."""
        if self._page != "Sight" or self._function == AS_SHOWN:
            return None
        self._refresh()
        return None if self._seen is None or self._seen.problem else self._seen.on_grid

    def _refresh(self) -> None:
        if not self._is_stale:
            return
        self._is_stale, self._shown = False, self._game.frame()
        if self._scenario is not self._game.scenario:
            self._scenario = self._game.scenario
            self._looking, self._trial = Inspection(self._scenario), ActionPreview(self._scenario)
        self._looking.load(self._game.row())
        height, width = self._shown.grid.shape[:2]
        if self.chosen is not None and not (self.chosen[0] < height and self.chosen[1] < width):
            self.chosen = None
        if self._function not in self._choices("Sight"):
            self._function = AS_SHOWN
        self._seen = None
        if self._page == "Sight" and self._function != AS_SHOWN:
            self._seen = self._looking.visible_cells(self._function)
        if self._page == "Actions":
            self._tried = self._trial.outcomes(self._game.row())
        self._rows = list(self._pages[self._page]())

    def _choices(self, page: str) -> tuple[str, ...]:
        """What the page can be about, of which one is chosen."""
        if page == "Observation":
            return REPRESENTATIONS
        if page == "Sight":
            return (AS_SHOWN, *visibility_function_names())
        return ()

    def _cell(self) -> Iterator[PageLine]:
        y, x = self.chosen or self._shown.agent[:2]
        yield PageLine("cell", f"row {y}, column {x}")
        try:
            entities = self._looking.cell(y, x)
        except IndexError:
            yield PageLine("beyond the grid")
            return
        if not entities:
            yield PageLine("free floor, no entity")
        for entity in entities:
            yield from _entity(entity)

    def _agent(self) -> Iterator[PageLine]:
        agent = self._looking.agent()
        held = [entity.name for entity in agent.holds.values()]
        yield PageLine("holds", ", ".join(held) or "nothing")
        yield from self._reward()
        yield from _entity(agent)

    def _observation(self) -> Iterator[PageLine]:
        frame = self._shown
        try:
            arrays = self._looking.observation(self._representation, frame.observation, frame.item)
        except ValueError as error:
            yield PageLine(str(error))
            return
        for name, array in arrays.items():
            shape = " × ".join(map(str, array.shape))
            yield PageLine(name, f"{shape} {array.dtype}", is_heading=True)
            shown = {"grid": frame.observation, "item": np.array(frame.item, np.uint8)}.get(name)
            parts: list[tuple[str, NDArray[Any], str]] = [("", array, self._meaning_of(name))]
            if shown is not None:
                known = describe_numbers(array, shown, frame.types)
                parts = [
                    (part, array[..., k], ", ".join(f"{n} {says}" for n, says in known[k].items()))
                    for k, part in enumerate(("type", "state", "colour"))
                ]
            for part, numbers, says in parts:
                if part:
                    yield PageLine(part)
                for line in np.atleast_2d(numbers).tolist():
                    yield PageLine("", columns=tuple(f"{number:g}" for number in line))
                for text in self._wrapped(says, 1):
                    yield PageLine(text, "", 1)

    def _meaning_of(self, name: str) -> str:
        """What the numbers of an array stand for that shows no things."""
        missions = self._looking.scenario.missions
        if name == "mission" and missions:
            return ", ".join(missions.names)
        return {"agent_id_grid": "1 is the agent's own cell"}.get(name, "")

    def _sight(self) -> Iterator[PageLine]:
        if self._seen is not None and self._seen.problem:
            yield PageLine(self._seen.problem)
            return
        seen = self._seen.seen if self._seen is not None else self._shown.observation[..., 0] != 1
        yield PageLine("seen", f"{int(seen.sum())} of {seen.size} cells of the view")
        for line in seen.tolist():
            yield PageLine("", columns=tuple(SEEN if cell else NOT_SEEN for cell in line))

    def _actions(self) -> Iterator[PageLine]:
        commands = (*DOMAIN.keys, *self._looking.scenario.own_actions)
        called = {command.name: command.says.capitalize() for command in commands}  # as in the help
        for action, does_something in self._looking.actions().items():
            name = called.get(action, action.replace("_", " ").capitalize())
            says = "does something" if does_something else "nothing"
            yield PageLine(name, says, is_heading=does_something)
            if not self._shown.outcome:
                yield from self._would(self._tried[action])

    def _would(self, outcome: Outcome) -> Iterator[PageLine]:
        """What an action would do and pay."""
        for text in self._wrapped("; ".join(outcome.effects) or outcome.problem, 1):
            yield PageLine(text, "", 1)
        if outcome.ending:
            yield PageLine(outcome.ending, "", 1)
        for name, value in outcome.terms.items():
            yield PageLine(name.replace("_", " "), signed(value), 1)

    def _reward(self) -> Iterator[PageLine]:
        """The last reward by rule, and what each rule says of itself."""
        frame = self._shown
        yield PageLine("reward of the last step", signed(frame.reward), is_heading=True)
        scenario = self._looking.scenario
        said = {
            call.name: in_sentences(call, scenario.types)[1]
            for each in scenario.members
            for call in each.calls(REWARD)
        }
        for name, value in frame.terms.items():
            yield PageLine(name.replace("_", " "), signed(value))
            for text in self._wrapped(said.get(name, ""), 1):
                yield PageLine(text, "", 1)

    def _wrapped(self, text: str, level: int) -> Sequence[str]:
        """A text in lines that have room at a level."""
        return wrap(text, self._line, max(self._line, self._width - level * self._line))

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        """Draw the panel; `line` is the height of a line of text in pixels."""
        width = rect.w - line - line // 2
        self._is_stale |= (self._line, self._width) != (line, width)
        self._line, self._width = line, width
        self._refresh()
        theme, before = self._theme, surface.get_clip()
        surface.set_clip(rect.clip(before))
        surface.blit(plate(rect.size, line // 2, theme.card), rect)
        inner = rect.inflate(-line, -line)
        self._buttons = []
        if min(inner.size) < line:
            surface.set_clip(before)
            return
        top = self._draw_buttons(surface, inner, inner.y, tuple(self._pages), self._page)
        choices = self._choices(self._page)
        if choices:
            chosen = self._representation if self._page == "Observation" else self._function
            top = self._draw_buttons(surface, inner, top, choices, chosen)
        body = pygame.Rect(inner.x, top + line // 4, inner.w, inner.bottom - top - line // 4)
        self._room = max(1, body.h // line)
        self._scrolled = max(0, min(self._scrolled, len(self._rows) - self._room))
        shown = self._rows[self._scrolled : self._scrolled + self._room]
        room = body.inflate(-line // 2, 0).move(-line // 4, 0)
        for number, row in enumerate(shown):
            self._draw_row(surface, pygame.Rect(room.x, body.y + number * line, room.w, line), row)
        if len(self._rows) > self._room:
            tall = max(line, body.h * self._room // len(self._rows))
            down = (body.h - tall) * self._scrolled // (len(self._rows) - self._room)
            bar = pygame.Rect(body.right - line // 4, body.y + down, max(2, line // 4), tall)
            surface.fill(theme.outline, bar)
        surface.set_clip(before)

    def _draw_buttons(
        self,
        surface: pygame.Surface,
        rect: pygame.Rect,
        top: int,
        names: tuple[str, ...],
        chosen: str,
    ) -> int:
        """Draw buttons in lines from the top; returns where the next line begins."""
        line, theme, left = self._line, self._theme, rect.x
        for name in names:
            width = min(rect.w, font(line).size(name.replace("_", " "))[0] + line)
            if left > rect.x and left + width > rect.right:
                left, top = rect.x, top + line * 3 // 2
            button = pygame.Rect(left, top, width, line * 5 // 4)
            is_chosen = name == chosen
            color = theme.accent if is_chosen else theme.well
            surface.blit(plate(button.size, line // 3, color), button)
            ink = theme.on_accent if is_chosen else theme.text
            write(
                surface, button.inflate(-line // 2, 0), name.replace("_", " "), line, ink, "center"
            )
            self._buttons.append((button, name))
            left += width + line // 4
        return top + line * 3 // 2

    def _draw_row(self, surface: pygame.Surface, rect: pygame.Rect, row: PageLine) -> None:
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
                    write(surface, slot, text, line, theme.muted if text == "0" else theme.text)
            return
        color = theme.accent if row.is_heading else theme.text if not row.value else theme.muted
        taken = write(surface, rect, row.label, line, color)
        rest = pygame.Rect(rect.x + taken + line // 2, rect.y, rect.w - taken - line // 2, rect.h)
        if row.value and rest.w > 0:
            write(surface, rest, row.value, line, theme.text)

    # ---- what the player does ------------------------------------------------------------

    def event(self, event: pygame.event.Event) -> bool:
        """Take a mouse event on the panel; returns whether it looks different now."""
        if event.type == pygame.MOUSEWHEEL:
            return self._scroll(-event.y * NOTCH)
        if event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            for button, name in self._buttons:
                if button.collidepoint(event.pos):
                    return self._choose(name)
        return False

    def command(self, name: str) -> bool:
        """Take a command of the group `inspector`; returns whether it looks different now."""
        if name in ("scroll_up", "scroll_down"):
            return self._scroll(self._room // 2 if name == "scroll_down" else -self._room // 2)
        if name in ("next_tab", "previous_tab"):
            return self._choose(_beside(tuple(self._pages), self._page, name == "next_tab"))
        if name in ("next_choice", "previous_choice"):
            self._refresh()
            choices = self._choices(self._page)
            chosen = self._representation if self._page == "Observation" else self._function
            return bool(choices) and self._choose(_beside(choices, chosen, name == "next_choice"))
        if name in STEPS:
            self._refresh()
            y, x = self.chosen or self._shown.agent[:2]
            height, width = self._shown.grid.shape[:2]
            dy, dx = STEPS[name]
            self.chosen = min(max(0, y + dy), height - 1), min(max(0, x + dx), width - 1)
            return self._choose("Cell")
        return False

    def choose(self, cell: Cell) -> None:
        """Show a cell."""
        self.chosen = cell
        self._choose("Cell")

    def _choose(self, name: str) -> bool:
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


def _beside(names: tuple[str, ...], name: str, forward: bool) -> str:
    return names[(names.index(name) + (1 if forward else -1)) % len(names)]


def _entity(entity: Entity, level: int = 0) -> Iterator[PageLine]:
    yield PageLine(entity.name, f"entity {entity.number}", level, is_heading=True)
    for part in entity.parts:
        yield PageLine(part.name, "", level)
        for field, value in part.fields.items():
            yield PageLine(field, value, level + 1)
    for field, held in entity.holds.items():
        yield PageLine(field, "holds", level)
        yield from _entity(held, level + 1)
