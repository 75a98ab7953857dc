"""Indices of object types: equal for equal scenarios, whatever else the process has loaded.

The engine's types come first, then the types of the scenario's rule files, folder by folder in the
order in which the scenario names them, then the types that it declares in text. Members of a
mixture are numbered together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from pathlib import Path

from gv_engine.rules.modules import INLINE_TYPES_PREFIX, is_engine_module
from gv_engine.rules.objects import OBJECT_TYPES, ObjectType
from gv_engine.scenario import rule_modules
from gv_engine.scenario.document import Document
from gv_engine.scenario.fields import YamlNode
from gv_engine.scenario.trust import is_file_reference, is_module_name

MAX_MODULES = 100
"""Modules that a scenario may name at most."""
_NO_REFERENCES = ("name", "description", "map", "maps")
"""Keys whose values are not searched for references."""


@dataclass(frozen=True)
class TypeIds:
    """Type indices of one scenario, or of several that are played together.

    Attributes:
        packages: package of the rule modules, by folder of rule files.
        text_types: index of each type that is declared in text, by (module, name).
    """

    packages: Mapping[Path, str] = field(default_factory=dict)
    text_types: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def assign(cls, documents: Sequence[Document]) -> TypeIds:
        """Return the type indices of documents that are played together; imports the modules that
        they name."""
        files: dict[Path, dict[Path, None]] = {}
        modules: list[str] = []
        for document in documents:
            nodes = list_referring_nodes(document.root)
            references = chain.from_iterable(map(iter_references, nodes))
            for where in [*dict(references)][:MAX_MODULES]:
                if document.trust.explain_refusal(document.folder, where):
                    continue
                with suppress(rule_modules.RuleFileError):  # reported by the resolver
                    if is_file_reference(where):
                        file = rule_modules.resolve_rule_file(document.folder / where)
                        files.setdefault(file.parent, {})[file] = None
                    else:
                        modules.append(rule_modules.import_module(where).__name__)
        names = set().union(*map(_list_possible_names, documents))
        offset, before, first = 0, -1, len(OBJECT_TYPES.built_in)
        while offset != before:  # imports of rule files may declare types too
            before, end, packages = offset, offset, {}
            for folder, rule_files in files.items():
                packages[folder] = rule_modules.make_package_name(rule_files, end)
                rule_modules.forget_changed_package(packages[folder])
                with suppress(ImportError):
                    import_module(packages[folder])
                end += len(OBJECT_TYPES.of_package(packages[folder]))
            others = [kind.index for kind in OBJECT_TYPES if _may_be_named(kind, modules, names)]
            if any(first + offset <= index < first + end for index in others):
                offset = max(others) + 1 - first
        texts = dict.fromkeys(chain.from_iterable(map(_iter_text_types, documents)))
        free = max([first + end, *(index + 1 for index in others)])
        return cls(packages, {kind: free + k for k, kind in enumerate(texts)})


def iter_references(node: YamlNode) -> Iterator[tuple[str, str]]:
    """Yield (file or module, reference) of all texts at or below a node that may be references."""
    for text in _iter_texts(node):
        where, colon, name = text.rpartition(":")
        if colon and name.isidentifier() and (is_file_reference(where) or is_module_name(where)):
            yield where, text


def make_text_module(node: YamlNode, folder: Path) -> str:
    """Return the module name of the types that a scenario declares in text: a hash of their
    declaration.

    Equal declarations of several scenarios so give the same types.

    Args:
        node: the declarations.
        folder: folder that their references are relative to.
    """
    content = json.dumps(node.plain, default=str)
    home = str(folder.resolve()) if ".py:" in content else ""
    return INLINE_TYPES_PREFIX + rule_modules.hash_text(f"{home} {content}".encode())[:16]


def _iter_text_types(document: Document) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of the types that a document declares in text."""
    entries = document.root.value
    node = entries.get("objects") if isinstance(entries, dict) else None
    if node is not None and isinstance(node.value, dict):
        module = make_text_module(node, document.folder)
        yield from ((module, name) for name in node.value)


def _may_be_named(kind: ObjectType, modules: Sequence[str], names: set[str]) -> bool:
    """Return True if a type that no scenario declares may be one that these scenarios name."""
    return not is_engine_module(kind.module) and (kind.module in modules or kind.name in names)


def _list_possible_names(document: Document) -> set[str]:
    """Return all texts of a document that may name a type which another module declares."""
    texts = {text for node in list_referring_nodes(document.root) for text in _iter_texts(node)}
    return texts - {name for _, name in _iter_text_types(document)}


def list_referring_nodes(root: YamlNode) -> list[YamlNode]:
    """Return the values of the top-level keys that may contain references."""
    entries = root.value if isinstance(root.value, dict) else {}
    return [node for key, node in entries.items() if key not in _NO_REFERENCES]


def _iter_texts(node: YamlNode) -> Iterator[str]:
    """Yield all keys and scalars at or below a node."""
    if isinstance(node.value, dict):
        yield from node.value
        for below in node.value.values():
            yield from _iter_texts(below)
    elif isinstance(node.value, list):
        for below in node.value:
            yield from _iter_texts(below)
    else:
        yield node.text
