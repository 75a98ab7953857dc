"""Changes of keys, written into the user's `keys.toml` without changing anything else in the
file."""

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
    """Write other keys for a command into `keys.toml`, and return the new bindings.

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
        raise BindingsError(
            f"{file} has {name} in a form that only you can change: edit the file", name
        )
    bindings = Bindings(changes)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as draft:
        draft.write_text(text, "utf-8")
    return bindings


def describe_lost_keys(before: Bindings, after: Bindings, name: str) -> str:
    """Return a text about the keys that other commands than `name` have lost, or ""."""
    return " · ".join(
        f"{', '.join(map(key_label, lost_keys))} no longer: {command.description}"
        for group in GROUPS
        for command in GROUPS[group]
        if command.name != name
        and (
            lost_keys := [
                key
                for key in before.keys(group, command.name)
                if key not in after.keys(group, command.name)
            ]
        )
    )


def replace_keys(keys: Sequence[str], key: str) -> list[str]:
    """Return the keys of a command after adding a key, which replaces all keys of the same device,
    keyboard or gamepad."""
    return [*(other for other in keys if (other in PAD) != (key in PAD)), key]


def _edit_keys(text: str, group: str, name: str, keys: Sequence[str] | None) -> str:
    """Return the text of `keys.toml` with the keys of a command replaced, added or, for None,
    removed."""
    section = re.compile(rf"^\s*\[\s*{group}\s*\].*\n?(?:(?!\s*\[\s*\w+\s*\]).*\n?)*", re.MULTILINE)
    entry = re.compile(rf'^(\s*"?{name}"?\s*=\s*)\[[^\]]*\](.*\n?)', re.MULTILINE)
    keys_text = json.dumps(list(keys or ()))
    if text and not text.endswith("\n"):
        text += "\n"
    section_match = section.search(text)
    if section_match is None:
        return text if keys is None else f"{text}\n[{group}]\n{name} = {keys_text}\n".lstrip("\n")
    before, section_text, after = (
        text[: section_match.start()],
        section_match[0],
        text[section_match.end() :],
    )
    if entry.search(section_text):
        section_text = entry.sub(
            lambda old: "" if keys is None else f"{old[1]}{keys_text}{old[2]}", section_text
        )
    elif keys is not None:
        head, _, rest = section_text.partition("]")
        line, _, rest = rest.partition("\n")
        section_text = f"{head}]{line}\n{name} = {keys_text}\n{rest}"
    return before + section_text + after
