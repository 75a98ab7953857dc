"""Drawings of objects: their names, and the folders that scenarios keep their own in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.modules import INLINE_TYPES_PREFIX, is_engine_module
from gv_engine.rules.objects import ObjectType
from gv_engine.scenario.fields import format_message, mapping, suggestion
from gv_engine.scenario.files import parse_xml, read_bytes
from gv_engine.scenario.resources import ASSETS
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.episode import Playable

_LARGEST = 2**16
"""Bytes of a drawing; SDL takes seconds for what a larger one can hold."""
_DASHES = re.compile(r"stroke-dasharray\s*[:=]\s*[\"']?\s*(?!none)[^\"'\s]")


class DrawingError(GVEngineError, ValueError):
    """A file that is no drawing."""


def tile_letters(types: Iterable[ObjectType], name: str) -> str:
    """Return the text of the plain tile of an object without a drawing: a letter of its name that
    no other tile has, and one of its state; "" unless its type is declared in text.

    Args:
        types: of the scenario.
        name: of the drawing that there is not.
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
    """Where an author's own drawings are: beside the scenario file and in `sprites/` there."""
    members: Sequence[Playable] = getattr(scenario, "members", (scenario,))  # those of a mixture
    files = [(member.source, *(base.file for base in member.document.bases)) for member in members]
    sources = dict.fromkeys(source for own in files for source in own if source is not None)
    folders = [source.parent for source in sources]
    return tuple(each for folder in folders for each in (folder, folder / "sprites"))


def with_engines_own(folders: Iterable[str | Path]) -> tuple[Path, ...]:
    """Where drawings are, in order: those of the built-in objects, an author's, and those of what
    levels often have."""
    return ASSETS / "sprites", *map(Path, folders), ASSETS / "things"


def drawing_file(name: str, folders: Iterable[Path], small: bool = False) -> Path | None:
    """The file of a drawing, in the first folder that has one; None if none has.

    Args:
        name: of the file, without `.svg`.
        folders: where it may be.
        small: whether a plainer one in `small/` is preferred.
    """
    parts = ("small", ".") if small else (".",)
    files = (folder / part / f"{name}.svg" for folder in folders for part in parts)
    return next((file for file in files if file.is_file()), None)


def read_drawing(file: Path) -> str:
    """What is in the file of a drawing.

    Raises:
        DrawingError: it is no SVG, or not all of one.
        OSError: it cannot be read.
    """
    raw = read_bytes(file, _LARGEST, "drawings")
    try:
        text, root = raw.decode("utf-8"), parse_xml(raw)
    except ValueError as error:
        raise DrawingError(f"{file}: no SVG drawing, or a part of one ({error})") from None
    if root.tag != "svg":
        raise DrawingError(f"{file}: no SVG drawing: found <{root.tag}>, expected <svg>")
    if not file.is_relative_to(ASSETS) and _DASHES.search(text):
        raise DrawingError(
            f"{file}: it has a stroke-dasharray, over which SDL may take hours; remove it"
        )
    return text


def missing_drawings(scenario: Scenario) -> Iterator[str]:
    """A sentence for each of an author's objects that has no drawing, or none for some states."""
    folders = sprite_folders(scenario)
    near = sorted({file.name for folder in folders for file in folder.glob("*.svg")})
    declared = mapping(scenario.document.root).get("objects")
    for kind in _own_types(scenario):
        names = dict.fromkeys(kind.sprite_of(state) for state in range(kind.num_states))
        missing = [n for n in names if drawing_file(n, with_engines_own(folders)) is None]
        if declared and kind.module.startswith(INLINE_TYPES_PREFIX):
            files = ", ".join(f"{name}.svg" for name in missing)
            letters = ", ".join(tile_letters(_own_types(scenario), name) for name in missing)
            says = f"no {files} beside the scenario, so it is a tile with {letters}"
            if missing:
                yield format_message(scenario.document.label, mapping(declared)[kind.name], says)
            continue
        for name in missing:
            file = f"{name}.svg"
            hint = suggestion(file, near, "there are")
            yield f"no {file} beside the scenario, so it looks like ?{hint}"


def broken_drawings(scenario: Scenario) -> Iterator[str]:
    """What is wrong with the drawings of an author's objects, a line each."""
    folders = sprite_folders(scenario)
    types = _own_types(scenario)
    names = [kind.sprite_of(state) for kind in types for state in range(kind.num_states)]
    files = (drawing_file(name, folders, small) for name in names for small in (False, True))
    for file in dict.fromkeys(filter(None, files)):
        try:
            read_drawing(file)
        except (DrawingError, OSError) as error:
            yield str(error)


def _own_types(scenario: Scenario) -> list[ObjectType]:
    """All objects that an author has declared."""
    return [kind for kind in scenario.layout.types if not is_engine_module(kind.module)]
