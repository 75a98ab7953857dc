"""The page of the compiled language: each line has an example, which runs in both worlds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gv_engine import load_scenario
from gv_engine.compiler.language.compiler import Compiler
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.values import Scalar
from gv_engine.compiler.rows import WORLD_METHODS
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.rules.world import VERBS, World
from tests.compiler.documented.tables import EXAMPLES, OF_WORLD, REFUSED, SETTLED
from tests.compiler.language import KINDS, compile_functions, run_python, run_rule
from tests.compiler.test_language import FRACTIONS, WHOLE, is_same

PAGE = Path(__file__).parents[2] / "docs" / "compiling.md"
FUNCTIONS = sorted(
    {pair for pairs in EXAMPLES.values() for pair in pairs}, key=lambda p: p[0].__name__
)
LOUD = ("OverflowError: ", "ValueError: a negative power")
"""Errors of compiled functions where Python goes on with larger integers, or a fraction."""


def read_table(title: str) -> list[str]:
    """Return the code in the first cells of the tables below a title of the page."""
    part = PAGE.read_text("utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`|[^|]*?) \|", part, re.MULTILINE)
    return [
        cell.strip("`").replace("\\|", "|") for cell in cells if cell not in ("you write", "---")
    ]


def test_page_and_examples_have_the_same_lines() -> None:
    assert read_table("Statements and expressions") == list(
        dict.fromkeys(read_table("Statements and expressions"))
    )
    assert sorted(read_table("Statements and expressions")) == sorted(EXAMPLES)
    assert sorted(read_table("What does not compile")) == sorted(REFUSED)


@pytest.fixture(scope="module")
def compiled() -> dict[Any, Any]:
    versions = compile_functions([(function, (kind, kind)) for function, kind in FUNCTIONS])
    return {(function, kinds[0]): version for (function, kinds), version in versions.items()}


@pytest.mark.parametrize(
    "function", FUNCTIONS, ids=lambda pair: f"{pair[0].__name__}-{pair[1].__name__}"
)
def test_example(function: Any, compiled: dict[Any, Any]) -> None:
    compared = 0
    numbers: Any = FRACTIONS if function[1] is float else WHOLE
    for a in numbers:
        for b in numbers:
            found, wanted = compiled[function](a, b), run_python(function[0], a, b)
            if str(found).startswith(LOUD) and not str(wanted).startswith(LOUD):
                continue
            assert is_same(found, wanted), (a, b, found, wanted)
            compared += 1
    assert compared >= 20


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code: str) -> None:
    rule, error = REFUSED[code]
    function: Any = rule
    arguments = {name: Scalar(KINDS[int], "") for name in ("a", "b")}
    with pytest.raises(DoesNotCompileError, match=re.escape(error)) as caught:
        Compiler(LIBRARY).compile(function, arguments)
    file, line, _ = str(caught.value).split(":", 2)
    assert file == function.__code__.co_filename
    assert function.__code__.co_firstlineno < int(line) <= function.__code__.co_firstlineno + 6


# ---- the world -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scenario() -> Any:
    return load_scenario("keydoor-5x5")


@pytest.mark.parametrize(
    "function",
    dict.fromkeys(each for pair in OF_WORLD.values() for each in pair),
    ids=lambda f: f.__name__,
)
def test_world(function: Any, scenario: Any) -> None:
    wanted, found, differences = run_rule(scenario, function)
    assert is_same(found, wanted), (found, wanted)
    assert differences == []


def test_page_lists_the_world() -> None:
    assert sorted(read_table("The world")) == sorted(OF_WORLD)
    methods = {name for name in (*VERBS, *WORLD_METHODS) if hasattr(World, name)}
    assert methods <= set(re.findall(r"\w+", " ".join(OF_WORLD)))


def test_page_lists_what_is_settled() -> None:
    text = PAGE.read_text("utf-8").partition("## The same result, or the same error\n")[2]
    cells = re.findall(r"^\| (.*?) \| (.*?) \|$", text.partition("\n## ")[0], re.MULTILINE)
    outcomes = {
        "same result": "same",
        "same error": "error",
        "error when compiled": "compiled",
        "does not compile": "refused",
    }
    assert {a: outcomes[b] for a, b in cells[1:]} == {a: b for a, (_, b) in SETTLED.items()}


@pytest.mark.parametrize("text", SETTLED)
def test_settled(text: str, scenario: Any) -> None:
    function, outcome = SETTLED[text]
    if outcome == "refused":
        with pytest.raises(DoesNotCompileError):
            run_rule(scenario, function)
        return
    wanted, found, differences = run_rule(scenario, function)
    if outcome == "same":
        assert is_same(found, wanted), (found, wanted)
        assert differences == []
    else:
        assert "Error: " in found
        assert isinstance(wanted, str) is (outcome == "error")
