"""Scenarios that bring their own Python."""

import os
import pickle
import re
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import yaml

from components.objects import EXIT, built_in_types
from gv_engine.rules.component import column_name
from gv_engine.rules.errors import RuleError, ScenarioError
from gv_engine.rules.geometry import MOVE_FORWARD, TURN_LEFT
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION, system
from gv_engine.scenario.documents.trust import _explain_path
from gv_engine.scenario.scenario import Scenario
from tests.processes import run_program
from tests.scenario.reading import RULES as BUILT_IN
from tests.scenario.reading import begin, find_problems

RULES = '''\
"""Coins to collect."""

import esper

from components import Position
from gv_engine.rules.component import Int8, component
from gv_engine.rules.objects import object_type
from gv_engine.rules.system import REWARD, RESET, TRANSITION, system

@component
class Coin:
    worth: Int8 = 1

COIN = object_type("Coin", Coin)

@system(TRANSITION)
def collect(w, agent):
    """Take the coin that the agent stands on."""
    e = w.at[w.position.y[agent], w.position.x[agent]]
    if w.coin.has[e]:
        w.remove(e)

def coins(w, agent):
    return w.placed[COIN]

@system(REWARD, remember=coins)
def collected(w, agent, was, each: float = 2):
    """For every coin that is gone."""
    return (was - coins(w, agent)) * each

@system(TRANSITION)
def both(w, agent, transition_functions):
    """Two rules, one after the other."""

@system(REWARD, check=lambda bonus: 1 / bonus)
def checked(w, agent, bonus: int, on: bool = True, why: str = "", sizes: list[float] = ()):
    """A rule with parameters of all types."""
    return bonus

@system(RESET)
def nowhere(w, agent):
    """A level whose size nothing tells."""

def undecorated(w, agent): pass

class Drift(esper.Processor):
    def __init__(self, cells: int = 1):
        self.cells = cells

    def process(self):
        self.world.position.x[1] += self.cells

class Meddler(esper.Processor):
    def process(self):
        if self.world.action[1] == 0:
            esper.delete_entity(2)
        if self.world.action[1] == 4:
            esper.create_entity()

class Greedy(esper.Processor):
    def __init__(self, *cells): pass
'''

LEVEL = """\
map: |
  #####
  #>CE#
  #####
legend:
  C: Coin
transition_functions: [move_agent, {name: "./rules.py:collect"}]
reward_functions: [{name: "./rules.py:collected", each: 3}]
observation_function: {name: fully_transparent, area: [[-1, 0], [-1, 1]]}
terminating_function: reach_exit
"""


COLLECT = '{name: "./rules.py:collect"}'
BOTH = '{name: "./rules.py:both", transition_functions: ["./rules.py:Drift"]}'
BOARD = LEVEL[: LEVEL.index("transition")]
NOWHERE = "reset_function: ./rules.py:nowhere\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "scenario.yaml").write_text(LEVEL)
    return tmp_path


def change(folder, old, new, times=1):
    """Write the scenario with another text where an old one stood first, or more often."""
    assert old in LEVEL
    (folder / "scenario.yaml").write_text(LEVEL.replace(old, new, times))


def load(folder, old, new, times=1):
    """The scenario with a change."""
    change(folder, old, new, times)
    return Scenario.load(folder)


def problem_of(folder, old, new):
    """The one problem of the scenario with a change, without the folder's name."""
    change(folder, old, new)
    (problem,) = find_problems(folder)
    return problem.replace(f"{folder}{os.sep}", "")


def play(scenario):
    """A world in which the agent has gone to the coin."""
    simulation = begin(scenario)
    simulation.step(MOVE_FORWARD)
    return simulation.world


def test_rules_components_and_types_play(folder):
    scenario = Scenario.load(folder)
    assert "coin" in (scenario.layout.dtype.names or ())
    names = [scenario.types[i].name for i in scenario.objects[-2:]]
    assert names == [built_in_types()[-1].name, "Coin"]
    world = play(scenario)
    assert world.reward[1] == 3.0
    assert world.cells()[1, 2, 0] == 2
    assert sorted(path.name for path in folder.iterdir()) == ["rules.py", "scenario.yaml"]


WITHOUT_RULES = yaml.safe_dump(BUILT_IN)


def test_types_of_other_scenarios_are_not_there(folder):
    Scenario.load(folder)
    problem = problem_of(folder, LEVEL[LEVEL.index("transition") :], WITHOUT_RULES)
    assert "scenario.yaml:6: legend.C: no object type 'Coin'" in problem


def test_a_type_can_be_named_with_its_file(folder):
    (folder / "rules.py").rename(folder / "things.py")
    scenario = load(folder, LEVEL[LEVEL.index("Coin") :], "./things.py:Coin\n" + WITHOUT_RULES)
    assert begin(scenario).world.cells()[1, 2, 0] == scenario.objects[-1]


def test_copied_scenarios_may_use_the_same_names(folder):
    copy = folder / "copy"
    copy.mkdir()
    for name in ("rules.py", "scenario.yaml"):
        (copy / name).write_text((folder / name).read_text())
    first, second = Scenario.load(folder), Scenario.load(copy)
    assert first.types["Coin"].module != second.types["Coin"].module
    assert [play(scenario).reward[1] for scenario in (first, second)] == [3.0, 3.0]


def test_files_are_found_from_the_scenarios_folder(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "rules.py").write_text(RULES)
    for where in ("rules.py", "./sub/rules.py"):
        assert play(load(folder, "./rules.py", where, 2)).reward[1] == 3.0
    config = {**BUILT_IN, "map": "#>E#", "transition_functions": ["sub/rules.py:collect"]}
    assert Scenario.load(config, folder=folder).calls(TRANSITION)[0].name == "collect"


def test_nested_functions(folder):
    chain = '{name: "./rules.py:both", transition_functions: [move_agent, "./rules.py:collect"]}'
    scenario = load(folder, COLLECT, chain)
    nested = scenario.calls(TRANSITION)[1].arguments["transition_functions"]
    assert [call.name for call in nested] == ["move_agent", "collect"]


# ---- esper's own processors ------------------------------------------------------------------


@pytest.mark.parametrize("actions", [[0], [0, 7, 4]])
def test_a_reset_mends_what_a_processor_did_to_entities(folder, actions):
    simulation = begin(load(folder, COLLECT, "./rules.py:Meddler"))
    first = simulation.world.snapshot()
    for action in actions:
        with suppress(RuleError):
            simulation.step(action)
    for _ in range(2):
        simulation.reset(np.random.default_rng(0))
        assert simulation.world.snapshot().tobytes() == first.tobytes()
        simulation.step(7)


@pytest.mark.parametrize(("entry", "x"), [("./rules.py:Drift", 2), ("{cells: 2}", 3)])
def test_processors_play(folder, entry, x):
    entry = entry.replace("{", '{name: "./rules.py:Drift", ')
    simulation = begin(load(folder, COLLECT, entry))
    simulation.step(TURN_LEFT)
    assert simulation.world.position.x[1] == x


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (COLLECT, "./rules.py:Greedy", "Greedy(*cells) takes *cells"),
        ("fully_transparent", "./rules.py:Drift", "Drift is an esper.Processor; these stand"),
        (COLLECT, BOTH, "transition_functions[1].transition_functions[0]: Drift is an esper.Pro"),
    ],
)
def test_processors_stand_by_themselves(folder, old, new, expected):
    assert expected in problem_of(folder, old, new)


# ---- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "py:collect",
            "py:colect",
            "has no 'colect'; did you mean 'collect'? (it defines: Coin, c",
        ),
        ("py:collect", "py:collected", "./rules.py:collected is a REWARD system, but listed for T"),
        (
            "py:collect",
            "py:undecorated",
            "undecorated is no system; decorate a function with @system(TRANSITION)",
        ),
        ("rules.py:collect", "rulse.py:collect", "no Python file 'rulse.py' in "),
        ("each: 3", "eahc: 3", "eahc: collected takes no 'eahc'; did you mean 'each'? (allowed: e"),
        ('collected", each: 3', 'checked"', "checked needs 'bonus', which is missing"),
        ('collected", each: 3', 'checked", bonus: 0', "its check fails: ZeroDivisionError"),
        ('collected", each: 3', 'checked", bonus: 1.5', "found 1.5, expected a whole number"),
        ('collected", each: 3', 'checked", bonus: 9, sizes: [a]', "sizes[0]: found 'a', expected"),
        (BOARD, NOWHERE, "scenario.yaml:1: max_shape: missing; nowhere does not tell the large"),
    ],
)
def test_problems_of_names_and_parameters(folder, old, new, expected):
    if "checked" in new:
        (folder / "rules.py").write_text(RULES.replace("1 / bonus", '"" if 1 / bonus else ""'))
    assert expected in problem_of(folder, old, new)


def test_parameters_by_annotation(folder):
    new = 'checked", bonus: 9, on: no, why: yes, sizes: [1, 2.5]'
    (folder / "rules.py").write_text(RULES.replace("1 / bonus", '""'))
    (call,) = load(folder, 'collected", each: 3', new).calls(REWARD)
    assert call.arguments == {"bonus": 9, "on": False, "why": "yes", "sizes": (1, 2.5)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("def (:", "1: SyntaxError: "),
        ("\nprint(undefined)", "2: NameError: name 'undefined' is not defined"),
        ("import no_such_module", "1: ModuleNotFoundError: No module named 'no_such"),
        ("from .absent import x", "1: ModuleNotFoundError: No module named 'absent'"),
        (
            "from rules import x",
            "1: ModuleNotFoundError: No module named 'rules'; for the file beside this one write "
            "`from .rules import …`",
        ),
        ("raise SystemExit", "1: SystemExit"),
        ("raise ValueError('a\\nb')", "1: ValueError: a b"),
        ("import gv_engine as g; g.system(g.TRANSITION)(lambda: 1)", "1: TypeError: <lambda>() is"),
        ("from gv_engine import object_type as o; o('Key')", "1: ValueError: object type 'Key' "),
    ],
)
def test_a_file_that_fails_is_one_problem_with_its_own_line(folder, line, expected):
    (folder / "rules.py").write_text(line)
    problem = problem_of(folder, "C: Coin", "C: Wall")  # not one for each function of the file
    place, cause = problem.split(": ./rules.py cannot be loaded: ")
    assert place == "scenario.yaml:7: transition_functions[1].name"
    assert cause.startswith(f"rules.py:{expected}")


def test_a_file_that_fails_is_told_before_what_follows_from_it(folder):
    (folder / "rules.py").write_text("def (:")
    file = folder / "scenario.yaml"
    file.write_text("sprites: {Coin: coin.svg}\n" + file.read_text("utf-8"), "utf-8")
    cause, *others = find_problems(folder)
    assert "scenario.yaml:7: legend.C: ./rules.py cannot be loaded" in cause
    assert "scenario.yaml:1: sprites.Coin: found 'Coin', expected an object type" in others[0]


def forgets(w, agent):
    w.steps > 9  # noqa: B015  # what is tested


def gives_nothing(w, agent):
    return None


def ends_early(w, agent):
    if w.steps < 9:
        return
    return True


def may_have_none(w, agent):
    return w.steps or None


@pytest.mark.parametrize(
    ("phase", "helpers", "rule", "expected"),
    [
        (REWARD, {}, gives_nothing, "gives_nothing .*, expected a number; is a `return` missing?"),
        (REWARD, {}, lambda w, agent: 1.0, ""),
        (REWARD, {}, may_have_none, ""),
        (REWARD, {"remember": forgets}, lambda w, agent, was: 1.0, "forgets .*, expected numbers"),
        (TERMINATING, {}, forgets, "forgets in line .* of test_rule_files.py returns nothing, exp"),
        (TERMINATING, {}, lambda w, agent: w.steps > 9, ""),
        (TERMINATING, {}, ends_early, ""),
        (TERMINATING, {"answers": forgets}, lambda w, agent: True, "forgets .* True or False"),
        (TRANSITION, {}, forgets, ""),
        (TRANSITION, {"when": forgets}, lambda w, agent: None, "forgets .* True or False"),
        (TRANSITION, {"when": ends_early}, forgets, ""),
    ],
)
def test_a_forgotten_return_is_told(phase, helpers, rule, expected):
    function: Any = system(phase, **helpers)(FunctionType(rule.__code__, globals()))
    assert re.match(expected, function.system.describe_missing_return())
    assert bool(expected) == bool(function.system.describe_missing_return())


def test_a_rule_without_return_is_told_with_the_line_that_names_it(folder):
    text = RULES.replace("return (was - coins(w, agent)) * each", "(was - coins(w, agent)) * each")
    (folder / "rules.py").write_text(text)
    problem = problem_of(folder, "each: 3", "each: 4")
    place = "scenario.yaml:8: reward_functions[0]: collected in line"
    assert problem.startswith(place)
    assert "of rules.py returns nothing, expected a number" in problem


def test_components_that_share_a_column(folder):
    text = RULES.replace("class Coin", "class Door").replace(", Coin", ", Door")
    (folder / "door.py").write_text(text)
    problem = problem_of(folder, "./rules.py:collect", "./door.py:collect")
    assert "two components would share the column w.door: Door of components.items and" in problem


# ---- files that change, and other processes --------------------------------------------------


def test_loaded_once_until_it_changes(folder):
    first, second = Scenario.load(folder), Scenario.load(folder)
    assert first.calls(REWARD)[0].system is second.calls(REWARD)[0].system
    (folder / "rules.py").write_text(RULES.replace(") * each", ") * 50"))
    changed = Scenario.load(folder)
    assert [play(scenario).reward[1] for scenario in (first, changed)] == [3.0, 50.0]
    assert first.objects == changed.objects


def test_a_change_in_a_neighbour_counts(folder):
    (folder / "more.py").write_text("from .rules import collect, collected\n")
    text = LEVEL.replace("./rules.py", "./more.py").replace("C: Coin", "C: Wall")
    (folder / "scenario.yaml").write_text(text)
    first = Scenario.load(folder).calls(REWARD)
    assert Scenario.load(folder).calls(REWARD) == first
    (folder / "rules.py").write_text(RULES + "\n")
    assert Scenario.load(folder).calls(REWARD) != first


def test_a_broken_change_leaves_what_was_loaded(folder):
    scenario = Scenario.load(folder)
    (folder / "rules.py").write_text("oh no")
    for _ in range(2):
        with pytest.raises(ScenarioError, match=r"rules\.py:1: SyntaxError"):
            Scenario.load(folder)
    play(scenario)
    assert pickle.loads(pickle.dumps(scenario.layout)) == scenario.layout
    (folder / "rules.py").write_text(RULES)
    play(Scenario.load(folder))


def test_a_slip_in_a_key_does_not_hide_what_its_file_declares(folder):
    level = {**BUILT_IN, "map": ">C.", "legend": {"C": "Coin"}}
    del level["terminating_function"]
    level["terminating_functions"] = {"name": "overlap", "object_type": "./rules.py:Coin"}
    first, second = find_problems(level, folder)
    assert "did you mean 'terminating_function'?" in first
    assert second == "<mapping>: terminating_function: missing; a scenario needs it"


def test_a_rule_that_takes_the_action_is_told_where_it_is(tmp_path):
    rule = "@system(TRANSITION)\ndef kick(w, agent, action): pass\n"
    (tmp_path / "rules.py").write_text(f"from gv_engine import TRANSITION, system\n{rule}")
    with pytest.raises(ScenarioError, match=r"kick needs 'action'.* let the rule read w\.action"):
        Scenario.load({"map": ">E", "transition_functions": ["./rules.py:kick"]}, folder=tmp_path)


def test_a_name_that_a_file_beside_declares(folder):
    ran = folder / "ran"
    declares = f"open({str(ran)!r}, 'w')\ndef polish(w): ...\nobject_type('Laurel')\n"
    (folder / "laurels.py").write_text(declares)
    for old, name, kind in (
        (COLLECT, "polish", "transition function"),
        ("Coin", "Laurel", "object type"),
    ):
        hint = f"a file beside the scenario declares it, write ./laurels.py:{name}"
        assert problem_of(folder, old, name).endswith(f"no {kind} '{name}'; {hint}")
    assert not ran.exists()


@pytest.mark.slow
def test_scenarios_and_worlds_reach_other_processes(folder):
    """Where types have the same numbers, whatever else was loaded before."""
    other = {**BUILT_IN, "map": ">.", "objects": {"A": {}, "B": {}}}
    (folder / "other.yaml").write_text(yaml.safe_dump(other))
    level = {**yaml.safe_load(LEVEL), "objects": {"Gate": {}}, "max_steps": 1}
    scenario = Scenario.load(level, folder)
    here = play(scenario)
    (folder / "pickle").write_bytes(pickle.dumps((scenario, here)))
    program = (
        "import pickle, sys; from gv_engine import Scenario, TRANSITION;"
        "from gv_engine.world.simulation import Simulation;"
        "Scenario.load(sys.argv[1] + '/other.yaml');"
        "scenario, world = pickle.load(open(sys.argv[1] + '/pickle', 'rb'));"
        "simulation = Simulation(scenario); simulation.reset(); simulation.step(0);"
        "print(simulation.world.reward[1], simulation.world.truncated, world.coin.has[3],"
        " world.cells()[1].tolist(), [(k.name, k.index) for k in scenario.layout.types[-2:]],"
        " scenario.calls(TRANSITION)[1].system.function.__globals__['COIN'])"
    )
    first = len(OBJECT_TYPES.built_in)
    types = [("Coin", first), ("Gate", first + 1)]
    shown = here.coin.has[3], here.cells()[1].tolist(), types, first
    assert run_program(program, folder).stdout == f"3.0 True {' '.join(map(str, shown))}\n"
    assert here.cells()[1, 3, 0] == EXIT
    assert "coin" in [column_name(cls) for cls in scenario.layout.components]


def test_a_file_is_named_from_the_folder_on(tmp_path):
    for source in ("/rules.py", "../rules.py", "a/../../rules.py", "C:/rules.py", "C:rules.py"):
        said = _explain_path(tmp_path, source)
        assert said.startswith("name a file inside the scenario's folder"), source
    assert _explain_path(tmp_path, "./rules.py") == _explain_path(tmp_path, "a/rules.py") == ""


def test_a_hint_that_is_no_type_is_an_error():
    def rule(w, each):
        """Do nothing."""

    rule.__annotations__["each"] = "int | 'x'"
    with pytest.raises(TypeError, match="unsupported operand"):
        system(TRANSITION)(rule)
