"""Views with `turns: no` keep the top of the grid up, in both worlds and in all forms."""

from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, GridEnv, Scenario, ScenarioError, load_scenario
from gv_engine.envs.rollout.network_spec import ScenarioSpec
from gv_engine.play.session.session import Session
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, RIGHT, TURN_RIGHT, to_relative

LEVEL: dict[str, Any] = {
    "max_steps": 40,
    "objects": {"Belt": {"layer": "ground", "states": ["FORWARD", "BACKWARD", "LEFT", "RIGHT"]}},
    "agents": {"number": 2},
    "map": "########\n#..D.K.#\n#.#uuu.#\n#...>r.#\n#.E..<.#\n########",
    "legend": {k: {"object": "Belt", "state": s} for k, s in (("u", "FORWARD"), ("r", "RIGHT"))},
    "transition_functions": ["move_agent", "turn_agent", "pickndrop", "actuate_door"],
    "reward_functions": ["living_reward"],
    "observation": {"state": ["agent.facing"]},
    "terminating_function": "reach_exit",
}
QUARTERS = {FORWARD: 0, LEFT: 1, BACKWARD: 2, RIGHT: 3}
"""Quarter turns to the left from a view that turns to one that does not."""


def level(turns: bool, name: str = "fully_transparent", **others: Any) -> Scenario:
    sight = {"name": name, "area": [[-3, 3], [-3, 3]], "turns": turns}
    scenario = load_scenario({**LEVEL, "observation_function": sight, **others})
    assert isinstance(scenario, Scenario)
    return scenario


def turn_up(cells: np.ndarray[Any, Any], facing: int, kinds: set[int]) -> np.ndarray[Any, Any]:
    """Cells of a view that turns, as one that does not turn shows them."""
    out = np.rot90(cells, QUARTERS[facing]).copy()
    for cell in np.ndindex(out.shape[:2]):
        if int(out[cell][0]) in kinds:
            out[cell][1] = next(d for d in range(4) if to_relative(d, facing) == out[cell][1])
    return out


@pytest.mark.compiled_elsewhere  # by test_everything
@pytest.mark.parametrize("name", ["fully_transparent", "raytracing"])
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_it_shows_what_a_view_that_turns_shows_with_the_top_of_the_grid_up(world, name):
    rng = np.random.default_rng(1)
    envs = [
        AgentsVectorEnv(level(turns, name), 4, observation_representation="layers", world=kind)
        for turns, kind in ((True, "object"), (False, world))
    ]
    kinds = {kind.index for kind in envs[0].scenario.types if kind.is_oriented}
    shown = [env.reset(seed=3)[0] for env in envs]
    faced = set()
    for _ in range(40):
        turned, upright = shown
        for i, facing in enumerate(turned["state"][..., 0].ravel().tolist()):
            faced.add(facing)
            cells, found = (shown["grid"].reshape(-1, 7, 7, 6)[i] for shown in (turned, upright))
            for layer in (slice(0, 3), slice(3, 6)):
                expected = turn_up(cells[..., layer], facing, kinds)
                np.testing.assert_array_equal(found[..., layer], expected)
        actions = rng.integers(envs[0].single_action_space.n, size=envs[0].action_space.shape)
        shown = [env.step(actions)[0] for env in envs]
    assert faced == {FORWARD, BACKWARD, LEFT, RIGHT}


def one_agent(turns: bool) -> Scenario:
    return level(turns, agents={"number": 1}, map=LEVEL["map"].replace("<", "."))


def test_text_and_pictures_show_where_the_agent_faces():
    env = GridEnv(one_agent(False), observation_representation="text", world="object")
    env.reset(seed=0)
    texts = [env.step(TURN_RIGHT)[0] for _ in range(3)]
    assert [next(c for c in "^v<>" if c in text) for text in texts] == ["v", "<", "^"]
    places = [next(line for line in text.split("\n") if "door" in line) for text in texts]
    ways = "2 behind, 1 right", "1 ahead, 2 right", "2 ahead, 1 left"
    assert places == [f"locked yellow door: {way}" for way in ways]
    form = {"name": "pixels", "cell": 32}
    pictures = GridEnv(one_agent(False), observation_representation=form, world="object")
    frames = [pictures.reset(seed=0)[0]["pixels"].copy()]
    frames += [pictures.step(TURN_RIGHT)[0]["pixels"].copy() for _ in range(4)]
    own = [frame[96:128, 96:128].astype(int) for frame in frames]
    assert (frames[0] == frames[4]).all()
    for k in range(4):
        turned, upright = (np.abs(np.rot90(own[k], by) - own[k + 1]).mean() for by in (-1, 0))
        assert turned < upright / 4
        frames[k][96:128, 96:128] = frames[4][96:128, 96:128]
        assert (frames[k] == frames[4]).all()  # nothing else moves


def test_frames_map_cells_between_grid_and_view():
    game = Session(one_agent(False), seed=0)
    for _ in range(4):
        game.step("TURN_RIGHT")
        frame = game.frame()
        y, x, facing = frame.agent
        assert frame.observer == (3, 3, facing)
        assert frame.to_view_cell(y - 1, x + 2) == (2, 5)
        assert frame.to_grid_cell(2, 5) == (y - 1, x + 2)


def test_policies_of_views_that_turn_do_not_fit():
    turning, upright = (ScenarioSpec.of_scenario(one_agent(turns)) for turns in (True, False))
    assert turning.find_mismatch(upright) == (
        "a view of 7×7 cells",
        "a view of 7×7 cells that does not turn",
    )


def test_whatever_is_no_truth_value_is_an_error():
    with pytest.raises(ScenarioError, match=r"observation_function\.turns: found 'north'"):
        level("north")  # type: ignore[arg-type]
