"""Systems that do one of several things, which one being data: one program replays everything."""

from typing import Any

from gv_engine.system import REGISTRIES, REWARD, TRANSITION, VISIBILITY, system
from systems.visibility import (
    fully_transparent,
    partially_occluded,
    rays,
    raytracing,
    stochastic_raytracing,
)

TRANSITIONS = [
    name for name in REGISTRIES[TRANSITION] if not REGISTRIES[TRANSITION][name].parameters
]
"""What `perform` runs, by number."""

SIGHTS = ("fully_transparent", "partially_occluded", "raytracing", "stochastic_raytracing")
"""What `see` runs, by number."""


def _nothing(number: int, w: Any, agent: int) -> None:
    pass


def _or(before: Any, own: int, function: Any) -> Any:
    def run(number: int, w: Any, agent: int) -> None:
        if number == own:
            function(w, agent)
        else:
            before(number, w, agent)

    return run


_run = _nothing
for _own, _name in enumerate(TRANSITIONS):
    _run = _or(_run, _own, REGISTRIES[TRANSITION][_name].function)


@system(TRANSITION)
def perform(w: Any, agent: int, order: Any) -> None:
    """Several transitions, by their numbers, in this order."""
    for number in order:
        _run(number, w, agent)


@system(REWARD)
def signals(w: Any, agent: int, terminating_functions: Any) -> float:
    """Which of several functions would end the episode: bit k for function k."""
    total, bit = 0, 1
    for over in terminating_functions:
        total += bit * over
        bit *= 2
    return total


@system(VISIBILITY, tables={"rays": rays})
def see(
    w: Any,
    agent: int,
    view: Any,
    rays: Any,
    number: int,
    absolute_counts: bool = True,
    threshold: float = 1.0,
) -> None:
    """One of the visibility functions, by its number."""
    if number == 0:
        fully_transparent(w, agent, view)
    elif number == 1:
        partially_occluded(w, agent, view)
    elif number == 2:
        raytracing(w, agent, view, rays, absolute_counts, threshold)
    else:
        stochastic_raytracing(w, agent, view, rays)
