"""`python -m benchmarks.results ROW`: repeat a row of a published table.

    python -m benchmarks.results zoo/DoorKey-5x5            # ten seeds
    python -m benchmarks.results zoo/Unlock --seeds 3 --minutes 30
    python -m benchmarks.results zoo/Unlock --seeds 3:5     # the seeds 3 and 4
    python -m benchmarks.results zoo/Unlock --by sb3        # by Stable-Baselines3, on our ids
    python -m benchmarks.results zoo/Unlock --record        # for docs/results.md
    python -m benchmarks.results --page                     # the tables in docs/results.md

Each seed is a run of `gv-engine train` in `--runs`, which goes on from its checkpoint after a stop
or a kill, and ends the same. Its last policy is then evaluated. The end is the row with your
results, and below it with the recorded ones, which are beside the table's file in a folder of the
table's name. With `--minutes`, training stops after so long; the same command continues. `--record`
puts your results in place of the recorded ones of the same seeds, and `--page` writes all recorded.
Stable-Baselines3 has no checkpoints here: a seed that was stopped begins again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from gv_engine.envs.rollout.policy_file import PolicyFile
from gv_engine.plugins.learning.cli.command_words import parse_seeds
from gv_engine.plugins.learning.config import Config
from gv_engine.plugins.learning.evaluation import evaluate_policy, summarise_seeds
from gv_engine.scenario.scenario import Scenario

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent.parent / "docs" / "results.md"
EPISODES, HELD_OUT, FIRST_SEED = 1000, 100, 10**6
"""Numbers of episodes of the evaluation, in training and in each held-out level, and the seed of
the levels."""
LEARNED = 0.9
"""Success rate above which a seed has learned the level."""


class Row(NamedTuple):
    """Row of a published table.

    Attributes:
        table, name: names of the table's file and of the row.
        scenario: name of the scenario, or its file in the folder of the tables.
        config: configuration of the training.
        published: mean return and its standard deviation over episodes; if there are held-out
            levels, success in each.
        options: parameters of the scenario.
        held_out: scenario or file of each held-out level that policies are judged in, by name.
    """

    table: str
    name: str
    scenario: str
    config: Config
    published: tuple[float, ...]
    options: dict[str, Any]
    held_out: dict[str, str]

    def read_results(self, folder: Path) -> list[dict[str, Any]]:
        """Return the results of the seeds in a folder of results; [] without any."""
        path = folder / self.table / f"{self.name}.json"
        results: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        return results

    def add_results(self, folder: Path, new: list[dict[str, Any]]) -> None:
        """Add results of seeds to those in a folder, in place of those of the same seeds."""
        by_seed = {result["seed"]: result for result in [*self.read_results(folder), *new]}
        lines = ",\n".join(json.dumps(by_seed[seed]) for seed in sorted(by_seed))
        path = folder / self.table / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[\n{lines}\n]\n")


def read_table(name: str) -> tuple[dict[str, Any], list[Row]]:
    """Return the head of a table and its rows."""
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    rows = []
    for row, values in table.pop("rows").items():
        settings = table["config"] | values.get("config", {}) | {"steps": values["steps"]}
        config = Config.from_values(settings)
        published, options = tuple(values["published"]), values.get("options", {})
        held_out = table.get("held_out", {})
        rows.append(Row(name, row, values["scenario"], config, published, options, held_out))
    return table, rows


def find_row(name: str) -> Row:
    """Return the row called TABLE/ROW. Raise SystemExit with the rows that there are otherwise."""
    names = []
    for path in sorted(FOLDER.glob("*.toml")):
        for row in read_table(path.stem)[1]:
            if (found := f"{row.table}/{row.name}") == name:
                return row
            names.append(found)
    raise SystemExit(f"no row {name!r}; the rows are {', '.join(names)}")


def load_level(name: str, **options: Any) -> Scenario:
    """Return the scenario of a name, or of a file in the folder of the tables."""
    return Scenario.load(str(FOLDER / name) if ".yaml" in name else name, **options)


def find_success(policy: PolicyFile, level: Scenario) -> float:
    """Return the success rate of a policy in a held-out level."""
    found = evaluate_policy(policy, level, episodes=HELD_OUT, seed=FIRST_SEED)
    assert found.success is not None
    return round(found.success.mean, 4)


def train_seed(row: Row, seed: int, runs: Path, end: float) -> dict[str, Any] | None:
    """Train one seed of a row, from its checkpoint if there is one, until `time.monotonic()`
    reaches `end`, and evaluate its last policy. Return the result; None if the training is
    unfinished and the row has no held-out levels."""
    from gv_engine.plugins.learning.run_folder import RUN_FILE, Run
    from gv_engine.plugins.learning.training import Training

    path = runs / row.table / row.name / str(seed)
    scenario = load_level(row.scenario, **row.options)
    if (path / RUN_FILE).exists():
        run = Run(path)
    else:
        settings = Config.from_values({**vars(row.config), "seed": seed}).hyperparameters
        run = Run.create(path, scenario, settings, stop_condition=row.config.stop_condition)
    cpu_file, saved = path / "cpu.json", -1
    began = time.process_time()
    before = json.loads(cpu_file.read_text()) if cpu_file.exists() else 0.0

    def note_time(training: Training) -> bool:
        nonlocal saved
        if training.saved_steps != saved:  # the time until a checkpoint counts, if this is killed
            saved = training.saved_steps
            cpu_file.write_text(json.dumps(before + time.process_time() - began))
            steps = f"{saved:,} of {row.config.steps:,} steps"
            print(f"{row.table}/{row.name}, seed {seed}: {steps}", flush=True)
        return time.monotonic() >= end

    with run.lock(), closing(Training(run, scenario, None)) as training:
        training.run_until(row.config.stop_condition, [note_time])
        note_time(training)
        steps = training.metrics.steps
        if steps < row.config.steps and not row.held_out:
            return None
        policy = run.policy_file(training.learner)
    seconds = before + time.process_time() - began
    print(f"{row.table}/{row.name}, seed {seed}: evaluating", flush=True)
    episodes = HELD_OUT if row.held_out else EPISODES
    found = evaluate_policy(policy, scenario, episodes=episodes, seed=FIRST_SEED)
    result: dict[str, Any] = {
        "seed": seed,
        "steps": steps,
        "return": round(found.episode_return.mean, 4),
        "success": found.success and round(found.success.mean, 4),
        "length": round(found.episode_length.mean, 2),
        "cpu_seconds": round(seconds, 1),
    }
    if row.held_out:
        result["held_out"] = {
            name: find_success(policy, load_level(level)) for name, level in row.held_out.items()
        }
    return result


def train_seed_by_sb3(row: Row, seed: int, runs: Path, end: float) -> dict[str, Any] | None:
    """Train one seed of a row by Stable-Baselines3, and evaluate its last policy. Return the
    result; None if `time.monotonic()` is past `end`."""
    from benchmarks.results import sb3

    sb3.make_importable()
    if time.monotonic() >= end:
        return None
    return sb3.train_seed(row.scenario, row.config, seed, EPISODES, FIRST_SEED)


class RowLearner(NamedTuple):
    """Learner that can repeat a row of a table.

    Attributes:
        label: name in the tables.
        option: option of the command that selects it.
        folder: subfolder of its results in a folder of results.
        train: function that trains one seed, with the arguments and result of `train_seed`.
    """

    label: str
    option: str
    folder: str
    train: Callable[[Row, int, Path, float], dict[str, Any] | None]


LEARNERS = {
    "engine": RowLearner("ours", "", "", train_seed),
    "sb3": RowLearner("Stable-Baselines3", " --by sb3", "sb3", train_seed_by_sb3),
}


def repeat_row(row: Row, learner: RowLearner, seeds: range, runs: Path, minutes: float) -> bool:
    """Train the seeds of a row that have no result of all its steps yet, and write the results.
    Seeds that are judged in held-out levels share the time, and also have a result when it is over.
    Return False if the time was over first."""
    end, folder = time.monotonic() + 60 * minutes, runs / learner.folder
    is_complete = True
    for number, seed in enumerate(seeds):
        trained_steps = [each["steps"] for each in row.read_results(folder) if each["seed"] == seed]
        if trained_steps and trained_steps[0] >= row.config.steps:
            continue
        now = time.monotonic()
        seconds = (end - now) / (len(seeds) - number) if row.held_out else end - now
        result = learner.train(row, seed, runs, now + seconds)
        if result is None:
            return False
        row.add_results(folder, [result])
        print(f"{row.table}/{row.name}", json.dumps(result), flush=True)
        is_complete &= result["steps"] >= row.config.steps
    return is_complete


# ---- the page ------------------------------------------------------------------------------------


def format_row(row: Row, learner: RowLearner, results: list[dict[str, Any]]) -> str:
    """Return a row of the page's table with these results of a learner."""
    mean, deviation = row.published
    cells = [row.name, f"{mean:.3f} ± {deviation:.3f}", learner.label]
    cells += _describe_results(results, mean, deviation) if results else ["not run", *[""] * 5]
    cells.append(f"`python -m benchmarks.results {row.table}/{row.name}{learner.option}`")
    return f"| {' | '.join(cells)} |"


def _describe_results(results: list[dict[str, Any]], mean: float, deviation: float) -> list[str]:
    """Return the cells of results beside a published mean and its deviation."""
    summary = summarise_seeds([result["return"] for result in results])
    found = f"{summary.mean.mean:.3f}"
    if results[1:]:
        found += f" ({summary.mean.low:.3f} to {summary.mean.high:.3f})"
    verdict = "inside"
    if abs(summary.mean.mean - mean) > deviation:
        verdict = "above" if summary.mean.mean > mean else "below"
    successes = [result["success"] for result in results if result["success"] is not None]
    return [
        found,
        f"{summary.iqm.mean:.3f}",
        f"{sum(each >= LEARNED for each in successes)} of {len(results)}" if successes else "",
        f"{min(result['steps'] for result in results):,}",
        f"{sum(result['cpu_seconds'] for result in results) / 3600:.2f}",
        verdict,
    ]


def format_held_out(row: Row, results: list[dict[str, Any]]) -> str:
    """Return a row of a table of held-out levels: the mean success of the seeds in each."""
    by_level = zip(*(each["held_out"].values() for each in results), strict=True)
    cells = [row.name, str(len(results)), f"{min(each['steps'] for each in results):,}"]
    cells += [f"{sum(each) / len(results):.2f}" for each in by_level]
    cells.append(f"{sum(each['cpu_seconds'] for each in results) / 3600:.2f}")
    return f"| {' | '.join(cells)} | `python -m benchmarks.results {row.table}/{row.name}` |"


def _format_held_out_table(rows: list[Row], folders: list[Path]) -> Iterator[str]:
    levels = rows[0].held_out
    yield f"| curriculum | seeds | steps | {' | '.join(levels)} | CPU hours | repeat |"
    yield f"| --- |{' --: |' * (len(levels) + 3)} --- |"
    for row in rows:
        published = " | ".join(f"{each:.2f}" for each in row.published)
        yield f"| {row.name}, published | 5 | | {published} | | |"
        for folder in folders:
            if results := row.read_results(folder):
                yield format_held_out(row, results)


def format_table(
    rows: list[Row], folders: list[Path], learners: Iterable[RowLearner]
) -> Iterator[str]:
    """Yield the lines of a table of the page: each row with the results of each learner in each
    folder. Those of other learners than ours are left out if there are none."""
    if rows[0].held_out:
        yield from _format_held_out_table(rows, folders)
        return
    heads = "level", "published", "learner", "return", "IQM", "seeds that learned", "steps"
    yield f"| {' | '.join((*heads, 'CPU hours', 'verdict', 'repeat'))} |"
    yield "| --- | --: | --- | --: | --: | --: | --: | --: | --- | --- |"
    for row in rows:
        for learner in learners:
            for folder in folders:
                results = row.read_results(folder / learner.folder)
                if results or not learner.folder:
                    yield format_row(row, learner, results)


def write_page(text: str) -> str:
    """Return the text of the page with new tables between the marks of each table."""
    for path in sorted(FOLDER.glob("*.toml")):
        lines = "\n".join(format_table(read_table(path.stem)[1], [FOLDER], LEARNERS.values()))
        before, begin, rest = text.partition(f"<!-- table {path.stem} -->\n")
        _, end, after = rest.partition(f"<!-- end of {path.stem} -->")
        if not (begin and end):
            raise ValueError(f"{PAGE}: expected the marks of the table {path.stem}")
        text = f"{before}{begin}{lines}\n{end}{after}"
    return text


def _parse_seeds(text: str) -> range:
    return parse_seeds(text if ":" in text else f"0:{text}")


def main() -> int:
    """Repeat a row, or write the page; return 1 if the time was over first."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("row", nargs="?", metavar="ROW", help="TABLE/ROW, as zoo/DoorKey-5x5")
    text = "number of seeds, or A:B for those from A to B - 1; default 10"
    parser.add_argument("--seeds", type=_parse_seeds, default=range(10), metavar="N", help=text)
    parser.add_argument("--by", choices=LEARNERS, default="engine", help="learner")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="time to train all seeds"
    )
    parser.add_argument("--runs", type=Path, default=Path("result-runs"), help="folder of the runs")
    parser.add_argument("--record", action="store_true", help="put yours in place of the recorded")
    parser.add_argument("--page", action="store_true", help=f"write the tables of {PAGE.name}")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(write_page(PAGE.read_text("utf-8")), "utf-8")
        return 0
    if options.row is None:
        parser.error("give ROW, such as zoo/DoorKey-5x5, or --page")
    row, learner = find_row(options.row), LEARNERS[options.by]
    if learner.folder and row.table != "zoo":
        parser.error(f"--by {options.by} trains the rows of zoo alone, found {options.row}")
    is_complete = repeat_row(row, learner, options.seeds, options.runs, options.minutes)
    if options.record:
        found = row.read_results(options.runs / learner.folder)
        row.add_results(FOLDER / learner.folder, found)
    print("\nYour results, and below them the recorded ones:\n")
    print(*format_table([row], [options.runs, FOLDER], [learner]), sep="\n")
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
