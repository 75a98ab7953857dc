"""Which key does what."""

import tomllib
from pathlib import Path

import pytest

from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.input.bindings import (
    GROUPS,
    SCANCODES,
    SCREENS,
    Bindings,
    BindingsError,
    format_keys_file,
    key_label,
    set_layout_labels,
)
from gv_engine.rules.geometry import ACTIONS
from gv_engine.scenario.domains import KeyCommand

PLAY = SCREENS["grid"]


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        (["Up", "W", "Shift+Up"], "MOVE_FORWARD"),
        (["Shift+Left", "Shift+A"], "MOVE_LEFT"),
        (["S"], "MOVE_BACKWARD"),
        (["Space", "Pad A"], "ACTUATE"),
        (["Shift+Z"], "redo"),
        (["F11"], "full_screen"),
        (["Ctrl+W", "B"], ""),
    ],
)
def test_keys_while_playing(keys: list[str], command: str):
    for key in keys:
        assert Bindings().command_name(key, PLAY) == command


def test_every_action_and_every_command_has_a_key():
    keys = Bindings()
    assert {command.name for command in GROUPS["grid"]} == set(ACTIONS)
    for group, commands in GROUPS.items():
        for command in commands:
            assert keys.keys(group, command.name), command


@pytest.mark.parametrize("screen", SCREENS)
def test_a_key_does_one_thing_on_a_screen(screen: str):
    keys = [
        key
        for group in SCREENS[screen]
        for command in GROUPS[group]
        for key in Bindings().keys(group, command.name)
    ]
    assert sorted(keys) == sorted(set(keys))


def test_keys_are_named_as_printed_on_the_keyboard():
    azerty = {"A": "Q", "Q": "A", "Slash": "!"}
    set_layout_labels(azerty)
    try:
        assert Bindings().label("view", "help") == "H"
        assert key_label("Shift+Slash") == "Shift+!"
        assert tomllib.loads(format_keys_file(Bindings()))["replay"]["back"][1] == "A"
        assert [key_label(key) for key in ("A", "Ctrl+Q", "Z", "Left", "0")] == [
            *("Q", "Ctrl+A", "Z", "Left", "0"),
        ]
    finally:
        set_layout_labels({})
    assert key_label("A") == "A"


def test_keys_are_where_sdl_has_them():
    for name, code in SCANCODES.items():
        if len(name) == 1 or name.startswith("F"):
            assert getattr(pygame, f"KSCAN_{name}") == code
    for name in ("Return", "Slash", "Up", "Home", "Delete", "Keypad 0", "Keypad 9", "Keypad Enter"):
        called = {"Keypad Enter": "KP_ENTER"}.get(name, name.upper().replace("KEYPAD ", "KP"))
        assert getattr(pygame, f"KSCAN_{called}") == SCANCODES[name]


def test_a_key_of_ones_own_takes_it_from_its_usual_command():
    keys = Bindings({"grid": {"ACTUATE": ["Z", "Shift+Ctrl+X"]}})
    assert keys.command_name("Z", PLAY) == "ACTUATE"
    assert keys.command_name("Ctrl+Shift+X", PLAY) == "ACTUATE"
    assert keys.command_name("Space", PLAY) == ""
    assert keys.command_name("Backspace", PLAY) == "undo"
    assert "Z" not in keys.keys("play", "undo")
    assert keys.command_name("Space", SCREENS["replay"]) == "play"
    with pytest.raises(BindingsError):
        Bindings({"play": {"undo": ["X", "Y"], "redo": ["Y"]}})


def test_the_help_tells_what_the_bindings_are():
    keys = Bindings({"grid": {"ACTUATE": ["Return"]}, "play": {"undo": []}})
    told = dict(keys.describe_keys(("grid", "play")))
    assert told["Enter"] == "use what is ahead"
    assert "undo a step" not in told.values()
    labels = [*map(key_label, ("Escape", "Shift+Equals", "Keypad +"))]
    assert labels == ["Esc", "Shift++", "Keypad +"]


KICK, SING = KeyCommand("KICK", "kick the ball", ("K",)), KeyCommand("SING", "sing", ())


def test_actions_of_a_level_come_with_it():
    keys = Bindings()
    level = keys.with_level_commands("grid", (KICK, SING))
    assert keys.command_name("K", PLAY) == ""
    assert level.command_name("K", PLAY) == "KICK"
    assert level.command_name("Shift+K", PLAY) == "KICK"
    assert level.label("grid", "KICK") == "K"
    assert level.label("grid", "SING") == ""
    assert ("K", "kick the ball") in list(level.describe_keys(("grid", "play")))
    assert 'KICK = ["K"]  # kick the ball' in format_keys_file(level)
    assert keys.with_level_commands("grid", (KICK, SING)) is level
    assert keys.with_level_commands("grid", ()) is keys


def test_a_key_of_a_level_goes_before_a_usual_one_and_after_ones_own():
    takes_p = KeyCommand("KICK", "kick the ball", ("P",))
    assert Bindings().with_level_commands("grid", (takes_p,)).command_name("P", PLAY) == "KICK"
    own = Bindings({"grid": {"ACTUATE": ["K"], "SING": ["J"]}}).with_level_commands(
        "grid", (KICK, SING)
    )
    assert own.command_name("K", PLAY) == "ACTUATE"
    assert own.label("grid", "KICK") == ""
    assert own.command_name("J", PLAY) == "SING"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[gird]\n", ":1: there is no group [gird]; did you mean 'grid'?"),
        ("[grid]\n\nACTUAT = ['E']\n", ":3: [grid] has no command ACTUAT; did you mean 'ACTUATE'?"),
        ("[play]\nUNDO = ['E']\n", ":2: [play] has no command UNDO"),
        ("[grid]\nkick = ['E']\n", ":2: [grid] has no command kick"),
        ("[grid]\nACTUATE = ['Spce']\n", ":2: ACTUATE: there is no key 'Spce'; did you mean"),
        ("[grid]\nACTUATE = ['Hyper+E']\n", ":2: ACTUATE: 'Hyper' is none of Ctrl, Alt, Shift"),
        ("[grid]\nACTUATE = 'E'\n", ":2: ACTUATE wants a list of keys"),
        ("grid = 3\n", ":1: [grid] holds commands, found 3"),
        (
            "[grid]\nACTUATE = ['E']\n[play]\nundo = ['E']\n",
            ":4: undo: E stands for ACTUATE already",
        ),
        ("[grid\n", ": it is not TOML"),
        ("a = " + "[" * 5000, ""),
        ("a = " + "9" * 5000, ""),
        (f"[{'a' * 9000}]", ":1: there is no group ["),
        (f"grid = '{'a' * 9000}'", ":1: [grid] holds commands, found 'a"),
    ],
    ids=lambda value: value[:30],
)
def test_a_wrong_file_is_told_and_left_alone(tmp_path: Path, text: str, part: str):
    file = tmp_path / "keys.toml"
    file.write_text(text)
    keys, wrong = Bindings.load(file)
    assert wrong.startswith(f"{file}{part}"), wrong
    assert wrong.endswith("The usual keys are used")
    assert "?." not in wrong
    assert len(wrong) < 600
    assert keys.command_name("Space", PLAY) == "ACTUATE"
    assert file.read_text() == text


def test_other_files(tmp_path: Path):
    assert Bindings.load(tmp_path / "none")[1] == ""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\0")
    assert "not a text" in Bindings.load(tmp_path / "bytes")[1]
    assert str(tmp_path) in Bindings.load(tmp_path)[1]  # a folder


def test_the_file_to_begin_with_says_what_is_so_anyway():
    keys = Bindings({"grid": {"ACTUATE": ["E"]}})
    again = Bindings(tomllib.loads(format_keys_file(keys)))
    for group, commands in GROUPS.items():
        for command in commands:
            assert again.keys(group, command.name) == keys.keys(group, command.name)
