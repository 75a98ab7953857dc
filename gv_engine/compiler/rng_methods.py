"""Methods of `w.rng` in compiled code, registered for Numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError

from gv_engine.compiler.intrinsics import multiply_high
from gv_engine.compiler.method_registry import is_omitted, overload, register_method
from gv_engine.compiler.numba_pipeline import PART_OPTIONS
from gv_engine.compiler.records import GeneratorRecord
from gv_engine.compiler.rng import (
    choice,
    high_product,
    integers,
    random,
    sample_without_replacement,
    shuffle,
)


@overload(high_product, jit_options=PART_OPTIONS)  # type: ignore[untyped-decorator]  # numba has no types
def _build_high_product(a: Any, b: Any) -> Any:
    """Return the function to compile for `high_product(a, b)` as one 128-bit multiplication."""
    return lambda a, b: multiply_high(a, b)


@register_method("integers", GeneratorRecord)
def _build_integers(r: Any, low: Any, high: Any = None) -> Any:
    """Return the function to compile for `w.rng.integers(low, high=None)`."""
    if is_omitted(high):
        return lambda r, low, high=None: integers(r, 0, low)
    return lambda r, low, high=None: integers(r, low, high)


@register_method("random", GeneratorRecord)
def _build_random(r: Any, size: Any = None) -> Any:
    """Return the function to compile for `w.rng.random(size=None)`."""
    if is_omitted(size):
        return lambda r, size=None: random(r)

    def fill(r: Any, size: Any = None) -> Any:
        """Return an array of samples of shape `size`."""
        values = np.empty(size, np.float64)
        flat = values.reshape(-1)
        for i in range(flat.size):
            flat[i] = random(r)
        return values

    return fill


@register_method("shuffle", GeneratorRecord)
def _build_shuffle(r: Any, x: Any) -> Any:
    """Return the function to compile for `w.rng.shuffle(x)`."""
    return lambda r, x: shuffle(r, x)


@register_method("choice", GeneratorRecord)
def _build_choice(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
    """Return the function to compile for `w.rng.choice(a, size=None, replace=True)` for an integer
    `a`."""
    if not isinstance(a, types.Integer):
        raise TypingError(
            "compiled rules call w.rng.choice(n) with an integer n; use the result as an index"
        )
    if is_omitted(size):
        return lambda r, a, size=None, replace=True: choice(r, a)

    def several(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
        """Return (size,) int64 samples."""
        if not replace:
            return sample_without_replacement(r, a, size)
        drawn = np.empty(size, np.int64)
        for i in range(size):
            drawn[i] = choice(r, a)
        return drawn

    return several
