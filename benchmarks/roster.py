"""Roster of the workloads, and the measurements of each."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.peers import PUFFERLIB


class Entry(NamedTuple):
    """Workload in the roster.

    Attributes:
        label: name in tables.
        function: function in `benchmarks.workloads`, or in another module, as in "engine.shown".
        settings: arguments of the function.
        measures: "step", "reset", "start", "memory" and "growth" (of the process, within
            ten million steps).
        packages: packages to install, the peer itself first; none for what runs in the engine's own
            environment.
        batches: numbers of worlds, of which the fastest is chosen.
        cores: number of cores to use.
    """

    label: str
    function: str
    settings: dict[str, Any] = {}  # noqa: RUF012  # never changed
    measures: tuple[str, ...] = ("step",)
    packages: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    cores: int = 1


_ALL = ("step", "reset", "start", "memory")
_DYNAMIC = {"scenario": "dynamic-obstacles-7x7"}
_GRIDVERSE = (
    *("gym-gridverse", "gym==0.26.2", "numpy<2", "setuptools<80", "pyglet<=1.5.27"),
    *("imageio", "imageio-ffmpeg", "more-itertools", "pyyaml", "schema", "typing-extensions"),
)

ROSTER = {
    "gv-engine": Entry("GV Engine", "gv_vector", {}, (*_ALL, "growth")),
    "floor": Entry("hand-fused kernel", "floor", {}, ("step", "reset")),
    "gv-single": Entry("GV Engine, gymnasium.make", "gv_single", {}, _ALL),
    "gv-object": Entry("GV Engine, object world", "gv_single", {"world": "object"}, _ALL),
    "gv-dynamic": Entry("dynamic obstacles", "gv_vector", _DYNAMIC, _ALL),
    "gv-same-step": Entry(
        "dynamic obstacles, SAME_STEP", "gv_vector", {**_DYNAMIC, "mode": "SameStep"}
    ),
    "gv-transitions": Entry("dynamic obstacles, transitions", "engine.transitions"),
    "gv-raytracing": Entry("raytracing", "gv_vector", {"view": "raytracing"}),
    "gv-stochastic": Entry("stochastic raytracing", "gv_vector", {"view": "stochastic_raytracing"}),
    "gv-15x15-view": Entry("15x15 view", "gv_vector", {"across": 15}),
    **{
        f"gv-{size}x{size}{name}": Entry(
            f"{size}x{size}, {worlds:,} worlds", "gv_vector", {"size": size, "worlds": worlds}
        )
        for size in (9, 65)
        for name, worlds in (("", 256), ("-1024", 1024), ("-4096", 4096))
    },
    **{
        f"gv-obstacles-{size}x{size}": Entry(
            f"four obstacles, {size}x{size}, 256 worlds",
            *("gv_vector", {"scenario": "obstacles", "size": size, "worlds": 256}),
        )
        for size in (9, 65)
    },
    "gv-ways": Entry(
        "shortest ways, 33x33, 256 worlds",
        *("gv_vector", {"scenario": "ways", "size": 33, "worlds": 256}),
    ),
    "gv-make-vec": Entry("make_vec, 256 worlds", "engine.made", {"copy": True}),
    "gv-make-vec-shared": Entry("make_vec, copy=False", "engine.made", {"copy": False}),
    "gv-256": Entry("256 worlds", "gv_vector", {"worlds": 256}),
    "gv-16384": Entry("16,384 worlds", "gv_vector", {"worlds": 16384}, ("step", "memory")),
    "gv-65536": Entry("65,536 worlds", "gv_vector", {"worlds": 65536}),
    "gv-2-threads": Entry(
        "two threads, 16,384 worlds", "gv_vector", {"threads": 2, "worlds": 16384}, cores=2
    ),
    "gv-cells": Entry("cells", "engine.shown", {"representation": "cells"}),
    "gv-pixels": Entry(
        "pixels, 63x63", "engine.shown", {"representation": {"name": "pixels", "cell": 9}}
    ),
    "gv-endless": Entry("dynamic obstacles without resets", "engine.endless"),
    "gv-agents": Entry(
        "four agents, 1,024 worlds", "together.gv_agents", {"size": 9, "agents": 4, "worlds": 1024}
    ),
    "gv-pogema": Entry(
        "POGEMA's rules, four agents",
        "together.gv_known",
        {"name": "pogema-8x8-4a", "worlds": 1024, "agents": 4, "sight": 3},
    ),
    "gv-crafter": Entry(
        "Crafter, 1,024 worlds", "gv_vector", {"scenario": "crafter", "worlds": 1024}
    ),
    "gv-compile": Entry("compile --all, one in 40 grids", "engine.compiled", {"stride": 40}),
    "gv-learner": Entry("training by PPO (extra rl)", "engine.ppo_training"),
    "gv-seeded": Entry("seeded resets", "engine.seeded", {}, ("reset",)),
    "gv-sizes": Entry("three sizes, mixed", "gv_vector", {"scenario": "keydoor-sizes"}),
    **{
        f"gv-keydoor-{size}": Entry(
            f"{size}x{size} by itself", "gv_vector", {"scenario": f"keydoor-{size}x{size}"}
        )
        for size in (5, 7, 9)
    },
    "gv-rollouts": Entry("rollouts, 1,024 worlds", "engine.rollouts"),
    "gv-rollouts-disk": Entry("rollouts to disk", "engine.rollouts", {"to_disk": True}, cores=2),
    "gv-rollouts-gzip": Entry(
        "compressed rollouts to disk",
        "engine.rollouts",
        {"to_disk": True, "compress": True},
        cores=2,
    ),
    "gv-expand": Entry("states by all actions", "engine.expanded"),
    "gv-restore": Entry("one world restored", "engine.restored"),
    "gv-search": Entry("shortest ways found", "engine.searched"),
    "minigrid": Entry("MiniGrid", "minigrid", {}, _ALL, ("minigrid",)),
    "gym-gridverse": Entry("gym-gridverse", "gym_gridverse", {}, _ALL, _GRIDVERSE),
    "griddly": Entry("Griddly", "griddly", {}, _ALL, ("griddly", "numpy<2")),
    "envpool": Entry("EnvPool", "envpool", {}, _ALL, ("envpool",), (64, 256, 1024)),
    "navix": Entry(
        "NAVIX, whole grid",
        "navix",
        {"view": "categorical"},
        _ALL,
        ("navix", "jax[cpu]"),
        (1024, 4096),
    ),
    "navix-7x7": Entry(
        "NAVIX, 7x7 view",
        "navix",
        {"view": "categorical_first_person", "worlds": 1024},
        _ALL,
        ("navix", "jax[cpu]"),
    ),
    "xland-minigrid": Entry(
        "XLand-MiniGrid", "xland_minigrid", {}, _ALL, ("xminigrid", "jax[cpu]"), (1024, 4096)
    ),
    "pufferlib": Entry(
        "PufferLib, C grid", "pufferlib", {}, _ALL, (PUFFERLIB, "numpy"), (1024, 4096)
    ),
    "pufferlib-7x7": Entry(
        *("PufferLib, C grid, 7x7 view", "pufferlib", {"across": 7}),
        *(_ALL, (PUFFERLIB, "numpy"), (1024, 4096)),
    ),
}

GROUPS = {
    "peers": [name for name, entry in ROSTER.items() if entry.packages],
    "must-show": [name for name, entry in ROSTER.items() if not entry.packages] + ["minigrid"],
}
"""Groups of names for `--only`."""
