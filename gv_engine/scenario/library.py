"""Built-in scenarios by name, found without reading their YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.fields import suggestion
from gv_engine.scenario.files import path_exists
from gv_engine.scenario.resources import SCENARIOS
from gv_engine.scenario.variants import find_variant_names

GALLERY = SCENARIOS / "gallery"
"""Folder of small scenarios that show one idea each, for authors to copy."""
MULTI_AGENT = SCENARIOS / "together"
"""Folder of the scenarios of several agents."""
PUZZLES = SCENARIOS / "puzzles"
"""Folder of the packs of puzzles."""
COURSE = ("tutorial", "puzzles-easy", "puzzles-normal", "puzzles-hard", "medley-7x7")
"""Scenarios in the order in which a new player meets them, from first steps to random levels."""
MINIGRID = SCENARIOS / "minigrid"
"""Folder of MiniGrid's levels."""
_SUFFIXES = (".yaml", ".yml")
FOLDER_FILE = "scenario.yaml"
"""File of a scenario that is a folder."""
_OTHER_FILES = {
    ".npz": "a snapshot, no scenario; `gv-engine play --from {}` goes on with it",
    ".gvreplay": "a replay, no scenario; `gv-engine replay {}` shows it",
}
"""Messages about other files of the engine, by suffix."""
_SIZE = re.compile(r"\d+x\d+|easy|normal|hard")
_VERSIONED_ID = re.compile(r".+-v\d+")
"""Environment ids of other libraries."""


def list_grid_names() -> list[str]:
    """Return the sorted names of the built-in grid scenarios, MiniGrid's levels excluded."""
    return sorted(list_built_in_grids().keys() - list_minigrid_grids())


class ScenarioRef(NamedTuple):
    """File and variant of a scenario.

    Attributes:
        file: the YAML file.
        variant: name of the variant, see `gv_engine.scenario.variants`; "" for the first one, or if
            there is only one.
    """

    file: Path
    variant: str = ""

    @classmethod
    def parse(cls, path: Path) -> ScenarioRef:
        """Return the reference for a path `file.yaml` or `file.yaml#9x9`; the file need not
        exist."""
        name, mark, variant = path.name.rpartition("#")
        if name and mark and not path_exists(path):
            return cls(path.with_name(name), variant)
        return cls(path)

    def __str__(self) -> str:
        return f"{self.file}#{self.variant}" if self.variant else str(self.file)


def list_built_in_grids() -> dict[str, ScenarioRef]:
    """Return the built-in grid scenarios of one agent by name."""
    packs = sorted(_list_folder(PUZZLES).items(), key=lambda pack: COURSE.index(pack[0]))
    return _list_folder(SCENARIOS) | _list_folder(GALLERY) | dict(packs) | list_minigrid_grids()


def list_multi_agent_grids() -> dict[str, ScenarioRef]:
    """Return the built-in grid scenarios of several agents by name; no list of playable levels has
    them."""
    return _list_folder(MULTI_AGENT)


def _list_folder(folder: Path) -> dict[str, ScenarioRef]:
    """Return the scenarios in a folder by name."""
    files = {path.stem: path for path in folder.glob("*.yaml")}
    return list_scenarios(
        files | {path.parent.name: path for path in folder.glob(f"*/{FOLDER_FILE}")}
    )


def list_minigrid_grids() -> dict[str, ScenarioRef]:
    """Return MiniGrid's levels by their environment ids."""
    files = sorted(MINIGRID.glob("*.yaml"))
    refs = (item for file in files for item in list_scenarios({"MiniGrid": file}).items())
    return {name: ref for name, ref in refs if ref.variant}


def list_scenarios(files: Mapping[str, Path]) -> dict[str, ScenarioRef]:
    """Return the scenarios in built-in files by name, one for each variant; the YAML is not parsed.

    Args:
        files: the files by name.
    """
    return {
        "-".join(filter(None, (name, variant))): ScenarioRef(file, variant)
        for name, file in sorted(files.items())
        for variant in _cached_variant_names(file, file.stat().st_mtime_ns) or [""]
    }


@cache
def _cached_variant_names(file: Path, changed: int) -> list[str]:
    """Return the names of a file's variants, cached until the modification time `changed`
    changes."""
    return find_variant_names(file.read_text(encoding="utf-8"))


def add_whole_files(refs: Mapping[str, ScenarioRef]) -> dict[str, ScenarioRef]:
    """Return scenarios by name, and each file of several variants by its own name, without a
    variant."""
    files = {
        name.removesuffix(f"-{ref.variant}"): ScenarioRef(ref.file)
        for name, ref in refs.items()
        if ref.variant and not _VERSIONED_ID.fullmatch(name)
    }
    return files | dict(refs)


def gym_id(name: str) -> str:
    """Return the Gymnasium id of a built-in scenario.

    >>> gym_id("dynamic-obstacles-5x5")
    'GV-DynamicObstacles-5x5-v0'
    >>> gym_id("MiniGrid-DoorKey-5x5-v0")
    'GV-MiniGrid-DoorKey-5x5-v0'
    """
    if _VERSIONED_ID.fullmatch(name):
        return f"GV-{name}"
    parts = name.split("-")
    sizes = [part for part in parts if _SIZE.fullmatch(part)]
    words = "".join(part[:1].upper() + part[1:] for part in parts if part not in sizes)
    return "-".join(["GV", words, *sizes, "v0"])


def find_ref(source: str | Path, refs: Mapping[str, ScenarioRef] | None = None) -> ScenarioRef:
    """Return the file and variant of a scenario.

    Args:
        source: a name, a Gymnasium id, a file or a folder; `file.yaml#9x9` for a variant, and
            `sokoban#3` for a level of a pack.
        refs: the scenarios that names may refer to; if left out, all grids, those of several
            agents included.

    Raises:
        ScenarioError: there is no such scenario; the message suggests the nearest name.
    """
    refs = list_built_in_grids() | list_multi_agent_grids() if refs is None else refs
    pack, _, number = str(source).partition("#")
    for name, ref in add_whole_files(refs).items():
        if source in (name, gym_id(name)):
            return ref
        if number and pack in (name, gym_id(name)) and not ref.variant:
            return ScenarioRef(ref.file, number)
    path, variant = ScenarioRef.parse(Path(source))
    try:
        is_folder, is_present = path.is_dir(), path.exists()
    except OSError as error:  # the name is too long
        raise ScenarioError([f"{path}: {error.strerror}"]) from None
    if is_folder:
        if not (path / FOLDER_FILE).is_file():
            raise ScenarioError([f"{path}: the folder has no {FOLDER_FILE}{_suggest_file(path)}"])
        return ScenarioRef(path / FOLDER_FILE, variant)
    if is_present:
        if path.suffix in _OTHER_FILES:
            raise ScenarioError([f"{path} is {_OTHER_FILES[path.suffix].format(path)}"])
        return ScenarioRef(path, variant)
    if path.is_symlink():
        raise ScenarioError(
            [f"{path} is a link to {path.readlink()}, {_describe_broken_link(path)}"]
        )
    if len(path.parts) > 1 or path.suffix in _SUFFIXES:
        raise ScenarioError([f"{path}: no such file{_suggest_file(path.parent, path.name)}"])
    names = {name: name for name in refs}
    names |= {file.parent.name: file.parent.name for file in Path().glob(f"*/{FOLDER_FILE}")}
    names |= {file.stem: file.name for file in Path().glob("*") if file.suffix in _SUFFIXES}
    near = [names[name] for name in get_close_matches(path.name, names, cutoff=0.5)]
    hint = f"; did you mean {near[0]!r}? (near: {', '.join(near)})" if near else ""
    raise ScenarioError([f"{path}: no scenario of this name{hint}; `gv-engine list` shows all"])


def _describe_broken_link(path: Path) -> str:
    """Return the reason why a symbolic link leads to no file."""
    try:
        path.stat()
    except FileNotFoundError:
        return "which is not there"
    except OSError as error:  # a cycle of links
        return f"which leads nowhere: {error.strerror}"
    return "which has just come"


def _suggest_file(folder: Path, name: str = "") -> str:
    """Return the end of a message: the YAML files of a folder, the one nearest to `name` first."""
    files = sorted(path.name for path in folder.glob("*") if path.suffix in _SUFFIXES)
    return suggestion(name, files, "there are")
