"""The schema of scenario files: what is right is valid, and what is refused is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from gv_engine.cli import main
from gv_engine.cli.new import write_starter_project
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.reference_docs import make_schema
from gv_engine.scenario.storage.resources import SCENARIOS
from gv_engine.scenario.syntax.fields import ErrorCollector, FieldError
from gv_engine.scenario.syntax.yaml_parser import parse_yaml
from tests import DATA
from tests.fuzz.kinds import Scenarios
from tests.house.test_docs import PAGES, blocks
from tests.scenario.reading import RULES

SCHEMA = make_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
LEVEL: dict[str, Any] = {**RULES, "map": "####\n#>E#\n####\n"}


def plain(text: str | bytes) -> Any:
    raw = text.encode() if isinstance(text, str) else text
    return parse_yaml(raw, ErrorCollector("level.yaml")).plain


def written() -> Iterator[Any]:
    """Scenario files that come with the engine, and those in the docs."""
    for file in sorted(SCENARIOS.rglob("*.yaml")):
        if file.name in ("instances.yaml", "lifelong.yaml"):  # of pogema
            continue  # levels of POGEMA, which a scenario reads
        yield pytest.param(file.read_text("utf-8"), id=file.stem)
    for page in PAGES:
        for block in blocks(page):
            if block.kind == "yaml":
                yield pytest.param(block.text, id=f"{page.stem}:{block.line}")


def test_it_is_a_schema():
    VALIDATOR.check_schema(SCHEMA)
    named = {found["$ref"] for found in every(SCHEMA) if "$ref" in found}
    assert named <= {f"#/definitions/{name}" for name in SCHEMA["definitions"]}


def every(form: Any) -> Iterator[dict[str, Any]]:
    if isinstance(form, dict):
        yield form
    for part in form.values() if isinstance(form, dict) else form if isinstance(form, list) else ():
        yield from every(part)


@pytest.mark.parametrize("text", list(written()))
def test_what_is_right_is_valid(text: str):
    VALIDATOR.validate(plain(text))


def test_recorded_scenarios_are_valid():
    for name, config in json.loads((DATA / "scenario_configs.json").read_text()).items():
        faults = [fault.message for fault in VALIDATOR.iter_errors(config)]
        # that parameter means nothing, and the reader warns of it
        assert not faults or "teleport" in name, faults


@pytest.mark.parametrize(
    "said",
    [
        {"max_step": 9},
        {"max_steps": 0},
        {"max_shape": [5]},
        {"action_space": ["MOVE_FORWARD", "JUMP"]},
        {"state_space": {"colours": ["RED"]}},
        {"legend": {"xy": "Key"}},
        {"legend": {"x": {"color": "RED"}}},
        {"legend": {"x": {"object": "Key", "color": "PINK"}}},
        {"parameters": {"trust": 1}},
        {"parameters": {"size": {"default": 4, "type": "number"}}},
        {"transition_functions": ["walk"]},
        {"reward_functions": [{"name": "reach_exit", "reward_of": 1}]},
        {"reward_functions": [{"name": "reach_exit", "reward_on": "much"}]},
        {"reward_functions": [{"name": "overlap"}]},
        {"observation_function": "fully_transparent"},
        {"observation_function": {"name": "fully_transparent"}},
        {"observation_function": {"name": "from_visibility", "area": [[-2, 0], [-1, 1]]}},
        {"mixture": ["empty-4x4"]},
        {"domain": "algebra"},
        {"variants": {}},
        {"variants": {"a": {"max_step": 9, "room": [3, 3]}}},
    ],
    ids=str,
)
def test_mistakes_are_invalid(said: dict[str, Any]):
    """As the reader says; each is the only mistake of a level that is right without it."""
    VALIDATOR.validate(LEVEL)
    assert not VALIDATOR.is_valid({**LEVEL, **said})
    with pytest.raises(ScenarioError):
        load_scenario({**LEVEL, **said})


@pytest.mark.parametrize("key", [key for key in LEVEL if key != "map"])
def test_what_is_needed_may_be_left_out_on_top_of_another(key: str):
    partial = {name: value for name, value in LEVEL.items() if name != key}
    assert not VALIDATOR.is_valid(partial)
    VALIDATOR.validate({**partial, "extends": "empty-4x4"})
    VALIDATOR.validate({**partial, "variants": {"a": {key: LEVEL[key]}}})


@pytest.mark.parametrize(
    "said",
    [
        {"max_steps": "$steps"},
        {"max_steps": "$(2 * steps)"},
        {"observation_function": {"name": "$sight", "area": [["$low", 0], "$columns"]}},
        {"reward_functions": "$rewards"},
        {"reward_functions": ["$reward", {"name": "reach_exit", "reward_on": "$(a if b else c)"}]},
        {"legend": {"K": {"object": "$thing", "color": "$color"}}},
    ],
    ids=str,
)
def test_parameters_stand_where_values_do(said: dict[str, Any]):
    VALIDATOR.validate({**LEVEL, **said})


@pytest.mark.parametrize(
    "said",
    [
        {"reward_functions": {"reach_exit": {"reward_on": 1}, "living_reward": None}},
        {"reset_function": {"shape": [5, 5]}, "legend": None, "action_space": {"ACTUATE": None}},
        {"parameters": {"size": 5}, "success_function": {"name": "reach_exit"}},
        {"mixture": {"keydoor-5x5": {"weight": 2}}},
    ],
    ids=str,
)
def test_changes_are_valid_on_top_of_another(said: dict[str, Any]):
    VALIDATOR.validate({"extends": "../other.yaml", **said})
    VALIDATOR.validate({**LEVEL, "variants": {"a": said}})


@pytest.mark.thorough
def test_what_is_invalid_is_refused(folder: Path):
    """Or, if it is a parameter that means nothing, a warning says so."""
    cases, invalid = Scenarios(), 0
    for seed in range(500):
        case = cases.make(Random(seed))
        for name, data in case.items():
            (folder / name).write_bytes(data)
        try:
            found = plain(case["level.yaml"])
        except (FieldError, ScenarioError):
            continue
        if isinstance(found, dict) and not VALIDATOR.is_valid(found):
            invalid += 1
            assert is_refused(folder, found), (seed, list(VALIDATOR.iter_errors(found)))
    assert invalid > 200


def is_refused(folder: Path, found: dict[str, Any]) -> bool:
    """True if the file, one of its variants, or what these have in common, is wrong."""
    try:
        load_scenario(folder / "level.yaml")
        for variant in found.get("variants", ()):
            load_scenario(f"{folder / 'level.yaml'}#{variant}")
        load_scenario({key: found[key] for key in found if key != "variants"}, folder)
    except ScenarioError:
        return True
    return False


def test_the_starter_points_at_it(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_starter_project(folder / "cave")
    first = (folder / "cave" / "scenario.yaml").read_text("utf-8").splitlines()[0]
    _, _, name = first.partition("# yaml-language-server: $schema=")
    text = (folder / "cave" / name).read_text("utf-8")
    assert json.loads(text) == SCHEMA
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == f"{text}\n"
    VALIDATOR.validate(plain((folder / "cave" / "scenario.yaml").read_text("utf-8")))


def test_a_family_that_is_not_installed_may_say_anything(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gv_engine.scenario.domains.find_spec", lambda library: None)
    without = jsonschema.Draft7Validator(make_schema())
    assert without.is_valid({"domain": "algebra", "flour": 1})
    assert without.is_valid({"extends": "mathy-poly-simplify-easy", "flour": 1})
    assert without.is_valid(LEVEL)
    assert not without.is_valid({**LEVEL, "flour": 1})
