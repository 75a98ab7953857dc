"""Catalogue of built-in scenarios and of those in a folder, with search.

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

from gv_engine.play.session.episode import Playable
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario import library
from gv_engine.scenario.documents.document import MAX_SCENARIO_BYTES, read_file
from gv_engine.scenario.documents.loading import read_scenario
from gv_engine.scenario.documents.trust import Consent, Trust, split_options
from gv_engine.scenario.levels.level_files import LevelFiles, PackLevel, find_level_number
from gv_engine.scenario.levels.packs import is_pack
from gv_engine.scenario.library import COURSE, FOLDER_FILE, GALLERY, PUZZLES, ScenarioRef, find_ref
from gv_engine.scenario.plugin import DOMAINS, list_built_in_names, list_playable_scenarios
from gv_engine.scenario.storage.files import read_bytes
from gv_engine.scenario.storage.resources import SCENARIOS
from gv_engine.scenario.syntax.fields import mapping

# ---- searching -----------------------------------------------------------------------------------

_PART = re.compile(r"[^\W_]+")
_SIMILARITY = 0.75  # least `difflib` similarity of a mistyped word
_TYPO_RANK = 3  # rank of a match with typing errors
_MIN_TYPO_LENGTH = 4  # least number of letters of a mistyped word; shorter words resemble too many

T = TypeVar("T")


def search(query: str, items: Iterable[T], describe: Callable[[T], tuple[str, str]]) -> list[T]:
    """Return those of `items` that match all words of `query`, the best match first; `describe`
    gives name and description of an item.

    Mistyped words match only if nothing matches exactly.

    Args:
        query: words that must all match.
        items: items to search.
        describe: returns name and description of an item.

    >>> search("keydor 5", ["keydoor-5x5", "keydoor-7x7", "empty-5x5"], lambda name: (name, ""))
    ['keydoor-5x5']
    """
    words = query.lower().split()
    ranked = [(_rank(words, *describe(item)), item) for item in items]
    matches = [(rank, item) for rank, item in ranked if rank is not None]
    best = [pair for pair in matches if pair[0] < _TYPO_RANK] or matches
    return [item for _, item in sorted(best, key=lambda pair: pair[0])]


def _rank(words: Sequence[str], name: str, text: str) -> int | None:
    """Return how well an item with this name and description `text` matches `words`: 0 for the best
    match, then 1, 2 and 3; None for no match."""
    name, text = name.lower(), f"{name} {text}".lower()
    if all(word in name for word in words):
        return 0 if name.startswith(words[0] if words else "") else 1
    if all(word in text for word in words):
        return 2
    parts = _PART.findall(text)
    return _TYPO_RANK if all(word in text or _is_like(word, parts) for word in words) else None


def _is_like(word: str, parts: Sequence[str]) -> bool:
    return len(word) >= _MIN_TYPO_LENGTH and bool(get_close_matches(word, parts, 1, _SIMILARITY))


# ---- catalogue -----------------------------------------------------------------------------------

_SIZE = re.compile(r"-(\d+x\d+|easy|normal|hard)(?=$|-v\d+$)")
# Group of all scenarios in a folder
_GROUPS = {
    PUZZLES: "Puzzles",
    GALLERY: "Gallery",
    library.MINIGRID: "MiniGrid",
    **library.list_plugin_folders(),
    library.MULTI_AGENT: "Together",
}
_SCENARIO = re.compile(
    r"^(extends|map|reset_function|transition_functions|mixture|domain):", re.MULTILINE
)
_NAME = re.compile(r"^name: *([\"']?)([^\"'#\n]*[^\"'#\s])\1 *(#.*)?$", re.MULTILINE)
_PACK = re.compile(rb"^levels:", re.MULTILINE)
_MAX_FILES = 200  # files of each kind in a folder that are looked into


class Entry:
    """Entry of the level list: a playable scenario, which is loaded on first access.

    Args:
        source: argument for `load_playable`.
        group: heading in the list.
        missing: how to install a missing library; empty if nothing is missing.
        level: level of a pack, if it is one.

    Attributes:
        title: name in the list.
    """

    def __init__(
        self, source: str, group: str, missing: str = "", level: PackLevel | None = None
    ) -> None:
        """Make an entry for `source`, a name or path for `load_playable`, under the heading
        `group`. `missing` tells how to install a library that the scenario lacks, "" for none."""
        self.source, self.group, self.missing, self.level = source, group, missing, level
        path, variant = ScenarioRef.parse(Path(source))
        name = path.parent.name if path.name == FOLDER_FILE else path.stem
        match = _NAME.search(_read_text(path)) if path.suffix in (".yaml", ".yml") else None
        name = match[2] if match and match[2].isprintable() else name
        title = "-".join(filter(None, (name, variant)))
        self.title = f"{title} {level.title}".strip() if level else title

    @cached_property
    def scenario(self) -> Playable:
        """The loaded scenario, for a preview; an error is raised if it has Python code of its own.

        Raises:
            TrustError: the scenario runs Python of its own.
            ScenarioError: all errors of the scenario.
        """
        return load_referenced(self.source, "a list")

    @cached_property
    def levels(self) -> tuple[Entry, ...]:
        """Entries for the levels of a pack, a file with several levels; () if the entry is no pack
        or cannot be read."""
        try:
            place = find_ref(self.source, list_playable_scenarios())
            if place.variant:
                return ()
            text = read_bytes(place.file, MAX_SCENARIO_BYTES, "scenario files")
            is_pack_file = is_pack(place.file, text) or _PACK.search(text)
            levels = read_file(place).levels if is_pack_file else ()
        except (ScenarioError, OSError):
            return ()
        if isinstance(levels, LevelFiles):  # too many for a list
            return ()
        return tuple(
            Entry(f"{self.source}#{number}", self.group, level=level)
            for number, level in enumerate(levels, 1)
        )

    @property
    def description(self) -> str:
        """Description in the scenario file; "" if the file has none.

        Raises:
            ScenarioError: the file is no scenario file.
        """
        entries = mapping(read_file(find_ref(self.source)).root)
        return entries["description"].text if "description" in entries else ""


def load_playable(source: str | Path, **options: Any) -> Playable:
    """Return the scenario that `source`, a name, file or folder, stands for; it may be of any
    domain (grids, algebra …). `options` are as for `load_scenario`.

    Args:
        source: name, file or folder.
        options: as for `load_scenario`.

    Raises:
        ScenarioError: all errors of the scenario; it does not exist, or a library of its domain is
            missing.
    """
    return read_playable(source, *split_options(options))


def load_referenced(source: str | Path, origin: str | Path, **consent: Unpack[Consent]) -> Playable:
    """Return the scenario `source` that a list or file called `origin` refers to. Its own Python
    runs only with `trust=True`, as the user has not named it.

    Raises:
        TrustError: the scenario runs Python of its own, and there is no `trust=True`.
        ScenarioError: see `load_playable`.
    """
    return read_playable(source, Trust.from_options(**consent).for_reference(origin), {})


def read_playable(source: str | Path, trust: Trust, settings: Mapping[str, Any]) -> Playable:
    """Return the scenario that `source` names; `trust` says which Python it may run, and `settings`
    are values of its parameters."""
    try:
        return cast(Playable, read_scenario(source, trust, settings=settings))
    except ModuleNotFoundError as error:
        raise ScenarioError([str(error)]) from None


def is_scenario_text(source: str, text: str) -> bool:
    """Return whether the scenario file `source` has exactly the content `text`; no Python of the
    scenario runs."""
    try:
        return Path(source).is_file() and read_file(ScenarioRef(Path(source))).text == text
    except (ScenarioError, OSError):
        return False


def source_of(scenario: Playable) -> str:
    """Return the name or path with which `load_playable` loads this scenario again, also in another
    process."""
    file, document = scenario.source, scenario.document
    if file is None or file.is_relative_to(SCENARIOS):
        if not document.pack_level:
            return scenario.name
        return f"{scenario.name.removesuffix(f'-{document.variant}')}#{document.variant}"
    return str(scenario.document.ref)


def built_in_entries() -> list[Entry]:
    """Return an entry of the level list for each built-in scenario, sorted by domain (grids,
    algebra …) and heading."""
    entries: list[Entry] = []
    for domain in DOMAINS.values():
        levels, missing = domain.playable, domain.missing_message
        names = list(levels)
        own_groups = {
            name: group
            for folder, group in _GROUPS.items()
            for name, level in levels.items()
            if level.file.is_relative_to(folder)
        }
        kinds = {_SIZE.sub("", name) for name in names if name not in own_groups}
        of_domain = [
            Entry(name, own_groups.get(name) or _heading_of(name, kinds), missing) for name in names
        ]
        entries += sorted(of_domain, key=lambda entry: (entry.group, names.index(entry.source)))
    return entries


def with_pack_levels(entries: Iterable[Entry]) -> list[Entry]:
    """Return list entries in which each pack of levels is followed by its levels."""
    return [item for entry in entries for item in (entry, *entry.levels)]


def find_level_at_offset(scenario: Playable, step: int) -> Playable | None:
    """Return the level `step` places after `scenario` in its pack (file of levels). After the last
    level of a built-in pack comes the scenario that `COURSE`, the order for new players, lists
    next. Return None if there is no such level.

    Raises:
        ScenarioError: the level can no longer be read.
    """
    document = scenario.document
    if not document.pack_level or document.source is None:
        return None
    number = int(document.variant) + step
    if 1 <= number <= len(document.levels):
        source = str(ScenarioRef(document.source, str(number)))
        return read_playable(source, document.trust, document.settings)
    following = _next_in_course(document.source) if number > 0 else ""
    if not following:
        return None
    is_pack_too = bool(Entry(following, "").levels)
    return read_playable(f"{following}#1" if is_pack_too else following, document.trust, {})


def is_last_level(scenario: Playable) -> bool:
    """Return True if `scenario` is the last level of its pack (file of levels), and no scenario
    follows the pack in `COURSE`, the order for new players."""
    document = scenario.document
    if not document.pack_level or document.source is None:
        return False
    return int(document.variant) == len(document.levels) and not _next_in_course(document.source)


def _next_in_course(file: Path) -> str:
    if file.parent != PUZZLES or file.stem not in COURSE:
        return ""
    return COURSE[COURSE.index(file.stem) + 1]


def pack_level_named(scenario: Playable, name: str) -> Playable | None:
    """Return the level called `name`, such as `sokoban-3`, of the pack `scenario`, a file of
    levels; None if there is no such level or `scenario` is no pack.

    Raises:
        ScenarioError: the level can no longer be read.
    """
    document, number = scenario.document, name.removeprefix(f"{scenario.name}-")
    if document.variant or document.source is None:
        return None
    if not find_level_number(number, document.levels):
        return None
    source = str(ScenarioRef(document.source, number))
    return read_playable(source, document.trust, document.settings)


def size_variants(name: str) -> list[str]:
    """Return the names of the built-in scenarios that differ from the one called `name` only in
    size or difficulty, `name` included.

    >>> size_variants("empty-8x8")
    ['empty-4x4', 'empty-8x8']
    """
    kind, names = _SIZE.sub("", name), list_built_in_names()
    return [other for other in names if _SIZE.sub("", other) == kind] if name in names else []


def next_size_variant(name: str) -> str:
    """Return the name of the scenario that follows `name` among its versions of other size or
    difficulty; the first one follows the last.

    Raises:
        ScenarioError: the scenario has no other size or difficulty.
    """
    names = size_variants(name)
    if len(names) < 2:
        raise ScenarioError(["This level has no other size or difficulty"])
    return names[(names.index(name) + 1) % len(names)]


def _heading_of(name: str, prefixes: Iterable[str]) -> str:
    own = _SIZE.sub("", name)
    prefix = min((p for p in prefixes if own == p or own.startswith(f"{p}-")), key=len)
    return prefix.replace("-", " ").capitalize()


def folder_entries(folder: Path) -> list[Entry]:
    """Return entries of the level list for the scenario files and level packs in `folder`, and for
    its subfolders that contain a `scenario.yaml`."""
    try:
        packs = filter(is_pack, folder.iterdir())
        groups = folder.glob("*.y*ml"), folder.glob(f"*/{FOLDER_FILE}"), packs
        files = [file for group in groups for file in sorted(group)[:_MAX_FILES]]
    except OSError:
        return []
    sources = [str(level) for file in files for level in _scenario_refs(file)]
    return [Entry(source, "In this folder") for source in sources[:_MAX_FILES]]


def _read_text(file: Path) -> str:
    """Return the text of a scenario file; "" if it cannot be read."""
    try:
        return read_bytes(file, MAX_SCENARIO_BYTES, "scenario files").decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _scenario_refs(file: Path) -> list[ScenarioRef]:
    """Return references to the scenario in `file`, or to each of its variants (named versions) if
    it has some; [] if the file is no scenario."""
    text = _read_text(file)
    is_scenario = is_pack(file) or (file.suffix in (".yaml", ".yml") and _SCENARIO.search(text))
    if not is_scenario and file.name != FOLDER_FILE:
        return []
    return [ScenarioRef(file, variant) for variant in library.find_variant_names(text) or [""]]
