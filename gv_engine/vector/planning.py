"""Planning over rows: what follows many states, and which of them are the same.

Nothing here belongs to a world that is being played.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.programs import asks_for
from gv_engine.rules.errors import RuleError
from gv_engine.rules.system import SUCCESS, TERMINATING, TRANSITION
from gv_engine.rules.turns import ROTATING
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import Backend, words_of
from gv_engine.world.autoreset import DISABLED, KEEP

_IN_THE_CACHE = 1 << 21
"""Bytes of rows that stay there while states are expanded in them."""

_OF_THE_PAST = {
    *("reward", "total", "steps", "error", "action"),
    *("done", "terminated", "truncated", "success", "ended_by"),
}
"""Figures of a row that tell how a world came to be what it is. Which of several agents are done,
and whether all are, decides what follows."""


class Expansion(NamedTuple):
    """What follows n states, each after a actions.

    Attributes:
        rows: (n, a) records, the states that follow.
        rewards: (n, a) float64, of these steps.
        terminated: (n, a) bool, whether the episode ends with them.
        masks: (n, a, actions) int8, what would do something next.

    Of A agents, the last three have an axis of agents behind (n, a).
    """

    rows: NDArray[Any]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    masks: NDArray[np.int8]


def at_once(scenario: Scenario) -> int:
    """How many worlds states are best expanded in."""
    return min(1024, max(64, _IN_THE_CACHE // scenario.layout.dtype.itemsize))


def expand(bench: Backend, rows: NDArray[Any], actions: NDArray[np.int64]) -> Expansion:
    """Let each state go on by each action.

    Args:
        bench: worlds that nobody plays.
        rows: (n,) states.
        actions: (a,) positions in the scenario's action space; of A agents (a, A).

    Raises:
        RuleError: a rule is not defined on some of them; `worlds` are positions among the n * a.
    """
    agents = bench.scenario.layout.agents
    shape, out = (len(rows), len(actions)), bench.outputs
    seats = (agents,) if agents > 1 else ()
    found = Expansion(
        np.empty(shape, rows.dtype),
        np.empty((*shape, *seats)),
        np.empty((*shape, *seats), np.bool_),
        np.empty((*shape, *seats, out.mask.shape[1]), np.int8),
    )
    followers, joint = words_of(found.rows), actions.reshape(-1, agents)
    flat = [array.reshape(-1, *array.shape[2:]) for array in found[1:]]
    shown: list[NDArray[Any]] = [out.rewards, out.terminated, out.mask]
    told = [
        array.reshape(len(bench), *like.shape[1:]) for array, like in zip(shown, flat, strict=True)
    ]
    for start in range(0, prod(shape), len(bench)):
        turns = np.arange(start, min(start + len(bench), prod(shape)))
        worlds, stop = turns - start, start + len(turns)
        bench.put(worlds, rows.take(turns // len(actions)))
        moves = np.full((len(bench), agents), KEEP)
        moves[worlds] = joint[turns % len(actions)]
        try:
            bench.step(moves.ravel(), DISABLED)
        except RuleError as error:
            raise RuleError.in_worlds([start + i for i in error.worlds], error) from error
        followers[start:stop] = words_of(bench.snapshot(worlds))
        for array, now in zip(flat, told, strict=True):
            array[start:stop] = now[: len(turns)]
    return found


def goes_by_steps(scenario: Scenario) -> bool:
    """Whether a transition or an end reads `w.steps`, or turns rotate by them, so that states at
    other times have another future, even those that are alike."""
    if any(member.sharing.turns == ROTATING for member in scenario.members):
        return True
    calls = (
        part
        for member in scenario.members
        for phase in (TRANSITION, TERMINATING, SUCCESS)
        for call in member.calls(phase)
        for part in call.walk()
    )
    return any(asks_for(function, "steps") for call in calls for function in call.system.functions)


def state_keys(
    rows: NDArray[Any], generator: bool, steps: bool, compiled: bool
) -> NDArray[np.uint64]:
    """(n,) numbers of 64 bits, equal for states with the same future, else as good as never.

    Args:
        rows: (n,) states.
        generator: whether states that differ in what they will draw are different.
        steps: whether those are that differ in how many steps have led to them.
        compiled: whether compiled code is to do it.
    """
    salts, kept = _salts(rows.dtype, generator, steps)
    words, keys = words_of(rows), np.empty(len(rows), np.uint64)
    if compiled:
        from gv_engine.compiler.compiler import compile_function

        compile_function(fold_each)(words, salts, kept, keys)
    else:
        keys[:] = fold(words.T, salts, kept)
    return keys


_SHIFT, _FACTOR, _OTHER = (
    np.uint64(32),
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xD6E8FEB86659FD93),
)


def fold(words: Any, salts: Any, kept: Any) -> Any:
    """The sum of what each word, and its place, are turned into."""
    total = np.uint64(0)
    for k in range(len(salts)):
        word = ((words[k] & kept[k]) ^ salts[k]) * _FACTOR
        word = (word ^ (word >> _SHIFT)) * _OTHER
        total = total + (word ^ (word >> _SHIFT))
    return total


def fold_each(words: Any, salts: Any, kept: Any, keys: Any) -> None:
    """The keys of all rows, compiled."""
    for i in range(len(words)):
        keys[i] = fold(words[i], salts, kept)


@cache
def _salts(
    dtype: np.dtype[Any], generator: bool, steps: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """For each word of a row a number of its own, and the bits of it that matter."""
    left_out = _OF_THE_PAST - ({"steps"} if steps else set()) | (set() if generator else {"rng"})
    if "who" in (dtype.names or ()):
        left_out -= {"done", "terminated"}
    kept = _bytes_of(dtype, left_out).view(np.uint64)
    return np.random.default_rng(0).integers(2**64, size=len(kept), dtype=np.uint64), kept


def _bytes_of(dtype: np.dtype[Any], left_out: Collection[str] = ()) -> NDArray[np.uint8]:
    """(itemsize,): 255 for each byte that holds something, 0 in between and in fields left out."""
    if dtype.subdtype:
        inner, shape = dtype.subdtype
        return np.tile(_bytes_of(inner), prod(shape))
    held = np.full(dtype.itemsize, 0 if dtype.fields else 255, np.uint8)
    for name, (inner, offset, *_) in (dtype.fields or {}).items():
        if name not in left_out:
            held[offset : offset + inner.itemsize] = _bytes_of(inner)
    return held
