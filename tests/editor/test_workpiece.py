"""A manuscript, its file, and what is wrong with it."""

import time
from pathlib import Path

import pytest

from gv_engine.play.editor.document import EditorDocument, Fault, new_document
from gv_engine.play.editor.text_buffer import EditError, TextBuffer
from gv_engine.play.validation.lint import find_placed_mistakes
from gv_engine.rules.errors import ProblemPlace
from tests.editor.test_rules import becomes
from tests.editor.test_sketch import ICE, paint, work


def test_every_edit_is_undone_and_done_again():
    made = work()
    texts = [made.buffer.text]
    for number in range(4):
        made.set_value(("max_steps",), number + 1)
        texts.append(made.buffer.text)
    for goes, found in ((made.undo, texts[-2::-1]), (made.redo, texts[1:])):
        for text in found:
            assert goes()
            assert made.buffer.text == text
        assert not goes()


def test_a_stroke_is_undone_at_once_and_what_is_no_yaml_changes_nothing():
    made = work()
    for x in (2, 3):
        becomes(made, made.map.paint([((1, x), {"object": "Coin"})]), stroke=7)
    becomes(made, made.map.paint([((2, 2), {})]), stroke=8)
    assert made.undo()
    assert made.map.rows[2] == "#ECE#"
    assert made.undo()
    assert made.buffer.text == ICE
    with pytest.raises(EditError, match="not valid YAML"):
        made.edit(lambda text: text + "map: [\n")
    assert made.buffer.text == ICE
    assert not made.undo()


def test_faults_are_where_they_are():
    text = ICE.replace("  C: Coin", "  C: {object: Door, state: AJAR}").replace("i.#", "i?#", 1)
    made = EditorDocument(TextBuffer(text))
    assert made.scenario is None
    by_path = {fault.place.path: fault for fault in made.faults}
    assert made.cells_of(by_path["legend.C.state"]) == [(2, 2)]
    assert made.cells_of(by_path["map"]) == [(1, 3)]
    assert by_path["map"].message.startswith("line 3: map: row 1, column 3: no '?'")
    made.edit(lambda now: now.replace("#E", "#?", 1))
    assert made.cells_of(next(f for f in made.faults if f.place.path == "map")) == [(1, 3), (2, 1)]
    assert made.undo()
    paint(made, (1, 3), {})
    paint(made, (2, 2), {"object": "Coin"})
    assert not made.faults
    made.edit(lambda now: now.replace("i.#", "i<#", 1))  # a second agent
    assert made.cells_of(*made.faults) == [(1, 3)]
    assert made.undo()
    assert made.scenario


def test_what_is_said_of_an_object_is_about_its_cells():
    made = work()
    assert made.scenario
    drawn = {place.path: place for _, place in find_placed_mistakes(made.scenario)}
    assert made.cells_of(Fault("no gem.svg", drawn["objects.Gem"])) == []
    paint(made, (1, 3), {"object": "Gem"})
    assert made.cells_of(Fault("no gem.svg", drawn["objects.Gem"])) == [(1, 3)]
    assert made.cells_of(Fault("ice", ProblemPlace("objects.Ice.layer"))) == [(1, 2)]


def test_a_file_that_cannot_be_read_is_edited_still():
    made = EditorDocument(TextBuffer(ICE.replace("legend:", "legend: 7\nlegend:")))
    assert made.faults
    assert made.map.rows
    made.undo()


def test_saving_and_what_others_save(tmp_path: Path):
    file = tmp_path / "cave.yaml"
    file.write_bytes(ICE.replace("\n", "\r\n").encode())
    made = EditorDocument(TextBuffer.load(file))
    manuscript = made.buffer

    def is_as_on_disk() -> bool:
        return not manuscript.is_unsaved and not manuscript.has_disk_changes

    assert made.title == "cave"
    assert is_as_on_disk()
    paint(made, (1, 3), {"object": "Coin"})
    assert made.title == "cave *"
    manuscript.save()
    assert is_as_on_disk()
    assert file.read_bytes() == ICE.replace("i.#", "iC#").replace("\n", "\r\n").encode()
    time.sleep(0.01)
    file.write_text(ICE + "max_steps: 5\n")
    assert manuscript.has_disk_changes
    manuscript.load_from_disk()
    made.refresh()
    assert is_as_on_disk()
    assert made.scenario
    assert made.scenario.max_steps == 5
    assert made.undo()
    assert (made.map.rows[1], manuscript.is_unsaved) == ("#>iC#", True)
    file.unlink()
    assert manuscript.has_disk_changes
    manuscript.save()
    assert file.exists()


def test_a_file_that_cannot_be_written_stays(tmp_path: Path):
    made = new_document("room")
    with pytest.raises(OSError, match="cannot be written"):
        made.buffer.save(tmp_path / "none" / "cave.yaml")
    assert made.buffer.file is None
    with pytest.raises(ValueError, match="needs a name"):
        made.buffer.save()


def test_rules_beside_the_file_are_read_again(tmp_path: Path):
    rules = tmp_path / "rules.py"
    rule = "from gv_engine import REWARD, World, system\n\n@system(REWARD)\n"
    rule += "def gift(w: World, agent: int) -> float:\n    '''A gift.'''\n    return 1.0\n"
    rules.write_text(rule)
    file = tmp_path / "cave.yaml"
    file.write_text(ICE.replace("[reach_exit]", "[reach_exit, './rules.py:gift']"))
    made = EditorDocument(TextBuffer.load(file))
    assert made.scenario
    assert not made.have_rules_changed()
    rules.write_text(rule.replace("gift(", "present("))
    assert made.have_rules_changed()
    made.refresh()
    assert "rules.py has no 'gift'" in made.faults[0].message
