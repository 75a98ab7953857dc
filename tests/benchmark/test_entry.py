"""Entries on disk, and what is said of those that are wrong."""

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine.plugins.learning.benchmark.entry import (
    PARTS_FILE,
    TESTED,
    BenchmarkEntry,
    BenchmarkError,
    EntryPart,
    all_scenarios,
)

LENGTHS = tuple(k % 7 for k in range(TESTED))
DIGEST = "ab" * 32
CURVE = ((4096, 0.1), (8192, 0.75))


@pytest.fixture
def entry(tmp_path: Path) -> BenchmarkEntry:
    return BenchmarkEntry(tmp_path / "mine", "Mine", "of a test").create()


def put(entry: BenchmarkEntry, **changes: Any) -> None:
    """A part behind those that are there, with some of its values changed; None takes them away."""
    given = {"scenario": "keydoor-5x5", "seed": 3, "digest": DIGEST}
    given |= {"lengths": list(LENGTHS), **changes}
    line = json.dumps({k: v for k, v in given.items() if v is not None})
    with (entry.path / PARTS_FILE).open("a") as file:
        file.write(line + "\n")


def test_what_is_written_is_read_back(entry):
    part = EntryPart(
        "keydoor-5x5", 3, DIGEST, LENGTHS, 9, False, LENGTHS[::-1], 10_000, 2.5, CURVE, 0.5
    )
    entry.append(part)
    assert entry.read_parts() == {("keydoor-5x5", 3): part}
    assert (entry.path / PARTS_FILE).stat().st_size < 2500
    assert BenchmarkEntry.read(entry.path) == entry


def test_an_entry_may_be_meant_for_some_scenarios(tmp_path):
    some = ("memory-[59]*", "sokoban")
    entry = BenchmarkEntry(tmp_path / "some", "Some", scenarios=some).create()
    assert BenchmarkEntry.read(entry.path) == entry
    assert entry.scenario_names == ["memory-5x5", "sokoban", "memory-9x9"]


def test_parts_come_from_the_smallest_scenario_on_and_by_seed(entry):
    asked = [("keydoor-9x9", 0), ("keydoor-5x5", 9), ("keydoor-5x5", 2)]
    for scenario, seed in asked:
        entry.append(EntryPart(scenario, seed, DIGEST, LENGTHS))
    assert [*entry.read_parts()] == asked[::-1]


def test_a_part_that_is_made_again_takes_the_place_of_the_old_one(entry):
    for digest in (DIGEST, DIGEST[::-1]):
        entry.append(EntryPart("keydoor-5x5", 3, digest, LENGTHS))
    assert [part.digest for part in entry.read_parts().values()] == [DIGEST[::-1]]


def test_a_line_that_was_never_finished_is_no_part_and_gives_way_to_one(entry):
    """As when the machine went off."""
    put(entry)
    with (entry.path / PARTS_FILE).open("ab") as file:
        file.write(b'{"scenario": "keyd')
    assert [seed for _, seed in entry.read_parts()] == [3]
    entry.append(EntryPart("keydoor-5x5", 4, DIGEST, LENGTHS))
    assert [seed for _, seed in entry.read_parts()] == [3, 4]


def test_nothing_is_written_through_a_link_of_an_entry(entry):
    """The entry may be from somebody else."""
    outside = entry.path.parent / "token"
    outside.write_text("without an end of the line")
    (entry.path / PARTS_FILE).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link"):
        entry.append(EntryPart("keydoor-5x5", 4, DIGEST, LENGTHS))
    assert outside.read_text() == "without an end of the line"


def test_processes_write_to_one_entry(entry):
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        parts = [EntryPart("keydoor-5x5", k % 10, f"{k:064x}", LENGTHS) for k in range(80)]
        list(pool.map(entry.append, parts))
    lines = (entry.path / PARTS_FILE).read_text("utf-8").splitlines()
    assert {json.loads(line)["digest"] for line in lines} == {f"{k:064x}" for k in range(80)}


def test_all_grids_that_tell_success_are_played():
    assert len(all_scenarios()) > 100
    assert {"sokoban", "patrol", "MiniGrid-MemoryS7-v0"} <= all_scenarios().keys()
    assert not {"MiniGrid-Playground-v0", "hunt"} & all_scenarios().keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": None}, "it has no 'lengths', which a part needs"),
        ({"lengths": [1, 2]}, "its lengths are 2 numbers, expected 200, one for each level"),
        ({"lengths": [-1] * TESTED}, "its lengths have -1, expected steps to a success, 0 where"),
        ({"greedy": "all"}, "its greedy are all, expected 200"),
        ({"seed": 10}, "its seed is 10, expected a whole number from 0 to 9"),
        ({"scenario": "keydor-5x5"}, "plays no \"keydor-5x5\"; did you mean 'keydoor-5x5'"),
        ({"scenario": ["keydoor-5x5"]}, r'plays no \["keydoor-5x5"\]'),
        ({"digest": 7}, "the digest is 7, expected 64 hexadecimal digits"),
        ({"digest": "/tmp"}, "the digest is .*/tmp.*, expected 64 hexadecimal digits"),
        ({"different": 201}, "its different is 201, expected a whole number from 0 to 200"),
        ({"held_out": 1}, "its held_out is 1, expected true or false"),
        ({"steps": 1.5}, "its steps is 1.5, expected a whole number"),
        ({"seconds": float("nan")}, "its seconds is NaN, expected a number from 0"),
        ({"curve": [[1, 2, 3]]}, r"its curve is no list of pairs \[steps, success\]"),
        ({"curve": [[5, 0.5], [5, 0.6]]}, "its curve goes back"),
        ({"curve": [[5, 1.5]]}, "its curve is 1.5, expected a number from 0 to 1"),
        ({"curve": [[10**400, 0.5]]}, "its curve has more than 10,000 pairs, or 4,611,686,018"),
        ({"curve": [[k, 0.5] for k in range(10_001)]}, "its curve has more than 10,000 pairs"),
        ({"layout_success": 1.5}, "its layout_success is 1.5, expected a number from 0 to 1"),
        ({"lenghts": []}, "found 'lenghts', allowed are curve, different"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_part_is_told(entry, changes, message):
    put(entry)
    assert [part.lengths for part in entry.read_parts().values()] == [LENGTHS]
    put(entry, **changes)
    with pytest.raises(BenchmarkError, match=message) as told:
        entry.read_parts()
    assert str(told.value).startswith(f"{entry.path / PARTS_FILE}:2: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": LENGTHS[1:]}, "its lengths are 199 numbers, expected 200"),
        ({"lengths": (True,) * TESTED}, "its lengths have true"),
        ({"lengths": np.array(LENGTHS)}, "ndarray is not JSON serializable"),
        ({"steps": -1}, "its steps is -1"),
        ({"seed": True}, "its seed is true, expected a whole number from 0 to 9"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_part_is_not_added(entry, changes, message):
    part = EntryPart("keydoor-5x5", 3, DIGEST, LENGTHS)
    with pytest.raises(BenchmarkError, match=f"mine: no such part is added, .*{message}"):
        entry.append(replace(part, **changes))
    assert not entry.read_parts()


@pytest.mark.parametrize("text", ["", "[", "[]", "7", '"part"', "[" * 100_000, "\xff"])
def test_what_is_no_json_is_told(entry, text):
    (entry.path / PARTS_FILE).write_bytes(text.encode("latin-1") + b"\n")
    with pytest.raises(BenchmarkError, match=r"parts\.jsonl:1") as told:
        entry.read_parts()
    assert str(told.value).count("parts.jsonl:1") == 1


def test_folders_that_are_none_are_told(entry, tmp_path):
    with pytest.raises(BenchmarkError, match="is no entry: there is no entry"):
        BenchmarkEntry.read(tmp_path)
    with pytest.raises(FileExistsError, match="is there already, and is no entry"):
        BenchmarkEntry(tmp_path, "Other").create()


NAMED = '"format": 2, "name": "x"'


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('"format": 1', r'found the format 1, expected \{"format": 2'),
        (f'{NAMED}, "polcy": "ppo"', r'found \{"polcy": "ppo"}; allowed are texts'),
        (f'{NAMED}, "scenarios": ["keydor-*"]', r'json: the benchmark plays no "keydor-\*"; did'),
        (f'{NAMED}, "scenarios": [7]', "of a scenario is 7, expected one line"),
        (rf'{NAMED}, "scenarios": ["[\u001bk]*"]', r"scenario is '\[\\x1bk\]\*'"),
        ('"format": 2', "has no name: add"),
        (r'"format": 2, "name": "a\u001b[2J"', r"json: the name is 'a\\x1b\[2J', expected one"),
        (rf'{NAMED}, "about": "\ud800"', "is no JSON: .* holds NUL or a lone"),
    ],
)
def test_what_a_wrong_entry_says_of_itself_is_told(entry, keys, message):
    (entry.path / "entry.json").write_text(f"{{{keys}}}")
    with pytest.raises(BenchmarkError, match=f"entry.*{message}"):
        BenchmarkEntry.read(entry.path)
