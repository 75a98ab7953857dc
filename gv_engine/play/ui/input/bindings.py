"""Key bindings of keyboard, gamepad and terminal, and changes of keys in the user's `keys.toml`.

A key is named by its position on a US keyboard: "W" is the key left of "E" on every keyboard.
Commands are in groups; the groups of a screen are active together, and no key has two commands
among them. A file `keys.toml` in the user's configuration folder changes keys:

    [grid]
    ACTUATE = ["Space", "E", "Pad A"]
    KICK = ["J"]

KICK is an action that a level defines, see `Bindings.with_level_commands`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations, compress
from pathlib import Path

from gv_engine.play.ui.settings import config_folder, read_toml, write_text
from gv_engine.rules.errors import shorten, suggest_similar
from gv_engine.rules.geometry import ACTIONS, TURN_RIGHT
from gv_engine.scenario.domains import DOMAINS, KeyCommand, read_commands

# ---- key names -----------------------------------------------------------------------------------

# Labels of keys that are not called by their name.
_KEY_LABELS = {
    **{"Escape": "Esc", "Return": "Enter", "Equals": "+", "Minus": "-", "Slash": "?"},
    **{"LeftBracket": "[", "RightBracket": "]", "Grave": "`", "Semicolon": ";"},
}

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "1234567890"
# names of keys in the order of their numbers from 4 on; - for keys that no command can have
_KEY_NAMES = (
    " ".join(LETTERS + DIGITS),
    "Return Escape Backspace Tab Space Minus Equals LeftBracket RightBracket Backslash -",
    "Semicolon Apostrophe Grave Comma Period Slash CapsLock F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12",
    "PrintScreen ScrollLock Pause Insert Home PageUp Delete End PageDown Right Left Down Up -",
    "Keypad_/ Keypad_* Keypad_- Keypad_+ Keypad_Enter Keypad_1 Keypad_2 Keypad_3 Keypad_4 Keypad_5",
    "Keypad_6 Keypad_7 Keypad_8 Keypad_9 Keypad_0 Keypad_. NonUSBackslash",
)
# Usage number on the USB keyboard page by name of the key; equal to SDL's scancodes.
SCANCODES: dict[str, int] = {
    name.replace("_", " "): number
    for number, name in enumerate(" ".join(_KEY_NAMES).split(), 4)
    if name != "-"
}

_BUTTONS = "A B X Y Back Guide Start LeftStick RightStick LB RB Up Down Left Right"
PAD = tuple(f"Pad {name}" for name in _BUTTONS.split())  # gamepad buttons in SDL's order

# Prefix of the names of buttons on a second gamepad, which the second player uses.
SECOND = "Second "
PADS = frozenset((*PAD, *(SECOND + name for name in PAD)))  # buttons of both gamepads

MODIFIERS = ("Ctrl", "Alt", "Shift")  # modifiers, in the order in which key names contain them


_layout_labels: dict[str, str] = {}


def set_layout_labels(labels: Mapping[str, str]) -> None:
    """Let `key_label` return `labels`, what is printed on the user's keyboard by name of the key,
    for keys on which it is not the same as on a US keyboard."""
    _layout_labels.clear()
    _layout_labels.update(labels)


def key_label(key: str) -> str:
    """Return the label of `key` for users, such as `Esc` for `Escape` and `Shift+Left`, as printed
    on their keyboard."""
    *modifiers, name = key_parts(key)
    return "+".join([*modifiers, _layout_labels.get(name) or _KEY_LABELS.get(name, name)])


def key_parts(key: str) -> list[str]:
    """Return the modifiers of `key` and its name as a list, such as `["Shift", "Left"]`; the name
    itself may end with a plus."""
    *modifiers, name = key.removesuffix("+").split("+")
    return [*modifiers, name + "+" * key.endswith("+")]


# ---- groups --------------------------------------------------------------------------------------

# All commands by group.
GROUPS = {
    **{domain.title: domain.keys for domain in DOMAINS.values()},
    **read_commands(Path(__file__).with_name("commands.toml")),
}

# Headings in lists of keys, by group, and for parts of a group by the first command of the part.
_HEADINGS = {
    **{"grid": "Move and act", "play": "Undo", "batch": "Many worlds", "replay": "Replays"},
    **{"edit": "Editor", "trial": "Trying a level", "list": "Lists", "start": "Start screen"},
    **{"text": "Text fields", "menu": "Menus", "window": "Everywhere", "again": "Level"},
    "save_replay": "Files",
}

# Groups that are active together, by screen.
SCREENS = {
    "start": ("start", "menu", "window"),
    "edit": ("edit", "window"),
    "list": ("list", "menu", "window"),
    "text": ("text", "menu", "window"),
    **{
        domain.title: (domain.title, "play", "agent", "view", *domain.panels, "window")
        for domain in DOMAINS.values()
    },
    "batch": ("batch", "window"),
    "replay": ("replay", "view", "inspector", "window"),
}


def next_row(name: str, chosen: int, page: int, count: int, wraps: bool = False) -> int | None:
    """Return the list row that a menu command, such as `down`, selects from row `chosen` of `count`
    rows. None if the command moves nothing. `page` is the number of visible rows. If `wraps`, the
    first row follows the last.

    Args:
        name: name of the command.
        chosen: number of the chosen row.
        page: number of rows that are seen.
        count: number of rows of the list.
        wraps: True if `up` and `down` lead from one end of the list to the other.

    Returns:
        The number of the row; None if the command chooses none.
    """
    steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page}
    steps |= {"first": -count, "last": count}
    if name not in steps:
        return None
    row = chosen + steps[name]
    if wraps and name in ("up", "down"):
        return row % count
    return max(0, min(count - 1, row))


# ---- bindings ------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# Placeholders of move keys in instructions; they do not apply if arrow keys move the agent in the
# direction of the arrow.
_MOVE_PLACEHOLDERS = tuple(f"{{{name}}}" for name in ACTIONS[: TURN_RIGHT + 1])
_PLACEHOLDER, _STEERED = re.compile(r"{(\w+)}"), re.compile(r"{(STEER_\w+)}")


class BindingsError(ValueError):
    """Keys that cannot be used; the message says why.

    Args:
        message: text for the user.
        name: name in the file that the message is about.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class Bindings:
    """Keys of all commands.

    Args:
        changes: keys that replace the default keys, by group and command. If such a key is a
            default key of another command, that command loses it.
        level_commands: commands that a level adds, by group; default commands lose these keys.

    Attributes:
        changes: the same as the argument.

    Raises:
        BindingsError: a group, command or key is unknown, or a key has two commands.
    """

    def __init__(
        self,
        changes: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        level_commands: Mapping[str, Sequence[KeyCommand]] | None = None,
    ) -> None:
        """Bind all commands to keys: commands in `changes` to the keys given there, others to their
        default keys. `level_commands` are commands that a level adds. Both arguments are by
        group."""
        self.changes, self._level_commands = changes, level_commands or {}
        self._bindings_by_level: dict[tuple[KeyCommand, ...], Bindings] = {}
        changed_keys = {
            (group, name): tuple(keys)
            for group, commands in _check_changes(changes or {}).items()
            for name, keys in commands.items()
        }
        self._keys = changed_keys | _find_default_keys(self._level_commands, changed_keys)
        self._keys |= _find_default_keys(GROUPS, self._keys)
        _check_unique(changed_keys)
        self._commands: dict[str, dict[str, KeyCommand]] = {group: {} for group in GROUPS}
        for group, command_by_key in self._commands.items():
            for command in self.commands(group):
                command_by_key |= dict.fromkeys(self._keys[group, command.name], command)

    @classmethod
    def load(cls, file: Path | None = None) -> tuple[Bindings, str]:
        """Return the key bindings read from `file`, by default `keys.toml`, and a message about an
        error in the file, or "".

        Args:
            file: file to read; `keys.toml` in the configuration folder if None.

        Returns:
            The bindings, and a message if the file is wrong, else "". A wrong file is not changed,
            and the default keys are returned.
        """
        file = file or keys_file()
        changes, text, message = read_toml(file, "keys")
        try:
            return cls(changes), message
        except BindingsError as error:
            reason = shorten(str(error), 300)
            line = _find_line(error.name, text)
        full_stop = "" if reason.endswith("?") else "."
        return cls(), f"{file}{line}: {reason}{full_stop} The usual keys are used"

    def with_level_commands(self, group: str, level_commands: tuple[KeyCommand, ...]) -> Bindings:
        """Return a copy of these bindings in which `level_commands`, defined by the current level,
        are added to the command group `group`."""
        if not level_commands:
            return self
        if level_commands not in self._bindings_by_level:
            bindings = Bindings(self.changes, {group: level_commands})
            self._bindings_by_level[level_commands] = bindings
        return self._bindings_by_level[level_commands]

    def commands(self, group: str) -> tuple[KeyCommand, ...]:
        """Return the commands of the group `group`; those defined by the current level come
        last."""
        return (*GROUPS[group], *self._level_commands.get(group, ()))

    def find(self, key: str, groups: Iterable[str]) -> KeyCommand | None:
        """Return the command bound to `key`, such as `W` or `Shift+Left`, in the first of `groups`
        that binds it; None if no group does.

        Args:
            key: name of the key, as "W", "Shift+Left" or "Pad A". A key with Shift and no command
                has the command of the key without Shift, and so has a button of a second gamepad.
            groups: active groups; the first group with the key decides.
        """
        for name in (key, key.removeprefix("Shift+").removeprefix(SECOND)):
            for group in groups:
                if command := self._commands[group].get(name):
                    return command
        return None

    def command_name(self, key: str, groups: Iterable[str]) -> str:
        """Return the name of the command bound to `key` in the first of `groups` that binds it; ""
        if no group does."""
        command = self.find(key, groups)
        return command.name if command else ""

    def keys(self, group: str, name: str) -> tuple[str, ...]:
        """Return the keys of the command `name` in the group `group`."""
        return self._keys[group, name]

    def label(self, group: str, name: str) -> str:
        """Return the label of the first keyboard key (not gamepad button) of the command `name` in
        the group `group`; "" if there is none."""
        keyboard_keys = [key for key in self.keys(group, name) if key not in PADS]
        return key_label(keyboard_keys[0]) if keyboard_keys else ""

    def join_labels(self, group: str, commands: Sequence[KeyCommand]) -> str:
        """Return the labels of the first keys of `commands` in the group `group`, joined; "Arrow
        keys" if these are all arrow keys."""
        labels = [self.label(group, command.name) for command in commands]
        return "Arrow keys" if {*labels} == {"Up", "Down", "Left", "Right"} else " ".join(labels)

    def fill_in_keys(
        self, text: str, groups: Sequence[str], steering: Sequence[KeyCommand], clicks: bool = False
    ) -> str:
        """Return `text` with each command name in braces replaced by the key of that command:
        `{undo}` becomes `Z`.

        Args:
            text: sentences of a level or of a page.
            groups: groups of commands to search; where several have a command, the last counts.
            steering: commands whose keys are used instead of moves; if not empty, one sentence at
                the beginning lists them and replaces all sentences with a move in braces.
                Sentences with a steering command that is not among them are left out.
            clicks: True if a click walks to a cell; else sentences with `{click}` are left out.
        """
        sentences = _SENTENCE_END.split(" ".join(text.split()))
        group_by_name = {c.name: group for group in groups for c in self.commands(group)}
        known = {command.name for command in steering}
        sentences = [s for s in sentences if known.issuperset(_STEERED.findall(s))]
        without_moves = [s for s in sentences if not any(map(s.count, _MOVE_PLACEHOLDERS))]
        if steering and len(without_moves) < len(sentences):
            labels = self.join_labels(group_by_name[steering[0].name], steering[:4])
            sentences = [f"{labels} go where they point.", *without_moves]
        if not clicks:
            sentences = [text for text in sentences if "{click}" not in text]

        def find_label(match: re.Match[str]) -> str:
            group = group_by_name.get(match[1])
            return (group and self.label(group, match[1])) or match[0]

        return _PLACEHOLDER.sub(find_label, " ".join(sentences).replace("{click}", "click"))

    def describe_keys(
        self, groups: Iterable[str], has_command: Callable[[str], bool] = bool
    ) -> Iterator[tuple[str, str]]:
        """Yield (keys, description) for each command of `groups` that has a key and for which
        `has_command(name)` is True.

        Args:
            groups: groups to list.
            has_command: function from a command's name to False if the level does not have the
                command.
        """
        for group in groups:
            for command in self.commands(group):
                keys = self.keys(group, command.name)
                if keys and has_command(command.name):
                    yield ", ".join(map(key_label, keys)), command.description

    def group_commands(self, groups: Iterable[str]) -> Iterator[tuple[str, str, KeyCommand]]:
        """Yield (heading, group, command) for each command of `groups`; under each heading,
        commands that have a key come first."""
        for group in groups:
            heading = _HEADINGS.get(group, group.capitalize())
            headings: dict[str, list[KeyCommand]] = {}
            for command in self.commands(group):
                heading = _HEADINGS.get(command.name, heading) if group == "play" else heading
                headings.setdefault(heading, []).append(command)
            for heading, commands in headings.items():
                bound = [bool(self.keys(group, command.name)) for command in commands]
                for has_key in (True, False):
                    for command in compress(commands, (each == has_key for each in bound)):
                        yield heading, group, command


def _find_default_keys(
    groups: Mapping[str, Sequence[KeyCommand]], keys: Mapping[tuple[str, str], Sequence[str]]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the default keys, by (group, name), of all commands that `keys` does not rebind. A
    default key that `keys` gives to another command active at the same time is left out."""
    default_keys = {}
    for group, commands in groups.items():
        taken_keys = set[str]()
        for (other_group, _), bound_keys in keys.items():
            if _are_active_together(other_group, group):
                taken_keys.update(bound_keys)
        for command in commands:
            if (group, command.name) not in keys:
                free_keys = tuple(key for key in command.keys if key not in taken_keys)
                default_keys[group, command.name] = free_keys
    return default_keys


def check_action_key(group: str, name: str, key: str, others: Iterable[KeyCommand]) -> str:
    """Return the usual spelling of a key that a level binds to its action `name`. Raise
    BindingsError if the key is unknown or taken. `others` are the level's other actions.

    Args:
        group: group of the actions.
        name: name of the action.
        key: key in the scenario file; a single letter may be lower case.
        others: other actions of the level.

    Raises:
        BindingsError: the key is unknown, or has another command on the screen of the level.
    """
    canonical = _normalize_key(name, key.upper() if len(key) == 1 else key)
    commands = [*others]
    for other_group in SCREENS[group]:
        if other_group != group:
            commands += GROUPS[other_group]
    descriptions = {key: command.description for command in commands for key in command.keys}
    if canonical in descriptions:
        free = ", ".join(key for key in (*LETTERS, *DIGITS) if key not in descriptions)
        used = f"{canonical} stands for {descriptions[canonical]!r} already"
        raise BindingsError(f"{name}: {used}; free are {free}", name)
    return canonical


def keys_file() -> Path:
    """Return the path of the user's `keys.toml`."""
    return config_folder() / "keys.toml"


def format_keys_file(bindings: Bindings) -> str:
    """Return the text of a file `keys.toml` that lists all commands with their keys in
    `bindings`."""
    lines = [
        "# The keys of GV Engine, by their place on a US keyboard. Change them as you like; what",
        "# is left out keeps its usual keys. Also Shift+, Ctrl+ and Alt+ before a key.",
        f"# Gamepad: {', '.join(PAD)}.",
    ]
    default_bindings = Bindings(bindings.changes)
    for group in GROUPS:
        lines += ["", f"[{group}]"]
        default_keys = {
            key for shared in GROUPS[group] for key in default_bindings.keys(group, shared.name)
        }
        for command in bindings.commands(group):
            source = default_bindings if command in GROUPS[group] else bindings
            keys_of_command = source.keys(group, command.name)
            if source is bindings and default_keys.intersection(keys_of_command):
                continue  # replaces other commands and has their keys
            keys = ", ".join(f'"{key}"' for key in keys_of_command)
            lines.append(f"{command.name} = [{keys}]  # {command.description}")
    return "\n".join(lines) + "\n"


def _check_changes(changes: Mapping[str, object]) -> dict[str, dict[str, list[str]]]:
    """Check the content of a parsed `keys.toml`, and return lists of keys by group and command.
    Raise BindingsError for the first mistake."""
    checked: dict[str, dict[str, list[str]]] = {}
    for group, commands in changes.items():
        if group not in GROUPS:
            hint = suggest_similar(group, GROUPS)
            raise BindingsError(f"there is no group [{group}]{hint}", group)
        if not isinstance(commands, Mapping):
            raise BindingsError(f"[{group}] holds commands, found {commands!r}", group)
        names = [command.name for command in GROUPS[group]]
        checked[group] = {}
        for name, keys in commands.items():
            if name not in names and not _is_level_action(group, name):
                hint = suggest_similar(name, names)
                raise BindingsError(f"[{group}] has no command {name}{hint}", name)
            if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
                expected = 'a list of keys such as ["W", "Up"]'
                raise BindingsError(f"{name} wants {expected}, not {keys!r}", name)
            checked[group][name] = [_normalize_key(name, key) for key in keys]
    return checked


def _is_level_action(group: str, name: str) -> bool:
    """Return True if `name` may be an action that a level defines; False if it is more likely a
    misspelt action."""
    actions = [command.name for command in GROUPS[group] if command.name.isupper()]
    return bool(actions) and name.isupper() and not get_close_matches(name, actions, 1, 0.8)


def _normalize_key(name: str, key: str) -> str:
    """Return `key` with its modifiers in the usual order, such as `Ctrl+Shift+Z`; raise
    BindingsError for an unknown key. `name` is the command, for the message."""
    *modifiers, base = key_parts(key)
    if base not in SCANCODES and base not in PADS:
        hint = suggest_similar(base, [*SCANCODES, *PAD])
        raise BindingsError(f"{name}: there is no key {base!r}{hint}", name)
    if unknown := [modifier for modifier in modifiers if modifier not in MODIFIERS]:
        raise BindingsError(f"{name}: {unknown[0]!r} is none of {', '.join(MODIFIERS)}", name)
    return "+".join([*(modifier for modifier in MODIFIERS if modifier in modifiers), base])


def _are_active_together(group: str, other_group: str) -> bool:
    shared = (group in groups and other_group in groups for groups in SCREENS.values())
    return group == other_group or any(shared)


def _check_unique(changed_keys: Mapping[tuple[str, str], Sequence[str]]) -> None:
    """Raise BindingsError if two commands that are active at the same time have the same key.
    `changed_keys` has keys by (group, command)."""
    for command, other_command in combinations(changed_keys, 2):
        (group, name), (other_group, other_name) = command, other_command
        shared = [key for key in changed_keys[command] if key in changed_keys[other_command]]
        if shared and _are_active_together(group, other_group):
            message = f"{other_name}: {shared[0]} stands for {name} already"
            raise BindingsError(message, other_name)


def _find_line(name: str, text: str) -> str:
    match = re.search(rf"^\s*\[?\s*\"?{re.escape(name)}\b", text, re.MULTILINE)
    return f":{text.count(chr(10), 0, match.end()) + 1}" if match else ""


def rebind(group: str, name: str, keys: Sequence[str] | None, file: Path | None = None) -> Bindings:
    """Bind `keys` to the command `name` of `group` in the file `keys.toml`, and return all bindings
    after the change; None restores the default keys.

    Args:
        group, name: group and name of the command.
        keys: names of the keys; None for the default keys.
        file: file to change; `keys.toml` in the configuration folder if None.

    Returns:
        All bindings after the change.

    Raises:
        BindingsError: a key was given to another command in the file, or the file is wrong.
        OSError: the file cannot be written.
    """
    file = file or keys_file()
    _, text, error = read_toml(file, "keys")
    if error:
        raise BindingsError(error, name)
    text = _edit_keys(text, group, name, keys)
    try:
        changes = tomllib.loads(text)
        written = changes.get(group, {}).get(name)
    except tomllib.TOMLDecodeError:
        written = name
    if written != (None if keys is None else list(keys)):
        message = f"{file} has {name} in a form that only you can change: edit the file"
        raise BindingsError(message, name)
    if keys is not None:  # the last command is the one whose key is taken, see `_check_unique`
        changes[group] = {**changes.pop(group)}
        changes[group][name] = changes[group].pop(name)
    bindings = Bindings(changes)
    write_text(file, text)
    return bindings


def describe_lost_keys(before: Bindings, after: Bindings, name: str) -> str:
    """Return a text that lists which commands other than `name` have lost keys between `before` and
    `after`; "" if none has."""
    texts = []
    for group, commands in GROUPS.items():
        for command in commands:
            kept = after.keys(group, command.name)
            lost = [key for key in before.keys(group, command.name) if key not in kept]
            if lost and command.name != name:
                keys = ", ".join(map(key_label, lost))
                texts.append(f'"{command.description}" has lost {keys}')
    return " · ".join(texts)


def replace_keys(keys: Sequence[str], key: str) -> list[str]:
    """Return a command's keys in which `key` replaces the first key of the same device, keyboard or
    gamepad."""
    is_button = key in PADS
    others = [other for other in keys if other != key]
    of_same_device = [index for index, other in enumerate(others) if (other in PADS) == is_button]
    index = of_same_device[0] if of_same_device else len(others)
    return [*others[:index], key, *others[index + 1 :]]


def _edit_keys(text: str, group: str, name: str, keys: Sequence[str] | None) -> str:
    """Return the text of a `keys.toml` file with the command `name` in the section `group` bound to
    `keys`; None removes the command's line."""
    heading = rf"\s*\[\s*{group}\s*\].*\n?"
    section = re.compile(rf"^({heading})((?:(?!\s*\[\s*\w+\s*\]).*\n?)*)", re.MULTILINE)
    entry = re.compile(rf'^(\s*"?{name}"?\s*=\s*)\[[^\]]*\](.*\n?)', re.MULTILINE)
    keys_text = json.dumps(list(keys or ()))
    if text and not text.endswith("\n"):
        text += "\n"
    match = section.search(text)
    if match is None:
        return text if keys is None else f"{text}\n[{group}]\n{name} = {keys_text}\n".lstrip("\n")
    entries = match[2]
    if keys is None:
        entries = entry.sub("", entries)
    elif entry.search(entries):
        entries = entry.sub(lambda old: f"{old[1]}{keys_text}{old[2]}", entries)
    else:
        entries = f"{name} = {keys_text}\n{entries}"
    return text[: match.start()] + match[1] + entries + text[match.end() :]
