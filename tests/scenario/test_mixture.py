"""Mixtures: every reset draws one scenario out of several, alike in both worlds."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from gv_engine import GridEnv, GridVectorEnv, RuleError, Scenario, ScenarioError
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.scenario import mixture
from gv_engine.scenario.documents.document import read_file
from tests.comparing import drop_terms, same
from tests.scenario.reading import begin, find_problems
from tests.vector.test_programs import BASE

KINDS = pytest.mark.parametrize("kind", ["object", "compiled"])
SHORT = 9
WALK = {**BASE, "name": "walk", "transition_functions": ["move_agent", "turn_agent"]}
CARRY = {
    **BASE,
    "name": "carry",
    "map": "####\n#K>#\n#E.#\n####",
    "transition_functions": ["turn_agent", "move_agent", "pickndrop"],
    "reward_functions": [{"name": "pickndrop", "object_type": "Key"}, "living_reward"],
}
TWO = {"mixture": [{"scenario": WALK, "weight": 3}, {"scenario": CARRY}], "max_steps": SHORT}
"""Two programs, whose rewards come in another order and number."""


def test_resets_draw_in_proportion_to_the_weights():
    simulation, drawn = begin(Scenario.load(TWO)), []
    for _ in range(200):
        simulation.reset()
        drawn.append(simulation.member.name)
    assert 130 < drawn.count("walk") < 170
    assert set(drawn) == {"walk", "carry"}


def test_what_the_whole_has_from_its_members():
    whole = Scenario.load(TWO)
    assert [member.name for member in whole.members] == ["walk", "carry"]
    assert whole.reward_names == ("living_reward", "pickndrop")
    assert whole.cumulative_weights == (0.75, 1.0)
    assert whole.max_steps == SHORT
    assert {member.max_steps for member in whole.with_(max_steps=4).members} == {4}
    alone = Scenario.load("keydoor-5x5")
    assert alone.members == (alone,)
    sizes = Scenario.load("keydoor-sizes")
    assert sizes.layout.height == 9
    assert {member.layout for member in sizes.members} == {sizes.layout}


def test_weights_may_be_as_large_as_numbers_are():
    for weight in (1e308, 5e-324):
        whole = Scenario.load({"mixture": [{"scenario": WALK, "weight": weight}] * 4})
        assert whole.cumulative_weights == (0.25, 0.5, 0.75, 1.0)
    parts = [{"scenario": WALK, "weight": w} for w in (0.1, 0.2, 0.7)]
    total = 0.1 + 0.2 + 0.7
    weights = Scenario.load({"mixture": parts}).cumulative_weights
    assert weights == (0.1 / total, (0.1 + 0.2) / total, 1.0)


def test_members_that_do_not_say_what_a_success_is_are_named():
    told = {**CARRY, "success_function": "reach_exit"}
    mixed = {"mixture": [{"scenario": WALK}, {"scenario": told}]}
    said = "<mapping>: mixture: there is no `success`, as carry has a success_function and walk has"
    with pytest.warns(UserWarning, match=said) as warned:
        whole = Scenario.load(mixed)
    assert len(warned) == 1
    assert not whole.tells_success
    both = Scenario.load({"mixture": [{"scenario": told}] * 2})
    assert both.tells_success
    assert both.success is None


@pytest.mark.compiled_elsewhere
@KINDS
def test_a_mixture_of_one_is_that_scenario(kind):
    one = GridEnv({"mixture": ["keydoor-5x5"]}, world=kind)
    other = GridEnv("keydoor-5x5", world=kind)
    for seed in range(3):
        one.reset(seed=seed)
        other.reset(seed=seed)
        for action in (7, 5, 0, 0):
            one.step(action)
            other.step(action)
            assert one.snapshot() == other.snapshot()


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("source", [TWO, "keydoor-sizes"])
def test_the_object_world_equals_the_compiled_one(source):
    report = run_differential_test(Scenario.load(source).with_(max_steps=30), episodes=60)
    assert report.fault == ""
    assert report.steps > 400


@KINDS
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_many_worlds_equal_single_ones_through_many_episodes(kind, mode):
    num = 6
    envs = GridVectorEnv(TWO, num, world=kind, autoreset_mode=mode)
    others = SyncVectorEnv(
        [lambda: GridEnv(TWO, world="object") for _ in range(num)], autoreset_mode=mode
    )
    assert same(envs.reset(seed=4), others.reset(seed=4))
    pilot = np.random.default_rng(0)
    played = set()
    for _ in range(40):
        actions = pilot.integers(8, size=num)
        found, expected = envs.step(actions), others.step(actions)
        assert same(drop_terms(found, mode), drop_terms(expected, mode))
        played |= set(found[4]["member"].tolist())
    assert played == {0, 1}


@KINDS
def test_snapshots_and_copies_carry_the_member(kind):
    envs = GridVectorEnv(TWO, 5, world=kind, copy=True)
    _, info = envs.reset(seed=0)
    assert set(info["member"].tolist()) == {0, 1}
    rows = [envs.snapshot(i) for i in range(5)]
    assert [row["member"] for row in rows] == info["member"].tolist()
    twins = copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))
    single = GridEnv(TWO, world="object")
    for i, row in enumerate(rows):
        assert single.restore(row)[1]["member"] == info["member"][i]
        single.step(0)
    for step in range(2 * SHORT):
        expected = envs.step([step % 8] * 5)
        for twin in twins:
            assert same(twin.step([step % 8] * 5), expected)


@KINDS
def test_a_row_of_another_mixture_is_refused(kind):
    parts = [{"scenario": part} for part in (WALK, WALK, CARRY)]
    three = GridVectorEnv({"mixture": parts}, 8, world="object")
    three.reset(seed=0)
    rows = [three.snapshot(i) for i in range(8)]
    row = next(row for row in rows if row["member"] == 2)
    with pytest.raises(ValueError, match="plays member 2 of a mixture, mixture has 2"):
        GridEnv(TWO, world=kind).restore(row)


def test_a_mixture_has_no_states_as_objects():
    with pytest.raises(RuleError, match="take an inner environment of one of"):
        Scenario.load(TWO).inner_env()


# ---- mistakes ----------------------------------------------------------------------------------

FILE = """\
name: both
mixture:
  - scenario: one.yaml
    weight: 2
  - keydoor-5x5
"""
ONE = """\
map: |
  #>E#
transition_functions: [move_agent]
reward_functions: [reach_exit]
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}
terminating_function: reach_exit
success_function: reach_exit
"""


def write(folder, text, one=ONE):
    (folder / "one.yaml").write_text(one)
    (folder / "both.yaml").write_text(text)
    return folder / "both.yaml"


def problems(folder, text, one=ONE):
    file = write(folder, text, one)
    return [problem.removeprefix(f"{file}:") for problem in find_problems(file)]


def test_files_are_found_beside_the_mixture(tmp_path):
    both = Scenario.load(write(tmp_path, FILE))
    assert [member.name for member in both.members] == ["one", "keydoor-5x5"]
    assert both.max_steps is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("weight: 2", "wight: 2", "4: mixture[0].wight: unknown key 'wight'; did you mean 'weight"),
        ("scenario: one.yaml\n    ", "", "3: mixture[0]: the scenario is missing: {scenario: …"),
        ("keydoor-5x5", "keydor-5x5", "5: mixture[1]: keydor-5x5: no scenario of this name; did"),
        ("keydoor-5x5", "both.yaml", "both.yaml is a mixture itself; list its members instead"),
        ("keydoor-5x5", "empty-4x4", "5: mixture[1]: empty-4x4 has the actions MOVE_FORWARD, MOVE"),
        (FILE, "mixture: []", "1: mixture: found a list of 0, expected 1 to 1000 scenarios"),
        ("name: both", "action_space: [FLY]", "1: action_space[0]: no action 'FLY'"),
    ],
)
def test_mistakes_are_located(tmp_path, old, new, expected):
    (found,) = problems(tmp_path, FILE.replace(old, new))
    assert expected in found


def test_weight_and_scenario_are_both_looked_at(tmp_path):
    text = FILE.replace("one.yaml", "two.yaml").replace("weight: 2", "weight: 0")
    scenario, weight = problems(tmp_path, text)
    assert scenario.startswith("3: mixture[0].scenario: two.yaml: ")
    assert weight == "4: mixture[0].weight: found 0, expected more than 0"


def test_algebra_cannot_be_mixed(tmp_path):
    text = FILE.replace("keydoor-5x5", "mathy-poly-simplify-easy")
    told = "5: mixture[1]: mathy-poly-simplify-easy is of the domain algebra, which cannot be mixed"
    assert problems(tmp_path, text)[0].startswith(told)
    (member,) = problems(tmp_path, FILE, "domain: algebra")
    assert "one.yaml is of the domain algebra, which cannot be mixed" in member


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("move_agent", "mve_agent", "one.yaml:3: transition_functions[0]: no transition function"),
        ("move_agent", "mve_agent", "3: mixture[0].scenario: "),
        ("-6", "-5", "5: mixture[1]: keydoor-5x5 observes the area [[-6, 0], [-3, 3]], one "),
    ],
)
def test_mistakes_of_a_member_are_passed_on(tmp_path, old, new, expected):
    (found,) = problems(tmp_path, FILE, ONE.replace(old, new))
    assert expected in found


def test_whatever_is_wrong_with_a_mixture_is_told(tmp_path):
    file = tmp_path / "mix.yaml"
    for text, part in (
        ("name: {}\nmixture: [empty-4x4]", "1: name: found a mapping, expected a text"),
        ("mixtur: [empty-4x4]", "1: mixtur: unknown key 'mixtur'; did you mean 'mixture'"),
        (f"mixture: [{'a' * 5000}]", "1: mixture[0]: "),
        (f"mixture: [./{'a' * 5000}.yaml]", "1: mixture[0]: "),
        ('mixture: ["a\\0b"]', "1: mixture[0]: "),
    ):
        file.write_text(text)
        said = "\n".join(find_problems(file))
        assert f"{file}:{part}" in said
        assert len(said) < 1500


def test_a_member_that_is_named_often_is_read_once(monkeypatch):
    read = []

    def counted(*arguments):
        read.append(arguments)
        return read_file(*arguments)

    monkeypatch.setattr("gv_engine.scenario.mixture.read_file", counted)
    mixed = Scenario.load({"mixture": ["empty-4x4"] * 50 + ["empty-8x8"]})
    assert len(read) == 2
    assert len(mixed.members) == 51


@pytest.mark.parametrize(
    "member",
    [
        '{"scenario": "a.yaml", "set": {"p": %d}}',
        '{"scenario": {"extends": "a.yaml", "name": "%d"}}',
    ],
)
def test_files_of_all_members_are_bounded(tmp_path, monkeypatch, member: str):
    monkeypatch.setattr(mixture, "_MAX_MEMBER_BYTES", 5000)
    text = json.dumps({**WALK, "parameters": {"p": 0}}) + " " * 1000
    (tmp_path / "a.yaml").write_text(text)
    file = tmp_path / "mix.yaml"
    for times in (5000 // len(text), 5000 // len(text) + 20):
        file.write_text('{"mixture": [' + ", ".join(member % i for i in range(times)) + "]}")
        if times < 20:
            assert len(Scenario.load(file).members) == times
    with pytest.raises(ScenarioError, match="the files of all members are at most") as error:
        Scenario.load(file)
    assert len(error.value.problems) == 1
