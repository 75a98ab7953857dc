"""Rollouts on disk that are damaged: what is wrong is told, with its file."""

from __future__ import annotations

import json
import os
import re
import threading
import zlib
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from gv_engine import GridVectorEnv, Scenario
from gv_engine.rollout import episode_folder
from gv_engine.rollout import episode_folder as tallies
from gv_engine.rollout.episode_folder import (
    EpisodeFolder,
    EpisodeStats,
    GrowingArray,
    RolloutError,
    episode_rows,
)
from gv_engine.rollout.policy import (
    ActionSequence,
    PolicyError,
    load_policies,
    load_policy,
)
from gv_engine.rollout.rollout import rollout, rows_of_steps
from gv_engine.rollout.shards import Job, ShardPlayer
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.loading import load_reference
from tests.comparing import same
from tests.rollout.test_rollout import CASES, made

OBJECTS = {"world": "object"}


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
    assert np.array_equal(episode_folder.read_bounds(about["arrays"]["grid"])[1], space.high)
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


def test_arrays_without_checksums_are_told(folder: Path):
    about = json.loads((folder / "rollout.json").read_bytes())
    del about["arrays"]["reward"]["crc32"]
    damage(folder, **about)
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    with pytest.raises(RolloutError, match="the crc32 of reward is None"):
        EpisodeFolder(folder, env, {}, go_on=True)


def test_a_flipped_bit_is_told(folder: Path):
    for file in folder.glob("*.npy"):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(RolloutError, match=f"{file} is damaged: its checksum"):
            episode_folder.read(folder)
        if file.stem != "episode_start":  # whose order is always looked at
            assert len(episode_folder.read(folder, check=False)[0]["episode_seed"]) == 3
        file.write_bytes(whole)
    episode_folder.read(folder)


def test_an_interrupted_write_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    written = EpisodeFolder(tmp_path / "out", env, {})
    count, calls = GrowingArray.set_count, iter(range(9))

    def full(array: GrowingArray, number: int) -> None:
        count(array, number)
        if next(calls, 0) == 3:
            raise OSError("full")

    for number, episode in enumerate(
        rollout(env, load_policy("random", 1, len(env.scenario.actions)), 3, 0, True)
    ):
        written.append(episode)
        with monkeypatch.context() as patched:
            patched.setattr(GrowingArray, "set_count", full)
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
    with pytest.raises(RolloutError, match=f"{file} is damaged: it holds Python objects"):
        episode_folder.read(folder)


@pytest.mark.parametrize("starts", [[0, 0, 5], [0, 5, 4], [1, 2, 3], [-1, 1, 2], [0, 1, 10**6]])
def test_episodes_that_do_not_follow_each_other_are_told(folder: Path, starts: list[int]):
    np.save(folder / "episode_start.npy", np.array(starts))
    with pytest.raises(RolloutError, match="out is damaged: its episodes do not begin one behind"):
        episode_folder.read(folder, check=False)
    about = json.loads((folder / "rollout.json").read_text())
    del about["arrays"]["episode_start"]
    damage(folder, arrays=about["arrays"])
    with pytest.raises(RolloutError, match="episode_start is missing among its arrays"):
        episode_folder.read(folder)


def test_bounds_are_not_compared_as_a_huge_table(folder: Path):
    kind = {"dtype": "u1", "shape": [2000, 2000, 100]}
    bounds = {"low": np.zeros((2000, 1, 1)).tolist(), "high": np.ones((1, 2000, 100)).tolist()}
    with pytest.raises(ValueError, match="bounds of two shapes"):
        episode_folder.read_bounds(kind | bounds)


@pytest.mark.parametrize(
    "changes",
    [
        *({"steps": number} for number in ("a", -1, 1.5, None, True, 2**62, [1])),
        *({"arrays": 7}, {"arrays": []}, {"arrays": {"a": 7}}, {"arrays": {"a": {}}}),
        *({"arrays": {name: {}}} for name in ("../a", "y" * 5000)),
        *({"arrays": {"a": {"dtype": kind, "shape": [1]}}} for kind in ("what", 7, [["a"]])),
        *({"scenario": known} for known in (None, 5, "x")),
        {"arrays": {"a": {"dtype": "u1", "shape": [-1]}}},
        {"arrays": {"a": {"dtype": "u1", "shape": [1] * 64, "crc32": 0}}},
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


KIND: dict[str, Any] = {"dtype": "|u1", "shape": [2], "crc32": 0}


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("y" * 82, KIND, "y' is no name of an array"),
        ("../a", KIND, "'../a' is no name of an array"),
        ("", KIND, "'' is no name of an array"),
        ("a/b", KIND, "'a/b' is no name of an array"),
        ("a", {**KIND, "crc32": "0"}, "the crc32 of a is '0'"),
        ("a", {**KIND, "crc32": True}, "the crc32 of a is True"),
        ("a", {**KIND, "shape": [1] * 17}, "a row of a has 17 axes"),
        ("a", {**KIND, "low": 3, "high": 2}, "no bounds: 3 to 2"),
    ],
)
def test_an_array_that_is_none_is_told(folder: Path, name: str, kind: Any, told: str):
    arrays = json.loads((folder / "rollout.json").read_text())["arrays"]
    damage(folder, arrays={**arrays, name: kind})
    with pytest.raises(RolloutError, match=f"rollout.json is damaged, .*{re.escape(told)}"):
        episode_folder.read(folder)


@pytest.mark.parametrize("name", ["action", "reward", "episode_start", "episode_seed"])
def test_an_array_that_is_missing_is_told(folder: Path, name: str):
    arrays = json.loads((folder / "rollout.json").read_text())["arrays"]
    del arrays[name]
    damage(folder, arrays=arrays)
    with pytest.raises(RolloutError, match=f"{name} is missing among its arrays"):
        episode_folder.read(folder)


def test_other_arrays_are_read_too(folder: Path):
    """With as long a name, and as many axes, as there may be."""
    about = json.loads((folder / "rollout.json").read_text())
    name, rows = "y" * 81, np.ones((about["steps"], *[1] * 15, 2), np.uint8)
    kind = {**KIND, "shape": [*[1] * 15, 2], "crc32": zlib.crc32(rows.data), "low": 1, "high": 1}
    np.save(folder / f"{name}.npy", rows)
    damage(folder, arrays={**about["arrays"], name: kind})
    assert np.array_equal(episode_folder.read(folder)[0][name], rows)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ({"dtype": "|u1", "shape": [2]}, [0, 0], [255, 255]),
        ({"dtype": "<i2", "shape": []}, -(2**15), 2**15 - 1),
        ({"dtype": "|u1", "shape": [2, 2], "low": 1, "high": [3, 4]}, [[1, 1]] * 2, [[3, 4]] * 2),
        ({"dtype": "|u1", "shape": [1], "low": 7, "high": 7}, [7], [7]),
    ],
)
def test_bounds_are_those_of_rows(kind: dict[str, Any], low: Any, high: Any):
    found = episode_folder.read_bounds(kind)
    assert [bound.tolist() for bound in found] == [low, high]
    assert {bound.dtype.str for bound in found} == {kind["dtype"]}


@pytest.mark.parametrize("change", [{"source": None}, {"changes": -1}, {"changes": {"a": 1}}])
def test_a_scenario_that_cannot_be_found_again_is_told(folder: Path, change: dict[str, Any]):
    known = episode_folder.read(folder)[1]["scenario"] | change
    damage(folder, scenario=known)
    with pytest.raises(RolloutError, match="is damaged"):
        episode_folder.read(folder)
    with pytest.raises(ScenarioError, match="refers to no scenario"):
        load_reference(known)


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


def test_an_empty_folder_is_as_good_as_a_new_one(tmp_path: Path):
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    there, file = tmp_path / "there", tmp_path / "file"
    there.mkdir()
    file.touch()
    EpisodeFolder(there, env, {}).close(complete=True)
    assert len(episode_folder.read(there)[0]["episode_seed"]) == 0
    for path in (there, file, tmp_path):
        with pytest.raises(FileExistsError, match="is there already; give the name of a new"):
            EpisodeFolder(path, env, {})


# ---- what is in it -----------------------------------------------------------------------------


def played(document: Any, text: str, episodes: int, first: int = 0) -> tuple[Any, list[Any]]:
    """Return an environment and the episodes of a rollout in it."""
    scenario = Scenario.load(document)
    env = made(scenario, 2)
    policy = load_policies(text, scenario, 2, env.num_actions)
    return env, [*rollout(env, policy, episodes, 5, True, first, True)]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("name", ["mixture", "mission", "fewer"])
def test_files_hold_the_episodes_however_they_were_added(tmp_path: Path, name: str):
    document, text, _, _ = CASES[name]
    env, episodes = played(document, text, 7)
    whole = EpisodeFolder(tmp_path / "whole", env, {"more": [1]}, masks=True)
    for episode in episodes:
        whole.append(episode)
    assert (whole.episodes, whole.steps) == (0, 0)
    whole.close(complete=True)
    lengths = [episode.length for episode in episodes]
    assert (whole.episodes, whole.steps) == (7, sum(lengths))

    first = EpisodeFolder(tmp_path / "parts", env, {"more": [1]}, masks=True)
    for episode in episodes[:2]:
        first.append(episode)
    first.flush()
    assert not episode_folder.read(tmp_path / "parts")[1]["complete"]
    first.extend(episode_rows(episodes[2:4]))
    assert not episode_folder.read(tmp_path / "parts")[1]["complete"]
    first.close(complete=False)
    _, about = episode_folder.read(tmp_path / "parts")
    assert (about["complete"], about["episodes"], about["steps"]) == (False, 4, sum(lengths[:4]))
    for name_, kind in about["arrays"].items():  # what was not counted when the process was killed
        rows = np.zeros((9, *kind["shape"]), kind["dtype"])
        with (tmp_path / "parts" / f"{name_}.npy").open("ab") as file:
            file.write(rows.tobytes())
    again, rest = played(document, text, 3, first=4)
    second = EpisodeFolder(tmp_path / "parts", again, {"more": [1]}, go_on=True, masks=True)
    assert (second.episodes, second.steps) == (4, sum(lengths[:4]))
    for episode in rest:
        second.append(episode)
    second.close(complete=True)
    assert bytes_of(tmp_path / "parts") == bytes_of(tmp_path / "whole")

    arrays, about = episode_folder.read(tmp_path / "whole")
    kinds = rows_of_steps(env, masks=True)
    starts = [sum(lengths[:k]) for k in range(7)]
    assert arrays["episode_start"].tolist() == starts
    for k, (start, episode) in enumerate(zip(starts, episodes, strict=True)):
        for name_ in kinds:
            rows = arrays[name_][start : start + episode.length]
            assert np.array_equal(rows, episode.steps[name_]), name_
        for name_ in ("seed", "member", "success"):
            if (array := arrays.get(f"episode_{name_}")) is not None:
                assert array[k] == getattr(episode, name_)
        for name_ in env.recorded:
            assert np.array_equal(arrays[f"last_{name_}"][k], episode.last[name_])
    assert ("episode_success" in arrays) == (name != "mixture")
    assert about["format"] == 1
    assert about["reward_names"] == list(env.scenario.reward_names)
    assert about["more"] == [1]
    assert env.labels.items() <= about.items()
    for name_ in env.recorded:
        space, kind = env.single_observation_space[name_], about["arrays"][name_]
        low, high = episode_folder.read_bounds({**kind, "shape": space.shape})
        assert np.array_equal(low, space.low)
        assert np.array_equal(high, space.high)
        assert np.ndim(kind["low"]) <= 1


@pytest.mark.sample("-7")
@pytest.mark.parametrize("chunk", [1, 2, 7, 100])
@pytest.mark.parametrize("name", ["draws", "mixture", "mission", "all", "any", "fewer"])
def test_a_tally_of_a_folder_is_that_of_its_episodes(
    tmp_path: Path, name: str, chunk: int, monkeypatch: pytest.MonkeyPatch
):
    """However many are read at once."""
    monkeypatch.setattr(tallies, "_CHUNK_EPISODES", chunk)
    document, text, _, _ = CASES[name]
    env, episodes = played(document, text, 7)
    folder, one, kept = EpisodeFolder(tmp_path / "out", env, {}), EpisodeStats(), EpisodeStats()
    for episode in episodes:
        one.add(episode)
        folder.append(episode)
    folder.close(complete=True)
    arrays, _ = episode_folder.read(tmp_path / "out")
    kept.add_folder(env.scenario, arrays)
    names = env.scenario.reward_names
    assert kept.rows(names, 2.0, kept) == one.rows(names, 2.0, one)
    assert kept.episodes == 7
    new = EpisodeStats()
    new.add(episodes[0])
    rows = dict(kept.rows(names, 2.0, new))
    assert (rows["new episodes"], "new episodes" in dict(one.rows(names, 2.0, one))) == ("1", False)
    assert rows["steps per second"] == f"{episodes[0].length / 2:,.0f}"
    none = {key: array[:0] for key, array in arrays.items()}
    before = kept.rows(names, 2.0, kept)
    kept.add_folder(env.scenario, none)
    assert kept.rows(names, 2.0, kept) == before


def test_a_tally_of_members_that_are_not_there_is_damaged():
    document, text, _, _ = CASES["fewer"]
    env, episodes = played(document, text, 3)
    rows = {**episode_rows(episodes), "episode_member": np.array([0, 1, 2])}
    with pytest.raises(RolloutError, match="its members are not there"):
        EpisodeStats().add_folder(env.scenario, rows)


def test_a_folder_that_is_given_up_is_gone(tmp_path: Path):
    env, episodes = played("empty-4x4", "random", 1)
    for others in ((), ("notes",)):
        folder = EpisodeFolder(tmp_path / "out", env, {})
        for name in others:
            (tmp_path / "out" / name).touch()
        folder.append(episodes[0])
        folder.flush()
        folder.remove()
        left = [path.name for path in tmp_path.rglob("*")]
        assert sorted(left) == sorted([*others, *(["out"] if others else [])])


@pytest.mark.parametrize("kind", [os.symlink, os.link, None])
def test_nothing_is_written_before_all_files_are_known_to_be_its_own(folder: Path, kind: Any):
    """The folder may be from somebody else."""
    outside = folder.parent / "outside"
    member = folder / "last_item.npy"  # written last
    if kind is None:
        np.save(member, np.zeros((1, 3), np.uint8))  # fewer rows than are counted
    else:
        member.rename(outside)
        kind(outside, member)
    before = {file: file.read_bytes() for file in folder.parent.rglob("*.*")}
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    with pytest.raises((OSError, RolloutError), match=r"last_item\.npy"):
        EpisodeFolder(folder, env, {}, go_on=True)
    assert {file: file.read_bytes() for file in folder.parent.rglob("*.*")} == before


def test_a_link_in_place_of_the_listing_is_not_followed(tmp_path: Path):
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    folder, outside = EpisodeFolder(tmp_path / "out", env, {}), tmp_path / "outside"
    outside.touch()
    for episode in rollout(env, load_policy("random", 1, len(env.scenario.actions)), 1, 0, True):
        folder.append(episode)
    folder.flush()
    (tmp_path / "out" / "rollout.json").unlink()
    (tmp_path / "out" / "rollout.json").symlink_to(outside)
    with pytest.raises(OSError, match=r"rollout\.json"):
        folder.close(complete=True)
    assert outside.read_text() == ""


def test_a_failed_write_leaves_arrays_of_equal_lengths(tmp_path: Path, monkeypatch: Any):
    env = GridVectorEnv("empty-4x4", 1, world="object", autoreset_mode="Disabled")
    folder, policy = EpisodeFolder(tmp_path / "out", env, {}), load_policy("random", 1, 3)
    first, second = rollout(env, policy, 2, 0, True)
    folder.extend(episode_rows([first]))
    write, left = GrowingArray.write, [None] * 3

    def fail(array: GrowingArray, *arguments: Any) -> None:
        if not left:
            raise OSError("full")
        left.pop()
        write(array, *arguments)

    monkeypatch.setattr(GrowingArray, "write", fail)
    with pytest.raises(OSError, match="full"):
        folder.extend(episode_rows([second]))
    steps = {len(np.load(tmp_path / "out" / f"{name}.npy")) for name in ("grid", "item", "action")}
    folder.remove()
    assert steps == {first.length}


def test_bounds_of_a_number_are_its_least_and_greatest_values():
    assert episode_folder._space_bounds(Discrete(4, start=2)) == {"low": 2, "high": 5}


MADE_WITH = {"policy": "./a.py:act", "policy_digest": "1", "levels": "a.json", "level_seeds": [3]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"levels": "elsewhere/a.json", "policy": "/there/a.py:act"}, ""),
        ({"policy": "./a.py:other"}, r'its policy is "./a.py:act", not "./a.py:other";'),
        ({"policy_digest": "2"}, 'its policy_digest is "1", not "2"; go on with the options'),
        ({"level_seeds": [4]}, "its levels is "),
        ({"more": 7}, "its more is null, not 7"),
    ],
)
def test_only_the_same_rollout_goes_on(tmp_path: Path, change: dict[str, Any], told: str):
    env, _ = played("empty-4x4", "random", 1)
    EpisodeFolder(tmp_path / "out", env, MADE_WITH).close(complete=False)
    with pytest.raises(RolloutError, match=told) if told else nullcontext():
        EpisodeFolder(tmp_path / "out", env, MADE_WITH | change, go_on=True).close(complete=True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"masks": True}, "its action_mask.npy is null, not "),
        ({"document": "empty-8x8"}, "its scenario is "),
        ({"more": {}}, "its policy is .*, not null"),
    ],
)
def test_other_files_do_not_go_on(tmp_path: Path, options: dict[str, Any], told: str):
    env, _ = played("empty-4x4", "random", 1)
    EpisodeFolder(tmp_path / "out", env, MADE_WITH).close(complete=False)
    other, _ = played(options.pop("document", "empty-4x4"), "random", 1)
    with pytest.raises(RolloutError, match=told):
        EpisodeFolder(tmp_path / "out", other, **{"more": MADE_WITH, "go_on": True, **options})


@pytest.mark.compiled
def test_a_shard_holds_the_rows_of_its_episodes():
    document, text = "empty-4x4", "valid"
    job = Job(Scenario.load(document), text, 5, 2, keep=True, masks=True, options=OBJECTS)
    shard = ShardPlayer(job).play(3, 4)
    _, episodes = played(document, text, 4, first=3)
    assert same(shard.rows, episode_rows(episodes))
    assert (shard.stats.episodes, shard.seconds > 0) == (4, True)
    assert ShardPlayer(replace(job, keep=False)).play(3, 4).rows == {}


@pytest.mark.compiled
def test_a_shard_of_known_ways_goes_them():
    ways = (ActionSequence(8, (4, 5, 4)), ActionSequence(3, (5, 4)))
    options = {**OBJECTS, "max_steps": 3}
    job = Job(Scenario.load("empty-4x4"), "", 5, 1, keep=True, options=options, sequences=ways[:1])
    rows = ShardPlayer(job).play(0, 1).rows
    assert (rows["action"].tolist(), rows["episode_seed"].tolist()) == ([4, 5, 4], [8])
    with pytest.raises(PolicyError, match="way 1 ends after 2 steps"):
        ShardPlayer(replace(job, sequences=ways)).play(1, 1)


def test_a_run_acts_by_the_default_alone(tmp_path: Path):
    options = {**OBJECTS, "observation_representation": "compact"}
    job = Job(Scenario.load("empty-4x4"), "random", 5, 1, options=options)
    assert job.make_policy(job.make_env(1)).probabilities is not None
    with pytest.raises(PolicyError, match="acts by what the representation default shows"):
        replace(job, policy=str(tmp_path)).make_policy(job.make_env(1))
