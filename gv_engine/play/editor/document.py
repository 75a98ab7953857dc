"""Editor document: a scenario file with its text, parsed scenario, map, and errors; and functions
that open one."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import replace
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gv_engine.play.editor import pack, text_buffer
from gv_engine.play.editor.map_model import MapCell, MapModel
from gv_engine.play.editor.rules import RuleList
from gv_engine.play.editor.text_buffer import EditError, KeyPath, TextBuffer, format_key_path
from gv_engine.play.editor.vocabulary import Vocabulary, read_vocabulary
from gv_engine.play.session.sprite_paths import (
    SpriteSource,
    find_broken_sprites,
    folders_beside,
    sprite_sources,
)
from gv_engine.play.session.timeline import Watch
from gv_engine.rules.errors import GVEngineError, ProblemPlace, ScenarioError
from gv_engine.rules.system import RESET
from gv_engine.scenario.documents.document import Document, read_text
from gv_engine.scenario.documents.loading import find_scenario_ref
from gv_engine.scenario.documents.trust import DEFAULT_TRUST, Trust, split_options
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.levels.packs import is_pack
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.readers.map import Symbol
from gv_engine.scenario.reference_docs import load_formats
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import path_exists
from gv_engine.scenario.storage.resources import SCENARIOS
from gv_engine.scenario.storage.worker_process import RequestWorker, describe_exit
from gv_engine.scenario.syntax.json_schema import ScenarioFormat
from gv_engine.world.simulation import make_level
from systems.procedural import resolve_value

# ---- document ------------------------------------------------------------------------------------

NEW_FILE = "new-level.yaml"
"""Name of a file without a name, in messages."""


class Fault(NamedTuple):
    """Error or likely mistake in a level.

    Attributes:
        message: problem, without the file name.
        place: place in the file.
        is_slip: True if it is only a likely mistake, which does not prevent playing.
    """

    message: str
    place: ProblemPlace = ProblemPlace()
    is_slip: bool = False


class EditorDocument:
    """An open scenario file: text buffer, parsed document, map and errors.

    Args:
        buffer: text of the file.
        variant: variant of the scenario in it.
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
        trust: Trust = DEFAULT_TRUST,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.buffer, self.variant, self.trust = buffer, variant, trust
        self._opened_variant = variant
        self._settings = settings or {}
        self._rule_watch: Watch | None = None
        self._parsed_version: tuple[str, Path | None] | None = None  # text and file name
        self._map_index = 0  # of the shown map, in a level with `maps`
        self._map_texts: Sequence[str | None] = ()  # of all maps
        self.document: Document | None = None
        self.scenario: Scenario | None = None
        self.faults: tuple[Fault, ...] = ()
        self.vocabulary = Vocabulary()
        self.map = MapModel("", None, self.vocabulary)
        self.refresh()

    @property
    def ref(self) -> ScenarioRef:
        """Reference to the scenario: its file, or a default name if the document has no file yet,
        and the edited variant."""
        return ScenarioRef(self.buffer.file or Path(NEW_FILE), self.variant)

    @property
    def sprite_sources(self) -> tuple[SpriteSource, ...]:
        """Sources of the scenario's own sprites. While the scenario has errors, its theme and
        the image files that it names are left out."""
        if self.scenario is not None:
            return sprite_sources(self.scenario)
        bases = self.document.bases if self.document else ()
        return folders_beside([self.ref.file, *(base.file for base in bases)])

    def export_command(self, page: Path, *options: str) -> list[str]:
        """Return the command `gv-engine export`, as a list of arguments, that writes the saved
        level, or all levels of its pack, into the web page `page`; `options` are added to it."""
        consent = ["--trust"] * self.trust.trust + ["--no-code"] * (not self.trust.code)
        consent += [f"--allow-module={name}" for name in self.trust.allow_modules]
        consent += [f"--set={name}={json.dumps(value)}" for name, value in self._settings.items()]
        level = ScenarioRef(self.ref.file, "" if self.pack_titles else self.variant)
        arguments = ["export", str(level), f"--html={page}", *options, *consent]
        return [sys.executable, "-P", "-m", "gv_engine", *arguments]

    @property
    def pack_titles(self) -> list[str]:
        """Titles of the levels that the file lists, in the author's order; [] if it is no pack."""
        return pack.level_titles(self.buffer.text)

    @property
    def title(self) -> str:
        """Text for the title bar: the name of the file and of the edited variant (named version of
        the scenario), with * if there are unsaved changes."""
        file = self.ref.file
        name = file.parent.name if file.stem == "scenario" else file.stem
        named = f"{name}#{self.variant}" if self.variant else name
        return f"{named} *" if self.buffer.is_unsaved else named

    def refresh(self) -> bool:
        """If the text or the file name has changed since the last call, parse the text again,
        update the scenario, the map and the errors, and return True; else return False."""
        version = self.buffer.text, self.buffer.file
        if self._parsed_version == version:
            return False
        self._parsed_version = version
        self.scenario, self.faults = None, ()
        self.variant = pack.edited_level(self.buffer.text, self.variant, self._opened_variant)
        try:
            document = read_text(self.buffer.text.encode(), self.ref, self.trust, self._settings)
            self.document, self.vocabulary = document, read_vocabulary(document)
        except ScenarioError as error:
            self.faults = self._faults_of(error)
        self._read_map()
        if self.document is None or self.faults:
            return True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                self.scenario = Scenario.read(self.document)
            self._rule_watch = Watch(self._rule_files())
        except ScenarioError as error:
            self.faults = self._faults_of(error)
        except GVEngineError as error:
            self.faults = (Fault(str(error)),)
        return True

    def open_level(self, number: int) -> None:
        """Edit level `number`, from 1, of the pack."""
        self.variant, self._parsed_version = str(number), None
        self.refresh()

    def _read_map(self) -> None:
        """Read the map number `_map_index`, or another one that has changed, as by an undo."""
        text, document, before = self.buffer.text, self.document, self._map_texts
        self.map = MapModel(text, document, self.vocabulary, self.variant, self._map_index)
        self._map_texts = self.map.read_all(text)
        pairs = enumerate(zip(before, self._map_texts, strict=False))
        changed = [index for index, (old, new) in pairs if old != new]
        if changed and self.map.index not in changed:
            self.show_map(changed[0])

    def show_map(self, index: int) -> None:
        """Edit another one of the level's `maps`; after the last comes the first."""
        self._map_index = index % self.map.num_maps
        self._read_map()

    def show_map_of(self, fault: Fault) -> None:
        """Edit the map to which `fault`, an error or likely mistake, refers, if it does."""
        if found := _MAP_INDEX.search(fault.place.path):
            self.show_map(int(found[1]))

    def find_seed_of_map(self) -> int:
        """Return the least seed whose level uses the shown map; 0 if the level has one map, or has
        errors.

        Raises:
            EditError: none of the first seeds uses the map.
        """
        if self.scenario is None or self.map.num_maps == 1:
            return 0
        arguments = [call.arguments for call in self.scenario.walk_calls(RESET)]
        code = next((given["level_code"] for given in arguments if "level_code" in given), 0)
        num_seeds = min(20 * self.map.num_maps, _MAX_SEEDS)
        for seed in range(num_seeds):
            if resolve_value(make_level(self.scenario, seed), code) == self.map.index:
                return seed
        raise EditError(f"Seeds 0 to {num_seeds - 1} play other maps than this one")

    def have_rules_changed(self) -> bool:
        """Return True if Python files with rules of the scenario have changed on disk since the
        last parse; then the next `refresh` parses the text again."""
        has_changed = self._rule_watch is not None and self._rule_watch.differs(self._rule_files())
        if has_changed:
            self._parsed_version = None
        return has_changed

    def _rule_files(self) -> list[Path]:
        files = self.scenario.watched_files() if self.scenario else ()
        return [file for file in files if file.suffix == ".py"]

    def _faults_of(self, error: ScenarioError) -> tuple[Fault, ...]:
        """Convert a ScenarioError to the list of its problems, each with its position in the
        file."""
        places = error.places or (ProblemPlace(),) * len(error.problems)
        return tuple(
            Fault(self.shorten_message(text, place), place)
            for text, place in zip(error.problems, places, strict=True)
        )

    def shorten_message(self, message: str, place: ProblemPlace) -> str:
        """Return an error message without the name of the edited file. If the error is shown at map
        cells, and `place` is a rule in another file, that place is removed too. If the map has no
        agent, the message says what to paint instead of which character to type."""
        if place.file and place.cells:
            return message.removeprefix(f"{place.file}:{place.line}: {place.path}: ")
        file_prefix = f"{self.ref.file}:"
        if not message.startswith(file_prefix):
            return message
        if "map: no agent; put one of" in message:
            return "Put a player on the map"
        return f"line {message.removeprefix(file_prefix)}"

    def cells_of(self, fault: Fault) -> list[MapCell]:
        """Return the map cells to which `fault`, an error or likely mistake, refers; [] if there
        are none."""
        place, level_map = fault.place, self.map
        is_of_map = _MAP_INDEX.search(place.path)
        if is_of_map and place.path != format_key_path(level_map.path):
            return []  # those of another map
        if place.cells:
            cells = [cell for cell in place.cells if cell in level_map]
            for y, x in [*cells]:  # errors name each unknown character once
                if level_map.symbol((y, x)) is None:
                    cells += level_map.cells_of(level_map.rows[y][x])
            return list(dict.fromkeys(cells))
        key, _, name = place.path.partition(".")
        if key == "legend" and name:
            return level_map.cells_of(name[0])
        if key == "objects" and name:
            name = name.partition(".")[0]
            return [cell for cell in level_map.cells() if name in self._type_names(cell)]
        return []

    def _type_names(self, cell: MapCell) -> set[str]:
        """Return the names of the object types in `cell`, on all its layers."""
        symbol = self.map.symbol(cell)
        layers = (symbol, *symbol.below) if symbol else ()
        return {self.vocabulary.types[layer.kind].name for layer in layers}

    @property
    def rules(self) -> RuleList:
        """Model of the scenario's rules, with functions that return edited texts.

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
        plain = self._parsed.root.written
        return plain if isinstance(plain, dict) else {}

    @property
    def _parsed(self) -> Document:
        if self.document is None:
            raise EditError(f"The file cannot be read: {self.faults[0].message}")
        return self.document

    def set_value(self, path: KeyPath, value: Any) -> None:
        """Set the value at the key path `path` of the file to `value`; None removes the key."""
        if value is not None:
            self.edit(lambda text: text_buffer.put(text, path, value))
        elif text_buffer.has_value(self.buffer.text, path):
            self.edit(lambda text: text_buffer.remove(text, path))

    # ---- changes -------------------------------------------------------------------------

    def edit(self, change: Callable[[str], str], stroke: object = None) -> bool:
        """Replace the text by `change(text)`, parse it again, and return True if the text has
        changed. Consecutive edits with an equal `stroke`, such as a number, are undone together."""
        changed = self.buffer.edit(change, stroke)
        self.refresh()
        return changed

    def set_text(self, text: str) -> None:
        """Replace the text by `text`, and parse it."""
        self.edit(lambda _: text)

    def undo(self) -> bool:
        """Undo the last edit, and parse the text; return False if there is none."""
        return self.buffer.undo() and self.refresh()

    def redo(self) -> bool:
        """Redo the edit that was undone last, and parse the text; return False if there is none."""
        return self.buffer.redo() and self.refresh()

    def insert_level(self, seed: int) -> None:
        """Replace the scenario's level generator by a fixed map: the level generated for `seed`.

        Raises:
            EditError: the scenario has errors.
        """
        self.set_text(self._text_with_level(seed))

    def copy_with_level(self, seed: int) -> EditorDocument:
        """Return a copy of this document in which a fixed map, the level generated for `seed`,
        replaces the level generator.

        Raises:
            EditError: the scenario has errors.
        """
        return self.copy(self._text_with_level(seed))

    def copy(self, text: str) -> EditorDocument:
        """Return a document with the text `text` and the file, variant and consent of this one."""
        buffer = TextBuffer(text, self.buffer.file)
        return EditorDocument(buffer, self.variant, self.trust, self._settings)

    def _text_with_level(self, seed: int) -> str:
        """Return the file's text in which the level generator is replaced by a fixed map: the level
        that it generates for `seed`.

        Raises:
            EditError: the scenario has errors.
        """
        if self.scenario is None:
            raise EditError("The level cannot be made: something is wrong with the file")
        world = make_level(self.scenario, seed)
        facing_by_cell = {
            (world.position.y[agent], world.position.x[agent]): world.agent.facing[agent]
            for agent in world.everyone
        }
        symbols = {
            cell: replace(_read_cell(world, cell), facing=facing_by_cell.get(cell))
            for cell in np.ndindex(world.height, world.width)
        }
        return self.map.replace_generator((world.height, world.width), symbols)


def _read_cell(world: Any, cell: MapCell) -> Symbol:
    """Return the objects in a cell of a world as a legend entry."""
    above, *between, ground = (
        Symbol(*world.appearance(layer[cell])) if layer[cell] else None
        for layer in (world.at, *world.between, world.ground)
    )
    lower = tuple(filter(None, between))
    return replace(above or Symbol(), ground=ground, between=lower)


# ---- opening -------------------------------------------------------------------------------------

STARTERS = {
    "blank": "An empty level",
    "room": "A room with an exit",
    "keydoor": "A key and a door",
    "coins": "Coins to take",
    "puzzle": "A puzzle: crates, levers, plates, ice, guards",
}
"""Starters of new levels, with descriptions."""


def open_document(source: str, **options: Any) -> EditorDocument:
    """Open a scenario for editing, and return the document.

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
    ref = find_scenario_ref(source)
    if is_pack(ref.file):
        raise EditError(f"{ref.file} has levels alone; a scenario whose `levels` it is has rules")
    buffer = TextBuffer.load(ref.file.absolute())
    check_domain(buffer.text, ref)
    is_built_in = ref.file.is_relative_to(SCENARIOS) and not path_exists(
        ScenarioRef.parse(path).file
    )
    if not is_built_in:
        return EditorDocument(buffer, ref.variant, trust, settings)
    copied = EditorDocument(TextBuffer(buffer.text), ref.variant, trust, settings)
    if not copied.faults:
        return copied
    # it needs files beside it: rules, levels, extended files
    return EditorDocument(TextBuffer(_extending_text(source)), trust=trust, settings=settings)


def open_unsaved(text: str, file: str, variant: str, **options: Any) -> EditorDocument:
    """Return a document with the unsaved text `text`; undo restores the content of `file` on the
    disk.

    Args:
        text: edited text.
        file: path of the edited file, which may be gone; "" if the edits have no file.
        variant: edited variant of the scenario; "" for none.
        options: as for `open_document`.

    Raises:
        EditError, OSError: the file on the disk cannot be read, or the text is no YAML.
    """
    trust, settings = split_options(options)
    path = Path(file) if file else None
    buffer = TextBuffer.load(path) if path and path_exists(path) else TextBuffer("", path)
    buffer.edit(lambda _: text)
    return EditorDocument(buffer, variant, trust=trust, settings=settings)


def new_document(starter: str, file: Path | None = None, **options: Any) -> EditorDocument:
    """Return a new, unsaved document that begins with the text of `starter`.

    Args:
        starter: one of `STARTERS`.
        file: future file of the document.
        options: as for `open_document`.
    """
    trust, settings = split_options(options)
    text = (Path(__file__).parent / "starters" / f"{starter}.yaml").read_text("utf-8")
    return EditorDocument(TextBuffer(text, file), trust=trust, settings=settings)


def _extending_text(source: str) -> str:
    """Return the text of a new scenario file that extends the built-in scenario `source`. From a
    pack of levels, the text also gets the map of one level: the named one, such as `sokoban#3`, or
    the first."""
    name, _, number = source.partition("#")
    levels = Scenario.load(name).document.levels
    if not levels:
        return f"extends: {source}\n"
    level = levels[int(number or 1) - 1]
    text = f"extends: {name}  # {level.credit}\n"
    text += f"view: {level.view.text}\n" if level.view else ""
    return text_buffer.put_rows(text, ("map",), level.map.text.rstrip("\n").split("\n"))


def check_domain(text: str, ref: ScenarioRef) -> None:
    """Raise an error if the scenario `text` is not a gridworld, as the editor cannot edit other
    domains. `ref` names the scenario in the message.

    Raises:
        EditError: the text is no YAML, or of another domain.
    """
    try:
        text_buffer.compose_yaml(text)  # broken YAML must be fixed as text
    except EditError:
        if ref.file.suffix not in (".yaml", ".yml"):
            raise EditError(f"{ref} is no YAML file; change it in a text editor") from None
        raise
    name = text_buffer.read_scalar(text, ("domain",)) or next(iter(DOMAINS))
    if name in DOMAINS and not DOMAINS[name].sketch:
        raise EditError(f"{ref} is of the domain {name}; levels of grids are edited here")


_MAX_SEEDS = 1000  # seeds to try for one that plays a map
_MAP_INDEX = re.compile(r"\bmaps\[(\d+)\]")
_FIRST_SEARCH_SECONDS = 1.5  # CPU seconds for a first search of one level
_SEARCH_SECONDS = 10.0  # CPU seconds for the search of all levels
# Number of levels to search, and the number after which the search ends if all are equal
_MAX_LEVELS, _MIN_LEVELS = 20, 3
_EPISODES = 2
# Seconds after which an outdated request is cancelled, and after which every request is: it may
# compile
_BUSY_SECONDS, _TIMEOUT = 20.0, 90.0


class CheckState(NamedTuple):
    """Results of the checks of a level so far.

    Attributes:
        faults: errors and likely mistakes.
        steps: least number of steps to win the level of seed 0; None if unknown.
        message: reason why `steps` is unknown; "" while the search runs.
        is_lost: whether the level certainly cannot be won.
        levels: summary of the levels of several seeds; "" while all levels are equal.
    """

    faults: tuple[Fault, ...] = ()
    steps: int | None = None
    message: str = ""
    is_lost: bool = False
    levels: str = ""


class BackgroundChecker:
    """Checks and solves the level of the last request in a background process.

    Attributes:
        is_waiting: whether further results of the last request will come.
    """

    def __init__(self) -> None:
        self.is_waiting = False
        self._request_number = 0
        self._request_time = 0.0
        self._worker: RequestWorker | None = None

    def ask(self, scenario: Scenario | None) -> None:
        """Request a check of `scenario` from the background process, and drop the previous request;
        None drops the previous request only."""
        if self.is_waiting and time.monotonic() > self._request_time + _BUSY_SECONDS:
            self.close()  # its search may go on for long
        self._request_number += 1
        self.is_waiting = scenario is not None
        if scenario is None:
            return
        self._worker = self._worker or RequestWorker(_serve_requests)
        self._request_time = time.monotonic()
        self._worker.send((self._request_number, scenario))

    def answer(self) -> CheckState | None:
        """Return the newest results for the last request; None if none have arrived since the last
        call. If the process has died or takes too long, the result is a message."""
        latest = None
        if self._worker is None or not self.is_waiting:
            return None
        try:
            while reply := self._worker.receive():
                number, state, is_last = reply
                if number == self._request_number:
                    latest, self.is_waiting = state, not is_last
        except (EOFError, OSError):
            reason = describe_exit(self.close())
            return CheckState(message=f"Not checked: {reason}. The next change checks again")
        if self.is_waiting and time.monotonic() > self._request_time + _TIMEOUT:
            self.close()
            return CheckState(
                message=f"Not checked: it took more than {_TIMEOUT:g} s. Does a rule run for ever?"
            )
        return latest

    def close(self) -> int | None:
        """Kill the background process, and drop the last request. Return the process's exit code;
        None if none runs."""
        worker, self._worker, self.is_waiting = self._worker, None, False
        return worker.close() if worker else None


def _serve_requests(connection: Connection) -> None:
    """Main function of the checker process: check each scenario that arrives on `connection`, and
    send back the results. A newer request cancels a running check."""
    from gv_engine.compiler.batch_program import start_quickly  # imports llvmlite

    start_quickly()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    # compiler warnings would repeat with every change
    with redirect_stderr(StringIO()), suppress(EOFError, OSError):
        while True:
            number, scenario = connection.recv()
            state = CheckState()
            for state in check_level(scenario, connection.poll):
                if connection.poll():
                    break  # a newer request
                connection.send((number, state, False))
            else:
                connection.send((number, state, True))


def check_level(
    scenario: Scenario, is_outdated: Callable[[], bool] = lambda: False
) -> Iterator[CheckState]:
    """Yield intermediate results of checking a scenario: first whether the level of seed 0 can be
    won, and in how many steps, if a short search tells; then also its errors and likely mistakes,
    and whether other levels can be won. A search ends without a result once `is_outdated` returns
    True."""
    first = CheckState()
    with suppress(Exception):  # the long search says what is wrong
        first = next(_solve_levels(scenario, _FIRST_SEARCH_SECONDS, is_outdated))
    if first.steps is None and not first.is_lost:  # the short search gave up
        first = CheckState()
    else:
        yield first
    faults: tuple[Fault, ...] = ()
    try:
        for faults in _find_faults(scenario):
            yield first._replace(faults=faults)
        for state in _solve_levels(scenario, _SEARCH_SECONDS, is_outdated):
            yield state._replace(faults=faults)
    except Exception as error:  # any error of a custom rule, or of an outdated search
        yield CheckState(faults, message=f"{type(error).__name__}: {error}")


def _find_faults(scenario: Scenario) -> Iterator[tuple[Fault, ...]]:
    """Yield, as often as some are found or time has passed, the errors of the scenario; if there
    are none, its likely mistakes, as in `gv-engine check --quick`. The engine's own rules are not
    tested for their contracts, which do not depend on the level."""
    from gv_engine.play.validation.contracts import find_broken_contracts
    from gv_engine.play.validation.differential import run_differential_test
    from gv_engine.play.validation.lint import find_placed_mistakes, find_rule_place

    messages = [*find_broken_sprites(scenario)]
    if not scenario.runs_engine_rules_only:
        messages += find_broken_contracts(scenario, _EPISODES)
        yield ()
    report = run_differential_test(scenario, _EPISODES, compiled=False)
    messages += [report.fault] if report.fault else []
    yield tuple(Fault(message, find_rule_place(scenario, message)) for message in messages)
    if not messages:
        mistakes = find_placed_mistakes(scenario)
        yield tuple(Fault(finding.message, place, is_slip=True) for finding, place in mistakes)


def _solve_levels(
    scenario: Scenario, seconds: float, is_outdated: Callable[[], bool]
) -> Iterator[CheckState]:
    """Solve the levels of several seeds in so many CPU seconds; yield after each seed the fewest
    steps that win the level of seed 0, and a summary of all levels so far. `is_outdated` ends a
    search with an error."""
    from gv_engine.play.validation.solver import Verdict  # compiles
    from gv_engine.play.validation.survey import Survey

    survey = Survey(scenario, (), seconds, is_outdated=is_outdated)
    for seed in range(_MAX_LEVELS):
        survey.add(seed)
        solution = survey.solutions[0]
        levels = "" if not seed or survey.all_alike else str(survey)
        if solution.verdict is Verdict.WON:
            yield CheckState(steps=len(solution.actions), levels=levels)
        else:
            verdict, is_lost = solution.verdict.value, solution.verdict is Verdict.LOST
            message = verdict[0].upper() + verdict[1:]
            yield CheckState(message=message, is_lost=is_lost, levels=levels)
        if seed + 1 >= _MIN_LEVELS and survey.all_alike:
            break
