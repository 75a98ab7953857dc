"""Variants: one scenario file for several levels that differ in little, mostly in size.

    variants:
      5x5: {reset_function: {shape: [5, 5]}}
      9x9: {reset_function: {shape: [9, 9]}}

What a variant says goes over what the file says, see `gv_engine.scenario.variants`. Its name is
that of the scenario with its own behind it, and `file.yaml#9x9` leads to it from elsewhere. The
file alone is what it says without any of them, or its first variant, if each of them adds to what a
level begins with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gv_engine.scenario.fields import FieldError, YamlNode, make_unique, mapping, suggestion, text
from gv_engine.scenario.json_schema import VARIANT, Key, map_of

# ---- merging -------------------------------------------------------------------------------------

Entries = Mapping[str, YamlNode]

_MAPS = {"map", "maps", "levels"}
_LEVELS = _MAPS | {"room", "reset_function"}
"""Of these, a level has one."""
_MAP_OPTIONS = {"legend", "symmetries"}

_NAME_KEYS = "name", "object", "scenario"
"""Keys by which an entry says what it is."""
_NOT_NAMED_BY_OBJECT = {"mission"}
"""Those whose `object` does not say what they are."""


def merge_over(below: YamlNode, above: YamlNode) -> YamlNode:
    """A scenario, with what another one says over it.

    Raises:
        Wrong: one is no mapping, or an item is taken out that is not there.
    """
    entries, said = dict(mapping(below)), dict(mapping(above))
    # a level is either drawn or built
    for level in _LEVELS & said.keys():
        other = {*_LEVELS, *(() if level in _MAPS else _MAP_OPTIONS)} - {level}
        entries = {key: node for key, node in entries.items() if key not in other}
    for known in (entries, said):
        if "parameters" in known and isinstance(known["parameters"].value, dict):
            parameters = known["parameters"].value
            declared = {name: _as_mapping(node, "default") for name, node in parameters.items()}
            known["parameters"] = replace(known["parameters"], value=declared)
    return replace(below, value=_merge_entries(entries, said))


def _merge_entries(below: Entries, above: Entries) -> dict[str, YamlNode]:
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
    if not isinstance(above.value, dict):
        return above
    if isinstance(below.value, list):
        return replace(below, value=_merge_items(below.value, above.value))
    if key.endswith("_function"):
        below = _as_mapping(below, "name")
    if not isinstance(below.value, dict):
        return above
    if key not in _NOT_NAMED_BY_OBJECT and _has_other_name(below.value, above.value):
        return above
    return replace(below, value=_merge_entries(below.value, above.value))


def _has_other_name(below: Entries, above: Entries) -> bool:
    return any(
        key in below and key in above and below[key].text != above[key].text for key in _NAME_KEYS
    )


def _merge_items(below: list[YamlNode], above: Entries) -> list[YamlNode]:
    """The items of a list, changed by their names."""
    found = index_by_name(below)
    for name, node in above.items():
        if node.value is None:
            if name not in found:
                raise FieldError(node, f"there is no {name!r} to take out{suggestion(name, found)}")
            del found[name]
        elif not isinstance(node.value, dict):
            hint = "expected a mapping of what differs, or nothing to take it out"
            raise FieldError(node, f"found {node.summary}, {hint}")
        elif name in found and node.value:
            item = _as_mapping(found[name], "name")
            found[name] = replace(item, value=_merge_entries(mapping(item), node.value))
        elif name not in found:
            new = replace(node, value=name, text=name)
            found[name] = replace(node, value={"name": new, **node.value}) if node.value else new
    return list(found.values())


def index_by_name(nodes: list[YamlNode]) -> dict[str, YamlNode]:
    """The items of a list, by what they name; of the same name, the second is `name_2`."""
    names = []
    for node in nodes:
        entries = mapping(_as_mapping(node, "name"))
        named = [entries[key] for key in _NAME_KEYS if key in entries]
        names.append(named[0].text.rpartition(":")[2] if named else "")
    return dict(zip(make_unique(names), nodes, strict=True))


def _as_mapping(node: YamlNode, key: str) -> YamlNode:
    """A mapping as it is; anything else as one with this key alone."""
    return node if isinstance(node.value, dict) else replace(node, value={key: node})


def iter_differences(before: YamlNode, after: YamlNode, path: str = "") -> Iterator[str]:
    """What one scenario says otherwise than another, a line each."""
    parts = [
        index_by_name(node.value) if isinstance(node.value, list) else node.value
        for node in (before, after)
    ]
    first, second = parts
    if isinstance(first, dict) and isinstance(second, dict):
        for key in (*first, *(key for key in second if key not in first)):
            place = f"{path}.{key}" if path else key
            if key not in first:
                yield f"{place}: {second[key].summary} is new"
            elif key not in second:
                yield f"{place}: {first[key].summary} is left out"
            else:
                yield from iter_differences(first[key], second[key], place)
    elif before.plain != after.plain:
        yield f"{path}: {before.summary}, now {after.summary}"


# ---- variants ------------------------------------------------------------------------------------

VARIANTS = "variants"
VARIANTS_KEY = Key(
    "Settings with names, each of which says what it does otherwise than the file.",
    map_of(VARIANT, minProperties=1),
)
_RESET = "reset_function"
_LEVEL_SOURCES = ("map", "maps", "room", _RESET)
"""Keys one of which a level begins with; with the last of them, its arguments count."""
_NAME = re.compile(r"[\w.-]+")
_BLOCK = re.compile(rf"^{VARIANTS}:.*\n((?: .*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^  ([\w.-]+):", re.MULTILINE)


def find_variant_names(text: str) -> list[str]:
    """Names of the variants of a file of ours, found without reading it as YAML."""
    block = _BLOCK.search(text)
    return _ENTRY.findall(block[1]) if block else []


def read_variant_names(root: YamlNode) -> tuple[str, ...]:
    """Names of the variants of a scenario, in its order; mostly ().

    Raises:
        Wrong: they are no mapping, there are none in it, or a name is none.
    """
    if VARIANTS not in (entries := mapping(root)):
        return ()
    variants = mapping(entries[VARIANTS])
    if not variants:
        raise FieldError(
            entries[VARIANTS], "found nothing, expected a mapping from names to what differs"
        )
    for name, node in variants.items():
        if not _NAME.fullmatch(name):
            raise FieldError(
                node, f"found the name {name!r}, expected letters, digits, '-', '_', '.'"
            )
    return tuple(variants)


def _has_complete_variant(entries: dict[str, YamlNode]) -> bool:
    """Return True if one of the variants, at least, adds nothing to what a level begins with."""
    return any(
        all(
            key in entries and (key != _RESET or _list_keys(part) <= _list_keys(entries[key]))
            for key, part in mapping(variant).items()
            if key in _LEVEL_SOURCES
        )
        for variant in mapping(entries[VARIANTS]).values()
    )


def _list_keys(node: YamlNode) -> set[str]:
    return set(node.value) if isinstance(node.value, dict) else set()


def select_variant(
    root: YamlNode, wanted: str, plain: bool = False
) -> tuple[YamlNode, tuple[str, ...], str]:
    """A scenario with what one of its variants says and without the others, the names of all, and
    that of the chosen one.

    Args:
        root: the whole.
        wanted: name of the variant; "" for none, or the first, if each adds what the rest lacks.
        plain: "" for none of them, and the scenario keeps its name.

    Raises:
        Wrong: there is none of that name, or one of them is no variant.
    """
    names = read_variant_names(root)
    if not (names or wanted):
        return root, names, wanted
    if not (wanted or plain or _has_complete_variant(mapping(root))):
        wanted = names[0]
    if wanted and wanted not in names:
        others = suggestion(wanted, names) or "; there are none in it"
        raise FieldError(YamlNode(None, line=root.line), f"no variant {wanted!r}{others}")
    entries = mapping(root).copy()
    variant = mapping(entries.pop(VARIANTS)).get(wanted, root)
    if not wanted:
        return replace(root, value=entries), names, wanted
    if "name" in entries and not plain:
        named = f"{text(entries['name'])}-{wanted}"
        entries["name"] = YamlNode(named, "name", entries["name"].line, named)
    return merge_over(replace(root, value=entries), variant), names, wanted
