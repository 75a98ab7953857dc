"""`gv-engine train`, as far as it goes without torch; tests/learning has the rest."""

from typing import Any

import pytest

from gv_engine import load_scenario
from gv_engine.cli import create_parser, main
from gv_engine.cli.options import scenario_options
from gv_engine.plugins.learning.cli.command_words import scenario_words
from gv_engine.scenario.documents.loading import make_reference
from gv_engine.scenario.domains import get_plugin
from tests.cli.shell import write


def asked_for(words: list[str]) -> Any:
    """The scenario of a command."""
    options = create_parser().parse_args(["rollout", *words])
    found = load_scenario(options.scenario, **scenario_options(options))
    return get_plugin(found).with_step_limit(found, options.max_steps)


@pytest.mark.parametrize(
    "words",
    [
        ["keydoor-5x5"],
        ["keydoor", "--set", "size=7", "--max-steps", "20"],
        ["deep/my cave", "--max-steps", "20"],
    ],
    ids=" ".join,
)
def test_a_scenario_is_named_as_it_was(words, here):
    (here / "deep").mkdir()
    write(here / "deep" / "my cave")
    scenario = asked_for(words)
    found = asked_for(scenario_words(make_reference(scenario)))
    assert found.identity == scenario.identity
    assert found.document.ref == scenario.document.ref


def test_torch_is_named_where_it_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("gv_engine.scenario.domains.find_spec", lambda name: None)
    assert main(["train", "keydoor-5x5"]) == 2
    told = capsys.readouterr().err
    assert "Learning needs the extra rl: torch is not installed; install it with:" in told
    assert "pip install" in told
