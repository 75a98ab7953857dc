"""Objects of other levels, added to a level with what they need."""

from pathlib import Path

import pytest

from gv_engine.play.editor.document import EditorDocument, new_document
from gv_engine.play.editor.other_levels import Addition, OtherLevel
from gv_engine.play.editor.rules import RULE_PARTS
from gv_engine.play.editor.text_buffer import EditError, TextBuffer
from gv_engine.play.session.session import Session


def add(work: EditorDocument, source: str, *names: str) -> Addition:
    """Add objects of a level to another one, all of them if none is named."""
    level = OtherLevel(source)
    chosen = [each for each in level.objects if not names or each.name in names]
    addition = Addition(work, level, chosen)
    work.set_text(addition.apply())
    assert not work.faults
    return addition


def rules_of(work: EditorDocument, key: str = "transition_functions") -> list[str]:
    """The rules under a key, as they stand there."""
    value = work.values[key]
    return [each if isinstance(each, str) else each["name"] for each in value]


@pytest.fixture
def work(tmp_path: Path) -> EditorDocument:
    """A level with a key and a door."""
    return new_document("keydoor", tmp_path / "mine.yaml")


def test_an_object_brings_the_types_and_rules_that_it_needs_in_their_order(work: EditorDocument):
    add(work, "plates", "Plate")
    assert [*work.values["objects"]] == ["Plate", "Gate"]
    assert rules_of(work)[-2:] == ["hold_down", "follow"]
    add(work, "crates", "Crate")
    assert rules_of(work)[:2] == ["push", "move_agent"]
    assert "Water" in work.values["objects"]
    assert "# What a step does, in this order.\n" in work.buffer.text


def test_what_is_there_already_is_not_added_again(work: EditorDocument):
    add(work, "patrol")
    text = work.buffer.text
    add(work, "patrol")
    assert work.buffer.text == text
    ends = work.values["terminating_function"]["terminating_functions"]
    assert [each if isinstance(each, str) else each["name"] for each in ends] == [
        *("reach_exit", "seen", "overlap"),
    ]


def test_rules_that_differ_in_numbers_alone_all_come_along(work: EditorDocument, tmp_path: Path):
    gems = tmp_path / "gems.yaml"
    gems.write_text(
        "extends: keydoor-5x5\nobjects: {Gem: {}}\nreward_functions:\n"
        "  - {name: overlap, object_type: Gem}\n"
        "  - {name: overlap, object_type: Gem, reward_on: -0.5, reward_off: 1.0}\n"
    )
    for _ in range(2):
        add(work, str(gems), "Gem")
        assert rules_of(work, "reward_functions").count("overlap") == 2


def test_an_added_lever_opens_its_gate(work: EditorDocument):
    add(work, "levers", "Lever")
    gate, lever = ({"object": name, "color": "RED"} for name in ("Gate", "Lever"))
    work.edit(lambda _: work.map.paint([((1, 2), lever), ((3, 5), gate)]))
    assert work.scenario
    game = Session(work.scenario, 0)
    assert game.frame().grid[3, 5, 1] == 0
    game.step("ACTUATE")
    assert game.frame().grid[3, 5, 1] == 1


def test_another_type_of_the_same_name_gets_a_new_name(work: EditorDocument):
    add(work, "torches", "Torch")
    addition = add(work, "levers", "Lever")
    assert addition.names == {"Lever": "Lever", "Gate": "Gate2"}
    assert addition.summary.endswith("Another Gate is here already, so this one is Gate2")
    assert work.values["objects"]["Gate2"]["sprite"] == "gate"
    assert work.values["transition_functions"][-1] == {
        **{"name": "follow", "object_type": "Gate2", "other_type": "Lever"},
    }
    text = work.buffer.text
    add(work, "levers", "Lever")
    assert work.buffer.text == text


def test_rules_of_a_renamed_type_keep_their_order(tmp_path: Path):
    states = "states: [FORWARD, BACKWARD, LEFT, RIGHT]"
    rules = ["{name: patrol, object_type: Beast}", "{name: chase, object_type: Beast}"]
    other, own = tmp_path / "other.yaml", tmp_path / "mine.yaml"
    walk = "extends: keydoor-5x5\ntransition_functions:"
    other.write_text(f"objects: {{Beast: {{{states}}}}}\n{walk} [move_agent, {', '.join(rules)}]\n")
    own.write_text(
        f"objects: {{Beast: {{{states}, layer: ground}}}}\n{walk} [{rules[1]}, move_agent]\n"
    )
    work = EditorDocument(TextBuffer.load(own))
    assert add(work, str(other), "Beast").names == {"Beast": "Beast2"}
    # after move_agent, as in the other level, and not before the rule about another Beast
    assert rules_of(work) == ["chase", "move_agent", "patrol", "chase"]
    patrol = next(rule for rule in work.rules.rules(RULE_PARTS[0]) if rule.name == "patrol")
    work.set_text(work.rules.remove_rule(patrol))
    add(work, str(other), "Beast")
    assert rules_of(work) == ["chase", "move_agent", "patrol", "chase"]


def test_python_actions_and_drawings_come_along(work: EditorDocument, tmp_path: Path):
    (tmp_path / "rules.py").write_text("# mine\n")
    (tmp_path / "ball.svg").write_text("<svg/>\n")
    add(work, "kick", "Ball")
    assert rules_of(work)[-1] == "./kick_rules.py:kick"
    assert {file.name for file in tmp_path.iterdir()} == {
        *("rules.py", "ball.svg", "kick_rules.py", "kick_ball.svg"),
    }
    assert (tmp_path / "rules.py").read_text() == "# mine\n"
    assert work.values["objects"]["Ball"]["sprite"] == "kick_ball"
    assert work.values["action_space"][-2:] == [
        *("PICK_N_DROP", {"name": "KICK", "key": "K", "says": "kick what is ahead"}),
    ]


def test_colours_that_rules_need_are_allowed(work: EditorDocument):
    add(work, "mixing", "Vat")
    assert "ORANGE" in work.values["observation_space"]["colors"]


def test_coins_have_to_be_taken_before_the_exit_counts(work: EditorDocument):
    add(work, "coins", "Coin")
    success = work.values["success_function"]
    assert success["name"] == "reduce_all"
    assert work.values["terminating_function"] == success


def test_what_cannot_be_added_is_refused_and_leaves_no_file(work: EditorDocument, tmp_path: Path):
    text = work.buffer.text
    with pytest.raises(EditError, match=r"cannot be added: .*only several agents have names"):
        add(work, "ball")
    with pytest.raises(EditError, match=r"Food cannot be added: .*Space stands for"):
        add(work, "foraging-8x8-2p-3f")
    assert work.buffer.text == text
    assert not [*tmp_path.iterdir()]


def test_files_that_are_in_the_way_are_named(work: EditorDocument, tmp_path: Path):
    for name in ("rules.py", "kick_rules.py"):
        (tmp_path / name).write_text("# mine\n")
    with pytest.raises(EditError, match=r"other files of the name rules\.py"):
        add(work, "kick", "Ball")


def test_rules_that_import_files_beside_them_are_refused(work: EditorDocument, tmp_path: Path):
    folder = tmp_path / "caves"
    folder.mkdir()
    (folder / "more.py").write_text("")
    kick = Path("scenarios/gallery/kick/rules.py").read_text()
    (folder / "rules.py").write_text(kick.replace("\nKICK", "\nfrom . import more\nKICK", 1))
    level = Path("scenarios/gallery/kick/scenario.yaml").read_text()
    (folder / "scenario.yaml").write_text(level)
    with pytest.raises(EditError, match=r"rules\.py imports files beside it"):
        add(work, str(folder), "Ball")


def test_a_level_with_errors_or_of_another_kind_is_refused(tmp_path: Path):
    file = tmp_path / "broken.yaml"
    file.write_text("map: |\n  ##\n")
    with pytest.raises(EditError, match="has errors"):
        OtherLevel(str(file))
    with pytest.raises(EditError, match=r"fresh-snow\.txt is no YAML file; change it in a text"):
        OtherLevel("fresh-snow")
    with pytest.raises(EditError, match="levels of grids are edited here"):
        OtherLevel("mathy-poly-simplify-easy")


def test_the_palette_has_headings(work: EditorDocument):
    add(work, "levers", "Lever")
    add(work, "patrol", "Guard")
    headings = work.vocabulary.headings
    assert [headings[name] for name in ("Wall", "Key", "Lever", "Gate", "Guard", "Telepod")] == [
        *("Basics", "Doors and keys", "Switches", "Switches", "Hazards", "Movers"),
    ]


def test_a_saved_level_in_the_same_folder_needs_no_copies(tmp_path: Path):
    for name in ("rules.py", "ball.svg", "scenario.yaml"):
        content = Path("scenarios/gallery/kick", name).read_bytes()
        (tmp_path / name).write_bytes(content)
    text = new_document("keydoor").buffer.text
    work = EditorDocument(TextBuffer(text, tmp_path / "mine.yaml"))
    assert not add(work, str(tmp_path / "scenario.yaml"), "Ball").files
    assert rules_of(work)[-1] == "./rules.py:kick"
