"""`gv-engine new` and `gv-engine check`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.cli.check import _sample_levels, find_levels, find_sources
from gv_engine.compiler import programs
from gv_engine.rules.errors import DoesNotCompileError
from tests import ROOT
from tests.cli.shell import RULE, write

pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_new_is_sound_from_the_start(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["new", "my-cave", "--folder", "levels"]) == 0
    folder = Path("levels", "my-cave")
    assert "gv-engine play levels/my-cave" in capsys.readouterr().out.replace(os.sep, "/")
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md",
        "rubble_cracked.svg",
        "rubble_whole.svg",
        "rules.py",
        "scenario.schema.json",
        "scenario.yaml",
        "test_my_cave.py",
    ]
    assert "{{" not in (folder / "README.md").read_text()
    assert main(["check", str(folder)]) == 0
    assert "hit_rubble\tlevels/my-cave/rules.py" in capsys.readouterr().out.replace(os.sep, "/")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(folder)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("name", "part"), [("cave", "exists already"), ("a b", "is no name")])
def test_new_refuses(here: Path, name: str, part: str, capsys: pytest.CaptureFixture[str]):
    Path("cave").mkdir()
    assert main(["new", name]) == 2
    assert part in capsys.readouterr().err
    assert not list(Path("cave").iterdir())


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["keydoor-9x9", "empty-4x4"])
def test_check_finds_nothing_in_what_is_right(name: str, capsys: pytest.CaptureFixture[str]):
    assert main(["check", name, "--episodes", "2"]) == 0
    said = capsys.readouterr().out
    assert "TRANSITION\tmove_agent\tsystems" in said
    assert "object world equals compiled world" in said


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels are played, and searched, over objects alone."""

    def refuse(scenario: Scenario) -> None:
        raise DoesNotCompileError("not here")

    monkeypatch.setattr(programs, "check_compilable", refuse)


@pytest.fixture(params=["object", "compiled"])
def worlds(request: pytest.FixtureRequest) -> None:
    """Levels are played over objects alone, or in both worlds."""
    if request.param == "object":
        request.getfixturevalue("uncompiled")


LAMP = "LAMP = object_type('Lamp')\n"


@pytest.mark.sample("object-", "no more")
@pytest.mark.parametrize(
    ("more", "code", "part"),
    [
        ("", RULE + "    w.position.x[w.at[0, 0]] = 3\n", "has the position (0, 3)"),
        ("", RULE + "    w.at[1, 3] = 0\n", "Exit) has the position (1, 3)"),
        ("", RULE + "    w.agent.holding[agent] = 40\n", "agent.holding[1] is 40, which has been"),
        ("", RULE + "    w.agent.holding[agent] = w.at[0, 0]\n", "which also stands on the grid"),
        ("", RULE + "    w.position.y[agent] = -1\n", "a rule has put the agent outside the grid"),
        ("", RULE + "    w.fail('no more')\n", "no more"),
        (
            "state_space: {objects: [Wall, Floor, Exit]}",
            LAMP + RULE + "    if w.at[1, 2] == 0:\n        w.place(w.spawn(LAMP), 1, 2)\n",
            "Lamp stands on the grid, which state_space.objects does not list",
        ),
        (
            "observation_space: {objects: [Wall, Floor]}",
            RULE + "    pass\n",
            "Exit is seen, which observation_space.objects does not list",
        ),
        (
            "observation_space: {colors: [NONE]}",
            RULE + "    w.color.value[w.at[1, 3]] = 2\n",
            "the colour GREEN is seen, which observation_space.colors does not list",
        ),
    ],
)
def test_check_finds(
    here: Path, worlds: None, more: str, code: str, part: str, capsys: pytest.CaptureFixture[str]
):
    write(here, "./rules.py:rule", more, code)
    assert main(["check", "."]) == 1
    said = capsys.readouterr().err
    assert part in said
    assert "seed 0, step " in said


def test_check_finds_a_difference(here: Path, capsys: pytest.CaptureFixture[str]):
    code = """
@component
class Count:
    value: Int8 = 127
COUNTER = object_type("Counter", Count)
@system(TRANSITION)
def rule(w, agent):
    if w.at[1, 2] == 0:
        w.place(w.spawn(COUNTER), 1, 2)
    w.count.value[w.at[1, 2]] += 1
"""
    write(here, "./rules.py:rule", "", code)
    assert main(["check", "."]) == 1
    assert "w.count.value: Python integer 128" in capsys.readouterr().err


def test_check_says_what_does_not_compile(here: Path, capsys: pytest.CaptureFixture[str]):
    code = RULE + "    {i: [] for i in 'ab'}['a'].append(object())\n"
    write(here, "./rules.py:rule", "", code)
    assert main(["check", "."]) == 0
    said = dict(line.rsplit("\t", 1) for line in capsys.readouterr().out.splitlines())
    assert said["compiles"].startswith("no: ")
    assert said["found"] == "nothing wrong"


def test_check_lists_the_rules_within_others(here: Path, capsys: pytest.CaptureFixture[str]):
    write(here, code="@system(TERMINATING)\ndef tired(w, agent):\n    return w.steps > 9\n")
    file = here / "scenario.yaml"
    text = file.read_text()
    both = "{name: reduce_any, terminating_functions: [reach_exit, ./rules.py:tired]}"
    start = text.index("terminating_function: ")
    file.write_text(f"{text[:start]}terminating_function: {both}\n")
    assert main(["check", ".", "--episodes", "1"]) == 0
    said = capsys.readouterr().out
    assert "TERMINATING\treduce_any\tsystems" in said
    assert "TERMINATING\t  tired\trules.py:3" in said


@pytest.mark.parametrize("text", ["hello", "<svg"])
def test_a_drawing_that_is_none_is_told(
    here: Path, uncompiled: None, text: str, capsys: pytest.CaptureFixture[str]
):
    write(here, "./rules.py:rule", code=LAMP + RULE + "    pass\n")
    (here / "lamp.svg").write_text(text)
    assert main(["check", ".", "--episodes", "1"]) == 1
    assert "lamp.svg: no SVG drawing" in capsys.readouterr().err
    lit = RULE + "    if w.at[1, 2] == 0:\n        w.place(w.spawn(LAMP), 1, 2)\n"
    write(here, "./rules.py:rule", code=LAMP + lit)
    assert main(["record", ".", "lamp.png", "--steps", "1"]) == 1
    assert "lamp.svg: no SVG drawing" in capsys.readouterr().err


def test_check_tells_of_drawings_that_are_not_there(
    here: Path, uncompiled: None, capsys: pytest.CaptureFixture[str]
):
    write(here, "./rules.py:rule", code=LAMP + RULE + "    pass\n")
    missing = "drawing\tno lamp.svg beside the scenario, so it looks like ?"
    assert main(["check", ".", "--episodes", "1"]) == 0
    assert f"{missing}\n" in capsys.readouterr().out
    (here / "Lamp.svg").write_text("<svg></svg>")
    assert main(["check", ".", "--episodes", "1"]) == 0
    said = f"{missing}; did you mean 'Lamp.svg'? (there are: Lamp.svg)\n"
    assert said in capsys.readouterr().out


@pytest.mark.thorough
def test_other_values_of_parameters_are_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "hall.yaml"
    file.write_text("""\
parameters: {size: {default: 9, min: 5, max: 20}}
room: [$size, $size]
place: [Exit, {agent: any}, {object: MovingObstacle, count: 9}]
transition_functions: [move_agent, move_obstacles]
reward_functions: [reach_exit]
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}
terminating_function: reach_exit
""")
    assert main(["check", str(file), "--quick"]) == 1
    told = capsys.readouterr()
    assert "size=20" in told.out
    assert "with --set size=5: " in told.err
    assert "no free cell is left" in told.err
    assert main(["check", str(file), "--quick", "--set", "size=20"]) == 0


def test_a_sample_of_a_packs_levels_is_checked(capsys: pytest.CaptureFixture[str]):
    """The same for the same seed, in their order."""
    shown = []
    for seed in ("1", "1", "2"):
        assert main(["check", "puzzles-easy", "--sample", "2", "--quick", "--seed", seed]) == 0
        out = capsys.readouterr().out
        assert out.count("phase\tsystem") == 3  # the pack, and two levels
        shown.append(_sample_levels("puzzles-easy", 2, int(seed)))
    assert shown[0] == shown[1] != shown[2]
    assert shown[0][1:] == sorted(shown[0][1:], key=find_levels("puzzles-easy").index)
    assert _sample_levels("puzzles-easy", 999, 0) == find_sources("puzzles-easy")
    assert main(["check", "keydoor-5x5", "--sample", "2"]) == 2
    assert (
        "--sample chooses levels of a pack, and keydoor-5x5 is not a pack"
        in capsys.readouterr().err
    )
