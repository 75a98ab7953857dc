"""ErrorCollector, drawn from one generator: the kinds that mathy_core.problems knows.

Those draw from Python's global generator and go through sets, so that their seeds do not hold
across processes; these draw letters, numbers and powers in the same ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

_LETTERS = "abcdfghjklmnopqrstuvwxyz"  # e and i are numbers to mathematicians
_LARGEST_NUMBER = 12
_LARGEST_POWER = 4
_HAS_NUMBER = 0.8

_T = TypeVar("_T")


class Draw:
    """Draws what problems are made of.

    Args:
        rng: the only source of chance.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def integer(self, least: int, most: int) -> int:
        """A whole number within bounds that both belong to it."""
        return int(self.rng.integers(least, most + 1))

    def between(self, low: float, high: float) -> float:
        """A number between two others."""
        return float(self.rng.uniform(low, high))

    def within(self, given: Any) -> Any:
        """A number within two bounds, a whole one if these are; anything else as it is."""
        if not isinstance(given, tuple):
            return given
        return self.integer(*given) if isinstance(given[0], int) else self.between(*given)

    def letters(self, count: int, but: str = "") -> list[str]:
        """Different letters, none of those in `but`."""
        free = [letter for letter in _LETTERS if letter not in but]
        return [free[place] for place in self.rng.permutation(len(free))[:count]]

    def shuffled(self, items: Sequence[_T]) -> list[_T]:
        """The items in another order."""
        return [items[place] for place in self.rng.permutation(len(items))]

    def number(self) -> str:
        """A number from 1 to 12."""
        return str(self.integer(1, _LARGEST_NUMBER))

    def coefficient(self) -> str:
        """Mostly a number, else nothing."""
        return self.number() if self.chance(_HAS_NUMBER) else ""

    def power(self, probability: float = 1.0, but: str = "") -> str:
        """^2, ^3 or ^4 with this probability, other than `but`; else nothing."""
        if not self.chance(probability):
            return ""
        powers = [f"^{k}" for k in range(2, _LARGEST_POWER + 1) if f"^{k}" != but]
        return powers[self.integer(0, len(powers) - 1)]

    def smaller_part(self, whole: int) -> int:
        """The smaller of two parts that a number is cut into."""
        part = self.integer(0, whole)
        return min(part, whole - part)

    def terms(self, letters: Sequence[str], power: float) -> list[str]:
        """A term for each letter."""
        return [self.coefficient() + letter + self.power(power) for letter in letters]


def like_terms(
    draw: Draw,
    terms: int,
    *,
    sign: str = "+",
    scaling: float = 0.3,
    powers: float = 0.33,
    noise: float = 0.8,
    noise_terms: int | None = None,
    shuffle: float = 0.66,
    optional_variables: bool = False,
) -> tuple[str, int]:
    """Groups of like terms, with others among them: `4x + 3y + (2x + 7y^2) + 5x`.

    Args:
        draw: chance.
        terms: how many like terms in all, from 2 on.
        sign: between all terms.
        scaling: groups for each term.
        powers: probability that a group has a power.
        noise: probability of terms that are like no other.
        noise_terms: how many of these; a third of the terms if None.
        shuffle: probability that the order is mixed up.
        optional_variables: whether some terms are plain numbers.

    Returns:
        The text, and its complexity.
    """
    count = 1 if terms == 2 else max(2, int(terms * scaling))
    noisy = draw.chance(noise)
    letters = draw.letters(count)
    shared = draw.chance(0.5)
    if shared and count > 1 and not noisy:
        groups = [letters[0], letters[0] + draw.power()]
        groups += [letter + draw.power(powers) for letter in letters[2:]]
        extra = []
    else:
        groups = [letter + draw.power(powers) for letter in letters]
        own = groups[0].removeprefix(letters[0])
        extra = [letters[0] + draw.power(but=own)] if shared else []
    chosen = [groups[place % count] for place in range(terms)] + extra
    if noisy:
        many = min(5, max(1, terms // 3)) if noise_terms is None else noise_terms
        others = [
            letter + draw.power(powers) for letter in draw.letters(many, but="".join(letters))
        ]
        front = draw.smaller_part(many)
        chosen = others[:front] + chosen + others[front:]
    if draw.chance(shuffle):
        chosen = draw.shuffled(chosen)
    written = []
    for place, term in enumerate(chosen):
        bare = optional_variables and place > 0 and draw.chance(0.2)
        written.append(draw.number() if bare else draw.coefficient() + term)
    if draw.chance(0.66):
        half = len(written) // 2
        first, last = draw.integer(0, half - 1), draw.integer(half, len(written) - 1)
        written[first] = "(" + written[first]
        written[last] += ")"
    return f" {sign} ".join(written), terms + noisy


def binomials(
    draw: Draw, variables: int, *, powers: float, like: float, coefficients: bool = False
) -> tuple[str, int]:
    """Two sums multiplied: `(x + 2) * (x + 7)`.

    Args:
        draw: chance.
        variables: how many of the four terms have one.
        powers: probability that variables have powers.
        like: probability that they are all the same.
        coefficients: whether variables have numbers too.
    """
    one, two, three, four = _factors(draw, 4, variables, powers, like, coefficients)
    first, second = draw.shuffled([one, three]), draw.shuffled([two, four])
    return f"({' + '.join(first)}) * ({' + '.join(second)})", 8 if coefficients else 6


def binomial_and_monomial(
    draw: Draw, variables: int, *, powers: float = 0.33, like: float = 1.0
) -> tuple[str, int]:
    """A sum and a term multiplied: `(x + 2) * x`."""
    one, two, three = _factors(draw, 3, variables, powers, like, False)
    return f"({' + '.join(draw.shuffled([one, three]))}) * {two}", 3


def _factors(
    draw: Draw, count: int, variables: int, powers: float, like: float, coefficients: bool
) -> list[str]:
    power = min(1.0, 2 * powers) if draw.chance(powers) else 0.0
    if draw.chance(like):
        terms = [draw.letters(1)[0] + draw.power(power)] * variables
    else:
        terms = [letter + draw.power(power) for letter in draw.letters(variables)]
    if coefficients:
        terms = [draw.number() + term for term in terms]
    return terms + [draw.number() for _ in range(count - variables)]


def pair_in_place(
    draw: Draw, terms: int, *, powers: bool = False, parentheses: bool = False
) -> str:
    """Two like terms side by side among unlike ones: `4y + 12j + (24x + 12x) + 43n`."""
    pair, others, power = _pair(draw, terms - 2, powers)
    text = " + ".join(pair)
    return _among(draw, f"({text})" if parentheses else text, draw.terms(others, power))


def pair_apart(
    draw: Draw, terms: int, blockers: int, *, powers: bool = False, parentheses: float = 0.1
) -> str:
    """Two like terms with others between them and around them: `4y + 24x + 56l + 12x + 43n`.

    Args:
        draw: chance.
        terms: how many in all, or as many as it takes.
        blockers: how many stand between.
        powers: whether terms may have powers.
        parentheses: probability that they stand round the pair and what is between.
    """
    (one, two), others, power = _pair(draw, max(terms - 2, blockers), powers)
    text = " + ".join([one, *draw.terms(others[:blockers], power), two])
    if draw.chance(parentheses):
        text = f"({text})"
    return _among(draw, text, draw.terms(others[blockers:], power))


def _pair(draw: Draw, others: int, powers: bool) -> tuple[list[str], list[str], float]:
    """Two like terms, letters for unlike ones, and how likely these have powers."""
    letter, *rest = draw.letters(others + 1)
    chance = 0.8 if powers else 0.0
    like = letter + draw.power(chance)
    return [draw.coefficient() + like for _ in range(2)], rest, chance


def _among(draw: Draw, text: str, others: list[str]) -> str:
    """The text with the larger part of the others to its left."""
    left = len(others) - draw.smaller_part(len(others))
    return " + ".join([*others[:left], text, *others[left:]])


def around_blockers(
    draw: Draw, blockers: int, *, powers: float, ends: bool = False
) -> tuple[str, int]:
    """Two like terms with others between them: `4x + y + 2f + x`.

    Args:
        draw: chance.
        blockers: how many stand between.
        powers: probability of one, for the like terms and those at the ends.
        ends: whether an unlike term stands at each end: `7a + 4x + 2f + j + x + 3d`.
    """
    around = 3 if ends else 1
    letters = draw.letters(blockers + around)
    kinds = [letter + draw.power(powers) for letter in letters[:around]]
    like = kinds.pop(around // 2)
    terms = [*kinds[:1], like, *letters[around:], like, *kinds[1:]]
    return " + ".join(draw.coefficient() + term for term in terms), blockers + around + 1


def haystack(draw: Draw, terms: int, *, exponents: float) -> str:
    """Two like terms somewhere among unlike ones: `2x + 8y^3 + 13z + 5x`.

    Args:
        draw: chance.
        terms: how many.
        exponents: probability that a term has one, of up to 12.
    """
    kinds: list[str] = []
    while len(kinds) < terms - 1:
        power = max(2, draw.integer(1, _LARGEST_NUMBER))
        kind = draw.letters(1)[0] + (f"^{power}" if draw.chance(exponents) else "")
        if kind not in kinds:
            kinds.append(kind)
    return " + ".join(draw.coefficient() + kind for kind in draw.shuffled([kinds[0], *kinds]))
