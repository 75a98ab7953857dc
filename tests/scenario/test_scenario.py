"""Scenarios once they are loaded; `test_scenario_problems` has those that are wrong."""

import copy
import json
import pickle

import pytest
import yaml

from components.core import BLUE, FLOOR, NONE, RED, YELLOW
from components.items import CLOSED, LOCKED, OPEN
from components.objects import BOX, DOOR, EXIT, KEY, TELEPOD, WALL, built_in_components
from gv_engine.rules.component import AGENT, column_name
from gv_engine.rules.errors import ScenarioError
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, RIGHT, Area, euclidean
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.rules.system import RESET, REWARD, TERMINATING, TRANSITION, VISIBILITY
from gv_engine.scenario.library import gym_id
from gv_engine.scenario.scenario import Scenario
from tests import DATA
from tests.levels import GRID_NAMES
from tests.processes import run_program, under_hash_seeds
from tests.scenario.reading import RULES, begin

CONFIGS = json.loads((DATA / "scenario_configs.json").read_text())

SMALL = {**RULES, "map": "####\n#>E#\n####"}


def load(folder=None, **changes):
    """The scenario of SMALL with other keys."""
    return Scenario.load({**SMALL, **changes}, folder)


def arguments(scenario, phase):
    return [(call.name, call.arguments) for call in scenario.calls(phase)]


# ---- built-in scenarios and where scenarios come from ----------------------------------------


def test_gymnasium_ids_derive_from_file_names():
    assert gym_id("memory-nine-rooms-10x10") == "GV-MemoryNineRooms-10x10-v0"
    assert gym_id("maze") == "GV-Maze-v0"


def built_in_name(recorded):
    return recorded.removeprefix("gv_").replace("_", "-").replace(".", "-")


@pytest.mark.filterwarnings("ignore:.*teleport takes no 'random_agent'")
@pytest.mark.sample("gv_keydoor", "gv_teleport", "gv_memory_nine_rooms.10x10")
@pytest.mark.parametrize("name", [name for name in CONFIGS if built_in_name(name) in GRID_NAMES])
def test_recorded_configs_and_built_in_files_agree(name):
    recorded, file = Scenario.load(CONFIGS[name]), Scenario.load(built_in_name(name))
    for attribute in ("objects", "colors", "observation_objects", "observation_colors"):
        assert getattr(recorded, attribute) == getattr(file, attribute)
    assert (recorded.actions, recorded.area) == (file.actions, file.area)
    assert file.max_steps == 500
    for phase in (RESET, TRANSITION, REWARD, TERMINATING, VISIBILITY):
        assert recorded.calls(phase) == file.calls(phase)


def test_file_and_folder(tmp_path):
    (tmp_path / "maze").mkdir()
    for file in (tmp_path / "level.yaml", tmp_path / "maze" / "scenario.yaml"):
        file.write_text(json.dumps(SMALL))  # JSON is YAML
    assert Scenario.load(tmp_path / "level.yaml").name == "level"
    assert Scenario.load(str(tmp_path / "level.yaml")).source == tmp_path / "level.yaml"
    assert Scenario.load(tmp_path / "maze").name == "maze"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("vualt", "vualt: no scenario of this name; did you mean 'vault'? (near: vault)"),
        ("cave", "did you mean 'cave.yaml'? (near: cave.yaml, cavern, "),
        ("qwerty", "qwerty: no scenario of this name; `gv-engine list` shows all"),
        ("{tmp}/levle.yaml", "{tmp}/levle.yaml: no such file; did you mean 'level.yaml'?"),
        ("{tmp}", "{tmp}: the folder has no scenario.yaml (there are: level.yaml)"),
        ("{tmp}/" + "x" * 300, "File name too long"),
    ],
)
def test_missing_files_name_the_nearest(tmp_path, source, expected, monkeypatch):
    (tmp_path / "level.yaml").write_text("")
    for folder in ("vault", "cavern"):
        (tmp_path / "here" / folder).mkdir(parents=True)
        (tmp_path / "here" / folder / "scenario.yaml").write_text("")
    (tmp_path / "here" / "cave.yaml").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ScenarioError) as error:
        Scenario.load(source.format(tmp=tmp_path))
    assert expected.format(tmp=tmp_path) in str(error.value)


ANOTHER_COMPONENT = """
from gv_engine import Scenario
from gv_engine.rules.component import component
__name__ = "components.weather"
@component
class Wet: pass
assert "wet" in Scenario.load("keydoor-5x5").layout.dtype.names
"""


def test_a_component_of_the_package_needs_no_other_line():
    """In a process of its own, as all worlds made after it have the component."""
    run_program(ANOTHER_COMPONENT)


def test_a_scenario_of_another_family_is_told_as_one():
    own = {"domain": "algebra", "environment": "PolySimplify"}
    for source in ("mathy-poly-simplify-easy", "GV-MathyPolySimplify-easy-v0", own):
        with pytest.raises(ScenarioError, match="domain: found 'algebra'; load_scenario"):
            Scenario.load(source)


# ---- top-level keys --------------------------------------------------------------------------


def test_defaults():
    scenario = Scenario.load(SMALL)
    built_in = [kind for kind in OBJECT_TYPES if kind.module == "components.objects"]
    assert scenario.objects == tuple(kind.index for kind in built_in if kind.in_grid)
    assert scenario.colors == tuple(range(5))
    assert scenario.observation_objects == scenario.objects
    assert scenario.observation_colors == scenario.colors
    assert scenario.actions == tuple(range(8))
    assert (scenario.max_steps, scenario.source, scenario.warnings) == (None, None, ())


def test_spaces_are_sorted_and_contain_none():
    scenario = load(
        state_space={"objects": ["Exit", "Wall", "Floor", "Key"], "colors": ["BLUE", "RED"]},
        observation_space={"colors": ["RED"]},
        action_space=["TURN_LEFT", "MOVE_FORWARD"],
    )
    assert scenario.objects == scenario.observation_objects == (FLOOR, WALL, EXIT, KEY)
    assert scenario.colors == (NONE, RED, BLUE)
    assert scenario.observation_colors == (NONE, RED)
    assert scenario.actions == (4, 0)


def test_rewards_with_one_name_are_numbered():
    rewards = ["living_reward", "reach_exit", "living_reward", {"name": "living_reward"}]
    numbered = ("living_reward", "reach_exit", "living_reward_2", "living_reward_3")
    assert load(reward_functions=rewards).reward_names == numbered


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (9, 9, 81 + 8 + 81)),
        ({"state_space": {"objects": ["Floor", "Wall", "Exit"]}}, (9, 9, 81 + 8)),
        ({"max_shape": [10, 30]}, (13, 33, 2 * 13 * 33 + 8)),
        ({"capacity": 20}, (9, 9, 20)),
    ],
)
def test_layout(changes, expected):
    layout = load(**changes).layout
    assert (layout.height, layout.width, layout.capacity) == expected


def test_observation_functions():
    nested = {"name": "from_visibility", "visibility_function": {"name": "partially_occluded"}}
    for function in ({"name": "partially_occluded"}, nested):
        scenario = load(observation_function={**function, "area": [[-2, 0], [-1, 3]]})
        assert scenario.visibility.name == "partially_occluded"
        assert scenario.area == Area(-2, 0, -1, 3)


def test_parameters_are_converted():
    rewards = [
        {"name": "getting_closer", "object_type": "Key", "distance_function": "euclidean"},
        {"name": "getting_closer", "object_type": "Key", "distance_function": "math:hypot"},
        {"name": "living_reward", "reward": -1},
    ]
    first, second, third = load(reward_functions=rewards).calls(REWARD)
    assert first.arguments["object_type"] == KEY
    assert first.arguments["distance_function"] is euclidean
    assert second.arguments["distance_function"].__name__ == "hypot"
    assert isinstance(third.arguments["reward"], float)


def test_a_parameter_that_files_of_gridverse_have_in_vain_is_ignored_with_a_warning():
    functions = ["move_agent", {"name": "turn_agent", "quickly": True}]
    with pytest.raises(ScenarioError, match=r"\[1\].quickly: turn_agent takes no 'quickly'$"):
        load(transition_functions=functions)
    level = {"name": "teleport", "shape": [5, 5], "random_agent": True}
    with pytest.warns(UserWarning, match="teleport takes no 'random_agent' .*; ignored"):
        scenario = Scenario.load({**RULES, "reset_function": level})
    assert len(scenario.warnings) == 1
    with pytest.raises(ScenarioError, match="teleport takes no 'random_exit'"):
        Scenario.load({**RULES, "reset_function": {**level, "random_exit": True}})


REST = yaml.safe_dump({key: value for key, value in RULES.items() if key != "reward_functions"})


def test_names_stay_as_written(tmp_path):
    file = tmp_path / "norway.yaml"
    file.write_text(
        """
name: NO
description: 010
map: |
  nYnn
  n~on
  nnnn
legend:
  n: Wall
  Y: {object: Exit}
  ~: {agent: LEFT}
  o: Floor
state_space: {colors: [NONE]}
reward_functions: [{name: living_reward, reward: 1e-3}]
"""
        + REST
    )
    scenario = Scenario.load(file)
    assert (scenario.name, scenario.description) == ("NO", "010")
    assert arguments(scenario, REWARD) == [("living_reward", {"reward": 0.001})]
    assert scenario.calls(RESET)[0].arguments["starts"].tolist() == [[1, 1, LEFT]]


def test_anchors_and_merge_keys(tmp_path):
    file = tmp_path / "merge.yaml"
    file.write_text(
        """
state_space: &space {objects: [Floor, Wall, Exit], colors: [NONE]}
observation_space: {<<: *space, colors: [NONE, RED]}
reset_function: {name: empty, shape: [5, 5]}
reward_functions:
  - &closer {name: getting_closer, object_type: Exit, reward_closer: 3}
  - {<<: *closer, distance_function: euclidean}
"""
        + REST
    )
    scenario = Scenario.load(file)
    assert scenario.observation_objects == scenario.objects == (FLOOR, WALL, EXIT)
    assert scenario.observation_colors == (NONE, RED)
    assert [call.arguments["reward_closer"] for call in scenario.calls(REWARD)] == [3.0, 3.0]


# ---- maps ------------------------------------------------------------------------------------


def test_map_becomes_the_grid():
    legend = {"K": {"object": "Key", "color": "RED"}, "T": {"object": "Telepod", "color": "BLUE"}}
    w = begin(load(map="#######\n#Kd.T #\n#_D<BE#\n#######", legend=legend)).world
    floor, closed, opened = [FLOOR, 0, NONE], [DOOR, CLOSED, YELLOW], [DOOR, OPEN, YELLOW]
    assert w.cells()[1:3, 1:6].tolist() == [
        [[KEY, 0, RED], closed, floor, [TELEPOD, 0, BLUE], floor],
        [opened, [DOOR, LOCKED, YELLOW], floor, [BOX, 0, NONE], [EXIT, 0, NONE]],
    ]
    assert (w.cells()[[0, 3]][..., 0] == WALL).all()
    assert (w.position.y[AGENT], w.position.x[AGENT], w.agent.facing[AGENT]) == (2, 3, LEFT)


def test_agent_looks_where_its_arrow_points():
    for character, facing in zip("^v<>", (FORWARD, BACKWARD, LEFT, RIGHT)):
        assert begin(load(map=character)).world.agent.facing[AGENT] == facing


def test_agent_on_top_of_an_object():
    scenario = load(map="aE", legend={"a": {"agent": "RIGHT", "object": "Exit"}})
    assert begin(scenario).world.cells()[0, 0, 0] == EXIT


# ---- copies ----------------------------------------------------------------------------------


def test_with_changes_only_what_is_named():
    scenario = Scenario.load(SMALL)
    shorter = scenario.with_(max_steps=7)
    assert (scenario.max_steps, shorter.max_steps) == (None, 7)
    assert shorter.with_(name="short").max_steps == 7
    assert shorter.calls(REWARD) == scenario.calls(REWARD)


def test_pickles_and_copies():
    scenario = Scenario.load("keydoor-9x9").with_(max_steps=7)
    for twin in (pickle.loads(pickle.dumps(scenario)), copy.deepcopy(scenario)):
        assert (twin.name, twin.max_steps, twin.layout) == ("keydoor-9x9", 7, scenario.layout)
        assert twin.calls(REWARD) == scenario.calls(REWARD)
        assert twin.source == scenario.source


THINGS = """
from gv_engine.rules.component import Int8, component
from gv_engine.rules.objects import object_type

@component
class {kind}:
    {field}: Int8 = 0

object_type("{kind}", {kind}, states=("NO", "YES"), state=({kind}, "{field}"))
"""


@pytest.mark.slow
def test_result_does_not_depend_on_hash_seeds(tmp_path):
    (tmp_path / "a.py").write_text(THINGS.format(kind="Apple", field="ripe"))
    (tmp_path / "b.py").write_text(THINGS.format(kind="Bell", field="loud"))
    scenario = {
        **SMALL,
        "state_space": {"objects": ["./b.py:Bell", "./a.py:Apple", "Floor", "Wall", "Exit"]},
        "observation_space": {"colors": ["RED", "BLUE", "GREEN"]},
    }
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario))
    one, other = under_hash_seeds(f"""
from gv_engine import Scenario
s = Scenario.load({str(tmp_path)!r})
print([s.types[i].name for i in s.objects], s.observation_colors, s.actions, s.layout.dtype.names)
""")
    assert one == other
    assert "'Bell', 'Apple'] (0, 1, 2, 3)" in one


def test_columns_of_rule_files_follow_the_built_in_ones(tmp_path):
    (tmp_path / "z.py").write_text(THINGS.format(kind="Zebra", field="striped"))
    (tmp_path / "c.py").write_text(THINGS.format(kind="Cat", field="asleep"))
    scenario = load(
        tmp_path,
        state_space={"objects": ["Wall", "Floor", "Exit", "./z.py:Zebra", "./c.py:Cat"]},
        map=">EC",
        legend={"C": {"object": "Cat", "state": "YES"}},
    )
    columns = [column_name(cls) for cls in scenario.layout.components]
    assert columns[-2:] == ["cat", "zebra"]
    assert scenario.layout.components[:-2] == built_in_components()
    kind, state, _ = begin(scenario).world.cells()[0, 2].tolist()
    assert (scenario.types[kind].name, state) == ("Cat", 1)
