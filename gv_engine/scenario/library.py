"""The scenarios that come with the engine, by name; none is read for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.fields import suggestion
from gv_engine.scenario.files import exists
from gv_engine.scenario.resources import SCENARIOS
from gv_engine.scenario.variants import names_in

GALLERY = SCENARIOS / "gallery"
"""The scenarios of one idea each, for authors to copy."""
TOGETHER = SCENARIOS / "together"
"""The scenarios of several agents."""
PUZZLES = SCENARIOS / "puzzles"
"""The packs of puzzles."""
COURSE = ("tutorial", "puzzles-easy", "puzzles-normal", "puzzles-hard", "medley-7x7")
"""What leads from the first steps to levels by chance, one after the other."""
MINIGRID = SCENARIOS / "minigrid"
"""MiniGrid's levels."""
_SUFFIXES = (".yaml", ".yml")
IN_FOLDER = "scenario.yaml"
"""The file of a scenario that is a folder."""
_OTHERS = {
    ".npz": "a snapshot, no scenario; `gv-engine play --from {}` goes on with it",
    ".gvreplay": "a replay, no scenario; `gv-engine replay {}` shows it",
}
"""Other files that the engine writes, by the ends of their names."""
_SIZE = re.compile(r"\d+x\d+|easy|normal|hard")
_WITH_VERSION = re.compile(r".+-v\d+")
"""Names that are the ids of others."""


def grid_names() -> list[str]:
    """Names of the built-in scenarios without MiniGrid's, sorted; none is read for it."""
    return sorted(built_in_grids().keys() - minigrid_levels())


class ScenarioRef(NamedTuple):
    """Place of a scenario.

    Attributes:
        file: the YAML file.
        variant: which of those in it, see `gv_engine.scenario.variants`; "" for the first, or where
            there is one only.
    """

    file: Path
    variant: str = ""

    @classmethod
    def at(cls, path: Path) -> ScenarioRef:
        """What `file.yaml` or `file.yaml#9x9` names, whether it is there or not."""
        name, mark, variant = path.name.rpartition("#")
        return (
            cls(path.with_name(name), variant) if name and mark and not exists(path) else cls(path)
        )

    def __str__(self) -> str:
        return f"{self.file}#{self.variant}" if self.variant else str(self.file)


def built_in_grids() -> dict[str, ScenarioRef]:
    """Each built-in scenario, by name."""
    packs = sorted(_levels_in(PUZZLES).items(), key=lambda pack: COURSE.index(pack[0]))
    return _levels_in(SCENARIOS) | _levels_in(GALLERY) | dict(packs) | minigrid_levels()


def levels_of_several() -> dict[str, ScenarioRef]:
    """Each built-in scenario of several agents, by name; they are in no list of those to play."""
    return _levels_in(TOGETHER)


def _levels_in(folder: Path) -> dict[str, ScenarioRef]:
    files = {path.stem: path for path in folder.glob("*.yaml")}
    return levels(files | {path.parent.name: path for path in folder.glob(f"*/{IN_FOLDER}")})


def minigrid_levels() -> dict[str, ScenarioRef]:
    """MiniGrid's levels, by the ids that they have there."""
    files = sorted(MINIGRID.glob("*.yaml"))
    found = (item for file in files for item in levels({"MiniGrid": file}).items())
    return {name: level for name, level in found if level.variant}


def levels(files: Mapping[str, Path]) -> dict[str, ScenarioRef]:
    """The scenarios in files of the engine's own, by name; their YAML is not read."""
    return {
        "-".join(filter(None, (name, variant))): ScenarioRef(file, variant)
        for name, file in sorted(files.items())
        for variant in _variants(file, file.stat().st_mtime_ns) or [""]
    }


@cache
def _variants(file: Path, changed: int) -> list[str]:
    """The names of its variants, as it was when it was changed last."""
    return names_in(file.read_text(encoding="utf-8"))


def with_whole_files(known: Mapping[str, ScenarioRef]) -> dict[str, ScenarioRef]:
    """Levels by name, and files of several variants by that of all: the first, or by settings."""
    files = {
        name.removesuffix(f"-{level.variant}"): ScenarioRef(level.file)
        for name, level in known.items()
        if level.variant and not _WITH_VERSION.fullmatch(name)
    }
    return files | dict(known)


def gym_id(name: str) -> str:
    """The Gymnasium id of a built-in scenario.

    >>> gym_id("dynamic-obstacles-5x5")
    'GV-DynamicObstacles-5x5-v0'
    >>> gym_id("MiniGrid-DoorKey-5x5-v0")
    'GV-MiniGrid-DoorKey-5x5-v0'
    """
    if _WITH_VERSION.fullmatch(name):
        return f"GV-{name}"
    parts = name.split("-")
    sizes = [part for part in parts if _SIZE.fullmatch(part)]
    words = "".join(part[:1].upper() + part[1:] for part in parts if part not in sizes)
    return "-".join(["GV", words, *sizes, "v0"])


def find(source: str | Path, known: Mapping[str, ScenarioRef] | None = None) -> ScenarioRef:
    """Where a scenario is.

    Args:
        source: a name, a Gymnasium id, a file or a folder; `file.yaml#9x9` for a variant, and
            `sokoban#3` for a level of a pack.
        known: the scenarios that a name may mean; grids, those of several agents too, if left out.

    Raises:
        ScenarioError: there is none; the message names the nearest.
    """
    known = built_in_grids() | levels_of_several() if known is None else known
    whole, _, number = str(source).partition("#")
    for name, level in with_whole_files(known).items():
        if source in (name, gym_id(name)):
            return level
        if number and whole in (name, gym_id(name)) and not level.variant:
            return ScenarioRef(level.file, number)
    path, variant = ScenarioRef.at(Path(source))
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except OSError as error:  # a name too long
        raise ScenarioError([f"{path}: {error.strerror}"]) from None
    if is_folder:
        if not (path / IN_FOLDER).is_file():
            raise ScenarioError([f"{path}: the folder has no {IN_FOLDER}{_instead(path)}"])
        return ScenarioRef(path / IN_FOLDER, variant)
    if is_there:
        if path.suffix in _OTHERS:
            raise ScenarioError([f"{path} is {_OTHERS[path.suffix].format(path)}"])
        return ScenarioRef(path, variant)
    if path.is_symlink():
        raise ScenarioError([f"{path} is a link to {path.readlink()}, {_fault_of_link(path)}"])
    if len(path.parts) > 1 or path.suffix in _SUFFIXES:
        raise ScenarioError([f"{path}: no such file{_instead(path.parent, path.name)}"])
    there = {name: name for name in known}
    there |= {file.parent.name: file.parent.name for file in Path().glob(f"*/{IN_FOLDER}")}
    there |= {file.stem: file.name for file in Path().glob("*") if file.suffix in _SUFFIXES}
    near = [there[name] for name in get_close_matches(path.name, there, cutoff=0.5)]
    hint = f"; did you mean {near[0]!r}? (near: {', '.join(near)})" if near else ""
    raise ScenarioError([f"{path}: no scenario of this name{hint}; `gv-engine list` shows all"])


def _fault_of_link(path: Path) -> str:
    try:
        path.stat()
    except FileNotFoundError:
        return "which is not there"
    except OSError as error:  # in a ring
        return f"which leads nowhere: {error.strerror}"
    return "which has just come"


def _instead(folder: Path, name: str = "") -> str:
    files = sorted(path.name for path in folder.glob("*") if path.suffix in _SUFFIXES)
    return suggestion(name, files, "there are")
