"""Things above the ground and what lies on it: ice, plates, targets, belts and lava."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gv_engine import NOTHING, Scenario, ScenarioError
from gv_engine.envs.backends.backend import make_batch
from gv_engine.play.validation.differential import find_row_fault
from gv_engine.plugins.gridverse.grid_object import Floor
from gv_engine.plugins.gridverse.state import State, state_of
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_RIGHT,
    ORIENTATIONS,
    PICK_N_DROP,
    TURN_LEFT,
)
from gv_engine.world.simulation import NEXT_STEP, RESTART, Simulation
from tests.boards import scenario
from tests.scenario.reading import begin
from tests.world.test_worlds import assert_same_run

pytestmark = pytest.mark.compiled_elsewhere

WAYS = [*ORIENTATIONS]
RULES: dict[str, Any] = {
    "objects": {
        "Ice": {"layer": "ground"},
        "Target": {"layer": "ground", "components": ["Exit"]},
        "Plate": {"layer": "ground", "states": ["UP", "DOWN"], "colored": True},
        "Water": {"layer": "ground", "states": {"DEEP": ["Solid"], "FULL": []}, "color": "BLUE"},
        "Mist": {"layer": "ground", "components": ["Opaque"]},
        "Belt": {"layer": "ground", "states": WAYS},
        "Lava": {"layer": "ground"},
        "Gate": {"states": {"CLOSED": ["Solid"], "OPEN": []}, "colored": True},
        "Crate": {"components": ["Solid", "Portable"]},
    },
    "legend": {
        "i": "Ice",
        "t": "Target",
        "p": "Plate",
        "w": "Water",
        "m": "Mist",
        "l": "Lava",
        "G": "Gate",
        "C": "Crate",
        "X": {"ground": "Target", "object": "Crate"},
        "P": {"ground": "Plate", "object": "Crate"},
        "I": {"ground": "Ice", "object": "Crate"},
        "1": {"ground": {"object": "Belt", "state": "RIGHT"}},
        "2": {"ground": {"object": "Belt", "state": "RIGHT"}, "object": "Crate"},
        "3": {"ground": {"object": "Belt", "state": "BACKWARD"}, "agent": "LEFT"},
        "4": {"object": "Belt", "state": "FORWARD"},
        "A": {"ground": "Ice", "agent": "RIGHT"},
        "q": {"ground": {"object": "Plate", "color": "RED"}, "object": "Key", "color": "RED"},
    },
    "transition_functions": [
        {"name": "push", "object_type": "Crate", "other_type": "Water", "ground_type": "Ice"},
        "move_agent",
        "turn_agent",
        "pickndrop",
        {"name": "slide", "object_type": "Ice"},
        {"name": "convey", "object_type": "Belt"},
        {"name": "hold_down", "object_type": "Plate"},
        {"name": "follow", "object_type": "Gate", "other_type": "Plate"},
    ],
    "reward_functions": [{"name": "cover", "object_type": "Target", "other_type": "Crate"}],
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [
            {"name": "overlap", "object_type": "Lava"},
            {"name": "all_covered", "object_type": "Target", "other_type": "Crate"},
        ],
    },
}


def names(game, layer: str) -> list[list[str]]:
    """The types in the cells of a layer, "" for none."""
    row = game.row
    cells = row[layer][: row["height"], : row["width"]]
    kinds = {kind.index: kind.name for kind in game.scenario.layout.types}
    return [
        [kinds[row["kind"]["value"][e]] if e != NOTHING else "" for e in line]
        for line in cells.tolist()
    ]


def is_shut(game, y: int, x: int) -> bool:
    """Whether the gate in a cell of the row keeps the agent out."""
    return bool(game.row["solid"]["has"][game.row["at"][y, x]])


def test_a_cell_holds_a_thing_and_what_lies_beneath(yard):
    game = yard("X>i")
    assert names(game, "at") == [["Crate", "", ""]]
    assert names(game, "ground") == [["Target", "", "Ice"]]
    assert game.board == "C>I"


def test_who_moves_onto_ice_goes_on_until_something_stops_it(yard):
    assert yard(">ii..", MOVE_FORWARD).board == ".II>."
    assert yard(">iiC", MOVE_FORWARD).board == ".I>C"
    assert yard("^i.", MOVE_RIGHT).board == ".I^"
    assert yard("A.", TURN_LEFT).board == "^."
    assert yard("A.", ACTUATE).board == ">."


def test_what_is_pushed_onto_ice_goes_on_too(yard):
    assert yard(">Cii..", MOVE_FORWARD).board == ".>IIC."
    assert yard(">CiiC.", MOVE_FORWARD).board == ".>ICC."
    assert yard(">Iii.", MOVE_FORWARD).board == ".II>C"


def test_settle_runs_rules_after_a_reset(yard):
    legend = {**RULES["legend"], "g": {"object": "Gate", "color": "RED"}}
    assert is_shut(yard("^q\ng.", legend=legend), 1, 0)
    settle = RULES["transition_functions"][-2:]
    assert not is_shut(yard("^q\ng.", legend=legend, settle=settle), 1, 0)
    with pytest.raises(ScenarioError, match="settle: move_agent is a rule for each agent"):
        yard("^q", settle=["move_agent"])


def test_of_a_row_the_last_crate_slides_on(yard):
    rules = [{**RULES["transition_functions"][0], "rows": True}, "move_agent"]
    game = yard(">CCii.", MOVE_FORWARD, transition_functions=rules)
    assert game.board == ".>CIIC"


def test_a_crate_fills_water_and_what_is_full_lets_pass(yard):
    assert "MOVE_FORWARD" not in yard(">w.").mask
    game = yard(">Ciw.", MOVE_FORWARD)
    assert names(game, "at") == [["", "", "", "", ""]]
    assert names(game, "ground")[0][3] == "Water"
    assert game.act(MOVE_FORWARD, MOVE_FORWARD, MOVE_FORWARD).board == "..IW>"
    # so does a second crate
    game = yard(">Cw..\n.C...", MOVE_FORWARD, MOVE_BACKWARD, MOVE_RIGHT)
    assert game.board == "..W..\n>C..."
    game = yard("....\n>Cw.\n.C..", MOVE_FORWARD, MOVE_RIGHT, MOVE_BACKWARD)
    assert game.row["solid"]["has"][game.row["ground"][1, 2]] == 0


def test_targets_end_and_pay_when_each_has_a_crate(yard):
    game = yard("^CtC.\n....t", MOVE_RIGHT)
    assert (game.reward, game.terminated) == (1.0, False)
    game.act(MOVE_RIGHT)
    assert game.reward == 0.0
    game = yard("X>Ct", MOVE_FORWARD)
    assert (game.reward, game.terminated) == (1.0, True)
    assert yard("^Xt", MOVE_RIGHT).reward == 0.0
    assert yard("^X..", MOVE_RIGHT).reward == -1.0


@pytest.mark.parametrize("picture", [">Cp", ">Pi", ">p."])
def test_a_plate_is_held_down_by_a_thing_or_the_agent(yard, picture):
    game = yard(f"{picture}\n..G", MOVE_FORWARD)
    row = game.row
    (plate,) = (e for e in row["ground"].ravel().tolist() if row["condition"]["has"][e])
    # the crate of the second has slid off, and the agent stands there
    assert row["condition"]["value"][plate] == 1
    assert not is_shut(game, 1, 2)
    assert names(game, "at")[0][2] == ("" if picture == ">p." else "Crate")


def test_what_is_on_a_plate_can_be_picked_up_and_comes_off(yard):
    game = yard(">P.\n..G", ACTUATE)
    assert not is_shut(game, 1, 2)
    game.act(PICK_N_DROP)
    assert names(game, "at")[0] == ["", "", ""]
    assert names(game, "ground")[0] == ["", "Plate", ""]
    assert is_shut(game, 1, 2)


def test_lava_ends_under_the_agent(yard):
    assert yard(">l", MOVE_FORWARD).terminated
    assert not yard(">l", TURN_LEFT).terminated


def test_a_belt_moves_what_stands_on_it_by_one_and_not_onto_the_agent(yard):
    assert yard("11.3\n....", ACTUATE).board == "BB.B\n...<"
    game = yard("^....\n2211.")
    for crates in ("BCCB.", "BBCC.", "BBBCC", "BBBCC"):
        assert game.act(ACTUATE).board == f"^....\n{crates}"
    assert yard("2^.", ACTUATE).board == "C^."


def test_an_exit_may_lie_on_the_ground(yard):
    ends = {"terminating_function": "reach_exit", "reward_functions": ["reach_exit"]}
    game = yard(">t", MOVE_FORWARD, **ends)
    assert (game.terminated, game.reward) == (True, 1.0)


def test_opaque_ground_hides_what_is_behind(yard):
    sees = {"observation_function": {"name": "raytracing", "area": [[-3, 0], [0, 0]]}}
    assert yard("C\n.\n^", **sees).view == "?\nC\n.\n."
    assert yard("C\nm\n^", **sees).view == "?\n?\nM\n."
    assert yard("C\nP\n^", **sees).view.split("\n")[1] == "C"


def test_the_agent_sees_the_thing_or_else_the_ground(yard):
    *_, ahead, beside = yard("Xi.\n.^q").view.split("\n")
    assert (ahead, beside) == ("?CI.?", "?..K?")


def test_both_layers_come_back_and_forks_go_their_own_way(yard):
    game = yard("X>Ci1..\nqwp4.C.", MOVE_FORWARD)
    simulation = Simulation(game.scenario)
    simulation.world.restore(game.row)
    for other in (
        simulation.world.fork(),
        copy.deepcopy(simulation.world),
        pickle.loads(pickle.dumps(simulation.world)),
    ):
        assert other.snapshot().tobytes() == game.row.tobytes()
    other.remove(other.ground[0, 0])
    assert simulation.world.ground[0, 0] != NOTHING


@pytest.mark.thorough
@pytest.mark.parametrize("side", [7, 40], ids=["small", "with lists"])
@pytest.mark.compiled
def test_both_worlds_agree_on_all_of_it(side):
    rows = ["X.iiI.p", ">C.iwq.", "..C11t.", ".C2.4.l"]
    picture = "\n".join([*(row.ljust(side, ".") for row in rows), *["i" * side] * (side - 4)])
    played = scenario(picture, **RULES)
    for seed in range(4):
        actions = np.random.default_rng(seed).integers(0, 8, 60).tolist()
        assert_same_run(played, seed, actions)


BELTS: list[Any] = [{"object": "Belt", "state": way} for way in ("FORWARD", "RIGHT")]
GROUNDS = [*("Ice", "Target", "Plate", "Water", "Mist", "Lava"), *BELTS]


@st.composite
def levels(draw: st.DrawFn) -> dict[str, Any]:
    """Maps of any two layers, the agent on top."""
    height, width = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    grounds = st.sampled_from([{}, *({"ground": ground} for ground in GROUNDS)])
    things = st.sampled_from([{}, *({"object": name} for name in ("Crate", "Gate", "Key"))])
    agents = st.sampled_from([{"agent": way} for way in WAYS])
    start = draw(st.integers(0, height * width - 1))
    legend = {}
    for number in range(height * width):
        cell = draw(grounds) | draw(agents if number == start else things)
        legend[chr(0x4E00 + number)] = cell or {"object": "Floor"}
    cells = "".join(legend)
    rows = [cells[y * width : (y + 1) * width] for y in range(height)]
    return {**RULES, "map": "\n".join(rows), "legend": legend}


@pytest.mark.thorough
@pytest.mark.compiled
@settings(max_examples=60)
@given(levels(), st.integers(0, 2**32), st.lists(st.integers(0, 7), max_size=20))
def test_any_level_of_two_layers_is_played_alike(level, seed, actions):
    picture = level.pop("map")
    played = scenario(picture, **level)
    assert_same_run(played, seed, actions)
    batch = make_batch(played, 1, "compiled")
    batch.step(np.array([RESTART]), NEXT_STEP)
    for action in actions:
        batch.step(np.array([action]), NEXT_STEP)
        row = batch.snapshot(0)
        assert find_row_fault(played, row) == ""
        world = Simulation(played).world
        world.restore(row)
        assert world.snapshot().tobytes() == row.tobytes()


# ---- without ground, with Python, and as objects ----------------------------------------------


def test_a_world_without_ground_has_none_in_its_row_and_takes_nothing(play):
    played = play(">.").scenario
    assert "ground" not in (played.layout.dtype.names or ())
    assert "beneath" not in (played.layout.batch_dtype.names or ())
    world = begin(played).world
    assert world.ground[0, 0] == NOTHING
    assert not world.on_ground(2)
    with pytest.raises(ValueError, match="read-only"):
        world.ground[0, 0] = 1


def names_of(cells: Any) -> list[str]:
    """The types in the first row of a grid of objects."""
    return [type(cells[0, x]).__name__ for x in range(3)]


def test_objects_reach_both_layers():
    played = scenario("X>i", **RULES)
    world = begin(played).world
    grid = state_of(world).grid
    assert names_of(grid) == ["Crate", "Floor", "Ice"]
    crate, target, ice = (type(each) for each in (grid[0, 0], grid.ground[0, 0], grid.ground[0, 2]))
    assert target.__name__ == "Target"
    grid[0, 0] = Floor()
    assert type(grid[0, 0]) is target
    grid[0, 0] = ice()
    assert type(grid.ground[0, 0]) is ice
    with pytest.raises(ValueError, match="its layer is 'above'"):
        grid.ground[0, 1] = crate()
    grid.ground[0, 2] = Floor()
    assert isinstance(grid[0, 2], Floor)
    assert find_row_fault(played, world.snapshot()) == ""


def test_states_copy_both_layers():
    simulation = begin(scenario("X>i", **RULES))
    state = state_of(simulation.world)
    arrays: Any = state.to_arrays()
    assert arrays["ground"][0, 0].tolist() != arrays["grid"][0, 0].tolist()
    for other in (
        state.copy(),
        State.from_arrays(**arrays, types=simulation.scenario.types),
        State(state.grid, state.agent.copy()),
    ):
        assert other == state
        assert type(other.grid.ground[0, 0]).__name__ == "Target"
    part = state.grid.subgrid([[0, 0], [-1, 1]])
    assert names_of(part) == ["Hidden", "Crate", "Floor"]
    assert type(part.ground[0, 1]).__name__ == "Target"
    other = state.copy()
    other.grid.ground[0, 0] = Floor()
    assert other != state


def test_a_rule_that_puts_things_on_the_wrong_layer_is_told(yard):
    game = yard("X>i")
    row = game.row
    row["at"][0, 1], row["ground"][0, 0] = row["ground"][0, 0], NOTHING
    assert "w.ground has it not" in find_row_fault(game.scenario, row)


# ---- in text ------------------------------------------------------------------------------------


LEGENDS = {
    "Crate has the layer `above`; only a type": {"ground": "Crate"},
    "Plate has the layer `ground`": {"ground": "Ice", "object": "Plate"},
    "the agent stands on the ground": {"ground": {"agent": "LEFT"}},
    "no object type 'Ise'": {"ground": "Ise"},
}
KEYS: dict[str, dict[str, Any]] = {
    **{message: {"legend": {**RULES["legend"], "x": x}} for message, x in LEGENDS.items()},
    "no layer 'floor'": {"objects": {**RULES["objects"], "Slab": {"layer": "floor"}}},
    "Crate and Key have the same layer, above": {
        "terminating_function": {"name": "all_covered", "object_type": "Crate", "other_type": "Key"}
    },
    "Plate has no orientations; its states must be FORWARD": {
        "transition_functions": [{"name": "convey", "object_type": "Plate"}]
    },
}


@pytest.mark.parametrize("message", KEYS)
def test_a_wrong_layer_is_told_where_it_stands(message):
    with pytest.raises(ScenarioError, match=message):
        scenario(">.", **{**RULES, **KEYS[message]})


CHANCE: dict[str, Any] = {
    **{key: RULES[key] for key in ("objects", "transition_functions", "reward_functions")},
    "terminating_function": RULES["terminating_function"],
    "observation_function": {"name": "fully_transparent", "area": [[-3, 0], [-2, 2]]},
    "maps": ["##...\n#X?4.\n.....", "X....\n..?.X\n....."],
    "symmetries": ["turn", "mirror"],
    "legend": {
        "X": {"ground": {"one_of": ["Target", "Ice"]}, "object": "Crate"},
        "?": {"one_of": ["Ice", "Floor", "Crate"]},
        "4": {"ground": {"object": "Belt", "state": "FORWARD"}, "object": "Key"},
    },
    "place": [{"object": "Lava", "count": 2, "not_next_to": "Crate"}, {"agent": "any"}],
    "reachable": ["agent", "Lava"],
}


def test_chance_knows_both_layers():
    played = Scenario.load(CHANCE)
    lava = played.types["Lava"].index
    for seed in range(10):
        world = begin(played, seed).world
        assert find_row_fault(played, world.snapshot()) == ""
        assert world.placed[lava] == 2
        y, x = world.position.y[1], world.position.x[1]
        assert world.at[y, x] == world.ground[y, x] == NOTHING


def test_a_belt_lies_as_its_map_is_turned():
    played = Scenario.load({**CHANCE, "maps": CHANCE["maps"][:1]})
    ways = set()
    for seed in range(20):
        world = begin(played, seed).world
        beneath: Any = world.beneath()
        ((y, x),) = np.argwhere(beneath[..., 0] == played.types["Belt"].index)
        ways.add(world.state_of(world.ground[y, x]))
    assert ways == {0, 1, 2, 3}


@pytest.mark.thorough
@pytest.mark.compiled
def test_chance_is_alike_in_both_worlds():
    played = Scenario.load(CHANCE)
    for seed in range(10):
        assert_same_run(played, seed, np.random.default_rng(seed).integers(0, 8, 20).tolist())
