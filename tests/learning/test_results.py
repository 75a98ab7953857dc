"""Rows of published tables, repeated by `python -m benchmarks.results`; needs the extra rl."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.results import __main__ as results
from components.objects import WALL
from gv_engine.envs.rollout.network_spec import ScenarioSpec
from gv_engine.play.validation.solver import Solver, Verdict
from gv_engine.world.simulation import Simulation
from tests import ROOT
from tests.screen import PATIENCE

pytest.importorskip("torch")

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

TABLE = """
title = "Two rows"
[config]
num_envs = 4
num_steps = 16
encoder = "flat"
separate_critic = true
[rows.keys]
scenario = "keydoor-5x5"
steps = 1280
published = [0.9, 0.1]
[rows.boxes]
scenario = "boxes"
steps = 1000
published = [0.5, 0.2]
config = { num_envs = 8 }
"""
SAVING = """
import sys
from pathlib import Path
from benchmarks.results import __main__ as results
from gv_engine.plugins.learning import training
training._CHECKPOINT_SECONDS = 0.0
results.FOLDER, results.EPISODES = Path("tables"), 20
sys.exit(results.main())
"""
"""The command, with a checkpoint after each update."""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "two.toml").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(results, "FOLDER", tmp_path / "tables")
    monkeypatch.setattr(results, "EPISODES", 20)
    return tmp_path / "tables"


def repeat(runs: str, *words: str) -> int:
    arguments = ["results", "two/keys", "--seeds", "2", "--runs", runs, *words]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments)
        return results.main()


def take_results(runs: str) -> list[dict[str, Any]]:
    """Read the results, without what the clock says, and remove their file."""
    path = Path(runs, "two", "keys.json")
    found: list[dict[str, Any]] = json.loads(path.read_text())
    path.unlink()
    assert all(each.pop("cpu_seconds") > 0 for each in found)
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_a_row_that_was_killed_goes_on_and_ends_the_same(tables: Path):
    assert repeat("whole") == 0
    whole = take_results("whole")
    assert [(each["seed"], each["steps"]) for each in whole] == [(0, 1280), (1, 1280)]
    assert whole[0]["return"] != whole[1]["return"]
    command = [sys.executable, "-c", SAVING, "two/keys", "--seeds", "2", "--runs", "part"]
    curve = Path("part/two/keys/0/progress.csv")
    with subprocess.Popen(command, env={"PYTHONPATH": str(ROOT)}) as process:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and process.poll() is None:
            if curve.exists() and len(curve.read_text().splitlines()) > 4:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.01)
    assert process.returncode == -signal.SIGKILL
    assert len(curve.read_text().splitlines()) < 21
    assert repeat("part", "--minutes", "0") == 1  # no time to finish
    assert not Path("part/two/keys.json").exists()
    assert repeat("part") == 0
    assert take_results("part") == whole
    assert repeat("part") == 0  # of finished runs
    assert take_results("part") == whole
    assert not (tables / "two").exists()


def test_a_row_is_repeated_whatever_is_recorded_and_shown_beside_it(tables: Path, capsys):
    recorded = tables / "two" / "keys.json"
    recorded.parent.mkdir()
    seed = {"steps": 1280, "success": 1.0, "cpu_seconds": 36.0}
    recorded.write_text(json.dumps([{**seed, "seed": k, "return": 0.5} for k in (0, 7)]))
    assert repeat("mine", "--seeds", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "two/keys, seed 0: 1,280 of 1,280 steps" in lines
    (own,) = json.loads(Path("mine/two/keys.json").read_text())
    cells = [[each.strip() for each in line.split("|")] for line in lines[-2:]]
    assert [each[4:6] for each in cells] == [
        [f"{own['return']:.3f}", f"{own['return']:.3f}"],
        ["0.500 (0.500 to 0.500)", "0.500"],
    ]
    assert len(json.loads(recorded.read_text())) == 2
    assert repeat("mine", "--seeds", "1", "--record") == 0
    assert [each["return"] for each in json.loads(recorded.read_text())] == [own["return"], 0.5]


def test_the_page_has_each_row_with_its_verdict(tables: Path):
    page = "before\n<!-- table two -->\nold\n<!-- end of two -->\nafter\n"
    lines = results.write_page(page).splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "| keys | 0.900 ± 0.100 | ours | not run | " in lines[4]
    (tables / "two").mkdir()
    seed = {"steps": 1280, "success": 1.0, "cpu_seconds": 1800.0}
    verdicts = []
    for returns in ([0.85, 0.87], [0.1, 0.9], [1.0, 1.02]):
        found = [{**seed, "seed": k, "return": each} for k, each in enumerate(returns)]
        (tables / "two" / "keys.json").write_text(json.dumps(found))
        text = results.write_page(page)
        assert results.write_page(text) == text
        cells = [each.strip() for each in text.splitlines()[4].split("|")]
        assert cells[6:9] == ["2 of 2", "1,280", "1.00"]
        verdicts.append(cells[9])
    assert verdicts == ["inside", "below", "above"]
    assert cells[4].startswith("1.010 (1.000 to 1.020)")
    (tables / "sb3" / "two").mkdir(parents=True)
    (tables / "sb3" / "two" / "keys.json").write_text(json.dumps(found))
    others = results.write_page(page).splitlines()[5]
    assert others.startswith("| keys | 0.900 ± 0.100 | Stable-Baselines3 | 1.010 (")
    assert others.endswith("two/keys --by sb3` |")
    with pytest.raises(ValueError, match=r"results.md: expected the marks of the table two"):
        results.write_page("no table")


def test_a_row_has_the_settings_of_its_table_and_its_own(tables: Path):
    config = results.find_row("two/boxes").config
    assert (config.num_envs, config.num_steps, config.steps) == (8, 16, 1000)
    assert config.encoder == "flat"
    with pytest.raises(SystemExit, match=r"no row 'two/box'; the rows are two/keys, two/boxes"):
        results.find_row("two/box")


def test_the_published_rows_can_be_read():
    _, rows = results.read_table("zoo")
    assert len(rows) == 11
    for row in rows:
        assert row.config.num_envs * row.config.num_steps == 64 * row.config.num_minibatches


HELD_OUT = """
title = "A row that is judged in other levels"
[config]
num_envs = 4
num_steps = 16
[held_out]
wide = "keydoor-9x9"
room = "other.yaml"
[rows.keys]
scenario = "keydoor-5x5"
options = { size = 7 }
steps = 1280
published = [0.25, 1.0]
"""


def test_a_row_with_held_out_levels_stands_with_the_steps_that_it_has(tables: Path, capsys):
    (tables / "two.toml").write_text(HELD_OUT)
    (tables / "other.yaml").write_text("extends: keydoor-9x9\nmax_steps: 9\n")
    seed: Any = None
    for minutes, steps, code in (("0", 64, 1), ("1", 1280, 0)):
        assert repeat("mine", "--seeds", "1", "--minutes", minutes) == code
        (seed,) = json.loads(Path("mine/two/keys.json").read_text())
        assert seed["steps"] == steps
        assert [*seed["held_out"]] == ["wide", "room"]
    lines = capsys.readouterr().out.splitlines()
    cells = [[each.strip() for each in line.split("|")][1:-2] for line in lines[-4:]]
    assert cells[0][:5] == ["curriculum", "seeds", "steps", "wide", "room"]
    assert cells[2] == ["keys, published", "5", "", "0.25", "1.00", ""]
    found = [f"{each:.2f}" for each in seed["held_out"].values()]
    assert cells[3][:5] == ["keys", "1", "1,280", *found]


def test_policies_fit_the_mazes_that_they_are_judged_in():
    row = results.find_row("mazes/accel")
    assert row.config.replay_prob == 0.8
    assert results.find_row("mazes/plr").config.replay_prob == 0.5
    levels = [results.load_level(each) for each in (row.scenario, *row.held_out.values())]
    spec, *others = (ScenarioSpec.of_scenario(each) for each in levels)
    assert len(others) == len(row.published)
    assert [spec.find_mismatch(each) for each in others] == [None] * len(others)


@pytest.mark.thorough
def test_mazes_can_be_won():
    for name in results.find_row("mazes/plr").held_out.values():
        found = Solver(results.load_level(name)).solve(1)
        assert found.verdict is Verdict.WON, name


@pytest.mark.parametrize("seed", range(5))
def test_a_perfect_maze_has_one_way_between_two_cells(seed):
    maze = Simulation(results.load_level("mazes/perfect-maze.yaml"))
    maze.reset(np.random.default_rng(seed))
    is_free = maze.world.cells()[..., 0] != WALL
    assert is_free[1::2, 1::2].all()
    assert is_free.sum() == 2 * is_free[1::2, 1::2].sum() - 1
