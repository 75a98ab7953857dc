"""Bindings of keys to commands, for keyboard, gamepad and terminal; free of any drawing library.

Keys are named by their place on a US keyboard, whatever is printed on them: "W" is the key left of
"E" everywhere. Groups of commands are active together on a screen; within such a set a key does one
thing. A file `keys.toml` in the user's configuration folder gives commands other keys:

    [grid]
    ACTUATE = ["Space", "E", "Pad A"]
    KICK = ["J"]

The last one is an action of some level's own, see `Bindings.of_level`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path

from gv_engine.rules.errors import shorten
from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.ui.settings import config_folder, read_toml

# ---- key names -----------------------------------------------------------------------------------

_CALLED = {
    **{"Escape": "Esc", "Return": "Enter", "Equals": "+", "Minus": "-", "Slash": "?"},
    **{"LeftBracket": "[", "RightBracket": "]", "Grave": "`", "Semicolon": ";"},
}
"""What people call some keys."""

LETTERS = {chr(65 + n): 4 + n for n in range(26)}
DIGITS = {str((n + 1) % 10): 30 + n for n in range(10)}
_FUNCTION = {f"F{n}": 57 + n for n in range(1, 13)}
_KEYPAD = {f"Keypad {n}": 89 + (n - 1) % 10 for n in range(10)}
_OTHERS = (
    "Return Escape Backspace Tab Space Minus Equals LeftBracket RightBracket Backslash",
    "Semicolon Apostrophe Grave Comma Period Slash CapsLock",
    "PrintScreen ScrollLock Pause Insert Home PageUp Delete End PageDown Right Left Down Up",
)
SCANCODES: dict[str, int] = {
    **LETTERS,
    **DIGITS,
    **_FUNCTION,
    **_KEYPAD,
    **{name: 40 + n for n, name in enumerate(_OTHERS[0].split())},
    **{name: 51 + n for n, name in enumerate(_OTHERS[1].split())},
    **{name: 70 + n for n, name in enumerate(_OTHERS[2].split())},
    **{f"Keypad {sign}": 84 + n for n, sign in enumerate("/*-+")},
    "Keypad Enter": 88,
    "Keypad .": 99,
    "NonUSBackslash": 100,
}
"""Usages of the USB keyboard page by name; they are SDL's scancodes too."""

_BUTTONS = "A B X Y Back Guide Start LeftStick RightStick LB RB Up Down Left Right"
PAD = tuple(f"Pad {name}" for name in _BUTTONS.split())
"""Buttons of a gamepad, in SDL's order."""

MODIFIERS = ("Ctrl", "Alt", "Shift")
"""In the order in which the names of keys have them."""


def key_label(key: str) -> str:
    """A key as people call it: Esc, Shift+Left, +."""
    *modifiers, name = key_parts(key)
    return "+".join([*modifiers, _CALLED.get(name, name)])


def key_parts(key: str) -> list[str]:
    """The modifiers of a key and its name, which may end with a plus."""
    *modifiers, name = key.removesuffix("+").split("+")
    return [*modifiers, name + "+" * key.endswith("+")]


# ---- groups --------------------------------------------------------------------------------------

GROUPS: dict[str, tuple[KeyCommand, ...]] = {
    **{domain.title: domain.keys for domain in DOMAINS.values()},
    "play": (
        KeyCommand("undo", "undo a step", ("Z", "Backspace", "Ctrl+Z", "Pad B"), True),
        KeyCommand(
            "redo", "redo a step", ("Y", "Shift+Z", "Ctrl+Y", "Ctrl+Shift+Z", "Pad Y"), True
        ),
        KeyCommand("first", "rewind to the beginning", ("Home",)),
        KeyCommand("last", "on to the latest step", ("End",)),
        KeyCommand("game_before", "back to the game before", ("Shift+Home",)),
        KeyCommand("game_after", "on to the game after", ("Shift+End",)),
        KeyCommand("again", "same level again", ("R",)),
        KeyCommand("next_level", "next level", ("N",)),
        KeyCommand("previous_level", "previous level", ("Shift+N",)),
        KeyCommand("go_on", "go on when the level is over", ("Return", "Pad Start")),
        KeyCommand("kin", "another size or difficulty", ("L",)),
        KeyCommand("enter_seed", "enter a seed", ("G",)),
        KeyCommand("rules", "rules of this level", ("F3",)),
        KeyCommand("hint", "hint: the next step", ("F4",)),
        KeyCommand("real_time", "let time run or wait", ("T",)),
        KeyCommand("save_replay", "save a replay", ("Ctrl+S", "F5")),
        KeyCommand("watch", "watch the replay that was saved", ("F6",)),
        KeyCommand("race", "race what was saved, the agent or the solver", ("F7",)),
        KeyCommand("record", "begin or end a recording", ("Ctrl+R", "F9")),
        KeyCommand("picture", "save a picture", ("F12",)),
        KeyCommand("edit_level", "edit this level", ("Ctrl+E",)),
        KeyCommand("menu", "pause, menu", ("Escape", "Pad Back")),
    ),
    "agent": (
        KeyCommand("agent", "let the agent act, or stop it", ("F8", "Grave")),
        KeyCommand("agent_step", "one step of the agent", ("F10", "Semicolon"), True),
        KeyCommand("agent_faster", "a faster agent", ("RightBracket",)),
        KeyCommand("agent_slower", "a slower agent", ("LeftBracket",)),
    ),
    "wall": (
        KeyCommand("wall_pause", "let the worlds step, or wait", ("Space", "Pad A")),
        KeyCommand("wall_step", "one step of all worlds", ("Right", "Period", "Pad Right"), True),
        KeyCommand("wall_faster", "faster worlds", ("Up", "RightBracket", "Pad Up")),
        KeyCommand("wall_slower", "slower worlds", ("Down", "LeftBracket", "Pad Down")),
        KeyCommand("wall_open", "open the chosen world", ("Return", "Pad Y")),
        KeyCommand("wall_left", "choose a world left", ("A", "Shift+Left", "Pad LB"), True),
        KeyCommand("wall_right", "choose a world right", ("D", "Shift+Right", "Pad RB"), True),
        KeyCommand("wall_up", "choose a world above", ("W", "Shift+Up"), True),
        KeyCommand("wall_down", "choose a world below", ("S", "Shift+Down", "Pad X"), True),
        KeyCommand("zoom_in", "larger worlds", ("Equals", "Keypad +"), True),
        KeyCommand("zoom_out", "smaller worlds", ("Minus", "Keypad -"), True),
        KeyCommand("scroll_up", "scroll up", ("PageUp",), True),
        KeyCommand("scroll_down", "scroll down", ("PageDown",), True),
        KeyCommand("help", "keys", ("H", "Slash")),
        KeyCommand("leave", "leave", ("Escape", "Pad B")),
    ),
    "replay": (
        KeyCommand("play", "play or pause", ("Space", "Pad A")),
        KeyCommand("forward", "a step on", ("Right", "D", "Period", "Pad Right"), True),
        KeyCommand("back", "a step back", ("Left", "A", "Comma", "Pad Left"), True),
        KeyCommand("first", "to the beginning", ("Home",)),
        KeyCommand("last", "to the end", ("End",)),
        KeyCommand("faster", "faster", ("Up", "W", "Pad Up")),
        KeyCommand("slower", "slower", ("Down", "S", "Pad Down")),
        KeyCommand("next_episode", "next episode of a rollout", ("N",)),
        KeyCommand("previous_episode", "previous episode", ("Shift+N",)),
        KeyCommand("export", "export as a picture or video", ("E", "Pad X")),
        KeyCommand("take_over", "play on from here", ("Return", "Pad Start")),
        KeyCommand("menu", "menu", ("F10", "Pad Back")),
        KeyCommand("leave", "leave", ("Escape", "Pad B")),
    ),
    "view": (
        KeyCommand("view", "another view", ("V",)),
        KeyCommand("zoom_in", "zoom in", ("Equals", "Keypad +"), True),
        KeyCommand("zoom_out", "zoom out", ("Minus", "Keypad -"), True),
        KeyCommand("zoom_reset", "usual size", ("0",)),
        KeyCommand("minimap", "map of the whole", ("M",)),
        KeyCommand("inspect", "inspector", ("I",)),
        KeyCommand("copy", "copy the game as a line of text", ("Ctrl+C",)),
        KeyCommand(
            "first_change", "to the first step that a saved file has changed", ("Ctrl+Home",)
        ),
        KeyCommand("compare", "how it was before a file was saved, and back", ("Ctrl+B",)),
        KeyCommand("help", "keys", ("H", "Slash")),
    ),
    "inspector": (
        KeyCommand("next_tab", "next page of the inspector", ("Tab",), True),
        KeyCommand("previous_tab", "previous page of the inspector", ("Shift+Tab",), True),
        KeyCommand("next_choice", "next visibility or representation", ("X",), True),
        KeyCommand("previous_choice", "previous one", ("Shift+X",), True),
        KeyCommand("cell_up", "look at the cell above", ("Ctrl+Up", "Keypad 8"), True),
        KeyCommand("cell_down", "look at the cell below", ("Ctrl+Down", "Keypad 2"), True),
        KeyCommand("cell_left", "look at the cell on the left", ("Ctrl+Left", "Keypad 4"), True),
        KeyCommand("cell_right", "look at the cell on the right", ("Ctrl+Right", "Keypad 6"), True),
        KeyCommand("scroll_up", "scroll up", ("PageUp",), True),
        KeyCommand("scroll_down", "scroll down", ("PageDown",), True),
    ),
    "edit": (
        KeyCommand("try", "play it, and come back", ("Tab",)),
        KeyCommand("undo", "undo a change", ("Z", "Ctrl+Z"), True),
        KeyCommand("redo", "redo a change", ("Y", "Shift+Z", "Ctrl+Y", "Ctrl+Shift+Z"), True),
        KeyCommand("save", "save the file", ("Ctrl+S", "F5")),
        KeyCommand("save_as", "save as another file", ("Ctrl+Shift+S",)),
        KeyCommand("up", "a cell up", ("Up",), True),
        KeyCommand("down", "a cell down", ("Down",), True),
        KeyCommand("left", "a cell left", ("Left",), True),
        KeyCommand("right", "a cell right", ("Right",), True),
        KeyCommand("put", "put the thing into the cell, or a corner", ("Space", "Return")),
        KeyCommand("erase", "take out what is in the cell", ("Delete", "Backspace")),
        KeyCommand("pick", "take what is in the cell for more of it", ("E",)),
        KeyCommand("next_thing", "next thing", ("RightBracket", "PageDown"), True),
        KeyCommand("previous_thing", "previous thing", ("LeftBracket", "PageUp"), True),
        KeyCommand("next_color", "another colour", ("C",), True),
        KeyCommand("next_state", "another state, or way to look", ("S",), True),
        KeyCommand("next_tool", "another tool: pen, rectangle, room, fill", ("T",), True),
        KeyCommand("all_things", "more things, or the level's own", ("A",)),
        KeyCommand("cell_form", "properties of what is in the cell", ("P",)),
        KeyCommand("size", "another size", ("G",)),
        KeyCommand("level_rules", "rules: add, order, set", ("F3", "R")),
        KeyCommand("level_form", "properties of the level", ("F4", "L")),
        KeyCommand("next_fault", "what is wrong, one after the other", ("N",), True),
        KeyCommand("zoom_in", "zoom in", ("Equals", "Keypad +"), True),
        KeyCommand("zoom_out", "zoom out", ("Minus", "Keypad -"), True),
        KeyCommand("zoom_reset", "usual size", ("0",)),
        KeyCommand("help", "keys", ("H", "Slash")),
        KeyCommand("menu", "menu", ("Escape",)),
    ),
    "trial": (
        KeyCommand("back", "back to the editor", ("Tab",)),
        KeyCommand("next_agent", "control another agent", ("Shift+Tab",)),
    ),
    "list": (
        KeyCommand("add", "add one", ("Insert", "A")),
        KeyCommand("remove", "take it out", ("Delete",)),
        KeyCommand("move_up", "move it up", ("Shift+Up", "Ctrl+Up"), True),
        KeyCommand("move_down", "move it down", ("Shift+Down", "Ctrl+Down"), True),
        KeyCommand("undo", "undo a change", ("Z", "Ctrl+Z"), True),
        KeyCommand("redo", "redo a change", ("Y", "Shift+Z", "Ctrl+Y", "Ctrl+Shift+Z"), True),
    ),
    "start": (
        KeyCommand("new_level", "make a new level", ("Ctrl+N",)),
        KeyCommand("edit_level", "edit the chosen level", ("Ctrl+E",)),
    ),
    "menu": (
        KeyCommand("up", "up", ("Up", "Pad Up"), True),
        KeyCommand("down", "down", ("Down", "Pad Down"), True),
        KeyCommand("left", "left", ("Left", "Pad Left"), True),
        KeyCommand("right", "right", ("Right", "Pad Right"), True),
        KeyCommand("page_up", "a page up", ("PageUp", "Pad LB"), True),
        KeyCommand("page_down", "a page down", ("PageDown", "Pad RB"), True),
        KeyCommand("first", "to the beginning", ("Home",)),
        KeyCommand("last", "to the end", ("End",)),
        KeyCommand("choose", "choose", ("Return", "Keypad Enter", "Pad A")),
        KeyCommand("erase", "erase a letter", ("Backspace",), True),
        KeyCommand("complete", "complete a path", ("Tab",)),
        KeyCommand("paste", "paste", ("Ctrl+V", "Shift+Insert")),
        KeyCommand("leave", "back", ("Escape", "Pad B")),
    ),
    "window": (
        KeyCommand("help", "keys", ("F1",)),
        KeyCommand("settings", "settings", ("F2",)),
        KeyCommand("full_screen", "full screen", ("F11", "Alt+Return")),
    ),
}
"""All commands, by group."""

SCREENS = {
    "start": ("start", "menu", "window"),
    "edit": ("edit", "window"),
    "list": ("list", "menu", "window"),
    **{
        domain.title: (domain.title, "play", "agent", "view", *domain.panels, "window")
        for domain in DOMAINS.values()
    },
    "wall": ("wall", "window"),
    "replay": ("replay", "view", "inspector", "window"),
}
"""Groups that are active together."""


# ---- bindings ------------------------------------------------------------------------------------

_NAMED = re.compile(r"{(\w+)}")


class BindingsError(ValueError):
    """Keys that cannot be used; the message says why.

    Args:
        why: the message.
        at: the name in the file that it is about.
    """

    def __init__(self, why: str, at: str) -> None:
        super().__init__(why)
        self.at = at


class Bindings:
    """Which key does what.

    Args:
        changes: other keys than the usual ones, by group and command. Where a usual key of another
            command is among them, that command loses it.
        own: commands of a level's own, by group; they go before the usual ones.

    Attributes:
        changes: the same.

    Raises:
        BindingsError: no such group, command or key, or a key stands for two commands.
    """

    def __init__(
        self,
        changes: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        own: Mapping[str, Sequence[KeyCommand]] | None = None,
    ) -> None:
        self.changes, self._own = changes, own or {}
        self._levels: dict[tuple[KeyCommand, ...], Bindings] = {}
        given = {
            (group, name): tuple(keys)
            for group, commands in _checked(changes or {}).items()
            for name, keys in commands.items()
        }
        self._keys = {**given, **_left(self._own, given)}
        self._keys |= _left(GROUPS, self._keys)
        _check_unique(given)
        self._commands = {
            group: {
                key: command
                for command in self.commands(group)
                for key in self._keys[group, command.name]
            }
            for group in GROUPS
        }

    @classmethod
    def load(cls, file: Path | None = None) -> tuple[Bindings, str]:
        """The bindings of a file, `keys.toml` in the configuration folder if None.

        Returns:
            The bindings and what is wrong with the file, empty if nothing. With a wrong file they
            are the usual ones; the file is left as it is.
        """
        file = file or keys_file()
        changes, text, wrong = read_toml(file, "keys")
        try:
            return cls(changes), wrong
        except BindingsError as error:
            why = shorten(str(error), 300)
            line = _line_of(error.at, text)
        stop = "" if why.endswith("?") else "."
        return cls(), f"{file}{line}: {why}{stop} The usual keys are used"

    def of_level(self, group: str, own: tuple[KeyCommand, ...]) -> Bindings:
        """These bindings, with commands of a level's own in a group; kept for the next time."""
        if own and own not in self._levels:
            self._levels[own] = Bindings(self.changes, {group: own})
        return self._levels[own] if own else self

    def commands(self, group: str) -> tuple[KeyCommand, ...]:
        """The commands of a group, those of the level's own at its end."""
        return (*GROUPS[group], *self._own.get(group, ()))

    def find(self, key: str, groups: Iterable[str]) -> KeyCommand | None:
        """The command of a key where these groups are active, None if it is free.

        Args:
            key: such as "W", "Shift+Left" or "Pad A". With Shift and no command of its own it does
                what it does without.
            groups: the first one that has the key decides.
        """
        tries = (key, key.removeprefix("Shift+"))
        return next(
            (
                self._commands[group][name]
                for name in tries
                for group in groups
                if name in self._commands[group]
            ),
            None,
        )

    def command(self, key: str, groups: Iterable[str]) -> str:
        """Name of the command that `find` finds, or empty."""
        found = self.find(key, groups)
        return found.name if found else ""

    def keys(self, group: str, name: str) -> tuple[str, ...]:
        """The keys of a command."""
        return self._keys[group, name]

    def label(self, group: str, name: str) -> str:
        """The first key of a command on the keyboard as people call it; empty if it has none."""
        fitting = [key for key in self.keys(group, name) if key not in PAD]
        return key_label(fitting[0]) if fitting else ""

    def named_in(self, text: str, groups: Iterable[str]) -> str:
        """A text with the keys of the commands that it names, in these groups: `{undo}` is `Z`."""
        known = {c.name: group for group in groups for c in self.commands(group)}

        def key(named: re.Match[str]) -> str:
            name = named[1]
            return (name in known and self.label(known[name], name)) or named[0]

        return _NAMED.sub(key, text)

    def help(
        self, groups: Iterable[str], knows: Callable[[str], bool] = bool
    ) -> Iterator[tuple[str, str]]:
        """(keys, what they do) of every command in these groups that has a key.

        Args:
            knows: whether the level has the command of a name.
        """
        for group in groups:
            for command in self.commands(group):
                keys = self.keys(group, command.name)
                if keys and knows(command.name):
                    yield ", ".join(map(key_label, keys)), command.description


def _left(
    groups: Mapping[str, Sequence[KeyCommand]], given: Mapping[tuple[str, str], Sequence[str]]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """The keys of commands that have not been given any: their usual ones, but for those that have
    been given to others."""
    left = {}
    for group, commands in groups.items():
        taken = {
            key
            for (other, _), keys in given.items()
            if other == group or _together(other, group)
            for key in keys
        }
        for command in commands:
            if (group, command.name) not in given:
                usual = tuple(key for key in command.keys if key not in taken)
                left[group, command.name] = usual
    return left


def free_key(group: str, name: str, key: str, beside: Iterable[KeyCommand]) -> str:
    """The key that a level gives an action of its own, as bindings name it.

    Args:
        group: of the actions.
        name: of the action.
        key: as the level has it; a letter may be small.
        beside: the level's other actions.

    Raises:
        BindingsError: there is no such key, or it does something else where the level is played.
    """
    found = _key(name, key.upper() if len(key) == 1 else key)
    others = [*beside, *(c for other in SCREENS[group] if other != group for c in GROUPS[other])]
    taken = {key: command.description for command in others for key in command.keys}
    if found in taken:
        free = [key for key in (*LETTERS, *DIGITS) if key not in taken]
        why = f"{name}: {found} stands for {taken[found]!r} already; free are {', '.join(free)}"
        raise BindingsError(why, name)
    return found


def keys_file() -> Path:
    """Where the user's own keys are."""
    return config_folder() / "keys.toml"


def as_toml(bindings: Bindings) -> str:
    """A file of keys to begin with: all commands and the keys that they have."""
    lines = [
        "# The keys of GV Engine, by their place on a US keyboard. Change them as you like; what",
        "# is left out keeps its usual keys. Also Shift+, Ctrl+ and Alt+ before a key.",
        f"# Gamepad: {', '.join(PAD)}.",
    ]
    usual = Bindings(bindings.changes)
    for group in GROUPS:
        lines += ["", f"[{group}]"]
        known = {key for each in GROUPS[group] for key in usual.keys(group, each.name)}
        for command in bindings.commands(group):
            of = usual if command in GROUPS[group] else bindings
            found = of.keys(group, command.name)
            if of is bindings and known.intersection(found):
                continue  # it stands in the place of others, whose keys these are
            keys = ", ".join(f'"{key}"' for key in found)
            lines.append(f"{command.name} = [{keys}]  # {command.description}")
    return "\n".join(lines) + "\n"


def _checked(changes: Mapping[str, object]) -> dict[str, dict[str, list[str]]]:
    checked: dict[str, dict[str, list[str]]] = {}
    for group, commands in changes.items():
        if group not in GROUPS:
            raise BindingsError(f"there is no group [{group}]{_maybe(group, GROUPS)}", group)
        if not isinstance(commands, Mapping):
            raise BindingsError(f"[{group}] holds commands, found {commands!r}", group)
        names = [command.name for command in GROUPS[group]]
        checked[group] = {}
        for name, keys in commands.items():
            if name not in names and not _may_be_own(group, name):
                raise BindingsError(f"[{group}] has no command {name}{_maybe(name, names)}", name)
            if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
                why = f'{name} wants a list of keys such as ["W", "Up"], not {keys!r}'
                raise BindingsError(why, name)
            checked[group][name] = [_key(name, key) for key in keys]
    return checked


def _may_be_own(group: str, name: str) -> bool:
    """Whether it may be an action of some level's own, and is no slip of another one."""
    actions = [command.name for command in GROUPS[group] if command.name.isupper()]
    return bool(actions) and name.isupper() and not get_close_matches(name, actions, 1, 0.8)


def _key(name: str, key: str) -> str:
    """The name of a key with its modifiers in order."""
    *modifiers, base = key_parts(key)
    if base not in SCANCODES and base not in PAD:
        hint = _maybe(base, [*SCANCODES, *PAD])
        raise BindingsError(f"{name}: there is no key {base!r}{hint}", name)
    unknown = [modifier for modifier in modifiers if modifier not in MODIFIERS]
    if unknown:
        raise BindingsError(f"{name}: {unknown[0]!r} is none of {', '.join(MODIFIERS)}", name)
    return "+".join([*(modifier for modifier in MODIFIERS if modifier in modifiers), base])


def _together(one: str, other: str) -> bool:
    return any(one in groups and other in groups for groups in SCREENS.values())


def _check_unique(given: Mapping[tuple[str, str], Sequence[str]]) -> None:
    known = [(command, dict.fromkeys(keys)) for command, keys in given.items()]
    for ((group, name), keys), ((other, second), others) in combinations(known, 2):
        shared = [key for key in keys if key in others]
        if shared and (group == other or _together(group, other)):
            why = f"{second}: {shared[0]} stands for {name} already"
            raise BindingsError(why, second)


def _line_of(name: str, text: str) -> str:
    """`:7` where the name is the first word of line 7 of the file."""
    found = re.search(rf"^\s*\[?\s*\"?{re.escape(name)}\b", text, re.MULTILINE)
    return f":{text.count(chr(10), 0, found.end()) + 1}" if found else ""


def _maybe(found: str, allowed: Iterable[str]) -> str:
    near = get_close_matches(found, allowed, 1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
