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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from components.objects import BOX
from gv_engine import AGENT, RuleError, Scenario, Simulation
from gv_engine.batches.autoreset import DISABLED, KEEP, RESTART
from gv_engine.batches.batch import Batch, ObjectBatch, make_batch
from gv_engine.envs.representations import NAMES, Representation, observer
from gv_engine.language.area import Area
from gv_engine.language.component import NOTHING
from gv_engine.language.geometry import ACTIONS
from gv_engine.language.objects import OBJECT_TYPES
from gv_engine.language.system import REGISTRIES, Phase
from gv_engine.worlds.rng import generator_to_row
from tests.boards import DATA, agent_of, cells_of, content_of, item_of

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
    """

    checked: set[str] = field(default_factory=set)
    skipped: list[str] = field(default_factory=list)
    unknown: str = ""
    difference: str = ""

    def __str__(self) -> str:
        if self.difference:
            return f"DIFFERENT: {self.difference}"
        if self.unknown:
            return f"skipped: {self.unknown}"
        return "equal" + (f"; skipped: {', '.join(self.skipped)}" if self.skipped else "")


def replay(entry: Entry, recorded: Mapping[str, NDArray[Any]], world: str) -> Report:
    """Replay one recording.

    Args:
        entry: of `index.json`.
        recorded: its arrays.
        world: "object", or "batch" for the middle row of a batch whose other worlds differ.
    """
    report = Report()
    config = entry["config"] if entry["kind"] == "episode" else _config_of_soup(entry, recorded)
    report.unknown = next(_unknown_names(config), "")
    if not report.unknown:
        try:
            Replay(entry, config, recorded, world, report).run()
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
        self.row = _row(world)
        self.scenario = load(config)
        self.own = f"observation_{config['observation_function']['name']}"
        self.states: list[NDArray[Any]] = []

    def run(self) -> None:
        """The episode from its seed, then every function alone on each of its states."""
        known = {prefix: list(self._known(prefix)) for prefix in _KINDS}
        self.report.skipped = [
            name
            for name in self.recorded
            if name.startswith(("reward_", "terminal_", "observation_"))
            and name not in self.report.checked
        ]
        self._play()
        for sight in known["observation"]:
            self._see(sight)
        for rewards, endings in self._groups(known["reward"], known["terminal"]):
            self._judge(rewards, endings)
        for name in NAMES:
            self._represent(name)

    def _known(self, prefix: str) -> Iterator[str]:
        phase, entries = _KINDS[prefix]
        for name, call in entries.items():
            if f"{prefix}_{name}" in self.recorded and call["name"] in REGISTRIES[phase]:
                self.report.checked.add(f"{prefix}_{name}")
                yield name

    # ---- the episode -------------------------------------------------------------------------

    def _play(self) -> None:
        if self.entry["kind"] == "episode":
            batch = _batch(self.scenario, self.world)
        else:
            batch = self._bench(self.scenario.area)
        scenario = batch.scenario
        self._begin(batch)
        positions = {number: position for position, number in enumerate(scenario.actions)}
        actions = np.array([positions[number] for number in self.recorded["action"].tolist()])
        # the other worlds go ways of their own
        turns = np.stack([actions[::-1], actions, np.roll(actions, 1)], axis=1)
        for t in range(len(actions) + 1):
            state = batch.snapshot(self.row)
            self.states.append(state)
            self._same("grid", t, cells_of(state, scenario.layout))
            self._same("content", t, content_of(state, scenario.layout))
            self._same("agent", t, agent_of(state))
            self._same("item", t, item_of(state, scenario.layout))
            self._same("item", t, batch.outputs.item[self.row])
            if self.entry["kind"] == "episode" and self.own in self.recorded:
                self._same(self.own, t, batch.outputs.grid[self.row])
            if t < len(actions):
                batch.run(turns[t] if self.row else turns[t, 1:2], DISABLED)
                if self.entry["kind"] == "episode":
                    self._same("reward", t, batch.outputs.rewards[self.row])
                    self._same("terminal", t, batch.outputs.terminated[self.row])

    def _begin(self, batch: Batch | ObjectBatch) -> None:
        seed = self.entry["seed"]
        seeds = [seed + 17, seed, seed + 4] if self.row else [seed]
        for i, own in enumerate(seeds):
            batch.set_generator(i, np.random.default_rng(own))
        batch.run(np.full(len(seeds), RESTART), DISABLED)
        if self.entry["kind"] == "soup":
            for i, own in enumerate(seeds):
                batch.restore(i, _first_state(batch.scenario, self.recorded, own))

    # ---- functions alone ---------------------------------------------------------------------

    def _bench(
        self,
        area: Area,
        sight: str = "fully_transparent",
        rewards: Iterable[str] = (),
        endings: Iterable[str] = (),
    ) -> Batch | ObjectBatch:
        """Worlds for the recording's states, with its transitions and these functions."""
        layout = self.scenario.layout
        parts = [part for call in self.scenario.calls(Phase.TRANSITION) for part in call.parts()]
        return _bench(
            self.world,
            (layout.height, layout.width, layout.capacity),
            tuple(TRANSITIONS.index(part.name) for part in parts if part.name != "chain"),
            area,
            sight,
            tuple(rewards),
            tuple(endings),
        )

    def _see(self, sight: str) -> None:
        """Every state under a visibility function, with a generator of its own."""
        batch = self._bench(self.scenario.area, sight)
        for t, state in enumerate(self.states):
            seen = state.copy()
            generator_to_row(np.random.default_rng(t), seen["rng"])
            batch.restore(self.row, seen)
            self._same(f"observation_{sight}", t, batch.outputs.grid[self.row])

    def _groups(
        self, rewards: list[str], endings: list[str]
    ) -> Iterator[tuple[list[str], list[str]]]:
        """The functions that one scenario lists: in the object world, where a reward that is not
        defined ends the step, those that are undefined on the same states."""
        if self.world == "batch":
            yield rewards, endings
            return
        groups: dict[bytes, list[str]] = {bytes(len(self.recorded["action"])): []}
        for name in rewards:
            groups.setdefault(self._undefined(name).tobytes(), []).append(name)
        for group in groups.values():
            yield group, endings
            endings = []

    def _undefined(self, reward: str) -> NDArray[np.bool_]:
        undefined: NDArray[np.bool_] = np.isnan(self.recorded[f"reward_{reward}"])
        return undefined

    def _judge(self, rewards: list[str], endings: list[str]) -> None:
        """One step from every state, under all reward and terminating functions of a group."""
        batch = self._bench(_ONE_CELL, rewards=rewards, endings=endings)
        turn = np.full(len(batch), KEEP)
        for t, action in enumerate(self.recorded["action"].tolist()):
            batch.restore(self.row, self.states[t])
            turn[self.row] = action
            undefined = [name for name in rewards if self._undefined(name)[t]]
            try:
                batch.run(turn, DISABLED)
            except RuleError as error:
                if not undefined:
                    raise Different(f"{', '.join(rewards)}[{t}]: {error}") from None
                if self.world == "object":
                    continue
            else:
                if undefined:
                    raise Different(f"reward_{undefined[0]}[{t}]: found a number, recorded nan")
            terms = batch.outputs.terms[self.row].tolist()
            for name, term in zip(rewards, terms):
                if name not in undefined:
                    self._same(f"reward_{name}", t, term)
            for bit, name in enumerate(endings):
                self._same(f"terminal_{name}", t, bool(int(terms[-1]) >> bit & 1))

    # ---- representations ---------------------------------------------------------------------

    def _represent(self, name: str) -> None:
        """All states and observations at once, in a representation."""
        layout = self.scenario.layout
        if f"representation_state_{name}_grid" in self.recorded:
            shape = self.recorded["grid"].shape[1:3]
            representation = Representation.of_state(self.scenario, shape, name)
            grids = np.stack(
                [cells_of(state, layout) for state in self.states], dtype=np.uint8, casting="unsafe"
            )
            agents = np.stack([agent_of(state) for state in self.states])
            self._same_arrays("state", representation, grids, agents)
        if f"representation_observation_{name}_grid" in self.recorded:
            representation = Representation.of_observation(self.scenario, name)
            # they have come out equal by now
            grids = self.recorded["observation_partially_occluded"]
            agents = np.repeat(observer(self.scenario)[None], len(grids), axis=0)
            self._same_arrays("observation", representation, grids, agents)

    def _same_arrays(
        self,
        what: str,
        representation: Representation,
        grids: NDArray[Any],
        agents: NDArray[np.int64],
    ) -> None:
        layout = self.scenario.layout
        items = np.stack(
            [item_of(state, layout) for state in self.states], dtype=np.uint8, casting="unsafe"
        )
        arrays = representation.encode(grids, items, agents)
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


_ONE_CELL = Area(0, 0, 0, 0)


def _row(world: str) -> int:
    return 1 if world == "batch" else 0


@cache
def _batch(scenario: Scenario, world: str) -> Batch | ObjectBatch:
    return make_batch(scenario, *((3, "compiled") if world == "batch" else (1, "object")))


@cache
def _bench(
    world: str,
    size: tuple[int, int, int],
    order: tuple[int, ...],
    area: Area,
    sight: str,
    rewards: tuple[str, ...],
    endings: tuple[str, ...],
) -> Batch | ObjectBatch:
    """Worlds whose functions are chosen by data: one program for all of a size and an area, and
    one for all rewards.

    Args:
        size: height, width and capacity of the layout.
        order: of the transitions, by number.
    """
    height, width, capacity = size
    call = {"absolute_counts": True, "threshold": 1.0, **VISIBILITY[sight]}
    ends = {
        "name": f"{EVERYTHING}:signals",
        "terminating_functions": [TERMINATING[name] for name in endings],
    }
    scenario = load(
        {
            "map": "^",
            "max_shape": [height, width],
            "capacity": capacity,
            "transition_functions": [
                # as long for all, which is part of the program
                {"name": f"{EVERYTHING}:any_transitions", "order": [*order, *[-1] * 12][:12]}
            ],
            "reward_functions": [*(REWARDS[name] for name in rewards), *[ends] * bool(endings)],
            "terminating_function": "reach_exit",
            "observation_function": {
                "name": f"{EVERYTHING}:any_visibility",
                "which": SIGHTS.index(call["name"]),
                "absolute": call["absolute_counts"],
                "threshold": call["threshold"],
                "area": [[area.ymin, area.ymax], [area.xmin, area.xmax]],
            },
        }
    )
    batch = _batch(scenario, world)
    batch.run(np.full(len(batch), RESTART), DISABLED)
    return batch


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


_SOUP = 13
"""Soups up to this size share their layout, and with it their programs."""


def _config_of_soup(entry: Entry, recorded: Mapping[str, NDArray[Any]]) -> Entry:
    return {
        "map": "^",
        "max_shape": [max(size, _SOUP) for size in recorded["grid"].shape[1:3]],
        "transition_functions": [{"name": name} for name in entry["transitions"]],
        "reward_functions": [],
        "terminating_function": {"name": "reach_exit"},
        "observation_function": {"name": "fully_transparent", "area": entry["area"]},
        "action_space": list(ACTIONS),
    }


def _first_state(
    scenario: Scenario, recorded: Mapping[str, NDArray[Any]], seed: int
) -> NDArray[Any]:
    """The row of a world that looks like the first state of a recording."""
    world = Simulation(scenario).world
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
    world.rng = np.random.default_rng(seed)
    return world.snapshot()


# ---- folders -----------------------------------------------------------------------------------


def entries(folder: Path) -> list[Entry]:
    """What a folder's index lists."""
    index: list[Entry] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return index


def replay_file(folder: Path, entry: Entry, world: str) -> Report:
    """Replay a file of a folder."""
    with np.load(folder / entry["file"]) as arrays:
        return replay(entry, dict(arrays.items()), world)


def main(arguments: list[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Replay a folder; 1 if anything is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--world", choices=("object", "batch"), default="batch")
    options = parser.parse_args(arguments)
    reports = []
    for entry in entries(options.folder):
        reports.append(replay_file(options.folder, entry, options.world))
        say(f"{entry['file']}: {reports[-1]}")
    different = sum(bool(report.difference) for report in reports)
    skipped = sum(bool(report.unknown) for report in reports)
    equal = len(reports) - different - skipped
    say(f"{options.world}: {equal} equal, {different} different, {skipped} skipped")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
