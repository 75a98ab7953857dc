"""Resets and steps of scenarios in the compiled language, beside object worlds: the same rows."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from gv_engine import load_scenario
from gv_engine.compiler import stepping
from gv_engine.compiler.language.functions import Compiler, Failure
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.machine import MachineCode
from gv_engine.compiler.language.memory import ARENA_HEAD
from gv_engine.compiler.language.values import Record
from gv_engine.compiler.parameters import make_parameters
from gv_engine.compiler.rows import make_parameter_type, make_row_type
from gv_engine.rules.errors import RuleError
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation

ARENA = 1 << 22

SCENARIOS = [
    *("keydoor-9x9", "crafter", "pogema-8x8-4a", "sokoban", "2048", "hunt", "shutters"),
    *("MiniGrid-ObstructedMaze-Full-v1", "BabyAI-PutNextLocalS5N3-v0", "warehouse-tiny-2ag"),
    *("teleport-7x7", "foraging-8x8-2p-3f", "BabyAI-BossLevel-v0", "MiniGrid-Fetch-8x8-N3-v0"),
]


class CompiledWorld:
    """One row of a scenario's worlds, with its compiled reset and step."""

    def __init__(self, scenario: Scenario) -> None:
        layout = scenario.layout
        self.dtype = layout.dtype
        self.row = np.zeros(1, layout.looks_dtype)
        for name in layout.dtype.names or ():
            self.row[name] = layout.defaults()[name]
        self._parameters = make_parameters(scenario)
        self._arena = np.zeros(ARENA, np.uint8)
        self._compiler = Compiler(LIBRARY)
        records = {
            "w": Record("", make_row_type(layout, layout.looks_dtype)),
            "p": Record("", make_parameter_type(self._parameters.dtype)),
            "plan": stepping.ScenarioPlan(scenario),
        }
        entries = []
        functions: Any = (stepping.reset_world, stepping.step_world)
        for function in functions:
            version = self._compiler.compile(function, records)
            assert version is not None
            assert version.returns == ("i32",)
            call = f'call i32 @"{version.name}"(ptr %arena, ptr %w, ptr %p)'
            head = f"define i32 @{function.__name__}(ptr %arena, ptr %w, ptr %p)"
            entries.append(f"{head} {{\n%code = {call}\nret i32 %code\n}}")
        self._program = MachineCode("\n".join([self._compiler.module.write(), *entries]))

    def run(self, name: str) -> Failure | None:
        """Call a function of the program; return the error that it ends with."""
        function = self._program.function(name, ctypes.c_uint32, *[ctypes.c_void_p] * 3)
        self._arena[:16].view(np.int64)[:] = ARENA_HEAD, ARENA
        addresses = [each.ctypes.data for each in (self._arena, self.row, self._parameters)]
        return self._compiler.failures.get(function(*addresses))

    def differences(self, row: np.ndarray[Any, Any]) -> list[str]:
        """Return the fields in which the row differs from another one."""
        names = [name for name in self.dtype.names or () if not name.startswith("layout_")]
        return [name for name in names if np.any(self.row[name][0] != row[name])]


@pytest.mark.compiled
@pytest.mark.sample("keydoor-9x9", "pogema", "sokoban")
@pytest.mark.parametrize("name", SCENARIOS)
def test_resets_and_steps(name: str) -> None:
    scenario: Any = load_scenario(name)
    compiled, simulation, rng = (
        CompiledWorld(scenario),
        Simulation(scenario),
        np.random.default_rng(0),
    )
    for seed in range(3):
        simulation.world.rng = np.random.default_rng(seed)
        compiled.row["rng"] = simulation.world.snapshot()["rng"]
        simulation.reset()
        assert compiled.run("reset_world") is None
        assert compiled.differences(simulation.world.snapshot()) == []
        for _ in range(40):
            actions = rng.choice(scenario.actions, scenario.layout.agents).tolist()
            compiled.row["action"][0, 1:] = actions
            failure = compiled.run("step_world")
            try:
                simulation.step(*actions)
            except RuleError:
                assert failure is not None
                break
            assert failure is None
            assert compiled.differences(simulation.world.snapshot()) == []
            if simulation.world.terminated or simulation.world.truncated:
                break
