"""Rules that read files, and reward functions that only measure."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import RESET, GridEnv, GridVectorEnv, Scenario, ScenarioError
from gv_engine.scenario.documents.loading import load_reference, make_reference

RULES = '''
import numpy as np

from components.objects import WALL
from gv_engine import RESET, REWARD, FilePath, World, system
from gv_engine.geometry import FORWARD
from systems.building import put, put_agent


def read_heights(file: str) -> np.ndarray:
    """Return the numbers of a file."""
    return np.loadtxt(file, np.int64, ndmin=2)


def find_shapes(heights_file: str) -> np.ndarray:
    """Return the size of the level."""
    return np.array([read_heights(heights_file).shape])


def read_again(heights_file: str) -> np.ndarray:
    """Return the numbers of the file."""
    return read_heights(heights_file)


@system(RESET, tables={"shapes": find_shapes, "heights": read_again})
def build(w: World, heights_file: FilePath, shapes: np.ndarray, heights: np.ndarray) -> None:
    """Build a level with walls where the file has heights."""
    w.set_shape(int(shapes[0, 0]), int(shapes[0, 1]))
    for y in range(w.height):
        for x in range(w.width):
            if heights[y, x] > 0:
                put(w, WALL, y, x)
    put_agent(w, 1, 0, 0, int(FORWARD))


@system(REWARD)
def row(w: World, agent: int) -> float:
    """The agent's row."""
    return float(w.position.y[agent])
'''
SCENARIO = """
parameters: {file: {default: heights.txt, type: file}}
reset_function: {name: "./rules.py:build", heights_file: $file}
transition_functions: [move_agent]
reward_functions:
  - {name: living_reward, reward: -1.0}
  - {name: "./rules.py:row", pays: no}
terminating_function: bump_into_wall
observation_function: {name: fully_transparent, area: [[-2, 0], [-1, 1]]}
max_steps: 9
"""
FORWARD, BACKWARD = 0, 1


@pytest.fixture
def hills(tmp_path: Path) -> Path:
    folder = tmp_path / "hills"
    folder.mkdir()
    for name, text in {
        "rules.py": RULES,
        "scenario.yaml": SCENARIO,
        "heights.txt": "0 1 0\n0 0 2\n0 0 0\n",
    }.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_a_file_beside_the_scenario_makes_the_level(hills: Path, world: str):
    scenario = Scenario.load(hills)
    (reset,) = scenario.calls(RESET)[:1]
    assert reset.arguments["heights"].tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    env = GridVectorEnv(scenario, 2, world=world)
    env.reset(seed=0)
    grids = env.snapshot()["at"] != 0
    assert (grids[:, :3, :3] == (reset.arguments["heights"] > 0)).all()


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_rules_that_do_not_pay_are_measured(hills: Path, world: str):
    env = GridVectorEnv(Scenario.load(hills), 2, world=world)
    env.reset(seed=0)
    names = env.scenario.action_names
    actions = np.full(2, names.index("MOVE_BACKWARD"))
    for row in (1, 2):
        _, reward, _, _, info = env.step(actions)
        assert reward.tolist() == [-1, -1]
        assert info["reward_terms"]["row"].tolist() == [row, row]


def test_the_content_of_the_file_is_part_of_the_identity(hills: Path):
    before = Scenario.load(hills)
    assert hills / "heights.txt" in before.watched_files()
    reference = make_reference(before)
    assert load_reference(reference, trust=True).identity == before.identity
    (hills / "heights.txt").write_text("0 0\n0 1\n")
    after = before.reload()
    assert after.identity.digest != before.identity.digest
    assert after.calls(RESET)[0].arguments["shapes"].tolist() == [[2, 2]]


def test_a_file_that_is_set_is_relative_to_the_working_directory(hills: Path, monkeypatch: Any):
    (hills.parent / "other.txt").write_text("0 0 0 0\n")
    monkeypatch.chdir(hills.parent)
    scenario = Scenario.load(hills, file="other.txt")
    assert scenario.calls(RESET)[0].arguments["shapes"].tolist() == [[1, 4]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("default: heights.txt", "default: gone.txt", "gone.txt"),
        (
            "default: heights.txt",
            "default: rules.py",
            r"build: (shapes|heights): could not convert",
        ),
        ("pays: no", "pays: maybe", "found 'maybe', expected true or false"),
        (
            "transition_functions: [move_agent]",
            "transition_functions: [{name: move_agent, pays: no}]",
            "move_agent takes no 'pays'",
        ),
    ],
)
def test_faults_are_named(hills: Path, old: str, new: str, message: str):
    file = hills / "scenario.yaml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(ScenarioError, match=message):
        Scenario.load(hills)


def test_a_nested_rule_always_counts(hills: Path):
    file = hills / "scenario.yaml"
    nested = "{name: reduce_sum, reward_functions: [{name: living_reward, pays: no}]}"
    file.write_text(file.read_text().replace("{name: living_reward, reward: -1.0}", nested))
    with pytest.raises(ScenarioError, match="living_reward takes no 'pays'"):
        GridEnv(Scenario.load(hills))
