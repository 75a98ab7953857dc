"""Sources of functions, parsed without the rest of their files."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from gv_engine.compiler.language.source import read_source
from gv_engine.rules.errors import DoesNotCompileError

FILE = '''
def make(step):
    @repeat
    def within(
        a,
    ):
        text = """
on the left, (open
"""
# a comment on the left

        values = [k * step for k in (1, 2)] if text else [a]
        return values[1] + a

    return within


def repeat(function):
    return function
'''


def test_source_of_a_function_ends_where_python_ends_it(tmp_path: Path) -> None:
    """Comments and texts on the left do not end a function, and decorators belong to it."""
    file = tmp_path / "rules.py"
    file.write_text(FILE)
    source = read_source(runpy.run_path(str(file))["make"](3))
    body: Any = source.node.body
    lines = [FILE.splitlines()[node.lineno - 1] for node in body]
    assert [line.split()[0] for line in lines] == ["text", "values", "return"]
    assert source.node.lineno == 4
    assert source.names["step"] == 3
    assert {*source.loads} == {"a", "k@12:17", "step", "text", "values"}


def test_lambdas_of_one_line_have_no_source() -> None:
    """Both begin in that line, so neither can be told from the other."""
    one: Any
    one, other = (lambda a: a + 1), (lambda a: a + 2)
    with pytest.raises(DoesNotCompileError, match="another one stands in its line"):
        read_source(one)
    assert other(0) == 2
