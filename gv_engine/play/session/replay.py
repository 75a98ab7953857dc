"""Replays: files with the steps of an episode, which can be replayed and checked step by step.

A file is JSON with one line for each step; its last line is a checksum of all bytes before. A
replay holds no code: it names its scenario, and the reader says where to find it.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gv_engine import __version__
from gv_engine.envs.render_modes import NotebookView
from gv_engine.play.session.catalogue import is_scenario_text, pack_level_named, read_playable
from gv_engine.play.session.episode import Playable
from gv_engine.rules.errors import GVEngineError, format_count, shorten
from gv_engine.rules.geometry import WAIT, add_up
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.documents.document import ScenarioIdentity, read_text
from gv_engine.scenario.documents.loading import get_domain
from gv_engine.scenario.documents.trust import Trust
from gv_engine.scenario.domains import list_playable_scenarios
from gv_engine.scenario.library import ScenarioRef, add_whole_files
from gv_engine.scenario.memory.layout import RNG
from gv_engine.scenario.readers.map import format_reward
from gv_engine.scenario.storage import files
from gv_engine.scenario.storage.files import check_digest, check_line, format_bytes, write_file

# ---- row digest ----------------------------------------------------------------------------------

# Fields of a world that are no components, in the order in which they are hashed
_NUMBER_FIELDS = "reward", "total", "steps", "error", "action", "free"
_FLAG_FIELDS = "terminated", "truncated", "member"
_WAIT_IN_DIGESTS = 8  # number of `WAIT` in digests: its value when the first replays were saved


def row_digest(row: NDArray[Any], types: ObjectTypes) -> str:
    """Return a hash, as 16 hexadecimal digits, of a world's state. `row` is the world's record,
    `types` are the object types of its scenario.

    Args:
        row: () array of a `Layout.dtype`.
        types: object types of the layout.
    """
    digest = sha256()

    def update(name: str, values: Any) -> None:
        array = np.asarray(values)
        array = array.astype("<f8" if array.dtype.kind == "f" else "<i8")  # on every platform
        digest.update(f"{name} {array.shape} ".encode())
        digest.update(array.tobytes())

    for name in RNG.names or ():
        update(name, row["rng"][name].view(np.int64))
    for name in (*_NUMBER_FIELDS, *_FLAG_FIELDS):
        values = row[name][1:].squeeze() if row[name].ndim else row[name]  # by entity, from 1
        if name == "action":
            values = np.where(values == WAIT, _WAIT_IN_DIGESTS, values)
        update(name, values)
    if row["done"].size > 2:  # a world of one agent has it as `terminated` and `truncated`
        update("done", row["done"][1:])
    names = row.dtype.names or ()
    for name in names:
        if name in ("at", "ground") or name.startswith("between_"):
            update(name, row[name][: row["height"], : row["width"]])
    update("alive", np.flatnonzero(row["alive"]))
    for component in names:
        fields = row[component].dtype.names or ()
        if "has" not in fields:
            continue  # a field of the world
        entities = np.flatnonzero(row[component]["has"])
        update(component, entities)
        for field_name in fields[1:]:
            values = row[component][field_name][entities]
            if (component, field_name) == ("kind", "value"):  # indices of types may change
                digest.update(" ".join(types[index].name for index in values.tolist()).encode())
            else:
                update(field_name, values)
    for name in ("placed", "recent"):  # entities by type
        entities = row[name]
        pairs = [(types[int(k)].name, int(entities[k])) for k in np.flatnonzero(entities)]
        digest.update(f"{name} {sorted(pairs)}".encode())
    return digest.hexdigest()[:16]


# ---- pasted replays ------------------------------------------------------------------------------

_NO_CODE = replace(Trust.from_options(code=False), is_detached=True)


def scenario_of_replay(replay: Replay, folder: Path) -> Playable:
    """Return the scenario of a replay that was pasted as text. Its scenario file is taken from the
    replay and saved in a new subfolder of `folder`. No Python of the scenario runs, and the hash
    must match.

    Args:
        replay: replay with the text of its scenario.
        folder: parent of the new folder with the file.

    Raises:
        ReplayError: the text alone is not the scenario.
        OSError: the file cannot be written.
    """
    identity, reason = replay.scenario, ""
    for name, variant in _variant_names(identity.name):
        file = folder / check_digest(identity.digest)[:16] / f"{name}.yaml"
        try:
            document = read_text(
                identity.text.encode(), ScenarioRef(file, variant), _NO_CODE, replay.settings
            )
            scenario = cast(Playable, get_domain(document).plugin.read_scenario(document))
        except GVEngineError as error:
            reason = f": {error}"
        else:
            if scenario.identity.digest == identity.digest:
                if not is_scenario_text(str(file), identity.text):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_file(file, identity.text)
                return scenario
    raise ReplayError(
        f"a game of {shorten(identity.name, 60)!r}, which is not known here, and its text alone "
        f"is not enough: it needs other files, or Python of its own{reason}"
    )


def _variant_names(name: str) -> Iterator[tuple[str, str]]:
    """Yield each pair (file name, variant) that a scenario's name may mean: `maze-big` is the file
    `maze-big`, or the variant `big` of the file `maze`."""
    stem, _, last_word = name.rpartition("-")
    for file_name, variant in ((name, ""), (stem, last_word)):
        if files.is_file_name(file_name):
            yield file_name, variant


# ---- replay --------------------------------------------------------------------------------------

SUFFIX = ".gvreplay"
LINE_BEGINS = "gv:"
"""Prefix of a replay that is written as one line of text."""
OUTCOMES = ("", "terminated", "truncated")

_FORMAT = "GV Engine replay 2"
_CHECKSUM = b',\n "checksum": '
_MAX_BYTES = 2**22  # of a file, about 100,000 steps


class ReplayError(GVEngineError):
    """Error of a file that is no replay, is damaged, or belongs to another scenario; the message is
    one line."""


class DifferenceError(ReplayError):
    """A state differs from the recorded one."""


class TimelineStep(NamedTuple):
    """Step of an episode.

    Attributes:
        outcome: `terminated`, `truncated`, or empty before the end.
        state: digest of the state after the step, see `Episode.state_digest`.
    """

    action: str
    reward: float
    outcome: str
    state: str


class Difference(NamedTuple):
    """First difference between an episode and its recording.

    Attributes:
        step: number of the step; 0 for the beginning.
        message: description in one line.
    """

    step: int
    message: str


@dataclass(frozen=True)
class Replay(NotebookView):
    """Replay of one episode.

    Attributes:
        scenario: identity of the scenario.
        seed: seed of the episode.
        start: digest of the first state.
        steps: all steps.
        engine: version of GV Engine that recorded it.
        settings: values of the scenario's parameters.
        variant: variant of the scenario file with these settings, "" for none.
    """

    scenario: ScenarioIdentity
    seed: int
    start: str
    steps: tuple[TimelineStep, ...]
    engine: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""

    @property
    def total(self) -> float:
        """Sum of the rewards."""
        return add_up(step.reward for step in self.steps)

    @property
    def outcome(self) -> str:
        """End of the episode: `terminated`, `truncated`, or empty if it has not ended."""
        return self.steps[-1].outcome if self.steps else ""

    @property
    def summary(self) -> str:
        """Short text with scenario, seed, number of steps, return and end."""
        steps, total = format_count(len(self.steps), "step"), format_reward(self.total)
        text = f"{self.scenario.name}, seed {self.seed}, {steps}, return {total}"
        return f"{text}, {self.outcome}" if self.outcome else text

    # ---- files ---------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write the replay to the file `path` atomically.

        Raises:
            OSError: the file cannot be written, or the replay has too many steps.
        """
        data = self.to_bytes()
        if len(data) > _MAX_BYTES:
            raise OSError(
                f"{path} cannot be written: {len(self.steps):,} steps are more than a replay holds"
            )
        write_file(path, data, is_durable=True)

    def to_bytes(self) -> bytes:
        """Return the content of the replay's file: JSON with a checksum at the end."""
        header = {
            "format": _FORMAT,
            "engine": self.engine,
            "scenario": self.scenario._asdict(),
            "settings": dict(self.settings),
            "variant": self.variant,
            "seed": self.seed,
            "outcome": self.outcome,
            "start": self.start,
        }
        steps = ",\n".join(
            "  " + json.dumps([step.action, _encode_reward(step.reward), step.state])
            for step in self.steps
        )
        # the header without its closing brace, which the checksum adds, and one step in a line
        body = json.dumps(header, indent=1).removesuffix("\n}") + f',\n "steps": [\n{steps}\n ]'
        return _close_with_checksum(body.encode())

    @classmethod
    def load(cls, path: Path) -> Replay:
        """Return the replay in the file `path`, which was written by `save` or holds the text of
        `to_line`.

        Raises:
            ReplayError: the file is no replay, or damaged.
            OSError: the file cannot be read.
        """
        try:
            data = files.read_bytes(path, _MAX_BYTES, "replays")
            is_line = data.startswith(LINE_BEGINS.encode())
            return cls.from_line(data.decode("latin-1")) if is_line else cls.from_bytes(data)
        except ReplayError as error:
            reason = str(error)
            if path.name == "rollout.json":
                reason = f"a part of a rollout; `gv-engine replay {path.parent}` shows it"
            raise ReplayError(f"{path}: {reason}") from None

    def to_line(self) -> str:
        """Return the replay as one line of text, for the clipboard."""
        return LINE_BEGINS + base64.urlsafe_b64encode(zlib.compress(self.to_bytes(), 9)).decode()

    @classmethod
    def from_line(cls, line: str) -> Replay:
        """Return the replay packed into one line of text by `to_line`.

        Raises:
            ReplayError: the line is no replay, or incomplete.
        """
        try:
            packed = base64.b64decode(line.strip().removeprefix(LINE_BEGINS), b"-_", validate=True)
            data = zlib.decompressobj().decompress(packed, _MAX_BYTES + 1)
        except (ValueError, zlib.error):  # binascii's errors are ValueErrors
            raise ReplayError("no game, or not the whole line of one") from None
        return cls.from_bytes(data)

    @classmethod
    def from_bytes(cls, data: bytes) -> Replay:
        """Return the replay given by `data`, the bytes of its file, after a check of the checksum.

        Raises:
            ReplayError: the bytes are no replay, or damaged.
        """
        if len(data) > _MAX_BYTES:
            raise ReplayError(f"larger than {format_bytes(_MAX_BYTES)}, which no replay is")
        # check before parsing
        body, separator, _ = data.rpartition(_CHECKSUM)
        expected = _close_with_checksum(body)
        is_incomplete = not separator or len(data) < len(expected)
        if data.startswith(b'{\n "format"') and not data.endswith(b"\n}\n") and is_incomplete:
            raise ReplayError(f"cut short, after {format_bytes(len(data))}; copy it again")
        if data != expected:
            raise ReplayError("no replay, or a damaged one: its checksum does not fit the rest")
        try:
            return _parse_replay(files.parse_json(data))
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ReplayError(
                f"not a replay as GV Engine {__version__} writes it: {_shorten_message(error)}"
            ) from None

    # ---- playing it again ----------------------------------------------------------------

    def find(self, among: Iterable[Playable] = ()) -> Playable:
        """Find and return the scenario that was played in the replay: the built-in one, or one of
        `among`, with the same hash.

        Raises:
            ReplayError: there is none, or the scenario has changed since.
            ScenarioError: the built-in scenario refuses the parameters of the replay.
        """
        name = self.scenario.name
        names = add_whole_files(list_playable_scenarios())
        source = name if name in names else name.rpartition("-")[0]  # a level of a pack
        if self.settings and self.variant:  # names of scenarios with settings lack the variant
            source = f"{name}-{self.variant}"
        built_in = [read_playable(source, Trust(), self.settings)] if source in names else []
        same_name: list[Playable] = []
        for scenario in chain(built_in, among):
            candidate = pack_level_named(scenario, name) or scenario
            if candidate.identity.digest == self.scenario.digest:
                return candidate
            if candidate.name == name:
                same_name.append(candidate)
        if same_name:
            self.check(same_name[0])  # raises an error, as it has changed
        raise ReplayError(
            f"a replay of {name!r}, which is no built-in scenario; say which file or folder it is: "
            f"gv-engine replay … --scenario SCENARIO"
        )

    def check(self, scenario: Playable) -> None:
        """Raise an error unless `scenario` is the one that was played in the replay, and has not
        changed since.

        Raises:
            ReplayError: the replay belongs to another scenario, or the scenario has changed since.
        """
        if scenario.identity.digest == self.scenario.digest:
            return
        if scenario.name != self.scenario.name:
            raise ReplayError(f"a replay of {self.scenario.name!r}, not of {scenario.name!r}")
        raise ReplayError(
            f"a replay of {scenario.name!r}, which has changed since{self._version_note()}"
        )

    def difference(
        self, step: int, actual: TimelineStep | str, expected: TimelineStep | str
    ) -> Difference | None:
        """Return the difference between the step `actual`, taken now, and `expected`, the recorded
        one; None if they are equal.

        Args:
            step: number of the step; 0 for the beginning.
            actual: step taken, or the reason why the action was refused; for the beginning, the
                digest of the state.
            expected: step of the replay; for the beginning, the digest of the state.
        """
        if isinstance(expected, str):
            if actual == expected:
                return None
            message = "another level"
        elif isinstance(actual, str):
            message = f"{expected.action}: {actual}"
        elif actual.outcome != expected.outcome:
            recorded, now = map(_describe_outcome, (expected.outcome, actual.outcome))
            message = f"{now}, where the replay {recorded}"
        elif _encode_reward(actual.reward) != _encode_reward(expected.reward):
            message = f"the reward is {actual.reward:g}, the replay has {expected.reward:g}"
        elif actual.state != expected.state:
            message = "another state than the replay has"
        else:
            return None
        return Difference(step, f"step {step}: {message}{self._version_note()}")

    def _version_note(self) -> str:
        if self.engine == __version__:
            return ""
        return f" (played with GV Engine {self.engine}, this is {__version__})"


def _close_with_checksum(body: bytes) -> bytes:
    return body + _CHECKSUM + b'"%s"\n}\n' % sha256(body).hexdigest().encode()


def _encode_reward(reward: float) -> float | str:
    return reward if math.isfinite(reward) else str(reward)


def _describe_outcome(outcome: str) -> str:
    return f"is {outcome}" if outcome else "goes on"


def _shorten_message(error: Exception) -> str:
    message = f"there is no {error}" if isinstance(error, KeyError) else str(error)
    return " ".join(message.split())[:120]


def _parse_replay(content: Any) -> Replay:
    """Return the replay given by the parsed JSON `content`, an untrusted value.

    Raises:
        KeyError, TypeError, ValueError: the values are no replay.
    """
    if content["format"] != _FORMAT:
        raise ValueError(f"its format is {_get_text(content, 'format')!r}, expected {_FORMAT!r}")
    scenario = content["scenario"]
    steps = [_parse_step(*entry) for entry in content["steps"]]
    outcome = _get_text(content, "outcome")
    if outcome not in OUTCOMES:
        raise ValueError(f"its outcome is {outcome!r}")
    if steps:
        steps[-1] = steps[-1]._replace(outcome=outcome)
    seed = content["seed"]
    if type(seed) is not int or seed < 0:
        raise ValueError(f"its seed is {seed!r}")
    domain, text = _get_text(scenario, "domain"), _get_text(scenario, "text")
    text.encode()  # it may become a file
    name, digest = check_line(scenario["name"], "name"), check_digest(scenario["digest"])
    identity = ScenarioIdentity(domain, name, digest, text)
    settings = content["settings"]
    if not isinstance(settings, dict):
        raise ValueError(f"its settings are {settings!r}")
    start, engine, variant = (_get_text(content, name) for name in ("start", "engine", "variant"))
    return Replay(identity, seed, start, tuple(steps), engine, settings, variant)


def _parse_step(action: Any, reward: Any, state: Any) -> TimelineStep:
    if not isinstance(action, str) or not isinstance(state, str):
        raise TypeError("a step is an action, a reward and a state")
    return TimelineStep(action, float(reward), "", state)


def _get_text(content: Any, name: str) -> str:
    if not isinstance(content[name], str):
        raise TypeError(f"{name!r} is no text")
    return str(content[name])
