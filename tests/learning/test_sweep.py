"""Sweeps: what their files say, how they sample and stop trials, and that they continue."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gv_engine.cli import main
from gv_engine.learning import Config, evaluate
from gv_engine.plugins.learning.config import ConfigError
from gv_engine.scenario.domains import Extra

optuna = pytest.importorskip("optuna")
from gv_engine.plugins.learning.sweep import Sweep, SweepConfig  # noqa: E402  # needs Optuna

pytestmark = pytest.mark.usefixtures("here")
BASE = {"scenario": "keydoor-5x5", "search": {"gamma": [0.9, 0.99]}}
SHARES = "gamma", "gae_lambda", "staleness_coef"
RANGE = {"low": 1e-4, "high": 1e-2, "log": True}


def test_a_file_is_a_sweep(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(
        "scenario: keydoor-5x5\nconfig: {steps: 2048}\nseeds: 2\nlevels: test\n"
        "search:\n  learning_rate: {low: 1e-4, high: 1e-2, log: true}\n  learner: [ppo, pqn]\n"
    )
    found = SweepConfig.read(file, 7)
    search = {"learning_rate": RANGE, "learner": ["ppo", "pqn"]}
    assert (found.search, found.config) == (search, {"steps": 2048})
    assert (found.sampler, found.trials, found.seeds, found.levels) == ("tpe", 7, 2, "test")
    assert [config.learner for config in found.configs()] == ["ppo", "ppo", "ppo", "pqn"]
    assert (SweepConfig.read(file).trials, SweepConfig.from_values(BASE).trials) == (20, 2)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"scenario": ""}, "scenario is missing; docs/learning.md"),
        ({"search": {}}, "search is missing"),
        ({"search": [1]}, r"search is \[1\]; expected settings and values"),
        ({"search": {"gama": [1]}}, "search: no setting 'gama'; did you mean 'gamma'"),
        ({"search": {"seed": [1]}}, "search: no setting 'seed'"),
        ({"config": {"device": "cpu"}}, "config: no setting 'device'"),
        ({"config": {"gamma": 1}}, "gamma is in config and in search: leave it out of one"),
        ({"search": {"gamma": 0.9}}, r"search.gamma: found 0.9; expected a list, as \[1e-3"),
        ({"search": {"gamma": []}}, r"search.gamma: found \[\]; expected a list"),
        ({"search": {"gamma": [0.9, 2]}}, "search.gamma: gamma is 2; expected a number from 0"),
        ({"search": {"gamma": {"low": 0.9}}}, "search.gamma: found .*; expected a list"),
        ({"search": {"gamma": {"low": "a", "high": 1}}}, "search.gamma: gamma is 'a'; expected"),
        ({"search": {"gamma": {"low": 1, "high": 0.5}}}, "search.gamma: .*low=1.*high=0.5"),
        ({"search": {"gamma": {**RANGE, "low": 0}}}, "search.gamma: .*log"),
        ({"search": {"gamma": {**RANGE, "log": 3}}}, "search.gamma: found"),
        ({"search": {"num_envs": {"low": 2, "high": 4.5}}}, "search.num_envs: .* an integer"),
        ({"sampler": "tpa"}, "no sampler 'tpa'; did you mean 'tpe'"),
        ({"sampler": "grid", "search": {"gamma": RANGE}}, "search.gamma is a range; a grid"),
        (
            {"search": {name: [k / 1000 for k in range(1000)] for name in SHARES}},
            "search has 1,000,000,000 combinations; at most 10,000 can be tried: search fewer",
        ),
        ({"sampler": "random", "trials": 10**9}, "trials is 1000000000; expected an integer from"),
        ({"trials": 3}, "trials is 3; the grid has 2 combinations"),
        ({"trials": 0}, "trials is 0; expected an integer from 1"),
        ({"seeds": True}, "seeds is True; expected an integer"),
        ({"objective": "fun"}, "no objective 'fun'"),
        ({"pruning": 1}, "pruning is 1; expected true or false"),
        ({"levels": 3}, "levels is 3; expected a text"),
        ({"trails": 3}, "no setting 'trails'; did you mean 'trials'"),
    ],
)
def test_wrong_files_are_told_with_the_key(values, says, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(BASE | values))  # JSON is YAML
    with pytest.raises(ConfigError, match=f"a.json: {says}"):
        SweepConfig.read(tmp_path / "a.json")


def opened(path: Path, **values: Any) -> Sweep:
    return Sweep(path, SweepConfig.from_values(BASE | values), "digest", True)


def finish(sweep: Sweep, trial: Any, success: float, **more: float) -> None:
    """Give a trial a result without training."""
    means = {"success": success, "return": 0.0, "length": 5.0, "steps": 9.0, "seconds": 1.0}
    sweep.add_result(trial, {**means, "low": 0.0, "high": 1.0, **more})
    sweep.finish(trial)


def test_the_best_comes_first_and_is_a_configuration(here):
    search = {"gamma": [0.9, 0.99], "learner": ["ppo", "pqn"]}
    sweep = opened(here / "out", search=search, config={"steps": 100}, seeds=1)
    successes = iter([0.5, 0.9, 0.9, 0.2])
    tried = []
    while trial := sweep.next_trial():
        tried.append((trial.params["gamma"], trial.params["learner"]))
        finish(sweep, trial, next(successes), length=9.0 - len(tried))
    assert tried == [(0.9, "ppo"), (0.9, "pqn"), (0.99, "ppo"), (0.99, "pqn")]
    assert [each.number for each in sweep.ranked()] == [2, 1, 0, 3]
    sweep.write_pages()
    assert Config.read(sweep.best_file) == Config(gamma=0.99, learner="ppo", steps=100)
    assert "| trial-2 | 0.99 | ppo | 90.0% |" in sweep.page.read_text()


def test_a_folder_has_one_sweep(here):
    for sweep in (opened(here / "out"), opened(here / "out", trials=1)):
        trial = sweep.next_trial()
        assert trial
        assert (trial.number, trial.params) == (0, {"gamma": 0.9})
    with pytest.raises(ConfigError, match="out has a sweep with another search: put that back"):
        opened(here / "out", search={"gamma": [0.9]})
    with pytest.raises(ConfigError, match="with another version of the scenario"):
        Sweep(here / "out", SweepConfig.from_values(BASE), "other", True)
    for text in ("{}\n{}\n", "[]\n[]\n", "\0"):
        (here / "out/trials.log").write_text(text)
        with pytest.raises(ConfigError, match=r"trials.log cannot be read: "):
            opened(here / "out")
    (here / "mine").mkdir()
    (here / "mine/notes").touch()
    with pytest.raises(ConfigError, match="mine is there already, and no sweep"):
        opened(here / "mine")
    with pytest.raises(ConfigError, match="keydoor-5x5 defines no success; choose return"):
        Sweep(here / "new", SweepConfig.from_values(BASE | {"objective": "success"}), "", False)


def test_a_part_of_a_large_grid_is_tried_in_its_order(here):
    search = {name: [k / 1000 for k in range(1000)] for name in SHARES}
    sweep = opened(here / "out", search=search, trials=2)
    tried = []
    while trial := sweep.next_trial():
        tried.append(trial.params["staleness_coef"])
        finish(sweep, trial, 0.5)
    assert tried == [0.0, 0.001]


@pytest.mark.parametrize("kind", [os.symlink, os.link])
def test_nothing_is_written_through_links(here, kind):
    (here / "out").mkdir()
    outside = here / "outside"
    outside.write_text("mine")
    kind(outside, here / "out/trials.log")
    with pytest.raises(OSError, match=r"trials\.log"):
        opened(here / "out")
    assert outside.read_text() == "mine"
    (here / "out/trials.log").unlink()
    (here / "elsewhere").mkdir()
    for link in ("trial-0", "trial-1/0"):
        (here / "out" / link).parent.mkdir(exist_ok=True)
        (here / "out" / link).symlink_to(here / "elsewhere")
    (here / "out/trials.log").touch()
    sweep = opened(here / "out")
    for name in ("trial-0", "trial-1/0"):
        trial = sweep.next_trial()
        assert trial
        with pytest.raises(OSError, match=f"out/{name} is a symbolic link, not a folder"):
            sweep.run_path(trial, 0)
        finish(sweep, trial, 0.5)


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_what_is_sampled_does_not_depend_on_breaks(here, sampler):
    search = {"learning_rate": RANGE, "num_envs": {"low": 2, "high": 9}, "recurrent": [True, False]}
    values = {"search": search, "sampler": sampler, "trials": 9}
    tried: dict[str, list[Any]] = {}
    for name in ("whole", "broken"):
        sweep, tried[name] = opened(here / name, **values), []
        while trial := sweep.next_trial():
            if name == "broken":
                sweep = opened(here / name, **values)
                trial = sweep.next_trial()
                assert trial
            finish(sweep, trial, trial.params["num_envs"] / 9)
            tried[name].append(trial.params)
    assert tried["whole"] == tried["broken"]
    assert len({each["learning_rate"] for each in tried["whole"]}) == 9
    assert all(type(each["num_envs"]) is int for each in tried["whole"])
    assert all(1e-4 <= each["learning_rate"] <= 1e-2 for each in tried["whole"])


def test_a_trial_below_the_median_is_pruned(here):
    search = {"gamma": [0.9, 0.91, 0.92, 0.93, 0.94]}
    sweep = opened(here / "out", search=search, pruning=True)

    def report(trial: Any, tenth: int, value: float) -> bool:
        metrics = SimpleNamespace(steps=tenth * 10, success_rate=value, episode_return=0.0)
        return sweep.report(trial, 100, SimpleNamespace(metrics=metrics))  # type: ignore[arg-type]

    for value in (0.5, 0.6, 0.7):
        trial = sweep.next_trial()
        assert trial
        assert not any(report(trial, tenth, value) for tenth in range(1, 11))
        finish(sweep, trial, value)
    trial = sweep.next_trial()
    assert trial
    assert not report(trial, 1, float("nan"))
    assert not report(trial, 2, 0.65)
    assert not report(trial, 2, 0.1)  # it is known already
    sweep = opened(here / "out", search=search, pruning=True)
    trial = sweep.next_trial()
    assert trial
    assert trial.number == 3
    assert not report(trial, 2, 0.1)
    assert not report(trial, 10, 0.1)  # too late
    assert not report(trial, 3, 0.1)  # the median compares its best
    finish(sweep, trial, 0.2)
    fresh = sweep.next_trial()
    assert fresh
    assert report(fresh, 3, 0.1)
    assert sweep.finish(fresh) == "trial-4 of 5 trials is finished: gamma 0.94: pruned"
    assert sweep.next_trial() is None
    seeds = [f"{rate} (0% to 100%)" for rate in ("70%", "60%", "50%", "20%")]
    assert [row[-1] for row in sweep.table()[1]] == [*seeds, "pruned"]


def test_a_sweep_needs_optuna(here, monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.setattr(
        Extra, "missing_message", property(lambda self: self.user * (self[1] == "optuna"))
    )
    assert main(["sweep", "rates.yaml"]) == 2
    assert "A sweep" in capsys.readouterr().err


RATES = """
scenario: keydoor-5x5
config: {steps: 1536, num_envs: 16, levels: train}
search: {learning_rate: [1e-3, 2e-3]}
seeds: 2
levels: test
episodes: 5
"""


def results(folder: Path) -> list[Any]:
    """Settings and results of the trials of a sweep, without what the clock says."""
    backend = optuna.storages.journal.JournalFileBackend(str(folder / "trials.log"))
    study = optuna.load_study(study_name="sweep", storage=optuna.storages.JournalStorage(backend))
    trials = study.trials
    for trial in trials:
        for result in trial.user_attrs["results"]:
            del result["seconds"]
    return [(each.params, each.user_attrs["results"], each.intermediate_values) for each in trials]


@pytest.mark.slow
@pytest.mark.compiled
def test_a_sweep_trains_each_run_once_as_train_does(here, capsys):
    torch = pytest.importorskip("torch")
    from gv_engine.plugins.learning.run_folder import Run

    (here / "rates.yaml").write_text(RATES)
    assert main(["sweep", "rates.yaml"]) == 0
    told = capsys.readouterr()
    assert "trial-0 of 2 trials is finished: learning_rate 0.001: success" in told.err
    assert "--config rates-sweep/best.yaml" in told.out
    assert "best settings, by success in test: " in told.out
    assert "levels: test chooses the best trial, so it cannot test that trial" in told.err
    assert "chosen by success in test" in Path("rates-sweep/results.md").read_text()
    first = results(here / "rates-sweep")
    assert [each[0] for each in first] == [{"learning_rate": 1e-3}, {"learning_rate": 2e-3}]
    assert [len(each[1]) for each in first] == [2, 2]
    found = evaluate("rates-sweep/trial-0/1", "keydoor-5x5", "test", episodes=5).success
    assert found
    assert tuple(first[0][1][1][name] for name in ("success", "low", "high")) == found
    assert "{:.0%} ({:.0%} to {:.0%})".format(*found) in told.out
    files = {file: file.stat().st_mtime_ns for file in here.glob("rates-sweep/*/*/*")}
    assert main(["sweep", "rates.yaml"]) == 0
    assert files == {file: file.stat().st_mtime_ns for file in here.glob("rates-sweep/*/*/*")}
    words = "--num-envs", "16", "--steps", "1536", "--levels", "train", "--seed", "1"
    assert main(["train", "keydoor-5x5", *words, "--set-hp", "learning_rate=2e-3"]) == 0
    one, other = (
        Run(here / name).load_checkpoint()["learner"]["net"]
        for name in ("keydoor-5x5-run", "rates-sweep/trial-1/1")
    )
    assert all(torch.equal(one[name], other[name]) for name in one)
    with pytest.raises(SystemExit):
        main(["sweep"])
    assert main(["sweep", "nothing.yaml"]) == 2
    assert "nothing.yaml: nothing.yaml cannot be read" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.sample("0")
@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
@pytest.mark.parametrize("number", range(3))
def test_a_killed_sweep_continues_as_if_it_had_not_been(here, number):
    pytest.importorskip("torch")
    (here / "rates.yaml").write_text(RATES)
    assert main(["sweep", "rates.yaml", "--out", "whole"]) == 0
    command = [sys.executable, "-m", "gv_engine", "sweep", "rates.yaml", "--out", "killed"]
    states = ["trial-0/0/progress.csv", "trial-0/1/run.json", "trial-1/0/checkpoint.pt"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while not (here / "killed" / states[number]).exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert main(["sweep", "rates.yaml", "--out", "killed"]) == 0
    assert results(here / "killed") == results(here / "whole")
    for policy in here.glob("whole/trial-*/*/policy.npz"):
        other = here / "killed" / policy.relative_to(here / "whole")
        assert other.read_bytes() == policy.read_bytes()
