"""Editor document: a scenario file with its text, parsed scenario, map, and errors; and functions
that open one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gv_engine.editor.map_model import MapCell, MapModel
from gv_engine.editor.rules import RuleList
from gv_engine.editor.symbols import Vocabulary, read_vocabulary
from gv_engine.editor.text_buffer import TextBuffer
from gv_engine.editor.yaml_text import (
    EditError,
    KeyPath,
    compose_yaml,
    has_value,
    put,
    put_rows,
    read_scalar,
    remove,
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

# ---- document ------------------------------------------------------------------------------------

NEW_FILE = "new-level.yaml"
"""Name of a file without a name, in messages."""


class Fault(NamedTuple):
    """Error or likely mistake in a level.

    Attributes:
        message: problem, without the file name.
        place: place in the file.
        is_slip: whether it is only a likely mistake, which does not prevent playing.
    """

    message: str
    place: ProblemPlace = ProblemPlace()
    is_slip: bool = False


class EditorDocument:
    """An open scenario file: text buffer, parsed document, map and errors.

    Args:
        buffer: text of the file.
        variant: variant of the scenario in it.
        folder: folder of the rule files, if the document has no file yet.
        trust: Python that the scenario may run.
        settings: values of the scenario's parameters.

    Attributes:
        buffer: text of the file.
        document: parsed text; the last valid one if the text is invalid, None before.
        scenario: scenario of the text; None if the text has errors.
        faults: errors of the text.
        vocabulary: possible contents of cells.
        map: map of the level.
    """

    def __init__(
        self,
        buffer: TextBuffer,
        variant: str = "",
        folder: Path | None = None,
        trust: Trust = DEFAULT_TRUST,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.buffer, self.variant, self.trust = buffer, variant, trust
        self._folder = folder or Path()
        self._settings = settings or {}
        self._rule_watch: Watch | None = None
        self._read: tuple[str, Path | None] | None = None
        self.document: Document | None = None
        self.scenario: Scenario | None = None
        self.faults: tuple[Fault, ...] = ()
        self.vocabulary = Vocabulary()
        self.map = MapModel("", None, self.vocabulary)
        self.refresh()

    @property
    def level(self) -> ScenarioRef:
        """Reference to the scenario, also before it has a file."""
        return ScenarioRef(self.buffer.file or self._folder / NEW_FILE, self.variant)

    @property
    def title(self) -> str:
        """Name of the document, with * if it has unsaved changes."""
        file = self.level.file
        name = file.parent.name if file.stem == "scenario" else file.stem
        named = f"{name}#{self.variant}" if self.variant else name
        return f"{named} *" if self.buffer.is_changed else named

    def refresh(self) -> bool:
        """Read the text again if it has changed, and return whether it has."""
        now = self.buffer.text, self.buffer.file
        if self._read == now:
            return False
        self._read = now
        self.scenario = None
        try:
            document = read_text(
                self.buffer.text.encode(), self.level, self.trust, dict(self._settings)
            )
        except ScenarioError as error:
            self.faults = self._faults(error)
            self.map = MapModel(self.buffer.text, self.document, self.vocabulary, self.variant)
            return True
        self.document = document
        self.vocabulary = read_vocabulary(document)
        self.map = MapModel(self.buffer.text, document, self.vocabulary, self.variant)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                self.scenario = Scenario.read(document)
            self.faults = ()
            files = (file for file in self.scenario.watched_files() if file.suffix == ".py")
            self._rule_watch = Watch(files)
        except ScenarioError as error:
            self.faults = self._faults(error)
        except GVEngineError as error:
            self.faults = (Fault(str(error)),)
        return True

    def have_rules_changed(self) -> bool:
        """Return whether rule files have changed since they were read; the next `refresh` then
        reads the text again."""
        files = (
            [f for f in self.scenario.watched_files() if f.suffix == ".py"] if self.scenario else []
        )
        if self._rule_watch is None or not self._rule_watch.differs(files):
            return False
        self._read = None
        return True

    def _faults(self, error: ScenarioError) -> tuple[Fault, ...]:
        """Return the problems of an error with their places."""
        places = error.places or (ProblemPlace(),) * len(error.problems)
        return tuple(
            Fault(self.shorten_message(text), place)
            for text, place in zip(error.problems, places, strict=True)
        )

    def shorten_message(self, message: str) -> str:
        """Return a message without the name of the edited file."""
        label = str(self.level.file)
        return f"line {rest}" if (rest := message.removeprefix(f"{label}:")) != message else message

    def cells_of(self, fault: Fault) -> list[MapCell]:
        """Return the map cells that a fault is about; none if it is about something else."""
        place, level_map = fault.place, self.map
        if place.cells:
            cells = [cell for cell in place.cells if cell in level_map]
            unknown = [level_map.rows[y][x] for y, x in cells if level_map.symbol((y, x)) is None]
            same = [cell for character in unknown for cell in level_map.cells_of(character)]
            return list(dict.fromkeys([*cells, *same]))  # errors name unknown characters once
        if place.path.startswith("legend.") and len(place.path) > len("legend."):
            return level_map.cells_of(place.path[len("legend.")])
        if place.path.startswith("objects."):
            return [
                cell
                for cell in level_map.cells()
                if place.path.split(".")[1] in self._type_names(cell)
            ]
        return []

    def _type_names(self, cell: MapCell) -> set[str]:
        """Return the object types in a cell, its ground included."""
        symbol = self.map.symbol(cell)
        layers = [symbol, symbol.ground] if symbol else []
        return {self.vocabulary.types[layer.kind].name for layer in layers if layer}

    @property
    def rules(self) -> RuleList:
        """Rules of the scenario.

        Raises:
            EditError: the file cannot be read.
        """
        functions = dict(self.format.functions)
        return RuleList(self.buffer.text, self._parsed, self.vocabulary, functions)

    @property
    def format(self) -> ScenarioFormat:
        """Format of the file, by its domain."""
        return load_formats()[self._parsed.domain]

    @property
    def values(self) -> dict[str, Any]:
        """Values of the file and of files it extends, as plain Python."""
        plain = self._parsed.root.plain
        return plain if isinstance(plain, dict) else {}

    @property
    def _parsed(self) -> Document:
        """Parsed document; raises EditError if there is none."""
        if self.document is None:
            raise EditError(f"The file cannot be read: {self.faults[0].message}")
        return self.document

    def set_value(self, path: KeyPath, value: Any) -> None:
        """Set a value of the file; None removes it."""
        if value is not None:
            self.edit(lambda text: put(text, path, value))
        elif has_value(self.buffer.text, path):
            self.edit(lambda text: remove(text, path))

    # ---- changes -------------------------------------------------------------------------

    def edit(self, change: Callable[[str], str], stroke: object = None) -> bool:
        """Change the text, read it again, and return whether it has changed; see
        `TextBuffer.edit`."""
        changed = self.buffer.edit(change, stroke)
        self.refresh()
        return changed

    def undo(self) -> bool:
        """Undo an edit; False if there is none."""
        return self.buffer.undo() and self.refresh()

    def redo(self) -> bool:
        """Redo an edit; False if there is none."""
        return self.buffer.redo() and self.refresh()

    def insert_level(self, seed: int) -> None:
        """Replace the reset functions of the scenario by a map: the level of a seed.

        Raises:
            EditError: the scenario has errors.
        """
        text = self._text_with_level(seed)
        self.edit(lambda _: text)

    def copy_with_level(self, seed: int) -> EditorDocument:
        """Return a new document with the level of a seed as a map, see `insert_level`.

        Raises:
            EditError: the scenario has errors.
        """
        buffer = TextBuffer(self._text_with_level(seed), self.buffer.file)
        return EditorDocument(buffer, self.variant, self._folder, self.trust, self._settings)

    def _text_with_level(self, seed: int) -> str:
        """Return the text with the level of a seed as a map.

        Raises:
            EditError: the scenario has errors.
        """
        if self.scenario is None:
            raise EditError("The level cannot be made: something is wrong with the file")
        simulation = Simulation(self.scenario)
        simulation.reset(np.random.default_rng(seed))
        world = simulation.world
        agents = [
            (world.position.y[agent], world.position.x[agent], world.agent.facing[agent])
            for agent in world.everyone
        ]
        return self.map.replace_levels(world.cells(), world.beneath(), agents)


# ---- opening -------------------------------------------------------------------------------------

_STARTERS = Path(__file__).parent / "starters"
STARTERS = {
    "blank": "An empty level",
    "room": "A room with an exit",
    "keydoor": "A key and a door",
    "coins": "Coins to take",
}
"""Starters of new levels, with descriptions."""


def open_document(source: str, **options: Any) -> EditorDocument:
    """Return a document to edit.

    Args:
        source: name or file, as for `load_scenario`; a built-in scenario is opened as a copy, and a
            missing YAML file as a new level.
        options: parameters of the scenario, and which Python may run, see `load_scenario`.

    Raises:
        ScenarioError: there is no such scenario.
        EditError: the scenario cannot be edited.
        OSError: the file cannot be read.
    """
    trust, settings = split_options(options)
    path = Path(source)
    if path.suffix in (".yaml", ".yml") and not path_exists(path) and path.parent.is_dir():
        return new_document("blank", path.absolute(), **options)
    level = find_scenario_ref(source)
    if is_pack(level.file):
        raise EditError(f"{level.file} has levels alone; a scenario whose `levels` it is has rules")
    buffer = TextBuffer.load(level.file.absolute())
    _check_domain(buffer.text, level)
    if not level.file.is_relative_to(SCENARIOS) or path_exists(ScenarioRef.parse(path).file):
        return EditorDocument(buffer, level.variant, trust=trust, settings=settings)
    copy = TextBuffer(buffer.text)
    document = EditorDocument(copy, level.variant, trust=trust, settings=settings)
    if document.faults:  # it needs files beside it: rules, levels, extended files
        return EditorDocument(TextBuffer(_extending_text(source)), trust=trust, settings=settings)
    return document


def new_document(starter: str, file: Path | None = None, **options: Any) -> EditorDocument:
    """Return a document of a new level.

    Args:
        starter: one of `STARTERS`.
        file: future file of the document.
        options: as for `open_document`.
    """
    trust, settings = split_options(options)
    text = (_STARTERS / f"{starter}.yaml").read_text("utf-8")
    return EditorDocument(TextBuffer(text, file), trust=trust, settings=settings)


def _extending_text(source: str) -> str:
    """Return the text of a level that extends a built-in scenario; of a pack the named level, or
    the first."""
    name, _, number = source.partition("#")
    levels = Scenario.load(name).document.levels
    if not levels:
        return f"extends: {source}\n"
    level = levels[int(number or 1) - 1]
    text = f"extends: {name}  # {level.credit}\n"
    text += f"view: {level.view.text}\n" if level.view else ""
    return put_rows(text, ("map",), level.map.text.rstrip("\n").split("\n"))


def _check_domain(text: str, level: ScenarioRef) -> None:
    """Raise an error unless the text is of a domain whose levels can be edited.

    Raises:
        EditError: the text is no YAML, or of another domain.
    """
    compose_yaml(text)  # broken YAML must be fixed as text
    name = read_scalar(text, ("domain",)) or next(iter(DOMAINS))
    if name in DOMAINS and not DOMAINS[name].sketch:
        raise EditError(f"{level} is of the domain {name}; levels of grids are edited here")
