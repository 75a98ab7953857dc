"""Colour themes of the user interface, and colour palettes of the objects."""

from __future__ import annotations

from typing import NamedTuple

# ---- palette -------------------------------------------------------------------------------------


class Shades(NamedTuple):
    """Palette colour for sprites: four `#rrggbb` shades, and SVG paths of a symbol that shows the
    colour to players who cannot tell colours apart.

    Attributes:
        emblem: SVG path data of the symbol, around (24, 17) of a 48 × 48 sprite.
        sign: SVG path data of the symbol in 4 × 4 whole pixels, for an 8 × 8 sprite.
    """

    fill: str
    dark: str
    light: str
    ink: str
    emblem: str
    sign: str


DISC = "M24 10.3a6.7 6.7 0 1 0 .01 0z"
TRIANGLE = "M24 9l8 13.8H16z"
SQUARE = "M18 11h12v12H18z"
STAR = "M24 7l2.7 7.3 7.3 2.7-7.3 2.7-2.7 7.3-2.7-7.3-7.3-2.7 7.3-2.7z"
CROSS = "M21 9.5h6v4.5h4.5v6H27v4.5h-6V20h-4.5v-6H21z"
BOWL = "M15.5 12h17a8.5 8.5 0 0 1-17 0z"
ARCH = "M16 24v-7a8 8 0 0 1 16 0v7h-5v-7a3 3 0 0 0-6 0v7z"
HOURGLASS = "M16.5 9.5h15L26.5 17l5 7.5h-15l5-7.5z"

_RED = DISC, "M1 0h2v1h-2zM0 1h1v2h-1zM3 1h1v2h-1zM1 3h2v1h-2z"
_GREEN = TRIANGLE, "M0 0h1v4h-1zM1 1h1v3h-1zM2 2h1v2h-1zM3 3h1v1h-1z"
_BLUE = SQUARE, "M1 1h2v2h-2z"
# A cross with diagonal arms would be the ring in negative: yellow has dark ink on light ground.
_YELLOW = STAR, "M1 0h1v3h-1zM0 1h1v1h-1zM2 1h1v1h-1z"
_PURPLE = ARCH, "M0 1h1v3h-1zM1 0h2v1h-2zM3 1h1v3h-1z"
_GREY = CROSS, "M0 1h4v2h-4z"
_ORANGE = BOWL, "M0 1h4v1h-4zM1 2h2v2h-2z"
_CYAN = HOURGLASS, "M0 0h4v1h-4zM1 1h2v2h-2zM0 3h4v1h-4z"

_NONE = Shades("#f4ecdc", "#5a4f48", "#fffdf8", "#4a413b", "", "")
_WHITE, _BLACK = "#fff6e6", "#3a3138"

# Shades by name of the palette, then by colour index, in the order of
# `gv_engine.rules.objects.COLORS`.
PALETTES: dict[str, tuple[Shades, ...]] = {
    "standard": (
        _NONE,
        Shades("#cf3030", "#701414", "#ff9c90", _WHITE, *_RED),
        Shades("#2b7d27", "#17500f", "#a3e08f", _WHITE, *_GREEN),
        Shades("#2f62cc", "#14316f", "#9dbdfa", _WHITE, *_BLUE),
        Shades("#f2cf2c", "#7a6006", "#fff3a6", _BLACK, *_YELLOW),
        Shades("#8a45c8", "#44186e", "#d3b0f4", _WHITE, *_PURPLE),
        Shades("#6b6b70", "#38383c", "#c4c4c8", _WHITE, *_GREY),
        Shades("#ec8a24", "#7c3f04", "#ffcf96", _BLACK, *_ORANGE),
        Shades("#38c4da", "#0c5a68", "#b0f0fa", _BLACK, *_CYAN),
    ),
    # After Okabe and Ito, further apart where red, green or blue receptors are missing.
    "colour-blind safe": (
        _NONE,
        Shades("#c04c06", "#7e2e04", "#ffb184", _WHITE, *_RED),
        Shades("#16b088", "#045440", "#8fe3c8", _BLACK, *_GREEN),
        Shades("#0f62a6", "#083660", "#8fc4f0", _WHITE, *_BLUE),
        Shades("#efd52a", "#7a6606", "#fff7b8", _BLACK, *_YELLOW),
        Shades("#6f14c1", "#360660", "#c79af2", _WHITE, *_PURPLE),
        Shades("#4f4f54", "#1e1e22", "#b4b4ba", _WHITE, *_GREY),
        Shades("#f5a86d", "#7e4314", "#ffdcc0", _BLACK, *_ORANGE),
        Shades("#5be1fe", "#10657c", "#cdf6ff", _BLACK, *_CYAN),
    ),
}


# ---- theme ---------------------------------------------------------------------------------------


class Theme(NamedTuple):
    """Colours of the user interface, each `#rrggbb`; every text colour is legible on each of the
    backgrounds `background`, `card` and `well`.

    Attributes:
        background: background of the window.
        card: background of a panel.
        well: background of a text field, a button or the place of the held item.
        muted: text of less importance: labels, hints, disabled options.
        accent: background of the chosen, focused or pressed element; `on_accent` is the text on it.
        gain: a reward, a check that passed.
        loss: a penalty, an error.
        outline: edges of panels and fields.
        select: outline of selected cells, with a line of `on_select` beside it.
        palette: palette of the objects, a key of `PALETTES`.
    """

    background: str
    card: str
    well: str
    text: str
    muted: str
    accent: str
    on_accent: str
    gain: str
    loss: str
    outline: str
    select: str
    on_select: str
    palette: str = "standard"


_DARK_AND_LIGHT = (
    ("#211d25", "#efe7da"),  # background
    ("#302a35", "#fdf8ee"),  # card
    ("#231f27", "#e6dccb"),  # well
    ("#f4ecdc", "#2b2630"),  # text
    ("#b0a49b", "#62564f"),  # muted
    ("#f2b84b", "#8a4f00"),  # accent
    ("#231f27", "#fffaf0"),  # on_accent
    ("#7fd8b8", "#045e46"),  # gain
    ("#ff9d6e", "#9c3206"),  # loss
    ("#544a5b", "#c3b6a2"),  # outline
    ("#fffdf8", "#fffdf8"),  # select
    ("#231f27", "#231f27"),  # on_select
)
DARK, LIGHT = (Theme(*colors) for colors in zip(*_DARK_AND_LIGHT, strict=True))
THEMES = {"dark": DARK, "light": LIGHT}  # themes by their name in the settings
