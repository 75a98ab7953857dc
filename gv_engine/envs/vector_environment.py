"""Gymnasium vector environments: the base class of all domains, and worlds of a grid scenario."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gv_engine.envs import arg_checks
from gv_engine.envs.backends import backend
from gv_engine.envs.environment import GridEnv, flatten_reward_terms, resolve_grid_scenario
from gv_engine.envs.level_sets import Levels, LevelSet, limit_to_levels
from gv_engine.envs.observations import RepresentationSpec, make_encoder
from gv_engine.envs.render_modes import DrawsWorlds
from gv_engine.envs.representations import MISSION, STATE, Arrays
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv, VectorStep, add_presence_masks
from gv_engine.envs.step_results import StepResults, StepResultsPool
from gv_engine.rules.errors import STEP_AFTER_END
from gv_engine.scenario.memory.row_checks import require_layout, tag_rows
from gv_engine.scenario.scenario import Scenario
from gv_engine.world import simulation


class GridVectorEnv(DrawsWorlds, ScenarioVectorEnv[Any]):
    """Gymnasium vector environment with N worlds of one scenario, stepped by compiled code.

    World i of `reset(seed=s)` has the same episodes as a `GridEnv` that was reset with `seed=s+i`.
    Observations, rewards, flags and infos are arrays over the worlds, as in
    `gymnasium.vector.SyncVectorEnv`; `info` has

    - `reward_terms`, a mapping of (N,) float64, of this step, also where a SAME_STEP reset has just
      replaced the episode; and `action_mask` (N, actions) int8, for the next step;
    - `success` (N,) bool: episodes that have ended with success in this step, also those that a
      SAME_STEP reset has just replaced; `is_success` is the same, under the name that other
      libraries read; both only if the scenario defines success;
    - `member` (N,) int64, in a mixture: index of the played scenario in `scenario.members`;
    - `final_obs` and `final_info` where a SAME_STEP reset has just ended an episode;
    - `episode` with `r` (N,) float64 and `l` (N,) int64, return and length of the episodes that end
      in this step, and `s` (N,) bool, their `success`; only with `episode_statistics`, and if an
      episode ends.

    Results that callers keep never change later: a step only writes into arrays to which no caller
    holds a reference any more, not even a view. A caller that keeps more than three results, and
    more than fit into 16 MiB, gets copies. With `copy=False` every step writes into the same
    arrays, for callers that read results before the next step or provide arrays as `out`.

    >>> envs = GridVectorEnv("keydoor-5x5", 16, world="object")
    >>> observations, infos = envs.reset(seed=0)
    >>> actions = envs.action_space.sample()
    >>> observations, rewards, terminated, truncated, infos = envs.step(actions)
    >>> observations["grid"].shape, rewards.shape, infos["action_mask"].shape
    ((16, 7, 7, 3), (16,), (16, 8))

    Args:
        scenario, world, max_steps, observation_representation, options: as for `GridEnv`.
        num_envs: number of worlds.
        max_episode_steps, disable_env_checker: as for `gymnasium.make`: an episode is also
            truncated after so many steps, and rewards do not depend on this number as they may on
            `max_steps`; there is no checker.
        autoreset_mode: time at which a finished world is reset: NEXT_STEP; SAME_STEP (the last
            observation is then in `info["final_obs"]`); or DISABLED (call `reset` with
            `options={"reset_mask": (N,) bool}`).
        copy: False returns the same arrays in every step, which the next one overwrites.
        render_mode: "rgb_array" or "ansi": `render()` then returns one picture per world.
        num_threads: threads that share the compiled worlds; results do not depend on their number.
        episode_statistics: add the statistics of
            `gymnasium.wrappers.vector.RecordEpisodeStatistics` to `info`, except the time `t`, at
            almost no cost. Do not use the wrapper as well: it rejects an `info` that has them.
        action_masks: False omits masks from `info`, which makes steps a tenth faster.
        levels: levels to play, of all that the scenario can generate: "train", "test", "larger",
            seeds or a file, see `gv_engine.envs.level_sets`. Each episode samples one of them;
            `reset(seed=s)` starts with level s % K of K levels.
        flat_info: as for `GridEnv`.
        reward_dtype: "float64" or "float32", of the rewards; reward terms are float64.

    Attributes:
        is_multi_agent: True for classes that play scenarios with several agents.
        warns_of_end: True in the mode DISABLED, until the first step of a world whose episode is
            over, which goes on after a warning.

    Raises:
        ScenarioError: the scenario has mistakes.
        DoesNotCompileError: as for `GridEnv`.
    """

    metadata = GridEnv.metadata
    is_multi_agent = False
    _final_arrays: tuple[Arrays, NDArray[np.object_]] | None = None
    _planner: backend.Backend | None = None
    warns_of_end = False

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        num_envs: int = 1,
        *,
        world: str = "auto",
        max_steps: int | None = None,
        max_episode_steps: int | None = None,
        disable_env_checker: bool | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        observation_representation: RepresentationSpec = "default",
        num_threads: int = 1,
        episode_statistics: bool = False,
        action_masks: bool = True,
        levels: Levels | LevelSet | None = None,
        flat_info: bool = False,
        reward_dtype: DTypeLike = "float64",
        **options: Any,
    ) -> None:
        """Create the worlds and the spaces; the class docstring explains the arguments."""
        num_threads = arg_checks.check_at_least(1, num_threads=num_threads)
        num_worlds = arg_checks.check_at_least(1, num_envs=num_envs)
        self.scenario: Scenario
        loaded = resolve_grid_scenario(scenario, max_steps, **options)
        if time_limit := arg_checks.check_time_limit(max_episode_steps):
            loaded = loaded.with_(time_limit=time_limit)
        self.scenario, level_rngs = limit_to_levels(loaded, levels, world)
        if not self.is_multi_agent:
            self.scenario.require_single_agent("this environment")
        num_lines = num_worlds * self.scenario.layout.agents
        super().__init__(num_lines, autoreset_mode, render_mode, reward_dtype)
        self.num_actions = len(self.scenario.actions)
        self.single_action_space = Discrete(self.num_actions)
        self._encoder = make_encoder(self.scenario, observation_representation)
        self.single_observation_space = self._encoder.single_observation_space
        self._batch = backend.make_batch(
            self.scenario,
            num_worlds,
            world,
            num_threads=num_threads,
            masks=action_masks,
            extra_names=self._encoder.source_arrays,
            levels=level_rngs,
        )
        self._encoder.bind_backend(self._batch)
        recorded = [*self._encoder.recorded]  # without `agent_id_grid`, which never changes
        recorded += [MISSION] if self.scenario.missions else []
        recorded += [STATE] if self.scenario.observed_state else []
        self.recorded = tuple(recorded)
        self._mode = getattr(simulation, self.autoreset_mode.name)
        self._copy = copy
        self._ended = np.zeros(num_lines, np.bool_)
        self.warns_of_end = self._mode == simulation.DISABLED
        self._has_statistics = episode_statistics
        self._has_action_masks, self._flat_info = action_masks, flat_info
        self._make_results()

    @property
    def num_worlds(self) -> int:
        """Number of worlds."""
        return len(self._batch)

    @property
    def world(self) -> str:  # type: ignore[override]  # an attribute there
        """Name of the backend that steps the worlds now, such as "compiled" or "object"."""
        return self._batch.world

    @property
    def batch(self) -> backend.Backend:
        """Backend that holds the worlds and steps them; read from it only."""
        return self._batch

    @property
    def step_arrays(self) -> Arrays:
        """Arrays of the last step by name, which rollouts can record in compiled code. Empty if
        some of them are made by Python code."""
        batch, outputs = cast(Any, self._batch), self._batch.outputs
        observed = {name: self._results.arrays[name] for name in self.recorded}
        backend_ids = {id(array) for array in vars(outputs).values()}
        is_encoded = any(id(array) not in backend_ids for array in observed.values())
        if is_encoded or self._reward_dtype != outputs.rewards.dtype or not batch.can_run_loop:
            return {}
        return {
            **observed,
            "action": batch.lane.arrays["actions"],
            "action_mask": outputs.mask,
            "reward": outputs.rewards,
            "reward_terms": outputs.terms,
            "terminated": outputs.terminated,
            "truncated": outputs.truncated,
        }

    @property
    def labels(self) -> dict[str, list[str]]:
        """Names of the actions, for rollout data."""
        return {"action_names": list(self.scenario.action_names)}

    def reset(
        self,
        *,
        seed: arg_checks.Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode with a new random level in each world, or in those that `options`
        chooses; return observations and infos of all worlds.

        Args:
            seed: world i gets `seed + i`, or `seed[i]`; with a mapping, only if it has i. Without a
                seed the RNG of a world continues.
            options: `{"reset_mask": (N,) bool}` resets only the worlds where it is True.
            out: as for `step`; rewards and flags are not written.

        Raises:
            ValueError: seeds or mask have another length or kind, an option is unknown, or `out`
                does not fit.
        """
        seeds, mask = self._check_reset_arguments(seed, options)
        outputs = self._output_arrays(out)
        seed_by_world = {}
        for world in np.flatnonzero(mask).tolist():
            if (world_seed := seeds[world]) is not None:
                seed_by_world[world] = world_seed
            elif not self._started:
                seed_by_world[world] = secrets.randbits(64)
        self._started = True
        self._restore_own_buffers()
        self._batch.restart(mask, seed_by_world)
        self._mark_ended_worlds()
        return self._observation(outputs), self._info(outputs)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Apply one action to each world; return (observations, rewards, terminated, truncated,
        info), arrays with one entry per world.

        Args:
            actions: (N,) integers of the action space.
            out: arrays to write results into and to return in place of the environment's own, by
                name: `reward`, `terminated`, `truncated`, `action_mask`, and the arrays of
                observations, such as `grid` and `item`, or `pixels`. Contiguous NumPy arrays,
                buffers, or CPU tensors with `__dlpack__`, with the shapes and dtypes of the
                results. They are written before `step` returns, and not kept.

        Raises:
            ValueError: an action is not in the action space, `reset` was not called yet, or `out`
                does not fit; no world has acted then.
            RuleError: a rule is not defined on one of the worlds.
        """
        outputs, action_indices = self._output_arrays(out), self._check_actions(actions)
        if self.warns_of_end and self._ended.any():
            self.warns_of_end = False
            gymnasium.logger.warn(STEP_AFTER_END, stacklevel=2)
        if self._copy:
            results = (None if outputs else self._pool.acquire()) or self._own_results
            self._results, self._makes_copies = results, results is self._own_results
            self._batch.write_into(results.outputs)
        if self.scenario.mixture:  # another member writes other terms
            self._batch.outputs.terms[self._ended] = 0.0
        self._batch.step(action_indices, self._mode)
        return self._collect_results(outputs)

    def observe(self) -> tuple[Any, dict[str, Any]]:
        """Return observations and infos of all worlds as they are now, without a step."""
        return self._observation(), self._info()

    def _make_results(self) -> None:
        """Create the environment's own arrays of results. Callers get copies of them, unless the
        environment makes no copies."""
        make = partial(StepResults, self._encoder, self._share_info, {})
        self._results = self._own_results = make(self._batch.outputs)
        self._pool: StepResultsPool = StepResultsPool(self._batch, make)
        self._makes_copies = self._copy

    def _restore_own_buffers(self) -> None:
        """Copy the results of the last step into the environment's own arrays, and let the backend
        write into these again. The caller of `step` keeps the arrays of that step."""
        if self._results is not self._own_results:
            self._own_results.outputs.copy_from(self._results.outputs)
            self._batch.write_into(self._own_results.outputs)
            self._results, self._makes_copies = self._own_results, self._copy

    def _collect_results(self, outputs: Arrays) -> VectorStep:
        """Return what `step` returns, from the arrays that the backend has just written. `outputs`
        has arrays of the caller to be filled."""
        out = self._batch.outputs
        self._mark_ended_worlds()
        has_ended = np.count_nonzero(self._ended) > 0  # faster than `any`
        was_reset = has_ended and self._mode == simulation.SAME_STEP
        if was_reset:  # terms belong to the step, as rewards do, and not to the reset after it
            out.terms[self._ended] = out.final_terms[self._ended]
        info = self._info(outputs)
        if was_reset:
            self._add_final(info)
        if has_ended and self._has_statistics:
            self._add_episode(info, self._ended.copy(), out.returns, out.lengths, out.success)
        rewards = out.rewards.astype(self._reward_dtype, copy=False)
        results = {"reward": rewards, "terminated": out.terminated, "truncated": out.truncated}
        if outputs or self._makes_copies:
            results = self._copy_results(results, outputs)
        rewards, terminated, truncated = results.values()
        return self._observation(outputs), rewards, terminated, truncated, info

    def _mark_ended_worlds(self) -> None:
        out = self._batch.outputs
        np.logical_or(out.terminated, out.truncated, self._ended)
        self._unmark_running_worlds()

    def _unmark_running_worlds(self) -> None:
        """Set `_ended` to False where the episode goes on for another agent of the world; with a
        single agent, there is nothing to do."""

    def _output_arrays(self, out: Mapping[str, Any] | None) -> Arrays:
        return {} if out is None else arg_checks.as_output_arrays(out, self._output_specs)

    @cached_property
    def _output_specs(self) -> arg_checks.ArraySpecs:
        """(shape, dtype) of each array that callers of `step` may pass in `out`, by name."""
        shown = self._own_results.arrays
        arrays: Arrays = {name: shown[name] for name in self._encoder.buffer_names}
        if self._has_action_masks:
            arrays["action_mask"] = self._batch.outputs.mask
        return self._step_output_specs({name: (a.shape, a.dtype) for name, a in arrays.items()})

    def _observation(self, outputs: Arrays | None = None) -> Any:
        """Return the encoded observations of all worlds. `outputs` has arrays of the caller to be
        filled, or is None."""
        encoder, arrays = self._encoder, self._results.arrays
        if outputs:
            arrays = {name: outputs.get(name, array) for name, array in arrays.items()}
        encoder.write(arrays, *self._results.observed)
        if self._makes_copies:
            arrays = self._copy_results(arrays, outputs or {})
        return encoder.to_observation(arrays)

    def _info(self, outputs: Arrays | None = None) -> dict[str, Any]:
        """Return the dictionary `info` about all worlds. `outputs` has arrays of the caller to be
        filled, or is None."""
        if self._makes_copies or (outputs and "action_mask" in outputs):
            out = self._batch.outputs
            arrays: Arrays = {"action_mask": out.mask, "reward_terms": out.terms}
            arrays |= {"member": out.member, "success": out.success}
            arrays = self._copy_results(arrays, outputs or {})
            return self._make_info(*arrays.values(), info_mask=self._all)
        return self._results.copy_info()

    def _share_info(self, out: backend.StepArrays) -> dict[str, Any]:
        return self._make_info(out.mask, out.terms, out.member, out.success, info_mask=self._all)

    def _make_info(
        self, mask: Any, terms: Any, member: Any, success: Any, *, info_mask: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Return a dictionary `info` with these arrays: action masks, reward terms, index of the
        scenario in a mixture, and success. `info_mask` (N,) is True for the worlds whose entries
        are valid."""
        names = self.scenario.reward_names
        columns = {name: terms[:, index] for index, name in enumerate(names)}
        info = flatten_reward_terms(columns) if self._flat_info else {"reward_terms": columns}
        if self._has_action_masks:
            info["action_mask"] = mask
        if self.scenario.tells_success:
            info["success"] = info["is_success"] = success
        if self.scenario.mixture:
            info["member"] = member
        return add_presence_masks(info, info_mask)

    def missions(self) -> tuple[str, ...]:
        """Return the mission text of the agent in each world, "" in a scenario without missions."""
        missions = self.scenario.missions
        if missions is None:
            return ("",) * self.num_envs
        return tuple(map(missions.to_text, self._batch.outputs.mission))

    def _add_final(self, info: dict[str, Any]) -> None:
        """Add to `info` the last observations and infos of the episodes that ended in this step and
        were replaced at once by new ones (SAME_STEP)."""
        out, ended = self._batch.outputs, self._ended.copy()
        worlds = np.flatnonzero(ended)
        observations = np.full(self.num_envs, None, object)
        observations[worlds] = self._encode_final(worlds)
        info_arrays = []
        for array in (out.final_mask, out.final_terms, out.final_member, out.success):
            copied = np.zeros_like(array)
            copied[worlds] = array.take(worlds, 0)
            info_arrays.append(copied)
        final_info = self._make_info(*info_arrays, info_mask=ended)
        info |= {"final_obs": observations, "_final_obs": ended}
        info |= {"final_info": final_info, "_final_info": ended}

    def _encode_final(self, worlds: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return the last observations of the episodes that have ended in the K `worlds`, as a (K,)
        object array. If the environment makes no copies, the next call overwrites them."""
        out, encoder = self._batch.outputs, self._encoder
        observed = out.get_arrays(encoder.source_arrays, "final_")
        if self._copy or not encoder.shares_memory:
            arrays = encoder.make_arrays(len(worlds))
            encoder.write(arrays, *(array[worlds] for array in observed))
            return encoder.split(arrays)
        if self._final_arrays is None:
            arrays = encoder.make_shared_arrays(*observed)
            self._final_arrays = arrays, encoder.split(arrays)
        arrays, observations = self._final_arrays
        if arrays.get("grid") is not out.final_grid:  # else the backend has written into them
            ended_arrays = encoder.make_arrays(len(worlds))
            encoder.write(ended_arrays, *(array[worlds] for array in observed))
            for name in encoder.buffer_names:
                arrays[name][worlds] = ended_arrays[name]
        return observations[worlds]

    def snapshot(self, worlds: ArrayLike | None = None) -> NDArray[Any]:
        """Return one record (row, of dtype `scenario.layout.dtype`) for each of `worlds`, with its
        whole state; later steps do not change the records.

        Args:
            worlds: an index; (K,) indices; an (N,) bool mask; all worlds if left out.

        Returns:
            () for an index, else (K,) rows.

        Raises:
            ValueError: `reset` was not called yet.
        """
        if not self._started:
            raise ValueError("call reset() before the first snapshot()")
        rows = self._batch.snapshot(self._world_indices(worlds))
        return tag_rows(rows, self.scenario.name)

    def restore(
        self, rows: NDArray[Any], worlds: ArrayLike | None = None, *, trusted: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Set `worlds` to the states in `rows`, records from `snapshot`, and return observations
        and info of all worlds, as `reset` does.

        `envs.restore(envs.snapshot(3))` makes all worlds continue from world 3.

        Args:
            rows: (K,) rows, or () for the same row in all worlds; from an environment of either
                kind.
            worlds: as for `snapshot`.
            trusted: the rows come unchanged from `snapshot` or `expand` of this scenario, so that
                only their layout is checked; other rows could crash the process.

        Raises:
            ValueError: the rows have another layout or number, or `reset` was not called yet.
        """
        indices = self._world_indices(worlds)
        require_layout(self.scenario.layout, rows)
        if rows.shape not in ((), indices.shape):
            raise ValueError(f"rows have shape {rows.shape}: expected () or {indices.shape}")
        if not self._started and indices.size < self.num_worlds:
            raise ValueError("call reset() before some of the worlds are restored")
        self._restore_own_buffers()
        self._batch.restore(indices, rows, trusted)
        self._mark_ended_worlds()
        self._started = True
        return self._observation(), self._info()

    def expand(
        self, rows: NDArray[Any], actions: ArrayLike | None = None, *, trusted: bool = False
    ) -> backend.Expansion:
        """Apply each of many actions to each of many world states (`rows`) and return the results;
        the worlds of the environment do not change.

        Random rules use the RNG of their state, the same for all actions. Nothing is reset: a state
        whose episode is over continues.

        Args:
            rows: (n,) states, from an environment of either kind.
            actions: (a,) integers of the action space; all actions if left out. With A agents (a,
                A), one action per agent; all combinations if left out.
            trusted: as for `restore`.

        Returns:
            Next states, rewards, `terminated`, `truncated`, `success` and action masks, see
            `Expansion`.

        Raises:
            ValueError: the rows have another layout, or an action is not in the action space.
            RuleError: a rule is not defined on some states; `worlds` are their positions among the
                n * a.
        """
        joint_actions = self._check_joint_actions(actions)
        rows = self._batch.check_rows(rows, trusted)
        if rows.ndim != 1:
            raise ValueError(f"rows have shape {rows.shape}: expected (n,)")
        if self._planner is None:
            size = backend.get_expansion_size(self.scenario)
            self._planner = self._batch.make_planning_backend(size)
        return backend.expand_states(self._planner, rows, joint_actions)

    def _check_joint_actions(self, actions: ArrayLike | None) -> NDArray[np.int64]:
        """Return the argument `actions` of `expand` as an array; for None, all combinations of the
        agents' actions. Raise an error if actions are not valid."""
        agents, last = self.scenario.layout.agents, self.num_actions - 1
        agent_shape = (agents,) if agents > 1 else ()
        if actions is None:
            combinations = np.indices((self.num_actions,) * agents)
            return np.moveaxis(combinations, 0, -1).reshape(-1, *agent_shape)
        array = np.asarray(actions)
        has_shape = array.shape == (array.size // agents, *agent_shape)
        if not has_shape or array.dtype.kind not in "iu" or np.any((array < 0) | (array > last)):
            shape = "(a, A)" if agent_shape else "(a,)"
            raise ValueError(
                f"actions={actions!r}: expected shape {shape}, whole numbers from 0 to {last}"
            )
        return array.astype(np.int64)

    def state_key(self, rows: NDArray[Any], *, generator: bool = True) -> NDArray[np.uint64]:
        """Return a 64-bit hash for each world state in `rows`, equal for states with the same
        future, for use as a key of a table.

        Hashes ignore the reward, return and end of the last step, and the number of steps unless a
        transition or terminating rule reads `w.steps`. Different states have equal hashes only by
        chance: the probability that any two of a million states do is about 3e-8.

        Args:
            rows: () or (n,) states, from an environment of either kind.
            generator: False ignores the RNG of the states.

        Returns:
            () or (n,) uint64, the same in every process.

        Raises:
            ValueError: the rows have another layout.
        """
        self._batch.check_rows(rows, trusted=True)
        hashes = backend.hash_states(
            rows.reshape(-1), generator, self._depends_on_steps, self._batch.uses_compiled_code
        )
        return hashes.reshape(rows.shape)

    @cached_property
    def _depends_on_steps(self) -> bool:
        return backend.depends_on_steps(self.scenario)

    def fork(self) -> GridVectorEnv:
        """Return an independent copy of the environment; its worlds have the same states and, for
        the same actions, the same future."""
        return deepcopy(self)

    def _world_indices(self, worlds: ArrayLike | None) -> NDArray[np.int64]:
        """Return the indices of the worlds that an argument `worlds` means: an index, several
        indices, an (N,) mask, or None for all.

        Raises:
            ValueError: there is no such world, or one is named twice.
        """
        count = self.num_worlds
        indices = np.arange(count) if worlds is None else np.asarray(worlds)
        if indices.dtype == np.bool_ and indices.shape == (count,):
            indices = np.flatnonzero(indices)
        sorted_indices = np.unique(indices) if indices.size > 1 else indices.ravel()
        has_duplicates = sorted_indices.size < indices.size
        if indices.ndim > 1 or indices.dtype.kind not in "iu" or has_duplicates:
            raise ValueError(
                f"worlds={worlds!r}: expected a number, different numbers, or a mask of "
                f"({count},) bool"
            )
        if sorted_indices.size and not 0 <= sorted_indices[0] <= sorted_indices[-1] < count:
            raise ValueError(f"worlds={worlds!r}: allowed are 0 to {count - 1}")
        return indices.astype(np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to be pickled or copied: all but the renderer and the arrays that
        are shared."""
        # a copy opens its own window and has its own arrays
        left_out = "_renderer", "_results", "_own_results", "_pool", "_final_arrays", "_planner"
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the copied or unpickled attributes, and make new arrays for results."""
        vars(self).update(state)
        self._make_results()

    def render(self) -> tuple[Any, ...] | None:
        """Return a picture of each world in the format of the render mode; None without a render
        mode."""
        return None if self.render_mode is None else tuple(map(self._draw, range(self.num_worlds)))
