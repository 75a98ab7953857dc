"""Claims about the engine's speed, checked against the figures of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from statistics import harmonic_mean, median
from typing import Any, NamedTuple

Results = dict[str, Any]

CPU, CLOCK = range(2)
"""Indices in the pairs of "step" and "reset"."""

CPU_OF_START = 1


class Claim(NamedTuple):
    """Claim about one figure.

    Attributes:
        text: description of the figure.
        bound: required value.
        least: True if the bound is a lower bound, False for an upper bound.
        unit: "x" for ratios; "/s" or a time unit for a single figure.
        what: "step", "reset", "start", ….
        of, over: names in the roster; the figure is the ratio of `of` to `over`, round by round;
            with several names in `of`, of the mean of their times.
        clock: CPU or CLOCK (wall time).
    """

    text: str
    bound: float
    least: bool
    what: str
    of: str | tuple[str, ...]
    over: str = ""
    unit: str = "x"
    clock: int = CPU


CLAIMS = (
    Claim("4,096 worlds, of the hand-fused kernel", 1.5, True, "step", "gv-engine", "floor"),
    Claim("4,096 worlds, of XLand-MiniGrid", 20, True, "step", "gv-engine", "xland-minigrid"),
    Claim("4,096 worlds, of NAVIX", 20, True, "step", "gv-engine", "navix"),
    Claim("4,096 worlds, of PufferLib, 7x7 view", 2, True, "step", "gv-engine", "pufferlib-7x7"),
    Claim("4,096 worlds, of gym-gridverse", 2000, True, "step", "gv-engine", "gym-gridverse"),
    Claim("gymnasium.make, of MiniGrid", 20, True, "step", "gv-single", "minigrid"),
    Claim("object world, of MiniGrid", 3, True, "step", "gv-object", "minigrid"),
    Claim("resets, of MiniGrid", 100, True, "reset", "gv-engine", "minigrid"),
    Claim("resets of the object world, of MiniGrid", 1, True, "reset", "gv-object", "minigrid"),
    Claim("dynamic obstacles, of key-door", 0.7, True, "step", "gv-dynamic", "gv-engine"),
    Claim("SAME_STEP to transitions", 1.1, False, "step", "gv-transitions", "gv-same-step"),
    Claim("raytracing to partially occluded", 1.5, False, "step", "gv-engine", "gv-raytracing"),
    Claim("stochastic to partially occluded", 2, False, "step", "gv-engine", "gv-stochastic"),
    Claim("15x15 view to 7x7", 2, False, "step", "gv-engine", "gv-15x15-view"),
    Claim("cost of a step, 65x65 to 9x9, 256 worlds", 1.5, False, "step", "gv-9x9", "gv-65x65"),
    Claim("the same, 1,024 worlds", 1.5, False, "step", "gv-9x9-1024", "gv-65x65-1024"),
    Claim("the same, 4,096 worlds", 1.5, False, "step", "gv-9x9-4096", "gv-65x65-4096"),
    Claim(
        *("four obstacles, 65x65 to 9x9, 256 worlds", 1.3, False, "step"),
        *("gv-obstacles-9x9", "gv-obstacles-65x65"),
    ),
    Claim("cost of a step, 16,384 to 256 worlds", 2, False, "step", "gv-256", "gv-16384"),
    Claim("cost of a step, 65,536 to 256 worlds", 2, False, "step", "gv-256", "gv-65536"),
    Claim("two threads to one", 1.8, True, "step", "gv-2-threads", "gv-16384", "x", CLOCK),
    Claim(
        *("dynamic obstacles, of the same without resets", 0.85, True, "step"),
        *("gv-dynamic", "gv-endless"),
    ),
    Claim(
        *("make_vec, safe to keep, of copy=False, 256 worlds", 0.95, True, "step"),
        *("gv-make-vec", "gv-make-vec-shared"),
    ),
    Claim("four agents in a world, of one alone", 0.9, True, "step", "gv-agents", "gv-engine"),
    Claim("seeded reset of a world", 3, False, "reset", "gv-seeded", "", "µs"),
    Claim("shortest way as a reward, 33x33", 2, False, "step", "gv-ways", "", "µs"),
    Claim(
        *("cost of a mixture to the mean of its members", 1.1, False, "step"),
        *(("gv-keydoor-5", "gv-keydoor-7", "gv-keydoor-9"), "gv-sizes"),
    ),
    Claim("rollouts, of steps alone", 0.8, True, "step", "gv-rollouts", "gv-9x9-1024"),
    Claim("rollouts to disk, the same", 0.6, True, "step", "gv-rollouts-disk", "gv-9x9-1024"),
    Claim(
        *("the same by the clock, two cores", 0.6, True, "step"),
        *("gv-rollouts-disk", "gv-9x9-1024", "x", CLOCK),
    ),
    Claim(
        *("the same, compressed", 0.4, True, "step"),
        *("gv-rollouts-gzip", "gv-9x9-1024", "x", CLOCK),
    ),
    Claim("compile --all, one in 40 grids", 0.5, False, "step", "gv-compile", "", "s"),
    Claim("training by PPO, one core", 130_000, True, "step", "gv-learner", "", "/s"),
    Claim("Crafter, 1,024 worlds", 2.5e6, True, "step", "gv-crafter", "", "/s"),
    Claim("states by all actions", 1e6, True, "step", "gv-expand", "", "/s"),
    Claim("shortest solution", 0.3, False, "step", "gv-search", "", "s"),
    Claim("restore of one world", 15, False, "step", "gv-restore", "", "µs"),
    Claim("cells, of the default", 1, True, "step", "gv-cells", "gv-engine"),
    Claim("pixels, 63x63", 300_000, True, "step", "gv-pixels", "", "/s"),
    Claim("memory of a 9x9 world", 3, False, "memory", "gv-16384", "", "KiB"),
    Claim("growth in ten million steps", 1, False, "growth", "gv-engine", "", "MiB"),
    Claim("first step, with compiling", 1, False, "start", "gv-engine", "", "s"),
)

_SECOND = {"s": 1.0, "µs": 1e6}
_RESAMPLES = 2000


def check_claims(results: Results) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield claim, bound, median, its interval and the verdict, for all claims that were
    measured."""
    for claim in CLAIMS:
        figures = list(_figures(claim, results))
        if figures:
            low, high = bootstrap_interval(figures)
            least, most = (low, high) if claim.least else (-high, -low)
            bound = claim.bound if claim.least else -claim.bound
            unit = claim.unit if claim.unit in ("x", "/s") else f" {claim.unit}"
            yield (
                claim.text,
                f"{'≥' if claim.least else '≤'} {claim.bound:g}{unit}",
                f"{median(figures):.3g}{unit}",
                f"{low:.3g}–{high:.3g}" if len(figures) > 1 else "",
                "yes" if least >= bound else "NO" if most < bound else "undecided",
            )


def bootstrap_interval(figures: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median, by resampling the rounds."""
    rng = Random(0)
    medians = sorted(median(rng.choices(figures, k=len(figures))) for _ in range(_RESAMPLES))
    return medians[_RESAMPLES // 40], medians[-_RESAMPLES // 40 - 1]


def _figures(claim: Claim, results: Results) -> Iterator[float]:
    """Yield the figure of a claim in each round."""
    names = (claim.of,) if isinstance(claim.of, str) else claim.of
    of = list(zip(*(results.get(name, {}).get(claim.what, []) for name in names), strict=False))
    if claim.over:
        over = results.get(claim.over, {}).get(claim.what, [])
        for pairs, other in zip(of, over, strict=False):
            yield harmonic_mean([one[claim.clock] for one in pairs]) / other[claim.clock]
    else:
        yield from (_convert_figure(value, claim) for (value,) in of)


def _convert_figure(value: Any, claim: Claim) -> float:
    """Return one measurement in the unit of its claim."""
    if claim.what == "start":  # wall time is unreliable on a busy machine
        return float(value[CPU_OF_START])
    if claim.what == "memory":
        return float(value[1] / 2**10)
    if claim.what == "growth":
        return float(value / 2**20)
    times_a_second = float(value[CPU])
    return _SECOND[claim.unit] / times_a_second if claim.unit in _SECOND else times_a_second
