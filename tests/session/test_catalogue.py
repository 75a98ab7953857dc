"""What there is to play."""

import itertools
from pathlib import Path

import pytest

from gv_engine import Scenario, ScenarioError
from gv_engine.cli.new import write_starter_project
from gv_engine.play.session import catalogue
from gv_engine.play.session.catalogue import read_playable, search
from gv_engine.scenario.documents.trust import Trust
from gv_engine.scenario.domains import list_playable_scenarios


def test_every_built_in_scenario_is_there_once_beside_its_family():
    entries = catalogue.built_in_entries()
    assert sorted(entry.source for entry in entries) == sorted(list_playable_scenarios())
    groups = [entry.group for entry in entries]
    assert [group for group, _ in itertools.groupby(groups)] == list(dict.fromkeys(groups))
    of = {entry.source: entry.group for entry in entries}
    assert of["memory-four-rooms-7x7"] == of["memory-5x5"] == "Memory"
    assert of["four-rooms-7x7"] == "Four rooms"


def test_scenarios_in_a_folder(tmp_path: Path):
    write_starter_project(tmp_path / "cave")
    (tmp_path / "level.yaml").write_text("map: |\n  ###\n")
    (tmp_path / "other.yaml").write_text("servers: []\n")
    (tmp_path / "bytes.yaml").write_bytes(b"map:\xff\n")
    assert [entry.title for entry in catalogue.folder_entries(tmp_path)] == ["level", "cave"]
    assert catalogue.folder_entries(tmp_path / "none") == []


def test_scenarios_are_found_again(tmp_path: Path):
    write_starter_project(tmp_path / "cave")
    for source in ("empty-4x4", str(tmp_path / "cave" / "scenario.yaml")):
        scenario = catalogue.load_playable(source)
        assert catalogue.source_of(scenario) == source
        assert catalogue.load_playable(catalogue.source_of(scenario)).name == scenario.name
    assert catalogue.source_of(Scenario.load("GV-Empty-4x4-v0")) == "empty-4x4"


def test_levels_of_a_pack_have_names_and_follow_each_other():
    """The same, level by level, in test_game.py."""
    first = read_playable("tutorial#1", Trust(), {})
    whole = read_playable("tutorial", Trust(), {})
    many = len(first.document.levels)
    second = catalogue.find_level_at_offset(first, 1)
    assert second
    assert second.document.variant == "2"
    assert catalogue.find_level_at_offset(Scenario.load("keydoor-5x5"), 1) is None
    for number, is_there in ((0, False), (1, True), (many, True), (many + 1, False), ("x", False)):
        found = catalogue.pack_level_named(whole, f"tutorial-{number}")
        assert (found is not None) == is_there
        assert found is None or found.document.variant == str(number)
    assert catalogue.pack_level_named(first, "tutorial-2") is None


def test_entries_of_packs_have_levels():
    (pack,) = (entry for entry in catalogue.built_in_entries() if entry.source == "tutorial")
    levels = pack.levels
    assert [level.source for level in levels] == [
        f"tutorial#{number}" for number in range(1, len(levels) + 1)
    ]
    assert {level.group for level in levels} == {pack.group}
    assert all(level.title.startswith("tutorial-") for level in levels)
    for source in ("tutorial#1", "keydoor-5x5", "keydoor-sizes", "no such level"):
        assert catalogue.Entry(source, "").levels == ()
    assert catalogue.with_pack_levels([pack]) == [pack, *levels]


def test_the_next_size_comes_round_again():
    first, *others = catalogue.size_variants("empty-8x8")
    for name, following in itertools.pairwise([first, *others, first]):
        assert catalogue.next_size_variant(name) == following
    with pytest.raises(ScenarioError, match="no other size"):
        catalogue.next_size_variant("tutorial")


SAID = {
    "maze": "Find the Empty room.",
    "rooms-empty": "",
    "four-rooms": "",
    "empty-5x5": "",
    "keydoor-5x5": "A locked door.",
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [*SAID]),
        ("empty", ["empty-5x5", "rooms-empty", "maze"]),
        ("EMPTY", ["empty-5x5", "rooms-empty", "maze"]),
        ("rooms", ["rooms-empty", "four-rooms"]),
        ("empt room", ["rooms-empty", "maze"]),
        ("5x5 key", ["keydoor-5x5"]),
        ("key locked", ["keydoor-5x5"]),
        ("keydor 5", ["keydoor-5x5"]),
        ("5 keydor", ["keydoor-5x5"]),
        ("finde the", ["maze"]),
        ("mazes", ["maze"]),
        ("emptyy", ["maze", "rooms-empty", "empty-5x5"]),
        ("mze", []),  # too short to be mistyped
        ("maze keydoor", []),
        ("zzzz", []),
    ],
)
def test_search_forgives_slips_where_nothing_is_as_it_is_typed(query: str, found: list[str]):
    assert search(query, SAID, lambda name: (name, SAID[name])) == found
