"""Sweeps: training with many settings, to compare them.

A file says what varies, see `SweepConfig`. Optuna samples the settings of each trial (Akiba et al.,
2019), stops poor trials, and stores all results in `trials.log` in the folder of the sweep. That
folder also has a folder `trial-K` for each trial K, with a run for each seed. Each trial has its
own generator, so that a sweep that was killed continues with the same results.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import islice, product
from math import isnan, prod
from pathlib import Path
from statistics import fmean
from typing import Any

from gv_engine.plugins.learning.config import (
    GRID,
    OBJECTIVES,
    RETURN,
    SAMPLERS,
    SUCCESS,
    TPE,
    Config,
    ConfigError,
    check_names,
    check_value,
    define_setting,
    read_config_file,
)
from gv_engine.plugins.learning.extras import SWEEP
from gv_engine.plugins.learning.training import Training
from gv_engine.rules.errors import MissingExtraError, shorten
from gv_engine.scenario.storage.files import (
    check_inner_folder,
    make_folder,
    open_regular_file,
    remove_stale_drafts,
    write_file,
)

if SWEEP.missing_message:
    raise MissingExtraError(SWEEP.missing_message)
import optuna
from optuna.pruners import MedianPruner
from optuna.samplers import RandomSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import BaseTrial, FixedTrial, FrozenTrial, Trial, TrialState

RUN_RESULTS = SUCCESS, RETURN, "length", "steps", "seconds"
"""Results of a run."""
_RESULTS, IS_POOR = "results", "is_poor"
"""Attributes of a trial: a list of the results of its runs, and whether to prune it."""
_LOG, _PAGE, _BEST = "trials.log", "results.md", "best.yaml"
_SUCCESS = "{success:.0%} ({low:.0%} to {high:.0%})"
_REPORTS = 10
"""Number of intermediate reports of a run, which pruning compares."""
_RANDOM_TRIALS = 20
"""Default number of trials, if they are sampled."""
_MAX_TRIALS = 10_000
_LOCK_SECONDS = 3
"""Seconds after which the lock that a killed sweep left on its file counts as free."""


@dataclass(frozen=True)
class SweepConfig:
    """Content of a file that describes a sweep.

    Attributes:
        scenario: name or file of the scenario.
        search: for each setting of `Config` that varies, its choices as a list, or a range as
            `{"low": 1e-4, "high": 1e-2, "log": True}`, where `log` samples the logarithm evenly.
        config: values of other settings by name.
        sampler: "grid", all combinations in order; "random"; or "tpe", which samples more where
            results were good (Bergstra et al., 2011). By default "grid" if all settings have
            choices, else "tpe".
        trials: number of trials; by default all combinations of a grid, else 20.
        seeds: runs of a trial, with the seeds 0 to `seeds` - 1; results are means over them.
        objective: "success" or "return", which the best trial maximises; by default the success
            rate if the scenario defines it.
        levels: level set on which policies are evaluated, and the best trial is chosen, such as
            "validation"; by default that of the training.
        episodes: number of episodes of each evaluation.
        pruning: stop a trial whose first run is worse than the median of earlier trials at the same
            step.
    """

    scenario: str
    search: dict[str, Any]
    config: dict[str, Any] = field(default_factory=dict)
    sampler: str | None = define_setting(None, kind=str, words=SAMPLERS)
    trials: int | None = define_setting(None, 1, _MAX_TRIALS, kind=int)
    seeds: int = define_setting(1, 1)
    objective: str | None = define_setting(None, kind=str, words=OBJECTIVES)
    levels: str | None = define_setting(None, kind=str)
    episodes: int = define_setting(100, 1)
    pruning: bool = define_setting(False)

    @classmethod
    def read(cls, path: Path, trials: int | None = None) -> SweepConfig:
        """Read the description of a sweep from a YAML or TOML file. `trials`, if given, replaces
        its number of trials.

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
        """Return a sweep from the values of a configuration file, by name.

        Raises:
            ConfigError: see `read`.
        """
        check_names(values, [each.name for each in fields(cls)])
        for name in ("scenario", "search"):
            if not values.get(name):
                raise ConfigError(f"{name} is missing; docs/learning.md#sweeps has an example")
        fixed, search = (_check_settings(name, values.get(name)) for name in ("config", "search"))
        for name, space in search.items():
            if name in fixed:
                raise ConfigError(f"{name} is in config and in search: leave it out of one")
            _check_space(name, space, fixed)
        ranges = [name for name, space in search.items() if isinstance(space, dict)]
        settings: dict[str, Any] = {"sampler": TPE if ranges else GRID, **values}
        for each in fields(cls):
            if each.metadata:  # all but the scenario and the mappings
                value = settings.get(each.name, each.default)
                settings[each.name] = check_value(each, value)
        settings |= {"scenario": str(values["scenario"]), "config": fixed, "search": search}
        if settings["sampler"] == GRID:
            if ranges:
                raise ConfigError(
                    f"search.{ranges[0]} is a range; a grid takes lists, as [1e-3, 3e-3]"
                )
            settings["trials"] = _count_grid_trials(search, settings["trials"])
        return cls(**settings | {"trials": settings["trials"] or _RANDOM_TRIALS})

    def configs(self) -> list[Config]:
        """Return configurations that together contain every choice, and both ends of every range,
        of the searched settings. They serve to check all values before the first trial."""
        return [
            Config.from_values({**self.config, name: value})
            for name, space in self.search.items()
            for value in _list_values(space)
        ]


def _count_grid_trials(search: Mapping[str, Any], trials: int | None) -> int:
    """Return the number of trials of a grid search: `trials`, or all combinations of `search` if it
    is None. Raise ConfigError if `trials` is out of range."""
    num_combinations = prod(map(len, search.values()))
    if (trials or 0) > num_combinations:
        raise ConfigError(f"trials is {trials}; the grid has {num_combinations} combinations")
    if not trials and num_combinations > _MAX_TRIALS:
        raise ConfigError(
            f"search has {num_combinations:,} combinations; at most {_MAX_TRIALS:,} can be tried: "
            f"search fewer settings, or sample some by sampler: random and trials: 100"
        )
    return trials or num_combinations


def _check_settings(key: str, values: Any) -> dict[str, Any]:
    """Return `values`, the settings below `key` of the file. Raise ConfigError if they are not a
    mapping, or contain a setting that sweeps cannot change."""
    if not isinstance(values, dict | None):
        raise ConfigError(f"{key} is {shorten(repr(values), 40)}; expected settings and values")
    try:
        names = [each.name for each in fields(Config) if each.name not in ("seed", "device")]
        check_names(values or {}, names)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
    return values or {}


def _list_values(space: Any) -> list[Any]:
    if isinstance(space, dict) and {"low", "high"} <= space.keys() <= {"low", "high", "log"}:
        return [space["low"], space["high"]]
    return space if isinstance(space, list) else []


def _check_space(name: str, space: Any, fixed: Mapping[str, Any]) -> None:
    """Raise ConfigError if the search space of a setting, a list of choices or a range, has an
    invalid value. The `fixed` settings are taken into account."""
    try:
        values = _list_values(space)
        for each in values:
            Config.from_values({**fixed, name: each})
        if not values or (isinstance(space, dict) and type(space.get("log", False)) is not bool):
            raise ConfigError(
                f"found {shorten(repr(space), 60)}; expected a list, as [1e-3, 3e-3], or a range, "
                f"as {{low: 1e-4, high: 1e-2, log: true}}"
            )
        _suggest(FixedTrial({name: values[0]}), name, space)
    except ValueError as error:  # also one of Optuna, about a range
        raise ConfigError(f"search.{name}: {error}") from None


def _suggest(trial: BaseTrial, name: str, space: Any) -> None:
    """Let Optuna choose the setting `name` for a trial. `space` is a list of choices, or a
    range."""
    if isinstance(space, list):
        trial.suggest_categorical(name, space)
    elif type(getattr(Config, name)) is int:
        trial.suggest_int(name, **space)
    else:
        trial.suggest_float(name, **space)


class Sweep:
    """Folder of a sweep: a study of Optuna, and the pages about its trials.

    Args:
        path: folder of the sweep; it is created if it does not exist.
        config: content of the file of the sweep.
        scenario_digest: digest of the scenario.
        has_success: whether the scenario defines success.

    Attributes:
        page, best_file: files with the table, and with the settings of the best trial.

    Raises:
        ConfigError: the folder has other files and no sweep, or its trials cannot be read.
        OSError: the folder cannot be written.
    """

    def __init__(
        self, path: Path, config: SweepConfig, scenario_digest: str, has_success: bool
    ) -> None:
        """Open the sweep in the folder `path`, or start a new one there. `has_success` is True if
        the scenario defines success."""
        if config.objective == SUCCESS and not has_success:
            raise ConfigError(f"objective: {config.scenario} defines no success; choose return")
        self.path, self.config = path, config
        self.objective = config.objective or (SUCCESS if has_success else RETURN)
        self.page, self.best_file = path / _PAGE, path / _BEST
        _prepare_folder(path)
        self._study = _open_study(path / _LOG)
        self._store_identity(scenario_digest)
        if config.sampler == GRID:
            self._enqueue_grid()

    def _store_identity(self, scenario_digest: str) -> None:
        """Store configuration and scenario hash in the Optuna study. Raise ConfigError if the study
        has different ones; only the number of trials may change."""
        identity = asdict(self.config) | {"version of the scenario": scenario_digest}
        identity["trials"] = None
        stored = self._study.user_attrs.get("about", identity)
        if changed := [name for name in identity if stored.get(name) != identity[name]]:
            raise ConfigError(
                f"{self.path} has a sweep with another {changed[0]}: put that back, or give the "
                f"name of a new folder by --out"
            )
        self._study.set_user_attr("about", identity)

    def _enqueue_grid(self) -> None:
        """Add a trial to the queue for each combination of the grid's values that has none yet."""
        search = self.config.search
        combinations = product(*search.values())
        for values in islice(combinations, len(self._study.trials), self.config.trials):
            self._study.enqueue_trial(dict(zip(search, values, strict=True)))

    def next_trial(self) -> Trial | None:
        """Return the unfinished trial if there is one, else a new trial with values for the
        searched settings. None if all trials are finished."""
        num_finished = len(self._find_trials(TrialState.COMPLETE, TrialState.PRUNED))
        if num_finished >= (self.config.trials or 0):
            return None
        sampler = TPESampler if self.config.sampler == TPE else RandomSampler
        self._study.sampler = sampler(seed=num_finished)
        unfinished = self._find_trials(TrialState.RUNNING)
        # a resumed trial is suggested its stored values again
        trial = Trial(self._study, num_finished) if unfinished else self._study.ask()
        for name, space in self.config.search.items():
            _suggest(trial, name, space)
        return trial

    @property
    def criterion(self) -> str:
        """Results and levels that the best trial is chosen by, such as "success in validation"."""
        return f"{self.objective} in {self.config.levels or 'the levels of the training'}"

    def run_path(self, trial: Trial, seed: int) -> Path:
        """Return the folder of a trial's training run with this seed.

        Raises:
            OSError: a folder on the way is a link.
        """
        path = self.path / f"trial-{trial.number}"
        for each in (path, path / str(seed)):
            check_inner_folder(each)
        return path / str(seed)

    def report(self, trial: Trial, steps: int, training: Training) -> bool:
        """Report the current success rate or return of a trial to Optuna. Return True if Optuna
        stops (prunes) the trial. `training` is the trial's first run, `steps` its planned
        length."""
        metrics = training.metrics
        value = metrics.success_rate if self.objective == SUCCESS else metrics.episode_return
        tenth = metrics.steps * _REPORTS // max(1, steps)
        if tenth < 1 or isnan(value):
            return False
        if tenth not in self._study.get_trials(deepcopy=False)[trial.number].intermediate_values:
            trial.report(value, tenth)
        if is_poor := self.config.pruning and tenth < _REPORTS and bool(trial.should_prune()):
            trial.set_user_attr(IS_POOR, True)
        return is_poor

    def add_result(self, trial: Trial, result: Mapping[str, float | None]) -> None:
        """Store the results of the next run of a trial."""
        trial.set_user_attr(_RESULTS, [*list_results(trial), result])

    def finish(self, trial: Trial) -> str:
        """Mark a trial as finished or pruned. Return a line of text about its result."""
        if trial.user_attrs.get(IS_POOR):
            outcome = "pruned"
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            result = _mean(trial, self.objective)
            outcome = f"{self.objective} {result:.4g}"
            self._study.tell(trial, result)
        settings = ", ".join(f"{name} {_format(value)}" for name, value in trial.params.items())
        name = f"trial-{trial.number} of {self.config.trials} trials"
        return f"{name} is finished: {settings}: {outcome}"

    def _find_trials(self, *states: TrialState) -> list[FrozenTrial]:
        return list(self._study.get_trials(deepcopy=False, states=states))

    def ranked(self) -> list[FrozenTrial]:
        """Return the trials whose runs have all finished, best first. Ties in the objective are
        broken by return, then by length."""

        def score(trial: FrozenTrial) -> tuple[float, ...]:
            names = self.objective, *RUN_RESULTS[1:3]
            objective, mean_return, length = (_mean(trial, name) or 0.0 for name in names)
            return objective, mean_return, -length

        return sorted(self._find_trials(TrialState.COMPLETE), key=score, reverse=True)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return header and rows of a table of all trials, best first."""
        rows = []
        for trial in [*self.ranked(), *self._find_trials(TrialState.PRUNED, TrialState.RUNNING)]:
            state = {TrialState.PRUNED: "pruned", TrialState.RUNNING: "unfinished"}.get(trial.state)
            known: list[Any] = [each for each in list_results(trial) if each[SUCCESS] is not None]
            seeds = ", ".join(_SUCCESS.format(**each) for each in known)
            formats = "{:.1%}", "{:.4g}", "{:.4g}", "{:,.0f}", "{:.1f}"
            means = [
                "–" if (mean := _mean(trial, name)) is None else form.format(mean)
                for name, form in zip(RUN_RESULTS, formats, strict=True)
            ]
            values = map(_format, trial.params.values())
            rows.append([f"trial-{trial.number}", *values, *means, state or seeds])
        return ["trial", *self.config.search, *RUN_RESULTS, "success of seeds"], rows

    def write_pages(self) -> None:
        """Write the table of trials to `results.md`, and the best settings to `best.yaml`, which
        `gv-engine train --config` reads.

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
            f"levels: {config.levels or config.config.get('levels') or 'all'}. The first trial is "
            f"chosen by {self.criterion}, and its result here is partly luck: train it with other "
            f"seeds, and report test levels that have chosen nothing.",
            "",
            *(f"- `{name}`: {_format(value)}" for name, value in config.config.items()),
            *(f"- `{name}`, searched: {_format(space)}" for name, space in config.search.items()),
            "",
            *(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)),
            "",
        ]
        write_file(self.page, "\n".join(lines), follow_links=False)
        if ranked:
            values = {**config.config, **ranked[0].params}
            text = f"# trial-{ranked[0].number} of a sweep of {config.scenario}\n"
            text += "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())
            write_file(self.best_file, text, follow_links=False)


def list_results(trial: Trial | FrozenTrial) -> list[dict[str, float | None]]:
    """Return the results of the finished runs of a trial: `success`, None if undefined, `return`,
    `length`, `steps`, `seconds`, and with `success` the ends of its 95 % interval, `low` and
    `high`."""
    return list(trial.user_attrs.get(_RESULTS, []))


def _mean(trial: Trial | FrozenTrial, name: str) -> float | None:
    values = [result[name] for result in list_results(trial)]
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _prepare_folder(path: Path) -> None:
    """Create the folder of a sweep if it does not exist. Raise ConfigError if it contains other
    files."""
    if path.exists() and any(path.iterdir()) and not (path / _LOG).exists():
        raise ConfigError(f"{path} is there already, and no sweep: give another folder by --out")
    make_folder(path)
    remove_stale_drafts(path)
    if os.path.lexists(path / _LOG):  # Optuna would write through a link
        os.close(open_regular_file(path / _LOG, os.O_RDWR))


def _open_study(path: Path) -> optuna.Study:
    """Open the Optuna study in the file `path`, or create it. Raise ConfigError if the file cannot
    be read."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    lock = JournalFileOpenLock(str(path), grace_period=_LOCK_SECONDS)
    try:
        storage = JournalStorage(JournalFileBackend(str(path), lock))
        pruner = MedianPruner(n_startup_trials=3, n_warmup_steps=1)
        return optuna.create_study(
            study_name="sweep",
            storage=storage,
            pruner=pruner,
            direction="maximize",
            load_if_exists=True,
        )
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError) as error:
        text = shorten(f"{type(error).__name__}: {error}", 200)
        raise ConfigError(f"{path} cannot be read: {text}") from None


def _format(value: Any) -> str:
    """Return a setting's value, list of choices or range as text. Numbers have four digits."""
    if isinstance(value, list):
        return ", ".join(map(_format, value))
    if isinstance(value, dict):
        return f"{value['low']:g} to {value['high']:g}{', logarithmic' if value.get('log') else ''}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
