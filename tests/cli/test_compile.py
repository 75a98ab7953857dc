"""`gv-engine compile`."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gv_engine.cli import main
from gv_engine.play.grid import hooks
from gv_engine.rules.errors import DoesNotCompileError
from tests.games import write_counter

pytestmark = pytest.mark.slow


@pytest.mark.compiled
def test_compile(here: Path, capsys):
    rules = write_counter(here / "odd") / "rules.py"
    rules.write_text(rules.read_text().replace("    e = ", "    {i: [] for i in 'ab'}\n    e = "))
    variants = "variants: {small: {}, large: {max_steps: 9}}"
    (here / "two.yaml").write_text(f"extends: empty-4x4\n{variants}\n")
    assert main(["compile", "empty-4x4"]) == 0
    assert capsys.readouterr().out.startswith("scenario\toutcome\tseconds\nempty-4x4\t")
    assert main(["compile", "empty-4x4", "two.yaml", "odd"]) == 1
    out, said = capsys.readouterr()
    rows = [line.split("\t")[:2] for line in out.splitlines()[1:]]
    compiled = ["empty-4x4", "two", "two-small", "two-large"]
    assert rows == [*([name, "compiled"] for name in compiled), ["odd", "failed"]]
    assert re.search(r"gv-engine: odd: .*rules\.py:\d+: in ", said)


@pytest.mark.parametrize(("words", "found"), [([], "neither"), (["empty-4x4", "--all"], "both")])
def test_compile_wants_scenarios_or_all(words: list[str], found: str, capsys):
    assert main(["compile", *words]) == 2
    said = f"gv-engine: expected either scenarios or --all, found {found}\n"
    assert capsys.readouterr().err == said


def test_compile_all(capsys, monkeypatch):
    def compile(scenario: Any) -> str:
        if scenario.name == "empty-8x8":
            raise DoesNotCompileError("a loop over a set")
        return "compiled"

    names = ["empty-4x4", "empty-8x8", "mathy-poly-simplify-easy"]
    domain = SimpleNamespace(built_in=lambda: names, missing_message="")
    monkeypatch.setattr("gv_engine.cli.compile.DOMAINS", {"some": domain})
    monkeypatch.setattr(hooks, "compile_scenario", compile)
    assert main(["compile", "--all"]) == 1
    out, said = capsys.readouterr()
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == names
    assert out.count("\tfailed\t") == 1
    assert said == "gv-engine: empty-8x8: a loop over a set\n"
