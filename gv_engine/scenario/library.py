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
from gv_engine.scenario.files import path_exists
from gv_engine.scenario.resources import SCENARIOS
from gv_engine.scenario.variants import find_variant_names

GALLERY = SCENARIOS / "gallery"
"""The scenarios of one idea each, for authors to copy."""
MULTI_AGENT = SCENARIOS / "together"
"""The scenarios of several agents."""
PUZZLES = SCENARIOS / "puzzles"
"""The packs of puzzles."""
COURSE = ("tutorial", "puzzles-easy", "puzzles-normal", "puzzles-hard", "medley-7x7")
"""What leads from the first steps to levels by chance, one after the other."""
MINIGRID = SCENARIOS / "minigrid"
"""MiniGrid's levels."""
_SUFFIXES = (".yaml", ".yml")
FOLDER_SCENARIO_FILE = "scenario.yaml"
"""The file of a scenario that is a folder."""
_OTHER_FILES = {
    ".npz": "a snapshot, no scenario; `gv-engine play --from {}` goes on with it",
    ".gvreplay": "a replay, no scenario; `gv-engine replay {}` shows it",
}
"""Other files that the engine writes, by the ends of their names."""
_SIZE = re.compile(r"\d+x\d+|easy|normal|hard")
_VERSIONED_ID = re.compile(r".+-v\d+")
"""Names that are the ids of others."""


def list_grid_names() -> list[str]:
    """Names of the built-in scenarios without MiniGrid's, sorted; none is read for it."""
    return sorted(list_built_in_grids().keys() - list_minigrid_grids())


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
    def parse(cls, path: Path) -> ScenarioRef:
        """What `file.yaml` or `file.yaml#9x9` names, whether it is there or not."""
        name, mark, variant = path.name.rpartition("#")
        return (
            cls(path.with_name(name), variant)
            if name and mark and not path_exists(path)
            else cls(path)
        )

    def __str__(self) -> str:
        return f"{self.file}#{self.variant}" if self.variant else str(self.file)


def list_built_in_grids() -> dict[str, ScenarioRef]:
    """Each built-in scenario, by name."""
    packs = sorted(_list_folder_scenarios(PUZZLES).items(), key=lambda pack: COURSE.index(pack[0]))
    return (
        _list_folder_scenarios(SCENARIOS)
        | _list_folder_scenarios(GALLERY)
        | dict(packs)
        | list_minigrid_grids()
    )


def list_multi_agent_grids() -> dict[str, ScenarioRef]:
    """Each built-in scenario of several agents, by name; they are in no list of those to play."""
    return _list_folder_scenarios(MULTI_AGENT)


def _list_folder_scenarios(folder: Path) -> dict[str, ScenarioRef]:
    files = {path.stem: path for path in folder.glob("*.yaml")}
    return list_scenarios(
        files | {path.parent.name: path for path in folder.glob(f"*/{FOLDER_SCENARIO_FILE}")}
    )


def list_minigrid_grids() -> dict[str, ScenarioRef]:
    """MiniGrid's levels, by the ids that they have there."""
    files = sorted(MINIGRID.glob("*.yaml"))
    found = (item for file in files for item in list_scenarios({"MiniGrid": file}).items())
    return {name: level for name, level in found if level.variant}


def list_scenarios(files: Mapping[str, Path]) -> dict[str, ScenarioRef]:
    """The scenarios in files of the engine's own, by name; their YAML is not read."""
    return {
        "-".join(filter(None, (name, variant))): ScenarioRef(file, variant)
        for name, file in sorted(files.items())
        for variant in _cached_variant_names(file, file.stat().st_mtime_ns) or [""]
    }


@cache
def _cached_variant_names(file: Path, changed: int) -> list[str]:
    """The names of its variants, as it was when it was changed last."""
    return find_variant_names(file.read_text(encoding="utf-8"))


def add_whole_files(known: Mapping[str, ScenarioRef]) -> dict[str, ScenarioRef]:
    """Levels by name, and files of several variants by that of all: the first, or by settings."""
    files = {
        name.removesuffix(f"-{level.variant}"): ScenarioRef(level.file)
        for name, level in known.items()
        if level.variant and not _VERSIONED_ID.fullmatch(name)
    }
    return files | dict(known)


def gym_id(name: str) -> str:
    """The Gymnasium id of a built-in scenario.

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


def find_ref(source: str | Path, known: Mapping[str, ScenarioRef] | None = None) -> ScenarioRef:
    """Where a scenario is.

    Args:
        source: a name, a Gymnasium id, a file or a folder; `file.yaml#9x9` for a variant, and
            `sokoban#3` for a level of a pack.
        known: the scenarios that a name may mean; grids, those of several agents too, if left out.

    Raises:
        ScenarioError: there is none; the message names the nearest.
    """
    known = list_built_in_grids() | list_multi_agent_grids() if known is None else known
    whole, _, number = str(source).partition("#")
    for name, level in add_whole_files(known).items():
        if source in (name, gym_id(name)):
            return level
        if number and whole in (name, gym_id(name)) and not level.variant:
            return ScenarioRef(level.file, number)
    path, variant = ScenarioRef.parse(Path(source))
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except OSError as error:  # a name too long
        raise ScenarioError([f"{path}: {error.strerror}"]) from None
    if is_folder:
        if not (path / FOLDER_SCENARIO_FILE).is_file():
            raise ScenarioError(
                [f"{path}: the folder has no {FOLDER_SCENARIO_FILE}{_suggest_file(path)}"]
            )
        return ScenarioRef(path / FOLDER_SCENARIO_FILE, variant)
    if is_there:
        if path.suffix in _OTHER_FILES:
            raise ScenarioError([f"{path} is {_OTHER_FILES[path.suffix].format(path)}"])
        return ScenarioRef(path, variant)
    if path.is_symlink():
        raise ScenarioError(
            [f"{path} is a link to {path.readlink()}, {_describe_broken_link(path)}"]
        )
    if len(path.parts) > 1 or path.suffix in _SUFFIXES:
        raise ScenarioError([f"{path}: no such file{_suggest_file(path.parent, path.name)}"])
    there = {name: name for name in known}
    there |= {
        file.parent.name: file.parent.name for file in Path().glob(f"*/{FOLDER_SCENARIO_FILE}")
    }
    there |= {file.stem: file.name for file in Path().glob("*") if file.suffix in _SUFFIXES}
    near = [there[name] for name in get_close_matches(path.name, there, cutoff=0.5)]
    hint = f"; did you mean {near[0]!r}? (near: {', '.join(near)})" if near else ""
    raise ScenarioError([f"{path}: no scenario of this name{hint}; `gv-engine list` shows all"])


def _describe_broken_link(path: Path) -> str:
    try:
        path.stat()
    except FileNotFoundError:
        return "which is not there"
    except OSError as error:  # in a ring
        return f"which leads nowhere: {error.strerror}"
    return "which has just come"


def _suggest_file(folder: Path, name: str = "") -> str:
    files = sorted(path.name for path in folder.glob("*") if path.suffix in _SUFFIXES)
    return suggestion(name, files, "there are")
