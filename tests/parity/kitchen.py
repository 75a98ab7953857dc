"""Kitchens beside overcooked-ai, in the package's own layouts and in ours.

The package's layouts are not part of this repository: its `.layout` files are read where the
package is installed, and become scenarios in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.parity import Arrays, KnownWorld, Level, play_episodes

Cell = tuple[int, int]
"""(x, y), as in the package."""

_FILE = Path(__file__).parents[2] / "scenarios" / "together" / "kitchen" / "scenario.yaml"
_RECIPES = [(onions, tomatoes) for tomatoes in range(4) for onions in range(4 - tomatoes)][1:]
"""Onions and tomatoes of recipes, in the order of the states of our soups."""
_STAY, _INTERACT = 4, 5
_EAGER = 0.8
"""How likely a cook follows its plan; else it acts at random."""
_THINGS = ("", "onion", "tomato", "dish", "soup")
"""What lies on a counter or is held, by the number in a recording."""


# ---- levels --------------------------------------------------------------------------------------


def load_package_layout(name: str, horizon: int = 400, helping: float = 0.0) -> Level:
    """Return the level of a layout of the package."""
    there = {"layout": name, "horizon": horizon, "helping": helping}
    return Level(f"Overcooked-{name}", there, "kitchen-alcove", {})


def make_level(variant: str, recipes: dict[str, Any], horizon: int, helping: float = 0.0) -> Level:
    """Return the level of a variant of our scenario; `recipes` are its orders for the package."""
    there = {"variant": variant, "recipes": recipes, "horizon": horizon, "helping": helping}
    here = {"steps": horizon, "helping": helping}
    return Level(f"Kitchen-{variant}", there, f"kitchen-{variant}", here)


def load(level: Level, recorded: Arrays) -> Any:
    """Return the scenario of a level: a variant of ours, or `layout`, the recorded JSON text of the
    scenario that the package's layout has become."""
    from gv_engine import Scenario

    if "layout" not in recorded:
        return Scenario.load(level.scenario, **level.parameters)
    return Scenario.load(json.loads(str(recorded["layout"][0])))


def _read_map(variant: str) -> list[str]:
    """Return the rows of the map of a variant of our scenario; without one, those of the file."""
    text = _FILE.read_text("utf-8")
    own = re.search(rf"\n  {variant}:\n(    .*\n)+", text)
    rows = re.search(r"map: \|\n((?: +[A-Z].*\n)+)", own[0] if own else text)
    assert rows
    return [row.strip() for row in rows[1].splitlines()]


def _make_scenario(mdp: Any, horizon: int, helping: float) -> dict[str, Any]:
    """Return the scenario of a gridworld of the package."""
    from overcooked_ai_py.mdp.overcooked_mdp import Recipe

    soups = [Recipe(["onion"] * onions + ["tomato"] * tomatoes) for onions, tomatoes in _RECIPES]
    start = mdp.get_standard_start_state()
    return {
        "extends": "kitchen-alcove",
        "agents": {"number": mdp.num_players},
        "capacity": 2 * mdp.height * mdp.width + 2,
        "parameters": {
            "values": {"default": [mdp.get_recipe_value(start, soup) for soup in soups]},
            "times": {"default": [soup.time for soup in soups]},
            "steps": {"default": horizon},
            "helping": {"default": helping},
        },
        "map": "\n".join("".join(row) for row in mdp.terrain_mtx),
        "place": [{"agent": "FORWARD", "in": [y, x]} for x, y in mdp.start_player_positions],
    }


# ---- recorder ------------------------------------------------------------------------------------


def record(arguments: dict[str, Any], seeds: range, steps: int) -> Arrays:
    """Return what overcooked-ai plays, see `KnownWorld.record`: `agents` (S, T + 1, A, 7) rows,
    columns, directions and what they hold, and `things` (S, T + 1, H, W, 4) on counters and in
    pots, as `_describe` returns it; for a layout of the package also `layout`, see `load`."""
    from overcooked_ai_py.mdp.actions import Action
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld

    horizon, helping = arguments["horizon"], arguments["helping"]
    if "layout" in arguments:
        mdp = OvercookedGridworld.from_layout_name(arguments["layout"])
    else:
        rows = _read_map(arguments["variant"])
        mdp = OvercookedGridworld.from_grid(rows, arguments["recipes"])
    planner: Any = None
    state: Any = None

    def begin(seed: int | None) -> None:
        nonlocal planner, state
        state = mdp.get_standard_start_state()
        if seed is not None:
            planner = Planner(mdp, np.random.default_rng(seed))

    def describe() -> dict[str, Any]:
        agents, things = _describe_state(mdp, state)
        return {"agents": agents, "things": things}

    def choose(rng: np.random.Generator, _: int) -> NDArray[Any]:
        number = mdp.num_players
        planned = [planner.choose(state, agent) for agent in range(number)]
        eager = rng.random(number) < _EAGER
        return np.where(eager, planned, rng.integers(0, 6, number))

    def step(actions: NDArray[Any]) -> tuple[Any, bool]:
        nonlocal state
        joint = [Action.INDEX_TO_ACTION[action] for action in actions]
        state, infos = mdp.get_state_transition(state, joint)
        paid = sum(infos["sparse_reward_by_agent"])
        rewards = [paid + helping * each for each in infos["shaped_reward_by_agent"]]
        return rewards, state.timestep >= horizon

    arrays = play_episodes(seeds, steps, begin, describe, choose, step)
    if "layout" in arguments:
        arrays["layout"] = np.array([json.dumps(_make_scenario(mdp, horizon, helping))])
    return arrays


def _describe(thing: Any) -> list[int]:
    """Return an object of the package as its kind and, of a soup, its onions and tomatoes and the
    steps until it is ready, -1 before it cooks; 0 and -1 for all else."""
    if thing is None or thing.name != "soup":
        return [_THINGS.index(thing.name if thing else ""), 0, 0, -1]
    left = -1 if thing.is_idle else thing.cook_time_remaining
    return [4, thing.ingredients.count("onion"), thing.ingredients.count("tomato"), left]


def _describe_state(mdp: Any, state: Any) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return `agents` and `things` of a state of the package, see `record`."""
    from overcooked_ai_py.mdp.actions import Direction

    ways = [Direction.NORTH, Direction.SOUTH, Direction.WEST, Direction.EAST]
    agents = []
    for player in state.players:
        x, y = player.position
        way = ways.index(player.orientation)
        agents.append([y, x, way, *_describe(player.held_object)])
    things = np.zeros((mdp.height, mdp.width, 4), np.int64)
    things[..., 3] = -1
    for (x, y), thing in state.objects.items():
        things[y, x] = _describe(thing)
    return agents, things


class Planner:
    """Greedy plan for all cooks of a kitchen: each goes to the nearest cell of its first goal that
    it can reach.

    Args:
        mdp: gridworld of the package.
        rng: chooses the recipes.
    """

    def __init__(self, mdp: Any, rng: np.random.Generator) -> None:
        from overcooked_ai_py.mdp.overcooked_mdp import Recipe

        start = mdp.get_standard_start_state()
        paid = [each for each in start.all_orders if mdp.get_recipe_value(start, each) > 0]
        dispensers = {"onion": "O", "tomato": "T"}
        self._boxes = {
            name: mdp.terrain_pos_dict[letter]
            for name, letter in {**dispensers, "dish": "D"}.items()
        }
        self._recipes = [
            recipe
            for recipe in paid or Recipe.ALL_RECIPES
            if all(self._boxes[name] for name in recipe.ingredients)
        ]
        self._mdp, self._rng = mdp, rng
        self._pots, self._windows = mdp.terrain_pos_dict["P"], mdp.terrain_pos_dict["S"]
        self._floor = set(mdp.terrain_pos_dict[" "])
        self._wanted: dict[Cell, Any] = {}

    def choose(self, state: Any, agent: int) -> int:
        """Return the number of the action of an agent, which makes way at random for others."""
        player = state.players[agent]
        for cells in self._list_goals(state, agent):
            action = self._approach(player, cells)
            if action >= 0:
                sides = _list_neighbours(player.position)
                if action < _STAY and sides[action] in state.player_positions:
                    return int(self._rng.integers(_STAY))
                return action
        return _STAY

    def _list_goals(self, state: Any, agent: int) -> Iterator[Sequence[Cell]]:
        """Yield the cells that an agent could use now, the most important first."""
        player = state.players[agent]
        held = player.held_object.name if player.held_object else ""
        hot, done, needs = self._look_at_pots(state)
        if held == "soup":
            yield self._windows
        elif held == "dish":
            yield hot
        elif held:
            yield needs[held]
        if held:
            counters = self._mdp.get_empty_counter_locations(state)
            yield [cell for cell in counters if self._is_shared(cell)] or counters
            yield counters
            return
        dishes = len(state.all_objects_by_type["dish"])
        yield done
        for name, uses in (("soup", self._windows), ("dish", hot), *needs.items()):
            lying = [cell for cell, thing in state.objects.items() if thing.name == name]
            lying = [cell for cell in lying if cell not in self._pots]
            if self._approach(player, uses) >= 0:
                yield lying
            enough = dishes >= len(hot) if name == "dish" else len(lying) > 1
            if uses and name in self._boxes and not enough:
                yield self._boxes[name]

    def _look_at_pots(self, state: Any) -> tuple[list[Cell], list[Cell], dict[str, list[Cell]]]:
        """Return the pots that cook or are ready, those to heat, and those that need an onion or a
        tomato for the recipe that is wanted from them."""
        hot: list[Cell] = []
        done: list[Cell] = []
        needs: dict[str, list[Cell]] = {"onion": [], "tomato": []}
        for pot in self._pots:
            soup = state.objects.get(pot)
            if soup is None:
                if pot not in self._wanted:
                    choice = self._rng.integers(len(self._recipes))
                    self._wanted[pot] = self._recipes[choice].ingredients
            elif not soup.is_idle:
                hot.append(pot)
                self._wanted.pop(pot, None)
                continue
            there = soup.ingredients if soup else []
            missing = [
                name for name in needs if there.count(name) < self._wanted.get(pot, ()).count(name)
            ]
            for name in missing if len(there) < 3 else ():
                needs[name].append(pot)
            if not missing or len(there) == 3:
                done.append(pot)
        return hot, done, needs

    def _is_shared(self, cell: Cell) -> bool:
        """Return True if two cells of the floor without a way between them are beside a cell."""
        sides = [near for near in _list_neighbours(cell) if near in self._floor]
        return any(side not in self._reach(sides[0]) for side in sides[1:])

    def _reach(self, start: Cell) -> dict[Cell, int]:
        """Return the first move of a shortest way to each cell of the floor, -1 for the start; the
        nearest cells come first."""
        first, queue = {start: -1}, [start]
        for cell in queue:
            for move, near in enumerate(_list_neighbours(cell)):
                if near in self._floor and near not in first:
                    first[near] = move if cell == start else first[cell]
                    queue.append(near)
        return first

    def _approach(self, player: Any, cells: Sequence[Cell]) -> int:
        """Return the action that leads to the nearest of `cells`, or uses it; -1 if no way leads to
        any."""
        from overcooked_ai_py.mdp.actions import Direction

        for cell, move in self._reach(player.position).items() if cells else ():
            for way, near in enumerate(_list_neighbours(cell)):
                if near in cells:
                    faces = Direction.INDEX_TO_DIRECTION[way] == player.orientation
                    return move if move >= 0 else _INTERACT if faces else way
        return -1


def _list_neighbours(cell: Cell) -> list[Cell]:
    """Return the cells north, south, east and west of a cell, by the numbers of the moves."""
    x, y = cell
    return [(x, y - 1), (x, y + 1), (x + 1, y), (x - 1, y)]


# ---- reader --------------------------------------------------------------------------------------


def read(scenario: Any, rows: Any, recorded: Arrays) -> Arrays:
    """Return `agents` (S, A, 7) and `things` (S, H, W, 4) of S rows of worlds, see
    `KnownWorld.read`."""
    kinds = {kind.name.lower(): kind.index for kind in scenario.types}
    number = np.zeros(max(kinds.values()) + 1, np.int64)
    for code, name in enumerate(_THINGS[1:], 1):
        number[kinds[name]] = code
    things = np.zeros((len(rows), *recorded["things"].shape[2:]), np.int64)
    things[..., 3] = -1
    code = number[rows["kind"]["value"]]
    soup = rows["soup"]
    each = np.stack([code, soup["onions"], soup["tomatoes"], soup["left"]], -1).astype(np.int64)
    each[code != _THINGS.index("soup"), 1:] = 0, 0, -1
    on_grid = (code > 0) & (rows["alive"] != 0) & (rows["position"]["y"] >= 0)
    for world, e in np.argwhere(on_grid):
        y, x = (rows["position"][axis][world, e] for axis in ("y", "x"))
        things[world, y, x] = each[world, e]
    everyone = slice(1, scenario.layout.agents + 1)
    held = rows["agent"]["holding"][:, everyone]
    hands = each[np.arange(len(rows))[:, None], held]
    hands[held == 0] = 0, 0, 0, -1
    places = [rows["position"]["y"], rows["position"]["x"], rows["agent"]["facing"]]
    agents = np.stack([column[:, everyone] for column in places], -1)
    return {"agents": np.concatenate([agents.astype(np.int64), hands], -1), "things": things}


# ---- the world -----------------------------------------------------------------------------------


def _make_orders(*orders: str, **others: Any) -> dict[str, Any]:
    """Return orders for the package: texts such as OOT, and its other keys."""
    names = {"O": "onion", "T": "tomato"}
    listed = [{"ingredients": [names[letter] for letter in order]} for order in orders]
    return {"start_all_orders": listed, **others}


_GARDEN = _make_orders("OOO", "OT", "OTT", "TTT", onion_value=6, tomato_value=7)
_GARDEN |= {"onion_time": 7, "tomato_time": 4}
_GARDEN |= {"start_bonus_orders": [{"ingredients": ["onion", "tomato", "tomato"]}]}
_LEVELS = (
    make_level("alcove", _make_orders("OOO"), horizon=400),
    make_level("hatch", _make_orders("OOO"), horizon=100, helping=0.5),
    make_level("island", _make_orders("OOO"), horizon=90, helping=1.0),
    make_level("garden", _GARDEN, horizon=56, helping=1.0),
    make_level("brigade", _make_orders("OOO", "OOT", "OTT", "TTT"), horizon=110, helping=1.0),
    load_package_layout("cramped_room"),
    load_package_layout("asymmetric_advantages", helping=1.0),
    load_package_layout("coordination_ring", horizon=100, helping=0.5),
    load_package_layout("forced_coordination", helping=1.0),
    load_package_layout("counter_circuit_o_1order"),
    load_package_layout("counter_circuit", horizon=250, helping=1.0),
    load_package_layout("asymmetric_advantages_tomato"),
    load_package_layout("bonus_order_test", horizon=100, helping=1.0),
    load_package_layout("you_shall_not_pass", horizon=130),
    load_package_layout("multiplayer_schelling", helping=1.0),
)

WORLD = KnownWorld(
    packages=("overcooked-ai==1.1.0", "numpy<2"),
    actions=("MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_RIGHT", "MOVE_LEFT", "NOOP", "INTERACT"),
    levels=_LEVELS,
    dtypes={"actions": "u1", "agents": "i1", "things": "i1", "rewards": "f8", "done": "?"},
    record=record,
    read=read,
    load=load,
)
