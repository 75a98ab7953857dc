"""The catalogue of levels: built-in ones and those in a folder, to be listed and searched.

>>> [entry.title for entry in built_in_entries() if entry.group == "Four rooms"]
['four-rooms-7x7', 'four-rooms-9x9']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast

from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.document import MAX_SCENARIO_BYTES, read_file
from gv_engine.scenario.fields import mapping
from gv_engine.scenario.files import read_bytes
from gv_engine.scenario.library import (
    COURSE,
    FOLDER_FILE,
    GALLERY,
    MINIGRID,
    MULTI_AGENT,
    PUZZLES,
    ScenarioRef,
    find_ref,
)
from gv_engine.scenario.loading import read_scenario
from gv_engine.scenario.packs import PackLevel, is_pack
from gv_engine.scenario.plugin import DOMAINS, list_built_in_names, list_playable_scenarios
from gv_engine.scenario.resources import SCENARIOS
from gv_engine.scenario.trust import Consent, Trust, split_options
from gv_engine.scenario.variants import find_variant_names
from gv_engine.session.episode import Playable

# ---- searching -----------------------------------------------------------------------------------

_PART = re.compile(r"[^\W_]+")
_LIKE = 0.75
"""How alike a mistyped word is at least, as `difflib` has it."""
_MISTYPED = 3
"""The rank of what fits but for slips."""
_SHORTEST = 4
"""Letters of a word that may be mistyped; shorter ones are like too many."""

T = TypeVar("T")


def search(query: str, things: Iterable[T], said: Callable[[T], tuple[str, str]]) -> list[T]:
    """The things that fit, the best first, else in their order; mistyped words count where nothing
    has them as they are.

    Args:
        query: words, of which each has to be there.
        things: to search in.
        said: the name of a thing, and a text about it.

    >>> search("keydor 5", ["keydoor-5x5", "keydoor-7x7", "empty-5x5"], lambda name: (name, ""))
    ['keydoor-5x5']
    """
    words = query.lower().split()
    every = list(things)
    ranks = [_rank(words, *said(thing)) for thing in every]
    found = [(rank, thing) for rank, thing in zip(ranks, every, strict=True) if rank is not None]
    typed = [pair for pair in found if pair[0] < _MISTYPED] or found
    return [thing for _, thing in sorted(typed, key=lambda pair: pair[0])]


def _rank(words: Sequence[str], name: str, text: str) -> int | None:
    """The less the better; None if it does not fit."""
    name, text = name.lower(), f"{name} {text}".lower()
    if all(word in name for word in words):
        return 0 if name.startswith(words[0] if words else "") else 1
    if all(word in text for word in words):
        return 2
    parts = _PART.findall(text)
    return _MISTYPED if all(word in text or _is_like(word, parts) for word in words) else None


def _is_like(word: str, parts: Sequence[str]) -> bool:
    return len(word) >= _SHORTEST and bool(get_close_matches(word, parts, 1, _LIKE))


# ---- catalogue -----------------------------------------------------------------------------------

_SIZE = re.compile(r"-(\d+x\d+|easy|normal|hard)(?=$|-v\d+$)")
_GROUPS = {PUZZLES: "Puzzles", GALLERY: "Gallery", MINIGRID: "MiniGrid", MULTI_AGENT: "Together"}
"""What all levels of a folder stand under."""
_SCENARIO = re.compile(r"^(map|reset_function|transition_functions|mixture|domain):", re.MULTILINE)
_PACK = re.compile(rb"^levels:", re.MULTILINE)
_MOST = 200  # files of each kind in a folder that are looked into


class Entry:
    """One scenario that can be played; read when it is asked for more than its name.

    Args:
        source: what `load_playable` takes.
        group: what it stands under.
        missing: how to get what it needs and is not installed; empty if nothing is.
        level: of a pack, if it is one.

    Attributes:
        title: what it is called.
    """

    def __init__(
        self, source: str, group: str, missing: str = "", level: PackLevel | None = None
    ) -> None:
        self.source, self.group, self.missing, self.level = source, group, missing, level
        path, variant = ScenarioRef.parse(Path(source))
        name = path.parent.name if path.name == FOLDER_FILE else path.stem
        named = "-".join(filter(None, (name, variant)))
        self.title = f"{named} {level.title}".strip() if level else named

    @cached_property
    def scenario(self) -> Playable:
        """The scenario, to be shown: nobody has named it yet.

        Raises:
            TrustError: it runs Python of its own.
            ScenarioError: all that is wrong with it.
        """
        return look_at(self.source, "a list")

    @cached_property
    def levels(self) -> tuple[Entry, ...]:
        """Those of a pack; none of what is no pack, or cannot be read."""
        try:
            place = find_ref(self.source, list_playable_scenarios())
            text = read_bytes(place.file, MAX_SCENARIO_BYTES, "scenario files")
            told = is_pack(place.file, text) or _PACK.search(text)
            found = read_file(place).levels if told and not place.variant else ()
        except (ScenarioError, OSError):
            return ()
        return tuple(
            Entry(f"{self.source}#{number}", self.group, level=level)
            for number, level in enumerate(found, 1)
        )

    @property
    def description(self) -> str:
        """What its file says about it.

        Raises:
            ScenarioError: it is no such file.
        """
        entries = mapping(read_file(find_ref(self.source)).root)
        return entries["description"].text if "description" in entries else ""


def load_playable(source: str | Path, **options: Any) -> Playable:
    """A scenario of any domain of worlds that somebody names, by name or file.

    Args:
        source: its name, file or folder.
        options: as for `load_scenario`.

    Raises:
        ScenarioError: all that is wrong with it, there is no such scenario, or a library that
            its domain needs is missing.
    """
    return read_playable(source, *split_options(options))


def look_at(source: str | Path, referrer: str | Path, **consent: Unpack[Consent]) -> Playable:
    """A scenario that something else refers to, as `load_playable` has it.

    Raises:
        TrustError: it runs Python of its own, and there is no `trust=True`.
        ScenarioError: see `load_playable`.
    """
    return read_playable(source, Trust.from_options(**consent).for_reference(referrer), {})


def read_playable(source: str | Path, trust: Trust, settings: Mapping[str, Any]) -> Playable:
    """A scenario as `load_playable` has it, that may run so much Python, by these settings."""
    try:
        return cast(Playable, read_scenario(source, trust, settings=settings))
    except ModuleNotFoundError as error:
        raise ScenarioError([str(error)]) from None


def says(source: str, text: str) -> bool:
    """Whether a scenario file holds a text; nothing of it is run."""
    try:
        return Path(source).is_file() and read_file(ScenarioRef(Path(source))).text == text
    except (ScenarioError, OSError):
        return False


def source_of(scenario: Playable) -> str:
    """What `load_playable` takes to get a scenario again, wherever Python is started."""
    file, document = scenario.source, scenario.document
    if file is None or file.is_relative_to(SCENARIOS):
        if not document.pack_level:
            return scenario.name
        return f"{scenario.name.removesuffix(f'-{document.variant}')}#{document.variant}"
    return str(scenario.document.ref)


def built_in_entries() -> list[Entry]:
    """The scenarios that come with the engine, kind by kind."""
    entries: list[Entry] = []
    for domain in DOMAINS.values():
        levels, missing = domain.playable, domain.missing_message
        found = list(levels)
        own = {
            name: group
            for folder, group in _GROUPS.items()
            for name, level in levels.items()
            if level.file.is_relative_to(folder)
        }
        kinds = {_SIZE.sub("", name) for name in found if name not in own}
        of_domain = [Entry(name, own.get(name) or _group(name, kinds), missing) for name in found]
        entries += sorted(of_domain, key=lambda entry: (entry.group, found.index(entry.source)))
    return entries


def with_levels(entries: Iterable[Entry]) -> list[Entry]:
    """Entries, behind each that is a pack those of its levels."""
    return [each for entry in entries for each in (entry, *entry.levels)]


def beside_in_pack(scenario: Playable, step: int) -> Playable | None:
    """The level of a pack so many levels after another one, or what comes after the pack if that is
    one of the engine's `COURSE`; None if there is none.

    Raises:
        ScenarioError: it cannot be read any more.
    """
    document = scenario.document
    if not document.pack_level or document.source is None:
        return None
    number = int(document.variant) + step
    if 1 <= number <= len(document.levels):
        source = str(ScenarioRef(document.source, str(number)))
        return read_playable(source, document.trust, document.settings)
    pack = document.source.stem
    if number < 1 or document.source.parent != PUZZLES or pack not in COURSE:
        return None
    following = COURSE[COURSE.index(pack) + 1]
    is_pack_too = bool(Entry(following, "").levels)
    return read_playable(f"{following}#1" if is_pack_too else following, document.trust, {})


def in_pack(scenario: Playable, name: str) -> Playable | None:
    """The level of a pack that has a name, such as `sokoban-3`; None if the scenario has none.

    Raises:
        ScenarioError: it cannot be read any more.
    """
    document, number = scenario.document, name.removeprefix(f"{scenario.name}-")
    if document.variant or document.source is None:
        return None
    if number not in map(str, range(1, len(document.levels) + 1)):
        return None
    source = str(ScenarioRef(document.source, number))
    return read_playable(source, document.trust, document.settings)


def kin(name: str) -> list[str]:
    """The built-in scenarios that differ from one of them in size or difficulty only, with itself.

    >>> kin("empty-8x8")
    ['empty-4x4', 'empty-8x8']
    """
    kind, known = _SIZE.sub("", name), list_built_in_names()
    return [other for other in known if _SIZE.sub("", other) == kind] if name in known else []


def next_of_kin(name: str) -> str:
    """The one of its `kin` that comes after a scenario.

    Raises:
        ScenarioError: it has no other.
    """
    others = kin(name)
    if len(others) < 2:
        raise ScenarioError(["This level has no other size or difficulty"])
    return others[(others.index(name) + 1) % len(others)]


def _group(name: str, domains: Iterable[str]) -> str:
    """The shortest domain that the name belongs to: memory-four-rooms is a kind of memory."""
    own = _SIZE.sub("", name)
    domain = min((f for f in domains if own == f or own.startswith(f"{f}-")), key=len)
    return domain.replace("-", " ").capitalize()


def in_folder(folder: Path) -> list[Entry]:
    """Scenario files in a folder, and in the folders in it that hold a `scenario.yaml`."""
    try:
        packs = filter(is_pack, folder.iterdir())
        found = (folder.glob("*.y*ml"), folder.glob(f"*/{FOLDER_FILE}"), packs)
        files = [file for each in found for file in sorted(each)[:_MOST]]
    except OSError:
        return []
    sources = [str(level) for file in files for level in _levels(file)]
    return [Entry(source, "In this folder") for source in sources[:_MOST]]


def _levels(file: Path) -> list[ScenarioRef]:
    """The levels in a file: a scenario, its variants, or none."""
    try:
        text = read_bytes(file, MAX_SCENARIO_BYTES, "scenario files").decode()
    except (OSError, UnicodeDecodeError):
        text = ""
    told = is_pack(file) or (file.suffix in (".yaml", ".yml") and _SCENARIO.search(text))
    if not told and file.name != FOLDER_FILE:
        return []
    return [ScenarioRef(file, variant) for variant in find_variant_names(text) or [""]]
