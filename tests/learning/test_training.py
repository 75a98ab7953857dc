"""`gv-engine train`, and what it has learned as a policy; needs the extra rl, see `make learn`."""

import csv
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine.cli import create_parser, main, options
from gv_engine.cli.play import begin_session
from gv_engine.envs.level_sets import LevelSet
from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.policy_file import RunError
from gv_engine.plugins.learning.benchmark import runner
from gv_engine.plugins.learning.benchmark.runner import PartRunner
from gv_engine.plugins.learning.cli import train
from gv_engine.plugins.learning.config import ConfigError, Hyperparameters, StopCondition
from gv_engine.plugins.learning.training import resume_training, train_slice
from gv_engine.scenario.scenario import Scenario
from tests import ROOT
from tests.cli.shell import RULE, write
from tests.screen import PATIENCE

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning import evaluate, ppo, training  # noqa: E402
from gv_engine.plugins.learning.run_folder import Run, write_run_files  # noqa: E402

pytestmark = [pytest.mark.usefixtures("here"), pytest.mark.slow, pytest.mark.compiled]

UPDATE = 16 * Hyperparameters.num_steps
"""Steps of an update of 16 worlds."""
WORDS = ["train", "keydoor-5x5", "--max-steps", "20", "--num-envs", "16"]


def trained(out: str, *words: str, updates: int = 4, code: int = 0) -> Path:
    """A run of an easy level, whose episodes are short enough for some to be cut."""
    steps = str(UPDATE * updates)
    assert main([*WORDS, "--steps", steps, "--out", out, *words]) == code
    return Path(out)


def resume(run: str, *words: str, steps: int = 4 * UPDATE) -> int:
    """Go on with a run up to so many steps; return the exit code."""
    return main(["train", "--resume", run, "--steps", str(steps), *words])


def curve(run: Path) -> list[dict[str, str]]:
    """The lines of a run, without what the clock says."""
    with (run / "progress.csv").open() as file:
        return [{**line, "seconds": ""} for line in csv.DictReader(file)]


def weights(run: Path) -> Any:
    return Run(run).load_checkpoint()["learner"]["net"]


def assert_same(one: Path, other: Path) -> None:
    assert curve(one) == curve(other)
    assert len(curve(one)) == 4
    for name, tensor in weights(one).items():
        assert torch.equal(tensor, weights(other)[name]), name


def test_the_report_has_the_success_of_the_policy_that_is_kept(capsys):
    trained("random", "--levels", "test")  # a name that a policy has, too
    report = dict(line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line)
    limited = Scenario.load("keydoor-5x5").with_step_limit(20)
    found = evaluate(Path("random").absolute(), limited, "test", episodes=100)
    assert report["evaluated episodes"] == "100"
    assert found.success
    assert report["evaluated success"] == "{:.1%} ({:.1%} to {:.1%})".format(*found.success)
    assert report["evaluated return, mean"].startswith(f"{found.episode_return.mean:.4g} (")


@pytest.mark.parametrize("words", [(), ("--memory",), ("--threads", "2")], ids=" ".join)
def test_a_seed_repeats_a_run_and_another_does_not(words):
    one, same = trained("one", *words), trained("same", *words)
    assert_same(one, same)
    assert curve(trained("other", *words, "--seed", "1")) != curve(one)


@pytest.mark.parametrize("words", [(), ("--memory",)], ids=" ".join)
def test_a_run_that_is_resumed_goes_on_exactly(words):
    whole, part = trained("whole", *words), trained("part", *words, updates=2)
    assert len(curve(part)) == 2
    assert resume("part") == 0
    assert_same(whole, part)


def test_what_was_learned_after_the_last_checkpoint_is_learned_again():
    whole, part = trained("whole"), trained("part", updates=2)
    shutil.copytree(part, "killed")
    assert resume("part", steps=3 * UPDATE) == 0
    shutil.copy(part / "progress.csv", "killed")  # written before the checkpoint
    assert resume("killed") == 0
    assert_same(whole, Path("killed"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_wait_for_the_update_and_keep_it(number, monkeypatch):
    """Also where they come several times, as from what hands on its own."""
    whole = trained("whole")
    update = ppo.Learner.update

    def interrupted(learner: ppo.Learner) -> Any:
        if learner.metrics.steps == UPDATE:
            signal.raise_signal(number)
            signal.raise_signal(number)
        return update(learner)

    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(ppo.Learner, "update", interrupted)
        patch.setattr(options, "complain", lambda text: signal.raise_signal(number))
        part = trained("part", code=128 + number)
    assert signal.getsignal(signal.SIGTERM) is before
    assert len(curve(part)) == 2
    assert resume("part") == 0
    assert_same(whole, part)


STUCK = """
import sys, time
from gv_engine.cli import main
from gv_engine.plugins.learning import ppo
update = ppo.Learner.update
def stuck(learner):
    while learner.metrics.steps:
        print("stuck", flush=True)
        time.sleep(0.1)
    return update(learner)
ppo.Learner.update = stuck
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_some_time_after_another_waits_no_longer():
    words = [sys.executable, "-c", STUCK, *WORDS, "--out", "part"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        for pause in (0.1, 1.2, 0.0):
            assert process.stdout.readline() == "stuck\n"
            process.send_signal(signal.SIGINT)
            time.sleep(pause)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert (
        "interrupted during an update; part keeps its state after 0 steps; continue with:" in said
    )


def test_nothing_is_told_of_episodes_while_only_short_ones_can_have_ended(capsys):
    """Whoever finds a way has ended, and who does not goes on: all would be a success."""
    limit = str(3 * Hyperparameters.num_steps)
    known = trained("a", "--max-steps", limit, "--until", "0.001", updates=3)
    lines = curve(known)
    for name in ("success_rate", "episode_return"):
        assert [line[name] == "nan" for line in lines] == [True, True, False]
    assert int(lines[1]["episodes"]) > 0
    assert 0 < float(lines[2]["success_rate"]) < 1
    capsys.readouterr()
    unknown = trained("b", "--max-steps", limit, updates=2)
    said = capsys.readouterr()
    assert "b acts with its last weights, not its best" in said.err
    assert f"which takes up to {3 * UPDATE:,} steps" in said.err
    assert "\nsuccess\t" not in said.out
    assert not Run(unknown).load_checkpoint()["best"]


def test_a_run_goes_on_to_its_own_aim(capsys):
    whole, part = trained("whole"), trained("part", "--until", "1")
    for file in whole.iterdir():  # as it was begun and killed
        if file.name != "run.json":
            (part / file.name).unlink(missing_ok=True)
    assert main(["train", "--resume", "part"]) == 0
    assert_same(whole, part)
    capsys.readouterr()
    assert main(["train", "--resume", "part", "--until", "0.5"]) == 0
    aim = f"--steps {UPDATE * 4:,} or --until 0.5 is reached"
    assert f"after {UPDATE * 4:,} steps, {aim}" in capsys.readouterr().err
    assert main(["train", "--resume", "part"]) == 0  # where it was asked for last
    assert f"after {UPDATE * 4:,} steps, {aim}" in capsys.readouterr().err


def test_runs_with_other_aims_do_not_go_on_together(capsys):
    trained("both/0"), trained("both/1", "--until", "0.5")
    assert main(["train", "--resume", "both"]) == 2
    assert "differ in --steps or --until; give both" in capsys.readouterr().err
    words = "--until", "0.5"
    with Run(Path("both/1")).lock():
        assert resume("both", *words, steps=5 * UPDATE) == 2
    assert "both/1 is being learned by another process" in capsys.readouterr().err
    assert resume("both", *words, steps=5 * UPDATE) == 0
    for seed in "01":
        assert Run(Path("both", seed)).stop_condition == StopCondition(UPDATE * 5, 0.5)
    assert main(["train", "--resume", "both"]) == 0


@pytest.mark.parametrize(
    ("aim", "says"),
    [
        (StopCondition(5000, 1), "until is 1; expected None, or a float above 0 and at most 1"),
        (StopCondition(5000, math.nan), "until is nan"),
        (StopCondition(5000.0), "steps is 5000.0; expected an integer from 0"),  # type: ignore[arg-type]
        (StopCondition(-3), "steps is -3"),
    ],
)
def test_no_run_begins_that_could_not_be_read_back(aim, says):
    scenario, largest = Scenario.load("keydoor-5x5"), Hyperparameters(seed=2**62)
    assert Run.create(Path("a"), scenario, largest).settings == largest
    with pytest.raises(RunError, match=f"run cannot begin: {says}"):
        Run.create(Path("run"), scenario, largest, stop_condition=aim)
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ({"steps": -3}, "steps is -3; expected an integer from 0 on"),
        ({"steps": 1.5}, "steps is 1.5; expected an integer"),
        ({"steps": "many"}, "steps is 'many'; expected an integer"),
        ({"until": 7}, "until is 7; expected a number from 0 to 1"),
        ({"until": -1}, "until is -1"),
    ],
)
def test_a_run_is_not_resumed_to_an_end_that_it_cannot_have(end, says):
    run = trained("run")
    before = (run / "run.json").read_bytes()
    with pytest.raises(ConfigError, match=says):
        resume_training(run, **end)
    assert (run / "run.json").read_bytes() == before
    assert resume_training(run, steps=UPDATE * 5, until=1).metrics.steps == UPDATE * 5


def assert_policy_plays(level: str, policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Play a policy that succeeds: the same episodes in any number of worlds, in the window and in
    recordings."""
    for number in ("7", "100"):
        words = "rollout", level, "--episodes", "100", "--num-envs", number
        assert main([*words, "--policy", policy, "--out", number]) == 0
    (one, about), (other, _) = map(episode_folder.read, ("7", "100"))
    assert about["policy"] == policy
    assert one["episode_success"].mean() >= 0.9
    for name, array in one.items():
        assert np.array_equal(array, other[name]), name
    acting = "--policy", policy, "--seed", "0"
    game = begin_session(create_parser().parse_args(["play", level, *acting]))
    assert (game.position, game.length) == (0, int(one["episode_start"][1]))
    capsys.readouterr()
    assert main(["record", level, "a.png", *acting, "--steps", "500"]) == 0
    assert f"{game.length} steps" in capsys.readouterr().out


def test_agents_learn_together_and_what_they_learned_is_a_policy_of_all(capsys):
    command = ["train", "hold-plates", "--steps"]
    assert main([*command, "600000", "--until", "0.97", "--out", "plates"]) == 0
    assert main([*command, "16384", "--num-envs", "16", "--out", "whole"]) == 0
    assert main([*command, "8192", "--num-envs", "16", "--out", "part"]) == 0
    assert resume("part", steps=16384) == 0
    assert curve(Path("part")) == curve(Path("whole"))
    assert_policy_plays("hold-plates", "plates", capsys)


def test_it_learns_key_door_and_what_it_learned_is_a_policy(capsys):
    """Deterministic on one machine, and with a margin on others."""
    assert main(["train", "keydoor-5x5", "--steps", "120000", "--until", "0.99"]) == 0
    assert_policy_plays("keydoor-5x5", "keydoor-5x5-run", capsys)
    successes = episode_folder.read("7")[0]["episode_success"]
    assert successes.mean() >= 0.95


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "SCENARIO is missing"),
        (("keydoor-5x5", "--out", "full"), "gv-engine train --resume full"),
        (("keydoor-5x5", "--resume", "full"), "--resume full keeps the run's own SCENARIO"),
        (("--resume", "full", "--seed", "3"), "--resume full keeps the run's own --seed"),
        (("--resume", "nowhere"), "nowhere holds no run: there is no run.json"),
        (("mathy-poly-simplify-easy",), "train takes only grids"),
        (
            ("keydoor-5x5", "--set", "gamma=0.9"),
            "not a parameter of keydoor-5x5; use --set-hp gamma=0.9",
        ),
    ],
)
def test_bad_input_is_told(words, says, capsys):
    if "full" in words:
        trained("full", updates=1)
    assert main(["train", *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--out", "x"), ("--out", "x", "--seeds", "0:2")], ids=len)
def test_a_run_that_is_refused_leaves_no_folder(words, monkeypatch, capsys):
    monkeypatch.setattr(ppo, "_MAX_WEIGHTS", 1000)
    assert main([*WORDS, *words]) == 2
    assert "weights, and the files of a run hold 1,000" in capsys.readouterr().err
    assert not Path("x").exists()
    with pytest.raises(ConfigError, match="choose a smaller hidden_size"):
        training.train("keydoor-5x5", out="x")
    assert not Path("x").exists()


def test_a_run_that_has_begun_keeps_its_folder_after_an_error(monkeypatch):
    trained("a", updates=1)
    monkeypatch.setattr(ppo, "_MAX_WEIGHTS", 1000)
    assert resume("a") == 2
    assert len(curve(Path("a"))) == 1


def test_damaged_runs_are_told():
    run = trained("a", updates=1)
    whole = (run / "checkpoint.pt").read_bytes()
    about = (run / "run.json").read_text()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (b"", whole[: len(whole) // 2], flipped, b"cos\nsystem\n(S'true'\ntR."):
        (run / "checkpoint.pt").write_bytes(damaged)
        with pytest.raises(RunError, match=r"checkpoint\.pt is damaged"):
            Run(run).load_checkpoint()
    others = {"settings": {"seed": "x"}}, {"levels": "a.json"}, {"format": 1}
    for other in ("{", "[]", *(json.dumps({**json.loads(about), **each}) for each in others)):
        (run / "run.json").write_text(other)
        with pytest.raises(RunError, match=r"run\.json is damaged, or of another version"):
            Run(run)


def test_tensorboard_shows_each_update_once():
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = trained("a", updates=2)
    kept = (run / "checkpoint.pt").read_bytes()
    assert resume("a") == 0
    (run / "checkpoint.pt").write_bytes(kept)  # two updates are made again
    assert resume("a") == 0
    shown = reading.EventAccumulator(str(run)).Reload()
    lines = curve(run)
    steps = [each.step for each in shown.Scalars("episode_return")]
    assert steps == [UPDATE * k for k in (1, 2, 3, 4)]
    for each, line in zip(shown.Scalars("episode_length"), lines, strict=True):
        assert each.value == pytest.approx(float(line["episode_length"]))


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits there")
def test_a_disk_that_is_full_is_told(capsys):
    """As a limit of the size of files."""
    import resource

    whole, part = trained("whole"), trained("part", updates=2)
    kept = (part / "checkpoint.pt").read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept) // 2, before[1]))
    try:
        assert resume("part") == 2
        told = capsys.readouterr().err
        assert f"gv-engine: {part / 'checkpoint.pt'} cannot be written: File too large" in told
        assert (part / "checkpoint.pt").read_bytes() == kept
        Run(part).set_stop_condition(StopCondition(UPDATE * 5))
        size = (part / "progress.csv").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 9, before[1]))
        assert main(["train", "--resume", "part"]) == 2
        told = capsys.readouterr().err
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"gv-engine: {part} cannot be written: File too large" in told
    assert resume("part") == 0
    assert_same(whole, part)


def test_a_run_is_learned_by_one_process_at_a_time_and_once(capsys):
    run = Run(trained("a", updates=1))
    capsys.readouterr()
    with run.lock():
        assert resume("a", steps=2 * UPDATE) == 2
        write_run_files(run.path, run.read_files())  # as they come from a cluster
        assert resume("a", steps=2 * UPDATE) == 2
    assert capsys.readouterr().err.count("gv-engine: a is being learned by another process") == 2
    assert len(curve(run.path)) == 1
    assert resume("a", steps=2 * UPDATE) == 0
    assert len(curve(run.path)) == 2
    assert "steps per second" in capsys.readouterr().out
    assert resume("a", steps=2 * UPDATE) == 0
    said = capsys.readouterr()
    assert "nothing left to learn: after 1,024 steps, --steps 1,024 is reached" in said.err
    assert "per second" not in said.out
    assert "share of" not in said.out


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
@pytest.mark.parametrize(
    "name", ["run.json", "checkpoint.pt", "progress.csv", "policy.npz", "lock"]
)
@pytest.mark.parametrize("put", [os.symlink, lambda _, path: os.mkfifo(path)])
def test_a_run_with_links_or_pipes_does_not_go_on(tmp_path, name, put):
    """The run may be from somebody else."""
    run = Run.create(tmp_path / "a", Scenario.load("keydoor-5x5"), Hyperparameters())
    (tmp_path / "outside").write_text("kept")
    (run.path / name).unlink(missing_ok=True)
    put(tmp_path / "outside", run.path / name)
    with pytest.raises(OSError, match=r"is a|No such device"), run.lock():
        pass
    assert (tmp_path / "outside").read_text() == "kept"
    with pytest.raises(OSError, match="is a"):
        write_run_files(run.path, {name: b"new"})


def test_a_run_whose_checkpoint_is_gone_does_not_begin_again(capsys):
    run = trained("a", updates=1)
    (run / "checkpoint.pt").unlink()
    left = {file.name: file.read_bytes() for file in run.iterdir()}
    capsys.readouterr()
    assert resume("a", steps=2 * UPDATE) == 2
    assert "a has a policy.npz, and no checkpoint.pt any more" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in run.iterdir()} == left
    with pytest.raises(RunError, match="checkpoint"):  # as it goes to a cluster
        _ = Run(run).read_files()


def test_a_run_learns_on_its_levels_and_remembers_them():
    run = Run(trained("one", "--levels", "0:3"))
    assert (run.levels, run.level_seeds) == ("0:3", (0, 1, 2))
    assert_same(run.path, trained("same", "--levels", "0:3"))
    assert curve(trained("all")) != curve(run.path)
    LevelSet(Scenario.load("keydoor-5x5"), (0, 1, 2)).save(Path("three.json"))
    part = trained("part", "--levels", "three.json", updates=2)
    Path("three.json").unlink()
    assert resume("part") == 0
    assert_same(run.path, part)


def test_commands_that_are_named_name_all_that_they_need(monkeypatch, capsys):
    plans: list[Any] = []

    def train_stub(plan: Any, *_: Any) -> int:
        plans.append(plan)
        return 0

    monkeypatch.setattr(train, "train_here", train_stub)
    write(Path("my cave"), "./rules.py:rule", "max_steps: 5", f"{RULE}    pass\n")
    given = "train", "my cave", "--max-steps", "9", "--steps", "100", "--out"
    assert main([*given, "a b"]) == 0
    assert main(["train", "--resume", "a b"]) == 2
    assert main(["train", "--resume", "a b", "--trust"]) == 0
    first, second, *_ = plans
    file = Path("my cave/scenario.yaml").resolve()
    assert first.rollout_command == f"gv-engine rollout '{file}' --max-steps 9 --policy 'a b'"
    assert first.resume_command == "gv-engine train --resume 'a b' --trust"
    assert second.rollout_command == first.rollout_command
    assert second.resume_command == first.resume_command
    assert main(["train", "--resume", "a b", "--trust", "--steps", "200", "--until", "0.5"]) == 0
    conditions = [plan.stop_condition for plan in plans]
    assert conditions == [StopCondition(100), StopCondition(100), StopCondition(200, 0.5)]
    assert plans[2].resume_command == first.resume_command
    capsys.readouterr()
    assert main(["train", "--resume", "a b", "--set", "size=7"]) == 2
    assert "keeps the run's own --set" in capsys.readouterr().err


def test_a_part_of_the_benchmark_is_a_run_that_stops_when_it_is_sure(monkeypatch):
    monkeypatch.setattr(runner, "_PATIENCE", 10_000)
    monkeypatch.setattr(runner, "_IMPROVEMENT", 0.5)
    settings = {"memory": False, "steps": 80_000, "until": 0.9}
    part = PartRunner("ppo", settings).run("keydoor-5x5", 1)
    assert (part.scenario, part.seed, part.held_out) == ("keydoor-5x5", 1, True)
    assert part.curve[-1][0] == part.steps
    assert 10_000 < part.steps < 80_000
    assert part.curve[-1][1] >= 0.9
    assert np.mean(np.array(part.lengths) > 0) > 0.3
    again = PartRunner("ppo", settings).run("keydoor-5x5", 1)
    assert replace(again, seconds=part.seconds) == part
    assert sum(PartRunner("ppo", settings).run("keydoor-5x5", 2).lengths) != sum(part.lengths)


def test_a_part_of_the_benchmark_plays_the_best_weights(monkeypatch):
    """As a run of `train` does, also if the last updates made the policy worse."""
    update = ppo.Learner.update

    def get_worse(learner: Any) -> Any:
        metrics = update(learner)
        if metrics.steps > 60_000:
            learner.net.actor.weight.data.zero_()
        return metrics

    monkeypatch.setattr(ppo.Learner, "update", get_worse)
    settings = {"memory": False, "steps": 80_000, "until": 1.0}
    part = PartRunner("ppo", settings).run("keydoor-5x5", 1)
    training.train("keydoor-5x5", {"seed": 1, "levels": "train", "steps": 80_000}, "run")
    assert runner.measure_lengths("keydoor-5x5", "run", 1) == part.lengths


def test_seeds_are_runs_of_their_own_that_go_on_together(capsys):
    assert main([*WORDS, "--seeds", "1:3", "--steps", str(UPDATE * 4), "--out", "many"]) == 0
    lines = [each for each in capsys.readouterr().out.splitlines() if each.startswith("many/")]
    for number, line in zip((1, 2), lines, strict=True):
        assert line.split("\t")[:2] == [f"many/{number}", f"{UPDATE * 4:,}"]
    assert main(["rollout", "keydoor-5x5", "--policy", "many"]) == 2
    assert "many holds several runs: name one, as many/1" in capsys.readouterr().err
    assert_same(Path("many/2"), trained("alone", "--seed", "2"))
    assert main([*WORDS, "--seeds", "1:3", "--steps", str(UPDATE * 2), "--out", "part"]) == 0
    for name in ("checkpoint.pt", "policy.npz"):  # killed before anything was kept
        (Path("part/2") / name).unlink()
    assert resume("part") == 0
    assert "part/2 was killed before anything was kept: it begins again" in capsys.readouterr().err
    for seed in ("1", "2"):
        assert_same(Path("part", seed), Path("many", seed))
    assert main([*WORDS, "--seeds", "3:5", "--out", "part"]) == 2
    assert "or go on with it: gv-engine train --resume part" in capsys.readouterr().err


def test_stretches_of_a_run_are_the_run():
    whole = trained("whole")
    run = Run.create(Path("part"), Scenario.load("keydoor-5x5"), Run(whole).settings)
    scenario = Scenario.load("keydoor-5x5").with_(max_steps=20)
    end = StopCondition(UPDATE * 4)
    for number in range(1, 5):
        stretch = train_slice(scenario, None, end, 0.0, run.path, run.read_files())
        write_run_files(run.path, stretch.files)
        assert stretch.metrics.steps == UPDATE * number
    assert end.is_met(stretch.metrics)
    assert_same(whole, run.path)
