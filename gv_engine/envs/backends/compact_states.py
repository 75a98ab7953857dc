"""Searches keep each state as the few words of a world's record that ever differ, and step one
compiled world that stays in the processor's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.addresses import call_program
from gv_engine.compiler.compiled_function import compile_function
from gv_engine.envs.backends.backend import hash_words, make_salts
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.envs.backends.row_states import Successors
from gv_engine.scenario.memory.layout import AGENT_COLUMNS, LEADING_FIELDS
from gv_engine.world.simulation import DISABLED

_HEAD_NAMES = [name for name, _ in LEADING_FIELDS] + [*AGENT_COLUMNS]


def expand_compact_states(
    program: Any,
    world: Any,
    base: Any,
    idle: Any,
    active: Any,
    states: Any,
    actions: Any,
    salts: Any,
    masks: Any,
    idle_key: Any,
    words: Any,
    keys: Any,
    progress: Any,
) -> tuple[int, int, int]:
    """Take each of a actions in each of n states, and write the next states into `words` and their
    hashes into `keys`. Stop at an error, and at a word that was equal in all states so far and now
    differs. Runs compiled.

    Args:
        program: see `CompiledBatch.run_loop`.
        world: (w,) uint64 words of the record of the only world.
        base: (w,) uint64 words of a state.
        idle: (w,) uint64, all bits set for each word that is equal in all states so far, else 0.
        active: (k,) int64 indices of the other words.
        states: (n, k) uint64 states.
        actions: (a, A) int64 actions of A agents.
        salts, masks: (k,) uint64, see `hash_words`.
        idle_key: (1,) uint64 hash of the idle words.
        words: (n * a, k) uint64, gets the next states.
        keys: (n * a,) uint64, gets their hashes.
        progress: (1,) int64 index of the first pair of state and action to try; becomes that of the
            pair after the last one that was written.

    Returns:
        (number of failed worlds, 0, 1), see `CompiledBatch.run_loop`.
    """
    loop, address, world_actions = program
    for pair in range(progress[0], len(keys)):
        progress[0] = pair
        for k in range(len(active)):
            world[active[k]] = states[pair // len(actions), k]
        for agent in range(len(world_actions)):
            world_actions[agent] = actions[pair % len(actions), agent]
        failed = call_program(loop, address, 0, 1, DISABLED)
        if failed != 0:
            return failed, 0, 1
        changed = np.uint64(0)
        for k in range(len(base)):
            changed = changed | ((world[k] ^ base[k]) & idle[k])
        if changed != np.uint64(0):
            return 0, 0, 1
        for k in range(len(active)):
            words[pair, k] = world[active[k]]
        keys[pair] = hash_words(words[pair], salts, masks) + idle_key[0]
    progress[0] = len(keys)
    return 0, 0, 1


class CompactStates:
    """Expands states that are stored as those words of a record which differ between states. The
    record includes the derived fields of compiled worlds, so that nothing is derived again.

    Args:
        worlds: compiled worlds, of which one is used.
        starts: (n,) rows of states from which a search begins.
        actions: (a,) indices into the scenario's action space; with A agents (a, A).
        by_generator, by_steps: as for `hash_states`.

    Attributes:
        starts: (n, k) uint64, the states of `starts`.
        start_keys: (n,) uint64, their hashes.
    """

    def __init__(
        self,
        worlds: CompiledBatch,
        starts: NDArray[Any],
        actions: NDArray[np.int64],
        by_generator: bool,
        by_steps: bool,
    ) -> None:
        """Find the words that differ between the `starts`. The class docstring explains the
        arguments."""
        dtype = worlds.rows.dtype
        self._worlds, self._actions = worlds, actions.reshape(len(actions), -1)
        self._world: NDArray[np.uint64] = worlds.derived_rows[:1].view(np.uint64)
        salts, masks = make_salts(dtype, by_generator, by_steps)
        padding = (0, len(self._world) - len(masks))  # derived words do not count
        self._salts, self._masks = np.pad(salts, padding), np.pad(masks, padding)
        rows = np.array([self._derive_words(row) for row in starts])
        self.start_keys = hash_words(rows.T, self._salts, self._masks)
        self._base, self._idle_key = rows[0], self.start_keys[:1]
        self._idle = np.full(len(self._base), 2**64 - 1, np.uint64)
        fields: Any = dtype.fields
        formats, offsets = zip(*[fields[name][:2] for name in _HEAD_NAMES], strict=True)
        end = max(offset + part.itemsize for part, offset in zip(formats, offsets, strict=True))
        self._head_length = -(-end // 8)
        head: Any = {"names": _HEAD_NAMES, "formats": formats, "offsets": offsets}
        head["itemsize"] = 8 * self._head_length
        self._head_dtype: np.dtype[Any] = np.dtype(head)
        self._active = np.arange(0)
        self._activate(np.arange(self._head_length))  # first, so that heads can be read
        self._activate(np.flatnonzero((rows != self._base).any(0) & (self._idle != 0)))
        self.starts = rows[:, self._active]
        self._expand = compile_function(expand_compact_states)

    def _derive_words(self, row: NDArray[Any]) -> NDArray[np.uint64]:
        self._worlds.restore(0, row, trusted=True)
        return self._world.copy()

    def _activate(self, new: NDArray[np.int64]) -> None:
        """Store also the words with the indices `new` in states from now on."""
        self._active = np.concatenate([self._active, new])
        self._idle[new] = 0
        self._idle_key = self._idle_key - hash_words(
            self._base[new][:, None], self._salts[new], self._masks[new]
        )
        self._key_parts = self._salts[self._active], self._masks[self._active]

    def widen(self, states: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return (n, j) `states` with the words that have been found to differ since, (n, k)."""
        new = self._base[self._active[states.shape[1] :]]
        return np.hstack([states, np.broadcast_to(new, (len(states), len(new)))])

    def expand(self, states: NDArray[np.uint64]) -> Successors:
        """Take each action in each of the `states`, n states of k words each, and return the next
        states, in the order of `Successors`.

        Raises:
            RuleError: a rule is undefined in a state.
        """
        num_pairs, progress = len(states) * len(self._actions), np.zeros(1, np.int64)
        states = self.widen(states)
        words = np.empty((num_pairs, states.shape[1]), np.uint64)
        keys = np.empty(num_pairs, np.uint64)
        while True:
            arguments = self._world, self._base, self._idle, self._active, states, self._actions
            outputs = *self._key_parts, self._idle_key, words, keys, progress

            def run(*program: Any, parts: Any = (*arguments, *outputs)) -> Any:
                return self._expand(program, *parts)

            self._worlds.run_loop(run)
            if progress[0] == num_pairs:
                break
            # a word has changed for the first time
            self._activate(np.flatnonzero((self._world ^ self._base) & self._idle))
            states, words = self.widen(states), self.widen(words)
        return Successors(words, keys)

    def read_heads(self, states: NDArray[np.uint64]) -> NDArray[Any]:
        """Return the fields of `LEADING_FIELDS` and `AGENT_COLUMNS` of (n, k) `states`, as (n,)
        records."""
        words = np.ascontiguousarray(states[:, : self._head_length])
        heads: NDArray[Any] = words.view(self._head_dtype)
        return heads[:, 0]
