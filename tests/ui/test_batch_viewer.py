"""Batch viewer: stepping, drawing, and a world that is opened."""

from __future__ import annotations

import math
from multiprocessing import Pipe
from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.envs.rollout.policy import RandomPolicy
from gv_engine.play.session.autoplay import PolicyMaps
from gv_engine.play.session.batch_viewer import BatchViewer, CurvePoint
from gv_engine.play.session.replay import row_digest
from gv_engine.play.session.session import Session
from gv_engine.play.session.timeline import run_generator
from gv_engine.play.ui.colors import THEMES
from gv_engine.play.ui.drawing.batch_view import BatchView, lay_out_batch
from gv_engine.play.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.play.ui.screens.batch import BatchScreen, WorldScreen
from gv_engine.play.ui.window.viewer import BatchProcess, RemoteWorlds
from tests.desk import Desk
from tests.screen import until

pytestmark = [pytest.mark.compiled, pytest.mark.window]

N = 12


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.load("keydoor-5x5").with_(max_steps=40)


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.surface = pygame.Surface((1000, 640), 0, 32)
    return desk


def walk(worlds: BatchViewer, steps: int) -> None:
    for _ in range(steps):
        worlds.step()


def test_pixels_are_brought_up_to_date(scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    sheet, theme = SpriteSheet(), THEMES["dark"]
    kept, rect = BatchView(sheet, theme), pygame.Rect(10, 10, 300, 200)
    surface, fresh = (pygame.Surface((320, 220), 0, 32) for _ in range(2))
    for _ in range(4):
        walk(worlds, 3)
        codes = worlds._make_snapshot().codes
        kept.draw(surface, rect, codes)
        BatchView(sheet, theme).draw(fresh, rect, codes)
        assert pygame.image.tobytes(surface, "RGB") == pygame.image.tobytes(fresh, "RGB")
    for world in range(N):
        assert kept.world_at(kept.world_rect(world).center) == world
    assert kept.world_at((1, 1)) is None
    assert lay_out_batch((1000, 600), 5000, (9, 9), min_cell=8).cell == 8


def test_a_batch_in_the_window(desk: Desk, scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    worlds.pace = 0.0
    worlds.start()
    screen = BatchScreen(desk.app, worlds, "random")
    desk.app.push(screen)
    desk.draw()
    desk.press("Right", "Right")
    assert worlds.steps == 2
    desk.press("Space")
    assert worlds.pace == math.inf
    until(lambda: len(worlds.curves) >= 3, "three points of the curve")
    assert worlds.curves[-1].length > 0
    desk.press("Down")
    assert worlds.pace == 1000
    desk.press("Space")
    desk.click(screen._view.world_rect(7).center)
    steps = worlds.steps  # the step that was going on has ended, as a world could be taken out
    zoom = desk.top(WorldScreen)
    assert "World 7" in zoom.facts()
    assert "F7 race it" not in zoom.hints()
    desk.press("Left", "N")
    assert zoom.game.past_steps[-1].action == "TURN_LEFT"
    row = zoom.game.row()
    desk.press("Escape")
    assert desk.app.top is screen
    if not zoom.frame.outcome:
        kept = worlds._env.snapshot(7)
        assert row_digest(kept, scenario.types) == row_digest(row, scenario.types)
    assert worlds.steps == steps
    desk.press("D", "S")
    chosen = screen._selected
    assert chosen == min(N - 1, 8 + screen._view.layout.columns)
    desk.press("Return")
    assert [type(each) for each in desk.app.screens] == [BatchScreen, WorldScreen]
    assert f"World {chosen}" in desk.app.screens[1].facts()  # type: ignore[attr-defined]
    desk.press("Escape", "Equals", "Equals", "PageDown", "Minus")
    for key in (*["Shift+Down"] * N, *["A"] * N):
        desk.press(key)
        assert screen._first <= (screen._selected or 0) < screen._first + N
    assert screen._selected == 0
    desk.surface = pygame.Surface((320, 240), 0, 32)
    desk.draw()
    worlds.trouble = "RuleError: it was trouble"
    desk.draw()


def test_worlds_are_filtered_by_their_last_result_and_zoomed_by_the_wheel(
    desk: Desk, scenario: Scenario
):
    worlds = BatchViewer(scenario, N, seed=3)
    worlds._results[[2, 5]], worlds._results[[1, 4, 7]] = 1, -1
    worlds._snapshot = worlds._make_snapshot()
    screen = BatchScreen(desk.app, worlds, "random")
    desk.app.push(screen)
    desk.draw()
    desk.press("F", "D")
    assert screen._find_shown_worlds().tolist() == [2, 5]
    assert screen._list_hints()[0] == "World 2"
    desk.press("D", "Return")
    assert "World 5" in desk.top(WorldScreen).facts()
    desk.press("Escape", "F")
    assert screen._find_shown_worlds().tolist() == [1, 4, 7]
    worlds._results[:] = 1
    worlds._snapshot = worlds._make_snapshot()
    before = desk.look()
    assert len(screen._find_shown_worlds()) == 0
    desk.press("F", "D")
    assert len(screen._find_shown_worlds()) == N
    assert (desk.look() != before).any()
    desk.point(screen._view.world_rect(N - 1).center)
    for notches in (30, 3, -40):
        desk.app.handle_events([pygame.event.Event(pygame.MOUSEWHEEL, x=0, y=notches)])
        cell = screen._view.layout.cell
        desk.draw()
        layout = screen._view.layout
        assert (layout.cell - cell) * notches >= 0
        row, first = (N - 1) // layout.columns, screen._first // layout.columns
        assert first <= row < first + layout.rows
    worlds._results[:] = 0
    while worlds.steps < 300:
        worlds.step()
    assert {*worlds._results.tolist()} <= {-1, 1}


def test_view_shows_only_grids(capsys: pytest.CaptureFixture[str]):
    assert main(["view", "mathy-poly-simplify-easy"]) == 2
    assert "view shows only grids" in capsys.readouterr().err


def watch_values(desk: Desk, worlds: BatchViewer, process: BatchProcess, far: Any) -> None:
    """Press V, and compare what is sent with the policy's map of the same world."""

    def make_policy(num_envs: int) -> RandomPolicy:
        return RandomPolicy(num_envs, 8, True)

    def read() -> None:
        far.latest_snapshot()

    process.send_values(make_policy)
    read()
    assert [far.values] == [None]  # nobody has asked
    screen = desk.top(BatchScreen)
    screen._selected = 5
    everything = desk.look()
    desk.press("V")
    process.send_values(make_policy)
    for _ in range(3):
        walk(worlds, 1)
        process.send_state()
    process._values_due = 0.0
    process.send_values(make_policy)
    read()
    assert far.values is not None
    policy_map, row = far.values.policy_map, worlds._batch.snapshot(5)
    assert policy_map is not None
    assert far.values.agent[:2] == (row["position"]["y"][1], row["position"]["x"][1])
    session = Session(worlds.scenario, 0)
    session.restore(row)
    work = PolicyMaps("valid").start(session)
    assert work is not None
    expected = run_generator(work)
    same = {"equal_nan": True}
    assert np.array_equal(policy_map.probabilities, expected.probabilities, **same)
    assert policy_map.visits.sum() == 3
    assert not np.array_equal(everything, desk.look())
    process.send_values(make_policy)  # too soon
    assert not far._messages.poll()
    desk.press("V")
    process.send_values(make_policy)
    assert process._watched is None
    assert screen._watched is None


def test_v_opens_a_world_with_its_values(scenario: Scenario, desk: Desk):
    desk.app.push(BatchScreen(desk.app, BatchViewer(scenario, N, "valid", seed=3), "valid"))
    desk.draw()
    desk.press("D", "V")
    screen = desk.top(WorldScreen)
    assert (screen.shows_values, screen.stage.view) == (True, "state")
    stage: Any = screen.stage

    def is_drawn() -> bool:
        desk.wait(0.02)
        return stage._policy_map is not None

    until(is_drawn, "the values")
    desk.press("Escape")
    desk.top(BatchScreen)
    desk.back_to_start()


def test_worlds_of_another_process(scenario: Scenario, desk: Desk, monkeypatch: pytest.MonkeyPatch):
    worlds = BatchViewer(scenario, N, seed=3)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    process = BatchProcess(worlds._batch, "learning")
    ours, theirs = Pipe()
    far = RemoteWorlds(scenario, process._codes, theirs)
    process._connection.close()
    process._connection = ours
    assert far.latest_snapshot() is None
    walk(worlds, 1)
    process.send_state()
    process.send(CurvePoint(0.5, 1.0, 20.0, 100.0))
    shown = far.latest_snapshot()
    assert shown
    assert (shown.codes == worlds._make_snapshot().codes).all()
    assert far.curves[-1].success == 0.5
    desk.app.push(BatchScreen(desk.app, far, "learning"))
    desk.draw()
    desk.press("Space", "H", "Escape")
    watch_values(desk, worlds, process, far)
    process.close()
    process.send_state()  # nobody looks any more
    far.latest_snapshot()
    assert far.trouble == "It has ended"
    desk.draw()
