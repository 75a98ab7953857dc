"""Sprite files of objects: names, the folders of a scenario, and checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.objects import INLINE_TYPES_PREFIX, ObjectType, is_engine_module
from gv_engine.scenario.fields import format_message, mapping, suggestion
from gv_engine.scenario.files import parse_xml, read_bytes
from gv_engine.scenario.resources import ASSETS
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.episode import Playable

_LARGEST = 2**16  # maximum bytes of a sprite; SDL takes seconds for larger ones
_DASHES = re.compile(r"stroke-dasharray\s*[:=]\s*[\"']?\s*(?!none)[^\"'\s]")


class SpriteError(GVEngineError, ValueError):
    """Error of a file that is no valid sprite."""


def tile_letters(types: Iterable[ObjectType], name: str) -> str:
    """Return the text of the plain tile of an object without a drawing: a letter of its name that
    no other tile has, and one of its state; "" unless its type is declared in text.

    Args:
        types: object types of the scenario.
        name: name of the missing sprite.
    """
    tiled = [kind for kind in types if kind.module.startswith(INLINE_TYPES_PREFIX)]
    for letter, kind in zip(_free_letters([kind.name for kind in tiled]), tiled, strict=True):
        for state in range(kind.num_states):
            if kind.sprite_of(state) == name:
                states = _free_letters(kind.states)
                return letter.upper() + (states[state] if states else "")
    return ""


def _free_letters(names: Sequence[str]) -> list[str]:
    """Return for each name its first letter that no name before it has taken, else its number."""
    taken: list[str] = []
    for number, name in enumerate(names):
        free = (letter for letter in name.lower() if letter.isalnum() and letter not in taken)
        taken.append(next(free, str(number)))
    return taken


def sprite_folders(scenario: Playable) -> tuple[Path, ...]:
    """Return the folders with a scenario's own sprites: the folder of each scenario file, and
    `sprites/` in it."""
    members: Sequence[Playable] = getattr(scenario, "members", (scenario,))  # those of a mixture
    files = [(member.source, *(base.file for base in member.document.bases)) for member in members]
    sources = dict.fromkeys(
        source for member_files in files for source in member_files if source is not None
    )
    folders = [source.parent for source in sources]
    return tuple(path for folder in folders for path in (folder, folder / "sprites"))


def with_builtin_folders(folders: Iterable[str | Path]) -> tuple[Path, ...]:
    """Return all sprite folders in order: built-in objects, `folders`, common level objects."""
    return ASSETS / "sprites", *map(Path, folders), ASSETS / "things"


def find_sprite(name: str, folders: Iterable[Path], small: bool = False) -> Path | None:
    """Return the file of a sprite from the first folder that has it; None if none has.

    Args:
        name: file name without `.svg`.
        folders: folders to search.
        small: whether to prefer a simpler sprite in `small/`.
    """
    parts = ("small", ".") if small else (".",)
    files = (folder / part / f"{name}.svg" for folder in folders for part in parts)
    return next((file for file in files if file.is_file()), None)


def read_svg(file: Path) -> str:
    """Return the text of an SVG file.

    Raises:
        SpriteError: the file is no SVG, or incomplete.
        OSError: the file cannot be read.
    """
    raw = read_bytes(file, _LARGEST, "drawings")
    try:
        text, root = raw.decode("utf-8"), parse_xml(raw)
    except ValueError as error:
        raise SpriteError(f"{file}: no SVG drawing, or a part of one ({error})") from None
    if root.tag != "svg":
        raise SpriteError(f"{file}: no SVG drawing: found <{root.tag}>, expected <svg>")
    if not file.is_relative_to(ASSETS) and _DASHES.search(text):
        raise SpriteError(
            f"{file}: it has a stroke-dasharray, over which SDL may take hours; remove it"
        )
    return text


def find_missing_sprites(scenario: Scenario) -> Iterator[str]:
    """Yield a sentence for each custom object type without a sprite, or without one for some
    states."""
    folders = sprite_folders(scenario)
    existing = sorted({file.name for folder in folders for file in folder.glob("*.svg")})
    declared = mapping(scenario.document.root).get("objects")
    for kind in _custom_types(scenario):
        names = dict.fromkeys(kind.sprite_of(state) for state in range(kind.num_states))
        missing = [n for n in names if find_sprite(n, with_builtin_folders(folders)) is None]
        if declared and kind.module.startswith(INLINE_TYPES_PREFIX):
            files = ", ".join(f"{name}.svg" for name in missing)
            letters = ", ".join(tile_letters(_custom_types(scenario), name) for name in missing)
            message = f"no {files} beside the scenario, so it is a tile with {letters}"
            if missing:
                yield format_message(scenario.document.label, mapping(declared)[kind.name], message)
            continue
        for name in missing:
            file = f"{name}.svg"
            hint = suggestion(file, existing, "there are")
            yield f"no {file} beside the scenario, so it looks like ?{hint}"


def find_broken_sprites(scenario: Scenario) -> Iterator[str]:
    """Yield an error message for each broken sprite of custom object types."""
    folders = sprite_folders(scenario)
    types = _custom_types(scenario)
    names = [kind.sprite_of(state) for kind in types for state in range(kind.num_states)]
    files = (find_sprite(name, folders, small) for name in names for small in (False, True))
    for file in dict.fromkeys(filter(None, files)):
        try:
            read_svg(file)
        except (SpriteError, OSError) as error:
            yield str(error)


def _custom_types(scenario: Scenario) -> list[ObjectType]:
    """Return the object types that the author declared."""
    return [kind for kind in scenario.layout.types if not is_engine_module(kind.module)]
