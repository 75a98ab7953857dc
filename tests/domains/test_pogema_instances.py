"""POGEMA's maps and instances from files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, Scenario, ScenarioError
from gv_engine.cli import main
from gv_engine.scenario.documents.rule_files import load_rule_file
from tests import ROOT

read_instances: Any = load_rule_file(
    ROOT / "scenarios" / "together" / "pogema" / "instances.py"
).read_instances
MAPS = """
letters: |-
  a.B
  b#A
marks: |-
  @!$
  .##
  #@$
plain: |-
  ...
  .#.
"""
SCENARIOS = """
environment: {map_name: {grid_search: [plain]}, num_agents: 2}
scenarios:
  first: {map_name: plain, agents_xy: [[0, 0], [1, 2]], targets_xy: [[1, 2], [0, 0]], seed: 3}
  second:
    map_name: plain
    agents_xy: [[0, 0], [0, 1]]
    targets_xy: [[[0, 1], [0, 2]], [[1, 2], [0, 0], [1, 0]]]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "maps.yaml").write_text(MAPS)
    (tmp_path / "two.yaml").write_text(SCENARIOS)
    return tmp_path


def get_places(env: AgentsVectorEnv) -> list[list[int]]:
    """Return row and column of each agent and of its target."""
    row = env.snapshot()[0]
    agents = slice(1, env.scenario.layout.agents + 1)
    names = ("position", "y"), ("position", "x"), ("walker", "target_y"), ("walker", "target_x")
    places: list[list[int]] = np.stack(
        [row[name][field][agents] for name, field in names], -1
    ).tolist()
    return places


def play(name: str, file: Path, world: str = "object", **settings: Any) -> AgentsVectorEnv:
    env = AgentsVectorEnv(name, 1, world=world, instances=str(file), agents=2, **settings)
    env.reset(seed=[0])
    return env


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_letters_and_positions_are_places(folder: Path, world: str):
    mapf, lmapf = "pogema-benchmark-mapf", "pogema-benchmark-lmapf"
    env = play(mapf, folder / "maps.yaml", world, number=1)
    assert get_places(env) == [[0, 0, 1, 2], [1, 0, 0, 2]]
    env = play(mapf, folder / "two.yaml", world, number=1)
    assert get_places(env) == [[0, 0, 1, 2], [1, 2, 0, 0]]
    env = play(lmapf, folder / "two.yaml", world, number=2)
    names = list(env.scenario.action_names)
    stay, right = names.index("NOOP"), names.index("MOVE_RIGHT")
    targets = [[place[2:] for place in get_places(env)]]
    for actions in ([right, right], [stay, stay], [right, stay]):
        env.step(np.array([actions]))
        targets.append([place[2:] for place in get_places(env)])
    first, after = [[0, 1], [1, 2]], [[0, 2], [1, 2]]
    assert targets == [first, after, after, after]  # an agent is in the way


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
@pytest.mark.parametrize("ahead", [0, 1, 2, 3])
def test_agents_are_told_the_way_around_obstacles(folder: Path, world: str, ahead: int):
    level = folder / "level.yaml"
    level.write_text("corner: |-\n  a..\n  .#A\n  Bb.\n")
    env = play("pogema-benchmark-mapf", level, world, ahead=ahead)
    ways = [[1, 2], [0, 1], [0, 2], [1, 2]], [[0, -1], [0, -1], [0, -1], [0, -1]]
    names = list(env.scenario.action_names)
    for actions in (None, ["NOOP", "NOOP"]):
        if actions:
            env.step(np.array([[*map(names.index, actions)]]))
        row = env.snapshot()[0]["walker"]
        told = [[row["down"][agent], row["right"][agent]] for agent in (1, 2)]
        assert told == [way[ahead] for way in ways]


def test_marks_say_where_agents_and_targets_may_be(folder: Path):
    for seed in range(20):
        env = play("pogema-benchmark-mapf", folder / "maps.yaml", number=2)
        env.reset(seed=[seed])
        places = get_places(env)
        assert {tuple(place[:2]) for place in places} <= {(0, 0), (1, 0), (2, 1)}
        assert {tuple(place[2:]) for place in places} <= {(0, 2), (1, 0), (2, 2)}


@pytest.mark.parametrize("name", ["pogema-benchmark-mapf", "pogema-benchmark-lmapf"])
def test_each_reset_draws_an_instance(folder: Path, name: str):
    file = folder / "evaluation.yaml"
    file.write_text("environment: {map_name: plain, seed: {grid_search: [0, 5, 6]}}")
    env = AgentsVectorEnv(name, 60, world="object", instances=str(file), agents=2)
    env.reset(seed=0)
    counts = np.bincount(env.snapshot()["run"]["instance"][:, 1])
    assert len(counts) == 3
    assert counts.min() > 10


def test_evaluations_have_random_places_of_their_seeds(folder: Path):
    file = folder / "evaluation.yaml"
    file.write_text("environment: {map_name: {grid_search: [plain]}, seed: {grid_search: [0, 5]}}")
    assert read_instances(str(file)).seeds.tolist() == [0, 5]
    places = [
        [get_places(play("pogema-benchmark-mapf", file, number=number)) for _ in range(2)]
        for number in (1, 2)
    ]
    assert [one == two for one, two in places] == [True, True]
    assert places[0] != places[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "found list, expected a mapping"),
        ("{}", "found no maps"),
        ("a: [", "not YAML"),
        ("a: |-\n  ..\n  .", "a: row 1 has 1 cells, the first one has 2"),
        ("a: 3", "a: found '3', expected rows of # and ."),
        ("a: |-\n  .?", "a: found '\\?' in row 0, expected # . @ \\$ ! a A"),
        ("a: |-\n  aB", "a: found agents a and targets B"),
        ("a: |-\n  aA@", "a: found letters and marks"),
        ("map: ...\nagents_xy: [[0, 0]]", "map: found 1 starts and 0 targets"),
        (
            "map: ...\nagents_xy: [[0, 3]]",
            r"found \[0, 3\], expected \[row, column\] below \[1, 3\]",
        ),
        ("map: .#.\nagents_xy: [[0, 1]]", r"agents_xy: \[0, 1\] is an obstacle"),
        ("map: ...\nagents_xy: 3", "agents_xy: found 3, expected a list"),
        (
            "map: ...\nagents_xy: [[0, 1], [0, 1]]\ntargets_xy: [[0, 1], [0, 0]]",
            "two agents start in one cell",
        ),
        ("map: ...\nseed: -3", "found the seed -3"),
        ("scenarios: {s: {map_name: other}}", "s: found no map 'other' in maps.yaml"),
        ("scenarios: 3", "scenarios: found '3', expected a mapping"),
    ],
)
def test_files_that_cannot_be_read_are_refused(folder: Path, text: str, message: str):
    file = folder / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_instances(str(file))
    with pytest.raises(ScenarioError, match=message):
        Scenario.load("pogema-benchmark-mapf", instances=str(file))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mapf", {"agents": 3}, "found 3 agents, instance 1 has starts for 2"),
        ("mapf", {"agents": 4, "number": 2}, "found 4 agents, instance 2 has marks for 3"),
        ("mapf", {"agents": 3, "number": 3}, "found 3 agents, instance 3 has 5 free cells for all"),
        ("mapf", {"agents": 2, "number": 4}, "found number 4, allowed are 1 to 3"),
        ("lmapf", {"agents": 2, "number": 1}, "instance 1 has an agent with one goal"),
    ],
)
def test_instances_must_fit(folder: Path, name: str, settings: dict[str, Any], message: str):
    with pytest.raises(ScenarioError, match=message):
        Scenario.load(f"pogema-benchmark-{name}", instances=str(folder / "maps.yaml"), **settings)


def test_large_maps_are_refused(folder: Path):
    file = folder / "large.yaml"
    file.write_text("map: " + "." * 65)
    message = r"found a map of 1x65 cells, at most 64 a side: .* up to 63 cells; cut the map"
    with pytest.raises(ScenarioError, match=message):
        Scenario.load("pogema-benchmark-mapf", instances=str(file))


@pytest.mark.compiled
def test_rollout_plays_each_instance_once_and_prints_the_metrics(folder: Path, capsys: Any):
    file = folder / "two.yaml"
    arguments = ["rollout", "pogema-benchmark-mapf", "--levels", "0:60", "--set", "agents=2"]
    assert main([*arguments, "--set", f"instances={file}", "--set", "steps=3"]) == 0
    rows = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert rows["levels"] == "0:60, 2"
    assert {"success", "individual_success, mean sum", "sum_of_costs, mean sum"} <= rows.keys()
    assert float(rows["return, mean"]) == float(rows["reach_target, mean sum"])
