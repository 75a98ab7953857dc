"""Grammar of BabyAI's instructions: render their numbers as text, and parse the text.

A clause is a row of `CLAUSE_LENGTH` numbers: verb, type, colour, place and plural of an object,
then type, colour, place and plural of a second one. The wording is an index of `WORDINGS`.

>>> wording, clauses = parse_instruction("open the red door, then pick up a key on your left")
>>> wording, clauses[:2].tolist()
(2, [[3, 5, 1, 0, 0, 0, 0, 0, 0], [2, 6, 0, 1, 1, 0, 0, 0, 0]])
>>> render_instruction(wording, clauses)
'open the red door, then pick up a key on your left'
>>> parse_instruction("go to the red door and jump")
Traceback (most recent call last):
ValueError: word 7: found 'jump', expected 'go to', 'open', 'pick up' or 'put'
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from components.core import NONE_GRID_OBJECT, Phrase, join_phrases
from components.minigrid import BALL, PARCEL
from components.objects import DOOR, KEY
from gv_engine.rules.objects import COLORS

MAX_CLAUSES, CLAUSE_LENGTH, DESCRIPTION_LENGTH = 4, 9, 4
VERB, KIND, COLOR, PLACE, PLURAL = range(5)
OTHER_KIND = KIND + DESCRIPTION_LENGTH
"""Indices in a clause: the verb, the description of an object, and the type of a second object,
which is described in the same order."""
GO_TO, PICK_UP_OBJECT, OPEN_DOOR, PUT_NEXT = range(1, 5)
ANYWHERE, ON_LEFT, ON_RIGHT, IN_FRONT, BEHIND = range(5)

WORDINGS = (
    "{clause}",
    "{clause} and {second_clause}",
    "{clause}, then {second_clause}",
    "{clause}, then {second_clause} and {third_clause}",
    "{clause} and {second_clause}, then {third_clause}",
    "{clause} and {second_clause}, then {third_clause} and {fourth_clause}",
    "{clause} after you {second_clause}",
    "{clause} after you {second_clause} and {third_clause}",
    "{clause} and {second_clause} after you {third_clause}",
    "{clause} and {second_clause} after you {third_clause} and {fourth_clause}",
)
"""Texts of an instruction, as scenario files list them under `mission`, in the order of
`number_wording`."""

ORDINALS = "", "second_", "third_", "fourth_"
"""Prefixes of the mission fields of each clause."""
FIELDS = (
    *("verb", "kind", "color", "place", "plural"),
    *("other_kind", "other_color", "other_place", "other_plural"),
)
"""Mission fields of a clause."""
VERBS = {"go to": GO_TO, "pick up": PICK_UP_OBJECT, "open": OPEN_DOOR, "put": PUT_NEXT}
_ARTICLES = {"the": 0, "a": 1}
_COLORS = {name.lower(): color for color, name in enumerate(COLORS) if color > 0}
_KINDS = {"box": PARCEL, "ball": BALL, "key": KEY, "object": NONE_GRID_OBJECT, "door": DOOR}
_PLACES = {
    "on your left": ON_LEFT,
    "on your right": ON_RIGHT,
    "in front of you": IN_FRONT,
    "behind you": BEHIND,
}
_PORTABLE = {name: kind for name, kind in _KINDS.items() if kind != DOOR}
_NEXT_TO = "next to"


def count_descriptions(verb: int) -> int:
    """Return the number of objects that a clause with this verb describes; 0 for the verb 0, which
    stands for no clause."""
    if verb == PUT_NEXT:
        return 2
    return 1 if verb > 0 else 0


def list_kinds(verb: int) -> Mapping[str, int]:
    """Return the types that the first object of a clause with this verb may have, by their names in
    texts."""
    return {GO_TO: _KINDS, OPEN_DOOR: {"door": DOOR}}.get(verb, _PORTABLE)


# ---- wordings ------------------------------------------------------------------------------------


def number_wording(count: int, other_count: int, has_after_you: bool) -> int:
    """Return the index in `WORDINGS` of the text with `count` clauses, then "after you" if
    `has_after_you`, else ", then", and `other_count` clauses; an `other_count` of 0 means
    neither."""
    if other_count == 0:
        return count - 1
    return 4 * has_after_you + 2 * count + other_count - 1


def count_clauses(wording: int) -> tuple[int, int]:
    """Return the number of clauses before and after ", then" or "after you" in a wording."""
    if wording < 2:
        return wording + 1, 0
    return 1 + (wording - 2) // 2 % 2, 1 + wording % 2


def is_reversed(wording: int) -> bool:
    """Return True if the wording has "after you", so that its last clauses must be done first."""
    return wording >= 6


# ---- rendering -----------------------------------------------------------------------------------


def _list_description_phrases(prefix: str, verb: str, verbs: Sequence[int]) -> tuple[Phrase, ...]:
    """Return the phrases that make up an object's description, such as "a red ball on your left".
    They depend on the mission fields that begin with `prefix`, and apply if the field `verb` has
    one of the values `verbs`."""
    tables = {"plural": _ARTICLES, "color": _COLORS, "kind": _KINDS, "place": _PLACES}
    return tuple(
        Phrase(prefix + name, {number: words for words, number in table.items()}, (verb, verbs))
        for name, table in tables.items()
    )


def _list_clause_phrases(ordinal: str) -> tuple[Phrase, ...]:
    """Return the phrases that make up one clause. `ordinal`, such as `second_`, is the prefix of
    the clause's mission fields."""
    verb = f"{ordinal}verb"
    return (
        Phrase(verb, {number: words for words, number in VERBS.items()}),
        *_list_description_phrases(ordinal, verb, [*VERBS.values()]),
        Phrase(verb, {PUT_NEXT: _NEXT_TO}),
        *_list_description_phrases(f"{ordinal}other_", verb, [PUT_NEXT]),
    )


CLAUSES = {f"{ordinal}clause": _list_clause_phrases(ordinal) for ordinal in ORDINALS}
"""Phrases of each clause by its name in `WORDINGS`, from the mission's fields."""


def render_description(kind: int, color: int, place: int, plural: int) -> str:
    """Return the text of a description, such as "a red ball on your left"."""
    fields = {"verb": GO_TO, "kind": kind, "color": color, "place": place, "plural": plural}
    return join_phrases(CLAUSES["clause"][1:5], fields)


def render_instruction(wording: int, clauses: Iterable[Sequence[int]]) -> str:
    """Return the text of an instruction."""
    fields = (dict(zip(FIELDS, clause, strict=True)) for clause in clauses)
    texts = (join_phrases(CLAUSES["clause"], clause) for clause in fields)
    return WORDINGS[wording].format_map(dict(zip(CLAUSES, texts, strict=True)))


# ---- parsing -------------------------------------------------------------------------------------


def parse_instruction(text: str) -> tuple[int, NDArray[np.int64]]:
    """Return the wording and the (4, 9) numbers of the clauses of an instruction.

    Raises:
        ValueError: the text is no instruction; the message gives the place and what may follow.
    """
    return _Parser(text).parse()


class _Parser:
    """Parser of one instruction, which reads phrases from left to right."""

    def __init__(self, text: str) -> None:
        """Begin at the first word of a text."""
        self._words = text.replace(",", " ,").split()
        self._position = 0
        self._rejected: list[str] = []
        self._clauses: list[list[int]] = []

    def parse(self) -> tuple[int, NDArray[np.int64]]:
        """Parse the whole text. Return the wording, an index in `WORDINGS`, and the four clauses as
        an array (4, 9)."""
        count, other_count = self._read_side(), 0
        has_after_you = self._accepts("after you")
        if has_after_you or self._accepts(", then"):
            other_count = self._read_side()
        if self._position < len(self._words):
            self._fail()
        clauses = np.zeros((MAX_CLAUSES, CLAUSE_LENGTH), np.int64)
        clauses[: len(self._clauses)] = self._clauses
        return number_wording(count, other_count, has_after_you), clauses

    def _read_side(self) -> int:
        """Read one clause, or two joined by "and". Return the number of clauses."""
        self._read_clause()
        if not self._accepts("and"):
            return 1
        self._read_clause()
        return 2

    def _read_clause(self) -> None:
        """Read a clause, such as "pick up the red ball", and store it as a row of numbers."""
        verb = self._read(VERBS)
        clause = [verb, *self._read_description(list_kinds(verb))]
        if verb == PUT_NEXT:
            self._read({_NEXT_TO: 0})
            clause += self._read_description(list_kinds(GO_TO))
        self._clauses.append(clause + [0] * (CLAUSE_LENGTH - len(clause)))

    def _read_description(self, kinds: Mapping[str, int]) -> list[int]:
        """Read the description of an object, such as "the red ball", and return its numbers.
        `kinds` maps the allowed type words to numbers."""
        plural = self._read(_ARTICLES)
        color = self._read_optional(_COLORS)
        kind = self._read(kinds)
        return [kind, color, self._read_optional(_PLACES), plural]

    def _read(self, phrases: Mapping[str, int]) -> int:
        """Read one of the phrases and return its number. Raise ValueError if the text does not
        continue with any of them."""
        for phrase, number in phrases.items():
            if self._accepts(phrase):
                return number
        self._fail()

    def _read_optional(self, phrases: Mapping[str, int]) -> int:
        return next((phrases[phrase] for phrase in phrases if self._accepts(phrase)), 0)

    def _accepts(self, phrase: str) -> bool:
        """If the text continues with the phrase, skip it and return True. Else remember the phrase
        as expected, for the error message, and return False."""
        words = phrase.split()
        if self._words[self._position : self._position + len(words)] == words:
            self._position += len(words)
            self._rejected.clear()
            return True
        self._rejected.append(phrase)
        return False

    def _fail(self) -> NoReturn:
        """Raise a ValueError that says what was found and which phrases were expected."""
        is_end = self._position == len(self._words)
        found = "the end" if is_end else repr(self._words[self._position])
        *first, last = sorted(repr(phrase) for phrase in set(self._rejected))
        expected = f"{', '.join(first)} or {last}" if first else last
        raise ValueError(f"word {self._position + 1}: found {found}, expected {expected}")
