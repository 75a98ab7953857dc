"""What a policy does and expects in each cell: asked, drawn over the grid, shown in the window."""

from pathlib import Path
from typing import Any

import imageio.v3
import numpy as np
import pytest

from gv_engine import GridVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.learning import load_policy
from gv_engine.play.grid import overlay
from gv_engine.play.grid.policy_map import PolicyMapper
from gv_engine.play.session.autoplay import (
    PolicyAutoplayer,
    PolicyMaps,
    iter_mapped_frames,
    play_steps,
)
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.session import Session
from gv_engine.play.ui.screens.autoplay import AutoplayScreen
from gv_engine.play.validation.solver import SearchLimitError, Solver, Verdict
from gv_engine.rules.frame import PolicyMap
from tests.desk import Desk
from tests.learning.drawn import drawn
from tests.player import started
from tests.screen import Screen, until

LEVEL, SEED, CELL = "keydoor-5x5", 3, 40


def finished(steps: Any) -> PolicyMap:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def walked(*actions: str) -> Session:
    session = Session(load_playable(LEVEL), SEED)
    for action in actions:
        session.step(action)
    return session


def edited_row(row: Any, y: int, x: int, facing: int) -> Any:
    """Return the state with the agent elsewhere, by its numbers alone."""
    row = row.copy()
    row["position"]["y"][1], row["position"]["x"][1] = y, x
    row["agent"]["facing"][1] = facing
    return row


def compare_with_policy(run: str) -> PolicyMap:
    """Compute a map, and ask the policy in an environment for each cell of it."""
    session = walked("TURN_LEFT", "MOVE_FORWARD")
    policy_map = finished(PolicyMaps(run).start(session))
    env = GridVectorEnv(LEVEL, 1, world="object", autoreset_mode="Disabled")
    env.reset(seed=SEED)
    policy, grid = load_policy(run), session.frame().grid
    for y, x, facing in np.ndindex(policy_map.values.shape):
        names = {kind.name for kind in session.frame().types if kind.index == grid[y, x, 0]}
        if names <= {"Floor", "Key"}:
            observation, info = env.restore(edited_row(session.row(), y, x, facing), 0)
            policy.begin([0])
            policy.act(observation, info, [np.random.default_rng(0)])
            assert policy.values is not None
            assert policy.probabilities is not None
            assert policy_map.values[y, x, facing] == policy.values[0]
            assert (policy_map.probabilities[y, x, facing] == policy.probabilities[0]).all()
        else:
            assert names <= {"Wall", "Door", "Exit"}
            assert np.isnan(policy_map.values[y, x, facing])
    assert policy_map.visits.sum() == 3
    assert policy_map.visits[session.frame().agent[:2]] > 0
    return policy_map


@pytest.mark.parametrize("memory", [False, True])
def test_a_map_has_what_the_policy_says_in_each_cell(here: Path, memory: bool):
    drawn(here / "run", memory=memory)
    compare_with_policy("run")


def compare_with_picture(run: str) -> None:
    """Record pictures of a policy with and without its map, and compare them with its arrays."""
    words = ["--policy", run, "--seed", str(SEED), "--view", "state", "--cell", str(CELL)]
    words += ["--steps", "2"]
    assert main(["record", LEVEL, "bare.png", *words]) == 0
    assert main(["record", LEVEL, "map.png", *words, "--overlay"]) == 0
    bare, shown = (imageio.v3.imread(name).astype(float) for name in ("bare.png", "map.png"))
    session = Session(load_playable(LEVEL), SEED)
    play_steps(session, run, 2)
    *_, frame = iter_mapped_frames(session, run)
    policy_map = frame.policy_map
    assert policy_map is not None
    best = np.nanmax(np.nan_to_num(policy_map.values, nan=-np.inf), -1)
    low, high = best[np.isfinite(best)].min(), best.max()
    for y, x in np.ndindex(best.shape):
        part = slice(y * CELL, (y + 1) * CELL), slice(x * CELL, (x + 1) * CELL)
        if not np.isfinite(best[y, x]):
            assert (bare[part] == shown[part]).all()
            continue
        share = (best[y, x] - low) / (high - low)
        mixed = (1 - share) * np.array([38, 60, 160]) + share * np.array([255, 222, 60])
        edge = part[0].start + CELL // 2, part[1].start  # arrows and numbers are elsewhere
        expected = bare[edge] + (mixed - bare[edge]) * 130 / 255
        assert np.abs(shown[edge] - expected).max() <= 2
        facing = int(np.nan_to_num(policy_map.values[y, x], nan=-np.inf).argmax())
        chances = policy_map.probabilities[y, x, facing]
        action = policy_map.actions[int(chances.argmax())]
        size = CELL * (0.4 + 0.6 * chances.max())
        points = overlay.arrow_points(action, facing)
        for dx, dy in points or [(0.2 * [0, 0, -1, 1][facing], 0.2 * [-1, 1, 0, 0][facing])]:
            center = int(y * CELL + CELL / 2 + dy * size), int(x * CELL + CELL / 2 + dx * size)
            assert (shown[center] > 240).all(), (action, facing, y, x)


def test_the_picture_has_the_colours_and_arrows_of_the_arrays(here: Path):
    drawn(here / "run")
    compare_with_picture("run")


@pytest.mark.parametrize(
    ("action", "facing", "way"),
    [
        ("MOVE_FORWARD", 0, (0, -1)),
        ("MOVE_FORWARD", 3, (1, 0)),
        ("MOVE_BACKWARD", 3, (-1, 0)),
        ("MOVE_LEFT", 0, (-1, 0)),
        ("MOVE_RIGHT", 1, (-1, 0)),
        ("TURN_LEFT", 0, (-1, 0)),
        ("TURN_RIGHT", 2, (0, -1)),
    ],
)
def test_arrows_point_where_the_action_goes(action: str, facing: int, way: tuple[int, int]):
    *_, before, tip = overlay.arrow_points(action, facing)
    assert np.sign(np.round(np.subtract(tip, before), 9)).tolist() == [*way]


def test_actions_that_go_nowhere_are_dots():
    assert overlay.arrow_points("ACTUATE", 0) == []


@pytest.mark.compiled
def test_the_map_of_the_solver_counts_the_steps_of_shortest_solutions():
    session, solver = walked("TURN_LEFT"), Solver(Scenario.load(LEVEL))
    mapper = PolicyMapper(Scenario.load(LEVEL), "solver")
    policy_map = finished(mapper.map_row(session.row(), {}))
    mapper.close()
    for y, x, facing in np.argwhere(~np.isnan(policy_map.values)).tolist():
        solution = solver.solve_from(edited_row(session.row(), y, x, facing))
        assert solution.verdict is Verdict.WON
        assert policy_map.values[y, x, facing] == -len(solution.actions)
        assert policy_map.probabilities[y, x, facing, solution.actions[0]] > 0
        assert policy_map.probabilities[y, x, facing].sum() == pytest.approx(1)
    assert (~np.isnan(policy_map.values)).sum() >= 16


@pytest.mark.compiled
def test_the_solver_maps_one_of_several_agents_as_if_the_others_did_nothing():
    agents = {"number": 3, "turns": "fixed", "ends": "any"}
    race = Scenario.load({"extends": "race", "agents": agents})
    session, solver = Session(race, 0), Solver(race, agent=2)
    maps = PolicyMapper(race, "solver", 2)
    policy_map = finished(maps.map_row(session.row(), {}))
    maps.close()
    assert "if other agents do nothing, visits" in overlay.describe_values(policy_map)
    (y, x), facing = session.frame().marks[1].cell, 3
    assert policy_map.values[y, x, facing] == -len(solver.solve(0).actions)


def test_a_policy_with_a_memory_says_that_it_is_asked_without_it():
    session = Session(load_playable("memory-9x9"), 0)
    policy_map = finished(PolicyMaps("trained").start(session))
    text = overlay.describe_values(policy_map)
    assert text.endswith("likely actions without memory of the episode, visits")
    plain = finished(PolicyMaps("valid").start(session))
    assert overlay.describe_values(plain) == "likely actions, visits"
    empty = plain._replace(probabilities=np.full_like(plain.probabilities, np.nan))
    assert overlay.describe_values(empty) == "no values or actions, visits"


@pytest.mark.compiled
def test_a_search_of_too_many_states_is_refused():
    solver, session = Solver(Scenario.load(LEVEL), states=20), walked()
    with pytest.raises(SearchLimitError, match="states are too many to search"):
        solver.count_steps(session.row()[None])


def test_one_of_several_agents_is_mapped_and_others_stay():
    session = Session(load_playable("hold-plates"), 0)
    policy_map = finished(PolicyMaps("valid").start(session))
    others = [mark.cell for mark in session.frame().marks[1:]]
    assert others
    assert all(np.isnan(policy_map.probabilities[cell]).all() for cell in others)
    assert not np.isnan(policy_map.probabilities[session.frame().agent[:2]]).all()
    assert np.isnan(policy_map.value_range()).all()


def test_an_agent_without_a_policy_is_mapped_as_one_that_acts_at_random():
    session = Session(load_playable("hold-plates"), 0)
    first, second = session.agents[:2]
    policy_map = finished(PolicyMaps(f"{second}=valid").start(session))
    everywhere = finished(PolicyMaps(f"{first}=random").start(session))
    assert np.array_equal(policy_map.probabilities, everywhere.probabilities, equal_nan=True)


def test_what_has_no_cells_has_no_map(here: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("2048", "mathy-poly-simplify-easy"):
        assert main(["record", name, "a.png", "--overlay"]) != 0
        assert "has no overlay of random" in capsys.readouterr().err
    assert not list(here.iterdir())


def test_agents_that_cannot_turn_keep_their_facing():
    scenario = Scenario.load("pogema-8x8-4a")
    session = Session(scenario, 0)
    policy_map = finished(PolicyMapper(scenario, "valid").map_row(session.row(), {}))
    known = ~np.isnan(policy_map.probabilities[..., 0])
    assert known.any()
    assert (known.sum(-1) <= 1).all()


LOOKS_NORTH = """
from gv_engine import TERMINATING, World, system


@system(TERMINATING)
def looks_north(w: World, agent: int) -> bool:
    '''The agent faces north.'''
    return w.agent.facing[agent] == 0
"""


def test_places_whose_facing_ends_the_episode_are_left_out(here: Path):
    (here / "rules.py").write_text(LOOKS_NORTH)
    text = "extends: empty-4x4\nterminating_function: ./rules.py:looks_north\n"
    (here / "looking.yaml").write_text(text)
    scenario = Scenario.load("looking.yaml")
    row = Session(scenario, 0).row()
    policy_map = finished(PolicyMapper(scenario, "valid").map_row(row, {}))
    known = ~np.isnan(policy_map.probabilities[..., 0])
    assert known.sum((0, 1)).tolist() == [0, 4, 4, 4]


@pytest.mark.window
def test_v_shows_the_values_while_the_agent_acts(desk: Desk, tmp_path: Path):
    drawn(tmp_path / "run")
    desk.start()
    game = Session(load_playable(LEVEL), SEED)
    desk.app.watch_agent(game, PolicyAutoplayer(game, str(tmp_path / "run")))
    desk.press("F8")  # pause
    screen = desk.top(AutoplayScreen)
    bare = desk.look()
    desk.press("V")
    until(lambda: _is_mapped(desk), "the values")
    assert (screen.shows_values, screen.stage.view) == (True, "state")
    stage: Any = screen.stage
    first = stage._policy_map
    expected = finished(PolicyMaps(str(tmp_path / "run")).start(game))
    assert np.array_equal(first.values, expected.values, equal_nan=True)
    assert not np.array_equal(bare, desk.look())
    desk.press("F10")  # one step of it
    until(lambda: _is_mapped(desk) and stage._policy_map is not first, "those of the next state")
    assert stage._policy_map.visits.sum() == 2
    at = stage._state.cell_rect(*game.frame().agent[:2]).center
    desk.point(at)
    text = stage._describe_cell(at)[1]
    assert "value " in text
    assert "visits: " in text
    desk.press("V")
    assert (screen.shows_values, screen.stage.view) == (False, "state")
    assert stage._policy_map is None
    assert desk.app.settings.view != "values"
    desk.press("V", "V", "V")
    assert screen.stage.view == "both"


def _is_mapped(desk: Desk) -> bool:
    desk.wait(0.02)
    screen = desk.top(AutoplayScreen)
    stage: Any = screen.stage
    return screen._map_steps is None and stage._policy_map is not None


@pytest.mark.compiled
def test_a_trained_policy_and_its_picture_agree_with_its_arrays(here: Path):
    pytest.importorskip("torch")
    words = ["--steps", "40000", "--seed", "0", "--out", "run"]
    assert main(["train", LEVEL, *words]) == 0
    policy_map = compare_with_policy("run")
    compare_with_picture("run")
    session = walked("TURN_LEFT", "MOVE_FORWARD")
    shortest = finished(PolicyMaps("solver").start(session)).probabilities
    known = ~np.isnan(policy_map.values)
    assert np.array_equal(known, ~np.isnan(shortest).any(-1))
    likely = policy_map.probabilities[known].argmax(-1)
    good = shortest[known][range(len(likely)), likely] > 0
    assert good.mean() > 0.5  # most arrows are on a shortest way


@pytest.mark.thorough
@pytest.mark.slow
def test_values_are_seen_by_real_keys(
    screen: Screen, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    drawn(folder / "run")
    words = ["play", LEVEL, "--seed", str(SEED), "--policy", "run"]
    with started(screen, folder, *words) as player:
        desk = player.desk
        desk.start()
        game = Session(load_playable(LEVEL), SEED)
        desk.app.watch_agent(game, PolicyAutoplayer(game, "run"))
        until(lambda: len(np.unique(player.picture())) > 50, "the level")

        def is_same() -> bool:
            desk.wait(0.02)
            return player.sees_the_same()

        player.presses("F8", "R")  # it has taken some steps meanwhile
        until(is_same, "the first state")
        player.presses("V")
        until(is_same, "its values")
        player.presses("F10", "F10")
        until(is_same, "the values of the third state")
        stage: Any = desk.top(AutoplayScreen).stage
        assert stage._policy_map.visits.sum() == 3
        player.presses("V")
        until(is_same, "the state alone")
        player.leaves()
