"""The files of the domain: who takes what from whom, for types as well."""

import ast
import inspect
from graphlib import TopologicalSorter
from pathlib import Path

import gv_engine.plugins.algebra
from gv_engine.plugins.algebra import systems as algebra

DOMAIN = gv_engine.plugins.algebra.__name__
FILES = sorted(Path(gv_engine.plugins.algebra.__file__).parent.glob("*.py"))


def taken_from(file: Path) -> set[str]:
    """The files of the domain that one of them imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module == DOMAIN:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(DOMAIN):
            found.add(str(node.module).removeprefix(f"{DOMAIN}."))
    return found


def test_no_files_import_each_other():
    graph = {file.stem: taken_from(file) for file in FILES}
    assert "rule_set" in graph["env"]
    order = [*TopologicalSorter(graph).static_order()]
    assert order.index("rule_set") < order.index("env") < order.index("scenario")


def test_systems_say_what_they_ask_of():
    source = inspect.getsource(algebra)
    named = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    assert "Rewriting" in named
    assert "Any" not in named
    assert "type: ignore" not in source
