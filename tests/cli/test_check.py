"""`gv-engine new` and `gv-engine check`."""

import json
import os
from pathlib import Path

import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.cli.check import _sample_levels, find_levels, find_sources
from gv_engine.compiler import batch_program
from gv_engine.rules.errors import DoesNotCompileError
from tests.cli.shell import RULE, write
from tests.games import LINE, write_counter
from tests.processes import FINDS_TESTS, run_python

pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_new_is_sound_from_the_start(here: Path, capsys):
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
    done = run_python("-m", "pytest", "-q", folder, env=os.environ | FINDS_TESTS, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("cave", "already exists"),
        ("a b", "is not a valid name"),
        *(
            (name, "the name of a built-in level")
            for name in ("coins", "keydoor", "mathy-poly-combine-in-place-easy")
        ),
    ],
)
def test_new_refuses(here: Path, name: str, part: str, capsys):
    Path("cave").mkdir()
    assert main(["new", name]) == 2
    assert part in capsys.readouterr().err
    assert not list(Path("cave").iterdir())


@pytest.mark.sample("counter")
@pytest.mark.parametrize("name", ["counter", "keydoor-9x9", "empty-4x4"])
def test_check_finds_nothing_in_what_is_right(here: Path, name: str, capsys):
    write_counter(here / "counter")
    assert main(["check", name, "--episodes", "2"]) == 0
    said = capsys.readouterr().out
    assert "TRANSITION\tmove_agent\tsystems" in said
    assert "object world equals compiled world" in said


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels are played, and searched, over objects alone."""

    def refuse(scenario: Scenario) -> None:
        raise DoesNotCompileError("not here")

    monkeypatch.setattr(batch_program, "check_compilable", refuse)


@pytest.fixture(params=["object", "compiled"])
def worlds(request: pytest.FixtureRequest) -> None:
    """Levels are played over objects alone, or in both worlds."""
    if request.param == "object":
        request.getfixturevalue("uncompiled")


LAMP = "LAMP = object_type('Lamp')\n"


@pytest.mark.sample("object-")
@pytest.mark.parametrize(
    ("more", "code", "part"),
    [
        ("", RULE + "    w.position.x[w.at[0, 0]] = 3\n", "has the position (0, 3)"),
        ("", RULE + "    w.at[1, 3] = 0\n", "Exit) has the position (1, 3)"),
        ("", RULE + "    w.agent.holding[agent] = 40\n", "agent.holding[1] is 40, which has been"),
        ("", RULE + "    w.agent.holding[agent] = w.at[0, 0]\n", "which also stands on the grid"),
        ("", RULE + "    w.position.y[agent] = -1\n", "a rule has put the agent outside the grid"),
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
def test_check_finds(here: Path, worlds: None, more: str, code: str, part: str, capsys):
    write(here, "./rules.py:rule", more, code)
    assert main(["check", "."]) == 1
    said = capsys.readouterr().err
    assert part in said
    assert "seed 0, step " in said


@pytest.mark.parametrize(
    ("parameters", "part"),
    [({"fails": True}, "no more"), ({"adds": 123}, "w.count.value: 128 does not fit into int8")],
    ids=["error", "difference"],
)
def test_check_finds_what_the_compiled_world_does(here: Path, parameters, part: str, capsys):
    assert main(["check", str(write_counter(here, **parameters))]) == 1
    said = capsys.readouterr().err
    assert part in said
    assert "seed 0, step " in said


def test_check_lists_rules_and_says_what_does_not_compile(here: Path, uncompiled: None, capsys):
    write(here, code="@system(TERMINATING)\ndef tired(w, agent):\n    return w.steps > 9\n")
    file = here / "scenario.yaml"
    both = "{name: reduce_any, terminating_functions: [reach_exit, ./rules.py:tired]}"
    text = file.read_text()
    file.write_text(text.replace("_function: {name: reach_exit}", f"_function: {both}"))
    assert main(["check", ".", "--episodes", "1"]) == 0
    said = capsys.readouterr().out
    assert "TERMINATING\treduce_any\tsystems" in said
    assert "TERMINATING\t  tired\trules.py:3" in said
    assert "compiles\tno: not here\n" in said
    assert "found\tnothing wrong\n" in said


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "    distance = 3\n    distanc + 1\n",
            "NameError: name 'distanc' is not defined; did you m",
        ),
        ("    1 // int(w.steps * 0)\n", "ZeroDivisionError: "),
        ("    helper(w)\n", "ValueError: no more keys"),
        (
            "    w.remov(agent)\n",
            "this world has no 'remov'; did you mean 'remove'? (allowed: agent, ",
        ),
    ],
)
def test_check_names_the_line_that_raised(here: Path, body: str, says: str, capsys):
    helper = "\n\ndef helper(w: World) -> None:\n    raise ValueError('no more keys')\n"
    code = RULE + body + helper
    write(here, "./rules.py:rule", code=code)
    line = 2 + (code if "helper" in body else RULE + body).count("\n")  # after two of imports
    assert main(["check", ".", "--quick", "--episodes", "1"]) == 1
    assert f"rules.py:{line}): {says}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("decorator", "says"),
    [
        (
            "@system",
            "@system: found 'rule', expected a phase (RESET, TRANSITION, REWARD, TERMINATIN",
        ),
        ("@system('TRANSITION')", "@system: found 'TRANSITION', expected a phase"),
        ("@system(TRANSITION, when=True)", "@system: when is True, expected a function of the wor"),
    ],
)
def test_a_wrong_decorator_is_told_with_its_line(here: Path, decorator: str, says: str, capsys):
    write(
        here, "./rules.py:rule", code=RULE.replace("@system(TRANSITION)", decorator) + "    pass\n"
    )
    assert main(["check", ".", "--quick"]) == 1
    assert f"rules.py:3: TypeError: {says}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "  #>  #",
            "terminating_function: reach_exit never acts: no map, place or rule ever",
        ),
        ("  #>#E#", "terminating_function: reach_exit is never met: walls are around all that it"),
    ],
)
def test_a_level_that_cannot_end_is_a_fault_with_its_place(here: Path, row: str, says: str, capsys):
    write(here)
    file = here / "scenario.yaml"
    file.write_text(file.read_text().replace("  #> E#", row))
    assert main(["check", ".", "--quick", "--episodes", "1"]) == 1
    told = capsys.readouterr()
    assert f"scenario.yaml:10: {says}" in told.err
    assert "nothing wrong" not in told.out


@pytest.mark.parametrize("text", ["hello", "<svg"])
def test_a_drawing_that_is_none_is_told(here: Path, text: str, capsys):
    lit = RULE + "    if w.at[1, 2] == 0:\n        w.place(w.spawn(LAMP), 1, 2)\n"
    write(here, "./rules.py:rule", code=LAMP + lit)
    (here / "lamp.svg").write_text(text)
    for code, words in (
        (1, ["check", ".", "--quick", "--episodes", "1"]),
        (2, ["record", ".", "lamp.png", "--steps", "1"]),
    ):
        assert main(words) == code
        assert "lamp.svg: no SVG drawing" in capsys.readouterr().err


def test_check_tells_of_drawings_that_are_not_there(here: Path, capsys):
    write(here, "./rules.py:rule", code=LAMP + RULE + "    pass\n")
    missing = "drawing\tno lamp.svg beside the scenario, so it looks like ?"
    assert main(["check", ".", "--quick", "--episodes", "1"]) == 0
    assert f"{missing}\n" in capsys.readouterr().out
    (here / "Lamp.svg").write_text("<svg></svg>")
    assert main(["check", ".", "--quick", "--episodes", "1"]) == 0
    said = f"{missing}; did you mean 'Lamp.svg'? (there are: Lamp.svg)\n"
    assert said in capsys.readouterr().out


@pytest.mark.thorough
def test_other_values_of_parameters_are_begun(here: Path, capsys):
    Path("hall.yaml").write_text("""\
parameters: {size: {default: 9, min: 5, max: 20}}
room: [$size, $size]
place: [Exit, {agent: any}, {object: MovingObstacle, count: 9}]
transition_functions: [move_agent, move_obstacles]
reward_functions: [reach_exit]
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}
terminating_function: reach_exit
""")
    assert main(["check", "hall.yaml", "--quick"]) == 1
    told = capsys.readouterr()
    assert "size=20" in told.out
    assert "with --set size=5: " in told.err
    assert "no free cell is left" in told.err
    assert main(["check", "hall.yaml", "--quick", "--set", "size=20"]) == 0


def test_a_sample_of_a_packs_levels_is_checked(here: Path, capsys, monkeypatch):
    """The same for the same seed, in their order."""
    pack = {name: part for name, part in LINE.items() if name != "map"}
    pack["levels"] = [{"map": f">{'.' * length}E"} for length in range(5)]
    Path("pack.json").write_text(json.dumps(pack))
    one, again, other = (_sample_levels("pack.json", {}, 2, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len(one) == 3  # the pack, and two levels
    assert one == sorted(one, key=["pack.json", *find_levels("pack.json", {})].index)
    assert _sample_levels("pack.json", {}, 999, 0) == find_sources("pack.json", {})
    checked: list[str] = []

    def note(scenario: object, options: object, source: str) -> list[str]:
        checked.append(source)
        return []

    monkeypatch.setattr("gv_engine.cli.check._check_scenario", note)
    assert main(["check", "pack.json", "--sample", "2", "--seed", "1"]) == 0
    assert checked == one
    assert main(["check", "keydoor-5x5", "--sample", "2"]) == 2
    said = "--sample: keydoor-5x5 is not a pack of levels"
    assert said in capsys.readouterr().err


def test_of_a_pack_check_names_levels_and_tests_par(here: Path, uncompiled: None, capsys):
    pack = {name: part for name, part in LINE.items() if name != "map"}
    pack["levels"] = [
        {"map": ">..E", "title": "Three", "par": 3},
        {"map": ">.E", "title": "Two", "par": 3},
        {"map": ">E"},
    ]
    Path("pack.json").write_text(json.dumps(pack))
    assert main(["check", "pack.json", "--episodes", "1"]) == 1
    said = capsys.readouterr()
    levels = [line for line in said.out.splitlines() if line.startswith("pack.json")]
    assert levels == [
        "pack.json",
        "pack.json#1: Three",
        "pack.json#2: Two",
        "pack.json#3: A level",
    ]
    assert "par\t3, as many steps as the shortest solution" in said.out
    told = "pack.json#2: Two: its par is 3, and its shortest solution has 2 steps"
    assert said.err.rstrip().endswith(told)
