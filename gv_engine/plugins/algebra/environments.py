"""The eight built-in environments: their problems, goals and numbers of moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from gv_engine.plugins.algebra import expression
from gv_engine.plugins.algebra.env import MathyEnv, RuleType
from gv_engine.plugins.algebra.library import BaseRule, util
from gv_engine.plugins.algebra.library import expressions as lib
from gv_engine.plugins.algebra.library import rules as lib_rules
from gv_engine.plugins.algebra.parser import parse
from gv_engine.plugins.algebra.rule_set import to_library
from gv_engine.plugins.algebra.state import (
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    MathyEnvState,
    MathyObservation,
    TimeStep,
    termination,
)

_LETTERS = "abcdfghjklmnopqrstuvwxyz"  # e and i are numbers to mathematicians
_LARGEST_NUMBER = 12
_LARGEST_POWER = 4
_HAS_NUMBER = 0.8

_T = TypeVar("_T")


class Chance(NamedTuple):
    """Argument of a sampling function that is True with this probability."""

    probability: float


class Sampler:
    """Sampler of letters, numbers and terms for problems.

    Args:
        rng: source of all randomness.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return bool(self.rng.random() < probability)

    def integer(self, least: int, most: int) -> int:
        """Sample an integer from `least` to `most`, both included."""
        return int(self.rng.integers(least, most + 1))

    def uniform(self, low: float, high: float) -> float:
        """Sample a float between two bounds."""
        return float(self.rng.uniform(low, high))

    def argument(self, value: Any) -> Any:
        """Sample a value for an argument of a problem function. A `Chance` gives a random bool, a
        pair of bounds a random number between them, and any other value is returned unchanged."""
        if isinstance(value, Chance):
            return self.chance(value.probability)
        if not isinstance(value, tuple):
            return value
        return self.integer(*value) if isinstance(value[0], int) else self.uniform(*value)

    def letters(self, count: int, exclude: str = "") -> list[str]:
        """Sample `count` different letters that are not in `exclude`."""
        free = [letter for letter in _LETTERS if letter not in exclude]
        return [free[index] for index in self.rng.permutation(len(free))[:count]]

    def shuffle(self, items: Sequence[_T]) -> list[_T]:
        """Return the items in random order."""
        return [items[index] for index in self.rng.permutation(len(items))]

    def number(self) -> str:
        """Sample a number from 1 to 12, as text."""
        return str(self.integer(1, _LARGEST_NUMBER))

    def coefficient(self) -> str:
        """Sample a coefficient as text: a number with probability 0.8, else an empty string."""
        return self.number() if self.chance(_HAS_NUMBER) else ""

    def power(self, probability: float = 1.0, exclude: str = "") -> str:
        """Return a random exponent "^2", "^3" or "^4" (but not `exclude`) with this probability,
        else ""."""
        if not self.chance(probability):
            return ""
        powers = [f"^{k}" for k in range(2, _LARGEST_POWER + 1) if f"^{k}" != exclude]
        return powers[self.integer(0, len(powers) - 1)]

    def smaller_part(self, whole: int) -> int:
        """Split a number into two random parts and return the smaller one."""
        part = self.integer(0, whole)
        return min(part, whole - part)

    def terms(self, letters: Sequence[str], power: float) -> list[str]:
        """Sample a term for each letter; `power` is the probability that a term has an exponent."""
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
    """Sample a sum or product with groups of like terms and some unlike terms, such as `4x + 3y +
    (2x + 7y^2) + 5x`. Return its text and its complexity, from which the number of allowed moves
    follows.

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
    num_groups = 1 if terms == 2 else max(2, int(terms * scaling))
    has_noise = sampler.chance(noise)
    letters = sampler.letters(num_groups)
    # two groups, or a group and an unlike term, have one letter with different exponents
    shares_letter = sampler.chance(0.5)
    unlike_terms = []
    if shares_letter and num_groups > 1 and not has_noise:
        groups = [letters[0], letters[0] + sampler.power()]
        groups += [letter + sampler.power(powers) for letter in letters[2:]]
    else:
        groups = [letter + sampler.power(powers) for letter in letters]
        if shares_letter:
            power = groups[0].removeprefix(letters[0])
            unlike_terms = [letters[0] + sampler.power(exclude=power)]
    variables = [groups[index % num_groups] for index in range(terms)] + unlike_terms
    if has_noise:
        num_unlike = min(5, max(1, terms // 3)) if noise_terms is None else noise_terms
        free_letters = sampler.letters(num_unlike, exclude="".join(letters))
        unlike = [letter + sampler.power(powers) for letter in free_letters]
        num_before = sampler.smaller_part(num_unlike)
        variables = unlike[:num_before] + variables + unlike[num_before:]
    if sampler.chance(shuffle):
        variables = sampler.shuffle(variables)
    texts = []
    for index, variable in enumerate(variables):
        is_number = optional_variables and index > 0 and sampler.chance(0.2)
        texts.append(sampler.number() if is_number else sampler.coefficient() + variable)
    if sampler.chance(0.66):
        half = len(texts) // 2
        first, last = sampler.integer(0, half - 1), sampler.integer(half, len(texts) - 1)
        texts[first] = "(" + texts[first]
        texts[last] += ")"
    return f" {sign} ".join(texts), terms + has_noise


def sample_binomials(
    sampler: Sampler, variables: int, *, powers: float, like: float, coefficients: bool = False
) -> tuple[str, int]:
    """Return a random product of two sums, such as `(x + 2) * (x + 7)`, and its complexity.

    Args:
        sampler: source of all randomness.
        variables: number of terms, out of four, that have a variable; the others are numbers.
        powers: probability that variables have powers.
        like: probability that all variables are the same.
        coefficients: True if variables have coefficients.
    """
    one, two, three, four = _sample_factors(sampler, 4, variables, powers, like, coefficients)
    first, second = sampler.shuffle([one, three]), sampler.shuffle([two, four])
    return f"({' + '.join(first)}) * ({' + '.join(second)})", 8 if coefficients else 6


def sample_binomial_and_monomial(sampler: Sampler, variables: int) -> tuple[str, int]:
    """Sample a product of a sum and a term, such as `(x + 2) * x`; return the text and its
    complexity."""
    one, two, three = _sample_factors(sampler, 3, variables, 0.33, 1.0, False)
    return f"({' + '.join(sampler.shuffle([one, three]))}) * {two}", 3


def _sample_factors(
    sampler: Sampler, count: int, variables: int, powers: float, like: float, coefficients: bool
) -> list[str]:
    """Sample `count` terms for a product of sums, `variables` of them with a variable and the
    others plain numbers. `powers` is the probability of an exponent, `like` that of one common
    variable."""
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
    """Return a random sum of `terms` terms in which two adjacent terms are like terms: `4y + 12j +
    (24x + 12x) + 43n`."""
    pair, others, power = _sample_pair(sampler, terms - 2, powers)
    text = " + ".join(pair)
    return _surround(sampler, f"({text})" if parentheses else text, sampler.terms(others, power))


def sample_separated_pair(
    sampler: Sampler, terms: int, blockers: int, *, powers: bool = False, parentheses: float = 0.1
) -> str:
    """Sample a sum with two like terms that are separated by `blockers` unlike terms, with further
    unlike terms around them: `4y + 24x + 56l + 12x + 43n`.

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
    """Sample two like terms as texts. Return them with `others` further letters for unlike terms,
    and the probability that an unlike term has an exponent."""
    letter, *rest = sampler.letters(others + 1)
    chance = 0.8 if powers else 0.0
    like = letter + sampler.power(chance)
    return [sampler.coefficient() + like for _ in range(2)], rest, chance


def _surround(sampler: Sampler, text: str, others: list[str]) -> str:
    left = len(others) - sampler.smaller_part(len(others))
    return " + ".join([*others[:left], text, *others[left:]])


def sample_blocked_pair(
    sampler: Sampler, blockers: int, *, powers: float, ends: bool = False
) -> tuple[str, int]:
    """Sample a sum with two like terms that are separated by `blockers` unlike terms, such as `4x +
    y + 2f + x`. If `ends`, unlike terms surround them too. Return the text and its complexity.

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
    """Sample a sum of `terms` terms, two of which are like terms, in random order: `2x + 8y^3 + 13z
    + 5x`.

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


EASY, NORMAL, HARD = MathyEnvDifficulty

ArgumentRanges = Mapping[str, Sequence[Any]]
"""Arguments of a sampling function, in the order of their samples: for each difficulty a value,
bounds to sample it from, or a `Chance`."""


class SampledMathyEnv(MathyEnv):
    """Base of environments that sample their own problems."""

    namespace = ""
    moves_per_term = 4
    takes_equations = False
    argument_ranges: ClassVar[ArgumentRanges] = {}

    def get_env_namespace(self) -> str:
        """Return the unique dotted name of the environment, `namespace`."""
        return self.namespace

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Return the number of moves allowed in an episode with this problem."""
        return problem.complexity * self.moves_per_term

    def problem_fn(self, params: MathyEnvProblemArgs) -> MathyEnvProblem:
        """Sample a problem of the difficulty in `params`, with the text from `sample_text`."""
        difficulty = MathyEnvDifficulty(params.difficulty)
        text, complexity = self.sample_text(Sampler(self.rng), difficulty)
        return MathyEnvProblem(text, complexity, self.get_env_namespace())

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a problem; return its text and its complexity."""
        raise NotImplementedError

    def sample_arguments(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> dict[str, Any]:
        """Return the arguments of a sampling function for a difficulty, each a value in
        `argument_ranges` or sampled between its bounds."""
        column = list(MathyEnvDifficulty).index(difficulty)
        return {name: sampler.argument(row[column]) for name, row in self.argument_ranges.items()}

    def transition_fn(
        self, env_state: MathyEnvState, expression: lib.MathExpression, features: MathyObservation
    ) -> TimeStep | None:
        """Return the timestep of a win if the goal is reached, else None."""
        if not self.is_reached(env_state, expression):
            return None
        return termination(features, self.get_win_signal(env_state))

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Return True if `env_state` reaches the goal; `expression` is its tree in mathy_core's
        nodes. Subclasses override this method."""
        raise NotImplementedError


class PolySimplify(SampledMathyEnv):
    """Combine all like terms of a sum, and write each term in its preferred form."""

    namespace = "mathy.polynomials.simplify"
    argument_ranges: ClassVar[ArgumentRanges] = {
        "terms": ((2, 5), (4, 7), (4, 9)),
        "scaling": ((0.35, 0.5), (0.5, 0.6), 0.5),
        "powers": (0.5, (0.35, 0.8), (0.15, 0.8)),
        "noise": (0.5, (0.5, 1.0), (0.5, 1.0)),
        "shuffle": (0.2, (0.35, 0.8), (0.35, 0.9)),
        "noise_terms": ((0, 1), (1, 2), (1, 3)),
    }

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Return False if `is_reached` must be False because two operands of sums are like terms; a
        faster test than `is_reached`."""
        keys = [*filter(None, env_state.root.term_keys)]
        return len(set(keys)) == len(keys)

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Return True if the expression has no like terms left and every term has its preferred
        form, such as 4x."""
        return not util.has_like_terms(expression) and all(
            map(util.is_preferred_term_form, util.get_terms(expression))
        )

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample groups of like terms with some unlike terms; return the text and its
        complexity."""
        return sample_like_terms(sampler, **self.sample_arguments(sampler, difficulty))


class ComplexSimplify(PolySimplify):
    """Simplify a product of several terms."""

    namespace = "mathy.monomials.complex_simplify"
    moves_per_term = 8
    argument_ranges: ClassVar[ArgumentRanges] = {
        "terms": ((2, 3), (3, 5)),
        "sign": ("*", "*"),
        "optional_variables": (True, True),
        "scaling": ((0.5, 0.9), (0.5, 0.85)),
        "powers": ((0.2, 0.5), (0.4, 0.7)),
        "noise": ((0.2, 0.5), 0.8),
    }

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a product with groups of like terms. Return its text and its complexity, from
        which the number of allowed moves follows."""
        if difficulty is not HARD:
            return super().sample_text(sampler, difficulty)
        return sample_like_terms(
            sampler,
            sampler.integer(4, 7),
            sign="*",
            shuffle=sampler.uniform(0.3, 0.8),
            powers=sampler.uniform(0.4, 0.9),
            scaling=sampler.uniform(0.2, 0.6),
        )


class PolySimplifyBlockers(PolySimplify):
    """Move two like terms past the terms between them, then combine them."""

    namespace = "mathy.polynomials.commute_then_simplify"

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two like terms separated by unlike ones. Return its text and its
        complexity, from which the number of allowed moves follows."""
        few, many = {EASY: ((1, 1), (1, 2)), NORMAL: ((2, 2), (2, 4)), HARD: ((2, 3), (3, 6))}[
            difficulty
        ]
        ends = sampler.chance(0.5)
        blockers = sampler.integer(*(few if ends else many))
        return sample_blocked_pair(
            sampler, blockers, powers=0.1 if difficulty is EASY else 0.5, ends=ends
        )


class PolyCombineInPlace(PolySimplify):
    """Find the two adjacent like terms in a long sum, and combine them."""

    namespace = "mathy.polynomials.combine.in.place"
    argument_ranges: ClassVar[ArgumentRanges] = {
        "terms": ((6, 12), (9, 16), (16, 22)),
        "powers": (Chance(0.2), Chance(0.4), Chance(0.6)),
        "parentheses": (Chance(0.65), Chance(0.15), Chance(0.05)),
    }

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Return 2: one move to factor out, and one to add."""
        return 2

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two adjacent like terms among unlike ones; return its text and
        complexity."""
        return sample_adjacent_pair(sampler, **self.sample_arguments(sampler, difficulty)), 2


class BinomialDistribute(PolySimplify):
    """Multiply two sums out, and combine the like terms."""

    namespace = "mathy.binomials.mulptiply"
    argument_ranges: ClassVar[ArgumentRanges] = {
        "powers": ((0.1, 0.4), (0.2, 0.6), (0.4, 0.8)),
        "like": ((0.3, 0.7), (0.2, 0.5), (0.1, 0.3)),
        "variables": ((2, 3), 2, (2, 3)),
        "coefficients": (False, False, True),
    }

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a product of two sums, or of a sum and a term; return its text and complexity."""
        if difficulty is EASY and sampler.chance(0.5):
            return sample_binomial_and_monomial(sampler, sampler.integer(2, 3))
        return sample_binomials(sampler, **self.sample_arguments(sampler, difficulty))


class PolyCommuteLikeTerms(PolySimplify):
    """Move terms until a common factor of two like terms can be taken out."""

    namespace = "mathy.polynomials.commute.like.terms"
    argument_ranges: ClassVar[ArgumentRanges] = {
        "blockers": ((1, 2), (2, 3), (5, 9)),
        "terms": ((4, 10), (8, 12), (6, 12)),
        "powers": (Chance(0.2), Chance(0.4), Chance(0.6)),
    }

    _factor_out = lib_rules.DistributiveFactorOutRule()

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Return True if a common factor can be taken out."""
        return any(byte & expression.DF for byte in env_state.root.rule_bytes())

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Return True if a common factor can be taken out."""
        return self._factor_out.find_node(expression) is not None

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two like terms, and unlike terms between and around them; return its
        text and complexity."""
        arguments = self.sample_arguments(sampler, difficulty)
        return sample_separated_pair(sampler, **arguments), arguments["blockers"] + 1


class PolyGroupLikeTerms(PolySimplify):
    """Move terms until all like terms are adjacent."""

    namespace = "mathy.polynomials.group_like_terms"

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Return True if at least two terms are like terms; otherwise the goal cannot be
        reached."""
        keys = [key for key in env_state.root.term_keys if key is not None]
        return len(set(keys)) < len(keys)

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Return True if there are like terms, and all terms of each group of like terms are
        adjacent."""
        keys = [key for _, key in sorted(_term_keys(expression))]
        runs = [key for key, _ in groupby(keys) if key is not None]
        return len(set(runs)) == len(runs) < len(keys) - keys.count(None)

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two like terms separated by one other term. Return its text and its
        complexity, from which the number of allowed moves follows."""
        blockers, terms = {
            EASY: ((1, 2), (5, 7)),
            NORMAL: ((2, 3), (5, 10)),
            HARD: ((3, 5), (11, 16)),
        }[difficulty]
        easy = difficulty is EASY
        text = sample_separated_pair(
            sampler, sampler.integer(*terms), 1, powers=not easy, parentheses=0.5 if easy else 0.1
        )
        return text, sampler.integer(*blockers) + 2


class PolyHaystackLikeTerms(PolySimplify):
    """Apply any rule to a term that has a like term elsewhere."""

    namespace = "mathy.polynomials.haystack.like.terms"
    argument_ranges: ClassVar[ArgumentRanges] = {
        "terms": ((3, 8), (4, 7), (5, 12)),
        "exponents": (0.3, 0.5, 0.4),
    }

    def __init__(self, *args: Any, preferred_term_commute: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, preferred_term_commute=preferred_term_commute, **kwargs)

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Return the complexity, which is 2."""
        return problem.complexity

    def get_penalizing_actions(self, state: MathyEnvState) -> list[RuleType]:
        """Return the rule classes whose moves are penalised: all core rules except
        RestateSubtractionRule."""
        return [
            lib_rules.CommutativeSwapRule,
            lib_rules.AssociativeSwapRule,
            lib_rules.DistributiveFactorOutRule,
            lib_rules.DistributiveMultiplyRule,
            lib_rules.ConstantsSimplifyRule,
            lib_rules.VariableMultiplyRule,
        ]

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Return True if there was a move."""
        return len(env_state.agent.history) > 1

    def transition_fn(
        self, env_state: MathyEnvState, expression: lib.MathExpression, features: MathyObservation
    ) -> TimeStep | None:
        """Return a win if the move acted on a term that has a like term. Return a loss if no moves
        are left, larger the farther the move was from such a term. Else return None."""
        before, after = env_state.agent.history[-2:]
        _, node = after.action
        terms = _term_keys(to_library(parse(before.raw)).root)
        keys = [key for _, key in terms]
        like_terms = [index for index, key in terms if key is not None and keys.count(key) > 1]
        if node in like_terms:
            return termination(features, self.get_win_signal(env_state))
        if env_state.agent.moves_remaining > 0:
            return None
        distance = 1.0  # of the nearest like term, as a fraction of the expression
        if like_terms:
            last_index = max(index for index, _ in terms)
            distance = min(abs(node - index) for index in like_terms) / last_index
        return termination(features, self.rewards.lose - distance)

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two like terms among unlike ones; return its text and complexity."""
        return sample_scattered_pair(sampler, **self.sample_arguments(sampler, difficulty)), 2


def _term_keys(expression: lib.MathExpression) -> list[tuple[int, Any]]:
    """Return (node index, key) of every term. Like terms such as 2x and 5x have equal keys. The key
    is None if mathy_core cannot read the term."""
    BaseRule().find_nodes(expression)  # numbers the nodes
    keys: list[tuple[int, Any]] = []
    for node in util.get_terms(expression):
        term = util.get_term_ex(node)
        assert node.r_index is not None
        keys.append((node.r_index, None if term is None else (term.variable, term.exponent)))
    return keys


ENVIRONMENTS: dict[str, type[SampledMathyEnv]] = {
    cls.__name__: cls
    for cls in (
        PolySimplify,
        ComplexSimplify,
        PolySimplifyBlockers,
        PolyCombineInPlace,
        BinomialDistribute,
        PolyCommuteLikeTerms,
        PolyGroupLikeTerms,
        PolyHaystackLikeTerms,
    )
}
"""Built-in environments by name."""
