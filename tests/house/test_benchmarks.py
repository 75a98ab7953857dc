"""The benchmark's own parts; no figure is judged here."""

from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import claims, comparison, goals, report, roster
from benchmarks.comparison import Comparison, Worker
from benchmarks.peers import PeerError
from benchmarks.results import sb3
from benchmarks.results.__main__ import find_row
from benchmarks.roster import Entry
from benchmarks.worker import find_maker
from gv_engine.cli import create_parser

pytestmark = pytest.mark.slow

SMALL = Entry("small", "gv_vector", {"worlds": 3}, ("step", "reset", "memory", "start"))


@pytest.mark.thorough
def test_workers_answer_and_say_why_they_fail():
    worker = Worker(SMALL, SMALL.settings, cores=1)
    assert all(seconds > 0 for seconds in worker.started)
    about = worker.ask("about", ["numpy", "nothing-like-it==1.2"])
    assert about["worlds"] == 3
    assert about["versions"] == {"numpy": np.__version__, "nothing-like-it": "1.2"}
    assert all(rate > 0 for rate in worker.ask("step", 0.001))
    assert all(rate > 0 for rate in worker.ask("reset", 0.001))
    worker.close()
    with pytest.raises(PeerError, match="nowhere"):
        Worker(SMALL, {"view": "nowhere"})


@pytest.mark.thorough
def test_who_fails_is_out(monkeypatch: pytest.MonkeyPatch):
    entries = {"good": SMALL._replace(measures=("step",)), "bad": SMALL._replace(function="none")}
    monkeypatch.setattr(comparison, "ROSTER", entries)
    found = Comparison(["bad", "good"], rounds=2, seconds=0.001)
    found.run()
    assert "none" in found.results["bad"]["failed"]
    assert len(found.results["good"]["step"]) == 2


def test_names_fit_together():
    assert all(callable(find_maker(entry.function)) for entry in roster.ROSTER.values())
    for claim in claims.CLAIMS:
        of = (claim.of,) if isinstance(claim.of, str) else claim.of
        for name in filter(None, (*of, claim.over)):
            assert claim.what in roster.ROSTER[name].measures, claim.text


def test_goals_are_what_train_takes():
    for goal in goals.GOALS:
        words = "train", goal.scenario, "--levels", "train", *goal.words.split()
        assert create_parser().parse_args(words).steps >= 100_000


def test_a_goal_is_reached_by_the_median(capsys: pytest.CaptureFixture[str]):
    goal = goals.Goal("keydoor-5x5", 0.98, 8, "--steps 100000")
    found = [goals.Attempt(5, 4, 1.0), goals.Attempt(7, 6, 0.99), goals.Attempt(60, 50, 0.5)]
    assert goals.print_row(goal, found)
    assert "| 99.0% | 50.0% | 6.0 s | 50.0 s | 7.0 s | yes |" in capsys.readouterr().out
    assert not goals.print_row(goal._replace(seconds=5), found)
    assert not goals.print_row(goal._replace(success=1.0), found)
    assert goals.print_row(goal._replace(seconds=None), found)


def test_stable_baselines3_gets_the_settings_of_a_row():
    settings = sb3.make_settings(find_row("zoo/RedBlueDoors-6x6").config)
    assert [settings[name] for name in ("n_steps", "batch_size", "n_epochs")] == [512, 64, 10]
    assert settings["ent_coef"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--only nobody", "nobody"),
        ("--write --only floor", "--write wants everything measured"),
        ("--package nothing=here", "expected the name of a package"),
        ("--package minigrid", "expected the name of a package"),
    ],
)
def test_wrong_arguments(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", *arguments.split()])
    with pytest.raises(SystemExit):
        command.main()
    assert message in capsys.readouterr().err


@pytest.fixture
def results() -> dict[str, Any]:
    engine = {"task": "key-door", "worlds": 4096, "versions": {"llvmlite": "0.50"}}
    peer = {"task": "DoorKey", "worlds": 1, "versions": {"minigrid": "3.2"}}
    steps = {"step": [[2e6, 2e6], [3e6, 3e6], [9e6, 9e6]]}
    return {
        "gv-engine": engine | steps | {"reset": [[900, 900]], "growth": [3 * 2**20]},
        "gv-16384": engine | steps,
        "gv-2-threads": engine | {"step": [[2e6, 4e6], [3e6, 6e6], [9e6, 9e6]]},
        "minigrid": peer | {"reset": [[10, 10]], "step": [[1e4, 1e4], [1e4, 1e4], [1e4, 1e4]]},
        "griddly": {"failed": "no wheel"},
        "gv-keydoor-5": engine | {"step": [[10.0, 0]]},
        "gv-keydoor-7": engine | {"step": [[20.0, 0]]},
        "gv-keydoor-9": engine | {"step": [[20.0, 0]]},
        "gv-sizes": engine | {"step": [[5.0, 0]]},
        "gv-restore": engine | {"step": [[1e5, 0]]},
    }


def test_claims_are_ratios_of_rounds(results: dict[str, Any]):
    found = {text: rest for text, *rest in claims.check_claims(results)}
    assert found == {
        "resets, of MiniGrid": ["≥ 100x", "90x", "", "NO"],
        "two threads to one": ["≥ 1.8x", "2x", "1–2", "undecided"],
        "cost of a mixture to the mean of its members": ["≤ 1.1x", "3x", "", "NO"],
        "restore of one world": ["≤ 15 µs", "10 µs", "", "yes"],
        "growth in ten million steps": ["≤ 1 MiB", "3 MiB", "", "NO"],
    }


def test_claims_are_decided_by_intervals():
    rounds = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
    low, high = claims.bootstrap_interval(rounds)
    assert 1.0 <= low < 1.3 < high <= 1.6
    assert claims.bootstrap_interval([2.0]) == (2.0, 2.0)
    assert claims.bootstrap_interval(rounds * 20) > (low, 0)


def test_tables_are_shown_and_a_page_is_renewed_between_its_markers(results, tmp_path, capsys):
    report.print_tables(results)
    assert "MiniGrid" in capsys.readouterr().out
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}outdated\n{report.END}after\n", "utf-8")
    for _ in range(2):
        report.write_tables(results, page)
        text = page.read_text("utf-8")
        assert text.startswith(f"before\n{report.BEGIN}")
        assert text.endswith(f"{report.END}after\n")
        assert "outdated" not in text
        assert text.count("| MiniGrid | DoorKey | 1 | 10,000 | 300x | 10 |") == 1
        assert text.count("| two threads, 16,384 worlds | 3,000,000 |") == 1
        assert "llvmlite 0.50, minigrid 3.2." in text
        assert "| Griddly | not here: no wheel |" in text
    page.write_text("no markers\n", "utf-8")
    with pytest.raises(ValueError, match="measured"):
        report.write_tables(results, page)
