"""Scenario documents: files or mappings with bases, variants and parameters applied, not yet
interpreted."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from gv_engine.rules.errors import ScenarioError, escape_unprintable
from gv_engine.scenario import library
from gv_engine.scenario.documents import parameters
from gv_engine.scenario.documents.foreign_files import read_foreign_file
from gv_engine.scenario.documents.parameters import PARAMETERS, ScenarioParameter, apply_settings
from gv_engine.scenario.documents.rule_files import SourceFile, hash_text
from gv_engine.scenario.documents.trust import DEFAULT_TRUST, Trust, is_file_reference
from gv_engine.scenario.domains import list_playable_scenarios
from gv_engine.scenario.levels import packs
from gv_engine.scenario.levels.level_files import MAX_FILE_BYTES, LevelFiles, PackLevel
from gv_engine.scenario.levels.sokoban_files import decode_levels
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.storage.files import format_bytes, path_exists, read_bytes
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax.fields import ErrorCollector, FieldError, YamlNode
from gv_engine.scenario.syntax.json_schema import TEXT, Key, KeyTable
from gv_engine.scenario.syntax.yaml_parser import NodeBuilder, decode_utf8, parse_yaml

# ---- identity ------------------------------------------------------------------------------------


class ScenarioIdentity(NamedTuple):
    """Name and content hash of a scenario, by which replays and other files find it.

    Attributes:
        domain: name of its domain, such as `grid`.
        name: name of the scenario.
        digest: hexadecimal hash of its content, the Python files that it names included.
        text: source text, for people; a replay that a player pastes as text is loaded from it,
            without running Python code.
    """

    domain: str
    name: str
    digest: str
    text: str

    @classmethod
    def from_document(
        cls,
        domain: str,
        name: str,
        document: Document,
        changes: Mapping[str, Any],
        code: Iterable[SourceFile],
        members: Sequence[str] = (),
    ) -> ScenarioIdentity:
        """Return the identity of a scenario: its name and a hash of its content. `changes` are
        replaced keys, `code` the Python files used. The hash does not depend on where the files
        are.

        Args:
            domain, name: see the attributes.
            document: the document of the scenario.
            changes: values that were changed after the document was read.
            code: the Python files that the scenario uses.
            members: digests of the members, if the scenario is a mixture.
        """
        files = sorted((_portable_name(file.path, document.folder), file.digest) for file in code)
        plain = document.root.plain
        rules = {key: plain[key] for key in plain if key not in ("theme", "sprites")}  # no pictures
        parts = [name, rules, dict(changes), files, members]
        if isinstance(document.levels, LevelFiles) and not document.variant:
            parts.append(document.levels.digest)
        content = json.dumps(parts, sort_keys=True, default=str)
        return cls(domain, name, hash_text(content.encode()), document.text)


class ImmutableScenario:
    """Base class of scenarios; copying or deep-copying one returns the same object."""

    name: str
    beat: int = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _portable_name(path: Path, folder: Path) -> str:
    return path.name if path.parent != folder.resolve() else f"./{path.name}"


def list_watched_files(document: Document, code: Iterable[SourceFile]) -> tuple[Path, ...]:
    """Return the files that a running game watches for changes, sorted: the scenario's YAML and
    level files, all Python files beside them, and the imported Python files in `code`."""
    files = {file.path for file in code}
    for source in filter(None, (document.source, *(base.file for base in document.bases))):
        files.update((source, *source.parent.glob("*.py")))
    if isinstance(document.levels, LevelFiles):
        files.update(document.levels.files)
    else:
        files.update(Path(level.map.file) for level in document.levels if level.map.file)
    return tuple(sorted(files))


# ---- document ------------------------------------------------------------------------------------

MAX_SCENARIO_BYTES = 512 * 1024
"""Maximum size of a scenario file in bytes: twice the size of the largest map."""
EXTENDS = "extends"
FILE_KEYS: KeyTable = {
    EXTENDS: Key(
        "Scenario from which this one inherits: a built-in name, or a file or folder beside it.",
        TEXT,
    ),
    PARAMETERS: parameters.PARAMETERS_KEY,
    library.VARIANTS: library.VARIANTS_KEY,
    packs.LEVELS: packs.LEVELS_KEY,
}
"""Keys of all scenario files, whatever their domain."""
_MAX_BASES = 20
"""Maximum length of a chain of scenarios that extend each other."""


@dataclass(frozen=True)
class Document:
    """A scenario before its rules and maps are interpreted.

    Attributes:
        root: the whole scenario, merged with its bases, with values in place of parameters.
        label: name for messages.
        folder: the folder that relative names of rule files start from.
        source: the file, None for a mapping.
        problems: errors that did not stop the reading, such as duplicate keys.
        text: source text.
        trust: the Python code that the scenario may run.
        variants: names of all variants of the file, see `gv_engine.scenario.library`.
        variant: name of the selected variant; "" without one.
        parameters: the parameters, with their values.
        settings: values of the parameters that were set.
        bases: the files that it extends, the nearest first.
        changes_from_base: differences from the nearest base, one line each.
        levels: levels of its pack, whose numbers are the names of the variants; () without a pack.
            Of `LevelFiles`, only the selected level is among the variants.
        num_bytes: size of its file and of the files that it extends.
    """

    root: YamlNode
    label: str
    folder: Path
    source: Path | None = None
    problems: ErrorCollector | None = None
    text: str = ""
    trust: Trust = DEFAULT_TRUST
    variants: tuple[str, ...] = ()
    variant: str = ""
    parameters: tuple[ScenarioParameter, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    bases: tuple[ScenarioRef, ...] = ()
    changes_from_base: tuple[str, ...] = ()
    levels: Sequence[PackLevel] = ()
    num_bytes: int = 0

    @property
    def pack_level(self) -> PackLevel | None:
        """The selected level of the pack; None for a whole pack or without one."""
        return self.levels[int(self.variant) - 1] if self.levels and self.variant else None

    @property
    def default_name(self) -> str:
        """Name of a scenario whose file declares none: the name of the file or folder, and the
        chosen variant."""
        name = "scenario"
        if self.source is not None:
            folder = self.source.name == library.FOLDER_FILE
            name = self.source.parent.name if folder else self.source.stem
        variant = "" if self.settings and not self.levels else self.variant
        return escape_unprintable("-".join(filter(None, (name, variant))))

    @property
    def ref(self) -> ScenarioRef | None:
        """File and variant, None for a mapping."""
        return ScenarioRef(self.source, self.variant) if self.source else None

    @property
    def domain(self) -> str:
        """Name of the kind of environment that the file declares, `grid` if none; see
        `gv_engine.scenario.domains`."""
        entries = self.root.value
        domain = entries.get("domain") if isinstance(entries, dict) else None
        return "grid" if domain is None else domain.text

    def nested(self, node: YamlNode, settings: Mapping[str, Any]) -> Document:
        """Return a document for a scenario written inside this file, at the YAML node `node`.
        `settings` are values of its parameters by name.

        Raises:
            FieldError: the node is no mapping, or as for `read_file`.
            UnknownOptionError: as for `read_file`.
        """
        problems = ErrorCollector(self.label)
        inner = replace(
            self, root=node, problems=problems, text="", parameters=(), bases=(), num_bytes=0
        )
        return _finish_document(inner, "", settings, problems)

    def reload(self) -> Document:
        """Read the scenario file again and return the new document; return this one if it was not
        read from a file.

        Raises:
            ScenarioError: as for `read_file`.
        """
        return read_file(self.ref, self.trust, self.settings) if self.ref else self

    def with_settings(self, **settings: Any) -> Document:
        """Read the scenario file again with other values of its parameters, by name, and return the
        new document.

        Raises:
            ScenarioError: as for `read_file`.
        """
        settings = {**self.settings, **settings}
        if self.ref:
            return read_file(self.ref, self.trust, settings)
        return read_mapping(json.loads(self.text), self.folder, self.trust, settings)


def read_file(
    ref: ScenarioRef, trust: Trust = DEFAULT_TRUST, settings: Mapping[str, Any] | None = None
) -> Document:
    """Read and parse the YAML file of a scenario; if it has several variants (named settings) and
    `ref` names none, use the first.

    Args:
        ref: the file and the variant.
        trust: the Python code that the scenario may run.
        settings: values of its parameters, by name.

    Raises:
        ScenarioError: the file is missing, is not UTF-8, not YAML or no mapping, has no such
            variant, or extends such a file; an `UnknownOptionError` for a setting without a
            parameter.
    """
    return read_text(_read_bytes(ref), ref, trust, settings)


def read_text(
    raw: bytes,
    ref: ScenarioRef,
    trust: Trust = DEFAULT_TRUST,
    settings: Mapping[str, Any] | None = None,
) -> Document:
    """Parse a scenario from `raw`, the content of a file that need not exist on disk. `ref` gives
    its path and variant.

    Args:
        raw: the content, in UTF-8.
        ref: the file, which need not exist, and the variant.
        trust, settings: as for `read_file`.

    Raises:
        ScenarioError: as for `read_file`.
    """
    problems = ErrorCollector(str(ref.file))
    file = ref.file.absolute()
    document = Document(YamlNode(None, line=1), str(ref.file), file.parent, file, problems)
    try:
        if foreign := read_foreign_file(ref, raw, problems):
            document = replace(document, text=decode_levels(raw), trust=trust, num_bytes=len(raw))
            root, levels = foreign
            document = replace(document, root=root)
            variant = ref.variant or ("1" if levels else "")
            whole = _finish_document(document, variant, settings or {}, problems)
            return replace(whole, levels=levels)
        packs.check_text_file(document.root, ref.file, raw)
        pack = packs.is_pack(ref.file, raw)
        root = packs.wrap_in_scenario(ref.file, problems) if pack else parse_yaml(raw, problems)
        text = decode_levels(raw) if pack else decode_utf8(raw)
        document = replace(document, root=root, text=text, trust=trust, num_bytes=len(raw))
        return _finish_document(document, ref.variant, settings or {}, problems)
    except FieldError as error:
        raise problems.error_with(error) from None


def read_mapping(
    data: Mapping[str, Any],
    folder: Path,
    trust: Trust = DEFAULT_TRUST,
    settings: Mapping[str, Any] | None = None,
) -> Document:
    """Read a scenario from a Python mapping that has the same content as a scenario file. Relative
    paths in it start from `folder`.

    Args:
        data: the mapping.
        folder: the folder of its rule files.
        trust, settings: as for `read_file`.

    Raises:
        ScenarioError: the mapping holds a value that no scenario file can hold, or as for
            `read_file`.
    """
    problems = ErrorCollector("<mapping>")
    document = Document(YamlNode(None), "<mapping>", folder.absolute(), None, problems, trust=trust)
    try:
        root = NodeBuilder(problems).from_python(data, YamlNode(None))
        problems.raise_if_any()
        text = json.dumps(root.plain, indent=2)
        return _finish_document(
            replace(document, root=root, text=text), "", settings or {}, problems
        )
    except FieldError as error:
        raise problems.error_with(error) from None


def _read_bytes(ref: ScenarioRef) -> bytes:
    """Return the content of the scenario file that `ref` names; raise `ScenarioError` if the file
    cannot be read or is too large."""
    try:
        if packs.is_pack(ref.file):
            return read_bytes(ref.file, MAX_FILE_BYTES, "files of levels")
        return read_bytes(ref.file, MAX_SCENARIO_BYTES, "scenario files")
    except OSError as error:
        raise ScenarioError([str(error)]) from None


def _finish_document(
    document: Document, variant: str, settings: Mapping[str, Any], problems: ErrorCollector
) -> Document:
    """Complete a parsed document: merge in the files that it extends, choose `variant`, and replace
    its parameters by `settings`. Errors go to `problems`."""
    extended = _merge_base(document, (), problems, MAX_SCENARIO_BYTES)
    folder = document.folder if document.trust.can_name_files(document.folder) else None
    root = _resolve_level_path(extended.root, settings)
    root, levels = packs.expand_pack(root, folder, variant)
    # a scenario with set parameters is none of the named variants
    plain = bool(settings or levels)
    root, names, variant = library.select_variant(root, variant, allows_none=plain)
    label = ScenarioRef(document.source, variant) if document.source else document.label
    root, parameters = apply_settings(root, settings, problems, str(label))
    return replace(
        extended,
        root=root,
        settings=dict(settings),
        variants=names,
        variant=variant,
        parameters=parameters,
        levels=levels,
    )


def _resolve_level_path(root: YamlNode, settings: Mapping[str, Any]) -> YamlNode:
    """Replace `levels: $name` in a scenario by the value of that parameter, and return the
    scenario. Level files are needed before other parameters. A path in `settings` is relative to
    the working directory, a default to the scenario's folder."""
    entries = fields.mapping(root)
    node, declared = entries.get(packs.LEVELS), entries.get(PARAMETERS)
    if not (node and declared and isinstance(declared.value, dict) and node.text.startswith("$")):
        return root
    name = node.text[1:]
    value = declared.value.get(name)
    if value and isinstance(value.value, dict):
        value = value.value.get("default")
    if value and name in settings:
        path = str(Path(str(settings[name])).absolute())
        value = replace(node, value=path, text=path)
    return replace(root, value={**entries, packs.LEVELS: value or node})


# ---- bases ---------------------------------------------------------------------------------------


def _merge_base(
    document: Document, above: tuple[Path, ...], problems: ErrorCollector, bytes_left: int
) -> Document:
    """Merge `document` over the file that its key `extends` names, and return the result. Without
    that key, return `document`. `above` are the files that extend this one, to detect cycles;
    `bytes_left` limits the size of all extended files.

    Args:
        document: the document.
        above: the files that extend the document.
        problems: receives errors.
        bytes_left: total size that the files which it extends may have, in bytes.
    """
    entries = dict(fields.mapping(document.root))
    if EXTENDS not in entries:
        return document
    base = _read_base(entries.pop(EXTENDS), document, above, problems, bytes_left)
    derived = replace(document.root, value=entries)
    below = {key: part for key, part in fields.mapping(base.root).items() if key != "name"}
    whole = library.merge_over(replace(base.root, value=below), derived)
    assert base.ref
    return replace(
        document,
        root=whole,
        trust=document.trust.for_base(base.folder, document.folder),
        bases=(base.ref, *base.bases),
        num_bytes=document.num_bytes + base.num_bytes,
        changes_from_base=tuple(library.iter_differences(replace(base.root, value=below), whole)),
    )


def _read_base(
    node: YamlNode,
    document: Document,
    above: tuple[Path, ...],
    problems: ErrorCollector,
    bytes_left: int,
) -> Document:
    """Read the scenario file that the YAML node names in the key `extends` of `document`. `above`
    are the files that extend `document`, to detect cycles; `bytes_left` limits the size of all
    extended files."""
    name = fields.text(node)
    beside = (Path(document.label).parent if document.source else document.folder) / name
    built_in = list_playable_scenarios()
    if name not in built_in and not document.trust.can_name_files(document.folder):
        raise node.error(packs.no_file_message(name))
    with node.report(ScenarioError):
        is_plain = Path(name).parts == (Path(name).stem,)  # a name without folder and suffix
        if name not in built_in and is_plain and not path_exists(beside):
            raise library.no_scenario_error(name, {each: each for each in built_in})
        ref = built_in[name] if name in built_in else library.find_ref(beside, built_in)
        raw = _read_bytes(ref)
    if (bytes_left := bytes_left - len(raw)) < 0:
        limit = format_bytes(MAX_SCENARIO_BYTES)
        raise node.error(f"the files that a scenario extends are at most {limit} together")
    file = ref.file.resolve()
    if file in above or file == document.source or len(above) == _MAX_BASES:
        raise node.error(f"{name} extends this scenario itself")
    root = _rebase_node(parse_yaml(raw, problems), str(ref.file), file.parent, document.folder)
    base = Document(
        root, str(ref.file), file.parent, file, trust=document.trust, num_bytes=len(raw)
    )
    base = _merge_base(base, (*above, document.source or file), problems, bytes_left)
    root, _, variant = library.select_variant(base.root, ref.variant)
    return replace(base, root=root, variant=variant)


_CODE_REFERENCE = re.compile(r"([^:\s]+\.py):\w+")


def _rebase_node(node: YamlNode, label: str, home: Path, folder: Path) -> YamlNode:
    """Return a copy of a YAML node from an extended file in the folder `home`, in which references
    to rule files are relative to `folder` instead. `label` names the extended file in messages.

    Args:
        node: the node.
        label: path of the extended file as error messages show it.
        home: folder of the base file.
        folder: folder that the references shall be relative to.
    """
    if isinstance(node.value, dict):
        parts = {
            _rebase_text(key, home, folder): _rebase_node(part, label, home, folder)
            for key, part in node.value.items()
        }
        return replace(node, value=parts, file=label)
    if isinstance(node.value, list):
        items = [_rebase_node(part, label, home, folder) for part in node.value]
        return replace(node, value=items, file=label)
    text = _rebase_text(node.text, home, folder)
    value = node.value if text == node.text else text
    return replace(node, value=value, text=text, file=label)


def _rebase_text(text: str, home: Path, folder: Path) -> str:
    """Convert a reference to a Python file, such as `./rules.py:name`, from relative to the folder
    `home` to relative to `folder`. Return any other text unchanged."""
    match = _CODE_REFERENCE.fullmatch(text) if home != folder else None
    if not (match and is_file_reference(match[1])):
        return text
    try:
        path = Path(os.path.relpath(home / match[1], folder)).as_posix()
    except ValueError:  # Windows has no relative path to another drive
        return f"{(home / match[1]).as_posix()}{text[match.end(1) :]}"
    return f"{path if path.startswith('.') else f'./{path}'}{text[match.end(1) :]}"
