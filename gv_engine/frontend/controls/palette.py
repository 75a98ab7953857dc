"""Palettes: what a colour index of an object looks like, as shades and as a sign.

The sign is the same in every palette: a shape for each colour, so that colours are told apart
without seeing them.
"""

from typing import NamedTuple


class Shades(NamedTuple):
    """What a colour index stands for in a drawing: four `#rrggbb`, and path data of its sign."""

    fill: str
    dark: str
    light: str
    ink: str
    emblem: str
    """Around (24, 17) of a 48 × 48 drawing."""
    sign: str
    """The same in 4 × 4 whole pixels, for an 8 × 8 drawing."""


DISC = "M24 10.3a6.7 6.7 0 1 0 .01 0z"
TRIANGLE = "M24 9l8 13.8H16z"
SQUARE = "M18 11h12v12H18z"
STAR = "M24 7l2.7 7.3 7.3 2.7-7.3 2.7-2.7 7.3-2.7-7.3-7.3-2.7 7.3-2.7z"

_RED = DISC, "M1 0h2v1h-2zM0 1h1v2h-1zM3 1h1v2h-1zM1 3h2v1h-2z"
_GREEN = TRIANGLE, "M0 0h1v4h-1zM1 1h1v3h-1zM2 2h1v2h-1zM3 3h1v1h-1z"
_BLUE = SQUARE, "M1 1h2v2h-2z"
# A cross with diagonal arms would be the ring in negative: yellow has dark ink on light ground.
_YELLOW = STAR, "M1 0h1v3h-1zM0 1h1v1h-1zM2 1h1v1h-1z"

_NONE = Shades("#f4ecdc", "#5a4f48", "#fffdf8", "#4a413b", "", "")
_WHITE, _BLACK = "#fff6e6", "#3a3138"

PALETTES: dict[str, tuple[Shades, ...]] = {
    "standard": (
        _NONE,
        Shades("#cf3030", "#701414", "#ff9c90", _WHITE, *_RED),
        Shades("#35922f", "#17500f", "#a3e08f", _WHITE, *_GREEN),
        Shades("#2f62cc", "#14316f", "#9dbdfa", _WHITE, *_BLUE),
        Shades("#f2cf2c", "#7a6006", "#fff3a6", _BLACK, *_YELLOW),
    ),
    # After Okabe and Ito, further apart where red, green or blue receptors are missing.
    "colour-blind safe": (
        _NONE,
        Shades("#d65a12", "#7e2e04", "#ffb184", _WHITE, *_RED),
        Shades("#0fa27a", "#045440", "#8fe3c8", _WHITE, *_GREEN),
        Shades("#0f62a6", "#083660", "#8fc4f0", _WHITE, *_BLUE),
        Shades("#efd52a", "#7a6606", "#fff7b8", _BLACK, *_YELLOW),
    ),
}
"""By name, then by colour index: NONE, RED, GREEN, BLUE, YELLOW."""
