"""Curves of success over steps, as drawings: a panel for each scenario, a colour for each entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

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
