"""Who takes part, and what of each is measured."""

from __future__ import annotations

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One contestant.

    Attributes:
        label: its name in tables.
        function: of `benchmarks.contestants`.
        settings: what the function is given.
        measures: "step", "reset", "start", "memory"; "cold" (a start with an empty compile cache)
            and "growth" (of the process, within ten million steps).
        packages: what is installed for it, the first one being the peer itself; nothing for what
            runs in the engine's own environment.
    """

    label: str
    function: str
    settings: dict[str, Any] = {}  # noqa: RUF012  # never changed
    measures: tuple[str, ...] = ("step",)
    packages: tuple[str, ...] = ()


_ALL = ("step", "reset", "start", "memory")

ROSTER = {
    "gv-engine": Entry("GV Engine", "gv_vector", {}, (*_ALL, "cold", "growth")),
    "floor": Entry("hand-fused kernel", "floor", {}, ("step", "reset")),
    "gv-single": Entry("GV Engine, gymnasium.make", "gv_single", {}, _ALL),
    "gv-object": Entry("GV Engine, object world", "gv_single", {"world": "object"}, _ALL),
    "gv-raytracing": Entry("raytracing", "gv_vector", {"view": "raytracing"}),
    "gv-endless-9x9": Entry("9x9, resets aside", "gv_vector", {"resets": False}),
    "gv-endless-65x65": Entry("65x65, resets aside", "gv_vector", {"resets": False, "size": 65}),
    "gv-256": Entry("256 worlds", "gv_vector", {"worlds": 256}),
    "gv-16384": Entry("16,384 worlds", "gv_vector", {"worlds": 16384}, ("step", "memory")),
    "gv-65536": Entry("65,536 worlds", "gv_vector", {"worlds": 65536}),
    "gv-2-threads": Entry("two threads", "gv_vector", {"threads": 2}),
    "minigrid": Entry("MiniGrid", "minigrid", {}, _ALL, ("minigrid",)),
}

GROUPS = {
    "peers": [name for name, entry in ROSTER.items() if entry.packages],
    "must-show": [name for name, entry in ROSTER.items() if not entry.packages] + ["minigrid"],
}
"""Several names at once, for `--only`."""
