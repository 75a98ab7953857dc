"""Appearance of a scenario: its theme, and its own sprites by name of the object."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable

LEVEL_THEMES = "cave", "garden", "ice", "machine", "night"
"""Sets of drawings of walls and floor."""
SPRITES = "agent", "own_agent", "other_agent", "floor", "hidden", "mark", "unknown"
"""Names of sprites that every level can show, besides those of its object types."""
APPEARANCE_KEYS: KeyTable = {
    "theme": Key(
        "Drawings of walls and floor. By default, plain ones.",
        schema.enum_schema(LEVEL_THEMES, "theme"),
    ),
    "sprites": Key(
        "SVG files beside the scenario, by what they show: `{Wall: wall.svg, Door LOCKED: "
        "vault.svg, Crate on Target: done.svg, agent: hero.svg}`; or SVG texts, `<svg …`.",
        schema.map_of(schema.TEXT),
    ),
}
"""Top-level keys that change nothing but pictures."""


def combined_name(name: str, ground: str) -> str:
    """Return the name of the sprite that is shown for the sprite `name` on the object `ground`, if
    there is a file for it."""
    return f"{name}_on_{ground}"


def read_sprites(
    document: Document, types: ObjectTypes, problems: ErrorCollector, node: YamlNode
) -> dict[str, Path | str]:
    """Read the key `sprites`, which assigns image files or SVG texts to sprites. Return them by
    sprite name. A level that was pasted as text has no files.

    Args:
        document: the scenario.
        types: the types that it may name.
        problems: receives errors.
        node: mapping from object types or other sprites to file names.
    """
    can_name_files = document.trust.can_name_files(document.folder)
    files: dict[str, Path | str] = {}
    specific: dict[str, Path | str] = {}  # of a state: wins over the file for all states
    for key, entry in fields.mapping(node).items():
        with problems.collect():
            upper, separator, lower = key.partition(" on ")
            names = [*_read_names(types, entry, upper)]
            if separator:
                grounds = [*_read_names(types, entry, lower)]
                names = [combined_name(*pair) for pair in product(names, grounds)]
            chosen = specific if len(names) == 1 else files
            if entry.text.startswith("<svg"):
                chosen.update(dict.fromkeys(names, entry.text))
            elif entry.file or can_name_files:
                folder = Path(entry.file).parent if entry.file else document.folder
                chosen.update(dict.fromkeys(names, _find_file(entry, folder)))
    return files | specific


def _read_names(types: ObjectTypes, entry: YamlNode, text: str) -> Iterator[str]:
    """Yield the names of the sprites that `text` selects. `Door` selects the sprites of all states
    of doors, `Door LOCKED` one of them, and `agent` is a sprite itself. Errors are raised at the
    YAML node `entry`."""
    if text in SPRITES:
        yield text
        return
    name, _, state = text.partition(" ")
    names = [kind.name for kind in types if kind.in_grid]
    if name not in names:
        hint = describe_allowed(name, [*SPRITES, *names])
        raise entry.error(f"found {text!r}, expected an object type or another sprite{hint}")
    kind = types[name]
    if state and state not in kind.states:
        raise entry.error(f"{name} has no state {state!r}{describe_allowed(state, kind.states)}")
    for index in [kind.states.index(state)] if state else range(kind.num_states):
        yield kind.sprite_of(index)


def _find_file(entry: YamlNode, folder: Path) -> Path:
    """Return the SVG file that a YAML node names, relative to `folder`. Raise FieldError if it does
    not exist."""
    name = fields.text(entry)
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise entry.error(f"found {name!r}, expected a file beside the scenario, without `..`")
    if path.suffix != ".svg":
        raise entry.error(f"found {name!r}, expected an SVG file, such as {path.stem}.svg")
    if not os.path.isfile(folder / path):  # noqa: PTH113  # no error, if it is too long
        files = sorted(file.relative_to(folder).as_posix() for file in folder.glob("*.svg"))
        hint = describe_allowed(name, files, "there are")
        raise entry.error(f"there is no file {name} beside the scenario{hint}")
    return folder / path
