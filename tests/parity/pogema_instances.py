"""Instances of POGEMA beside its package, played by a planner.

    python -m tests.parity.pogema_instances FILE [--agents N] [--count N] [--restart]

plays the scenarios of a file of pogema-benchmark, with its `maps.yaml` beside it. Without a file,
`python -m tests.parity` plays maps that are made here.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.parity import Arrays, KnownWorld, Level
from tests.parity.pogema import read

METRICS = "CSR", "ISR", "SoC", "makespan", "ep_length", "avg_throughput"
_NOISE = 0.1
"""How likely an agent acts at random in every second instance."""
_MOVES = (0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)

Cell = tuple[int, int]

# ---- instances ---------------------------------------------------------------------------------


def make_instances(kind: str, count: int, agents: int, goals: int) -> list[dict[str, Any]]:
    """Return instances as POGEMA's settings: map, starts, and `goals` targets for each agent, one
    alone if that is 0. The maps are of a `kind`: random or mazes, of 17 to 21 cells a side."""
    return [_make_instance(kind, number, agents, goals) for number in range(count)]


def _make_instance(kind: str, number: int, agents: int, goals: int) -> dict[str, Any]:
    rng = np.random.default_rng((number, len(kind)))
    free: NDArray[np.int64] = np.zeros((0, 2), np.int64)
    while len(free) < 2 * agents:
        side = 17 + 2 * int(rng.integers(3))
        grid = _make_maze(rng, side) if kind == "mazes" else rng.random((side, side)) < 0.2
        free = _largest_region(grid)
    places = rng.permutation(free).tolist()
    targets: list[Any] = places[agents : 2 * agents]
    if goals:
        targets = [[places[k] for k in rng.permutation(len(free))[:goals]] for _ in range(agents)]
    rows = "\n".join("".join(".#"[cell] for cell in row) for row in grid.astype(int).tolist())
    return {"map": rows, "agents_xy": places[:agents], "targets_xy": targets}


def _make_maze(rng: np.random.Generator, side: int) -> NDArray[np.bool_]:
    """Return a maze of rooms of one cell, with a few walls broken for loops."""
    grid = np.ones((side, side), np.bool_)
    stack = [(0, 0)]
    grid[0, 0] = False
    while stack:
        y, x = stack[-1]
        ways = [(y + 2 * dy, x + 2 * dx) for dy, dx in _MOVES[1:]]
        ways = [(i, j) for i, j in ways if 0 <= i < side and 0 <= j < side and grid[i, j]]
        if ways:
            i, j = ways[rng.integers(len(ways))]
            grid[i, j] = grid[(y + i) // 2, (x + j) // 2] = False
            stack.append((i, j))
        else:
            stack.pop()
    return grid & (rng.random((side, side)) > 0.15)


def _largest_region(grid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the cells of the largest region of free cells."""
    regions = np.argwhere(~grid)
    best: NDArray[np.int64] = np.zeros((0, 2), np.int64)
    seen: set[Cell] = set()
    for y, x in regions.tolist():
        if (y, x) not in seen:
            region = measure_steps(grid, (y, x))
            seen |= region.keys()
            if len(region) > len(best):
                best = np.array(sorted(region), np.int64)
    return best


# ---- planner -----------------------------------------------------------------------------------


def measure_steps(grid: NDArray[Any], goal: Cell) -> dict[Cell, int]:
    """Return the steps to a cell from all cells that reach it."""
    steps, queue = {goal: 0}, deque([goal])
    while queue:
        y, x = queue.popleft()
        for dy, dx in _MOVES[1:]:
            cell = y + dy, x + dx
            inside = 0 <= cell[0] < grid.shape[0] and 0 <= cell[1] < grid.shape[1]
            if inside and not grid[cell] and cell not in steps:
                steps[cell] = steps[y, x] + 1
                queue.append(cell)
    return steps


class Planner:
    """Moves of all agents by priority inheritance with backtracking (Okumura and others, 2019): who
    has waited longest goes first, and pushes others out of its way."""

    def __init__(self, grid: NDArray[Any], agents: int, rng: np.random.Generator) -> None:
        self._grid, self._rng = grid, rng
        self._steps: dict[Cell, dict[Cell, int]] = {}
        self._waited = np.arange(agents) / agents

    def choose(self, places: list[Cell], goals: list[Cell]) -> list[int]:
        """Return the moves of agents from their cells to their goals."""
        for goal in {*goals} - self._steps.keys():
            self._steps[goal] = measure_steps(self._grid, goal)
        there = np.array([place == goal for place, goal in zip(places, goals, strict=True)])
        self._waited = np.where(there, self._waited % 1, self._waited + 1)
        self._places, self._goals = places, goals
        self._now = {place: agent for agent, place in enumerate(places)}
        self._next: dict[int, Cell] = {}
        self._taken: set[Cell] = set()
        for agent in np.argsort(-self._waited, kind="stable").tolist():
            if agent not in self._next:
                self._plan(agent, None)
        return [_MOVES.index(self._way(agent)) for agent in range(len(places))]

    def _way(self, agent: int) -> Cell:
        (y, x), (i, j) = self._places[agent], self._next[agent]
        return i - y, j - x

    def _plan(self, agent: int, forbidden: Cell | None) -> bool:
        """Give an agent a cell for the next step, not the `forbidden` one; return False if only its
        own is left."""
        y, x = self._places[agent]
        steps = self._steps[self._goals[agent]]
        cells = [(y + dy, x + dx) for dy, dx in _MOVES if (y + dy, x + dx) in steps]
        cells.sort(key=lambda cell: (steps[cell], cell in self._now, self._rng.random()))
        for cell in cells:
            if cell in self._taken or cell == forbidden:
                continue
            self._next[agent] = cell
            self._taken.add(cell)
            other = self._now.get(cell, agent)
            if other in self._next or self._plan(other, (y, x)):
                return True
        self._next[agent] = y, x
        self._taken.add((y, x))
        return False


# ---- recording ---------------------------------------------------------------------------------


def list_instances(arguments: dict[str, Any], stop: int) -> list[dict[str, Any]]:
    """Return the first instances of a level: those given, or made ones."""
    if "instances" in arguments:
        given: list[dict[str, Any]] = arguments["instances"]
        return given
    goals = 12 if arguments["on_target"] == "restart" else 0
    return make_instances(arguments["kind"], stop, arguments["num_agents"], goals)


def record(arguments: dict[str, Any], seeds: range, steps: int) -> Arrays:
    """Return what POGEMA plays, see `KnownWorld.record`, of instances with the numbers `seeds`, and
    `metrics` (S, T + 1, K) of ended episodes. After an end nothing changes."""
    warnings.simplefilter("ignore", UserWarning)  # about goals that begin anew
    instances = list_instances(arguments, seeds.stop)
    names = "num_agents", "on_target", "collision_system", "max_episode_steps"
    settings = {name: arguments[name] for name in names}
    episodes = [[*_play(instances[number], settings, number, steps)] for number in seeds]
    grids = [np.shape(episode[0]["obstacles"]) for episode in episodes]
    side = np.max(grids, 0)
    for episode in episodes:
        for state in episode:
            height, width = np.shape(state["obstacles"])
            padding = (0, side[0] - height), (0, side[1] - width)
            state["obstacles"] = np.pad(state["obstacles"], padding)
    recorded = {
        name: np.array([[state[name] for state in episode] for episode in episodes])
        for name in episodes[0][-1]
    }
    return {
        name: array[:, 1:] if name in ("actions", "rewards", "done") else array
        for name, array in recorded.items()
    }


def _play(
    instance: dict[str, Any], settings: dict[str, Any], number: int, steps: int
) -> Iterator[dict[str, Any]]:
    """Yield the states of an episode: after the reset, and with what led there after each of
    `steps` joint actions."""
    from pogema import GridConfig, pogema_v0

    agents = settings["num_agents"]
    places = {key: instance[key][:agents] for key in ("agents_xy", "targets_xy")}
    if settings["on_target"] != "restart":
        places["targets_xy"] = [
            goals[0] if isinstance(goals[0], list) else goals for goals in places["targets_xy"]
        ]
    settings = {**settings, **places, "map": instance["map"], "seed": 0, "obs_radius": 1}
    env: Any = pogema_v0(GridConfig(**settings))
    env.reset()
    grid = env.unwrapped.grid.get_obstacles(ignore_borders=True).astype(np.uint8)
    rng = np.random.default_rng((number, 7))
    planner = Planner(grid, agents, rng)
    noise = _NOISE * (number % 2)
    done = False
    metrics: dict[str, float] = {}
    actions, rewards = [0] * agents, [0.0] * agents
    for t in range(steps + 1):
        cells, goals = env.unwrapped.grid.positions_xy, env.unwrapped.grid.finishes_xy
        everyone = np.concatenate((cells, goals), 1) - 1
        yield {
            "agents": everyone,
            "obstacles": grid,
            "actions": actions,
            "rewards": rewards,
            "done": done,
            "metrics": [metrics.get(name, -1) for name in METRICS],
        }
        rewards = [0.0] * agents
        if not done and t < steps:
            pairs = [tuple(map(tuple, (row[:2], row[2:]))) for row in everyone.tolist()]
            planned = planner.choose([pair[0] for pair in pairs], [pair[1] for pair in pairs])
            noisy = rng.random(agents) < noise
            actions = np.where(noisy, rng.integers(0, 5, agents), planned).tolist()
            _, rewards, terminated, truncated, infos = env.step([*actions])
            done = all(terminated) or all(truncated)
            metrics = infos[0].get("metrics", {})


def find_metrics(
    scenario: Any, sums: dict[str, NDArray[Any]], lengths: NDArray[Any], success: NDArray[Any]
) -> NDArray[np.float64]:
    """Return `METRICS` (S, K) of S episodes from the sums of their reward terms, their lengths and
    successes, as the table of `rollout` has them; -1 for those of another kind of episode."""
    found = np.full((len(lengths), len(METRICS)), -1.0)
    if "throughput" in sums:
        found[:, METRICS.index("avg_throughput")] = sums["throughput"]
    else:
        costs = sums["individual_success"], sums["sum_of_costs"], lengths, lengths
        found[:, :-1] = np.stack((success, *costs), 1)
    return found


def load(level: Level, recorded: Arrays) -> Any:
    """Return the scenario of a level, with its instances in a file as they are in the
    recording's package."""
    import yaml

    from gv_engine import Scenario

    count = len(recorded["actions"])
    instances = list_instances(level.arguments, count)[:count]
    data = {"scenarios": {f"{k}": {**each, "map_name": f"{k}"} for k, each in enumerate(instances)}}
    maps = {f"{k}": each["map"] for k, each in enumerate(instances)}
    for each in data["scenarios"].values():
        del each["map"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "instances.yaml")
        file.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
        file.with_name("maps.yaml").write_text(yaml.safe_dump(maps, sort_keys=False), "utf-8")
        return Scenario.load(level.scenario, instances=str(file), **level.parameters)


def find_seeds(first: int, count: int) -> list[int]:
    """Return a seed for each of `count` instances, of a file with no more, with which it is
    drawn."""
    seeds: dict[int, int] = {}
    seed = 0
    while len(seeds) < count:
        seeds.setdefault(int(np.random.default_rng(seed).choice(count)), seed)
        seed += 1
    return [seeds[number] for number in range(count)]


def make_level(kind: str, agents: int, on_target: str, **given: Any) -> Level:
    """Return a level of POGEMA's instances."""
    is_lifelong = on_target == "restart"
    arguments = {"kind": kind, "num_agents": agents, "on_target": on_target, **given}
    arguments |= {"collision_system": "soft", "max_episode_steps": 256 if is_lifelong else 128}
    name = "pogema-benchmark-lmapf" if is_lifelong else "pogema-benchmark-mapf"
    label = f"pogema-instances-{kind}-{agents}a-{on_target}"
    return Level(label, arguments, name, {"agents": agents, "sight": 1, "number": 0})


WORLD = KnownWorld(
    packages=("pogema==1.4.0",),
    actions=("NOOP", "MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"),
    levels=[
        make_level(kind, agents, on_target)
        for kind in ("random", "mazes")
        for agents, on_target in ((8, "nothing"), (16, "restart"))
    ],
    dtypes={
        **{"actions": "u1", "agents": "i1", "obstacles": "u1", "rewards": "u1", "done": "?"},
        "metrics": "f8",
    },
    record=record,
    read=read,
    load=load,
    find_seeds=find_seeds,
    find_metrics=find_metrics,
)


def main() -> int:
    """Print whether the instances of a file are equal; return 1 if one is not."""
    from tests.parity.__main__ import find_difference
    from tests.parity.__main__ import record as record_in_package

    parser = argparse.ArgumentParser(prog="python -m tests.parity.pogema_instances")
    parser.add_argument("file", type=Path)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--count", type=int, default=128)
    parser.add_argument("--restart", action="store_true", help="one goal after the other")
    options = parser.parse_args()
    instances = read_benchmark(options.file)[: options.count]
    on_target = "restart" if options.restart else "nothing"
    level = make_level(options.file.stem, options.agents, on_target, instances=instances)
    steps = level.arguments["max_episode_steps"]
    recorded = record_in_package("pogema_instances", level, 0, len(instances), steps)
    different = False
    for form in ("object", "compiled"):
        difference = find_difference("pogema_instances", level, recorded, 0, form)
        different = different or bool(difference)
        ends = np.maximum(recorded["metrics"], 0)[:, -1].mean(0).round(3).tolist()
        print(f"{level.name}, {form}, {len(instances)} instances: {difference or 'equal'}")
        print(dict(zip(METRICS, ends, strict=True)), flush=True)
    return int(different)


def read_benchmark(file: Path) -> list[dict[str, Any]]:
    """Return the scenarios of a file of pogema-benchmark as POGEMA's settings."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    scenarios = yaml.load(file.read_bytes(), loader)["scenarios"]
    maps = yaml.load(file.with_name("maps.yaml").read_bytes(), loader)
    return [
        {"map": maps[each["map_name"]], **{key: each[key] for key in ("agents_xy", "targets_xy")}}
        for each in scenarios.values()
    ]


if __name__ == "__main__":
    raise SystemExit(main())
