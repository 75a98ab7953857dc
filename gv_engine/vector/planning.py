"""State expansion and state hashing for planners, on rows of worlds that nobody plays."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.program_cache import uses_name
from gv_engine.rules.errors import RuleError
from gv_engine.rules.system import SUCCESS, TERMINATING, TRANSITION
from gv_engine.rules.turns import ROTATING
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import Backend, view_as_words
from gv_engine.world.autoreset import DISABLED, KEEP

_CACHE_BYTES = 1 << 21
"""Bytes of rows that stay in the processor's cache while states are expanded."""

_HISTORY = {
    *("reward", "total", "steps", "error", "action"),
    *("done", "terminated", "truncated", "success", "ended_by"),
}
"""Fields of a row that only tell the past. With several agents, `done` and `terminated` also affect
the future."""


class Expansion(NamedTuple):
    """Results of a actions in each of n states.

    Attributes:
        rows: (n, a) records, the next states.
        rewards: (n, a) float64 rewards.
        terminated: (n, a) bool, True if the episode ends.
        masks: (n, a, actions) int8, action masks of the next states.

    With A agents, the last three have an axis of agents behind (n, a).
    """

    rows: NDArray[Any]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    masks: NDArray[np.int8]


def get_expansion_size(scenario: Scenario) -> int:
    """Return the best number of worlds for expanding states of a scenario."""
    return min(1024, max(64, _CACHE_BYTES // scenario.layout.dtype.itemsize))


def expand_states(backend: Backend, rows: NDArray[Any], actions: NDArray[np.int64]) -> Expansion:
    """Apply each of the actions to each of the states in `rows` (records of worlds), and return all
    results.

    Args:
        backend: worlds that may be overwritten.
        rows: (n,) states.
        actions: (a,) indices into the scenario's action space; with A agents (a, A).

    Raises:
        RuleError: a rule is undefined in some states; `worlds` are indices into the n * a pairs.
    """
    agents = backend.scenario.layout.agents
    shape, out = (len(rows), len(actions)), backend.outputs
    seats = (agents,) if agents > 1 else ()
    expansion = Expansion(
        np.empty(shape, rows.dtype),
        np.empty((*shape, *seats)),
        np.empty((*shape, *seats), np.bool_),
        np.empty((*shape, *seats, out.mask.shape[1]), np.int8),
    )
    next_words, joint_actions = view_as_words(expansion.rows), actions.reshape(-1, agents)
    flat = [array.reshape(-1, *array.shape[2:]) for array in expansion[1:]]
    shown: list[NDArray[Any]] = [out.rewards, out.terminated, out.mask]
    outputs = [
        part.reshape(len(backend), *like.shape[1:]) for part, like in zip(shown, flat, strict=True)
    ]
    for start in range(0, prod(shape), len(backend)):
        pairs = np.arange(start, min(start + len(backend), prod(shape)))
        worlds, stop = pairs - start, start + len(pairs)
        backend.set_rows(worlds, rows.take(pairs // len(actions)))
        moves = np.full((len(backend), agents), KEEP)
        moves[worlds] = joint_actions[pairs % len(actions)]
        try:
            backend.step(moves.ravel(), DISABLED)
        except RuleError as error:
            raise RuleError.in_worlds([start + i for i in error.worlds], error) from error
        next_words[start:stop] = view_as_words(backend.snapshot(worlds))
        for array, now in zip(flat, outputs, strict=True):
            array[start:stop] = now[: len(pairs)]
    return expansion


def depends_on_steps(scenario: Scenario) -> bool:
    """Return True if worlds in equal states but after different numbers of steps can develop
    differently.

    A transition or an end may read `w.steps`, or the agents' turns may rotate.
    """
    if any(member.sharing.turns == ROTATING for member in scenario.members):
        return True
    calls = (
        part
        for member in scenario.members
        for phase in (TRANSITION, TERMINATING, SUCCESS)
        for call in member.calls(phase)
        for part in call.walk()
    )
    return any(uses_name(function, "steps") for call in calls for function in call.system.functions)


def hash_states(
    rows: NDArray[Any], by_generator: bool, by_steps: bool, use_compiled_code: bool
) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each state in `rows` (records of worlds); states with the same future
    have equal hashes.

    Args:
        rows: (n,) states.
        by_generator: states with different generators differ.
        by_steps: states after different numbers of steps differ.
        use_compiled_code: hash by a compiled loop.
    """
    salts, masks = _make_salts(rows.dtype, by_generator, by_steps)
    words, keys = view_as_words(rows), np.empty(len(rows), np.uint64)
    if use_compiled_code:
        from gv_engine.compiler.compiler import compile_function

        compile_function(hash_rows)(words, salts, masks, keys)
    else:
        keys[:] = hash_words(words.T, salts, masks)
    return keys


_SHIFT, _FACTOR, _OTHER = (
    np.uint64(32),
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xD6E8FEB86659FD93),
)


def hash_words(words: Any, salts: Any, masks: Any) -> Any:
    """Return the 64-bit hash of a record given as `words`, or (n,) hashes of n records; also runs
    compiled.

    Args:
        words: (k,) or (k, n) uint64 words.
        salts: (k,) uint64 salt of each word.
        masks: (k,) uint64 bits of each word that count.
    """
    total = np.uint64(0)
    for k in range(len(salts)):
        word = ((words[k] & masks[k]) ^ salts[k]) * _FACTOR
        word = (word ^ (word >> _SHIFT)) * _OTHER
        total = total + (word ^ (word >> _SHIFT))
    return total


def hash_rows(words: Any, salts: Any, masks: Any, keys: Any) -> None:
    """Write the 64-bit hash of each of n records, given as (n, k) `words`, into `keys`; see
    `hash_words` for `salts` and `masks`. Runs compiled."""
    for i in range(len(words)):
        keys[i] = hash_words(words[i], salts, masks)


@cache
def _make_salts(
    dtype: np.dtype[Any], generator: bool, steps: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return, for each 64-bit word of a record of this dtype, a random number for hashing and a
    mask of the bits that count. `generator` and `steps` say if these fields count."""
    left_out = _HISTORY - ({"steps"} if steps else set()) | (set() if generator else {"rng"})
    if "who" in (dtype.names or ()):
        left_out -= {"done", "terminated"}
    masks = _make_byte_mask(dtype, left_out).view(np.uint64)
    return np.random.default_rng(0).integers(2**64, size=len(masks), dtype=np.uint64), masks


def _make_byte_mask(dtype: np.dtype[Any], left_out: Collection[str] = ()) -> NDArray[np.uint8]:
    """Return one number for each byte of a record of this dtype: 255 for bytes of fields, 0 for
    padding and for the fields in `left_out`."""
    if dtype.subdtype:
        inner, shape = dtype.subdtype
        return np.tile(_make_byte_mask(inner), prod(shape))
    mask = np.full(dtype.itemsize, 0 if dtype.fields else 255, np.uint8)
    for name, (inner, offset, *_) in (dtype.fields or {}).items():
        if name not in left_out:
            mask[offset : offset + inner.itemsize] = _make_byte_mask(inner)
    return mask
