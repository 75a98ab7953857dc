"""What the engine must show: figures of one run against what is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

Results = dict[str, Any]

CPU, CLOCK = range(2)
"""Places in the pairs of "step" and "reset"."""

CPU_OF_START = 1


class Claim(NamedTuple):
    """One figure.

    Attributes:
        text: what it is.
        bound: what is asked for.
        least: whether the bound is the least that is asked for; otherwise the most.
        unit: "x" for ratios.
        what: "step", "reset", "start", ….
        of, over: names in the roster; the ratio is of the first to the second, round by round.
        clock: whether in time of the clock; otherwise in CPU time.
    """

    text: str
    bound: float
    least: bool
    what: str
    of: str
    over: str = ""
    unit: str = "x"
    clock: int = CPU


CLAIMS = (
    Claim("4,096 worlds, of the hand-fused kernel", 0.6, True, "step", "gv-engine", "floor"),
    Claim("4,096 worlds, of XLand-MiniGrid", 10, True, "step", "gv-engine", "xland-minigrid"),
    Claim("4,096 worlds, of NAVIX", 10, True, "step", "gv-engine", "navix"),
    Claim("4,096 worlds, of PufferLib's C grid", 1, True, "step", "gv-engine", "pufferlib"),
    Claim("4,096 worlds, of gym-gridverse", 2000, True, "step", "gv-engine", "gym-gridverse"),
    Claim("gymnasium.make, of MiniGrid", 20, True, "step", "gv-single", "minigrid"),
    Claim("resets, of MiniGrid", 100, True, "reset", "gv-engine", "minigrid"),
    Claim("cost of a step, 65x65 to 9x9", 1.5, False, "step", "gv-endless-9x9", "gv-endless-65x65"),
    Claim("cost of a step, 16,384 to 256 worlds", 2, False, "step", "gv-256", "gv-16384"),
    Claim("cost of a step, 65,536 to 256 worlds", 2, False, "step", "gv-256", "gv-65536"),
    Claim("two threads to one", 1.7, True, "step", "gv-2-threads", "gv-engine", "x", CLOCK),
    Claim("memory of a 9x9 world", 3, False, "memory", "gv-16384", "", "KiB"),
    Claim("growth in ten million steps", 1, False, "growth", "gv-engine", "", "MiB"),
    Claim("first step, compile cache empty", 6, False, "cold", "gv-engine", "", "s"),
    Claim("first step, compile cache filled", 0.6, False, "start", "gv-engine", "", "s"),
    Claim("raytracing to partially occluded", 6, False, "step", "gv-engine", "gv-raytracing"),
)


def claims(results: Results) -> Iterator[tuple[str, str, str, str, str]]:
    """Claim, bound, figure, range and whether it holds, for all that was measured."""
    for claim in CLAIMS:
        figures = list(_figures(claim, results))
        if figures:
            figure = median(figures)
            holds = figure >= claim.bound if claim.least else figure <= claim.bound
            spread = f"{min(figures):.3g} to {max(figures):.3g}" if len(figures) > 1 else ""
            if claim.unit == "s":  # on a busy machine the clock tells little
                cpu = median(value[CPU_OF_START] for value in results[claim.of][claim.what])
                spread = f"{spread} ({cpu:.3g} s of CPU time)".strip()
            yield (
                claim.text,
                f"{'at least' if claim.least else 'at most'} {claim.bound:g} {claim.unit}",
                f"{figure:.3g} {claim.unit}",
                spread,
                "yes" if holds else "NO",
            )


def _figures(claim: Claim, results: Results) -> Iterator[float]:
    of = results.get(claim.of, {}).get(claim.what, [])
    if claim.over:
        over = results.get(claim.over, {}).get(claim.what, [])
        for one, other in zip(of, over, strict=False):
            yield one[claim.clock] / other[claim.clock]
    else:
        yield from (_plain(value, claim) for value in of)


def _plain(value: Any, claim: Claim) -> float:
    if claim.what == "memory":
        return float(value[1] / 2**10)
    if claim.what == "growth":
        return float(value / 2**20)
    return float(value[0])
