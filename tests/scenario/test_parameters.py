"""Parameters of scenarios, and all ways to set them."""

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import gv_engine
from gv_engine import GridEnv, GridVectorEnv, Scenario, ScenarioError, load_scenario
from gv_engine.cli import main
from gv_engine.rules.errors import UnknownOptionError
from gv_engine.scenario.documents.loading import load_reference, make_reference
from tests.scenario.reading import RULES, assert_refused, find_problems, measure

HALL = """\
name: hall
description: A hall of $size cells, $$5 to enter.
parameters:
  size: {default: 5, min: 4, max: 12, says: of either side}
  wide: {default: $(2 * size)}
  pain: {default: -0.5, max: 0}
  random: no
  goal: {default: Exit, choices: [Exit, Wall]}
transition_functions: [move_agent, turn_agent]
reward_functions:
  - {name: living_reward, reward: $pain}
  - {name: overlap, object_type: $goal, reward_on: $(10 if size > 8 else 1)}
terminating_function: {name: overlap, object_type: $goal}
observation_function: {name: fully_transparent, area: [[-2, 0], [-1, 1]]}
reset_function: {name: empty, shape: [$size, $wide], random_agent: $random}
"""


@pytest.fixture
def hall(tmp_path: Path) -> Path:
    file = tmp_path / "hall.yaml"
    file.write_text(HALL)
    return file


def test_values_stand_for_their_names(hall):
    small, large = Scenario.load(hall), Scenario.load(hall, size=9, goal="Wall", random=True)
    assert [measure(small), measure(large)] == [(5, 10), (9, 18)]
    assert small.description == "A hall of 5 cells, $5 to enter."
    living, overlap = large.calls(gv_engine.REWARD)
    assert [living.arguments["reward"], overlap.arguments["reward_on"]] == [-0.5, 10]
    (reset,) = large.calls(gv_engine.RESET)
    assert reset.arguments["random_agent"] is True


def test_what_is_set_is_part_of_the_identity(hall):
    plain, same, other = (Scenario.load(hall, size=size) for size in (5, 5, 6))
    assert plain.identity == same.identity != other.identity
    assert plain.identity.digest == Scenario.load(hall).identity.digest


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"size": 3}, r"size=3: allowed are whole numbers from 4 to 12"),
        ({"size": True}, r"size=True: allowed are whole numbers"),
        ({"pain": 1}, r"pain=1: allowed are numbers to 0"),
        ({"goal": "Key"}, r"goal='Key': allowed are Exit, Wall"),
        ({"random": 1}, r"random=1: allowed are true and false"),
    ],
)
def test_a_value_that_may_not_be(hall, settings, said):
    with pytest.raises(ScenarioError, match=rf"hall.yaml:\d+: parameters\.\w+: {said}"):
        Scenario.load(hall, **settings)


def test_a_name_that_there_is_not(hall):
    for load in (Scenario.load, load_scenario, GridEnv, GridVectorEnv):
        with pytest.raises(UnknownOptionError, match="no option 'sise'; did you mean 'size'"):
            load(hall, sise=5)
    with pytest.raises(TypeError, match="size=5: hall is loaded already"):
        GridEnv(Scenario.load(hall), size=5)  # too late


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("size: {min: 4}", "the default is missing"),
        ("size: {default: 5, min: six}", "parameters.size.min: found 'six', expected a number"),
        (
            "size: {default: a, min: 4}",
            "only numbers have bounds, and the default of size, 'a', is of the type text",
        ),
        ("size: {default: 5, max: 4}", "found 5, allowed are whole numbers to 4"),
        ("size: {default: 5, type: number}", "no type 'number'"),
        ("trust: 5", "found the name 'trust'"),
        ("size: $other", "no parameter 'other'"),
        ("size: $(1 +)", "cannot be read"),
        ("size: $(1 / 0)", "cannot be evaluated: division by zero"),
        ("size: $(9 ** 9)", "is not arithmetic"),
        ("size: $(int)", "no parameter 'int'"),
        ("size: $((5)", "with a parenthesis that is not closed"),
        ("size: $(2000000000 * 2000000000)", "the numbers grow too large"),
        ("size: $('a' * 9)", "'a' is no number"),
        ("size: $(" + "(" * 90 + ")" * 90 + ")", "cannot be"),
        ("size: $(" + "1+" * 200 + "1)", "more than 200 characters"),
        ("size: {default: 5, min: 6}", "found 5, allowed are whole numbers from 6"),
    ],
)
def test_mistakes_are_told_with_their_lines_and_once(hall, line, said):
    hall.write_text(HALL.replace("size: {default: 5, min: 4, max: 12, says: of either side}", line))
    found = find_problems(hall)
    place = f"hall.yaml:4: parameters.{line.partition(':')[0]}"
    assert any(place in problem and said in problem for problem in found)
    assert not line.startswith("size") or "no parameter 'size'" not in "".join(found)
    assert not any("it is missing" in problem for problem in found)  # it stands there


def test_a_name_that_is_not_declared_or_not_yet(hall):
    hall.write_text(HALL.replace("min: 4", "min: $size"))
    assert_refused("hall.yaml:4: parameters.size.min: no parameter 'size", hall)
    hall.write_text(HALL.replace("$pain", "$gain"))
    with pytest.raises(ScenarioError, match=r"hall.yaml:11: reward_.*no parameter 'gain'; did you"):
        Scenario.load(hall)


def test_what_a_parameter_sets_is_told_with_its_line(hall):
    hall.write_text(HALL.replace("reward: $pain", "rewrad: $pain"))
    assert_refused("hall.yaml:11: reward_functions[0].rewrad: living_reward takes no", hall)


def test_a_dollar_is_a_dollar_in_maps_and_without_parameters():
    level = {**RULES, "map": ">$a", "legend": {"$": "Exit", "a": "Wall"}, "description": "$a, $$5"}
    assert Scenario.load(level).description == "$a, $$5"
    assert measure(Scenario.load({**level, "parameters": {"a": 5}})) == (1, 3)


def test_environments_take_them():
    env: Any = gymnasium.make("GV-Keydoor-v0", size=11, world="object").unwrapped
    env.reset(seed=0)
    assert [env.scenario.name, measure(env.scenario)] == ["keydoor", (11, 11)]
    envs: Any = gymnasium.make_vec("GV-Keydoor-v0", num_envs=2, size=11, world="object").unwrapped
    assert measure(envs.scenario) == (11, 11)


def test_any_family_takes_them(hall):
    made = gymnasium.make("GV-Scenario-v0", scenario=str(hall), size=7, world="object")
    env: Any = made.unwrapped
    assert measure(env.scenario) == (7, 14)
    with pytest.raises(TypeError, match="sise"):
        gymnasium.make("GV-Scenario-v0", scenario=str(hall), sise=7)


@pytest.mark.thorough
def test_the_command_line_takes_them(hall, capsys):
    assert main(["check", str(hall), "--set", "size=7", "--quick", "--episodes", "1"]) == 0
    said = capsys.readouterr().out
    assert all(part in said for part in ("size", "whole numbers from 4 to 12", "of either side"))
    assert main(["check", str(hall), "--set", "size=99"]) == 1
    assert "allowed are whole numbers from 4 to 12" in capsys.readouterr().err
    for wrong, expected in (("size", "NAME=VALUE"), ("size=[", "not valid YAML")):
        with pytest.raises(SystemExit):
            main(["check", str(hall), "--set", wrong])
        assert expected in capsys.readouterr().err


def test_files_that_refer_to_it_keep_what_was_set(hall):
    scenario = Scenario.load(hall, size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = load_reference(make_reference(scenario))
    assert again.identity == scenario.identity
    assert measure(scenario.reload()) == (8, 16)
    built_in = make_reference(Scenario.load("keydoor", size=8))
    assert [built_in["source"], built_in["settings"]] == ["keydoor", {"size": 8}]


@pytest.mark.parametrize("name", ["keydoor", "pogema", "kitchen"])
def test_the_name_of_a_file_means_one_scenario_everywhere(name):
    scenario = Scenario.load(name)
    assert load_scenario(name).identity == scenario.identity
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_reference(make_reference(scenario)).identity == scenario.identity


def test_variants_are_settings_with_a_name():
    assert [measure(Scenario.load(f"keydoor-{size}x{size}"))[0] for size in (5, 7, 9)] == [
        5,
        7,
        9,
    ]
    set_by_hand = Scenario.load("keydoor-9x9", size=7)
    assert [set_by_hand.name, measure(set_by_hand)] == ["keydoor", (7, 7)]


def test_mixtures_set_them(hall):
    mixture = {"mixture": [{"scenario": str(hall), "set": {"size": 8}}, {"scenario": str(hall)}]}
    assert [*map(measure, Scenario.load(mixture).members)] == [(8, 16), (5, 10)]
    assert_refused("no option 'sise'", {"mixture": [{"scenario": str(hall), "set": {"sise": 8}}]})


@pytest.mark.parametrize(
    ("first", "next_value", "message"),
    [
        ("a" * 30, "$p{0}$p{0}", "more than 2,097,152 characters"),
        ([1] * 10, ["$p{0}"] * 4, "more than 50000 values"),
    ],
)
def test_values_of_parameters_are_bounded_together(first: Any, next_value: Any, message: str):
    parameters: dict[str, Any] = {"p0": first}
    for i in range(20):
        parameters[f"p{i + 1}"] = json.loads(json.dumps(next_value).replace("{0}", str(i)))
    assert_refused(message, {"parameters": parameters, "map": "#>E#"})
