"""Compiled programs: what they are made of, and that they keep apart."""

from __future__ import annotations

import gc
import operator
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from llvmlite import ir
from numba import njit, types
from numba.core import event, utils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.postproc import PostProcessor
from numba.core.typing.templates import _OverloadFunctionTemplate, builtin_registry

import gv_engine
from gv_engine import DoesNotCompileError, GridEnv, GridVectorEnv, Scenario
from gv_engine.compiler import compiler, link_units, numba_pipeline, program_cache, programs
from gv_engine.rules import component
from gv_engine.scenario import layout
from gv_engine.validation.differential import run_differential_test
from gv_engine.world import simulation
from tests.caches import own_cache
from tests.processes import FINDS_TESTS, run_program

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


def test_numba_keeps_no_more_of_environments_that_are_made_again_and_forked():
    """It keeps every intrinsic that there ever was, some 73 of each program that is linked."""

    def counted() -> tuple[int, int, int]:
        for _ in range(4):
            GridEnv(LEVEL, world="compiled").fork()
            GridVectorEnv(LEVEL, 2, world="compiled").fork()
        gc.collect()
        return (
            len(builtin_registry.functions),
            len(builtin_registry.globals),
            len(gc.get_objects()) // 1000,
        )

    counted()
    assert counted() == counted()


def test_a_fork_runs_the_programs_of_its_original(monkeypatch):
    envs = GridVectorEnv(LEVEL, 4, world="compiled")
    envs.reset(seed=0)
    monkeypatch.delattr("gv_engine.compiler.programs.get_program")  # takes most of a fork's time
    fork = envs.fork()
    for actions in ([4, 5, 4, 5], [5, 5, 4, 7]):
        assert fork.step(actions)[0]["grid"].tolist() == envs.step(actions)[0]["grid"].tolist()


LOAD = """
import sys
from gv_engine import GridEnv, Scenario
from tests.vector.test_programs import BASE

def env(number):
    rules = [["move_agent", "turn_agent"], ["turn_agent", "actuate_door", "pickndrop"]][number]
    return GridEnv(Scenario.load({**BASE, "transition_functions": rules}), world="compiled")

def play(env):
    env.reset(seed=0)
    return [(env.step(a)[0]["grid"].tolist(), env.step(a)[4]["action_mask"].tolist()) for a in
            [7, 5, 0, 6, 4, 0, 7]]
"""


def alone(folder):
    """The environment of a process with a cache of its own, without anything that is compiled."""
    return {**os.environ, "GV_ENGINE_CACHE_DIR": str(folder)}


def processes_with(code, environment, number=1):
    """What so many processes say that start at once."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(number)
    ]
    said = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * number, said
    return said


@pytest.mark.thorough
def test_programs_from_different_processes_do_not_mix(tmp_path):
    """Numba names functions by a count within its process, and equal names would be linked."""

    def run(code):
        ((shown, said),) = processes_with(LOAD + code, alone(tmp_path))
        return shown, said

    apart = [run(f"print(play(env({number})))")[0] for number in range(2)]
    together, said = run("one, two = env(0), env(1)\nprint(play(one))\nprint(play(two))")
    assert together == "".join(apart)
    assert "compiling" not in said


RULE = """
STEP = 3

def helper(x, by=2):
    return x * by + STEP

def rule(w):
    return helper(w)
"""


def digest_of(code):
    names = {"__name__": "rules"}
    exec(code, names)
    return program_cache.program_digest([names["rule"]])


def test_a_digest_changes_with_all_that_a_rule_is_made_of():
    assert digest_of(RULE) == digest_of(f"# moved\n\n{RULE}")
    changes = [("STEP = 3", "STEP = 4"), ("by=2", "by=3"), ("* by", "+ by"), ("r(w)", "r(w, 3)")]
    digests = {digest_of(RULE.replace(*change)) for change in changes}
    assert len({digest_of(RULE), *digests}) == 1 + len(changes)
    assert program_cache.program_digest([], "1.0") != program_cache.program_digest([], "1.1")


ANY_PYTHON = """
import json
from gv_engine import TRANSITION, system

@system(TRANSITION)
def dictionary(w, agent):
    found = {1: 2}
    found["x"] = 3

@system(TRANSITION)
def generator(w, agent):
    w.agent.facing[agent] = sum(i for i in range(2))

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
        ("dictionary", r"dictionary in .*rules\.py, line 8\): `found\[.x.\] = 3`"),
        ("generator", r"rules\.py, line 12\): a generator"),
        ("exception", r"rules\.py, line \d+\): this kind of try/except"),
        ("library", r"rules\.py, line 22\): a function of another library"),
        ("imports", r"rules\.py, line 26\): an import inside of a function"),
        ("undefined", r"rules\.py, line 28\): undefined uses 'nothing'"),
        ("misspelt", r"rules\.py, line 32.*misspelt.*'statsu'"),
    ],
)
def test_what_does_not_compile_is_said_in_words_and_tried_once(tmp_path, capsys, rule, cause):
    (tmp_path / "rules.py").write_text(ANY_PYTHON)
    rules = {"transition_functions": [f"./rules.py:{rule}"], "reward_functions": []}
    wrong = Scenario.load({**BASE, **rules}, folder=tmp_path)
    for _ in range(2):
        with pytest.raises(DoesNotCompileError, match=cause):
            GridEnv(wrong, world="compiled")
    assert capsys.readouterr().err.count("compiling") == 1


def test_whatever_ends_compiling_is_told_with_the_scenario(load, monkeypatch):
    def fail(*given: Any) -> Any:
        raise AttributeError("'Boolean' object has no attribute 'bitwidth'")

    level = load("./rules.py:harden")
    monkeypatch.setattr(programs, "read_program", lambda key: None)
    for module, broken in ((link_units, "compile_program"), (compiler, "link_scenario")):
        monkeypatch.setattr(programs, "_PROGRAMS", {})
        monkeypatch.setattr(module, broken, fail)
        with pytest.warns(RuntimeWarning, match=r"scenario: a rule .*'bitwidth' \(AttributeError"):
            assert GridEnv(level).world == "object"


@pytest.mark.thorough
def test_rules_compile_whatever_was_imported_first(tmp_path):
    program = (
        "import gv_engine.compiler.compiler\n"
        "from gv_engine import GridEnv\n"
        "GridEnv('keydoor-5x5', world='compiled').reset()\n"
    )
    run_program(program, env=own_cache(tmp_path) | FINDS_TESTS)


def further(number):
    return max(number, 3)


def sum_of(narrow, wide):
    return further(narrow) + further(wide)


def test_a_part_is_compiled_once_for_all_columns_whose_numbers_it_takes():
    written: Any = further
    numba_pipeline.register_parts([written])
    compiled: Any = njit(**numba_pipeline.PART_OPTIONS)(sum_of)
    with numba_pipeline.patch_numba():
        compiled.compile((types.int8, types.int64))
    (result,) = compiled.overloads.values()
    (once,) = {each for each in result.library._linking_libraries if each.name == "further"}
    # Numba's own functions are parts, of which no machine code is made
    kinds = {type(each) for each in once._linking_libraries if each.name != "nrt"}
    assert kinds == {numba_pipeline.PartLibrary}


def twice(narrow, wide):
    return sum_of(narrow, wide) + further(wide)


def test_a_function_that_is_called_on_two_paths_is_linked_once():
    for written in (further, sum_of):
        numba_pipeline.register_parts([cast(Any, written)])
    with numba_pipeline.patch_numba():
        module, name, _ = numba_pipeline.compile_to_ir(twice, (types.int64, types.int64))
    defined = {f.name: f.linkage.name for f in module.functions if not f.is_declaration}
    kinds = [kind for each, kind in defined.items() if "further" in each or "sum_of" in each]
    assert kinds == ["linkonce_odr"] * 2
    assert defined[name] == "external"


def make_library(kind, name, *callees):
    """Return a library of `kind` with a function `name` that calls the functions of the `callees`,
    or none if there is one callee, and lists these libraries."""
    library = kind(numba_pipeline.target_context.codegen(), name)
    module = numba_pipeline.target_context.create_module(name)
    signature = ir.FunctionType(ir.VoidType(), [])
    function = ir.Function(module, signature, name)
    builder = ir.IRBuilder(function.append_basic_block())
    for callee in callees:
        library.add_linking_library(callee)
    if len(callees) != 1:
        for callee in callees:
            builder.call(ir.Function(module, signature, callee.name), [])
    builder.ret_void()
    library.add_ir_module(module)
    return library


def test_a_function_of_numba_is_linked_where_only_the_second_library_that_lists_it_calls_it():
    part: Any = numba_pipeline.PartLibrary
    with global_compiler_lock:
        numbas = make_library(JITCodeLibrary, "numbas")
        unused = make_library(JITCodeLibrary, "unused")
        lists = make_library(part, "lists", numbas)
        calls = make_library(part, "calls", numbas, unused)
        whole = make_library(part, "whole", lists, calls)
    module = whole.link_callees("whole")
    assert not [function.name for function in module.functions if function.is_declaration]


def test_numba_is_as_before_after_a_program_is_compiled():
    owners: list[Any] = [_OverloadFunctionTemplate, PostProcessor, event, utils]
    names = "_get_impl", "run", "broadcast", "order_by_target_specificity"
    before = list(map(getattr, owners, names))
    with numba_pipeline.patch_numba():
        assert not any(map(operator.is_, before, map(getattr, owners, names)))
    assert list(map(getattr, owners, names)) == before


def test_the_digest_of_the_engine_is_of_the_files_that_are_compiled():
    folder = Path(gv_engine.__file__).parent
    files = [file for name in programs._ENGINE_PACKAGES for file in (folder / name).glob("*.py")]
    for module in (compiler, link_units, simulation, layout, component):
        assert Path(module.__file__ or "") in files


# ---- whatever else the process has compiled and taught to Numba's records ------------------------

# methods, attributes and functions of all records, some called like those of ours
TAUGHT = """
import numpy as np
from numba import int64, njit, types, vectorize
from numba.experimental import jitclass
from numba.extending import overload, overload_attribute, overload_method

@overload_method(types.Record, "remove")
def remove(r, e):
    return lambda r, e: r.cells * e

@overload_method(types.Record, "integers")
def integers(r, low, high=None):
    return lambda r, low, high=None: 5

@overload_attribute(types.Record, "steps")
@overload_attribute(types.Record, "row")
def seven(r):
    return lambda r: 7

def half(r): raise NotImplementedError
@overload(half)
def half_of_a_record(r):
    return (lambda r: r.cells / 2) if isinstance(r, types.Record) else None

@njit
def of_record(r): return r.remove(3), r.integers(4), r.steps + r.row, half(r)
record = np.full(1, 9, [("cells", np.int64)])[0]
assert of_record(record) == (27, 5, 14, 4.5)

@vectorize
def one_more(x): return x + 1
assert one_more(np.arange(3)).tolist() == [1, 2, 3]

@jitclass([("n", int64)])
class Twice:
    def __init__(self, n): self.n = n
    def value(self): return 2 * self.n
@njit
def value(twice): return twice.value()
assert value(Twice(4)) == 8
"""
PLAY_LEVEL = """
import sys
sys.path.insert(0, "")
from gv_engine import Scenario
from gv_engine.validation.differential import run_differential_test
from tests.vector.test_programs import BASE

def play(**changes):
    rules = ["move_agent", "turn_agent", "pickndrop"]
    level = Scenario.load({**BASE, "transition_functions": rules, **changes})
    assert run_differential_test(level, episodes=2).fault == ""

"""
TAUGHT_MORE = """
@njit
def between(r): return r.remove(4)
assert between(record) == 36
play()
@njit
def after(r): return r.remove(5), of_record(r)
assert after(record) == (45, (27, 5, 14, 4.5))
play(capacity=60)
"""


@pytest.mark.thorough
def test_worlds_compile_whatever_others_have_compiled(tmp_path):
    ((_, said),) = processes_with(TAUGHT + PLAY_LEVEL + TAUGHT_MORE, alone(tmp_path))
    assert said.count("compiling") == 2
