"""A wall of worlds: what steps in it, what is drawn of it, and a world that is taken out."""

from __future__ import annotations

import math
import time
from multiprocessing import Pipe

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.session.batch_viewer import APPEARANCE_BITS, BatchViewer, CurvePoint
from gv_engine.session.replay import row_digest
from gv_engine.ui.colors import THEMES
from gv_engine.ui.drawing.batch_view import Wall, place_wall
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.ui.screens.batch import BatchScreen, ZoomScreen
from gv_engine.ui.window.batch_process import BatchProcess, FarWorlds
from tests.desk import Desk

pytestmark = [pytest.mark.compiled, pytest.mark.window]

N = 12


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.load("keydoor-5x5").with_(max_steps=40)


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.surface = pygame.Surface((1000, 640), 0, 32)
    return desk


def bits(rows: np.ndarray) -> bytes:
    """All bits of rows but those between their fields, which hold nothing."""
    if rows.dtype.names is None:
        return rows.tobytes()
    return b"".join(bits(rows[name]) for name in rows.dtype.names)


def walk(worlds: BatchViewer, steps: int) -> None:
    for _ in range(steps):
        worlds.step()


@pytest.mark.parametrize("policy", ["random", "valid"])
def test_all_other_worlds_are_as_if_nobody_had_touched_one(scenario: Scenario, policy: str):
    touched, untouched = (BatchViewer(scenario, N, policy, seed=3) for _ in range(2))
    for worlds in (touched, untouched):
        walk(worlds, 55)  # beyond the end of episodes
    game = touched.take_over(5)
    walk(touched, 60)
    assert row_digest(touched._env.snapshot(5), scenario.types) == row_digest(
        game.row(), scenario.types
    )  # it stands still
    game.undo(3)
    game.step("TURN_LEFT")
    touched.give_back(5, game)
    assert row_digest(touched._env.snapshot(5), scenario.types) == row_digest(
        game.row(), scenario.types
    )
    walk(touched, 100)
    walk(untouched, 160)
    others = np.arange(N) != 5
    mine, theirs = touched._env.snapshot(), untouched._env.snapshot()
    assert bits(mine[others]) == bits(theirs[others])
    assert bits(mine[5]) != bits(theirs[5])


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


def test_codes_are_what_a_frame_shows(scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    walk(worlds, 7)
    codes = worlds._make_snapshot().codes
    for world in range(N):
        frame = worlds.take_over(world).frame()
        parts = codes[world].astype("<u4").view(np.uint8).reshape(*codes.shape[1:], 4)
        assert (parts[..., :3] == frame.grid).all()
        y, x, facing = frame.agent
        assert parts[y, x, 3] == facing + 1
        assert (codes[world] > APPEARANCE_BITS).sum() == 1


def test_pixels_are_brought_up_to_date(scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    sheet, theme = SpriteSheet(), THEMES["dark"]
    kept, rect = Wall(sheet, theme), pygame.Rect(10, 10, 300, 200)
    surface, fresh = (pygame.Surface((320, 220), 0, 32) for _ in range(2))
    for _ in range(4):
        walk(worlds, 3)
        codes = worlds._make_snapshot().codes
        kept.draw(surface, rect, codes)
        Wall(sheet, theme).draw(fresh, rect, codes)
        assert pygame.image.tobytes(surface, "RGB") == pygame.image.tobytes(fresh, "RGB")
    for world in range(N):
        assert kept.at_pixel(kept.place(world).center) == world
    assert kept.at_pixel((1, 1)) is None
    at = place_wall((1000, 600), 5000, (9, 9), least=8)
    assert at.cell == 8


def test_a_wall_in_the_window(desk: Desk, scenario: Scenario):
    worlds = BatchViewer(scenario, N, seed=3)
    worlds.pace = 0.0
    worlds.start()
    screen = BatchScreen(desk.app, worlds, "random")
    desk.app.push(screen)
    desk.look()
    desk.press("Right", "Right")
    assert worlds.steps == 2
    desk.press("Space")
    assert worlds.pace == math.inf
    end = time.monotonic() + 20
    while len(worlds.curves) < 3 and time.monotonic() < end:
        time.sleep(0.05)
    assert worlds.curves[-1].length > 0
    desk.press("Down")
    assert worlds.pace == 1000
    desk.press("Space")
    desk.click(screen._wall.place(7).center)
    steps = worlds.steps  # the step that was going on has ended, as a world could be taken out
    zoom = desk.app.top
    assert isinstance(zoom, ZoomScreen)
    assert "World 7" in zoom.facts()
    assert "F7 race it" not in zoom.hints()
    desk.press("Left", "N")
    assert zoom.game.past_steps[-1].action == "TURN_LEFT"
    row = zoom.game.row()
    desk.press("Escape")
    assert desk.app.top is screen
    if not zoom.frame.outcome:
        assert row_digest(worlds._env.snapshot(7), scenario.types) == row_digest(
            row, scenario.types
        )
    assert worlds.steps == steps
    desk.press("D", "S")
    chosen = screen._pointed
    assert chosen == min(N - 1, 8 + screen._wall.at.columns)
    desk.press("Return")
    assert [type(each) for each in desk.app.screens] == [BatchScreen, ZoomScreen]
    assert f"World {chosen}" in desk.app.screens[1].facts()  # type: ignore[attr-defined]
    desk.press("Escape", "Equals", "Equals", "PageDown", "Minus")
    for key in (*["Shift+Down"] * N, *["A"] * N):
        desk.press(key)
        assert screen._first <= (screen._pointed or 0) < screen._first + N
    assert screen._pointed == 0
    desk.surface = pygame.Surface((320, 240), 0, 32)
    desk.look()
    worlds.trouble = "RuleError: it was trouble"
    desk.look()


def test_a_wall_shows_grids(capsys: pytest.CaptureFixture[str]):
    assert main(["view", "mathy-poly-simplify-easy"]) == 2
    assert "a wall shows grids" in capsys.readouterr().err


def test_worlds_of_another_process(scenario: Scenario, desk: Desk, monkeypatch: pytest.MonkeyPatch):
    worlds = BatchViewer(scenario, N, seed=3)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    process = BatchProcess(worlds._batch, "learning")
    ours, theirs = Pipe()
    far = FarWorlds(scenario, process._codes, theirs)
    process._ours.close()
    process._ours = ours
    assert far.latest_snapshot() is None
    walk(worlds, 1)
    process.look()
    process.tell(CurvePoint(0.5, 1.0, 20.0, 100.0))
    shown = far.latest_snapshot()
    assert shown is not None
    assert (shown.codes == worlds._make_snapshot().codes).all()
    assert far.curves[-1].success == 0.5
    desk.app.push(BatchScreen(desk.app, far, "learning"))
    desk.look()
    desk.press("Space", "H", "Escape")
    process.close()
    process.look()  # nobody looks any more
    far.latest_snapshot()
    assert far.trouble == "It has ended"
    desk.look()
