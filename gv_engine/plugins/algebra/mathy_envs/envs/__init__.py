"""The eight environments of mathy_envs: see `gv_engine.mathy` for their problems and goals."""

import sys

from gv_engine.plugins.algebra import environments as own
from gv_engine.plugins.algebra.mathy_envs.env import MathyEnv

__all__ = [
    "MATHY_BUILTIN_ENVS",
    "BinomialDistribute",
    "ComplexSimplify",
    "PolyCombineInPlace",
    "PolyCommuteLikeTerms",
    "PolyGroupLikeTerms",
    "PolyHaystackLikeTerms",
    "PolySimplify",
    "PolySimplifyBlockers",
]


class BinomialDistribute(MathyEnv, own.BinomialDistribute):
    """Distribute multiplied sums."""


class ComplexSimplify(MathyEnv, own.ComplexSimplify):
    """Simplify a product of terms."""


class PolySimplifyBlockers(MathyEnv, own.PolySimplifyBlockers):
    """Simplify a sum in which other terms stand between like terms."""


class PolyCombineInPlace(MathyEnv, own.PolyCombineInPlace):
    """Combine two like terms in a long sum."""


class PolyCommuteLikeTerms(MathyEnv, own.PolyCommuteLikeTerms):
    """Move like terms next to each other."""


class PolyGroupLikeTerms(MathyEnv, own.PolyGroupLikeTerms):
    """Group all like terms."""


class PolyHaystackLikeTerms(MathyEnv, own.PolyHaystackLikeTerms):
    """Act on a term that has a like term."""


class PolySimplify(MathyEnv, own.PolySimplify):
    """Simplify a sum."""


MATHY_BUILTIN_ENVS = [
    BinomialDistribute,
    ComplexSimplify,
    PolySimplifyBlockers,
    PolyCombineInPlace,
    PolyCommuteLikeTerms,
    PolyGroupLikeTerms,
    PolyHaystackLikeTerms,
    PolySimplify,
]

_FILES = (
    *("binomial_distribute", "complex_simplify", "poly_simplify_blockers"),
    *("poly_combine_in_place", "poly_commute_like_terms", "poly_grouping"),
    *("poly_haystack_like_terms", "poly_simplify"),
)
"""Modules of mathy_envs, one for each environment; here they are names of this one."""

for _file in _FILES:
    sys.modules[f"{__name__}.{_file}"] = globals()[_file] = sys.modules[__name__]
