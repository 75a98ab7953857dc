"""Scenario files, or mappings like them, before anything in them is understood."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from gv_engine.rules.errors import ScenarioError, printable
from gv_engine.scenario import parameters, variants
from gv_engine.scenario.fields import (
    ErrorCollector,
    FieldError,
    NodeBuilder,
    YamlNode,
    decode_utf8,
    mapping,
    parse_yaml,
    text,
)
from gv_engine.scenario.files import format_bytes, read_bytes
from gv_engine.scenario.json_schema import TEXT, Key, KeyTable
from gv_engine.scenario.library import FOLDER_SCENARIO_FILE, ScenarioRef, find_ref
from gv_engine.scenario.packs import (
    LEVELS,
    LEVELS_KEY,
    PackLevel,
    is_pack,
    no_file,
    no_level,
    opened,
    scenario_around,
)
from gv_engine.scenario.parameters import PARAMETERS, ScenarioParameter, apply_settings
from gv_engine.scenario.plugin import list_playable_scenarios
from gv_engine.scenario.rule_modules import SourceFile, hash_text
from gv_engine.scenario.trust import DEFAULT_TRUST, Trust, is_file_reference
from gv_engine.scenario.variants import iter_differences, merge_over

# ---- identity ------------------------------------------------------------------------------------


class ScenarioIdentity(NamedTuple):
    """Identity of a scenario, by which files know theirs.

    Attributes:
        domain: of worlds, such as `grid`.
        name: of the scenario.
        digest: hexadecimal digits that stand for all it says, the Python files it names included.
        text: what it says, for people; loaded from a line that a player pastes, without Python.
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
        """The identity of a scenario; equal for equal content, wherever the files are.

        Args:
            domain, name: see the attributes.
            document: what was read.
            changes: what was changed in it.
            code: the Python files that it uses.
            members: digests of the scenarios that it is a mixture of.
        """
        files = sorted((_portable_name(file.path, document.folder), file.digest) for file in code)
        said = [name, document.root.plain, dict(changes), files, members]
        content = json.dumps(said, sort_keys=True, default=str)
        return cls(domain, name, hash_text(content.encode()), document.text)


def _portable_name(path: Path, folder: Path) -> str:
    """What a rule file is called wherever the scenario lies; the name alone for one elsewhere."""
    return path.name if path.parent != folder.resolve() else f"./{path.name}"


def list_watched_files(document: Document, code: Iterable[SourceFile]) -> tuple[Path, ...]:
    """The files that a scenario was made of, and all Python files that it might come to use."""
    own = {file.path for file in code}
    for source in filter(None, (document.source, *(base.file for base in document.bases))):
        own.update((source, *source.parent.glob("*.py")))
    own.update(Path(level.map.file) for level in document.levels if level.map.file)
    return tuple(sorted(own))


# ---- document ------------------------------------------------------------------------------------

MAX_SCENARIO_BYTES = 512 * 1024
"""Bytes of a file, twice as many as the largest map has."""
EXTENDS = "extends"
FILE_KEYS: KeyTable = {
    EXTENDS: Key(
        "Another scenario, of which this one says only what it does otherwise: a built-in name, "
        "or a file or folder beside.",
        TEXT,
    ),
    PARAMETERS: parameters.PARAMETERS_KEY,
    variants.VARIANTS: variants.VARIANTS_KEY,
    LEVELS: LEVELS_KEY,
}
"""Those of all files, whatever domain they belong to."""
_MAX_BASES = 20


@dataclass(frozen=True)
class Document:
    """A scenario before anything in it is understood.

    Attributes:
        root: the whole, with all that it extends, and values in place of parameters.
        label: what messages call it.
        folder: relative names of rule files start here.
        source: the file, None for a mapping.
        trust: which Python it may run.
        variants: the names of all that the file holds, see `gv_engine.scenario.variants`.
        variant: which of them this is; "" if there are none.
        parameters: that may be set, and what they are.
        settings: what was set of these.
        bases: the files that it extends, the nearest first.
        said: what it says otherwise than the nearest, a line each.
        levels: of its pack, whose numbers are the names of the variants; () without one.
    """

    root: YamlNode
    label: str
    folder: Path
    source: Path | None = None
    problems: ErrorCollector | None = None
    """KeyTable that stand there twice, which keep nobody from reading the rest."""
    text: str = ""
    """What the file says."""
    trust: Trust = DEFAULT_TRUST
    variants: tuple[str, ...] = ()
    variant: str = ""
    parameters: tuple[ScenarioParameter, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    bases: tuple[ScenarioRef, ...] = ()
    changes_from_base: tuple[str, ...] = ()
    levels: tuple[PackLevel, ...] = ()

    @property
    def pack_level(self) -> PackLevel | None:
        """The level of its pack that this is, None for a whole pack or without one."""
        return self.levels[int(self.variant) - 1] if self.levels and self.variant else None

    @property
    def default_name(self) -> str:
        """What the scenario is called if it does not say."""
        name = "scenario"
        if self.source is not None:
            folder = self.source.name == FOLDER_SCENARIO_FILE
            name = self.source.parent.name if folder else self.source.stem
        return printable("-".join(filter(None, (name, "" if self.settings else self.variant))))

    @property
    def ref(self) -> ScenarioRef | None:
        """Where it comes from, None for a mapping."""
        return ScenarioRef(self.source, self.variant) if self.source else None

    @property
    def domain(self) -> str:
        """The domain of worlds that it says it belongs to, see `gv_engine.scenario.plugin`."""
        entries = self.root.value
        named = entries.get("domain") if isinstance(entries, dict) else None
        return "grid" if named is None else named.text

    def nested(self, node: YamlNode, settings: Mapping[str, Any]) -> Document:
        """The document of a scenario that stands within this one.

        Raises:
            Wrong: it is no mapping, or as for `read_file`.
            UnknownOptionError: as for `read_file`.
        """
        problems = ErrorCollector(self.label)
        inner = replace(self, root=node, problems=problems, text="", parameters=(), bases=())
        return _finish_document(inner, "", settings, problems)

    def reload(self) -> Document:
        """The document as its file is now, if it comes from one.

        Raises:
            ScenarioError: as for `read_file`.
        """
        return read_file(self.ref, self.trust, self.settings) if self.ref else self

    def with_settings(self, **settings: Any) -> Document:
        """The document with other values for some of its parameters.

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
    """Read a YAML file; of several variants the first, if none is named.

    Args:
        level: the file, and the variant.
        trust: which Python it may run.
        settings: values of its parameters, by name.

    Raises:
        ScenarioError: no such file, no UTF-8, no YAML, no mapping, no such variant, or it extends
            one of these; an `UnknownOptionError` for a setting that it has no parameter for.
    """
    return read_text(_read_bytes(ref), ref, trust, settings)


def read_text(
    raw: bytes,
    ref: ScenarioRef,
    trust: Trust = DEFAULT_TRUST,
    settings: Mapping[str, Any] | None = None,
) -> Document:
    """Read what a file says, or would say, if it were written.

    Args:
        raw: the text, in UTF-8.
        level: the file, which need not be there, and the variant.
        trust, settings: as for `read_file`.

    Raises:
        ScenarioError: as for `read_file`.
    """
    problems = ErrorCollector(str(ref.file))
    place = ref.file.absolute()
    document = Document(YamlNode(None, line=1), str(ref.file), place.parent, place, problems)
    try:
        pack = is_pack(ref.file, raw)
        root = scenario_around(ref.file, problems) if pack else parse_yaml(raw, problems)
        document = replace(document, root=root, text=decode_utf8(raw), trust=trust)
        return _finish_document(document, ref.variant, settings or {}, problems)
    except FieldError as wrong:
        raise problems.error_with(wrong) from None


def read_mapping(
    data: Mapping[str, Any],
    folder: Path,
    trust: Trust = DEFAULT_TRUST,
    settings: Mapping[str, Any] | None = None,
) -> Document:
    """Take a mapping for a scenario.

    Args:
        data: the mapping.
        folder: where its files are.
        trust, settings: as for `read_file`.

    Raises:
        ScenarioError: it holds something that no scenario file can, or as for `read_file`.
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
    except FieldError as wrong:
        raise problems.error_with(wrong) from None


def _read_bytes(level: ScenarioRef) -> bytes:
    try:
        return read_bytes(level.file, MAX_SCENARIO_BYTES, "scenario files")
    except OSError as error:
        raise ScenarioError([str(error)]) from None


def _finish_document(
    document: Document, variant: str, settings: Mapping[str, Any], problems: ErrorCollector
) -> Document:
    """A document with what it extends, of one variant, and with values for its parameters."""
    extended = _merge_base(document, (), problems, MAX_SCENARIO_BYTES)
    folder = document.folder if document.trust.can_name_files(document.folder) else None
    root, levels = opened(extended.root, folder)
    if levels and variant and variant not in map(str, range(1, len(levels) + 1)):
        raise FieldError(YamlNode(None, line=root.line), no_level(variant, levels))
    # a scenario whose parameters are set is none of the variants that have names
    plain = bool(settings or levels)
    root, names, variant = variants.select_variant(root, variant, plain=plain)
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


# ---- what a scenario extends -----------------------------------------------------------------


def _merge_base(
    document: Document, above: tuple[Path, ...], problems: ErrorCollector, left: int
) -> Document:
    """A document over the one that it extends, if it does.

    Args:
        above: the files that extend it.
        left: bytes that the files which it extends may have together.
    """
    entries = dict(mapping(document.root))
    if EXTENDS not in entries:
        return document
    node = entries.pop(EXTENDS)
    base = _read_base(node, document, above, problems, left)
    own = replace(document.root, value=entries)
    below = {key: part for key, part in mapping(base.root).items() if key != "name"}
    whole = merge_over(replace(base.root, value=below), own)
    assert base.ref
    return replace(
        document,
        root=whole,
        trust=document.trust.for_base(base.folder, document.folder),
        bases=(base.ref, *base.bases),
        changes_from_base=tuple(iter_differences(replace(base.root, value=below), whole)),
    )


def _read_base(
    node: YamlNode, document: Document, above: tuple[Path, ...], problems: ErrorCollector, left: int
) -> Document:
    """The document that another one extends, its names those of the other's folder."""
    named = text(node)
    beside = (Path(document.label).parent if document.source else document.folder) / named
    known = list_playable_scenarios()
    if named not in known and not document.trust.can_name_files(document.folder):
        raise FieldError(node, no_file(named))
    try:
        level = known[named] if named in known else find_ref(beside, known)
        raw = _read_bytes(level)
    except ScenarioError as error:
        raise FieldError(node, str(error)) from None
    if (left := left - len(raw)) < 0:
        most = format_bytes(MAX_SCENARIO_BYTES)
        raise FieldError(node, f"the files that a scenario extends are at most {most} together")
    place = level.file.resolve()
    if place in above or place == document.source or len(above) == _MAX_BASES:
        raise FieldError(node, f"{named} extends this scenario in turn")
    root = _rebase_node(parse_yaml(raw, problems), str(level.file), place.parent, document.folder)
    base = Document(root, str(level.file), place.parent, place, trust=document.trust)
    base = _merge_base(base, (*above, document.source or place), problems, left)
    root, _, variant = variants.select_variant(base.root, level.variant)
    return replace(base, root=root, variant=variant)


_CODE_REFERENCE = re.compile(r"([^:\s]+\.py):\w+")


def _rebase_node(node: YamlNode, label: str, home: Path, folder: Path) -> YamlNode:
    """A value from the file of another folder, whose files are named from this one on."""
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
    if text == node.text:
        return replace(node, file=label)
    return replace(node, value=text, text=text, file=label)


def _rebase_text(text: str, home: Path, folder: Path) -> str:
    """A text, or a reference to something in a file as it is named from another folder."""
    named = _CODE_REFERENCE.fullmatch(text) if home != folder else None
    if not (named and is_file_reference(named[1])):
        return text
    where = Path(os.path.relpath(home / named[1], folder)).as_posix()
    return f"{where if where.startswith('.') else f'./{where}'}{text[named.end(1) :]}"
