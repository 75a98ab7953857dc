"""Entries on disk, and what is said of those that are wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from gv_engine.protocol.entry import BenchmarkEntry, EntryPart
from gv_engine.protocol.plan import TESTED, ProtocolError, scenarios

LENGTHS = tuple(k % 7 for k in range(TESTED))
CURVE = ((4096, 0.1), (8192, 0.75))


@pytest.fixture
def entry(tmp_path: Path) -> BenchmarkEntry:
    return BenchmarkEntry(tmp_path / "mine", "Mine", "of a test").begin()


def put(entry: BenchmarkEntry, **changes: Any) -> Path:
    """A part as a file, with some of its values changed; None takes them away."""
    given = {"format": 1, "scenario": "keydoor-5x5", "seed": 3, "digest": "abc"}
    given |= {"lengths": list(LENGTHS), **changes}
    file = entry.path / "keydoor-5x5" / "3.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({k: v for k, v in given.items() if v is not None}))
    return file


def test_what_is_written_is_read_back(entry):
    part = EntryPart("keydoor-5x5", 3, "abc", LENGTHS, 9, False, LENGTHS[::-1], 10_000, 2.5, CURVE)
    file = entry.file("keydoor-5x5", 3)
    part.write(file)
    assert EntryPart.read(file) == part
    assert file.stat().st_size < 2500
    assert BenchmarkEntry.read(entry.path) == entry


def test_parts_come_from_the_smallest_scenario_on_and_by_seed(entry):
    for scenario, seed in [("keydoor-9x9", 0), ("keydoor-5x5", 9), ("keydoor-5x5", 2)]:
        EntryPart(scenario, seed, "", LENGTHS).write(entry.file(scenario, seed))
    found = [(part.scenario, part.seed) for part in entry.parts()]
    assert found == [("keydoor-5x5", 2), ("keydoor-5x5", 9), ("keydoor-9x9", 0)]


def test_all_grids_that_tell_success_are_played():
    assert len(scenarios()) > 100
    assert {"sokoban", "patrol", "MiniGrid-MemoryS7-v0"} <= scenarios().keys()
    assert not {"MiniGrid-Playground-v0", "hunt"} & scenarios().keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, r'found the format 2, expected \{"format": 1'),
        ({"lengths": None}, "it has no 'lengths', which a part needs"),
        ({"lengths": [1, 2]}, "its lengths are 2 numbers, expected 200, one for each level"),
        ({"lengths": [-1] * TESTED}, "its lengths have -1, expected steps to a success, 0 where"),
        ({"greedy": "all"}, "its greedy are all, expected 200"),
        ({"seed": 10}, "its seed is 10, expected a whole number from 0 to 9"),
        ({"seed": 4}, "it is of keydoor-5x5, seed 4, and belongs at keydoor-5x5/4.json"),
        ({"scenario": "keydoor-7x7"}, "belongs at keydoor-7x7/3.json"),
        ({"digest": 7}, "its digest is no text"),
        ({"different": 201}, "its different is 201, expected a whole number from 0 to 200"),
        ({"held_out": 1}, "its held_out is 1, expected true or false"),
        ({"steps": 1.5}, "its steps is 1.5, expected a whole number"),
        ({"seconds": float("nan")}, "its seconds is NaN, expected a number from 0"),
        ({"curve": [[1, 2, 3]]}, r"its curve is no list of pairs \[steps, success\]"),
        ({"curve": [[5, 0.5], [5, 0.6]]}, "its curve goes back"),
        ({"curve": [[5, 1.5]]}, "its curve is 1.5, expected a number from 0 to 1"),
        ({"lenghts": []}, "found 'lenghts', allowed are curve, different"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_part_is_told(entry, changes, message):
    file = put(entry)
    assert EntryPart.read(file).lengths == LENGTHS
    put(entry, **changes)
    with pytest.raises(ProtocolError, match=message) as told:
        list(entry.parts())
    assert str(told.value).startswith(f"{file}")


@pytest.mark.parametrize("text", ["", "[", "[]", "7", '"part"', "[" * 100_000, "\xff"])
def test_what_is_no_json_is_told(entry, text):
    file = put(entry)
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ProtocolError, match=r"3\.json"):
        list(entry.parts())


def test_folders_that_are_none_are_told(entry, tmp_path):
    with pytest.raises(ProtocolError, match="is no entry: there is no entry"):
        BenchmarkEntry.read(tmp_path)
    with pytest.raises(FileExistsError, match="is there already, and is no entry"):
        BenchmarkEntry(tmp_path, "Other").begin()
    (entry.path / "entry.json").write_text('{"format": 1, "name": "x", "polcy": "ppo"}')
    with pytest.raises(ProtocolError, match=r'found \{"polcy": "ppo"\}; allowed are texts'):
        BenchmarkEntry.read(entry.path)
    (entry.path / "entry.json").write_text('{"format": 1}')
    with pytest.raises(ProtocolError, match="has no name: add"):
        BenchmarkEntry.read(entry.path)
    (entry.path / "keydor-5x5").mkdir()
    (entry.path / "keydor-5x5" / "0.json").write_text("{}")
    with pytest.raises(ProtocolError, match="keydor-5x5: the protocol plays no such scenario"):
        list(entry.parts())
