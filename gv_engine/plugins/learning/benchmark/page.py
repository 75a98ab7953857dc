"""Page of the benchmark: tables in Markdown, and learning curves as SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.episode_stats import Estimate
from gv_engine.play.session.autoplay import SOLVER
from gv_engine.plugins.learning.benchmark.entry import (
    SEEDS,
    BenchmarkEntry,
    BenchmarkError,
    EntryPart,
    all_scenarios,
)
from gv_engine.scenario.library import GALLERY, list_built_in_grids
from gv_engine.scenario.storage.files import write_file

# ---- statistics ----------------------------------------------------------------------------------

_RESAMPLES = 2000
_PERCENTILES = (2.5, 97.5)  # percentiles around 95 %


def middle_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the interquartile mean along the last axis: the mean of the middle half of the sorted
    values."""
    cut = values.shape[-1] // 4
    ordered = np.sort(values, axis=-1)
    mean: NDArray[np.float64] = ordered[..., cut : values.shape[-1] - cut].mean(-1)
    return mean


def interquartile_mean(scores: Sequence[Sequence[float]]) -> Estimate:
    """Return the interquartile mean of all scores, with a bootstrapped 95 % confidence interval.
    `scores` has one list per scenario, with one score per seed.

    Args:
        scores: scores of the seeds of each scenario.
    """
    groups = [np.array(group, float) for group in scores]
    rng = np.random.default_rng(0)
    drawn = [g[rng.integers(len(g), size=(_RESAMPLES, len(g)))] for g in groups]
    low, high = np.percentile(middle_mean(np.concatenate(drawn, axis=1)), _PERCENTILES).tolist()
    return Estimate(float(middle_mean(np.concatenate(groups))), low, high)


# ---- curves --------------------------------------------------------------------------------------

SeedCurve = Sequence[tuple[int, float]]
"""(steps, success rate) points."""

_COLORS = ("#3b82f6", "#f97316", "#22a55b", "#a855f7")
_INK = "#888888"  # seen on light pages and on dark ones
_COLUMNS, _WIDTH, _HEIGHT = 4, 190, 112
_LEFT, _TOP, _WIDE, _HIGH = 30, 20, 150, 66
_HEAD = 24
_GRID_POINTS = 40  # number of points at which the curves of seeds are compared


class CurvePanel(NamedTuple):
    """Learning curves of a scenario.

    Attributes:
        title: name of the scenario.
        lines: curves of the seeds of each entry.
    """

    title: str
    lines: Sequence[Sequence[SeedCurve]]


def draw_panels(panels: Sequence[CurvePanel], names: Sequence[str]) -> str:
    """Draw learning curves as an SVG image with one panel per scenario, and a legend with the
    `names` of the entries. A line is the mean over the seeds, a band their range."""
    height = _HEAD + math.ceil(len(panels) / _COLUMNS) * _HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_COLUMNS * _WIDTH} {height}" '
        f'font-family="sans-serif" font-size="10" fill="{_INK}">',
        *_draw_legend(names),
    ]
    for number, panel in enumerate(panels):
        lines += _draw_panel(number, panel)
    return "\n".join([*lines, "</svg>\n"])


def _draw_legend(names: Sequence[str]) -> Iterator[str]:
    """Yield the SVG elements of a legend, one coloured line with text for each name."""
    x = _LEFT
    for name, color in zip(names, _COLORS, strict=False):
        yield f'<path d="M{x} 11h16" stroke="{color}" stroke-width="3"/>'
        yield f'<text x="{x + 21}" y="15">{escape(name)}</text>'
        x += 50 + 6 * len(name)


def _draw_panel(number: int, panel: CurvePanel) -> Iterator[str]:
    """Yield the SVG elements of one panel. `number` is its position in the image, counted row by
    row from 0."""
    row, column = divmod(number, _COLUMNS)
    x, y = column * _WIDTH + _LEFT, _HEAD + row * _HEIGHT + _TOP
    max_steps = max(steps for seeds in panel.lines for curve in seeds for steps, _ in curve)
    yield f'<g transform="translate({x} {y})">'
    yield f'<text y="-6">{escape(panel.title)}</text>'
    yield f'<path d="M0 0V{_HIGH}H{_WIDE}M0 0h-3M0 {_HIGH}h-3" fill="none" stroke="{_INK}"/>'
    yield '<text x="-5" y="4" text-anchor="end">1</text>'
    yield f'<text x="-5" y="{_HIGH + 3}" text-anchor="end">0</text>'
    yield f'<text x="{_WIDE}" y="{_HIGH + 13}" text-anchor="end">{max_steps:,} steps</text>'
    for seeds, color in zip(panel.lines, _COLORS, strict=False):
        if seeds:
            yield from _draw_curves(seeds, color, max_steps)
    yield "</g>"


def _draw_curves(seeds: Sequence[SeedCurve], color: str, max_steps: int) -> Iterator[str]:
    """Yield the SVG elements of one benchmark entry's curve: a line for the mean over the seeds,
    and a band from the lowest to the highest. A curve that ends early is extended with its last
    value."""
    begin, end = (max(curve[k][0] for curve in seeds) for k in (0, -1))
    grid = np.linspace(begin, end, _GRID_POINTS)
    values = np.array([np.interp(grid, *np.transpose(curve)) for curve in seeds])
    upper, lower = (list(zip(grid, edge, strict=True)) for edge in (values.max(0), values.min(0)))
    band = upper + lower[::-1]
    yield f'<path d="M{_path_points(band, max_steps)}z" fill="{color}" fill-opacity="0.2"/>'
    path = _path_points([*zip(grid, values.mean(0), strict=True)], max_steps)
    yield f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.5"/>'


def _path_points(line: Sequence[tuple[float, float]], max_steps: int) -> str:
    return " ".join(
        f"{_WIDE * steps / max_steps:.0f},{_HIGH * (1 - success):.0f}" for steps, success in line
    )


# ---- page ----------------------------------------------------------------------------------------

BEGIN, END = "<!-- benchmark -->\n", "<!-- end of benchmark -->\n"
"""Marker lines before and after the tables of a page."""
_NONE = "–"
_LEGEND = f"""\
In the tables, `%` is the success on `test` with its 95 % interval: other starts, in layouts that
may be in `train`. `new layouts %` is the success on `test-layout`, and `greedy %` the one on `test`
with the most likely actions. Names are **bold** if no entry that learns solves half of the levels.

- `levels` is the number of different tested levels.
- `shortest` is the mean length of shortest solutions. A number in brackets is the number of solved
  levels, if not all are solved.
- `steps` and `seconds` are means of the training. `path` is the length of an agent's solutions as a
  multiple of the shortest.
- `*` marks tests on learned levels, and `{_NONE}` a missing result.
- `3 of {SEEDS}` is the number of finished seeds."""
_LEARNED_MARK = " *"  # see `_LEGEND`
_CODE = re.compile(r"((?<!`)`[^`|]+`(?!`))")
# Characters with a meaning in Markdown
_MARKS = re.compile(r"[\\`*_{}\[\]<>|&~$!#^=]")
# Titles of the groups of scenarios, by file name
_GROUPS = {"rooms": "Rooms", "gallery": "The gallery", "minigrid": "MiniGrid's levels"}


@cache
def _scenario_group(scenario: str) -> str:
    """Return the group under which the results page lists a scenario, a key of `_GROUPS`."""
    folder = list_built_in_grids()[scenario].file.parent
    if folder.name == "minigrid":
        return "minigrid"
    return "gallery" if GALLERY in (folder, folder.parent) else "rooms"


_NEW_LAYOUTS, _GREEDY = "new layouts", "greedy"
# Tests of a policy beside the one with actions sampled from it, with their success rates, if tested
_MORE_TESTS: dict[str, Callable[[EntryPart], float | None]] = {
    _NEW_LAYOUTS: lambda part: part.layout_success,
    _GREEDY: lambda part: _success_rate(part.greedy) if part.greedy else None,
}


def _success_rate(lengths: Sequence[int]) -> float:
    return float(np.mean(np.array(lengths) > 0))


class EntryResults:
    """Results of an entry.

    Args:
        entry: the entry.

    Attributes:
        parts: parts of each scenario, by seed.
        has_training: True if any part was trained.
        more_tests: names of further tests, keys of `_MORE_TESTS`, that any part has.
    """

    def __init__(self, entry: BenchmarkEntry) -> None:
        """Read the results of an entry from its folder."""
        self.entry, self.name = entry, entry.name
        self.parts: dict[str, list[EntryPart]] = {}
        parts = entry.read_parts().values()
        for part in parts:
            self.parts.setdefault(part.scenario, []).append(part)
        self.has_training = any(part.steps for part in parts)
        self.more_tests = [
            test
            for test, get_rate in _MORE_TESTS.items()
            if any(get_rate(part) is not None for part in parts)
        ]

    def success_rates(self, scenario: str, test: str = "") -> list[float]:
        """Return the success rate in a scenario for each seed. `test` is a key of `_MORE_TESTS`, or
        "" for actions sampled from the policy. Seeds that lack the test are left out."""
        parts = self.parts.get(scenario, ())
        if not test:
            return [_success_rate(part.lengths) for part in parts]
        return [rate for rate in map(_MORE_TESTS[test], parts) if rate is not None]

    def is_held_out(self, scenario: str) -> bool:
        """Return True if no part was tested on training levels."""
        return all(part.held_out for part in self.parts.get(scenario, ()))


class Comparison:
    """Tables and curves of entries side by side.

    Args:
        entries: one or more entries; those of the solver give the shortest lengths.

    Attributes:
        results: results of the other entries.
        shortest: for each scenario the shortest length of each test level, or 0.

    Raises:
        BenchmarkError: a part is invalid.
        OSError: an entry cannot be read.
    """

    def __init__(self, entries: Sequence[BenchmarkEntry]) -> None:
        """Read the results of all entries."""
        self.results: list[EntryResults] = []
        self.shortest: dict[str, tuple[int, ...]] = {}
        for results in map(EntryResults, entries):
            if results.entry.policy == SOLVER:
                self.shortest |= {name: parts[0].lengths for name, parts in results.parts.items()}
            else:
                self.results.append(results)

    def sections(self, images: str) -> Iterator[str]:
        """Yield the Markdown sections of the results page.

        Args:
            images: folder of the images, relative to the page.
        """
        texts = ((escape_markdown(each.name), each.entry.about) for each in self.results)
        yield "\n".join(f"- **{name}**: {escape_markdown(about)}" for name, about in texts)
        yield from self._describe_missing_parts()
        yield from self._format_overview()
        yield _LEGEND
        for group, title in _GROUPS.items():
            names = [name for name in all_scenarios() if _scenario_group(name) == group]
            yield f"### {title}"
            yield from (_format_table(*self.table(same)) for same in self._group_by_entries(names))
            if self.panels(group):
                yield f"![Success over steps of training]({images}/benchmark-{group}.svg)"

    def _describe_missing_parts(self) -> Iterator[str]:
        """If results are missing, yield a sentence that says how many exist."""
        covered = [(each, name) for each in self.results for name in each.entry.scenario_names]
        num_parts = sum(len(each.success_rates(name)) for each, name in covered)
        num_expected = SEEDS * len(covered)
        if num_parts < num_expected:
            yield (
                f"{num_parts:,} of {num_expected:,} parts are finished. Means are over the "
                f"scenarios in which all entries have all seeds."
            )

    def _format_overview(self) -> Iterator[str]:
        """Yield the lines of a table of interquartile mean success rates, with a row for each entry
        and a column for each set of scenarios. Scenarios without results for all seeds of an entry
        are left out."""
        head = ["mean success, %"]
        labels = [
            (results, test)
            for results in self.results
            for test in ("", *(test for test in results.more_tests if test != _NEW_LAYOUTS))
        ]
        rows = [[escape_markdown(_format_label(results, test))] for results, test in labels]
        for names in dict.fromkeys(tuple(each.entry.scenario_names) for each in self.results):
            covering = [each for each in self.results if {*names} <= {*each.entry.scenario_names}]
            finished = [
                name
                for name in names
                if all(len(each.success_rates(name)) == SEEDS for each in covering)
            ]
            if not finished:
                continue
            head.append(_format_set_title(len(finished), names, covering))
            for (results, test), row in zip(labels, rows, strict=True):
                rates = [results.success_rates(name, test) for name in finished]
                row.append(_format_mean(rates) if results in covering else _NONE)
        if len(head) > 1:
            yield _format_table(head, rows)

    def _group_by_entries(self, names: Sequence[str]) -> list[list[str]]:
        """Group scenarios for tables, such that all scenarios of a group have results from the same
        benchmark entries."""
        groups: dict[tuple[bool, ...], list[str]] = {}
        for name in names:
            is_covered = tuple(name in each.entry.scenario_names for each in self.results)
            groups.setdefault(is_covered, []).append(name)
        return [*groups.values()]

    def table(self, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        """Return header and rows of the table for these scenarios: success rates, training costs
        and solution lengths."""
        shown = [r for r in self.results if not {*names}.isdisjoint(r.entry.scenario_names)]
        head = ["", "levels", "shortest"]
        for results in shown:
            head += [f"{title} %" for title in (results.name, *results.more_tests)]
            head += ["steps", "seconds", "path"] if results.has_training else []
        return head, [self._make_row(name, shown) for name in names]

    def _make_row(self, name: str, shown: Sequence[EntryResults]) -> list[str]:
        """Return the cells of one scenario's row. `shown` are the benchmark entries that the table
        compares."""
        parts = [part for results in self.results for part in results.parts.get(name, ())]
        num_levels = str(parts[0].different) if parts else _NONE
        is_marked = bool(parts) and not any(part.held_out for part in parts)
        title = _format_title(name, shown) + (_LEARNED_MARK if is_marked else "")
        row = [title, num_levels, self._format_shortest(name)]
        for results in shown:
            # a mark at the title stands for all entries
            mark = "" if is_marked or results.is_held_out(name) else _LEARNED_MARK
            for test in ("", *results.more_tests):
                rates = results.success_rates(name, test)
                seeds = f", {len(rates)} of {SEEDS}" if 0 < len(rates) < SEEDS else ""
                row.append(_format_mean([rates]) + seeds + (mark if rates else ""))
            if results.has_training:
                row += self._format_costs(name, results)
        return row

    def _format_shortest(self, name: str) -> str:
        """Return as text the mean length of the shortest known solutions over a scenario's test
        levels."""
        lengths = [length for length in self.shortest.get(name, ()) if length]
        if not lengths:
            return _NONE
        num_solved = "" if len(lengths) == len(self.shortest[name]) else f" ({len(lengths)})"
        return f"{np.mean(lengths):.1f}{num_solved}"

    def _format_costs(self, name: str, results: EntryResults) -> tuple[str, str, str]:
        """Return as texts an entry's mean training steps, mean training time in seconds, and
        solution length relative to the shortest, for one scenario."""
        if not (parts := results.parts.get(name, [])):
            return (_NONE,) * 3
        steps = np.mean([part.steps for part in parts])
        seconds = np.mean([part.seconds for part in parts])
        return f"{steps:,.0f}", f"{seconds:.1f}", self._format_length_ratio(name, parts)

    def _format_length_ratio(self, name: str, parts: Sequence[EntryPart]) -> str:
        """Return as text the length of the solutions in `parts` divided by that of the shortest
        ones, such as "1.20". Only levels that both solve count."""
        shortest = np.array(self.shortest.get(name, np.zeros_like(parts[0].lengths)))
        ratios = []
        for part in parts:
            lengths = np.array(part.lengths)
            solved = (lengths > 0) & (shortest > 0)
            if solved.any():
                ratios.append(lengths[solved].sum() / shortest[solved].sum())
        return f"{np.mean(ratios):.2f}" if ratios else _NONE

    def panels(self, group: str) -> list[CurvePanel]:
        """Return one panel of learning curves for each scenario in a group, a key of `_GROUPS`."""
        panels = []
        for name in all_scenarios():
            lines = [
                [part.curve for part in results.parts.get(name, ()) if part.curve]
                for results in self.results
                if results.has_training
            ]
            if _scenario_group(name) == group and any(lines):
                panels.append(CurvePanel(name, lines))
        return panels


def _format_set_title(
    num_finished: int, names: Sequence[str], covering: Sequence[EntryResults]
) -> str:
    """Return the title of the overview's column for the scenarios `names`, such as "40 of all 50
    scenarios". The first number counts those that all entries in `covering` have finished."""
    finished = f"{num_finished} of " if num_finished < len(names) else ""
    if len(names) == len(all_scenarios()):
        return f"{finished}all {len(names)} scenarios"
    same = (each.name for each in covering if len(each.entry.scenario_names) == len(names))
    return f"{finished}{len(names)} scenarios of {' and '.join(same)}"


def _format_label(results: EntryResults, test: str) -> str:
    return f"{results.name}, {test}" if test else results.name


def _format_title(name: str, entries: Sequence[EntryResults]) -> str:
    """Return a scenario's name in Markdown. It is bold if no learning algorithm among `entries`
    solves half of the levels."""
    means = [
        interquartile_mean([rates]).mean
        for results in entries
        if results.has_training and (rates := results.success_rates(name))
    ]
    return f"**`{name}`**" if means and max(means) < 0.5 else f"`{name}`"


def _format_mean(rates: Sequence[Sequence[float]]) -> str:
    """Return the interquartile mean of success rates in percent with its confidence interval, as
    text. `rates` has one list per scenario, with one rate per seed. A dash if it is empty."""
    if not any(rates):
        return _NONE
    mean, low, high = (f"{100 * value:.1f}" for value in interquartile_mean(rates))
    return mean if low == high else f"{mean} ({low}–{high})"


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = [escape_markdown(name) for name in head]
    lines = [names, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape_markdown(text: str) -> str:
    """Return Markdown that shows a text literally, except that text between backticks stays
    code."""
    parts = _CODE.split(text)
    parts[::2] = [_MARKS.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def write_page(page: Path, entries: Sequence[BenchmarkEntry]) -> None:
    """Write tables that compare the entries into a Markdown page, between its marker lines, and
    learning curves as SVG files into the folder `images` beside it. A missing page is created.

    Raises:
        BenchmarkError: an entry is invalid, or the page has no marks.
        OSError: a file cannot be read or written.
    """
    text = page.read_text("utf-8") if page.exists() else BEGIN + END
    before, begin, old_tables_and_after = text.partition(BEGIN)
    _, end, after = old_tables_and_after.partition(END)
    if not (begin and end):
        raise BenchmarkError(
            f"{page} has no place for the tables: add the lines {BEGIN.strip()} and {END.strip()}"
        )
    comparison = Comparison(entries)
    images = page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    names = [results.name for results in comparison.results if results.has_training]
    for group in _GROUPS:
        if panels := comparison.panels(group):
            write_file(images / f"benchmark-{group}.svg", draw_panels(panels, names))
    body = "\n\n".join(comparison.sections(images.name))
    write_file(page, f"{before}{begin}\n{body}\n\n{end}{after}")
