"""Themes: a name for every colour that the front end draws with, so that all of it matches."""

from typing import NamedTuple


class Theme(NamedTuple):
    """Colours, each `#rrggbb`. Every text colour is legible on each of the three grounds."""

    background: str
    """Behind everything."""
    card: str
    """A panel upon the background."""
    well: str
    """A hollow in a panel: a field to type in, the place of the held item."""
    text: str
    muted: str
    """Text that matters less: labels, hints, what is switched off."""
    accent: str
    """What is chosen, focused or pressed; `on_accent` is written on it."""
    on_accent: str
    gain: str
    """A reward, a check that passed."""
    loss: str
    """A penalty, an error."""
    outline: str
    """Edges of panels and fields."""
    select: str
    """Around cells that are pointed at, on any sprite, with a line of `on_select` beside it."""
    on_select: str
    palette: str = "standard"
    """Of the coloured objects, a name in `gv_engine.frontend.controls.palette.PALETTES`."""


DARK = Theme(
    background="#211d25",
    card="#302a35",
    well="#231f27",
    text="#f4ecdc",
    muted="#b0a49b",
    accent="#f2b84b",
    on_accent="#231f27",
    gain="#7fd8b8",
    loss="#ff9d6e",
    outline="#544a5b",
    select="#fffdf8",
    on_select="#231f27",
)

LIGHT = Theme(
    background="#efe7da",
    card="#fdf8ee",
    well="#e6dccb",
    text="#2b2630",
    muted="#62564f",
    accent="#8a4f00",
    on_accent="#fffaf0",
    gain="#045e46",
    loss="#9c3206",
    outline="#c3b6a2",
    select="#fffdf8",
    on_select="#231f27",
)

THEMES = {"dark": DARK, "light": LIGHT}
"""By the name that settings have for it."""
