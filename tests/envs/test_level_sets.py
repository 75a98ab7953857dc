"""Sets of levels: none twice, none in two, and worlds that begin as these alone."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.splits import read_layouts
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.envs import level_sets
from gv_engine.envs.backends.backend import hash_states
from gv_engine.envs.level_sets import (
    LevelsError,
    LevelSet,
    compute_content_keys,
    find_layouts,
    find_values_read_by_rules,
    level_set,
    make_larger,
)
from gv_engine.rules.component import AGENT
from gv_engine.world.simulation import Simulation
from tests.comparing import same

LEVEL = "keydoor-5x5"


def begun(levels: Any, level: str = LEVEL, world: str = "object", **options: Any) -> GridVectorEnv:
    """A world for each level of a set, at its beginning."""
    found = level_set(Scenario.load(level), levels, world)
    env = GridVectorEnv(level, len(found.seeds), levels=found, world=world, **options)
    env.reset(seed=0)
    return env


def contents(env: GridVectorEnv) -> list[int]:
    read = find_values_read_by_rules(env.scenario)
    return [*map(int, compute_content_keys(env.snapshot(), env.scenario.layout, read))]


@pytest.mark.compiled
def test_no_level_is_in_train_and_in_a_set_to_test():
    names = "train", "validation", "test", "test-layout", range(2000)
    train, chosen_by, test, layout, every = (
        contents(begun(levels, world="compiled")) for levels in names
    )
    assert [*map(len, (train, chosen_by, test, layout, every))] == [67, 10, 21, 12, 108]
    assert sorted({*train, *chosen_by, *test, *layout}) == sorted(every)
    assert len({*train}) == 67
    assert not {*train} & {*test, *layout, *chosen_by}
    assert not {*chosen_by} & {*test, *layout}


@pytest.mark.compiled
@pytest.mark.thorough
@pytest.mark.parametrize("level", [LEVEL, "MiniGrid-KeyCorridorS3R1-v0"])
def test_no_layout_of_test_layout_is_in_train(level):
    """The layouts are read here from object worlds, and the levels found in compiled ones."""
    scenario = Scenario.load(level)
    names = "train", "validation", "test", "test-layout"
    levels = {name: level_set(scenario, name) for name in names}
    layouts = {name: {*read_layouts(found)} for name, found in levels.items()}
    assert not layouts["test-layout"] & layouts["train"]
    assert not layouts["validation"] & (layouts["train"] | layouts["test-layout"])
    assert layouts["test"] & layouts["train"]
    assert len(layouts["test-layout"]) == len({*find_layouts(levels["test-layout"])})
    assert len(layouts["train"]) == len({*find_layouts(levels["train"], "object")})
    if level == LEVEL:
        assert level_set(scenario, "test-layout", "object") == levels["test-layout"]


def test_where_all_layouts_differ_test_has_new_ones(monkeypatch):
    monkeypatch.setattr(level_sets, "_MAX_LEVELS", 50)
    scenario = Scenario.load("maze-9x9")
    assert level_set(scenario, "test-layout", "object") == level_set(scenario, "test", "object")


@pytest.mark.parametrize(
    ("column", "field", "entity", "counts"),
    [
        ("agent", "facing", AGENT, False),
        ("position", "x", AGENT, False),
        ("target", "descriptions", -1, False),
        ("color", "value", -1, True),
        ("kind", "value", -1, True),
        ("position", "y", -1, True),
    ],
)
def test_agents_and_missions_are_no_part_of_a_layout(column, field, entity, counts):
    scenario = Scenario.load("BabyAI-GoToLocal-v0")
    env = GridVectorEnv(scenario, 1, world="object")
    env.reset(seed=3)
    row = env.snapshot()
    entity = entity if entity == AGENT else int(row["target"]["has"][0].nonzero()[0][0])
    changed = row.copy()
    changed[column][field][0, entity] += 1
    for read, expected in ((None, counts), (find_values_read_by_rules(scenario), True)):
        keys = (compute_content_keys(each, scenario.layout, read) for each in (row, changed))
        assert (next(keys) != next(keys)) == expected


@pytest.mark.compiled
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_all_worlds_play_the_same_episodes(mode):
    options: Any = {"levels": "3:9", "max_steps": 7, "autoreset_mode": mode}
    many = [GridVectorEnv(LEVEL, 3, world=world, **options) for world in ("object", "compiled")]
    alone = GridEnv(LEVEL, world="object", max_steps=7, levels=range(3, 9))
    assert same(*(env.reset(seed=5) for env in many))
    shown, _ = alone.reset(seed=6)
    actions, over = np.random.default_rng(0).integers(8, size=(40, 3)), False
    for chosen in actions:
        one, other = (env.step(chosen) for env in many)
        assert same(one, other)
        if mode == "NextStep":
            shown, *_ = alone.reset() if over else (told := alone.step(chosen[1]))
            over = not over and (told[2] or told[3])
            assert same(shown["grid"], one[0]["grid"][1])
    assert same(*(env.snapshot() for env in many))


def test_a_seed_begins_as_the_level_of_its_number():
    env, alone = begun("0:6"), GridEnv(LEVEL, world="object")
    observation, _ = env.reset(seed=8)
    for k, shown in enumerate(observation["grid"]):
        assert np.array_equal(shown, alone.reset(seed=(8 + k) % 6)[0]["grid"])
    own = env.snapshot()["rng"]["state_low"]  # not that of the level
    assert own.tolist() == [
        np.random.default_rng(8 + k).bit_generator.state["state"]["state"] % 2**64 for k in range(6)
    ]


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda seeds: np.array(seeds, np.uint8)])
def test_seeds_come_in_any_sequence(kind):
    found = level_set(Scenario.load(LEVEL), kind([8, 3, 5, 3]), "object")
    assert found.seeds == (8, 3, 5)
    assert {type(seed) for seed in found.seeds} == {int}


@pytest.mark.parametrize("level", [LEVEL, "keydoor-sizes"])
def test_every_episode_begins_as_one_of_the_levels_and_all_are_drawn(level):
    env = begun("0:5", level)
    known, drawn = {*contents(env)}, set()
    for _ in range(20):
        env.reset()
        drawn.update(contents(env))
    assert drawn == known
    assert len(known) == 5


@pytest.mark.compiled
def test_a_mixture_begins_as_objects_do():
    one, other = (
        GridVectorEnv("keydoor-sizes", 6, levels="0:20", world=world, max_steps=3)
        for world in ("object", "compiled")
    )
    assert same(one.reset(seed=0), other.reset(seed=0))
    for _ in range(9):
        assert same(one.step(np.zeros(6, int)), other.step(np.zeros(6, int)))


def test_what_comes_out_of_a_pickle_has_the_same_future():
    env = GridVectorEnv(LEVEL, 2, levels="0:9", world="object", max_steps=2)
    env.reset(seed=0)
    other = pickle.loads(pickle.dumps(env))
    for _ in range(9):
        assert same(env.step(np.zeros(2, int)), other.step(np.zeros(2, int)))


def test_things_that_came_in_another_order_are_the_same_level():
    env = GridVectorEnv("dynamic-obstacles-7x7", 60, world="object")
    env.reset(seed=0)
    rows: Any = env.snapshot()
    found = {*contents(env)}
    assert len(found) < len({*hash_states(rows, False, True, False).tolist()})
    places = rows["position"]["y"] * 16 + rows["position"]["x"]
    moving = np.where(rows["moving_obstacle"]["has"], places, -1)
    agent = rows["position"]["y"][:, 1] * 16 + rows["position"]["x"][:, 1]
    seen = {(*sorted(line), here) for line, here in zip(moving.tolist(), agent.tolist())}
    assert len(found) == len(seen)


def test_levels_in_a_file_are_those_that_were_kept(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(level_sets, "_MAX_LEVELS", 20)
    scenario = Scenario.load(LEVEL)
    for levels in ("2:7", "larger"):
        kept = level_set(scenario, levels, "object")
        kept.save(tmp_path / "some.json")
        found = level_set(scenario, tmp_path / "some.json")
        assert found.seeds == kept.seeds
        assert found.scenario.identity.digest == kept.scenario.identity.digest


def test_larger_levels_are_twice_as_large(monkeypatch):
    monkeypatch.setattr(level_sets, "_MAX_LEVELS", 20)
    assert make_larger(Scenario.load(LEVEL).with_(max_steps=50)).max_steps == 50
    env = GridVectorEnv(LEVEL, 1, levels="larger", world="object")
    env.reset(seed=0)
    assert env.snapshot()["height"].tolist() == [9]


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ("tset", "no levels 'tset'; did you mean 'test'?"),
        ("100:0", "no levels '100:0'; did you mean '0:100'?"),
        (range(0), "expected 1 to 5,000 seeds, whole numbers from 0 on"),
        ("0:5001", "expected 1 to 5,000 seeds"),
        (range(10**30), "levels=range.0, 1000"),
        ({1, 2}, "levels={1, 2}: expected 1 to 5,000 seeds"),
        (b"0:5", "levels=b'0:5': expected 1 to 5,000 seeds"),
        (5, "levels=5: expected"),
        (True, "train, validation, test, test-layout, larger; or a file .json"),
        ([True], r"levels=.True.: expected"),
        ([-1], "levels=.-1.: expected"),
        (["1"], "levels=.'1'.: expected"),
        (np.zeros((1, 1), int), "levels=..0..: expected"),
        (np.zeros(3), "levels=.0. 0. 0..: expected"),
        ("none.json", "^none.json cannot be read: No such file or directory$"),
        ("damaged.json", "is no level set, or is damaged: JSONDecodeError"),
        ("text.json", "its seeds are not all whole"),
        ("other.json", "of empty-4x4, not of keydoor-5x5; .*gv-engine splits keydoor-5x5 --levels"),
    ],
)
def test_what_is_no_set_is_told(levels, told, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level_set(Scenario.load("empty-4x4"), "0:1", "object").save(Path("other.json"))
    about = json.loads(Path("other.json").read_text())
    Path("text.json").write_text(json.dumps({**about, "seeds": ["1"]}))
    Path("damaged.json").write_text("{")
    with pytest.raises(LevelsError, match=told.replace("?", r"\?")):
        GridVectorEnv(LEVEL, 1, levels=levels, world="object")


def test_a_scenario_of_one_level_has_none_to_test(monkeypatch):
    monkeypatch.setattr(level_sets, "_MAX_SEEDS_WITHOUT_NEW_LEVEL", 20)
    with pytest.raises(LevelsError, match="has one level, too few"):
        level_set(Scenario.load("sokoban#3"), "test", "object")


def test_seeds_of_a_file_are_whole_numbers():
    for seeds in ([0], [2**63 - 1], [5, 3, 5]):
        assert level_sets.check_level_seeds(seeds) == tuple(seeds)
    for wrong in ([], [-1], [2**63], [True], [1.0], ["1"], [None], [0, -1]):
        with pytest.raises(ValueError, match="its seeds are not all whole numbers from 0 on"):
            level_sets.check_level_seeds(wrong)


# ---- levels that differ by what was drawn alone, and by nothing that is played -------------------

RULES: dict[str, Any] = {
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "fully_transparent", "area": [[-4, 4], [-4, 4]]},
    "terminating_function": "reach_exit",
}
SMALL = {
    **RULES,
    "map": "#####\n##a##\n#aEa#\n##a##\n#####",
    "legend": {"a": {"room": "hall"}},
    "place": [{"agent": "any", "in": "hall"}],
}
TURNED = {**SMALL, "symmetries": ["turn", "mirror"]}
UNREAD = {**SMALL, "draw": {"n": [3, 5], "color": ["RED", "BLUE"]}}
PAID = {"reward_functions": ["./rules.py:paid"]}
WAYS = 4 * 4
"""Free cells, and orientations."""
CODE = """\
import esper

from gv_engine.rules.system import REWARD, TRANSITION, system
from systems.procedural import resolve_value

SECOND = 1


def plain(w):
    return w.drawn[0]


def of_name(w):
    return w.drawn[SECOND]


def of_row(w):
    return w.drawn[9]


def several(w):
    return [w.drawn[k] for k in range(2)][1]


def nothing(w):
    drawn = w.steps
    return drawn


def within(w):
    return (lambda: w.drawn[1])()


def table(w):
    return resolve_value(w, -2)


@system(REWARD)
def paid(w, agent, amount=1.0):
    return ASKED(w) * amount


@system(TRANSITION, when=lambda w, agent, action: ASKED(w) > 3)
def now_and_then(w, agent):
    w.agent.facing[agent] = 0


def of_states(state, action, *, rng=None):
    state.world.drawn[1]


class Anything(esper.Processor):
    def process(self):
        '''Who knows.'''
"""


def asking(function: str, folder: Path, **more: Any) -> Scenario:
    """A level of two drawn values and maps that lie in several ways, and a rule that calls one of
    the functions above."""
    (folder / "rules.py").write_text(CODE.replace("ASKED", function))
    return Scenario.load({**TURNED, **UNREAD, **more}, folder=folder)


def read_by(scenario: Scenario) -> list[list[int]]:
    """By member, the numbers of the values that are read in play."""
    return [row.nonzero()[0].tolist() for row in find_values_read_by_rules(scenario)]


def played(found: LevelSet) -> list[Any]:
    """What each level shows in an episode of the same actions, and its rewards."""
    simulation = Simulation(found.scenario)
    w, told = simulation.world, []
    for seed in found.seeds:
        simulation.reset(np.random.default_rng(seed))
        shown = []
        for number in np.random.default_rng(0).integers(len(found.scenario.actions), size=12):
            y, x, facing = w.position.y[AGENT], w.position.x[AGENT], w.agent.facing[AGENT]
            shown.append((w.cells().tobytes(), y, x, facing, w.reward[AGENT]))
            simulation.step(found.scenario.actions[number])
        told.append((*shown,))
    return told


@pytest.mark.sample("plain")
@pytest.mark.parametrize("level", [SMALL, {**TURNED, **UNREAD}], ids=["plain", "unread"])
def test_no_level_to_test_plays_as_one_to_train_on(level, monkeypatch):
    monkeypatch.setattr(level_sets, "_MAX_SEEDS_WITHOUT_NEW_LEVEL", 120)
    scenario = Scenario.load(level)
    sets = [level_set(scenario, name, "object") for name in ("train", "validation", "test")]
    assert sum(len(found.seeds) for found in sets) == WAYS
    assert len({way for found in sets for way in played(found)}) == WAYS


@pytest.mark.thorough
def test_levels_that_look_alike_and_are_played_otherwise_are_two(tmp_path):
    found = level_set(asking("plain", tmp_path, **PAID), range(600), "object")
    assert len(found.seeds) == len({*played(found)}) == 2 * WAYS


@pytest.mark.thorough
def test_of_a_mixture_each_member_is_asked(tmp_path):
    members = [asking("plain", tmp_path, **PAID), Scenario.load(TURNED)]
    mixed = [{"scenario": member.document.root.plain} for member in members]
    scenario = Scenario.load({"mixture": mixed}, folder=tmp_path)
    assert read_by(scenario) == [[0], []]
    assert len(level_set(scenario, range(1200), "object").seeds) == 2 * WAYS + WAYS


@pytest.mark.parametrize(
    ("function", "read"),
    [
        ("plain", [0]),
        ("of_name", [1]),
        ("nothing", []),
        ("within", [1]),
        *((name, [*range(8)]) for name in ("several", "table", "of_row")),
    ],
)
def test_what_code_reads_is_found(function, read, tmp_path):
    assert read_by(asking(function, tmp_path, **PAID)) == [read]


@pytest.mark.parametrize(
    ("rules", "read"),
    [
        ({"transition_functions": ["./rules.py:now_and_then"]}, [0]),
        ({"transition_functions": ["./rules.py:of_states"]}, [1]),
        ({"transition_functions": ["./rules.py:Anything"]}, [*range(8)]),
        ({"reward_functions": [{"name": "reduce_sum", **PAID}]}, [0]),
        (
            {
                "agents": ["one", "two"],
                "reward_functions": [{"name": "./rules.py:paid", "for": "two"}],
            },
            [0],
        ),
    ],
    ids=["when", "states", "processor", "nested", "for"],
)
def test_all_rules_are_asked(rules, read, tmp_path):
    assert read_by(asking("plain", tmp_path, **rules)) == [read]
