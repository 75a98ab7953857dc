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
from gv_engine.plugins.minigrid.ids import list_babyai_grids, list_minigrid_grids
from gv_engine.plugins.minigrid.observations import encode_minigrid
from gv_engine.rules.component import NOTHING
from gv_engine.scenario.missions.missions import has_step_limit
from gv_engine.world.rng import generator_from_row
from tests.boards import look_of

Recorded = Mapping[str, NDArray[Any]]
"""The arrays of a file."""
Found = dict[str, Any]
"""What there is of some worlds, by the names of recorded arrays."""


class Different(Exception):
    """The first difference; says where, what was found and what is recorded."""


# ---- replaying -----------------------------------------------------------------------------------


def replay(recorded: Recorded, world: str) -> int:
    """Replay all recordings of an id; how many frames are equal.

    Args:
        recorded: the arrays of its file, or some of them.
        world: "object", one environment for all; or "batch", a vector environment.

    Raises:
        Different: not all are.
    """
    scenario = Scenario.load(str(recorded["id"]))
    limit = scenario.max_steps
    if limit != recorded["max_steps"] and not has_step_limit(scenario.layout.mission):
        raise Different(f"max_steps: found {limit}, recorded {recorded['max_steps']}")
    for frames, found in _WORLDS[world](recorded):
        _compare(found, recorded, frames)
    return int(recorded["start"][-1])


def one_by_one(recorded: Recorded) -> Iterator[tuple[NDArray[np.int64], Found]]:
    """The frames of one recording after the other, and what there is then."""
    env: Any = gymnasium.make(f"GV-{recorded['id']}", world="object", disable_env_checker=True)
    starts, actions = recorded["start"].tolist(), recorded["action"].tolist()
    for start, end, seed in zip(starts, starts[1:], recorded["seed"].tolist()):
        found: list[Found] = []
        if start == end:
            continue
        for frame in range(start, end):
            if actions[frame] < 0:
                shown = env.reset(seed=seed if frame == start else None)[0]
                came: list[Any] = [0.0, False, False]
            else:
                shown, *came, _ = env.step(actions[frame])
            found.append(shown | dict(zip(_CAME, came, strict=True)))
            if "grid" in recorded:
                row = env.unwrapped.snapshot()
                found[-1] |= _state(env.unwrapped.scenario, row, shown["direction"])
        yield np.arange(start, end), _together(found)


def side_by_side(recorded: Recorded) -> Iterator[tuple[NDArray[np.int64], Found]]:
    """The next frame of all recordings, and what there is then; an end is followed by a reset, as
    it is where they were recorded."""
    starts, ends, seeds = recorded["start"][:-1], recorded["start"][1:], recorded["seed"].tolist()
    ended = np.logical_or(recorded["terminated"], recorded["truncated"])[:-1]
    goes_on = (ended & (recorded["action"][1:] >= 0)).any()
    envs: Any = gymnasium.make_vec(
        f"GV-{recorded['id']}",
        len(seeds),
        world="compiled",
        autoreset_mode="Disabled" if goes_on else "NextStep",
    )
    for t in range(np.max(ends - starts)):
        frames = starts + t
        playing = np.flatnonzero(frames < ends)
        if t == 0:
            shown, came = envs.reset(seed=seeds)[0], [np.zeros(len(seeds))] * 3
        else:
            actions = recorded["action"][np.minimum(frames, ends - 1)]
            over = np.logical_or(*came[1:]) & (not goes_on)
            cut = (actions < 0) & ~over  # these are left for a new episode
            before = envs.snapshot(cut)
            shown, *came, _ = envs.step(np.maximum(actions, 0))
            if cut.any():
                envs.restore(before, cut)
                shown = envs.reset(options={"reset_mask": cut})[0]
                came = [np.where(cut, 0, each) for each in came]
        shown["mission"] = np.array(envs.missions())
        found = {k: part[playing] for k, part in (shown | dict(zip(_CAME, came))).items()}
        if "grid" in recorded:
            whole = zip(envs.snapshot(playing), found["direction"], strict=True)
            found |= _together([_state(envs.scenario, *each) for each in whole])
        yield frames[playing], found


_WORLDS = {"object": one_by_one, "batch": side_by_side}
_CAME = "reward", "terminated", "truncated"


def _together(found: list[Found]) -> Found:
    return {name: [each[name] for each in found] for name in found[0]}


def _state(scenario: Scenario, row: Any, direction: int) -> dict[str, Any]:
    """What there is of a world beside what it shows, by the names of recorded arrays."""

    def things(entities: Any) -> NDArray[np.uint8]:
        looks = encode_minigrid(look_of(row, scenario.layout, entities))[..., :2]
        return np.where(np.asarray(entities)[..., None] == NOTHING, np.uint8(0), looks)

    cells = row["at"][: row["height"], : row["width"]].T
    held, content = row["agent"]["holding"][AGENT], row["box"]["content"]
    return {
        "probe": generator_from_row(row["rng"]).integers(0, 2**32),
        "agent": [*(row["position"][axis][AGENT] for axis in ("x", "y")), direction],
        "grid": encode_minigrid(look_of(row, scenario.layout, cells)),
        "carried": np.concatenate([things(held), things(content[held])]),
        "content": things(content[cells]),
    }


def _compare(found: Found, recorded: Recorded, frames: NDArray[np.int64]) -> None:
    expected = {name: recorded[name][frames] for name in found if name in recorded}
    expected["mission"] = recorded["missions"][expected["mission"]]
    for name, values in expected.items():
        got = np.asarray(found[name]).astype(values.dtype)
        if got.tobytes() == values.tobytes() and got.shape == values.shape:
            continue
        i, *at = np.argwhere(got != values)[0].tolist() if got.shape == values.shape else [0]
        k = int(np.searchsorted(recorded["start"], frames[i], "right")) - 1
        raise Different(
            f"recording {k}, frame {frames[i] - recorded['start'][k]}, "
            f"action {recorded['action'][frames[i]]}: {name}{at or ''}: "
            f"found {got[i, *at]!r}, recorded {values[i, *at]!r}"
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
    files = sorted(options.folder.glob("*.npz"))
    known = list_minigrid_grids() | list_babyai_grids()
    files = [file for file in files if options.only in file.stem]
    equal = 0
    for file in files:
        if file.stem not in known:
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
