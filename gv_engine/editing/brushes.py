"""What is painted with: the things of a level, each with its colours and states."""

from __future__ import annotations

from components.appearance import FLOOR, NONE
from gv_engine.editing.vocabulary import AGENT_KEY, CellThing, Vocabulary
from gv_engine.language.geometry import ORIENTATIONS
from gv_engine.language.objects import COLORS
from gv_engine.reading.map import LEGEND, Symbol

_USUAL = {symbol.kind: symbol for symbol in reversed(LEGEND.values()) if symbol.facing is None}
"""How the characters that are built in show the objects of each type."""
_LOOKING = Symbol(state=ORIENTATIONS.index("RIGHT"))


class Brushes:
    """The things that can be put into cells, and the one that is chosen.

    Attributes:
        names: of all of them: the floor, the agent, and types of objects.
        chosen: the name of one of them.
        all_things: whether those are among them that the level's `state_space` does not list.
    """

    def __init__(self, words: Vocabulary) -> None:
        self.chosen, self.all_things = "Wall", False
        self._words = words
        self._colors: dict[str, int] = {}
        self._states: dict[str, int] = {}
        self.names: list[str] = []
        self.adopt(words)

    def adopt(self, words: Vocabulary) -> None:
        """Take what may stand in cells now."""
        self._words = words
        kinds = dict.fromkeys((*words.objects, *(words.usual if self.all_things else ())))
        objects = [words.types[kind].name for kind in kinds if kind != FLOOR]
        self.names = [words.types[FLOOR].name, AGENT_KEY, *objects]
        if self.chosen not in self.names:
            self.chosen = self.names[-1]

    def step(self, by: int) -> None:
        """Choose the next thing, or the one before."""
        self.chosen = self.names[(self.names.index(self.chosen) + by) % len(self.names)]

    def states(self, name: str) -> tuple[str, ...]:
        """The states of a thing; of the agent, ways to look."""
        return ORIENTATIONS if name == AGENT_KEY else self._words.types[name].states

    def colors(self, name: str) -> tuple[int, ...]:
        """The colours that a thing may have; () if it has none."""
        if name == AGENT_KEY or not self._words.types[name].colored:
            return ()
        return self._words.colors

    def state(self, name: str) -> int:
        """The number of the state that it is painted in."""
        usual = _USUAL.get(self._words.types[name].index) if name != AGENT_KEY else _LOOKING
        return min(
            self._states.get(name, usual.state if usual else 0), max(0, len(self.states(name)) - 1)
        )

    def color(self, name: str) -> int:
        """The index of the colour that it is painted in."""
        if not (colors := self.colors(name)):
            return NONE
        usual = _USUAL.get(self._words.types[name].index)
        found = self._colors.get(name, usual.color if usual else colors[-1])
        return found if found in colors else colors[-1]

    def set_state(self, number: int) -> None:
        """Paint the chosen thing in another state."""
        if count := len(self.states(self.chosen)):
            self._states[self.chosen] = number % count

    def set_color(self, color: int) -> None:
        """Paint the chosen thing in another colour."""
        self._colors[self.chosen] = color

    def next_color(self) -> None:
        """Paint the chosen thing in the next colour."""
        if colors := self.colors(self.chosen):
            self.set_color(colors[(colors.index(self.color(self.chosen)) + 1) % len(colors)])

    def thing(self, name: str = "") -> CellThing:
        """What is painted: the chosen thing, or another one."""
        name = name or self.chosen
        if name == AGENT_KEY:
            return {AGENT_KEY: ORIENTATIONS[self.state(name)]}
        kind = self._words.types[name].index
        look = self.state(name), self.color(name)
        return {} if kind == FLOOR else self._words.object_thing(kind, *look)

    def symbol(self, name: str) -> Symbol:
        """How a thing looks."""
        if name == AGENT_KEY:
            return Symbol(facing=self.state(name))
        return Symbol(self._words.types[name].index, self.state(name), self.color(name))

    def take(self, thing: CellThing) -> None:
        """Choose what is in a cell: the thing, else the agent, else the ground."""
        told = thing
        if "object" not in thing and AGENT_KEY not in thing and "ground" in thing:
            ground = thing["ground"]
            told = ground if isinstance(ground, dict) else {"object": ground}
        name = str(
            told.get("object", AGENT_KEY if AGENT_KEY in told else self._words.types[FLOOR].name)
        )
        if name not in self.names:
            self.all_things = True
            self.adopt(self._words)
        if name not in self.names:
            return
        self.chosen = name
        state, color = told.get(AGENT_KEY, told.get("state")), told.get("color")
        states = self.states(name)
        self._states[name] = states.index(state) if state in states else 0
        if self.colors(name):
            self._colors[name] = COLORS.index(color) if color in COLORS else NONE
