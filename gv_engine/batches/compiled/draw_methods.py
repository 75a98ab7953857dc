"""What rules draw, as methods of the random numbers of a compiled row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError

from gv_engine.batches.compiled import rng_kernels
from gv_engine.batches.compiled.intrinsics import (
    multiply_high,
)
from gv_engine.batches.compiled.parts import PARTS
from gv_engine.batches.compiled.records import (
    GeneratorRecord,
)
from gv_engine.batches.compiled.teaching import (
    is_none,
    method,
    overload,
)


@overload(rng_kernels.high_product, jit_options=PARTS)  # type: ignore[untyped-decorator]  # numba has no types
def _high_product(a: Any, b: Any) -> Any:
    return lambda a, b: multiply_high(a, b)


@method("integers", GeneratorRecord)
def _integers(r: Any, low: Any, high: Any = None) -> Any:
    if is_none(high):
        return lambda r, low, high=None: rng_kernels.integers(r, 0, low)
    return lambda r, low, high=None: rng_kernels.integers(r, low, high)


@method("random", GeneratorRecord)
def _random(r: Any, size: Any = None) -> Any:
    if is_none(size):
        return lambda r, size=None: rng_kernels.random(r)

    def fill(r: Any, size: Any = None) -> Any:
        values = np.empty(size, np.float64)
        flat = values.reshape(-1)
        for i in range(flat.size):
            flat[i] = rng_kernels.random(r)
        return values

    return fill


@method("shuffle", GeneratorRecord)
def _shuffle(r: Any, x: Any) -> Any:
    return lambda r, x: rng_kernels.shuffle(r, x)


@method("choice", GeneratorRecord)
def _choice(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
    if not isinstance(a, types.Integer):
        raise TypingError("compiled rules draw w.rng.choice(n) for a number n; index with it")
    if is_none(size):
        return lambda r, a, size=None, replace=True: rng_kernels.choice(r, a)

    def several(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
        if not replace:
            return rng_kernels.pick(r, a, size)
        drawn = np.empty(size, np.int64)
        for i in range(size):
            drawn[i] = rng_kernels.choice(r, a)
        return drawn

    return several
