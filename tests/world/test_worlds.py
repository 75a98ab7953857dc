"""The object world and the batch are the same world, and one row is all of it."""

from __future__ import annotations

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import esper
import numpy as np
import pytest
from hypothesis import example, given, settings

from gv_engine import AGENT, CapacityError, GridEnv, RuleError, Scenario, Simulation
from gv_engine.envs.backends.backend import make_batch
from gv_engine.play.validation.differential import find_row_fault
from gv_engine.rules.frame import Frame
from gv_engine.world.simulation import DISABLED, KEEP, RESTART
from gv_engine.world.world import ObjectWorld
from tests.boards import RULES, distances, scenario
from tests.strategies import actions, meadow, meadows, seeds


class Run:
    """One world of a scenario; in a batch the second of three."""

    def __init__(self, played, world, seed):
        self.row = 1 if world == "batch" else 0
        size, kind = (3, "compiled") if self.row else (1, "object")
        self.batch = make_batch(played, size, kind)
        for i in range(size):
            self.batch.set_generator(i, np.random.default_rng(seed + (i - self.row) % 3))
        self.start = [RESTART] * size

    def reset(self):
        self.batch.step(np.array(self.start), DISABLED)
        return self.shown

    def alone(self, action):
        turn = np.full(len(self.batch), KEEP)
        turn[self.row] = action
        self.batch.step(turn, DISABLED)
        return self.shown

    @property
    def shown(self):
        """All that the world shows, copied."""
        return {
            name: array[self.row].copy()
            for name, array in vars(self.batch.outputs).items()
            if not name.startswith("final_")
        }

    def snapshot(self):
        return self.batch.snapshot(self.row)

    def restore(self, row):
        self.batch.restore(self.row, row)


def assert_same_shown(one, other):
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def assert_same_rows(one, other):
    assert one.dtype == other.dtype
    for name in one.dtype.names:
        if one.dtype[name].names:
            for field in one.dtype[name].names:
                own, twin = one[name][field], other[name][field]
                np.testing.assert_array_equal(own, twin, err_msg=f"{name}.{field}")
        elif name != "error":  # a number for a message, which only compiled code needs
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def outcome(act, *arguments):
    """What an act shows, or the message of its RuleError without the number of the world."""
    try:
        return act(*arguments), ""
    except RuleError as error:
        return None, f"{type(error).__name__}{str(error).partition(':')[2]}"


# ---- object world = row of a batch -------------------------------------------------------------


@pytest.mark.compiled
@settings(max_examples=25)
@given(meadows(), seeds, actions)
@example({"seeds": 3, "withers": 9, "how": 8}, 0, [0] * 5)
def test_every_step_is_the_same_in_both_worlds(level, seed, chosen):
    assert_same_run(meadow(**level), seed, chosen)


def assert_same_run(played, seed, chosen, *, sound=True):
    """Step an object world and a row with the same actions.

    Args:
        sound: no rule breaks a promise that `find_row_fault` looks for.
    """
    one, other = Run(played, "object", seed), Run(played, "batch", seed)
    for act in [None, *chosen]:
        found, failed = outcome(one.reset) if act is None else outcome(one.alone, act)
        twin, twin_failed = outcome(other.reset) if act is None else outcome(other.alone, act)
        assert failed == twin_failed
        if failed:
            return
        assert_same_shown(found, twin)
        assert_same_rows(one.snapshot(), other.snapshot())
        assert not sound or not find_row_fault(played, one.snapshot())


# ---- snapshot, restore, fork -------------------------------------------------------------------


@pytest.mark.sample("object-batch")
@pytest.mark.parametrize("source", ["object", "batch"])
@pytest.mark.parametrize("target", ["object", "batch"])
@settings(max_examples=15)
@given(level=meadows(), seed=seeds, before=actions, after=actions)
def test_a_restored_world_has_the_future_it_had(source, target, level, seed, before, after):
    played = meadow(**level)
    first = Run(played, source, seed)
    if outcome(first.reset)[1] or any(outcome(first.alone, action)[1] for action in before):
        return
    row = first.snapshot()
    kept = row.copy()
    second = Run(played, target, seed + 1)
    outcome(second.reset)
    second.restore(row)
    for action in after:
        found, expected = outcome(second.alone, action), outcome(first.alone, action)
        assert found[1] == expected[1]
        if found[1]:
            return
        assert_same_shown(found[0], expected[0])
        assert_same_rows(second.snapshot(), first.snapshot())
    # a snapshot is nobody's memory
    assert_same_rows(row, kept)


def test_a_row_of_another_layout_is_refused(world):
    small = Run(meadow(), world, 0)
    other = Run(scenario("^"), "object", 0)
    other.reset()
    with pytest.raises(ValueError, match="restore it into an environment of the same scenario"):
        small.restore(other.snapshot())


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_of_worlds(copied):
    simulation = Simulation(meadow())
    simulation.reset(np.random.default_rng(4))
    simulation.step(3)
    world = copied(simulation.world)
    assert isinstance(world, ObjectWorld)
    assert_same_rows(world.snapshot(), simulation.world.snapshot())
    world.agent.facing[AGENT] = 2
    world.rng.random()
    assert simulation.world.agent.facing[AGENT] != 2
    assert world.rng.random() != simulation.world.rng.random()


# ---- spawning and removing ---------------------------------------------------------------------


def test_the_lowest_free_entity_is_taken_and_given_back(world):
    run = Run(meadow(seeds=2, strength=0.0, every=1000, withers=4), world, 7)
    run.reset()
    taken = []
    for _ in range(30):
        before = run.snapshot()
        run.alone(4)
        row = run.snapshot()
        came = np.flatnonzero(row["flower"]["has"] & (row["flower"]["age"] == 1))
        # what withers goes after the new ones have come
        free = np.flatnonzero(before["alive"] == 0)[1:]  # not NOTHING
        np.testing.assert_array_equal(came, free[: len(came)])
        assert row["free"] <= np.flatnonzero(row["alive"] == 0)[1:].min()
        gone = row["alive"] == 0
        for name in ("flower", "color", "kind", "portable", "position"):
            assert not row[name]["has"][gone].any()
        taken += came.tolist()
    assert len(taken) > 2 * len(set(taken)) > 2


MISDEEDS = {
    1: "w.place: the cell is outside the grid",
    2: "w.place: the cell is outside the grid",
    3: "w.place: the cell holds another object",
    4: "w.spawn: an object type that is not in the scenario's state_space",
    5: "w.spawn: an object type that is not in the scenario's state_space",
    6: "w.set_shape: larger than the scenario's max_shape",
    7: "the meadow is closed",
    8: "the world is full: all of its entities",
}


@pytest.mark.parametrize("how", MISDEEDS)
def test_broken_promises_are_errors(world, how):
    run = Run(meadow(how=how), world, 0)
    run.reset()
    error = CapacityError if how == 8 else RuleError
    with pytest.raises(error, match=rf"^world [01]: {MISDEEDS[how]}"):
        run.alone(0)


def test_after_an_error_a_world_can_begin_anew(world):
    run = Run(scenario(">K", **distances(object_type="Key", getting_closer={})), world, 0)
    run.reset()
    for _ in range(2):  # it may go on, too
        with pytest.raises(RuleError, match="exactly one"):
            run.alone(7)
    run.reset()
    assert run.alone(4)["rewards"] == 0.0


@pytest.mark.parametrize("kind", ["object", "compiled"])
def test_one_world_that_fails_keeps_no_other_from_going_on(kind):
    played = scenario("v.\nK.", **distances(object_type="Key", getting_closer={}))
    batch = make_batch(played, 3, kind)
    batch.step(np.full(3, RESTART), DISABLED)
    with pytest.raises(RuleError, match=r"^world 0: "):
        batch.step(np.array([7, 7, 2]), DISABLED)
    assert batch.snapshot(2)["position"]["x"][AGENT] == 1


@pytest.mark.parametrize("kind", ["object", "compiled"])
def test_a_restored_world_is_drawn_without_the_reward_of_another_step(kind):
    batch = make_batch(scenario("^."), 1, kind)
    batch.step(np.array([RESTART]), DISABLED)
    row = batch.snapshot(0)
    batch.step(np.array([0]), DISABLED)
    drawn: list[Frame] = []
    batch.render(0, drawn.append)
    batch.restore(0, row)
    batch.render(0, drawn.append)
    assert [any(frame.terms.values()) for frame in drawn] == [True, False]


# ---- many worlds in one process ----------------------------------------------------------------


def episode(env, seed, steps=30):
    """Rows of an episode, in order."""
    pilot = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        env.step(int(pilot.integers(env.action_space.n)))
        yield env.snapshot()


@pytest.fixture(params=["object", "compiled"])
def environments(request):
    """Makes environments of three scenarios with different columns."""
    scenarios = meadow(), scenario("^.K\n.d."), meadow()
    return lambda: [GridEnv(played, world=request.param) for played in scenarios]


def play_alone(env, seed):
    return [*episode(env, seed)]


def test_playing_among_others_is_like_being_alone(environments):
    """Also in turns, and in threads of their own."""
    alone = [*map(play_alone, environments(), range(3))]
    in_turns = zip(*map(episode, environments(), range(3)), strict=True)
    with ThreadPoolExecutor(3) as threads:
        in_threads = [*threads.map(play_alone, environments(), range(3))]
    for found in zip(*in_turns, strict=True), in_threads:
        for rows, expected in zip(found, alone, strict=True):
            for one, other in zip(rows, expected, strict=True):
                assert_same_rows(one, other)


def test_espers_own_world_stays_the_users():
    before = esper.current_world
    mine = esper.create_entity()
    try:
        env = GridEnv(meadow(), world="object")
        list(episode(env, 0, steps=5))
        assert esper.current_world == before
        assert list(esper.get_entities()) == [mine]
        with pytest.raises(RuleError):
            list(episode(GridEnv(meadow(how=7), world="object"), 0))
        assert esper.current_world == before
    finally:
        esper.delete_entity(mine, immediate=True)


@pytest.mark.parametrize("level", ["keydoor-5x5", "medley-7x7", meadow()])
def test_worlds_whose_rules_do_not_use_esper_never_switch_espers_world(level, monkeypatch):
    """Other threads that use esper would find its world, and not theirs."""

    def refuse(name):
        raise AssertionError(f"switched to {name}")

    monkeypatch.setattr(esper, "switch_world", refuse)
    env = GridEnv(level, world="object", render_mode="ansi")
    for seed in range(3):
        list(episode(env, seed, steps=5))
        env.render()
        env.restore(copy.deepcopy(env).snapshot())


@pytest.mark.slow
def test_worlds_that_are_gone_leave_nothing_behind():
    ObjectWorld(meadow().layout)
    gc.collect()
    gc.freeze()  # collections look at new objects alone
    names = len(esper.list_worlds())
    for _ in range(5):
        env = GridEnv(meadow(), world="object", render_mode="ansi")
        env.reset(seed=0)
        env.render()
        del env
        gc.collect()
        ObjectWorld(meadow().layout)  # where what is gone is let go
        gc.collect()
    assert len(esper.list_worlds()) <= names


# ---- esper's own style -------------------------------------------------------------------------

PROCESSOR = '''
import esper

from components import Agent, Door, Position
from gv_engine import TRANSITION, system
from systems.queries import ahead


class CloseDoors(esper.Processor):
    def __init__(self, every: int = 2) -> None:
        self.every = every

    def process(self) -> None:
        if self.world.steps % self.every == 0:
            for entity, (position, door) in esper.get_components(Position, Door):
                door.status = 1


@system(TRANSITION)
def close_doors(w, agent, every: int = 2):
    """Doors do not stay open."""
    if w.steps % every == 0:
        for e in range(1, w.capacity):
            if w.door.has[e]:
                w.door.status[e] = 1


@system(TRANSITION)
def close_found_doors(w, agent, every: int = 2):
    """Doors that esper finds do not stay open."""
    if w.steps % every == 0:
        for entity, door in esper.get_component(Door):
            door.status = 1
'''


@pytest.mark.parametrize("rule", ["CloseDoors", "close_found_doors"])
def test_processors_and_systems_may_ask_esper(tmp_path, rule):
    (tmp_path / "rules.py").write_text(PROCESSOR)

    def rows(rule):
        own = {"name": f"./rules.py:{rule}", "every": 3}
        rules = {"transition_functions": ["move_agent", "turn_agent", own, "actuate_door"]}
        level = {**RULES, "map": "d.^.d\n.d.d.", **rules}
        return episode(GridEnv(Scenario.load(level, tmp_path), world="object"), 3, steps=60)

    opened = 0
    for row, twin in zip(rows(rule), rows("close_doors"), strict=True):
        assert_same_rows(row, twin)
        opened += int((row["door"]["has"] & (row["door"]["status"] == 0)).sum())
    assert opened
