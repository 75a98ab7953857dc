"""Packs of levels: in place, in files of Sokoban's format and of Tiled, and in folders."""

from __future__ import annotations

import base64
import gzip
import json
import os
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gv_engine import GridVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.play.session.catalogue import (
    built_in_entries,
    folder_entries,
    load_playable,
    source_of,
    with_pack_levels,
)
from gv_engine.play.validation.solver import Solver
from gv_engine.play.validation.survey import check_solution
from gv_engine.scenario.levels.sokoban_files import read_sokoban
from tests.scenario.reading import RULES, assert_refused, begin, measure

IN_PLACE = [
    {"title": "Hall", "author": "Ada", "map": "^..E", "solution": "rrr"},
    {"map": "^.\n.E", "solution": "u"},
    "more.xsb",
]
XSB = """\
Title: All of them
Author: Ada

  ####
###  #
#@$ .#
######
Title: Ragged
Solution: r
R

3#|#+#
3#
Author: Bob
; Packed
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    (tmp_path / "more.xsb").write_text("#####\n#@.E#\n#####\n")
    rules = yaml.safe_dump({**RULES, "description": "Walk.", "legend": {"@": {"agent": "LEFT"}}})
    (tmp_path / "walks.yaml").write_text(f"{rules}levels: {json.dumps(IN_PLACE)}\n")
    return tmp_path / "walks.yaml"


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_the_whole_draws_a_level_at_each_reset(pack: Path, world: str):
    envs = GridVectorEnv(pack, 20, world=world)
    envs.reset(seed=0)
    shapes = zip(envs.snapshot()["height"].tolist(), envs.snapshot()["width"].tolist())
    assert {*shapes} == {(1, 4), (2, 2), (3, 5)}


def test_a_level_is_a_scenario_of_its_own(pack: Path):
    hall = Scenario.load(f"{pack}#1")
    assert (hall.name, hall.description) == ("walks-1", "Hall, by Ada.\nWalk.")
    assert measure(hall, 1) == measure(hall, 2) == (1, 4)
    assert hall.layout.drawn == 0
    assert measure(Scenario.load(f"{pack}#3")) == (3, 5)


def test_a_level_that_there_is_not_is_told_with_those_that_there_are(pack: Path):
    for wanted in ("4", "0", "Hall", "-1"):
        assert_refused(f"no level '{wanted}'; there are 1 Hall, 2, 3", f"{pack}#{wanted}")


def test_solutions_are_played(pack: Path):
    assert check_solution(Scenario.load(f"{pack}#1")) == ([("solution", "wins in 3 steps")], [])
    assert check_solution(Scenario.load(f"{pack}#3")) == ([], [])
    facts, faults = check_solution(Scenario.load(f"{pack}#2"))
    assert not facts
    assert faults == ["A level: its solution of 1 steps does not win"]


def test_sokoban_files_are_read():
    ragged, packed = read_sokoban(XSB)
    assert ragged.rows == ["  ####", "###  #", "#@$ .#", "######"]
    assert (ragged.title, ragged.author, ragged.solution) == ("Ragged", "Ada", "rR")
    assert ragged.line == 4
    assert packed.rows == ["###", "#+#", "###"]
    assert (packed.title, packed.author, packed.solution) == ("Packed", "Bob", "")
    above = read_sokoban("; one\n\n###\n\n;two\n###\n")
    assert [level.title for level in above] == ["one", "two"]


def test_a_file_of_levels_is_a_scenario(tmp_path: Path):
    file = tmp_path / "mine.xsb"
    file.write_text(XSB.split("\n3#")[0])
    level = Scenario.load(f"{file}#1")
    assert (level.name, level.source) == ("mine-1", file)
    assert check_solution(level)[0]
    assert file in level.watched_files()
    assert Scenario.load("sokoban#1").identity.digest != level.identity.digest


@pytest.mark.thorough
@pytest.mark.compiled
def test_the_levels_of_the_engine_can_be_won():
    levels = Scenario.load("sokoban").document.levels
    assert len(levels) >= 8
    for number, level in enumerate(levels, 1):
        assert level.title
        assert level.author == "GV Engine"
        played = Scenario.load(f"sokoban#{number}")
        facts, _ = check_solution(played)
        solution = Solver(played).solve(0)
        assert facts == [("solution", f"wins in {len(solution.actions)} steps")]


def test_the_catalogue_lists_levels(pack: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(pack.parent)
    entries = {entry.source: entry.title for entry in with_pack_levels(folder_entries(Path()))}
    assert list(entries) == [
        *("walks.yaml", "walks.yaml#1", "walks.yaml#2", "walks.yaml#3"),
        *("more.xsb", "more.xsb#1"),
    ]
    assert entries["walks.yaml#1"] == "walks-1 Hall"
    built_in = [entry.source for entry in with_pack_levels(built_in_entries())]
    built_in = built_in[built_in.index("sokoban") :]
    assert built_in[:2] == ["sokoban", "sokoban#1"]
    for source in (*built_in[:2], "walks.yaml#2"):
        played = load_playable(source)
        assert load_playable(source_of(played)).identity == played.identity


@pytest.mark.thorough
@pytest.mark.compiled
def test_commands_take_all_levels(pack: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["solve", str(pack)]) == 0
    said = capsys.readouterr().out
    assert "walks-1: Hall, by Ada" in said
    assert said.count("can be won") == 3
    assert main(["check", str(pack), "--episodes", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.err.count("does not win") == 1
    assert printed.out.count("solution\twins in 3 steps") == 1


BOXOBAN = "; 0\n#####\n#@$.#\n#####\n\n; 1\n######\n#@ $.#\n######\n"


def test_a_text_file_of_boards_is_a_scenario_by_itself(tmp_path: Path):
    file = tmp_path / "three.txt"
    for text in (BOXOBAN, "\n" * 9 + BOXOBAN[4:], BOXOBAN.replace("\n", "\r\n")):
        file.write_bytes(text.encode())
        assert len(Scenario.load(file).document.levels) == 2
        assert Scenario.load(f"{file}#2").name == "three-2"
    (tmp_path / "notes.txt").write_text("# a comment\nmap: ^E\n")
    assert_refused("transition_functions: missing", tmp_path / "notes.txt")


def test_folders_hold_levels(tmp_path: Path):
    (tmp_path / "levels").mkdir()
    for name in ("b.xsb", "a.txt"):
        (tmp_path / "levels" / name).write_text(f"###\n#@#\n###\n; {name}\n")
    (tmp_path / "levels" / "notes.md").write_text("no level")
    played = Scenario.load({"extends": "sokoban", "levels": "levels"}, tmp_path)
    assert [level.title for level in played.document.levels] == ["a.txt", "b.xsb"]


def test_another_scenario_may_change_the_levels_or_draw_one(pack: Path):
    changed = {"extends": str(pack), "levels": [{"map": "^E"}]}
    assert len(Scenario.load(changed, folder=pack.parent).document.levels) == 1
    drawn = Scenario.load({"extends": str(pack), "map": "^E"}, folder=pack.parent)
    assert drawn.document.levels == ()
    inherited = Scenario.load({"extends": str(pack), "max_steps": 5}, folder=Path("/"))
    assert len(inherited.document.levels) == 3


def assert_levels_refused(says: str, levels: Any, folder: Path) -> None:
    assert_refused(says, {**RULES, "levels": levels}, folder)


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ([], "found 0 levels, expected 1 to 1000"),
        ([{"title": "x"}], "levels[0]: the map is missing"),
        ([{"map": "^E", "titel": "x"}], "levels[0].titel: unknown key 'titel'; did you mean 'tit"),
        ("there-is-none.xsb", "levels: "),
        ("notes.md", "expected a file of levels, named .xsb, .sok, .txt, .slc, .tmx; found"),
        ({"map": "#>E"}, "levels: found a mapping"),
        ([{"map": "#>E", "par": 0}], "levels[0].par: found 0, allowed are 1 to"),
    ],
)
def test_mistakes_are_told(levels: Any, says: str, tmp_path: Path):
    (tmp_path / "notes.md").write_text("#@#")
    assert_levels_refused(says, levels, tmp_path)


def test_a_mistake_in_a_file_of_levels_has_its_line(tmp_path: Path):
    file = tmp_path / "mine.xsb"
    for text, says in (
        (b"\n#####\n#@ @#\n#####\n", "mine.xsb:3: row 1, column 3: a second agent"),
        (b"999999999999999#\n", "line 1 is longer than"),
        (b"#\xff#", "row 0, column 1: no '\xff' in the legend"),
    ):
        file.write_bytes(text)
        assert_refused(says, file)


TMX = """\
<?xml version="1.0" encoding="UTF-8"?>
<map version="1.10" orientation="orthogonal" width="4" height="2" tilewidth="8" tileheight="8">
 <properties><property name="title" value="Drawn"/></properties>
 <tileset firstgid="1" name="things" tilewidth="8" tileheight="8" tilecount="4" columns="4">
  <tile id="0" type="Wall"/>
  <tile id="1"><properties><property name="agent" value="RIGHT"/></properties></tile>
  <tile id="2" class="Exit"><properties><property name="color" value="RED"/></properties></tile>
  <tile id="3"/>
 </tileset>
 <layer id="1" name="floor" width="4" height="2">
  <data encoding="csv">2,0,0,1,1,1,1,1</data>
 </layer>
 <layer id="2" name="things" width="4" height="2">
  <data encoding="csv">0,0,3,0,0,0,0,0</data>
 </layer>
</map>
"""


SIZE = 'width="4" height="2" tile'
WIDE = 'width="512" height="512"'
CELL = 'tilewidth="8" tileheight="8"'
OWN = 'firstgid="1" name="things"'


@pytest.fixture
def tiled(tmp_path: Path) -> Path:
    (tmp_path / "a.tmx").write_text(TMX)
    return tmp_path


def test_maps_of_tiled_are_read(tiled: Path):
    played = Scenario.load({**RULES, "levels": "a.tmx"}, folder=tiled)
    assert [level.title for level in played.document.levels] == ["Drawn"]
    cells = begin(played).world.cells()
    assert cells[..., 0].tolist() == [[2, 2, 4, 3], [3, 3, 3, 3]]
    assert cells[0, 2, 2] == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2,0,0,1", "4,0,0,1", "layer 'floor', row 0, column 0: this tile has no class"),
        ('type="Wall"', 'type="Wal"', "no object type 'Wal'; did you mean 'Wall'?"),
        ("</map>", "", "cannot be read as a map of Tiled: no XML"),
        (SIZE, 'width="4" height="2000000000" tile', "expected 1 to 512"),
        (SIZE, f"{WIDE} tile", "tiles, expected one for each of 262144 cells"),
        ('encoding="csv">2,0,0,1,1,1,1,1', "BOMB", "tiles, expected one for each of 8 cells"),
        ('csv">2', 'csv">99999999999999999999', "found '99999999999999999999', expected a"),
        ('encoding="csv">2', 'encoding="csv">x', "layer 'floor': found 'x', expected a tile's"),
        ('encoding="csv"', 'encoding="base64" compression="zstd"', "'base64 zstd'; choose CSV"),
        (
            "<map v",
            '<map infinite="1" v',
            "the map has infinite '1', which is not read; set it to 0",
        ),
        ("<map v", '<!DOCTYPE map [<!ENTITY a "ha">]><map v', "its DOCTYPE declares entities"),
        ("<properties>", "<x>" * 60 + "</x>" * 60 + "<properties>", "deeper than 50 levels"),
        (TMX, f"<map {WIDE} {CELL}>{'<layer/>' * 5}</map>", "more than 1,048,576 cells together"),
        (OWN, 'firstgid="1" source="/dev/zero"', "outside of the map's folder"),
        (OWN, 'firstgid="1" source="pipe.tsx"', "pipe.tsx is a FIFO, not a file"),
    ],
)
def test_maps_of_tiled_are_read_within_bounds(old: str, new: str, says: str, tiled: Path):
    if "pipe" in new:
        if os.name != "posix":
            pytest.skip("of POSIX")
        os.mkfifo(tiled / "pipe.tsx")
    if new == "BOMB":
        bomb = base64.b64encode(zlib.compress(bytes(2**27), 1)).decode()
        new = f'encoding="base64" compression="zlib">{bomb}'
    (tiled / "a.tmx").write_text(TMX.replace(old, new))
    tracemalloc.start()
    try:
        assert_levels_refused(says, "a.tmx", tiled)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


def test_tilesets_are_limited(tiled: Path):
    inner = '<tileset firstgid="none"><tile id="none"/></tileset>'
    (tiled / "a.tmx").write_text(TMX.replace("</tileset>", f"{inner}</tileset>"))
    assert_levels_refused("'things' has the element <tileset>, which is not", "a.tmx", tiled)
    many = '<tileset firstgid="1" name="a"/>' * 101
    (tiled / "a.tmx").write_text(TMX.replace("<layer", f"{many}<layer", 1))
    assert_levels_refused("it has more than 100 tilesets", "a.tmx", tiled)


@pytest.mark.parametrize("packing", [None, "zlib", "gzip"])
def test_layers_are_unpacked_and_tilesets_lie_beside(packing: str | None, tiled: Path):
    numbers = np.array([2 | 2**31, 0, 0, 1, 1, 1, 1, 1], "<u4").tobytes()
    pack: Any = {"zlib": zlib.compress, "gzip": gzip.compress, None: bytes}
    text = base64.b64encode(pack[packing](numbers)).decode()
    how = f'encoding="base64" compression="{packing}"' if packing else 'encoding="base64"'
    begin, end = TMX.index("<tileset"), TMX.index("</tileset>") + len("</tileset>")
    (tiled / "sets").mkdir()
    (tiled / "sets" / "a.tsx").write_text(TMX[begin:end])
    whole = TMX[:begin] + '<tileset firstgid="1" source="sets/a.tsx"/>' + TMX[end:]
    whole = whole.replace('encoding="csv">2,0,0,1,1,1,1,1', f"{how}>{text}")
    (tiled / "b.tmx").write_text(whole.replace('<layer id="2"', '<layer visible="0"'))
    drawn = Scenario.load({**RULES, "levels": "b.tmx"}, folder=tiled).document
    shown = drawn.levels[0].map.text
    assert shown[0] != shown[3] == shown[5] == shown[8] != "."
    assert shown[1:3] == ".."


@pytest.mark.sample("blanks", "digits", "zeros", "rows", "levels", "cells")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" " * 500_000 + "#" + " " * 500_000 + "x:", "expected 1 to 1000"),
        ("#" * 2**19, "line 1 is longer than 512 cells"),
        ("#00000000009999999999#", "line 1 is longer than any level"),
        ("#\n" * 600, "line 513 belongs to a level of more than 512 rows"),
        ("#\n\n" * 300_000, "a.xsb:1: level 1 of 300,000: no agent"),
        (("512#|" * 511 + "512#\n\n") * 300, "its rows have more than 16,777,216 cells"),
        ("#\nSolution: u\n" + "u\n" * 500_000, "no agent"),
    ],
    ids=["blanks", "digits", "zeros", "rows", "levels", "cells", "solution"],
)
def test_files_of_levels_are_read_within_bounds(text: str, says: str, tmp_path: Path):
    (tmp_path / "a.xsb").write_text(text)
    assert_levels_refused(says, "a.xsb", tmp_path)


def test_the_files_of_a_pack_are_limited_together(tmp_path: Path):
    (tmp_path / "a.tmx").write_text(f"<map {WIDE} {CELL}><!--{'x' * 2**19}--></map>")
    assert_levels_refused("pack are at most 8 MiB together", ["a.tmx"] * 17, tmp_path)
    (tmp_path / "a.txt").write_text("x" * 2**24 + "x")
    assert_levels_refused("files of levels are at most 16 MiB", "a.txt", tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="of POSIX")
def test_a_list_of_levels_waits_for_no_fifo(tiled: Path):
    os.mkfifo(tiled / "pipe.tsx")
    os.mkfifo(tiled / "pipe.xsb")
    (tiled / "a.tmx").write_text(TMX.replace(OWN, 'firstgid="1" source="pipe.tsx"'))
    (tiled / "walks.yaml").write_text(yaml.safe_dump({**RULES, "levels": "a.tmx"}))
    entries = [entry.source for entry in with_pack_levels(folder_entries(tiled))]
    assert entries == [str(tiled / "walks.yaml"), str(tiled / "pipe.xsb")]
