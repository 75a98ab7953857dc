"""Recorded reference episodes, replayed step by step and compared bit for bit.

    python -m tests.conformance DIR [--world object|batch]

reads a folder with `index.json` and `.npz` files and prints one line per file. The format is
described in `tests/data/conformance/README.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from components.objects import BOX
from gv_engine import AGENT, RuleError, Scenario, Simulation
from gv_engine.envs.backends.backend import Backend, make_batch
from gv_engine.envs.representations import REPRESENTATIONS, Representation, observer_pose
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import ACTIONS, Area
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.rules.system import REGISTRIES, Phase
from gv_engine.world.bound_call import BoundCall
from gv_engine.world.rng import generator_from_row, generator_to_row
from gv_engine.world.simulation import DISABLED, RESTART
from gv_engine.world.view import ObjectView
from tests import DATA
from tests.boards import agent_of, cells_of, content_of, item_of

Entry: TypeAlias = "dict[str, Any]"

EXIT = {"object_type": "Exit"}
KEY = {"object_type": "Key"}
CLOSER = {"reward_closer": 0.2, "reward_further": -0.3}

REWARDS: dict[str, Entry] = {
    "living_reward": {"name": "living_reward", "reward": -0.25},
    "overlap_key": {"name": "overlap", **KEY, "reward_on": 2.0, "reward_off": -0.5},
    "reach_exit": {"name": "reach_exit", "reward_on": 5.0, "reward_off": 0.5},
    "bump_moving_obstacle": {"name": "bump_moving_obstacle", "reward": -3.0},
    **{
        f"proportional_{metric}": {
            "name": "proportional_to_distance",
            **EXIT,
            "distance_function": metric,
            "reward_per_unit_distance": -0.1,
        }
        for metric in ("manhattan", "euclidean")
    },
    **{
        f"getting_closer_{metric}": {
            "name": "getting_closer",
            **EXIT,
            "distance_function": metric,
            **CLOSER,
        }
        for metric in ("manhattan", "euclidean")
    },
    "getting_closer_shortest_path": {"name": "getting_closer_shortest_path", **EXIT, **CLOSER},
    "bump_into_wall": {"name": "bump_into_wall", "reward": -0.7},
    "actuate_door": {"name": "actuate_door", "reward_open": 1.5, "reward_close": -1.5},
    "pickndrop_key": {"name": "pickndrop", **KEY, "reward_pick": 1.25, "reward_drop": -1.25},
    "reach_exit_memory": {"name": "reach_exit_memory", "reward_good": 4.0, "reward_bad": -4.0},
}
TERMINATING: dict[str, Entry] = {
    "reach_exit": {"name": "reach_exit"},
    "overlap_key": {"name": "overlap", **KEY},
    "bump_moving_obstacle": {"name": "bump_moving_obstacle"},
    "bump_into_wall": {"name": "bump_into_wall"},
}
VISIBILITY: dict[str, Entry] = {
    "partially_occluded": {"name": "partially_occluded"},
    "fully_transparent": {"name": "fully_transparent"},
    "raytracing": {"name": "raytracing"},
    "raytracing_3": {"name": "raytracing", "threshold": 3.0},
    "raytracing_half": {"name": "raytracing", "absolute_counts": False, "threshold": 0.5},
    "stochastic_raytracing": {"name": "stochastic_raytracing"},
}
EVERYTHING = "./everything/rules.py"
TRANSITIONS = (
    "move_agent",
    "turn_agent",
    "actuate_door",
    "actuate_box",
    "pickndrop",
    "move_obstacles",
    "teleport",
)
"""The numbers that `any_transitions` has for them."""

SIGHTS = ("fully_transparent", "partially_occluded", "raytracing", "stochastic_raytracing")
"""The numbers that `any_visibility` has for them."""

_KINDS = {
    "reward": (Phase.REWARD, REWARDS),
    "terminal": (Phase.TERMINATING, TERMINATING),
    "observation": (Phase.VISIBILITY, VISIBILITY),
}
_PHASES = {
    **{f"{phase.name.lower()}_function": phase for phase in Phase},
    "observation_function": Phase.VISIBILITY,
}


class Different(Exception):
    """The first difference; says where, what was found and what is recorded."""


@dataclass
class Report:
    """What came out of one file.

    Attributes:
        checked: names of the recorded arrays that were compared.
        skipped: names of those that nothing here can compute.
        unknown: a function that the whole recording needs and that is not registered, or "".
        difference: the first one, or "".
        failure: the error that ended the replay, or "".
    """

    checked: set[str] = field(default_factory=set)
    skipped: list[str] = field(default_factory=list)
    unknown: str = ""
    difference: str = ""
    failure: str = ""

    @property
    def verdict(self) -> str:
        """Return "equal", "different", "failed" or "skipped"."""
        verdicts = {self.difference: "different", self.failure: "failed", self.unknown: "skipped"}
        return next((verdict for reason, verdict in verdicts.items() if reason), "equal")

    def __str__(self) -> str:
        if self.difference:
            return f"DIFFERENT: {self.difference}"
        if self.failure:
            return f"FAILED: {self.failure}"
        if self.unknown:
            return f"skipped: {self.unknown}"
        return "equal" + (f"; skipped: {', '.join(self.skipped)}" if self.skipped else "")


def replay(
    entry: Entry, recorded: Mapping[str, NDArray[Any]], world: str, alone: bool = True
) -> Report:
    """Replay one recording.

    Args:
        entry: of `index.json`.
        recorded: its arrays.
        world: "object", or "batch" for the middle row of a batch whose other worlds differ.
        alone: whether all functions are called on each state, and not those of the scenario alone.
    """
    report = Report()
    config = entry["config"] if entry["kind"] == "episode" else _config_of_soup(entry, recorded)
    report.unknown = next(_unknown_names(config), "")
    if not report.unknown:
        try:
            Replay(entry, config, recorded, world, report).run(alone)
        except Different as difference:
            report.difference = str(difference)
    return report


class Replay:
    """One recording on its way through the worlds."""

    def __init__(
        self,
        entry: Entry,
        config: Entry,
        recorded: Mapping[str, NDArray[Any]],
        world: str,
        report: Report,
    ) -> None:
        self.entry = entry
        self.recorded = recorded
        self.world = world
        self.report = report
        self.scenario = load(config)
        self.max_shape = _shared_shape(recorded["grid"].shape[1:3])
        self.own = f"observation_{config['observation_function']['name']}"
        self.generator = np.random.default_rng(entry["seed"])

    def run(self, alone: bool) -> None:
        """The episode from its seed; then, if `alone`, every function on each of its states."""
        known = {prefix: list(self._known(prefix)) for prefix in _KINDS} if alone else {}
        self.report.skipped = [
            name
            for name in self.recorded
            if name.startswith(("reward_", "terminal_", "observation_"))
            and name not in self.report.checked
        ]
        if self.entry["kind"] == "episode":
            self._play()
        if known:
            call_all = self._one_by_one if self.world == "object" else self._side_by_side
            call_all(known["observation"], known["reward"], known["terminal"])
        for name in REPRESENTATIONS:
            self._represent(name)

    def _known(self, prefix: str) -> Iterator[str]:
        phase, entries = _KINDS[prefix]
        for name, call in entries.items():
            if f"{prefix}_{name}" in self.recorded and call["name"] in REGISTRIES[phase]:
                self.report.checked.add(f"{prefix}_{name}")
                yield name

    # ---- the episode -------------------------------------------------------------------------

    def _play(self) -> None:
        """As the scenario has it; in a batch as the middle one of worlds that go other ways."""
        batch = _batch(self.scenario, self.world, 3 if self.world == "batch" else 1)
        row = len(batch) // 2
        for i in range(len(batch)):
            batch.set_generator(i, np.random.default_rng(self.entry["seed"] + 17 * ((i - row) % 3)))
        batch.step(np.full(len(batch), RESTART), DISABLED)
        self.generator = generator_from_row(batch.snapshot(row)["rng"])
        positions = {number: position for position, number in enumerate(self.scenario.actions)}
        actions = np.array([positions[number] for number in self.recorded["action"].tolist()])
        turns = np.stack([np.roll(actions, i - row) for i in range(len(batch))], axis=1)
        for t in range(len(actions) + 1):
            self._same_state(t, batch.snapshot(row), self.scenario)
            self._same("item", t, batch.outputs.item[row])
            if self.own in self.recorded:
                self._same(self.own, t, batch.outputs.grid[row])
            if t < len(actions):
                batch.step(turns[t], DISABLED)
                self._same("reward", t, batch.outputs.rewards[row])
                self._same("terminal", t, batch.outputs.terminated[row])

    def _same_state(self, t: int, state: NDArray[Any], scenario: Scenario) -> None:
        self._same("grid", t, cells_of(state, scenario.layout))
        self._same("content", t, content_of(state, scenario.layout))
        self._same("agent", t, agent_of(state))
        self._same("item", t, item_of(state, scenario.layout))

    # ---- functions alone ---------------------------------------------------------------------

    def _judging(self, rewards: list[str], endings: list[str]) -> Scenario:
        """Return the scenario of the recording's transitions with these rewards and endings."""
        parts = [part for call in self.scenario.calls(Phase.TRANSITION) for part in call.walk()]
        order = tuple(TRANSITIONS.index(part.name) for part in parts if part.name != "chain")
        return _judging(self.max_shape, order, tuple(rewards), tuple(endings))

    def _first(self, bench: Scenario) -> NDArray[Any]:
        return _first_state(bench, self.recorded, self.generator)

    def _one_by_one(self, sights: list[str], rewards: list[str], endings: list[str]) -> None:
        """In the object world: each function is called by itself while the recording is played."""
        bench = self._judging([], [])
        simulation = _simulation(bench)
        world = simulation.world
        world.restore(self._first(bench))
        judges = _judges(rewards, endings)
        lookers = {
            sight: _looker(_seeing(self.max_shape, self.scenario.area, sight), simulation)
            for sight in sights
        }
        actions = self.recorded["action"].tolist()
        for t, action in enumerate([*actions, None]):
            self._same_state(t, world.snapshot(), bench)
            generator = world.rng
            for sight, look in lookers.items():
                world.rng = np.random.default_rng(t)
                self._same(f"observation_{sight}", t, look())
            world.rng = generator
            if action is None:
                break
            world.action[AGENT] = action
            failed = {
                name
                for name, judge in judges.items()
                if _or_nan(judge.remember_before_step, world, AGENT) is not None
            }
            simulation.step(action)
            for name, judge in judges.items():
                self._same(name, t, np.nan if name in failed else _or_nan(judge.run, world, AGENT))

    def _side_by_side(self, sights: list[str], rewards: list[str], endings: list[str]) -> None:
        """In compiled worlds: rewards and endings at once, then all states as one batch. An error
        ends a step, so rewards that are not always defined are asked alone."""
        partial = [n for n in rewards if np.isnan(self.recorded[f"reward_{n}"]).any()]
        states = self._ask_together([n for n in rewards if n not in partial], endings)
        for name in partial:
            self._ask_together([name], [], states)
        for sight in sights:
            self._see(sight, np.stack(states))

    def _ask_together(
        self, rewards: list[str], endings: list[str], starts: Sequence[NDArray[Any]] = ()
    ) -> list[NDArray[Any]]:
        """Play the recorded actions with these rewards and endings, each from the state in
        `starts`, if they are given; return the states."""
        bench = self._judging(rewards, endings)
        batch = _batch(bench, self.world, 1)
        batch.restore(0, self._first(bench))
        actions = self.recorded["action"].tolist()
        states = []
        for t, action in enumerate([*actions, None]):
            if starts:
                batch.restore(0, starts[t], trusted=True)
            states.append(batch.snapshot(0))
            self._same_state(t, states[t], bench)
            if action is None:
                break
            is_undefined = any(np.isnan(self.recorded[f"reward_{n}"][t]) for n in rewards)
            try:
                batch.step(np.array([action]), DISABLED)
            except RuleError as error:
                if not is_undefined:
                    raise Different(f"{', '.join(rewards)}[{t}]: {error}") from None
                continue
            if is_undefined:
                raise Different(f"reward_{rewards[0]}[{t}]: found a number, recorded nan")
            terms = batch.outputs.terms[0].tolist()
            for name, term in zip(rewards, terms):
                self._same(f"reward_{name}", t, term)
            for bit, name in enumerate(endings):
                self._same(f"terminal_{name}", t, bool(int(terms[-1]) >> bit & 1))
        return states

    def _see(self, sight: str, states: NDArray[Any]) -> None:
        """All states under a visibility function, each with a generator of its own."""
        seeing = _seeing(self.max_shape, self.scenario.area, sight)
        batch = _batch(seeing, self.world, _STATES_AT_ONCE)
        for t, state in enumerate(states):
            generator_to_row(np.random.default_rng(t), state["rng"])
        for start in range(0, len(states), _STATES_AT_ONCE):
            part = states[start : start + _STATES_AT_ONCE]
            batch.restore(np.arange(len(part)), part)
            for i in range(len(part)):
                self._same(f"observation_{sight}", start + i, batch.outputs.grid[i])
                self._same("item", start + i, batch.outputs.item[i])

    # ---- representations ---------------------------------------------------------------------

    def _represent(self, name: str) -> None:
        """All states and observations at once, in a representation."""
        if f"representation_state_{name}_grid" in self.recorded:
            grids = self.recorded["grid"]  # it has come out equal by now, and so has the rest
            representation = Representation.of_state(self.scenario, grids.shape[1:3], name)
            self._same_arrays("state", representation, grids, self.recorded["agent"])
        if f"representation_observation_{name}_grid" in self.recorded:
            representation = Representation.of_observation(self.scenario, name)
            grids = self.recorded["observation_partially_occluded"]
            agents = np.repeat(observer_pose(self.scenario)[None], len(grids), axis=0)
            self._same_arrays("observation", representation, grids, agents)

    def _same_arrays(
        self,
        what: str,
        representation: Representation,
        grids: NDArray[Any],
        agents: NDArray[np.int64],
    ) -> None:
        arrays = representation.encode(grids, self.recorded["item"], agents)
        for t in range(len(grids)):
            one = {key: array[t] for key, array in arrays.items()}
            if not representation.space.contains(one):
                raise Different(f"{what} {t} is not in the space of {representation.name!r}")
            for key, array in one.items():
                self._same(f"representation_{what}_{representation.name}_{key}", t, array)

    def _same(self, name: str, t: int, found: Any) -> None:
        self.report.checked.add(name)
        expected = self.recorded[name][t]
        got = np.asarray(found)
        if got.shape != expected.shape:
            raise Different(f"{name}[{t}]: found shape {got.shape}, recorded {expected.shape}")
        if got.astype(expected.dtype).tobytes() != expected.tobytes():
            where = np.argwhere(got != expected)
            at = tuple(where[0].tolist()) if got.ndim and len(where) else ()
            place = "".join(f"[{index}]" for index in (t, *at))
            raise Different(f"{name}{place}: found {got[at]!r}, recorded {expected[at]!r}")


# ---- worlds ------------------------------------------------------------------------------------

_SHARED_SIDE = 14
"""Height and width of the layout of all recordings that fit, so that they share programs."""

_STATES_AT_ONCE = 241
"""Worlds in a batch of states; longer recordings take several batches."""


def _shared_shape(shape: Sequence[int]) -> tuple[int, int]:
    """Return the maximum shape of the layout for a recording: `_SHARED_SIDE`, doubled until it
    fits."""
    side = _SHARED_SIDE
    while max(shape) > side:
        side *= 2
    return side, side


@cache
def _batch(scenario: Scenario, world: str, size: int) -> Backend:
    return make_batch(scenario, size, "compiled" if world == "batch" else "object")


_simulation = cache(Simulation)


@cache
def _judging(
    max_shape: tuple[int, int],
    order: tuple[int, ...],
    rewards: tuple[str, ...],
    endings: tuple[str, ...],
) -> Scenario:
    """Transitions by number, and functions to be asked about each step.

    Where the functions are the same, so is the program: which transitions run is data.
    """
    ends = {
        "name": f"{EVERYTHING}:signals",
        "terminating_functions": [TERMINATING[name] for name in endings],
    }
    padding = [-1] * (-len(order) % 12)  # the length is part of the program
    return _bench(
        max_shape,
        transition_functions=[
            {"name": f"{EVERYTHING}:any_transitions", "order": [*order, *padding] or [-1] * 12}
        ],
        reward_functions=[*(REWARDS[name] for name in rewards), *[ends] * bool(endings)],
        observation_function={"name": "fully_transparent", "area": [[0, 0], [0, 0]]},
    )


@cache
def _seeing(max_shape: tuple[int, int], area: Area, sight: str) -> Scenario:
    """A visibility function by number: one program for all of an area."""
    call = {"absolute_counts": True, "threshold": 1.0, **VISIBILITY[sight]}
    return _bench(
        max_shape,
        transition_functions=[],
        reward_functions=[],
        observation_function={
            "name": f"{EVERYTHING}:any_visibility",
            "which": SIGHTS.index(call["name"]),
            "absolute": call["absolute_counts"],
            "threshold": call["threshold"],
            "area": [[area.ymin, area.ymax], [area.xmin, area.xmax]],
        },
    )


def _bench(max_shape: tuple[int, int], **functions: Any) -> Scenario:
    level = {"map": "^", "max_shape": max_shape, "terminating_function": "reach_exit"}
    return load({**level, **functions})


def _judges(rewards: list[str], endings: list[str]) -> dict[str, BoundCall]:
    """Functions, by the names of what they are compared with."""
    small = _SHARED_SIDE, _SHARED_SIDE  # calls do not depend on it
    calls = [*_judging(small, (), tuple(rewards), tuple(endings)).calls(Phase.REWARD)]
    if endings:
        calls += calls.pop().arguments["terminating_functions"]
    names = [*(f"reward_{name}" for name in rewards), *(f"terminal_{name}" for name in endings)]
    return {name: BoundCall(call) for name, call in zip(names, calls)}


def _looker(seeing: Scenario, simulation: Simulation) -> Callable[[], NDArray[np.uint8]]:
    """Sees a world in a way of its own."""
    call, area = BoundCall(seeing.visibility), seeing.area
    view, grid, item = ObjectView(area), np.empty((*area.shape, 3), np.uint8), np.empty(3, np.uint8)

    def look() -> NDArray[np.uint8]:
        view.look(simulation.world, AGENT)
        call.run(simulation.world, AGENT, (view,))
        view.show(simulation.world, AGENT, grid, item)
        return grid

    return look


def _or_nan(ask: Callable[..., Any], w: Any, agent: int) -> Any:
    """What a function says, NaN where it is not defined."""
    try:
        return ask(w, agent)
    except RuleError:
        return np.nan


def load(config: Entry) -> Scenario:
    with warnings.catch_warnings():
        # two recorded scenarios give `teleport` a parameter that means nothing
        warnings.simplefilter("ignore", UserWarning)
        return Scenario.load(config, folder=DATA)


def _unknown_names(config: Any, key: str = "") -> Iterator[str]:
    """Names of functions, at any depth, that are not registered."""
    if isinstance(config, list):
        for item in config:
            yield from _unknown_names(item, key)
    elif isinstance(config, dict):
        phase = _PHASES.get(key.removesuffix("s"))
        if phase and config["name"] not in (*REGISTRIES[phase], "from_visibility"):
            yield f"no {key.removesuffix('s').replace('_', ' ')} {config['name']!r}"
        for name, value in config.items():
            yield from _unknown_names(value, name)


# ---- soups: from a first state instead of a reset ----------------------------------------------


def _config_of_soup(entry: Entry, recorded: Mapping[str, NDArray[Any]]) -> Entry:
    return {
        "map": "^",
        "max_shape": recorded["grid"].shape[1:3],
        "transition_functions": [{"name": name} for name in entry["transitions"]],
        "reward_functions": [],
        "terminating_function": {"name": "reach_exit"},
        "observation_function": {"name": "fully_transparent", "area": entry["area"]},
        "action_space": list(ACTIONS),
    }


def _first_state(
    scenario: Scenario, recorded: Mapping[str, NDArray[Any]], generator: np.random.Generator
) -> NDArray[Any]:
    """The row of a world that looks like the first state of a recording."""
    world = _simulation(scenario).world
    world.clear()
    height, width = recorded["grid"].shape[1:3]

    def thing(appearance: NDArray[np.uint8]) -> int:
        kind, state, color = appearance.tolist()
        if not OBJECT_TYPES[kind].in_grid or OBJECT_TYPES[kind].name == "Floor":
            return NOTHING
        e = world.spawn(kind)
        world.set_state(e, state)
        if color:
            world.color.value[e] = color
        return e

    world.set_shape(height, width)
    for y in range(height):
        for x in range(width):
            e = thing(recorded["grid"][0, y, x])
            if e != NOTHING:
                world.place(e, y, x)
                if world.kind.value[e] == BOX:
                    world.box.content[e] = thing(recorded["content"][0, y, x])
    world.agent.holding[AGENT] = thing(recorded["item"][0])
    y, x, facing = recorded["agent"][0].tolist()
    world.position.y[AGENT], world.position.x[AGENT] = y, x
    world.agent.facing[AGENT] = facing
    world.rng = generator
    return world.snapshot()


# ---- folders -----------------------------------------------------------------------------------


def entries(folder: Path) -> list[Entry]:
    """What a folder's index lists."""
    index: list[Entry] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return index


def replay_file(folder: Path, entry: Entry, world: str) -> Report:
    """Replay a file of a folder."""
    with (folder / entry["file"]).open("rb") as file, np.load(file) as arrays:
        return replay(entry, dict(arrays.items()), world)


def replay_or_fail(folder: Path, entry: Entry, world: str) -> Report:
    """Replay a file of a folder; report an error instead of raising it."""
    try:
        return replay_file(folder, entry, world)
    except Exception as error:  # a damaged file raises anything, and others are still to come
        return Report(failure=f"{type(error).__name__}: {error}")


def main(arguments: list[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Replay a folder; 1 if any file is different or fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--world", choices=("object", "batch"), default="batch")
    options = parser.parse_args(arguments)
    verdicts = Counter[str]()
    for entry in entries(options.folder):
        report = replay_or_fail(options.folder, entry, options.world)
        verdicts[report.verdict] += 1
        say(f"{entry['file']}: {report}")
    counts = (f"{verdicts[name]} {name}" for name in ("equal", "different", "failed", "skipped"))
    say(f"{options.world}: {', '.join(counts)}")
    return 1 if verdicts["different"] or verdicts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
