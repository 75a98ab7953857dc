"""Keys that are changed in the window, and the file that keeps them."""

from pathlib import Path

import pytest

from gv_engine.play.ui.input.bindings import (
    Bindings,
    BindingsError,
    describe_lost_keys,
    rebind,
    replace_keys,
)

WRITTEN = """\
# mine
[play]  # as I like it
undo = ["B"]  # for back

[grid]
# ACTUATE = ["X"]
ACTUATE = [
    "E",
    "Pad A",
]  # two lines
"""


def test_a_file_is_made(tmp_path: Path):
    file = tmp_path / "new folder" / "keys.toml"
    made = rebind("grid", "ACTUATE", ["J", "Pad A"], file)
    assert made.command_name("J", ("grid",)) == "ACTUATE"
    assert made.command_name("Space", ("grid",)) == ""
    assert Bindings.load(file)[0].keys("grid", "ACTUATE") == ("J", "Pad A")
    rebind("play", "undo", ["K"], file)
    loaded = Bindings.load(file)[0]
    assert (loaded.keys("grid", "ACTUATE"), loaded.keys("play", "undo")) == (("J", "Pad A"), ("K",))


def test_what_was_written_by_hand_stays(tmp_path: Path):
    file = tmp_path / "keys.toml"
    file.write_text(WRITTEN)
    rebind("grid", "ACTUATE", ["J"], file)
    rebind("play", "undo", ["K"], file)
    rebind("play", "redo", ["Ctrl+K"], file)
    assert file.read_text() == WRITTEN.replace('undo = ["B"]', 'undo = ["K"]').replace(
        "like it\n", 'like it\nredo = ["Ctrl+K"]\n'
    ).replace('[\n    "E",\n    "Pad A",\n]  # two', '["J"]  # two')
    for group, name in (("play", "redo"), ("play", "undo"), ("grid", "ACTUATE"), ("view", "help")):
        made = rebind(group, name, None, file)
        assert made.keys(group, name) == Bindings().keys(group, name)
    assert file.read_text() == '# mine\n[play]  # as I like it\n\n[grid]\n# ACTUATE = ["X"]\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[play]\nundo = ["J"]\n', "^ACTUATE: J stands for undo already$"),
        ("[play\n", "is not TOML"),
        ('grid.ACTUATE = ["E"]\n', "only you can change"),
        ('[grid]\nACTUATE = "E"\n', "only you can change"),
    ],
)
def test_a_file_that_cannot_be_changed_is_left_alone(tmp_path: Path, text: str, why: str):
    file = tmp_path / "keys.toml"
    file.write_text(text)
    with pytest.raises(BindingsError, match=why):
        rebind("grid", "ACTUATE", ["J"], file)
    assert file.read_text() == text


def test_a_key_takes_the_place_of_its_kind():
    assert replace_keys(("Space", "E", "Pad A"), "J") == ["J", "E", "Pad A"]
    assert replace_keys(("Space", "E", "Pad A"), "E") == ["E", "Pad A"]
    assert replace_keys(("Space", "Pad A"), "Pad B") == ["Space", "Pad B"]
    assert replace_keys((), "J") == ["J"]


def test_the_key_that_is_taken_is_named_the_right_way_round(tmp_path: Path):
    file = tmp_path / "keys.toml"
    file.write_text('[grid]\nACTUATE = ["B"]\n\n[play]\nundo = ["J"]\n')
    with pytest.raises(BindingsError, match=r"^ACTUATE: J stands for undo already$"):
        rebind("grid", "ACTUATE", ["J"], file)
    before = Bindings()
    after = rebind("grid", "ACTUATE", ["Z"], file)
    assert describe_lost_keys(before, after, "ACTUATE").startswith('"undo a step" has lost Z')
