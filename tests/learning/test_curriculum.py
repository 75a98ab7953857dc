"""Curricula: which levels worlds play, and how levels are scored; needs torch."""

from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.envs.level_sets import compute_content_keys, find_layouts, level_set
from gv_engine.learning import Config
from tests.learning.drawn import make_learner

torch: Any = pytest.importorskip("torch")

from gv_engine.learning.curriculum import find_replay_probabilities  # noqa: E402
from gv_engine.learning.run_folder import Run  # noqa: E402

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
    assert "--curriculum is that of the run" in capsys.readouterr().err
    assert (
        main(["train", "MiniGrid-Empty-5x5-v0", "--curriculum", "plr", *small, "--out", "b"]) == 1
    )
    assert "too few for the set train" in capsys.readouterr().err
    with pytest.raises(ValueError, match="the curriculum plr needs levels, such as 'train'"):
        make_learner("keydoor-5x5", "object", curriculum="plr", **SMALL)
