"""Replays: an episode as a file that can be played again and checked, step by step.

The file is JSON, one line for each step, and its last line is a checksum over all bytes before it.
It runs no code: it names its scenario, and who opens it says where that is.
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
from gv_engine.rules.errors import GVEngineError, shorten
from gv_engine.rules.geometry import WAIT
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.document import ScenarioIdentity, read_text
from gv_engine.scenario.files import (
    atomic_write,
    check_digest,
    check_line,
    format_bytes,
    is_file_name,
    parse_json,
    read_bytes,
)
from gv_engine.scenario.layout import RNG
from gv_engine.scenario.library import ScenarioRef, add_whole_files
from gv_engine.scenario.loading import get_domain
from gv_engine.scenario.plugin import list_playable_scenarios
from gv_engine.scenario.trust import Trust
from gv_engine.session.catalogue import in_pack, read_playable, says
from gv_engine.session.episode import Playable

# ---- row digest ----------------------------------------------------------------------------------

_PLAIN = (
    "reward",
    "total",
    "steps",
    "error",
    "action",
    "free",
    "terminated",
    "truncated",
    "member",
)

_WAITED = 8
"""The number of `WAIT` when the first replays were kept, whose digests stay what they are."""


def row_digest(row: NDArray[Any], types: ObjectTypes) -> str:
    """16 hexadecimal digits that stand for a world.

    Args:
        row: () array of a `Layout.dtype`.
        types: of the layout.
    """
    digest = sha256()

    def say(name: str, values: Any) -> None:
        array = np.asarray(values)
        wide = array.astype("<f8" if array.dtype.kind == "f" else "<i8")
        digest.update(f"{name} {wide.shape} ".encode())
        digest.update(wide.tobytes())

    for name in RNG.names or ():
        say(name, row["rng"][name].view(np.int64))
    for name in _PLAIN:
        values = row[name][1:].squeeze() if row[name].ndim else row[name]
        say(name, np.where(values == WAIT, _WAITED, values) if name == "action" else values)
    if row["done"].size > 2:  # of one agent the world says it
        say("done", row["done"][1:])
    for name in ("at", "ground"):
        if name in (row.dtype.names or ()):
            say(name, row[name][: row["height"], : row["width"]])
    say("alive", np.flatnonzero(row["alive"]))
    for name in row.dtype.names or ():
        fields = row[name].dtype.names
        if fields and "has" in fields:
            having = np.flatnonzero(row[name]["has"])
            say(name, having)
            for field in fields[1:]:
                values = row[name][field][having]
                if (name, field) == ("kind", "value"):
                    digest.update(_type_names(values, types).encode())
                else:
                    say(field, values)
    for name in ("placed", "recent"):
        table = row[name]
        found = np.flatnonzero(table)
        order = sorted((types[int(kind)].name, int(table[kind])) for kind in found)
        digest.update(f"{name} {order}".encode())
    return digest.hexdigest()[:16]


def _type_names(kinds: NDArray[Any], types: ObjectTypes) -> str:
    return " ".join(types[kind].name for kind in kinds.tolist())


# ---- brought -------------------------------------------------------------------------------------

_TRUST = replace(Trust.from_options(code=False), is_detached=True)


def brought(replay: Replay, folder: Path) -> Playable:
    """The scenario of a replay by its own text, which is kept as a file: for a replay that somebody
    has pasted, where nobody knows its scenario. No Python is run for it, and no file that it names
    is read; nothing is written before the text is known to be the scenario.

    Args:
        replay: with the text.
        folder: where the file goes, into a folder of its own.

    Raises:
        ReplayError: the text alone is not the scenario.
        OSError: the file cannot be written.
    """
    said = replay.scenario
    why = ""
    for name, variant in _variant_names(said.name):
        file = folder / check_digest(said.digest)[:16] / f"{name}.yaml"
        try:
            document = read_text(
                said.text.encode(), ScenarioRef(file, variant), _TRUST, replay.settings
            )
            found = cast(Playable, get_domain(document).plugin.read_scenario(document))
        except GVEngineError as error:
            why = f": {error}"
        else:
            if found.identity.digest == said.digest:
                if not says(str(file), said.text):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    with atomic_write(file) as draft:
                        draft.write_bytes(said.text.encode())
                return found
    raise ReplayError(
        f"a game of {shorten(said.name, 60)!r}, which is not known here, and its text alone is "
        f"not enough: it needs other files, or Python of its own{why}"
    )


def _variant_names(name: str) -> Iterator[tuple[str, str]]:
    """What the file may be called, and which of the levels or variants in it is meant."""
    stem, _, variant = name.rpartition("-")
    for file, inner in ((name, ""), (stem, variant)):
        if is_file_name(file):
            yield file, inner


# ---- replay --------------------------------------------------------------------------------------

SUFFIX = ".gvreplay"
LINE_BEGINS = "gv:"
"""What a replay as a line of text begins with."""
OUTCOMES = ("", "terminated", "truncated")

_FORMAT = "GV Engine replay 2"
_CHECKSUM = b',\n "checksum": '
_LARGEST = 2**22
"""Bytes of a file, about 100,000 steps."""


class ReplayError(GVEngineError):
    """A file that is no replay, is damaged, or belongs to another scenario; one line says it."""


class TimelineStep(NamedTuple):
    """A step that was taken."""

    action: str
    reward: float
    outcome: str
    """Empty, `terminated` or `truncated`."""
    state: str
    """Stands for the whole state after it, see `Episode.state`."""


class Difference(NamedTuple):
    """A difference between an episode and its replay, and where it is."""

    step: int
    """0 for the beginning."""
    message: str
    """What is different, in one line."""


@dataclass(frozen=True)
class Replay:
    """One episode.

    Attributes:
        scenario: which one it was played in.
        seed: of its level.
        start: stands for the state before the first step.
        steps: all of them.
        engine: version of GV Engine that played it.
        settings: values of the scenario's parameters that were set.
        variant: of its file in which they were set, "" for none.
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
        """The sum of the rewards."""
        return sum(taken.reward for taken in self.steps)

    @property
    def outcome(self) -> str:
        """How it ended: `terminated`, `truncated`, or empty if it was left."""
        return self.steps[-1].outcome if self.steps else ""

    # ---- files ---------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write it, whole or not at all.

        Raises:
            OSError: it cannot be written, or has more steps than a file holds.
        """
        data = self.to_bytes()
        if len(data) > _LARGEST:
            raise OSError(
                f"{path} cannot be written: {len(self.steps):,} steps are more than a replay holds"
            )
        with atomic_write(path) as draft:
            draft.write_bytes(data)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        head = {
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
            "  " + json.dumps([taken.action, _written(taken.reward), taken.state])
            for taken in self.steps
        )
        body = json.dumps(head, indent=1)[:-2] + f',\n "steps": [\n{steps}\n ]'
        return _sealed(body.encode())

    @classmethod
    def load(cls, path: Path) -> Replay:
        """Read a file.

        Raises:
            ReplayError: it is none, or any byte of it is not as it was written.
            OSError: it cannot be read.
        """
        data = read_bytes(path, _LARGEST, "replays")
        try:
            return cls.from_bytes(data)
        except ReplayError as error:
            raise ReplayError(f"{path}: {error}") from None

    def to_line(self) -> str:
        """The same as one line of text, to be pasted elsewhere."""
        return LINE_BEGINS + base64.urlsafe_b64encode(zlib.compress(self.to_bytes(), 9)).decode()

    @classmethod
    def from_line(cls, line: str) -> Replay:
        """The replay of a line that `to_line` has made.

        Raises:
            ReplayError: it is none, or not whole.
        """
        try:
            packed = base64.b64decode(line.strip().removeprefix(LINE_BEGINS), b"-_", validate=True)
            data = zlib.decompressobj().decompress(packed, _LARGEST + 1)
        except (ValueError, zlib.error):  # binascii's errors are ValueErrors
            raise ReplayError("no game, or not the whole line of one") from None
        return cls.from_bytes(data)

    @classmethod
    def from_bytes(cls, data: bytes) -> Replay:
        """The replay that a file holds.

        Raises:
            ReplayError: it is none, or any byte of it is not as it was written.
        """
        if len(data) > _LARGEST:
            raise ReplayError(f"larger than {format_bytes(_LARGEST)}, which no replay is")
        # before anything in it is believed
        if _sealed(data.rpartition(_CHECKSUM)[0]) != data:
            raise ReplayError("no replay, or a damaged one: its checksum does not fit the rest")
        try:
            return _understood(parse_json(data))
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ReplayError(
                f"not a replay as GV Engine {__version__} writes it: {_short(error)}"
            ) from None

    # ---- playing it again ----------------------------------------------------------------

    def find(self, among: Iterable[Playable] = ()) -> Playable:
        """The scenario that it was played in: a built-in one, or one of those given.

        Raises:
            ReplayError: there is none, or it has changed since.
            ScenarioError: the built-in one has no such parameters, or allows no such values.
        """
        name = self.scenario.name
        names = add_whole_files(list_playable_scenarios())
        named = name if name in names else name.rpartition("-")[0]  # a level of a pack
        if self.settings and self.variant:  # which is in no name of what has settings
            named = f"{name}-{self.variant}"
        known = [read_playable(named, Trust(), self.settings)] if named in names else []
        changed: Playable | None = None
        for found in chain(known, among):
            candidate = in_pack(found, name) or found
            if candidate.identity.digest == self.scenario.digest:
                return candidate
            if candidate.name == name:
                changed = changed or candidate
        if changed:
            self.check(changed)
        raise ReplayError(
            f"a replay of {name!r}, which is no built-in scenario; say which file or folder it is: "
            f"gv-engine replay … --scenario SCENARIO"
        )

    def check(self, scenario: Playable) -> None:
        """Make sure that it was played in a scenario.

        Raises:
            ReplayError: it was another one, or that has changed since.
        """
        if scenario.identity.digest == self.scenario.digest:
            return
        if scenario.name != self.scenario.name:
            raise ReplayError(f"a replay of {self.scenario.name!r}, not of {scenario.name!r}")
        raise ReplayError(
            f"a replay of {scenario.name!r}, which has changed since{self._other_engine()}"
        )

    def difference(
        self, step: int, found: TimelineStep | str, said: TimelineStep | str
    ) -> Difference | None:
        """What is different after a step, None if nothing is.

        Args:
            step: its number; 0 for the beginning.
            found: the step, or why there is none; for the beginning, the state.
            said: what the replay says.
        """
        if isinstance(said, str):
            if found == said:
                return None
            what = "another level"
        elif isinstance(found, str):
            what = f"{said.action}: {found}"
        elif found.outcome != said.outcome:
            what = f"{_end(found.outcome)}, where the replay {_end(said.outcome)}"
        elif _written(found.reward) != _written(said.reward):
            what = f"the reward is {found.reward:g}, the replay has {said.reward:g}"
        elif found.state != said.state:
            what = "another state than the replay has"
        else:
            return None
        return Difference(step, f"step {step}: {what}{self._other_engine()}")

    def _other_engine(self) -> str:
        if self.engine == __version__:
            return ""
        return f" (played with GV Engine {self.engine}, this is {__version__})"


def _sealed(body: bytes) -> bytes:
    """A text and its checksum."""
    return body + _CHECKSUM + b'"%s"\n}\n' % sha256(body).hexdigest().encode()


def _written(reward: float) -> float | str:
    return reward if math.isfinite(reward) else str(reward)


def _end(outcome: str) -> str:
    return f"is {outcome}" if outcome else "goes on"


def _short(error: Exception) -> str:
    missing = f"there is no {error}" if isinstance(error, KeyError) else str(error)
    return " ".join(missing.split())[:120]


def _understood(content: Any) -> Replay:
    """A replay out of values that may be anything.

    Raises:
        KeyError, TypeError, ValueError: they are no replay.
    """
    if content["format"] != _FORMAT:
        raise ValueError(f"its format is {_text(content, 'format')!r}, expected {_FORMAT!r}")
    said = content["scenario"]
    steps = [_step(*entry) for entry in content["steps"]]
    outcome = _text(content, "outcome")
    if outcome not in OUTCOMES:
        raise ValueError(f"its outcome is {outcome!r}")
    if steps:
        steps[-1] = steps[-1]._replace(outcome=outcome)
    seed = content["seed"]
    if type(seed) is not int or seed < 0:
        raise ValueError(f"its seed is {seed!r}")
    domain, text = _text(said, "domain"), _text(said, "text")
    text.encode()  # it may become a file
    name, digest = check_line(said["name"], "name"), check_digest(said["digest"])
    identity = ScenarioIdentity(domain, name, digest, text)
    settings = content["settings"]
    if not isinstance(settings, dict):
        raise ValueError(f"its settings are {settings!r}")
    start, engine, variant = (_text(content, name) for name in ("start", "engine", "variant"))
    return Replay(identity, seed, start, tuple(steps), engine, settings, variant)


def _step(action: Any, reward: Any, state: Any) -> TimelineStep:
    if not isinstance(action, str) or not isinstance(state, str):
        raise TypeError("a step is an action, a reward and a state")
    return TimelineStep(action, float(reward), "", state)


def _text(content: Any, name: str) -> str:
    if not isinstance(content[name], str):
        raise TypeError(f"{name!r} is no text")
    return str(content[name])
