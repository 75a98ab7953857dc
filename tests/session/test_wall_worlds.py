"""Worlds of a wall: what steps, what is shown of it, and a world that is taken out and put back."""

from __future__ import annotations

import math
from threading import Event
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from gv_engine import AgentsVectorEnv, Scenario
from gv_engine.envs.backends.seeding import POLICY, make_rng
from gv_engine.play.session import batch_viewer
from gv_engine.play.session.batch_viewer import APPEARANCE_BITS, BatchViewer, CurveRecorder
from gv_engine.play.session.replay import row_digest
from tests.games import LINE

N = 12


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.load("keydoor-5x5").with_(max_steps=40)


def walk(worlds: BatchViewer, steps: int) -> None:
    for _ in range(steps):
        worlds.step()


def digest(worlds: BatchViewer, world: int) -> str:
    return row_digest(worlds._env.snapshot(world), worlds.scenario.types)


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["random", "valid"])
def test_all_other_worlds_are_as_if_nobody_had_touched_one(scenario: Scenario, policy: str):
    touched, untouched = (BatchViewer(scenario, N, policy, seed=3) for _ in range(2))
    for worlds in (touched, untouched):
        walk(worlds, 55)  # beyond the end of episodes
    game = touched.take_over(5)
    walk(touched, 60)
    assert digest(touched, 5) == game.state_digest()  # it stands still
    game.undo(3)
    game.step("TURN_LEFT")
    touched.give_back(5, game)
    assert digest(touched, 5) == game.state_digest()
    walk(touched, 100)
    walk(untouched, 160)
    differ = [k for k in range(N) if digest(touched, k) != digest(untouched, k)]
    assert differ == [5]


@pytest.mark.compiled
def test_a_world_goes_back_to_where_its_episode_began(scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    walk(worlds, 47)
    row = worlds._env.snapshot(2)
    game = worlds.take_over(2)
    assert row_digest(game.row(), scenario.types) == row_digest(row, scenario.types)
    assert game.length == row["steps"] > 0
    game.seek(0)
    assert game.row()["steps"] == 0
    while not game.frame().outcome:
        game.step("TURN_LEFT")
    worlds.give_back(2, game)  # whose episode is over
    assert worlds._env.snapshot(2)["steps"] == 0
    walk(worlds, 3)
    assert worlds._env.snapshot(2)["steps"] == 3


@pytest.mark.compiled
def test_a_world_goes_back_no_further_than_its_steps_are_known(scenario, monkeypatch):
    monkeypatch.setattr(batch_viewer, "_MAX_PAST_STEPS", 6)
    worlds = BatchViewer(scenario, N, seed=3)
    for steps, known in ((0, 0), (5, 5), (1, 6), (1, 0)):
        walk(worlds, steps)
        before = digest(worlds, 4)
        game = worlds.take_over(4)
        assert (game.length, game.state_digest()) == (known, before)
        del worlds._frozen_rows[4]


@pytest.mark.compiled
def test_a_policy_draws_for_each_episode_of_each_world(scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    episodes = [0] * N
    rngs = [make_rng(3, POLICY, world) for world in range(N)]
    for step in range(90):
        drawn = [int(rng.random() * 8) for rng in rngs]
        worlds.step()
        assert worlds._past_actions[step % 40].tolist() == drawn
        for world in np.flatnonzero(worlds._env.snapshot()["steps"] == 0).tolist():
            episodes[world] += 1
            rngs[world] = make_rng(3, POLICY, world + N * episodes[world])
    assert min(episodes) == 2
    assert worlds.steps == 90


@pytest.mark.compiled
def test_codes_are_what_a_frame_shows(scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    seeded, usual = BatchViewer(scenario, N, seed=0), BatchViewer(scenario, N)
    usual_codes = usual.latest_snapshot().codes
    assert (worlds.latest_snapshot().codes != usual_codes).any()
    assert (seeded.latest_snapshot().codes == usual_codes).all()
    walk(worlds, 7)
    codes = worlds._make_snapshot().codes
    for world in range(N):
        frame = worlds.take_over(world).frame()
        parts = codes[world].astype("<u4").view(np.uint8).reshape(*codes.shape[1:], 4)
        assert (parts[..., :3] == frame.grid).all()
        y, x, facing = frame.agent
        assert parts[y, x, 3] == facing + 1
        assert (codes[world] > APPEARANCE_BITS).sum() == 1


@pytest.mark.compiled
def test_trouble_in_the_thread_is_told_and_what_is_asked_for_fails_where_it_is_asked(scenario):
    worlds, acts, done = BatchViewer(scenario, N, seed=3), Event(), list[int]()

    class Failing:
        def act(self, *seen: Any) -> Any:
            acts.set()
            raise ValueError("no more")

    failed = dict[str, None]()
    worlds.between_steps(lambda: done.append(1))  # before it has begun
    worlds._policy = Failing()  # type: ignore[assignment]  # it never begins
    worlds.start()
    assert acts.wait(60)
    worlds.between_steps(lambda: done.append(2))
    assert (worlds.trouble, worlds.steps, done) == ("ValueError: no more", 0, [1, 2])
    with pytest.raises(KeyError, match="gone"):
        worlds.between_steps(lambda: failed["gone"])
    assert worlds.latest_snapshot().steps == 0
    worlds.close()
    assert not worlds._thread.is_alive()
    BatchViewer(scenario, N).close()  # whose thread has not begun


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("pace", "looks", "steps", "pictures"),
    [(1.0, 4, 10, 10), (2.0, 4, 20, 20), (math.inf, 4, 40, 40), (math.inf, 240, 240, 61)],
)
def test_worlds_keep_their_pace_and_show_sixty_pictures_a_second_at_most(
    scenario, pace, looks, steps, pictures, monkeypatch
):
    """The clock goes on by 1 / looks whenever somebody looks, for ten seconds or 240 looks."""
    times = iter([look / looks for look in range(min(10 * looks, 240))])
    worlds, made = BatchViewer(scenario, 1), list[int]()
    make_snapshot = worlds._make_snapshot

    def monotonic() -> float:
        now = next(times, None)
        worlds._is_closed = now is None
        return 1000.0 if now is None else now

    def make_and_count() -> batch_viewer.BatchSnapshot:
        made.append(worlds.steps)
        return make_snapshot()

    monkeypatch.setattr(worlds._recorder, "add_point", lambda steps: None)
    monkeypatch.setattr(batch_viewer, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(worlds, "_make_snapshot", make_and_count)
    worlds.pace = pace
    worlds._run()
    assert worlds.latest_snapshot().steps == worlds.steps == made[-1]
    assert abs(worlds.steps - steps) <= 1
    assert 0.75 * pictures <= len(made) <= pictures + 1
    worlds.close()


class Looks(NamedTuple):
    """What codes are made of."""

    scenario: Scenario
    looks: NDArray[np.uint32]
    rows: NDArray[Any]

    def __len__(self) -> int:
        return len(self.rows)


CORNERS = {**LINE, "map": "v.>\n...\n<.E", "agents": 3}


@pytest.mark.parametrize("level", ["keydoor-sizes", "hunt", CORNERS], ids=["sizes", "hunt", "map"])
def test_codes_tell_agents_and_cells_that_are_not_there(level: Any):
    """In worlds of several sizes, and of several agents."""
    env = AgentsVectorEnv(level, 6, world="object")
    env.reset(seed=0)
    rows, (height, width) = env.snapshot(), env.scenario.largest_shape
    looks = np.full((6, height + 2, width + 1), 0xAB000005, np.uint32)
    codes = batch_viewer.cell_codes(cast(Any, Looks(env.scenario, looks, rows)))
    expected = np.full((6, height, width), 5, np.uint32)
    for world, row in enumerate(rows):
        for agent in range(1, 1 + len(env.agents)):
            at = row["position"]["y"][agent], row["position"]["x"][agent]
            expected[world][at] |= (int(row["agent"]["facing"][agent]) + 1) << 24
        expected[world, row["height"] :] = expected[world, :, row["width"] :] = 2**32 - 1
    assert codes.tolist() == expected.tolist()
    assert (len({*rows["height"].tolist()}) > 1) == (level == "keydoor-sizes")


def test_points_of_curves_are_means_of_the_last_episodes(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(batch_viewer, "time", SimpleNamespace(monotonic=lambda: now[0]))
    curves = CurveRecorder()

    def point(at: float, steps: int) -> list[float]:
        now[0], before = at, len(curves.curves)
        curves.add_point(steps)
        return [*curves.curves[-1]] if len(curves.curves) > before else []

    assert point(100.2, 700) == []
    *means, speed = point(100.5, 700)
    assert (*map(math.isnan, means), speed) == (True, True, True, 1400.0)
    curves.add([1.0, 2.0], [10, 20], [True, False])
    assert point(100.7, 900) == []
    assert point(100.75, 900) == [0.5, 1.5, 15.0, 800.0]
    curves.add([4.0] * 499, [8] * 499, [False] * 499)
    assert point(101.0, 900) == [0.0, (499 * 4 + 2) / 500, (499 * 8 + 20) / 500, 0.0]
