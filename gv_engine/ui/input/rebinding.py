"""Other keys for a command, written into the player's `keys.toml` with all else left as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from gv_engine.scenario.files import atomic_write
from gv_engine.ui.input.bindings import GROUPS, PAD, Bindings, BindingsError, key_label, keys_file
from gv_engine.ui.settings import read_toml


def rebind(group: str, name: str, keys: Sequence[str] | None, file: Path | None = None) -> Bindings:
    """Give a command other keys, from now on and the next time.

    Args:
        group, name: of the command.
        keys: as bindings name them; None for the usual ones.
        file: `keys.toml` in the configuration folder if None.

    Returns:
        All bindings as they are then.

    Raises:
        BindingsError: a key stands for another command that was given it, or the file cannot be
            used as it is.
        OSError: the file cannot be written.
    """
    file = file or keys_file()
    _, text, wrong = read_toml(file, "keys")
    if wrong:
        raise BindingsError(wrong, name)
    text = _with_keys(text, group, name, keys)
    try:
        changes = tomllib.loads(text)
        written = changes.get(group, {}).get(name)
    except tomllib.TOMLDecodeError:
        written = name
    if written != (None if keys is None else list(keys)):
        raise BindingsError(f"{file} has {name} in a way that only you can change", name)
    made = Bindings(changes)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as draft:
        draft.write_text(text, "utf-8")
    return made


def lost(before: Bindings, after: Bindings, name: str) -> str:
    """What other commands than this one have lost, in words; empty if nothing."""
    return " · ".join(
        f"{', '.join(map(key_label, gone))} no longer: {command.description}"
        for group in GROUPS
        for command in GROUPS[group]
        if command.name != name
        and (
            gone := [
                key
                for key in before.keys(group, command.name)
                if key not in after.keys(group, command.name)
            ]
        )
    )


def in_place_of(keys: Sequence[str], key: str) -> list[str]:
    """The keys of a command that is given another: it takes the place of those of its kind, which
    are those of the keyboard or those of a gamepad."""
    return [*(old for old in keys if (old in PAD) != (key in PAD)), key]


def _with_keys(text: str, group: str, name: str, keys: Sequence[str] | None) -> str:
    """The text of `keys.toml` with these keys of a command, or without any."""
    section = re.compile(rf"^\s*\[\s*{group}\s*\].*\n?(?:(?!\s*\[\s*\w+\s*\]).*\n?)*", re.MULTILINE)
    entry = re.compile(rf'^(\s*"?{name}"?\s*=\s*)\[[^\]]*\](.*\n?)', re.MULTILINE)
    said = json.dumps(list(keys or ()))
    if text and not text.endswith("\n"):
        text += "\n"
    found = section.search(text)
    if found is None:
        return text if keys is None else f"{text}\n[{group}]\n{name} = {said}\n".lstrip("\n")
    before, part, after = text[: found.start()], found[0], text[found.end() :]
    if entry.search(part):
        part = entry.sub(lambda old: "" if keys is None else f"{old[1]}{said}{old[2]}", part)
    elif keys is not None:
        head, _, rest = part.partition("]")
        line, _, rest = rest.partition("\n")
        part = f"{head}]{line}\n{name} = {said}\n{rest}"
    return before + part + after
