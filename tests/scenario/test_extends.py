"""Scenarios that extend others: what is merged, what is replaced, whose Python runs."""

from pathlib import Path

import pytest

from gv_engine import RESET, REWARD, Scenario, ScenarioError
from gv_engine.cli import main
from gv_engine.play.session.sprite_paths import sprite_sources
from gv_engine.rules.errors import TrustError
from gv_engine.scenario.documents import document
from tests.scenario.reading import assert_refused

BASE = """\
max_steps: 50
map: |
  ####
  #>E#
  ####
transition_functions: [move_agent, ./rules.py:wink]
reward_functions:
  - reach_exit
  - {name: living_reward, reward: -1}
  - {name: overlap, object_type: Exit}
  - {name: overlap, object_type: Wall}
terminating_function: reach_exit
observation_function: {name: fully_transparent, area: [[-2, 0], [-1, 1]]}
"""
RULES = """\
from gv_engine import TRANSITION, World, system

@system(TRANSITION)
def wink(w: World) -> None:
    '''Nothing happens.'''
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "rules.py").write_text(RULES)
    (folder / "scenario.yaml").write_text(BASE)
    return folder


def beside(base: Path, text: str, name: str = "child", of: str = "scenario") -> Path:
    """A file that extends another one."""
    file = base / f"{name}.yaml"
    file.write_text(f"extends: {of}.yaml\n{text}")
    return file


def test_lists_change_by_name_or_are_replaced(base):
    text = """\
reward_functions:
  reach_exit: {reward_on: 7}
  living_reward: null
  overlap_2: {reward_on: 3}
  bump_into_wall: {reward: -2}
"""
    child = Scenario.load(beside(base, text))
    told = {call.name: call.arguments for call in child.calls(REWARD)}
    assert child.reward_names == ("reach_exit", "overlap", "overlap_2", "bump_into_wall")
    assert [told["reach_exit"]["reward_on"], told["bump_into_wall"]["reward"]] == [7, -2]
    first, second = child.calls(REWARD)[1:3]
    assert first.arguments["reward_on"] != second.arguments["reward_on"] == 3
    replaced = Scenario.load(beside(base, "reward_functions: [bump_into_wall]\n"))
    assert replaced.reward_names == ("bump_into_wall",)


def test_another_function_brings_its_own_parameters(base):
    text = "observation_function: {name: raytracing, area: [[-2, 0], [-1, 1]], threshold: 2}\n"
    assert Scenario.load(beside(base, text)).visibility.arguments["threshold"] == 2
    text = "observation_function: {name: partially_occluded, area: [[-1, 0], [0, 0]]}\n"
    grandchild = Scenario.load(beside(base, text, "grandchild", of="child"))
    assert grandchild.visibility.name == "partially_occluded"
    assert grandchild.document.bases[1].file.name == "scenario.yaml"


def test_a_level_replaces_a_level(base):
    child = Scenario.load(beside(base, "reset_function: {name: empty, shape: [4, 4]}\n"))
    assert child.calls(RESET)[0].name == "empty"
    again = Scenario.load(beside(base, "map: |\n  ###\n  #>E\n", "again", of="child"))
    assert again.calls(RESET)[0].name == "from_map"


def test_what_is_built_in_can_be_extended(tmp_path):
    file = tmp_path / "larger.yaml"
    file.write_text("extends: keydoor-9x9\nparameters: {size: 12}\n")
    assert Scenario.load(file).layout.height >= 12
    assert Scenario.load(file, size=20).layout.height >= 20
    file.write_text("domain: algebra\nextends: mathy-complex-simplify-easy\ndifficulty: hard\n")
    assert main(["check", str(file), "--episodes", "1"]) == 0
    file.write_text("extends: pogema-benchmark-mapf\n")  # a file of its own is a default
    assert Scenario.load(file).calls(RESET)[0].name == "start_instance"


CHANGE = "extends: scenario.yaml\nreward_functions:"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("extends: nothing.yaml", "child.yaml:1: extends: .*nothing.yaml: no such file"),
        (
            "extends: keydoor",
            r"child.yaml:1: extends: keydoor: no scenario of this name; did you mean 'keydoor-",
        ),
        ("extends: large.yaml", "the files that a scenario extends are at most 512 KiB together"),
        ("extends: scenario.yaml\nmax_steps: 0", "child.yaml:2: max_steps: found 0"),
        (f"{CHANGE} {{living: null}}", "child.yaml:2: .*no 'living' to remove; did you"),
        (f"{CHANGE} {{reach_exit: 5}}", "found 5, expected a mapping of changes"),
        ("extends: scenario.yaml#small", "no variant 'small'"),
    ],
)
def test_mistakes_are_told_where_they_stand(base, text, said):
    (base / "child.yaml").write_text(text + "\n")
    (base / "large.yaml").write_text(f"extends: larger.yaml\n#{'x' * 300_000}\n")
    (base / "larger.yaml").write_text(f"{BASE}\n#{'x' * 300_000}\n")
    with pytest.raises(ScenarioError, match=said):
        Scenario.load(base / "child.yaml")


def test_mistakes_in_what_is_extended_are_told_there(base):
    for text, says in (
        (BASE.replace("max_steps: 50", "max_stepz: 50"), "scenario.yaml:1: max_stepz: unknown key"),
        (f"extends: child.yaml\n{BASE}", "itself"),
    ):
        (base / "scenario.yaml").write_text(text)
        assert_refused(says, beside(base, "max_steps: 9\n"))


def test_python_elsewhere_runs_if_it_is_trusted(base, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "mine.yaml").write_text("extends: ../base\nmax_steps: 9\n")
    with pytest.raises(TrustError, match=r"base/rules.py:wink: not loaded, it belongs to a"):
        Scenario.load(folder / "mine.yaml")
    child = Scenario.load(folder / "mine.yaml", trust=True)
    assert [child.max_steps, len(child.code)] == [9, 1]
    assert base in sprite_sources(child)
    assert {base / "rules.py", base / "scenario.yaml"} <= set(child.watched_files())
    (tmp_path / "above.yaml").write_text("extends: base/scenario.yaml\n")
    assert Scenario.load(tmp_path / "above.yaml").code  # below, it runs


@pytest.mark.thorough
def test_check_tells_what_differs(base, capsys):
    text = "max_steps: 9\nreward_functions: {living_reward: {reward: -3}, reach_exit: null}\n"
    assert main(["check", str(beside(base, text)), "--quick", "--episodes", "1"]) == 0
    said = capsys.readouterr().out
    assert "max_steps: 50, now 9" in said
    assert "reward_functions.living_reward.reward: -1, now -3" in said
    assert "reward_functions.reach_exit: 'reach_exit' is left out" in said


def test_what_is_not_said_is_that_of_the_base_which_is_read_again(base):
    child = Scenario.load(beside(base, ""))
    assert [child.name, child.max_steps] == ["child", 50]
    assert child.reward_names == Scenario.load(base).reward_names
    (base / "scenario.yaml").write_text(BASE.replace("max_steps: 50", "max_steps: 70"))
    assert child.reload().max_steps == 70


def chain(folder: Path, number: int) -> Path:
    """So many files, of which each extends the one before; the last one of them."""
    (folder / "0.yaml").write_text(BASE.replace(", ./rules.py:wink", ""))
    for k in range(1, number):
        (folder / f"{k}.yaml").write_text(f"extends: {k - 1}.yaml\n")
    return folder / f"{number - 1}.yaml"


def test_a_scenario_extends_at_most_twenty_files(tmp_path: Path):
    assert Scenario.load(chain(tmp_path, 21)).max_steps == 50
    assert_refused("0.yaml extends this scenario itself", chain(tmp_path, 22))


def test_the_files_that_a_scenario_extends_count_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    last = chain(tmp_path, 4)
    bases = sum((tmp_path / f"{k}.yaml").stat().st_size for k in range(3))
    monkeypatch.setattr(document, "MAX_SCENARIO_BYTES", bases)
    assert Scenario.load(last).max_steps == 50
    monkeypatch.setattr(document, "MAX_SCENARIO_BYTES", bases - 1)
    assert_refused("the files that a scenario extends are at most", last)
