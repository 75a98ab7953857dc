"""Painting levels: cells, characters of the legend, what may be on the grid."""

from pathlib import Path
from typing import Any

import pytest

from gv_engine.play.editor.brushes import Brushes
from gv_engine.play.editor.document import STARTERS, EditorDocument, new_document, open_document
from gv_engine.play.editor.text_buffer import EditError, TextBuffer, put
from gv_engine.scenario.readers.map import LEGEND, Symbol
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.resources import SCENARIOS

RULES = """\
transition_functions: [move_agent, turn_agent]
reward_functions: [reach_exit]
observation_function: {name: partially_occluded, area: [[-2, 0], [-1, 1]]}
terminating_function: reach_exit
"""
ICE = f"""\
map: |
  #####
  #>i.#
  #ECE#
  #####
legend:
  i: {{ground: Ice}}  # slippery
  C: Coin
objects: {{Ice: {{layer: ground}}, Coin: {{}}, Gem: {{colored: yes, states: [ROUGH, CUT]}}}}
{RULES}"""


def work(text: str = ICE) -> EditorDocument:
    made = EditorDocument(TextBuffer(text))
    assert not made.faults
    return made


def paint(made: EditorDocument, cell: tuple[int, int], thing: dict[str, Any]) -> None:
    made.edit(lambda _: made.map.paint([(cell, thing)]))


def entries(made: EditorDocument) -> dict[str, Any]:
    found: dict[str, Any] = made.values["legend"]
    return found


def test_a_thing_has_its_character_or_gets_one():
    made = work()
    paint(made, (1, 3), {"object": "Coin"})
    paint(made, (2, 2), {"object": "Key", "color": "YELLOW"})
    assert made.map.rows == ["#####", "#>iC#", "#EKE#", "#####"]
    assert list(entries(made)) == ["i", "C"]
    paint(made, (1, 3), {"object": "Gem", "state": "CUT", "color": "RED"})
    paint(made, (2, 3), {"object": "Gem"})
    assert made.map.rows == ["#####", "#>iG#", "#EKg#", "#####"]
    assert entries(made)["G"] == {"object": "Gem", "state": "CUT", "color": "RED"}
    assert entries(made)["g"] == "Gem"
    assert not made.faults


def test_what_is_beneath_stays_and_goes_last():
    made = work()
    for cell, thing, found in (
        ((1, 2), {"object": "Coin"}, {"object": "Coin", "ground": "Ice"}),
        ((1, 2), {}, {"ground": "Ice"}),
        ((1, 2), {}, {}),
        ((2, 2), {"object": "Ice"}, {"object": "Coin", "ground": "Ice"}),
    ):
        paint(made, cell, thing)
        assert made.map.thing(cell) == found
    assert not made.faults


STACKS = f"""\
layers: [ground, item, effect, body]
map: |
  #####
  #>ps#
  #ECx#
  #####
legend:
  p: Potion
  C: Crate
  s: {{between: [Potion, Glow], ground: Ice}}
  x: {{object: Crate, between: Potion}}
objects:
  Ice: {{layer: ground}}
  Potion: {{layer: item}}
  Gem: {{layer: item}}
  Glow: {{layer: effect}}
  Crate: {{}}
{RULES}"""


def test_what_lies_between_stays_and_is_painted_by_layer():
    made = work(STACKS)
    for cell, thing, found in (
        ((1, 2), {"object": "Crate"}, {"object": "Crate", "between": "Potion"}),
        ((1, 2), {"object": "Gem"}, {"object": "Crate", "between": "Gem"}),
        ((1, 2), {"object": "Glow"}, {"object": "Crate", "between": ["Gem", "Glow"]}),
        ((1, 2), {}, {"between": ["Gem", "Glow"]}),
        ((1, 2), {}, {}),
        ((1, 3), {"object": "Gem"}, {"between": ["Glow", "Gem"], "ground": "Ice"}),
        ((2, 2), {"object": "Potion"}, {"object": "Crate", "between": "Potion"}),
        ((2, 3), {"agent": "LEFT"}, {"agent": "LEFT", "between": "Potion"}),
    ):
        paint(made, cell, thing)
        assert made.map.thing(cell) == found
    assert not made.faults
    assert made.map.rows[2] == "#Ex" + made.map.rows[2][3:]
    kinds = made.map.cell_arrays()[0][..., 0]
    assert kinds[1, 3] == made.vocabulary.types["Glow"].index
    brushes = Brushes(made.vocabulary)
    brushes.pick({"between": ["Glow", "Gem"], "ground": "Ice"})
    assert brushes.selected == "Glow"


def test_a_sampled_level_keeps_all_layers():
    made = work(STACKS.replace("map: |", "symmetries: [turn]\nmap: |"))
    fixed = made.copy_with_level(3)
    assert not fixed.faults
    cells = [fixed.map.thing(cell) for cell in fixed.map.cells()]
    assert {"between": ["Glow", "Potion"], "ground": "Ice"} in cells
    assert {"object": "Crate", "between": "Potion"} in cells


def test_the_one_agent_moves_and_several_do_not():
    made = work()
    paint(made, (1, 3), {"agent": "LEFT"})
    assert made.map.rows[1] == "#.i<#"
    assert made.map.agents() == [(1, 3, 2)]
    made = work(ICE + "agents: 2\n")
    paint(made, (1, 3), {"agent": "LEFT"})
    assert made.map.rows[1] == "#>i<#"


def test_characters_that_no_cell_has_any_more_go_unless_something_is_said_of_them():
    made = work()
    paint(made, (2, 2), {})
    paint(made, (1, 2), {})
    paint(made, (1, 2), {})
    assert entries(made) == {"i": {"ground": "Ice"}}
    assert "# slippery" in made.buffer.text


def test_spaces_come_to_list_what_is_painted():
    listed = "state_space: {objects: [Wall, Floor, Exit, Ice], colors: [NONE]}\n"
    made = work(ICE.replace("C", ".", 1).replace("  C: Coin\n", "") + listed)
    paint(made, (1, 3), {"object": "Key", "color": "RED"})
    assert made.values["state_space"]["objects"] == ["Wall", "Floor", "Exit", "Ice", "Key"]
    assert made.values["state_space"]["colors"] == ["NONE", "RED"]
    assert not made.faults


def test_rooms_and_sizes():
    made = new_document("blank")
    made.edit(lambda _: made.map.paint_room((0, 8), (6, 0)))
    assert made.map.rows == ["#########", *["#.......#"] * 5, "#########"]
    made.edit(lambda _: made.map.resize(4, 5))
    assert made.map.rows == ["#####", "#...#", "#...#", "#####"]
    made.edit(lambda _: made.map.resize(5, 4))
    assert made.map.rows == ["####", "#..#", "#..#", "#..#", "####"]
    with pytest.raises(EditError, match="1 to 512"):
        made.edit(lambda _: made.map.resize(0, 4))


def test_what_is_alike_lies_together():
    made = work()
    assert made.map.flood_fill((2, 1)) == [(2, 1)]
    assert len(made.map.flood_fill((0, 0))) == 14


def test_all_characters_may_be_taken():
    taken = [chr(code) for code in range(33, 0x180) if chr(code).isprintable()]
    made = EditorDocument(TextBuffer(put(ICE, ("legend",), dict.fromkeys(taken, "Coin"))))
    with pytest.raises(EditError, match="all characters stand for something"):
        paint(made, (1, 3), {"object": "Box"})
    assert not made.undo()


def test_every_usual_character_is_what_its_thing_says():
    words = work().vocabulary
    for character, symbol in LEGEND.items():
        thing = words.things[character]
        assert words.normalize_entry(dict(thing)) == thing
        shown = words.legend[character]
        assert shown == symbol
        assert words.thing_of_symbol(symbol) == thing


def test_a_map_of_what_a_file_extends_becomes_its_own(tmp_path: Path):
    (tmp_path / "base.yaml").write_text(ICE)
    made = EditorDocument(TextBuffer("extends: base.yaml\n", tmp_path / "own.yaml"))
    assert made.map.rows[1] == "#>i.#"
    paint(made, (1, 3), {"object": "Coin"})
    assert made.buffer.text == "extends: base.yaml\nmap: |\n  #####\n  #>iC#\n  #ECE#\n  #####\n"
    assert not made.faults


def test_the_level_of_a_variant_or_of_a_pack_is_edited():
    two = f"variants: {{a: {{}}, b: {{}}}}\nmap: |\n  #>E#\n{RULES}"
    assert EditorDocument(TextBuffer(two), "b").map.path == ("map",)
    own = f"variants:\n  a: {{}}\n  b:\n    map: |\n      #<E#\nmap: |\n  #>E#\n{RULES}"
    made = EditorDocument(TextBuffer(own), "b")
    assert made.map.rows == ["#<E#"]
    pack = f"levels:\n  - {{title: one, map: '#>E#'}}\n  - map: |\n      #E<#\n{RULES}"
    made = EditorDocument(TextBuffer(pack), "2")
    assert made.map.rows == ["#E<#"]
    paint(made, (0, 2), {"agent": "RIGHT"})
    assert made.buffer.text == pack.replace("E<", "E>")
    assert not made.faults
    made = open_document(f"{SCENARIOS / 'sokoban' / 'scenario.yaml'}#2")
    assert len(made.map.rows) > 3
    with pytest.raises(EditError, match="another format"):
        paint(made, (1, 1), {})


@pytest.mark.sample("empty-4x4", "chase")
@pytest.mark.parametrize("name", ["keydoor-7x7", "empty-4x4", "boxes", "chase"])
def test_a_level_that_rules_make_becomes_a_map(name: str):
    made = open_document(name)
    made.insert_level(3)
    assert made.map.rows
    assert not made.faults
    assert made.scenario
    assert made.undo()
    assert made.buffer.text == open_document(name).buffer.text


@pytest.mark.parametrize("starter", STARTERS)
def test_starters_begin_well(starter: str):
    made = new_document(starter)
    assert bool(made.faults) == (starter == "blank")
    assert made.map.rows
    assert made.buffer.is_unsaved


def test_brushes_paint_what_the_level_has():
    brushes = Brushes(work().vocabulary)
    assert brushes.names[:3] == ["Floor", "agent", "Wall"]
    assert {"Ice", "Coin", "Gem"} <= {*brushes.names}
    brushes.selected = "Gem"
    assert brushes.thing() == {"object": "Gem", "color": "YELLOW"}
    brushes.set_state(1)
    brushes.next_color()
    assert brushes.thing() == {"object": "Gem", "state": "CUT"}
    brushes.pick({"agent": "BACKWARD", "ground": "Ice"})
    assert brushes.thing() == {"agent": "BACKWARD"}
    brushes.pick({"ground": "Ice"})
    assert brushes.thing() == {"object": "Ice"}
    door = LEGEND["D"]
    assert brushes.symbol("Door") == Symbol(door.kind, door.state, door.color)
    assert brushes.thing("Door") == {"object": "Door", "state": "LOCKED", "color": "YELLOW"}


def test_a_name_is_edited_as_a_copy_and_a_file_as_itself(tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    assert open_document("ice").buffer.file is None
    assert open_document(str(SCENARIOS / "gallery" / "ice.yaml")).buffer.file
    assert open_document("fresh.yaml").buffer.file == tmp_path / "fresh.yaml"
    for source in ("sokoban#2", "tutorial", "tutorial#6", "kick"):  # they need files beside them
        made = open_document(source)
        assert not made.faults
        made.buffer.save(tmp_path / "copy.yaml")
        Scenario.load(tmp_path / "copy.yaml")
        (tmp_path / "copy.yaml").unlink()
        assert made.map.rows
    with pytest.raises(EditError, match="of the domain algebra"):
        open_document("mathy-poly-simplify-easy")
    (tmp_path / "broken.yaml").write_text("map: [")
    with pytest.raises(EditError, match="not valid YAML"):
        open_document("broken.yaml")
