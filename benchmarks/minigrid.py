"""`python -m benchmarks.minigrid`: speed of MiniGrid's levels in the engine and in MiniGrid, id by
id.

For each id, each workload has its own process; they take turns on one core, round by round: the
engine's vector environment, MiniGrid through `gymnasium.make`, and EnvPool and NAVIX if they have
the id.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import Any, NamedTuple

from benchmarks.comparison import Worker
from benchmarks.peers import PeerError
from benchmarks.roster import ROSTER, Entry
from gv_engine.plugins.minigrid.ids import list_babyai_grids, list_minigrid_grids

OURS, MINIGRID = "ours", "minigrid"
WORKLOADS: dict[str, tuple[Entry, dict[str, Any]]] = {
    OURS: (Entry("GV Engine", "gv_minigrid", cores=1), {"worlds": 256}),
    MINIGRID: (ROSTER["minigrid"], {}),
    "envpool": (ROSTER["envpool"], {"worlds": 256}),
    "navix": (ROSTER["navix-7x7"], ROSTER["navix-7x7"].settings),
}
"""Workloads with their settings."""
PEERS = [name for name in WORKLOADS if name not in (OURS, MINIGRID)]


class Bound(NamedTuple):
    """Required speed as a multiple of that of a workload: for each id, and for the median."""

    each: float
    median: float


FAMILIES: dict[str, tuple[Any, dict[tuple[str, str], Bound]]] = {
    "minigrid": (
        list_minigrid_grids,
        {("step", MINIGRID): Bound(200, 400), ("reset", MINIGRID): Bound(50, 50)},
    ),
    "babyai": (
        list_babyai_grids,
        {
            ("step", MINIGRID): Bound(200, 200),
            ("reset", MINIGRID): Bound(30, 30),
            ("step", "envpool"): Bound(8, 8),
            ("reset", "envpool"): Bound(2, 2),
        },
    ),
}
"""Ids of each family, and the required speeds."""
MEASURED = "step", "reset"

Ratios = dict[tuple[str, str], float]
"""Speed of the engine as a multiple of that of a workload, by (measurement, workload)."""


def measure_ratios(level: str, peers: list[str], rounds: int, seconds: float) -> Ratios:
    """Return the ratios of one id, each the median over the rounds."""
    workers = {}
    for name in (OURS, MINIGRID, *peers):
        entry, settings = WORKLOADS[name]
        try:
            workers[name] = Worker(entry, {**settings, "level": level}, entry.cores)
        except PeerError:  # usually a peer without this id
            if name not in PEERS:
                raise
    ratios = {}
    for what in MEASURED:
        rates = [
            {name: worker.ask(what, seconds)[0] for name, worker in workers.items()}
            for _ in range(rounds)
        ]
        for name in workers:
            ratios[what, name] = median(rate[OURS] / rate[name] for rate in rates)
    for worker in workers.values():
        worker.close()
    return ratios


def main() -> int:
    """Measure all ids and print a line for each; return 1 if one is too slow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.minigrid", description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, default="minigrid")
    parser.add_argument("--only", default="", metavar="TEXT", help="ids with this text in them")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=[], help="who else")
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--seconds", type=float, default=0.2, help="CPU time of one measurement")
    options = parser.parse_args()
    list_names, bounds = FAMILIES[options.family]
    columns = [(what, name) for name in (MINIGRID, *options.peers) for what in MEASURED]
    print("id", *(f"{what}s/{name}" for what, name in columns), sep="\t")
    every: list[Ratios] = []
    for name in list_names():
        if options.only in name:
            level = name.removeprefix("MiniGrid-")
            every.append(measure_ratios(level, options.peers, options.rounds, options.seconds))
            cells = (f"{every[-1][key]:,.3g}x" if key in every[-1] else "" for key in columns)
            print(name, *cells, sep="\t", flush=True)
    slow = 0
    for key in columns:
        speedups = [ratios[key] for ratios in every if key in ratios]
        if not speedups:
            continue
        bound = bounds.get(key, Bound(0, 0))
        slow += min(speedups) < bound.each or median(speedups) < bound.median
        print(
            f"{key[0]}s of {key[1]}: {len(speedups)} ids, least {min(speedups):,.3g}x, "
            f"median {median(speedups):,.3g}x; required {bound.each}x and {bound.median}x"
        )
    return min(slow, 1)


if __name__ == "__main__":
    sys.exit(main())
