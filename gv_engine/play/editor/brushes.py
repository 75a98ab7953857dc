"""Brushes of the editor: contents that can be painted into cells."""

from __future__ import annotations

from components.core import FLOOR, NONE
from gv_engine.play.editor.vocabulary import (
    AGENT_KEY,
    HEADINGS,
    OTHERS,
    CellThing,
    Vocabulary,
    as_entry,
    list_middle_entries,
)
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.readers.map import LEGEND, Symbol

# Built-in symbols by object type: the usual state and colour of each
_USUAL_SYMBOLS = {
    symbol.kind: symbol for symbol in reversed(LEGEND.values()) if symbol.facing is None
}
_USUAL_FACING = ORIENTATIONS.index("RIGHT")


class Brushes:
    """Contents that can be painted into cells, and the selected one.

    Attributes:
        names: names of all brushes: the floor, the agent, and object types.
        selected: name of the selected brush.
        shows_all_types: whether to offer object types that the `state_space` does not list.
    """

    def __init__(self, vocab: Vocabulary) -> None:
        self.selected = "Wall"
        self.shows_all_types = False
        self._color_by_brush: dict[str, int] = {}
        self._state_by_brush: dict[str, int] = {}
        self.set_vocabulary(vocab)

    def set_vocabulary(self, vocab: Vocabulary) -> None:
        """Offer brushes for the object types and colours of `vocab`; if the selected brush is no
        longer offered, select the last one."""
        self._vocab = vocab
        kinds = (*vocab.objects, *vocab.usual) if self.shows_all_types else vocab.objects
        objects = [vocab.types[kind].name for kind in dict.fromkeys(kinds) if kind != FLOOR]
        headings = [*HEADINGS]
        names = [vocab.types[FLOOR].name, AGENT_KEY, *objects]
        self.names = sorted(names, key=lambda name: headings.index(self.palette_heading(name)))
        if self.selected not in self.names:
            self.selected = self.names[-1]

    def palette_heading(self, name: str) -> str:
        """Return the heading of the palette below which the brush called `name` is shown."""
        return self._vocab.headings.get(name, OTHERS)

    def choose(self, name: str, *_: object) -> None:
        """Select the brush called `name`; further arguments, such as the position of the mouse, are
        ignored."""
        self.selected = name

    def select_next(self, offset: int) -> None:
        """Select the brush `offset` positions after the current one, wrapping around."""
        self.selected = self.names[(self.names.index(self.selected) + offset) % len(self.names)]

    def states(self, name: str) -> tuple[str, ...]:
        """Return the names of the states in which the brush called `name` can paint its object; for
        the agent, the four directions."""
        return ORIENTATIONS if name == AGENT_KEY else self._vocab.types[name].states

    def colors(self, name: str) -> tuple[int, ...]:
        """Return the indices in `COLORS` with which the brush called `name` can paint; () if its
        object has no colour."""
        if name == AGENT_KEY or not self._vocab.types[name].colored:
            return ()
        return self._vocab.colors

    def state(self, name: str) -> int:
        """Return the index of the state in which the brush called `name` currently paints its
        object; for the agent, the index of the direction."""
        if name == AGENT_KEY:
            return self._state_by_brush.get(name, _USUAL_FACING)
        usual = _USUAL_SYMBOLS.get(self._vocab.types[name].index, Symbol())
        state = self._state_by_brush.get(name, usual.state)
        return min(state, max(0, len(self.states(name)) - 1))  # states may have become fewer

    def color(self, name: str) -> int:
        """Return the index in `COLORS` of the colour in which the brush called `name` currently
        paints."""
        if not (colors := self.colors(name)):
            return NONE
        usual = _USUAL_SYMBOLS.get(self._vocab.types[name].index)
        color = self._color_by_brush.get(name, usual.color if usual else colors[-1])
        return color if color in colors else colors[-1]

    def set_state(self, index: int) -> None:
        """Let the selected brush paint its object in the state with this index, which wraps
        around."""
        if count := len(self.states(self.selected)):
            self._state_by_brush[self.selected] = index % count

    def next_state(self) -> None:
        """Switch the selected brush to the next of its states."""
        self.set_state(self.state(self.selected) + 1)

    def toggle_all_types(self) -> None:
        """Switch between brushes for all object types and brushes for the object types that the
        level allows."""
        self.shows_all_types = not self.shows_all_types
        self.set_vocabulary(self._vocab)

    def next_color(self) -> None:
        """Switch the selected brush to the next of its colours; nothing happens if it has none."""
        if colors := self.colors(self.selected):
            index = colors.index(self.color(self.selected)) + 1
            self._color_by_brush[self.selected] = colors[index % len(colors)]

    def thing(self, name: str = "") -> CellThing:
        """Return the legend entry that the brush called `name` paints; "" stands for the selected
        brush."""
        name = name or self.selected
        if name == AGENT_KEY:
            return {AGENT_KEY: ORIENTATIONS[self.state(name)]}
        kind = self._vocab.types[name].index
        appearance = self.state(name), self.color(name)
        return {} if kind == FLOOR else self._vocab.thing_of_type(kind, *appearance)

    def symbol(self, name: str) -> Symbol:
        """Return the `Symbol` that the brush called `name` paints: type, state and colour of an
        object, or an agent with its direction."""
        if name == AGENT_KEY:
            return Symbol(facing=self.state(name))
        return Symbol(self._vocab.types[name].index, self.state(name), self.color(name))

    def pick(self, thing: CellThing) -> None:
        """Select the brush that paints the object of the legend entry `thing`, in its state and
        colour; if the entry has no object, its agent, else the object below."""
        layer = thing
        lower = [*list_middle_entries(thing), *([thing["ground"]] if "ground" in thing else [])]
        if "object" not in thing and AGENT_KEY not in thing and lower:
            layer = as_entry(lower[0])
        default_name = AGENT_KEY if AGENT_KEY in layer else self._vocab.types[FLOOR].name
        name = str(layer.get("object", default_name))
        if name not in self.names:
            self.shows_all_types = True
            self.set_vocabulary(self._vocab)
        if name not in self.names:
            return
        self.selected = name
        state, color = layer.get(AGENT_KEY, layer.get("state")), layer.get("color")
        states = self.states(name)
        self._state_by_brush[name] = states.index(state) if state in states else 0
        if self.colors(name):
            self._color_by_brush[name] = COLORS.index(color) if color in COLORS else NONE
