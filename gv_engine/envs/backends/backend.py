"""Interface of all backends: N worlds of a scenario that step together.

A backend is a class with the methods of `Backend` and an entry in `BACKENDS`. All backends write
the same values into the same arrays (`StepArrays`), so callers need not know which one runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from functools import cache
from math import prod
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.seeding import make_seeded_generators
from gv_engine.rules.errors import BuiltInDoesNotCompileError, DoesNotCompileError, RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.functions import uses_name
from gv_engine.rules.system import SUCCESS, TERMINATING, TRANSITION
from gv_engine.rules.turns import ROTATING
from gv_engine.scenario.memory.layout import RNG
from gv_engine.scenario.memory.row_checks import require_layout, require_scenario
from gv_engine.scenario.scenario import Scenario
from gv_engine.world import simulation
from gv_engine.world.rng import generator_to_row
from gv_engine.world.simulation import DISABLED, KEEP, NEXT_STEP, RESTART, WorldIndex

_OBSERVATION_ARRAYS = "grid", "item", "ground", "whole", "mission", "state"


class StepArrays:
    """The arrays with the results of a step of N worlds. The next step overwrites them.

    With A agents, the first axis has N * A entries instead of N: one for each agent, world by
    world. Values that belong to a world are repeated for each of its agents.

    Attributes:
        grid: (N, h, w, 3) uint8 type, state and colour of each observed cell.
        item: (N, 3) uint8 held object.
        ground: (N, h, w, 3) uint8, like `grid` for the ground only, Floor for nothing; (N, 0) if
            not requested.
        whole: (N, H, W, 3) uint8, like `grid` for the whole grid, seen or not: Hidden beyond it,
            and NoneGridObject at the agent, with its direction as state; (N, 0) if not requested.
        mission: (N, k) int32 numbers of the agent's mission; k is 0 without missions.
        state: (N, k) int32 or float32 state vector; k is 0 without one.
        mask: (N, actions) int8, 1 for each action with an effect.
        terms: (N, functions) float64 reward of each reward function.
        member: (N,) int64 index of the member of a mixture.
        facing: (N,) uint8 direction of the agent.
        rewards: (N,) float64.
        terminated, truncated: (N,) bool.
        returns, lengths: (N,) float64 and int64 sum of rewards and number of steps up to the last
            step, even if a SAME_STEP reset has already started a new episode.
        final_grid, final_item, final_ground, final_whole, final_mission, final_state, final_mask,
            final_terms, final_member, final_facing: the same at the end of an episode that a
            SAME_STEP reset has just replaced.
        success: (N,) bool, True if the last step ended an episode with success, even if a SAME_STEP
            reset has already started a new one.
    """

    def __init__(self, scenario: Scenario, num_worlds: int, extra_names: Collection[str]) -> None:
        """Allocate arrays of zeros for the results of `num_worlds` worlds. The arrays `ground` and
        `whole` are empty unless `extra_names` has their names."""
        num_lines = num_worlds * scenario.layout.agents
        state = scenario.observed_state
        view, level = (*scenario.area.shape, 3), (*scenario.largest_shape, 3)
        # shape and dtype of the arrays that also show the end of an episode
        specs: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
            "grid": (view, np.uint8),
            "item": ((3,), np.uint8),
            "ground": (view if "ground" in extra_names else (0,), np.uint8),
            "whole": (level if "whole" in extra_names else (0,), np.uint8),
            "mission": ((len(scenario.missions.names) if scenario.missions else 0,), np.int32),
            "state": (state.low.shape if state else (0,), state.dtype if state else np.int32),
            "mask": ((len(scenario.actions),), np.int8),
            "terms": ((len(scenario.reward_names),), np.float64),
            "member": ((), np.int64),
            "facing": ((), np.uint8),
        }
        final_specs = {f"final_{name}": spec for name, spec in specs.items()}
        dtypes = {"rewards": np.float64, "terminated": np.bool_, "truncated": np.bool_}
        dtypes |= {"returns": np.float64, "lengths": np.int64, "success": np.bool_}
        specs |= {name: ((), dtype) for name, dtype in dtypes.items()} | final_specs
        for name, (shape, dtype) in specs.items():
            setattr(self, name, np.zeros((num_lines, *shape), dtype))

    if TYPE_CHECKING:  # the arrays are attributes

        def __getattr__(self, name: str) -> NDArray[Any]:
            """Return the array of this name."""

    @property
    def observed(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that observations are made of: `grid`, `item`, and `ground`, `whole`,
        `mission` and `state` if in use."""
        return tuple(array for array in self.get_arrays(_OBSERVATION_ARRAYS) if array.shape[1])

    @property
    def final_observed(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that observations at the end of episodes are made of."""
        shown = self.get_arrays(_OBSERVATION_ARRAYS, "final_")
        return tuple(array for array in shown if array.shape[1])

    def get_arrays(self, names: Iterable[str], prefix: str = "") -> list[NDArray[Any]]:
        """Return the arrays with these names, each name with the prefix."""
        return [getattr(self, prefix + name) for name in names]

    @property
    def unused_names(self) -> set[str]:
        """Names of those observation arrays that are empty, because the scenario does not need
        them."""
        empty = [name for name in _OBSERVATION_ARRAYS if not getattr(self, name).shape[1]]
        return {*empty, *(f"final_{name}" for name in empty)}

    def make_similar(self) -> StepArrays:
        """Return a copy with new arrays of the same content. Only the `final_` arrays, of ended
        episodes, are shared."""
        similar = copy(self)
        for name, array in vars(self).items():
            if not name.startswith("final_"):
                setattr(similar, name, array.copy())
        return similar

    def copy_from(self, source: StepArrays) -> None:
        """Copy the values of all arrays in `source` into the arrays of the same names here."""
        for mine, theirs in zip(vars(self).values(), vars(source).values(), strict=True):
            mine[...] = theirs


class Backend:
    """N worlds of a scenario that can be stepped, copied and restored. A copied or unpickled
    backend continues exactly as the original does.

    Base class of all backends. A subclass makes, steps, sets and reads worlds; `reset` and
    `restore` here call its methods.

    Args:
        scenario: scenario of the worlds.
        num_worlds: N.
        num_threads: threads that share the work, if the backend uses threads.
        masks: compute action masks.
        checked: check array bounds in the engine's own rules, too.
        extra_names: names of optional arrays of `StepArrays` to fill: ground, whole.
        levels: (K,) records of random generators, one for each level of a list. Each episode starts
            with a level that the world's own generator picks from the list. If the list is empty,
            the world's own generator makes the level.
        outputs: arrays to write into; new ones by default.

    Attributes:
        world: name of the backend.
        uses_compiled_code: True if observations may be encoded by compiled code.
        can_switch_outputs: True if `write_into` has an effect now.
        can_run_loop: True if compiled code can step the worlds by itself, see
            `CompiledBatch.run_loop`.
        requested_levels: (N,) int64 index of the listed level that each world starts with next, or
            RANDOM_LEVEL.
        outputs: observations, rewards and flags, overwritten by `reset`, `step` and `restore`.

    Raises:
        DoesNotCompileError: the backend cannot run a rule of the scenario; or `prepare` raises it.
    """

    world: str
    uses_compiled_code: bool = False
    can_switch_outputs: bool = False
    can_run_loop: bool = False

    def __init__(
        self,
        scenario: Scenario,
        num_worlds: int,
        num_threads: int = 1,
        masks: bool = True,
        checked: bool = False,
        extra_names: tuple[str, ...] = (),
        levels: NDArray[Any] | None = None,
        outputs: StepArrays | None = None,
    ) -> None:
        """Store the settings and create the worlds; the class docstring explains the arguments."""
        self.scenario = scenario
        self.outputs = outputs or StepArrays(scenario, num_worlds, extra_names)
        self.num_threads, self.masks, self.checked = num_threads, masks, checked
        self.extra_names = extra_names
        self.levels = np.zeros(0, RNG) if levels is None else np.ascontiguousarray(levels)
        self.requested_levels = np.full(num_worlds, simulation.RANDOM_LEVEL)
        self.make_worlds(num_worlds)

    def make_worlds(self, num_worlds: int) -> None:
        """Make the worlds; called last by the constructor."""

    def prepare(self) -> None:
        """Make the worlds ready for their first step: compile their rules, if they must be.

        Raises:
            DoesNotCompileError: the backend cannot run a rule of the scenario.
        """

    @property
    def settings(self) -> tuple[Any, ...]:
        """Settings with which an equal backend can be made: the constructor's arguments from
        `num_threads` to `levels`."""
        return self.num_threads, self.masks, self.checked, self.extra_names, self.levels

    def __len__(self) -> int:
        raise NotImplementedError

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        """Give world number `i` the state of a random number generator, which then makes its next
        level.

        Args:
            generator: generator over PCG64; its state is copied.
        """
        record = np.zeros((), RNG)
        generator_to_row(generator, record)
        self.set_generators(i, record)

    def write_into(self, outputs: StepArrays) -> None:
        """Let later steps write their results into `outputs`: the backend's own arrays, or arrays
        of `StepArrays.make_similar` that the caller keeps alive."""

    def reset(self, mask: NDArray[np.bool_]) -> None:
        """Start a new episode in each world for which `mask`, an (N,) array, is True.

        This also starts the first episode: `step` gets RESTART in place of actions.

        Raises:
            RuleError: as for `step`.
        """
        world_actions = np.where(mask, RESTART, KEEP)
        self.step(world_actions.repeat(self.scenario.layout.agents), DISABLED)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        """Apply one action to each world, in the autoreset mode `mode`, and write observations,
        rewards and flags into `outputs`.

        Args:
            actions: (N,) int64 indices into the scenario's action space, unchecked; or RESTART,
                LOOK or KEEP. With A agents, (N * A,), agent by agent within a world, and the first
                agent's value decides about RESTART, LOOK and KEEP.
            mode: autoreset mode, see `gv_engine.world.simulation`.

        Raises:
            RuleError: a rule is undefined in some worlds, or raised a Python error there. `worlds`
                lists these worlds; all others have been stepped.
        """

    def snapshot(self, worlds: WorldIndex) -> NDArray[Any]:
        """Return the states of `worlds` as new records (rows), shape () or (K,) like `worlds`."""
        raise NotImplementedError

    def restore(self, worlds: WorldIndex, rows: NDArray[Any], trusted: bool = False) -> None:
        """Set the worlds with the indices `worlds` to the states in `rows`, one record for each or
        one for all, and write their observations into `outputs`. With `trusted`, the rows' content
        is not checked.

        The reward terms in `outputs` become 0, the other results are those of the rows.

        Args:
            trusted: the rows are unchanged rows of this scenario's worlds, so that only their
                layout is checked.

        Raises:
            ValueError: the rows have another layout, or are damaged.
        """
        rows = self.check_rows(rows, trusted)
        self.set_rows(worlds, rows)
        self.show_worlds(worlds)
        self.set_generators(worlds, rows["rng"])  # showing may have used the generators

    def check_rows(self, rows: NDArray[Any], trusted: bool) -> NDArray[Any]:
        """Return `rows`, records of world states. Raise an error if they are not valid for this
        scenario. With `trusted`, only the dtype is checked.

        Raises:
            ValueError: they are not valid, or a snapshot of another scenario.
        """
        require_scenario(rows, self.scenario.name)
        if not trusted:
            return self.scenario.check_rows(rows)
        require_layout(self.scenario.layout, rows)
        return rows

    def show_worlds(self, worlds: WorldIndex) -> None:
        """Write the results of the last step of `worlds`, and what their agents observe now, into
        `outputs`, without a step.

        Raises:
            RuleError: as for `step`.
        """
        actions = simulation.make_look_actions(len(self), self.scenario.layout.agents, worlds)
        self.step(actions, NEXT_STEP)

    def restart(self, mask: NDArray[np.bool_], seeds: Mapping[int, int]) -> None:
        """Start a new episode in the worlds where `mask`, an (N,) array, is True. `seeds` maps
        indices of worlds to the seeds of their new random generators.

        With K listed levels, seed s selects level s % K.

        Args:
            seeds: seed by world index.
        """
        worlds = np.array([*seeds], np.int64)
        if seeds:
            self.set_generators(worlds, make_seeded_generators([*seeds.values()]))
        if num_levels := len(self.levels):
            self.requested_levels[worlds] = [seed % num_levels for seed in seeds.values()]
        self.reset(mask)

    def make_planning_backend(self, num_worlds: int) -> Backend:
        """Return a new backend of `num_worlds` worlds with the same settings, for a planner to try
        actions in."""
        settings = self.masks, self.checked, self.extra_names
        backend = type(self)(self.scenario, num_worlds, 1, *settings)
        backend.prepare()
        return backend

    def set_rows(self, worlds: WorldIndex, rows: NDArray[Any]) -> None:
        """Set `worlds` to the states in `rows`, without writing observations; used by `restore`."""

    def set_generators(self, worlds: WorldIndex, records: NDArray[Any]) -> None:
        """Set the random generators of `worlds` to the states in `records`: a single record, (),
        for all of them, or (K,) records."""

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        """Run the rendering systems on world i; `show` gets the finished frame."""

    def __getstate__(self) -> tuple[Any, ...]:
        """Return the state to be pickled: the constructor's arguments, the states of all worlds and
        the outputs."""
        arguments = self.scenario, len(self), *self.settings
        rows = self.snapshot(np.arange(len(self)))
        return arguments, rows, self.outputs, self.requested_levels.copy()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Create the worlds again when a backend is unpickled, and restore their states and
        results."""
        arguments, rows, outputs, requested_levels = state
        self.__init__(*arguments)  # type: ignore[misc]  # contexts and addresses are those of now
        self.prepare()
        self.set_rows(np.arange(len(rows)), rows)
        self.outputs.copy_from(outputs)
        self.requested_levels[:] = requested_levels


def view_as_words(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return `rows`, records of world states, as an (n, words) array of uint64 that shares their
    memory.

    NumPy copies such words faster than records, which it copies field by field.
    """
    words = np.ascontiguousarray(rows).view(np.uint64)
    return words.reshape(rows.size, rows.dtype.itemsize // 8)


BACKENDS = {
    "compiled": "gv_engine.envs.backends.compiled_backend:CompiledBatch",
    "object": "gv_engine.envs.backends.object_backend:ObjectBatch",
}
"""Class path of each backend, by the name that `world=` takes; imported when needed."""


def make_batch(
    scenario: Scenario, num_worlds: int, world: str = "auto", **settings: Any
) -> Backend:
    """Return a backend of `num_worlds` worlds of a scenario. `world` is "compiled", "object"
    (Python objects), or "auto": compiled if all rules compile.

    Args:
        world: a name in `BACKENDS`, or "auto": compiled, or if a rule of an author does not
            compile, objects and a warning.
        settings: further arguments of `Backend`: num_threads, masks, checked, extra_names, levels.

    Raises:
        DoesNotCompileError: the named backend cannot run a rule; or "auto", and a built-in rule
            does not compile.
        ValueError: there is no such backend.
    """
    if world not in ("auto", *BACKENDS):
        *names, last = map(repr, ("auto", *BACKENDS))
        raise ValueError(f"world={world!r}: allowed are {', '.join(names)} and {last}")
    name = "compiled" if world == "auto" else world
    try:
        backend: Backend = resolve_name(BACKENDS[name])(scenario, num_worlds, **settings)
        backend.prepare()
    except DoesNotCompileError as error:
        if world != "auto" or isinstance(error, BuiltInDoesNotCompileError):
            raise
        message = f"{scenario.name}: {error}; stepping object worlds instead"
        warnings.warn(message, RuntimeWarning, stacklevel=4)
        return make_batch(scenario, num_worlds, "object", **settings)
    return backend


_CACHE_BYTES = 1 << 21
"""Bytes of rows that stay in the processor's cache while states are expanded."""

_FIELDS_WITHOUT_FUTURE = {
    *("reward", "total", "steps", "error", "action"),
    *("done", "terminated", "truncated", "success", "ended_by"),
}
"""Fields of a record that do not affect later steps; with several agents, `done` and `terminated`
do affect them."""


class Expansion(NamedTuple):
    """Results of trying a number of actions in each of several states: what each of the next states
    looks like, and its reward.

    Attributes:
        rows: (n, a) records, the next states.
        rewards: (n, a) float64 rewards.
        terminated: (n, a) bool, True if a rule of the scenario ends the episode.
        truncated: (n, a) bool, True if the step limit of the episode is reached.
        success: (n, a) bool, True if the episode ends with success; False if the scenario does not
            define success.
        masks: (n, a, actions) int8, action masks of the next states; 0 without masks.

    With A agents, all but `rows` have an axis of agents behind (n, a).
    """

    rows: NDArray[Any]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    success: NDArray[np.bool_]
    masks: NDArray[np.int8]


def make_expansion_batch(scenario: Scenario, checked: bool = False, masks: bool = True) -> Backend:
    """Return the backend in which `expand_states` tries actions: many compiled worlds, or one world
    of Python objects if an author's rule does not compile. If `checked`, rules are checked for
    wrong indices; with `masks`, action masks are computed.

    Raises:
        BuiltInDoesNotCompileError: a rule of the engine does not compile.
    """
    try:
        size = get_expansion_size(scenario)
        return make_batch(scenario, size, "compiled", checked=checked, masks=masks)
    except BuiltInDoesNotCompileError:
        raise
    except DoesNotCompileError:
        return make_batch(scenario, 1, "object", checked=checked, masks=masks)


def get_expansion_size(scenario: Scenario) -> int:
    """Return the best number of worlds for expanding states of a scenario."""
    return min(1024, max(64, _CACHE_BYTES // scenario.layout.dtype.itemsize))


def expand_states(backend: Backend, rows: NDArray[Any], actions: NDArray[np.int64]) -> Expansion:
    """Try each of the `actions` in each of the states in `rows`, records of worlds. Return the
    results of all these steps.

    Args:
        backend: worlds that may be overwritten.
        rows: (n,) states.
        actions: (a,) indices into the scenario's action space; with A agents (a, A).

    Raises:
        RuleError: a rule is undefined in some states; `worlds` are indices into the n * a pairs.
    """
    agents = backend.scenario.layout.agents
    shape, out = (len(rows), len(actions)), backend.outputs
    num_pairs, agent_shape = prod(shape), (agents,) if agents > 1 else ()
    outputs = [out.rewards, out.terminated, out.truncated, out.success, out.mask]
    results = [np.empty((*shape, *agent_shape, *a.shape[1:]), a.dtype) for a in outputs]
    expansion = Expansion(np.empty(shape, rows.dtype), *results)
    # the same memory with one axis for all pairs of a state and an action, or for all worlds
    next_words, joint_actions = view_as_words(expansion.rows), actions.reshape(-1, agents)
    flat_results = [array.reshape(-1, *array.shape[2:]) for array in results]
    outputs_by_world = [
        output.reshape(len(backend), *result.shape[1:])
        for output, result in zip(outputs, flat_results, strict=True)
    ]
    for start in range(0, num_pairs, len(backend)):
        pairs = np.arange(start, min(start + len(backend), num_pairs))
        worlds, stop = pairs - start, start + len(pairs)
        backend.set_rows(worlds, rows.take(pairs // len(actions)))
        taken = np.full((len(backend), agents), KEEP)
        taken[worlds] = joint_actions[pairs % len(actions)]
        try:
            backend.step(taken.ravel(), DISABLED)
        except RuleError as error:
            raise RuleError.from_worlds([start + i for i in error.worlds], error) from error
        next_words[start:stop] = view_as_words(backend.snapshot(worlds))
        for result, output in zip(flat_results, outputs_by_world, strict=True):
            result[start:stop] = output[: len(pairs)]
    return expansion


def depends_on_steps(scenario: Scenario) -> bool:
    """Return True if what happens in a world may depend on how many steps it has taken, for example
    because of a step limit.

    This is so if a transition or a terminating function reads `w.steps`, or if the turn order
    rotates.
    """
    if any(member.agent_group.turns == ROTATING for member in scenario.members):
        return True
    phases = TRANSITION, TERMINATING, SUCCESS
    return any(
        uses_name(function, "steps")
        for member in scenario.members
        for call in member.walk_calls(*phases)
        for function in call.system.functions
    )


def hash_states(
    rows: NDArray[Any], by_generator: bool, by_steps: bool, use_compiled_code: bool
) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each state in `rows`, records of worlds. States that differ only in
    what cannot affect the future have the same hash. `by_generator` and `by_steps` include the
    random generator and the step count.

    Args:
        rows: (n,) states.
        by_generator: if True, the state of the random generator counts.
        by_steps: if True, the number of steps since the reset counts.
        use_compiled_code: if True, hash in a compiled loop.
    """
    salts, masks = make_salts(rows.dtype, by_generator, by_steps)
    words, keys = view_as_words(rows), np.empty(len(rows), np.uint64)
    if use_compiled_code:
        from gv_engine.compiler.compiled_function import compile_function

        compile_function(hash_rows)(words, salts, masks, keys)
    else:
        keys[:] = hash_words(words.T, salts, masks)
    return keys


_SHIFT = np.uint64(32)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def hash_words(words: Any, salts: Any, masks: Any) -> Any:
    """Return the 64-bit hash of a record, given as uint64 `words`; or (n,) hashes of n records.
    Each word is combined with a random number in `salts`; `masks` has its bits that count. This
    function is also compiled.

    Args:
        words: (k,) or (k, n) uint64 words.
        salts: (k,) uint64 salt of each word.
        masks: (k,) uint64 bits of each word that count.
    """
    total = np.uint64(0)
    for k in range(len(salts)):
        word = ((words[k] & masks[k]) ^ salts[k]) * _FIRST_FACTOR
        word = (word ^ (word >> _SHIFT)) * _SECOND_FACTOR
        total = total + (word ^ (word >> _SHIFT))
    return total


def hash_rows(words: Any, salts: Any, masks: Any, keys: Any) -> None:
    """Write the 64-bit hash of each of n records, given as (n, k) `words`, into `keys`; see
    `hash_words` for `salts` and `masks`. Runs compiled."""
    for i in range(len(words)):
        keys[i] = hash_words(words[i], salts, masks)


@cache
def make_salts(
    dtype: np.dtype[Any], by_generator: bool, by_steps: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two arrays for `hash_words`, with one number for each 64-bit word of a record of this
    dtype: a random number, and a mask of the bits that count."""
    ignored = {*_FIELDS_WITHOUT_FUTURE}
    if by_steps:
        ignored -= {"steps"}
    if not by_generator:
        ignored |= {"rng"}
    if "who" in (dtype.names or ()):  # several agents
        ignored -= {"done", "terminated"}
    masks = _make_byte_mask(dtype, ignored).view(np.uint64)
    return np.random.default_rng(0).integers(2**64, size=len(masks), dtype=np.uint64), masks


def _make_byte_mask(dtype: np.dtype[Any], ignored: Collection[str] = ()) -> NDArray[np.uint8]:
    """Return a mask of a record's bytes: 255 for a byte that belongs to a field, 0 for padding and
    for the fields in `ignored`."""
    if dtype.subdtype:
        inner, shape = dtype.subdtype
        return np.tile(_make_byte_mask(inner), prod(shape))
    mask = np.full(dtype.itemsize, 0 if dtype.fields else 255, np.uint8)
    for name, (inner, offset, *_) in (dtype.fields or {}).items():
        if name not in ignored:
            mask[offset : offset + inner.itemsize] = _make_byte_mask(inner)
    return mask
