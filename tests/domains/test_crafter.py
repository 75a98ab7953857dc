"""Crafter: plays through the rules of the built-in scenario, on maps made by hand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import yaml

from components.core import HIDDEN
from gv_engine import GridEnv, Scenario
from gv_engine.geometry import named_action
from gv_engine.rules.component import AGENT
from gv_engine.world.simulation import Simulation
from tests import ROOT

FOLDER = ROOT / "scenarios" / "crafter"
FILE: dict[str, Any] = yaml.safe_load((FOLDER / "scenario.yaml").read_text("utf-8"))
TERRAIN = {
    **{".": "Grass", "_": "Path", "~": "Water", "#": "Stone", "T": "Tree", "L": "Lava"},
    **{"c": "Coal", "i": "Iron", "*": "Diamond", "t": "Table", "f": "Furnace"},
}
LEGEND = {char: {"ground": f"./rules.py:{name}"} for char, name in TERRAIN.items()}
LEGEND["@"] = {"ground": "./rules.py:Grass", "agent": "FORWARD"}
ROOM = """
.....
..@..
.....
"""
WAYS = {"l": "MOVE_LEFT", "r": "MOVE_RIGHT", "u": "MOVE_FORWARD", "d": "MOVE_BACKWARD", "x": "DO"}


class Game:
    """Play on a map made by hand; creatures appear only where a test puts them.

    Attributes:
        w: the object world.
        rules: the module of rules.
        total: sum of rewards.
    """

    def __init__(self, rows: str, spawns: bool = False) -> None:
        """Begin the level that the map `rows` shows; creatures also appear if it `spawns`."""
        entries = {key: value for key, value in FILE.items() if key != "max_shape"}
        del entries["reset_function"]
        entries["parameters"] = {"darkness": FILE["parameters"]["darkness"]}
        if not spawns:
            calls = FILE["transition_functions"]
            entries["transition_functions"] = [call for call in calls if "spawn" not in call]
        scenario = Scenario.load({**entries, "map": rows.strip() + "\n", "legend": LEGEND}, FOLDER)
        self.simulation = Simulation(scenario)
        self.simulation.reset(np.random.default_rng(0))
        self.w: Any = self.simulation.world
        vitals = next(cls for cls in scenario.layout.components if cls.__name__ == "Vitals")
        self.rules: Any = sys.modules[vitals.__module__]
        self.total = 0.0

    def act(self, *names: str, times: int = 1) -> float:
        """Take actions, by name or a character of WAYS each, `times` over; return the reward of the
        last."""
        for name in names * times:
            self.simulation.step(named_action(name))
            self.total += self.w.reward[AGENT]
        return float(self.w.reward[AGENT])

    def go(self, ways: str) -> float:
        """Take the actions that the characters stand for; return the reward of the last."""
        return self.act(*(WAYS[way] for way in ways))

    def vital(self, name: str) -> int:
        """Return one of the player's needs."""
        return int(getattr(self.w.vitals, name)[AGENT])

    def count(self, item: str) -> int:
        """Return the number of an item in the bag."""
        return int(self.w.bag.counts[AGENT, self.rules.Item[item]])

    def unlocked(self) -> list[str]:
        """Return the names of the achievements that are unlocked."""
        return [deed.name for deed in self.rules.Deed if self.w.deeds.unlocked[AGENT, deed]]

    def put(self, kind: str, dy: int, dx: int) -> int:
        """Put a new object of a type beside the player; return it."""
        e = int(self.w.spawn(getattr(self.rules, kind)))
        self.w.place(e, self.w.position.y[AGENT] + dy, self.w.position.x[AGENT] + dx)
        return e


def test_the_costs_that_players_see_are_those_of_the_rules():
    rules = Game(ROOM).rules
    costs = {action["name"]: action.get("cost", {}) for action in FILE["action_space"][5:]}
    items = [f"agent.counts.{item}" for item in ("WOOD", "STONE", "COAL", "IRON")]
    for tool, name in enumerate(rules.TOOLS):
        seen = [costs[f"MAKE_{name}"].get(item, 0) for item in items]
        assert seen == rules.COSTS[tool % 3].tolist()
    for name, says in (("TABLE", "2 wood"), ("STONE", "1 stone"), ("FURNACE", "1 stone")):
        amount, item = says.split()
        assert costs[f"PLACE_{name}"] == {f"agent.counts.{item.upper()}": int(amount)}


def test_all_achievements_can_be_unlocked_in_an_order():
    game = Game("TTTTTTTT######ccii*~\n@...................")
    for name in ("PLACE_TABLE", "PLACE_PLANT", "PLACE_STONE", "MAKE_WOOD_PICKAXE"):
        assert game.act(name) == 0
    game.go("ux" + 7 * "rux")  # fell the trees above
    assert game.count("WOOD") == 8
    assert game.act("MAKE_WOOD_PICKAXE") == 0  # no table
    assert game.act("PLACE_TABLE") == 1
    assert game.act("MAKE_STONE_SWORD") == 0  # no stone
    assert game.act("MAKE_WOOD_PICKAXE") == game.act("MAKE_WOOD_SWORD") == 1
    game.go(6 * "rux" + 5 * "l")
    assert game.act("MAKE_STONE_PICKAXE") == game.act("MAKE_STONE_SWORD") == 1
    assert (game.count("WOOD"), game.count("STONE")) == (2, 4)
    game.go(6 * "r" + "ux" + 3 * "rux" + 9 * "l")
    assert game.act("MAKE_IRON_PICKAXE") == 0  # no furnace
    assert game.act("PLACE_FURNACE") == 1
    assert game.act("MAKE_IRON_PICKAXE") == game.act("MAKE_IRON_SWORD") == 1
    assert [game.count(item) for item in ("WOOD", "STONE", "COAL", "IRON")] == [0, 1, 0, 0]
    game.go(10 * "r" + "ux" + "rux")
    assert game.act("PLACE_STONE") == 1  # on the water
    game.go("l")
    while game.count("SAPLING") == 0:
        game.go("x")
    assert game.act("PLACE_PLANT") == 1
    assert game.go("x") == 0  # not ripe yet
    plant = game.w.at[1, 17]
    game.w.crop.age[plant] = game.rules.RIPE_AGE - 1
    game.act("NOOP")
    assert game.go("x") == 1
    assert game.w.crop.stage[plant] == game.rules.YOUNG
    for kind in ("COW", "ZOMBIE", "SKELETON"):  # between stone and the player
        game.put(kind, 0, 1)
        assert game.go("rx" if kind == "COW" else "x") == 1
    game.w.vitals.energy[AGENT] = 8
    game.act("SLEEP")
    game.act("MOVE_LEFT", times=12)  # asleep
    assert not game.w.vitals.asleep[AGENT]
    assert game.unlocked() == [deed.name for deed in game.rules.Deed]
    assert game.total == pytest.approx(22 + 0.1 * (game.vital("health") - 9))


def test_ores_need_pickaxes():
    for ore, pickaxe in (("c", "WOOD"), ("i", "STONE"), ("*", "IRON"), ("#", "WOOD")):
        game = Game(f"{ore}\n@")
        assert game.go("ux") == 0
        game.w.bag.counts[AGENT, game.rules.Item[f"{pickaxe}_PICKAXE"]] = 1
        assert game.go("x") == 1
        assert game.w.kind.value[game.w.ground[0, 0]] == game.rules.PATH


def test_needs_fall_and_then_health():
    game = Game(ROOM)
    game.act("NOOP", times=250)
    assert [game.vital(need) for need in ("food", "drink", "energy", "health")] == [0, 0, 1, 6]
    assert not game.w.terminated
    game.act("NOOP", times=90)
    assert game.w.terminated
    assert game.total == pytest.approx(-0.9)


def test_a_sleeper_rests_and_acts_only_when_awake():
    game = Game(ROOM)
    game.act("SLEEP")
    assert not game.w.vitals.asleep[AGENT]  # not tired
    game.w.vitals.energy[AGENT] = 6
    game.act("SLEEP", *["MOVE_LEFT"] * 20)
    assert game.w.vitals.asleep[AGENT]
    assert (game.vital("energy"), int(game.w.position.x[AGENT])) == (7, 2)
    game.simulation.observe(grid := np.zeros((7, 9, 3), np.uint8), np.zeros(3, np.uint8))
    assert (grid[..., 0] != HIDDEN).sum() == 1  # a sleeper sees one cell
    while game.w.vitals.asleep[AGENT]:
        game.act("MOVE_LEFT")
    assert game.unlocked() == ["WAKE_UP"]
    game.act("MOVE_LEFT")
    assert game.w.position.x[AGENT] == 1


@pytest.mark.parametrize(("asleep", "health"), [(False, 7), (True, 2)])
def test_a_zombie_hurts_and_wakes(asleep: bool, health: int):
    game = Game("@.#")
    game.put("ZOMBIE", 0, 1)
    game.w.vitals.energy[AGENT] = 5
    game.w.vitals.asleep[AGENT] = asleep
    assert game.act("NOOP") == pytest.approx(0.1 * (health - 9) + asleep)
    assert (game.vital("health"), game.vital("asleep")) == (health, 0)
    game.act("NOOP", times=5)
    assert game.vital("health") == health  # it rests
    game.act("NOOP")
    assert game.vital("health") == max(0, health - 2)


def test_a_skeleton_shoots_arrows_that_hurt_or_break_a_table():
    game = Game("@____")
    game.put("SKELETON", 0, 4)
    game.act("NOOP", times=4)
    assert game.vital("health") == 7
    game = Game("@t___")
    game.put("SKELETON", 0, 4)
    game.act("NOOP", times=3)
    assert game.w.kind.value[game.w.ground[0, 1]] == game.rules.PATH
    assert game.vital("health") == 9


def test_lava_kills():
    game = Game("L\n@")
    assert game.go("u") == pytest.approx(-0.9)
    assert game.w.terminated


def test_creatures_appear_around_the_player_and_vanish_far_away():
    rows = ["." * 40] * 40
    rows[20] = "." * 20 + "@" + "." * 19
    game = Game("\n".join(rows), spawns=True)
    placed = game.w.placed
    game.act("NOOP", times=150)
    assert 0 < placed[game.rules.COW] <= 3
    assert 0 < placed[game.rules.ZOMBIE] <= 3
    assert placed[game.rules.SKELETON] == 0  # there is no path
    game.w.stand(AGENT, 0, 0)
    game.act("NOOP")
    assert placed[game.rules.COW] + placed[game.rules.ZOMBIE] <= 2


@pytest.mark.parametrize("size", [8, 64])
def test_the_player_starts_on_grass_in_a_generated_world(size: int):
    env = GridEnv("crafter", world="object", size=size)
    observation, _ = env.reset(seed=2)
    assert observation in env.observation_space
    assert observation["state"][:5].tolist() == [9, 9, 9, 9, 0]
    assert observation["grid"].shape == (7, 9, 3)
    names = [kind.name for kind in env.scenario.types]
    assert names[observation["grid"][3, 4, 0]] == "Grass"


def test_columns_of_the_player_end_with_the_player():
    layout = Scenario.load("crafter").layout
    lengths = {cls.__name__: length for cls, length in layout.column_lengths.items()}
    assert {lengths[name] for name in ("Agent", "Vitals", "Bag", "Deeds")} == {AGENT + 1}
    assert lengths["Sky"] == layout.world_entity + 1
    assert {lengths[name] for name in ("Kind", "Solid", "Creature", "Crop")} == {layout.capacity}
    assert layout.batch_dtype.itemsize <= 56 * 1024
