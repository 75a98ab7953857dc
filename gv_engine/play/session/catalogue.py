"""Catalogue of built-in scenarios and of those in a folder, with search.

>>> [entry.title for entry in built_in_entries() if entry.group == "Four rooms"]
['four-rooms-7x7', 'four-rooms-9x9']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast

from gv_engine.play.session.episode import Playable
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario import library
from gv_engine.scenario.documents.document import MAX_SCENARIO_BYTES, Document, read_file
from gv_engine.scenario.documents.loading import read_scenario
from gv_engine.scenario.documents.trust import Consent, Trust, split_options
from gv_engine.scenario.domains import DOMAINS, list_built_in_names, list_playable_scenarios
from gv_engine.scenario.levels.level_files import LevelFiles, PackLevel, find_level_number
from gv_engine.scenario.levels.packs import is_pack
from gv_engine.scenario.library import COURSE, FOLDER_FILE, GALLERY, PUZZLES, ScenarioRef, find_ref
from gv_engine.scenario.storage.files import read_bytes
from gv_engine.scenario.storage.resources import SCENARIOS
from gv_engine.scenario.syntax.fields import mapping

# ---- searching -----------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")
_SIMILARITY = 0.75  # least `difflib` similarity of a mistyped word
_TYPO_RANK = 3  # rank of a match with typing errors
_MIN_TYPO_LENGTH = 4  # least number of letters of a mistyped word; shorter words resemble too many

T = TypeVar("T")


def search(query: str, items: Iterable[T], describe: Callable[[T], tuple[str, str]]) -> list[T]:
    """Return those of `items` that match all words of `query`, the best match first.

    Mistyped words match only if nothing matches exactly.

    Args:
        query: words that must all match.
        items: items to search.
        describe: returns name and description of an item.

    >>> search("keydor 5", ["keydoor-5x5", "keydoor-7x7", "empty-5x5"], lambda name: (name, ""))
    ['keydoor-5x5']
    """
    words = query.lower().split()
    ranked = [(_rank_match(words, *describe(item)), item) for item in items]
    matches = [(rank, item) for rank, item in ranked if rank is not None]
    exact_matches = [(rank, item) for rank, item in matches if rank < _TYPO_RANK]
    return [item for _, item in sorted(exact_matches or matches, key=itemgetter(0))]


def _rank_match(words: Sequence[str], name: str, description: str) -> int | None:
    """Return how well an item with this name and description matches `words`: 0 for the best match,
    then 1, 2 and 3; None for no match."""
    name, text = name.lower(), f"{name} {description}".lower()
    if all(word in name for word in words):
        return 0 if name.startswith(words[0] if words else "") else 1
    if all(word in text for word in words):
        return 2
    text_words = _WORD.findall(text)
    if all(word in text or _is_similar_to_any(word, text_words) for word in words):
        return _TYPO_RANK
    return None


def _is_similar_to_any(word: str, others: Sequence[str]) -> bool:
    return len(word) >= _MIN_TYPO_LENGTH and bool(get_close_matches(word, others, 1, _SIMILARITY))


# ---- catalogue -----------------------------------------------------------------------------------

_SIZE_SUFFIX = re.compile(r"-(\d+x\d+|easy|normal|hard)(?=$|-v\d+$)")
_NAME_OF_IDENTIFIER = re.compile(r"([A-Za-z]+)-(.+)-v\d+")  # of a Gymnasium environment
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Group of all scenarios in a folder
_GROUPS = {
    PUZZLES: "Puzzles",
    GALLERY: "Gallery",
    **library.find_plugin_scenario_folders(),
    library.MULTI_AGENT: "Together",
}
_SCENARIO = re.compile(
    r"^(extends|map|reset_function|transition_functions|mixture|domain):", re.MULTILINE
)
_NAME = re.compile(r"^name: *([\"']?)([^\"'#\n]*[^\"'#\s])\1 *(#.*)?$", re.MULTILINE)
_LEVELS_KEY = re.compile(rb"^levels:", re.MULTILINE)
_MAX_FILES = 200  # files of each kind in a folder that are looked into


def format_title(name: str) -> str:
    """Return the scenario's `name` as a title, if it is written like the name of a file.

    >>> [format_title(name) for name in ("puzzles-easy", "empty-4x4", "MiniGrid-GoToObject-v0")]
    ['Puzzles, easy', 'Empty 4×4', 'Go To Object (MiniGrid)']
    """
    if match := _NAME_OF_IDENTIFIER.fullmatch(name):
        return f"{_WORD_START.sub(' ', match[2].replace('-', ' '))} ({match[1]})"
    if name != name.lower() or " " in name:
        return name
    size = _SIZE_SUFFIX.search(name)
    words = re.sub("[-_]", " ", _SIZE_SUFFIX.sub("", name)).replace("keydoor", "key and door")
    suffix = size[1] if size else ""
    suffix = f" {suffix.replace('x', '×')}" if suffix[:1].isdigit() else f", {suffix}"
    return words[:1].upper() + words[1:] + suffix * bool(size)


def find_heading(scenario: Playable) -> tuple[str, str]:
    """Return the title of a level, and its place in the pack, such as `Tutorial, 3 of 6`; "" for
    none. A level whose title is a number has that of its pack."""
    document, level = scenario.document, scenario.document.pack_level
    if not level or not level.title:
        return format_title(scenario.name), ""
    pack, _, number = scenario.name.rpartition("-")
    count = f"{number} of {len(document.levels):,}"
    if level.title.isdecimal():
        return format_title(pack), count
    return level.title, f"{format_title(pack)}, {count}"


def find_goal_sentence(scenario: Playable) -> str:
    """Return the last sentence of the scenario's description; "" if frames show a mission."""
    return "" if scenario.mission_texts else _SENTENCE_END.split(scenario.description)[-1]


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
        self.source, self.group, self.missing, self.level = source, group, missing, level
        file, variant = ScenarioRef.parse(Path(source))
        title = "-".join(filter(None, (_read_name(file), variant)))
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
            ref = find_ref(self.source, list_playable_scenarios())
            if ref.variant:  # one of the levels or sizes in a file
                return ()
            content = read_bytes(ref.file, MAX_SCENARIO_BYTES, "scenario files")
            # a file of levels only, or a scenario that lists them
            has_levels = is_pack(ref.file, content) or _LEVELS_KEY.search(content)
            levels = read_file(ref).levels if has_levels else ()
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
        entries = mapping(read_entry(self.source).root)
        return entries["description"].text if "description" in entries else ""


def read_entry(source: str) -> Document:
    """Return the document of the scenario `source`, a name or file; nothing is built or run.

    Raises:
        ScenarioError: the file is no scenario file.
        OSError: the file cannot be read.
    """
    return read_file(find_ref(source, list_playable_scenarios()))


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
    if file is not None and not file.is_relative_to(SCENARIOS):
        return str(document.ref)
    if not document.pack_level:
        return scenario.name
    return f"{scenario.name.removesuffix(f'-{document.variant}')}#{document.variant}"


def is_for_agents(scenario: Playable) -> bool:
    """Return whether `scenario` comes with a plugin such as that of MiniGrid, whose levels are made
    for agents that turn."""
    file = scenario.source
    return file is not None and file.parent in library.find_plugin_scenario_folders()


def built_in_entries() -> list[Entry]:
    """Return an entry of the level list for each built-in scenario, sorted by domain (grids,
    algebra …) and heading."""
    entries: list[Entry] = []
    for domain in DOMAINS.values():
        headings = {name: _folder_heading(ref.file) for name, ref in domain.playable.items()}
        prefixes = {_SIZE_SUFFIX.sub("", name) for name in headings if not headings[name]}
        domain_entries = [
            Entry(name, heading or _name_heading(name, prefixes), domain.missing_message)
            for name, heading in headings.items()
        ]
        entries += sorted(domain_entries, key=attrgetter("group"))
    return entries


def _folder_heading(file: Path) -> str:
    headings = (group for folder, group in _GROUPS.items() if file.is_relative_to(folder))
    return next(headings, "")


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
    is_in_course = number > 0 and document.source.parent == PUZZLES
    next_name = next_in_course(document.source.stem) if is_in_course else ""
    if not next_name:
        return None
    has_levels = bool(Entry(next_name, "").levels)
    return read_playable(f"{next_name}#1" if has_levels else next_name, document.trust, {})


def is_last_level(scenario: Playable) -> bool:
    """Return True if `scenario` is the last level of its pack (file of levels)."""
    document = scenario.document
    return bool(document.pack_level) and int(document.variant) == len(document.levels)


def next_in_course(name: str) -> str:
    """Return the name of the scenario that follows `name` in `COURSE`, the order for new players;
    "" if there is none."""
    return dict(pairwise(COURSE)).get(name, "")


def pack_level_named(scenario: Playable, name: str) -> Playable | None:
    """Return the level called `name`, such as `sokoban-3`, of the pack `scenario`, a file of
    levels; None if there is no such level or `scenario` is no pack.

    Raises:
        ScenarioError: the level can no longer be read.
    """
    document, number = scenario.document, name.removeprefix(f"{scenario.name}-")
    if document.variant or document.source is None:
        return None  # a level, or no file
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
    kind, names = _SIZE_SUFFIX.sub("", name), list_built_in_names()
    return (
        [other for other in names if _SIZE_SUFFIX.sub("", other) == kind] if name in names else []
    )


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


def _name_heading(name: str, prefixes: Iterable[str]) -> str:
    """Return the shortest of `prefixes` with which `name` begins, as a heading."""
    base = _SIZE_SUFFIX.sub("", name)
    matching = (prefix for prefix in prefixes if f"{base}-".startswith(f"{prefix}-"))
    return min(matching, key=len).replace("-", " ").capitalize()


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


def _read_name(file: Path) -> str:
    """Return the name of the scenario in `file`: the one that it gives, if it is YAML, else that of
    the file or folder."""
    match = _NAME.search(_read_text(file)) if file.suffix in (".yaml", ".yml") else None
    if match and match[2].isprintable():
        return match[2]
    return file.parent.name if file.name == FOLDER_FILE else file.stem


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
