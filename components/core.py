"""Components that the engine reads: position, type and colour of objects, agents, missions."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, NamedTuple

from gv_engine.rules.component import NOTHING, Bounds, Coordinate, EntityId, Int8, component
from gv_engine.rules.geometry import FORWARD, RIGHT
from gv_engine.rules.objects import COLORS


@component(often=True)
class Position:
    """Cell (y, x), or (-1, -1) for an entity without a cell. Change it with `w.place`."""

    y: Coordinate = -1
    x: Coordinate = -1


NONE, RED, GREEN, BLUE, YELLOW, PURPLE, GREY, ORANGE, CYAN = range(len(COLORS))
NONE_GRID_OBJECT, HIDDEN, FLOOR = range(3)
"""Type indices of an empty hand, of an unseen cell, and of the floor, which is the type of an empty
cell and needs no entity."""


@component(often=True)
class Kind:
    """Type index of an object."""

    value: Int8 = FLOOR


@component(often=True)
class Color:
    """Colour of an object, an index of `gv_engine.objects.COLORS`: NONE, RED, GREEN, BLUE, YELLOW
    and others."""

    value: Int8 = NONE


@component(often=True)
class Agent:
    """Agent: faces a direction and holds at most one object."""

    facing: Annotated[Int8, Bounds(FORWARD, RIGHT)] = FORWARD
    holding: EntityId = NOTHING


class Phrase(NamedTuple):
    """Part of a mission's text, whose words depend on the value of one mission field.

    Attributes:
        field: name of the field whose value chooses the words.
        words: words by value; other values have none.
        when: (field, values): the part is left out unless that field has one of these values.
    """

    field: str
    words: Mapping[int, str]
    when: tuple[str, Sequence[int]] | None = None

    def applies(self, fields: Mapping[str, int]) -> bool:
        """Return True if the part is in the text of a mission with these `fields`."""
        return self.when is None or fields.get(self.when[0], 0) in self.when[1]


def join_phrases(phrases: Sequence[Phrase], fields: Mapping[str, int]) -> str:
    """Return the text of `phrases` for a mission with the field values `fields`: the words of each
    phrase that applies, joined by blanks."""
    parts = (phrase.words.get(fields[phrase.field]) for phrase in phrases if phrase.applies(fields))
    return " ".join(filter(None, parts))


def list_longest_phrases(phrases: Sequence[Phrase]) -> list[str]:
    """Return the longest texts that a mission can have, to find the size of its observation space.
    There is one text for each combination of values of the fields that `when` names in `phrases`;
    all other fields have their longest words."""
    choices: dict[str, set[int]] = {}
    for phrase in phrases:
        if phrase.when:
            choices.setdefault(phrase.when[0], {0}).update(phrase.when[1])
    for phrase in phrases:
        if phrase.field in choices:
            choices[phrase.field].update(phrase.words)

    def choose_words(phrase: Phrase, fields: Mapping[str, int]) -> str:
        if phrase.field in fields:
            return phrase.words.get(fields[phrase.field], "")
        return max(phrase.words.values(), key=lambda words: len(words.split()), default="")

    texts = []
    for values in product(*choices.values()):
        fields = dict(zip(choices, values))
        texts.append(
            " ".join(choose_words(each, fields) for each in phrases if each.applies(fields))
        )
    return texts


@component
class Mission:
    """Mission of an agent: its text, and the type and colour of the objects that the mission is
    about.

    Scenarios may add fields in a subclass of the same name. Fields called `kind` or `…_kind` hold
    types, `color` or `…_color` hold colours. Agents see whole numbers only; entities, coordinates,
    floats and arrays are for rules.
    """

    wording: Int8 = 0
    """Index of the mission's text among the texts of the scenario."""
    kind: Int8 = NONE_GRID_OBJECT
    color: Int8 = NONE
