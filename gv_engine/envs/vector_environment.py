"""Many worlds of a scenario as one Gymnasium vector environment."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gv_engine.envs.arg_checks import Seeds, Wanted, at_least, places, written
from gv_engine.envs.environment import GridEnv, flattened, grid_scenario
from gv_engine.envs.level_sets import Levels, LevelSet, limited_to
from gv_engine.envs.observation_base import MISSION
from gv_engine.envs.observations import FormName, form_of
from gv_engine.envs.render_modes import Renderer
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv, VectorStep, masked
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import Backend, make_batch
from gv_engine.vector.planning import (
    Expansion,
    depends_on_steps,
    expand_states,
    get_expansion_size,
    hash_states,
)
from gv_engine.world import autoreset


class GridVectorEnv(ScenarioVectorEnv[Any]):
    """N worlds of one scenario, stepped together by compiled code.

    World i of `reset(seed=s)` lives through the very episodes of a `GridEnv` that was reset with
    `seed=s+i`, observation for observation. Observations, rewards, flags and infos are arrays over
    the worlds, as `gymnasium.vector.SyncVectorEnv` has them; `info` holds

    - `reward_terms`, a mapping of (N,) float64, and `action_mask` (N, actions) int8;
    - `success` (N,) bool: the episodes that have ended well with this step, also those that a
      SAME_STEP reset has just replaced; `is_success` is the same, under the name that others read;
      neither is there if the scenario does not say what a success is;
    - `member` (N,) int64, in a mixture: the position of what is played in `scenario.members`;
    - `final_obs` and `final_info` where a SAME_STEP reset has just ended an episode;
    - `episode` with `r` (N,) float64 and `l` (N,) int64, return and length of the episodes that
      end with this step, and `s` (N,) bool, their `success`, if `episode_statistics` are asked for,
      and one does end.

    Results are fresh arrays at every step; nothing that was returned changes later. `copy=False`
    saves the copies, for those who read the results before the next step or bring arrays, `out`.

    Args:
        scenario, world, max_steps, observation_representation, options: as for `GridEnv`.
        num_envs: how many worlds.
        autoreset_mode: when a finished world begins anew: NEXT_STEP, SAME_STEP (the last
            observation is then in `info["final_obs"]`) or DISABLED (`reset` with
            `options={"reset_mask": (N,) bool}` does it).
        copy: False returns the environment's own arrays, which the next step overwrites.
        render_mode: "rgb_array" or "ansi": `render()` then returns one picture per world.
        num_threads: how many threads share the compiled worlds; all give the same results.
        episode_statistics: what `gymnasium.wrappers.vector.RecordEpisodeStatistics` adds, but
            for the time `t`, at next to no cost. That wrapper refuses an `info` that has it.
        action_masks: False leaves them out of `info`, which makes steps a tenth faster.
        levels: which levels are played, of all that the scenario can draw: "train", "test",
            "larger", seeds or a file, see `gv_engine.envs.level_sets`. An episode begins as one of
            them, drawn; `reset(seed=s)` with that of number s, of K levels s % K.
        flat_info: as for `GridEnv`.
        reward_dtype: "float64" or "float32", of the rewards; their terms are float64.

    Raises:
        ScenarioError: the scenario has mistakes.
        DoesNotCompileError: as for `GridEnv`.
    """

    metadata = GridEnv.metadata
    several = False
    """Whether it plays scenarios with several agents."""
    _renderer: Renderer | None = None

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        num_envs: int = 1,
        *,
        world: str = "auto",
        max_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        observation_representation: FormName = "default",
        num_threads: int = 1,
        episode_statistics: bool = False,
        action_masks: bool = True,
        levels: Levels | LevelSet | None = None,
        flat_info: bool = False,
        reward_dtype: DTypeLike = "float64",
        **options: Any,
    ) -> None:
        num_threads = at_least(1, num_threads=num_threads)
        num_worlds = at_least(1, num_envs=num_envs)
        self.scenario: Scenario
        played = grid_scenario(scenario, max_steps, **options)
        self.scenario, drawn = limited_to(played, levels, world)
        if not self.several:
            self.scenario.of_one_agent("this environment")
        lines = num_worlds * self.scenario.layout.agents
        super().__init__(lines, autoreset_mode, render_mode, reward_dtype)
        self.num_actions = len(self.scenario.actions)
        self.single_action_space = Discrete(self.num_actions)
        self._form = form_of(self.scenario, observation_representation)
        self.single_observation_space = self._form.space_among_many
        more = self._form.made_of
        self._batch = make_batch(
            self.scenario, num_worlds, world, num_threads, action_masks, more=more, levels=drawn
        )
        self._form.belongs_to(self._batch)
        # not the agent's place, which never changes
        self.recorded = (*self._form.recorded, *((MISSION,) if self.scenario.missions else ()))
        self._mode = getattr(autoreset, self.autoreset_mode.name)
        self._copy = copy
        self._ended = np.zeros(lines, np.bool_)
        self._statistics = episode_statistics
        self._masks, self._flat_info = action_masks, flat_info
        self._shared_info: dict[str, Any] | None = None
        self._arrays: Arrays | None = None
        self._observed: list[NDArray[Any]] = []
        self._last: tuple[Arrays, NDArray[np.object_]] | None = None
        self._bench: Backend | None = None

    @property
    def num_worlds(self) -> int:
        """How many worlds there are."""
        return len(self._batch)

    @property
    def world(self) -> str:  # type: ignore[override]  # an attribute there
        """The backend that steps now."""
        return self._batch.world

    @property
    def batch(self) -> Backend:
        """The worlds themselves, for those who look at them and leave them alone."""
        return self._batch

    @property
    def labels(self) -> dict[str, list[str]]:
        """What the numbers of actions stand for."""
        return {"action_names": list(self.scenario.action_names)}

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Draw new levels.

        Args:
            seed: world i gets `seed + i`, or `seed[i]`, of a mapping if it has i; without one, its
                generator goes on.
            options: `{"reset_mask": (N,) bool}` resets only the worlds where it is True.
            out: as for `step`; rewards and flags in it are left alone.

        Raises:
            ValueError: seeds or mask have another length or kind, or an option is not known; or
                `out` does not fit.
        """
        seeds, chosen = self._asked(seed, options)
        into = self._places(out)
        if not self._started:
            seeds = [secrets.randbits(64) if own is None else own for own in seeds]
        begin = np.flatnonzero(chosen).tolist()
        given = {i: own for i in begin if (own := seeds[i]) is not None}
        self._started = True
        self._batch.restart(chosen, given)
        return self._observation(into), self._info(into)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Let every agent act.

        Args:
            actions: (N,) integers of the action space.
            out: where results are to be written, by name, and what is returned instead of the
                environment's own arrays: `reward`, `terminated`, `truncated`, `action_mask`, and
                what observations are made of, `grid` and `item` or `pixels`. NumPy arrays, buffers,
                or tensors on the CPU with `__dlpack__`, of the results' shapes and dtypes, in one
                piece. They are written before `step` returns, and forgotten then.

        Raises:
            ValueError: an action is none of the action space, nothing was reset yet, or `out` does
                not fit; no world has acted then.
            RuleError: a rule is not defined on one of the worlds.
        """
        given, chosen = self._places(out), self._checked(actions)
        self._batch.step(chosen, self._mode)
        return self._told(given)

    def _told(self, given: Arrays) -> VectorStep:
        """What came of a step."""
        out = self._batch.outputs
        info = self._info(given)
        np.logical_or(out.terminated, out.truncated, out=self._ended)
        self._settle_ends()
        if np.count_nonzero(self._ended):  # quicker than `any`
            if self._mode == autoreset.SAME_STEP:
                self._add_final(info)
            if self._statistics:
                self._add_episode(info, self._ended.copy(), out.returns, out.lengths, out.success)
        rewards = out.rewards.astype(self._reward_dtype, copy=False)
        results = rewards, out.terminated, out.truncated
        if given or self._copy:
            names = "reward", "terminated", "truncated"
            told = self._handed(dict(zip(names, results, strict=True)), given)
            results = told["reward"], told["terminated"], told["truncated"]
        return self._observation(given), *results, info

    def _settle_ends(self) -> None:
        """Leave in `_ended` the lines whose world's episode is over: all that are there."""

    def _places(self, out: Mapping[str, Any] | None) -> Arrays:
        """Arrays over the memory that results go to, by their names."""
        return {} if out is None else places(out, self._results)

    @cached_property
    def _results(self) -> Wanted:
        found: Arrays = {name: self._shown[name] for name in self._form.kept}
        if self._masks:
            found["action_mask"] = self._batch.outputs.mask
        return self._wanted({name: (array.shape, array.dtype) for name, array in found.items()})

    def _handed(self, results: Arrays, given: Arrays) -> Arrays:
        """Results by name, in the places that are given, or copied if copies are wanted."""
        found = {}
        for name, array in results.items():
            if name in given:
                found[name] = written(given[name], array)
            else:
                found[name] = array.copy() if self._copy else array
        return found

    @property
    def _shown(self) -> Arrays:
        """The arrays of all observations, those of the batch where it has the same."""
        if self._arrays is None:
            self._observed = self._batch.outputs.get_arrays(self._form.made_of)
            self._arrays = self._form.sharing(*self._observed)
        return self._arrays

    def _observation(self, given: Arrays | None = None) -> Any:
        form, arrays = self._form, self._shown
        if given:
            arrays = {name: given.get(name, array) for name, array in arrays.items()}
        form.write(arrays, *self._observed)
        if self._copy:
            arrays = self._handed(arrays, given or {})
        return form.told(arrays)

    def _info(self, given: Arrays | None = None) -> dict[str, Any]:
        out = self._batch.outputs
        told = out.mask, out.terms, out.member, out.success
        if self._copy or (given and "action_mask" in given):
            names = "action_mask", "reward_terms", "member", "success"
            own = self._handed(dict(zip(names, told, strict=True)), given or {})
            return self._named(*own.values(), which=self._all)
        if self._shared_info is None:
            self._shared_info = self._named(*told, which=self._all)
        return dict(self._shared_info)

    def _named(
        self, mask: Any, terms: Any, member: Any, success: Any, *, which: NDArray[np.bool_]
    ) -> dict[str, Any]:
        names = self.scenario.reward_names
        columns = {name: terms[:, number] for number, name in enumerate(names)}
        info = flattened(columns) if self._flat_info else {"reward_terms": columns}
        if self._masks:
            info["action_mask"] = mask
        if self.scenario.tells_success:
            info["success"] = info["is_success"] = success
        if self.scenario.mixture:
            info["member"] = member
        return masked(info, which)

    def missions(self) -> tuple[str, ...]:
        """What the agent of each world is asked to do, in words; empty where it is nothing."""
        missions = self.scenario.missions
        if missions is None:
            return ("",) * self.num_envs
        return tuple(map(missions.text, self._batch.outputs.mission))

    def _add_final(self, info: dict[str, Any]) -> None:
        """What SAME_STEP resets have just replaced, in the worlds where they did."""
        out, form, ended = self._batch.outputs, self._form, self._ended.copy()
        observed = out.get_arrays(form.made_of, "final_")
        which = np.flatnonzero(ended)
        final = np.full(self.num_envs, None, object)
        if self._copy or not form.lasting:
            arrays = form.arrays(len(which))
            form.write(arrays, *(array[which] for array in observed))
            final[which] = form.each(arrays)
        else:
            if self._last is None:
                arrays = form.sharing(*observed)
                self._last = arrays, form.each(arrays)
            arrays, shared = self._last
            if out.final_grid is not arrays.get("grid"):
                some = form.arrays(len(which))
                form.write(some, *(array[which] for array in observed))
                for name in form.kept:
                    arrays[name][which] = some[name]
            final[which] = shared[which]
        told: list[NDArray[Any]] = [out.final_mask, out.final_terms, out.final_member, out.success]
        own = [np.zeros_like(array) for array in told]
        for mine, array in zip(own, told, strict=True):
            mine[which] = array.take(which, 0)
        info |= {"final_obs": final, "_final_obs": ended}
        info |= {"final_info": self._named(*own, which=ended), "_final_info": ended}

    def snapshot(self, worlds: ArrayLike | None = None) -> NDArray[Any]:
        """Worlds as rows of `scenario.layout.dtype`, independent of the environment.

        Args:
            worlds: a number; (K,) numbers; an (N,) bool mask; all worlds if left out.

        Returns:
            () for a number, else (K,) rows.
        """
        return self._batch.snapshot(self._chosen(worlds))

    def restore(
        self, rows: NDArray[Any], worlds: ArrayLike | None = None, *, trusted: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Make worlds those of rows, and return what all worlds show, as `reset` does.

        `envs.restore(envs.snapshot(3))` makes all worlds go on from world 3.

        Args:
            rows: (K,), or () for all of them alike; from an environment of either kind.
            worlds: as for `snapshot`.
            trusted: the rows are as `snapshot` or `expand` of this scenario have made them, so that
                nothing but their layout is checked; others could crash the process.

        Raises:
            ValueError: the rows have another layout or number, or nothing was reset yet.
        """
        chosen = self._chosen(worlds)
        if rows.shape not in ((), chosen.shape):
            raise ValueError(f"rows have shape {rows.shape}: expected () or {chosen.shape}")
        if not self._started and chosen.size < self.num_worlds:
            raise ValueError("call reset() before some of the worlds are restored")
        self._batch.restore(chosen, rows, trusted)
        self._started = True
        return self._observation(), self._info()

    def expand(
        self, rows: NDArray[Any], actions: ArrayLike | None = None, *, trusted: bool = False
    ) -> Expansion:
        """Let each of many states go on by each of many actions; the worlds are left alone.

        Actions that draw do so from the generator of their state, all of them the same. Nothing
        begins anew: a state whose episode is over goes on.

        Args:
            rows: (n,), from an environment of either kind.
            actions: (a,) integers of the action space; all of it if left out. Of A agents (a, A),
                one action of each; left out, every combination.
            trusted: as for `restore`.

        Returns:
            `rows` (n, a), `rewards` (n, a) float64, `terminated` (n, a) bool and `masks`
            (n, a, actions) int8, 0 if they are left out of `info`. Of A agents, the last three have
            an axis of agents behind (n, a).

        Raises:
            ValueError: the rows have another layout, or an action is none of the action space.
            RuleError: a rule is not defined on some of the states; `worlds` are positions among
                the n * a.
        """
        agents, last = self.scenario.layout.agents, self.num_actions - 1
        seats = (agents,) if agents > 1 else ()
        if actions is None:
            every = np.indices((self.num_actions,) * agents)
            actions = np.moveaxis(every, 0, -1).reshape(-1, *seats)
        chosen = np.asarray(actions)
        known = chosen.shape == (chosen.size // agents, *seats) and chosen.dtype.kind in "iu"
        if not known or np.any((chosen < 0) | (chosen > last)):
            shape = "(a, A)" if seats else "(a,)"
            raise ValueError(f"actions={actions!r}: allowed are 0 to {last}, {shape}")
        rows = self._batch.check_rows(rows, trusted)
        if rows.ndim != 1:
            raise ValueError(f"rows have shape {rows.shape}: expected (n,)")
        if self._bench is None:
            self._bench = self._batch.make_planning_backend(get_expansion_size(self.scenario))
        return expand_states(self._bench, rows, chosen.astype(np.int64))

    def state_key(self, rows: NDArray[Any], *, generator: bool = True) -> NDArray[np.uint64]:
        """Numbers that are equal for states with the same future.

        They leave out what the last step brought, reward, return and end, and the number of steps,
        unless a transition or an end reads `w.steps`.
        Different states have equal ones by chance alone: among a million states some two, once in
        thirty million searches.

        Args:
            rows: () or (n,), from an environment of either kind.
            generator: False leaves out what the worlds will draw.

        Returns:
            As many uint64, the same in every process.

        Raises:
            ValueError: the rows have another layout.
        """
        self._batch.check_rows(rows, trusted=True)
        how = generator, self._by_steps, self._batch.uses_compiled_code
        return hash_states(rows.reshape(-1), *how).reshape(rows.shape)

    @cached_property
    def _by_steps(self) -> bool:
        return depends_on_steps(self.scenario)

    def fork(self) -> GridVectorEnv:
        """An independent environment with the same worlds, and the same future."""
        return deepcopy(self)

    def _chosen(self, worlds: ArrayLike | None) -> NDArray[np.int64]:
        """() or (K,) numbers of worlds."""
        count = self.num_worlds
        given = np.arange(count) if worlds is None else np.asarray(worlds)
        if given.dtype == np.bool_ and given.shape == (count,):
            given = np.flatnonzero(given)
        distinct = np.unique(given)
        if given.ndim > 1 or given.dtype.kind not in "iu" or distinct.size < given.size:
            raise ValueError(
                f"worlds={worlds!r}: expected a number, different numbers, or a mask of "
                f"({count},) bool"
            )
        if distinct.size and not 0 <= distinct[0] <= distinct[-1] < count:
            raise ValueError(f"worlds={worlds!r}: allowed are 0 to {count - 1}")
        return given.astype(np.int64)

    def __getstate__(self) -> dict[str, Any]:
        # a copy opens a window of its own, and has arrays of its own
        return {
            **vars(self),
            "_renderer": None,
            "_shared_info": None,
            "_arrays": None,
            "_observed": [],
            "_last": None,
            "_bench": None,
        }

    def render(self) -> tuple[Any, ...] | None:
        """One picture per world, as the render mode says."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            self._renderer = Renderer(self.render_mode, self.scenario, self._batch.render)
        return tuple(self._renderer.draw(i) for i in range(self.num_worlds))

    def close_extras(self, **kwargs: Any) -> None:
        """Let go of what pictures were drawn with."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
