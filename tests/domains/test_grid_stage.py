"""The stage of gridworlds: what it draws, without a window, and what the player does on it; what
lies on the ground is drawn beneath things, in a terminal too."""

from dataclasses import replace
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN
from components.objects import EXIT, KEY, MOVING_OBSTACLE
from gv_engine import Scenario
from gv_engine.play.grid.board import MIN_AGENT_SIZE, GridRenderer, Minimap
from gv_engine.play.grid.episode import GridEpisode
from gv_engine.play.grid.motion import Movement, find_motion, step_sound
from gv_engine.play.grid.stage import GridStage
from gv_engine.play.grid.terminal import GridTerminalView
from gv_engine.play.grid.view_places import place_views
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.play.ui.drawing.stage import Camera, default_cell_size, make_stage, scroll_offset
from gv_engine.play.ui.drawing.tiles import TileCache, encode_looks
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import ACTIONS
from gv_engine.rules.system import TERMINATING
from gv_engine.scenario.domains import DOMAINS
from systems.queries import can_enter

SIZES = [(900, 500), (320, 240), (400, 900), (61, 47), (7, 3), (1, 1)]


KINDS = {"objects": ["Wall", "Floor", "Exit", "MovingObstacle"], "colors": ["NONE"]}
LEVEL = {"name": "dynamic_obstacles", "shape": [40, 40], "num_obstacles": 12, "random_agent": True}
CROWD = Scenario.load(
    {
        "name": "crowd",
        "state_space": KINDS,
        "observation_space": KINDS,
        "reset_function": LEVEL,
        "transition_functions": ["move_agent", "turn_agent", "move_obstacles"],
        "reward_functions": ["living_reward"],
        "observation_function": {"name": "partially_occluded", "area": [[-6, 0], [-3, 3]]},
        "terminating_function": "reach_exit",
    }
)
"""A grid too large for small windows, in which much moves."""


def fresh_stage(game: Session, view: str = "both", line: int = 12) -> GridStage:
    stage = make_stage(game, DARK)
    assert isinstance(stage, GridStage)
    stage.view, stage.line = view, line
    return stage


def a_stage(
    scenario: Scenario | str = "keydoor-9x9", view: str = "both"
) -> tuple[Session, GridStage]:
    found = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    game = Session(found, 1)
    stage = fresh_stage(game, view)
    stage.begin(None, game.frame())
    return game, stage


def drawn(stage: GridStage, size: tuple[int, int], progress: float = 1.0) -> NDArray[np.uint8]:
    """(height, width, 3)"""
    surface = pygame.Surface(size, 0, 32)
    stage.draw(surface, surface.get_rect(), progress)
    return pygame.surfarray.array3d(surface).swapaxes(0, 1)


def walked(game: Session, stage: GridStage, steps: int) -> None:
    """Take steps by chance."""
    chance = np.random.default_rng(0)
    for action in chance.choice(ACTIONS[:6], steps).tolist():
        before = game.frame()
        game.step(action)
        stage.begin(before, game.frame())


# Drawing what has changed, and all of it


@pytest.mark.sample("320, 240")
@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("view", DOMAINS["grid"].views)
def test_what_is_drawn_bit_by_bit_is_what_is_drawn_at_once(size: tuple[int, int], view: str):
    game, stage = a_stage(CROWD, view)
    for number in range(8):
        walked(game, stage, 1)
        drawn(stage, size, number % 4 / 4)
        assert np.array_equal(drawn(stage, size), drawn(fresh_stage(game, view), size))


def test_zooming_and_resizing_leave_nothing_behind():
    game, stage = a_stage(CROWD)
    assert stage.command("zoom_in") == stage.command("no such") == ""
    assert stage.command("ACTUATE") == "ACTUATE"
    for command, size in zip(
        ["zoom_out", "zoom_out", "zoom_in", "minimap", "zoom_in", "zoom_in", "zoom_reset"] * 2,
        SIZES * 3,
        strict=False,
    ):
        drawn(stage, size)
        assert stage.command(command) == ""
        walked(game, stage, 1)
        drawn(stage, (300, 200))
    stage.command("zoom_reset")
    assert np.array_equal(drawn(stage, (500, 300)), drawn(fresh_stage(game), (500, 300)))


@pytest.mark.sample("320, 240", "7, 3", "1, 1")
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_nothing_is_drawn_outside_the_rectangle(size: tuple[int, int]):
    for view in DOMAINS["grid"].views:
        _, stage = a_stage(CROWD, view)
        stage.side_panel = stage.side_panels[0]
        surface = pygame.Surface((size[0] + 90, size[1] + 90), 0, 32)
        surface.fill("#ff00ff")
        rect = pygame.Rect((41, 53), size)
        stage.draw(surface, rect, 0.5)
        stage.hover((rect.right - 1, rect.bottom - 1))
        stage.click(rect.center, 1)
        stage.draw(surface, rect, 1)
        surface.fill("#ff00ff", rect)
        assert (pygame.surfarray.array3d(surface) == (255, 0, 255)).all()


@pytest.mark.sample("both-20", "explored-8", "state-2", "observation-2")
@pytest.mark.parametrize("cell", [2, 8, 20])
@pytest.mark.parametrize("view", DOMAINS["grid"].views)
def test_pictures_bit_by_bit_are_pictures_at_once(cell: int, view: str):
    game, stage = a_stage(CROWD)
    views = GridRenderer(SpriteSheet(), view, cell)
    pictures, kept = [], []
    for _ in range(5):
        walked(game, stage, 1)
        pictures.append(views.draw(game.frame()))
        kept.append(pictures[-1].copy())
        fresh = GridRenderer(SpriteSheet(), view, cell).draw(game.frame())
        assert np.array_equal(pictures[-1], fresh)
    assert np.array_equal(pictures, kept)  # none is drawn over later


@pytest.mark.parametrize("grid", [(1, 1), (1, 300), (300, 2), (200, 200)], ids=str)
def test_grids_of_any_shape_are_drawn(grid: tuple[int, int]):
    game, stage = a_stage()
    wide = np.full((*grid, 3), (2, 0, 0), np.uint8)
    shown = replace(game.frame(), grid=wide, seen=wide[..., 0] > 0, agent=(0, grid[1] - 1, 0))
    stage.begin(None, shown)
    bare = fresh_stage(game)
    bare.begin(None, replace(shown, agent=(-1, -1, 0)))
    for size in SIZES[:3]:
        assert (drawn(stage, size) != drawn(bare, size)).any()


# The camera


@pytest.mark.sample("320, 240")
@pytest.mark.parametrize("size", [(900, 500), (400, 900), (320, 240)], ids=str)
def test_the_camera_keeps_the_agent_in_sight_and_cells_readable(size: tuple[int, int]):
    game, stage = a_stage(CROWD, "state")
    for _ in range(12):
        walked(game, stage, 1)
        drawn(stage, size)
        cell = stage._state.cell_rect(*game.frame().agent[:2])
        assert pygame.Rect((0, 0), size).contains(cell)
        assert cell.w >= stage.line * 5 // 4


def test_grids_are_shown_whole_where_their_cells_can_be_made_out():
    assert default_cell_size((9, 9), (500, 900), min_readable=20) == 55
    assert default_cell_size((4, 4), (100, 100), min_readable=20) == 25
    assert default_cell_size((64, 64), (1000, 1000), min_readable=20) == 76
    assert default_cell_size((300, 2), (100, 100), min_readable=20) == 20


@pytest.mark.parametrize("side", [64, 200])
def test_players_of_large_levels_see_large_cells_around_the_agent(side: int):
    game, stage = a_stage()
    stage.view = "state"
    floor = np.full((side, side, 3), (FLOOR, 0, 0), np.uint8)
    stage.begin(None, replace(game.frame(), grid=floor, agent=(side // 2, side // 2, 0)))
    stage.line = 20
    drawn(stage, (1000, 560))
    cell = stage._state.cell_rect(side // 2, side // 2)
    assert cell.w >= 40
    assert cell.inflate(cell.size).collidepoint(500, 280)


def test_players_see_the_rooms_in_the_middle_without_the_wall_outside():
    game, stage = a_stage()
    wall, view = game.frame().grid[0, 0], "state"
    grid = np.full((12, 12, 3), wall, np.uint8)
    grid[2:5, 6:11] = FLOOR, 0, 0
    stage.view = view
    seen = np.ones((12, 12), np.bool_)
    stage.begin(None, replace(game.frame(), grid=grid, seen=seen, agent=(3, 8, 0)))
    picture = drawn(stage, (700, 500))
    assert stage._state.cell_rect(3, 8).center == (350, 250)
    assert stage._cell_at((350, 250)) == (3, 8)
    assert (picture[0, 0] == picture[-2, -2]).all()  # the wall goes on up to the edges
    stage.is_research = True
    drawn(stage, (700, 500))
    assert stage._state.cell_rect(0, 0).w < 50


def test_the_camera_stops_at_the_edges_and_puts_small_grids_in_the_middle():
    assert scroll_offset((64, 64), (100, 200), (0, 63), 20) == (0, 64 * 20 - 200)
    assert scroll_offset((64, 64), (100, 200), (30, 30), 20) == (30.5 * 20 - 50, 30.5 * 20 - 100)
    assert scroll_offset((2, 64), (100, 200), (0, 0), 20) == (-30, 0)


def test_zooming_ends_where_all_is_seen_and_where_cells_are_large():
    camera = Camera()
    for way, end in ((-1, 7), (1, 128)):
        for _ in range(30):
            camera.zoom(way, camera.cell_size((64, 64), (500, 500), 20), min_size=500 // 64)
        assert camera.cell == end
    camera.cell = 4
    assert camera.cell_size((10, 10), (100, 300), 20) == 10  # the window was smaller before
    camera.cell = None
    camera.zoom(1, 20, min_size=7)
    assert camera.cell == 24


def test_the_wheel_zooms_on_the_state_only():
    _, stage = a_stage(CROWD)
    drawn(stage, (900, 500))
    state, seen = stage._places["state"].rect, stage._places["observation"].rect
    before = stage._state.cell_rect(0, 0).w
    assert stage.wheel(state.center, 1)
    assert not stage.wheel(seen.center, 1)
    drawn(stage, (900, 500))
    assert stage._state.cell_rect(0, 0).w > before


def test_the_minimap_shows_where_the_camera_is_and_goes_when_all_is_seen():
    _, stage = a_stage(CROWD)
    with_map = drawn(stage, (900, 500))
    stage.command("minimap")
    assert (drawn(stage, (900, 500)) != with_map).any()
    _, small = a_stage("empty-4x4")
    whole = drawn(small, (900, 500))
    small.command("minimap")
    assert np.array_equal(drawn(small, (900, 500)), whole)


def test_the_minimap_never_hides_the_agent(monkeypatch: pytest.MonkeyPatch):
    game, stage = a_stage("maze-15x15", "state")
    places: list[pygame.Rect] = []
    monkeypatch.setattr(Minimap, "draw", lambda _, surface, room, *more: places.append(room))
    for _ in range(6):
        drawn(stage, (600, 470))
        stage.command("zoom_in")
        for y, x in product((1, 7, 13), repeat=2):
            stage.begin(None, replace(game.frame(), agent=(y, x, 0)))
            drawn(stage, (600, 470))
            assert not places.pop().colliderect(stage._state.cell_rect(y, x))


# Where the views lie


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("grid", [(1, 1), (4, 4), (9, 9), (3, 9), (64, 64), (1, 300)], ids=str)
def test_views_are_apart_and_inside(size: tuple[int, int], grid: tuple[int, int]):
    whole = pygame.Rect(10, 20, *size)
    for view, seen in product(DOMAINS["grid"].views, ((7, 7), (41, 3))):
        places = place_views(view, tuple(whole), 12, grid, seen, 15)
        assert set(places) - {"map"} == ({"state", "observation"} if view == "both" else {view})
        if min(size) < 40:  # no room, no promise but that it is drawn
            continue
        rects = [rect for place in places.values() for rect in place]
        assert all(whole.contains(rect) for rect in rects if rect.h)
        assert len(rects[0].collidelistall([rect for rect in rects[1:] if rect.h])) == 0
        views = [place.rect for place in places.values()]
        assert all(len(rect.collidelistall(views)) == 1 for rect in views)


# Movement


def a_frame(cells: dict[tuple[int, int], tuple[int, int, int]], agent=(0, 0, 0)) -> Frame:
    grid = np.full((5, 6, 3), (2, 0, 0), np.uint8)
    for cell, thing in cells.items():
        grid[cell] = thing
    return Frame("", grid, agent, (0, 0, 0), grid[..., 0] > 0, grid, (0, 0, 0))


NOTHING = (0, 0, 0)
YELLOW_KEY, GHOST, SHUT, OPEN = (6, 0, 4), (7, 0, 0), (5, 1, 4), (5, 0, 4)


GONE, NEW = (1.0, 0.0), (0.0, 1.0)  # opacities


@pytest.mark.parametrize(
    ("before", "after", "items", "movements"),
    [
        ({(1, 1): GHOST}, {(1, 2): GHOST}, (NOTHING, NOTHING), [(GHOST, (1, 1), (1, 2))]),
        ({(1, 1): YELLOW_KEY}, {}, (NOTHING, NOTHING), [(YELLOW_KEY, (1, 1), (1, 1), GONE)]),
        ({(2, 1): YELLOW_KEY}, {}, (NOTHING, YELLOW_KEY), [(YELLOW_KEY, (2, 1), (2, 2), GONE)]),
        ({}, {(4, 5): YELLOW_KEY}, (NOTHING, NOTHING), [(YELLOW_KEY, (4, 5), (4, 5), NEW)]),
        ({}, {(2, 1): YELLOW_KEY}, (YELLOW_KEY, NOTHING), [(YELLOW_KEY, (2, 2), (2, 1), NEW)]),
        (
            *({(1, 1): GHOST}, {(3, 3): GHOST}, (NOTHING, NOTHING)),
            [(GHOST, (3, 3), (3, 3), NEW), (GHOST, (1, 1), (1, 1), GONE)],
        ),
        (
            *({(1, 1): SHUT}, {(1, 1): OPEN}, (NOTHING, NOTHING)),
            [(OPEN, (1, 1), (1, 1), NEW), (SHUT, (1, 1), (1, 1), GONE)],
        ),
        ({(1, 0): GHOST}, {(1, 4): GHOST}, (NOTHING, NOTHING), [(GHOST, (1, 0), (1, 4))]),
        (
            *({(1, 0): GHOST, (1, 2): YELLOW_KEY}, {(1, 2): YELLOW_KEY, (1, 4): GHOST}),
            *((NOTHING, NOTHING), [(GHOST, (1, 4), (1, 4), NEW), (GHOST, (1, 0), (1, 0), GONE)]),
        ),
        (
            *({(1, 0): SHUT, (1, 3): SHUT}, {(1, 0): OPEN}, (NOTHING, NOTHING)),
            [
                (OPEN, (1, 0), (1, 0), NEW),
                (SHUT, (1, 0), (1, 0), GONE),
                (SHUT, (1, 3), (1, 0)),
            ],
        ),
    ],
    ids=[
        *("glides", "leaves", "taken", "comes", "put down", "jumps", "changes"),
        *("slides", "does not slide through what stays", "slides into another state"),
    ],
)
def test_what_moves(before, after, items, movements):
    frames = [
        replace(a_frame(cells, (2, 2, 1)), item=item)
        for cells, item in zip((before, after), items, strict=True)
    ]
    motion = find_motion(*frames)
    assert motion is not None
    assert motion.agent == (2, 2, 1)
    assert motion.movements == tuple(Movement(*movement) for movement in movements)
    begins = [(each.obj, each.start, each.opacity[0]) for each in motion.movements]
    ends = [(each.obj, each.goal, each.opacity[1]) for each in motion.movements]
    assert ([*motion.objects(0)], [*motion.objects(1)]) == (begins, ends)


def test_an_action_without_effect_shakes_the_agent_and_is_heard():
    still = a_frame({(1, 1): YELLOW_KEY, (4, 5): GHOST}, (2, 2, 1))
    blocked = replace(still, action="MOVE_FORWARD", steps=1)
    motion = find_motion(still, blocked)
    assert motion is not None
    assert motion.has_failed
    assert motion.shake(0) == 0 == motion.shake(1)
    assert abs(motion.shake(0.15)) > 5
    assert step_sound(still, blocked) == "bump"
    elsewhere = replace(a_frame({(1, 1): YELLOW_KEY, (4, 4): GHOST}, (2, 2, 1)), steps=1)
    for action, fails in (("MOVE_LEFT", True), ("ACTUATE", True), ("WAIT", False)):
        found = find_motion(still, replace(elsewhere, action=action))
        assert found is not None
        assert found.has_failed is fails
    assert find_motion(still, replace(still, action="WAIT", steps=1)) is None
    lost = replace(still, agent=(2, 3, 1), steps=1, outcome="terminated")
    won = replace(lost, success=True)
    motions = [find_motion(still, end) for end in (lost, won)]
    assert [found and found.has_failed for found in motions] == [True, False]


def test_a_pushed_object_moves_before_the_agent_and_is_heard():
    before = a_frame({(2, 3): GHOST}, (2, 2, 3))
    after = replace(a_frame({(2, 4): GHOST}, (2, 3, 3)), action="MOVE_FORWARD", steps=1)
    motion = find_motion(before, after)
    assert motion is not None
    assert motion.movements == (Movement(GHOST, (2, 3), (2, 4)),)
    assert step_sound(before, after) == "push"
    taken = replace(a_frame({}, (2, 3, 3)), action="MOVE_FORWARD", steps=1)
    assert step_sound(before, taken) == ""


def test_nothing_moves_where_all_is_the_same_or_all_is_different():
    still = a_frame({(1, 1): YELLOW_KEY})
    assert find_motion(still, still) is None
    assert find_motion(still, replace(still, grid=np.full((30, 30, 3), 3, np.uint8))) is None
    many = replace(still, grid=np.full((30, 30, 3), 2, np.uint8))
    assert find_motion(many, replace(many, grid=many.grid + 1)) is None


def test_a_movement_begins_at_the_old_place_and_ends_at_the_new_one():
    game, stage = a_stage("empty-8x8", "state")
    before, still = game.frame(), drawn(stage, (400, 400))
    game.step("TURN_RIGHT" if before.agent[2] == 0 else "MOVE_FORWARD")
    game.step("MOVE_FORWARD")
    assert game.frame().agent != before.agent
    assert stage.begin(before, replace(game.frame(), seen=before.seen))
    assert (drawn(stage, (400, 400)) != still).any()
    begun = np.abs(drawn(stage, (400, 400), 0.0).astype(int) - still).max(2) > 40
    assert begun.mean() < 0.02  # it may have turned a little otherwise
    assert not stage.begin(None, game.frame())


def test_a_movement_of_the_agent_passes_the_middle():
    still = a_frame({})
    game, stage = a_stage("empty-8x8", "state")
    stage.begin(replace(still, agent=(2, 2, 3)), replace(still, agent=(2, 3, 3)))
    bare = fresh_stage(game, "state")
    bare.begin(None, replace(still, agent=(-1, -1, 0)))
    size = (600, 500)
    places = [
        np.nonzero((drawn(stage, size, progress) != drawn(bare, size)).any(2))[1].mean()
        for progress in (0.0, 0.3, 0.6, 1.0)
    ]
    assert places == sorted(places)
    assert abs(places[-1] - places[0] - stage._state.cell_rect(0, 0).w) <= 2


# What the player points at


@pytest.mark.parametrize("turns", range(4))
def test_cells_of_the_observation_are_those_of_the_grid(turns: int):
    game, _ = a_stage(CROWD)
    for _ in range(turns):
        game.step("TURN_LEFT")
    frame = game.frame()
    height, width = frame.observation.shape[:2]
    seen = 0
    for i, j in product(range(height), range(width)):
        cell = frame.to_grid_cell(i, j)
        if cell is None:
            assert frame.observation[i, j, 0] == HIDDEN
            continue
        assert frame.to_view_cell(*cell) == (i, j)
        if frame.observation[i, j, 0] != HIDDEN:
            assert (frame.observation[i, j] == frame.grid[cell]).all()
            assert frame.seen[cell]
            seen += 1
    assert seen == frame.seen.sum() > 0
    assert frame.to_grid_cell(*frame.observer[:2]) == frame.agent[:2]
    assert frame.to_view_cell(-20, -20) is None


def test_a_click_chooses_the_cell_in_either_view():
    game, stage = a_stage()
    drawn(stage, (900, 500))
    for cell in ((0, 0), (4, 4), (8, 7)):
        assert stage.click(stage._state.cell_rect(*cell).center, 1) == ""
        assert stage._inspector.selected_cell == cell
    seen = game.frame().observer[0] - 1, game.frame().observer[1]
    stage.click(stage._observation.cell_rect(*seen).center, 1)
    assert stage._inspector.selected_cell == game.frame().to_grid_cell(*seen)
    stage.click((1, 1), 1)
    stage.click(stage._state.cell_rect(0, 0).center, 2)
    assert stage._inspector.selected_cell == game.frame().to_grid_cell(*seen)


def test_pointing_marks_the_cell_and_says_what_it_is():
    game, stage = a_stage()
    still = drawn(stage, (900, 500))
    door = next(zip(*np.nonzero(game.frame().grid[..., 0] == 5), strict=True))
    place = stage._state.cell_rect(*map(int, door))
    assert stage.hover(place.center)
    assert not stage.hover((place.x + 1, place.y + 1))
    assert stage._describe_cell(place.center) == (place, "locked yellow door")
    stage.is_research = True
    said = f"locked yellow door at row {door[0]}, column {door[1]}"
    assert stage._describe_cell(place.center) == (place, said)
    stage.is_research = False
    changed = (drawn(stage, (900, 500)) != still).any(2)
    assert changed[place.y, place.x : place.right].all()
    assert stage.hover(None)
    assert np.array_equal(drawn(stage, (900, 500)), still)
    assert not stage.hover((1, 1))
    stage.hover(place.center)
    game.step("TURN_LEFT")
    stage.begin(None, game.frame())
    with_mouse = drawn(stage, (900, 500))
    stage.hover(None)
    assert np.array_equal(drawn(stage, (900, 500)), with_mouse)
    agent = stage._state.cell_rect(*game.frame().agent[:2]).center
    assert "agent on floor" in str(stage._describe_cell(agent))


def test_the_held_object_is_drawn_and_named():
    game, stage = a_stage()
    well = pygame.Surface((40, 40), 0, 32)
    assert stage.draw_item(well, well.get_rect()) == ""
    assert not pygame.surfarray.array3d(well).any()
    stage.begin(None, replace(game.frame(), item=YELLOW_KEY))
    assert stage.draw_item(well, well.get_rect()) == "yellow key"
    assert pygame.surfarray.array3d(well).any()


@pytest.mark.parametrize("size", [(200, 100), (30, 30), (3, 3)], ids=str)
@pytest.mark.parametrize("scenario", ["empty-4x4", CROWD], ids=["small", "large"])
def test_thumbnails_show_the_whole_grid(scenario: Scenario | str, size: tuple[int, int]):
    _, stage = a_stage(scenario)
    surface = pygame.Surface((220, 120), 0, 32)
    surface.fill("#ff00ff")
    rect = pygame.Rect((10, 10), size)
    stage.draw_thumbnail(surface, rect)
    inside = pygame.surfarray.array3d(surface.subsurface(rect))
    assert (inside != (255, 0, 255)).any(2).sum() > 0.5 * min(size) ** 2
    surface.fill("#ff00ff", rect)
    assert (pygame.surfarray.array3d(surface) == (255, 0, 255)).all()


def test_the_agent_is_found_on_a_map_of_small_cells():
    game, stage = a_stage(CROWD, "state")
    drawn(stage, (60, 60))
    for _ in range(20):
        stage.command("zoom_out")
    assert stage._camera.cell == 1
    shown = drawn(stage, (60, 60))
    stage.begin(None, replace(game.frame(), agent=(-1, -1, 0)))
    ys, xs = np.nonzero((drawn(stage, (60, 60)) != shown).any(2))
    assert 4 <= np.ptp(ys) <= MIN_AGENT_SIZE
    assert 4 <= np.ptp(xs) <= MIN_AGENT_SIZE


# The ground


SHEET = SpriteSheet()
FREE = (FLOOR, 0, 0)


def a_row(things, ground) -> Frame:
    """One row of cells; the exit stands in for what lies on the ground."""
    beneath = np.zeros((1, 4, 3), np.uint8)
    beneath[0, :, 0] = ground
    grid = beneath.copy()
    grid[0, :, 0] = np.where(np.array(things) == FLOOR, ground, things)
    seen = np.ones(grid.shape[:2], np.bool_)
    return Frame("", grid, (0, 3, 0), (0, 0, 0), seen, grid, (0, 3, 0), beneath)


def tile(cell, below):
    found = encode_looks(np.array([[cell]], np.uint8), None, np.array([[below]], np.uint8))
    return TileCache(SHEET, 32, rgb=True)[found[0]][0].astype(int)


def test_a_thing_is_drawn_over_what_lies_beneath():
    over_exit = tile((KEY, 0, 4), (EXIT, 0, 0))
    alone, exit_alone = tile((KEY, 0, 4), FREE), tile((EXIT, 0, 0), (EXIT, 0, 0))
    changed = (over_exit != alone).any(-1)
    assert changed.any()
    assert (over_exit[changed] == exit_alone[changed]).all(-1).mean() > 0.5
    assert (over_exit != exit_alone).any()
    assert (tile((EXIT, 0, 0), (EXIT, 0, 0)) == tile((EXIT, 0, 0), FREE)).all()


def test_where_a_thing_has_gone_the_ground_is_left_and_does_not_come_or_go():
    before = a_row((KEY, FLOOR, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    after = a_row((FLOOR, KEY, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    found = find_motion(before, after)
    assert found is not None
    assert found.movements == (Movement((KEY, 0, 0), (0, 0), (0, 1)),)


def test_pictures_have_the_ground_in_the_state_and_in_what_is_seen():
    with_ground = a_row((MOVING_OBSTACLE, FLOOR, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    bare = a_row((MOVING_OBSTACLE, FLOOR, FLOOR, FLOOR), (FLOOR, FLOOR, EXIT, FLOOR))
    one, other = (GridRenderer(SHEET).draw(frame) for frame in (with_ground, bare))
    differs = (one != other).any(-1).any(0)
    for left in (0, 4 * 32 + 16):
        assert differs[left : left + 32].any()
        assert not differs[left + 32 : left + 4 * 32].any()


def test_what_is_not_seen_shows_no_ground():
    frame = a_row((KEY, FLOOR, FLOOR, FLOOR), (EXIT, FLOOR, EXIT, FLOOR))
    hidden = replace(frame, seen=np.zeros((1, 4), np.bool_))
    assert frame.visible_ground is not None
    assert hidden.visible_ground is not None
    assert frame.visible_ground[0, 0].tolist() == [EXIT, 0, 0]
    assert not hidden.visible_ground.any()


@pytest.mark.parametrize(("ground", "text"), [(EXIT, "Ke"), (FLOOR, "K ")])
def test_a_terminal_underlines_what_lies_upon_something(ground, text):
    frame = a_row((KEY, FLOOR, FLOOR, FLOOR), (ground, FLOOR, EXIT, FLOOR))
    line = GridTerminalView(None, DARK).draw(frame, "state", 20, 5)[0]
    assert line.plain.startswith(text)
    is_underlined = any("underline" in str(span.style) for span in line.spans)
    assert is_underlined == (ground == EXIT)


@pytest.mark.parametrize(
    ("keys", "is_dim"),
    [
        ({}, True),
        ({"view": "state"}, False),
        ({"view": "state", "dim": True}, True),
        ({"view": "explored"}, True),
        ({"dim": False}, False),
    ],
)
def test_cells_out_of_sight_are_dim_where_the_level_says_so(keys: dict[str, object], is_dim: bool):
    level = {
        "map": "#######\n#>#..E#\n#######",
        "transition_functions": ["move_agent"],
        "reward_functions": ["reach_exit"],
        "observation_function": {"name": "partially_occluded", "area": [[-6, 0], [-3, 3]]},
        "terminating_function": "reach_exit",
        **keys,
    }
    frame = Session(Scenario.load(level), 0).frame()
    assert not frame.seen[1, 4]
    assert (frame.lit is None) == (not is_dim)
    shown = GridRenderer(SpriteSheet(types=frame.types), "state", 32).draw(frame)
    bright = GridRenderer(SpriteSheet(types=frame.types), "state", 32).draw(
        replace(frame, is_dim=False)
    )
    assert np.array_equal(shown[32:64, 32:64], bright[32:64, 32:64])  # where the agent is
    assert np.array_equal(shown[32:64, 128:160], bright[32:64, 128:160]) == (not is_dim)


WATCHED = """\
##########
#>..r..#.#
#...#..#.#
#r..g....#
#l..####u#
#r..w....#
#dE.....l#
##########
"""
GUARDED = {
    "map": WATCHED,
    "objects": {
        "Guard": {"states": ["FORWARD", "BACKWARD", "LEFT", "RIGHT"]},
        "Grass": {"components": ["Opaque"]},
        "Glass": {"components": ["Solid"]},
    },
    "legend": {
        "g": "Grass",
        "w": "Glass",
        **{
            letter: {"object": "Guard", "state": state}
            for letter, state in zip("udlr", ("FORWARD", "BACKWARD", "LEFT", "RIGHT"), strict=True)
        },
    },
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "partially_occluded", "area": [[-6, 0], [-3, 3]]},
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [
            *("reach_exit", {"name": "seen", "object_type": "Guard", "reach": 6}),
        ],
    },
}


@pytest.mark.parametrize("level", ["patrol", GUARDED])
def test_guards_show_all_cells_in_which_they_would_see_the_agent(level: str | dict[str, Any]):
    scenario = Scenario.load(level)
    game = Session(scenario, 0)
    world = cast(GridEpisode, game._episode).world
    calls = (each for end in scenario.calls(TERMINATING) for each in end.walk())
    (call,) = (each for each in calls if each.name == "seen")
    for _ in range(4):
        shown = {cell for cells in game.frame().watched.values() for cell in cells}
        row, free = world.snapshot(), set[tuple[int, int]]()
        for y, x in np.ndindex(world.height, world.width):
            if can_enter(world, y, x):
                free.add((y, x))
                world.stand(1, y, x)
                assert ((y, x) in shown) == call.system.function(world, 1, **call.arguments)
        world.restore(row)
        assert shown & free
        game.step("TURN_LEFT")


def test_what_guards_see_is_drawn_where_the_player_knows_of_it():
    game = Session(Scenario.load(GUARDED), 0)
    frame = game.frame()
    bare = replace(frame, watched={})
    for view, cell in (("state", 32), ("explored", 32)):
        shown, plain = (
            GridRenderer(SpriteSheet(types=frame.types), view, cell).draw(each)
            for each in (frame, bare)
        )
        tinted = (shown != plain).reshape(8, cell, 10, cell, 3).any((1, 3, 4))
        watched = {each for cells in frame.watched.values() for each in cells}
        known = frame.limit_to_explored().watched
        if view == "explored":
            watched = {each for cells in known.values() for each in cells}
        assert {(y, x) for y, x in np.argwhere(tinted).tolist()} == watched
    assert {*known} == {guard for guard in frame.watched if frame.seen[guard]}
    assert known
    assert len(known) < len(frame.watched)


@pytest.mark.parametrize("turns", [True, False])
def test_an_agent_shows_its_full_sight_whichever_way_it_looks(turns: bool):
    area = {"area": [[-6, 0], [-3, 3]]} if turns else {"area": 4, "turns": False}
    name = "partially_occluded" if turns else "raytracing"
    game = Session(Scenario.load({**GUARDED, "observation_function": {"name": name, **area}}), 0)
    for _ in range(4):
        frame = game.frame()
        for cell in np.ndindex(frame.grid.shape[:2]):
            at = frame.to_view_cell(*cell)
            assert frame.seen[cell] == (at is not None and frame.observation[at][0] != HIDDEN)
        assert frame.seen.sum() > 3
        game.step("TURN_LEFT")
