"""`gv-engine compile`."""

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from gv_engine.cli import main
from gv_engine.domains.grid import hooks
from gv_engine.scenario.plugin import list_built_in_names
from tests.cli.shell import RULE, SCENARIO, write

pytestmark = pytest.mark.slow


@pytest.mark.compiled
def test_compile(here: Path, capsys: pytest.CaptureFixture[str]):
    write(here / "odd", "./rules.py:rule", code=RULE + "    {i: [] for i in 'ab'}\n")
    (here / "two.yaml").write_text(
        "variants:\n  small: {}\n  large: {max_steps: 9}\n"
        + SCENARIO.format(rule="turn_agent", more="")
    )
    assert main(["compile", "empty-4x4"]) == 0
    assert capsys.readouterr().out.startswith("scenario\toutcome\tseconds\nempty-4x4\t")
    assert main(["compile", "empty-4x4", "two.yaml", "odd"]) == 1
    out, said = capsys.readouterr()
    rows = [line.split("\t")[:2] for line in out.splitlines()[1:]]
    assert rows[0] == ["empty-4x4", "kept already"]
    assert [name for name, _ in rows[1:]] == ["two", "two-small", "two-large", "odd"]
    assert rows[-1] == ["odd", "failed"]
    assert re.search(r"gv-engine: odd: a rule cannot be compiled \(.*rules\.py, line", said)


@pytest.mark.parametrize("words", [[], ["empty-4x4", "--all"]])
def test_compile_wants_scenarios_or_all(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["compile", *words]) == 2
    assert capsys.readouterr().err == "gv-engine: name scenarios, or use --all\n"


def test_compile_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def compile(scenario: Any) -> str:
        if scenario.name == "empty-8x8":
            warnings.warn("compiled programs cannot be kept", RuntimeWarning, stacklevel=1)
        return "compiled"

    monkeypatch.setattr(hooks, "compile_scenario", compile)
    assert main(["compile", "--all"]) == 1
    out, said = capsys.readouterr()
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == list_built_in_names()
    assert out.count("\tfailed\t") == 1
    assert said == "gv-engine: empty-8x8: compiled programs cannot be kept\n"
