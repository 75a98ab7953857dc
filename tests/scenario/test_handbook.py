"""Things that authors can name: all are listed, and all that is listed can be named.

The page lists what gv_engine/plugins/minigrid and gv_engine/plugins/algebra add, too.
"""

from pathlib import Path

import pytest
import yaml

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.cli.rules import format_reference_page
from gv_engine.rules.objects import is_rule_package
from gv_engine.rules.system import REGISTRIES, RESET, REWARD, TERMINATING, TRANSITION, VISIBILITY
from gv_engine.scenario.reference_docs import Topic, list_chapters
from tests.scenario.reading import RULES

GUARD = {"states": ["FORWARD", "BACKWARD", "LEFT", "RIGHT"]}
LEVEL = {**RULES, "objects": {"Guard": GUARD}, "map": "####\n#>E#\n####\n"}
CHAPTERS = list_chapters()
LOOKING = ("patrol", "let_pass", "seen")
"""Rules of objects that look somewhere, as no built-in one does."""
NESTING = {
    **{f"name: {it}, object_type: Door": f"name: {it}, object_type: Guard" for it in LOOKING},
    "transition_functions: […]": "transition_functions: [turn_agent]",
    "reward_functions: […]": "reward_functions: [bump_into_wall]",
    "terminating_functions: […]": "terminating_functions: [bump_into_wall]",
}


def of_phases() -> list[Topic]:
    return [entry for title, entries in CHAPTERS if "functions" in title for entry in entries]


def test_every_rule_is_listed():
    listed = [entry.name for entry in of_phases()]
    phases = (RESET, TRANSITION, REWARD, TERMINATING, VISIBILITY)
    systems = [(name, REGISTRIES[phase][name]) for phase in phases for name in REGISTRIES[phase]]
    known = [name for name, _ in systems if ":" not in name]
    built_in = [name for name, rule in systems if is_rule_package(rule.function.__module__)]
    assert sorted(listed) == sorted(
        name for name in built_in if name not in ("from_map", "note_starts")
    )
    assert set(listed) <= set(known)


@pytest.mark.parametrize(
    "entry", of_phases(), ids=lambda entry: entry.example.split(":")[0] + entry.name
)
def test_every_example_loads(entry):
    text = entry.example
    for nested, told in NESTING.items():
        text = text.replace(nested, told)
    level = {**LEVEL, **yaml.safe_load(text)}
    if "reset_function" in level:
        del level["map"]
    if entry.place.startswith("systems/absence.py"):
        level |= {"agents": 2, "map": "####\n#><#\n#E.#\n####\n"}
    Scenario.load(level)


def test_every_entry_says_something():
    for title, entries in CHAPTERS:
        assert entries, title
        for entry in entries:
            is_sentence = entry.summary.endswith((".", "?", ")"))
            assert is_sentence or title == "Map characters" or " " in entry.summary


def test_the_page_is_what_the_sources_say():
    written = Path("docs/reference.md").read_text(encoding="utf-8")
    assert written == "\n".join(format_reference_page(CHAPTERS)) + "\n", "run `make reference`"


def test_the_command_tells_one(capsys):
    assert main(["rules", "getting_closer"]) == 0
    said = capsys.readouterr().out
    assert "distance_function\tmanhattan, euclidean" in said
    assert "systems/reward.py:" in said
    assert main(["rules", "spawn"]) == 0
    assert "w.spawn(kind)" in capsys.readouterr().out
    assert main(["rules", "get_closer"]) == 2
    assert "did you mean 'getting_closer'" in capsys.readouterr().err


def test_the_command_finds_what_tells_of_a_word(capsys):
    assert main(["rules", "ice"]) == 1  # no topic of this name
    said = capsys.readouterr().out
    assert "\nslide\t" in said
    assert "gallery/ice.yaml" in said.replace("\\", "/")
    assert "dice" not in said
    assert main(["rules", "xyzzy"]) == 2
    assert "none mentions it; `gv-engine rules` shows all" in capsys.readouterr().err


def test_the_command_lists_all(capsys):
    assert main(["rules"]) == 0
    said = capsys.readouterr().out
    for name in ("keydoor", "move_agent", "raytracing", "Telepod", "w.place", "all_with", "put"):
        assert f"\n{name}\t" in said, name
    lines = said.splitlines()
    assert all(f"{title}\t" in lines for title, _ in CHAPTERS)
