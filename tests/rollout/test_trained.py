"""Trained policies that come with scenarios: `--policy trained`, without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.trained import RECIPES
from gv_engine.cli import main
from gv_engine.envs.rollout.policy import (
    POLICIES,
    PolicyError,
    find_run,
    find_trained_run,
    load_policy,
    policies_needing_default,
    policy_digest,
    remove_file_names,
    with_absolute_paths,
)
from gv_engine.envs.rollout.policy_file import PolicyFile, RunError
from gv_engine.play.session.autoplay import play_steps
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.scenario.scenario import Scenario
from tests.learning.drawn import drawn

NAMES = [recipe.scenario for recipe in RECIPES]


def test_policies_are_those_that_are_trained_and_small():
    files = [*POLICIES.rglob("*")]
    assert sorted(file.parent.name for file in files if file.is_file()) == sorted(NAMES)
    assert sum(file.stat().st_size for file in files) < 10 * 2**20


@pytest.mark.sample("keydoor-5x5", "memory-9x9", "hand-over")
@pytest.mark.parametrize("name", NAMES)
def test_a_policy_fits_its_scenario_and_wins(name: str):
    assert PolicyFile.read(POLICIES / name).scenario == name
    won = []
    for seed in range(1000, 1005):
        session = Session(load_playable(name), seed)
        play_steps(session, "trained")
        won.append(session.frame().success)
    assert sum(won) >= 3


def test_where_there_is_no_policy_all_are_named(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(PolicyError) as caught:
        find_trained_run(Scenario.load("keydoor-7x7"))
    message = str(caught.value)
    assert "no trained policy comes with keydoor-7x7, but with " in message
    assert all(name in message for name in NAMES)
    assert message.endswith("train one: gv-engine train keydoor-7x7")
    assert main(["record", "keydoor-7x7", "never.gvreplay", "--policy", "trained"]) == 2
    assert "no trained policy comes with keydoor-7x7" in capsys.readouterr().err


def test_another_scenario_of_the_same_name_is_checked():
    level = {"extends": "keydoor-5x5", "name": "keydoor-5x5", "action_space": ["MOVE_FORWARD"]}
    with pytest.raises(RunError, match=r"was trained on keydoor-5x5 with .*action"):
        load_policy("trained", 1, 1, scenario=Scenario.load(level))


def test_commands_play_it(tmp_path: Path):
    for policy in ("trained", "trained:greedy"):
        out = tmp_path / f"{policy.replace(':', '-')}.gvreplay"
        assert main(["record", "keydoor-5x5", str(out), "--seed", "3", "--policy", policy]) == 0
        replay = Replay.load(out)
        assert replay.steps[-1].outcome == "terminated"
        assert sum(step.reward for step in replay.steps) > 4
    words = ["--policy", "ann=trained,bob=random", "--seed", "3", "--steps", "5"]
    assert main(["record", "hand-over", str(tmp_path / "two.gvreplay"), *words]) == 0


def test_the_name_stands_for_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    drawn(Path("trained"))
    scenario = Scenario.load("keydoor-5x5")
    for text in ("trained", "trained:greedy"):
        assert find_run(text) is None
        assert find_run(text, scenario) == POLICIES / "keydoor-5x5"
        assert find_run(f"./{text}", scenario) == Path("trained")
        assert with_absolute_paths(text) == remove_file_names(text) == text
        assert policy_digest(text) == ""
        assert policies_needing_default(text) == [text]


def test_policies_of_half_the_size_are_read(tmp_path: Path):
    drawn(tmp_path / "run")
    file = PolicyFile.read(tmp_path / "run")
    file.write(tmp_path, np.float16)
    assert (tmp_path / "policy.npz").stat().st_size < (tmp_path / "run/policy.npz").stat().st_size
    for name, array in PolicyFile.read(tmp_path).weights.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, file.weights[name], rtol=1e-3, atol=1e-6)
