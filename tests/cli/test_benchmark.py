"""`gv-engine benchmark`, with parts that take no time but for one."""

from pathlib import Path

import pytest

from gv_engine.cli import main
from gv_engine.plugins.learning.benchmark.entry import (
    TESTED,
    BenchmarkEntry,
    EntryPart,
    find_scenario,
)
from gv_engine.plugins.learning.benchmark.runner import PartRunner
from tests.learning.drawn import drawn

WORDS = ["--scenario", "keydoor-?x?", "--seeds", "0:2"]


@pytest.fixture(autouse=True)
def made(tmp_path, monkeypatch) -> list[tuple[str, int]]:
    """The parts that were made, by which nothing is played."""
    found: list[tuple[str, int]] = []

    def part(making: PartRunner, scenario: str, seed: int) -> EntryPart:
        if len(found) == 3 and (scenario, seed) not in found:
            found.append((scenario, seed))
            raise KeyboardInterrupt
        found.append((scenario, seed))
        digest = find_scenario(scenario).identity.digest
        return EntryPart(scenario, seed, digest, (seed,) * TESTED)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PartRunner, "run", part)
    return found


def test_it_goes_on_where_it_was_stopped(made, capsys):
    assert main(["benchmark", "mine", "--policy", "random", *WORDS]) == 130
    told = "interrupted: mine has 3 of 6 parts; run the same command to continue"
    assert told in capsys.readouterr().err
    assert main(["benchmark", "mine", *WORDS]) == 0
    levels = ["keydoor-5x5", "keydoor-7x7", "keydoor-9x9"]
    asked = [(level, seed) for level in levels for seed in range(2)]
    assert made == [*asked[:4], *asked[3:]]
    assert [*BenchmarkEntry.read(Path("mine")).read_parts()] == asked
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("\t")[0] == "scenario"
    assert lines[1:] == [f"{level}\t200\t–\t50.0 (0.0–100.0), 2 of 10" for level in levels]
    made.clear()
    assert main(["benchmark", "mine", *WORDS]) == 0
    assert not made


def test_parts_of_a_scenario_that_has_changed_are_made_again(made, capsys):
    words = ["benchmark", "mine", "--scenario", "keydoor-5x5", "--seeds", "0:2"]
    assert main([*words, "--policy", "valid"]) == 0
    BenchmarkEntry.read(Path("mine")).append(EntryPart("keydoor-5x5", 1, "ab" * 32, (3,) * TESTED))
    made.clear()
    capsys.readouterr()
    assert main(["benchmark", "mine", "--show"]) == 0
    told = "mine holds results of older versions of keydoor-5x5 (1); measure them again"
    assert told in capsys.readouterr().err
    assert main(words) == 0
    assert made == [("keydoor-5x5", 1)]
    assert not capsys.readouterr().err


def test_an_entry_runs_the_code_that_was_named_alone(made, capsys):
    own = Path("own.py")
    own.write_text("def act(observation, info, rngs): return 0\n")
    words = ["benchmark", "mine", *WORDS[:2], "--seeds", "0:1"]
    named = [*words, "--policy", "./own.py:act"]
    assert main(named) == main(named) == 0
    made.clear()
    assert main(words) == 2
    assert "which runs only if you name it: add --policy ./own.py:act" in capsys.readouterr().err
    own.write_text("def act(observation, info, rngs): return 1\n")
    assert main([*named, "--seeds", "1:2"]) == 2
    assert "mine has parts of another version of ./own.py:act" in capsys.readouterr().err
    assert not made


@pytest.mark.parametrize(
    ("policy", "seeds"),
    [("run", ["--seeds", "0:1"]), ("run:greedy", ["--seeds", "0:1"]), ("solver", [])],
)
def test_a_run_and_the_solver_are_policies_of_an_entry(policy, seeds, made):
    """The solver has one seed."""
    drawn(Path("run"))
    words = ["--policy", policy, "--scenario", "keydoor-5x5", *seeds]
    assert main(["benchmark", "mine", *words]) == 0
    assert made == [("keydoor-5x5", 0)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "mine is no entry: there is no entry.json"),
        (["--policy", "random", "--steps", "9"], "--steps is only for --policy ppo"),
        (["--policy", "random", "--scenario", "keydor-5x5"], "did you mean 'keydoor-5x5'?"),
        (["--policy", "random", "--seeds", "8:12"], "--seeds 8:12: allowed are 0:10"),
        (["--policy", "randon"], "no policy 'randon'; did you mean 'random'?"),
        (["--policy", "."], ". holds no run that is a policy"),
    ],
    ids=["nothing", "steps", "scenario", "seeds", "policy", "run"],
)
def test_what_cannot_be_done_is_told(words, message, made, capsys):
    assert main(["benchmark", "mine", *words]) == 2
    assert message in capsys.readouterr().err
    assert not made
    assert not Path("mine").exists()


def test_an_entry_keeps_its_settings(made, capsys):
    BenchmarkEntry(
        Path("mine"), "Mine", "", "ppo", {"memory": False, "steps": 5, "until": 0.9}
    ).create()
    assert main(["benchmark", "mine", "--steps", "6"]) == 2
    assert "mine was made with --steps 5, not 6; leave it out" in capsys.readouterr().err
    BenchmarkEntry(Path("other"), "Other").create()
    assert main(["benchmark", "other"]) == 2
    assert "other was written by another program; read it with --show" in capsys.readouterr().err
    BenchmarkEntry(Path("wrong"), "Wrong", "", "ppo", {"memory": 1}).create()
    pytest.importorskip("torch")
    assert main(["benchmark", "wrong"]) == 2
    assert "settings of an entry of ppo are memory (bool), steps (int), until" in (
        capsys.readouterr().err
    )
