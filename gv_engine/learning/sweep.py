"""Sweeps: training with many settings, to compare them.

A file says what varies, see `SweepConfig`. The folder of a sweep has a folder `trial-K` for each
trial K, with a run for each seed and `trial.json`: the settings, and what is known of the result.
That is all that is needed to continue. Optuna samples the settings of the samplers "random" and
"tpe" (Bergstra et al., 2011), from a generator for each trial, so that a sweep that was killed
continues as if it had not been.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from math import ceil, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gv_engine.learning.config import (
    GRID,
    RETURN,
    SUCCESS,
    TPE,
    Config,
    ConfigError,
    check_names,
    check_value,
    read_config_file,
)
from gv_engine.rules.errors import MissingExtraError, shorten
from gv_engine.scenario.files import parse_json, read_bytes, remove_stale_drafts, write_file
from gv_engine.scenario.plugin import SWEEP

if TYPE_CHECKING:
    from gv_engine.learning.training import Training

RUN_RESULTS = SUCCESS, RETURN, "length", "steps", "seconds"
"""Results of a run."""
TRIAL_FILE = "trial.json"
_SWEEP_FILE = "sweep.json"
_PAGE, _BEST = "results.md", "best.yaml"
_SUCCESS = "{success:.0%} ({low:.0%} to {high:.0%})"
_REPORTS = 10
"""Reports of a run on its way, which pruning compares."""
_RANDOM_TRIALS = 20
"""Trials by default, where they are sampled."""
_MAX_FILE = 2**20
"""Bytes of `trial.json` and of `sweep.json`."""


@dataclass(frozen=True)
class Range:
    """Range of a setting.

    Attributes:
        low, high: least and greatest value.
        log: sample the logarithm evenly.
    """

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class SweepConfig:
    """Content of a file that describes a sweep.

    Attributes:
        scenario: name or file of the scenario.
        search: for each setting of `Config` that varies, its choices as a list, or a `Range`.
        config: values of other settings by name.
        sampler: "grid", all combinations in order; "random"; or "tpe", which samples more where
            results were good. By default "grid" if all settings have choices, else "tpe".
        trials: number of trials; by default all combinations of a grid, else 20.
        seeds: runs of a trial, with the seeds 0 to `seeds` - 1; results are means over them.
        objective: "success" or "return", of which the best trial has the most; by default the
            success rate if the scenario defines it.
        levels: level set on which policies are evaluated; by default that of the training.
        episodes: number of episodes of each evaluation.
        pruning: stop a trial whose first run is below the median of earlier trials on its way.
    """

    scenario: str
    search: dict[str, list[Any] | Range]
    config: dict[str, Any] = field(default_factory=dict)
    sampler: str | None = None
    trials: int | None = None
    seeds: int = 1
    objective: str | None = None
    levels: str | None = None
    episodes: int = 100
    pruning: bool = False

    @classmethod
    def read(cls, path: Path, trials: int | None = None) -> SweepConfig:
        """Return the sweep that a YAML or TOML file describes, with another number of trials if it
        is given.

        Raises:
            ConfigError: the file cannot be read, a name is unknown, or a value is invalid; the
                message names the file and the key.
        """
        try:
            values = read_config_file(path)
            return cls.from_values(values | ({"trials": trials} if trials else {}))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> SweepConfig:
        """Return the sweep with these values by name, as in a file.

        Raises:
            ConfigError: see `read`.
        """
        check_names(values, [each.name for each in fields(cls)])
        for name in ("scenario", "search"):
            if not values.get(name):
                raise ConfigError(f"{name} is missing; docs/learning.md#sweeps has an example")
        fixed, search = (_check_settings(name, values.get(name)) for name in ("config", "search"))
        if both := [name for name in search if name in fixed]:
            raise ConfigError(f"{both[0]} is in config and in search: leave it out of one")
        space = {name: _read_search(name, each, fixed) for name, each in search.items()}
        ranges = [name for name, each in space.items() if isinstance(each, Range)]
        more = {"sampler": TPE if ranges else GRID, **values, "config": fixed, "search": space}
        for each in fields(cls)[3:]:
            more[each.name] = check_value(
                each.name, each.default, more.get(each.name, each.default)
            )
        if more["sampler"] == GRID and ranges:
            raise ConfigError(f"search.{ranges[0]} is a range; a grid takes lists, as [1e-3, 3e-3]")
        number = _RANDOM_TRIALS
        if more["sampler"] == GRID:
            number = prod(map(len, search.values()))
            if (more["trials"] or 0) > number:
                raise ConfigError(f"trials is {more['trials']}; the grid has {number} combinations")
        return cls(**more | {"scenario": str(more["scenario"]), "trials": more["trials"] or number})

    def configs(self) -> Iterator[Config]:
        """Yield configurations that have each choice, or end of a range, of each setting."""
        for name, space in self.search.items():
            for value in space if isinstance(space, list) else (space.low, space.high):
                yield Config.from_values({**self.config, name: value})


def _check_settings(key: str, values: Any) -> dict[str, Any]:
    """Return the settings below a key of the file; raise ConfigError if they are no mapping, or one
    is none of a sweep."""
    if not isinstance(values, dict | None):
        raise ConfigError(f"{key} is {shorten(repr(values), 40)}; expected settings and values")
    try:
        names = [each.name for each in fields(Config) if each.name not in ("seed", "device")]
        check_names(values or {}, names)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
    return values or {}


def _read_search(name: str, value: Any, fixed: Mapping[str, Any]) -> list[Any] | Range:
    """Return the choices or the range of a setting; raise ConfigError if it is something else, or
    a value is invalid."""
    space, values = value, value
    if isinstance(value, dict) and {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
        space, values = Range(**value), [value["low"], value["high"]]
    try:
        if not (isinstance(values, list) and values):
            raise ConfigError(
                f"found {shorten(repr(value), 60)}; expected a list, as [1e-3, 3e-3], or a range, "
                f"as {{low: 1e-4, high: 1e-2, log: true}}"
            )
        for each in values:
            Config.from_values({**fixed, name: each})
        if isinstance(space, Range) and not (
            space.log in (False, True) and (0 if space.log else -1) < space.low < space.high
        ):
            raise ConfigError(
                f"found {shorten(repr(value), 60)}; expected low below high, and above 0 with "
                f"`log: true`"
            )
    except ConfigError as error:
        raise ConfigError(f"search.{name}: {error}") from None
    return space  # type: ignore[no-any-return]  # checked


@dataclass
class Trial:
    """Trial of a sweep: settings, and what is known of the results.

    Attributes:
        path: folder of the trial; the run of seed k is its subfolder `k`.
        values: values of the settings that vary.
        reports: success rate or return of the first run at each tenth of the training, from 1.
        results: for each finished run `success`, None if undefined, `return`, `length`, `steps`,
            `seconds`, and with `success` the ends of its 95 % interval, `low` and `high`.
        is_pruned: the trial was stopped.
    """

    path: Path
    values: dict[str, Any]
    reports: dict[int, float] = field(default_factory=dict)
    results: list[dict[str, float | None]] = field(default_factory=list)
    is_pruned: bool = False

    def mean(self, name: str) -> float | None:
        """Return the mean of a result over the runs; None if it is unknown."""
        values = [result[name] for result in self.results]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None

    def describe(self, result: str) -> str:
        """Return the settings and the mean of a result as text."""
        settings = ", ".join(f"{name} {_format(value)}" for name, value in self.values.items())
        return f"{settings}: {'pruned' if self.is_pruned else f'{result} {self.mean(result):.4g}'}"

    def save(self) -> None:
        """Write `trial.json`, atomically.

        Raises:
            OSError: the file cannot be written.
        """
        about = {name: value for name, value in asdict(self).items() if name != "path"}
        self.path.mkdir(exist_ok=True)
        write_file(self.path / TRIAL_FILE, json.dumps(about, indent=2) + "\n", follow_links=False)

    @classmethod
    def read(cls, path: Path) -> Trial:
        """Return the trial in a folder.

        Raises:
            ConfigError: `trial.json` cannot be read, or is damaged.
        """
        try:
            about = parse_json(read_bytes(path / TRIAL_FILE, _MAX_FILE, "trials"))
            results = [
                {name: None if value is None else float(value) for name, value in each.items()}
                for each in about["results"]
            ]
            reports = {int(k): float(value) for k, value in about["reports"].items()}
            return cls(path, dict(about["values"]), reports, results, about["is_pruned"] is True)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            text = shorten(f"{type(error).__name__}: {error}", 200)
            raise ConfigError(f"{path / TRIAL_FILE} cannot be read: {text}") from None


class Sweep:
    """Folder of a sweep: trials, and the pages about them.

    Args:
        path: folder of the sweep; it is created if it does not exist.
        config: what the file of the sweep says.
        digest: digest of the scenario.
        tells_success: whether the scenario defines success.

    Attributes:
        trials: trials so far, of which the last may be unfinished.
        page, best_file: files with the table, and with the settings of the best trial.

    Raises:
        ConfigError: the folder has another sweep, or a trial cannot be read.
        MissingExtraError: the sampler or pruning needs Optuna, which is not installed.
        OSError: the folder cannot be written.
    """

    def __init__(self, path: Path, config: SweepConfig, digest: str, tells_success: bool) -> None:
        if SWEEP.missing_message and (config.sampler != GRID or config.pruning):
            raise MissingExtraError(
                f"{SWEEP.missing_message}; sampler: grid without pruning needs nothing"
            )
        if config.objective == SUCCESS and not tells_success:
            raise ConfigError(f"objective: {config.scenario} defines no success; choose return")
        self.path, self.config = path, config
        self.page, self.best_file = path / _PAGE, path / _BEST
        self.objective = config.objective or (SUCCESS if tells_success else RETURN)
        about = asdict(config) | {"trials": None, "version of the scenario": digest}
        about = json.loads(json.dumps(about))  # lists in place of tuples
        remove_stale_drafts(path)
        if path.exists() and any(path.iterdir()):
            self._require_same(about)
        else:
            path.mkdir(parents=True, exist_ok=True)
            write_file(path / _SWEEP_FILE, json.dumps(about, indent=2) + "\n", follow_links=False)
        folders = path.glob(f"trial-*/{TRIAL_FILE}")
        numbers = range(sum(1 for _ in folders))
        self.trials = [Trial.read(path / f"trial-{number}") for number in numbers]

    def _require_same(self, about: dict[str, Any]) -> None:
        """Raise ConfigError unless the folder has a sweep with the description `about`."""
        try:
            old = parse_json(read_bytes(self.path / _SWEEP_FILE, _MAX_FILE, "sweeps"))
        except (OSError, ValueError):
            raise ConfigError(
                f"{self.path} is there already, and no sweep: give another folder by --out"
            ) from None
        if changed := [name for name in about if name not in old or old[name] != about[name]]:
            raise ConfigError(
                f"{self.path} has a sweep with another {changed[0]}: put that back, or give the "
                f"name of a new folder by --out"
            )

    def is_finished(self, trial: Trial) -> bool:
        """Return True if all runs of a trial are finished, or it was pruned."""
        return trial.is_pruned or len(trial.results) >= self.config.seeds

    def next_trial(self) -> Trial | None:
        """Return the unfinished trial, else a new one; None if all trials are finished."""
        if self.trials and not self.is_finished(self.trials[-1]):
            return self.trials[-1]
        number = len(self.trials)
        if number >= (self.config.trials or 0):
            return None
        trial = Trial(self.path / f"trial-{number}", self._sample(number))
        trial.save()
        self.trials.append(trial)
        return trial

    def report(self, trial: Trial, steps: int, training: Training) -> bool:
        """Note the success rate or return of the first run of a trial, which trains for `steps`
        steps; return True if the trial is to be stopped."""
        metrics = training.metrics
        value = metrics.success_rate if self.objective == SUCCESS else metrics.episode_return
        tenth = metrics.steps * _REPORTS // max(1, steps)
        if trial.results or tenth < 1 or tenth in trial.reports or np.isnan(value):
            return False
        trial.reports[tenth] = value
        if self.config.pruning and tenth < _REPORTS:
            from optuna.pruners import MedianPruner

            pruner = MedianPruner(n_startup_trials=3, n_warmup_steps=1)
            trial.is_pruned = bool(pruner.prune(self._make_study(0), self._to_optuna(trial)))
        trial.save()
        return trial.is_pruned

    def _sample(self, number: int) -> dict[str, Any]:
        """Return the values of the settings of trial `number`."""
        search = self.config.search
        if self.config.sampler == GRID:
            choices = [each for each in search.values() if isinstance(each, list)]
            for k, values in enumerate(product(*choices)):
                if k == number:
                    return dict(zip(search, values))
        return dict(self._make_study(number).ask(self._distributions()).params)

    def _make_study(self, number: int) -> Any:
        """Return a study of Optuna with all finished trials, whose sampler has the seed
        `number`."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        if self.config.sampler == TPE:
            startup = min(10, ceil((self.config.trials or 0) / 3))
            sampler: Any = optuna.samplers.TPESampler(n_startup_trials=startup, seed=number)
        else:
            sampler = optuna.samplers.RandomSampler(seed=number)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials([self._to_optuna(each) for each in self.trials if self.is_finished(each)])
        return study

    def _distributions(self) -> dict[str, Any]:
        """Return Optuna's description of each setting that varies."""
        from optuna import distributions

        found: dict[str, Any] = {}
        for name, space in self.config.search.items():
            if isinstance(space, list):
                found[name] = distributions.CategoricalDistribution(space)
            elif type(space.low) is type(space.high) is type(getattr(Config, name)) is int:
                found[name] = distributions.IntDistribution(space.low, space.high, space.log)
            else:
                found[name] = distributions.FloatDistribution(space.low, space.high, space.log)
        return found

    def _to_optuna(self, trial: Trial) -> Any:
        """Return a trial in the form of Optuna."""
        from optuna.trial import TrialState, create_trial

        state = TrialState.PRUNED if trial.is_pruned else TrialState.RUNNING
        value = None
        if not trial.is_pruned and self.is_finished(trial):
            state, value = TrialState.COMPLETE, trial.mean(self.objective)
        return create_trial(
            state=state,
            value=value,
            params=trial.values,
            distributions=self._distributions(),
            intermediate_values=trial.reports,
        )

    def ranked(self) -> list[Trial]:
        """Return the trials whose runs are all finished, the best first: by the objective, then by
        return, then by length."""

        def score(trial: Trial) -> tuple[float, ...]:
            best, total, length = (
                trial.mean(n) or 0.0 for n in (self.objective, *RUN_RESULTS[1:3])
            )
            return best, total, -length

        finished = [each for each in self.trials if len(each.results) >= self.config.seeds]
        return sorted(finished, key=score, reverse=True)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and the rows of a table of all trials, the best first."""
        ranked, rows = self.ranked(), []
        for trial in [*ranked, *(each for each in self.trials if each not in ranked)]:
            state = "" if trial in ranked else "pruned" if trial.is_pruned else "unfinished"
            known: list[Any] = [each for each in trial.results if each[SUCCESS] is not None]
            seeds = ", ".join(_SUCCESS.format(**each) for each in known)
            formats = "{:.1%}", "{:.4g}", "{:.4g}", "{:,.0f}", "{:.1f}"
            means = [
                "–" if (mean := trial.mean(name)) is None else form.format(mean)
                for name, form in zip(RUN_RESULTS, formats, strict=True)
            ]
            values = map(_format, trial.values.values())
            rows.append([trial.path.name, *values, *means, state or seeds])
        return ["trial", *self.config.search, *RUN_RESULTS, "success of seeds"], rows

    def write_pages(self) -> None:
        """Write the table into `results.md`, and the settings of the best trial into `best.yaml`,
        which `gv-engine train --config` reads.

        Raises:
            OSError: a file cannot be written.
        """
        config, ranked, (heads, rows) = self.config, self.ranked(), self.table()
        lines = [
            f"# Sweep of {config.scenario}",
            "",
            f"{len(ranked)} of {config.trials} trials are finished, by the sampler "
            f"{config.sampler}. Results are means over {config.seeds} run(s), of each "
            f"{config.episodes} episodes of the policy that it keeps, with 95 % intervals, on "
            f"levels: {config.levels or config.config.get('levels') or 'all'}.",
            "",
            *(f"- `{name}`: {_format(value)}" for name, value in config.config.items()),
            *(f"- `{name}`, searched: {_format(space)}" for name, space in config.search.items()),
            "",
            *(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)),
            "",
        ]
        write_file(self.page, "\n".join(lines), follow_links=False)
        if ranked:
            values = {**config.config, **ranked[0].values}
            text = f"# {ranked[0].path.name} of a sweep of {config.scenario}\n"
            text += "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())
            write_file(self.best_file, text, follow_links=False)


def _format(value: Any) -> str:
    """Return a value, choices or a range as text, numbers with four digits."""
    if isinstance(value, list):
        return ", ".join(map(_format, value))
    if isinstance(value, Range):
        return f"{value.low:g} to {value.high:g}{', logarithmic' if value.log else ''}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
