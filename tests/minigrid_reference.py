"""MiniGrid itself, recorded as it plays, and replayed at once.

    python -m tests.minigrid_reference [--family minigrid|babyai] [--world object|batch|both]
                                       [--seeds N] [--first SEED] [--steps N] [--episodes N]
                                       [--beyond N] [--whole] [--only TEXT]

plays every id of a family from so many seeds, in turn with actions that open, take, drop and break
what there is, at random, and, in ids of BabyAI, as MiniGrid's bot does. Each seed has so many
frames, through the ends of episodes, which are resets without a seed; long episodes are cut, so
that it has at least `--episodes` of them, and `--beyond` steps are taken after each end. Prints
what `tests.minigrid` finds. MiniGrid has an environment of its own, as in `make bench`.
`--first` goes on where another run has ended.
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.peers import python_for
from benchmarks.roster import ROSTER
from gv_engine.plugins.minigrid.ids import list_babyai_grids, list_minigrid_grids
from gv_engine.scenario.library import RefsByName
from tests import ROOT
from tests.minigrid import Different, Recorded, replay

_WORLDS = "object", "batch"
_FAMILIES: dict[str, Callable[[], RefsByName]] = {
    "minigrid": list_minigrid_grids,
    "babyai": list_babyai_grids,
}


def recordings(names: Sequence[str], *how: Any) -> Iterator[Recorded]:
    """The arrays of each id, as `tests.minigrid_recorder` makes them; the next ones are made while
    these are looked at."""
    process = subprocess.Popen(
        [python_for(ROSTER["minigrid"].packages), "-m", "tests.minigrid_recorder"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    with process, process.stdin, process.stdout:
        process.stdin.writelines(json.dumps([name, *how]).encode() + b"\n" for name in names)
        process.stdin.flush()
        for _ in names:
            yield pickle.load(process.stdout)


def main(arguments: list[str] | None = None) -> int:
    """Play beside the reference; 1 if anything is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.minigrid_reference")
    parser.add_argument("--family", choices=_FAMILIES, default="minigrid")
    parser.add_argument("--world", choices=(*_WORLDS, "both"), default="both")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--steps", type=int, default=100, metavar="N", help="frames of each seed")
    parser.add_argument("--episodes", type=int, default=3, metavar="N", help="a seed has at least")
    parser.add_argument("--beyond", type=int, default=0, metavar="N", help="steps after each end")
    parser.add_argument("--whole", action="store_true", help="also grids, what is held, draws")
    parser.add_argument("--only", default="", metavar="TEXT", help="ids with this text in them")
    options = parser.parse_args(arguments)
    names = [name for name in _FAMILIES[options.family]() if options.only in name]
    worlds = _WORLDS if options.world == "both" else (options.world,)
    frames, different = dict.fromkeys(worlds, 0), 0
    length = options.steps, options.whole, options.episodes, options.beyond
    how = options.first, options.seeds, *length
    for name, recorded in zip(names, recordings(names, *how), strict=True):
        for world in worlds:
            try:
                frames[world] += replay(recorded, world)
            except Different as difference:
                different += 1
                print(f"{name}, {world}: DIFFERENT: {difference}", flush=True)
        counts = ", ".join(f"{world} {count:,}" for world, count in frames.items())
        print(f"{name}: frames equal so far: {counts}; differences {different}", flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
