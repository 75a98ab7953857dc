"""`gv-engine train --imitate`; needs the extra rl, see `make learn`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.envs.level_sets import iter_level_keys
from gv_engine.envs.rollout import episode_folder
from tests.learning.drawn import make_learner

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning import imitation  # noqa: E402
from gv_engine.plugins.learning.run_folder import Run  # noqa: E402

pytestmark = [pytest.mark.usefixtures("here"), pytest.mark.slow, pytest.mark.compiled]


def played(scenario: str, policy: str, episodes: int, out: str, *words: str) -> Any:
    """The episodes of a policy, in a folder."""
    options = "--policy", policy, "--episodes", str(episodes), "--out", out
    assert main(["rollout", scenario, *options, *words]) == 0
    return episode_folder.read(out)[0]


def imitated(scenario: str, shown: str, out: str, *words: str) -> Path:
    assert main(["train", scenario, "--imitate", shown, "--out", out, *words]) == 0
    return Path(out)


def weights(run: Path) -> Any:
    return Run(run).load_checkpoint()["learner"]["net"]


@pytest.mark.parametrize("words", [(), ("--memory",)], ids=" ".join)
def test_a_run_acts_as_it_was_shown(words, capsys):
    """And goes on from there with what it meets itself."""
    played("keydoor-5x5", "solver", 400, "shown")
    run = imitated("keydoor-5x5", "shown", "one", *words)
    report = capsys.readouterr().out
    assert "demonstrations\t400" in report
    assert "\nsteps\t0\n" not in report  # those of reinforcement learning
    own = played("keydoor-5x5", "one", 200, "own", "--seed", "1000000")
    assert own["episode_success"].mean() > 0.9
    steps = str(128 * 32)
    assert main(["train", "--resume", "one", "--steps", steps]) == 0
    assert len((run / "progress.csv").read_text().splitlines()) == 2


def test_a_run_reads_the_mission_that_it_is_shown():
    played("BabyAI-GoToLocal-v0", "bot", 4000, "shown")
    imitated("BabyAI-GoToLocal-v0", "shown", "one", "--seed", "2")
    own = played("BabyAI-GoToLocal-v0", "one", 300, "own", "--seed", "1000000")
    assert own["episode_success"].mean() > 0.9
    assert np.diff(own["episode_start"]).mean() < 15  # one that goes from object to object takes 20


@pytest.mark.parametrize("masks", [(), ("--masks",)], ids=" ".join)
def test_held_out_episodes_are_of_other_levels(masks, capsys):
    arrays = played("keydoor-5x5", "solver", 300, "shown", *masks)
    about = episode_folder.read("shown")[1]
    learner = make_learner("keydoor-5x5", num_envs=2)
    shown = imitation.Demonstrations(Path("shown"), (arrays, about), learner)
    own, held_out = shown.split(np.random.default_rng(0))
    assert sorted([*own, *held_out]) == list(range(300))
    assert 30 <= len(held_out) < 60
    seeds = arrays["episode_seed"].tolist()
    keys = [key for _, key, _ in iter_level_keys(learner.env.scenario, seeds, "auto")]
    assert len({*keys}) < 110
    assert not {keys[k] for k in own} & {keys[k] for k in held_out}
    batch = shown._make_minibatch(held_out)
    assert batch.masks[torch.arange(len(batch.actions)), batch.actions].all()
    assert (batch.masks == 0).any() == bool(masks)
    capsys.readouterr()
    imitated("keydoor-5x5", "shown", "one", "--set-hp", "num_envs=2")
    report = capsys.readouterr()
    assert "held-out episodes\t3" in report.out
    assert " of other levels\n" in report.out
    assert "begin with the same observation" not in report.err


def test_demonstrations_of_one_level_say_that_no_other_is_held_out(capsys):
    played("keydoor-5x5", "valid", 20, "shown", "--levels", "0:1")
    imitated("keydoor-5x5", "shown", "one", "--set-hp", "num_envs=2")
    report = capsys.readouterr()
    assert "held-out episodes\t2 of the same level\n" in report.out
    assert "all episodes of shown begin with the same observation" in report.err


def test_the_same_seed_gives_the_same_weights():
    played("keydoor-5x5", "valid", 60, "shown")
    one, same = (weights(imitated("keydoor-5x5", "shown", out)) for out in ("one", "same"))
    for name, tensor in one.items():
        assert torch.equal(tensor, same[name]), name
    other = weights(imitated("keydoor-5x5", "shown", "other", "--seed", "1"))
    assert not torch.equal(one["first"], other["first"])


@pytest.mark.parametrize(
    ("scenario", "words", "says"),
    [
        ("keydoor-5x5", ("--imitate", "nowhere"), "nowhere holds no rollout"),
        ("MiniGrid-Fetch-5x5-N2-v0", ("--imitate", "shown"), "shown was recorded in keydoor-5x5"),
        ("keydoor-7x7", ("--imitate", "shown"), "shown was recorded in keydoor-5x5"),
        ("keydoor-5x5", ("--max-steps", "9", "--imitate", "shown"), "or with other options: rec"),
        ("hold-plates", ("--imitate", "shown"), "hold-plates has several agents"),
        ("keydoor-5x5", ("--imitate", "one"), "one has too few episodes: at least 2"),
        ("keydoor-5x5", ("--imitate", "compact"), "compact has observations of the rep"),
        ("keydoor-5x5", ("--imitate", "shown", "--ray"), "leave out --ray"),
    ],
)
def test_what_cannot_be_imitated_is_refused(scenario, words, says, capsys):
    played("keydoor-5x5", "valid", 4, "shown")
    played("keydoor-5x5", "valid", 1, "one")
    played("keydoor-5x5", "valid", 4, "compact", "--representation", "compact")
    assert main(["train", scenario, *words, "--out", "run"]) == 2
    assert says in capsys.readouterr().err
    assert not Path("run").exists()


def test_a_run_that_was_stopped_while_it_imitated_does_not_go_on_without(monkeypatch, capsys):
    played("keydoor-5x5", "valid", 20, "shown")

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(imitation, "imitate", stopped)
        assert main(["train", "keydoor-5x5", "--imitate", "shown", "--out", "run"]) == 130
    assert main(["train", "--resume", "run", "--steps", "5000"]) == 2
    assert "run was stopped while it imitated" in capsys.readouterr().err
    assert not Path("run/policy.npz").exists()
