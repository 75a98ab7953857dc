"""What editing begins with: a file, a copy of a level, or a starter."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gv_engine.editor.map_model import MapCell, MapModel
from gv_engine.editor.rules import RuleList
from gv_engine.editor.symbols import Vocabulary, vocabulary
from gv_engine.editor.text_buffer import TextBuffer
from gv_engine.editor.yaml_text import (
    EditError,
    KeyPath,
    composed,
    has,
    put,
    put_rows,
    remove,
    scalar,
)
from gv_engine.rules.errors import GVEngineError, ProblemPlace, ScenarioError
from gv_engine.scenario.document import Document, read_text
from gv_engine.scenario.files import path_exists
from gv_engine.scenario.json_schema import ScenarioFormat
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.loading import find_scenario_ref
from gv_engine.scenario.packs import is_pack
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.scenario.resources import SCENARIOS
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.schema import load_formats
from gv_engine.scenario.trust import DEFAULT_TRUST, Trust, split_options
from gv_engine.session.file_watch import Watch
from gv_engine.world.simulation import Simulation

# ---- workpiece -----------------------------------------------------------------------------------

NEW = "new-level.yaml"
"""What messages call a file that has no name yet."""


class Fault(NamedTuple):
    """Something that is wrong with a level.

    Attributes:
        says: what, without the name of the file.
        place: where.
        is_slip: whether it may well be meant, and keeps nobody from playing.
    """

    says: str
    place: ProblemPlace = ProblemPlace()
    is_slip: bool = False


class EditorDocument:
    """What an editor has in hand.

    Args:
        manuscript: the text.
        variant: which of the scenarios in it.
        folder: where its rule files are, if it has no file yet.
        trust: which Python it may run.
        settings: values of its parameters.

    Attributes:
        manuscript: see there.
        document: the text, read; None if it cannot be.
        scenario: what it means; None as long as something is wrong.
        faults: what is wrong.
        words: what may stand in cells.
        sketch: the level.
    """

    def __init__(
        self,
        manuscript: TextBuffer,
        variant: str = "",
        folder: Path | None = None,
        trust: Trust = DEFAULT_TRUST,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.manuscript, self.variant, self.trust = manuscript, variant, trust
        self._folder = folder or Path()
        self._settings = settings or {}
        self._rules: Watch | None = None
        self._read: tuple[str, Path | None] | None = None
        self.document: Document | None = None
        self.scenario: Scenario | None = None
        self.faults: tuple[Fault, ...] = ()
        self.words = Vocabulary()
        self.sketch = MapModel("", None, self.words)
        self.refresh()

    @property
    def level(self) -> ScenarioRef:
        """Where it is, or will be."""
        return ScenarioRef(self.manuscript.file or self._folder / NEW, self.variant)

    @property
    def title(self) -> str:
        """What it is called."""
        file = self.level.file
        name = file.parent.name if file.stem == "scenario" else file.stem
        named = f"{name}#{self.variant}" if self.variant else name
        return f"{named} *" if self.manuscript.is_changed else named

    def refresh(self) -> bool:
        """Read the text again, if it is another one; False if it is not."""
        now = self.manuscript.text, self.manuscript.file
        if self._read == now:
            return False
        self._read = now
        self.scenario = None
        try:
            document = read_text(
                self.manuscript.text.encode(), self.level, self.trust, dict(self._settings)
            )
        except ScenarioError as error:
            self.faults = self._faults(error)
            self.sketch = MapModel(self.manuscript.text, self.document, self.words, self.variant)
            return True
        self.document = document
        self.words = vocabulary(document)
        self.sketch = MapModel(self.manuscript.text, document, self.words, self.variant)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                self.scenario = Scenario.read(document)
            self.faults = ()
            files = (file for file in self.scenario.watched_files() if file.suffix == ".py")
            self._rules = Watch(files)
        except ScenarioError as error:
            self.faults = self._faults(error)
        except GVEngineError as error:
            self.faults = (Fault(str(error)),)
        return True

    def rules_differ(self) -> bool:
        """Whether files of rules have changed since they were read; what is said now holds."""
        files = (
            [f for f in self.scenario.watched_files() if f.suffix == ".py"] if self.scenario else []
        )
        if self._rules is None or not self._rules.differs(files):
            return False
        self._read = None
        return True

    def _faults(self, error: ScenarioError) -> tuple[Fault, ...]:
        places = error.places or (ProblemPlace(),) * len(error.problems)
        return tuple(
            Fault(self.in_short(text), place)
            for text, place in zip(error.problems, places, strict=True)
        )

    def in_short(self, says: str) -> str:
        """A message without the name of the file that is edited."""
        label = str(self.level.file)
        return f"line {rest}" if (rest := says.removeprefix(f"{label}:")) != says else says

    def cells_of(self, fault: Fault) -> list[MapCell]:
        """The cells that a fault is about; none if it is about something else."""
        place, sketch = fault.place, self.sketch
        if place.cells:
            known = [cell for cell in place.cells if cell in sketch]
            unknown = [sketch.rows[y][x] for y, x in known if sketch.symbol((y, x)) is None]
            alike = [cell for character in unknown for cell in sketch.cells_of(character)]
            return list(dict.fromkeys([*known, *alike]))  # what is unknown is told but once
        if place.path.startswith("legend.") and len(place.path) > len("legend."):
            return sketch.cells_of(place.path[len("legend.")])
        if place.path.startswith("objects."):
            return [
                cell for cell in sketch.cells() if place.path.split(".")[1] in self._named(cell)
            ]
        return []

    def _named(self, cell: MapCell) -> set[str]:
        """The types of what is in a cell."""
        symbol = self.sketch.symbol(cell)
        layers = [symbol, symbol.ground] if symbol else []
        return {self.words.types[each.kind].name for each in layers if each}

    @property
    def rules(self) -> RuleList:
        """Its rules.

        Raises:
            EditError: the file cannot be read.
        """
        return RuleList(self.manuscript.text, self._known, self.words, dict(self.format.functions))

    @property
    def format(self) -> ScenarioFormat:
        """What its file may say."""
        return load_formats()[self._known.domain]

    @property
    def said(self) -> dict[str, Any]:
        """What the file says, with what it extends, plain."""
        plain = self._known.root.plain
        return plain if isinstance(plain, dict) else {}

    @property
    def _known(self) -> Document:
        if self.document is None:
            raise EditError(f"The file cannot be read: {self.faults[0].says}")
        return self.document

    def put(self, path: KeyPath, value: Any) -> None:
        """Let the file say something; None takes it out."""
        if value is not None:
            self.edit(lambda text: put(text, path, value))
        elif has(self.manuscript.text, path):
            self.edit(lambda text: remove(text, path))

    # ---- changes -------------------------------------------------------------------------

    def edit(self, change: Callable[[str], str], stroke: object = None) -> bool:
        """Change the text and read it again; see `TextBuffer.edit`."""
        changed = self.manuscript.edit(change, stroke)
        self.refresh()
        return changed

    def undo(self) -> bool:
        """Take a step back; False if there is none."""
        return self.manuscript.undo() and self.refresh()

    def redo(self) -> bool:
        """Take a step that was undone; False if there is none."""
        return self.manuscript.redo() and self.refresh()

    def draw_level(self, seed: int) -> None:
        """Put the level of a seed as a map in place of what makes levels.

        Raises:
            EditError: there is something wrong with what makes them.
        """
        text = self._with_level(seed)
        self.edit(lambda _: text)

    def with_level_drawn(self, seed: int) -> EditorDocument:
        """A workpiece of its own, in which that has been done.

        Raises:
            EditError: there is something wrong with what makes levels.
        """
        manuscript = TextBuffer(self._with_level(seed), self.manuscript.file)
        return EditorDocument(manuscript, self.variant, self._folder, self.trust, self._settings)

    def _with_level(self, seed: int) -> str:
        if self.scenario is None:
            raise EditError("The level cannot be made: something is wrong with the file")
        simulation = Simulation(self.scenario)
        simulation.reset(np.random.default_rng(seed))
        world = simulation.world
        agents = [
            (world.position.y[agent], world.position.x[agent], world.agent.facing[agent])
            for agent in world.everyone
        ]
        return self.sketch.drawn(world.cells(), world.beneath(), agents)


# ---- beginning -----------------------------------------------------------------------------------

_STARTERS = Path(__file__).parent / "starters"
STARTERS = {
    "blank": "An empty level",
    "room": "A room with an exit",
    "keydoor": "A key and a door",
    "coins": "Coins to take",
}
"""What new levels can begin with, and what it is."""


def open_work(source: str, **options: Any) -> EditorDocument:
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
    trust, settings = split_options(options)
    path = Path(source)
    if path.suffix in (".yaml", ".yml") and not path_exists(path) and path.parent.is_dir():
        return new_work("blank", path.absolute(), **options)
    level = find_scenario_ref(source)
    if is_pack(level.file):
        raise EditError(f"{level.file} has levels alone; a scenario whose `levels` it is has rules")
    manuscript = TextBuffer.of(level.file.absolute())
    _check_domain(manuscript.text, level)
    if not level.file.is_relative_to(SCENARIOS) or path_exists(ScenarioRef.parse(path).file):
        return EditorDocument(manuscript, level.variant, trust=trust, settings=settings)
    copy = TextBuffer(manuscript.text)
    made = EditorDocument(copy, level.variant, trust=trust, settings=settings)
    if made.faults:  # it needs files that are beside it: rules, levels, what it extends
        return EditorDocument(TextBuffer(_extending(source)), trust=trust, settings=settings)
    return made


def new_work(starter: str, file: Path | None = None, **options: Any) -> EditorDocument:
    """A new level.

    Args:
        starter: what it begins with, one of `STARTERS`.
        file: where it is going to be.
        options: as for `open_work`.
    """
    trust, settings = split_options(options)
    text = (_STARTERS / f"{starter}.yaml").read_text("utf-8")
    return EditorDocument(TextBuffer(text, file), trust=trust, settings=settings)


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


def _check_domain(text: str, level: ScenarioRef) -> None:
    composed(text)  # what is no YAML is better mended as text
    name = scalar(text, ("domain",)) or next(iter(DOMAINS))
    if name in DOMAINS and not DOMAINS[name].sketch:
        raise EditError(f"{level} is of the domain {name}; levels of grids are edited here")
