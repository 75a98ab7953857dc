"""Readers of Sokoban levels, on texts in the manners of public collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.play.validation.survey import check_solution
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.levels.level_files import LevelFiles
from gv_engine.scenario.levels.sokoban_files import read_slc, read_sokoban
from tests.scenario.reading import RULES, assert_refused

A, B, C = "#####\n#@$.#\n#####", "######\n#@ $.#\n######", "#######\n#@  $.#\n#######"
HEADER = "Made with a tool\nauthor: Someone\n\n"


def titles_of(text: str) -> list[str]:
    return [level.title for level in read_sokoban(text)]


@pytest.mark.parametrize(
    "text",
    [
        f"; Anna\n{A}\n\n; Bella\n{B}\n\n; Cleo\n{C}\n",
        f"{HEADER}; Anna\n{A}\n\n; Bella\n{B}\n\n; Cleo\n{C}\n",
        f"{A}\n; Anna\n\n{B}\n; Bella\n\n{C}\n; Cleo\n",
        f"; A set\n; of three\n\n{A}\n; Anna\n\n{B}\n; Bella\n\n{C}\n; Cleo\n",
        f"; A set\n\n; Anna\n\n{A}\n\n; Bella\n\n{B}\n\n; Cleo\n\n{C}\n",
        f"; A set\n\n; Anna\n{A}\n; by hand\n\n; Bella\n{B}\n\n; Cleo\n{C}\n\n; The end\n",
        f"; Anna\n{A}\n; Bella\n{B}\n; Cleo\n{C}\n",
        f"{A}\n; Anna\n{B}\n; Bella\n{C}\n; Cleo\n",
        f"{A}\nTitle: Anna\n\n{B}\nTitle: Bella\n\n{C}\nTitle: Cleo\n",
        f"Title: A set\n\n{A}\nTitle: Anna\n\n{B}\nTitle: Bella\n\n{C}\nTitle: Cleo\n",
        f"Title: Anna\n{A}\n\nTitle: Bella\n{B}\n\nTitle: Cleo\n{C}\n",
        f"Title: Anna\n\n{A}\n\nTitle: Bella\n\n{B}\n\nTitle: Cleo\n\n{C}\n",
        f"; 1\n{A}\nTitle: Anna\n\n; 2\n{B}\nTitle: Bella\n\n; 3\n{C}\nTitle: Cleo\n",
        f"1\n{A}\nTitle: Anna\n\n2\n{B}\nTitle: Bella\n\n3\n{C}\nTitle: Cleo\n",
        f"{A}\nTitle: Anna\nSolution: R\nR\n\n2\n{B}\nTitle: Bella\n\n3\n{C}\nTitle: Cleo\n",
        f"Three levels\n\nAnna\n{A}\n\nBella\n{B}\n\nCleo\n{C}\n",
        f"#Anna\n{A}\n\n# Bella\n{B}\n\n# Cleo\n\n{C}\n",
        f"A set\nof three\n\nAnna\n\n{A}\n\nSolution/Moves\nR\n\nBella\n{B}\nnote\n\nCleo\n\n{C}\n",
    ],
)
def test_titles_belong_to_their_boards(text: str):
    assert titles_of(text) == ["Anna", "Bella", "Cleo"]


def test_remarks_about_few_boards_are_no_titles():
    boards = [f"{A}\nTitle: {number}\n\n" for number in range(5)]
    assert titles_of(f"; ===\n; Small\n\n{''.join(boards)}") == ["0", "1", "2", "3", "4"]
    untitled = f"{A}\n\n" * 5
    assert titles_of(f"; Small\n\n{untitled}; Large\n\n{B}\n") == [""] * 6
    assert titles_of(f"; Small\n\n{untitled}") == [""] * 5


def test_authors_of_all_and_of_one():
    text = f"Author: Ada\n\n{A}\nTitle: x\n\n{B}\nAuthor: Bob\n\n{C}\n"
    assert [level.author for level in read_sokoban(text)] == ["Ada", "Bob", "Ada"]
    above = f"Author: Ada\nTitle: x\n{A}\n\nAuthor: Bob\nTitle: y\n{B}\n"
    assert [(each.title, each.author) for each in read_sokoban(above)] == [
        ("x", "Ada"),
        ("y", "Bob"),
    ]


def test_comments_and_headings_are_no_boards():
    comment = f"Comment:\nAs in\n{B}\nTitle: no\nComment-End:\n"
    first, last = f"#1\n{A}\nTitle: Anna\n", f"#2:\n# Level 2\n{C}\nTitle: Cleo\n"
    levels = list(read_sokoban(f"{comment}\n{first}{comment}\n{last}{comment}"))
    assert [level.title for level in levels] == ["Anna", "Cleo"]
    assert ["\n".join(level.rows) for level in levels] == [A, C]
    assert [level.line for level in levels] == [10, 24]
    open_one = f"{A}\nComment: as easy as can be\n\n{B}\nComment: too\n"
    assert len(list(read_sokoban(open_one))) == 2


def test_rows_without_walls_belong_to_boards_that_they_touch():
    rows = ["  *", " ***", "  #####", "----------", "  #@$.#", "  #####", "   * *"]
    text = "-----\n...\n\n" + "\n".join(rows) + "\n-----\n\n+ * +\n\n--- the end\n"
    (level,) = read_sokoban(text)
    assert level.rows == rows


def test_encoded_rows_are_unpacked():
    (level,) = read_sokoban("5#|#@2-#|\n2#2$.|5#\n")
    assert level.rows == ["#####", "#@--#", "##$$.", "#####"]
    (level,) = read_sokoban("2-#|\n2-|\n5#|\n-|\n#@$.#|\n5#\n----\n")
    assert level.rows == ["--#", "--", "#####", "-", "#@$.#", "#####"]
    (level,) = read_sokoban("5#\n#-@$-.2#\n8#\n")
    assert level.rows == ["#####", "#-@$-.##", "########"]
    # drawn with coordinates: no board, and no other level than the drawn one
    assert not list(read_sokoban("   ABCDE\n  +-----\n 1|#####\n 2|#@$.#\n 3|#####\n"))


def test_an_unknown_character_ends_no_board(tmp_path: Path):
    for row in ("#@x.#", "#@x.", "~~#@.#", "#@%.#", "x #@.#", "E#\nE#"):
        (level,) = read_sokoban(f"#####\n{row}\n#####\n")
        assert "\n".join(level.rows[1:-1]) == row
    (tmp_path / "a.xsb").write_text("#####\n#@x.#\n#####\n")
    assert_refused("a.xsb:2: row 1, column 2: no 'x' in the legend", tmp_path / "a.xsb")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_texts_of_all_times_are_read(encoding: str, end: str, tmp_path: Path):
    text = f"\u00a9 Zo\u00eb\n\n{A}  \nTitle: Caf\u00e9\n".replace("\n", end)
    (tmp_path / "a.sok").write_bytes(text.encode(encoding))
    (level,) = Scenario.load(tmp_path / "a.sok").document.levels
    assert (level.title, level.map.text) == ("Caf\u00e9", A)


def test_solutions_of_many_forms_are_found():
    forms = "Solution: 2rU", "Solution\n2r\nU", "Best Solution 3/1\n\n2rU", "Solution/Pushes\n2r\nU"
    unreadable = "Solution: 2-1r3,4"
    for form in (*forms, f"{unreadable}\nSolution: 2rU", "Solution name: dull\nSolution:\n2rU"):
        (level, other) = read_sokoban(f"{A}\nTitle: Anna\n{form}\n\nDull\n\n{B}\n{unreadable}\n")
        assert level.solution == "2rU"
        assert other.solution == "2-1r3,4"


def test_letters_of_the_sok_format_are_played(tmp_path: Path):
    text = "#######\n#p b .#\n#  B  #\n#######\nTitle: x\nSolution: 3R\n"
    (tmp_path / "a.sok").write_text(text)
    (tmp_path / "b.sok").write_text(text.replace("p", "@").replace("b", "$").replace("B", "*"))
    facts, _ = check_solution(Scenario.load(f"{tmp_path / 'a.sok'}#1"))
    assert facts == check_solution(Scenario.load(f"{tmp_path / 'b.sok'}#1"))[0]
    assert facts


def test_runs_of_moves_are_played(tmp_path: Path):
    for solution, said in (
        ("2R", "wins in 1 steps"),
        ("l 2r", "wins in 2 steps"),
        ("3u\nR", "wins in 4 steps"),
        ("r2", "its solution has '2', expected letters of udlrUDLR, as in rruR or 2ruR"),
        ("1-2r", "its solution has '1', expected"),
        ("999999r", "its solution has 999,999 steps, allowed are 100,000"),
        ("2l", "its solution of 2 steps does not win"),
    ):
        (tmp_path / "a.xsb").write_text(f"{A}\nSolution: {solution}\n")
        facts, faults = check_solution(Scenario.load(f"{tmp_path / 'a.xsb'}#1"))
        assert said in str(faults or facts)


SLC = f"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE SokobanLevels SYSTEM "SokobanLev.dtd">
<SokobanLevels><Title>Set</Title>
<LevelCollection Copyright="Zo\u00eb" MaxWidth="6" MaxHeight="3">
<Level Id="Anna" Width="5" Height="3">{"".join(f"<L>{row}</L>" for row in A.split())}</Level>
<Level Id="Bella" Copyright="Bob"><L>######</L><L>#@ $.#</L><L>######</L></Level>
</LevelCollection></SokobanLevels>
"""


def test_collections_in_xml_are_read(tmp_path: Path):
    raw = SLC.encode("latin-1")
    levels = [(level.title, level.author, "\n".join(level.rows)) for level in read_slc(raw)]
    assert levels == [("Anna", "Zo\u00eb", A), ("Bella", "Bob", B)]
    (tmp_path / "a.slc").write_bytes(raw)
    assert Scenario.load(f"{tmp_path / 'a.slc'}#2").name == "a-2"
    for old, new, says in (
        ("<L>#@ $.#</L>", "<L>#@x$.#</L>", "row 1, column 2: no 'x' in the legend"),
        ('Copyright="Bob"><L>######</L><L>#@ $.#</L><L>######</L>', ">", "level 'Bella' has no"),
        ("</SokobanLevels>", "", "no XML"),
        ("SokobanLevels", "Levels", "found <Levels>, expected <SokobanLevels>"),
    ):
        (tmp_path / "a.slc").write_bytes(raw.replace(old.encode(), new.encode()))
        assert_refused(says, tmp_path / "a.slc")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a.tmx", "is a map of Tiled, which has no rules; write a scenario with rules and `lev"),
        ("a.tmj", "is a map of Tiled in JSON; save it as .tmx in Tiled"),
        ("a.tsx", "is a tileset of Tiled; name the map, a .tmx file"),
        ("a.ldtk", "is a project of LDtk; let LDtk save its levels for Tiled, as .tmx"),
        ("a.ssx", "is a library of SokoSolve; save its levels as .xsb or .slc"),
    ],
)
def test_files_of_other_editors_say_what_they_are(
    name: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / name).write_text("{}")
    assert_refused(says, tmp_path / name)
    assert main(["check", str(tmp_path / name)])
    assert says in capsys.readouterr().err
    if name != "a.tmx":
        assert_refused(says, {**RULES, "levels": name}, tmp_path)


def test_a_text_file_of_boards_behind_a_text_is_a_scenario(tmp_path: Path):
    (tmp_path / "a.txt").write_text(f"Title: A set\nAuthor: Ada\n\n{A}\nTitle: Anna\n")
    assert Scenario.load(f"{tmp_path / 'a.txt'}#1").description.startswith("Anna, by Ada.")
    (tmp_path / "c.txt").write_text("   ABC\n  +---\n 1|###\n 2|#@#\n 3|###\n")
    with pytest.raises(ScenarioError, match=r"c\.txt:1: found neither Sokoban boards, with"):
        Scenario.load(tmp_path / "c.txt")
    (tmp_path / "b.txt").write_text(f"extends: sokoban\nlevels: a.txt\n# {'#' * 9}\n{'#' * 9}\n")
    assert len(Scenario.load(tmp_path / "b.txt").document.levels) == 1


def make_collection(count: int) -> str:
    levels = (f"{number}\n{A}\nTitle: No. {number}\nAuthor: Ada\n\n" for number in range(count))
    return f"Set: Many\nEmail: a@example.org\n\n{''.join(levels)}"


def test_large_collections_have_titles_too(tmp_path: Path):
    # with a text larger than a scenario may be
    (tmp_path / "many.xsb").write_text(make_collection(1200) + "the end\n" * 70_000)
    levels: Any = Scenario.load(tmp_path / "many.xsb").document.levels
    assert isinstance(levels, LevelFiles)
    assert len(levels) == 1200
    last = levels[-1]
    assert (last.title, last.author) == (f"No. 1199 of {tmp_path.name}/many.xsb", "Ada")
    assert (last.map.text, last.map.line) == (A, 5 + 1199 * 7)
