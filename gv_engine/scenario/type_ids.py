"""Indices of object types: the same for the same scenario, whatever else a process has loaded.

Those of the engine come first, then what the scenario's rule files declare, folder by folder in the
order in which it names them, then what it declares in text. Members of a mixture count together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from pathlib import Path

from gv_engine.rules.modules import TEXTS, is_engine_module
from gv_engine.rules.objects import OBJECT_TYPES, ObjectType
from gv_engine.scenario import rule_modules
from gv_engine.scenario.document import Document
from gv_engine.scenario.fields import YamlNode
from gv_engine.scenario.trust import is_file_reference, is_module_name

MAX_MODULES = 100
"""That a scenario may name."""
_NO_REFERENCES = ("name", "description", "map", "maps")
"""Keys below which nothing is looked up."""


@dataclass(frozen=True)
class TypeIds:
    """What the rule files and the types in text of one scenario, or of several together, become.

    Attributes:
        packages: by folder of rule files, the package of their modules.
        texts: by module and name, the indices of types in text.
    """

    packages: Mapping[Path, str] = field(default_factory=dict)
    text_types: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def assign(cls, documents: Sequence[Document]) -> TypeIds:
        """The numbering of documents that are played together; imports what they may name."""
        files: dict[Path, dict[Path, None]] = {}
        named: list[str] = []
        for document in documents:
            asked = chain.from_iterable(map(iter_references, list_referring_nodes(document.root)))
            for where in [*dict(asked)][:MAX_MODULES]:
                if document.trust.explain_refusal(document.folder, where):
                    continue
                with suppress(rule_modules.RuleFileError):  # told when it is asked for
                    if is_file_reference(where):
                        file = rule_modules.resolve_rule_file(document.folder / where)
                        files.setdefault(file.parent, {})[file] = None
                    else:
                        named.append(rule_modules.import_module(where).__name__)
        words = set().union(*map(_list_possible_names, documents))
        offset, before, first = 0, -1, len(OBJECT_TYPES.built_in)
        while offset != before:  # rule files may declare what they import from elsewhere
            before, end, packages = offset, offset, {}
            for folder, several in files.items():
                packages[folder] = rule_modules.make_package_name(several, end)
                rule_modules.forget_changed_package(packages[folder])
                with suppress(ImportError):
                    import_module(packages[folder])
                end += len(OBJECT_TYPES.of(packages[folder]))
            others = [kind.index for kind in OBJECT_TYPES if _may_be_named(kind, named, words)]
            if any(first + offset <= index < first + end for index in others):
                offset = max(others) + 1 - first
        texts = dict.fromkeys(chain.from_iterable(map(_iter_text_types, documents)))
        free = max([first + end, *(index + 1 for index in others)])
        return cls(packages, {kind: free + k for k, kind in enumerate(texts)})


def iter_references(node: YamlNode) -> Iterator[tuple[str, str]]:
    """(file or module, reference) of all references at or below a node, as far as there may be."""
    for text in _iter_texts(node):
        where, colon, name = text.rpartition(":")
        if colon and name.isidentifier() and (is_file_reference(where) or is_module_name(where)):
            yield where, text


def make_text_module(node: YamlNode, folder: Path) -> str:
    """The name of the module of types in text, after all that they say: equal types of several
    scenarios are the same ones, and others of the same name are none of their business.

    Args:
        folder: where their references start.
    """
    said = json.dumps(node.plain, default=str)
    home = str(folder.resolve()) if ".py:" in said else ""
    return TEXTS + rule_modules.hash_text(f"{home} {said}".encode())[:16]


def _iter_text_types(document: Document) -> Iterator[tuple[str, str]]:
    """Module and name of the types that a document declares in text."""
    top = document.root.value
    node = top.get("objects") if isinstance(top, dict) else None
    if node is not None and isinstance(node.value, dict):
        module = make_text_module(node, document.folder)
        yield from ((module, name) for name in node.value)


def _may_be_named(kind: ObjectType, modules: Sequence[str], words: set[str]) -> bool:
    """Whether a type that is no scenario's may be one of these scenarios' own."""
    return not is_engine_module(kind.module) and (kind.module in modules or kind.name in words)


def _list_possible_names(document: Document) -> set[str]:
    """What may be the name of a type that somebody has declared elsewhere."""
    words = {word for key in list_referring_nodes(document.root) for word in _iter_texts(key)}
    return words - {name for _, name in _iter_text_types(document)}


def list_referring_nodes(root: YamlNode) -> list[YamlNode]:
    """The top-level keys below which there may be references, known or not."""
    top = root.value if isinstance(root.value, dict) else {}
    return [node for key, node in top.items() if key not in _NO_REFERENCES]


def _iter_texts(node: YamlNode) -> Iterator[str]:
    if isinstance(node.value, dict):
        yield from node.value
        for below in node.value.values():
            yield from _iter_texts(below)
    elif isinstance(node.value, list):
        for below in node.value:
            yield from _iter_texts(below)
    else:
        yield node.text
