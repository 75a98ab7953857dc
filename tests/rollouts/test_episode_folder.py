"""Rollouts on disk that are damaged: what is wrong is told, with its file."""

from __future__ import annotations

import json
import re
import threading
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import GridVectorEnv
from gv_engine.language.errors import ScenarioError
from gv_engine.reading.reference import found_again
from gv_engine.rollouts import episode_folder
from gv_engine.rollouts.episode_folder import EpisodeFolder, RolloutError
from gv_engine.rollouts.growing_array import GrowingArray
from gv_engine.rollouts.policy import load_policy
from gv_engine.rollouts.rollout import rollout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    written = EpisodeFolder(tmp_path / "out", env, {})
    for episode in rollout(env, load_policy("random", 1, len(env.scenario.actions)), 3, 0, True):
        written.append(episode)
    written.close(complete=True)
    return tmp_path / "out"


def damage(folder: Path, **changes: Any) -> None:
    about = json.loads((folder / "rollout.json").read_text())
    (folder / "rollout.json").write_text(json.dumps(about | changes))


def test_what_it_holds_is_declared(folder: Path):
    arrays, about = episode_folder.read(folder)
    grid = {"dtype": "|u1", "shape": [7, 7, 3], "crc32": zlib.crc32(arrays["grid"].data)}
    shown: Any = GridVectorEnv("empty-4x4", 1, world="object").single_observation_space
    space = shown["grid"]
    bounds = {"low": space.low[0, 0].tolist(), "high": space.high[0, 0].tolist()}
    assert about["arrays"]["grid"] == grid | bounds
    assert np.array_equal(episode_folder.bounds_of(about["arrays"]["grid"])[1], space.high)
    assert set(arrays) == set(about["arrays"]) == {file.stem for file in folder.glob("*.npy")}


def test_an_older_one_without_bounds_goes_on(folder: Path):
    whole = (folder / "rollout.json").read_bytes()
    about = json.loads(whole)
    for kind in about["arrays"].values():
        kind.pop("low", None), kind.pop("high", None)
    damage(folder, **about)
    assert b"low" not in (folder / "rollout.json").read_bytes()
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    EpisodeFolder(folder, env, {}, go_on=True).close(complete=True)
    assert (folder / "rollout.json").read_bytes() == whole


def test_a_flipped_bit_is_told(folder: Path):
    for file in folder.glob("*.npy"):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(RolloutError, match=f"{file} is damaged: its checksum"):
            episode_folder.read(folder)
        assert len(episode_folder.read(folder, check=False)[0]["episode_seed"]) == 3
        file.write_bytes(whole)
    episode_folder.read(folder)


def test_an_interrupted_write_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    written = EpisodeFolder(tmp_path / "out", env, {})
    count, calls = GrowingArray.count, iter(range(9))

    def full(array: GrowingArray, number: int) -> None:
        count(array, number)
        if next(calls, 0) == 3:
            raise OSError("full")

    for number, episode in enumerate(
        rollout(env, load_policy("random", 1, len(env.scenario.actions)), 3, 0, True)
    ):
        written.append(episode)
        with monkeypatch.context() as patched:
            patched.setattr(GrowingArray, "count", full)
            with pytest.raises(OSError, match="full") if not number else nullcontext():
                written.flush()
    written.close(complete=True)
    assert len(episode_folder.read(tmp_path / "out")[0]["episode_seed"]) == 3


def written_in_chunks(path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    monkeypatch.setattr(episode_folder, "_CHUNK", chunk)
    env = GridVectorEnv("empty-4x4", 3, world="object", autoreset_mode="Disabled", max_steps=40)
    folder = EpisodeFolder(path, env, {})
    for episode in rollout(env, load_policy("random", 3, len(env.scenario.actions)), 9, 0, True):
        folder.append(episode)
    folder.close(complete=True)
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_files_do_not_tell_in_which_chunks_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    one, many = (written_in_chunks(tmp_path / str(k), k, monkeypatch) for k in (2**14, 20))
    assert one == many
    assert json.loads(one["rollout.json"])["episodes"] == 9


def test_what_cannot_be_written_beside_the_next_steps_is_told_and_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write, fails = GrowingArray.write, iter([True])
    playing = threading.get_ident()

    def full(array: GrowingArray, start: int, rows: Any) -> None:
        if threading.get_ident() != playing and next(fails, False):
            raise OSError("full")
        write(array, start, rows)

    monkeypatch.setattr(GrowingArray, "write", full)
    monkeypatch.setattr(episode_folder, "_CHUNK", 20)
    env = GridVectorEnv("empty-4x4", 2, world="object", autoreset_mode="Disabled", max_steps=40)
    folder, told = EpisodeFolder(tmp_path / "out", env, {}), []
    for episode in rollout(env, load_policy("random", 2, len(env.scenario.actions)), 9, 0, True):
        try:
            folder.append(episode)
        except OSError as error:
            told.append(str(error))
    folder.close(complete=True)
    assert told == [f"{tmp_path / 'out'} cannot be written: full"]
    assert episode_folder.read(tmp_path / "out")[0]["episode_seed"].tolist() == list(range(9))


def test_a_cut_array_is_named(folder: Path):
    file = folder / "reward.npy"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(RolloutError, match=rf"{file} is cut: rollout.json counts \d+ rows"):
        episode_folder.read(folder)
    file.write_bytes(b"\x93NUMPY\x01\x00\xff")
    with pytest.raises(RolloutError, match=f"{file} is damaged"):
        episode_folder.read(folder)
    file.unlink()
    with pytest.raises(RolloutError, match=f"{file} cannot be read: No such file"):
        episode_folder.read(folder)
    np.save(file, np.zeros((999, 2)))
    with pytest.raises(RolloutError, match=f"{file} is no array of float64, as rollout.json says"):
        episode_folder.read(folder)
    np.save(file, np.array([{}] * 999), allow_pickle=True)
    with pytest.raises(RolloutError, match=f"{file} is damaged: it holds objects of Python"):
        episode_folder.read(folder)


@pytest.mark.parametrize(
    "changes",
    [
        *({"steps": number} for number in ("a", -1, 1.5, None, True, 2**70, [1])),
        *({"arrays": 7}, {"arrays": []}, {"arrays": {"a": 7}}, {"arrays": {"a": {}}}),
        *({"arrays": {name: {}}} for name in ("../a", "y" * 5000)),
        *({"arrays": {"a": {"dtype": kind, "shape": [1]}}} for kind in ("what", 7, [["a"]])),
        *({"scenario": known} for known in (None, 5, "x")),
        {"arrays": {"a": {"dtype": "u1", "shape": [-1]}}},
        {"arrays": {"a": {"dtype": "u1", "shape": [10**30]}}},
        *(
            {"arrays": {"a": {"dtype": "u1", "shape": [2], "low": low, "high": high}}}
            for low, high in ((5, 4), (0, 300), ("a", 4), ([0, 0, 0], 4), (None, 4), ({}, 4))
        ),
    ],
)
def test_a_description_that_is_none_is_told(folder: Path, changes: dict[str, Any]):
    damage(folder, **changes)
    with pytest.raises(RolloutError, match=re.escape(str(folder / "rollout.json"))) as error:
        episode_folder.read(folder)
    assert "damaged" in str(error.value)


@pytest.mark.parametrize("change", [{"source": None}, {"changes": -1}, {"changes": {"a": 1}}])
def test_a_scenario_that_cannot_be_found_again_is_told(folder: Path, change: dict[str, Any]):
    known = episode_folder.read(folder)[1]["scenario"] | change
    damage(folder, scenario=known)
    with pytest.raises(RolloutError, match="is damaged"):
        episode_folder.read(folder)
    with pytest.raises(ScenarioError, match="refers to no scenario"):
        found_again(known)


def test_more_rows_than_there_are_take_no_memory(folder: Path):
    damage(folder, steps=10**12)
    with pytest.raises(RolloutError, match="is cut"):
        episode_folder.read(folder)


def test_an_unfinished_one_is_told_to_who_would_write_there(folder: Path):
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    with pytest.raises(FileExistsError, match=r"there already; give the name of a new folder"):
        EpisodeFolder(folder, env, {})
    damage(folder, complete=False)
    with pytest.raises(FileExistsError, match=r"unfinished rollout of which 3 episodes are whole;"):
        EpisodeFolder(folder, env, {})
