"""Page of the benchmark: tables in Markdown, and learning curves as SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
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
    """Return the mean of the middle half of the values along the last axis."""
    cut = values.shape[-1] // 4
    ordered = np.sort(values, axis=-1)
    mean: NDArray[np.float64] = ordered[..., cut : values.shape[-1] - cut].mean(-1)
    return mean


def interquartile_mean(scores: Sequence[Sequence[float]]) -> Estimate:
    """Return the mean of the middle half of all scores, with a 95 % confidence interval by
    bootstrapping.

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
    """Return an SVG image of learning curves, one panel per scenario, with a legend of the entries'
    `names`. Lines are means and bands span the seeds."""
    height = _HEAD + -(-len(panels) // _COLUMNS) * _HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_COLUMNS * _WIDTH} {height}" '
        f'font-family="sans-serif" font-size="10" fill="{_INK}">',
        *_draw_legend(names),
    ]
    for number, panel in enumerate(panels):
        lines += _draw_panel(number, panel)
    return "\n".join([*lines, "</svg>\n"])


def _draw_legend(names: Sequence[str]) -> Iterator[str]:
    """Yield the SVG elements of the legend for these names of entries."""
    x = _LEFT
    for name, color in zip(names, _COLORS, strict=False):
        yield f'<path d="M{x} 11h16" stroke="{color}" stroke-width="3"/>'
        yield f'<text x="{x + 21}" y="15">{escape(name)}</text>'
        x += 50 + 6 * len(name)


def _draw_panel(number: int, panel: CurvePanel) -> Iterator[str]:
    """Yield the SVG elements of one panel; `number` is its position in the image, counted row by
    row."""
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
    """Yield the SVG elements for the learning curves of one entry: a line for the mean over the
    `seeds`, and a band from the lowest to the highest. A curve that ends early keeps its last
    value."""
    begin, end = (max(curve[k][0] for curve in seeds) for k in (0, -1))
    grid = np.linspace(begin, end, _GRID_POINTS)
    values = np.array([np.interp(grid, *np.transpose(curve)) for curve in seeds])
    band = [*zip(grid, values.max(0), strict=True)]
    band += [*zip(grid, values.min(0), strict=True)][::-1]
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
- `%`: success on `test` with its 95 % interval, other starts in layouts that may be in `train`;
  `new layouts %`: on `test-layout`; `greedy %`: on `test` with the most likely actions. **Bold**:
  no entry that learns succeeds in half of the levels.
- Settings and weights are chosen by no test level: `gv-engine train` keeps the weights that were
  best in training.
- `levels`: different tested levels. `shortest`: mean length of shortest solutions, in brackets the
  number of solved levels if not all.
- `steps`, `seconds`: means of the training. `path`: length as a multiple of the shortest.
- `*`: tested on learned levels. `{_NONE}`: no result. `3 of {SEEDS}`: finished seeds."""
_CODE = re.compile(r"((?<!`)`[^`|]+`(?!`))")
# Characters with a meaning in Markdown
_MARKS = re.compile(r"[\\`*_{}\[\]<>|&~$!#^=]")
_SuccessFunction = Callable[[str], list[float]]
# Titles of the groups of scenarios, by file name
_GROUPS = {"rooms": "Rooms", "gallery": "The gallery", "minigrid": "MiniGrid's levels"}


@cache
def _scenario_group(scenario: str) -> str:
    folder = list_built_in_grids()[scenario].file.parent
    if folder.name == "minigrid":
        return "minigrid"
    return "gallery" if GALLERY in (folder, folder.parent) else "rooms"


class EntryColumn:
    """Column of the tables: an entry with its parts.

    Args:
        entry: entry of the column.

    Attributes:
        parts: parts of each scenario, by seed.
        has_training: True if any part was trained.
        greedy: True if any part was tested with the most likely actions too.
        layouts: True if any part was tested on new layouts.
    """

    def __init__(self, entry: BenchmarkEntry) -> None:
        self.entry, self.name = entry, entry.name
        self.parts: dict[str, list[EntryPart]] = {}
        parts = entry.read_parts().values()
        for part in parts:
            self.parts.setdefault(part.scenario, []).append(part)
        self.has_training = any(part.steps for part in parts)
        self.greedy = any(part.greedy for part in parts)
        self.layouts = any(part.layout_success is not None for part in parts)

    def layout_success_rates(self, scenario: str) -> list[float]:
        """Return the success rate on new layouts for each seed; seeds without a test on new layouts
        are left out."""
        rates = [part.layout_success for part in self.parts.get(scenario, ())]
        return [rate for rate in rates if rate is not None]

    def success_rates(self, scenario: str, greedy: bool = False) -> list[float]:
        """Return the success rate in a scenario for each seed, tested with sampled actions, or with
        the most likely actions if `greedy`."""
        parts = self.parts.get(scenario, ())
        lengths = [part.greedy if greedy else part.lengths for part in parts]
        return [float(np.mean(np.array(values) > 0)) for values in lengths if values]

    def success(self, scenario: str) -> Estimate | None:
        """Return the interquartile mean of the seeds' success rates in a scenario; None without
        results."""
        rates = self.success_rates(scenario)
        return interquartile_mean([rates]) if rates else None

    def held_out(self, scenario: str) -> bool:
        """Return whether no part was tested on training levels."""
        return all(part.held_out for part in self.parts.get(scenario, ()))


class Comparison:
    """Tables and curves of entries side by side.

    Args:
        entries: one or more entries; those of the solver give the shortest lengths.

    Raises:
        BenchmarkError: a part is invalid.
        OSError: an entry cannot be read.
    """

    def __init__(self, entries: Sequence[BenchmarkEntry]) -> None:
        columns = [EntryColumn(entry) for entry in entries]
        self.columns = [column for column in columns if column.entry.policy != SOLVER]
        solved = [column.parts for column in columns if column.entry.policy == SOLVER]
        self.shortest = {name: parts[0].lengths for each in solved for name, parts in each.items()}

    def sections(self, images: str) -> Iterator[str]:
        """Yield the Markdown sections of the results page.

        Args:
            images: folder of the images, relative to the page.
        """
        texts = ((escape_markdown(column.name), column.entry.about) for column in self.columns)
        yield "\n".join(f"- **{name}**: {escape_markdown(about)}" for name, about in texts)
        yield from self._overview()
        yield _LEGEND
        for group, title in _GROUPS.items():
            names = [name for name in all_scenarios() if _scenario_group(name) == group]
            yield f"### {title}"
            yield from (_format_table(*self.table(same)) for same in self._group_by_columns(names))
            if self.panels(group):
                yield f"![Success over steps of training]({images}/benchmark-{group}.svg)"

    def _overview(self) -> Iterator[str]:
        """Yield Markdown with the number of missing results and a table of mean success rates. The
        table has a row for each entry and a column for each set of scenarios; a mean leaves out the
        scenarios for which an entry has not all seeds."""
        expected = [(column, n) for column in self.columns for n in column.entry.scenario_names]
        num_parts = sum(len(column.success_rates(name)) for column, name in expected)
        if num_parts < SEEDS * len(expected):
            yield (
                f"{num_parts:,} of {SEEDS * len(expected):,} parts are there. Means are over the "
                f"scenarios in which no entry lacks a seed."
            )
        head = ["mean success, %"]
        rows = {label: [escape_markdown(label)] for label, _ in _success_series(self.columns)}
        for scope in dict.fromkeys(tuple(column.entry.scenario_names) for column in self.columns):
            columns = [c for c in self.columns if {*scope} <= {*c.entry.scenario_names}]
            counts = {name: {len(c.success_rates(name)) for c in columns} for name in scope}
            finished = [name for name, lengths in counts.items() if lengths == {SEEDS}]
            if finished:
                head.append(_scope_title(len(finished), scope, columns))
                series = dict(_success_series(columns))
                for label, row in rows.items():
                    get = series.get(label)
                    mean = interquartile_mean([*map(get, finished)]) if get else None
                    row.append(_format_mean(mean))
        if len(head) > 1:
            yield _format_table(head, [*rows.values()])

    def _group_by_columns(self, names: Sequence[str]) -> list[list[str]]:
        """Return the scenarios `names` in groups, one for each table: the scenarios of a group are
        covered by the same benchmark entries."""
        lists: dict[tuple[int, ...], list[str]] = {}
        for name in names:
            key = tuple(name in column.entry.scenario_names for column in self.columns)
            lists.setdefault(key, []).append(name)
        return [*lists.values()]

    def table(self, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table of success rates, training costs and lengths
        of solutions for these scenarios."""
        columns = [c for c in self.columns if not {*names}.isdisjoint(c.entry.scenario_names)]
        head = ["", "levels", "shortest"]
        for column in columns:
            head += [f"{column.name} %", *(["new layouts %"] if column.layouts else [])]
            head += ["greedy %"] if column.greedy else []
            head += ["steps", "seconds", "path"] if column.has_training else []
        return head, [self._make_row(name, columns) for name in names]

    def _make_row(self, name: str, columns: Sequence[EntryColumn]) -> list[str]:
        """Return the row of a scenario in a table with these columns."""
        parts = [part for column in self.columns for part in column.parts.get(name, ())]
        held_out = not parts or any(part.held_out for part in parts)
        levels = str(parts[0].different) if parts else _NONE
        means = [estimate.mean for c in columns if c.has_training and (estimate := c.success(name))]
        title = f"**`{name}`**" if means and max(means) < 0.5 else f"`{name}`"
        row = [title + _footnote_mark(held_out), levels, self._shortest_length(name)]
        for column in columns:
            for _, get in _success_series([column], with_layouts=True):
                rates = get(name)
                seeds = f", {len(rates)} of {SEEDS}" if 0 < len(rates) < SEEDS else ""
                mark = _footnote_mark(column.held_out(name) or not held_out) if rates else ""
                mean = interquartile_mean([rates]) if rates else None
                row.append(_format_mean(mean) + seeds + mark)
            if column.has_training:
                row += self._format_costs(name, column)
        return row

    def _shortest_length(self, name: str) -> str:
        """Return the mean length of the shortest known solutions of a scenario, as text."""
        lengths = [length for length in self.shortest.get(name, ()) if length]
        if not lengths:
            return _NONE
        note = "" if len(lengths) == len(self.shortest[name]) else f" ({len(lengths)})"
        return f"{np.mean(lengths):.1f}{note}"

    def _format_costs(self, name: str, column: EntryColumn) -> tuple[str, str, str]:
        """Return an entry's mean training steps, mean seconds and length ratio in the scenario
        `name`, as texts."""
        if not (parts := column.parts.get(name, [])):
            return (_NONE,) * 3
        steps = np.mean([part.steps for part in parts])
        seconds = np.mean([part.seconds for part in parts])
        return f"{steps:,.0f}", f"{seconds:.1f}", self._length_ratio(name, parts)

    def _length_ratio(self, name: str, parts: Sequence[EntryPart]) -> str:
        """Return as text how many times longer an entry's solutions are than the shortest ones, on
        levels that both solve."""
        shortest = np.array(self.shortest.get(name, np.zeros_like(parts[0].lengths)))
        ratios = [
            lengths[solved].sum() / shortest[solved].sum()
            for lengths in (np.array(part.lengths) for part in parts)
            if (solved := (lengths > 0) & (shortest > 0)).any()
        ]
        return f"{np.mean(ratios):.2f}" if ratios else _NONE

    def panels(self, group: str) -> list[CurvePanel]:
        """Return the learning curves of all scenarios of a group, a key of `_GROUPS`."""
        columns = [column for column in self.columns if column.has_training]
        panels = []
        for name in all_scenarios():
            parts = (column.parts.get(name, ()) for column in columns)
            lines = [[part.curve for part in each if part.curve] for each in parts]
            if _scenario_group(name) == group and any(lines):
                panels.append(CurvePanel(name, lines))
        return panels


def _scope_title(finished: int, scope: Sequence[str], columns: Sequence[EntryColumn]) -> str:
    """Return the title of the column for the set of scenarios `scope`, such as "40 of all 50
    scenarios". `finished` is the number of scenarios in the set that all entries have finished."""
    some = f"{finished} of " if finished < len(scope) else ""
    if len(scope) == len(all_scenarios()):
        return f"{some}all {len(scope)} scenarios"
    of_scope = (column for column in columns if len(column.entry.scenario_names) == len(scope))
    names = " and ".join(column.name for column in of_scope)
    return f"{some}{len(scope)} scenarios of {names}"


def _success_series(
    columns: Sequence[EntryColumn], with_layouts: bool = False
) -> Iterator[tuple[str, _SuccessFunction]]:
    """Yield (label, function from scenario to success rates) for each entry: for actions sampled
    from the policy, with `with_layouts` also for tests on new layouts, and then for the most likely
    actions, if the entry has such tests."""
    for column in columns:
        yield column.name, column.success_rates
        if with_layouts and column.layouts:
            yield f"{column.name}, new layouts", column.layout_success_rates
        if column.greedy:
            yield f"{column.name}, greedy", partial(column.success_rates, greedy=True)


def _footnote_mark(held_out: bool) -> str:
    return "" if held_out else " *"


def _format_mean(mean: Estimate | None) -> str:
    """Return a mean with its confidence interval as text in percent; a dash for None."""
    if mean is None:
        return _NONE
    value, low, high = (f"{100 * part:.1f}" for part in mean)
    return value if low == high else f"{value} ({low}–{high})"


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
    """Write tables of the entries' results between the marker lines of a Markdown page, and
    learning curves as SVG files into `images` beside the page. A missing page is created.

    Raises:
        BenchmarkError: an entry is invalid, or the page has no marks.
        OSError: a file cannot be read or written.
    """
    text = page.read_text("utf-8") if page.exists() else BEGIN + END
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise BenchmarkError(
            f"{page} has no place for the tables: add the lines {BEGIN.strip()} and {END.strip()}"
        )
    comparison = Comparison(entries)
    images = page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    names = [column.name for column in comparison.columns if column.has_training]
    for group in _GROUPS:
        if panels := comparison.panels(group):
            write_file(images / f"benchmark-{group}.svg", draw_panels(panels, names))
    body = "\n\n".join(comparison.sections(images.name))
    write_file(page, f"{before}{begin}\n{body}\n\n{end}{after}")
