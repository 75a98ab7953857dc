"""Rollouts on disk that are damaged: what is wrong is told, with its file."""

from __future__ import annotations

import gzip
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

from gv_engine import Scenario
from gv_engine.envs.rollout import episode_folder, episode_stats
from gv_engine.envs.rollout.episode_folder import (
    EpisodeFolder,
    GrowingArray,
    RolloutError,
    episode_rows,
)
from gv_engine.envs.rollout.episode_stats import EpisodeStats, EpisodeValues
from gv_engine.envs.rollout.policy import ActionSequence, PolicyError, load_policies
from gv_engine.envs.rollout.rollout import describe_step_arrays, rollout
from gv_engine.envs.rollout.shards import Job, ShardPlayer
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.documents.loading import load_reference
from tests.comparing import same
from tests.rollout.test_rollout import CASES, made

OBJECTS = {"world": "object"}


def played(document: Any, text: str, episodes: int, first: int = 0) -> tuple[Any, list[Any]]:
    """Return an environment and the episodes of a rollout in it."""
    scenario = Scenario.load(document)
    env = made(scenario, 2)
    policy = load_policies(text, scenario, 2, env.num_actions)
    return env, [*rollout(env, policy, episodes, 5, True, first, True)]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(scope="module")
def empty() -> tuple[Any, list[Any]]:
    """An environment, and nine episodes of it."""
    return played({"extends": "empty-4x4", "max_steps": 40}, "random", 9)


@pytest.fixture
def env(empty: Any) -> Any:
    return empty[0]


@pytest.fixture
def episodes(empty: Any) -> list[Any]:
    found: list[Any] = empty[1]
    return found


def written(path: Path, env: Any, episodes: list[Any], **options: Any) -> EpisodeFolder:
    """Return a folder, still open, to which episodes were added."""
    folder = EpisodeFolder(path, env, {}, **options)
    for episode in episodes:
        folder.append(episode)
    return folder


@pytest.fixture
def folder(env: Any, episodes: list[Any], tmp_path: Path) -> Path:
    """Three episodes."""
    written(tmp_path / "out", env, episodes[:3]).close(complete=True)
    return tmp_path / "out"


def listing(folder: Path) -> Any:
    return json.loads((folder / "rollout.json").read_text())


def damage(folder: Path, **changes: Any) -> None:
    (folder / "rollout.json").write_text(json.dumps(listing(folder) | changes))


def assert_refused(folder: Path, match: str, **options: Any) -> None:
    with pytest.raises(RolloutError, match=match):
        episode_folder.read(folder, **options)


def test_what_it_holds_is_declared(env: Any, folder: Path):
    arrays, about = episode_folder.read(folder)
    grid = {"dtype": "|u1", "shape": [7, 7, 3], "crc32": zlib.crc32(arrays["grid"].data)}
    space = env.single_observation_space["grid"]
    bounds = {"low": space.low[0, 0].tolist(), "high": space.high[0, 0].tolist()}
    assert about["arrays"]["grid"] == grid | bounds
    assert np.array_equal(episode_folder.read_bounds(about["arrays"]["grid"])[1], space.high)
    assert set(arrays) == set(about["arrays"]) == {file.stem for file in folder.glob("*.npy")}


def test_an_older_one_goes_on_without_bounds_but_not_without_checksums(env: Any, folder: Path):
    whole, arrays = bytes_of(folder), listing(folder)["arrays"]
    for kind in arrays.values():
        kind.pop("low", None), kind.pop("high", None)
    damage(folder, arrays=arrays)
    assert b"low" not in (folder / "rollout.json").read_bytes()
    EpisodeFolder(folder, env, {}, resume=True).close(complete=True)
    assert bytes_of(folder) == whole
    del arrays["reward"]["crc32"]
    damage(folder, arrays=arrays)
    with pytest.raises(RolloutError, match="the crc32 of reward is None"):
        EpisodeFolder(folder, env, {}, resume=True)


def test_compressed_files_hold_the_same_and_go_on(env: Any, episodes: list[Any], tmp_path: Path):
    written(tmp_path / "plain", env, episodes).close(complete=True)
    folder = tmp_path / "small"
    written(folder, env, episodes[:2], compress=True).close(complete=False)
    with (folder / "grid.gz").open("ab") as file:  # as after a kill
        file.write(b"more than is counted")
    assert listing(folder)["steps"] == len(episode_folder.read(folder)[0]["grid"])
    written(folder, env, episodes[2:], resume=True, compress=True).close(complete=True)
    arrays, about = episode_folder.read(folder)
    expected, _ = episode_folder.read(tmp_path / "plain")
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name], strict=True)
    assert {file.suffix for file in folder.iterdir()} == {".gz", ".json"}
    rows = gzip.decompress((folder / "grid.gz").read_bytes())
    assert rows == expected["grid"].tobytes()
    assert about["arrays"]["grid"]["bytes"] == (folder / "grid.gz").stat().st_size < len(rows) / 5
    EpisodeFolder(tmp_path / "empty", env, {}, compress=True).remove()
    assert not (tmp_path / "empty").exists()


def test_damage_of_a_compressed_file_is_told(env: Any, episodes: list[Any], tmp_path: Path):
    folder = tmp_path / "small"
    written(folder, env, episodes[:3], compress=True).close(complete=True)
    file, whole = folder / "grid.gz", (folder / "grid.gz").read_bytes()
    for content in (b"", b"no gzip at all", whole[:-40], whole[:20] + bytes(30) + whole[50:]):
        file.write_bytes(content)
        assert_refused(folder, f"{file} is damaged")
    file.write_bytes(whole)
    damage(folder, steps=2**60)
    assert_refused(folder, "damaged: it is cut")  # before memory for them is taken
    for wrong in ({"compression": "bz2"}, {"arrays": {"grid": {"bytes": -1}}}):
        damage(folder, **wrong)
        assert_refused(folder, r"rollout\.json is damaged")


def test_a_flipped_bit_is_told(folder: Path):
    for file in folder.glob("*.npy"):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert_refused(folder, f"{file} is damaged: its checksum")
        if file.stem != "episode_start":  # whose order is always looked at
            assert len(episode_folder.read(folder, check=False)[0]["episode_seed"]) == 3
        file.write_bytes(whole)
    episode_folder.read(folder)


def test_an_interrupted_write_is_done_again(env: Any, episodes: list[Any], tmp_path, monkeypatch):
    written = EpisodeFolder(tmp_path / "out", env, {})
    count, calls = GrowingArray.set_count, iter(range(9))

    def full(array: GrowingArray, number: int) -> None:
        count(array, number)
        if next(calls, 0) == 3:
            raise OSError("full")

    written.append(episodes[0])
    with monkeypatch.context() as patched:
        patched.setattr(GrowingArray, "set_count", full)
        with pytest.raises(OSError, match="full"):
            written.flush()
    for episode in episodes[1:]:
        written.append(episode)
        written.flush()
    written.close(complete=True)
    assert len(episode_folder.read(tmp_path / "out")[0]["episode_seed"]) == 9


def test_chunks_do_not_show_in_files_and_a_failed_one_is_told_and_written_again(
    env: Any, episodes: list[Any], tmp_path: Path, monkeypatch
):
    write, playing, fails = GrowingArray.write, threading.get_ident(), list[str]()
    goes_on = threading.Event()

    def full(array: GrowingArray, start: int, rows: Any) -> None:
        if threading.get_ident() != playing:
            goes_on.wait()
            if fails:
                raise OSError(fails.pop())
        write(array, start, rows)

    monkeypatch.setattr(GrowingArray, "write", full)  # called beside the next steps
    told, files, counted = [], [], []
    for name, chunk, uncounted, waiting in (
        ("one", 2**14, 2**14, 1),
        ("many", 20, 20, 1),
        ("full", 20, 2**14, 1),
        ("waiting", 20, 2**14, 2**14),
    ):
        monkeypatch.setattr(episode_folder, "_CHUNK", chunk)
        monkeypatch.setattr(episode_folder, "_MAX_UNCOUNTED", uncounted)
        monkeypatch.setattr(episode_folder, "_MAX_WAITING_BYTES", waiting)
        fails += ["full"] * (name == "full")
        goes_on.clear() if name == "waiting" else goes_on.set()
        folder = EpisodeFolder(tmp_path / name, env, {})
        for episode in episodes:
            try:
                folder.append(episode)
            except OSError as error:
                told.append(str(error))
        counted.append(listing(tmp_path / name)["episodes"])
        goes_on.set()
        folder.close(complete=True)
        files.append(bytes_of(tmp_path / name))
    assert told == [f"{tmp_path / 'full'} cannot be written: full"]
    assert counted[3] == 0, "the thread that writes has begun"
    assert files[0] == files[1] == files[2] == files[3]
    assert json.loads(files[0]["rollout.json"])["episodes"] == 9


def test_a_caller_waits_for_a_slow_disk(env: Any, episodes: list[Any], tmp_path: Path, monkeypatch):
    write, counts = GrowingArray.write, []

    def slow(array: GrowingArray, start: int, rows: Any) -> None:
        counts.append(len(writer._tasks))
        write(array, start, rows)

    monkeypatch.setattr(GrowingArray, "write", slow)
    monkeypatch.setattr(episode_folder, "_CHUNK", 1)
    monkeypatch.setattr(episode_folder, "_MAX_WAITING_BYTES", 1)
    writer = EpisodeFolder(tmp_path / "out", env, {})
    for episode in episodes:
        writer.append(episode)
        assert len(writer._tasks) <= 1
    writer.close(complete=True)
    assert max(counts) <= 2
    assert len(episode_folder.read(tmp_path / "out")[0]["episode_seed"]) == 9


def test_a_cut_array_is_named(folder: Path):
    file = folder / "reward.npy"
    file.write_bytes(file.read_bytes()[:-1])
    assert_refused(folder, rf"{file} is cut: rollout.json counts \d+ rows")
    file.write_bytes(b"\x93NUMPY\x01\x00\xff")
    assert_refused(folder, f"{file} is damaged")
    file.unlink()
    assert_refused(folder, f"{file} cannot be read: No such file")
    np.save(file, np.zeros((999, 2)))
    assert_refused(folder, f"{file} is no array of float64, as rollout.json says")
    np.save(file, np.array([{}] * 999), allow_pickle=True)
    assert_refused(folder, f"{file} is damaged: it holds Python objects")
    damage(folder, steps=10**12)  # which takes no memory
    assert_refused(folder, "is cut")


@pytest.mark.parametrize("starts", [[0, 0, 5], [0, 5, 4], [1, 2, 3], [-1, 1, 2], [0, 1, 10**6]])
def test_episodes_that_do_not_follow_each_other_are_told(folder: Path, starts: list[int]):
    np.save(folder / "episode_start.npy", np.array(starts))
    assert_refused(folder, "out is damaged: its episodes do not begin one behind", check=False)


def test_bounds_are_not_compared_as_a_huge_table(folder: Path):
    kind = {"dtype": "u1", "shape": [2000, 2000, 100]}
    bounds = {"low": np.zeros((2000, 1, 1)).tolist(), "high": np.ones((1, 2000, 100)).tolist()}
    with pytest.raises(ValueError, match="bounds of two shapes"):
        episode_folder.read_bounds(kind | bounds)


@pytest.mark.parametrize(
    "changes",
    [
        *({"steps": number} for number in ("a", -1, 1.5, None, True, 2**62, [1])),
        *({"scenario": known} for known in (None, 5, "x")),
        *({"arrays": 7}, {"arrays": []}),
    ],
)
def test_a_description_that_is_none_is_told(folder: Path, changes: dict[str, Any]):
    damage(folder, **changes)
    assert_refused(folder, f"{re.escape(str(folder / 'rollout.json'))} is damaged")


KIND: dict[str, Any] = {"dtype": "|u1", "shape": [2], "crc32": 0}


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        *((name, None, f"{name} is missing among its arrays") for name in ("action", "reward")),
        *((f"episode_{name}", None, f"{name} is missing among") for name in ("start", "seed")),
        ("y" * 82, KIND, "y' is no name of an array"),
        *((name, KIND, f"'{name}' is no name of an array") for name in ("../a", "", "a/b")),
        ("a", 7, ""),
        ("a", {}, ""),
        *(("a", {**KIND, "dtype": dtype}, "") for dtype in ("what", 7, [["a"]])),
        *(("a", {**KIND, "shape": shape}, "") for shape in ([-1], [1] * 64, [10**30])),
        ("a", {**KIND, "shape": [1] * 17}, "a row of a has 17 axes"),
        *(("a", {**KIND, "crc32": crc}, f"the crc32 of a is {crc!r}") for crc in ("0", True)),
        ("a", {**KIND, "low": 3, "high": 2}, "no bounds: 3 to 2"),
        *(("a", {**KIND, "low": low, "high": 4}, "") for low in (5, "a", [0, 0, 0], None)),
        ("a", {**KIND, "low": {}, "high": 4}, ""),
        ("a", {**KIND, "low": 0, "high": 300}, ""),
    ],
)
def test_an_array_that_is_none_is_told(folder: Path, name: str, kind: Any, told: str):
    arrays = {**listing(folder)["arrays"], name: kind}
    if kind is None:
        del arrays[name]
    damage(folder, arrays=arrays)
    assert_refused(folder, f"rollout.json is damaged, .*{re.escape(told)}")


def test_other_arrays_are_read_too(folder: Path):
    """With as long a name, and as many axes, as there may be."""
    about = listing(folder)
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
    assert_refused(folder, "is damaged")
    with pytest.raises(ScenarioError, match="refers to no scenario"):
        load_reference(known)


def test_a_folder_is_new_or_empty(env: Any, folder: Path):
    there, file = folder.parent / "there", folder.parent / "file"
    there.mkdir()
    file.touch()
    assert_refused(there, "holds no rollout")
    EpisodeFolder(there, env, {}).close(complete=True)
    assert len(episode_folder.read(there)[0]["episode_seed"]) == 0
    for path in (there, file, folder.parent, folder):
        with pytest.raises(
            FileExistsError, match="is there already; give the name of a new folder"
        ):
            EpisodeFolder(path, env, {})
    damage(folder, complete=False)
    with pytest.raises(
        FileExistsError, match=r"of which 3 episodes are whole; continue it with --resume, or give"
    ):
        EpisodeFolder(folder, env, {})


# ---- what is in it -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mixture", "mission", "fewer"])
def test_files_hold_the_episodes_however_they_were_added(tmp_path: Path, name: str):
    document, text, _, _ = CASES[name]
    env, episodes = played(document, text, 7)
    lengths = [episode.length for episode in episodes]
    whole = written(tmp_path / "whole", env, episodes, masks=True)
    assert (whole.episodes, whole.steps) == (0, 0)
    whole.close(complete=True)
    assert (whole.episodes, whole.steps) == (7, sum(lengths))

    parts = tmp_path / "parts"
    first = written(parts, env, episodes[:2], masks=True)
    first.flush()
    assert not episode_folder.read(parts)[1]["complete"]
    first.extend(episode_rows(episodes[2:4]))
    assert not episode_folder.read(parts)[1]["complete"]
    first.close(complete=False)
    _, about = episode_folder.read(parts)
    assert (about["complete"], about["episodes"], about["steps"]) == (False, 4, sum(lengths[:4]))
    for name_, kind in about["arrays"].items():  # what was not counted when the process was killed
        rows = np.zeros((9, *kind["shape"]), kind["dtype"])
        with (parts / f"{name_}.npy").open("ab") as file:
            file.write(rows.tobytes())
    again, rest = played(document, text, 3, first=4)
    second = EpisodeFolder(parts, again, {}, resume=True, masks=True)
    assert (second.episodes, second.steps) == (4, sum(lengths[:4]))
    second.extend(episode_rows(rest))
    second.close(complete=True)
    assert bytes_of(parts) == bytes_of(tmp_path / "whole")

    arrays, about = episode_folder.read(tmp_path / "whole")
    kinds = describe_step_arrays(env, masks=True)
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
def test_a_tally_of_a_folder_is_that_of_its_episodes(tmp_path, name, chunk, monkeypatch):
    """However many are read at once."""
    monkeypatch.setattr(episode_stats, "_CHUNK_EPISODES", chunk)
    document, text, _, _ = CASES[name]
    env, episodes = played(document, text, 7)
    one, kept = EpisodeStats(), EpisodeStats()
    for episode in episodes:
        one.add(EpisodeValues.of_episodes([episode]))
    written(tmp_path / "out", env, episodes).close(complete=True)
    arrays, _ = episode_folder.read(tmp_path / "out")
    kept.add_folder(env.scenario, arrays)
    names = env.scenario.reward_names
    assert kept.rows(names, 2.0) == one.rows(names, 2.0)
    if env.agent_shape == ():  # sums over agents are rounded in another order
        assert kept.sums.tolist() == one.sums.tolist()
    assert kept.episodes == 7
    rows = dict(kept.rows(names, 2.0, (6, kept.steps - 9)))
    assert (rows["new episodes"], "new episodes" in dict(one.rows(names, 2.0))) == ("1", False)
    assert rows["steps per second"] == "4"  # of 4.5
    none = {key: array[:0] for key, array in arrays.items()}
    before = kept.rows(names, 2.0)
    kept.add_folder(env.scenario, none)
    assert kept.rows(names, 2.0) == before


def test_a_tally_of_members_that_are_not_there_is_damaged():
    document, text, _, _ = CASES["fewer"]
    env, episodes = played(document, text, 3)
    rows = {**episode_rows(episodes), "episode_member": np.array([0, 1, 2])}
    with pytest.raises(RolloutError, match="its members are not there"):
        EpisodeStats().add_folder(env.scenario, rows)


def test_a_folder_that_is_given_up_is_gone(env: Any, episodes: list[Any], tmp_path: Path):
    for others in ((), ("notes",)):
        folder = written(tmp_path / "out", env, episodes[:1])
        for name in others:
            (tmp_path / "out" / name).touch()
        folder.flush()
        folder.remove()
        left = [path.name for path in tmp_path.rglob("*")]
        assert sorted(left) == sorted([*others, *(["out"] if others else [])])


@pytest.mark.parametrize("kind", [os.symlink, os.link, None])
def test_nothing_is_written_before_all_files_are_known_to_be_its_own(env, folder: Path, kind: Any):
    """The folder may be from somebody else."""
    outside = folder.parent / "outside"
    member = folder / "last_item.npy"  # written last
    if kind is None:
        np.save(member, np.zeros((1, 3), np.uint8))  # fewer rows than are counted
    else:
        member.rename(outside)
        kind(outside, member)
    before = {file: file.read_bytes() for file in folder.parent.rglob("*.*")}
    with pytest.raises((OSError, RolloutError), match=r"last_item\.npy"):
        EpisodeFolder(folder, env, {}, resume=True)
    assert {file: file.read_bytes() for file in folder.parent.rglob("*.*")} == before


def test_a_link_in_place_of_the_listing_is_not_followed(env, episodes, tmp_path: Path):
    folder, outside = written(tmp_path / "out", env, episodes[:1]), tmp_path / "outside"
    outside.touch()
    folder.flush()
    (tmp_path / "out" / "rollout.json").unlink()
    (tmp_path / "out" / "rollout.json").symlink_to(outside)
    with pytest.raises(OSError, match=r"rollout\.json"):
        folder.close(complete=True)
    assert outside.read_text() == ""


def test_a_failed_write_leaves_arrays_of_equal_lengths(env, episodes, tmp_path: Path, monkeypatch):
    folder = EpisodeFolder(tmp_path / "out", env, {})
    folder.extend(episode_rows(episodes[:1]))
    write, left = GrowingArray.write, [None] * 3

    def fail(array: GrowingArray, *arguments: Any) -> None:
        if not left:
            raise OSError("full")
        left.pop()
        write(array, *arguments)

    monkeypatch.setattr(GrowingArray, "write", fail)
    with pytest.raises(OSError, match="full"):
        folder.extend(episode_rows(episodes[1:2]))
    steps = {len(np.load(tmp_path / "out" / f"{name}.npy")) for name in ("grid", "item", "action")}
    folder.remove()
    assert steps == {episodes[0].length}


def test_bounds_of_a_number_are_its_least_and_greatest_values():
    assert episode_folder._describe_bounds(Discrete(4, start=2)) == {"low": 2, "high": 5}


MADE_WITH = {"policy": "./a.py:act", "policy_digest": "1", "levels": "a.json", "level_seeds": [3]}


@pytest.mark.parametrize(
    ("more", "options", "told"),
    [
        ({"levels": "elsewhere/a.json", "policy": "/there/a.py:act"}, {}, ""),
        ({"policy": "./a.py:other"}, {}, r'its policy is "./a.py:act", not "./a.py:other";'),
        ({"policy_digest": "2"}, {}, 'its policy_digest is "1", not "2"; go on with the options'),
        ({"level_seeds": [4]}, {}, "its levels is "),
        ({"more": 7}, {}, "its more is null, not 7"),
        ({"policy": None}, {}, "its policy is .*, not null"),
        ({}, {"compress": True}, 'its compression is null, not "gzip"'),
        ({}, {"masks": True}, "its action_mask.npy is null, not "),
        ({}, {"env": "empty-8x8"}, "its scenario is "),
    ],
)
def test_only_the_same_rollout_goes_on(env: Any, tmp_path: Path, more, options, told: str):
    EpisodeFolder(tmp_path / "out", env, MADE_WITH).close(complete=False)
    other = made(Scenario.load(options.pop("env")), 2) if "env" in options else env
    with pytest.raises(RolloutError, match=told) if told else nullcontext():
        again = EpisodeFolder(tmp_path / "out", other, MADE_WITH | more, resume=True, **options)
        again.close(complete=True)


@pytest.mark.compiled
def test_a_shard_holds_the_rows_of_its_episodes():
    document, text = "empty-4x4", "valid"
    job = Job(Scenario.load(document), text, 5, 2, keep=True, masks=True, options=OBJECTS)
    shard = ShardPlayer(job).play(3, 4)
    _, episodes = played(document, text, 4, first=3)
    assert same(shard.rows, episode_rows(episodes))
    assert (len(shard.values.lengths), shard.seconds > 0) == (4, True)
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
