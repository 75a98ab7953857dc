"""Batch viewer: a batch of compiled worlds that steps in a background thread while a window shows
it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import row_digest
from gv_engine.play.session.session import Session
from gv_engine.rules.frame import Frame
from gv_engine.scenario.scenario import Scenario

APPEARANCE_BITS = 0xFFFFFF
"""Bits of a cell code with type, state and colour; the byte above is 0, or 1 + the facing of an
agent in the cell."""
OUTSIDE_CODE = 0xFFFFFFFF
"""Code of a cell outside of a smaller world of a mixture."""
_SNAPSHOT_INTERVAL = 1 / 60  # s between two snapshots
_POINT_INTERVAL = 0.25  # s between two points
_MEAN_EPISODES = 500  # episodes in the mean of a point
_MAX_PAST_STEPS = 2048  # steps that a session of a world can undo
_T = TypeVar("_T")


class CurvePoint(NamedTuple):
    """Point of the curves of a batch: mean success, return and length of the last episodes, NaN
    before the first one has ended, and the steps per second of all worlds together."""

    success: float
    total: float
    length: float
    speed: float


class BatchSnapshot(NamedTuple):
    """Appearance of the cells of all worlds at one time.

    Attributes:
        codes: (N, H, W) uint32, see `APPEARANCE_BITS`.
        steps: number of steps of each world.
        results: (N,) int8: 1 if the last episode of a world was won, -1 if it failed, 0 before its
            first end; None if this is not known.
    """

    codes: NDArray[np.uint32]
    steps: int
    results: NDArray[np.int8] | None = None

    def worlds_with(self, result: int) -> NDArray[np.int64]:
        """Return the indices of the worlds whose last episode was won (`result` 1) or failed (-1);
        of all worlds for 0."""
        if not result or self.results is None:
            return np.arange(len(self.codes))
        return np.flatnonzero(self.results == result)


class BatchSource(Protocol):
    """Batch of worlds that a batch screen shows.

    Attributes:
        scenario: scenario of the worlds.
        trouble: error message after which no world steps; else empty.
        curves: points, the newest last.
        values: last state of the watched world with its policy map; None before the first.
    """

    scenario: Scenario
    trouble: str
    curves: deque[CurvePoint]
    values: Frame | None = None

    def latest_snapshot(self) -> BatchSnapshot | None:
        """Return the latest snapshot; None before the first."""

    def watch_values(self, world: int | None) -> None:
        """Ask for the policy's action and value in each cell of the world with index `world`, to be
        stored in `values`; stop asking if it is None."""
        return None


def cell_codes(batch: CompiledBatch) -> NDArray[np.uint32]:
    """Return the appearance of each cell in N worlds, including agents, as integer codes of shape
    (N, H, W). `APPEARANCE_BITS` explains the codes."""
    scenario = batch.scenario
    height, width = scenario.largest_shape
    codes: NDArray[np.uint32] = batch.looks[:, :height, :width] & np.uint32(APPEARANCE_BITS)
    rows, worlds = batch.rows, np.arange(len(batch))
    for agent in scenario.layout.agent_entities:
        y, x = rows["position"]["y"][:, agent], rows["position"]["x"][:, agent]
        facing = rows["agent"]["facing"][:, agent].astype(np.uint32)
        is_on_grid = (y >= 0) & (x >= 0)
        cells = worlds[is_on_grid], y[is_on_grid], x[is_on_grid]
        codes[cells] |= (facing[is_on_grid] + np.uint32(1)) << np.uint32(24)
    if scenario.mixture:
        is_below = np.arange(height)[:, None] >= rows["height"][:, None, None]
        is_right = np.arange(width) >= rows["width"][:, None, None]
        codes[is_below | is_right] = OUTSIDE_CODE
    return codes


class CurveRecorder:
    """Curves of the mean success, return and length of the last episodes, and of the speed."""

    def __init__(self) -> None:
        self.curves: deque[CurvePoint] = deque(maxlen=600)
        self._episodes: deque[tuple[float, float, float]] = deque(maxlen=_MEAN_EPISODES)
        self._last_time, self._last_steps = time.monotonic(), 0

    def add(self, totals: Any, lengths: Any, success: Any) -> None:
        """Add the returns (`totals`), lengths and successes of episodes that have ended, to be
        included in the means."""
        self._episodes.extend(zip(success, totals, lengths, strict=True))

    def add_point(self, steps: int) -> None:
        """Append a point to the curves, at most four times a second. `steps` is the total number of
        steps of all worlds, from which the speed follows."""
        now = time.monotonic()
        if now < self._last_time + _POINT_INTERVAL:
            return
        speed = (steps - self._last_steps) / (now - self._last_time)
        self._last_time, self._last_steps = now, steps
        episodes = self._episodes or [(math.nan, math.nan, math.nan)]
        success, total, length = np.mean(episodes, axis=0).tolist()
        self.curves.append(CurvePoint(success, total, length, speed))


class BatchViewer(BatchSource):
    """N worlds of one vector environment in which a policy acts; see `BatchSource`.

    Worlds are independent: a player can take over a world and return it, and all other worlds stay
    as they would have been.

    Args:
        scenario: scenario of the worlds.
        num_envs: N.
        policy: name of the policy, see `gv_engine.envs.rollout.policy.load_policy`.
        seed: world i starts like `reset(seed=seed + i)`.
        num_threads: threads that share the worlds.

    Attributes:
        pace: steps a second of each world; 0 to pause, infinity for no limit. At first, the beats
            of a level with the key `time`.

    Raises:
        DoesNotCompileError: a rule does not compile.
        PolicyError: there is no such policy.
    """

    def __init__(
        self,
        scenario: Scenario,
        num_envs: int,
        policy: str = "random",
        seed: int = 0,
        num_threads: int = 1,
    ) -> None:
        self.scenario, self.policy, self.trouble = scenario, policy, ""
        self.pace = float(scenario.beat) or math.inf
        self._policy = load_policy(policy, num_envs, len(scenario.actions), True, scenario)
        self._env = GridVectorEnv(
            scenario,
            num_envs,
            world="compiled",
            autoreset_mode="SameStep",
            copy=False,
            num_threads=num_threads,
            episode_statistics=True,
            action_masks=policy != "random",
        )
        self._batch = cast(CompiledBatch, self._env.batch)
        self._seed, self._episodes = seed, np.zeros(num_envs, np.int64)
        self._policy.begin(range(num_envs), seed, range(num_envs))
        self._policy_input = self._env.reset(seed=seed)
        self._starts = self._env.snapshot()
        num_recorded = min(scenario.max_steps or _MAX_PAST_STEPS, _MAX_PAST_STEPS)
        self._past_actions = np.zeros((num_recorded, num_envs), np.int16)  # ring buffer
        self._episode_steps = np.zeros(num_envs, np.int64)
        self._results = np.zeros(num_envs, np.int8)
        self._frozen_rows: dict[int, NDArray[Any]] = {}  # of worlds that a player has taken over
        self.steps = 0
        self._recorder = CurveRecorder()
        self.curves = self._recorder.curves
        self._snapshot = self._make_snapshot()
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="gv-engine wall", daemon=True)

    def start(self) -> None:
        """Start the thread that steps the worlds."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread that steps the worlds, and close their environment."""
        self._is_closed = True
        if self._thread.is_alive():
            self._thread.join()
        self._env.close()

    def latest_snapshot(self) -> BatchSnapshot:
        """Return a snapshot that is at most a 60th of a second old."""
        return self._snapshot

    # ---- in the thread -------------------------------------------------------------------

    def _run(self) -> None:
        """Run the viewer's thread until the viewer is closed: step the worlds at the speed `pace`,
        run the tasks of `between_steps`, and renew the snapshot that the window shows."""
        next_step = last_snapshot = 0.0
        while not self._is_closed:
            now = time.monotonic()
            pace = 0.0 if self.trouble else self.pace
            wait = min(_SNAPSHOT_INTERVAL, next_step - now) if pace else _SNAPSHOT_INTERVAL
            if wait > 0 or not self._tasks.empty():
                with suppress(Empty):
                    self._tasks.get(timeout=max(0.0, wait))()
                    self._snapshot = self._make_snapshot()
                    continue
            if pace and now >= next_step:
                next_step = max(next_step + 1 / pace, now - 1 / pace)
                try:
                    self.step()
                except Exception as error:  # any error of a custom rule
                    self.trouble = f"{type(error).__name__}: {error}"
            if now >= last_snapshot + _SNAPSHOT_INTERVAL:
                last_snapshot = now
                if self._snapshot.steps != self.steps:
                    self._snapshot = self._make_snapshot()
                self._recorder.add_point(self.steps * self._env.num_envs)

    def step(self) -> None:
        """Take one step in all worlds by the policy; only the viewer's thread may call this while
        it runs."""
        actions = self._policy.act(*self._policy_input)
        observation, _, terminated, truncated, info = self._env.step(actions)
        self._past_actions[self.steps % len(self._past_actions)] = actions
        self.steps += 1
        self._episode_steps += 1
        is_done = terminated | truncated
        is_done[[*self._frozen_rows]] = False
        if is_done.any():
            self._finish_episodes(np.flatnonzero(is_done), info)
        if self._frozen_rows:
            worlds = np.array([*self._frozen_rows])
            rows = np.stack([*self._frozen_rows.values()])
            observation, info = self._env.restore(rows, worlds, trusted=True)
        self._policy_input = observation, info

    def _finish_episodes(self, worlds: NDArray[np.int64], info: dict[str, Any]) -> None:
        """Record return, length and success of the episodes that have just ended in `worlds`
        (indices), as given by `info`, and start the next ones."""
        stats = info["episode"]
        success = np.full(len(worlds), math.nan)
        if "s" in stats:
            success = stats["s"][worlds]
            self._results[worlds] = np.where(success > 0, 1, -1)
        self._recorder.add(stats["r"][worlds], stats["l"][worlds], success)
        self._start_episodes(worlds)

    def _start_episodes(self, worlds: NDArray[np.int64]) -> None:
        """Save the first states of the new episodes in `worlds` (indices), and tell the policy that
        episodes begin there."""
        self._episodes[worlds] += 1
        self._episode_steps[worlds] = 0
        self._starts[worlds] = self._env.snapshot(worlds)
        numbers = worlds + self._env.num_envs * self._episodes[worlds]
        self._policy.begin(worlds.tolist(), self._seed, numbers.tolist())

    def _make_snapshot(self) -> BatchSnapshot:
        return BatchSnapshot(cell_codes(self._batch), self.steps, self._results.copy())

    # ---- from outside --------------------------------------------------------------------

    def between_steps(self, work: Callable[[], _T]) -> _T:
        """Call `work` in the viewer's thread between two steps of the worlds, and return its result
        or raise its error."""
        if not self._thread.is_alive():
            return work()
        future: Future[_T] = Future()

        def task() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # raised again by the caller
                future.set_exception(error)

        self._tasks.put(task)
        return future.result()

    def take_over(self, world: int) -> Session:
        """Return a session in which a player can continue the world with index `world`, and go back
        to the beginning of its episode. In the batch the world stands still until `give_back`."""

        def freeze() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
            row = self._frozen_rows[world] = self._env.snapshot(world)
            start, num_steps = self._starts[world].copy(), int(self._episode_steps[world])
            if num_steps > len(self._past_actions):  # no longer recorded
                start, num_steps = row, 0
            indices = np.arange(self.steps - num_steps, self.steps) % len(self._past_actions)
            return row, start, self._past_actions[indices, world]

        row, start, actions = self.between_steps(freeze)
        session, types = Session(self.scenario, 0), self.scenario.types
        session.restore(start)
        for action in actions.tolist():
            is_refused = isinstance(session.apply_action(session.actions[action]), str)
            if is_refused:
                break
        # a rule may make the replay inexact
        if row_digest(session.row(), types) != row_digest(row, types):
            session.restore(row)
        return session

    def give_back(self, world: int, session: Game) -> None:
        """Let the world with index `world` continue in the batch from the state of `session`, or
        with a new episode if the episode of the session has ended."""

        def release() -> None:
            del self._frozen_rows[world]
            self._policy_input = self._env.restore(session.row(), world)
            if session.outcome:
                mask = np.arange(self._env.num_envs) == world
                self._policy_input = self._env.reset(options={"reset_mask": mask})
            self._start_episodes(np.array([world]))

        self.between_steps(release)
