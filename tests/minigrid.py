"""Recorded episodes of MiniGrid, replayed frame by frame and compared bit for bit.

    python -m tests.minigrid DIR [--world object|batch] [--only TEXT]

reads a folder of `.npz` files, one for each id, and prints one line per file: that it comes out
equal, or its first difference. The recordings of a file are played side by side. Every reset and
step is a frame, which shows what is then there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import BLUE, FLOOR, GREEN, GREY, HIDDEN, PURPLE, RED, YELLOW
from components.minigrid import BALL, LAVA, PARCEL
from components.objects import DOOR, EXIT, KEY, WALL
from gv_engine import AGENT, Scenario
from gv_engine.batches.autoreset import DISABLED, KEEP, RESTART
from gv_engine.batches.worlds import Worlds, make_batch
from gv_engine.language.component import NOTHING
from gv_engine.language.geometry import (
    BACKWARD,
    FORWARD,
    LEFT,
    RIGHT,
    step_x,
    step_y,
    turned,
)
from gv_engine.language.objects import MOST_TYPES
from gv_engine.reading.library import Level
from gv_engine.reading.resources import SCENARIOS
from gv_engine.reading.variants import names_in
from gv_engine.worlds.rng import generator_from_row
from tests.boards import look_of

_ID = "MiniGrid-"


class Different(Exception):
    """The first difference; says where, what was found and what is recorded."""


@cache
def levels() -> dict[str, Path]:
    """The scenario of each id."""
    return {
        f"{_ID}{variant}": Path(str(Level(file, variant)))
        for file in sorted((SCENARIOS / "minigrid").glob("*.yaml"))
        for variant in names_in(file.read_text(encoding="utf-8"))
    }


# ---- the reference's numbers ---------------------------------------------------------------------

_UNSEEN, _EMPTY, _WALL = (0, 0, 0), (1, 0, 0), (2, 5, 0)
"""The codes of cells that are not seen, free, and beyond the grid."""
_TYPES = np.zeros((MOST_TYPES, 2), np.uint8)
"""By our index: the number of a type, and that of the colour that all its objects have."""
_TYPES[[FLOOR, WALL, DOOR, KEY, BALL, PARCEL, EXIT, LAVA], 0] = 1, 2, 4, 5, 6, 7, 8, 9
_TYPES[WALL, 1] = 5
_COLORS = np.zeros(16, np.uint8)
"""By our index: the number of a colour."""
_COLORS[[RED, GREEN, BLUE, PURPLE, YELLOW, GREY]] = range(6)
_WAYS = np.zeros(4, np.uint8)
"""By our number: that of a direction."""
_WAYS[[RIGHT, BACKWARD, LEFT, FORWARD]] = range(4)


def codes(looks: NDArray[Any]) -> NDArray[np.uint8]:
    """(…, 3) type, colour and state of (…, 3) type, state and colour."""
    kind, state, color = np.moveaxis(looks.astype(np.int64), -1, 0)
    of_type = _TYPES[kind]
    found = np.stack([of_type[..., 0], of_type[..., 1] + _COLORS[color], state], axis=-1)
    return found.astype(np.uint8)


def found_in(batch: Worlds, k: int, row: NDArray[Any]) -> dict[str, Any]:
    """What there is of a world to compare, by the names of recorded arrays."""
    layout, outputs = batch.scenario.layout, batch.outputs
    missions, limit = batch.scenario.missions, batch.scenario.max_steps
    # where sight is limited, walls are all around
    sees_all = batch.scenario.visibility.name == "fully_transparent"
    beyond = _WALL if sees_all else _UNSEEN

    def things(entities: Any) -> NDArray[np.uint8]:
        shown = codes(look_of(row, layout, entities))[..., :2]
        return np.where(np.asarray(entities)[..., None] == NOTHING, np.uint8(0), shown)

    cells = row["at"][: row["height"], : row["width"]].T
    held, content = row["agent"]["holding"][AGENT], row["box"]["content"]
    way = _WAYS[row["agent"]["facing"][AGENT]]
    return {
        "probe": generator_from_row(row["rng"]).integers(0, 2**32),
        "agent": (*(row["position"][axis][AGENT] for axis in ("x", "y")), way),
        "grid": codes(look_of(row, layout, cells)),
        "carried": np.concatenate([things(held), things(content[held])]),
        "content": things(content[cells]),
        "mission": missions.text(outputs.mission[k]) if missions else "",
        "direction": way,
        "image": image_of(row, outputs.grid[k], outputs.item[k], beyond),
        "reward": outputs.rewards[k],
        "terminated": outputs.terminated[k],
        # the engine cuts nothing off that is over
        "truncated": outputs.truncated[k] or (limit is not None and row["steps"] >= limit),
    }


def image_of(
    row: NDArray[Any],
    grid: NDArray[np.uint8],
    item: NDArray[np.uint8],
    beyond: tuple[int, int, int],
) -> NDArray[np.uint8]:
    """(7, 7, 3) what the agent sees, and what it holds in its own cell.

    Args:
        beyond: how cells beyond the grid look.
    """
    image = np.where(grid[..., :1] == HIDDEN, np.uint8(0), codes(grid))
    size, middle = grid.shape[0], grid.shape[1] // 2
    image[-1, middle] = codes(item) if item[0] else _EMPTY
    way = int(row["agent"]["facing"][AGENT])
    ahead, aside = (np.array([step_y(w), step_x(w)]) for w in (way, turned(way, RIGHT)))
    stands = [row["position"][axis][AGENT] for axis in ("y", "x")]
    far, right = np.mgrid[size - 1 : -1 : -1, -middle : size - middle]
    cells = stands + far[..., None] * ahead + right[..., None] * aside
    outside = (cells < 0) | (cells >= [row["height"], row["width"]])
    image[outside.any(axis=-1)] = beyond
    return image.transpose(1, 0, 2)


# ---- replaying -----------------------------------------------------------------------------------


def replay(recorded: Mapping[str, NDArray[Any]], world: str) -> int:
    """Replay all recordings of an id; how many frames are equal.

    Args:
        recorded: the arrays of its file.
        world: "object" or "batch".

    Raises:
        Different: not all are.
    """
    scenario = Scenario.load(levels()[str(recorded["id"])])
    if scenario.max_steps != recorded["max_steps"]:
        raise Different(f"max_steps: found {scenario.max_steps}, recorded {recorded['max_steps']}")
    starts, seeds = recorded["start"], recorded["seed"].tolist()
    batch = make_batch(scenario, len(seeds), "compiled" if world == "batch" else "object")
    for k, seed in enumerate(seeds):
        batch.set_generator(k, np.random.default_rng(seed))
    for t in range(np.diff(starts).max()):
        frames = starts[:-1] + t
        playing = frames < starts[1:]
        actions = np.full(len(seeds), KEEP)
        actions[playing] = _asked(recorded["action"][frames[playing]], len(scenario.actions))
        batch.step(actions, DISABLED)
        rows = batch.snapshot(np.arange(len(seeds)))
        for k in np.flatnonzero(playing).tolist():
            found = found_in(batch, k, rows[k])
            if actions[k] == RESTART:
                found |= {"reward": 0.0, "terminated": False, "truncated": False}
            _compare(found, recorded, frames.item(k), f"recording {k}, frame {t}")
    return int(starts[-1])


def _asked(actions: NDArray[np.int8], size: int) -> NDArray[np.int64]:
    """Positions in an action space of this size; what is beyond it means the first one."""
    return np.where(actions < 0, RESTART, np.where(actions < size, actions, 0))


def _compare(
    found: Mapping[str, Any], recorded: Mapping[str, NDArray[Any]], frame: int, where: str
) -> None:
    expected = {name: recorded[name][frame] for name in found if name in recorded}
    expected["mission"] = recorded["missions"][expected["mission"]]
    for name, value in expected.items():
        got = np.asarray(found[name]).astype(value.dtype)
        if got.shape != value.shape or got.tobytes() != value.tobytes():
            at = tuple(np.argwhere(got != value)[0].tolist()) if got.shape == value.shape else ()
            raise Different(
                f"{where}, action {recorded['action'][frame]}: {name}{list(at) or ''}: "
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
    files = sorted(options.folder.glob(f"{_ID}*.npz"))
    files = [file for file in files if options.only in file.stem]
    equal = 0
    for file in files:
        if file.stem not in levels():
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
