"""One word, one thing: no public name of the engine's modules stands for two."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import gv_engine
from gv_engine.scenario.plugin import DomainPlugin

ENGINE = Path(gv_engine.__file__).parent
NAMED_ELSEWHERE = ("gridverse", "cli/starter")
ROLES = {*vars(DomainPlugin), "DOMAIN", "FORMAT", "add", "run", "main"}
"""What every domain or command has under the same name."""


def public_names(file: Path) -> Iterator[str]:
    """The classes, functions and constants that a module defines."""
    for node in ast.parse(file.read_bytes()).body:
        targets = [node, *getattr(node, "targets", ()), getattr(node, "target", None)]
        for target in targets:
            name = getattr(target, "name", getattr(target, "id", "_"))
            if not name.startswith("_"):
                yield name


def test_no_name_is_defined_in_two_modules():
    homes = defaultdict(set)
    for file in ENGINE.rglob("*.py"):
        place = file.relative_to(ENGINE).as_posix()
        if not place.startswith(NAMED_ELSEWHERE):
            for name in public_names(file):
                homes[name].add(place)
    assert len(homes) > 500
    twice = {name: sorted(where) for name, where in homes.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in ROLES} == {}


MAY_PRINT = {
    "cli/__init__.py": "ScenarioErrors, whose text is printable",
    "cli/check.py": "a ScenarioError",
    "cli/new.py": "the folder that was named",
    "cli/options.py": "`say`, and printable cells",
    "domains/algebra/env.py": "a formula",
    "ui/terminal/tty.py": "the terminal, which shows a ? for what is not printable",
    "rules/errors.py": "`complain`",
}
"""Modules that print by themselves, and what; all others call `say` or `complain`."""


def test_what_is_printed_is_printable():
    found = set()
    for file in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called == "print" or called.endswith((".print", "stdout.write", "stderr.write")):
                found.add(file.relative_to(ENGINE).as_posix())
    assert found == MAY_PRINT.keys()
