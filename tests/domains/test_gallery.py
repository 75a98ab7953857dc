"""Built-in levels with known ways to win: the gallery, those of several agents, and known worlds
that `make parity` compares with the packages they are from."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import gv_engine
from gv_engine import AgentsVectorEnv, GridEnv, RuleError, Scenario, ScenarioError
from gv_engine.envs.backends.backend import make_batch
from gv_engine.envs.rollout.rollout import find_ended
from gv_engine.play.session.catalogue import built_in_entries
from gv_engine.scenario.documents.rule_files import load_rule_file
from gv_engine.scenario.library import list_built_in_grids, list_multi_agent_grids
from gv_engine.world.simulation import DISABLED
from tests import DATA, ROOT
from tests.levels import KEYS, NOT_OF_GALLERY, OF_GALLERY, WINS
from tests.parity import WORLDS, Level, get_world
from tests.parity.__main__ import find_difference

# ---- the gallery -------------------------------------------------------------------------------

WAYS = json.loads((DATA / "gallery.json").read_text("utf-8"))
"""Ways that win, by scenario and seed: numbers of actions, most of them of a shortest way."""


@pytest.mark.parametrize("name", OF_GALLERY)
def test_it_is_won_by_the_way_that_is_kept(name):
    env = GridEnv(name, world="object")
    for seed, way in WAYS[name].items():
        env.reset(seed=int(seed))
        ends = [env.step(int(action)) for action in way]
        assert [terminated for _, _, terminated, _, _ in ends] == [*[False] * (len(way) - 1), True]
        assert ends[-1][4]["success"]


def test_the_catalogue_and_the_page_show_all_levels_of_the_gallery():
    assert set(WAYS) == set(OF_GALLERY)
    assert len(OF_GALLERY) >= 20
    groups = {entry.title: entry.group for entry in built_in_entries()}
    assert {groups[name] for name in OF_GALLERY} == {"Gallery"}
    assert "Gallery" not in {groups[name] for name in NOT_OF_GALLERY}
    levels = list_built_in_grids()
    files = {name.removesuffix(f"-{levels[name].variant}") for name in OF_GALLERY}
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(.+?)` ", page, re.MULTILINE)) == files


# ---- several agents ----------------------------------------------------------------------------

WON, CUT_OFF = (0.99, True, True), (-0.01, False, False)


def played(
    name: str | Scenario, ways: tuple[str, ...], world: str
) -> tuple[Any, list[tuple[Any, ...]]]:
    """The environment after its agents have gone their ways, and of each its last reward, whether
    its episode terminated, and whether it won."""
    env = gv_engine.parallel_env(name, world=world)
    env.reset(seed=0)
    told: dict[str, tuple[Any, ...]] = {}
    names = env.scenario.action_names
    number = {key: names.index(named) for key, named in KEYS.items() if named in names}
    number.setdefault(".", names.index("NOOP") if "NOOP" in names else 0)
    for keys in zip(*ways, strict=True):
        if not env.agents:
            break
        said = dict(zip(env.possible_agents, (number[key] for key in keys), strict=True))
        _, rewards, ended, _, infos = env.step({name: said[name] for name in env.agents})
        for agent in rewards:
            told[agent] = round(rewards[agent], 9), ended[agent], infos[agent]["success"]
    return env, [told[agent] for agent in env.possible_agents]


def test_there_is_a_way_to_win_each():
    assert set(WINS) == set(list_multi_agent_grids())
    for name in WINS:
        scenario = Scenario.load(name)
        assert not scenario.warnings
        assert scenario.layout.agents > 1


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("hold-plates", [WON, WON]),
        ("hand-over", [WON, WON]),
        ("hunt", [CUT_OFF, WON, (-0.99, True, False)]),  # a hunter is beside the runner
        ("commons", [(1.0, True, True)] * 2),  # no more is taken than is wanted
        ("race", [CUT_OFF, WON, CUT_OFF]),
        ("tag", [WON, (0.0, False, False), WON]),  # the guard catches nobody
        ("ball", [(1.0, True, True)] * 2 + [(-1.0, True, False)] * 2),  # a goal is a team's
    ],
)
def test_who_wins_and_who_is_cut_off(name: str, ends: list[tuple[Any, ...]], world: str):
    env, told = played(name, WINS[name], world)
    assert not env.agents
    assert told == ends
    successes = np.array([[success for _, _, success in told]])
    assert find_ended(Scenario.load(name), np.zeros(1, np.int64), successes)  # of the episode


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
@pytest.mark.parametrize("name", ["hold-plates", "hand-over"])
def test_nobody_wins_alone(name: str, world: str):
    ways = WINS[name]
    for lazy in range(len(ways)):
        waiting = tuple("." * len(way) if k == lazy else way for k, way in enumerate(ways))
        env, told = played(name, waiting, world)
        assert env.agents
        assert not any(success for _, _, success in told)


# ---- known worlds ------------------------------------------------------------------------------

FORAGING, POGEMA, WAREHOUSE = "foraging-8x8-2p-3f", "pogema-8x8-4a", "warehouse-tiny-2ag"
RECORDED = {
    level.name: (known, level)
    for known in WORLDS
    for level in get_world(known).levels
    if (DATA / "parity" / f"{level.name}.npz").exists()
}


@pytest.mark.sample("object")
@pytest.mark.parametrize(("known", "level"), RECORDED.values(), ids=RECORDED)
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_recorded_games_come_out_equal(known: str, level: Level, world: str):
    with np.load(DATA / "parity" / f"{level.name}.npz") as recorded:
        arrays = {name: array[:2] for name, array in recorded.items()}
    assert arrays["done"].any()
    assert (arrays["rewards"] > 0).any()
    assert not find_difference(known, level, arrays, 0, world)
    arrays["rewards"][1, 20] += 1
    assert "rewards of seed 1 after 21 steps" in find_difference(known, level, arrays, 0, world)


def play_way(name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the sums of the agents' rewards after their ways to win, and which have terminated."""
    env = AgentsVectorEnv(name, 1, world="object", autoreset_mode="Disabled")
    env.reset(seed=[0])
    total, names = np.zeros(len(WINS[name])), list(env.scenario.action_names)
    for keys in zip(*WINS[name], strict=True):
        asked = [names.index("NOOP" if key == "." else KEYS[key]) for key in keys]
        _, rewards, terminated, _, _ = env.step(np.array([asked]))
        total += rewards[0]
    return total, terminated[0]


@pytest.mark.parametrize("name", [name for name in WINS if name.startswith("foraging")])
def test_all_food_together_is_worth_1(name: str):
    total, terminated = play_way(name)
    assert terminated.all()
    assert total.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", [name for name in WINS if name.startswith("pogema")])
def test_each_agent_that_arrives_is_paid_1(name: str):
    total, terminated = play_way(name)
    assert (total >= 1).all()
    is_lifelong = name.endswith(("restart", "lmapf"))
    assert (total == 1).all() == (name != "pogema-benchmark-lmapf")
    assert terminated.all() == (not is_lifelong)
    assert terminated.any() == terminated.all()


KITCHENS = [name for name in WINS if name.startswith("kitchen")]


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
@pytest.mark.parametrize("name", KITCHENS)
def test_a_soup_pays_all_cooks(name: str, world: str):
    env, told = played(name, WINS[name], world)
    assert told == [(13.0 if name == "kitchen-garden" else 20.0, False, False)] * len(told)
    assert env.agents


@pytest.mark.compiled
@pytest.mark.thorough
@pytest.mark.parametrize("name", KITCHENS)
def test_cooks_that_nobody_plays_serve_the_same_soups_in_both_worlds(name: str):
    level = Scenario.load(name)
    batches = [make_batch(level, 2, world) for world in ("object", "compiled")]
    assisted, chosen = len(level.actions) + 1, np.random.default_rng(0)
    for batch in batches:
        for world in range(2):
            batch.set_generator(world, np.random.default_rng(world))
        batch.reset(np.ones(2, np.bool_))
    earned = np.zeros(2)
    for _ in range(150):
        actions = np.full((2, level.layout.agents), assisted)
        if name != "kitchen-hatch":  # in which nobody can do without the other
            actions[1, 0] = chosen.integers(len(level.actions))
        for batch in batches:
            batch.step(actions.ravel(), DISABLED)
        rows = [[batch.snapshot(world) for world in range(2)] for batch in batches]
        assert repr(rows[0]) == repr(rows[1])
        assert rows[0] == rows[1]
        earned += [row["kitchen"]["paid"].max() for row in rows[0]]
    assert (earned >= 20).all()


def test_a_kitchen_closes_when_it_has_earned_the_goal():
    env, told = played(Scenario.load("kitchen-alcove", goal=20), WINS["kitchen-alcove"], "object")
    assert told == [(20.0, True, True)] * 2
    assert not env.agents


@pytest.mark.parametrize(("by_hand", "left"), [(True, [-1, 19]), (False, [19, 18])])
def test_full_pots_are_heated_by_a_hand_or_by_themselves(by_hand: bool, left: list[int]):
    scenario = Scenario.load("kitchen-alcove", by_hand=by_hand)
    steps = [tuple(way[:n] for way in WINS["kitchen-alcove"]) for n in (14, 15)]
    rows = [played(scenario, ways, "object")[0].snapshot() for ways in steps]
    assert [int(row["kitchen"]["first"].max()) for row in rows] == left


@pytest.mark.parametrize("name", [name for name in WINS if name.startswith("warehouse")])
def test_a_delivery_pays_1_and_meets_a_quota_of_1(name: str):
    ways = WINS[name]
    env, told = played(Scenario.load(name, quota=1), ways, "object")
    assert not env.agents
    assert sum(reward for reward, _, _ in told) == 1
    assert [(ended, success) for _, ended, success in told] == [(True, True)] * len(ways)
    env, told = played(Scenario.load(name, quota=2), ways, "object")
    assert len(env.agents) == len(ways)
    env, told = played(Scenario.load(name, idle=5), ways, "object")
    assert told == [(0.0, True, False)] * len(ways)


def test_cells_are_ordered_as_in_sets():
    rules = load_rule_file(ROOT / "scenarios" / "together" / "warehouse" / "rules.py")
    rng = np.random.default_rng(0)
    for count in range(1, 22):
        for _ in range(20):
            cells = rng.choice(66 * 28, count, False)
            order: set[tuple[int, int]] = set()
            for cell in cells.tolist():
                order.add((cell % 28, cell // 28))
            assert rules.order_as_set(cells, 28).tolist() == [28 * y + x for x, y in order]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"values": [20]}, "found 1 values; expected 9, of O, OO, OOO, T, OT, OOT, TT, OTT, TTT"),
        ({"times": [0] * 9}, "allowed are whole numbers from 1 to 1000"),
        ({"times": [2.5] * 9}, "found 2.5, expected a whole number"),
        ({"extra": 4}, "extra=4: allowed are whole numbers from 0 to 3"),
        ({"helping": 2.0}, "helping=2.0: allowed are numbers from 0 to 1"),
    ],
)
def test_kitchens_that_cannot_be_are_refused(settings: dict[str, Any], says: str):
    with pytest.raises(ScenarioError, match=says):
        Scenario.load("kitchen-alcove", **settings)


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        (FORAGING, {"size": 2}, "size=2: allowed are whole numbers from 3"),
        (FORAGING, {"foods": 0}, "foods=0"),
        (FORAGING, {"most": 4}, "most=4: allowed are whole numbers from 1 to 3"),
        (FORAGING, {"size": 3, "players": 10}, "found 10 agents: shape \\[3, 3\\] has 9 cells"),
        (POGEMA, {"size": 4}, "size=4: allowed are whole numbers from 5 to 64"),
        (POGEMA, {"agents": 17}, "agents=17: allowed are whole numbers from 2 to 16"),
        (POGEMA, {"collisions": "hard"}, "allowed are priority, block_both, soft"),
        (POGEMA, {"on_target": "stop"}, "allowed are finish, nothing, restart"),
        (POGEMA, {"size": 5, "agents": 13}, "found 13 agents: .* need 26 cells of 25"),
        (WAREHOUSE, {"columns": 4}, "found 4 columns: the number of columns must be odd"),
        (WAREHOUSE, {"column_height": 1, "robots": 41}, "found 41 robots: .* 40 cells"),
        (
            WAREHOUSE,
            {"column_height": 1, "requests": 4},
            "4 requests for 4 shelves: there must be mo",
        ),
        (WAREHOUSE, {"rows": 5}, "rows=5: allowed are whole numbers from 1 to 4"),
        (WAREHOUSE, {"reward": "all"}, "reward='all': allowed are"),
    ],
)
def test_levels_that_cannot_be_are_refused(name: str, settings: dict[str, Any], says: str):
    with pytest.raises(ScenarioError, match=says):
        Scenario.load(name, **settings)


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_a_level_without_room_for_all_agents_fails(world: str):
    env = AgentsVectorEnv(POGEMA, 1, world=world, size=5, agents=12, density=0.5)
    with pytest.raises(RuleError, match="no level of 100 had room for all agents"):
        env.reset(seed=0)
