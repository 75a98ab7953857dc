"""Indices of object types: the same for the same scenario, whatever else a process has loaded."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import GridVectorEnv, Scenario, object_type
from gv_engine.rules.objects import OBJECT_TYPES
from tests.scenario.reading import RULES as BUILT_IN
from tests.scenario.reading import begin

FIRST = len(OBJECT_TYPES.built_in)
LEVEL: dict[str, Any] = {**BUILT_IN, "map": ">.#", "transition_functions": []}
RULES = """\
from components import Solid
from gv_engine import TRANSITION, object_type, system

{kind} = object_type("{kind}", Solid)


@system(TRANSITION)
def make_{kind}(w, agent):
    if w.at[0, 1] == 0:
        w.place(w.spawn({kind}), 0, 1)
"""


def write(folder: Path, *kinds: str) -> Path:
    """A folder with a rule file for each of these types."""
    folder.mkdir(exist_ok=True, parents=True)
    for kind in kinds:
        (folder / f"{kind.lower()}.py").write_text(RULES.format(kind=kind))
    return folder


def rules(*kinds: str) -> list[str]:
    return [f"./{kind.lower()}.py:make_{kind.rpartition('/')[2]}" for kind in kinds]


def level(folder: Path, *kinds: str, **changes: Any) -> Scenario:
    return Scenario.load({**LEVEL, "transition_functions": rules(*kinds), **changes}, folder)


def own(scenario: Scenario) -> dict[str, int]:
    return {kind.name: kind.index for kind in scenario.layout.types if kind.index >= FIRST}


def made(scenario: Scenario) -> int:
    """The type of the object that the first rule makes."""
    simulation = begin(scenario)
    simulation.step(scenario.actions[1])
    return int(simulation.world.cells()[0, 1, 0])


def test_types_in_text_are_counted_by_their_scenario(tmp_path: Path):
    for names in (["Gate", "Lever"], ["Lever"], ["Lever", "Ice", "Gate"]):
        scenario = level(tmp_path, objects={name: {} for name in names})
        assert own(scenario) == {name: FIRST + k for k, name in enumerate(names)}


def test_rule_files_of_a_folder_are_counted_as_the_scenario_names_them(tmp_path: Path):
    folder = write(tmp_path, "Ice", "Mud")
    for kinds in (["Ice"], ["Mud"], ["Mud", "Ice"], ["Ice", "Mud"]) * 2:
        scenario = level(folder, *kinds)
        assert own(scenario) == {kind: FIRST + k for k, kind in enumerate(kinds)}
        assert made(scenario) == FIRST


def test_folders_and_texts_of_a_scenario_do_not_meet(tmp_path: Path):
    write(tmp_path, "Ice", "Mud")
    write(tmp_path / "sub", "Sand")
    scenario = level(tmp_path, "sub/Sand", "Mud", objects={"Gate": {}})
    assert own(scenario) == {"Sand": FIRST, "Mud": FIRST + 1, "Gate": FIRST + 2}
    alone = level(tmp_path, "Mud")
    assert own(alone) == {"Mud": FIRST}
    assert made(level(tmp_path, "Mud", "sub/Sand")) == made(alone) == FIRST


@pytest.mark.thorough
@pytest.mark.compiled
def test_members_of_a_mixture_count_together(tmp_path: Path):
    write(tmp_path, "Ice", "Mud")
    members = [
        {**LEVEL, "transition_functions": rules("Ice"), "objects": {"Gate": {}}},
        {**LEVEL, "transition_functions": rules("Mud"), "objects": {"Lever": {}}},
    ]
    mixed = Scenario.load({"mixture": [{"scenario": each} for each in members]}, tmp_path)
    expected = {"Ice": FIRST, "Mud": FIRST + 1, "Gate": FIRST + 2, "Lever": FIRST + 3}
    thawed = pickle.loads(pickle.dumps(mixed))
    for scenario in (mixed, thawed, mixed.members[1], pickle.loads(pickle.dumps(mixed.members[1]))):
        assert own(scenario) == expected
    assert made(pickle.loads(pickle.dumps(mixed.members[1]))) == made(mixed.members[1]) == FIRST + 1
    seen = []
    for world in ("object", "compiled"):
        envs = GridVectorEnv(mixed, 8, world=world)
        envs.reset(seed=1)
        found, *_ = envs.step(np.ones(8, int))
        seen.append(found["grid"].tobytes())
        assert {*found["grid"][:, 1, 1, 0].tolist()} == {FIRST, FIRST + 1}
    assert seen[0] == seen[1]


def test_types_of_the_process_keep_their_place(tmp_path: Path):
    index = object_type("Monolith", module="tests.somewhere")
    folder = write(tmp_path, "Ice")
    assert own(level(folder, "Ice")) == {"Ice": FIRST}
    spaces = {"objects": ["Floor", "Wall", "Exit", "Monolith", "Ice", "Gate"]}
    scenario = level(folder, "Ice", objects={"Gate": {}}, state_space=spaces)
    assert scenario.types["Monolith"].index == index
    assert len({*own(scenario).values()}) == 3
    assert made(scenario) == scenario.types["Ice"].index
    things: dict[str, Any] = {"Walrus": {}, "Seal": {}}
    there = own(level(tmp_path, objects=things))
    object_type("Seal", module="tests.somewhere")  # in nobody's way
    assert own(level(tmp_path, objects=things)) == there


def test_a_changed_file_is_counted_anew(tmp_path: Path):
    folder = write(tmp_path, "Ice")
    before = level(folder, "Ice")
    file = folder / "ice.py"
    text = file.read_text()
    file.write_text(text.replace("Ice = ", 'Mud = object_type("Mud")\nIce = '))
    after = level(folder, "Ice")
    assert own(after) == {"Mud": FIRST, "Ice": FIRST + 1}
    assert made(after) == FIRST + 1
    assert own(before) == {"Ice": FIRST}
    file.write_text(text)
    assert own(level(folder, "Ice")) == {"Ice": FIRST}


def test_equal_texts_have_equal_layouts(tmp_path: Path):
    first = level(tmp_path, objects={"Gate": {"colored": True}})
    level(tmp_path, objects={"Lever": {}, "Door2": {}})
    again = level(tmp_path, objects={"Gate": {"colored": True}})
    assert first.layout == again.layout
    other = level(tmp_path, objects={"Port": {"colored": True}})
    assert other.layout.dtype == first.layout.dtype
