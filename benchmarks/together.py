"""`python -m benchmarks.together`: speed of several agents in a world, beside one agent and beside
peers.

Each workload has its own process; they take turns on one core, round by round. The measure is
agent steps per second of CPU time.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from statistics import median
from typing import Any, NamedTuple

from benchmarks.comparison import Worker
from benchmarks.peers import PeerError
from benchmarks.roster import Entry
from benchmarks.workloads import Workload, _load_sized, vector

_OLD = "numpy<2"  # for peers that need NumPy 1
SINGLE_AGENT, ALONE_65, FOUR, CROWD = "alone", "alone-65x65", "four", "crowd-65x65"
FORAGING, PATHS, KITCHEN, WAREHOUSE = "foraging", "paths", "kitchen", "warehouse"


def _engine_entry(label: str, size: int, agents: int, worlds: int) -> Entry:
    settings = {"size": size, "agents": agents, "worlds": worlds}
    return Entry(label, "together.gv_agents", settings, cores=1)


def _known_entry(label: str, name: str, agents: int = 4, **settings: int) -> Entry:
    arguments = {"name": name, "worlds": 1024, "agents": agents, **settings}
    return Entry(label, "together.gv_known", arguments, cores=1)


def _peer_entry(label: str, function: str, *packages: str) -> Entry:
    return Entry(label, f"together.{function}", packages=packages, cores=1)


WORKLOADS = {
    SINGLE_AGENT: _engine_entry("GV Engine, one agent", 9, 1, 4096),
    FOUR: _engine_entry("GV Engine, 4 agents", 9, 4, 1024),
    ALONE_65: _engine_entry("GV Engine, one agent", 65, 1, 256),
    CROWD: _engine_entry("GV Engine, 64 agents", 65, 64, 64),
    FORAGING: _known_entry("GV Engine, foraging", "foraging-10x10-4p-3f-2s"),
    PATHS: _known_entry("GV Engine, POGEMA", "pogema-8x8-4a", sight=3),
    KITCHEN: _known_entry("GV Engine, kitchen", "kitchen-alcove", agents=2),
    WAREHOUSE: _known_entry("GV Engine, warehouse", "warehouse-tiny-4ag"),
    "multigrid": _peer_entry("multigrid", "multigrid", "multigrid", _OLD),
    "mosaic-multigrid": _peer_entry("mosaic-multigrid", "mosaic_multigrid", "mosaic-multigrid"),
    "lbforaging": _peer_entry("Level-Based Foraging", "lbforaging", "lbforaging"),
    "rware": _peer_entry("Robotic Warehouse", "rware", "rware"),
    "pogema": _peer_entry("POGEMA", "pogema", "pogema"),
    "overcooked": _peer_entry("Overcooked-AI", "overcooked", "overcooked-ai", "scipy", _OLD),
}
"""Workloads; those with packages come from the package index."""


class Ratio(NamedTuple):
    """Required ratio of agent steps between two workloads."""

    of: str
    beside: str
    least: float


RATIOS = [
    Ratio(FOUR, SINGLE_AGENT, 0.9),
    Ratio(CROWD, ALONE_65, 0.5),
    Ratio(CROWD, SINGLE_AGENT, 0.0),
    *(Ratio(FOUR, name, 100.0) for name, entry in WORKLOADS.items() if entry.packages),
    Ratio(FORAGING, "lbforaging", 100.0),
    Ratio(PATHS, "pogema", 100.0),
    Ratio(KITCHEN, "overcooked", 100.0),
    Ratio(WAREHOUSE, "rware", 100.0),
]


# ---- workloads, see `benchmarks.workloads` -------------------------------------------------


def gv_agents(size: int, agents: int, worlds: int) -> Workload:
    """Return the key-door level of 9x9, or an empty room of another size, with several agents."""
    import gv_engine

    # rooms of key-door levels may be too small for a crowd
    name = "keydoor" if size == 9 else "empty"
    level = {**_load_sized(name, size), "agents": agents}
    env_class = gv_engine.EachAgentVectorEnv if agents > 1 else gv_engine.GridVectorEnv
    env = env_class(level, worlds, world="compiled", copy=False)
    agents_text = "one agent" if agents == 1 else f"{agents} agents"
    return vector(f"{name} {size}x{size}, {agents_text}", env)


def gv_known(name: str, worlds: int, agents: int, **settings: Any) -> Workload:
    """Return a level that a peer plays by the same rules."""
    import gv_engine

    env = gv_engine.EachAgentVectorEnv(name, worlds, world="compiled", copy=False, **settings)
    return vector(f"{name}, {agents} agents", env)


def multigrid(agents: int = 4) -> Workload:
    """Return multigrid, a multi-agent MiniGrid; the view is 7x7."""
    import gymnasium
    import multigrid.envs  # noqa: F401  # registers its environments

    env = gymnasium.make("MultiGrid-Empty-8x8-v0", agents=agents, disable_env_checker=True)
    return _dict_workload("Empty 8x8, 4 agents", env.unwrapped, range(agents))


def mosaic_multigrid(agents: int = 4) -> Workload:
    """Return mosaic-multigrid, the successor of multigrid."""
    from mosaic_multigrid.envs import CollectGame4HIndAgObsEnv10x10N2

    return _dict_workload(
        "collect 10x10, 4 agents", CollectGame4HIndAgObsEnv10x10N2(), range(agents)
    )


def _dict_workload(task: str, env: Any, agents: Any) -> Workload:
    """Return a workload for an environment with dictionaries of actions and end flags by
    agent."""
    import numpy as np

    env.reset(seed=0)
    number = env.action_space[agents[0]].n
    rows = np.random.default_rng(0).integers(number, size=(1000, len(agents))).tolist()
    actions = itertools.cycle([dict(zip(agents, row, strict=True)) for row in rows])

    def step(times: int) -> None:
        for action in itertools.islice(actions, times):
            _, _, terminated, truncated, _ = env.step(action)
            if all(terminated.values()) or all(truncated.values()):
                env.reset()

    return Workload(task, len(agents), step, lambda times: _reset_env(env, times))


def _reset_env(env: Any, times: int) -> None:
    for _ in range(times):
        env.reset()


def lbforaging(agents: int = 4) -> Workload:
    """Return Level-Based Foraging."""
    import gymnasium
    import lbforaging  # noqa: F401  # registers its environments

    return _list_workload(
        f"foraging 10x10, {agents} agents", gymnasium.make, agents, "Foraging-2s-10x10-4p-3f-v3"
    )


def rware(agents: int = 4) -> Workload:
    """Return the multi-robot warehouse."""
    import gymnasium
    import rware  # noqa: F401  # registers its environments

    return _list_workload(
        f"tiny warehouse, {agents} agents", gymnasium.make, agents, "rware-tiny-4ag-v2"
    )


def pogema(agents: int = 4) -> Workload:
    """Return POGEMA, a path-finding environment."""
    from pogema import GridConfig, pogema_v0

    config = GridConfig(
        num_agents=agents, size=8, density=0.3, seed=0, max_episode_steps=64, obs_radius=3
    )
    return _list_workload(f"ways 8x8, {agents} agents", pogema_v0, agents, config)


def overcooked() -> Workload:
    """Return Overcooked-AI: its states, without arrays of observations."""
    import numpy as np
    from overcooked_ai_py.mdp.actions import Action
    from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld

    gridworld = OvercookedGridworld.from_layout_name("cramped_room")
    env = OvercookedEnv.from_mdp(gridworld, horizon=400, info_level=0)
    rows = np.random.default_rng(0).integers(Action.NUM_ACTIONS, size=(1000, 2)).tolist()
    joint = [tuple(Action.INDEX_TO_ACTION[action] for action in row) for row in rows]
    actions = itertools.cycle(joint)

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset(regen_mdp=False)

    def step(times: int) -> None:
        for action in itertools.islice(actions, times):
            *_, done, _ = env.step(action)
            if done:
                reset(1)

    return Workload("cramped_room 5x4, 2 agents", 2, step, reset)


def _list_workload(task: str, make: Any, agents: int, config: Any) -> Workload:
    """Return a workload for an environment with lists of actions."""
    import numpy as np

    env = make(config)
    env = getattr(env, "unwrapped", env)
    env.reset(seed=0)
    spaces = env.action_space
    number = spaces.n if hasattr(spaces, "n") else spaces[0].n
    actions = itertools.cycle(
        np.random.default_rng(0).integers(number, size=(1000, agents)).tolist()
    )

    def step(times: int) -> None:
        for action in itertools.islice(actions, times):
            _, _, terminated, truncated, _ = env.step(action)
            if np.all(terminated) or np.all(truncated):
                env.reset()

    return Workload(task, agents, step, lambda times: _reset_env(env, times))


# ---- the comparison ------------------------------------------------------------------------------


def main() -> int:
    """Measure all workloads and print a line for each; return 1 if a ratio is too low."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.together", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=WORKLOADS,
        metavar="NAME",
        default=[*WORKLOADS],
        help=f"of {', '.join(WORKLOADS)}",
    )
    parser.add_argument("--rounds", type=int, default=7, help="default 7")
    parser.add_argument("--seconds", type=float, default=0.5, help="CPU time of one measurement")
    options = parser.parse_args()
    workers = {}
    for name in options.only:
        entry = WORKLOADS[name]
        try:
            workers[name] = Worker(entry, entry.settings, entry.cores)
        except PeerError as error:
            print(entry.label, f"cannot take part: {error}", sep="\t")
    about = {
        name: worker.ask("about", WORKLOADS[name].packages[:1] or ("llvmlite",))
        for name, worker in workers.items()
    }
    rounds = [
        {name: worker.ask("step", options.seconds)[0] for name, worker in workers.items()}
        for _ in range(options.rounds)
    ]
    for worker in workers.values():
        worker.close()
    for name, task in about.items():
        versions = " ".join(f"{package} {version}" for package, version in task["versions"].items())
        speed = f"{median(rates[name] for rates in rounds):,.0f}/s"
        print(WORKLOADS[name].label, task["task"], speed, versions, sep="\t")
    slow = False
    for of, beside, least in RATIOS:
        if of in workers and beside in workers:
            ratio = median(rates[of] / rates[beside] for rates in rounds)
            requirement = f"at least {least:g} are asked for" if least else ""
            print(of, f"{ratio:,.3g} times {beside}", requirement, sep="\t")
            slow |= ratio < least
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
