"""Curricula: which levels worlds play, and how levels are scored; needs torch."""

from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.envs.level_sets import compute_content_keys, find_layouts, iter_level_keys, level_set
from gv_engine.learning import train
from gv_engine.plugins.learning.config import ConfigError
from tests.learning.drawn import make_learner

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning import curriculum  # noqa: E402
from gv_engine.plugins.learning.curriculum import find_replay_probabilities  # noqa: E402
from gv_engine.plugins.learning.level_edits import LevelEditor  # noqa: E402
from gv_engine.plugins.learning.run_folder import Run  # noqa: E402
from tests.fuzz.checkpoints import as_bytes  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

SMALL: Any = {"num_envs": 6, "num_steps": 16}


SCENARIO = Scenario.load("keydoor-5x5").with_step_limit(7)


def keys_of(rows: Any) -> Any:
    return compute_content_keys(rows, SCENARIO.layout, None)


def test_levels_are_replayed_by_rank_and_by_staleness():
    scores, ages = np.array([0.5, 2.0, 1.0]), np.array([3, 0, 1])
    by_rank = np.array([1 / 9, 1, 1 / 4])
    by_rank /= by_rank.sum()
    assert np.allclose(find_replay_probabilities(scores, ages, 0.5, 0.0), by_rank)
    by_age = np.array([3 / 4, 0, 1 / 4])
    assert np.allclose(find_replay_probabilities(scores, ages, 0.5, 1.0), by_age)
    found = find_replay_probabilities(scores, ages, 0.5, 0.2)
    assert np.allclose(found, 0.8 * by_rank + 0.2 * by_age)
    assert np.allclose(find_replay_probabilities(scores, 0 * ages, 0.5, 0.2), by_rank)


@pytest.mark.parametrize("trains_on_all", [False, True])
def test_the_network_learns_from_replays_alone_unless_told_otherwise(trains_on_all):
    more: Any = {"level_buffer_size": 20, "train_on_new_levels": trains_on_all}
    learner = make_learner(SCENARIO, "object", curriculum="plr", **more, **SMALL)
    plr, kinds = learner.curriculum, []
    for _ in range(12):
        count, before = len(plr.scores), [each.clone() for each in learner.net.parameters()]
        learner.update()
        after = learner.net.parameters()
        learned = any((one != other).any() for one, other in zip(before, after, strict=True))
        is_replay = not plr.is_measured.any()
        assert learned == (is_replay or trains_on_all) == plr.learns
        assert not is_replay or count >= 10
        kinds.append(is_replay)
    assert {*kinds} == {False, True}


def test_a_few_levels_are_replayed_though_they_do_not_fill_the_buffer():
    learner = make_learner(SCENARIO, "object", levels=range(3), curriculum="plr", **SMALL)
    kinds = []
    for _ in range(9):
        learner.update()
        kinds.append(learner.curriculum.learns)
    assert kinds.index(True) > 1
    assert len(learner.curriculum.scores) == 3


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_worlds_play_their_level_again_until_the_update_ends(world, monkeypatch):
    """Also after a learner was restored; results are those of the levels that begin."""
    more: Any = {"curriculum": "plr", "level_buffer_size": 20, "replay_prob": 0.7}
    learner = make_learner(SCENARIO, world, **more, **SMALL)
    change, begun = type(learner)._change_levels, []

    def check(own: Any, out: Any) -> None:
        generators = own.env.snapshot()["rng"].copy()
        change(own, out)
        rows, over = own.env.snapshot(), own._starts.numpy()
        assert (rows["rng"] == generators).all()  # each world goes on with its own generator
        assert (rows["steps"][over] == 0).all()
        assert (keys_of(rows) == keys_of(own.curriculum._playing))[over].all()
        observation, info = own.env.restore(rows)
        for name in out.keys() & (observation.keys() | {"action_mask"}):
            expected = info[name] if name in info else observation[name]
            assert (out[name] == expected).all(), name
        begun.append(over.sum())

    monkeypatch.setattr(type(learner), "_change_levels", check)
    for number in range(8):
        if number == 5:
            state, old = learner.state(), learner.curriculum
            learner = make_learner(SCENARIO, world, **more, **SMALL)
            learner.restore(state)
            assert (learner.curriculum._keys == old._keys).all()
        learner.update()
        plr = learner.curriculum
        rows = plr._rows[: len(plr.scores)]
        assert (rows["steps"] == 0).all()
        assert plr.is_measured.any() or {*keys_of(plr._playing)} <= {*keys_of(rows)}
    assert sum(begun) > 50
    assert len(plr.scores) >= 10


def test_the_score_of_a_level_is_its_mean_positive_advantage():
    learner = make_learner("pogema-8x8-4a", "object", curriculum="plr", num_envs=2, num_steps=8)
    plr, agents = learner.curriculum, learner.spec.agents
    plr.begin_update()
    live = torch.ones(2, 2 * agents, dtype=torch.bool)
    live[1, 1] = False  # an agent that is done
    advantages = torch.ones(2, 2 * agents)
    advantages[:, 1] = 7.0
    advantages[:, agents] = -7.0
    plr.end_update(advantages, live)
    of_first = (2 * (agents - 1) + 7) / (2 * agents - 1)
    found = {int(key): score for key, score in zip(plr._keys, plr.scores, strict=False)}
    keys = compute_content_keys(plr._playing, learner.env.scenario.layout, plr._is_read)
    scores = of_first, (agents - 1) / agents
    assert found == pytest.approx(dict(zip(keys.tolist(), scores, strict=True)))
    plr._playing = plr._playing[[0, 0]]  # both worlds play one level
    plr.end_update(advantages, live)
    assert plr.scores[plr._keys[:2] == keys[0]] == pytest.approx(sum(scores) / 2)


def test_a_full_buffer_keeps_the_levels_with_high_scores():
    more: Any = {"level_buffer_size": 3, "staleness_coef": 0.0, "num_envs": 1, "num_steps": 16}
    learner = make_learner(SCENARIO, "object", curriculum="plr", **more)
    plr, env, rows = learner.curriculum, learner.env, list[Any]()
    while len({*keys_of(np.array(rows))} if rows else ()) < 5:
        env.reset()
        rows.append(env.snapshot(0))
    levels = np.array(rows)[np.unique(keys_of(np.array(rows)), return_index=True)[1]]

    def play(level: int, score: float) -> Any:
        plr._playing = levels[[level]]
        plr.end_update(torch.full((2, 1), score), torch.ones(2, 1, dtype=torch.bool))
        return {int(k): s for k, s in zip(keys_of(plr._rows), plr.scores, strict=False)}

    names = keys_of(levels).tolist()
    for level, score in enumerate((3.0, 1.0, 2.0)):
        play(level, score)
    assert play(3, 0.5) == dict(zip(names, (3.0, 1.0, 2.0), strict=False))  # too low
    assert play(4, 2.5) == {names[0]: 3.0, names[4]: 2.5, names[2]: 2.0}
    assert play(0, 1.0) == {names[0]: 1.0, names[4]: 2.5, names[2]: 2.0}  # known: a new score


def test_metrics_leave_out_levels_that_were_chosen_for_their_scores():
    learner = make_learner("keydoor-5x5", "object", curriculum="plr", **SMALL)
    estimator, measured = learner._estimator, learner.curriculum.is_measured
    measured[1:] = False
    ends, returns = np.ones(6, np.bool_), np.arange(6.0)
    for _ in range(2):
        estimator.add_step(ends, returns, ends, measured)
    assert estimator.means == (0.0, 1.0, 1.0)
    assert estimator._counts[0].tolist() == pytest.approx([1.0], abs=1.0)
    estimator.add_step(ends, returns, ends)
    assert estimator.means.episode_return > 1


def test_episodes_that_an_update_cuts_off_are_not_counted():
    learner = make_learner(SCENARIO, "object", curriculum="plr", num_envs=2, num_steps=10)
    for _ in range(2):
        learner.update()
    assert learner._estimator._ages.tolist() == [3, 3]  # since the end after 7 steps
    assert learner.metrics.episode_length == pytest.approx(7.0)


def cells_of(world: Any) -> Any:
    """The walls of a world, and all that stands in it with its place, without the walls."""
    cells = world.cells()
    walls = cells[..., 0] == next(k.index for k in world.layout.types if k.name == "Wall")
    things = sorted(cells[~walls & (cells[..., 0] > 2)].tolist())
    return walls, things


@pytest.mark.parametrize("level", ["keydoor-9x9", "maze-9x9", "hunt"])
def test_edits_change_one_thing_and_cut_off_nothing(level):
    editor, rng = LevelEditor(Scenario.load(level)), np.random.default_rng(0)
    env = AgentsVectorEnv(level, 30, world="object")
    env.reset(seed=0)
    starts = env.snapshot()
    world, kinds = editor._world, {"wall": 0, "agent": 0, "object": 0}
    for start in starts:
        editor.load(start)
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
        editor.load(starts[0])
        editor.load(row)
        assert editor.row().tobytes() == row.tobytes()
    assert kinds["wall"] > 20
    assert kinds["agent"] > 20
    assert kinds["object"] > 20 or level == "hunt"


def test_an_update_is_as_long_as_an_episode(here):
    says = "num_steps is 256, and an episode of keydoor-9x9 has up to 500 steps: .*=500, or a lower"
    for name in "plr", "accel":
        with pytest.raises(ConfigError, match=says):
            train("keydoor-9x9", {"curriculum": name, "steps": 1}, out="run")
    assert not (here / "run").exists()


def test_a_run_that_only_scored_levels_says_so_and_has_no_best_weights(here, capsys):
    small = "num_envs=4", "num_steps=16", "level_buffer_size=60"
    words = ["--curriculum", "plr", "--max-steps", "5", "--out", "run"]
    words += [word for each in small for word in ("--set-hp", each)]
    assert main(["train", "keydoor-5x5", *words, "--steps", "320"]) == 0
    told = "run has learned nothing yet: the curriculum plr first scores new levels, often in 512"
    assert told in capsys.readouterr().err
    assert Run(here / "run").load_checkpoint()["best"] == {}
    assert main(["train", "--resume", "run", "--steps", "2560"]) == 0
    assert "has learned nothing" not in capsys.readouterr().err
    assert Run(here / "run").load_checkpoint()["best"]


def test_a_buffer_fits_into_a_checkpoint():
    with pytest.raises(
        ConfigError, match=r"level_buffer_size is 1000000; expected at most \d+, as a"
    ):
        make_learner(SCENARIO, "object", curriculum="plr", level_buffer_size=10**6, **SMALL)


def test_edits_need_things_that_can_move(here):
    for level in "BabyAI-GoToLocal-v0", "2048":
        with pytest.raises(ConfigError, match=f"and {level} has .*: choose plr or random"):
            train(level, {"curriculum": "accel", "steps": 1}, out="run")
    assert not (here / "run").exists()


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_edited_levels_are_played_after_a_replay_and_are_not_held_out(world):
    train = level_set(SCENARIO, "train", world)
    more: Any = {"curriculum": "accel", "level_buffer_size": 12, "replay_prob": 0.7}
    learner = make_learner(SCENARIO, world, levels=train, **more, **SMALL)
    accel = learner.curriculum
    held_out = (level_set(SCENARIO, name, world) for name in ("test-layout", "validation"))
    layouts = {layout for levels in held_out for layout in find_layouts(levels, world)}
    edited: set[int] = set()
    for _ in range(20):
        children = keys_of(accel._children).tolist()
        learner.update()
        if children:
            assert {*keys_of(accel._playing).tolist()} == {*children}
            assert not accel.learns
            assert not accel.is_measured.any()
            edited.update(children)
            other = make_learner(SCENARIO, world, levels=train, **more, **SMALL)
            other.restore(learner.state())
            assert as_bytes(other.curriculum.state()) == as_bytes(accel.state())
        assert bool(len(accel._children)) == accel._is_replay
    assert edited - {*find_layouts(train, world)}
    assert not edited & layouts
    assert {*keys_of(accel._rows).tolist()} & edited


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
    more: Any = {"curriculum": "accel", "level_buffer_size": 12, "replay_prob": 0.9}
    learner = make_learner(scenario, "object", levels=train, **more, **SMALL)
    children: list[int] = []
    for _ in range(10):
        learner.update()
        children += keys_of(learner.curriculum._children).tolist()
    assert len(children) > 5  # some have another layout
    assert not {*children} & layouts[0]
