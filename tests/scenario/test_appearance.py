"""Themes, an author's own sprites, and words on tiles: the keys of a scenario's appearance."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gv_engine import Scenario
from gv_engine.play.editor.document import EditorDocument
from gv_engine.play.editor.other_levels import Addition, OtherLevel
from gv_engine.play.editor.text_buffer import TextBuffer
from gv_engine.play.grid.board import make_renderer
from gv_engine.play.grid.terminal import _cell_text
from gv_engine.play.session.session import Session
from gv_engine.play.session.sprite_paths import (
    THEME_FOLDERS,
    find_broken_sprites,
    find_missing_sprites,
    find_sprite,
    find_sprite_or_word,
    find_unused_files,
    read_svg,
    sprite_sources,
    with_builtin_folders,
)
from gv_engine.play.ui.colors import THEMES
from gv_engine.play.ui.drawing.sprites import SpriteSheet
from gv_engine.plugins.web.page import _read_sprites
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.documents.document import read_mapping
from gv_engine.scenario.documents.trust import Trust
from gv_engine.scenario.readers.appearance import LEVEL_THEMES
from tests.boards import RULES

PLAIN = '<svg viewBox="0 0 1 1"><rect width="1" height="1" fill="#123456"/></svg>'
PLAIN_COLOR = 0x12, 0x34, 0x56
LEVEL = {
    **RULES,
    "dim": False,
    "map": "#######\n#>KDE*#\n#######",
    "objects": {"Crate": {}, "Target": {"layer": "ground"}},
    "legend": {
        "*": {"object": "Crate", "ground": "Target"},
        "D": {"object": "Door", "state": "LOCKED"},
    },
    "transition_functions": ["turn_agent"],
}


def write_level(folder: Path, files: tuple[str, ...] = (), **changes: Any) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(PLAIN)
    (folder / "scenario.yaml").write_text(json.dumps({**LEVEL, **changes}))
    return folder / "scenario.yaml"


def picture(level: Scenario, cell: int = 32) -> NDArray[np.uint8]:
    frame = Session(level, 0).frame()
    return make_renderer(level, "state", cell)(frame)


def plain_cells(level: Scenario) -> list[tuple[int, ...]]:
    """The cells (y, x) in which the picture of `level` is nothing but the plain drawing."""
    is_plain = (picture(level) == PLAIN_COLOR).all(-1).reshape(3, 32, 7, 32).all((1, 3))
    return [tuple(cell) for cell in np.argwhere(is_plain).tolist()]


@pytest.mark.parametrize("theme", LEVEL_THEMES)
def test_a_theme_changes_walls_and_floor_and_nothing_else(tmp_path: Path, theme: str):
    usual = Scenario.load(write_level(tmp_path))
    themed = Scenario.load(write_level(tmp_path, theme=theme))
    differs = (picture(usual) != picture(themed)).any(-1).reshape(3, 32, 7, 32).any((1, 3))
    assert differs[[0, 2]].all()
    assert differs[1, [0, 6]].all()
    assert usual.identity.digest == themed.identity.digest
    names = sorted(file.name for file in THEME_FOLDERS[theme].glob("**/*.svg"))
    assert names == ["floor.svg", "floor.svg", "wall.svg", "wall.svg"]
    assert THEME_FOLDERS[theme].name == theme


def test_sprites_of_types_states_pairs_and_the_agent(tmp_path: Path):
    files = {"Wall": "art/stone.svg", "Door LOCKED": "vault.svg", "Crate on Target": "done.svg"}
    files |= {"agent": "hero.svg"}
    file = write_level(tmp_path, tuple(files.values()), sprites=files)
    level = Scenario.load(file)
    walls = [(y, x) for y in range(3) for x in range(7) if y != 1 or x in (0, 6)]
    assert plain_cells(level) == sorted([*walls, (1, 1), (1, 3), (1, 5)])
    assert [*find_unused_files(level)] == []
    assert set(level.sprites.values()) <= set(level.watched_files())
    on_page = dict(_read_sprites([level], [*level.types]))
    for name in ("wall", "door_locked", "crate_on_target", "agent"):
        assert on_page[name] == read_svg(level.sprites[name])
    document = EditorDocument(TextBuffer.load(file))
    assert document.sprite_sources == sprite_sources(level)


def test_a_state_wins_over_all_states_and_own_files_over_a_theme(tmp_path: Path):
    files = {"Door LOCKED": "locked.svg", "Door": "door.svg", "Wall": "wall.svg"}
    level = Scenario.load(write_level(tmp_path, (*files.values(),), sprites=files, theme="ice"))
    sources = sprite_sources(level)
    found = {name: find_sprite(name, sources) for name in ("door_locked", "door_open", "wall")}
    assert found == {
        "door_locked": tmp_path / "locked.svg",
        "door_open": tmp_path / "door.svg",
        "wall": tmp_path / "wall.svg",
    }
    assert find_sprite("floor", sources) == THEME_FOLDERS["ice"] / "floor.svg"


def test_a_pair_is_also_found_by_its_name(tmp_path: Path):
    level = Scenario.load(write_level(tmp_path, ("crate_on_target.svg",)))
    assert plain_cells(level) == [(1, 5)]
    assert [*find_unused_files(level)] == []
    (tmp_path / "crate_on_target.svg").write_text("<html/>")
    (said,) = find_broken_sprites(level)
    assert said.endswith("crate_on_target.svg: no SVG drawing: found <html>, expected <svg>")


def test_files_of_a_base_are_beside_the_base(tmp_path: Path):
    base, child = tmp_path / "base", tmp_path / "child"
    base.mkdir()
    child.mkdir()
    write_level(base, ("stone.svg",), sprites={"Wall": "stone.svg"})
    (child / "hero.svg").write_text(PLAIN)
    (child / "scenario.yaml").write_text(
        json.dumps({"extends": "../base", "sprites": {"agent": "hero.svg"}})
    )
    found = {name: Path(file).resolve() for name, file in Scenario.load(child).sprites.items()}
    assert found == {"wall": base / "stone.svg", "agent": child / "hero.svg"}


def test_a_pasted_level_has_the_usual_sprites(tmp_path: Path):
    (tmp_path / "stone.svg").write_text(PLAIN)
    data = {**LEVEL, "sprites": {"Wall": "stone.svg"}, "theme": "night"}
    documents = [
        read_mapping(data, tmp_path, Trust(is_detached=pasted)) for pasted in (False, True)
    ]
    beside, pasted = map(Scenario.read, documents)
    assert beside.sprites == {"wall": tmp_path / "stone.svg"}
    assert not pasted.sprites
    assert pasted.theme == "night"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sprites": {"Wall": "stone" * 99 + ".svg"}}, "there is no file stonestone"),
        ({"theme": "nigth"}, "theme: .*'nigth'.*did you mean 'night'"),
        ({"sprites": {"Wal": "wall.svg"}}, "found 'Wal', expected an object type.*'Wall'"),
        ({"sprites": {"agnet": "wall.svg"}}, "found 'agnet', expected .*did you mean 'agent'"),
        ({"sprites": {"Door LOKED": "wall.svg"}}, "Door has no state 'LOKED'.*'LOCKED'"),
        ({"sprites": {"Crate on Targt": "wall.svg"}}, "found 'Targt'.*did you mean 'Target'"),
        ({"sprites": {"Wall": "wal.svg"}}, "no file wal.svg beside.*did you mean 'wall.svg'"),
        ({"sprites": {"Wall": "wall.png"}}, "found 'wall.png', expected an SVG file"),
        ({"sprites": {"Wall": "../wall.svg"}}, "found '../wall.svg', expected a file beside"),
        ({"sprites": {"Wall": "/wall.svg"}}, "found '/wall.svg', expected a file beside"),
        ({"sprites": "wall.svg"}, "sprites: found 'wall.svg', expected a mapping"),
    ],
)
def test_faults_are_told_with_the_likely_fix(tmp_path: Path, changes: Any, says: str):
    with pytest.raises(ScenarioError, match=f"(?s){says}"):
        Scenario.load(write_level(tmp_path, ("wall.svg", "wall.png"), **changes))


def test_mobs_on_grass_have_no_badge_and_crates_on_plates_have_one():
    level = Scenario.load("crafter")
    sheet = SpriteSheet(sprite_sources(level), types=level.types)
    cow = sheet.tile("cow", 0, 48, lower=[("grass", 0)]).copy()
    expected = sheet.tile("grass", 0, 48).copy()
    expected.blit(sheet.get("cow", 0, 48), (0, 0))
    assert cow.get_buffer().raw == expected.get_buffer().raw
    with_badge = sheet.tile("crate", 0, 48, lower=[("target", 0)])
    expected = sheet.tile("target", 0, 48).copy()
    expected.blit(sheet.get("crate", 0, 48), (0, 0))
    assert with_badge.get_buffer().raw != expected.get_buffer().raw


WORDS = {"Push": {"glyph": "PUSH"}, "Rule": {"states": ["IS", "AND"], "glyph": {"AND": "<&>"}}}


def test_words_are_on_tiles_in_the_window_on_the_page_and_in_the_terminal():
    level = Scenario.load({**LEVEL, "objects": WORDS, "map": "#>#", "legend": {}})
    assert [kind.glyphs for kind in level.types if kind.name in WORDS] == [
        ("PUSH",),
        ("", "<&>"),
    ]
    sheet, letters = SpriteSheet(types=level.types), SpriteSheet()
    for size in (8, 16, 24, 48, 96):
        word = sheet.get("push", 0, size)
        assert word.get_buffer().raw != letters.get("push", 0, size).get_buffer().raw
    on_page = dict(_read_sprites([level], [*level.types]))
    assert ">PUSH</text>" in on_page["push"]
    assert "&lt;&amp;&gt;</text>" in on_page["rule_and"]
    assert ">RI</text>" not in on_page["rule_and"]
    assert [*find_missing_sprites(level)] == [
        "<mapping>: objects.Rule: no rule_is.svg beside the scenario, so it is a tile with Ri"
    ]
    index = level.types["Push"].index
    assert _cell_text(level.types, "P", (index, 0, 0), True, THEMES["dark"])[0] == "PU"
    assert _cell_text(level.types, "P", (index, 0, 1), True, THEMES["dark"])[0] == "Pr"


def test_a_word_wins_over_a_common_drawing_and_an_own_file_over_a_word(tmp_path: Path):
    changes: dict[str, Any] = {
        "objects": {"Crate": {"glyph": "BOX"}},
        "legend": {"*": "Crate"},
        "map": "#>*#",
    }
    file = write_level(tmp_path, **changes)
    level = Scenario.load(file)
    own = [*sprite_sources(level)]
    assert find_sprite("crate", with_builtin_folders(own)) is not None
    assert find_sprite_or_word(level.types, "crate", own) is None
    (tmp_path / "crate.svg").write_text(PLAIN)
    assert find_sprite_or_word(level.types, "crate", own) == tmp_path / "crate.svg"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ({"glyph": "EVERYTHING"}, "found the glyph 'EVERYTHING', expected 1 to 8 characters"),
        ({"glyph": " "}, "found ' ', expected a text"),
        ({"glyph": {"ON": "GO"}, "states": ["ONN"]}, "for no state, 'ON'; did you mean 'ONN'"),
        ({"glyph": ["A"]}, "objects.Push.glyph: found"),
    ],
)
def test_faults_of_words_are_told(kind: Any, says: str):
    with pytest.raises(ScenarioError, match=f"(?s){says}"):
        Scenario.load({**LEVEL, "objects": {"Push": kind}, "map": "#>#", "legend": {}})


def test_objects_of_another_level_bring_the_files_that_it_names(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    write_level(tmp_path / "one", ("parcel.svg",), sprites={"Crate": "parcel.svg"}, theme="ice")
    file = write_level(tmp_path / "two", objects={}, legend={}, map="#>#")
    work = EditorDocument(TextBuffer.load(file))
    other = OtherLevel(str(tmp_path / "one"))
    addition = Addition(work, other, [each for each in other.objects if each.name == "Crate"])
    work.set_text(addition.apply())
    assert not work.faults
    assert (tmp_path / "two" / "crate.svg").read_text() == PLAIN
