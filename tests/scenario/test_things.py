"""Types of objects that scenario files declare in text."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from components import Color, Opaque, Portable, Solid
from gv_engine import AgentsVectorEnv, Scenario, ScenarioError
from gv_engine.rules.objects import ObjectType
from tests import DATA
from tests.boards import RULES, scenario

OBJECTS: dict[str, Any] = {
    "Port": {"states": {"CLOSED": ["Solid", "Opaque"], "OPEN": []}, "colored": True},
    "Coin": {
        "components": {"./gates.py:Alarm": {"volume": 2}, "Portable": {}},
        "color": "RED",
        "sprite": "disc",
        "leaves": "Port",
    },
    "Mark": {"leaves": "Floor"},
}


def kind(played: Scenario, name: str) -> ObjectType:
    return next(known for known in played.layout.types if known.name == name)


def test_a_type_has_what_the_text_says():
    played = scenario(">.", objects=OBJECTS)
    gate, coin, mark = (kind(played, name) for name in OBJECTS)
    assert gate.states == ("CLOSED", "OPEN")
    assert gate.component_changes(0) == {Solid: (), Opaque: ()}
    assert gate.component_changes(1) == {Solid: None, Opaque: None}
    parts = {cls.__name__: values for cls, values in coin.components}
    assert parts == {"Alarm": (2,), "Portable": (), "Color": (1,)}
    assert coin.colored
    assert coin.sprite == "disc"
    assert coin.leaves == gate.index
    assert mark.leaves is None
    assert mark.sprite == "mark"
    assert {Portable, Color}.issubset(coin.component_classes)
    assert pickle.loads(pickle.dumps(played)).layout.dtype == played.layout.dtype


def test_scenarios_with_types_of_the_same_name_do_not_meet():
    first = scenario(">g", objects={"Gate": {"states": ["A", "B"]}}, legend={"g": "Gate"})
    other = scenario(">g", objects={"Gate": {"color": "RED"}}, legend={"g": "Gate"})
    assert first.types["Gate"].states == ("A", "B")
    assert first.layout.signature_field != other.layout.signature_field
    again = scenario(">g.", objects={"Gate": {"states": ["A", "B"]}}, legend={"g": "Gate"})
    assert kind(again, "Gate").index == kind(first, "Gate").index
    assert again.layout.signature_field == first.layout.signature_field


def test_there_may_be_many_scenarios_and_not_too_many_types_in_one():
    held = [scenario(">.", objects={f"Thing{number}": {}}) for number in range(40)]
    assert [each.layout.types[-1].name for each in held[::39]] == ["Thing0", "Thing39"]
    with pytest.raises(ScenarioError, match=r"objects\.T113: object type T113: there are 128"):
        scenario(">.", objects={f"T{number}": {} for number in range(114)})


def test_a_mixture_has_the_types_of_all_its_members():
    members = [
        {**RULES, "map": ">g", "legend": {"g": "Gate"}, "objects": {"Gate": each}}
        for each in ({"states": ["A", "B"]}, {"color": "RED"})
    ]
    mixed = Scenario.load({"mixture": [{"scenario": each} for each in members]}, DATA)
    names = [known.name for known in mixed.layout.types]
    assert names.count("Gate") == 2


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ({"gate": {}}, r"objects.gate: found the name 'gate', expected one like `Gate`"),
        ({"Wall": {}}, "an object type 'Wall' already exists"),
        (
            {"Gate": {"components": {"./gates.py:Alarm": {}}}},
            "an object type 'Gate' already exists",
        ),
        ({"A": {"components": ["Solidd"]}}, r"components\[0\]: no component 'Solidd'; did you"),
        ({"A": {"components": ["Solid", "Solid"]}}, "Solid is listed twice"),
        ({"A": {"components": ["Color"]}}, "a type cannot list Color: write `colored: yes`"),
        ({"A": {"components": {"Door": {"status": 300}}}}, "found 300, allowed are -128 to 127"),
        ({"A": {"components": {"Door": {"way": 1}}}}, r"Door has no 'way' \(allowed: status\)"),
        ({"A": {"components": {"Solid": {"way": 1}}}}, "Solid has no values to set"),
        ({"A": {"components": ["./gates.py:turn_gate"]}}, "is not a component; decorate its class"),
        ({"A": {"states": []}}, "found a list of 0, expected 1 to 128 states"),
        ({"A": {"states": ["X", "X"]}}, "a state is listed twice"),
        ({"A": {"states": ["1"]}}, "found the state '1', expected a name like `OPEN`"),
        ({"A": {"states": {"X": ["Solid"]}, "components": ["Solid"]}}, "no state brings it"),
        ({"A": {"colored": False, "color": "RED"}}, "a colour for a type without `colored: yes`"),
        ({"A": {"sprite": "../x"}}, "expected the name of a drawing, without `.svg`"),
        ({"A": {"leaves": "Hidden"}}, "Hidden cannot stand in a cell"),
        ({"A": {"leaves": "B"}}, "no object type 'B'"),
        ({"A": 3}, "found 3, expected a mapping"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_where_it_stands(objects, message):
    with pytest.raises(ScenarioError, match=message) as caught:
        scenario(">.", objects=objects)
    assert str(caught.value).startswith("<mapping>: objects.")


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("agents", [{}, {"number": 3}])
def test_agents_are_made_of_what_the_text_says(agents: dict[str, Any]):
    made = {"components": {"./gates.py:Alarm": {"volume": 3}, "Opaque": {}}}
    board = ">.>.>" if agents else ">."
    played = scenario(board, agents={**agents, **made})
    rows = []
    for world in ("object", "compiled"):
        envs = AgentsVectorEnv(played, 1, world=world)
        envs.reset(seed=0)
        rows.append(envs.snapshot(0))
    everyone = [*played.layout.agent_entities]
    for row in rows:
        assert row["alarm"]["volume"][everyone].tolist() == [3] * len(everyone)
        assert row["opaque"]["has"][everyone].all()
    plain = scenario(board, agents=agents or 1)
    assert played.layout.signature_field != plain.layout.signature_field


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ([], "agents: found an empty list, expected at least one"),
        ({"components": {"./gates.py:Alarm": {"loud": 3}}}, "agents.components..*: Alarm has no "),
        ({"components": ["Agent"]}, "a type cannot list Agent: only agents have it"),
        ({"components": ["./gates.py:turn_gate"]}, "is not a component"),
    ],
)
def test_wrong_agents_are_told(agents: Any, message: str):
    with pytest.raises(ScenarioError, match=message):
        scenario(">.", agents=agents)
