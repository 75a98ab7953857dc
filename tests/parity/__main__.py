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
from typing import Any

import numpy as np

from benchmarks.peers import python_for
from gv_engine import AgentsVectorEnv
from tests import ROOT
from tests.parity import WORLDS, Arrays, Level, get_world


def record(world: str, level: Level, first: int, count: int, steps: int) -> Arrays:
    """Return what the package of a world plays in a level, see `KnownWorld.record`."""
    line = json.dumps([world, level.arguments, first, count, steps])
    process = subprocess.run(
        [python_for(get_world(world).packages), "-m", "tests.parity.recorder"],
        cwd=ROOT,
        input=line.encode() + b"\n",
        stdout=subprocess.PIPE,
        check=True,
    )
    recorded: Arrays = pickle.loads(process.stdout)
    return recorded


def find_difference(world: str, level: Level, recorded: Arrays, first: int, form: str) -> str:
    """Return a text about the first difference between a recording and the same actions in our
    world of that `form`, object or compiled; an empty text if there is none. All seeds are played
    at once."""
    known = get_world(world)
    scenario = known.load(level, recorded)
    count, steps, agents = recorded["actions"].shape
    env = AgentsVectorEnv(scenario, count, world=form, autoreset_mode="NextStep")
    env.reset(seed=known.find_seeds(first, count))
    numbers = [scenario.action_names.index(name) for name in known.actions]
    actions = np.array(numbers)[recorded["actions"]]
    rewards: Any = np.zeros((count, agents))
    done: Any = np.zeros(count, np.bool_)
    sums, success = dict.fromkeys(scenario.reward_names, np.zeros(count)), np.zeros(count)
    for t in range(steps + 1):
        found = known.read(scenario, env.snapshot(), recorded)
        shown = {name: recorded[name][:, t] for name in found}
        if t:
            found |= {"rewards": rewards, "done": done}
            shown |= {name: recorded[name][:, t - 1] for name in ("rewards", "done")}
            if known.find_metrics:
                metrics = known.find_metrics(scenario, sums, np.full(count, t), success)
                found["metrics"] = np.where(done[:, None], metrics, -1)
                shown["metrics"] = recorded["metrics"][:, t]
        ended = recorded["done"][:, t - 2] & bool(known.find_metrics and t > 1)
        for name, own in found.items():
            near = np.isclose if name == "metrics" else np.equal
            same = near(own, shown[name]).reshape(count, -1).all(1) | ended
            if not same.all():
                k = int(np.argmin(same))
                values = f"{own[k].tolist()}, there {shown[name][k].tolist()}"
                return f"{name} of seed {first + k} after {t} steps: {values}"
        if t < steps:
            _, rewards, terminated, truncated, info = env.step(actions[:, t])
            done = (terminated | truncated).all(1)
            terms = info["reward_terms"]
            sums = {name: sums[name] + terms[name].reshape(count, -1).sum(1) for name in sums}
            success = info["success"].reshape(count, -1).all(1)
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if anything is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity")
    parser.add_argument("--seeds", type=int, default=200, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--steps", type=int, default=300, metavar="N", help="joint actions a seed")
    parser.add_argument("--only", default="", metavar="TEXT", help="levels with this text in them")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write the recordings")
    options = parser.parse_args(arguments)
    every = [(world, level) for world in WORLDS for level in get_world(world).levels]
    chosen = [(world, level) for world, level in every if options.only in level.name]
    if not chosen:
        allowed = ", ".join(level.name for _, level in every)
        parser.error(f"--only {options.only}: in no name of {allowed}")
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
    different = 0
    for world, level in chosen:
        recorded = record(world, level, options.first, options.seeds, options.steps)
        if options.save:
            dtypes = get_world(world).dtypes
            small = {name: np.array(recorded[name], dtype) for name, dtype in dtypes.items()}
            path = options.save / f"{level.name}.npz"
            np.savez_compressed(path, **small)  # type: ignore[arg-type]  # of numpy's stubs
        for form in ("object", "compiled"):
            difference = find_difference(world, level, recorded, options.first, form)
            different += bool(difference)
            counts = (
                f"{options.seeds * options.steps:,} joint actions, {recorded['done'].sum():,} ends"
            )
            counts += f", {(recorded['rewards'] > 0).sum():,} rewards"
            text = f"DIFFERENT: {difference}" if difference else "equal"
            print(f"{level.name}, {form}: {counts}: {text}", flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
