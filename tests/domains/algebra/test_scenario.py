"""Scenario files of mathy worlds, and what is said of those that are wrong."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gv_engine.cli import main
from gv_engine.plugins.algebra import AlgebraScenario, ExpressionEnv
from gv_engine.plugins.algebra.gym_env import algebra_scenario
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import DOMAINS, list_built_in_names
from tests.processes import run_program, run_python

OWN = '''
from gv_engine.plugins.algebra import MathyEnv, MathyEnvProblem, PolySimplify
from gv_engine.rules.system import REWARD, TRANSITION, system
from mathy_core.rule import BaseRule


class Nothing(BaseRule):
    """Leaves a letter as it is."""

    name, code = "Nothing", "NO"

    def __init__(self, letter: str = "4") -> None:
        self.letter = letter

    def can_apply_to(self, node):
        return node.name == self.letter

    def apply_to(self, node):
        return super().apply_to(node).done(node)


class Asking(Nothing):
    def can_apply_to(self, node):
        return node.nothing


class Applying(Nothing):
    def apply_to(self, node):
        raise KeyError("mine")


class Changing(Nothing):
    def apply_to(self, node):
        change = BaseRule.apply_to(self, node)
        node.value = 5
        return change.done(node)


def squares(params, rng):
    return " + ".join(f"{rng.integers(1, 9)}x^2" for _ in range(3))


def alone(params): ...
def junk(params, rng):
    return 5


class Mine(PolySimplify):
    """Won like the original. Drawn elsewhere."""

    def problem_fn(self, params):
        return MathyEnvProblem(squares(params, self.rng), 3, "own.mine")


class Bare(MathyEnv):
    def get_env_namespace(self):
        return "own.bare"


class Text(Bare):
    def problem_fn(self, params):
        return "4x + 2x"


class Nonsense(Bare):
    def problem_fn(self, params):
        return MathyEnvProblem("4x + 2x", 2, "own")

    def transition_fn(self, env_state, expression, features):
        return 17


@system(REWARD)
def brevity(w, agent, each: float = 0.5):
    w.score(-each * w.state.root.size)


@system(TRANSITION)
def give_in(w, agent):
    w.end(-7.0)


@system(REWARD)
def broken(w, agent):
    raise KeyError(0)


@system(REWARD)
def nested(w, agent, terminating_function): ...
def plain(w, agent): ...
'''
FILE = """\
domain: algebra
description: Three squares.
environment: ./own.py:Mine
difficulty: hard
rules:
  - distributive_factoring
  - constant_arithmetic
  - {name: commutative_swap, preferred: true}
  - {name: ./own.py:Nothing, letter: x}
rewards:
  helpful: 0.25
max_moves: 6
max_steps: 9
max_seq_len: 32
"""


SIMPLIFY: dict[str, Any] = {"domain": "algebra", "environment": "PolySimplify"}


def line_of(text: str) -> int:
    return OWN[: OWN.index(text)].count("\n") + 1


PLACES = ("def alone", "class Bare", "raise KeyError(0)", "@system(REWARD)\ndef nested")
ALONE, BARE, BROKEN, PICKY = map(line_of, PLACES)


def written(folder: Path, **keys: Any) -> Path:
    """A file of a level beside code of its own."""
    (folder / "own.py").write_text(OWN)
    made = folder / "one.yaml"
    made.write_text(yaml.safe_dump({**SIMPLIFY, **keys}, sort_keys=False, width=1000))
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    made = tmp_path / "squares.yaml"
    made.write_text(FILE)
    return made


def test_all_that_a_file_may_say(file):
    scenario = algebra_scenario(str(file))
    assert (scenario.name, scenario.description) == ("squares", "Three squares.")
    env = ExpressionEnv(scenario)
    _, info = env.reset(seed=0)
    assert env.num_actions == 32 * 4
    assert [rule.code for rule in env.env.rules] == ["DF", "CA", "CS", "NO"]
    assert info["text"].count("x^2") == 3
    assert info["moves_remaining"] == 6
    assert env.step(5 * 4)[1] == 0.25
    assert env.simulation.max_steps == 9
    assert env.step(env.num_actions - 1)[1] == -0.5
    again = pickle.loads(pickle.dumps(scenario))
    assert ExpressionEnv(again).reset(seed=0)[1]["text"] == info["text"]


def test_it_is_loaded_again_with_the_files_as_they_are(file):
    scenario = algebra_scenario(str(file)).with_(difficulty="easy")
    assert set(scenario.watched_files()) == {file, file.parent / "own.py"}
    (file.parent / "own.py").write_text(OWN.replace("x^2", "z^3"))
    file.write_text(FILE.replace("max_moves: 6", "max_moves: 5"))
    again = scenario.reload()
    assert (again.max_moves, again.difficulty) == (5, "easy")
    assert "z^3" in ExpressionEnv(again).reset(seed=0)[1]["text"]
    assert "z^3" not in ExpressionEnv(scenario).reset(seed=0)[1]["text"]


def test_a_problem_function(file):
    own = {**SIMPLIFY, "problem_function": "./own.py:squares"}
    scenario = load_scenario(own, folder=file.parent)
    assert isinstance(scenario, AlgebraScenario)
    env = ExpressionEnv(scenario)
    _, info = env.reset(seed=1)
    assert info["text"].count("x^2") == 3
    assert info["moves_remaining"] == 12  # four for each term
    assert ExpressionEnv(scenario).reset(seed=1)[1]["text"] == info["text"]


def test_names():
    built_in = DOMAINS["algebra"].built_in()
    assert set(built_in) <= set(list_built_in_names())
    for name in built_in:
        scenario = algebra_scenario(name)
        assert scenario.name == name
        assert name.endswith(scenario.difficulty)
        assert scenario.description.endswith(".")
    assert algebra_scenario("mathy-poly-simplify").difficulty == "easy"
    assert algebra_scenario("GV-MathyPolySimplify-hard-v0").difficulty == "hard"
    assert algebra_scenario("mathy-poly-simplify").with_(difficulty="normal").difficulty == "normal"
    # the beginning of names stands for the shortest, in every domain
    assert load_scenario("dynamic").name == "dynamic-obstacles"
    with pytest.raises(ScenarioError, match="did you mean 'mathy-poly-simplify-easy'"):
        load_scenario("mathy-poly-simplify-eas")


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"difficulty": "hard"}, "mathy-poly-simplify"),
        ({"max_moves": 3}, "mathy-poly-simplify"),
        ({"difficulty": "easy"}, "mathy-poly-simplify-easy"),  # as it was
        ({"max_steps": 7}, "mathy-poly-simplify-easy"),
        ({"difficulty": "hard", "name": "mine-easy"}, "mine-easy"),
    ],
)
def test_what_differs_from_a_variant_is_not_called_like_it(changes, name):
    changed = algebra_scenario("mathy-poly-simplify-easy").with_(**changes)
    assert changed.name == changed.with_(max_steps=9).name == name
    assert pickle.loads(pickle.dumps(changed)).name == name


def test_families_do_not_mix():
    with pytest.raises(ValueError, match="of the domain 'grid'"):
        algebra_scenario("keydoor-5x5")
    with pytest.raises(ScenarioError, match=r"domain: no domain 'algebr'; did you mean 'algebra'"):
        load_scenario({"domain": "algebr"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"environment": "PolySimplfy"}, "no environment 'PolySimplfy'; did you mean 'PolySimplif"),
        ({"environment": "./own.py:squares"}, "is no subclass of gv_engine.mathy.MathyEnv"),
        ({"environment": "./own.py:Nowhere"}, "has no 'Nowhere'"),
        ({"environment": []}, "expected a text"),
        ({"difficulty": "harder"}, "no difficulty 'harder'; did you mean 'hard'"),
        ({"problem": "4x +"}, "'4x \\+' is no expression"),
        ({"rules": []}, "at least one rule"),
        ({"rules": ["swap"]}, "rules\\[0\\]: no rule 'swap'"),
        ({"rules": ["./own.py:Mine"]}, "is no subclass of mathy_core.rule.BaseRule"),
        ({"rules": [{"name": "commutative_swap", "prefered": 1}]}, "cannot be made: got an unexp"),
        ({"rewards": {"winn": 3}}, "unknown key 'winn'; did you mean 'win'"),
        ({"rewards": {"win": "much"}}, "expected a number"),
        ({"max_moves": 0}, "allowed are 1 to"),
        ({"max_seq_len": 5000}, "allowed are 1 to 1024"),
        ({"invalid_action_response": "laugh"}, "allowed: penalize, raise, terminal"),
        ({"problem_function": "squares"}, "expected ./rules.py:name or module:name"),
        ({"problem_function": "./own.py:Nothing"}, "Nothing"),
        ({"rule": []}, "unknown key 'rule'; did you mean 'rules'"),
        ({"options": {}}, "unknown key 'options'"),
    ],
)
def test_mistakes_are_said_where_they_are(file, change, said):
    with pytest.raises(ScenarioError, match=said):
        load_scenario({**SIMPLIFY, **change}, folder=file.parent)


def test_all_mistakes_at_once_with_file_and_line(file):
    file.write_text("domain: algebra\ndifficulty: harder\nrules: [swap]\n")
    with pytest.raises(ScenarioError) as raised:
        load_scenario(str(file))
    places = [problem.split(": ")[0].rpartition(":")[2] for problem in raised.value.problems]
    assert places == ["1", "2", "3"]
    assert "environment: missing" in raised.value.problems[0]


@pytest.mark.parametrize("moves", [{}, {"difficulty": "hard"}])
@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ({"problem": "6x"}, "'6x' is solved already"),
        ({"problem": "x = 3"}, "'x = 3' is an equation"),
        ({"problem": "4x + 2x = 3"}, "'4x + 2x = 3' is an equation"),
        ({"problem": " + ".join("x" * 99)}, "has 197 nodes"),
        ({"problem": "x + x", "problem_function": "./own.py:squares"}, "keep one of them"),
        (
            {"problem_function": "./own.py:alone"},
            f"{ALONE}) takes (params), expected (params, rng)",
        ),
    ],
)
def test_a_problem_that_cannot_be_begun_is_said_where_it_stands(tmp_path, problem, said, moves):
    made = written(tmp_path, **moves, **problem)
    with pytest.raises(ScenarioError) as raised:
        load_scenario(str(made))
    (message,) = raised.value.problems
    place = len(made.read_text().splitlines())
    assert message.startswith(f"{made}:{place}: problem")
    assert said in message


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"environment": "./own.py:Bare"},
            f"own.py:{BARE}) has no problem_fn: override this method",
        ),
        ({"environment": "./own.py:Nonsense"}, "transition_fn of Nonsense returned 17: expected a"),
        ({"environment": "./own.py:Text"}, "problem_fn of Text returned '4x + 2x': expected a Ma"),
        ({"problem_function": "./own.py:junk"}, "junk returned 5: expected a text or (text, comp"),
        ({"reward_functions": ["./own.py:broken"]}, f"own.py:{BROKEN}: KeyError: 0"),
    ],
)
@pytest.mark.parametrize("command", ["check", "rollout"])
def test_what_is_broken_is_told_in_one_line(tmp_path, capsys, keys, said, command):
    made = written(tmp_path, **keys)
    assert main([command, str(made), "--episodes", "2"]) > 0
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert "own.py:" in line


@pytest.mark.parametrize(
    ("rule", "place", "said"),
    [
        ("Asking", "return node.nothing", "AttributeError: "),
        ("Applying", 'raise KeyError("mine")', "KeyError: 'mine'"),
        ("Changing", "change = BaseRule", "it changes the value: 5x + 2x"),
    ],
)
def test_bugs_of_ones_own_rules_are_reported(tmp_path, capsys, rule, place, said):
    rules = [f"./own.py:{rule}", "distributive_factoring", "constant_arithmetic"]
    made = written(tmp_path, problem="4x + 2x", rules=rules)
    assert main(["rollout", str(made), "--episodes", "2"]) == 0
    capsys.readouterr()
    assert main(["check", str(made), "--episodes", "2"]) == 1
    shown = capsys.readouterr()
    (told,) = shown.err.splitlines()
    line = line_of(place) - (rule == "Changing")
    assert f"own.py:{line}: {rule} at node 0 of 4x + 2x: {said}" in told
    assert "nothing wrong" not in shown.out


def test_a_world_that_cannot_be_played_is_found(tmp_path, capsys):
    made = written(tmp_path, problem="4x + 2x", rules=["restate_subtraction"])
    assert main(["check", str(made)]) > 0
    assert "no rule applies anywhere in 4x + 2x" in capsys.readouterr().err
    valueless = written(tmp_path, problem="x / 0 + x + 2x")
    assert main(["check", str(valueless), "--episodes", "2"]) == 0
    failing = written(tmp_path, problem="4x + 2x", rules=["./own.py:Applying"])
    with pytest.raises(ScenarioError, match=r"another problem .*own.py:\d+: Applying at node 0"):
        load_scenario(str(failing))


# ---- the order of systems ---------------------------------------------------------------------


def ordered(folder: Path, **keys: Any) -> ExpressionEnv:
    """A game of 4x + 2x with these lists of systems."""
    env = ExpressionEnv(written(folder, problem="4x + 2x", **keys))
    env.reset(seed=0)
    return env


SWAP, FACTOR = 22, 24
BREVITY = {"name": "./own.py:brevity"}
NESTED = {"name": "./own.py:nested", "terminating_function": "refuse"}
GIVE_IN = {"transition_functions": ["apply_rule", "./own.py:give_in"]}
ENDS = ["refuse", "outgrow", "reach_goal", "run_out_of_moves", "go_in_circles"]


@pytest.mark.parametrize(
    ("keys", "action", "reward", "by"),
    [
        ({}, FACTOR, 0.01, "helpful_move"),
        # left out
        ({"reward_functions": ["spend_time"]}, FACTOR, -0.01, "spend_time"),
        ({"reward_functions": []}, FACTOR, 0.0, ""),
        ({"terminating_functions": ENDS[1:]}, 0, 0.01, "helpful_move"),
        # in another order
        ({"reward_functions": ["spend_time", "helpful_move"]}, FACTOR, -0.01, "spend_time"),
        # added, with what they take
        ({"reward_functions": ["./own.py:brevity", "spend_time"]}, FACTOR, -2.5, "brevity"),
        ({"reward_functions": [{**BREVITY, "each": 2}]}, FACTOR, -10.0, "brevity"),
        (GIVE_IN, SWAP, -7.0, "give_in"),
        # what is not asked any more
        ({**GIVE_IN, "terminating_functions": ["reach_goal"]}, SWAP, -7.0, "give_in"),
    ],
)
def test_the_order_of_systems_is_that_of_the_file(tmp_path, keys, action, reward, by):
    env = ordered(tmp_path, **keys)
    _, given, terminated, _, info = env.step(action)
    assert (given, info["decided_by"], terminated) == (reward, by, by == "give_in")
    assert sum(info["reward_terms"].values()) == (0 if by == "give_in" else reward)
    assert tuple(info["reward_terms"]) == env.scenario.reward_names
    # functions from state to state say the same
    state = env.scenario.first_state(env.scenario.make_env())
    assert env.scenario.make_env().get_next_state(state, action)[1].reward == reward


def test_what_is_left_out_does_nothing(tmp_path):
    assert ordered(tmp_path, transition_functions=[]).step(FACTOR)[4]["text"] == "4x + 2x"


def test_a_file_that_names_no_systems_has_those_of_ours():
    ours = algebra_scenario("mathy-poly-simplify")
    silent = algebra_scenario(SIMPLIFY)
    assert ours.order == silent.order
    for key in ("transition_functions", "terminating_functions", "reward_functions"):
        assert f"{key}: [" in ours.document.text


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        (["reach_exit"], "no reward function 'reach_exit' (allowed: revisit, helpful_move, "),
        (["solve"], "no reward function 'solve'"),
        (["refuse"], "no reward function 'refuse'"),
        (["helpful"], "did you mean 'helpful_move'"),
        (["./own.py:plain"], "plain is no system; decorate it with @system(REWARD)"),
        (["./own.py:give_in"], "is a TRANSITION system, but listed for REWARD"),
        ([{**BREVITY, "eech": 1}], "brevity takes no 'eech'; did you mean 'each'"),
        ([NESTED], f"own.py:{PICKY}) remembers something or takes other functions"),
        ("revisit", "reward_functions: found 'revisit', expected a list"),
        (["systems.reward:living_reward"], "is for grids"),
    ],
)
def test_systems_that_are_none_of_algebra(tmp_path, systems, said):
    with pytest.raises(ScenarioError) as raised:
        ordered(tmp_path, reward_functions=systems)
    assert said in str(raised.value)


# ---- commands ----------------------------------------------------------------------------------


def test_check(file, capsys):
    assert main(["check", str(file), "--episodes", "4"]) == 0
    said = capsys.readouterr().out
    assert "TRANSITION\tapply_rule\t" in said
    assert "plugins/algebra/systems.py:" in said
    assert "found\tnothing wrong" in said


def test_rollout(tmp_path, capsys):
    from gv_engine.envs.rollout import episode_folder

    out = tmp_path / "episodes"
    command = ["rollout", "mathy-poly-simplify-easy", "--episodes", "6", "--policy", "valid"]
    assert main([*command, "--out", str(out)]) == 0
    once = capsys.readouterr().out
    assert "reach_goal, mean sum" in once
    arrays, about = episode_folder.read(out)
    assert about["rule_names"][1] == "Commutative Swap"
    assert about["scenario"]["name"] == "mathy-poly-simplify-easy"
    assert arrays["nodes"].shape == (about["steps"], 128)
    assert arrays["last_nodes"].shape == (6, 128)
    steps = range(about["steps"])
    offered = arrays["mask"].reshape(len(steps), -1)
    assert all(offered[step, arrays["action"][step]] for step in steps)
    assert main([*command, "--num-envs", "2"]) == 0
    twice = capsys.readouterr().out
    told = [[line for line in said.splitlines() if "second" not in line] for said in (once, twice)]
    assert told[0] == told[1]


MISSING = """
import sys
sys.modules["mathy_core"] = None
from gv_engine.cli import main
from gv_engine.scenario.domains import Domain
assert main(["check", "mathy-poly-simplify"]) == 2
Domain.playable = property(lambda domain: dict([*domain.built_in().items()][:4]))  # to be quick
assert main(["list"]) == 0
try:
    from gv_engine.mathy import MathyEnv
except ModuleNotFoundError as error:
    assert f"{sys.executable} -m pip install 'mathy-core>=" in str(error), error
else:
    raise SystemExit("it was imported")
"""


@pytest.mark.slow
def test_without_mathy_core_one_line_says_how_to_get_it():
    done = run_program(MISSING, check=False)
    assert done.returncode == 0, done.stderr
    assert "crossing-5x5" in done.stdout
    assert "mathy-poly" not in done.stdout
    said = done.stderr.splitlines()
    assert len(said) == 2
    assert all(f"{sys.executable} -m pip install 'mathy-core>=" in line for line in said)
    assert "gv-engine[" not in done.stderr, "it is on no index"


CLEAN = """
import sys
import gv_engine
assert not any("mathy" in name for name in sys.modules if "gv_engine" not in name)
import gv_engine.plugins.algebra
heavy = {"llvmlite", "pygame", "imageio", "rich"} & {name.partition(".")[0] for name in sys.modules}
assert not heavy, heavy
env = gv_engine.plugins.algebra.ExpressionEnv("mathy-poly-simplify-easy")
env.reset(seed=0)
env.step(0)
"""


@pytest.mark.slow
def test_it_imports_without_a_warning_and_without_a_window():
    run_python("-W", "error", "-c", CLEAN)
