"""What there is to play: the built-in scenarios and those in a folder, to be listed and searched.

>>> [entry.title for entry in built_in() if entry.group == "Four rooms"]
['four-rooms-7x7', 'four-rooms-9x9']
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from gv_engine.episode import Playable
from gv_engine.resources import SCENARIOS
from gv_engine.scenario import Scenario, names

_SIZE = re.compile(r"-\d+x\d+$")
_SCENARIO = re.compile(r"^(map|reset_function|transition_functions):", re.MULTILINE)
_MOST = 200  # files of a folder that are looked into


class Entry:
    """One scenario that can be played; read when it is asked for more than its name.

    Args:
        source: what `load` takes.
        group: what it stands under.

    Attributes:
        title: what it is called.
    """

    def __init__(self, source: str, group: str) -> None:
        self.source, self.group = source, group
        path = Path(source)
        file = path.stem if path.name != "scenario.yaml" else path.parent.name
        self.title = file if path.suffix else path.name

    @cached_property
    def scenario(self) -> Playable:
        """The scenario.

        Raises:
            ScenarioError: all that is wrong with it.
        """
        return load(self.source)


def load(source: str | Path) -> Playable:
    """A scenario of any family of worlds, by name or file.

    Raises:
        ScenarioError: all that is wrong with it, or there is no such scenario.
    """
    return Scenario.load(source)


def source_of(scenario: Playable) -> str:
    """What `load` takes to get a scenario again, wherever Python is started."""
    file = scenario.source
    if file is None or file.is_relative_to(SCENARIOS):
        return scenario.name
    return str(file.absolute())


def built_in() -> list[Entry]:
    """The scenarios that come with the engine, family by family."""
    found = names()
    families = {_SIZE.sub("", name) for name in found}
    entries = [Entry(name, _group(name, families)) for name in found]
    return sorted(entries, key=lambda entry: (entry.group, found.index(entry.source)))


def _group(name: str, families: Iterable[str]) -> str:
    """The shortest family that the name belongs to: memory-four-rooms is a kind of memory."""
    own = _SIZE.sub("", name)
    family = min((f for f in families if own == f or own.startswith(f"{f}-")), key=len)
    return family.replace("-", " ").capitalize()


def in_folder(folder: Path) -> list[Entry]:
    """Scenario files in a folder, and in the folders in it that hold a `scenario.yaml`."""
    try:
        files = [file for file in sorted(folder.glob("*.y*ml")) if _is_scenario(file)]
        files += sorted(folder.glob("*/scenario.yaml"))[:_MOST]
    except OSError:
        return []
    return [Entry(str(file), "In this folder") for file in files[:_MOST]]


def _is_scenario(file: Path) -> bool:
    try:
        return file.suffix in (".yaml", ".yml") and bool(_SCENARIO.search(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError):
        return False
