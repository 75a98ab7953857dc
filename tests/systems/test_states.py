"""States that bring components: however one is set, they come and go with it."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from components import Color, Opaque, Solid
from gv_engine import Scenario, object_type
from gv_engine.gridverse import State
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.plugins.gridverse.object_store import class_of
from gv_engine.rules.geometry import ACTUATE, MOVE_FORWARD
from gv_engine.world.simulation import Simulation
from tests.boards import scenario

pytestmark = pytest.mark.compiled_elsewhere

CLOSED, OPEN, BROKEN = range(3)
RULES: dict[str, Any] = {
    "legend": {
        "g": "./gates.py:Gate",
        "/": {"object": "Gate", "state": "OPEN"},
        "%": {"object": "Gate", "state": "BROKEN", "color": "RED"},
    },
    "transition_functions": [
        *("move_agent", "turn_agent", "./gates.py:turn_gate", "./gates.py:count_alarms")
    ],
}
"""All rules of gates, so that small levels compile one program."""


def parts(game) -> list[tuple[int, ...]]:
    """State, solid, opaque and volume of the gates, by entity."""
    row = game.row
    gate = np.flatnonzero(row["gate"]["has"])
    columns = row["condition"]["value"], row["solid"]["has"], row["opaque"]["has"]
    return [tuple(int(c[e]) for c in (*columns, row["alarm"]["volume"])) for e in gate]


def test_a_gate_is_in_the_state_that_is_drawn_or_in_its_first(yard):
    assert parts(yard(">/.")) == [(OPEN, 0, 0, 1)]
    assert yard(">/.", MOVE_FORWARD, MOVE_FORWARD).board == ".G>"
    assert parts(yard(">g.")) == [(CLOSED, 1, 1, 1)]
    assert yard(">g.", MOVE_FORWARD).board == ">G."


def test_a_state_that_a_rule_sets_brings_its_components_with_their_values(yard):
    game = yard(">g.")
    found = [parts(game.act(ACTUATE))[0] for _ in range(4)]
    closed, opened, broken = (CLOSED, 1, 1, 1), (OPEN, 0, 0, 1), (BROKEN, 0, 1, 7)
    assert found == [opened, broken, closed, opened]


def test_what_is_seen_changes_with_the_state(yard):
    game = yard("E\ng\n^")
    assert "E" not in game.view
    assert "E" in game.act(ACTUATE).view
    assert "E" not in game.act(ACTUATE).view


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("side", [5, 40], ids=["small", "with lists"])
def test_both_worlds_agree_on_gates(side):
    picture = "\n".join([">g/%g".ljust(side, "."), *["." * side] * (side - 1)])
    report = run_differential_test(scenario(picture, **RULES), episodes=4)
    assert report.fault == ""


def test_a_restored_world_and_its_fork_have_the_components(yard):
    game = yard(">/.")
    world = Simulation(game.scenario).world
    world.restore(game.row)
    for each in (world, world.fork(), pickle.loads(pickle.dumps(world))):
        assert not each.solid.has[each.at[0, 1]]
        each.set_state(each.at[0, 1], CLOSED)
        assert each.solid.has[each.at[0, 1]]


def test_objects_of_the_object_api_have_the_components_of_their_state(yard):
    played = yard(">/.").scenario
    gate = class_of(played.types["Gate"])
    thing: Any = gate()
    assert thing.blocks_movement
    thing.state_index = OPEN
    assert not thing.blocks_movement
    cells = np.array([[[2, 0, 0], [gate.kind.index, OPEN, 0]]])
    agent, item = np.array([0, 0, 3]), np.zeros(3, int)
    state = State.from_arrays(cells, agent, item, types=played.types)
    placed: Any = state.grid[0, 1]
    assert not placed.blocks_movement
    placed.value = CLOSED
    assert [placed.blocks_movement, bool(state.world.solid.has[placed.entity])] == [True, True]
    assert played.layout.state_component_classes


def test_a_class_of_a_type_with_such_states_keeps_them():
    base: Any = class_of(object_type("Hatch", Color, states={"SHUT": [Solid], "UP": []}))
    thing = type("Trapdoor", (base,), {"__module__": __name__})()
    assert thing.blocks_movement
    thing.state_index = 1
    assert not thing.blocks_movement


def test_check_tells_a_rule_that_writes_a_state_by_itself():
    rules = [*RULES["transition_functions"][:2], "./gates.py:force_gate"]
    played = scenario(">g.", **{**RULES, "transition_functions": rules})
    report = run_differential_test(played, compiled=False)
    assert "is OPEN and has the component Solid; change states by w.set_state alone" in report.fault


def test_what_always_is_there_comes_with_no_state():
    with pytest.raises(ValueError, match="Opaque is always there, so no state brings it"):
        object_type("Curtain", Opaque, states={"DRAWN": [Opaque], "OPEN": []})


def test_a_scenario_without_such_states_has_nothing_of_them_in_its_rows():
    plain, other = Scenario.load("keydoor-5x5").layout, scenario(">g.", **RULES).layout
    assert "condition" not in repr(plain.dtype)
    assert not plain.state_component_classes
    assert "condition" in repr(other.dtype)


def test_the_mark_of_a_row_says_what_states_bring():
    played = scenario(">g.", **RULES).layout
    gate = next(kind for kind in played.types if kind.name == "Gate")
    closed, _, broken = gate.state_components
    other = dataclasses.replace(gate, state_components=(closed, closed, broken))
    types = (*(kind for kind in played.types if kind != gate), other)
    changed = dataclasses.replace(played, types=types)
    assert changed.signature_field != played.signature_field
