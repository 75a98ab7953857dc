"""Built-in scenarios by name, found without reading their YAML, and variants of a scenario file.

Variants are named overrides in one file, for levels that differ little, mostly in size.

    variants:
      5x5: {reset_function: {shape: [5, 5]}}
      9x9: {reset_function: {shape: [9, 9]}}

A variant is merged over the rest of the file. Its scenario is called `<scenario>-<variant>`, and
`file.yaml#9x9` refers to it. Without a variant's name, the file stands for its content without
variants, or for its first variant if that content is incomplete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from gv_engine.late_imports import find_plugins
from gv_engine.rules.errors import ScenarioError, describe_allowed
from gv_engine.scenario.storage.files import path_exists
from gv_engine.scenario.storage.resources import SCENARIOS
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode, make_unique, mapping, text
from gv_engine.scenario.syntax.json_schema import VARIANT, Key

# ---- merging -------------------------------------------------------------------------------------

Entries = Mapping[str, YamlNode]

_MAPS = {"map", "maps", "levels"}
_LEVELS = _MAPS | {"room", "reset_function"}
"""Keys that define the level; a scenario has one of them."""
_MAP_OPTIONS = {"legend", "symmetries"}

_NAME_KEYS = "name", "object", "scenario"  # keys that name an entry of a list


def merge_over(below: YamlNode, above: YamlNode) -> YamlNode:
    """Return a scenario with the entries of `above` written over those of `below`, as when the file
    `above` extends the file `below`.

    Raises:
        FieldError: one of them is no mapping, or an item that shall be removed does not exist.
    """
    entries, overrides = dict(mapping(below)), dict(mapping(above))
    # a level is either a map or built by a function
    for level in _LEVELS & overrides.keys():
        replaced = {*_LEVELS, *(() if level in _MAPS else _MAP_OPTIONS)} - {level}
        entries = {key: node for key, node in entries.items() if key not in replaced}
    for part in (entries, overrides):
        if "parameters" in part and isinstance(part["parameters"].value, dict):
            parameters = part["parameters"].value
            declared = {name: _as_mapping(node, "default") for name, node in parameters.items()}
            part["parameters"] = replace(part["parameters"], value=declared)
    return replace(below, value=_merge_entries(entries, overrides))


def _merge_entries(below: Entries, above: Entries) -> dict[str, YamlNode]:
    """Merge two YAML mappings; entries of `above` win. A null in `above` removes a mapping or list
    of `below`."""
    merged = dict(below)
    for key, node in above.items():
        if key not in below:
            merged[key] = node
        elif node.value is None and isinstance(below[key].value, dict | list):
            del merged[key]
        else:
            merged[key] = _merge_value(key, below[key], node)
    return merged


def _merge_value(key: str, below: YamlNode, above: YamlNode) -> YamlNode:
    """Merge the values of one key. If `above` is a mapping, it changes single entries of the list
    or mapping `below`. Any other value replaces `below`."""
    if not isinstance(above.value, dict):
        return above
    if isinstance(below.value, list):
        return replace(below, value=_merge_items(below.value, above.value))
    if key.endswith("_function"):
        below = _as_mapping(below, "name")
    if not isinstance(below.value, dict):
        return above
    # a mission is not named by its `object`
    if key != "mission" and _has_other_name(below.value, above.value):
        return above
    return replace(below, value=_merge_entries(below.value, above.value))


def _has_other_name(below: Entries, above: Entries) -> bool:
    return any(
        key in below and key in above and below[key].text != above[key].text for key in _NAME_KEYS
    )


def _merge_items(below: list[YamlNode], above: Entries) -> list[YamlNode]:
    """Change a YAML list by a mapping from item names to values. A value changes the item of that
    name or adds a new one, and a null removes it."""
    items = index_by_name(below)
    for name, node in above.items():
        if node.value is None:
            if name not in items:
                raise node.error(f"no {name!r} to remove{describe_allowed(name, items)}")
            del items[name]
        elif not isinstance(node.value, dict):
            hint = "expected a mapping of changes, or nothing to remove it"
            raise node.error(f"found {node.summary}, {hint}")
        elif name not in items:
            name_node = replace(node, value=name, text=name)
            value = {"name": name_node, **node.value}
            items[name] = replace(node, value=value) if node.value else name_node
        elif node.value:
            item = _as_mapping(items[name], "name")
            items[name] = replace(item, value=_merge_entries(mapping(item), node.value))
    return list(items.values())


def index_by_name(nodes: list[YamlNode]) -> dict[str, YamlNode]:
    """Return the items of a YAML list by name. A second item of the same name gets the suffix
    `_2`."""
    names = []
    for node in nodes:
        entries = mapping(_as_mapping(node, "name"))
        values = [entries[key] for key in _NAME_KEYS if key in entries]
        names.append(values[0].text.rpartition(":")[2] if values else "")
    return dict(zip(make_unique(names), nodes, strict=True))


def _as_mapping(node: YamlNode, key: str) -> YamlNode:
    return node if isinstance(node.value, dict) else replace(node, value={key: node})


def iter_differences(before: YamlNode, after: YamlNode, path: str = "") -> Iterator[str]:
    """Yield a line of text for each difference between two scenarios. `path` is the key path of the
    two YAML nodes."""
    old, new = (
        index_by_name(node.value) if isinstance(node.value, list) else node.value
        for node in (before, after)
    )
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            inner_path = f"{path}.{key}" if path else key
            if key not in old:
                yield f"{inner_path}: {new[key].summary} is new"
            elif key not in new:
                yield f"{inner_path}: {old[key].summary} is left out"
            else:
                yield from iter_differences(old[key], new[key], inner_path)
    elif before.plain != after.plain:
        yield f"{path}: {before.summary}, now {after.summary}"


# ---- variants ------------------------------------------------------------------------------------

VARIANTS = "variants"
VARIANTS_KEY = Key(
    "Changes of this file, by name of the variant.", schema.map_of(VARIANT, minProperties=1)
)
_RESET = "reset_function"
_LEVEL_SOURCES = {"map", "maps", "room", _RESET}
"""Keys that define the level; for the last one, its arguments are compared too."""
_NAME = re.compile(r"[\w.-]+")
_BLOCK = re.compile(rf"^{VARIANTS}:.*\n((?: .*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^  ([\w.-]+):", re.MULTILINE)


def find_variant_names(text: str) -> list[str]:
    """Return the names of the variants (named settings) in the `text` of a built-in scenario file,
    found without parsing YAML."""
    block = _BLOCK.search(text)
    return _ENTRY.findall(block[1]) if block else []


def read_variant_names(root: YamlNode) -> tuple[str, ...]:
    """Return the names under the key `variants` of a scenario file, in order; () without that key.
    A variant is a named set of changes to the scenario.

    Raises:
        FieldError: `variants` is no mapping, is empty, or has an invalid name.
    """
    if VARIANTS not in (entries := mapping(root)):
        return ()
    variants = mapping(entries[VARIANTS])
    if not variants:
        raise entries[VARIANTS].error("found nothing, expected a mapping from names to changes")
    for name, node in variants.items():
        if not _NAME.fullmatch(name):
            raise node.error(f"found the name {name!r}, expected letters, digits, '-', '_', '.'")
    return tuple(variants)


def _has_complete_variant(entries: dict[str, YamlNode]) -> bool:
    """Return True if a scenario file is playable without choosing a variant: it has all maps, rooms
    and reset arguments, at least together with one variant that adds none."""
    arguments = _list_keys(entries.get(_RESET))
    return any(
        variant.keys() & _LEVEL_SOURCES <= entries.keys()
        and _list_keys(variant.get(_RESET)) <= arguments
        for variant in map(mapping, mapping(entries[VARIANTS]).values())
    )


def _list_keys(node: YamlNode | None) -> set[str]:
    return set(node.value) if node and isinstance(node.value, dict) else set()


def select_variant(
    root: YamlNode, name: str, allows_none: bool = False
) -> tuple[YamlNode, tuple[str, ...], str]:
    """Apply the variant `name`, a named set of changes, to a scenario file. Return the merged
    scenario, the names of all variants, and the chosen name. With `allows_none`, the name ""
    applies none.

    Args:
        root: the whole scenario.
        name: name of the variant; "" for none, or for the first one if the rest is incomplete.
        allows_none: True to select no variant for "", and to keep the scenario's name.

    Raises:
        FieldError: there is no such variant, or a variant is malformed.
    """
    names = read_variant_names(root)
    if not (names or name):
        return root, names, name
    if not (name or allows_none or _has_complete_variant(mapping(root))):
        name = names[0]
    if name and name not in names:
        hint = describe_allowed(name, names) or "; the file has no variants"
        raise YamlNode(None, line=root.line).error(f"no variant {name!r}{hint}")
    entries = mapping(root).copy()
    variants = mapping(entries.pop(VARIANTS))
    if not name:
        return replace(root, value=entries), names, name
    if "name" in entries and not allows_none:
        full_name = f"{text(entries['name'])}-{name}"
        entries["name"] = YamlNode(full_name, "name", entries["name"].line, full_name)
    return merge_over(replace(root, value=entries), variants[name]), names, name


GALLERY = SCENARIOS / "gallery"
"""Folder of small scenarios that show one idea each, for authors to copy."""
MULTI_AGENT = SCENARIOS / "together"
"""Folder of the scenarios of several agents."""
PUZZLES = SCENARIOS / "puzzles"
"""Folder of the packs of puzzles."""
COURSE = ("tutorial", "puzzles-easy", "puzzles-normal", "puzzles-hard", "medley-7x7")
"""Scenarios in the order in which a new player meets them, from first steps to random levels."""
_SUFFIXES = (".yaml", ".yml")
FOLDER_FILE = "scenario.yaml"
"""File of a scenario that is a folder."""
_OTHER_FILES = {
    ".npz": "a snapshot, not a scenario; continue it with `gv-engine play --from {}`",
    ".gvreplay": "a replay, not a scenario; watch it with `gv-engine replay {}`",
    ".tmx": "a map of Tiled, which has no rules; write a scenario with rules and `levels: {}`",
    ".tmj": "a map of Tiled in JSON; save it as .tmx in Tiled",
    ".py": "Python, not a scenario; name its folder, or the YAML file beside it",
    **dict.fromkeys((".png", ".gif", ".jpg", ".svg", ".mp4"), "a picture, not a scenario"),
    ".tsx": "a tileset of Tiled; name the map, a .tmx file",
    ".tsj": "a tileset of Tiled; name the map, a .tmx file",
    ".ldtk": "a project of LDtk; let LDtk save its levels for Tiled, as .tmx",
    ".csv": "a table; save a map of Tiled as .tmx, or write a character per cell",
    ".ssx": "a library of SokoSolve; save its levels as .xsb or .slc",
}
"""Messages about files that are no scenarios, by suffix."""
_SIZE = re.compile(r"\d+x\d+|easy|normal|hard")
_VERSIONED_ID = re.compile(r".+-v\d+")
"""Pattern of environment ids with a version, such as those of MiniGrid."""
ID_VERSIONS: Mapping[str, int] = {}
"""Version of the Gymnasium id of each built-in scenario whose id is no longer at v0, by name;
docs/versions.md says when to raise it."""


class ScenarioRef(NamedTuple):
    """File and variant of a scenario.

    Attributes:
        file: the YAML file.
        variant: name of the variant, see `gv_engine.scenario.library`; "" for the first one, or if
            there is only one.
    """

    file: Path
    variant: str = ""

    @classmethod
    def parse(cls, path: Path) -> ScenarioRef:
        """Split a path such as `file.yaml#9x9` into file and variant. Without `#` there is no
        variant. The file need not exist."""
        name, mark, variant = path.name.rpartition("#")
        if name and mark and not path_exists(path):
            return cls(path.with_name(name), variant)
        return cls(path)

    def __str__(self) -> str:
        return f"{self.file}#{self.variant}" if self.variant else str(self.file)


RefsByName = MappingProxyType[str, ScenarioRef]
"""File and variant of scenarios, by name."""


@cache
def list_built_in_grids() -> RefsByName:
    """Return file and variant of each built-in gridworld scenario with one agent, by name.

    The built-in files are listed once in a process.
    """
    packs = sorted(_list_folder(PUZZLES).items(), key=lambda pack: COURSE.index(pack[0]))
    own = _list_folder(SCENARIOS) | _list_folder(GALLERY) | dict(packs)
    return MappingProxyType(own | list_plugin_grids())


@cache
def list_multi_agent_grids() -> RefsByName:
    """Return the built-in grid scenarios of several agents by name; they have no Gymnasium ids."""
    return MappingProxyType(_list_folder(MULTI_AGENT))


def _list_folder(folder: Path) -> dict[str, ScenarioRef]:
    files = {path.stem: path for suffix in ("yaml", "txt") for path in folder.glob(f"*.{suffix}")}
    folders = {path.parent.name: path for path in folder.glob(f"*/{FOLDER_FILE}")}
    return list_scenarios(files | folders)


@cache
def list_plugin_grids() -> RefsByName:
    """Return the built-in grid scenarios that need a plugin, by name."""
    grids: dict[str, ScenarioRef] = {}
    for folder, group in find_plugin_scenario_folders().items():
        grids |= _list_folder_variants(group, folder)
    return MappingProxyType(grids)


def find_plugin_scenario_folders() -> dict[Path, str]:
    """Return all folders of scenarios that need a plugin, as a dict from folder to the heading
    under which its scenarios are listed."""
    return {
        SCENARIOS / folder: group
        for plugin in find_plugins()
        for group, folder in plugin.levels.items()
    }


def _list_folder_variants(name: str, folder: Path) -> RefsByName:
    files = sorted(folder.glob("*.yaml"))
    refs = (item for file in files for item in list_scenarios({name: file}).items())
    return MappingProxyType({name: ref for name, ref in refs if ref.variant})


def list_scenarios(files: Mapping[str, Path]) -> dict[str, ScenarioRef]:
    """Return the built-in scenarios in these files by name, with one entry for each variant of a
    file. The files' YAML is not fully parsed.

    Args:
        files: the files by name.
    """
    return {
        "-".join(filter(None, (name, variant))): ScenarioRef(file, variant)
        for name, file in sorted(files.items())
        for variant in find_variant_names(file.read_text(encoding="utf-8")) or [""]
    }


def add_whole_files(refs: Mapping[str, ScenarioRef]) -> dict[str, ScenarioRef]:
    """Return `refs` with additional entries: each file with several variants is included under its
    own name too."""
    files = {
        name.removesuffix(f"-{ref.variant}"): ScenarioRef(ref.file)
        for name, ref in refs.items()
        if ref.variant and not _VERSIONED_ID.fullmatch(name)
    }
    return files | dict(refs)


def gym_id(name: str) -> str:
    """Return the environment id under which Gymnasium knows the built-in scenario `name`.

    >>> gym_id("dynamic-obstacles-5x5")
    'GV-DynamicObstacles-5x5-v0'
    >>> gym_id("MiniGrid-DoorKey-5x5-v0")
    'GV-MiniGrid-DoorKey-5x5-v0'
    """
    if _VERSIONED_ID.fullmatch(name):
        return f"GV-{name}"
    parts = name.split("-")
    sizes = [part for part in parts if _SIZE.fullmatch(part)]
    words = "".join(part[:1].upper() + part[1:] for part in parts if part not in sizes)
    return "-".join(["GV", words, *sizes, f"v{ID_VERSIONS.get(name, 0)}"])


def find_other_file(path: Path) -> str:
    """Return a message about a file with the suffix of a snapshot, a replay, or a file of another
    editor; "" for other files."""
    description = _OTHER_FILES.get(path.suffix.lower(), "")
    return f"{path} is {description.format(path)}" if description else ""


def find_ref(source: str | Path, refs: Mapping[str, ScenarioRef] | None = None) -> ScenarioRef:
    """Return the file and variant that `source` selects: a name in `refs`, a Gymnasium id, or a
    path such as `file.yaml#9x9`.

    Args:
        source: a name, a Gymnasium id, a file or a folder; `file.yaml#9x9` for a variant, and
            `sokoban#3` for a level of a pack.
        refs: the scenarios that names may refer to; if left out, all grids, those of several
            agents included.

    Raises:
        ScenarioError: there is no such scenario; the message suggests the nearest name.
    """
    if not isinstance(source, str | os.PathLike):
        raise ScenarioError(f"scenario={source!r}: expected a name, a file or a mapping")
    refs = list_built_in_grids() | list_multi_agent_grids() if refs is None else refs
    return _find_named_ref(source, refs) or _find_file_ref(source, refs)


def _find_named_ref(source: str | Path, refs: Mapping[str, ScenarioRef]) -> ScenarioRef | None:
    """Find a scenario in `refs` by its name, its Gymnasium id, or the name of a level in a pack.
    None if there is none."""
    if isinstance(source, str) and source in refs:
        return refs[source]
    pack, _, number = str(source).partition("#")
    for name, ref in add_whole_files(refs).items():
        if source in (name, gym_id(name)):
            return ref
        if number and pack in (name, gym_id(name)) and not ref.variant:
            return ScenarioRef(ref.file, number)
    return None


def _find_file_ref(source: str | Path, refs: Mapping[str, ScenarioRef]) -> ScenarioRef:
    """Return the file and variant of a path such as `file.yaml#9x9`. Raise ScenarioError if there
    is no such file or it is no scenario; the message suggests a similar name in `refs`."""
    path, variant = ScenarioRef.parse(Path(source))
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:  # the name is too long
        raise ScenarioError([f"{path}: {error.strerror}"]) from None
    if is_folder:
        if not (path / FOLDER_FILE).is_file():
            raise ScenarioError([f"{path}: the folder has no {FOLDER_FILE}{_suggest_file(path)}"])
        return ScenarioRef(path / FOLDER_FILE, variant)
    if exists:
        if message := find_other_file(path):
            raise ScenarioError([message])
        return ScenarioRef(path, variant)
    pack, _, number = str(source).partition("#")
    if number and not path.is_symlink() and pack in {*refs, *map(gym_id, refs)}:
        fault = f"no variant {number!r}; {pack} has none, leave out #{number}"
        raise ScenarioError([f"{source}: {fault}"])
    raise _missing_file_error(path, refs)


def _missing_file_error(path: Path, refs: Iterable[str]) -> ScenarioError:
    """Return the error for a `path` that does not exist and is no scenario's name either. It
    suggests a similar name among `refs`."""
    if path.is_symlink():
        fault = f"{path} is a link to {path.readlink()}, which does not exist"
        return ScenarioError([fault])
    if len(path.parts) > 1 or path.suffix in _SUFFIXES:
        if not path.parent.is_dir():
            return ScenarioError([f"{path}: there is no folder {path.parent}"])
        return ScenarioError([f"{path}: no such file{_suggest_file(path.parent, path.name)}"])
    names = {name: name for name in refs}
    names |= {file.parent.name: file.parent.name for file in Path().glob(f"*/{FOLDER_FILE}")}
    names |= {file.stem: file.name for file in Path().glob("*") if file.suffix in _SUFFIXES}
    return no_scenario_error(path.name, names)


def no_scenario_error(name: str, names: Mapping[str, str]) -> ScenarioError:
    """Return an error that there is no scenario called `name`, which suggests the most similar
    names. `names` maps each known name to the text that the error suggests for it."""
    similar = [names[match] for match in get_close_matches(name, names, cutoff=0.5)]
    hint = f"; did you mean {similar[0]!r}? (near: {', '.join(similar)})" if similar else ""
    return ScenarioError([f"{name}: no scenario of this name{hint}; `gv-engine list` shows all"])


def _suggest_file(folder: Path, name: str = "") -> str:
    files = sorted(path.name for path in folder.glob("*") if path.suffix in _SUFFIXES)
    return describe_allowed(name, files, "there are")
