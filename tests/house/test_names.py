"""One word, one thing: no public name of the engine's modules stands for two."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import gv_engine
from gv_engine.scenario.domains import DomainPlugin

ENGINE = Path(gv_engine.__file__).parent
NAMED_ELSEWHERE = (
    "plugins/gridverse",
    "plugins/algebra/mathy_envs",
    "plugins/algebra/systems",
    "plugins/algebra/components",
    "plugins/minigrid/systems",
    "cli/starter",
)
ROLES = {*vars(DomainPlugin), "DOMAIN", "PLUGIN", "FORMAT", "add_options", "run", "main"}
"""What every domain, plugin or command has under the same name."""


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """Syntax trees of the engine's modules by path."""
    return {
        file.relative_to(ENGINE).as_posix(): ast.parse(file.read_bytes())
        for file in ENGINE.rglob("*.py")
    }


def public_names(module: ast.Module) -> Iterator[str]:
    """The classes, functions and constants that a module defines."""
    for node in module.body:
        targets = [node, *getattr(node, "targets", ()), getattr(node, "target", None)]
        for target in targets:
            name = getattr(target, "name", getattr(target, "id", "_"))
            if not name.startswith("_"):
                yield name


def test_no_name_is_defined_in_two_modules(modules: dict[str, ast.Module]):
    homes = defaultdict(set)
    for place, module in modules.items():
        if not place.startswith(NAMED_ELSEWHERE):
            for name in public_names(module):
                homes[name].add(place)
    assert len(homes) > 500
    twice = {name: sorted(where) for name, where in homes.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in ROLES} == {}


MAY_PRINT = {
    "cli/__init__.py": "ScenarioErrors, whose text is printable",
    "cli/check.py": "a ScenarioError",
    "cli/new.py": "the folder that was named",
    "cli/options.py": "`say`, and printable cells",
    "cli/streams.py": "the help of a command",
    "plugins/algebra/env.py": "a formula",
    "play/ui/terminal/tty.py": "the terminal, which shows a ? for what is not printable",
    "rules/errors.py": "`complain`",
}
"""Modules that print by themselves, and what; all others call `say` or `complain`."""


def prints(node: ast.AST) -> bool:
    """True for a call of `print`, of a method `print`, or of `write` of stdout or stderr."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr == "write":
        return ast.unparse(called.value).endswith(("stdout", "stderr"))
    return "print" in (getattr(called, "id", ""), getattr(called, "attr", ""))


def test_what_is_printed_is_printable(modules: dict[str, ast.Module]):
    found = {place for place, module in modules.items() if any(map(prints, ast.walk(module)))}
    assert found == MAY_PRINT.keys()
