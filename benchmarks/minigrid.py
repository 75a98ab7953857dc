"""`python -m benchmarks.minigrid`: MiniGrid's levels here and there, id by id, in one run.

For each id a process of each contestant, which take turns on one core, round by round: the vector
environment, MiniGrid through `gymnasium.make`, and EnvPool and NAVIX where they have the id.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import Any, NamedTuple

from benchmarks.arena import Worker
from benchmarks.peers import PeerError
from benchmarks.roster import ROSTER, Entry
from gv_engine.scenario.library import list_minigrid_grids

OURS, MINIGRID = "ours", "minigrid"
CONTESTANTS: dict[str, tuple[Entry, dict[str, Any]]] = {
    OURS: (Entry("GV Engine", "gv_minigrid", cores=1), {}),
    MINIGRID: (ROSTER["minigrid"], {}),
    "envpool": (ROSTER["envpool"], {"worlds": 256}),
    "navix": (ROSTER["navix-7x7"], ROSTER["navix-7x7"].settings),
}
"""Who takes part, and with what settings."""
PEERS = [name for name in CONTESTANTS if name not in (OURS, MINIGRID)]


class Bound(NamedTuple):
    """How many times MiniGrid's speed is asked for: of each id, and in the median."""

    each: float
    median: float


BOUNDS = {"step": Bound(200, 400), "reset": Bound(50, 50)}

Ratios = dict[tuple[str, str], float]
"""How many times as fast we are, by what is done and whom it is compared with."""


def ratios(level: str, peers: list[str], rounds: int, seconds: float) -> Ratios:
    """Those of an id, each the median of the rounds."""
    workers = {}
    for name in (OURS, MINIGRID, *peers):
        entry, settings = CONTESTANTS[name]
        try:
            workers[name] = Worker(entry, {**settings, "level": level}, entry.cores)
        except PeerError:  # most often one that has no such id
            if name not in PEERS:
                raise
    found = {}
    for what in BOUNDS:
        rates = [
            {name: worker.ask(what, seconds)[0] for name, worker in workers.items()}
            for _ in range(rounds)
        ]
        for name in workers:
            found[what, name] = median(each[OURS] / each[name] for each in rates)
    for worker in workers.values():
        worker.close()
    return found


def main() -> int:
    """Measure, and print a line for each id; 1 if one is slower than it must be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.minigrid", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="ids with this text in them")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=[], help="who else")
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--seconds", type=float, default=0.2, help="CPU time of one measurement")
    options = parser.parse_args()
    columns = [(what, name) for name in (MINIGRID, *options.peers) for what in BOUNDS]
    print("id", *(f"{what}s/{name}" for what, name in columns), sep="\t")
    every: list[Ratios] = []
    for name in list_minigrid_grids():
        if options.only in name:
            level = name.removeprefix("MiniGrid-")
            every.append(ratios(level, options.peers, options.rounds, options.seconds))
            told = (f"{every[-1][key]:,.3g}x" if key in every[-1] else "" for key in columns)
            print(name, *told, sep="\t", flush=True)
    slow = 0
    for what, bound in BOUNDS.items():
        found = [each[what, MINIGRID] for each in every]
        slow += min(found) < bound.each or median(found) < bound.median
        print(f"{what}s: least {min(found):,.0f}x, median {median(found):,.0f}x, of {bound}")
    return min(slow, 1)


if __name__ == "__main__":
    sys.exit(main())
