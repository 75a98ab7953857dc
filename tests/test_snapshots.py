"""Worlds in files, and the scenario that they belong to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import gv_engine
from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.commands import parser, play
from gv_engine.commands.arguments import UsageError
from gv_engine.rollouts import snapshots
from gv_engine.rollouts.snapshots import SnapshotError
from tests.strategies import meadow
from tests.test_mixture import TWO

STARTER = Path(gv_engine.__file__).parent / "starter"


def rows_of(level, num=3):
    envs = GridVectorEnv(level, num, world="object")
    envs.reset(seed=0)
    envs.step([0] * num)
    return envs.scenario, envs.snapshot()


@pytest.mark.parametrize("level", ["keydoor-5x5", "medley-7x7", meadow(), TWO])
def test_what_is_saved_comes_back(tmp_path, level):
    scenario, rows = rows_of(level)
    snapshots.save(tmp_path / "worlds.npz", scenario.with_(max_steps=8), rows)
    found, again = snapshots.load(tmp_path / "worlds.npz")
    assert (found.name, found.max_steps) == (scenario.name, 8)
    assert again.dtype == found.layout.dtype
    assert np.array_equal(again, rows)
    env = GridEnv(found, world="object")
    env.restore(again[1:2].reshape(()))
    assert env.snapshot() == rows[1]


def test_numpy_reads_it_alone(tmp_path):
    scenario, rows = rows_of("keydoor-5x5")
    snapshots.save(tmp_path / "one.npz", scenario, rows[0:1].reshape(()))
    with np.load(tmp_path / "one.npz") as file:
        assert file["rows"]["door"]["status"].shape == (1, scenario.layout.capacity)
        assert json.loads(file["scenario"].item())["name"] == "keydoor-5x5"


def test_a_scenario_that_has_changed_is_told(tmp_path):
    folder = tmp_path / "level"
    shutil.copytree(STARTER, folder)
    scenario, rows = rows_of(folder)
    snapshots.save(tmp_path / "worlds.npz", scenario, rows)
    snapshots.load(tmp_path / "worlds.npz")
    with (folder / "rules.py").open("a") as file:
        file.write("\n# another rule\n")
    with pytest.warns(UserWarning, match="level is no longer what it was"):
        snapshots.load(tmp_path / "worlds.npz")
    snapshots.load(tmp_path / "worlds.npz", scenario)


def test_mistakes(tmp_path):
    scenario, rows = rows_of("keydoor-5x5")
    with pytest.raises(ValueError, match=r"must end with \.npz"):
        snapshots.save(tmp_path / "worlds.npy", scenario, rows)
    with pytest.raises(ValueError, match="other maximum sizes"):
        snapshots.save(tmp_path / "worlds.npz", Scenario.load("nine-rooms-13x13"), rows)
    snapshots.save(tmp_path / "worlds.npz", scenario, rows)
    with pytest.raises(
        SnapshotError, match="holds worlds of keydoor-5x5 that nine-rooms-13x13 cannot"
    ):
        snapshots.load(tmp_path / "worlds.npz", Scenario.load("nine-rooms-13x13"))
    with pytest.raises(SnapshotError, match=r"none\.npz cannot be read: No such file"):
        snapshots.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "other.npz", rows=np.zeros(3))
    np.save(tmp_path / "array.npz.npy", np.zeros(3))
    for name in ("text.npz", "other.npz", "array.npz.npy"):
        with pytest.raises(SnapshotError, match="is no snapshot of GV Engine"):
            snapshots.load(tmp_path / name)


def begun(*words):
    return play.begin(parser().parse_args(["play", *map(str, words)]))


@pytest.mark.parametrize("level", ["keydoor-5x5", "medley-7x7"])
def test_any_row_opens_as_a_game(tmp_path, level):
    envs = GridVectorEnv(level, 4, world="object", copy=True)
    envs.reset(seed=0)
    envs.step([0, 4, 5, 0])
    file = tmp_path / "worlds.npz"
    snapshots.save(file, envs.scenario, envs.snapshot())
    for row in range(4):
        game = begun("--from", file, "--row", row)
        shown, rewards, *_ = envs.step([4] * 4)
        game.step("TURN_LEFT")
        frame = game.frame()
        assert np.array_equal(frame.observation, shown["grid"][row])
        assert (frame.reward, frame.steps) == (rewards[row], 2)
        envs.restore(snapshots.load(file)[1])
    with pytest.raises(UsageError, match=r"--row 4: .* has 4 worlds"):
        begun("--from", file, "--row", 4)
    with pytest.raises(SnapshotError, match="holds worlds of"):
        begun("nine-rooms-13x13", "--from", file)
    with pytest.raises(UsageError, match="--seed 3: the world of --from is drawn already"):
        begun("--from", file, "--seed", 3)
    with pytest.raises(UsageError, match="--row 1 is a world of a file; give it by --from"):
        begun("empty-4x4", "--row", 1)
    assert begun("empty-4x4", "--seed", 3).seed == 3


# ---- what is no world ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("height", 90), ("steps", -5), ("at", 120), ("capacity", 9), ("free", 0)],
)
def test_damaged_rows_are_refused(name, value):
    for world in ("compiled", "object"):
        env = GridEnv("keydoor-5x5", world=world)
        env.reset(seed=0)
        row = env.snapshot()
        row[name] = value
        with pytest.raises(ValueError, match=f"the snapshot is damaged: {name} is {value}"):
            env.restore(row)


def test_an_agent_beyond_the_grid_is_refused():
    env = GridEnv("keydoor-5x5")
    env.reset(seed=0)
    row = env.snapshot()
    row["position"]["y"][1] = 100
    with pytest.raises(ValueError, match="the agent's y is 100"):
        env.restore(row)


def test_worlds_that_go_on_by_other_rules_are_told_of(tmp_path):
    envs = GridVectorEnv("keydoor-5x5", 2)
    envs.reset(seed=0)
    snapshots.save(tmp_path / "worlds.npz", envs.scenario, envs.snapshot())
    with pytest.warns(UserWarning, match="go on by the rules of keydoor-7x7"):
        snapshots.load(tmp_path / "worlds.npz", Scenario.load("keydoor-7x7"))
