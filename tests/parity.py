"""Known worlds beside the packages they are from: `make parity`.

    python -m tests.parity [--seeds N] [--first SEED] [--steps N] [--only TEXT] [--save FOLDER]

plays each level from so many seeds with so many random joint actions, in the world's own package
and in both worlds here, and says whether positions, contents, rewards and ends are equal.
`--save` writes what the packages played, for tests/domains/test_gallery.py. The packages are
installed from the package index into environments of their own.
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import python_for
from gv_engine import AgentsVectorEnv, Scenario
from tests import ROOT

Recorded = dict[str, NDArray[Any]]


class Level(NamedTuple):
    """Level of a known world: its name there, its world and arguments there, and its scenario and
    parameters here."""

    name: str
    world: str
    arguments: dict[str, Any]
    scenario: str
    parameters: dict[str, Any]


def foraging(
    size: int, players: int, foods: int, cooperate: bool = False, penalty: float = 0.0
) -> Level:
    """Return a level of lbforaging."""
    more = "-coop" * cooperate + "-pen" * (penalty > 0)
    name = f"Foraging-{size}x{size}-{players}p-{foods}f{more}-v3"
    here: dict[str, Any] = {"size": size, "players": players, "foods": foods}
    here |= {"cooperate": cooperate, "penalty": penalty}
    there: dict[str, Any] = {"field_size": (size, size), "players": players, "sight": size}
    there |= {"max_num_food": foods, "max_player_level": 2, "max_episode_steps": 50}
    there |= {"force_coop": cooperate, "penalty": penalty}
    return Level(name, "foraging", there, "foraging-8x8-2p-3f", here)


DTYPES = {"actions": "u1", "agents": "i1", "food": "i1", "rewards": "f8", "done": "?"}
"""dtypes of recordings in files."""
PACKAGES = {"foraging": ("lbforaging==2.0.0", "numpy")}
LEVELS = (
    foraging(8, 2, 3),
    foraging(5, 2, 1, cooperate=True),
    foraging(8, 2, 2, cooperate=True),
    foraging(8, 2, 3, penalty=0.1),
    foraging(10, 3, 3),
    foraging(15, 4, 4),
    foraging(19, 9, 4, cooperate=True),
)


def record(level: Level, first: int, count: int, steps: int) -> Recorded:
    """Return what the package of a level plays, see `tests.parity_recorder`."""
    python = python_for(PACKAGES[level.world])
    line = json.dumps([level.world, level.arguments, first, count, steps])
    process = subprocess.run(
        [python, "-m", "tests.parity_recorder"],
        cwd=ROOT,
        input=line.encode() + b"\n",
        stdout=subprocess.PIPE,
        check=True,
    )
    recorded: Recorded = pickle.loads(process.stdout)
    return recorded


def find_difference(level: Level, recorded: Recorded, first: int, world: str) -> str:
    """Return a text about the first difference between a recording and the same actions in the
    object world, or in the compiled `world`; an empty text if there is none. All seeds are played
    at once."""
    scenario = Scenario.load(level.scenario, **level.parameters)
    count, steps, agents = recorded["actions"].shape
    env = AgentsVectorEnv(scenario, count, world=world, autoreset_mode="NextStep")
    env.reset(seed=[*range(first, first + count)])
    names = list(scenario.action_names)
    order = "NOOP", "MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT", "LOAD"
    actions = np.array([names.index(name) for name in order])[recorded["actions"]]
    rewards: Any = np.zeros((count, agents))
    done: Any = np.zeros(count, np.bool_)
    for t in range(steps + 1):
        shape = recorded["food"].shape[2:]
        found = *read_foraging(scenario, env.snapshot(), shape), rewards, done
        shown = [recorded[name][:, t] for name in ("agents", "food")]  # alone, after the reset
        if t:
            shown += [recorded[name][:, t - 1] for name in ("rewards", "done")]
        for name, own, other in zip(("agents", "food", "rewards", "done"), found, shown):
            same = (own == other).reshape(count, -1).all(1)
            if not same.all():
                k = int(np.argmin(same))
                values = f"{own[k].tolist()}, there {other[k].tolist()}"
                return f"{name} of seed {first + k} after {t} steps: {values}"
        if t < steps:
            _, rewards, terminated, truncated, _ = env.step(actions[:, t])
            done = (terminated | truncated).all(1)
    return ""


def read_foraging(
    scenario: Scenario, rows: NDArray[Any], shape: tuple[int, ...]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the agents (S, A, 3) and the levels of food (S, H, W) in S rows of worlds, in the form
    of a recording."""
    everyone = slice(1, scenario.layout.agents + 1)
    columns = rows["position"]["y"], rows["position"]["x"], rows["forager"]["level"]
    agents = np.stack([column[:, everyone] for column in columns], -1).astype(np.int64)
    food = np.zeros((len(rows), *shape), np.int64)
    kind = next(kind for kind in scenario.types if kind.name == "Food")
    assert kind.state
    column, field = kind.state
    for world, e in np.argwhere((rows["kind"]["value"] == kind.index) & (rows["alive"] != 0)):
        y, x = (rows["position"][axis][world, e] for axis in ("y", "x"))
        food[world, y, x] = rows[column][field][world, e] + 1
    return agents, food


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if anything is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity")
    parser.add_argument("--seeds", type=int, default=200, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--steps", type=int, default=300, metavar="N", help="joint actions a seed")
    parser.add_argument("--only", default="", metavar="TEXT", help="levels with this text in them")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write the recordings")
    options = parser.parse_args(arguments)
    levels = [level for level in LEVELS if options.only in level.name]
    if not levels:
        allowed = ", ".join(level.name for level in LEVELS)
        parser.error(f"--only {options.only}: in no name of {allowed}")
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
    different = 0
    for level in levels:
        recorded = record(level, options.first, options.seeds, options.steps)
        if options.save:
            small = {name: np.array(each, DTYPES[name]) for name, each in recorded.items()}
            path = options.save / f"{level.name}.npz"
            np.savez_compressed(path, **small)  # type: ignore[arg-type]  # of numpy's stubs
        for world in ("object", "compiled"):
            difference = find_difference(level, recorded, options.first, world)
            different += bool(difference)
            counts = (
                f"{options.seeds * options.steps:,} joint actions, {recorded['done'].sum():,} ends"
            )
            counts += f", {(recorded['rewards'] > 0).sum():,} rewards"
            text = f"DIFFERENT: {difference}" if difference else "equal"
            print(f"{level.name}, {world}: {counts}: {text}", flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
