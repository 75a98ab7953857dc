"""The eight built-in environments: their problems, goals and numbers of moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

from gv_engine.domains.algebra import expression, problems
from gv_engine.domains.algebra.env import MathyEnv, RuleType
from gv_engine.domains.algebra.library import BaseRule, util
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.library import rules as lib_rules
from gv_engine.domains.algebra.parsing import parse, to_library
from gv_engine.domains.algebra.problems import Sampler
from gv_engine.domains.algebra.state import MathyEnvState, MathyObservation
from gv_engine.domains.algebra.types import (
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    TimeStep,
    termination,
)

EASY, NORMAL, HARD = MathyEnvDifficulty

ArgumentRanges = Mapping[str, Sequence[Any]]
"""Arguments of a sampling function: for each difficulty a value, or bounds to sample it from."""


class SampledMathyEnv(MathyEnv):
    """Base of environments that sample their own problems."""

    namespace = ""
    moves_per_term = 4
    takes_equations = False
    argument_ranges: ClassVar[ArgumentRanges] = {}

    def get_env_namespace(self) -> str:
        """Return the name of the environment, with dots."""
        return self.namespace

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Return the number of moves allowed in an episode with this problem."""
        return problem.complexity * self.moves_per_term

    def problem_fn(self, params: MathyEnvProblemArgs) -> MathyEnvProblem:
        """Sample a problem of the difficulty in `params`."""
        difficulty = MathyEnvDifficulty(params.difficulty)
        text, complexity = self.sample_text(Sampler(self.rng), difficulty)
        return MathyEnvProblem(text, complexity, self.get_env_namespace())

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a problem; return its text and its complexity."""
        raise NotImplementedError

    def sample_arguments(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> dict[str, Any]:
        """Return the arguments of `argument_ranges` for a difficulty, sampled in their order."""
        column = list(MathyEnvDifficulty).index(difficulty)
        return {name: sampler.within(row[column]) for name, row in self.argument_ranges.items()}

    def transition_fn(
        self, env_state: MathyEnvState, expression: lib.MathExpression, features: MathyObservation
    ) -> TimeStep | None:
        """Return the timestep of a win if the goal is reached, else None."""
        if not self.is_reached(env_state, expression):
            return None
        return termination(features, self.get_win_signal(env_state))

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Return True if a state, given with its mathy_core tree, is the goal."""
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
        """Return False if `is_reached` must be False, because two operands of sums are like terms.
        This test is faster."""
        keys = [key for key in env_state.root.term_keys if key is not None]
        return len(set(keys)) == len(keys)

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Return True if the expression has no like terms and every term has its preferred form."""
        return not util.has_like_terms(expression) and all(
            map(util.is_preferred_term_form, util.get_terms(expression))
        )

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample groups of like terms with some unlike terms; return the text and its
        complexity."""
        return problems.sample_like_terms(sampler, **self.sample_arguments(sampler, difficulty))


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
        """Sample a product with groups of like terms; return its text and complexity."""
        if difficulty is not HARD:
            return super().sample_text(sampler, difficulty)
        return problems.sample_like_terms(
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
        """Sample a sum with two like terms and unlike terms between them; return its text and
        complexity."""
        few, many = {EASY: ((1, 1), (1, 2)), NORMAL: ((2, 2), (2, 4)), HARD: ((2, 3), (3, 6))}[
            difficulty
        ]
        ends = sampler.chance(0.5)
        blockers = sampler.integer(*(few if ends else many))
        return problems.sample_blocked_pair(
            sampler, blockers, powers=0.1 if difficulty is EASY else 0.5, ends=ends
        )


class PolyCombineInPlace(PolySimplify):
    """Find the two adjacent like terms in a long sum, and combine them."""

    namespace = "mathy.polynomials.combine.in.place"

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Return 2: factor out, and add."""
        return 2

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two adjacent like terms among unlike ones; return its text and
        complexity."""
        terms, powers, parentheses = {
            EASY: ((6, 12), 0.2, 0.65),
            NORMAL: ((9, 16), 0.4, 0.15),
            HARD: ((16, 22), 0.6, 0.05),
        }[difficulty]
        text = problems.sample_adjacent_pair(
            sampler,
            sampler.integer(*terms),
            powers=sampler.chance(powers),
            parentheses=sampler.chance(parentheses),
        )
        return text, 2


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
            return problems.sample_binomial_and_monomial(sampler, sampler.integer(2, 3))
        return problems.sample_binomials(sampler, **self.sample_arguments(sampler, difficulty))


class PolyCommuteLikeTerms(PolySimplify):
    """Move terms until a common factor of two like terms can be taken out."""

    namespace = "mathy.polynomials.commute.like.terms"

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
        blockers, terms, powers = {
            EASY: ((1, 2), (4, 10), 0.2),
            NORMAL: ((2, 3), (8, 12), 0.4),
            HARD: ((5, 9), (6, 12), 0.6),
        }[difficulty]
        between = sampler.integer(*blockers)
        text = problems.sample_separated_pair(
            sampler, sampler.integer(*terms), between, powers=sampler.chance(powers)
        )
        return text, between + 1


class PolyGroupLikeTerms(PolySimplify):
    """Move terms until all like terms are adjacent."""

    namespace = "mathy.polynomials.group_like_terms"

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Return True if any two terms are like terms."""
        keys = [key for key in env_state.root.term_keys if key is not None]
        return len(set(keys)) < len(keys)

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Return True if there are like terms, and each group of like terms stands together."""
        keys = [key for _, key in sorted(_term_keys(expression))]
        runs = [key for key, _ in groupby(keys) if key is not None]
        return len(set(runs)) == len(runs) < len(keys) - keys.count(None)

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two like terms and one term between them; return its text and a
        complexity that depends on the difficulty."""
        blockers, terms = {
            EASY: ((1, 2), (5, 7)),
            NORMAL: ((2, 3), (5, 10)),
            HARD: ((3, 5), (11, 16)),
        }[difficulty]
        easy = difficulty is EASY
        text = problems.sample_separated_pair(
            sampler, sampler.integer(*terms), 1, powers=not easy, parentheses=0.5 if easy else 0.1
        )
        return text, sampler.integer(*blockers) + 2


class PolyHaystackLikeTerms(PolySimplify):
    """Apply any rule to a term that has a like term elsewhere."""

    namespace = "mathy.polynomials.haystack.like.terms"

    def __init__(self, *args: Any, preferred_term_commute: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, preferred_term_commute=preferred_term_commute, **kwargs)

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Return the complexity, which is 2."""
        return problem.complexity

    def get_penalizing_actions(self, state: MathyEnvState) -> list[RuleType]:
        """Return the classes of rules whose moves are penalised: all but the rule that restates
        subtractions."""
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
        """Return a win if the move acted on a term that has a like term. If no moves are left,
        return a loss, larger the farther away such a term is."""
        before, after = env_state.agent.history[-2:]
        touched = after.action[1]
        places = _term_keys(to_library(parse(before.raw)).root)
        keys = [key for _, key in places]
        like = [place for place, key in places if key is not None and keys.count(key) > 1]
        if touched in like:
            return termination(features, self.get_win_signal(env_state))
        if env_state.agent.moves_remaining > 0:
            return None
        away = 1.0
        if like:
            away = min(abs(touched - place) for place in like) / max(place for place, _ in places)
        return termination(features, self.rewards.lose - away)

    def sample_text(self, sampler: Sampler, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Sample a sum with two like terms among unlike ones; return its text and complexity."""
        terms, exponents = {EASY: ((3, 8), 0.3), NORMAL: ((4, 7), 0.5), HARD: ((5, 12), 0.4)}[
            difficulty
        ]
        return problems.sample_scattered_pair(
            sampler, sampler.integer(*terms), exponents=exponents
        ), 2


def _term_keys(expression: lib.MathExpression) -> list[tuple[int, Any]]:
    """Return (node index, key) of every term of an expression. Like terms have equal keys; a term
    that can have no like term has None."""
    BaseRule().find_nodes(expression)  # numbers the nodes
    places = []
    for node in util.get_terms(expression):
        term = util.get_term_ex(node)
        assert node.r_index is not None
        places.append((node.r_index, None if term is None else (term.variable, term.exponent)))
    return places


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
