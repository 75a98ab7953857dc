"""Variants: several levels in one file, and the ways that lead to each."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gv_engine import Scenario, ScenarioError
from gv_engine.cli import main
from gv_engine.cli.check import find_sources
from gv_engine.play.session.catalogue import folder_entries, source_of
from gv_engine.scenario.documents.document import read_file
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.library import ScenarioRef, find_variant_names, list_scenarios
from tests.scenario.reading import RULES, measure

RIVER = f"""\
name: river
{yaml.safe_dump(RULES)}
success_function: reach_exit
reset_function: {{name: empty, random_agent: no}}
variants:
  small: {{reset_function: {{shape: [4, 4]}}}}
  wide:
    max_steps: 7
    reset_function: {{shape: [4, 9], random_agent: yes}}
"""


@pytest.fixture
def river(tmp_path: Path) -> Path:
    file = tmp_path / "river.yaml"
    file.write_text(RIVER)
    return file


def test_a_variant_is_the_file_but_for_what_it_says(river):
    first = Scenario.load(river)
    assert [first.name, measure(first)] == ["river-small", (4, 4)]
    wide = Scenario.load(f"{river}#wide")
    assert [wide.name, wide.max_steps, measure(wide)] == ["river-wide", 7, (4, 9)]
    plain = river.with_name("plain.yaml")
    plain.write_text(
        RIVER[: RIVER.index("variants")]
        .replace("name: river", "name: river-wide\nmax_steps: 7")
        .replace("random_agent: no", "random_agent: yes, shape: [4, 9]")
    )
    assert Scenario.load(plain).identity.digest == wide.identity.digest


def test_it_stays_itself_when_it_is_loaded_again(river):
    wide = Scenario.load(f"{river}#wide")
    assert source_of(wide) == f"{river}#wide"
    river.write_text(RIVER.replace("max_steps: 7", "max_steps: 8"))
    assert wide.reload().max_steps == 8


def test_a_mixture_has_variants_for_members(river):
    mixture = river.with_name("both.yaml")
    mixture.write_text("mixture: [./river.yaml#small, ./river.yaml#wide]")
    assert [m.name for m in Scenario.load(mixture).members] == ["river-small", "river-wide"]


def test_each_is_a_card_and_a_folder_can_have_them(river):
    folder = river.parent / "creek"
    folder.mkdir()
    (folder / "scenario.yaml").write_text(RIVER.replace("name: river\n", ""))
    assert Scenario.load(f"{folder}#wide").name == "creek-wide"  # of its folder, as of a file
    titles = [entry.title for entry in folder_entries(river.parent)]
    assert titles == ["river-small", "river-wide", "creek-small", "creek-wide"]


@pytest.mark.thorough
def test_check_looks_at_all_of_a_file(river, capsys):
    assert main(["check", str(river), "--quick", "--episodes", "1"]) == 0
    assert capsys.readouterr().out.count("RESET\tempty") == 2


@pytest.mark.parametrize(
    ("variants", "source", "said"),
    [
        ("{a: {}}", "#b", r"no variant 'b'; did you mean 'a'|no variant 'b' \(allowed: a\)"),
        ("{}", "", r"variants: found nothing, expected a mapping from names"),
        ("{a: 3}", "", r"variants\.a: found 3, expected a mapping"),
        ("{a b: {}}", "", r"found the name 'a b', expected letters"),
        ("{a: {max_step: 3}}", "#a", r"river\.yaml:18: variants\.a\.max_step: .*'max_steps'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(river, variants, source, said):
    river.write_text(RIVER[: RIVER.index("variants")] + f"variants: {variants}\n")
    with pytest.raises(ScenarioError, match=said):
        Scenario.load(f"{river}{source}")


def test_a_file_without_variants_has_none_to_name(tmp_path):
    (tmp_path / "one.yaml").write_text("map: '.'")
    with pytest.raises(
        ScenarioError, match=r"one\.yaml:1: no variant '9x9'; the file has no variants"
    ):
        Scenario.load(tmp_path / "one.yaml#9x9")


def test_what_a_level_says_by_itself_is_played_by_its_name(tmp_path):
    """Unless each variant adds what a level begins with."""
    variants: dict[str, Any] = {"long": {"map": ">..E"}, "hard": {"max_steps": 3}}
    level = {**RULES, "name": "own", "map": ">E", "variants": variants}
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(level, sort_keys=False))
    for found in (Scenario.load(level), Scenario.load(file)):
        assert [found.name, found.max_steps, measure(found)] == ["own", None, (1, 2)]
    assert find_sources(str(file), {}) == [str(file), f"{file}#long", f"{file}#hard"]
    del level["map"]
    variants["hard"]["map"] = ">...E"
    assert Scenario.load(level).name == "own-long"


def test_names_are_found_without_yaml_as_yaml_has_them():
    files = {level.file for domain in DOMAINS.values() for level in domain.built_in().values()}
    documents = {file: read_file(ScenarioRef(file)) for file in files}
    assert sum(len(document.variants) > 0 for document in documents.values()) > 10
    for file, document in documents.items():
        named = () if document.levels else document.variants  # those of a pack are numbers
        assert tuple(find_variant_names(file.read_text())) == named


def test_built_in_levels_come_in_the_order_of_their_names(tmp_path):
    files = {name: tmp_path / f"{name}.yaml" for name in ("oak", "elm")}
    for file in files.values():
        file.write_text("variants:\n  tall: {}\n  small: {}\n")
    assert list(list_scenarios(files)) == ["elm-tall", "elm-small", "oak-tall", "oak-small"]
