"""Variants: one scenario file for several levels that differ in little, mostly in size.

    variants:
      5x5: {reset_function: {shape: [5, 5]}}
      9x9: {reset_function: {shape: [9, 9]}}

What a variant says goes over what the file says, see `gv_engine.reading.merging`. Its name is that
of the scenario with its own behind it, and `file.yaml#9x9` leads to it from elsewhere. The file
alone is what it says without any of them, or its first variant, if each of them adds to what a
level begins with.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gv_engine.reading.forms import VARIANT, Key, mapped
from gv_engine.reading.merging import over
from gv_engine.reading.values import Wrong, YamlNode, instead, mapping, word

VARIANTS = "variants"
VARIANTS_KEY = Key(
    "Settings with names, each of which says what it does otherwise than the file.",
    mapped(VARIANT, minProperties=1),
)
_RESET = "reset_function"
_BEGINNINGS = ("map", "maps", "room", _RESET)
"""Keys one of which a level begins with; with the last of them, its arguments count."""
_NAME = re.compile(r"[\w.-]+")
_BLOCK = re.compile(rf"^{VARIANTS}:.*\n((?: .*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^  ([\w.-]+):", re.MULTILINE)


def names_in(text: str) -> list[str]:
    """Names of the variants of a file of ours, found without reading it as YAML."""
    block = _BLOCK.search(text)
    return _ENTRY.findall(block[1]) if block else []


def names_of(root: YamlNode) -> tuple[str, ...]:
    """Names of the variants of a scenario, in its order; mostly ().

    Raises:
        Wrong: they are no mapping, there are none in it, or a name is none.
    """
    if VARIANTS not in (entries := mapping(root)):
        return ()
    variants = mapping(entries[VARIANTS])
    if not variants:
        raise Wrong(
            entries[VARIANTS], "found nothing, expected a mapping from names to what differs"
        )
    for name, node in variants.items():
        if not _NAME.fullmatch(name):
            raise Wrong(node, f"found the name {name!r}, expected letters, digits, '-', '_', '.'")
    return tuple(variants)


def _is_whole(entries: dict[str, YamlNode]) -> bool:
    """Return True if one of the variants, at least, adds nothing to what a level begins with."""
    return any(
        all(
            key in entries and (key != _RESET or _keys(part) <= _keys(entries[key]))
            for key, part in mapping(variant).items()
            if key in _BEGINNINGS
        )
        for variant in mapping(entries[VARIANTS]).values()
    )


def _keys(node: YamlNode) -> set[str]:
    return set(node.value) if isinstance(node.value, dict) else set()


def chosen(
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
    names = names_of(root)
    if not (names or wanted):
        return root, names, wanted
    if not (wanted or plain or _is_whole(mapping(root))):
        wanted = names[0]
    if wanted and wanted not in names:
        others = instead(wanted, names) or "; there are none in it"
        raise Wrong(YamlNode(None, line=root.line), f"no variant {wanted!r}{others}")
    entries = mapping(root).copy()
    variant = mapping(entries.pop(VARIANTS)).get(wanted, root)
    if not wanted:
        return replace(root, value=entries), names, wanted
    if "name" in entries and not plain:
        named = f"{word(entries['name'])}-{wanted}"
        entries["name"] = YamlNode(named, "name", entries["name"].line, named)
    return over(replace(root, value=entries), variant), names, wanted
