"""The inspector: what it finds out about a world, and its panel."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.objects import BOX, KEY
from gv_engine import VISIBILITY, Scenario, system
from gv_engine.envs.representations import REPRESENTATIONS, Representation
from gv_engine.play.grid.stage import GridStage
from gv_engine.play.session.inspection import Entity, Inspection, describe_numbers
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import THEMES
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.rules.component import AGENT
from gv_engine.rules.system import REGISTRIES, get_system
from gv_engine.world.simulation import Simulation
from tests.games import LINE


def a_look(
    scenario: Scenario | str = "keydoor-9x9", seed: int = 1
) -> tuple[Inspection, Simulation]:
    found = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    simulation = Simulation(found)
    simulation.reset(np.random.default_rng(seed))
    inspection = Inspection(found)
    inspection.load(simulation.world.snapshot())
    return inspection, simulation


def the(entities: tuple[Entity, ...], name: str) -> dict[str, Any]:
    """Component by component, the fields of the entity that is called so."""
    entity = next(entity for entity in entities if entity.name == name)
    return {part.name: dict(part.fields) for part in entity.parts}


def test_a_cell_tells_its_entities_components_and_values():
    inspection, simulation = a_look()
    grid = simulation.world.cells()
    y, x = (int(k[0]) for k in np.nonzero(grid[..., 0] == 5))
    door = the(inspection.cell(y, x), "locked yellow door")
    assert door["Door"] == {"status": "2 LOCKED"}
    assert door["Color"] == {"value": "4 YELLOW"}
    assert door["Kind"] == {"value": "5 Door"}
    assert door["Position"] == {"y": str(y), "x": str(x)}
    assert inspection.cell(y, x)[0].number == simulation.world.at[y, x]


def test_free_floor_has_no_entity_and_the_agent_stands_on_it():
    inspection, simulation = a_look()
    y, x = simulation.world.position.y[AGENT], simulation.world.position.x[AGENT]
    assert [entity.name for entity in inspection.cell(y, x)] == ["agent"]
    assert the(inspection.cell(y, x), "agent")["Agent"]["facing"] in ("0 FORWARD", "3 RIGHT")
    free = np.argwhere(simulation.world.cells()[..., 0] == 2)[-1]
    assert inspection.cell(*free.tolist()) == ()
    for outside in ((9, 0), (-1, 0), (0, 9), (0, -1)):
        with pytest.raises(IndexError, match="rows 0 to 8 and columns 0 to 8"):
            inspection.cell(*outside)


def test_what_the_agent_holds():
    inspection, simulation = a_look()
    world = simulation.world
    key = next(e for e in range(2, world.capacity) if world.alive[e] and world.key.has[e])
    world.lift(key)
    world.agent.holding[AGENT] = key
    inspection.load(world.snapshot())
    held = inspection.agent().holds["Agent.holding"]
    assert (held.number, held.name) == (key, "yellow key")
    assert the((held,), "yellow key")["Position"] == {"y": "-1", "x": "-1"}


def test_what_is_in_a_box():
    things = {"objects": ["Wall", "Floor", "Exit", "Box", "Key"], "colors": ["NONE", "RED"]}
    inspection, simulation = a_look(Scenario.load({**LINE, "state_space": things}))
    world = simulation.world
    with world.context:
        box, key = world.spawn(BOX), world.spawn(KEY)
        world.place(box, 0, 1)
    world.box.content[box] = key
    world.color.value[key] = 1
    inspection.load(world.snapshot())
    (found,) = inspection.cell(0, 1)
    assert found.name == "box"
    assert found.holds["Box.content"].name == "red key"


def test_looking_changes_nothing_and_repeats():
    inspection, simulation = a_look("memory-9x9")
    row = simulation.world.snapshot()
    before = row.tobytes()
    for function in REGISTRIES[VISIBILITY]:
        first, again = inspection.visible_cells(function), inspection.visible_cells(function)
        assert np.array_equal(first.seen, again.seen)
    inspection.load(row)
    inspection.actions()
    assert row.tobytes() == before


@pytest.mark.parametrize("name", ["keydoor-9x9", "memory-9x9", "teleport-7x7"])
def test_the_scenario_s_own_visibility_sees_what_the_agent_saw(name: str):
    inspection, simulation = a_look(name)
    shown = np.zeros((*simulation.scenario.area.shape, 3), np.uint8)
    simulation.observe(shown, np.zeros(3, np.uint8))
    sight = inspection.visible_cells(simulation.scenario.visibility.name)
    inside = sight.seen & (simulation.view.entity != -1)
    assert np.array_equal(inside, shown[..., 0] != 1)
    assert sight.on_grid.sum() == inside.sum()
    assert sight.problem == ""


def test_each_visibility_function_sees_its_own():
    inspection, _ = a_look(seed=3)
    everything = inspection.visible_cells("fully_transparent")
    assert everything.seen.all()
    occluded = inspection.visible_cells("partially_occluded")
    assert 0 < occluded.seen.sum() < everything.seen.sum()
    with pytest.raises(KeyError, match="fully_transparent"):
        inspection.visible_cells("fully_transparant")


def test_a_visibility_function_that_cannot_be_shown_says_why(monkeypatch):
    def fails(w: Any, agent: int, view: Any) -> None:
        """Never sees."""
        raise ZeroDivisionError("no light")

    def needs(w: Any, agent: int, view: Any, radius: int) -> None:
        """Sees so far."""

    def never(radius: int) -> str:
        return f"radius {radius} is too much"

    def refuses(w: Any, agent: int, view: Any, radius: int = 3) -> None:
        """Sees so far."""

    registry = REGISTRIES[VISIBILITY]
    monkeypatch.setattr(registry, "_systems", dict(registry._systems))
    registry.add(get_system(system(VISIBILITY)(fails)))
    registry.add(get_system(system(VISIBILITY)(needs)))
    registry.add(get_system(system(VISIBILITY, check=never)(refuses)))
    inspection, _ = a_look()
    assert inspection.visible_cells("fails").problem == "it fails: ZeroDivisionError: no light"
    assert not inspection.visible_cells("fails").seen.any()
    assert "'radius'" in inspection.visible_cells("needs").problem
    assert inspection.visible_cells("refuses").problem == "radius 3 is too much"


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_the_arrays_are_those_that_the_agent_gets(representation: str):
    inspection, simulation = a_look()
    grid, item = np.zeros((*simulation.scenario.area.shape, 3), np.uint8), np.zeros(3, np.uint8)
    simulation.observe(grid, item)
    kind, state, color = item.tolist()
    arrays = inspection.observation(representation, grid, (kind, state, color))
    wanted = Representation.of_observation(simulation.scenario, representation)
    assert wanted.space.contains(arrays)
    assert np.array_equal(arrays["grid"], wanted.codes(grid))


def test_actions_are_those_that_would_do_something():
    inspection, simulation = a_look()
    mask = np.zeros(len(simulation.scenario.actions), np.int8)
    simulation.valid_actions(mask)
    assert list(inspection.actions().values()) == mask.astype(bool).tolist()
    assert list(inspection.actions())[:2] == ["MOVE_FORWARD", "MOVE_BACKWARD"]


# The panel


def a_panel(page: int = 0, name: str = "keydoor-9x9") -> tuple[Session, GridStage]:
    game = Session(Scenario.load(name), 1)
    stage = GridStage(game, THEMES["light"])
    stage.side_panel = stage.side_panels[0]
    stage.begin(None, game.frame())
    for _ in range(page):
        stage._inspector.command("next_tab")
    return game, stage


def drawn(stage: GridStage, size: tuple[int, int] = (360, 400)) -> NDArray[np.uint8]:
    surface = pygame.Surface(size, 0, 32)
    stage._inspector.draw(surface, surface.get_rect(), 14)
    return pygame.surfarray.array3d(surface)


def texts(stage: GridStage) -> list[str]:
    """What the lines of the page say."""
    drawn(stage)
    return [
        " ".join(filter(None, (row.label, row.value, *row.columns)))
        for row in stage._inspector._lines
    ]


def test_pages_are_turned_by_commands_and_by_the_mouse():
    _, stage = a_panel()
    pages = []
    for _ in range(6):
        pages.append(drawn(stage).tobytes())
        assert stage._inspector.command("next_tab")
    assert pages[0] == pages[5]
    assert len(set(pages)) == 5
    button = next(rect for rect, name in stage._inspector._buttons if name == "Actions")
    press = pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=button.center)
    assert stage._inspector.event(press)
    assert "Turn left does something" in texts(stage)
    assert not stage._inspector.event(pygame.event.Event(pygame.MOUSEMOTION, pos=button.center))
    stage._inspector.command("previous_tab")
    drawn(stage)
    assert "partially_occluded" in [name for _, name in stage._inspector._buttons]


def test_the_panel_follows_the_game():
    game, stage = a_panel(page=1)
    before = texts(stage)
    assert "facing 3 RIGHT" in before
    previous = game.frame()
    game.step("TURN_LEFT")
    stage.begin(previous, game.frame())
    assert "facing 0 FORWARD" in texts(stage)


def test_cells_are_chosen_by_commands_and_stay_inside():
    _, stage = a_panel()
    assert texts(stage)[0] == "cell row 1, column 1"
    for _ in range(3):
        assert stage._inspector.command("cell_up")
    assert texts(stage)[:2] == ["cell row 0, column 1", "wall entity 3"]
    for _ in range(20):
        stage._inspector.command("cell_right")
        stage._inspector.command("cell_down")
    assert texts(stage)[0] == "cell row 8, column 8"


def test_the_stage_is_lit_by_the_visibility_that_is_chosen():
    assert [a_panel(page)[1]._inspector.lit for page in (0, 3)] == [None, None]
    game, stage = a_panel(page=3)
    shown: set[bytes] = set()
    for _ in REGISTRIES[VISIBILITY]:
        stage._inspector.command("next_choice")
        bright = stage._inspector.lit
        assert bright is not None
        assert bright.shape == game.frame().grid.shape[:2]
        shown.add(bright.tobytes())
        surface = pygame.Surface((300, 300), 0, 32)
        stage.draw(surface, surface.get_rect(), 1)
    assert len(shown) > 1
    stage._inspector.command("next_choice")
    assert stage._inspector.lit is None


def test_representations_are_chosen():
    _, stage = a_panel(page=2)
    pages = set()
    for _ in REPRESENTATIONS:
        pages.add(tuple(texts(stage)))
        stage._inspector.command("next_choice")
    assert len(pages) == len(REPRESENTATIONS)
    assert tuple(texts(stage)) in pages


def test_long_pages_scroll_and_end():
    _, stage = a_panel(page=2)
    top = drawn(stage, (360, 200)).tobytes()
    assert stage._inspector.command("scroll_down")
    assert drawn(stage, (360, 200)).tobytes() != top
    while stage._inspector.command("scroll_down"):
        pass
    wheel = pygame.event.Event(pygame.MOUSEWHEEL, y=-1)
    assert not stage._inspector.event(wheel)
    assert stage._inspector._first_line + stage._inspector._num_visible_lines == len(
        stage._inspector._lines
    )
    while stage._inspector.command("scroll_up"):
        pass
    assert drawn(stage, (360, 200)).tobytes() == top


@pytest.mark.parametrize("size", [(360, 400), (120, 90), (40, 20), (3, 3)], ids=str)
def test_nothing_is_drawn_outside_the_panel(size: tuple[int, int]):
    _, stage = a_panel()
    for _ in range(5):
        surface = pygame.Surface((600, 600), 0, 32)
        surface.fill("#ff00ff")
        rect = pygame.Rect((50, 60), size)
        stage._inspector.draw(surface, rect, 14)
        surface.fill("#ff00ff", rect)
        assert (pygame.surfarray.array3d(surface) == (255, 0, 255)).all()
        stage._inspector.command("next_tab")


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_numbers_are_told_with_their_meaning(representation: str):
    scenario = Scenario.load("keydoor-5x5")
    door, wall = scenario.types["Door"].index, scenario.types["Wall"].index
    shown = np.zeros((*scenario.area.shape, 3), np.uint8)
    shown[..., 0] = wall
    shown[0, 0], shown[0, 1] = (door, 2, 4), (door, 0, 4)
    inspection = Inspection(scenario)
    numbers = inspection.observation(representation, shown, (0, 0, 0))["grid"]
    kinds, states, colors = describe_numbers(numbers, shown, scenario.types)
    assert [
        (kinds[kind], states[state], colors[color])
        for kind, state, color in numbers.reshape(-1, 3)[:3].tolist()
    ] == [
        ("door", "locked door", "yellow"),
        ("door", "open door", "yellow"),
        ("wall", "no state" if representation == "compact" else "open door", "no colour"),
    ]
