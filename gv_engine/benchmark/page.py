"""The page that shows entries: tables in Markdown, and curves as drawings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.benchmark.entry import SEEDS, BenchmarkEntry, BenchmarkError, EntryPart, scenarios
from gv_engine.scenario.files import atomic_write
from gv_engine.scenario.library import GALLERY, MINIGRID, list_built_in_grids
from gv_engine.session.autoplay import SOLVER

# ---- statistics ----------------------------------------------------------------------------------

_DRAWS = 2000
_INTERVAL = (2.5, 97.5)
"""Percent, between which 95 % lie."""


class Mean(NamedTuple):
    """A mean, and the interval of 95 % around it."""

    value: float
    low: float
    high: float


def middle(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(…) means of (…, n) without their lowest and highest quarters, rounded down."""
    cut = values.shape[-1] // 4
    ordered = np.sort(values, axis=-1)
    mean: NDArray[np.float64] = ordered[..., cut : values.shape[-1] - cut].mean(-1)
    return mean


def interquartile_mean(scores: Sequence[Sequence[float]]) -> Mean:
    """The interquartile mean over all seeds of all scenarios.

    Args:
        scores: of the seeds of each scenario.
    """
    groups = [np.array(each, float) for each in scores]
    rng = np.random.default_rng(0)
    drawn = [each[rng.integers(len(each), size=(_DRAWS, len(each)))] for each in groups]
    low, high = np.percentile(middle(np.concatenate(drawn, axis=1)), _INTERVAL).tolist()
    return Mean(float(middle(np.concatenate(groups))), low, high)


# ---- curves --------------------------------------------------------------------------------------

SeedCurve = Sequence[tuple[int, float]]
"""(steps, success)."""

_COLORS = ("#3b82f6", "#f97316", "#22a55b", "#a855f7")
_INK = "#888888"  # seen on light pages and on dark ones
_COLUMNS, _WIDTH, _HEIGHT = 4, 190, 112
_LEFT, _TOP, _WIDE, _HIGH = 30, 20, 150, 66
_HEAD = 24
_PLACES = 40
"""At which the curves of seeds are compared."""


class Panel(NamedTuple):
    """The curves of a scenario.

    Attributes:
        title: its name.
        lines: for each entry, in their order, the curves of its seeds.
    """

    title: str
    lines: Sequence[Sequence[SeedCurve]]


def drawn(panels: Sequence[Panel], names: Sequence[str]) -> str:
    """An SVG of panels, and what the colours stand for; bands are from the lowest seed to the
    highest, lines the means."""
    rows = -(-len(panels) // _COLUMNS)
    size = _COLUMNS * _WIDTH, _HEAD + rows * _HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
            f'font-family="sans-serif" font-size="10" fill="{_INK}">',
            *_legend(names),
            *(line for number, panel in enumerate(panels) for line in _panel(number, panel)),
            "</svg>\n",
        ]
    )


def _legend(names: Sequence[str]) -> Iterator[str]:
    x = _LEFT
    for name, color in zip(names, _COLORS, strict=False):
        yield f'<path d="M{x} 11h16" stroke="{color}" stroke-width="3"/>'
        yield f'<text x="{x + 21}" y="15">{escape(name)}</text>'
        x += 50 + 6 * len(name)


def _panel(number: int, panel: Panel) -> Iterator[str]:
    row, column = divmod(number, _COLUMNS)
    x, y = column * _WIDTH + _LEFT, _HEAD + row * _HEIGHT + _TOP
    most = max(steps for seeds in panel.lines for curve in seeds for steps, _ in curve)
    yield f'<g transform="translate({x} {y})">'
    yield f'<text y="-6">{escape(panel.title)}</text>'
    yield f'<path d="M0 0V{_HIGH}H{_WIDE}M0 0h-3M0 {_HIGH}h-3" fill="none" stroke="{_INK}"/>'
    yield '<text x="-5" y="4" text-anchor="end">1</text>'
    yield f'<text x="-5" y="{_HIGH + 3}" text-anchor="end">0</text>'
    yield f'<text x="{_WIDE}" y="{_HIGH + 13}" text-anchor="end">{most:,} steps</text>'
    for seeds, color in zip(panel.lines, _COLORS, strict=False):
        if seeds:
            yield from _lines(seeds, color, most)
    yield "</g>"


def _lines(seeds: Sequence[SeedCurve], color: str, most: int) -> Iterator[str]:
    """The curves of an entry; a seed that has stopped stays where it was."""
    begin = max(curve[0][0] for curve in seeds)
    end = max(curve[-1][0] for curve in seeds)
    places = np.linspace(begin, end, _PLACES)
    found = np.array([np.interp(places, *np.transpose(curve)) for curve in seeds])
    band = [*zip(places, found.max(0), strict=True)]
    band += [*zip(places, found.min(0), strict=True)][::-1]
    yield f'<path d="M{_points(band, most)}z" fill="{color}" fill-opacity="0.2"/>'
    mean = [*zip(places, found.mean(0), strict=True)]
    yield f'<path d="M{_points(mean, most)}" fill="none" stroke="{color}" stroke-width="1.5"/>'


def _points(line: Sequence[tuple[float, float]], most: int) -> str:
    return " ".join(
        f"{_WIDE * steps / most:.0f},{_HIGH * (1 - success):.0f}" for steps, success in line
    )


# ---- page ----------------------------------------------------------------------------------------

BEGIN, END = "<!-- benchmark -->\n", "<!-- end of benchmark -->\n"
"""Between which a page has the tables."""
_NONE = "–"
_CODE = re.compile(r"((?<!`)`[^`|]+`(?!`))")
_MARKS = re.compile(r"[\\`*_{}\[\]<>|&~$!#^=]")
"""Characters that mean something to Markdown within a line."""
_Successes = Callable[[str], list[float]]
_GROUPS = {"rooms": "Rooms", "gallery": "The gallery", "minigrid": "MiniGrid's levels"}
"""Of scenarios: names of files, and titles."""


@cache
def _group(scenario: str) -> str:
    folders = list_built_in_grids()[scenario].file.parents
    return "gallery" if GALLERY in folders else "minigrid" if MINIGRID in folders else "rooms"


class Compared:
    """An entry, and what its parts say of each scenario.

    Args:
        entry: that is shown.

    Attributes:
        parts: by scenario, seed by seed.
    """

    def __init__(self, entry: BenchmarkEntry) -> None:
        self.entry, self.name = entry, entry.name
        self.parts: dict[str, list[EntryPart]] = {}
        for part in entry.parts().values():
            self.parts.setdefault(part.scenario, []).append(part)

    @cached_property
    def learns(self) -> bool:
        """Whether any of its parts was trained."""
        return any(part.steps for parts in self.parts.values() for part in parts)

    @cached_property
    def greedy(self) -> bool:
        """Whether any of them was tried greedily, too."""
        return any(part.greedy for parts in self.parts.values() for part in parts)

    def successes(self, scenario: str, greedy: bool = False) -> list[float]:
        """For each seed the share of levels."""
        lengths = [_tried(part, greedy) for part in self.parts.get(scenario, ())]
        return [float(np.mean(np.array(each) > 0)) for each in lengths if each]

    def success(self, scenario: str, greedy: bool = False) -> Mean | None:
        """The mean over seeds; None without any."""
        found = self.successes(scenario, greedy)
        return interquartile_mean([found]) if found else None

    def held_out(self, scenario: str) -> bool:
        """Whether none of its parts was tested on levels that were learned."""
        return all(part.held_out for part in self.parts.get(scenario, ()))


def _tried(part: EntryPart, greedy: bool) -> tuple[int, ...]:
    return part.greedy if greedy else part.lengths


class Comparison:
    """Entries side by side.

    Args:
        entries: one or more; those of the solver's policy say what the shortest way is.

    Raises:
        BenchmarkError: a part is not as it should be.
        OSError: one cannot be read.
    """

    def __init__(self, entries: Sequence[BenchmarkEntry]) -> None:
        columns = [Compared(entry) for entry in entries]
        self.columns = [each for each in columns if each.entry.policy != SOLVER]
        solved = [each.parts for each in columns if each.entry.policy == SOLVER]
        self.ways = {name: parts[0].lengths for found in solved for name, parts in found.items()}

    def sections(self, images: str) -> Iterator[str]:
        """The text of the page, part by part.

        Args:
            images: where the drawings are, from the page.
        """
        told = ((escape_markdown(each.name), each.entry.about) for each in self.columns)
        yield "\n".join(f"- **{name}**: {escape_markdown(about)}" for name, about in told)
        yield from self._together()
        yield from self._hard()
        for group, title in _GROUPS.items():
            names = [name for name in scenarios() if _group(name) == group]
            yield f"### {title}"
            yield "Success:"
            yield _table(*self.successes(names))
            if self._learners(names):
                yield "What it took to learn them, the means of the seeds:"
                yield _table(*self._efforts(names))
            if self.panels(group):
                yield f"![Success over steps of training]({images}/benchmark-{group}.svg)"

    def _together(self) -> Iterator[str]:
        """How much is there; and the means over all scenarios, and over those that some entries
        alone are meant for, as far as none lacks a seed."""
        wanted = [(column, name) for column in self.columns for name in column.entry.meant_for]
        found = sum(len(column.successes(name)) for column, name in wanted)
        yield f"{found:,} of {SEEDS * len(wanted):,} parts are there."
        for scope in dict.fromkeys(tuple(column.entry.meant_for) for column in self.columns):
            columns = [each for each in self.columns if {*scope} <= {*each.entry.meant_for}]
            whole = [
                name
                for name in scope
                if all(len(column.successes(name)) == SEEDS for column in columns)
            ]
            rows = [
                [escape_markdown(name), _mean(interquartile_mean([get(each) for each in whole]))]
                for name, get in _measures(columns)
                if whole
            ]
            if rows:
                yield (
                    f"Means over {len(whole)} of {_which(scope, columns)}, those in which no entry "
                    f"lacks a seed:"
                )
                yield _table(["", "success"], rows)

    def _hard(self) -> Iterator[str]:
        """Which scenarios nobody has learned to half."""
        learners = self._learners(list(scenarios()))
        rows = []
        for name in scenarios():
            found = [column.success(name) for column in learners]
            best = max((mean.value for mean in found if mean), default=1.0)
            if best < 0.5:
                rows.append([f"`{name}`", *(_mean(mean) for mean in found)])
        if rows:
            yield "### Below a half"
            yield "Scenarios of which no entry that learns wins half, as far as they have tried:"
            yield _table(["", *(column.name for column in learners)], rows)

    def _meant_for(self, names: Sequence[str]) -> list[Compared]:
        """The entries that are meant for any of these scenarios."""
        return [each for each in self.columns if not {*names}.isdisjoint(each.entry.meant_for)]

    def _learners(self, names: Sequence[str]) -> list[Compared]:
        return [column for column in self._meant_for(names) if column.learns]

    def successes(self, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table of successes."""
        columns = self._meant_for(names)
        measures = [(column, *each) for column in columns for each in _measures([column])]
        rows = []
        for name in names:
            parts = [part for column in self.columns for part in column.parts.get(name, ())]
            held_out = not parts or any(part.held_out for part in parts)
            levels = str(parts[0].different) if parts else _NONE
            row = [f"`{name}`{_mark(held_out)}", levels, self._way(name)]
            for column, _, get in measures:
                found = get(name)
                seeds = f", {len(found)} of {SEEDS}" if 0 < len(found) < SEEDS else ""
                mark = _mark(column.held_out(name) or not held_out) if found else ""
                row.append(_mean(interquartile_mean([found]) if found else None) + seeds + mark)
            rows.append(row)
        return ["", "levels", "shortest way", *(name for _, name, _ in measures)], rows

    def _way(self, name: str) -> str:
        """The mean length of the shortest ways that are known."""
        lengths = [length for length in self.ways.get(name, ()) if length]
        if not lengths:
            return _NONE
        some = "" if len(lengths) == len(self.ways[name]) else f", {len(lengths)} levels"
        return f"{np.mean(lengths):.1f}{some}"

    def _efforts(self, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table of what it took."""
        learners = self._learners(names)
        head = [""]
        for column in learners:
            head += [f"{column.name}: steps", "seconds", "way"]
        rows = []
        for name in names:
            row = [f"`{name}`"]
            for column in learners:
                parts = column.parts.get(name, [])
                if not parts:
                    row += [_NONE] * 3
                    continue
                row += [
                    f"{np.mean([part.steps for part in parts]):,.0f}",
                    f"{np.mean([part.seconds for part in parts]):.1f}",
                    self._detour(name, parts),
                ]
            rows.append(row)
        return head, rows

    def _detour(self, name: str, parts: Sequence[EntryPart]) -> str:
        """How many times the shortest way was gone, on levels that were won by both."""
        shortest = np.array(self.ways.get(name, np.zeros_like(parts[0].lengths)))
        ratios = [
            gone[both].sum() / shortest[both].sum()
            for gone in (np.array(part.lengths) for part in parts)
            if (both := (gone > 0) & (shortest > 0)).any()
        ]
        return f"{np.mean(ratios):.2f}×" if ratios else _NONE

    def panels(self, group: str) -> list[Panel]:
        """The curves of a group of scenarios."""
        found = []
        for name in scenarios():
            lines = [
                [part.curve for part in column.parts.get(name, ()) if part.curve]
                for column in self.columns
                if column.learns
            ]
            if _group(name) == group and any(lines):
                found.append(Panel(name, lines))
        return found


def _which(scope: Sequence[str], columns: Sequence[Compared]) -> str:
    """What scenarios are called that some entries are meant for."""
    if len(scope) == len(scenarios()):
        return f"all {len(scope)} scenarios"
    names = [
        escape_markdown(each.name) for each in columns if len(each.entry.meant_for) == len(scope)
    ]
    return f"the {len(scope)} scenarios for {' and '.join(names)}"


def _measures(columns: Sequence[Compared]) -> Iterator[tuple[str, _Successes]]:
    """(name, successes of a scenario) of all that is shown of success."""
    for column in columns:
        yield column.name, column.successes
        if column.greedy:
            yield f"{column.name}, greedy", _greedy(column)


def _greedy(column: Compared) -> _Successes:
    return lambda scenario: column.successes(scenario, greedy=True)


def _mark(held_out: bool) -> str:
    """What stands behind what was tested on levels that were learned."""
    return "" if held_out else " *"


def _mean(mean: Mean | None) -> str:
    if mean is None:
        return _NONE
    value, low, high = (f"{100 * each:.1f}" for each in mean)
    return f"{value} %" if low == high else f"{value} % ({low} to {high})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = [escape_markdown(name) for name in head]
    lines = [names, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape_markdown(text: str) -> str:
    """Return Markdown that shows a text as it is, but for `code` in it, which stays code."""
    parts = _CODE.split(text)
    parts[::2] = [_MARKS.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def write_page(page: Path, entries: Sequence[BenchmarkEntry]) -> None:
    """Put entries into a page, between its marks, and their curves into `images` beside it.

    A page that is not there has nothing but them.

    Raises:
        BenchmarkError: an entry is not as it should be, or the page has no marks.
        OSError: something cannot be read or written.
    """
    text = page.read_text("utf-8") if page.exists() else BEGIN + END
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise BenchmarkError(
            f"{page} has no place for the tables: add the lines {BEGIN.strip()} and {END.strip()}"
        )
    shown = Comparison(entries)
    images = page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    names = [column.name for column in shown.columns if column.learns]
    for group in _GROUPS:
        panels = shown.panels(group)
        if panels:
            with atomic_write(images / f"benchmark-{group}.svg") as draft:
                draft.write_text(drawn(panels, names), "utf-8")
    body = "\n\n".join(shown.sections(images.name))
    with atomic_write(page) as draft:
        draft.write_text(f"{before}{begin}\n{body}\n\n{end}{after}", "utf-8")
