"""What editing begins with: a file, a copy of a level, or a starter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gv_engine.editing.manuscript import Manuscript
from gv_engine.editing.workpiece import Workpiece
from gv_engine.editing.yaml_text import EditError, composed, put_rows, scalar
from gv_engine.reading.families import FAMILIES
from gv_engine.reading.files import exists
from gv_engine.reading.library import Level
from gv_engine.reading.loading import level_of
from gv_engine.reading.packs import is_pack
from gv_engine.reading.resources import SCENARIOS
from gv_engine.reading.scenario import Scenario
from gv_engine.reading.trust import parted

_STARTERS = Path(__file__).parent / "starters"
STARTERS = {
    "blank": "An empty level",
    "room": "A room with an exit",
    "keydoor": "A key and a door",
    "coins": "Coins to take",
}
"""What new levels can begin with, and what it is."""


def open_work(source: str, **options: Any) -> Workpiece:
    """A scenario to be edited.

    Args:
        source: a name or file, as for `load_scenario`; by the name of a scenario that comes with
            the engine it is a copy, and a YAML file that is not there is a new level.
        options: values of its parameters, and which Python may run, see `load_scenario`.

    Raises:
        ScenarioError: there is no such scenario.
        EditError: it is nothing that can be edited.
        OSError: its file cannot be read.
    """
    trust, settings = parted(options)
    path = Path(source)
    if path.suffix in (".yaml", ".yml") and not exists(path) and path.parent.is_dir():
        return new_work("blank", path.absolute(), **options)
    level = level_of(source)
    if is_pack(level.file):
        raise EditError(f"{level.file} has levels alone; a scenario whose `levels` it is has rules")
    manuscript = Manuscript.of(level.file.absolute())
    _check_family(manuscript.text, level)
    if not level.file.is_relative_to(SCENARIOS) or exists(Level.at(path).file):
        return Workpiece(manuscript, level.variant, trust=trust, settings=settings)
    copy = Manuscript(manuscript.text)
    made = Workpiece(copy, level.variant, trust=trust, settings=settings)
    if made.faults:  # it needs files that are beside it: rules, levels, what it extends
        return Workpiece(Manuscript(_extending(source)), trust=trust, settings=settings)
    return made


def new_work(starter: str, file: Path | None = None, **options: Any) -> Workpiece:
    """A new level.

    Args:
        starter: what it begins with, one of `STARTERS`.
        file: where it is going to be.
        options: as for `open_work`.
    """
    trust, settings = parted(options)
    text = (_STARTERS / f"{starter}.yaml").read_text("utf-8")
    return Workpiece(Manuscript(text, file), trust=trust, settings=settings)


def _extending(source: str) -> str:
    """The text of a level that extends one that comes with the engine; of a pack, one of its
    levels, the first unless it is named."""
    name, _, number = source.partition("#")
    levels = Scenario.load(name).document.levels
    if not levels:
        return f"extends: {source}\n"
    level = levels[int(number or 1) - 1]
    text = f"extends: {name}  # {level.credit}\n"
    text += f"view: {level.view.text}\n" if level.view else ""
    return put_rows(text, ("map",), level.map.text.rstrip("\n").split("\n"))


def _check_family(text: str, level: Level) -> None:
    composed(text)  # what is no YAML is better mended as text
    name = scalar(text, ("family",)) or next(iter(FAMILIES))
    if name in FAMILIES and not FAMILIES[name].sketch:
        raise EditError(f"{level} is of the family {name}; levels of grids are edited here")
