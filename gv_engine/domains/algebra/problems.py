"""Sampling of problems from one generator: the kinds of problems that mathy_core.problems makes.

mathy_core samples from Python's global generator and iterates over sets, so its seeds differ
between processes. Here letters, numbers and powers have the same ranges.
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


class Sampler:
    """Samples letters, numbers and terms for problems.

    Args:
        rng: source of all randomness.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.random() < probability)

    def integer(self, least: int, most: int) -> int:
        """Sample an integer from `least` to `most`, both included."""
        return int(self.rng.integers(least, most + 1))

    def uniform(self, low: float, high: float) -> float:
        """Sample a float between two bounds."""
        return float(self.rng.uniform(low, high))

    def within(self, value: Any) -> Any:
        """Return a random number between two bounds if `value` is a pair, an int if the bounds are
        ints; else return `value`."""
        if not isinstance(value, tuple):
            return value
        return self.integer(*value) if isinstance(value[0], int) else self.uniform(*value)

    def letters(self, count: int, but: str = "") -> list[str]:
        """Sample different letters that are not in `but`."""
        free = [letter for letter in _LETTERS if letter not in but]
        return [free[place] for place in self.rng.permutation(len(free))[:count]]

    def shuffle(self, items: Sequence[_T]) -> list[_T]:
        """Return the items in random order."""
        return [items[place] for place in self.rng.permutation(len(items))]

    def number(self) -> str:
        """Sample a number from 1 to 12, as text."""
        return str(self.integer(1, _LARGEST_NUMBER))

    def coefficient(self) -> str:
        """Sample a coefficient as text: a number with probability 0.8, else an empty string."""
        return self.number() if self.chance(_HAS_NUMBER) else ""

    def power(self, probability: float = 1.0, but: str = "") -> str:
        """Return, with this probability, one of ^2, ^3 and ^4 other than `but` at random; else an
        empty text."""
        if not self.chance(probability):
            return ""
        powers = [f"^{k}" for k in range(2, _LARGEST_POWER + 1) if f"^{k}" != but]
        return powers[self.integer(0, len(powers) - 1)]

    def smaller_part(self, whole: int) -> int:
        """Split a number into two random parts and return the smaller one."""
        part = self.integer(0, whole)
        return min(part, whole - part)

    def terms(self, letters: Sequence[str], power: float) -> list[str]:
        """Sample a term for each letter, with powers of a probability."""
        return [self.coefficient() + letter + self.power(power) for letter in letters]


def sample_like_terms(
    sampler: Sampler,
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
    """Return a random sum (or product) with groups of like terms and some unlike terms, such as `4x
    + 3y + (2x + 7y^2) + 5x`, and its complexity.

    Args:
        sampler: source of all randomness.
        terms: number of like terms, at least 2.
        sign: operator between all terms.
        scaling: number of groups as a fraction of the number of terms.
        powers: probability that a group has a power.
        noise: probability that there are unlike terms.
        noise_terms: number of unlike terms; a third of the terms if None.
        shuffle: probability of a random order.
        optional_variables: some terms are plain numbers.

    Returns:
        The text, and its complexity.
    """
    count = 1 if terms == 2 else max(2, int(terms * scaling))
    noisy = sampler.chance(noise)
    letters = sampler.letters(count)
    shared = sampler.chance(0.5)
    if shared and count > 1 and not noisy:
        groups = [letters[0], letters[0] + sampler.power()]
        groups += [letter + sampler.power(powers) for letter in letters[2:]]
        extra = []
    else:
        groups = [letter + sampler.power(powers) for letter in letters]
        own = groups[0].removeprefix(letters[0])
        extra = [letters[0] + sampler.power(but=own)] if shared else []
    chosen = [groups[place % count] for place in range(terms)] + extra
    if noisy:
        many = min(5, max(1, terms // 3)) if noise_terms is None else noise_terms
        free = sampler.letters(many, but="".join(letters))
        others = [letter + sampler.power(powers) for letter in free]
        front = sampler.smaller_part(many)
        chosen = others[:front] + chosen + others[front:]
    if sampler.chance(shuffle):
        chosen = sampler.shuffle(chosen)
    written = []
    for place, term in enumerate(chosen):
        bare = optional_variables and place > 0 and sampler.chance(0.2)
        written.append(sampler.number() if bare else sampler.coefficient() + term)
    if sampler.chance(0.66):
        half = len(written) // 2
        first, last = sampler.integer(0, half - 1), sampler.integer(half, len(written) - 1)
        written[first] = "(" + written[first]
        written[last] += ")"
    return f" {sign} ".join(written), terms + noisy


def sample_binomials(
    sampler: Sampler, variables: int, *, powers: float, like: float, coefficients: bool = False
) -> tuple[str, int]:
    """Return a random product of two sums, such as `(x + 2) * (x + 7)`, and its complexity.

    Args:
        sampler: source of all randomness.
        variables: number of terms with a variable, of four.
        powers: probability that variables have powers.
        like: probability that all variables are the same.
        coefficients: variables have coefficients.
    """
    one, two, three, four = _sample_factors(sampler, 4, variables, powers, like, coefficients)
    first, second = sampler.shuffle([one, three]), sampler.shuffle([two, four])
    return f"({' + '.join(first)}) * ({' + '.join(second)})", 8 if coefficients else 6


def sample_binomial_and_monomial(sampler: Sampler, variables: int) -> tuple[str, int]:
    """Sample a product of a sum and a term, `(x + 2) * x`; return the text and its complexity."""
    one, two, three = _sample_factors(sampler, 3, variables, 0.33, 1.0, False)
    return f"({' + '.join(sampler.shuffle([one, three]))}) * {two}", 3


def _sample_factors(
    sampler: Sampler, count: int, variables: int, powers: float, like: float, coefficients: bool
) -> list[str]:
    """Return `count` random terms for a product of sums: `variables` of them with a variable, the
    others numbers."""
    power = min(1.0, 2 * powers) if sampler.chance(powers) else 0.0
    if sampler.chance(like):
        terms = [sampler.letters(1)[0] + sampler.power(power)] * variables
    else:
        terms = [letter + sampler.power(power) for letter in sampler.letters(variables)]
    if coefficients:
        terms = [sampler.number() + term for term in terms]
    return terms + [sampler.number() for _ in range(count - variables)]


def sample_adjacent_pair(
    sampler: Sampler, terms: int, *, powers: bool = False, parentheses: bool = False
) -> str:
    """Return a random sum of `terms` terms, two of them adjacent like terms: `4y + 12j + (24x +
    12x) + 43n`."""
    pair, others, power = _sample_pair(sampler, terms - 2, powers)
    text = " + ".join(pair)
    return _surround(sampler, f"({text})" if parentheses else text, sampler.terms(others, power))


def sample_separated_pair(
    sampler: Sampler, terms: int, blockers: int, *, powers: bool = False, parentheses: float = 0.1
) -> str:
    """Return a random sum with two like terms, and unlike terms between and around them: `4y + 24x
    + 56l + 12x + 43n`.

    Args:
        sampler: source of all randomness.
        terms: number of all terms; at least the pair and the blockers.
        blockers: number of terms between the pair.
        powers: terms may have powers.
        parentheses: probability of parentheses around the pair and the blockers.
    """
    (one, two), others, power = _sample_pair(sampler, max(terms - 2, blockers), powers)
    text = " + ".join([one, *sampler.terms(others[:blockers], power), two])
    if sampler.chance(parentheses):
        text = f"({text})"
    return _surround(sampler, text, sampler.terms(others[blockers:], power))


def _sample_pair(sampler: Sampler, others: int, powers: bool) -> tuple[list[str], list[str], float]:
    """Return two random like terms, letters for `others` unlike terms, and the probability with
    which these get powers."""
    letter, *rest = sampler.letters(others + 1)
    chance = 0.8 if powers else 0.0
    like = letter + sampler.power(chance)
    return [sampler.coefficient() + like for _ in range(2)], rest, chance


def _surround(sampler: Sampler, text: str, others: list[str]) -> str:
    """Return a text with other terms around it, the larger part of them to its left."""
    left = len(others) - sampler.smaller_part(len(others))
    return " + ".join([*others[:left], text, *others[left:]])


def sample_blocked_pair(
    sampler: Sampler, blockers: int, *, powers: float, ends: bool = False
) -> tuple[str, int]:
    """Return a random sum with two like terms and `blockers` terms between them, such as `4x + y +
    2f + x`, and its complexity.

    Args:
        sampler: source of all randomness.
        blockers: number of terms between the pair.
        powers: probability of a power for the pair, and for the terms at the ends.
        ends: add an unlike term at each end: `7a + 4x + 2f + j + x + 3d`.
    """
    around = 3 if ends else 1
    letters = sampler.letters(blockers + around)
    kinds = [letter + sampler.power(powers) for letter in letters[:around]]
    like = kinds.pop(around // 2)
    terms = [*kinds[:1], like, *letters[around:], like, *kinds[1:]]
    return " + ".join(sampler.coefficient() + term for term in terms), blockers + around + 1


def sample_scattered_pair(sampler: Sampler, terms: int, *, exponents: float) -> str:
    """Return a random sum with two like terms anywhere among unlike ones: `2x + 8y^3 + 13z + 5x`.

    Args:
        sampler: source of all randomness.
        terms: number of terms.
        exponents: probability that a term has an exponent, of up to 12.
    """
    kinds: list[str] = []
    while len(kinds) < terms - 1:
        power = max(2, sampler.integer(1, _LARGEST_NUMBER))
        kind = sampler.letters(1)[0] + (f"^{power}" if sampler.chance(exponents) else "")
        if kind not in kinds:
            kinds.append(kind)
    return " + ".join(sampler.coefficient() + kind for kind in sampler.shuffle([kinds[0], *kinds]))
