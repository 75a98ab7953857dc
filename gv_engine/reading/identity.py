"""Identity of scenarios: name, digest and text, and the files that one is made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gv_engine.reading.document import Document
from gv_engine.reading.rule_files import SourceFile, text_digest


class ScenarioIdentity(NamedTuple):
    """Identity of a scenario, by which files know theirs.

    Attributes:
        family: of worlds, such as `grid`.
        name: of the scenario.
        digest: hexadecimal digits that stand for all it says, the Python files it names included.
        text: what it says, for people; loaded from a line that a player pastes, without Python.
    """

    family: str
    name: str
    digest: str
    text: str

    @classmethod
    def of(
        cls,
        family: str,
        name: str,
        document: Document,
        changes: Mapping[str, Any],
        code: Iterable[SourceFile],
        members: Sequence[str] = (),
    ) -> ScenarioIdentity:
        """The identity of a scenario; equal for equal content, wherever the files are.

        Args:
            family, name: see the attributes.
            document: what was read.
            changes: what was changed in it.
            code: the Python files that it uses.
            members: digests of the scenarios that it is a mixture of.
        """
        files = sorted((_label(file.path, document.folder), file.digest) for file in code)
        said = [name, document.root.plain, dict(changes), files, members]
        content = json.dumps(said, sort_keys=True, default=str)
        return cls(family, name, text_digest(content.encode()), document.text)


def _label(path: Path, folder: Path) -> str:
    """What a rule file is called wherever the scenario lies; the name alone for one elsewhere."""
    return path.name if path.parent != folder.resolve() else f"./{path.name}"


def watched(document: Document, code: Iterable[SourceFile]) -> tuple[Path, ...]:
    """The files that a scenario was made of, and all Python files that it might come to use."""
    own = {file.path for file in code}
    for source in filter(None, (document.source, *(base.file for base in document.bases))):
        own.update((source, *source.parent.glob("*.py")))
    own.update(Path(level.map.file) for level in document.levels if level.map.file)
    return tuple(sorted(own))
