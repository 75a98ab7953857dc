"""Gymnasium vector environment of algebra scenarios, in this process or in several."""

from __future__ import annotations

import contextlib
import gc
import itertools
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gv_engine.envs import arg_checks
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv, VectorStep, add_presence_masks
from gv_engine.plugins.algebra.gym_env import ExpressionEnv, algebra_scenario
from gv_engine.plugins.algebra.scenario import AlgebraScenario
from gv_engine.plugins.algebra.world import WorldSnapshot
from gv_engine.scenario.storage.worker_process import start_worker
from gv_engine.world import simulation
from gv_engine.world.simulation import KEEP, RESTART, resets_in_step, starts_episode

_EXIT_TIMEOUT = 5.0  # seconds until a worker process is terminated


Rows = NDArray[np.void]
"""(n,) rows of `row_dtype`, one for each environment, in memory that all processes share."""


_STEP_COLUMNS: dict[str, DTypeLike] = {
    "reward": np.float64,
    "terminated": np.bool_,
    "truncated": np.bool_,
    "returns": np.float64,
    "lengths": np.int64,
}
"""Columns with the results of a step; 0 for an environment that was reset or skipped."""


_INFO_COLUMNS: dict[str, DTypeLike] = {
    "moves_remaining": np.int64,
    "discount": np.float64,
    "success": np.bool_,
}
"""Columns with the numbers of an info."""


InfoTexts = tuple[str, str, str]
"""(expression, outcome, deciding system) of an environment: texts, which rows cannot store."""


def row_dtype(observations: spaces.Dict, terms: int) -> np.dtype[np.void]:
    """Return the dtype of the record that stores one environment's observation, step results and
    info; `terms` is the number of reward rules."""
    observed = [(name, space.dtype, space.shape) for name, space in observations.items()]
    results = (*_STEP_COLUMNS.items(), *_INFO_COLUMNS.items())
    return np.dtype([*observed, *results, ("reward_terms", np.float64, (terms,))], align=True)


class FinalStep(NamedTuple):
    """Last observation and info of an environment before its automatic reset."""

    env: int
    observation: Arrays
    info: dict[str, Any]


class WorkerReply(NamedTuple):
    """Reply to a step: texts of each environment, and final steps of the environments that were
    reset."""

    texts: list[InfoTexts]
    final_steps: list[FinalStep]


class EnvWorker:
    """Worker that steps some environments in this process.

    Args:
        rows: rows that the environments write their results into.
        mode: autoreset mode of `gv_engine.world.simulation`.
        time_limit: step that truncates an episode in any case; None for no such step.
        options: arguments of each `ExpressionEnv`.
    """

    def __init__(self, rows: Rows, mode: int, time_limit: int | None, *options: Any) -> None:
        """Make one environment for each record of `rows`, a structured array that receives the
        results. `mode` is the autoreset mode, `options` are arguments of `ExpressionEnv`."""
        self._envs = [ExpressionEnv(*options) for _ in rows]
        for env in self._envs:
            env.simulation.time_limit = time_limit
        self._mode = mode
        self._columns = {name: rows[name] for name in rows.dtype.names or ()}
        names = self._envs[0].scenario.reward_names
        self._term_indices = {name: index for index, name in enumerate(names)}
        self._texts: list[InfoTexts] = [("", "", "")] * len(rows)
        self._reply: Any = None

    def call(self, method: str, *arguments: Any) -> None:
        """Call a method; `result` returns its result."""
        self._reply = getattr(self, method)(*arguments)

    def result(self) -> Any:
        """Return the result of the last `call`."""
        return self._reply

    def step(self, actions: NDArray[np.int64], seeds: Sequence[int | None]) -> WorkerReply:
        """Take one action in each environment, and write the results into the shared array. An
        environment is reset if its action is RESTART and skipped if it is KEEP.

        Args:
            actions: (n,) action, or RESTART to reset, or KEEP to skip.
            seeds: seed of each environment that is reset, or None.
        """
        for name in _STEP_COLUMNS:
            self._columns[name][:] = 0
        final_steps: list[FinalStep] = []
        for i, (env, action) in enumerate(zip(self._envs, actions.tolist(), strict=True)):
            if action == KEEP:
                continue
            world = env.simulation
            if starts_episode(action, self._mode, bool(world.outcome)):
                env.begin(seeds[i])
                self._write_state(i)
                continue
            world.step(action)
            results = world.reward, world.terminated, world.truncated, world.total, world.steps
            for name, value in zip(_STEP_COLUMNS, results, strict=True):
                self._columns[name][i] = value
            decision = world.success, world.decided_by, world.reward
            if resets_in_step(self._mode, bool(world.outcome)):
                final_steps.append(FinalStep(i, env.observation(), env.info()))
                env.begin(None)
            self._write_state(i, decision)
        return WorkerReply(self._texts, final_steps)

    def _write_state(self, i: int, decision: tuple[bool, str, float] | None = None) -> None:
        """Write observation and info of environment `i` into the shared array. If the environment
        was reset in this step, `decision` has (success, deciding rule, reward) from before the
        reset."""
        columns, env = self._columns, self._envs[i]
        for name, array in env.observation().items():
            columns[name][i] = array
        world, agent = env.simulation, env.simulation.state.agent
        success, decided_by, reward = decision or (world.success, world.decided_by, world.reward)
        columns["moves_remaining"][i] = agent.moves_remaining
        columns["discount"][i] = world.discount
        columns["success"][i] = success
        columns["reward_terms"][i] = 0.0
        if decided_by in self._term_indices:
            columns["reward_terms"][i, self._term_indices[decided_by]] = reward
        self._texts[i] = agent.problem, world.outcome, world.decided_by

    def snapshot(self, i: int) -> WorldSnapshot:
        """Return a snapshot of environment `i`."""
        return self._envs[i].snapshot()

    def restore(self, i: int, snapshot: WorldSnapshot) -> None:
        """Restore environment `i` from a snapshot."""
        self._envs[i].restore(snapshot)
        self._write_state(i)

    def render(self, i: int) -> Any:
        """Return environment `i` rendered in its render mode."""
        return self._envs[i].render()

    def close(self) -> None:
        """Do nothing: there is no process to end."""


class SubprocWorker:
    """`EnvWorker` in a process of its own.

    Args:
        memory: shared memory with the rows of all environments.
        dtype: dtype of a row.
        arguments: slice of this worker's rows, and further arguments of `EnvWorker`.
    """

    def __init__(self, memory: Any, dtype: np.dtype[np.void], *arguments: Any) -> None:
        process, self._pipe = start_worker(_run_worker, memory, dtype, *arguments)
        self._stop = weakref.finalize(self, _stop_process, self._pipe, process)

    def call(self, method: str, *arguments: Any) -> None:
        """Send a call of a method of `EnvWorker` to the process; `result` waits for it."""
        with contextlib.suppress(BrokenPipeError):  # `result` reports that the process has ended
            self._pipe.send((method, arguments))

    def result(self) -> Any:
        """Wait for the worker process to finish the last `call`. Return the result, or raise the
        error, of the called method.

        Raises:
            Exception: the error that the method raised in the process.
        """
        try:
            failed, answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise RuntimeError("the worker process has ended") from None
        if failed:
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        self._stop()


def _run_worker(
    pipe: Connection, memory: Any, dtype: np.dtype[np.void], part: slice, *arguments: Any
) -> None:
    """Main function of a worker process. Create an `EnvWorker` on the records `part` of the shared
    `memory`, then run the method calls that arrive through `pipe` and send back their results."""
    worker = EnvWorker(np.frombuffer(memory, dtype)[part], *arguments)
    gc.freeze()  # full collections, of which many games need more, then skip imported modules
    while True:
        try:
            method, args = pipe.recv()
        except EOFError:
            return
        try:
            worker.call(method, *args)
            pipe.send((False, worker.result()))
        except Exception as error:  # the caller raises it
            pipe.send((True, error))


def _stop_process(pipe: Connection, process: Any) -> None:
    """Close the pipe to a worker process, so that it ends. Terminate it if it is still running
    after a timeout."""
    pipe.close()
    process.join(_EXIT_TIMEOUT)
    if process.is_alive():
        process.terminate()


class ExpressionVectorEnv(ScenarioVectorEnv[Arrays]):
    """Gymnasium vector environment: N environments of one algebra scenario, stepped together.

    Environment i after `reset(seed=s)` equals an `ExpressionEnv` with `seed=s+i`. Observations,
    rewards and flags are arrays over the environments, new at every step. `info` contains arrays of
    the environments' infos, `final_obs` and `final_info` where a SAME_STEP reset has just ended an
    episode, and `episode` if `episode_statistics` is True, as in a `GridVectorEnv`.

    Several processes can share the environments. The processes are spawned, so a script that uses
    them needs `if __name__ == "__main__":`.

    Args:
        scenario, max_steps, observation_representation, options: as for `ExpressionEnv`.
        num_envs: N.
        max_episode_steps, disable_env_checker: as for a `GridVectorEnv`.
        processes: number of processes; 1 steps all environments in this one.
        autoreset_mode: reset of finished environments: NEXT_STEP, SAME_STEP (the last observation
            is then in `info["final_obs"]`) or DISABLED (call `reset` with
            `options={"reset_mask": (N,) bool}`).
        copy: False returns the environment's own arrays of observations, rewards and flags, which
            the next step overwrites.
        render_mode: "rgb_array" or "ansi": `render()` then returns one image per environment.
        episode_statistics: add return, length and success of finished episodes to `info`.
        reward_dtype: "float64" or "float32".

    Raises:
        ScenarioError: the scenario has errors.
        ValueError: a number is too small, or a mode is unknown.
    """

    world = "object"
    """Kind of world, always "object"."""

    metadata = ExpressionEnv.metadata
    world_noun = "game"

    recorded = ("nodes", "values", "mask", "time")
    """Observations that rollouts store; `type` is left out, as it never changes."""

    def __init__(
        self,
        scenario: AlgebraScenario | str | Path | Mapping[str, Any],
        num_envs: int = 1,
        *,
        processes: int = 1,
        max_steps: int | None = None,
        max_episode_steps: int | None = None,
        disable_env_checker: bool | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        observation_representation: str = "dict",
        episode_statistics: bool = False,
        reward_dtype: DTypeLike = "float64",
        **options: Any,
    ) -> None:
        """Make the environments, their spaces and worker processes. The class docstring explains
        the arguments."""
        processes = arg_checks.check_at_least(1, processes=processes)
        super().__init__(num_envs, autoreset_mode, render_mode, reward_dtype)
        self.scenario: AlgebraScenario = algebra_scenario(scenario, max_steps, **options)
        one = ExpressionEnv(self.scenario, render_mode, None, observation_representation)
        self.num_actions = one.num_actions
        self.single_action_space = one.action_space
        space: Any = one.observation_space
        self.single_observation_space = space
        self._statistics, self._copy = episode_statistics, copy
        self._cuts = np.linspace(0, num_envs, min(processes, num_envs) + 1).astype(int).tolist()
        mode = getattr(simulation, self.autoreset_mode.name)
        time_limit = arg_checks.check_time_limit(max_episode_steps)
        args = mode, time_limit, self.scenario, render_mode, None, observation_representation
        self._observed = tuple(space)
        dtype = row_dtype(space, len(self.scenario.reward_names))
        parts = [slice(*ends) for ends in itertools.pairwise(self._cuts)]
        self._workers: list[EnvWorker | SubprocWorker]
        if len(parts) == 1:
            self._rows = np.zeros(num_envs, dtype)
            self._workers = [EnvWorker(self._rows, *args)]
        else:
            memory = RawArray("b", num_envs * dtype.itemsize)
            self._rows = np.frombuffer(memory, dtype)
            self._workers = [SubprocWorker(memory, dtype, part, *args) for part in parts]

    @property
    def labels(self) -> dict[str, list[str]]:
        """Return the names that numbers in rollout data stand for: `rule_names`, the names of the
        rules by rule number."""
        return {"rule_names": [rule.name for rule in self.scenario.make_env().rules]}

    def reset(
        self,
        *,
        seed: arg_checks.Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Arrays, dict[str, Any]]:
        """Start new episodes in all or some environments; return observations and infos.

        Args:
            seed: environment i gets `seed + i`, or `seed[i]`; None continues its generator.
            options: `{"reset_mask": (N,) bool}` resets only the environments where it is True.
            out: as for `step`; rewards and flags in it are not written.

        Raises:
            ValueError: seeds or mask have a wrong length, an option is unknown, or `out` does not
                fit.
        """
        seeds, chosen = self._check_reset_arguments(seed, options)
        outputs = arg_checks.as_output_arrays(out, self._output_specs)
        self._started = True
        reply = self._step_all(np.where(chosen, RESTART, KEEP), seeds)
        observations = {name: self._rows[name] for name in self._observed}
        observations = self._copy_results(observations, outputs)
        return observations, add_presence_masks(self._info(reply.texts), self._all)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Apply one action in every environment; return observations, rewards, terminated,
        truncated and infos.

        Args:
            actions: (N,) integers of the action space.
            out: arrays to write results into, by name: `reward`, `terminated`, `truncated`, and the
                arrays of observations; otherwise as for a `GridVectorEnv`.

        Raises:
            ValueError: an action is not in the action space, an episode is over and autoreset is
                disabled, `reset` was not called yet, or `out` does not fit.
        """
        outputs = arg_checks.as_output_arrays(out, self._output_specs)
        reply = self._step_all(self._check_actions(actions), [None] * self.num_envs)
        info = add_presence_masks(self._info(reply.texts), self._all)
        self._add_final(info, reply.final_steps)
        rows = self._rows
        ended = rows["terminated"] | rows["truncated"]
        if self._statistics and ended.any():
            success = info.get("success", ended)
            self._add_episode(info, ended, rows["returns"], rows["lengths"], success)
        flags = "reward", "terminated", "truncated"
        results = {name: rows[name] for name in (*self._observed, *flags)}
        results = self._copy_results(results, outputs)
        reward, terminated, truncated = map(results.pop, flags)
        return results, reward.astype(self._reward_dtype, copy=False), terminated, truncated, info

    @cached_property
    def _output_specs(self) -> arg_checks.ArraySpecs:
        """Return (shape, dtype) of each array that callers can pass in the argument `out` of
        `step`, by name."""
        space: Any = self.single_observation_space
        return self._step_output_specs(
            {name: ((self.num_envs, *box.shape), box.dtype) for name, box in space.items()}
        )

    def _info(self, texts: list[InfoTexts]) -> dict[str, Any]:
        """Return the infos of all environments as a dict of arrays, with the keys of
        `ExpressionEnv.info`. `texts` has expression, outcome and deciding rule of each
        environment."""
        rows = self._rows
        text, outcome, decided_by = np.array(texts, object).T.copy()
        info = {
            "action_mask": rows["mask"].reshape(self.num_envs, -1).copy(),
            "text": text,
            "moves_remaining": rows["moves_remaining"].copy(),
            "outcome": outcome,
            "decided_by": decided_by,
            "reward_terms": dict(
                zip(self.scenario.reward_names, rows["reward_terms"].T.copy(), strict=True)
            ),
            "discount": rows["discount"].copy(),
        }
        if self.scenario.tells_success:
            info |= {name: rows["success"].copy() for name in ("success", "is_success")}
        return info

    def _step_all(self, *arguments: Any) -> WorkerReply:
        """Step all workers in parallel and join their replies. Each argument is a sequence with one
        value per environment, which is split between the workers."""
        for worker, first, last in zip(self._workers, self._cuts, self._cuts[1:], strict=False):
            worker.call("step", *(part[first:last] for part in arguments))
        replies: list[WorkerReply] = []
        failures: list[Exception] = []
        for worker in self._workers:  # read all replies, or the next call would get an old one
            try:
                replies.append(worker.result())
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]
        texts: list[InfoTexts] = []
        final_steps: list[FinalStep] = []
        for first, reply in zip(self._cuts, replies, strict=False):
            texts += reply.texts
            final_steps += [step._replace(env=first + step.env) for step in reply.final_steps]
        return WorkerReply(texts, final_steps)

    def _add_final(self, info: dict[str, Any], final_steps: list[FinalStep]) -> None:
        """Add `final_obs` and `final_info` to `info`, for the episodes that ended and were reset in
        this step."""
        if not final_steps:
            return
        ended = np.zeros(self.num_envs, np.bool_)
        observations = np.full(self.num_envs, None, object)
        infos: dict[str, Any] = {}
        for index, observation, last in final_steps:
            ended[index] = True
            observations[index] = observation
            infos = self._add_info(infos, last, index)
        info |= {"final_obs": observations, "_final_obs": ended}
        info |= {"final_info": infos, "_final_info": ended}

    def _call_env(self, i: int, method: str, *arguments: Any) -> Any:
        """Call a method by name in the worker that runs environment `i`. Return the method's
        result."""
        if not 0 <= i < self.num_envs:
            raise IndexError(f"game {i}: there are {self.num_envs}")
        number = int(np.searchsorted(self._cuts, i, side="right")) - 1
        self._workers[number].call(method, i - self._cuts[number], *arguments)
        return self._workers[number].result()

    def snapshot(self, i: int) -> WorldSnapshot:
        """Return an opaque snapshot of environment i, which can be pickled."""
        return self._call_env(i, "snapshot")  # type: ignore[no-any-return]  # the worker's snapshot

    def restore(self, i: int, snapshot: WorldSnapshot) -> None:
        """Restore environment `i` from a snapshot that `snapshot` returned.

        Raises:
            TypeError: the argument is no snapshot.
        """
        self._started = True
        self._call_env(i, "restore", snapshot)

    def render(self) -> tuple[Any, ...] | None:
        """Return a tuple with one image or text per environment; None if there is no render
        mode."""
        if self.render_mode is None:
            return None
        return tuple(self._call_env(i, "render") for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """End the worker processes."""
        for worker in self._workers:
            worker.close()
