"""Modules of the compiled language as WebAssembly: the results of machine code, byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gv_engine import load_scenario
from gv_engine.compiler.language.body import ARENA_HEAD
from gv_engine.compiler.language.compiler import Compiler
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.values import Kind, Scalar
from gv_engine.compiler.language.wasm import STACK_TOP, link_texts
from gv_engine.envs.backends.compiled_backend import ARENA_SIZE, CompiledBatch
from gv_engine.envs.backends.seeding import make_seeded_generators
from gv_engine.plugins.web.page import make_memory_image
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.world.simulation import DISABLED, RESTART
from tests.compiler.node import NODE, encode, run_in_node

SCENARIOS = [
    *("keydoor-9x9", "crafter", "pogema-8x8-4a", "sokoban", "2048", "hunt", "shutters"),
    *("MiniGrid-ObstructedMaze-Full-v1", "BabyAI-PutNextLocalS5N3-v0", "warehouse-tiny-2ag"),
    *("teleport-7x7", "foraging-8x8-2p-3f", "BabyAI-BossLevel-v0", "MiniGrid-Fetch-8x8-N3-v0"),
]
STEPS = 20
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


@pytest.mark.compiled
@pytest.mark.sample("keydoor-9x9", "pogema-8x8-4a", "sokoban")
@pytest.mark.parametrize("name", SCENARIOS)
def test_all_arrays_are_those_of_machine_code(name: str) -> None:
    scenario: Any = load_scenario(name)
    batch, rng = CompiledBatch(scenario, 1), np.random.default_rng(1)
    batch.prepare()
    batch.set_generators(np.arange(1), make_seeded_generators([7]))
    arrays = {key: each for key, each in batch.lane.arrays.items() if key != "addresses"}
    read = [key for key in arrays if key not in ("arena", "failures")]
    image, record = make_memory_image(arrays)
    places = {key: int(record[key]["address"]) for key in arrays}
    given = [STACK_TOP, 0, 1, DISABLED]
    calls, expected = [], []
    for k in range(STEPS):
        taken = rng.integers(0, len(scenario.actions), scenario.layout.agents)
        arrays["actions"][:] = RESTART if k == 0 else taken
        writes = [
            [places["actions"], encode(arrays["actions"].tobytes())],
            [places["arena"], encode(np.array([ARENA_HEAD, ARENA_SIZE]).tobytes())],
        ]
        reads = [[places[key], arrays[key].nbytes] for key in read]
        calls.append({"name": "run0", "args": given, "writes": writes, "reads": reads})
        failed = batch.program.run(batch.lane.address, 0, 1, DISABLED)
        expected.append([failed, *(arrays[key].tobytes() for key in read)])
    results = run_in_node(link_texts([batch.program.write_for_web()[0]], ["run"]), image, calls)
    differing = [
        (k, key)
        for k, pair in enumerate(zip(results, expected, strict=True))
        for key, *values in zip(["failed", *read], *pair, strict=True)
        if values[0] != values[1]
    ]
    assert differing == []


def spin(a: Any) -> Any:
    while a > 0:
        a = a + 1 if a < 5 else 1
    return a


def count(a: Any) -> Any:
    total = 0
    for k in range(a):
        total += k % 7
    return total


@pytest.mark.parametrize(
    ("function", "expected"),
    [(spin, "RuntimeError: unreachable"), (count, sum(k % 7 for k in range(1000)))],
)
def test_guarded_loops_end(function: Any, expected: Any) -> None:
    compiler = Compiler(LIBRARY)
    compiler.module.guards_loops = True
    version = compiler.compile(function, {"a": Scalar(Kind.INT, "")})
    assert version is not None
    returned = "{i32, i64} %r, 1" if version.fails else ""
    lines = [
        "define i64 @run(i64 %arena, i64 %a) {",
        "%place = inttoptr i64 %arena to ptr",
        f'%r = call {version.llvm} @"{version.name}"(ptr %place, i64 %a)',
        f"%n = extractvalue {returned}" if returned else "%n = add i64 %r, 0",
        "ret i64 %n",
        "}",
    ]
    module = link_texts(["\n".join([compiler.module.to_ir(), *lines])], ["run"])
    image = np.array([ARENA_HEAD, ARENA_SIZE]).tobytes()
    calls = [{"name": "run0", "args": [STACK_TOP, 1000], "writes": [], "reads": []}]
    assert run_in_node(module, image, calls) == [[expected]]


def test_functions_that_browsers_lack_are_refused() -> None:
    text = """declare double @lgamma(double) nobuiltin
    define double @run(double %a) {
      %r = call double @lgamma(double %a)
      ret double %r
    }"""
    with pytest.raises(DoesNotCompileError, match="browsers have no function lgamma"):
        link_texts([text], ["run"])
