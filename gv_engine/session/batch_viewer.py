"""Compiled worlds that step in a thread of their own, to be looked at from another one."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rollout.policy import load_policy
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.replay import row_digest
from gv_engine.session.session import Session
from gv_engine.vector.compiled_backend import CompiledBatch

LOOK_BITS = 0xFFFFFF
"""The bits of a code for type, state and colour; the byte above is 0, or 1 + the facing of the
agent that stands there."""
BEYOND = 0xFFFFFFFF
"""The code of a cell that a world of a mixture does not have."""
_PICTURE_TIME = 1 / 60  # s between two pictures
_POINT = 0.25  # s between two points of the curves
_LAST = 500  # episodes of which a point is the mean
_LONGEST = 2048  # steps from which a world can be gone back


class Means(NamedTuple):
    """Means of the last episodes, NaN before the first; and steps a second of all worlds."""

    success: float
    total: float
    length: float
    speed: float


class WallLook(NamedTuple):
    """What all worlds look like."""

    codes: NDArray[np.uint32]
    """(N, H, W), see `LOOK_BITS`."""
    steps: int
    """That each of them has taken."""


class Watched(Protocol):
    """Worlds as a wall shows them.

    Attributes:
        scenario: what they play.
        trouble: why they step no more; empty while they do.
        curves: points, the last one last.
    """

    scenario: Scenario
    trouble: str
    curves: deque[Means]

    def shown(self) -> WallLook | None:
        """What they look like; None before the first look."""


def codes_of(batch: CompiledBatch) -> NDArray[np.uint32]:
    """(N, H, W) what the cells of all worlds show, see `LOOK_BITS`."""
    scenario = batch.scenario
    height, width = scenario.largest_shape
    codes: NDArray[np.uint32] = batch.looks[:, :height, :width] & np.uint32(LOOK_BITS)
    rows, everyone = batch.rows, np.arange(len(batch))
    for agent in scenario.layout.everyone:
        y, x = rows["position"]["y"][:, agent], rows["position"]["x"][:, agent]
        facing = rows["agent"]["facing"][:, agent].astype(np.uint32)
        there = (y >= 0) & (x >= 0)
        at = everyone[there], y[there], x[there]
        codes[at] |= (facing[there] + np.uint32(1)) << np.uint32(24)
    if scenario.mixture:
        low = np.arange(height)[:, None] >= rows["height"][:, None, None]
        codes[low | (np.arange(width) >= rows["width"][:, None, None])] = BEYOND
    return codes


class Curves:
    """Means over the last episodes, as curves."""

    def __init__(self) -> None:
        self.curves: deque[Means] = deque(maxlen=600)
        self._episodes: deque[tuple[float, float, float]] = deque(maxlen=_LAST)
        self._last, self._steps = time.monotonic(), 0

    def add(self, totals: Any, lengths: Any, success: Any) -> None:
        """Count (K,) episodes that have ended."""
        self._episodes.extend(zip(success, totals, lengths, strict=True))

    def point(self, steps: int) -> None:
        """Draw a point if it is time; so many steps were taken in all worlds."""
        now = time.monotonic()
        if now < self._last + _POINT:
            return
        speed = (steps - self._steps) / (now - self._last)
        self._last, self._steps = now, steps
        none = np.full((1, 3), math.nan)
        success, total, length = np.array(self._episodes or none).mean(axis=0).tolist()
        self.curves.append(Means(success, total, length, speed))


class BatchViewer:
    """N worlds of one vector environment in which a policy acts; see `Watched`.

    What happens in a world depends on no other one: a world can be taken out, played by somebody
    else and put back, and all others are what they would have been.

    Args:
        scenario: what they play.
        num_envs: N.
        policy: the name of what acts, see `gv_engine.rollout.policy.load_policy`.
        seed: world i begins like `reset(seed=seed + i)`.
        num_threads: that share the worlds.

    Attributes:
        pace: steps a second of each world; 0 for none, infinity for as many as there can be.

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
        self.pace = math.inf
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
        self._policy = load_policy(policy, num_envs, self._env.num_actions, True, scenario)
        self._seed, self._episodes = seed, np.zeros(num_envs, np.int64)
        self._policy.begin(range(num_envs), seed, range(num_envs))
        self._seen = self._env.reset(seed=seed)
        self._starts = self._env.snapshot()
        longest = min(scenario.max_steps or _LONGEST, _LONGEST)
        self._acted = np.zeros((longest, num_envs), np.int16)
        self._since = np.zeros(num_envs, np.int64)
        self._held: dict[int, NDArray[Any]] = {}
        self.steps = 0
        self._tally = Curves()
        self.curves = self._tally.curves
        self._picture = self._look()
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._ended = False
        self._thread = Thread(target=self._run, name="gv-engine wall", daemon=True)

    def start(self) -> None:
        """Begin to step in a thread."""
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._ended = True
        if self._thread.is_alive():
            self._thread.join()
        self._env.close()

    def shown(self) -> WallLook:
        """What they look like, at most a 60th of a second ago."""
        return self._picture

    # ---- in the thread -------------------------------------------------------------------

    def _run(self) -> None:
        due = drawn = 0.0
        while not self._ended:
            now = time.monotonic()
            pace = 0.0 if self.trouble else self.pace
            wait = _PICTURE_TIME if not pace else min(_PICTURE_TIME, due - now)
            if wait > 0 or not self._asked.empty():
                try:
                    self._asked.get(timeout=max(0.0, wait))()
                except Empty:
                    pass
                else:
                    self._picture = self._look()
                    continue
            if pace and now >= due:
                due = max(due + 1 / pace, now - 1 / pace)
                try:
                    self.step()
                except Exception as error:  # whatever an author's rule may raise
                    self.trouble = f"{type(error).__name__}: {error}"
            if now >= drawn + _PICTURE_TIME:
                drawn = now
                if self._picture.steps != self.steps:
                    self._picture = self._look()
                self._tally.point(self.steps * self._env.num_envs)

    def step(self) -> None:
        """Let the policy act once in every world; of no use while the thread is at it."""
        actions = self._policy.act(*self._seen)
        observation, _, terminated, truncated, info = self._env.step(actions)
        self._acted[self.steps % len(self._acted)] = actions
        self.steps += 1
        self._since += 1
        over = terminated | truncated
        if over.any():
            over[[*self._held]] = False
            self._begin(np.flatnonzero(over), info)
        if self._held:
            worlds = np.array([*self._held])
            rows = np.stack([*self._held.values()])
            observation, info = self._env.restore(rows, worlds, trusted=True)
        self._seen = observation, info

    def _begin(self, worlds: NDArray[np.int64], info: dict[str, Any]) -> None:
        """Count the episodes of these worlds, which have just begun others."""
        if not len(worlds):
            return
        told = info["episode"]
        success = told["s"][worlds] if "s" in told else np.full(len(worlds), math.nan)
        self._tally.add(told["r"][worlds], told["l"][worlds], success)
        self._note_start(worlds)

    def _note_start(self, worlds: NDArray[np.int64]) -> None:
        """These worlds are at a beginning; the policy draws what belongs to them alone."""
        self._episodes[worlds] += 1
        self._since[worlds] = 0
        self._starts[worlds] = self._env.snapshot(worlds)
        numbers = worlds + self._env.num_envs * self._episodes[worlds]
        self._policy.begin(worlds.tolist(), self._seed, numbers.tolist())

    def _look(self) -> WallLook:
        return WallLook(codes_of(self._batch), self.steps)

    # ---- from outside --------------------------------------------------------------------

    def between_steps(self, work: Callable[[], None]) -> None:
        """Do something while no world steps, and wait until it is done."""
        if not self._thread.is_alive():
            work()
            return
        done, failed = Event(), list[BaseException]()

        def doing() -> None:
            try:
                work()
            except BaseException as error:  # raised where it was asked for
                failed.append(error)
            finally:
                done.set()

        self._asked.put(doing)
        done.wait()
        if failed:
            raise failed[0]

    def take_out(self, world: int) -> Session:
        """A world as a game, which can go back to where its episode began; until it is put back it
        stands still among the others."""
        found: list[tuple[Any, NDArray[Any], NDArray[Any]]] = []

        def hold() -> None:
            now = self._env.snapshot(world)
            self._held[world] = now
            since = min(int(self._since[world]), self.steps)
            if known := since <= len(self._acted):
                lines = np.arange(self.steps - since, self.steps) % len(self._acted)
            else:
                lines = np.zeros(0, np.int64)
            start = self._starts[world].copy() if known else now
            found.append((now, start, self._acted[lines, world]))

        self.between_steps(hold)
        now, start, actions = found[0]
        game, types = Session(self.scenario, 0), self.scenario.types
        game.restore(start)
        for action in actions.tolist():
            if isinstance(game.take_on(game.actions[action]), str):
                break
        if row_digest(game.row(), types) != row_digest(now, types):  # it was not as it is told
            game.restore(now)
        return game

    def put_back(self, world: int, game: Session) -> None:
        """Let a world go on among the others from where the game is; or anew if that is over."""

        def release() -> None:
            del self._held[world]
            which = np.arange(len(self._since)) == world
            self._env.restore(game.row(), world)
            if game.frame().outcome:
                self._seen = self._env.reset(options={"reset_mask": which})
            else:
                self._seen = self._env.restore(game.row(), world)
            self._note_start(np.array([world]))

        self.between_steps(release)
