"""Functions of states and grids in scenarios: they run, in both kinds of environment alike."""

import pickle
import shutil
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import yaml

from gv_engine import GridEnv, GridVectorEnv, RuleError, Scenario, ScenarioError
from gv_engine.cli import main
from gv_engine.gridverse import Action
from gv_engine.play.validation.contracts import find_broken_contracts
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.system import REGISTRIES, TRANSITION
from tests import DATA
from tests.comparing import STEPS_ON
from tests.scenario.reading import RULES, begin

R = "./object_rules.py:"
ENDS = [R + "rich", "reach_exit"]
GEMS = {
    "reset_function": {"name": R + "gem_room", "shape": [5, 6]},
    "transition_functions": [
        {"name": R + "mostly", "transition_function": "move_agent"},
        "turn_agent",
        "pickndrop",
        {"name": R + "drift", "distance": 2},
    ],
    "reward_functions": [
        {"name": R + "worth", "object_type": R + "Gem"},
        {"name": R + "scarcely", "object_type": R + "Gem"},
        R + "moved",
        R + "bold",
        {"name": "reduce_sum", "reward_functions": [R + "moved", "living_reward"]},
        "bump_into_wall",
    ],
    "observation_function": {"name": "raytracing", "area": [[-3, 0], [-2, 2]]},
    "terminating_function": {"name": "reduce_any", "terminating_functions": ENDS},
}
ROOM = {**RULES, "reset_function": {"name": "empty", "shape": [4, 5]}}


def load(base=ROOM, **changes):
    return Scenario.load({**base, **changes}, folder=DATA)


def sight(name, area=((-2, 0), (-1, 1)), **parameters):
    return {"name": name, "area": [list(part) for part in area], **parameters}


NOWHERE = {"reset_function": R + "nowhere", "max_shape": [5, 5]}
SIGHTS = [
    sight("raytracing"),
    sight("stochastic_raytracing"),
    sight("from_visibility", visibility_function={"name": R + "stripes", "every": 3}),
    sight(R + "stripes"),
    sight(R + "darkness"),
    sight(R + "looking_glass"),
]


@STEPS_ON
@pytest.mark.sample("from_visibility")
@pytest.mark.slow
@pytest.mark.parametrize("own", SIGHTS, ids=lambda own: own["name"].rpartition(":")[2])
def test_all_environments_are_alike(own):
    scenario = load(GEMS, observation_function=own)
    env = GridEnv(scenario, world="object")
    vector = GridVectorEnv(scenario, 2, world="object", autoreset_mode="Disabled")
    inner, unwrapped = scenario.inner_env(), cast(Any, env.unwrapped)
    ends = 0
    for seed in (0, 4, 7):  # the first does not end
        shown, _ = env.reset(seed=seed)
        vector.reset(seed=[seed + 100, seed])
        inner.set_seed(seed)
        inner.reset()
        chance = np.random.default_rng(seed)
        terminated = False
        for _ in range(25):
            cells = unwrapped._batch.simulations[0].world.cells()
            assert inner.state.grid.to_array().tolist() == cells.tolist()
            arrays = inner.observation.to_arrays()
            assert np.array_equal(arrays["grid"], shown["grid"])
            assert np.array_equal(arrays["item"], shown["item"])
            if terminated:
                break
            action = chance.integers(8)
            shown, reward, terminated, _, info = env.step(action)
            seen, rewards, over, _, _ = vector.step(np.array([chance.integers(8), action]))
            assert (reward, terminated) == inner.step(Action(int(action)))
            assert (reward, terminated) == (rewards[1], over[1])
            assert sum(info["reward_terms"].values()) == pytest.approx(reward)
            assert np.array_equal(seen["grid"][1], shown["grid"])
        ends += terminated
    assert ends


def test_the_earlier_state_is_copied_once_and_only_if_asked_for(monkeypatch):
    copies: list[State] = []
    copy = State.copy

    def counted(state):
        copies.append(state)
        return copy(state)

    monkeypatch.setattr(State, "copy", counted)
    with_it, without = load(GEMS), load(transition_functions=["move_agent", R + "drift"])
    for scenario, expected in ((with_it, 3), (without, 0)):
        copies.clear()
        simulation = begin(scenario)
        for action in (0, 4, 5):
            simulation.step(action)
        assert len(copies) == expected


@pytest.mark.compiled
def test_they_do_not_compile_and_the_warning_names_the_function():
    scenario = load(transition_functions=["move_agent", R + "drift"])
    with pytest.warns(RuntimeWarning) as caught:
        GridVectorEnv(scenario, 2)
    (warning,) = caught
    assert "drift (" in str(warning.message)
    assert "object_rules.py:" in str(warning.message)
    for name, said in (("darkness", r"darkness .*any Python"), ("looking_glass", "looking_glass")):
        with pytest.warns(RuntimeWarning, match=said):
            GridEnv(load(observation_function=sight(R + name)))


def test_snapshots_hold_the_same_future():
    env = GridEnv(load(GEMS), world="object")
    env.reset(seed=3)
    row = env.snapshot()
    ways = []
    for _ in range(2):
        ways.append([env.step(action)[0]["grid"].tolist() for action in (0, 4, 0, 5, 7, 1)])
        env.restore(row)
    assert ways[0] == ways[1]


def test_scenarios_with_them_can_be_pickled():
    scenario = pickle.loads(pickle.dumps(load(GEMS)))
    assert scenario.reward_names[:2] == ("worth", "scarcely")


@pytest.fixture
def registry(monkeypatch):
    """Forget what a test registers."""
    monkeypatch.setattr(REGISTRIES[TRANSITION], "_systems", dict(REGISTRIES[TRANSITION]._systems))
    return REGISTRIES[TRANSITION]


REGISTERS = """
from gv_engine.plugins.gridverse import transition_function_registry

@transition_function_registry.register(name="about_face")
def turn_around(state, action, *, rng=None):
    "{}"
    state.agent.orientation = -state.agent.orientation * state.agent.orientation
"""


def test_registered_names_and_modules(tmp_path, monkeypatch, registry):
    (tmp_path / "elsewhere_rules.py").write_text(REGISTERS, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    own = {**ROOM, "transition_functions": ["elsewhere_rules:turn_around", "about_face"]}
    scenario = Scenario.load(own, allow_modules=["elsewhere_rules"])
    names = [call.name for call in scenario.calls(TRANSITION)]
    assert names == ["turn_around", "about_face"]
    env = GridEnv(scenario, world="object")
    env.reset(seed=0)
    env.step(0)
    assert env.snapshot()["agent"]["facing"][1] == 0


def test_a_file_that_registers_can_be_loaded_again(tmp_path, registry):
    for text in ("first", "the second"):
        (tmp_path / "rules.py").write_text(REGISTERS.format(text), "utf-8")
        own = {**ROOM, "transition_functions": ["./rules.py:turn_around"]}
        scenario = Scenario.load(own, folder=tmp_path)
        assert scenario.calls(TRANSITION)[0].system.function.__doc__ == text
        assert registry["about_face"].function.__doc__ == text


def test_a_state_returned_twice_is_not_shared():
    scenario = load(max_shape=[1, 2], reset_function=R + "start")
    env = GridEnv(scenario, world="object")
    for _ in range(2):
        env.reset(seed=0)
        assert env.snapshot()["position"]["x"][1] == 0
        assert env.step(0)[2]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reward_functions": [R + "two_arguments"]}, "two_arguments.* lacks 'next_state'"),
        ({"transition_functions": [R + "START"]}, "START is no system"),
        ({"reward_functions": [{"name": R + "worth", "objekt": "Key"}]}, "needs 'object_type'"),
        ({"transition_functions": [{"name": R + "drift", "far": 1}]}, "did you mean|distance"),
        ({"observation_function": {"name": R + "stripes"}}, "area is missing"),
        ({"transition_functions": [R + "column_edits"]}, "is a REWARD system"),
    ],
)
def test_what_scenarios_say(changes, says):
    with pytest.raises(ScenarioError, match=says):
        load(**changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"observation_function": sight(R + "too_small")}, r"too_small shows \(1, 1\) cells"),
        ({"observation_function": sight(R + "blind")}, r"blind returned shape \(\)"),
        (NOWHERE, r"nowhere \(.*object_rules.py:\d+\) returned NoneType"),
    ],
)
def test_a_reset_says_what_its_functions_return_wrongly(changes, says):
    env = GridEnv(load(**changes), world="object")
    with pytest.raises(RuleError, match=says):
        env.reset(seed=0)


def test_objects_that_the_state_space_does_not_list():
    scenario = load(GEMS, state_space={"objects": ["Floor", "Wall", "Exit"]})
    env = GridEnv(scenario, world="object")
    env.reset(seed=0)  # the scenario's own module may spawn its types
    report = run_differential_test(scenario, 1, compiled=False)
    assert "Gem stands on the grid" in report.fault


# ---- promises ------------------------------------------------------------------------------------

EDITS = "edits the state, which it may only look at"
GLOBAL = "draws from a global generator, which no seed of the world reaches"


def written(folder: Path, **changes: Any) -> Path:
    """A file of the room, beside its rules."""
    shutil.copy(DATA / "object_rules.py", folder)
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump({**ROOM, **changes}), "utf-8")
    return file


@pytest.mark.sample("functions-draws", "returns", "global_numpy", "column_edits")
@pytest.mark.parametrize(
    ("key", "name", "says"),
    [
        ("reward_functions", "edits_next", EDITS),
        ("reward_functions", "edits_before", EDITS),
        ("terminating_function", "edits_before", EDITS),
        ("reward_functions", "column_edits", EDITS),
        ("reward_functions", "draws", "draws by chance; it must give the same for the same step"),
        ("transition_functions", "returns", "returns State; transitions edit the state"),
        ("transition_functions", "global_random", GLOBAL),
        ("observation_function", "global_numpy", GLOBAL),
    ],
)
def test_broken_promises_are_found(key, name, says):
    single = {"terminating_function": R + name, "observation_function": sight(R + name)}
    changes = {key: single.get(key, [R + name])}
    (report,) = find_broken_contracts(load(**changes), episodes=1)
    rules = DATA / "object_rules.py"
    source = rules.read_text("utf-8").splitlines()
    line = next(i for i, text in enumerate(source, 1) if text.startswith(f"def {name}("))
    lines = {line, line - 1}  # that of a decorator, if there is one
    assert any(report.startswith(f"{name} ({rules}:{at}), a ") for at in lines)
    assert says in report


@pytest.mark.compiled
def test_check_reports_broken_promises(tmp_path, capsys):
    file = written(tmp_path, transition_functions=[R + "returns"])
    assert main(["check", str(file), "--episodes", "1"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"returns ({tmp_path / 'object_rules.py'}:" in said
    assert "a transition function, returns State; transitions edit the state" in said


@pytest.mark.thorough
@pytest.mark.compiled
def test_sound_functions_are_left_in_peace(tmp_path, capsys):
    assert find_broken_contracts(load(GEMS)) == []
    assert find_broken_contracts(load(GEMS, observation_function=SIGHTS[-1])) == []
    assert find_broken_contracts(Scenario.load("dynamic-obstacles-5x5")) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sound = load(transition_functions=[R + "column_sound", R + "fresh"])
        assert find_broken_contracts(sound) == []
    file = written(tmp_path)
    assert main(["check", str(file), "--episodes", "1"]) == 0
    assert "nothing wrong" in capsys.readouterr().out
