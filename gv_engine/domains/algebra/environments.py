"""The eight environments: what is drawn, when it is won, and in how many moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gv_engine.domains.algebra import expression as marks
from gv_engine.domains.algebra.actions import RuleType
from gv_engine.domains.algebra.env import MathyEnv
from gv_engine.domains.algebra.library import BaseRule, util
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.library import rules as lib_rules
from gv_engine.domains.algebra.parsing import parse, to_library
from gv_engine.domains.algebra.problems import (
    Draw,
    around_blockers,
    binomial_and_monomial,
    binomials,
    haystack,
    like_terms,
    pair_apart,
    pair_in_place,
)
from gv_engine.domains.algebra.state import MathyEnvState, MathyObservation
from gv_engine.domains.algebra.types import (
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    TimeStep,
    termination,
)

EASY, NORMAL, HARD = MathyEnvDifficulty

Shapes = Mapping[str, Sequence[Any]]
"""What problems are like: an argument for each difficulty, or bounds of one that is drawn."""


class DrawnMathyEnv(MathyEnv):
    """An environment that draws its own problems; subclasses say what and how hard."""

    namespace = ""
    moves_per_term = 4
    takes_equations = False
    shapes: ClassVar[Shapes] = {}

    def get_env_namespace(self) -> str:
        """The environment's name with dots."""
        return self.namespace

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """The most moves that a problem's episode may have."""
        return problem.complexity * self.moves_per_term

    def problem_fn(self, params: MathyEnvProblemArgs) -> MathyEnvProblem:
        """Draw a problem."""
        difficulty = MathyEnvDifficulty(params.difficulty)
        text, complexity = self.draw(Draw(self.rng), difficulty)
        return MathyEnvProblem(text, complexity, self.get_env_namespace())

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """The text of a problem, and its complexity."""
        raise NotImplementedError

    def shape(self, draw: Draw, difficulty: MathyEnvDifficulty) -> dict[str, Any]:
        """The arguments of `shapes` for a difficulty, drawn in their order."""
        column = list(MathyEnvDifficulty).index(difficulty)
        return {name: draw.within(row[column]) for name, row in self.shapes.items()}

    def transition_fn(
        self,
        env_state: MathyEnvState,
        expression: lib.MathExpression,
        features: MathyObservation,
    ) -> TimeStep | None:
        """A win where the goal is reached."""
        if not self.is_reached(env_state, expression):
            return None
        return termination(features, self.get_win_signal(env_state))

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Whether a state, whose tree of mathy_core is given, is the goal."""
        raise NotImplementedError


class PolySimplify(DrawnMathyEnv):
    """Combine all like terms of a sum, and write each term in its preferred form."""

    namespace = "mathy.polynomials.simplify"
    shapes: ClassVar[Shapes] = {
        "terms": ((2, 5), (4, 7), (4, 9)),
        "scaling": ((0.35, 0.5), (0.5, 0.6), 0.5),
        "powers": (0.5, (0.35, 0.8), (0.15, 0.8)),
        "noise": (0.5, (0.5, 1.0), (0.5, 1.0)),
        "shuffle": (0.2, (0.35, 0.8), (0.35, 0.9)),
        "noise_terms": ((0, 1), (1, 2), (1, 3)),
    }

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Whether no two terms are like at a glance."""
        keys = [key for key in env_state.root.likes if key is not None]
        return len(set(keys)) == len(keys)

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Whether no terms are like, and all of them are in their preferred form."""
        return not util.has_like_terms(expression) and all(
            map(util.is_preferred_term_form, util.get_terms(expression))
        )

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Groups of like terms, with some that are like no other."""
        return like_terms(draw, **self.shape(draw, difficulty))


class ComplexSimplify(PolySimplify):
    """Simplify a product of several terms."""

    namespace = "mathy.monomials.complex_simplify"
    moves_per_term = 8
    shapes: ClassVar[Shapes] = {
        "terms": ((2, 3), (3, 5)),
        "sign": ("*", "*"),
        "optional_variables": (True, True),
        "scaling": ((0.5, 0.9), (0.5, 0.85)),
        "powers": ((0.2, 0.5), (0.4, 0.7)),
        "noise": ((0.2, 0.5), 0.8),
    }

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Groups of like terms in a product."""
        if difficulty is not HARD:
            return super().draw(draw, difficulty)
        return like_terms(
            draw,
            draw.integer(4, 7),
            sign="*",
            shuffle=draw.between(0.3, 0.8),
            powers=draw.between(0.4, 0.9),
            scaling=draw.between(0.2, 0.6),
        )


class PolySimplifyBlockers(PolySimplify):
    """Bring two like terms together past those that stand between, then combine them."""

    namespace = "mathy.polynomials.commute_then_simplify"

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Two like terms with others between them."""
        few, many = {EASY: ((1, 1), (1, 2)), NORMAL: ((2, 2), (2, 4)), HARD: ((2, 3), (3, 6))}[
            difficulty
        ]
        ends = draw.chance(0.5)
        blockers = draw.integer(*(few if ends else many))
        return around_blockers(draw, blockers, powers=0.1 if difficulty is EASY else 0.5, ends=ends)


class PolyCombineInPlace(PolySimplify):
    """Find the two like terms that stand side by side in a long sum, and combine them."""

    namespace = "mathy.polynomials.combine.in.place"

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Two: factor out, and add."""
        return 2

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """A pair of like terms among unlike ones."""
        terms, powers, parentheses = {
            EASY: ((6, 12), 0.2, 0.65),
            NORMAL: ((9, 16), 0.4, 0.15),
            HARD: ((16, 22), 0.6, 0.05),
        }[difficulty]
        text = pair_in_place(
            draw,
            draw.integer(*terms),
            powers=draw.chance(powers),
            parentheses=draw.chance(parentheses),
        )
        return text, 2


class BinomialDistribute(PolySimplify):
    """Multiply two sums out, and combine what is like."""

    namespace = "mathy.binomials.mulptiply"
    shapes: ClassVar[Shapes] = {
        "powers": ((0.1, 0.4), (0.2, 0.6), (0.4, 0.8)),
        "like": ((0.3, 0.7), (0.2, 0.5), (0.1, 0.3)),
        "variables": ((2, 3), 2, (2, 3)),
        "coefficients": (False, False, True),
    }

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """A product of sums, or of a sum and a term."""
        if difficulty is EASY and draw.chance(0.5):
            return binomial_and_monomial(draw, draw.integer(2, 3))
        return binomials(draw, **self.shape(draw, difficulty))


class PolyCommuteLikeTerms(PolySimplify):
    """Move terms until two like ones stand where a common factor can be taken out."""

    namespace = "mathy.polynomials.commute.like.terms"

    _factor_out = lib_rules.DistributiveFactorOutRule()

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Whether a common factor can be taken out somewhere."""
        return any(byte & marks.DF for byte in env_state.root.marked())

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Whether a common factor can be taken out somewhere."""
        return self._factor_out.find_node(expression) is not None

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """A pair of like terms with others between them and around them."""
        blockers, terms, powers = {
            EASY: ((1, 2), (4, 10), 0.2),
            NORMAL: ((2, 3), (8, 12), 0.4),
            HARD: ((5, 9), (6, 12), 0.6),
        }[difficulty]
        between = draw.integer(*blockers)
        text = pair_apart(draw, draw.integer(*terms), between, powers=draw.chance(powers))
        return text, between + 1


class PolyGroupLikeTerms(PolySimplify):
    """Move terms until all like ones stand side by side."""

    namespace = "mathy.polynomials.group_like_terms"

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Whether any two terms are like."""
        keys = [key for key in env_state.root.likes if key is not None]
        return len(set(keys)) < len(keys)

    def is_reached(self, env_state: MathyEnvState, expression: lib.MathExpression) -> bool:
        """Whether some terms are like, and all like ones stand side by side."""
        places = _like_places(expression)
        keys = [key for _, key in sorted(places)]
        known = [key for key in keys if key is not None]
        runs = sum(
            key is not None and key != before
            for before, key in zip([None, *keys], keys, strict=False)
        )
        return bool(runs == len(set(known)) < len(known))

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """A pair of like terms with one between them; how hard it is sets the moves."""
        blockers, terms = {
            EASY: ((1, 2), (5, 7)),
            NORMAL: ((2, 3), (5, 10)),
            HARD: ((3, 5), (11, 16)),
        }[difficulty]
        easy = difficulty is EASY
        text = pair_apart(
            draw,
            draw.integer(*terms),
            1,
            powers=not easy,
            parentheses=0.5 if easy else 0.1,
        )
        return text, draw.integer(*blockers) + 2


class PolyHaystackLikeTerms(PolySimplify):
    """Touch a term that has a like one somewhere else, with whatever rule."""

    namespace = "mathy.polynomials.haystack.like.terms"

    def __init__(self, *args: Any, preferred_term_commute: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, preferred_term_commute=preferred_term_commute, **kwargs)

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Two."""
        return problem.complexity

    def get_penalizing_actions(self, state: MathyEnvState) -> list[RuleType]:
        """All rules but the one that restates subtractions."""
        return [
            lib_rules.CommutativeSwapRule,
            lib_rules.AssociativeSwapRule,
            lib_rules.DistributiveFactorOutRule,
            lib_rules.DistributiveMultiplyRule,
            lib_rules.ConstantsSimplifyRule,
            lib_rules.VariableMultiplyRule,
        ]

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Whether there was a move."""
        return len(env_state.agent.history) > 1

    def transition_fn(
        self,
        env_state: MathyEnvState,
        expression: lib.MathExpression,
        features: MathyObservation,
    ) -> TimeStep | None:
        """A win when the move acted on such a term; a loss is the worse the further away it was."""
        before, now = env_state.agent.history[-2:]
        touched = now.action[1]
        places = _like_places(_tree(before.raw))
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

    def draw(self, draw: Draw, difficulty: MathyEnvDifficulty) -> tuple[str, int]:
        """Two like terms among unlike ones."""
        terms, exponents = {EASY: ((3, 8), 0.3), NORMAL: ((4, 7), 0.5), HARD: ((5, 12), 0.4)}[
            difficulty
        ]
        return haystack(draw, draw.integer(*terms), exponents=exponents), 2


def _tree(text: str) -> lib.MathExpression:
    return to_library(parse(text)).root


def _like_places(expression: lib.MathExpression) -> list[tuple[int, Any]]:
    """(index in order, key) of every term; like terms have the same key, others None."""
    BaseRule().find_nodes(expression)  # which numbers the nodes
    found = []
    for node in util.get_terms(expression):
        term = util.get_term_ex(node)
        assert node.r_index is not None
        found.append((node.r_index, None if term is None else (term.variable, term.exponent)))
    return found


ENVIRONMENTS: dict[str, type[DrawnMathyEnv]] = {
    each.__name__: each
    for each in (
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
"""The environments that come with the engine, by name."""
