"""Games of other programs, which plugins turn into scenarios."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from gv_engine.late_imports import find_plugins
from gv_engine.scenario.levels.level_files import PackLevel
from gv_engine.scenario.levels.sokoban_files import decode_levels
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.yaml_parser import NodeBuilder

_SUFFIXES = ".txt", ".puzzlescript"


class SourceError(ValueError):
    """Faults of a game of another program.

    Attributes:
        faults: (line from 1, message) of each; line 0 for the whole file.
    """

    def __init__(self, faults: list[tuple[int, str]]) -> None:
        super().__init__("; ".join(f"line {line}: {text}" for line, text in faults))
        self.faults = faults


class FileFormat(NamedTuple):
    """Format of games of another program, in text files.

    Attributes:
        name: its name.
        recognizes: function that returns True for texts in this format.
        make_scenario: function that returns the keys of a grid scenario for a text and the name of
            a variant, "" for none; it raises `SourceError`.
        list_levels: function that returns the levels of a text, whose numbers are the names of the
            variants; () for a game with one level.
    """

    name: str
    recognizes: Callable[[str], bool]
    make_scenario: Callable[[str, str], dict[str, Any]]
    list_levels: Callable[[str], tuple[PackLevel, ...]]


def read_foreign_file(
    ref: ScenarioRef, raw: bytes, problems: ErrorCollector
) -> tuple[YamlNode, tuple[PackLevel, ...]] | None:
    """Convert the content `raw` of another program's game file, and return a scenario node and the
    levels; None if no plugin knows the format.

    Raises:
        ScenarioError: the game has faults.
    """
    if ref.file.suffix.lower() not in _SUFFIXES:
        return None
    text = decode_levels(raw)
    for plugin in find_plugins():
        for name in plugin.file_formats:
            file_format: FileFormat = resolve_name(name)
            if not file_format.recognizes(text):
                continue
            root = YamlNode(None, line=1)
            try:
                scenario = file_format.make_scenario(text, ref.variant)
            except SourceError as error:
                for line, fault in error.faults:
                    problems.add(YamlNode(None, line=line or None), fault)
                problems.raise_if_any()
                raise
            root = NodeBuilder(problems).from_python(scenario, root)
            return root, file_format.list_levels(text)
    return None
