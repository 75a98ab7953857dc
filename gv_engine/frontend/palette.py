"""Palettes: what a colour index of an object looks like, as shades and as a sign.

The sign is the same in every palette: a shape for each colour, so that colours are told apart
without seeing them.
"""

from typing import NamedTuple


class Shades(NamedTuple):
    """What a colour index stands for in a drawing: four `#rrggbb`, and path data."""

    fill: str
    dark: str
    light: str
    ink: str
    emblem: str


DISC = "M24 10.3a6.7 6.7 0 1 0 .01 0z"
TRIANGLE = "M24 9l8 13.8H16z"
SQUARE = "M18 11h12v12H18z"
STAR = "M24 7l2.7 7.3 7.3 2.7-7.3 2.7-2.7 7.3-2.7-7.3-7.3-2.7 7.3-2.7z"

_NONE = Shades("#f4ecdc", "#5a4f48", "#fffdf8", "#4a413b", "")
_WHITE, _BLACK = "#fff6e6", "#3a3138"

PALETTES: dict[str, tuple[Shades, ...]] = {
    "standard": (
        _NONE,
        Shades("#cf3030", "#701414", "#ff9c90", _WHITE, DISC),
        Shades("#35922f", "#17500f", "#a3e08f", _WHITE, TRIANGLE),
        Shades("#2f62cc", "#14316f", "#9dbdfa", _WHITE, SQUARE),
        Shades("#f2cf2c", "#7a6006", "#fff3a6", _BLACK, STAR),
    ),
    # After Okabe and Ito: told apart with every kind of colour blindness.
    "colour-blind safe": (
        _NONE,
        Shades("#d65a12", "#7e2e04", "#ffb184", _WHITE, DISC),
        Shades("#0a9a74", "#045440", "#8fe3c8", _WHITE, TRIANGLE),
        Shades("#1673b6", "#083e68", "#96cdf5", _WHITE, SQUARE),
        Shades("#f2dc3c", "#7a6606", "#fff7b8", _BLACK, STAR),
    ),
}
"""By name, then by colour index: NONE, RED, GREEN, BLUE, YELLOW."""
