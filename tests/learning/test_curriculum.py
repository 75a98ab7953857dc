"""Curricula: which levels worlds play, and how levels are scored; needs torch."""

from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.envs.backends.seeding import make_seeded_generators
from gv_engine.envs.level_sets import compute_content_keys, find_layouts, iter_level_keys, level_set
from gv_engine.learning import Config, train
from gv_engine.plugins.learning.config import ConfigError
from tests.learning.drawn import make_learner

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning import curriculum  # noqa: E402
from gv_engine.plugins.learning.curriculum import find_replay_probabilities  # noqa: E402
from gv_engine.plugins.learning.level_edits import LevelEditor  # noqa: E402
from gv_engine.plugins.learning.run_folder import Run  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

SMALL: Any = {"num_envs": 6, "num_steps": 16}


def test_levels_are_replayed_by_rank_and_by_staleness():
    scores = np.array([0.5, np.nan, 2.0, 1.0])
    ages = np.array([3, 8, 0, 1])
    by_rank = np.array([1 / 9, 0, 1, 1 / 4])
    by_rank /= by_rank.sum()
    found = find_replay_probabilities(scores, ages, 0.5, 0.0)
    assert np.allclose(found, by_rank)
    by_age = np.array([3 / 4, 0, 0, 1 / 4])
    assert np.allclose(find_replay_probabilities(scores, ages, 0.5, 1.0), by_age)
    found = find_replay_probabilities(scores, ages, 0.5, 0.2)
    assert np.allclose(found, 0.8 * by_rank + 0.2 * by_age)
    assert np.allclose(find_replay_probabilities(scores, 0 * ages, 0.5, 0.2), by_rank)


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_worlds_play_the_levels_that_are_scored(world, monkeypatch):
    """Also the first levels, and after a learner was restored."""
    scenario = Scenario.load("keydoor-5x5").with_step_limit(7)
    train = level_set(scenario, "train", world)
    layouts = np.array(find_layouts(train, world))
    make: Any = lambda: make_learner(  # noqa: E731
        scenario, world, levels=train, curriculum="plr", replay_prob=0.7, **SMALL
    )
    learner = make()
    begun: list[int] = []

    def check(curriculum: Any) -> None:
        """Compare the layouts of the worlds whose episode begins with those of their levels."""
        rows = learner.env.snapshot()
        keys = compute_content_keys(rows, scenario.layout, None)
        new = rows["steps"] == 0
        assert (keys[new] == layouts[curriculum._levels[new]]).all()
        begun.extend(curriculum._levels[new])

    kind = type(learner.curriculum)
    end_step = kind.end_step

    def end_and_check(curriculum: Any, done: Any) -> None:
        end_step(curriculum, done)
        check(curriculum)

    monkeypatch.setattr(kind, "end_step", end_and_check)
    check(learner.curriculum)
    for _ in range(6):
        learner.update()
    state = learner.state()
    learner = make()
    learner.restore(state)
    assert (learner.curriculum._levels == state["curriculum"]["_levels"].numpy()).all()
    for _ in range(6):
        learner.update()
    assert len(begun) > 100
    assert np.bincount(begun).max() > 5  # a level of a high rank
    assert len({*begun}) > 30


def test_the_score_of_a_level_is_the_mean_positive_advantage_of_its_last_episode():
    learner = make_learner("keydoor-5x5", "object", levels=range(9), curriculum="plr", **SMALL)
    plr = learner.curriculum
    rng, worlds, steps = np.random.default_rng(0), SMALL["num_envs"], SMALL["num_steps"]
    expected, gains = np.full(9, np.nan), [[0.0][:0] for _ in range(worlds)]
    order, ended_before = [], 0
    for _ in range(3):  # episodes go on over updates
        advantages = rng.normal(size=(steps, worlds)).astype(np.float32)
        for of_step in advantages:
            done = rng.random(worlds) < 0.2
            for world, gain in enumerate(of_step):
                gains[world].append(max(0.0, float(gain)))
                if done[world]:
                    level = plr._levels[world]
                    expected[level] = np.mean(gains[world])
                    gains[world] = []
                    order.append((ended_before + done.sum(), level))
            ended_before += done.sum()
            plr.end_step(done)
        live = torch.ones(steps, worlds, dtype=torch.bool)
        plr.end_update(torch.from_numpy(advantages), live)
        assert np.allclose(plr.scores, expected, equal_nan=True)
    assert plr._num_episodes == ended_before
    assert {level: number for number, level in order} == {
        level: number for level, number in enumerate(plr._ended_at) if number
    }
    assert plr.is_measured.any()
    assert not plr.is_measured.all()


def test_agents_that_are_done_do_not_count_for_a_score():
    learner = make_learner("hunt", "object", levels=range(9), curriculum="plr", num_envs=2)
    plr, agents = learner.curriculum, learner.spec.agents
    live = torch.ones(2, 2 * agents, dtype=torch.bool)
    live[1, 1] = False
    for done in ([False, False], [True, False]):
        plr.end_step(np.array(done))
    advantages = torch.ones(2, 2 * agents)
    advantages[:, 1] = 7.0
    plr.end_update(advantages, live)
    assert np.nanmax(plr.scores) == pytest.approx((2 * (agents - 1) + 7) / (2 * agents - 1))
    assert np.isfinite(plr.scores).sum() == 1


def test_metrics_leave_out_levels_that_were_chosen_for_their_scores():
    learner = make_learner("keydoor-5x5", "object", levels=range(9), curriculum="plr", **SMALL)
    estimator, measured = learner._estimator, learner.curriculum.is_measured
    measured[1:] = False
    ends, returns = np.ones(6, np.bool_), np.arange(6.0)
    for _ in range(2):
        estimator.add_step(ends, returns, ends, measured)
    assert estimator.means == (0.0, 1.0, 1.0)
    assert estimator._counts[0].tolist() == pytest.approx([1.0], abs=1.0)
    estimator.add_step(ends, returns, ends)
    assert estimator.means.episode_return > 1


def test_a_curriculum_trains_on_levels_that_are_not_held_out(here, capsys):
    assert Config(curriculum="plr").levels == "train"
    assert Config().levels is None
    small = "--num-envs", "4", "--steps", "1"
    assert main(["train", "keydoor-5x5", "--curriculum", "plr", *small, "--out", "run"]) == 0
    run = Run(here / "run")
    assert (run.levels, run.settings.curriculum) == ("train", "plr")
    held_out = level_set(Scenario.load("keydoor-5x5"), "test-layout").seeds
    assert run.level_seeds
    assert not {*run.level_seeds} & {*held_out}
    assert main(["train", "--resume", "run", "--curriculum", "plr"]) == 2
    assert "keeps the run's own --curriculum" in capsys.readouterr().err
    assert (
        main(["train", "MiniGrid-Empty-5x5-v0", "--curriculum", "plr", *small, "--out", "b"]) == 2
    )
    assert "too few for the set train" in capsys.readouterr().err
    with pytest.raises(ValueError, match="the curriculum plr needs levels, such as 'train'"):
        make_learner("keydoor-5x5", "object", curriculum="plr", **SMALL)


def cells_of(world: Any) -> Any:
    """The walls of a world, and all that stands in it with its place, without the walls."""
    cells = world.cells()
    walls = cells[..., 0] == next(k.index for k in world.layout.types if k.name == "Wall")
    things = sorted(cells[~walls & (cells[..., 0] > 2)].tolist())
    return walls, things


@pytest.mark.parametrize("level", ["keydoor-9x9", "maze-9x9", "hunt"])
def test_edits_change_one_thing_and_cut_off_nothing(level):
    editor = LevelEditor(Scenario.load(level))
    generators, rng = make_seeded_generators(range(30)), np.random.default_rng(0)
    world, kinds = editor._world, {"wall": 0, "agent": 0, "object": 0}
    for generator in generators:
        editor.start(generator)
        for _ in range(10):
            (walls, things), parts = cells_of(world), editor._count_regions()
            places = [(world.position.y[a], world.position.x[a]) for a in world.agents()]
            facing = [world.agent.facing[a] for a in world.agents()]
            before = world.cells().copy()
            editor.edit(rng)
            (walls_after, things_after), after = cells_of(world), world.cells()
            moved = [(world.position.y[a], world.position.x[a]) for a in world.agents()]
            turned = [world.agent.facing[a] for a in world.agents()]
            assert things_after == things
            assert editor._count_regions() <= parts or (walls & ~walls_after).any()
            changed = (before != after).any(-1)
            assert not changed[[0, -1]].any()
            assert not changed[:, [0, -1]].any()
            kinds["wall"] += (walls != walls_after).sum()
            kinds["agent"] += moved != places or turned != facing
            kinds["object"] += changed.sum() == 2
            assert changed.sum() <= 2
            for y, x in moved:
                assert not walls_after[y, x]
            assert len({*moved}) == len(moved)
        row = editor.row()
        editor.start(generators[0])
        editor.load(row)
        assert editor.row().tobytes() == row.tobytes()
    assert kinds["wall"] > 20
    assert kinds["agent"] > 20
    assert kinds["object"] > 20 or level == "hunt"


def test_edits_need_things_that_can_move(here):
    for level in "BabyAI-GoToLocal-v0", "2048":
        with pytest.raises(ConfigError, match=f"and {level} has .*: choose plr or random"):
            train(level, {"curriculum": "accel", "steps": 1}, out="run")
    assert not (here / "run").exists()


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_children_of_good_levels_are_played_and_are_not_held_out(world, monkeypatch):
    """Worlds that begin with a child show it, whatever the step has left in the results."""
    monkeypatch.setattr(curriculum, "_MAX_CHILDREN", 20)
    scenario = Scenario.load("keydoor-5x5").with_step_limit(7)
    train = level_set(scenario, "train", world)
    learner = make_learner(
        scenario, world, levels=train, curriculum="accel", replay_prob=0.7, num_envs=6, num_steps=16
    )
    accel, kind = learner.curriculum, type(learner.curriculum)
    held_out = (level_set(scenario, name, world) for name in ("test-layout", "validation"))
    layouts = {layout for levels in held_out for layout in find_layouts(levels, world)}
    known = {*find_layouts(train, world)}
    begun, new = [], set()
    change = type(learner)._change_levels

    def check(own: Any, out: Any) -> None:
        random = own.env.snapshot()["rng"].copy()
        change(own, out)
        rows = own.env.snapshot()
        assert (rows["rng"] == random).all()  # each world goes on with its own generator
        over = own._starts.numpy()
        assert (rows["steps"][over] == 0).all()
        for i in np.flatnonzero(over & (accel._levels >= len(train.seeds))):
            child = accel._rows[accel._levels[i] - len(train.seeds)].copy()
            child["rng"] = rows["rng"][i]
            (keys,) = (compute_content_keys(rows[[i]], scenario.layout, None),)
            assert (keys == compute_content_keys(child[None], scenario.layout, None)).all()
            assert int(keys[0]) not in layouts
            new.add(int(keys[0]))
            begun.append(accel._levels[i])
            assert not accel.is_measured[i]
        observation, info = own.env.restore(rows)
        for name in out.keys() & (observation.keys() | {"action_mask"}):
            expected = info[name] if name in info else observation[name]
            assert (out[name] == expected).all(), name

    monkeypatch.setattr(type(learner), "_change_levels", check)
    for _ in range(20):
        learner.update()
    assert kind.__name__ == "EditedLevels"
    assert len(accel._rows) == 20
    assert len({*begun}) > 10
    assert new - known


def test_what_is_held_out_becomes_no_child(monkeypatch):
    scenario = Scenario.load("keydoor-5x5").with_step_limit(7)
    names = "train", "test", "test-layout", "validation"
    train, test, *others = (level_set(scenario, name) for name in names)
    keys, layouts = (
        [
            {each[column] for each in iter_level_keys(scenario, levels.seeds, "auto")}
            for levels in sets
        ]
        for column, sets in ((1, (train, test)), (2, (train, *others)))
    )
    assert curriculum.find_held_out_keys(scenario) == keys[1].union(*layouts[1:])
    assert not (keys[0] | layouts[0]) & curriculum.find_held_out_keys(scenario)
    monkeypatch.setattr(curriculum, "find_held_out_keys", lambda _: layouts[0])
    learner = make_learner(scenario, "object", levels=train, curriculum="accel", **SMALL)
    for _ in range(10):
        learner.update()
    rows = learner.curriculum._rows
    assert len(rows) > 5  # at least one child of eight has another layout
    assert not {*compute_content_keys(rows, scenario.layout, None).tolist()} & layouts[0]
