"""The reasons that `make mutants` reads speak of lines that are there.

Some are in gv_engine/plugins/minigrid.
"""

import ast
import tomllib

import pytest

from tests import ROOT

REASONS = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text("utf-8"))["survivor"]


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason["function"])
def test_what_is_excused_is_there(reason):
    text = (ROOT / reason["file"]).read_text("utf-8")
    functions = {
        node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
    }
    assert reason["function"] in {"", *functions}
    assert reason["was"] in {" ".join(line.split()) for line in text.splitlines()}
    assert reason["was"] not in reason["now"]
    assert reason["why"]
