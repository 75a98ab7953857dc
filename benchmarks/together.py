"""`python -m benchmarks.together`: agents that share a world, beside one alone and beside peers.

A process of each contestant, which take turns on one core, round by round. What counts is what all
agents do: agent steps in a second of CPU time.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from statistics import median
from typing import Any, NamedTuple

from benchmarks.arena import Worker
from benchmarks.contestants import Contestant, _sized, vector
from benchmarks.peers import PeerError
from benchmarks.roster import Entry

_OLD = "numpy<2"  # what came before it asks for it
SINGLE_AGENT, ALONE_65, FOUR, CROWD = "alone", "alone-65x65", "four", "crowd-65x65"


def _ours(label: str, size: int, agents: int, worlds: int) -> Entry:
    settings = {"size": size, "agents": agents, "worlds": worlds}
    return Entry(label, "together.gv_agents", settings, cores=1)


def _peer(label: str, function: str, *packages: str) -> Entry:
    return Entry(label, f"together.{function}", packages=packages, cores=1)


CONTESTANTS = {
    SINGLE_AGENT: _ours("GV Engine, one agent", 9, 1, 4096),
    FOUR: _ours("GV Engine, 4 agents", 9, 4, 1024),
    ALONE_65: _ours("GV Engine, one agent", 65, 1, 256),
    CROWD: _ours("GV Engine, 64 agents", 65, 64, 64),
    "multigrid": _peer("multigrid", "multigrid", "multigrid", _OLD),
    "mosaic-multigrid": _peer("mosaic-multigrid", "mosaic_multigrid", "mosaic-multigrid"),
    "lbforaging": _peer("Level-Based Foraging", "lbforaging", "lbforaging"),
    "rware": _peer("Robotic Warehouse", "rware", "rware"),
    "pogema": _peer("POGEMA", "pogema", "pogema"),
}
"""Who takes part; all but the first four come from the package index."""


class Ratio(NamedTuple):
    """What is asked for: so many times the agent steps of another one."""

    of: str
    beside: str
    least: float


RATIOS = [
    Ratio(FOUR, SINGLE_AGENT, 0.8),
    Ratio(CROWD, ALONE_65, 0.5),
    Ratio(CROWD, SINGLE_AGENT, 0.0),
    *(Ratio(FOUR, name, 100.0) for name in list(CONTESTANTS)[4:]),
]


# ---- contestants, see `benchmarks.contestants` -------------------------------------------------


def gv_agents(size: int, agents: int, worlds: int) -> Contestant:
    """The key-door level of 9x9, or an empty room of another size, with so many agents."""
    import gv_engine

    # rooms of key-door levels may be too small for a crowd
    name = "keydoor" if size == 9 else "empty"
    level = {**_sized(name, size), "agents": agents}
    made = gv_engine.EachAgentVectorEnv if agents > 1 else gv_engine.GridVectorEnv
    env = made(level, worlds, world="compiled", copy=False)
    crew = "one agent" if agents == 1 else f"{agents} agents"
    return vector(f"{name} {size}x{size}, {crew}", env)


def multigrid(agents: int = 4) -> Contestant:
    """multigrid, which is MiniGrid for several agents; the view is 7x7."""
    import gymnasium
    import multigrid.envs  # noqa: F401  # registers its environments

    env = gymnasium.make("MultiGrid-Empty-8x8-v0", agents=agents, disable_env_checker=True)
    return _by_mapping("Empty 8x8, 4 agents", env.unwrapped, range(agents))


def mosaic_multigrid(agents: int = 4) -> Contestant:
    """mosaic-multigrid, which goes on with it."""
    from mosaic_multigrid.envs import CollectGame4HIndAgObsEnv10x10N2

    return _by_mapping("collect 10x10, 4 agents", CollectGame4HIndAgObsEnv10x10N2(), range(agents))


def _by_mapping(task: str, env: Any, agents: Any) -> Contestant:
    """An environment that takes actions by the agents' numbers, and tells of ends likewise."""
    import numpy as np

    env.reset(seed=0)
    number = env.action_space[agents[0]].n
    rows = np.random.default_rng(0).integers(number, size=(1000, len(agents))).tolist()
    actions = itertools.cycle([dict(zip(agents, row, strict=True)) for row in rows])

    def step(times: int) -> None:
        for chosen in itertools.islice(actions, times):
            _, _, terminated, truncated, _ = env.step(chosen)
            if all(terminated.values()) or all(truncated.values()):
                env.reset()

    return Contestant(task, len(agents), step, lambda times: _reset(env, times))


def _reset(env: Any, times: int) -> None:
    for _ in range(times):
        env.reset()


def lbforaging(agents: int = 4) -> Contestant:
    """Level-Based Foraging."""
    import gymnasium
    import lbforaging  # noqa: F401  # registers its environments

    return _by_list(
        f"foraging 10x10, {agents} agents", gymnasium.make, agents, "Foraging-2s-10x10-4p-3f-v3"
    )


def rware(agents: int = 4) -> Contestant:
    """The multi-robot warehouse."""
    import gymnasium
    import rware  # noqa: F401  # registers its environments

    return _by_list(f"tiny warehouse, {agents} agents", gymnasium.make, agents, "rware-tiny-4ag-v2")


def pogema(agents: int = 4) -> Contestant:
    """POGEMA, for finding ways."""
    from pogema import GridConfig, pogema_v0

    config = GridConfig(
        num_agents=agents, size=8, density=0.3, seed=0, max_episode_steps=64, obs_radius=3
    )
    return _by_list(f"ways 8x8, {agents} agents", pogema_v0, agents, config)


def _by_list(task: str, make: Any, agents: int, what: Any) -> Contestant:
    """An environment that takes a list of actions."""
    import numpy as np

    env = make(what)
    env = getattr(env, "unwrapped", env)
    env.reset(seed=0)
    spaces = env.action_space
    number = spaces.n if hasattr(spaces, "n") else spaces[0].n
    actions = itertools.cycle(
        np.random.default_rng(0).integers(number, size=(1000, agents)).tolist()
    )

    def step(times: int) -> None:
        for chosen in itertools.islice(actions, times):
            _, _, terminated, truncated, _ = env.step(chosen)
            if np.all(terminated) or np.all(truncated):
                env.reset()

    return Contestant(task, agents, step, lambda times: _reset(env, times))


# ---- the contest -------------------------------------------------------------------------------


def main() -> int:
    """Measure, and print a line for each; 1 if a ratio is less than it must be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.together", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CONTESTANTS,
        metavar="NAME",
        default=[*CONTESTANTS],
        help=f"of {', '.join(CONTESTANTS)}",
    )
    parser.add_argument("--rounds", type=int, default=7, help="default 7")
    parser.add_argument("--seconds", type=float, default=0.5, help="CPU time of one measurement")
    options = parser.parse_args()
    workers = {}
    for name in options.only:
        entry = CONTESTANTS[name]
        try:
            workers[name] = Worker(entry, entry.settings, entry.cores)
        except PeerError as error:
            print(entry.label, f"cannot take part: {error}", sep="\t")
    about = {
        name: worker.ask("about", CONTESTANTS[name].packages[:1] or ("numba",))
        for name, worker in workers.items()
    }
    rounds = [
        {name: worker.ask("step", options.seconds)[0] for name, worker in workers.items()}
        for _ in range(options.rounds)
    ]
    for worker in workers.values():
        worker.close()
    for name, told in about.items():
        versions = " ".join(f"{package} {version}" for package, version in told["versions"].items())
        speed = f"{median(each[name] for each in rounds):,.0f}/s"
        print(CONTESTANTS[name].label, told["task"], speed, versions, sep="\t")
    slow = False
    for of, beside, least in RATIOS:
        if of in workers and beside in workers:
            found = median(each[of] / each[beside] for each in rounds)
            asked = f"at least {least:g} are asked for" if least else ""
            print(of, f"{found:,.3g} times {beside}", asked, sep="\t")
            slow |= found < least
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
