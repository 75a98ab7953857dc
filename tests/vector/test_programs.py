"""Compiled programs: what they are made of, and that they keep apart."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine import DoesNotCompileError, GridEnv, GridVectorEnv, Scenario
from gv_engine.compiler import batch_program
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.rules.errors import BuiltInDoesNotCompileError

pytestmark = pytest.mark.compiled

RULES = '''
from gv_engine import REWARD, TRANSITION, system
from gv_engine.rules.geometry import ACTUATE, PICK_N_DROP, step_x, step_y
from systems.queries import ahead, here


@system(TRANSITION)
def harden(w, agent):
    """ACTUATE turns what lies ahead to stone, and back."""
    e = ahead(w, agent)
    if w.action[agent] == ACTUATE and e != 0:
        if w.solid.has[e]:
            w.take(e, "solid")
            w.take(e, "color")
        else:
            w.add(e, "solid")
            w.add(e, "color")
            w.color.value[e] = 2


@system(TRANSITION)
def draw(w, agent):
    """PICK_N_DROP turns the agent by chance."""
    if w.action[agent] == PICK_N_DROP:
        w.agent.facing[agent] = w.rng.integers(0, 3)


@system(TRANSITION)
def look_up_when_paid(w, agent):
    """The agent looks up if it has been paid, or the time is over: not yet, in this step."""
    if w.reward[agent] != 0 or w.truncated:
        w.agent.facing[agent] = 0


@system(REWARD)
def twice(w, agent):
    """As much again as the rewards before it."""
    return w.reward[agent]
'''

BASE = {
    "map": "#####\n#>KE#\n#.d.#\n#####",
    "max_steps": 50,
    "reward_functions": [{"name": "living_reward"}],
    "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
    "terminating_function": {"name": "reach_exit"},
}


LEVEL = "keydoor-5x5"


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Scenarios beside the rules above."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.py").write_text(RULES)

    def load(*transitions, **changes):
        return Scenario.load(
            {**BASE, "transition_functions": list(transitions), **changes}, folder=folder
        )

    return load


@pytest.mark.thorough
def test_components_come_and_go_alike_in_both_worlds(load):
    rules = ["./rules.py:harden", "move_agent", "turn_agent", "pickndrop", "./rules.py:draw"]
    report = run_differential_test(load(*rules), episodes=20)
    assert report.fault == ""
    assert report.steps > 100


@pytest.mark.thorough
def test_steps_begin_alike_in_both_worlds(load):
    report = run_differential_test(load("turn_agent", "./rules.py:look_up_when_paid"), episodes=2)
    assert report.fault == ""


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_a_reward_finds_the_sum_of_those_before_it(load, world):
    rewards = ["./rules.py:twice", {"name": "living_reward", "reward": 3.0}, "./rules.py:twice"]
    env = GridEnv(load("turn_agent", reward_functions=rewards), world=world)
    env.reset(seed=0)
    for _ in range(2):
        *_, info = env.step(4)
        assert list(info["reward_terms"].values()) == [0.0, 3.0, 3.0]


def test_a_long_list_of_rules_compiles():
    rules = {
        "transition_functions": ["turn_agent"] * 41,
        "reward_functions": ["living_reward"] * 41,
    }
    envs = GridVectorEnv({"extends": LEVEL, **rules}, 2, world="compiled")
    envs.reset(seed=0)
    before = envs.snapshot()["agent"]["facing"][:, 1]
    _, rewards, _, _, _ = envs.step([4, 5])
    assert rewards.tolist() == [-41.0, -41.0]
    assert (envs.snapshot()["agent"]["facing"][:, 1] != before).all()


def test_equal_environments_and_forks_share_a_program():
    envs: list[Any] = [
        GridEnv(LEVEL, world="compiled"),
        GridEnv(LEVEL, world="compiled").fork(),
        GridVectorEnv(LEVEL, 2, world="compiled"),
        GridVectorEnv(LEVEL, 3, world="compiled", num_threads=2).fork(),
    ]
    assert len({id(env._batch.program) for env in envs}) == 1


ANY_PYTHON = """
import json
from gv_engine import TRANSITION, system

@system(TRANSITION)
def dictionary(w, agent):
    found = {1: 2}
    found["x"] = 3

@system(TRANSITION)
def exception(w, agent):
    try:
        w.agent.facing[agent] = 1
    except ValueError as error: raise

@system(TRANSITION)
def library(w, agent):
    json.dumps([1])

@system(TRANSITION)
def imports(w, agent):
    import random

@system(TRANSITION)
def undefined(w, agent):
    w.agent.facing[agent] = nothing

@system(TRANSITION)
def misspelt(w, agent):
    w.door.statsu[agent] = 1
"""


@pytest.mark.parametrize(
    ("rule", "cause"),
    [
        ("dictionary", r"rules\.py:8: in dictionary: {1: 2} cannot be changed"),
        ("exception", r"rules\.py:\d+: in exception: `try` does not compile: ask before"),
        ("library", r"rules\.py:\d+: in library: json.dumps is a function of another library"),
        ("imports", r"rules\.py:\d+: in imports: an import within a function"),
        ("undefined", r"rules\.py:\d+: in undefined: the name 'nothing' is not defined"),
        ("misspelt", r"rules\.py:\d+: in misspelt: there is no 'statsu' here"),
    ],
)
def test_what_does_not_compile_is_said_in_words(tmp_path, rule, cause):
    (tmp_path / "rules.py").write_text(ANY_PYTHON)
    rules = {"transition_functions": [f"./rules.py:{rule}"], "reward_functions": []}
    wrong = Scenario.load({**BASE, **rules}, folder=tmp_path)
    for _ in range(2):
        with pytest.raises(DoesNotCompileError, match=cause):
            GridEnv(wrong, world="compiled")


def test_an_environment_with_a_rule_that_does_not_compile_steps_objects(tmp_path):
    (tmp_path / "rules.py").write_text(ANY_PYTHON)
    rules = {"transition_functions": ["./rules.py:library"]}
    with pytest.warns(RuntimeWarning, match=r"rules\.py:1.*; stepping object worlds instead"):
        env = GridEnv(Scenario.load({**BASE, **rules}, folder=tmp_path))
    assert env.world == "object"


def test_a_built_in_rule_that_does_not_compile_is_a_fault_of_the_engine(monkeypatch):
    def fail(*given):
        raise DoesNotCompileError("broken")

    monkeypatch.setattr(batch_program, "_PROGRAMS", {})
    monkeypatch.setattr(batch_program, "compile_batch", fail)
    with pytest.raises(BuiltInDoesNotCompileError, match="broken; a fault of the engine"):
        GridEnv("empty-8x8")


def test_a_quick_start_plays_alike_and_is_replaced_by_optimized_code(load, monkeypatch):
    optimized: list[tuple[batch_program.BatchProgram, str]] = []
    with monkeypatch.context() as patch:
        patch.setattr(batch_program, "_starts_quickly", True)
        patch.setattr(batch_program, "_PROGRAMS", {})
        optimize = "_use_optimized_code"
        patch.setattr(batch_program.BatchProgram, optimize, lambda *each: optimized.append(each))
        rules = ["./rules.py:harden", "move_agent", "turn_agent", "pickndrop", "./rules.py:draw"]
        report = run_differential_test(load(*rules), episodes=2)
    assert report.fault == ""
    program, text = optimized[0]
    address = program.address
    program._use_optimized_code(text)
    assert program.address != address
