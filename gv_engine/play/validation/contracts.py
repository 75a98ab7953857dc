"""Checks that rules keep their contracts: a reward function must not change the world, for
example."""

from __future__ import annotations

import random  # noqa: TID251  # to see whether others draw from it
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gv_engine.envs.backends.seeding import make_rng
from gv_engine.rules.objects import is_engine_module
from gv_engine.rules.system import Phase, System, source_location, unwrap_partials
from gv_engine.rules.world import World
from gv_engine.scenario.memory.layout import AGENT_COLUMNS
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation

_MAY_EDIT = (Phase.RESET, Phase.TRANSITION)
_MAY_USE_RNG = (*_MAY_EDIT, Phase.VISIBILITY, Phase.OBSERVATION)
_ENGINE_FIELDS = [name for name, obj in vars(World).items() if isinstance(obj, property)]
_WATCHED_STEPS = 50  # steps of an episode; contracts break early


def find_broken_contracts(scenario: Scenario, episodes: int = 3, seed: int = 0) -> list[str]:
    """Play random episodes in the object world; return a sentence for each function of a rule that
    breaks its contract, for example a reward function that changes the world."""
    messages: dict[str, None] = {}  # an ordered set
    simulation = Simulation(scenario)
    simulation.watch(partial(_watch_function, messages))
    for number in range(episodes):
        rng = make_rng(seed, "actions", number)
        observation = np.zeros((*scenario.area.shape, 3), np.uint8), np.zeros(3, np.uint8)
        try:
            simulation.reset(np.random.default_rng(seed + number))
            for _ in range(_WATCHED_STEPS):
                for agent in simulation.agents:
                    simulation.observe(*observation, agent)
                indices = rng.integers(len(scenario.actions), size=len(simulation.agents))
                simulation.step(*(scenario.actions[index] for index in indices))
                if simulation.world.terminated or simulation.world.truncated:
                    break
        except Exception:
            continue  # an error that other checks report
    return list(messages)


def _watch_function(
    messages: dict[str, None], system: System, part: str, function: Callable[..., Any]
) -> Callable[..., Any]:
    """Wrap a function of a rule so that each call is checked: a sentence is added to `messages` if
    it changes the world although it must not, for example. `part` is its role in `system`:
    `function`, `remember` or `when`."""
    if system.objects is None and is_engine_module(unwrap_partials(function).__module__):
        return function  # which the engine's own tests check
    phase = system.phase if part == "function" else None  # helpers may only read
    may_edit = phase in _MAY_EDIT
    field_names = _ENGINE_FIELDS if may_edit and system.objects is None else []

    def report(fault: str) -> None:
        messages[f"{_describe_function(system, part)}, {fault}"] = None

    def call_and_compare(w: Any, *arguments: Any) -> Any:
        worlds = [w, *(obj.world for obj in arguments if hasattr(obj, "world"))]
        rows = [] if may_edit else [(world, world.snapshot()) for world in worlds]
        fields = {name: _read_field(w, name) for name in field_names}
        rng_state, containers = _read_global_rng_state(), _read_containers(function)
        result = function(w, *arguments)
        for name, text in _read_containers(function).items():
            if text != containers.get(name, text):
                report(
                    f"changes the global {name!r}, which no reset or snapshot restores; keep it in "
                    f"a component"
                )
        if _read_global_rng_state() != rng_state:
            report("draws from a global generator, which no seed of the world reaches; use w.rng")
        if phase is Phase.TRANSITION and result is not None:
            report(f"returns {type(result).__name__}; transitions edit the state, return nothing")
        for name, value in fields.items():
            new_value = _read_field(w, name)
            if new_value is not value and (name not in AGENT_COLUMNS or new_value != value):
                report(f"writes w.{name}, which is set by the engine; rules only read it")
        for world, row in rows:
            new_row = world.snapshot()
            if new_row["rng"] != row["rng"] and phase not in _MAY_USE_RNG:
                report("draws by chance; it must give the same for the same step")
            new_row["rng"] = row["rng"]
            if new_row.tobytes() != row.tobytes():
                report("edits the state, which it may only look at")
        return result

    return call_and_compare


def _read_containers(function: Callable[..., Any]) -> dict[str, str]:
    """Return the lists, dicts and sets among the globals of a rule's module as texts, by name. They
    are compared before and after a call."""
    module_globals = getattr(unwrap_partials(function), "__globals__", {})
    return {
        name: repr(value)
        for name, value in module_globals.items()
        if isinstance(value, list | dict | set | bytearray) and not name.startswith("__")
    }


def _read_field(world: Any, name: str) -> Any:
    value = getattr(world, name)
    return [*value] if name in AGENT_COLUMNS else value


def _describe_function(system: System, part: str) -> str:
    """Return name, file and line of a system's function, or of its helper `part`, such as
    `remember` or `when`."""
    if part == "function":
        return f"{system.title}, a {system.phase.label}"
    helper = getattr(system, part)
    file, line = source_location(helper)
    return f"{unwrap_partials(helper).__name__} ({file}:{line}), the {part} of {system.name}"


def _read_global_rng_state() -> tuple[Any, ...]:
    legacy: Any = np.random.get_state()  # noqa: NPY002  # to see whether others draw from it
    return random.getstate(), legacy[1].tobytes(), legacy[2:]
