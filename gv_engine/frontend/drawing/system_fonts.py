"""Fonts of the machine, for letters that pygame's own font lacks: Japanese names, for instance."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

from gv_engine.frontend.drawing.sprites import pygame

# below the line that quiets pygame's greeting
from pygame import freetype  # isort: skip

_found: dict[frozenset[str], str | None] = {}  # by scripts


def font_with(letters: Sequence[str]) -> str | None:
    """The file of the font that has most of some letters, judged by one letter of each script; None
    if no font has any."""
    samples = {unicodedata.name(letter, letter).partition(" ")[0]: letter for letter in letters}
    scripts = frozenset(samples)
    if scripts not in _found:
        wanted = "".join(samples.values())
        best = max(_files(), key=lambda file: _coverage(file, wanted), default=None)
        _found[scripts] = best if best and _coverage(best, wanted) else None
    return _found[scripts]


@cache
def _files() -> list[str]:
    """All that can be written with, plain ones first."""
    names = [name for name in pygame.font.get_fonts() if name and "emoji" not in name]
    names.sort(key=lambda name: ("sans" not in name and "gothic" not in name, "mono" in name, name))
    return [file for name in names if (file := pygame.font.match_font(name, bold=True))]


@cache
def _coverage(file: str, letters: str) -> int:
    """How many of some letters a font has."""
    try:
        metrics = freetype.Font(file, 16).get_metrics(letters)
    except (OSError, pygame.error):  # listed, and not there or not readable
        return 0
    return sum(map(bool, metrics))
