"""Recorded episodes of MiniGrid, replayed frame by frame and compared bit for bit.

    python -m tests.minigrid DIR [--world object|batch] [--only TEXT]

reads a folder of `.npz` files, one for each id, and prints one line per file: that it comes out
equal, or its first difference. They are played through the Gymnasium ids: in the object world
recording after recording, as a batch all of a file side by side. Every reset and step is a frame,
which shows what is then there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gv_engine import AGENT, Scenario
from gv_engine.envs.minigrid_form import codes
from gv_engine.language.component import NOTHING
from gv_engine.reading.library import minigrid_levels
from gv_engine.worlds.rng import generator_from_row
from tests.boards import look_of


class Different(Exception):
    """The first difference; says where, what was found and what is recorded."""


# ---- replaying -----------------------------------------------------------------------------------


def replay(recorded: Mapping[str, NDArray[Any]], world: str) -> int:
    """Replay all recordings of an id; how many frames are equal.

    Args:
        recorded: the arrays of its file.
        world: "object", one environment for all; or "batch", a vector environment.

    Raises:
        Different: not all are.
    """
    limit = Scenario.load(str(recorded["id"])).max_steps
    if limit != recorded["max_steps"]:
        raise Different(f"max_steps: found {limit}, recorded {recorded['max_steps']}")
    for frame, found in _WORLDS[world](recorded):
        _compare(found, recorded, frame)
    return int(recorded["start"][-1])


def one_by_one(recorded: Mapping[str, NDArray[Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Frames, and what there is then, recording after recording."""
    env: Any = gymnasium.make(f"GV-{recorded['id']}", world="object", disable_env_checker=True)
    seeds = dict(zip(recorded["start"].tolist(), recorded["seed"].tolist()))
    for frame, action in enumerate(recorded["action"].tolist()):
        if action < 0:
            shown, came = env.reset(seed=seeds.get(frame))[0], (0.0, False, False)
        else:
            shown, *came, _ = env.step(action)
        yield frame, _found(env.unwrapped.scenario, env.unwrapped.snapshot(), shown, *came)


def side_by_side(recorded: Mapping[str, NDArray[Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Frames, and what there is then, all recordings at once; an end is followed by a reset, as it
    is where they were recorded."""
    starts, seeds = recorded["start"], recorded["seed"].tolist()
    envs: Any = gymnasium.make_vec(f"GV-{recorded['id']}", len(seeds), world="compiled")
    for t in range(np.diff(starts).max()):
        frames = starts[:-1] + t
        playing = frames < starts[1:]
        if t == 0:
            shown, came = envs.reset(seed=seeds)[0], (np.zeros(len(seeds)),) * 3
        else:
            actions = recorded["action"][np.minimum(frames, starts[1:] - 1)]
            shown, *came, _ = envs.step(np.maximum(actions, 0))
        shown["mission"] = envs.missions()
        rows = envs.snapshot()
        for k in np.flatnonzero(playing).tolist():
            own = {name: part[k] for name, part in shown.items()}
            found = _found(envs.scenario, rows[k], own, *(part[k] for part in came))
            yield frames.item(k), found


_WORLDS = {"object": one_by_one, "batch": side_by_side}


def _found(
    scenario: Scenario,
    row: NDArray[Any],
    shown: dict[str, Any],
    reward: float,
    terminated: bool,
    truncated: bool,
) -> dict[str, Any]:
    """What there is of a world to compare, by the names of recorded arrays."""

    def things(entities: Any) -> NDArray[np.uint8]:
        looks = codes(look_of(row, scenario.layout, entities))[..., :2]
        return np.where(np.asarray(entities)[..., None] == NOTHING, np.uint8(0), looks)

    cells = row["at"][: row["height"], : row["width"]].T
    held, content = row["agent"]["holding"][AGENT], row["box"]["content"]
    return {
        "probe": generator_from_row(row["rng"]).integers(0, 2**32),
        "agent": (*(row["position"][axis][AGENT] for axis in ("x", "y")), shown["direction"]),
        "grid": codes(look_of(row, scenario.layout, cells)),
        "carried": np.concatenate([things(held), things(content[held])]),
        "content": things(content[cells]),
        **shown,
        "reward": reward,
        "terminated": terminated,
        "truncated": truncated,
    }


def _compare(found: Mapping[str, Any], recorded: Mapping[str, NDArray[Any]], frame: int) -> None:
    expected = {name: recorded[name][frame] for name in found if name in recorded}
    expected["mission"] = recorded["missions"][expected["mission"]]
    for name, value in expected.items():
        got = np.asarray(found[name]).astype(value.dtype)
        if got.shape != value.shape or got.tobytes() != value.tobytes():
            k = int(np.searchsorted(recorded["start"], frame, "right")) - 1
            at = tuple(np.argwhere(got != value)[0].tolist()) if got.shape == value.shape else ()
            raise Different(
                f"recording {k}, frame {frame - recorded['start'][k]}, "
                f"action {recorded['action'][frame]}: {name}{list(at) or ''}: "
                f"found {got[at]!r}, recorded {value[at]!r}"
            )


def replay_file(file: Path, world: str) -> int:
    """Replay a file, see `replay`."""
    with np.load(file) as arrays:
        return replay(dict(arrays.items()), world)


def main(arguments: list[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Replay a folder; 1 if anything is different, or an id has no level."""
    parser = argparse.ArgumentParser(prog="python -m tests.minigrid", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--world", choices=("object", "batch"), default="batch")
    parser.add_argument("--only", default="", metavar="TEXT", help="ids with this text in them")
    options = parser.parse_args(arguments)
    files = sorted(options.folder.glob("MiniGrid-*.npz"))
    files = [file for file in files if options.only in file.stem]
    equal = 0
    for file in files:
        if file.stem not in minigrid_levels():
            say(f"{file.stem}: no scenario has this id")
            continue
        try:
            say(f"{file.stem}: equal, {replay_file(file, options.world)} frames")
            equal += 1
        except Different as difference:
            say(f"{file.stem}: DIFFERENT: {difference}")
    say(f"{options.world}: {equal} of {len(files)} equal")
    return 0 if equal == len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
