"""Names of code in a scenario, what they may lead to, and which files are opened for them."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gv_engine import GridEnv, Scenario, ScenarioError
from gv_engine.play.session import catalogue
from gv_engine.play.session.hot_reload import HotReload
from gv_engine.play.session.session import Session
from gv_engine.rules.errors import TrustError
from gv_engine.rules.system import TRANSITION
from gv_engine.scenario.documents.loading import load_scenario
from tests import ROOT
from tests.canary import canary
from tests.processes import run_program
from tests.scenario.ways_to_code import OWN, PLAIN, STRANGE, Place, module_of_a_package, own

# ---- places in a scenario where code is named ----------------------------------------------------


def reduced(reduction: str, *functions: str) -> dict[str, Any]:
    reward = {"name": "reduce", "reduction": reduction, "reward_functions": list(functions)}
    return {"reward_functions": [reward]}


NAMED = "./rules.py:rule"
SEEN = {"area": [[0, 0], [0, 0]]}
PLACES: dict[str, dict[str, Any]] = {
    "transition": {"transition_functions": [NAMED]},
    "reward": {"reward_functions": [{"name": NAMED}]},
    "terminating": {"terminating_function": NAMED},
    "reset": {"map": None, "reset_function": {"name": NAMED, "shape": [3, 3]}},
    "observation": {"observation_function": {**SEEN, "name": NAMED}},
    "visibility": {
        "observation_function": {**SEEN, "name": "from_visibility", "visibility_function": NAMED}
    },
    "nested": {"reward_functions": [{"name": "reduce_sum", "reward_functions": [NAMED]}]},
    "reduction": reduced(NAMED, "living_reward"),
    "distance": {
        "reward_functions": [
            {"name": "getting_closer", "object_type": "Exit", "distance_function": NAMED}
        ]
    },
    "object_type": {"reward_functions": [{"name": "overlap", "object_type": NAMED}]},
    "space": {"state_space": {"objects": ["Floor", "Wall", "Exit", NAMED]}},
    "legend": {"legend": {"x": {"object": NAMED}}},
    "environment": {"domain": "algebra", "environment": NAMED},
    "problem": {"domain": "algebra", "environment": "PolySimplify", "problem_function": NAMED},
    "rule": {"domain": "algebra", "environment": "PolySimplify", "rules": [NAMED]},
}


@pytest.mark.parametrize("changes", PLACES.values(), ids=PLACES)
def test_every_place_asks(place: Place, changes: dict[str, Any]):
    if "domain" in changes:
        place.file.write_text(yaml.safe_dump(changes), "utf-8")
    else:
        place.write(changes)
    own(place)
    with pytest.raises(TrustError, match=r"\./rules\.py:rule: not loaded, Python code is"):
        load_scenario(place.level, code=False)
    with pytest.raises(TrustError, match="a list only refers to this scenario"):
        _ = catalogue.Entry(str(place.file), "").scenario
    assert not place.ran
    with contextlib.suppress(ScenarioError):  # a transition is nothing of the other kinds
        load_scenario(place.level)
    assert place.ran


def test_without_code_all_refused_names_are_told(place: Place):
    rules = ["./rules.py:one", "sub/more.py:two", "move_agent"]
    place.write({"transition_functions": rules, "reward_functions": ["pack_of_test:three"]})
    with pytest.raises(TrustError) as error:
        Scenario.load(place.level, code=False)
    (line,) = error.value.problems
    assert all(name in line for name in ("./rules.py:one", "sub/more.py:two", "pack_of_test:three"))


# ---- what a name leads to ------------------------------------------------------------------------

IMPORTS = """\
import functools
from os import _exit
from shutil import rmtree

from esper import Processor

from gv_engine import REWARD, TRANSITION, system
from gv_engine.plugins.algebra import MathyEnv

rebound = functools.partial(_exit, 3)

class Idle(Processor): pass

class Sound(Processor):
    def process(self): pass

def largest(numbers): return max(numbers)

def stay(state, action): pass
"""
ENDS = {"map": None, "reset_function": {"name": "os:_exit", "status": 3}, "max_shape": [3, 3]}


LEAST = {"name": "reduce", "reduction": "builtins:min", "terminating_functions": []}


def transition(name: str) -> dict[str, Any]:
    return {"transition_functions": [name]}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            ENDS,
            "os:_exit: not loaded, scenarios may name only files in their folder; .*--allow",
        ),
        ({**ENDS, "reset_function": {"name": "./rules.py:_exit", "status": 3}}, "comes from posix"),
        ({**ENDS, "reset_function": "./rules.py:rebound"}, "comes from posix|nt"),
        (transition("./rules.py:rmtree"), "rmtree comes from shutil; name something that is a"),
        (transition("esper:Processor"), "esper:Processor: not loaded"),
        (transition("./rules.py:Processor"), "./rules.py:Processor comes from esper"),
        (transition("./rules.py:Idle"), "Idle has no method `process`"),
        (transition("this:d"), "this:d: not loaded"),
        (transition("./a\0b.py:rule"), "cannot be found: .*embedded null"),
        (transition(f"./{'x' * 5000}.py:rule"), "File name too long"),
        (reduced("builtins:print", "living_reward"), r"no reduction 'builtins:print'.*allowed: bu"),
        (reduced("./rules.py:rmtree", "living_reward"), "rmtree comes from shutil"),
        (reduced("./rules.py:stay", "living_reward"), "stay does not take one argument"),
        (reduced("builtins:max"), "there is no max of no reward_functions"),
        ({"terminating_function": LEAST}, "there is no min of no terminating_functions"),
    ],
)
def test_what_is_nothing_of_a_scenario_is_not_called(
    place: Place, changes: dict[str, Any], says: str
):
    (place.level / "rules.py").write_text(IMPORTS, "utf-8")
    place.write(changes)
    with pytest.raises(ScenarioError, match=says) as error:
        Scenario.load(place.level)
    assert len(error.value.problems) == 1
    assert str(place.file) in str(error.value)
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "changes",
    [
        transition("./rules.py:Sound"),
        transition("./rules.py:stay"),
        reduced("./rules.py:largest", "living_reward"),
        reduced("builtins:any", "living_reward", "reach_exit"),
        reduced("builtins:sum", "living_reward", "reach_exit"),
    ],
)
def test_what_a_scenario_may_name_plays(place: Place, changes: dict[str, Any]):
    (place.level / "rules.py").write_text(IMPORTS, "utf-8")
    place.write(changes)
    env = GridEnv(place.level, world="object")
    env.reset(seed=0)
    env.step(0)


def test_packages_that_declare_themselves_may_be_named(place: Place):
    reference = module_of_a_package(place)
    (place.away / "pack_of_test" / "other.py").write_text("raise SystemExit\n", "utf-8")
    place.name(reference)
    with pytest.raises(TrustError):
        Scenario.load(place.level)
    about = place.away / "pack_of_test-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: pack_of_test\nVersion: 1\n", "utf-8")
    said = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
    (group,) = re.findall(r'entry-points\."(.*)"', said)
    (about / "entry_points.txt").write_text(f"[{group}]\nr = pack_of_test.rules\n", "utf-8")
    assert Scenario.load(place.level).calls(TRANSITION)[1].name == "rule"
    assert place.ran
    place.name("pack_of_test.other:rule")
    with pytest.raises(TrustError):
        Scenario.load(place.level)


def test_the_folder_is_no_file_of_it(place: Place):
    canary(place.level.parent / "beside.py", place.mark)
    for where in ("./", ".", "./."):
        place.name(f"{where}:x")
        with pytest.raises(TrustError, match="it is the scenario's folder") as error:
            Scenario.load(place.level)
        assert "beside" not in str(error.value)


def test_a_part_of_a_name_allows_no_module(place: Place):
    place.name(module_of_a_package(place))
    for allowed in ("pack_of", "pack_of_test.rule", "rules"):
        with pytest.raises(TrustError):
            Scenario.load(place.level, allow_modules=[allowed])
    assert not place.ran


def test_letters_are_no_modules():
    with pytest.raises(ValueError, match="expected a list of names"):
        Scenario.load("keydoor-5x5", allow_modules="numpy")
    for name in ("", "a/b", "a..b"):
        with pytest.raises(ValueError, match=f"{name!r} is not a module name"):
            Scenario.load("keydoor-5x5", allow_modules=[name])


# ---- consent stays with the scenario -------------------------------------------------------------


def test_copies_and_reloads_keep_the_consent(place: Place):
    place.name(module_of_a_package(place))
    scenario = Scenario.load(place.level, allow_modules=["pack_of_test"])
    assert len(pickle.loads(pickle.dumps(scenario)).calls(TRANSITION)) == 2
    game = Session(scenario, 0)
    (place.level / "rules.py").write_text(IMPORTS, "utf-8")
    place.write({"transition_functions": ["pack_of_test.rules:rule", "./rules.py:stay"]})
    assert HotReload(game).reload() == "Reloaded"
    place.write(ENDS)
    assert "os:_exit: not loaded" in HotReload(game).reload()
    bare = Scenario.load(PLAIN, code=False)
    assert not bare.with_(max_steps=3).reload().document.trust.code


def test_reloading_a_mixture_asks_again(place: Place):
    mixture = place.level.parent / "mixed.yaml"
    mixture.write_text("mixture: [level]\n", "utf-8")
    game = Session(Scenario.load(mixture), 0)
    canary(place.away / "rules.py", place.mark)
    place.name("../away/rules.py:rule")
    assert "not loaded" in HotReload(game).reload()
    assert not place.ran


# ---- an ear for all files ------------------------------------------------------------------------

LISTENING = """
import json, sys
from gv_engine import ScenarioError, load_scenario
from tests.canary import Ear

for folder in sys.argv[1:]:
    ear = Ear(folder)
    try:
        load_scenario(folder)
    except ScenarioError:
        pass
    print(json.dumps(ear.strange))
"""


@pytest.mark.slow
def test_no_file_of_elsewhere_is_opened(tmp_path: Path):
    places = {}
    for way in ("own", "linked_helper", "module", "above", "heard"):
        (tmp_path / way).mkdir()
        places[way] = Place(tmp_path / way)
        places[way].name({**OWN, **STRANGE, "heard": run_strange_rules}[way](places[way]))
    path = os.pathsep.join(map(str, (ROOT, *(place.away for place in places.values()))))
    env = {**os.environ, "PYTHONPATH": path}
    done = run_program(LISTENING, *(place.level for place in places.values()), env=env)
    *silent, heard = map(json.loads, done.stdout.splitlines())
    assert silent == [[], [], [], []]
    assert heard == [str(tmp_path / "heard" / "away" / "rules.py")] * 3  # opened, compiled, run
    assert [way for way in places if places[way].ran] == ["own", "heard"]


def run_strange_rules(place: Place) -> str:
    """Lay down rules that run a file of elsewhere."""
    rules = canary(place.away / "rules.py", place.mark)
    runs = f"file = {str(rules)!r}\nexec(compile(open(file).read(), file, 'exec'))\n"
    (place.level / "rules.py").write_text(runs, "utf-8")
    return NAMED
