"""Scenarios that name layers between the ground and the objects above it."""

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
from gv_engine.play.session.inspection import Inspection
from gv_engine.play.validation.differential import find_row_fault
from gv_engine.play.validation.solver import Solver, Verdict
from gv_engine.rules.errors import RuleError
from gv_engine.rules.geometry import MOVE_FORWARD, MOVE_RIGHT, PICK_N_DROP, TURN_LEFT
from gv_engine.world.columns import RowWorld
from gv_engine.world.simulation import NEXT_STEP, RESTART, Simulation
from tests.boards import scenario
from tests.scenario.reading import begin
from tests.systems.test_ground import names
from tests.world.test_worlds import assert_same_run

pytestmark = pytest.mark.compiled_elsewhere

WAYS = ["FORWARD", "BACKWARD", "LEFT", "RIGHT"]
RULES: dict[str, Any] = {
    "layers": ["ground", "item", "effect", "body"],
    "objects": {
        "Coin": {"layer": "ground"},
        "Plate": {"layer": "ground", "states": ["UP", "DOWN"]},
        "Moss": {"layer": "terrain"},
        "Potion": {"layer": "item", "components": ["Portable"], "colored": True},
        "Gate": {"layer": "item", "states": {"CLOSED": ["Solid", "Opaque"], "OPEN": []}},
        "Orc": {"layer": "item", "states": ["RESTING", "RUNNING"]},
        "Glow": {"layer": "effect", "states": ["DIM", "BRIGHT"]},
        "Crate": {"layer": "body", "components": ["Solid", "Portable"]},
    },
    "legend": {
        "c": "Coin",
        "p": {"object": "Potion", "color": "RED"},
        "g": "Gate",
        "o": "Orc",
        "C": "Crate",
        "l": {"object": "Plate"},
        "m": "Moss",
        "3": {"object": "Crate", "between": "Potion", "ground": "Coin"},
        "4": {"object": "Crate", "between": ["Potion", "Glow"], "ground": "Moss"},
        "P": {"between": ["Glow", {"object": "Potion", "color": "RED"}], "ground": "Coin"},
        "L": {"between": "Potion", "ground": "Plate"},
        "A": {"agent": "RIGHT", "between": "Glow", "ground": "Coin"},
    },
    "transition_functions": [
        {"name": "push", "object_type": "Crate"},
        "move_agent",
        "turn_agent",
        "pickndrop",
        {"name": "use_up", "object_type": "Coin"},
        {"name": "hold_down", "object_type": "Plate"},
        {"name": "follow", "object_type": "Gate", "other_type": "Plate"},
        {"name": "elapse", "object_type": "Orc"},
        {"name": "chase", "object_type": "Orc"},
    ],
    "reward_functions": [{"name": "use_up", "object_type": "Coin"}],
    "terminating_function": {"name": "none_left", "object_type": "Coin"},
    "success_function": {"name": "none_left", "object_type": "Coin"},
}
ITEM, EFFECT = "between_1", "between_0"
SPREAD = {"name": "spread", "object_type": "Glow", "chance": 0.1}


def test_a_cell_holds_an_object_of_each_layer(yard):
    game = yard("4.^P")
    assert [names(game, layer)[0] for layer in game.scenario.layout.layers] == [
        ["Crate", "", "", ""],
        ["Glow", "", "", "Glow"],
        ["Potion", "", "", "Potion"],
        ["Moss", "", "", "Coin"],
    ]
    assert find_row_fault(game.scenario, game.row) == ""


def test_layers_need_no_object_on_the_ground(yard):
    objects = {"Gem": {"layer": "item", "components": ["Portable"]}, "Crate": {}}
    legend = {"g": "Gem", "X": {"object": "Crate", "between": "Gem"}}
    kept = {"objects": objects, "legend": legend, "terminating_function": "reach_exit"}
    rules = {"transition_functions": ["move_agent", "pickndrop"], "reward_functions": []}
    game = yard(">gX", PICK_N_DROP, **kept, **rules, success_function="reach_exit")
    assert game.scenario.layout.layers == ("at", "between_0", "between_1")
    assert game.item == "NONE Gem"
    assert names(game, ITEM) == [["", "", "Gem"]]
    world = begin(game.scenario).world
    assert world.beneath() is None
    assert np.count_nonzero(np.asarray(world.stacks())) == 1


def test_the_topmost_object_is_seen(yard):
    view = yard("4P.\n.^p").view.split("\n")
    assert (view[-2][1:4], view[-1][1:4]) == ("CG.", "..P")


def test_a_crate_is_pushed_over_items_and_off_them(yard):
    game = yard(">3p.", MOVE_FORWARD)
    assert names(game, "at") == [["", "", "Crate", ""]]
    assert names(game, ITEM) == [["", "Potion", "Potion", ""]]
    assert game.reward == 1.0  # the coin in the cell of the agent and the potion
    game.act(MOVE_FORWARD)
    assert names(game, "at") == [["", "", "", "Crate"]]
    assert "MOVE_FORWARD" not in game.mask


def test_the_topmost_object_is_picked_up_and_comes_back_to_its_layer(yard):
    game = yard(">3p.", PICK_N_DROP)
    assert game.item == "NONE Crate"
    game.act(PICK_N_DROP)  # for the potion, whose cell has no crate: the two change places
    assert game.item == "NONE Potion"
    assert names(game, "at") == [["", "Crate", "", ""]]
    assert names(game, ITEM) == [["", "", "Potion", ""]]
    game.act(PICK_N_DROP, MOVE_FORWARD)  # the crate for the potion
    assert game.item == "NONE Crate"
    assert names(game, ITEM) == [["", "Potion", "Potion", ""]]
    assert "PICK_N_DROP" in game.mask


def test_an_object_is_dropped_only_where_its_layer_is_free(yard):
    game = yard("^p\n.g", MOVE_RIGHT)
    assert names(game, ITEM)[0] == ["", "Potion"]
    game = yard(">pg", PICK_N_DROP, MOVE_FORWARD)
    assert game.item == "RED Potion"
    # a closed gate is in the way on the layer of the potion
    assert "PICK_N_DROP" not in game.mask


def test_what_is_solid_or_opaque_blocks_on_every_layer(yard):
    assert "MOVE_FORWARD" not in yard(">g.").mask
    sees = {"observation_function": {"name": "raytracing", "area": [[-3, 0], [0, 0]]}}
    assert yard("C\n.\n^", **sees).view == "?\nC\n.\n."
    assert yard("C\ng\n^", **sees).view == "?\n?\nG\n."


def test_items_hold_plates_down_and_gates_between_open(yard):
    assert "MOVE_FORWARD" not in yard(">g\nl.", TURN_LEFT, TURN_LEFT, TURN_LEFT, TURN_LEFT).mask
    assert "MOVE_FORWARD" in yard(">g\nL.", TURN_LEFT, TURN_LEFT, TURN_LEFT, TURN_LEFT).mask


def test_worlds_come_back_and_forks_go_their_own_way(yard):
    game = yard("4>Pm\nL3.o", MOVE_FORWARD)
    simulation = Simulation(game.scenario)
    simulation.world.restore(game.row)
    for other in (
        simulation.world.fork(),
        copy.deepcopy(simulation.world),
        pickle.loads(pickle.dumps(simulation.world)),
    ):
        assert other.snapshot().tobytes() == game.row.tobytes()
    glow = other.between[0][0, 0]
    assert other.appearance(glow)[0] == game.scenario.types["Glow"].index
    other.remove(glow)
    assert simulation.world.between[0][0, 0] != NOTHING
    # the covered objects that are drawn
    row = RowWorld(game.scenario.layout, game.row)
    shown, fewer = simulation.world.stacks(), other.stacks()
    np.testing.assert_array_equal(row.stacks(), shown)
    np.testing.assert_array_equal(row.cells(), simulation.world.cells())
    assert np.count_nonzero(np.asarray(fewer) != shown) == 1


def test_the_inspector_lists_all_layers():
    played = scenario("3>", **RULES)
    inspector = Inspection(played)
    inspector.load(begin(played).world.snapshot())
    assert [entity.name for entity in inspector.cell(0, 0)] == ["crate", "potion", "coin"]


def test_a_rule_that_puts_things_on_the_wrong_layer_is_told(yard):
    game = yard("p>.")
    row = game.row
    row["at"][0, 0], row[ITEM][0, 0] = row[ITEM][0, 0], NOTHING
    assert f"w.{ITEM} has it not" in find_row_fault(game.scenario, row)
    world = begin(game.scenario).world
    with pytest.raises(RuleError, match="the cell holds another object"):
        world.place(world.spawn(game.scenario.types["Gate"].index), 0, 0)


@pytest.mark.compiled
def test_levels_of_three_layers_are_solved():
    played = scenario("#####\n#>3p#\n#...#\n#####", **RULES)
    assert Solver(played).solve(0).verdict is Verdict.WON


THINGS: dict[str, list[Any]] = {
    "object": [None, "Crate", "Key", "Wall"],
    "item": [None, "Potion", "Gate", "Orc", {"object": "Potion", "color": "GREEN"}],
    "effect": [None, "Glow", {"object": "Glow", "state": "BRIGHT"}],
    "ground": [None, "Coin", "Plate", "Moss"],
}


@st.composite
def levels(draw: st.DrawFn) -> dict[str, Any]:
    """Maps of any stacks, the agent on top of one."""
    height, width = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    start = draw(st.integers(0, height * width - 1))
    legend: dict[str, Any] = {}
    for number in range(height * width):
        parts = {layer: draw(st.sampled_from(things)) for layer, things in THINGS.items()}
        between = [part for part in (parts["item"], parts["effect"]) if part]
        cell = {"object": parts["object"], "between": between, "ground": parts["ground"]}
        cell = {key: part for key, part in cell.items() if part}
        if number == start:
            cell = {**cell, "agent": draw(st.sampled_from(WAYS))}
            cell.pop("object", None)
        legend[chr(0x4E00 + number)] = cell or {"object": "Floor"}
    cells = "".join(legend)
    rows = [cells[y * width : (y + 1) * width] for y in range(height)]
    rules = [*RULES["transition_functions"], SPREAD]
    return {**RULES, "map": "\n".join(rows), "legend": legend, "transition_functions": rules}


@pytest.mark.compiled
@settings(max_examples=2)
@given(levels(), st.integers(0, 2**32), st.integers(0, 2**32))
def test_any_level_of_four_layers_is_played_alike(level, seed, choice):
    picture = level.pop("map")
    played = scenario(picture, **level)
    actions = np.random.default_rng(choice).integers(0, 8, 120).tolist()
    assert_same_run(played, seed, actions)
    batch = make_batch(played, 1, "compiled")
    batch.step(np.array([RESTART]), NEXT_STEP)
    for action in actions[:20]:
        batch.step(np.array([action]), NEXT_STEP)
        row = batch.snapshot(0)
        assert find_row_fault(played, row) == ""
        world = Simulation(played).world
        world.restore(row)
        assert world.snapshot().tobytes() == row.tobytes()


CHANCE: dict[str, Any] = {
    **{key: RULES[key] for key in ("layers", "objects", "transition_functions")},
    **{key: RULES[key] for key in ("reward_functions", "terminating_function")},
    "observation_function": {"name": "fully_transparent", "area": [[-3, 0], [-2, 2]]},
    "maps": ["##...\n#X?4.\n.....", "X....\n..?.X\n....."],
    "symmetries": ["turn", "mirror"],
    "legend": {
        "X": {"object": "Crate", "between": {"one_of": ["Potion", "Orc"]}},
        "?": {"one_of": ["Potion", "Floor", "Crate"]},
        "4": {"between": ["Glow", "Potion"], "ground": "Coin"},
    },
    "place": [{"object": "Gate", "count": 2, "not_next_to": "Glow"}, {"agent": "any"}],
    "reachable": ["agent", "Gate"],
}


def test_chance_knows_all_layers():
    played = Scenario.load(CHANCE)
    gate = played.types["Gate"].index
    for seed in range(10):
        world = begin(played, seed).world
        assert find_row_fault(played, world.snapshot()) == ""
        assert world.placed[gate] == 2
        y, x = world.position.y[1], world.position.x[1]
        assert all(world[layer][y, x] == NOTHING for layer in played.layout.layers)
        for e in world.of_type(gate):
            for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                near = world.between[0][world.position.y[e] + dy, world.position.x[e] + dx]
                assert near == NOTHING


def test_objects_declared_in_python_have_named_layers(tmp_path):
    (tmp_path / "rules.py").write_text(
        "from components import Portable\nfrom gv_engine import object_type\n"
        "GEM = object_type('Gem', Portable, layer='item')\n"
        "ORC = object_type('Orc', layer='body')\n"
    )
    level = {
        **RULES,
        "objects": {},
        "map": ">G",
        "legend": {"G": {"object": "./rules.py:Orc", "between": "./rules.py:Gem"}},
        "transition_functions": ["move_agent"],
        "reward_functions": [],
        "terminating_function": "reach_exit",
        "success_function": "reach_exit",
        "observation_function": CHANCE["observation_function"],
    }
    world = begin(Scenario.load(level, folder=tmp_path)).world
    assert world.at[0, 1] != NOTHING != world.between[1][0, 1]
    del level["layers"], level["legend"]["G"]["between"]
    with pytest.raises(ScenarioError, match=r"Gem has the layer `item`; write `layers: \[ground, "):
        Scenario.load(level, folder=tmp_path)


# ---- in text ------------------------------------------------------------------------------------


LEGENDS = {
    "Potion has the layer `item`; only a type with `layer: ground": {"ground": "Potion"},
    "Coin has the layer `ground`; only a type with `layer: effect` or": {"between": "Coin"},
    "a second object on the layer `item`": {"between": ["Potion", "Gate"]},
    "a second object on the layer `effect`": {"object": "Glow", "between": ["Glow"]},
    "the agent stands": {"between": {"agent": "LEFT"}},
    "found neither `object` nor `agent`": {},
}
KEYS: dict[str, dict[str, Any]] = {
    **{message: {"legend": {**RULES["legend"], "x": x}} for message, x in LEGENDS.items()},
    "no layer 'itm'; did you mean 'item'": {"objects": {"Slab": {"layer": "itm"}}, "legend": {}},
    "found 1 layers, expected 2 to 8": {"layers": ["ground"]},
    "found 9 layers, expected 2 to 8": {"layers": ["ground", *"abcdefgh"]},
    "found 'item', expected `ground`, the lowest layer": {"layers": ["item", "body"]},
    r"layers\[0\]: found '', expected a text": {"layers": ["", "", "item"]},
    "item is listed twice": {"layers": ["ground", "item", "item", "body"]},
    "found the name 'Item', expected one like `item`": {"layers": ["ground", "Item", "body"]},
    "found the name 'terrain'": {"layers": ["ground", "terrain", "body"]},
    "`above` is the uppermost layer": {"layers": ["ground", "above", "item"]},
    "Potion and Gate have the same layer, item": {
        "terminating_function": {
            "name": "all_covered",
            "object_type": "Potion",
            "other_type": "Gate",
        }
    },
}


@pytest.mark.parametrize("message", KEYS)
def test_a_wrong_layer_is_told_where_it_stands(message):
    with pytest.raises(ScenarioError, match=message):
        scenario(">.", **{**RULES, **KEYS[message]})


def test_without_layers_nothing_lies_between():
    with pytest.raises(ScenarioError, match="there are no layers between: name some"):
        scenario("> x", legend={"x": {"between": "Key"}})
    assert begin(scenario("> K")).world.between == ()


def test_functions_of_states_are_refused(tmp_path):
    (tmp_path / "rules.py").write_text(
        "def wins(state, action, next_state, *, rng=None):\n    return False\n"
    )
    ends = {"terminating_function": {"name": "./rules.py:wins"}}
    level = {**RULES, **CHANCE, **ends}
    with pytest.raises(ScenarioError, match="layers: wins is a function of states, which have two"):
        Scenario.load(level, folder=tmp_path)


def test_levels_of_packs_have_all_layers(tmp_path):
    (tmp_path / "levels.xsb").write_text("#####\n#@$.#\n#####\n")
    level = {
        "extends": "sokoban",
        "layers": ["ground", "item", "body"],
        "objects": {"Gem": {"layer": "item"}},
        "levels": "levels.xsb",
        "legend": {"$": {"object": "Crate", "between": "Gem"}},
    }
    world = begin(Scenario.load(level, folder=tmp_path)).world
    assert world.at[1, 2] != NOTHING != world.between[0][1, 2]
